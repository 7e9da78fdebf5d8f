/* The tests of testratomic.c for one type. Before: TY the type's suffix, T the C type, U the type for its arithmetic (unsigned, or T
 * itself), FLOATING 0 or 1. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NAMED(name) PASTE(name##_, TY)
#define OPNB PASTE(gex_AD_OpNB_, TY)
#define OPNBI PASTE(gex_AD_OpNBI_, TY)

/* One operation, by an event or implicit, IMMEDIATE or not, by rank or job rank, complete when it returns. */
static T NAMED(run)(gex_AD_t ad, gex_Rank_t rank, void *addr, gex_OP_t op, T x, T y, gex_Flags_t flags) {
  T result = (T)77;
  T *place = op >= GEX_OP_FAND ? &result : random_number() % 2 ? NULL : &result;
  gex_EC_t category = op == GEX_OP_SET ? GEX_EC_PUT : op == GEX_OP_GET ? GEX_EC_GET : GEX_EC_RMW;
  if (random_number() % 2) rank = jobrank(gex_AD_QueryTM(ad), rank), flags |= GEX_FLAG_RANK_IS_JOBRANK;
  if (random_number() % 2) flags |= GEX_FLAG_IMMEDIATE;
  if (random_number() % 2) {
    gex_Event_t event = OPNB(ad, place, rank, addr, op, x, y, flags);
    if (event == GEX_EVENT_NO_OP) event = OPNB(ad, place, rank, addr, op, x, y, flags & ~GEX_FLAG_IMMEDIATE);
    CHECK(event != GEX_EVENT_NO_OP);
    gex_Event_Wait(event);
  } else {
    if (OPNBI(ad, place, rank, addr, op, x, y, flags)) {
      CHECK(flags & GEX_FLAG_IMMEDIATE);
      CHECK(OPNBI(ad, place, rank, addr, op, x, y, flags & ~GEX_FLAG_IMMEDIATE) == 0);
    }
    gex_NBI_Wait(random_number() % 2 ? category : GEX_EC_ALL, 0);
  }
  if (op < GEX_OP_FAND) CHECK(result == (T)77); /* never written */
  return result;
}

/* The value after an operation. */
static T NAMED(after)(T a, gex_OP_t op, T x, T y) {
  if (op >= GEX_OP_FAND) op = GEX_OP_TO_NONFETCHING(op);
  switch (op) {
#if !FLOATING
    case GEX_OP_AND: return (T)((U)a & (U)x);
    case GEX_OP_OR: return (T)((U)a | (U)x);
    case GEX_OP_XOR: return (T)((U)a ^ (U)x);
#endif
    case GEX_OP_ADD: return (T)((U)a + (U)x);
    case GEX_OP_SUB: return (T)((U)a - (U)x);
    case GEX_OP_MULT: return (T)((U)a * (U)x);
    case GEX_OP_MIN: return a < x ? a : x;
    case GEX_OP_MAX: return a > x ? a : x;
    case GEX_OP_INC: return (T)((U)a + 1);
    case GEX_OP_DEC: return (T)((U)a - 1);
    case GEX_OP_SET: return x;
    case GEX_OP_CAS: return a == x ? y : a;
    default: return a; /* GET */
  }
}

/* The flags that promise where the target is. */
static void NAMED(flags)(gex_TM_t team) {
  const gex_Rank_t own = gex_TM_QueryRank(team);
  T *word = (T *)word_of(team, own, 4);
  gex_AD_t ad;
  int i;
  gex_AD_Create(&ad, team, PASTE(GEX_DT_, TY), GEX_OP_SET | GEX_OP_FADD | GEX_OP_GET, GEX_FLAG_AD_FAVOR_MY_RANK);
  CHECK(gex_AD_QueryTM(ad) == team && gex_AD_QueryDT(ad) == PASTE(GEX_DT_, TY));
  CHECK(gex_AD_QueryOps(ad) == (GEX_OP_SET | GEX_OP_FADD | GEX_OP_GET) && gex_AD_QueryFlags(ad) == GEX_FLAG_AD_FAVOR_MY_RANK);
  CHECK(gex_AD_QueryCData(ad) == NULL);
  gex_AD_SetCData(ad, word);
  CHECK(gex_AD_QueryCData(ad) == word);
  BARRIER();
  (void)NAMED(run)(ad, own, word, GEX_OP_SET, 3, 0, GEX_FLAG_AD_MY_RANK);
  for (i = 0; i < 10; i++)
    CHECK(NAMED(run)(ad, own, word, GEX_OP_FADD, 2, 0, i % 2 ? GEX_FLAG_AD_MY_RANK : GEX_FLAG_AD_MY_NBRHD) == (T)(3 + 2 * i));
  CHECK(NAMED(run)(ad, own, word, GEX_OP_GET, 0, 0, GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ) == (T)23);
  BARRIER();
  CHECK(*word == (T)23);
  gex_AD_Destroy(ad);
}

