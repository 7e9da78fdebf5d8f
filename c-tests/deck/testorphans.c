/* A node dies, and the job goes on (survive.h): names, collectives, the end, several deaths.
 *
 * ROLE: what the victim is when it dies
 *   names      the owner of names, and the home of others'; one survivor waits for names that another one creates later
 *   creating   as names, while all create and find boxes all the time; it dies after MOMENT microseconds
 *   collective part of barriers, broadcasts, gathers and reductions, of which MOMENT are over
 *   done       not in deck_done yet, in which all others are
 *   ending     in deck_done, too
 *   late       past deck_done
 *   early      not in deck_init yet, like all others (the job ends)
 *   many       one of all nodes but the first survivor, who die one after another
 *   silent     a node for which nobody waits, while all others compute and call nothing */
#include "survive.h"

#define NAMES 24 /* of each node, so that each is the home of some of all others' */

static void name_of(char *name, const char *kind, int node, int n) { snprintf(name, 64, "%s-%d-%d", kind, node, n); }

static deck_mbox_t create(const char *kind, int node, int n) {
  char name[64];
  deck_mbox_t box = NULL;
  name_of(name, kind, node, n);
  EXPECT(0, deck_mbox_create(name, NULL, &box));
  return box;
}

/* Finds a box of `owner` and posts to it, who gets that. */
static void use(const char *kind, int node, int n) {
  char name[64];
  deck_mbox_t box = NULL;
  int rc;
  name_of(name, kind, node, n);
  rc = deck_mbox_clone(name, LONG_TIME, &box);
  CHECK(rc == 0, "finding %s gives %d (%s)", name, rc, deck_strerror(rc));
  if (rc) return;
  send_to(box, note, 40, seed_of(1, me, n));
  EXPECT(0, deck_mbox_destroy(box));
}

static void *wait_for_name(void *arg) {
  const int n = *(const int *)arg;
  char name[64];
  deck_mbox_t box = NULL;
  name_of(name, "late", second, n);
  EXPECT(0, deck_mbox_clone(name, LONG_TIME, &box));
  if (box) EXPECT(0, deck_mbox_destroy(box));
  return NULL;
}

static void names(void) {
  static int numbers[8];
  deck_mbox_t boxes[NAMES], more[NAMES], box = NULL;
  deck_thread_t waits[8];
  char name[64];
  int n, from;
  for (n = 0; n < NAMES; n++) boxes[n] = create("name", me, n);
  if (me == first)
    for (n = 0; n < 8; n++) {
      numbers[n] = n;
      MUST(deck_thread_create(wait_for_name, &numbers[n], &waits[n]));
    }
  EXPECT(0, deck_barrier());
  if (me == victim) {
    be_late(50);
    tell_and_die();
  }
  hear_of_death();
  await_death();
  /* names of boxes that are there */
  for (from = 0; from < nodes; from++)
    for (n = 0; is_survivor(from) && n < NAMES; n++) use("name", from, n);
  for (n = 0; n < NAMES; n++)
    for (from = 0; from < nodes - 1; from++) {
      EXPECT(0, deck_mbox_retrv_timed(boxes[n], note, LONG_TIME));
      CHECK(differs(deck_msg_data(note), 40, seed_of(1, deck_msg_source(note), n)) == 40, "a message of box %d", n);
    }
  /* They cannot be given twice. */
  for (from = 0; from < nodes; from++)
    for (n = 0; is_survivor(from) && n < NAMES; n++) {
      name_of(name, "name", from, n);
      EXPECT(DECK_EEXIST, deck_mbox_create(name, NULL, &box));
    }
  /* Those of the dead are free. */
  for (n = 0; n < NAMES; n++) {
    name_of(name, "name", victim, n);
    EXPECT(DECK_EAGAIN, deck_mbox_clone(name, 0, &box));
  }
  meet_survivors();
  if (me == first)
    for (n = 0; n < NAMES; n++) more[n] = create("name", victim, n);
  for (n = 0; n < NAMES; n++) use("name", victim, n);
  if (me == first)
    for (n = 0; n < NAMES; n++) {
      for (from = 0; from < nodes - 1; from++) EXPECT(0, deck_mbox_retrv_timed(more[n], note, LONG_TIME));
      EXPECT(0, deck_mbox_destroy(more[n]));
    }
  meet_survivors();
  /* They end with their boxes, wherever they are now. */
  for (n = 0; n < NAMES; n++) EXPECT(0, deck_mbox_destroy(boxes[n]));
  meet_survivors();
  for (from = 0; from < nodes; from++)
    for (n = 0; n < NAMES; n++) {
      name_of(name, "name", from, n);
      EXPECT(DECK_EAGAIN, deck_mbox_clone(name, 0, &box));
    }
  /* Who has waited since before the death finds what is created now. */
  if (me == second)
    for (n = 0; n < 8; n++) boxes[n] = create("late", me, n);
  if (me == first)
    for (n = 0; n < 8; n++) EXPECT(0, deck_thread_join(waits[n], NULL));
  meet_survivors();
}

