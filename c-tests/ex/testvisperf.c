/* Throughput of vector, indexed and strided puts and gets. Every row is compared, with all bytes beside the pieces. Contract: ex-rma.md
 * sections 8, 14.
 *
 *   testvisperf [OPTIONS] [iters=1000 [sections]]
 *     -p, -g          puts, gets only                        -r, -l   the remote, the local side is contiguous
 *     -mindata N (1K), -maxdata N (1M), -datafactor F (4)       payload of a call
 *     -mincontig N (8), -maxcontig N (64K), -contigfactor F (8) bytes of a piece
 *     -densitysteps N (2)   pieces lie 1, 2 ... N pieces apart   -sl N (2)   levels of strided calls
 *     -in, -out       local memory in the segment, elsewhere (default)
 *     -a, -c, -f      both processes of a pair send; partners half the job apart; the first and the last process only
 *     -nb, -nbi       non-blocking calls, in flight at once
 *   iters is the most calls of a row; a row ends after about 20 ms. Sections: A vector put, B vector get, C indexed put, D indexed get,
 *   E strided put, F strided get. */
#include "testperf.h"
#include <gasnet_vis.h>

#define LEVELS 20
#define IN_FLIGHT 256

/* The pieces of one side: `n` of `len` bytes; piece i is where its digits lead, the lowest digit first. */
typedef struct {
  size_t count[LEVELS];
  ptrdiff_t strides[LEVELS];
  int packed; /* one after the other */
  unsigned char *base;
} side;
static size_t n, len;
static long levels = 2, nb, nbi;
static side local, remote, target, source; /* what this process uses; its own area as the partner does */
static unsigned char *memory, *expected;
static size_t room;
static gex_Memvec_t *vectors[2];
static void **pieces[2];
static gex_Event_t events[IN_FLIGHT];

static size_t offset(const side *s, size_t piece) {
  size_t at = 0;
  long level;
  for (level = 0; level < levels; level++) {
    at += piece % s->count[level] * (size_t)s->strides[level];
    piece /= s->count[level];
  }
  return at;
}
/* Pieces `apart` pieces apart; a hole behind each row, so that levels are levels. */
static side layout(unsigned char *base, size_t apart, int packed) {
  side s;
  size_t left = n, stride = packed ? len : len * apart;
  long level;
  s.base = base, s.packed = packed;
  for (level = 0; level < levels; level++) {
    s.count[level] = level == levels - 1 ? left : level == 0 && left % 2 == 0 ? left / 2 : left % 2 == 0 ? 2 : 1;
    s.strides[level] = (ptrdiff_t)stride;
    left /= s.count[level];
    stride *= s.count[level];
    if (level == 0 && !packed && apart > 1) stride += len * apart;
  }
  return s;
}
static size_t lists(const side *s, int which) {
  const size_t entries = s->packed ? 1 : n;
  size_t i;
  for (i = 0; i < entries; i++) {
    pieces[which][i] = s->base + offset(s, i);
    vectors[which][i].gex_addr = pieces[which][i];
    vectors[which][i].gex_len = s->packed ? n * len : len;
  }
  return entries;
}
static void fill_side(const side *s, unsigned seed) {
  unsigned char *const bytes = (unsigned char *)malloc(n * len);
  size_t i;
  if (bytes == NULL) gasnet_exit(98);
  fill(bytes, seed, n * len);
  for (i = 0; i < n; i++) memcpy(s->base + offset(s, i), bytes + i * len, len);
  free(bytes);
}

