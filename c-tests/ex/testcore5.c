/* Every number of arguments, in all categories and both directions, by numbered names, by names that count, and by
 * negotiated payload. Contract: ex-core.md sections 11, 12. Options: none. Positional: payload bytes (1024). */
#include "testarea.h"

/* testcore4 includes this file with another name and size. */
#ifndef TESTCORE_NAME
#define TESTCORE_NAME "testcore5"
#define MOST ((size_t)4096)
#define PAYLOAD 1024
#endif
static size_t nbytes = PAYLOAD, medium_bytes, buffer_bytes; /* of Longs, Mediums, Longs from the library's buffer */
static gex_Rank_t peer;
static volatile int replies, expected;
static unsigned char *source_bytes;

/* Argument i of message `base`. */
#define A(i) ((gex_AM_Arg_t)(0x01010101 * (i) + 7))
#define FILL(byte) memset(source_bytes, (byte), nbytes)

static void check_args(int n, const gex_AM_Arg_t *args) {
  int i;
  for (i = 0; i < n; i++) CHECK(args[i] == A(i + 1));
}
static void check_payload(void *buf, size_t len, int byte) {
  size_t i;
  unsigned char *at = (unsigned char *)buf;
  CHECK(len == nbytes || len == medium_bytes || len == buffer_bytes);
  for (i = 0; i < len; i++)
    if (at[i] != (unsigned char)byte) {
      CHECK(at[i] == (unsigned char)byte);
      return;
    }
  memset(buf, 0xee, len); /* a handler may write its buffer */
}

#define P0
#define P1 , gex_AM_Arg_t a1
#define P2 P1, gex_AM_Arg_t a2
#define P3 P2, gex_AM_Arg_t a3
#define P4 P3, gex_AM_Arg_t a4
#define P5 P4, gex_AM_Arg_t a5
#define P6 P5, gex_AM_Arg_t a6
#define P7 P6, gex_AM_Arg_t a7
#define P8 P7, gex_AM_Arg_t a8
#define P9 P8, gex_AM_Arg_t a9
#define P10 P9, gex_AM_Arg_t a10
#define P11 P10, gex_AM_Arg_t a11
#define P12 P11, gex_AM_Arg_t a12
#define P13 P12, gex_AM_Arg_t a13
#define P14 P13, gex_AM_Arg_t a14
#define P15 P14, gex_AM_Arg_t a15
#define P16 P15, gex_AM_Arg_t a16
#define L0 0
#define L1 a1
#define L2 L1, a2
#define L3 L2, a3
#define L4 L3, a4
#define L5 L4, a5
#define L6 L5, a6
#define L7 L6, a7
#define L8 L7, a8
#define L9 L8, a9
#define L10 L9, a10
#define L11 L10, a11
#define L12 L11, a12
#define L13 L12, a13
#define L14 L13, a14
#define L15 L14, a15
#define L16 L15, a16
#define V0
#define V1 , A(1)
#define V2 V1, A(2)
#define V3 V2, A(3)
#define V4 V3, A(4)
#define V5 V4, A(5)
#define V6 V5, A(6)
#define V7 V6, A(7)
#define V8 V7, A(8)
#define V9 V8, A(9)
#define V10 V9, A(10)
#define V11 V10, A(11)
#define V12 V11, A(12)
#define V13 V12, A(13)
#define V14 V13, A(14)
#define V15 V14, A(15)
#define V16 V15, A(16)

/* Handlers: index 128 + 6 * n + kind. Requests answer in kind: by the numbered name, or by negotiated payload. */
enum { SHORT_REQ, SHORT_REP, MED_REQ, MED_REP, LONG_REQ, LONG_REP, KINDS };
#define INDEX(n, kind) ((gex_AM_Index_t)(GEX_AM_INDEX_BASE + KINDS * (n) + (kind)))
static void *areas[64];

static void answered(void) { replies++; }