static void creating(void) {
  deck_mbox_t mine, box = NULL;
  char name[64];
  int n, rc, is_dead = 0, rounds = 0;
  let_victim_die();
  for (n = 0; n < 20; n++) create("kept", me, n);
  /* Each name has one box at a time, of whoever is first. */
  while (!is_dead || me == victim) {
    name_of(name, "turn", 0, ++rounds % 7);
    rc = deck_mbox_create(name, NULL, &mine);
    CHECK(rc == 0 || rc == DECK_EEXIST, "creating gives %d (%s)", rc, deck_strerror(rc));
    if (rc == 0) {
      EXPECT(DECK_EEXIST, deck_mbox_create(name, NULL, &box));
      EXPECT(0, deck_mbox_destroy(mine));
    }
    is_dead |= deck_mbox_post_timed(peers[victim], note, 0) == DECK_EPEER;
  }
  check_time("the death is known");
  meet_survivors();
  for (n = 0; n < 20; n++) {
    name_of(name, "kept", me == first ? second : first, n);
    EXPECT(0, deck_mbox_clone(name, 0, &box)); /* at once: all survivors know of the death */
    EXPECT(0, deck_mbox_destroy(box));
  }
  for (n = 0; n < 7; n++) {
    name_of(name, "turn", 0, n);
    if (me == first) EXPECT(0, deck_mbox_create(name, NULL, &box));
  }
  meet_survivors();
}

static void collective(void) {
  static int32_t sent[50000], got[50000 * 64];
  int n, rc = 0;
  for (n = 0; n < 50000; n++) sent[n] = me + n;
  for (n = 0; rc == 0; n++) {
    if (me == victim && n == moment) tell_and_die();
    switch (n % 5) {
    case 0: rc = deck_barrier(); break;
    case 1: rc = deck_bcast(got, sizeof sent, n % nodes); break;
    case 2: rc = deck_gather(sent, n % 2 ? sizeof sent : 8, got, n % nodes); break;
    case 3: rc = deck_reduce(sent, got, DECK_INT32, 50000, DECK_SUM, n % nodes); break;
    default: rc = deck_scatter(got, sent, 8, n % nodes);
    }
  }
  /* The victim may have been ahead of this node since the last barrier that it has left: all had entered that one. */
  CHECK(rc == DECK_EPEER && n - 1 >= (moment - 1) / 5 * 5, "collective %d gives %d (%s)", n - 1, rc, deck_strerror(rc));
  memset(got, 0, sizeof got); /* it is the program's again */
  hear_of_death();
  check_time("a collective fails");
  EXPECT(DECK_EPEER, deck_bcast(got, 8, first));
  EXPECT(DECK_EPEER, deck_gather(sent, 8, got, first));
  EXPECT(DECK_EPEER, deck_scatter(got, sent, 8, first));
  EXPECT(DECK_EPEER, deck_reduce(sent, got, DECK_INT32, 1, DECK_SUM, first));
  meet_survivors();
  for (n = 0; n < 50000 * 64; n++)
    if (got[n]) break;
  CHECK(n == 50000 * 64, "something came later, at %d", n);
}

/* Survivors are in deck_done when the victim dies. */
static int done(void) {
  int n;
  if (me == victim) {
    for (n = 0; n < nodes; n++)
      if (is_survivor(n)) tell(n, test_now() + 0.2);
    die_soon(200000);
    if (moment)
      deck_done();
    else
      for (;;) usleep(1000);
    die_now();
  }
  hear_of_death();
  if (moment && me == first) be_late(400); /* the victim waits for this node, and dies */
  test_say();
  EXPECT(0, deck_done());
  check_time("deck_done ends");
  return test_report();
}

static int late(void) {
  int32_t pid = (int32_t)getpid();
  double end;
  int status;
  EXPECT(0, deck_bcast(&pid, sizeof pid, victim));
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_done());
  if (me == victim) die_now();
  for (end = test_now() + 10; kill(pid, 0) == 0 && test_now() < end;) usleep(1000); /* until the launcher has seen its death */
  CHECK(kill(pid, 0) != 0, "the victim lives");
  usleep(400000); /* past the time that a job without --survive gets */
  status = test_report();
  usleep(1500000); /* another node may be slow to say as much */
  return status;
}

/* All nodes but one die. Each makes sure that it knows of the death before its own. */
static void many(void) {
  const char *hows[] = {"kill", "exit3", "abort"};
  int n;
  deck_mbox_t box = create("many", me, 0);
  for (n = nodes - 1; n >= 0; n--) {
    if (n == first) continue;
    victim = n;
    if (me == n) {
      how = hows[n % 3];
      tell(first, test_now());
      die_now();
    }
    if (me == first) hear_of_death();
    await_death();
    if (me == first) check_time("the death is known");
  }
  /* Alone. */
  for (n = 0; n < 100; n++) {
    deck_mbox_t of = create("alone", n, 0);
    use("alone", n, 0);
    receive_from(of, note, 40, seed_of(1, me, 0), me);
    EXPECT(0, deck_mbox_destroy(of));
  }
  EXPECT(0, deck_mbox_destroy(box));
}

/* Nobody calls anything: the first call afterwards knows. */
static void silent(void) {
  if (me == victim) tell_and_die();
  hear_of_death();
  while (test_now() < died + 1) {}
  EXPECT(DECK_EPEER, deck_mbox_post_timed(peers[victim], note, 0));
}

int main(int argc, char **argv) {
  const char *role = argc > 1 ? argv[1] : "";
  if (strcmp(role, "early") == 0) raise(SIGKILL);
  survive_begin(&argc, &argv, "deck-testorphans");
  if (strcmp(role, "names") == 0) names();
  else if (strcmp(role, "creating") == 0) creating();
  else if (strcmp(role, "collective") == 0) collective();
  else if (strcmp(role, "many") == 0) many();
  else if (strcmp(role, "silent") == 0) silent();
  else if (strcmp(role, "done") == 0) return moment = 0, done();
  else if (strcmp(role, "ending") == 0) return moment = 1, done();
  else if (strcmp(role, "late") == 0) return late();
  else return 99;
  return survive_end();
}
