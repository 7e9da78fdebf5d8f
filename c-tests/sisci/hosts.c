/* Nodes on two hosts, which are network namespaces: 4, 12, 20 are on the first, 8, 16, 24 on the second. What nodes of one host do as well is tested by
 * `pair hosts` and `ends hosts`. */
#include "test.h"

#include <sys/resource.h>

static _Atomic int *words;

enum { BYTES = 300000, TURNS = 600 };

static void owner_of_stores(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 1, BYTES, 0);
  sci_map_t map;
  volatile unsigned char *p = (volatile unsigned char *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  static unsigned char expected[BYTES];
  (void)arg;
  p[BYTES - 1] = 9;
  meet(words, 2);
  meet(words, 2); /* the peer stores, and says what is to be here */
  {
    sci_remote_segment_t r = connected(sd, 8, 2, 0);
    sci_map_t theirs;
    const void *there = (const void *)(uintptr_t)SCIMapRemoteSegment(r, &theirs, 0, 0, NULL, SCI_FLAG_READONLY_MAP, &e);
    CHECK(there != NULL);
    memcpy(expected, there, BYTES);
    EXPECT(OK, SCIUnmapSegment(theirs, 0, &e));
    EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  }
  CHECK(memcmp((const void *)(uintptr_t)p, expected, BYTES) == 0);
  p[7] = 200, p[BYTES - 2] = 201;
  meet(words, 2);
  while (p[100] != 77) sched_yield(); /* without a flush */
  meet(words, 2);
  SCITerminate();
}

/* Plain stores of every size and copies of any go where they belong, and nowhere else. */
static void peer_of_stores(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t mine = offered(sd, 2, BYTES, 0);
  sci_remote_segment_t r;
  sci_map_t own, map, second;
  sci_sequence_t q;
  unsigned char *expected = (unsigned char *)SCIMapLocalSegment(mine, &own, 0, 0, NULL, 0, &e);
  static unsigned char back[BYTES];
  volatile unsigned char *out, *part;
  unsigned seed = 1, i, k;
  (void)arg;
  meet(words, 2);
  r = connected(sd, 4, 1, 0);
  CHECK(SCIGetRemoteSegmentSize(r) == BYTES);
  out = (volatile unsigned char *)SCIMapRemoteSegment(r, &map, 0, BYTES, NULL, 0, &e);
  part = (volatile unsigned char *)SCIMapRemoteSegment(r, &second, 8192 + 8, 100, NULL, 0, &e);
  CHECK(out != NULL && part != NULL && out[BYTES - 1] == 9);
  expected[BYTES - 1] = 9;
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  for (k = 0; k < TURNS; k++) {
    unsigned at, size;
    for (i = 0; i < k % 7; i++) random_store(&seed, out, expected, BYTES);
    at = (seed >> 4) % (BYTES / 2), size = (seed >> 9) % (k % 50 == 0 ? BYTES / 2 : 300) + 1;
    for (i = 0; i < size; i++) expected[at + i] = (unsigned char)(seed + i * k);
    switch (k % 5) {
      case 0: SCIFlush(NULL, 0); EXPECT(OK, SCIMemCpy(q, expected + at, map, at, size, SCI_FLAG_ERROR_CHECK, &e)); break;
      case 1: SCIStoreBarrier(q, 0); EXPECT(OK, SCIMemWrite(expected + at, out + at, size, 0, &e)); break;
      case 2: EXPECT(OK, SCIMemCpy(NULL, expected + at, map, at, size, 0, &e)); break;
      case 3: for (i = 0; i < size; i++) out[at + i] = expected[at + i]; CHECK(SCICheckSequence(q, 0, &e) == SCI_SEQ_OK); break;
      default: for (i = 0; i < size; i++) out[at + i] = expected[at + i];
    }
    if (k % 40 == 0) {
      CHECK(SCICheckSequence(q, 0, &e) == SCI_SEQ_OK);
      EXPECT(OK, SCIMemCpy(q, back, map, at, size, SCI_FLAG_BLOCK_READ | SCI_FLAG_ERROR_CHECK, &e));
      CHECK(memcmp(back, expected + at, size) == 0);
    }
  }
  part[5] = expected[8192 + 8 + 5] = 78;
  CHECK(out[8192 + 8 + 5] == 78); /* both show one memory */
  SCIFlush(NULL, 0);
  CHECK(memcmp((const void *)(uintptr_t)out, expected, BYTES) == 0);
  meet(words, 2);
  meet(words, 2); /* the owner has looked, and stored */
  CHECK(out[7] == expected[7]); /* loads are as old as the last look */
  SCIFlushReadBuffers(q);
  CHECK(out[7] == 200 && out[BYTES - 2] == 201);
  out[100] = (unsigned char)(out[100] + 1);
  out[100] = 77;
  meet(words, 2);
  SCITerminate();
}

