/* What barriers say: names, mismatches, results; and eight barriers of a team at once, retired out of order. Contract: ex-coll.md
 * sections 5, 8, 14.
 *
 *   testbarrierconf [-t] [-p N] [iters=1000]     -t by try, else by wait; -p N: threads that poll (GASNET_PAR) */
#include "testbarriers.h"

#define LARGE_NAME ((int)0xcafef00du)

/* All rules once. Each process is in turn the one that differs. */
static void rules(int round) {
  const gex_Rank_t other = (gex_Rank_t)round % nodes;
  const int mine = me == other;
  CHECK(whole(round, 0) == GASNET_OK && had_name(0, round));
  CHECK(whole(LARGE_NAME, 0) == GASNET_OK && had_name(0, LARGE_NAME));
  CHECK(whole(round + (int)me, ANON) == GASNET_OK && had_name(1, 0));
  CHECK(whole((int)me, UNNAMED) == GASNET_OK && had_name(1, 0));
  /* one says that it differs */
  notify(round, mine ? MISMATCH : 0);
  CHECK(finish(round, mine ? MISMATCH : 0) == GASNET_ERR_BARRIER_MISMATCH);
  notify(round, mine ? MISMATCH : ANON);
  CHECK(finish(round, mine ? MISMATCH : ANON) == GASNET_ERR_BARRIER_MISMATCH);
  /* one has another name */
  if (nodes > 1) {
    notify(round + mine, 0);
    CHECK(finish(round + mine, 0) == GASNET_ERR_BARRIER_MISMATCH);
    /* two names among anonymous ones */
    notify(round + (int)me, mine || me == (other + 1) % nodes ? 0 : ANON);
    CHECK(finish(round + (int)me, mine || me == (other + 1) % nodes ? 0 : ANON) == GASNET_ERR_BARRIER_MISMATCH);
  }
  /* the end has another name than the beginning */
  notify(0, 0);
  CHECK(finish(1, 0) == GASNET_ERR_BARRIER_MISMATCH);
  /* named at one end only; the beginning decides what the result is */
  notify(round, ANON);
  CHECK(finish(round + 5, 0) == GASNET_OK && had_name(1, 0));
  notify(round, 0);
  CHECK(finish(0, ANON) == GASNET_OK && had_name(0, round));
  /* one is named */
  notify(LARGE_NAME, mine ? 0 : ANON);
  CHECK(finish(LARGE_NAME, mine ? 0 : ANON) == GASNET_OK && had_name(0, LARGE_NAME));
  /* the blocking one, after all those mistakes */
  by_blocking = 1;
  CHECK(whole(round, 0) == GASNET_OK && had_name(0, round));
  CHECK(whole(round, mine ? MISMATCH : ANON) == GASNET_ERR_BARRIER_MISMATCH);
  CHECK(whole(round, UNNAMED) == GASNET_OK && had_name(1, 0));
  by_blocking = 0;
}
static void overlapping(unsigned *state) {
  gex_Event_t events[8];
  int i, left;
  for (i = 0; i < 8; i++) events[i] = gex_Coll_BarrierNB(tm, 0);
  for (left = 8; left > 0; left--) { /* in an order of this process */
    const int k = (int)rnd(state, (unsigned)left);
    if (rnd(state, 2)) gex_Event_Wait(events[k]);
    else
      while (gex_Event_Test(events[k]) != GASNET_OK) gasnet_AMPoll();
    events[k] = events[left - 1];
  }
}

int main(int argc, char **argv) {
  static const testperf_option table[] = {FLAG("-t", &by_try), OPT_POLLERS};
  static const char usage[] = "testbarrierconf [-t] [-p N up to 64 (PAR)] [iters]";
  unsigned state;
  long iters, i;
  int arg;
  begin("testbarrierconf", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 1, usage);
  iters = positional(argc, argv, arg, 1000);
  state = me;
  start_pollers(usage);
  for (i = 0; i < iters; i++)
    for (of_team = 0; of_team < 2; of_team++) rules((int)i);
  if (me == 0) say("names and mismatches: tried");
  for (i = 0; i < iters; i++) overlapping(&state);
  if (me == 0) say("eight at once: tried");
  stop_pollers();
  return end();
}
