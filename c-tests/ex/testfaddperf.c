/* Latency and throughput of fetch-and-add and add. Contract: ex-coll.md section 14.
 *
 *   testfaddperf [-s] [-a] [-S] [-c] [-f] [iters [sections]]
 *     -s  no warm-up       -a  both directions      -S  all to process 0
 *     -c  cross pairing    -f  first and last       sections: letters of A (U32) B (U64) C (FLT) D (DBL)
 * Every sum is checked. With an odd number of processes above one, and none of -S and -f, it does nothing. */
#include "testexam.h"
#include <gasnet_ratomic.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int iters = 10000, warm = 1, is_sender;
static gex_Rank_t peer;

static void report(const char *type, const char *op, const char *what, double ns) {
  if (is_sender) printf("%u: %s %-4s %-10s %10.3f us/op %12.3f ns/op\n", (unsigned)me, type, op, what, ns / 1000 / iters, ns / iters), fflush(stdout);
}

/* senders: how many processes add to the own word; -1: not checked. */
#define MEASURE(TY, T)                                                                                               \
  static void measure_##TY(int senders) {                                                                            \
    static const gex_OP_t ops[] = {GEX_OP_FADD, GEX_OP_ADD};                                                         \
    T *word = (T *)area[me], result = 0;                                                                             \
    int which, i, round;                                                                                             \
    for (which = 0; which < 2; which++) {                                                                            \
      gex_AD_t ad;                                                                                                   \
      gex_AD_Create(&ad, tm, GEX_DT_##TY, ops[which], 0);                                                            \
      *word = 0;                                                                                                     \
      BARRIER();                                                                                                     \
      for (round = warm ? 0 : 1; round < 2; round++) {                                                               \
        double begin_at = now();                                                                                     \
        for (i = 0; is_sender && i < iters; i++) {                                                                   \
          if (which == 0) gex_Event_Wait(gex_AD_OpNB_##TY(ad, &result, peer, area[peer], GEX_OP_FADD, 1, 0, 0));     \
          else gex_Event_Wait(gex_AD_OpNB_##TY(ad, &result, peer, area[peer], GEX_OP_ADD, 1, 0, 0));                 \
        }                                                                                                            \
        if (round) report(#TY, which ? "ADD" : "FADD", "latency", now() - begin_at);                                 \
        BARRIER();                                                                                                   \
        begin_at = now();                                                                                            \
        for (i = 0; is_sender && i < iters; i++) {                                                                   \
          if (which == 0) CHECK(gex_AD_OpNBI_##TY(ad, &result, peer, area[peer], GEX_OP_FADD, 1, 0, 0) == 0);        \
          else CHECK(gex_AD_OpNBI_##TY(ad, &result, peer, area[peer], GEX_OP_ADD, 1, 0, 0) == 0);                    \
        }                                                                                                            \
        gex_NBI_Wait(GEX_EC_RMW, 0);                                                                                 \
        if (round) report(#TY, which ? "ADD" : "FADD", "throughput", now() - begin_at);                              \
        BARRIER();                                                                                                   \
      }                                                                                                              \
      CHECK(senders < 0 || *word == (T)((double)senders * (warm ? 4 : 2) * iters));                                  \
      BARRIER();                                                                                                     \
      gex_AD_Destroy(ad);                                                                                            \
    }                                                                                                                \
  }                                                                                                                  \
  struct semicolon
MEASURE(U32, uint32_t);
MEASURE(U64, uint64_t);
MEASURE(FLT, float);
MEASURE(DBL, double);

int main(int argc, char **argv) {
  int both = 0, to_first = 0, cross = 0, ends = 0, arg = 1, targets_of_me = 0;
  const char *sections = "ABCD";
  gex_Rank_t i;
  begin("testfaddperf", &argc, &argv);
  for (; arg < argc && argv[arg][0] == '-'; arg++) {
    switch (argv[arg][1]) {
      case 's': warm = 0; break;
      case 'a': both = 1; break;
      case 'S': to_first = 1; break;
      case 'c': cross = 1; break;
      case 'f': ends = 1; break;
      default: say("ERROR: unknown option %s", argv[arg]), gasnet_exit(1);
    }
  }
  if (arg < argc) iters = atoi(argv[arg++]);
  if (arg < argc) sections = argv[arg];
  make_areas(64);
  if (nodes > 1 && nodes % 2 && !ends && !to_first) {
    if (me == 0) say("an odd number of processes: skipped");
    return end();
  }
  for (i = 0; i < nodes; i++) { /* what process i does */
    gex_Rank_t to = to_first ? 0 : nodes == 1 ? 0 : ends ? nodes - 1 - i : cross ? (i + nodes / 2) % nodes : (i ^ 1);
    int sends = to_first || nodes == 1 || both ? 1 : ends ? i == 0 : cross ? i < nodes / 2 : i % 2 == 0;
    if (ends && i != 0 && i != nodes - 1) sends = 0;
    if (i == me) peer = to, is_sender = sends;
    if (sends && to == me) targets_of_me++;
  }
  if (strchr(sections, 'A')) measure_U32(targets_of_me);
  if (strchr(sections, 'B')) measure_U64(targets_of_me);
  /* All integers up to 2^24 are floats. */
  if (strchr(sections, 'C')) measure_FLT((double)targets_of_me * 4 * iters < 16777216 ? targets_of_me : -1);
  if (strchr(sections, 'D')) measure_DBL(targets_of_me);
  return end();
}
