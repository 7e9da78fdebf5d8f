/* The remote atomics of testmixed: any operation on a lane's own word, whose value is known, and additions to words that all threads of
 * all processes add to, whose sum is. Contract: ex-coll.md sections 3, 4. */
#ifndef TESTMIXED_AD_H
#define TESTMIXED_AD_H
#include "testmixed.h"

#define ALL_OPS (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_MULT | GEX_OP_SET | GEX_OP_CAS)
#define TWINS(ops) ((ops) | (ops) << 15 | GEX_OP_GET)
static const gex_OP_t some_ops[] = {GEX_OP_ADD, GEX_OP_SUB, GEX_OP_INC, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_MULT, GEX_OP_SET, GEX_OP_CAS,
                                    GEX_OP_FADD, GEX_OP_FSUB, GEX_OP_FDEC, GEX_OP_FMIN, GEX_OP_FMAX, GEX_OP_FMULT, GEX_OP_SWAP,
                                    GEX_OP_FCAS, GEX_OP_GET};
#define SOME_OPS (sizeof some_ops / sizeof some_ops[0])
static gex_EC_t category_of(gex_OP_t op) { return op == GEX_OP_SET ? GEX_EC_PUT : op == GEX_OP_GET ? GEX_EC_GET : GEX_EC_RMW; }

/* For one type: an operation in some form; the value after it; one on the lane's own word; additions to the word of all. */
#define ATOMICS(T, type, index, unsigned_type, small)                                                                \
  static void op_##index(actor_t *a, lane_t *lane, gex_AD_t ad, gex_Rank_t rank, void *word, gex_OP_t op, type x, type y, type *got) { \
    gex_Flags_t flags = perhaps(a) | (below(a, 4) ? 0 : GEX_FLAG_AD_REL) | (below(a, 4) ? 0 : GEX_FLAG_AD_ACQ);        \
    gex_Flags_t must = flags & ~GEX_FLAG_IMMEDIATE;                                                                  \
    gex_TM_t team = gex_AD_QueryTM(ad);                                                                              \
    if (rank == me && below(a, 2)) flags |= GEX_FLAG_AD_MY_RANK;                                                     \
    if (below(a, 2)) flags |= GEX_FLAG_RANK_IS_JOBRANK, must |= GEX_FLAG_RANK_IS_JOBRANK;                            \
    else rank = gex_TM_TranslateJobrankToRank(team, rank);                                                           \
    if (below(a, 2)) {                                                                                               \
      gex_Event_t event = gex_AD_OpNB_##T(ad, got, rank, word, op, x, y, flags);                                     \
      if (event == GEX_EVENT_NO_OP) refused(flags), event = gex_AD_OpNB_##T(ad, got, rank, word, op, x, y, must);    \
      add_event(lane, event, GEX_EVENT_INVALID);                                                                     \
    } else {                                                                                                         \
      if (gex_AD_OpNBI_##T(ad, got, rank, word, op, x, y, flags))                                                    \
        refused(flags), (void)gex_AD_OpNBI_##T(ad, got, rank, word, op, x, y, must);                                 \
      lane->nbi |= category_of(op);                                                                                  \
    }                                                                                                                \
  }                                                                                                                  \
  static type after_##index(type old, gex_OP_t op, type x, type y) {                                                 \
    switch (op >= GEX_OP_FAND ? GEX_OP_TO_NONFETCHING(op) : op) {                                                    \
      case GEX_OP_ADD: return (type)((unsigned_type)old + (unsigned_type)x);                                         \
      case GEX_OP_SUB: return (type)((unsigned_type)old - (unsigned_type)x);                                         \
      case GEX_OP_MULT: return (type)((unsigned_type)old * (unsigned_type)x);                                        \
      case GEX_OP_INC: return (type)((unsigned_type)old + 1);                                                        \
      case GEX_OP_DEC: return (type)((unsigned_type)old - 1);                                                        \
      case GEX_OP_MIN: return old < x ? old : x;                                                                     \
      case GEX_OP_MAX: return old > x ? old : x;                                                                     \
      case GEX_OP_SET: return x;                                                                                     \
      case GEX_OP_CAS: return old == x ? y : old;                                                                    \
      default: return old;                                                                                           \
    }                                                                                                                \
  }                                                                                                                  \
  static void atomics_##index(actor_t *a, lane_t *lane) {                                                            \
    gex_OP_t op = some_ops[below(a, SOME_OPS)];                                                                      \
    uint64_t *model = &lane->word[lane->rank * WORDS + index];                                                       \
    type old, now, x, y, junk;                                                                                       \
    void *word = word_of(lane->rank, me, a->number, lane->number, index);                                            \
    unsigned adds = below(a, 4);                                                                                     \
    memcpy(&old, model, sizeof old);                                                                                 \
    memcpy(&junk, lane->got, sizeof junk);                                                                           \
    if (small && (old > (type)(1 << 20) || old < -(type)(1 << 20))) op = GEX_OP_SWAP; /* floating point stays exact */ \
    x = (type)(small ? (int)below(a, 100) - 50 : (int)step_of(&a->random)), y = (type)below(a, 1000);                \
    if ((op == GEX_OP_CAS || op == GEX_OP_FCAS) && below(a, 2)) x = old;                                             \
    now = after_##index(old, op, x, y);                                                                              \
    op_##index(a, lane, domain[index], lane->rank, word, op, x, y, (type *)(void *)&lane->got[0]);                   \
    memcpy(model, &now, sizeof now);                                                                                 \
    lane->old = 0, memcpy(&lane->old, op >= GEX_OP_FAND ? &old : &junk, sizeof old), lane->word_bytes = (int)sizeof old; \
    while (adds-- > 0) {                                                                                             \
      const type more = (type)below(a, 1000);                                                                        \
      const gex_OP_t by = below(a, 2) ? GEX_OP_ADD : GEX_OP_FADD;                                                    \
      op_##index(a, lane, domain[index], lane->rank, shared_word(lane->rank, index), by, more, 0, (type *)(void *)&lane->got[1 + adds]); \
      a->tally[index] += (uint64_t)more;                                                                             \
      verified(1, 0);                                                                                                \
    }                                                                                                                \
  }
ATOMICS(U64, uint64_t, W_U64, uint64_t, 0)
ATOMICS(I32, int32_t, W_I32, uint32_t, 0)
ATOMICS(DBL, double, W_DBL, double, 1)
ATOMICS(U64, uint64_t, W_HALF, uint64_t, 0)

static void atomics(actor_t *a, lane_t *lane) {
  lane->what = "an atomic";
  switch (below(a, WORDS)) {
    case W_U64: atomics_W_U64(a, lane); break;
    case W_I32: atomics_W_I32(a, lane); break;
    case W_DBL: atomics_W_DBL(a, lane); break;
    default:
      if (lane->rank % 2 != me % 2) lane->rank = me;
      atomics_W_HALF(a, lane);
  }
}
#endif
