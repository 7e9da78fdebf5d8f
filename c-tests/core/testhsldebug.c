/* Misuse of locks and sections that a debug build reports: list D, items 63 and 64 (contract: core.md §5, §11.3).
 *
 *   testhsldebug NAME     testhsldebug -l   lists the misuses     testhsldebug slow SECONDS
 *
 * Compile with -DGASNET_DEBUG. The last node misbehaves while the others wait in a barrier. Expected: a line
 * beginning with "*** FATAL ERROR:" that names the node and a place in testhsldebug.c, and death by SIGABRT (134) of
 * the whole job. If the library does not notice the misuse, the job ends with 3 and prints MISSED. `slow` holds a lock
 * for SECONDS: at most a warning, status 0. */
#include "../test.h"

#ifndef GASNET_SEQ
#include <pthread.h>
#endif

enum { H_LOCKED_RETURN = 200, H_LOCKED_REPLY, H_REQUEST, H_POLL, H_BARRIER, H_BLOCKUNTIL, H_TRY, H_NOTHING, H_ASK, H_TRYLOCKED_RETURN };

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER, second = GASNET_HSL_INITIALIZER;
static gasnet_hsl_t fresh; /* never initialised properly: filled with rubbish in main */
static gasnet_node_t me;

/* Lets a handler run here. */
static void run_handler(gasnet_handler_t handler) {
  int i;
  GASNET_SAFE(gasnet_AMRequestShort0(me, handler));
  for (i = 0; i < 100000; i++) GASNET_SAFE(gasnet_AMPoll());
}

