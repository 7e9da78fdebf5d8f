/* The messages of testmixed: requests of all categories with answers of all categories, by fixed and by negotiated payload, with
 * refusals and cancels; digests of slots; and requests without answer that are counted. */
#ifndef TESTMIXED_AM_H
#define TESTMIXED_AM_H
#include "testmixed.h"

enum { H_SHORT = 150, H_MEDIUM, H_LONG, H_CHECK, H_DONE, H_DONE_MEDIUM, H_DONE_LONG, H_ONEWAY, H_ARMED };
enum { SHORT, MEDIUM, LONG };
static size_t most_medium, most_medium_alloc, most_long_alloc;
static unsigned long long oneway_got, oneway_total, armed_ran, armed_total;
static gex_HSL_t oneway_lock = GEX_HSL_INITIALIZER;

static gex_Rank_t source_of(gex_Token_t token, int is_req) {
  gex_Token_Info_t info;
  gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_ALL);
  SURE(info.gex_ep == ep && info.gex_srcrank < nodes, "rank %u", info.gex_srcrank);
  if (known & GEX_TI_IS_REQ) SURE(info.gex_is_req == is_req, "is_req %d", info.gex_is_req);
  return info.gex_srcrank;
}

/* `who`: the actor, its lane << 4, the category of the answer << 12. `m`: bytes of the answer. */
#define ACTOR(who) ((who) & 15)
#define LANE(who) ((who) >> 4 & 255)
#define ANSWER(who) ((who) >> 12)

static void answer(gex_Token_t token, gex_Rank_t from, int who, int seed, int m) {
  unsigned long long state = state_of((unsigned)seed, (unsigned)who);
  const size_t n = (size_t)m, most = n * (1 + step_of(&state) % 2);
  const int is_long = ANSWER(who) == LONG;
  unsigned char own[512], *to = reply_slot(from, ACTOR(who), LANE(who));
  const void *data = slice((unsigned)seed + 1);
  gex_Event_t lc = GEX_EVENT_NO_OP, *lc_opt = GEX_EVENT_NOW;
  gex_AM_SrcDesc_t sd;
  if (ANSWER(who) == SHORT) {
    while (gex_AM_ReplyShort3(token, H_DONE, step_of(&state) % 2 ? GEX_FLAG_IMMEDIATE : 0, who, seed, m)) {}
    return;
  }
  while (step_of(&state) % 8 == 0) { /* prepared, and thought better of */
    sd = is_long ? gex_AM_PrepareReplyLong(token, data, 1, n + 1, to, GEX_EVENT_NOW, 0, 3)
                 : gex_AM_PrepareReplyMedium(token, NULL, 1, n + 1, NULL, 0, 3);
    SURE(gex_AM_SrcDescSize(sd) >= 1, "size %lu", (unsigned long)gex_AM_SrcDescSize(sd));
    if (!is_long) memset(gex_AM_SrcDescAddr(sd), 0x99, gex_AM_SrcDescSize(sd));
    SURE((is_long ? gex_AM_CancelReplyLong(sd, 0) : gex_AM_CancelReplyMedium(sd, 0)) == 0, "a cancel");
  }
  if (n <= sizeof own && step_of(&state) % 2) memcpy(own, data, n), data = own; /* from the stack */
  else if (step_of(&state) % 2) lc_opt = &lc;
  switch (step_of(&state) % 4) {
    case 0:
    case 1: {
      const gex_Flags_t flags = step_of(&state) % 2 ? GEX_FLAG_IMMEDIATE : 0;
      while (is_long ? gex_AM_ReplyLong(token, H_DONE_LONG, data, n, to, lc_opt, flags, who, seed, m)
                     : gex_AM_ReplyMedium3(token, H_DONE_MEDIUM, data, n, lc_opt, flags, who, seed, m)) {}
      break;
    }
    case 2:
      if (n <= (is_long ? most_long_alloc : most_medium_alloc)) {
        sd = is_long ? gex_AM_PrepareReplyLong(token, NULL, n, most, NULL, NULL, 0, 3)
                     : gex_AM_PrepareReplyMedium(token, NULL, n, most, NULL, 0, 3);
        SURE(gex_AM_SrcDescSize(sd) >= n, "size %lu", (unsigned long)gex_AM_SrcDescSize(sd));
        memcpy(gex_AM_SrcDescAddr(sd), data, n);
        if (is_long) gex_AM_CommitReplyLong3(sd, H_DONE_LONG, n, to, who, seed, m);
        else gex_AM_CommitReplyMedium3(sd, H_DONE_MEDIUM, n, who, seed, m);
        break;
      } /* fall through */
    default:
      do
        sd = is_long ? gex_AM_PrepareReplyLong(token, data, n, n, to, lc_opt, GEX_FLAG_IMMEDIATE, 3)
                     : gex_AM_PrepareReplyMedium(token, data, n, n, lc_opt, GEX_FLAG_IMMEDIATE, 3);
      while (sd == GEX_AM_SRCDESC_NO_OP);
      SURE(gex_AM_SrcDescAddr(sd) == data && gex_AM_SrcDescSize(sd) == n, "size %lu", (unsigned long)gex_AM_SrcDescSize(sd));
      while (is_long ? gex_AM_CommitReplyLong3_v2(sd, H_DONE_LONG, n, to, GEX_FLAG_IMMEDIATE, who, seed, m)
                     : gex_AM_CommitReplyMedium_v2(sd, H_DONE_MEDIUM, n, GEX_FLAG_IMMEDIATE, who, seed, m)) {}
  }
  if (lc != GEX_EVENT_NO_OP) leave(lc);
  if (data == own) memset(own, 0x77, sizeof own);
}

