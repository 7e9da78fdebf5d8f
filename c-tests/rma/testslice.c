/* Thousands of random slices of a buffer, put and got and compared with a shadow copy; bytes outside the slices never change:
 * list E, item 71.
 *
 *   testslice [slices [bytes]]      default 1000 slices of a buffer of 65 536 bytes on every node in turn */
#include "../testrma.h"

int main(int argc, char **argv) {
  long slices, i;
  size_t bytes, at, n, wrong;
  unsigned state;
  unsigned char **shadow, *whole, *part;
  gasnet_node_t p;
  core_init(&argc, &argv, "testslice");
  slices = core_number(argc, argv, 1, 1000);
  bytes = (size_t)core_number(argc, argv, 2, 65536);
  rma_attach(NULL, 0, bytes);
  test_begin("testslice");
  state = me * 2654435761u + 17;
  shadow = (unsigned char **)rma_malloc(nodes * sizeof *shadow);
  whole = (unsigned char *)rma_malloc(bytes);
  part = (unsigned char *)rma_malloc(bytes + 16);
  for (p = 0; p < nodes; p++) {
    shadow[p] = (unsigned char *)rma_malloc(bytes);
    core_fill(shadow[p], bytes, me + p);
    gasnet_put_bulk(p, rma_slice(p), shadow[p], bytes);
  }
  for (i = 0; i < slices; i++) {
    unsigned r = test_random(&state), putform = r % RMA_FORMS, getform = r / 8 % RMA_FORMS;
    unsigned char *local = part + r / 64 % 16;
    p = (gasnet_node_t)(r / 1024 % nodes);
    at = test_random(&state) % bytes;
    n = test_random(&state) % (i % 16 ? 300 : bytes) + 1; /* most are short, some are anything */
    if (n > bytes - at) n = bytes - at;
    core_fill(local, n, r);
    memcpy(shadow[p] + at, local, n);
    rma_put_done((int)putform, r / 3, p, rma_slice(p) + at, local, n);
    at = test_random(&state) % bytes; /* another slice */
    n = test_random(&state) % (i % 16 ? 300 : bytes) + 1;
    if (n > bytes - at) n = bytes - at;
    memset(local, 0, n);
    rma_get_done((int)getform, r / 5, local, p, rma_slice(p) + at, n);
    CHECK(memcmp(local, shadow[p] + at, n) == 0, "slice %ld: %s get of %lu bytes at %lu of node %u", i,
          rma_formname[getform], (unsigned long)n, (unsigned long)at, (unsigned)p);
    if (i % 100 != 99 && i != slices - 1) continue;
    for (p = 0; p < nodes; p++) {
      gasnet_get_bulk(whole, p, rma_slice(p), bytes);
      for (wrong = 0; wrong < bytes && whole[wrong] == shadow[p][wrong]; wrong++) continue;
      CHECK(wrong == bytes, "after slice %ld the buffer on node %u differs at %lu", i, (unsigned)p, (unsigned long)wrong);
    }
  }
  test_end();
  return 0;
}
