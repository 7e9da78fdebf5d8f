/* testcollnb (iters=200): broadcasts of any length, barriers that are retired out of order, and events of all kinds in one array;
 * in threaded builds with events that another thread syncs, and with threads that use teams of their own. Contract: ex-coll.md
 * section 5. */
#include "testex.h"
#include <gasnet_coll.h>
#if defined(GASNET_PAR)
#include <pthread.h>
#endif

static uint32_t seed = 1;
static uint32_t common(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}
static unsigned char byte_of(size_t i, unsigned salt) { return (unsigned char)(i * 31 + salt * 101 + (i >> 8)); }

static void broadcasts(gex_TM_t team, int iters) {
  static const size_t sizes[] = {0, 1, 7, 8, 64, 80, 81, 1000, 1025, 4096, 65537, 1 << 20};
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team);
  enum { MANY = 16 };
  unsigned char *place[MANY];
  gex_Event_t events[MANY];
  int k, round;
  size_t i;
  for (round = 0; round < iters; round++) {
    size_t len[MANY];
    gex_Rank_t root[MANY];
    for (k = 0; k < MANY; k++) {
      len[k] = sizes[common() % (round % 8 ? 10 : 12)];
      root[k] = common() % size;
      place[k] = (unsigned char *)malloc(len[k] + 2);
      memset(place[k], 0xee, len[k] + 2);
      if (rank == root[k])
        for (i = 0; i < len[k]; i++) place[k][1 + i] = byte_of(i, (unsigned)k);
      events[k] = gex_Coll_BroadcastNB(team, root[k], place[k] + 1, rank == root[k] ? place[k] + 1 : (void *)&seed, len[k], 0);
    }
    if (round & 1)
      while (gex_Event_TestAll(events, MANY, 0) != GASNET_OK) gasnet_AMPoll();
    else
      gex_Event_WaitAll(events, MANY, 0);
    for (k = 0; k < MANY; k++) {
      size_t wrong = 0;
      for (i = 0; i < len[k]; i++) wrong += place[k][1 + i] != byte_of(i, (unsigned)k);
      CHECK(wrong == 0 && place[k][0] == 0xee && place[k][len[k] + 1] == 0xee);
      free(place[k]);
    }
  }
}

/* Eight at a time, synced in another order by each member. */
static void barriers(gex_TM_t team, int iters) {
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team), m;
  int round, k;
  for (round = 0; round < iters; round++) {
    gex_Event_t events[8];
    for (k = 0; k < 8; k++) events[k] = gex_Coll_BarrierNB(team, 0);
    for (k = 0; k < 8; k++) {
      gex_Event_t *event = &events[(k * 3 + (int)rank) % 8];
      if (k & 1)
        gex_Event_Wait(*event);
      else
        while (gex_Event_Test(*event) != GASNET_OK) gasnet_AMPoll();
      *event = GEX_EVENT_INVALID;
    }
    if (round % 16 == 0) gex_Coll_BarrierBlocking(team, 0);
    /* a late one: the others' event is not complete before it comes. The barrier of all processes tells it when */
    if (team != tm && round % 16 == 1) {
      gex_Event_t event = GEX_EVENT_INVALID;
      m = (gex_Rank_t)round % size;
      if (rank != m) {
        event = gex_Coll_BarrierNB(team, 0);
        CHECK(gex_Event_Test(event) == GASNET_ERR_NOT_READY);
      }
      BARRIER();
      if (rank == m) event = gex_Coll_BarrierNB(team, 0);
      gex_Event_Wait(event);
    }
  }
}

