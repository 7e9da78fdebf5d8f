/* hello: a job starts, each node says who it is, and all agree on a sum. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all; /* the team of all nodes */
  if (gex_Client_Init(&client, &endpoint, &all, "HELLO", &argc, &argv, 0) != GASNET_OK)
    return 1;
  int me = (int)gex_TM_QueryRank(all), nodes = (int)gex_TM_QuerySize(all);

  int mine = me + 1, sum = 0;
  gex_Event_Wait(gex_Coll_ReduceToAllNB(all, &sum, &mine, GEX_DT_I32, sizeof sum, 1,
                                        GEX_OP_ADD, NULL, NULL, 0));
  int right = sum == nodes * (nodes + 1) / 2;
  printf("hello: node %d of %d: the sum is %d: %s\n", me, nodes, sum,
         right ? "right" : "WRONG");
  /* gasnet_exit ends all nodes: nobody calls it before all are done. */
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
