/* Mutexes and condition variables over pthreads; with one thread they cost nothing. Part of gasnet_tools.h.
 *
 * In debug mode a mutex knows its owner. These errors end the program with the client's file and line: to lock a
 * mutex again, to unlock one that the thread does not hold, to destroy a locked one, and to wait without the mutex.
 * With GASNETT_USE_TRUE_MUTEXES they are mutexes of pthreads even with one thread. Contract: tools.md section 6. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_lock.h"
#endif
#ifndef GASNETI_SCI_TOOLS_LOCK_H
#define GASNETI_SCI_TOOLS_LOCK_H

#if GASNETI_SCI_THREADS || GASNETT_USE_TRUE_MUTEXES
#define GASNETI_SCI_TRUE_LOCKS 1
/* The calling thread's identity, never 0. */
#define GASNETI_SCI_SELF() GASNETI_SCI_AS(uintptr_t, pthread_self())
#else
#define GASNETI_SCI_TRUE_LOCKS 0
#define GASNETI_SCI_SELF() GASNETI_SCI_AS(uintptr_t, 1)
#endif

#define GASNETI_SCI_HERE __FILE__, __LINE__
/* Ends the program unless `holds`, with a line that says `what` was wrong at the client's file and line. */
#define GASNETI_SCI_DEMAND(holds, what)                                                                              \
  do {                                                                                                               \
    if_pf (!(holds)) gasneti_sci_tools_misuse((what), file, line);                                                   \
  } while (0)

/* ---- mutex ---- */
#if defined(GASNET_DEBUG)
typedef struct {
#if GASNETI_SCI_TRUE_LOCKS
  pthread_mutex_t gasneti_lock;
#endif
  /* The holder, or 0; a thread may rely on it only if it finds itself. Where there is one thread, how often it took the mutex: once, and
   * once for each trylock meanwhile, which never fails there. */
  uintptr_t gasneti_owner;
} gasnett_mutex_t;
#if GASNETI_SCI_TRUE_LOCKS
#define GASNETT_MUTEX_INITIALIZER { PTHREAD_MUTEX_INITIALIZER, 0 }
#else
#define GASNETT_MUTEX_INITIALIZER { 0 }
#endif

#if GASNETI_SCI_TRUE_LOCKS
/* relaxed: it equals the calling thread only if that thread stored it */
#define GASNETI_SCI_OWNER(p) __atomic_load_n(&(p)->gasneti_owner, __ATOMIC_RELAXED)
#else
#define GASNETI_SCI_OWNER(p) ((p)->gasneti_owner ? GASNETI_SCI_SELF() : 0)
#endif
#define GASNETI_SCI_SET_OWNER(p, thread) __atomic_store_n(&(p)->gasneti_owner, (thread), __ATOMIC_RELAXED)

