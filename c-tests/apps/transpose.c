/* Transpose of a matrix whose rows are distributed over all nodes, through strided non-blocking transfers.
 *
 * usage: transpose [-n rowsxcolumns] [-i iterations] [-v variants] [-t tile rows] [-q: no byte-by-byte check]
 *
 * The matrix A (rows x columns) and its transpose B (columns x rows) are cut into blocks of consecutive rows, one per
 * node, as even as possible: the numbers need not divide. Each iteration transposes A into B, checks B, wipes A,
 * transposes B back into A's place, and checks that A is the original again.
 *
 * Variants, how the block of a pair of nodes travels:
 *   i  implicit bulk puts from a block that was transposed here, a row of the destination each (its rows are far apart)
 *   h  the same with explicit handles, synced in one array
 *   s  non-bulk implicit puts from one small buffer that is reused at once
 *   r  an access region per destination, all regions outstanding together
 *   g  implicit bulk gets of the strided pieces from their owners, transposed after they came */
#include "../testarea.h"

#include <unistd.h>

typedef uint64_t element;

/* A matrix as it lies in the areas. */
typedef struct {
  size_t rows, columns, offset; /* bytes from the start of each area to the node's block */
} matrix;

static size_t rows = 211, columns = 180, tile = 32;
static long iterations = 2;
static int check = 1;
static const char *variants = "ihsrg";
static element *packed; /* a transposed or fetched block, the largest there is */

static size_t first_row(const matrix *m, gasnet_node_t node) { return m->rows * node / nodes; }
static size_t row_count(const matrix *m, gasnet_node_t node) { return first_row(m, node + 1) - first_row(m, node); }

/* Row `row` of the matrix, at its owner `node`. */
static element *row_at(const matrix *m, gasnet_node_t node, size_t row) {
  return (element *)(void *)(core_area[node] + m->offset) + (row - first_row(m, node)) * m->columns;
}

/* What A has in a place: different in each, and in each iteration. */
static element original(size_t row, size_t column, unsigned salt) {
  return ((element)salt << 48) + ((element)row << 24) + (element)column;
}

/* ---- the transfers of one pair ---- */

/* The part of `from` here that belongs to `node`, transposed: its rows one after the other. */
static void pack(const matrix *from, const matrix *to, gasnet_node_t node, element *block) {
  const size_t n = row_count(from, me), first = first_row(to, node), last = first + row_count(to, node);
  size_t base, r, c;
  for (base = first; base < last; base += tile)
    for (r = 0; r < n; r++) {
      const element *row = row_at(from, me, first_row(from, me) + r);
      for (c = base; c < last && c < base + tile; c++) block[(c - first) * n + r] = row[c];
    }
}

/* Destination of piece `r` of what this node has for `node`. */
static element *piece_at(const matrix *from, const matrix *to, gasnet_node_t node, size_t r) {
  return row_at(to, node, first_row(to, node) + r) + first_row(from, me);
}

static void put_pieces(const matrix *from, const matrix *to, gasnet_node_t node, element *block, int variant,
                       gasnet_handle_t *handle) {
  const size_t n = row_count(from, me), size = n * sizeof(element);
  size_t r;
  for (r = 0; r < row_count(to, node); r++) {
    element *there = piece_at(from, to, node, r), *here = block + r * n;
    if (variant == 'h')
      handle[r] = gasnet_put_nb_bulk(node, there, here, size);
    else if (variant == 's') {
      memcpy(packed, here, size);
      gasnet_put_nbi(node, there, packed, size);
      memset(packed, 0xA5, size);
    } else
      gasnet_put_nbi_bulk(node, there, here, size);
  }
}

static void transpose_by_puts(const matrix *from, const matrix *to, int variant) {
  const size_t n = row_count(from, me);
  element *blocks = (element *)malloc((n * to->rows + 1) * sizeof *blocks);
  gasnet_handle_t *handle = (gasnet_handle_t *)malloc((to->rows + nodes) * sizeof *handle);
  gasnet_node_t step;
  size_t regions = 0;
  if (!blocks || !handle) gasnet_exit(98);
  for (step = 1; step <= nodes; step++) { /* everybody begins with another node */
    const gasnet_node_t node = (me + step) % nodes;
    element *block = blocks + first_row(to, node) * n;
    pack(from, to, node, block);
    if (variant == 'r') gasnet_begin_nbi_accessregion();
    put_pieces(from, to, node, block, variant, handle + first_row(to, node));
    if (variant == 'r') handle[regions++] = gasnet_end_nbi_accessregion();
  }
  if (variant == 'h') gasnet_wait_syncnb_all(handle, to->rows);
  while (regions) {
    size_t i, left = 0;
    gasnet_wait_syncnb_some(handle, regions);
    for (i = 0; i < regions; i++)
      if (handle[i] != GASNET_INVALID_HANDLE) handle[left++] = handle[i];
    regions = left;
  }
  gasnet_wait_syncnbi_puts();
  test_barrier();
  free(blocks);
  free(handle);
}

