/* What testcudauva, testhip and testze share: a device class that the library refuses. Before: KIND, the class; KIND_NAME, the program.
 * Contract: ex-coll.md sections 10, 14. */
#ifndef TESTKIND_H
#define TESTKIND_H
#include "testperf.h"
#include <gasnet_mk.h>

#define KIND_CLASS__(kind) GEX_MK_CLASS_##kind
#define KIND_CLASS_(kind) KIND_CLASS__(kind)
#define KIND_TEXT__(kind) #kind
#define KIND_TEXT_(kind) KIND_TEXT__(kind)

int main(int argc, char **argv) {
  static long client_segment, library_segment;
  static const testperf_option table[] = {FLAG("-client-seg", &client_segment), FLAG("-gasnet-seg", &library_segment)};
  gex_MK_Create_args_t args;
  gex_MK_t kind = GEX_MK_HOST;
  long size;
  int arg;
  begin(KIND_NAME, &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 2, KIND_NAME " [-client-seg|-gasnet-seg] [size [seed]]");
  size = positional(argc, argv, arg, 4 << 20);
  make_areas(2 * (size_t)size);
  make_pairs();
  if (nodes < 2) {
    say("WARNING: " KIND_NAME " requires a minimum of two nodes. Test skipped");
    return end();
  }
  memset(&args, 0, sizeof args);
  args.gex_class = KIND_CLASS_(KIND);
  gex_System_SetVerboseErrors(0);
  CHECK(gex_MK_Create(&kind, client, &args, 0) == GASNET_ERR_BAD_ARG);
  CHECK(kind == GEX_MK_HOST);
  gex_System_SetVerboseErrors(1);
  if (me == 0) say("GEX_MK_CLASS_" KIND_TEXT_(KIND) ": correct failure due to missing support");
  /* memory of the host works as before */
  fill(area[me] + size, me, (size_t)size);
  (void)gex_RMA_PutBlocking(tm, peer, area[peer], area[me] + size, (size_t)size, 0);
  BARRIER();
  CHECK(filled(area[me], peer, (size_t)size));
  return end();
}
#endif
