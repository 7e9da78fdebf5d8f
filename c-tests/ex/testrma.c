/* Puts, gets, values, events, implicit sets and access regions of GASNet-EX. Contract: ex-rma.md sections 2-7.
 *
 *   testrma [iters [seed]]
 *
 * Every process works on an area of its own in the segment of each process, so all of them may run at the same time. What
 * was put is read back by blocking gets and compared. The source of a put is overwritten as soon as the contract allows. */
#include "testarea.h"

#define AREA (128 << 10)
static size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 64, 100, 255, 1024, 4097, 8192, 40000, 65536, 100001};
#define SIZES (sizeof sizes / sizeof sizes[0])
static unsigned char *mine;          /* own segment */
static unsigned char local[AREA];    /* out of the segment */
static unsigned char check[AREA];
static unsigned salt;

/* Byte i of pattern s is 7 i + 13 (i / 256) + 31 s + 101 me + 1. Each 256 of them are a piece of the multiples of 7, of which this one begins at
 * a multiple of 256: byte by byte, programs without optimisation took nine tenths of their time for them. */
static const unsigned char *pattern(size_t i, unsigned s) {
  static unsigned char ramp[512];
  unsigned k;
  if (!ramp[511])
    for (k = 0; k < 512; k++) ramp[k] = (unsigned char)(k * 7);
  return ramp + (unsigned char)(((i >> 8) * 13 + s * 31 + me * 101 + 1) * 183); /* 7 * 183 is 1 */
}
static void fill(unsigned char *p, size_t n, unsigned s) {
  size_t i;
  for (i = 0; i < n; i += 256) memcpy(p + i, pattern(i, s), n - i < 256 ? n - i : 256);
}
static int same(const unsigned char *p, size_t n, unsigned s) {
  size_t i;
  for (i = 0; i < n; i += 256)
    if (memcmp(p + i, pattern(i, s), n - i < 256 ? n - i : 256)) return 0;
  return 1;
}
/* This process' area in the segment of `rank`; the last one is a local buffer of the owner. */
static unsigned char *area(gex_Rank_t rank) { return (unsigned char *)shared(rank) + (size_t)me * AREA; }
static unsigned char *inside(void) { return mine + (size_t)nodes * AREA; }

static void verify(gex_Rank_t rank, size_t n, unsigned s, const char *what) {
  memset(check, 0xEE, n);
  if (gex_RMA_GetBlocking(tm, check, rank, area(rank), n, 0) != 0) errors++, say("ERROR: %s: the get was refused", what);
  if (!same(check, n, s)) errors++, say("ERROR: %s to %u: wrong bytes of %u", what, (unsigned)rank, (unsigned)n);
}

enum { PUT_BLOCKING, PUT_NOW, PUT_DEFER, PUT_LEAF, PUT_LEAF_UNUSED, PUT_NBI_NOW, PUT_NBI_DEFER, PUT_NBI_GROUP, PUT_MODES };
static const char *const put_names[] = {"PutBlocking", "PutNB NOW", "PutNB DEFER", "PutNB leaf", "PutNB unused leaf",
                                        "PutNBI NOW", "PutNBI DEFER", "PutNBI GROUP"};

