/* Barriers of teams and of images: no node leaves before all have arrived; names and mismatches; several teams in
 * different phases; the team of all nodes shares its state with the plain barrier (behaviours M10-M15).
 *
 *   testteambarrier [ROUNDS] */
#include "testcoll.h"

#define ANON GASNET_BARRIERFLAG_ANONYMOUS
#define MISMATCH GASNET_BARRIERFLAG_MISMATCH

static long rounds;
static int come; /* of this node's images, in the images' part */

/* A counter per member that everybody increases before it notifies: after the wait no counter is behind. */
static void order(gasnet_team_handle_t team, gasnet_node_t size, long count) {
  long r;
  gasnet_node_t k, here = gasnet_coll_team_node2rank(team, me);
  for (r = 1; r <= count; r++) {
    uint32_t mine = (uint32_t)r, *theirs;
    for (k = 0; k < size; k++) {
      gasnet_node_t node = gasnet_coll_team_rank2node(team, (int)k);
      gasnet_put(node, core_area[node] + 4 * me, &mine, 4);
    }
    if (r % 3 == 0) {
      gasnet_coll_barrier_notify(team, 0, ANON);
      while (gasnet_coll_barrier_try(team, 0, ANON) != GASNET_OK) continue;
    } else if (r % 3 == 1) {
      GASNET_SAFE(gasnet_coll_barrier(team, (int)r, 0));
    } else {
      gasnet_coll_barrier_notify(team, 0, GASNET_BARRIERFLAG_UNNAMED);
      GASNET_SAFE(gasnet_coll_barrier_wait(team, 0, GASNET_BARRIERFLAG_UNNAMED));
    }
    for (k = 0; k < size; k++) {
      gasnet_node_t node = gasnet_coll_team_rank2node(team, (int)k);
      theirs = (uint32_t *)(void *)core_area[me] + node;
      CHECK(AREA_LOAD(theirs) >= mine, "round %ld of %u: member %u is still in round %u", r, here, k, *theirs);
    }
  }
  GASNET_SAFE(gasnet_coll_barrier(team, 0, ANON));
}

/* Every case of names; what result says after it. */
static void names(gasnet_team_handle_t team, gasnet_node_t size) {
  gasnet_node_t rank = gasnet_coll_team_node2rank(team, me);
  int id = -1, rc, want = 0xcafef00d;
  GASNET_SAFE(gasnet_coll_barrier(team, want, 0));
  rc = gasnet_coll_barrier_result(team, &id);
  CHECK(rc == 0 && id == want, "named: result %d, name %x", rc, (unsigned)id);
  GASNET_SAFE(gasnet_coll_barrier(team, 5, ANON));
  CHECK(gasnet_coll_barrier_result(team, &id) != 0, "anonymous: result says %x", (unsigned)id);
  rc = gasnet_coll_barrier(team, 7, rank % 2 ? ANON : 0);
  CHECK(rc == GASNET_OK, "named and anonymous: %s", gasnet_ErrorName(rc));
  rc = gasnet_coll_barrier_result(team, &id);
  CHECK(rc == 0 && id == 7, "named and anonymous: result %d, name %d", rc, id);
  rc = gasnet_coll_barrier(team, rank == size - 1 ? 8 : 9, 0);
  CHECK(rc == (size > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK), "two names: %s", gasnet_ErrorName(rc));
  rc = gasnet_coll_barrier(team, 3, rank == 0 ? MISMATCH : ANON);
  CHECK(rc == GASNET_ERR_BARRIER_MISMATCH, "asked for a mismatch: %s", gasnet_ErrorName(rc));
  GASNET_SAFE(gasnet_coll_barrier(team, 1, 0));
  gasnet_coll_barrier_notify(team, 2, 0);
  rc = gasnet_coll_barrier_wait(team, 3, 0);
  CHECK(rc == GASNET_ERR_BARRIER_MISMATCH, "another name in wait: %s", gasnet_ErrorName(rc));
  GASNET_SAFE(gasnet_coll_barrier(team, 4, 0));
}

