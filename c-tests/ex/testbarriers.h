/* The named barriers of GASNet-1 in clients of GASNet-EX: of the job and of GASNET_TEAM_ALL. Contract: ex-coll.md sections 8, 9. */
#ifndef TESTBARRIERS_H
#define TESTBARRIERS_H
#include "testpollers.h"
#include <gasnet_coll.h>

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, UNNAMED = GASNET_BARRIERFLAG_UNNAMED, MISMATCH = GASNET_BARRIERFLAG_MISMATCH };
static int of_team;               /* GASNET_TEAM_ALL */
static long by_try, by_blocking; /* how a barrier ends; else by wait */

static void notify(int id, int flags) {
  if (of_team) gasnet_coll_barrier_notify(GASNET_TEAM_ALL, id, flags);
  else gasnet_barrier_notify(id, flags);
}
static int finish(int id, int flags) {
  int code;
  if (!by_try) return of_team ? gasnet_coll_barrier_wait(GASNET_TEAM_ALL, id, flags) : gasnet_barrier_wait(id, flags);
  for (;;) {
    code = of_team ? gasnet_coll_barrier_try(GASNET_TEAM_ALL, id, flags) : gasnet_barrier_try(id, flags);
    if (code != GASNET_ERR_NOT_READY) return code;
    gasnet_AMPoll();
  }
}
/* A whole barrier, with the same name and flags in both parts. */
static int whole(int id, int flags) {
  if (by_blocking) return of_team ? gasnet_coll_barrier(GASNET_TEAM_ALL, id, flags) : gasnet_barrier(id, flags);
  notify(id, flags);
  return finish(id, flags);
}
/* The last barrier had this name; or none, if `anonymous`. */
static int had_name(int anonymous, int name) {
  int id = ~name;
  const int none = of_team ? gasnet_coll_barrier_result(GASNET_TEAM_ALL, &id) : gasnet_barrier_result(&id);
  return anonymous ? none != 0 : none == 0 && id == name;
}

/* Barriers of each kind, timed. */
static void named(long i) { CHECK(whole((int)i, 0) == GASNET_OK && had_name(0, (int)i)); }
static void anonymous(long i) { CHECK(whole((int)i, ANON) == GASNET_OK && had_name(1, 0)); }
/* One gives a name, the others none. */
static void mixed(long i) {
  const int mine = i % (long)nodes == (long)me;
  CHECK(whole((int)i, mine ? 0 : ANON) == GASNET_OK && had_name(0, (int)i));
}
static void unnamed(long i) { CHECK(whole((int)i, UNNAMED) == GASNET_OK && had_name(1, 0)); }
static void time_barriers(char letter, const char *what, void (*one)(long), long iters) {
  double us;
  if (!wanted(letter)) return;
  BARRIER();
  TIMED(us, iters / 10, iters, one(timed_i));
  if (me == 0) printf("%c  %-36s %7ld iters  %10.3f us\n", letter, what, iters, us / (double)iters), fflush(stdout);
  BARRIER();
}
__attribute__((__unused__)) static void time_all_barriers(long iters) {
  time_barriers('A', "named", named, iters);
  time_barriers('B', "anonymous", anonymous, iters);
  time_barriers('C', "one named, others anonymous", mixed, iters);
  time_barriers('D', "unnamed", unnamed, iters);
}
#endif
