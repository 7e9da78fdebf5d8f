/* Misuse of collectives, teams and team barriers: one case per run, named by the argument. scenarios.txt says how
 * each case must end. If the library does not notice the misuse, the program prints MISSED.
 *
 *   testcollbad CASE */
#include "../testcore.h"

#define SYNC (GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)
#define LOCALLY (SYNC | GASNET_COLL_LOCAL)
#define IS(name) (!strcmp(which, name))
#define ABSENCE 12 /* seconds; the library's patience is 5 */

static void nothing(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags, int arg) {
  (void)results, (void)n, (void)left, (void)left_count, (void)right, (void)size, (void)flags, (void)arg;
}
static gasnet_coll_fn_entry_t table[1] = {{nothing, 0}};

static void the_end(void) {
  printf("testcollbad: absent: the end\n");
  fflush(stdout);
  gasnet_exit(3);
}

#if defined(GASNET_PAR)
#include <pthread.h>
static void *second_image(void *counts) {
  gasnet_coll_init((gasnet_image_t *)counts, 2 * me + 1, 0, 0, 0);
  sleep(ABSENCE);
  the_end();
  return NULL;
}
#endif

int main(int argc, char **argv) {
  static char a[4096], b[4096];
  static char missing[] = "/nonexistent/tuning";
  const char *which = argc > 1 ? argv[1] : "";
  gasnet_team_handle_t all = GASNET_TEAM_ALL;
  int last, id = 0;
  core_init(&argc, &argv, "testcollbad");
  core_attach(NULL, 0, 65536);
  test_begin("testcollbad");
  last = me == nodes - 1;
  /* wrong arguments */
  if (IS("root")) gasnet_coll_broadcast(all, a, nodes, b, 8, LOCALLY);
  else if (IS("team")) gasnet_coll_broadcast((gasnet_team_handle_t)(uintptr_t)77, a, 0, b, 8, LOCALLY);
  else if (IS("teamnull")) gasnet_coll_exchange(NULL, a, b, 8, LOCALLY);
  else if (IS("noin")) gasnet_coll_gather_all(all, a, b, 8, GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
  else if (IS("twoout")) gasnet_coll_gather_all(all, a, b, 8, LOCALLY | GASNET_COLL_OUT_ALLSYNC);
  else if (IS("noscope")) gasnet_coll_gather_all(all, a, b, 8, SYNC);
  else if (IS("twoscopes")) gasnet_coll_gather_all(all, a, b, 8, LOCALLY | GASNET_COLL_SINGLE);
  else if (IS("segment")) gasnet_coll_gather_all(all, a, b, 8, LOCALLY | GASNET_COLL_DST_IN_SEGMENT);
  else if (IS("aggregate")) gasnet_coll_gather_all(all, a, b, 8, LOCALLY | GASNET_COLL_AGGREGATE);
  else if (IS("function")) gasnet_coll_reduce(all, 0, a, b, 0, 0, 4, 1, 0, 0, LOCALLY);
  else if (IS("layout")) gasnet_coll_init(0, 0, table, 1, 0), gasnet_coll_reduce(all, 0, a, b, 4, 0, 4, 1, 0, 0, LOCALLY);
  else if (IS("scan")) gasnet_coll_init(0, 0, table, 1, 0), gasnet_coll_scan(all, a, 0, 0, b, 0, 0, 4, 1, 0, 0, LOCALLY);
  else if (IS("twice")) gasnet_coll_init(0, 0, 0, 0, 0), gasnet_coll_init(0, 0, 0, 0, 0);
  else if (IS("handle")) gasnet_coll_wait_sync((gasnet_coll_handle_t)(uintptr_t)0x1234567);
  else if (IS("tuning")) gasnet_coll_loadTuningState(missing, all);
  /* teams */
  else if (IS("rank")) gasnet_coll_team_rank2node(all, (int)nodes);
  else if (IS("negative")) gasnet_coll_team_rank2node(all, -1);
  else if (IS("member")) gasnet_coll_team_node2rank(gasnet_coll_team_split(all, me, 0, NULL), (me + 1) % nodes);
  else if (IS("freeall")) gasnete_coll_team_free(all);
  else if (IS("freed")) {
    gasnet_team_handle_t gone = gasnet_coll_team_split(all, 0, me, NULL);
    gasnete_coll_team_free(gone);
    gasnet_coll_broadcast(gone, a, 0, b, 8, LOCALLY);
  }
  /* team barriers */
  else if (IS("waitfirst")) id = gasnet_coll_barrier_wait(gasnet_coll_team_split(all, 0, me, NULL), 0, 0);
  else if (IS("notifytwice")) {
    gasnet_team_handle_t team = gasnet_coll_team_split(all, 0, me, NULL);
    gasnet_coll_barrier_notify(team, 0, 0);
    gasnet_coll_barrier_notify(team, 0, 0);
  } else if (IS("resultearly")) id = gasnet_coll_barrier_result(gasnet_coll_team_split(all, 0, me, NULL), &id);
  /* calls that differ; the good nodes wait */
  else if (IS("kinds")) {
    if (last) gasnet_coll_gather(all, 0, a, b, 8, LOCALLY);
    else gasnet_coll_broadcast(all, a, 0, b, 8, LOCALLY);
  } else if (IS("lengths")) gasnet_coll_broadcast(all, a, 0, b, last ? 8 : sizeof b, LOCALLY);
  else if (IS("sizes")) gasnet_coll_exchange(all, a, b, last ? 16 : 8, LOCALLY);
  else if (IS("roots")) gasnet_coll_scatter(all, a, last ? 1 : 0, b, 100, LOCALLY);
  else if (IS("syncs")) gasnet_coll_gather_all(all, a, b, 4, last ? LOCALLY : LOCALLY ^ GASNET_COLL_IN_MYSYNC ^ GASNET_COLL_IN_ALLSYNC);
  else if (IS("elements")) gasnet_coll_init(0, 0, table, 1, 0), gasnet_coll_reduce(all, 0, a, b, 0, 0, 4, last ? 2 : 1, 0, 0, LOCALLY);
  else if (IS("late")) { /* the odd one is found although everybody has gone on */
    int k;
    for (k = 0; k < 5; k++) gasnet_coll_broadcast(all, a, 0, b, 8, LOCALLY);
    if (last) gasnet_coll_broadcast(all, a, 0, b, 9, LOCALLY);
    else gasnet_coll_broadcast(all, a, 0, b, 8, LOCALLY);
    for (k = 0; k < 5; k++) gasnet_coll_broadcast(all, a, 0, b, 8, LOCALLY);
  } else if (IS("absent")) { /* one never calls: the others say for whom they wait */
    if (!last) gasnet_coll_gather_all(all, a, b, 8, LOCALLY);
    else sleep(ABSENCE);
    the_end();
  } else if (IS("absentnb")) { /* also when they wait for a handle */
    gasnet_coll_handle_t h[2];
    if (!last) {
      h[0] = gasnet_coll_exchange_nb(all, a, b, 8, LOCALLY);
      h[1] = GASNET_COLL_INVALID_HANDLE;
      if (me == 0) gasnet_coll_wait_sync(h[0]);
      else gasnet_coll_wait_sync_some(h, 2);
    } else sleep(ABSENCE);
    the_end();
  }
#if defined(GASNET_PAR)
  else if (IS("absentimage")) { /* a thread of the node never calls */
    gasnet_image_t counts[256], k;
    pthread_t other;
    for (k = 0; k < nodes; k++) counts[k] = 2;
    pthread_create(&other, NULL, second_image, counts);
    gasnet_coll_init(counts, 2 * me, 0, 0, 0);
    gasnet_coll_gather_all(all, a, b, 8, LOCALLY);
  }
#endif
  else if (IS("handler")) gasnet_coll_init(0, 0, 0, 0, 0);
  else {
    fprintf(stderr, "testcollbad: no case '%s'\n", which);
    gasnet_exit(9);
  }
  if (!IS("handler")) {
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("testcollbad: node %d: MISSED %s (%d)\n", (int)me, which, id);
    fflush(stdout);
    gasnet_exit(8);
  }
  test_end();
  return 0;
}
