/* Limits that the environment sets: a small DECK heap, few boxes, the limit of message lengths under the paper's name; and tries.
 *
 * usage: deck-testlimits
 *
 * It sets the variables itself. Lines about what is used up are part of it; scenarios.txt looks at them. */
#include "testdeck.h"

#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)

enum { BOXES = 8, BLOCKS = 16 };
#define BLOCK ((size_t)262144)
#define HEAP "2M"
#define LIMIT ((size_t)1000)

/* Fills the heap with messages. How many there were. */
static int fill_heap(deck_msg_t *all) {
  const double end = test_now() + 30;
  int n, rc = 0;
  for (n = 0; n < BLOCKS; n++) {
    do { /* blocks that were given may still be on the way home */
      all[n] = NULL;
      rc = deck_msg_create(BLOCK, DECK_SHARED, &all[n]);
      if (rc) deck_thread_yield();
    } while (rc == DECK_ENOMEM && n < 5 && test_now() < end);
    if (rc) break;
    write_msg(all[n], BLOCK, seed_of(1, me, n));
  }
  CHECK(rc == DECK_ENOMEM, "after %d blocks: %d (%s)", n, rc, deck_strerror(rc));
  CHECK(n >= 5 && n <= 8, "%d blocks of %lu bytes in a heap of %s", n, (unsigned long)BLOCK, HEAP);
  return n;
}

static void check_heap(deck_mbox_t mine, deck_mbox_t next) {
  deck_msg_t all[BLOCKS], more = NULL, in = new_msg(0, DECK_AUTO), local = new_msg(3 * BLOCK, DECK_LOCAL);
  int round, n, i;
  for (round = 0; round < 3; round++) {
    n = fill_heap(all);
    for (i = 0; i < n; i++) read_msg(all[i], BLOCK, seed_of(1, me, i), -1);
    EXPECT(0, deck_msg_destroy(all[0])); /* what is free can be had again */
    EXPECT(0, deck_msg_create(BLOCK, DECK_SHARED, &more));
    EXPECT(0, deck_msg_destroy(more));
    EXPECT(0, deck_msg_create(BLOCK, DECK_SHARED, &all[0]));
    write_msg(all[0], BLOCK, seed_of(1, me, 0));
    /* Posting works all the same: long and short messages, also of the full heap's. */
    EXPECT(0, deck_barrier());
    send_to(next, local, 3 * BLOCK, seed_of(2, me, round));
    EXPECT(0, deck_mbox_post_timed(next, all[1], LONG_TIME));
    send_to(next, local, 100, seed_of(3, me, round));
    receive_from(mine, in, 3 * BLOCK, seed_of(2, PREVIOUS, round), PREVIOUS);
    receive_from(mine, in, BLOCK, seed_of(1, PREVIOUS, 1), PREVIOUS);
    receive_from(mine, in, 100, seed_of(3, PREVIOUS, round), PREVIOUS);
    /* Given away, and back with the receiver's destroy. */
    for (i = 5; i < n; i++) EXPECT(0, deck_msg_destroy(all[i]));
    for (i = 0; i < 5; i++) EXPECT(0, deck_mbox_give(next, &all[i], LONG_TIME));
    for (i = 0; i < 5; i++) {
      EXPECT(0, deck_mbox_take(mine, &more, LONG_TIME));
      read_msg(more, BLOCK, seed_of(1, PREVIOUS, i), PREVIOUS);
      EXPECT(0, deck_msg_destroy(more));
    }
    EXPECT(0, deck_barrier());
  }
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_msg_destroy(local));
}

static void check_boxes(void) {
  deck_mbox_t set[BOXES], one_more = NULL;
  int round, n, rc = 0;
  for (round = 0; round < 20; round++) {
    for (n = 0; n < BOXES - 1; n++) MUST(deck_mbox_create(NULL, NULL, &set[n])); /* "limits" is there */
    EXPECT(DECK_ENOMEM, deck_mbox_create(NULL, NULL, &one_more));
    CHECK(one_more == NULL, "a refused call stored a box");
    for (n = 0; n < BOXES - 1 && !rc; n++) rc = deck_mbox_destroy(set[n]);
    EXPECT(0, rc);
  }
}

