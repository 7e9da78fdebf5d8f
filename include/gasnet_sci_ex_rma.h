/* GASNet-EX: puts, gets, their events, implicit sets and access regions. Part of gasnetex.h. Contract: ex-rma.md sections 1-7.
 *
 * A transfer to or from a segment that is mapped here is an inline copy, as in gasnet_sci_rma.h, and complete when the function
 * returns. Then its event, and the leaf if one is wanted, is GEX_EVENT_INVALID. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_rma.h"
#endif
#ifndef GASNETI_SCI_EX_RMA_H
#define GASNETI_SCI_EX_RMA_H

/* Stores "complete" at the place of a leaf, unless `lc_opt` is one of the constants. */
GASNETI_SCI_ALWAYS void gasneti_sci_no_leaf(gex_Event_t *lc_opt) {
  if ((uintptr_t)lc_opt > 3) *lc_opt = GEX_EVENT_INVALID;
}

/* ---- puts ---- */
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                                             gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if (!gasneti_sci_near_put(node, dest, src, nbytes))
    return gasneti_sci_put(node, dest, src, nbytes, flags | GASNETI_SCI_FLAG_EX);
  gasneti_sci_tick(nbytes);
  return 0;
}
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_do_ex_put_nb(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                                        size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if ((lc_opt == GEX_EVENT_NOW || !GASNETI_SCI_IS_QUEUED(nbytes)) &&
      gasneti_sci_near_put(node, dest, src, nbytes)) {
    gasneti_sci_no_leaf(lc_opt);
    return GEX_EVENT_INVALID;
  }
  return (gex_Event_t)gasneti_sci_put_nb(node, dest, src, nbytes, (size_t *)(void *)lc_opt, flags | GASNETI_SCI_FLAG_EX);
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_put_nbi(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                                                 gex_Event_t *lc_opt, gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if ((lc_opt == GEX_EVENT_NOW || !GASNETI_SCI_IS_QUEUED(nbytes)) &&
      gasneti_sci_near_put(node, dest, src, nbytes))
    return 0;
  return gasneti_sci_put_nbi(node, dest, src, nbytes, (size_t *)(void *)lc_opt, flags | GASNETI_SCI_FLAG_EX);
}

/* ---- gets ---- */
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_get(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
                                             gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if (!gasneti_sci_near_get(dest, node, src, nbytes))
    return gasneti_sci_get(dest, node, src, nbytes, flags | GASNETI_SCI_FLAG_EX);
  GASNETI_SCI_FENCE_ACQUIRE();
  gasneti_sci_tick(nbytes);
  return 0;
}
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_do_ex_get_nb(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src,
                                                        size_t nbytes, gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if (!GASNETI_SCI_IS_QUEUED(nbytes) && gasneti_sci_near_get(dest, node, src, nbytes))
    return GEX_EVENT_INVALID;
  return (gex_Event_t)gasneti_sci_get_nb(dest, node, src, nbytes, flags | GASNETI_SCI_FLAG_EX);
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_get_nbi(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
                                                 gex_Flags_t flags) {
  const gex_Rank_t node = gasneti_sci_jobrank(tm, rank);
  if (!GASNETI_SCI_IS_QUEUED(nbytes) && gasneti_sci_near_get(dest, node, src, nbytes))
    return 0;
  return gasneti_sci_get_nbi(dest, node, src, nbytes, flags | GASNETI_SCI_FLAG_EX);
}

/* ---- values: 1 to 8 low-order bytes. `far`: as in gasnet_sci_rma.h ---- */
GASNETI_SCI_ALWAYS void gasneti_sci_ex_value(const char *name, size_t nbytes) {
  if_pf (nbytes - 1 >= sizeof(gex_RMA_Value_t)) gasneti_sci_bad_value(name, nbytes);
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_put_val(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                                 size_t nbytes, gex_Flags_t flags) {
  gex_RMA_Value_t far = value;
  gasneti_sci_ex_value("gex_RMA_PutBlockingVal", nbytes);
  if (gasneti_sci_near_put(gasneti_sci_jobrank(tm, rank), dest, GASNETI_SCI_LOW(&value, nbytes), nbytes)) {
    gasneti_sci_tick(nbytes);
    return 0;
  }
  flags |= GASNETI_SCI_FLAG_VALUE;
  return gasneti_sci_do_ex_put(tm, rank, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, flags);
}
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_do_ex_put_nb_val(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                                            size_t nbytes, gex_Flags_t flags) {
  gex_RMA_Value_t far = value;
  gasneti_sci_ex_value("gex_RMA_PutNBVal", nbytes);
  if (gasneti_sci_near_put(gasneti_sci_jobrank(tm, rank), dest, GASNETI_SCI_LOW(&value, nbytes), nbytes)) return GEX_EVENT_INVALID;
  flags |= GASNETI_SCI_FLAG_VALUE;
  return gasneti_sci_do_ex_put_nb(tm, rank, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, GEX_EVENT_NOW, flags);
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_put_nbi_val(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                                     size_t nbytes, gex_Flags_t flags) {
  gex_RMA_Value_t far = value;
  gasneti_sci_ex_value("gex_RMA_PutNBIVal", nbytes);
  if (gasneti_sci_near_put(gasneti_sci_jobrank(tm, rank), dest, GASNETI_SCI_LOW(&value, nbytes), nbytes)) return 0;
  flags |= GASNETI_SCI_FLAG_VALUE;
  return gasneti_sci_do_ex_put_nbi(tm, rank, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, GEX_EVENT_NOW, flags);
}
/* Nothing could report a refusal, so IMMEDIATE is ignored. */
GASNETI_SCI_ALWAYS gex_RMA_Value_t gasneti_sci_do_ex_get_val(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes,
                                                             gex_Flags_t flags) {
  gex_RMA_Value_t value = 0, far = 0;
  gasneti_sci_ex_value("gex_RMA_GetBlockingVal", nbytes);
  if (gasneti_sci_near_get(GASNETI_SCI_LOW(&value, nbytes), gasneti_sci_jobrank(tm, rank), src, nbytes)) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(nbytes);
    return value;
  }
  flags = (flags & ~GEX_FLAG_IMMEDIATE) | GASNETI_SCI_FLAG_VALUE;
  (void)gasneti_sci_do_ex_get(tm, GASNETI_SCI_LOW(&far, nbytes), rank, src, nbytes, flags);
  return far;
}

/* ---- events. A test serves no messages; a wait does ---- */
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_test(gex_Event_t event) {
  if (event == GEX_EVENT_INVALID && GASNETI_SCI_ANY_MAPPED()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    return GASNET_OK;
  }
  return gasneti_sci_ex_test((uintptr_t)event);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_ex_wait(gex_Event_t event) {
  if (event == GEX_EVENT_INVALID && GASNETI_SCI_ANY_MAPPED()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(0);
  } else {
    gasneti_sci_ex_wait((uintptr_t)event);
  }
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_test_array(gex_Event_t *events, size_t n, gex_Flags_t flags, int all) {
  (void)flags;
  return gasneti_sci_ex_test_array((size_t *)(void *)events, n, all);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_ex_wait_array(gex_Event_t *events, size_t n, gex_Flags_t flags, int all) {
  (void)flags;
  gasneti_sci_ex_wait_array((size_t *)(void *)events, n, all);
}
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_do_ex_leaf(gex_Event_t root, gex_EC_t category) {
  if (root == GEX_EVENT_INVALID) return root;
  return (gex_Event_t)gasneti_sci_ex_leaf((uintptr_t)root, category);
}

/* ---- implicit operations. Inline transfers are complete and not counted. The library says once whether others may be in
 * flight (gasneti_sci_queued), and knows whether some are. ---- */
GASNETI_SCI_ALWAYS int gasneti_sci_do_ex_nbi_test(gex_EC_t mask, gex_Flags_t flags) {
  (void)flags;
  if (GASNETI_SCI_ALL_INLINE()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    return GASNET_OK;
  }
  return gasneti_sci_ex_nbi_test(mask);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_ex_nbi_wait(gex_EC_t mask, gex_Flags_t flags) {
  (void)flags;
  if (GASNETI_SCI_ALL_INLINE()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_serve(); /* a wait polls at least once (contract: ex-rma.md section 7) */
  } else {
    gasneti_sci_ex_nbi_wait(mask);
  }
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_ex_begin_region(gex_Flags_t flags) {
  (void)flags;
  gasneti_sci_ex_begin_region();
}
GASNETI_SCI_ALWAYS gex_Event_t gasneti_sci_do_ex_end_region(gex_Flags_t flags) {
  (void)flags;
  return (gex_Event_t)gasneti_sci_ex_end_region();
}

/* ---- the public names. Debug builds first check that the call is legal there, and then the remote range ---- */
#if defined(GASNET_DEBUG)
GASNETI_SCI_INLINE void gasneti_sci_check_ex(const char *name, const char *file, int line, gex_TM_t tm, gex_Rank_t rank,
                                             const void *address, size_t nbytes, int form, gex_Event_t *lc_opt,
                                             gex_Flags_t flags) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_ex_check_transfer(name, tm, rank, address, nbytes, form, (size_t *)(void *)lc_opt, flags);
}
/* One inline wrapper per shape, so that arguments are evaluated once. */
#define GASNETI_SCI_EX_WRAP(ret, fn, declared, address, form, lc_opt, passed)                                        \
  GASNETI_SCI_INLINE ret fn##_checked declared {                                                                     \
    gasneti_sci_check_ex(name, file, line, tm, rank, address, nbytes, form, lc_opt, flags);                          \
    return fn passed;                                                                                                \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_EX_PLACE const char *name, const char *file, int line, gex_TM_t tm
GASNETI_SCI_EX_WRAP(int, gasneti_sci_do_ex_put,
                    (GASNETI_SCI_EX_PLACE, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags),
                    dest, 0, NULL, (tm, rank, dest, src, nbytes, flags));
GASNETI_SCI_EX_WRAP(gex_Event_t, gasneti_sci_do_ex_put_nb,
                    (GASNETI_SCI_EX_PLACE, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt,
                     gex_Flags_t flags),
                    dest, 1, lc_opt, (tm, rank, dest, src, nbytes, lc_opt, flags));
GASNETI_SCI_EX_WRAP(int, gasneti_sci_do_ex_put_nbi,
                    (GASNETI_SCI_EX_PLACE, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt,
                     gex_Flags_t flags),
                    dest, 2, lc_opt, (tm, rank, dest, src, nbytes, lc_opt, flags));
#define GASNETI_SCI_EX_WRAP_GET(ret, fn)                                                                             \
  GASNETI_SCI_EX_WRAP(ret, fn,                                                                                       \
                      (GASNETI_SCI_EX_PLACE, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,            \
                       gex_Flags_t flags),                                                                           \
                      src, 0, NULL, (tm, dest, rank, src, nbytes, flags))
GASNETI_SCI_EX_WRAP_GET(int, gasneti_sci_do_ex_get);
GASNETI_SCI_EX_WRAP_GET(gex_Event_t, gasneti_sci_do_ex_get_nb);
GASNETI_SCI_EX_WRAP_GET(int, gasneti_sci_do_ex_get_nbi);
#define GASNETI_SCI_EX_WRAP_VAL(ret, fn)                                                                             \
  GASNETI_SCI_EX_WRAP(ret, fn,                                                                                       \
                      (GASNETI_SCI_EX_PLACE, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,      \
                       gex_Flags_t flags),                                                                           \
                      dest, 0, NULL, (tm, rank, dest, value, nbytes, flags))
GASNETI_SCI_EX_WRAP_VAL(int, gasneti_sci_do_ex_put_val);
GASNETI_SCI_EX_WRAP_VAL(gex_Event_t, gasneti_sci_do_ex_put_nb_val);
GASNETI_SCI_EX_WRAP_VAL(int, gasneti_sci_do_ex_put_nbi_val);
GASNETI_SCI_EX_WRAP(gex_RMA_Value_t, gasneti_sci_do_ex_get_val,
                    (GASNETI_SCI_EX_PLACE, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags), src, 0, NULL,
                    (tm, rank, src, nbytes, flags));
GASNETI_SCI_TWIN(int, return, gasneti_sci_do_ex_test, (event), gex_Event_t event)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_ex_wait, (event), gex_Event_t event)
GASNETI_SCI_TWIN(int, return, gasneti_sci_do_ex_test_array, (events, n, flags, all), gex_Event_t *events, size_t n, gex_Flags_t flags, int all)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_ex_wait_array, (events, n, flags, all), gex_Event_t *events, size_t n, gex_Flags_t flags, int all)
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_do_ex_leaf, gex_Event_t root, gex_EC_t category) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULE_ATTACHED | GASNETI_SCI_RULES_LOCAL);
  return (gex_Event_t)gasneti_sci_ex_leaf((uintptr_t)root, category);
}
/* Debug builds always call the library, which knows whether an access region is open. */
GASNETI_SCI_WRAP(int, gasneti_sci_do_ex_nbi_test, gex_EC_t mask, gex_Flags_t flags) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  (void)flags;
  return gasneti_sci_ex_nbi_test(mask);
}
GASNETI_SCI_WRAP(void, gasneti_sci_do_ex_nbi_wait, gex_EC_t mask, gex_Flags_t flags) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  (void)flags;
  gasneti_sci_ex_nbi_wait(mask);
}
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_ex_begin_region, (flags), gex_Flags_t flags)
GASNETI_SCI_TWIN(gex_Event_t, return, gasneti_sci_do_ex_end_region, (flags), gex_Flags_t flags)
#endif