static void nothing(gasnet_token_t token) { (void)token; }
static gasnet_handler_t answer; /* what runs as the reply's handler */
static void ask(gasnet_token_t token) { (void)gasnet_AMReplyShort0(token, answer); }
static void trylocked_return(gasnet_token_t token) { (void)token, (void)gasnet_hsl_trylock(&lock); }
static void locked_return(gasnet_token_t token) { (void)token, gasnet_hsl_lock(&lock); }
static void locked_reply(gasnet_token_t token) {
  gasnet_hsl_lock(&lock);
  gasnet_AMReplyShort0(token, H_NOTHING);
  gasnet_hsl_unlock(&lock);
}
static void request(gasnet_token_t token) { (void)token, (void)gasnet_AMRequestShort0(me, H_NOTHING); }
static void polls(gasnet_token_t token) { (void)token, (void)gasnet_AMPoll(); }
static void barrier(gasnet_token_t token) { (void)token, gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS); }
static int evaluations;
static void blockuntil(gasnet_token_t token) {
  (void)token;
  evaluations = 0;
  GASNET_BLOCKUNTIL(evaluations++ > 2);
}
static void barrier_try(gasnet_token_t token) {
  (void)token, (void)gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* ---- item 63 ----------------------------------------------------------------------------------------------------- */

static void nested_hold(void) { gasnet_hold_interrupts(), gasnet_hold_interrupts(); }
static void lone_resume(void) { gasnet_resume_interrupts(); }
static void double_init(void) { gasnet_hsl_init(&lock); }
static void double_init_dynamic(void) {
  gasnet_hsl_init(&fresh);
  gasnet_hsl_init(&fresh);
}
/* The library cannot know that the lock is no dead one whose place it has, so it only says so. */
static void double_init_automatic(void) {
  gasnet_hsl_t own = GASNET_HSL_INITIALIZER;
  gasnet_hsl_lock(&own);
  gasnet_hsl_unlock(&own);
  gasnet_hsl_init(&own);
  gasnet_hsl_destroy(&own);
}
/* Locks that ended with their function, or with what their memory held, and were not destroyed: others lie there next. They work. The
 * library says nothing, because the use of each comes after its init in the source. */
static void use_and_forget(gasnet_hsl_t *hsl) {
  gasnet_hsl_t own;
  gasnet_hsl_init(&own);
  gasnet_hsl_lock(&own);
  gasnet_hsl_unlock(&own);
  gasnet_hsl_init(hsl);
  if (gasnet_hsl_trylock(hsl) != GASNET_OK) _exit(4);
  gasnet_hsl_unlock(hsl);
}
static void forgotten(void) {
  void (*volatile call)(gasnet_hsl_t *) = use_and_forget; /* not inlined: each call has the same stack */
  gasnet_hsl_t *heap = malloc(sizeof *heap);
  int i;
  for (i = 0; i < 3; i++) call(heap);
  free(heap);
}
static void unlock_free(void) { gasnet_hsl_unlock(&lock); }
static void wrong_order(void) {
  gasnet_hsl_lock(&lock);
  gasnet_hsl_lock(&second);
  gasnet_hsl_unlock(&lock);
}
static void recursive_lock(void) { gasnet_hsl_lock(&lock), gasnet_hsl_lock(&lock); }
static void recursive_trylock(void) { gasnet_hsl_lock(&lock), (void)gasnet_hsl_trylock(&lock); }
static void destroy_locked(void) { gasnet_hsl_lock(&lock), gasnet_hsl_destroy(&lock); }
static void destroy_fresh(void) { gasnet_hsl_destroy(&fresh); }
static void destroy_twice(void) { gasnet_hsl_destroy(&lock), gasnet_hsl_destroy(&lock); }
static void lock_fresh(void) { gasnet_hsl_lock(&fresh); }
static void trylock_fresh(void) { (void)gasnet_hsl_trylock(&fresh); }
static void unlock_fresh(void) { gasnet_hsl_unlock(&fresh); }
static void lock_destroyed(void) { gasnet_hsl_destroy(&lock), gasnet_hsl_lock(&lock); }
static void trylock_destroyed(void) { gasnet_hsl_destroy(&lock), (void)gasnet_hsl_trylock(&lock); }
static void unlock_destroyed(void) { gasnet_hsl_destroy(&lock), gasnet_hsl_unlock(&lock); }
/* A copy of a lock that was initialised by a call is none. */
static void lock_copy(void) {
  gasnet_hsl_t copy;
  gasnet_hsl_init(&fresh);
  memcpy(&copy, &fresh, sizeof copy);
  gasnet_hsl_lock(&copy);
}

#ifndef GASNET_SEQ
static void *unlock_there(void *argument) {
  gasnet_hsl_unlock(argument);
  return NULL;
}
static void unlock_not_owner(void) {
  pthread_t thread;
  gasnet_hsl_lock(&lock);
  if (pthread_create(&thread, NULL, unlock_there, &lock) == 0) pthread_join(thread, NULL);
}
#endif

/* ---- item 64 ----------------------------------------------------------------------------------------------------- */

static void hold_lock(void) { gasnet_hsl_lock(&lock); }
static void hold_trylock(void) { (void)gasnet_hsl_trylock(&lock); }
static void hold_section(void) { gasnet_hold_interrupts(); }

static void call_poll(void) { (void)gasnet_AMPoll(); }
static void call_blockuntil(void) {
  evaluations = 0;
  GASNET_BLOCKUNTIL(evaluations++ > 2);
}
static void call_blockuntil_true(void) { GASNET_BLOCKUNTIL(evaluations == 0); } /* it has nothing to wait for */
static void call_request(void) { (void)gasnet_AMRequestShort0(me, H_NOTHING); }
static void call_async(void) { (void)gasnet_AMRequestLongAsync0(me, H_NOTHING, &me, 0, &me); }
static void call_varargs(void) { (void)gasnet_AMRequestShort(me, H_NOTHING, 1, 7); }
static int byte;
static void call_put(void) { gasnet_put(me, &byte, &byte, 0); }
static void call_get_val(void) { (void)gasnet_get_val(me, &byte, 1); }
static void call_sync(void) { gasnet_wait_syncnbi_all(); }
static void call_begin(void) { gasnet_begin_nbi_accessregion(); }
static void call_end(void) { gasnet_wait_syncnb(gasnet_end_nbi_accessregion()); }
static void call_result(void) { (void)gasnet_barrier_result(&byte); }
static void call_waitmode(void) { (void)gasnet_set_waitmode(GASNET_WAIT_SPIN); }
static void call_medium(void) { (void)gasnet_AMRequestMedium0(me, H_NOTHING, &me, 0); }
static void call_long(void) { (void)gasnet_AMRequestLong0(me, H_NOTHING, &me, 0, &me); }
static void call_notify(void) { gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS); }
static void call_barrier(void) { (void)gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS); }
static void call_wait(void) { (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS); }
static void call_try(void) { (void)gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS); }

