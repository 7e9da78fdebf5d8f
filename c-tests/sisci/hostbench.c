/* Figures of nodes on two hosts, which are network namespaces, beside TCP alone between the same two, in one run: medians of rounds in turns.
 *
 *   hostbench [ROUNDS]     default 9 */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

enum { LAPS = 500, LARGE = 1 << 20, COPIES = 20 };
static _Atomic int *words;
static int rounds = 9;
static double ours[99], bare[99];
static char large[LARGE];

static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b; }

static double median(double *v) {
  qsort(v, (size_t)rounds, sizeof *v, by_value);
  return v[rounds / 2];
}

/* What TCP needs: blocking calls, small pieces at once. */
static int joined_by_tcp(int first) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(5000)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  inet_pton(AF_INET, "10.77.0.1", &at.sin_addr);
  if (first) {
    int listener = fd;
    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    meet(words, 2);
    fd = accept(listener, NULL, NULL);
    close(listener);
  } else {
    meet(words, 2);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
  }
  CHECK(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
  return fd;
}

static void put(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
    if (n <= 0) FAIL("send: %s", strerror(errno));
    bytes += n, size -= (size_t)n;
  }
}

static void take(int fd, char *bytes, size_t size) {
  while (size > 0) {
    ssize_t n = recv(fd, bytes, size, 0);
    if (n <= 0) FAIL("recv: %s", strerror(errno));
    bytes += n, size -= (size_t)n;
  }
}

static void row(const char *what, double per) {
  double a, b;
  if (per <= 0) return;
  a = median(ours) / per, b = median(bare) / per;
  printf("%-52s %9.1f %9.1f us  %5.2f\n", what, a, b, a / b);
  fflush(stdout);
}

static void flag_taken(volatile long *flag) {
  while (*flag == 0) sched_yield();
  *flag = 0;
}

static void side(void *arg) {
  int first = arg == NULL, fd = joined_by_tcp(first), t, i;
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 1, LARGE, 0);
  sci_remote_segment_t r = connected(sd, first ? 8 : 4, 1, 0);
  sci_map_t mine, theirs;
  sci_dma_queue_t q;
  sci_local_interrupt_t own;
  sci_remote_interrupt_t peer;
  unsigned no = 1;
  volatile long *in = (volatile long *)SCIMapLocalSegment(s, &mine, 0, 4096, NULL, 0, &e), *out = (volatile long *)SCIMapRemoteSegment(r, &theirs, 0, 4096, NULL, 0, &e);
  sci_map_t all;
  long lap = 0;
  double longest = 0;
  char word[8] = {0};
  int kind;
  CHECK(SCIMapRemoteSegment(r, &all, 0, 0, NULL, 0, &e) != NULL);
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &own, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words + 1, 2);
  EXPECT(OK, SCIConnectInterrupt(sd, &peer, first ? 8 : 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  for (kind = 0; kind < 4; kind++) {
    int laps = kind == 1 ? LAPS / 10 : LAPS;
    static const char *const names[] = {"8 bytes there and back, SCIFlush", "the same without a flush", "an interrupt there and back", "a flag that is cleared there and back, SCIFlush"};
    for (t = 0; t < rounds; t++) {
      double start = now();
      for (i = 0; i < laps; i++) {
        if (first) put(fd, word, 8);
        take(fd, word, 8);
        if (!first) put(fd, word, 8);
      }
      bare[t] = now() - start;
      meet(words + 1, 2);
      start = now();
      for (i = 0; i < laps; i++) {
        double began = now();
        lap++;
        if (!first && kind < 2) while (in[0] != lap) sched_yield();
        if (!first && kind == 3) flag_taken(in + 8);
        if (!first && kind == 2) EXPECT(OK, SCIWaitForInterrupt(own, SCI_INFINITE_TIMEOUT, 0, &e));
        if (kind == 2) {
          EXPECT(OK, SCITriggerInterrupt(peer, 0, &e));
        } else {
          out[kind == 3 ? 8 : 0] = kind == 3 ? 1 : lap;
          if (kind != 1) SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
        }
        if (first && kind < 2) while (in[0] != lap) sched_yield();
        if (first && kind == 3) flag_taken(in + 8);
        if (first && kind == 2) EXPECT(OK, SCIWaitForInterrupt(own, SCI_INFINITE_TIMEOUT, 0, &e));
        if (kind == 1 && now() - began > longest) longest = now() - began;
      }
      ours[t] = now() - start;
      meet(words + 1, 2);
    }
    if (first) row(names[kind], laps);
    if (first && kind == 1) printf("%-52s %9.1f us\n", "the longest of them", longest);
  }
  for (kind = 0; kind < 4; kind++) {
    static const char *const names[] = {"1 MiB by SCIMemCpy, ERROR_CHECK", "1 MiB by DMA", "1 MiB read by DMA", "a segment connected, mapped, left"};
    for (t = 0; t < rounds; t++) {
      double start = now();
      for (i = 0; i < COPIES; i++) {
        if (kind == 3) {
          if (first) put(fd, word, 8);
          take(fd, word, 8);
          if (!first) put(fd, word, 8);
        } else if (first) {
          put(fd, large, LARGE), take(fd, word, 1);
        } else {
          take(fd, large, LARGE), put(fd, word, 1);
        }
      }
      bare[t] = now() - start;
      meet(words + 1, 2);
      start = now();
      for (i = 0; first && i < COPIES; i++) {
        sci_remote_segment_t more;
        sci_map_t map;
        memset(large, i + t, sizeof large);
        switch (kind) {
          case 0: EXPECT(OK, SCIMemCpy(NULL, large, all, 0, LARGE, SCI_FLAG_ERROR_CHECK, &e)); break;
          case 1: EXPECT(OK, SCIStartDmaTransferMem(q, large, r, LARGE, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e)); break;
          case 2: EXPECT(OK, SCIStartDmaTransferMem(q, large, r, LARGE, 0, NULL, NULL, SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_READ, &e)); break;
          default:
            more = connected(sd, 8, 1, 0);
            CHECK(SCIMapRemoteSegment(more, &map, 0, 4096, NULL, 0, &e) != NULL);
            EXPECT(OK, SCIUnmapSegment(map, 0, &e));
            EXPECT(OK, SCIDisconnectSegment(more, 0, &e));
        }
      }
      ours[t] = now() - start;
      meet(words + 1, 2);
    }
    if (first) row(names[kind], COPIES);
  }
  SCITerminate();
}

int main(int argc, char **argv) {
  pid_t a, b;
  if (argc > 1) rounds = atoi(argv[1]);
  words = shared_words();
  two_hosts();
  a = node(4, side, NULL), b = node(8, side, words);
  joined(a), joined(b);
  return 0;
}
