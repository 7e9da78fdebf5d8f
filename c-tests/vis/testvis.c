/* gasnet_vis.h: vector, indexed and strided puts and gets against a plain model; list V of
 * behaviours-tools-vis-coll.md.
 *
 *   testvis [rounds [seed [MiB]]]
 *
 * Random shapes in windows with guard bytes, up to 16 operations in flight, from several threads in PAR; then one
 * section per corner. `MiB` is the size of the large transfers, default 4; above 2048 it takes GASNET_MAX_SEGSIZE
 * and memory to match. */
#include "testvis.h"
#include "../testpar.h"

enum { WINDOW = 6000, FLIGHT = 16, THREADS = 3, PART = FLIGHT * WINDOW, TAIL = 4096 };

static long rounds;
static unsigned seed;
static size_t slice; /* bytes per initiator in each area: parts of the threads, then the large transfers' */
static size_t large;

static unsigned char *slice_of(gasnet_node_t p) { return core_area[p] + me * slice; }
static unsigned char *large_of(gasnet_node_t p) { return slice_of(p) + THREADS * PART; }
/* The last bytes of a node's area are its left neighbour's. */
static unsigned char *tail_of(gasnet_node_t p) { return core_area[p] + core_areasize - TAIL; }
static gasnet_node_t right(void) { return (me + 1) % nodes; }

/* ---- random shapes ---- */

struct operation {
  struct vis_shape shape;
  struct vis_arrays arrays;
  gasnet_node_t node;
  int put, form;
  gasnet_handle_t handle;
  unsigned char local[WINDOW], expected[WINDOW], before[WINDOW]; /* what the destination window must hold at the end */
};

struct worker {
  int number;
  unsigned random;
  unsigned char *model; /* what each node's part holds */
  struct operation *op;
};

static unsigned char *remote_window(const struct worker *w, gasnet_node_t p, int i) {
  return slice_of(p) + (size_t)w->number * PART + (size_t)i * WINDOW;
}
static unsigned char *model_window(const struct worker *w, gasnet_node_t p, int i) {
  return w->model + (size_t)p * PART + (size_t)i * WINDOW;
}

static void begin(struct worker *w, int i, int in_region) {
  struct operation *o = &w->op[i];
  unsigned char *there = remote_window(w, o->node, i), *model = model_window(w, o->node, i);
  unsigned char *dst = o->put ? there : o->local, *src = o->put ? o->local : there;
  unsigned long sum;
  core_fill(o->local, WINDOW, test_random(&w->random));
  memcpy(o->before, o->local, WINDOW);
  memcpy(o->expected, o->put ? model : o->local, WINDOW);
  vis_model(&o->shape, o->expected, o->put ? o->local : model);
  if (o->put) memcpy(model, o->expected, WINDOW);
  memset(&o->arrays, 0x5A, sizeof o->arrays);
  vis_fill(&o->arrays, &o->shape, dst, src);
  sum = vis_sum(&o->arrays);
  if (o->form == VIS_REGION && !in_region) gasnet_begin_nbi_accessregion();
  o->handle = vis_start(o->form, o->put, o->node, &o->shape, &o->arrays, dst, src);
  CHECK(vis_sum(&o->arrays) == sum, "the client's arrays were written to");
  memset(&o->arrays, 0xA5, sizeof o->arrays); /* the client's again */
  if (o->form == VIS_NB && !o->shape.total) CHECK(o->handle == GASNET_INVALID_HANDLE, "an empty transfer has a handle");
  if (o->form == VIS_REGION && !in_region) o->handle = gasnet_end_nbi_accessregion();
}

static void verify(struct worker *w, int i) {
  static const char *const verb[] = {"get", "put"};
  struct operation *o = &w->op[i];
  unsigned char back[WINDOW];
  const unsigned char *got = o->local;
  size_t at;
  if (o->put) {
    gasnet_get_bulk(back, o->node, remote_window(w, o->node, i), WINDOW);
    got = back;
    CHECK(memcmp(o->local, o->before, WINDOW) == 0, "a put changed its source");
  }
  for (at = 0; at < WINDOW && got[at] == o->expected[at]; at++) continue;
  CHECK(at == WINDOW, "thread %d, %s %s %s of %lu bytes with node %u: byte %lu of the window is %02x, not %02x (seed %u)",
        w->number, vis_form[o->form], verb[o->put], vis_family[o->shape.family], (unsigned long)o->shape.total,
        (unsigned)o->node, (unsigned long)at, at < WINDOW ? got[at] : 0, at < WINDOW ? o->expected[at] : 0, seed);
}