GASNETI_SCI_INLINE void gasneti_sci_mutex_init(gasnett_mutex_t *p, const char *file, int line) {
#if GASNETI_SCI_TRUE_LOCKS
  GASNETI_SCI_DEMAND(pthread_mutex_init(&p->gasneti_lock, NULL) == 0, "gasnett_mutex_init: no resources");
#endif
  (void)file, (void)line;
  GASNETI_SCI_SET_OWNER(p, 0);
}
GASNETI_SCI_INLINE int gasneti_sci_mutex_destroy_try(gasnett_mutex_t *p) {
  if (GASNETI_SCI_OWNER(p) != 0) return EBUSY;
#if GASNETI_SCI_TRUE_LOCKS
  return pthread_mutex_destroy(&p->gasneti_lock);
#else
  return 0;
#endif
}
GASNETI_SCI_INLINE void gasneti_sci_mutex_destroy(gasnett_mutex_t *p, const char *file, int line) {
  GASNETI_SCI_DEMAND(gasneti_sci_mutex_destroy_try(p) == 0, "gasnett_mutex_destroy: the mutex is locked");
}
GASNETI_SCI_INLINE void gasneti_sci_mutex_lock(gasnett_mutex_t *p, const char *file, int line) {
  GASNETI_SCI_DEMAND(GASNETI_SCI_OWNER(p) != GASNETI_SCI_SELF(), "gasnett_mutex_lock: this thread holds the mutex already");
#if GASNETI_SCI_TRUE_LOCKS
  GASNETI_SCI_DEMAND(pthread_mutex_lock(&p->gasneti_lock) == 0, "gasnett_mutex_lock: not a mutex");
#endif
  GASNETI_SCI_SET_OWNER(p, GASNETI_SCI_SELF());
}
GASNETI_SCI_INLINE int gasneti_sci_mutex_trylock(gasnett_mutex_t *p, const char *file, int line) {
#if GASNETI_SCI_TRUE_LOCKS
  int result = pthread_mutex_trylock(&p->gasneti_lock);
  if (result == EBUSY) return EBUSY;
  GASNETI_SCI_DEMAND(result == 0, "gasnett_mutex_trylock: not a mutex");
  GASNETI_SCI_SET_OWNER(p, GASNETI_SCI_SELF());
#else
  (void)file, (void)line;
  p->gasneti_owner++;
#endif
  return 0;
}
GASNETI_SCI_INLINE void gasneti_sci_mutex_unlock(gasnett_mutex_t *p, const char *file, int line) {
  GASNETI_SCI_DEMAND(GASNETI_SCI_OWNER(p) == GASNETI_SCI_SELF(), "gasnett_mutex_unlock: this thread does not hold the mutex");
#if GASNETI_SCI_TRUE_LOCKS
  GASNETI_SCI_SET_OWNER(p, 0);
  GASNETI_SCI_DEMAND(pthread_mutex_unlock(&p->gasneti_lock) == 0, "gasnett_mutex_unlock: not a mutex");
#else
  p->gasneti_owner--;
#endif
}
GASNETI_SCI_INLINE void gasneti_sci_mutex_check(gasnett_mutex_t *p, int held, const char *file, int line) {
  int holds = GASNETI_SCI_OWNER(p) == GASNETI_SCI_SELF();
  GASNETI_SCI_DEMAND(holds || !held, "gasnett_mutex_assertlocked: this thread does not hold the mutex");
  GASNETI_SCI_DEMAND(!holds || held, "gasnett_mutex_assertunlocked: this thread holds the mutex");
}

#define gasnett_mutex_init(p) gasneti_sci_mutex_init((p), GASNETI_SCI_HERE)
#define gasnett_mutex_destroy(p) gasneti_sci_mutex_destroy((p), GASNETI_SCI_HERE)
#define gasnett_mutex_destroy_ignoreerr(p) gasneti_sci_mutex_destroy_try(p)
#define gasnett_mutex_lock(p) gasneti_sci_mutex_lock((p), GASNETI_SCI_HERE)
#define gasnett_mutex_trylock(p) gasneti_sci_mutex_trylock((p), GASNETI_SCI_HERE)
#define gasnett_mutex_unlock(p) gasneti_sci_mutex_unlock((p), GASNETI_SCI_HERE)
#define gasnett_mutex_assertlocked(p) gasneti_sci_mutex_check((p), 1, GASNETI_SCI_HERE)
#define gasnett_mutex_assertunlocked(p) gasneti_sci_mutex_check((p), 0, GASNETI_SCI_HERE)

#elif GASNETI_SCI_TRUE_LOCKS
typedef struct {
  pthread_mutex_t gasneti_lock;
} gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER { PTHREAD_MUTEX_INITIALIZER }
#define gasnett_mutex_init(p) ((void)pthread_mutex_init(&(p)->gasneti_lock, NULL))
#define gasnett_mutex_destroy(p) ((void)pthread_mutex_destroy(&(p)->gasneti_lock))
#define gasnett_mutex_destroy_ignoreerr(p) pthread_mutex_destroy(&(p)->gasneti_lock)
#define gasnett_mutex_lock(p) ((void)pthread_mutex_lock(&(p)->gasneti_lock))
#define gasnett_mutex_trylock(p) pthread_mutex_trylock(&(p)->gasneti_lock)
#define gasnett_mutex_unlock(p) ((void)pthread_mutex_unlock(&(p)->gasneti_lock))
#define gasnett_mutex_assertlocked(p) ((void)0)
#define gasnett_mutex_assertunlocked(p) ((void)0)

