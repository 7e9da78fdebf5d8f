/* A client that defines gasnet_max_segsize: list A, item 10 (contract: core.md §8, §13).
 *
 *   testattach_max [BYTES]     BYTES: the maximum to expect, default what this client asks for, in whole pages
 *
 * With GASNET_MAX_SEGSIZE in the environment the environment wins: give BYTES then. */
#include "../test.h"

#include <stdint.h>

#define ASKED (UINT64_C(8) << 20)

uint64_t gasnet_max_segsize = ASKED + 100; /* no page multiple: rounded down */

enum { H_DONE = 200 };

static volatile int arrived;
static void done(gasnet_token_t token, void *buf, size_t n) {
  (void)token;
  CHECK(n == 8 && memcmp(buf, "12345678", 8) == 0, "%d bytes", (int)n);
  arrived++;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_DONE, done}};
  char text[] = "12345678";
  uintptr_t expected = ASKED, size = GASNET_PAGESIZE;
  gasnet_seginfo_t *seg;
  gasnet_node_t next;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  if (argc > 1) expected = strtoul(argv[1], NULL, 0);
  (void)expected;
#ifndef GASNET_SEGMENT_EVERYTHING
  size = gasnet_getMaxLocalSegmentSize();
  CHECK(size == expected, "maximum %lu, expected %lu", (unsigned long)size, (unsigned long)expected);
  CHECK(gasnet_getMaxGlobalSegmentSize() == expected, "global %lu", (unsigned long)gasnet_getMaxGlobalSegmentSize());
#endif
  GASNET_SAFE(gasnet_attach(table, 1, size, 0));
  test_begin("testattach_max");
  seg = malloc(gasnet_nodes() * sizeof *seg);
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)gasnet_nodes()));
  next = (gasnet_mynode() + 1) % gasnet_nodes();
  if (seg[next].addr) {
    CHECK(seg[next].size == size, "node %d has %lu bytes", (int)next, (unsigned long)seg[next].size);
    GASNET_SAFE(gasnet_AMRequestLong0(next, H_DONE, text, 8, (char *)seg[next].addr + seg[next].size - 8));
    GASNET_BLOCKUNTIL(arrived == 1);
  }
  free(seg);
  test_end();
  return 0;
}
