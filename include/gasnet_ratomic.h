/* gasnet-sci: remote atomics of GASNet-EX (contract: ex-coll.md sections 2-4, 13). Clients include it before, after or instead of
 * gasnetex.h.
 *
 * An operation on a word that is mapped here is done at once, and is complete when the call returns. If its words are integers and the
 * processor has it as one instruction, it is that instruction, inline: for an opcode that is no constant behind one jump by a table
 * (23 -> 2.3 ns for a fetch-and-add, where the bare instruction takes 2.1; 2026-11, EPYC VM). The library does the other operations on the word.
 * All else, and all in debug builds, where the library checks the arguments, is an ordinary call of the library. On x86-64 the
 * compiler makes a compare-and-swap loop of an AND, OR or XOR that fetches. Every operation is an acquire, and every one but GET is
 * a release, whatever the flags say: on the processors that are common here this costs nothing. A GET is a release only with
 * GEX_FLAG_AD_REL, because that takes a fence. */
#ifndef _GASNET_RATOMIC_H
#define _GASNET_RATOMIC_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C

typedef gasneti_sci_ad_t *gex_AD_t;
#define GEX_AD_INVALID GASNETI_SCI_AS(gex_AD_t, GASNETI_SCI_AS(uintptr_t, 0))

/* ---- domains ---- */
#if defined(GASNET_DEBUG)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_ad_create, (ad_p, tm, dt, ops, flags), gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_ad_destroy, (ad), gex_AD_t ad)
#endif
/* void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
 * void gex_AD_Destroy(gex_AD_t ad) */
#define gex_AD_Create(...) GASNETI_SCI_PLACED("gex_AD_Create", gasneti_sci_ad_create, __VA_ARGS__)
#define gex_AD_Destroy(ad) GASNETI_SCI_PLACED("gex_AD_Destroy", gasneti_sci_ad_destroy, (ad))

GASNETI_SCI_INLINE gex_Flags_t gasneti_sci_ad_flags(gex_AD_t ad) { return ad->flags; }
GASNETI_SCI_INLINE gex_TM_t gasneti_sci_ad_tm(gex_AD_t ad) { return ad->tm; }
GASNETI_SCI_INLINE gex_DT_t gasneti_sci_ad_dt(gex_AD_t ad) { return ad->dt; }
GASNETI_SCI_INLINE gex_OP_t gasneti_sci_ad_ops(gex_AD_t ad) { return ad->ops; }
GASNETI_SCI_INLINE void gasneti_sci_ad_set_cdata(gex_AD_t ad, const void *val) { ad->cdata = (void *)(uintptr_t)val; }
GASNETI_SCI_INLINE void *gasneti_sci_ad_cdata(gex_AD_t ad) { return ad->cdata; }
#if defined(GASNET_DEBUG)
GASNETI_SCI_EX_LIVE(AD, gex_AD_t, AD);
#endif
#define gex_AD_QueryFlags(ad) gasneti_sci_ad_flags(GASNETI_SCI_LIVE(AD, "gex_AD_QueryFlags", ad))
#define gex_AD_QueryTM(ad) gasneti_sci_ad_tm(GASNETI_SCI_LIVE(AD, "gex_AD_QueryTM", ad))
#define gex_AD_QueryDT(ad) gasneti_sci_ad_dt(GASNETI_SCI_LIVE(AD, "gex_AD_QueryDT", ad))
#define gex_AD_QueryOps(ad) gasneti_sci_ad_ops(GASNETI_SCI_LIVE(AD, "gex_AD_QueryOps", ad))
#define GASNETI_SCI_EX_AD_SetCData(ad, val) gasneti_sci_ad_set_cdata(GASNETI_SCI_LIVE(AD, "gex_AD_SetCData", ad), (val))
#define gex_AD_SetCData(...) GASNETI_SCI_EX_AD_SetCData(__VA_ARGS__)
#define gex_AD_QueryCData(ad) gasneti_sci_ad_cdata(GASNETI_SCI_LIVE(AD, "gex_AD_QueryCData", ad))

/* ---- operations ---- */
/* Where the target's word is in this process; NULL if it is not mapped here. */
GASNETI_SCI_ALWAYS void *gasneti_sci_ad_find(gex_AD_t ad, gex_Rank_t rank, void *addr, gex_Flags_t flags) {
  uintptr_t at = (uintptr_t)addr;
  if (!(flags & GEX_FLAG_RANK_IS_JOBRANK) && GASNETI_SCI_EXPECT(ad->jobranks != NULL, 0)) rank = ad->jobranks[rank];
  return gasneti_sci_find(rank, &at) ? (void *)at : NULL;
}

