/* Memory of operations in flight: blocks of explicit and implicit puts and gets, all started before any of the block is
 * synced. The first block of each kind may take any amount of memory; later blocks must not need more.
 *
 *   testflight [blocks [size]]      default 4 blocks of 100 000 operations of each kind */
#include "../testrma.h"

enum { WORDS = 4096, ALLOWED_KIB = 2048 }; /* of growth: buffers of stdio, stacks, page tables */

static gasnet_handle_t *handles;
static gasnet_valget_handle_t *values;
static uint64_t *in;

static gasnet_node_t peer_of(size_t i) { return (gasnet_node_t)((me + i) % nodes); }
static unsigned char *word_of(size_t i) { return rma_slice(peer_of(i)) + i / nodes % WORDS * 8; }
static uint64_t number(size_t i) { return core_word(me + 5, i / nodes % WORDS * nodes + i % nodes); }

static size_t wrong_words(size_t size) {
  size_t i, wrong = 0;
  for (i = 0; i < size; i++) wrong += in[i] != number(i);
  return wrong;
}

static size_t explicit_block(size_t size) {
  size_t i;
  for (i = 0; i < size; i++) {
    const uint64_t v = number(i);
    handles[i] = i % 2 ? gasnet_put_nb_val(peer_of(i), word_of(i), v, 8) : gasnet_put_nb(peer_of(i), word_of(i), (void *)&v, 8);
  }
  gasnet_wait_syncnb_all(handles, size);
  memset(in, 0, size * sizeof *in);
  for (i = 0; i < size; i++) handles[i] = gasnet_get_nb_bulk(&in[i], peer_of(i), word_of(i), 8);
  while (gasnet_try_syncnb_all(handles, size) != GASNET_OK) continue;
  return wrong_words(size);
}

static size_t value_block(size_t size) {
  size_t i;
  for (i = 0; i < size; i++) values[i] = gasnet_get_nb_val(peer_of(i), word_of(i), 8);
  for (i = size; i-- > 0;) in[i] = gasnet_wait_syncnb_valget(values[i]);
  return wrong_words(size);
}

static size_t implicit_block(size_t size) {
  size_t i;
  memset(in, 0, size * sizeof *in);
  for (i = 0; i < size; i++) gasnet_put_nbi_val(peer_of(i), word_of(i), number(i), 8);
  gasnet_wait_syncnbi_puts();
  for (i = 0; i < size; i++) gasnet_get_nbi(&in[i], peer_of(i), word_of(i), 8);
  gasnet_wait_syncnbi_gets();
  return wrong_words(size);
}

static size_t region_block(size_t size) {
  size_t i, k;
  memset(in, 0, size * sizeof *in);
  for (i = k = 0; i < size; k++) {
    gasnet_begin_nbi_accessregion();
    do gasnet_get_nbi_bulk(&in[i], peer_of(i), word_of(i), 8); while (++i < size && i % 100);
    handles[k] = gasnet_end_nbi_accessregion();
  }
  gasnet_wait_syncnb_all(handles, k);
  return wrong_words(size);
}

static void repeat(const char *what, size_t (*block)(size_t), long blocks, size_t size) {
  long first = 0, grown, i;
  size_t wrong = 0;
  for (i = 0; i < blocks; i++) {
    wrong += block(size);
    test_barrier();
    if (i == 0) first = test_resident_kib();
  }
  grown = test_resident_kib() - first;
  CHECK(wrong == 0, "%s: %lu of %lu words are wrong", what, (unsigned long)wrong, (unsigned long)size * (unsigned long)blocks);
  CHECK(grown <= ALLOWED_KIB, "%s: %ld KiB more after %ld blocks of %lu than after the first", what, grown, blocks,
        (unsigned long)size);
}

int main(int argc, char **argv) {
  long blocks;
  size_t size;
  core_init(&argc, &argv, "testflight");
  blocks = core_number(argc, argv, 1, 4);
  size = (size_t)core_number(argc, argv, 2, 100000);
  rma_attach(NULL, 0, WORDS * 8);
  test_begin("testflight");
  handles = (gasnet_handle_t *)rma_malloc(size * sizeof *handles);
  values = (gasnet_valget_handle_t *)rma_malloc(size * sizeof *values);
  in = (uint64_t *)rma_malloc(size * sizeof *in);
  memset(values, 0, size * sizeof *values);
  repeat("explicit", explicit_block, blocks, size);
  repeat("values", value_block, blocks, size);
  repeat("implicit", implicit_block, blocks, size);
  repeat("regions", region_block, blocks, size);
  test_end();
  return 0;
}
