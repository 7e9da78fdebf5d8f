/* atomics: a histogram in pieces. Every node adds to the bins of all others, without
 * messages and locks. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 64, VALUES = 5000 }; /* bins of each node */

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &all, "ATOMICS", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all);
  void **bins = (void **)malloc(nodes * sizeof(void *)); /* the segments of all nodes */
  for (gex_Rank_t i = 0; i < nodes; i++)
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, i, &bins[i], NULL, NULL, 0));
  gex_AD_t domain;
  gex_AD_Create(&domain, all, GEX_DT_I64, GEX_OP_INC, 0);

  uint64_t state = me + 1;
  for (int i = 0; i < VALUES; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bin = (state >> 33) % (BINS * nodes);
    int64_t *word = (int64_t *)bins[bin / BINS] + bin % BINS;
    gex_AD_OpNBI_I64(domain, NULL, (gex_Rank_t)(bin / BINS), word, GEX_OP_INC, 0, 0, 0);
  }
  gex_NBI_Wait(GEX_EC_RMW, 0);                /* what I added is there, */
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* and so is what everybody did */

  int64_t here = 0, total = 0;
  for (int i = 0; i < BINS; i++) here += ((int64_t *)bins[me])[i];
  gex_Event_Wait(gex_Coll_ReduceToAllNB(all, &total, &here, GEX_DT_I64, sizeof total, 1,
                                        GEX_OP_ADD, NULL, NULL, 0));
  int right = total == (int64_t)VALUES * nodes;
  printf("atomics: node %u has %ld of %ld values: %s\n", me, (long)here, (long)total,
         right ? "right" : "WRONG");
  gex_AD_Destroy(domain);
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
