/* Mail boxes: names, sizes, FIXED messages, capacities, select, destruction.
 *
 * usage: deck-testbox
 *
 * Node i posts to node i + 1, the last one to the first. In most parts the nodes have their boxes "PART.i". */
#include "testdeck.h"

#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)

static deck_msg_t out, in; /* 2 MiB, AUTO */

static void barrier(void) { EXPECT(0, deck_barrier()); }

/* ---- names ---- */

static void check_lengths(void) {
  char name[80];
  deck_mbox_t last = NULL, other = NULL, box = NULL;
  memset(name, 'n', sizeof name);
  snprintf(name, sizeof name, "%d", me);
  name[strlen(name)] = '.';
  name[64] = 0; /* 64 bytes */
  EXPECT(DECK_EARG, deck_mbox_create(name, NULL, &box));
  EXPECT(DECK_EARG, deck_mbox_clone(name, 0, &box));
  EXPECT(DECK_EARG, deck_mbox_create("", NULL, &box));
  EXPECT(DECK_EARG, deck_mbox_clone("", 0, &box));
  EXPECT(DECK_EARG, deck_mbox_clone(NULL, 0, &box));
  EXPECT(DECK_EARG, deck_mbox_create("x", NULL, NULL));
  EXPECT(DECK_EARG, deck_mbox_clone("x", 0, NULL));
  CHECK(box == NULL, "a refused call stored a box");
  /* 63 bytes, and another box whose name differs in the last byte. */
  name[63] = 0;
  MUST(deck_mbox_create(name, NULL, &last));
  name[62] = 'o';
  MUST(deck_mbox_create(name, NULL, &other));
  MUST(deck_mbox_clone(name, LONG_TIME, &box));
  send_to(box, out, 5, 63);
  receive_from(other, in, 5, 63, me);
  expect_empty(last);
  EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_mbox_destroy(other));
  EXPECT(0, deck_mbox_destroy(last));
  /* One byte. Each node has its own for some nodes; more nodes than letters do without. */
  if (me < 26) {
    name[0] = (char)('a' + me);
    name[1] = 0;
    MUST(deck_mbox_create(name, NULL, &box));
    EXPECT(0, deck_mbox_destroy(box));
  }
}

static void check_names(void) {
  deck_mbox_t box, other = NULL, clone;
  deck_mbox_attr_t attr;
  char name[64];
  double since;
  int owner;
  snprintf(name, sizeof name, "name.%d", NEXT);
  EXPECT(DECK_EAGAIN, deck_mbox_clone(name, 0, &other));
  since = test_now();
  EXPECT(DECK_ETIMEDOUT, deck_mbox_clone(name, SHORT_TIME, &other));
  CHECK(test_now() - since >= 0.019, "back after %g s", test_now() - since);
  barrier();
  box = new_box("name", me, 0, 0);
  barrier();
  EXPECT(DECK_EEXIST, deck_mbox_create(name, NULL, &other)); /* of the next node */
  snprintf(name, sizeof name, "name.%d", me);
  EXPECT(DECK_EEXIST, deck_mbox_create(name, NULL, &other));
  CHECK(other == NULL, "a refused call stored a box");
  attr.size = 0; /* no version of the structure */
  attr.capacity_bytes = attr.capacity_msgs = 100;
  EXPECT(DECK_EARG, deck_mbox_create(NULL, &attr, &other));
  barrier();
  /* A clone may go, the box stays. */
  clone = find_box("name", NEXT);
  EXPECT(0, deck_mbox_destroy(clone));
  clone = find_box("name", NEXT);
  send_to(clone, out, 100, 1);
  receive_from(box, in, 100, 1, PREVIOUS);
  EXPECT(0, deck_mbox_destroy(clone));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
  check_lengths();
  /* The others wait for a name before it is there. */
  for (owner = 0; owner < nodes && owner < 4; owner++) {
    barrier();
    box = NULL;
    if (me == owner) {
      be_late(10);
      box = new_box("late", owner, 0, 0);
    } else {
      clone = find_box("late", owner);
      send_to(clone, out, 1, seed_of(1, me, owner));
      EXPECT(0, deck_mbox_destroy(clone));
    }
    if (box) {
      int n;
      for (n = 1; n < nodes; n++) {
        EXPECT(0, deck_mbox_retrv_timed(box, in, LONG_TIME));
        read_msg(in, 1, seed_of(1, deck_msg_source(in), owner), -1);
      }
      expect_empty(box);
      EXPECT(0, deck_mbox_destroy(box));
    }
  }
}

