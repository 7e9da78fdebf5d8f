/* Names of GASNet-1 that gasnetex.h alone does not give: start, ranks, limits, locks, no-interrupt sections. Part of
 * gasnet.h. Contract: core.md. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_g1.h"
#endif
#ifndef GASNETI_SCI_G1_H
#define GASNETI_SCI_G1_H

#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8
#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR

/* ---- init, attach ---- */
/* int gasnet_init(int *argc, char ***argv): the first statement of main. It does not change argc and argv, and both
 * may be NULL. */
#define gasnet_init(argc, argv) gasneti_sci_do_init((argc), (argv))
/* int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize, uintptr_t minheapoffset). The table may
 * be a compound literal, whose commas a macro would take for its own. */
GASNETI_SCI_INLINE int gasneti_sci_do_attach(const void *table, int numentries, uintptr_t segsize, uintptr_t minheapoffset) {
  return gasneti_sci_attach((gasneti_sci_handlerentry_t *)(uintptr_t)table, numentries, segsize, minheapoffset);
}
#define gasnet_attach(...) gasneti_sci_do_attach(__VA_ARGS__)

/* The objects of GASNet-EX behind this client; NULL pointers are skipped. */
#define gasnet_QueryGexObjects(client_p, ep_p, tm_p, segment_p)                                                      \
  gasneti_sci_ex_objects((client_p), (ep_p), (tm_p), (segment_p))

/* ---- queries ---- */
#define gasnet_mynode() GASNETI_SCI_AS(gasnet_node_t, gasneti_sci_mynode())
#define gasnet_nodes() GASNETI_SCI_AS(gasnet_node_t, gasneti_sci_nodes())
#define gasnet_AMMaxArgs() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_ARGS)
#define gasnet_AMMaxMedium() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_MEDIUM)
#define gasnet_AMMaxLongRequest() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_LONG)
#define gasnet_AMMaxLongReply() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_LONG)

/* ---- no-interrupt sections: they need no work, because handlers run only inside calls that may poll ---- */
#if defined(GASNET_DEBUG)
#define gasnet_hold_interrupts() gasneti_sci_hold_debug(__FILE__, __LINE__)
#define gasnet_resume_interrupts() gasneti_sci_resume_debug(__FILE__, __LINE__)
#else
#define gasnet_hold_interrupts() ((void)0)
#define gasnet_resume_interrupts() ((void)0)
#endif

/* ---- handler-safe locks ---- */
#define gasnet_hsl_init(hsl) GASNETI_SCI_LOCK_INIT(hsl)
#define gasnet_hsl_destroy(hsl) GASNETI_SCI_LOCK_DESTROY(hsl)
#define gasnet_hsl_lock(hsl) GASNETI_SCI_LOCK_LOCK(hsl)
#define gasnet_hsl_unlock(hsl) GASNETI_SCI_LOCK_UNLOCK(hsl)
#define gasnet_hsl_trylock(hsl) GASNETI_SCI_LOCK_TRYLOCK(hsl)

#endif
