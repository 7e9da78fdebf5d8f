/* Death of a node while messages are on the way: no test by itself, the job must end within a second, with a line (scenarios.txt).
 *
 * usage: deck-testdeath sender|owner|borrower|waiter|full [moment [length]]
 *
 * All nodes post and give messages to a box of node 0. The node that the first argument means kills itself at its message number `moment`:
 *   sender     node 1 between two posts          owner    node 0 between two retrievals
 *   borrower   node 0 with loans of the others   waiter   node 1, while node 0 waits for a message that nobody sends
 *   full       node 0, while the others wait for room
 * Without another node, node 0 is each of them. With a large moment the program goes on until something else kills a node: ci/soak --deaths
 * does so at any moment. */
#include "testdeck.h"

#include <signal.h>

static void die(void) {
  printf("node %d dies\n", me);
  fflush(stdout);
  raise(SIGKILL);
}

int main(int argc, char **argv) {
  const char *role = argc > 1 ? argv[1] : "sender";
  const int moment = argc > 2 ? atoi(argv[2]) : 10;
  const size_t length = argc > 3 ? (size_t)atol(argv[3]) : 20000;
  const int is_full = strcmp(role, "full") == 0, is_waiter = strcmp(role, "waiter") == 0;
  deck_mbox_t box = NULL, to;
  deck_msg_t in, out, lent[4] = {NULL, NULL, NULL, NULL}; /* loans that the borrower keeps */
  int n, sender, rc;
  test_begin(&argc, &argv, "deck-testdeath");
  sender = nodes > 1 ? 1 : 0;
  in = new_msg(0, DECK_AUTO);
  out = new_msg(length, DECK_AUTO);
  if (me == 0) box = new_box("death", 0, MIB, 16);
  to = find_box("death", 0);
  EXPECT(0, deck_barrier());
  for (n = 0;; n++) {
    if (n == moment && ((me == sender && (strcmp(role, "sender") == 0 || is_waiter)) ||
                        (me == 0 && (strcmp(role, "owner") == 0 || is_full))))
      die();
    if (me != 0 || nodes == 1) {
      if (is_waiter && n >= moment / 2) {
        EXPECT(0, deck_thread_yield()); /* nothing more for node 0 */
      } else if (n % 2) {
        deck_msg_t given = new_msg(length, DECK_SHARED);
        write_msg(given, length, seed_of(1, me, n));
        EXPECT(0, deck_mbox_give(to, &given, DECK_FOREVER));
      } else {
        write_msg(out, length, seed_of(1, me, n));
        EXPECT(0, deck_mbox_post(to, out));
      }
    }
    if (me == 0 && is_full && nodes > 1) {
      EXPECT(0, deck_thread_yield()); /* retrieves nothing */
    } else if (me == 0 && !(is_waiter && nodes == 1)) {
      deck_msg_t taken = NULL;
      if (strcmp(role, "borrower") == 0) {
        rc = deck_mbox_take(box, &taken, DECK_FOREVER);
        CHECK(rc == 0, "taking gives %d (%s)", rc, deck_strerror(rc));
        if (n >= moment && deck_msg_size(taken) == length) die();
        if (lent[n % 4]) EXPECT(0, deck_msg_destroy(lent[n % 4]));
        lent[n % 4] = taken;
      } else {
        EXPECT(0, deck_mbox_retrv(box, in));
        CHECK(deck_msg_size(in) == length, "%lu bytes", (unsigned long)deck_msg_size(in));
      }
    }
  }
}