static void stores(void) {
  pid_t a = node(4, owner_of_stores, NULL), b = node(8, peer_of_stores, NULL);
  joined(a), joined(b);
  puts("stores: passed");
}

/* Reflective memory: the members of both hosts have the same bytes, also when one ends, and when a host gets its first one late. */
enum { GROUP = 8192 };

static void member(void *arg) {
  int me = (int)(intptr_t)arg, i;
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  sci_remote_segment_t r;
  sci_map_t mine, all;
  sci_dma_queue_t q;
  volatile int *in, *out;
  if (me == 3) { /* alone on its host, and late */
    while (atomic_load(words + 9) == 0) sched_yield();
  }
  s = offered(sd, 3, GROUP, SCI_FLAG_BROADCAST);
  in = (volatile int *)SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e);
  r = connected(sd, DIS_BROADCAST_NODEID_GROUP_ALL, 3, SCI_FLAG_BROADCAST);
  out = (volatile int *)SCIMapRemoteSegment(r, &all, 0, 0, NULL, SCI_FLAG_BROADCAST, &e);
  CHECK(in != NULL && out != NULL);
  if (me != 3) {
    out[100 + me] = me + 1;
    SCIFlush(NULL, 0);
    meet(words + 6, 3);
    if (me == 0) {
      int number[50];
      for (i = 0; i < 50; i++) number[i] = i * 3;
      EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
      EXPECT(OK, SCIStartDmaTransferMem(q, number, r, sizeof number, 400 * 4, NULL, NULL, SCI_FLAG_DMA_WAIT | SCI_FLAG_BROADCAST, &e));
      atomic_store(words + 9, 1);
    }
  } else {
    out[100 + me] = me + 1;
  }
  for (i = 0; i < 4; i++)
    while (in[100 + i] != i + 1) sched_yield();
  for (i = 0; i < 50; i++)
    while (in[400 + i] != i * 3) sched_yield();
  meet(words + 1, 4);
  if (me == 1) { /* killed: the other one of its host takes over */
    atomic_store(words + 10, 1);
    for (;;) pause();
  }
  while (atomic_load(words + 10) != 2) sched_yield();
  for (i = 1; i <= 200; i++) {
    out[200 + me] = i;
    if (i % 10 == 0) SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
  }
  for (i = 0; i < 4; i++)
    while (i != 1 && in[200 + i] != 200) sched_yield();
  EXPECT(TIMEOUT, SCIWaitForRemoteSegmentEvent(r, &e, 0, 0, &e));
  meet(words + 2, 3);
  SCITerminate();
}

static void group(void) {
  pid_t all[4];
  int i;
  /* Three on the second host; the late one is the first of its host. */
  all[0] = node(8, member, (void *)(intptr_t)0);
  all[1] = node(16, member, (void *)(intptr_t)1);
  all[2] = node(24, member, (void *)(intptr_t)2);
  all[3] = node(4, member, (void *)(intptr_t)3);
  while (atomic_load(words + 10) != 1) sched_yield();
  killed(all[1]);
  atomic_store(words + 10, 2);
  for (i = 0; i < 4; i++)
    if (i != 1) joined(all[i]);
  puts("group: passed");
}

/* Several processes of a host are reached, also when the first has ended, which opened the port; nobody is reached without the secret. */
static void first_of_host(void *arg) {
  (void)arg;
  (void)opened();
  atomic_store(words + 20, 1);
  for (;;) pause();
}

static void second_of_host(void *arg) {
  sci_desc_t sd;
  (void)arg;
  while (atomic_load(words + 20) != 1) sched_yield();
  sd = opened();
  (void)offered(sd, 10, 4096, 0);
  atomic_store(words + 20, 2);
  while (atomic_load(words + 21) != 1) pause_ms(1);
  SCITerminate();
}

