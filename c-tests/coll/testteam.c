/* Teams: split, queries, collectives and reductions on them, several at once, ended and made anew (behaviours M6-M9,
 * L12).
 *
 *   testteam [ROUNDS]
 *
 * The nodes form a grid; rows, columns, halves of rows and singletons are teams. One thread per node, in every mode. */
#include "../testarea.h"
#include <gasnet_coll_team.h>

#define LOCALLY (GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)

typedef gasnet_team_handle_t team;

/* Two halves of a word are a map x -> ax + b modulo 2^16. One map after the other: it is associative and does not commute. */
static unsigned after(unsigned left, unsigned right) {
  unsigned a = (left >> 16) * (right >> 16), b = (left & 0xffff) * (right >> 16) + (right & 0xffff);
  return a << 16 | (b & 0xffff);
}

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags, int arg) {
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) ((unsigned *)results)[i] = after(((const unsigned *)left)[i], ((const unsigned *)right)[i]);
}
static gasnet_coll_fn_entry_t table[1] = {{sum, GASNET_COLL_NONCOMM}};

/* A team and its expected members. */
typedef struct {
  team t;
  gasnet_node_t size, rank, node[256];
} expected;

/* Members of `t`: the nodes for which color(node) is mine, ordered by relrank(node), then by node. */
static void describe(expected *e, team t, const gasnet_node_t *color, const gasnet_node_t *relrank) {
  gasnet_node_t n, k;
  e->t = t;
  e->size = 0;
  for (n = 0; n < nodes; n++) {
    if (color[n] != color[me]) continue;
    for (k = e->size++; k > 0 && relrank[e->node[k - 1]] > relrank[n]; k--) e->node[k] = e->node[k - 1];
    e->node[k] = n;
  }
  for (k = 0; k < e->size; k++)
    if (e->node[k] == me) e->rank = k;
}

static void query(const expected *e) {
  gasnet_node_t k;
  CHECK(gasnet_coll_team_size(e->t) == e->size, "size %u, expected %u", gasnet_coll_team_size(e->t), e->size);
  for (k = 0; k < e->size; k++) {
    CHECK(gasnet_coll_team_rank2node(e->t, (int)k) == e->node[k], "rank %u is node %u, expected %u", k,
          gasnet_coll_team_rank2node(e->t, (int)k), e->node[k]);
    CHECK(gasnet_coll_team_node2rank(e->t, e->node[k]) == k, "node %u has rank %u, expected %u", e->node[k],
          gasnet_coll_team_node2rank(e->t, e->node[k]), k);
  }
  CHECK(gasnete_coll_team_size(e->t) == e->size && gasnete_coll_team_rank2node(e->t, (int)e->rank) == me &&
        gasnete_coll_team_node2rank(e->t, me) == e->rank, "the names with e%s", "");
}

static unsigned word(gasnet_node_t node, gasnet_node_t to, unsigned salt) { return core_seed(node, to, salt); }

/* Every collective on the team, every rank as root, `n` words per block. */
static void use(const expected *e, size_t n, unsigned salt) {
  gasnet_node_t root, k, s = e->size;
  size_t i;
  unsigned *a = (unsigned *)malloc(n * s * sizeof *a), *b = (unsigned *)malloc(n * s * sizeof *b);
  for (root = 0; root < s; root++) {
    for (i = 0; i < n; i++) a[i] = word(me, 0, salt) + (unsigned)i, b[i] = 0;
    gasnet_coll_broadcast(e->t, b, root, a, n * sizeof *a, LOCALLY);
    for (i = 0; i < n; i++) if (!CHECK(b[i] == word(e->node[root], 0, salt) + i, "broadcast from rank %u", root)) break;
    for (i = 0; i < n * s; i++) a[i] = word(me, (unsigned)(i / n), salt) + (unsigned)i;
    gasnet_coll_scatter(e->t, b, root, a, n * sizeof *a, LOCALLY);
    for (i = 0; i < n; i++)
      if (!CHECK(b[i] == word(e->node[root], e->rank, salt) + e->rank * n + i, "scatter from rank %u", root)) break;
    for (i = 0; i < n; i++) a[i] = word(me, 1, salt) + (unsigned)i;
    memset(b, 0, n * s * sizeof *b);
    gasnet_coll_gather(e->t, root, b, a, n * sizeof *a, LOCALLY);
    for (i = 0; i < n * s && e->rank == root; i++)
      if (!CHECK(b[i] == word(e->node[i / n], 1, salt) + i % n, "gather to rank %u", root)) break;
    memset(b, 0, n * s * sizeof *b);
    gasnet_coll_reduce(e->t, root, b, a, 0, 0, sizeof *a, n, 0, 0, LOCALLY);
    for (i = 0; i < n && e->rank == root; i++) {
      unsigned want = word(e->node[0], 1, salt) + (unsigned)i;
      for (k = 1; k < s; k++) want = after(want, word(e->node[k], 1, salt) + (unsigned)i);
      if (!CHECK(b[i] == want, "reduce to rank %u: %u, expected %u", root, b[i], want)) break;
    }
  }
  gasnet_coll_gather_all(e->t, b, a, n * sizeof *a, LOCALLY);
  for (i = 0; i < n * s; i++) if (!CHECK(b[i] == word(e->node[i / n], 1, salt) + i % n, "gather_all, %u members", s)) break;
  for (i = 0; i < n * s; i++) a[i] = word(me, (unsigned)(i / n), salt);
  gasnet_coll_exchange(e->t, b, a, n * sizeof *a, LOCALLY);
  for (i = 0; i < n * s; i++) if (!CHECK(b[i] == word(e->node[i / n], e->rank, salt), "exchange, %u members", s)) break;
  free(a), free(b);
  gasnete_coll_teambarrier_notify(e->t);
  CHECK(gasnete_coll_teambarrier_wait(e->t) == GASNET_OK, "a barrier by the names with e%s", "");
}

