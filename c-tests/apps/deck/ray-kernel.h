/* A ray tracer: what ray-deck.c and ray-mpi.c compute, and how its slices are dealt out.
 *
 * Spheres over a chequered plane, two lamps, shadows, reflections, 4 x 4 rays per point. Only + - * / and square roots are used, so
 * that each build gives the same bits. The picture has 3 bytes per point.
 *
 * The master is node 0, and works too. While it computes it looks for messages after every 16 points. Slices are up to 8 lines;
 * the last ones are shorter, so that all end together. A worker sends each line when it is ready, and asks for the next
 * slice after the last line. It has nothing more to send when its request is answered by 0 lines.
 *
 * Options: --width N, --height N, --depth N (of reflections), --live FILE (a picture that is filled while lines arrive). */
#ifndef RAY_KERNEL_H
#define RAY_KERNEL_H

#include <math.h>

#include "app.h"

enum { R_LINES = 8, R_CHUNK = 16, R_SPHERES = 34, R_LAMPS = 2 };

typedef struct {
  double x, y, z;
} vec_t;

static vec_t vec(double x, double y, double z) {
  vec_t v;
  v.x = x;
  v.y = y;
  v.z = z;
  return v;
}
static vec_t vec_add(vec_t a, vec_t b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
static vec_t vec_sub(vec_t a, vec_t b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
static vec_t vec_by(vec_t a, double s) { return vec(a.x * s, a.y * s, a.z * s); }
static vec_t vec_mul(vec_t a, vec_t b) { return vec(a.x * b.x, a.y * b.y, a.z * b.z); }
static double vec_dot(vec_t a, vec_t b) { return (a.x * b.x + a.y * b.y) + a.z * b.z; }
static vec_t vec_unit(vec_t a) { return vec_by(a, 1.0 / sqrt(vec_dot(a, a))); }
static vec_t vec_cross(vec_t a, vec_t b) {
  return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

typedef struct {
  vec_t middle, colour;
  double radius, mirror; /* how much is reflected, 0 to 1 */
} sphere_t;

typedef struct {
  app_options_t app;
  const char *live;
  int width, height, depth;
  sphere_t spheres[R_SPHERES];
  vec_t lamps[R_LAMPS], eye, forward, right, up;
} ray_t;

/* A square of small spheres, and two large ones that mirror them. */
static void ray_scene(ray_t *r) {
  int i;
  for (i = 0; i < R_SPHERES; i++) {
    sphere_t *s = &r->spheres[i];
    int column = i % 8, row = i / 8;
    if (i < R_SPHERES - 2) {
      s->radius = 0.3 + 0.03 * ((i * 7) % 5);
      s->middle = vec(-4.2 + 1.2 * column, s->radius, 1.0 + 1.3 * row + 0.25 * (column % 2));
      s->colour = vec(0.3 + 0.1 * (i * 3 % 8), 0.3 + 0.1 * (i * 5 % 8), 0.3 + 0.1 * (i * 7 % 8));
      s->mirror = 0.1 + 0.1 * (i % 4);
    } else {
      int left = i == R_SPHERES - 2;
      s->radius = left ? 1.6 : 1.2;
      s->middle = vec(left ? -2.2 : 2.4, left ? 2.5 : 2.0, left ? 6.5 : 5.5);
      s->colour = vec(0.9, 0.9, left ? 0.95 : 0.7);
      s->mirror = 0.8;
    }
  }
  r->lamps[0] = vec(-6, 9, -4);
  r->lamps[1] = vec(7, 6, -2);
  r->eye = vec(0.4, 2.6, -5.5);
  r->forward = vec_unit(vec_sub(vec(0, 1.1, 4), r->eye));
  r->right = vec_unit(vec_cross(vec(0, 1, 0), r->forward));
  r->up = vec_cross(r->forward, r->right);
}

static void ray_options(ray_t *r, int argc, char **argv) {
  int i, width = 0, height = 0;
  memset(r, 0, sizeof *r);
  r->app = app_defaults;
  r->depth = 6;
  for (i = 1; i < argc; i++) {
    if (app_option(&r->app, argc, argv, &i)) continue;
    if (!strcmp(argv[i], "--width")) width = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--height")) height = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--depth")) r->depth = (int)app_number(argc, argv, &i, 1);
    else if (!strcmp(argv[i], "--live")) r->live = app_word(argc, argv, &i);
    else app_die("no option %s; there are --width --height --depth --live --full --serial --verify --threads", argv[i]);
  }
  r->width = width ? width : r->app.full ? 1024 : 160;
  r->height = height ? height : r->app.full ? 768 : 120;
  if (r->width > 16384 || r->height > 16384) app_die("at most 16384 x 16384 points");
  ray_scene(r);
  app_begin(&r->app);
}

/* ---- one ray ---- */
/* The distance at which the ray meets a sphere, or 0. */
static double ray_meets(const sphere_t *s, vec_t from, vec_t to) {
  vec_t d = vec_sub(s->middle, from);
  double along = vec_dot(d, to), square = along * along - vec_dot(d, d) + s->radius * s->radius, root;
  if (square <= 0) return 0;
  root = sqrt(square);
  if (along - root > 1e-6) return along - root;
  return along + root > 1e-6 ? along + root : 0;
}

/* Whether something is between a point and a lamp. */
static int ray_shadow(const ray_t *r, vec_t from, vec_t to, double distance) {
  int i;
  for (i = 0; i < R_SPHERES; i++) {
    double t = ray_meets(&r->spheres[i], from, to);
    if (t > 0 && t < distance) return 1;
  }
  return 0;
}

static vec_t ray_sky(vec_t to) {
  double t = 0.5 * (to.y + 1.0);
  return vec(0.75 - 0.45 * t, 0.85 - 0.35 * t, 1.0 - 0.1 * t);
}

static vec_t ray_colour(const ray_t *r, vec_t from, vec_t to, int depth) {
  double nearest = 1e9, mirror;
  const sphere_t *hit = NULL;
  vec_t at, normal, colour, light = vec(0.12, 0.12, 0.14);
  int i, plane = 0;
  for (i = 0; i < R_SPHERES; i++) {
    double t = ray_meets(&r->spheres[i], from, to);
    if (t > 0 && t < nearest) {
      nearest = t;
      hit = &r->spheres[i];
    }
  }
  if (to.y < 0) {
    double t = -from.y / to.y;
    /* Far away the plane is as the sky: its squares would be smaller than points. */
    if (t > 1e-6 && t < nearest && t < 60) {
      nearest = t;
      plane = 1;
    }
  }
  if (!hit && !plane) return ray_sky(to);
  at = vec_add(from, vec_by(to, nearest));
  if (plane) {
    /* Positive before the conversion, which rounds to 0. */
    int square = (int)(at.x + 1000.0) + (int)(at.z + 1000.0);
    normal = vec(0, 1, 0);
    colour = square & 1 ? vec(0.85, 0.85, 0.8) : vec(0.2, 0.25, 0.3);
    mirror = 0.15;
  } else {
    normal = vec_by(vec_sub(at, hit->middle), 1.0 / hit->radius);
    colour = hit->colour;
    mirror = hit->mirror;
  }
  if (vec_dot(normal, to) > 0) normal = vec_by(normal, -1);
  at = vec_add(at, vec_by(normal, 1e-5));
  for (i = 0; i < R_LAMPS; i++) {
    vec_t d = vec_sub(r->lamps[i], at);
    double distance = sqrt(vec_dot(d, d)), cosine;
    d = vec_by(d, 1.0 / distance);
    cosine = vec_dot(normal, d);
    if (cosine > 0 && !ray_shadow(r, at, d, distance)) {
      double shine = vec_dot(vec_sub(vec_by(normal, 2 * cosine), d), to) * -1, power = shine * shine;
      double strength = 0.55 * cosine;
      power = power * power;
      power = power * power;
      if (shine > 0) strength += 0.4 * power * power * mirror;
      light = vec_add(light, vec(strength, strength, strength));
    }
  }
  colour = vec_mul(colour, light);
  if (depth > 1) {
    vec_t back = vec_sub(to, vec_by(normal, 2 * vec_dot(normal, to)));
    colour = vec_add(vec_by(colour, 1 - mirror), vec_by(ray_colour(r, at, back, depth - 1), mirror));
  }
  return colour;
}

/* A square root stands for the screen's gamma. */
static unsigned char ray_byte(double light) {
  if (!(light > 0)) return 0;
  return light >= 1 ? 255 : (unsigned char)(sqrt(light) * 255.0 + 0.5);
}

static void ray_points(const ray_t *r, int line, int from, int to, unsigned char *bytes) {
  int x, i;
  for (x = from; x < to; x++) {
    vec_t sum = vec(0, 0, 0);
    for (i = 0; i < 16; i++) {
      double a = (x + 0.125 + 0.25 * (i % 4) - 0.5 * r->width) / (0.5 * r->width);
      double b = (0.5 * r->height - (line + 0.125 + 0.25 * (i / 4))) / (0.5 * r->width);
      vec_t d = vec_add(r->forward, vec_add(vec_by(r->right, 0.75 * a), vec_by(r->up, 0.75 * b)));
      sum = vec_add(sum, ray_colour(r, r->eye, vec_unit(d), r->depth));
    }
    bytes[3 * x] = ray_byte(0.0625 * sum.x);
    bytes[3 * x + 1] = ray_byte(0.0625 * sum.y);
    bytes[3 * x + 2] = ray_byte(0.0625 * sum.z);
  }
}

static size_t ray_line_bytes(const ray_t *r) { return 3 * (size_t)r->width; }

/* Computes a line. Calls poll(with) now and then, unless it is NULL. */
static void ray_line(const ray_t *r, int line, unsigned char *bytes, void (*poll)(void *), void *with) {
  int x;
  for (x = 0; x < r->width; x += R_CHUNK) {
    ray_points(r, line, x, x + R_CHUNK < r->width ? x + R_CHUNK : r->width, bytes);
    if (poll) poll(with);
  }
}

/* ---- the master's side ---- */
typedef struct {
  const ray_t *r;
  unsigned char *bytes; /* of the whole picture */
  unsigned char *came;  /* how often each line came */
  int workers, next, stopped;
  app_picture_t picture;
} ray_master_t;

static void ray_master_begin(ray_master_t *a, const ray_t *r, int workers) {
  memset(a, 0, sizeof *a);
  a->r = r;
  a->workers = workers;
  a->bytes = app_alloc(ray_line_bytes(r) * (size_t)r->height);
  a->came = app_alloc((size_t)r->height);
  app_picture_open(&a->picture, r->live, 6, r->width, r->height);
}

static void ray_master_free(ray_master_t *a) {
  free(a->bytes);
  free(a->came);
}

static unsigned char *ray_place(const ray_master_t *a, int line) { return a->bytes + (size_t)line * ray_line_bytes(a->r); }

/* The first line of the next slice, and the number of its lines; 0 if there are none. */
static int ray_deal(ray_master_t *a, int *first) {
  int left = a->r->height - a->next, lines = left / (4 * a->workers);
  if (lines > R_LINES) lines = R_LINES;
  if (lines < 1) lines = left ? 1 : 0;
  *first = a->next;
  a->next += lines;
  return lines;
}

/* A line is in its place. */
static void ray_came(ray_master_t *a, int line) {
  a->came[line]++;
  app_picture_put(&a->picture, (long)((size_t)line * ray_line_bytes(a->r)), ray_place(a, line), ray_line_bytes(a->r));
}

/* Computes slices, and deals them to itself, until none is left. */
static void ray_compute(ray_master_t *a, void (*poll)(void *with), void *with) {
  int line, lines;
  while ((lines = ray_deal(a, &line)) > 0)
    for (; lines > 0; lines--, line++) {
      ray_line(a->r, line, ray_place(a, line), poll, with);
      ray_came(a, line);
    }
}

static uint32_t ray_crc(const ray_master_t *a) {
  return app_crc32c(0, a->bytes, ray_line_bytes(a->r) * (size_t)a->r->height);
}

/* Without messages. */
static uint32_t ray_serial(const ray_t *r, int print) {
  ray_master_t a;
  double begin;
  uint32_t crc;
  ray_master_begin(&a, r, 1);
  begin = app_now();
  ray_compute(&a, NULL, NULL);
  begin = app_now() - begin;
  crc = ray_crc(&a);
  if (print) app_result(app_name, begin, 0, 1, crc);
  app_picture_close(&a.picture);
  ray_master_free(&a);
  return crc;
}

/* Node 0, at the end: each line came once, and all is as serial. */
static uint32_t ray_verify(ray_master_t *a) {
  uint32_t crc = ray_crc(a);
  int line;
  for (line = 0; line < a->r->height; line++) CHECK(a->came[line] == 1, "line %d came %d times", line, a->came[line]);
  if (a->r->app.verify) {
    ray_t quiet = *a->r;
    uint32_t serial;
    quiet.live = NULL;
    serial = ray_serial(&quiet, 0);
    CHECK(crc == serial, "checksum %08x, serial %08x", (unsigned)crc, (unsigned)serial);
  }
  app_picture_close(&a->picture);
  return crc;
}

/* ---- the farm ---- */
typedef struct {
  ray_t r;
  ray_master_t master;
} ray_job_t;

static void ray_farm_begin(void *job, int workers) {
  ray_job_t *j = job;
  ray_master_begin(&j->master, &j->r, workers);
}
static void ray_farm_compute(void *job, void (*poll)(void *with), void *with) {
  ray_compute(&((ray_job_t *)job)->master, poll, with);
}
static int ray_farm_is_awaited(void *job, int others) { return ((ray_job_t *)job)->master.stopped < others; }
static uint32_t ray_farm_end(void *job) {
  ray_job_t *j = job;
  uint32_t crc = ray_verify(&j->master);
  ray_master_free(&j->master);
  return crc;
}

static app_farm_t ray_farm(ray_job_t *job) {
  app_farm_t farm = {NULL, ray_farm_begin, ray_farm_compute, ray_farm_is_awaited, ray_farm_end};
  farm.job = job;
  return farm;
}

#endif
