/* Vector, indexed and strided transfers (contract: ex-rma.md section 8, vis.md). Clients include it before, after or instead of
 * gasnetex.h, and before or after gasnet.h. It gives the names of both APIs; those of GASNet-1 are:
 *
 *   gasnet_{put,get}{v,i,s}_bulk        complete at return
 *   gasnet_{put,get}{v,i,s}_nb_bulk     return a gasnet_handle_t
 *   gasnet_{put,get}{v,i,s}_nbi_bulk    join the thread's implicit operations
 * The client may reuse lists, strides and counts at return of every form. Until the operation is synced it must not
 * change the source of a put, and the destination of a get is undefined. Not allowed in handlers, nor while the
 * thread holds a lock.
 *
 * Prototypes (void for _bulk and _nbi_bulk; the library's are in gasnet_sci_abi.h):
 *   gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[],
 *                                       size_t srccount, gasnet_memvec_t const srclist[]);
 *   gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode,
 *                                       size_t srccount, gasnet_memvec_t const srclist[]);
 *   gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount, void * const dstlist[], size_t dstlen,
 *                                       size_t srccount, void * const srclist[], size_t srclen);
 *   gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void * const dstlist[], size_t dstlen, gasnet_node_t srcnode,
 *                                       size_t srccount, void * const srclist[], size_t srclen);
 *   gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], void *srcaddr,
 *                                       const size_t srcstrides[], const size_t count[], size_t stridelevels);
 *   gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, void *srcaddr,
 *                                       const size_t srcstrides[], const size_t count[], size_t stridelevels); */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

#include "gasnetex.h"

#define GASNETI_SCI_IN_VIS_H 1
#ifdef __cplusplus
extern "C" {
#endif
GASNETI_SCI_BEGIN_C
#include "gasnet_sci_vis.h"
#include "gasnet_sci_ex_vis.h"
GASNETI_SCI_END_C
#ifdef __cplusplus
}
#endif
#undef GASNETI_SCI_IN_VIS_H
/* A call of GASNet-1 has no team, and no flags. */
#define GASNETI_SCI_VIS(name, verb, form, ...)                                                                       \
  GASNETI_SCI_PLACED(name, gasneti_sci_do_##verb, GASNETI_SCI_VIS_HOW((form) | GASNETI_SCI_VIS_G1), NULL, __VA_ARGS__, 0)

/* The arguments are the macro's variable ones, so that a list may be written in place, with commas. */
#define GASNETI_SCI_VIS_BULK(name, verb, ...)                                                                        \
  ((void)GASNETI_SCI_VIS(name, verb, GASNETI_SCI_VIS_BLOCKING, __VA_ARGS__), gasneti_sci_tick(0))
#define GASNETI_SCI_VIS_NB_BULK(name, verb, ...)                                                                     \
  GASNETI_SCI_AS(gasnet_handle_t,                                                                                    \
                 GASNETI_SCI_AS(uintptr_t, GASNETI_SCI_VIS(name, verb, GASNETI_SCI_VIS_NB, __VA_ARGS__)))
#define GASNETI_SCI_VIS_NBI_BULK(name, verb, ...) ((void)GASNETI_SCI_VIS(name, verb, GASNETI_SCI_VIS_NBI, __VA_ARGS__))

#define gasnet_putv_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_putv_bulk", putv, __VA_ARGS__)
#define gasnet_putv_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_putv_nb_bulk", putv, __VA_ARGS__)
#define gasnet_putv_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_putv_nbi_bulk", putv, __VA_ARGS__)
#define gasnet_getv_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_getv_bulk", getv, __VA_ARGS__)
#define gasnet_getv_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_getv_nb_bulk", getv, __VA_ARGS__)
#define gasnet_getv_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_getv_nbi_bulk", getv, __VA_ARGS__)

#define gasnet_puti_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_puti_bulk", puti, __VA_ARGS__)
#define gasnet_puti_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_puti_nb_bulk", puti, __VA_ARGS__)
#define gasnet_puti_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_puti_nbi_bulk", puti, __VA_ARGS__)
#define gasnet_geti_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_geti_bulk", geti, __VA_ARGS__)
#define gasnet_geti_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_geti_nb_bulk", geti, __VA_ARGS__)
#define gasnet_geti_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_geti_nbi_bulk", geti, __VA_ARGS__)

#define gasnet_puts_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_puts_bulk", puts, __VA_ARGS__)
#define gasnet_puts_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_puts_nb_bulk", puts, __VA_ARGS__)
#define gasnet_puts_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_puts_nbi_bulk", puts, __VA_ARGS__)
#define gasnet_gets_bulk(...) GASNETI_SCI_VIS_BULK("gasnet_gets_bulk", gets, __VA_ARGS__)
#define gasnet_gets_nb_bulk(...) GASNETI_SCI_VIS_NB_BULK("gasnet_gets_nb_bulk", gets, __VA_ARGS__)
#define gasnet_gets_nbi_bulk(...) GASNETI_SCI_VIS_NBI_BULK("gasnet_gets_nbi_bulk", gets, __VA_ARGS__)

#endif