/* Up to FLIGHT operations with different nodes and forms, synced in any way and order. */
static void random_round(struct worker *w) {
  unsigned *r = &w->random;
  gasnet_handle_t handles[2 * FLIGHT], plain;
  unsigned char bytes[2][8];
  int i, n = 1 + (int)vis_below(r, FLIGHT), one_region = vis_below(r, 4) == 0, puts = 0, gets = 0;
  size_t k = 0;
  if (one_region) gasnet_begin_nbi_accessregion();
  for (i = 0; i < n; i++) {
    struct operation *o = &w->op[i];
    o->node = (gasnet_node_t)vis_below(r, nodes);
    o->put = (int)vis_below(r, 2);
    o->form = (int)vis_below(r, VIS_FORMS);
    vis_random(&o->shape, (int)vis_below(r, VIS_FAMILIES), WINDOW, r);
    begin(w, i, one_region);
    if (o->form == VIS_NB || (o->form == VIS_REGION && !one_region)) handles[k++] = o->handle;
    if (o->form == VIS_NBI) *(o->put ? &puts : &gets) += 1;
    if (vis_below(r, 4) == 0) { /* ordinary handles among them */
      plain = gasnet_get_nb_bulk(bytes[i % 2], o->node, remote_window(w, o->node, i), 0);
      handles[k++] = plain;
    }
  }
  if (one_region) handles[k++] = gasnet_end_nbi_accessregion();
  if (vis_below(r, 2)) { /* each set by itself; the other one stays */
    if (puts) rma_sync_implicit(RMA_PUTS, (int)vis_below(r, 2));
    if (gets) rma_sync_implicit(RMA_GETS, (int)vis_below(r, 2));
  } else {
    rma_sync_implicit(RMA_ALL, (int)vis_below(r, 2));
  }
  if (vis_below(r, 2)) {
    while (k) rma_sync_handle(handles[--k], (int)vis_below(r, RMA_WAYS));
  } else {
    size_t live, j;
    do {
      rma_sync_array(handles, k, vis_below(r, 2) ? RMA_WAIT_SOME : RMA_TRY_SOME);
      for (live = 0, j = 0; j < k; j++) live += handles[j] != GASNET_INVALID_HANDLE;
    } while (live);
  }
  for (i = 0; i < n; i++) verify(w, i);
}

static void run_random(int number) {
  struct worker w;
  gasnet_node_t p;
  long round;
  w.number = number;
  w.random = (seed + me * 1000 + (unsigned)number * 100000) * 2654435761u + 1;
  w.model = (unsigned char *)rma_malloc(nodes * (size_t)PART);
  w.op = (struct operation *)rma_malloc(FLIGHT * sizeof *w.op);
  for (p = 0; p < nodes; p++) {
    core_fill(w.model + p * (size_t)PART, PART, test_random(&w.random));
    gasnet_put_bulk(p, remote_window(&w, p, 0), w.model + p * (size_t)PART, PART);
  }
  for (round = 0; round < rounds; round++) random_round(&w);
  for (p = 0; p < nodes; p++) { /* nothing beside the windows' own pieces was ever written */
    unsigned char *back = (unsigned char *)rma_malloc(PART);
    gasnet_get_bulk(back, p, remote_window(&w, p, 0), PART);
    CHECK(memcmp(back, w.model + p * (size_t)PART, PART) == 0, "the part at node %u (seed %u)", (unsigned)p, seed);
    free(back);
  }
  free(w.model), free(w.op);
}

/* ---- V3, V6, V9: the same bytes in different words; sources that repeat ---- */

