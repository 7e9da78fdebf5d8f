/* Messages that are given and taken: places, lengths, a ring of nodes, blocks that come back, order beside posts.
 *
 * usage: deck-testgive
 *
 * Node i gives to node i + 1, the last one to the first. Its box is called "give.i". */
#include "testdeck.h"

#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)

static deck_mbox_t mine, next;
static size_t limit = 8192; /* GASNET_SCI_DECK_MSG_BUF_LIMIT: local messages of this length are not given */

static void barrier(void) { EXPECT(0, deck_barrier()); }

/* Gives a pattern of this size. The message is made with a capacity that is larger by `spare`. */
static void give_to(deck_mbox_t box, size_t size, size_t spare, int place, unsigned seed) {
  deck_msg_t msg = new_msg(size + spare, place);
  write_msg(msg, size, seed);
  EXPECT(0, deck_mbox_give(box, &msg, LONG_TIME));
  CHECK(msg == NULL, "the giver of %lu bytes still has the message", (unsigned long)size);
}

/* Takes a message that must come, or NULL. */
static deck_msg_t take_from(deck_mbox_t box, size_t size, unsigned seed, int source) {
  deck_msg_t msg = NULL;
  int rc = deck_mbox_take(box, &msg, LONG_TIME);
  if (!CHECK(rc == 0 && msg, "taking %lu bytes gives %d (%s)", (unsigned long)size, rc, deck_strerror(rc))) return NULL;
  read_msg(msg, size, seed, source);
  return msg;
}

/* What a receiver has, it may write: its own bytes go nowhere else. */
static void write_and_destroy(deck_msg_t msg) {
  if (!msg) return;
  memset(deck_msg_data(msg), 0x55, deck_msg_size(msg));
  EXPECT(0, deck_msg_destroy(msg));
}

/* ---- sizes and places ---- */

static void check_sizes(int place, size_t most) {
  static const size_t sizes[] = {0,    1,    15,   16,    17,    51,    52,    53,     64,      111,     112,     113,        300,        1000, 4096,
                                 8176, 8191, 8192, 8193,  10000, 65535, 65536, 65537,  100001,  1048575, 1048576, 1048577,    4194304};
  int first, i, k;
  const int n = (int)(sizeof sizes / sizeof *sizes);
  for (first = 0; first < n; first = i) {
    for (i = first; i < n && i - first < 9; i++)
      if (sizes[i] <= most) give_to(next, sizes[i], i % 3 * 40, place, seed_of(place, me, i));
    for (k = first; k < i; k++)
      if (sizes[k] <= most) write_and_destroy(take_from(mine, sizes[k], seed_of(place, PREVIOUS, k), PREVIOUS));
  }
  expect_all_empty(mine);
}

static void check_places(void) {
  static const int far[] = {DECK_LOCAL, DECK_LOCAL + DECK_FIXED};
  deck_msg_t msg = NULL, none = NULL;
  int i;
  EXPECT(DECK_EARG, deck_mbox_give(next, NULL, 0));
  EXPECT(DECK_EARG, deck_mbox_give(next, &none, 0));
  EXPECT(DECK_EARG, deck_mbox_give(NULL, &none, 0));
  EXPECT(DECK_EARG, deck_mbox_take(mine, NULL, 0));
  EXPECT(DECK_EARG, deck_mbox_take(NULL, &msg, 0));
  EXPECT(DECK_EAGAIN, deck_mbox_take(mine, &msg, 0));
  EXPECT(DECK_ETIMEDOUT, deck_mbox_take(mine, &msg, SHORT_TIME));
  CHECK(msg == NULL, "a call that took nothing stored a message");
  barrier();
  for (i = 0; i < 2; i++) {
    const size_t sizes[] = {limit, limit + 1, MIB};
    int k;
    for (k = 0; k < 3; k++) {
      deck_msg_t kept;
      msg = kept = new_msg(sizes[k], far[i]);
      write_msg(msg, sizes[k], 77);
      EXPECT(DECK_EPLACE, deck_mbox_give(next, &msg, LONG_TIME));
      CHECK(msg == kept, "a refused message is gone");
      read_msg(msg, sizes[k], 77, -1);
      EXPECT(0, deck_mbox_post_timed(next, msg, LONG_TIME)); /* posting is allowed */
      write_and_destroy(take_from(mine, sizes[k], 77, PREVIOUS));
      EXPECT(0, deck_msg_destroy(msg));
    }
    give_to(next, limit - 1, 0, far[i], 78);
    write_and_destroy(take_from(mine, limit - 1, 78, PREVIOUS));
  }
  expect_all_empty(mine);
}

