/* Mediums and Longs of no bytes, with source and destination addresses that nobody could use, before the segment exists and
 * afterwards. Contract: ex-core.md sections 11, 12. Options: none. Positional: rounds (4). */
#include "testexam.h"

enum { MED_REQ = GEX_AM_INDEX_BASE, MED_REP, LONG_REQ, LONG_REP };
static void *wild[8];
#define WILD ((int)COUNT_OF(wild))
static volatile int replies;
static int expected;

static void med_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t i, gex_AM_Arg_t how) {
  gex_Event_t lc = GEX_EVENT_NO_OP;
  gex_AM_SrcDesc_t sd;
  (void)buf;
  CHECK(n == 0);
  switch (how) {
    case 0: CHECK(gex_AM_ReplyMedium1(token, MED_REP, wild[i], 0, GEX_EVENT_NOW, 0, i) == 0); break;
    case 1:
      CHECK(gex_AM_ReplyMedium(token, MED_REP, wild[i], 0, &lc, 0, i) == 0);
      CHECK(lc != GEX_EVENT_NO_OP);
      break;
    case 2:
      sd = gex_AM_PrepareReplyMedium(token, NULL, 0, 0, NULL, 0, 1);
      CHECK(sd != GEX_AM_SRCDESC_NO_OP && gex_AM_SrcDescSize(sd) == 0);
      gex_AM_CommitReplyMedium1(sd, MED_REP, 0, i);
      break;
    default: /* the buffer is read only as far as the commit says */
      sd = gex_AM_PrepareReplyMedium(token, &sd, 0, 4096, GEX_EVENT_NOW, 0, 1);
      CHECK(gex_AM_SrcDescAddr(sd) == (void *)&sd);
      gex_AM_CommitReplyMedium(sd, MED_REP, 0, i);
  }
}
static void med_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t i) {
  (void)token, (void)buf;
  CHECK(n == 0 && i >= 0 && i < WILD);
  replies++;
}
static void long_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t i, gex_AM_Arg_t how) {
  const int back = (i + 1) % WILD;
  gex_Event_t lc = GEX_EVENT_NO_OP;
  gex_AM_SrcDesc_t sd;
  CHECK(n == 0);
  CHECK(buf == wild[i]);
  switch (how) {
    case 0: CHECK(gex_AM_ReplyLong1(token, LONG_REP, wild[i], 0, wild[back], GEX_EVENT_NOW, 0, back) == 0); break;
    case 1: CHECK(gex_AM_ReplyLong(token, LONG_REP, wild[i], 0, wild[back], &lc, 0, back) == 0); break;
    case 2:
      sd = gex_AM_PrepareReplyLong(token, NULL, 0, 0, wild[back], NULL, 0, 1);
      CHECK(sd != GEX_AM_SRCDESC_NO_OP);
      gex_AM_CommitReplyLong1(sd, LONG_REP, 0, wild[back], back);
      break;
    default:
      sd = gex_AM_PrepareReplyLong(token, wild[0] == wild[i] ? &sd : wild[i], 0, 1, NULL, GEX_EVENT_NOW, 0, 1);
      gex_AM_CommitReplyLong(sd, LONG_REP, 0, wild[back], back);
  }
}
static void long_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t i) {
  (void)token;
  CHECK(n == 0);
  CHECK(buf == wild[i]);
  replies++;
}
static gex_AM_Entry_t table[] = {ROW(MED_REQ, med_req, MEDIUM, REQUEST, 2, NULL), ROW(MED_REP, med_rep, MEDIUM, REPLY, 1, NULL),
                                 ROW(LONG_REQ, long_req, LONG, REQUEST, 2, NULL), ROW(LONG_REP, long_rep, LONG, REPLY, 1, NULL)};

