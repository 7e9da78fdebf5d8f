/* Throughput of large puts and gets: bulk forms, one at a time and in floods. Section V compares every form byte by
 * byte.
 *
 * usage: testlarge [-in|-out] [-a] [-c] [-f] [-s] [-m] [-x] [iters [maxsize [sections]]]      (see perf_usage())
 *        testlarge -L      one put and one get of more than 2 GiB (contract item 92), if memory permits */
#include "testperf.h"

#include <unistd.h>

static const struct perf_section sections[] = {
    {'A', PUT, BLOCKING, 1}, {'B', GET, BLOCKING, 1}, {'C', PUT, NB_EACH, 1},   {'D', GET, NB_EACH, 1},
    {'E', PUT, NB_FLOOD, 1}, {'F', GET, NB_FLOOD, 1}, {'G', PUT, NBI_FLOOD, 1}, {'H', GET, NBI_FLOOD, 1}};

static void print_row(const struct perf_section *s, const char *name, size_t nbytes, int n, double seconds) {
  if (perf_option.machine) {
    perf_machine_row(s, name, nbytes, n, seconds);
    return;
  }
  printf("%2u: %c  %-13s %-10s: %8lu B  %7d iters  latency = %10.3f us  throughput = %12.3f KB/s\n", (unsigned)me,
         s->letter, name, perf_how_kind[s->how], (unsigned long)nbytes, n, seconds / (double)n * 1e6,
         (double)nbytes * (double)n / seconds / 1024.0);
  fflush(stdout);
}

/* ---- -L: item 92 ---- */

/* No length, offset or count of it fits an int. */
#define HUGE_BYTES (((size_t)2 << 30) + 3 * (size_t)GASNET_PAGESIZE + 5)
#define HUGE_MAPPED (((size_t)2 << 30) + 4 * (size_t)GASNET_PAGESIZE)
#define HUGE_NEEDED ((size_t)6 << 30) /* two copies, and room for the machine */

/* Allows segments of this size. The program attaches only as much as its options need. */
uint64_t gasnet_max_segsize = (uint64_t)3 << 30;

static int memory_permits(void) {
  const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages < 0 || size < 0 || (size_t)pages >= HUGE_NEEDED / (size_t)size;
}

/* The last node owns the memory, node 0 puts to it and gets from it. */
static unsigned char *huge_attach(void) {
  const gasnet_node_t owner = nodes - 1;
#if defined(GASNET_SEGMENT_EVERYTHING)
  area_attach(NULL, 0, GASNET_PAGESIZE);
  {
    unsigned char *mine = me == owner ? (unsigned char *)malloc(HUGE_MAPPED) : NULL;
    if (me == owner && !mine) gasnet_exit(98);
    return area_announce(0, mine)[owner];
  }
#else
  gasnet_seginfo_t *info = (gasnet_seginfo_t *)malloc(nodes * sizeof *info);
  unsigned char *at;
  if (HUGE_MAPPED > gasnet_getMaxLocalSegmentSize()) {
    fprintf(stderr, "testlarge: -L needs a segment of %lu bytes, %lu possible\n", (unsigned long)HUGE_MAPPED,
            (unsigned long)gasnet_getMaxLocalSegmentSize());
    gasnet_exit(77);
  }
  GASNET_SAFE(gasnet_attach(NULL, 0, me == owner ? HUGE_MAPPED : GASNET_PAGESIZE, 0));
  GASNET_SAFE(gasnet_getSegmentInfo(info, (int)nodes));
  at = (unsigned char *)info[owner].addr;
  free(info);
  return at;
#endif
}

static double rate(size_t n, double seconds) { return (double)n / seconds / 1024.0; }

static void put_huge(gasnet_node_t owner, unsigned char *there, unsigned char *here, size_t n) {
  double seconds;
  core_fill(here, n, 92);
  seconds = test_now();
  gasnet_put_bulk(owner, there, here, n);
  seconds = test_now() - seconds;
  printf("%2u: put_bulk of %lu B: %.3f s, %.3f KB/s\n", (unsigned)me, (unsigned long)n, seconds, rate(n, seconds));
  memset(here, 0, n);
}

static void get_huge(gasnet_node_t owner, unsigned char *there, unsigned char *here, size_t n) {
  double seconds = test_now();
  size_t same;
  gasnet_wait_syncnb(gasnet_get_nb_bulk(here, owner, there, n));
  seconds = test_now() - seconds;
  printf("%2u: get_nb_bulk of %lu B: %.3f s, %.3f KB/s\n", (unsigned)me, (unsigned long)n, seconds, rate(n, seconds));
  here[n / 2] ^= 1;
  same = core_differs(here, n, 92);
  CHECK(same == n, "byte %lu of %lu got", (unsigned long)same, (unsigned long)n);
}

/* Byte 0 of the memory says whether node 0, which alone decides, continues; the data begins at byte 1. */
static void run_huge(void) {
  const gasnet_node_t owner = nodes - 1;
  unsigned char *there = huge_attach(), *here = NULL;
  const size_t n = HUGE_BYTES;
  test_begin("testlarge");
  if (me == 0) {
    here = memory_permits() ? (unsigned char *)malloc(n) : NULL;
    gasnet_put_val(owner, there, here != NULL, 1);
    if (here) put_huge(owner, there + 1, here, n);
    else printf("%2u: -L left out: not enough free memory\n", (unsigned)me);
  }
  test_barrier();
  if (me == owner && there[0]) {
    const size_t same = core_differs(there + 1, n, 92);
    CHECK(same == n, "byte %lu of %lu put", (unsigned long)same, (unsigned long)n);
    CHECK(core_notall(there + 1 + n, HUGE_MAPPED - n - 1, 0) == HUGE_MAPPED - n - 1, "bytes behind the put");
    there[1 + n / 2] ^= 1; /* so that the get cannot show what was put */
  }
  test_barrier();
  if (here) get_huge(owner, there + 1, here, n);
  free(here);
  test_end();
}

int main(int argc, char **argv) {
  int understood;
  perf_program = "testlarge", perf_print = print_row;
  perf_sections = sections, perf_count = sizeof sections / sizeof *sections;
  perf_option.iters = 50, perf_option.maxsize = (size_t)1 << 20;
  core_init(&argc, &argv, perf_program);
  understood = perf_parse(argc, argv);
  if (perf_option.iters > 1000 || perf_option.maxsize > (size_t)4 << 20 || perf_option.huge) alarm(0);
  if (understood && perf_option.huge) run_huge();
  perf_room = (perf_option.maxsize + 2 * PERF_GUARD + 63) / 64 * 64;
  area_attach(NULL, 0, PERF_REST);
  test_begin(perf_program);
  if (!understood) {
    perf_usage("  -L         instead: one put and one get of more than 2 GiB, if memory permits\n");
    test_barrier();
    gasnet_exit(2);
  }
  perf_prepare();
  perf_all(16);
  if (perf_wants(PERF_VERIFY)) perf_verify();
  test_end();
  return 0;
}
