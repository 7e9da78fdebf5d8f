/* Ways of calling gasnet_attach that must be refused: list A, items 11 and 18 (contract: core.md §6.2).
 *
 *   testattach_bad [SCENARIO [ARGUMENT]]     testattach_bad -l   lists the scenarios
 *
 * Each node checks its own arguments, and a node that is refused cannot use the job any more. So each scenario is
 * one start. It ends with gasnet_exit, with 0 if the library refused the call as the contract says. */
#include "../test.h"

#include <signal.h>
#include <stdint.h>

#define PAGE ((uintptr_t)GASNET_PAGESIZE)

enum { H_ONE = 200, H_TWO = 255 };

static gasnet_node_t me, nodes;

static void one(gasnet_token_t token) { (void)token; }
static void two(gasnet_token_t token) { (void)token; }

/* Ends a process whose gasnet_attach was refused; must work without the others' help. */
static void end_refused(void) {
  printf("testattach_bad: node %d/%d: %s (%ld checks)\n", (int)me, (int)nodes, test_errors ? "FAIL" : "PASS",
         test_checks);
  gasnet_exit(test_errors ? 1 : 0);
}

/* Item 11: refused in FAST and LARGE, ignored in EVERYTHING. */
static void bad_segsize(uintptr_t size, const char *what) {
#ifdef GASNET_SEGMENT_EVERYTHING
  (void)what;
  GASNET_SAFE(gasnet_attach(NULL, 0, size, 0));
  test_begin("testattach_bad");
  test_end();
#else
  gasnet_handlerentry_t table[] = {{H_ONE, one}};
  int rc = gasnet_attach(table, 1, size, 0);
  CHECK(rc == GASNET_ERR_BAD_ARG, "%s: gasnet_attach(%lu) says %s", what, (long)size, gasnet_ErrorName(rc));
  end_refused();
#endif
}

static void scenario_size_odd(const char *a) { (void)a, bad_segsize(PAGE + PAGE / 2, "no multiple of a page"); }
static void scenario_size_one(const char *a) { (void)a, bad_segsize(1, "one byte"); }
static void scenario_size_huge(const char *a) {
  (void)a, bad_segsize(gasnet_getMaxLocalSegmentSize() + PAGE, "above the maximum");
}
static void scenario_size_ones(const char *a) { (void)a, bad_segsize(~(uintptr_t)0, "all ones"); }
static void scenario_size_ones_page(const char *a) { (void)a, bad_segsize(~(PAGE - 1), "all ones, page multiple"); }

/* Item 18: `n` entries of `table` are refused. */
static void bad_table(gasnet_handlerentry_t *table, int n, const char *what) {
  int rc = gasnet_attach(table, n, PAGE, 0);
  CHECK(rc == GASNET_ERR_BAD_ARG || rc == GASNET_ERR_RESOURCE, "%s: gasnet_attach says %s", what, gasnet_ErrorName(rc));
  end_refused();
}

static void scenario_index(const char *argument) { /* ARGUMENT = the reserved index, 1 to 127 */
  gasnet_handlerentry_t table[] = {{0, one}, {H_TWO, two}};
  table[0].index = (gasnet_handler_t)(argument ? atoi(argument) : 1);
  bad_table(table, 2, "reserved index");
}

static void scenario_twice(const char *argument) {
  gasnet_handlerentry_t table[] = {{H_ONE, one}, {H_TWO, two}, {H_ONE, two}};
  (void)argument;
  bad_table(table, 3, "one index twice");
}

static void scenario_null_function(const char *argument) {
  gasnet_handlerentry_t table[] = {{H_ONE, one}, {H_TWO, NULL}};
  (void)argument;
  bad_table(table, 2, "NULL function");
}

static void scenario_negative(const char *argument) {
  gasnet_handlerentry_t table[] = {{H_ONE, one}};
  (void)argument;
  bad_table(table, -1, "negative count");
}

static void scenario_null_table(const char *argument) {
  (void)argument;
  bad_table(NULL, 2, "NULL table of two");
}

