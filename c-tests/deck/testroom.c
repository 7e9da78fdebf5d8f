/* A box has room again once its owner has got a message, also if the owner then computes for long without a call. Contract:
 * deck.md section 6.
 *
 * usage: deck-testroom [rounds, default 32]
 *
 * Of four rounds the message comes in one while the owner polls, in one while it sleeps, in one about when it begins to wait, and in one
 * before. The times only arrange that: each order must pass. After these rounds come as many in which the owner gets messages of two full
 * boxes at once, and computes only then. */
#include "testdeck.h"

#include <fcntl.h>
#include <unistd.h>

static char flag[512]; /* a file: the sender has found room */

static void raise_flag(void) {
  int fd = open(flag, O_CREAT | O_WRONLY, 0600);
  if (CHECK(fd >= 0, "cannot make %s", flag)) close(fd);
}

/* Computes, without a call, until the sender says that it has found room. */
static void compute(int round) {
  double end;
  for (end = test_now() + 10; access(flag, F_OK) != 0 && test_now() < end;) usleep(1000);
  CHECK(unlink(flag) == 0, "round %d: the sender has said nothing", round);
}

/* The owner: gets a message, and makes no call until the sender says that it has found room. */
static void get_and_compute(deck_mbox_t box, deck_msg_t msg, int sender, int round) {
  if (round % 4 == 3) usleep(2000);
  receive_from(box, msg, 8, seed_of(1, sender, round), sender);
  compute(round);
  receive_from(box, msg, 8, seed_of(2, sender, round), sender);
}

static void post_two(deck_mbox_t box, deck_msg_t msg, int round) {
  const double start = test_now();
  int rc;
  if (round % 4 == 0)
    while (test_now() < start + 300e-6) continue;
  if (round % 4 == 1) usleep(5000);
  send_to(box, msg, 8, seed_of(1, me, round));
  write_msg(msg, 8, seed_of(2, me, round));
  rc = deck_mbox_post_timed(box, msg, 5 * SECOND);
  CHECK(rc == 0, "round %d: no room while the owner computes: %d (%s)", round, rc, deck_strerror(rc));
  raise_flag();
  if (rc) EXPECT(0, deck_mbox_post_timed(box, msg, LONG_TIME));
}

/* The owner: the second message is got right after the first one, which has left credits to send. Those of both must go out. */
static void get_both_and_compute(deck_mbox_t *pair, deck_msg_t msg, deck_msg_t other, int sender, int round) {
  const int order = round / 2 % 2; /* which box is first */
  int i, first, second;
  for (i = 0; i < 2; i++) await_pending(pair[i], 1);
  if (round % 2) usleep(2000); /* the sender waits for room by then */
  first = deck_mbox_retrv_timed(pair[order], msg, 0);
  second = deck_mbox_retrv_timed(pair[!order], other, 0);
  compute(round);
  CHECK(first == 0 && second == 0, "round %d: retrieving gives %d and %d", round, first, second);
  read_msg(msg, 8, seed_of(3 + order, sender, round), sender);
  read_msg(other, 8, seed_of(3 + !order, sender, round), sender);
  for (i = 0; i < 2; i++) receive_from(pair[i], msg, 8, seed_of(5 + i, sender, round), sender);
}

static void post_to_both(deck_mbox_t *pair, deck_msg_t msg, int round) {
  int i, rc[2];
  for (i = 0; i < 2; i++) send_to(pair[i], msg, 8, seed_of(3 + i, me, round));
  for (i = 0; i < 2; i++) {
    write_msg(msg, 8, seed_of(5 + i, me, round));
    rc[i] = deck_mbox_post_timed(pair[i], msg, 4 * SECOND);
    CHECK(rc[i] == 0, "round %d: no room in box %d while the owner computes: %d (%s)", round, i, rc[i], deck_strerror(rc[i]));
  }
  raise_flag();
  for (i = 0; i < 2; i++)
    if (rc[i]) send_to(pair[i], msg, 8, seed_of(5 + i, me, round));
}

int main(int argc, char **argv) {
  deck_mbox_t mine = NULL, box, own[2] = {NULL, NULL}, pair[2];
  deck_msg_t msg, other;
  const char *directory = getenv("TMPDIR");
  int rounds, round, i;
  setenv("GASNET_SCI_SPIN", "20000", 0); /* a node polls for a millisecond or two before it sleeps */
  test_begin(&argc, &argv, TEST_NAME("deck-testroom"));
  rounds = argc > 1 ? atoi(argv[1]) : 32;
  msg = new_msg(64, DECK_AUTO);
  other = new_msg(64, DECK_AUTO);
  snprintf(flag, sizeof flag, "%s/deck-testroom.%ld", directory ? directory : "/tmp", (long)getpid());
  EXPECT(0, deck_bcast(flag, sizeof flag, 0));
  if (me == 0) mine = new_box("room", 0, 8, 1);
  box = find_box("room", 0);
  for (i = 0; i < 2; i++) {
    if (me == 0) own[i] = new_box("pair", i, 8, 1);
    pair[i] = find_box("pair", i);
  }
  for (round = 0; nodes > 1 && round < rounds; round++) {
    const int sender = 1 + round / 4 % (nodes - 1);
    EXPECT(0, deck_barrier());
    if (me == 0) get_and_compute(mine, msg, sender, round);
    else if (me == sender) post_two(box, msg, round);
  }
  for (round = 0; nodes > 1 && round < rounds; round++) {
    const int sender = 1 + round / 4 % (nodes - 1);
    EXPECT(0, deck_barrier());
    if (me == 0) get_both_and_compute(own, msg, other, sender, round);
    else if (me == sender) post_to_both(pair, msg, round);
  }
  EXPECT(0, deck_mbox_destroy(box));
  for (i = 0; i < 2; i++) EXPECT(0, deck_mbox_destroy(pair[i]));
  EXPECT(0, deck_barrier());
  if (me == 0) EXPECT(0, deck_mbox_destroy(mine));
  for (i = 0; me == 0 && i < 2; i++) EXPECT(0, deck_mbox_destroy(own[i]));
  EXPECT(0, deck_msg_destroy(msg));
  EXPECT(0, deck_msg_destroy(other));
  return test_end();
}
