/* The collectives of testmixed: several under way, over teams of each actor's own, verified. All processes start those of an actor in
 * the same order, which `common` draws, but each at moments of its own. Contract: ex-coll.md sections 3-7. */
#ifndef TESTMIXED_COLL_H
#define TESTMIXED_COLL_H
#include "testmixed.h"

#define COLL_BYTES ((size_t)16384)
enum { BARRIER_NB, BROADCAST, TO_ONE, TO_ALL, BARRIER_NOW, NEW_TEAM, NEW_DOMAIN, NAMED_BARRIER };

/* What member `m` gives as element i. */
static uint64_t given_value(unsigned seed, gex_Rank_t m, size_t i) {
  uint64_t x = ((uint64_t)seed << 20) + m * 977u + i;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 29);
}
/* x -> a x + b: to apply one after the other is associative, and not commutative. */
typedef struct {
  uint64_t a, b;
} affine_t;
static void affine_fn(const void *left, void *right, size_t count, const void *cdata) {
  const affine_t *l = (const affine_t *)left;
  affine_t *r = (affine_t *)right;
  size_t i;
  SURE(cdata == &seed0, "cdata %p", cdata);
  for (i = 0; i < count; i++) {
    const affine_t both = {l[i].a * r[i].a, r[i].a * l[i].b + r[i].b};
    r[i] = both;
  }
}
static void sum_fn(const void *left, void *right, size_t count, const void *cdata) {
  size_t i;
  SURE(cdata == &seed0, "cdata %p", cdata);
  for (i = 0; i < count; i++) ((uint64_t *)right)[i] += ((const uint64_t *)left)[i];
}
static const struct {
  const char *name;
  gex_DT_t type;
  size_t size;
  gex_OP_t op;
  gex_Coll_ReduceFn_t fn;
} operation[] = {{"sum of U64", GEX_DT_U64, 8, GEX_OP_ADD, NULL},     {"maximum of U64", GEX_DT_U64, 8, GEX_OP_MAX, NULL},
                 {"xor of U64", GEX_DT_U64, 8, GEX_OP_XOR, NULL},     {"minimum of U32", GEX_DT_U32, 4, GEX_OP_MIN, NULL},
                 {"sum of DBL", GEX_DT_DBL, 8, GEX_OP_ADD, NULL},     {"own sum of U64", GEX_DT_U64, 8, GEX_OP_USER, sum_fn},
                 {"own product", GEX_DT_USER, 16, GEX_OP_USER_NC, affine_fn}};
#define OPERATIONS (sizeof operation / sizeof operation[0])

/* Element i of member `m`, and the result of all members' elements. */
static void element(unsigned op, unsigned seed, gex_Rank_t m, size_t i, void *at) {
  const uint64_t value = given_value(seed, m, i);
  const uint32_t word = (uint32_t)value;
  const double number = (double)(value & 0xFFFF);
  const affine_t both = {value | 1, value >> 7};
  switch (operation[op].type) {
    case GEX_DT_U64: memcpy(at, &value, 8); break;
    case GEX_DT_U32: memcpy(at, &word, 4); break;
    case GEX_DT_DBL: memcpy(at, &number, 8); break;
    default: memcpy(at, &both, 16);
  }
}
static void result_of(unsigned op, unsigned seed, gex_Rank_t size, size_t i, void *at) {
  affine_t sum, next;
  gex_Rank_t m;
  memset(&sum, 0, sizeof sum);
  element(op, seed, 0, i, &sum);
  for (m = 1; m < size; m++) {
    uint32_t w[2];
    double d[2];
    memset(&next, 0, sizeof next);
    element(op, seed, m, i, &next);
    memcpy(&w[0], &sum, 4), memcpy(&w[1], &next, 4), memcpy(&d[0], &sum, 8), memcpy(&d[1], &next, 8);
    switch (op) {
      case 1: sum.a = sum.a > next.a ? sum.a : next.a; break;
      case 2: sum.a ^= next.a; break;
      case 3: memcpy(&sum, w[0] < w[1] ? &w[0] : &w[1], 4); break;
      case 4: d[0] += d[1], memcpy(&sum, &d[0], 8); break;
      case 6: affine_fn(&sum, &next, 1, &seed0), sum = next; break;
      default: sum.a += next.a;
    }
  }
  memcpy(at, &sum, operation[op].size);
}

