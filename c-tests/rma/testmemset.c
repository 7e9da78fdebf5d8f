/* memset in every form: exactly the range, the value as a byte, any size, many in flight: list E, items 73, 74.
 *
 *   testmemset [iterations [MiB]]      MiB: the largest, default 4 */
#include "../testrma.h"

enum { GUARD = 24, IN_FLIGHT = 64, CELL = 300 };
static const int values[] = {0, 1, 0x7F, 0x80, 0xFF, -1, 0x100, 0x1A5, -200, 0x12345678, -2147483647 - 1, 2147483647};
enum { VALUES = sizeof values / sizeof *values };
static const int forms[] = {RMA_BLOCKING, RMA_NB, RMA_NBI, RMA_REGION};

static unsigned char *in;
static size_t largest;
static unsigned turn;

static void one(gasnet_node_t p, int form, size_t n, size_t at, int value) {
  unsigned char *dest = rma_slice(p) + GUARD + at, byte = (unsigned char)value, other = (unsigned char)(byte ^ 0x5A);
  size_t wrong;
  memset(in, other, n + 2 * GUARD);
  gasnet_put_bulk(p, dest - GUARD, in, n + 2 * GUARD);
  rma_memset_done(form, turn++, p, dest, value, n);
  memset(in, (unsigned char)~byte, n + 2 * GUARD);
  gasnet_get_bulk(in, p, dest - GUARD, n + 2 * GUARD);
  wrong = core_notall(in + GUARD, n, byte);
  CHECK(wrong == n, "%s memset of %lu bytes to %d at node %u +%lu: byte %lu is %d", rma_formname[form], (unsigned long)n,
        value, (unsigned)p, (unsigned long)at, (unsigned long)wrong, in[GUARD + wrong]);
  CHECK(core_notall(in, GUARD, other) == GUARD && core_notall(in + GUARD + n, GUARD, other) == GUARD,
        "%s memset of %lu bytes at node %u +%lu writes beside", rma_formname[form], (unsigned long)n, (unsigned)p,
        (unsigned long)at);
}

/* Constant sizes and values, the call as an expression statement with a comma. */
static void constants(gasnet_node_t p) {
  unsigned char *at = rma_slice(p);
  gasnet_handle_t h;
  gasnet_memset(p, at, 0, 64);
  gasnet_memset(p, at + 1, 0x11, 1);
  gasnet_memset_nbi(p, at + 3, 0x22, 2);
  h = gasnet_memset_nb(p, at + 8, 0x33, 8);
  gasnet_wait_syncnb(h), gasnet_wait_syncnbi_puts();
  gasnet_get(in, p, at, 16);
  CHECK(memcmp(in, "\0\x11\0\x22\x22\0\0\0\x33\x33\x33\x33\x33\x33\x33\x33", 16) == 0, "constant memsets at node %u",
        (unsigned)p);
}

/* Many at once, to all nodes; neighbouring cells have different values. */
static void in_flight(int form) {
  gasnet_handle_t h[IN_FLIGHT];
  unsigned char cell[CELL];
  size_t i;
  for (i = 0; i < IN_FLIGHT; i++) {
    gasnet_node_t p = (gasnet_node_t)((me + i) % nodes);
    h[i] = rma_memset(form, p, rma_slice(p) + i * CELL, (int)(i * 7 + turn), CELL - i % 4);
  }
  if (form == RMA_NBI) rma_sync_implicit(RMA_PUTS, (int)(turn & 1));
  else gasnet_wait_syncnb_all(h, IN_FLIGHT);
  for (i = 0; i < IN_FLIGHT; i++) {
    gasnet_node_t p = (gasnet_node_t)((me + i) % nodes);
    gasnet_get(cell, p, rma_slice(p) + i * CELL, CELL);
    CHECK(core_notall(cell, CELL - i % 4, (unsigned char)(i * 7 + turn)) == CELL - i % 4, "%s memset %lu in flight",
          rma_formname[form], (unsigned long)i);
  }
  turn++;
}

int main(int argc, char **argv) {
  long iterations, i;
  size_t k;
  int f;
  core_init(&argc, &argv, "testmemset");
  iterations = core_number(argc, argv, 1, 1);
  largest = (size_t)core_number(argc, argv, 2, 4) << 20;
  rma_attach(NULL, 0, largest + 2 * GUARD + 64 + IN_FLIGHT * CELL);
  test_begin("testmemset");
  in = (unsigned char *)rma_malloc(largest + 2 * GUARD + 64);
  turn = me;
  for (i = 0; i < iterations; i++) {
    gasnet_node_t next = (me + 1 + (gasnet_node_t)i) % nodes;
    for (k = 0; k < nodes; k++) constants((gasnet_node_t)k);
    for (k = 0; k < RMA_SIZES && rma_sizes[k] <= largest; k++)
      for (f = 0; f < 4; f += rma_sizes[k] > 70000 ? 2 : 1) {
        int form = forms[(f + (int)k) % 4];
        one(next, form, rma_sizes[k], turn % 16, values[turn % VALUES]);
        if (nodes > 1 && k % 3 == 0) one(me, form, rma_sizes[k], turn % 16, values[turn % VALUES]);
      }
    for (k = 0; k < VALUES; k++)
      for (f = 0; f < 4; f++) one(next, forms[f], 37 + k, k, values[k]);
    for (f = 1; f < 4; f++) in_flight(forms[f]);
    one(next, forms[turn % 4], largest, 5, values[turn % VALUES]);
    test_barrier();
  }
  test_end();
  return 0;
}