static void same_bytes(void) {
  unsigned char src[24], got[24], *there = slice_of(right());
  void *six[6], *three[3], *one[1], *to_six[6], *to_three[3], *to_one[1];
  size_t i, count[1] = {24}, total = 24;
  gasnet_memvec_t thrice[3], flat[1];
  int k;
  for (i = 0; i < 6; i++) six[i] = src + 4 * i, to_six[i] = there + 4 * i;
  for (i = 0; i < 3; i++) three[i] = src + 8 * i, to_three[i] = there + 8 * i;
  one[0] = src, to_one[0] = there;
  for (k = 0; k < 9; k++) {
    void **from = k % 3 == 0 ? six : k % 3 == 1 ? three : one, **to = k / 3 == 0 ? to_six : k / 3 == 1 ? to_three : to_one;
    size_t n[3] = {6, 3, 1};
    core_fill(src, 24, (unsigned)k + 7);
    gasnet_puti_bulk(right(), n[k / 3], to, 24 / n[k / 3], n[k % 3], from, 24 / n[k % 3]);
    memset(got, 0, 24);
    gasnet_gets_bulk(got, NULL, right(), there, NULL, count, 0);
    CHECK(memcmp(src, got, 24) == 0, "chunks of %lu and %lu bytes", (unsigned long)(24 / n[k / 3]), (unsigned long)(24 / n[k % 3]));
  }
  for (i = 0; i < 3; i++) thrice[i].addr = src + 2, thrice[i].len = 8; /* one piece three times */
  flat[0].addr = there, flat[0].len = total;
  gasnet_putv_bulk(right(), 1, flat, 3, thrice);
  gasnet_get_bulk(got, right(), there, 24);
  for (i = 0; i < 24; i++) CHECK(got[i] == src[2 + i % 8], "byte %lu of a repeated source", (unsigned long)i);
  { /* lists written in place; constants from read-only memory */
    static const char fixed[] = "read only";
    gasnet_puts_bulk(right(), there, NULL, (void *)(uintptr_t)fixed, NULL, (size_t[]){sizeof fixed}, 0);
    gasnet_getv_bulk(1, (gasnet_memvec_t[]){{got, sizeof fixed}}, right(), 2, (gasnet_memvec_t[]){{there, 4}, {there + 4, sizeof fixed - 4}});
    CHECK(memcmp(got, fixed, sizeof fixed) == 0, "a read-only source");
  }
}

/* ---- V4 ---- */

static void empty(void) {
  gasnet_memvec_t none[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}}, mixed[3];
  size_t zeros[3] = {4, 0, 3}, zero[1] = {0}, bad[2] = {1, 1};
  unsigned char *there = slice_of(right()), in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
  gasnet_handle_t h[12];
  size_t i, n = 0;
  gasnet_putv_bulk(right(), 0, NULL, 0, NULL);
  gasnet_putv_nbi_bulk(right(), 3, none, 0, NULL);
  gasnet_getv_nbi_bulk(0, NULL, right(), 3, none);
  gasnet_puti_nbi_bulk(right(), 0, NULL, 0, 0, NULL, 0);
  gasnet_geti_nbi_bulk(0, NULL, 4, right(), 0, NULL, 0);
  gasnet_puts_nbi_bulk(right(), NULL, bad, NULL, bad, zeros, 2);
  gasnet_gets_nbi_bulk(NULL, bad, right(), NULL, bad, zeros, 2);
  h[n++] = gasnet_putv_nb_bulk(right(), 3, none, 3, none);
  h[n++] = gasnet_getv_nb_bulk(0, NULL, right(), 0, NULL);
  h[n++] = gasnet_puti_nb_bulk(right(), 0, NULL, 8, 0, NULL, 3);
  h[n++] = gasnet_geti_nb_bulk(0, NULL, 0, right(), 0, NULL, 0);
  h[n++] = gasnet_puts_nb_bulk(right(), there, NULL, in, NULL, zero, 0);
  h[n++] = gasnet_gets_nb_bulk(in, bad, right(), there, bad, zeros, 2);
  for (i = 0; i < n; i++) CHECK(h[i] == GASNET_INVALID_HANDLE, "empty transfer %lu has a handle", (unsigned long)i);
  gasnet_wait_syncnbi_all();
  mixed[0] = none[0], mixed[1].addr = there, mixed[1].len = 8, mixed[2] = none[0];
  none[1].addr = in, none[1].len = 8;
  gasnet_putv_bulk(right(), 3, mixed, 3, none);
  gasnet_get_bulk(out, right(), there, 8);
  CHECK(memcmp(in, out, 8) == 0, "an entry between empty ones");
}

/* ---- few pieces of one size, which the header may copy itself: every size that it knows and some others, with
 * numbers of pieces around the largest that it copies. Lists are of a type of this file (vis.md 1). ---- */

struct pair {
  void *addr;
  size_t len;
};
static const char *const few_names[] = {"vector", "indexed", "one level", "two levels"};

/* Where piece `i` lies, of two rows where there are two levels. */
static size_t few_place(size_t i, size_t per, size_t step) { return i / per * (per * step + 5) + i % per * step; }

