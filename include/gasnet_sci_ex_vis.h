/* Vector, indexed and strided transfers: the verbs of both APIs, and the names of GASNet-EX. Part of gasnet_vis.h. Contract: vis.md,
 * ex-rma.md sections 8, 9.
 *
 * Transfers of few pieces to and from mapped memory are inline, by gasnet_sci_vis.h. The library makes the others, all
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

/* ---- the verbs. `how` is a form; GASNet-1 and debug builds mark it as theirs. A call of GASNet-1 has no team, and a node as rank ---- */
GASNETI_SCI_INLINE size_t gasneti_sci_do_putv(uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
                                              gasnet_memvec_t const *dstlist, size_t srccount,
                                              gasnet_memvec_t const *srclist, gex_Flags_t flags) {
  GASNETI_SCI_FEW_DO(GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 0,
                     gasneti_sci_few_pieces(dstlist, srclist, dstcount, move))
  return gasneti_sci_putv(how, tm, rank, dstcount, dstlist, srccount, srclist, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_getv(uint32_t how, gex_TM_t tm, size_t dstcount, gasnet_memvec_t const *dstlist,
                                              gex_Rank_t rank, size_t srccount, gasnet_memvec_t const *srclist,
                                              gex_Flags_t flags) {
  GASNETI_SCI_FEW_DO(GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 1,
                     gasneti_sci_few_pieces(dstlist, srclist, dstcount, move))
  return gasneti_sci_getv(how, tm, dstcount, dstlist, rank, srccount, srclist, flags);
}
/* The lists of GASNet-EX have a type of their own, of the same layout. */
#define GASNETI_SCI_PIECES(list) ((gasnet_memvec_t const *)(const void *)(list))
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_putv(uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
                                                 gex_Memvec_t const *dstlist, size_t srccount, gex_Memvec_t const *srclist,
                                                 gex_Flags_t flags) {
  return gasneti_sci_do_putv(how, tm, rank, dstcount, GASNETI_SCI_PIECES(dstlist), srccount, GASNETI_SCI_PIECES(srclist),
                             flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_getv(uint32_t how, gex_TM_t tm, size_t dstcount, gex_Memvec_t const *dstlist,
                                                 gex_Rank_t rank, size_t srccount, gex_Memvec_t const *srclist,
                                                 gex_Flags_t flags) {
  return gasneti_sci_do_getv(how, tm, dstcount, GASNETI_SCI_PIECES(dstlist), rank, srccount, GASNETI_SCI_PIECES(srclist),
                             flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_puti(uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
                                              void *const *dstlist, size_t dstlen, size_t srccount, void *const *srclist,
                                              size_t srclen, gex_Flags_t flags) {
  GASNETI_SCI_FEW_DO(dstlen == srclen && GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 0,
                     gasneti_sci_few_places(dstlist, srclist, dstcount, dstlen, move))
  return gasneti_sci_puti(how, tm, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_geti(uint32_t how, gex_TM_t tm, size_t dstcount, void *const *dstlist,
                                              size_t dstlen, gex_Rank_t rank, size_t srccount, void *const *srclist,
                                              size_t srclen, gex_Flags_t flags) {
  GASNETI_SCI_FEW_DO(dstlen == srclen && GASNETI_SCI_FEW_LISTS(dstcount, srccount, dstlist, srclist), 1,
                     gasneti_sci_few_places(dstlist, srclist, dstcount, dstlen, move))
  return gasneti_sci_geti(how, tm, dstcount, dstlist, dstlen, rank, srccount, srclist, srclen, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_puts(uint32_t how, gex_TM_t tm, gex_Rank_t rank, void *dstaddr,
                                                 const ptrdiff_t *dststrides, const void *srcaddr,
                                                 const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count,
                                                 size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_EX_FEW_LEVELS(0)
  return gasneti_sci_puts(how, tm, rank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, levels, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_ex_gets(uint32_t how, gex_TM_t tm, void *dstaddr, const ptrdiff_t *dststrides,
                                                 gex_Rank_t rank, const void *srcaddr, const ptrdiff_t *srcstrides,
                                                 size_t elemsz, const size_t *count, size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_EX_FEW_LEVELS(1)
  return gasneti_sci_gets(how, tm, dstaddr, dststrides, rank, srcaddr, srcstrides, elemsz, count, levels, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_puts(uint32_t how, gex_TM_t tm, gex_Rank_t rank, void *dstaddr,
                                              const size_t *dststrides, const void *srcaddr, const size_t *srcstrides,
                                              const size_t *count, size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_FEW_LEVELS(0, count)
  return gasneti_sci_puts(how, tm, rank, dstaddr, (const ptrdiff_t *)dststrides, srcaddr, (const ptrdiff_t *)srcstrides, 0,
                          count, levels, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_gets(uint32_t how, gex_TM_t tm, void *dstaddr, const size_t *dststrides,
                                              gex_Rank_t rank, const void *srcaddr, const size_t *srcstrides,
                                              const size_t *count, size_t levels, gex_Flags_t flags) {
  GASNETI_SCI_FEW_LEVELS(1, count)
  return gasneti_sci_gets(how, tm, dstaddr, (const ptrdiff_t *)dststrides, rank, srcaddr, (const ptrdiff_t *)srcstrides, 0,
                          count, levels, flags);
}

#if defined(GASNET_DEBUG)
#define GASNETI_SCI_VIS_HOW(form) ((form) | GASNETI_SCI_VIS_CHECKED)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_putv, (how, tm, rank, dstcount, dstlist, srccount, srclist, flags),
                 uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, gasnet_memvec_t const *dstlist,
                 size_t srccount, gasnet_memvec_t const *srclist, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_getv, (how, tm, dstcount, dstlist, rank, srccount, srclist, flags),
                 uint32_t how, gex_TM_t tm, size_t dstcount, gasnet_memvec_t const *dstlist, gex_Rank_t rank,
                 size_t srccount, gasnet_memvec_t const *srclist, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_ex_putv, (how, tm, rank, dstcount, dstlist, srccount, srclist, flags),
                 uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, gex_Memvec_t const *dstlist,
                 size_t srccount, gex_Memvec_t const *srclist, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_ex_getv, (how, tm, dstcount, dstlist, rank, srccount, srclist, flags),
                 uint32_t how, gex_TM_t tm, size_t dstcount, gex_Memvec_t const *dstlist, gex_Rank_t rank,
                 size_t srccount, gex_Memvec_t const *srclist, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_puti, (how, tm, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags),
                 uint32_t how, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, void *const *dstlist, size_t
                 dstlen, size_t srccount, void *const *srclist, size_t srclen, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_geti, (how, tm, dstcount, dstlist, dstlen, rank, srccount, srclist, srclen, flags),
                 uint32_t how, gex_TM_t tm, size_t dstcount, void *const *dstlist, size_t dstlen, gex_Rank_t
                 rank, size_t srccount, void *const *srclist, size_t srclen, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_puts, (how, tm, rank, dstaddr, dststrides, srcaddr, srcstrides, count, levels, flags),
                 uint32_t how, gex_TM_t tm, gex_Rank_t rank, void *dstaddr, const size_t *dststrides, const void
                 *srcaddr, const size_t *srcstrides, const size_t *count, size_t levels, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_gets, (how, tm, dstaddr, dststrides, rank, srcaddr, srcstrides, count, levels, flags),
                 uint32_t how, gex_TM_t tm, void *dstaddr, const size_t *dststrides, gex_Rank_t rank, const void
                 *srcaddr, const size_t *srcstrides, const size_t *count, size_t levels, gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_ex_puts, (how, tm, rank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, levels, flags),
                 uint32_t how, gex_TM_t tm, gex_Rank_t rank, void *dstaddr, const ptrdiff_t *dststrides, const
                 void *srcaddr, const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count, size_t levels,
                 gex_Flags_t flags)
GASNETI_SCI_TWIN(size_t, return, gasneti_sci_do_ex_gets, (how, tm, dstaddr, dststrides, rank, srcaddr, srcstrides, elemsz, count, levels, flags),
                 uint32_t how, gex_TM_t tm, void *dstaddr, const ptrdiff_t *dststrides, gex_Rank_t rank, const
                 void *srcaddr, const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count, size_t levels,
                 gex_Flags_t flags)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_ex_arm, (handler, source_addr, nbytes, flags), gex_AM_Index_t handler, const void *source_addr, size_t nbytes, gex_Flags_t flags)
#else
#define GASNETI_SCI_VIS_HOW(form) (form)
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
#define GASNETI_SCI_EX_VIS(name, verb, form, ...)                                                                    \
  GASNETI_SCI_PLACED(name, gasneti_sci_do_##verb, GASNETI_SCI_VIS_HOW(form), __VA_ARGS__)
#define GASNETI_SCI_EX_VIS_BLOCKING(name, verb, ...)                                                                 \
  gasneti_sci_vis_blocking(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_BLOCKING, __VA_ARGS__))
#define GASNETI_SCI_EX_VIS_NB(name, verb, ...)                                                                       \
  gasneti_sci_vis_event(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_NB, __VA_ARGS__))
#define GASNETI_SCI_EX_VIS_NBI(name, verb, ...)                                                                      \
  gasneti_sci_vis_nbi(GASNETI_SCI_EX_VIS(name, verb, GASNETI_SCI_VIS_NBI, __VA_ARGS__))

#define gex_VIS_VectorPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_VectorPutBlocking", ex_putv, __VA_ARGS__)
#define gex_VIS_VectorPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_VectorPutNB", ex_putv, __VA_ARGS__)
#define gex_VIS_VectorPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_VectorPutNBI", ex_putv, __VA_ARGS__)
#define gex_VIS_VectorGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_VectorGetBlocking", ex_getv, __VA_ARGS__)
#define gex_VIS_VectorGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_VectorGetNB", ex_getv, __VA_ARGS__)
#define gex_VIS_VectorGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_VectorGetNBI", ex_getv, __VA_ARGS__)

#define gex_VIS_IndexedPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_IndexedPutBlocking", puti, __VA_ARGS__)
#define gex_VIS_IndexedPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_IndexedPutNB", puti, __VA_ARGS__)
#define gex_VIS_IndexedPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_IndexedPutNBI", puti, __VA_ARGS__)
#define gex_VIS_IndexedGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_IndexedGetBlocking", geti, __VA_ARGS__)
#define gex_VIS_IndexedGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_IndexedGetNB", geti, __VA_ARGS__)
#define gex_VIS_IndexedGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_IndexedGetNBI", geti, __VA_ARGS__)

#define gex_VIS_StridedPutBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_StridedPutBlocking", ex_puts, __VA_ARGS__)
#define gex_VIS_StridedPutNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_StridedPutNB", ex_puts, __VA_ARGS__)
#define gex_VIS_StridedPutNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_StridedPutNBI", ex_puts, __VA_ARGS__)
#define gex_VIS_StridedGetBlocking(...) GASNETI_SCI_EX_VIS_BLOCKING("gex_VIS_StridedGetBlocking", ex_gets, __VA_ARGS__)
#define gex_VIS_StridedGetNB(...) GASNETI_SCI_EX_VIS_NB("gex_VIS_StridedGetNB", ex_gets, __VA_ARGS__)
#define gex_VIS_StridedGetNBI(...) GASNETI_SCI_EX_VIS_NBI("gex_VIS_StridedGetNBI", ex_gets, __VA_ARGS__)

#endif
