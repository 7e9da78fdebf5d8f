/* Contract items 24 and 25 in C: see testcorepaste.h. Plus what only C allows: a table without casts. */
#include "testcorepaste.h"

#include <gasnet.h> /* once more: it must not matter */

static gasnet_seginfo_t *segments;
static char fixed[64]; /* where Longs land in EVERYTHING mode; its address differs from node to node */
static void **told;
static int known;

static void tell_h(gasnet_token_t token, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  gasnet_node_t from = 0;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &from));
  told[from] = (void *)PASTE_UNPACK(hi, lo);
  TEST_COUNT(&known);
}
static void *area(gasnet_node_t at) { return told[at]; }

/* Calls in a function for another processor, as clients with several versions of a loop have: it must compile. Not run. */
#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("arch=haswell"), used)) /* else it is left out, and its mistakes with it */
#elif defined(__GNUC__)
__attribute__((unused))
#endif
static void for_another_processor(gasnet_token_t token) {
  GASNET_SAFE(gasnet_AMPoll());
  GASNET_SAFE(gasnet_AMRequestShort2(0, 230, 1, 2));
  GASNET_SAFE(gasnet_AMReplyShort0(token, 230));
  GASNET_BLOCKUNTIL(known > 0);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {PASTE_TABLE, {230, tell_h}};
  gasnet_node_t i;
  void *mine = fixed;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  told = (void **)calloc(gasnet_nodes(), sizeof *told);
  segments = (gasnet_seginfo_t *)calloc(gasnet_nodes(), sizeof *segments);
  GASNET_SAFE(gasnet_attach(table, sizeof table / sizeof *table, GASNET_PAGESIZE, 0));
  test_begin("testcorepaste");
  GASNET_SAFE(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
  if (segments[gasnet_mynode()].addr) mine = segments[gasnet_mynode()].addr;
  for (i = 0; i < gasnet_nodes(); i++) GASNET_SAFE(gasnet_AMRequestShort2(i, 230, PASTE_PACK(mine)));
  GASNET_BLOCKUNTIL(known == (int)gasnet_nodes());
  paste_test(area);
  test_end();
  return 0;
}
