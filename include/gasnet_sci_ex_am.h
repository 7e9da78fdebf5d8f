/* GASNet-EX: Active Messages of fixed payload, limits, tokens, handlers. Part of gasnetex.h. Contract: ex-core.md sections 9-11,
 * 13, 14.
 *
 * The numbered names forward to one inline function per number of argument words, which sends a Short
 * of one line itself, and otherwise calls the library. A name without a number counts the arguments behind its flags. A message is sent when the call
 * returns 0. Not 0: GEX_FLAG_IMMEDIATE was given, there was no room, and nothing was done. Payloads are taken at once, so local
 * completion never comes later. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_am.h"
#endif
#ifndef GASNETI_SCI_EX_AM_H
#define GASNETI_SCI_EX_AM_H

/* ---- handlers ---- */
#define GEX_AM_INDEX_BASE 128
typedef struct {
  gex_AM_Index_t gex_index;
  gex_AM_Fn_t gex_fnptr;
  gex_Flags_t gex_flags;
  unsigned int gex_nargs;
  const void *gex_cdata;
  const char *gex_name;
} gex_AM_Entry_t;
GASNETI_SCI_INLINE int gasneti_sci_do_register(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries) {
  return gasneti_sci_ep_register(ep, (gasneti_sci_am_entry_t *)(void *)table, numentries);
}
/* The table may be a compound literal, whose commas a macro would take for its own. */
#define gex_EP_RegisterHandlers(...)                                                                                 \
  GASNETI_SCI_CHECKED("gex_EP_RegisterHandlers", GASNETI_SCI_RULES_LOCAL, gasneti_sci_do_register(__VA_ARGS__))

/* ---- tokens ---- */
typedef unsigned int gex_TI_t;
#define GEX_TI_SRCRANK 1u
#define GEX_TI_ENTRY 2u
#define GEX_TI_IS_REQ 4u
#define GEX_TI_IS_LONG 8u
#define GEX_TI_EP 16u
#define GEX_TI_ALL 31u
typedef struct {
  gex_Rank_t gex_srcrank;
  int gex_is_req;
  int gex_is_long;
  gex_EP_t gex_ep;
  const gex_AM_Entry_t *gex_entry;
} gex_Token_Info_t;
GASNETI_SCI_INLINE gex_TI_t gasneti_sci_do_token_info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask) {
  return gasneti_sci_token_info(token, (gasneti_sci_token_info_t *)(void *)info, mask);
}
#define GASNETI_SCI_EX_Token_Info(token, info, mask) gasneti_sci_do_token_info((token), (info), (mask))
#define gex_Token_Info(...) GASNETI_SCI_EX_Token_Info(__VA_ARGS__)

