/* A node dies, and the job goes on (survive.h): boxes, credits, loans.
 *
 * ROLE: what the victim is when it dies
 *   owner     of a box to which all others post and give, who wait for room. It has retrieved MOMENT messages
 *   sender    to a box of the first survivor, with credits that another one waits for. It has posted MOMENT messages (1 to 4)
 *   waiter    for room in a full box, before another one that waits
 *   borrower  of 6 blocks of the first survivor, MOMENT of which it has taken; one it has given on
 *   lender    of blocks that the others take before and after its death, and give on
 *   ring      part of a ring in which blocks go round; it dies after MOMENT microseconds, anywhere in the library
 *   threads   the owner of a box for which threads of the others wait */
#include "survive.h"

#define LONG_MESSAGE ((size_t)300000)
#define BLOCKS 6 /* of that length in a heap of 2 MiB (GASNET_SCI_DECK_HEAP) */

static deck_mbox_t box; /* the one that it is about */

static void box_at(int owner, size_t bytes, size_t msgs) {
  box = NULL;
  if (me == owner) box = new_box("box", owner, bytes, msgs);
  EXPECT(0, deck_barrier());
  if (me != owner) box = find_box("box", owner);
  EXPECT(0, deck_barrier());
}

/* Every call that needs a box of the dead says so, and does nothing else. */
static void check_dead_box(deck_mbox_t dead) {
  deck_msg_t msg = new_msg(100000, DECK_SHARED), kept = msg, other = new_msg(64, DECK_AUTO);
  deck_mbox_t again = NULL;
  write_msg(msg, 100000, 77);
  EXPECT(DECK_EPEER, deck_mbox_post(dead, msg));
  EXPECT(DECK_EPEER, deck_mbox_post_timed(dead, msg, 0));
  EXPECT(DECK_EPEER, deck_mbox_post_timed(dead, msg, SECOND));
  EXPECT(DECK_EPEER, deck_mbox_give(dead, &msg, DECK_FOREVER));
  CHECK(msg == kept, "a message that was not given stays");
  read_msg(msg, 100000, 77, -1);
  EXPECT(0, deck_msg_destroy(msg));
  /* A handle that is made now is no better. */
  EXPECT(0, deck_msg_pack_mbox(other, dead));
  EXPECT(0, deck_msg_unpack_mbox(other, &again));
  EXPECT(0, deck_msg_clear(other));
  EXPECT(DECK_EPEER, deck_mbox_post(again, other));
  EXPECT(0, deck_mbox_destroy(again));
  EXPECT(0, deck_mbox_destroy(dead));
  EXPECT(0, deck_msg_destroy(other));
}

static void owner(void) {
  deck_msg_t msg = new_msg(20000, DECK_AUTO);
  int n, rc = 0;
  box_at(victim, MIB / 4, 8);
  if (me == victim) {
    for (n = 0; n < moment; n++) EXPECT(0, deck_mbox_retrv(box, msg));
    tell_and_die();
  }
  for (n = 0; rc == 0; n++) {
    const size_t length = n % 3 == 0 ? 40 : n % 3 == 1 ? 1000 : 20000;
    if (n % 2) {
      deck_msg_t given = new_msg(length, DECK_SHARED);
      rc = deck_mbox_give(box, &given, DECK_FOREVER);
      if (rc) EXPECT(0, deck_msg_destroy(given));
    } else {
      EXPECT(0, deck_msg_set_size(msg, length));
      rc = deck_mbox_post(box, msg);
    }
  }
  CHECK(rc == DECK_EPEER, "posting to the dead gives %d (%s)", rc, deck_strerror(rc));
  hear_of_death();
  check_time("posting fails");
  check_dead_box(box);
  EXPECT(0, deck_msg_destroy(msg));
}

/* The box has 16 places. The victim has asked for some of them, uses `moment`, and answers to nobody: it makes no call after it has told the
 * second survivor when it will die, who then fills the box. The places that it has not used come free by its death. */