static void stranger(void *arg) {
  sci_desc_t sd;
  sci_remote_segment_t r;
  sci_remote_interrupt_t i;
  char path[96];
  FILE *f;
  (void)arg;
  snprintf(path, sizeof path, "%s/other", hosts_dir);
  CHECK((f = fopen(path, "w")) != NULL);
  fputs("nobody else knows that\n", f);
  fclose(f);
  setenv("SISCI_COOKIE_FILE", path, 1);
  sd = opened();
  EXPECT(CONNECTION_REFUSED, SCIConnectSegment(sd, &r, 8, 10, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(CONNECTION_REFUSED, SCIConnectInterrupt(sd, &i, 8, 0, 10, SCI_INFINITE_TIMEOUT, 0, &e));
  CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 0 && e == SCI_ERR_CONNECTION_REFUSED);
  SCITerminate();
}

static void without_secret(void *arg) {
  sci_desc_t sd;
  sci_remote_segment_t r;
  (void)arg;
  unsetenv("SISCI_COOKIE_FILE");
  sd = opened();
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 8, 10, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  SCITerminate();
}

static void visitor(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_remote_interrupt_t i;
  sci_remote_data_interrupt_t d;
  (void)arg;
  CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 1);
  EXPECT(OK, SCIConnectSegment(sd, &r, 8, 10, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 8, 11, 0, NULL, NULL, 0, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 16, 10, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectInterrupt(sd, &i, 8, 0, 10, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectDataInterrupt(sd, &d, 8, 0, 10, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(NO_SUCH_NODEID, SCIConnectSegment(sd, &r, 400, 10, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  CHECK(SCIProbeNode(sd, 0, 16, 0, &e) == 0 && e == SCI_ERR_NO_SUCH_NODEID);
  SCITerminate();
}

static void reached(void) {
  pid_t one = node(8, first_of_host, NULL), two = node(8, second_of_host, NULL);
  while (atomic_load(words + 20) != 2) sched_yield();
  joined(node(4, visitor, NULL));
  joined(node(4, stranger, NULL));
  joined(node(4, without_secret, NULL));
  killed(one);
  joined(node(4, visitor, NULL));
  atomic_store(words + 21, 1);
  joined(two);
  puts("reached: passed");
}

/* Four senders of data interrupts, two of each host: nothing is lost or comes twice, and each one's are in order. */
enum { SENDERS = 4 };
static unsigned messages = 3000;

static void receiver(void *arg) {
  sci_desc_t sd = opened();
  sci_local_data_interrupt_t d;
  unsigned no = 30, next[SENDERS] = {0}, message[16], length, i;
  double begin;
  (void)arg;
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words + 3, SENDERS + 1);
  begin = now();
  for (i = 0; i < SENDERS * messages; i++) {
    length = sizeof message;
    EXPECT(OK, SCIWaitForDataInterrupt(d, message, &length, SCI_INFINITE_TIMEOUT, 0, &e));
    CHECK(length == sizeof message && message[0] < SENDERS && message[1] == next[message[0]]);
    next[message[0]]++;
  }
  printf("%u messages in %.1f s\n", i, (now() - begin) / 1e6);
  meet(words + 3, SENDERS + 1);
  EXPECT(TIMEOUT, SCIWaitForDataInterrupt(d, message, &length, 0, 0, &e));
  SCITerminate();
}

static void sender(void *arg) {
  unsigned message[16] = {(unsigned)(intptr_t)arg}, i;
  sci_desc_t sd = opened();
  sci_remote_data_interrupt_t d;
  meet(words + 3, SENDERS + 1);
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 30, SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 0; i < messages; i++) {
    message[1] = i;
    do SCITriggerDataInterrupt(d, message, sizeof message, 0, &e);
    while (e == SCI_ERR_EWOULD_BLOCK);
    CHECK(e == SCI_ERR_OK);
    if (i % 500 == 499) { /* nothing is lost, and nothing overtakes it */
      EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
      EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 30, SCI_INFINITE_TIMEOUT, 0, &e));
    }
  }
  meet(words + 3, SENDERS + 1);
  SCITerminate();
}

static void senders(void) {
  static const unsigned ids[SENDERS] = {8, 12, 16, 20};
  pid_t all[SENDERS + 1];
  int i;
  all[SENDERS] = node(4, receiver, NULL);
  for (i = 0; i < SENDERS; i++) all[i] = node(ids[i], sender, (void *)(intptr_t)i);
  for (i = 0; i <= SENDERS; i++) joined(all[i]);
  puts("senders: passed");
}

/* A receiver that takes nothing for long: what is sent to it by a connection that was closed meanwhile is not overtaken by the next one. */
static void late_receiver(void *arg) {
  sci_desc_t sd = opened();
  sci_local_data_interrupt_t d;
  unsigned no = 31, message[1024], length, next = 0;
  (void)arg;
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  atomic_store(words + 23, 1);
  while (atomic_load(words + 23) != 2) sched_yield();
  do {
    length = sizeof message;
    EXPECT(OK, SCIWaitForDataInterrupt(d, message, &length, SCI_INFINITE_TIMEOUT, 0, &e));
    CHECK(length == sizeof message && message[0] == next);
    next++;
  } while (message[1] == 0);
  SCITerminate();
}

static void hasty_sender(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_data_interrupt_t d;
  unsigned message[1024] = {0}, room;
  FILE *f;
  (void)arg;
  while (atomic_load(words + 23) != 1) sched_yield();
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 31, SCI_INFINITE_TIMEOUT, 0, &e));
  /* More than the receiver's kernel keeps, which counts bytes; what it does not waits on its way. */
  CHECK((f = fopen("/proc/sys/net/core/wmem_default", "r")) != NULL && fscanf(f, "%u", &room) == 1);
  fclose(f);
  for (; message[0] < room / sizeof message + 8; message[0]++) EXPECT(OK, SCITriggerDataInterrupt(d, message, sizeof message, 0, &e));
  EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
  EXPECT(TIMEOUT, SCIConnectDataInterrupt(sd, &d, 4, 0, 31, 100, 0, &e));
  atomic_store(words + 23, 2);
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 31, SCI_INFINITE_TIMEOUT, 0, &e));
  message[1] = 1;
  EXPECT(OK, SCITriggerDataInterrupt(d, message, sizeof message, 0, &e));
  EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
  SCITerminate();
}