/* Variadic, so that one macro of the client may expand to several arguments. */
#define gex_RMA_PutBlocking(...) GASNETI_SCI_PLACED("gex_RMA_PutBlocking", gasneti_sci_do_ex_put, __VA_ARGS__)
#define gex_RMA_PutNB(...) GASNETI_SCI_PLACED("gex_RMA_PutNB", gasneti_sci_do_ex_put_nb, __VA_ARGS__)
#define gex_RMA_PutNBI(...) GASNETI_SCI_PLACED("gex_RMA_PutNBI", gasneti_sci_do_ex_put_nbi, __VA_ARGS__)
#define gex_RMA_GetBlocking(...) GASNETI_SCI_PLACED("gex_RMA_GetBlocking", gasneti_sci_do_ex_get, __VA_ARGS__)
#define gex_RMA_GetNB(...) GASNETI_SCI_PLACED("gex_RMA_GetNB", gasneti_sci_do_ex_get_nb, __VA_ARGS__)
#define gex_RMA_GetNBI(...) GASNETI_SCI_PLACED("gex_RMA_GetNBI", gasneti_sci_do_ex_get_nbi, __VA_ARGS__)
#define gex_RMA_PutBlockingVal(...) GASNETI_SCI_PLACED("gex_RMA_PutBlockingVal", gasneti_sci_do_ex_put_val, __VA_ARGS__)
#define gex_RMA_PutNBVal(...) GASNETI_SCI_PLACED("gex_RMA_PutNBVal", gasneti_sci_do_ex_put_nb_val, __VA_ARGS__)
#define gex_RMA_PutNBIVal(...) GASNETI_SCI_PLACED("gex_RMA_PutNBIVal", gasneti_sci_do_ex_put_nbi_val, __VA_ARGS__)
#define gex_RMA_GetBlockingVal(...) GASNETI_SCI_PLACED("gex_RMA_GetBlockingVal", gasneti_sci_do_ex_get_val, __VA_ARGS__)