static void few_case(size_t len, size_t n, int kind, int put) {
  const size_t per = kind == 3 ? n / 2 : n, steps[2] = {2 * len + 1, len + 3}; /* here, there */
  size_t room[2], strides[2][2], count[3], i;
  unsigned char *there = slice_of(right()), *here, *back, *model[2];
  struct pair *pairs[2];
  void **places[2];
  int k;
  for (k = 0; k < 2; k++) {
    room[k] = few_place(n - 1, per, steps[k]) + len + 1;
    model[k] = (unsigned char *)rma_malloc(room[k]);
    core_fill(model[k], room[k], (unsigned)(len + n + (size_t)k));
    pairs[k] = (struct pair *)rma_malloc(n * sizeof *pairs[k]);
    places[k] = (void **)rma_malloc(n * sizeof *places[k]);
    strides[k][0] = steps[k], strides[k][1] = per * steps[k] + 5;
  }
  here = (unsigned char *)rma_malloc(room[0]), back = (unsigned char *)rma_malloc(room[1]);
  memcpy(here, model[0], room[0]);
  gasnet_put_bulk(right(), there, model[1], room[1]);
  count[0] = len, count[1] = per, count[2] = 2;
  for (i = 0; i < n; i++) {
    const size_t near = few_place(i, per, steps[0]), far = few_place(i, per, steps[1]);
    pairs[0][i].addr = places[0][i] = here + near, pairs[1][i].addr = places[1][i] = there + far;
    pairs[0][i].len = pairs[1][i].len = len;
    if (put) memcpy(model[1] + far, model[0] + near, len);
    else memcpy(model[0] + near, model[1] + far, len);
  }
  if (kind == 0 && put) gasnet_putv_bulk(right(), n, (gasnet_memvec_t *)pairs[1], n, (gasnet_memvec_t *)pairs[0]);
  else if (kind == 0) gasnet_getv_bulk(n, (gasnet_memvec_t *)pairs[0], right(), n, (gasnet_memvec_t *)pairs[1]);
  else if (kind == 1 && put) gasnet_puti_bulk(right(), n, places[1], len, n, places[0], len);
  else if (kind == 1) gasnet_geti_bulk(n, places[0], len, right(), n, places[1], len);
  else if (put) gasnet_puts_bulk(right(), there, strides[1], here, strides[0], count, (size_t)kind - 1);
  else gasnet_gets_bulk(here, strides[0], right(), there, strides[1], count, (size_t)kind - 1);
  gasnet_get_bulk(back, right(), there, room[1]);
  CHECK(!memcmp(here, model[0], room[0]) && !memcmp(back, model[1], room[1]), "%s of %lu pieces of %lu bytes, %s",
        put ? "put" : "get", (unsigned long)n, (unsigned long)len, few_names[kind]);
  for (k = 0; k < 2; k++) free(model[k]), free(pairs[k]), free(places[k]);
  free(here), free(back);
}

static void few_pieces(void) {
  static const size_t lengths[] = {1, 2, 3, 4, 8, 16, 24, 32, 64, 128, 256}, numbers[] = {2, 6, 512, 514};
  size_t i, j;
  int kind;
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (j = 0; j < sizeof numbers / sizeof *numbers; j++)
      for (kind = 0; kind < 8; kind++) few_case(lengths[i], numbers[j], kind / 2, kind % 2);
}

/* ---- V7: every small length at every offset ---- */

static void odd_places(void) {
  unsigned char *there = slice_of(right()), local[400], back[400], want[400];
  size_t len, at, i;
  for (len = 1; len <= 17; len++)
    for (at = 0; at < 8; at++) {
      void *from[3], *to[3];
      size_t strides[2][1], count[2];
      core_fill(local, sizeof local, (unsigned)(len * 8 + at));
      memset(want, 0xEE, sizeof want);
      gasnet_memset(right(), there, 0xEE, sizeof want);
      for (i = 0; i < 3; i++) {
        from[i] = local + at + i * (len + 1), to[i] = there + (7 - at) + i * (len + 3);
        memcpy(want + (7 - at) + i * (len + 3), from[i], len);
      }
      gasnet_puti_bulk(right(), 3, to, len, 3, from, len);
      gasnet_get_bulk(back, right(), there, sizeof back);
      CHECK(memcmp(back, want, sizeof back) == 0, "put of 3 pieces of %lu at +%lu", (unsigned long)len, (unsigned long)at);
      memset(back, 0xDD, sizeof back), memset(want, 0xDD, sizeof want);
      for (i = 0; i < 3; i++) memcpy(want + at + i * (len + 2), from[i], len);
      strides[0][0] = len + 2, strides[1][0] = len + 3, count[0] = len, count[1] = 3;
      gasnet_wait_syncnb(gasnet_gets_nb_bulk(back + at, strides[0], right(), there + (7 - at), strides[1], count, 1));
      CHECK(memcmp(back, want, sizeof back) == 0, "get of 3 runs of %lu at +%lu", (unsigned long)len, (unsigned long)at);
    }
}

