/* Timers and fences (list B of behaviours-tools-vis-coll.md). Part of testtools. */
#ifndef GASNET_SCI_TESTTOOLS_TIME_H
#define GASNET_SCI_TESTTOOLS_TIME_H

#include "testtools.h"
#include <sys/time.h>

static double wall_seconds(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return (double)now.tv_sec + (double)now.tv_usec * 1e-6;
}

/* B5: several threads at once ask for the first time, and all are told the same. */
static uint64_t worth_of_gigatick[16];
static void first_use(int number) {
  gasnett_tick_t begin, end;
  meet(THREADS == 1 ? 1 : 16);
  begin = gasnett_ticks_now();
  worth_of_gigatick[number] = gasnett_ticks_to_ns((gasnett_tick_t)1000000000);
  end = gasnett_ticks_now();
  CHECK(begin > GASNETT_TICK_MIN && end < GASNETT_TICK_MAX && end >= begin, "%" PRIu64 " then %" PRIu64, begin, end);
}
static void b5_first_use(void) {
  int i, n = THREADS == 1 ? 1 : 16;
  on_threads(n, first_use);
  for (i = 0; i < n; i++)
    CHECK(worth_of_gigatick[i] == worth_of_gigatick[0] && worth_of_gigatick[0] > 0, "%" PRIu64, worth_of_gigatick[i]);
}

static void b1_never_decreases(int number) {
  gasnett_tick_t last = gasnett_ticks_now();
  long i, wrong = 0;
  (void)number;
  for (i = 0; i < 1000000; i++) {
    gasnett_tick_t now = gasnett_ticks_now();
    wrong += now < last || now == GASNETT_TICK_MIN || now == GASNETT_TICK_MAX;
    last = now;
  }
  CHECK(wrong == 0, "%ld readings", wrong);
}

/* Seconds of ticks against the wall clock, which may be set meanwhile: then one of three tries is enough. */
static void b2_agrees_with_wall_clock(double seconds) {
  double off = 1;
  int attempt;
  for (attempt = 0; attempt < 3 && off > 0.010; attempt++) {
    double wall = wall_seconds();
    gasnett_tick_t begin = gasnett_ticks_now(), passed;
    while (wall_seconds() - wall < seconds) gasnett_nsleep(1000000);
    passed = gasnett_ticks_now() - begin;
    wall = wall_seconds() - wall;
    off = (double)gasnett_ticks_to_ns(passed) * 1e-9 - wall;
    if (off < 0) off = -off;
    CHECK(gasnett_ticks_to_ns(passed) / 1000 - gasnett_ticks_to_us(passed) <= 1, "us and ns of %" PRIu64, passed);
  }
  CHECK(off <= 0.010, "%.6f s off in %.1f s", off, seconds);
}

static void b3_conversions(void) {
  static const gasnett_tick_t ticks[] = {1, 2, 999, 123456789, (gasnett_tick_t)1 << 40, ((gasnett_tick_t)1 << 53) + 1,
                                         (gasnett_tick_t)1 << 58};
  size_t i, j;
  CHECK(gasnett_ticks_to_ns(0) == 0 && gasnett_ticks_to_us(0) == 0, "zero");
  for (i = 0; i < sizeof ticks / sizeof *ticks; i++)
    for (j = 0; j < sizeof ticks / sizeof *ticks; j++) {
      uint64_t apart = gasnett_ticks_to_ns(ticks[i]) + gasnett_ticks_to_ns(ticks[j]);
      uint64_t together = gasnett_ticks_to_ns(ticks[i] + ticks[j]);
      CHECK(together - apart <= 1, "%" PRIu64 " and %" PRIu64 ": %" PRIu64 ", together %" PRIu64, ticks[i], ticks[j], apart,
            together);
      CHECK(gasnett_ticks_to_us(ticks[i]) == gasnett_ticks_to_ns(ticks[i]) / 1000, "%" PRIu64, ticks[i]);
    }
}

static void b4_cost(void) {
  double fine = gasnett_tick_granularityus(), cost = gasnett_tick_overheadus();
  int i;
  CHECK(fine > 0 && fine < 100 && cost > 0 && cost < 100, "granularity %g us, overhead %g us", fine, cost);
  CHECK(fine + 10 >= cost / 2, "granularity %g us, overhead %g us", fine, cost);
  for (i = 0; i < 10; i++) CHECK(gasnett_tick_granularityus() == fine && gasnett_tick_overheadus() == cost, "changed");
}