/* One put of `src` in `mode`; the source is overwritten when it may be. */
static void put(int mode, gex_Rank_t rank, unsigned char *src, size_t n, gex_Flags_t flags) {
  unsigned char *dest = area(rank);
  gex_Event_t root = GEX_EVENT_NO_OP, leaf = GEX_EVENT_NO_OP, *lc = NULL;
  int refused = 1, tries = 0;
  switch (mode) {
    case PUT_NOW: case PUT_NBI_NOW: lc = GEX_EVENT_NOW; break;
    case PUT_DEFER: case PUT_NBI_DEFER: lc = GEX_EVENT_DEFER; break;
    case PUT_LEAF: case PUT_LEAF_UNUSED: lc = &leaf; break;
    case PUT_NBI_GROUP: lc = GEX_EVENT_GROUP; break;
  }
  while (refused) {
    if (++tries > 1000) flags &= ~GEX_FLAG_IMMEDIATE;
    if (mode == PUT_BLOCKING) {
      refused = gex_RMA_PutBlocking(tm, rank, dest, src, n, flags);
    } else if (mode <= PUT_LEAF_UNUSED) {
      root = gex_RMA_PutNB(tm, rank, dest, src, n, lc, flags);
      refused = root == GEX_EVENT_NO_OP;
    } else {
      refused = gex_RMA_PutNBI(tm, rank, dest, src, n, lc, flags);
    }
    if (refused) {
      CHECK(flags & GEX_FLAG_IMMEDIATE);
      gasnet_AMPoll();
    }
  }
  switch (mode) {
    case PUT_BLOCKING:
      memset(src, 0x11, n);
      break;
    case PUT_NOW:
      memset(src, 0x11, n);
      gex_Event_Wait(root);
      break;
    case PUT_DEFER:
      while (gex_Event_Test(root) != GASNET_OK) gasnet_AMPoll();
      break;
    case PUT_LEAF: {
      gex_Event_t query = gex_Event_QueryLeaf(root, GEX_EC_LC);
      CHECK(leaf != GEX_EVENT_NO_OP);
      if (query && leaf) CHECK(query == leaf);
      if (n & 1) {
        gex_Event_Wait(leaf);
      } else {
        while (gex_Event_Test(leaf) != GASNET_OK) gasnet_AMPoll();
      }
      memset(src, 0x11, n);
      CHECK(gex_Event_Test(leaf) == GASNET_OK);
      CHECK(gex_Event_Test(leaf) == GASNET_OK);
      gex_Event_Wait(gex_Event_QueryLeaf(root, GEX_EC_LC));
      query = leaf;
      CHECK(gex_Event_TestSome(&query, 1, 0) == GASNET_OK && query == GEX_EVENT_INVALID);
      query = leaf;
      CHECK(gex_Event_TestAll(&query, 1, 0) == GASNET_OK && query == GEX_EVENT_INVALID);
      gex_Event_Wait(root);
      break;
    }
    case PUT_LEAF_UNUSED:
      gex_Event_Wait(root);
      break;
    case PUT_NBI_NOW:
      memset(src, 0x11, n);
      gex_NBI_Wait(GEX_EC_PUT, 0);
      break;
    case PUT_NBI_DEFER:
      while (gex_NBI_Test(GEX_EC_PUT, 0) != GASNET_OK) gasnet_AMPoll();
      break;
    case PUT_NBI_GROUP:
      gex_NBI_Wait(GEX_EC_LC, 0);
      memset(src, 0x11, n);
      gex_NBI_Wait(n & 1 ? GEX_EC_PUT : GEX_EC_ALL, 0);
      break;
  }
}

