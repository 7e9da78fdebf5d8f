/* A client of GASNet-1 that also uses GASNet-EX: types are the same, objects can be asked for, handles are events, and handlers of
 * either registration take messages of both. A handler that gex_VIS_SetPeerCompletionHandler arms is that of the next put by any name.
 * Contract: ex-core.md sections 3, 5.2, 18; ex-rma.md sections 9, 10. Options: none. Positional: bytes (4096). */
#include <gasnet.h>
#include <gasnet_vis.h>

#include "testexam.h"

enum { G1_REQ = 130, G1_REP, EX_REQ = 200, EX_REP, EX_DONE };
static volatile int g1_replies, ex_replies;
static gex_Rank_t *pr;
static gasnet_node_t **pn = &pr;
static gex_Token_t *pt;
static gasnet_token_t **ptt = &pt;
static gex_Event_t *pe;
static gasnet_handle_t **ph = &pe;
static gex_HSL_t hsl = GASNET_HSL_INITIALIZER;
static gasnet_hsl_t *phsl = &hsl;
static gex_AM_Arg_t *pa;
static gasnet_handlerarg_t **paa = &pa;
static gex_RMA_Value_t *pv;
static gasnet_register_value_t **pvv = &pv;

static void g1_req(gasnet_token_t token, gasnet_handlerarg_t a) {
  gex_Token_Info_t info;
  gasnet_node_t source;
  (void)gasnet_AMGetMsgSource(token, &source);
  (void)gex_Token_Info(token, &info, GEX_TI_ALL);
  CHECK(info.gex_srcrank == source && info.gex_entry != NULL && info.gex_is_req == 1 && info.gex_is_long == 0);
  if (a % 2) gasnet_AMReplyShort1(token, EX_REP, a);
  else gex_AM_ReplyShort1(token, G1_REP, 0, a);
}
static void g1_rep(gasnet_token_t token, gasnet_handlerarg_t a) { (void)token, (void)a, g1_replies++; }
static void ex_req(gex_Token_t token, gex_AM_Arg_t a) {
  gex_Segment_t s = GEX_SEGMENT_INVALID;
  gasnet_QueryGexObjects(NULL, NULL, NULL, &s); /* legal in handlers */
  CHECK(s == segment);
  if (a % 2) gex_AM_ReplyShort1(token, G1_REP, 0, a);
  else gasnet_AMReplyShort1(token, EX_REP, a);
}
static void ex_rep(gex_Token_t token, gex_AM_Arg_t a) { (void)token, (void)a, ex_replies++; }