#if defined(__GNUC__) && !defined(GASNET_DEBUG)
/* The operations that are one instruction, as `each(verb, TY)`. */
#define GASNETI_SCI_AD_EACH(each, TY)                                                                                \
  each(AND, TY) each(OR, TY) each(XOR, TY) each(ADD, TY) each(SUB, TY) each(INC, TY) each(DEC, TY) each(SET, TY)     \
  each(CAS, TY) each(FAND, TY) each(FOR, TY) each(FXOR, TY) each(FADD, TY) each(FSUB, TY) each(FINC, TY)             \
  each(FDEC, TY) each(SWAP, TY) each(FCAS, TY) each(GET, TY)
#define GASNETI_SCI_AD_IS(verb) (op == GEX_OP_##verb || op == GEX_OP_TO_FETCHING(GEX_OP_##verb))
/* Does operation `verb` and leaves. Its opcode is a constant, so one line of gasneti_sci_ad_do_TY is left of all. */
#define GASNETI_SCI_AD_CASE(verb, TY)                                                                                \
  case GASNETI_SCI_AD_BIT(GEX_OP_##verb): gasneti_sci_ad_do_##TY(word, result_p, GEX_OP_##verb, x, y, flags); return 1;
/* The number of its bit. C++98 wants no function in a constant. */
#define GASNETI_SCI_AD_BIT(op)                                                                                       \
  (((op) & 0xaaaaaaaau ? 1 : 0) | ((op) & 0xccccccccu ? 2 : 0) | ((op) & 0xf0f0f0f0u ? 4 : 0) |                      \
   ((op) & 0xff00ff00u ? 8 : 0) | ((op) & 0xffff0000u ? 16 : 0))

/* For integers, U the unsigned type, whose arithmetic wraps:
 * gasneti_sci_ad_do_TY: does an operation that is one instruction.
 * gasneti_sci_ad_at_TY: finds out which it is, and does it; 0 if it is none of them. */
#define GASNETI_SCI_AD_INTEGER(TY, T, U)                                                                             \
  GASNETI_SCI_ALWAYS void gasneti_sci_ad_do_##TY(U *word, T *result_p, gex_OP_t op, T x, T y, gex_Flags_t flags) {   \
    U old, wanted = (U)x;                                                                                            \
    if (GASNETI_SCI_AD_IS(AND)) old = __atomic_fetch_and(word, wanted, __ATOMIC_ACQ_REL);                            \
    else if (GASNETI_SCI_AD_IS(OR)) old = __atomic_fetch_or(word, wanted, __ATOMIC_ACQ_REL);                         \
    else if (GASNETI_SCI_AD_IS(XOR)) old = __atomic_fetch_xor(word, wanted, __ATOMIC_ACQ_REL);                       \
    else if (GASNETI_SCI_AD_IS(ADD)) old = __atomic_fetch_add(word, wanted, __ATOMIC_ACQ_REL);                       \
    else if (GASNETI_SCI_AD_IS(SUB)) old = __atomic_fetch_sub(word, wanted, __ATOMIC_ACQ_REL);                       \
    else if (GASNETI_SCI_AD_IS(INC)) old = __atomic_fetch_add(word, (U)1, __ATOMIC_ACQ_REL);                         \
    else if (GASNETI_SCI_AD_IS(DEC)) old = __atomic_fetch_sub(word, (U)1, __ATOMIC_ACQ_REL);                         \
    else if (GASNETI_SCI_AD_IS(SET)) old = __atomic_exchange_n(word, wanted, __ATOMIC_ACQ_REL);                      \
    else if (op == GEX_OP_GET) {                                                                                     \
      if_pf (flags & GEX_FLAG_AD_REL) GASNETI_SCI_FENCE(__ATOMIC_SEQ_CST); /* a load alone releases nothing */       \
      old = __atomic_load_n(word, __ATOMIC_ACQUIRE);                                                                 \
    }                                                                                                                \
    else {                                                                                                           \
      /* Sequentially consistent, because one that fails stores nothing that could release. */                       \
      (void)__atomic_compare_exchange_n(word, &wanted, (U)y, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
      old = wanted;                                                                                                  \
    }                                                                                                                \
    if (op >= GEX_OP_FAND) *result_p = (T)old;                                                                       \
  }                                                                                                                  \
  GASNETI_SCI_ALWAYS int gasneti_sci_ad_at_##TY(void *at, T *result_p, gex_OP_t op, T x, T y, gex_Flags_t flags) {   \
    U *word = (U *)at;                                                                                               \
    switch (__builtin_ctz(op)) { GASNETI_SCI_AD_EACH(GASNETI_SCI_AD_CASE, TY) default: return 0; }              \
  }
