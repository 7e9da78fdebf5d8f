/* A measuring job's start, barrier and end. */
#include "bench.h"
#include <stdio.h>
#include <sys/mman.h>

#if defined(GASNET_PAR)
#define HANDLERS (AM_HANDLERS + THREADS_HANDLERS)
#else
#define HANDLERS AM_HANDLERS
#endif

/* Initialises and attaches with a segment of `segment` bytes. Returns 0, or a number that says which step failed; the library
 * has printed why. */
int BENCH(start)(uint64_t segment) {
  gasnet_handlerentry_t table[HANDLERS];
  gasnet_seginfo_t *segments;
  gasnet_nodeinfo_t *nodes;
  int argc = 1;
  char name[] = "gasnet-sci", *words[] = {name, NULL}, **argv = words;
  void *shared = mmap(NULL, sizeof *bench_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return perror("gasnet-sci: mmap"), 1;
  bench_shared = (shared_t *)shared;
  if (sem_init(&bench_shared->gate, 1, 0) != 0) return perror("gasnet-sci: sem_init"), 1;
  gasneti_sci_tell_modes(); /* of this client; see bench.h */
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 2;
  bench_me = gasnet_mynode();
  bench_nodes = gasnet_nodes();
  BENCH(am_table)(table);
#if defined(GASNET_PAR)
  bench_par_threads_table(table + AM_HANDLERS);
#endif
  if (gasnet_attach(table, HANDLERS, segment, 0) != GASNET_OK) return 3;
  gasnet_QueryGexObjects(NULL, NULL, &bench_tm, NULL);
  segments = (gasnet_seginfo_t *)calloc(bench_nodes, sizeof *segments);
  nodes = (gasnet_nodeinfo_t *)calloc(bench_nodes, sizeof *nodes);
  bench_local = (unsigned char *)aligned_alloc(4096, MAXBYTES);
  if (!segments || !nodes || !bench_local) return perror("gasnet-sci: memory"), 4;
  if (gasnet_getSegmentInfo(segments, (int)bench_nodes) != GASNET_OK) return 5;
  if (gasnet_getNodeInfo(nodes, (int)bench_nodes) != GASNET_OK) return 5;
  bench_peer = bench_nodes > 1 ? bench_me ^ 1 : bench_me;
  if (bench_peer >= bench_nodes) bench_peer = bench_me;
  bench_mine = (unsigned char *)segments[bench_me].addr;
  bench_remote = (unsigned char *)segments[bench_peer].addr;
  if (nodes[bench_me].supernode == nodes[bench_peer].supernode)
    bench_mapped = (unsigned char *)((uintptr_t)bench_remote + nodes[bench_peer].offset);
  free(segments);
  free(nodes);
  return 0;
}

void BENCH(barrier)(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* Touches all memory that transfers use, in every node its own segment, so that nothing is measured on fresh pages. */
void BENCH(touch)(void) {
  memset(bench_local, 1, MAXBYTES);
  memset(bench_mine, 2, SEGMENT);
  if (bench_me < 2) memset(bench_shared->bytes[bench_me], 3, RING);
  BENCH(coll_start)();
  BENCH(ex_start)();
}

void BENCH(exit)(int code) { gasnet_exit(code); }

/* Moves a pattern there and back by a put and a get, to check that transfers do move bytes. 0 if they differ. */
int BENCH(verify)(void) {
  const size_t words = MAXBYTES / 8;
  uint64_t *local = (uint64_t *)(void *)bench_local;
  size_t i;
  if (bench_me != 0) return 1;
  for (i = 0; i < words; i++) local[i] = i * 0x9E3779B97F4A7C15u;
  gasnet_put(bench_peer, bench_remote, local, MAXBYTES);
  memset(local, 0, MAXBYTES);
  gasnet_get(local, bench_peer, bench_remote, MAXBYTES);
  for (i = 0; i < words; i++)
    if (local[i] != i * 0x9E3779B97F4A7C15u) return 0;
  return 1;
}
