/* All 18 calls of gex_VIS_*: vector, indexed, strided, with leaves, regions and peer completion. Contract: ex-rma.md sections 8, 9.
 *
 *   testvis [-v] [-i] [-s] [-x] [-n] [-d] [-o] [-t] [-r] [iters [seed]]
 *     -v -i -s  vector, indexed, strided; -x the same as -s, which has transpositions; all without them. -n no blocking calls
 *     -d no comparisons; -o processes of odd rank only serve; -t the time of all; -r by the ranks of a rotated team; letters combine
 *
 * Each process works on an area of its own in the segment of each process, and knows what must be in it. After each operation
 * the whole area, or the whole local buffer, is compared, so bytes beside the pieces are checked, too. */
#include "testarea.h"
#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <gasnet_tools.h>
#include <time.h>

#define AREA 16384
#define MANY 256
#define LEVELS 6
static unsigned char *mine;
static unsigned char expected[AREA], seen[AREA], local[AREA], wanted[AREA];
static unsigned seed;
static int compare = 1;

static unsigned rnd(unsigned below) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 8) % below;
}
static unsigned char *area(gex_Rank_t rank) { return (unsigned char *)shared(rank) + (size_t)me * AREA; }

/* ---- descriptions: what both sides have in common is a sequence of offsets into the two areas ---- */
static size_t to_at[AREA * 4], from_at[AREA * 4], moved;

/* Cuts `total` bytes into pieces; disjoint ones, in any order, if `apart`. Returns their number. Offsets in `at`. */
static size_t cut(size_t total, int apart, size_t piece, unsigned char *base, gex_Memvec_t *list, size_t *at) {
  size_t len[MANY], n = 0, left = total, i, place = rnd(64), k = 0, start[MANY];
  unsigned order[MANY];
  while (left > 0 && n < MANY - 2) {
    size_t want = piece ? piece : n == MANY - 3 ? left : 1 + rnd(rnd(4) ? 40 : 300);
    if (!piece && rnd(12) == 0) want = 0;
    len[n] = want < left ? want : left;
    left -= len[n++];
  }
  for (i = 0; i < n; i++) order[i] = (unsigned)i;
  for (i = n; i > 1; i--) {
    unsigned j = rnd((unsigned)i), t = order[j];
    order[j] = order[i - 1], order[i - 1] = t;
  }
  for (i = 0; i < n; i++) {
    size_t one = len[order[i]];
    if (!apart) place = rnd((unsigned)(AREA - one));
    start[order[i]] = place;
    place += one + rnd(3) * rnd(20);
  }
  for (i = 0; i < n; i++) {
    size_t b;
    list[i].gex_addr = len[i] || rnd(2) ? base + start[i] : NULL;
    list[i].gex_len = len[i];
    for (b = 0; b < len[i]; b++) at[k++] = start[i] + b;
  }
  return n;
}

typedef struct {
  size_t levels, element, count[LEVELS + 1];
  ptrdiff_t strides[2][LEVELS + 1];
  size_t start[2];
} section_t;

