/* Jacobi iteration on a 2-D grid over active messages: an application of the Core API alone.
 *
 *   stencil [-n ROWSxCOLUMNS] [-i ITERATIONS] [-p ROWSxCOLUMNS of nodes] [-q]
 *
 * Each node owns a block of the grid and swaps its edges with up to four neighbours in each iteration: one AM Long
 * per edge, straight into a halo buffer in the neighbour's segment. -q leaves out the serial answer that node 0
 * compares with.
 *
 * Flow control. A halo buffer exists twice, for even and odd iterations. An edge for iteration k arrives at any time
 * after the sender has finished iteration k-1; messages overtake each other. An edge for k+2 goes over the buffer of
 * k, so the neighbour must have finished k. It has: the sender waited for the neighbour's edge for k+1, which the
 * neighbour sends only after it has finished k. Arrivals are counted per direction and parity, so that an early edge
 * never counts for the iteration before it. */
#include "../test.h"

#include <stdint.h>

enum { NORTH, SOUTH, WEST, EAST, DIRECTIONS };
enum { H_EDGE = 200, H_RESULT, H_ADDRESS };

static gasnet_node_t me, nodes;
static long grid_rows = 192, grid_columns = 160, iterations = 100; /* inner points; the frame around them is fixed */
static int node_rows, node_columns, my_row, my_column;
static int compare = 1;
static void **halos; /* of every node: where its halo buffers begin */

/* The block of node `node`: rows [row, row + rows) and columns likewise, counted from 0 among the inner points. */
typedef struct {
  long row, column, rows, columns;
} block_t;

static long share(long total, int parts, int part) { return total * part / parts; }

static block_t block_of(gasnet_node_t node) {
  int r = (int)node / node_columns, c = (int)node % node_columns;
  block_t b;
  b.row = share(grid_rows, node_rows, r);
  b.rows = share(grid_rows, node_rows, r + 1) - b.row;
  b.column = share(grid_columns, node_columns, c);
  b.columns = share(grid_columns, node_columns, c + 1) - b.column;
  return b;
}

/* Start value of a point, frame included (row or column -1 or the last plus 1). */
static double start_value(long row, long column) {
  if (row < 0) return 1.0 + 0.001 * (double)column;
  if (row >= grid_rows) return -2.0;
  if (column < 0) return 0.5 * (double)(row % 7);
  if (column >= grid_columns) return 3.0;
  return (double)((row * 31 + column * 17) % 101) / 101.0;
}

/* The one formula of both programs, so that the results agree to the last bit. */
static double relax(double north, double south, double west, double east) {
  return 0.25 * ((north + south) + (west + east));
}

/* ---- the halo: DIRECTIONS x 2 buffers of `edge_room` values, at the start of the segment if there is one --------- */

static long edge_room;
static volatile long arrived[DIRECTIONS][2]; /* edges from that side, by parity of their iteration */

static double *halo_at(void *halo, int side, long k) { return (double *)halo + (side * 2 + k % 2) * edge_room; }

#ifdef GASNET_SEGMENT_EVERYTHING
static volatile int addresses;
static void address(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  gasnet_node_t from = 0;
  gasnet_AMGetMsgSource(token, &from);
  halos[from] = (void *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
  addresses++;
}

/* Any memory will do, but the others have to be told where. */
static void find_halos(uintptr_t size) {
  uint64_t mine_at = (uintptr_t)calloc(size, 1);
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    GASNET_SAFE(gasnet_AMRequestShort2(i, H_ADDRESS, (gasnet_handlerarg_t)(mine_at >> 32),
                                       (gasnet_handlerarg_t)mine_at));
  GASNET_BLOCKUNTIL(addresses == (int)nodes);
}
#else
static void find_halos(uintptr_t size) {
  gasnet_seginfo_t *seg = malloc(nodes * sizeof *seg);
  gasnet_node_t i;
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)nodes));
  for (i = 0; i < nodes; i++) {
    CHECK(seg[i].size >= size, "node %d has %lu bytes", (int)i, (unsigned long)seg[i].size);
    halos[i] = seg[i].addr;
  }
  free(seg);
}
#endif

