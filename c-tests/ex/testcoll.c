/* The collectives of GASNet-1 in a client of GASNet-EX: broadcast, scatter, gather, gather_all, exchange, in the three modes of equal syncs,
 * blocking and `iters` at once; roots are the first, the middle and the last process, addresses odd. Contract: ex-coll.md sections 9, 14.
 *
 *   testcoll [-p N] [iters=1000 [threads=1]]     -p N: threads that poll (GASNET_PAR) */
#include "testoldcoll.h"

#define MOST 24 /* bytes of a block, at most */
static unsigned char *src, *dst; /* `iters` places */
static size_t place;
static gex_Event_t *events;

static gex_Rank_t root_of(long i) { return i % 3 == 0 ? 0 : i % 3 == 1 ? nodes / 2 : nodes - 1; }
static size_t size_of(long i) { return 1 + (size_t)(i * 7) % MOST; }
static unsigned char *odd(unsigned char *base, long i) { return base + (size_t)i * place + 1; }

/* `iters` calls of one kind, with one pair of syncs; at once or one after the other. */
static void calls(old_kind k, int sync, int nb, long iters) {
  const int flags = sync_in[sync] | sync_out[sync] | GASNET_COLL_LOCAL;
  long i, wrong = 0;
  for (i = 0; i < iters; i++) old_prepare(k, odd(dst, i), odd(src, i), size_of(i), root_of(i), (unsigned)i);
  BARRIER(); /* what NO demands */
  for (i = 0; i < iters; i++) {
    if (nb) events[i] = old_nb(k, odd(dst, i), odd(src, i), size_of(i), root_of(i), flags);
    else old_blocking(k, odd(dst, i), odd(src, i), size_of(i), root_of(i), flags);
    if (!nb && sync > 0 && !old_right(k, odd(dst, i), size_of(i), root_of(i), (unsigned)i)) wrong++; /* at once */
  }
  /* the old syncs and the new ones, for the same handles */
  if (nb && sync == 0) gex_Event_WaitAll(events, (size_t)iters, 0);
  else if (nb && sync == 1) gasnet_coll_wait_sync_all(events, (size_t)iters);
  else if (nb)
    for (i = iters; i-- > 0;) gasnet_coll_wait_sync(events[i]);
  BARRIER();
  for (i = 0; i < iters; i++) wrong += !old_right(k, odd(dst, i), size_of(i), root_of(i), (unsigned)i);
  if (wrong) errors++, say("ERROR: %s %s/%s%s: %ld of %ld are wrong", old_name[k], sync_name[sync], sync_name[sync], nb ? " nb" : "", wrong, iters);
  BARRIER();
}

/* Collectives of GASNet-EX between the calls of a group are no part of it, and do not end it. The first member of the group waits for a
 * slow root, while the other calls of the last process are done at once. */
static void beside_groups(void) {
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  int turn;
  for (turn = 0; turn < 3; turn++) {
    int first = me == 0 ? 4711 + turn : 0, beside[2] = {7, 0}, last = 5;
    gex_Event_t event = GEX_EVENT_INVALID, ignored, group;
    BARRIER();
    if (me == 0) gasnett_nsleep(20000000);
    ignored = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &first, 0, &first, sizeof first, flags | GASNET_COLL_AGGREGATE);
    (void)ignored;
    if (turn == 0) event = gex_Coll_BroadcastNB(tm, nodes - 1, &beside[1], &beside[0], sizeof(int), 0);
    if (turn == 1) event = gex_Coll_ReduceToOneNB(tm, 0, &beside[1], &beside[0], GEX_DT_I32, 4, 1, GEX_OP_MAX, NULL, NULL, 0);
    group = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &last, nodes - 1, &last, sizeof last, flags);
    gasnet_coll_wait_sync(group);
    CHECK(first == 4711 + turn && last == 5);
    gex_Event_Wait(event);
    if (turn == 0 || (turn == 1 && me == 0)) CHECK(beside[1] == 7);
  }
}

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_POLLERS};
  static const char usage[] = "testcoll [-p N up to 64 (PAR)] [iters [threads]]";
  long iters;
  int arg, k, sync, nb;
  begin("testcoll", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 2, usage);
  iters = positional(argc, argv, arg, 1000);
  if (positional(argc, argv, arg + 1, 1) > 1 && me == 0) printf("WARNING: one thread of each process takes part\n");
  make_areas(GASNET_PAGESIZE);
  place = (size_t)nodes * MOST + 2;
  src = (unsigned char *)malloc((size_t)iters * place), dst = (unsigned char *)malloc((size_t)iters * place);
  events = (gex_Event_t *)malloc((size_t)iters * sizeof *events);
  if (src == NULL || dst == NULL || events == NULL) gasnet_exit(98);
  start_pollers(usage);
  for (k = 0; k < OLD_KINDS; k++) {
    double us = now_us();
    for (sync = 0; sync < 3; sync++)
      for (nb = 0; nb < 2; nb++) calls((old_kind)k, sync, nb, iters);
    us = now_us() - us;
    if (me == 0) say("%-10s %10.3f us each", old_name[k], us / (6 * (double)iters));
  }
  beside_groups();
  stop_pollers();
  return end();
}
