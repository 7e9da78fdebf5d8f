/* Every transfer of the Extended API, in every form, against memory that is verified: list E, items 65, 66, 67, 70, 72.
 *
 *   testgasnet [iterations [MiB]]      MiB: the largest transfer, default 4
 *
 * Every node works with itself, its neighbour and, for the small sizes, all others at once. Each destination has
 * guard bytes around it, which a get brings back together with the data. */
#include "../testrma.h"

enum { GUARD = 32, MIDDLE = 70000 };

static unsigned char *out, *in; /* local source, local destination with guards */
static size_t largest;
static unsigned turn; /* rotates get forms, ways to sync, alignments */
static unsigned random_state;

static unsigned char guard_byte(void) { return (unsigned char)(0xA0 + me); }

/* Puts `n` bytes at distance `at` of p's slice with `form`, gets them back with another form, compares data and guards. */
static void put_and_get(gasnet_node_t p, int form, size_t n, size_t at, size_t from) {
  unsigned char *dest = rma_slice(p) + GUARD + at, *src = out + from, *back = in + (turn * 7) % 16;
  int getform = (int)(turn % RMA_FORMS);
  size_t wrong;
  unsigned pick = turn / 3;
  turn++;
  core_fill(src, n, turn + me * 1000);
  rma_memset_done((int)(turn % RMA_FORMS), turn, p, dest - GUARD, guard_byte(), n + 2 * GUARD);
  rma_put_done(form, pick, p, dest, src, n);
  memset(back, 0x55, n + 2 * GUARD);
  rma_get_done(getform, turn / 5, back, p, dest - GUARD, n + 2 * GUARD);
  wrong = core_differs(back + GUARD, n, turn + me * 1000);
  CHECK(wrong == n, "%s put of %lu bytes to node %u at +%lu from +%lu, %s get: byte %lu is wrong", rma_formname[form],
        (unsigned long)n, (unsigned)p, (unsigned long)at, (unsigned long)from, rma_formname[getform], (unsigned long)wrong);
  CHECK(core_notall(back, GUARD, guard_byte()) == GUARD && core_notall(back + GUARD + n, GUARD, guard_byte()) == GUARD,
        "%s put of %lu bytes to node %u, or memset, or get: guard bytes changed", rma_formname[form], (unsigned long)n,
        (unsigned)p);
}

/* The converse: data of p, which it did not get from us now, is read with `form` at odd places; nothing beside is
 * written. */
static void get_only(gasnet_node_t p, int form, size_t n, size_t at, size_t to) {
  unsigned char *src = rma_slice(p) + GUARD + at, *dest = in + GUARD + to;
  size_t wrong;
  core_fill(out, n, turn);
  gasnet_put_bulk(p, src, out, n);
  memset(in, 0x77, n + to + 2 * GUARD);
  rma_get_done(form, turn, dest, p, src, n);
  wrong = core_differs(dest, n, turn);
  CHECK(wrong == n, "%s get of %lu bytes from node %u: byte %lu is wrong", rma_formname[form], (unsigned long)n, (unsigned)p,
        (unsigned long)wrong);
  CHECK(core_notall(in, GUARD + to, 0x77) == GUARD + to && core_notall(dest + n, GUARD, 0x77) == GUARD,
        "%s get of %lu bytes from node %u writes beside its destination", rma_formname[form], (unsigned long)n, (unsigned)p);
  turn++;
}

/* Items 65, 66, 70: every size, every form, changing alignments. */
static void item65_forms(gasnet_node_t p) {
  size_t i;
  int form;
  for (i = 0; i < RMA_SIZES && rma_sizes[i] <= largest; i++) {
    size_t n = rma_sizes[i];
    int forms = n > 0 && n <= 8 ? RMA_ALLFORMS : RMA_FORMS;
    int step = n > MIDDLE ? 3 : 1; /* every form comes round, at other sizes */
    for (form = n > MIDDLE ? (int)(i % 3) : 0; form < forms; form += step)
      put_and_get(p, form, n, test_random(&random_state) % 16, test_random(&random_state) % 16);
    for (form = n > MIDDLE ? (int)((i + 1) % 3) : 0; form < RMA_FORMS; form += step)
      get_only(p, form, n, test_random(&random_state) % 16, test_random(&random_state) % 16);
  }
}

/* Powers of two at their natural alignment: what the non-bulk forms promise. */
static void item65_aligned(gasnet_node_t p) {
  size_t n;
  int form;
  for (n = 1; n <= 8192; n *= 2)
    for (form = 0; form < RMA_FORMS; form += 2) put_and_get(p, form, n, 0, 0);
}

/* Sizes that the compiler knows: a header may treat them apart. */
#define CONSTANT(n)                                                                                                  \
  do {                                                                                                               \
    gasnet_handle_t h_;                                                                                              \
    unsigned char *at_ = rma_slice(p) + GUARD;                                                                       \
    core_fill(out, 3 * (n), turn);                                                                                   \
    gasnet_memset(p, at_ - GUARD, guard_byte(), 3 * (n) + 2 * GUARD);                                                \
    gasnet_put(p, at_, out, n);                                                                                      \
    h_ = gasnet_put_nb(p, at_ + (n), out + (n), n);                                                                  \
    gasnet_put_nbi(p, at_ + 2 * (n), out + 2 * (n), n);                                                              \
    gasnet_wait_syncnb(h_);                                                                                          \
    gasnet_wait_syncnbi_puts();                                                                                      \
    memset(in, 0x11, 3 * (n) + 1);                                                                                   \
    gasnet_get(in, p, at_, n);                                                                                       \
    h_ = gasnet_get_nb(in + (n), p, at_ + (n), n);                                                                   \
    gasnet_get_nbi(in + 2 * (n), p, at_ + 2 * (n), n);                                                               \
    gasnet_wait_syncnb(h_);                                                                                          \
    gasnet_wait_syncnbi_gets();                                                                                      \
    CHECK(core_differs(in, 3 * (n), turn) == 3 * (n) && in[3 * (n)] == 0x11, "constant size %d, node %u", (int)(n),  \
          (unsigned)p);                                                                                              \
    gasnet_get(in, p, at_ - GUARD, GUARD);                                                                           \
    gasnet_get(in + GUARD, p, at_ + 3 * (n), GUARD);                                                                 \
    CHECK(core_notall(in, 2 * GUARD, guard_byte()) == 2 * GUARD, "constant size %d: guards, node %u", (int)(n),      \
          (unsigned)p);                                                                                              \
    turn++;                                                                                                          \
  } while (0)