static void puts_and_gets(void) {
  gex_Rank_t rank;
  size_t k;
  int mode, in, flagged;
  for (rank = 0; rank < nodes; rank++)
    for (k = 0; k < SIZES; k++)
      for (mode = 0; mode < PUT_MODES; mode++)
        for (in = 0; in < 2; in++)
          for (flagged = 0; flagged < 2; flagged++) {
            unsigned char *src = (in ? inside() : local) + k % 3;
            size_t n = sizes[k] < AREA - 4 ? sizes[k] : AREA - 4;
            gex_Flags_t flags = GEX_FLAG_SELF_SEG_UNKNOWN | GEX_FLAG_PEER_SEG_BOUND;
            fill(src, n, ++salt);
            put(mode, rank, src, n, flagged ? flags | GEX_FLAG_IMMEDIATE : 0);
            verify(rank, n, salt, put_names[mode]);
          }
  for (rank = 0; rank < nodes; rank++)
    for (k = 0; k < SIZES; k++)
      for (in = 0; in < 2; in++)
        for (flagged = 0; flagged < 2; flagged++) {
          unsigned char *to = (in ? inside() : local) + k % 5;
          size_t n = sizes[k];
          gex_Flags_t flags = flagged ? GEX_FLAG_IMMEDIATE : 0;
          gex_Event_t root;
          fill(check, n, ++salt);
          CHECK(gex_RMA_PutBlocking(tm, rank, area(rank), check, n, 0) == 0);
          memset(to, 0x22, n);
          while (gex_RMA_GetBlocking(tm, to, rank, area(rank), n, flags)) gasnet_AMPoll();
          CHECK(same(to, n, salt));
          memset(to, 0x22, n);
          while ((root = gex_RMA_GetNB(tm, to, rank, area(rank), n, flags)) == GEX_EVENT_NO_OP) gasnet_AMPoll();
          if (n == 0) CHECK(root == GEX_EVENT_INVALID);
          gex_Event_Wait(root);
          CHECK(same(to, n, salt));
          memset(to, 0x22, n);
          while (gex_RMA_GetNBI(tm, to, rank, area(rank), n, flags)) gasnet_AMPoll();
          gex_NBI_Wait(GEX_EC_GET, 0);
          CHECK(same(to, n, salt));
        }
  /* nothing happens */
  CHECK(gex_RMA_PutBlocking(tm, 0, NULL, NULL, 0, 0) == 0);
  CHECK(gex_RMA_PutNB(tm, 0, NULL, NULL, 0, GEX_EVENT_DEFER, 0) == GEX_EVENT_INVALID);
  CHECK(gex_RMA_GetNB(tm, NULL, 0, NULL, 0, 0) == GEX_EVENT_INVALID);
  CHECK(gex_RMA_PutNBI(tm, 0, NULL, NULL, 0, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE) == 0);
}

