/* Handler-safe locks and no-interrupt sections: list D, items 53 to 62 (contract: core.md §11; testhsldebug.c has
 * the misuse).
 *
 *   testhsl [ROUNDS]
 *
 * In PAR several threads call GASNet at the same time, in PARSYNC one at a time (enter, leave); SEQ has one thread.
 * In PARSYNC a lock that another thread or a handler waits for is taken and released between one enter and leave:
 * otherwise its holder could not enter to unlock it. */
#include "../test.h"

#if defined(GASNET_SEQ)
#define THREADS 1
#else
#define THREADS 4
#include <pthread.h>
#include <sched.h>
#endif

enum { H_ADD = 200, H_ADD_REPLY, H_NESTED, H_SECTION, H_DONE, H_SLOW };

static gasnet_node_t me, nodes;
static int rounds = 2000;

/* ---- threads ----------------------------------------------------------------------------------------------------- */

#ifdef GASNET_PARSYNC
static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;
static void enter(void) { pthread_mutex_lock(&serial); }
static void leave(void) { pthread_mutex_unlock(&serial); }
#else
static void enter(void) {}
static void leave(void) {}
#endif
#define SERIAL(call) (enter(), (call), leave())

/* Runs `body(0..THREADS-1)` on as many threads, thread 0 being this one. */
static void in_threads(void *(*body)(void *)) {
#if THREADS > 1
  pthread_t thread[THREADS];
  int id[THREADS], i;
  for (i = 1; i < THREADS; i++) {
    id[i] = i;
    if (pthread_create(&thread[i], NULL, body, &id[i])) exit(99);
  }
  id[0] = 0;
  body(&id[0]);
  for (i = 1; i < THREADS; i++) pthread_join(thread[i], NULL);
#else
  int id = 0;
  body(&id);
#endif
}

/* ---- item 53, 62: where a lock may live; destroy and init again -------------------------------------------------- */

static gasnet_hsl_t global_lock = GASNET_HSL_INITIALIZER;
static gasnet_hsl_t lock_array[3] = {GASNET_HSL_INITIALIZER, GASNET_HSL_INITIALIZER, GASNET_HSL_INITIALIZER};
static struct {
  int before;
  gasnet_hsl_t lock;
  int after;
} member = {17, GASNET_HSL_INITIALIZER, 18};

static void use(gasnet_hsl_t *hsl, const char *what) {
  int i;
  for (i = 0; i < 3; i++) {
    gasnet_hsl_lock(hsl);
    gasnet_hsl_unlock(hsl);
    CHECK(gasnet_hsl_trylock(hsl) == GASNET_OK, "%s: trylock of a free lock", what);
    gasnet_hsl_unlock(hsl);
  }
}

static void use_and_renew(gasnet_hsl_t *hsl, const char *what) {
  int i;
  use(hsl, what);
  for (i = 0; i < 3; i++) {
    gasnet_hsl_destroy(hsl);
    gasnet_hsl_init(hsl);
    use(hsl, what);
  }
}

/* A lock that ends with its function or its block needs no destroy, and another one may lie there next. */
static void use_and_forget(gasnet_hsl_t *hsl) {
  gasnet_hsl_t automatic;
  gasnet_hsl_init(&automatic);
  use(&automatic, "forgotten automatic");
  gasnet_hsl_init(hsl);
  use(hsl, "forgotten on the heap");
}
static void *forget(void *unused) {
  void (*volatile call)(gasnet_hsl_t *) = use_and_forget; /* not inlined: each call has the same stack */
  gasnet_hsl_t *heap = malloc(sizeof *heap);
  int i;
  for (i = 0; i < 3; i++) call(heap);
  free(heap);
  return unused;
}
static void check_forgotten(void) {
#if THREADS > 1 /* so it is if the stack of a thread lies in static data */
  static char stack[2 << 20] __attribute__((aligned(4096)));
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setstack(&attributes, stack, sizeof stack), "a stack in static data");
  if (pthread_create(&thread, &attributes, forget, NULL)) exit(99);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
#endif
  forget(NULL);
}

