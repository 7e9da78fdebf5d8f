/* What the parts of testmixed share: actors and their lanes, memory, payloads, and the many ways to sync.
 *
 * An actor is a thread. It has lanes. A lane has one operation under way, with all its events, and memory of its own: a slot in
 * each process, a copy of what must be in these slots (the model), and a local buffer. So many operations of an actor are in
 * flight at once, and still every byte is known. */
#ifndef TESTMIXED_H
#define TESTMIXED_H
#include "testexam.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <unistd.h>
#if defined(GASNET_PAR)
#include <pthread.h>
#define ACTORS 3
#define LANES 6
#else
#define ACTORS 1
#define LANES 12
#endif
#if !defined(SLOT)
#define SLOT ((size_t)16384) /* the runner of `ci/soak --ex` has builds with larger ones */
#endif
#define PIECES 4
#define EVENTS 8
#define VECTORS 24
#define COLLS 6
#define TEAMS 4
#define WORDS 4 /* types of words for atomics: U64, I32, DBL over all processes, U64 over half of them */
enum { W_U64, W_I32, W_DBL, W_HALF };

typedef struct {
  size_t at, n;
  int is_get;
} piece_t;
typedef struct {
  int number, busy;
  gex_Rank_t rank;
  unsigned seed;
  const char *what;
  gex_Event_t root[EVENTS], leaf[EVENTS];
  int events;
  gex_EC_t nbi;        /* what gex_NBI_Wait must still say */
  int given;           /* another thread syncs the roots */
  int waits, answered; /* replies */
  int reply_category;
  size_t reply_bytes;
  piece_t piece[PIECES];
  int pieces;
  int word_bytes;      /* of the value that an atomic fetches */
  uint64_t got[EVENTS], old;
  gex_Memvec_t vec[2][VECTORS];
  void *list[2][VECTORS];
  unsigned char armed[GEX_VIS_MAX_PEERCOMPLETION];
  unsigned char *buf, *want, *model;
  uint64_t *word; /* what must be in the words, by rank and type */
} lane_t;
typedef struct {
  int busy, kind, in_place;
  gex_Event_t event;
  gex_TM_t team;
  unsigned seed;
  gex_Rank_t root;
  size_t n;
  unsigned op;
  unsigned char *in, *out;
} coll_t;
typedef struct {
  int number;
  unsigned long long random, common; /* states; `common` is the same in all processes */
  lane_t lane[LANES];
  coll_t coll[COLLS];
  gex_TM_t team[TEAMS];
  int teams, colls_left, place; /* in the sequence of this actor's collectives */
  unsigned long long oneway_sent, oneway_sum, armed_sent, armed_sum;
  uint64_t tally[WORDS]; /* what was added to the shared words */
  double tally_dbl;
  size_t to[SLOT / 2], from[SLOT / 2], moved;
} actor_t;

static actor_t *actors;
static unsigned seed0 = 1;
static gex_AD_t domain[WORDS];
static gex_TM_t half;
static unsigned char *pool; /* random bytes, the same in all processes; payloads are slices of it */
#define POOL ((size_t)32749)
static unsigned long long verified_messages, verified_bytes;
static int failures;

#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define COUNT(p, v) (void)__atomic_add_fetch((p), (v), __ATOMIC_ACQ_REL)
/* Counts a failure; prints the first ones. */
#define SURE(cond, ...)                                                                                              \
  do {                                                                                                               \
    if (!(cond)) failed(__LINE__, #cond, __VA_ARGS__);                                                               \
  } while (0)
__attribute__((__format__(__printf__, 3, 4))) static void failed(int line, const char *cond, const char *format, ...) {
  char text[512];
  va_list ap;
  va_start(ap, format);
  (void)vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) <= 20) say("ERROR: seed %u, line %d: %s: %s", seed0, line, cond, text);
}

