/* Long non-blocking transfers and computing at the same time: the part of a transfer that is hidden behind work
 * without GASNet calls, and the rules that must hold while the DMA thread, and not a client's call, moves the bytes.
 *
 * usage: testoverlap [-t] [-m] [rounds [KiB]]
 *   rounds  of each measure, default 15
 *   KiB     of a transfer, default 4096
 *   -t      times only, without the checks. In these, nodes spin without a call; under a real-time scheduler on few cores
 *           they would keep all others off
 *   -m      machine: testoverlap,form,bytes,compute us,transfer us,both us,call us,hidden
 *
 * Every round times the work alone, the transfer alone, and the transfer with the work between start and sync.
 * "hidden" is the time saved, divided by the shorter of work and transfer: 0 = nothing, 1 = all of it. The columns
 * are medians; the program does not check speed. Node 0 works with node 1 (with itself if it is alone), the others
 * wait in a barrier. Without GASNET_SCI_DMA nothing is hidden. With it each node needs a second core while its peer
 * waits. */
#include "../testcore.h"

#include <pthread.h>
#include <signal.h>

enum { MAXROUNDS = 101, DEADLINE = 60 };
static int rounds = 15, machine, times_only;
static size_t size = 4u << 20;
static gasnet_node_t right;
static unsigned char *local; /* `size` bytes outside the segment */

/* An area holds `size` bytes that the left neighbour writes, then as many that are read. */
static unsigned char *written(gasnet_node_t p) { return core_area[p]; }
static unsigned char *read_only(gasnet_node_t p) { return core_area[p] + size; }

static int is(const char *name, const char *value) {
  const char *found = gasnet_getenv(name);
  return found && strcmp(found, value) == 0;
}
/* True if transfers must progress without calls of this program. Transfers that are messages need calls: those in
 * EVERYTHING mode and in `ref`, and those with the peers that GASNET_SCI_UNMAPPED names. */
static int has_engine(void) {
  int mapped = 1;
#if defined(GASNET_SEGMENT_EVERYTHING)
  mapped = 0;
#endif
  if (gasnet_getenv("GASNET_SCI_UNMAPPED") && !is("GASNET_SCI_UNMAPPED", "no")) mapped = 0;
  return mapped && (is("GASNET_SCI_DMA", "thread") || is("GASNET_SCI_DMA", "always")) && !is("GASNET_SCI_EXTENDED", "ref");
}

/* ---- a transfer progresses while no node makes a call ---- */

/* The last byte of `at` becomes `value`, without a call; false after a minute. */
static int arrives(volatile unsigned char *at, unsigned char value) {
  const double end = test_now() + DEADLINE;
  while (at[size - 1] != value)
    if (test_now() > end) return 0;
  return 1;
}

static void check_same(const void *at, unsigned seed, const char *what) {
  size_t wrong = core_differs(at, size, seed);
  CHECK(wrong == size, "%s: byte %lu of %lu", what, (unsigned long)wrong, (unsigned long)size);
}

/* Every node puts to its right neighbour and waits for the bytes of its left one, without a call: a ring. */
static void put_without_calls(unsigned seed, int implicit) {
  const gasnet_node_t left = (me + nodes - 1) % nodes;
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  core_fill(local, size, seed + me);
  written(me)[size - 1] = (unsigned char)~test_byte(seed + left, size - 1);
  test_barrier();
  if (implicit) gasnet_put_nbi_bulk(right, written(right), local, size);
  else h = gasnet_put_nb_bulk(right, written(right), local, size);
  if (has_engine())
    CHECK(arrives(written(me), test_byte(seed + left, size - 1)), "nothing came from node %d in a minute", (int)left);
  if (implicit) gasnet_wait_syncnbi_puts();
  else gasnet_wait_syncnb(h);
  test_barrier();
  check_same(written(me), seed + left, implicit ? "put_nbi_bulk" : "put_nb_bulk");
  test_barrier();
}

static void get_without_calls(int form) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  const unsigned char last = test_byte(7000u + right, size - 1);
  memset(local, 0, size);
  local[size - 1] = (unsigned char)~last;
  if (form == 0) h = gasnet_get_nb_bulk(local, right, read_only(right), size);
  else if (form == 1) h = gasnet_get_nb(local, right, read_only(right), size);
  else {
    gasnet_begin_nbi_accessregion();
    gasnet_get_nbi_bulk(local, right, read_only(right), size);
    h = gasnet_end_nbi_accessregion();
  }
  if (has_engine()) CHECK(arrives(local, last), "nothing came in a minute");
  if (form) gasnet_wait_syncnb(h);
  else
    while (gasnet_try_syncnb(h) != GASNET_OK) continue;
  check_same(local, 7000u + right, "get");
}

