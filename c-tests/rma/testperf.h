/* Shared by testsmall and testlarge: options, pairs of nodes, one function that performs any form of put and get, rows
 * that are timed and then compared byte by byte. The programs define their sections and print the rows. */
#ifndef GASNET_SCI_TESTPERF_H
#define GASNET_SCI_TESTPERF_H

#include "../testarea.h"

enum perf_how { BLOCKING, NB_EACH, NB_FLOOD, NBI_EACH, NBI_FLOOD };
static const char *const perf_how_name[] = {"", "_nb", "_nb", "_nbi", "_nbi"};
static const char *const perf_how_kind[] = {"round trip", "round trip", "flood", "round trip", "flood"};
enum perf_what { PUT, GET };

struct perf_section {
  char letter;
  enum perf_what what;
  enum perf_how how;
  int bulk;
};
#define PERF_VERIFY 'V'

static struct {
  int in_segment, all_active, cross, first_last, skip_warmup, machine, exact, huge;
  long iters;
  size_t maxsize;
  const char *letters;
} perf_option;

static const char *perf_program;
static const struct perf_section *perf_sections;
static size_t perf_count;
static void (*perf_print)(const struct perf_section *s, const char *name, size_t nbytes, int n, double seconds);

/* Each area: target of puts, source of gets, local memory of -in for puts and for gets; the rest is the program's. */
static size_t perf_room;
static gasnet_node_t perf_peer;
static unsigned char *perf_put_from, *perf_get_to;
static gasnet_handle_t *perf_handles;
static size_t perf_handle_room;
#define PERF_GUARD 64
#define PERF_REST (4 * perf_room) /* offset of the program's own part of an area */

/* ---- any form ---- */

#define PERF_LOOP(blocking, nb, nbi, sync)                                                                           \
  switch (s->how) {                                                                                                  \
    case BLOCKING:                                                                                                   \
      for (i = 0; i < n; i++) blocking;                                                                              \
      break;                                                                                                         \
    case NB_EACH:                                                                                                    \
      for (i = 0; i < n; i++) gasnet_wait_syncnb(nb);                                                                \
      break;                                                                                                         \
    case NB_FLOOD:                                                                                                   \
      for (i = 0; i < n; i++) {                                                                                      \
        perf_handles[k++] = nb;                                                                                      \
        if (k == perf_handle_room) gasnet_wait_syncnb_all(perf_handles, k), k = 0;                                   \
      }                                                                                                              \
      gasnet_wait_syncnb_all(perf_handles, k);                                                                       \
      break;                                                                                                         \
    case NBI_EACH:                                                                                                   \
      for (i = 0; i < n; i++) {                                                                                      \
        nbi;                                                                                                         \
        sync;                                                                                                        \
      }                                                                                                              \
      break;                                                                                                         \
    case NBI_FLOOD:                                                                                                  \
      for (i = 0; i < n; i++) nbi;                                                                                   \
      sync;                                                                                                          \
      break;                                                                                                         \
  }

/* `n` times the same transfer, complete at return. */
static void perf_run(const struct perf_section *s, gasnet_node_t node, void *local, void *remote, size_t size, int n) {
  size_t k = 0;
  int i;
  if (s->what == PUT && s->bulk)
    PERF_LOOP(gasnet_put_bulk(node, remote, local, size), gasnet_put_nb_bulk(node, remote, local, size),
              gasnet_put_nbi_bulk(node, remote, local, size), gasnet_wait_syncnbi_puts())
  else if (s->what == PUT)
    PERF_LOOP(gasnet_put(node, remote, local, size), gasnet_put_nb(node, remote, local, size),
              gasnet_put_nbi(node, remote, local, size), gasnet_wait_syncnbi_puts())
  else if (s->bulk)
    PERF_LOOP(gasnet_get_bulk(local, node, remote, size), gasnet_get_nb_bulk(local, node, remote, size),
              gasnet_get_nbi_bulk(local, node, remote, size), gasnet_wait_syncnbi_gets())
  else
    PERF_LOOP(gasnet_get(local, node, remote, size), gasnet_get_nb(local, node, remote, size),
              gasnet_get_nbi(local, node, remote, size), gasnet_wait_syncnbi_gets())
}

static const char *perf_name(const struct perf_section *s) {
  static char name[32];
  snprintf(name, sizeof name, "%s%s%s", s->what == PUT ? "put" : "get", perf_how_name[s->how], s->bulk ? "_bulk" : "");
  return name;
}

/* ---- pairs ---- */

/* Nodes without a partner work with themselves. */
static gasnet_node_t perf_peer_of(gasnet_node_t node) {
  const gasnet_node_t half = nodes / 2;
  if (perf_option.first_last) return node == 0 ? nodes - 1 : node == nodes - 1 ? 0 : node;
  if (perf_option.cross) return node < half ? node + half : node < 2 * half ? node - half : node;
  return node % 2 ? node - 1 : node + 1 < nodes ? node + 1 : node;
}
/* True for nodes that measure. The others only serve their peers, in a barrier. */
static int perf_active(gasnet_node_t node) {
  const gasnet_node_t peer = perf_peer_of(node);
  if (perf_option.first_last) return node == 0 || (node == nodes - 1 && perf_option.all_active);
  return perf_option.all_active || node <= peer;
}

