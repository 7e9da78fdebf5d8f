/* Many processes: who gets an id, groups of reflective memory, several owners of a segment, several processes of a node. */
#include "test.h"

static _Atomic int *words;

enum { RACERS = 64, IDS = 200 };

/* All want one id at once: one gets it. */
static void racer(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  int turn;
  (void)arg;
  for (turn = 0; turn < IDS; turn++) {
    meet(words, RACERS);
    SCICreateSegment(sd, &s, 500 + (unsigned)turn, 64, NULL, NULL, 0, &e);
    CHECK(e == SCI_ERR_OK || e == SCI_ERR_SEGMENTID_USED);
    if (e == SCI_ERR_OK) atomic_fetch_add(words + 8, 1);
    sd = sd;
    meet(words, RACERS);
    if (e == SCI_ERR_OK) EXPECT(OK, SCIRemoveSegment(s, 0, &e));
    meet(words, RACERS);
    CHECK(atomic_load(words + 8) == turn + 1);
  }
}

static void race(void) {
  pid_t all[RACERS];
  int i;
  for (i = 0; i < RACERS; i++) all[i] = node(4, racer, NULL);
  for (i = 0; i < RACERS; i++) joined(all[i]);
  puts("race: passed");
}

enum { MEMBERS = 4, GROUP_BYTES = 65536 };

/* What one stores, all load; one that is killed does not hold up the others. */
static void member(void *arg) {
  int me = (int)(intptr_t)arg, i;
  sci_desc_t sd = opened();
  sci_local_segment_t s, other;
  sci_remote_segment_t r;
  sci_map_t mine, all;
  sci_dma_queue_t q;
  volatile int *in, *out;
  EXPECT(OK, SCICreateSegment(sd, &s, 3, GROUP_BYTES, NULL, NULL, SCI_FLAG_BROADCAST, &e));
  EXPECT(SEGMENTID_USED, SCICreateSegment(sd, &other, 3, GROUP_BYTES, NULL, NULL, SCI_FLAG_BROADCAST, &e));
  meet(words, MEMBERS);
  EXPECT(OK, SCIPrepareSegment(s, 0, SCI_FLAG_BROADCAST, &e));
  EXPECT(OK, SCISetSegmentAvailable(s, 0, 0, &e));
  meet(words, MEMBERS); /* who connects finds all of them */
  in = (volatile int *)SCIMapLocalSegment(s, &mine, 0, GROUP_BYTES, NULL, 0, &e);
  r = connected(sd, DIS_BROADCAST_NODEID_GROUP_ALL, 3, SCI_FLAG_BROADCAST);
  out = (volatile int *)SCIMapRemoteSegment(r, &all, 0, GROUP_BYTES, NULL, SCI_FLAG_BROADCAST, &e);
  CHECK(in != NULL && out != NULL);
  out[100 + me] = me + 1;
  SCIFlush(NULL, 0);
  meet(words, MEMBERS);
  for (i = 0; i < MEMBERS; i++) CHECK(in[100 + i] == i + 1);
  if (me == 0) { /* by DMA, from a segment of its own */
    sci_local_segment_t from;
    sci_map_t map;
    int *p;
    EXPECT(OK, SCICreateSegment(sd, &from, 0, GROUP_BYTES, NULL, NULL, SCI_FLAG_PRIVATE, &e));
    EXPECT(OK, SCIPrepareSegment(from, 0, 0, &e));
    p = (int *)SCIMapLocalSegment(from, &map, 0, 0, NULL, 0, &e);
    for (i = 0; i < 1000; i++) p[i] = i * 3;
    EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, SCI_FLAG_BROADCAST, &e));
    EXPECT(OK, SCIStartDmaTransfer(q, from, r, 0, 4000, 8000, NULL, NULL, SCI_FLAG_DMA_WAIT | SCI_FLAG_BROADCAST, &e));
  }
  meet(words, MEMBERS);
  for (i = 0; i < 1000; i++) CHECK(in[2000 + i] == i * 3);
  if (me == 1) { /* the wrong size is no member */
    EXPECT(OK, SCICreateSegment(sd, &other, 4, 4096, NULL, NULL, SCI_FLAG_BROADCAST, &e));
    EXPECT(OK, SCIRemoveSegment(other, 0, &e));
  }
  meet(words, MEMBERS);
  if (me == 2) { /* killed by main */
    atomic_store(words + 9, 1);
    for (;;) pause();
  }
  while (atomic_load(words + 9) != 2) sched_yield();
  out[200 + me] = me + 50;
  meet(words + 10, MEMBERS - 1);
  for (i = 0; i < MEMBERS; i++) CHECK(i == 2 || in[200 + i] == i + 50);
  if (me == 0) { /* a new member, of the same node as the one that was killed, can come; one of another size not */
    atomic_store(words + 9, 3);
  }
  meet(words + 11, MEMBERS);
  CHECK(in[300] == 77);
  {
    /* Each of the four members has connected once, the late one not; the one that was killed has gone. */
    int came = 0, went = 0;
    while (came < MEMBERS || went < 1) {
      sci_segment_cb_reason_t reason = SCIWaitForLocalSegmentEvent(s, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e);
      CHECK(e == SCI_ERR_OK);
      came += reason == SCI_CB_CONNECT, went += reason == SCI_CB_DISCONNECT;
    }
    CHECK(came == MEMBERS && went == 1);
    EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(s, NULL, NULL, 0, 0, &e));
    meet(words + 10, MEMBERS - 1); /* before one of them leaves */
  }
  /* Nobody has heard of a loss: the group is there as long as one member is. */
  EXPECT(TIMEOUT, SCIWaitForRemoteSegmentEvent(r, &e, 0, 0, &e));
  SCITerminate();
}

