/* Times of collectives, beside limits of the machine measured in the same run: the round trip of a bare cache line
 * between two nodes, and gets of the same blocks by all receivers at once (copies from the mapped segment).
 *
 *   testcollperf [ROUNDS [LARGEST [heap]]]
 *
 * Roots take turns, so that no node runs ahead. A time is the best of 7 batches, because other programs may use the
 * machine. "of copy" is the time of the plain copies divided by that of the collective: 1.00 is as fast. The last
 * result of each kind is verified. */
#include "../testarea.h"

#define BATCHES 7
#define LOCALLY (GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)
enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, KINDS, COPY_ONE = KINDS, COPY_OWN, COPY_ALL };
static const char *const name[] = {"broadcast", "scatter", "gather", "gather_all", "exchange", "reduce"};
/* Gets that move the same bytes: one block from the root, my block from the root, a block from everybody. */
static const int bound[KINDS] = {COPY_ONE, COPY_OWN, COPY_OWN, COPY_ALL, COPY_ALL, COPY_ONE};

static unsigned char *src, *dst;
static size_t most;

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags, int arg) {
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) ((uint64_t *)results)[i] = ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
}

static void once(int kind, size_t n, gasnet_node_t root) {
  gasnet_node_t p;
  switch (kind) {
    case BROADCAST: gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, root, src, n, LOCALLY); break;
    case SCATTER: gasnet_coll_scatter(GASNET_TEAM_ALL, dst, root, src, n, LOCALLY); break;
    case GATHER: gasnet_coll_gather(GASNET_TEAM_ALL, root, dst, src, n, LOCALLY); break;
    case GATHER_ALL: gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, n, LOCALLY); break;
    case EXCHANGE: gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, n, LOCALLY); break;
    case REDUCE: gasnet_coll_reduce(GASNET_TEAM_ALL, root, dst, src, 0, 0, 8, n / 8, 0, 0, LOCALLY); break;
    case COPY_ONE: gasnet_get_bulk(dst, root, core_area[root], n); break;
    case COPY_OWN: gasnet_get_bulk(dst, root, core_area[root] + me * n, n); break;
    case COPY_ALL:
      for (p = 1; p <= nodes; p++) {
        gasnet_node_t from = (me + p) % nodes;
        gasnet_get_bulk(dst + from * n, from, core_area[from] + me * n, n);
      }
  }
}

/* Microseconds of one collective, from the moment at which all nodes may begin until all are done. Where nodes share
 * cores, a node that gets a core late measures only its own part. So the slowest node of each batch counts, and the
 * best batch. */
static double measure(int kind, size_t n, long rounds) {
  double batch[BATCHES], *all = (double *)malloc(nodes * sizeof batch), best = 0;
  long r;
  int b;
  gasnet_node_t p;
  for (r = 0; r < 3; r++) once(kind, n, (gasnet_node_t)r % nodes);
  for (b = 0; b < BATCHES; b++) {
    double begin;
    test_barrier();
    begin = test_now();
    for (r = 0; r < rounds; r++) {
      /* A plain copy takes no notice of the others: a copy from another node each time, as the receivers do it. */
      gasnet_node_t root = (gasnet_node_t)r % nodes;
      if (kind >= KINDS && kind != COPY_ALL && root == me) root = (root + 1) % nodes;
      once(kind, n, root);
    }
    test_barrier();
    batch[b] = (test_now() - begin) / (double)rounds * 1e6;
  }
  gasnet_coll_gather_all(GASNET_TEAM_ALL, all, batch, sizeof batch, LOCALLY);
  for (b = 0; b < BATCHES; b++) {
    double worst = 0;
    for (p = 0; p < nodes; p++)
      if (all[p * BATCHES + (gasnet_node_t)b] > worst) worst = all[p * BATCHES + (gasnet_node_t)b];
    if (b == 0 || worst < best) best = worst;
  }
  free(all);
  return best;
}

