/* Messages of all categories, puts and gets from one process to each member of a team, by ranks of the team. Contract: ex-core.md
 * sections 7, 11-13, ex-rma.md section 2. */
#ifndef TESTTRAFFIC_H
#define TESTTRAFFIC_H
#include "testexam.h"

enum { T_SHORT = GEX_AM_INDEX_BASE, T_MEDIUM, T_LONG, T_BACK, T_BULK_BACK };
#define TRAFFIC_SLOT 1024 /* bytes of each sender in each area: Longs, their answers, puts, gets */
#define TRAFFIC_BYTES 200
static size_t traffic_at; /* of the first slot in an area */
static volatile int traffic_back;
static unsigned char *slot_of(gex_Rank_t owner, gex_Rank_t sender, int part) {
  return area[owner] + traffic_at + (size_t)sender * TRAFFIC_SLOT + (size_t)part * (TRAFFIC_SLOT / 4);
}

/* Arguments: the job ranks of both. A message that was named by a rank of a team comes from a job rank. */
static gex_Rank_t source_of(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t to) {
  gex_Token_Info_t info;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP);
  CHECK(info.gex_ep == ep && info.gex_srcrank == (gex_Rank_t)from && me == (gex_Rank_t)to);
  return info.gex_srcrank;
}
static void traffic_short(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t to) {
  (void)source_of(token, from, to);
  gex_AM_ReplyShort2(token, T_BACK, 0, to, from);
}
static void traffic_medium(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t from, gex_AM_Arg_t to) {
  CHECK(n == TRAFFIC_BYTES && filled(buf, source_of(token, from, to), n));
  gex_AM_ReplyMedium2(token, T_BULK_BACK, buf, n, GEX_EVENT_NOW, 0, to, from);
}
static void traffic_long(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t from, gex_AM_Arg_t to) {
  const gex_Rank_t sender = source_of(token, from, to);
  unsigned char bytes[TRAFFIC_BYTES];
  CHECK(n == TRAFFIC_BYTES && buf == (void *)slot_of(me, sender, 0) && filled(buf, sender, n));
  fill(bytes, sender, sizeof bytes);
  gex_AM_ReplyLong2(token, T_BULK_BACK, bytes, sizeof bytes, slot_of(sender, me, 1), GEX_EVENT_NOW, 0, to, from);
}
static void traffic_back_h(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t to) { (void)source_of(token, from, to), traffic_back++; }
static void traffic_bulk_back(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t from, gex_AM_Arg_t to) {
  (void)source_of(token, from, to);
  CHECK(n == TRAFFIC_BYTES && filled(buf, me, n));
  traffic_back++;
}
static gex_AM_Entry_t traffic_table[] = {ROW(T_SHORT, traffic_short, SHORT, REQUEST, 2, NULL),
                                         ROW(T_MEDIUM, traffic_medium, MEDIUM, REQUEST, 2, NULL),
                                         ROW(T_LONG, traffic_long, LONG, REQUEST, 2, NULL), ROW(T_BACK, traffic_back_h, SHORT, REPLY, 2, NULL),
                                         ROW(T_BULK_BACK, traffic_bulk_back, MEDLONG, REPLY, 2, NULL)};

