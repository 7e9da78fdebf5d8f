/* The library's own diagnostics. Contract: ex-core.md section 19, ex-coll.md section 11.
 *
 *   testinternal [iters=100 [threads=4 [sections]]] */
#include "testperf.h"
#include <gasnet_tools.h>

int main(int argc, char **argv) {
  gex_AM_Entry_t *handlers = NULL;
  int count = -1, found, arg;
  long iters, threads;
  gasnett_diagnostic_gethandlers(&handlers, &count); /* before there is a client */
  begin("testinternal", &argc, &argv);
  CHECK(count >= 0 && (count == 0 || handlers != NULL));
  arg = options(argc, argv, NULL, 0, 3, "testinternal [iters [threads [sections]]]");
  iters = positional(argc, argv, arg, 100);
  threads = positional(argc, argv, arg + 1, 4);
#if !GASNET_PAR
  threads = 1;
#endif
  MUST(gex_EP_RegisterHandlers(ep, handlers, (size_t)count));
  make_areas(GASNET_PAGESIZE * (size_t)threads);
  make_pairs();
  memset(area[me], 0, area_bytes);
  BARRIER();
  found = gasnett_run_diagnostics((int)iters, (int)threads, arg + 2 < argc ? argv[arg + 2] : "", tm, area[me], peer, area[peer], 7u + me);
  CHECK(found == 0);
  return end();
}
