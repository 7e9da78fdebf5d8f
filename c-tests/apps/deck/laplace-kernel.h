/* The temperature of a slab: what laplace-deck.c and laplace-mpi.c compute.
 *
 * A grid of M rows and N columns with the distance h = 1 / (N - 1). The top row is sin(pi x), the other borders are 0. Red-black
 * SOR: first all red points, whose neighbours are all black, then all black ones. So any cutting gives the bits of the serial answer.
 * Each worker has a strip of rows. It swaps the points of one colour of its first and last row after it has updated that colour:
 * it updates these rows first, and the others while the messages travel. N = 2049 makes such a message 8200 bytes long.
 *
 * The points of each colour of a row lie together. Row i has the red ones (colour 0) where i + j is even.
 *
 * Modes: converge (N = 257, to 1e-10, compared with what is known of the solution), and for times with a fixed number of iterations:
 * light (N - 2 rows per worker), balanced (384), heavy (64); seed: its borders, one heated evenly, square, to 1e-3.
 *
 * Options: --mode NAME (may be repeated; default: converge and heavy, with --full light, balanced and heavy), --size N,
 * --rows N (per worker), --iterations N. */
#ifndef LAPLACE_KERNEL_H
#define LAPLACE_KERNEL_H

#include <math.h>

#include "app.h"

#define L_PI 3.14159265358979323846
enum { L_CONVERGE, L_SEED, L_LIGHT, L_BALANCED, L_HEAVY, L_MODES };
static const char *const laplace_modes[L_MODES] = {"converge", "seed", "light", "balanced", "heavy"};
/* How often the workers ask each other whether it is done, in iterations. */
enum { L_EVERY = 10 };

typedef struct {
  app_options_t app;
  int modes[16], count, columns, rows_each, iterations;
} laplace_options_t;

/* One run. */
typedef struct {
  char name[32];
  int mode, workers;
  int columns, rows; /* M and N, borders included */
  int iterations;    /* at most */
  double tolerance;  /* 0, or what the largest change of an iteration must get below */
  double omega;
} laplace_t;

static void laplace_options(laplace_options_t *o, int argc, char **argv) {
  int i, k;
  memset(o, 0, sizeof *o);
  o->app = app_defaults;
  for (i = 1; i < argc; i++) {
    if (app_option(&o->app, argc, argv, &i)) continue;
    if (!strcmp(argv[i], "--size")) o->columns = (int)app_number(argc, argv, &i, 4);
    else if (!strcmp(argv[i], "--rows")) o->rows_each = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--iterations")) o->iterations = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--mode")) {
      const char *word = app_word(argc, argv, &i);
      for (k = 0; k < L_MODES && strcmp(word, laplace_modes[k]); k++) continue;
      if (k == L_MODES || o->count == 16) app_die("no mode %s; there are converge seed light balanced heavy", word);
      o->modes[o->count++] = k;
    } else
      app_die("no option %s; there are --mode --size --rows --iterations --full --serial --verify --threads", argv[i]);
  }
  if (!o->count) {
    if (!o->app.full) o->modes[o->count++] = L_CONVERGE;
    if (o->app.full) o->modes[o->count++] = L_LIGHT;
    if (o->app.full) o->modes[o->count++] = L_BALANCED;
    o->modes[o->count++] = L_HEAVY;
  }
  app_begin(&o->app);
}

static void laplace_make(laplace_t *l, const laplace_options_t *o, int mode, int workers) {
  static const int few[L_MODES] = {100000, 100000, 8, 30, 60}, many[L_MODES] = {100000, 100000, 400, 4000, 24000};
  int each = o->rows_each;
  double jacobi;
  l->mode = mode;
  l->workers = workers;
  snprintf(l->name, sizeof l->name, "laplace-%s", laplace_modes[mode]);
  l->columns = o->columns ? o->columns : mode == L_CONVERGE || (mode == L_SEED && !o->app.full) ? 257 : 2049;
  if (!each) each = mode == L_BALANCED ? 384 : mode == L_HEAVY ? 64 : l->columns - 2;
  l->rows = mode == L_CONVERGE || mode == L_SEED ? l->columns : each * workers + 2;
  l->iterations = o->iterations ? o->iterations : (o->app.full ? many : few)[mode];
  l->tolerance = mode == L_CONVERGE ? 1e-10 : mode == L_SEED ? 1e-3 : 0;
  /* The best factor for a rectangle. */
  jacobi = 0.5 * (cos(L_PI / (l->columns - 1)) + cos(L_PI / (l->rows - 1)));
  l->omega = 2 / (1 + sqrt(1 - jacobi * jacobi));
  if (l->rows - 2 < workers) app_die("%d rows are too few for %d workers", l->rows - 2, workers);
}

/* ---- a strip ---- */
/* Row 0 is the halo above, row rows + 1 the one below; at the ends of the grid they are its borders. A row has two parts, one of
 * each colour, that may lie anywhere. */