static void sender(void) {
  deck_msg_t msg = new_msg(64, DECK_AUTO);
  int n, from_dead = 0, from_other = 0;
  box_at(first, 16 * 64, 16);
  if (me == victim) {
    for (n = 0; n < moment; n++) {
      write_msg(msg, 50, seed_of(1, me, n));
      EXPECT(0, deck_mbox_post(box, msg));
    }
    for (n = 0; n < nodes; n++)
      if (is_survivor(n) && n != second) tell(n, test_now() + 0.3);
    tell(second, test_now() + 0.3);
    usleep(300000);
    die_now();
  }
  hear_of_death();
  if (me == second) {
    deck_mbox_t to = me == first ? find_box("box", first) : box;
    for (n = 0; n < 16 - moment; n++) send_to(to, msg, 50, seed_of(2, me, n));
    write_msg(msg, 50, 0);
    EXPECT(DECK_ETIMEDOUT, deck_mbox_post_timed(to, msg, SHORT_TIME));
    if (me != first) tell(first, 0);
  }
  if (me == first) {
    if (second != first) hear(second);
    await_death();
    while (deck_mbox_retrv_timed(box, msg, 0) == 0) {
      if (deck_msg_source(msg) == victim)
        read_msg(msg, 50, seed_of(1, victim, from_dead++), victim);
      else
        read_msg(msg, 50, seed_of(2, second, from_other++), second);
    }
    CHECK(from_dead == moment && from_other == 16 - moment, "%d and %d messages", from_dead, from_other);
  }
  meet_survivors();
  /* All room can be used again, also that of the dead's messages. */
  if (me == second) {
    deck_mbox_t to = me == first ? find_box("box", first) : box;
    for (n = 0; n < 100; n++) {
      write_msg(msg, 50, seed_of(3, me, n));
      if (me == first && n >= 16) receive_from(box, note, 50, seed_of(3, second, n - 16), second);
      EXPECT(0, deck_mbox_post_timed(to, msg, LONG_TIME));
    }
  }
  if (me == first)
    for (n = second == first ? 84 : 0; n < 100; n++) receive_from(box, note, 50, seed_of(3, second, n), second);
  EXPECT(0, deck_msg_destroy(msg));
}

/* The first survivor's four messages, and the second's, which comes as soon as there is room, and then has its turn. */
static void receive_own_and_one_of_second(deck_msg_t msg) {
  const int all = second != first ? 5 : 4;
  int n, own = 0;
  for (n = 0; n < all; n++) {
    EXPECT(0, deck_mbox_retrv_timed(box, msg, LONG_TIME));
    if (second != first && deck_msg_source(msg) == second) {
      CHECK(n > 0, "there was room in a full box");
      read_msg(msg, 50, seed_of(2, second, 0), second);
    } else {
      read_msg(msg, 50, seed_of(1, me, own++), me);
    }
  }
  CHECK(own == 4, "%d messages of its own", own);
}

/* The box is full. The victim waits for room, and another one behind it. */
static void waiter(void) {
  deck_msg_t msg = new_msg(64, DECK_AUTO);
  deck_mbox_t to;
  int n;
  box_at(first, 4 * 64, 4);
  to = me == first ? find_box("box", first) : box;
  if (me == first)
    for (n = 0; n < 4; n++) send_to(to, msg, 50, seed_of(1, me, n));
  EXPECT(0, deck_barrier());
  if (me == victim) {
    for (n = 0; n < nodes; n++)
      if (is_survivor(n)) tell(n, test_now() + 0.2);
    die_soon(200000);
    write_msg(msg, 50, 0);
    deck_mbox_post(box, msg);
    CHECK(0, "there was room in a full box");
  }
  hear_of_death();
  if (me == second && me != first) {
    be_late(50); /* behind the victim */
    write_msg(msg, 50, seed_of(2, me, 0));
    EXPECT(0, deck_mbox_post_timed(to, msg, LONG_TIME));
  }
  if (me == first) {
    await_death();
    check_time("the death is known");
    receive_own_and_one_of_second(msg);
    for (n = 0; n < 4; n++) send_to(to, msg, 50, seed_of(3, me, n)); /* all room is there again */
    for (n = 0; n < 4; n++) receive_from(box, msg, 50, seed_of(3, me, n), me);
    expect_empty(box);
  }
  EXPECT(0, deck_msg_destroy(msg));
}

/* A try to make so many long messages. Returns how many there are. */
static int make_messages(deck_msg_t *made, int most) {
  int n;
  for (n = 0; n < most; n++)
    if (deck_msg_create(LONG_MESSAGE, DECK_SHARED, &made[n]) != 0) break;
  return n;
}