static void hasty(void) {
  pid_t receives = node(4, late_receiver, NULL), sends = node(8, hasty_sender, NULL);
  joined(sends);
  joined(receives);
  puts("hasty: passed");
}

/* What was stored or sent before is there when somebody is woken, also by another process of the node than has the segment. */
static void has_segment(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 40, 1 << 20, 0);
  (void)arg;
  EXPECT(OK, SCIShareSegment(s, 0, &e));
  meet(words + 4, 3);
  meet(words + 4, 3);
  SCITerminate();
}

static void is_woken(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  sci_local_interrupt_t i;
  sci_remote_interrupt_t answer;
  sci_map_t map;
  unsigned no = 41;
  size_t size;
  int k;
  volatile int *in;
  (void)arg;
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words + 4, 3);
  do SCIConnectInterrupt(sd, &answer, 4, 0, 42, SCI_INFINITE_TIMEOUT, 0, &e);
  while (e != SCI_ERR_OK);
  EXPECT(OK, SCIAttachLocalSegment(sd, &s, 40, &size, NULL, NULL, 0, &e));
  in = (volatile int *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  for (k = 1; k <= 300; k++) {
    EXPECT(OK, SCIWaitForInterrupt(i, SCI_INFINITE_TIMEOUT, 0, &e));
    CHECK(in[0] == k && in[(1 << 18) - 1] == k);
    EXPECT(OK, SCITriggerInterrupt(answer, 0, &e));
  }
  meet(words + 4, 3);
  SCITerminate();
}