/* One call in the form chosen. Its event, or 0. */
#define FORM(NAME, ...)                                                                                              \
  (nb ? gex_VIS_##NAME##NB(__VA_ARGS__, 0)                                                                           \
      : nbi ? ((void)gex_VIS_##NAME##NBI(__VA_ARGS__, 0), GEX_EVENT_INVALID)                                         \
            : ((void)gex_VIS_##NAME##Blocking(__VA_ARGS__, 0), GEX_EVENT_INVALID))
static gex_Event_t one(char letter, size_t l, size_t r) {
  const size_t llen = local.packed ? n * len : len, rlen = remote.packed ? n * len : len;
  switch (letter) {
    case 'A': return FORM(VectorPut, tm, peer, r, vectors[1], l, vectors[0]);
    case 'B': return FORM(VectorGet, tm, l, vectors[0], peer, r, vectors[1]);
    case 'C': return FORM(IndexedPut, tm, peer, r, pieces[1], rlen, l, pieces[0], llen);
    case 'D': return FORM(IndexedGet, tm, l, pieces[0], llen, peer, r, pieces[1], rlen);
    case 'E': return FORM(StridedPut, tm, peer, remote.base, remote.strides, local.base, local.strides, len, local.count, (size_t)levels);
    default: return FORM(StridedGet, tm, local.base, local.strides, peer, remote.base, remote.strides, len, local.count, (size_t)levels);
  }
}
/* `times` calls, complete at return. */
static double calls(char letter, long times, size_t l, size_t r) {
  double us = now_us();
  size_t flying = 0;
  long i;
  for (i = 0; i < times; i++) {
    events[flying++] = one(letter, l, r);
    if (flying == IN_FLIGHT) gex_Event_WaitAll(events, flying, 0), flying = 0;
  }
  gex_Event_WaitAll(events, flying, 0);
  gex_NBI_Wait(GEX_EC_ALL, 0);
  us = now_us() - us;
  return us;
}
/* Whether `at` has the pieces of `s` with the bytes of `seed`, and 0xee elsewhere. */
static int as_expected(const side *s, unsigned seed) {
  side other = *s;
  other.base = expected;
  memset(expected, 0xee, room);
  fill_side(&other, seed);
  return memcmp(s->base, expected, room) == 0;
}
static void one_row(char letter, long iters, size_t apart, int remote_packed, int local_packed) {
  static const char *const names[] = {"vector put", "vector get", "indexed put", "indexed get", "strided put", "strided get"};
  static unsigned turn;
  const int put = (letter - 'A') % 2 == 0;
  const unsigned seed = 11 * ++turn;
  size_t l, r;
  long times = 1;
  double us = 0;
  char what[128];
  if (!wanted(letter) || (put ? opt.gets && !opt.puts : opt.puts && !opt.gets)) return;
  remote = layout(area[peer] + (put ? 0 : room), apart, remote_packed);
  local = layout(memory, apart, local_packed);
  target = layout(area[me], apart, remote_packed), source = layout(area[me] + room, apart, remote_packed);
  memset(area[me], 0xee, room);
  fill_side(&source, seed + me);
  memset(local.base, 0xee, room);
  if (put) fill_side(&local, seed + me);
  l = lists(&local, 0), r = lists(&remote, 1);
  BARRIER();
  if (sends) {
    us = calls(letter, 1, l, r);
    times = us > 0 && us * (double)iters > 20000 ? (long)(20000 / us) + 1 : iters;
    us = calls(letter, times, l, r);
  }
  BARRIER();
  if (put && receives) CHECK(as_expected(&target, seed + peer));
  else CHECK(area[me][0] == 0xee && memcmp(area[me], area[me] + 1, room - 1) == 0);
  if (!put && sends) CHECK(as_expected(&local, seed + peer));
  snprintf(what, sizeof what, "%s of %lu B, 1/%lu full%s%s", names[letter - 'A'], (unsigned long)len, (unsigned long)apart,
           remote_packed ? ", remote packed" : "", local_packed ? ", local packed" : "");
  if (sends) row(letter, what, n * len, times, us);
}

static struct {
  long remote_packed, local_packed, least_data, most_data, least_contig, most_contig, density_steps;
  double data_factor, contig_factor;
} plan = {0, 0, 1 << 10, 1 << 20, 8, 64 << 10, 2, 4, 8};

static void all_rows(long iters) {
  double data, contig;
  long apart;
  char letter;
  for (data = (double)plan.least_data; data <= (double)plan.most_data; data *= plan.data_factor)
    for (contig = (double)plan.least_contig; contig <= (double)plan.most_contig && contig <= data; contig *= plan.contig_factor)
      for (apart = 1; apart <= plan.density_steps; apart++) {
        len = (size_t)contig;
        n = (size_t)data / len;
        for (letter = 'A'; letter <= 'F'; letter++) one_row(letter, iters, (size_t)apart, plan.remote_packed != 0, plan.local_packed != 0);
      }
}

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_WHAT, OPT_SIDE, OPT_PAIR, FLAG("-r", &plan.remote_packed), FLAG("-l", &plan.local_packed),
                                          AMOUNT("-mindata", &plan.least_data), AMOUNT("-maxdata", &plan.most_data),
                                          AMOUNT("-mincontig", &plan.least_contig), AMOUNT("-maxcontig", &plan.most_contig),
                                          REAL("-datafactor", &plan.data_factor), REAL("-contigfactor", &plan.contig_factor),
                                          AMOUNT("-densitysteps", &plan.density_steps), AMOUNT("-sl", &levels), FLAG("-nb", &nb),
                                          FLAG("-nbi", &nbi)};
  static const char usage[] =
      "testvisperf [-p] [-g] [-r] [-l] [-mindata N] [-maxdata N] [-mincontig N] [-maxcontig N] [-datafactor F] [-contigfactor F] "
      "[-densitysteps N] [-sl 1-20] [-in|-out] [-a] [-c] [-f] [-nb|-nbi] [iters [sections]]";
  size_t entries;
  long iters;
  int arg, i;
  begin("testvisperf", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 2, usage);
  iters = positional(argc, argv, arg, 1000);
  if (arg + 1 < argc) section_letters = argv[arg + 1];
  if (levels < 1 || levels > LEVELS || plan.least_contig < 1 || plan.least_data < plan.least_contig || plan.density_steps < 1 ||
      plan.data_factor <= 1 || plan.contig_factor <= 1)
    misuse(usage);
  room = (size_t)(2 * plan.most_data * plan.density_steps + 2 * plan.most_contig * plan.density_steps + 64) / 64 * 64;
  make_areas(3 * room);
  make_pairs();
  entries = (size_t)(plan.most_data / plan.least_contig) + 1;
  memory = opt.in ? area[me] + 2 * room : (unsigned char *)malloc(room);
  expected = (unsigned char *)malloc(room);
  for (i = 0; i < 2; i++) {
    vectors[i] = (gex_Memvec_t *)malloc(entries * sizeof *vectors[i]);
    pieces[i] = (void **)malloc(entries * sizeof *pieces[i]);
    if (memory == NULL || expected == NULL || vectors[i] == NULL || pieces[i] == NULL) gasnet_exit(98);
  }
  all_rows(iters);
  return end();
}