/* Until so many long messages can be made, and no more. */
static void expect_free(int want) {
  deck_msg_t made[BLOCKS + 1];
  const double end = test_now() + 60;
  int n, has;
  do {
    has = make_messages(made, BLOCKS + 1);
    for (n = 0; n < has; n++) EXPECT(0, deck_msg_destroy(made[n]));
  } while (has != want && test_now() < end && deck_thread_yield() == 0);
  CHECK(has == want, "%d blocks of the heap are free instead of %d", has, want);
}

static void borrower(void) {
  deck_msg_t msgs[BLOCKS], loan = NULL;
  const int passes = moment > 0 && second != first; /* one goes on to the second survivor */
  int n;
  box_at(victim, 0, 0);
  if (me == first)
    for (n = 0; n < BLOCKS; n++) {
      msgs[n] = new_msg(LONG_MESSAGE, DECK_SHARED);
      write_msg(msgs[n], LONG_MESSAGE, seed_of(1, me, n));
      EXPECT(0, deck_mbox_give(box, &msgs[n], LONG_TIME));
    }
  if (me == victim) {
    await_pending(box, BLOCKS);
    for (n = 0; n < moment; n++) EXPECT(0, deck_mbox_take(box, &msgs[n], 0));
    if (passes) EXPECT(0, deck_mbox_give(peers[second], &msgs[0], LONG_TIME));
    tell_and_die();
  }
  if (me == second && passes) {
    EXPECT(0, deck_mbox_take(inbox, &loan, LONG_TIME));
    read_msg(loan, LONG_MESSAGE, seed_of(1, first, 0), victim);
  }
  hear_of_death();
  if (me == first) {
    expect_free(BLOCKS - passes);
    check_time("blocks are back");
  }
  meet_survivors();
  if (loan) {
    read_msg(loan, LONG_MESSAGE, seed_of(1, first, 0), victim);
    EXPECT(0, deck_msg_destroy(loan));
  }
  if (me == first) expect_free(BLOCKS);
}

static void lender(void) {
  deck_msg_t msg = NULL, later = NULL;
  int n, next = me, has_told[64] = {0};
  if (me == victim) {
    for (n = 0; n < 2 * nodes; n++)
      if (is_survivor(n / 2)) {
        msg = new_msg(100000, DECK_SHARED);
        write_msg(msg, 100000, seed_of(1, n / 2, n % 2));
        EXPECT(0, deck_mbox_give(peers[n / 2], &msg, LONG_TIME));
      }
    for (n = 1; n < nodes;) { /* they also try whether this node is dead */
      EXPECT(0, deck_mbox_retrv_timed(inbox, note, LONG_TIME));
      n += !has_told[deck_msg_source(note)];
      has_told[deck_msg_source(note)] = 1;
    }
    tell_and_die();
  }
  EXPECT(0, deck_mbox_take(inbox, &msg, LONG_TIME));
  tell(victim, 0);
  await_death();
  read_msg(msg, 100000, seed_of(1, me, 0), victim);
  EXPECT(0, deck_mbox_take(inbox, &later, LONG_TIME)); /* mapped only now, perhaps */
  read_msg(later, 100000, seed_of(1, me, 1), victim);
  hear_of_death();
  meet_survivors();
  do next = (next + 1) % nodes;
  while (!is_survivor(next));
  write_msg(later, 100000, seed_of(2, me, 0)); /* a loan may be written, and given on */
  EXPECT(0, deck_mbox_give(peers[next], &later, LONG_TIME));
  EXPECT(0, deck_mbox_take(inbox, &later, LONG_TIME));
  CHECK(differs(deck_msg_data(later), 100000, seed_of(2, deck_msg_source(later), 0)) == 100000, "a loan given on");
  EXPECT(0, deck_msg_destroy(later));
  EXPECT(0, deck_msg_destroy(msg));
  meet_survivors();
}

/* A block of the ring says which one it is. */
static void check_ring(deck_msg_t msg) {
  const int32_t *head = (const int32_t *)deck_msg_data(msg);
  const int ok = CHECK(deck_msg_size(msg) == LONG_MESSAGE && head[0] >= 0 && head[0] < nodes, "%lu bytes of node %d",
                       (unsigned long)deck_msg_size(msg), (int)head[0]);
  if (ok) CHECK(differs((const char *)deck_msg_data(msg) + 8, LONG_MESSAGE - 8, seed_of(1, head[0], head[1])) ==
                LONG_MESSAGE - 8, "block %d of node %d", (int)head[1], (int)head[0]);
}

