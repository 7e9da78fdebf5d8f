/* A random mix of everything that GASNet-EX has, with many operations in flight at once and every byte verified.
 *
 *   testmixed [seed [rounds [close|full]]]       (1, 24)
 *
 * Messages of all categories with answers, by fixed and by negotiated payload; puts, gets and values in all forms, in access
 * regions, with leaves; vector, indexed and strided transfers with signed strides, with completion at the peer; remote atomics on
 * words of one's own and on words that all share; collectives, teams, domains and barriers; by several threads in GASNET_PAR. The
 * seed, which the first line says, fixes each operation and the order of their starts; when each is looked at again depends on how far
 * it is. A round is 16 operations of each actor. In the end all slots are compared with what must be in them, and what was sent, added and counted with what came. testmixed.h says how.
 * `close`: after attach the client closes all descriptors that it does not know. `full`: before attach it takes all descriptors that
 * it may have, and keeps them. */
#include "testmixed_ad.h"
#include "testmixed_am.h"
#include "testmixed_coll.h"
#include <fcntl.h>
#include <sys/resource.h>

/* ---- puts and gets ---- */
/* Repeats a call that may be refused. */
#define RETRY(flags, call)                                                                                           \
  while (call) refused(flags), flags = perhaps(a)

static void put_piece(actor_t *a, lane_t *lane, gex_TM_t by, gex_Rank_t rank, unsigned char *there, const piece_t *p, int form) {
  unsigned char *from = lane->buf + p->at;
  gex_Event_t leaf = GEX_EVENT_INVALID, root;
  gex_Flags_t flags = perhaps(a);
  int free_now = 0;
  memcpy(from, slice(lane->seed + (unsigned)p->at), p->n);
  memcpy(lane->model + lane->rank * SLOT + p->at, from, p->n);
  switch (form) {
    case 0:
      RETRY(flags, gex_RMA_PutBlocking(by, rank, there + p->at, from, p->n, flags));
      free_now = 1;
      break;
    case 1:
    case 2:
      RETRY(flags, (root = gex_RMA_PutNB(by, rank, there + p->at, from, p->n, form == 1 ? GEX_EVENT_NOW : GEX_EVENT_DEFER, flags)) ==
                       GEX_EVENT_NO_OP);
      free_now = form == 1;
      add_event(lane, root, GEX_EVENT_INVALID);
      break;
    case 3:
      RETRY(flags, (root = gex_RMA_PutNB(by, rank, there + p->at, from, p->n, &leaf, flags)) == GEX_EVENT_NO_OP);
      if (below(a, 2)) gex_Event_Wait(leaf), leaf = GEX_EVENT_INVALID, free_now = 1;
      else if (below(a, 2)) leaf = GEX_EVENT_INVALID; /* never looked at */
      add_event(lane, root, leaf);
      break;
    case 4:
    case 5:
      RETRY(flags, gex_RMA_PutNBI(by, rank, there + p->at, from, p->n, form == 4 ? GEX_EVENT_NOW : GEX_EVENT_DEFER, flags));
      free_now = form == 4;
      lane->nbi |= GEX_EC_PUT;
      break;
    default:
      RETRY(flags, gex_RMA_PutNBI(by, rank, there + p->at, from, p->n, GEX_EVENT_GROUP, flags));
      lane->nbi |= GEX_EC_PUT;
      if (below(a, 2)) gex_NBI_Wait(GEX_EC_LC, 0), free_now = 1;
  }
  if (free_now) memset(from, 0xDD, p->n);
}
static void get_piece(actor_t *a, lane_t *lane, gex_TM_t by, gex_Rank_t rank, unsigned char *there, const piece_t *p, int form) {
  unsigned char *to = lane->buf + p->at;
  gex_Event_t root;
  gex_Flags_t flags = perhaps(a);
  memcpy(lane->want + p->at, lane->model + lane->rank * SLOT + p->at, p->n);
  memset(to, 0x33, p->n);
  if (form == 0) {
    RETRY(flags, gex_RMA_GetBlocking(by, to, rank, there + p->at, p->n, flags));
  } else if (form < 4) {
    RETRY(flags, (root = gex_RMA_GetNB(by, to, rank, there + p->at, p->n, flags)) == GEX_EVENT_NO_OP);
    add_event(lane, root, GEX_EVENT_INVALID);
  } else {
    RETRY(flags, gex_RMA_GetNBI(by, to, rank, there + p->at, p->n, flags));
    lane->nbi |= GEX_EC_GET;
  }
}
/* Up to 8 bytes by value, and back. */
static void value_piece(actor_t *a, lane_t *lane, gex_TM_t by, gex_Rank_t rank, unsigned char *there, piece_t *p, int form) {
  unsigned char *model = lane->model + lane->rank * SLOT + p->at;
  gex_RMA_Value_t value = 0, found;
  gex_Event_t root;
  gex_Flags_t flags = perhaps(a);
  p->n = 1 + below(a, 8);
  memcpy(&value, slice(lane->seed + (unsigned)p->at), p->n); /* little-endian, as all that the conduit runs on */
  memcpy(model, &value, p->n);
  switch (form % 3) {
    case 0: RETRY(flags, gex_RMA_PutBlockingVal(by, rank, there + p->at, value, p->n, flags)); break;
    case 1:
      RETRY(flags, (root = gex_RMA_PutNBVal(by, rank, there + p->at, value, p->n, flags)) == GEX_EVENT_NO_OP);
      gex_Event_Wait(root);
      break;
    default:
      RETRY(flags, gex_RMA_PutNBIVal(by, rank, there + p->at, value, p->n, flags));
      gex_NBI_Wait(GEX_EC_PUT, 0);
  }
  found = gex_RMA_GetBlockingVal(by, rank, there + p->at, p->n, 0);
  SURE(same(&found, &value, 8), "a value of %lu bytes: %llx, not %llx", (unsigned long)p->n, (unsigned long long)found,
       (unsigned long long)value);
}
/* Some pieces of the slot are put, some got, each in its own form, or all in one access region. */
static void transfers(actor_t *a, lane_t *lane) {
  const size_t count = 1 + below(a, PIECES), room = SLOT / count;
  const int region = below(a, 4) == 0;
  unsigned char *there = slot_of(lane->rank, me, a->number, lane->number);
  gex_Rank_t rank;
  gex_TM_t by = via(a, lane->rank, &rank);
  size_t i;
  lane->what = region ? "an access region" : "puts and gets";
  if (region) gex_NBI_BeginAccessRegion(0);
  for (i = 0; i < count; i++) {
    piece_t *p = &lane->piece[lane->pieces++];
    int form = (int)below(a, 7);
    const unsigned kind = below(a, 5);
    p->at = i * room + below(a, (unsigned)room / 4);
    p->n = some_bytes(a, room * 3 / 4);
    p->is_get = kind < 2;
    if (region) form = 5; /* implicit, without a wait inside */
    if (kind == 4 && !region) value_piece(a, lane, by, rank, there, p, form);
    else if (p->is_get) get_piece(a, lane, by, rank, there, p, form);
    else put_piece(a, lane, by, rank, there, p, form);
  }
  if (region) {
    gex_Event_t event = gex_NBI_EndAccessRegion(0), leaf = GEX_EVENT_INVALID;
    lane->nbi = 0;
    if (below(a, 2)) leaf = gex_Event_QueryLeaf(event, GEX_EC_PUT);
    if (leaf == event) leaf = GEX_EVENT_INVALID; /* the whole is the put */
    add_event(lane, event, leaf);
  }
}