/* Floating point: a loop around a compare-and-swap, in the library. */
#define GASNETI_SCI_AD_FLOATING(TY, T, U)                                                                            \
  GASNETI_SCI_ALWAYS int gasneti_sci_ad_at_##TY(void *word, T *result_p, gex_OP_t op, T x, T y, gex_Flags_t flags) { \
    (void)word, (void)result_p, (void)op, (void)x, (void)y, (void)flags;                                             \
    return 0;                                                                                                        \
  }
/* Does an operation that the domain has on a mapped word; 0 if it did nothing. */
#define GASNETI_SCI_AD_NEAR(TY, T, U)                                                                                \
  GASNETI_SCI_ALWAYS int gasneti_sci_ad_near_##TY(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, \
                                                  T x, T y, gex_Flags_t flags) {                                     \
    void *word;                                                                                                      \
    uint64_t old;                                                                                                    \
    /* The library says what is wrong. */                                                                            \
    if_pf (!(op & ad->ops) || (op & (op - 1)) || ad->dt != GEX_DT_##TY || (uintptr_t)addr % sizeof(T)) return 0;     \
    word = gasneti_sci_ad_find(ad, rank, addr, flags);                                                               \
    if_pf (word == NULL) return 0;                                                                                   \
    if (gasneti_sci_ad_at_##TY(word, result_p, op, x, y, flags)) return 1;                                           \
    old = gasneti_sci_ad_word(word, op, gasneti_sci_ad_bits_##TY(x), gasneti_sci_ad_bits_##TY(y), GEX_DT_##TY);      \
    if (op >= GEX_OP_FAND) memcpy(result_p, GASNETI_SCI_LOW(&old, sizeof *result_p), sizeof *result_p);              \
    return 1;                                                                                                        \
  }
#else
#define GASNETI_SCI_AD_INTEGER(TY, T, U)
#define GASNETI_SCI_AD_FLOATING(TY, T, U)
#define GASNETI_SCI_AD_NEAR(TY, T, U)                                                                                \
  GASNETI_SCI_ALWAYS int gasneti_sci_ad_near_##TY(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, \
                                                  T x, T y, gex_Flags_t flags) {                                     \
    (void)ad, (void)result_p, (void)rank, (void)addr, (void)op, (void)x, (void)y, (void)flags;                       \
    return 0;                                                                                                        \
  }
#endif

/* The bits of an operand as the library takes them. */
#define GASNETI_SCI_AD_BITS(TY, T, U)                                                                                \
  GASNETI_SCI_INLINE uint64_t gasneti_sci_ad_bits_##TY(T value) {                                                    \
    U bits;                                                                                                          \
    memcpy(&bits, &value, sizeof bits);                                                                              \
    return bits;                                                                                                     \
  }
/* The two forms of an operation. */
#define GASNETI_SCI_AD_OPERATION(TY, T, U)                                                                           \
  GASNETI_SCI_AD_WANTED GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_ad_nb_##TY(                                       \
      gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, T x, T y, gex_Flags_t flags) {             \
    if (gasneti_sci_ad_near_##TY(ad, result_p, rank, addr, op, x, y, flags)) return GEX_EVENT_INVALID;               \
    return (gex_Event_t)gasneti_sci_ad_op(ad, result_p, rank, addr, op, gasneti_sci_ad_bits_##TY(x),                 \
                                          gasneti_sci_ad_bits_##TY(y), GEX_DT_##TY, flags, 0);                       \
  }                                                                                                                  \
  GASNETI_SCI_ALWAYS int gasneti_sci_ad_nbi_##TY(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, \
                                                 T x, T y, gex_Flags_t flags) {                                      \
    if (gasneti_sci_ad_near_##TY(ad, result_p, rank, addr, op, x, y, flags)) return 0;                               \
    return (int)gasneti_sci_ad_op(ad, result_p, rank, addr, op, gasneti_sci_ad_bits_##TY(x),                         \
                                  gasneti_sci_ad_bits_##TY(y), GEX_DT_##TY, flags, 1);                               \
  }
#if defined(__GNUC__)
#define GASNETI_SCI_AD_WANTED __attribute__((__warn_unused_result__))
#else
#define GASNETI_SCI_AD_WANTED
#endif

#if defined(GASNET_DEBUG)
#define GASNETI_SCI_AD_CHECKED(TY, T)                                                                                \
  GASNETI_SCI_AD_WANTED GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_ad_nb_##TY, gex_AD_t ad, T *result_p, gex_Rank_t rank, \
                                         void *addr, gex_OP_t op, T x, T y, gex_Flags_t flags) {                     \
    gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);                                                   \
    return gasneti_sci_ad_nb_##TY(ad, result_p, rank, addr, op, x, y, flags);                                        \
  }                                                                                                                  \
  GASNETI_SCI_WRAP(int, gasneti_sci_ad_nbi_##TY, gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, \
                   T x, T y, gex_Flags_t flags) {                                                                    \
    gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);                                                   \
    return gasneti_sci_ad_nbi_##TY(ad, result_p, rank, addr, op, x, y, flags);                                       \
  }