static void handler_locked_return(void) { run_handler(H_LOCKED_RETURN); }
static void handler_locked_reply(void) { run_handler(H_LOCKED_REPLY); }
static void handler_request(void) { run_handler(H_REQUEST); }
static void handler_poll(void) { run_handler(H_POLL); }
static void handler_barrier(void) { run_handler(H_BARRIER); }
static void handler_blockuntil(void) { run_handler(H_BLOCKUNTIL); }
static void handler_try(void) { run_handler(H_TRY); }
static void handler_trylocked_return(void) { run_handler(H_TRYLOCKED_RETURN); }
static void run_reply(gasnet_handler_t handler) { answer = handler, run_handler(H_ASK); }
static void reply_locked_return(void) { run_reply(H_LOCKED_RETURN); }
static void reply_request(void) { run_reply(H_REQUEST); }
static void reply_poll(void) { run_reply(H_POLL); }
static void reply_barrier(void) { run_reply(H_BARRIER); }
static void reply_blockuntil(void) { run_reply(H_BLOCKUNTIL); }
static void reply_reply(void) { run_reply(H_ASK); }

/* First `prepare`, if there is one, then what must be noticed. `notified`: the barrier was entered before. */
static const struct {
  const char *name;
  void (*prepare)(void);
  void (*misuse)(void);
  int notified;
} misuses[] = {{"nested-hold", NULL, nested_hold, 0},
               {"lone-resume", NULL, lone_resume, 0},
               {"double-init", NULL, double_init, 0},
               {"double-init-dynamic", NULL, double_init_dynamic, 0},
               {"double-init-automatic", NULL, double_init_automatic, 0},
               {"forgotten", NULL, forgotten, 0},
               {"unlock-free", NULL, unlock_free, 0},
               {"wrong-order", NULL, wrong_order, 0},
               {"recursive-lock", NULL, recursive_lock, 0},
               {"recursive-trylock", NULL, recursive_trylock, 0},
               {"destroy-locked", NULL, destroy_locked, 0},
               {"destroy-uninitialised", NULL, destroy_fresh, 0},
               {"destroy-twice", NULL, destroy_twice, 0},
               {"lock-uninitialised", NULL, lock_fresh, 0},
               {"trylock-uninitialised", NULL, trylock_fresh, 0},
               {"unlock-uninitialised", NULL, unlock_fresh, 0},
               {"lock-destroyed", NULL, lock_destroyed, 0},
               {"trylock-destroyed", NULL, trylock_destroyed, 0},
               {"unlock-destroyed", NULL, unlock_destroyed, 0},
#ifndef GASNET_SEQ
               {"unlock-not-owner", NULL, unlock_not_owner, 0},
#endif
               {"lock-poll", hold_lock, call_poll, 0},
               {"trylock-poll", hold_trylock, call_poll, 0},
               {"lock-blockuntil", hold_lock, call_blockuntil, 0},
               {"lock-blockuntil-true", hold_lock, call_blockuntil_true, 0},
               {"lock-request", hold_lock, call_request, 0},
               {"lock-medium", hold_lock, call_medium, 0},
               {"lock-long", hold_lock, call_long, 0},
               {"lock-notify", hold_lock, call_notify, 0},
               {"lock-barrier", hold_lock, call_barrier, 0},
               {"lock-wait", hold_lock, call_wait, 1},
               {"lock-try", hold_lock, call_try, 1},
               {"section-poll", hold_section, call_poll, 0},
               {"section-blockuntil", hold_section, call_blockuntil, 0},
               {"section-blockuntil-true", hold_section, call_blockuntil_true, 0},
               {"section-request", hold_section, call_request, 0},
               {"section-notify", hold_section, call_notify, 0},
               {"section-barrier", hold_section, call_barrier, 0},
               {"section-wait", hold_section, call_wait, 1},
               {"section-try", hold_section, call_try, 1},
               {"handler-locked-return", NULL, handler_locked_return, 0},
               {"handler-locked-reply", NULL, handler_locked_reply, 0},
               {"handler-request", NULL, handler_request, 0},
               {"handler-poll", NULL, handler_poll, 0},
               {"handler-barrier", NULL, handler_barrier, 0},
               {"handler-blockuntil", NULL, handler_blockuntil, 0},
               {"handler-try", NULL, handler_try, 1},
               {"handler-trylocked-return", NULL, handler_trylocked_return, 0},
               {"reply-locked-return", NULL, reply_locked_return, 0},
               {"reply-request", NULL, reply_request, 0},
               {"reply-poll", NULL, reply_poll, 0},
               {"reply-barrier", NULL, reply_barrier, 0},
               {"reply-blockuntil", NULL, reply_blockuntil, 0},
               {"reply-reply", NULL, reply_reply, 0},
               {"lock-copy", NULL, lock_copy, 0},
               {"lock-async", hold_lock, call_async, 0},
               {"lock-varargs", hold_lock, call_varargs, 0},
               {"lock-put", hold_lock, call_put, 0},
               {"lock-get-val", hold_lock, call_get_val, 0},
               {"lock-sync", hold_lock, call_sync, 0},
               {"lock-begin", hold_lock, call_begin, 0},
               {"lock-end", hold_lock, call_end, 0},
               {"lock-result", hold_lock, call_result, 0},
               {"lock-waitmode", hold_lock, call_waitmode, 0},
               {"section-medium", hold_section, call_medium, 0},
               {"section-long", hold_section, call_long, 0},
               {"section-put", hold_section, call_put, 0},
               {"section-get-val", hold_section, call_get_val, 0},
               {"section-sync", hold_section, call_sync, 0},
               {"section-end", hold_section, call_end, 0},
               {"section-result", hold_section, call_result, 0},
               {"section-waitmode", hold_section, call_waitmode, 0}};

