/* tutorial2: each node puts its number into its right neighbour's memory. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment; /* the memory that other nodes reach */
  if (gex_Client_Init(&client, &endpoint, &all, "TUTORIAL", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all);
  gex_Rank_t to_right = (me + 1) % nodes;
  volatile int *mine = (int *)gex_Segment_QueryAddr(segment);
  void *at_right; /* where the neighbour's segment is, for the neighbour */
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, to_right, &at_right, NULL, NULL, 0));

  int number = 100 + (int)me;
  gex_RMA_PutBlocking(all, to_right, at_right, &number, sizeof number, 0);
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* my neighbour has put, too */

  int right = *mine == 100 + (int)((me + nodes - 1) % nodes);
  printf("tutorial2: node %u of %u: my left neighbour put %d: %s\n", me, nodes, *mine,
         right ? "right" : "WRONG");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
