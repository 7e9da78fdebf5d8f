/* Many boxes, one after another: each is told to the next node, gets a message from there, and is destroyed. Memory stays as it was.
 *
 * usage: deck-testchurn [boxes of each node, default 4000]
 *
 * deck-testchurn 1000000 is the run of a million (docs/contract/deck.md, section 12). */
#include "testdeck.h"

/* Resident kilobytes of this process; 0 if the system does not tell. */
static long resident(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[128];
  long kilobytes = 0;
  if (!file) return 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
  fclose(file);
  return kilobytes;
}

/* Tells the next node of a box and posts to the one that the previous node tells of. */
static void one_box(deck_mbox_t mine, deck_mbox_t next, deck_msg_t out, deck_msg_t in, int n) {
  const size_t size = n % 7 == 0 ? 20000 : n % 3 == 0 ? 900 : 40;
  deck_mbox_t box = NULL, other = NULL;
  char name[32];
  snprintf(name, sizeof name, "churn.%d.%d", me, n);
  MUST(deck_mbox_create(n % 16 ? NULL : name, NULL, &box));
  EXPECT(0, deck_msg_clear(out));
  EXPECT(0, deck_msg_pack_mbox(out, box));
  EXPECT(0, deck_mbox_post_timed(next, out, LONG_TIME));
  EXPECT(0, deck_mbox_retrv_timed(mine, in, LONG_TIME));
  MUST(deck_msg_unpack_mbox(in, &other));
  send_to(other, out, size, seed_of(1, me, n));
  receive_from(box, in, size, seed_of(1, (me + 1) % nodes, n), (me + 1) % nodes);
  EXPECT(0, deck_mbox_destroy(n % 2 ? other : box));
  EXPECT(0, deck_mbox_destroy(n % 2 ? box : other));
}

int main(int argc, char **argv) {
  deck_mbox_t mine, next;
  deck_msg_t out, in;
  long before = 0, after;
  int boxes, n;
  test_begin(&argc, &argv, "deck-testchurn");
  boxes = argc > 1 ? atoi(argv[1]) : 4000;
  if (boxes > 100000) alarm(3600);
  out = new_msg(20000, DECK_AUTO);
  in = new_msg(20000, DECK_AUTO);
  mine = new_box("churns", me, 0, 0);
  next = find_box("churns", (me + 1) % nodes);
  EXPECT(0, deck_barrier());
  for (n = 0; n < boxes; n++) {
    if (n == boxes / 4) before = resident(); /* by then pools and tables have their sizes */
    one_box(mine, next, out, in, n);
  }
  after = resident();
  CHECK(after <= before + 4096, "%ld KiB after %d boxes, %ld KiB after a quarter of them", after, boxes, before);
  if (me == 0) printf("deck-testchurn: %d boxes of each node, %ld KiB, before %ld KiB\n", boxes, after, before);
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_mbox_destroy(next));
  return test_end();
}
