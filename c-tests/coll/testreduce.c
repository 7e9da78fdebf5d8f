/* Reductions and scans with the client's functions: values, order of operands, the arguments of the function, all
 * roots, sync modes and sizes; functions that are not AMSAFE may communicate (behaviours M1-M4).
 *
 *   testreduce [ROUNDS [SEED]] */
#include "testcoll.h"

enum { SUM, MAXIMUM, MATRIX, REALS, TALKING, FUNCTIONS };
#define FLAGS_SUM GASNET_COLL_AMSAFE
#define FLAGS_MATRIX (GASNET_COLL_AMSAFE | GASNET_COLL_NONCOMM)

static long rounds;
static unsigned seed0;

/* The promises of the contract for every call of a function. */
static void given(const char *what, void *results, size_t n, const void *left, size_t left_count, const void *right,
                  size_t size, size_t elem, int flags, int registered, int arg) {
  const char *r = (const char *)results, *a = (const char *)right;
  (void)left;
  CHECK(n == left_count && n > 0, "%s: %lu results, %lu on the left", what, (unsigned long)n, (unsigned long)left_count);
  CHECK(size == elem, "%s: elements of %lu bytes", what, (unsigned long)size);
  CHECK(flags == registered, "%s: flags %d", what, flags);
  CHECK(arg == 40 + registered, "%s: argument %d", what, arg);
  CHECK(r + n * size <= a || a + n * size <= r, "%s: results overlap the right side", what);
  CHECK((uintptr_t)results % 8 == 0 && (uintptr_t)left % 8 == 0, "%s: results at %p, left at %p", what, results, left);
}

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                int arg) {
  uint32_t *r = (uint32_t *)results;
  const uint32_t *a = (const uint32_t *)left, *b = (const uint32_t *)right;
  size_t i;
  given("sum", results, n, left, left_count, right, size, sizeof *r, flags, FLAGS_SUM, arg);
  for (i = 0; i < n; i++) r[i] = a[i] + b[i];
}
static void maximum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size,
                    int flags, int arg) {
  uint32_t *r = (uint32_t *)results;
  const uint32_t *a = (const uint32_t *)left, *b = (const uint32_t *)right;
  size_t i;
  given("max", results, n, left, left_count, right, size, sizeof *r, flags, FLAGS_SUM, arg);
  for (i = 0; i < n; i++) r[i] = a[i] > b[i] ? a[i] : b[i];
}

/* 2x2 matrices modulo 2^32: associative, not commutative. */
typedef struct {
  uint32_t m[4];
} matrix;
static matrix product(matrix a, matrix b) {
  matrix r;
  r.m[0] = a.m[0] * b.m[0] + a.m[1] * b.m[2], r.m[1] = a.m[0] * b.m[1] + a.m[1] * b.m[3];
  r.m[2] = a.m[2] * b.m[0] + a.m[3] * b.m[2], r.m[3] = a.m[2] * b.m[1] + a.m[3] * b.m[3];
  return r;
}
static void multiply(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size,
                     int flags, int arg) {
  size_t i;
  given("product", results, n, left, left_count, right, size, sizeof(matrix), flags, FLAGS_MATRIX, arg);
  for (i = 0; i < n; i++) ((matrix *)results)[i] = product(((const matrix *)left)[i], ((const matrix *)right)[i]);
}

static void add(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                int arg) {
  size_t i;
  given("reals", results, n, left, left_count, right, size, sizeof(double), flags, 0, arg);
  for (i = 0; i < n; i++) ((double *)results)[i] = ((const double *)left)[i] + ((const double *)right)[i];
}

/* Not AMSAFE: runs where communication is legal. */
static void talk(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                 int arg) {
  unsigned char here = 0;
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  gasnet_get(&here, (me + 1) % nodes, core_area[(me + 1) % nodes] + core_areasize - 1, 1);
  CHECK(here == 0x3C, "a blocking get in a function: %x", here);
  for (i = 0; i < n; i++) ((uint32_t *)results)[i] = ((const uint32_t *)left)[i] + ((const uint32_t *)right)[i];
}

static gasnet_coll_fn_entry_t table[FUNCTIONS] = {{sum, FLAGS_SUM}, {maximum, FLAGS_SUM}, {multiply, FLAGS_MATRIX}, {add, 0}, {talk, 0}};
static const size_t elem[FUNCTIONS] = {sizeof(uint32_t), sizeof(uint32_t), sizeof(matrix), sizeof(double), sizeof(uint32_t)};

/* ---- one reduction or scan ---- */

typedef struct {
  int fn, in, out, nb, lists, scan; /* scan: 1 inclusive, 2 exclusive */
  int where_src, where_dst;
  gasnet_image_t root;
  size_t count;
  unsigned seed;
} work;