/* ---- sizes and order ---- */

static size_t size_list[400];
static int size_count;
static void list_sizes(void) {
  static const size_t around[] = {52, 112, 512, 4096, 8192, 65536, MIB};
  size_t n;
  unsigned i;
  for (n = 0; n <= 300; n++) size_list[size_count++] = n;
  for (i = 0; i < sizeof around / sizeof *around; i++)
    for (n = around[i] - 3; n <= around[i] + 3; n++) size_list[size_count++] = n;
}

static void check_sizes(deck_mbox_t mine, deck_mbox_t next, int place) {
  /* The messages of the first batches are larger than `into` was made. */
  deck_msg_t from = new_msg(2 * MIB, place & ~DECK_FIXED), into = new_msg(place & DECK_FIXED ? 2 * MIB : 32, place);
  void *const address = deck_msg_data(into);
  int first, i, k;
  for (first = 0; first < size_count; first = i) {
    size_t sum = 0;
    for (i = first; i < size_count && i - first < 60 && sum < 4 * MIB; i++) {
      send_to(next, from, size_list[i], seed_of(place, me, i));
      sum += size_list[i];
    }
    for (k = first; k < i; k++) {
      receive_from(mine, into, size_list[k], seed_of(place, PREVIOUS, k), PREVIOUS);
      if (place & DECK_FIXED) CHECK(deck_msg_data(into) == address, "the address of a FIXED message has changed");
    }
  }
  expect_all_empty(mine);
  EXPECT(0, deck_msg_destroy(from));
  EXPECT(0, deck_msg_destroy(into));
}

static void check_trunc(deck_mbox_t mine, deck_mbox_t next) {
  static const size_t sizes[] = {33, 113, 5000, 9000, MIB};
  deck_msg_t small = new_msg(32, DECK_FIXED);
  const size_t room = deck_msg_capacity(small);
  void *const address = deck_msg_data(small);
  int i;
  for (i = 0; i < 5; i++) {
    const size_t size = sizes[i] > room ? sizes[i] : room + 1;
    send_to(next, out, size, seed_of(20, me, i));
    send_to(next, out, 32, seed_of(21, me, i));
    EXPECT(DECK_ETRUNC, deck_mbox_retrv_timed(mine, small, LONG_TIME));
    EXPECT(DECK_ETRUNC, deck_mbox_retrv(mine, small));
    await_pending(mine, 2);
    receive_from(mine, in, size, seed_of(20, PREVIOUS, i), PREVIOUS);
    receive_from(mine, small, 32, seed_of(21, PREVIOUS, i), PREVIOUS);
    CHECK(deck_msg_data(small) == address, "the address of a FIXED message has changed");
    barrier();
  }
  EXPECT(0, deck_msg_destroy(small));
}

