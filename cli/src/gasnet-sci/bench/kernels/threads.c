/* Threads of a client in PAR that poll and send at once: each thread of node 0 makes Short round trips of its own, and the
 * threads of node 1 poll. A thread waits for messages in the library, which gives the core away, so that nodes with more
 * threads than cores come to an end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* affinity */
#endif
#include "bench.h"
#include <pthread.h>
#include <sched.h>

enum { THREAD_ASK = 210, THREAD_ANSWER };
#define MOST_THREADS 8

#define OK(call) ((call) == GASNET_OK ? (void)0 : gasnet_exit(99))
#define COUNT(p) ((void)__atomic_add_fetch((p), 1, __ATOMIC_RELEASE))

/* Answers to each thread, and requests that were answered. They are never set back, as in am.c. */
static _Alignas(64) line_t answers[MOST_THREADS], asked;
static uint64_t all_asked; /* what `asked` is when the kernels so far have ended */

static void thread_ask(gasnet_token_t token, gasnet_handlerarg_t thread) {
  COUNT(&asked.word[0]);
  OK(gasnet_AMReplyShort1(token, THREAD_ANSWER, thread));
}
static void thread_answer(gasnet_token_t token, gasnet_handlerarg_t thread) {
  (void)token;
  COUNT(&answers[thread].word[0]);
}

void bench_par_threads_table(gasnet_handlerentry_t *table) {
  const gasnet_handlerentry_t all[THREADS_HANDLERS] = {{THREAD_ASK, (void (*)())thread_ask},
                                                       {THREAD_ANSWER, (void (*)())thread_answer}};
  memcpy(table, all, sizeof all);
}

static long trips; /* of each thread */
static double ended[MOST_THREADS];
static pthread_barrier_t all_here;

static void work(long thread) {
  if (bench_me == 0) {
    uint64_t *const answered = &answers[thread].word[0];
    const uint64_t before = LOAD(answered);
    long i;
    for (i = 1; i <= trips; i++) {
      OK(gasnet_AMRequestShort1(bench_peer, THREAD_ASK, (gasnet_handlerarg_t)thread));
      GASNET_BLOCKUNTIL(LOAD(answered) - before >= (uint64_t)i);
    }
  } else {
    GASNET_BLOCKUNTIL(LOAD(&asked.word[0]) >= all_asked);
  }
  ended[thread] = bench_now();
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

/* n messages, requests and answers. The caller is one of the `threads`. What it takes to start and to end the others is not
 * measured. */
static double run(long n, long threads) {
  pthread_t others[MOST_THREADS];
  double start, end = 0;
  long i;
  trips = n / (2 * threads) + 1;
  all_asked += (uint64_t)(trips * threads);
  if (pthread_barrier_init(&all_here, NULL, (unsigned)threads) != 0) gasnet_exit(98);
  for (i = 1; i < threads; i++)
    if (pthread_create(&others[i], NULL, thread_main, &answers[i]) != 0) gasnet_exit(98);
  bind(0);
  pthread_barrier_wait(&all_here);
  start = bench_now();
  work(0);
  for (i = 1; i < threads; i++) pthread_join(others[i], NULL);
  pthread_barrier_destroy(&all_here);
  for (i = 0; i < threads; i++) end = MAX(end, ended[i]);
  return (end - start) * (double)n / (double)(2 * trips * threads);
}

#define THREADS(number)                                                                                              \
  double bench_par_threads_##number(long n, size_t bytes) {                                                          \
    (void)bytes;                                                                                                     \
    return run(n, number);                                                                                           \
  }                                                                                                                  \
  struct bench_semicolon

THREADS(1);
THREADS(2);
THREADS(4);
THREADS(8);
