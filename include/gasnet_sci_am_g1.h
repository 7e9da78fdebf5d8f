/* The public names of Active Messages of GASNet-1. Part of gasnet.h. Contract: core.md sections 9, 10. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_am_g1.h"
#endif
#ifndef GASNETI_SCI_AM_G1_H
#define GASNETI_SCI_AM_G1_H

#include "gasnet_sci_am_g1_rows.h"

/* ---- the variable-argument forms: numargs (0-16), then that many arguments, each passed as an int ---- */
GASNETI_SCI_INLINE int gasneti_sci_request_short_va(gasnet_node_t to, gasnet_handler_t handler, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_request_short(to, what, words);
}
#define gasnet_AMRequestShort(...) GASNETI_SCI_REQUEST("gasnet_AMRequestShort", gasneti_sci_request_short_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_medium_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_request_medium(to, what, src, nbytes, words);
}
#define gasnet_AMRequestMedium(...) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium", gasneti_sci_request_medium_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_long_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_request_long(to, what, src, nbytes, dest_addr, words);
}
#define gasnet_AMRequestLong(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLong", gasneti_sci_request_long_va(__VA_ARGS__))
#define gasnet_AMRequestLongAsync(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync", gasneti_sci_request_long_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_reply_short_va(gasnet_token_t to, gasnet_handler_t handler, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_reply_short(to, what, words);
}
#define GASNETI_SCI_ReplyShort_X(t, ...) gasneti_sci_reply_short_va(GASNETI_SCI_TOKEN("gasnet_AMReplyShort", t), __VA_ARGS__)
#define gasnet_AMReplyShort(...) GASNETI_SCI_ReplyShort_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_medium_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_reply_medium(to, what, src, nbytes, words);
}
#define GASNETI_SCI_ReplyMedium_X(t, ...) gasneti_sci_reply_medium_va(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium", t), __VA_ARGS__)
#define gasnet_AMReplyMedium(...) GASNETI_SCI_ReplyMedium_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_long_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  GASNETI_SCI_PACK_VA(0);
  return gasneti_sci_reply_long(to, what, src, nbytes, dest_addr, words);
}
#define GASNETI_SCI_ReplyLong_X(t, ...) gasneti_sci_reply_long_va(GASNETI_SCI_TOKEN("gasnet_AMReplyLong", t), __VA_ARGS__)
#define gasnet_AMReplyLong(...) GASNETI_SCI_ReplyLong_X(__VA_ARGS__)

/* The same functions by other names, which small programs call (contract: core.md appendix B). gasnetex.h alone defines these
 * names in the form of GASNet-EX. */
#undef gasnetc_AMRequestShortM
#undef gasnetc_AMRequestMediumM
#undef gasnetc_AMRequestLongM
#undef gasnetc_AMReplyShortM
#undef gasnetc_AMReplyMediumM
#undef gasnetc_AMReplyLongM
#define gasnetc_AMRequestShortM gasnet_AMRequestShort
#define gasnetc_AMRequestMediumM gasnet_AMRequestMedium
#define gasnetc_AMRequestLongM gasnet_AMRequestLong
#define gasnetc_AMRequestLongAsyncM gasnet_AMRequestLongAsync
#define gasnetc_AMReplyShortM gasnet_AMReplyShort
#define gasnetc_AMReplyMediumM gasnet_AMReplyMedium
#define gasnetc_AMReplyLongM gasnet_AMReplyLong

/* ---- token queries ---- */
#define gasnet_AMGetMsgSource(token, node) gasneti_sci_msg_source((token), (node))

#endif