static void finish_coll(actor_t *a, coll_t *c) {
  const gex_Rank_t rank = gex_TM_QueryRank(c->team), size = gex_TM_QuerySize(c->team);
  size_t i;
  (void)a;
  c->busy = 0;
  verified(1, 0);
  if (c->kind == BROADCAST) {
    SURE(same(c->out, slice(c->seed), c->n), "a broadcast of %lu bytes from %u of %u", (unsigned long)c->n, c->root, size);
    SURE(c->out[c->n] == 0xEE, "a broadcast of %lu bytes wrote more", (unsigned long)c->n);
  }
  if (c->kind == TO_ONE || c->kind == TO_ALL) {
    const size_t one = operation[c->op].size;
    unsigned char wanted[16];
    if (c->kind == TO_ALL || rank == c->root)
      for (i = 0; i < c->n; i++) {
        result_of(c->op, c->seed, size, i, wanted);
        SURE(same(c->out + i * one, wanted, one), "%s of %u members: element %lu of %lu, team %d", operation[c->op].name, size,
             (unsigned long)i, (unsigned long)c->n, c->kind);
      }
    else
      for (i = 0; i < c->n * one; i++) SURE(c->out[i] == 0xEE, "%s: not the root, byte %lu", operation[c->op].name, (unsigned long)i);
    if (!c->in_place || c->out != c->in)
      for (i = 0; i < c->n; i++) {
        element(c->op, c->seed, rank, i, wanted);
        SURE(memcmp(c->in + i * one, wanted, one) == 0, "%s changed its input", operation[c->op].name);
      }
  }
}

/* All members come: each says so to a member before, who looks after. */
static void barrier_now(actor_t *a, gex_TM_t team, unsigned seed) {
  const gex_Rank_t size = gex_TM_QuerySize(team), keeper = seed / 16 % size;
  const gex_Rank_t keeper_job = gex_TM_TranslateRankToJobrank(team, keeper);
  gex_Rank_t m;
  SURE(gex_RMA_PutBlockingVal(team, keeper, came_word(keeper_job, a->number, me), (gex_RMA_Value_t)a->place, 8, 0) == 0, "a put");
  if (below(a, 2)) gex_Coll_BarrierBlocking(team, 0);
  else gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  if (gex_TM_QueryRank(team) == keeper)
    for (m = 0; m < size; m++) {
      uint64_t *word = (uint64_t *)came_word(me, a->number, gex_TM_TranslateRankToJobrank(team, m));
      SURE(LOAD(word) >= (uint64_t)a->place, "a barrier of %u members did not wait for member %u", size, m);
    }
  verified(1, 0);
}
/* A team that is made, used, and given up, while collectives of its parent are under way. */
static void new_team(actor_t *a, gex_TM_t parent, unsigned seed) {
  const int color = (int)(seed % 3 ? me % (seed % 3) : me), key = seed & 8 ? -(int)me : (int)me;
  const int absent = seed % 5 == 0 && me == seed % nodes;
  gex_TM_t made = GEX_TM_INVALID;
  uint64_t sum = 1;
  (void)gex_TM_Split(absent ? NULL : &made, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  if (absent) return;
  gex_Event_Wait(gex_Coll_ReduceToAllNB(made, &sum, &sum, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
  SURE(sum == gex_TM_QuerySize(made), "%lu of %u members of a new team", (unsigned long)sum, gex_TM_QuerySize(made));
  barrier_now(a, made, seed);
  SURE(gex_TM_Destroy(made, NULL, 0) == 0, "a team without scratch memory");
  verified(2, 8);
}
/* A domain that is made, counted with, and given up. */
static void new_domain(actor_t *a, gex_TM_t team, unsigned seed) {
  const gex_Rank_t size = gex_TM_QuerySize(team), root = seed % size;
  const uint64_t rounds = 1 + seed % 7;
  uint64_t got = 0, k;
  void *word = coll_word(gex_TM_TranslateRankToJobrank(team, root), a->number);
  gex_AD_t ad;
  if (gex_TM_QueryRank(team) == root) memset(word, 0, 8);
  gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET | GEX_OP_INC, 0);
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  for (k = 0; k < rounds; k++) {
    uint64_t last = got;
    gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, root, word, GEX_OP_FADD, 1, 0, 0));
    SURE(got < size * rounds && (k == 0 || got > last), "a counter went from %lu to %lu", (unsigned long)last, (unsigned long)got);
  }
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, root, word, GEX_OP_GET, 0, 0, 0));
  SURE(got == size * rounds, "a counter of %u members is %lu", size, (unsigned long)got);
  gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
  gex_AD_Destroy(ad);
  verified(0, 8 * (rounds + 1));
}
static void named_barrier(unsigned seed) {
  const int id = (int)(seed % 1000), odd = (int)(seed / 1000 % (nodes + 8)), mine = nodes > 1 && (int)me == odd ? id + 1 : id;
  const int wanted = nodes > 1 && odd < (int)nodes ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
  int found;
  gasnet_barrier_notify(mine, 0);
  if (seed & 1) found = gasnet_barrier_wait(mine, 0);
  else
    while ((found = gasnet_barrier_try(mine, 0)) == GASNET_ERR_NOT_READY) {}
  SURE(found == wanted, "barrier %d: %s", id, gasnet_ErrorName(found));
  verified(1, 0);
}

