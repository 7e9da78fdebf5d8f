/* Shared by every C test: checks, patterns, timing, the last line. Public GASNet names only.
 *
 * A test calls test_begin() after gasnet_attach and test_end() instead of gasnet_exit. Every node ends with one line
 *   NAME: node I/N: PASS (C checks)      or      NAME: node I/N: FAIL (E errors in C checks)
 * and the job's status is 0 only if every node passed; the driver counts the lines and reads the status. */
#ifndef GASNET_SCI_TEST_H
#define GASNET_SCI_TEST_H

#include <gasnet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define GASNET_SAFE(call)                                                                                            \
  do {                                                                                                               \
    int test_rc_ = (call);                                                                                           \
    if (test_rc_ != GASNET_OK) {                                                                                     \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, gasnet_ErrorName(test_rc_),                 \
              gasnet_ErrorDesc(test_rc_));                                                                           \
      gasnet_exit(99);                                                                                               \
    }                                                                                                                \
  } while (0)

/* The first 20 failures are printed, all are counted. Threads may call it: the counters are updated atomically. */
#define CHECK(cond, ...) test_check(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

#if defined(__GNUC__)
#define TEST_UNUSED __attribute__((__unused__))
#define TEST_PRINTF(f, a) __attribute__((__format__(__printf__, f, a), __unused__))
#define TEST_COUNT(p) __atomic_add_fetch((p), 1, __ATOMIC_RELAXED)
#else
#define TEST_UNUSED
#define TEST_PRINTF(f, a)
#define TEST_COUNT(p) (++*(p))
#endif

static const char *test_name = "test";
static long test_checks, test_errors;
/* The seed of this run, for the last line; programs that take a seed set it before test_end. */
static const char *test_seeded = "";
static void TEST_UNUSED test_seed(unsigned seed) {
  static char text[32];
  snprintf(text, sizeof text, ", seed %u", seed);
  test_seeded = text;
}

static int TEST_PRINTF(5, 6) test_check(int ok, const char *file, int line, const char *cond, const char *fmt, ...) {
  TEST_COUNT(&test_checks);
  if (!ok && TEST_COUNT(&test_errors) <= 20) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s: node %d: %s:%d: CHECK(%s) failed: %s\n", test_name, (int)gasnet_mynode(), file, line, cond,
            text);
  }
  return ok;
}

/* Anonymous barrier over all nodes. */
static void TEST_UNUSED test_barrier(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

static void TEST_UNUSED test_begin(const char *name) {
  test_name = name;
  test_barrier();
}

static void TEST_UNUSED test_end(void) {
  test_barrier();
  if (test_errors)
    printf("%s: node %d/%d: FAIL (%ld errors in %ld checks%s)\n", test_name, (int)gasnet_mynode(), (int)gasnet_nodes(),
           test_errors, test_checks, test_seeded);
  else
    printf("%s: node %d/%d: PASS (%ld checks%s)\n", test_name, (int)gasnet_mynode(), (int)gasnet_nodes(), test_checks,
           test_seeded);
  fflush(stdout);
  test_barrier();
  gasnet_exit(test_errors ? 1 : 0);
}

/* Seconds, monotonic. */
static double TEST_UNUSED test_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Memory this process occupies; where the system does not say, the most it ever has. 0 with TEST_NO_RESIDENT=1, for emulators, whose own
 * memory would be this process's. */
static long TEST_UNUSED test_resident_kib(void) {
  FILE *f = fopen("/proc/self/statm", "r");
  struct rusage r;
  long total, resident;
  int n = f ? fscanf(f, "%ld %ld", &total, &resident) : 0;
  if (f) fclose(f);
  if (getenv("TEST_NO_RESIDENT")) return 0;
  if (n == 2) return resident * (sysconf(_SC_PAGESIZE) / 1024);
  getrusage(RUSAGE_SELF, &r);
  return r.ru_maxrss;
}

/* Byte `i` of the pattern that `seed` names: no short period, every byte differs from its neighbours' seeds. */
static unsigned char TEST_UNUSED test_byte(unsigned seed, size_t i) {
  unsigned long long x = (unsigned long long)seed * 0x9E3779B97F4A7C15ULL + (i >> 3) * 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 29;
  x *= 0x94D049BB133111EBULL;
  return (unsigned char)(x >> (8 * (i & 7)));
}

static void TEST_UNUSED test_fill(void *at, size_t n, unsigned seed) {
  size_t i;
  for (i = 0; i < n; i++) ((unsigned char *)at)[i] = test_byte(seed, i);
}

/* Index of the first byte that is not the pattern's, or n. */
static size_t TEST_UNUSED test_differs(const void *at, size_t n, unsigned seed) {
  size_t i;
  for (i = 0; i < n; i++)
    if (((const unsigned char *)at)[i] != test_byte(seed, i)) return i;
  return n;
}

/* xorshift: a stream per seed. */
static unsigned TEST_UNUSED test_random(unsigned *state) {
  unsigned x = *state ? *state : 0x12345678u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *state = x;
}

#endif
