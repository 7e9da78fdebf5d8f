/* Figures of libsisci beside what the machine itself needs for the same, in one run: medians of rounds in turns.
 *
 *   bench [ROUNDS]     default 9; verifies what it moves */
#include "test.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/un.h>

static _Atomic int *words;
static int rounds = 9;
static double ours[99], bare[99];

static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b; }
static double median(double *v) {
  qsort(v, (size_t)rounds, sizeof *v, by_value);
  return v[rounds / 2];
}
static void row(const char *what, const char *unit, double scale) {
  double a = median(ours) * scale, b = median(bare) * scale;
  printf("%-58s %9.3f %9.3f %s  %5.2f\n", what, a, b, unit, a / b);
  fflush(stdout);
}

static char from[1 << 20], to[1 << 20];

/* The least that a copy by a handle is: the handle's place in a table, whether it still stands there, and whether the bytes are in the map. */
static struct {
  size_t key, size;
  char *base;
} *volatile places;

__attribute__((noinline)) static unsigned copy_by_handle(const void *memory, size_t handle, size_t offset, size_t size) {
  size_t place = handle >> 4 & 63;
  if (places[place].key != handle || offset > places[place].size || size > places[place].size - offset) return 1;
  memmove(places[place].base + offset, memory, size);
  return 0;
}

/* Copies by the processor and by DMA, within one process. */
static void copies(void *arg) {
  static const size_t sizes[] = {64, 4096, 1 << 20};
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 1, 1 << 20, 0), mine;
  sci_remote_segment_t r = connected(sd, 4, 1, 0);
  sci_map_t map, own;
  sci_sequence_t q;
  sci_dma_queue_t d;
  volatile char *p = (volatile char *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  char *source;
  void *(*volatile copy)(void *, const void *, size_t) = memcpy;
  char text[80];
  size_t k, i, n;
  int t;
  (void)arg, (void)s;
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &mine, 0, 1 << 20, NULL, NULL, SCI_FLAG_PRIVATE, &e));
  EXPECT(OK, SCIPrepareSegment(mine, 0, 0, &e));
  source = (char *)SCIMapLocalSegment(mine, &own, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateDMAQueue(sd, &d, 0, 1, 0, &e));
  places = calloc(64, sizeof *places);
  CHECK(places != NULL);
  places[7].key = 0x74, places[7].size = 1 << 20, places[7].base = (char *)(uintptr_t)p;
  for (i = 0; i < sizeof from; i++) source[i] = from[i] = (char)(i * 13 + i / 4096);
  for (k = 0; k < 3; k++) {
    n = (size_t)(40 << 20) / (sizes[k] < 4096 ? sizes[k] * 8 : sizes[k]);
    double start;
    for (int kind = 0; kind < 5; kind++) {
      if (kind == 3 && k != 2) continue;
      for (t = 0; t < rounds; t++) {
        start = now();
        for (i = 0; i < n; i++) copy(to, kind == 3 ? source : from, sizes[k]), atomic_signal_fence(memory_order_seq_cst);
        bare[t] = (now() - start) / (double)n;
        start = now();
        switch (kind) {
          case 0: for (i = 0; i < n; i++) SCIMemCpy(NULL, from, map, 0, sizes[k], 0, &e); break;
          case 1: for (i = 0; i < n; i++) SCIMemWrite(from, p, sizes[k], 0, &e); break;
          case 2: for (i = 0; i < n; i++) SCIMemCpy(q, from, map, 0, sizes[k], SCI_FLAG_ERROR_CHECK, &e); break;
          case 4: for (i = 0, e = SCI_ERR_OK; i < n; i++) e |= copy_by_handle(from, 0x74, 0, sizes[k]); break;
          default: for (i = 0; i < n; i++) SCIStartDmaTransfer(d, mine, r, 0, sizes[k], 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e);
        }
        ours[t] = (now() - start) / (double)n;
        CHECK(e == SCI_ERR_OK && memcmp((const void *)(uintptr_t)p, from, sizes[k]) == 0);
      }
      snprintf(text, sizeof text, "%s of %zu bytes | memcpy",
               kind == 0 ? "SCIMemCpy" : kind == 1 ? "SCIMemWrite" : kind == 2 ? "SCIMemCpy, ERROR_CHECK" : kind == 3 ? "SCIStartDmaTransfer, DMA_WAIT" : "the least by a handle", sizes[k]);
      row(text, "ns", 1000);
    }
  }
  SCITerminate();
}

