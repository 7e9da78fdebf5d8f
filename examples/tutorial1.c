/* tutorial1: a job starts, each node says who it is, and all end together. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all; /* the team of all nodes */
  if (gex_Client_Init(&client, &endpoint, &all, "TUTORIAL", &argc, &argv, 0) != GASNET_OK)
    return 1;
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all);

  int right = me < nodes;
  printf("tutorial1: node %u of %u: %s\n", me, nodes, right ? "right" : "WRONG");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* nobody ends before all have come here */
  gasnet_exit(!right);
}