#else
typedef struct {
  char gasneti_none;
} gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER { 0 }
GASNETI_SCI_INLINE int gasneti_sci_mutex_nothing(gasnett_mutex_t *p) {
  (void)p;
  return 0;
}
#define gasnett_mutex_init(p) ((void)gasneti_sci_mutex_nothing(p))
#define gasnett_mutex_destroy(p) ((void)gasneti_sci_mutex_nothing(p))
#define gasnett_mutex_destroy_ignoreerr(p) gasneti_sci_mutex_nothing(p)
#define gasnett_mutex_lock(p) ((void)gasneti_sci_mutex_nothing(p))
#define gasnett_mutex_trylock(p) gasneti_sci_mutex_nothing(p)
#define gasnett_mutex_unlock(p) ((void)gasneti_sci_mutex_nothing(p))
#define gasnett_mutex_assertlocked(p) ((void)0)
#define gasnett_mutex_assertunlocked(p) ((void)0)
#endif

/* ---- condition variable: gasnett_cond_wait(pc, pl) needs the mutex, and may return without a signal ---- */
#if GASNETI_SCI_TRUE_LOCKS
typedef struct {
  pthread_cond_t gasneti_cond;
} gasnett_cond_t;
#define GASNETT_COND_INITIALIZER { PTHREAD_COND_INITIALIZER }
#define gasnett_cond_init(pc) ((void)pthread_cond_init(&(pc)->gasneti_cond, NULL))
#define gasnett_cond_destroy(pc) ((void)pthread_cond_destroy(&(pc)->gasneti_cond))
#define gasnett_cond_signal(pc) ((void)pthread_cond_signal(&(pc)->gasneti_cond))
#define gasnett_cond_broadcast(pc) ((void)pthread_cond_broadcast(&(pc)->gasneti_cond))
#if defined(GASNET_DEBUG)
GASNETI_SCI_INLINE void gasneti_sci_cond_wait(gasnett_cond_t *pc, gasnett_mutex_t *pl, const char *file, int line) {
  GASNETI_SCI_DEMAND(GASNETI_SCI_OWNER(pl) == GASNETI_SCI_SELF(), "gasnett_cond_wait: this thread does not hold the mutex");
  GASNETI_SCI_SET_OWNER(pl, 0);
  GASNETI_SCI_DEMAND(pthread_cond_wait(&pc->gasneti_cond, &pl->gasneti_lock) == 0, "gasnett_cond_wait: not a condition variable");
  GASNETI_SCI_SET_OWNER(pl, GASNETI_SCI_SELF());
}
#define gasnett_cond_wait(pc, pl) gasneti_sci_cond_wait((pc), (pl), GASNETI_SCI_HERE)
#else
#define gasnett_cond_wait(pc, pl) ((void)pthread_cond_wait(&(pc)->gasneti_cond, &(pl)->gasneti_lock))
#endif
#else
typedef struct {
  char gasneti_none;
} gasnett_cond_t;
#define GASNETT_COND_INITIALIZER { 0 }
GASNETI_SCI_INLINE void gasneti_sci_cond_nothing(gasnett_cond_t *pc) { (void)pc; }
GASNETI_SCI_INLINE void gasneti_sci_cond_forever(gasnett_cond_t *pc, gasnett_mutex_t *pl, const char *file, int line) {
  (void)pc, (void)pl;
  gasneti_sci_tools_misuse("gasnett_cond_wait: the only thread would wait forever", file, line);
}
#define gasnett_cond_init(pc) gasneti_sci_cond_nothing(pc)
#define gasnett_cond_destroy(pc) gasneti_sci_cond_nothing(pc)
#define gasnett_cond_signal(pc) gasneti_sci_cond_nothing(pc)
#define gasnett_cond_broadcast(pc) gasneti_sci_cond_nothing(pc)
#define gasnett_cond_wait(pc, pl) gasneti_sci_cond_forever((pc), (pl), GASNETI_SCI_HERE)
#endif

#endif
