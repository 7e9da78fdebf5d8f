/* Barriers: names and mismatches: list F, items 96 to 103. A table of phases says what each node passes to notify
 * and to wait; a model of the contract (extended.md 8.2, 8.3) says what each must return, and what the result query
 * must say.
 *
 *   testbarrierconf [iterations]
 *
 * Each phase runs with wait, with a try loop, where possible with the blocking form, alone and with puts and
 * messages in flight; in PAR also while another thread polls. The caller chooses GASNET_BARRIER. Every node, and
 * every pair of nodes, is once the one that passes a different name. */
#include "../testrma.h"

#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, MISMATCH = GASNET_BARRIERFLAG_MISMATCH, UNNAMED = GASNET_BARRIERFLAG_UNNAMED };
enum { NAMED, ANONYMOUS, MISMATCHED }; /* consensus */
enum { BY_WAIT, BY_TRY, BLOCKING, HOWS };
enum { MAXNODES = 64, HIDX_TRAFFIC = 200 };

struct arguments {
  int id, flags;
};
struct phase { /* of every node */
  const char *what;
  struct arguments notify[MAXNODES], wait[MAXNODES];
};
static struct phase now;
static int is_traffic, traffic_sent;
static volatile int traffic_got;
static long phases;

static void traffic_h(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t seed) {
  (void)token;
  CHECK(core_differs(buf, n, (unsigned)seed) == n, "traffic in a barrier");
  TEST_COUNT(&traffic_got);
}

static void traffic(void) {
  unsigned char data[200];
  gasnet_node_t p = (gasnet_node_t)((me + 1 + (gasnet_node_t)traffic_sent) % nodes);
  if (!is_traffic) return;
  core_fill(data, sizeof data, (unsigned)traffic_sent);
  gasnet_put_nbi(p, rma_slice(p) + traffic_sent % 8 * 256, data, sizeof data);
  GASNET_SAFE(gasnet_AMRequestMedium1(p, HIDX_TRAFFIC, data, sizeof data, traffic_sent));
  traffic_sent++;
}

/* ---- the model
 * ------------------------------------------------------------------------------------------------------------------ */

static int consensus(int *id) {
  gasnet_node_t p;
  int named = 0;
  for (p = 0; p < nodes; p++) {
    if (now.notify[p].flags & MISMATCH) return MISMATCHED;
    if (now.notify[p].flags & ANON) continue;
    if (named && *id != now.notify[p].id) return MISMATCHED;
    named = 1, *id = now.notify[p].id;
  }
  return named ? NAMED : ANONYMOUS;
}

