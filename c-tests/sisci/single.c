/* What one process can see: results, states, limits, handles, queries. */
#include "test.h"

static sci_callback_action_t counted(void *arg, sci_local_segment_t segment, sci_segment_cb_reason_t reason, unsigned node, unsigned adapter,
                                     sci_error_t error) {
  (void)segment, (void)node, (void)adapter, (void)error;
  atomic_fetch_add((_Atomic int *)arg, reason == SCI_CB_CONNECT ? 1 : 100);
  return SCI_CALLBACK_CONTINUE;
}

/* Before SCIInitialize, and after SCITerminate, nothing works and nothing crashes. */
static void uninitialized(void) {
  sci_desc_t sd = NULL;
  unsigned id = 0;
  EXPECT(NOT_INITIALIZED, SCIOpen(&sd, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIGetLocalNodeId(0, &id, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIClose(sd, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIMemCpy(NULL, &id, NULL, 0, 4, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIMemWrite(&id, &id, 4, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIPrepareSegment(NULL, 0, 0, &e));
  EXPECT(NOT_INITIALIZED, SCIQuery(SCI_Q_API, &id, 0, &e));
  CHECK(SCIGetLocalSegmentSize(NULL) == 0 && SCIGetMapPointer(NULL) == NULL);
  CHECK(SCIStartSequence(NULL, 0, &e) == SCI_SEQ_NOT_RETRIABLE);
}

static void descriptors(void) {
  sci_desc_t sd, other;
  sci_local_segment_t segment;
  EXPECT(ILLEGAL_FLAG, SCIOpen(&sd, 0x100, &e));
  EXPECT(OK, SCIOpen(&sd, SCI_FLAG_THREAD_SAFE, &e));
  EXPECT(OK, SCIOpen(&other, 0, &e));
  CHECK(sd != other);
  EXPECT(OK, SCIClose(other, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIClose(other, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIClose(NULL, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &segment, 1, 100, NULL, NULL, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIClose((sci_desc_t)(void *)segment, 0, &e));
  EXPECT(BUSY, SCIClose(sd, 0, &e));
  EXPECT(OK, SCIRemoveSegment(segment, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIRemoveSegment(segment, 0, &e));
  EXPECT(OK, SCIClose(sd, 0, &e));
  SCIOpen(&sd, 0, NULL);
  SCIClose(sd, 0, NULL);
}

/* Each state of a segment, and what is refused there. */
static void segments(sci_desc_t sd) {
  sci_local_segment_t a, b;
  sci_map_t map;
  unsigned char *p;
  size_t i;
  EXPECT(SIZE_ALIGNMENT, SCICreateSegment(sd, &a, 5, 0, NULL, NULL, 0, &e));
  EXPECT(ILLEGAL_FLAG, SCICreateSegment(sd, &a, 5, 10, NULL, NULL, 0x80000000U, &e));
  EXPECT(NOT_SUPPORTED, SCICreateSegment(sd, &a, 5, 10, NULL, NULL, SCI_FLAG_PHYSICAL, &e));
  EXPECT(NOSPC, SCICreateSegment(sd, &a, 5, (size_t)1 << 50, NULL, NULL, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &a, 5, 10001, NULL, NULL, SCI_FLAG_DMA_GLOBAL, &e));
  EXPECT(SEGMENTID_USED, SCICreateSegment(sd, &b, 5, 10, NULL, NULL, 0, &e));
  CHECK(SCIGetLocalSegmentSize(a) == 10001 && SCIGetLocalSegmentId(a) == 5);
  EXPECT(SEGMENT_NOT_PREPARED, SCISetSegmentAvailable(a, 0, 0, &e));
  EXPECT(NO_SUCH_ADAPTERNO, SCIPrepareSegment(a, 1, 0, &e));
  EXPECT(OK, SCIPrepareSegment(a, 0, SCI_FLAG_BROADCAST, &e));
  EXPECT(OK, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentUnavailable(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentUnavailable(a, 0, SCI_FLAG_NOTIFY, &e));
  p = (unsigned char *)SCIMapLocalSegment(a, &map, 0, 0, NULL, 0, &e);
  CHECK(e == SCI_ERR_OK && p != NULL && ((uintptr_t)p & 4095) == 0 && SCIGetMapPointer(map) == p);
  for (i = 0; i < 10001; i++) CHECK(p[i] == 0);
  EXPECT(BUSY, SCIRemoveSegment(a, 0, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIUnmapSegment(map, 0, &e));
  CHECK(SCIGetMapPointer(map) == NULL);
  /* Pieces one behind the other, of any size; not beyond the end. */
  for (i = 0; i < 10000; i += 1000) {
    p = (unsigned char *)SCIMapLocalSegment(a, &map, i, 999, NULL, SCI_FLAG_SHARED_MAP, &e);
    CHECK(e == SCI_ERR_OK && p != NULL);
    memset(p, 1, 999);
    EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  }
  EXPECT(OUT_OF_RANGE, SCIMapLocalSegment(a, &map, 10000, 2, NULL, 0, &e));
  EXPECT(OUT_OF_RANGE, SCIMapLocalSegment(a, &map, 8, SIZE_MAX, NULL, 0, &e));
  EXPECT(OFFSET_ALIGNMENT, SCIMapLocalSegment(a, &map, 4, 8, NULL, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIMapLocalSegment(a, &map, 0, 8, NULL, SCI_FLAG_CONDITIONAL_INTERRUPT_MAP, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIMapLocalSegment(a, &map, 0, 8, (void *)&map, SCI_FLAG_FIXED_MAP_ADDR, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
  /* A number that the library chooses, and one that nobody can connect to. */
  EXPECT(OK, SCICreateSegment(sd, &a, 0, 4096, NULL, NULL, SCI_FLAG_AUTO_ID, &e));
  EXPECT(OK, SCICreateSegment(sd, &b, 0, 4096, NULL, NULL, SCI_FLAG_AUTO_ID, &e));
  CHECK(SCIGetLocalSegmentId(a) != SCIGetLocalSegmentId(b));
  EXPECT(OK, SCIRemoveSegment(b, SCI_FLAG_FORCE_REMOVE, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &a, 7, 4096, NULL, NULL, SCI_FLAG_PRIVATE, &e));
  EXPECT(OK, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCISetSegmentAvailable(a, 0, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCIShareSegment(a, 0, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
}

/* The program's own memory becomes a segment's, and stays where and what it is. */
static void registered(sci_desc_t sd) {
  sci_local_segment_t a, b;
  sci_remote_segment_t r;
  sci_map_t map;
  unsigned char *mine = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  volatile unsigned char *p;
  int local = 0;
  mine[5000] = 42;
  EXPECT(OK, SCICreateSegment(sd, &a, 9, 0, NULL, NULL, SCI_FLAG_EMPTY, &e));
  EXPECT(ILLEGAL_OPERATION, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(SIZE_ALIGNMENT, SCIRegisterSegmentMemory(mine, 5000, a, 0, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIRegisterSegmentMemory(mine + 1, 4096, a, 0, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIRegisterSegmentMemory((void *)((uintptr_t)&local & ~(uintptr_t)4095), 4096, a, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIRegisterSegmentMemory(mine, 8192, a, SCI_FLAG_CUDA_BUFFER, &e));
  EXPECT(OK, SCIRegisterSegmentMemory(mine, 8192, a, SCI_FLAG_LOCK_USER_MEM, &e));
  EXPECT(ILLEGAL_OPERATION, SCIRegisterSegmentMemory(mine, 8192, a, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIAttachPhysicalMemory(0, NULL, 0, 8192, a, 0, &e));
  EXPECT(OK, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(a, 0, 0, &e));
  r = connected(sd, 4, 9, 0);
  p = (volatile unsigned char *)SCIMapRemoteSegment(r, &map, 0, 8192, NULL, SCI_FLAG_IO_MAP_IOSPACE, &e);
  CHECK(p[5000] == 42);
  mine[1] = 7;
  CHECK(p[1] == 7);
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  /* One segment at a time has it; whole or in part the next one may. */
  EXPECT(OK, SCICreateSegment(sd, &b, 10, 0, NULL, NULL, SCI_FLAG_EMPTY, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIRegisterSegmentMemory(mine + 4096, 4096, b, 0, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
  CHECK(mine[5000] == 42 && mine[1] == 7);
  EXPECT(OK, SCIRegisterSegmentMemory(mine + 4096, 4096, b, 0, &e));
  EXPECT(OK, SCIRemoveSegment(b, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &a, 9, 8192, NULL, NULL, SCI_FLAG_EMPTY, &e));
  EXPECT(OK, SCIRegisterSegmentMemory(mine, 8192, a, 0, &e));
  CHECK(mine[5000] == 42 && mine[1] == 7);
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
}

/* Memory that the program shares already, a part of a file that nobody can make shorter: peers have that part. */
static void shared_memory(sci_desc_t sd) {
  sci_local_segment_t a;
  sci_remote_segment_t r;
  sci_map_t map;
  sci_dma_queue_t queue;
  int file = memfd_create("a program's", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  unsigned char *mine, some[128];
  volatile unsigned char *p;
  CHECK(file >= 0 && ftruncate(file, 16384) == 0);
  mine = (unsigned char *)mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(mine != MAP_FAILED);
  EXPECT(OK, SCICreateSegment(sd, &a, 9, 8192, NULL, NULL, SCI_FLAG_EMPTY, &e));
  EXPECT(ILLEGAL_ADDRESS, SCIRegisterSegmentMemory(mine + 4096, 8192, a, 0, &e));
  CHECK(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  EXPECT(OK, SCIRegisterSegmentMemory(mine + 4096, 8192, a, 0, &e));
  close(file);
  EXPECT(OK, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(a, 0, 0, &e));
  r = connected(sd, 4, 9, 0);
  p = (volatile unsigned char *)SCIMapRemoteSegment(r, &map, 4096, 4096, NULL, 0, &e);
  CHECK(e == SCI_ERR_OK);
  mine[8200] = 5;
  CHECK(p[8] == 5);
  p[9] = 6;
  CHECK(mine[8201] == 6);
  memset(some, 7, sizeof some);
  EXPECT(OK, SCICreateDMAQueue(sd, &queue, 0, 1, 0, &e));
  EXPECT(OK, SCIStartDmaTransferMem(queue, some, r, sizeof some, 64, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  CHECK(mine[4096 + 63] == 0 && mine[4096 + 64] == 7 && mine[4096 + 191] == 7 && mine[4096 + 192] == 0);
  EXPECT(OUT_OF_RANGE, SCIStartDmaTransferMem(queue, some, r, sizeof some, 8128, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  EXPECT(OK, SCIRemoveDMAQueue(queue, 0, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
  munmap(mine, 16384);
}

/* A node connects to itself; its callback hears of it. */
static void loopback(sci_desc_t sd) {
  _Atomic int count = 0;
  sci_local_segment_t a;
  sci_remote_segment_t r;
  sci_map_t map;
  sci_sequence_t s;
  char from[64], to[64];
  EXPECT(OK, SCICreateSegment(sd, &a, 11, 4096, counted, &count, SCI_FLAG_USE_CALLBACK, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 4, 11, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(ILLEGAL_NODEID, SCIConnectSegment(sd, &r, 0, 11, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(ILLEGAL_NODEID, SCIConnectSegment(sd, &r, 252, 11, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 77, 11, 0, NULL, NULL, 0, 0, &e));
  EXPECT(NO_SUCH_ADAPTERNO, SCIConnectSegment(sd, &r, 4, 11, 3, NULL, NULL, 0, 0, &e));
  EXPECT(OK, SCIPrepareSegment(a, 0, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(a, 0, 0, &e));
  EXPECT(OK, SCIConnectSegment(sd, &r, 4, 11, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  while (atomic_load(&count) != 101) sched_yield();
  /* The owner answers, however short the time is. */
  EXPECT(OK, SCIConnectSegment(sd, &r, 4, 11, 0, NULL, NULL, 0, 0, &e));
  CHECK(SCIGetRemoteSegmentSize(r) == 4096 && SCIGetRemoteSegmentId(r) == 11 && SCIGetRemoteSegmentNodeId(r) == 4);
  while (atomic_load(&count) != 102) sched_yield();
  EXPECT(ILLEGAL_OPERATION, SCIWaitForLocalSegmentEvent(a, NULL, NULL, 0, 0, &e));
  EXPECT(BUSY, SCIRemoveSegment(a, 0, &e));
  SCIMapRemoteSegment(r, &map, 0, 4096, NULL, 0, &e);
  EXPECT(BUSY, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCICreateMapSequence(map, &s, SCI_FLAG_FAST_BARRIER, &e));
  CHECK(SCIStartSequence(s, 0, &e) == SCI_SEQ_OK && e == SCI_ERR_OK);
  memset(from, 'x', sizeof from);
  EXPECT(OK, SCIMemCpy(s, from, map, 100, 64, SCI_FLAG_ERROR_CHECK, &e));
  EXPECT(OK, SCIMemCpy(NULL, to, map, 100, 64, SCI_FLAG_BLOCK_READ, &e));
  CHECK(memcmp(from, to, 64) == 0);
  EXPECT(OUT_OF_RANGE, SCIMemCpy(s, from, map, 4090, 64, 0, &e));
  EXPECT(OUT_OF_RANGE, SCIMemCpy(s, from, map, SIZE_MAX, 64, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIMemCpy((sci_sequence_t)(void *)map, from, map, 0, 8, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCIMemCpy(s, NULL, map, 0, 8, 0, &e));
  EXPECT(ILLEGAL_FLAG, SCIMemCpy(s, from, map, 0, 8, 0x80, &e));
  EXPECT(OK, SCIMemWrite(from, (volatile char *)SCIGetMapPointer(map) + 1, 3, 0, &e));
  CHECK(SCICheckSequence(s, SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER, &e) == SCI_SEQ_OK);
  SCIStoreBarrier(s, 0);
  SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
  SCIFlushReadBuffers(s);
  EXPECT(OK, SCICacheSync(NULL, from, 64, SCI_FLAG_CACHE_FLUSH | SCI_FLAG_CACHE_INVALIDATE, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e)); /* without SCIRemoveSequence */
  EXPECT(OK, SCIRemoveSequence(s, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  EXPECT(OK, SCIRemoveSegment(a, 0, &e));
  CHECK(count == 102 || count == 202);
}

/* 32 of a kind for each descriptor; thousands in a process. */
static void limits(void) {
  enum { MANY = 4096 };
  static sci_local_segment_t all[MANY];
  static sci_desc_t owners[MANY / 32];
  sci_desc_t sd;
  sci_local_segment_t more;
  unsigned i;
  EXPECT(OK, SCIOpen(&sd, 0, &e));
  for (i = 0; i < 32; i++) EXPECT(OK, SCICreateSegment(sd, &all[i], 1000 + i, 64, NULL, NULL, 0, &e));
  EXPECT(API_NOSPC, SCICreateSegment(sd, &more, 2000, 64, NULL, NULL, 0, &e));
  EXPECT(OK, SCIRemoveSegment(all[0], 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &all[0], 2000, 64, NULL, NULL, 0, &e));
  for (i = 0; i < 32; i++) EXPECT(OK, SCIRemoveSegment(all[i], 0, &e));
  EXPECT(OK, SCIClose(sd, 0, &e));
  for (i = 0; i < MANY; i++) {
    if (i % 32 == 0) EXPECT(OK, SCIOpen(&owners[i / 32], 0, &e));
    EXPECT(OK, SCICreateSegment(owners[i / 32], &all[i], 10000 + i, 64, NULL, NULL, 0, &e));
  }
  for (i = 0; i < MANY; i++) EXPECT(OK, SCIRemoveSegment(all[i], 0, &e));
  for (i = 0; i < MANY / 32; i++) EXPECT(OK, SCIClose(owners[i], 0, &e));
}

static void interrupts(sci_desc_t sd) {
  sci_local_interrupt_t a, b;
  sci_remote_interrupt_t r;
  sci_local_data_interrupt_t d;
  sci_remote_data_interrupt_t rd;
  unsigned no = 123456, other = 0, length;
  char text[64];
  EXPECT(OK, SCICreateInterrupt(sd, &a, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(SEGMENTID_USED, SCICreateInterrupt(sd, &b, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &b, 0, &other, NULL, NULL, SCI_FLAG_COUNTING_INT, &e));
  EXPECT(NO_SUCH_ADAPTERNO, SCICreateInterrupt(sd, &b, 9, &other, NULL, NULL, 0, &e));
  EXPECT(NO_SUCH_INTNO, SCIConnectInterrupt(sd, &r, 4, 0, 99, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(a, 0, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(a, 20, 0, &e));
  EXPECT(OK, SCIConnectInterrupt(sd, &r, 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCIWaitForInterrupt(a, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(a, 0, 0, &e));
  EXPECT(OK, SCIDisconnectInterrupt(r, 0, &e));
  EXPECT(ILLEGAL_PARAMETER, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCIConnectInterrupt(sd, &r, 4, 0, other, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCIWaitForInterrupt(b, 0, 0, &e));
  EXPECT(OK, SCIWaitForInterrupt(b, 0, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(b, 0, 0, &e));
  EXPECT(OK, SCIRemoveInterrupt(b, 0, &e));
  EXPECT(TRANSFER_FAILED, SCITriggerInterrupt(r, 0, &e));
  EXPECT(OK, SCIDisconnectInterrupt(r, 0, &e));
  EXPECT(OK, SCIRemoveInterrupt(a, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIEnableConditionalInterrupt(a, 0, &e));
  /* With data: the same number, in a space of its own. */
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &rd, 4, 0, no, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OUT_OF_RANGE, SCITriggerDataInterrupt(rd, text, 4097, 0, &e));
  EXPECT(OK, SCITriggerDataInterrupt(rd, (void *)"hello", 6, 0, &e));
  EXPECT(OK, SCITriggerDataInterrupt(rd, NULL, 0, 0, &e));
  EXPECT(OK, SCIDisconnectDataInterrupt(rd, 0, &e));
  length = 3;
  EXPECT(OUT_OF_RANGE, SCIWaitForDataInterrupt(d, text, &length, SCI_INFINITE_TIMEOUT, 0, &e));
  length = sizeof text;
  EXPECT(OK, SCIWaitForDataInterrupt(d, text, &length, SCI_INFINITE_TIMEOUT, 0, &e));
  CHECK(length == 6 && strcmp(text, "hello") == 0);
  length = sizeof text;
  EXPECT(OK, SCIWaitForDataInterrupt(d, text, &length, SCI_INFINITE_TIMEOUT, 0, &e));
  CHECK(length == 0);
  EXPECT(TIMEOUT, SCIWaitForDataInterrupt(d, text, &length, 10, 0, &e));
  EXPECT(OK, SCIRemoveDataInterrupt(d, 0, &e));
}

static sci_local_data_interrupt_t awaited;

static void *waits_with_room(void *arg) {
  char text[256];
  unsigned length = sizeof text;
  sci_error_t error;
  (void)arg;
  SCIWaitForDataInterrupt(awaited, text, &length, SCI_INFINITE_TIMEOUT, 0, &error);
  CHECK(error == SCI_ERR_OK && length == 100);
  return NULL;
}

/* Two interrupts of one number, one of which goes; a message that is too long for one of two who wait; peers that come, tell and go while nobody looks. */
static void shared_and_left(sci_desc_t sd) {
  sci_local_interrupt_t a, b;
  sci_remote_interrupt_t r;
  sci_remote_data_interrupt_t d;
  pthread_t thread;
  unsigned no = 900, length, i;
  char text[128] = {0};
  EXPECT(OK, SCICreateInterrupt(sd, &a, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &b, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT, &e));
  for (i = 0; i < 2; i++) {
    EXPECT(OK, SCIConnectInterrupt(sd, &r, 4, 0, no, 0, 0, &e));
    EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
    EXPECT(OK, SCIWaitForInterrupt(a, SCI_INFINITE_TIMEOUT, 0, &e));
    EXPECT(OK, SCIWaitForInterrupt(b, SCI_INFINITE_TIMEOUT, 0, &e));
    EXPECT(OK, i == 0 ? SCIRemoveInterrupt(a, 0, &e) : SCIRemoveInterrupt(b, 0, &e));
    pause_ms(20);
    EXPECT(OK, SCITriggerInterrupt(r, 0, &e));
    EXPECT(OK, SCIWaitForInterrupt(i == 0 ? b : a, SCI_INFINITE_TIMEOUT, 0, &e));
    EXPECT(OK, SCIDisconnectInterrupt(r, 0, &e));
    if (i == 0) EXPECT(OK, SCICreateInterrupt(sd, &a, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT, &e));
  }
  EXPECT(OK, SCIRemoveInterrupt(a, 0, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &awaited, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, no, 0, 0, &e));
  CHECK(pthread_create(&thread, NULL, waits_with_room, NULL) == 0);
  pause_ms(20);
  EXPECT(OK, SCITriggerDataInterrupt(d, text, 100, 0, &e));
  length = 4;
  SCIWaitForDataInterrupt(awaited, text, &length, 100, 0, &e); /* may find it first, and leaves it */
  CHECK(e == SCI_ERR_OUT_OF_RANGE || e == SCI_ERR_TIMEOUT);
  CHECK(pthread_join(thread, NULL) == 0);
  EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
  for (i = 0; i < 5000; i++) { /* more than there are descriptors */
    EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, no, 0, 0, &e));
    EXPECT(OK, SCIDisconnectDataInterrupt(d, 0, &e));
  }
  CHECK(dup(0) < 200);
  EXPECT(OK, SCIRemoveDataInterrupt(awaited, 0, &e));
}

static void queries(void) {
  unsigned value = 0, node = 0;
  char text[8];
  dis_nodeId_list_t list;
  dis_virt_adapter_t kind;
  sci_query_string_t q = {text, sizeof text};
  sci_query_adapter_t a = {0, 0, SCI_Q_ADAPTER_NODEID, &value};
  sci_query_system_t s = {SCI_Q_SYSTEM_CPU_CACHE_LINE_SIZE, &value};
  sci_dma_capabilities_t c;
  sci_query_dma_t d = {0, SCI_Q_DMA_CAPABILITIES, &c};
  EXPECT(OK, SCIGetLocalNodeId(0, &node, 0, &e));
  EXPECT(NO_SUCH_ADAPTERNO, SCIGetLocalNodeId(1, &node, 0, &e));
  CHECK(node == 4);
  EXPECT(OK, SCIQuery(SCI_Q_ADAPTER, &a, 0, &e));
  CHECK(value == node);
  a.subcommand = SCI_Q_ADAPTER_LINK_OPERATIONAL;
  EXPECT(OK, SCIQuery(SCI_Q_ADAPTER, &a, 0, &e));
  CHECK(value == 1);
  a.subcommand = 31337;
  EXPECT(ILLEGAL_QUERY, SCIQuery(SCI_Q_ADAPTER, &a, 0, &e));
  a.localAdapterNo = 2;
  EXPECT(NO_SUCH_ADAPTERNO, SCIQuery(SCI_Q_ADAPTER, &a, 0, &e));
  EXPECT(ILLEGAL_QUERY, SCIQuery(31337, &a, 0, &e));
  EXPECT(OK, SCIQuery(SCI_Q_API, &q, 0, &e));
  CHECK(strcmp(text, "SISCI A") == 0);
  EXPECT(OK, SCIQuery(SCI_Q_SYSTEM, &s, 0, &e));
  CHECK(value == 64);
  EXPECT(OK, SCIQuery(SCI_Q_DMA, &d, SCI_FLAG_DMA_ADAPTER, &e));
  CHECK(c.max_vector_length == 256 && c.min_align_bytes == 1 && c.num_channels == 1);
  EXPECT(OK, SCIGetNodeIdByAdapterName((char *)(uintptr_t) "8", &list, &kind, 0, &e));
  CHECK(list[0] == 8 && list[1] == 0);
  EXPECT(NO_SUCH_NODEID, SCIGetNodeIdByAdapterName((char *)(uintptr_t) "nowhere", &list, &kind, 0, &e));
  CHECK(strcmp(SCIGetAdapterTypeString(kind), "SISCI-SW") == 0 && SCIGetAdapterFamilyString(kind) != NULL);
  CHECK(strstr(SCIGetErrorString((sci_error_t)0x1234), "0x1234") != NULL);
}

static void refused(sci_desc_t sd) {
  sci_local_interrupt_t i;
  EXPECT(NOT_SUPPORTED, SCIGetCSRRegister(sd, 0, 4, 0, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIRegisterInterruptFlag(0, &i, NULL, 0, NULL, NULL, 0, &e));
  EXPECT(NOT_SUPPORTED, SCIRegisterPCIeRequester(sd, 0, 0, 0, 0, &e));
}

int main(void) {
  sci_desc_t sd;
  uninitialized();
  sd = opened();
  CHECK(SCIProbeNode(sd, 0, 4, 0, &e) == 1 && e == SCI_ERR_OK);
  CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 0 && e == SCI_ERR_NO_SUCH_NODEID);
  CHECK(SCIProbeNode(sd, 0, 252, 0, &e) == 0 && e == SCI_ERR_ILLEGAL_NODEID);
  descriptors();
  segments(sd);
  registered(sd);
  shared_memory(sd);
  loopback(sd);
  interrupts(sd);
  shared_and_left(sd);
  queries();
  refused(sd);
  limits();
  EXPECT(OK, SCIInitialize(0, &e));
  SCITerminate();
  EXPECT(OK, SCIClose(sd, 0, &e)); /* still initialized once */
  SCITerminate();
  SCITerminate();
  uninitialized();
  puts("single: passed");
  return 0;
}
