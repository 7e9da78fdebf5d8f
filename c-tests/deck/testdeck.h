/* Shared by the tests of DECK: checks, patterns, the last line, as in ../test.h, without GASNet names.
 *
 * A test calls test_begin() first and returns test_end() from main. Every node ends with one line
 *   NAME: node I/N: PASS (C checks)      or      NAME: node I/N: FAIL (E errors in C checks)
 * and the job's status is 0 only if every node passed. With BESIDE_GASNET the same program has attached to GASNet before; PROGRAM-beside.c
 * are such builds. A program that uses GASNet itself includes ../test.h before this file. It then begins and ends as that file says. */
#ifndef GASNET_SCI_TESTDECK_H
#define GASNET_SCI_TESTDECK_H

#ifdef BESIDE_GASNET
#include <gasnet.h>
#define TEST_NAME(name) name "-beside"
#else
#define TEST_NAME(name) name
#endif

#include <deck.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me, nodes; /* set by test_begin */

#ifndef GASNET_SCI_TEST_H

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

#define TEST_WATCHDOG 120 /* seconds until SIGALRM ends a program that hangs */

static const char *test_name = "test";
static long test_checks, test_errors;
/* The seed of this run, for the last line. Programs that take a seed set it before test_end. */
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
    fprintf(stderr, "%s: node %d: %s:%d: CHECK(%s) failed: %s\n", test_name, me, file, line, cond, text);
  }
  return ok;
}

static void TEST_UNUSED test_begin(int *argc, char ***argv, const char *name) {
  int rc;
  test_name = name;
#ifdef BESIDE_GASNET
  if (gasnet_init(argc, argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE * 4, 0) != GASNET_OK) exit(99);
#endif
  rc = deck_init(argc, argv);
  if (rc) {
    fprintf(stderr, "%s: deck_init: %d (%s)\n", name, rc, deck_strerror(rc));
    exit(99);
  }
  alarm(TEST_WATCHDOG);
  me = deck_node();
  nodes = deck_nodes();
  CHECK(nodes >= 1 && me >= 0 && me < nodes, "node %d of %d", me, nodes);
  CHECK(deck_barrier() == 0, "the first barrier");
}

static long test_said = -1; /* how many errors the last line tells; -1: there is none yet */

/* The last line. Before deck_done: that waits for all nodes, and when the first one returns from main, the others have a second left. */
static void TEST_UNUSED test_say(void) {
  test_said = test_errors;
  if (test_errors)
    printf("%s: node %d/%d: FAIL (%ld errors in %ld checks%s)\n", test_name, me, nodes, test_errors, test_checks,
           test_seeded);
  else
    printf("%s: node %d/%d: PASS (%ld checks%s)\n", test_name, me, nodes, test_checks, test_seeded);
  fflush(stdout);
}

/* The status for main to return. Says the last line unless that is done and nothing has failed since. */
static int TEST_UNUSED test_report(void) {
  if (test_errors > test_said) test_say();
#ifdef BESIDE_GASNET
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS); /* GASNet goes on without DECK */
  if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(98);
  gasnet_exit(test_errors ? 1 : 0);
#endif
  return test_errors ? 1 : 0;
}

/* Reports, and ends DECK. */
static int TEST_UNUSED test_end(void) {
  int rc = deck_barrier();
  CHECK(rc == 0, "the last barrier gives %d (%s)", rc, deck_strerror(rc));
  test_say();
  rc = deck_done();
  CHECK(rc == 0, "deck_done gives %d (%s)", rc, deck_strerror(rc));
  return test_report();
}

/* Seconds, monotonic. */
static double TEST_UNUSED test_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* xorshift: a stream per seed. */
static unsigned TEST_UNUSED test_random(unsigned *state) {
  unsigned x = *state ? *state : 0x12345678u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *state = x;
}

#endif /* without test.h */

