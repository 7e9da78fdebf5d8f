/* Locks and thread keys (list D of behaviours-tools-vis-coll.md). Part of testtools. */
#ifndef GASNET_SCI_TESTTOOLS_LOCK_H
#define GASNET_SCI_TESTTOOLS_LOCK_H

#include "testtools.h"

#if defined(GASNETT_THREAD_SAFE) || defined(GASNET_PARSYNC) || GASNETT_USE_TRUE_MUTEXES
#define REAL_LOCKS 1
#else
#define REAL_LOCKS 0
#endif

/* D1: initialisers in aggregates. */
static struct {
  int number;
  gasnett_mutex_t mutex;
  gasnett_cond_t cond;
  gasnett_rwlock_t rwlock[2];
} locks = {3, GASNETT_MUTEX_INITIALIZER, GASNETT_COND_INITIALIZER, {GASNETT_RWLOCK_INITIALIZER, GASNETT_RWLOCK_INITIALIZER}};
static long counted, waiting, woken, generation;

static void d1_trylock_elsewhere(int number) {
  int result;
  if (number == 0) {
    gasnett_mutex_lock(&locks.mutex);
    gasnett_rwlock_wrlock(&locks.rwlock[0]);
    gasnett_rwlock_rdlock(&locks.rwlock[1]);
    meet(2);
    meet(2);
    gasnett_mutex_unlock(&locks.mutex);
    gasnett_rwlock_unlock(&locks.rwlock[0]);
    gasnett_rwlock_unlock(&locks.rwlock[1]);
  } else {
    meet(2);
    result = gasnett_mutex_trylock(&locks.mutex);
    CHECK(result == EBUSY, "mutex: %d", result);
    gasnett_mutex_assertunlocked(&locks.mutex);
    result = gasnett_rwlock_tryrdlock(&locks.rwlock[0]);
    CHECK(result == EBUSY, "written: %d", result);
    result = gasnett_rwlock_trywrlock(&locks.rwlock[0]);
    CHECK(result == EBUSY, "written: %d", result);
    result = gasnett_rwlock_trywrlock(&locks.rwlock[1]);
    CHECK(result == EBUSY, "read: %d", result);
    result = gasnett_rwlock_tryrdlock(&locks.rwlock[1]);
    CHECK(result == 0, "read: %d", result);
    if (result == 0) gasnett_rwlock_unlock(&locks.rwlock[1]);
    meet(2);
  }
}

static void d2_exclusion(int number) {
  int i;
  (void)number;
  for (i = 0; i < 20000; i++) {
    if (i % 3) gasnett_mutex_lock(&locks.mutex);
    else
      while (gasnett_mutex_trylock(&locks.mutex)) gasnett_sched_yield();
    gasnett_mutex_assertlocked(&locks.mutex);
    counted++;
    gasnett_mutex_unlock(&locks.mutex);
    gasnett_mutex_assertunlocked(&locks.mutex);
  }
}

/* Thread 0 wakes the others, once by broadcast, then one by one. */
static void d2_conditions(int number) {
  if (number) {
    gasnett_mutex_lock(&locks.mutex);
    waiting++;
    while (generation == 0) gasnett_cond_wait(&locks.cond, &locks.mutex);
    gasnett_mutex_assertlocked(&locks.mutex);
    woken++;
    waiting++;
    while (generation <= number) gasnett_cond_wait(&locks.cond, &locks.mutex);
    woken++;
    /* A signal wakes some thread, perhaps not the one whose turn it is. */
    gasnett_cond_broadcast(&locks.cond);
    gasnett_mutex_unlock(&locks.mutex);
    return;
  }
  {
    int round;
    for (round = 1; round <= 2; round++) {
      long there = 0;
      while (there < round * (THREADS - 1)) {
        gasnett_mutex_lock(&locks.mutex);
        there = waiting;
        gasnett_mutex_unlock(&locks.mutex);
        gasnett_sched_yield();
      }
      gasnett_mutex_lock(&locks.mutex);
      generation = round == 1 ? 1 : THREADS + 1;
      if (round == 1) gasnett_cond_broadcast(&locks.cond);
      else gasnett_cond_signal(&locks.cond);
      gasnett_mutex_unlock(&locks.mutex);
    }
  }
}

