/* Loops of a client's own around calls that never block, also with more nodes than cores: extended.md sections 4,
 * 8.4 and 10 ("with more processes than cores everything must still finish in reasonable time").
 *
 *   testtry [PHASES [ROUNDS]]
 *
 * The library must give the core of such a loop to the peer that the loop waits for. If it does not, each step costs
 * a time slice of the system, 2-20 ms, and the default counts take longer than the two minutes that a program has.
 * The program checks no other times. */
#include "../testrma.h"

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS };

/* Barriers that only try. */
static void barriers(int phases) {
  int i, rc, early = 0;
  for (i = 0; i < phases; i++) {
    gasnet_barrier_notify(i, 0);
    while ((rc = gasnet_barrier_try(i, 0)) == GASNET_ERR_NOT_READY) early++;
    if (rc != GASNET_OK) CHECK(0, "phase %d: %d", i, rc);
  }
  CHECK(nodes > 1 || early == 0, "%d tries too early", early);
}

/* A number goes round; each node looks for it in its own area by `look`, and passes it on. */
static gasnet_register_value_t look_val(void) { return gasnet_get_val(me, core_area[me], sizeof(gasnet_register_value_t)); }
static gasnet_register_value_t look_get(void) {
  gasnet_register_value_t v = 0;
  gasnet_get(&v, me, core_area[me], sizeof v);
  return v;
}
static gasnet_register_value_t look_nb(void) {
  gasnet_register_value_t v = 0;
  gasnet_handle_t h = gasnet_get_nb(&v, me, core_area[me], sizeof v);
  while (gasnet_try_syncnb(h) != GASNET_OK) continue;
  return v;
}
static gasnet_register_value_t look_nbi(void) {
  gasnet_register_value_t v = 0;
  gasnet_get_nbi(&v, me, core_area[me], sizeof v);
  while (gasnet_try_syncnbi_gets() != GASNET_OK) continue;
  return v;
}
static void ring(gasnet_register_value_t (*look)(void), gasnet_register_value_t first, int rounds) {
  gasnet_node_t next = (me + 1) % nodes;
  gasnet_register_value_t i;
  for (i = first; i < first + (unsigned)rounds; i++) {
    gasnet_register_value_t seen;
    if (me == 0) gasnet_put_val(next, core_area[next], i, sizeof i);
    while ((seen = look()) < i) continue;
    if (seen != i) CHECK(0, "%lu, expected %lu", (unsigned long)seen, (unsigned long)i);
    if (me != 0) gasnet_put_val(next, core_area[next], i, sizeof i);
  }
  CHECK(look() == i - 1, "the last number");
}

/* Gets from a neighbour, each tried for. */
static void gets(int rounds) {
  gasnet_node_t next = (me + 1) % nodes;
  int i;
  for (i = 0; i < rounds; i++) {
    gasnet_register_value_t v[2] = {0, 0};
    gasnet_handle_t h[2];
    h[0] = gasnet_get_nb_bulk(&v[0], next, core_area[next] + 64, sizeof v[0]);
    h[1] = gasnet_get_nb_bulk(&v[1], next, core_area[next] + 64, sizeof v[1]);
    if (i & 1) {
      while (gasnet_try_syncnb_all(h, 2) != GASNET_OK) continue;
    } else {
      while (h[0] != GASNET_INVALID_HANDLE || h[1] != GASNET_INVALID_HANDLE) (void)gasnet_try_syncnb_some(h, 2);
    }
    if (v[0] != next || v[1] != next) CHECK(0, "%lu %lu from node %u", (unsigned long)v[0], (unsigned long)v[1], (unsigned)next);
  }
}

int main(int argc, char **argv) {
  int phases, rounds;
  gasnet_register_value_t mine, zero = 0;
  core_init(&argc, &argv, "testtry");
  phases = argc > 1 ? atoi(argv[1]) : 12000;
  rounds = argc > 2 ? atoi(argv[2]) : 1500;
  rma_attach(NULL, 0, 128);
  mine = me;
  memcpy(core_area[me], &zero, sizeof zero);
  memcpy(core_area[me] + 64, &mine, sizeof mine);
  test_begin("testtry");
  barriers(phases);
  test_barrier();
  gets(rounds);
  test_barrier();
  ring(look_val, 1, rounds);
  test_barrier();
  ring(look_get, (gasnet_register_value_t)rounds + 1, rounds);
  test_barrier();
  ring(look_nb, 2 * (gasnet_register_value_t)rounds + 1, rounds);
  test_barrier();
  ring(look_nbi, 3 * (gasnet_register_value_t)rounds + 1, rounds);
  /* A region that is known to be empty: its handle may be dropped, and that is no warning. */
  gasnet_begin_nbi_accessregion();
  gasnet_end_nbi_accessregion();
  test_end();
  return 0;
}
