/* Latency and throughput of puts and gets of values, of every length. Contract: ex-rma.md sections 3, 14.
 *
 *   testval [-p] [-g] [-s] [-m] [-a] [-c] [-f] [iters=10000 [maxsz=8 [sections]]]
 *     -p, -g puts, gets only; -s no warm-up; -m MB/s; -a both processes of a pair send; -c partners half the job apart;
 *     -f the first and the last process only; sections: A blocking, B NBI, C NBI flood, D NB, E NB flood */
#include "testtransfer.h"

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_WHAT, OPT_COLD, OPT_MEGA, OPT_PAIR};
  static const enum way ways[] = {BLOCKING, NBI_EACH, NBI_FLOOD, NB_EACH, NB_FLOOD};
  long iters, most;
  int arg, i;
  begin("testval", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3, "testval [-p] [-g] [-s] [-m] [-a] [-c] [-f] [iters [maxsz up to 8 [sections]]]");
  iters = positional(argc, argv, arg, 10000);
  most = positional(argc, argv, arg + 1, SIZEOF_GEX_RMA_VALUE_T);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  if (most > SIZEOF_GEX_RMA_VALUE_T) most = SIZEOF_GEX_RMA_VALUE_T;
  values = 1;
  prepare(SIZEOF_GEX_RMA_VALUE_T, iters, 0, 0);
  for (i = 0; i < 5; i++) rows("ABCDE"[i], ways[i], 1, (size_t)most, 1, iters);
  free(local);
  free(events);
  return end();
}