#define gex_Event_Test(event) GASNETI_SCI_PLACED("gex_Event_Test", gasneti_sci_do_ex_test, (event))
#define gex_Event_Wait(event) GASNETI_SCI_PLACED("gex_Event_Wait", gasneti_sci_do_ex_wait, (event))
#define GASNETI_SCI_EX_Event_TestSome(events, n, flags)                                                              \
  GASNETI_SCI_PLACED("gex_Event_TestSome", gasneti_sci_do_ex_test_array, (events), (n), (flags), 0)
#define gex_Event_TestSome(...) GASNETI_SCI_EX_Event_TestSome(__VA_ARGS__)
#define GASNETI_SCI_EX_Event_TestAll(events, n, flags)                                                               \
  GASNETI_SCI_PLACED("gex_Event_TestAll", gasneti_sci_do_ex_test_array, (events), (n), (flags), 1)
#define gex_Event_TestAll(...) GASNETI_SCI_EX_Event_TestAll(__VA_ARGS__)
#define GASNETI_SCI_EX_Event_WaitSome(events, n, flags)                                                              \
  GASNETI_SCI_PLACED("gex_Event_WaitSome", gasneti_sci_do_ex_wait_array, (events), (n), (flags), 0)
#define gex_Event_WaitSome(...) GASNETI_SCI_EX_Event_WaitSome(__VA_ARGS__)
#define GASNETI_SCI_EX_Event_WaitAll(events, n, flags)                                                               \
  GASNETI_SCI_PLACED("gex_Event_WaitAll", gasneti_sci_do_ex_wait_array, (events), (n), (flags), 1)