/* Short and Medium, fixed and negotiated, to member `rank` of the team, which is process `to`. */
static void traffic_messages(gex_TM_t team, gex_Rank_t rank, gex_Rank_t to) {
  const gex_AM_Arg_t from_arg = (gex_AM_Arg_t)me, to_arg = (gex_AM_Arg_t)to;
  unsigned char bytes[TRAFFIC_BYTES];
  gex_AM_SrcDesc_t sd;
  fill(bytes, me, sizeof bytes);
  traffic_back = 0;
  CHECK(gex_AM_MaxRequestMedium(team, rank, GEX_EVENT_NOW, 0, 2) >= TRAFFIC_BYTES);
  (void)gex_AM_RequestShort2(team, rank, T_SHORT, 0, from_arg, to_arg);
  (void)gex_AM_RequestMedium2(team, rank, T_MEDIUM, bytes, sizeof bytes, GEX_EVENT_NOW, 0, from_arg, to_arg);
  sd = gex_AM_PrepareRequestMedium(team, rank, NULL, TRAFFIC_BYTES, TRAFFIC_BYTES, NULL, 0, 2);
  memcpy(gex_AM_SrcDescAddr(sd), bytes, sizeof bytes);
  gex_AM_CommitRequestMedium2(sd, T_MEDIUM, TRAFFIC_BYTES, from_arg, to_arg);
  GASNET_BLOCKUNTIL(traffic_back == 3);
}
/* The same with memory at the target: Longs, puts and gets of every kind. */
static void traffic_memory(gex_TM_t team, gex_Rank_t rank, gex_Rank_t to) {
  const gex_AM_Arg_t from_arg = (gex_AM_Arg_t)me, to_arg = (gex_AM_Arg_t)to;
  unsigned char bytes[TRAFFIC_BYTES], back[TRAFFIC_BYTES], *const here = slot_of(to, me, 2), *const there = slot_of(to, me, 3);
  gex_Event_t events[2];
  fill(bytes, me, sizeof bytes);
  traffic_back = 0;
  (void)gex_AM_RequestLong2(team, rank, T_LONG, bytes, sizeof bytes, slot_of(to, me, 0), GEX_EVENT_NOW, 0, from_arg, to_arg);
  GASNET_BLOCKUNTIL(traffic_back == 1);
  CHECK(filled(slot_of(me, to, 1), me, TRAFFIC_BYTES));
  (void)gex_RMA_PutBlocking(team, rank, here, bytes, sizeof bytes, 0);
  memset(back, 0, sizeof back);
  (void)gex_RMA_GetBlocking(team, back, rank, here, sizeof back, 0);
  CHECK(memcmp(back, bytes, sizeof back) == 0);
  fill(bytes, me + 1, sizeof bytes);
  events[1] = gex_RMA_PutNB(team, rank, there, bytes, sizeof bytes, &events[0], 0);
  gex_Event_WaitAll(events, 2, 0);
  memset(back, 0, sizeof back);
  gex_Event_Wait(gex_RMA_GetNB(team, back, rank, there, sizeof back, 0));
  CHECK(filled(back, me + 1, sizeof back));
  (void)gex_RMA_PutNBI(team, rank, here, bytes, sizeof bytes, GEX_EVENT_GROUP, 0);
  gex_NBI_Wait(GEX_EC_ALL, 0);
  memset(back, 0, sizeof back);
  (void)gex_RMA_GetNBI(team, back, rank, here, sizeof back, 0);
  gex_NBI_Wait(GEX_EC_GET, 0);
  CHECK(filled(back, me + 1, sizeof back));
  (void)gex_RMA_PutBlockingVal(team, rank, there, me + 7u, 4, 0);
  gex_Event_Wait(gex_RMA_PutNBVal(team, rank, there + 4, me + 8u, 4, 0));
  (void)gex_RMA_PutNBIVal(team, rank, there + 8, me + 9u, 4, 0);
  gex_NBI_Wait(GEX_EC_PUT, 0);
  CHECK(gex_RMA_GetBlockingVal(team, rank, there, 4, 0) == me + 7u && gex_RMA_GetBlockingVal(team, rank, there + 4, 4, 0) == me + 8u);
  CHECK(gex_RMA_GetBlockingVal(team, rank, there + 8, 4, 0) == me + 9u);
}
/* Before others may send to this process, and after all of the team have: what their puts left here. */
static void traffic_clear(void) {
  if (area != NULL) memset(slot_of(me, 0, 0), 0xee, (size_t)nodes * TRAFFIC_SLOT);
}
static void traffic_landed(gex_Rank_t size, const gex_Rank_t *jobranks) {
  gex_Rank_t i, member;
  for (member = 0; area != NULL && member < nodes; member++) {
    for (i = 0; i < size && jobranks[i] != member; i++) {}
    if (i == size) CHECK(slot_of(me, member, 0)[0] == 0xee && slot_of(me, member, 2)[0] == 0xee && slot_of(me, member, 3)[0] == 0xee);
    else CHECK(filled(slot_of(me, member, 0), member, TRAFFIC_BYTES) && filled(slot_of(me, member, 2), member + 1, TRAFFIC_BYTES));
  }
}
/* All of it to every member; with memory if the areas are there. */
static void traffic(gex_TM_t team, gex_Rank_t size, const gex_Rank_t *jobranks) {
  gex_Rank_t i, rank;
  for (i = 0; i < size; i++) {
    rank = (i + gex_TM_QueryRank(team)) % size; /* not all to one */
    traffic_messages(team, rank, jobranks[rank]);
    if (area != NULL) traffic_memory(team, rank, jobranks[rank]);
  }
}
#endif
