/* Random slices of an arena, put in every mode and got back in every mode, from and to local buffers that lie on the heap, in
 * the own segment, or in the mapped segment of a neighbour. Contract: ex-rma.md section 14 (testslice). Options: -f local
 * buffers in a neighbour's segment, where there is one; -c the target is half the job away. Positional: arena bytes (16M), outer (10),
 * inner (10), seed. */
#include "testarea.h"
#include "testperf.h"
#include <time.h>

static unsigned seed;
static size_t random_below(size_t below) {
  seed = seed * 1103515245u + 12345u;
  return below ? ((size_t)(seed >> 4) ^ (size_t)seed << 12) % below : 0;
}

int main(int argc, char **argv) {
  static long far;
  static const testperf_option table[] = {FLAG("-f", &far), FLAG("-c", &opt.cross)};
  int arg, outer, inner, i, k;
  size_t arena, at, n, b;
  gex_Rank_t apart = 1;
  unsigned char *to, *wanted, *seen, *heap, *inside, *theirs = NULL;
  begin("testslice", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 4, "testslice [-c] [-f] [arena [outer [inner [seed]]]]");
  arena = (size_t)positional(argc, argv, arg, 16 << 20);
  outer = (int)positional(argc, argv, arg + 1, 10);
  inner = (int)positional(argc, argv, arg + 2, 10);
  seed = (unsigned)positional(argc, argv, arg + 3, 0);
  if (seed == 0) seed = (unsigned)time(NULL);
  if (me == 0) say("seed %u", seed);
  seed += me * 4099;
  if (opt.cross) apart = nodes / 2;
  peer = (me + apart) % nodes;
  /* in each segment: the arena that another process fills, own buffers, buffers for the right neighbour's calls */
  share(3 * arena);
  to = (unsigned char *)shared(peer);
  inside = (unsigned char *)shared(me) + arena;
  if (far) {
    void *here = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, (me + nodes - apart) % nodes, NULL, &here, NULL, 0));
    if (here) theirs = (unsigned char *)here + 2 * arena;
    else say("WARNING: the neighbour's segment is not mapped here");
  }
  wanted = (unsigned char *)calloc(1, arena), seen = (unsigned char *)malloc(arena), heap = (unsigned char *)malloc(arena);
  CHECK(gex_RMA_PutBlocking(tm, peer, to, wanted, arena, 0) == 0);
  BARRIER();
  for (i = 0; i < outer; i++) {
    for (k = 0; k < inner; k++) {
      unsigned char *local = theirs && k % 2 ? theirs : k % 3 ? heap : inside;
      gex_Event_t root, leaf;
      at = random_below(arena), n = random_below(random_below(3) ? 200 : arena - at);
      if (n > arena - at) n = arena - at;
      local += random_below(arena - n);
      for (b = 0; b < n; b++) wanted[at + b] = local[b] = (unsigned char)random_below(256);
      switch (random_below(7)) {
        case 0: CHECK(gex_RMA_PutBlocking(tm, peer, to + at, local, n, 0) == 0); break;
        case 1: gex_Event_Wait(gex_RMA_PutNB(tm, peer, to + at, local, n, GEX_EVENT_NOW, 0)); break;
        case 2: gex_Event_Wait(gex_RMA_PutNB(tm, peer, to + at, local, n, GEX_EVENT_DEFER, 0)); break;
        case 3:
          root = gex_RMA_PutNB(tm, peer, to + at, local, n, &leaf, 0);
          gex_Event_Wait(root); /* the leaf is never synced */
          break;
        case 4: CHECK(gex_RMA_PutNBI(tm, peer, to + at, local, n, GEX_EVENT_NOW, 0) == 0); break;
        case 5: CHECK(gex_RMA_PutNBI(tm, peer, to + at, local, n, GEX_EVENT_DEFER, 0) == 0); break;
        case 6: CHECK(gex_RMA_PutNBI(tm, peer, to + at, local, n, GEX_EVENT_GROUP, 0) == 0); break;
      }
      gex_NBI_Wait(GEX_EC_PUT, 0);
      at = random_below(arena), n = random_below(arena - at);
      local = theirs && k % 2 ? theirs : k % 3 ? heap : inside;
      local += random_below(arena - n);
      switch (random_below(3)) {
        case 0: CHECK(gex_RMA_GetBlocking(tm, local, peer, to + at, n, 0) == 0); break;
        case 1: gex_Event_Wait(gex_RMA_GetNB(tm, local, peer, to + at, n, 0)); break;
        case 2:
          CHECK(gex_RMA_GetNBI(tm, local, peer, to + at, n, 0) == 0);
          gex_NBI_Wait(GEX_EC_GET, 0);
          break;
      }
      if (memcmp(local, wanted + at, n)) errors++, say("ERROR: get of %u bytes at %u", (unsigned)n, (unsigned)at);
    }
    CHECK(gex_RMA_GetBlocking(tm, seen, peer, to, arena, 0) == 0);
    if (memcmp(seen, wanted, arena)) errors++, say("ERROR: outer %d: the arena is not what was put", i);
  }
  BARRIER();
  free(wanted), free(seen), free(heap);
  return end();
}
