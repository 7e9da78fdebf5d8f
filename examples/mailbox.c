/* mailbox: DECK. Node 0 owns a box with a name. All nodes find it, and post messages with
 * text and numbers. */
#include <deck.h>
#include <stdio.h>
#include <string.h>

#define OK(call) check(call, #call)
static void check(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "mailbox: %s: %s\n", what, deck_strerror(error));
  _Exit(1);
}

enum { EACH = 100 };

int main(int argc, char **argv) {
  deck_mbox_t results = NULL, to_results;
  deck_msg_t msg;
  OK(deck_init(&argc, &argv));
  int me = deck_node(), nodes = deck_nodes(), wrong = 0;
  if (me == 0) OK(deck_mbox_create("results", NULL, &results));

  /* Waits until the box is there. */
  OK(deck_mbox_clone("results", DECK_FOREVER, &to_results));
  OK(deck_msg_create(256, DECK_AUTO, &msg));
  for (int32_t i = 0; i < EACH; i++) {
    double square = (double)i * i;
    OK(deck_msg_clear(msg));
    OK(deck_msg_pack_str(msg, "square"));
    OK(deck_msg_pack(msg, &i, DECK_INT32, 1));
    OK(deck_msg_pack(msg, &square, DECK_DOUBLE, 1));
    OK(deck_mbox_post(to_results, msg)); /* the message may be used again at once */
  }
  for (int n = 0; me == 0 && n < EACH * nodes; n++) {
    char word[16];
    int32_t i;
    double square;
    OK(deck_mbox_retrv(results, msg)); /* in the order of each sender */
    OK(deck_msg_unpack_str(msg, word, sizeof word));
    OK(deck_msg_unpack(msg, &i, DECK_INT32, 1));
    OK(deck_msg_unpack(msg, &square, DECK_DOUBLE, 1));
    wrong += strcmp(word, "square") != 0 || square != (double)i * i;
  }
  OK(deck_barrier());
  printf("mailbox: node %d of %d: %d messages posted, %d taken: %s\n", me, nodes, EACH,
         me == 0 ? EACH * nodes : 0, wrong ? "WRONG" : "right");
  OK(deck_mbox_destroy(to_results));
  OK(deck_msg_destroy(msg));
  OK(deck_done());
  return wrong != 0;
}