static void wall_clock_and_sleep(void) {
  uint64_t before = (uint64_t)(wall_seconds() * 1e6), now = gasnett_gettimeofday_us();
  gasnett_tick_t begin = gasnett_ticks_now();
  int64_t apart = (int64_t)(now - before);
  CHECK(apart > -1000 && apart < 60000000, "%" PRId64 " us after gettimeofday", apart);
  CHECK(gasnett_nsleep(3000000) == 0, "nsleep");
  CHECK(gasnett_ticks_to_ns(gasnett_ticks_now() - begin) >= 2990000, "slept too short");
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(!strcmp(_STRINGIFY(GASNETT_TIMER_CONFIG), "timers_native"), "%s", _STRINGIFY(GASNETT_TIMER_CONFIG));
#endif
#if defined(GASNETT_USING_GETTIMEOFDAY) || defined(GASNETT_USING_GENERIC_ATOMICOPS)
#error "slow timers or atomics on a machine that has better"
#endif
}

/* B6: in comma expressions; and the compiler reads a plain global again. */
static int plain_global;
static void (*volatile change_global)(void);
static void set_global(void) { plain_global = 1; }
static void b6_expressions(void) {
  int value = (gasnett_local_wmb(), gasnett_local_rmb(), gasnett_local_mb(), gasnett_weak_wmb(), gasnett_weak_rmb(),
               gasnett_weak_mb(), gasnett_compiler_fence(), gasnett_spinloop_hint(), gasnett_sched_yield(), 5);
  int looks = 0;
  CHECK(value == 5, "%d", value);
  plain_global = 0;
  change_global = set_global;
  while (!plain_global && looks < 100) {
    if (++looks == 50) change_global();
    gasnett_compiler_fence();
  }
  CHECK(plain_global && looks == 50, "%d looks", looks);
}

/* B7: a flag that is seen brings what was stored before it. B8: of two that store and then load, one sees the other. */
#define ROUNDS 300000
static struct {
  volatile uint32_t data;
  char apart[GASNETT_CACHE_LINE_BYTES];
  volatile uint32_t flag;
  char apart_too[GASNETT_CACHE_LINE_BYTES];
  volatile uint32_t x;
  char further[GASNETT_CACHE_LINE_BYTES];
  volatile uint32_t y;
} litmus;
static unsigned char saw[2][ROUNDS];

static void b7_message_passing(int number) {
  uint32_t i;
  if (number == 0) {
    for (i = 1; i <= ROUNDS; i++) {
      litmus.data = i;
      gasnett_local_wmb();
      litmus.flag = i;
    }
  } else {
    long stale = 0;
    do {
      i = litmus.flag;
      gasnett_local_rmb();
      stale += litmus.data < i;
      if (i == 0) gasnett_sched_yield();
    } while (i < ROUNDS);
    CHECK(stale == 0, "%ld stale readings", stale);
  }
}

/* The kind of fence: the plain one, or those of atomic operations. */
static int dekker_kind;
static void dekker_step(volatile uint32_t *mine, volatile uint32_t *theirs, uint32_t round, unsigned char *seen) {
  gasnett_strongatomic32_t *atomic = (gasnett_strongatomic32_t *)mine;
  switch (dekker_kind) {
    case 0:
      *mine = round;
      gasnett_local_mb();
      *seen = *theirs == round;
      break;
    case 1:
      gasnett_strongatomic32_set(atomic, round, GASNETT_ATOMIC_MB_POST);
      *seen = *theirs == round;
      break;
    case 2:
      *mine = round;
      *seen = gasnett_strongatomic32_read((gasnett_strongatomic32_t *)theirs, GASNETT_ATOMIC_MB_PRE) == round;
      break;
    default:
      (void)gasnett_strongatomic32_swap(atomic, round, GASNETT_ATOMIC_MB_POST);
      *seen = *theirs == round;
  }
}
static void b8_dekker(int number) {
  uint32_t i;
  for (i = 1; i < ROUNDS / 20; i++) {
    meet(2);
    dekker_step(number ? &litmus.y : &litmus.x, number ? &litmus.x : &litmus.y, i, &saw[number][i]);
  }
}

static void test_time(void) {
  b5_first_use();
  on_threads(THREADS, b1_never_decreases);
  b2_agrees_with_wall_clock(1.0);
  b3_conversions();
  b4_cost();
  wall_clock_and_sleep();
  b6_expressions();
  if (THREADS > 1) {
    litmus.data = litmus.flag = 0;
    on_threads(2, b7_message_passing);
    for (dekker_kind = 0; dekker_kind < 4; dekker_kind++) {
      long i, neither = 0;
      litmus.x = litmus.y = 0;
      on_threads(2, b8_dekker);
      /* In a round that overlapped, both may have seen the other's next round; unseen by both is what must not be. */
      for (i = 1; i < ROUNDS / 20; i++) neither += !saw[0][i] && !saw[1][i];
      CHECK(neither == 0, "%ld rounds in which neither saw the other, kind %d", neither, dekker_kind);
    }
  }
}

#endif
