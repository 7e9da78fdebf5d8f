/* GASNet-EX: start, job queries, objects, team translation, locks. Part of gasnetex.h. Contract: ex-core.md sections 4-7, 15, 16. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_job.h"
#endif
#ifndef GASNETI_SCI_EX_JOB_H
#define GASNETI_SCI_EX_JOB_H

/* ---- start ---- */
GASNETI_SCI_INLINE int gasneti_sci_do_ex_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
                                              int *argc, char ***argv, gex_Flags_t flags) {
  gasneti_sci_client_t client;
  (void)argc, (void)argv; /* the library takes no arguments from the command line */
  client.modes = GASNETI_SCI_MODES;
  client.config = GASNET_CONFIG_STRING;
  client.max_segsize = &gasnet_max_segsize; /* the client's own, if it defines one */
  client.idents = gasneti_sci_idents();
  client.max_segsize_str = &gasnet_max_segsize_str;
  return gasneti_sci_ex_init(&client, name, flags, client_p, ep_p, tm_p);
}
/* int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *clientName, int *argc,
 *                     char ***argv, gex_Flags_t flags): joins the job; messages flow when it returns. */
#define GASNETI_SCI_EX_Client_Init(client_p, ep_p, tm_p, name, argc, argv, flags)                                    \
  gasneti_sci_do_ex_init((client_p), (ep_p), (tm_p), (name), (argc), (argv), (flags))
#define gex_Client_Init(...) GASNETI_SCI_EX_Client_Init(__VA_ARGS__)

/* ---- the job: allowed from init on, anywhere ---- */
typedef gasneti_sci_rank_info_t const gex_RankInfo_t; /* has gex_jobrank */
#define gex_System_QueryJobRank() GASNETI_SCI_AS(gex_Rank_t, gasneti_sci_mynode())
#define gex_System_QueryJobSize() GASNETI_SCI_AS(gex_Rank_t, gasneti_sci_nodes())
GASNETI_SCI_INLINE void gasneti_sci_do_near(int host, gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p) {
  gasneti_sci_ex_near(host, info_p, count_p, index_p);
}
#define GASNETI_SCI_EX_System_QueryNbrhdInfo(info_p, count_p, index_p) gasneti_sci_do_near(0, (info_p), (count_p), (index_p))
#define gex_System_QueryNbrhdInfo(...) GASNETI_SCI_EX_System_QueryNbrhdInfo(__VA_ARGS__)
#define GASNETI_SCI_EX_System_QueryHostInfo(info_p, count_p, index_p) gasneti_sci_do_near(1, (info_p), (count_p), (index_p))
#define gex_System_QueryHostInfo(...) GASNETI_SCI_EX_System_QueryHostInfo(__VA_ARGS__)
#define GASNETI_SCI_EX_System_QueryMyPosition(nbrhds, nbrhd, hosts, host) gasneti_sci_ex_position((nbrhds), (nbrhd), (hosts), (host))
#define gex_System_QueryMyPosition(...) GASNETI_SCI_EX_System_QueryMyPosition(__VA_ARGS__)
#if defined(GASNET_SEQ)
#define gex_System_QueryMaxThreads() GASNETI_SCI_AS(uint64_t, 1)
#else
#define gex_System_QueryMaxThreads() gasneti_sci_ex_max_threads()
#endif
#define gex_System_QueryHiddenAMConcurrencyLevel() 0
#define gex_System_GetVerboseErrors() gasneti_sci_ex_verbose_errors()
#define gex_System_SetVerboseErrors(enable) gasneti_sci_ex_set_verbose_errors(enable)

/* Threads of the library that the client may run itself: there are none. */
typedef struct {
  const char *gex_device_list;
  unsigned int gex_thread_roles;
  void *(*gex_progress_fn)(void *);
  void *gex_progress_arg;
} gex_ProgressThreadInfo_t;
#define GEX_THREAD_ROLE_RCV 1u
#define GEX_THREAD_ROLE_SND 2u
GASNETI_SCI_INLINE int gasneti_sci_do_progress_threads(gex_Client_t client, unsigned int *count_p,
                                                       const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags) {
  return gasneti_sci_ex_progress_threads(client, count_p, (const void **)(void *)info_p, flags);
}
#define GASNETI_SCI_EX_System_QueryProgressThreads(client, count_p, info_p, flags)                                   \
  gasneti_sci_do_progress_threads((client), (count_p), (info_p), (flags))
