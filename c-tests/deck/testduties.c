/* What a node owes others goes out although none of its calls has to wait, and although it makes no further call. Contract:
 * deck.md sections 4 and 6.
 *
 * usage: deck-testduties [rounds, default 12]
 *
 * A name: one node waits for a name; its owner creates it and then computes without a call. With several names each node is the one that keeps
 * some of them. A producer: a node only posts, to a box that has room; meanwhile another one finds names that the producer keeps, and posts to a
 * box of the producer's that is full until that one serves it. */
#include "testdeck.h"

#include <fcntl.h>
#include <unistd.h>

static char flag[512]; /* a file: the other node has got what it needs */

static void raise_flag(void) {
  int fd = open(flag, O_CREAT | O_WRONLY, 0600);
  if (CHECK(fd >= 0, "cannot make %s", flag)) close(fd);
}

static int is_raised(void) { return access(flag, F_OK) == 0; }

/* Takes the flag down once it is raised, without any call of the library. 0, or -1 if it is not raised for so many seconds. */
static int await_flag(int seconds) {
  const double end = test_now() + seconds;
  while (!is_raised() && test_now() < end) usleep(100);
  return unlink(flag);
}

/* Node 0 creates a name once another node is about to wait for it, and makes no call until that one has found it. Returns whether it was not
 * found for two seconds. Node 0 then makes a call: a question that comes after the creation, because the machine is busy, needs one. */
static int create_and_compute(int finder, int round) {
  deck_mbox_t box = NULL;
  int is_late = 0;
  if (me == 0) {
    double end;
    await_flag(10);
    usleep(round % 2 ? 20000 : 2000);
    box = new_box("duty", round, 0, 0);
    if (await_flag(2)) {
      is_late = 1;
      for (end = test_now() + 10; !is_raised() && test_now() < end; usleep(100)) deck_mbox_pending(box);
      CHECK(await_flag(0) == 0, "round %d: nobody has found the name", round);
    }
  } else if (me == finder) {
    raise_flag();
    box = find_box("duty", round);
    raise_flag();
  }
  EXPECT(0, deck_barrier());
  if (box) EXPECT(0, deck_mbox_destroy(box));
  return is_late;
}

/* Node 0 posts, `pause` microseconds apart, and makes no other call until the other node has said that it is served. */
static void only_post(deck_mbox_t mine, deck_mbox_t box, deck_msg_t msg, int other, int round) {
  const useconds_t pause = round % 2 ? 20 : 500;
  const int most = 200000; /* its share of the other's box, which holds a million, has no end before that */
  int n, sent = 0;
  EXPECT(0, deck_barrier());
  if (me == 0) {
    double end = test_now() + 20;
    while (sent < most && test_now() < end && (sent % 64 != 0 || !is_raised())) {
      write_msg(msg, 8, seed_of(1, round, sent++));
      EXPECT(0, deck_mbox_post_timed(box, msg, LONG_TIME));
      usleep(pause);
    }
    CHECK(await_flag(10) == 0, "round %d: another node is not served while this one posts", round);
  } else if (me == other) {
    deck_mbox_t of, known;
    of = find_box("served", 0);
    for (n = 0; n < 4; n++) {
      send_to(of, msg, 8, seed_of(2, round, n)); /* the box holds four: a share of it at a time, and each share is asked for */
      known = find_box("kept", n);               /* among these names is one that node 0 keeps */
      EXPECT(0, deck_mbox_destroy(known));
    }
    raise_flag();
    EXPECT(0, deck_mbox_destroy(of));
  }
  EXPECT(0, deck_bcast(&sent, sizeof sent, 0));
  if (me == 0)
    for (n = 0; n < 4; n++) receive_from(mine, msg, 8, seed_of(2, round, n), other);
  else if (me == other)
    for (n = 0; n < sent; n++) receive_from(mine, msg, 8, seed_of(1, round, n), 0);
}

int main(int argc, char **argv) {
  deck_mbox_t mine, box, kept[4];
  deck_msg_t msg;
  const char *directory = getenv("TMPDIR");
  int rounds, round, n, late = 0;
  test_begin(&argc, &argv, TEST_NAME("deck-testduties"));
  rounds = argc > 1 ? atoi(argv[1]) : 12;
  msg = new_msg(64, DECK_AUTO);
  snprintf(flag, sizeof flag, "%s/deck-testduties.%ld", directory ? directory : "/tmp", (long)getpid());
  EXPECT(0, deck_bcast(flag, sizeof flag, 0));
  for (round = 0; nodes > 1 && round < rounds; round++) late += create_and_compute(1 + round % (nodes - 1), round);
  CHECK(late <= rounds / 4, "%d of %d names were found only after two seconds", late, rounds);
  for (n = 0; me == 0 && n < 4; n++) kept[n] = new_box("kept", n, 0, 0);
  mine = me == 0 ? new_box("served", 0, 4096, 4) : new_box("sink", me, MIB * 16, 1 << 20);
  for (round = 0; nodes > 1 && round < rounds; round++) {
    const int other = 1 + round % (nodes - 1);
    EXPECT(0, deck_barrier());
    box = find_box("sink", other);
    only_post(mine, box, msg, other, round);
    EXPECT(0, deck_mbox_destroy(box));
  }
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_mbox_destroy(mine));
  for (n = 0; me == 0 && n < 4; n++) EXPECT(0, deck_mbox_destroy(kept[n]));
  EXPECT(0, deck_msg_destroy(msg));
  return test_end();
}