static void short_h(gex_Token_t token, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t n, gex_AM_Arg_t m) {
  SURE(n == (who ^ seed ^ m), "a Short with other arguments: %x", (unsigned)n);
  verified(1, 16);
  answer(token, source_of(token, 1), who, seed, m);
}
static void bulk(gex_Token_t token, void *buf, size_t nbytes, int who, int seed, int n, int m, int is_long) {
  const gex_Rank_t from = source_of(token, 1);
  SURE((size_t)n == nbytes, "%lu bytes, not %d", (unsigned long)nbytes, n);
  if (is_long) SURE(buf == slot_of(me, from, ACTOR(who), LANE(who)) + seed % 32, "a Long at another place");
  SURE(same(buf, slice((unsigned)seed), nbytes), "a request from rank %u, category %d, byte %lu of %d", from, 1 + is_long,
       (unsigned long)differs((unsigned char *)buf, slice((unsigned)seed), nbytes), n);
  verified(1, 0);
  answer(token, from, who, seed, m);
  if (!is_long) {
    SURE(same(buf, slice((unsigned)seed), nbytes), "the buffer of a Medium changed when it was answered");
    memset(buf, 0xCC, nbytes);
  }
}
static void medium_h(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t n, gex_AM_Arg_t m) {
  bulk(token, buf, nbytes, who, seed, n, m, 0);
}
static void long_h(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t n, gex_AM_Arg_t m) {
  bulk(token, buf, nbytes, who, seed, n, m, 1);
}
static void check_h(gex_Token_t token, gex_AM_Arg_t who, gex_AM_Arg_t sum) {
  const gex_Rank_t from = source_of(token, 1);
  const unsigned found = digest(slot_of(me, from, ACTOR(who), LANE(who)));
  SURE(found == (unsigned)sum, "slot of rank %u, actor %d, lane %d: digest %x, not %x", from, ACTOR(who), LANE(who), found, (unsigned)sum);
  verified(1, SLOT);
  (void)gex_AM_ReplyShort(token, H_DONE, 0, who, sum, 0);
}
/* An answer came: the lane learns it last. */
static void heard(gex_Token_t token, const void *buf, size_t nbytes, int who, int seed, int m, int category) {
  lane_t *lane = &actors[ACTOR(who)].lane[LANE(who)];
  const gex_Rank_t from = source_of(token, 0);
  SURE(lane->busy && lane->rank == from && lane->seed == (unsigned)seed && lane->reply_category == category &&
           lane->reply_bytes == (size_t)m && LOAD(&lane->answered) < lane->waits,
       "an answer of rank %u that nobody waits for, category %d", from, category);
  if (category != SHORT) {
    SURE(nbytes == (size_t)m, "%lu bytes, not %d", (unsigned long)nbytes, m);
    SURE(same(buf, slice((unsigned)seed + 1), nbytes), "an answer of rank %u, category %d, byte %lu of %d", from, category,
         (unsigned long)differs((const unsigned char *)buf, slice((unsigned)seed + 1), nbytes), m);
  }
  if (category == LONG) SURE(buf == reply_slot(me, ACTOR(who), LANE(who)), "an answer at another place");
  verified(1, 12);
  COUNT(&lane->answered, 1);
}
static void done_h(gex_Token_t token, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t m) { heard(token, NULL, 0, who, seed, m, SHORT); }
static void done_medium_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t m) {
  heard(token, buf, n, who, seed, m, MEDIUM);
}
static void done_long_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t who, gex_AM_Arg_t seed, gex_AM_Arg_t m) {
  heard(token, buf, n, who, seed, m, LONG);
}
static void oneway_h(gex_Token_t token, gex_AM_Arg_t value) {
  (void)token;
  gex_HSL_Lock(&oneway_lock);
  oneway_got++, oneway_total += (unsigned)value;
  gex_HSL_Unlock(&oneway_lock);
}
/* A put that names this handler has arrived. */
static void armed_h(gex_Token_t token, void *buf, size_t nbytes) {
  const unsigned char *note = (const unsigned char *)buf;
  const gex_Rank_t from = source_of(token, 0);
  size_t i;
  SURE(nbytes >= 1 && (nbytes < 2 || note[1] == (unsigned char)from), "a note of %lu bytes", (unsigned long)nbytes);
  for (i = 2; i < nbytes; i++) SURE(note[i] == (unsigned char)(note[0] + i), "byte %lu of a note", (unsigned long)i);
  verified(1, nbytes);
  gex_HSL_Lock(&oneway_lock);
  armed_ran++, armed_total += note[0];
  gex_HSL_Unlock(&oneway_lock);
}
static gex_AM_Entry_t table[] = {
    ROW(H_SHORT, short_h, SHORT, REQUEST, 4, NULL),   ROW(H_MEDIUM, medium_h, MEDIUM, REQUEST, 4, NULL),
    ROW(H_LONG, long_h, LONG, REQUEST, 4, NULL),      ROW(H_CHECK, check_h, SHORT, REQUEST, 2, NULL),
    ROW(H_DONE, done_h, SHORT, REPLY, 3, NULL),       ROW(H_DONE_MEDIUM, done_medium_h, MEDIUM, REPLY, 3, NULL),
    ROW(H_DONE_LONG, done_long_h, LONG, REPLY, 3, NULL), ROW(H_ONEWAY, oneway_h, SHORT, REQUEST, 1, NULL),
    ROW(H_ARMED, armed_h, MEDIUM, REPLY, 0, NULL)};

