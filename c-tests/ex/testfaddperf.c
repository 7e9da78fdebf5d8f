/* Latency and throughput of fetch-and-add and add. Contract: ex-coll.md section 14.
 *
 *   testfaddperf [-s] [-a] [-S] [-c] [-f] [iters [sections]]
 *     -s  no warm-up       -a  both directions      -S  all to process 0
 *     -c  cross pairing    -f  first and last       sections: letters of A (U32) B (U64) C (FLT) D (DBL)
 * Every sum is checked. With an odd number of processes above one, and none of -S and -f, it does nothing. */
#include "testperf.h"
#include <gasnet_ratomic.h>

static long iters, to_first;

static void report(char section, const char *type, const char *op, const char *what, double us) {
  if (sends) printf("%2u: %c  %s %-4s %-10s %7ld iters  %10.3f us/op  %12.3f ns/op\n",
                    (unsigned)me, section, type, op, what, iters, us / (double)iters, us * 1000 / (double)iters);
  fflush(stdout);
}

/* senders: how many processes add to the own word; -1: not checked. */
#define MEASURE(S, TY, T)                                                                                            \
  static void measure_##TY(int senders) {                                                                            \
    static const gex_OP_t ops[] = {GEX_OP_FADD, GEX_OP_ADD};                                                         \
    T *word = (T *)area[me], result = 0;                                                                             \
    long i;                                                                                                          \
    int which, round;                                                                                                \
    for (which = 0; which < 2; which++) {                                                                            \
      gex_AD_t ad;                                                                                                   \
      gex_AD_Create(&ad, tm, GEX_DT_##TY, ops[which], 0);                                                            \
      *word = 0;                                                                                                     \
      BARRIER();                                                                                                     \
      for (round = opt.cold ? 1 : 0; round < 2; round++) {                                                           \
        double begin_at = now_us();                                                                                  \
        for (i = 0; sends && i < iters; i++) {                                                                       \
          if (which == 0) gex_Event_Wait(gex_AD_OpNB_##TY(ad, &result, peer, area[peer], GEX_OP_FADD, 1, 0, 0));     \
          else gex_Event_Wait(gex_AD_OpNB_##TY(ad, &result, peer, area[peer], GEX_OP_ADD, 1, 0, 0));                 \
        }                                                                                                            \
        if (round) report(S, #TY, which ? "ADD" : "FADD", "latency", now_us() - begin_at);                           \
        BARRIER();                                                                                                   \
        begin_at = now_us();                                                                                         \
        for (i = 0; sends && i < iters; i++) {                                                                       \
          if (which == 0) CHECK(gex_AD_OpNBI_##TY(ad, &result, peer, area[peer], GEX_OP_FADD, 1, 0, 0) == 0);        \
          else CHECK(gex_AD_OpNBI_##TY(ad, &result, peer, area[peer], GEX_OP_ADD, 1, 0, 0) == 0);                    \
        }                                                                                                            \
        gex_NBI_Wait(GEX_EC_RMW, 0);                                                                                 \
        if (round) report(S, #TY, which ? "ADD" : "FADD", "throughput", now_us() - begin_at);                        \
        BARRIER();                                                                                                   \
      }                                                                                                              \
      CHECK(senders < 0 || *word == (T)((double)senders * (opt.cold ? 2 : 4) * (double)iters));                      \
      BARRIER();                                                                                                     \
      gex_AD_Destroy(ad);                                                                                            \
    }                                                                                                                \
  }                                                                                                                  \
  struct semicolon
MEASURE('A', U32, uint32_t);
MEASURE('B', U64, uint64_t);
MEASURE('C', FLT, float);
MEASURE('D', DBL, double);

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_COLD, OPT_PAIR, FLAG("-S", &to_first)};
  int arg, senders;
  begin("testfaddperf", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 2, "testfaddperf [-s] [-a] [-S] [-c] [-f] [iters [sections A-D]]");
  iters = positional(argc, argv, arg, 10000);
  if (arg + 1 < argc) section_letters = argv[arg + 1];
  make_areas(64);
  if (nodes > 1 && nodes % 2 && !opt.ends && !to_first) {
    if (me == 0) say("WARNING: an odd number of processes: skipped");
    return end();
  }
  make_pairs();
  if (to_first) peer = 0, sends = 1, receives = me == 0;
  senders = to_first ? (me == 0 ? (int)nodes : 0) : receives;
  if (wanted('A')) measure_U32(senders);
  if (wanted('B')) measure_U64(senders);
  /* All integers up to 2^24 are floats. */
  if (wanted('C')) measure_FLT((double)senders * 4 * (double)iters < 16777216 ? senders : -1);
  if (wanted('D')) measure_DBL(senders);
  return end();
}
