/* testteam (iters=10000) (nrows=2) (ncols): times of barriers on the teams of rows and columns. After each row of barriers their number is
 * compared: nobody is ahead. Contract: ex-coll.md section 14. */
#include "testgrid.h"

static void barriers(gex_TM_t team, const char *name, long iters) {
  uint32_t passed = 0, least = 0, most = 0;
  double us;
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  TIMED(us, 0, iters, (gex_Event_Wait(gex_Coll_BarrierNB(team, 0)), passed++));
  if (me == 0) say("%-6s of %2u: %10.3f us a barrier", name, (unsigned)gex_TM_QuerySize(team), us / (double)iters);
  gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &least, &passed, GEX_DT_U32, 4, 1, GEX_OP_MIN, NULL, NULL, 0));
  gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &most, &passed, GEX_DT_U32, 4, 1, GEX_OP_MAX, NULL, NULL, 0));
  CHECK(least == (uint32_t)iters && most == (uint32_t)iters);
}

int main(int argc, char **argv) {
  long iters;
  int arg;
  begin("testteam", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 3, "testteam [iters [nrows [ncols]]]");
  iters = positional(argc, argv, arg, 10000);
  make_grid(positional(argc, argv, arg + 1, 2), positional(argc, argv, arg + 2, 0));
  make_pairs();
  barriers(tm, "all", iters);
  barriers(row_team, "row", iters);
  barriers(column_team, "column", iters);
  destroy_grid();
  return end();
}
