/* Shared by testtoolslib (with gasnet.h, in a job) and testtoolslib_alone (gasnet_tools.h only): each group of
 * functions of the library half of the tools, with values checked, and the ways to end that scenarios.txt judges.
 *
 * The includer provides CHECK. Contract: tools.md sections 9-13; behaviours E1-E8, F1-F13. */
#ifndef GASNET_SCI_TESTTOOLSLIB_H
#define GASNET_SCI_TESTTOOLSLIB_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- E1-E3: numbers ---- */

static void numbers_one(const char *text, uint64_t multiplier, int64_t expected) {
  int64_t value = gasnett_parse_int(text, multiplier);
  CHECK(value == expected, "parse '%s' by %llu: %lld, not %lld", text ? text : "NULL", (unsigned long long)multiplier,
        (long long)value, (long long)expected);
}

static void numbers_format(int64_t value, int is_size, const char *expected) {
  char buf[64];
  char *result = gasnett_format_number(value, buf, sizeof buf, is_size);
  CHECK(result == buf && strcmp(buf, expected) == 0, "format %lld: '%s', not '%s'", (long long)value, buf, expected);
}

static void check_numbers(void) {
  char buf[64];
  int k, room;
  for (k = 0; k <= 61; k++) {
    int64_t value = (int64_t)1 << k;
    numbers_one(gasnett_format_number(value, buf, sizeof buf, 0), 0, value);
    numbers_one(gasnett_format_number(value, buf, sizeof buf, 1), 1, value);
    if (k < 50) numbers_one(gasnett_format_number(-value, buf, sizeof buf, 0), 0, -value);
  }
  numbers_one(gasnett_format_number(0, buf, sizeof buf, 0), 0, 0);
  numbers_one(gasnett_format_number(0, buf, sizeof buf, 1), 1, 0);
  numbers_one(NULL, 0, 0);
  numbers_one("", 1, 0);
  numbers_one(" 12", 0, 12);
  numbers_one("-5", 0, -5);
  numbers_one("+7", 0, 7);
  numbers_one("0x1F", 0, 31);
  numbers_one("0XfF", 0, 255);
  numbers_one("1.5G", 1, (int64_t)3 << 29);
  numbers_one("64k", 1, 65536);
  numbers_one("64 KB", 1, 65536);
  numbers_one("10b", 1024, 10);
  numbers_one("3", 1 << 20, 3 << 20);
  numbers_one("64K", 0, 64);
  numbers_one("9007199254740993", 0, (int64_t)9007199254740993);
  numbers_format(65536, 1, "64 KB");
  numbers_format(1500, 1, "1500 B");
  numbers_format((12 << 20) + 1, 1, "12 MB");
  numbers_format((int64_t)1 << 50, 1, "0x4000000000000");
  numbers_format((int64_t)1 << 50, 0, "0x4000000000000");
  numbers_format(-12, 0, "-12");
  for (room = 1; room < 12; room++) {
    memset(buf, '#', sizeof buf);
    gasnett_format_number(123456789, buf, (size_t)room, 0);
    CHECK((int)strlen(buf) == (room > 9 ? 9 : room - 1) && buf[room] == '#', "%d bytes: '%s'", room, buf);
  }
}

/* ---- E4-E6, E8: environment ---- */

