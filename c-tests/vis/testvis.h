/* Shared by the programs of gasnet_vis.h: random shapes, each as a list of ranges per side and as the arrays that
 * the calls take, and a copy in plain C. Offsets are relative to a window of memory per side. Public names only. */
#ifndef GASNET_SCI_TESTVIS_H
#define GASNET_SCI_TESTVIS_H

#include <gasnet_vis.h>

#include "../testrma.h"

enum { VIS_V, VIS_I, VIS_S, VIS_FAMILIES };
static const char *const vis_family[] TEST_UNUSED = {"vector", "indexed", "strided"};
enum { VIS_DST, VIS_SRC };
enum { VIS_LEVELS = 20, VIS_PIECES = 1024 };

/* One side: pieces for vector and indexed, strides for strided. */
struct vis_side {
  size_t count;               /* pieces */
  size_t at[VIS_PIECES], len[VIS_PIECES];
  size_t strides[VIS_LEVELS]; /* strided */
};
struct vis_shape {
  int family;
  size_t levels, total, dims[VIS_LEVELS + 1]; /* dims: what the calls name count */
  struct vis_side side[2];
};

static size_t vis_below(unsigned *r, size_t n) { return n ? test_random(r) % n : 0; }
/* Small numbers often, the sizes with loops of their own sometimes. */
static size_t vis_size(unsigned *r, size_t most) {
  static const size_t usual[] = {1, 2, 4, 8, 16, 32, 64, 128, 3, 12, 24, 48, 96};
  size_t n = vis_below(r, 3) ? usual[vis_below(r, sizeof usual / sizeof *usual)] : 1 + vis_below(r, most);
  return n > most ? 1 + n % most : n;
}

/* ---- pieces ---- */

/* Gives the pieces places in `room` bytes: apart from each other and in random order, or, for sources, anywhere. */
static void vis_place(struct vis_side *s, size_t room, int apart, unsigned *r) {
  size_t i, used = 0, at = 0;
  for (i = 0; i < s->count; i++) used += s->len[i];
  for (i = 0; i < s->count; i++) {
    if (!apart) {
      s->at[i] = vis_below(r, room - s->len[i] + 1);
      continue;
    }
    at += vis_below(r, 3) ? vis_below(r, (room - used) / s->count + 1) : 0; /* followers without a gap, too */
    s->at[i] = at, at += s->len[i];
  }
  for (i = s->count; apart && vis_below(r, 4) && i-- > 1;) { /* shuffles pieces with their lengths, keeps the places */
    size_t j = vis_below(r, i + 1), at_i = s->at[i], len_i = s->len[i];
    s->at[i] = s->at[j], s->len[i] = s->len[j];
    s->at[j] = at_i, s->len[j] = len_i;
  }
}

/* Cuts `total` bytes into pieces, of 0 bytes now and then. */
static void vis_cut(struct vis_side *s, size_t total, unsigned *r) {
  size_t usual = vis_size(r, total ? total : 1);
  s->count = 0;
  while (total || vis_below(r, 4) == 0) {
    size_t n = s->count + 2 >= VIS_PIECES ? total : vis_below(r, 8) == 0 ? 0 : vis_below(r, 2) ? usual : vis_size(r, total + 1);
    s->len[s->count++] = n = n > total ? total : n;
    total -= n;
    if (s->count == VIS_PIECES) break;
  }
}

static void vis_vector(struct vis_shape *v, size_t room, unsigned *r) {
  int k;
  v->total = vis_below(r, 20) ? 1 + vis_below(r, vis_below(r, 4) ? 400 : room / 2) : 0;
  for (k = 0; k < 2; k++) vis_cut(&v->side[k], v->total, r), vis_place(&v->side[k], room, k == VIS_DST, r);
}

static void vis_indexed(struct vis_shape *v, size_t room, unsigned *r) {
  /* unit · per[0] · per[1] · more bytes; each side has chunks of per[k] units */
  size_t per[2], more, unit = vis_size(r, 100), i;
  int k;
  per[0] = vis_below(r, 2) ? 1 : 1 + vis_below(r, 4), per[1] = vis_below(r, 2) ? 1 : 1 + vis_below(r, 4);
  more = room / 2 / (unit * per[0] * per[1]);
  if (more > VIS_PIECES / 4) more = VIS_PIECES / 4;
  more = vis_below(r, 20) ? 1 + vis_below(r, more) : 0;
  v->total = unit * per[0] * per[1] * more;
  for (k = 0; k < 2; k++) {
    struct vis_side *s = &v->side[k];
    s->count = more * per[1 - k];
    for (i = 0; i < s->count; i++) s->len[i] = unit * per[k];
    vis_place(s, room, k == VIS_DST, r);
  }
}

