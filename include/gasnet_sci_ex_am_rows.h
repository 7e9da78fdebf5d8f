/* GASNet-EX: the public names of Active Messages, made by the pattern that the first ones show. Part of gasnetex.h.
 * Contract: ex-core.md section 11. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_am_rows.h"
#endif
#ifndef GASNETI_SCI_EX_AM_ROWS_H
#define GASNETI_SCI_EX_AM_ROWS_H

#define GASNETI_SCI_EX_RequestShort(name, w, n, tm, rank, h, flags, ...) \
  gasneti_sci_ex_request_short_##w(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_RequestShort0(name, tm, rank, h, flags) \
  gasneti_sci_ex_request_short_w0(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_RequestShort0(...) GASNETI_SCI_EX_RequestShort0("gex_AM_RequestShort0", __VA_ARGS__)
#define gex_AM_RequestShort1(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort1", w1, 1, __VA_ARGS__)
#define gex_AM_RequestShort2(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort2", w1, 2, __VA_ARGS__)
#define gex_AM_RequestShort3(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort3", w2, 3, __VA_ARGS__)
#define gex_AM_RequestShort4(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort4", w2, 4, __VA_ARGS__)
#define gex_AM_RequestShort5(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort5", w3, 5, __VA_ARGS__)
#define gex_AM_RequestShort6(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort6", w3, 6, __VA_ARGS__)
#define gex_AM_RequestShort7(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort7", w4, 7, __VA_ARGS__)
#define gex_AM_RequestShort8(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort8", w4, 8, __VA_ARGS__)
#define gex_AM_RequestShort9(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort9", w5, 9, __VA_ARGS__)
#define gex_AM_RequestShort10(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort10", w5, 10, __VA_ARGS__)
#define gex_AM_RequestShort11(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort11", w6, 11, __VA_ARGS__)
#define gex_AM_RequestShort12(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort12", w6, 12, __VA_ARGS__)
#define gex_AM_RequestShort13(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort13", w7, 13, __VA_ARGS__)
#define gex_AM_RequestShort14(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort14", w7, 14, __VA_ARGS__)
#define gex_AM_RequestShort15(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort15", w8, 15, __VA_ARGS__)
#define gex_AM_RequestShort16(...) GASNETI_SCI_EX_RequestShort("gex_AM_RequestShort16", w8, 16, __VA_ARGS__)
#define gex_AM_RequestShort(...) GASNETI_SCI_NUMBERED(gex_AM_RequestShort, GASNETI_SCI_COUNT4(__VA_ARGS__))(__VA_ARGS__)

#define GASNETI_SCI_EX_RequestMedium(name, w, n, tm, rank, h, s, l, lc, flags, ...) \
  gasneti_sci_ex_request_medium_##w(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_EX_LC(name, lc, 0), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_RequestMedium0(name, tm, rank, h, s, l, lc, flags) \
  gasneti_sci_ex_request_medium_w0(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_EX_LC(name, lc, 0), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_RequestMedium0(...) GASNETI_SCI_EX_RequestMedium0("gex_AM_RequestMedium0", __VA_ARGS__)
#define gex_AM_RequestMedium1(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium1", w1, 1, __VA_ARGS__)
#define gex_AM_RequestMedium2(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium2", w1, 2, __VA_ARGS__)
#define gex_AM_RequestMedium3(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium3", w2, 3, __VA_ARGS__)
#define gex_AM_RequestMedium4(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium4", w2, 4, __VA_ARGS__)
#define gex_AM_RequestMedium5(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium5", w3, 5, __VA_ARGS__)
#define gex_AM_RequestMedium6(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium6", w3, 6, __VA_ARGS__)
#define gex_AM_RequestMedium7(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium7", w4, 7, __VA_ARGS__)
#define gex_AM_RequestMedium8(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium8", w4, 8, __VA_ARGS__)
#define gex_AM_RequestMedium9(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium9", w5, 9, __VA_ARGS__)
#define gex_AM_RequestMedium10(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium10", w5, 10, __VA_ARGS__)
#define gex_AM_RequestMedium11(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium11", w6, 11, __VA_ARGS__)
#define gex_AM_RequestMedium12(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium12", w6, 12, __VA_ARGS__)
#define gex_AM_RequestMedium13(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium13", w7, 13, __VA_ARGS__)
#define gex_AM_RequestMedium14(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium14", w7, 14, __VA_ARGS__)
#define gex_AM_RequestMedium15(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium15", w8, 15, __VA_ARGS__)
#define gex_AM_RequestMedium16(...) GASNETI_SCI_EX_RequestMedium("gex_AM_RequestMedium16", w8, 16, __VA_ARGS__)
#define gex_AM_RequestMedium(...) GASNETI_SCI_NUMBERED(gex_AM_RequestMedium, GASNETI_SCI_COUNT7(__VA_ARGS__))(__VA_ARGS__)

#define GASNETI_SCI_EX_RequestLong(name, w, n, tm, rank, h, s, l, d, lc, flags, ...) \
  gasneti_sci_ex_request_long_##w(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_EX_LC(name, lc, 0), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_RequestLong0(name, tm, rank, h, s, l, d, lc, flags) \
  gasneti_sci_ex_request_long_w0(name, GASNETI_SCI_EX_NODE(name, tm, rank), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_EX_LC(name, lc, 0), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_RequestLong0(...) GASNETI_SCI_EX_RequestLong0("gex_AM_RequestLong0", __VA_ARGS__)
#define gex_AM_RequestLong1(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong1", w1, 1, __VA_ARGS__)
#define gex_AM_RequestLong2(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong2", w1, 2, __VA_ARGS__)
#define gex_AM_RequestLong3(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong3", w2, 3, __VA_ARGS__)
#define gex_AM_RequestLong4(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong4", w2, 4, __VA_ARGS__)
#define gex_AM_RequestLong5(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong5", w3, 5, __VA_ARGS__)
#define gex_AM_RequestLong6(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong6", w3, 6, __VA_ARGS__)
#define gex_AM_RequestLong7(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong7", w4, 7, __VA_ARGS__)
#define gex_AM_RequestLong8(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong8", w4, 8, __VA_ARGS__)
#define gex_AM_RequestLong9(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong9", w5, 9, __VA_ARGS__)
#define gex_AM_RequestLong10(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong10", w5, 10, __VA_ARGS__)
#define gex_AM_RequestLong11(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong11", w6, 11, __VA_ARGS__)
#define gex_AM_RequestLong12(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong12", w6, 12, __VA_ARGS__)
#define gex_AM_RequestLong13(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong13", w7, 13, __VA_ARGS__)
#define gex_AM_RequestLong14(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong14", w7, 14, __VA_ARGS__)
#define gex_AM_RequestLong15(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong15", w8, 15, __VA_ARGS__)
#define gex_AM_RequestLong16(...) GASNETI_SCI_EX_RequestLong("gex_AM_RequestLong16", w8, 16, __VA_ARGS__)
#define gex_AM_RequestLong(...) GASNETI_SCI_NUMBERED(gex_AM_RequestLong, GASNETI_SCI_COUNT8(__VA_ARGS__))(__VA_ARGS__)

#define GASNETI_SCI_EX_ReplyShort(name, w, n, token, h, flags, ...) \
  gasneti_sci_ex_reply_short_##w(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_ReplyShort0(name, token, h, flags) \
  gasneti_sci_ex_reply_short_w0(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_ReplyShort0(...) GASNETI_SCI_EX_ReplyShort0("gex_AM_ReplyShort0", __VA_ARGS__)
#define gex_AM_ReplyShort1(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort1", w1, 1, __VA_ARGS__)
#define gex_AM_ReplyShort2(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort2", w1, 2, __VA_ARGS__)
#define gex_AM_ReplyShort3(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort3", w2, 3, __VA_ARGS__)
#define gex_AM_ReplyShort4(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort4", w2, 4, __VA_ARGS__)
#define gex_AM_ReplyShort5(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort5", w3, 5, __VA_ARGS__)
#define gex_AM_ReplyShort6(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort6", w3, 6, __VA_ARGS__)
#define gex_AM_ReplyShort7(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort7", w4, 7, __VA_ARGS__)
#define gex_AM_ReplyShort8(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort8", w4, 8, __VA_ARGS__)
#define gex_AM_ReplyShort9(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort9", w5, 9, __VA_ARGS__)
#define gex_AM_ReplyShort10(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort10", w5, 10, __VA_ARGS__)
#define gex_AM_ReplyShort11(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort11", w6, 11, __VA_ARGS__)
#define gex_AM_ReplyShort12(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort12", w6, 12, __VA_ARGS__)
#define gex_AM_ReplyShort13(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort13", w7, 13, __VA_ARGS__)
#define gex_AM_ReplyShort14(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort14", w7, 14, __VA_ARGS__)
#define gex_AM_ReplyShort15(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort15", w8, 15, __VA_ARGS__)
#define gex_AM_ReplyShort16(...) GASNETI_SCI_EX_ReplyShort("gex_AM_ReplyShort16", w8, 16, __VA_ARGS__)
#define gex_AM_ReplyShort(...) GASNETI_SCI_NUMBERED(gex_AM_ReplyShort, GASNETI_SCI_COUNT3(__VA_ARGS__))(__VA_ARGS__)

#define GASNETI_SCI_EX_ReplyMedium(name, w, n, token, h, s, l, lc, flags, ...) \
  gasneti_sci_ex_reply_medium_##w(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_EX_LC(name, lc, 1), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_ReplyMedium0(name, token, h, s, l, lc, flags) \
  gasneti_sci_ex_reply_medium_w0(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_EX_LC(name, lc, 1), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_ReplyMedium0(...) GASNETI_SCI_EX_ReplyMedium0("gex_AM_ReplyMedium0", __VA_ARGS__)
#define gex_AM_ReplyMedium1(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium1", w1, 1, __VA_ARGS__)
#define gex_AM_ReplyMedium2(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium2", w1, 2, __VA_ARGS__)
#define gex_AM_ReplyMedium3(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium3", w2, 3, __VA_ARGS__)
#define gex_AM_ReplyMedium4(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium4", w2, 4, __VA_ARGS__)
#define gex_AM_ReplyMedium5(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium5", w3, 5, __VA_ARGS__)
#define gex_AM_ReplyMedium6(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium6", w3, 6, __VA_ARGS__)
#define gex_AM_ReplyMedium7(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium7", w4, 7, __VA_ARGS__)
#define gex_AM_ReplyMedium8(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium8", w4, 8, __VA_ARGS__)
#define gex_AM_ReplyMedium9(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium9", w5, 9, __VA_ARGS__)
#define gex_AM_ReplyMedium10(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium10", w5, 10, __VA_ARGS__)
#define gex_AM_ReplyMedium11(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium11", w6, 11, __VA_ARGS__)
#define gex_AM_ReplyMedium12(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium12", w6, 12, __VA_ARGS__)
#define gex_AM_ReplyMedium13(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium13", w7, 13, __VA_ARGS__)
#define gex_AM_ReplyMedium14(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium14", w7, 14, __VA_ARGS__)
#define gex_AM_ReplyMedium15(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium15", w8, 15, __VA_ARGS__)
#define gex_AM_ReplyMedium16(...) GASNETI_SCI_EX_ReplyMedium("gex_AM_ReplyMedium16", w8, 16, __VA_ARGS__)
#define gex_AM_ReplyMedium(...) GASNETI_SCI_NUMBERED(gex_AM_ReplyMedium, GASNETI_SCI_COUNT6(__VA_ARGS__))(__VA_ARGS__)

#define GASNETI_SCI_EX_ReplyLong(name, w, n, token, h, s, l, d, lc, flags, ...) \
  gasneti_sci_ex_reply_long_##w(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_EX_LC(name, lc, 1), GASNETI_SCI_EX_FLAGS(name, flags), \
                          GASNETI_SCI_ARGS##n(__VA_ARGS__))
#define GASNETI_SCI_EX_ReplyLong0(name, token, h, s, l, d, lc, flags) \
  gasneti_sci_ex_reply_long_w0(name, GASNETI_SCI_TOKEN(name, token), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_EX_LC(name, lc, 1), GASNETI_SCI_EX_FLAGS(name, flags), 0)
#define gex_AM_ReplyLong0(...) GASNETI_SCI_EX_ReplyLong0("gex_AM_ReplyLong0", __VA_ARGS__)
#define gex_AM_ReplyLong1(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong1", w1, 1, __VA_ARGS__)
#define gex_AM_ReplyLong2(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong2", w1, 2, __VA_ARGS__)
#define gex_AM_ReplyLong3(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong3", w2, 3, __VA_ARGS__)
#define gex_AM_ReplyLong4(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong4", w2, 4, __VA_ARGS__)
#define gex_AM_ReplyLong5(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong5", w3, 5, __VA_ARGS__)
#define gex_AM_ReplyLong6(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong6", w3, 6, __VA_ARGS__)
#define gex_AM_ReplyLong7(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong7", w4, 7, __VA_ARGS__)
#define gex_AM_ReplyLong8(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong8", w4, 8, __VA_ARGS__)
#define gex_AM_ReplyLong9(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong9", w5, 9, __VA_ARGS__)
#define gex_AM_ReplyLong10(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong10", w5, 10, __VA_ARGS__)
#define gex_AM_ReplyLong11(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong11", w6, 11, __VA_ARGS__)
#define gex_AM_ReplyLong12(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong12", w6, 12, __VA_ARGS__)
#define gex_AM_ReplyLong13(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong13", w7, 13, __VA_ARGS__)
#define gex_AM_ReplyLong14(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong14", w7, 14, __VA_ARGS__)
#define gex_AM_ReplyLong15(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong15", w8, 15, __VA_ARGS__)
#define gex_AM_ReplyLong16(...) GASNETI_SCI_EX_ReplyLong("gex_AM_ReplyLong16", w8, 16, __VA_ARGS__)
#define gex_AM_ReplyLong(...) GASNETI_SCI_NUMBERED(gex_AM_ReplyLong, GASNETI_SCI_COUNT7(__VA_ARGS__))(__VA_ARGS__)

#endif
