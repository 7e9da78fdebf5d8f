/* Each node puts many small blocks to the next one, and to no other: what the traffic matrix of a run must show (ci/matrix).
 *
 *   testneighbour [puts [bytes]]      default 1000 of 64 bytes
 *   testneighbour [puts [bytes]] die  node 1 kills itself after its puts
 *   testneighbour [puts [bytes]] all  then gets, values and memsets too, in all forms (64 bytes or more) */
#include "../testrma.h"
#include <signal.h>
#include <string.h>

/* With the next node: 6 gets of 48 bytes, 5 of values of 4, 4 puts of values of 8, 6 memsets of 40. */
static void all_kinds(gasnet_node_t next) {
  unsigned char *there = (unsigned char *)rma_slice(next), *here = (unsigned char *)rma_malloc(48);
  int i;
  for (i = 0; i < 2; i++) {
    gasnet_memset(next, there, 0x5a, 40);
    gasnet_wait_syncnb(gasnet_memset_nb(next, there, 0x5a, 40));
    gasnet_memset_nbi(next, there, 0x5a, 40);
    gasnet_wait_syncnbi_all();
    gasnet_get(here, next, there, 48);
    gasnet_wait_syncnb(gasnet_get_nb(here, next, there, 48));
    gasnet_get_nbi(here, next, there, 48);
    gasnet_wait_syncnbi_all();
    CHECK(here[0] == 0x5a && here[39] == 0x5a, "what was set at node %u", (unsigned)next);
    gasnet_put_val(next, there + 48, 7, 8);
    gasnet_wait_syncnb(gasnet_put_nb_val(next, there + 48, 7, 8));
    CHECK(gasnet_get_val(next, there, 4) == 0x5a5a5a5a, "a value of node %u", (unsigned)next);
    CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(next, there, 4)) == 0x5a5a5a5a, "a value of node %u", (unsigned)next);
  }
  CHECK(gasnet_get_val(next, there, 4) == 0x5a5a5a5a, "a value of node %u", (unsigned)next);
}

int main(int argc, char **argv) {
  long puts, i;
  size_t bytes;
  gasnet_node_t next, last;
  unsigned char *block;
  core_init(&argc, &argv, "testneighbour");
  puts = core_number(argc, argv, 1, 1000);
  bytes = (size_t)core_number(argc, argv, 2, 64);
  rma_attach(NULL, 0, bytes);
  test_begin("testneighbour");
  next = (gasnet_node_t)((me + 1) % nodes);
  last = (gasnet_node_t)((me + nodes - 1) % nodes);
  block = (unsigned char *)rma_malloc(bytes);
  for (i = 0; i < puts; i++) {
    test_fill(block, bytes, (unsigned)(me * 1000003u + (unsigned)i));
    gasnet_put(next, rma_slice(next), block, bytes);
  }
  if (argc > 3 && strcmp(argv[3], "die") == 0 && me == 1) raise(SIGKILL);
  test_barrier();
  CHECK(test_differs(rma_sliceof(me, last), bytes, (unsigned)(last * 1000003u + (unsigned)(puts - 1))) == bytes,
        "the last block of node %u", (unsigned)last);
  if (argc > 3 && strcmp(argv[3], "all") == 0) {
    test_barrier();
    all_kinds(next);
  }
  test_end();
  return 0;
}
