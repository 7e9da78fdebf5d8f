/* Register values: list E, items 76, 77, 78.
 *
 *   testval [iterations] */
#include "../testrma.h"

enum { AREA = 4096, HANDLES = 512, WORD = SIZEOF_GASNET_REGISTER_VALUE_T };

static unsigned turn;

static gasnet_register_value_t low(gasnet_register_value_t v, size_t n) {
  return n == WORD ? v : v & (((gasnet_register_value_t)1 << (8 * n)) - 1);
}

static gasnet_register_value_t random_value(void) { return (gasnet_register_value_t)core_word(me + 3, turn++); }

/* The `n` bytes at `at` as an integer. */
static gasnet_register_value_t as_integer(const unsigned char *at, size_t n) { return low(rma_value(at, n), n); }

/* Item 76: exactly `n` bytes are written, from the low end of a value whose high end is garbage. */
static void item76_put(gasnet_node_t p, int form, size_t n, size_t at, gasnet_register_value_t v) {
  unsigned char around[32];
  unsigned char *dest = rma_slice(p) + 8 + at;
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  gasnet_memset(p, dest - 8, 0x3C, 8 + WORD + 8);
  switch (form) {
    case RMA_VAL: gasnet_put_val(p, dest, v, n); break;
    case RMA_NB_VAL: h = gasnet_put_nb_val(p, dest, v, n); break;
    case RMA_NBI_VAL: gasnet_put_nbi_val(p, dest, v, n); break;
    default:
      gasnet_begin_nbi_accessregion();
      gasnet_put_nbi_val(p, dest, v, n);
      h = gasnet_end_nbi_accessregion();
  }
  rma_finish(form, h, RMA_PUTS, turn);
  gasnet_get(around, p, dest - 8, 8 + WORD + 8);
  CHECK(as_integer(around + 8, n) == low(v, n), "%s of %lu bytes to node %u at +%lu: %llx became %llx", rma_formname[form],
        (unsigned long)n, (unsigned)p, (unsigned long)at, (unsigned long long)v, (unsigned long long)as_integer(around + 8, n));
  CHECK(core_notall(around, 8, 0x3C) == 8 && core_notall(around + 8 + n, 8 + WORD - n, 0x3C) == 8 + WORD - n,
        "%s of %lu bytes to node %u at +%lu writes beside", rma_formname[form], (unsigned long)n, (unsigned)p,
        (unsigned long)at);
}

/* Item 77: `n` bytes of memory full of ones and patterns come back zero-extended. */
static void item77_get(gasnet_node_t p, size_t n, size_t at) {
  unsigned char bytes[3 * WORD];
  unsigned char *src = rma_slice(p) + 64;
  gasnet_register_value_t v, expected;
  int kind;
  for (kind = 0; kind < 3; kind++) {
    if (kind == 0) memset(bytes, 0xFF, sizeof bytes);
    else if (kind == 1) memset(bytes, 0x80, sizeof bytes);
    else core_fill(bytes, sizeof bytes, turn);
    gasnet_put(p, src, bytes, sizeof bytes);
    expected = as_integer(bytes + at, n);
    v = gasnet_get_val(p, src + at, n);
    CHECK(v == expected, "get_val of %lu bytes from node %u at +%lu: %llx, not %llx", (unsigned long)n, (unsigned)p,
          (unsigned long)at, (unsigned long long)v, (unsigned long long)expected);
    v = gasnet_wait_syncnb_valget(gasnet_get_nb_val(p, src + at, n));
    CHECK(v == expected, "get_nb_val of %lu bytes from node %u at +%lu: %llx, not %llx", (unsigned long)n, (unsigned)p,
          (unsigned long)at, (unsigned long long)v, (unsigned long long)expected);
  }
}

/* Sizes that the compiler knows; values in expressions, pointers as values, arguments evaluated once. */
#define CONSTANT(n)                                                                                                  \
  do {                                                                                                               \
    v = random_value();                                                                                              \
    gasnet_put_val(p, at, v, n);                                                                                     \
    CHECK(gasnet_get_val(p, at, n) == low(v, n), "constant size %d", (int)(n));                                      \
    gasnet_wait_syncnb(gasnet_put_nb_val(p, at, ~v, n));                                                             \
    CHECK(gasnet_get_val(p, at, n) == low(~v, n), "constant size %d, nb", (int)(n));                                 \
    gasnet_put_nbi_val(p, at, v, n);                                                                                 \
    gasnet_wait_syncnbi_puts();                                                                                      \
    CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(p, at, n)) == low(v, n), "constant size %d, nbi", (int)(n));   \
  } while (0)