static unsigned char *src_of(const work *w, gasnet_image_t i) { return coll_memory(i, w->where_src, 0, COLL_SRC) + 64; }
static unsigned char *dst_of(const work *w, gasnet_image_t i) { return coll_memory(i, w->where_dst, 0, COLL_DST) + 64; }

static void operand(const work *w, gasnet_image_t i, size_t k, void *to) {
  unsigned v = core_seed(w->seed, i, (unsigned)k);
  int x;
  if (w->fn == MATRIX) {
    matrix m;
    for (x = 0; x < 4; x++) m.m[x] = v * (unsigned)(2 * x + 1) + (unsigned)x;
    memcpy(to, &m, sizeof m);
  } else if (w->fn == REALS) {
    double d = 1.0 / (1 + v % 1000003) * (v % 2 ? 1e10 : 1e-3);
    memcpy(to, &d, sizeof d);
  } else {
    memcpy(to, &v, sizeof v);
  }
}

/* Element k of images first to last combined in order, left to right. */
static void expected(const work *w, gasnet_image_t last, size_t k, void *to) {
  union {
    uint32_t u;
    matrix m;
    double d;
  } acc, next;
  gasnet_image_t i;
  memset(&acc, 0, sizeof acc);
  operand(w, 0, k, &acc);
  for (i = 1; i <= last; i++) {
    operand(w, i, k, &next);
    if (w->fn == MATRIX) acc.m = product(acc.m, next.m);
    else if (w->fn == REALS) acc.d += next.d;
    else if (w->fn == MAXIMUM) acc.u = acc.u > next.u ? acc.u : next.u;
    else acc.u += next.u;
  }
  memcpy(to, &acc, elem[w->fn]);
}

/* Sums of reals depend on how they are bracketed; that they come out the same each time is checked elsewhere. */
static int equal(const work *w, const void *want, const void *got) {
  double a, b;
  if (w->fn != REALS) return memcmp(want, got, elem[w->fn]) == 0;
  memcpy(&a, want, sizeof a);
  memcpy(&b, got, sizeof b);
  return b > a * (1 - 1e-12) && b < a * (1 + 1e-12);
}

