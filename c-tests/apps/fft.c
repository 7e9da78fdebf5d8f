/* Three-dimensional Fourier transform of a grid that lies in slabs over all nodes, through collectives or strided puts.
 *
 * usage: fft [-n XxYxZ] [-i iterations] [-v variants] [-q: no checks]
 *
 * The grid is cut along x: a node has whole planes, and transforms their lines along z and y. A transposition then
 * gives each node all x of a range of z, for the lines along x. The inverse goes the same way back. Any size of any
 * axis does: slabs are as even as possible, and empty on nodes for which nothing is left. Without -n, a list of
 * small grids.
 *
 * Variants, how the transposition goes:
 *   e  packed into blocks of equal size, one gasnet_coll_exchange, unpacked
 *   s  one gasnet_puts_nb_bulk per node, from place to place
 *
 * Checks in each iteration: Parseval's sum; small grids against the sum that defines the transform; the inverse
 * gives the input back; a plane wave gives one peak. The program fills the destination of a transposition with NaN
 * before. */
#include "../testarea.h"

#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <math.h>
#include <unistd.h>

#define BY_DEFINITION 1000 /* points; larger grids are not compared with the definition, whose cost is their square */

typedef struct {
  double re, im;
} number;

enum { X, Y, Z };

static size_t size[3], points; /* of the grid */
static number *root[3];        /* of each axis: root[a][k] is exp(-2 pi i k / size[a]) */
static number *line, *parts;   /* a transformed line; the terms of one butterfly */
static number *to_send, *received;
static size_t second; /* bytes from the start of an area to the slab along z; that along x is at the start */
static long iterations = 2;
static int check = 1;
static double moving; /* seconds in transpositions */

static size_t first(int axis, gasnet_node_t node) { return size[axis] * node / nodes; }
static size_t count(int axis, gasnet_node_t node) { return first(axis, node + 1) - first(axis, node); }
static size_t most(int axis) { return (size[axis] + nodes - 1) / nodes; }

/* A node's slabs: [its x][y][z], and [x][y][its z]. */
static number *slab_x(gasnet_node_t node) { return (number *)(void *)core_area[node]; }
static number *slab_z(gasnet_node_t node) { return (number *)(void *)(core_area[node] + second); }

static number product(number a, number b) {
  number c;
  c.re = a.re * b.re - a.im * b.im;
  c.im = a.re * b.im + a.im * b.re;
  return c;
}

static double square(number a) { return a.re * a.re + a.im * a.im; }

static void *allocated(size_t n, size_t each) {
  void *memory = malloc(n * each + 1);
  if (!memory) gasnet_exit(98);
  return memory;
}

/* ---- transform of a line ---- */

/* The root of unity number `k` of `axis`, or its inverse. */
static number unity(int axis, size_t k, int inverse) {
  number w = root[axis][k % size[axis]];
  if (inverse) w.im = -w.im;
  return w;
}

