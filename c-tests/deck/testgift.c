/* Messages that are given to a box of another node, of another host where a job has several: many givers, lengths around the limit, a box that is
 * full, a box that goes, order beside posts, what comes back. The others give to boxes of node 0; a single node gives to itself.
 *
 * usage: deck-testgift [copies]
 *
 * With `copies` messages of 256 KiB and more are given, and nothing else is sent: GASNET_SCI_STATS then shows that nobody has copied any. */
#include "testdeck.h"

static const size_t limit = 262144; /* what is shorter is copied, since that takes less time */
static int givers;                /* nodes 1 to givers, or node 0 alone */

static int is_giver(void) { return nodes == 1 || me > 0; }
static int first_giver(void) { return nodes == 1 ? 0 : 1; }

static void barrier(void) { EXPECT(0, deck_barrier()); }

/* Message `n` of each giver: most lie around the limit, or around what goes in one piece. */
static size_t length_of(int n) {
  static const size_t lengths[] = {262144, 262143, 262145, 300000, 8192, 8191, 524288, 65536, 400001, 262400, 1048576, 52, 0, 2097153, 32769, 500};
  return lengths[(n * 7 + n / 16) % (int)(sizeof lengths / sizeof *lengths)];
}

static int give(deck_mbox_t to, size_t length, unsigned seed, deck_time_t time) {
  deck_msg_t msg = new_msg(length, DECK_SHARED), kept = msg;
  int rc;
  write_msg(msg, length, seed);
  rc = deck_mbox_give(to, &msg, time);
  if (rc == 0) {
    CHECK(msg == NULL, "the giver of %lu bytes still has the message", (unsigned long)length);
  } else {
    CHECK(msg == kept, "a refused message is gone");
    read_msg(msg, length, seed, -1); /* as it was */
    EXPECT(0, deck_msg_destroy(msg));
  }
  return rc;
}

/* Takes, and writes to all of what was taken: it is the taker's. */
static void take(deck_mbox_t box, size_t length, unsigned seed, int source) {
  deck_msg_t msg = NULL;
  int rc = deck_mbox_take(box, &msg, LONG_TIME);
  if (!CHECK(rc == 0 && msg, "taking %lu bytes gives %d (%s)", (unsigned long)length, rc, deck_strerror(rc))) return;
  read_msg(msg, length, seed, source);
  memset(deck_msg_data(msg), 0x55, deck_msg_capacity(msg));
  EXPECT(0, deck_msg_destroy(msg));
}

/* Each giver sends its messages in their order, two of three given. Node 0 takes from whoever comes; of each the next one comes. */
static void check_order(int count, int posts) {
  deck_mbox_t box = me == 0 ? new_box("order", 0, 0, 0) : NULL, to = find_box("order", 0);
  int n, i, next[64];
  if (nodes > 1 && me == 0) {
    memset(next, 0, sizeof next);
    for (i = 0; i < count * givers; i++) {
      deck_msg_t msg = NULL;
      int source;
      MUST(deck_mbox_take(box, &msg, LONG_TIME));
      source = deck_msg_source(msg);
      if (!CHECK(source > 0 && source < nodes && next[source % 64] < count, "source %d", source)) break;
      read_msg(msg, length_of(next[source % 64]), seed_of(1, source, next[source % 64]), source);
      next[source % 64]++;
      EXPECT(0, deck_msg_destroy(msg));
    }
  }
  if (is_giver()) {
    deck_msg_t out = new_msg(2097153, DECK_LOCAL);
    for (n = 0; n < count; n++) {
      if (posts && n % 3 == 2)
        send_to(to, out, length_of(n), seed_of(1, me, n));
      else
        EXPECT(0, give(to, length_of(n), seed_of(1, me, n), LONG_TIME));
      if (nodes == 1) take(box, length_of(n), seed_of(1, me, n), me);
    }
    EXPECT(0, deck_msg_destroy(out));
  }
  barrier();
  if (me == 0) expect_empty(box);
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  if (me == 0) EXPECT(0, deck_mbox_destroy(box));
}