static void scenario_too_many(const char *argument) {
  static gasnet_handlerentry_t table[129];
  int i;
  (void)argument;
  for (i = 0; i < 129; i++) table[i].index = 0, table[i].fnptr = (void (*)())one;
  bad_table(table, 129, "129 entries");
}

/* One node is refused and leaves with 5, while the others wait in gasnet_attach. */
static void scenario_one_refused(const char *argument) {
  (void)argument;
  if (me == nodes - 1) {
    gasnet_handlerentry_t table[] = {{H_ONE, one}, {H_ONE, two}};
    int rc = gasnet_attach(table, 2, 0, 0);
    CHECK(rc == GASNET_ERR_BAD_ARG || rc == GASNET_ERR_RESOURCE, "%s", gasnet_ErrorName(rc));
    gasnet_exit(test_errors ? 1 : 5);
  }
  GASNET_SAFE(gasnet_attach(NULL, 0, 0, 0));
  for (;;) test_barrier();
}

/* The last node attaches with a limit; the others wait for it in gasnet_attach. All return, and say the same. Without the limit all attach. */
static void attach_with_limit(uintptr_t size, int resource, const struct rlimit *before, rlim_t limit) {
  struct rlimit now = *before;
  int rc;
  now.rlim_cur = limit;
  if (me == nodes - 1) setrlimit(resource, &now);
  rc = gasnet_attach(NULL, 0, size, 0);
  setrlimit(resource, before);
  CHECK(rc == GASNET_ERR_RESOURCE, "gasnet_attach says %s", gasnet_ErrorName(rc));
  GASNET_SAFE(gasnet_attach(NULL, 0, size, 0));
  test_begin("testattach_bad");
  test_end();
}

/* One node may not make a file of any size, so it makes no segment. */
static void scenario_one_without_memory(const char *argument) {
  struct rlimit before;
  (void)argument;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  attach_with_limit(PAGE, RLIMIT_FSIZE, &before, 0);
}

/* One node may map half as much again as its own segment has, so none of a peer. */
static void scenario_one_without_addresses(const char *argument) {
  const uintptr_t size = 64 << 20;
  struct rlimit before;
  unsigned long pages = 0;
  FILE *sizes = fopen("/proc/self/statm", "r");
  (void)argument;
  CHECK(sizes && fscanf(sizes, "%lu", &pages) == 1, "no sizes of this process");
  if (sizes) fclose(sizes);
  getrlimit(RLIMIT_AS, &before);
  attach_with_limit(size, RLIMIT_AS, &before, (rlim_t)(pages * PAGE + size + size / 2));
}

static const struct {
  const char *name;
  void (*run)(const char *argument);
} scenarios[] = {{"size-odd", scenario_size_odd},
                 {"size-one", scenario_size_one},
                 {"size-huge", scenario_size_huge},
                 {"size-ones", scenario_size_ones},
                 {"size-ones-page", scenario_size_ones_page},
                 {"index", scenario_index},
                 {"twice", scenario_twice},
                 {"null-function", scenario_null_function},
                 {"negative", scenario_negative},
                 {"null-table", scenario_null_table},
                 {"too-many", scenario_too_many},
                 {"one-refused", scenario_one_refused},
                 {"one-without-memory", scenario_one_without_memory},
                 {"one-without-addresses", scenario_one_without_addresses}};

int main(int argc, char **argv) {
  const char *name;
  size_t i, count = sizeof scenarios / sizeof *scenarios;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) puts(scenarios[i].name);
    return 0;
  }
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  test_name = "testattach_bad";
  name = argc > 1 ? argv[1] : "size-odd";
  for (i = 0; i < count; i++)
    if (strcmp(name, scenarios[i].name) == 0) scenarios[i].run(argc > 2 ? argv[2] : NULL);
  fprintf(stderr, "testattach_bad: no scenario %s; -l lists them\n", name);
  gasnet_exit(2);
}
