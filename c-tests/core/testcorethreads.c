/* Contract items 48–52: threads that send, wait and poll at once.
 *
 * usage: testcorethreads [iterations] [threads, default 4]
 *
 * PAR: everything at once. PARSYNC: the same traffic, the threads take turns. SEQ: one thread. */
#include "testcoream.h"

#include <pthread.h>
#include <sched.h>

enum { HIDX_WORK = 201, HIDX_WORK_MEDIUM, HIDX_WORK_LONG, HIDX_DONE, HIDX_DONE_BULK, HIDX_RELEASE };
enum { HIDX_ASK = 211, HIDX_ANSWER, HIDX_LANDED, HIDX_STORED, HIDX_TELL, HIDX_LOOK, HIDX_LOOK_LOCAL, HIDX_SEEN };

#define MAXTHREADS 64
#define WINDOW 4
#define MAXBYTES 256
#define MESSAGES 200 /* per thread and phase */
#define ROUNDS 10

static int threads, pollers;
static pthread_key_t where; /* what this thread runs: 0 client code, or one of: */
enum { CLIENT, REQUEST_HANDLER, REPLY_CALL, REPLY_HANDLER };

/* Loads and stores between threads that the client has to order itself. */
#if defined(__GNUC__)
#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#else
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#endif

static void pause_ms(int ms) {
  struct timespec t;
  t.tv_sec = 0;
  t.tv_nsec = ms * 1000000L;
  nanosleep(&t, NULL);
}

/* ---- 51: a thread never runs a handler inside a handler, but for replies during its reply call ---- */

static intptr_t enter(intptr_t handler) {
  intptr_t was = (intptr_t)pthread_getspecific(where);
  if (handler == REQUEST_HANDLER)
    CHECK(was == CLIENT, "a request handler inside %s", was == REPLY_HANDLER ? "a reply handler" : "a request handler");
  else
    CHECK(was == CLIENT || was == REPLY_CALL, "a reply handler inside a handler (%d)", (int)was);
  pthread_setspecific(where, (void *)handler);
  return was;
}
static void leave(intptr_t to) { pthread_setspecific(where, (void *)to); }

/* ---- 50, 51: traffic ---- */

static struct worker {
  pthread_t thread;
  int index, phase;
  int sent, done;              /* this phase */
  int flying[WINDOW];          /* message number + 1 in each place */
} worker[MAXTHREADS];
static unsigned char *seen; /* per (node, thread, message of any phase): how often it came */
static int per_thread;

/* In PARSYNC the client sees to it that one thread at a time is inside GASNet. */
#if defined(GASNET_PARSYNC)
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void begin_turn(void) { pthread_mutex_lock(&turn); }
static void end_turn(void) { pthread_mutex_unlock(&turn); }
#else
static void begin_turn(void) {}
static void end_turn(void) {}
#endif

static unsigned char *place(gasnet_node_t at, gasnet_node_t with, int back, int thread, int slot) {
  size_t n = ((nodes * (size_t)back + with) * (size_t)threads + (size_t)thread) * WINDOW + (size_t)slot;
  return core_area[at] + n * MAXBYTES;
}
static size_t bytes_of(unsigned seed) { return seed % 5 == 0 ? 0 : seed / 7 % (MAXBYTES + 1); }