/* ---- vector, indexed, strided ---- */
/* Cuts `total` bytes into pieces of `unit` bytes, or of any lengths if `unit` is 0; disjoint ones if `apart`. */
static size_t cut(actor_t *a, size_t total, int apart, size_t unit, unsigned char *base, gex_Memvec_t *list, size_t *at) {
  size_t len[VECTORS], start[VECTORS], left = total, n = 0, i, b, k = 0, place = below(a, 64);
  while (left > 0) {
    const size_t want = unit ? unit : n == VECTORS - 1 ? left : 1 + below(a, 200);
    len[n] = want < left ? want : left;
    left -= len[n++];
  }
  for (i = 0; i < n; i++) {
    const size_t j = total % 2 ? n - 1 - i : i; /* the first piece may lie last */
    if (!apart) place = below(a, (unsigned)(SLOT - len[j]));
    start[j] = place;
    place += len[j] + below(a, 40);
  }
  for (i = 0; i < n; i++) {
    list[i].gex_addr = base + start[i], list[i].gex_len = len[i];
    for (b = 0; b < len[i]; b++) at[k++] = start[i] + b;
  }
  return n;
}
#define LEVELS 4
typedef struct {
  size_t levels, element, count[LEVELS], start[2];
  ptrdiff_t stride[2][LEVELS];
} section_t;
/* A section with strides of any sign and order. Side 0, the destination, has disjoint elements. */
static int section(actor_t *a, section_t *s) {
  size_t total = s->element = 1 + below(a, below(a, 2) ? 9 : 100), i, side;
  s->levels = below(a, LEVELS + 1);
  for (i = 0; i < s->levels; i++) s->count[i] = 1 + below(a, 7), total *= s->count[i];
  if (total > SLOT / 4) return 0;
  for (side = 0; side < 2; side++) {
    ptrdiff_t low = 0, high = 0, extent = (ptrdiff_t)s->element;
    const int inward = (int)below(a, 2);
    for (i = 0; i < s->levels; i++) {
      const size_t d = inward ? s->levels - 1 - i : i;
      ptrdiff_t stride = extent + (ptrdiff_t)below(a, 20);
      if (side == 1 && below(a, 8) == 0) stride = (ptrdiff_t)below(a, 10); /* sources may repeat */
      else extent = stride * (ptrdiff_t)s->count[d];
      if (below(a, 3) == 0) stride = -stride;
      s->stride[side][d] = stride;
      if (stride < 0) low += stride * (ptrdiff_t)(s->count[d] - 1);
      else high += stride * (ptrdiff_t)(s->count[d] - 1);
    }
    if (high - low + (ptrdiff_t)s->element >= (ptrdiff_t)SLOT) return 0;
    s->start[side] = (size_t)((ptrdiff_t)below(a, (unsigned)((ptrdiff_t)SLOT - (high - low) - (ptrdiff_t)s->element)) - low);
  }
  return 1;
}
static void list_bytes(actor_t *a, const section_t *s) {
  size_t index[LEVELS + 1] = {0}, d, b;
  a->moved = 0;
  do {
    size_t to = s->start[0], from = s->start[1];
    for (d = 0; d < s->levels; d++) to += index[d] * (size_t)s->stride[0][d], from += index[d] * (size_t)s->stride[1][d];
    for (b = 0; b < s->element; b++) a->to[a->moved] = to + b, a->from[a->moved++] = from + b;
    for (d = 0; d < s->levels && ++index[d] == s->count[d]; d++) index[d] = 0;
  } while (d < s->levels);
}
/* One call of gex_VIS_verb in the form drawn. */
#define CALL(verb, ...)                                                                                              \
  do {                                                                                                               \
    if (form == 0) RETRY(flags, gex_VIS_##verb##Blocking(__VA_ARGS__, flags));                                       \
    else if (form == 1) RETRY(flags, (event = gex_VIS_##verb##NB(__VA_ARGS__, flags | leaf)) == GEX_EVENT_NO_OP);    \
    else RETRY(flags, gex_VIS_##verb##NBI(__VA_ARGS__, flags | leaf));                                               \
  } while (0)
static void shapes(actor_t *a, lane_t *lane) {
  const int shape = (int)below(a, 3), is_put = (int)below(a, 2), form = (int)below(a, 4); /* 3: in an access region */
  const gex_Flags_t leaf = is_put && form && below(a, 2) ? GEX_FLAG_ENABLE_LEAF_LC : 0;
  gex_Flags_t flags = perhaps(a);
  unsigned char *there = slot_of(lane->rank, me, a->number, lane->number), *model = lane->model + lane->rank * SLOT, *base[2];
  gex_Event_t event = GEX_EVENT_INVALID, lc = GEX_EVENT_INVALID;
  size_t n[2] = {0, 0}, len[2] = {1, 1}, i;
  section_t s;
  gex_Rank_t rank;
  gex_TM_t by = via(a, lane->rank, &rank);
  static const char *const names[] = {"vector get", "vector put", "indexed get", "indexed put", "strided get", "strided put"};
  lane->what = names[2 * shape + is_put];
  base[0] = is_put ? there : lane->buf, base[1] = is_put ? lane->buf : there;
  if (shape == 0) {
    a->moved = below(a, 3000);
  } else if (shape == 1) {
    const size_t unit = 1 + below(a, below(a, 2) ? 8 : 40), x = 1 + below(a, 3), y = 1 + below(a, 3);
    len[0] = unit * x, len[1] = unit * y, a->moved = len[0] * y * (1 + below(a, VECTORS / 3));
  } else {
    while (!section(a, &s)) {}
    list_bytes(a, &s);
  }
  if (shape < 2) {
    n[0] = cut(a, a->moved, 1, shape ? len[0] : 0, base[0], lane->vec[0], a->to);
    n[1] = cut(a, a->moved, 0, shape ? len[1] : 0, base[1], lane->vec[1], a->from);
    for (i = 0; i < n[0]; i++) lane->list[0][i] = lane->vec[0][i].gex_addr;
    for (i = 0; i < n[1]; i++) lane->list[1][i] = lane->vec[1][i].gex_addr;
  }
  memcpy(lane->buf, slice(lane->seed), SLOT);
  if (is_put) {
    for (i = 0; i < a->moved; i++) model[a->to[i]] = lane->buf[a->from[i]];
    if (below(a, 4) == 0) { /* the target learns when all of it is there */
      const size_t bytes = 1 + below(a, GEX_VIS_MAX_PEERCOMPLETION);
      for (i = 0; i < bytes; i++) lane->armed[i] = (unsigned char)(lane->seed + i);
      lane->armed[1] = (unsigned char)me;
      gex_VIS_SetPeerCompletionHandler(H_ARMED, lane->armed, bytes, 0);
      a->armed_sent++, a->armed_sum += lane->armed[0];
      flags = 0;
    }
  } else {
    memcpy(lane->want, lane->buf, SLOT);
    for (i = 0; i < a->moved; i++) lane->want[a->to[i]] = model[a->from[i]];
    lane->piece[0].at = 0, lane->piece[0].n = SLOT, lane->piece[0].is_get = 1, lane->pieces = 1;
  }
  if (form == 3) gex_NBI_BeginAccessRegion(0);
  if (shape == 0 && is_put) CALL(VectorPut, by, rank, n[0], lane->vec[0], n[1], lane->vec[1]);
  if (shape == 0 && !is_put) CALL(VectorGet, by, n[0], lane->vec[0], rank, n[1], lane->vec[1]);
  if (shape == 1 && is_put) CALL(IndexedPut, by, rank, n[0], lane->list[0], len[0], n[1], lane->list[1], len[1]);
  if (shape == 1 && !is_put) CALL(IndexedGet, by, n[0], lane->list[0], len[0], rank, n[1], lane->list[1], len[1]);
  if (shape == 2 && is_put)
    CALL(StridedPut, by, rank, base[0] + s.start[0], s.stride[0], base[1] + s.start[1], s.stride[1], s.element, s.count, s.levels);
  if (shape == 2 && !is_put)
    CALL(StridedGet, by, base[0] + s.start[0], s.stride[0], rank, base[1] + s.start[1], s.stride[1], s.element, s.count, s.levels);
  if (form == 3) event = gex_NBI_EndAccessRegion(0);
  if (form == 2) lane->nbi |= is_put ? GEX_EC_PUT : GEX_EC_GET;
  if (leaf && form == 2 && below(a, 2)) {
    gex_NBI_Wait(GEX_EC_LC, 0);
    memset(lane->buf, 0xDD, SLOT);
  }
  if (leaf && form != 2) {
    lc = gex_Event_QueryLeaf(event, GEX_EC_LC);
    if (below(a, 2)) gex_Event_Wait(lc), lc = GEX_EVENT_INVALID, memset(lane->buf, 0xDD, SLOT);
  }
  add_event(lane, event, lc);
}

/* ---- the actors ---- */
static unsigned rounds = 24;
static void start(actor_t *a, lane_t *lane, unsigned number) {
  unsigned kind;
  a->random = state_of(me * 16 + (unsigned)a->number, number + 100); /* however often something was refused before */
  kind = below(a, 16);
  lane->rank = below(a, 4) ? below(a, nodes) : (me + 1) % nodes;
  lane->seed = below(a, 0x7FFFFFFF), lane->what = "nothing", lane->events = lane->pieces = lane->waits = lane->answered = 0;
  lane->nbi = 0, lane->word_bytes = 0, lane->reply_bytes = 0;
  lane->busy = 1;
  if (kind < 5) request(a, lane);
  else if (kind < 8) transfers(a, lane);
  else if (kind < 11) shapes(a, lane);
  else if (kind < 14) atomics(a, lane);
  else if (kind < 15) check_slot(a, lane);
  else oneway(a);
}
static void *act(void *argument) {
  actor_t *a = (actor_t *)argument;
  unsigned long long started = 0;
  int i, open = 1;
  while (started < rounds * 16ull) {
    lane_t *lane = &a->lane[below(a, LANES)];
    if (!lane->busy) start(a, lane, (unsigned)started++);
    if (below(a, 5) == 0) next_coll(a);
    if (below(a, 3) == 0) progress(a, below(a, 4) == 0);
    if (below(a, 400) == 0) usleep(below(a, 2000)); /* peers fall asleep meanwhile */
    finish_ready(a);
  }
  while (open || a->colls_left) {
    next_coll(a);
    progress(a, 1);
    for (open = 0, i = 0; i < LANES; i++) open += a->lane[i].busy;
    for (i = 0; i < COLLS; i++) open += a->coll[i].busy;
  }
  return NULL;
}
static void make_actor(actor_t *a, int number) {
  int i, k;
  a->number = number;
  a->random = state_of(me, (unsigned)number + 1), a->common = state_of(1u << 20, (unsigned)number);
  a->colls_left = (int)rounds * 3;
  for (i = 0; i < LANES; i++) {
    lane_t *lane = &a->lane[i];
    lane->number = i;
    lane->buf = (unsigned char *)memory(SLOT), lane->want = (unsigned char *)memory(SLOT);
    lane->model = (unsigned char *)memory(nodes * SLOT), lane->word = (uint64_t *)memory(nodes * WORDS * 8);
  }
  for (i = 0; i < COLLS; i++) a->coll[i].in = (unsigned char *)memory(COLL_BYTES), a->coll[i].out = (unsigned char *)memory(COLL_BYTES);
  a->teams = number == 0 ? 4 : 3;
  for (k = 0; k < 3; k++) { /* all in another order, halves, neighbours */
    const int color = k == 0 ? 0 : k == 1 ? (int)(me % 2) : (int)(me / 2), key = k == 2 ? (int)me : (int)((me * 7 + (unsigned)number) % 5);
    (void)gex_TM_Split(&a->team[k], tm, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  }
  a->team[3] = tm;
}
static uint64_t sum_of_all(uint64_t value) {
  gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &value, &value, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
  return value;
}

/* ---- the end: everything that was sent has come, and everything is where it should be ---- */
static void count_all(void) {
  unsigned long long sent = 0, sum = 0, armed = 0, armed_sum = 0, tally[WORDS] = {0};
  uint64_t all_sent, all_sum, all_armed, all_armed_sum, come = 0, ran = 0, total = 0, armed_come = 0;
  int i, k, tries;
  for (i = 0; i < ACTORS; i++) {
    sent += actors[i].oneway_sent, sum += actors[i].oneway_sum, armed += actors[i].armed_sent, armed_sum += actors[i].armed_sum;
    for (k = 0; k < WORDS; k++) tally[k] += actors[i].tally[k];
  }
  all_sent = sum_of_all(sent), all_sum = sum_of_all(sum), all_armed = sum_of_all(armed), all_armed_sum = sum_of_all(armed_sum);
  for (tries = 0; tries < 20000; tries++) { /* 20 s and more */
    uint64_t here[4];
    gasnet_AMPoll();
    gex_HSL_Lock(&oneway_lock);
    here[0] = oneway_got, here[1] = oneway_total, here[2] = armed_ran, here[3] = armed_total;
    gex_HSL_Unlock(&oneway_lock);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, here, here, GEX_DT_U64, 8, 4, GEX_OP_ADD, NULL, NULL, 0));
    come = here[0], total = here[1], ran = here[2], armed_come = here[3];
    if (come >= all_sent && ran >= all_armed) break;
    usleep(1000);
  }
  SURE(come == all_sent && total == all_sum, "%lu of %lu requests without answer came", (unsigned long)come, (unsigned long)all_sent);
  SURE(ran == all_armed && armed_come == all_armed_sum, "%lu of %lu completions came", (unsigned long)ran, (unsigned long)all_armed);
  verified((unsigned)sent, 0);
  for (k = 0; k < WORDS; k++) {
    uint64_t here = 0, all, added = sum_of_all(tally[k]);
    double number;
    memcpy(&here, shared_word(me, k), k == W_I32 ? 4 : 8);
    if (k == W_DBL) memcpy(&number, &here, 8), here = (uint64_t)number;
    all = sum_of_all(here);
    SURE(k == W_I32 ? (uint32_t)all == (uint32_t)added : all == added, "words of type %d hold %lu, %lu were added", k, (unsigned long)all,
         (unsigned long)added);
  }
}
static void compare_all(void) {
  unsigned char *buf = (unsigned char *)memory(SLOT);
  gex_Rank_t rank;
  int i, k, type;
  for (rank = 0; rank < nodes; rank++)
    for (i = 0; i < ACTORS; i++)
      for (k = 0; k < LANES; k++) {
        lane_t *lane = &actors[i].lane[k];
        SURE(gex_RMA_GetBlocking(tm, buf, rank, slot_of(rank, me, i, k), SLOT, 0) == 0, "a get");
        SURE(same(buf, lane->model + rank * SLOT, SLOT), "in the end: slot of rank %u, actor %d, lane %d: byte %lu", rank, i, k,
             (unsigned long)differs(buf, lane->model + rank * SLOT, SLOT));
        for (type = 0; type < WORDS; type++) {
          SURE(gex_RMA_GetBlocking(tm, buf, rank, word_of(rank, me, i, k, type), 8, 0) == 0, "a get");
          SURE(same(buf, &lane->word[rank * WORDS + type], 8), "in the end: word %d of rank %u, actor %d, lane %d", type, rank, i, k);
        }
      }
  free(buf);
}

static void take_descriptors(void) {
  struct rlimit limit;
  int last = 3;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 300) limit.rlim_cur = 300, (void)setrlimit(RLIMIT_NOFILE, &limit);
  while (last >= 0) last = open("/dev/null", O_RDONLY);
}
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
int main(int argc, char **argv) {
  size_t i;
  int k;
  begin("testmixed", &argc, &argv);
  if (argc > 1) seed0 = (unsigned)strtoul(argv[1], NULL, 10);
  if (argc > 2) rounds = (unsigned)strtoul(argv[2], NULL, 10);
  if (me == 0) say("seed %u, %u rounds, %d threads", seed0, rounds, ACTORS);
  (void)alarm(120);
  most_medium = smaller(gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, NULL, 0, 4), gex_AM_MaxReplyMedium(tm, GEX_RANK_INVALID, NULL, 0, 3));
  most_medium_alloc = smaller(gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 4),
                              gex_AM_MaxReplyMedium(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3));
  most_long_alloc = smaller(gex_AM_MaxRequestLong(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 4),
                            gex_AM_MaxReplyLong(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3));
  {
    unsigned long long state = state_of(77, 77);
    pool = (unsigned char *)memory(POOL + SLOT);
    for (i = 0; i < POOL + SLOT; i++) pool[i] = (unsigned char)step_of(&state);
  }
  actors = (actor_t *)memory(ACTORS * sizeof *actors);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  if (argc > 3 && !strcmp(argv[3], "full")) take_descriptors();
#if !GASNET_SEGMENT_EVERYTHING
  if (gasnet_getMaxGlobalSegmentSize() < all_bytes()) lacking("memory for a segment", all_bytes());
#endif
  make_areas(all_bytes());
  if (argc > 3 && !strcmp(argv[3], "close"))
    for (k = 3; k < 1024; k++) (void)close(k);
  memset(area[me], 0, all_bytes());
  for (k = 0; k < ACTORS; k++) make_actor(&actors[k], k);
  gex_TM_Split(&half, tm, (int)(me % 2), -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  gex_AD_Create(&domain[W_U64], tm, GEX_DT_U64, TWINS(ALL_OPS), 0);
  gex_AD_Create(&domain[W_I32], tm, GEX_DT_I32, TWINS(ALL_OPS), 0);
  gex_AD_Create(&domain[W_DBL], tm, GEX_DT_DBL, TWINS(ALL_OPS), GEX_FLAG_AD_FAVOR_REMOTE);
  gex_AD_Create(&domain[W_HALF], half, GEX_DT_U64, TWINS(ALL_OPS), GEX_FLAG_AD_FAVOR_MY_NBRHD);
  BARRIER();
#if defined(GASNET_PAR)
  {
    pthread_t thread[ACTORS];
    for (k = 1; k < ACTORS; k++)
      if (pthread_create(&thread[k], NULL, act, &actors[k])) lacking("thread", (size_t)k);
    (void)act(&actors[0]);
    for (k = 1; k < ACTORS; k++) pthread_join(thread[k], NULL);
  }
#else
  (void)act(&actors[0]);
#endif
  SURE(n_gifts == 0, "%d lanes that nobody took", n_gifts);
  while (n_strays > 0) take();
  gex_Coll_BarrierBlocking(tm, 0);
  count_all();
  compare_all();
  BARRIER();
  for (k = 0; k < WORDS; k++) gex_AD_Destroy(domain[k]);
  SURE(gex_TM_Destroy(half, NULL, 0) == 0, "a team without scratch memory");
  errors = failures;
  say("testmixed: node %u/%u: verified %llu messages, %llu bytes", me, nodes, verified_messages, verified_bytes);
  return end();
}