static void edge(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t side, gasnet_handlerarg_t parity) {
  (void)token, (void)buf, (void)n;
  arrived[side][parity]++;
}

static int neighbour(int side, gasnet_node_t *node) {
  int r = my_row + (side == SOUTH) - (side == NORTH), c = my_column + (side == EAST) - (side == WEST);
  if (r < 0 || r >= node_rows || c < 0 || c >= node_columns) return 0;
  *node = (gasnet_node_t)(r * node_columns + c);
  return 1;
}

/* ---- one iteration ----------------------------------------------------------------------------------------------- */

static block_t mine;
static long stride;       /* of a row of the field, frame included */
static double *now, *next; /* (rows + 2) x (columns + 2) */
static double *packed;    /* an edge column, gathered */

static double *point(double *field, long row, long column) { return field + (row + 1) * stride + column + 1; }

static void send_edges(long k) {
  static const int opposite[DIRECTIONS] = {SOUTH, NORTH, EAST, WEST};
  gasnet_node_t to;
  int side;
  long i;
  for (side = 0; side < DIRECTIONS; side++) {
    long n = side == NORTH || side == SOUTH ? mine.columns : mine.rows;
    double *from = point(now, side == SOUTH ? mine.rows - 1 : 0, 0);
    if (!neighbour(side, &to)) continue;
    if (side == WEST || side == EAST) {
      for (i = 0; i < n; i++) packed[i] = *point(now, i, side == EAST ? mine.columns - 1 : 0);
      from = packed;
    }
    GASNET_SAFE(gasnet_AMRequestLong2(to, H_EDGE, from, (size_t)n * sizeof(double),
                                      halo_at(halos[to], opposite[side], k), opposite[side],
                                      (gasnet_handlerarg_t)(k % 2)));
  }
}

/* Waits for the edges of iteration k and copies them into the frame of the field. */
static void take_edges(long k) {
  gasnet_node_t from;
  int side;
  long i, n = k / 2 + 1; /* the how-manieth edge of its parity */
  for (side = 0; side < DIRECTIONS; side++) {
    double *edge_in = halo_at(halos[me], side, k);
    if (!neighbour(side, &from)) continue;
    GASNET_BLOCKUNTIL(arrived[side][k % 2] >= n);
    if (side == NORTH) memcpy(point(now, -1, 0), edge_in, (size_t)mine.columns * sizeof(double));
    if (side == SOUTH) memcpy(point(now, mine.rows, 0), edge_in, (size_t)mine.columns * sizeof(double));
    if (side == WEST)
      for (i = 0; i < mine.rows; i++) *point(now, i, -1) = edge_in[i];
    if (side == EAST)
      for (i = 0; i < mine.rows; i++) *point(now, i, mine.columns) = edge_in[i];
  }
}

static void sweep(double *to, double *from, long rows, long columns, long width) {
  long r, c;
  for (r = 1; r <= rows; r++)
    for (c = 1; c <= columns; c++) {
      const double *p = from + r * width + c;
      to[r * width + c] = relax(p[-width], p[width], p[-1], p[1]);
    }
}

static void fill(double *field, const block_t *b) {
  long r, c;
  for (r = -1; r <= b->rows; r++)
    for (c = -1; c <= b->columns; c++)
      field[(r + 1) * (b->columns + 2) + c + 1] = start_value(b->row + r, b->column + c);
}

