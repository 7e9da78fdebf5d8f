/* gasnet-sci: the constants and scalar types of GASNet-EX alone, for headers that must not see the rest.
 * Contract: ex-core.md sections 1, 3; ex-rma.md section 1; ex-coll.md sections 1, 2.
 *
 * Needs no macro of the client's and nothing but stdint.h. Every name begins with gex_, GEX_ or _GEX_. */
#ifndef _GASNET_FWD_H
#define _GASNET_FWD_H
#include <stdint.h>

/* A cast in a constant that clients use. In C++ it has the form type(value), of which no compiler warns. */
#if defined(__cplusplus)
#define _GEX_AS(type, value) (type(value))
#else
#define _GEX_AS(type, value) ((type)(value))
#endif

/* ---- processes and endpoints ---- */
typedef uint32_t gex_Rank_t;
#define GEX_RANK_INVALID (~_GEX_AS(gex_Rank_t, 0))
typedef uint16_t gex_EP_Index_t;
typedef struct {
  gex_Rank_t gex_rank;
  gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;
typedef void *gex_Addr_t;
typedef uint32_t gex_EP_Capabilities_t;
#define GEX_EP_CAPABILITY_RMA (1u << 0)
#define GEX_EP_CAPABILITY_AM (1u << 1)
#define GEX_EP_CAPABILITY_VIS (1u << 2)
#define GEX_EP_CAPABILITY_COLL (1u << 3)
#define GEX_EP_CAPABILITY_AD (1u << 4)
#define GEX_EP_CAPABILITY_ALL 31u

/* ---- events ---- */
typedef struct _gex_Event_s *gex_Event_t; /* all zero: complete */
typedef gex_Event_t *_gex_Event_p;
#define GEX_EVENT_INVALID _GEX_AS(gex_Event_t, _GEX_AS(uintptr_t, 0))
#define GEX_EVENT_NO_OP _GEX_AS(gex_Event_t, _GEX_AS(uintptr_t, 1))
#define GEX_EVENT_NOW _GEX_AS(_gex_Event_p, _GEX_AS(uintptr_t, 1))
#define GEX_EVENT_DEFER _GEX_AS(_gex_Event_p, _GEX_AS(uintptr_t, 2))
#define GEX_EVENT_GROUP _GEX_AS(_gex_Event_p, _GEX_AS(uintptr_t, 3))

/* ---- flags, by the calls that take them. Flags of one call have bits of their own; groups overlap ---- */
typedef uint32_t gex_Flags_t;
/* communication */
#define GEX_FLAG_IMMEDIATE (1u << 0)
#define GEX_FLAG_SELF_SEG_UNKNOWN (1u << 3)
#define GEX_FLAG_SELF_SEG_SOME (1u << 4)
#define GEX_FLAG_SELF_SEG_BOUND (1u << 5)
#define GEX_FLAG_SELF_SEG_OFFSET (1u << 6)
#define GEX_FLAG_PEER_SEG_UNKNOWN (1u << 7)
#define GEX_FLAG_PEER_SEG_SOME (1u << 8)
#define GEX_FLAG_PEER_SEG_BOUND (1u << 9)
#define GEX_FLAG_PEER_SEG_OFFSET (1u << 10)
#define GEX_FLAG_ENABLE_LEAF_LC (1u << 11)
#define GEX_FLAG_PEER_NEVER_NBRHD (1u << 14)
#define GEX_FLAG_PEER_NEVER_SELF (1u << 15)
/* limits of Active Messages */
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1u << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC (1u << 12)
/* registration of handlers */
#define GEX_FLAG_AM_SHORT (1u << 0)
#define GEX_FLAG_AM_MEDIUM (1u << 1)
#define GEX_FLAG_AM_LONG (1u << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1u << 3)
#define GEX_FLAG_AM_REPLY (1u << 4)
#define GEX_FLAG_AM_REQREP (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)
/* gex_Client_Init */
#define GEX_FLAG_USES_GASNET1 (1u << 0)
#define GEX_FLAG_DEFER_THREADS (1u << 1)
/* gex_EP_Create */
#define GEX_FLAG_HINT_ACCEL_AD (1u << 0)
#define GEX_FLAG_HINT_ACCEL_COLL (1u << 1)
#define GEX_FLAG_HINT_ACCEL_ALL 3u
/* teams */
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN (1u << 0)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1u << 1)
#define GEX_FLAG_TM_GLOBAL_SCRATCH (1u << 2)
#define GEX_FLAG_TM_LOCAL_SCRATCH (1u << 3)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH (1u << 4)
#define GEX_FLAG_TM_NO_SCRATCH (1u << 5)
#define GEX_FLAG_SCRATCH_SEG_OFFSET (1u << 6)
#define GEX_FLAG_GLOBALLY_QUIESCED (1u << 13)
#define GEX_FLAG_RANK_IS_JOBRANK (1u << 13)
/* atomic operations, and gex_AD_Create */
#define GEX_FLAG_AD_REL (1u << 1)
#define GEX_FLAG_AD_ACQ (1u << 2)
#define GEX_FLAG_AD_MY_RANK (1u << 11)
#define GEX_FLAG_AD_MY_NBRHD (1u << 12)
#define GEX_FLAG_AD_FAVOR_MY_RANK (1u << 0)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD (1u << 1)
#define GEX_FLAG_AD_FAVOR_REMOTE (1u << 2)

/* ---- data types and operations ---- */
typedef uint32_t gex_DT_t;
#define GEX_DT_I32 (1u << 0)
#define GEX_DT_U32 (1u << 1)
#define GEX_DT_I64 (1u << 2)
#define GEX_DT_U64 (1u << 3)
#define GEX_DT_FLT (1u << 4)
#define GEX_DT_DBL (1u << 5)
#define GEX_DT_USER (1u << 6)
typedef uint32_t gex_OP_t;
#define GEX_OP_AND (1u << 0)
#define GEX_OP_OR (1u << 1)
#define GEX_OP_XOR (1u << 2)
#define GEX_OP_ADD (1u << 3)
#define GEX_OP_SUB (1u << 4)
#define GEX_OP_MULT (1u << 5)
#define GEX_OP_MIN (1u << 6)
#define GEX_OP_MAX (1u << 7)
#define GEX_OP_INC (1u << 8)
#define GEX_OP_DEC (1u << 9)
#define GEX_OP_SET (1u << 10)
#define GEX_OP_CAS (1u << 11)
#define GEX_OP_FAND (1u << 15)
#define GEX_OP_FOR (1u << 16)
#define GEX_OP_FXOR (1u << 17)
#define GEX_OP_FADD (1u << 18)
#define GEX_OP_FSUB (1u << 19)
#define GEX_OP_FMULT (1u << 20)
#define GEX_OP_FMIN (1u << 21)
#define GEX_OP_FMAX (1u << 22)
#define GEX_OP_FINC (1u << 23)
#define GEX_OP_FDEC (1u << 24)
#define GEX_OP_SWAP (1u << 25)
#define GEX_OP_FCAS (1u << 26)
#define GEX_OP_CSWAP GEX_OP_FCAS /* its older name */
#define GEX_OP_GET (1u << 27)
#define GEX_OP_USER (1u << 30)
#define GEX_OP_USER_NC (1u << 31)
/* The operation that also fetches the old value, and back. */
#define GEX_OP_TO_FETCHING(op) ((op) << 15)
#define GEX_OP_TO_NONFETCHING(op) ((op) >> 15)

#endif
