/* Mediums and Longs of 1, 2, 4 ... most bytes, many in flight, by fixed and by negotiated payload, with random refusals,
 * cancels and shortened payloads; in GASNET_PAR by two threads. Contract: ex-core.md sections 11, 12, 14.
 *
 *   testcore2 [iters [max_bytes [seed]]]      (2, 262144, 1)
 *
 * A request carries a pattern. Its handler checks it, answers with the same bytes in the same category, and checks that its
 * buffer, if it is a Medium, has not changed. Sources are overwritten as soon as they may be. */
#include "testexam.h"

#if GASNET_PAR
#include <pthread.h>
#define THREADS 2
#else
#define THREADS 1
#endif
#define DEPTH 16
enum { MED_REQ = 200, MED_REP, LONG_REQ, LONG_REP };
static gex_Rank_t peer, from;
static size_t max_bytes = 262144;
static int iters = 2;
static unsigned seed = 1;
static volatile int answered[THREADS][DEPTH];
static size_t max_med[2], max_long[2]; /* fixed payload or client's buffer; library's buffer */
static gex_HSL_t lock = GEX_HSL_INITIALIZER; /* reports of several threads */
#define SURE(cond)                                                                                                   \
  do {                                                                                                               \
    if (!(cond)) gex_HSL_Lock(&lock), errors++, say("ERROR: %s:%d: %s", __FILE__, __LINE__, #cond), gex_HSL_Unlock(&lock); \
  } while (0)

/* Where Longs of a thread go: its requests at the peer, and the replies to them here. */
static unsigned char *place(gex_Rank_t rank, int is_reply, int thread, int slot) {
  return area[rank] + max_bytes * (size_t)((is_reply * THREADS + thread) * DEPTH + slot);
}
/* lc_opt of a prepare without a buffer: NULL. Release builds ignore what it is, and write no event. */
static gex_Event_t *no_lc(unsigned *state, gex_Event_t *place) {
#ifndef GASNET_DEBUG
  switch (rnd(state, 4)) {
    case 0: return GEX_EVENT_NOW;
    case 1: return place;
  }
#endif
  (void)state, (void)place;
  return NULL;
}
static void reply_med(gex_Token_t token, void *buf, size_t n, int thread, int slot, int salt) {
  unsigned state = (unsigned)salt * 2654435761u + (unsigned)slot;
  unsigned char own[1024]; /* a small payload may come from the stack */
  gex_AM_SrcDesc_t sd;
  gex_Event_t lc = GEX_EVENT_NO_OP;
  size_t most = n * (1 + rnd(&state, 2));
  const void *from_buf = buf;
  if (n <= sizeof own && rnd(&state, 2)) memcpy(own, buf, n), from_buf = own;
  while (rnd(&state, 8) == 0) {
    sd = gex_AM_PrepareReplyMedium(token, NULL, 1, n, NULL, 0, 3);
    *(unsigned char *)gex_AM_SrcDescAddr(sd) = 0;
    SURE(gex_AM_CancelReplyMedium(sd, 0) == 0);
  }
  switch (rnd(&state, 5)) {
    case 0: SURE(gex_AM_ReplyMedium3(token, MED_REP, from_buf, n, GEX_EVENT_NOW, 0, thread, slot, salt) == 0); break;
    case 1: UNTIL(gex_AM_ReplyMedium3(token, MED_REP, from_buf, n, &lc, GEX_FLAG_IMMEDIATE, thread, slot, salt)); break;
    case 2:
      sd = gex_AM_PrepareReplyMedium(token, NULL, n, n, no_lc(&state, &lc), 0, 3);
      SURE(gex_AM_SrcDescSize(sd) == n && (uintptr_t)gex_AM_SrcDescAddr(sd) % 16 == 0);
      SURE(gex_AM_SrcDescAddr(sd) != buf);
      memcpy(gex_AM_SrcDescAddr(sd), from_buf, n);
      gex_AM_CommitReplyMedium3(sd, MED_REP, n, thread, slot, salt);
      SURE(lc == GEX_EVENT_NO_OP);
      break;
    case 3:
      do sd = gex_AM_PrepareReplyMedium(token, from_buf, n, most, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, 3);
      while (sd == GEX_AM_SRCDESC_NO_OP);
      SURE(gex_AM_SrcDescAddr(sd) == from_buf && gex_AM_SrcDescSize(sd) >= n && gex_AM_SrcDescSize(sd) <= most);
      while (gex_AM_CommitReplyMedium3_v2(sd, MED_REP, n, GEX_FLAG_IMMEDIATE, thread, slot, salt)) continue;
      break;
    default:
      sd = gex_AM_PrepareReplyMedium(token, from_buf, n / 2, most, &lc, 0, 3);
      SURE(gex_AM_SrcDescSize(sd) >= n);
      SURE(gex_AM_CommitReplyMedium_v2(sd, MED_REP, n, 0, thread, slot, salt) == 0);
  }
  if (from_buf == own) memset(own, 0, sizeof own);
}
static void reply_long(gex_Token_t token, void *buf, size_t n, int thread, int slot, int salt) {
  unsigned state = (unsigned)salt * 2654435761u + (unsigned)slot;
  unsigned char *to = place(from, 1, thread, slot);
  gex_AM_SrcDesc_t sd;
  gex_Event_t lc = GEX_EVENT_NO_OP;
  size_t most = n * (1 + rnd(&state, 2));
  while (rnd(&state, 8) == 0) {
    sd = gex_AM_PrepareReplyLong(token, buf, 1, n, to, GEX_EVENT_NOW, 0, 3);
    SURE(gex_AM_CancelReplyLong(sd, 0) == 0);
  }
  switch (rnd(&state, 4)) {
    case 0: SURE(gex_AM_ReplyLong3(token, LONG_REP, buf, n, to, GEX_EVENT_NOW, 0, thread, slot, salt) == 0); break;
    case 1: UNTIL(gex_AM_ReplyLong3(token, LONG_REP, buf, n, to, &lc, GEX_FLAG_IMMEDIATE, thread, slot, salt)); break;
    case 2:
      if (n <= max_long[1]) {
        sd = gex_AM_PrepareReplyLong(token, NULL, n, most, rnd(&state, 2) ? to : NULL, no_lc(&state, &lc), 0, 3);
        SURE(gex_AM_SrcDescSize(sd) >= n);
        memcpy(gex_AM_SrcDescAddr(sd), buf, n);
        gex_AM_CommitReplyLong3(sd, LONG_REP, n, to, thread, slot, salt);
        SURE(lc == GEX_EVENT_NO_OP);
        break;
      } /* fall through */
    default:
      sd = gex_AM_PrepareReplyLong(token, buf, n, most, to, &lc, 0, 3);
      SURE(gex_AM_SrcDescAddr(sd) == buf);
      while (gex_AM_CommitReplyLong_v2(sd, LONG_REP, n, to, GEX_FLAG_IMMEDIATE, thread, slot, salt)) continue;
  }
}
static void med_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t slot, gex_AM_Arg_t salt, gex_AM_Arg_t size) {
  SURE(n == (size_t)size && filled(buf, (unsigned)salt, n));
  SURE((uintptr_t)buf % 8 == 0);
  reply_med(token, buf, n, thread, slot, salt);
  SURE(filled(buf, (unsigned)salt, n));
  memset(buf, 0xcc, n);
}
static void med_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t slot, gex_AM_Arg_t salt) {
  (void)token;
  SURE(filled(buf, (unsigned)salt, n));
  SURE(!answered[thread][slot]);
  answered[thread][slot] = 1;
}
static void long_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t slot, gex_AM_Arg_t salt, gex_AM_Arg_t size) {
  SURE(n == (size_t)size && buf == place(me, 0, thread, slot) && filled(buf, (unsigned)salt, n));
  reply_long(token, buf, n, thread, slot, salt); /* the next request may be here now */
}
static void long_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t slot, gex_AM_Arg_t salt) {
  (void)token;
  SURE(buf == place(me, 1, thread, slot) && filled(buf, (unsigned)salt, n));
  SURE(!answered[thread][slot]);
  answered[thread][slot] = 1;
}
static gex_AM_Entry_t table[] = {ROW(MED_REQ, med_req, MEDIUM, REQUEST, 4, NULL), ROW(MED_REP, med_rep, MEDIUM, REPLY, 3, NULL),
                                 ROW(LONG_REQ, long_req, LONG, REQUEST, 4, NULL), ROW(LONG_REP, long_rep, LONG, REPLY, 3, NULL)};

