/* What the three applications share, in both versions: options, checks, times, CRC32C, pictures, the last lines.
 *
 * Neither DECK nor MPI is named here. A program sets app_node and app_nodes after its start. Its kernel file includes this one.
 *
 * Options of all: --full (the sizes of the contract), --serial (node 0 alone, without messages), --verify and --no-verify
 * (compare with the serial answer; done unless --full), --threads K (workers per node, DECK only; with --serial it says for how many
 * workers the grid is). */
#ifndef DECK_APP_H
#define DECK_APP_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first 20 failures are printed, all are counted. Threads may call it. */
#define CHECK(cond, ...) app_check(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

#define APP_UNUSED __attribute__((__unused__))
#define APP_PRINTF(f, a) __attribute__((__format__(__printf__, f, a), __unused__))
#define APP_COUNT(p) __atomic_add_fetch((p), 1, __ATOMIC_RELAXED)

static const char *app_name = "app";
static int app_node, app_nodes = 1;
static long app_checks, app_errors;

static int APP_PRINTF(5, 6) app_check(int ok, const char *file, int line, const char *cond, const char *fmt, ...) {
  APP_COUNT(&app_checks);
  if (!ok && APP_COUNT(&app_errors) <= 20) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s: node %d: %s:%d: CHECK(%s) failed: %s\n", app_name, app_node, file, line, cond, text);
  }
  return ok;
}

/* Ends this process, and with it the job. */
static void APP_PRINTF(1, 2) app_die(const char *fmt, ...) {
  va_list ap;
  fprintf(stderr, "%s: node %d: ", app_name, app_node);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fprintf(stderr, "\n");
  exit(99);
}

static void *APP_UNUSED app_alloc(size_t bytes) {
  void *at = calloc(1, bytes ? bytes : 1);
  if (!at) app_die("no memory for %lu bytes", (unsigned long)bytes);
  return at;
}

/* Seconds, monotonic. */
static double APP_UNUSED app_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- options ---- */
typedef struct {
  int full, serial, verify, threads;
} app_options_t;

/* The number behind option argv[*i], at least `least`. */
static long APP_UNUSED app_number(int argc, char **argv, int *i, long least) {
  char *end = NULL;
  long value = *i + 1 < argc ? strtol(argv[*i + 1], &end, 10) : 0;
  if (*i + 1 >= argc || end == argv[*i + 1] || *end || value < least)
    app_die("%s needs a number, at least %ld", argv[*i], least);
  ++*i;
  return value;
}

/* The word behind option argv[*i]. */
static const char *APP_UNUSED app_word(int argc, char **argv, int *i) {
  if (*i + 1 >= argc) app_die("%s needs a value", argv[*i]);
  return argv[++*i];
}

/* Takes option argv[*i] if all applications have it. verify is -1 until it is said. */
static int APP_UNUSED app_option(app_options_t *o, int argc, char **argv, int *i) {
  const char *word = argv[*i];
  if (!strcmp(word, "--full")) o->full = 1;
  else if (!strcmp(word, "--serial")) o->serial = 1;
  else if (!strcmp(word, "--verify")) o->verify = 1;
  else if (!strcmp(word, "--no-verify")) o->verify = 0;
  else if (!strcmp(word, "--threads")) o->threads = (int)app_number(argc, argv, i, 1);
  else return 0;
  return 1;
}

static const app_options_t APP_UNUSED app_defaults = {0, 0, -1, 1};

/* After the options: small runs verify, and a program that hangs is ended. */
static void APP_UNUSED app_begin(app_options_t *o) {
  if (o->verify < 0) o->verify = !o->full;
  alarm(o->full ? 900 : 120);
}

/* ---- CRC32C, eight bytes at a time ---- */
static uint32_t app_crc_table[8][256];

