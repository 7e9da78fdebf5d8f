/* Fairness: of any 1,000 retrievals from a box with k busy senders, each sender has at least 1000/(2k); and order, at the same time. And of
 * boxes that always have a message, select names each in turn.
 *
 * usage: deck-testfair
 *
 * A sender is busy while the box has messages of it. So all post what they have before the owner retrieves, one node after another, and the
 * box fills in the order of the nodes. An owner that retrieved in the order of arrival would fail. */
#include "testdeck.h"

enum { WINDOW = 1000, EACH = 1000, MOST = 8 };

/* Lengths of a few messages, so that each sender uses all ways that bytes go. */
static size_t length_of(int way, int n) {
  static const size_t lengths[] = {4, 52, 60, 112, 300, 2000};
  return way == 0 ? 8 : way == 1 ? lengths[n % 6] : n % 50 == 49 ? 20000 : lengths[n % 3];
}

/* Of each window in which all senders were busy to its end, the least number of retrievals of a sender. */
static int least_share(const unsigned char *source, int total, int senders) {
  int count[MOST] = {0}, left[MOST], least = WINDOW, t, i;
  for (i = 0; i < senders; i++) left[i] = EACH;
  for (t = 0; t < total; t++) {
    count[source[t]]++;
    left[source[t]]--;
    if (t >= WINDOW) count[source[t - WINDOW]]--;
    for (i = 0; i < senders && left[i] > 0; i++) {}
    if (i < senders) break; /* one has no message left */
    if (t >= WINDOW - 1)
      for (i = 0; i < senders; i++)
        if (count[i] < least) least = count[i];
  }
  CHECK(t >= WINDOW || senders < 2, "the first sender was through after %d retrievals", t);
  return least;
}

static void check_shares(int way, int first) {
  const int senders = nodes < MOST ? nodes : MOST, total = senders * EACH;
  deck_mbox_t box = me == 0 ? new_box("fair", way, 64 * MIB, (size_t)total) : NULL, to = find_box("fair", way);
  deck_msg_t msg = new_msg(32768, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  unsigned char *source = (unsigned char *)calloc((size_t)total, 1);
  int came[MOST] = {0}, turn, n;
  for (turn = 0; turn < senders; turn++) {
    if (me == (turn + first) % senders)
      for (n = 0; n < EACH; n++) send_to(to, msg, length_of(way, n), seed_of(way, me, n));
    EXPECT(0, deck_barrier());
  }
  if (box) {
    await_pending(box, total);
    for (n = 0; n < total; n++) {
      int from;
      EXPECT(0, deck_mbox_retrv_timed(box, in, LONG_TIME));
      from = deck_msg_source(in);
      if (!CHECK(from >= 0 && from < senders, "source %d", from)) continue;
      read_msg(in, length_of(way, came[from]), seed_of(way, from, came[from]), from);
      came[from]++;
      source[n] = (unsigned char)from;
    }
    for (n = 0; n < senders; n++) CHECK(came[n] == EACH, "%d messages of node %d", came[n], n);
    n = least_share(source, total, senders);
    CHECK(n >= WINDOW / (2 * senders), "a sender has %d of %d retrievals, there are %d senders", n, WINDOW, senders);
    expect_empty(box);
  }
  EXPECT(0, deck_mbox_destroy(to));
  EXPECT(0, deck_barrier());
  if (box) EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_msg_destroy(msg));
  EXPECT(0, deck_msg_destroy(in));
  free(source);
}

/* Senders that are blocked most of the time, as the box is small: none is left behind. */
static void check_blocked(void) {
  deck_mbox_t box = me == 0 ? new_box("blocked", 0, MIB, 4) : NULL, to = find_box("blocked", 0);
  deck_msg_t msg = new_msg(100, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  int *came = (int *)calloc((size_t)nodes, sizeof *came);
  int n;
  if (me != 0 || nodes == 1)
    for (n = 0; n < EACH; n++) {
      send_to(to, msg, (size_t)n % 100, seed_of(5, me, n));
      if (box) receive_from(box, in, (size_t)n % 100, seed_of(5, me, n), me);
    }
  for (n = 0; box && n < EACH * (nodes - 1); n++) {
    int from;
    EXPECT(0, deck_mbox_retrv_timed(box, in, LONG_TIME));
    from = deck_msg_source(in);
    if (!CHECK(from >= 1 && from < nodes, "source %d", from)) continue;
    read_msg(in, (size_t)came[from] % 100, seed_of(5, from, came[from]), from);
    came[from]++;
  }
  if (box) expect_empty(box);
  EXPECT(0, deck_mbox_destroy(to));
  EXPECT(0, deck_barrier());
  if (box) EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_msg_destroy(msg));
  EXPECT(0, deck_msg_destroy(in));
  free(came);
}

/* A program that selects from several lists by turns: each box has its turn. */
static void check_lists(void) {
  enum { LISTS = 3, BOXES = 6, ROUNDS = 20 };
  static const int first[LISTS] = {0, 2, 4}, count[LISTS] = {2, 3, 2}; /* box 4 is in two lists */
  deck_mbox_t box[BOXES];
  deck_msg_t msg = new_msg(8, DECK_AUTO);
  int named[BOXES] = {0}, i, n, which;
  for (i = 0; i < BOXES; i++) {
    box[i] = new_box("list", me * BOXES + i, 0, 0);
    send_to(box[i], msg, 8, seed_of(6, me, i));
  }
  for (n = 0; n < LISTS * ROUNDS; n++) {
    const int list = n % LISTS;
    which = -1;
    EXPECT(0, deck_mbox_select(box + first[list], count[list], 0, &which));
    if (CHECK(which >= 0 && which < count[list], "box %d of %d", which, count[list])) named[first[list] + which]++;
  }
  for (i = 0; i < BOXES; i++)
    CHECK(named[i] >= ROUNDS / 5, "box %d was named %d times in %d rounds", i, named[i], ROUNDS);
  for (i = 0; i < BOXES; i++) EXPECT(0, deck_mbox_destroy(box[i]));
  EXPECT(0, deck_msg_destroy(msg));
}

int main(int argc, char **argv) {
  int way;
  test_begin(&argc, &argv, "deck-testfair");
  for (way = 0; way < 3; way++) check_shares(way, way);
  check_blocked();
  check_lists();
  return test_end();
}