/* A box of two messages, of which its owner takes none at first. What failed does not come, what was given does, once. */
static void check_full(void) {
  enum { TRIES = 12 };
  deck_mbox_t box = me == 0 ? new_box("full", 0, 4 * MIB, 2) : NULL, to = find_box("full", 0);
  char given[TRIES] = {0}, all[64 * TRIES];
  int n, i, source, left = 0;
  barrier();
  if (is_giver())
    for (n = 0; n < TRIES; n++) {
      int rc = give(to, length_of(n) + 16, seed_of(2, me, n), n % 3 ? (n % 3) * MILLISECOND : 0);
      CHECK(rc == 0 || rc == (n % 3 ? DECK_ETIMEDOUT : DECK_EAGAIN), "giving to a full box gives %d", rc);
      given[n] = rc == 0;
    }
  EXPECT(0, deck_gather(given, sizeof given, all, 0));
  if (me == 0) {
    for (source = first_giver(); source < nodes && source < 64; source++)
      for (n = 0; n < TRIES; n++) left += all[source * TRIES + n];
    CHECK(left <= 2, "%d messages in a box of 2", left);
    for (i = 0; i < left; i++) {
      deck_msg_t msg = NULL;
      MUST(deck_mbox_take(box, &msg, LONG_TIME));
      source = deck_msg_source(msg);
      for (n = 0; n < TRIES && !all[source * TRIES + n]; n++) continue;
      if (CHECK(n < TRIES, "node %d has given no more", source)) read_msg(msg, length_of(n) + 16, seed_of(2, source, n), source);
      if (n < TRIES) all[source * TRIES + n] = 0;
      EXPECT(0, deck_msg_destroy(msg));
    }
    be_late(20); /* what timed out does not come later either */
    expect_empty(box);
  }
  barrier();
  /* Whoever was refused has its room again. */
  for (source = first_giver(); source < nodes; source++) {
    if (me == source) EXPECT(0, give(to, 3 * MIB, seed_of(3, me, 0), LONG_TIME));
    if (me == 0) take(box, 3 * MIB, seed_of(3, source, 0), source);
    barrier();
  }
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  if (me == 0) EXPECT(0, deck_mbox_destroy(box));
}

/* The box goes while others give. Afterwards all memory of all heaps is there again. */
static void check_gone(void) {
  int round;
  for (round = 0; round < 6; round++) {
    deck_mbox_t box = me == 0 ? new_box("gone", round, 0, 0) : NULL, to = find_box("gone", round);
    barrier();
    if (me == 0) {
      int n;
      for (n = 0; n < round && nodes > 1; n++) {
        deck_msg_t msg = NULL;
        EXPECT(0, deck_mbox_take(box, &msg, LONG_TIME));
        EXPECT(0, deck_msg_destroy(msg));
      }
      if (nodes > 1) EXPECT(0, deck_mbox_destroy(box));
    }
    if (is_giver()) {
      int n, rc = 0;
      for (n = 0; n < 10 + round && rc == 0; n++) rc = give(to, length_of(n), seed_of(4, me, n), LONG_TIME);
      CHECK(rc == 0 || (rc == DECK_EGONE && nodes > 1), "giving to a box that goes gives %d", rc);
    }
    EXPECT(0, deck_mbox_destroy(to));
    barrier();
    if (nodes == 1) EXPECT(0, deck_mbox_destroy(box));
  }
  barrier();
  {
    const double end = test_now() + 60;
    deck_msg_t all = NULL;
    be_late(20); /* they come with polls */
    while (deck_msg_create(63 * MIB, DECK_SHARED, &all) != 0 && test_now() < end) be_late(100);
    if (CHECK(all != NULL, "blocks of the heap have not come back")) EXPECT(0, deck_msg_destroy(all));
  }
  barrier();
}

static void check_copies(void) {
  deck_mbox_t box = me == 0 ? new_box("copies", 0, 0, 0) : NULL, to = find_box("copies", 0);
  int n, source;
  for (n = 0; n < 40; n++) {
    const size_t length = length_of(n) < limit ? limit : length_of(n);
    if (is_giver()) EXPECT(0, give(to, length, seed_of(5, me, n), LONG_TIME));
    if (me == 0)
      for (source = first_giver(); source < nodes; source++) {
        deck_msg_t msg = NULL;
        MUST(deck_mbox_take(box, &msg, LONG_TIME));
        read_msg(msg, length, seed_of(5, deck_msg_source(msg), n), -1);
        EXPECT(0, deck_msg_destroy(msg));
      }
    barrier();
  }
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  if (me == 0) EXPECT(0, deck_mbox_destroy(box));
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv, "deck-testgift");
  givers = nodes == 1 ? 1 : nodes - 1;
  if (argc > 1 && strcmp(argv[1], "copies") == 0) {
    check_copies();
  } else {
    check_order(64, 1);
    check_full();
    check_order(32, 0);
    check_gone();
  }
  return test_end();
}
