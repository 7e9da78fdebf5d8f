/* Calls of GASNet-EX, but for messages (am.c): puts and gets of node 0, atomics on a word of node 1, and what all nodes do
 * together. The header's own code, as any client has it. */
#include "bench.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

#define LOOP BENCH_LOOP_AT_0

double BENCH(ex_put)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gex_RMA_PutBlocking(bench_tm, bench_peer, bench_remote, bench_local, 8, 0), (void)0);
  LOOP(gex_RMA_PutBlocking(bench_tm, bench_peer, bench_remote, bench_local, bytes, 0), (void)0);
}
double BENCH(ex_get)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gex_RMA_GetBlocking(bench_tm, bench_local, bench_peer, bench_remote, 8, 0), (void)0);
  LOOP(gex_RMA_GetBlocking(bench_tm, bench_local, bench_peer, bench_remote, bytes, 0), (void)0);
}

/* A length that the compiler does not know. */
static size_t any(size_t bytes) {
  __asm__("" : "+r"(bytes));
  return bytes;
}
double BENCH(ex_put_any)(long n, size_t bytes) {
  LOOP(gex_RMA_PutBlocking(bench_tm, bench_peer, bench_remote, bench_local, any(bytes), 0), (void)0);
}
double BENCH(ex_get_any)(long n, size_t bytes) {
  LOOP(gex_RMA_GetBlocking(bench_tm, bench_local, bench_peer, bench_remote, any(bytes), 0), (void)0);
}
double BENCH(copy_any_to)(long n, size_t bytes) { LOOP(memcpy(bench_mapped, bench_local, any(bytes)), (void)0); }
double BENCH(copy_any_from)(long n, size_t bytes) { LOOP(memcpy(bench_local, bench_mapped, any(bytes)), (void)0); }
double BENCH(ex_put_nbi)(long n, size_t bytes) {
  LOOP((void)gex_RMA_PutNBI(bench_tm, bench_peer, bench_remote, bench_local, bytes, GEX_EVENT_DEFER, 0),
       (void)gex_NBI_Wait(GEX_EC_PUT, 0));
}
double BENCH(ex_put_val)(long n, size_t bytes) {
  (void)bytes;
  LOOP((void)gex_RMA_PutBlockingVal(bench_tm, bench_peer, bench_remote, (gex_RMA_Value_t)i, 8, 0), (void)0);
}
double BENCH(ex_get_val)(long n, size_t bytes) {
  (void)bytes;
  LOOP(__asm__ __volatile__("" ::"r"(gex_RMA_GetBlockingVal(bench_tm, bench_peer, bench_remote, 8, 0))), (void)0);
}

/* ---- fetch and add: a word near the end of node 1's segment, which nothing else uses ---- */

#define WORD_AT (SEGMENT - 4096)
static gex_AD_t bench_domain;

void BENCH(ex_start)(void) { gex_AD_Create(&bench_domain, bench_tm, GEX_DT_U64, GEX_OP_FADD, 0); }
void BENCH(ex_count)(void *at) {
  uint64_t before;
  gex_Event_Wait(gex_AD_OpNB_U64(bench_domain, &before, bench_peer, at, GEX_OP_FADD, 1, 0, 0));
}

/* As GASNet names it, and as it is mapped here. */
static void *word_of_1(void) { return (bench_me == 1 ? bench_mine : bench_remote) + WORD_AT; }
static uint64_t *mapped_word(void) {
  return (uint64_t *)(void *)((bench_me == 1 ? bench_mine : bench_mapped) + WORD_AT);
}

#define FADD(result) gex_Event_Wait(gex_AD_OpNB_U64(bench_domain, &result, 1, at, GEX_OP_FADD, 1, 0, 0))
#define BARE(result) (result = __atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL))
#define USE(result) __asm__ __volatile__("" ::"r"(result))

double BENCH(fadd)(long n, size_t bytes) {
  void *const at = word_of_1();
  uint64_t result = 0;
  (void)bytes;
  LOOP(FADD(result); USE(result), (void)0);
}
/* With an opcode that the compiler does not know. */
double BENCH(fadd_any)(long n, size_t bytes) {
  void *const at = word_of_1();
  uint64_t result = 0;
  gex_OP_t op = GEX_OP_FADD;
  (void)bytes;
  LOOP(__asm__("" : "+r"(op)); gex_Event_Wait(gex_AD_OpNB_U64(bench_domain, &result, 1, at, op, 1, 0, 0)); USE(result), (void)0);
}
double BENCH(fadd_both)(long n, size_t bytes) {
  void *const at = word_of_1();
  uint64_t result = 0;
  (void)bytes;
  BENCH_LOOP(FADD(result); USE(result), (void)0);
}
double BENCH(bare_fadd)(long n, size_t bytes) {
  uint64_t *const at = mapped_word(), result;
  (void)bytes;
  LOOP(BARE(result); USE(result), (void)0);
}
double BENCH(bare_fadd_both)(long n, size_t bytes) {
  uint64_t *const at = mapped_word(), result;
  (void)bytes;
  BENCH_LOOP(BARE(result); USE(result), (void)0);
}

/* ---- all nodes ---- */

double BENCH(ex_barriers)(long n, size_t bytes) {
  (void)bytes;
  BENCH_LOOP(gex_Event_Wait(gex_Coll_BarrierNB(bench_tm, 0)), (void)0);
}

double BENCH(reduce_to_all)(long n, size_t bytes) {
  void *const to = bench_mine + SEGMENT / 2;
  BENCH_LOOP(gex_Event_Wait(gex_Coll_ReduceToAllNB(bench_tm, to, bench_mine, GEX_DT_U64, 8, bytes / 8, GEX_OP_ADD, NULL,
                                                   NULL, 0)),
             (void)0);
}
