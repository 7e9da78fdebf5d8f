/* queue: node 0 has a counter of tasks. Whoever is free takes the next number from it, so
 * that fast nodes do more. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdio.h>

enum { TASKS = 200000 };

/* A task that takes longer for some numbers: how many steps the sequence of Collatz takes
 * to reach 1. */
static uint64_t work(uint64_t n) {
  uint64_t steps = 0;
  for (n++; n != 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &all, "QUEUE", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  void *counter; /* in the segment of node 0, which is zero at first */
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, 0, &counter, NULL, NULL, 0));
  gex_AD_t domain;
  gex_AD_Create(&domain, all, GEX_DT_U64, GEX_OP_FADD, 0);

  uint64_t done[2] = {0, 0}, sums[2], task;
  for (;;) {
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &task, 0, counter, GEX_OP_FADD, 1, 0, 0));
    if (task >= TASKS) break;
    done[0]++;
    done[1] += work(task);
  }
  gex_Event_Wait(gex_Coll_ReduceToAllNB(all, sums, done, GEX_DT_U64, sizeof(uint64_t), 2,
                                        GEX_OP_ADD, NULL, NULL, 0));
  uint64_t expected = 0;
  for (uint64_t i = 0; i < TASKS; i++) expected += work(i);
  int right = sums[0] == TASKS && sums[1] == expected;
  printf("queue: node %u did %d of %d tasks: %s\n", gex_TM_QueryRank(all), (int)done[0],
         TASKS, right ? "right" : "WRONG");
  gex_AD_Destroy(domain);
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