#define gex_System_QueryProgressThreads(...) GASNETI_SCI_EX_System_QueryProgressThreads(__VA_ARGS__)

/* ---- objects. CData: the client's own pointer, NULL at first ---- */
#define GASNETI_SCI_EX_CDATA(kind)                                                                                   \
  GASNETI_SCI_INLINE void gasneti_sci_set_##kind##_cdata(gex_##kind##_t object, const void *val) {                   \
    object->cdata = (void *)(uintptr_t)val;                                                                          \
  }                                                                                                                  \
  GASNETI_SCI_INLINE void *gasneti_sci_##kind##_cdata(gex_##kind##_t object) { return object->cdata; }              \
  struct gasneti_sci_semicolon
GASNETI_SCI_EX_CDATA(Client);
GASNETI_SCI_EX_CDATA(EP);
GASNETI_SCI_EX_CDATA(TM);
GASNETI_SCI_EX_CDATA(Segment);
#define GASNETI_SCI_EX_Client_SetCData(object, val) gasneti_sci_set_Client_cdata(GASNETI_SCI_LIVE(Client, "gex_Client_SetCData", object), (val))
#define gex_Client_SetCData(...) GASNETI_SCI_EX_Client_SetCData(__VA_ARGS__)
#define GASNETI_SCI_EX_EP_SetCData(object, val) gasneti_sci_set_EP_cdata(GASNETI_SCI_LIVE(EP, "gex_EP_SetCData", object), (val))
#define gex_EP_SetCData(...) GASNETI_SCI_EX_EP_SetCData(__VA_ARGS__)
#define GASNETI_SCI_EX_TM_SetCData(object, val) gasneti_sci_set_TM_cdata(GASNETI_SCI_LIVE(TM, "gex_TM_SetCData", object), (val))
#define gex_TM_SetCData(...) GASNETI_SCI_EX_TM_SetCData(__VA_ARGS__)
#define GASNETI_SCI_EX_Segment_SetCData(object, val) gasneti_sci_set_Segment_cdata(GASNETI_SCI_LIVE(Segment, "gex_Segment_SetCData", object), (val))
#define gex_Segment_SetCData(...) GASNETI_SCI_EX_Segment_SetCData(__VA_ARGS__)
#define gex_Client_QueryCData(object) gasneti_sci_Client_cdata(GASNETI_SCI_LIVE(Client, "gex_Client_QueryCData", object))
#define gex_EP_QueryCData(object) gasneti_sci_EP_cdata(GASNETI_SCI_LIVE(EP, "gex_EP_QueryCData", object))
#define gex_TM_QueryCData(object) gasneti_sci_TM_cdata(GASNETI_SCI_LIVE(TM, "gex_TM_QueryCData", object))
#define gex_Segment_QueryCData(object) gasneti_sci_Segment_cdata(GASNETI_SCI_LIVE(Segment, "gex_Segment_QueryCData", object))

#define GASNETI_SCI_EX_QUERY(type, name, kind, field)                                                                \
  GASNETI_SCI_INLINE type gasneti_sci_##name(gex_##kind##_t object) { return (type)object->field; }                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_EX_QUERY(const char *, client_name, Client, name);
