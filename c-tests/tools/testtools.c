/* All inline parts of gasnet_tools.h, in a job; testtoolsalone.c is the same without gasnet.h. In PAR and PARSYNC
 * with threads. Items: lists A-D, F14, F16 of behaviours-tools-vis-coll.md. */
#include "testtools.h"
#include "testtools_time.h"
#include "testtools_atomic.h"
#include "testtools_lock.h"
#include "testtools_misc.h"

int main(int argc, char **argv) {
#if defined(TESTTOOLS_ALONE)
  if (argc > 1) {
    make_mistake(argv[1]);
    return 3; /* it was not noticed */
  }
  alarm(120);
#else
  GASNET_SAFE(gasnet_init(&argc, &argv));
  GASNET_SAFE(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
  alarm(120);
  test_begin("testtools");
#endif
  test_misc();
  test_time();
  test_atomics();
  test_locks();
#if defined(TESTTOOLS_ALONE)
  printf("testtoolsalone: node 0/1: %s (%ld checks)\n", test_errors ? "FAIL" : "PASS", test_checks);
  return test_errors != 0;
#else
  test_end();
  return 0;
#endif
}
