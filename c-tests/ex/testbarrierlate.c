/* What a barrier costs to which this process comes late: the others have begun, and it polls `pollcnt` times between. Anonymous barriers.
 * Contract: ex-coll.md section 14.
 *
 *   testbarrierlate [iters=1000 [pollcnt=10]] */
#include "testbarriers.h"

int main(int argc, char **argv) {
  double apart = 0, whole_us = 0, notify_us = 0, wait_us = 0;
  gex_Rank_t late;
  long iters, polls, i, k;
  int arg;
  begin("testbarrierlate", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 2, "testbarrierlate [iters [pollcnt]]");
  iters = positional(argc, argv, arg, 1000);
  polls = positional(argc, argv, arg + 1, 10);
  (void)now_us();
  start_pollers(""); /* none */
  for (late = 0; late < nodes; late++) {
    BARRIER();
    apart = now_us();
    for (i = 0; i < iters; i++) CHECK(whole(0, ANON) == GASNET_OK);
    apart = now_us() - apart;
    BARRIER();
    whole_us = notify_us = wait_us = 0;
    for (i = 0; i < iters; i++) {
      double t0, t1, t2;
      for (k = 0; me == late && k < polls; k++) gasnet_AMPoll();
      t0 = now_us();
      notify(0, ANON);
      t1 = now_us();
      for (k = 0; me != late && k < polls; k++) gasnet_AMPoll();
      t2 = now_us();
      CHECK(finish(0, ANON) == GASNET_OK && had_name(1, 0));
      notify_us += t1 - t0, wait_us += now_us() - t2, whole_us += now_us() - t0;
    }
    if (me == late)
      printf("%2u: late by %ld polls: notify %9.3f us  wait %9.3f us  in all %9.3f us; in time %9.3f us\n", (unsigned)me, polls,
             notify_us / (double)iters, wait_us / (double)iters, whole_us / (double)iters, apart / (double)iters);
    fflush(stdout);
    BARRIER();
  }
  stop_pollers();
  return end();
}