/* Each process adds to a word of the next one that shares memory with it, which it promises. */
static void NAMED(neighbours)(gex_TM_t team) {
  const gex_Rank_t own = gex_TM_QueryRank(team), next = near_member(team);
  void *const word = word_of(team, next, 5);
  gex_AD_t ad;
  int i;
  gex_AD_Create(&ad, team, PASTE(GEX_DT_, TY), GEX_OP_SET | GEX_OP_FADD | GEX_OP_ADD | GEX_OP_GET, GEX_FLAG_AD_FAVOR_MY_NBRHD);
  (void)NAMED(run)(ad, own, word_of(team, own, 5), GEX_OP_SET, 1, 0, GEX_FLAG_AD_MY_RANK);
  BARRIER();
  for (i = 0; i < 10; i++) {
    CHECK(NAMED(run)(ad, next, word, GEX_OP_FADD, 3, 0, GEX_FLAG_AD_MY_NBRHD) == (T)(1 + 7 * i));
    (void)NAMED(run)(ad, next, word, GEX_OP_ADD, 4, 0, GEX_FLAG_AD_MY_NBRHD);
  }
  BARRIER();
  CHECK(NAMED(run)(ad, own, word_of(team, own, 5), GEX_OP_GET, 0, 0, GEX_FLAG_AD_MY_RANK) == (T)71);
  BARRIER();
  gex_AD_Destroy(ad);
}

/* Each process signals its right neighbour: the first word is there when the second one is. Without SET in the domain, the first word
 * is written by SWAP. */
static void NAMED(signal)(gex_TM_t team, int rounds, int with_set) {
  const gex_OP_t set = with_set ? GEX_OP_SET : GEX_OP_SWAP, change = FLOATING ? GEX_OP_INC : GEX_OP_XOR;
  const gex_OP_t ways[] = {set, GEX_OP_SWAP, GEX_OP_FCAS, GEX_OP_ADD, change};
  const gex_Rank_t own = gex_TM_QueryRank(team), right = (own + 1) % gex_TM_QuerySize(team);
  gex_AD_t ad;
  int round;
  gex_AD_Create(&ad, team, PASTE(GEX_DT_, TY),
                set | GEX_OP_SWAP | GEX_OP_FCAS | GEX_OP_ADD | change | GEX_OP_GET | GEX_OP_FADD, 0);
  memset(word_of(team, own, 0), 0, 64);
  BARRIER();
  for (round = 1; round <= rounds; round++) {
    const gex_OP_t way = ways[round % 5];
    const T last = (T)(round - 1), now = (T)round;
    const T x = way == GEX_OP_FCAS ? last : way == GEX_OP_ADD ? (T)1 : way == GEX_OP_XOR ? (T)((long)last ^ (long)now) : now;
    T seen;
    (void)NAMED(run)(ad, right, word_of(team, right, 2), set, now, 0, 0);
    (void)NAMED(run)(ad, right, word_of(team, right, 3), way, x, now, GEX_FLAG_AD_REL);
    do {
      gasnet_AMPoll();
      seen = round % 2 ? NAMED(run)(ad, own, word_of(team, own, 3), GEX_OP_GET, 0, 0, GEX_FLAG_AD_ACQ | GEX_FLAG_AD_MY_RANK)
                       : NAMED(run)(ad, own, word_of(team, own, 3), GEX_OP_FADD, 0, 0, GEX_FLAG_AD_ACQ | GEX_FLAG_AD_MY_RANK);
    } while (seen < now);
    CHECK(NAMED(run)(ad, own, word_of(team, own, 2), GEX_OP_GET, 0, 0, GEX_FLAG_AD_MY_RANK) >= seen);
  }
  BARRIER();
  gex_AD_Destroy(ad);
}

