/* Atomics (list C of behaviours-tools-vis-coll.md). Part of testtools. */
#ifndef GASNET_SCI_TESTTOOLS_ATOMIC_H
#define GASNET_SCI_TESTTOOLS_ATOMIC_H

#include "testtools.h"

#define EVERY_FLAG 0x40
/* Counts evaluations. */
static int steps;
static void step(void) { steps++; }

/* C1-C5, C11 for one family: X is the pasted name, V the type of its values, T the type of the same name. Tries
 * every combination of flags, in a loop whose values the compiler does not know, and arguments with side effects. */
#define FAMILY(X, V)                                                                                                 \
  static X##_t X##_static = X##_init(7);                                                                             \
  static X##_t X##_array[3] = {X##_init(1), X##_init(2), X##_init(3)};                                               \
  static struct {                                                                                                    \
    char before;                                                                                                     \
    X##_t inside;                                                                                                    \
    char after;                                                                                                      \
  } X##_nested = {'a', X##_init(9), 'z'};                                                                            \
  static void test_##X(void) {                                                                                       \
    X##_t *p = X##_array + 1;                                                                                        \
    const X##_t *constant = p;                                                                                       \
    const V most = (V)-1;                                                                                            \
    volatile int volatile_flags;                                                                                     \
    int f;                                                                                                           \
    steps = 0;                                                                                                       \
    CHECK(X##_read(&X##_static, 0) == 7 && X##_read(&X##_nested.inside, 0) == 9, "initialisers of " #X);             \
    for (f = 0; f < EVERY_FLAG; f++) {                                                                               \
      volatile_flags = f;                                                                                            \
      X##_set((step(), p), (step(), 5), (step(), volatile_flags));                                                \
      CHECK(steps == 3 && X##_read((step(), constant), (step(), f)) == 5 && steps == 5, #X " set, flags %#x", f);  \
      steps = 0;                                                                                                     \
      X##_increment(p, f), X##_increment(p, f), X##_decrement(p, f);                                                 \
      CHECK(X##_read(p, f) == 6, #X " increment, flags %#x", f);                                                     \
      CHECK(X##_add((step(), p), (step(), 10), (step(), f)) == 16 && steps == 3, #X " add, flags %#x", f);        \
      CHECK(X##_subtract((step(), p), (step(), 15), (step(), f)) == 1 && steps == 6, #X " subtract, %#x", f);     \
      CHECK(X##_decrement_and_test(p, f) != 0 && X##_decrement_and_test(p, f) == 0, #X " decrement_and_test, %#x", f); \
      CHECK(X##_read(p, f) == most, #X " wraps below 0, flags %#x", f);                                              \
      CHECK(X##_add(p, 1, f) == 0 && X##_add(p, (V)-3, f) == most - 2, #X " wraps above, flags %#x", f);             \
      CHECK(X##_swap(p, 77, f) == most - 2 && X##_read(p, f) == 77, #X " swap, flags %#x", f);                       \
      CHECK(!X##_compare_and_swap(p, 76, 1, f) && X##_read(p, f) == 77, #X " failing cas, flags %#x", f);            \
      steps = 0;                                                                                                     \
      CHECK(X##_compare_and_swap((step(), p), (step(), 77), (step(), most), (step(), f)) && steps == 4 &&        \
                X##_read(p, f) == most,                                                                              \
            #X " cas, flags %#x", f);                                                                                \
      X##_increment(p, f);                                                                                           \
      CHECK(X##_read(p, f) == 0, #X " increment wraps, flags %#x", f);                                               \
      X##_decrement(p, f);                                                                                           \
      CHECK(X##_read(p, f) == most, #X " decrement wraps, flags %#x", f);                                            \
      X##_set(&X##_nested.inside, most, f);                                                                          \
      steps = 0;                                                                                                     \
    }                                                                                                                \
    CHECK(X##_read(X##_array, 0) == 1 && X##_read(X##_array + 2, 0) == 3, "neighbours of " #X);                      \
    CHECK(X##_nested.before == 'a' && X##_nested.after == 'z', "neighbours of " #X);                                 \
  }
FAMILY(gasnett_atomic, gasnett_atomic_val_t)
FAMILY(gasnett_atomic32, uint32_t)
FAMILY(gasnett_atomic64, uint64_t)
FAMILY(gasnett_strongatomic, gasnett_atomic_val_t)
FAMILY(gasnett_strongatomic32, uint32_t)
FAMILY(gasnett_strongatomic64, uint64_t)

/* C3: the signed view. */
static void c3_signed(void) {
  gasnett_atomic_t a = gasnett_atomic_init(0);
  CHECK(gasnett_atomic_signed(GASNETT_ATOMIC_MAX) == -1, "-1");
  gasnett_atomic_set(&a, (gasnett_atomic_val_t)GASNETT_ATOMIC_SIGNED_MIN, 0);
  CHECK(gasnett_atomic_signed(gasnett_atomic_read(&a, 0)) == GASNETT_ATOMIC_SIGNED_MIN, "least");
  CHECK(gasnett_atomic_signed(gasnett_atomic_subtract(&a, 1, 0)) == GASNETT_ATOMIC_SIGNED_MAX, "most");
  CHECK(GASNETT_ATOMIC_MAX == 0xFFFFFFFFu && GASNETT_ATOMIC_SIGNED_MIN < 0 && GASNETT_ATOMIC_SIGNED_MAX > 0, "limits");
  CHECK(sizeof(gasnett_atomic32_t) == 4 && sizeof(gasnett_strongatomic32_t) == 4 && sizeof(gasnett_atomic64_t) == 8 &&
            sizeof(gasnett_strongatomic64_t) == 8,
        "sizes");
}

/* C6: other types' storage through casts; the optimiser must see that both are the same bytes. */
static float c6_float(float *place, float value) {
  union {
    float f;
    uint32_t u;
  } bits;
  bits.f = value;
  *place = 0;
  gasnett_atomic32_set((gasnett_atomic32_t *)place, bits.u, 0);
  return *place;
}
static double c6_double(double *place, double value) {
  union {
    double d;
    uint64_t u;
  } bits;
  bits.u = 0;
  *place = value;
  bits.u = gasnett_strongatomic64_swap((gasnett_strongatomic64_t *)place, 0, 0);
  return *place == 0 ? bits.d : -1;
}
static void c6_other_types(void) {
  float f = 1;
  double d = 1;
  int32_t i = 5;
  int64_t l = -1;
  CHECK(c6_float(&f, 2.5f) == 2.5f, "float");
  CHECK(c6_double(&d, 3.25) == 3.25, "double");
  CHECK(gasnett_strongatomic32_add((gasnett_strongatomic32_t *)&i, 3, 0) == 8 && i == 8, "int32_t %d", (int)i);
  CHECK(gasnett_atomic64_compare_and_swap((gasnett_atomic64_t *)&l, (uint64_t)-1, 12, 0) && l == 12, "int64_t");
}

/* C7, C8, C10: totals, a spin lock, tokens, whole words, between threads. */
#define ROUNDS_PER_THREAD 100000
static gasnett_atomic_t total = gasnett_atomic_init(0);
static gasnett_atomic32_t total32 = gasnett_atomic32_init(0);
static gasnett_atomic64_t total64 = gasnett_atomic64_init(0);
static gasnett_strongatomic64_t strong_total64 = gasnett_strongatomic64_init(0);
static gasnett_atomic_t spin_lock = gasnett_atomic_init(0);
static gasnett_atomic_t last_out = gasnett_atomic_init(THREADS);
static gasnett_atomic64_t torn = gasnett_atomic64_init(0);
static gasnett_atomic32_t token_place[2] = {gasnett_atomic32_init(1), gasnett_atomic32_init(2)};
static uint32_t token_left[THREADS];
static long guarded, last_ones;
static int guard_flags;

static void c7_totals(int number) {
  uint32_t token = (uint32_t)number + 3;
  int i;
  meet(THREADS);
  for (i = 0; i < ROUNDS_PER_THREAD; i++) {
    gasnett_atomic_increment(&total, GASNETT_ATOMIC_NONE);
    (void)gasnett_atomic32_add(&total32, 3, GASNETT_ATOMIC_REL);
    gasnett_atomic64_decrement(&total64, GASNETT_ATOMIC_MB_PRE);
    (void)gasnett_strongatomic64_subtract(&strong_total64, (uint64_t)1 << 32, GASNETT_ATOMIC_ACQ);
    token = gasnett_atomic32_swap(&token_place[i & 1], token, GASNETT_ATOMIC_NONE);
    gasnett_atomic64_set(&torn, (i & 1) ? ~(uint64_t)0 : 0, GASNETT_ATOMIC_NONE);
    {
      uint64_t word = gasnett_atomic64_read(&torn, GASNETT_ATOMIC_NONE);
      if (word != 0 && word != ~(uint64_t)0) CHECK(0, "torn: %" PRIx64, word);
    }
    if (i % 10 == 0) {
      int looks = 0;
      while (!gasnett_atomic_compare_and_swap(&spin_lock, 0, 1, GASNETT_ATOMIC_ACQ_IF_TRUE | guard_flags)) {
        gasnett_spinloop_hint();
        if (++looks % 1000 == 0) gasnett_sched_yield();
      }
      guarded++;
      gasnett_atomic_set(&spin_lock, 0, GASNETT_ATOMIC_REL | guard_flags);
    }
  }
  token_left[number] = token;
  if (gasnett_atomic_decrement_and_test(&last_out, GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ_IF_TRUE)) {
    /* C10: the last one sees what all others stored before they left. */
    uint32_t sum = gasnett_atomic32_read(&token_place[0], 0) + gasnett_atomic32_read(&token_place[1], 0), expected = 3;
    int t;
    for (t = 0; t < THREADS; t++) sum += token_left[t], expected += (uint32_t)t + 3;
    CHECK(sum == expected, "tokens add up to %u, not %u", (unsigned)sum, (unsigned)expected);
    last_ones++;
  }
}
static void c7_check(int rounds) {
  uint64_t n = (uint64_t)rounds * THREADS * ROUNDS_PER_THREAD;
  CHECK(gasnett_atomic_read(&total, 0) == (gasnett_atomic_val_t)n, "%u", (unsigned)gasnett_atomic_read(&total, 0));
  CHECK(gasnett_atomic32_read(&total32, 0) == (uint32_t)(3 * n), "%u", (unsigned)gasnett_atomic32_read(&total32, 0));
  CHECK(gasnett_atomic64_read(&total64, 0) == (uint64_t)0 - n, "%" PRIu64, gasnett_atomic64_read(&total64, 0));
  CHECK(gasnett_strongatomic64_read(&strong_total64, 0) == (uint64_t)0 - (n << 32), "%" PRIu64,
        gasnett_strongatomic64_read(&strong_total64, 0));
  CHECK(guarded == (long)(n / 10), "%ld under the spin lock, not %ld", guarded, (long)(n / 10));
  CHECK(last_ones == rounds, "%ld of %d rounds had a last one", last_ones, rounds);
}

/* C10: message passing by release and acquire, with flags that the compiler can't see. */
static gasnett_atomic32_t mail_flag = gasnett_atomic32_init(0);
static long mail;
static volatile int mail_release = GASNETT_ATOMIC_REL, mail_acquire = GASNETT_ATOMIC_ACQ;
static void c10_mail(int number) {
  uint32_t i;
  for (i = 1; i <= 20000; i++) {
    int looks = 0;
    /* Even: thread 0 may write; odd: thread 1 may read. */
    while (gasnett_atomic32_read(&mail_flag, i & 1 ? GASNETT_ATOMIC_ACQ : mail_acquire) != 2 * i - 2 + (uint32_t)number)
      if (++looks % 1000 == 0) gasnett_sched_yield();
    if (number == 0) mail = (long)i;
    else if (mail != (long)i) CHECK(0, "round %u: %ld", (unsigned)i, mail);
    if (i & 2) gasnett_atomic32_set(&mail_flag, 2 * i - 1 + (uint32_t)number, mail_release);
    else (void)gasnett_atomic32_swap(&mail_flag, 2 * i - 1 + (uint32_t)number, GASNETT_ATOMIC_REL);
  }
}

#if defined(TESTTOOLS_ALONE)
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* C9, B7: between two processes, and between a program and its signal handler. These need strong operations and
 * local fences, in SEQ, too. Runs before there are threads. */
static struct between_processes {
  gasnett_strongatomic_t count;
  gasnett_strongatomic64_t count64;
  volatile uint32_t data, flag;
} *between;
static gasnett_strongatomic32_t signalled = gasnett_strongatomic32_init(0);
static void count_signal(int signal_number) {
  (void)signal_number;
  gasnett_strongatomic32_increment(&signalled, 0);
}
static void c9_processes(void) {
  const uint32_t rounds = 200000, signals = 200;
  uint32_t i, stale = 0, seen = 0;
  int status = -1;
  pid_t child;
  between = (struct between_processes *)mmap(NULL, sizeof *between, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (between == MAP_FAILED) abort();
  signal(SIGUSR1, count_signal);
  fflush(NULL);
  child = fork();
  for (i = 1; i <= rounds; i++) {
    gasnett_strongatomic_increment(&between->count, 0);
    (void)gasnett_strongatomic64_add(&between->count64, (uint64_t)1 << 32, GASNETT_ATOMIC_REL);
    if (child == 0) {
      between->data = i;
      gasnett_local_wmb();
      between->flag = i;
      if (i % (rounds / signals) == 0) kill(getppid(), SIGUSR1);
    } else {
      seen = between->flag;
      gasnett_local_rmb();
      stale += between->data < seen;
      (void)gasnett_strongatomic32_add(&signalled, 1 << 16, 0);
      (void)gasnett_strongatomic32_subtract(&signalled, 1 << 16, 0);
    }
  }
  if (child == 0) _exit(0);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  CHECK(status == 0 && stale == 0, "child %#x, %u stale readings", status, (unsigned)stale);
  CHECK(gasnett_strongatomic_read(&between->count, 0) == 2 * rounds, "%u", (unsigned)gasnett_strongatomic_read(&between->count, 0));
  CHECK(gasnett_strongatomic64_read(&between->count64, 0) == (uint64_t)rounds << 33, "%" PRIx64,
        gasnett_strongatomic64_read(&between->count64, 0));
  /* Signals that come while one is pending are one; none is lost half-way. */
  CHECK(gasnett_strongatomic32_read(&signalled, 0) >= 1 && gasnett_strongatomic32_read(&signalled, 0) <= signals, "%u signals",
        (unsigned)gasnett_strongatomic32_read(&signalled, 0));
  signal(SIGUSR1, SIG_DFL);
  munmap(between, sizeof *between);
}
#endif

/* C12 */
#if !GASNETT_HAVE_ATOMIC_CAS || !GASNETT_HAVE_ATOMIC_ADD_SUB || !GASNETT_HAVE_STRONGATOMIC_CAS || !GASNETT_HAVE_STRONGATOMIC_ADD_SUB
#error "availability"
#endif
#if defined(GASNETT_STRONGATOMIC_NOT_SIGNALSAFE) || defined(GASNETT_STRONGATOMIC32_NOT_SIGNALSAFE) || \
    defined(GASNETT_STRONGATOMIC64_NOT_SIGNALSAFE)
#error "strong atomics have locks"
#endif

static void test_atomics(void) {
#if defined(TESTTOOLS_ALONE)
  c9_processes();
#endif
  test_gasnett_atomic();
  test_gasnett_atomic32();
  test_gasnett_atomic64();
  test_gasnett_strongatomic();
  test_gasnett_strongatomic32();
  test_gasnett_strongatomic64();
  c3_signed();
  c6_other_types();
  on_threads(THREADS, c7_totals);
  c7_check(1);
  guard_flags = GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST;
  gasnett_atomic_set(&last_out, THREADS, 0);
  gasnett_atomic32_set(&token_place[0], 1, 0);
  gasnett_atomic32_set(&token_place[1], 2, 0);
  on_threads(THREADS, c7_totals);
  c7_check(2);
  if (THREADS > 1) on_threads(2, c10_mail);
}

#endif
