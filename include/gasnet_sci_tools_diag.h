/* The self test. Part of gasnet_sci_tools_lib.h, only after gasnetex.h; contract: tools.md section 15, ex-coll.md section 11. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_diag.h"
#endif
#ifndef GASNETI_SCI_TOOLS_DIAG_H
#define GASNETI_SCI_TOOLS_DIAG_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

/* ---- what inline code of this header does, checked as this object was compiled ----
 * Each check is called with thread -1 before the threads begin, by each thread with its number, and with the number of threads when
 * they have ended. It returns NULL, or what is wrong. One self test runs at a time. */
#define GASNETI_SCI_DIAG_THREADS 256
typedef struct {
  gasnett_atomic_t gasneti_atomic;
  gasnett_atomic32_t gasneti_atomic32;
  gasnett_atomic64_t gasneti_atomic64;
  gasnett_strongatomic_t gasneti_strongatomic;
  gasnett_strongatomic32_t gasneti_strongatomic32;
  gasnett_strongatomic64_t gasneti_strongatomic64;
  gasnett_mutex_t gasneti_mutex;
  gasnett_rwlock_t gasneti_rwlock;
  gasnett_cond_t gasneti_cond;
  volatile unsigned gasneti_locked[2], gasneti_written[2], gasneti_turn;
  volatile int gasneti_data[GASNETI_SCI_DIAG_THREADS], gasneti_flag[GASNETI_SCI_DIAG_THREADS];
} gasneti_sci_diag_t;
GASNETI_SCI_INLINE gasneti_sci_diag_t *gasneti_sci_diag(void) {
  static gasneti_sci_diag_t area;
  return &area;
}

