/* The public names of Active Messages of GASNet-1. Part of gasnet.h. Contract: core.md sections 9, 10. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_am_g1.h"
#endif
#ifndef GASNETI_SCI_AM_G1_H
#define GASNETI_SCI_AM_G1_H

#define GASNETI_SCI_RequestShort(name, w, n, ...)                                                                    \
  GASNETI_SCI_REQUEST(name, GASNETI_SCI_ROW_SHORT(gasneti_sci_request_short_##w,                                     \
                      GASNETI_SCI_ARGS##n, GASNETI_SCI_NODE, name, __VA_ARGS__))
#define GASNETI_SCI_RequestShort0(n, h)                                                                              \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort0", gasneti_sci_request_short_w0((n), (h), 0))
#define gasnet_AMRequestShort0(...) GASNETI_SCI_RequestShort0(__VA_ARGS__)
#define gasnet_AMRequestShort1(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort1", w1, 1, __VA_ARGS__)
#define gasnet_AMRequestShort2(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort2", w1, 2, __VA_ARGS__)
#define gasnet_AMRequestShort3(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort3", w2, 3, __VA_ARGS__)
#define gasnet_AMRequestShort4(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort4", w2, 4, __VA_ARGS__)
#define gasnet_AMRequestShort5(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort5", w3, 5, __VA_ARGS__)
#define gasnet_AMRequestShort6(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort6", w3, 6, __VA_ARGS__)
#define gasnet_AMRequestShort7(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort7", w4, 7, __VA_ARGS__)
#define gasnet_AMRequestShort8(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort8", w4, 8, __VA_ARGS__)
#define gasnet_AMRequestShort9(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort9", w5, 9, __VA_ARGS__)
#define gasnet_AMRequestShort10(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort10", w5, 10, __VA_ARGS__)
#define gasnet_AMRequestShort11(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort11", w6, 11, __VA_ARGS__)
#define gasnet_AMRequestShort12(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort12", w6, 12, __VA_ARGS__)
#define gasnet_AMRequestShort13(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort13", w7, 13, __VA_ARGS__)
#define gasnet_AMRequestShort14(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort14", w7, 14, __VA_ARGS__)
#define gasnet_AMRequestShort15(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort15", w8, 15, __VA_ARGS__)
#define gasnet_AMRequestShort16(...) GASNETI_SCI_RequestShort("gasnet_AMRequestShort16", w8, 16, __VA_ARGS__)

#define GASNETI_SCI_RequestMedium(name, w, n, ...)                                                                   \
  GASNETI_SCI_REQUEST(name, GASNETI_SCI_ROW_MEDIUM(gasneti_sci_request_medium_##w,                                   \
                      GASNETI_SCI_ARGS##n, GASNETI_SCI_NODE, name, __VA_ARGS__))
#define GASNETI_SCI_RequestMedium0(n, h, s, l)                                                                       \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium0",                                                                     \
                      gasneti_sci_request_medium((n), (h), GASNETI_SCI_FROM(s), (l), NULL, 0))
#define gasnet_AMRequestMedium0(...) GASNETI_SCI_RequestMedium0(__VA_ARGS__)
#define gasnet_AMRequestMedium1(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium1", w1, 1, __VA_ARGS__)
#define gasnet_AMRequestMedium2(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium2", w1, 2, __VA_ARGS__)
#define gasnet_AMRequestMedium3(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium3", w2, 3, __VA_ARGS__)
#define gasnet_AMRequestMedium4(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium4", w2, 4, __VA_ARGS__)
#define gasnet_AMRequestMedium5(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium5", w3, 5, __VA_ARGS__)
#define gasnet_AMRequestMedium6(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium6", w3, 6, __VA_ARGS__)
#define gasnet_AMRequestMedium7(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium7", w4, 7, __VA_ARGS__)
#define gasnet_AMRequestMedium8(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium8", w4, 8, __VA_ARGS__)
#define gasnet_AMRequestMedium9(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium9", w5, 9, __VA_ARGS__)
#define gasnet_AMRequestMedium10(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium10", w5, 10, __VA_ARGS__)
#define gasnet_AMRequestMedium11(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium11", w6, 11, __VA_ARGS__)
#define gasnet_AMRequestMedium12(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium12", w6, 12, __VA_ARGS__)
#define gasnet_AMRequestMedium13(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium13", w7, 13, __VA_ARGS__)
#define gasnet_AMRequestMedium14(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium14", w7, 14, __VA_ARGS__)
#define gasnet_AMRequestMedium15(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium15", w8, 15, __VA_ARGS__)
#define gasnet_AMRequestMedium16(...) GASNETI_SCI_RequestMedium("gasnet_AMRequestMedium16", w8, 16, __VA_ARGS__)

#define GASNETI_SCI_RequestLong(name, w, n, ...)                                                                     \
  GASNETI_SCI_REQUEST(name, GASNETI_SCI_ROW_LONG(gasneti_sci_request_long_##w,                                       \
                      GASNETI_SCI_ARGS##n, GASNETI_SCI_NODE, name, __VA_ARGS__))
#define GASNETI_SCI_RequestLong0(n, h, s, l, d)                                                                      \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong0",                                                                       \
                      gasneti_sci_request_long((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0))
#define gasnet_AMRequestLong0(...) GASNETI_SCI_RequestLong0(__VA_ARGS__)
#define gasnet_AMRequestLong1(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong1", w1, 1, __VA_ARGS__)
#define gasnet_AMRequestLong2(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong2", w1, 2, __VA_ARGS__)
#define gasnet_AMRequestLong3(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong3", w2, 3, __VA_ARGS__)
#define gasnet_AMRequestLong4(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong4", w2, 4, __VA_ARGS__)
#define gasnet_AMRequestLong5(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong5", w3, 5, __VA_ARGS__)
#define gasnet_AMRequestLong6(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong6", w3, 6, __VA_ARGS__)
#define gasnet_AMRequestLong7(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong7", w4, 7, __VA_ARGS__)
#define gasnet_AMRequestLong8(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong8", w4, 8, __VA_ARGS__)
#define gasnet_AMRequestLong9(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong9", w5, 9, __VA_ARGS__)
#define gasnet_AMRequestLong10(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong10", w5, 10, __VA_ARGS__)
#define gasnet_AMRequestLong11(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong11", w6, 11, __VA_ARGS__)
#define gasnet_AMRequestLong12(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong12", w6, 12, __VA_ARGS__)
#define gasnet_AMRequestLong13(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong13", w7, 13, __VA_ARGS__)
#define gasnet_AMRequestLong14(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong14", w7, 14, __VA_ARGS__)
#define gasnet_AMRequestLong15(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong15", w8, 15, __VA_ARGS__)
#define gasnet_AMRequestLong16(...) GASNETI_SCI_RequestLong("gasnet_AMRequestLong16", w8, 16, __VA_ARGS__)

/* The payload is free for reuse at return, as with gasnet_AMRequestLong. */
#define GASNETI_SCI_RequestLongAsync(name, w, n, ...)                                                                \
  GASNETI_SCI_REQUEST(name, GASNETI_SCI_ROW_LONG(gasneti_sci_request_long_##w,                                       \
                      GASNETI_SCI_ARGS##n, GASNETI_SCI_NODE, name, __VA_ARGS__))
#define GASNETI_SCI_RequestLongAsync0(n, h, s, l, d)                                                                 \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync0",                                                                  \
                      gasneti_sci_request_long((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0))
#define gasnet_AMRequestLongAsync0(...) GASNETI_SCI_RequestLongAsync0(__VA_ARGS__)
#define gasnet_AMRequestLongAsync1(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync1", w1, 1, __VA_ARGS__)
#define gasnet_AMRequestLongAsync2(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync2", w1, 2, __VA_ARGS__)
#define gasnet_AMRequestLongAsync3(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync3", w2, 3, __VA_ARGS__)
#define gasnet_AMRequestLongAsync4(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync4", w2, 4, __VA_ARGS__)
#define gasnet_AMRequestLongAsync5(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync5", w3, 5, __VA_ARGS__)
#define gasnet_AMRequestLongAsync6(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync6", w3, 6, __VA_ARGS__)
#define gasnet_AMRequestLongAsync7(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync7", w4, 7, __VA_ARGS__)
#define gasnet_AMRequestLongAsync8(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync8", w4, 8, __VA_ARGS__)
#define gasnet_AMRequestLongAsync9(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync9", w5, 9, __VA_ARGS__)
#define gasnet_AMRequestLongAsync10(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync10", w5, 10, __VA_ARGS__)
#define gasnet_AMRequestLongAsync11(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync11", w6, 11, __VA_ARGS__)
#define gasnet_AMRequestLongAsync12(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync12", w6, 12, __VA_ARGS__)
#define gasnet_AMRequestLongAsync13(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync13", w7, 13, __VA_ARGS__)
#define gasnet_AMRequestLongAsync14(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync14", w7, 14, __VA_ARGS__)
#define gasnet_AMRequestLongAsync15(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync15", w8, 15, __VA_ARGS__)
#define gasnet_AMRequestLongAsync16(...) GASNETI_SCI_RequestLongAsync("gasnet_AMRequestLongAsync16", w8, 16, __VA_ARGS__)

#define GASNETI_SCI_ReplyShort(name, w, n, ...)                                                                      \
  GASNETI_SCI_ROW_SHORT(gasneti_sci_reply_short_##w, GASNETI_SCI_ARGS##n, GASNETI_SCI_TOKEN, name, __VA_ARGS__)
#define GASNETI_SCI_ReplyShort0(t, h)                                                                                \
  gasneti_sci_reply_short_w0(GASNETI_SCI_TOKEN("gasnet_AMReplyShort0", t), (h), 0)
#define gasnet_AMReplyShort0(...) GASNETI_SCI_ReplyShort0(__VA_ARGS__)
#define gasnet_AMReplyShort1(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort1", w1, 1, __VA_ARGS__)
#define gasnet_AMReplyShort2(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort2", w1, 2, __VA_ARGS__)
#define gasnet_AMReplyShort3(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort3", w2, 3, __VA_ARGS__)
#define gasnet_AMReplyShort4(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort4", w2, 4, __VA_ARGS__)
#define gasnet_AMReplyShort5(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort5", w3, 5, __VA_ARGS__)
#define gasnet_AMReplyShort6(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort6", w3, 6, __VA_ARGS__)
#define gasnet_AMReplyShort7(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort7", w4, 7, __VA_ARGS__)
#define gasnet_AMReplyShort8(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort8", w4, 8, __VA_ARGS__)
#define gasnet_AMReplyShort9(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort9", w5, 9, __VA_ARGS__)
#define gasnet_AMReplyShort10(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort10", w5, 10, __VA_ARGS__)
#define gasnet_AMReplyShort11(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort11", w6, 11, __VA_ARGS__)
#define gasnet_AMReplyShort12(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort12", w6, 12, __VA_ARGS__)
#define gasnet_AMReplyShort13(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort13", w7, 13, __VA_ARGS__)
#define gasnet_AMReplyShort14(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort14", w7, 14, __VA_ARGS__)
#define gasnet_AMReplyShort15(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort15", w8, 15, __VA_ARGS__)
#define gasnet_AMReplyShort16(...) GASNETI_SCI_ReplyShort("gasnet_AMReplyShort16", w8, 16, __VA_ARGS__)

#define GASNETI_SCI_ReplyMedium(name, w, n, ...)                                                                     \
  GASNETI_SCI_ROW_MEDIUM(gasneti_sci_reply_medium_##w, GASNETI_SCI_ARGS##n, GASNETI_SCI_TOKEN, name, __VA_ARGS__)
#define GASNETI_SCI_ReplyMedium0(t, h, s, l)                                                                         \
  gasneti_sci_reply_medium(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium0", t), (h), GASNETI_SCI_FROM(s), (l), NULL, 0)
#define gasnet_AMReplyMedium0(...) GASNETI_SCI_ReplyMedium0(__VA_ARGS__)
#define gasnet_AMReplyMedium1(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium1", w1, 1, __VA_ARGS__)
#define gasnet_AMReplyMedium2(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium2", w1, 2, __VA_ARGS__)
#define gasnet_AMReplyMedium3(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium3", w2, 3, __VA_ARGS__)
#define gasnet_AMReplyMedium4(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium4", w2, 4, __VA_ARGS__)
#define gasnet_AMReplyMedium5(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium5", w3, 5, __VA_ARGS__)
#define gasnet_AMReplyMedium6(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium6", w3, 6, __VA_ARGS__)
#define gasnet_AMReplyMedium7(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium7", w4, 7, __VA_ARGS__)
#define gasnet_AMReplyMedium8(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium8", w4, 8, __VA_ARGS__)
#define gasnet_AMReplyMedium9(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium9", w5, 9, __VA_ARGS__)
#define gasnet_AMReplyMedium10(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium10", w5, 10, __VA_ARGS__)
#define gasnet_AMReplyMedium11(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium11", w6, 11, __VA_ARGS__)
#define gasnet_AMReplyMedium12(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium12", w6, 12, __VA_ARGS__)
#define gasnet_AMReplyMedium13(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium13", w7, 13, __VA_ARGS__)
#define gasnet_AMReplyMedium14(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium14", w7, 14, __VA_ARGS__)
#define gasnet_AMReplyMedium15(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium15", w8, 15, __VA_ARGS__)
#define gasnet_AMReplyMedium16(...) GASNETI_SCI_ReplyMedium("gasnet_AMReplyMedium16", w8, 16, __VA_ARGS__)

#define GASNETI_SCI_ReplyLong(name, w, n, ...)                                                                       \
  GASNETI_SCI_ROW_LONG(gasneti_sci_reply_long_##w, GASNETI_SCI_ARGS##n, GASNETI_SCI_TOKEN, name, __VA_ARGS__)
#define GASNETI_SCI_ReplyLong0(t, h, s, l, d)                                                                        \
  gasneti_sci_reply_long(GASNETI_SCI_TOKEN("gasnet_AMReplyLong0", t), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0)
#define gasnet_AMReplyLong0(...) GASNETI_SCI_ReplyLong0(__VA_ARGS__)
#define gasnet_AMReplyLong1(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong1", w1, 1, __VA_ARGS__)
#define gasnet_AMReplyLong2(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong2", w1, 2, __VA_ARGS__)
#define gasnet_AMReplyLong3(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong3", w2, 3, __VA_ARGS__)
#define gasnet_AMReplyLong4(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong4", w2, 4, __VA_ARGS__)
#define gasnet_AMReplyLong5(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong5", w3, 5, __VA_ARGS__)
#define gasnet_AMReplyLong6(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong6", w3, 6, __VA_ARGS__)
#define gasnet_AMReplyLong7(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong7", w4, 7, __VA_ARGS__)
#define gasnet_AMReplyLong8(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong8", w4, 8, __VA_ARGS__)
#define gasnet_AMReplyLong9(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong9", w5, 9, __VA_ARGS__)
#define gasnet_AMReplyLong10(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong10", w5, 10, __VA_ARGS__)
#define gasnet_AMReplyLong11(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong11", w6, 11, __VA_ARGS__)
#define gasnet_AMReplyLong12(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong12", w6, 12, __VA_ARGS__)
#define gasnet_AMReplyLong13(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong13", w7, 13, __VA_ARGS__)
#define gasnet_AMReplyLong14(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong14", w7, 14, __VA_ARGS__)
#define gasnet_AMReplyLong15(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong15", w8, 15, __VA_ARGS__)
#define gasnet_AMReplyLong16(...) GASNETI_SCI_ReplyLong("gasnet_AMReplyLong16", w8, 16, __VA_ARGS__)

/* ---- the variable-argument forms: numargs (0-16), then that many arguments, each passed as an int ---- */
GASNETI_SCI_INLINE int gasneti_sci_request_short_va(gasnet_node_t to, gasnet_handler_t handler, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_short(to, handler, words, (uint32_t)numargs);
}
#define gasnet_AMRequestShort(...) GASNETI_SCI_REQUEST("gasnet_AMRequestShort", gasneti_sci_request_short_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_medium_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_medium(to, handler, src, nbytes, words, (uint32_t)numargs);
}
#define gasnet_AMRequestMedium(...) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium", gasneti_sci_request_medium_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_long_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_long(to, handler, src, nbytes, dest_addr, words, (uint32_t)numargs);
}
#define gasnet_AMRequestLong(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLong", gasneti_sci_request_long_va(__VA_ARGS__))
#define gasnet_AMRequestLongAsync(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync", gasneti_sci_request_long_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_reply_short_va(gasnet_token_t to, gasnet_handler_t handler, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_short(to, handler, words, (uint32_t)numargs);
}
#define GASNETI_SCI_ReplyShort_X(t, ...) gasneti_sci_reply_short_va(GASNETI_SCI_TOKEN("gasnet_AMReplyShort", t), __VA_ARGS__)
#define gasnet_AMReplyShort(...) GASNETI_SCI_ReplyShort_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_medium_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_medium(to, handler, src, nbytes, words, (uint32_t)numargs);
}
#define GASNETI_SCI_ReplyMedium_X(t, ...) gasneti_sci_reply_medium_va(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium", t), __VA_ARGS__)
#define gasnet_AMReplyMedium(...) GASNETI_SCI_ReplyMedium_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_long_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_long(to, handler, src, nbytes, dest_addr, words, (uint32_t)numargs);
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