static size_t least_factor(size_t n) {
  size_t p;
  for (p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

/* Transforms the `n` numbers at `in`, `step` apart, to `out`. With p, the least prime factor of n: p transforms of
 * every p-th number, then butterflies of p numbers. For a prime n this is the definition of the transform. */
static void transform(int axis, size_t n, const number *in, size_t step, number *out, int inverse) {
  const size_t p = n > 1 ? least_factor(n) : 1, m = n / p, scale = size[axis] / n;
  size_t k, q, r;
  if (n == 1) {
    *out = *in;
    return;
  }
  for (r = 0; r < p; r++) transform(axis, m, in + r * step, step * p, out + r * m, inverse);
  for (k = 0; k < m; k++) {
    for (r = 0; r < p; r++) parts[r] = product(out[r * m + k], unity(axis, r * k * scale, inverse));
    for (q = 0; q < p; q++) {
      number sum = parts[0];
      for (r = 1; r < p; r++) {
        const number term = product(parts[r], unity(axis, r * q * (size[axis] / p), inverse));
        sum.re += term.re, sum.im += term.im;
      }
      out[q * m + k] = sum;
    }
  }
}

/* Transforms the line along `axis` that begins at `at`, in its place. */
static void transform_line(int axis, number *at, size_t step, int inverse) {
  size_t i;
  transform(axis, size[axis], at, step, line, inverse);
  for (i = 0; i < size[axis]; i++) at[i * step] = line[i];
}

static void transform_planes(int inverse) {
  size_t i, j;
  for (i = 0; i < count(X, me); i++) {
    number *plane = slab_x(me) + i * size[Y] * size[Z];
    for (j = 0; j < size[Y]; j++) transform_line(Z, plane + j * size[Z], 1, inverse);
    for (j = 0; j < size[Z]; j++) transform_line(Y, plane + j, size[Z], inverse);
  }
}

static void transform_columns(int inverse) {
  const size_t columns = size[Y] * count(Z, me);
  size_t i;
  for (i = 0; i < columns; i++) transform_line(X, slab_z(me) + i, columns, inverse);
}

/* ---- transposition ---- */

/* Copies between a block and its place in slab `at`, whose lines have `wide` numbers. The block is the part that one
 * pair of nodes exchanges: `x` planes with `z` numbers of each line. */
static void copy_part(number *at, size_t wide, number *block, size_t x, size_t z, int into_block) {
  size_t i;
  for (i = 0; i < x * size[Y]; i++) {
    number *there = at + i * wide, *here = block + i * z;
    memcpy(into_block ? here : there, into_block ? there : here, z * sizeof(number));
  }
}

/* Where in this node's slabs the part is that it shares with `node`. */
static number *part_of_x(gasnet_node_t node) { return slab_x(me) + first(Z, node); }
static number *part_of_z(gasnet_node_t node) { return slab_z(me) + first(X, node) * size[Y] * count(Z, me); }

static void by_exchange(int back) {
  const size_t block = most(X) * size[Y] * most(Z), x = count(X, me), z = count(Z, me);
  gasnet_node_t node;
  for (node = 0; node < nodes; node++)
    if (back)
      copy_part(part_of_z(node), z, to_send + node * block, count(X, node), z, 1);
    else
      copy_part(part_of_x(node), size[Z], to_send + node * block, x, count(Z, node), 1);
  gasnet_coll_exchange(GASNET_TEAM_ALL, received, to_send, block * sizeof(number),
                       GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
  for (node = 0; node < nodes; node++)
    if (back)
      copy_part(part_of_x(node), size[Z], received + node * block, x, count(Z, node), 0);
    else
      copy_part(part_of_z(node), z, received + node * block, count(X, node), z, 0);
}

static void by_puts(int back) {
  gasnet_handle_t *handle = (gasnet_handle_t *)allocated(nodes, sizeof *handle);
  gasnet_node_t i;
  test_barrier(); /* nobody writes what its owner still fills or reads */
  for (i = 0; i < nodes; i++) {
    const gasnet_node_t node = (me + 1 + i) % nodes; /* everybody begins with another node */
    const size_t z = count(Z, back ? me : node), runs = z * sizeof(number), rows = size[Z] * sizeof(number);
    size_t counts[3], in_x[2], in_z[2]; /* [pieces] of a slab along x, and along z */
    counts[0] = runs, counts[1] = size[Y], counts[2] = count(X, back ? node : me);
    in_x[0] = rows, in_x[1] = size[Y] * rows;
    in_z[0] = runs, in_z[1] = size[Y] * runs;
    if (back)
      handle[i] =
          gasnet_puts_nb_bulk(node, slab_x(node) + first(Z, me), in_x, part_of_z(node), in_z, counts, 2);
    else
      handle[i] = gasnet_puts_nb_bulk(node, slab_z(node) + first(X, me) * size[Y] * z, in_z, part_of_x(node), in_x,
                                      counts, 2);
    memset(counts, 0xA5, sizeof counts), memset(in_x, 0xA5, sizeof in_x), memset(in_z, 0xA5, sizeof in_z);
  }
  gasnet_wait_syncnb_all(handle, nodes);
  test_barrier();
  free(handle);
}

static void transpose(int variant, int back) {
  double start;
  if (back)
    memset(slab_x(me), 0xFF, count(X, me) * size[Y] * size[Z] * sizeof(number));
  else
    memset(slab_z(me), 0xFF, size[X] * size[Y] * count(Z, me) * sizeof(number));
  start = test_now();
  if (variant == 'e')
    by_exchange(back);
  else
    by_puts(back);
  moving += test_now() - start;
}

static void forward(int variant) {
  transform_planes(0);
  transpose(variant, 0);
  transform_columns(0);
}

static void backward(int variant) {
  transform_columns(1);
  transpose(variant, 1);
  transform_planes(1);
}

/* ---- input and checks ---- */

/* The grid's value in a place: between -1 and 1. */
static number noise(size_t x, size_t y, size_t z, unsigned salt) {
  const unsigned long long bits = core_word(salt + 1, (x * size[Y] + y) * size[Z] + z);
  number value;
  value.re = (double)(bits & 0xffffff) / 8388608.0 - 1;
  value.im = (double)(bits >> 40) / 8388608.0 - 1;
  return value;
}

/* A plane wave; its only frequency in each axis follows from `salt`. */
static size_t frequency(int axis, unsigned salt) { return (salt * 7 + (unsigned)axis * 3 + 1) % size[axis]; }

static number wave(size_t x, size_t y, size_t z, unsigned salt) {
  const number in_x = unity(X, x * frequency(X, salt), 1), in_y = unity(Y, y * frequency(Y, salt), 1);
  return product(product(in_x, in_y), unity(Z, z * frequency(Z, salt), 1));
}

static void fill(number (*value)(size_t, size_t, size_t, unsigned), unsigned salt) {
  number *at = slab_x(me);
  size_t x, y, z;
  for (x = first(X, me); x < first(X, me + 1); x++)
    for (y = 0; y < size[Y]; y++)
      for (z = 0; z < size[Z]; z++) *at++ = value(x, y, z, salt);
}

/* The sum of squares of `n` numbers here, and of all nodes' such. */
static double energy(const number *at, size_t n) {
  double *of = (double *)allocated(nodes, sizeof *of), mine = 0, all = 0;
  gasnet_node_t node;
  while (n--) mine += square(*at++);
  gasnet_coll_gather_all(GASNET_TEAM_ALL, of, &mine, sizeof mine,
                         GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
  for (node = 0; node < nodes; node++) all += of[node];
  free(of);
  return all;
}

/* Is `a` within `error` of `b`? A NaN is not. */
static int near(number a, number b, double error) {
  a.re -= b.re, a.im -= b.im;
  return square(a) <= error * error;
}

/* The transform of the noise in one place, by the sum that defines it. */
static number defined(size_t kx, size_t ky, size_t kz, unsigned salt) {
  number sum = {0, 0};
  size_t x, y, z;
  for (x = 0; x < size[X]; x++)
    for (y = 0; y < size[Y]; y++) {
      const number w = product(unity(X, x * kx, 0), unity(Y, y * ky, 0));
      for (z = 0; z < size[Z]; z++) {
        const number term = product(noise(x, y, z, salt), product(w, unity(Z, z * kz, 0)));
        sum.re += term.re, sum.im += term.im;
      }
    }
  return sum;
}

static number peak(size_t kx, size_t ky, size_t kz, unsigned salt) {
  number value = {0, 0};
  if (kx == frequency(X, salt) && ky == frequency(Y, salt) && kz == frequency(Z, salt)) value.re = (double)points;
  return value;
}

static void compare_transform(number (*want)(size_t, size_t, size_t, unsigned), unsigned salt, int variant,
                              const char *what) {
  const number *at = slab_z(me);
  size_t x, y, z, wrong = 0;
  for (x = 0; x < size[X]; x++)
    for (y = 0; y < size[Y]; y++)
      for (z = first(Z, me); z < first(Z, me + 1); z++)
        wrong += !near(*at++, want(x, y, z, salt), 1e-12 * (double)points + 1e-12);
  CHECK(wrong == 0, "variant %c, %s: %lu of %lu numbers wrong", variant, what, (unsigned long)wrong,
        (unsigned long)(size[X] * size[Y] * count(Z, me)));
}

static void compare_input(unsigned salt, int variant) {
  const number *at = slab_x(me);
  size_t x, y, z, wrong = 0;
  for (x = first(X, me); x < first(X, me + 1); x++)
    for (y = 0; y < size[Y]; y++)
      for (z = 0; z < size[Z]; z++, at++) {
        number value = *at;
        value.re /= (double)points, value.im /= (double)points;
        wrong += !near(value, noise(x, y, z, salt), 1e-12);
      }
  CHECK(wrong == 0, "variant %c, forward and back: %lu of %lu numbers wrong", variant, (unsigned long)wrong,
        (unsigned long)(count(X, me) * size[Y] * size[Z]));
}

/* ---- main ---- */

static void run_variant(int variant) {
  const size_t here_x = count(X, me) * size[Y] * size[Z], here_z = size[X] * size[Y] * count(Z, me);
  double seconds = 0, start;
  long i;
  moving = 0;
  for (i = 0; i < iterations; i++) {
    const unsigned salt = (unsigned)i * 2 + (variant == 's');
    double before, after;
    fill(noise, salt);
    before = check ? energy(slab_x(me), here_x) : 0;
    test_barrier();
    start = test_now();
    forward(variant);
    seconds += test_now() - start;
    if (check) {
      after = energy(slab_z(me), here_z) / (double)points;
      CHECK(fabs(after - before) <= 1e-12 * before, "variant %c: energy %.17g before and %.17g after", variant, before,
            after);
      if (points <= BY_DEFINITION) compare_transform(defined, salt, variant, "against the definition");
    }
    test_barrier();
    start = test_now();
    backward(variant);
    seconds += test_now() - start;
    if (check) {
      const double were = moving;
      compare_input(salt, variant);
      fill(wave, salt);
      forward(variant);
      compare_transform(peak, salt, variant, "plane wave");
      moving = were;
    }
    test_barrier();
  }
  if (me == 0)
    printf("fft: variant %c: %lux%lux%lu, %u nodes: %.3f ms per transform, %.3f ms of it transposing\n", variant,
           (unsigned long)size[X], (unsigned long)size[Y], (unsigned long)size[Z], (unsigned)nodes,
           seconds / (double)(2 * iterations) * 1e3, moving / (double)(2 * iterations) * 1e3);
}

/* Bytes of a node's two slabs, the first rounded up to whole cache lines. */
static size_t bytes_for(const size_t grid[3]) {
  size_t planes, columns;
  memcpy(size, grid, sizeof size);
  planes = most(X) * size[Y] * size[Z] * sizeof(number);
  columns = size[X] * size[Y] * most(Z) * sizeof(number);
  second = (planes + 63) / 64 * 64;
  return second + columns;
}

static void run_grid(const size_t grid[3], const char *variants) {
  size_t block, k, longest = 1;
  int axis;
  bytes_for(grid);
  points = size[X] * size[Y] * size[Z];
  block = most(X) * size[Y] * most(Z);
  to_send = (number *)allocated(block * nodes, sizeof *to_send);
  received = (number *)allocated(block * nodes, sizeof *received);
  memset(to_send, 0, block * nodes * sizeof *to_send); /* blocks of smaller slabs are not full */
  for (axis = X; axis <= Z; axis++) {
    root[axis] = (number *)allocated(size[axis], sizeof *root[axis]);
    for (k = 0; k < size[axis]; k++) {
      const double angle = 2 * acos(-1) * (double)k / (double)size[axis];
      root[axis][k].re = cos(angle), root[axis][k].im = -sin(angle);
    }
    if (size[axis] > longest) longest = size[axis];
  }
  line = (number *)allocated(longest, sizeof *line);
  parts = (number *)allocated(longest, sizeof *parts);
  for (; *variants; variants++) run_variant(*variants);
  for (axis = X; axis <= Z; axis++) free(root[axis]);
  free(line), free(parts), free(to_send), free(received);
}

int main(int argc, char **argv) {
  static size_t grids[][3] = {{8, 8, 8}, {5, 6, 7}, {1, 13, 2}, {30, 27, 25}, {64, 16, 32}};
  const char *variants = "es";
  size_t number_of_grids = sizeof grids / sizeof *grids, i, area = 0;
  int option, good = 1;
  core_init(&argc, &argv, "fft");
  while ((option = getopt(argc, argv, "n:i:v:q")) != -1) {
    unsigned long x = 0, y = 0, z = 0;
    if (option == 'n') {
      good &= sscanf(optarg, "%lux%lux%lu", &x, &y, &z) == 3 && x && y && z && x < 65536 && y < 65536 && z < 65536;
      grids[0][X] = x, grids[0][Y] = y, grids[0][Z] = z;
      number_of_grids = 1;
    }
    if (option == 'i') iterations = atol(optarg);
    if (option == 'v') variants = optarg;
    if (option == 'q') check = 0;
    if (option == '?') good = 0;
  }
  if (!good || iterations < 1 || strspn(variants, "es") != strlen(variants)) {
    if (me == 0) fprintf(stderr, "usage: fft [-n XxYxZ] [-i iterations] [-v es] [-q]\n");
    gasnet_exit(2);
  }
  for (i = 0; i < number_of_grids; i++) {
    const size_t bytes = bytes_for(grids[i]);
    if (bytes > area) area = bytes;
    if (bytes > (16u << 20) || iterations > 100) alarm(0);
  }
  area_attach(NULL, 0, area);
  test_begin("fft");
  for (i = 0; i < number_of_grids; i++) run_grid(grids[i], variants);
  test_end();
  return 0;
}
