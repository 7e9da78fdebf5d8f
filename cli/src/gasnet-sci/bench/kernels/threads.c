/* Threads of a client in PAR that poll and send at once.
 * - bench_par_threads_N: each thread of node 0 makes Short round trips of its own, and the threads of node 1 poll.
 * - bench_par_both_KIND_N: the threads of both nodes do something at once, each for itself: Short or Medium round trips, puts,
 *   fetch-adds; POLLS: Shorts whose answers they wait for in a loop of polls of their own; COMPUTING: Shorts, and beside these threads
 *   each node has one that computes and calls nothing.
 * A thread waits for messages in the library, which gives the core away, so that nodes with more threads than cores come to
 * an end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* affinity */
#endif
#include "bench.h"
#include <pthread.h>
#include <sched.h>

enum { THREAD_ASK = 210, THREAD_ANSWER, THREAD_TAKE };
#define MOST_THREADS 8

#define OK(call) ((call) == GASNET_OK ? (void)0 : gasnet_exit(99))
#define COUNT(p) ((void)__atomic_add_fetch((p), 1, __ATOMIC_RELEASE))
#define PUTS_PER_POLL 8

/* Answers to each thread, and requests that were answered. They are never set back, as in am.c. */
static _Alignas(64) line_t answers[MOST_THREADS], asked;
static uint64_t all_asked; /* what `asked` is at a node that was asked, when the kernels so far have ended */

static void thread_ask(gasnet_token_t token, gasnet_handlerarg_t thread) {
  COUNT(&asked.word[0]);
  OK(gasnet_AMReplyShort1(token, THREAD_ANSWER, thread));
}
static void thread_take(gasnet_token_t token, void *bytes, size_t nbytes, gasnet_handlerarg_t thread) {
  (void)bytes, (void)nbytes;
  thread_ask(token, thread);
}
static void thread_answer(gasnet_token_t token, gasnet_handlerarg_t thread) {
  (void)token;
  COUNT(&answers[thread].word[0]);
}

void bench_par_threads_table(gasnet_handlerentry_t *table) {
  const gasnet_handlerentry_t all[THREADS_HANDLERS] = {{THREAD_ASK, (void (*)())thread_ask},
                                                       {THREAD_ANSWER, (void (*)())thread_answer},
                                                       {THREAD_TAKE, (void (*)())thread_take}};
  memcpy(table, all, sizeof all);
}

static long trips; /* of each thread */
/* What threads do: SHORT_ONE at node 0 alone, the others at both nodes. */
static enum { SHORT_ONE, SHORT, POLLS, COMPUTING, MEDIUM, PUT, ATOMIC } what;
static double ended[MOST_THREADS];
static pthread_barrier_t all_here;

/* One message, or transfer, number `i` of this thread. */
static void act(long thread, long i, uint64_t *answered, uint64_t before) {
  const gasnet_handlerarg_t me = (gasnet_handlerarg_t)thread;
  unsigned char *const at = bench_remote + 128 * thread, *const own = bench_local + 128 * thread;
  switch (what) {
  case SHORT_ONE:
  case SHORT:
  case POLLS:
  case COMPUTING: OK(gasnet_AMRequestShort1(bench_peer, THREAD_ASK, me)); break;
  case MEDIUM: OK(gasnet_AMRequestMedium1(bench_peer, THREAD_TAKE, own, 64, me)); break;
  case PUT:
    gasnet_put(bench_peer, at, own, 64);
    if (i % PUTS_PER_POLL == 0) OK(gasnet_AMPoll());
    return;
  case ATOMIC:
    BENCH(ex_count)(at);
    if (i % PUTS_PER_POLL == 0) OK(gasnet_AMPoll());
    return;
  }
  if (what == POLLS)
    while (LOAD(answered) - before < (uint64_t)i) OK(gasnet_AMPoll());
  else
    GASNET_BLOCKUNTIL(LOAD(answered) - before >= (uint64_t)i);
}