/* ---- limits: the same for all peers, ways to name them, arguments and flags ---- */
#define gex_AM_MaxArgs() GASNETI_SCI_AS(unsigned, GASNETI_SCI_MAX_ARGS)
#define gex_AM_LUBRequestMedium() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_MEDIUM)
#define gex_AM_LUBReplyMedium() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_MEDIUM)
#define gex_AM_LUBRequestLong() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_LONG)
#define gex_AM_LUBReplyLong() GASNETI_SCI_AS(size_t, GASNETI_SCI_MAX_LONG)
GASNETI_SCI_INLINE size_t gasneti_sci_max_medium(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                                 unsigned int numargs) {
  (void)tm, (void)rank, (void)lc_opt, (void)flags, (void)numargs;
  return GASNETI_SCI_MAX_MEDIUM;
}
/* A Long that the library's buffer carries is no longer than that buffer. */
GASNETI_SCI_INLINE size_t gasneti_sci_max_long(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                               unsigned int numargs) {
  (void)tm, (void)rank, (void)lc_opt, (void)numargs;
  return flags & GEX_FLAG_AM_PREPARE_LEAST_ALLOC ? GASNETI_SCI_MAX_MEDIUM : GASNETI_SCI_MAX_LONG;
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(size_t, gasneti_sci_max_medium, gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt, gex_Flags_t flags,
                 unsigned int numargs) {
  gasneti_sci_check_limit(name, file, line, tm, rank, flags, numargs);
  return gasneti_sci_max_medium(tm, rank, lc_opt, flags, numargs);
}
GASNETI_SCI_WRAP(size_t, gasneti_sci_max_long, gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt, gex_Flags_t flags,
                 unsigned int numargs) {
  gasneti_sci_check_limit(name, file, line, tm, rank, flags, numargs);
  return gasneti_sci_max_long(tm, rank, lc_opt, flags, numargs);
}
#endif
#define GASNETI_SCI_EX_AM_MaxRequestMedium(tm, rank, lc, flags, n)                                                   \
  GASNETI_SCI_PLACED("gex_AM_MaxRequestMedium", gasneti_sci_max_medium, (tm), (rank), (lc), (flags), (n))
#define gex_AM_MaxRequestMedium(...) GASNETI_SCI_EX_AM_MaxRequestMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_MaxReplyMedium(tm, rank, lc, flags, n)                                                     \
  GASNETI_SCI_PLACED("gex_AM_MaxReplyMedium", gasneti_sci_max_medium, (tm), (rank), (lc), (flags), (n))
#define gex_AM_MaxReplyMedium(...) GASNETI_SCI_EX_AM_MaxReplyMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_MaxRequestLong(tm, rank, lc, flags, n)                                                     \
  GASNETI_SCI_PLACED("gex_AM_MaxRequestLong", gasneti_sci_max_long, (tm), (rank), (lc), (flags), (n))
#define gex_AM_MaxRequestLong(...) GASNETI_SCI_EX_AM_MaxRequestLong(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_MaxReplyLong(tm, rank, lc, flags, n)                                                       \
  GASNETI_SCI_PLACED("gex_AM_MaxReplyLong", gasneti_sci_max_long, (tm), (rank), (lc), (flags), (n))
#define gex_AM_MaxReplyLong(...) GASNETI_SCI_EX_AM_MaxReplyLong(__VA_ARGS__)
GASNETI_SCI_INLINE size_t gasneti_sci_token_max(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                                unsigned int numargs, int is_long) {
  (void)token;
  return is_long ? gasneti_sci_max_long(GEX_TM_INVALID, 0, lc_opt, flags, numargs) : GASNETI_SCI_MAX_MEDIUM;
}
#define GASNETI_SCI_EX_Token_MaxReplyMedium(token, lc, flags, n) gasneti_sci_token_max((token), (lc), (flags), (n), 0)
#define gex_Token_MaxReplyMedium(...) GASNETI_SCI_EX_Token_MaxReplyMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_Token_MaxReplyLong(token, lc, flags, n) gasneti_sci_token_max((token), (lc), (flags), (n), 1)
#define gex_Token_MaxReplyLong(...) GASNETI_SCI_EX_Token_MaxReplyLong(__VA_ARGS__)

/* ---- one inline function per category and number of argument words ---- */

/* The payload was taken: completes what the caller may wait for. */
GASNETI_SCI_ALWAYS void gasneti_sci_taken(gex_Event_t *lc_opt) {
  if ((uintptr_t)lc_opt > 3) *lc_opt = GEX_EVENT_INVALID;
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_INLINE gex_Rank_t gasneti_sci_checked_rank(const char *name, const char *file, int line, gex_TM_t tm,
                                                       gex_Rank_t rank) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_tm_jobrank(name, tm, rank);
}
#define GASNETI_SCI_EX_NODE(name, tm, rank) gasneti_sci_checked_rank(name, __FILE__, __LINE__, (tm), (rank))
GASNETI_SCI_INLINE gex_Event_t *gasneti_sci_checked_lc(const char *name, const char *file, int line, gex_Event_t *lc_opt,
                                                       int is_reply) {
  gasneti_sci_check_lc(name, file, line, lc_opt, is_reply);
  return lc_opt;
}
#define GASNETI_SCI_EX_LC(name, lc_opt, is_reply) gasneti_sci_checked_lc(name, __FILE__, __LINE__, (lc_opt), (is_reply))
GASNETI_SCI_INLINE gex_Flags_t gasneti_sci_checked_flags(const char *name, const char *file, int line, gex_Flags_t flags) {
  gasneti_sci_check_flags(name, file, line, flags & (GEX_FLAG_AM_PREPARE_LEAST_CLIENT | GEX_FLAG_AM_PREPARE_LEAST_ALLOC));
  return flags;
}
#define GASNETI_SCI_EX_FLAGS(name, flags) gasneti_sci_checked_flags(name, __FILE__, __LINE__, (flags))
#else
#define GASNETI_SCI_EX_NODE(name, tm, rank) gasneti_sci_jobrank((tm), (rank))
#define GASNETI_SCI_EX_LC(name, lc_opt, is_reply) (lc_opt)
#define GASNETI_SCI_EX_FLAGS(name, flags) (flags)
#endif

/* What a request returns, `refused` if it is IMMEDIATE. Others poll once: clients that only send serve others (contract: ex-core.md section
 * 11). An error has ended the job. */
GASNETI_SCI_ALWAYS int gasneti_sci_asked(int refused, gex_Flags_t flags) {
  if (flags & GEX_FLAG_IMMEDIATE) return refused;
  gasneti_sci_serve();
  return 0;
}
/* How a call is made, for its `what`. */
#define GASNETI_SCI_EX_HOW(flags) (GASNETI_SCI_AM_EX | ((flags) & GASNETI_SCI_AM_NOW))
#define GASNETI_SCI_EX_WORDS(n)                                                                                      \
  GASNETI_SCI_INLINE int gasneti_sci_ex_request_short_w##n(gex_Rank_t to, gasnet_handler_t handler, gex_Flags_t flags,\
                                                           uint32_t numargs GASNETI_SCI_LIST##n) {                   \
    const uint32_t what = GASNETI_SCI_WHAT(GASNETI_SCI_EX_HOW(flags), handler, numargs);                             \
    GASNETI_SCI_IF_SENT(requested, n) return gasneti_sci_asked(0, flags);                                            \
    {                                                                                                                \
      GASNETI_SCI_TABLE##n;                                                                                          \
      return gasneti_sci_asked(gasneti_sci_request_short(to, what, words), flags);                                   \
    }                                                                                                                \
  }                                                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_ex_request_medium_w##n(gex_Rank_t to, gasnet_handler_t handler, const void *src,\
                                                            size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags,   \
                                                            uint32_t numargs GASNETI_SCI_LIST##n) {                  \
    const uint32_t what = GASNETI_SCI_WHAT(GASNETI_SCI_EX_HOW(flags), handler, numargs);                             \
    GASNETI_SCI_TABLE##n;                                                                                            \
    if (gasneti_sci_asked(gasneti_sci_request_medium(to, what, src, nbytes, words), flags)) return 1;                \
    gasneti_sci_taken(lc_opt);                                                                                       \
    return 0;                                                                                                        \
  }                                                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_ex_request_long_w##n(                                                           \
      gex_Rank_t to, gasnet_handler_t handler, const void *src, size_t nbytes, void *dest_addr, gex_Event_t *lc_opt, \
      gex_Flags_t flags, uint32_t numargs GASNETI_SCI_LIST##n) {                                                     \
    const uint32_t what = GASNETI_SCI_WHAT(GASNETI_SCI_EX_HOW(flags), handler, numargs);                             \
    GASNETI_SCI_TABLE##n;                                                                                            \
    if (gasneti_sci_asked(gasneti_sci_request_long(to, what, src, nbytes, dest_addr, words), flags)) return 1;       \
    gasneti_sci_taken(lc_opt);                                                                                       \
    return 0;                                                                                                        \
  }                                                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_ex_reply_short_w##n(gex_Token_t to, gasnet_handler_t handler, gex_Flags_t flags,\
                                                         uint32_t numargs GASNETI_SCI_LIST##n) {                     \
    (void)flags;                                                                                                     \
    GASNETI_SCI_IF_SENT(replied, n) return 0;                                                                        \
    {                                                                                                                \
      GASNETI_SCI_TABLE##n;                                                                                          \
      return gasneti_sci_reply_short(to, GASNETI_SCI_WHAT(GASNETI_SCI_AM_EX, handler, numargs), words);              \
    }                                                                                                                \
  }                                                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_ex_reply_medium_w##n(gex_Token_t to, gasnet_handler_t handler, const void *src, \
                                                          size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags,     \
                                                          uint32_t numargs GASNETI_SCI_LIST##n) {                    \
    GASNETI_SCI_TABLE##n;                                                                                            \
    (void)flags;                                                                                                     \
    (void)gasneti_sci_reply_medium(to, GASNETI_SCI_WHAT(GASNETI_SCI_AM_EX, handler, numargs), src, nbytes, words);   \
    gasneti_sci_taken(lc_opt);                                                                                       \
    return 0;                                                                                                        \
  }                                                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_ex_reply_long_w##n(                                                             \
      gex_Token_t to, gasnet_handler_t handler, const void *src, size_t nbytes, void *dest_addr, gex_Event_t *lc_opt,\
      gex_Flags_t flags, uint32_t numargs GASNETI_SCI_LIST##n) {                                                     \
    GASNETI_SCI_TABLE##n;                                                                                            \
    (void)flags;                                                                                                     \
    (void)gasneti_sci_reply_long(to, GASNETI_SCI_WHAT(GASNETI_SCI_AM_EX, handler, numargs), src, nbytes, dest_addr, words);\
    gasneti_sci_taken(lc_opt);                                                                                       \
    return 0;                                                                                                        \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_EX_WORDS(0);
GASNETI_SCI_EACH(GASNETI_SCI_EX_WORDS);

#define GASNETI_SCI_PASTE(name, n) GASNETI_SCI_PASTE_(name, n)
#define GASNETI_SCI_PASTE_(name, n) name##n
#define GASNETI_SCI_NUMBERED(name, n) GASNETI_SCI_PASTE(name, n)

#endif