#define HANDLERS(n)                                                                                                  \
  static void short_req##n(gex_Token_t token P##n) {                                                                 \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    check_args(n, args);                                                                                             \
    gex_AM_ReplyShort##n(token, INDEX(n, SHORT_REP), 0 V##n);                                                        \
  }                                                                                                                  \
  static void short_rep##n(gex_Token_t token P##n) {                                                                 \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    (void)token;                                                                                                     \
    check_args(n, args);                                                                                             \
    answered();                                                                                                      \
  }                                                                                                                  \
  static void med_req##n(gex_Token_t token, void *buf, size_t len P##n) {                                            \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    check_args(n, args);                                                                                             \
    if (n % 2) {                                                                                                     \
      gex_AM_ReplyMedium##n(token, INDEX(n, MED_REP), buf, len, GEX_EVENT_NOW, 0 V##n);                              \
    } else {                                                                                                         \
      gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, len, len, NULL, 0, n);                            \
      CHECK(gex_AM_SrcDescSize(sd) == len);                                                                          \
      memcpy(gex_AM_SrcDescAddr(sd), buf, len);                                                                      \
      gex_AM_CommitReplyMedium##n(sd, INDEX(n, MED_REP), len V##n);                                                  \
    }                                                                                                                \
    check_payload(buf, len, n + 1);                                                                                  \
  }                                                                                                                  \
  static void med_rep##n(gex_Token_t token, void *buf, size_t len P##n) {                                            \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    (void)token;                                                                                                     \
    check_args(n, args);                                                                                             \
    check_payload(buf, len, n + 1);                                                                                  \
    answered();                                                                                                      \
  }                                                                                                                  \
  static void long_req##n(gex_Token_t token, void *buf, size_t len P##n) {                                           \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    gex_Token_Info_t info;                                                                                           \
    check_args(n, args);                                                                                             \
    (void)gex_Token_Info(token, &info, GEX_TI_ALL);                                                                  \
    CHECK(buf == areas[me]);                                                                                         \
    check_payload(buf, len, n + 1); /* before the reply, after which the requester may write there again */            \
    memset(buf, n + 1, len);                                                                                         \
    gex_AM_ReplyLong##n(token, INDEX(n, LONG_REP), buf, len, (char *)areas[info.gex_srcrank] + MOST, GEX_EVENT_NOW, 0 V##n); \
  }                                                                                                                  \
  static void long_rep##n(gex_Token_t token, void *buf, size_t len P##n) {                                           \
    const gex_AM_Arg_t args[] = {L##n};                                                                              \
    (void)token;                                                                                                     \
    check_args(n, args);                                                                                             \
    CHECK((char *)buf == (char *)areas[me] + MOST);                                                                  \
    check_payload(buf, len, n + 1);                                                                                  \
    answered();                                                                                                      \
  }
HANDLERS(0)
HANDLERS(1)
HANDLERS(2)
HANDLERS(3)
HANDLERS(4)
HANDLERS(5)
HANDLERS(6)
HANDLERS(7)
HANDLERS(8)
HANDLERS(9)
HANDLERS(10)
HANDLERS(11)
HANDLERS(12)
HANDLERS(13)
HANDLERS(14)
HANDLERS(15)
HANDLERS(16)

#define F(n, kind, category, direction, fn)                                                                          \
  { INDEX(n, kind), (gex_AM_Fn_t)fn##n, GEX_FLAG_AM_##category | GEX_FLAG_AM_##direction, n, NULL, #fn #n }
#define ROW(n)                                                                                                       \
  F(n, SHORT_REQ, SHORT, REQUEST, short_req), F(n, SHORT_REP, SHORT, REPLY, short_rep), F(n, MED_REQ, MEDIUM, REQUEST, med_req), \
      F(n, MED_REP, MEDIUM, REPLY, med_rep), F(n, LONG_REQ, LONG, REQUEST, long_req), F(n, LONG_REP, LONG, REPLY, long_rep)
static gex_AM_Entry_t table[] = {ROW(0),  ROW(1),  ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7), ROW(8),
                                 ROW(9),  ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15), ROW(16)};

static void wait_for(int count) {
  expected += count;
  GASNET_BLOCKUNTIL(replies == expected);
}
/* Sends a request until it is taken. */
#define UNTIL(call)                                                                                                  \
  while ((call) != 0) gasnet_AMPoll()

