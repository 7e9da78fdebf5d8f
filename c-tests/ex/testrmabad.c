/* Mistakes that must end the job, in builds with GASNET_DEBUG unless marked "always". Contract: ex-rma.md section 12.
 *
 *   testrmabad NUMBER     makes that mistake; the job must die with a line that names the call
 *   testrmabad            makes none, and prints how many there are */
#include "testex.h"
#include <gasnet_vis.h>

#define AREA 65536
static unsigned char local[AREA];

#define LACKS(category)                                                                                              \
  leaf = gex_Event_QueryLeaf(e, category), gex_Event_Wait(leaf);                                                     \
  if (gex_Event_Test(e) == GASNET_OK) return end();                                                                  \
  break

int main(int argc, char **argv) {
  const int number = argc > 1 ? atoi(argv[1]) : 0;
  gex_Rank_t peer;
  unsigned char *to;
  gex_Event_t e = GEX_EVENT_INVALID, leaf;
  void *places[2], *own[1];
  size_t count[2] = {4, 4};
  ptrdiff_t strides[2] = {0, 64}, fine[2] = {8, 64};
  gex_Memvec_t a[2], b[1];
  begin_with(GEX_FLAG_USES_GASNET1, "testrmabad", &argc, &argv);
  attach(AREA);
  peer = (me + 1) % nodes;
  to = (unsigned char *)base_of(peer);
  places[0] = to, places[1] = to + 4, own[0] = local;
  a[0].gex_addr = to, a[1].gex_addr = to + 4, a[0].gex_len = a[1].gex_len = 8;
  b[0].gex_addr = local, b[0].gex_len = 16;
  BARRIER();
  switch (me == 0 ? number : 0) {
    case 0: break;
    case 1: (void)gex_RMA_PutBlocking(tm, nodes, to, local, 8, 0); break;                       /* rank */
    case 2: (void)gex_RMA_GetBlocking(tm, local, peer, to + AREA - 4, 8, 0); break;             /* segment */
    case 3: (void)gex_RMA_PutNB(tm, peer, NULL, local, 8, GEX_EVENT_NOW, 0); break;
    case 4: (void)gex_RMA_PutNB(tm, peer, to, local, 8, GEX_EVENT_GROUP, 0); break;             /* lc_opt */
    case 5: (void)gex_RMA_PutNBI(tm, peer, to, local, 8, &e, 0); break;
    case 6: /* in debug builds: NULL for lc_opt. In others the source is free at return */
      memset(local, 6, 8192);
      e = gex_RMA_PutNB(tm, peer, to, local, 8192, NULL, 0);
      memset(local, 7, 8192);
      gex_Event_Wait(e);
      gex_RMA_GetBlocking(tm, local, peer, to, 8192, 0);
      if (local[0] == 6 && memcmp(local, local + 1, 8191) == 0) return end();
      break;
    case 7: (void)gex_RMA_PutBlockingVal(tm, peer, to, 0, 9, 0); break;                         /* always: value size */
    case 8: (void)gex_RMA_GetBlockingVal(tm, peer, to, 0, 0); break;                            /* always */
    case 9: (void)gex_RMA_PutBlocking(tm, me, base_of(me), local, 8, GEX_FLAG_PEER_NEVER_SELF); break;
    case 10: (void)gex_RMA_PutBlocking(tm, peer, to, local, 8, GEX_FLAG_PEER_NEVER_NBRHD); break;
    case 11: gex_Event_Wait(GEX_EVENT_NO_OP); break;                                            /* always: events */
    case 12: e = (gex_Event_t)(uintptr_t)0x1234500000777; (void)gex_Event_Test(e); break;       /* always */
    case 13: (void)gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_ALL); break;
    case 14: gex_NBI_BeginAccessRegion(0); gex_NBI_Wait(GEX_EC_ALL, 0); break;                  /* regions */
    case 15: gex_NBI_BeginAccessRegion(0); gex_NBI_BeginAccessRegion(0); break;                 /* always */
    case 16: (void)gex_NBI_EndAccessRegion(0); break;                                           /* always */
    case 17: (void)gex_VIS_VectorPutBlocking(tm, peer, 1, a, 1, b, 0); break;                   /* totals */
    case 18: (void)gex_VIS_VectorPutBlocking(tm, peer, 2, a, 1, b, 0); break;                   /* overlap */
    case 19: (void)gex_VIS_IndexedPutBlocking(tm, peer, 2, places, 8, 1, own, 16, 0); break;
    case 20: (void)gex_VIS_IndexedGetBlocking(tm, 1, own, 16, nodes, 1, places, 16, 0); break;  /* rank */
    case 21: (void)gex_VIS_StridedPutBlocking(tm, peer, to, strides, local, fine, 8, count, 2, 0); break; /* stride 0 */
    case 22: fine[1] = -64; (void)gex_VIS_StridedPutBlocking(tm, peer, to, fine, local, fine, 8, count, 2, 0); break;
    case 23: (void)gex_VIS_StridedPutBlocking(tm, peer, to, NULL, local, fine, 8, count, 2, 0); break;    /* always */
    case 24: (void)gex_VIS_VectorGetNB(tm, 1, b, peer, 2, a, GEX_FLAG_ENABLE_LEAF_LC); break;
    case 25: (void)gex_VIS_VectorPutBlocking(tm, peer, 1, a, 1, a, GEX_FLAG_ENABLE_LEAF_LC); break;
    case 26: gex_VIS_SetPeerCompletionHandler(200, local, GEX_VIS_MAX_PEERCOMPLETION + 1, 0); break;      /* always */
    case 27: gex_VIS_SetPeerCompletionHandler(200, NULL, 1, 0); break;                          /* always */
    case 28:
      gex_VIS_SetPeerCompletionHandler(200, local, 8, 0);
      (void)gex_VIS_VectorGetBlocking(tm, 1, b, peer, 2, a, 0);
      break;
    case 29: {
      gex_HSL_t lock = GEX_HSL_INITIALIZER;
      gex_HSL_Lock(&lock);
      gex_Event_Wait(GEX_EVENT_INVALID);
      break;
    }
    /* always; these need an operation in flight (GASNET_SCI_EXTENDED=ref) */
    case 30: /* a root twice */
      e = gex_RMA_GetNB(tm, local, peer, to, 8192, 0);
      gex_Event_Wait(e), gex_Event_Wait(e);
      break;
    case 31: /* a leaf after its root */
      gex_NBI_BeginAccessRegion(0);
      (void)gex_RMA_GetNBI(tm, local, peer, to, 8192, 0);
      e = gex_NBI_EndAccessRegion(0);
      leaf = gex_Event_QueryLeaf(e, GEX_EC_GET);
      gex_Event_Wait(e), gex_Event_Wait(leaf);
      break;
    case 32: /* a leaf of a leaf */
      gex_NBI_BeginAccessRegion(0);
      (void)gex_RMA_GetNBI(tm, local, peer, to, 8192, 0);
      e = gex_NBI_EndAccessRegion(0);
      (void)gex_Event_QueryLeaf(gex_Event_QueryLeaf(e, GEX_EC_GET), GEX_EC_LC);
      break;
    case 33: /* in debug builds: a test after the wait */
      e = gex_RMA_GetNB(tm, local, peer, to, 8192, 0);
      gex_Event_Wait(e);
      if (gex_Event_Test(e) == GASNET_OK) return end();
      break;
    case 34: /* in debug builds: a get of GASNet-1 where a put is due */
      gex_VIS_SetPeerCompletionHandler(200, local, 8, 0);
      gasnet_geti_bulk(1, own, 8, peer, 2, places, 4);
      break;
    /* in debug builds: a leaf that the root has not. In others the event is not complete before the root */
    case 35: e = gex_RMA_PutNB(tm, peer, to, local, 8192, &leaf, 0); LACKS(GEX_EC_PUT);
    case 36: e = gex_RMA_PutNB(tm, peer, to, local, 8192, GEX_EVENT_DEFER, 0); LACKS(GEX_EC_LC);
    case 37: e = gex_RMA_GetNB(tm, local, peer, to, 8192, 0); LACKS(GEX_EC_GET);
    case 38: e = gex_VIS_IndexedPutNB(tm, peer, 1, places, 4, 1, own, 4, 0); LACKS(GEX_EC_LC);
    case 39: (void)gex_RMA_PutBlockingVal(tm, nodes, to, 0, 8, 0); break;                       /* always: the value's call is named */
    case 40: e = gex_RMA_PutNBVal(tm, nodes, to, 0, 8, 0); break;
    case 41: (void)gex_RMA_PutNBIVal(tm, nodes, to, 0, 8, 0); break;
    case 42: (void)gex_RMA_GetBlockingVal(tm, nodes, to, 8, 0); break;
    default: say("ERROR: no mistake %d", number), errors++;
  }
  if (number == 0 && me == 0) say("42 mistakes");
  if (number && me == 0) say("ERROR: still alive"), errors++;
  return end();
}
