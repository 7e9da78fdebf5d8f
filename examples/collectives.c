/* collectives: a broadcast, reductions, and teams: odd and even nodes work apart. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>

/* The client's own operation: keeps the longer of two ranges {first, last}. */
static void longer(const void *left, void *right_and_result, size_t count,
                   const void *cdata) {
  const int (*a)[2] = (const int (*)[2])left;
  int (*b)[2] = (int (*)[2])right_and_result;
  (void)cdata;
  for (size_t i = 0; i < count; i++) {
    if (a[i][1] - a[i][0] >= b[i][1] - b[i][0]) b[i][0] = a[i][0], b[i][1] = a[i][1];
  }
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all, half;
  if (gex_Client_Init(&client, &endpoint, &all, "COLL", &argc, &argv, 0) != GASNET_OK)
    return 1;
  int me = (int)gex_TM_QueryRank(all), nodes = (int)gex_TM_QuerySize(all), wrong = 0;

  int seed = me == 0 ? 4711 : 0;
  gex_Event_Wait(gex_Coll_BroadcastNB(all, 0, &seed, &seed, sizeof seed, 0));
  wrong += seed != 4711;

  int range[2] = {10 * me, 11 * me + 1}; /* the last node has the longest one */
  gex_Event_Wait(gex_Coll_ReduceToAllNB(all, range, range, GEX_DT_USER, sizeof range, 1,
                                        GEX_OP_USER, longer, NULL, 0));
  wrong += range[0] != 10 * (nodes - 1);

  gex_TM_Split(&half, all, me % 2, me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  int one = 1, members = 0;
  gex_Event_t sum = gex_Coll_ReduceToOneNB(half, 0, &members, &one, GEX_DT_I32,
                                           sizeof one, 1, GEX_OP_ADD, NULL, NULL, 0);
  /* Both are on their way at the same time. */
  gex_Event_t barrier = gex_Coll_BarrierNB(all, 0);
  gex_Event_Wait(sum);
  gex_Event_Wait(barrier);
  if (gex_TM_QueryRank(half) == 0) wrong += members != (nodes + (me == 0)) / 2;

  printf("collectives: node %d: seed %d, range from %d, rank %u in its half: %s\n", me,
         seed, range[0], gex_TM_QueryRank(half), wrong ? "WRONG" : "right");
  gex_TM_Destroy(half, NULL, 0);
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(wrong != 0);
}