/* One counter that all increase, then a race of compare-and-swaps. */
static void NAMED(counter)(gex_TM_t team, int rounds) {
  const gex_Rank_t size = gex_TM_QuerySize(team), own = gex_TM_QueryRank(team), root = size / 2;
  void *const count = word_of(team, root, 0), *const won = word_of(team, root, 1);
  const T goal = (T)((int)size * (rounds / 4 * 6));
  T last = 0, seen;
  gex_AD_t ad;
  int i, wins = 0;
  gex_AD_Create(&ad, team, PASTE(GEX_DT_, TY),
                GEX_OP_FADD | GEX_OP_ADD | GEX_OP_FINC | GEX_OP_INC | GEX_OP_GET | GEX_OP_SET | GEX_OP_FCAS, GEX_FLAG_AD_FAVOR_REMOTE);
  if (own == root) memset(count, 0, 16);
  BARRIER();
  for (i = 0; i < rounds / 4; i++) {
    seen = NAMED(run)(ad, root, count, GEX_OP_FADD, 2, 0, 0);
    CHECK(seen >= last && seen < goal);
    last = seen;
    (void)NAMED(run)(ad, root, count, GEX_OP_ADD, 2, 0, 0);
    seen = NAMED(run)(ad, root, count, GEX_OP_FINC, 55, 66, 0);
    CHECK(seen >= last && seen < goal);
    last = seen;
    (void)NAMED(run)(ad, root, count, GEX_OP_INC, 55, 66, 0);
    (void)NAMED(run)(ad, root, count, GEX_OP_ADD, 0, 0, 0);
    seen = NAMED(run)(ad, root, count, GEX_OP_GET, 55, 66, 0);
    CHECK(seen >= last && seen <= goal);
    last = seen;
  }
  BARRIER();
  /* many at once */
  for (i = 0; i < rounds; i++) CHECK(OPNBI(ad, NULL, root, count, GEX_OP_INC, 0, 0, 0) == 0);
  for (i = 0; i < rounds; i++) CHECK(OPNBI(ad, NULL, root, count, GEX_OP_ADD, (T)-1, 0, 0) == 0);
  gex_NBI_Wait(GEX_EC_RMW, 0);
  BARRIER();
  CHECK(NAMED(run)(ad, root, count, GEX_OP_GET, 0, 0, 0) == goal);
  if (own == root) CHECK(*(T *)count == goal);
  BARRIER();
  seen = goal;
  for (i = 0; i < rounds; i++) {
    T was = NAMED(run)(ad, root, count, GEX_OP_FCAS, seen, (T)(seen + 1), 0);
    CHECK(was >= seen);
    if (was == seen) wins++, was = (T)(was + 1);
    seen = was;
  }
  (void)NAMED(run)(ad, root, won, GEX_OP_ADD, (T)wins, 0, 0);
  BARRIER();
  CHECK((T)(goal + NAMED(run)(ad, root, won, GEX_OP_GET, 0, 0, 0)) == NAMED(run)(ad, root, count, GEX_OP_GET, 0, 0, 0));
  BARRIER();
  gex_AD_Destroy(ad);
}

/* Every operation with random operands, compared with a local mirror. Each process has a word of its own everywhere. The first
 * half are constants, which the header may do inline. */