static void check_kinds(void) {
  gasnet_hsl_t automatic = GASNET_HSL_INITIALIZER, dynamic;
  gasnet_hsl_t *heap = malloc(5 * sizeof *heap);
  int i;
  use_and_renew(&global_lock, "global");
  use_and_renew(&automatic, "automatic");
  use_and_renew(&member.lock, "member");
  CHECK(member.before == 17 && member.after == 18, "the lock is larger than its type");
  memset(&dynamic, 0xA5, sizeof dynamic); /* init must not rely on what was there */
  memset(heap, 0xA5, 5 * sizeof *heap);
  gasnet_hsl_init(&dynamic);
  use_and_renew(&dynamic, "dynamic");
  for (i = 0; i < 5;) gasnet_hsl_init(&heap[i++]);
  CHECK(i == 5, "gasnet_hsl_init evaluates its argument %d times in 5 calls", i);
  for (i = 0; i < 5; i++) use_and_renew(&heap[i], "heap");
  for (i = 0; i < 5;) gasnet_hsl_lock(&heap[i++]);
  CHECK(i == 5, "gasnet_hsl_lock evaluates its argument %d times in 5 calls", i);
  for (i = 5; i > 0;) gasnet_hsl_unlock(&heap[--i]);
  CHECK(i == 0, "gasnet_hsl_unlock evaluates its argument more than once: %d", i);
  for (i = 0; i < 5;) CHECK(gasnet_hsl_trylock(&heap[i++]) == GASNET_OK, "trylock");
  CHECK(i == 5, "gasnet_hsl_trylock evaluates its argument %d times in 5 calls", i);
  for (i = 5; i > 0;) gasnet_hsl_unlock(&heap[--i]);
  for (i = 0; i < 5;) gasnet_hsl_destroy(&heap[i++]);
  CHECK(i == 5, "gasnet_hsl_destroy evaluates its argument %d times in 5 calls", i);
  for (i = 0; i < 3; i++) use_and_renew(&lock_array[i], "array");
  gasnet_hsl_destroy(&automatic); /* legal for a static initialiser, too */
  gasnet_hsl_destroy(&dynamic);
  free(heap);
}

/* ---- item 54: trylock says at once that another thread holds the lock -------------------------------------------- */

#if THREADS > 1
static gasnet_hsl_t busy_lock = GASNET_HSL_INITIALIZER;
static pthread_barrier_t step;

/* Thread 0 holds the lock until all others have their answer: a trylock that waited would never return. */
static void *try_busy(void *argument) {
  int id = *(int *)argument, i, rc = -1;
  if (id == 0) SERIAL(gasnet_hsl_lock(&busy_lock));
  pthread_barrier_wait(&step);
  for (i = 0; id && i < 100; i++) {
    SERIAL(rc = gasnet_hsl_trylock(&busy_lock));
    CHECK(rc == GASNET_ERR_NOT_READY, "trylock of a lock that another thread holds: %s", gasnet_ErrorName(rc));
  }
  pthread_barrier_wait(&step);
  if (id == 0) SERIAL(gasnet_hsl_unlock(&busy_lock));
  pthread_barrier_wait(&step);
  if (id == 1) {
    SERIAL(rc = gasnet_hsl_trylock(&busy_lock));
    if (CHECK(rc == GASNET_OK, "trylock of a lock that has become free: %s", gasnet_ErrorName(rc)))
      SERIAL(gasnet_hsl_unlock(&busy_lock));
  }
  return NULL;
}
#endif

/* ---- items 55 to 57: counters under locks, in threads and in handlers, with replies, under flood ----------------- */

typedef struct {
  gasnet_hsl_t lock;
  long value; /* plain on purpose: only the lock makes it right */
  long twin;  /* equal to `value` whenever the lock is free */
} counter_t;

static counter_t total = {GASNET_HSL_INITIALIZER, 0, 0}, inner = {GASNET_HSL_INITIALIZER, 0, 0};
static gasnet_hsl_t replies_lock = GASNET_HSL_INITIALIZER;
static volatile long replies, dones;

static void increment(counter_t *c) {
  long seen = c->value;
  CHECK(c->twin == seen, "inside the lock: %ld and %ld", seen, c->twin);
  c->value = seen + 1;
  c->twin = seen + 1;
}

static void add_reply(gasnet_token_t token) {
  (void)token;
  gasnet_hsl_lock(&replies_lock);
  replies++;
  gasnet_hsl_unlock(&replies_lock);
}

/* Lock, unlock, reply. */
static void add(gasnet_token_t token) {
  gasnet_hsl_lock(&total.lock);
  increment(&total);
  gasnet_hsl_unlock(&total.lock);
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_ADD_REPLY));
}