/* What this process needs is not there, which is no fault of the library. */
static void lacking(const char *what, size_t n) {
  fprintf(stderr, "testmixed: node %u: no %s: %lu\n", (unsigned)me, what, (unsigned long)n);
  gasnet_exit(98);
}
static void *memory(size_t n) {
  void *at = calloc(1, n);
  if (!at) lacking("memory", n);
  return at;
}
static unsigned step_of(unsigned long long *state) {
  unsigned long long x = *state;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  *state = x;
  return (unsigned)((x * 2685821657736338717ull) >> 32);
}
static unsigned long long state_of(unsigned a, unsigned b) {
  unsigned long long x = ((unsigned long long)seed0 << 32) + a * 40503u + b + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return (x ^ (x >> 31)) | 1;
}
static unsigned below(actor_t *a, unsigned n) { return step_of(&a->random) % n; }
static unsigned common(actor_t *a, unsigned n) { return step_of(&a->common) % n; }
static const unsigned char *slice(unsigned seed) { return pool + seed % POOL; }

static unsigned char *slot_of(gex_Rank_t owner, gex_Rank_t writer, int actor, int lane) {
  return area[owner] + (((size_t)writer * ACTORS + (size_t)actor) * LANES + (size_t)lane) * SLOT;
}
/* Where replies to a lane of process `owner` land. */
static unsigned char *reply_slot(gex_Rank_t owner, int actor, int lane) { return slot_of(owner, nodes, actor, lane); }
static unsigned char *words_of(gex_Rank_t owner) { return slot_of(owner, nodes + 1, 0, 0); }
static void *word_of(gex_Rank_t owner, gex_Rank_t writer, int actor, int lane, int type) {
  return words_of(owner) + 8 * ((((size_t)writer * ACTORS + (size_t)actor) * LANES + (size_t)lane) * WORDS + (size_t)type);
}
/* Words that all actors of all processes add to; a word of an actor's collectives; places to say who came to a barrier. */
static void *shared_word(gex_Rank_t owner, int type) { return word_of(owner, nodes, 0, 0, type); }
static void *coll_word(gex_Rank_t owner, int actor) { return (unsigned char *)shared_word(owner, WORDS) + 8 * actor; }
static void *came_word(gex_Rank_t owner, int actor, gex_Rank_t who) {
  return (unsigned char *)coll_word(owner, ACTORS) + 8 * ((size_t)actor * nodes + who);
}
static size_t all_bytes(void) {
  const size_t lanes = (size_t)ACTORS * LANES, all = nodes;
  return (all + 1) * lanes * SLOT + 8 * (all * lanes * WORDS + WORDS + ACTORS + ACTORS * all);
}

static void verified(unsigned messages, size_t bytes) {
  (void)__atomic_add_fetch(&verified_messages, messages, __ATOMIC_RELAXED);
  (void)__atomic_add_fetch(&verified_bytes, bytes, __ATOMIC_RELAXED);
}
static int same(const void *at, const void *wanted, size_t n) {
  verified(0, n);
  return memcmp(at, wanted, n) == 0;
}
static size_t differs(const unsigned char *a, const unsigned char *b, size_t n) {
  size_t i;
  for (i = 0; i < n && a[i] == b[i]; i++) {}
  return i;
}
static unsigned digest(const unsigned char *at) {
  uint64_t sum = 14695981039346656037ull, word;
  size_t i;
  for (i = 0; i < SLOT; i += 8) memcpy(&word, at + i, 8), sum = (sum ^ word) * 1099511628211ull, sum ^= sum >> 29;
  return (unsigned)(sum >> 16);
}

/* Names the process by one of the ways that there are. */
static gex_TM_t via(actor_t *a, gex_Rank_t rank, gex_Rank_t *named) {
  gex_TM_t by = a->team[below(a, (unsigned)a->teams)];
  *named = gex_TM_TranslateJobrankToRank(by, rank);
  if (*named != GEX_RANK_INVALID && below(a, 2)) return by;
  *named = rank;
  return below(a, 2) ? tm : gex_TM_Pair(ep, 0);
}

/* A call may be IMMEDIATE, and then be refused. */
static gex_Flags_t perhaps(actor_t *a) { return below(a, 2) ? GEX_FLAG_IMMEDIATE : 0; }
static void refused(gex_Flags_t flags) {
  SURE(flags & GEX_FLAG_IMMEDIATE, "refused, though it need not be IMMEDIATE");
  gasnet_AMPoll();
}

/* ---- events that other threads sync ---- */
#define GIFTS 64
static gex_HSL_t gift_lock = GEX_HSL_INITIALIZER;
static lane_t *gifts[GIFTS];
static int n_gifts;
static gex_Event_t strays[GIFTS]; /* of replies: handlers may not wait for them */
static int n_strays;