static int expected_result(struct arguments mine, int outcome, int name) {
  if (outcome == MISMATCHED || (mine.flags & MISMATCH)) return GASNET_ERR_BARRIER_MISMATCH;
  if ((mine.flags & ANON) || outcome == ANONYMOUS) return GASNET_OK;
  return mine.id == name ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

/* ---- one phase
 * -------------------------------------------------------------------------------------------------------------------- */

static void run_phase(int how) {
  struct arguments notify = now.notify[me], wait = now.wait[me];
  int rc = GASNET_OK, name = 0, outcome = consensus(&name), expected, got = 0;
  gasnet_node_t p;
  if (how == BLOCKING) /* one pair of arguments for both: a node of this phase that has two cannot use it */
    for (p = 0; p < nodes; p++)
      if (now.notify[p].id != now.wait[p].id || now.notify[p].flags != now.wait[p].flags) return;
  traffic();
  if (how == BLOCKING) {
    rc = gasnet_barrier(notify.id, notify.flags);
  } else {
    gasnet_barrier_notify(notify.id, notify.flags);
    traffic();
    if (how == BY_WAIT) rc = gasnet_barrier_wait(wait.id, wait.flags);
    else
      do rc = gasnet_barrier_try(wait.id, wait.flags);
      while (rc == GASNET_ERR_NOT_READY);
  }
  expected = expected_result(wait, outcome, name);
  CHECK(rc == expected, "%s, phase %ld, way %d: %s, not %s", now.what, phases, how, gasnet_ErrorName(rc),
        gasnet_ErrorName(expected));
  if (outcome != MISMATCHED) {
    int none = gasnet_barrier_result(&got), again = 0;
    if (outcome == NAMED) {
      CHECK(none == 0 && got == name, "%s, phase %ld: result %d, name %d, not %d", now.what, phases, none, got, name);
      CHECK(gasnet_barrier_result(&again) == 0 && again == name, "%s: the result can be asked again", now.what);
    } else {
      CHECK(none != 0, "%s, phase %ld: a name, %d, though nobody gave one", now.what, phases, got);
    }
  }
  if (is_traffic && phases % 16 == 0) gasnet_wait_syncnbi_puts();
  phases++;
}

static void run_all(void) {
  int how;
  for (how = 0; how < HOWS; how++) run_phase(how);
}

static void set(gasnet_node_t p, int id, int flags) {
  now.notify[p].id = now.wait[p].id = id, now.notify[p].flags = now.wait[p].flags = flags;
}
static void set_all(const char *what, int id, int flags) {
  gasnet_node_t p;
  now.what = what;
  for (p = 0; p < nodes; p++) set(p, id, flags);
}

/* ---- items
 * ------------------------------------------------------------------------------------------------------------------------ */

static const int ids[] = {0, 1, -1, 7, 0x7fffffff, -0x7fffffff - 1, 0x10000, 0x20000, 0x7000cafe, 0x1000cafe, -0x35010ff3};
enum { IDS = sizeof ids / sizeof *ids };

static void item96_equal(void) {
  gasnet_node_t p;
  int i;
  for (i = 0; i < IDS; i++) {
    set_all("all named alike", ids[i], 0);
    run_all();
    set_all("all anonymous", 0, ANON);
    for (p = 0; p < nodes; p++) set(p, ids[((unsigned)i + p) % IDS], ANON);
    run_all();
  }
  set_all("all unnamed", 3, UNNAMED); /* item 106 */
  for (p = 0; p < nodes; p++) set(p, (int)p, UNNAMED);
  run_all();
}

/* Items 97, 102: every pair of nodes, names that differ anywhere in 32 bits, the rest named or anonymous. */
static void item97_two_names(void) {
  static const int other[][2] = {{0, 1}, {-1, 0}, {5, 5 + 0x10000}, {0, -0x7fffffff - 1}, {1, 0x40000001}, {-1, 0x7fffffff}};
  gasnet_node_t a, b, p;
  unsigned k = 0, rest;
  for (a = 0; a < nodes; a++)
    for (b = 0; b < nodes; b++) {
      if (a == b) continue;
      for (rest = 0; rest < 2; rest++, k++) {
        const int *names = other[k % 6];
        set_all(rest ? "two names, the rest anonymous" : "one node has another name", names[0], rest ? ANON : 0);
        if (rest)
          for (p = 0; p < nodes; p++) set(p, (int)(p + k), ANON);
        set(a, names[0], 0);
        set(b, names[1], 0);
        run_all();
      }
      set_all("equal names, after a mismatch", (int)k, 0);
      run_phase(BY_WAIT);
    }
}

static void item98_odd_one(void) {
  gasnet_node_t odd, p;
  int i = 0;
  for (odd = 0; odd < nodes; odd++, i++) {
    set_all("one named, the rest anonymous", -5, ANON);
    for (p = 0; p < nodes; p++) set(p, (int)p + 70, ANON);
    set(odd, ids[i % IDS], 0);
    run_all();
    set_all("one anonymous, the rest named", ids[i % IDS], 0);
    set(odd, ids[(i + 1) % IDS], ANON);
    run_all();
  }
}

static void item99_mismatch_flag(void) {
  static const int rest[] = {0, ANON, UNNAMED};
  static const int flag[] = {MISMATCH, MISMATCH | ANON};
  gasnet_node_t odd;
  int i, k;
  for (odd = 0; odd < nodes; odd++)
    for (i = 0; i < 2; i++)
      for (k = 0; k < 2; k++) { /* the rest named or anonymous; UNNAMED is a promise about all */
        set_all("MISMATCH at the notify of one", 4, rest[k]);
        set(odd, 4, flag[i]);
        run_all();
        now.wait[odd].flags = rest[k]; /* and not at its wait */
        run_all();
      }
  set_all("MISMATCH by all", 1, MISMATCH);
  run_all();
}

static void item100_wait_name(void) {
  gasnet_node_t odd, p;
  int i;
  for (odd = 0; odd < nodes; odd++)
    for (i = (int)odd; i < IDS; i += 4) {
      set_all("one waits for another name", ids[i], 0);
      now.wait[odd].id = ids[(i + 1) % IDS];
      run_phase(i % 2);
      set_all("the phase after a wait for another name", ids[i], 0);
      run_phase((i + 1) % HOWS);
    }
  for (odd = 0; odd < nodes; odd++) {
    set_all("MISMATCH at the wait of one", 9, 0);
    now.wait[odd].flags = MISMATCH;
    run_all();
    set_all("MISMATCH at the wait of one, anonymous phase", 9, ANON);
    now.wait[odd].flags = MISMATCH | ANON;
    run_all();
  }
  set_all("everyone waits for a name of its own", 9, 0);
  for (p = 0; p < nodes; p++) now.wait[p].id = (int)p + 9;
  run_all();
}

static void item101_mixed(void) {
  gasnet_node_t odd, p;
  int i;
  for (odd = 0; odd < nodes; odd++)
    for (i = (int)odd % 3; i < IDS; i += 6) {
      set_all("anonymous notify, named wait", 0, ANON);
      now.wait[odd].id = ids[i], now.wait[odd].flags = 0; /* nobody named */
      run_all();
      set_all("anonymous notify, wait with the name of the others", ids[i], 0);
      now.notify[odd].flags = ANON, now.notify[odd].id = 12345; /* with one node: nobody named */
      run_all();
      set_all("anonymous notify, wait with a wrong name", ids[i], 0);
      now.notify[odd].flags = ANON, now.wait[odd].id = ids[i] + 1;
      run_all();
      set_all("named notify, anonymous wait", ids[i], 0);
      now.wait[odd].flags = ANON, now.wait[odd].id = 777;
      run_all();
      set_all("one named notify, all wait by that name", 0, ANON);
      now.notify[odd].id = ids[i], now.notify[odd].flags = 0;
      for (p = 0; p < nodes; p++) now.wait[p].id = ids[i], now.wait[p].flags = 0;
      run_all();
    }
}

/* Anything: the model knows. All nodes draw the same numbers. */
static void random_phases(int count, unsigned seed) {
  static const int flags[] = {0, 0, 0, ANON, ANON, ANON, 0, MISMATCH};
  unsigned state = seed;
  gasnet_node_t p;
  int i;
  for (i = 0; i < count; i++) {
    unsigned strange = test_random(&state) % 4; /* how likely a node is odd */
    int name = (int)test_random(&state);
    set_all("random", name, test_random(&state) % 3 ? 0 : ANON);
    for (p = 0; p < nodes; p++) {
      if (test_random(&state) % 8 < strange)
        now.notify[p].flags = now.wait[p].flags = flags[test_random(&state) % 8];
      if (test_random(&state) % 16 < strange) now.notify[p].id = now.wait[p].id = name ^ (1 << test_random(&state) % 31);
      if (test_random(&state) % 16 < strange) now.wait[p].id = name + 1;
      if (test_random(&state) % 16 < strange) now.wait[p].flags = flags[test_random(&state) % 8];
    }
    run_phase(i % HOWS);
  }
}

static void everything(unsigned seed) {
  item96_equal();
  item97_two_names();
  item98_odd_one();
  item99_mismatch_flag();
  item100_wait_name();
  item101_mixed();
  random_phases(120, seed);
}

#ifdef GASNET_PAR
static volatile int stop;
static gasnet_hsl_t stop_lock = GASNET_HSL_INITIALIZER;
static void *polls(void *arg) {
  int end = 0;
  (void)arg;
  while (!end) {
    GASNET_SAFE(gasnet_AMPoll());
    gasnet_hsl_lock(&stop_lock);
    end = stop;
    gasnet_hsl_unlock(&stop_lock);
  }
  return NULL;
}
static void with_poller(unsigned seed) { /* item 103 */
  pthread_t poller;
  stop = 0;
  if (pthread_create(&poller, NULL, polls, NULL) != 0) gasnet_exit(98);
  everything(seed);
  gasnet_hsl_lock(&stop_lock);
  stop = 1;
  gasnet_hsl_unlock(&stop_lock);
  pthread_join(poller, NULL);
}
#else
static void with_poller(unsigned seed) { (void)seed; }
#endif

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_TRAFFIC, (void (*)())traffic_h}};
  long iterations, i;
  core_init(&argc, &argv, "testbarrierconf");
  iterations = core_number(argc, argv, 1, 1);
  if (nodes > MAXNODES) gasnet_exit(77);
  rma_attach(table, 1, 4096);
  test_begin("testbarrierconf");
  for (i = 0; i < iterations; i++) {
    is_traffic = 0;
    everything((unsigned)i + 99);
    is_traffic = 1;
    everything((unsigned)i + 1999);
    gasnet_wait_syncnbi_puts();
    with_poller((unsigned)i + 5);
    gasnet_wait_syncnbi_puts();
  }
  test_barrier();
  while (traffic_got < traffic_sent) GASNET_SAFE(gasnet_AMPoll()); /* each sends as much as it gets */
  test_end();
  return 0;
}