static void NAMED(mirror)(gex_TM_t team, int rounds) {
#if FLOATING
  static const gex_OP_t ops[] = {GEX_OP_ADD, GEX_OP_SUB, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_INC, GEX_OP_DEC, GEX_OP_SET,
                                 GEX_OP_CAS, GEX_OP_FADD, GEX_OP_FSUB, GEX_OP_FMULT, GEX_OP_FMIN, GEX_OP_FMAX, GEX_OP_FINC,
                                 GEX_OP_FDEC, GEX_OP_SWAP, GEX_OP_FCAS, GEX_OP_GET};
#else
  static const gex_OP_t ops[] = {GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR, GEX_OP_ADD, GEX_OP_SUB, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                                 GEX_OP_INC, GEX_OP_DEC, GEX_OP_SET, GEX_OP_CAS, GEX_OP_FAND, GEX_OP_FOR, GEX_OP_FXOR, GEX_OP_FADD,
                                 GEX_OP_FSUB, GEX_OP_FMULT, GEX_OP_FMIN, GEX_OP_FMAX, GEX_OP_FINC, GEX_OP_FDEC, GEX_OP_SWAP,
                                 GEX_OP_FCAS, GEX_OP_GET};
#endif
  const gex_Rank_t size = gex_TM_QuerySize(team), own = gex_TM_QueryRank(team);
  gex_OP_t all = 0;
  gex_AD_t ad;
  gex_Rank_t rank;
  size_t i;
  for (i = 0; i < sizeof ops / sizeof ops[0]; i++) all |= ops[i];
  gex_AD_Create(&ad, team, PASTE(GEX_DT_, TY), all, GEX_FLAG_PEER_SEG_OFFSET);
  CHECK(gex_AD_QueryFlags(ad) == GEX_FLAG_PEER_SEG_OFFSET);
  BARRIER();
  for (rank = 0; rank < size; rank++) {
    void *const word = word_of(team, rank, 8 + me);
    T value = (T)5, got;
    int round;
    (void)NAMED(run)(ad, rank, word, GEX_OP_SET, value, 0, 0);
    for (round = 0; round < rounds; round++) {
      const gex_OP_t op = ops[random_number() % (sizeof ops / sizeof ops[0])];
      const T y = (T)((int)(random_number() % 2001) - 1000);
      T x = (T)((int)(random_number() % 2001) - 1000);
      if ((op == GEX_OP_CAS || op == GEX_OP_FCAS) && random_number() % 2) x = value;
#if FLOATING
      if (op == GEX_OP_MULT || op == GEX_OP_FMULT) { /* all products are exact */
        (void)NAMED(run)(ad, rank, word, GEX_OP_SET, y, 0, 0);
        value = y, x = (T)((int)(random_number() % 9) - 4);
      }
      if (value > 1000000 || value < -1000000) (void)NAMED(run)(ad, rank, word, GEX_OP_SET, value = (T)-0.0, 0, 0);
#endif
      got = NAMED(run)(ad, rank, word, op, x, y, 0);
      if (op >= GEX_OP_FAND && got != value) {
        errors++;
        say("ERROR: " NAME_OF(TY) " opcode 1<<%d at %u: fetched %.17g, expected %.17g", bit_of(op), (unsigned)rank, (double)got,
            (double)value);
      }
      value = NAMED(after)(value, op, x, y);
      got = NAMED(run)(ad, rank, word, GEX_OP_GET, 0, 0, 0);
      if (got != value) {
        errors++;
        say("ERROR: " NAME_OF(TY) " opcode 1<<%d at %u: %.17g, expected %.17g", bit_of(op), (unsigned)rank, (double)got, (double)value);
        value = got;
      }
    }
#define CONSTANT(op, x, y)                                                                                           \
  do {                                                                                                               \
    T fetched = 0;                                                                                                   \
    gex_Event_Wait(OPNB(ad, &fetched, rank, word, op, x, y, 0));                                                     \
    CHECK((op) < GEX_OP_FAND || fetched == value);                                                                   \
    value = NAMED(after)(value, op, x, y);                                                                           \
    CHECK(OPNBI(ad, &got, rank, word, GEX_OP_GET, 0, 0, 0) == 0);                                                    \
    gex_NBI_Wait(GEX_EC_GET, 0);                                                                                     \
    CHECK(got == value);                                                                                             \
  } while (0)
    CONSTANT(GEX_OP_SET, 100, 0);
    CONSTANT(GEX_OP_ADD, 11, 0);
    CONSTANT(GEX_OP_FADD, (T)-12, 0);
    CONSTANT(GEX_OP_SUB, 13, 0);
    CONSTANT(GEX_OP_FSUB, (T)-14, 0);
    CONSTANT(GEX_OP_INC, 1000, 0);
    CONSTANT(GEX_OP_FINC, 1000, 0);
    CONSTANT(GEX_OP_DEC, 1000, 0);
    CONSTANT(GEX_OP_FDEC, 1000, 0);
    CONSTANT(GEX_OP_CAS, value, 200);
    CONSTANT(GEX_OP_FCAS, value, 300);
    CONSTANT(GEX_OP_CAS, 1, 2);
    CONSTANT(GEX_OP_FCAS, 1, 2);
    CONSTANT(GEX_OP_SWAP, 0x5a, 0);
    CONSTANT(GEX_OP_MULT, 3, 0);
    CONSTANT(GEX_OP_FMAX, 3, 0);
    CONSTANT(GEX_OP_MIN, 3, 0);
#if !FLOATING
    CONSTANT(GEX_OP_SET, 0x5a, 0);
    CONSTANT(GEX_OP_AND, 0x3c, 0);
    CONSTANT(GEX_OP_FOR, 0x81, 0);
    CONSTANT(GEX_OP_FXOR, 0xff, 0);
    CONSTANT(GEX_OP_FAND, 0x77, 0);
    CONSTANT(GEX_OP_OR, 0x100, 0);
    CONSTANT(GEX_OP_XOR, 0x13, 0);
#endif
#undef CONSTANT
  }
  BARRIER();
  (void)own;
  gex_AD_Destroy(ad);
}

static void NAMED(test)(gex_TM_t team, int iters) {
  NAMED(flags)(team);
  NAMED(neighbours)(team);
  NAMED(signal)(team, iters / 8 + 1, 1);
  NAMED(signal)(team, iters / 8 + 1, 0);
  NAMED(counter)(team, iters / 4 * 4);
  NAMED(mirror)(team, iters / 2);
}
#undef NAMED
#undef OPNB
#undef OPNBI
#undef PASTE
#undef PASTE_
#undef TY
#undef T
#undef U
#undef FLOATING