static void check_environment(void) {
  const int64_t odd = ((int64_t)3 << 40) + 12345;
  const char *yes[] = {"y", "Y", "yes", "YES", "Yes", "1", " 1 "}, *no[] = {"n", "N", "no", "NO", "No", "0"};
  static const struct {
    const char *text;
    double value;
  } floats[] = {{"2.5", 2.5}, {"3/8", 0.375}, {" 3 / 8 ", 0.375}, {"-1e3", -1000.0}, {"7", 7.0}};
  size_t i;
  double d;

  gasnett_setenv("GASNET_TT_A", "one");
  CHECK(strcmp(gasnett_getenv("GASNET_TT_A"), "one") == 0, "%s", gasnett_getenv("GASNET_TT_A"));
  CHECK(strcmp(getenv("GASNET_TT_A"), "one") == 0, "%s", getenv("GASNET_TT_A"));
  gasnett_setenv("GASNET_TT_A", "two words = %s");
  CHECK(strcmp(gasnett_getenv_withdefault("GASNET_TT_A", "x"), "two words = %s") == 0, "%s", gasnett_getenv("GASNET_TT_A"));
  gasnett_unsetenv("GASNET_TT_A");
  CHECK(gasnett_getenv("GASNET_TT_A") == NULL && getenv("GASNET_TT_A") == NULL, "still set");
  gasnett_unsetenv("GASNET_TT_A"); /* twice is nothing */
  CHECK(gasnett_getenv_withdefault("GASNET_TT_B", NULL) == NULL, "a default of NULL");
  CHECK(strcmp(gasnett_getenv_withdefault("GASNET_TT_B", "dflt"), "dflt") == 0, "a default");

  CHECK(gasnett_getenv_yesno_withdefault("GASNET_TT_Y", 1) == 1 && gasnett_getenv_yesno_withdefault("GASNET_TT_Y", 0) == 0,
        "defaults of yes and no");
  for (i = 0; i < sizeof yes / sizeof *yes; i++) {
    gasnett_setenv("GASNET_TT_Y", yes[i]);
    CHECK(gasnett_getenv_yesno_withdefault("GASNET_TT_Y", 0) == 1, "'%s' is yes", yes[i]);
  }
  for (i = 0; i < sizeof no / sizeof *no; i++) {
    gasnett_setenv("GASNET_TT_Y", no[i]);
    CHECK(gasnett_getenv_yesno_withdefault("GASNET_TT_Y", 1) == 0, "'%s' is no", no[i]);
  }

  CHECK(gasnett_getenv_int_withdefault("GASNET_TT_I", odd, 1) == odd, "the default loses digits");
  CHECK(gasnett_getenv_int_withdefault("GASNET_TT_I", -odd, 0) == -odd, "the default loses digits");
  gasnett_setenv("GASNET_TT_I", "0x40");
  CHECK(gasnett_getenv_int_withdefault("GASNET_TT_I", 5, 0) == 64, "0x40");
  gasnett_setenv("GASNET_TT_I", "1.5 M");
  CHECK(gasnett_getenv_int_withdefault("GASNET_TT_I", 5, 1) == 3 << 19, "1.5 M");
  gasnett_setenv("GASNET_TT_I", "7");
  CHECK(gasnett_getenv_int_withdefault("GASNET_TT_I", 5, 1024) == 7168, "7 in K");

  CHECK(gasnett_getenv_dbl_withdefault("GASNET_TT_D", 0.1) == 0.1, "a default of 0.1");
  for (i = 0; i < sizeof floats / sizeof *floats; i++) {
    gasnett_setenv("GASNET_TT_D", floats[i].text);
    d = gasnett_getenv_dbl_withdefault("GASNET_TT_D", 9);
    CHECK(d == floats[i].value, "'%s' is %g", floats[i].text, d);
  }
  gasnett_unsetenv("GASNET_TT_Y");
  gasnett_unsetenv("GASNET_TT_I");
  gasnett_unsetenv("GASNET_TT_D");
}

/* E8, for a scenario to judge: each of these names once on stderr, with or without (default). */
static void report_environment(void) {
  gasnett_setenv("GASNET_TT_SIZE", "0x10000");
  gasnett_getenv_int_withdefault("GASNET_TT_SIZE", 5, 1);
  gasnett_getenv_int_withdefault("GASNET_TT_SIZE", 6, 1);
  gasnett_getenv_int_withdefault("GASNET_TT_COUNT", 12, 0);
  gasnett_getenv_yesno_withdefault("GASNET_TT_FLAG", 1);
  gasnett_getenv_dbl_withdefault("GASNET_TT_RATIO", 0.5);
  gasnett_getenv_withdefault("GASNET_TT_UNSET", NULL);
  gasnett_getenv_withdefault("GASNET_TT_EMPTY", "");
  gasnett_envstr_display("GASNET_TT_TEXT", "text", 0);
  gasnett_envint_display("GASNET_TT_INT", 65536, 1, 1);
  gasnett_envdbl_display("GASNET_TT_DBL", 2.5, 0);
  gasnett_envdbl_display("GASNET_TT_DBL", 3.5, 0);
}