static void late(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  sci_map_t map;
  volatile int *p;
  (void)arg;
  EXPECT(SIZE_ALIGNMENT, SCICreateSegment(sd, &s, 3, GROUP_BYTES + 1, NULL, NULL, SCI_FLAG_BROADCAST, &e));
  EXPECT(OK, SCICreateSegment(sd, &s, 3, GROUP_BYTES, NULL, NULL, SCI_FLAG_BROADCAST | SCI_FLAG_ALLOW_UNICAST, &e));
  p = (volatile int *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  CHECK(p[101] == 2 && p[2999] == 999 * 3);
  p[300] = 77;
  meet(words + 11, MEMBERS);
  SCITerminate();
}

static void group(void) {
  pid_t all[MEMBERS], more;
  int i;
  for (i = 0; i < MEMBERS; i++) all[i] = node(4 * (unsigned)(i + 1), member, (void *)(intptr_t)i);
  while (atomic_load(words + 9) != 1) sched_yield();
  killed(all[2]);
  atomic_store(words + 9, 2);
  while (atomic_load(words + 9) != 3) sched_yield();
  more = node(12, late, NULL);
  for (i = 0; i < MEMBERS; i++)
    if (i != 2) joined(all[i]);
  joined(more);
  puts("group: passed");
}

/* Who connected to a group stays connected by a member that came later, when those of then are gone. */
static void early_member(void *arg) {
  sci_desc_t sd = opened();
  (void)arg;
  (void)offered(sd, 8, 4096, SCI_FLAG_BROADCAST);
  meet(words + 15, 3);
  for (;;) pause();
}

static void later_member(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s;
  sci_map_t map;
  volatile int *in;
  unsigned who = 0;
  (void)arg;
  meet(words + 15, 3); /* the outsider connects now */
  while (atomic_load(words + 16) == 0) sched_yield();
  s = offered(sd, 8, 4096, SCI_FLAG_BROADCAST);
  in = (volatile int *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  atomic_store(words + 16, 2); /* the early one is killed now */
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, NULL, 20000, 0, &e) == SCI_CB_CONNECT && who == 8);
  atomic_store(words + 16, 3);
  while (in[3] != 33) sched_yield();
  SCITerminate();
}

