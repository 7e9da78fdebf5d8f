/* A Short with two arguments is answered by a Medium from the handler's stack. Contract: ex-core.md section 19. Options: none.
 * Positional: iters (1000). An odd last process talks to itself. */
#include "testexam.h"

enum { ASK = GEX_AM_INDEX_BASE, ANSWER };
static volatile int answers;
static int wrong;

static void ask(gex_Token_t token, gex_AM_Arg_t i, gex_AM_Arg_t negative) {
  unsigned char bytes[512];
  if (negative != -i - 1) wrong++;
  fill(bytes, (unsigned)i, sizeof bytes);
  if (i % 2 == 0)
    gex_AM_ReplyMedium1(token, ANSWER, bytes, sizeof bytes, GEX_EVENT_NOW, 0, i);
  else
    gasnetc_AMReplyMediumM(token, ANSWER, bytes, sizeof bytes, GEX_EVENT_NOW, 0 GASNETI_THREAD_GET, 1, i);
  memset(bytes, 0, sizeof bytes);
}
static void answer(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t i) {
  (void)token;
  if (n != 512 || i < 0 || !filled(buf, (unsigned)i, n)) wrong++;
  answers++;
}

int main(int argc, char **argv) {
  int iters, i;
  gex_Rank_t peer;
  begin("testcore1", &argc, &argv);
  iters = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1000;
  /* a table written where it is used, whose commas must not divide the arguments of a macro */
  MUST(gex_EP_RegisterHandlers(ep, (gex_AM_Entry_t[]){ROW(ASK, ask, SHORT, REQUEST, 2, NULL), ROW(ANSWER, answer, MEDIUM, REPLY, 1, NULL)}, 2));
  make_areas(GASNET_PAGESIZE);
  peer = (me ^ 1) < nodes ? me ^ 1 : me;
  /* by the public names, and by those that take the number of arguments */
  for (i = 0; i < iters; i++)
    if (i % 3 == 0)
      gex_AM_RequestShort2(tm, peer, ASK, 0, i, -i - 1);
    else
      gasnetc_AMRequestShortM(tm, peer, ASK, 0 GASNETI_THREAD_GET, 2, i, -i - 1);
  GASNET_BLOCKUNTIL(answers == iters);
  BARRIER();
  CHECK(wrong == 0 && answers == iters);
  return end();
}