/* Everybody posts to everybody before anybody retrieves. */
static void check_first_all_post(void) {
  enum { SMALL = 20, LARGE = 8 };
  deck_mbox_t box = new_box("first", me, 10 * MIB, (size_t)nodes * SMALL + LARGE);
  int *count = (int *)calloc((size_t)nodes, sizeof *count);
  int to, n;
  barrier();
  for (to = 0; to < nodes; to++) {
    deck_mbox_t other = to == me ? box : find_box("first", to); /* the owner may post through its own handle */
    for (n = 0; n < SMALL; n++) send_to(other, out, (size_t)n * 10, seed_of(3, me, n));
    if (to == NEXT)
      for (n = 0; n < LARGE; n++) send_to(other, out, MIB, seed_of(3, me, SMALL + n));
    if (to != me) EXPECT(0, deck_mbox_destroy(other));
  }
  barrier();
  await_pending(box, nodes * SMALL + LARGE);
  for (n = 0; n < nodes * SMALL + LARGE; n++) {
    int from;
    EXPECT(0, deck_mbox_retrv(box, in));
    from = deck_msg_source(in);
    if (!CHECK(from >= 0 && from < nodes, "source %d", from)) continue;
    read_msg(in, count[from] < SMALL ? (size_t)count[from] * 10 : MIB, seed_of(3, from, count[from]), from);
    count[from]++;
  }
  for (n = 0; n < nodes; n++)
    CHECK(count[n] == (n == PREVIOUS ? SMALL + LARGE : SMALL), "%d messages of node %d", count[n], n);
  expect_empty(box);
  EXPECT(0, deck_mbox_destroy(box));
  free(count);
}

/* ---- capacities ---- */

/* What is refused must not come later: the next message that the owner sees is another one. */
static void expect_full(deck_mbox_t box, size_t size) {
  double since;
  write_msg(out, size, 666);
  EXPECT(DECK_EAGAIN, deck_mbox_post_timed(box, out, 0));
  since = test_now();
  EXPECT(DECK_ETIMEDOUT, deck_mbox_post_timed(box, out, SHORT_TIME));
  CHECK(test_now() - since >= 0.019, "back after %g s", test_now() - since);
  CHECK(differs(deck_msg_data(out), size, 666) == size, "a refused post has changed the message");
}

static void check_messages(void) {
  deck_mbox_t box = new_box("cap", me, MIB, 8), next = find_box("cap", NEXT), one, next_one;
  int i;
  barrier();
  for (i = 0; i < 8; i++) send_to(next, out, (size_t)i, seed_of(4, me, i));
  expect_full(next, 30);
  barrier();
  await_pending(box, 8);
  receive_from(box, in, 0, 0, PREVIOUS);
  barrier();
  send_to(next, out, 8, seed_of(4, me, 8)); /* one is gone, so there is room for one */
  expect_full(next, 30);
  barrier();
  for (i = 1; i < 9; i++) receive_from(box, in, (size_t)i, seed_of(4, PREVIOUS, i), PREVIOUS);
  send_to(next, out, 9, seed_of(4, me, 9));
  receive_from(box, in, 9, seed_of(4, PREVIOUS, 9), PREVIOUS);
  expect_empty(box);
  one = new_box("one", me, MIB, 1);
  next_one = find_box("one", NEXT);
  for (i = 0; i < 100; i++) {
    send_to(next_one, out, (size_t)i * 100, seed_of(5, me, i));
    receive_from(one, in, (size_t)i * 100, seed_of(5, PREVIOUS, i), PREVIOUS);
  }
  EXPECT(0, deck_mbox_destroy(next_one));
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  EXPECT(0, deck_mbox_destroy(one));
  EXPECT(0, deck_mbox_destroy(box));
}