/* A segment made, connected, mapped and freed, and what a program needs for the same with sockets and memory files alone: a thread that lets in who comes. */
enum { LISTENER = 1 << 30, SEGMENT = 8192, CYCLES = 200 };
static int watched, offered_file;

/* A message that may carry a file. */
struct post {
  char bytes[32];
  struct iovec part;
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
  } control;
  struct msghdr whole;
};

static struct msghdr *with_file(struct post *p) {
  memset(p, 0, sizeof *p);
  p->part = (struct iovec){p->bytes, sizeof p->bytes};
  p->control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  p->whole = (struct msghdr){.msg_iov = &p->part, .msg_iovlen = 1, .msg_control = p->control.bytes, .msg_controllen = sizeof p->control.bytes};
  return &p->whole;
}

static void look_at(int fd, int data) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = data};
  CHECK(epoll_ctl(watched, EPOLL_CTL_ADD, fd, &event) == 0);
}

static void *lets_in(void *arg) {
  for (;;) {
    struct epoll_event event;
    struct ucred who;
    socklen_t size = sizeof who;
    struct post p;
    int fd;
    if (epoll_wait(watched, &event, 1, -1) != 1) continue;
    fd = event.data.fd;
    if (fd & LISTENER) {
      fd = accept4(fd & ~LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) look_at(fd, fd);
    } else if (recv(fd, p.bytes, sizeof p.bytes, MSG_DONTWAIT) <= 0) {
      close(fd);
    } else {
      CHECK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == getuid());
      with_file(&p);
      memcpy(CMSG_DATA(&p.control.head), &offered_file, sizeof offered_file);
      CHECK(sendmsg(fd, &p.whole, MSG_NOSIGNAL) == sizeof p.bytes);
    }
  }
  return arg;
}

static void bare_cycle(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)sprintf(name.sun_path + 1, "sisci-bench/%d", (int)getpid()));
  int file = memfd_create("bench", MFD_CLOEXEC | MFD_ALLOW_SEALING), listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), got;
  struct post p;
  volatile int *there;
  CHECK(ftruncate(file, SEGMENT) == 0 && fallocate(file, 0, 0, SEGMENT) == 0);
  CHECK(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  CHECK(bind(listener, (struct sockaddr *)&name, size) == 0 && listen(listener, 8) == 0);
  offered_file = file;
  look_at(listener, listener | LISTENER);
  CHECK(connect(fd, (struct sockaddr *)&name, size) == 0);
  with_file(&p);
  CHECK(send(fd, p.bytes, sizeof p.bytes, 0) == sizeof p.bytes && recvmsg(fd, &p.whole, MSG_CMSG_CLOEXEC) == sizeof p.bytes);
  memcpy(&got, CMSG_DATA(&p.control.head), sizeof got);
  there = (volatile int *)mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, got, 0);
  CHECK(there[0] == 0);
  there[0] = 1;
  munmap((void *)(uintptr_t)there, SEGMENT);
  close(got), close(fd), close(listener), close(file);
}

static void cycle(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 7, SEGMENT, 0);
  sci_remote_segment_t r = connected(sd, 4, 7, 0);
  sci_map_t map;
  volatile int *there = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  CHECK(there[0] == 0);
  there[0] = 1;
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
}

