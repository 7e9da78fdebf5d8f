/* What SISCI_STRICT and SISCI_FAULT do. The variables are set by this program, before the library reads them. */
#include "test.h"

static void strict(void *arg) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_remote_segment_t r;
  sci_dma_queue_t q;
  sci_map_t map;
  unsigned align = 0;
  sci_query_adapter_t a = {0, 0, SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT, &align};
  char bytes[256] = {0};
  (void)arg;
  setenv("SISCI_STRICT", "1", 1);
  sd = opened();
  s = offered(sd, 1, 4096, 0);
  r = connected(sd, 4, 1, 0);
  EXPECT(OK, SCIQuery(SCI_Q_ADAPTER, &a, 0, &e));
  CHECK(align == 64);
  CHECK(SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e) != NULL);
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
  EXPECT(OK, SCIPrepareSegment(s, 0, SCI_FLAG_BROADCAST, &e));
  /* Flags that are accepted otherwise. */
  EXPECT(ILLEGAL_FLAG, SCICreateDMAQueue(sd, &q, 0, 1, SCI_FLAG_DMA_READ, &e));
  EXPECT(ILLEGAL_FLAG, SCIMapLocalSegment(s, &map, 0, 0, NULL, SCI_FLAG_SHARED_MAP, &e));
  EXPECT(SIZE_ALIGNMENT, SCIStartDmaTransfer(q, s, r, 0, 100, 0, NULL, NULL, 0, &e));
  EXPECT(OFFSET_ALIGNMENT, SCIStartDmaTransfer(q, s, r, 32, 64, 0, NULL, NULL, 0, &e));
  EXPECT(OFFSET_ALIGNMENT, SCIStartDmaTransfer(q, s, r, 0, 64, 32, NULL, NULL, 0, &e));
  EXPECT(OK, SCIStartDmaTransfer(q, s, r, 64, 64, 128, NULL, NULL, SCI_FLAG_DMA_WAIT, &e));
  EXPECT(SIZE_ALIGNMENT, SCIMemCpy(NULL, bytes, map, 0, 3, 0, &e));
  EXPECT(OFFSET_ALIGNMENT, SCIMemCpy(NULL, bytes, map, 2, 4, 0, &e));
  EXPECT(OK, SCIMemCpy(NULL, bytes, map, 4, 8, 0, &e));
  SCITerminate();
}

/* A program that repeats what it is told to gets right bytes; one that does not is found out. */
static void faults(void *arg) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_remote_segment_t r;
  sci_map_t map, mine;
  sci_sequence_t q;
  unsigned *in, i, k, retried = 0, pending = 0, missed = 0;
  unsigned block[16];
  (void)arg;
  setenv("SISCI_FAULT", "retriable:3,pending:5,connect:2", 1);
  sd = opened();
  s = offered(sd, 2, 4096, 0);
  for (i = 0; i < 4; i++) {
    SCIConnectSegment(sd, &r, 4, 2, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e);
    CHECK(e == (i < 2 ? SCI_ERR_CONNECTION_REFUSED : SCI_ERR_OK));
    if (e == SCI_ERR_OK) EXPECT(OK, SCIDisconnectSegment(r, 0, &e));
  }
  do SCIConnectSegment(sd, &r, 4, 2, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e);
  while (e != SCI_ERR_OK);
  SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  in = (unsigned *)SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  for (i = 1; i <= 1000; i++) {
    sci_sequence_status_t status;
    for (k = 0; k < 16; k++) block[k] = i * 16 + k;
    do {
      while (SCIStartSequence(q, 0, &e) != SCI_SEQ_OK) {
      }
      EXPECT(OK, SCIMemCpy(q, block, map, 0, sizeof block, 0, &e));
      status = SCICheckSequence(q, 0, &e);
      while (status == SCI_SEQ_PENDING) pending++, status = SCICheckSequence(q, 0, &e);
      CHECK(status != SCI_SEQ_NOT_RETRIABLE);
      retried += status == SCI_SEQ_RETRIABLE;
    } while (status != SCI_SEQ_OK);
    for (k = 0; k < 16; k++) CHECK(in[k] == i * 16 + k);
  }
  CHECK(retried > 100 && pending > 100);
  for (i = 1; i <= 100; i++) { /* ERROR_CHECK repeats by itself */
    EXPECT(OK, SCIMemCpy(q, &i, map, 64, 4, SCI_FLAG_ERROR_CHECK, &e));
    CHECK(in[16] == i);
  }
  for (i = 1; i <= 100; i++) { /* who never looks loses bytes */
    EXPECT(OK, SCIMemCpy(q, &i, map, 128, 4, 0, &e));
    missed += in[32] != i;
  }
  CHECK(missed > 10);
  SCITerminate();
}