/* A section that fits. Side 0 has disjoint elements in any order of levels; side 1 may repeat, overlap or be constant. */
static int section(section_t *s) {
  size_t i, side, total;
  unsigned order[LEVELS];
  s->levels = rnd(LEVELS);
  s->element = rnd(20) ? 1 + rnd(rnd(2) ? 9 : 60) : 0;
  for (total = 1, i = 0; i < s->levels; i++) {
    s->count[i] = rnd(40) ? 1 + rnd(rnd(3) ? 4 : 12) : 0;
    total *= s->count[i];
    order[i] = (unsigned)i;
  }
  if (total * s->element > AREA / 2) return 0;
  for (side = 0; side < 2; side++) {
    ptrdiff_t low = 0, high = 0, extent = (ptrdiff_t)s->element;
    for (i = s->levels; i > 1; i--) {
      unsigned j = rnd((unsigned)i), t = order[j];
      order[j] = order[i - 1], order[i - 1] = t;
    }
    for (i = 0; i < s->levels; i++) {
      const unsigned d = order[i];
      ptrdiff_t stride = extent + (rnd(2) ? 0 : (ptrdiff_t)rnd(30));
      if (side == 1 && rnd(6) == 0) stride = rnd(2) ? 0 : (ptrdiff_t)rnd(10);
      else extent = stride * (ptrdiff_t)s->count[d];
      if (rnd(3) == 0) stride = -stride;
      if (s->count[d] == 1 && rnd(2)) stride = (ptrdiff_t)((size_t)rnd(1000) << 44); /* garbage */
      s->strides[side][d] = stride;
      if (s->count[d] > 1) {
        ptrdiff_t reach = stride * (ptrdiff_t)(s->count[d] - 1);
        if (reach < 0) low += reach;
        else high += reach;
      }
    }
    if (high - low + (ptrdiff_t)s->element > AREA - 8) return 0;
    s->start[side] = (size_t)(rnd((unsigned)(AREA - (high - low) - (ptrdiff_t)s->element)) - low);
  }
  return 1;
}
static void offsets(const section_t *s) {
  size_t index[LEVELS + 1] = {0}, d, b;
  moved = 0;
  if (s->element == 0) return;
  for (d = 0; d < s->levels; d++)
    if (s->count[d] == 0) return;
  for (;;) {
    size_t to = s->start[0], from = s->start[1];
    for (d = 0; d < s->levels; d++) {
      to += index[d] * (size_t)s->strides[0][d];
      from += index[d] * (size_t)s->strides[1][d];
    }
    for (b = 0; b < s->element; b++) to_at[moved] = to + b, from_at[moved] = from + b, moved++;
    for (d = 0; d < s->levels; d++) {
      if (++index[d] < s->count[d]) break;
      index[d] = 0;
    }
    if (d == s->levels) return;
  }
}

/* ---- one operation in one of its forms ---- */
enum { BLOCKING, NB, NBI, REGION, FORMS };
static unsigned long digest(const void *p, size_t n) {
  const unsigned char *c = (const unsigned char *)p;
  unsigned long sum = 5381;
  while (n--) sum = sum * 33 + *c++;
  return sum;
}
/* Calls verb##Blocking, NB or NBI with `flags`, again while it is refused; `event` is set. */
#define CALL(verb, ...)                                                                                              \
  do {                                                                                                               \
    gex_Flags_t again = flags;                                                                                       \
    int tries = 0, refused = 1;                                                                                      \
    while (refused) {                                                                                                \
      if (tries++ > 100) again &= ~GEX_FLAG_IMMEDIATE;                                                               \
      if (form == BLOCKING) {                                                                                        \
        refused = gex_VIS_##verb##Blocking(__VA_ARGS__, again & ~GEX_FLAG_ENABLE_LEAF_LC);                           \
      } else if (form == NB) {                                                                                       \
        event = gex_VIS_##verb##NB(__VA_ARGS__, again);                                                              \
        refused = event == GEX_EVENT_NO_OP;                                                                          \
      } else {                                                                                                       \
        refused = gex_VIS_##verb##NBI(__VA_ARGS__, again);                                                           \
      }                                                                                                              \
      if (refused) {                                                                                                 \
        CHECK(again & GEX_FLAG_IMMEDIATE);                                                                           \
        gasnet_AMPoll();                                                                                             \
      }                                                                                                              \
    }                                                                                                                \
  } while (0)

