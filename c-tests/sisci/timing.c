/* SISCI_TIMING=d339: what goes where, and that nothing is faster than the card.
 *
 *   timing          checks
 *   timing ROUNDS   also prints medians beside the model's times, in microseconds */
#include "test.h"

static _Atomic int *words;
static int rounds;

static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b; }

/* The median of measured times beside the model's. None may be shorter. */
static void row(const char *what, double *times, int n, double model) {
  qsort(times, (size_t)n, sizeof *times, by_value);
  if (times[0] < model * 0.999) FAIL("%s: %.2f us, the card needs %.2f", what, times[0], model);
  if (rounds > 0) printf("%-40s %10.2f %10.2f  %5.3f\n", what, times[n / 2], model, times[n / 2] / model);
  fflush(stdout);
}

static char from[1 << 20];

/* Copies and DMA, seen by the process that makes them. */
static void copies(void *arg) {
  static const struct {
    size_t size;
    double pio, dma;
  } table[] = {{64, 2.70, 30.28}, {1 << 10, 7.74, 34.47}, {2 << 10, 13.11, 38.94}, {16 << 10, 88.35, 101.5}, {32 << 10, 174.3, 173.0}, {128 << 10, 690.4, 602.3}, {1 << 20, 5521.0, 4608.0}};
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 1, 1 << 20, 0), mine;
  sci_remote_segment_t r = connected(sd, 4, 1, 0);
  sci_map_t map, own, small;
  sci_dma_queue_t d;
  sci_sequence_t q;
  double times[99], start = now();
  int n = rounds > 0 ? rounds : 3, t;
  volatile char *out = (volatile char *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  char *in, *source, text[64];
  size_t k, i;
  (void)arg;
  CHECK(out != NULL && now() - start >= 200);
  in = (char *)SCIMapLocalSegment(s, &own, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateSegment(sd, &mine, 0, 1 << 20, NULL, NULL, SCI_FLAG_PRIVATE, &e));
  EXPECT(OK, SCIPrepareSegment(mine, 0, 0, &e));
  source = (char *)SCIMapLocalSegment(mine, &small, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateDMAQueue(sd, &d, 0, 1, 0, &e));
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  for (k = 0; k < sizeof table / sizeof *table; k++) {
    size_t size = table[k].size;
    for (t = 0; t < n; t++) {
      for (i = 0; i < size; i++) from[i] = (char)(i * 7 + (size_t)t + k);
      SCICheckSequence(q, 0, &e); /* nothing of the round before is under way */
      start = now();
      EXPECT(OK, SCIMemCpy(NULL, from, map, 0, size, 0, &e));
      SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
      times[t] = now() - start;
      CHECK(memcmp(in, from, size) == 0 && memcmp((const void *)(uintptr_t)out, from, size) == 0);
    }
    snprintf(text, sizeof text, "SCIMemCpy of %zu bytes", size);
    row(text, times, n, table[k].pio);
    for (t = 0; t < n; t++) {
      for (i = 0; i < size; i++) source[i] = (char)(i * 5 + (size_t)t + k);
      start = now();
      EXPECT(OK, SCIStartDmaTransfer(d, mine, r, 0, size, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
      times[t] = now() - start;
      CHECK(memcmp(in, source, size) == 0);
    }
    snprintf(text, sizeof text, "DMA of %zu bytes", size);
    row(text, times, n, table[k].dma);
  }
  for (t = 0; t < n; t++) {
    start = now();
    EXPECT(OK, SCIMemCpy(NULL, from, map, 0, 256, SCI_FLAG_BLOCK_READ, &e));
    times[t] = now() - start;
  }
  CHECK(memcmp(in, from, 256) == 0);
  row("SCIMemCpy of 256 bytes, BLOCK_READ", times, n, 4 * 27.0);
  SCITerminate();
}

/* Plain stores of every size go where they belong, and nowhere else. */
static void stores(void *arg) {
  enum { BYTES = 20000 };
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 2, BYTES, 0);
  sci_remote_segment_t r = connected(sd, 4, 2, 0);
  sci_map_t map, second, own;
  volatile char *out = (volatile char *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  volatile char *part = (volatile char *)SCIMapRemoteSegment(r, &second, 4096 + 8, 100, NULL, 0, &e);
  volatile char *in = (volatile char *)SCIMapLocalSegment(s, &own, 0, 0, NULL, 0, &e);
  static char expected[BYTES];
  unsigned seed = 1, i, k;
  (void)arg;
  for (k = 0; k < 2000; k++) {
    for (i = 0; i < k % 7; i++) random_store(&seed, out, expected, BYTES);
    switch (k % 4) {
      case 0: SCIFlush(NULL, 0); break;
      case 1: SCIStoreBarrier(NULL, 0); break;
      case 2: SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY); break;
      default:
        EXPECT(OK, SCIMemWrite(expected + 64, out + 64, 64, 0, &e));
        SCIFlush(NULL, 0);
    }
    CHECK(memcmp((const void *)(uintptr_t)in, expected, BYTES) == 0);
  }
  /* Both maps show one memory; what the owner stores is shown when it is asked for, and by itself. */
  out[4096 + 8 + 5] = 77;
  CHECK(part[5] == 77);
  in[9000] = 78;
  SCIFlushReadBuffers(NULL);
  CHECK(out[9000] == 78 && in[4096 + 8 + 5] == 77);
  in[9001] = 79;
  while (out[9001] != 79) sched_yield();
  /* Neither side's bytes of one word hide the other's. */
  in[9003] = 80, out[9002] = 81;
  SCIFlush(NULL, 0);
  CHECK(in[9003] == 80 && in[9002] == 81);
  /* Without a flush it takes a while. */
  out[9100] = 82;
  while (in[9100] != 82) sched_yield();
  EXPECT(OK, SCIUnmapSegment(second, 0, &e));
  out[9101] = 83;
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  CHECK(in[9101] == 83);
  SCITerminate();
}

/* A line of plain stores there and back. */
enum { LAPS = 300 };
static void line(void *arg) {
  int first = arg == NULL, i, k;
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 5, 4096, 0);
  sci_remote_segment_t r = connected(sd, first ? 8 : 4, 5, 0);
  sci_map_t a, b;
  volatile int *in = (volatile int *)SCIMapLocalSegment(s, &a, 0, 0, NULL, 0, &e), *out = (volatile int *)SCIMapRemoteSegment(r, &b, 0, 0, NULL, 0, &e);
  static double times[LAPS];
  meet(words, 2);
  for (i = 1; i <= LAPS; i++) {
    double start = now();
    if (!first) {
      while (in[0] != i) sched_yield();
    }
    for (k = 15; k >= 0; k--) out[k] = i;
    SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
    if (first) {
      while (in[0] != i) {
      }
      times[i - 1] = (now() - start) / 2;
    }
  }
  if (first) row("a line of plain stores, one way", times, LAPS, 2.70);
  meet(words, 2);
  SCITerminate();
}