/* try returns NOT_READY while a member is missing, and has no other effect. */
static void not_ready(gasnet_team_handle_t team, gasnet_node_t size) {
  gasnet_node_t rank = gasnet_coll_team_node2rank(team, me);
  int rc = GASNET_ERR_NOT_READY;
  long before = 0;
  if (rank == size - 1) usleep(3000);
  gasnet_coll_barrier_notify(team, 0, ANON);
  while ((rc = gasnet_coll_barrier_try(team, 0, ANON)) == GASNET_ERR_NOT_READY) before++;
  CHECK(rc == GASNET_OK && (size > 1 || before == 0), "try: %s after %ld", gasnet_ErrorName(rc), before);
}

/* Teams in different phases at once, and the plain barrier in the middle of both. */
static void independent(gasnet_team_handle_t a, gasnet_team_handle_t b) {
  int r;
  for (r = 0; r < 50; r++) {
    gasnet_coll_barrier_notify(a, r, 0);
    gasnet_coll_barrier_notify(b, r + 1, 0);
    gasnet_barrier_notify(r + 2, 0);
    GASNET_SAFE(gasnet_coll_barrier_wait(b, r + 1, 0));
    GASNET_SAFE(gasnet_coll_barrier(b, r + 3, 0));
    GASNET_SAFE(gasnet_coll_barrier_wait(GASNET_TEAM_ALL, r + 2, 0));
    GASNET_SAFE(gasnet_coll_barrier_wait(a, r, 0));
    gasnet_coll_barrier_notify(GASNET_TEAM_ALL, r, 0);
    GASNET_SAFE(gasnet_barrier_wait(r, 0));
  }
}

static void images(gasnet_image_t image) {
  long r;
  for (r = 1; r <= rounds; r++) {
    int flags = GASNET_BARRIERFLAG_IMAGES | (r % 2 ? GASNET_BARRIERFLAG_UNNAMED : 0), rc;
    TEST_COUNT(&come);
    gasnet_coll_barrier_notify(GASNET_TEAM_ALL, (int)r, flags);
    rc = gasnet_coll_barrier_wait(GASNET_TEAM_ALL, (int)r, flags);
    CHECK(rc == GASNET_OK, "images: %s", gasnet_ErrorName(rc));
    CHECK(AREA_LOAD(&come) >= (int)(r * (long)coll_counts[me]), "image %u left before others came", (unsigned)image);
    rc = gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_IMAGES | ANON);
    CHECK(rc == GASNET_OK, "images: %s", gasnet_ErrorName(rc));
    CHECK(AREA_LOAD(&come) == (int)(r * (long)coll_counts[me]), "image %u: somebody is a round ahead", (unsigned)image);
    coll_meet();
  }
}

int main(int argc, char **argv) {
  gasnet_team_handle_t all = GASNET_TEAM_ALL, half, alone, reversed;
  core_init(&argc, &argv, "testteambarrier");
  rounds = core_number(argc, argv, 1, 300);
  area_attach(NULL, 0, COLL_PERIMAGE * 3);
  test_begin("testteambarrier");
  names(all, nodes); /* without any other call before */
  half = gasnet_coll_team_split(all, me % 2, me / 2, NULL);
  alone = gasnet_coll_team_split(all, me, 0, NULL);
  reversed = gasnet_coll_team_split(all, 1, nodes - 1 - me, NULL);
  names(half, gasnet_coll_team_size(half));
  names(alone, 1);
  names(reversed, nodes);
  not_ready(half, gasnet_coll_team_size(half));
  not_ready(alone, 1);
  not_ready(all, nodes);
  memset(core_area[me], 0, 4 * nodes);
  test_barrier();
  order(reversed, nodes, rounds);
  memset(core_area[me], 0, 4 * nodes);
  test_barrier();
  order(half, gasnet_coll_team_size(half), rounds);
  independent(half, reversed);
  test_barrier();
  coll_setup(3);
  coll_run(images);
  test_end();
  return 0;
}