/* ---- V10, V15: a section that ends with the segment; seen by its owner after a barrier ---- */

static void at_the_end(void) {
  enum { ROWS = 5, RUN = 24, STRIDE = 100 };
  unsigned char local[ROWS * RUN];
  size_t strides[2][1] = {{STRIDE}, {RUN}}, count[2] = {RUN, ROWS}, i;
  const size_t extent = RUN + (ROWS - 1) * STRIDE;
  const gasnet_node_t left = (me + nodes - 1) % nodes;
  core_fill(local, sizeof local, me + 77);
  test_barrier();
  gasnet_puts_bulk(right(), tail_of(right()) + TAIL - extent, strides[0], local, strides[1], count, 1);
  test_barrier();
  core_fill(local, sizeof local, left + 77);
  for (i = 0; i < ROWS; i++)
    CHECK(memcmp(tail_of(me) + TAIL - extent + i * STRIDE, local + i * RUN, RUN) == 0, "row %lu", (unsigned long)i);
  test_barrier();
}

/* ---- V17, V18 ---- */

static void sets_and_regions(void) {
  enum { N = 40, LEN = 300 };
  static unsigned char out[4][N * LEN], in[4][N * LEN];
  unsigned char *there = slice_of(right());
  void *to[N], *from[N];
  gasnet_handle_t region, inside;
  int pass, i;
  for (pass = 0; pass < 4; pass++) {
    core_fill(out[pass], sizeof out[pass], (unsigned)pass + me);
    for (i = 0; i < N; i++) to[i] = there + (N - 1 - i) * (LEN + 1), from[i] = out[pass] + i * LEN;
    if (pass == 0) gasnet_puti_nbi_bulk(right(), N, to, LEN, N, from, LEN), gasnet_wait_syncnbi_puts();
    if (pass == 1) gasnet_puti_nbi_bulk(right(), N, to, LEN, N, from, LEN), gasnet_wait_syncnbi_all();
    if (pass >= 2) {
      gasnet_begin_nbi_accessregion();
      if (pass == 2) gasnet_puti_nbi_bulk(right(), N, to, LEN, N, from, LEN);
      inside = GASNET_INVALID_HANDLE;
      if (pass == 3) inside = gasnet_puti_nb_bulk(right(), N, to, LEN, N, from, LEN);
      gasnet_geti_bulk(1, (void *[]){in[0]}, 4, right(), 1, (void *[]){there + LEN}, 4); /* neither ends nor enters it */
      region = gasnet_end_nbi_accessregion();
      if (pass == 3) CHECK(region == GASNET_INVALID_HANDLE, "nb and blocking calls are in the region");
      gasnet_wait_syncnb(region), gasnet_wait_syncnb(inside);
    }
    memset(in[pass], 0, sizeof in[pass]);
    for (i = 0; i < N; i++) from[i] = in[pass] + i * LEN;
    gasnet_geti_nbi_bulk(N, from, LEN, right(), N, to, LEN);
    gasnet_wait_syncnbi_gets();
    CHECK(memcmp(in[pass], out[pass], sizeof in[pass]) == 0, "pass %d", pass);
  }
}

/* ---- V20, V21: many pieces, large pieces, totals around the limits of packets ---- */

