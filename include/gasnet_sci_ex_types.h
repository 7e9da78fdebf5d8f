/* Types and constants of GASNet-EX beside those in gasnet_fwd.h. Part of gasnetex.h. Contract: ex-core.md section 3.
 *
 * An object handle points to the object's public head, which src/api/shared/objects.rs declares. A team pair is no object: it is
 * a number with the lowest bit set, in the type of a team. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_types.h"
#endif
#ifndef GASNETI_SCI_EX_TYPES_H
#define GASNETI_SCI_EX_TYPES_H

/* ---- features ---- */
#define GASNET_MAXEPS 1
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_EP 1
#define GASNET_SUPPORTS_TI_ENTRY 1
#define GASNET_SUPPORTS_TI_IS_REQ 1
#define GASNET_SUPPORTS_TI_IS_LONG 1
#define GASNET_SUPPORTS_AM_CANCEL 20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2 20240906L
#define GASNET_HAVE_MK_CLASS_HOST 1

/* ---- objects ---- */
typedef gasneti_sci_client_object_t *gex_Client_t;
typedef gasneti_sci_ep_t *gex_EP_t;
typedef gasneti_sci_tm_t *gex_TM_t;
typedef gasneti_sci_segment_t *gex_Segment_t;
typedef struct gasneti_sci_mk_s *gex_MK_t;
typedef gasneti_sci_srcdesc_t *gex_AM_SrcDesc_t;
#define GEX_CLIENT_INVALID GASNETI_SCI_AS(gex_Client_t, GASNETI_SCI_AS(uintptr_t, 0))
#define GEX_EP_INVALID GASNETI_SCI_AS(gex_EP_t, GASNETI_SCI_AS(uintptr_t, 0))
#define GEX_TM_INVALID GASNETI_SCI_AS(gex_TM_t, GASNETI_SCI_AS(uintptr_t, 0))
#define GEX_SEGMENT_INVALID GASNETI_SCI_AS(gex_Segment_t, GASNETI_SCI_AS(uintptr_t, 0))
#define GEX_MK_INVALID GASNETI_SCI_AS(gex_MK_t, GASNETI_SCI_AS(uintptr_t, 0))
#define GEX_MK_HOST GASNETI_SCI_AS(gex_MK_t, GASNETI_SCI_AS(uintptr_t, 1))
#define GEX_AM_SRCDESC_NO_OP GASNETI_SCI_AS(gex_AM_SrcDesc_t, GASNETI_SCI_AS(uintptr_t, 0))

/* ---- plain types ---- */
typedef gasnet_handler_t gex_AM_Index_t;
typedef gasnet_handlerarg_t gex_AM_Arg_t;
#if defined(GASNET_USE_STRICT_PROTOTYPES)
typedef void *gex_AM_Fn_t; /* a function with any parameters has no type that is a prototype */
#else
typedef void (*gex_AM_Fn_t)();
#endif
typedef gasnet_token_t gex_Token_t;
typedef gasnet_register_value_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T 8
typedef struct {
  void *gex_addr;
  size_t gex_len;
} gex_Memvec_t;
typedef unsigned int gex_EC_t;
#define GEX_EC_PUT 3u
#define GEX_EC_LC 2u
#define GEX_EC_AM 2u
#define GEX_EC_GET 4u
#define GEX_EC_RMW 8u
#define GEX_EC_ALL (~0u)

/* An object, as an argument of the call `name`. Debug builds end the job if it is none of its sort, or if it has ended. */
#if defined(GASNET_DEBUG)
#define GASNETI_SCI_EX_LIVE(kind, type, MAGIC)                                                                       \
  GASNETI_SCI_INLINE type gasneti_sci_live_##kind(const char *name, const char *file, int line, type object) {       \
    gasneti_sci_check_object(name, file, line, object, GASNETI_SCI_##MAGIC##_MAGIC);                                 \
    return object;                                                                                                   \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_EX_LIVE(Client, gex_Client_t, CLIENT);
GASNETI_SCI_EX_LIVE(EP, gex_EP_t, EP);
GASNETI_SCI_EX_LIVE(TM, gex_TM_t, TM);
GASNETI_SCI_EX_LIVE(Segment, gex_Segment_t, SEGMENT);
#define GASNETI_SCI_LIVE(kind, name, object) gasneti_sci_live_##kind(name, __FILE__, __LINE__, (object))
#else
#define GASNETI_SCI_LIVE(kind, name, object) (object)
#endif

/* The place of `rank` of `tm` in the job. A pair and the primordial team have the job's own ranks. */
GASNETI_SCI_ALWAYS int gasneti_sci_is_pair(gex_TM_t tm) { return (int)((uintptr_t)tm & 1); }
GASNETI_SCI_ALWAYS gex_Rank_t gasneti_sci_jobrank(gex_TM_t tm, gex_Rank_t rank) {
  /* One hint for each test: with one for both, GCC takes a pair for the likely case, and jumps twice for a team. */
  if_pt (!gasneti_sci_is_pair(tm)) {
    if_pf (tm->jobranks != NULL) return tm->jobranks[rank];
  }
  return rank;
}

#endif