/* Non-blocking collectives on all teams at once, synced in an order that depends on the node. */
static void together(expected *e, int count, unsigned salt) {
  enum { EACH = 20, MOST = 8 };
  unsigned got[MOST][EACH], src[MOST][EACH];
  gasnet_coll_handle_t h[MOST * EACH];
  int t, k, n = 0, i;
  for (k = 0; k < EACH; k++)
    for (t = 0; t < count; t++) {
      src[t][k] = word(me, (unsigned)(t * EACH + k), salt), got[t][k] = 0;
      h[n++] = gasnet_coll_broadcast_nb(e[t].t, &got[t][k], (gasnet_image_t)k % e[t].size, &src[t][k], sizeof **got, LOCALLY);
    }
  for (i = 0; i < n; i++) gasnet_coll_wait_sync(h[me % 2 ? i : n - 1 - i]);
  for (t = 0; t < count; t++)
    for (k = 0; k < EACH; k++)
      CHECK(got[t][k] == word(e[t].node[(gasnet_node_t)k % e[t].size], (unsigned)(t * EACH + k), salt), "broadcast %d of team %d", k, t);
}

int main(int argc, char **argv) {
  gasnet_node_t *color, *rel, n, width = 1;
  gasnet_seginfo_t scratch;
  expected e[8];
  long round, rounds;
  core_init(&argc, &argv, "testteam");
  rounds = core_number(argc, argv, 1, 12);
  area_attach(NULL, 0, 1 << 20);
  test_begin("testteam");
  color = (gasnet_node_t *)calloc(nodes, sizeof *color);
  rel = (gasnet_node_t *)calloc(nodes, sizeof *rel);
  describe(&e[0], GASNET_TEAM_ALL, color, rel);
  query(&e[0]); /* legal directly after attach */
  gasnet_coll_init(0, 0, table, 1, 0);
  while ((width + 1) * (width + 1) <= nodes) width++;
  scratch.addr = core_area[me];
  scratch.size = core_areasize;
  memset(scratch.addr, 0x66, scratch.size);
  for (round = 0; round < rounds; round++) {
    int t;
    for (t = 1; t < 8; t++) {
      team parent = GASNET_TEAM_ALL;
      for (n = 0; n < nodes; n++) {
        switch (t) {
          case 1: color[n] = n / width, rel[n] = n % width; break;                 /* rows */
          case 2: color[n] = n % width, rel[n] = n / width; break;                 /* columns */
          case 3: color[n] = n / width, rel[n] = width - n % width - 1; break;     /* rows, from right to left */
          case 4: color[n] = 0xffffffffu, rel[n] = nodes - 1 - n; break;           /* all, reversed */
          case 5: color[n] = n, rel[n] = 0; break;                                 /* alone */
          case 6: color[n] = n % 2, rel[n] = 5; break;                             /* the same relrank: order of the parent */
          default: color[n] = n / width * 2 + n % width % 2, rel[n] = n % width / 2; /* halves of the rows */
        }
      }
      if (t == 7) { /* a split of a split: color and order within the row */
        parent = e[1].t;
        describe(&e[t], NULL, color, rel);
        e[t].t = gasnet_coll_team_split(parent, me % width % 2, me % width / 2, NULL);
      } else {
        describe(&e[t], NULL, color, rel);
        e[t].t = gasnet_coll_team_split(parent, color[me], rel[me], t % 2 ? (void *)&scratch : NULL);
      }
      CHECK(e[t].t != NULL, "team %d is NULL", t);
      query(&e[t]);
      use(&e[t], 1, (unsigned)round);
    }
    together(e, 8, (unsigned)round);
    for (t = 0; t < 8; t++) use(&e[t], round % 4 == 0 ? 6000 : 20, (unsigned)(round * 8 + t));
    /* In another order, and teams without common members each at its own pace. */
    for (t = 7; t > 0; t--) gasnete_coll_team_free(e[t].t);
  }
  CHECK(core_notall(core_area[me], core_areasize, 0x66) == core_areasize, "scratch outside a team's use was written%s", "");
  free(color), free(rel);
  test_end();
  return 0;
}