/* The call gives this error, or 0. */
#define EXPECT(want, call)                                                                                           \
  do {                                                                                                               \
    int want_ = (want), rc_ = (call);                                                                                \
    CHECK(rc_ == want_, "%s gives %d (%s) instead of %d", #call, rc_, deck_strerror(rc_), want_);                    \
  } while (0)

/* The test makes no sense without it. */
#define MUST(call)                                                                                                   \
  do {                                                                                                               \
    int rc_ = (call);                                                                                                \
    if (rc_) {                                                                                                       \
      fprintf(stderr, "%s: node %d: %s:%d: %s gives %d (%s)\n", test_name, me, __FILE__, __LINE__, #call, rc_,       \
              deck_strerror(rc_));                                                                                   \
      exit(99);                                                                                                      \
    }                                                                                                                \
  } while (0)

/* Loads and stores between threads that the client has to order itself. */
#if defined(__GNUC__)
#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#else
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#endif

#define MILLISECOND ((deck_time_t)1000000)
#define SECOND (1000 * MILLISECOND)
#define MIB ((size_t)1048576)
/* What must come is awaited so long. A check then says what is missing, before SIGALRM comes. */
#define LONG_TIME (60 * SECOND)
/* What must not come is awaited so long. A right library never passes such a check by luck. */
#define SHORT_TIME (20 * MILLISECOND)

/* Comes late, so that others are already waiting. No check depends on it. */
static void TEST_UNUSED be_late(int ms) {
  deck_sem_t nobody = NULL;
  MUST(deck_sem_create(0, &nobody));
  EXPECT(DECK_ETIMEDOUT, deck_sem_p_timed(nobody, ms * MILLISECOND));
  EXPECT(0, deck_sem_destroy(nobody));
}

/* A seed for what node `from` sends as number `n` of a kind. */
static unsigned TEST_UNUSED seed_of(int kind, int from, int n) {
  return (unsigned)kind * 2654435761u + (unsigned)from * 40503u * 65537u + (unsigned)n * 7919u + 1u;
}

/* Word `i` of the pattern that `seed` names: no short period. */
static uint64_t TEST_UNUSED word_of(unsigned seed, size_t i) {
  uint64_t x = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)i * UINT64_C(0xBF58476D1CE4E5B9);
  x ^= x >> 29;
  return x * UINT64_C(0x94D049BB133111EB);
}

static void TEST_UNUSED fill(void *at, size_t n, unsigned seed) {
  unsigned char *p = (unsigned char *)at;
  size_t i;
  uint64_t w;
  for (i = 0; i + 8 <= n; i += 8) { /* a call for each eight bytes takes most of the time */
    w = word_of(seed, i / 8);
    memcpy(p + i, &w, 8);
  }
  w = word_of(seed, i / 8);
  if (i < n) memcpy(p + i, &w, n - i);
}

/* Index of the first word that is not the pattern's, in bytes, or n. */
static size_t TEST_UNUSED differs(const void *at, size_t n, unsigned seed) {
  const unsigned char *p = (const unsigned char *)at;
  size_t i;
  uint64_t w, is;
  for (i = 0; i + 8 <= n; i += 8) {
    memcpy(&is, p + i, 8);
    if (is != word_of(seed, i / 8)) return i;
  }
  w = word_of(seed, i / 8);
  return i < n && memcmp(p + i, &w, n - i) ? i : n;
}

/* ---- messages with a pattern ---- */

static deck_msg_t TEST_UNUSED new_msg(size_t capacity, int place) {
  deck_msg_t msg = NULL;
  MUST(deck_msg_create(capacity, place, &msg));
  CHECK(deck_msg_capacity(msg) == capacity, "capacity %lu of %lu", (unsigned long)deck_msg_capacity(msg),
        (unsigned long)capacity);
  return msg;
}

/* Gives a message a size and the bytes of a pattern. */
static void TEST_UNUSED write_msg(deck_msg_t msg, size_t size, unsigned seed) {
  EXPECT(0, deck_msg_set_size(msg, size));
  fill(deck_msg_data(msg), size, seed);
}

