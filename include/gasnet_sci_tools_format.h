/* Texts that describe non-contiguous transfers, for clients' traces. Part of gasnet_tools.h, only after gasnetex.h;
 * contract: tools.md section 15, ex-rma.md section 13.
 *
 * X_bufsz is the largest number of bytes that X writes, including the terminating NUL. The forms for a whole
 * transfer return its payload in bytes; the forms for a list return the bytes that the list describes. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_format.h"
#endif
#ifndef GASNETI_SCI_TOOLS_FORMAT_H
#define GASNETI_SCI_TOOLS_FORMAT_H
#if defined(_GASNETEX_H)
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

/* Bytes of the longest texts: of a number, of an entry of a list, and of all text outside lists. */
#define GASNETI_SCI_NUMBER_ROOM 24
#define GASNETI_SCI_ENTRY_ROOM 56
#define GASNETI_SCI_FRAME_ROOM 160

#define gasnett_format_memveclist_bufsz(count)                                                                       \
  (GASNETI_SCI_FRAME_ROOM + GASNETI_SCI_AS(size_t, count) * GASNETI_SCI_ENTRY_ROOM)
#define gasnett_format_addrlist_bufsz(count) gasnett_format_memveclist_bufsz(count)
#define gasnett_format_strides_bufsz(count)                                                                          \
  (GASNETI_SCI_FRAME_ROOM + GASNETI_SCI_AS(size_t, count) * GASNETI_SCI_NUMBER_ROOM)
#define gasnett_format_putvgetv_bufsz(dstcount, srccount)                                                            \
  (GASNETI_SCI_FRAME_ROOM + gasnett_format_memveclist_bufsz(dstcount) + gasnett_format_memveclist_bufsz(srccount))
#define gasnett_format_putigeti_bufsz(dstcount, srccount) gasnett_format_putvgetv_bufsz(dstcount, srccount)
#define gasnett_format_putsgets_bufsz(levels)                                                                        \
  (GASNETI_SCI_FRAME_ROOM + 3 * gasnett_format_strides_bufsz(GASNETI_SCI_AS(size_t, levels) + 1))

/* Lists of pieces are those of either API, which have the same layout: gasnet_memvec_t and gex_Memvec_t. So this copies bytes, as
 * a typed load of the other type might miss the client's stores. */