static void wakes(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_remote_interrupt_t i;
  sci_local_interrupt_t answer;
  sci_map_t map;
  unsigned no = 42;
  int k;
  volatile int *out;
  static int block[1 << 18];
  (void)arg;
  EXPECT(OK, SCICreateInterrupt(sd, &answer, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words + 4, 3);
  r = connected(sd, 8, 40, 0);
  EXPECT(OK, SCIConnectInterrupt(sd, &i, 8, 0, 41, SCI_INFINITE_TIMEOUT, 0, &e));
  out = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  for (k = 1; k <= 300; k++) {
    if (k % 10 == 0) {
      block[0] = block[(1 << 18) - 1] = k;
      EXPECT(OK, SCIMemCpy(NULL, block, map, 0, sizeof block, 0, &e));
    } else {
      out[0] = k, out[(1 << 18) - 1] = k;
    }
    EXPECT(OK, SCITriggerInterrupt(i, 0, &e));
    EXPECT(OK, SCIWaitForInterrupt(answer, SCI_INFINITE_TIMEOUT, 0, &e));
  }
  meet(words + 4, 3);
  SCITerminate();
}

static void order(void) {
  pid_t a = node(8, has_segment, NULL), b = node(8, is_woken, NULL), c = node(4, wakes, NULL);
  joined(a), joined(b), joined(c);
  puts("order: passed");
}

/* Again and again: nothing grows, on neither side. */
static unsigned descriptors(void) {
  unsigned n = 0;
  int fd;
  for (fd = 0; fd < 1024; fd++) n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
  return n;
}

static void serves(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 50, 8192, 0);
  sci_local_interrupt_t i;
  unsigned no = 50, before;
  (void)arg;
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  meet(words + 5, 2);
  meet(words + 5, 2);
  before = descriptors();
  meet(words + 5, 2);
  meet(words + 5, 2); /* the peer has done it, and nobody is connected */
  while (descriptors() > before) pause_ms(1); /* threads of the library may be about to close some */
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  SCITerminate();
}

static void visits(sci_desc_t sd, int turns) {
  while (turns-- > 0) {
    sci_remote_segment_t r = connected(sd, 8, 50, 0);
    sci_remote_interrupt_t i;
    sci_map_t map;
    volatile int *p = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
    int next = p[0] + 1;
    p[0] = next;
    EXPECT(OK, SCIConnectInterrupt(sd, &i, 8, 0, 50, SCI_INFINITE_TIMEOUT, 0, &e));
    EXPECT(OK, SCITriggerInterrupt(i, 0, &e));
    EXPECT(OK, SCIDisconnectInterrupt(i, 0, &e));
    EXPECT(OK, SCIUnmapSegment(map, 0, &e));
    EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  }
}

static void visiting(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_map_t map;
  unsigned before;
  (void)arg;
  meet(words + 5, 2);
  visits(sd, 20);
  before = descriptors();
  meet(words + 5, 2);
  meet(words + 5, 2);
  visits(sd, 100);
  while (descriptors() > before) pause_ms(1); /* threads of the library may be about to close some */
  r = connected(sd, 8, 50, 0);
  CHECK(*(volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e) == 120); /* each time what the last one stored was there */
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  meet(words + 5, 2);
  SCITerminate();
}

static void cycles(void) {
  pid_t a = node(8, serves, NULL), b = node(4, visiting, NULL);
  joined(a), joined(b);
  puts("cycles: passed");
}

/* A host that gives no sign of life: LOST; the process that owns the segment has not ended. */
static void silent(void *arg) {
  sci_desc_t sd = opened();
  (void)arg;
  (void)offered(sd, 60, 4096, 0);
  for (;;) pause();
}

static void loses(void *arg) {
  sci_desc_t sd;
  sci_remote_segment_t r;
  sci_error_t status;
  sci_map_t map;
  sci_sequence_t q;
  (void)arg;
  setenv("SISCI_LINK_TIMEOUT", "1", 1);
  sd = opened();
  r = connected(sd, 8, 60, 0);
  CHECK(SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e) != NULL);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  CHECK(SCIStartSequence(q, 0, &e) == SCI_SEQ_OK);
  shell("ip link set sisci0 down");
  CHECK(SCIWaitForRemoteSegmentEvent(r, &status, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_LOST);
  CHECK(SCICheckSequence(q, 0, &e) == SCI_SEQ_NOT_RETRIABLE);
  EXPECT(TRANSFER_FAILED, SCIMemCpy(q, &status, map, 0, 4, SCI_FLAG_ERROR_CHECK, &e));
  SCITerminate();
}

static void lost(void) {
  pid_t a = node(8, silent, NULL);
  joined(node(4, loses, NULL));
  killed(a);
  puts("lost: passed");
}

/* Without arguments all of it; with a number a long run of that many messages of each sender alone. */
int main(int argc, char **argv) {
  words = shared_words();
  two_hosts();
  if (argc > 1) {
    messages = (unsigned)atoi(argv[1]);
    senders();
    return 0;
  }
  stores();
  group();
  reached();
  senders();
  hasty();
  order();
  cycles();
  lost();
  return 0;
}
