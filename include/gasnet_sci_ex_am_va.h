/* GASNet-EX: messages whose number of arguments is a value. Part of gasnetex.h. Clients that make calls from templates use these
 * names (contract: core.md appendix B): numargs (0-16), then that many arguments, each passed as an int. gasnet.h, where it is
 * included, gives the names the form of GASNet-1. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_am_va.h"
#endif
#ifndef GASNETI_SCI_EX_AM_VA_H
#define GASNETI_SCI_EX_AM_VA_H

GASNETI_SCI_INLINE int gasneti_sci_ex_request_short_va(gex_TM_t tm, gex_Rank_t rank, gasnet_handler_t handler,
    gex_Flags_t flags, int numargs, ...) {
  const gex_Rank_t to = GASNETI_SCI_EX_NODE("gex_AM_RequestShort", tm, rank);
  GASNETI_SCI_PACK_VA(GASNETI_SCI_EX_HOW(flags));
  return gasneti_sci_asked(gasneti_sci_request_short(to, what, words), flags);
}
GASNETI_SCI_INLINE int gasneti_sci_ex_request_medium_va(gex_TM_t tm, gex_Rank_t rank, gasnet_handler_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt,
    gex_Flags_t flags, int numargs, ...) {
  const gex_Rank_t to = GASNETI_SCI_EX_NODE("gex_AM_RequestMedium", tm, rank);
  GASNETI_SCI_PACK_VA(GASNETI_SCI_EX_HOW(flags));
  if (gasneti_sci_asked(gasneti_sci_request_medium(to, what, src, nbytes, words), flags)) return 1;
  gasneti_sci_taken(lc_opt);
  return 0;
}
GASNETI_SCI_INLINE int gasneti_sci_ex_request_long_va(gex_TM_t tm, gex_Rank_t rank, gasnet_handler_t handler, const void *src, size_t nbytes, void *dest_addr, gex_Event_t *lc_opt,
    gex_Flags_t flags, int numargs, ...) {
  const gex_Rank_t to = GASNETI_SCI_EX_NODE("gex_AM_RequestLong", tm, rank);
  GASNETI_SCI_PACK_VA(GASNETI_SCI_EX_HOW(flags));
  if (gasneti_sci_asked(gasneti_sci_request_long(to, what, src, nbytes, dest_addr, words), flags)) return 1;
  gasneti_sci_taken(lc_opt);
  return 0;
}
GASNETI_SCI_INLINE int gasneti_sci_ex_reply_short_va(gex_Token_t token, gasnet_handler_t handler,
    gex_Flags_t flags, int numargs, ...) {
  GASNETI_SCI_PACK_VA(GASNETI_SCI_AM_EX);
  (void)flags;
  return gasneti_sci_reply_short(token, what, words);
}
GASNETI_SCI_INLINE int gasneti_sci_ex_reply_medium_va(gex_Token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt,
    gex_Flags_t flags, int numargs, ...) {
  GASNETI_SCI_PACK_VA(GASNETI_SCI_AM_EX);
  (void)flags;
  (void)gasneti_sci_reply_medium(token, what, src, nbytes, words);
  gasneti_sci_taken(lc_opt);
  return 0;
}
GASNETI_SCI_INLINE int gasneti_sci_ex_reply_long_va(gex_Token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, void *dest_addr, gex_Event_t *lc_opt,
    gex_Flags_t flags, int numargs, ...) {
  GASNETI_SCI_PACK_VA(GASNETI_SCI_AM_EX);
  (void)flags;
  (void)gasneti_sci_reply_long(token, what, src, nbytes, dest_addr, words);
  gasneti_sci_taken(lc_opt);
  return 0;
}

#define gasnetc_AMRequestShortM gasneti_sci_ex_request_short_va
#define gasnetc_AMRequestMediumM gasneti_sci_ex_request_medium_va
#define gasnetc_AMRequestLongM gasneti_sci_ex_request_long_va
#define gasnetc_AMReplyShortM gasneti_sci_ex_reply_short_va
#define gasnetc_AMReplyMediumM gasneti_sci_ex_reply_medium_va
#define gasnetc_AMReplyLongM gasneti_sci_ex_reply_long_va

#endif