static void work(long thread) {
  uint64_t *const answered = &answers[thread].word[0];
  const uint64_t before = LOAD(answered);
  long i;
  if (bench_me == 0 || what != SHORT_ONE)
    for (i = 1; i <= trips; i++) act(thread, i, answered, before);
  else
    GASNET_BLOCKUNTIL(LOAD(&asked.word[0]) >= all_asked);
  ended[thread] = bench_now();
  if (what != SHORT_ONE && what <= MEDIUM) GASNET_BLOCKUNTIL(LOAD(&asked.word[0]) >= all_asked);
}

static const unsigned *cpus;
static unsigned cpu_count;

/* CPUs, one per core, that the nodes' threads get in turns. `list` stays valid. */
void bench_par_threads_on(const unsigned *list, unsigned count) { cpus = list, cpu_count = count; }

/* Binds the calling thread. Left to the system, both nodes of two cores were found on one of them for whole runs. */
static void bind(long thread) {
  cpu_set_t one;
  if (cpu_count == 0) return;
  CPU_ZERO(&one);
  CPU_SET(cpus[((unsigned)thread * bench_nodes + bench_me) % cpu_count], &one);
  sched_setaffinity(0, sizeof one, &one); /* if it fails, the thread runs elsewhere */
}

static void *thread_main(void *answer) {
  const long thread = (line_t *)answer - answers;
  bind(thread);
  pthread_barrier_wait(&all_here);
  work(thread);
  return NULL;
}

/* A thread that computes, until `computed` is set. */
static uint64_t computed;
static void *compute(void *unused) {
  (void)unused;
  bind(0);
  while (LOAD(&computed) == 0) FENCE();
  return NULL;
}

/* n operations of this node by `threads` threads, of which the caller is one. A round trip of `bench_par_threads_N` is two of
 * them, a request and an answer; `each` says so. What it takes to start and to end the other threads is not measured. */
static double run(long n, long threads, long each) {
  pthread_t others[MOST_THREADS], busy;
  double start, end = 0;
  long i;
  trips = n / (each * threads) + 1;
  if (what <= MEDIUM && (bench_me == 1 || what != SHORT_ONE)) all_asked += (uint64_t)(trips * threads);
  if (pthread_barrier_init(&all_here, NULL, (unsigned)threads) != 0) gasnet_exit(98);
  for (i = 1; i < threads; i++)
    if (pthread_create(&others[i], NULL, thread_main, &answers[i]) != 0) gasnet_exit(98);
  bind(0);
  STORE(&computed, 0);
  if (what == COMPUTING && pthread_create(&busy, NULL, compute, NULL) != 0) gasnet_exit(98);
  pthread_barrier_wait(&all_here);
  start = bench_now();
  work(0);
  for (i = 1; i < threads; i++) pthread_join(others[i], NULL);
  pthread_barrier_destroy(&all_here);
  STORE(&computed, 1);
  if (what == COMPUTING) pthread_join(busy, NULL);
  for (i = 0; i < threads; i++) end = MAX(end, ended[i]);
  return (end - start) * (double)n / (double)(each * trips * threads);
}

#define THREADS(number)                                                                                              \
  double bench_par_threads_##number(long n, size_t bytes) {                                                          \
    (void)bytes, what = SHORT_ONE;                                                                                   \
    return run(n, number, 2);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_short_##number(long n, size_t bytes) {                                                       \
    (void)bytes, what = SHORT;                                                                                       \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_polls_##number(long n, size_t bytes) {                                                       \
    (void)bytes, what = POLLS;                                                                                       \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_computing_##number(long n, size_t bytes) {                                                   \
    (void)bytes, what = COMPUTING;                                                                                   \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_medium_##number(long n, size_t bytes) {                                                      \
    (void)bytes, what = MEDIUM;                                                                                      \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_put_##number(long n, size_t bytes) {                                                         \
    (void)bytes, what = PUT;                                                                                         \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  double bench_par_both_atomic_##number(long n, size_t bytes) {                                                      \
    (void)bytes, what = ATOMIC;                                                                                      \
    return run(n, number, 1);                                                                                        \
  }                                                                                                                  \
  struct bench_semicolon

THREADS(1);
THREADS(2);
THREADS(4);
THREADS(8);
