/* Locks, by active messages. The threads that want a lock form a queue that is spread over them: the lock's home
 * knows only the last thread, and each thread in the queue knows the next one.
 *
 *   take   The thread asks home. Home notes it as the last, and answers with the thread that was last before. If there was
 *          none, the thread has the lock. Else it tells that thread that it follows, and waits until that thread grants.
 *   give   The thread grants the lock to the next one. If it knows none, it asks home, which answers that the lock is free
 *          now, or that another thread has asked and will follow.
 *
 * A handler may not send requests, only a reply. Hence the thread that gives the lock grants it, never home. */
#include "internal.h"

enum { LOCKS = 256, NOBODY = -1 };

struct upcish_lock {
  int used;
  gasnet_node_t home;
  /* At home: the last in the queue. Other threads of this process might run handlers at the same time. */
  gasnet_hsl_t last_hsl;
  int last;
  /* At each thread that wants it. Set by handlers. */
  volatile int answered, answer, next, granted;
};

static upcish_lock locks[LOCKS];

void upcish_locks_init(void) {
  for (int i = 0; i < LOCKS; i++) {
    gasnet_hsl_init(&locks[i].last_hsl);
    locks[i].home = (gasnet_node_t)(i % upcish_threads());
    locks[i].last = NOBODY;
  }
}

static int id_of(const upcish_lock *lock) { return (int)(lock - locks); }

upcish_lock *upcish_all_lock_alloc(void) {
  int i = 0;
  while (i < LOCKS && locks[i].used) i++;
  if (i == LOCKS) upcish_fatal("more than %d locks", LOCKS);
  locks[i].used = 1;
  upcish_barrier();
  return &locks[i];
}

void upcish_all_lock_free(upcish_lock *lock) {
  upcish_barrier();
  lock->used = 0;
}

/* ---- handlers ---- */

void upcish_lock_ask(gasnet_token_t token, gasnet_handlerarg_t id, gasnet_handlerarg_t attempt) {
  upcish_lock *lock = &locks[id];
  gasnet_node_t asker;
  int before;
  UPCISH_OK(gasnet_AMGetMsgSource(token, &asker));
  gasnet_hsl_lock(&lock->last_hsl);
  before = lock->last;
  if (before == NOBODY || !attempt) lock->last = (int)asker;
  gasnet_hsl_unlock(&lock->last_hsl);
  UPCISH_OK(gasnet_AMReplyShort2(token, H_LOCK_TOLD, id, before));
}

void upcish_unlock_ask(gasnet_token_t token, gasnet_handlerarg_t id) {
  upcish_lock *lock = &locks[id];
  gasnet_node_t asker;
  int is_free;
  UPCISH_OK(gasnet_AMGetMsgSource(token, &asker));
  gasnet_hsl_lock(&lock->last_hsl);
  is_free = lock->last == (int)asker;
  if (is_free) lock->last = NOBODY;
  gasnet_hsl_unlock(&lock->last_hsl);
  UPCISH_OK(gasnet_AMReplyShort2(token, H_LOCK_TOLD, id, is_free));
}

void upcish_lock_told(gasnet_token_t token, gasnet_handlerarg_t id, gasnet_handlerarg_t answer) {
  (void)token;
  locks[id].answer = answer;
  locks[id].answered = 1;
}

void upcish_lock_follow(gasnet_token_t token, gasnet_handlerarg_t id) {
  gasnet_node_t follower;
  UPCISH_OK(gasnet_AMGetMsgSource(token, &follower));
  locks[id].next = (int)follower;
}

void upcish_lock_grant(gasnet_token_t token, gasnet_handlerarg_t id) {
  (void)token;
  locks[id].granted = 1;
}

/* ---- calls ---- */

/* Home's answer. */
static int ask(upcish_lock *lock, int attempt) {
  lock->answered = lock->granted = 0;
  lock->next = NOBODY; /* nobody follows before home knows of us */
  UPCISH_OK(gasnet_AMRequestShort2(lock->home, H_LOCK_ASK, id_of(lock), attempt));
  GASNET_BLOCKUNTIL(lock->answered);
  return lock->answer;
}

void upcish_lock_take(upcish_lock *lock) {
  int before = ask(lock, 0);
  if (before == NOBODY) return;
  UPCISH_OK(gasnet_AMRequestShort1((gasnet_node_t)before, H_LOCK_FOLLOW, id_of(lock)));
  GASNET_BLOCKUNTIL(lock->granted);
}

int upcish_lock_attempt(upcish_lock *lock) { return ask(lock, 1) == NOBODY; }

void upcish_lock_give(upcish_lock *lock) {
  upcish_fence();
  if (lock->next == NOBODY) {
    lock->answered = 0;
    UPCISH_OK(gasnet_AMRequestShort1(lock->home, H_UNLOCK_ASK, id_of(lock)));
    GASNET_BLOCKUNTIL(lock->answered);
    if (lock->answer) return;
    GASNET_BLOCKUNTIL(lock->next != NOBODY);
  }
  UPCISH_OK(gasnet_AMRequestShort1((gasnet_node_t)lock->next, H_LOCK_GRANT, id_of(lock)));
}