/* Checks size, bytes, alignment and, unless it is negative, the source. */
static int TEST_UNUSED read_msg(deck_msg_t msg, size_t size, unsigned seed, int source) {
  const size_t has = deck_msg_size(msg);
  const unsigned char *data = (const unsigned char *)deck_msg_data(msg);
  size_t at;
  int ok = CHECK(has == size, "%lu bytes instead of %lu", (unsigned long)has, (unsigned long)size);
  ok &= CHECK((uintptr_t)data % 16 == 0, "data at %p", (const void *)data);
  ok &= CHECK(deck_msg_capacity(msg) >= has, "%lu bytes, capacity %lu", (unsigned long)has,
              (unsigned long)deck_msg_capacity(msg));
  at = differs(data, has < size ? has : size, seed);
  ok &= CHECK(at == (has < size ? has : size), "byte %lu of %lu is wrong", (unsigned long)at, (unsigned long)has);
  if (source >= 0)
    ok &= CHECK(deck_msg_source(msg) == source, "source %d instead of %d", deck_msg_source(msg), source);
  return ok;
}

/* Posts a pattern, and overwrites the message at once. */
static void TEST_UNUSED send_to(deck_mbox_t box, deck_msg_t msg, size_t size, unsigned seed) {
  write_msg(msg, size, seed);
  EXPECT(0, deck_mbox_post_timed(box, msg, LONG_TIME));
  memset(deck_msg_data(msg), 0xEE, size);
}

/* Retrieves a message that must come, with this pattern. */
static int TEST_UNUSED receive_from(deck_mbox_t box, deck_msg_t msg, size_t size, unsigned seed, int source) {
  int rc = deck_mbox_retrv_timed(box, msg, LONG_TIME);
  if (!CHECK(rc == 0, "retrieving %lu bytes gives %d (%s)", (unsigned long)size, rc, deck_strerror(rc))) return 0;
  return read_msg(msg, size, seed, source);
}

/* ---- boxes ---- */

static deck_mbox_t TEST_UNUSED new_box(const char *base, int node, size_t bytes, size_t msgs) {
  deck_mbox_attr_t attr;
  deck_mbox_t box = NULL;
  char name[64];
  attr.size = sizeof attr;
  attr.capacity_bytes = bytes;
  attr.capacity_msgs = msgs;
  snprintf(name, sizeof name, "%s.%d", base, node);
  MUST(deck_mbox_create(name, bytes ? &attr : NULL, &box));
  return box;
}

static deck_mbox_t TEST_UNUSED find_box(const char *base, int node) {
  deck_mbox_t box = NULL;
  char name[64];
  snprintf(name, sizeof name, "%s.%d", base, node);
  MUST(deck_mbox_clone(name, LONG_TIME, &box));
  return box;
}

/* Waits until so many messages are in a box of this node. Posting returns before they are there. */
static void TEST_UNUSED await_pending(deck_mbox_t box, int n) {
  const double end = test_now() + 60;
  int has;
  while ((has = deck_mbox_pending(box)) != n && test_now() < end) deck_thread_yield();
  CHECK(has == n, "%d messages in the box instead of %d", has, n);
}

/* Nothing is in it. */
static void TEST_UNUSED expect_empty(deck_mbox_t box) {
  deck_msg_t msg = new_msg(64, DECK_AUTO);
  EXPECT(0, deck_mbox_pending(box));
  EXPECT(DECK_EAGAIN, deck_mbox_retrv_timed(box, msg, 0));
  EXPECT(0, deck_msg_destroy(msg));
}

/* The same, collective: nobody has gone on to post what comes next. */
static void TEST_UNUSED expect_all_empty(deck_mbox_t box) {
  EXPECT(0, deck_barrier());
  expect_empty(box);
  EXPECT(0, deck_barrier());
}

#endif
