/* testteam (iters=1000) (nrows) (ncols): barriers and broadcasts on the teams of rows and columns, made with gaps in the keys.
 * Broadcasts of 4 bytes to 32 KiB are checked, and then timed without barriers between them, so that the root may run ahead.
 * Contract: ex-coll.md section 14. */
#include "testex.h"
#include <gasnet_coll.h>
#include <sys/time.h>

#define MOST (32 << 10)
static unsigned char from[MOST], into[MOST];

static double now(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}
static void barriers(gex_TM_t team, const char *name, int iters) {
  double start;
  int i;
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  start = now();
  for (i = 0; i < iters; i++) gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  if (me == 0) say("%s of %u: %.2f us a barrier", name, (unsigned)gex_TM_QuerySize(team), (now() - start) / iters);
}
static void broadcasts(gex_TM_t team, const char *name, int iters) {
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team), root;
  size_t len, i;
  int k;
  for (len = 4; len <= MOST; len *= 2) {
    double start;
    for (root = 0; root < size; root++) {
      for (i = 0; i < len; i++) from[i] = (unsigned char)(i * 7 + root + len);
      memset(into, 0, sizeof into);
      gex_Event_Wait(gex_Coll_BroadcastNB(team, root, into, rank == root ? from : NULL, len, 0));
      CHECK(memcmp(into, from, len) == 0);
      CHECK(len == MOST || into[len] == 0);
    }
    start = now();
    for (k = 0; k < iters; k++) gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, into, from, len, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (me == 0) say("%s of %u: %6u bytes: %.2f us a broadcast", name, (unsigned)size, (unsigned)len, (now() - start) / iters);
  }
}

int main(int argc, char **argv) {
  int iters;
  gex_Rank_t nrows, ncols;
  gex_TM_t row, col;
  begin("testteam", &argc, &argv);
  iters = argc > 1 ? atoi(argv[1]) : 1000;
  nrows = argc > 2 ? (gex_Rank_t)atol(argv[2]) : 2;
  ncols = argc > 3 ? (gex_Rank_t)atol(argv[3]) : nodes / nrows;
  if (nrows * ncols != nodes) nrows = 1, ncols = nodes;
  gex_TM_Split(&row, tm, (int)(me / ncols), 100 + 10 * (int)(me % ncols), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  gex_TM_Split(&col, tm, (int)(me % ncols), -1000 * (int)(nrows - me / ncols), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  CHECK(gex_TM_QueryRank(row) == me % ncols && gex_TM_QueryRank(col) == me / ncols);
  barriers(tm, "all", iters);
  barriers(row, "row", iters);
  barriers(col, "column", iters);
  broadcasts(tm, "all", iters / 10 + 1);
  broadcasts(row, "row", iters / 10 + 1);
  broadcasts(col, "column", iters / 10 + 1);
  CHECK(gex_TM_Destroy(row, NULL, 0) == 0);
  CHECK(gex_TM_Destroy(col, NULL, 0) == 0);
  return end();
}