#define GASNETI_SCI_DIAG_ATOMIC(name, value_t)                                                                       \
  GASNETI_SCI_INLINE const char *gasneti_sci_diag_##name(int thread, int threads, int rounds) {                      \
    gasnett_##name##_t *shared = &gasneti_sci_diag()->gasneti_##name;                                                \
    int i;                                                                                                           \
    if (thread < 0) {                                                                                                \
      gasnett_##name##_set(shared, 0, GASNETT_ATOMIC_NONE);                                                          \
      return NULL;                                                                                                   \
    }                                                                                                                \
    if (thread == threads) {                                                                                         \
      value_t all = (value_t)threads * (value_t)rounds * 2;                                                          \
      return gasnett_##name##_read(shared, GASNETT_ATOMIC_NONE) == all ? NULL : #name ": operations of threads are lost"; \
    }                                                                                                                \
    for (i = 0; i < rounds; i++) {                                                                                   \
      gasnett_##name##_t own = gasnett_##name##_init(7);                                                             \
      value_t value = (value_t)i;                                                                                    \
      if (gasnett_##name##_read(&own, GASNETT_ATOMIC_RMB_POST) != 7) return #name ": init";                          \
      gasnett_##name##_set(&own, value, GASNETT_ATOMIC_WMB_PRE);                                                     \
      if (gasnett_##name##_add(&own, 5, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST) != (value_t)(value + 5)) return #name ": add"; \
      if (gasnett_##name##_subtract(&own, 5, GASNETT_ATOMIC_REL) != value) return #name ": subtract";                \
      if (gasnett_##name##_swap(&own, 1, GASNETT_ATOMIC_ACQ) != value) return #name ": swap";                        \
      if (!gasnett_##name##_compare_and_swap(&own, 1, 2, GASNETT_ATOMIC_ACQ_IF_TRUE)) return #name ": compare_and_swap of the value"; \
      if (gasnett_##name##_compare_and_swap(&own, 1, 3, GASNETT_ATOMIC_ACQ_IF_FALSE)) return #name ": compare_and_swap of another value"; \
      gasnett_##name##_decrement(&own, GASNETT_ATOMIC_NONE);                                                         \
      if (!gasnett_##name##_decrement_and_test(&own, GASNETT_ATOMIC_REL)) return #name ": decrement_and_test";       \
      gasnett_##name##_increment(shared, GASNETT_ATOMIC_NONE);                                                       \
      (void)gasnett_##name##_add(shared, 1, GASNETT_ATOMIC_NONE);                                                    \
    }                                                                                                                \
    return NULL;                                                                                                     \
  }
GASNETI_SCI_DIAG_ATOMIC(atomic, gasnett_atomic_val_t)
GASNETI_SCI_DIAG_ATOMIC(atomic32, uint32_t)
GASNETI_SCI_DIAG_ATOMIC(atomic64, uint64_t)
GASNETI_SCI_DIAG_ATOMIC(strongatomic, gasnett_atomic_val_t)
GASNETI_SCI_DIAG_ATOMIC(strongatomic32, uint32_t)
GASNETI_SCI_DIAG_ATOMIC(strongatomic64, uint64_t)

/* Each thread stores a number as data and then as a flag. Who sees the flag of its neighbour must see the data. */
GASNETI_SCI_INLINE const char *gasneti_sci_diag_fences(int thread, int threads, int rounds) {
  gasneti_sci_diag_t *area = gasneti_sci_diag();
  int i, flag, data;
  if (thread < 0) {
    for (i = 0; i < GASNETI_SCI_DIAG_THREADS; i++) {
      area->gasneti_data[i] = 0;
      area->gasneti_flag[i] = 0;
    }
    return NULL;
  }
  if (thread == threads) return NULL;
  for (i = 1; i <= rounds; i++) {
    area->gasneti_data[thread] = i;
    gasnett_local_wmb();
    area->gasneti_flag[thread] = i;
    gasnett_local_mb();
    flag = area->gasneti_flag[(thread + 1) % threads];
    gasnett_local_rmb();
    data = area->gasneti_data[(thread + 1) % threads];
    if (data < flag) return "memory barriers: a flag is seen before its data";
    gasnett_weak_wmb();
    gasnett_weak_rmb();
    gasnett_weak_mb();
    gasnett_compiler_fence();
  }
  return NULL;
}

GASNETI_SCI_INLINE const char *gasneti_sci_diag_locks(int thread, int threads, int rounds) {
  gasneti_sci_diag_t *area = gasneti_sci_diag();
  unsigned all = (unsigned)threads * (unsigned)rounds;
  int i;
  if (thread < 0) {
    gasnett_mutex_init(&area->gasneti_mutex);
    gasnett_rwlock_init(&area->gasneti_rwlock);
    for (i = 0; i < 2; i++) {
      area->gasneti_locked[i] = 0;
      area->gasneti_written[i] = 0;
    }
    return NULL;
  }
  if (thread == threads) {
    gasnett_mutex_destroy(&area->gasneti_mutex);
    gasnett_rwlock_destroy(&area->gasneti_rwlock);
    if (area->gasneti_locked[0] != all || area->gasneti_locked[1] != all) return "mutex: threads were in it together";
    return area->gasneti_written[0] == all && area->gasneti_written[1] == all ? NULL : "rwlock: writers were in it together";
  }
  for (i = 0; i < rounds; i++) {
    if (i % 2 || gasnett_mutex_trylock(&area->gasneti_mutex)) gasnett_mutex_lock(&area->gasneti_mutex);
    gasnett_mutex_assertlocked(&area->gasneti_mutex);
    area->gasneti_locked[0] = area->gasneti_locked[0] + 1;
    area->gasneti_locked[1] = area->gasneti_locked[1] + 1;
    gasnett_mutex_unlock(&area->gasneti_mutex);
    if (i % 2 || gasnett_rwlock_trywrlock(&area->gasneti_rwlock)) gasnett_rwlock_wrlock(&area->gasneti_rwlock);
    area->gasneti_written[0] = area->gasneti_written[0] + 1;
    area->gasneti_written[1] = area->gasneti_written[1] + 1;
    gasnett_rwlock_unlock(&area->gasneti_rwlock);
    if (i % 2 || gasnett_rwlock_tryrdlock(&area->gasneti_rwlock)) gasnett_rwlock_rdlock(&area->gasneti_rwlock);
    if (area->gasneti_written[0] != area->gasneti_written[1]) {
      gasnett_rwlock_unlock(&area->gasneti_rwlock);
      return "rwlock: a reader was in it with a writer";
    }
    gasnett_rwlock_unlock(&area->gasneti_rwlock);
  }
  return NULL;
}

#if defined(GASNETT_THREAD_SAFE)
/* The threads take turns. */
GASNETI_SCI_INLINE const char *gasneti_sci_diag_conditions(int thread, int threads, int rounds) {
  gasneti_sci_diag_t *area = gasneti_sci_diag();
  int i;
  if (thread < 0) {
    gasnett_mutex_init(&area->gasneti_mutex);
    gasnett_cond_init(&area->gasneti_cond);
    area->gasneti_turn = 0;
    return NULL;
  }
  if (thread == threads) {
    gasnett_cond_destroy(&area->gasneti_cond);
    gasnett_mutex_destroy(&area->gasneti_mutex);
    return area->gasneti_turn == (unsigned)threads * (unsigned)rounds ? NULL : "condition variable: turns are missing";
  }
  for (i = 0; i < rounds; i++) {
    gasnett_mutex_lock(&area->gasneti_mutex);
    while (area->gasneti_turn % (unsigned)threads != (unsigned)thread) gasnett_cond_wait(&area->gasneti_cond, &area->gasneti_mutex);
    area->gasneti_turn = area->gasneti_turn + 1;
    if (threads == 2) {
      gasnett_cond_signal(&area->gasneti_cond);
    } else {
      gasnett_cond_broadcast(&area->gasneti_cond);
    }
    gasnett_mutex_unlock(&area->gasneti_mutex);
  }
  return NULL;
}
#endif

GASNETI_SCI_INLINE const char *gasneti_sci_diag_timers(int thread, int threads, int rounds) {
  gasnett_tick_t last = gasnett_ticks_now(), now;
  int i;
  if (thread < 0 || thread == threads) return NULL;
  for (i = 0; i < rounds; i++, last = now) {
    now = gasnett_ticks_now();
    if (now < last || now <= GASNETT_TICK_MIN || now >= GASNETT_TICK_MAX) return "timers: the time goes back";
  }
  if (gasnett_ticks_to_ns(0) || gasnett_ticks_to_us(0)) return "timers: no ticks are no time";
  if (!(gasnett_tick_granularityus() > 0) || !(gasnett_tick_overheadus() > 0)) return "timers: granularity or overhead";
  return NULL;
}

GASNETI_SCI_INLINE const char *gasneti_sci_diag_waits(int thread, int threads, int rounds) {
  int i;
  if (thread < 0 || thread == threads) return NULL;
  for (i = 0; i < rounds; i++) {
    gasnett_spinloop_hint();
    if (i % 16 == 0) gasnett_sched_yield();
    if (i % 64 == 0 && gasnett_nsleep(1000)) return "nsleep fails";
  }
  return NULL;
}

GASNETI_SCI_INLINE const char *gasneti_sci_diag_sizes(int thread, int threads, int rounds) {
  size_t align;
  if (thread < 0 || thread == threads || !rounds) return NULL;
  if (sizeof(gasnett_atomic32_t) != 4 || sizeof(gasnett_strongatomic32_t) != 4) return "sizes: 32-bit atomics";
  if (sizeof(gasnett_atomic64_t) != 8 || sizeof(gasnett_strongatomic64_t) != 8) return "sizes: 64-bit atomics";
  if ((GASNETT_PAGESIZE & (GASNETT_PAGESIZE - 1)) || GASNETT_PAGESIZE != 1 << GASNETT_PAGESHIFT) return "sizes: page";
  if (GASNETT_CACHE_LINE_BYTES & (GASNETT_CACHE_LINE_BYTES - 1)) return "sizes: cache line";
  for (align = sizeof(void *); align <= GASNETT_PAGESIZE; align *= 2) {
    void *memory = gasnett_malloc_aligned(align, align + 1);
    int is_right = ((uintptr_t)memory & (align - 1)) == 0;
    gasnett_free_aligned(memory);
    if (!is_right) return "sizes: aligned memory";
  }
  if (gasnett_count0s_uint32_t(0x00ff0100) != 2 || gasnett_count0s_uint64_t(1) != 7) return "zero bytes in a register";
  return NULL;
}

GASNETI_SCI_INLINE int gasneti_sci_diagnose(int iters, int threads, const char *sections) {
  static const gasneti_sci_diagnostic_t checks[] = {
      {'A', "atomics", gasneti_sci_diag_atomic},
      {'A', "32-bit atomics", gasneti_sci_diag_atomic32},
      {'A', "64-bit atomics", gasneti_sci_diag_atomic64},
      {'A', "strong atomics", gasneti_sci_diag_strongatomic},
      {'A', "strong 32-bit atomics", gasneti_sci_diag_strongatomic32},
      {'A', "strong 64-bit atomics", gasneti_sci_diag_strongatomic64},
      {'F', "memory barriers", gasneti_sci_diag_fences},
      {'L', "mutexes and read-write locks", gasneti_sci_diag_locks},
#if defined(GASNETT_THREAD_SAFE)
      {'C', "condition variables", gasneti_sci_diag_conditions},
#endif
      {'I', "timers", gasneti_sci_diag_timers},
      {'W', "spinning, yielding, sleeping", gasneti_sci_diag_waits},
      {'X', "sizes and alignment", gasneti_sci_diag_sizes},
  };
#if !defined(GASNETT_THREAD_SAFE)
  threads = 1; /* locks and atomics are of one thread */
#endif
  return gasneti_sci_run_diagnostics(iters, threads, sections, checks, (int)(sizeof checks / sizeof checks[0]));
}

/* int gasnett_run_diagnostics(int iters, int threads, const char *sections, ...): runs `iters` rounds of the self test on each
 * of `threads` threads (in SEQ on one), and returns the number of errors. The first node prints what it ran. `sections`: letters of A
 * (atomics), F (memory barriers), L (locks), C (condition variables), I (timers), W (waits), X (sizes), N (numbers), Z (zero
 * counts), S (checksums), T (the library's atomics and locks between threads); NULL: all. It needs no handlers and does not touch
 * the segment, so it ignores the rest:
 *   GASNet-EX: gex_TM_t team, void *myseg, gex_Rank_t peer, void *peerseg, unsigned seed
 *   GASNet-1:  const gasnet_seginfo_t *seginfo */
GASNETI_SCI_INLINE int gasneti_sci_diagnostics4(int iters, int threads, const char *sections, const void *seginfo) {
  (void)seginfo;
  return gasneti_sci_diagnose(iters, threads, sections);
}
GASNETI_SCI_INLINE int gasneti_sci_diagnostics8(int iters, int threads, const char *sections, gex_TM_t team, void *myseg,
                                                gex_Rank_t peer, void *peerseg, unsigned seed) {
  (void)team, (void)myseg, (void)peer, (void)peerseg, (void)seed;
  return gasneti_sci_diagnose(iters, threads, sections);
}
#define GASNETI_SCI_NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define gasnett_run_diagnostics(...)                                                                                 \
  GASNETI_SCI_NINTH(__VA_ARGS__, gasneti_sci_diagnostics8, 7, 6, 5, gasneti_sci_diagnostics4, 3, 2, 1, 0)(__VA_ARGS__)

/* void gasnett_diagnostic_gethandlers(gex_AM_Entry_t **table, int *count): no handlers. GASNet-1: gasnet_handlerentry_t **. */
GASNETI_SCI_INLINE void gasneti_sci_diagnostic_handlers(void *table, int *count) {
  *(void **)table = NULL;
  *count = 0;
}
#define gasnett_diagnostic_gethandlers(table, count)                                                                 \
  gasneti_sci_diagnostic_handlers(GASNETI_SCI_AS(gasneti_sci_memory_t, table), (count))

#endif