/* Peer completion. Each put brings its number to the target, and to the handler there, which finds it at the same place. */
#define PUTS 18
static volatile unsigned done[PUTS];
static unsigned char *own;
static size_t block; /* of each node, in the segment of every other */
static void ex_done(gex_Token_t token, void *buf, size_t n) {
  gex_Token_Info_t info;
  uint32_t sent[2];
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_IS_REQ);
  CHECK(n == sizeof sent && !info.gex_is_req);
  memcpy(sent, buf, sizeof sent);
  CHECK(sent[0] < PUTS);
  if (sent[0] >= PUTS) return;
  if (sent[1]) CHECK(memcmp(own + block * (size_t)info.gex_srcrank + 8 * sent[0], sent, sizeof sent) == 0); /* not an empty put */
  done[sent[0]]++;
}
#if !GASNET_SEGMENT_EVERYTHING
/* All forms of all shapes, first with bytes, then empty. */
static void completions(gasnet_node_t node, unsigned char *there) {
  static uint32_t sent[PUTS][2];
  const size_t far[1] = {8}, near[1] = {4};
  gasnet_handle_t handles[PUTS];
  unsigned k, n = 0;
  for (k = 0; k < PUTS; k++) {
    const size_t pieces = k < PUTS / 2 ? 2 : 0, rows[2] = {4, pieces};
    unsigned char *to = there + 8 * k, *from = (unsigned char *)sent[k];
    void *dst[2], *src[2];
    gasnet_memvec_t d[2], s[2];
    dst[0] = d[0].addr = to, dst[1] = d[1].addr = to + 4, src[0] = s[0].addr = from, src[1] = s[1].addr = from + 4;
    d[0].len = d[1].len = s[0].len = s[1].len = 4;
    sent[k][0] = k, sent[k][1] = (uint32_t)pieces;
    gex_VIS_SetPeerCompletionHandler(EX_DONE, sent[k], sizeof sent[k], 0);
    switch (k % 9) {
      case 0: gasnet_putv_bulk(node, pieces, d, pieces, s); break;
      case 1: handles[n++] = gasnet_putv_nb_bulk(node, pieces, d, pieces, s); break;
      case 2: gasnet_putv_nbi_bulk(node, pieces, d, pieces, s); break;
      case 3: gasnet_puti_bulk(node, pieces, dst, 4, pieces, src, 4); break;
      case 4: handles[n++] = gasnet_puti_nb_bulk(node, pieces, dst, 4, pieces, src, 4); break;
      case 5: gasnet_puti_nbi_bulk(node, pieces, dst, 4, pieces, src, 4); break;
      case 6: gasnet_puts_bulk(node, to, near, from, near, rows, 1); break;
      case 7: handles[n++] = gasnet_puts_nb_bulk(node, to, near, from, near, rows, 1); break;
      case 8: gasnet_puts_nbi_bulk(node, to, near, from, near, rows, 1); break;
    }
    gasnet_puts_bulk(node, there + 8 * PUTS, far, from, near, rows, 1); /* has none */
gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0);
  }
  gasnet_wait_syncnb_all(handles, n);
  gasnet_wait_syncnbi_puts();
}
#endif