/* ---- F6, F7: zero counts, checksum ---- */

static size_t bytes_zeros(const unsigned char *at, size_t n) {
  size_t i, zeros = 0;
  for (i = 0; i < n; i++) zeros += at[i] == 0;
  return zeros;
}

static void check_bytes(void) {
  static unsigned char from[512], to[512];
  size_t a, b, n, i;
  int k;
  uint64_t sum = 0;
  for (i = 0; i < sizeof from; i++) from[i] = (unsigned char)((i * i + i / 7) % 3 ? i + 1 : 0);
  for (a = 0; a < 16; a++) {
    for (b = 0; b < 16; b++) {
      for (n = 0; n <= 300; n += n < 40 ? 1 : 13) {
        size_t expected = bytes_zeros(from + a, n), found = gasnett_count0s(from + a, n), copied;
        memset(to, 0xee, sizeof to);
        copied = gasnett_count0s_copy(to + b, from + a, n);
        CHECK(found == expected && copied == expected, "%d bytes at %d: %d and %d zeros, not %d", (int)n, (int)a, (int)found,
              (int)copied, (int)expected);
        CHECK(memcmp(to + b, from + a, n) == 0 && to[b + n] == 0xee && (b == 0 || to[b - 1] == 0xee), "%d bytes from %d to %d",
              (int)n, (int)a, (int)b);
      }
    }
  }
  CHECK(gasnett_count0s_uint32_t(0) == 4 && gasnett_count0s_uint64_t(0) == 8 && gasnett_count0s_uintptr_t(0) == sizeof(void *),
        "zeros in 0");
  CHECK(gasnett_count0s_uint32_t(~(uint32_t)0) == 0 && gasnett_count0s_uint64_t(~(uint64_t)0) == 0 &&
            gasnett_count0s_uintptr_t(~(uintptr_t)0) == 0,
        "zeros in ones");
  for (k = 0; k < 8; k++) {
    uint64_t hole = ~((uint64_t)0xff << (8 * k)), one = (uint64_t)0x80 << (8 * k);
    CHECK(gasnett_count0s_uint64_t(hole) == 1 && gasnett_count0s_uint64_t(one) == 7, "byte %d of 8", k);
    if (k < 4)
      CHECK(gasnett_count0s_uint32_t((uint32_t)hole) == 1 && gasnett_count0s_uint32_t((uint32_t)one) == 3, "byte %d of 4", k);
  }
  for (i = 0; i < 100; i++) {
    CHECK(gasnett_checksum(from, (int)i) == sum, "checksum of %d bytes", (int)i);
    sum = (sum << 8 | sum >> 56) ^ from[i];
  }
}

/* ---- F3, F5, F8, F12: machine, limits, signals ---- */

static volatile sig_atomic_t signals_seen;
static void signals_count(int signal) { signals_seen += signal; }
static void signals_other(int signal) { signals_seen -= signal; }

