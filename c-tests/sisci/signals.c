/* A signal handler that tidies up works, whatever call of the library its thread is in.
 *
 *   signals          on one host
 *   signals hosts    between two
 *   signals timing   on one host with the times of cards
 *   signals trace    on one host, each call is written to a file */
#include "test.h"

enum { ROUNDS = 40, KINDS = 5, BYTES = 1 << 16 };
/* Peers' segments are shadows. */
static int is_far;

static struct {
  sci_desc_t sd;
  sci_local_segment_t own;
  sci_remote_segment_t peer;
  sci_dma_queue_t queue;
  sci_sequence_t sequence;
  sci_local_interrupt_t interrupt;
  sci_remote_interrupt_t trigger;
  sci_local_data_interrupt_t data;
  sci_remote_data_interrupt_t sender;
  volatile int *out;
  int kind;
} own;
static _Atomic int *words;
/* The handler has taken the maps away. */
static volatile sig_atomic_t is_over;

/* What a program does at SIGTERM: frees what it knows of, or ends as if it had come to its own end. */
static void tidies_up(int number) {
  sci_error_t ignored;
  (void)number;
  switch (own.kind) {
    case 0: /* one after the other; some of them do not exist just now */
      SCIRemoveDMAQueue(own.queue, 0, &ignored);
      SCIDisconnectInterrupt(own.trigger, 0, &ignored);
      SCIRemoveDataInterrupt(own.data, 0, &ignored);
      SCIDisconnectSegment(own.peer, 0, &ignored);
      SCIRemoveSegment(own.own, 0, &ignored);
      SCIClose(own.sd, 0, &ignored);
      SCITerminate();
      _exit(0);
    case 1: SCITerminate(); _exit(0);
    case 2: exit(0); /* there is a function for the end */
    case 3: /* as programs wait for a sequence; words[2] counts handlers that were refused inside of a call */
      while (SCIStartSequence(own.sequence, 0, &ignored) == SCI_SEQ_PENDING) continue;
      if (ignored == SCI_ERR_ILLEGAL_OPERATION) atomic_fetch_add(words + 2, 1);
      _exit(0);
    default: is_over = 1, SCITerminate(); /* the program goes on, and learns of it by its next call */
  }
}

static sci_map_t mapped(sci_remote_segment_t segment) {
  sci_map_t map;
  own.out = (volatile int *)SCIMapRemoteSegment(segment, &map, 0, 0, NULL, 0, &e);
  CHECK(own.out != NULL);
  return map;
}

