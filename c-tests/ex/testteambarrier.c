/* Times of the named barriers of GASNET_TEAM_ALL. Contract: ex-coll.md sections 8, 9, 14.
 *
 *   testteambarrier [iters=10000 [threads=1 [sections]]]     sections: A named, B anonymous, C one named, D unnamed */
#include "testbarriers.h"

int main(int argc, char **argv) {
  long iters;
  int arg, way;
  begin("testteambarrier", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 3, "testteambarrier [iters [threads [sections]]]");
  iters = positional(argc, argv, arg, 10000);
  if (positional(argc, argv, arg + 1, 1) > 1 && me == 0) printf("WARNING: one thread of each process takes part\n");
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  start_pollers(""); /* none */
  of_team = 1;
  for (way = 0; way < 3; way++) {
    by_try = way == 1, by_blocking = way == 2;
    if (me == 0) say("%s", way == 0 ? "by wait" : way == 1 ? "by try" : "blocking");
    time_all_barriers(iters);
  }
  stop_pollers();
  return end();
}
