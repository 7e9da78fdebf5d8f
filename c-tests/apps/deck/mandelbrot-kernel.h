/* The Mandelbrot set: what mandelbrot-deck.c and mandelbrot-mpi.c compute, and how its slices are dealt out.
 *
 * The picture is [-2, 0.5] x [-1.25, 1.25]. A count says how many of z(0) = 0, z(1), ... are within the circle of radius 2
 * before the first one outside, at most `most`. Slices are 8 rows, and the master deals them out from the top.
 *
 * The master is node 0, and works too. While it computes it looks for requests after every 64 points. A worker asks for two
 * slices at the beginning, and for one more with each result, so that its next slice is there when it needs it. A worker has
 * all its results delivered when both its requests have been answered by -1.
 *
 * Options: --size N, --iterations N, --live FILE (a grey picture that is filled while slices arrive), --script FILE (the same for a
 * page: a call row(Y, 'GREY IN HEXADECIMAL') for each row that arrives, of at most 512 rows and columns). */
#ifndef MANDELBROT_KERNEL_H
#define MANDELBROT_KERNEL_H

#include "app.h"

enum { M_ROWS = 8, M_LANES = 8, M_CHUNK = 64, M_AHEAD = 2 };

typedef struct {
  app_options_t app;
  const char *live, *script;
  int size, most;
} mandel_t;

static void mandel_options(mandel_t *m, int argc, char **argv) {
  int i, size = 0, most = 0;
  m->app = app_defaults;
  m->live = m->script = NULL;
  for (i = 1; i < argc; i++) {
    if (app_option(&m->app, argc, argv, &i)) continue;
    if (!strcmp(argv[i], "--size")) size = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--iterations")) most = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--live")) m->live = app_word(argc, argv, &i);
    else if (!strcmp(argv[i], "--script")) m->script = app_word(argc, argv, &i);
    else app_die("no option %s; there are --size --iterations --live --script --full --serial --verify --threads", argv[i]);
  }
  m->size = size ? size : m->app.full ? 2048 : 256;
  m->most = most ? most : m->app.full ? 17500 : 1000;
  if (m->most > 65535 || m->size > 32768) app_die("at most 65535 iterations and a size of 32768");
  app_begin(&m->app);
}

/* Middle of a point. Rows lie exactly opposite each other about the real axis. */
static double mandel_re(const mandel_t *m, int column) { return -2.0 + 2.5 * (2 * column + 1) / (2.0 * m->size); }
static double mandel_im(const mandel_t *m, int row) { return 1.25 * (m->size - 1 - 2 * row) / (double)m->size; }

/* A point that has left the circle never comes back, nor does what it overflows to. So the steps within are counted without a
 * branch, for several points at once, and only now and then it is looked whether one is left. */
static void mandel_points(const mandel_t *m, int row, int from, int to, uint16_t *counts) {
  const double ci = mandel_im(m, row);
  for (; from < to; from += M_LANES) {
    double cr[M_LANES], zr[M_LANES], zi[M_LANES], within[M_LANES];
    int l, step = 0;
    for (l = 0; l < M_LANES; l++) {
      cr[l] = mandel_re(m, from + l);
      zr[l] = zi[l] = within[l] = 0;
    }
    while (step < m->most) {
      int stop = m->most - step < 16 ? m->most : step + 16, left = 0;
      for (; step < stop; step++)
        for (l = 0; l < M_LANES; l++) {
          double r2 = zr[l] * zr[l], i2 = zi[l] * zi[l], ri = zr[l] * zi[l];
          within[l] += r2 + i2 <= 4.0 ? 1.0 : 0.0;
          zi[l] = (ri + ri) + ci;
          zr[l] = (r2 - i2) + cr[l];
        }
      for (l = 0; l < M_LANES; l++) left |= within[l] == (double)step;
      if (!left) break;
    }
    for (l = 0; l < M_LANES && from + l < to; l++) counts[from + l] = (uint16_t)within[l];
  }
}

