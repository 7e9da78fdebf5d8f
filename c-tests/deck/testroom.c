/* A box has room again once its owner has got a message, also if the owner then computes for long without a call. Contract:
 * seed-deck-parastation.md A2, point 6.
 *
 * usage: deck-testroom [rounds, default 32]
 *
 * Of four rounds the message comes in one while the owner polls, in one while it sleeps, in one about when it begins to wait, and in one
 * before. The times only arrange that: each order must pass. */
#include "testdeck.h"

#include <fcntl.h>
#include <unistd.h>

static char flag[512]; /* a file: the sender has found room */

/* The owner: gets a message, and makes no call until the sender says that it has found room. */
static void get_and_compute(deck_mbox_t box, deck_msg_t msg, int sender, int round) {
  double end;
  if (round % 4 == 3) usleep(2000);
  receive_from(box, msg, 8, seed_of(1, sender, round), sender);
  for (end = test_now() + 10; access(flag, F_OK) != 0 && test_now() < end;) usleep(1000);
  CHECK(unlink(flag) == 0, "round %d: the sender has said nothing", round);
  receive_from(box, msg, 8, seed_of(2, sender, round), sender);
}

static void post_two(deck_mbox_t box, deck_msg_t msg, int round) {
  const double start = test_now();
  int rc, fd;
  if (round % 4 == 0)
    while (test_now() < start + 300e-6) continue;
  if (round % 4 == 1) usleep(5000);
  send_to(box, msg, 8, seed_of(1, me, round));
  write_msg(msg, 8, seed_of(2, me, round));
  rc = deck_mbox_post_timed(box, msg, 5 * SECOND);
  CHECK(rc == 0, "round %d: no room while the owner computes: %d (%s)", round, rc, deck_strerror(rc));
  fd = open(flag, O_CREAT | O_WRONLY, 0600);
  if (CHECK(fd >= 0, "cannot make %s", flag)) close(fd);
  if (rc) EXPECT(0, deck_mbox_post_timed(box, msg, LONG_TIME));
}

int main(int argc, char **argv) {
  deck_mbox_t mine = NULL, box;
  deck_msg_t msg;
  const char *directory = getenv("TMPDIR");
  int rounds, round;
  setenv("GASNET_SCI_SPIN", "20000", 0); /* a node polls for a millisecond or two before it sleeps */
  test_begin(&argc, &argv, TEST_NAME("deck-testroom"));
  rounds = argc > 1 ? atoi(argv[1]) : 32;
  msg = new_msg(64, DECK_AUTO);
  snprintf(flag, sizeof flag, "%s/deck-testroom.%ld", directory ? directory : "/tmp", (long)getpid());
  EXPECT(0, deck_bcast(flag, sizeof flag, 0));
  if (me == 0) mine = new_box("room", 0, 8, 1);
  box = find_box("room", 0);
  for (round = 0; nodes > 1 && round < rounds; round++) {
    const int sender = 1 + round / 4 % (nodes - 1);
    EXPECT(0, deck_barrier());
    if (me == 0) get_and_compute(mine, msg, sender, round);
    else if (me == sender) post_two(box, msg, round);
  }
  EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_barrier());
  if (me == 0) EXPECT(0, deck_mbox_destroy(mine));
  EXPECT(0, deck_msg_destroy(msg));
  return test_end();
}