static void check_signals(void) {
  gasnett_sighandlerfn_t before = gasnett_reghandler(SIGUSR2, signals_count), old;
  int i;
  for (i = 0; i < 3; i++) raise(SIGUSR2);
  CHECK(signals_seen == 3 * SIGUSR2, "%d", (int)signals_seen);
  old = gasnett_reghandler(SIGUSR2, signals_other);
  CHECK(old == signals_count, "the handler before");
  raise(SIGUSR2);
  CHECK(signals_seen == 2 * SIGUSR2, "%d", (int)signals_seen);
  old = gasnett_reghandler(SIGUSR2, SIG_IGN);
  CHECK(old == signals_other, "the handler before");
  raise(SIGUSR2);
  old = gasnett_reghandler(SIGUSR2, before);
  CHECK(old == SIG_IGN && signals_seen == 2 * SIGUSR2, "SIG_IGN");
  CHECK(strcmp(gasnett_signame_fromval(SIGSEGV), "SIGSEGV") == 0 && gasnett_signame_fromval(9999) == NULL, "names");
}

static void check_host(void) {
  char name[256] = "";
  cpu_set_t cpus, after;
  uint64_t memory = gasnett_getPhysMemSz(1);
  struct rlimit limit, raised;
  gethostname(name, sizeof name - 1);
  CHECK(strcmp(gasnett_gethostname(), name) == 0 && name[0], "host %s, not %s", gasnett_gethostname(), name);
  CHECK(gasnett_gethostname() == gasnett_gethostname(), "the name moves");
  CHECK(gasnett_cpu_count() == sysconf(_SC_NPROCESSORS_ONLN), "%d CPUs", gasnett_cpu_count());
  CHECK(memory >= 1 << 20 && memory == (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), "%llu bytes",
        (unsigned long long)memory);
  CHECK(gasnett_isLittleEndian() == (*(const char *)&memory == (char)memory), "endianness");
  CHECK(gasnett_exe_name() && strstr(gasnett_exe_name(), "testtools"), "%s", gasnett_exe_name());
  gasnett_sched_yield();

  sched_getaffinity(0, sizeof cpus, &cpus);
  gasnett_set_affinity(100000 + 1);
  sched_getaffinity(0, sizeof after, &after);
  CHECK(CPU_COUNT(&after) == 1, "bound to %d CPUs", CPU_COUNT(&after));
  CPU_AND(&after, &after, &cpus);
  CHECK(CPU_COUNT(&after) == 1, "bound to a CPU that was not ours");
  sched_setaffinity(0, sizeof cpus, &cpus);

  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &limit);
  gasnett_setenv("GASNET_MAXIMIZE_RLIMIT_CORE", "0");
  CHECK(gasnett_maximize_rlimit(RLIMIT_CORE, "RLIMIT_CORE") != 0, "suppression counts as success");
  getrlimit(RLIMIT_CORE, &raised);
  CHECK(raised.rlim_cur == 0, "raised all the same");
  gasnett_unsetenv("GASNET_MAXIMIZE_RLIMIT_CORE");
  CHECK(gasnett_maximize_rlimit(RLIMIT_CORE, "RLIMIT_CORE") != 0, "raising");
  getrlimit(RLIMIT_CORE, &raised);
  CHECK(raised.rlim_cur == limit.rlim_max, "not raised");
  CHECK(gasnett_maximize_rlimits() != 0, "all limits");
  getrlimit(RLIMIT_STACK, &raised);
  CHECK(raised.rlim_cur == raised.rlim_max, "the stack's limit");
  CHECK(gasnett_maximize_rlimit(9999, "RLIMIT_NONE") == 0, "a limit that does not exist");
#if defined(GASNET_DEBUG)
  CHECK(strstr(gasnett_performance_warning_str(), "        debugging") != NULL, "%s", gasnett_performance_warning_str());
#else
  CHECK(strstr(gasnett_performance_warning_str(), "debugging") == NULL, "%s", gasnett_performance_warning_str());
#endif
}

static void check_memory(void) {
  size_t align, i;
  for (align = 1; align <= 65536; align *= 2) {
    char *at = (char *)gasnett_malloc_aligned(align, 3 * align + 5);
    CHECK((uintptr_t)at % align == 0, "%p for %d", (void *)at, (int)align);
    for (i = 0; i < 3 * align + 5; i++) at[i] = (char)i;
    gasnett_free_aligned(at);
  }
  gasnett_free_aligned(NULL);
}