/* The source of a put that is not bulk is free at its return, whether the caller or the DMA thread makes the transfer. */
static void source_is_free(unsigned seed) {
  gasnet_handle_t h;
  core_fill(local, size, seed);
  h = gasnet_put_nb(right, written(right), local, size);
  memset(local, 0, size);
  gasnet_wait_syncnb(h);
  core_fill(local, size, seed + 1);
  gasnet_put_nbi(right, written(right), local, size);
  memset(local, 0, size);
  gasnet_wait_syncnbi_puts();
  gasnet_get_bulk(local, right, written(right), size);
  check_same(local, seed + 1, "put_nbi");
}

/* ---- a signal is the client's threads' ---- */

static volatile sig_atomic_t signals;
static pthread_t taker;
static void on_signal(int sig) {
  (void)sig;
  signals++;
  taker = pthread_self();
}

static void signals_stay_here(void) {
  struct sigaction act, old;
  sigset_t one, mask, pending;
  gasnet_handle_t h;
  memset(&act, 0, sizeof act);
  act.sa_handler = on_signal;
  sigaction(SIGUSR2, &act, &old);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, &mask);
  h = gasnet_get_nb_bulk(local, right, read_only(right), size);
  kill(getpid(), SIGUSR2); /* to the process: any thread that does not block it would take it */
  gasnet_wait_syncnb(h);
  sigpending(&pending);
  CHECK(signals == 0 && sigismember(&pending, SIGUSR2), "%d signals were taken by another thread", (int)signals);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  CHECK(signals == 1 && pthread_equal(taker, pthread_self()), "%d signals", (int)signals);
  sigaction(SIGUSR2, &old, NULL);
}

/* ---- how much is hidden ---- */

static volatile unsigned long long sink;
static void compute(long n) {
  unsigned long long x = sink + 1;
  for (; n > 0; n--) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
  sink = x;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
static double median(double *v) {
  qsort(v, (size_t)rounds, sizeof *v, by_value);
  return v[rounds / 2];
}

static gasnet_handle_t start(int put) {
  return put ? gasnet_put_nb_bulk(right, written(right), local, size)
             : gasnet_get_nb_bulk(local, right, read_only(right), size);
}

static void measure(int put) {
  static double alone[MAXROUNDS], transfer[MAXROUNDS], both[MAXROUNDS], call[MAXROUNDS], hidden[MAXROUNDS];
  const char *name = put ? "put_nb_bulk" : "get_nb_bulk";
  double a, t, b, c, f;
  long work = 100000;
  int r;
  for (r = 0; r < 3; r++) { /* work that takes about as long as the transfer; also a warm-up */
    a = test_now(), compute(work), a = test_now() - a;
    t = test_now(), gasnet_wait_syncnb(start(put)), t = test_now() - t;
    work = (long)((double)work * t / (a > 0 ? a : 1e-9)) + 1;
  }
  for (r = 0; r < rounds; r++) {
    gasnet_handle_t h;
    double at = test_now();
    compute(work);
    a = test_now() - at;
    at = test_now();
    gasnet_wait_syncnb(start(put));
    t = test_now() - at;
    at = test_now();
    h = start(put);
    c = test_now() - at;
    compute(work);
    gasnet_wait_syncnb(h);
    b = test_now() - at;
    alone[r] = a, transfer[r] = t, both[r] = b, call[r] = c, hidden[r] = (a + t - b) / (a < t ? a : t);
  }
  a = median(alone) * 1e6, t = median(transfer) * 1e6, b = median(both) * 1e6, c = median(call) * 1e6, f = median(hidden);
  if (machine)
    printf("testoverlap,%s,%lu,%.1f,%.1f,%.1f,%.1f,%.3f\n", name, (unsigned long)size, a, t, b, c, f);
  else
    printf("%-12s %9lu B  compute %9.1f us  transfer %9.1f us  both %9.1f us  call %9.1f us  hidden %4.0f %%\n", name,
           (unsigned long)size, a, t, b, c, f * 100);
  fflush(stdout);
}

int main(int argc, char **argv) {
  int form;
  core_init(&argc, &argv, "testoverlap");
  for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
    if (strcmp(argv[1], "-m") == 0) machine = 1;
    else if (strcmp(argv[1], "-t") == 0) times_only = 1;
  }
  rounds = (int)core_number(argc, argv, 1, rounds);
  if (rounds > MAXROUNDS) rounds = MAXROUNDS;
  size = (size_t)core_number(argc, argv, 2, 4096) << 10;
  core_attach(NULL, 0, 2 * size);
  right = (me + 1) % nodes;
  local = (unsigned char *)malloc(size);
  if (!local) gasnet_exit(98);
  core_fill(read_only(me), size, 7000u + me);
  test_begin("testoverlap");

  if (!times_only) {
    for (form = 0; form < 4; form++) put_without_calls(100u * (unsigned)form, form & 1);
    for (form = 0; form < 3; form++) get_without_calls(form);
    source_is_free(900);
    test_barrier();
    signals_stay_here();
  }
  test_barrier();
  if (me == 0) measure(1), measure(0);
  test_barrier();

  /* Transfers in flight do not delay the end of the job: these are never synchronised. */
  for (form = 0; form < 8; form++) gasnet_put_nbi_bulk(right, written(right), local, size);
  test_end();
  return 0;
}