/* A full box refuses, and the message stays with the giver. */
static void check_full(void) {
  deck_mbox_t box = new_box("full", me, 4 * MIB, 2), to = find_box("full", NEXT);
  static const size_t sizes[] = {20, 200, 3000, 100000};
  int i;
  barrier();
  for (i = 0; i < 4; i++) {
    deck_msg_t msg, kept;
    give_to(to, sizes[i], 0, DECK_SHARED, seed_of(1, me, i));
    give_to(to, sizes[i], 0, DECK_SHARED, seed_of(2, me, i));
    msg = kept = new_msg(sizes[i], DECK_SHARED);
    write_msg(msg, sizes[i], 99);
    EXPECT(DECK_EAGAIN, deck_mbox_give(to, &msg, 0));
    EXPECT(DECK_ETIMEDOUT, deck_mbox_give(to, &msg, SHORT_TIME));
    CHECK(msg == kept, "a refused message is gone");
    read_msg(msg, sizes[i], 99, -1);
    barrier();
    write_and_destroy(take_from(box, sizes[i], seed_of(1, PREVIOUS, i), PREVIOUS));
    barrier();
    EXPECT(0, deck_mbox_give(to, &msg, LONG_TIME));
    CHECK(msg == NULL, "the giver still has the message");
    write_and_destroy(take_from(box, sizes[i], seed_of(2, PREVIOUS, i), PREVIOUS));
    write_and_destroy(take_from(box, sizes[i], 99, PREVIOUS));
    expect_empty(box);
    barrier();
  }
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
}

/* ---- the ring ---- */

/* Every node starts a message. Each hop reads what the one before wrote, and writes all of it anew. */
static void ring(size_t size, size_t capacity, int laps) {
  deck_msg_t msg = new_msg(capacity, DECK_SHARED);
  const int hops = laps * nodes;
  size_t has;
  int hop;
  write_msg(msg, size, seed_of(3, me, 0));
  for (hop = 1; hop <= hops; hop++) {
    const int origin = ((me - hop) % nodes + nodes) % nodes; /* of the message that comes now */
    EXPECT(0, deck_mbox_give(next, &msg, LONG_TIME));
    msg = take_from(mine, size, seed_of(3, origin, hop - 1), PREVIOUS);
    if (!msg) return;
    /* All of it is to be written, also what was not sent; the size stays. */
    if (hop == hops - 1) fill(deck_msg_data(msg), deck_msg_capacity(msg), 5);
    EXPECT(0, deck_msg_clear(msg));
    write_msg(msg, size, seed_of(3, origin, hop));
  }
  has = deck_msg_capacity(msg); /* what it was made with, unless it came from another host */
  EXPECT(0, deck_msg_set_size(msg, has));
  EXPECT(DECK_ETRUNC, deck_msg_set_size(msg, has + 1));
  write_msg(msg, size, 4);
  read_msg(msg, size, 4, PREVIOUS);
  EXPECT(0, deck_msg_destroy(msg)); /* home again */
}

/* ---- blocks come back ---- */

