/* Shared by the testcore programs, besides test.h: start-up with one memory area per node in either segment mode,
 * argument and payload patterns. Public names only. */
#ifndef GASNET_SCI_TESTCORE_H
#define GASNET_SCI_TESTCORE_H

#include "test.h"

#define CORE_MAXARGS 16
#define CORE_WATCHDOG 120 /* seconds until SIGALRM ends a program that hangs */

enum { SHORT, MEDIUM, LONG, LONGASYNC };
static const char *const core_catname[] TEST_UNUSED = {"Short", "Medium", "Long", "LongAsync"};

static gasnet_node_t me, nodes;
static unsigned char **core_area; /* one per node, core_areasize bytes each: its segment, or heap in EVERYTHING mode */
static uintptr_t core_areasize;

/* ---- start-up ---- */

#define CORE_HIDX_ADDRESS 255
#define CORE_HI(p) ((gasnet_handlerarg_t)(uint32_t)((uint64_t)(uintptr_t)(p) >> 32))
#define CORE_LO(p) ((gasnet_handlerarg_t)(uint32_t)(uintptr_t)(p))
#define CORE_PTR(hi, lo) ((void *)(uintptr_t)(((uint64_t)(uint32_t)(hi) << 32) | (uint32_t)(lo)))

static int core_known; /* nodes whose area is known */

static gasnet_node_t TEST_UNUSED core_source(gasnet_token_t token) {
  gasnet_node_t from = (gasnet_node_t)-1;
  CHECK(gasnet_AMGetMsgSource(token, &from) == GASNET_OK && from < nodes, "source %u of %u nodes", (unsigned)from,
        (unsigned)nodes);
  return from < nodes ? from : 0;
}

static void core_address_h(gasnet_token_t token, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  core_area[core_source(token)] = (unsigned char *)CORE_PTR(hi, lo);
  TEST_COUNT(&core_known);
}

static void TEST_UNUSED core_init(int *argc, char ***argv, const char *name) {
  test_name = name;
  if (gasnet_init(argc, argv) != GASNET_OK) {
    fprintf(stderr, "%s: gasnet_init failed\n", name);
    exit(99);
  }
  alarm(CORE_WATCHDOG);
  me = gasnet_mynode();
  nodes = gasnet_nodes();
}

