/* Each process does known calls with the next one and no others: their rows in the traffic matrix of a run are known exactly
 * (ci/matrix). Numbers of operations and of bytes are different for each kind.
 * Option "held": in the flood each odd process waits until the process before it has been refused, so that refusals are certain. It
 * needs processes of one host and an even number of them. */
#include "testexam.h"
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <sched.h>
#include <string.h>

enum { SHORT_REQ = GEX_AM_INDEX_BASE, SHORT_REP, MED_REQ, MED_REP, LONG_REQ, LONG_REP, FLOOD_REQ };
/* Operations of each kind in each direction of a pair. */
enum { GETS = 3, GET_VALUES = 2, PUTS = 4, PUT_VALUES = 5, VIS_PUTS = 2, VIS_GETS = 3, ATOMICS = 6, SHORTS = 7, MEDIUMS = 2, LONGS = 3, FLOOD = 4000 };
static volatile int replies, arrived;
static unsigned char answer[256];

static void short_req(gex_Token_t token) { gex_AM_ReplyShort0(token, SHORT_REP, 0); }
static void short_rep(gex_Token_t token) { (void)token, replies++; }
static void med_req(gex_Token_t token, void *buf, size_t n) {
  CHECK(filled(buf, 5, n));
  gex_AM_ReplyMedium0(token, MED_REP, answer, 20, GEX_EVENT_NOW, 0);
}
static void med_rep(gex_Token_t token, void *buf, size_t n) {
  (void)token;
  CHECK(n == 20 && filled(buf, 9, n));
  replies++;
}
static void long_req(gex_Token_t token, void *buf, size_t n) {
  gex_Token_Info_t info;
  CHECK(filled(buf, 6, n));
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  gex_AM_ReplyLong0(token, LONG_REP, answer, 72, area[info.gex_srcrank] + 3072, GEX_EVENT_NOW, 0);
}
static void long_rep(gex_Token_t token, void *buf, size_t n) {
  (void)token;
  CHECK(n == 72 && filled(buf, 9, n));
  replies++;
}
static void flood_req(gex_Token_t token) { (void)token, arrived++; }
static gex_AM_Entry_t table[] = {ROW(SHORT_REQ, short_req, SHORT, REQUEST, 0, NULL), ROW(SHORT_REP, short_rep, SHORT, REPLY, 0, NULL),
                                 ROW(MED_REQ, med_req, MEDIUM, REQUEST, 0, NULL),    ROW(MED_REP, med_rep, MEDIUM, REPLY, 0, NULL),
                                 ROW(LONG_REQ, long_req, LONG, REQUEST, 0, NULL),    ROW(LONG_REP, long_rep, LONG, REPLY, 0, NULL),
                                 ROW(FLOOD_REQ, flood_req, SHORT, REQUEST, 0, NULL)};