typedef struct {
  const laplace_t *l;
  int worker, first, rows; /* row 1 of the strip is row `first` of the grid */
  int half;                /* doubles in a part */
  double **row[2];
  double *copy[2]; /* NULL, or where the first and the last row's points of the colour that is updated are to be, too */
  double *memory;
} laplace_strip_t;

static size_t laplace_part_bytes(const laplace_t *l) { return (size_t)((l->columns + 1) / 2) * sizeof(double); }

/* The first column of a colour's points in row i of the grid. */
static int laplace_offset(int i, int colour) { return (i + colour) & 1; }

static double laplace_border(const laplace_t *l, int row, int column) {
  if (row != 0) return 0;
  if (l->mode == L_SEED) return 1;
  return column == 0 || column == l->columns - 1 ? 0 : sin(L_PI * column / (l->columns - 1));
}

static void laplace_strip_make(laplace_strip_t *s, const laplace_t *l, int worker, int workers) {
  long inner = l->rows - 2;
  size_t stride;
  int i, colour, k;
  memset(s, 0, sizeof *s);
  s->l = l;
  s->worker = worker;
  s->first = (int)(1 + inner * worker / workers);
  s->rows = (int)(1 + inner * (worker + 1) / workers) - s->first;
  s->half = (l->columns + 1) / 2;
  stride = (size_t)(s->half + 15) / 8 * 8;
  s->memory = app_alloc(((size_t)(s->rows + 2) * 2 * stride + 8) * sizeof(double));
  for (colour = 0; colour < 2; colour++) {
    s->row[colour] = app_alloc((size_t)(s->rows + 2) * sizeof(double *));
    for (i = 0; i < s->rows + 2; i++) {
      int at = s->first - 1 + i;
      s->row[colour][i] = s->memory + ((size_t)i * 2 + (size_t)colour) * stride;
      for (k = 0; k < s->half; k++) {
        int column = 2 * k + laplace_offset(at, colour);
        s->row[colour][i][k] = column < l->columns ? laplace_border(l, at, column) : 0;
      }
    }
  }
}

static void laplace_strip_free(laplace_strip_t *s) {
  free(s->row[0]);
  free(s->row[1]);
  free(s->memory);
}

/* Updates the points first to last of a part. side has the other colour of the same row: the neighbour at the left is shifted. */
static void laplace_points(double *restrict u, const double *restrict up, const double *restrict down, const double *restrict left,
                           const double *restrict right, int first, int last, double omega) {
  int k;
  for (k = first; k <= last; k++) u[k] += omega * (0.25 * ((up[k] + down[k]) + (left[k] + right[k])) - u[k]);
}

/* The same, and the largest change. */
static double laplace_points_change(double *restrict u, const double *restrict up, const double *restrict down,
                                    const double *restrict left, const double *restrict right, int first, int last, double omega) {
  double most = 0;
  int k;
  for (k = first; k <= last; k++) {
    double change = omega * (0.25 * ((up[k] + down[k]) + (left[k] + right[k])) - u[k]);
    u[k] += change;
    change = change < 0 ? -change : change;
    most = change > most ? change : most;
  }
  return most;
}

/* The same as laplace_points. The points that it updates go to another place as well. */
static void laplace_points_copy(double *restrict u, const double *restrict up, const double *restrict down,
                                const double *restrict left, const double *restrict right, int first, int last, double omega,
                                double *restrict copy) {
  int k;
  for (k = first; k <= last; k++) {
    double point = u[k] + omega * (0.25 * ((up[k] + down[k]) + (left[k] + right[k])) - u[k]);
    u[k] = point;
    copy[k] = point;
  }
}

/* Updates one colour of row i of the strip. change is NULL, or gets the largest change so far; copy is NULL, or gets the row's part. */
static void laplace_row(laplace_strip_t *s, int i, int colour, double *change, double *copy) {
  int offset = laplace_offset(s->first - 1 + i, colour), first = 1 - offset, last = (s->l->columns - 2 - offset) / 2;
  double *u = s->row[colour][i], *up = s->row[1 - colour][i - 1], *down = s->row[1 - colour][i + 1];
  double *side = s->row[1 - colour][i];
  if (change) {
    double most = laplace_points_change(u, up, down, side + offset - 1, side + offset, first, last, s->l->omega);
    *change = most > *change ? most : *change;
    if (copy) memcpy(copy, u, laplace_part_bytes(s->l));
  } else if (copy) {
    laplace_points_copy(u, up, down, side + offset - 1, side + offset, first, last, s->l->omega, copy);
    memcpy(copy, u, (size_t)first * sizeof *u); /* the points of the borders */
    memcpy(copy + last + 1, u + last + 1, (size_t)(s->half - last - 1) * sizeof *u);
  } else
    laplace_points(u, up, down, side + offset - 1, side + offset, first, last, s->l->omega);
}

/* How a version swaps halos: `begin` is NULL, or sets s->copy before the edges of a colour are updated, `send` lets them go, `receive` waits
 * until those of the neighbours are the halos. agree gives the largest change of all workers to each. with is the version's own. */
