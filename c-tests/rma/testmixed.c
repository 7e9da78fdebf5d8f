/* Transfers with all nodes at once, in one set of handles. If some peers are mapped and others are not
 * (GASNET_SCI_UNMAPPED), one sync waits for inline transfers and messages. Each node writes to and reads from its
 * own line at every node, itself included.
 *
 *   testmixed [rounds] */
#include "../testarea.h"

#include <gasnet_vis.h>

enum { LINE = 256, HALF = LINE / 2, PIECE = 8, PIECES = 4 };

static unsigned char *line_of(gasnet_node_t at) { return core_area[at] + (size_t)me * LINE; }
static unsigned seed_of(gasnet_node_t at, int round) { return (unsigned)(round * 1000) + (unsigned)(me * 30) + (unsigned)at; }

static unsigned char *out, *in; /* LINE bytes for each node */

static void fill(int round) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++) test_fill(out + (size_t)i * LINE, LINE, seed_of(i, round));
  memset(in, 0, nodes * (size_t)LINE);
}

/* What `in` has is what was written. */
static void check(const char *what, int round) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    CHECK(test_differs(in + (size_t)i * LINE, LINE, seed_of(i, round)) == LINE, "%s, node %u, round %d: byte %lu", what,
          (unsigned)i, round, (unsigned long)test_differs(in + (size_t)i * LINE, LINE, seed_of(i, round)));
}

/* Implicit puts, then implicit gets: a sync may not take it that all are over because the last one was inline. */
static void implicit(int round, int trying) {
  gasnet_node_t i;
  fill(round);
  for (i = 0; i < nodes; i++) {
    gasnet_put_nbi(i, line_of(i), out + (size_t)i * LINE, HALF);
    gasnet_put_nbi_bulk(i, line_of(i) + HALF, out + (size_t)i * LINE + HALF, HALF);
  }
  if (trying) while (gasnet_try_syncnbi_puts() != GASNET_OK) gasnet_AMPoll();
  else gasnet_wait_syncnbi_puts();
  for (i = 0; i < nodes; i++) gasnet_get_nbi_bulk(in + (size_t)i * LINE, i, line_of(i), LINE);
  if (trying) while (gasnet_try_syncnbi_all() != GASNET_OK) gasnet_AMPoll();
  else gasnet_wait_syncnbi_gets();
  check(trying ? "implicit, try" : "implicit", round);
}

/* Handles of all nodes in one array. */
static void explicits(int round, int form) {
  gasnet_handle_t *handles = (gasnet_handle_t *)calloc(nodes, sizeof *handles);
  gasnet_node_t i;
  if (!handles) gasnet_exit(98);
  fill(round);
  for (i = 0; i < nodes; i++) handles[i] = gasnet_put_nb(i, line_of(i), out + (size_t)i * LINE, LINE);
  if (form == 0) for (i = nodes; i-- > 0;) gasnet_wait_syncnb(handles[i]);
  if (form == 1) gasnet_wait_syncnb_all(handles, nodes);
  if (form == 2) for (i = 0; i < nodes; i++) while (gasnet_try_syncnb(handles[i]) != GASNET_OK) gasnet_AMPoll();
  for (i = 0; i < nodes; i++) handles[i] = gasnet_get_nb(in + (size_t)i * LINE, i, line_of(i), LINE);
  if (form == 0) for (i = 0; i < nodes; i++) gasnet_wait_syncnb(handles[i]);
  if (form == 1) while (gasnet_try_syncnb_all(handles, nodes) != GASNET_OK) gasnet_AMPoll();
  if (form == 2)
    for (i = 0; i < nodes; i++) while (gasnet_try_syncnb_nopoll(handles[i]) != GASNET_OK) gasnet_AMPoll();
  check("handles", round);
  free(handles);
}

/* An access region with all nodes in it. */
static void region(int round) {
  gasnet_handle_t h;
  gasnet_node_t i;
  fill(round);
  gasnet_begin_nbi_accessregion();
  for (i = 0; i < nodes; i++) gasnet_put_nbi_bulk(i, line_of(i), out + (size_t)i * LINE, LINE);
  h = gasnet_end_nbi_accessregion();
  gasnet_wait_syncnb(h);
  gasnet_begin_nbi_accessregion();
  for (i = nodes; i-- > 0;) gasnet_get_nbi(in + (size_t)i * LINE, i, line_of(i), LINE);
  gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
  check("region", round);
}

