/* Times of barriers: the named ones of GASNet-1 in a client of GASNet-EX, and those of teams. Contract: ex-coll.md sections 8, 14.
 *
 *   testbarrier [-t] [-b] [-p N] [iters=10000]     -t by try; -b blocking; else by wait. -p N: threads that poll (GASNET_PAR) */
#include "testbarriers.h"

static void of_primordial(long i) { (void)i, gex_Coll_BarrierBlocking(tm, 0); }
static void by_event(long i) { (void)i, gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)); }

int main(int argc, char **argv) {
  static const testperf_option table[] = {FLAG("-t", &by_try), FLAG("-b", &by_blocking), OPT_POLLERS};
  static const char usage[] = "testbarrier [-t] [-b] [-p N up to 64 (PAR)] [iters]";
  long iters;
  int arg;
  begin("testbarrier", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 1, usage);
  iters = positional(argc, argv, arg, 10000);
  start_pollers(usage);
  time_all_barriers(iters);
  time_barriers('E', "gex_Coll_BarrierBlocking", of_primordial, iters);
  time_barriers('F', "gex_Coll_BarrierNB", by_event, iters);
  stop_pollers();
  return end();
}