GASNETI_SCI_EX_QUERY(gex_Flags_t, client_flags, Client, flags);
GASNETI_SCI_EX_QUERY(gex_Client_t, ep_client, EP, client);
GASNETI_SCI_EX_QUERY(gex_Flags_t, ep_flags, EP, flags);
GASNETI_SCI_EX_QUERY(gex_Segment_t, ep_segment, EP, segment);
GASNETI_SCI_EX_QUERY(gex_EP_Index_t, ep_index, EP, index);
GASNETI_SCI_EX_QUERY(gex_EP_t, tm_ep, TM, ep);
GASNETI_SCI_EX_QUERY(gex_Flags_t, tm_flags, TM, flags);
GASNETI_SCI_EX_QUERY(gex_Rank_t, tm_rank, TM, rank);
GASNETI_SCI_EX_QUERY(gex_Rank_t, tm_size, TM, size);
GASNETI_SCI_EX_QUERY(gex_Client_t, segment_client, Segment, client);
GASNETI_SCI_EX_QUERY(gex_Flags_t, segment_flags, Segment, flags);
GASNETI_SCI_EX_QUERY(void *, segment_addr, Segment, addr);
GASNETI_SCI_EX_QUERY(uintptr_t, segment_size, Segment, size);
#define gex_Client_QueryName(object) gasneti_sci_client_name(GASNETI_SCI_LIVE(Client, "gex_Client_QueryName", object))
#define gex_Client_QueryFlags(object) gasneti_sci_client_flags(GASNETI_SCI_LIVE(Client, "gex_Client_QueryFlags", object))
#define gex_EP_QueryClient(object) gasneti_sci_ep_client(GASNETI_SCI_LIVE(EP, "gex_EP_QueryClient", object))
#define gex_EP_QueryFlags(object) gasneti_sci_ep_flags(GASNETI_SCI_LIVE(EP, "gex_EP_QueryFlags", object))
#define gex_EP_QuerySegment(object) gasneti_sci_ep_segment(GASNETI_SCI_LIVE(EP, "gex_EP_QuerySegment", object))
#define gex_EP_QueryIndex(object) gasneti_sci_ep_index(GASNETI_SCI_LIVE(EP, "gex_EP_QueryIndex", object))
#define gex_TM_QueryClient(object)                                                                                   \
  gasneti_sci_ep_client(gasneti_sci_tm_ep(GASNETI_SCI_LIVE(TM, "gex_TM_QueryClient", object)))
#define gex_TM_QueryEP(object) gasneti_sci_tm_ep(GASNETI_SCI_LIVE(TM, "gex_TM_QueryEP", object))
#define gex_TM_QueryFlags(object) gasneti_sci_tm_flags(GASNETI_SCI_LIVE(TM, "gex_TM_QueryFlags", object))
#define gex_TM_QueryRank(object) gasneti_sci_tm_rank(GASNETI_SCI_LIVE(TM, "gex_TM_QueryRank", object))
#define gex_TM_QuerySize(object) gasneti_sci_tm_size(GASNETI_SCI_LIVE(TM, "gex_TM_QuerySize", object))
#define gex_Segment_QueryClient(object) gasneti_sci_segment_client(GASNETI_SCI_LIVE(Segment, "gex_Segment_QueryClient", object))
#define gex_Segment_QueryFlags(object) gasneti_sci_segment_flags(GASNETI_SCI_LIVE(Segment, "gex_Segment_QueryFlags", object))
#define gex_Segment_QueryAddr(object) gasneti_sci_segment_addr(GASNETI_SCI_LIVE(Segment, "gex_Segment_QueryAddr", object))
#define gex_Segment_QuerySize(object) gasneti_sci_segment_size(GASNETI_SCI_LIVE(Segment, "gex_Segment_QuerySize", object))

/* ---- segments and endpoints (ex-core.md section 8). All but the queries are collective or local, as said there ---- */
#define GASNETI_SCI_EX_Segment_Attach(segment_p, tm, length)                                                         \
  GASNETI_SCI_CHECKED("gex_Segment_Attach", GASNETI_SCI_RULES_STATUS, gasneti_sci_segment_attach((segment_p), (tm), (length)))
#define gex_Segment_Attach(...) GASNETI_SCI_EX_Segment_Attach(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_do_segment_create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address,
                                             uintptr_t length, gex_MK_t kind, gex_Flags_t flags) {
  return gasneti_sci_segment_create(segment_p, client, address, length, (uintptr_t)kind, flags);
}
#define GASNETI_SCI_EX_Segment_Create(segment_p, client, address, length, kind, flags)                               \
  GASNETI_SCI_CHECKED("gex_Segment_Create", GASNETI_SCI_RULES_LOCAL,                                                 \
                      gasneti_sci_do_segment_create((segment_p), (client), (address), (length), (kind), (flags)))
#define gex_Segment_Create(...) GASNETI_SCI_EX_Segment_Create(__VA_ARGS__)
#define GASNETI_SCI_EX_Segment_Destroy(segment, flags)                                                               \
  GASNETI_SCI_CHECKED("gex_Segment_Destroy", GASNETI_SCI_RULES_LOCAL, gasneti_sci_segment_destroy((segment), (flags)))
#define gex_Segment_Destroy(...) GASNETI_SCI_EX_Segment_Destroy(__VA_ARGS__)
#define GASNETI_SCI_EX_EP_Create(ep_p, client, capabilities, flags)                                                  \
  GASNETI_SCI_CHECKED("gex_EP_Create", GASNETI_SCI_RULES_LOCAL,                                                      \
                      gasneti_sci_ep_create((ep_p), (client), (capabilities), (flags)))