static void ring(void) {
  deck_mbox_t mine = new_box("ring", me, 0, 0), to[64];
  deck_msg_t msg = NULL;
  unsigned state = (unsigned)(moment * 64 + me + 1);
  int n, rc, is_dead = 0, ends = 0;
  for (n = 0; n < nodes; n++) to[n] = find_box("ring", n);
  EXPECT(0, deck_barrier());
  let_victim_die();
  for (n = 0; n < 3; n++) {
    int32_t *head;
    msg = new_msg(LONG_MESSAGE, DECK_SHARED);
    write_msg(msg, LONG_MESSAGE, 0);
    head = (int32_t *)deck_msg_data(msg);
    head[0] = me;
    head[1] = n;
    fill(head + 2, LONG_MESSAGE - 8, seed_of(1, me, n));
    rc = deck_mbox_give(to[(me + 1) % nodes], &msg, LONG_TIME);
    CHECK(rc == 0 || rc == DECK_EPEER, "giving: %d", rc);
    if (rc) EXPECT(0, deck_msg_destroy(msg));
  }
  while (!is_dead || me == victim) {
    rc = deck_mbox_take(mine, &msg, 2 * MILLISECOND);
    CHECK(rc == 0 || rc == DECK_ETIMEDOUT, "taking: %d", rc);
    if (rc == 0 && deck_msg_size(msg) == 1) {
      ends++;
      EXPECT(0, deck_msg_destroy(msg));
    } else if (rc == 0) {
      check_ring(msg);
      rc = deck_mbox_give(to[test_random(&state) % (unsigned)nodes], &msg, LONG_TIME);
      CHECK(rc == 0 || rc == DECK_EPEER, "giving: %d", rc);
      is_dead |= rc == DECK_EPEER;
      if (rc) EXPECT(0, deck_msg_destroy(msg));
    } else {
      is_dead |= deck_mbox_post_timed(peers[victim], note, 0) == DECK_EPEER;
    }
  }
  check_time("the death is known");
  /* Each says that it gives no more, behind what it has given. */
  for (n = 0; n < nodes; n++)
    if (is_survivor(n) && n != me) send_to(to[n], note, 1, 0);
  while (ends < nodes - 2) {
    MUST(deck_mbox_take(mine, &msg, LONG_TIME));
    if (deck_msg_size(msg) == 1)
      ends++;
    else
      check_ring(msg);
    EXPECT(0, deck_msg_destroy(msg));
  }
  while (deck_mbox_take(mine, &msg, 0) == 0) EXPECT(0, deck_msg_destroy(msg)); /* from this node or the dead */
  meet_survivors();
  expect_free(BLOCKS);
}

static void *post_until_dead(void *arg) {
  deck_msg_t msg = new_msg(64, DECK_AUTO);
  int rc;
  EXPECT(0, deck_msg_set_size(msg, arg ? 60 : 8));
  while ((rc = deck_mbox_post(box, msg)) == 0) {}
  EXPECT(0, deck_msg_destroy(msg));
  return (void *)(intptr_t)rc;
}

static void threads(void) {
  deck_thread_t thread[4];
  void *result;
  int n;
  box_at(victim, 0, 16);
  if (me == victim) {
    be_late(moment);
    tell_and_die();
  }
  for (n = 0; n < 4; n++) MUST(deck_thread_create(post_until_dead, n % 2 ? &thread[n] : NULL, &thread[n]));
  hear_of_death(); /* this thread sleeps for something else meanwhile */
  for (n = 0; n < 4; n++) {
    EXPECT(0, deck_thread_join(thread[n], &result));
    CHECK((int)(intptr_t)result == DECK_EPEER, "a thread's post gives %d", (int)(intptr_t)result);
  }
  check_time("all threads know");
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } roles[] = {{"owner", owner},   {"sender", sender}, {"waiter", waiter},   {"borrower", borrower},
               {"lender", lender}, {"ring", ring},     {"threads", threads}, {NULL, NULL}};
  int n;
  survive_begin(&argc, &argv, "deck-testsurvive");
  for (n = 0; roles[n].name && (argc < 2 || strcmp(argv[1], roles[n].name)); n++) {}
  if (!roles[n].name) return 99;
  roles[n].run();
  return survive_end();
}