static gasnett_strongatomic32_t inside = gasnett_strongatomic32_init(0);
static void d3_rwlock(int number) {
  int i;
  /* All threads read at once, each twice: none can pass the meeting point alone. */
  gasnett_rwlock_rdlock(&locks.rwlock[0]);
  gasnett_rwlock_rdlock(&locks.rwlock[0]);
  meet(THREADS);
  gasnett_rwlock_assertrdlocked(&locks.rwlock[0]);
  gasnett_rwlock_assertlocked(&locks.rwlock[0]);
  gasnett_rwlock_unlock(&locks.rwlock[0]);
  meet(THREADS);
  gasnett_rwlock_unlock(&locks.rwlock[0]);
  meet(THREADS);
  gasnett_rwlock_assertunlocked(&locks.rwlock[0]);
  for (i = 0; i < 5000; i++) {
    if ((i + number) % 4 == 0) {
      if (i & 1) gasnett_rwlock_wrlock(&locks.rwlock[0]);
      else
        while (gasnett_rwlock_trywrlock(&locks.rwlock[0])) gasnett_sched_yield();
      gasnett_rwlock_assertwrlocked(&locks.rwlock[0]);
      CHECK(gasnett_strongatomic32_read(&inside, 0) == 0, "a writer is not alone");
      gasnett_strongatomic32_set(&inside, 1000, 0);
      counted++;
      gasnett_strongatomic32_set(&inside, 0, 0);
    } else {
      if (i & 1) gasnett_rwlock_rdlock(&locks.rwlock[0]);
      else
        while (gasnett_rwlock_tryrdlock(&locks.rwlock[0])) gasnett_sched_yield();
      CHECK(gasnett_strongatomic32_add(&inside, 1, 0) < 1000, "a reader beside a writer");
      gasnett_strongatomic32_decrement(&inside, 0);
    }
    gasnett_rwlock_unlock(&locks.rwlock[0]);
  }
}

/* By call, on the stack; a mutex can be destroyed when it is free, and made again. */
static void d_life(void) {
  gasnett_mutex_t mutex;
  gasnett_cond_t cond;
  gasnett_rwlock_t rwlock;
  gasnett_mutex_t *mutexes[1];
  int i, result, steps = 0;
  mutexes[0] = &mutex;
  for (i = 0; i < 3; i++) {
    gasnett_mutex_init(&mutex);
    gasnett_cond_init(&cond);
    gasnett_rwlock_init(&rwlock);
    gasnett_mutex_lock(mutexes[steps++]);
    CHECK(steps == 1, "evaluated %d times", steps);
    gasnett_mutex_unlock(mutexes[--steps]);
    result = gasnett_mutex_trylock(&mutex);
    CHECK(result == 0, "trylock: %d", result);
    gasnett_cond_signal(&cond);
    gasnett_cond_broadcast(&cond);
    gasnett_mutex_unlock(&mutex);
    result = gasnett_rwlock_trywrlock(&rwlock);
    CHECK(result == 0, "trywrlock: %d", result);
    gasnett_rwlock_unlock(&rwlock);
    result = gasnett_rwlock_tryrdlock(&rwlock);
    CHECK(result == 0, "tryrdlock: %d", result);
    gasnett_rwlock_unlock(&rwlock);
    gasnett_rwlock_destroy(&rwlock);
    gasnett_cond_destroy(&cond);
    if (i == 1) {
      result = gasnett_mutex_destroy_ignoreerr(&mutex);
      CHECK(result == 0, "destroy: %d", result);
    } else {
      gasnett_mutex_destroy(&mutex);
    }
  }
}