static void give(lane_t *lane) {
  gex_HSL_Lock(&gift_lock);
  if (n_gifts < GIFTS) lane->given = 1, gifts[n_gifts++] = lane;
  gex_HSL_Unlock(&gift_lock);
}
static void take(void) {
  lane_t *lane = NULL;
  gex_Event_t stray = GEX_EVENT_INVALID;
  int i;
  gex_HSL_Lock(&gift_lock);
  if (n_gifts > 0) lane = gifts[--n_gifts];
  if (n_strays > 0) stray = strays[--n_strays];
  gex_HSL_Unlock(&gift_lock);
  if (lane) {
    for (i = 0; i < lane->events; i++) gex_Event_Wait(lane->root[i]);
    lane->events = 0;
    STORE(&lane->given, 0);
  }
  gex_Event_Wait(stray);
}
/* From a handler. */
static void leave(gex_Event_t event) {
  if (event == GEX_EVENT_INVALID) return;
  gex_HSL_Lock(&gift_lock);
  SURE(n_strays < GIFTS, "events of %d replies", n_strays);
  if (n_strays < GIFTS) strays[n_strays++] = event;
  gex_HSL_Unlock(&gift_lock);
}

/* ---- lanes ---- */
static void add_event(lane_t *lane, gex_Event_t root, gex_Event_t leaf) {
  SURE(root != GEX_EVENT_NO_OP && leaf != GEX_EVENT_NO_OP, "%s", lane->what);
  if (root == GEX_EVENT_INVALID) return; /* its leaf is done, too */
  lane->root[lane->events] = root, lane->leaf[lane->events] = leaf;
  lane->events++;
}
static int ready(lane_t *lane) {
  return lane->busy && !LOAD(&lane->given) && lane->events == 0 && lane->nbi == 0 && LOAD(&lane->answered) == lane->waits;
}
/* All of the operation is done: are the bytes there? */
static void finish(actor_t *a, lane_t *lane) {
  int i;
  SURE(LOAD(&lane->answered) == lane->waits, "%s: %d answers", lane->what, lane->answered);
  for (i = 0; i < lane->pieces; i++) {
    const piece_t *p = &lane->piece[i];
    if (!p->is_get) continue;
    SURE(same(lane->buf + p->at, lane->want + p->at, p->n), "%s of rank %u: byte %lu of %lu at %lu", lane->what, lane->rank,
         (unsigned long)differs(lane->buf + p->at, lane->want + p->at, p->n), (unsigned long)p->n, (unsigned long)p->at);
  }
  if (lane->word_bytes)
    SURE(same(&lane->got[0], &lane->old, (size_t)lane->word_bytes), "%s of rank %u: %llx, not %llx", lane->what, lane->rank,
         (unsigned long long)lane->got[0], (unsigned long long)lane->old);
  if (below(a, 3) == 0) { /* the whole slot */
    const unsigned char *model = lane->model + lane->rank * SLOT;
    gex_Rank_t named;
    gex_TM_t by = via(a, lane->rank, &named);
    memset(lane->buf, 0x55, SLOT);
    SURE(gex_RMA_GetBlocking(by, lane->buf, named, slot_of(lane->rank, me, a->number, lane->number), SLOT, 0) == 0, "a get");
    SURE(same(lane->buf, model, SLOT), "after %s: slot of rank %u, lane %d: byte %lu", lane->what, lane->rank, lane->number,
         (unsigned long)differs(lane->buf, model, SLOT));
  }
  lane->busy = 0;
}
static void finish_ready(actor_t *a) {
  int i;
  for (i = 0; i < LANES; i++)
    if (ready(&a->lane[i])) finish(a, &a->lane[i]);
}

static void finish_coll(actor_t *a, coll_t *c);

