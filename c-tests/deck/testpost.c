/* The smallest program with a mail box: all nodes post a text to the box of node 0, which prints them. Then each posts many, and node 0
 * tells how long one took. ci/demo shows it.
 *
 * usage: deck-testpost [messages of each node, default 20000] */
#include "testdeck.h"

int main(int argc, char **argv) {
  deck_mbox_t box = NULL, to;
  deck_msg_t msg;
  char text[64], expected[64];
  int many, n, seen[1024] = {0};
  double start;
  test_begin(&argc, &argv, "deck-testpost");
  many = argc > 1 ? atoi(argv[1]) : 20000;
  msg = new_msg(128, DECK_AUTO);
  if (me == 0) MUST(deck_mbox_create("post", NULL, &box));
  MUST(deck_mbox_clone("post", LONG_TIME, &to)); /* waits until node 0 has made it */
  snprintf(text, sizeof text, "node %d of %d greets node 0", me, nodes);
  EXPECT(0, deck_msg_pack_str(msg, text));
  EXPECT(0, deck_mbox_post(to, msg));
  for (n = 0; me == 0 && n < nodes; n++) {
    EXPECT(0, deck_mbox_retrv_timed(box, msg, LONG_TIME));
    EXPECT(0, deck_msg_unpack_str(msg, text, sizeof text));
    snprintf(expected, sizeof expected, "node %d of %d greets node 0", deck_msg_source(msg), nodes);
    CHECK(strcmp(text, expected) == 0, "\"%s\" from node %d", text, deck_msg_source(msg));
    printf("box \"post\": %s\n", text);
  }
  EXPECT(0, deck_barrier());
  start = test_now();
  for (n = 0; me > 0 && n < many; n++) {
    EXPECT(0, deck_msg_clear(msg));
    EXPECT(0, deck_msg_pack(msg, &n, DECK_INT32, 1));
    EXPECT(0, deck_mbox_post(to, msg));
  }
  for (n = 0; me == 0 && n < many * (nodes - 1); n++) {
    int32_t number = -1;
    EXPECT(0, deck_mbox_retrv_timed(box, msg, LONG_TIME));
    EXPECT(0, deck_msg_unpack(msg, &number, DECK_INT32, 1));
    CHECK(number == seen[deck_msg_source(msg) % 1024]++, "message %d of node %d", (int)number, deck_msg_source(msg));
  }
  if (me == 0 && nodes > 1)
    printf("box \"post\": %d messages of %d nodes, in their order, %.0f ns each\n", n, nodes - 1,
           (test_now() - start) * 1e9 / n);
  EXPECT(0, deck_msg_destroy(msg));
  EXPECT(0, deck_mbox_destroy(to));
  return test_end();
}
