/* testreduce [-p pollers] (iters=1000) (nelem=64) (seed): reductions of six types, with all operations and with the client's functions, to
 * one and to all, at random, `iters` of them outstanding at once; on all processes, and on the even and odd ones. Contract:
 * ex-coll.md sections 6, 14. */
#include "testpollers.h"
#include <gasnet_coll.h>

static int iters, nelem;
static uint64_t seed;

/* The same numbers in all processes. */
static uint32_t common(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33);
}

#define TYPES(X)                                                                                                     \
  X(I32, int32_t, 1) X(U32, uint32_t, 1) X(I64, int64_t, 1) X(U64, uint64_t, 1) X(FLT, float, 0) X(DBL, double, 0)
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define BITS_1(a, op, b) ((a)op(b))
#define BITS_0(a, op, b) (a)

/* One reduction of each type: the element that member `m` gives, the function of the client, the sum of all. */
#define DEFINE(T, type, bits)                                                                                        \
  static type value_##T(gex_Rank_t m, int i) { return (type)((m * 7 + (unsigned)i) % 13 + 1); }                      \
  static type join_##T(gex_OP_t op, type a, type b) {                                                                \
    switch (op) {                                                                                                    \
      case GEX_OP_MULT: return (type)(a * b);                                                                        \
      case GEX_OP_MIN: return LESS(a, b);                                                                            \
      case GEX_OP_MAX: return MORE(a, b);                                                                            \
      case GEX_OP_AND: return (type)BITS_##bits(a, &, b);                                                            \
      case GEX_OP_OR: return (type)BITS_##bits(a, |, b);                                                             \
      case GEX_OP_XOR: return (type)BITS_##bits(a, ^, b);                                                            \
      default: return (type)(a + b);                                                                                 \
    }                                                                                                                \
  }                                                                                                                  \
  static void user_##T(const void *left, void *right, size_t count, const void *cdata) {                             \
    size_t i;                                                                                                        \
    CHECK((uintptr_t)cdata == GEX_DT_##T && (uintptr_t)left % sizeof(type) == 0 && (uintptr_t)right % sizeof(type) == 0); \
    for (i = 0; i < count; i++) ((type *)right)[i] = (type)(((const type *)left)[i] + ((type *)right)[i]);           \
  }                                                                                                                  \
  static void check_##T(gex_TM_t team, gex_OP_t op, const void *result) {                                            \
    gex_Rank_t m, size = gex_TM_QuerySize(team);                                                                     \
    int i;                                                                                                           \
    for (i = 0; i < nelem; i++) {                                                                                    \
      type sum = value_##T(0, i);                                                                                    \
      for (m = 1; m < size; m++) sum = join_##T(op, sum, value_##T(m, i));                                           \
      if (((const type *)result)[i] != sum) {                                                                        \
        errors++;                                                                                                    \
        say("ERROR: " #T " op %#x element %d: %g, not %g", (unsigned)op, i, (double)((const type *)result)[i], (double)sum); \
        return;                                                                                                      \
      }                                                                                                              \
    }                                                                                                                \
  }                                                                                                                  \
  static void test_##T(gex_TM_t team) {                                                                              \
    static const gex_OP_t ops[] = {GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_USER, GEX_OP_USER_NC, GEX_OP_MULT,     \
                                   GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR};                                               \
    gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team);                                         \
    /* products of more members are not exact in floating point */                                                   \
    unsigned known = bits ? 9 : size <= 5 ? 6 : 5;                                                                   \
    type *src = (type *)calloc((size_t)nelem, sizeof *src), *dst = (type *)calloc((size_t)(nelem * iters), sizeof *dst); \
    gex_Event_t *events = (gex_Event_t *)calloc((size_t)iters, sizeof *events);                                      \
    gex_OP_t *op = (gex_OP_t *)calloc((size_t)iters, sizeof *op);                                                    \
    gex_Rank_t *root = (gex_Rank_t *)calloc((size_t)iters, sizeof *root);                                            \
    int i, k;                                                                                                        \
    for (i = 0; i < nelem; i++) src[i] = value_##T(rank, i);                                                         \
    memset(dst, 0x55, (size_t)(nelem * iters) * sizeof *dst);                                                        \
    for (k = 0; k < iters; k++) {                                                                                    \
      type *place = dst + (size_t)k * (size_t)nelem;                                                                 \
      op[k] = ops[common() % known];                                                                                 \
      root[k] = common() % 2 ? GEX_RANK_INVALID : common() % size;                                                   \
      if (root[k] == GEX_RANK_INVALID)                                                                               \
        events[k] = gex_Coll_ReduceToAllNB(team, place, src, GEX_DT_##T, sizeof(type), (size_t)nelem, op[k],         \
                                           user_##T, (void *)(uintptr_t)GEX_DT_##T, 0);                              \
      else                                                                                                           \
        events[k] = gex_Coll_ReduceToOneNB(team, root[k], place, src, GEX_DT_##T, sizeof(type), (size_t)nelem, op[k], \
                                           user_##T, (void *)(uintptr_t)GEX_DT_##T, 0);                              \
    }                                                                                                                \
    gex_Event_WaitAll(events, (size_t)iters, 0);                                                                     \
    for (k = 0; k < iters; k++) {                                                                                    \
      type *place = dst + (size_t)k * (size_t)nelem;                                                                 \
      CHECK(events[k] == GEX_EVENT_INVALID);                                                                         \
      if (root[k] == GEX_RANK_INVALID || root[k] == rank)                                                            \
        check_##T(team, op[k], place);                                                                               \
      else                                                                                                           \
        for (i = 0; i < (int)((size_t)nelem * sizeof(type)); i++) CHECK(((unsigned char *)place)[i] == 0x55);        \
    }                                                                                                                \
    for (i = 0; i < nelem; i++) CHECK(src[i] == value_##T(rank, i));                                                 \
    /* in place */                                                                                                   \
    memcpy(dst, src, (size_t)nelem * sizeof(type));                                                                  \
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, dst, dst, GEX_DT_##T, sizeof(type), (size_t)nelem, GEX_OP_ADD, 0, 0, 0)); \
    check_##T(team, GEX_OP_ADD, dst);                                                                                \
    memcpy(dst, src, (size_t)nelem * sizeof(type));                                                                  \
    gex_Event_Wait(gex_Coll_ReduceToOneNB(team, size - 1, dst, dst, GEX_DT_##T, sizeof(type), (size_t)nelem, GEX_OP_MAX, 0, 0, 0)); \
    if (rank == size - 1)                                                                                            \
      check_##T(team, GEX_OP_MAX, dst);                                                                              \
    else                                                                                                             \
      CHECK(memcmp(dst, src, (size_t)nelem * sizeof(type)) == 0);                                                    \
    free(src), free(dst), free(events), free(op), free(root);                                                        \
  }
TYPES(DEFINE)

/* Elements of any size: strings that are joined in rank order. The operation is not commutative. */
typedef struct {
  size_t size;
} text;
static void join(const void *left, void *right, size_t count, const void *cdata) {
  size_t size = ((const text *)cdata)->size, i;
  for (i = 0; i < count; i++) {
    const char *a = (const char *)left + i * size;
    char *b = (char *)right + i * size;
    size_t n = strlen(a), m = strlen(b);
    if (n + m + 1 > size) {
      errors++;
      say("ERROR: %u and %u letters do not fit %u bytes", (unsigned)n, (unsigned)m, (unsigned)size);
      return;
    }
    memmove(b + n, b, m + 1);
    memcpy(b, a, n);
  }
}
static void strings(gex_TM_t team, size_t count, gex_OP_t op) {
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team), m;
  text what;
  char *src, *dst, *one;
  size_t i;
  int k;
  what.size = size + 1;
  src = (char *)calloc(count, what.size), dst = (char *)calloc(count, what.size), one = (char *)calloc(count, what.size);
  for (i = 0; i < count; i++) src[i * what.size] = (char)('A' + (rank + i) % 26);
  for (k = 0; k < 3; k++) {
    gex_Event_t events[2];
    events[0] = gex_Coll_ReduceToAllNB(team, dst, src, GEX_DT_USER, what.size, count, op, join, &what, 0);
    events[1] = gex_Coll_ReduceToOneNB(team, (gex_Rank_t)k % size, one, src, GEX_DT_USER, what.size, count, op, join, &what, 0);
    gex_Event_WaitAll(events, 2, 0);
    for (i = 0; i < count; i++) {
      for (m = 0; m < size; m++) CHECK(dst[i * what.size + m] == (char)('A' + (m + i) % 26));
      CHECK(dst[i * what.size + size] == 0);
    }
    if (rank == (gex_Rank_t)k % size) CHECK(memcmp(one, dst, count * what.size) == 0);
  }
  free(src), free(dst), free(one);
}

/* Products of 3 x 3 matrices of wrapping numbers, which do not commute; elements of 4 KiB and more. */
#define SIDE 23
static void product(const void *left, void *right, size_t count, const void *cdata) {
  uint64_t sum[SIDE][SIDE];
  size_t e, i, j, k;
  (void)cdata;
  for (e = 0; e < count; e++) {
    const uint64_t(*a)[SIDE] = (const uint64_t(*)[SIDE])left + e * SIDE;
    uint64_t(*b)[SIDE] = (uint64_t(*)[SIDE])right + e * SIDE;
    for (i = 0; i < SIDE; i++)
      for (j = 0; j < SIDE; j++)
        for (k = 0, sum[i][j] = 0; k < SIDE; k++) sum[i][j] += a[i][k] * b[k][j];
    memcpy(b, sum, sizeof sum);
  }
}
static void matrices(gex_TM_t team, size_t count) {
  gex_Rank_t size = gex_TM_QuerySize(team), rank = gex_TM_QueryRank(team), m;
  const size_t each = sizeof(uint64_t[SIDE][SIDE]), cells = SIDE * SIDE;
  uint64_t *src = (uint64_t *)calloc(count, each), *sum = (uint64_t *)calloc(count, each), *part = (uint64_t *)calloc(count, each);
  size_t i;
  for (m = size; m-- > 0;) {
    for (i = 0; i < count * cells; i++) part[i] = (i * 31 + m * 17) % 101;
    if (m == rank) memcpy(src, part, count * each);
    if (m == size - 1)
      memcpy(sum, part, count * each);
    else
      product(part, sum, count, NULL);
  }
  gex_Event_Wait(gex_Coll_ReduceToAllNB(team, src, src, GEX_DT_USER, each, count, GEX_OP_USER_NC, product, NULL, 0));
  CHECK(memcmp(src, sum, count * each) == 0);
  free(src), free(sum), free(part);
}

static void test_team(gex_TM_t team, const char *name) {
  static const int elements[] = {1, 10, 64, 1000, 5000};
  int most = iters, chosen = nelem;
  size_t k;
  BARRIER();
  if (me == 0) say("%s of %u", name, (unsigned)gex_TM_QuerySize(team));
#define TEST(T, type, bits) test_##T(team);
  TYPES(TEST)
  for (k = 0; k < sizeof elements / sizeof *elements; k++) {
    nelem = elements[k], iters = most < 20 ? most : 20;
    TYPES(TEST)
  }
  nelem = chosen, iters = most;
  strings(team, 1, GEX_OP_USER), strings(team, 1, GEX_OP_USER_NC);
  strings(team, 777, GEX_OP_USER_NC), strings(team, 20000, GEX_OP_USER_NC);
  matrices(team, 1), matrices(team, 7), matrices(team, 60);
}

int main(int argc, char **argv) {
  static const testperf_option table[] = {OPT_POLLERS};
  static const char usage[] = "testreduce [-p N up to 64 (PAR)] [iters [nelem [seed]]]";
  gex_TM_t half;
  int arg;
  begin("testreduce", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3, usage);
  iters = (int)positional(argc, argv, arg, 1000);
  nelem = (int)positional(argc, argv, arg + 1, 64);
  seed = (uint64_t)positional(argc, argv, arg + 2, 1);
  start_pollers(usage);
  test_team(tm, "all");
  gex_TM_Split(&half, tm, (int)(me % 2), (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  test_team(half, me % 2 ? "odd" : "even");
  CHECK(gex_TM_Destroy(half, NULL, 0) == 0);
  stop_pollers();
  return end();
}