#define gex_Event_WaitAll(...) GASNETI_SCI_EX_Event_WaitAll(__VA_ARGS__)
#define GASNETI_SCI_EX_Event_QueryLeaf(root, category)                                                               \
  GASNETI_SCI_PLACED("gex_Event_QueryLeaf", gasneti_sci_do_ex_leaf, (root), (category))
#define gex_Event_QueryLeaf(...) GASNETI_SCI_EX_Event_QueryLeaf(__VA_ARGS__)

#define GASNETI_SCI_EX_NBI_Test(mask, flags) GASNETI_SCI_PLACED("gex_NBI_Test", gasneti_sci_do_ex_nbi_test, (mask), (flags))
#define gex_NBI_Test(...) GASNETI_SCI_EX_NBI_Test(__VA_ARGS__)
#define GASNETI_SCI_EX_NBI_Wait(mask, flags) GASNETI_SCI_PLACED("gex_NBI_Wait", gasneti_sci_do_ex_nbi_wait, (mask), (flags))
#define gex_NBI_Wait(...) GASNETI_SCI_EX_NBI_Wait(__VA_ARGS__)
#define gex_NBI_BeginAccessRegion(flags)                                                                             \
  GASNETI_SCI_PLACED("gex_NBI_BeginAccessRegion", gasneti_sci_do_ex_begin_region, (flags))
#define gex_NBI_EndAccessRegion(flags)                                                                               \
  GASNETI_SCI_PLACED("gex_NBI_EndAccessRegion", gasneti_sci_do_ex_end_region, (flags))

#endif
