/* GASNet-EX: vector, indexed and strided transfers. Part of gasnet_vis.h. Contract: ex-rma.md sections 8, 9.
 *
 * Transfers of few pieces to and from mapped memory are inline, as in gasnet_sci_vis.h. The library makes the others, all
 * transfers of debug builds, which it checks first, and all of a program that has armed a handler (section 9). */
#if !defined(GASNETI_SCI_IN_VIS_H)
#error "include gasnet_vis.h, not gasnet_sci_ex_vis.h"
#endif
#ifndef GASNETI_SCI_EX_VIS_H
#define GASNETI_SCI_EX_VIS_H

#define GEX_VIS_MAX_PEERCOMPLETION 127

/* void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes, gex_Flags_t flags):
 * the handler is run at the target of this thread's next put; 0: none is. */
GASNETI_SCI_INLINE void gasneti_sci_do_ex_arm(gex_AM_Index_t handler, const void *source_addr, size_t nbytes,
                                              gex_Flags_t flags) {
  (void)flags;
  gasneti_sci_ex_arm(handler, source_addr, nbytes);
}

/* Lists of pieces have the library's own type there, which has the same layout. */
typedef gasnet_memvec_t const *gasneti_sci_pieces_t;
#define GASNETI_SCI_PIECES(list) ((gasneti_sci_pieces_t)(const void *)(list))

#if defined(GASNETI_SCI_VIS_INLINE)
#define GASNETI_SCI_EX_FEW_DO(condition, side, copied)                                                               \
  if (condition) {                                                                                                   \
    const gasnet_node_t node = gasneti_sci_jobrank(tm, rank);                                                        \
    GASNETI_SCI_FEW_DO(1, side, copied)                                                                              \
  }
#define GASNETI_SCI_EX_ROWS(side)                                                                                    \
  if (levels - 1 < 2 && elemsz != 0 && dststrides && srcstrides && count && count[0] != 0 && count[levels - 1] != 0) { \
    const gasnet_node_t node = gasneti_sci_jobrank(tm, rank);                                                        \
    size_t all[3];                                                                                                   \
    all[0] = elemsz, all[1] = count[0], all[2] = count[levels - 1];                                                  \
    GASNETI_SCI_FEW_DO(1, side,                                                                                      \
                       gasneti_sci_few_rows((uintptr_t)dstaddr + move[0], (const size_t *)dststrides,                \
                                            (uintptr_t)srcaddr + move[1], (const size_t *)srcstrides, all, levels))  \
  }
#else
#define GASNETI_SCI_EX_FEW_DO(condition, side, copied)
#define GASNETI_SCI_EX_ROWS(side)
#endif

