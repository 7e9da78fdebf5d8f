/* Constants and types of the Core and Extended API. Part of gasnet.h.
 * Contract: core.md sections 2, 3; extended.md section 12. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_types.h"
#endif
#ifndef GASNETI_SCI_TYPES_H
#define GASNETI_SCI_TYPES_H

/* ---- identity ---- */
#define GEX_SPEC_VERSION_MAJOR GASNETI_EX_SPEC_VERSION_MAJOR
#define GEX_SPEC_VERSION_MINOR GASNETI_EX_SPEC_VERSION_MINOR
#define GASNET_CONDUIT_NAME SCI
#define GASNET_CONDUIT_NAME_STR "SCI"
#undef GASNET_CONDUIT_SCI
#define GASNET_CONDUIT_SCI 1
#undef GASNET_SCI_CONDUIT
#define GASNET_SCI_CONDUIT 1
#define GASNET_CORE_NAME SCI
#define GASNET_CORE_NAME_STR "SCI"
#define GASNET_CORE_VERSION 0.3
#define GASNET_CORE_VERSION_STR "0.3"
#define GASNET_EXTENDED_NAME SCI
#define GASNET_EXTENDED_NAME_STR "SCI"
#define GASNET_EXTENDED_VERSION 0.3
#define GASNET_EXTENDED_VERSION_STR "0.3"

#if defined(GASNET_SEGMENT_EVERYTHING)
#define GASNETI_SCI_PSHM_STR "nopshm"
#else
#define GASNETI_SCI_PSHM_STR "pshm"
#endif
#if defined(GASNET_DEBUGMALLOC) && GASNET_DEBUGMALLOC + 0
#define GASNETI_SCI_MALLOC_STR "debugmalloc"
#else
#define GASNETI_SCI_MALLOC_STR "nodebugmalloc"
#endif
#define GASNET_CONFIG_STRING                                                                                         \
  "RELEASE=" GASNETI_SCI_RELEASE_STR ",SPEC=" GASNETI_SCI_STRING(GEX_SPEC_VERSION_MAJOR) "."                         \
  GASNETI_SCI_STRING(GEX_SPEC_VERSION_MINOR)                                                                         \
  ",CONDUIT=" GASNETI_SCI_CONDUIT_STR "(SCI-" GASNET_CORE_VERSION_STR "/SCI-" GASNET_EXTENDED_VERSION_STR ")"        \
  ",THREADMODEL=" GASNETI_SCI_THREADS_STR ",SEGMENT=" GASNETI_SCI_SEGMENT_STR ",PTR=64bit,CACHE_LINE_BYTES="         \
  GASNETI_SCI_STRING(GASNETI_SCI_CACHE_LINE_BYTES) ",noalign,"                                                       \
  GASNETI_SCI_PSHM_STR "," GASNETI_SCI_DEBUG_STR ",trace,stats," GASNETI_SCI_MALLOC_STR ",srclines,"                        \
  GASNETI_SCI_PRIMITIVES_STR ",notiopt"

/* Traces, statistics and their line numbers are in every build; GASNET_TRACEFILE and GASNET_STATSFILE switch them on. */
#undef GASNET_TRACE
#define GASNET_TRACE 1
#undef GASNET_STATS
#define GASNET_STATS 1
#undef GASNET_SRCLINES
#define GASNET_SRCLINES 1

/* ---- sizes and capabilities ---- */
#define GASNET_MAXNODES 65536
#define GASNET_ALIGNED_SEGMENTS 0 /* one address space, but each node's segment has its own address */
#if defined(GASNET_SEGMENT_EVERYTHING)
#define GASNET_PSHM 0 /* other nodes' memory is not mapped */
#else
#define GASNET_PSHM 1
#define GASNETI_PSHM_ENABLED 1
#endif
#define GASNET_NULL_ARGV_OK 1
#define SIZEOF_GASNET_REGISTER_VALUE_T 8
/* The number of client threads per node that client sources use in array bounds. The library itself has no such limit. */
#if defined(GASNET_SEQ)
#define GASNETI_MAX_THREADS 1
#else
#define GASNETI_MAX_THREADS 256
#endif

/* ---- values used in calls; also usable in #if ---- */
#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_IMAGES 4
#define GASNET_BARRIERFLAG_UNNAMED 9

#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2

/* ---- types ---- */
typedef uint32_t gasnet_node_t;
typedef uint8_t gasnet_handler_t;
typedef int32_t gasnet_handlerarg_t;
typedef void *gasnet_token_t;
typedef uint64_t gasnet_register_value_t;
typedef void *gasnet_threadinfo_t;
typedef uint32_t gasnet_image_t;

/* Clients write tables as { 201, my_handler }, with handlers of many prototypes and without a cast. In C23 an empty
 * parameter list means "no parameters", so the member is a plain pointer there, and where the client asks for it. */
typedef struct {
  gasnet_handler_t index;
#if defined(GASNET_USE_STRICT_PROTOTYPES) || (!defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
  void *fnptr;
#else
  void (*fnptr)();
#endif
} gasnet_handlerentry_t;

typedef struct {
  void *addr;
  size_t len;
} gasnet_memvec_t;

#define GASNET_HSL_INITIALIZER                                                                                       \
  { 0, GASNETI_SCI_HSL_STATIC, NULL, 0, NULL, 0, NULL, 0 }

#endif