/* Arguments: thread, number, seed. */
static void work_came(gasnet_token_t token, int category, void *buf, size_t nbytes, int thread, int number,
                      unsigned seed) {
  intptr_t was = enter(REQUEST_HANDLER);
  gasnet_node_t from = core_source(token);
  unsigned char payload[MAXBYTES];
  unsigned char *once = &seen[(from * (size_t)threads + (size_t)thread) * (size_t)per_thread + (size_t)number];
#if defined(__GNUC__)
  int again = __atomic_fetch_add(once, 1, __ATOMIC_RELAXED);
#else
  int again = (*once)++;
#endif
  CHECK(again == 0, "message %d of thread %d of node %u came %d times", number, thread, (unsigned)from, again + 1);
  CHECK(seed == core_seed(from, me, (unsigned)(thread * per_thread + number)), "seed of message %d", number);
  if (category != SHORT)
    CHECK(nbytes == bytes_of(seed) && core_differs(buf, nbytes, seed) == nbytes, "%s of %lu bytes, %lu sent",
          core_catname[category], (unsigned long)nbytes, (unsigned long)bytes_of(seed));
  core_fill(payload, nbytes, seed + 1);
  leave(REPLY_CALL);
  if (category == SHORT)
    GASNET_SAFE(gasnet_AMReplyShort3(token, HIDX_DONE, thread, number, (gasnet_handlerarg_t)seed));
  else if (category == MEDIUM)
    GASNET_SAFE(
        gasnet_AMReplyMedium3(token, HIDX_DONE_BULK, payload, nbytes, thread, number, (gasnet_handlerarg_t)seed));
  else
    GASNET_SAFE(gasnet_AMReplyLong3(token, HIDX_DONE_BULK, payload, nbytes, place(from, me, 1, thread, number % WINDOW),
                                    thread, number, (gasnet_handlerarg_t)seed));
  leave(REQUEST_HANDLER);
  leave(was);
}
static void work_h(gasnet_token_t token, gasnet_handlerarg_t thread, gasnet_handlerarg_t number,
                   gasnet_handlerarg_t seed) {
  work_came(token, SHORT, NULL, 0, thread, number, (unsigned)seed);
}
static void work_medium_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t thread,
                          gasnet_handlerarg_t number, gasnet_handlerarg_t seed) {
  work_came(token, MEDIUM, buf, nbytes, thread, number, (unsigned)seed);
}
static void work_long_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t thread,
                        gasnet_handlerarg_t number, gasnet_handlerarg_t seed) {
  work_came(token, LONG, buf, nbytes, thread, number, (unsigned)seed);
}

static void work_done(gasnet_token_t token, const void *buf, size_t nbytes, int thread, int number, unsigned seed) {
  intptr_t was = enter(REPLY_HANDLER);
  gasnet_node_t from = core_source(token);
  struct worker *w = &worker[thread];
  int flying = LOAD(&w->flying[number % WINDOW]);
  CHECK(flying == number + 1, "thread %d awaits message %d, the reply is of %d", thread, flying - 1, number);
  CHECK(seed == core_seed(me, from, (unsigned)(thread * per_thread + number)), "seed of reply %d", number);
  if (buf)
    CHECK(nbytes == bytes_of(seed) && core_differs(buf, nbytes, seed + 1) == nbytes, "reply of %lu bytes, %lu sent",
          (unsigned long)nbytes, (unsigned long)bytes_of(seed));
  STORE(&w->flying[number % WINDOW], 0);
  TEST_COUNT(&w->done);
  leave(was);
}
static void done_h(gasnet_token_t token, gasnet_handlerarg_t thread, gasnet_handlerarg_t number,
                   gasnet_handlerarg_t seed) {
  work_done(token, NULL, 0, thread, number, (unsigned)seed);
}
static void done_bulk_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t thread,
                        gasnet_handlerarg_t number, gasnet_handlerarg_t seed) {
  work_done(token, buf, nbytes, thread, number, (unsigned)seed);
}

/* Phase 0: all threads to the same peer. 1: each thread to another one. 2: anywhere. */
static gasnet_node_t peer_of(const struct worker *w, int n) {
  unsigned random = core_seed((unsigned)w->index, me, (unsigned)n);
  if (w->phase == 0) return (me + 1) % nodes;
  return (me + (w->phase == 1 ? (unsigned)w->index : random)) % nodes;
}

static void send_work(struct worker *w, int n) {
  const int number = w->phase * MESSAGES + n, slot = number % WINDOW;
  const gasnet_node_t to = peer_of(w, n);
  const unsigned seed = core_seed(me, to, (unsigned)(w->index * per_thread + number));
  unsigned char payload[MAXBYTES];
  struct core_am am;
  gasnet_handlerarg_t a[CORE_MAXARGS] = {0};
  am.category = n % 3;
  am.spelling = 0;
  am.handler = (gasnet_handler_t)(HIDX_WORK + n % 3);
  am.src = payload;
  am.nbytes = bytes_of(seed);
  am.dst = place(to, me, 0, w->index, slot);
  am.numargs = 3;
  a[0] = w->index, a[1] = number, a[2] = (gasnet_handlerarg_t)seed;
  core_fill(payload, am.nbytes, seed);
  GASNET_BLOCKUNTIL(LOAD(&w->flying[slot]) == 0);
  STORE(&w->flying[slot], number + 1);
  w->sent++;
  core_request(to, &am, a);
  memset(payload, 0xEE, sizeof payload);
}

