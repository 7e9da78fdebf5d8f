/* The number of operations that may be outstanding: list E, items 83, 84. Every node at once starts 1 … 65 534
 * explicit operations and half as many value gets before any sync, syncs them in odd orders, then 100 000 and more
 * implicit ones before one sync.
 *
 *   testqueue [depth [iterations [blocks]]]      depth: the largest, default 65534; blocks: of 20 000 operations each, in which
 *                                                memory must not grow, default 5 (500 for 10 million) */
#include "../testrma.h"

enum { DEEPEST = 65534, STEP = 16 }; /* operation i uses word i of the slice */

static gasnet_handle_t *handles;
static gasnet_valget_handle_t *values;
static uint64_t *in, *out;
static unsigned turn;

static gasnet_node_t node_of(size_t i) { return (gasnet_node_t)((i + me + i / nodes) % nodes); }
static unsigned char *word_of(size_t i) { return rma_slice(node_of(i)) + 8 * i; }
static uint64_t number(size_t i) { return core_word(me * 17 + turn, i); }

/* Lays this turn's numbers into all slices, `n` of them, with implicit puts. */
static void lay_out(size_t n) {
  size_t i;
  turn++;
  for (i = 0; i < n; i++) {
    out[i] = number(i);
    gasnet_put_nbi_bulk(node_of(i), word_of(i), &out[i], 8);
  }
  gasnet_wait_syncnbi_puts();
}

static void check_words(const char *what, size_t n, uint64_t salt) {
  size_t i, wrong = 0;
  for (i = 0; i < n; i++) wrong += in[i] != (number(i) ^ salt);
  CHECK(wrong == 0, "%s: %lu of %lu words are wrong", what, (unsigned long)wrong, (unsigned long)n);
}

static void get_all(size_t n) {
  size_t i;
  memset(in, 0, n * 8);
  for (i = 0; i < n; i++) gasnet_get_nbi(&in[i], node_of(i), word_of(i), 8);
  gasnet_wait_syncnbi_gets();
}

/* Syncs `n` handles: backwards, from both ends, with a stride, by pieces of arrays, all at once. */
static void sync_all(size_t n, int order) {
  size_t i, k, stride = 97;
  switch (order) {
    case 0: for (i = n; i-- > 0;) gasnet_wait_syncnb(handles[i]); break;
    case 1: for (i = 0, k = n; i < k;) {
        while (!rma_isdone(gasnet_try_syncnb(handles[i]))) continue;
        if (++i < k) gasnet_wait_syncnb(handles[--k]);
      }
      break;
    case 2: for (k = 0; k < stride; k++)
        for (i = k; i < n; i += stride) gasnet_wait_syncnb(handles[i]);
      break;
    case 3: for (i = 0; i < n; i += k) {
        k = n - i < 1000 ? n - i : 1000;
        rma_sync_array(handles + i, k, i / 1000 % 2 ? RMA_TRY_ALL : RMA_WAIT_ALL);
      }
      break;
    default: gasnet_wait_syncnb_all(handles, n);
  }
}

static void item83_explicit(size_t depth, int order) {
  size_t i, half = depth / 2, wrong = 0;
  lay_out(depth);
  memset(in, 0, depth * 8);
  for (i = 0; i < depth; i++) {
    handles[i] = gasnet_get_nb(&in[i], node_of(i), word_of(i), 8);
    if (i % 2) values[i / 2] = gasnet_get_nb_val(node_of(i), word_of(i), 8);
  }
  if (order % 2)
    for (i = 0; i < half; i++) wrong += gasnet_wait_syncnb_valget(values[i]) != number(2 * i + 1);
  sync_all(depth, order);
  if (order % 2 == 0)
    for (i = half; i-- > 0;) wrong += gasnet_wait_syncnb_valget(values[i]) != number(2 * i + 1);
  CHECK(wrong == 0, "%lu of %lu value gets are wrong", (unsigned long)wrong, (unsigned long)half);
  check_words("explicit gets", depth, 0);
  for (i = 0; i < depth; i++) { /* the same with puts of all kinds */
    uint64_t v = number(i) ^ 0xF0F0F0F0u;
    out[i] = v;
    if (i % 3 == 0) handles[i] = gasnet_put_nb(node_of(i), word_of(i), &v, 8);
    else if (i % 3 == 1) handles[i] = gasnet_put_nb_bulk(node_of(i), word_of(i), &out[i], 8);
    else handles[i] = gasnet_put_nb_val(node_of(i), word_of(i), v, 8);
  }
  sync_all(depth, (order + 1) % 5);
  get_all(depth);
  check_words("explicit puts", depth, 0xF0F0F0F0u);
}