/* ---- rows ---- */

static unsigned perf_put_seed(gasnet_node_t node) { return core_seed(node, 1, 1); }
static unsigned perf_get_seed(gasnet_node_t node) { return core_seed(node, 2, 2); }

/* A row moves no more than ~4 MB, unless -x. */
static int perf_iterations(size_t nbytes) {
  const long enough = (4L << 20) / (long)nbytes;
  if (perf_option.exact || perf_option.iters <= enough) return (int)perf_option.iters;
  return (int)(enough < 4 ? (perf_option.iters < 4 ? perf_option.iters : 4) : enough);
}

static void perf_row(const struct perf_section *s, size_t nbytes) {
  const int n = perf_iterations(nbytes), active = perf_active(me), written = perf_active(perf_peer);
  unsigned char *remote = core_area[perf_peer] + (s->what == GET ? perf_room : 0), *target = core_area[me];
  unsigned char *local = s->what == PUT ? perf_put_from : perf_get_to;
  size_t same;
  int pass;
  for (pass = perf_option.skip_warmup; pass < 2; pass++) { /* a short one to warm up, then the one that counts */
    const int times = pass ? n : n / 10 + 1;
    double seconds;
    if (s->what == PUT && written) memset(target, 0xEE, nbytes + PERF_GUARD);
    if (s->what == GET && active) memset(local, 0xEE, nbytes + PERF_GUARD);
    test_barrier();
    seconds = test_now();
    if (active) perf_run(s, perf_peer, local, remote, nbytes, times);
    seconds = test_now() - seconds;
    test_barrier();
    if (pass && active) perf_print(s, perf_name(s), nbytes, n, seconds);
  }
  if (s->what == PUT && written) {
    same = core_differs(target, nbytes, perf_put_seed(perf_peer));
    CHECK(same == nbytes, "section %c: byte %lu of %lu put by %u", s->letter, (unsigned long)same,
          (unsigned long)nbytes, (unsigned)perf_peer);
    CHECK(core_notall(target + nbytes, PERF_GUARD, 0xEE) == PERF_GUARD, "section %c writes behind %lu bytes", s->letter,
          (unsigned long)nbytes);
  }
  if (s->what == GET && active) {
    same = core_differs(local, nbytes, perf_get_seed(perf_peer));
    CHECK(same == nbytes, "section %c: byte %lu of %lu got from %u", s->letter, (unsigned long)same,
          (unsigned long)nbytes, (unsigned)perf_peer);
    CHECK(core_notall(local + nbytes, PERF_GUARD, 0xEE) == PERF_GUARD, "section %c writes behind %lu bytes", s->letter,
          (unsigned long)nbytes);
  }
}

/* ---- V: every form, sizes around powers of two, odd places, nothing beside ---- */

/* The ranges move through a buffer of PERF_GUARD more bytes than the largest, so that both sides are odd at times. */
static void perf_verify_one(const struct perf_section *s, size_t nbytes, size_t at, size_t from) {
  const unsigned seed = core_seed(me * 64 + (unsigned)s->letter, (unsigned)nbytes, (unsigned)at);
  const size_t whole = nbytes + PERF_GUARD;
  unsigned char *target = core_area[perf_peer], *source = core_area[perf_peer] + perf_room;
  size_t same;
  if (s->what == PUT) {
    core_fill(perf_put_from + from, nbytes, seed);
    gasnet_memset(perf_peer, target, 0xDD, whole);
    perf_run(s, perf_peer, perf_put_from + from, target + at, nbytes, 1);
    memset(perf_put_from + from, 0, nbytes);
    gasnet_get_bulk(perf_get_to, perf_peer, target, whole);
    same = core_differs(perf_get_to + at, nbytes, seed);
  } else {
    memset(perf_get_to, 0xDD, whole);
    perf_run(s, perf_peer, perf_get_to + at, source, nbytes, 1);
    same = core_differs(perf_get_to + at, nbytes, perf_get_seed(perf_peer));
  }
  CHECK(same == nbytes, "%s: byte %lu of %lu at +%lu", perf_name(s), (unsigned long)same, (unsigned long)nbytes,
        (unsigned long)at);
  CHECK(core_notall(perf_get_to, at, 0xDD) == at, "%s of %lu: bytes before", perf_name(s), (unsigned long)nbytes);
  CHECK(core_notall(perf_get_to + at + nbytes, whole - at - nbytes, 0xDD) == whole - at - nbytes,
        "%s of %lu: bytes behind", perf_name(s), (unsigned long)nbytes);
}