/* Who sleeps for a trigger finds what was stored before it. */
static void interrupts(void *arg) {
  int first = arg == NULL, i;
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 6, 4096, 0);
  sci_remote_segment_t r = connected(sd, first ? 8 : 4, 6, 0);
  sci_map_t a, b;
  sci_local_interrupt_t own;
  sci_remote_interrupt_t peer;
  unsigned no = 6;
  volatile int *in = (volatile int *)SCIMapLocalSegment(s, &a, 0, 0, NULL, 0, &e), *out = (volatile int *)SCIMapRemoteSegment(r, &b, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateInterrupt(sd, &own, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words, 2);
  EXPECT(OK, SCIConnectInterrupt(sd, &peer, first ? 8 : 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 1; i <= 100; i++) {
    if (!first) EXPECT(OK, SCIWaitForInterrupt(own, SCI_INFINITE_TIMEOUT, 0, &e));
    if (!first) CHECK(in[7] == i);
    out[7] = i;
    EXPECT(OK, SCITriggerInterrupt(peer, 0, &e));
    if (first) EXPECT(OK, SCIWaitForInterrupt(own, SCI_INFINITE_TIMEOUT, 0, &e));
    if (first) CHECK(in[7] == i);
  }
  meet(words, 2);
  SCITerminate();
}

int main(int argc, char **argv) {
  pid_t a, b;
  rounds = argc > 1 ? atoi(argv[1]) : 0;
  words = shared_words();
  setenv("SISCI_TIMING", "d339", 1);
  joined(node(4, copies, NULL));
  joined(node(4, stores, NULL));
  a = node(4, line, NULL), b = node(8, line, words);
  joined(a), joined(b);
  a = node(4, interrupts, NULL), b = node(8, interrupts, words);
  joined(a), joined(b);
  puts("timing: passed");
  return 0;
}