/* The next collective of this actor, if there is room for it. */
static void next_coll(actor_t *a) {
  coll_t *c = a->coll;
  gex_TM_t team;
  size_t i;
  int kind;
  while (c < a->coll + COLLS && c->busy) c++;
  if (c == a->coll + COLLS || a->colls_left == 0) return;
  a->colls_left--, a->place++;
  team = a->team[common(a, (unsigned)a->teams)];
  c->seed = common(a, 1u << 30), c->in_place = (int)common(a, 3) == 0, c->op = common(a, OPERATIONS);
  kind = (int)common(a, 24), c->n = common(a, 4) ? common(a, 40) : common(a, 1000);
  c->root = common(a, 1u << 30) % gex_TM_QuerySize(team); /* teams differ in size: the draw does not */
  switch (kind) {
    case 0: new_team(a, team, c->seed); return;
    case 1: new_domain(a, team, c->seed); return;
    case 2: barrier_now(a, team, c->seed); return;
    case 3:
      if (a->number == 0) {
        named_barrier(c->seed);
        return;
      }
  }
  c->kind = kind < 8 ? BARRIER_NB : kind < 14 ? BROADCAST : kind < 18 ? TO_ONE : TO_ALL;
  c->team = team, c->busy = 1;
  if (c->kind == BARRIER_NB) {
    c->event = gex_Coll_BarrierNB(team, 0);
  } else if (c->kind == BROADCAST) {
    unsigned char *odd = c->out; /* any place will do */
    c->n *= 16;
    memset(odd, 0xEE, c->n + 1);
    if (gex_TM_QueryRank(team) == c->root) memcpy(c->in_place ? odd : c->in, slice(c->seed), c->n);
    c->event = gex_Coll_BroadcastNB(team, c->root, odd, gex_TM_QueryRank(team) != c->root ? NULL : c->in_place ? odd : c->in, c->n, 0);
  } else {
    const size_t one = operation[c->op].size;
    const void *src = c->in;
    c->n++;
    for (i = 0; i < c->n; i++) element(c->op, c->seed, gex_TM_QueryRank(team), i, c->in + i * one);
    memset(c->out, 0xEE, c->n * one);
    if (c->in_place && (c->kind == TO_ALL || gex_TM_QueryRank(team) == c->root)) memcpy(c->out, c->in, c->n * one), src = c->out;
    if (c->kind == TO_ALL)
      c->event = gex_Coll_ReduceToAllNB(team, c->out, src, operation[c->op].type, one, c->n, operation[c->op].op, operation[c->op].fn,
                                        &seed0, 0);
    else
      c->event = gex_Coll_ReduceToOneNB(team, c->root, c->out, src, operation[c->op].type, one, c->n, operation[c->op].op,
                                        operation[c->op].fn, &seed0, 0);
  }
  if (c->event == GEX_EVENT_INVALID) finish_coll(a, c);
}
#endif