/* Each third transfer ends half way, whoever waits for it and however: started again, it brings all. */
static void lost_transfers(void *arg) {
  static const unsigned flags[] = {SCI_FLAG_DMA_WAIT, 0, SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT};
  sci_desc_t sd;
  sci_local_segment_t s, own;
  sci_remote_segment_t r;
  sci_map_t mine, map;
  sci_dma_queue_t q;
  unsigned *in, *out, i, k, failed = 0;
  (void)arg;
  setenv("SISCI_FAULT", "dma:3", 1);
  sd = opened();
  s = offered(sd, 4, 4096, 0), own = offered(sd, 5, 4096, 0);
  r = connected(sd, 4, 4, 0);
  in = (unsigned *)SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e);
  out = (unsigned *)SCIMapLocalSegment(own, &map, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateDMAQueue(sd, &q, 0, 1, 0, &e));
  for (i = 1; i <= 300; i++) {
    unsigned flag = flags[i % 3], *from = flag & SCI_FLAG_DMA_READ ? in : out, *to = flag & SCI_FLAG_DMA_READ ? out : in;
    for (k = 0; k < 1024; k++) from[k] = i * 1024 + k, to[k] = 0;
    for (;;) {
      sci_dma_queue_state_t state;
      SCIStartDmaTransfer(q, own, r, 0, 4096, 0, NULL, NULL, flag, &e);
      if (!(flag & SCI_FLAG_DMA_WAIT)) {
        CHECK(e == SCI_ERR_OK);
        SCIWaitForDMAQueue(q, SCI_INFINITE_TIMEOUT, 0, &e);
      }
      state = SCIDMAQueueState(q);
      if (state == SCI_DMAQUEUE_DONE) break;
      CHECK(state == SCI_DMAQUEUE_ERROR && to[0] == i * 1024 && to[511] == i * 1024 + 511 && to[512] == 0);
      failed++;
    }
    for (k = 0; k < 1024; k++) CHECK(to[k] == i * 1024 + k);
  }
  CHECK(failed == 149); /* of 449 that start each third one, and 300 end well */
  SCITerminate();
}

static void dead(void *arg) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_remote_segment_t r;
  sci_map_t map;
  sci_sequence_t q;
  int i = 0;
  (void)arg;
  setenv("SISCI_FAULT", "dead:5", 1);
  sd = opened();
  s = offered(sd, 3, 4096, 0);
  r = connected(sd, 4, 3, 0);
  SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  while (SCICheckSequence(q, 0, &e) == SCI_SEQ_OK) i++;
  CHECK(i == 4 && SCIStartSequence(q, 0, &e) == SCI_SEQ_NOT_RETRIABLE);
  EXPECT(TRANSFER_FAILED, SCIMemCpy(q, &i, map, 0, 4, SCI_FLAG_ERROR_CHECK, &e));
  SCITerminate();
  (void)s;
}

/* A value that cannot be is refused with a line that names the variable. */
static void values(void *arg) {
  int out[2];
  char line[256];
  ssize_t n;
  (void)arg;
  setenv("SISCI_LIMIT", "many", 1);
  CHECK(pipe(out) == 0);
  fflush(stderr);
  dup2(out[1], 2);
  SCIInitialize(0, &e);
  n = read(out[0], line, sizeof line - 1);
  if (e != SCI_ERR_SYSTEM || n <= 0) _exit(2);
  line[n] = 0;
  if (strstr(line, "SISCI_LIMIT") == NULL || strchr(line, '\n') != line + n - 1) _exit(3);
  if ((SCIOpen(NULL, 0, &e), e) != SCI_ERR_NOT_INITIALIZED) _exit(4);
}

