/* The cost of small calls: one line per item. It has the best time of several rounds in ns, the time of the bare
 * instruction, builtin or system call that does the same, measured in turns, and the median of the rounds' ratios.
 *
 *   testmisc [iterations per round]        default 20000; every node measures, node 0 prints
 *
 * The program checks that each item did its work, not its speed. */
#include "../test.h"
#include <gasnet_tools.h>
#include <pthread.h>
#include <sched.h>

#define ROUNDS 15 /* odd: there is one in the middle */
static int iterations = 20000;
static double worst_atomic;
static const char *worst_atomic_name = "none";

static double per_iteration(gasnett_tick_t ticks, int n) { return (double)gasnett_ticks_to_ns(ticks) / n; }

static void report(const char *name, double ours) {
  if (gasnet_mynode() == 0) printf("%-58s %9.2f ns\n", name, ours);
}

static int by_size(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
/* A round's two halves follow each other, so what else the machine does is in both. */
static void report_pair(const char *name, double ours, double bare, double *ratios) {
  qsort(ratios, ROUNDS, sizeof *ratios, by_size);
  if (gasnet_mynode() == 0)
    printf("%-58s %9.2f ns   bare %9.2f ns   ratio %5.2f\n", name, ours, bare, ratios[ROUNDS / 2]);
  if (strstr(name, "atomic") && ratios[ROUNDS / 2] > worst_atomic) {
    worst_atomic = ratios[ROUNDS / 2];
    worst_atomic_name = name;
  }
}

/* Runs `ours` and `bare` in turns; each is a statement. Eight in a row, for a loop costs more than a load. */
#define EIGHT(code) code, code, code, code, code, code, code, code
#define LOOP(passed, n, code)                                                                                        \
  do {                                                                                                               \
    gasnett_tick_t begin_ = gasnett_ticks_now();                                                                     \
    int i_;                                                                                                          \
    for (i_ = 0; i_ < (n); i_++) {                                                                                   \
      code;                                                                                                          \
    }                                                                                                                \
    (passed) = gasnett_ticks_now() - begin_;                                                                         \
  } while (0)
#define COMPARE(name, ours, bare)                                                                                    \
  do {                                                                                                               \
    gasnett_tick_t ours_, bare_, best_ours_ = GASNETT_TICK_MAX, best_bare_ = GASNETT_TICK_MAX;                       \
    double ratios_[ROUNDS];                                                                                          \
    int round_;                                                                                                      \
    for (round_ = 0; round_ < ROUNDS; round_++) {                                                                    \
      LOOP(ours_, iterations / 8 + 1, EIGHT(ours));                                                                  \
      LOOP(bare_, iterations / 8 + 1, EIGHT(bare));                                                                  \
      best_ours_ = MIN(best_ours_, ours_), best_bare_ = MIN(best_bare_, bare_);                                      \
      ratios_[round_] = (double)ours_ / (double)MAX(bare_, 1);                                                       \
    }                                                                                                                \
    report_pair(name, per_iteration(best_ours_, iterations / 8 * 8 + 8),                                             \
                per_iteration(best_bare_, iterations / 8 * 8 + 8), ratios_);                                         \
  } while (0)
#define MEASURE(name, n, ours)                                                                                       \
  do {                                                                                                               \
    gasnett_tick_t passed_, best_ = GASNETT_TICK_MAX;                                                                \
    int round_;                                                                                                      \
    for (round_ = 0; round_ < ROUNDS; round_++) {                                                                    \
      LOOP(passed_, n, ours);                                                                                        \
      best_ = MIN(best_, passed_);                                                                                   \
    }                                                                                                                \
    report(name, per_iteration(best_, n));                                                                           \
  } while (0)

static volatile uint64_t sink __attribute__((__aligned__(256)));

/* Eight in a row that the compiler must not make one of. */
#define BARE_FENCE(order) (__atomic_thread_fence(order), gasnett_compiler_fence())

#if defined(__aarch64__)
static inline uint64_t read_cntvct(void) {
  uint64_t count;
  __asm__ __volatile__("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
  return count;
}
#endif

static void fences_and_ticks(void) {
#if defined(__x86_64__)
  COMPARE("gasnett_ticks_now, rdtsc", sink = gasnett_ticks_now(), sink = __builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  COMPARE("gasnett_ticks_now, cntvct_el0", sink = gasnett_ticks_now(), sink = read_cntvct());
#else
  MEASURE("gasnett_ticks_now", iterations, sink = gasnett_ticks_now());
#endif
  {
    struct timespec t;
    COMPARE("gasnett_ticks_now, clock_gettime", sink = gasnett_ticks_now(),
            (clock_gettime(CLOCK_MONOTONIC, &t), sink = (uint64_t)t.tv_nsec));
  }
  MEASURE("gasnett_ticks_to_ns", iterations, sink = gasnett_ticks_to_ns(sink));
  COMPARE("gasnett_local_wmb", gasnett_local_wmb(), BARE_FENCE(__ATOMIC_RELEASE));
  COMPARE("gasnett_local_rmb", gasnett_local_rmb(), BARE_FENCE(__ATOMIC_ACQUIRE));
  COMPARE("gasnett_local_mb", gasnett_local_mb(), BARE_FENCE(__ATOMIC_SEQ_CST));
  COMPARE("gasnett_weak_mb", gasnett_weak_mb(), BARE_FENCE(__ATOMIC_SEQ_CST));
  COMPARE("gasnett_sched_yield", gasnett_sched_yield(), sched_yield());
}

/* Every operation with the flags that it is used with, beside the builtin with the order that they stand for. */
#define FAMILY(X, V)                                                                                                 \
  static void measure_##X(void) {                                                                                    \
    static X##_t word __attribute__((__aligned__(256))) = X##_init(0);                                               \
    static volatile V place __attribute__((__aligned__(256)));                                                       \
    V expected;                                                                                                      \
    COMPARE(#X "_read", sink = X##_read(&word, 0), sink = __atomic_load_n(&place, __ATOMIC_RELAXED));                \
    COMPARE(#X "_read ACQ", sink = X##_read(&word, GASNETT_ATOMIC_ACQ), sink = __atomic_load_n(&place, __ATOMIC_ACQUIRE)); \
    COMPARE(#X "_set", X##_set(&word, 1, 0), __atomic_store_n(&place, 1, __ATOMIC_RELAXED));                         \
    COMPARE(#X "_set REL", X##_set(&word, 1, GASNETT_ATOMIC_REL), __atomic_store_n(&place, 1, __ATOMIC_RELEASE));    \
    COMPARE(#X "_set MB_POST", X##_set(&word, 1, GASNETT_ATOMIC_MB_POST), __atomic_store_n(&place, 1, __ATOMIC_SEQ_CST)); \
    COMPARE(#X "_increment", X##_increment(&word, 0), __atomic_fetch_add(&place, 1, __ATOMIC_RELAXED));              \
    COMPARE(#X "_decrement", X##_decrement(&word, 0), __atomic_fetch_sub(&place, 1, __ATOMIC_RELAXED));              \
    COMPARE(#X "_decrement_and_test REL", sink = (uint64_t)X##_decrement_and_test(&word, GASNETT_ATOMIC_REL),        \
            sink = __atomic_sub_fetch(&place, 1, __ATOMIC_RELEASE) == 0);                                            \
    COMPARE(#X "_add", sink = X##_add(&word, 3, 0), sink = __atomic_add_fetch(&place, 3, __ATOMIC_RELAXED));         \
    COMPARE(#X "_subtract MB_PRE|MB_POST", sink = X##_subtract(&word, 3, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST), \
            sink = __atomic_sub_fetch(&place, 3, __ATOMIC_SEQ_CST));                                                 \
    COMPARE(#X "_swap ACQ", sink = X##_swap(&word, 5, GASNETT_ATOMIC_ACQ),                                           \
            sink = __atomic_exchange_n(&place, 5, __ATOMIC_ACQUIRE));                                                \
    place = 5;                                                                                                       \
    COMPARE(#X "_compare_and_swap ACQ_IF_TRUE, swaps",                                                               \
            sink = (uint64_t)X##_compare_and_swap(&word, 5, 5, GASNETT_ATOMIC_ACQ_IF_TRUE),                          \
            (expected = 5, sink = __atomic_compare_exchange_n(&place, &expected, 5, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))); \
    COMPARE(#X "_compare_and_swap ACQ_IF_TRUE, does not",                                                            \
            sink = (uint64_t)X##_compare_and_swap(&word, 6, 5, GASNETT_ATOMIC_ACQ_IF_TRUE),                          \
            (expected = 6, sink = __atomic_compare_exchange_n(&place, &expected, 5, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))); \
    CHECK(X##_read(&word, 0) == 5, #X " did not do its work");                                                       \
  }
FAMILY(gasnett_atomic, uint32_t)
FAMILY(gasnett_atomic64, uint64_t)
FAMILY(gasnett_strongatomic, uint32_t)
FAMILY(gasnett_strongatomic64, uint64_t)

GASNETT_THREADKEY_DEFINE(misc_key);
static __thread void *bare_key;
static void locks_and_keys(void) {
  static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
  static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
  static pthread_mutex_t bare_mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_rwlock_t bare_rwlock = PTHREAD_RWLOCK_INITIALIZER;
  COMPARE("gasnett_mutex_lock, _unlock", (gasnett_mutex_lock(&mutex), gasnett_mutex_unlock(&mutex)),
          (pthread_mutex_lock(&bare_mutex), pthread_mutex_unlock(&bare_mutex)));
  COMPARE("gasnett_rwlock_rdlock, _unlock", (gasnett_rwlock_rdlock(&rwlock), gasnett_rwlock_unlock(&rwlock)),
          (pthread_rwlock_rdlock(&bare_rwlock), pthread_rwlock_unlock(&bare_rwlock)));
  COMPARE("gasnett_rwlock_wrlock, _unlock", (gasnett_rwlock_wrlock(&rwlock), gasnett_rwlock_unlock(&rwlock)),
          (pthread_rwlock_wrlock(&bare_rwlock), pthread_rwlock_unlock(&bare_rwlock)));
  COMPARE("gasnett_threadkey_get", sink = (uintptr_t)gasnett_threadkey_get(misc_key), sink = (uintptr_t)bare_key);
  COMPARE("gasnett_threadkey_set", gasnett_threadkey_set(misc_key, &mutex), bare_key = &mutex);
  CHECK(gasnett_threadkey_get(misc_key) == &mutex && bare_key == &mutex, "key");
}

static volatile uint32_t requests, replies;
static void short_h(gasnet_token_t token) {
  (void)token;
  requests = requests + 1;
}
static void asks_h(gasnet_token_t token) { GASNET_SAFE(gasnet_AMReplyShort0(token, 203)); }
static void answer_h(gasnet_token_t token) {
  (void)token;
  replies = replies + 1;
}

static void job_calls(void) {
  static gasnet_hsl_t hsl = GASNET_HSL_INITIALIZER;
  static uint64_t local = 7;
  gasnet_seginfo_t *table = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof *table);
  gasnet_node_t me = gasnet_mynode();
  uint64_t *own;
  uint32_t expected;
  if (!table) gasnet_exit(90);
  GASNET_SAFE(gasnet_getSegmentInfo(table, (int)gasnet_nodes()));
#if defined(GASNET_SEGMENT_EVERYTHING)
  own = (uint64_t *)calloc(1, 8);
#else
  own = (uint64_t *)table[me].addr;
#endif
  MEASURE("gasnet_mynode", iterations, sink = gasnet_mynode());
  MEASURE("GASNET_GET_THREADINFO", iterations, sink = (uintptr_t)GASNET_GET_THREADINFO());
  MEASURE("gasnet_AMPoll, nothing there", iterations, GASNET_SAFE(gasnet_AMPoll()));
  MEASURE("gasnet_hsl_lock, _unlock", iterations, (gasnet_hsl_lock(&hsl), gasnet_hsl_unlock(&hsl)));
  MEASURE("gasnet_hsl_trylock, _unlock", iterations, if (gasnet_hsl_trylock(&hsl) == GASNET_OK) gasnet_hsl_unlock(&hsl));
  MEASURE("gasnet_hold_interrupts, _resume_", iterations, (gasnet_hold_interrupts(), gasnet_resume_interrupts()));
  MEASURE("GASNET_BLOCKUNTIL of what is true", iterations, GASNET_BLOCKUNTIL(local == 7));
  COMPARE("gasnet_put of 8 bytes to itself", gasnet_put(me, own, &local, 8), *(volatile uint64_t *)own = local);
  COMPARE("gasnet_get of 8 bytes from itself", gasnet_get(&local, me, own, 8), sink = *(volatile uint64_t *)own);
  CHECK(*own == 7 && local == 7, "transfers");
  requests = replies = 0;
  MEASURE("AM short request to itself", iterations, GASNET_SAFE(gasnet_AMRequestShort0(me, 201)));
  expected = (uint32_t)iterations * ROUNDS;
  GASNET_BLOCKUNTIL(requests == expected);
  MEASURE("AM short request to itself and reply", iterations, {
    uint32_t before = replies;
    GASNET_SAFE(gasnet_AMRequestShort0(me, 202));
    GASNET_BLOCKUNTIL(replies != before);
  });
  CHECK(requests == expected && replies == expected, "%u requests, %u replies, not %u", (unsigned)requests, (unsigned)replies,
        (unsigned)expected);
  test_barrier();
  MEASURE("barrier, notify and wait, all nodes", iterations / 20 + 1, test_barrier());
  free(table);
#if defined(GASNET_SEGMENT_EVERYTHING)
  free(own);
#endif
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[3];
  GASNET_SAFE(gasnet_init(&argc, &argv));
  handlers[0].index = 201, handlers[1].index = 202, handlers[2].index = 203;
  handlers[0].fnptr = (void (*)())short_h, handlers[1].fnptr = (void (*)())asks_h, handlers[2].fnptr = (void (*)())answer_h;
  GASNET_SAFE(gasnet_attach(handlers, 3, GASNET_PAGESIZE, 0));
  alarm(120);
  if (argc > 1) iterations = atoi(argv[1]);
  if (iterations < 1) gasnet_exit(2);
  test_begin("testmisc");
  if (gasnet_mynode() == 0) printf("%s\n", GASNETT_CONFIG_STRING);
  fences_and_ticks();
  measure_gasnett_atomic();
  measure_gasnett_atomic64();
  measure_gasnett_strongatomic();
  measure_gasnett_strongatomic64();
  locks_and_keys();
  job_calls();
  if (gasnet_mynode() == 0) printf("worst ratio of the atomics: %.2f, %s\n", worst_atomic, worst_atomic_name);
  test_end();
  return 0;
}
