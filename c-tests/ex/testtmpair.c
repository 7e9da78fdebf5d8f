/* Everything that a pair of endpoints may name: transfers, Active Messages, negotiated payload, limits, bound segments. Contract:
 * ex-core.md sections 7, 10. Options: none. Positional: bytes (4096), rounds (4). */
#include "testexam.h"

enum { SHORT_REQ = GEX_AM_INDEX_BASE, MED_REQ, LONG_REQ, REP };
static size_t nbytes = 4096;
static volatile int replies;
static int expected;

static void rep(gex_Token_t token, gex_AM_Arg_t a) { (void)token, (void)a, replies++; }
static void short_req(gex_Token_t token, gex_AM_Arg_t a) { gex_AM_ReplyShort1(token, REP, 0, a); }
static void payload_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  CHECK(n == (size_t)size && filled(buf, (unsigned)seed, n));
  gex_AM_ReplyShort1(token, REP, 0, seed);
}
static gex_AM_Entry_t table[] = {ROW(SHORT_REQ, short_req, SHORT, REQUEST, 1, NULL), ROW(MED_REQ, payload_req, MEDIUM, REQUEST, 2, NULL),
                                 ROW(LONG_REQ, payload_req, LONG, REQUEST, 2, NULL), ROW(REP, rep, SHORT, REPLY, 1, NULL)};
static void wait_for(int n) {
  expected += n;
  GASNET_BLOCKUNTIL(replies == expected);
}
static void limits(gex_TM_t pair) {
  const gex_Event_t *const lcs[] = {GEX_EVENT_NOW, GEX_EVENT_GROUP, NULL};
  static const gex_Flags_t flags[] = {0, GEX_FLAG_IMMEDIATE, GEX_FLAG_AM_PREPARE_LEAST_CLIENT, GEX_FLAG_AM_PREPARE_LEAST_ALLOC};
  size_t l, f, n;
  gex_Rank_t i;
  for (i = 0; i <= nodes; i++)
    for (l = 0; l < 3; l++)
      for (f = 0; f < 4; f++)
        for (n = 0; n <= 16; n += 8) {
          const gex_Rank_t r = i == nodes ? GEX_RANK_INVALID : i;
          CHECK(gex_AM_MaxRequestMedium(pair, r, lcs[l], flags[f], (unsigned)n) == gex_AM_MaxRequestMedium(tm, r, lcs[l], flags[f], (unsigned)n));
          CHECK(gex_AM_MaxReplyMedium(pair, r, lcs[l], flags[f], (unsigned)n) == gex_AM_MaxReplyMedium(tm, r, lcs[l], flags[f], (unsigned)n));
          CHECK(gex_AM_MaxRequestLong(pair, r, lcs[l], flags[f], (unsigned)n) == gex_AM_MaxRequestLong(tm, r, lcs[l], flags[f], (unsigned)n));
          CHECK(gex_AM_MaxReplyLong(pair, r, lcs[l], flags[f], (unsigned)n) == gex_AM_MaxReplyLong(tm, r, lcs[l], flags[f], (unsigned)n));
          if (f < 2) {
            CHECK(gex_AM_MaxRequestMedium(pair, r, lcs[l], flags[f], (unsigned)n) >= gex_AM_LUBRequestMedium());
            CHECK(gex_AM_MaxReplyMedium(pair, r, lcs[l], flags[f], (unsigned)n) >= gex_AM_LUBReplyMedium());
            CHECK(gex_AM_MaxRequestLong(pair, r, lcs[l], flags[f], (unsigned)n) >= gex_AM_LUBRequestLong());
            CHECK(gex_AM_MaxReplyLong(pair, r, lcs[l], flags[f], (unsigned)n) >= gex_AM_LUBReplyLong());
          }
        }
}
static void transfers(gex_TM_t pair, gex_Rank_t peer, unsigned char *src, unsigned char *back, unsigned seed) {
  unsigned char *there = area[peer] + 2 * nbytes * me;
  gex_Event_t event;
  int way;
  for (way = 0; way < 6; way++) {
    fill(src, seed + (unsigned)way, nbytes);
    event = GEX_EVENT_INVALID;
    switch (way) {
      case 0: CHECK(gex_RMA_PutBlocking(pair, peer, there, src, nbytes, 0) == 0); break;
      case 1: event = gex_RMA_PutNB(pair, peer, there, src, nbytes, GEX_EVENT_NOW, 0); break;
      case 2: event = gex_RMA_PutNB(pair, peer, there, src, nbytes, GEX_EVENT_DEFER, 0); break;
      case 3: (void)gex_RMA_PutNBI(pair, peer, there, src, nbytes, GEX_EVENT_NOW, 0); break;
      case 4: (void)gex_RMA_PutNBI(pair, peer, there, src, nbytes, GEX_EVENT_DEFER, 0); break;
      case 5:
        while ((event = gex_RMA_PutNB(pair, peer, there, src, nbytes, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE)) == GEX_EVENT_NO_OP)
          gasnet_AMPoll();
    }
    gex_Event_Wait(event);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    memset(back, 0, nbytes);
    switch (way % 3) {
      case 0: CHECK(gex_RMA_GetBlocking(pair, back, peer, there, nbytes, 0) == 0); break;
      case 1: gex_Event_Wait(gex_RMA_GetNB(pair, back, peer, there, nbytes, 0)); break;
      case 2: (void)gex_RMA_GetNBI(pair, back, peer, there, nbytes, 0), gex_NBI_Wait(GEX_EC_GET, 0); break;
    }
    CHECK(filled(back, seed + (unsigned)way, nbytes));
  }
  CHECK(gex_RMA_PutBlockingVal(pair, peer, there, 0x1122334455667788u + seed, 8, 0) == 0);
  CHECK(gex_RMA_GetBlockingVal(pair, peer, there, 8, 0) == 0x1122334455667788u + seed);
  gex_Event_Wait(gex_RMA_PutNBVal(pair, peer, there, 0xfedc, 2, 0));
  CHECK(gex_RMA_GetBlockingVal(tm, peer, there, 2, 0) == 0xfedc);
  (void)gex_RMA_PutNBIVal(pair, peer, there, 0x5a, 1, 0);
  gex_NBI_Wait(GEX_EC_PUT, 0);
  CHECK(gex_RMA_GetBlockingVal(pair, peer, there, 1, 0) == 0x5a);
}
static void messages(gex_TM_t pair, gex_Rank_t peer, unsigned char *src, unsigned seed) {
  unsigned char *there = area[peer] + 2 * nbytes * me + nbytes;
  gex_AM_SrcDesc_t sd;
  gex_Event_t lc;
  const int s = (int)seed, n = (int)nbytes;
  fill(src, seed, nbytes);
  gex_AM_RequestShort1(pair, peer, SHORT_REQ, 0, s);
  UNTIL(gex_AM_RequestShort(pair, peer, SHORT_REQ, GEX_FLAG_IMMEDIATE, s));
  gex_AM_RequestMedium2(pair, peer, MED_REQ, src, nbytes, GEX_EVENT_NOW, GEX_FLAG_SELF_SEG_BOUND | GEX_FLAG_PEER_SEG_BOUND, s, n);
  gex_AM_RequestMedium2(pair, peer, MED_REQ, src, nbytes, GEX_EVENT_GROUP, 0, s, n);
  gex_NBI_Wait(GEX_EC_AM, 0);
  sd = gex_AM_PrepareRequestMedium(pair, peer, NULL, nbytes, nbytes, NULL, 0, 2);
  memcpy(gex_AM_SrcDescAddr(sd), src, nbytes);
  gex_AM_CommitRequestMedium2(sd, MED_REQ, nbytes, s, n);
  sd = gex_AM_PrepareRequestMedium(pair, peer, src, nbytes, nbytes, &lc, 0, 2);
  gex_AM_CommitRequestMedium2(sd, MED_REQ, nbytes, s, n);
  gex_Event_Wait(lc);
  wait_for(6);
  gex_AM_RequestLong2(pair, peer, LONG_REQ, src, nbytes, there, GEX_EVENT_NOW, 0, s, n);
  wait_for(1);
  memset(src, 0, nbytes);
  sd = gex_AM_PrepareRequestLong(pair, peer, NULL, nbytes, nbytes, there, NULL, 0, 2);
  fill(gex_AM_SrcDescAddr(sd), seed + 1, nbytes);
  if (gex_AM_CommitRequestLong2_v2(sd, LONG_REQ, nbytes, there, GEX_FLAG_IMMEDIATE, s + 1, n))
    CHECK(gex_AM_CommitRequestLong2_v2(sd, LONG_REQ, nbytes, there, 0, s + 1, n) == 0);
  wait_for(1);
}

