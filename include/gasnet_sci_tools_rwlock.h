/* Reader-writer locks; with one thread they cost nothing. Part of gasnet_tools.h; contract: tools.md section 6.
 *
 * They are the library's own, in one word, because strict dialects hide those of pthreads. A reader waits only while
 * a writer holds the lock, so that a thread that reads may take it again for reading. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_rwlock.h"
#endif
#ifndef GASNETI_SCI_TOOLS_RWLOCK_H
#define GASNETI_SCI_TOOLS_RWLOCK_H

typedef struct {
#if GASNETI_SCI_TRUE_LOCKS
  uintptr_t gasneti_state; /* the library's */
#endif
  /* The thread that writes, or 0; only that thread stores it, while it holds the lock. Where there is one thread, how often it took the lock
   * for writing: trywrlock never fails there. */
  uintptr_t gasneti_writer;
#if defined(GASNET_DEBUG)
  uint32_t gasneti_readers; /* threads that read */
#endif
} gasnett_rwlock_t;
#if GASNETI_SCI_TRUE_LOCKS && defined(GASNET_DEBUG)
#define GASNETT_RWLOCK_INITIALIZER { 0, 0, 0 }
#elif GASNETI_SCI_TRUE_LOCKS || defined(GASNET_DEBUG)
#define GASNETT_RWLOCK_INITIALIZER { 0, 0 }
#else
#define GASNETT_RWLOCK_INITIALIZER { 0 }
#endif

#if GASNETI_SCI_TRUE_LOCKS
/* relaxed: it equals the calling thread only if that thread stored it */
#define GASNETI_SCI_WRITER(p) __atomic_load_n(&(p)->gasneti_writer, __ATOMIC_RELAXED)
#else
#define GASNETI_SCI_WRITER(p) ((p)->gasneti_writer ? GASNETI_SCI_SELF() : 0)
#endif
#define GASNETI_SCI_SET_WRITER(p, thread) __atomic_store_n(&(p)->gasneti_writer, (thread), __ATOMIC_RELAXED)
#if defined(GASNET_DEBUG)
#define GASNETI_SCI_READERS(p) __atomic_load_n(&(p)->gasneti_readers, __ATOMIC_RELAXED)
#define GASNETI_SCI_ADD_READER(p, n) ((void)__atomic_add_fetch(&(p)->gasneti_readers, (uint32_t)(n), __ATOMIC_RELAXED))
#define GASNETI_SCI_LOCK_DEMAND(holds, what) GASNETI_SCI_DEMAND(holds, what)
#else
#define GASNETI_SCI_ADD_READER(p, n) ((void)0)
#define GASNETI_SCI_LOCK_DEMAND(holds, what) ((void)file, (void)line)
#endif

