/* GASNet-EX: Active Messages of negotiated payload. Part of gasnetex.h. Contract: ex-core.md section 12.
 *
 * Prepare opens this thread's descriptor of that direction, the client fills the bytes at its address, and commit sends them or
 * cancel gives them up. In GASNET_SEQ, a Medium request to another process, longer than fits the slot, has its buffer in the
 * receiver's own ring. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_npam.h"
#endif
#ifndef GASNETI_SCI_EX_NPAM_H
#define GASNETI_SCI_EX_NPAM_H

#if defined(GASNET_SEQ)
#define GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM 1
#endif

#define GASNETI_SCI_REQUEST_MEDIUM (GASNETI_SCI_NPAM_REQUEST | GASNETI_SCI_NPAM_MEDIUM)
#define GASNETI_SCI_REQUEST_LONG (GASNETI_SCI_NPAM_REQUEST | GASNETI_SCI_NPAM_LONG)
#define GASNETI_SCI_REPLY_MEDIUM (GASNETI_SCI_NPAM_REPLY | GASNETI_SCI_NPAM_MEDIUM)
#define GASNETI_SCI_REPLY_LONG (GASNETI_SCI_NPAM_REPLY | GASNETI_SCI_NPAM_LONG)
#if defined(GASNET_DEBUG)
/* A descriptor, as an argument: the library learns the place of the call first. */
GASNETI_SCI_INLINE gex_AM_SrcDesc_t gasneti_sci_placed_sd(const char *name, const char *file, int line, gex_AM_SrcDesc_t sd) {
  gasneti_sci_check(name, file, line, 0);
  return sd;
}
#define GASNETI_SCI_SD(name, sd) gasneti_sci_placed_sd(name, __FILE__, __LINE__, (sd))
GASNETI_SCI_INLINE gex_AM_SrcDesc_t gasneti_sci_open_sd(const char *name, const char *file, int line, gex_AM_SrcDesc_t sd) {
  gasneti_sci_check_srcdesc(name, file, line, sd);
  return sd;
}
#define GASNETI_SCI_OPEN_SD(name, sd) gasneti_sci_open_sd(name, __FILE__, __LINE__, (sd))
#else
#define GASNETI_SCI_OPEN_SD(name, sd) (sd)
#define GASNETI_SCI_SD(name, sd) (sd)
#endif

GASNETI_SCI_INLINE gex_AM_SrcDesc_t gasneti_sci_prepare_request(uint32_t what, gex_Rank_t node, const void *buf,
                                                                size_t least, size_t most, void *dest, gex_Event_t *lc,
                                                                gex_Flags_t flags, unsigned int numargs) {
  if_pt (!(flags & GEX_FLAG_IMMEDIATE)) gasneti_sci_serve(); /* as other requests; not between prepare and commit */
  return (gex_AM_SrcDesc_t)(uintptr_t)gasneti_sci_npam_request(what, node, buf, least, most, dest, (size_t *)(void *)lc,
                                                               flags, numargs);
}
GASNETI_SCI_INLINE gex_AM_SrcDesc_t gasneti_sci_prepare_reply(uint32_t what, gex_Token_t token, const void *buf, size_t least,
                                                              size_t most, void *dest, gex_Event_t *lc, gex_Flags_t flags,
                                                              unsigned int numargs) {
  (void)flags; /* a reply has its room */
  return (gex_AM_SrcDesc_t)(uintptr_t)gasneti_sci_npam_reply(what, token, buf, least, most, dest, (size_t *)(void *)lc, numargs);
}
#define GASNETI_SCI_EX_AM_PrepareRequestMedium(tm, rank, buf, least, most, lc, flags, numargs)                       \
  gasneti_sci_prepare_request(GASNETI_SCI_REQUEST_MEDIUM, GASNETI_SCI_EX_NODE("gex_AM_PrepareRequestMedium", tm, rank), (buf), \
                              (least), (most), NULL, (lc), (flags), (numargs))
#define gex_AM_PrepareRequestMedium(...) GASNETI_SCI_EX_AM_PrepareRequestMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_PrepareRequestLong(tm, rank, buf, least, most, dest, lc, flags, numargs)                   \
  gasneti_sci_prepare_request(GASNETI_SCI_REQUEST_LONG, GASNETI_SCI_EX_NODE("gex_AM_PrepareRequestLong", tm, rank), (buf), \
                              (least), (most), (dest), (lc), (flags), (numargs))