/* The same for one point, as a textbook has it. */
static int mandel_plain(const mandel_t *m, int row, int column) {
  double cr = mandel_re(m, column), ci = mandel_im(m, row), zr = 0, zi = 0;
  int step;
  for (step = 0; step < m->most && zr * zr + zi * zi <= 4.0; step++) {
    double ri = zr * zi;
    zr = (zr * zr - zi * zi) + cr;
    zi = (ri + ri) + ci;
  }
  return step;
}

static int mandel_slices(const mandel_t *m) { return (m->size + M_ROWS - 1) / M_ROWS; }
static int mandel_rows_of(const mandel_t *m, int slice) {
  return m->size - slice * M_ROWS < M_ROWS ? m->size - slice * M_ROWS : M_ROWS;
}

/* Computes a slice. Calls poll(with) now and then, unless it is NULL. */
static void mandel_slice(const mandel_t *m, int slice, uint16_t *counts, void (*poll)(void *), void *with) {
  int r, x, rows = mandel_rows_of(m, slice);
  for (r = 0; r < rows; r++)
    for (x = 0; x < m->size; x += M_CHUNK) {
      mandel_points(m, slice * M_ROWS + r, x, x + M_CHUNK < m->size ? x + M_CHUNK : m->size, counts + (size_t)r * m->size);
      if (poll) poll(with);
    }
}

/* ---- the master's side ---- */
typedef struct {
  const mandel_t *m;
  uint16_t *counts; /* of the whole picture */
  int next;         /* the slice that is dealt out next */
  int done;         /* slices that are there */
  int stopped;      /* requests that were answered by -1 */
  app_picture_t picture;
  FILE *script;
} mandel_master_t;

static void mandel_master_begin(mandel_master_t *a, const mandel_t *m) {
  memset(a, 0, sizeof *a);
  a->m = m;
  a->counts = app_alloc((size_t)m->size * (size_t)m->size * sizeof *a->counts);
  app_picture_open(&a->picture, m->live, 5, m->size, m->size);
  if (!m->script) return;
  a->script = fopen(m->script, "w");
  if (!a->script) app_die("cannot write %s", m->script);
}

static uint16_t *mandel_place(const mandel_master_t *a, int slice) {
  return a->counts + (size_t)slice * M_ROWS * (size_t)a->m->size;
}

/* What a request gets: a slice, or -1. */
static int mandel_deal(mandel_master_t *a) {
  if (a->next < mandel_slices(a->m)) return a->next++;
  a->stopped++;
  return -1;
}

/* Tells the page about the rows of a slice that it shows. */
static void mandel_tell(mandel_master_t *a, int slice, const unsigned char *grey) {
  int size = a->m->size, step = (size + 511) / 512, first = slice * M_ROWS, r, x;
  for (r = 0; r < mandel_rows_of(a->m, slice); r++) {
    if ((first + r) % step) continue;
    fprintf(a->script, "row(%d,'", (first + r) / step);
    for (x = 0; x < size; x += step) fprintf(a->script, "%02x", grey[(size_t)r * (size_t)size + (size_t)x]);
    fprintf(a->script, "')\n");
  }
  fflush(a->script);
}

/* The counts of a slice are in their place. */
static void mandel_came(mandel_master_t *a, int slice) {
  a->done++;
  if (a->picture.file || a->script) {
    size_t i, n = (size_t)mandel_rows_of(a->m, slice) * (size_t)a->m->size;
    const uint16_t *counts = mandel_place(a, slice);
    unsigned char *grey = app_alloc(n);
    for (i = 0; i < n; i++) grey[i] = counts[i] >= a->m->most ? 0 : (unsigned char)(40 + counts[i] * 7 % 216);
    app_picture_put(&a->picture, (long)slice * M_ROWS * a->m->size, grey, n);
    if (a->script) mandel_tell(a, slice, grey);
    free(grey);
  }
}

