/* Barriers, polls that find nothing, and collectives. */
#include "bench.h"
#include <pthread.h>

double BENCH(barriers)(long n, size_t bytes) {
  const double start = bench_now();
  (void)bytes;
  for (; n > 0; n--) BENCH(barrier)();
  return bench_now() - start;
}

/* Processor time. After many polls that find nothing the library yields the core, and how long other processes keep it is not
 * a property of the poll. */
static double bench_processor_time(void) { return bench_clock(CLOCK_THREAD_CPUTIME_ID); }

double BENCH(poll)(long n, size_t bytes) {
  const double start = bench_processor_time();
  (void)bytes;
  if (bench_me != 0) return 0;
  for (; n > 0; n--) gasnet_AMPoll();
  return bench_processor_time() - start;
}

/* The same for an engine that belongs to no job. A poll that the header cannot do itself calls `look`. */
double BENCH(poll_played)(long n, void *watch, void (*look)(const void *), const void *engine) {
  const double start = bench_processor_time();
  for (; n > 0; n--)
    if (gasneti_sci_glance((gasneti_sci_watch_t *)watch) != 0) look(engine);
  return bench_processor_time() - start;
}

/* A thread that competes for the core. It computes while node 0 is measured, on the CPU to which node.rs has bound node 0. */
static volatile int bench_busy;
static void *bench_compute(void *unused) {
  while (bench_busy) continue;
  return unused;
}

/* About 16,000 cycles of computing that touches no memory: 2.8 us at 5.7 GHz, 4.4 us at 3.7 GHz. It must take longer than
 * COMPUTES in src/am/wait.rs, 1 us, on every processor: otherwise the library takes this client for one that waits. Not
 * inline: beside a poll and alone it is the same code. */
static uint64_t __attribute__((noinline)) bench_work(uint64_t x) {
  int i;
  for (i = 0; i < 4000; i++) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}
static volatile uint64_t bench_sink;

/* Node 0 computes on a core that the other thread also uses. The clock runs while the other thread has the core. A poll that
 * gives the core away costs little processor time, but the other thread then keeps the core for its whole time slice. */
static double bench_on_busy_core(long n, int polls) {
  pthread_t other;
  double start, took;
  if (bench_me != 0) return 0;
  bench_busy = 1;
  if (pthread_create(&other, NULL, bench_compute, NULL) != 0) gasnet_exit(98); /* it inherits the CPU */
  start = bench_now();
  for (; n > 0; n--) {
    bench_sink = bench_work(bench_sink);
    if (polls) gasnet_AMPoll();
  }
  took = bench_now() - start;
  bench_busy = 0;
  pthread_join(other, NULL);
  return took;
}

double BENCH(computing_with_polls)(long n, size_t bytes) {
  (void)bytes;
  return bench_on_busy_core(n, 1);
}

double BENCH(computing_alone)(long n, size_t bytes) {
  (void)bytes;
  return bench_on_busy_core(n, 0);
}

/* ---- collectives: the root goes round, so that no node runs ahead; each call is complete when it returns ---- */

#define LOCALLY (GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                int arg) {
  uint64_t *to = (uint64_t *)results;
  const uint64_t *a = (const uint64_t *)left, *b = (const uint64_t *)right;
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) to[i] = a[i] + b[i];
}

void BENCH(coll_start)(void) {
  static gasnet_coll_fn_entry_t table[1] = {{sum, GASNET_COLL_AMSAFE}};
  gasnet_coll_init(NULL, 0, table, 1, 0);
}

/* Node 0's word, told to all nodes. */
uint64_t BENCH(told)(uint64_t word) {
  gasnet_coll_broadcast(GASNET_TEAM_ALL, &word, 0, &word, sizeof word, LOCALLY);
  return word;
}

#define COLLECTIVE(name, call)                                                                                       \
  double BENCH(name)(long n, size_t bytes) {                                                                         \
    const double start = bench_now();                                                                                \
    void *const to = bench_mine + SEGMENT / 2;                                                                       \
    long i;                                                                                                          \
    for (i = 0; i < n; i++) {                                                                                        \
      const gasnet_node_t root = (gasnet_node_t)i % bench_nodes;                                                     \
      (void)root;                                                                                                    \
      call;                                                                                                          \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  }                                                                                                                  \
  struct bench_semicolon

COLLECTIVE(broadcast, gasnet_coll_broadcast(GASNET_TEAM_ALL, to, root, bench_mine, bytes, LOCALLY));
COLLECTIVE(gather_all, gasnet_coll_gather_all(GASNET_TEAM_ALL, to, bench_mine, bytes, LOCALLY));
COLLECTIVE(exchange, gasnet_coll_exchange(GASNET_TEAM_ALL, to, bench_mine, bytes, LOCALLY));
COLLECTIVE(reduce, gasnet_coll_reduce(GASNET_TEAM_ALL, root, to, bench_mine, 0, 0, 8, bytes / 8, 0, 0, LOCALLY));