/* The round trip of a line: nodes 0 and 1 store into each other's segment and read their own. A put to a node that
 * is not mapped arrives only when that node polls, so both poll now and then. */
static double line(long rounds) {
  volatile uint64_t *mine = (volatile uint64_t *)(void *)(core_area[me] + core_areasize - 64);
  double begin;
  uint64_t r;
  unsigned looks = 0;
  *mine = 0;
  test_barrier();
  begin = test_now();
  for (r = 1; r <= (uint64_t)rounds && me < 2 && nodes > 1; r++) {
    gasnet_node_t other = 1 - me;
    if (me == 0) gasnet_put_val(1, core_area[1] + core_areasize - 64, r, 8);
    while (*mine < r)
      if (++looks % 256 == 0) gasnet_AMPoll();
    if (me == 1) gasnet_put_val(other, core_area[other] + core_areasize - 64, r, 8);
  }
  begin = (test_now() - begin) / (double)rounds * 1e6;
  test_barrier();
  gasnet_coll_broadcast(GASNET_TEAM_ALL, &begin, 0, &begin, sizeof begin, LOCALLY);
  return begin;
}

/* After each size: block b of node p is what core_fill makes of seed p * 100 + b. */
static void verify(int kind, size_t n) {
  gasnet_node_t root = nodes - 1, p;
  size_t at;
  if (kind == REDUCE) return;
  memset(dst, 0, kind == GATHER_ALL || kind == EXCHANGE || kind == GATHER ? n * nodes : n);
  once(kind, n, root);
  if (kind == GATHER && me != root) return;
  for (p = 0; p < nodes; p++) {
    unsigned want = kind == BROADCAST ? root * 100 : kind == SCATTER ? root * 100 + me : p * 100 + (kind == EXCHANGE ? me : 0);
    if ((kind == BROADCAST || kind == SCATTER) && p > 0) break;
    at = core_differs(dst + p * n, n, want);
    CHECK(at == n, "%s of %lu bytes: byte %lu of block %u", name[kind], (unsigned long)n, (unsigned long)at, (unsigned)p);
  }
}

int main(int argc, char **argv) {
  static gasnet_coll_fn_entry_t table[1] = {{sum, GASNET_COLL_AMSAFE}};
  static const size_t sizes[] = {8, 56, 64, 512, 4096, 8192, 32768, 65536, 262144, 1048576};
  long rounds;
  size_t s;
  int kind;
  core_init(&argc, &argv, "testcollperf");
  rounds = core_number(argc, argv, 1, 2000);
  most = (size_t)core_number(argc, argv, 2, 1 << 20);
  area_attach(NULL, 0, 2 * most * nodes + 4096);
  test_begin("testcollperf");
  src = core_area[me];
  dst = core_area[me] + most * nodes;
  if (argc > 3) dst = (unsigned char *)malloc(most * nodes);
  gasnet_coll_init(0, 0, table, 1, 0);
  {
    double trip = line(rounds);
    if (me == 0 && nodes > 1) printf("round trip of a bare line between two nodes: %.3f us\n", trip);
  }
  if (me == 0) printf("%-10s %9s %12s %12s %9s\n", "collective", "bytes", "us", "copy us", "of copy");
  for (kind = 0; kind < KINDS; kind++)
    for (s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= most; s++) {
      size_t n = sizes[s];
      long count = n > 4096 ? rounds * 4096 / (long)n + 2 : rounds;
      double us, copy;
      gasnet_node_t p;
      for (p = 0; p < nodes; p++) core_fill(src + p * n, n, me * 100 + p);
      us = measure(kind, n, count);
      copy = measure(bound[kind], n, count);
      if (me == 0) printf("%-10s %9lu %12.3f %12.3f %9.2f\n", name[kind], (unsigned long)n, us, copy, copy / us);
      verify(kind, n);
    }
  test_end();
  return 0;
}
