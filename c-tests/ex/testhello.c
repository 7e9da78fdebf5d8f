/* Joins, attaches, meets, leaves. Options: none. Positional: segment bytes, or "max". Contract: ex-core.md section 19. */
#include <gasnetex.h>

#include <stdio.h>

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t tm;
  uintptr_t bytes = GASNET_PAGESIZE;
  int code = gex_Client_Init(&client, &ep, &tm, "testhello", &argc, &argv, 0);
  if (code != GASNET_OK) return printf("ERROR: %s\n", gasnet_ErrorName(code)), 1;
  if (argc > 1) bytes = strcmp(argv[1], "max") ? (uintptr_t)atol(argv[1]) : gasnet_getMaxLocalSegmentSize();
  bytes = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  {
    gex_Segment_t segment;
    code = gex_Segment_Attach(&segment, tm, bytes);
    if (code != GASNET_OK) return printf("ERROR: %s\n", gasnet_ErrorName(code)), 1;
#if !GASNET_SEGMENT_EVERYTHING
    if (gex_Segment_QuerySize(segment) < bytes || gex_EP_QuerySegment(ep) != segment) printf("ERROR: wrong segment\n");
    ((char *)gex_Segment_QueryAddr(segment))[bytes - 1] = 1;
#endif
  }
  code = gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (code != GASNET_OK) printf("ERROR: barrier: %s\n", gasnet_ErrorDesc(code));
  printf("Hello from node %d of %d\n", (int)gex_TM_QueryRank(tm), (int)gex_System_QueryJobSize());
  printf("%d> done.\n", (int)gex_TM_QueryRank(tm));
  fflush(stdout);
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_exit(0);
  return 0;
}