static void check_bytes(void) {
  deck_mbox_t box = new_box("bytes", me, 1000, 100), next = find_box("bytes", NEXT);
  int i;
  barrier();
  for (i = 0; i < 10; i++) send_to(next, out, 100, seed_of(6, me, i));
  expect_full(next, 1);
  send_to(next, out, 0, 0); /* the bytes are used up, and it needs none */
  barrier();
  for (i = 0; i < 10; i++) receive_from(box, in, 100, seed_of(6, PREVIOUS, i), PREVIOUS);
  receive_from(box, in, 0, 0, PREVIOUS);
  barrier();
  for (i = 0; i < 3; i++) { /* longer than the box: alone, by each way that bytes go */
    static const size_t sizes[] = {1001, 5000, MIB};
    static const size_t others[] = {0, 1, 10};
    int k;
    for (k = 0; k < 3; k++) {
      send_to(next, out, sizes[i], seed_of(7, me, i));
      expect_full(next, others[k]);
      barrier();
      await_pending(box, 1);
      receive_from(box, in, sizes[i], seed_of(7, PREVIOUS, i), PREVIOUS);
      barrier();
      send_to(next, out, others[k], seed_of(8, me, i));
      expect_full(next, sizes[i]); /* it would not be alone */
      barrier();
      await_pending(box, 1);
      receive_from(box, in, others[k], seed_of(8, PREVIOUS, i), PREVIOUS);
      barrier();
    }
  }
  expect_empty(box);
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
}

/* Room is room for any node, whoever used it before. */
static void check_room_moves(void) {
  deck_mbox_t box = me == 0 ? new_box("moves", 0, MIB, 8) : NULL, to = find_box("moves", 0);
  int round, i;
  for (round = 0; round < 2 + nodes; round++) {
    for (i = 0; i < 8; i++) { /* in turns, and then all from one node */
      const int from = round < 2 ? i % nodes : round - 2;
      if (me == from) send_to(to, out, 24, seed_of(9, round, i));
      if (round < 2) barrier();
    }
    barrier();
    write_msg(out, 24, 666);
    EXPECT(DECK_EAGAIN, deck_mbox_post_timed(to, out, 0));
    barrier();
    if (box) {
      unsigned char seen[8] = {0};
      int n;
      await_pending(box, 8);
      for (n = 0; n < 8; n++) { /* senders have their turns, so any order of them is right */
        EXPECT(0, deck_mbox_retrv(box, in));
        for (i = 0; i < 8 && differs(deck_msg_data(in), 24, seed_of(9, round, i)) < 24; i++) {}
        if (!CHECK(i < 8 && deck_msg_size(in) == 24, "an unknown message of node %d", deck_msg_source(in))) continue;
        CHECK(!seen[i]++, "message %d twice", i);
        CHECK(deck_msg_source(in) == (round < 2 ? i % nodes : round - 2), "message %d of node %d", i,
              deck_msg_source(in));
      }
      expect_empty(box);
    }
    barrier();
  }
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  if (box) EXPECT(0, deck_mbox_destroy(box));
}

/* ---- select ---- */