/* A map for loads alone is refused where the library would store to it. */
static void readonly(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 7, 8192, 0);
  sci_remote_segment_t r = connected(sd, 4, 7, 0);
  sci_map_t map, loads, own;
  sci_block_transfer_t block;
  char bytes[64] = {1, 2, 3}, back[64];
  volatile char *in = (volatile char *)SCIMapLocalSegment(s, &own, 0, 0, NULL, 0, &e);
  (void)arg;
  CHECK(SCIMapRemoteSegment(r, &map, 0, 0, NULL, 0, &e) != NULL);
  CHECK(SCIMapRemoteSegment(r, &loads, 0, 0, NULL, SCI_FLAG_READONLY_MAP, &e) != NULL);
  EXPECT(OK, SCIMemCpy(NULL, bytes, map, 0, 64, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCIMemCpy(NULL, bytes, loads, 64, 64, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCITransferBlock(map, 0, loads, 128, 64, 0, &e));
  EXPECT(ILLEGAL_OPERATION, SCITransferBlockAsync(map, 0, loads, 128, 64, &block, NULL, NULL, 0, &e));
  CHECK(in[2] == 3 && in[66] == 0 && in[130] == 0);
  EXPECT(OK, SCIMemCpy(NULL, back, loads, 0, 64, SCI_FLAG_BLOCK_READ, &e));
  CHECK(memcmp(bytes, back, 64) == 0);
  EXPECT(OK, SCITransferBlock(loads, 0, map, 192, 64, 0, &e));
  CHECK(in[194] == 3);
  SCITerminate();
}

/* With sockets in a directory, looking for a node leaves nothing behind that its process would have to take. */
static void probes(void *arg) {
  char directory[] = "/tmp/sisci-probes-XXXXXX", line[512];
  sci_desc_t sd;
  int k, sockets = 0;
  FILE *f;
  (void)arg;
  CHECK(mkdtemp(directory) != NULL);
  setenv("SISCI_DIR", directory, 1);
  sd = opened();
  for (k = 0; k < 100; k++) CHECK(SCIProbeNode(sd, 0, 4, 0, &e) == 1);
  f = fopen("/proc/net/unix", "r");
  CHECK(f != NULL);
  while (fgets(line, sizeof line, f) != NULL) sockets += strstr(line, directory) != NULL;
  fclose(f);
  CHECK(sockets == 1);
  CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 0 && e == SCI_ERR_NO_SUCH_NODEID);
  SCITerminate();
  snprintf(line, sizeof line, "%s/.lock", directory);
  CHECK(unlink(line) == 0 && rmdir(directory) == 0);
}

static void two_adapters(void *arg) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_remote_segment_t r;
  unsigned a = 0, b = 0, who = 0, adapter = 9;
  (void)arg;
  setenv("SISCI_NODE_ID", "8,72", 1);
  setenv("SISCI_LIMIT", "100", 1);
  sd = opened();
  EXPECT(OK, SCIGetLocalNodeId(0, &a, 0, &e));
  EXPECT(OK, SCIGetLocalNodeId(1, &b, 0, &e));
  CHECK(a == 8 && b == 72);
  EXPECT(OK, SCICreateSegment(sd, &s, 5, 64, NULL, NULL, 0, &e));
  EXPECT(OK, SCIPrepareSegment(s, 1, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(s, 1, 0, &e));
  EXPECT(SEGMENT_NOT_PREPARED, SCISetSegmentAvailable(s, 0, 0, &e));
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 8, 5, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &e));
  r = connected(sd, 72, 5, 0);
  CHECK(SCIWaitForLocalSegmentEvent(s, &who, &adapter, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_CONNECT && who == 8 && adapter == 1);
  SCITerminate();
}

/* Sockets in a directory: what a killed process leaves is found stale, what ends well leaves nothing. */
static char directory[] = "/tmp/sisci-XXXXXX";

static void in_directory(void *arg) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_local_interrupt_t i;
  unsigned no = 5;
  setenv("SISCI_DIR", directory, 1);
  sd = opened();
  s = offered(sd, 6, 64, 0);
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  (void)connected(sd, 8, 6, 0);
  CHECK(SCIProbeNode(sd, 0, 8, 0, &e) == 1);
  if (arg != NULL) kill(getpid(), SIGKILL);
  SCITerminate();
  (void)s;
}

int main(void) {
  pid_t dying;
  int status;
  joined(node(4, strict, NULL));
  joined(node(4, faults, NULL));
  joined(node(4, lost_transfers, NULL));
  joined(node(4, dead, NULL));
  joined(node(4, values, NULL));
  joined(node(4, two_adapters, NULL));
  joined(node(4, readonly, NULL));
  joined(node(4, probes, NULL));
  CHECK(mkdtemp(directory) != NULL);
  dying = node(8, in_directory, (void *)directory);
  CHECK(waitpid(dying, &status, 0) == dying && WIFSIGNALED(status));
  joined(node(8, in_directory, NULL));
  {
    char path[64];
    snprintf(path, sizeof path, "%s/.lock", directory);
    CHECK(unlink(path) == 0);
    if (rmdir(directory) != 0) FAIL("something is left in %s", directory);
  }
  puts("wrong: passed");
  return 0;
}