/* ---- F9: stack traces ---- */

/* Runs `function` with a pipe, and returns its output; `result` gets its return value. */
static const char *traced(int (*function)(int), int *result) {
  static char text[65536];
  int ends[2];
  size_t n = 0;
  ssize_t got;
  if (pipe(ends) != 0) return "no pipe";
  *result = function(ends[1]);
  close(ends[1]);
  while (n < sizeof text - 1 && (got = read(ends[0], text + n, sizeof text - 1 - n)) > 0) n += (size_t)got;
  close(ends[0]);
  text[n] = 0;
  return text;
}

static int always_printed;
static int print_always(int fd) {
  always_printed++;
  return gasnett_print_backtrace(fd);
}

static int print_later(int fd) {
  static const char text[] = "a mechanism that came later\n";
  return write(fd, text, sizeof text - 1) < 0;
}

/* Each call of gasnett_backtrace_init reads the variables again, and takes a mechanism that was registered since. */
static void check_backtrace_again(void) {
  const gasnett_backtrace_type_t before = gasnett_backtrace_user;
  const char *type = getenv("GASNET_BACKTRACE_TYPE");
  char *copy = type ? strdup(type) : NULL;
  int result = 7;
  const char *text;
  gasnett_backtrace_user.name = "LATER";
  gasnett_backtrace_user.fnp = print_later;
  gasnett_backtrace_user.threadsupport = 1;
  setenv("GASNET_BACKTRACE_TYPE", "later", 1);
  gasnett_backtrace_init("testtools");
  text = traced(gasnett_print_backtrace, &result);
  CHECK(result == 0 && !strcmp(text, "a mechanism that came later\n"), "%d: %.200s", result, text);
  gasnett_backtrace_user = before;
  if (copy) setenv("GASNET_BACKTRACE_TYPE", copy, 1);
  else unsetenv("GASNET_BACKTRACE_TYPE");
  free(copy);
  gasnett_backtrace_init("testtools");
  text = traced(gasnett_print_backtrace, &result);
  CHECK(result == 0 && *text, "%d: %.200s", result, text);
}

static void check_backtrace(void) {
  int result = 7;
  const char *text = traced(gasnett_print_backtrace, &result);
  CHECK(result == 0 && (strstr(text, "testtools") || strstr(text, "mechanism of ours")), "%d: %.200s", result, text);
  if (!gasnett_getenv("GASNET_BACKTRACE")) {
    text = traced(gasnett_print_backtrace_ifenabled, &result);
    CHECK(result != 0 && !*text, "disabled, and yet %d: %.200s", result, text);
  }
  gasnett_print_backtrace_ifenabled = print_always;
  text = traced(gasnett_print_backtrace_ifenabled, &result);
  CHECK(always_printed == 1 && result == 0 && *text, "assigned: %d, %.200s", result, text);
  check_backtrace_again();
}

/* ---- ways to end ---- */

static void at_exit_noise(void) {
  static const char text[] = "an exit handler ran\n";
  if (write(2, text, sizeof text - 1) < 0) _exit(9);
}

static void *fatal_in_thread(void *unused) {
  gasnett_fatalerror("x %d", 5);
  return unused;
}

static pid_t resumer;

/* Forks a child that lets this process, which is about to freeze, continue after a moment. It tries again and again: the process may freeze
 * later than that. */
static void resume_soon(void) {
  pid_t parent = getpid();
  fflush(NULL);
  resumer = fork();
  if (resumer == 0) {
    static const char text[] = "resuming now\n";
    int n;
    usleep(700 * 1000);
    if (write(2, text, sizeof text - 1) < 0) _exit(9);
    for (n = 0; n < 100 && getppid() == parent; n++) {
      kill(parent, SIGCONT);
      usleep(200 * 1000);
    }
    _exit(0);
  }
}

