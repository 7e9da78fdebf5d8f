/* Tasks: 100 that end as they were told, one that is killed, ones that run elsewhere, and one that runs on when the job ends.
 *
 * usage: deck-testspawn */
#include "testdeck.h"
#include <signal.h>
#include <sys/wait.h>

enum { MANY = 100 };

/* Starts tasks that run a line of shell, with the task's word as $1. */
static void start(const char *line, const char *word, int n, int place, int *tasks) {
  char script[] = "sh", option[] = "-c", text[512], zeroth[] = "task", first[256];
  char *argv[6];
  snprintf(text, sizeof text, "%s", line);
  snprintf(first, sizeof first, "%s", word);
  argv[0] = script, argv[1] = option, argv[2] = text, argv[3] = zeroth, argv[4] = first, argv[5] = NULL;
  EXPECT(0, deck_spawn("sh", argv, n, place, tasks));
}

static int end_of(int task) {
  int status = -1;
  EXPECT(0, deck_wait(task, &status));
  return status;
}

static void check_arguments(void) {
  char *argv[] = {NULL};
  int tasks[2], status;
  EXPECT(DECK_EARG, deck_spawn(NULL, argv, 1, 0, tasks));
  EXPECT(DECK_EARG, deck_spawn("true", argv, 1, 0, NULL));
  EXPECT(DECK_EARG, deck_spawn("true", argv, 0, 0, tasks));
  EXPECT(DECK_EARG, deck_spawn("true", argv, 4097, 0, tasks));
  EXPECT(DECK_EARG, deck_spawn("true", argv, 1, nodes, tasks));
  EXPECT(DECK_EARG, deck_spawn("true", argv, 1, -3, tasks));
  EXPECT(DECK_EARG, deck_spawn("gasnet-sci-has-no-such-program", argv, 1, 0, tasks));
  EXPECT(DECK_EARG, deck_spawn("/nowhere/program", argv, 1, 0, tasks));
  EXPECT(DECK_EARG, deck_wait(-1, &status));
  EXPECT(DECK_EARG, deck_wait(1000000, &status));
  EXPECT(0, deck_spawn("true", NULL, 2, me, tasks));
  CHECK(end_of(tasks[0]) == 0 && end_of(tasks[1]) == 0, "true(1) succeeds");
  EXPECT(DECK_EARG, deck_wait(tasks[0], &status)); /* its end was told */
}

/* 100 at all places, each with its own word and status. All nodes wait for some of them. */
static void check_many(void) {
  int tasks[MANY], i, status;
  for (i = 0; me == 0 && i < MANY; i++) {
    char word[16];
    snprintf(word, sizeof word, "%d", i);
    start("echo word $1 of a task; exit $(($1 % 50))", word, 1, i % 3 == 0 ? i % nodes : i % 3 == 1 ? DECK_NEXT : DECK_LEAST, &tasks[i]);
  }
  EXPECT(0, deck_bcast(tasks, sizeof tasks, 0));
  for (i = me; i < MANY; i += nodes) {
    status = end_of(tasks[i]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i % 50, "task %d of number %d ends with status %#x", i, tasks[i], (unsigned)status);
  }
}

static void check_killed(void) {
  int tasks[3], i, status;
  start("kill -TERM $$; sleep 600", "", 3, me, tasks); /* no signal is blocked there */
  for (i = 2; i >= 0; i--) {
    status = end_of(tasks[i]);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "a killed task ends with status %#x", (unsigned)status);
  }
}

/* A node that waits for a task serves messages: the task ends when the others have posted to this node. */
static void check_service(void) {
  char file[64] = "";
  deck_mbox_t box = me ? NULL : new_box("spawn", 0, 0, 0);
  deck_msg_t msg = new_msg(30000, DECK_AUTO);
  int task = -1, i;
  if (me == 0) {
    snprintf(file, sizeof file, "/tmp/deck-testspawn-%ld", (long)getpid());
    start("while ! [ -e \"$1\" ]; do sleep 0.02; done; rm \"$1\"", file, 1, 0, &task);
  }
  EXPECT(0, deck_bcast(file, sizeof file, 0));
  if (me == 0) {
    FILE *last = nodes == 1 ? fopen(file, "w") : NULL; /* of a lone node: nobody else makes it */
    if (last) fclose(last);
    CHECK(end_of(task) == 0, "the task that waited for a file");
    for (i = 1; i < nodes; i++) EXPECT(0, deck_mbox_retrv(box, msg));
    EXPECT(0, deck_mbox_destroy(box));
  } else {
    box = find_box("spawn", 0);
    EXPECT(0, deck_msg_set_size(msg, 30000));
    EXPECT(0, deck_mbox_post(box, msg));
    if (me == 1) {
      FILE *made = fopen(file, "w");
      CHECK(made != NULL, "making %s", file);
      if (made) fclose(made);
    }
    EXPECT(0, deck_mbox_destroy(box));
  }
  EXPECT(0, deck_msg_destroy(msg));
}

int main(int argc, char **argv) {
  int task;
  test_begin(&argc, &argv, TEST_NAME("deck-testspawn"));
  check_arguments();
  check_many();
  check_killed();
  check_service();
  start("sleep 600", "", 1, me, &task); /* which nobody waits for: it must not stay */
  return test_end();
}