typedef struct {
  void (*begin)(void *with, laplace_strip_t *s, int colour);
  void (*send)(void *with, laplace_strip_t *s, int colour);
  void (*receive)(void *with, laplace_strip_t *s, int colour);
  double (*agree)(void *with, double change);
} laplace_swap_t;

/* Returns the number of iterations. swap is NULL for a strip that is all of the grid. */
static int laplace_solve(laplace_strip_t *s, const laplace_swap_t *swap, void *with) {
  const laplace_t *l = s->l;
  int n, colour, i;
  for (n = 1; n <= l->iterations; n++) {
    int look = l->tolerance > 0 && (n % L_EVERY == 0 || n == 1);
    double change = 0;
    for (colour = 0; colour < 2; colour++) {
      if (swap && swap->begin) swap->begin(with, s, colour);
      laplace_row(s, 1, colour, look ? &change : NULL, s->copy[0]);
      if (s->rows > 1) laplace_row(s, s->rows, colour, look ? &change : NULL, s->copy[1]);
      if (swap) swap->send(with, s, colour);
      for (i = 2; i < s->rows; i++) laplace_row(s, i, colour, look ? &change : NULL, NULL);
      if (swap) swap->receive(with, s, colour);
    }
    if (look) {
      if (swap) change = swap->agree(with, change);
      if (change < l->tolerance) return n;
    }
  }
  return l->iterations;
}

/* The CRC of these rows behind that of the rows above. */
static uint32_t laplace_crc(const laplace_strip_t *s, uint32_t crc) {
  int i, colour;
  for (i = 1; i <= s->rows; i++)
    for (colour = 0; colour < 2; colour++) {
      int points = (s->l->columns - laplace_offset(s->first - 1 + i, colour) + 1) / 2;
      crc = app_crc32c(crc, s->row[colour][i], (size_t)points * sizeof(double));
    }
  return crc;
}

/* Compares a strip with the solutions of the difference equations and of the differential equation. Returns the largest
 * distance from the former. */
static double laplace_compare(const laplace_strip_t *s) {
  const laplace_t *l = s->l;
  double h = 1.0 / (l->columns - 1), height = (l->rows - 1) * h, discrete = 0, continuous = 0;
  /* cosh(mu h) = 2 - cos(pi h), by half angles, which do not cancel. */
  double mu = 2 * asinh(sin(L_PI * h / 2)) / h;
  int i, colour, k;
  for (i = 1; i <= s->rows; i++) {
    int at = s->first - 1 + i;
    double y = (l->rows - 1 - at) * h, by_mu = sinh(mu * y) / sinh(mu * height), by_pi = sinh(L_PI * y) / sinh(L_PI * height);
    for (colour = 0; colour < 2; colour++)
      for (k = 0; k < s->half; k++) {
        int column = 2 * k + laplace_offset(at, colour);
        double x = sin(L_PI * column * h), d, c;
        if (column >= l->columns) continue;
        d = fabs(s->row[colour][i][k] - x * by_mu);
        c = fabs(s->row[colour][i][k] - x * by_pi);
        /* A value that is no number must not pass. */
        if (!(d <= discrete)) discrete = d;
        if (!(c <= continuous)) continuous = c;
      }
  }
  CHECK(discrete <= 1e-8, "%s: %.3g from the discrete solution", l->name, discrete);
  CHECK(continuous <= 0.3 * h * h, "%s: %.3g from the continuous solution, %.3g allowed", l->name, continuous, 0.3 * h * h);
  return discrete;
}

/* Without messages. */
static uint32_t laplace_serial(const laplace_t *l, int print, int *iterations) {
  laplace_strip_t s;
  double begin;
  uint32_t crc;
  laplace_strip_make(&s, l, 0, 1);
  begin = app_now();
  *iterations = laplace_solve(&s, NULL, NULL);
  begin = app_now() - begin;
  crc = laplace_crc(&s, 0);
  if (print) {
    app_result(l->name, begin, 0, 1, crc);
    if (l->mode == L_CONVERGE)
      printf("%s: %d iterations, %.2e from the discrete solution\n", l->name, *iterations, laplace_compare(&s));
  }
  laplace_strip_free(&s);
  return crc;
}

/* Each worker, when the run is over. */
static void laplace_check(const laplace_strip_t *s, int iterations) {
  const laplace_t *l = s->l;
  CHECK(l->tolerance > 0 ? iterations < l->iterations : iterations == l->iterations, "%s: %d iterations", l->name, iterations);
  if (l->mode == L_CONVERGE) laplace_compare(s);
}

/* Node 0, when the run is over. */
static void laplace_verify(const laplace_t *l, const app_options_t *app, uint32_t crc, int iterations) {
  if (app->verify) {
    int n = 0;
    uint32_t serial = laplace_serial(l, 0, &n);
    CHECK(crc == serial, "%s: checksum %08x, serial %08x", l->name, (unsigned)crc, (unsigned)serial);
    CHECK(iterations == n, "%s: %d iterations, serial %d", l->name, iterations, n);
  }
}

#endif
