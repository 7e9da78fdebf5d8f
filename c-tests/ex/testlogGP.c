/* What a put costs the process that starts it, with polls between the puts: the overhead and the gap of LogGP. Only pairs of processes
 * work. Contract: ex-rma.md section 14.
 *
 *   testlogGP iters pollcnt size...      iters: puts of each row; pollcnt: polls after each put; size: bytes, one row of each
 *
 * A row has: the time of the call that starts a put, of the polls after it, of the wait at the end, and of all for each put. */
#include "testperf.h"

static long iters, polls;
static gex_Event_t *events;
static unsigned char *source;

static void measure(int implicit, size_t size) {
  double inject = 0, poll = 0, wait, whole = now_us();
  long i, k;
  for (i = 0; i < iters; i++) {
    double t = now_us(), then;
    if (implicit) (void)gex_RMA_PutNBI(tm, peer, area[peer], source, size, GEX_EVENT_DEFER, 0);
    else events[i] = gex_RMA_PutNB(tm, peer, area[peer], source, size, GEX_EVENT_DEFER, 0);
    then = now_us();
    inject += then - t;
    for (k = 0; k < polls; k++) gasnet_AMPoll();
    poll += now_us() - then;
  }
  wait = now_us();
  if (implicit) gex_NBI_Wait(GEX_EC_PUT, 0);
  else gex_Event_WaitAll(events, (size_t)iters, 0);
  wait = now_us() - wait;
  whole = now_us() - whole;
  printf("%2u: put %-3s %8lu B %7ld iters %4ld polls  overhead = %9.3f us  polls = %9.3f us  wait = %11.3f us  gap = %9.3f us\n", (unsigned)me,
         implicit ? "NBI" : "NB", (unsigned long)size, iters, polls, inject / (double)iters, poll / (double)iters, wait, whole / (double)iters);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const char usage[] = "testlogGP iters pollcnt size...";
  size_t most = 0, size;
  int arg, i, implicit;
  begin("testlogGP", &argc, &argv);
  arg = options(argc, argv, NULL, 0, argc, usage);
  if (argc - arg < 3) misuse(usage);
  iters = positional(argc, argv, arg, 1);
  polls = positional(argc, argv, arg + 1, 0);
  for (i = arg + 2; i < argc; i++)
    if ((size_t)positional(argc, argv, i, 1) > most) most = (size_t)positional(argc, argv, i, 1);
  make_areas(most + 1);
  make_pairs();
  source = (unsigned char *)malloc(most), events = (gex_Event_t *)malloc((size_t)iters * sizeof *events);
  if (source == NULL || events == NULL) gasnet_exit(98);
  for (i = arg + 2; i < argc; i++)
    for (implicit = 0; implicit < 2; implicit++) {
      const unsigned seed = 10 * (unsigned)i + 5 * (unsigned)implicit;
      size = (size_t)positional(argc, argv, i, 1);
      fill(source, seed + me, size);
      memset(area[me], 0xee, size + 1);
      BARRIER();
      if (sends) measure(implicit, size);
      BARRIER();
      if (receives) CHECK(filled(area[me], seed + peer, size));
      CHECK(area[me][receives ? size : 0] == 0xee);
    }
  free(source), free(events);
  return end();
}
