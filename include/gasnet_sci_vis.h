/* Vector, indexed and strided transfers of few pieces, inline. Part of gasnet_vis.h.
 *
 * A call of the library costs about 15 ns, as much as 16 to 32 pieces. Inline, 4 pieces of 8 bytes take 8 ns instead
 * of 22 (a loop by hand: 5; testvisperf, 2026-11, Xeon, gcc 12). The library makes the transfers
 * - of pieces of other sizes, of many pieces, and of pieces that are cut differently on the two sides,
 * - to and from nodes that are not mapped here,
 * - that are recorded or counted (then gasneti_sci_few is 0), and those of debug builds, which check first.
 *
 * Each function returns 0 and does nothing if it leaves the transfer to the library. Addresses and distances are
 * numbers, so a stride may be "negative" modulo 2^64 at levels that repeat once. The fences are those of
 * gasnet_sci_rma.h. */
#if !defined(GASNETI_SCI_IN_VIS_H)
#error "include gasnet_vis.h, not gasnet_sci_vis.h"
#endif
#ifndef GASNETI_SCI_VIS_FEW_H
#define GASNETI_SCI_VIS_FEW_H

#if !defined(GASNET_DEBUG) && !defined(GASNET_SEGMENT_EVERYTHING) && defined(__GNUC__)

/* Does `copy(N)` for pieces of N = `len` bytes, if that is a common size. N is a constant, so that a piece is a few
 * loads and stores. */
#define GASNETI_SCI_FEW_SIZES(len, copy)                                                                             \
  switch (len) {                                                                                                     \
    case 1: copy(1) break;                                                                                           \
    case 2: copy(2) break;                                                                                           \
    case 4: copy(4) break;                                                                                           \
    case 8: copy(8) break;                                                                                           \
    case 16: copy(16) break;                                                                                         \
    case 32: copy(32) break;                                                                                         \
    case 64: copy(64) break;                                                                                         \
    case 128: copy(128) break;                                                                                       \
    default: return 0;                                                                                               \
  }
#define GASNETI_SCI_FEW_PIECE(to, from, bytes) memcpy((void *)(to), (const void *)(from), bytes);

/* Reads a piece of a client's list. Runtimes pass lists of a pair type of their own (vis.md section 1). So this
 * copies bytes: with a typed load the compiler might assume that the client's stores to its own type do not change
 * the list. */
GASNETI_SCI_ALWAYS gasnet_memvec_t gasneti_sci_few_piece(gasnet_memvec_t const *list, size_t i) {
  gasnet_memvec_t piece;
  memcpy(&piece, list + i, sizeof piece);
  return piece;
}

GASNETI_SCI_INLINE int gasneti_sci_few_pieces(gasnet_memvec_t const *dst, gasnet_memvec_t const *src, size_t n,
                                              const uintptr_t move[2]) {
  const uintptr_t to = move[0], from = move[1];
  const size_t len = n ? gasneti_sci_few_piece(dst, 0).len : 1;
  size_t i;
  for (i = 0; i < n; i++)
    if (gasneti_sci_few_piece(dst, i).len != len || gasneti_sci_few_piece(src, i).len != len) return 0;
#define GASNETI_SCI_FEW_COPY(N)                                                                                      \
  for (i = 0; i < n; i++)                                                                                            \
    GASNETI_SCI_FEW_PIECE((uintptr_t)gasneti_sci_few_piece(dst, i).addr + to,                                        \
                          (uintptr_t)gasneti_sci_few_piece(src, i).addr + from, N)
  GASNETI_SCI_FEW_SIZES(len, GASNETI_SCI_FEW_COPY)
#undef GASNETI_SCI_FEW_COPY
  return 1;
}

GASNETI_SCI_INLINE int gasneti_sci_few_places(void *const *dst, void *const *src, size_t n, size_t len,
                                              const uintptr_t move[2]) {
  const uintptr_t to = move[0], from = move[1];
  size_t i;
#define GASNETI_SCI_FEW_COPY(N)                                                                                      \
  for (i = 0; i < n; i++) GASNETI_SCI_FEW_PIECE((uintptr_t)dst[i] + to, (uintptr_t)src[i] + from, N)
  GASNETI_SCI_FEW_SIZES(len, GASNETI_SCI_FEW_COPY)
#undef GASNETI_SCI_FEW_COPY
  return 1;
}