/* Two locks in the order that the client code takes them, too. */
static void nested(gasnet_token_t token, void *buf, size_t n) {
  int rc;
  (void)buf, (void)n;
  gasnet_hsl_lock(&total.lock);
  gasnet_hsl_lock(&inner.lock);
  increment(&total);
  increment(&inner);
  gasnet_hsl_unlock(&inner.lock);
  rc = gasnet_hsl_trylock(&inner.lock); /* nobody takes it without the outer one */
  if (CHECK(rc == GASNET_OK, "trylock of a free lock in a handler: %s", gasnet_ErrorName(rc)))
    gasnet_hsl_unlock(&inner.lock);
  gasnet_hsl_unlock(&total.lock);
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_ADD_REPLY));
}

/* Every thread floods every node, and counts under the same locks in between. */
static void *count_and_flood(void *argument) {
  int i;
  char x[64];
  (void)argument;
  memset(x, 1, sizeof x);
  for (i = 0; i < rounds; i++) {
    gasnet_node_t to = (gasnet_node_t)(i % (int)nodes);
    enter();
    gasnet_hsl_lock(&total.lock);
    increment(&total);
    if (i % 4 == 0) {
      gasnet_hsl_lock(&inner.lock);
      increment(&inner);
      gasnet_hsl_unlock(&inner.lock);
    }
    gasnet_hsl_unlock(&total.lock);
    leave();
    if (i % 2)
      SERIAL(gasnet_AMRequestShort0(to, H_ADD));
    else
      SERIAL(gasnet_AMRequestMedium0(to, H_NESTED, x, sizeof x));
  }
  return NULL;
}

static void done(gasnet_token_t token) {
  (void)token;
  dones++;
}

/* After this every request that was answered to its sender has run here, too. */
static void everybody_done(void) {
  gasnet_node_t i;
  static long expected;
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort0(i, H_DONE));
  expected += nodes;
  GASNET_BLOCKUNTIL(dones == expected);
  test_barrier();
}

static void check_counters(void) {
  long shorts = 0, mediums = 0, own_inner = 0, i;
  for (i = 0; i < rounds; i++) { /* what one thread of any node sends me */
    if (i % (int)nodes == (int)me) i % 2 ? shorts++ : mediums++;
    own_inner += i % 4 == 0;
  }
  test_barrier();
  in_threads(count_and_flood);
  GASNET_BLOCKUNTIL(replies == (long)rounds * THREADS);
  everybody_done();
  gasnet_hsl_lock(&total.lock);
  gasnet_hsl_lock(&inner.lock);
  CHECK(total.value == THREADS * (rounds + (long)nodes * (shorts + mediums)), "%ld, not %ld", total.value,
        THREADS * (rounds + (long)nodes * (shorts + mediums)));
  CHECK(inner.value == THREADS * (own_inner + (long)nodes * mediums), "%ld, not %ld", inner.value,
        THREADS * (own_inner + (long)nodes * mediums));
  gasnet_hsl_unlock(&inner.lock);
  gasnet_hsl_unlock(&total.lock);
  test_barrier();
}

/* ---- items 58 to 60: no-interrupt sections ----------------------------------------------------------------------- */

static void *guarded_malloc(void *argument) {
  int i;
  (void)argument;
  for (i = 1; i < 500; i++) {
    char *p;
    SERIAL(gasnet_hold_interrupts());
    p = malloc((size_t)i * 7);
    SERIAL(gasnet_resume_interrupts());
    if (CHECK(p != NULL, "malloc")) memset(p, i, (size_t)i * 7);
    SERIAL(gasnet_hold_interrupts());
    free(p);
    SERIAL(gasnet_resume_interrupts());
  }
  return NULL;
}

/* Hold and resume in a handler are ignored, balanced or not (`way` 0 to 3); all that is legal in a section works. */
static void section(gasnet_token_t token, gasnet_handlerarg_t way) {
  gasnet_node_t from = nodes;
  if (way != 1) gasnet_hold_interrupts();
  if (way == 2) gasnet_hold_interrupts();
  CHECK(gasnet_mynode() == me && gasnet_nodes() == nodes, "node %d of %d", (int)gasnet_mynode(), (int)gasnet_nodes());
  CHECK(gasnet_AMGetMsgSource(token, &from) == GASNET_OK && from < nodes, "source %d", (int)from);
  gasnet_hsl_lock(&total.lock);
  if (way == 3) gasnet_resume_interrupts();
  gasnet_hsl_unlock(&total.lock);
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_ADD_REPLY));
  if (way == 1) gasnet_resume_interrupts();
}