static gasnet_coll_handle_t begin(const work *w, gasnet_image_t i) {
  void *dst[COLL_MOST], *src[COLL_MOST];
  int flags = coll_in[w->in] | coll_out[w->out] | GASNET_COLL_LOCAL, arg = 40 + (int)table[w->fn].flags;
  gasnet_image_t k;
  gasnet_coll_handle_t h = GASNET_COLL_INVALID_HANDLE;
  void *own = i == w->root || w->scan ? (void *)dst_of(w, i) : NULL;
  gasnet_team_handle_t all = GASNET_TEAM_ALL;
  if (w->scan) flags |= w->scan == 1 ? GASNET_COLL_INCLUSIVE_SCAN : GASNET_COLL_EXCLUSIVE_SCAN;
  for (k = 0; k < coll_counts[me]; k++) dst[k] = dst_of(w, coll_first + k), src[k] = src_of(w, coll_first + k);
  if (w->scan) {
    if (w->lists && w->nb) h = gasnet_coll_scanM_nb(all, dst, 0, 0, src, 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
    else if (w->lists) gasnet_coll_scanM(all, dst, 0, 0, src, 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
    else if (w->nb) h = gasnet_coll_scan_nb(all, own, 0, 0, src_of(w, i), 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
    else gasnet_coll_scan(all, own, 0, 0, src_of(w, i), 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
    return h;
  }
  if (w->lists && w->nb) h = gasnet_coll_reduceM_nb(all, w->root, own, src, 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
  else if (w->lists) gasnet_coll_reduceM(all, w->root, own, src, 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
  else if (w->nb) h = gasnet_coll_reduce_nb(all, w->root, own, src_of(w, i), 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
  else gasnet_coll_reduce(all, w->root, own, src_of(w, i), 0, 0, elem[w->fn], w->count, w->fn, arg, flags);
  return h;
}

static void perform(const work *w, gasnet_image_t i, unsigned *mine) {
  size_t k, size = elem[w->fn], bytes = w->count * size;
  unsigned char *src = src_of(w, i), *dst = dst_of(w, i), want[sizeof(matrix)];
  gasnet_coll_handle_t h;
  for (k = 0; k < w->count; k++) operand(w, i, k, src + k * size);
  memset(dst - 16, 0x7E, bytes + 32);
  if (w->in == 0) coll_meet();
  h = begin(w, i);
  if (w->nb) coll_sync(&h, 1, mine);
  if (w->out == 0) coll_meet();
  if (w->scan ? w->scan == 1 || i > 0 : i == w->root) {
    gasnet_image_t last = !w->scan ? coll_images - 1 : w->scan == 1 ? i : i - 1;
    for (k = 0; k < w->count; k++) {
      expected(w, last, k, want);
      if (!CHECK(equal(w, want, dst + k * size), "image %u: element %lu of %lu, function %d, scan %d, root %u, in %d, out %d",
                 (unsigned)i, (unsigned long)k, (unsigned long)w->count, w->fn, w->scan, (unsigned)w->root, w->in, w->out))
        break;
    }
    CHECK(core_notall(dst + bytes, 16, 0x7E) == 16, "behind the result%s", "");
  } else {
    CHECK(core_notall(dst, bytes, 0x7E) == bytes, "image %u has a result though it is not the root", (unsigned)i);
  }
  CHECK(core_notall(dst - 16, 16, 0x7E) == 16, "before the result%s", "");
  for (k = 0; k < w->count; k++) {
    operand(w, i, k, want);
    if (!CHECK(memcmp(want, src + k * size, size) == 0, "source element %lu changed", (unsigned long)k)) break;
  }
  coll_meet(); /* the next one writes the same memory */
}

/* The same sum twice: bit for bit equal, though members come at other times. */
static void repeatable(gasnet_image_t image) {
  enum { COUNT = 5000 };
  double *src = (double *)malloc(COUNT * sizeof *src), *got[2];
  int r, k, flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  for (k = 0; k < COUNT; k++) src[k] = 1.0 / (1 + core_seed(9, image, (unsigned)k) % 100003) * (k % 2 ? 1e12 : 1e-5);
  for (r = 0; r < 2; r++) {
    got[r] = (double *)calloc(COUNT, sizeof **got);
    if (image % 2 == (unsigned)r) usleep(2000);
    gasnet_coll_reduce(GASNET_TEAM_ALL, 0, got[r], src, 0, 0, sizeof *src, COUNT, REALS, 40, flags);
  }
  if (image == 0) CHECK(memcmp(got[0], got[1], COUNT * sizeof **got) == 0, "two runs differ%s", "");
  free(src), free(got[0]), free(got[1]);
}

/* Elements without bytes, and none: nothing is combined, and all come back. */
static void nothing(gasnet_image_t image) {
  static const size_t shapes[][2] = {{0, 0}, {0, 3}, {4, 0}};
  int k, flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  for (k = 0; k < 3; k++) {
    uint32_t src = image, dst = 77;
    gasnet_coll_reduce(GASNET_TEAM_ALL, 0, &dst, &src, 0, 0, shapes[k][0], shapes[k][1], SUM, 0, flags);
    gasnet_coll_wait_sync(
        gasnet_coll_reduce_nb(GASNET_TEAM_ALL, 0, &dst, &src, 0, 0, shapes[k][0], shapes[k][1], SUM, 0, flags));
    CHECK(dst == 77 && src == image, "a reduction of %lu elements of %lu bytes: %u", (unsigned long)shapes[k][1],
          (unsigned long)shapes[k][0], (unsigned)dst);
  }
}

static void every_part(gasnet_image_t image) {
  static const size_t counts[] = {1, 2, 3, 13, 14, 15, 100, 1000, 4095, 4096, 4097, 10000, 100000};
  unsigned common = seed0, mine = seed0 + image * 7 + 1;
  long r;
  for (r = 0; r < rounds; r++) {
    work w;
    unsigned s = test_random(&common);
    memset(&w, 0, sizeof w);
    w.seed = s;
    w.fn = (int)(test_random(&s) % FUNCTIONS);
    w.scan = test_random(&s) % 3 ? 0 : 1 + (int)(test_random(&s) % 2);
    w.in = (int)(test_random(&s) % 3), w.out = (int)(test_random(&s) % 3);
    w.nb = (int)(test_random(&s) % 2), w.lists = (int)(test_random(&s) % 2);
    w.where_src = (int)(test_random(&s) % 2), w.where_dst = (int)(test_random(&s) % 2);
    w.root = (gasnet_image_t)r % coll_images;
    do w.count = counts[test_random(&s) % (sizeof counts / sizeof *counts)];
    while (w.count * elem[w.fn] > COLL_CAP - 256 || (r % 16 && w.count > 10000));
    perform(&w, image, &mine);
  }
  repeatable(image);
  nothing(image);
}

int main(int argc, char **argv) {
  core_init(&argc, &argv, "testreduce");
  rounds = core_number(argc, argv, 1, 150);
  seed0 = (unsigned)core_number(argc, argv, 2, 4242);
  test_seed(seed0);
  area_attach(NULL, 0, COLL_PERIMAGE * 3);
  core_area[me][core_areasize - 1] = 0x3C;
  test_begin("testreduce");
  coll_table = table;
  coll_functions = FUNCTIONS;
  coll_setup(3);
  coll_run(every_part);
  test_end();
  return 0;
}