static void transpose_by_gets(const matrix *from, const matrix *to) {
  const size_t mine = row_count(to, me), first = first_row(to, me);
  gasnet_node_t step;
  for (step = 1; step <= nodes; step++) {
    const gasnet_node_t node = (me + step) % nodes;
    const size_t there = first_row(from, node), n = row_count(from, node);
    size_t r, c;
    for (r = 0; r < n; r++)
      gasnet_get_nbi_bulk(packed + r * mine, node, row_at(from, node, there + r) + first, mine * sizeof(element));
    gasnet_wait_syncnbi_gets();
    for (c = 0; c < mine; c++) {
      element *row = row_at(to, me, first + c) + there;
      for (r = 0; r < n; r++) row[r] = packed[r * mine + c];
    }
  }
  test_barrier();
}

static void transpose(const matrix *from, const matrix *to, int variant) {
  memset(core_area[me] + to->offset, 0xFF, row_count(to, me) * to->columns * sizeof(element));
  test_barrier();
  if (variant == 'g')
    transpose_by_gets(from, to);
  else
    transpose_by_puts(from, to, variant);
}

/* ---- checks and main ---- */

static void fill(const matrix *a, unsigned salt) {
  size_t r, c;
  for (r = 0; r < row_count(a, me); r++)
    for (c = 0; c < a->columns; c++) row_at(a, me, first_row(a, me) + r)[c] = original(first_row(a, me) + r, c, salt);
}

static void compare(const matrix *m, int is_transposed, unsigned salt, int variant) {
  size_t r, c, wrong = 0;
  for (r = 0; r < row_count(m, me); r++)
    for (c = 0; c < m->columns; c++) {
      const size_t row = first_row(m, me) + r;
      const element want = is_transposed ? original(c, row, salt) : original(row, c, salt);
      wrong += row_at(m, me, row)[c] != want;
    }
  CHECK(wrong == 0, "variant %c, %s: %lu of %lu elements wrong", variant, is_transposed ? "transposed" : "and back",
        (unsigned long)wrong, (unsigned long)(row_count(m, me) * m->columns));
}

static void run_variant(const matrix *a, const matrix *b, int variant) {
  double seconds = 0;
  long i;
  for (i = 0; i < iterations; i++) {
    const unsigned salt = (unsigned)(i * 8 + variant) & 0x7fff;
    double start;
    fill(a, salt);
    test_barrier();
    start = test_now();
    transpose(a, b, variant);
    seconds += test_now() - start;
    if (check) compare(b, 1, salt, variant);
    start = test_now();
    transpose(b, a, variant);
    seconds += test_now() - start;
    if (check) compare(a, 0, salt, variant);
    test_barrier();
  }
  if (me == 0)
    printf("transpose: variant %c: %lux%lu, %u nodes: %.3f ms per transpose, %.1f MB/s\n", variant,
           (unsigned long)rows, (unsigned long)columns, (unsigned)nodes, seconds / (double)(2 * iterations) * 1e3,
           (double)(rows * columns * sizeof(element)) * (double)(2 * iterations) / seconds / 1e6);
}

static void options(int argc, char **argv) {
  int option, good = 1;
  while ((option = getopt(argc, argv, "n:i:v:t:q")) != -1) {
    unsigned long r = 0, c = 0;
    if (option == 'n') good &= sscanf(optarg, "%lux%lu", &r, &c) == 2, rows = r, columns = c;
    if (option == 'i') iterations = atol(optarg);
    if (option == 'v') variants = optarg;
    if (option == 't') tile = (size_t)atol(optarg);
    if (option == 'q') check = 0;
    if (option == '?') good = 0;
  }
  if (!good || rows < 1 || columns < 1 || rows > 0xffffff || columns > 0xffffff || tile < 1 || iterations < 1 ||
      strspn(variants, "ihsrg") != strlen(variants)) {
    if (me == 0) fprintf(stderr, "usage: transpose [-n rowsxcolumns] [-i iterations] [-v ihsrg] [-t tile] [-q]\n");
    gasnet_exit(2);
  }
}

int main(int argc, char **argv) {
  matrix a, b;
  size_t most_a, most_b, size_a;
  const char *v;
  core_init(&argc, &argv, "transpose");
  options(argc, argv);
  if (rows * columns > 1000000 || iterations > 100) alarm(0);
  most_a = rows / nodes + 1, most_b = columns / nodes + 1;
  size_a = most_a * columns * sizeof(element);
  a.rows = rows, a.columns = columns, a.offset = 0;
  b.rows = columns, b.columns = rows, b.offset = (size_a + 63) / 64 * 64;
  area_attach(NULL, 0, b.offset + most_b * rows * sizeof(element));
  packed = (element *)malloc(most_a * most_b * sizeof *packed + (most_a + most_b) * sizeof *packed);
  if (!packed) gasnet_exit(98);
  test_begin("transpose");
  for (v = variants; *v; v++) run_variant(&a, &b, *v);
  test_end();
  return 0;
}