/* ---- requests ---- */
static size_t some_bytes(actor_t *a, size_t most) {
  return 1 + below(a, (unsigned)(below(a, 3) ? (most < 300 ? most : 300) : most));
}

/* Negotiated: prepared, perhaps refused or cancelled, prepared anew, committed. */
static void negotiated(actor_t *a, lane_t *lane, gex_TM_t by, gex_Rank_t rank, int is_long, size_t n, void *to, gex_Event_t *lc, int who,
                       int m) {
  const int seed = (int)lane->seed, size = (int)n;
  const void *client_buf = lane->buf;
  gex_AM_SrcDesc_t sd;
  if (lc == NULL) client_buf = NULL;
  for (;;) {
    const size_t least = below(a, 2) ? n : 1 + below(a, (unsigned)n), most = below(a, 3) ? 2 * n : n;
    gex_Flags_t flags = perhaps(a);
    void *hint = below(a, 2) ? to : NULL;
    while ((sd = is_long ? gex_AM_PrepareRequestLong(by, rank, client_buf, least, most, hint, lc, flags, 4)
                         : gex_AM_PrepareRequestMedium(by, rank, client_buf, least, most, lc, flags, 4)) == GEX_AM_SRCDESC_NO_OP) {
      refused(flags);
      flags = perhaps(a);
    }
    SURE(gex_AM_SrcDescSize(sd) >= n && gex_AM_SrcDescSize(sd) <= most, "size %lu for %lu", (unsigned long)gex_AM_SrcDescSize(sd),
         (unsigned long)n);
    if (client_buf) SURE(gex_AM_SrcDescAddr(sd) == client_buf, "another buffer");
    else memcpy(gex_AM_SrcDescAddr(sd), slice(lane->seed), n);
    while (below(a, 8)) {
      flags = perhaps(a);
      if (flags == 0 && below(a, 2)) {
        if (is_long) gex_AM_CommitRequestLong4(sd, H_LONG, n, to, who, seed, size, m);
        else gex_AM_CommitRequestMedium4(sd, H_MEDIUM, n, who, seed, size, m);
        return;
      }
      if ((is_long ? gex_AM_CommitRequestLong4_v2(sd, H_LONG, n, to, flags, who, seed, size, m)
                   : gex_AM_CommitRequestMedium_v2(sd, H_MEDIUM, n, flags, who, seed, size, m)) == 0)
        return;
      SURE(flags != 0, "a commit was refused");
    }
    SURE((is_long ? gex_AM_CancelRequestLong(sd, 0) : gex_AM_CancelRequestMedium(sd, 0)) == 0, "a cancel");
    gasnet_AMPoll();
  }
}
static void request(actor_t *a, lane_t *lane) {
  const int category = (int)below(a, 3), way = (int)below(a, 7);
  const size_t n = category == SHORT ? 0 : some_bytes(a, category == MEDIUM && most_medium < SLOT - 32 ? most_medium : SLOT - 32);
  const int who = a->number | lane->number << 4 | (int)below(a, 3) << 12, seed = (int)lane->seed;
  unsigned char *offset = lane->model + lane->rank * SLOT + seed % 32;
  void *to = slot_of(lane->rank, me, a->number, lane->number) + seed % 32;
  gex_Event_t event = GEX_EVENT_INVALID, *lc = GEX_EVENT_NOW;
  gex_Rank_t rank;
  gex_TM_t by = via(a, lane->rank, &rank);
  gex_Flags_t flags = perhaps(a);
  int m;
  lane->what = category == SHORT ? "a Short" : category == MEDIUM ? "a Medium" : "a Long";
  lane->reply_category = ANSWER(who);
  lane->reply_bytes = ANSWER(who) == SHORT ? 0 : some_bytes(a, ANSWER(who) == MEDIUM && most_medium < SLOT ? most_medium : SLOT);
  m = (int)lane->reply_bytes;
  lane->waits = 1;
  if (category == SHORT) {
    while (gex_AM_RequestShort4(by, rank, H_SHORT, flags, who, seed, who ^ seed ^ m, m)) refused(flags), flags = perhaps(a);
    return;
  }
  memcpy(lane->buf, slice(lane->seed), n);
  if (category == LONG) memcpy(offset, lane->buf, n);
  if (way % 3 == 1) lc = GEX_EVENT_GROUP;
  if (way % 3 == 2) lc = &event;
  if (way < 3) {
    while (category == LONG ? gex_AM_RequestLong4(by, rank, H_LONG, lane->buf, n, to, lc, flags, who, seed, (int)n, m)
                            : gex_AM_RequestMedium(by, rank, H_MEDIUM, lane->buf, n, lc, flags, who, seed, (int)n, m))
      refused(flags), flags = perhaps(a);
  } else {
    if (way == 6 && n <= (category == LONG ? most_long_alloc : most_medium_alloc)) lc = NULL;
    negotiated(a, lane, by, rank, category == LONG, n, to, lc, who, m);
  }
  if (lc == GEX_EVENT_NOW) memset(lane->buf, 0xDD, n);
  if (lc == GEX_EVENT_GROUP) {
    if (below(a, 2)) gex_NBI_Wait(GEX_EC_AM, 0), memset(lane->buf, 0xDD, n);
    else lane->nbi |= GEX_EC_AM;
  }
  if (lc == &event) {
    if (below(a, 2)) gex_Event_Wait(event), memset(lane->buf, 0xDD, n);
    else add_event(lane, event, GEX_EVENT_INVALID);
  }
}
static void check_slot(actor_t *a, lane_t *lane) {
  const unsigned sum = digest(lane->model + lane->rank * SLOT);
  gex_Flags_t flags = perhaps(a);
  gex_Rank_t rank;
  gex_TM_t by = via(a, lane->rank, &rank);
  lane->what = "a digest", lane->seed = sum, lane->waits = 1, lane->reply_category = SHORT, lane->reply_bytes = 0;
  while (gex_AM_RequestShort2(by, rank, H_CHECK, flags, a->number | lane->number << 4, (int)sum)) refused(flags), flags = perhaps(a);
}
/* A few requests that nobody answers. */
static void oneway(actor_t *a) {
  unsigned n = 1 + below(a, 10);
  while (n-- > 0) {
    const unsigned value = below(a, 1u << 30);
    gex_Flags_t flags = perhaps(a);
    gex_Rank_t rank;
    gex_TM_t by = via(a, below(a, nodes), &rank);
    while (gex_AM_RequestShort1(by, rank, H_ONEWAY, flags, (int)value)) refused(flags), flags = perhaps(a);
    a->oneway_sent++, a->oneway_sum += value;
  }
}
#endif