/* Interrupts of this node. */
static void has_interrupts(unsigned node) {
  unsigned no = 62;
  EXPECT(OK, SCICreateInterrupt(own.sd, &own.interrupt, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIConnectInterrupt(own.sd, &own.trigger, node, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCICreateDataInterrupt(own.sd, &own.data, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIConnectDataInterrupt(own.sd, &own.sender, node, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
}

/* Each of them is triggered, and taken. A trigger sends what was stored first, where segments are shadows: a handler that comes then must not take away the
 * interrupt's page, which it has yet to write to. Else that takes no lock, and what the handler takes away is its own concern. */
static void triggers(void) {
  static int number;
  unsigned length = sizeof number;
  int got, k;
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  for (k = 0; k < 8 && is_far && e == SCI_ERR_OK; k++) {
    sigprocmask(SIG_BLOCK, &term, NULL);
    if (!is_over) own.out[0] = ++number;
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    SCITriggerInterrupt(own.trigger, 0, &e);
  }
  if (e == SCI_ERR_OK && is_far) SCIWaitForInterrupt(own.interrupt, SCI_INFINITE_TIMEOUT, 0, &e);
  if (e == SCI_ERR_OK) SCITriggerDataInterrupt(own.sender, &number, sizeof number, 0, &e);
  if (e == SCI_ERR_OK) SCIWaitForDataInterrupt(own.data, &got, &length, SCI_INFINITE_TIMEOUT, 0, &e);
}

/* Makes, uses and frees segments until the signal comes. */
static void works(void *arg) {
  struct sigaction act = {0};
  unsigned node = (unsigned)(uintptr_t)arg, other = node == 8 ? 4 : node;
  act.sa_handler = tidies_up;
  sigemptyset(&act.sa_mask);
  hosts_dir[0] = 0; /* its end is not that of the test */
  own.sd = opened();
  CHECK(atexit(SCITerminate) == 0);
  CHECK(sigaction(SIGTERM, &act, NULL) == 0);
  EXPECT(OK, SCICreateDMAQueue(own.sd, &own.queue, 0, 1, 0, &e));
  if (other == node) offered(own.sd, 61, BYTES, 0);
  EXPECT(OK, SCICreateMapSequence(mapped(connected(own.sd, other, 61, 0)), &own.sequence, 0, &e));
  has_interrupts(node);
  atomic_store(words, 1);
  /* Whatever fails from here on does so because the handler was there. */
  for (;;) {
    SCICreateSegment(own.sd, &own.own, 60, BYTES, NULL, NULL, 0, &e);
    if (e == SCI_ERR_OK) SCIPrepareSegment(own.own, 0, 0, &e);
    if (e == SCI_ERR_OK) SCISetSegmentAvailable(own.own, 0, 0, &e);
    if (e == SCI_ERR_OK) SCIConnectSegment(own.sd, &own.peer, other, 60 + (other != node), 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e);
    if (e == SCI_ERR_OK) SCIStartDmaTransfer(own.queue, own.own, own.peer, 0, BYTES, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e);
    if (e == SCI_ERR_OK) SCIStartDmaTransfer(own.queue, own.own, own.peer, 0, BYTES, 0, NULL, NULL, 0, &e);
    if (e == SCI_ERR_OK) SCIWaitForDMAQueue(own.queue, SCI_INFINITE_TIMEOUT, 0, &e);
    if (e == SCI_ERR_OK) triggers();
    if (e == SCI_ERR_OK) SCIDisconnectSegment(own.peer, 0, &e);
    if (e == SCI_ERR_OK) SCIWaitForLocalSegmentEvent(own.own, NULL, NULL, 0, 0, &e), e = e == SCI_ERR_TIMEOUT ? SCI_ERR_OK : e;
    if (e == SCI_ERR_OK) SCIRemoveSegment(own.own, 0, &e);
    if (e != SCI_ERR_OK) break;
  }
  if (e != SCI_ERR_NOT_INITIALIZED && e != SCI_ERR_CANCELLED && e != SCI_ERR_ILLEGAL_PARAMETER && e != SCI_ERR_TRANSFER_FAILED &&
      e != SCI_ERR_NO_SUCH_SEGMENT)
    FAIL("0x%x (%s)", (unsigned)e, SCIGetErrorString(e));
}

static void owner(void *arg) {
  sci_desc_t sd = opened();
  (void)arg;
  offered(sd, 61, BYTES, 0);
  atomic_store(words + 1, 1);
  while (atomic_load(words + 1) != 2) pause_ms(1);
  SCITerminate();
}

int main(int argc, char **argv) {
  unsigned id = 4;
  pid_t peer = 0;
  int round, is_hosts = argc > 1 && strcmp(argv[1], "hosts") == 0;
  words = shared_words();
  if (argc > 1 && strcmp(argv[1], "timing") == 0) setenv("SISCI_TIMING", "d339", is_far = 1);
  if (argc > 1 && strcmp(argv[1], "trace") == 0) setenv("SISCI_TRACE", "/dev/null", 1);
  if (is_hosts) {
    is_far = 1;
    two_hosts();
    id = 8;
    peer = node(4, owner, NULL);
    while (atomic_load(words + 1) != 1) pause_ms(1);
  }
  srand(1);
  for (round = 0; round < ROUNDS * KINDS; round++) {
    struct timespec t = {0, rand() % 2000000};
    pid_t pid;
    own.kind = round % KINDS;
    atomic_store(words, 0);
    pid = node(id, works, (void *)(uintptr_t)id);
    while (atomic_load(words) == 0) {
      CHECK(waitpid(pid, NULL, WNOHANG) == 0);
      pause_ms(1);
    }
    nanosleep(&t, NULL);
    CHECK(kill(pid, SIGTERM) == 0);
    joined(pid); /* one that hangs is killed by its alarm */
  }
  if (peer != 0) {
    atomic_store(words + 1, 2);
    joined(peer);
  }
  /* Between hosts calls wait, so some handlers must have met one that holds something. */
  if (is_hosts && atomic_load(words + 2) == 0) FAIL("no handler met a call in %d rounds", ROUNDS);
  puts("signals: passed");
  return 0;
}
