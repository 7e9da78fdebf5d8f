/* ScaLAPACK's parallel matrix multiplication, C = A B, on a grid of processes: the benchmark of the ParaStation2 paper.
 *
 *   pdgemm N [BLOCK [REPEAT]]      matrices of N x N doubles in blocks of BLOCK (64), the best of REPEAT (3) runs
 *
 * Rank 0 prints "pdgemm N PROCESSES SECONDS GFLOPS RESIDUAL". The residual is that of C x = A (B x) for a vector x of random numbers, in
 * units of rounding; above 10 the program fails. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern void Cblacs_pinfo(int *me, int *all), Cblacs_get(int context, int what, int *value), Cblacs_exit(int go_on);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
extern void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
extern int numroc_(const int *n, const int *block, const int *at, const int *first, const int *count);
extern void descinit_(int *descriptor, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
                      const int *context, const int *leading, int *info);
extern void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a,
                    const int *ia, const int *ja, const int *da, const double *b, const int *ib, const int *jb, const int *db,
                    const double *beta, double *c, const int *ic, const int *jc, const int *dc);
extern void pdgemv_(const char *ta, const int *m, const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
                    const int *da, const double *x, const int *ix, const int *jx, const int *dx, const int *incx, const double *beta,
                    double *y, const int *iy, const int *jy, const int *dy, const int *incy);

static const int zero = 0, one = 1;
static const double none = 0, all_of_it = 1;

typedef struct {
  int rows, columns, row, column, context; /* of the grid, and this process in it */
} grid_t;

typedef struct {
  double *data;
  int rows, columns, descriptor[9]; /* of the part that is here */
} matrix_t;

/* A number between -1/2 and 1/2, the same wherever it is made. */
static double element(uint64_t i, uint64_t j, uint64_t seed) {
  uint64_t x = (i * 0x9e3779b97f4a7c15u + j * 0xc2b2ae3d27d4eb4fu) ^ seed * 0x165667b19e3779f9u;
  x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
  x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
  return (double)(x >> 11) / 9007199254740992.0 - 0.5;
}

static void give_up(const char *what) {
  fprintf(stderr, "pdgemm: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The place in the whole of row or column `i` here. */
static int whole(int i, int block, int at, int count) { return (i / block * count + at) * block + i % block; }

static matrix_t make(const grid_t *grid, int n, int columns, int block, uint64_t seed) {
  matrix_t made;
  int leading, info;
  made.rows = numroc_(&n, &block, &grid->row, &zero, &grid->rows);
  made.columns = numroc_(&columns, &block, &grid->column, &zero, &grid->columns);
  leading = made.rows > 1 ? made.rows : 1;
  descinit_(made.descriptor, &n, &columns, &block, &block, &zero, &zero, &grid->context, &leading, &info);
  made.data = calloc((size_t)leading * (size_t)(made.columns + 1), sizeof(double));
  if (info != 0 || made.data == NULL) give_up("no matrix");
  for (int j = 0; seed != 0 && j < made.columns; j++)
    for (int i = 0; i < made.rows; i++)
      made.data[(size_t)j * (size_t)leading + (size_t)i] =
          element((uint64_t)whole(i, block, grid->row, grid->rows), (uint64_t)whole(j, block, grid->column, grid->columns), seed);
  return made;
}

static void times(int n, const matrix_t *a, const matrix_t *x, matrix_t *y) {
  pdgemv_("N", &n, &n, &all_of_it, a->data, &one, &one, a->descriptor, x->data, &one, &one, x->descriptor, &one, &none, y->data, &one,
          &one, y->descriptor, &one);
}

/* The largest element of a vector, or of the difference of two. */
static double largest(const matrix_t *x, const matrix_t *y) {
  double mine = 0, most;
  for (int i = 0; i < x->rows * x->columns; i++) mine = fmax(mine, fabs(x->data[i] - (y ? y->data[i] : 0)));
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000, block = argc > 2 ? atoi(argv[2]) : 64, repeat = argc > 3 ? atoi(argv[3]) : 3;
  int me, all;
  double best = 1e30, residual;
  grid_t grid;
  matrix_t a, b, c, x, bx, abx, cx;
  MPI_Init(&argc, &argv);
  Cblacs_pinfo(&me, &all);
  for (grid.rows = (int)sqrt(all); all % grid.rows != 0; grid.rows--) {}
  grid.columns = all / grid.rows;
  Cblacs_get(-1, 0, &grid.context);
  Cblacs_gridinit(&grid.context, "Row", grid.rows, grid.columns);
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  a = make(&grid, n, n, block, 1), b = make(&grid, n, n, block, 2), c = make(&grid, n, n, block, 0);
  x = make(&grid, n, 1, block, 3), bx = make(&grid, n, 1, block, 0), abx = make(&grid, n, 1, block, 0), cx = make(&grid, n, 1, block, 0);
  for (int i = 0; i < repeat; i++) {
    double mine, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    pdgemm_("N", "N", &n, &n, &n, &all_of_it, a.data, &one, &one, a.descriptor, b.data, &one, &one, b.descriptor, &none, c.data, &one,
            &one, c.descriptor);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = fmin(best, slowest);
  }
  times(n, &b, &x, &bx), times(n, &a, &bx, &abx), times(n, &c, &x, &cx);
  residual = largest(&cx, &abx) / (largest(&abx, NULL) * n * 2.220446049250313e-16);
  if (me == 0) printf("pdgemm %d %d %.6f %.3f %.4f\n", n, all, best, 2e-9 * n * n * (double)n / best, residual);
  if (!(residual <= 10)) give_up("the product is wrong");
  Cblacs_exit(1);
  MPI_Finalize();
  return 0;
}