static void check_sections(void) {
  long expected = replies;
  gasnet_node_t i;
  int way, k;
  in_threads(guarded_malloc);
  gasnet_hold_interrupts();
  CHECK(gasnet_mynode() == me && gasnet_nodes() == nodes, "node %d of %d", (int)gasnet_mynode(), (int)gasnet_nodes());
  use(&global_lock, "in a section");
  gasnet_resume_interrupts();
  for (k = 0; k < 2; k++) { /* with a lock held both are ignored, in a section or outside */
    if (k) gasnet_hold_interrupts();
    gasnet_hsl_lock(&global_lock);
    gasnet_hold_interrupts();
    gasnet_hold_interrupts();
    gasnet_resume_interrupts();
    gasnet_hsl_lock(&member.lock);
    gasnet_resume_interrupts();
    gasnet_resume_interrupts();
    gasnet_resume_interrupts();
    gasnet_hsl_unlock(&member.lock);
    gasnet_hold_interrupts();
    gasnet_hsl_unlock(&global_lock);
    if (k) gasnet_resume_interrupts();
    GASNET_SAFE(gasnet_AMPoll()); /* and nothing of it is left */
    gasnet_hold_interrupts();
    gasnet_resume_interrupts();
  }
  for (i = 0; i < nodes; i++)
    for (way = 0; way < 4; way++) GASNET_SAFE(gasnet_AMRequestShort1(i, H_SECTION, way));
  expected += 4 * (long)nodes;
  GASNET_BLOCKUNTIL(replies == expected);
  GASNET_SAFE(gasnet_AMPoll());
  gasnet_hold_interrupts();
  gasnet_resume_interrupts();
  test_barrier();
}

/* ---- item 61: messages that want a lock arrive while client code holds it ---------------------------------------- */

static gasnet_hsl_t slow_lock = GASNET_HSL_INITIALIZER;
static volatile int holding;
static volatile long slow_total;

static void slow(gasnet_token_t token) {
  gasnet_hsl_lock(&slow_lock);
  CHECK(!holding, "a handler is inside the lock with client code");
  slow_total++;
  gasnet_hsl_unlock(&slow_lock);
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_ADD_REPLY));
}

static void hold_for_a_while(void) {
  struct timespec ms = {0, 2000000};
  gasnet_hsl_lock(&slow_lock);
  holding = 1;
  nanosleep(&ms, NULL);
  holding = 0;
  gasnet_hsl_unlock(&slow_lock);
}

/* The last thread holds the lock again and again while the first sends and runs the handlers. */
static void *hold_or_serve(void *argument) {
  int id = *(int *)argument, i;
  if (THREADS == 1 || id == THREADS - 1)
    for (i = 0; i < 20; i++) hold_for_a_while();
  if (id == 0)
    for (i = 0; i < 400; i++) GASNET_SAFE(gasnet_AMRequestShort0((gasnet_node_t)(i % (int)nodes), H_SLOW));
  return NULL;
}

static void check_held_while_messages_arrive(void) {
  long expected = replies + 400;
  test_barrier();
#ifndef GASNET_PARSYNC /* there the holder would have to unlock while another thread is inside GASNet */
  in_threads(hold_or_serve);
#else
  {
    int id = 0, i;
    for (i = 0; i < 20; i++) hold_for_a_while();
    hold_or_serve(&id);
  }
#endif
  GASNET_BLOCKUNTIL(replies == expected);
  everybody_done();
  CHECK(slow_total >= 400 / (int)nodes, "%ld messages", slow_total);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_ADD, add},         {H_ADD_REPLY, add_reply}, {H_NESTED, nested},
                                   {H_SECTION, section}, {H_DONE, done},           {H_SLOW, slow}};
  int i;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  if (argc > 1) rounds = atoi(argv[1]);
  for (i = 0; i < 100; i++) { /* item 58: before attach, as test harnesses do */
    gasnet_hold_interrupts();
    free(malloc((size_t)i));
    gasnet_resume_interrupts();
  }
  use(&global_lock, "before attach");
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), GASNET_PAGESIZE, 0));
  test_begin("testhsl");
  check_kinds();
  check_forgotten();
#if THREADS > 1
  pthread_barrier_init(&step, NULL, THREADS);
  in_threads(try_busy);
#endif
  check_counters();
  check_sections();
  check_held_while_messages_arrive();
  test_end();
  return 0;
}
