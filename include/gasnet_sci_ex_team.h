/* GASNet-EX: pairs, translation of ranks, teams, barriers. Part of gasnetex.h. Contract: ex-core.md section 7, ex-coll.md
 * sections 5, 7. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_team.h"
#endif
#ifndef GASNETI_SCI_EX_TEAM_H
#define GASNETI_SCI_EX_TEAM_H

#ifndef GASNETI_SCI_USE_RESULT
#if defined(__GNUC__)
#define GASNETI_SCI_USE_RESULT __attribute__((__warn_unused_result__))
#else
#define GASNETI_SCI_USE_RESULT
#endif
#endif

/* ---- pairs: numbers that name a local endpoint and the index of remote ones. Allowed anywhere ---- */
GASNETI_SCI_ALWAYS gex_TM_t gasneti_sci_pair(gex_EP_t local_ep, gex_EP_Index_t remote_index) {
  return (gex_TM_t)((uintptr_t)local_ep->index << 16 | (uintptr_t)remote_index << 32 | 1);
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(gex_TM_t, gasneti_sci_pair, gex_EP_t local_ep, gex_EP_Index_t remote_index) {
  gasneti_sci_check_pair(name, file, line, local_ep, remote_index, GASNET_MAXEPS);
  return gasneti_sci_pair(local_ep, remote_index);
}
#endif
#define GASNETI_SCI_EX_TM_Pair(local_ep, remote_ep_index)                                                            \
  GASNETI_SCI_PLACED("gex_TM_Pair", gasneti_sci_pair, (local_ep), (remote_ep_index))
#define gex_TM_Pair(...) GASNETI_SCI_EX_TM_Pair(__VA_ARGS__)

/* ---- translation of ranks ---- */
GASNETI_SCI_ALWAYS gex_Rank_t gasneti_sci_tm_rank_of(gex_TM_t tm, gex_Rank_t jobrank) {
  if_pt (gasneti_sci_is_pair(tm) || tm->jobranks == NULL) return jobrank;
  return gasneti_sci_ex_rank(tm, jobrank);
}
GASNETI_SCI_ALWAYS gex_EP_Location_t gasneti_sci_location(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags) {
  gex_EP_Location_t place;
  (void)flags;
  place.gex_rank = gasneti_sci_jobrank(tm, rank);
  place.gex_ep_index = (gex_EP_Index_t)(gasneti_sci_is_pair(tm) ? (uintptr_t)tm >> 32 : 0);
  return place;
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_TWIN_OF(gex_Rank_t, return, gasneti_sci_jobrank, gasneti_sci_ex_jobrank(tm, rank), gex_TM_t tm, gex_Rank_t rank)
GASNETI_SCI_TWIN_OF(gex_Rank_t, return, gasneti_sci_tm_rank_of, gasneti_sci_ex_rank(tm, jobrank), gex_TM_t tm, gex_Rank_t jobrank)
GASNETI_SCI_WRAP(gex_EP_Location_t, gasneti_sci_location, gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  (void)gasneti_sci_ex_jobrank(tm, rank);
  return gasneti_sci_location(tm, rank, flags);
}
#endif
#define GASNETI_SCI_EX_TM_TranslateRankToJobrank(tm, rank)                                                           \
  GASNETI_SCI_PLACED("gex_TM_TranslateRankToJobrank", gasneti_sci_jobrank, (tm), (rank))
#define gex_TM_TranslateRankToJobrank(...) GASNETI_SCI_EX_TM_TranslateRankToJobrank(__VA_ARGS__)
#define GASNETI_SCI_EX_TM_TranslateJobrankToRank(tm, jobrank)                                                        \
  GASNETI_SCI_PLACED("gex_TM_TranslateJobrankToRank", gasneti_sci_tm_rank_of, (tm), (jobrank))
#define gex_TM_TranslateJobrankToRank(...) GASNETI_SCI_EX_TM_TranslateJobrankToRank(__VA_ARGS__)
#define GASNETI_SCI_EX_TM_TranslateRankToEP(tm, rank, flags)                                                         \
  GASNETI_SCI_PLACED("gex_TM_TranslateRankToEP", gasneti_sci_location, (tm), (rank), (flags))
#define gex_TM_TranslateRankToEP(...) GASNETI_SCI_EX_TM_TranslateRankToEP(__VA_ARGS__)

/* ---- teams. Scratch memory is remembered, never used ---- */
GASNETI_SCI_INLINE size_t gasneti_sci_do_tm_split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr,
                                               size_t scratch_size, gex_Flags_t flags) {
  return gasneti_sci_ex_split(new_tm_p, parent, color, key, scratch_addr, scratch_size, flags);
}
GASNETI_SCI_INLINE size_t gasneti_sci_do_tm_create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent,
                                                gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                                                size_t scratch_size, gex_Flags_t flags) {
  return gasneti_sci_ex_create(new_tms, num_new_tms, parent, (const gasneti_sci_ep_location_t *)(const void *)args, numargs,
                               scratch_addrs, scratch_size, flags);
}
GASNETI_SCI_INLINE int gasneti_sci_do_tm_destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags) {
  return scratch_p ? gasneti_sci_ex_destroy(tm, &scratch_p->gex_addr, &scratch_p->gex_len, flags)
                   : gasneti_sci_ex_destroy(tm, NULL, NULL, flags);
}
GASNETI_SCI_INLINE GASNETI_SCI_USE_RESULT gex_Event_t gasneti_sci_do_tm_barrier(gex_TM_t tm, gex_Flags_t flags) {
  return (gex_Event_t)(uintptr_t)gasneti_sci_ex_barrier(tm, flags);
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(size_t, gasneti_sci_do_tm_split, gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr,
                 size_t scratch_size, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_tm_split(new_tm_p, parent, color, key, scratch_addr, scratch_size, flags);
}
GASNETI_SCI_WRAP(size_t, gasneti_sci_do_tm_create, gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent,
                 gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size,
                 gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_tm_create(new_tms, num_new_tms, parent, args, numargs, scratch_addrs, scratch_size, flags);
}
GASNETI_SCI_WRAP(int, gasneti_sci_do_tm_destroy, gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_tm_destroy(tm, scratch_p, flags);
}
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_do_tm_barrier, gex_TM_t tm, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_tm_barrier(tm, flags);
}
GASNETI_SCI_WRAP(void, gasneti_sci_ex_barrier_blocking, gex_TM_t tm, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_ex_barrier_blocking(tm, flags);
}
#endif
#define GASNETI_SCI_EX_TM_Split(new_tm_p, parent_tm, color, key, scratch_addr, scratch_size, flags)                  \
  GASNETI_SCI_PLACED("gex_TM_Split", gasneti_sci_do_tm_split, (new_tm_p), (parent_tm), (color), (key), (scratch_addr),  \
                     (scratch_size), (flags))
