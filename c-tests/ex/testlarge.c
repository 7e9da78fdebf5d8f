/* Throughput of large puts and gets, many to one address. Contract: ex-rma.md section 14.
 *
 *   testlarge [OPTIONS] [iters=1000 [maxsz=2M [sections]]]
 *     Options: those of testsmall, and -lbufs N: so many local buffers in turn (not with -in)
 *     sections: A blocking, B NBI DEFER, C NB DEFER, D NBI GROUP, E NB with a leaf each: all leaves and roots in one array */
#include "testtransfer.h"

int main(int argc, char **argv) {
  static long least = 4096, step, segment_mb;
  static const testperf_option table[] = {OPT_SIDE, OPT_WHAT, OPT_COLD, OPT_MEGA, OPT_PAIR, AMOUNT("-minsz", &least),
                                          AMOUNT("-max-step", &step), AMOUNT("-segsz", &segment_mb), AMOUNT("-lbufs", &local_count)};
  static const enum way ways[] = {BLOCKING, NBI_DEFER, NB_DEFER, NBI_GROUP, NB_LEAF};
  long iters, most;
  int arg, i;
  begin("testlarge", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3,
                "testlarge [-in|-out] [-p] [-g] [-s] [-m] [-a] [-c] [-f] [-minsz N] [-max-step N] [-segsz MB] [-lbufs N] "
                "[iters [maxsz [sections]]]");
  iters = positional(argc, argv, arg, 1000);
  most = positional(argc, argv, arg + 1, 2 << 20);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  if (least < 1) least = 1;
  if (least > most) least = most;
  if (local_count < 1) local_count = 1;
  prepare((size_t)most, iters, 0, (size_t)segment_mb << 20);
  for (i = 0; i < 5; i++) rows("ABCDE"[i], ways[i], (size_t)least, (size_t)most, (size_t)step, iters);
  if (!opt.in) free(local);
  free(events);
  return end();
}