static void both(gex_TM_t to, gex_Rank_t peer, int i, int how) {
  gex_Event_t lc = GEX_EVENT_NO_OP;
  gex_AM_SrcDesc_t sd;
  void *w = wild[i], *v = wild[(i + 3) % WILD]; /* source and destination */
  /* fixed payload */
  CHECK(gex_AM_RequestMedium2(to, peer, MED_REQ, v, 0, GEX_EVENT_NOW, 0, i, how) == 0);
  CHECK(gex_AM_RequestLong2(to, peer, LONG_REQ, v, 0, w, GEX_EVENT_NOW, 0, i, how) == 0);
  CHECK(gex_AM_RequestMedium(to, peer, MED_REQ, v, 0, GEX_EVENT_GROUP, 0, i, how) == 0);
  CHECK(gex_AM_RequestLong(to, peer, LONG_REQ, v, 0, w, GEX_EVENT_GROUP, 0, i, how) == 0);
  gex_NBI_Wait(GEX_EC_AM, 0);
  CHECK(gex_AM_RequestMedium2(to, peer, MED_REQ, v, 0, &lc, 0, i, how) == 0);
  CHECK(lc != GEX_EVENT_NO_OP);
  gex_Event_Wait(lc);
  lc = GEX_EVENT_NO_OP;
  CHECK(gex_AM_RequestLong2(to, peer, LONG_REQ, v, 0, w, &lc, 0, i, how) == 0);
  CHECK(lc != GEX_EVENT_NO_OP);
  gex_Event_Wait(lc);
  UNTIL(gex_AM_RequestMedium2(to, peer, MED_REQ, v, 0, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, i, how));
  UNTIL(gex_AM_RequestLong2(to, peer, LONG_REQ, v, 0, w, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, i, how));
  /* negotiated payload: library's buffer */
  sd = gex_AM_PrepareRequestMedium(to, peer, NULL, 0, 0, NULL, 0, 2);
  CHECK(sd != GEX_AM_SRCDESC_NO_OP && gex_AM_SrcDescSize(sd) == 0);
  gex_AM_CommitRequestMedium2(sd, MED_REQ, 0, i, how);
  sd = gex_AM_PrepareRequestMedium(to, peer, NULL, 0, gex_AM_LUBRequestMedium(), NULL, 0, 2);
  gex_AM_CommitRequestMedium2(sd, MED_REQ, 0, i, how);
  sd = gex_AM_PrepareRequestLong(to, peer, NULL, 0, 64, w, NULL, 0, 2);
  gex_AM_CommitRequestLong2(sd, LONG_REQ, 0, w, i, how);
  sd = gex_AM_PrepareRequestLong(to, peer, NULL, 0, 0, NULL, NULL, 0, 2);
  gex_AM_CommitRequestLong2(sd, LONG_REQ, 0, w, i, how);
  /* the client's */
  if (v != NULL) {
    sd = gex_AM_PrepareRequestMedium(to, peer, v, 0, 8, GEX_EVENT_NOW, 0, 2);
    CHECK(gex_AM_SrcDescAddr(sd) == v);
    gex_AM_CommitRequestMedium2(sd, MED_REQ, 0, i, how);
    sd = gex_AM_PrepareRequestLong(to, peer, v, 0, 8, w, GEX_EVENT_GROUP, 0, 2);
    CHECK(gex_AM_SrcDescAddr(sd) == v);
    /* No poll until the commit. */
    if (gex_AM_CommitRequestLong2_v2(sd, LONG_REQ, 0, w, GEX_FLAG_IMMEDIATE, i, how))
      gex_AM_CommitRequestLong2(sd, LONG_REQ, 0, w, i, how);
    gex_NBI_Wait(GEX_EC_AM, 0);
    expected += 2;
  }
  expected += 12;
  GASNET_BLOCKUNTIL(replies == expected);
}
static void all(int rounds) {
  int round, i;
  gex_Rank_t peer;
  for (round = 0; round < rounds; round++)
    for (peer = 0; peer < nodes; peer++)
      for (i = 0; i < WILD; i++) {
        both(tm, peer, i, round % 4);
        both(gex_TM_Pair(ep, 0), peer, i, (round + 1) % 4);
      }
}

int main(int argc, char **argv) {
  int rounds;
  wild[0] = NULL;
  wild[1] = (void *)(uintptr_t)1;
  wild[2] = (void *)~(uintptr_t)0;
  wild[3] = (void *)(uintptr_t)0x123456789abcdefu;
  wild[4] = (void *)(uintptr_t)0xffff800000000000u;
  wild[5] = (void *)(uintptr_t)4095;
  wild[6] = (void *)((uintptr_t)1 << 63);
  wild[7] = (void *)(~(uintptr_t)0 - 62);
  begin("testcore3", &argc, &argv);
  rounds = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 4;
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  BARRIER();
  all(rounds);
  BARRIER();
  make_areas(GASNET_PAGESIZE);
  all(rounds);
  return end();
}