/* Values of all nodes in flight, waited for in another order; memsets. */
static void values(int round) {
  gasnet_valget_handle_t *handles = (gasnet_valget_handle_t *)calloc(nodes, sizeof *handles);
  gasnet_handle_t h;
  gasnet_node_t i;
  if (!handles) gasnet_exit(98);
  for (i = 0; i < nodes; i++) {
    const gasnet_register_value_t v = (gasnet_register_value_t)seed_of(i, round) * 0x0101010101u;
    if (i % 3 == 0) gasnet_put_val(i, line_of(i), v, 8);
    if (i % 3 == 1) gasnet_put_nbi_val(i, line_of(i), v, 8);
    if (i % 3 == 2) h = gasnet_put_nb_val(i, line_of(i), v, 8), gasnet_wait_syncnb(h);
  }
  gasnet_wait_syncnbi_puts();
  for (i = 0; i < nodes; i++) handles[i] = gasnet_get_nb_val(i, line_of(i), 8);
  for (i = nodes; i-- > 0;) {
    const gasnet_register_value_t v = gasnet_wait_syncnb_valget(handles[i]);
    CHECK(v == (gasnet_register_value_t)seed_of(i, round) * 0x0101010101u, "node %u: %llx", (unsigned)i, (unsigned long long)v);
    CHECK(gasnet_get_val(i, line_of(i), 8) == v, "node %u", (unsigned)i);
  }
  for (i = 0; i < nodes; i++) gasnet_memset_nbi(i, line_of(i), round & 0x7f, LINE);
  gasnet_wait_syncnbi_all();
  for (i = 0; i < nodes; i++) gasnet_get(in, i, line_of(i), LINE), CHECK(in[0] == (round & 0x7f) && in[LINE - 1] == in[0], "%d", in[0]);
  free(handles);
}

/* Few pieces, which the header copies where it can, in each form. */
static void pieces(int round) {
  const size_t count[2] = {PIECE, PIECES}, apart[1] = {2 * PIECE}, tight[1] = {PIECE};
  gasnet_memvec_t there[PIECES], here[PIECES];
  void *places[PIECES], *mine[PIECES];
  gasnet_handle_t h;
  gasnet_node_t i;
  int j;
  fill(round);
  for (i = 0; i < nodes; i++) {
    unsigned char *from = out + (size_t)i * LINE;
    for (j = 0; j < PIECES; j++) {
      there[j].addr = line_of(i) + 2 * PIECE * j, there[j].len = PIECE;
      here[j].addr = from + PIECE * j, here[j].len = PIECE;
      places[j] = line_of(i) + 64 + 2 * PIECE * j, mine[j] = from + 32 + PIECE * j;
    }
    gasnet_putv_nbi_bulk(i, PIECES, there, PIECES, here);
    h = gasnet_puti_nb_bulk(i, PIECES, places, PIECE, PIECES, mine, PIECE);
    gasnet_puts_bulk(i, line_of(i) + 128, apart, from + 64, tight, count, 1);
    gasnet_wait_syncnb(h);
  }
  gasnet_wait_syncnbi_puts();
  for (i = 0; i < nodes; i++) {
    unsigned char *to = in + (size_t)i * LINE;
    for (j = 0; j < PIECES; j++) {
      there[j].addr = line_of(i) + 2 * PIECE * j, there[j].len = PIECE;
      here[j].addr = to + PIECE * j, here[j].len = PIECE;
      places[j] = line_of(i) + 64 + 2 * PIECE * j, mine[j] = to + 32 + PIECE * j;
    }
    gasnet_getv_nbi_bulk(PIECES, here, i, PIECES, there);
    gasnet_geti_nbi_bulk(PIECES, mine, PIECE, i, PIECES, places, PIECE);
    h = gasnet_gets_nb_bulk(to + 64, tight, i, line_of(i) + 128, apart, count, 1);
    gasnet_wait_syncnb(h);
  }
  gasnet_wait_syncnbi_gets();
  for (i = 0; i < nodes; i++)
    CHECK(test_differs(in + (size_t)i * LINE, 96, seed_of(i, round)) == 96, "pieces, node %u, round %d: byte %lu", (unsigned)i,
          round, (unsigned long)test_differs(in + (size_t)i * LINE, 96, seed_of(i, round)));
}

int main(int argc, char **argv) {
  int rounds, round;
  core_init(&argc, &argv, "testmixed");
  rounds = argc > 1 ? atoi(argv[1]) : 40;
  area_attach(NULL, 0, nodes * (size_t)LINE);
  out = (unsigned char *)malloc(nodes * (size_t)LINE), in = (unsigned char *)malloc(nodes * (size_t)LINE);
  if (!out || !in) gasnet_exit(98);
  test_begin("testmixed");
  for (round = 0; round < rounds; round++) {
    implicit(round, round % 2);
    explicits(round + 1, round % 3);
    region(round + 2);
    values(round + 3);
    pieces(round + 4);
  }
  test_end();
  return 0;
}
