/* Boxes that go while threads wait at them, and calls with a time beside a node that makes no call. Contract: deck.md
 * sections 2 and 4.
 *
 * usage: deck-testgone [rounds, default 6] */
#include "testdeck.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { ROOM = 4, CALLS = 400 }; /* more calls than messages that a node may have under way to another */

typedef struct {
  deck_mbox_t box;
  deck_msg_t msg;
  deck_sem_t begins;
  long thread;
  int rc;
} waiter_t;

/* Whether this thread of the process sleeps. */
static int is_asleep(long thread) {
  char name[64], text[256];
  const char *end;
  FILE *file;
  size_t got;
  snprintf(name, sizeof name, "/proc/self/task/%ld/stat", thread);
  if ((file = fopen(name, "r")) == NULL) return 0;
  got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = 0;
  end = strrchr(text, ')'); /* behind the thread's name stands its state */
  return end != NULL && strncmp(end, ") S", 3) == 0;
}

static void *post_one(void *with) {
  waiter_t *w = with;
  w->thread = syscall(SYS_gettid);
  EXPECT(0, deck_sem_v(w->begins));
  w->rc = deck_mbox_post_timed(w->box, w->msg, LONG_TIME);
  return NULL;
}

static void *select_one(void *with) {
  waiter_t *w = with;
  int which = -1;
  w->thread = syscall(SYS_gettid);
  EXPECT(0, deck_sem_v(w->begins));
  w->rc = deck_mbox_select(&w->box, 1, LONG_TIME, &which);
  return NULL;
}

/* A thread waits at a box of its own node; the box goes, and another one comes in its place. */
static void go_while_waiting(void *(*wait)(void *), int is_full, int round) {
  deck_mbox_t next = NULL;
  deck_thread_t thread = NULL;
  waiter_t w;
  int i;
  w.box = new_box("going", me * 1000 + round, 4096, ROOM);
  w.msg = new_msg(8, DECK_AUTO);
  w.rc = 1;
  write_msg(w.msg, 8, seed_of(1, me, round));
  for (i = 0; is_full && i < ROOM; i++) EXPECT(0, deck_mbox_post_timed(w.box, w.msg, LONG_TIME));
  MUST(deck_sem_create(0, &w.begins));
  MUST(deck_thread_create(wait, &w, &thread));
  EXPECT(0, deck_sem_p(w.begins));
  /* On a loaded machine it may take long until the thread is in its call, where it soon sleeps. */
  for (i = 0; i < 10000 && !is_asleep(w.thread); i++) be_late(1);
  be_late(5);
  EXPECT(0, deck_mbox_destroy(w.box));
  next = new_box("coming", me * 1000 + round, 4096, ROOM);
  be_late(5);
  if (!is_full) EXPECT(0, deck_mbox_post_timed(next, w.msg, LONG_TIME)); /* which is not for the thread */
  EXPECT(0, deck_thread_join(thread, NULL));
  CHECK(w.rc == DECK_EGONE, "round %d: waiting at a box that goes gives %d (%s)", round, w.rc, deck_strerror(w.rc));
  EXPECT(is_full ? 0 : 1, deck_mbox_pending(next));
  EXPECT(0, deck_mbox_destroy(next));
  EXPECT(0, deck_sem_destroy(w.begins));
  EXPECT(0, deck_msg_destroy(w.msg));
}

/* Node 0 makes calls with a time that need node 1, and gives it blocks back. Node 1 makes no call before all these are over. */
static void nobody_answers(void) {
  static deck_msg_t taken[CALLS];
  static char flag[256];
  const char *job = getenv("TMPDIR");
  deck_mbox_t full = NULL, mine = NULL, none = NULL;
  deck_msg_t msg = new_msg(600, DECK_SHARED);
  int i, pid = (int)getpid();
  EXPECT(0, deck_bcast(&pid, sizeof pid, 0));
  snprintf(flag, sizeof flag, "%s/deck-testgone.%d", job ? job : "/tmp", pid);
  if (me == 0) mine = new_box("blocks", 0, 0, 0);
  if (me == 1) full = new_box("full", 1, 4096, ROOM);
  if (me == 0) full = find_box("full", 1);
  if (me == 1) mine = find_box("blocks", 0);
  if (me == 1)
    for (i = 0; i < CALLS; i++) {
      deck_msg_t given = new_msg(600, DECK_SHARED);
      write_msg(given, 600, seed_of(2, 1, i));
      EXPECT(0, deck_mbox_give(mine, &given, LONG_TIME));
    }
  if (me == 0) {
    for (i = 0; i < CALLS; i++) EXPECT(0, deck_mbox_take(mine, &taken[i], LONG_TIME));
    write_msg(msg, 8, seed_of(3, 0, 0));
    for (i = 0; i < ROOM; i++) EXPECT(0, deck_mbox_post_timed(full, msg, LONG_TIME));
  }
  EXPECT(0, deck_barrier());
  if (me == 0) {
    int fd;
    for (i = 0; i < CALLS; i++) {
      read_msg(taken[i], 600, seed_of(2, 1, i), 1);
      EXPECT(0, deck_msg_destroy(taken[i]));
    }
    for (i = 0; i < CALLS; i++) {
      char name[32];
      EXPECT(DECK_ETIMEDOUT, deck_mbox_post_timed(full, msg, 10000));
      snprintf(name, sizeof name, "nobody.%d", i);
      EXPECT(DECK_ETIMEDOUT, deck_mbox_clone(name, 10000, &none));
    }
    fd = open(flag, O_CREAT | O_WRONLY, 0600);
    if (CHECK(fd >= 0, "cannot make %s", flag)) close(fd);
  } else if (me == 1) {
    const double end = test_now() + 30;
    while (access(flag, F_OK) && test_now() < end) usleep(1000);
    CHECK(unlink(flag) == 0, "calls with a time wait until this node makes one");
  }
  EXPECT(0, deck_barrier());
  /* All goes on: the box has the room that it had, and its sender gets it. */
  if (me == 1) {
    deck_msg_t got = new_msg(64, DECK_AUTO);
    for (i = 0; i < ROOM; i++) receive_from(full, got, 8, seed_of(3, 0, 0), 0);
    receive_from(full, got, 8, seed_of(4, 0, 0), 0);
    EXPECT(0, deck_msg_destroy(got));
  } else if (me == 0)
    send_to(full, msg, 8, seed_of(4, 0, 0));
  EXPECT(0, deck_barrier());
  if (me < 2) {
    EXPECT(0, deck_mbox_destroy(me ? mine : full));
    EXPECT(0, deck_barrier());
    EXPECT(0, deck_mbox_destroy(me ? full : mine));
  } else
    EXPECT(0, deck_barrier());
  EXPECT(0, deck_msg_destroy(msg));
}

int main(int argc, char **argv) {
  int round, rounds;
  test_begin(&argc, &argv, TEST_NAME("deck-testgone"));
  rounds = argc > 1 ? atoi(argv[1]) : 6;
  for (round = 0; round < rounds; round++) {
    go_while_waiting(post_one, 1, 2 * round);
    go_while_waiting(select_one, 0, 2 * round + 1);
  }
  if (nodes > 1) nobody_answers();
  return test_end();
}