static void one(gex_Rank_t rank, int shape, int is_put, int form) {
  unsigned char *remote = area(rank), *base[2];
  gex_Memvec_t vec[2][MANY];
  void *index[2][MANY + 1];
  size_t count[2] = {0, 0}, len[2] = {1, 1}, i, side;
  section_t s;
  gex_Flags_t flags = rnd(3) ? 0 : GEX_FLAG_IMMEDIATE;
  gex_Event_t event = GEX_EVENT_INVALID;
  const int leaf = is_put && form != BLOCKING && rnd(2);
  unsigned long before[4], after[4];
  if (leaf) flags |= GEX_FLAG_ENABLE_LEAF_LC;
  base[0] = is_put ? remote : local;
  base[1] = is_put ? local : remote;
  memset(&s, 0, sizeof s);
  if (shape == 0) {
    moved = rnd(10) ? rnd(3000) : 0;
    count[0] = cut(moved, 1, 0, base[0], vec[0], to_at);
    count[1] = cut(moved, 0, 0, base[1], vec[1], from_at);
    if (moved == 0) count[rnd(2)] = 0;
  } else if (shape == 1) {
    size_t unit = 1 + rnd(rnd(2) ? 8 : 40), x = 1 + rnd(3), y = 1 + rnd(3), k = rnd(25);
    len[0] = unit * x, len[1] = unit * y;
    moved = unit * x * y * k;
    count[0] = cut(moved, 1, len[0], base[0], vec[0], to_at);
    count[1] = cut(moved, 0, len[1], base[1], vec[1], from_at);
    for (side = 0; side < 2; side++)
      for (i = 0; i < count[side]; i++) index[side][i] = vec[side][i].gex_addr;
  } else {
    while (!section(&s)) {}
    offsets(&s);
  }
  for (i = 0; i < AREA; i++) local[i] = wanted[i] = (unsigned char)rnd(256);
  if (is_put)
    for (i = 0; i < moved; i++) expected[to_at[i]] = local[from_at[i]];
  else
    for (i = 0; i < moved; i++) wanted[to_at[i]] = expected[from_at[i]];
  before[0] = digest(vec, sizeof vec), before[1] = digest(&s, sizeof s);
  before[2] = digest(index[0], count[0] * (shape == 1) * sizeof(void *)), before[3] = digest(index[1], count[1] * (shape == 1) * sizeof(void *));
  if (form == REGION) gex_NBI_BeginAccessRegion(0);
  if (shape == 0 && is_put) CALL(VectorPut, tm, rank, count[0], vec[0], count[1], vec[1]);
  if (shape == 0 && !is_put) CALL(VectorGet, tm, count[0], vec[0], rank, count[1], vec[1]);
  if (shape == 1 && is_put) CALL(IndexedPut, tm, rank, count[0], index[0], len[0], count[1], index[1], len[1]);
  if (shape == 1 && !is_put) CALL(IndexedGet, tm, count[0], index[0], len[0], rank, count[1], index[1], len[1]);
  if (shape == 2 && is_put)
    CALL(StridedPut, tm, rank, base[0] + s.start[0], s.strides[0], base[1] + s.start[1], s.strides[1], s.element, s.count,
         s.levels);
  if (shape == 2 && !is_put)
    CALL(StridedGet, tm, base[0] + s.start[0], s.strides[0], rank, base[1] + s.start[1], s.strides[1], s.element, s.count,
         s.levels);
  if (form == NB && moved == 0) CHECK(event == GEX_EVENT_INVALID);
  if (form == REGION) event = gex_NBI_EndAccessRegion(0);
  if (leaf) {
    if (form == NBI) gex_NBI_Wait(GEX_EC_LC, 0);
    else gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_LC));
    memset(local, 0, AREA);
    memset(wanted, 0, AREA);
  }
  if (form == NB || form == REGION) {
    if (rnd(2)) gex_Event_Wait(event);
    else
      while (gex_Event_Test(event) != GASNET_OK) gasnet_AMPoll();
  } else if (form == NBI) {
    gex_NBI_Wait(is_put ? GEX_EC_PUT : GEX_EC_GET, 0);
  }
  after[0] = digest(vec, sizeof vec), after[1] = digest(&s, sizeof s);
  after[2] = digest(index[0], count[0] * (shape == 1) * sizeof(void *)), after[3] = digest(index[1], count[1] * (shape == 1) * sizeof(void *));
  CHECK(memcmp(before, after, sizeof before) == 0);
  CHECK(gex_RMA_GetBlocking(tm, seen, rank, remote, AREA, 0) == 0);
  if (compare && (memcmp(seen, expected, AREA) || memcmp(local, wanted, AREA))) {
    errors++;
    say("ERROR: shape %d put %d form %d rank %u: wrong bytes (%u moved, %u levels)", shape, is_put, form, (unsigned)rank,
        (unsigned)moved, (unsigned)s.levels);
    for (i = 0; i < AREA; i++)
      if (seen[i] != expected[i] || local[i] != wanted[i]) {
        say("first difference at %u: remote %u for %u, local %u for %u", (unsigned)i, seen[i], expected[i], local[i], wanted[i]);
        break;
      }
    memcpy(expected, seen, AREA);
  }
}

/* ---- peer completion: each put has a slot of its own at the target, and the handler finds the bytes there ---- */
#define SLOT 256
#define SLOTS (AREA / SLOT)
typedef struct {
  uint32_t rank, slot, bytes;
  unsigned char first;
} note_t;
#define HANDLER 200
static volatile unsigned handled;
static volatile unsigned char ran[SLOTS * 64];

