/* All nodes post long messages to the boxes of all, of themselves too, and retrieve only then: every way between nodes is busy at once.
 *
 * usage: deck-testall [messages from each node to each [bytes]], default 10 of 100000
 *
 * In timing mode with a topology the messages share links. Node 0 prints how long all took. */
#include "testdeck.h"

int main(int argc, char **argv) {
  deck_mbox_t own, to;
  deck_msg_t out, in;
  size_t bytes;
  double start;
  int each, n, k, from, *came;
  test_begin(&argc, &argv, "deck-testall");
  each = argc > 1 ? atoi(argv[1]) : 10;
  bytes = argc > 2 ? (size_t)atol(argv[2]) : 100000;
  came = (int *)calloc((size_t)nodes, sizeof *came);
  if (!came) exit(98);
  own = new_box("all", me, 0, 0);
  out = new_msg(bytes, DECK_AUTO);
  in = new_msg(0, DECK_AUTO);
  EXPECT(0, deck_barrier());
  start = test_now();
  for (k = 0; k < nodes; k++) {
    to = find_box("all", (me + k) % nodes);
    for (n = 0; n < each; n++) send_to(to, out, bytes, seed_of((me + k) % nodes, me, n));
    EXPECT(0, deck_mbox_destroy(to));
  }
  for (n = 0; n < each * nodes; n++) {
    EXPECT(0, deck_mbox_retrv_timed(own, in, LONG_TIME));
    from = deck_msg_source(in);
    if (!CHECK(from >= 0 && from < nodes, "source %d", from)) continue;
    read_msg(in, bytes, seed_of(me, from, came[from]), from);
    came[from]++;
  }
  EXPECT(0, deck_barrier());
  if (me == 0) printf("boxes \"all\": %d messages of %lu bytes from each node to each: %.3f ms\n", each, (unsigned long)bytes, (test_now() - start) * 1e3);
  for (k = 0; k < nodes; k++) CHECK(came[k] == each, "%d messages of node %d", came[k], k);
  free(came);
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_mbox_destroy(own));
  return test_end();
}