static void many_pieces(void) {
  /* short runs (tens of rounds) leave the long lists out: sent one by one, they take a second */
  static const size_t totals[] = {8192, 2047, 2048, 2049, 16383, 16384, 16385, 65519, 65520, 65535, 65536, 65537, 100000};
  unsigned char *there = large_of(right()), *local, *back;
  const size_t most = 100000;
  void **to, **from;
  size_t k, i;
  local = (unsigned char *)rma_malloc(most), back = (unsigned char *)rma_malloc(2 * most);
  to = (void **)rma_malloc(most * sizeof *to), from = (void **)rma_malloc(most * sizeof *from);
  for (k = 0; k < sizeof totals / sizeof *totals; k++) {
    const size_t n = totals[k];
    if (rounds < 40 && n > 20000) break;
    core_fill(local, n, (unsigned)n);
    gasnet_memset(right(), there, 0x77, 2 * n);
    for (i = 0; i < n; i++) to[i] = there + 2 * i, from[i] = local + i * 7919 % n; /* bytes with gaps, in no order */
    gasnet_wait_syncnb(gasnet_puti_nb_bulk(right(), n, to, 1, n, from, 1));
    gasnet_get_bulk(back, right(), there, 2 * n);
    for (i = 0; i < n && back[2 * i] == local[i * 7919 % n] && back[2 * i + 1] == 0x77; i++) continue;
    CHECK(i == n, "put of %lu pieces of one byte: piece %lu", (unsigned long)n, (unsigned long)i);
    memset(back, 0, n);
    for (i = 0; i < n; i++) from[i] = back + n - 1 - i;
    gasnet_geti_bulk(n, from, 1, right(), n, to, 1);
    for (i = 0; i < n && back[n - 1 - i] == local[i * 7919 % n]; i++) continue;
    CHECK(i == n, "get of %lu pieces of one byte: piece %lu", (unsigned long)n, (unsigned long)i);
  }
  free(local), free(back), free(to), free(from);
}

/* `large` bytes in all: runs longer than any packet, then 1000 bytes with gaps; the source repeats one buffer. */
static void large_pieces(void) {
  static const size_t lens[] = {300001, 70000, 8192, 1000};
  unsigned char *there = large_of(right()), *source = (unsigned char *)rma_malloc(300001), *back = (unsigned char *)rma_malloc(300001);
  size_t k, i;
  core_fill(source, 300001, me);
  for (k = 0; k < sizeof lens / sizeof *lens; k++) {
    const size_t len = lens[k], n = large / (len + 5);
    size_t strides[2][1], count[2], wrong = 0;
    void **to = (void **)rma_malloc(n * sizeof *to), **from = (void **)rma_malloc(n * sizeof *from);
    for (i = 0; i < n; i++) to[i] = there + i * (len + 5), from[i] = source;
    if (k % 2) gasnet_puti_bulk(right(), n, to, len, n, from, len);
    else gasnet_wait_syncnb(gasnet_puti_nb_bulk(right(), n, to, len, n, from, len));
    for (i = 0; i < n && !wrong; i += n / 50 + 1) {
      memset(back, 0, len);
      gasnet_get_bulk(back, right(), to[i], len);
      wrong = memcmp(back, source, len) ? i + 1 : 0;
    }
    CHECK(n > 0 && !wrong, "%lu pieces of %lu bytes: piece %lu", (unsigned long)n, (unsigned long)len, (unsigned long)wrong);
    count[0] = len / 2, count[1] = 2, strides[0][0] = len / 2, strides[1][0] = (n - 1) * (len + 5); /* the ends of it all */
    memset(back, 0, len);
    if (n > 1) gasnet_gets_nbi_bulk(back, strides[0], right(), there, strides[1], count, 1);
    gasnet_wait_syncnbi_gets();
    CHECK(n < 2 || (!memcmp(back, source, len / 2) && !memcmp(back + len / 2, source, len / 2)), "ends, %lu bytes", (unsigned long)len);
    free(to), free(from);
  }
  free(source), free(back);
}

int main(int argc, char **argv) {
  if (getenv("TESTVIS_MIXED") && getpid() % 2) { /* before init: other settings on some of the nodes */
    setenv("GASNET_VIS_AMPIPE", "no", 1);
    setenv("GASNET_VIS_MAXCHUNK", "50", 1);
  }
  core_init(&argc, &argv, "testvis");
  rounds = core_number(argc, argv, 1, 60);
  seed = (unsigned)core_number(argc, argv, 2, 1);
  test_seed(seed);
  large = (size_t)core_number(argc, argv, 3, 4) << 20;
  slice = THREADS * (size_t)PART + large;
  core_attach(NULL, 0, nodes * slice + TAIL);
  test_begin("testvis");
  par_run(run_random, THREADS);
  test_barrier();
  same_bytes();
  empty();
  few_pieces();
  odd_places();
  at_the_end();
  sets_and_regions();
  many_pieces();
  large_pieces();
  CHECK(core_area[me] != NULL, "rounds %ld, seed %u", rounds, seed);
  if (me == 0) printf("testvis: seed %u, %ld rounds\n", seed, rounds);
  test_end();
}
