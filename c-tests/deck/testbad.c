/* Misuse, one case for each run, in scenarios.txt: what a program with DECK_DEBUG or GASNET_DEBUG is told, and that the call is refused.
 *
 * usage: deck-testbad given|destroyed|destroyed-box|destroyed-sem|type|place|null|outside|after|twice|time|handler|mode
 *
 * Node 0 misuses a call; the others only take part. The lines that must come are in scenarios.txt. `handler` ends the job in a debug
 * build; in another one the call gives DECK_EARG. */
#include "../test.h"

#include "testdeck.h"

static const char *what;
static int in_handler = 1, handled;
static deck_mbox_t box;
static deck_msg_t message;

static void ask_h(gasnet_token_t token) {
  (void)token;
  in_handler = deck_mbox_post_timed(box, message, 0);
  handled = 1;
}

/* The case is this one; node 0 does it. */
static int is(const char *name) { return me == 0 && strcmp(what, name) == 0; }

static void *nothing(void *arg) { return arg; }

static void misuse(void) {
  deck_msg_t first = NULL, alias = NULL;
  deck_mbox_t box_alias = box;
  deck_thread_t thread = NULL;
  deck_sem_t sem = NULL, sem_alias;
  int32_t one = 1;
  double two = 2;
  if (is("given")) {
    MUST(deck_msg_create(100, DECK_SHARED, &first));
    alias = first;
    MUST(deck_mbox_give(box, &first, 0));
    EXPECT(DECK_EARG, deck_mbox_post(box, alias));
  } else if (is("destroyed")) {
    MUST(deck_msg_create(100, DECK_LOCAL, &first));
    alias = first;
    MUST(deck_msg_destroy(first));
    EXPECT(DECK_EARG, deck_msg_set_size(alias, 8));
  } else if (is("destroyed-box")) {
    MUST(deck_mbox_destroy(box));
    box = NULL;
    EXPECT(DECK_EARG, deck_mbox_post(box_alias, message));
  } else if (is("destroyed-sem")) {
    MUST(deck_sem_create(1, &sem));
    sem_alias = sem;
    MUST(deck_sem_destroy(sem));
    EXPECT(DECK_EARG, deck_sem_v(sem_alias));
  } else if (is("type")) {
    MUST(deck_msg_pack(message, &one, DECK_INT32, 1));
    EXPECT(DECK_ETYPE, deck_msg_unpack(message, &two, DECK_DOUBLE, 1));
  } else if (is("place")) {
    MUST(deck_msg_create(1000000, DECK_LOCAL, &first));
    EXPECT(0, deck_msg_set_size(first, 1000000));
    alias = first;
    EXPECT(DECK_EPLACE, deck_mbox_give(box, &first, 0));
    CHECK(first == alias, "a refused give has changed the message's handle");
  } else if (is("null")) {
    EXPECT(DECK_EARG, deck_mbox_post(box, NULL));
  } else if (is("twice")) {
    EXPECT(DECK_ETWICE, deck_init(NULL, NULL));
  } else if (is("time")) {
    EXPECT(DECK_EARG, deck_mbox_post_timed(box, message, -2));
  } else if (is("handler")) {
    GASNET_SAFE(gasnet_AMRequestShort0(0, 201));
    GASNET_BLOCKUNTIL(handled);
    CHECK(in_handler == DECK_EARG, "posting in a handler gives %d", in_handler);
  } else if (is("mode")) {
#if defined GASNET_SEQ || defined GASNET_PARSYNC
    EXPECT(DECK_EMODE, deck_thread_create(nothing, NULL, &thread));
    EXPECT(DECK_EMODE, deck_mbox_fd(box));
#else
    MUST(deck_thread_create(nothing, &one, &thread));
    EXPECT(0, deck_thread_join(thread, NULL));
#endif
  }
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{201, (void (*)())ask_h}};
  test_name = "deck-testbad";
  what = argc > 1 ? argv[1] : "";
  if (gasnet_init(&argc, &argv) != GASNET_OK) exit(99);
  alarm(60);
  me = (int)gasnet_mynode();
  nodes = (int)gasnet_nodes();
  if (is("early")) EXPECT(DECK_EINIT, deck_init(NULL, NULL));
#ifdef GASNET_SEGMENT_EVERYTHING
  GASNET_SAFE(gasnet_attach(table, 1, 0, 0));
#else
  GASNET_SAFE(gasnet_attach(table, 1, GASNET_PAGESIZE, 0));
#endif
  test_begin(test_name);
  if (is("outside")) EXPECT(DECK_EINIT, deck_barrier());
  MUST(deck_init(NULL, NULL));
  if (me == 0) {
    MUST(deck_mbox_create("bad", NULL, &box));
    message = new_msg(100, DECK_AUTO);
  }
  misuse();
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_done());
  if (is("after")) EXPECT(DECK_EINIT, deck_node());
  test_barrier();
  test_end();
  return 0;
}
