/* Ends: processes that are killed or stopped at any point leave nothing, hold up nobody, and are noticed within 100 ms.
 *
 *   ends         on one host
 *   ends hosts   what takes two nodes, on two */
#include "test.h"

#include <sys/resource.h>

static _Atomic int *words;
enum { POINTS = 40 };

static sci_callback_action_t slow(void *arg, sci_local_segment_t s, sci_segment_cb_reason_t reason, unsigned n, unsigned a, sci_error_t error) {
  (void)arg, (void)s, (void)reason, (void)n, (void)a, (void)error;
  atomic_store(words, 1);
  for (;;) pause();
  return SCI_CALLBACK_CANCEL;
}

/* Goes through the steps of an owner and a peer at once until it is killed; words[0] is 1 at its point. */
static void victim(void *arg) {
  int point = (int)(intptr_t)arg, step = 0;
  sci_desc_t sd;
  sci_local_segment_t s, calling;
  sci_remote_segment_t r;
  sci_local_interrupt_t i;
  sci_remote_interrupt_t ri;
  sci_local_data_interrupt_t d;
  sci_remote_data_interrupt_t rd;
  sci_dma_queue_t q;
  sci_map_t mine, theirs;
  unsigned no = 70, length = 8;
  static char big[1 << 22];
#define POINT()                                 \
  do {                                          \
    if (step++ == point) atomic_store(words, 1); \
    if (step > point) pause_ms(10000);          \
  } while (0)
  POINT();
  EXPECT(OK, SCIInitialize(0, &e));
  POINT();
  EXPECT(OK, SCIOpen(&sd, 0, &e));
  POINT();
  EXPECT(OK, SCICreateSegment(sd, &s, 60, 1 << 22, NULL, NULL, 0, &e));
  POINT();
  EXPECT(OK, SCIPrepareSegment(s, 0, 0, &e));
  POINT();
  EXPECT(OK, SCISetSegmentAvailable(s, 0, 0, &e));
  POINT();
  CHECK(SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e) != NULL);
  POINT();
  r = connected(sd, 4, 61, 0);
  POINT();
  CHECK(SCIMapRemoteSegment(r, &theirs, 0, 0, NULL, 0, &e) != NULL);
  POINT();
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  POINT();
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  POINT();
  EXPECT(OK, SCIConnectInterrupt(sd, &ri, 4, 0, 71, SCI_INFINITE_TIMEOUT, 0, &e));
  POINT();
  EXPECT(OK, SCITriggerInterrupt(ri, 0, &e));
  POINT();
  EXPECT(OK, SCIConnectDataInterrupt(sd, &rd, 4, 0, 71, SCI_INFINITE_TIMEOUT, 0, &e));
  POINT();
  EXPECT(OK, SCITriggerDataInterrupt(rd, (void *)"12345678", 8, 0, &e));
  POINT();
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 4, 0, &e));
  POINT();
  EXPECT(OK, SCIStartDmaTransfer(q, s, r, 0, 1 << 20, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  POINT();
  if (step <= point) { /* in the middle of copies and waits */
    int kind = point - step;
    atomic_store(words, 1);
    for (;;) {
      switch (kind % 5) {
        case 0: EXPECT(OK, SCIMemCpy(NULL, big, theirs, 0, 1 << 20, 0, &e)); break;
        case 1: EXPECT(OK, SCIStartDmaTransfer(q, s, r, 0, 1 << 20, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e)); break;
        case 2: SCIWaitForInterrupt(i, SCI_INFINITE_TIMEOUT, 0, &e); break;
        case 3: SCIWaitForDataInterrupt(d, big, &length, SCI_INFINITE_TIMEOUT, 0, &e); break;
        default:
          EXPECT(OK, SCICreateSegment(sd, &calling, 62, 64, slow, NULL, SCI_FLAG_USE_CALLBACK, &e));
          EXPECT(OK, SCIPrepareSegment(calling, 0, 0, &e));
          EXPECT(OK, SCISetSegmentAvailable(calling, 0, 0, &e));
          (void)connected(sd, 8, 62, 0);
          for (;;) pause();
      }
    }
  }
  for (;;) pause();
}

/* The survivor, node 4: works with each victim, sees it go, and finds everything free again. */
static void killings(void) {
  sci_desc_t sd;
  sci_local_segment_t own, again;
  sci_local_interrupt_t i;
  sci_local_data_interrupt_t d;
  sci_remote_segment_t r;
  unsigned no = 71;
  int point, was_connected, could_connect;
  double since;
  pid_t all[POINTS];
  /* A process with the library's threads must not fork: all victims exist before, and wait for their turn. */
  for (point = 0; point < POINTS; point++) {
    fflush(NULL);
    all[point] = fork();
    if (all[point] == 0) {
      alarm(300);
      be(8);
      while (atomic_load(words + 1) != point) pause_ms(1);
      victim((void *)(intptr_t)point);
      _exit(0);
    }
  }
  sd = opened();
  own = offered(sd, 61, 1 << 20, 0);
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  for (point = 0; point < POINTS; point++) {
    atomic_store(words, 0);
    atomic_store(words + 1, point);
    while (atomic_load(words) == 0) pause_ms(1);
    if (point % 2 == 0) pause_ms(point % 3);
    was_connected = 0;
    while (SCIWaitForLocalSegmentEvent(own, NULL, NULL, 0, 0, &e) == SCI_CB_CONNECT) was_connected = 1;
    SCIConnectSegment(sd, &r, 8, 60, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e);
    could_connect = e == SCI_ERR_OK;
    CHECK(could_connect || e == SCI_ERR_NO_SUCH_SEGMENT);
    killed(all[point]);
    since = now();
    if (was_connected) {
      CHECK(SCIWaitForLocalSegmentEvent(own, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
      if (now() - since > 100e3) fprintf(stderr, "point %d: the owner heard after %.0f ms\n", point, (now() - since) / 1e3);
    }
    if (could_connect) {
      sci_error_t status;
      CHECK(SCIWaitForRemoteSegmentEvent(r, &status, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
      EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
    }
    /* Its ids are free: this process makes its segment with the same id, if it were that node. */
    EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 8, 60, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
    CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 0);
    /* A dead peer does not make the segment busy. */
    EXPECT(OK, SCIRemoveSegment(own, 0, &e));
    own = offered(sd, 61, 1 << 20, 0);
  }
  EXPECT(OK, SCICreateSegment(sd, &again, 60, 64, NULL, NULL, 0, &e));
  SCITerminate();
  puts("killed: passed");
}

static void stopped_owner(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 80, 4096, 0);
  (void)arg, (void)s;
  atomic_store(words + 2, 1);
  while (atomic_load(words + 2) != 2) pause_ms(1);
}

/* DMA to a stopped owner. On this host the bytes are there at once. On another host it is not done before they are, and it can be aborted. */
static void dma_to_stopped(sci_desc_t sd, sci_remote_segment_t r) {
  sci_local_segment_t s = offered(sd, 81, 4096, 0);
  sci_dma_queue_t q;
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
  EXPECT(OK, SCIStartDmaTransfer(q, s, r, 8, 8, 8, NULL, NULL, 0, &e));
  if (hosts_dir[0] == 0) {
    CHECK(SCIWaitForDMAQueue(q, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_DMAQUEUE_DONE);
  } else {
    pause_ms(50);
    CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_POSTED);
    EXPECT(OK, SCIAbortDMAQueue(q, 0, &e));
    CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_ABORTED);
  }
  EXPECT(OK, SCIRemoveDMAQueue(q, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
}

/* A stopped owner is not dead: its memory works, connecting takes its time. */
static void stopped(void) {
  pid_t owner = node(8, stopped_owner, NULL);
  sci_desc_t sd = opened();
  sci_remote_segment_t r, more;
  sci_map_t map;
  volatile int *p;
  double since;
  while (atomic_load(words + 2) != 1) pause_ms(1);
  r = connected(sd, 8, 80, 0);
  p = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  kill(owner, SIGSTOP);
  pause_ms(50);
  since = now();
  EXPECT(TIMEOUT, SCIConnectSegment(sd, &more, 8, 80, 0, NULL, NULL, 500, 0, &e));
  since = now() - since;
  CHECK(since > 450e3);
  if (since > 550e3) fprintf(stderr, "a connect with 500 ms took %.0f ms\n", since / 1e3);
  p[1] = 3;
  EXPECT(TIMEOUT, SCIWaitForRemoteSegmentEvent(r, &e, 10, 0, &e));
  dma_to_stopped(sd, r);
  kill(owner, SIGCONT);
  more = connected(sd, 8, 80, 0);
  EXPECT(OK, SCIDisconnectSegment(more, 0, &e));
  CHECK(p[1] == 3);
  atomic_store(words + 2, 2);
  joined(owner);
  CHECK(SCIWaitForRemoteSegmentEvent(r, &e, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
  SCITerminate();
  puts("stopped: passed");
}

static sci_callback_action_t waits_for_ever(void *arg, sci_local_interrupt_t i, sci_error_t status) {
  unsigned length = 0;
  (void)i, (void)status;
  atomic_store(words + 3, 1);
  SCIWaitForDataInterrupt((sci_local_data_interrupt_t)arg, NULL, &length, SCI_INFINITE_TIMEOUT, 0, &e);
  CHECK(e == SCI_ERR_CANCELLED);
  atomic_store(words + 3, 2);
  return SCI_CALLBACK_CONTINUE;
}

static sci_callback_action_t starts_again(void *arg, sci_dma_queue_t q, sci_error_t status) {
  sci_error_t ignored;
  void **what = (void **)arg;
  (void)status;
  atomic_fetch_add(words + 4, 1);
  SCIStartDmaTransfer(q, (sci_local_segment_t)what[0], (sci_remote_segment_t)what[1], 0, 4096, 0, starts_again, arg, SCI_FLAG_USE_CALLBACK, &ignored);
  return SCI_CALLBACK_CONTINUE;
}

/* SCITerminate ends callbacks that wait for another resource, and queues that are started again and again. */
static void terminated(void) {
  sci_desc_t sd = opened();
  sci_local_data_interrupt_t data;
  sci_local_interrupt_t i;
  sci_remote_interrupt_t r;
  sci_local_segment_t s = offered(sd, 85, 4096, 0);
  sci_remote_segment_t to = connected(sd, 4, 85, 0);
  sci_dma_queue_t q;
  void *what[2];
  unsigned no = 5;
  what[0] = (void *)s, what[1] = (void *)to;
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
  EXPECT(OK, SCIStartDmaTransfer(q, s, to, 0, 4096, 0, starts_again, what, SCI_FLAG_USE_CALLBACK, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &data, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, waits_for_ever, (void *)data, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &e));
  EXPECT(OK, SCIConnectInterrupt(sd, &r, 4, 0, no, 0, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
  while (atomic_load(words + 3) == 0 || atomic_load(words + 4) < 100) sched_yield();
  SCITerminate();
  CHECK(atomic_load(words + 3) == 2);
  sd = opened(); /* all is free */
  s = offered(sd, 85, 4096, 0);
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  SCITerminate();
  puts("terminated: passed");
}

/* Without a descriptor left, who comes is sent away and does not wait; later all is well again. */
static void exhausted(void) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 86, 4096, 0);
  struct rlimit limit = {64, 64};
  int fds[64], n = 0;
  sci_remote_segment_t r;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  while (n < 64 && (fds[n] = dup(0)) >= 0) n++;
  atomic_store(words + 5, 1); /* the peer, started before, tries now */
  while (atomic_load(words + 5) != 2) pause_ms(1);
  while (n > 0) close(fds[--n]);
  r = connected(sd, 4, 86, 0);
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  (void)s;
  atomic_store(words + 5, 3);
  SCITerminate();
  puts("exhausted: passed");
}

static void comes_at_the_wrong_time(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  (void)arg;
  while (atomic_load(words + 5) != 1) pause_ms(1);
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 4, 86, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  atomic_store(words + 5, 2);
  while (atomic_load(words + 5) != 3) pause_ms(1);
  SCITerminate();
}

/* A number is free when the call that removes it returns, however many knock at it. */
static void knocks(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_remote_interrupt_t i;
  (void)arg;
  while (atomic_load(words + 6) == 0) {
    SCIConnectSegment(sd, &r, 4, 87, 0, NULL, NULL, 0, 0, &e);
    if (e == SCI_ERR_OK) EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
    SCIConnectInterrupt(sd, &i, 4, 0, 87, 0, 0, &e);
    if (e == SCI_ERR_OK) EXPECT(OK, SCIDisconnectInterrupt(i, 0, &e));
  }
  SCITerminate();
}

static void knocked_at(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  sci_local_interrupt_t i;
  unsigned no = 87;
  int turn;
  (void)arg;
  for (turn = 0; turn < 1000; turn++) {
    s = offered(sd, 87, 64, 0);
    EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
    EXPECT(OK, SCIRemoveInterrupt(i, 0, &e));
    EXPECT(OK, SCIRemoveSegment(s, SCI_FLAG_FORCE_REMOVE, &e));
  }
  atomic_store(words + 6, 1);
  SCITerminate();
}

static unsigned descriptors(void) {
  unsigned n = 0;
  int fd;
  for (fd = 0; fd < 1024; fd++) n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
  return n;
}

static long resident(void) {
  long size = 0, rss = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%ld %ld", &size, &rss) == 2);
  fclose(f);
  return rss * 4;
}

static unsigned lines(const char *path) {
  FILE *f = fopen(path, "r");
  unsigned n = 0;
  int c;
  CHECK(f != NULL);
  while ((c = fgetc(f)) != EOF) n += c == '\n';
  fclose(f);
  return n;
}

static void cycle(sci_desc_t sd, unsigned turn) {
  sci_local_segment_t s = offered(sd, 90, 8192, 0);
  sci_remote_segment_t r = connected(sd, 4, 90, 0);
  sci_map_t map;
  volatile unsigned *p = (volatile unsigned *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  CHECK(p[0] == 0);
  p[0] = turn;
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
}

/* Again and again: nothing grows. */
static void cycles(void) {
  sci_desc_t sd = opened();
  unsigned turn, before, maps, window;
  long memory, growth = 1L << 30;
  for (turn = 0; turn < 2500; turn++) cycle(sd, turn); /* allocators settle */
  before = descriptors(), maps = lines("/proc/self/maps");
  /* What leaks grows each time; allocators may take a page more now and then. */
  for (window = 0; window < 3; window++) {
    memory = resident();
    for (turn = 0; turn < 1000; turn++) cycle(sd, turn);
    pause_ms(20);
    if (resident() - memory < growth) growth = resident() - memory;
  }
  /* The library's thread closes its end of a connection a little after the disconnect. */
  for (turn = 0; descriptors() > before && turn < 500; turn++) pause_ms(10);
  if (descriptors() > before) FAIL("%u descriptors, then %u", before, descriptors());
  if (lines("/proc/self/maps") > maps) FAIL("%u maps, then %u", maps, lines("/proc/self/maps"));
  if (growth > 64) FAIL("1,000 cycles take %ld KiB", growth);
  SCITerminate();
  puts("cycles: passed");
}

static void knocking(void) {
  pid_t peers[2], owner;
  peers[0] = node(8, knocks, NULL), peers[1] = node(12, knocks, NULL);
  owner = node(4, knocked_at, NULL);
  joined(owner);
  joined(peers[0]);
  joined(peers[1]);
  puts("knocked at: passed");
}

int main(int argc, char **argv) {
  pid_t child;
  (void)argv;
  if (argc > 1) two_hosts();
  words = shared_words();
  atomic_store(words + 1, -1);
  fflush(NULL);
  /* Each part in a process of its own: a process that has used the library must not fork. */
  if ((child = fork()) == 0) {
    alarm(300);
    killings();
    fflush(NULL);
    _exit(0);
  }
  joined(child);
  if ((child = fork()) == 0) {
    alarm(300);
    stopped();
    fflush(NULL);
    _exit(0);
  }
  joined(child);
  if (argc > 1) {
    knocking();
    return 0;
  }
  if ((child = fork()) == 0) {
    alarm(300);
    cycles();
    fflush(NULL);
    _exit(0);
  }
  joined(child);
  if ((child = fork()) == 0) {
    alarm(300);
    terminated();
    fflush(NULL);
    _exit(0);
  }
  joined(child);
  {
    pid_t peer = node(8, comes_at_the_wrong_time, NULL), owner;
    if ((owner = fork()) == 0) {
      alarm(300);
      exhausted();
      fflush(NULL);
      _exit(0);
    }
    joined(owner);
    joined(peer);
  }
  knocking();
  return 0;
}
