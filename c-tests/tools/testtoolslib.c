/* The library half of the tools in a job.
 *
 *   testtoolslib              every group of functions
 *   testtoolslib report       reports settings before and after init, for GASNET_VERBOSEENV
 *   testtoolslib work         a known number of operations of each kind, for traces and statistics
 *   testtoolslib freeze-init  for GASNET_FREEZE and one node: continues when a child sends SIGCONT
 *   testtoolslib WAY          node 0 ends in the way that testtoolslib.h knows by that name */
#include "../test.h"

#include <gasnet_tools.h>
#include <pthread.h>
#include "testtoolslib.h"

#define SEGMENT (1 << 20)
enum { HANDLER_PING = 200, HANDLER_PONG, HANDLER_BULK };

static volatile int pongs;
static void pong(gasnet_token_t token, gasnet_handlerarg_t a) { (void)token, pongs += a; }
static void ping(gasnet_token_t token, gasnet_handlerarg_t a) { GASNET_SAFE(gasnet_AMReplyShort1(token, HANDLER_PONG, a)); }
static void bulk(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t a) {
  CHECK(n == 24 && ((char *)buf)[23] == 'x', "%d bytes", (int)n);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HANDLER_PONG, a));
}

static gasnet_seginfo_t *segments;

static void stats_callback(void (*print)(const char *fmt, ...)) { print("the client says %d", 42); }

/* The operations of a node with its neighbour; their numbers are in scenarios.txt. */
static void work(void) {
#if defined(GASNET_SEGMENT_EVERYTHING)
  gasnet_exit(77); /* there are no segments */
#else
  gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
  char *to = (char *)segments[next].addr, buf[64];
  gasnet_handle_t handle;
  int i;
  uint64_t back;
  memset(buf, 'x', sizeof buf);
  (void)GASNETT_STATS_INIT(stats_callback);
  GASNETT_TRACE_SETSOURCELINE("client.upc", 77);
  GASNETT_TRACE_PRINTF("before %s", "work");
  for (i = 0; i < 10; i++) gasnet_put(next, to, buf, 8);
  gasnet_put(next, to, buf, 24);
  for (i = 0; i < 4; i++) gasnet_get(buf, next, to, 16);
  handle = gasnet_put_nb_bulk(next, to, buf, 32);
  gasnet_wait_syncnb(handle);
  gasnet_put_nbi(next, to, buf, 40);
  gasnet_memset(next, to + 64, 7, 48);
  gasnet_wait_syncnbi_all();
  gasnet_put_val(next, to, 0x1234, 8);
  back = gasnet_get_val(next, to, 8);
  CHECK(back == 0x1234, "%llx", (unsigned long long)back);
  handle = gasnet_put_nb_val(next, to, 1, 4);
  gasnet_wait_syncnb_all(&handle, 1);
  gasnet_begin_nbi_accessregion();
  for (i = 0; i < 2; i++) gasnet_put_nbi_val(next, to, 1, 2);
  handle = gasnet_end_nbi_accessregion();
  while (gasnet_try_syncnb_some(&handle, 1) != GASNET_OK) {}
  while (gasnet_try_syncnbi_puts() != GASNET_OK) {}
  for (i = 0; i < 3; i++) GASNET_SAFE(gasnet_AMRequestShort1(next, HANDLER_PING, 1));
  GASNET_SAFE(gasnet_AMRequestMedium1(next, HANDLER_BULK, memset(buf, 'x', 24), 24, 1));
  GASNET_BLOCKUNTIL(pongs == 4);
  GASNETT_TRACE_SETSOURCELINE(NULL, 78);
  GASNETT_TRACE_PRINTF("after %s", "work");
  test_barrier();
#endif
}

/* F11: hooks where nothing is recorded; where something is, the scenarios look. */
static void check_hooks(void) {
  const char *file = "untouched";
  unsigned line = 42;
  GASNETT_TRACE_ENABLED ? GASNETT_TRACE_PRINTF("%d", 1) : (void)0;
  GASNETT_TRACE_SETSOURCELINE("a.c", 1), GASNETT_TRACE_SETSOURCELINE(NULL, 2);
  GASNETT_TRACE_FREEZESOURCELINE(), GASNETT_TRACE_SETSOURCELINE("b.c", 3), GASNETT_TRACE_UNFREEZESOURCELINE();
  GASNETT_TRACE_GETSOURCELINE(&file, &line);
  if (gasnett_getenv("GASNET_TRACEFILE")) {
    CHECK(!strcmp(file, "a.c") && line == 2, "%s:%u", file, line);
    GASNETT_TRACE_SETMASK("GH");
    CHECK(!strcmp(GASNETT_TRACE_GETMASK(), "GHU") && GASNETT_TRACE_ENABLED, "%s", GASNETT_TRACE_GETMASK());
    GASNETT_TRACE_SETMASK("P");
    CHECK(!strcmp(GASNETT_TRACE_GETMASK(), "PU") && !GASNETT_TRACE_ENABLED, "%s", GASNETT_TRACE_GETMASK());
    CHECK(GASNETT_TRACE_GET_TRACELOCAL() == 1, "local transfers");
    GASNETT_TRACE_SET_TRACELOCAL(0);
    CHECK(GASNETT_TRACE_GET_TRACELOCAL() == 0, "local transfers");
  } else {
    CHECK(!strcmp(file, "untouched") && line == 42, "%s:%u", file, line);
    CHECK(!GASNETT_TRACE_GETMASK()[0] && !GASNETT_TRACE_ENABLED && !GASNETT_TRACE_GET_TRACELOCAL(), "something is on");
    CHECK(!GASNETT_STATS_GETMASK()[0] && GASNETT_STATS_INIT(stats_callback) == 0, "something is on");
  }
}