int main(int argc, char **argv) {
  gasnet_handlerentry_t old[2];
  gex_AM_Entry_t rows[] = {ROW(EX_REQ, ex_req, SHORT, REQUEST, 1, NULL), ROW(EX_REP, ex_rep, SHORT, REPLY, 1, NULL),
                           ROW(EX_DONE, ex_done, MEDIUM, REPLY, 0, NULL)};
  gasnet_seginfo_t *seg;
  size_t n = argc > 1 && atoi(argv[1]) > 0 ? (size_t)atoi(argv[1]) : 4096;
  unsigned char *src, *back;
  gex_Rank_t i;
  old[0].index = G1_REQ, old[0].fnptr = (void (*)())g1_req, old[1].index = G1_REP, old[1].fnptr = (void (*)())g1_rep;
  MUST(gasnet_init(&argc, &argv));
  MUST(gasnet_attach(old, 2, (n * gasnet_nodes() + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE, 0));
  gasnet_QueryGexObjects(&client, &ep, &tm, &segment);
  gasnet_QueryGexObjects(NULL, NULL, NULL, NULL);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  CHECK(pn == &pr && ptt == &pt && ph == &pe && phsl == &hsl && paa == &pa && pvv == &pv);
  CHECK(strcmp(gex_Client_QueryName(client), "LEGACY") == 0 && (gex_Client_QueryFlags(client) & GEX_FLAG_USES_GASNET1));
  CHECK(gex_EP_QueryClient(ep) == client && gex_TM_QueryEP(tm) == ep && gex_EP_QuerySegment(ep) == segment);
  CHECK(gex_TM_QueryRank(tm) == me && gex_TM_QuerySize(tm) == nodes && gex_System_QueryJobRank() == me);
  CHECK(sizeof(gex_Memvec_t) == sizeof(gasnet_memvec_t));
  CHECK(gasnet_AMMaxArgs() == gex_AM_MaxArgs() && gasnet_AMMaxLongRequest() == gex_AM_LUBRequestLong() && gasnet_AMMaxLongReply() == gex_AM_LUBReplyLong());
  CHECK(gasnet_AMMaxMedium() == (gex_AM_LUBRequestMedium() < gex_AM_LUBReplyMedium() ? gex_AM_LUBRequestMedium() : gex_AM_LUBReplyMedium()));
  MUST(gex_EP_RegisterHandlers(ep, rows, 3)); /* more handlers after attach */
  gex_HSL_Lock(&hsl);
  gasnet_hsl_unlock(&hsl);
  CHECK(gex_HSL_Trylock(&hsl) == GASNET_OK);
  gasnet_hsl_unlock(&hsl); /* one lock, both names */
  BARRIER();
  src = (unsigned char *)malloc(n), back = (unsigned char *)malloc(n);
  seg = (gasnet_seginfo_t *)calloc(nodes, sizeof *seg);
  MUST(gasnet_getSegmentInfo(seg, (int)nodes));
#if GASNET_SEGMENT_EVERYTHING
  CHECK(segment == GEX_SEGMENT_INVALID);
#else
  CHECK(seg[me].addr == gex_Segment_QueryAddr(segment) && seg[me].size == gex_Segment_QuerySize(segment));
#endif
  for (i = 0; i < nodes; i++) {
    int a, before;
    for (a = 0; a < 2; a++) {
      before = g1_replies + ex_replies;
      MUST(gasnet_AMRequestShort1(i, G1_REQ, a));
      MUST(gasnet_AMRequestShort1(i, EX_REQ, a));
      CHECK(gex_AM_RequestShort1(tm, i, G1_REQ, 0, a) == 0 && gex_AM_RequestShort1(tm, i, EX_REQ, 0, a) == 0);
      GASNET_BLOCKUNTIL(g1_replies + ex_replies == before + 4);
    }
#if !GASNET_SEGMENT_EVERYTHING
    {
      unsigned char *there = (unsigned char *)seg[i].addr + n * me;
      gex_Event_t events[2];
      fill(src, i + 1, n);
      gex_Event_Wait(gasnet_put_nb_bulk(i, there, src, n)); /* a handle is an event */
      gasnet_wait_syncnb(gex_RMA_GetNB(tm, back, i, there, n, 0)); /* and the reverse */
      CHECK(filled(back, i + 1, n));
      fill(src, i + 2, n);
      events[0] = gasnet_put_nb(i, there, src, n), events[1] = GEX_EVENT_INVALID;
      gex_Event_WaitAll(events, 2, 0);
      gasnet_get_nbi(back, i, there, n);
      gex_NBI_Wait(GEX_EC_GET, 0); /* one implicit set */
      CHECK(filled(back, i + 2, n));
      fill(src, i + 3, n);
      (void)gex_RMA_PutNBI(tm, i, there, src, n, GEX_EVENT_DEFER, 0);
      gasnet_wait_syncnbi_puts();
      gasnet_get(back, i, there, n);
      CHECK(filled(back, i + 3, n));
    }
#endif
  }
#if !GASNET_SEGMENT_EVERYTHING
  if (n >= 256) {
    unsigned k, all = 0;
    BARRIER(); /* nobody reads what the puts of above have written */
    own = (unsigned char *)seg[me].addr, block = n;
    BARRIER();
    for (i = 0; i < nodes; i++) completions(i, (unsigned char *)seg[i].addr + n * me);
    BARRIER();
    for (k = 0; k < 5000 && all < nodes * PUTS; k++) {
      unsigned j;
      gasnet_AMPoll(), gasnett_nsleep(1000000);
      for (all = j = 0; j < PUTS; j++) all += done[j];
    }
    for (k = 0; k < PUTS; k++)
      if (done[k] != nodes) errors++, say("ERROR: put %u had %u handlers for %u nodes", k, done[k], (unsigned)nodes);
  }
#endif
  CHECK(g1_replies == ex_replies);
  free(src), free(back), free(seg);
  return end();
}