static void cycles(void *arg) {
  sci_desc_t sd = opened();
  pthread_t thread;
  int t, i;
  (void)arg;
  watched = epoll_create1(EPOLL_CLOEXEC);
  CHECK(watched >= 0 && pthread_create(&thread, NULL, lets_in, NULL) == 0);
  for (i = 0; i < CYCLES; i++) bare_cycle(), cycle(sd);
  for (t = 0; t < rounds; t++) {
    double start = now();
    for (i = 0; i < CYCLES; i++) bare_cycle();
    bare[t] = (now() - start) / CYCLES;
    start = now();
    for (i = 0; i < CYCLES; i++) cycle(sd);
    ours[t] = (now() - start) / CYCLES;
  }
  row("a segment made, connected, mapped, freed | sockets, memfd", "us", 1);
  SCITerminate();
}

enum { LAPS = 20000, LINES = 32 };

/* A line there and back as messages go: each in the next line of a ring, copied, and checked by a sequence. Without a map: by plain stores and a fence. */
static void messages(volatile int *in, volatile int *out, int first, int base, sci_sequence_t q, sci_map_t map) {
  static int line[16];
  int i, k, calls = map != NULL;
  for (i = 1; i <= LAPS; i++) {
    int at = 16 * (i % LINES);
    if (!first)
      while (in[at + 15] != base + i) {
      }
    for (k = 0; k < 16; k++) line[k] = base + i;
    if (calls) {
      SCIMemCpy(q, line, map, 4 * (size_t)at, 64, 0, &e);
      if (SCICheckSequence(q, 0, &e) != SCI_SEQ_OK) FAIL("%s", "a message is lost");
    } else {
      memcpy((void *)(size_t)(out + at), line, 64);
      __sync_synchronize();
    }
    if (first)
      while (in[at + 15] != base + i) {
      }
  }
}

/* A word there and back: through maps, and through memory that both have had from the beginning. */
static void lap(volatile int *in, volatile int *out, int first, int barrier, int base) {
  int i;
  for (i = 1; i <= LAPS; i++) {
    if (first) {
      out[0] = base + i;
      if (barrier == 1) SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
      if (barrier == 2) SCIStoreBarrier(NULL, 0);
    }
    while (in[0] != base + i) {
    }
    if (!first) {
      out[0] = base + i;
      if (barrier == 1) SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
      if (barrier == 2) SCIStoreBarrier(NULL, 0);
    }
  }
}

static volatile int *plain;

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static long futex(_Atomic int *at, int what, int value) { return syscall(SYS_futex, at, what, value, NULL, NULL, 0); }

