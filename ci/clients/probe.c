/* The program of the stand-ins, in C and in C++: each node says which it is. It defines no thread mode where the client's flags define one,
 * and GASNET_PAR where, as in Realm, the client's sources do it. */
#if !defined(GASNET_SEQ) && !defined(GASNET_PARSYNC) && !defined(GASNET_PAR)
#define GASNET_PAR 1
#endif
#include <gasnetex.h>
#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t team;
  if (gex_Client_Init(&client, &endpoint, &team, "probe", &argc, &argv, 0) != GASNET_OK) return 1;
  printf("node %d of %d\n", (int)gex_TM_QueryRank(team), (int)gex_TM_QuerySize(team));
  fflush(stdout);
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  gasnet_exit(0);
  return 0;
}
