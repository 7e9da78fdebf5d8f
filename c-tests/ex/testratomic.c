/* Remote atomics of GASNet-EX: promises, signalling, counters, races, and every operation against a mirror, for six types, over all
 * processes and over teams. Contract: ex-coll.md sections 2-4, 14.
 *
 *   testratomic [iters [seed]] */
#include "testexam.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

static unsigned long long state = 1;
/* The same numbers on no two processes. */
static unsigned random_number(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 40);
}
static int bit_of(gex_OP_t op) {
  int bit = 0;
  while (op >>= 1) bit++;
  return bit;
}
static gex_Rank_t jobrank(gex_TM_t team, gex_Rank_t rank) {
  return gex_TM_TranslateRankToJobrank(team, rank);
}
/* The next member of the team, round and round, that shares memory with this process. */
static gex_Rank_t near_member(gex_TM_t team) {
  const gex_Rank_t size = gex_TM_QuerySize(team);
  gex_Rank_t count, rank, i;
  gex_RankInfo_t *near;
  gex_System_QueryNbrhdInfo(&near, &count, NULL);
  for (rank = (gex_TM_QueryRank(team) + 1) % size;; rank = (rank + 1) % size)
    for (i = 0; i < count; i++)
      if (near[i].gex_jobrank == jobrank(team, rank)) return rank;
}
/* A word of the area of `rank`, in its owner. */
static void *word_of(gex_TM_t team, gex_Rank_t rank, size_t index) { return area[jobrank(team, rank)] + 8 * index; }
#define NAME_OF_(x) #x
#define NAME_OF(x) NAME_OF_(x)

#define TY I32
#define T int32_t
#define U uint32_t
#define FLOATING 0
#include "testratomic.h"
#define TY U32
#define T uint32_t
#define U uint32_t
#define FLOATING 0
#include "testratomic.h"
#define TY I64
#define T int64_t
#define U uint64_t
#define FLOATING 0
#include "testratomic.h"
#define TY U64
#define T uint64_t
#define U uint64_t
#define FLOATING 0
#include "testratomic.h"
#define TY FLT
#define T float
#define U float
#define FLOATING 1
#include "testratomic.h"
#define TY DBL
#define T double
#define U double
#define FLOATING 1
#include "testratomic.h"

static void all_types(gex_TM_t team, int iters, const char *name) {
  if (me == 0) say("%s", name);
  test_I32(team, iters);
  test_U32(team, iters);
  test_I64(team, iters);
  test_U64(team, iters);
  test_FLT(team, iters);
  test_DBL(team, iters);
}

/* Bits that are no number, and a zero with a sign, go there and back. */
static void bits(void) {
  static const uint64_t patterns[] = {0x8000000000000000u, 0x7ff8000000001234u, 0xfff0000000000001u, 0x3ff0000000000000u};
  const gex_Rank_t peer = (me + 1) % nodes;
  gex_AD_t ad = GEX_AD_INVALID;
  size_t i;
  gex_AD_Create(&ad, tm, GEX_DT_DBL, GEX_OP_SET | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS, 0);
  CHECK(ad != GEX_AD_INVALID);
  BARRIER();
  for (i = 0; i < 4; i++) {
    double value, got = 1;
    memcpy(&value, &patterns[i], 8);
    gex_Event_Wait(gex_AD_OpNB_DBL(ad, NULL, peer, word_of(tm, peer, 8 + me), GEX_OP_SET, value, 0, 0));
    gex_Event_Wait(gex_AD_OpNB_DBL(ad, &got, peer, word_of(tm, peer, 8 + me), i % 2 ? GEX_OP_GET : GEX_OP_SWAP, value, 0, 0));
    CHECK(memcmp(&got, &patterns[i], 8) == 0);
  }
  gex_Event_Wait(gex_AD_OpNB_DBL(ad, NULL, peer, word_of(tm, peer, 8 + me), GEX_OP_SET, -0.0, 0, 0));
  {
    double got = 1;
    gex_Event_Wait(gex_AD_OpNB_DBL(ad, &got, peer, word_of(tm, peer, 8 + me), GEX_OP_FCAS, 0.0, 4, 0));
    CHECK(got == 0);
    gex_Event_Wait(gex_AD_OpNB_DBL(ad, &got, peer, word_of(tm, peer, 8 + me), GEX_OP_GET, 0, 0, 0));
    CHECK(got == 4); /* +0 equals -0 */
  }
  BARRIER();
  gex_AD_Destroy(ad);
}

/* Operations by events in an array, and in a region, beside a put. */
static void mixed(void) {
  const gex_Rank_t peer = (me + 1) % nodes;
  gex_Event_t events[100], region;
  uint64_t got[100];
  int64_t word = -5;
  gex_AD_t ad;
  int i;
  memset(word_of(tm, me, 4), 0, 16);
  gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_FADD | GEX_OP_ADD | GEX_OP_GET, 0);
  BARRIER();
  for (i = 0; i < 99; i++) events[i] = gex_AD_OpNB_U64(ad, &got[i], peer, word_of(tm, peer, 4), GEX_OP_FADD, 1, 0, 0);
  events[99] = gex_RMA_PutNB(tm, peer, word_of(tm, peer, 5), &word, 8, GEX_EVENT_NOW, 0);
  gex_Event_WaitAll(events, 100, 0);
  for (i = 0; i < 99; i++) CHECK(events[i] == GEX_EVENT_INVALID && got[i] < 99);
  gex_NBI_BeginAccessRegion(0);
  for (i = 0; i < 50; i++) CHECK(gex_AD_OpNBI_U64(ad, NULL, peer, word_of(tm, peer, 4), GEX_OP_ADD, 2, 0, 0) == 0);
  region = gex_NBI_EndAccessRegion(0);
  gex_Event_Wait(region);
  gex_Event_Wait(gex_AD_OpNB_U64(ad, got, peer, word_of(tm, peer, 4), GEX_OP_GET, 0, 0, 0));
  CHECK(got[0] == 199);
  BARRIER();
  CHECK(*(int64_t *)word_of(tm, me, 5) == -5);
  BARRIER();
  gex_AD_Destroy(ad);
}

/* The same over the teams of processes with one color, reversed. */
static void over_teams(int color, int iters, const char *name) {
  gex_TM_t team;
  (void)gex_TM_Split(&team, tm, color, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  all_types(team, iters, name);
  BARRIER();
  (void)gex_TM_Destroy(team, NULL, 0);
}

int main(int argc, char **argv) {
  int iters;
  gex_Rank_t neighbourhoods, neighbourhood;
  uint32_t all_errors = 0, all_errors_here;
  begin("testratomic", &argc, &argv);
  iters = argc > 1 ? atoi(argv[1]) : 1000;
  state = (argc > 2 ? (unsigned long long)atoll(argv[2]) : 7) * 1000003 + me;
  {
    gex_TM_t unused;
    CHECK(gex_TM_Split(&unused, tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) > 0);
  }
  make_areas(8 * (8 + (size_t)nodes));
  BARRIER();
  bits();
  mixed();
  all_types(tm, iters, "all processes");
  over_teams((int)(me % 2), iters, "even and odd processes");
  gex_System_QueryMyPosition(&neighbourhoods, &neighbourhood, NULL, NULL);
  if (neighbourhoods > 1) over_teams((int)neighbourhood, iters, "neighbourhoods");
  all_errors_here = (uint32_t)errors;
  gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &all_errors, &all_errors_here, GEX_DT_U32, 4, 1, GEX_OP_ADD, NULL, NULL, 0));
  if (all_errors && !errors) errors++; /* the status of all says so */
  return end();
}
