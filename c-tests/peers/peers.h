/* Shared by the programs of ci/bench-peers: the sizes, and how a pattern is timed, pinned, verified and printed. It
 * uses no library: gasnet.c, mpi.c and shmem.c include it, and define the barrier and the search for the slowest
 * node.
 *
 *   PROGRAM SECTION [quick]        SECTION: am, rma, barrier, coll, hosts
 *
 * Node 0 prints a line for each cell:   WHO|SECTION|OPERATION|NODES|BYTES|UNIT|VALUE The time of a batch is that of
 * its slowest node. A value is that of the run's best batch, because other work of the machine can only add time.
 * The script runs the programs in turns, several times, and takes medians. */
#ifndef GASNET_SCI_PEERS_H
#define GASNET_SCI_PEERS_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 64          /* transfers in flight in a flood */
#define LARGEST (4u << 20) /* bytes of the largest transfer */

static int me, nodes, quick;
static const char *peers_program = "peers";

/* Each program's own. */
static void everybody(void);                /* a barrier */
static double slowest(double microseconds); /* the largest of all nodes', known to all */
static void give_up(void);                  /* ends the job with status 1 */

#if defined(__GNUC__)
#define PEERS_UNUSED __attribute__((__unused__))
#else
#define PEERS_UNUSED
#endif

static double PEERS_UNUSED now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Binds node i to the i-th CPU that the process may use, modulo their number, whichever launcher started it. Called
 * after the library's start, which may also bind the process. */
static void PEERS_UNUSED pin(void) {
  cpu_set_t may, one;
  int cpu, left;
  if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) == 0) return;
  left = me % CPU_COUNT(&may);
  for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &may) && left-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one)) perror("sched_setaffinity");
}

/* ---- patterns: which bytes must arrive ---- */

static uint64_t peers_word(unsigned seed, size_t i) {
  uint64_t x = seed * 0x9E3779B97F4A7C15ULL + i * 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 29;
  return x * 0x94D049BB133111EBULL;
}

/* `bytes` is a multiple of 8, `at` aligned to 8. */
static void PEERS_UNUSED fill(void *at, size_t bytes, unsigned seed) {
  size_t i;
  for (i = 0; i < bytes / 8; i++) ((uint64_t *)at)[i] = peers_word(seed, i);
}

static void PEERS_UNUSED expect(const char *what, const void *at, size_t bytes, unsigned seed) {
  size_t i;
  for (i = 0; i < bytes / 8; i++) {
    uint64_t word;
    memcpy(&word, (const unsigned char *)at + 8 * i, 8);
    if (word == peers_word(seed, i)) continue;
    fprintf(stderr, "%s: node %d: %s of %lu bytes: word %lu is wrong\n", peers_program, me, what, (unsigned long)bytes,
            (unsigned long)i);
    give_up();
  }
}

/* ---- time ---- */

/* All nodes together do `count` of something. */
typedef void pattern(size_t bytes, long count);

/* Microseconds of one, the best of several batches; each is long enough for the clock, and none much longer. */
static double PEERS_UNUSED time_of(pattern *run, size_t bytes) {
  const double enough = bytes >= 1 << 20 ? 30000 : quick ? 1000 : 2000; /* many messages, of which the first touch new pages */
  const int batches = quick ? 3 : 5;
  double best = 0, took;
  long count = 2;
  int b;
  run(bytes, 2);
  for (;;) {
    everybody();
    took = now_us();
    run(bytes, count);
    took = slowest(now_us() - took);
    if (took >= enough / 2 || count >= 1L << 24) break;
    count = took < enough / 64 ? count * 8 : (long)((double)count * enough / took) + 1;
  }
  best = took / (double)count;
  for (b = 1; b < batches; b++) {
    everybody();
    took = now_us();
    run(bytes, count);
    took = slowest(now_us() - took) / (double)count;
    if (took < best) best = took;
  }
  return best;
}

/* One line of output. `unit`: us, ns, or MB/s (10^6 bytes). */
static void PEERS_UNUSED row(const char *who, const char *section, const char *operation, size_t bytes, const char *unit,
                             double us) {
  double value = unit[0] == 'M' ? (double)bytes / us : unit[0] == 'n' ? us * 1000 : us;
  if (me == 0) printf("%s|%s|%s|%d|%lu|%s|%.6g\n", who, section, operation, nodes, (unsigned long)bytes, unit, value);
  fflush(stdout);
}

/* The sizes of a kind, ended by 0. */
static const size_t transfer_sizes[] PEERS_UNUSED = {8, 64, 512, 4096, 32768, 65536, 262144, 1048576, LARGEST, 0};
static const size_t medium_sizes[] PEERS_UNUSED = {8, 64, 512, 1024, 4096, 8192, 32768, 65536, 0};
static const size_t coll_sizes[] PEERS_UNUSED = {8, 64, 512, 4096, 32768, 262144, 1048576, 0};
static const size_t host_sizes[] PEERS_UNUSED = {65536, 1048576, 0};
#define LARGEST_COLL (1u << 20)

static int PEERS_UNUSED is_section(int argc, char **argv, const char *name) { return argc > 1 && !strcmp(argv[1], name); }

#endif
