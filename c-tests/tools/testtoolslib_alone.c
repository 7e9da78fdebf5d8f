/* The library half of the tools in a program without gasnet.h.
 *
 *   testtoolslib_alone            every group of functions: ends with "testtoolslib_alone: node 0/1: PASS (C checks)"
 *   testtoolslib_alone report     reports settings, for GASNET_VERBOSEENV
 *   testtoolslib_alone trace [no-init]   a stack trace to stderr
 *   testtoolslib_alone read FILE ...  prints files, for cases that look into them
 *   testtoolslib_alone WAY        ends in the way that testtoolslib.h knows by that name */
#undef GASNET_SEQ
#undef GASNET_PARSYNC
#undef GASNET_PAR
#include <gasnet_tools.h>
#include <pthread.h>
#include <stdarg.h>

static long checks, errors;
#define CHECK(cond, ...)                                                                                             \
  (checks++, (cond) ? (void)0 : (errors++, (void)fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), (void)fprintf(stderr, __VA_ARGS__), (void)fputc('\n', stderr)))
#include "testtoolslib.h"

#ifdef _GASNET_H
#error "gasnet_tools.h brings gasnet.h"
#endif

/* A mechanism of this program's own: prints, and tries to recurse. */
static int own_backtrace(int fd) {
  static const char text[] = "a mechanism of ours\n";
  int nested = gasnett_print_backtrace(fd);
  return write(fd, text, sizeof text - 1) < 0 || nested == 0;
}
gasnett_backtrace_type_t gasnett_backtrace_user = {"OURS", own_backtrace, 1};

/* Every hook is an expression, and says nothing (F11). */
static void check_hooks(void) {
  const char *file = "untouched";
  unsigned line = 42;
  int none = 0;
  GASNETT_TRACE_ENABLED ? GASNETT_TRACE_PRINTF("%d", 1) : (void)0;
  GASNETT_TRACE_PRINTF_FORCE("%s", "x"), none++;
  GASNETT_TRACE_SETSOURCELINE("a", 1), GASNETT_TRACE_FREEZESOURCELINE(), GASNETT_TRACE_UNFREEZESOURCELINE();
  GASNETT_TRACE_GETSOURCELINE(&file, &line);
  GASNETT_TRACE_SETMASK("G"), GASNETT_TRACE_SET_TRACELOCAL(0), GASNETT_STATS_SETMASK("G");
  CHECK(!strcmp(file, "untouched") && line == 42, "%s:%u", file, line);
  CHECK(!GASNETT_TRACE_GETMASK()[0] && !GASNETT_STATS_GETMASK()[0] && !GASNETT_TRACE_GET_TRACELOCAL(), "masks");
  CHECK(GASNETT_TRACE_ENABLED == 0 && GASNETT_STATS_INIT(NULL) == 0 && none == 1, "something is on");
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "trace")) {
    if (argc == 2) gasnett_backtrace_init(argv[0]);
    printf("result %d\n", gasnett_print_backtrace(2));
    return 0;
  }
  if (!strcmp(what, "read")) {
    int i, c;
    for (i = 2; i < argc; i++) {
      FILE *file = fopen(argv[i], "r");
      printf("%s: %s\n", argv[i], file ? "exists" : strerror(errno));
      while (file && (c = getc(file)) != EOF) putchar(c);
      if (file) fclose(file);
    }
    return 0;
  }
  gasnett_backtrace_init(argv[0]);
  CHECK(gasnett_verboseenv() == (gasnett_getenv_yesno_withdefault("GASNET_VERBOSEENV", 0)), "%d", gasnett_verboseenv());
  if (!strcmp(what, "report")) {
    report_environment();
    return 0;
  }
  if (*what) {
    way_to_end(what);
    fprintf(stderr, "no such way: %s\n", what);
    return 66;
  }
  check_numbers();
  check_environment();
  check_bytes();
  check_signals();
  check_host();
  check_memory();
  check_backtrace();
  check_hooks();
  gasnett_flush_streams();
  printf("testtoolslib_alone: node 0/1: %s (%ld errors in %ld checks)\n", errors ? "FAIL" : "PASS", errors, checks);
  return errors != 0;
}