static void values(void) {
  gex_Rank_t rank;
  size_t n;
  int at;
  for (rank = 0; rank < nodes; rank++)
    for (n = 1; n <= SIZEOF_GEX_RMA_VALUE_T; n++)
      for (at = 0; at < 9; at++) {
        unsigned char *dest = area(rank) + 16 + at;
        gex_RMA_Value_t v = ((gex_RMA_Value_t)0x8192a3b4u << 32 | 0xc5d6e7f8u) + ++salt + me, mask = ~(gex_RMA_Value_t)0;
        if (n < 8) mask = ((gex_RMA_Value_t)1 << (8 * n)) - 1;
        CHECK(gex_RMA_PutBlockingVal(tm, rank, dest - 1, 0x33, 1, 0) == 0);
        CHECK(gex_RMA_PutBlockingVal(tm, rank, dest + n, 0x44, 1, 0) == 0);
        while (gex_RMA_PutBlockingVal(tm, rank, dest, v, n, GEX_FLAG_IMMEDIATE)) gasnet_AMPoll();
        CHECK(gex_RMA_GetBlockingVal(tm, rank, dest, n, 0) == (v & mask));
        gex_Event_Wait(gex_RMA_PutNBVal(tm, rank, dest, ~v, n, 0));
        CHECK(gex_RMA_GetBlockingVal(tm, rank, dest, n, GEX_FLAG_IMMEDIATE) == (~v & mask));
        CHECK(gex_RMA_PutNBIVal(tm, rank, dest, v + 3, n, 0) == 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        CHECK(gex_RMA_GetBlockingVal(tm, rank, dest, n, 0) == ((v + 3) & mask));
        CHECK(gex_RMA_GetBlockingVal(tm, rank, dest - 1, 1, 0) == 0x33);
        CHECK(gex_RMA_GetBlockingVal(tm, rank, dest + n, 1, 0) == 0x44);
      }
}

/* Arrays of roots and leaves, in several orders. */
#define MANY 100
static void arrays(void) {
  static gex_Event_t events[2 * MANY];
  gex_Rank_t peer = (me + 1) % nodes;
  int i, order;
  for (order = 0; order < 4; order++) {
    int leaves_first = order & 1, rounds = 0;
    for (i = 0; i < 2 * MANY; i++) events[i] = GEX_EVENT_NO_OP;
    for (i = 0; i < MANY; i++) {
      gex_Event_t *leaf = &events[leaves_first ? i : MANY + i];
      gex_Event_t root;
      size_t n = 1 + (size_t)i * 11;
      fill(local + i * 1200, n, (unsigned)(order * MANY + i));
      root = gex_RMA_PutNB(tm, peer, area(peer) + i * 1200, local + i * 1200, n, leaf, 0);
      events[leaves_first ? MANY + i : i] = root;
    }
    switch (order) {
      case 0:
      case 1:
        gex_Event_WaitAll(events, 2 * MANY, 0);
        break;
      case 2:
        while (gex_Event_TestAll(events, 2 * MANY, 0) != GASNET_OK) gasnet_AMPoll();
        break;
      case 3:
        for (i = 0; i < 2 * MANY;) {
          for (i = 0; i < 2 * MANY && events[i] == GEX_EVENT_INVALID; i++) {}
          if (i == 2 * MANY) break;
          if (rounds++ & 1) gex_Event_WaitSome(events, 2 * MANY, 0);
          else if (gex_Event_TestSome(events, 2 * MANY, 0) == GASNET_ERR_NOT_READY) gasnet_AMPoll();
        }
        break;
    }
    for (i = 0; i < 2 * MANY; i++) CHECK(events[i] == GEX_EVENT_INVALID);
    for (i = 0; i < MANY; i++) {
      size_t n = 1 + (size_t)i * 11;
      CHECK(gex_RMA_GetBlocking(tm, check, peer, area(peer) + i * 1200, n, 0) == 0);
      CHECK(same(check, n, (unsigned)(order * MANY + i)));
    }
  }
  CHECK(gex_Event_TestAll(events, 2 * MANY, 0) == GASNET_OK);
  CHECK(gex_Event_TestSome(events, 2 * MANY, 0) == GASNET_OK);
  CHECK(gex_Event_TestSome(NULL, 0, 0) == GASNET_OK && gex_Event_TestAll(NULL, 0, 0) == GASNET_OK);
  gex_Event_WaitSome(NULL, 0, 0);
  gex_Event_WaitAll(events, 2 * MANY, 0);
  gex_Event_Wait(GEX_EVENT_INVALID);
  CHECK(gex_Event_Test(GEX_EVENT_INVALID) == GASNET_OK);
  CHECK(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC) == GEX_EVENT_INVALID);
}