static void transfers(gex_Rank_t next) {
  unsigned char own[256], back[256];
  int i;
  fill(own, 3, sizeof own);
  for (i = 0; i < PUTS; i++) CHECK(gex_RMA_PutBlocking(tm, next, area[next], own, 100, 0) == 0);
  for (i = 0; i < PUT_VALUES; i++) CHECK(gex_RMA_PutBlockingVal(tm, next, area[next] + 512, 77, 4, 0) == 0);
  for (i = 0; i < GETS; i++) CHECK(gex_RMA_GetBlocking(tm, back, next, area[next], 100, 0) == 0);
  CHECK(memcmp(own, back, 100) == 0);
  for (i = 0; i < GET_VALUES; i++) CHECK(gex_RMA_GetBlockingVal(tm, next, area[next] + 512, 4, 0) == 77);
  /* Two pieces of 24 bytes. */
  for (i = 0; i < VIS_PUTS + VIS_GETS; i++) {
    gex_Memvec_t there[2], here[2];
    there[0].gex_addr = area[next] + 1024, there[1].gex_addr = area[next] + 1200;
    here[0].gex_addr = own, here[1].gex_addr = own + 64;
    there[0].gex_len = there[1].gex_len = here[0].gex_len = here[1].gex_len = 24;
    if (i < VIS_PUTS)
      gex_VIS_VectorPutBlocking(tm, next, 2, there, 2, here, 0);
    else
      gex_VIS_VectorGetBlocking(tm, 2, here, next, 2, there, 0);
  }
}
static void atomics(gex_Rank_t next) {
  gex_AD_t ad;
  int i;
  gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD, 0);
  BARRIER();
  for (i = 0; i < ATOMICS; i++) gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, next, (uint64_t *)(void *)(area[next] + 2048), GEX_OP_ADD, 1, 0, 0));
  BARRIER();
  CHECK(*(volatile uint64_t *)(void *)(area[me] + 2048) == ATOMICS);
  gex_AD_Destroy(ad);
}
static void messages(gex_Rank_t next) {
  unsigned char own[256];
  gex_AM_SrcDesc_t sd;
  int i;
  for (i = 0; i < SHORTS; i++) CHECK(gex_AM_RequestShort0(tm, next, SHORT_REQ, 0) == 0);
  fill(own, 5, sizeof own);
  for (i = 0; i < MEDIUMS; i++) CHECK(gex_AM_RequestMedium0(tm, next, MED_REQ, own, 33, GEX_EVENT_NOW, 0) == 0);
  /* Negotiated payloads: the client's buffer and the library's. Fewer bytes are sent than were asked for. */
  sd = gex_AM_PrepareRequestMedium(tm, next, own, 40, 200, GEX_EVENT_NOW, 0, 0);
  gex_AM_CommitRequestMedium0(sd, MED_REQ, 40);
  sd = gex_AM_PrepareRequestMedium(tm, next, NULL, 48, 200, NULL, 0, 0);
  fill(gex_AM_SrcDescAddr(sd), 5, 48);
  gex_AM_CommitRequestMedium0(sd, MED_REQ, 48);
  /* Given up: nothing is sent. */
  gex_AM_CancelRequestMedium(gex_AM_PrepareRequestMedium(tm, next, NULL, 48, 200, NULL, 0, 0), 0);
  fill(own, 6, sizeof own);
  for (i = 0; i < LONGS; i++) CHECK(gex_AM_RequestLong0(tm, next, LONG_REQ, own, 128, area[next] + 2560, GEX_EVENT_NOW, 0) == 0);
  sd = gex_AM_PrepareRequestLong(tm, next, own, 56, 200, area[next] + 2816, GEX_EVENT_NOW, 0, 0);
  gex_AM_CommitRequestLong0(sd, LONG_REQ, 56, area[next] + 2816);
  GASNET_BLOCKUNTIL(replies == SHORTS + MEDIUMS + 2 + LONGS + 1);
}
/* The word in the memory of process `rank` that says: your messages have been refused. Written without any operation of the API. */
static volatile uint32_t *refusal_of(gex_Rank_t rank) {
#if GASNET_SEGMENT_EVERYTHING
  (void)rank;
  return NULL;
#else
  void *local = NULL;
  CHECK(gex_Segment_QueryBound(tm, rank, NULL, &local, NULL) == 0);
  return local ? (volatile uint32_t *)(void *)((unsigned char *)local + 3584) : NULL;
#endif
}
/* Many Shorts, of which some may be refused. These are sent again, and count once. */
static void flood(gex_Rank_t next, int held) {
  int refused = 0, i;
  volatile uint32_t *own = held && me % 2 == 1 ? refusal_of(me) : NULL;
  volatile uint32_t *told = held && me % 2 == 0 ? refusal_of(next) : NULL;
  CHECK(!held || own || told);
  BARRIER();
  while (own && !*own) sched_yield(); /* Without a poll: the mail of this process stays where it is. */
  for (i = 0; i < FLOOD; i++)
    while (gex_AM_RequestShort0(tm, next, FLOOD_REQ, GEX_FLAG_IMMEDIATE) != 0) {
      if (told) *told = 1;
      if (refused++ > 0) gasnet_AMPoll();
    }
  GASNET_BLOCKUNTIL(arrived == FLOOD);
  CHECK(!told || refused > 0);
}

int main(int argc, char **argv) {
  gex_Rank_t next;
  begin("testrows", &argc, &argv);
  next = (me + 1) % nodes;
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  fill(answer, 9, sizeof answer);
  make_areas(4096);
  memset(area[me], 0, 4096);
  BARRIER();
  transfers(next);
  atomics(next);
  messages(next);
  flood(next, argc > 1 && strcmp(argv[1], "held") == 0);
  BARRIER();
  return end();
}