static void mixed(gex_TM_t team, int iters) {
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team);
  enum { MANY = 40 };
  gex_Event_t events[MANY];
  int round, k;
  for (round = 0; round < iters; round++) {
    uint64_t in[MANY], out[MANY];
    size_t left = MANY;
    for (k = 0; k < MANY; k++) {
      in[k] = rank + (uint64_t)k;
      out[k] = 0;
      switch (k % 4) {
        case 0: events[k] = gex_Coll_BarrierNB(team, 0); break;
        case 1: events[k] = gex_Coll_BroadcastNB(team, (gex_Rank_t)k % size, &out[k], &in[k], 8, 0); break;
        case 2: events[k] = gex_Coll_ReduceToAllNB(team, &out[k], &in[k], GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0); break;
        default:
          events[k] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &out[k], (gasnet_image_t)k % nodes, &in[k], 8,
                                               GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
      }
    }
    switch (round % 3) {
      case 0: gex_Event_WaitAll(events, MANY, 0); break;
      case 1:
        while (left) {
          gex_Event_WaitSome(events, MANY, 0);
          for (k = 0, left = 0; k < MANY; k++) left += events[k] != GEX_EVENT_INVALID;
        }
        break;
      default: gasnet_coll_wait_sync_all(events, MANY);
    }
    for (k = 0; k < MANY; k++) {
      uint64_t base = (uint64_t)k;
      CHECK(events[k] == GEX_EVENT_INVALID);
      if (k % 4 == 1) CHECK(out[k] == (gex_Rank_t)k % size + base);
      if (k % 4 == 2) CHECK(out[k] == size * base + (uint64_t)size * (size - 1) / 2);
      if (k % 4 == 3) CHECK(out[k] >= base && out[k] < base + nodes);
    }
  }
}

#if defined(GASNET_PAR)
typedef struct {
  gex_TM_t parent;
  gex_Event_t event;
  int iters;
} job;
static void *sync_it(void *argument) {
  gex_Event_Wait(((job *)argument)->event);
  return NULL;
}
/* Each thread makes teams of a parent of its own, and uses them. */
static void *own_teams(void *argument) {
  job *j = (job *)argument;
  int round;
  for (round = 0; round < j->iters; round++) {
    gex_TM_t made;
    uint64_t sum = 1;
    gex_TM_Split(&made, j->parent, 1, round & 1 ? (int)me : -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(made, &sum, &sum, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    CHECK(sum == nodes);
    gex_Event_Wait(gex_Coll_BarrierNB(made, 0));
    CHECK(gex_TM_Destroy(made, NULL, 0) == 0);
  }
  return NULL;
}
static void threads(int iters) {
  enum { THREADS = 3 };
  pthread_t thread[THREADS];
  job jobs[THREADS];
  int i, round;
  for (round = 0; round < iters; round++) {
    for (i = 0; i < THREADS; i++) {
      jobs[i].event = gex_Coll_BarrierNB(tm, 0);
      pthread_create(&thread[i], NULL, sync_it, &jobs[i]);
    }
    for (i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  }
  for (i = 0; i < THREADS; i++) {
    gex_TM_Split(&jobs[i].parent, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    jobs[i].iters = iters;
  }
  for (i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, own_teams, &jobs[i]);
  for (i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  for (i = 0; i < THREADS; i++) CHECK(gex_TM_Destroy(jobs[i].parent, NULL, 0) == 0);
}
#endif

int main(int argc, char **argv) {
  int iters;
  gex_TM_t half;
  begin("testcollnb", &argc, &argv);
  iters = argc > 1 ? atoi(argv[1]) : 200;
  gex_TM_Split(&half, tm, (int)(me % 2), -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  barriers(tm, iters);
  barriers(half, iters);
  if (me == 0) say("barriers: tried");
  broadcasts(tm, iters / 4 + 1);
  seed = 2;
  broadcasts(half, iters / 4 + 1);
  if (me == 0) say("broadcasts: tried");
  mixed(tm, iters);
  mixed(half, iters);
#if defined(GASNET_PAR)
  threads(iters / 10 + 1);
#endif
  CHECK(gex_TM_Destroy(half, NULL, 0) == 0);
  return end();
}
