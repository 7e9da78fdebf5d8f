/* testsplit (nrows) (ncols): teams by split and by creation, their sizes and ranks, translation of ranks, scratch memory,
 * collectives, transfers and messages of all categories on teams that are new, and 4096 rounds of making and destroying. Contract: ex-core.md section 7, ex-coll.md
 * sections 7, 14. */
#include "testtraffic.h"
#include <gasnet_coll.h>

#define SCRATCH 4096
static char *scratch;
static size_t granted;

/* A team as this process expects it: the job ranks of its members. */
typedef struct {
  gex_TM_t tm;
  gex_Rank_t size, rank, *jobranks;
} team;

static void wait_for(gex_Event_t event) { gex_Event_Wait(event); }
static void *grant(void) {
  void *place = scratch + granted;
  granted += SCRATCH;
  return place;
}

/* Checks ranks and sizes, and that collectives work. */
static void check_team(const team *t, gex_TM_t parent) {
  gex_Rank_t i, sum, job = gex_System_QueryJobSize();
  CHECK(t->tm != GEX_TM_INVALID && t->tm != parent && t->tm != tm);
  CHECK(gex_TM_QuerySize(t->tm) == t->size);
  CHECK(gex_TM_QueryRank(t->tm) == t->rank);
  CHECK(gex_TM_QueryEP(t->tm) == ep && gex_TM_QueryClient(t->tm) == client);
  CHECK(gex_TM_QueryCData(t->tm) == NULL);
  for (i = 0; i < t->size; i++) {
    gex_EP_Location_t place = gex_TM_TranslateRankToEP(t->tm, i, 0);
    CHECK(gex_TM_TranslateRankToJobrank(t->tm, i) == t->jobranks[i]);
    CHECK(gex_TM_TranslateJobrankToRank(t->tm, t->jobranks[i]) == i);
    CHECK(place.gex_rank == t->jobranks[i] && place.gex_ep_index == 0);
  }
  traffic_clear();
  for (i = 0, sum = 0; i < job; i++) sum += gex_TM_TranslateJobrankToRank(t->tm, i) != GEX_RANK_INVALID;
  CHECK(sum == t->size);
  /* at once, while others may not be back from the call that made the team */
  {
    uint64_t one = gex_System_QueryJobRank() + 1, total = 0, expected = 0;
    gex_Rank_t said = gex_System_QueryJobRank();
    for (i = 0; i < t->size; i++) expected += t->jobranks[i] + 1;
    wait_for(gex_Coll_ReduceToAllNB(t->tm, &total, &one, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    CHECK(total == expected);
    wait_for(gex_Coll_BroadcastNB(t->tm, t->size - 1, &said, &said, sizeof said, 0));
    CHECK(said == t->jobranks[t->size - 1]);
    wait_for(gex_Coll_BarrierNB(t->tm, 0));
  }
  traffic(t->tm, t->size, t->jobranks);
  wait_for(gex_Coll_BarrierNB(t->tm, 0));
  traffic_landed(t->size, t->jobranks);
}
static team expect(gex_TM_t made, gex_Rank_t size) {
  team t;
  t.tm = made;
  t.size = size;
  t.rank = GEX_RANK_INVALID;
  t.jobranks = (gex_Rank_t *)calloc(size + 1, sizeof *t.jobranks);
  return t;
}
static void member(team *t, gex_Rank_t at, gex_Rank_t jobrank) {
  t->jobranks[at] = jobrank;
  if (jobrank == me) t->rank = at;
}
/* Destroys a team; `place` is the scratch memory that it must give back, or NULL. */
static void destroy(team *t, void *place, gex_Flags_t flags) {
  gex_Memvec_t given;
  given.gex_addr = &errors;
  given.gex_len = 7;
  if (flags) wait_for(gex_Coll_BarrierNB(t->tm, 0));
  if (gex_TM_Destroy(t->tm, &given, flags)) {
    CHECK(place != NULL && given.gex_addr == place && given.gex_len == SCRATCH);
  } else {
    CHECK(place == NULL && given.gex_addr == (void *)&errors && given.gex_len == 7);
  }
  free(t->jobranks);
}

int main(int argc, char **argv) {
  gex_Rank_t nrows, ncols, row, col, i, rest;
  size_t size;
  gex_TM_t made, untouched;
  void *row_scratch, *col_scratch;
  team rows, cols, odd, even, single, reversed, uneven;
  int round;
  begin("testsplit", &argc, &argv);
  nrows = argc > 1 ? (gex_Rank_t)atol(argv[1]) : 0;
  ncols = argc > 2 ? (gex_Rank_t)atol(argv[2]) : 0;
  if (!nrows)
    for (nrows = 1; (nrows + 1) * (nrows + 1) <= nodes; nrows++) {}
  if (!ncols) ncols = nodes / nrows;
  if (nrows * ncols != nodes) ncols = nodes, nrows = 1;
  row = me / ncols, col = me % ncols;

  /* queries, before there is a segment; pointers are not read */
  made = untouched = (gex_TM_t)(uintptr_t)&errors;
  size = gex_TM_Split(&made, tm, (int)row, (int)col, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
  CHECK(size > 0 && size <= 2u << 20 && made == untouched);
  CHECK(gex_TM_Split(NULL, tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) == 0);
  size = gex_TM_Create(NULL, 1, tm, NULL, ncols, NULL, 0,
                       GEX_FLAG_TM_LOCAL_SCRATCH | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED | GEX_FLAG_RANK_IS_JOBRANK);
  CHECK(size > 0 && size <= 2u << 20);
  CHECK(gex_TM_Create(NULL, 0, tm, NULL, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) == 0);

  /* pairs are numbers */
  CHECK(gex_TM_Pair(ep, 0) == gex_TM_Pair(ep, 0) && gex_TM_Pair(ep, 0) != tm && gex_TM_Pair(ep, 0) != GEX_TM_INVALID);
  CHECK(gex_TM_TranslateRankToJobrank(tm, nodes - 1) == nodes - 1);
  CHECK(gex_TM_TranslateJobrankToRank(tm, me) == me);

  MUST(gex_EP_RegisterHandlers(ep, traffic_table, COUNT_OF(traffic_table)));
  /* a team before there is a segment */
  CHECK(gex_TM_Split(&made, tm, 0x7fffffff, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH) < ~(size_t)0);
  reversed = expect(made, nodes);
  for (i = 0; i < nodes; i++) member(&reversed, i, nodes - 1 - i);
  check_team(&reversed, tm);

  traffic_at = 64 << 10;
  make_areas(traffic_at + (size_t)nodes * TRAFFIC_SLOT);
  scratch = (char *)area[me];

  row_scratch = grant(), col_scratch = grant();
  gex_TM_Split(&made, tm, (int)row, (int)col - 5, row_scratch, SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH);
  rows = expect(made, ncols);
  for (i = 0; i < ncols; i++) member(&rows, i, row * ncols + i);
  check_team(&rows, tm);
  gex_TM_Split(&made, tm, (int)(col * 0xf00), 0, col_scratch, SCRATCH, 0); /* equal keys: order of the parent */
  cols = expect(made, nrows);
  for (i = 0; i < nrows; i++) member(&cols, i, i * ncols + col);
  check_team(&cols, tm);

  /* nested: alone, and the odd ones of a row; the others take part without joining */
  gex_TM_Split(&made, rows.tm, (int)col, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  single = expect(made, 1);
  member(&single, 0, me);
  check_team(&single, rows.tm);
  made = untouched;
  gex_TM_Split(col & 1 ? &made : NULL, rows.tm, 3, (int)col, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  CHECK((made == untouched) == !(col & 1));
  odd = expect(made, ncols / 2);
  for (i = 0; i < ncols / 2; i++) member(&odd, i, row * ncols + 2 * i + 1);
  if (col & 1) check_team(&odd, rows.tm);

  /* created: the even ones of the job, last one first; with rank or job rank */
  rest = (nodes + 1) / 2;
  even = expect(GEX_TM_INVALID, rest);
  uneven = expect(GEX_TM_INVALID, ncols);
  {
    gex_EP_Location_t *list = (gex_EP_Location_t *)calloc(nodes, sizeof *list);
    gex_Addr_t place = grant();
    for (i = 0; i < rest; i++) {
      list[i].gex_rank = 2 * (rest - 1 - i);
      member(&even, i, list[i].gex_rank);
    }
    made = untouched;
    if (me & 1) {
      gex_TM_Create(&made, 1, tm, list, 0, NULL, 0, GEX_FLAG_TM_LOCAL_SCRATCH);
      CHECK(made == untouched);
    } else {
      gex_TM_Create(&made, 1, tm, list, rest, &place, SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH);
      even.tm = made;
      memset(list, 0xff, nodes * sizeof *list);
      check_team(&even, tm);
    }
    for (i = 0; i < ncols; i++) {
      list[i].gex_rank = row * ncols + i;
      list[i].gex_ep_index = 0;
      member(&uneven, i, list[i].gex_rank);
    }
    gex_TM_Create(&made, 1, rows.tm, list, ncols, NULL, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK);
    uneven.tm = made;
    check_team(&uneven, rows.tm);
    gex_TM_SetCData(made, &list);
    CHECK(gex_TM_QueryCData(made) == (void *)&list);
    free(list);
    /* again and again, while the others live */
    for (round = 0; round < 4096; round++) {
      gex_TM_t a, b;
      gex_EP_Location_t self;
      self.gex_rank = me, self.gex_ep_index = 0;
      gex_TM_Split(&a, tm, (int)(me % 2), round % 3 ? (int)me : -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
      gex_TM_Create(&b, 1, rows.tm, &self, 1, NULL, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK);
      if (round % 64 == 0) {
        uint32_t sum = 1;
        wait_for(gex_Coll_ReduceToAllNB(a, &sum, &sum, GEX_DT_U32, 4, 1, GEX_OP_ADD, NULL, NULL, 0));
        CHECK(sum == gex_TM_QuerySize(a));
      }
      CHECK(gex_TM_QuerySize(b) == 1 && a != b);
      CHECK(gex_TM_Destroy(a, NULL, round & 1 ? 0 : GEX_FLAG_GLOBALLY_QUIESCED) == 0);
      CHECK(gex_TM_Destroy(b, NULL, 0) == 0);
    }
    if (!(me & 1)) destroy(&even, place, 0);
  }
  check_team(&rows, tm);
  check_team(&reversed, tm);
  destroy(&uneven, NULL, GEX_FLAG_GLOBALLY_QUIESCED);
  if (col & 1) destroy(&odd, NULL, 0);
  destroy(&single, NULL, 0);
  destroy(&cols, col_scratch, GEX_FLAG_GLOBALLY_QUIESCED);
  destroy(&rows, row_scratch, 0);
  destroy(&reversed, NULL, 0);
  return end();
}
