/* One transfer of more than 2 GiB: list E, item 92.
 *
 *   testgasnethuge [MiB]      default 2049; run with 2 nodes or 1, and GASNET_MAX_SEGSIZE=3G
 *
 * Node 0 puts this many MiB to the last node, which checks every word, and gets them back. Ends with 77 if the
 * segment or the memory is too small. */
#include "../testrma.h"

static int fill_words(unsigned char *at, size_t n, uint64_t salt) {
  size_t i;
  for (i = 0; i + 8 <= n; i += 8) {
    uint64_t v = (uint64_t)i * 0x9E3779B97F4A7C15u ^ salt;
    memcpy(at + i, &v, 8);
  }
  return 0;
}
static size_t words_differ(const unsigned char *at, size_t n, uint64_t salt) {
  size_t i;
  for (i = 0; i + 8 <= n; i += 8) {
    uint64_t v;
    memcpy(&v, at + i, 8);
    if (v != ((uint64_t)i * 0x9E3779B97F4A7C15u ^ salt)) return i;
  }
  return n;
}

int main(int argc, char **argv) {
  size_t n, wrong, guard = GASNET_PAGESIZE;
  gasnet_node_t last;
  unsigned char *local = NULL, *remote;
  core_init(&argc, &argv, "testgasnethuge");
  n = ((size_t)core_number(argc, argv, 1, 2049) << 20) + 8;
#if !defined(GASNET_SEGMENT_EVERYTHING)
  if (n + 2 * guard > gasnet_getMaxGlobalSegmentSize()) gasnet_exit(77);
#endif
  core_attach(NULL, 0, n + 2 * guard);
  test_begin("testgasnethuge");
  last = nodes - 1;
  remote = core_area[last] + 4;
  if (me == 0) {
    local = (unsigned char *)malloc(n);
    if (!local) gasnet_exit(77);
    gasnet_memset(last, remote - 4, 0x5C, 4);
    gasnet_memset(last, remote + n, 0x5C, 4);
    fill_words(local, n, 17);
    gasnet_put_bulk(last, remote, local, n);
  }
  test_barrier();
  if (me == last) {
    wrong = words_differ(remote, n, 17);
    CHECK(wrong == n, "put of %lu bytes: wrong at %lu", (unsigned long)n, (unsigned long)wrong);
    CHECK(core_notall(remote - 4, 4, 0x5C) == 4 && core_notall(remote + n, 4, 0x5C) == 4, "bytes beside changed");
    fill_words(remote, n, 99);
  }
  test_barrier();
  if (me == 0) {
    gasnet_wait_syncnb(gasnet_get_nb_bulk(local, last, remote, n));
    wrong = words_differ(local, n, 99);
    CHECK(wrong == n, "get of %lu bytes: wrong at %lu", (unsigned long)n, (unsigned long)wrong);
    gasnet_memset_nbi(last, remote, 0xA7, n);
    gasnet_wait_syncnbi_puts();
  }
  test_barrier();
  if (me == last) {
    wrong = core_notall(remote, n, 0xA7);
    CHECK(wrong == n, "memset of %lu bytes: wrong at %lu", (unsigned long)n, (unsigned long)wrong);
    CHECK(core_notall(remote - 4, 4, 0x5C) == 4 && core_notall(remote + n, 4, 0x5C) == 4, "memset changed bytes beside");
  }
  test_end();
  return 0;
}