/* ---- the verbs. `how` is a form, which debug builds mark as checked ---- */
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_putv(uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
                                                 gex_Memvec_t const *dstlist, size_t srccount, gex_Memvec_t const *srclist,
                                                 gex_Flags_t flags) {
  const gasneti_sci_pieces_t dst = GASNETI_SCI_PIECES(dstlist), src = GASNETI_SCI_PIECES(srclist);
  GASNETI_SCI_EX_FEW_DO(GASNETI_SCI_FEW_LISTS(dstcount, srccount, dst, src), 0,
                        gasneti_sci_few_pieces(dst, src, dstcount, move))
  return gasneti_sci_ex_putv(how, tm, rank, dstcount, dst, srccount, src, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_getv(uint32_t how, gex_TM_t tm, size_t dstcount, gex_Memvec_t const *dstlist,
                                                 gex_Rank_t rank, size_t srccount, gex_Memvec_t const *srclist,
                                                 gex_Flags_t flags) {
  const gasneti_sci_pieces_t dst = GASNETI_SCI_PIECES(dstlist), src = GASNETI_SCI_PIECES(srclist);
  GASNETI_SCI_EX_FEW_DO(GASNETI_SCI_FEW_LISTS(dstcount, srccount, dst, src), 1,
                        gasneti_sci_few_pieces(dst, src, dstcount, move))
  return gasneti_sci_ex_getv(how, tm, dstcount, dst, rank, srccount, src, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_puti(uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
                                                 void *const *dstlist, size_t dstlen, size_t srccount,
                                                 void *const *srclist, size_t srclen, gex_Flags_t flags) {
  GASNETI_SCI_EX_FEW_DO(dstlen == srclen && GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 0,
                        gasneti_sci_few_places(dstlist, srclist, dstcount, dstlen, move))
  return gasneti_sci_ex_puti(how, tm, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_geti(uint32_t how, gex_TM_t tm, size_t dstcount, void *const *dstlist,
                                                 size_t dstlen, gex_Rank_t rank, size_t srccount, void *const *srclist,
                                                 size_t srclen, gex_Flags_t flags) {
  GASNETI_SCI_EX_FEW_DO(dstlen == srclen && GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 1,
                        gasneti_sci_few_places(dstlist, srclist, dstcount, dstlen, move))
  return gasneti_sci_ex_geti(how, tm, dstcount, dstlist, dstlen, rank, srccount, srclist, srclen, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_puts(uint32_t how, gex_TM_t tm, gex_Rank_t rank, void *dstaddr,
                                                 const ptrdiff_t *dststrides, const void *srcaddr,
                                                 const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count,
                                                 size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_EX_ROWS(0)
  return gasneti_sci_ex_puts(how, tm, rank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, levels, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_gets(uint32_t how, gex_TM_t tm, void *dstaddr, const ptrdiff_t *dststrides,
                                                 gex_Rank_t rank, const void *srcaddr, const ptrdiff_t *srcstrides,
                                                 size_t elemsz, const size_t *count, size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_EX_ROWS(1)
  return gasneti_sci_ex_gets(how, tm, dstaddr, dststrides, rank, srcaddr, srcstrides, elemsz, count, levels, flags);
}

#if defined(GASNET_DEBUG)
/* One inline wrapper per verb, so that arguments are evaluated once. */
#define GASNETI_SCI_EX_VIS_WRAP(verb, declared, passed)                                                              \
  GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_##verb##_checked declared {                                            \
    gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);                                                   \
    return gasneti_sci_do_ex_##verb passed;                                                                          \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_EX_VIS_PLACE const char *name, const char *file, int line, uint32_t how, gex_TM_t tm
#define GASNETI_SCI_EX_VIS_HOW (how | GASNETI_SCI_VIS_CHECKED)
GASNETI_SCI_EX_VIS_WRAP(putv,
                        (GASNETI_SCI_EX_VIS_PLACE, gex_Rank_t rank, size_t dstcount, gex_Memvec_t const *dstlist,
                         size_t srccount, gex_Memvec_t const *srclist, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, rank, dstcount, dstlist, srccount, srclist, flags));
GASNETI_SCI_EX_VIS_WRAP(getv,
                        (GASNETI_SCI_EX_VIS_PLACE, size_t dstcount, gex_Memvec_t const *dstlist, gex_Rank_t rank,
                         size_t srccount, gex_Memvec_t const *srclist, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, dstcount, dstlist, rank, srccount, srclist, flags));
GASNETI_SCI_EX_VIS_WRAP(puti,
                        (GASNETI_SCI_EX_VIS_PLACE, gex_Rank_t rank, size_t dstcount, void *const *dstlist, size_t dstlen,
                         size_t srccount, void *const *srclist, size_t srclen, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags));
GASNETI_SCI_EX_VIS_WRAP(geti,
                        (GASNETI_SCI_EX_VIS_PLACE, size_t dstcount, void *const *dstlist, size_t dstlen, gex_Rank_t rank,
                         size_t srccount, void *const *srclist, size_t srclen, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, dstcount, dstlist, dstlen, rank, srccount, srclist, srclen, flags));
GASNETI_SCI_EX_VIS_WRAP(puts,
                        (GASNETI_SCI_EX_VIS_PLACE, gex_Rank_t rank, void *dstaddr, const ptrdiff_t *dststrides,
                         const void *srcaddr, const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count,
                         size_t levels, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, rank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, levels,
                         flags));
GASNETI_SCI_EX_VIS_WRAP(gets,
                        (GASNETI_SCI_EX_VIS_PLACE, void *dstaddr, const ptrdiff_t *dststrides, gex_Rank_t rank,
                         const void *srcaddr, const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count,
                         size_t levels, gex_Flags_t flags),
                        (GASNETI_SCI_EX_VIS_HOW, tm, dstaddr, dststrides, rank, srcaddr, srcstrides, elemsz, count, levels,
                         flags));
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_ex_arm, (handler, source_addr, nbytes, flags), gex_AM_Index_t handler, const void *source_addr, size_t nbytes, gex_Flags_t flags)
#endif

/* ---- the public names ---- */
#define gex_VIS_SetPeerCompletionHandler(...)                                                                        \
  GASNETI_SCI_PLACED("gex_VIS_SetPeerCompletionHandler", gasneti_sci_do_ex_arm, __VA_ARGS__)

/* Blocking forms serve messages now and then, as other blocking calls do. */
GASNETI_SCI_ALWAYS int gasneti_sci_vis_blocking(size_t refused) {
  gasneti_sci_tick(0);
  return (int)refused;
}
GASNETI_SCI_ALWAYS int gasneti_sci_vis_nbi(size_t refused) { return (int)refused; }
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_vis_event(size_t event) { return (gex_Event_t)event; }
#define GASNETI_SCI_EX_VIS(name, verb, form, ...) GASNETI_SCI_PLACED(name, gasneti_sci_do_ex_##verb, form, __VA_ARGS__)
#define GASNETI_SCI_EX_VIS_BLOCKING(name, verb, ...)                                                                 \
  gasneti_sci_vis_blocking(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_BLOCKING, __VA_ARGS__))
#define GASNETI_SCI_EX_VIS_NB(name, verb, ...)                                                                       \
  gasneti_sci_vis_event(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_NB, __VA_ARGS__))
#define GASNETI_SCI_EX_VIS_NBI(name, verb, ...)                                                                      \
  gasneti_sci_vis_nbi(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_NBI, __VA_ARGS__))

#define gex_VIS_VectorPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_VectorPutBlocking", putv, __VA_ARGS__)
#define gex_VIS_VectorPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_VectorPutNB", putv, __VA_ARGS__)
#define gex_VIS_VectorPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_VectorPutNBI", putv, __VA_ARGS__)
#define gex_VIS_VectorGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_VectorGetBlocking", getv, __VA_ARGS__)
#define gex_VIS_VectorGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_VectorGetNB", getv, __VA_ARGS__)
#define gex_VIS_VectorGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_VectorGetNBI", getv, __VA_ARGS__)

#define gex_VIS_IndexedPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_IndexedPutBlocking", puti, __VA_ARGS__)
#define gex_VIS_IndexedPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_IndexedPutNB", puti, __VA_ARGS__)
#define gex_VIS_IndexedPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_IndexedPutNBI", puti, __VA_ARGS__)
#define gex_VIS_IndexedGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_IndexedGetBlocking", geti, __VA_ARGS__)
#define gex_VIS_IndexedGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_IndexedGetNB", geti, __VA_ARGS__)
#define gex_VIS_IndexedGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_IndexedGetNBI", geti, __VA_ARGS__)

#define gex_VIS_StridedPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_StridedPutBlocking", puts, __VA_ARGS__)
#define gex_VIS_StridedPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_StridedPutNB", puts, __VA_ARGS__)
#define gex_VIS_StridedPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_StridedPutNBI", puts, __VA_ARGS__)
#define gex_VIS_StridedGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_StridedGetBlocking", gets, __VA_ARGS__)
#define gex_VIS_StridedGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_StridedGetNB", gets, __VA_ARGS__)
#define gex_VIS_StridedGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_StridedGetNBI", gets, __VA_ARGS__)

#endif