static void check_select(void) {
  enum { BOXES = 5 };
  deck_mbox_t set[BOXES], to[BOXES];
  char base[24];
  int i, n, which = -7;
  double since;
  for (i = 0; i < BOXES; i++) {
    snprintf(base, sizeof base, "select%d", i);
    set[i] = new_box(base, me, 0, 0);
    to[i] = find_box(base, NEXT);
  }
  EXPECT(DECK_EAGAIN, deck_mbox_select(set, BOXES, 0, &which));
  since = test_now();
  EXPECT(DECK_ETIMEDOUT, deck_mbox_select(set, BOXES, SHORT_TIME, &which));
  CHECK(test_now() - since >= 0.019, "back after %g s", test_now() - since);
  EXPECT(DECK_EARG, deck_mbox_select(NULL, BOXES, 0, &which));
  EXPECT(DECK_EARG, deck_mbox_select(set, BOXES, 0, NULL));
  EXPECT(DECK_EARG, deck_mbox_select(set, -1, 0, &which));
  EXPECT(DECK_EARG, deck_mbox_retrv(set[0], NULL));
  EXPECT(DECK_EARG, deck_mbox_post(set[0], NULL));
  if (nodes > 1) { /* boxes of another node */
    deck_msg_t taken = NULL;
    EXPECT(DECK_EARG, deck_mbox_select(to, BOXES, 0, &which));
    EXPECT(DECK_EARG, deck_mbox_retrv(to[0], in));
    EXPECT(DECK_EARG, deck_mbox_retrv_timed(to[0], in, 0));
    EXPECT(DECK_EARG, deck_mbox_take(to[0], &taken, 0));
    EXPECT(DECK_EARG, deck_mbox_pending(to[0]));
  }
  barrier();
  for (i = 0; i < BOXES; i++) { /* one at a time */
    send_to(to[i], out, 300, seed_of(10, me, i));
    EXPECT(0, deck_mbox_select(set, BOXES, LONG_TIME, &which));
    CHECK(which == i, "box %d instead of %d", which, i);
    EXPECT(0, deck_mbox_select(set + i, 1, DECK_FOREVER, &which));
    CHECK(which == 0, "box %d of one", which);
    receive_from(set[i], in, 300, seed_of(10, PREVIOUS, i), PREVIOUS);
    barrier();
    EXPECT(DECK_EAGAIN, deck_mbox_select(set, BOXES, 0, &which));
    barrier();
  }
  for (n = 0; n < 3; n++)
    for (i = 0; i < BOXES; i++) send_to(to[i], out, 40, seed_of(11, n, i));
  {
    int had[BOXES] = {0};
    for (n = 0; n < 3 * BOXES; n++) {
      EXPECT(0, deck_mbox_select(set, BOXES, LONG_TIME, &which));
      if (!CHECK(which >= 0 && which < BOXES, "box %d of %d", which, BOXES)) continue;
      receive_from(set[which], in, 40, seed_of(11, had[which], which), PREVIOUS);
      had[which]++;
    }
    for (i = 0; i < BOXES; i++) CHECK(had[i] == 3, "%d messages in box %d", had[i], i);
  }
  for (i = 0; i < BOXES; i++) EXPECT(0, deck_mbox_destroy(to[i]));
  barrier();
  for (i = 0; i < BOXES; i++) EXPECT(0, deck_mbox_destroy(set[i]));
}

/* ---- the end of a box ---- */

/* A post that goes on the way before this node hears of the end may be accepted, and is discarded. */
static void expect_gone(deck_mbox_t box) {
  const double end = test_now() + 30;
  int rc;
  write_msg(out, 50, 666);
  do rc = deck_mbox_post_timed(box, out, LONG_TIME);
  while (rc == 0 && test_now() < end);
  CHECK(rc == DECK_EGONE, "posting to a destroyed box gives %d (%s)", rc, deck_strerror(rc));
  EXPECT(DECK_EGONE, deck_mbox_post_timed(box, out, 0));
  EXPECT(0, deck_mbox_destroy(box));
}

static void check_gone(void) {
  deck_mbox_t box = new_box("gone", me, 0, 0), used = find_box("gone", NEXT), unused = find_box("gone", NEXT), other;
  char name[64];
  int owner, i;
  send_to(used, out, 50, 1);
  send_to(used, out, 100000, 2);
  barrier();
  EXPECT(0, deck_mbox_destroy(box)); /* with two messages in it */
  box = new_box("gone", me, 0, 0);   /* the name is free at once */
  barrier();
  expect_gone(used); /* and not a way to the new box */
  expect_gone(unused);
  other = find_box("gone", NEXT);
  send_to(other, out, 51, 3);
  receive_from(box, in, 51, 3, PREVIOUS);
  expect_empty(box);
  EXPECT(0, deck_mbox_destroy(other));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
  barrier();
  snprintf(name, sizeof name, "gone.%d", NEXT);
  EXPECT(DECK_EAGAIN, deck_mbox_clone(name, 0, &other));
  barrier();
  box = new_box("gone", NEXT, 0, 0); /* free for another node, too */
  other = find_box("gone", me);
  send_to(other, out, 52, seed_of(12, me, 0));
  receive_from(box, in, 52, seed_of(12, NEXT, 0), NEXT);
  EXPECT(0, deck_mbox_destroy(other));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
  /* Senders wait for room in a full box. Its end ends their wait. */
  for (owner = 0; owner < nodes && owner < 3; owner++)
    for (i = 0; i < 2; i++) {
      barrier();
      box = me == owner ? new_box("full", i, MIB, 1) : NULL;
      if (box) send_to(box, out, 20, 1);
      other = me == owner ? NULL : find_box("full", i);
      barrier();
      if (box) {
        be_late(5);
        EXPECT(0, deck_mbox_destroy(box));
      } else {
        write_msg(out, i ? MIB : 20, 666);
        EXPECT(DECK_EGONE, deck_mbox_post(other, out));
        EXPECT(0, deck_mbox_destroy(other));
      }
    }
  barrier();
}

