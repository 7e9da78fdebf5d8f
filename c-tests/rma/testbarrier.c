/* Barriers: order, visibility, try, different threads; and how long one takes: list F, items 93, 94, 95, 104, 106.
 *
 *   testbarrier [-t] [phases]      -t prints microseconds per phase
 *
 * Without a number the order test runs 10 000 phases, or as many hundreds as a second and a half allow. */
#include "../testrma.h"

#ifndef GASNET_SEQ
#include <pthread.h>
#endif

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, HIDX_RAISE = 200 };

static volatile uint64_t *counter; /* mine, which only I store to; the others look at it through gets */
static unsigned state;

static void nap(long microseconds) {
  struct timespec t;
  t.tv_sec = microseconds / 1000000, t.tv_nsec = microseconds % 1000000 * 1000;
  nanosleep(&t, NULL);
}

/* Item 93: each node has a counter, which it raises right before notify. A node that has left the wait of phase k
 * finds no counter below k and none above k + 1. Item 94: the counters are plain stores before notify. Every node
 * also puts its number to its neighbour. */
static void item93_order(long phases, double seconds) {
  uint64_t k, seen;
  double begin = test_now();
  gasnet_node_t next = (me + 1) % nodes, before = (me + nodes - 1) % nodes;
  *counter = 0;
  test_barrier();
  for (k = 1; k <= (uint64_t)phases; k++) {
    gasnet_node_t p = (gasnet_node_t)((me + k) % nodes);
    unsigned r = test_random(&state);
    if (r % 2048 == 0) nap((long)(r / 4096 % 3000)); /* a late node */
    *counter = k;
    if (k % 4 == 0) gasnet_put(next, rma_slice(next) + 64, &k, sizeof k);
    gasnet_barrier_notify(0, ANON);
    if (r % 1024 == 1) nap(100); /* nobody needs our help once we have notified */
    if (k % 5 == 0) while (!rma_isdone(gasnet_barrier_try(0, ANON))) continue;
    else CHECK(gasnet_barrier_wait(0, ANON) == GASNET_OK, "phase %lu", (unsigned long)k);
    gasnet_get(&seen, p, core_area[p], sizeof seen);
    if (seen < k || seen > k + 1)
      CHECK(0, "left phase %lu while node %u was in %lu", (unsigned long)k, (unsigned)p, (unsigned long)seen);
    if (k % 4 == 0) {
      memcpy(&seen, rma_sliceof(me, before) + 64, sizeof seen);
      if (seen < k || seen > k + 4)
        CHECK(0, "phase %lu: the put of node %u is %lu", (unsigned long)k, (unsigned)before, (unsigned long)seen);
    }
    if (k % 100 == 0) { /* all of them; node 0 says by the name of a phase whether there is time for more */
      int more = 0;
      for (p = 0; p < nodes; p++) {
        gasnet_get(&seen, p, core_area[p], sizeof seen);
        CHECK(seen == k || seen == k + 1, "phase %lu: node %u is in %lu", (unsigned long)k, (unsigned)p, (unsigned long)seen);
      }
      gasnet_barrier_notify(test_now() - begin < seconds, me ? ANON : 0);
      GASNET_SAFE(gasnet_barrier_wait(0, ANON));
      CHECK(gasnet_barrier_result(&more) == 0, "phase named by node 0");
      if (!more) break;
    }
  }
  test_barrier();
}

/* Items 94, 95: while one node is late, no node leaves the barrier. */
static void item94_late(int round) {
  gasnet_node_t late = (gasnet_node_t)round % nodes;
  uint64_t seen;
  int tries = 0, rc;
  *counter = 0;
  test_barrier();
  if (me == late) {
    nap(20000);
    *counter = 1;
  }
  gasnet_barrier_notify(7, 0);
  do {
    rc = gasnet_barrier_try(7, 0);
    gasnet_get(&seen, late, core_area[late], sizeof seen);
    if (rc == GASNET_OK) CHECK(seen == 1, "try is OK before node %u has notified", (unsigned)late);
    if (++tries % 16 == 0) nap(50);
  } while (!rma_isdone(rc));
  CHECK(rc == GASNET_OK, "try");
  test_barrier();
}

/* Items 94, 95: the last node notifies only after all others have told it that they are past their notify and their
 * try. So notify must not block, and try must return NOT_READY. */
static volatile int raised;
static void raise_h(gasnet_token_t token) { (void)token, raised++; }

static void item95_not_ready(int round) {
  gasnet_node_t last = (gasnet_node_t)round % nodes;
  int i, id = 1000 + round;
  raised = 0;
  test_barrier();
  if (me == last) {
    GASNET_BLOCKUNTIL(raised == (int)nodes - 1);
    gasnet_barrier_notify(id, 0);
    if (nodes == 1) CHECK(gasnet_barrier_try(id, 0) == GASNET_OK, "one node");
    else CHECK(gasnet_barrier_wait(id, 0) == GASNET_OK, "the last");
  } else {
    gasnet_barrier_notify(id, 0);
    for (i = 0; i < 3; i++)
      CHECK(gasnet_barrier_try(id, 0) == GASNET_ERR_NOT_READY, "try %d, while node %u has not notified", i, (unsigned)last);
    GASNET_SAFE(gasnet_AMRequestShort0(last, HIDX_RAISE));
    if (round % 2) while (!rma_isdone(gasnet_barrier_try(id, 0))) continue;
    else CHECK(gasnet_barrier_wait(id, 0) == GASNET_OK, "wait after failed tries");
  }
  i = 0;
  CHECK(gasnet_barrier_result(&i) == 0 && i == id, "result after tries: %d", i);
  test_barrier();
}