#else
#define GASNETI_SCI_AD_CHECKED(TY, T)
#endif

#define GASNETI_SCI_AD_ALL(sort, TY, T, U)                                                                           \
  GASNETI_SCI_AD_BITS(TY, T, U) sort(TY, T, U) GASNETI_SCI_AD_NEAR(TY, T, U) GASNETI_SCI_AD_OPERATION(TY, T, U) GASNETI_SCI_AD_CHECKED(TY, T) struct gasneti_sci_semicolon
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_INTEGER, I32, int32_t, uint32_t);
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_INTEGER, U32, uint32_t, uint32_t);
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_INTEGER, I64, int64_t, uint64_t);
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_INTEGER, U64, uint64_t, uint64_t);
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_FLOATING, FLT, float, uint32_t);
GASNETI_SCI_AD_ALL(GASNETI_SCI_AD_FLOATING, DBL, double, uint64_t);

/* For TY of I32, U32, I64, U64, FLT, DBL and its C type:
 *   gex_Event_t gex_AD_OpNB_TY(gex_AD_t ad, type *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t opcode,
 *                              type operand1, type operand2, gex_Flags_t flags);
 *   int gex_AD_OpNBI_TY(the same)
 * Variadic, so that one macro of the client may expand to several arguments. */
#define gex_AD_OpNB_I32(...) GASNETI_SCI_PLACED("gex_AD_OpNB_I32", gasneti_sci_ad_nb_I32, __VA_ARGS__)
#define gex_AD_OpNB_U32(...) GASNETI_SCI_PLACED("gex_AD_OpNB_U32", gasneti_sci_ad_nb_U32, __VA_ARGS__)
#define gex_AD_OpNB_I64(...) GASNETI_SCI_PLACED("gex_AD_OpNB_I64", gasneti_sci_ad_nb_I64, __VA_ARGS__)
#define gex_AD_OpNB_U64(...) GASNETI_SCI_PLACED("gex_AD_OpNB_U64", gasneti_sci_ad_nb_U64, __VA_ARGS__)
#define gex_AD_OpNB_FLT(...) GASNETI_SCI_PLACED("gex_AD_OpNB_FLT", gasneti_sci_ad_nb_FLT, __VA_ARGS__)
#define gex_AD_OpNB_DBL(...) GASNETI_SCI_PLACED("gex_AD_OpNB_DBL", gasneti_sci_ad_nb_DBL, __VA_ARGS__)
#define gex_AD_OpNBI_I32(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_I32", gasneti_sci_ad_nbi_I32, __VA_ARGS__)
#define gex_AD_OpNBI_U32(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_U32", gasneti_sci_ad_nbi_U32, __VA_ARGS__)
#define gex_AD_OpNBI_I64(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_I64", gasneti_sci_ad_nbi_I64, __VA_ARGS__)
#define gex_AD_OpNBI_U64(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_U64", gasneti_sci_ad_nbi_U64, __VA_ARGS__)
#define gex_AD_OpNBI_FLT(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_FLT", gasneti_sci_ad_nbi_FLT, __VA_ARGS__)
#define gex_AD_OpNBI_DBL(...) GASNETI_SCI_PLACED("gex_AD_OpNBI_DBL", gasneti_sci_ad_nbi_DBL, __VA_ARGS__)

GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif
#endif
