/* Many operations in flight before any sync. Contract: ex-rma.md section 14 (testqueue). Options: -n -b -v puts NOW, DEFER, of
 * values; -g gets; all without them. Positional: iterations (10), most operations (1024), bytes (4096). */
#include "testarea.h"

#define MOST 4096
static gex_Event_t events[2 * MOST];
static unsigned char local[1 << 16], back[1 << 16];

static void check(gex_Rank_t peer, unsigned char *to, size_t n, const char *what, int depth) {
  memset(back, 0, n);
  CHECK(gex_RMA_GetBlocking(tm, back, peer, to, n, 0) == 0);
  if (memcmp(back, local, n)) errors++, say("ERROR: %s, %d in flight: wrong bytes", what, depth);
}

int main(int argc, char **argv) {
  const char *kinds = "";
  int arg = 1, iters, most, depth, i, round;
  size_t size, n;
  gex_Rank_t peer;
  unsigned char *to;
  begin("testqueue", &argc, &argv);
  while (arg < argc && argv[arg][0] == '-') kinds = argv[arg++] + 1;
  iters = arg < argc && atoi(argv[arg]) > 0 ? atoi(argv[arg]) : 10;
  most = arg + 1 < argc && atoi(argv[arg + 1]) > 0 ? atoi(argv[arg + 1]) : 1024;
  size = arg + 2 < argc && atoi(argv[arg + 2]) > 0 ? (size_t)atoi(argv[arg + 2]) : 4096;
  if (most > MOST || size > sizeof local || strspn(kinds, "nbvg") != strlen(kinds)) {
    fprintf(stderr, "usage: testqueue [-nbvg] [iters [most up to %d [bytes up to %u]]]\n", MOST, (unsigned)sizeof local);
    gasnet_exit(1);
  }
  share((uintptr_t)sizeof local * nodes);
  peer = (me + 1) % nodes;
  to = (unsigned char *)shared(peer) + (size_t)me * sizeof local;
  BARRIER();
  for (round = 0; round < iters; round++)
    for (depth = 1; depth <= most; depth *= 4)
      for (n = 1; n <= size; n *= 8) {
        for (i = 0; (size_t)i < n; i++) local[i] = (unsigned char)(i * 3 + depth + round * 5 + (int)me);
        if (!*kinds || strchr(kinds, 'n')) {
          for (i = 0; i < depth; i++) events[i] = gex_RMA_PutNB(tm, peer, to, local, n, GEX_EVENT_NOW, 0);
          gex_Event_WaitAll(events, (size_t)depth, 0);
          check(peer, to, n, "puts NOW", depth);
          for (i = 0; i < depth; i++) CHECK(gex_RMA_PutNBI(tm, peer, to, local, n, GEX_EVENT_NOW, 0) == 0);
          gex_NBI_Wait(GEX_EC_PUT, 0);
        }
        if (!*kinds || strchr(kinds, 'b')) {
          for (i = 0; i < depth; i++) events[i] = gex_RMA_PutNB(tm, peer, to, local, n, &events[depth + i], 0);
          gex_Event_WaitAll(events, 2 * (size_t)depth, 0);
          check(peer, to, n, "puts with leaves", depth);
          for (i = 0; i < depth; i++) CHECK(gex_RMA_PutNBI(tm, peer, to, local, n, GEX_EVENT_GROUP, 0) == 0);
          gex_NBI_Wait(GEX_EC_LC, 0);
          gex_NBI_Wait(GEX_EC_ALL, 0);
          check(peer, to, n, "puts GROUP", depth);
        }
        if (!*kinds || strchr(kinds, 'v')) {
          for (i = 0; i < depth; i++) events[i] = gex_RMA_PutNBVal(tm, peer, to, local[0], 1, 0);
          gex_Event_WaitAll(events, (size_t)depth, 0);
          check(peer, to, 1, "values", depth);
        }
        if (!*kinds || strchr(kinds, 'g')) {
          CHECK(gex_RMA_PutBlocking(tm, peer, to, local, n, 0) == 0);
          memset(back, 0, n);
          for (i = 0; i < depth; i++) events[i] = gex_RMA_GetNB(tm, back, peer, to, n, 0);
          gex_Event_WaitAll(events, (size_t)depth, 0);
          CHECK(memcmp(back, local, n) == 0);
          for (i = 0; i < depth; i++) CHECK(gex_RMA_GetNBI(tm, back, peer, to, n, 0) == 0);
          gex_NBI_Wait(GEX_EC_GET, 0);
          CHECK(memcmp(back, local, n) == 0);
        }
      }
  BARRIER();
  return end();
}