/* ---- strides ---- */

static size_t TEST_UNUSED vis_extent(const struct vis_shape *v, int k) {
  size_t i, n = v->dims[0];
  for (i = 1; i <= v->levels; i++) n += (v->dims[i] - 1) * v->side[k].strides[i - 1];
  return n;
}

/* Levels 0 … 7, up to 19 now and then; counts of 1 and, rarely, 0; both sides with strides of their own. */
static void vis_strided(struct vis_shape *v, size_t room, unsigned *r) {
  size_t i, most = room / 4;
  int k;
  v->levels = vis_below(r, 8) ? vis_below(r, 8) : vis_below(r, VIS_LEVELS);
  v->dims[0] = vis_size(r, most / 2);
  v->total = v->dims[0];
  for (i = 1; i <= v->levels; i++) {
    size_t fit = most / v->total;
    v->dims[i] = fit < 2 || vis_below(r, 3) == 0 ? 1 : 1 + vis_below(r, fit < 12 ? fit : 12);
    v->total *= v->dims[i];
  }
  for (k = 0; k < 2; k++) {
    size_t below, tries;
    for (tries = 0;; tries++) { /* gaps as large as the window allows */
      for (i = 0, below = v->dims[0]; i < v->levels; i++) {
        size_t gap = tries > 20 || vis_below(r, 2) ? 0 : vis_below(r, 40);
        v->side[k].strides[i] = below + gap;
        below = v->side[k].strides[i] * v->dims[i + 1];
      }
      if (vis_extent(v, k) <= room) break;
    }
    v->side[k].count = 1;
    v->side[k].at[0] = vis_below(r, room - vis_extent(v, k) + 1);
  }
  if (vis_below(r, 20) == 0) v->dims[vis_below(r, v->levels + 1)] = 0, v->total = 0;
}

/* A random shape whose sides each fit a window of `room` bytes. */
static void TEST_UNUSED vis_random(struct vis_shape *v, int family, size_t room, unsigned *r) {
  v->family = family, v->levels = 0;
  if (family == VIS_V) vis_vector(v, room, r);
  else if (family == VIS_I) vis_indexed(v, room, r);
  else vis_strided(v, room, r);
}

/* ---- the model ---- */

struct vis_cursor {
  size_t piece, byte, index[VIS_LEVELS];
};

/* Offset of the next byte of a side; byte by byte, from the definition. */
static size_t vis_next(const struct vis_shape *v, int k, struct vis_cursor *c) {
  const struct vis_side *s = &v->side[k];
  size_t at, i;
  if (v->family == VIS_S) {
    at = s->at[0] + c->byte;
    for (i = 0; i < v->levels; i++) at += c->index[i] * s->strides[i];
    if (++c->byte < v->dims[0]) return at;
    for (c->byte = 0, i = 0; i < v->levels && ++c->index[i] == v->dims[i + 1]; i++) c->index[i] = 0;
    return at;
  }
  while (c->byte == s->len[c->piece]) c->piece++, c->byte = 0;
  return s->at[c->piece] + c->byte++;
}

static void TEST_UNUSED vis_model(const struct vis_shape *v, unsigned char *dst, const unsigned char *src) {
  struct vis_cursor to, from;
  size_t n;
  memset(&to, 0, sizeof to), memset(&from, 0, sizeof from);
  for (n = 0; n < v->total; n++) {
    size_t there = vis_next(v, VIS_DST, &to);
    dst[there] = src[vis_next(v, VIS_SRC, &from)];
  }
}

/* ---- the calls ---- */

/* The arrays of one call. */
struct vis_arrays {
  gasnet_memvec_t vector[2][VIS_PIECES];
  void *list[2][VIS_PIECES];
  size_t strides[2][VIS_LEVELS], dims[VIS_LEVELS + 1];
};