/* Three times the heap's 64 MiB go through it. Who sends waits for a word of the receiver after each 8. */
static void check_blocks_return(void) {
  enum { ROUNDS = 24, WINDOW = 8 };
  deck_mbox_t words = new_box("word", me, 0, 0), to = find_box("word", PREVIOUS);
  deck_msg_t word = new_msg(16, DECK_LOCAL), back = new_msg(16, DECK_FIXED);
  int round, i;
  for (round = 0; round < ROUNDS; round++) {
    for (i = 0; i < WINDOW; i++)
      give_to(next, MIB, 0, round % 2 ? DECK_AUTO : DECK_SHARED, seed_of(6, me, round * WINDOW + i));
    for (i = 0; i < WINDOW; i++) {
      const unsigned seed = seed_of(6, PREVIOUS, round * WINDOW + i);
      if (round % 4 == 3) { /* the message that takes the block of the other lives on for a while */
        static deck_msg_t last;
        if (!last) last = new_msg(10, DECK_AUTO);
        receive_from(mine, last, MIB, seed, PREVIOUS);
        if (round == ROUNDS - 1 && i == WINDOW - 1) EXPECT(0, deck_msg_destroy(last));
      } else {
        write_and_destroy(take_from(mine, MIB, seed, PREVIOUS));
      }
    }
    send_to(to, word, 8, seed_of(7, me, round));
    receive_from(words, back, 8, seed_of(7, NEXT, round), NEXT);
  }
  /* What a box holds when it goes comes back, too. */
  for (round = 0; round < 12; round++) {
    deck_mbox_t box = new_box("lost", me, 0, 0), lost = find_box("lost", NEXT);
    for (i = 0; i < 8; i++) give_to(lost, MIB, 0, DECK_SHARED, 8);
    EXPECT(0, deck_mbox_destroy(lost));
    barrier();
    EXPECT(0, deck_mbox_destroy(box));
    barrier();
  }
  /* And what is never sent. */
  for (round = 0; round < 100; round++) {
    deck_msg_t msg = new_msg(4 * MIB, DECK_SHARED);
    write_msg(msg, 100, 9);
    EXPECT(0, deck_msg_destroy(msg));
  }
  EXPECT(0, deck_msg_destroy(word));
  EXPECT(0, deck_msg_destroy(back));
  EXPECT(0, deck_mbox_destroy(to));
  barrier();
  EXPECT(0, deck_mbox_destroy(words));
}

/* ---- order ---- */

/* The length of message `n`. Short and long ones follow each other in all combinations. */
static size_t length_of(int n) {
  static const size_t lengths[] = {0, 8, 52, 53, 112, 113, 1000, 8000, 8191, 8192, 9000, 65536, 200000};
  const int count = (int)(sizeof lengths / sizeof *lengths);
  return lengths[(n % count + n / count * (n % 2 ? 1 : 5)) % count];
}

/* Even messages are posted, odd ones given; or in threes. The receiver retrieves, or takes, in another rhythm. */
static void check_order(void) {
  enum { BATCH = 60, BATCHES = 8 };
  deck_msg_t out = new_msg(200000, DECK_AUTO), any = new_msg(0, DECK_AUTO), fixed = new_msg(200000, DECK_FIXED);
  void *const address = deck_msg_data(fixed);
  int batch, i;
  for (batch = 0; batch < BATCHES; batch++) {
    for (i = 0; i < BATCH; i++) {
      const int n = batch * BATCH + i;
      const size_t length = length_of(n);
      if (batch % 2 ? i % 2 : i / 3 % 2)
        give_to(next, length, (size_t)n % 100,
                i % 5 == 0 ? DECK_AUTO : length + 100 < limit && i % 2 ? DECK_LOCAL : DECK_SHARED, seed_of(10, me, n));
      else
        send_to(next, out, length, seed_of(10, me, n));
    }
    for (i = 0; i < BATCH; i++) {
      const int n = batch * BATCH + i, way = batch < 3 ? batch : (i + batch) % 3;
      const unsigned seed = seed_of(10, PREVIOUS, n);
      if (way == 0)
        receive_from(mine, any, length_of(n), seed, PREVIOUS);
      else if (way == 1)
        receive_from(mine, fixed, length_of(n), seed, PREVIOUS);
      else
        write_and_destroy(take_from(mine, length_of(n), seed, PREVIOUS));
      if (way == 1) CHECK(deck_msg_data(fixed) == address, "the address of a FIXED message has changed");
    }
  }
  expect_all_empty(mine);
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(any));
  EXPECT(0, deck_msg_destroy(fixed));
}

