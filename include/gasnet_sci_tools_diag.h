/* The self test. Part of gasnet_sci_tools_lib.h, only after gasnetex.h; contract: tools.md section 15, ex-coll.md section 11. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_diag.h"
#endif
#ifndef GASNETI_SCI_TOOLS_DIAG_H
#define GASNETI_SCI_TOOLS_DIAG_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

/* int gasnett_run_diagnostics(int iters, int threads, const char *sections, ...): runs `iters` rounds of the self test on each
 * of `threads` threads, and returns the number of errors. `sections`: letters of N (numbers), Z (zero counts), S (checksums), T
 * (atomics and locks between threads); NULL: all. It needs no handlers and does not touch the segment, so it ignores the rest:
 *   GASNet-EX: gex_TM_t team, void *myseg, gex_Rank_t peer, void *peerseg, unsigned seed
 *   GASNet-1:  const gasnet_seginfo_t *seginfo */
GASNETI_SCI_INLINE int gasneti_sci_diagnostics4(int iters, int threads, const char *sections, const void *seginfo) {
  (void)seginfo;
  return gasneti_sci_run_diagnostics(iters, threads, sections);
}
GASNETI_SCI_INLINE int gasneti_sci_diagnostics8(int iters, int threads, const char *sections, gex_TM_t team, void *myseg,
                                                gex_Rank_t peer, void *peerseg, unsigned seed) {
  (void)team, (void)myseg, (void)peer, (void)peerseg, (void)seed;
  return gasneti_sci_run_diagnostics(iters, threads, sections);
}
#define GASNETI_SCI_NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define gasnett_run_diagnostics(...)                                                                                 \
  GASNETI_SCI_NINTH(__VA_ARGS__, gasneti_sci_diagnostics8, 7, 6, 5, gasneti_sci_diagnostics4, 3, 2, 1, 0)(__VA_ARGS__)

/* void gasnett_diagnostic_gethandlers(gex_AM_Entry_t **table, int *count): no handlers. GASNet-1: gasnet_handlerentry_t **. */
GASNETI_SCI_INLINE void gasneti_sci_diagnostic_handlers(void *table, int *count) {
  *(void **)table = NULL;
  *count = 0;
}
#define gasnett_diagnostic_gethandlers(table, count)                                                                 \
  gasneti_sci_diagnostic_handlers(GASNETI_SCI_AS(gasneti_sci_memory_t, table), (count))

#endif