int main(int argc, char **argv) {
  gex_TM_t pair;
  gex_Rank_t peer;
  unsigned char *src, *back;
  int rounds, round;
  begin("testtmpair", &argc, &argv);
  if (argc > 1 && atoi(argv[1]) >= 8) nbytes = (size_t)atoi(argv[1]);
  if (nbytes > 32768) nbytes = 32768;
  rounds = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : 4;
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  pair = gex_TM_Pair(ep, 0);
  CHECK(pair == gex_TM_Pair(ep, 0) && pair != tm && pair != GEX_TM_INVALID);
  BARRIER();
  limits(pair);
  make_areas(2 * nbytes * nodes);
  limits(pair);
#if !GASNET_SEGMENT_EVERYTHING
  for (peer = 0; peer < nodes; peer++) {
    void *a[2] = {NULL, NULL}, *b[2] = {NULL, NULL};
    uintptr_t s[2] = {0, 0};
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, peer, &a[0], &b[0], &s[0], 0));
    CHECK(gex_EP_QueryBoundSegmentNB(pair, peer, &a[1], &b[1], &s[1], GEX_FLAG_IMMEDIATE) == GEX_EVENT_INVALID);
    CHECK(a[0] == a[1] && b[0] == b[1] && s[0] == s[1] && s[0] != 0);
    CHECK(gex_Segment_QueryBound(pair, peer, &a[1], NULL, NULL) == 0 && a[0] == a[1]);
  }
#endif
  src = (unsigned char *)malloc(nbytes), back = (unsigned char *)malloc(nbytes);
  for (round = 0; round < rounds; round++)
    for (peer = 0; peer < nodes; peer++) {
      transfers(pair, peer, src, back, (unsigned)(round * 8) + me);
      messages(pair, peer, src, (unsigned)round + me);
    }
  free(src), free(back);
  return end();
}
