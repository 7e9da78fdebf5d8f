/* Reflective memory: what one member of a group stores, all members have.
 *
 *   for r in 0 1 2; do SISCI_NODE_ID=$((4 * (r + 1))) ./broadcast $r 3 & done; wait */
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

enum { GROUP = 2, BYTES = 4096 };

int main(int argc, char **argv) {
  sci_error_t error;
  sci_desc_t sd;
  sci_local_segment_t local;
  sci_remote_segment_t group;
  sci_map_t local_map, group_map;
  volatile unsigned *in, *out;
  unsigned rank, size, i, sum = 0;

  if (argc != 3) {
    fprintf(stderr, "usage: broadcast RANK SIZE\n");
    return 2;
  }
  rank = (unsigned)atoi(argv[1]), size = (unsigned)atoi(argv[2]);
  SCIInitialize(0, &error);
  CHECK("SCIInitialize");
  SCIOpen(&sd, 0, &error);
  CHECK("SCIOpen");
  SCICreateSegment(sd, &local, GROUP, BYTES, NULL, NULL, SCI_FLAG_BROADCAST, &error);
  CHECK("SCICreateSegment");
  SCIPrepareSegment(local, 0, SCI_FLAG_BROADCAST, &error);
  CHECK("SCIPrepareSegment");
  in = (volatile unsigned *)SCIMapLocalSegment(local, &local_map, 0, BYTES, NULL, 0, &error);
  CHECK("SCIMapLocalSegment");
  SCISetSegmentAvailable(local, 0, 0, &error);
  CHECK("SCISetSegmentAvailable");
  do {
    SCIConnectSegment(sd, &group, DIS_BROADCAST_NODEID_GROUP_ALL, GROUP, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, SCI_FLAG_BROADCAST, &error);
  } while (error == SCI_ERR_NO_SUCH_SEGMENT);
  CHECK("SCIConnectSegment");
  out = (volatile unsigned *)SCIMapRemoteSegment(group, &group_map, 0, BYTES, NULL, SCI_FLAG_BROADCAST, &error);
  CHECK("SCIMapRemoteSegment");

  out[rank] = rank + 1;
  SCIFlush(NULL, 0);
  for (i = 0; i < size; i++) {
    while (in[i] == 0) {
    }
    sum += in[i];
  }
  printf("member %u: the sum of all is %u\n", rank, sum);
  out[size + rank] = 1; /* has read all */
  for (i = 0; i < size; i++) {
    while (in[size + i] == 0) {
    }
  }
  SCITerminate();
  return sum == size * (size + 1) / 2 ? 0 : 1;
}