/* Categories, outside and inside regions. */
static void implicit(void) {
  static const gex_EC_t masks[] = {GEX_EC_PUT, GEX_EC_GET, GEX_EC_PUT | GEX_EC_GET, GEX_EC_PUT | GEX_EC_LC, GEX_EC_LC,
                                   GEX_EC_AM, GEX_EC_RMW, GEX_EC_ALL, 0};
  static const gex_EC_t parts[] = {GEX_EC_PUT, GEX_EC_GET, GEX_EC_RMW, GEX_EC_LC, GEX_EC_AM};
  gex_Rank_t peer = (me + nodes - 1) % nodes;
  unsigned char *to = area(peer);
  size_t i, m;
  int kind;
  for (m = 0; m < sizeof masks / sizeof masks[0]; m++) {
    const unsigned s = ++salt;
    fill(local, 64 * 1000, s);
    for (i = 0; i < 64; i++) {
      gex_Event_t *lc = i % 3 == 0 ? GEX_EVENT_NOW : i % 3 == 1 ? GEX_EVENT_DEFER : GEX_EVENT_GROUP;
      CHECK(gex_RMA_PutNBI(tm, peer, to + i * 1000, local + i * 1000, 1000, lc, 0) == 0);
    }
    gex_NBI_Wait(masks[m], 0);
    CHECK(gex_NBI_Test(masks[m], 0) == GASNET_OK);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    for (i = 0; i < 64; i++) CHECK(gex_RMA_GetNBI(tm, check + i * 1000, peer, to + i * 1000, 1000, 0) == 0);
    while (gex_NBI_Test(GEX_EC_GET, 0) != GASNET_OK) gasnet_AMPoll();
    CHECK(same(check, 64 * 1000, s));
  }
  for (kind = 0; kind < 6; kind++) {
    const unsigned s = ++salt;
    gex_Event_t root, outer, leaf[5];
    fill(local, 64 * 1000, s);
    gex_NBI_BeginAccessRegion(0);
    for (i = 0; i < 64; i++)
      CHECK(gex_RMA_PutNBI(tm, peer, to + i * 1000, local + i * 1000, 1000, i & 1 ? GEX_EVENT_DEFER : GEX_EVENT_GROUP, 0) ==
            0);
    CHECK(gex_RMA_PutNBIVal(tm, peer, to + 64 * 1000, 77, 1, 0) == 0);
    /* ordinary calls inside */
    outer = gex_RMA_PutNB(tm, peer, to + 65 * 1000, local, 1000, GEX_EVENT_DEFER, 0);
    CHECK(gex_RMA_PutBlocking(tm, peer, to + 66 * 1000, local, 100, 0) == 0);
    gex_Event_Wait(outer);
    root = gex_NBI_EndAccessRegion(0);
    for (i = 0; i < 5; i++) leaf[i] = gex_Event_QueryLeaf(root, parts[i]);
    for (i = 0; i < 5; i++) CHECK(root == GEX_EVENT_INVALID || leaf[i] != root);
    CHECK(gex_Event_Test(leaf[2]) == GASNET_OK); /* no atomics in the region */
    switch (kind) {
      case 0:
        gex_Event_Wait(leaf[3]);
        for (i = 0; i < 64; i += 2) memset(local + i * 1000, 0x55, 1000); /* of the others local completion is deferred to the root */
        gex_Event_Wait(root);
        break;
      case 1:
        gex_Event_Wait(leaf[0]);
        CHECK(gex_Event_Test(leaf[3]) == GASNET_OK);
        CHECK(gex_Event_Test(root) == GASNET_OK);
        break;
      case 2:
        gex_Event_WaitAll(leaf, 5, 0);
        gex_Event_Wait(root);
        break;
      case 3: {
        gex_Event_t all[6] = {leaf[0], leaf[1], root, leaf[2], leaf[3], leaf[4]};
        gex_Event_WaitAll(all, 6, 0);
        break;
      }
      case 4:
        while (gex_Event_Test(root) != GASNET_OK) gasnet_AMPoll();
        break;
      case 5:
        CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK); /* the region's operations are not this set's */
        gex_Event_Wait(root);
        break;
    }
    memset(check, 0, sizeof check);
    gex_NBI_BeginAccessRegion(0);
    for (i = 0; i < 64; i++) CHECK(gex_RMA_GetNBI(tm, check + i * 1000, peer, to + i * 1000, 1000, 0) == 0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    CHECK(same(check, 64 * 1000, s));
    CHECK(gex_RMA_GetBlockingVal(tm, peer, to + 64 * 1000, 1, 0) == 77);
  }
  gex_NBI_BeginAccessRegion(0);
  CHECK(gex_NBI_EndAccessRegion(0) == GEX_EVENT_INVALID);
  /* Who did not ask for local completion does not wait for it: neither puts with DEFER nor gets belong to LC. */
  for (kind = 0; kind < 2; kind++) {
    gex_Event_t root = GEX_EVENT_INVALID;
    if (kind) gex_NBI_BeginAccessRegion(0);
    CHECK(gex_RMA_PutNBI(tm, peer, to, local, 64 * 1000, GEX_EVENT_DEFER, 0) == 0);
    CHECK(gex_RMA_GetNBI(tm, check, peer, to + 64 * 1000, 64 * 1000, 0) == 0);
    if (kind) {
      root = gex_NBI_EndAccessRegion(0);
      CHECK(gex_Event_QueryLeaf(root, GEX_EC_LC) == GEX_EVENT_INVALID);
    } else CHECK(gex_NBI_Test(GEX_EC_LC, 0) == GASNET_OK && gex_NBI_Test(GEX_EC_AM, 0) == GASNET_OK);
    gex_NBI_Wait(GEX_EC_PUT | GEX_EC_GET, 0);
    gex_Event_Wait(root);
  }
}

