/* Two nodes: stores and loads, sequences, DMA, interrupts, events. Node 4 owns, node 8 connects.
 *
 *   pair         on one host
 *   pair hosts   on two */
#include "test.h"

enum { SIZE = 1 << 20, ROUNDS = 5000, MESSAGES = 5000 };

static _Atomic int *words;
static int rounds = ROUNDS;

static unsigned char value(size_t at, unsigned turn) { return (unsigned char)(at * 7 + turn * 31 + 1); }

/* Flags that both sides store and load: the classic ping-pong, with data that the flag covers. */
static void ping_owner(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 1, 8192, 0);
  sci_remote_segment_t r = connected(sd, 8, 2, 0);
  sci_map_t mine, theirs;
  volatile int *in = (volatile int *)SCIMapLocalSegment(s, &mine, 0, 8192, NULL, 0, &e);
  volatile int *out = (volatile int *)SCIMapRemoteSegment(r, &theirs, 0, 8192, NULL, 0, &e);
  int i, k;
  for (i = 1; i <= rounds; i++) {
    for (k = 1; k < 16; k++) out[16 + k] = i + k;
    SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
    out[0] = i;
    while (in[0] != i) sched_yield();
    for (k = 1; k < 16; k++) CHECK(in[16 + k] == 2 * i + k);
  }
  EXPECT(OK, SCIUnmapSegment(theirs, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIUnmapSegment(mine, 0, &e));
  do SCIRemoveSegment(s, 0, &e);
  while (e == SCI_ERR_BUSY);
  CHECK(e == SCI_ERR_OK);
}

static void ping_peer(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 2, 8192, 0);
  sci_remote_segment_t r = connected(sd, 4, 1, 0);
  sci_map_t mine, theirs;
  sci_sequence_t q;
  volatile int *in = (volatile int *)SCIMapLocalSegment(s, &mine, 0, 8192, NULL, 0, &e);
  int i, k, block[16];
  CHECK(SCIMapRemoteSegment(r, &theirs, 0, 8192, NULL, SCI_FLAG_BROADCAST, &e) != NULL);
  EXPECT(OK, SCICreateMapSequence(theirs, &q, 0, &e));
  for (i = 1; i <= rounds; i++) {
    while (in[0] != i) sched_yield();
    for (k = 1; k < 16; k++) CHECK(in[16 + k] == i + k);
    for (k = 1; k < 16; k++) block[k] = 2 * i + k;
    do {
      while (SCIStartSequence(q, 0, &e) != SCI_SEQ_OK) {
      }
      EXPECT(OK, SCIMemCpy(q, block, theirs, 64, 64, 0, &e));
    } while (SCICheckSequence(q, 0, &e) != SCI_SEQ_OK);
    EXPECT(OK, SCIMemCpy(q, &i, theirs, 0, 4, SCI_FLAG_ERROR_CHECK, &e));
  }
  EXPECT(OK, SCIRemoveSequence(q, 0, &e));
  EXPECT(OK, SCIUnmapSegment(theirs, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIUnmapSegment(mine, 0, &e));
  do SCIRemoveSegment(s, 0, &e);
  while (e == SCI_ERR_BUSY);
  CHECK(e == SCI_ERR_OK);
}

static sci_callback_action_t dma_done(void *arg, sci_dma_queue_t queue, sci_error_t status) {
  (void)queue;
  atomic_fetch_add((_Atomic int *)arg, status == SCI_ERR_OK ? 1 : 1000);
  return SCI_CALLBACK_CONTINUE;
}

static void dma_owner(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 3, SIZE, 0);
  sci_map_t map;
  unsigned char *p = (unsigned char *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  size_t i;
  for (i = 0; i < SIZE; i++) p[i] = value(i, 0);
  meet(words, 2);
  meet(words, 2); /* the peer has read, and written */
  for (i = 0; i < SIZE; i++)
    if (p[i] != value(i, 5)) FAIL("byte %zu is %u", i, p[i]);
  meet(words, 2);
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, SCI_FLAG_FORCE_REMOVE, &e));
  meet(words, 2);
}

