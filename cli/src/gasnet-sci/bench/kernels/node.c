/* What nodes have in common whichever client has started their job (see bench.h): this file calls nothing of the library. */
#include "bench.h"

shared_t *bench_shared;
gasnet_node_t bench_me, bench_nodes, bench_peer;
gex_TM_t bench_tm;
unsigned char *bench_local, *bench_mine, *bench_remote, *bench_mapped;

/* kernels.rs has the same numbers and compares them with these. */
uint64_t bench_max_bytes(void) { return MAXBYTES; }
uint64_t bench_segment(void) { return SEGMENT; }
uint64_t bench_max_nodes(void) { return MAXNODES; }

unsigned bench_mynode(void) { return bench_me; }
unsigned bench_numnodes(void) { return bench_nodes; }

/* Every node stores a figure; after a barrier node 0 reads them. */
void bench_store_figure(double figure) { bench_shared->result[bench_me] = figure; }
double bench_figure(unsigned node) { return bench_shared->result[node]; }

/* Nodes other than 0 sleep outside the library until node 0 has measured. */
void bench_sleep(void) {
  __atomic_add_fetch(&bench_shared->asleep, 1, __ATOMIC_RELAXED);
  while (sem_wait(&bench_shared->gate) != 0) continue;
}
void bench_await_sleepers(void) {
  do usleep(5000); /* time for the last one to reach its sem_wait */
  while (__atomic_load_n(&bench_shared->asleep, __ATOMIC_RELAXED) < bench_nodes - 1);
}
void bench_wake(void) {
  gasnet_node_t node;
  for (node = 1; node < bench_nodes; node++) sem_post(&bench_shared->gate);
}