static void *work(void *arg) {
  struct worker *w = (struct worker *)arg;
  int n;
  for (n = 0; n < MESSAGES; n++) {
    begin_turn();
    send_work(w, n);
    end_turn();
  }
  begin_turn();
  GASNET_BLOCKUNTIL(LOAD(&w->done) >= w->sent);
  end_turn();
  return NULL;
}

static int polling;
/* Yields now and then. With more pollers than cores, a thread that never yields keeps the others off for whole time
 * slices. */
static void *TEST_UNUSED poll_on(void *arg) {
  int n;
  for (n = 1; LOAD(&polling); n++) {
    GASNET_SAFE(gasnet_AMPoll());
    if (n % 50 == 0) sched_yield();
  }
  return arg;
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg) {
  if (pthread_create(thread, NULL, run, arg)) {
    fprintf(stderr, "%s: no thread\n", test_name);
    gasnet_exit(95);
  }
}

static void item50_threads_send(void) {
  pthread_t poller[2];
  int t, phase;
  STORE(&polling, 1);
  for (t = 0; t < pollers; t++) start(&poller[t], poll_on, NULL);
  for (phase = 0; phase < 3; phase++) {
    for (t = 0; t < threads; t++) {
      memset(&worker[t], 0, sizeof worker[t]);
      worker[t].index = t;
      worker[t].phase = phase;
    }
    test_barrier();
#if defined(GASNET_SEQ)
    work(&worker[0]);
#else
    for (t = 0; t < threads; t++) start(&worker[t].thread, work, &worker[t]);
    for (t = 0; t < threads; t++) pthread_join(worker[t].thread, NULL);
#endif
    test_barrier();
    for (t = 0; t < threads; t++)
      CHECK(worker[t].done == MESSAGES, "thread %d: %d replies of %d", t, worker[t].done, MESSAGES);
  }
  STORE(&polling, 0);
  for (t = 0; t < pollers; t++) pthread_join(poller[t], NULL);
}

/* ---- 48, 49: threads in BLOCKUNTIL ---- */

static int released[MAXTHREADS + 1], answered; /* plain, as a handler's flags are */

static void release_h(gasnet_token_t token, gasnet_handlerarg_t thread, gasnet_handlerarg_t round) {
  intptr_t was = enter(REQUEST_HANDLER);
  core_source(token);
  released[thread] = round;
  leave(was);
}
static void ask_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  intptr_t was = enter(REQUEST_HANDLER);
  leave(REPLY_CALL);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ANSWER, n));
  leave(was);
}
static void answer_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  intptr_t was = enter(REPLY_HANDLER);
  core_source(token);
  CHECK(n == answered / (int)nodes, "answer %d", (int)n);
  TEST_COUNT(&answered);
  leave(was);
}

static int waiting, round_now;
static void *TEST_UNUSED wait_for_release(void *arg) {
  const int t = ((struct worker *)arg)->index, round = round_now;
  TEST_COUNT(&waiting);
  GASNET_BLOCKUNTIL(released[t] == round);
  return NULL;
}

/* All threads of all nodes wait, the main threads too; one node asks all, then releases thread by thread. */
static void TEST_UNUSED item49_all_threads_wait(int round) {
  const gasnet_node_t asker = (gasnet_node_t)round % nodes;
  gasnet_node_t i;
  int t, n;
  waiting = 0, answered = 0, round_now = round;
  test_barrier();
  for (t = 0; t < threads; t++) start(&worker[t].thread, wait_for_release, &worker[t]);
  while (LOAD(&waiting) < threads) pause_ms(1);
  test_barrier();
  if (me == asker) {
    for (n = 0; n < 20; n++) {
      for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort1(i, HIDX_ASK, n));
      GASNET_BLOCKUNTIL(LOAD(&answered) >= (n + 1) * (int)nodes);
    }
    for (t = threads; t >= 0; t--)
      for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort2(i, HIDX_RELEASE, t, round));
  }
  GASNET_BLOCKUNTIL(released[threads] == round);
  for (t = 0; t < threads; t++) {
    GASNET_BLOCKUNTIL(released[t] == round);
    pthread_join(worker[t].thread, NULL);
    CHECK(released[t] == round, "thread %d left at %d in round %d", t, released[t], round);
  }
  test_barrier();
}