static gex_Flags_t perhaps(unsigned *state) { return rnd(state, 2) ? GEX_FLAG_IMMEDIATE : 0; }

/* One request of n bytes in a random way. The source is free when it returns, except that `event` may be live. */
static void request(int is_long, size_t n, int thread, int slot, unsigned char *src, int salt, gex_Event_t *event, unsigned *state) {
  void *to = place(peer, 0, thread, slot);
  gex_AM_SrcDesc_t sd = GEX_AM_SRCDESC_NO_OP;
  gex_Event_t *lc = GEX_EVENT_NOW;
  const void *client_buf = src;
  size_t least, most;
  int way = (int)rnd(state, 6), size = (int)n, done = 0;
  fill(src, (unsigned)salt, n);
  *event = GEX_EVENT_INVALID;
  if (way % 3 == 1) lc = GEX_EVENT_GROUP;
  if (way % 3 == 2) lc = event;
  if (way < 3) { /* fixed payload */
    gex_Flags_t flags = perhaps(state);
    for (;;) {
      int refused = is_long ? gex_AM_RequestLong4(tm, peer, LONG_REQ, src, n, to, lc, flags, thread, slot, salt, size)
                            : gex_AM_RequestMedium4(tm, peer, MED_REQ, src, n, lc, flags, thread, slot, salt, size);
      if (!refused) break;
      SURE(flags != 0);
      gasnet_AMPoll();
    }
    return;
  }
  if (rnd(state, 2) && n <= (is_long ? max_long[1] : max_med[1])) client_buf = NULL, lc = no_lc(state, event);
  while (!done) {
    least = rnd(state, 2) ? n : 1 + rnd(state, (unsigned)n);
    most = rnd(state, 3) ? 2 * n : n;
    for (;;) {
      gex_Flags_t flags = perhaps(state);
      sd = is_long ? gex_AM_PrepareRequestLong(tm, peer, client_buf, least, most, rnd(state, 2) ? to : NULL, lc, flags, 4)
                   : gex_AM_PrepareRequestMedium(tm, peer, client_buf, least, most, lc, flags, 4);
      if (sd != GEX_AM_SRCDESC_NO_OP) break;
      SURE(flags != 0);
      gasnet_AMPoll();
    }
    SURE(gex_AM_SrcDescSize(sd) >= least && gex_AM_SrcDescSize(sd) <= most);
    SURE(gex_AM_SrcDescSize(sd) >= n); /* as much as possible */
    if (client_buf == NULL) {
      SURE((uintptr_t)gex_AM_SrcDescAddr(sd) % 16 == 0);
      fill(gex_AM_SrcDescAddr(sd), (unsigned)salt, n);
    } else SURE(gex_AM_SrcDescAddr(sd) == client_buf);
    for (;;) {
      gex_Flags_t flags = perhaps(state);
      int refused;
      if (rnd(state, 8) == 0) {
        SURE((is_long ? gex_AM_CancelRequestLong(sd, 0) : gex_AM_CancelRequestMedium(sd, 0)) == 0);
        break;
      }
      if (flags == 0 && rnd(state, 2)) {
        if (is_long) gex_AM_CommitRequestLong4(sd, LONG_REQ, n, to, thread, slot, salt, size);
        else gex_AM_CommitRequestMedium4(sd, MED_REQ, n, thread, slot, salt, size);
        done = 1;
        break;
      }
      refused = is_long ? gex_AM_CommitRequestLong4_v2(sd, LONG_REQ, n, to, flags, thread, slot, salt, size)
                        : gex_AM_CommitRequestMedium4_v2(sd, MED_REQ, n, flags, thread, slot, salt, size);
      if (!refused) {
        done = 1;
        break;
      }
      SURE(flags != 0);
      if (rnd(state, 4) == 0) { /* give up, let others work, begin again */
        SURE((is_long ? gex_AM_CancelRequestLong(sd, 0) : gex_AM_CancelRequestMedium(sd, 0)) == 0);
        gasnet_AMPoll();
        break;
      }
    }
  }
}
static void *work(void *argument) {
  const int thread = (int)(uintptr_t)argument;
  unsigned state = seed * 977u + me * 31u + (unsigned)thread;
  unsigned char *src[DEPTH];
  gex_Event_t events[DEPTH];
  size_t n;
  int iter, is_long, slot, round = 0;
  for (slot = 0; slot < DEPTH; slot++) src[slot] = (unsigned char *)malloc(max_bytes);
  for (iter = 0; iter < iters; iter++)
    for (is_long = 0; is_long < 2; is_long++) {
      const size_t limit = is_long ? max_long[0] : max_med[0];
      for (n = 1;; n = 2 * n < limit ? 2 * n : limit, round++) {
        for (slot = 0; slot < DEPTH; slot++) {
          answered[thread][slot] = 0;
          request(is_long, n, thread, slot, src[slot], (int)((me * 7 + (unsigned)round * 16 + (unsigned)slot) & 0xffff), &events[slot], &state);
          if (events[slot] == GEX_EVENT_INVALID) gex_NBI_Wait(GEX_EC_AM, 0), memset(src[slot], 0xdd, n);
        }
        for (slot = 0; slot < DEPTH; slot++) gex_Event_Wait(events[slot]), memset(src[slot], 0xdd, n);
        for (slot = 0; slot < DEPTH; slot++) GASNET_BLOCKUNTIL(answered[thread][slot]);
        if (n == limit) break;
      }
    }
  for (slot = 0; slot < DEPTH; slot++) free(src[slot]);
  return NULL;
}
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