/* The others do not need a node that has notified: it sleeps, while they finish the phase and tell each other. */
static void sleepers(int round) {
  gasnet_node_t sleeper = (gasnet_node_t)round % nodes;
  gasnet_barrier_notify(0, ANON);
  if (me == sleeper) nap(5000);
  CHECK(gasnet_barrier_wait(0, ANON) == GASNET_OK, "with a sleeper");
  CHECK(gasnet_barrier(round, 0) == GASNET_OK, "blocking form");
}

/* Item 106: kinds of phases alternate, UNNAMED among them. */
static void item106_alternate(int phases) {
  int k, rc = 0, id, expected;
  for (k = 0; k < phases; k++) {
    int kind = k % 6, flags = kind == 0 ? ANON : kind == 1 ? GASNET_BARRIERFLAG_UNNAMED : 0;
    id = kind < 2 ? (int)me * 31 + k : k * 65537 - 3;
    expected = GASNET_OK;
    if (kind == 4 && me == (gasnet_node_t)k % nodes) flags = GASNET_BARRIERFLAG_MISMATCH;
    if (kind == 4) expected = GASNET_ERR_BARRIER_MISMATCH;
    if (kind == 5) rc = gasnet_barrier(id, flags);
    else {
      gasnet_barrier_notify(id, flags);
      rc = gasnet_barrier_wait(id, flags);
    }
    CHECK(rc == expected, "phase %d of kind %d: %d", k, kind, rc);
    if (kind == 4) continue;
    id = 0;
    rc = gasnet_barrier_result(&id);
    if (kind < 2) CHECK(rc != 0, "phase %d without names: result is 0, name %d", k, id);
    else CHECK(rc == 0 && id == k * 65537 - 3, "phase %d: result %d, name %d", k, rc, id);
  }
}

#ifndef GASNET_SEQ
/* Item 104: notify on one thread, wait on another, ordered by creation and end of the thread. */
static int thread_phase;
static void *notifies(void *arg) {
  (void)arg;
  gasnet_barrier_notify(thread_phase, 0);
  return NULL;
}
static void *waits(void *arg) {
  (void)arg;
  CHECK(gasnet_barrier_wait(thread_phase, 0) == GASNET_OK, "wait on another thread, phase %d", thread_phase);
  return NULL;
}
static void run(void *(*function)(void *)) {
  pthread_t t;
  if (pthread_create(&t, NULL, function, NULL) != 0 || pthread_join(t, NULL) != 0) gasnet_exit(98);
}
static void item104_threads(int phases) {
  for (thread_phase = 1; thread_phase <= phases; thread_phase++) {
    if (thread_phase % 3 == 0) notifies(NULL);
    else run(notifies);
    if (thread_phase % 3 == 1) waits(NULL);
    else run(waits);
  }
}
#else
static void item104_threads(int phases) { (void)phases; }
#endif

static void timings(long phases) {
  static const char *const kinds[] = {"anonymous", "named", "unnamed", "try", "blocking"};
  int kind;
  long k;
  for (kind = 0; kind < 5; kind++) {
    double begin;
    int flags = kind == 1 ? 0 : kind == 2 ? GASNET_BARRIERFLAG_UNNAMED : ANON;
    test_barrier();
    begin = test_now();
    for (k = 0; k < phases; k++) {
      if (kind == 4) {
        (void)gasnet_barrier((int)k, flags);
        continue;
      }
      gasnet_barrier_notify((int)k, flags);
      if (kind == 3) while (gasnet_barrier_try((int)k, flags) == GASNET_ERR_NOT_READY) continue;
      else (void)gasnet_barrier_wait((int)k, flags);
    }
    if (me == 0)
      printf("testbarrier: %u nodes: %-9s %8.3f us per phase\n", (unsigned)nodes, kinds[kind],
             (test_now() - begin) * 1e6 / (double)phases);
  }
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_RAISE, (void (*)())raise_h}};
  long phases;
  double seconds;
  int prints = 0, i;
  core_init(&argc, &argv, "testbarrier");
  if (argc > 1 && strcmp(argv[1], "-t") == 0) prints = 1, argc--, argv++;
  phases = core_number(argc, argv, 1, 10000);
  seconds = argc > 1 ? 1e9 : 1.5;
  rma_attach(table, 1, 4096);
  counter = (volatile uint64_t *)(void *)core_area[me];
  state = me * 977 + 5;
  test_begin("testbarrier");
  item93_order(phases, seconds);
  for (i = 0; i < (int)nodes + 1; i++) item94_late(i);
  for (i = 0; i < 4 * (int)nodes; i++) item95_not_ready(i);
  for (i = 0; i < 2 * (int)nodes; i++) sleepers(i);
  item106_alternate(60);
  item104_threads(30);
  if (prints) timings(phases);
  test_end();
  return 0;
}