/* Released by a handler that the main thread runs, then by a plain store of the main thread outside GASNet. */
static void TEST_UNUSED item48_released_by_another(int round) {
  pthread_t thread;
  struct worker w;
  w.index = 0;
  waiting = 0, round_now = round;
  start(&thread, wait_for_release, &w);
  while (LOAD(&waiting) < 1) pause_ms(1);
  if (round % 2)
    GASNET_SAFE(gasnet_AMRequestShort2(me, HIDX_RELEASE, 0, round));
  else
    *(volatile int *)&released[0] = round;
  while (*(volatile int *)&released[0] != round) GASNET_SAFE(gasnet_AMPoll());
  pthread_join(thread, NULL); /* from here on nobody but the waiting thread itself enters GASNet */
  CHECK(released[0] == round, "%d in round %d", released[0], round);
}

/* ---- 52: what was stored before a request is seen by its handler ---- */

static unsigned plain[64]; /* written by main code, read by handlers of the same node, on whatever thread */
static int landed, told, looked;

static void seen_h(gasnet_token_t token) {
  intptr_t was = enter(REPLY_HANDLER);
  core_source(token);
  TEST_COUNT(&looked);
  leave(was);
}
static void look_local_h(gasnet_token_t token, gasnet_handlerarg_t seed) {
  intptr_t was = enter(REQUEST_HANDLER);
  unsigned i;
  for (i = 0; i < 64; i++)
    CHECK(plain[i] == (unsigned)seed + i, "word %u is %u, stored %u", i, plain[i], (unsigned)seed + i);
  leave(REPLY_CALL);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_SEEN));
  leave(was);
}
static void landed_h(gasnet_token_t token, void *buf, size_t nbytes) {
  intptr_t was = enter(REQUEST_HANDLER);
  (void)buf, (void)nbytes;
  leave(REPLY_CALL);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_STORED));
  leave(was);
}
static void stored_h(gasnet_token_t token) {
  intptr_t was = enter(REPLY_HANDLER);
  core_source(token);
  TEST_COUNT(&landed);
  leave(was);
}
static void tell_h(gasnet_token_t token, gasnet_handlerarg_t seed) {
  intptr_t was = enter(REQUEST_HANDLER);
  core_source(token);
  STORE(&told, seed);
  leave(was);
}
/* Data that node `writer` has put at `place(me, writer, …)`; the message comes from itself or from a third node. */
static void look_h(gasnet_token_t token, gasnet_handlerarg_t writer, gasnet_handlerarg_t slot,
                   gasnet_handlerarg_t seed) {
  intptr_t was = enter(REQUEST_HANDLER);
  const unsigned char *at = place(me, (gasnet_node_t)writer, 0, 0, slot);
  CHECK(core_differs(at, MAXBYTES, (unsigned)seed) == MAXBYTES, "node %d stored before it told", (int)writer);
  leave(REPLY_CALL);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_SEEN));
  leave(was);
}

/* The neighbour's memory under an address of this process, or NULL. */
static unsigned char *alias_of(gasnet_node_t node, unsigned char *at) {
#if GASNET_PSHM && !defined(GASNET_SEGMENT_EVERYTHING)
  gasnet_nodeinfo_t *info = (gasnet_nodeinfo_t *)malloc(nodes * sizeof *info);
  unsigned char *alias = NULL;
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
  if (info[node].supernode == info[me].supernode) alias = (unsigned char *)((uintptr_t)at + info[node].offset);
  free(info);
  return alias;
#else
  (void)node, (void)at;
  return NULL;
#endif
}