static void expressions(gasnet_node_t p) {
  unsigned char *at = rma_slice(p) + 128;
  gasnet_register_value_t v;
  int a = 0, b = 0, c = 0, d = 0;
  CONSTANT(1);
  CONSTANT(2);
  CONSTANT(3);
  CONSTANT(4);
#if SIZEOF_GASNET_REGISTER_VALUE_T == 8
  CONSTANT(5);
  CONSTANT(6);
  CONSTANT(7);
  CONSTANT(8);
#endif
  gasnet_put_val(p, at, (gasnet_register_value_t)(uintptr_t)at, sizeof at);
  CHECK((unsigned char *)(uintptr_t)gasnet_get_val(p, at, sizeof at) == at, "a pointer as a value");
  gasnet_put_val((a++, p), (b++, at), (c++, 7), (d++, sizeof(int)));
  CHECK(a == 1 && b == 1 && c == 1 && d == 1, "gasnet_put_val evaluates its arguments %d, %d, %d, %d times", a, b, c, d);
  CHECK(gasnet_get_val(p, at, sizeof(int)) + gasnet_get_val(p, at, sizeof(int)) * 2 == 21, "values in an expression");
  gasnet_put_val(p, at, (gasnet_register_value_t)-1, 4);
  CHECK((int32_t)gasnet_get_val(p, at, 4) == -1 && gasnet_get_val(p, at, 4) == 0xffffffffu, "-1 as 4 bytes");
}

/* Item 78: many at once, waited for in reverse, in random order, with every other operation between. */
static void item78_array(int order) {
  static gasnet_valget_handle_t h[HANDLES];
  static size_t index[HANDLES];
  unsigned char pattern[HANDLES + WORD];
  gasnet_node_t p;
  unsigned state = turn + 77;
  size_t i;
  turn++;
  for (p = 0; p < nodes; p++) {
    core_fill(pattern, sizeof pattern, turn + p);
    gasnet_put_bulk(p, rma_slice(p) + 256, pattern, sizeof pattern);
  }
  for (i = 0; i < HANDLES; i++) {
    h[i] = gasnet_get_nb_val((gasnet_node_t)(i % nodes), rma_slice((gasnet_node_t)(i % nodes)) + 256 + i, i % WORD + 1);
    index[i] = order == 1 ? HANDLES - 1 - i : i;
  }
  if (order == 2)
    for (i = HANDLES; i > 1; i--) {
      size_t k = test_random(&state) % i, t = index[k];
      index[k] = index[i - 1], index[i - 1] = t;
    }
  gasnet_wait_syncnbi_all(); /* has nothing to do with them */
  for (i = 0; i < HANDLES; i++) {
    size_t k = index[i], n = k % WORD + 1;
    gasnet_register_value_t v = gasnet_wait_syncnb_valget(h[k]);
    core_fill(pattern, sizeof pattern, turn + (unsigned)(k % nodes));
    CHECK(v == as_integer(pattern + k, n), "value get %lu of %d in order %d: %llx", (unsigned long)k, (int)HANDLES, order,
          (unsigned long long)v);
    if (i % 64 == 0) gasnet_wait_syncnb(gasnet_put_nb_val(me, rma_slice(me), i, 4));
  }
}

int main(int argc, char **argv) {
  long iterations, i;
  gasnet_node_t p;
  size_t n, at;
  int form;
  core_init(&argc, &argv, "testval");
  iterations = core_number(argc, argv, 1, 1);
  rma_attach(NULL, 0, AREA);
  test_begin("testval");
  for (i = 0; i < iterations; i++) {
    for (p = 0; p < nodes; p++) {
      gasnet_node_t to = (me + p) % nodes;
      for (n = 1; n <= WORD; n++)
        for (at = p % 2; at < WORD; at += 2) { /* all alignments over two targets */
          for (form = RMA_VAL; form < RMA_ALLFORMS; form++) item76_put(to, form, n, at, random_value());
          item76_put(to, RMA_VAL + (int)(turn % 4), n, at, ~(gasnet_register_value_t)0);
          item77_get(to, n, at);
        }
      expressions(to);
    }
    for (form = 0; form < 3; form++) item78_array(form);
    test_barrier();
  }
  test_end();
  return 0;
}