/* Attaches with the `n` entries of `table` and gives every node an area of `size` bytes (rounded up to pages). */
static void TEST_UNUSED core_attach(const gasnet_handlerentry_t *table, int n, size_t size) {
  gasnet_handlerentry_t *all = (gasnet_handlerentry_t *)malloc((size_t)(n + 1) * sizeof *all);
  gasnet_seginfo_t *info = (gasnet_seginfo_t *)malloc(nodes * sizeof *info);
  gasnet_node_t i;
  const gasnet_handlerentry_t address = {CORE_HIDX_ADDRESS, (void (*)())core_address_h};
  if (n) memcpy(all, table, (size_t)n * sizeof *all);
  all[n] = address;
  size = (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  core_areasize = size;
  core_area = (unsigned char **)calloc(nodes, sizeof *core_area);
#if defined(GASNET_SEGMENT_EVERYTHING)
  GASNET_SAFE(gasnet_attach(all, n + 1, 0, 0));
  {
    unsigned char *raw = (unsigned char *)malloc(size + GASNET_PAGESIZE);
    uintptr_t aligned = ((uintptr_t)raw + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (!raw) gasnet_exit(98);
    for (i = 0; i < nodes; i++)
      GASNET_SAFE(gasnet_AMRequestShort2(i, CORE_HIDX_ADDRESS, CORE_HI(aligned), CORE_LO(aligned)));
    GASNET_BLOCKUNTIL(core_known == (int)nodes);
  }
  (void)info;
#else
  if (size > gasnet_getMaxGlobalSegmentSize()) {
    fprintf(stderr, "%s: node %u: %lu bytes of segment wanted, %lu possible\n", test_name, (unsigned)me,
            (unsigned long)size, (unsigned long)gasnet_getMaxGlobalSegmentSize());
    gasnet_exit(97);
  }
  GASNET_SAFE(gasnet_attach(all, n + 1, size, 0));
  GASNET_SAFE(gasnet_getSegmentInfo(info, (int)nodes));
  for (i = 0; i < nodes; i++) {
    core_area[i] = (unsigned char *)info[i].addr;
    if (info[i].size != size) gasnet_exit(96);
  }
#endif
  free(info);
  free(all);
}

/* Argument number `i` of the program as a number, or `dflt`. */
static long TEST_UNUSED core_number(int argc, char **argv, int i, long dflt) {
  return i < argc && atol(argv[i]) > 0 ? atol(argv[i]) : dflt;
}

/* ---- patterns ---- */

/* Word `i` of the pattern of test_fill, the same bytes a word at a time: payloads here run to megabytes. */
static unsigned long long TEST_UNUSED core_word(unsigned seed, size_t i) {
  unsigned long long x = (unsigned long long)seed * 0x9E3779B97F4A7C15ULL + i * 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 29;
  return x * 0x94D049BB133111EBULL;
}

static void TEST_UNUSED core_fill(void *at, size_t n, unsigned seed) {
  unsigned char *p = (unsigned char *)at;
  size_t i;
  for (i = 0; i + 8 <= n; i += 8) {
    unsigned long long x = core_word(seed, i >> 3);
    p[i] = (unsigned char)x, p[i + 1] = (unsigned char)(x >> 8), p[i + 2] = (unsigned char)(x >> 16);
    p[i + 3] = (unsigned char)(x >> 24), p[i + 4] = (unsigned char)(x >> 32), p[i + 5] = (unsigned char)(x >> 40);
    p[i + 6] = (unsigned char)(x >> 48), p[i + 7] = (unsigned char)(x >> 56);
  }
  for (; i < n; i++) p[i] = test_byte(seed, i);
}

/* Index of the first byte that is not the pattern's, or n. */
static size_t TEST_UNUSED core_differs(const void *at, size_t n, unsigned seed) {
  const unsigned char *p = (const unsigned char *)at;
  size_t i;
  for (i = 0; i + 8 <= n; i += 8) {
    unsigned long long x = core_word(seed, i >> 3), y;
    y = (unsigned long long)p[i] | (unsigned long long)p[i + 1] << 8 | (unsigned long long)p[i + 2] << 16 |
        (unsigned long long)p[i + 3] << 24 | (unsigned long long)p[i + 4] << 32 | (unsigned long long)p[i + 5] << 40 |
        (unsigned long long)p[i + 6] << 48 | (unsigned long long)p[i + 7] << 56;
    if (x != y) break;
  }
  for (; i < n; i++)
    if (p[i] != test_byte(seed, i)) return i;
  return n;
}

/* Index of the first of `n` bytes that is not `c`, or n. */
static size_t TEST_UNUSED core_notall(const void *at, size_t n, unsigned char c) {
  const unsigned char *p = (const unsigned char *)at;
  size_t i;
  for (i = 0; i < n; i++)
    if (p[i] != c) return i;
  return n;
}

/* Argument `i` of a message: the corners of 32 bits, and numbers that only `seed` and `i` give. */
static gasnet_handlerarg_t TEST_UNUSED core_arg(unsigned seed, int i) {
  static const uint32_t corner[] = {0x80000000u, 0xffffffffu, 0x7fffffffu, 0, 1, 0x80000001u, 0x0000ffffu, 0xffff0000u};
  unsigned pick = (seed + (unsigned)i) % 11;
  uint32_t v = pick < 8 ? corner[pick] : (uint32_t)core_word(seed, (size_t)i + 1000);
  gasnet_handlerarg_t a;
  memcpy(&a, &v, sizeof a);
  return a;
}

static unsigned TEST_UNUSED core_seed(unsigned a, unsigned b, unsigned c) {
  return (unsigned)(core_word(a * 0x3779u + b, c) >> 33);
}

#endif