static void app_crc_begin(void) {
  int i, j;
  for (i = 0; i < 256; i++) {
    uint32_t crc = (uint32_t)i;
    for (j = 0; j < 8; j++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    app_crc_table[0][i] = crc;
  }
  for (i = 0; i < 256; i++)
    for (j = 1; j < 8; j++)
      app_crc_table[j][i] = app_crc_table[0][app_crc_table[j - 1][i] & 255] ^ app_crc_table[j - 1][i] >> 8;
}

/* The CRC of what crc stands for, and these bytes behind it. That of nothing is 0. */
static uint32_t APP_UNUSED app_crc32c(uint32_t crc, const void *at, size_t bytes) {
  const unsigned char *p = at;
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    crc = app_crc_table[7][low & 255] ^ app_crc_table[6][low >> 8 & 255] ^ app_crc_table[5][low >> 16 & 255] ^
          app_crc_table[4][low >> 24] ^ app_crc_table[3][p[4]] ^ app_crc_table[2][p[5]] ^ app_crc_table[1][p[6]] ^
          app_crc_table[0][p[7]];
  }
  for (; bytes; bytes--, p++) crc = app_crc_table[0][(crc ^ *p) & 255] ^ crc >> 8;
  return ~crc;
}

/* Call it before any thread is made. */
static void APP_UNUSED app_crc_check(void) {
  app_crc_begin();
  CHECK(app_crc32c(0, "123456789", 9) == 0xE3069283u, "CRC32C is wrong: %08x", (unsigned)app_crc32c(0, "123456789", 9));
}

/* ---- a picture that can be watched while it is made ---- */
typedef struct {
  FILE *file;
  long header;
} app_picture_t;

/* kind is 5 for grey and 6 for colours. The file is black at first. */
static void APP_UNUSED app_picture_open(app_picture_t *p, const char *name, int kind, int width, int height) {
  long i, bytes = (long)width * height * (kind == 6 ? 3 : 1);
  p->file = name ? fopen(name, "wb") : NULL;
  if (!name) return;
  if (!p->file) app_die("cannot write %s", name);
  fprintf(p->file, "P%d\n%d %d\n255\n", kind, width, height);
  p->header = ftell(p->file);
  for (i = 0; i < bytes; i++) putc(0, p->file);
  fflush(p->file);
}

/* Puts bytes at an offset behind the header. A viewer sees them at once. */
static void APP_UNUSED app_picture_put(app_picture_t *p, long offset, const void *bytes, size_t length) {
  if (!p->file) return;
  fseek(p->file, p->header + offset, SEEK_SET);
  fwrite(bytes, 1, length, p->file);
  fflush(p->file);
}

static void APP_UNUSED app_picture_close(app_picture_t *p) {
  if (p->file) CHECK(fclose(p->file) == 0, "the picture was not written");
  p->file = NULL;
}

/* ---- a farm: one master deals out work to workers, and works too ---- */
/* What a farm computes on the master's side, without messages. job is the kernel's own. */
typedef struct {
  void *job;
  void (*begin)(void *job, int workers);
  void (*compute)(void *job, void (*poll)(void *with), void *with); /* until all work is dealt out; poll may be NULL */
  int (*is_awaited)(void *job, int others); /* some of so many other workers have not been told to stop */
  uint32_t (*end)(void *job); /* checks, frees what begin has made, and returns the checksum */
} app_farm_t;

/* ---- the last lines ---- */
/* communication: seconds in calls of the library, waits included, summed over all workers. */
static void APP_UNUSED app_result(const char *name, double seconds, double communication, int workers, uint32_t crc) {
  printf("%s: %.4f s, communication %.1f %%, checksum %08x\n", name, seconds,
         seconds > 0 ? 100 * communication / (seconds * workers) : 0.0, (unsigned)crc);
  fflush(stdout);
}

static int APP_UNUSED app_verdict(void) {
  if (app_errors)
    printf("%s: node %d/%d: FAIL (%ld errors in %ld checks)\n", app_name, app_node, app_nodes, app_errors, app_checks);
  else
    printf("%s: node %d/%d: PASS (%ld checks)\n", app_name, app_node, app_nodes, app_checks);
  fflush(stdout);
  return app_errors ? 1 : 0;
}

#endif
