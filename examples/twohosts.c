/* twohosts: who shares memory with me, who is on another host? Memory of my host is read
 * by loads, that of others by gets. Start it by
 * gasnetrun_sci -n 4 --host hostA:2,hostB:2 ./twohosts; on one host it sees that one. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_tools.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &all, "TWOHOSTS", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all), hosts, host;
  gex_System_QueryMyPosition(NULL, NULL, &hosts, &host);

  *(int *)gex_Segment_QueryAddr(segment) = 100 + (int)me;
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* all values are there */
  int near = 0, far = 0, wrong = 0;
  for (gex_Rank_t i = 0; i < nodes; i++) {
    void *there, *here;
    int value;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, i, &there, &here, NULL, 0));
    if (here) { /* mapped into this process */
      value = *(volatile int *)here;
      near++;
    } else {
      gex_RMA_GetBlocking(all, &value, i, there, sizeof value, 0);
      far++;
    }
    wrong += value != 100 + (int)i;
  }
  printf("twohosts: node %u on %s, host %u of %u: %d nodes here, %d elsewhere: %s\n", me,
         gasnett_gethostname(), host, hosts, near, far, wrong ? "WRONG" : "right");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(wrong != 0);
}