/* D6: declared before it is defined, NULL in every thread, a value per thread. */
GASNETT_THREADKEY_DECLARE(colour);
static void *colour_of(void) { return gasnett_threadkey_get(colour); }
GASNETT_THREADKEY_DEFINE(colour);
static char spots[16];
static void d6_keys(int number) {
  int i;
  CHECK(colour_of() == NULL, "not NULL at first");
  gasnett_threadkey_init(colour);
  gasnett_threadkey_init(colour);
  CHECK(gasnett_threadkey_get_noinit(colour) == NULL, "not NULL after init");
  gasnett_threadkey_set(colour, &spots[number]);
  meet(THREADS);
  for (i = 0; i < 100; i++) {
    CHECK(colour_of() == &spots[number], "another thread's value");
    gasnett_threadkey_set_noinit(colour, &spots[number]);
    CHECK(gasnett_threadkey_get_noinit(colour) == &spots[number], "another value without init");
  }
  meet(THREADS);
  gasnett_threadkey_set(colour, NULL);
}

/* D5: with one thread a try form takes what is held, and each take has its unlock. */
static void TEST_UNUSED d5_try_never_fails(void) {
  gasnett_rwlock_t *rwlock = &locks.rwlock[0];
  int i;
  gasnett_mutex_lock(&locks.mutex);
  for (i = 0; i < 2; i++) CHECK(gasnett_mutex_trylock(&locks.mutex) == 0, "mutex");
  gasnett_mutex_unlock(&locks.mutex);
  gasnett_mutex_unlock(&locks.mutex);
  gasnett_mutex_assertlocked(&locks.mutex);
  gasnett_mutex_unlock(&locks.mutex);
  gasnett_mutex_assertunlocked(&locks.mutex);
  gasnett_rwlock_wrlock(rwlock);
  CHECK(gasnett_rwlock_trywrlock(rwlock) == 0, "written: trywrlock");
  CHECK(gasnett_rwlock_tryrdlock(rwlock) == 0, "written: tryrdlock");
  for (i = 0; i < 3; i++) gasnett_rwlock_unlock(rwlock);
  gasnett_rwlock_assertunlocked(rwlock);
  gasnett_rwlock_rdlock(rwlock);
  CHECK(gasnett_rwlock_trywrlock(rwlock) == 0, "read: trywrlock");
  gasnett_rwlock_assertwrlocked(rwlock);
  for (i = 0; i < 2; i++) gasnett_rwlock_unlock(rwlock);
  gasnett_rwlock_destroy(rwlock);
  gasnett_mutex_destroy(&locks.mutex);
}

static void test_locks(void) {
  d_life();
  if (THREADS > 1) on_threads(2, d1_trylock_elsewhere);
  on_threads(THREADS, d2_exclusion);
  CHECK(counted == 20000L * THREADS, "%ld", counted);
  if (THREADS > 1) {
    on_threads(THREADS, d2_conditions);
    CHECK(woken == 2 * (THREADS - 1), "%ld woken", woken);
  }
  counted = 0;
  on_threads(THREADS, d3_rwlock);
  CHECK(counted == 1250L * THREADS, "%ld written", counted);
  CHECK(locks.number == 3, "neighbour");
  on_threads(THREADS, d6_keys);
  on_threads(THREADS, d6_keys);
#if !REAL_LOCKS
  d5_try_never_fails();
#endif
}

/* D4: what must end the program. */
static void TEST_UNUSED make_mistake(const char *which) {
  gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
  gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
  gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
  if (!strcmp(which, "relock")) gasnett_mutex_lock(&mutex), gasnett_mutex_lock(&mutex);
  if (!strcmp(which, "unlock")) gasnett_mutex_unlock(&mutex);
  if (!strcmp(which, "destroy")) {
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_destroy(&mutex);
  }
  if (!strcmp(which, "wait")) gasnett_cond_wait(&cond, &mutex);
  if (!strcmp(which, "assertlocked")) gasnett_mutex_assertlocked(&mutex);
  if (!strcmp(which, "assertunlocked")) gasnett_mutex_lock(&mutex), gasnett_mutex_assertunlocked(&mutex);
  if (!strcmp(which, "rwunlock")) gasnett_rwlock_unlock(&rwlock);
  if (!strcmp(which, "rwrelock")) gasnett_rwlock_wrlock(&rwlock), gasnett_rwlock_wrlock(&rwlock);
  if (!strcmp(which, "rwassert")) gasnett_rwlock_rdlock(&rwlock), gasnett_rwlock_assertwrlocked(&rwlock);
  if (!strcmp(which, "rwdestroy")) {
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_destroy(&rwlock);
  }
}

#endif