int main(int argc, char **argv) {
  begin("testcore2", &argc, &argv);
  if (argc > 1 && atoi(argv[1]) > 0) iters = atoi(argv[1]);
  if (argc > 2 && atoi(argv[2]) > 0) max_bytes = (size_t)atoi(argv[2]);
  if (argc > 3) seed = (unsigned)atoi(argv[3]);
  peer = (me + 1) % nodes, from = (me + nodes - 1) % nodes;
  /* the limits before there is a segment */
  max_med[0] = smaller(gex_AM_MaxRequestMedium(tm, peer, NULL, 0, 4), gex_AM_MaxReplyMedium(tm, peer, NULL, 0, 3));
  max_med[1] = smaller(gex_AM_MaxRequestMedium(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 4),
                       gex_AM_MaxReplyMedium(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3));
  max_long[0] = smaller(gex_AM_MaxRequestLong(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 4),
                        gex_AM_MaxReplyLong(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 3));
  max_long[1] = smaller(gex_AM_MaxRequestLong(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 4),
                        gex_AM_MaxReplyLong(tm, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3));
  CHECK(max_med[0] >= 512 && max_med[1] >= 512 && max_long[0] >= 512 && max_long[1] >= 512);
  max_med[0] = smaller(max_med[0], max_bytes), max_long[0] = smaller(max_long[0], max_bytes);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas(max_bytes * 2 * THREADS * DEPTH);
#if GASNET_PAR
  {
    pthread_t threads[THREADS];
    int i;
    for (i = 1; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
    (void)work((void *)0);
    for (i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
#else
  (void)work((void *)0);
#endif
  return end();
}