/* Syncs events of some lanes and collectives, one by one or as an array. */
static void sync_events(actor_t *a, int may_wait) {
  gex_Event_t all[LANES * EVENTS * 2 + COLLS];
  struct {
    lane_t *lane;
    coll_t *coll;
  } from[LANES * EVENTS * 2 + COLLS];
  int n = 0, i, k, way = (int)below(a, 6);
  if (!may_wait) way |= 1; /* odd ones test */
  for (i = 0; i < LANES; i++) {
    lane_t *lane = &a->lane[i];
    if (!lane->busy || LOAD(&lane->given) || below(a, 2)) continue;
    for (k = 0; k < lane->events; k++) {
      from[n].lane = lane, from[n].coll = NULL, all[n++] = lane->root[k];
      from[n].lane = lane, from[n].coll = NULL, all[n++] = lane->leaf[k];
    }
  }
  for (i = 0; i < COLLS; i++)
    if (a->coll[i].busy && below(a, 2)) from[n].lane = NULL, from[n].coll = &a->coll[i], all[n++] = a->coll[i].event;
  switch (way) {
    case 0:
      gex_Event_WaitAll(all, (size_t)n, 0);
      for (i = 0; i < n; i++) SURE(all[i] == GEX_EVENT_INVALID, "WaitAll left event %d of %d", i, n);
      break;
    case 1:
      if (gex_Event_TestAll(all, (size_t)n, 0) == GASNET_OK)
        for (i = 0; i < n; i++) SURE(all[i] == GEX_EVENT_INVALID, "TestAll left event %d of %d", i, n);
      break;
    case 2: gex_Event_WaitSome(all, (size_t)n, 0); break;
    case 3: (void)gex_Event_TestSome(all, (size_t)n, 0); break;
    default: /* one root or collective; its leaf, if any, first */
      if (n == 0) break;
      i = (int)below(a, (unsigned)n);
      if (from[i].lane) {
        for (k = i; k > 0 && from[k - 1].lane == from[i].lane; k--) {}
        i = k + (i - k) / 2 * 2;
      }
      if (way == 4) {
        if (from[i].lane && below(a, 2)) gex_Event_Wait(all[i + 1]);
        gex_Event_Wait(all[i]);
        all[i] = GEX_EVENT_INVALID;
      } else {
        if (from[i].lane && gex_Event_Test(all[i + 1]) == GASNET_OK) all[i + 1] = GEX_EVENT_INVALID;
        if (gex_Event_Test(all[i]) == GASNET_OK) all[i] = GEX_EVENT_INVALID;
      }
      if (from[i].lane && all[i] == GEX_EVENT_INVALID) all[i + 1] = GEX_EVENT_INVALID;
  }
  for (i = 0; i < n; i++) {
    if (from[i].coll) {
      if (all[i] == GEX_EVENT_INVALID) finish_coll(a, from[i].coll);
      continue;
    }
    if (i == 0 || from[i].lane != from[i - 1].lane) from[i].lane->events = 0; /* those that are left are added again */
    if (all[i] == GEX_EVENT_INVALID) SURE(all[i + 1] == GEX_EVENT_INVALID, "way %d: a leaf outlives its root", way);
    add_event(from[i].lane, all[i], all[i + 1]);
    i++;
  }
}
/* Some or all categories of the implicit operations of this thread. */
static void sync_nbi(actor_t *a, int may_wait) {
  static const gex_EC_t masks[] = {GEX_EC_PUT, GEX_EC_GET, GEX_EC_RMW, GEX_EC_AM, GEX_EC_PUT | GEX_EC_GET, GEX_EC_ALL};
  const gex_EC_t mask = masks[below(a, 6)];
  int i;
  if (may_wait && below(a, 2)) gex_NBI_Wait(mask, 0);
  else if (gex_NBI_Test(mask, 0) != GASNET_OK) return;
  for (i = 0; i < LANES; i++) a->lane[i].nbi &= ~mask;
}
/* One step towards the end of what is under way. */
static void progress(actor_t *a, int may_wait) {
  switch (below(a, 6)) {
    case 0: gasnet_AMPoll(); break;
    case 1: case 2: sync_events(a, may_wait); break;
    case 3: sync_nbi(a, may_wait); break;
    case 4: take(); break;
    default:
      if (ACTORS > 1) {
        lane_t *lane = &a->lane[below(a, LANES)];
        int i, roots = 0;
        if (!lane->busy || LOAD(&lane->given) || lane->events == 0) break;
        for (i = 0; i < lane->events; i++) roots += lane->leaf[i] == GEX_EVENT_INVALID;
        if (roots == lane->events) give(lane);
      }
  }
  gasnet_AMPoll();
  finish_ready(a);
}
#endif