static void item65_constant_sizes(gasnet_node_t p) {
  CONSTANT(1);
  CONSTANT(2);
  CONSTANT(3);
  CONSTANT(4);
  CONSTANT(5);
  CONSTANT(8);
  CONSTANT(12);
  CONSTANT(16);
  CONSTANT(24);
  CONSTANT(64);
  CONSTANT(100);
  CONSTANT(4096);
}

/* Item 65: megabytes, at the far end of the slice, with an odd rest. */
static void item65_large(gasnet_node_t p) {
  static const int forms[] = {RMA_BLOCKING, RMA_BULK, RMA_NB, RMA_NB_BULK, RMA_NBI, RMA_NBI_BULK, RMA_REGION_BULK};
  put_and_get(p, forms[turn % 7], largest, turn % 16, turn / 16 % 16);
  get_only(p, forms[(turn + 3) % 7], largest - 13, turn % 16, 3);
}

/* Alignments 0 ... 15 on both sides, at lengths that end in every place of a word. */
static void alignments(gasnet_node_t p) {
  static const size_t lengths[] = {1, 2, 4, 7, 8, 15, 16, 24, 33, 100, 129};
  size_t at, from, count = sizeof lengths / sizeof *lengths;
  for (at = 0; at < 16; at++)
    for (from = 0; from < 16; from++) put_and_get(p, (int)(turn % RMA_FORMS), lengths[turn % count], at, from);
}

/* Item 72: the source of a non-bulk put is free at return, whatever its size. */
static void item72_overwrite(gasnet_node_t p) {
  static const size_t sizes[] = {1, 8, 64, 100, 512, 4096, 16385, 65537, 262145, 1048577};
  enum { IN_FLIGHT = 8 };
  gasnet_handle_t h[IN_FLIGHT];
  size_t i, k, n, wrong;
  int way;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    n = sizes[i];
    if (n * IN_FLIGHT + GUARD > rma_slicesize) n = (rma_slicesize - GUARD) / IN_FLIGHT - 1;
    for (way = 0; way < 3; way++) { /* nb, nbi, region */
      if (way == 2) gasnet_begin_nbi_accessregion();
      for (k = 0; k < IN_FLIGHT; k++) {
        core_fill(out, n, (unsigned)(turn + k));
        if (way == 0) h[k] = gasnet_put_nb(p, rma_slice(p) + k * n, out, n);
        else gasnet_put_nbi(p, rma_slice(p) + k * n, out, n);
        memset(out, 0xEE, n);
      }
      if (way == 0) gasnet_wait_syncnb_all(h, IN_FLIGHT);
      else if (way == 1) gasnet_wait_syncnbi_puts();
      else gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
      for (k = 0; k < IN_FLIGHT; k++) {
        gasnet_get_bulk(in, p, rma_slice(p) + k * n, n);
        wrong = core_differs(in, n, (unsigned)(turn + k));
        CHECK(wrong == n, "%s put %lu of %lu bytes to node %u, source overwritten: byte %lu", way ? "nbi" : "nb",
              (unsigned long)k, (unsigned long)n, (unsigned)p, (unsigned long)wrong);
      }
      turn += IN_FLIGHT;
    }
  }
}

/* Blocking operations of one thread appear in its program order; overlapping puts leave the last one's bytes. */
static void program_order(gasnet_node_t p) {
  unsigned char *at = rma_slice(p);
  uint64_t v, got;
  unsigned i;
  for (i = 0; i < 100; i++) {
    v = core_word(me + 7, i);
    gasnet_put(p, at, &v, sizeof v);
    got = 0;
    gasnet_get(&got, p, at, sizeof got);
    CHECK(got == v, "round %u, node %u", i, (unsigned)p);
    gasnet_put_val(p, at, i, 1);
    CHECK(gasnet_get_val(p, at, 1) == (i & 255), "round %u, node %u", i, (unsigned)p);
  }
}

int main(int argc, char **argv) {
  long iterations, i;
  gasnet_node_t p;
  core_init(&argc, &argv, "testgasnet");
  iterations = core_number(argc, argv, 1, 1);
  largest = (size_t)core_number(argc, argv, 2, 4) << 20;
  rma_attach(NULL, 0, largest + 4096);
  test_begin("testgasnet");
  out = (unsigned char *)rma_malloc(largest + 4096);
  in = (unsigned char *)rma_malloc(largest + 4096);
  random_state = me + 1;
  for (i = 0; i < iterations; i++) {
    gasnet_node_t next = (me + 1 + (gasnet_node_t)i) % nodes;
    for (p = 0; p < nodes; p++) {
      item65_constant_sizes((me + p) % nodes);
      item65_aligned((me + p) % nodes);
      program_order((me + p) % nodes);
    }
    item65_forms(next);
    if (nodes > 1) item65_forms(me);
    alignments(next);
    item72_overwrite(next);
    item72_overwrite(me);
    item65_large(next);
    item65_large(me);
    test_barrier();
  }
  test_end();
  return 0;
}