/* Many boxes one after another, some with names, up to 100 at a time; and as many at a time as may be. */
static void check_churn(void) {
  static deck_mbox_t set[5001];
  const char *limit = getenv("GASNET_SCI_DECK_BOXES");
  const int most = limit ? atoi(limit) : 1024;
  const double end = test_now() + 30;
  int i, n, rc;
  for (n = 0; n < 100; n++) {
    for (i = 0; i < 100; i++)
      if (i % 20 == 0)
        set[i] = new_box(i ? "churn" : "again", me * 1000 + i, 0, 0);
      else
        MUST(deck_mbox_create(NULL, NULL, &set[i]));
    send_to(set[n], out, (size_t)n * 150, seed_of(13, me, n));
    receive_from(set[n], in, (size_t)n * 150, seed_of(13, me, n), me);
    if (n % 3) send_to(set[99 - n], out, 9000, 5); /* is discarded */
    for (i = 0; i < 100; i++) EXPECT(0, deck_mbox_destroy(set[n % 2 ? i : 99 - i]));
  }
  barrier();
  /* The place of a box is free again when its senders know that it is gone. */
  for (n = 0; n < most && n < 5000;) {
    rc = deck_mbox_create(NULL, NULL, &set[n]);
    if (rc == 0)
      n++;
    else if (!CHECK(rc == DECK_ENOMEM && test_now() < end, "box %d gives %d (%s)", n, rc, deck_strerror(rc)))
      break;
    else
      EXPECT(0, deck_thread_yield());
  }
  if (n == most) EXPECT(DECK_ENOMEM, deck_mbox_create(NULL, NULL, &set[n]));
  while (n-- > 0) EXPECT(0, deck_mbox_destroy(set[n]));
  MUST(deck_mbox_create(NULL, NULL, &set[0]));
  EXPECT(0, deck_mbox_destroy(set[0]));
}

int main(int argc, char **argv) {
  deck_mbox_t mine, next;
  test_begin(&argc, &argv, TEST_NAME("deck-testbox"));
  out = new_msg(2 * MIB, DECK_AUTO);
  in = new_msg(2 * MIB, DECK_AUTO);
  check_names();
  list_sizes();
  mine = new_box("main", me, 0, 0);
  next = find_box("main", NEXT);
  expect_empty(mine);
  EXPECT(DECK_ETIMEDOUT, deck_mbox_retrv_timed(mine, in, SHORT_TIME));
  barrier();
  check_sizes(mine, next, DECK_AUTO);
  check_sizes(mine, next, DECK_AUTO + DECK_FIXED);
  check_sizes(mine, next, DECK_LOCAL);
  check_sizes(mine, next, DECK_LOCAL + DECK_FIXED);
  check_sizes(mine, next, DECK_SHARED);
  check_sizes(mine, next, DECK_SHARED + DECK_FIXED);
  check_trunc(mine, next);
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  EXPECT(0, deck_mbox_destroy(mine));
  check_first_all_post();
  check_messages();
  check_bytes();
  check_room_moves();
  check_select();
  check_gone();
  check_churn();
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
  return test_end();
}
