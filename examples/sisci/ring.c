/* A ring of nodes: each writes a block into the memory of the next by DMA, and tells it by an interrupt.
 *
 *   for r in 0 1 2 3; do SISCI_NODE_ID=$((4 * (r + 1))) ./ring $r 4 & done; wait */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sisci_api.h"

#define CHECK(what)                                                              \
  do {                                                                           \
    if (error != SCI_ERR_OK) {                                                   \
      fprintf(stderr, "%s: %s\n", what, SCIGetErrorString(error));               \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum { BYTES = 1 << 20, INBOX = 10, OUTBOX = 11, ARRIVED = 12 };

int main(int argc, char **argv) {
  sci_error_t error;
  sci_desc_t sd;
  sci_local_segment_t in, out;
  sci_map_t in_map, out_map;
  sci_remote_segment_t next;
  sci_local_interrupt_t arrived;
  sci_remote_interrupt_t tell;
  sci_dma_queue_t queue;
  unsigned rank, size, after, number = ARRIVED, lap, i;
  unsigned *got, *sent;

  if (argc != 3) {
    fprintf(stderr, "usage: ring RANK SIZE\n");
    return 2;
  }
  rank = (unsigned)atoi(argv[1]), size = (unsigned)atoi(argv[2]);
  after = 4 * ((rank + 1) % size + 1);
  SCIInitialize(0, &error);
  CHECK("SCIInitialize");
  SCIOpen(&sd, 0, &error);
  CHECK("SCIOpen");
  SCICreateInterrupt(sd, &arrived, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error);
  CHECK("SCICreateInterrupt");
  SCICreateSegment(sd, &in, INBOX, BYTES, NULL, NULL, 0, &error);
  CHECK("SCICreateSegment");
  SCIPrepareSegment(in, 0, 0, &error);
  CHECK("SCIPrepareSegment");
  got = (unsigned *)SCIMapLocalSegment(in, &in_map, 0, BYTES, NULL, 0, &error);
  CHECK("SCIMapLocalSegment");
  SCISetSegmentAvailable(in, 0, 0, &error);
  CHECK("SCISetSegmentAvailable");
  /* What DMA reads from: nobody connects to it. */
  SCICreateSegment(sd, &out, OUTBOX, BYTES, NULL, NULL, SCI_FLAG_PRIVATE, &error);
  CHECK("SCICreateSegment");
  SCIPrepareSegment(out, 0, 0, &error);
  CHECK("SCIPrepareSegment");
  sent = (unsigned *)SCIMapLocalSegment(out, &out_map, 0, BYTES, NULL, 0, &error);
  CHECK("SCIMapLocalSegment");
  SCICreateDMAQueue(sd, &queue, 0, 1, 0, &error);
  CHECK("SCICreateDMAQueue");

  do {
    SCIConnectSegment(sd, &next, after, INBOX, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_SEGMENT);
  CHECK("SCIConnectSegment");
  do {
    SCIConnectInterrupt(sd, &tell, after, 0, ARRIVED, SCI_INFINITE_TIMEOUT, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_INTNO);
  CHECK("SCIConnectInterrupt");

  /* The first node starts with its block; each adds 1 to every word, until it has come round. */
  for (lap = 0; lap < 2; lap++) {
    if (rank != 0 || lap != 0) {
      SCIWaitForInterrupt(arrived, SCI_INFINITE_TIMEOUT, 0, &error);
      CHECK("SCIWaitForInterrupt");
      for (i = 0; i < BYTES / sizeof *got; i++) {
        unsigned right = i + (rank == 0 ? size : rank);
        if (got[i] != right) {
          fprintf(stderr, "node %u: word %u is %u instead of %u\n", rank, i, got[i], right);
          return 1;
        }
      }
    }
    if (rank == 0 && lap == 1) break;
    for (i = 0; i < BYTES / sizeof *sent; i++) sent[i] = (rank == 0 ? i : got[i]) + 1;
    SCIStartDmaTransfer(queue, out, next, 0, BYTES, 0, NULL, NULL, SCI_FLAG_DMA_WAIT, &error);
    CHECK("SCIStartDmaTransfer");
    SCITriggerInterrupt(tell, 0, &error);
    CHECK("SCITriggerInterrupt");
    if (rank != 0) break;
  }
  printf("node %u: the block came by\n", rank);
  SCITerminate(); /* frees all of it */
  return 0;
}