#define gex_TM_Split(...) GASNETI_SCI_EX_TM_Split(__VA_ARGS__)
#define GASNETI_SCI_EX_TM_Create(new_tms, num_new_tms, parent_tm, args, numargs, scratch_addrs, scratch_size, flags) \
  GASNETI_SCI_PLACED("gex_TM_Create", gasneti_sci_do_tm_create, (new_tms), (num_new_tms), (parent_tm), (args),          \
                     (numargs), (scratch_addrs), (scratch_size), (flags))
#define gex_TM_Create(...) GASNETI_SCI_EX_TM_Create(__VA_ARGS__)
#define GASNETI_SCI_EX_TM_Destroy(tm, scratch_p, flags)                                                              \
  GASNETI_SCI_PLACED("gex_TM_Destroy", gasneti_sci_do_tm_destroy, (tm), (scratch_p), (flags))
#define gex_TM_Destroy(...) GASNETI_SCI_EX_TM_Destroy(__VA_ARGS__)

/* ---- barriers: any number at a time, of any team ---- */
#define GASNETI_SCI_EX_Coll_BarrierNB(tm, flags) GASNETI_SCI_PLACED("gex_Coll_BarrierNB", gasneti_sci_do_tm_barrier, (tm), (flags))
#define gex_Coll_BarrierNB(...) GASNETI_SCI_EX_Coll_BarrierNB(__VA_ARGS__)
#define GASNETI_SCI_EX_Coll_BarrierBlocking(tm, flags)                                                               \
  GASNETI_SCI_PLACED("gex_Coll_BarrierBlocking", gasneti_sci_ex_barrier_blocking, (tm), (flags))
#define gex_Coll_BarrierBlocking(...) GASNETI_SCI_EX_Coll_BarrierBlocking(__VA_ARGS__)

#endif