/* Each argument is evaluated once, and the calls are expressions. */
static int evaluated;
static void evaluate(void) { evaluated++; }
#define ONCE(x) (evaluate(), (x))
#define EVALUATES(n, call)                                                                                           \
  do {                                                                                                               \
    evaluated = 0;                                                                                                   \
    call;                                                                                                            \
    CHECK(evaluated == (n));                                                                                         \
  } while (0)
#define NAMED(name, ...) name(__VA_ARGS__)
static void expressions(void) {
  unsigned char *to = area(me);
  gex_Event_t e = GEX_EVENT_INVALID;
  int zero;
  EVALUATES(6, zero = gex_RMA_PutBlocking(ONCE(tm), ONCE(me), ONCE(to), ONCE(local), ONCE(8), ONCE(0)));
  CHECK(zero == 0);
  EVALUATES(7, e = gex_RMA_PutNB(ONCE(tm), ONCE(me), ONCE(to), ONCE(local), ONCE(8), ONCE(GEX_EVENT_NOW), ONCE(0)));
  gex_Event_Wait(e);
  EVALUATES(7, zero = gex_RMA_PutNBI(ONCE(tm), ONCE(me), ONCE(to), ONCE(local), ONCE(8), ONCE(GEX_EVENT_NOW), ONCE(0)));
  EVALUATES(6, zero = gex_RMA_GetBlocking(ONCE(tm), ONCE(check), ONCE(me), ONCE(to), ONCE(8), ONCE(0)));
  EVALUATES(6, e = gex_RMA_GetNB(ONCE(tm), ONCE(check), ONCE(me), ONCE(to), ONCE(8), ONCE(0)));
  gex_Event_Wait(e);
  EVALUATES(6, zero = gex_RMA_GetNBI(ONCE(tm), ONCE(check), ONCE(me), ONCE(to), ONCE(8), ONCE(0)));
  EVALUATES(6, zero = gex_RMA_PutBlockingVal(ONCE(tm), ONCE(me), ONCE(to), ONCE(5), ONCE(8), ONCE(0)));
  EVALUATES(6, e = gex_RMA_PutNBVal(ONCE(tm), ONCE(me), ONCE(to), ONCE(5), ONCE(8), ONCE(0)));
  gex_Event_Wait(e);
  EVALUATES(6, zero = gex_RMA_PutNBIVal(ONCE(tm), ONCE(me), ONCE(to), ONCE(5), ONCE(8), ONCE(0)));
  EVALUATES(5, zero = (int)gex_RMA_GetBlockingVal(ONCE(tm), ONCE(me), ONCE(to), ONCE(8), ONCE(0)));
  EVALUATES(2, gex_NBI_Wait(ONCE(GEX_EC_ALL), ONCE(0)));
  EVALUATES(1, gex_Event_Wait(ONCE(e = GEX_EVENT_INVALID)));
  EVALUATES(3, zero = gex_Event_TestAll(ONCE(&e), ONCE(1), ONCE(0)));
  zero = (gex_Event_Wait(e), gex_NBI_Wait(GEX_EC_PUT, 0), 0);
  CHECK(NAMED(gex_Event_Test, e) == zero);
}

int main(int argc, char **argv) {
  int iters, i;
  gex_TM_t all;
  begin("testrma", &argc, &argv);
  iters = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
  salt = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  share(((uintptr_t)nodes + 1) * AREA);
  mine = (unsigned char *)shared(me);
  all = tm;
  BARRIER();
  for (i = 0; i < 2 * iters; i++) {
    tm = i & 1 ? BY_PAIR() : all; /* a pair names the same endpoints by their job ranks */
    puts_and_gets();
    values();
    arrays();
    implicit();
    expressions();
  }
  BARRIER();
  return end();
}