/* AUTO is local below the limit, and shared from it on: only a shared one of any length may be given. */
static void check_limit(deck_mbox_t mine, deck_mbox_t next) {
  static const size_t sizes[] = {LIMIT - 1, LIMIT, LIMIT + 1};
  deck_msg_t msg, in = NULL;
  int i;
  for (i = 0; i < 3; i++) {
    msg = new_msg(sizes[i], DECK_LOCAL);
    write_msg(msg, sizes[i], seed_of(4, me, i));
    if (sizes[i] >= LIMIT) {
      EXPECT(DECK_EPLACE, deck_mbox_give(next, &msg, LONG_TIME));
      EXPECT(0, deck_msg_destroy(msg));
      msg = new_msg(sizes[i], DECK_AUTO);
      write_msg(msg, sizes[i], seed_of(4, me, i));
    }
    EXPECT(0, deck_mbox_give(next, &msg, LONG_TIME));
    EXPECT(0, deck_mbox_take(mine, &in, LONG_TIME));
    read_msg(in, sizes[i], seed_of(4, PREVIOUS, i), PREVIOUS);
    EXPECT(0, deck_msg_destroy(in));
  }
}

/* Calls with time 0 alone, at both sides: what they say is so, and they get through in the end. */
static void check_tries(deck_mbox_t mine, deck_mbox_t next) {
  enum { MESSAGES = 300 };
  deck_msg_t out = new_msg(5000, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  const double end = test_now() + 60;
  int sent = 0, came = 0, rc;
  EXPECT(0, deck_barrier());
  while ((sent < MESSAGES || came < MESSAGES) && test_now() < end) {
    if (sent < MESSAGES) {
      write_msg(out, (size_t)sent * 16, seed_of(5, me, sent));
      rc = deck_mbox_post_timed(next, out, 0);
      CHECK(rc == 0 || rc == DECK_EAGAIN, "trying to post gives %d (%s)", rc, deck_strerror(rc));
      sent += rc == 0;
    }
    rc = deck_mbox_retrv_timed(mine, in, 0);
    CHECK(rc == 0 || rc == DECK_EAGAIN, "trying to retrieve gives %d (%s)", rc, deck_strerror(rc));
    if (rc == 0) read_msg(in, (size_t)came * 16, seed_of(5, PREVIOUS, came), PREVIOUS);
    came += rc == 0;
  }
  CHECK(sent == MESSAGES && came == MESSAGES, "%d sent, %d came of %d", sent, came, MESSAGES);
  expect_all_empty(mine);
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
}

/* A box takes as many tries as it may hold, from the first one on, if the owner answers: there are new boxes until that has happened. A busy
 * machine may keep the owner from an answer in time. */
static void check_first_tries(void) {
  enum { ROOM = 4, WANTED = 20 };
  deck_msg_t out = new_msg(8, DECK_AUTO);
  const double end = test_now() + 20;
  int n, whole = 0, over = 0;
  write_msg(out, 8, seed_of(7, me, 0));
  for (n = 0; !over; n++) {
    deck_mbox_t box = me == 0 ? new_box("first", n, 1 << 20, ROOM) : NULL, to = find_box("first", n);
    if (me == nodes - 1) {
      int took[ROOM + 1], sent = 0, i;
      for (i = 0; i <= ROOM; i++) {
        int rc = deck_mbox_post_timed(to, out, 0);
        CHECK(rc == 0 || rc == DECK_EAGAIN, "trying to post gives %d (%s)", rc, deck_strerror(rc));
        sent += took[i] = rc == 0;
      }
      CHECK(sent <= ROOM, "%d messages in a box for %d", sent, (int)ROOM);
      whole += sent == ROOM && !took[ROOM];
      over = whole == WANTED || test_now() > end;
    }
    EXPECT(0, deck_bcast(&over, sizeof over, nodes - 1));
    EXPECT(0, deck_mbox_destroy(to));
    EXPECT(0, deck_barrier());
    if (box) EXPECT(0, deck_mbox_destroy(box));
  }
  if (me == nodes - 1) CHECK(whole == WANTED, "%d of %d boxes took the first %d tries", whole, n, (int)ROOM);
  EXPECT(0, deck_msg_destroy(out));
}

/* A post whose time is over at once leaves no trace at the box: others get the room that there is, although nobody retrieves. */
static void check_given_up(void) {
  deck_mbox_t box = me == 0 ? new_box("given-up", 0, 1000, 10) : NULL, to = find_box("given-up", 0);
  deck_msg_t out = new_msg(900, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  if (me == 1) {
    send_to(to, out, 900, seed_of(6, 1, 0));
    write_msg(out, 900, seed_of(6, 1, 1));
    EXPECT(DECK_ETIMEDOUT, deck_mbox_post_timed(to, out, 1));
  }
  EXPECT(0, deck_barrier());
  if (me == nodes - 1) {
    write_msg(out, 20, seed_of(6, me, 2));
    EXPECT(0, deck_mbox_post_timed(to, out, 10 * SECOND));
  }
  EXPECT(0, deck_barrier());
  if (box) {
    if (nodes > 1) await_pending(box, 2);
    while (deck_mbox_retrv_timed(box, in, 0) == 0) {}
  }
  EXPECT(0, deck_mbox_destroy(to));
  EXPECT(0, deck_barrier());
  if (box) EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
}

/* Node 0 only tries, and the name of each box is kept by one node or the other. It gets the name in the end, and holds up nobody. */
static void check_name_tries(void) {
  enum { NAMES = 12 };
  deck_mbox_t box = NULL, taken = NULL;
  char name[64];
  double end;
  int n, rc = 0;
  for (n = 0; n < NAMES; n++) {
    snprintf(name, sizeof name, "try.%d", n);
    EXPECT(0, deck_barrier());
    end = test_now() + 10;
    if (me == 1) { /* creates a box that node 0 looks for, and destroys it while node 0 wants the name */
      be_late(5);
      MUST(deck_mbox_create(name, NULL, &box));
      CHECK(test_now() < end, "name %d could not be had while another node looked for it", n);
    } else if (me == 0 && nodes > 1) {
      do rc = deck_mbox_clone(name, 0, &taken);
      while (rc == DECK_EAGAIN && test_now() < end);
      CHECK(rc == 0, "looking for name %d gives %d (%s)", n, rc, deck_strerror(rc));
      if (rc == 0) EXPECT(0, deck_mbox_destroy(taken));
    }
    EXPECT(0, deck_barrier());
    end = test_now() + 10;
    if (me == 1) {
      be_late(5);
      EXPECT(0, deck_mbox_destroy(box));
    } else if (me == 0) {
      do rc = deck_mbox_create(name, NULL, &taken);
      while (rc == DECK_EEXIST && test_now() < end);
      CHECK(rc == 0, "creating name %d gives %d (%s)", n, rc, deck_strerror(rc));
    }
    EXPECT(0, deck_barrier());
    if (me == 0 && rc == 0) EXPECT(0, deck_mbox_destroy(taken));
  }
}

int main(int argc, char **argv) {
  deck_mbox_t mine, next;
  setenv("GASNET_SCI_DECK_HEAP", HEAP, 1);
  setenv("GASNET_SCI_DECK_BOXES", "8", 1);
  unsetenv("GASNET_SCI_DECK_MSG_BUF_LIMIT");
  setenv("DECK_MSG_BUF_LIMIT", "1000", 1);
  test_begin(&argc, &argv, "deck-testlimits");
  mine = new_box("limits", me, 0, 0);
  next = find_box("limits", NEXT);
  check_heap(mine, next);
  check_boxes();
  check_limit(mine, next);
  check_tries(mine, next);
  check_first_tries();
  check_given_up();
  check_name_tries();
  EXPECT(0, deck_mbox_destroy(next));
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_mbox_destroy(mine));
  return test_end();
}
