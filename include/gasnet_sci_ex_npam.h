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
  if (flags != 0) gasneti_sci_am_failed(name, GASNETI_SCI_BAD_FLAGS);
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
GASNETI_SCI_COMMIT_WORDS(1);
GASNETI_SCI_COMMIT_WORDS(2);
GASNETI_SCI_COMMIT_WORDS(3);
GASNETI_SCI_COMMIT_WORDS(4);
GASNETI_SCI_COMMIT_WORDS(5);
GASNETI_SCI_COMMIT_WORDS(6);
GASNETI_SCI_COMMIT_WORDS(7);
GASNETI_SCI_COMMIT_WORDS(8);

#define GASNETI_SCI_CommitRequestMedium(w, n, sd, h, l, ...) \
  ((void)gasneti_sci_commit_##w(GASNETI_SCI_REQUEST_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitRequestMedium", sd), (h), (l), NULL, 0, GASNETI_SCI_ARGS##n(__VA_ARGS__)))
#define GASNETI_SCI_CommitRequestMedium_v2(w, n, sd, h, l, flags, ...) \
  gasneti_sci_commit_##w(GASNETI_SCI_REQUEST_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitRequestMedium", sd), (h), (l), NULL, (flags), GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_CommitRequestMedium0(sd, h, l) ((void)gasneti_sci_commit_w0(GASNETI_SCI_REQUEST_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitRequestMedium", sd), (h), (l), NULL, 0, 0))
#define GASNETI_SCI_CommitRequestMedium0_v2(sd, h, l, flags) \
  gasneti_sci_commit_w0(GASNETI_SCI_REQUEST_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitRequestMedium", sd), (h), (l), NULL, (flags), 0)
#define gex_AM_CommitRequestMedium0(...) GASNETI_SCI_CommitRequestMedium0(__VA_ARGS__)
#define gex_AM_CommitRequestMedium0_v2(...) GASNETI_SCI_CommitRequestMedium0_v2(__VA_ARGS__)
#define gex_AM_CommitRequestMedium1(...) GASNETI_SCI_CommitRequestMedium(w1, 1, __VA_ARGS__)
#define gex_AM_CommitRequestMedium1_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w1, 1, __VA_ARGS__)
#define gex_AM_CommitRequestMedium2(...) GASNETI_SCI_CommitRequestMedium(w1, 2, __VA_ARGS__)
#define gex_AM_CommitRequestMedium2_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w1, 2, __VA_ARGS__)
#define gex_AM_CommitRequestMedium3(...) GASNETI_SCI_CommitRequestMedium(w2, 3, __VA_ARGS__)
#define gex_AM_CommitRequestMedium3_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w2, 3, __VA_ARGS__)
#define gex_AM_CommitRequestMedium4(...) GASNETI_SCI_CommitRequestMedium(w2, 4, __VA_ARGS__)
#define gex_AM_CommitRequestMedium4_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w2, 4, __VA_ARGS__)
#define gex_AM_CommitRequestMedium5(...) GASNETI_SCI_CommitRequestMedium(w3, 5, __VA_ARGS__)
#define gex_AM_CommitRequestMedium5_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w3, 5, __VA_ARGS__)
#define gex_AM_CommitRequestMedium6(...) GASNETI_SCI_CommitRequestMedium(w3, 6, __VA_ARGS__)
#define gex_AM_CommitRequestMedium6_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w3, 6, __VA_ARGS__)
#define gex_AM_CommitRequestMedium7(...) GASNETI_SCI_CommitRequestMedium(w4, 7, __VA_ARGS__)
#define gex_AM_CommitRequestMedium7_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w4, 7, __VA_ARGS__)
#define gex_AM_CommitRequestMedium8(...) GASNETI_SCI_CommitRequestMedium(w4, 8, __VA_ARGS__)
#define gex_AM_CommitRequestMedium8_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w4, 8, __VA_ARGS__)
#define gex_AM_CommitRequestMedium9(...) GASNETI_SCI_CommitRequestMedium(w5, 9, __VA_ARGS__)
#define gex_AM_CommitRequestMedium9_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w5, 9, __VA_ARGS__)
#define gex_AM_CommitRequestMedium10(...) GASNETI_SCI_CommitRequestMedium(w5, 10, __VA_ARGS__)
#define gex_AM_CommitRequestMedium10_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w5, 10, __VA_ARGS__)
#define gex_AM_CommitRequestMedium11(...) GASNETI_SCI_CommitRequestMedium(w6, 11, __VA_ARGS__)
#define gex_AM_CommitRequestMedium11_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w6, 11, __VA_ARGS__)
#define gex_AM_CommitRequestMedium12(...) GASNETI_SCI_CommitRequestMedium(w6, 12, __VA_ARGS__)
#define gex_AM_CommitRequestMedium12_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w6, 12, __VA_ARGS__)
#define gex_AM_CommitRequestMedium13(...) GASNETI_SCI_CommitRequestMedium(w7, 13, __VA_ARGS__)
#define gex_AM_CommitRequestMedium13_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w7, 13, __VA_ARGS__)
#define gex_AM_CommitRequestMedium14(...) GASNETI_SCI_CommitRequestMedium(w7, 14, __VA_ARGS__)
#define gex_AM_CommitRequestMedium14_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w7, 14, __VA_ARGS__)
#define gex_AM_CommitRequestMedium15(...) GASNETI_SCI_CommitRequestMedium(w8, 15, __VA_ARGS__)
#define gex_AM_CommitRequestMedium15_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w8, 15, __VA_ARGS__)
#define gex_AM_CommitRequestMedium16(...) GASNETI_SCI_CommitRequestMedium(w8, 16, __VA_ARGS__)
#define gex_AM_CommitRequestMedium16_v2(...) GASNETI_SCI_CommitRequestMedium_v2(w8, 16, __VA_ARGS__)
#define gex_AM_CommitRequestMedium(...) GASNETI_SCI_NUMBERED(gex_AM_CommitRequestMedium, GASNETI_SCI_COUNT3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestMedium_v2(...) \
  GASNETI_SCI_NUMBERED(gex_AM_CommitRequestMedium, GASNETI_SCI_PASTE(GASNETI_SCI_COUNT4(__VA_ARGS__), _v2))(__VA_ARGS__)

#define GASNETI_SCI_CommitRequestLong(w, n, sd, h, l, d, ...) \
  ((void)gasneti_sci_commit_##w(GASNETI_SCI_REQUEST_LONG, GASNETI_SCI_SD("gex_AM_CommitRequestLong", sd), (h), (l), GASNETI_SCI_TO(d), 0, GASNETI_SCI_ARGS##n(__VA_ARGS__)))
#define GASNETI_SCI_CommitRequestLong_v2(w, n, sd, h, l, d, flags, ...) \
  gasneti_sci_commit_##w(GASNETI_SCI_REQUEST_LONG, GASNETI_SCI_SD("gex_AM_CommitRequestLong", sd), (h), (l), GASNETI_SCI_TO(d), (flags), GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_CommitRequestLong0(sd, h, l, d) ((void)gasneti_sci_commit_w0(GASNETI_SCI_REQUEST_LONG, GASNETI_SCI_SD("gex_AM_CommitRequestLong", sd), (h), (l), GASNETI_SCI_TO(d), 0, 0))
#define GASNETI_SCI_CommitRequestLong0_v2(sd, h, l, d, flags) \
  gasneti_sci_commit_w0(GASNETI_SCI_REQUEST_LONG, GASNETI_SCI_SD("gex_AM_CommitRequestLong", sd), (h), (l), GASNETI_SCI_TO(d), (flags), 0)
#define gex_AM_CommitRequestLong0(...) GASNETI_SCI_CommitRequestLong0(__VA_ARGS__)
#define gex_AM_CommitRequestLong0_v2(...) GASNETI_SCI_CommitRequestLong0_v2(__VA_ARGS__)
#define gex_AM_CommitRequestLong1(...) GASNETI_SCI_CommitRequestLong(w1, 1, __VA_ARGS__)
#define gex_AM_CommitRequestLong1_v2(...) GASNETI_SCI_CommitRequestLong_v2(w1, 1, __VA_ARGS__)
#define gex_AM_CommitRequestLong2(...) GASNETI_SCI_CommitRequestLong(w1, 2, __VA_ARGS__)
#define gex_AM_CommitRequestLong2_v2(...) GASNETI_SCI_CommitRequestLong_v2(w1, 2, __VA_ARGS__)
#define gex_AM_CommitRequestLong3(...) GASNETI_SCI_CommitRequestLong(w2, 3, __VA_ARGS__)
#define gex_AM_CommitRequestLong3_v2(...) GASNETI_SCI_CommitRequestLong_v2(w2, 3, __VA_ARGS__)
#define gex_AM_CommitRequestLong4(...) GASNETI_SCI_CommitRequestLong(w2, 4, __VA_ARGS__)
#define gex_AM_CommitRequestLong4_v2(...) GASNETI_SCI_CommitRequestLong_v2(w2, 4, __VA_ARGS__)
#define gex_AM_CommitRequestLong5(...) GASNETI_SCI_CommitRequestLong(w3, 5, __VA_ARGS__)
#define gex_AM_CommitRequestLong5_v2(...) GASNETI_SCI_CommitRequestLong_v2(w3, 5, __VA_ARGS__)
#define gex_AM_CommitRequestLong6(...) GASNETI_SCI_CommitRequestLong(w3, 6, __VA_ARGS__)
#define gex_AM_CommitRequestLong6_v2(...) GASNETI_SCI_CommitRequestLong_v2(w3, 6, __VA_ARGS__)
#define gex_AM_CommitRequestLong7(...) GASNETI_SCI_CommitRequestLong(w4, 7, __VA_ARGS__)
#define gex_AM_CommitRequestLong7_v2(...) GASNETI_SCI_CommitRequestLong_v2(w4, 7, __VA_ARGS__)
#define gex_AM_CommitRequestLong8(...) GASNETI_SCI_CommitRequestLong(w4, 8, __VA_ARGS__)
#define gex_AM_CommitRequestLong8_v2(...) GASNETI_SCI_CommitRequestLong_v2(w4, 8, __VA_ARGS__)
#define gex_AM_CommitRequestLong9(...) GASNETI_SCI_CommitRequestLong(w5, 9, __VA_ARGS__)
#define gex_AM_CommitRequestLong9_v2(...) GASNETI_SCI_CommitRequestLong_v2(w5, 9, __VA_ARGS__)
#define gex_AM_CommitRequestLong10(...) GASNETI_SCI_CommitRequestLong(w5, 10, __VA_ARGS__)
#define gex_AM_CommitRequestLong10_v2(...) GASNETI_SCI_CommitRequestLong_v2(w5, 10, __VA_ARGS__)
#define gex_AM_CommitRequestLong11(...) GASNETI_SCI_CommitRequestLong(w6, 11, __VA_ARGS__)
#define gex_AM_CommitRequestLong11_v2(...) GASNETI_SCI_CommitRequestLong_v2(w6, 11, __VA_ARGS__)
#define gex_AM_CommitRequestLong12(...) GASNETI_SCI_CommitRequestLong(w6, 12, __VA_ARGS__)
#define gex_AM_CommitRequestLong12_v2(...) GASNETI_SCI_CommitRequestLong_v2(w6, 12, __VA_ARGS__)
#define gex_AM_CommitRequestLong13(...) GASNETI_SCI_CommitRequestLong(w7, 13, __VA_ARGS__)
#define gex_AM_CommitRequestLong13_v2(...) GASNETI_SCI_CommitRequestLong_v2(w7, 13, __VA_ARGS__)
#define gex_AM_CommitRequestLong14(...) GASNETI_SCI_CommitRequestLong(w7, 14, __VA_ARGS__)
#define gex_AM_CommitRequestLong14_v2(...) GASNETI_SCI_CommitRequestLong_v2(w7, 14, __VA_ARGS__)
#define gex_AM_CommitRequestLong15(...) GASNETI_SCI_CommitRequestLong(w8, 15, __VA_ARGS__)
#define gex_AM_CommitRequestLong15_v2(...) GASNETI_SCI_CommitRequestLong_v2(w8, 15, __VA_ARGS__)
#define gex_AM_CommitRequestLong16(...) GASNETI_SCI_CommitRequestLong(w8, 16, __VA_ARGS__)
#define gex_AM_CommitRequestLong16_v2(...) GASNETI_SCI_CommitRequestLong_v2(w8, 16, __VA_ARGS__)
#define gex_AM_CommitRequestLong(...) GASNETI_SCI_NUMBERED(gex_AM_CommitRequestLong, GASNETI_SCI_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong_v2(...) \
  GASNETI_SCI_NUMBERED(gex_AM_CommitRequestLong, GASNETI_SCI_PASTE(GASNETI_SCI_COUNT5(__VA_ARGS__), _v2))(__VA_ARGS__)

#define GASNETI_SCI_CommitReplyMedium(w, n, sd, h, l, ...) \
  ((void)gasneti_sci_commit_##w(GASNETI_SCI_REPLY_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitReplyMedium", sd), (h), (l), NULL, 0, GASNETI_SCI_ARGS##n(__VA_ARGS__)))
#define GASNETI_SCI_CommitReplyMedium_v2(w, n, sd, h, l, flags, ...) \
  gasneti_sci_commit_##w(GASNETI_SCI_REPLY_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitReplyMedium", sd), (h), (l), NULL, (flags), GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_CommitReplyMedium0(sd, h, l) ((void)gasneti_sci_commit_w0(GASNETI_SCI_REPLY_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitReplyMedium", sd), (h), (l), NULL, 0, 0))
#define GASNETI_SCI_CommitReplyMedium0_v2(sd, h, l, flags) \
  gasneti_sci_commit_w0(GASNETI_SCI_REPLY_MEDIUM, GASNETI_SCI_SD("gex_AM_CommitReplyMedium", sd), (h), (l), NULL, (flags), 0)
#define gex_AM_CommitReplyMedium0(...) GASNETI_SCI_CommitReplyMedium0(__VA_ARGS__)
#define gex_AM_CommitReplyMedium0_v2(...) GASNETI_SCI_CommitReplyMedium0_v2(__VA_ARGS__)
#define gex_AM_CommitReplyMedium1(...) GASNETI_SCI_CommitReplyMedium(w1, 1, __VA_ARGS__)
#define gex_AM_CommitReplyMedium1_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w1, 1, __VA_ARGS__)
#define gex_AM_CommitReplyMedium2(...) GASNETI_SCI_CommitReplyMedium(w1, 2, __VA_ARGS__)
#define gex_AM_CommitReplyMedium2_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w1, 2, __VA_ARGS__)
#define gex_AM_CommitReplyMedium3(...) GASNETI_SCI_CommitReplyMedium(w2, 3, __VA_ARGS__)
#define gex_AM_CommitReplyMedium3_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w2, 3, __VA_ARGS__)
#define gex_AM_CommitReplyMedium4(...) GASNETI_SCI_CommitReplyMedium(w2, 4, __VA_ARGS__)
#define gex_AM_CommitReplyMedium4_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w2, 4, __VA_ARGS__)
#define gex_AM_CommitReplyMedium5(...) GASNETI_SCI_CommitReplyMedium(w3, 5, __VA_ARGS__)
#define gex_AM_CommitReplyMedium5_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w3, 5, __VA_ARGS__)
#define gex_AM_CommitReplyMedium6(...) GASNETI_SCI_CommitReplyMedium(w3, 6, __VA_ARGS__)
#define gex_AM_CommitReplyMedium6_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w3, 6, __VA_ARGS__)
#define gex_AM_CommitReplyMedium7(...) GASNETI_SCI_CommitReplyMedium(w4, 7, __VA_ARGS__)
#define gex_AM_CommitReplyMedium7_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w4, 7, __VA_ARGS__)
#define gex_AM_CommitReplyMedium8(...) GASNETI_SCI_CommitReplyMedium(w4, 8, __VA_ARGS__)
#define gex_AM_CommitReplyMedium8_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w4, 8, __VA_ARGS__)
#define gex_AM_CommitReplyMedium9(...) GASNETI_SCI_CommitReplyMedium(w5, 9, __VA_ARGS__)
#define gex_AM_CommitReplyMedium9_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w5, 9, __VA_ARGS__)
#define gex_AM_CommitReplyMedium10(...) GASNETI_SCI_CommitReplyMedium(w5, 10, __VA_ARGS__)
#define gex_AM_CommitReplyMedium10_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w5, 10, __VA_ARGS__)
#define gex_AM_CommitReplyMedium11(...) GASNETI_SCI_CommitReplyMedium(w6, 11, __VA_ARGS__)
#define gex_AM_CommitReplyMedium11_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w6, 11, __VA_ARGS__)
#define gex_AM_CommitReplyMedium12(...) GASNETI_SCI_CommitReplyMedium(w6, 12, __VA_ARGS__)
#define gex_AM_CommitReplyMedium12_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w6, 12, __VA_ARGS__)
#define gex_AM_CommitReplyMedium13(...) GASNETI_SCI_CommitReplyMedium(w7, 13, __VA_ARGS__)
#define gex_AM_CommitReplyMedium13_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w7, 13, __VA_ARGS__)
#define gex_AM_CommitReplyMedium14(...) GASNETI_SCI_CommitReplyMedium(w7, 14, __VA_ARGS__)
#define gex_AM_CommitReplyMedium14_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w7, 14, __VA_ARGS__)
#define gex_AM_CommitReplyMedium15(...) GASNETI_SCI_CommitReplyMedium(w8, 15, __VA_ARGS__)
#define gex_AM_CommitReplyMedium15_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w8, 15, __VA_ARGS__)
#define gex_AM_CommitReplyMedium16(...) GASNETI_SCI_CommitReplyMedium(w8, 16, __VA_ARGS__)
#define gex_AM_CommitReplyMedium16_v2(...) GASNETI_SCI_CommitReplyMedium_v2(w8, 16, __VA_ARGS__)
#define gex_AM_CommitReplyMedium(...) GASNETI_SCI_NUMBERED(gex_AM_CommitReplyMedium, GASNETI_SCI_COUNT3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium_v2(...) \
  GASNETI_SCI_NUMBERED(gex_AM_CommitReplyMedium, GASNETI_SCI_PASTE(GASNETI_SCI_COUNT4(__VA_ARGS__), _v2))(__VA_ARGS__)

#define GASNETI_SCI_CommitReplyLong(w, n, sd, h, l, d, ...) \
  ((void)gasneti_sci_commit_##w(GASNETI_SCI_REPLY_LONG, GASNETI_SCI_SD("gex_AM_CommitReplyLong", sd), (h), (l), GASNETI_SCI_TO(d), 0, GASNETI_SCI_ARGS##n(__VA_ARGS__)))
#define GASNETI_SCI_CommitReplyLong_v2(w, n, sd, h, l, d, flags, ...) \
  gasneti_sci_commit_##w(GASNETI_SCI_REPLY_LONG, GASNETI_SCI_SD("gex_AM_CommitReplyLong", sd), (h), (l), GASNETI_SCI_TO(d), (flags), GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_CommitReplyLong0(sd, h, l, d) ((void)gasneti_sci_commit_w0(GASNETI_SCI_REPLY_LONG, GASNETI_SCI_SD("gex_AM_CommitReplyLong", sd), (h), (l), GASNETI_SCI_TO(d), 0, 0))
#define GASNETI_SCI_CommitReplyLong0_v2(sd, h, l, d, flags) \
  gasneti_sci_commit_w0(GASNETI_SCI_REPLY_LONG, GASNETI_SCI_SD("gex_AM_CommitReplyLong", sd), (h), (l), GASNETI_SCI_TO(d), (flags), 0)
#define gex_AM_CommitReplyLong0(...) GASNETI_SCI_CommitReplyLong0(__VA_ARGS__)
#define gex_AM_CommitReplyLong0_v2(...) GASNETI_SCI_CommitReplyLong0_v2(__VA_ARGS__)
#define gex_AM_CommitReplyLong1(...) GASNETI_SCI_CommitReplyLong(w1, 1, __VA_ARGS__)
#define gex_AM_CommitReplyLong1_v2(...) GASNETI_SCI_CommitReplyLong_v2(w1, 1, __VA_ARGS__)
#define gex_AM_CommitReplyLong2(...) GASNETI_SCI_CommitReplyLong(w1, 2, __VA_ARGS__)
#define gex_AM_CommitReplyLong2_v2(...) GASNETI_SCI_CommitReplyLong_v2(w1, 2, __VA_ARGS__)
#define gex_AM_CommitReplyLong3(...) GASNETI_SCI_CommitReplyLong(w2, 3, __VA_ARGS__)
#define gex_AM_CommitReplyLong3_v2(...) GASNETI_SCI_CommitReplyLong_v2(w2, 3, __VA_ARGS__)
#define gex_AM_CommitReplyLong4(...) GASNETI_SCI_CommitReplyLong(w2, 4, __VA_ARGS__)
#define gex_AM_CommitReplyLong4_v2(...) GASNETI_SCI_CommitReplyLong_v2(w2, 4, __VA_ARGS__)
#define gex_AM_CommitReplyLong5(...) GASNETI_SCI_CommitReplyLong(w3, 5, __VA_ARGS__)
#define gex_AM_CommitReplyLong5_v2(...) GASNETI_SCI_CommitReplyLong_v2(w3, 5, __VA_ARGS__)
#define gex_AM_CommitReplyLong6(...) GASNETI_SCI_CommitReplyLong(w3, 6, __VA_ARGS__)
#define gex_AM_CommitReplyLong6_v2(...) GASNETI_SCI_CommitReplyLong_v2(w3, 6, __VA_ARGS__)
#define gex_AM_CommitReplyLong7(...) GASNETI_SCI_CommitReplyLong(w4, 7, __VA_ARGS__)
#define gex_AM_CommitReplyLong7_v2(...) GASNETI_SCI_CommitReplyLong_v2(w4, 7, __VA_ARGS__)
#define gex_AM_CommitReplyLong8(...) GASNETI_SCI_CommitReplyLong(w4, 8, __VA_ARGS__)
#define gex_AM_CommitReplyLong8_v2(...) GASNETI_SCI_CommitReplyLong_v2(w4, 8, __VA_ARGS__)
#define gex_AM_CommitReplyLong9(...) GASNETI_SCI_CommitReplyLong(w5, 9, __VA_ARGS__)
#define gex_AM_CommitReplyLong9_v2(...) GASNETI_SCI_CommitReplyLong_v2(w5, 9, __VA_ARGS__)
#define gex_AM_CommitReplyLong10(...) GASNETI_SCI_CommitReplyLong(w5, 10, __VA_ARGS__)
#define gex_AM_CommitReplyLong10_v2(...) GASNETI_SCI_CommitReplyLong_v2(w5, 10, __VA_ARGS__)
#define gex_AM_CommitReplyLong11(...) GASNETI_SCI_CommitReplyLong(w6, 11, __VA_ARGS__)
#define gex_AM_CommitReplyLong11_v2(...) GASNETI_SCI_CommitReplyLong_v2(w6, 11, __VA_ARGS__)
#define gex_AM_CommitReplyLong12(...) GASNETI_SCI_CommitReplyLong(w6, 12, __VA_ARGS__)
#define gex_AM_CommitReplyLong12_v2(...) GASNETI_SCI_CommitReplyLong_v2(w6, 12, __VA_ARGS__)
#define gex_AM_CommitReplyLong13(...) GASNETI_SCI_CommitReplyLong(w7, 13, __VA_ARGS__)
#define gex_AM_CommitReplyLong13_v2(...) GASNETI_SCI_CommitReplyLong_v2(w7, 13, __VA_ARGS__)
#define gex_AM_CommitReplyLong14(...) GASNETI_SCI_CommitReplyLong(w7, 14, __VA_ARGS__)
#define gex_AM_CommitReplyLong14_v2(...) GASNETI_SCI_CommitReplyLong_v2(w7, 14, __VA_ARGS__)
#define gex_AM_CommitReplyLong15(...) GASNETI_SCI_CommitReplyLong(w8, 15, __VA_ARGS__)
#define gex_AM_CommitReplyLong15_v2(...) GASNETI_SCI_CommitReplyLong_v2(w8, 15, __VA_ARGS__)
#define gex_AM_CommitReplyLong16(...) GASNETI_SCI_CommitReplyLong(w8, 16, __VA_ARGS__)
#define gex_AM_CommitReplyLong16_v2(...) GASNETI_SCI_CommitReplyLong_v2(w8, 16, __VA_ARGS__)
#define gex_AM_CommitReplyLong(...) GASNETI_SCI_NUMBERED(gex_AM_CommitReplyLong, GASNETI_SCI_COUNT4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong_v2(...) \
  GASNETI_SCI_NUMBERED(gex_AM_CommitReplyLong, GASNETI_SCI_PASTE(GASNETI_SCI_COUNT5(__VA_ARGS__), _v2))(__VA_ARGS__)

#endif