/* More implicit operations than there could be handles: every word is put or got several times before the only sync. */
static void item84_implicit(size_t depth, size_t count) {
  size_t i, k;
  lay_out(depth);
  memset(in, 0, depth * 8);
  for (i = 0; i < count; i++) {
    k = i % depth;
    if (k % 2) {
      uint64_t v = number(k) ^ 0x5555u;
      gasnet_put_nbi(node_of(k), word_of(k), &v, 8);
    } else {
      gasnet_get_nbi(&in[k], node_of(k), word_of(k), 8);
    }
  }
  if (turn % 2) {
    gasnet_wait_syncnbi_gets();
    for (i = k = 0; i < depth && i < count; i += 2) k += in[i] != number(i);
    CHECK(k == 0, "%lu implicit gets are wrong", (unsigned long)k);
    while (!rma_isdone(gasnet_try_syncnbi_puts())) continue;
  } else {
    gasnet_wait_syncnbi_all();
  }
  get_all(depth);
  for (i = k = 0; i < depth && i < count; i++) k += in[i] != (number(i) ^ (i % 2 ? 0x5555u : 0));
  CHECK(k == 0, "after %lu implicit operations %lu words are wrong", (unsigned long)count, (unsigned long)k);
}

/* Operations in flight take memory; earlier ones do not. */
static void no_growth(size_t depth, long blocks) {
  long block, first = 0, now = 0;
  size_t i;
  if (depth > 20000) depth = 20000;
  lay_out(depth);
  for (block = 0; block < blocks; block++) {
    for (i = 0; i < depth; i++)
      handles[i] = i % 2 ? gasnet_get_nb(&in[i], node_of(i), word_of(i), 8)
                         : gasnet_put_nb(node_of(i), word_of(i), &out[i], 8);
    sync_all(depth, (int)(block % 5));
    for (i = 0; i < depth; i++) (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(node_of(i), word_of(i), 8));
    now = test_resident_kib();
    if (block == 0) first = now;
  }
  CHECK(now - first < 1024, "%ld KiB more after %ld blocks of %lu operations", now - first, blocks, (unsigned long)depth);
}

int main(int argc, char **argv) {
  size_t deepest, depth;
  long iterations, i, blocks;
  int order = 0;
  core_init(&argc, &argv, "testqueue");
  deepest = (size_t)core_number(argc, argv, 1, DEEPEST);
  iterations = core_number(argc, argv, 2, 1);
  blocks = core_number(argc, argv, 3, 5);
  rma_attach(NULL, 0, deepest * 8);
  test_begin("testqueue");
  handles = (gasnet_handle_t *)rma_malloc(deepest * sizeof *handles);
  values = (gasnet_valget_handle_t *)rma_malloc(deepest * sizeof *values);
  in = (uint64_t *)rma_malloc(deepest * 8);
  out = (uint64_t *)rma_malloc(deepest * 8);
  for (i = 0; i < iterations; i++) {
    for (depth = 1; depth < deepest; depth *= STEP) item83_explicit(depth, order++ % 5);
    item83_explicit(deepest, (int)((i + 4) % 5));
    test_barrier();
    item84_implicit(deepest, deepest + deepest / 2 + 2000);
    test_barrier();
  }
  no_growth(deepest, blocks);
  test_end();
  return 0;
}
