/* Barriers, polls that find nothing, and collectives. */
#include "bench.h"

double bench_barriers(long n, size_t bytes) {
  const double start = bench_now();
  (void)bytes;
  for (; n > 0; n--) bench_barrier();
  return bench_now() - start;
}

/* Processor time: after many polls in vain the library gives the core to whoever wants it, and how long they keep it is no
 * property of the poll. */
double bench_processor_time(void) { return bench_clock(CLOCK_THREAD_CPUTIME_ID); }

double bench_poll(long n, size_t bytes) {
  const double start = bench_processor_time();
  (void)bytes;
  if (bench_me != 0) return 0;
  for (; n > 0; n--) gasnet_AMPoll();
  return bench_processor_time() - start;
}

/* The same of an engine that is no job's: `look` is what a poll calls that is not done by the header. */
double bench_poll_played(long n, void *watch, void (*look)(const void *), const void *engine) {
  const double start = bench_processor_time();
  for (; n > 0; n--)
    if (gasneti_sci_glance((gasneti_sci_watch_t *)watch) != 0) look(engine);
  return bench_processor_time() - start;
}

/* ---- collectives: the root goes round, so that nobody runs ahead; each call is complete when it returns ---- */

#define LOCALLY (GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                int arg) {
  uint64_t *to = (uint64_t *)results;
  const uint64_t *a = (const uint64_t *)left, *b = (const uint64_t *)right;
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) to[i] = a[i] + b[i];
}

void bench_coll_start(void) {
  static gasnet_coll_fn_entry_t table[1] = {{sum, GASNET_COLL_AMSAFE}};
  gasnet_coll_init(NULL, 0, table, 1, 0);
}

#define COLLECTIVE(name, call)                                                                                       \
  double bench_##name(long n, size_t bytes) {                                                                        \
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
