/* Latency and throughput of small puts and gets. Contract: ex-rma.md section 14.
 *
 *   testsmall [OPTIONS] [iters=1000 [maxsz=2048 [sections]]]
 *     -in, -out         local memory in the segment, elsewhere (default)
 *     -p, -g            puts, gets only              -s   no warm-up
 *     -m                MB/s instead of KB/s         -a   both processes of a pair send
 *     -c                partners half the job apart  -f   the first and the last process only
 *     -minsz N          smallest transfer (1)        -max-step N   sizes double, or grow by N
 *     -segsz N          MiB of each segment
 *     sections: A blocking, B NBI, C NBI flood, D NB, E NB flood, F blocking with the local memory of the other kind (in, out) */
#include "testtransfer.h"

int main(int argc, char **argv) {
  static long least = 1, step, segment_mb;
  static const testperf_option table[] = {OPT_SIDE, OPT_WHAT, OPT_COLD, OPT_MEGA, OPT_PAIR, AMOUNT("-minsz", &least),
                                          AMOUNT("-max-step", &step), AMOUNT("-segsz", &segment_mb)};
  static const enum way ways[] = {BLOCKING, NBI_EACH, NBI_FLOOD, NB_EACH, NB_FLOOD};
  unsigned char *own;
  long iters, most;
  int arg, i;
  begin("testsmall", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3,
                "testsmall [-in|-out] [-p] [-g] [-s] [-m] [-a] [-c] [-f] [-minsz N] [-max-step N] [-segsz MB] [iters [maxsz [sections]]]");
  iters = positional(argc, argv, arg, 1000);
  most = positional(argc, argv, arg + 1, 2048);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  if (least < 1) least = 1;
  prepare((size_t)most, iters, 0, (size_t)segment_mb << 20);
  for (i = 0; i < 5; i++) rows("ABCDE"[i], ways[i], (size_t)least, (size_t)most, (size_t)step, iters);
  own = local;
  local = opt.in ? (unsigned char *)malloc(room) : area[me] + 2 * room;
  rows('F', BLOCKING, (size_t)least, (size_t)most, (size_t)step, iters);
  free(opt.in ? local : own);
  free(events);
  return end();
}