#define gex_AM_PrepareRequestLong(...) GASNETI_SCI_EX_AM_PrepareRequestLong(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_PrepareReplyMedium(token, buf, least, most, lc, flags, numargs)                            \
  gasneti_sci_prepare_reply(GASNETI_SCI_REPLY_MEDIUM, GASNETI_SCI_TOKEN("gex_AM_PrepareReplyMedium", token), (buf), (least), \
                            (most), NULL, (lc), (flags), (numargs))
#define gex_AM_PrepareReplyMedium(...) GASNETI_SCI_EX_AM_PrepareReplyMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_PrepareReplyLong(token, buf, least, most, dest, lc, flags, numargs)                        \
  gasneti_sci_prepare_reply(GASNETI_SCI_REPLY_LONG, GASNETI_SCI_TOKEN("gex_AM_PrepareReplyLong", token), (buf), (least), \
                            (most), (dest), (lc), (flags), (numargs))
#define gex_AM_PrepareReplyLong(...) GASNETI_SCI_EX_AM_PrepareReplyLong(__VA_ARGS__)

GASNETI_SCI_INLINE void *gasneti_sci_srcdesc_addr(gex_AM_SrcDesc_t sd) { return sd->addr; }
GASNETI_SCI_INLINE size_t gasneti_sci_srcdesc_size(gex_AM_SrcDesc_t sd) { return sd->size; }
#define gex_AM_SrcDescAddr(sd) gasneti_sci_srcdesc_addr(GASNETI_SCI_OPEN_SD("gex_AM_SrcDescAddr", sd))
#define gex_AM_SrcDescSize(sd) gasneti_sci_srcdesc_size(GASNETI_SCI_OPEN_SD("gex_AM_SrcDescSize", sd))

GASNETI_SCI_INLINE int gasneti_sci_cancel(uint32_t what, gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  (void)flags;
  return gasneti_sci_npam_cancel(what, sd);
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(int, gasneti_sci_cancel, uint32_t what, gex_AM_SrcDesc_t sd, gex_Flags_t flags) {
  gasneti_sci_check(name, file, line, 0);
  gasneti_sci_check_flags(name, file, line, flags);
  return gasneti_sci_cancel(what, sd, flags);
}
#endif
#define GASNETI_SCI_EX_AM_CancelRequestMedium(sd, flags)                                                             \
  GASNETI_SCI_PLACED("gex_AM_CancelRequestMedium", gasneti_sci_cancel, GASNETI_SCI_REQUEST_MEDIUM, (sd), (flags))
#define gex_AM_CancelRequestMedium(...) GASNETI_SCI_EX_AM_CancelRequestMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_CancelRequestLong(sd, flags)                                                               \
  GASNETI_SCI_PLACED("gex_AM_CancelRequestLong", gasneti_sci_cancel, GASNETI_SCI_REQUEST_LONG, (sd), (flags))
#define gex_AM_CancelRequestLong(...) GASNETI_SCI_EX_AM_CancelRequestLong(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_CancelReplyMedium(sd, flags)                                                               \
  GASNETI_SCI_PLACED("gex_AM_CancelReplyMedium", gasneti_sci_cancel, GASNETI_SCI_REPLY_MEDIUM, (sd), (flags))
#define gex_AM_CancelReplyMedium(...) GASNETI_SCI_EX_AM_CancelReplyMedium(__VA_ARGS__)
#define GASNETI_SCI_EX_AM_CancelReplyLong(sd, flags)                                                                 \
  GASNETI_SCI_PLACED("gex_AM_CancelReplyLong", gasneti_sci_cancel, GASNETI_SCI_REPLY_LONG, (sd), (flags))
#define gex_AM_CancelReplyLong(...) GASNETI_SCI_EX_AM_CancelReplyLong(__VA_ARGS__)

/* ---- commit: one inline function per number of argument words ---- */
#define GASNETI_SCI_COMMIT_WORDS(n)                                                                                  \
  GASNETI_SCI_INLINE int gasneti_sci_commit_w##n(uint32_t what, gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,         \
                                                 size_t nbytes, void *dest, gex_Flags_t flags,                       \
                                                 uint32_t numargs GASNETI_SCI_LIST##n) {                             \
    GASNETI_SCI_TABLE##n;                                                                                            \
    return gasneti_sci_npam_commit(what, sd, handler, nbytes, dest, flags, words, numargs);                          \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_COMMIT_WORDS(0);
GASNETI_SCI_EACH(GASNETI_SCI_COMMIT_WORDS);

#endif