#define gex_EP_Create(...) GASNETI_SCI_EX_EP_Create(__VA_ARGS__)
#define GASNETI_SCI_EX_EP_BindSegment(ep, segment, flags)                                                            \
  GASNETI_SCI_CHECKED("gex_EP_BindSegment", GASNETI_SCI_RULES_LOCAL, gasneti_sci_ep_bind((ep), (segment), (flags)))
#define gex_EP_BindSegment(...) GASNETI_SCI_EX_EP_BindSegment(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_do_publish(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags) {
  return gasneti_sci_ep_publish(tm, eps, num_eps, flags);
}
#define GASNETI_SCI_EX_EP_PublishBoundSegment(tm, eps, num_eps, flags)                                               \
  GASNETI_SCI_CHECKED("gex_EP_PublishBoundSegment", GASNETI_SCI_RULES_STATUS,                                        \
                      gasneti_sci_do_publish((tm), (eps), (num_eps), (flags)))
#define gex_EP_PublishBoundSegment(...) GASNETI_SCI_EX_EP_PublishBoundSegment(__VA_ARGS__)
/* The answer is always there at return. */
GASNETI_SCI_INLINE gex_Event_t gasneti_sci_query_bound(gex_TM_t tm, gex_Rank_t rank, void **owner_p, void **local_p,
                                                       uintptr_t *size_p, gex_Flags_t flags) {
  size_t size = 0;
  (void)flags;
  (void)gasneti_sci_bound_segment(tm, rank, owner_p, local_p, &size);
  if (size_p != NULL) *size_p = size;
  return GEX_EVENT_INVALID;
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_query_bound, gex_TM_t tm, gex_Rank_t rank, void **owner_p, void **local_p,
                 uintptr_t *size_p, gex_Flags_t flags) {
  /* With GEX_FLAG_IMMEDIATE it is a query like others. */
  gasneti_sci_check(name, file, line, flags & GEX_FLAG_IMMEDIATE ? 0 : GASNETI_SCI_RULES_LOCAL);
  return gasneti_sci_query_bound(tm, rank, owner_p, local_p, size_p, flags);
}
#endif
#define GASNETI_SCI_EX_EP_QueryBoundSegmentNB(tm, rank, owner_p, local_p, size_p, flags)                             \
  GASNETI_SCI_PLACED("gex_EP_QueryBoundSegmentNB", gasneti_sci_query_bound, (tm), (rank), (owner_p), (local_p), (size_p), (flags))
#define gex_EP_QueryBoundSegmentNB(...) GASNETI_SCI_EX_EP_QueryBoundSegmentNB(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_segment_query_bound(gex_TM_t tm, gex_Rank_t rank, void **owner_p, void **local_p,
                                                       uintptr_t *size_p) {
  /* The library writes the size, and writes nothing where there is none. A compiler that saw the two ways here would warn clients whose
   * variable is set on one of them only. */
  return !gasneti_sci_bound_segment(tm, rank, owner_p, local_p, (size_t *)size_p);
}
#define GASNETI_SCI_EX_Segment_QueryBound(tm, rank, owner_p, local_p, size_p)                                        \
  GASNETI_SCI_CHECKED("gex_Segment_QueryBound", GASNETI_SCI_RULES_LOCAL,                                             \
                      gasneti_sci_segment_query_bound((tm), (rank), (owner_p), (local_p), (size_p)))
#define gex_Segment_QueryBound(...) GASNETI_SCI_EX_Segment_QueryBound(__VA_ARGS__)

/* ---- handler-safe locks: those of GASNet-1 under other names ---- */
typedef gasnet_hsl_t gex_HSL_t;
#define GEX_HSL_INITIALIZER GASNET_HSL_INITIALIZER
#define gex_HSL_Init(hsl) GASNETI_SCI_LOCK_INIT(hsl)
#define gex_HSL_Destroy(hsl) GASNETI_SCI_LOCK_DESTROY(hsl)
#define gex_HSL_Lock(hsl) GASNETI_SCI_LOCK_LOCK(hsl)
#define gex_HSL_Unlock(hsl) GASNETI_SCI_LOCK_UNLOCK(hsl)
#define gex_HSL_Trylock(hsl) GASNETI_SCI_LOCK_TRYLOCK(hsl)

#endif