/* It has continued, so the child has done its work. */
static void end_resumer(void) {
  kill(resumer, SIGKILL);
  waitpid(resumer, NULL, 0);
}

static volatile int own_flag;

/* Damages the heap so that the C library notices it inside malloc, while other threads may hold its locks. */
static void *idle_thread(void *unused) {
  pause();
  return unused;
}
__attribute__((__noinline__)) static void damage_the_heap(void) {
  pthread_t thread;
  char *volatile block;
  pthread_create(&thread, NULL, idle_thread, NULL);
  block = (char *)malloc(100000); /* more than is free between others, so it lies at the end of the heap */
  memset(block + 100000, 0x7f, 64);
  block = (char *)malloc(100000);
  printf("%p\n", (void *)block); /* not reached */
}

/* Does what `what` says, which ends the process; returns if there is no such thing. */
static void way_to_end(const char *what) {
  atexit(at_exit_noise);
  printf("what was printed before");
  if (!strcmp(what, "fatal")) gasnett_fatalerror("x %d", 5);
  if (!strcmp(what, "fatal-newline")) gasnett_fatalerror("x %d\n", 5);
  if (!strcmp(what, "fatal-thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, fatal_in_thread, NULL);
    pthread_join(thread, NULL);
  }
  if (!strcmp(what, "kill")) gasnett_killmyprocess(7);
  if (!strcmp(what, "segv")) raise(SIGSEGV);
  if (!strcmp(what, "heap")) damage_the_heap();
  if (!strcmp(what, "unsetenv-null")) gasnett_unsetenv(NULL);
  if (!strcmp(what, "unsetenv-equals")) gasnett_unsetenv("A=B");
  if (!strcmp(what, "setenv-empty")) gasnett_setenv("", "x");
  if (!strcmp(what, "parse-hex")) gasnett_parse_int("0x1.8", 1);
  if (!strcmp(what, "parse-large")) gasnett_parse_int("99999999999999999999", 0);
  if (!strcmp(what, "yesno")) gasnett_getenv_yesno_withdefault("GASNET_TT_BAD", 0);
  if (!strcmp(what, "int")) gasnett_getenv_int_withdefault("GASNET_TT_BAD", 0, 0);
  if (!strcmp(what, "size")) gasnett_getenv_int_withdefault("GASNET_TT_BAD", 0, 1);
  if (!strcmp(what, "double")) gasnett_getenv_dbl_withdefault("GASNET_TT_BAD", 0);
  if (!strcmp(what, "signal")) gasnett_reghandler(9999, SIG_IGN);
  if (!strcmp(what, "align")) gasnett_malloc_aligned(3, 100);
  if (!strcmp(what, "mmap")) gasnett_mmap(4096);
  if (!strcmp(what, "close")) {
    gasnett_flush_streams();
    gasnett_close_streams();
    printf("nobody reads this\n");
    fflush(stdout);
    gasnett_flush_streams();
    gasnett_fatalerror("nobody reads this either");
  }
  if (!strncmp(what, "freeze", 6)) {
    resume_soon();
    if (!strcmp(what, "freeze-fatal")) gasnett_fatalerror("x %d", 5);
    if (!strcmp(what, "freeze-signal")) raise(SIGUSR1); /* GASNET_FREEZE_SIGNAL */
    if (!strcmp(what, "freeze-err")) gasnett_freezeForDebuggerErr();
    if (!strcmp(what, "freeze-now")) {
      own_flag = 7;
      gasnett_freezeForDebuggerNow(&own_flag, "own_flag");
    }
    fprintf(stderr, "went on, %d %d\n", (int)own_flag, (int)gasnet_frozen);
    end_resumer();
    gasnett_killmyprocess(3);
  }
  if (!strcmp(what, "trace-signal")) { /* GASNET_BACKTRACE_SIGNAL */
    raise(SIGUSR2);
    fprintf(stderr, "went on\n");
    gasnett_killmyprocess(3);
  }
}

#endif