/* A given message that a FIXED one is too small for stays in the box. */
static void check_trunc(void) {
  deck_msg_t small = new_msg(16, DECK_FIXED);
  const size_t sizes[] = {deck_msg_capacity(small) + 1, 300, 20000, MIB};
  int i;
  for (i = 0; i < 4; i++) {
    const size_t size = sizes[i] < sizes[0] ? sizes[0] : sizes[i];
    give_to(next, size, 0, DECK_SHARED, seed_of(11, me, i));
    EXPECT(DECK_ETRUNC, deck_mbox_retrv_timed(mine, small, LONG_TIME));
    EXPECT(DECK_ETRUNC, deck_mbox_retrv(mine, small));
    write_and_destroy(take_from(mine, size, seed_of(11, PREVIOUS, i), PREVIOUS));
  }
  EXPECT(0, deck_msg_destroy(small));
}

/* A message that was taken is posted and given on; one that was retrieved, too. */
static void check_pass_on(size_t size) {
  deck_msg_t msg, in = new_msg(64, DECK_SHARED);
  give_to(next, size, 0, DECK_SHARED, seed_of(12, me, 0));
  msg = take_from(mine, size, seed_of(12, PREVIOUS, 0), PREVIOUS);
  if (!msg) return;
  EXPECT(0, deck_mbox_post_timed(next, msg, LONG_TIME));
  receive_from(mine, in, size, seed_of(12, (PREVIOUS + nodes - 1) % nodes, 0), PREVIOUS);
  read_msg(msg, size, seed_of(12, PREVIOUS, 0), PREVIOUS); /* posting has left it alone */
  EXPECT(0, deck_mbox_give(next, &in, LONG_TIME));
  CHECK(in == NULL, "the giver still has the message");
  write_and_destroy(take_from(mine, size, seed_of(12, (PREVIOUS + 2 * nodes - 2) % nodes, 0), PREVIOUS));
  write_and_destroy(msg);
}

int main(int argc, char **argv) {
  deck_msg_t kept;
  const char *text;
  setenv("GASNET_SCI_DECK_MSG_BUF_LIMIT", "8192", 0); /* against a tuned one */
  test_begin(&argc, &argv, TEST_NAME("deck-testgive"));
  text = getenv("GASNET_SCI_DECK_MSG_BUF_LIMIT");
  if (text && atol(text) > 100) limit = (size_t)atol(text);
  mine = new_box("give", me, 0, 0);
  next = find_box("give", NEXT);
  check_places();
  check_sizes(DECK_SHARED, 4 * MIB);
  check_sizes(DECK_AUTO, 4 * MIB);
  check_sizes(DECK_LOCAL, limit - 100);
  check_sizes(DECK_SHARED + DECK_FIXED, 4 * MIB);
  check_full();
  ring(0, 0, 3);
  ring(40, 40, 3);
  ring(100, 5000, 3);
  ring(60000, 100000, 3);
  ring(MIB, MIB, 3);
  ring(4 * MIB, 4 * MIB, 1);
  check_blocks_return();
  check_order();
  check_trunc();
  check_pass_on(30);
  check_pass_on(3000);
  check_pass_on(300000);
  /* A block of another node outlives the box it came by. */
  give_to(next, 50000, 0, DECK_SHARED, seed_of(13, me, 0));
  kept = take_from(mine, 50000, seed_of(13, PREVIOUS, 0), PREVIOUS);
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  EXPECT(0, deck_mbox_destroy(mine));
  barrier();
  if (kept) read_msg(kept, 50000, seed_of(13, PREVIOUS, 0), PREVIOUS);
  write_and_destroy(kept);
  return test_end();
}