GASNETI_SCI_INLINE size_t gasneti_sci_format_memveclist(char *buf, size_t count, const void *list) {
  char *at = buf + sprintf(buf, "%lu entries:", (unsigned long)count);
  size_t i, total = 0;
  for (i = 0; i < count; i++) {
    gasnet_memvec_t piece;
    memcpy(&piece, (const char *)list + i * sizeof piece, sizeof piece);
    at += sprintf(at, " [0x%lx, %lu]", (unsigned long)(uintptr_t)piece.addr, (unsigned long)piece.len);
    total += piece.len;
  }
  (void)sprintf(at, " = %lu bytes", (unsigned long)total);
  return total;
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_addrlist(char *buf, size_t count, void *const *list, size_t len) {
  char *at = buf + sprintf(buf, "%lu entries of %lu bytes:", (unsigned long)count, (unsigned long)len);
  size_t i;
  for (i = 0; i < count; i++) at += sprintf(at, " 0x%lx", (unsigned long)(uintptr_t)list[i]);
  (void)sprintf(at, " = %lu bytes", (unsigned long)(count * len));
  return count * len;
}
/* Strides are ptrdiff_t, or size_t of GASNet-1. Those above half the address space go backwards in both. */
GASNETI_SCI_INLINE void gasneti_sci_format_strides(char *buf, size_t count, const void *list) {
  const ptrdiff_t *strides = (const ptrdiff_t *)list;
  char *at = buf + sprintf(buf, "[");
  size_t i;
  for (i = 0; i < count; i++) at += sprintf(at, i ? ", %ld" : "%ld", (long)strides[i]);
  (void)sprintf(at, "]");
}

/* Whole transfers, behind the words that name the other side. */
GASNETI_SCI_INLINE size_t gasneti_sci_format_lists(char *at, size_t dstcount, const void *dst, size_t srccount, const void *src) {
  (void)gasneti_sci_format_memveclist(at, dstcount, dst);
  at += strlen(at);
  at += sprintf(at, ", from ");
  return gasneti_sci_format_memveclist(at, srccount, src);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_places(char *at, size_t dstcount, void *const *dst, size_t dstlen, size_t srccount,
                                                    void *const *src, size_t srclen) {
  (void)gasneti_sci_format_addrlist(at, dstcount, dst, dstlen);
  at += strlen(at);
  at += sprintf(at, ", from ");
  return gasneti_sci_format_addrlist(at, srccount, src, srclen);
}
/* `element` is the number of bytes that lie together. It is the first one that the text counts. */
GASNETI_SCI_INLINE size_t gasneti_sci_format_section(char *at, const void *dst, const void *dststrides, const void *src,
                                                     const void *srcstrides, size_t element, const size_t *count, size_t levels) {
  size_t i, total = element;
  at += sprintf(at, "0x%lx ", (unsigned long)(uintptr_t)dst);
  gasneti_sci_format_strides(at, levels, dststrides);
  at += strlen(at);
  at += sprintf(at, ", from 0x%lx ", (unsigned long)(uintptr_t)src);
  gasneti_sci_format_strides(at, levels, srcstrides);
  at += strlen(at);
  at += sprintf(at, ", counts [%lu", (unsigned long)element);
  for (i = 0; i < levels; i++) {
    at += sprintf(at, ", %lu", (unsigned long)count[i]);
    total *= count[i];
  }
  (void)sprintf(at, "] = %lu bytes", (unsigned long)total);
  return total;
}

/* The forms of GASNet-1 name a node, those of GASNet-EX a team and a rank. */
#define GASNETI_SCI_FORMAT_NODE(buf, node) ((buf) + sprintf((buf), "node %u, to ", (unsigned)(node)))
#define GASNETI_SCI_FORMAT_RANK(buf, tm, rank) ((void)(tm), (buf) + sprintf((buf), "rank %u, to ", (unsigned)(rank)))
GASNETI_SCI_INLINE size_t gasneti_sci_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount, const void *dst,
                                                      size_t srccount, const void *src) {
  return gasneti_sci_format_lists(GASNETI_SCI_FORMAT_NODE(buf, node), dstcount, dst, srccount, src);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_ex_putvgetv(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, const void *dst,
                                                         size_t srccount, const void *src) {
  return gasneti_sci_format_lists(GASNETI_SCI_FORMAT_RANK(buf, tm, rank), dstcount, dst, srccount, src);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount, void *const *dst, size_t dstlen,
                                                      size_t srccount, void *const *src, size_t srclen) {
  return gasneti_sci_format_places(GASNETI_SCI_FORMAT_NODE(buf, node), dstcount, dst, dstlen, srccount, src, srclen);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_ex_putigeti(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount, void *const *dst,
                                                         size_t dstlen, size_t srccount, void *const *src, size_t srclen) {
  return gasneti_sci_format_places(GASNETI_SCI_FORMAT_RANK(buf, tm, rank), dstcount, dst, dstlen, srccount, src, srclen);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_putsgets(char *buf, void *pstats, gasnet_node_t node, const void *dst,
                                                      const void *dststrides, const void *src, const void *srcstrides,
                                                      const size_t *count, size_t levels) {
  (void)pstats;
  return gasneti_sci_format_section(GASNETI_SCI_FORMAT_NODE(buf, node), dst, dststrides, src, srcstrides, count[0], count + 1,
                                    levels);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_ex_putsgets(char *buf, void *pstats, gex_TM_t tm, gex_Rank_t rank, const void *dst,
                                                         const void *dststrides, const void *src, const void *srcstrides,
                                                         size_t element, const size_t *count, size_t levels) {
  (void)pstats;
  return gasneti_sci_format_section(GASNETI_SCI_FORMAT_RANK(buf, tm, rank), dst, dststrides, src, srcstrides, element, count, levels);
}

#define gasnett_format_memveclist(buf, count, list) gasneti_sci_format_memveclist((buf), (count), (list))
#define gasnett_format_addrlist(buf, count, list, len) gasneti_sci_format_addrlist((buf), (count), (list), (len))
#define gasnett_format_strides(buf, count, list) gasneti_sci_format_strides((buf), (count), (list))

/* Clients may use both APIs, whatever headers they include. The number of arguments tells which form a call has:
 *   (buf, node, dstcount, dstlist, srccount, srclist)                           with (tm, rank) for node in GASNet-EX
 *   (buf, node, dstcount, dstlist, dstlen, srccount, srclist, srclen)           the same
 *   (buf, pstats, node, dst, dststrides, src, srcstrides, count, levels)        the same, with elemsz before count
 * pstats is ignored: NULL, or memory in which other implementations of GASNet keep statistics. */
#define GASNETI_SCI_8TH(a, b, c, d, e, f, g, h, ...) h
#define GASNETI_SCI_10TH(a, b, c, d, e, f, g, h, i, j, ...) j
#define GASNETI_SCI_12TH(a, b, c, d, e, f, g, h, i, j, k, l, ...) l
#define gasnett_format_putvgetv(...)                                                                                 \
  GASNETI_SCI_8TH(__VA_ARGS__, gasneti_sci_format_ex_putvgetv, gasneti_sci_format_putvgetv, 0)(__VA_ARGS__)
#define gasnett_format_putigeti(...)                                                                                 \
  GASNETI_SCI_10TH(__VA_ARGS__, gasneti_sci_format_ex_putigeti, gasneti_sci_format_putigeti, 0)(__VA_ARGS__)
#define gasnett_format_putsgets(...)                                                                                 \
  GASNETI_SCI_12TH(__VA_ARGS__, gasneti_sci_format_ex_putsgets, gasneti_sci_format_ex_putsgets, gasneti_sci_format_putsgets, \
                   0)(__VA_ARGS__)

/* The names of the bits of `set`, ascending, with | between them; "(empty)" for 0. A bit without a name is a number. Each returns
 * the bytes that it writes, the terminating NUL included; if `buf` is NULL, those that it would write. `names` has a NULL or a
 * name for each of its `count` bits. */
GASNETI_SCI_INLINE size_t gasneti_sci_format_set(char *buf, uint32_t set, const char *prefix, const char *const *names, int count) {
  size_t at = 0;
  int bit;
  for (bit = 0; bit < 32; bit++) {
    char number[GASNETI_SCI_NUMBER_ROOM];
    const char *word[3];
    int i;
    if (!(set >> bit & 1)) continue;
    (void)sprintf(number, "(1<<%d)", bit);
    word[0] = at ? "|" : "";
    word[1] = bit < count && names[bit] ? prefix : "";
    word[2] = bit < count && names[bit] ? names[bit] : number;
    for (i = 0; i < 3; i++) {
      size_t n = strlen(word[i]);
      if (buf) memcpy(buf + at, word[i], n);
      at += n;
    }
  }
  if (!at) {
    if (buf) memcpy(buf, "(empty)", 7);
    at = 7;
  }
  if (buf) buf[at] = 0;
  return at + 1;
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_dt(char *buf, gex_DT_t dt) {
  static const char *const names[] = {"I32", "U32", "I64", "U64", "FLT", "DBL", "USER"};
  return gasneti_sci_format_set(buf, dt, "GEX_DT_", names, 7);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_op(char *buf, gex_OP_t op) {
  static const char *const names[] = {"AND",  "OR",    "XOR",  "ADD",  "SUB",  "MULT", "MIN",  "MAX",  "INC", "DEC",     "SET",
                                      "CAS",  NULL,    NULL,   NULL,   "FAND", "FOR",  "FXOR", "FADD", "FSUB", "FMULT",  "FMIN",
                                      "FMAX", "FINC",  "FDEC", "SWAP", "FCAS", "GET",  NULL,   NULL,   "USER", "USER_NC"};
  return gasneti_sci_format_set(buf, op, "GEX_OP_", names, 32);
}
GASNETI_SCI_INLINE size_t gasneti_sci_format_ti(char *buf, uint32_t ti) {
  static const char *const names[] = {"SRCRANK", "ENTRY", "IS_REQ", "IS_LONG", "EP"};
  return gasneti_sci_format_set(buf, ti, "GEX_TI_", names, 5);
}
#define gasnett_format_dt(buf, dt) gasneti_sci_format_dt((buf), (dt))
#define gasnett_format_op(buf, op) gasneti_sci_format_op((buf), (op))
#define gasnett_format_ti(buf, ti) gasneti_sci_format_ti((buf), GASNETI_SCI_AS(uint32_t, ti))

#endif
#endif