static void check_section15(void) {
  static char per_thread[GASNETT_MAX_THREADS];
  gasnet_handlerentry_t *table = (gasnet_handlerentry_t *)&table;
  int count = 7;
  size_t i, n = 3 * GASNET_PAGESIZE;
  char *at = (char *)gasnett_mmap(n);
  CHECK(at && (uintptr_t)at % GASNET_PAGESIZE == 0, "%p", (void *)at);
  for (i = 0; i < n; i++)
    if (at[i]) break;
  CHECK(i == n, "byte %d is not zero", (int)i);
  memset(at, 1, n);
  CHECK(gasnett_mmap(~(uintptr_t)0 - 65536) == MAP_FAILED, "more than there can be");
  gasnett_diagnostic_gethandlers(&table, &count);
  CHECK(count == 0, "%d handlers", count);
  CHECK(gasnett_run_diagnostics(100, GASNETT_MAX_THREADS > 1 ? 3 : 1, NULL, segments) == 0, "the self test fails");
#if defined(GASNET_SEQ)
  CHECK(sizeof per_thread == 1, "%d threads", (int)sizeof per_thread);
#else
  CHECK(sizeof per_thread >= 256, "%d threads", (int)sizeof per_thread);
#endif
#if !GASNETT_MAX_THREADS
#error "GASNETT_MAX_THREADS is for #if"
#endif
}

/* E7, as far as one host goes: what a launcher may have encoded is decoded in a job. */
static void check_encoding(void) {
  gasnett_setenv("GASNET_TT_CODE", "a%041b%0201%0");
  CHECK(!strcmp(gasnett_getenv("GASNET_TT_CODE"), gasnett_getenv("GASNET_DISABLE_ENVDECODE") ? "a%041b%0201%0" : "aAb 1%0"), "%s",
        gasnett_getenv("GASNET_TT_CODE"));
  CHECK(gasnett_getenv("GASNET_TT_CODE") == gasnett_getenv("GASNET_TT_CODE"), "the value moves");
  gasnett_unsetenv("GASNET_TT_CODE");
  /* a node's own change behind GASNet's back is not the job's, one by the tools is its own */
  setenv("GASNET_TT_RANKS", "behind", 1);
  CHECK(!strcmp(gasnett_getenv("GASNET_TT_RANKS"), "before init"), "%s", gasnett_getenv("GASNET_TT_RANKS"));
  gasnett_setenv("GASNET_TT_RANKS", "own");
  CHECK(!strcmp(gasnett_getenv("GASNET_TT_RANKS"), "own"), "%s", gasnett_getenv("GASNET_TT_RANKS"));
  gasnett_unsetenv("GASNET_TT_RANKS");
  CHECK(gasnett_getenv("GASNET_TT_RANKS") == NULL, "still set");
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {{HANDLER_PING, (void (*)())ping}, {HANDLER_PONG, (void (*)())pong}, {HANDLER_BULK, (void (*)())bulk}};
  const char *what = argc > 1 ? argv[1] : "";
  setenv("GASNET_TT_RANKS", "before init", 1);
  CHECK(gasnett_verboseenv() == -1, "%d before init", gasnett_verboseenv());
  if (!strcmp(what, "report")) report_environment();
  if (!strcmp(what, "freeze-init")) resume_soon(); /* GASNET_FREEZE, in a job of one */
  GASNET_SAFE(gasnet_init(&argc, &argv));
  GASNET_SAFE(gasnet_attach(handlers, 3, SEGMENT, 0));
  test_begin("testtoolslib");
  segments = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof *segments);
  GASNET_SAFE(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
  CHECK(gasnett_verboseenv() == (gasnet_mynode() == 0 && gasnett_getenv_yesno_withdefault("GASNET_VERBOSEENV", 0)), "%d", gasnett_verboseenv());
  if (!strcmp(what, "report")) {
    report_environment();
  } else if (!strcmp(what, "work")) {
    work();
  } else if (!strcmp(what, "freeze-init")) {
    fprintf(stderr, "went on\n");
    end_resumer();
  } else if (*what) {
    if (gasnet_mynode() == 0) {
      way_to_end(what);
      fprintf(stderr, "no such way: %s\n", what);
      gasnet_exit(66);
    }
    test_barrier();
  } else {
    check_numbers();
    check_environment();
    check_encoding();
    check_bytes();
    check_signals();
    check_host();
    check_memory();
    check_backtrace();
    check_hooks();
    check_section15();
    gasnett_flush_streams();
  }
  test_end();
  return 0;
}
