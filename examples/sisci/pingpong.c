/* Two nodes throw a flag to and fro: the payload first, then the flag.
 *
 *   SISCI_NODE_ID=4 ./pingpong 8 &  SISCI_NODE_ID=8 ./pingpong 4 */
#include <stdio.h>
#include <stdlib.h>

#include "sisci_api.h"

#define CHECK(what)                                                              \
  do {                                                                           \
    if (error != SCI_ERR_OK) {                                                   \
      fprintf(stderr, "%s: %s\n", what, SCIGetErrorString(error));               \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum { ROUNDS = 1000, SEGMENT = 1, WORDS = 16 };

/* Stores the payload, and after it the flag. */
static void serve(volatile unsigned *out, unsigned round) {
  unsigned i;
  for (i = 1; i < WORDS; i++) out[i] = round * i;
  SCIFlush(NULL, SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY);
  out[0] = round;
}

int main(int argc, char **argv) {
  sci_error_t error;
  sci_desc_t sd;
  sci_local_segment_t local;
  sci_remote_segment_t remote;
  sci_map_t local_map, remote_map;
  volatile unsigned *in, *out;
  unsigned peer, own, round, i;

  if (argc != 2) {
    fprintf(stderr, "usage: pingpong PEERS-NODE-ID\n");
    return 2;
  }
  peer = (unsigned)atoi(argv[1]);
  SCIInitialize(0, &error);
  CHECK("SCIInitialize");
  SCIOpen(&sd, 0, &error);
  CHECK("SCIOpen");
  SCIGetLocalNodeId(0, &own, 0, &error);
  CHECK("SCIGetLocalNodeId");

  /* What the peer stores to. */
  SCICreateSegment(sd, &local, SEGMENT, 4096, NULL, NULL, 0, &error);
  CHECK("SCICreateSegment");
  SCIPrepareSegment(local, 0, 0, &error);
  CHECK("SCIPrepareSegment");
  in = (volatile unsigned *)SCIMapLocalSegment(local, &local_map, 0, 4096, NULL, 0, &error);
  CHECK("SCIMapLocalSegment");
  SCISetSegmentAvailable(local, 0, 0, &error);
  CHECK("SCISetSegmentAvailable");

  /* What this node stores to. The peer may not be there yet. */
  do {
    SCIConnectSegment(sd, &remote, peer, SEGMENT, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_SEGMENT);
  CHECK("SCIConnectSegment");
  out = (volatile unsigned *)SCIMapRemoteSegment(remote, &remote_map, 0, 4096, NULL, 0, &error);
  CHECK("SCIMapRemoteSegment");

  for (round = 1; round <= ROUNDS; round++) {
    if (own < peer) serve(out, round);
    while (in[0] != round) {
    }
    for (i = 1; i < WORDS; i++) {
      if (in[i] != round * i) {
        fprintf(stderr, "round %u: word %u is %u\n", round, i, in[i]);
        return 1;
      }
    }
    if (own > peer) serve(out, round);
  }
  printf("node %u: %d rounds with node %u\n", own, ROUNDS, peer);

  SCIUnmapSegment(remote_map, 0, &error);
  SCIDisconnectSegment(remote, 0, &error);
  SCIUnmapSegment(local_map, 0, &error);
  do {
    SCIRemoveSegment(local, 0, &error); /* busy while the peer is connected */
  } while (error == SCI_ERR_BUSY);
  CHECK("SCIRemoveSegment");
  SCIClose(sd, 0, &error);
  CHECK("SCIClose");
  SCITerminate();
  return 0;
}