GASNETI_SCI_INLINE void gasneti_sci_rwlock_init(gasnett_rwlock_t *p) { memset(p, 0, sizeof *p); }
GASNETI_SCI_INLINE void gasneti_sci_rwlock_destroy(gasnett_rwlock_t *p, const char *file, int line) {
  (void)p;
  GASNETI_SCI_LOCK_DEMAND(!GASNETI_SCI_WRITER(p) && !GASNETI_SCI_READERS(p), "gasnett_rwlock_destroy: the lock is held");
}
GASNETI_SCI_INLINE void gasneti_sci_rwlock_rdlock(gasnett_rwlock_t *p, const char *file, int line) {
  GASNETI_SCI_LOCK_DEMAND(GASNETI_SCI_WRITER(p) != GASNETI_SCI_SELF(), "gasnett_rwlock_rdlock: this thread holds the lock for writing");
#if GASNETI_SCI_TRUE_LOCKS
  gasneti_sci_tools_read_lock(&p->gasneti_state);
#endif
  (void)p;
  GASNETI_SCI_ADD_READER(p, 1);
}
GASNETI_SCI_INLINE void gasneti_sci_rwlock_wrlock(gasnett_rwlock_t *p, const char *file, int line) {
  GASNETI_SCI_LOCK_DEMAND(GASNETI_SCI_WRITER(p) != GASNETI_SCI_SELF(), "gasnett_rwlock_wrlock: this thread holds the lock for writing already");
#if GASNETI_SCI_TRUE_LOCKS
  gasneti_sci_tools_write_lock(&p->gasneti_state);
#endif
  GASNETI_SCI_SET_WRITER(p, GASNETI_SCI_SELF());
}
GASNETI_SCI_INLINE int gasneti_sci_rwlock_tryrdlock(gasnett_rwlock_t *p) {
#if GASNETI_SCI_TRUE_LOCKS
  if (!gasneti_sci_tools_try_read_lock(&p->gasneti_state)) return EBUSY;
#endif
  (void)p;
  GASNETI_SCI_ADD_READER(p, 1);
  return 0;
}
GASNETI_SCI_INLINE int gasneti_sci_rwlock_trywrlock(gasnett_rwlock_t *p) {
#if GASNETI_SCI_TRUE_LOCKS
  if (!gasneti_sci_tools_try_write_lock(&p->gasneti_state)) return EBUSY;
  GASNETI_SCI_SET_WRITER(p, GASNETI_SCI_SELF());
#else
  p->gasneti_writer++;
#endif
  return 0;
}
GASNETI_SCI_INLINE void gasneti_sci_rwlock_unlock(gasnett_rwlock_t *p, const char *file, int line) {
  int writes = GASNETI_SCI_WRITER(p) == GASNETI_SCI_SELF();
  GASNETI_SCI_LOCK_DEMAND(writes || GASNETI_SCI_READERS(p), "gasnett_rwlock_unlock: this thread does not hold the lock");
  if (writes) {
#if GASNETI_SCI_TRUE_LOCKS
    GASNETI_SCI_SET_WRITER(p, 0);
    gasneti_sci_tools_write_unlock(&p->gasneti_state);
#else
    p->gasneti_writer--;
#endif
  } else {
    GASNETI_SCI_ADD_READER(p, -1);
#if GASNETI_SCI_TRUE_LOCKS
    gasneti_sci_tools_read_unlock(&p->gasneti_state);
#endif
  }
}

#define gasnett_rwlock_init(p) gasneti_sci_rwlock_init(p)
#define gasnett_rwlock_destroy(p) gasneti_sci_rwlock_destroy((p), GASNETI_SCI_HERE)
#define gasnett_rwlock_rdlock(p) gasneti_sci_rwlock_rdlock((p), GASNETI_SCI_HERE)
#define gasnett_rwlock_wrlock(p) gasneti_sci_rwlock_wrlock((p), GASNETI_SCI_HERE)
#define gasnett_rwlock_tryrdlock(p) gasneti_sci_rwlock_tryrdlock(p)
#define gasnett_rwlock_trywrlock(p) gasneti_sci_rwlock_trywrlock(p)
#define gasnett_rwlock_unlock(p) gasneti_sci_rwlock_unlock((p), GASNETI_SCI_HERE)

#if defined(GASNET_DEBUG)
/* The lock knows how many threads read, not which. So a check for a reader finds only that some thread reads. */
GASNETI_SCI_INLINE void gasneti_sci_rwlock_check(gasnett_rwlock_t *p, int may_read, int may_write, const char *file, int line) {
  int writes = GASNETI_SCI_WRITER(p) == GASNETI_SCI_SELF(), reads = GASNETI_SCI_READERS(p) != 0;
  if (may_read || may_write)
    GASNETI_SCI_DEMAND((may_write && writes) || (may_read && reads), "gasnett_rwlock_assert…locked: this thread does not hold the lock so");
  else
    GASNETI_SCI_DEMAND(!writes, "gasnett_rwlock_assertunlocked: this thread holds the lock");
}
#define gasnett_rwlock_assertlocked(p) gasneti_sci_rwlock_check((p), 1, 1, GASNETI_SCI_HERE)
#define gasnett_rwlock_assertrdlocked(p) gasneti_sci_rwlock_check((p), 1, 0, GASNETI_SCI_HERE)
#define gasnett_rwlock_assertwrlocked(p) gasneti_sci_rwlock_check((p), 0, 1, GASNETI_SCI_HERE)
#define gasnett_rwlock_assertunlocked(p) gasneti_sci_rwlock_check((p), 0, 0, GASNETI_SCI_HERE)
#else
#define gasnett_rwlock_assertlocked(p) ((void)0)
#define gasnett_rwlock_assertrdlocked(p) ((void)0)
#define gasnett_rwlock_assertwrlocked(p) ((void)0)
#define gasnett_rwlock_assertunlocked(p) ((void)0)
#endif

#endif
