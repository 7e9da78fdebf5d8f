/* Shared by the tests of `gasnetrun_sci --survive`: a node dies, and the others find out what they have.
 *
 * usage: PROGRAM ROLE [MOMENT [HOW [VICTIM]]]
 *   HOW     kill (default), segv, abort, exit3, exit0: how the victim ends
 *   VICTIM  its number; default: the last node
 *
 * Without `--survive`, or in a job of one node, the programs make no sense. Survivors end with the usual last line; the victim has none. */
#ifndef GASNET_SCI_SURVIVE_H
#define GASNET_SCI_SURVIVE_H

#include "testdeck.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

static int moment, victim, first, second; /* the first two that survive; the same one in a job of two */
static const char *how;
static deck_mbox_t inbox;      /* of this node */
static deck_mbox_t peers[64];  /* those of all */
static deck_mbox_t meeting[64]; /* as these, for meet_survivors alone; that of this node is the owner's */
static deck_msg_t note;        /* to and from these */
static double died;            /* when the victim did, as it has told */

static void die_now(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (strcmp(how, "exit0") == 0) exit(0);
  if (strcmp(how, "exit3") == 0) exit(3);
  if (strcmp(how, "abort") == 0) abort();
  raise(strcmp(how, "segv") == 0 ? SIGSEGV : SIGKILL);
  _exit(99);
}

static void on_timer(int signal) {
  (void)signal;
  raise(SIGKILL);
}

/* This node dies in so many microseconds, wherever it is then. */
static void TEST_UNUSED die_soon(int microseconds) {
  struct itimerval time;
  memset(&time, 0, sizeof time);
  time.it_value.tv_sec = microseconds / 1000000;
  time.it_value.tv_usec = microseconds % 1000000 + 1;
  signal(SIGALRM, on_timer);
  setitimer(ITIMER_REAL, &time, NULL);
}

static int is_survivor(int node) { return node != victim; }

/* Begins; each node has an inbox, which all others know. */
static void survive_begin(int *argc, char ***argv, const char *name) {
  int n;
  test_begin(argc, argv, name);
  moment = *argc > 2 ? atoi((*argv)[2]) : 0;
  how = *argc > 3 ? (*argv)[3] : "kill";
  victim = *argc > 4 ? atoi((*argv)[4]) : nodes - 1;
  first = victim == 0 ? 1 : 0;
  for (second = first + 1; second < nodes && second == victim;) second++;
  if (second >= nodes) second = first;
  inbox = new_box("inbox", me, 0, 0);
  meeting[me] = new_box("meeting", me, 0, 0);
  for (n = 0; n < nodes; n++) peers[n] = find_box("inbox", n);
  for (n = 0; n < nodes; n++)
    if (n != me) meeting[n] = find_box("meeting", n);
  note = new_msg(256, DECK_AUTO);
  EXPECT(0, deck_barrier());
}

/* Tells a node a number. */
static void TEST_UNUSED tell(int node, double value) {
  EXPECT(0, deck_msg_clear(note));
  EXPECT(0, deck_msg_pack(note, &value, DECK_DOUBLE, 1));
  EXPECT(0, deck_mbox_post(peers[node], note));
}

/* The number that `node` tells next. Only one of the others may tell numbers meanwhile. */
static double TEST_UNUSED hear(int node) {
  double value = -1;
  int rc = deck_mbox_retrv_timed(inbox, note, LONG_TIME);
  CHECK(rc == 0 && deck_msg_source(note) == node, "node %d tells something: %d", node, rc);
  if (rc == 0) EXPECT(0, deck_msg_unpack(note, &value, DECK_DOUBLE, 1));
  return value;
}

/* The victim tells all when, and dies. */
static void TEST_UNUSED tell_and_die(void) {
  int n;
  for (n = 0; n < nodes; n++)
    if (is_survivor(n)) tell(n, test_now());
  die_now();
}

/* The others hear it: what a dead node has posted is still there. */
static void TEST_UNUSED hear_of_death(void) { died = hear(victim); }

/* The victim dies in `moment` microseconds, in the middle of what it does meanwhile. */
static void TEST_UNUSED let_victim_die(void) {
  int n;
  if (me == victim) {
    for (n = 0; n < nodes; n++)
      if (is_survivor(n)) tell(n, test_now() + moment * 1e-6);
    die_soon(moment);
  } else {
    hear_of_death();
  }
}

/* What had to come after the victim's death has come now. */
static void TEST_UNUSED check_time(const char *what) {
  const double late = test_now() - died;
  CHECK(late <= 1.0, "%s %.3f s after the death of node %d", what, late, victim);
}

/* Waits until this node knows that the victim is dead, in a way that shows nothing but that. */
static void TEST_UNUSED await_death(void) {
  const double end = test_now() + 60;
  int rc;
  while ((rc = deck_mbox_post_timed(peers[victim], note, 0)) != DECK_EPEER && test_now() < end) deck_thread_yield();
  CHECK(rc == DECK_EPEER, "posting to the dead gives %d (%s)", rc, deck_strerror(rc));
}

static void meet_one(int node) {
  EXPECT(0, deck_msg_clear(note));
  EXPECT(0, deck_mbox_post(meeting[node], note));
}

static void hear_one(void) {
  int rc = deck_mbox_retrv_timed(meeting[me], note, LONG_TIME);
  CHECK(rc == 0, "a meeting of the survivors: %d (%s)", rc, deck_strerror(rc));
}

/* All survivors are here. */
static void TEST_UNUSED meet_survivors(void) {
  int n;
  if (me != first) {
    meet_one(first);
    hear_one();
    return;
  }
  for (n = 0; n < nodes - 2; n++) hear_one();
  for (n = 0; n < nodes; n++)
    if (is_survivor(n) && n != me) meet_one(n);
}

/* The end of a survivor: what needs all nodes is refused, and deck_done waits for those that are left. */
static int survive_end(void) {
  await_death();
  EXPECT(DECK_EPEER, deck_barrier());
  test_say();
  EXPECT(0, deck_done());
  return test_report();
}

#endif