#define CALL(fn, args) (fn args) /* a name as an argument of a macro, its arguments in parentheses */
#define SEND(n)                                                                                                      \
  do {                                                                                                               \
    gex_Event_t lc = GEX_EVENT_NO_OP;                                                                                \
    gex_AM_SrcDesc_t sd;                                                                                             \
    gex_Rank_t r = peer;                                                                                             \
    CHECK(gex_AM_RequestShort##n(tm, r++, INDEX(n, SHORT_REQ), 0 V##n) == 0);                                        \
    CHECK(r == peer + 1);                                                                                            \
    CHECK(CALL(gex_AM_RequestShort, (tm, peer, INDEX(n, SHORT_REQ), 0 V##n)) == 0);                                  \
    UNTIL(gex_AM_RequestShort##n(gex_TM_Pair(ep, 0), peer, INDEX(n, SHORT_REQ), GEX_FLAG_IMMEDIATE V##n));           \
    wait_for(3);                                                                                                     \
    FILL(n + 1);                                                                                                     \
    CHECK(gex_AM_RequestMedium##n(tm, peer, INDEX(n, MED_REQ), source_bytes, medium_bytes, GEX_EVENT_NOW, 0 V##n) == 0);   \
    CHECK(gex_AM_RequestMedium(tm, peer, INDEX(n, MED_REQ), source_bytes, medium_bytes, &lc, 0 V##n) == 0);                \
    gex_Event_Wait(lc);                                                                                              \
    UNTIL(gex_AM_RequestMedium##n(tm, peer, INDEX(n, MED_REQ), source_bytes, medium_bytes, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE V##n)); \
    gex_NBI_Wait(GEX_EC_AM, 0);                                                                                      \
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, medium_bytes / 2, 2 * medium_bytes, NULL, 0, n);                \
    CHECK(gex_AM_SrcDescSize(sd) >= medium_bytes);                                                                   \
    memset(gex_AM_SrcDescAddr(sd), n + 1, medium_bytes);                                                             \
    gex_AM_CommitRequestMedium##n(sd, INDEX(n, MED_REQ), medium_bytes V##n);                                         \
    sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, 1, medium_bytes, NULL, 0, n);                                   \
    CHECK(gex_AM_CancelRequestMedium(sd, 0) == 0);                                                                   \
    lc = GEX_EVENT_NO_OP;                                                                                            \
    sd = gex_AM_PrepareRequestMedium(tm, peer, source_bytes, 1, 2 * medium_bytes, &lc, 0, n);                        \
    CHECK(gex_AM_SrcDescAddr(sd) == source_bytes);                                                                   \
    if (gex_AM_CommitRequestMedium_v2(sd, INDEX(n, MED_REQ), medium_bytes, GEX_FLAG_IMMEDIATE V##n)) /* no poll before it */ \
      CHECK(gex_AM_CommitRequestMedium_v2(sd, INDEX(n, MED_REQ), medium_bytes, 0 V##n) == 0);                        \
    gex_Event_Wait(lc);                                                                                              \
    wait_for(5);                                                                                                     \
    CHECK(gex_AM_RequestLong##n(tm, peer, INDEX(n, LONG_REQ), source_bytes, nbytes, areas[peer], GEX_EVENT_NOW, 0 V##n) == 0); \
    wait_for(1);                                                                                                     \
    CHECK(gex_AM_RequestLong(tm, peer, INDEX(n, LONG_REQ), source_bytes, nbytes, areas[peer], &lc, 0 V##n) == 0);    \
    gex_Event_Wait(lc);                                                                                              \
    wait_for(1);                                                                                                     \
    sd = gex_AM_PrepareRequestLong(tm, peer, NULL, buffer_bytes, buffer_bytes, areas[peer], NULL, 0, n);             \
    memset(gex_AM_SrcDescAddr(sd), n + 1, buffer_bytes);                                                             \
    gex_AM_CommitRequestLong##n(sd, INDEX(n, LONG_REQ), buffer_bytes, areas[peer] V##n);                             \
    wait_for(1);                                                                                                     \
    UNTIL(gex_AM_RequestLong##n(tm, peer, INDEX(n, LONG_REQ), source_bytes, nbytes, areas[peer], &lc, GEX_FLAG_IMMEDIATE V##n)); \
    wait_for(1);                                                                                                     \
  } while (0)

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

int main(int argc, char **argv) {
  gex_Event_t lc;
  gex_Rank_t turn;
  begin(TESTCORE_NAME, &argc, &argv);
  if (argc > 1 && atoi(argv[1]) > 0) nbytes = (size_t)atoi(argv[1]);
  if (nbytes > MOST) nbytes = MOST;
  MUST(gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof table[0]));
  share(2 * MOST);
  /* with 16 arguments, the most */
  nbytes = least(nbytes, least(gex_AM_MaxRequestLong(tm, GEX_RANK_INVALID, &lc, 0, 16), gex_AM_MaxReplyLong(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 16)));
  buffer_bytes = least(nbytes, gex_AM_MaxRequestLong(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 16));
  medium_bytes = least(nbytes, least(gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 16),
                                     gex_AM_MaxReplyMedium(tm, GEX_RANK_INVALID, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 16)));
  for (turn = 0; turn < nodes; turn++) areas[turn] = shared(turn);
  source_bytes = (unsigned char *)malloc(2 * MOST);
  peer = me ^ 1;
  if (peer == nodes) peer = me;
  BARRIER();
  /* Pairs take turns, because both sides of one share the area that Longs go to. */
  for (turn = 0; turn < 2; turn++) {
    if (me % 2 == turn) {
      SEND(0);
      SEND(1);
      SEND(2);
      SEND(3);
      SEND(4);
      SEND(5);
      SEND(6);
      SEND(7);
      SEND(8);
      SEND(9);
      SEND(10);
      SEND(11);
      SEND(12);
      SEND(13);
      SEND(14);
      SEND(15);
      SEND(16);
    }
    BARRIER();
  }
  free(source_bytes);
  return end();
}
