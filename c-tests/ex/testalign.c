/* Throughput of puts and gets at every misalignment by a power of two up to a page, of the local side, the remote side, both.
 * Contract: ex-rma.md section 14.
 *
 *   testalign [-in|-out] [-p] [-g] [-c] [-m] [iters=1000 [size=32K [sections]]]
 *     -in, -out local memory in the segment, elsewhere (default); -p, -g puts, gets only; -c partners half the job apart; -m MB/s;
 *     sections: A blocking, B NBI, C NB DEFER */
#include "testtransfer.h"

static void section(char letter, enum way way, size_t size, long iters) {
  size_t shift;
  int put, side;
  char what[64];
  for (put = 1; put >= 0; put--) {
    if (!wanted(letter) || (put ? opt.gets && !opt.puts : opt.puts && !opt.gets)) continue;
    for (shift = 0; shift <= GASNET_PAGESIZE; shift = shift ? 2 * shift : 1)
      for (side = 1; side <= 3; side++) {
        double us;
        if (shift == 0 && side < 3) continue;
        us = measure(put, way, size, iters, side & 1 ? shift : 0, side & 2 ? shift : 0);
        snprintf(what, sizeof what, "%s %s, %s +%lu", put ? "put" : "get", way_name[way],
                 side == 1 ? "local" : side == 2 ? "remote" : "both", (unsigned long)shift);
        if (sends) row(letter, what, size, iters, us);
      }
  }
}

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_SIDE, OPT_WHAT, FLAG("-c", &opt.cross), OPT_MEGA};
  long iters, size;
  int arg;
  begin("testalign", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3, "testalign [-in|-out] [-p] [-g] [-c] [-m] [iters [size [sections]]]");
  iters = positional(argc, argv, arg, 1000);
  size = positional(argc, argv, arg + 1, 32 << 10);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  prepare((size_t)size, iters, GASNET_PAGESIZE, 0);
  section('A', BLOCKING, (size_t)size, iters);
  section('B', NBI_FLOOD, (size_t)size, iters);
  section('C', NB_DEFER, (size_t)size, iters);
  if (!opt.in) free(local);
  free(events);
  return end();
}
