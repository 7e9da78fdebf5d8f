/* deck_done ends the calls of other threads that wait without limit. Contract: deck.md section 1.
 *
 * usage: deck-testending */
#include "testdeck.h"

#include <pthread.h>

#define NEXT ((me + 1) % nodes)

enum { RETRIEVE, TAKE, SELECT, CLONE, POST, GIVE, POST_NEXT, SEM, JOIN, SERVED, CALLS };
static const char *const names[] = {"deck_mbox_retrv", "deck_mbox_take", "deck_mbox_select", "deck_mbox_clone", "deck_mbox_post",
                                    "deck_mbox_give",  "a post to another node", "deck_sem_p", "deck_thread_join", "a thread of DECK"};

static deck_mbox_t empty, full, next;
static deck_sem_t sem;
static deck_thread_t sleeper;
static int begun[CALLS], result[CALLS];

static int call(int which) {
  deck_msg_t msg = which == GIVE || which == POST || which == POST_NEXT ? new_msg(8, DECK_AUTO) : NULL, in = NULL;
  deck_mbox_t other = NULL;
  void *back = NULL;
  int at = -1, rc;
  if (msg) write_msg(msg, 8, 1);
  if (which == RETRIEVE) in = new_msg(8, DECK_AUTO);
  STORE(&begun[which], 1);
  switch (which) {
  case RETRIEVE: rc = deck_mbox_retrv(empty, in); break;
  case TAKE: rc = deck_mbox_take(empty, &in, DECK_FOREVER); break;
  case SELECT: rc = deck_mbox_select(&empty, 1, DECK_FOREVER, &at); break;
  case CLONE: rc = deck_mbox_clone("nobody creates it", DECK_FOREVER, &other); break;
  case POST: rc = deck_mbox_post(full, msg); break;
  case GIVE: rc = deck_mbox_give(full, &msg, DECK_FOREVER); break;
  case POST_NEXT: rc = deck_mbox_post(next, msg); break;
  case JOIN: rc = deck_thread_join(sleeper, &back); break;
  default: rc = deck_sem_p(sem);
  }
  CHECK(at == -1 && other == NULL && (which != GIVE || msg), "%s has failed, and has a result", names[which]);
  if (msg) CHECK(differs(deck_msg_data(msg), 8, 1) == 8, "%s has failed, and changed the message", names[which]);
  return rc; /* the messages stay: to destroy one after deck_done is refused */
}

static void *body(void *which) {
  result[*(int *)which] = call(*(int *)which);
  return NULL;
}

static void *served(void *with) {
  result[SERVED] = call(SERVED);
  STORE((int *)with, 1);
  return NULL;
}

int main(int argc, char **argv) {
  static int which[CALLS], over;
  pthread_t threads[CALLS];
  deck_msg_t msg;
  int i;
  test_begin(&argc, &argv, "deck-testending");
  msg = new_msg(8, DECK_AUTO);
  write_msg(msg, 8, 2);
  empty = new_box("empty", me, 0, 0);
  full = new_box("full", me, 100, 1);
  next = find_box("full", NEXT);
  EXPECT(0, deck_mbox_post_timed(full, msg, LONG_TIME));
  EXPECT(0, deck_barrier()); /* all boxes are full */
  CHECK(deck_mbox_fd(empty) >= 0, "no descriptor"); /* the thread behind it ends, too */
  MUST(deck_sem_create(0, &sem));
  MUST(deck_thread_create(served, &over, &sleeper));
  for (i = 0; i < CALLS; i++) {
    which[i] = i;
    if (i != SERVED && pthread_create(&threads[i], NULL, body, &which[i])) exit(99);
  }
  for (i = 0; i < CALLS; i++)
    while (!LOAD(&begun[i])) be_late(1);
  be_late(5); /* most of them sleep by now */
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_done());
  for (i = 0; i < CALLS; i++)
    if (i != SERVED) (void)pthread_join(threads[i], NULL);
  while (!LOAD(&over)) usleep(1000);
  for (i = 0; i < CALLS; i++) {
    const int at_box = i <= SELECT || (i >= POST && i <= POST_NEXT); /* the box may go first */
    if (i == JOIN && result[i] == 0) continue; /* the thread that it waits for has ended first */
    CHECK(result[i] == DECK_EINIT || (at_box && result[i] == DECK_EGONE), "%s gives %d (%s)", names[i], result[i],
          deck_strerror(result[i]));
  }
  EXPECT(DECK_EINIT, deck_sem_p(sem));
  test_say();
  return test_report();
}