static void completed(gex_Token_t token, void *buf, size_t nbytes) {
  note_t note;
  unsigned i;
  gex_Token_Info_t info;
  gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_ALL);
  handled++;
  CHECK(known & GEX_TI_SRCRANK && known & GEX_TI_EP && info.gex_srcrank < nodes && info.gex_ep == ep);
  if (known & GEX_TI_IS_REQ) CHECK(!info.gex_is_req);
  if (known & GEX_TI_IS_LONG) CHECK(!info.gex_is_long);
  if (known & GEX_TI_ENTRY) CHECK(info.gex_entry->gex_index == HANDLER);
  if (nbytes == 0) return;
  CHECK(nbytes == sizeof note || nbytes == GEX_VIS_MAX_PEERCOMPLETION);
  memcpy(&note, buf, sizeof note);
  for (i = (unsigned)sizeof note; i < nbytes; i++) CHECK(((unsigned char *)buf)[i] == (unsigned char)(note.first + i));
  CHECK(note.rank == info.gex_srcrank);
  if (note.rank < 64) CHECK(++ran[note.rank * SLOTS + note.slot] == 1);
  for (i = 0; i < note.bytes; i += 2) /* every second byte of the slot */
    CHECK(mine[(size_t)note.rank * AREA + (size_t)note.slot * SLOT + i] == (unsigned char)(note.first + i / 2));
}
static void completions(gex_Rank_t rank) {
  static unsigned char source[SLOTS][SLOT];
  static unsigned char payload[SLOTS][GEX_VIS_MAX_PEERCOMPLETION + 1];
  gex_Event_t events[SLOTS];
  unsigned slot, n = 0, i;
  for (slot = 0; slot < SLOTS; slot++) {
    unsigned char *to = area(rank) + slot * SLOT;
    const size_t bytes = slot % 20 == 7 ? 0 : 1 + rnd(SLOT / 2 - 1), full = GEX_VIS_MAX_PEERCOMPLETION;
    const ptrdiff_t two[1] = {2}, near[1] = {1};
    const gex_Flags_t flags = slot % 3 == 1 ? GEX_FLAG_ENABLE_LEAF_LC : 0;
    gex_Memvec_t d[SLOT], s[SLOT];
    void *di[SLOT], *si[SLOT];
    note_t note;
    memset(&note, 0, sizeof note);
    note.rank = me, note.slot = slot, note.bytes = (uint32_t)(2 * bytes), note.first = (unsigned char)(slot * 3 + me);
    for (i = 0; i < SLOT; i++) {
      source[slot][i] = (unsigned char)(note.first + i);
      d[i].gex_addr = di[i] = to + 2 * i, s[i].gex_addr = si[i] = source[slot] + i;
      d[i].gex_len = s[i].gex_len = 1;
    }
    for (i = 0; i <= full; i++) payload[slot][i] = (unsigned char)(note.first + i);
    memcpy(payload[slot], &note, sizeof note);
    gex_VIS_SetPeerCompletionHandler(HANDLER, "replaced", 8, 0);
    gex_VIS_SetPeerCompletionHandler(HANDLER, slot % 5 == 4 ? NULL : payload[slot], slot % 5 == 4 ? 0 : slot % 2 ? sizeof note : full, 0);
    if (slot % 7 == 6) gex_Event_Wait(gex_RMA_PutNB(tm, rank, to + 1, &note, 1, GEX_EVENT_NOW, 0)); /* takes no handler */
    switch (slot % 9) {
      case 0: CHECK(gex_VIS_VectorPutBlocking(tm, rank, bytes, d, bytes, s, 0) == 0); break;
      case 1: CHECK(gex_VIS_IndexedPutBlocking(tm, rank, bytes, di, 1, bytes, si, 1, 0) == 0); break;
      case 2: CHECK(gex_VIS_StridedPutBlocking(tm, rank, to, two, source[slot], near, 1, &bytes, 1, 0) == 0); break;
      case 3: events[n++] = gex_VIS_VectorPutNB(tm, rank, bytes, d, bytes, s, flags); break;
      case 4: events[n++] = gex_VIS_IndexedPutNB(tm, rank, bytes, di, 1, bytes, si, 1, flags); break;
      case 5: events[n++] = gex_VIS_StridedPutNB(tm, rank, to, two, source[slot], near, 1, &bytes, 1, flags); break;
      case 6: CHECK(gex_VIS_VectorPutNBI(tm, rank, bytes, d, bytes, s, flags) == 0); break;
      case 7: CHECK(gex_VIS_IndexedPutNBI(tm, rank, bytes, di, 1, bytes, si, 1, flags) == 0); break;
      case 8: CHECK(gex_VIS_StridedPutNBI(tm, rank, to, two, source[slot], near, 1, &bytes, 1, flags) == 0); break;
    }
    if (flags && slot % 9 == 4) gex_Event_Wait(gex_Event_QueryLeaf(events[n - 1], GEX_EC_LC)); /* the NB put that has the flag */
    if (flags && slot % 9 == 7) gex_NBI_Wait(GEX_EC_LC, 0);
  }
  gex_VIS_SetPeerCompletionHandler(HANDLER, NULL, 0, 0);
  gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0); /* disarmed */
  CHECK(gex_VIS_VectorPutBlocking(tm, rank, 0, NULL, 0, NULL, 0) == 0);
  gex_Event_WaitAll(events, n, 0);
  gex_NBI_Wait(GEX_EC_ALL, 0);
}