static void mandel_picture_close(mandel_master_t *a) {
  app_picture_close(&a->picture);
  if (a->script) CHECK(fclose(a->script) == 0, "the script of the page was not written");
  a->script = NULL;
}

static uint32_t mandel_crc(const mandel_t *m, const uint16_t *counts) {
  size_t i, n = (size_t)m->size * (size_t)m->size;
  uint32_t crc = 0;
  for (i = 0; i < n; i++) {
    unsigned char bytes[2];
    bytes[0] = (unsigned char)(counts[i] & 255);
    bytes[1] = (unsigned char)(counts[i] >> 8);
    crc = app_crc32c(crc, bytes, 2);
  }
  return crc;
}

/* Computes slices, and deals them to itself, until none is left. */
static void mandel_compute(mandel_master_t *a, void (*poll)(void *with), void *with) {
  while (a->next < mandel_slices(a->m)) {
    int slice = a->next++;
    mandel_slice(a->m, slice, mandel_place(a, slice), poll, with);
    mandel_came(a, slice);
  }
}

/* Without messages. */
static uint32_t mandel_serial(const mandel_t *m, int print) {
  mandel_master_t a;
  double begin;
  uint32_t crc;
  mandel_master_begin(&a, m);
  begin = app_now();
  mandel_compute(&a, NULL, NULL);
  begin = app_now() - begin;
  crc = mandel_crc(m, a.counts);
  if (print) app_result(app_name, begin, 0, 1, crc);
  mandel_picture_close(&a);
  free(a.counts);
  return crc;
}

/* Node 0, at the end: everything is there, rows are as their mirrors, some points as the textbook says, all as serial. */
static uint32_t mandel_verify(mandel_master_t *a) {
  const mandel_t *m = a->m;
  size_t bytes = (size_t)m->size * sizeof *a->counts;
  uint32_t crc = mandel_crc(m, a->counts);
  int row, i;
  CHECK(a->done == mandel_slices(m), "%d of %d slices came", a->done, mandel_slices(m));
  for (row = 0; row < m->size / 2; row++)
    CHECK(!memcmp(a->counts + (size_t)row * m->size, a->counts + (size_t)(m->size - 1 - row) * m->size, bytes),
          "row %d is not as its mirror", row);
  if (m->app.verify) {
    mandel_t quiet = *m;
    uint32_t serial;
    quiet.live = quiet.script = NULL;
    for (i = 0; i < 64; i++) {
      int y = (i * 37 + 5) % m->size, x = (i * 101 + 3) % m->size, plain = mandel_plain(m, y, x);
      CHECK(a->counts[(size_t)y * m->size + x] == plain, "%d at %d, %d, not %d", a->counts[(size_t)y * m->size + x], y, x, plain);
    }
    serial = mandel_serial(&quiet, 0);
    CHECK(crc == serial, "checksum %08x, serial %08x", (unsigned)crc, (unsigned)serial);
  }
  mandel_picture_close(a);
  return crc;
}

/* ---- the farm ---- */
typedef struct {
  mandel_t m;
  mandel_master_t master;
} mandel_job_t;

static void mandel_farm_begin(void *job, int workers) {
  mandel_job_t *j = job;
  (void)workers;
  mandel_master_begin(&j->master, &j->m);
}
static void mandel_farm_compute(void *job, void (*poll)(void *with), void *with) {
  mandel_compute(&((mandel_job_t *)job)->master, poll, with);
}
static int mandel_farm_is_awaited(void *job, int others) { return ((mandel_job_t *)job)->master.stopped < M_AHEAD * others; }
static uint32_t mandel_farm_end(void *job) {
  mandel_job_t *j = job;
  uint32_t crc = mandel_verify(&j->master);
  free(j->master.counts);
  return crc;
}

static app_farm_t mandel_farm(mandel_job_t *job) {
  app_farm_t farm = {NULL, mandel_farm_begin, mandel_farm_compute, mandel_farm_is_awaited, mandel_farm_end};
  farm.job = job;
  return farm;
}

#endif
