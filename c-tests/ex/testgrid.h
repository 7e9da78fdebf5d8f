/* The teams of testteam and testteambcast: rows and columns of a grid of processes, made with gaps in the keys and with scratch memory
 * of 1 MiB. Contract: ex-coll.md sections 7, 14. */
#ifndef TESTGRID_H
#define TESTGRID_H
#include "testperf.h"
#include <gasnet_coll.h>

#define SCRATCH ((size_t)1 << 20)
static gex_TM_t row_team, column_team;

/* Collective. The first 2 MiB of each area are the teams'. */
static void make_grid(long rows, long columns) {
  if (rows * columns != (long)nodes) columns = rows > 0 && (long)nodes % rows == 0 ? (long)nodes / rows : 0;
  if (columns == 0) rows = 1, columns = (long)nodes;
  if (me == 0) say("%ld rows, %ld columns", rows, columns);
  CHECK(gex_TM_Split(&row_team, tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) <= 2 * SCRATCH);
  make_areas(2 * SCRATCH);
  (void)gex_TM_Split(&row_team, tm, (int)((long)me / columns), 100 + 10 * (int)((long)me % columns), area[me], SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH);
  (void)gex_TM_Split(&column_team, tm, (int)((long)me % columns), -1000 * (int)(rows - (long)me / columns), area[me] + SCRATCH, SCRATCH,
                     GEX_FLAG_TM_LOCAL_SCRATCH);
  CHECK((long)gex_TM_QuerySize(row_team) == columns && (long)gex_TM_QueryRank(row_team) == (long)me % columns);
  CHECK((long)gex_TM_QuerySize(column_team) == rows && (long)gex_TM_QueryRank(column_team) == (long)me / columns);
}
static void destroy_grid(void) {
  gex_Memvec_t given;
  CHECK(gex_TM_Destroy(row_team, &given, 0) != 0 && given.gex_addr == area[me] && given.gex_len == SCRATCH);
  CHECK(gex_TM_Destroy(column_team, &given, 0) != 0 && given.gex_addr == area[me] + SCRATCH && given.gex_len == SCRATCH);
}
#endif