/* Strided transfers of one or two levels. One level has a loop of its own, which compilers unroll better than an
 * inner loop. */
GASNETI_SCI_INLINE int gasneti_sci_few_rows(uintptr_t to, const size_t *dststrides, uintptr_t from,
                                            const size_t *srcstrides, const size_t *count, size_t levels) {
  const size_t n = count[1], rows = levels == 2 ? count[2] : 1;
  const uintptr_t dst_step = dststrides[0], src_step = srcstrides[0];
  size_t i, j;
  /* Empty transfers are calls, as those of lists are. */
  if (n - 1 >= gasneti_sci_few || rows - 1 >= gasneti_sci_few || n * rows > gasneti_sci_few) return 0;
#define GASNETI_SCI_FEW_ROW(N)                                                                                       \
  for (i = 0; i < n; i++) GASNETI_SCI_FEW_PIECE(to + i * dst_step, from + i * src_step, N)
  if (rows == 1) {
    GASNETI_SCI_FEW_SIZES(count[0], GASNETI_SCI_FEW_ROW)
    return 1;
  }
#define GASNETI_SCI_FEW_PLANE(N)                                                                                     \
  for (j = 0; j < rows; j++, to += dststrides[1], from += srcstrides[1]) { GASNETI_SCI_FEW_ROW(N) }
  GASNETI_SCI_FEW_SIZES(count[0], GASNETI_SCI_FEW_PLANE)
#undef GASNETI_SCI_FEW_PLANE
#undef GASNETI_SCI_FEW_ROW
  return 1;
}

/* ---- what the verbs do inline if they can (gasnet_sci_ex_vis.h) ---- */

/* Empty transfers are calls: a handler may be armed. The numbers are unsigned, so that 0 less 1 is above every limit. */
#define GASNETI_SCI_FEW_LISTS(n, m, dst, src) ((n) == (m) && (n) - 1 < gasneti_sci_few && (dst) && (src))

/* `move`: the numbers to add to addresses of the destination and of the source; `side`: which of the two is remote.
 * A put ends with a release fence and a get with an acquire fence. Neither costs anything on x86-64. (The sync of a
 * non-blocking get has an acquire fence, too.) */
#define GASNETI_SCI_FEW_DO(condition, side, copied)                                                                  \
  if (condition) {                                                                                                   \
    const gasnet_node_t node = (how & GASNETI_SCI_VIS_G1) ? rank : gasneti_sci_jobrank(tm, rank);                    \
    uintptr_t move[2] = {0, 0};                                                                                      \
    if (gasneti_sci_find(node, &move[side])) {                                                                       \
      GASNETI_SCI_FENCE_COMPILER();                                                                                  \
      if (copied) {                                                                                                  \
        if ((side) == 0) GASNETI_SCI_FENCE_RELEASE();                                                                \
        else GASNETI_SCI_FENCE_ACQUIRE();                                                                            \
        return 0;                                                                                                    \
      }                                                                                                              \
    }                                                                                                                \
  }

/* Strided transfers of `counts`, whose first one is the bytes of an element. GASNet-EX has those beside the counts, and signed strides. */
#define GASNETI_SCI_FEW_LEVELS(side, counts)                                                                         \
  GASNETI_SCI_FEW_DO(levels - 1 < 2 && dststrides && srcstrides && count, side,                                      \
                     gasneti_sci_few_rows((uintptr_t)dstaddr + move[0], (const size_t *)dststrides,                  \
                                          (uintptr_t)srcaddr + move[1], (const size_t *)srcstrides, counts, levels))
#define GASNETI_SCI_EX_FEW_LEVELS(side)                                                                              \
  if (elemsz != 0 && levels - 1 < 2 && count && count[0] != 0 && count[levels - 1] != 0) {                           \
    size_t all[3];                                                                                                   \
    all[0] = elemsz, all[1] = count[0], all[2] = count[levels - 1];                                                  \
    GASNETI_SCI_FEW_LEVELS(side, all)                                                                                \
  }
#else
#define GASNETI_SCI_FEW_DO(condition, side, copied)
#define GASNETI_SCI_FEW_LEVELS(side, counts)
#define GASNETI_SCI_EX_FEW_LEVELS(side)
#endif

#endif