int main(int argc, char **argv) {
  int chosen[3] = {0, 0, 0}, blocking = 1, iters, i, any = 0, passive = 0, timed = 0, rotated = 0;
  time_t begun;
  gex_Rank_t rank;
  gex_AM_Entry_t table[1];
  begin("testvis", &argc, &argv);
  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    const char *c;
    for (c = argv[i] + 1; *c; c++) switch (*c) {
        case 'v': chosen[0] = any = 1; break;
        case 'i': chosen[1] = any = 1; break;
        case 's':
        case 'x': chosen[2] = any = 1; break;
        case 'n': blocking = 0; break;
        case 'd': compare = 0; break;
        case 'o': passive = 1; break;
        case 't': timed = 1; break;
        case 'r': rotated = 1; break;
        default:
          fprintf(stderr, "usage: testvis [-v] [-i] [-s] [-x] [-n] [-d] [-o] [-t] [-r] [iters [seed]]\n");
          gasnet_exit(1);
      }
  }
  iters = i < argc && atoi(argv[i]) > 0 ? atoi(argv[i]) : 100;
  seed = i + 1 < argc ? (unsigned)atoi(argv[i + 1]) : 0;
  if (seed == 0) seed = (unsigned)time(NULL);
  if (me == 0) say("seed %u, %d iterations", seed, iters);
  seed += me * 7919;
  memset(table, 0, sizeof table);
  table[0].gex_index = HANDLER;
  table[0].gex_fnptr = (gex_AM_Fn_t)completed;
  table[0].gex_flags = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY;
  table[0].gex_nargs = 0;
  MUST(gex_EP_RegisterHandlers(ep, table, 1));
  share((uintptr_t)(nodes + 1) * AREA);
  mine = (unsigned char *)shared(me);
  if (rotated) { /* the next process is the first one */
    gex_TM_t team;
    (void)gex_TM_Split(&team, tm, 0, (int)((me + nodes - 1) % nodes), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(gex_TM_QueryRank(team) == (me + nodes - 1) % nodes);
    tm = team;
  }
  BARRIER();
  begun = time(NULL);
  for (rank = 0; rank < nodes && !(passive && me & 1); rank++) {
    if (rank & 1 && !rotated) tm = BY_PAIR(); /* a pair names the same endpoints by their job ranks */
    memset(expected, 0x5A, AREA);
    CHECK(gex_RMA_PutBlocking(tm, rank, area(rank), expected, AREA, 0) == 0);
    for (i = 0; i < iters; i++) {
      int shape, form, is_put;
      for (shape = 0; shape < 3; shape++)
        for (is_put = 0; is_put < 2; is_put++)
          for (form = blocking ? BLOCKING : NB; form < FORMS; form++)
            if (!any || chosen[shape]) one(rank, shape, is_put, form);
    }
  }
  BARRIER();
  if (timed && me == 0) say("%ld s", (long)(time(NULL) - begun));
  if (nodes <= 64) {
    for (rank = 0; rank < nodes; rank++) completions((me + rank) % nodes);
    BARRIER();
    for (i = 0; i < 5000 && handled < nodes * SLOTS; i++) gasnet_AMPoll(), gasnett_nsleep(1000000);
    if (handled != nodes * SLOTS) {
      errors++;
      say("ERROR: %u handlers ran for %u puts", handled, (unsigned)nodes * SLOTS);
    }
  }
  return end();
}