static void side(void *arg) {
  int first = arg == NULL, t, k, base = 0, pair[2];
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 5, 4096, 0);
  sci_remote_segment_t r = connected(sd, first ? 8 : 4, 5, 0);
  sci_map_t a, b;
  sci_sequence_t q;
  sci_local_interrupt_t i;
  sci_remote_interrupt_t ri;
  sci_local_data_interrupt_t d;
  sci_remote_data_interrupt_t rd;
  unsigned no = 6, length;
  char text[64] = {0};
  volatile int *in = (volatile int *)SCIMapLocalSegment(s, &a, 0, 0, NULL, 0, &e), *out = (volatile int *)SCIMapRemoteSegment(r, &b, 0, 0, NULL, 0, &e);
  pair[0] = atomic_load(words + 20), pair[1] = atomic_load(words + 21);
  pin(first ? 0 : 1);
  for (k = 0; k < 3; k++) {
    for (t = 0; t < rounds; t++, base += LAPS) {
      double start;
      meet(words, 2);
      start = now();
      lap(plain + (first ? 0 : 64), plain + (first ? 64 : 0), first, 0, base);
      bare[t] = (now() - start) / LAPS;
      meet(words, 2);
      start = now();
      lap(in, out, first, k, base);
      ours[t] = (now() - start) / LAPS;
    }
    if (first) row(k == 0 ? "8-byte store there and back | line" : k == 1 ? "the same, SCIFlush | line" : "the same, SCIStoreBarrier | line", "ns", 1000);
  }
  EXPECT(OK, SCICreateMapSequence(b, &q, 0, &e));
  if (SCIStartSequence(q, 0, &e) != SCI_SEQ_OK) FAIL("%s", "no sequence");
  for (t = 0; t < rounds; t++, base += LAPS) {
    double start;
    meet(words, 2);
    start = now();
    messages(plain + (first ? 0 : 16 * LINES), plain + (first ? 16 * LINES : 0), first, base, q, NULL);
    bare[t] = (now() - start) / LAPS;
    meet(words, 2);
    start = now();
    messages(in, out, first, base, q, b);
    ours[t] = (now() - start) / LAPS;
  }
  if (first) row("SCIMemCpy of a line, SCICheckSequence | store, fence", "ns", 1000);
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words, 2);
  EXPECT(OK, SCIConnectInterrupt(sd, &ri, first ? 8 : 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &rd, first ? 8 : 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  for (t = 0; t < rounds; t++) {
    double start;
    int n;
    meet(words, 2);
    start = now();
    for (n = 0; n < 2000; n++) {
      _Atomic int *mine = words + (first ? 32 : 64), *theirs = words + (first ? 64 : 32);
      if (first) atomic_store(theirs, 1), futex(theirs, FUTEX_WAKE, 1);
      while (atomic_exchange(mine, 0) == 0) futex(mine, FUTEX_WAIT, 0);
      if (!first) atomic_store(theirs, 1), futex(theirs, FUTEX_WAKE, 1);
    }
    bare[t] = (now() - start) / 2000;
    meet(words, 2);
    start = now();
    for (n = 0; n < 2000; n++) {
      if (first) SCITriggerInterrupt(ri, 0, &e);
      SCIWaitForInterrupt(i, SCI_INFINITE_TIMEOUT, 0, &e);
      if (!first) SCITriggerInterrupt(ri, 0, &e);
    }
    ours[t] = (now() - start) / 2000;
  }
  if (first) row("interrupt there and back | futex", "us", 1);
  for (t = 0; t < rounds; t++) {
    double start;
    int n, fd = pair[first ? 0 : 1];
    meet(words, 2);
    start = now();
    for (n = 0; n < 2000; n++) {
      if (first) CHECK(send(fd, text, sizeof text, 0) == sizeof text);
      CHECK(recv(fd, text, sizeof text, 0) == sizeof text);
      if (!first) CHECK(send(fd, text, sizeof text, 0) == sizeof text);
    }
    bare[t] = (now() - start) / 2000;
    meet(words, 2);
    start = now();
    for (n = 0; n < 2000; n++) {
      if (first) SCITriggerDataInterrupt(rd, text, sizeof text, 0, &e);
      length = sizeof text;
      EXPECT(OK, SCIWaitForDataInterrupt(d, text, &length, SCI_INFINITE_TIMEOUT, 0, &e));
      if (!first) SCITriggerDataInterrupt(rd, text, sizeof text, 0, &e);
    }
    ours[t] = (now() - start) / 2000;
  }
  if (first) row("data interrupt of 64 bytes there and back | SEQPACKET", "us", 1);
  if (first) {
    for (t = 0; t < rounds; t++) {
      double start = now();
      int n;
      for (n = 0; n < 100000; n++) SCITriggerInterrupt(ri, 0, &e);
      ours[t] = (now() - start) / 100000;
      bare[t] = 0.1;
    }
    row("trigger that nobody waits for | 100 ns", "ns", 1000);
  }
  meet(words, 2);
  SCITerminate();
}

int main(int argc, char **argv) {
  int fds[2];
  pid_t one, two;
  if (argc > 1) rounds = atoi(argv[1]);
  if (rounds < 1 || rounds > 99) rounds = 9;
  words = shared_words();
  plain = (volatile int *)shared_words();
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
  atomic_store(words + 20, fds[0]);
  atomic_store(words + 21, fds[1]);
  printf("%-58s %9s %9s\n", "what | beside what", "ours", "bare");
  joined(node(4, copies, NULL));
  joined(node(4, cycles, NULL));
  one = node(4, side, NULL);
  two = node(8, side, (void *)1);
  joined(one);
  joined(two);
  puts("bench: passed");
  return 0;
}
