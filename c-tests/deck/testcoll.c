/* The collective calls: barrier, broadcast, gather, scatter, reduce of all types and operations, with all roots.
 *
 * usage: deck-testcoll */
#include "testdeck.h"

#define GUARD 64 /* bytes behind a buffer, which nobody writes */
#define LARGEST ((size_t)300000)

static unsigned char *from, *to; /* LARGEST and a guard for each node */

static const size_t sizes[] = {0, 1, 3, 8, 52, 113, 1000, 8191, 8193, 65536, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Sizes beyond this are left out with many nodes, so that the time stays short. */
static size_t most(void) { return nodes <= 4 ? LARGEST : LARGEST * 4 / (size_t)nodes; }

/* Bytes of `at` from `n` on are still 0xA5. */
static void check_guard(const unsigned char *at, size_t n) {
  size_t i;
  for (i = n; i < n + GUARD && at[i] == 0xA5; i++) {}
  CHECK(i == n + GUARD, "byte %lu behind a buffer of %lu was written", (unsigned long)(i - n), (unsigned long)n);
}

/* ---- barrier ---- */

/* A message that was posted before a barrier can be awaited behind it; nobody is a barrier ahead. */
static void check_barrier(void) {
  deck_mbox_t mine = new_box("barrier", me, 0, 0), next = find_box("barrier", (me + 1) % nodes);
  deck_msg_t msg = new_msg(100, DECK_AUTO);
  int round;
  for (round = 0; round < 300; round++) {
    if (round % 50 == me % 50) be_late(2); /* one is late */
    send_to(next, msg, 20, seed_of(1, me, round));
    EXPECT(0, deck_barrier());
    await_pending(mine, 1); /* not 2: the sender waits at the next barrier */
    receive_from(mine, msg, 20, seed_of(1, (me + nodes - 1) % nodes, round), -1);
    EXPECT(0, deck_barrier());
  }
  EXPECT(0, deck_mbox_destroy(next));
  EXPECT(0, deck_barrier());
  expect_empty(mine);
  EXPECT(0, deck_mbox_destroy(mine));
  EXPECT(0, deck_msg_destroy(msg));
}

/* ---- bytes ---- */

static void check_bcast(int root, size_t n, int k) {
  memset(to, 0xA5, n + GUARD);
  if (me == root) fill(to, n, seed_of(2, root, k));
  EXPECT(0, deck_bcast(to, n, root));
  CHECK(differs(to, n, seed_of(2, root, k)) == n, "%lu bytes of node %d", (unsigned long)n, root);
  check_guard(to, n);
}

static void check_gather(int root, size_t n, int k) {
  const size_t all = me == root ? n * (size_t)nodes : 0; /* what is written here */
  int i;
  memset(to, 0xA5, n * (size_t)nodes + GUARD);
  fill(from, n, seed_of(3 + root, me, k));
  EXPECT(0, deck_gather(from, n, me == root || k % 2 ? to : NULL, root)); /* elsewhere it is not looked at */
  CHECK(differs(from, n, seed_of(3 + root, me, k)) == n, "gather has changed its source");
  memset(from, 0xEE, n);
  for (i = 0; i < nodes && all; i++)
    CHECK(differs(to + n * (size_t)i, n, seed_of(3 + root, i, k)) == n, "%lu bytes of node %d at root %d",
          (unsigned long)n, i, root);
  check_guard(to, all);
}

static void check_scatter(int root, size_t n, int k) {
  int i;
  memset(to, 0xA5, n + GUARD);
  memset(from, 0x77, n * (size_t)nodes);
  if (me == root)
    for (i = 0; i < nodes; i++) fill(from + n * (size_t)i, n, seed_of(40 + root, i, k));
  EXPECT(0, deck_scatter(me == root || k % 2 ? from : NULL, to, n, root));
  memset(from, 0xEE, n * (size_t)nodes);
  CHECK(differs(to, n, seed_of(40 + root, me, k)) == n, "%lu bytes of root %d", (unsigned long)n, root);
  check_guard(to, n);
}

/* ---- reduce ---- */

/* Element i of a node. Sums and products of all nodes fit each type; minima and maxima see signs. */
static int value_of(int node, size_t i, int op, int is_signed) {
  const unsigned r = seed_of(op, node, (int)i) * 2654435761u >> 8;
  switch (op) {
    case DECK_SUM: return is_signed ? (int)(r % 3) - 1 : (int)(r % 2);
    case DECK_PROD: return (size_t)node % 6 == i % 6 && node < 6 ? 1 + (int)(r % 2) : 1;
    case DECK_MIN:
    case DECK_MAX: return is_signed ? (int)(r % 201) - 100 : (int)(r % 201);
    default: return (int)(r % 128);
  }
}

static int combine(int a, int b, int op) {
  switch (op) {
    case DECK_SUM: return a + b;
    case DECK_PROD: return a * b;
    case DECK_MIN: return a < b ? a : b;
    case DECK_MAX: return a > b ? a : b;
    case DECK_AND: return a & b;
    case DECK_OR: return a | b;
    default: return a ^ b;
  }
}

static const struct {
  int type, is_signed, is_float;
  size_t width;
} types[] = {{DECK_BYTE, 0, 0, 1},  {DECK_INT8, 1, 0, 1},   {DECK_UINT8, 0, 0, 1}, {DECK_INT16, 1, 0, 2},
             {DECK_UINT16, 0, 0, 2}, {DECK_INT32, 1, 0, 4},  {DECK_UINT32, 0, 0, 4}, {DECK_INT64, 1, 0, 8},
             {DECK_UINT64, 0, 0, 8}, {DECK_FLOAT, 1, 1, 4}, {DECK_DOUBLE, 1, 1, 8}};

/* A factor puts values of the wider types beyond the narrower ones. Products have none. */
static int64_t factor_of(size_t width, int op) {
  return op == DECK_PROD || width == 1 ? 1 : width == 2 ? 100 : width == 4 ? 10007 : INT64_C(1000000007);
}

static void store(unsigned char *at, size_t i, int t, int op, int value) {
  const int64_t whole = value * (types[t].is_float ? 1 : factor_of(types[t].width, op));
  switch (types[t].type) {
    case DECK_INT16: ((int16_t *)(void *)at)[i] = (int16_t)whole; break;
    case DECK_UINT16: ((uint16_t *)(void *)at)[i] = (uint16_t)whole; break;
    case DECK_INT32: ((int32_t *)(void *)at)[i] = (int32_t)whole; break;
    case DECK_UINT32: ((uint32_t *)(void *)at)[i] = (uint32_t)whole; break;
    case DECK_INT64: ((int64_t *)(void *)at)[i] = whole; break;
    case DECK_UINT64: ((uint64_t *)(void *)at)[i] = (uint64_t)whole; break;
    case DECK_FLOAT: ((float *)(void *)at)[i] = (float)value / 4; break; /* exact */
    case DECK_DOUBLE: ((double *)(void *)at)[i] = (double)value / 8; break;
    default: at[i] = (unsigned char)whole; break;
  }
}

/* Bitwise operations go over patterns of all bits. */
static void store_bits(unsigned char *at, size_t bytes, int node, int op) { fill(at, bytes, seed_of(op, node, 77)); }

static void check_reduce(int t, int op, size_t count, int root) {
  const size_t width = types[t].width, bytes = count * width;
  unsigned char *expected = (unsigned char *)malloc(bytes + 8), *more = (unsigned char *)malloc(bytes + 8);
  const int bits = op >= DECK_AND;
  size_t i, b;
  int n;
  if (!expected || !more) exit(98);
  if (bits) {
    store_bits(from, bytes, me, op);
    store_bits(expected, bytes, 0, op);
    for (n = 1; n < nodes; n++) {
      store_bits(more, bytes, n, op);
      for (b = 0; b < bytes; b++) expected[b] = (unsigned char)combine(expected[b], more[b], op);
    }
  } else {
    for (i = 0; i < count; i++) {
      int value = value_of(0, i, op, types[t].is_signed);
      for (n = 1; n < nodes; n++) value = combine(value, value_of(n, i, op, types[t].is_signed), op);
      if (op == DECK_PROD && types[t].is_float) { /* quotients of powers of two: each node's factor counts */
        double product = value;
        for (n = 0; n < nodes; n++) product /= width == 4 ? 4 : 8;
        if (width == 4)
          ((float *)(void *)expected)[i] = (float)product;
        else
          ((double *)(void *)expected)[i] = product;
      } else {
        store(expected, i, t, op, value);
      }
      store(from, i, t, op, value_of(me, i, op, types[t].is_signed));
    }
  }
  memset(to, 0xA5, bytes + GUARD);
  EXPECT(0, deck_reduce(from, me == root || count % 2 ? to : NULL, types[t].type, count, op, root));
  if (me == root) CHECK(memcmp(to, expected, bytes) == 0, "type %d, operation %d, %lu elements, root %d", types[t].type, op,
                        (unsigned long)count, root);
  check_guard(to, me == root ? bytes : 0);
  free(expected);
  free(more);
}

static void check_all_reductions(void) {
  static const size_t counts[] = {1, 2, 7, 63, 1000};
  int t, op, root, k;
  for (t = 0; t < (int)(sizeof types / sizeof *types); t++)
    for (op = DECK_SUM; op <= DECK_XOR; op++) {
      if (types[t].is_float && op >= DECK_AND) { /* refused by every node, before anything is sent */
        EXPECT(DECK_EARG, deck_reduce(from, to, types[t].type, 1, op, 0));
        continue;
      }
      for (root = 0; root < nodes && root < 8; root++) check_reduce(t, op, counts[(t + op + root) % 5], root);
      check_reduce(t, op, 0, nodes - 1);
    }
  for (k = 0; k < 2; k++) { /* long ones */
    check_reduce(5, DECK_SUM, 20000, k ? nodes - 1 : 0);
    check_reduce(10, DECK_MAX, 20000, k ? nodes - 1 : 0);
  }
}

static void check_arguments(void) {
  int32_t a[4] = {1, 2, 3, 4}, b[4] = {0};
  EXPECT(DECK_EARG, deck_bcast(a, sizeof a, nodes));
  EXPECT(DECK_EARG, deck_bcast(a, sizeof a, -1));
  EXPECT(DECK_EARG, deck_bcast(NULL, sizeof a, 0));
  EXPECT(DECK_EARG, deck_gather(a, 4, b, nodes));
  EXPECT(DECK_EARG, deck_gather(NULL, 4, b, 0));
  EXPECT(DECK_EARG, deck_scatter(a, b, 4, -1));
  EXPECT(DECK_EARG, deck_scatter(a, NULL, 4, 0));
  EXPECT(DECK_EARG, deck_reduce(a, b, DECK_INT32, 4, DECK_SUM, nodes));
  EXPECT(DECK_EARG, deck_reduce(a, b, DECK_INT32, 4, 0, 0));
  EXPECT(DECK_EARG, deck_reduce(a, b, DECK_INT32, 4, DECK_XOR + 1, 0));
  EXPECT(DECK_EARG, deck_reduce(a, b, 0, 4, DECK_SUM, 0));
  EXPECT(DECK_EARG, deck_reduce(a, b, DECK_DOUBLE + 1, 4, DECK_SUM, 0));
  EXPECT(DECK_EARG, deck_reduce(NULL, b, DECK_INT32, 4, DECK_SUM, 0));
  CHECK(b[0] == 0 && b[1] == 0 && b[2] == 0 && b[3] == 0, "a refused call wrote");
}

int main(int argc, char **argv) {
  int root, k;
  test_begin(&argc, &argv, TEST_NAME("deck-testcoll"));
  from = (unsigned char *)malloc(LARGEST * (size_t)nodes + GUARD);
  to = (unsigned char *)malloc(LARGEST * (size_t)nodes + GUARD);
  if (!from || !to) exit(98);
  check_arguments();
  check_barrier();
  for (root = 0; root < nodes; root++)
    for (k = 0; k < SIZES; k++) {
      if (sizes[k] > most()) continue;
      check_bcast(root, sizes[k], k);
      check_gather(root, sizes[k], k);
      check_scatter(root, sizes[k], k);
    }
  check_all_reductions();
  free(from);
  free(to);
  return test_end();
}
