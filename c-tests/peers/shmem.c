/* OpenSHMEM's side of ci/bench-peers: puts, gets and barriers of gasnet.c, in OpenSHMEM's words. */
#include <shmem.h>

#include "peers.h"

#define WHO "oshmem"
static unsigned char *src, *dst, *words; /* symmetric */
static double *times;                    /* symmetric, one per node */

/* ---- what peers.h wants ---- */

static void everybody(void) { shmem_barrier_all(); }

static double slowest(double microseconds) {
  int i;
  for (i = 0; i < nodes; i++) shmem_double_p(&times[me], microseconds, i);
  shmem_barrier_all();
  for (i = 0; i < nodes; i++)
    if (times[i] > microseconds) microseconds = times[i];
  shmem_barrier_all();
  return microseconds;
}

static void give_up(void) { shmem_global_exit(1); }

/* ---- patterns ---- */

static void put(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) {
      shmem_putmem(dst, src, bytes, 1);
      shmem_quiet();
    }
}
static void get(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) shmem_getmem(dst, src, bytes, 1);
}
static void put_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      shmem_putmem_nbi(dst, src, bytes, 1);
      if (i % WINDOW == 0 || i == count) shmem_quiet();
    }
}
static void get_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      shmem_getmem_nbi(dst, src, bytes, 1);
      if (i % WINDOW == 0 || i == count) shmem_quiet();
    }
}
static void put_trip(size_t bytes, long count) {
  static long last;
  (void)bytes;
  for (; count > 0; count--) {
    last++;
    if (me == 0) shmem_long_p((long *)(void *)words, last, 1);
    shmem_long_wait_until((long *)(void *)words, SHMEM_CMP_GE, last);
    if (me == 1) shmem_long_p((long *)(void *)words, last, 0);
  }
}
static void barriers(size_t bytes, long count) {
  (void)bytes;
  for (; count > 0; count--) everybody();
}

static void one_sided(const char *operation, const char *unit, pattern *run, size_t bytes, int receiver, unsigned seed) {
  memset(dst, 0, bytes);
  everybody();
  run(bytes, 1);
  everybody();
  if (me == receiver) expect(operation, dst, bytes, seed);
  row(WHO, "rma", operation, bytes, unit, time_of(run, bytes));
}

static void rma(void) {
  const size_t *n;
  row(WHO, "rma", "put round trip", 8, "us", time_of(put_trip, 8));
  for (n = transfer_sizes; *n; n++) {
    one_sided("put", "us", put, *n, 1, 1);
    one_sided("get", "us", get, *n, 0, 2);
    one_sided("put flood", "MB/s", put_flood, *n, 1, 1);
    one_sided("get flood", "MB/s", get_flood, *n, 0, 2);
  }
}

int main(int argc, char **argv) {
  shmem_init();
  me = shmem_my_pe();
  nodes = shmem_n_pes();
  pin();
  peers_program = argv[0];
  quick = argc > 2;
  src = (unsigned char *)shmem_malloc(LARGEST);
  dst = (unsigned char *)shmem_malloc(LARGEST);
  words = (unsigned char *)shmem_malloc(4096);
  times = (double *)shmem_malloc((size_t)nodes * sizeof *times);
  if (!src || !dst || !words || !times) give_up();
  memset(dst, 0, LARGEST);
  memset(words, 0, 4096);
  fill(src, LARGEST, (unsigned)me + 1);
  everybody();
  if (is_section(argc, argv, "rma")) rma();
  if (is_section(argc, argv, "barrier")) row(WHO, "barrier", "barrier", 0, "us", time_of(barriers, 0));
  everybody();
  /* Debian 12's shmem_finalize crashes on one host; a global exit ends the job as well, with its status. */
  shmem_global_exit(0);
  return 0;
}