static void perf_verify(void) {
  size_t i, nbytes;
  unsigned r = me + 1;
  test_barrier();
  for (i = 0; i < perf_count; i++)
    for (nbytes = 1; nbytes <= perf_option.maxsize; nbytes *= 2) {
      perf_verify_one(&perf_sections[i], nbytes, 0, 0);
      perf_verify_one(&perf_sections[i], nbytes - 1, test_random(&r) % 16, test_random(&r) % 16);
      if (nbytes < perf_option.maxsize)
        perf_verify_one(&perf_sections[i], nbytes + 1, test_random(&r) % 16, test_random(&r) % 16);
    }
  test_barrier();
  core_fill(perf_put_from, perf_option.maxsize, perf_put_seed(me));
  if (me == 0 && !perf_option.machine)
    printf("%2u: %c  every byte of every form and size compared\n", (unsigned)me, PERF_VERIFY);
}

/* ---- the command line ---- */

static void perf_usage(const char *more) {
  size_t i;
  if (me) return;
  printf("usage: %s [options] [iters [maxsize [sections]]]\n"
         "  iters      transfers per row, default %ld; fewer for large ones\n"
         "  maxsize    bytes of the largest transfer, default %lu\n"
         "  sections   letters, default all\n"
         "  -in, -out  local memory in the segment, elsewhere (default)\n"
         "  -a         all nodes measure, each with its neighbour (default: the lower one of a pair)\n"
         "  -c         cross-machine pairs: i and i + N/2 (default: neighbours)\n"
         "  -f         first and last: node 0 works with node N-1, all others idle; with -a in both directions\n"
         "  -s         skip the warm-up\n"
         "  -m         machine: program,node,section,call,kind,bytes,iters,us,MB/s with MB = 2^20\n"
         "  -x         exactly iters transfers in every row\n%s",
         perf_program, perf_option.iters, (unsigned long)perf_option.maxsize, more);
  for (i = 0; i < perf_count; i++)
    printf("  %c  %-13s %s\n", perf_sections[i].letter, perf_name(&perf_sections[i]),
           perf_how_kind[perf_sections[i].how]);
  printf("  %c  verification\n", PERF_VERIFY);
  fflush(stdout);
}

/* Returns 0 if something is not understood. */
static int perf_parse(int argc, char **argv) {
  int i, position = 0;
  for (i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (!strcmp(a, "-in")) perf_option.in_segment = 1;
    else if (!strcmp(a, "-out")) perf_option.in_segment = 0;
    else if (!strcmp(a, "-a")) perf_option.all_active = 1;
    else if (!strcmp(a, "-c")) perf_option.cross = 1;
    else if (!strcmp(a, "-f")) perf_option.first_last = 1;
    else if (!strcmp(a, "-s")) perf_option.skip_warmup = 1;
    else if (!strcmp(a, "-m")) perf_option.machine = 1;
    else if (!strcmp(a, "-x")) perf_option.exact = 1;
    else if (!strcmp(a, "-L")) perf_option.huge = 1;
    else if (*a == '-' || position == 3) return 0;
    else if (position == 0) perf_option.iters = atol(a), position++;
    else if (position == 1) perf_option.maxsize = (size_t)atol(a), position++;
    else perf_option.letters = a, position++;
  }
  return perf_option.iters > 0 && perf_option.iters <= 1L << 30 && perf_option.maxsize > 0 &&
         perf_option.maxsize <= (size_t)1 << 30;
}

static int perf_wants(char letter) { return !perf_option.letters || strchr(perf_option.letters, letter); }

/* Memory of each node beside what core_attach gave; the areas are in use from here on. */
static void perf_prepare(void) {
  perf_peer = perf_peer_of(me);
  perf_put_from = perf_option.in_segment ? core_area[me] + 2 * perf_room : (unsigned char *)malloc(perf_room);
  perf_get_to = perf_option.in_segment ? core_area[me] + 3 * perf_room : (unsigned char *)malloc(perf_room);
  perf_handle_room = perf_option.iters < 32768 ? (size_t)perf_option.iters : 32768;
  perf_handles = (gasnet_handle_t *)malloc(perf_handle_room * sizeof *perf_handles);
  if (!perf_put_from || !perf_get_to || !perf_handles) gasnet_exit(98);
  core_fill(perf_put_from, perf_option.maxsize, perf_put_seed(me));
  core_fill(core_area[me] + perf_room, perf_option.maxsize, perf_get_seed(me));
  test_barrier();
}

/* All sections that were asked for, sizes from `smallest` by doubling. */
static void perf_all(size_t smallest) {
  size_t i, nbytes;
  for (i = 0; i < perf_count; i++) {
    if (!perf_wants(perf_sections[i].letter)) continue;
    for (nbytes = smallest; nbytes <= perf_option.maxsize; nbytes *= 2) perf_row(&perf_sections[i], nbytes);
    if (nbytes / 2 < perf_option.maxsize) perf_row(&perf_sections[i], perf_option.maxsize);
  }
}

static void perf_machine_row(const struct perf_section *s, const char *name, size_t nbytes, int n, double seconds) {
  printf("%s,%u,%c,%s,%s,%lu,%d,%.4f,%.3f\n", perf_program, (unsigned)me, s->letter, name, perf_how_kind[s->how],
         (unsigned long)nbytes, n, seconds / (double)n * 1e6, (double)nbytes * (double)n / seconds / 1048576.0);
  fflush(stdout);
}

#endif
