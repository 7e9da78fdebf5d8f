/* A client of GASNet-1 that also uses GASNet-EX: types are the same, objects can be asked for, handles are events, and handlers of
 * either registration take messages of both. Contract: ex-core.md sections 3, 5.2, 18. Options: none. Positional: bytes (4096). */
#include <gasnet.h>

#include "testexam.h"

enum { G1_REQ = 130, G1_REP, EX_REQ = 200, EX_REP };
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

int main(int argc, char **argv) {
  gasnet_handlerentry_t old[2];
  gex_AM_Entry_t rows[] = {ROW(EX_REQ, ex_req, SHORT, REQUEST, 1, NULL), ROW(EX_REP, ex_rep, SHORT, REPLY, 1, NULL)};
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
  MUST(gex_EP_RegisterHandlers(ep, rows, 2)); /* more handlers after attach */
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
  CHECK(g1_replies == ex_replies);
  free(src), free(back), free(seg);
  return end();
}