static void dma_peer(sci_desc_t sd) {
  sci_local_segment_t s;
  sci_remote_segment_t r = connected(sd, 4, 3, 0);
  sci_dma_queue_t q;
  sci_dma_channel_t channel;
  sci_map_t map;
  dis_dma_vec_t v[256];
  _Atomic int done = 0;
  unsigned char *p, *mine = (unsigned char *)malloc(SIZE);
  size_t i;
  EXPECT(OK, SCICreateSegment(sd, &s, 0, SIZE, NULL, NULL, SCI_FLAG_PRIVATE, &e));
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 4, 0, &e));
  EXPECT(SEGMENT_NOT_PREPARED, SCIStartDmaTransfer(q, s, r, 0, 64, 0, NULL, NULL, 0, &e));
  EXPECT(OK, SCIRequestDMAChannel(sd, &channel, 0, SCI_DMA_TYPE_DONTCARE, SCI_DMA_CHANNEL_ID_DONTCARE, 0, &e));
  EXPECT(OK, SCIPrepareLocalSegmentForDMA(channel, s, 0, &e));
  EXPECT(OK, SCIAssignDMAChannel(channel, q, 0, &e));
  EXPECT(OK, SCIPrepareSegment(s, 0, 0, &e));
  p = (unsigned char *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_IDLE);
  EXPECT(ILLEGAL_OPERATION, SCIWaitForDMAQueue(q, 0, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCIPostDMAQueue(q, NULL, NULL, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCIAbortDMAQueue(q, 0, &e));
  EXPECT(OUT_OF_RANGE, SCIStartDmaTransfer(q, s, r, 0, SIZE, 1, NULL, NULL, 0, &e));
  EXPECT(OUT_OF_RANGE, SCIStartDmaTransfer(q, s, r, SIZE_MAX, 2, 0, NULL, NULL, 0, &e));
  EXPECT(ILLEGAL_FLAG, SCIStartDmaTransfer(q, s, r, 0, 64, 0, dma_done, &done, SCI_FLAG_DMA_WAIT | SCI_FLAG_USE_CALLBACK, &e));
  meet(words, 2);
  /* Read all, with DMA_WAIT; then by the engine, in the four ways of the API. */
  EXPECT(OK, SCIStartDmaTransfer(q, s, r, 0, SIZE, 0, NULL, NULL, SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_GLOBAL, &e));
  for (i = 0; i < SIZE; i++)
    if (p[i] != value(i, 0)) FAIL("byte %zu is %u", i, p[i]);
  CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_DONE);
  /* The first quarter: old calls, three entries, posted with a callback. */
  for (i = 0; i < SIZE; i++) p[i] = mine[i] = value(i, 5);
  EXPECT(ILLEGAL_OPERATION, SCIEnqueueDMATransfer(q, s, r, 0, 0, 64, 0, &e));
  EXPECT(OK, SCIResetDMAQueue(q, 0, &e));
  CHECK(SCIEnqueueDMATransfer(q, s, r, 0, 0, 1000, 0, &e) == SCI_DMAQUEUE_GATHER);
  SCIEnqueueDMATransfer(q, s, r, 1000, 1000, 1, 0, &e);
  SCIEnqueueDMATransfer(q, s, r, 1001, 1001, SIZE / 4 - 1001, 0, &e);
  SCIEnqueueDMATransfer(q, s, r, 0, 0, 1, 0, &e);
  EXPECT(MAX_ENTRIES, SCIEnqueueDMATransfer(q, s, r, 0, 0, 1, 0, &e));
  EXPECT(OK, SCIPostDMAQueue(q, dma_done, &done, SCI_FLAG_USE_CALLBACK, &e));
  CHECK(SCIWaitForDMAQueue(q, SCI_INFINITE_TIMEOUT, SCI_FLAG_DMA_READ, &e) == SCI_DMAQUEUE_DONE);
  while (atomic_load(&done) == 0) sched_yield();
  CHECK(done == 1);
  /* All in one call, and the queue is idle again. */
  EXPECT(OK, SCIResetDMAQueue(q, 0, &e));
  CHECK(SCIEnqueueDMATransfer(q, s, r, 0, 0, 77, SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET, &e) == SCI_DMAQUEUE_IDLE);
  /* The second quarter: a vector, the last entries of one byte. */
  for (i = 0; i < 256; i++) {
    size_t step = SIZE / 4 / 256;
    v[i].size = (unsigned)(i < 255 ? step : step - 1);
    v[i].local_offset = v[i].remote_offset = (unsigned)(SIZE / 4 + i * step);
    v[i].flags = 0;
  }
  EXPECT(ILLEGAL_PARAMETER, SCIStartDmaTransferVec(q, s, r, 0, v, NULL, NULL, 0, &e));
  EXPECT(MAX_ENTRIES, SCIStartDmaTransferVec(q, s, r, 257, v, NULL, NULL, 0, &e));
  EXPECT(OK, SCIStartDmaTransferVec(q, s, r, 256, v, dma_done, &done, SCI_FLAG_USE_CALLBACK, &e));
  v[0].size = 0; /* the vector may be changed */
  while (atomic_load(&done) == 1) sched_yield();
  CHECK(done == 2);
  CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_DONE);
  v[0].size = 1, v[0].local_offset = v[0].remote_offset = SIZE / 2 - 1;
  EXPECT(OK, SCIStartDmaTransferVec(q, s, r, 1, v, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  /* The third: the program's memory, polled. */
  EXPECT(ILLEGAL_ADDRESS, SCIStartDmaTransferMem(q, NULL, r, 64, 0, NULL, NULL, 0, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIStartDmaTransferMem(q, (void *)16, r, 64, 0, NULL, NULL, 0, &e));
  EXPECT(OK, SCIStartDmaTransferMem(q, mine + SIZE / 2, r, SIZE / 4, SIZE / 2, NULL, NULL, SCI_FLAG_DMA_SYSDMA, &e));
  while (SCIDMAQueueState(q) == SCI_DMAQUEUE_POSTED) sched_yield();
  CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_DONE);
  /* The last: from map to map, by the processor and by the engine. */
  {
    sci_map_t there;
    sci_block_transfer_t block;
    unsigned from = SIZE / 4 * 3, half = SIZE / 8;
    SCIMapRemoteSegment(r, &there, 0, SIZE, NULL, 0, &e);
    EXPECT(OK, SCITransferBlock(map, from, there, from, half, 0, &e));
    EXPECT(OK, SCITransferBlockAsync(map, from + half, there, from + half, half, &block, NULL, NULL, 0, &e));
    EXPECT(OK, SCIWaitForBlockTransfer(block, SCI_INFINITE_TIMEOUT, 0, &e));
    EXPECT(ILLEGAL_PARAMETER, SCIWaitForBlockTransfer(block, 0, 0, &e));
    EXPECT(OK, SCIUnmapSegment(there, 0, &e));
  }
  meet(words, 2);
  meet(words, 2);
  meet(words, 2); /* the owner has removed the segment by force */
  while (SCIWaitForRemoteSegmentEvent(r, &e, SCI_INFINITE_TIMEOUT, 0, &e) != SCI_CB_DISCONNECT) CHECK(e == SCI_ERR_OK);
  EXPECT(TRANSFER_FAILED, SCIStartDmaTransfer(q, s, r, 0, 64, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  CHECK(SCIDMAQueueState(q) == SCI_DMAQUEUE_ERROR);
  EXPECT(SEGMENT_NOT_CONNECTED, CHECK(SCIMapRemoteSegment(r, &map, 0, 8, NULL, 0, &e) == NULL));
  EXPECT(OK, SCIRemoveDMAQueue(q, 0, &e));
  EXPECT(OK, SCIReturnDMAChannel(channel, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  free(mine);
}

static _Atomic int called;

static sci_callback_action_t interrupted(void *arg, sci_local_interrupt_t i, sci_error_t status) {
  (void)arg, (void)i;
  CHECK(status == SCI_ERR_OK);
  atomic_fetch_add(&called, 1);
  return SCI_CALLBACK_CONTINUE;
}

static sci_callback_action_t told(void *arg, sci_local_data_interrupt_t i, void *data, unsigned length, sci_error_t status) {
  unsigned *next = (unsigned *)arg, got;
  (void)i;
  CHECK(status == SCI_ERR_OK && length == 100);
  memcpy(&got, data, sizeof got);
  CHECK(got == *next);
  ++*next;
  atomic_fetch_add(&called, 1);
  return SCI_CALLBACK_CONTINUE;
}

static void interrupts_owner(sci_desc_t sd) {
  sci_local_interrupt_t plain, counting, calling, shared[2];
  sci_local_data_interrupt_t data, calls;
  unsigned no[] = {10, 11, 12, 13, 20, 21}, i, length, got, next = 0;
  char text[128];
  EXPECT(OK, SCICreateInterrupt(sd, &plain, 0, &no[0], NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &counting, 0, &no[1], NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &calling, 0, &no[2], interrupted, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK | SCI_FLAG_COUNTING_INT, &e));
  for (i = 0; i < 2; i++)
    EXPECT(OK, SCICreateInterrupt(sd, &shared[i], 0, &no[3], NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &data, 0, &no[4], NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &calls, 0, &no[5], told, &next, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &e));
  meet(words, 2);
  EXPECT(ILLEGAL_OPERATION, SCIWaitForInterrupt(calling, 0, 0, &e));
  for (i = 0; i < 1000; i++) EXPECT(OK, SCIWaitForInterrupt(counting, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(counting, 0, 0, &e));
  EXPECT(OK, SCIWaitForInterrupt(plain, SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 0; i < 2; i++) EXPECT(OK, SCIWaitForInterrupt(shared[i], SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 0; i < MESSAGES; i++) {
    length = sizeof text;
    EXPECT(OK, SCIWaitForDataInterrupt(data, text, &length, SCI_INFINITE_TIMEOUT, 0, &e));
    memcpy(&got, text, sizeof got);
    CHECK(length == 4 + i % 64 && got == i);
  }
  while (atomic_load(&called) < 1000 + MESSAGES) sched_yield();
  CHECK(next == MESSAGES);
  meet(words, 2);
  EXPECT(OK, SCIRemoveInterrupt(plain, 0, &e));
  EXPECT(OK, SCIRemoveInterrupt(calling, 0, &e));
  meet(words, 2); /* the peer has seen that */
  SCITerminate(); /* frees the rest */
  sd = opened();
  EXPECT(OK, SCICreateInterrupt(sd, &plain, 0, &no[1], NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  SCITerminate();
}

static void interrupts_peer(sci_desc_t sd) {
  sci_remote_interrupt_t r[4];
  sci_remote_data_interrupt_t d;
  char text[128] = {0};
  unsigned i, k;
  meet(words, 2);
  for (i = 0; i < 4; i++) EXPECT(OK, SCIConnectInterrupt(sd, &r[i], 4, 0, 10 + i, SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 0; i < 1000; i++)
    for (k = 1; k < 3; k++) EXPECT(OK, SCITriggerInterrupt(r[k], 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r[0], 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r[3], 0, &e));
  /* One connection for each message: none is lost. */
  for (i = 0; i < MESSAGES; i++) {
    if (i % 100 == 0) {
      if (i != 0) EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
      EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 20, SCI_INFINITE_TIMEOUT, 0, &e));
    }
    memcpy(text, &i, sizeof i);
    do SCITriggerDataInterrupt(d, text, 4 + i % 64, 0, &e);
    while (e == SCI_ERR_EWOULD_BLOCK);
    CHECK(e == SCI_ERR_OK);
  }
  EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 21, SCI_INFINITE_TIMEOUT, 0, &e));
  for (i = 0; i < MESSAGES; i++) {
    memcpy(text, &i, sizeof i);
    EXPECT(OK, SCITriggerDataInterrupt(d, text, 100, 0, &e));
  }
  meet(words, 2);
  do SCITriggerInterrupt(r[0], 0, &e);
  while (e == SCI_ERR_OK);
  CHECK(e == SCI_ERR_TRANSFER_FAILED);
  meet(words, 2);
  SCITerminate();
}

/* Who withdraws, and who leaves. */
static void events_owner(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 30, 4096, 0);
  unsigned who = 0, adapter = 9;
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, &adapter, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT);
  CHECK(who == 8 && adapter == 0);
  EXPECT(BUSY, SCIRemoveSegment(s, 0, &e));
  EXPECT(OK, SCISetSegmentUnavailable(s, 0, SCI_FLAG_NOTIFY, &e));
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT && who == 8);
  EXPECT(OK, SCISetSegmentAvailable(s, 0, 0, &e));
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT);
  meet(words, 2);
  EXPECT(OK, SCISetSegmentUnavailable(s, 0, SCI_FLAG_FORCE_DISCONNECT, &e));
  CHECK(SCIWaitForLocalSegmentEvent(s, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
  EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(s, NULL, NULL, 10, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  meet(words, 2);
  s = offered(sd, 31, 4096, 0);
  meet(words, 2);
  meet(words, 2);
  EXPECT(BUSY, SCIRemoveSegment(s, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, SCI_FLAG_FORCE_REMOVE, &e));
}

static _Atomic int reasons[8];

/* Called for a segment that was connected without waiting. */
static sci_callback_action_t remote_event(void *arg, sci_remote_segment_t s, sci_segment_cb_reason_t reason, sci_error_t status) {
  CHECK(arg == (void *)words && (reason != SCI_CB_CONNECT || status == SCI_ERR_OK) && SCIGetRemoteSegmentId(s) == 31);
  atomic_fetch_add(&reasons[reason], 1);
  return SCI_CALLBACK_CONTINUE;
}

static void events_peer(sci_desc_t sd) {
  sci_remote_segment_t r = connected(sd, 4, 30, 0);
  sci_error_t status;
  sci_map_t map;
  sci_sequence_t q;
  volatile char *p;
  long number = 0;
  CHECK(SCIWaitForRemoteSegmentEvent(r, &status, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
  p = (volatile char *)SCIMapRemoteSegment(r, &map, 0, 4096, NULL, 0, &e);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  CHECK(SCIStartSequence(q, 0, &e) == SCI_SEQ_OK); /* only invited to leave */
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIRemoveSequence(q, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  /* Without waiting: tried until it is through. */
  for (;;) {
    EXPECT(OK, SCIConnectSegment(sd, &r, 4, 30, 0, NULL, NULL, 1000, SCI_FLAG_ASYNCHRONOUS_CONNECT, &e));
    CHECK(SCIWaitForRemoteSegmentEvent(r, &status, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT);
    if (status == SCI_ERR_OK) break;
    if (status != SCI_ERR_NO_SUCH_SEGMENT && status != SCI_ERR_TIMEOUT) FAIL("0x%x %s", (unsigned)status, SCIGetErrorString(status));
    EXPECT(SEGMENT_NOT_CONNECTED, SCIMapRemoteSegment(r, &map, 0, 8, NULL, 0, &e));
    EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  }
  p = (volatile char *)SCIMapRemoteSegment(r, &map, 0, 4096, NULL, 0, &e);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  meet(words, 2);
  CHECK(SCIWaitForRemoteSegmentEvent(r, &status, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT);
  CHECK(SCICheckSequence(q, 0, &e) == SCI_SEQ_NOT_RETRIABLE && SCIStartSequence(q, 0, &e) == SCI_SEQ_NOT_RETRIABLE);
  EXPECT(TRANSFER_FAILED, SCIMemCpy(q, &number, map, 0, 8, SCI_FLAG_ERROR_CHECK, &e));
  p[0] = 1; /* the memory stays */
  CHECK(p[0] == 1);
  EXPECT(OK, SCIRemoveSequence(q, 0, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  meet(words, 2);
  /* The same with a callback, of which the segment hears too that it is withdrawn. */
  meet(words, 2);
  EXPECT(OK, SCIConnectSegment(sd, &r, 4, 31, 0, remote_event, (void *)words, SCI_INFINITE_TIMEOUT,
                               SCI_FLAG_ASYNCHRONOUS_CONNECT | SCI_FLAG_USE_CALLBACK, &e));
  while (atomic_load(&reasons[SCI_CB_CONNECT]) == 0) sched_yield();
  EXPECT(ILLEGAL_OPERATION, SCIWaitForRemoteSegmentEvent(r, &status, 0, 0, &e));
  meet(words, 2);
  while (atomic_load(&reasons[SCI_CB_DISCONNECT]) == 0) sched_yield();
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
}

/* A flag that its receiver clears is set again to the same value: every copy arrives, also of bytes that were the same at the last one. */
static void again_owner(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 40, 8192, 0);
  sci_map_t map;
  volatile unsigned long long *p = (volatile unsigned long long *)SCIMapLocalSegment(s, &map, 0, 0, NULL, 0, &e);
  int i;
  for (i = 0; i < 400; i++) {
    while (p[512] != 7) sched_yield();
    p[512] = 0;
    atomic_store(words + 3, i + 1);
  }
  meet(words, 2);
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
}

static void again_peer(sci_desc_t sd) {
  sci_local_segment_t s = offered(sd, 41, 4096, 0);
  sci_remote_segment_t r = connected(sd, 4, 40, 0);
  sci_map_t mine, theirs;
  sci_block_transfer_t block;
  unsigned long long seven = 7;
  volatile unsigned long long *from = (volatile unsigned long long *)SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e);
  char *to = (char *)SCIMapRemoteSegment(r, &theirs, 0, 0, NULL, 0, &e);
  int i;
  from[0] = seven;
  for (i = 0; i < 400; i++) {
    switch (i % 4) {
      case 0: EXPECT(OK, SCIMemCpy(NULL, &seven, theirs, 4096, 8, 0, &e)); break;
      case 1: EXPECT(OK, SCIMemWrite(&seven, to + 4096, 8, 0, &e)); break;
      case 2: EXPECT(OK, SCITransferBlock(mine, 0, theirs, 4096, 8, 0, &e)); break;
      default:
        EXPECT(OK, SCITransferBlockAsync(mine, 0, theirs, 4096, 8, &block, NULL, NULL, 0, &e));
        EXPECT(OK, SCIWaitForBlockTransfer(block, SCI_INFINITE_TIMEOUT, 0, &e));
    }
    SCIFlush(NULL, 0);
    while (atomic_load(words + 3) != i + 1) sched_yield();
  }
  EXPECT(OK, SCIUnmapSegment(theirs, 0, &e));
  EXPECT(OK, SCIUnmapSegment(mine, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  meet(words, 2);
}

static void owner(void *arg) {
  sci_desc_t sd = opened();
  (void)arg;
  ping_owner(sd);
  dma_owner(sd);
  again_owner(sd);
  events_owner(sd);
  interrupts_owner(sd);
}

static void peer(void *arg) {
  sci_desc_t sd = opened();
  (void)arg;
  ping_peer(sd);
  dma_peer(sd);
  again_peer(sd);
  events_peer(sd);
  interrupts_peer(sd);
}

int main(int argc, char **argv) {
  pid_t a, b;
  (void)argv;
  if (argc > 1) two_hosts(), rounds = ROUNDS / 10; /* each one takes a millisecond: one of its stores is not flushed */
  words = shared_words();
  a = node(4, owner, NULL);
  b = node(8, peer, NULL);
  joined(a);
  joined(b);
  puts("pair: passed");
  return 0;
}