static double *new_field(const block_t *b) {
  double *field = malloc((size_t)(b->rows + 2) * (size_t)(b->columns + 2) * sizeof *field);
  if (!field) exit(99);
  fill(field, b);
  return field;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static double *whole; /* on node 0: the serial answer, with frame */
static volatile long compared;

/* A piece of a row of node `from`'s block: column `at` of row `row`. */
static void result(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t row, gasnet_handlerarg_t at) {
  gasnet_node_t from = 0;
  block_t b;
  long first;
  gasnet_AMGetMsgSource(token, &from);
  b = block_of(from);
  first = (b.row + row + 1) * (grid_columns + 2) + b.column + at + 1;
  CHECK(memcmp(whole + first, buf, n) == 0, "row %ld, column %ld, of node %d differs from the serial answer",
        b.row + row, b.column + at, (int)from);
  compared += (long)(n / sizeof(double));
}

static void check_answer(void) {
  block_t all;
  long r, c, k, piece = (long)(gasnet_AMMaxMedium() / sizeof(double));
  all.row = all.column = 0, all.rows = grid_rows, all.columns = grid_columns;
  if (me == 0) {
    double *other = new_field(&all), *swap;
    whole = new_field(&all);
    for (k = 0; k < iterations; k++) {
      sweep(other, whole, grid_rows, grid_columns, grid_columns + 2);
      swap = whole, whole = other, other = swap;
    }
    free(other);
  }
  test_barrier();
  for (r = 0; r < mine.rows; r++)
    for (c = 0; c < mine.columns; c += piece) {
      long n = mine.columns - c < piece ? mine.columns - c : piece;
      GASNET_SAFE(gasnet_AMRequestMedium2(0, H_RESULT, point(now, r, c), (size_t)n * sizeof(double),
                                          (gasnet_handlerarg_t)r, (gasnet_handlerarg_t)c));
    }
  if (me == 0) {
    GASNET_BLOCKUNTIL(compared == grid_rows * grid_columns);
    CHECK(compared == grid_rows * grid_columns, "%ld points", compared);
    free(whole);
  }
  test_barrier();
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

/* The divisor pair of `nodes` that is nearest to a square, unless -p chose. */
static void arrange(void) {
  int r;
  if (!node_rows)
    for (r = 1; r * r <= (int)nodes; r++)
      if ((int)nodes % r == 0) node_rows = r, node_columns = (int)nodes / r;
  if (node_rows * node_columns != (int)nodes || grid_rows < node_rows || grid_columns < node_columns ||
      iterations < 0) {
    if (me == 0) fprintf(stderr, "stencil: %d nodes as %dx%d do not fit\n", (int)nodes, node_rows, node_columns);
    gasnet_exit(2);
  }
  my_row = (int)me / node_columns, my_column = (int)me % node_columns;
}

static void options(int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "n:i:p:q")) != -1) {
    int good = 1;
    if (option == 'n') good = sscanf(optarg, "%ldx%ld", &grid_rows, &grid_columns) == 2;
    if (option == 'i') iterations = atol(optarg);
    if (option == 'p') good = sscanf(optarg, "%dx%d", &node_rows, &node_columns) == 2;
    if (option == 'q') compare = 0;
    if (option == '?' || !good) {
      if (me == 0) fprintf(stderr, "usage: stencil [-n ROWSxCOLUMNS] [-i ITERATIONS] [-p ROWSxCOLUMNS] [-q]\n");
      gasnet_exit(2);
    }
  }
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_EDGE, edge},
                                   {H_RESULT, result},
#ifdef GASNET_SEGMENT_EVERYTHING
                                   {H_ADDRESS, address}
#endif
  };
  uintptr_t size;
  double seconds, *swap;
  long k;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  options(argc, argv);
  arrange();
  mine = block_of(me);
  edge_room = (grid_rows > grid_columns ? grid_rows : grid_columns) + 1;
  size = (uintptr_t)edge_room * DIRECTIONS * 2 * sizeof(double);
  size = (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  halos = malloc(nodes * sizeof *halos);
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), size, 0));
  stride = mine.columns + 2;
  now = new_field(&mine), next = new_field(&mine);
  packed = malloc((size_t)edge_room * sizeof *packed);
  find_halos(size);
  test_begin("stencil");
  seconds = test_now();
  for (k = 0; k < iterations; k++) {
    send_edges(k);
    take_edges(k);
    sweep(next, now, mine.rows, mine.columns, stride);
    swap = now, now = next, next = swap;
  }
  test_barrier();
  seconds = test_now() - seconds;
  if (me == 0)
    printf("stencil: %ldx%ld points on %dx%d nodes: %.2f us per iteration\n", grid_rows, grid_columns, node_rows,
           node_columns, iterations ? seconds / (double)iterations * 1e6 : 0.0);
  if (compare) check_answer();
  free(now), free(next), free(packed), free(halos);
  test_end();
  return 0;
}