static void outsider(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_map_t map;
  volatile int *out;
  (void)arg;
  meet(words + 15, 3);
  r = connected(sd, DIS_BROADCAST_NODEID_GROUP_ALL, 8, SCI_FLAG_BROADCAST);
  out = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  atomic_store(words + 16, 1);
  while (atomic_load(words + 16) != 3) sched_yield();
  EXPECT(TIMEOUT, SCIWaitForRemoteSegmentEvent(r, &e, 0, 0, &e));
  out[3] = 33;
  CHECK(SCIWaitForRemoteSegmentEvent(r, &e, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
  SCITerminate();
}

static void later(void) {
  pid_t early = node(4, early_member, NULL), other = node(12, later_member, NULL), out = node(8, outsider, NULL);
  while (atomic_load(words + 16) != 2) sched_yield();
  killed(early);
  joined(other);
  joined(out);
  puts("later members: passed");
}

/* Two processes of one node own a segment; a peer of another node stays connected when the first leaves. */
static void first(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 40, 5000, 0);
  sci_map_t map;
  volatile int *p = (volatile int *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  (void)arg;
  meet(words + 12, 3); /* the second finds that it is not shared */
  meet(words + 12, 3);
  EXPECT(OK, SCIShareSegment(s, SCI_FLAG_SHARE_EXTERNAL, &e));
  EXPECT(OK, SCIShareSegment(s, 0, &e));
  p[0] = 5;
  meet(words + 12, 3);
  meet(words + 12, 3); /* attached; the peer is connected */
  CHECK(SCIWaitForLocalSegmentEvent(s, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT);
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e)); /* the peer is connected, but another owner stays */
  meet(words + 12, 3);
  meet(words + 12, 3);
}

static void second(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s, wrong;
  sci_map_t map;
  size_t size = 0;
  unsigned who = 0;
  volatile int *p;
  (void)arg;
  meet(words + 12, 3);
  EXPECT(ACCESS, SCIAttachLocalSegment(sd, &wrong, 40, &size, NULL, NULL, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIAttachLocalSegment(sd, &wrong, 41, &size, NULL, NULL, 0, &e));
  EXPECT(SEGMENTID_USED, SCICreateSegment(sd, &wrong, 40, 64, NULL, NULL, 0, &e));
  meet(words + 12, 3);
  meet(words + 12, 3);
  EXPECT(OK, SCIAttachLocalSegment(sd, &s, 40, &size, NULL, NULL, 0, &e));
  CHECK(size >= 5000 && SCIGetLocalSegmentId(s) == 40);
  p = (volatile int *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  CHECK(p[0] == 5);
  atomic_store(words + 13, 1);
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT && who == 8);
  meet(words + 12, 3);
  meet(words + 12, 3); /* the first has gone */
  CHECK(p[1] == 6);
  EXPECT(BUSY, (SCIUnmapSegment(map, 0, &e), SCIRemoveSegment(s, 0, &e)));
  meet(words + 12, 3); /* now the peer goes */
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT && who == 8);
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
}

static void third(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t r;
  sci_map_t map;
  volatile int *p;
  (void)arg;
  meet(words + 12, 3);
  meet(words + 12, 3);
  meet(words + 12, 3);
  while (atomic_load(words + 13) == 0) sched_yield();
  r = connected(sd, 4, 40, 0);
  p = (volatile int *)SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  p[1] = 6;
  meet(words + 12, 3);
  meet(words + 12, 3);
  EXPECT(TIMEOUT, SCIWaitForRemoteSegmentEvent(r, &e, 50, 0, &e));
  p[2] = 7;
  meet(words + 12, 3);
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
}

static void owners(void) {
  pid_t all[3];
  all[0] = node(4, first, NULL);
  all[1] = node(4, second, NULL);
  all[2] = node(8, third, NULL);
  joined(all[0]);
  joined(all[1]);
  joined(all[2]);
  puts("owners: passed");
}

int main(void) {
  words = shared_words();
  race();
  group();
  later();
  owners();
  return 0;
}
