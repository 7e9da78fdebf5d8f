/* Alignment: list E, items 69, 70. Bulk transfers at every power-of-two misalignment of source and destination up to a page,
 * and non-bulk ones of odd lengths at odd places.
 *
 *   testalign [iterations] */
#include "../testrma.h"

enum { SIZE = 9000, GUARD = 16 };

static unsigned char *out, *in; /* page-aligned */
static unsigned turn;

static unsigned char *page_aligned(unsigned char *at) {
  return (unsigned char *)(((uintptr_t)at + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE);
}

/* `n` bytes from page + `from` here to page + `at` there, and back to page + `from`. */
static void one(gasnet_node_t p, int putform, int getform, size_t n, size_t at, size_t from) {
  unsigned char *dest = page_aligned(rma_slice(p)) + GUARD + at, *src = out + GUARD + from, *back = in + GUARD + from;
  unsigned char guards[2 * GUARD];
  size_t wrong;
  turn++;
  core_fill(src, n, turn);
  gasnet_memset(p, dest - GUARD, 0x69, GUARD);
  gasnet_memset(p, dest + n, 0x69, GUARD);
  rma_put_done(putform, turn, p, dest, src, n);
  memset(back - GUARD, 0x96, n + 2 * GUARD);
  rma_get_done(getform, turn + 1, back, p, dest, n);
  wrong = core_differs(back, n, turn);
  CHECK(wrong == n, "%s put, %s get, %lu bytes, node %u, remote +%lu, local +%lu: byte %lu", rma_formname[putform],
        rma_formname[getform], (unsigned long)n, (unsigned)p, (unsigned long)at, (unsigned long)from, (unsigned long)wrong);
  gasnet_get(guards, p, dest - GUARD, GUARD);
  gasnet_get(guards + GUARD, p, dest + n, GUARD);
  CHECK(core_notall(guards, sizeof guards, 0x69) == sizeof guards, "%s put of %lu bytes at +%lu: bytes beside changed",
        rma_formname[putform], (unsigned long)n, (unsigned long)at);
  CHECK(core_notall(back - GUARD, GUARD, 0x96) == GUARD && core_notall(back + n, GUARD, 0x96) == GUARD,
        "%s get of %lu bytes at +%lu writes beside", rma_formname[getform], (unsigned long)n, (unsigned long)from);
}

static void item69_bulk(gasnet_node_t p) {
  static const int forms[] = {RMA_BULK, RMA_NB_BULK, RMA_NBI_BULK, RMA_REGION_BULK};
  static const size_t sizes[] = {64, 1, 8, 4096, 333, SIZE};
  size_t at, from;
  unsigned k = me;
  for (at = 0; at <= GASNET_PAGESIZE; at = at ? 2 * at : 1)
    for (from = 0; from <= GASNET_PAGESIZE; from = from ? 2 * from : 1, k++) {
      one(p, forms[k % 4], forms[k / 4 % 4], sizes[k % 6], at, from);
      one(p, forms[(k + 2) % 4], forms[(k / 4 + 1) % 4], sizes[(k + 3) % 6], at, from);
    }
}

static void item70_nonbulk(gasnet_node_t p) {
  static const int forms[] = {RMA_BLOCKING, RMA_NB, RMA_NBI, RMA_REGION};
  static const size_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 9, 11, 13, 17, 31, 63, 101, 1023, 4095, 4097};
  size_t at, from;
  unsigned k = me;
  for (at = 0; at < 16; at++)
    for (from = 0; from < 16; from += 3, k++) one(p, forms[k % 4], forms[k / 4 % 4], sizes[k % 17], at, (from + at) % 16);
}

int main(int argc, char **argv) {
  long iterations, i;
  unsigned char *raw;
  size_t size = SIZE + 3 * (size_t)GASNET_PAGESIZE + 2 * GUARD;
  core_init(&argc, &argv, "testalign");
  iterations = core_number(argc, argv, 1, 1);
  rma_attach(NULL, 0, size);
  test_begin("testalign");
  raw = (unsigned char *)rma_malloc(2 * size + 2 * (size_t)GASNET_PAGESIZE);
  out = page_aligned(raw), in = page_aligned(raw + size);
  for (i = 0; i < iterations; i++) {
    gasnet_node_t next = (me + 1 + (gasnet_node_t)i) % nodes;
    item69_bulk(next);
    item70_nonbulk(next);
    if (nodes > 1) item70_nonbulk(me);
    test_barrier();
  }
  test_end();
  return 0;
}
