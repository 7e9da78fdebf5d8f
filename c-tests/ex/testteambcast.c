/* testteambcast (nrows=2) (ncols) (iters=20): broadcasts of 4 bytes to 32 KiB on all processes, rows and columns, from each root. They are
 * checked, and then timed without barriers between them, so that the root may run ahead. Contract: ex-coll.md section 14. */
#include "testgrid.h"

#define MOST ((size_t)32 << 10)
static unsigned char from[MOST], into[MOST + 1];

static void broadcasts(gex_TM_t team, const char *name, long iters) {
  const gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team);
  gex_Rank_t root;
  char what[64];
  size_t n;
  for (n = 4; n <= MOST; n *= 2) {
    double us;
    for (root = 0; root < size; root++) {
      fill(from, root + (unsigned)n, n);
      memset(into, 0xee, sizeof into);
      gex_Event_Wait(gex_Coll_BroadcastNB(team, root, into, rank == root ? from : NULL, n, 0));
      CHECK(filled(into, root + (unsigned)n, n) && into[n] == 0xee);
    }
    memset(into, 0xee, sizeof into);
    TIMED(us, 0, iters, gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, into, from, n, 0)));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    CHECK(filled(into, size - 1 + (unsigned)n, n) && into[n] == 0xee); /* `from` is still the last root's */
    snprintf(what, sizeof what, "%s of %u", name, (unsigned)size);
    if (me == 0) row('A', what, n, iters, us);
  }
}

int main(int argc, char **argv) {
  long iters;
  int arg;
  begin("testteambcast", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 3, "testteambcast [nrows [ncols [iters]]]");
  iters = positional(argc, argv, arg + 2, 20);
  make_grid(positional(argc, argv, arg, 2), positional(argc, argv, arg + 1, 0));
  make_pairs();
  broadcasts(tm, "all", iters);
  broadcasts(row_team, "row", iters);
  broadcasts(column_team, "column", iters);
  destroy_grid();
  return end();
}
