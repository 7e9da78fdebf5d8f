/* Conjugate gradients: solves A x = b, where A is the five-point Laplacian on a grid of N x N points with zero boundary.
 *
 *   cg [N [ROWS]]      default: 64 points a side, blocks of 4 rows
 *
 * Vectors are shared arrays, dealt out to the threads in blocks of whole rows. b is made from a known x, so that the answer
 * can be checked: the largest error, and the residual computed anew. Status 0 only if both are small. */
#include "upcish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t side = 64, rows = 4;

typedef upcish_array vector; /* of side * side doubles */

static vector new_vector(void) { return upcish_all_alloc(side * side, sizeof(double), rows * side); }

/* This thread's own part of a vector: the block that begins at `first`. */
static double *block(const vector *v, size_t first) { return upcish_local(upcish_at(v, first)); }

/* Row `row` of v for reading: into `room`, zeros if it is the boundary. Complete after the next fence. */
static void start_row(const vector *v, size_t first, ptrdiff_t row, double *room) {
  ptrdiff_t index = (ptrdiff_t)first + row * (ptrdiff_t)side;
  if (index < 0 || index >= (ptrdiff_t)v->length)
    memset(room, 0, side * sizeof *room);
  else
    upcish_get_nb(v, (size_t)index, side, room);
}

/* to = A v. v is complete on all threads, and does not change until all have come to the next collective. */
static void multiply(vector *to, const vector *v, double *above, double *below) {
  UPCISH_FORALL_BLOCKS(first, v) {
    const double *x = block(v, first);
    double *y = block(to, first);
    size_t count = upcish_block_length(v, first), lines = count / side;
    start_row(v, first, -1, above);
    start_row(v, first, (ptrdiff_t)lines, below);
    upcish_fence();
    for (size_t line = 0; line < lines; line++) {
      const double *middle = x + line * side;
      const double *north = line > 0 ? middle - side : above;
      const double *south = line + 1 < lines ? middle + side : below;
      for (size_t i = 0; i < side; i++) {
        double west = i > 0 ? middle[i - 1] : 0, east = i + 1 < side ? middle[i + 1] : 0;
        y[line * side + i] = 4 * middle[i] - north[i] - south[i] - west - east;
      }
    }
  }
}

static double dot(const vector *a, const vector *b) {
  double sum = 0;
  UPCISH_FORALL_BLOCKS(first, a) {
    const double *x = block(a, first), *y = block(b, first);
    size_t count = upcish_block_length(a, first);
    for (size_t i = 0; i < count; i++) sum += x[i] * y[i];
  }
  return upcish_all_sum(sum);
}

/* to = a + factor * b; `to` may be one of them. */
static void combine(vector *to, const vector *a, double factor, const vector *b) {
  UPCISH_FORALL_BLOCKS(first, to) {
    double *z = block(to, first);
    const double *x = block(a, first), *y = block(b, first);
    size_t count = upcish_block_length(to, first);
    for (size_t i = 0; i < count; i++) z[i] = x[i] + factor * y[i];
  }
}

/* Solves A x = b from x = 0 on; the number of iterations. */
static int solve(vector *x, const vector *b, double tolerance, double *above, double *below) {
  vector r = new_vector(), p = new_vector(), ap = new_vector();
  double rr = dot(b, b), enough = tolerance * tolerance * rr;
  int iterations = 0, limit = 10 * (int)side + 10;
  combine(&r, b, 0, b);
  combine(&p, b, 0, b);
  while (rr > enough && iterations < limit) {
    double alpha, before = rr;
    upcish_barrier(); /* p is complete */
    multiply(&ap, &p, above, below);
    alpha = rr / dot(&p, &ap); /* the sum is there when all have read p */
    combine(x, x, alpha, &p);
    combine(&r, &r, -alpha, &ap);
    rr = dot(&r, &r);
    combine(&p, &r, rr / before, &p);
    iterations++;
  }
  upcish_all_free(&ap);
  upcish_all_free(&p);
  upcish_all_free(&r);
  return iterations;
}

static double wanted(size_t i) { return sin(0.1 * (double)(i % side)) + (double)(i * 7 % 11) / 11; }

/* Adds to a shared counter, as many threads at once do: under a lock. */
static void count(upcish_lock *lock, const upcish_array *counter, double amount) {
  double value;
  upcish_lock_take(lock);
  upcish_memget(&value, upcish_at(counter, 0), sizeof value);
  value += amount;
  upcish_memput(upcish_at(counter, 0), &value, sizeof value);
  upcish_lock_give(lock);
}

int main(int argc, char **argv) {
  vector x, b, check;
  upcish_array counter;
  upcish_lock *lock;
  double *above, *below, error = 0, residual, size_of_b, visited;
  int iterations, good;

  upcish_init(&argc, &argv, (size_t)64 << 20);
  if (argc > 1) side = strtoul(argv[1], NULL, 10);
  if (argc > 2) rows = strtoul(argv[2], NULL, 10);
  if (side < 2 || side > 1000 || rows < 1) upcish_fatal("usage: cg [N [ROWS]], 2 to 1000 points a side, at least one row");
  above = malloc(side * sizeof *above);
  below = malloc(side * sizeof *below);
  if (!above || !below) upcish_fatal("no memory for two rows");

  x = new_vector();
  b = new_vector();
  check = new_vector();
  UPCISH_FORALL(i, &check) *(double *)upcish_local(upcish_at(&check, i)) = wanted(i);
  upcish_barrier();
  multiply(&b, &check, above, below);
  size_of_b = sqrt(dot(&b, &b));

  iterations = solve(&x, &b, 1e-11, above, below);

  /* The answer, against what b was made from; its residual; and was every point visited once? */
  counter = upcish_all_alloc(1, sizeof(double), 1);
  lock = upcish_all_lock_alloc();
  UPCISH_FORALL(i, &x) {
    double difference = fabs(*(double *)upcish_local(upcish_at(&x, i)) - wanted(i));
    if (!(difference <= error)) error = difference; /* a NaN stays */
  }
  UPCISH_FORALL_BLOCKS(first, &x) count(lock, &counter, (double)upcish_block_length(&x, first));
  error = upcish_all_max(error);
  upcish_barrier();
  multiply(&check, &x, above, below);
  combine(&check, &b, -1, &check);
  residual = sqrt(dot(&check, &check)) / size_of_b;
  upcish_memget(&visited, upcish_at(&counter, 0), sizeof visited);

  good = error < 1e-7 && residual < 1e-10 && visited == (double)(side * side);
  if (upcish_mythread() == 0)
    printf("cg: %zu x %zu points, %d threads, %d iterations, residual %.1e, error %.1e: %s\n", side, side,
           upcish_threads(), iterations, residual, error, good ? "PASS" : "FAIL");
  upcish_exit(good ? 0 : 1);
}