static void item52_stores_are_seen(int round) {
  const gasnet_node_t next = (me + 1) % nodes, third = (me + 2) % nodes, previous = (me + nodes - 1) % nodes;
  const unsigned seed = core_seed(me, 52, (unsigned)round), left = core_seed(previous, 52, (unsigned)round);
  unsigned char payload[MAXBYTES], *alias = alias_of(next, place(next, me, 0, 0, 1));
  unsigned i;
  landed = looked = 0;
  STORE(&told, -1);
  test_barrier();
  for (i = 0; i < 64; i++) plain[i] = seed + i;
  GASNET_SAFE(gasnet_AMRequestShort1(me, HIDX_LOOK_LOCAL, (gasnet_handlerarg_t)seed));
  GASNET_BLOCKUNTIL(LOAD(&looked) >= 1);
  if (alias) {
    core_fill(alias, MAXBYTES, seed + 1); /* plain stores into the neighbour's segment */
    GASNET_SAFE(gasnet_AMRequestShort3(next, HIDX_LOOK, (gasnet_handlerarg_t)me, 1, (gasnet_handlerarg_t)(seed + 1)));
  }
  GASNET_BLOCKUNTIL(LOAD(&looked) >= 1 + (alias != NULL));
  /* A Long to the node after the next, answered; then a word to the neighbour, whose own message makes it look. */
  core_fill(payload, MAXBYTES, seed);
  GASNET_SAFE(gasnet_AMRequestLong0(third, HIDX_LANDED, payload, MAXBYTES, place(third, me, 0, 0, 0)));
  GASNET_BLOCKUNTIL(LOAD(&landed) >= 1);
  GASNET_SAFE(gasnet_AMRequestShort1(next, HIDX_TELL, (gasnet_handlerarg_t)(seed & 0x7fffffff)));
  GASNET_BLOCKUNTIL(LOAD(&told) == (int)(left & 0x7fffffff));
  GASNET_SAFE(gasnet_AMRequestShort3(next, HIDX_LOOK, (gasnet_handlerarg_t)previous, 0, (gasnet_handlerarg_t)left));
  GASNET_BLOCKUNTIL(LOAD(&looked) >= 2 + (alias != NULL));
  test_barrier();
}

static void run(int rounds) {
  int t, round;
  for (t = 0; t < threads; t++) worker[t].index = t;
  for (round = 0; round < rounds; round++) item52_stores_are_seen(round);
#if defined(GASNET_PAR)
  for (round = 1; round <= rounds; round++) item49_all_threads_wait(round);
  for (round = rounds + 1; round <= 2 * rounds; round++) item48_released_by_another(round);
#endif
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_WORK, (void (*)())work_h},
                                         {HIDX_WORK_MEDIUM, (void (*)())work_medium_h},
                                         {HIDX_WORK_LONG, (void (*)())work_long_h},
                                         {HIDX_DONE, (void (*)())done_h},
                                         {HIDX_DONE_BULK, (void (*)())done_bulk_h},
                                         {HIDX_RELEASE, (void (*)())release_h},
                                         {HIDX_ASK, (void (*)())ask_h},
                                         {HIDX_ANSWER, (void (*)())answer_h},
                                         {HIDX_LANDED, (void (*)())landed_h},
                                         {HIDX_STORED, (void (*)())stored_h},
                                         {HIDX_TELL, (void (*)())tell_h},
                                         {HIDX_LOOK, (void (*)())look_h},
                                         {HIDX_LOOK_LOCAL, (void (*)())look_local_h},
                                         {HIDX_SEEN, (void (*)())seen_h}};
  long iterations;
  core_init(&argc, &argv, "testcorethreads");
  iterations = core_number(argc, argv, 1, 1);
  threads = (int)core_number(argc, argv, 2, 4);
  if (threads > MAXTHREADS) threads = MAXTHREADS;
#if defined(GASNET_SEQ)
  threads = 1;
#elif defined(GASNET_PAR)
  pollers = 2;
#endif
  per_thread = 3 * MESSAGES;
  pthread_key_create(&where, NULL);
  core_attach(table, (int)(sizeof table / sizeof *table), 2 * nodes * (size_t)threads * WINDOW * MAXBYTES);
  seen = (unsigned char *)malloc(nodes * (size_t)threads * (size_t)per_thread);
  test_begin("testcorethreads");
  while (iterations-- > 0) {
    memset(seen, 0, nodes * (size_t)threads * (size_t)per_thread);
    test_barrier();
    item50_threads_send();
    run(ROUNDS);
  }
  test_end();
  return 0;
}