static void slow(int seconds) {
  struct timespec t = {0, 0};
  t.tv_sec = seconds;
  if (me == gasnet_nodes() - 1) {
    gasnet_hsl_lock(&lock);
    nanosleep(&t, NULL);
    gasnet_hsl_unlock(&lock);
    gasnet_hold_interrupts();
    nanosleep(&t, NULL);
    gasnet_resume_interrupts();
  }
  test_end();
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_LOCKED_RETURN, locked_return}, {H_LOCKED_REPLY, locked_reply},
                                   {H_REQUEST, request}, {H_POLL, polls}, {H_BARRIER, barrier},
                                   {H_BLOCKUNTIL, blockuntil}, {H_TRY, barrier_try}, {H_NOTHING, nothing},
                                   {H_ASK, ask}, {H_TRYLOCKED_RETURN, trylocked_return}};
  size_t i, count = sizeof misuses / sizeof *misuses;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) puts(misuses[i].name);
    return 0;
  }
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(60);
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), GASNET_PAGESIZE, 0));
  me = gasnet_mynode();
  test_begin("testhsldebug");
  memset(&fresh, 0xA5, sizeof fresh);
  if (argc == 3 && strcmp(argv[1], "slow") == 0) slow(atoi(argv[2]));
  for (i = 0; argc > 1 && i < count && strcmp(argv[1], misuses[i].name); i++) continue;
  if (argc != 2 || i == count) {
    if (me == 0) fprintf(stderr, "testhsldebug: which misuse? -l lists them\n");
    gasnet_exit(2);
  }
  if (me != gasnet_nodes() - 1)
    for (;;) test_barrier();
  if (misuses[i].notified) gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (misuses[i].prepare) misuses[i].prepare();
  printf("testhsldebug: %s next\n", misuses[i].name);
  fflush(stdout);
  misuses[i].misuse();
  printf("testhsldebug: MISSED %s\n", misuses[i].name);
  fflush(stdout);
  _exit(3);
}