/* Fills what the family uses for windows at `dst` and `src`; returns `used`, a sum of all that was filled. */
static unsigned long TEST_UNUSED vis_sum(const struct vis_arrays *a) {
  const unsigned char *p = (const unsigned char *)a;
  unsigned long sum = 5381;
  size_t i;
  for (i = 0; i < sizeof *a; i++) sum = sum * 33 + p[i];
  return sum;
}
static void TEST_UNUSED vis_fill(struct vis_arrays *a, const struct vis_shape *v, unsigned char *dst, unsigned char *src) {
  unsigned char *base[2];
  size_t i;
  int k;
  base[VIS_DST] = dst, base[VIS_SRC] = src;
  for (k = 0; k < 2; k++) {
    const struct vis_side *s = &v->side[k];
    if (v->family == VIS_V)
      for (i = 0; i < s->count; i++) {
        a->vector[k][i].addr = s->len[i] || i % 2 ? base[k] + s->at[i] : NULL;
        a->vector[k][i].len = s->len[i];
      }
    if (v->family == VIS_I)
      for (i = 0; i < s->count; i++) a->list[k][i] = base[k] + s->at[i];
    if (v->family == VIS_S) memcpy(a->strides[k], s->strides, v->levels * sizeof *s->strides);
  }
  if (v->family == VIS_S) memcpy(a->dims, v->dims, (v->levels + 1) * sizeof *v->dims);
}

/* The eighteen names, pasted. */
#define VIS_PASTE_(a, b, c) a##b##c
#define VIS_PASTE(a, b, c) VIS_PASTE_(a, b, c)
#define VIS_CALLS(suffix, result)                                                                                    \
  if (put) switch (v->family) {                                                                                      \
      case VIS_V:                                                                                                    \
        result VIS_PASTE(gasnet_, putv, suffix)(node, count[0], count[0] ? a->vector[0] : NULL, count[1],            \
                                                count[1] ? a->vector[1] : NULL);                                     \
        break;                                                                                                       \
      case VIS_I:                                                                                                    \
        result VIS_PASTE(gasnet_, puti, suffix)(node, count[0], count[0] ? a->list[0] : NULL, len[0], count[1],      \
                                                count[1] ? a->list[1] : NULL, len[1]);                               \
        break;                                                                                                       \
      default:                                                                                                       \
        result VIS_PASTE(gasnet_, puts, suffix)(node, dst, v->levels ? a->strides[0] : NULL, src,                    \
                                                v->levels ? a->strides[1] : NULL, a->dims, v->levels);               \
    }                                                                                                                \
  else switch (v->family) {                                                                                          \
      case VIS_V:                                                                                                    \
        result VIS_PASTE(gasnet_, getv, suffix)(count[0], count[0] ? a->vector[0] : NULL, node, count[1],            \
                                                count[1] ? a->vector[1] : NULL);                                     \
        break;                                                                                                       \
      case VIS_I:                                                                                                    \
        result VIS_PASTE(gasnet_, geti, suffix)(count[0], count[0] ? a->list[0] : NULL, len[0], node, count[1],      \
                                                count[1] ? a->list[1] : NULL, len[1]);                               \
        break;                                                                                                       \
      default:                                                                                                       \
        result VIS_PASTE(gasnet_, gets, suffix)(dst, v->levels ? a->strides[0] : NULL, node, src,                    \
                                                v->levels ? a->strides[1] : NULL, a->dims, v->levels);               \
    }

enum { VIS_BULK, VIS_NB, VIS_NBI, VIS_REGION, VIS_FORMS };
static const char *const vis_form[] TEST_UNUSED = {"bulk", "nb", "nbi", "region"};

/* Starts the transfer between windows at `dst` and `src`; an open region is the caller's. */
static gasnet_handle_t TEST_UNUSED vis_start(int form, int put, gasnet_node_t node, const struct vis_shape *v,
                                             const struct vis_arrays *a, unsigned char *dst_window,
                                             unsigned char *src_window) {
  size_t count[2], len[2];
  /* Empty lists have no first place. */
  unsigned char *dst = dst_window + (v->side[0].count ? v->side[0].at[0] : 0);
  unsigned char *src = src_window + (v->side[1].count ? v->side[1].at[0] : 0);
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  int k;
  for (k = 0; k < 2; k++) count[k] = v->side[k].count, len[k] = count[k] ? v->side[k].len[0] : 5;
  if (form == VIS_BULK) {
    VIS_CALLS(_bulk, (void))
  } else if (form == VIS_NB) {
    VIS_CALLS(_nb_bulk, h =)
  } else {
    VIS_CALLS(_nbi_bulk, (void))
  }
  return h;
}

#endif
