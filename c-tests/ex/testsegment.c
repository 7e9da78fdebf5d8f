/* Created segments: memory of the library and of the client, errors of binding, publication, transfers and Active Messages to
 * them. Contract: ex-core.md section 8. Options: none. Positional: segment bytes (131072), rounds (4), a word of how the
 * job begins: ex (default), or gasnet1, which attaches no bytes by GASNet-1 and goes on with GASNet-EX.
 *
 * Processes with even ranks use memory that the library allocates, odd ones their own at an odd address. */
#include <gasnet.h>

#include "testexam.h"

enum { MED_REQ = GEX_AM_INDEX_BASE, LONG_REQ, MED_REP, LONG_REP };
static size_t length = 131072;
static volatile int replies;
static int expected;
static unsigned char **base;
static uintptr_t *size;

static size_t part(void) { return length / nodes / 3 / 8 * 8; } /* bytes of one process in one third of a segment */
static unsigned char *part_of(gex_Rank_t owner, gex_Rank_t user, int third) { return base[owner] + part() * (3 * user + (unsigned)third); }

static void med_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed) {
  CHECK(filled(buf, (unsigned)seed, n));
  gex_AM_ReplyMedium1(token, MED_REP, buf, n, GEX_EVENT_NOW, 0, seed);
}
static void med_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed) {
  (void)token;
  CHECK(filled(buf, (unsigned)seed, n));
  replies++;
}
static void long_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed) {
  gex_Token_Info_t info;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  CHECK(buf == part_of(me, info.gex_srcrank, 1) && filled(buf, (unsigned)seed, n));
  gex_AM_ReplyLong1(token, LONG_REP, buf, n, part_of(info.gex_srcrank, me, 2), GEX_EVENT_NOW, 0, seed);
}
static void long_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed) {
  gex_Token_Info_t info;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  CHECK(buf == part_of(me, info.gex_srcrank, 2) && filled(buf, (unsigned)seed, n));
  replies++;
}
static gex_AM_Entry_t table[] = {ROW(MED_REQ, med_req, MEDIUM, REQUEST, 1, NULL), ROW(LONG_REQ, long_req, LONG, REQUEST, 1, NULL),
                                 ROW(MED_REP, med_rep, MEDIUM, REPLY, 1, NULL), ROW(LONG_REP, long_rep, LONG, REPLY, 1, NULL)};

/* What queries say of the endpoint of `rank`. */
static void query(gex_Rank_t rank, int found, gex_TM_t team) {
  int mark;
  void *owner = &mark, *local = &mark;
  uintptr_t n = 77;
  CHECK((gex_Segment_QueryBound(team, rank, &owner, &local, &n) == 0) == found);
  if (!found) CHECK(owner == &mark && local == &mark && n == 77); /* not touched */
  if (found) CHECK(owner == base[rank] && n == size[rank]);
  if (found && rank == me) CHECK(local == owner);
  n = 77;
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &owner, &local, &n, 0));
  CHECK(n == (found ? size[rank] : 0));
  if (found) CHECK(owner == base[rank]);
  if (found && rank != me && local != NULL) CHECK(*(volatile unsigned char *)local == 0x40 + (rank & 15)); /* a mapping that works */
  if (found) gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, NULL, NULL, NULL, GEX_FLAG_IMMEDIATE));
}
static void transfer(gex_TM_t team, gex_Rank_t peer, size_t n, unsigned seed) {
  static unsigned char *local;
  unsigned char *there = part_of(peer, me, 0), *src;
  gex_Event_t event;
  int from_segment;
  if (local == NULL) local = (unsigned char *)malloc(2 * length);
  for (from_segment = 0; from_segment < 2; from_segment++) { /* the source is in a segment, or not */
    src = from_segment && peer != me ? part_of(me, me, 0) : local;
    fill(src, seed, n);
    CHECK(gex_RMA_PutBlocking(team, peer, there, src, n, 0) == 0);
    memset(local + length, 0, n);
    CHECK(gex_RMA_GetBlocking(team, local + length, peer, there, n, 0) == 0);
    CHECK(filled(local + length, seed, n));
    seed++;
    fill(src, seed, n);
    event = gex_RMA_PutNB(team, peer, there, src, n, GEX_EVENT_NOW, 0);
    memset(src, 0, n);
    gex_Event_Wait(event);
    (void)gex_RMA_GetNBI(team, local + length, peer, there, n, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    CHECK(filled(local + length, seed, n));
    fill(src, seed + 1, n);
    (void)gex_RMA_PutNBI(team, peer, there, src, n, GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    gex_Event_Wait(gex_RMA_GetNB(team, local + length, peer, there, n, 0));
    CHECK(filled(local + length, seed + 1, n));
  }
  CHECK(gex_RMA_PutBlockingVal(team, peer, there, 0xabcdef0123456789u + seed, 8, 0) == 0);
  CHECK(gex_RMA_GetBlockingVal(team, peer, there, 8, 0) == 0xabcdef0123456789u + seed);
  CHECK(gex_RMA_PutBlockingVal(team, peer, there + 3, seed & 0xffff, 2, 0) == 0); /* no alignment */
  CHECK(gex_RMA_GetBlockingVal(team, peer, there + 3, 2, 0) == (seed & 0xffff));
}
static void messages(gex_TM_t team, gex_Rank_t peer, size_t n, unsigned seed) {
  unsigned char *src = (unsigned char *)malloc(n + 1), *to = part_of(peer, me, 1);
  gex_AM_SrcDesc_t sd;
  fill(src, seed, n);
  CHECK(gex_AM_RequestMedium1(team, peer, MED_REQ, src, n < 4096 ? n : 4096, GEX_EVENT_NOW, 0, (int)seed) == 0);
  expected++;
  GASNET_BLOCKUNTIL(replies == expected);
  CHECK(gex_AM_RequestLong1(team, peer, LONG_REQ, src, n, to, GEX_EVENT_NOW, 0, (int)seed) == 0);
  expected++;
  GASNET_BLOCKUNTIL(replies == expected);
  UNTIL(gex_AM_RequestLong1(team, peer, LONG_REQ, src, n, to, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, (int)seed));
  expected++;
  GASNET_BLOCKUNTIL(replies == expected);
  sd = gex_AM_PrepareRequestLong(team, peer, NULL, 1, n, to, NULL, 0, 1);
  if (gex_AM_SrcDescSize(sd) >= n) {
    fill(gex_AM_SrcDescAddr(sd), seed + 1, n);
    gex_AM_CommitRequestLong1(sd, LONG_REQ, n, to, (int)seed + 1);
    expected++;
    GASNET_BLOCKUNTIL(replies == expected);
  } else CHECK(gex_AM_CancelRequestLong(sd, 0) == 0);
  free(src);
}
static void exchange(gex_TM_t team, int rounds) {
  static const size_t sizes[] = {1, 2, 7, 8, 64, 1000, 4096, 20000, 1 << 20};
  size_t i;
  int round;
  gex_Rank_t peer;
  for (round = 0; round < rounds; round++)
    for (peer = 0; peer < nodes; peer++) {
      for (i = 0; i < COUNT_OF(sizes); i++) {
        const size_t n = sizes[i] < part() ? sizes[i] : part();
        transfer(team, peer, n, (unsigned)round + me * 11);
        if (peer != me) messages(team, peer, n, (unsigned)round + me * 11); /* to itself the areas would overlap */
      }
    }
  BARRIER();
}

/* Segments that come and go need no more and more memory: few objects serve them in turn. */
static void come_and_go(void) {
  static unsigned char memory[100];
  static gex_Segment_t seen[1000];
  int i, j, known = 0;
  for (i = 0; i < 10000; i++) {
    gex_Segment_t made = GEX_SEGMENT_INVALID;
    MUST(gex_Segment_Create(&made, client, memory + i % 50, (uintptr_t)(i % 50 + 1), GEX_MK_HOST, 0));
    CHECK(gex_Segment_QueryAddr(made) == memory + i % 50 && gex_Segment_QuerySize(made) == (uintptr_t)(i % 50 + 1));
    CHECK(gex_Segment_QueryClient(made) == client && gex_Segment_QueryCData(made) == NULL);
    gex_Segment_SetCData(made, &i);
    for (j = 0; j < known && seen[j] != made; j++) continue;
    if (j == known && known < 1000) seen[known++] = made;
    gex_Segment_Destroy(made, 0);
  }
  CHECK(known < 1000);
}

int main(int argc, char **argv) {
  static unsigned char fixed_memory[100];
  gex_Segment_t other, extra[4];
  gex_TM_t pair;
  unsigned char *memory = NULL;
  int rounds, i;
  gex_Rank_t rank;
  if (argc > 3 && strcmp(argv[3], "gasnet1") == 0) {
    MUST(gasnet_init(&argc, &argv));
    MUST(gasnet_attach(NULL, 0, 0, 0));
    gasnet_QueryGexObjects(&client, &ep, &tm, &segment);
    me = gex_TM_QueryRank(tm), nodes = gex_TM_QuerySize(tm);
  } else begin("testsegment", &argc, &argv);
  if (argc > 1 && atoi(argv[1]) > 4096) length = (size_t)atoi(argv[1]);
  rounds = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : 4;
  base = (unsigned char **)calloc(nodes, sizeof *base), size = (uintptr_t *)calloc(nodes, sizeof *size);
  pair = gex_TM_Pair(ep, 0);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID);
  come_and_go();
  MUST(gex_EP_PublishBoundSegment(tm, &ep, 1, 0)); /* before any binding: no effect */
  MUST(gex_EP_PublishBoundSegment(tm, NULL, 0, 0));
#if GASNET_SEGMENT_EVERYTHING
  gex_System_SetVerboseErrors(0);
  MUST(gex_Segment_Create(&other, client, NULL, length, GEX_MK_HOST, 0));
  CHECK(gex_EP_BindSegment(ep, other, 0) == GASNET_ERR_BAD_ARG); /* the endpoint is bound to all memory */
  CHECK(gex_Segment_QueryAddr(other) != NULL && gex_Segment_QuerySize(other) >= length);
  gex_Segment_Destroy(other, 0);
  (void)memory, (void)i, (void)rank, (void)pair, (void)rounds, (void)query, (void)exchange, (void)extra, (void)fixed_memory;
#else
  for (rank = 0; rank < nodes; rank++) query(rank, 0, tm), query(rank, 0, pair);

  /* creation */
  if (me % 2 == 0) {
    MUST(gex_Segment_Create(&segment, client, NULL, length + 1, GEX_MK_HOST, 0));
    CHECK(gex_Segment_QuerySize(segment) > length && gex_Segment_QuerySize(segment) % GASNET_PAGESIZE == 0);
  } else {
    memory = (unsigned char *)malloc(length + 64);
    memset(memory, 0x77, length + 64);
    MUST(gex_Segment_Create(&segment, client, memory + 17, length, GEX_MK_HOST, 0));
    CHECK(gex_Segment_QueryAddr(segment) == memory + 17 && gex_Segment_QuerySize(segment) == length);
    CHECK(memory[16] == 0x77 && memory[17] == 0x77 && memory[length + 16] == 0x77);
  }
  CHECK(gex_Segment_QueryClient(segment) == client && gex_Segment_QueryFlags(segment) == 0);
  CHECK(gex_Segment_QueryCData(segment) == NULL);
  gex_Segment_SetCData(segment, &rounds);
  CHECK(gex_Segment_QueryCData(segment) == &rounds);
  memset(gex_Segment_QueryAddr(segment), 0x40 + (int)(me & 15), length);
  for (i = 0; i < 4; i++) MUST(gex_Segment_Create(&extra[i], client, i % 2 ? fixed_memory + i : NULL, (uintptr_t)(i * 20 + 1), GEX_MK_HOST, 0));
  CHECK(extra[0] != extra[1] && gex_Segment_QueryAddr(extra[1]) == fixed_memory + 1 && gex_Segment_QuerySize(extra[3]) == 61);
  for (i = 0; i < 4; i++) ((unsigned char *)gex_Segment_QueryAddr(extra[i]))[i * 20] = (unsigned char)i;

  /* errors: codes, and no line on stderr */
  gex_System_SetVerboseErrors(0);
  CHECK(gex_EP_BindSegment(GEX_EP_INVALID, segment, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_BindSegment(ep, GEX_SEGMENT_INVALID, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_BindSegment(ep, segment, 1) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_BindSegment(ep, segment, GEX_FLAG_IMMEDIATE << 5) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID);
  other = segment;
  CHECK(gex_Segment_Create(&other, client, NULL, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_Segment_Create(&other, client, fixed_memory, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_Segment_Create(&other, client, NULL, 4096, GEX_MK_INVALID, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_Segment_Create(&other, client, NULL, 4096, GEX_MK_HOST, 1) == GASNET_ERR_BAD_ARG);
  CHECK(gex_Segment_Create(&other, client, NULL, ~(uintptr_t)0, GEX_MK_HOST, 0) != GASNET_OK);
  CHECK(gex_Segment_Create(&other, client, NULL, ~(uintptr_t)0 - 4095, GEX_MK_HOST, 0) != GASNET_OK);
  CHECK(other == segment);
  MUST(gex_EP_BindSegment(ep, segment, 0));
  CHECK(gex_EP_BindSegment(ep, segment, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_BindSegment(ep, extra[0], 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_QuerySegment(ep) == segment);
  gex_System_SetVerboseErrors(1);
  for (i = 0; i < 4; i++) gex_Segment_Destroy(extra[i], 0);
  come_and_go(); /* and the bound one stays what it is */
  CHECK(gex_EP_QuerySegment(ep) == segment && gex_Segment_QueryCData(segment) == &rounds);

  /* bound, but not published */
  base[me] = (unsigned char *)gex_Segment_QueryAddr(segment), size[me] = gex_Segment_QuerySize(segment);
  for (rank = 0; rank < nodes; rank++) query(rank, rank == me, tm), query(rank, rank == me, pair);
  BARRIER();
  transfer(tm, me, part(), me);
  transfer(pair, me, 8, me);
  memset(gex_Segment_QueryAddr(segment), 0x40 + (int)(me & 15), length);
  BARRIER();
#ifdef gex_TM_Split /* over a team of one half, in two calls, the first of which names nobody */
  if (nodes > 1) {
    gex_TM_t half;
    gex_Rank_t r;
    (void)gex_TM_Split(&half, tm, (int)(me % 2), (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    MUST(gex_EP_PublishBoundSegment(half, NULL, 0, 0));
    MUST(gex_EP_PublishBoundSegment(half, &ep, 1, 0));
    for (rank = 0; rank < nodes; rank++) {
      if (rank % 2 == me % 2) {
        void *owner;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &owner, NULL, &size[rank], 0));
        base[rank] = (unsigned char *)owner;
        CHECK(size[rank] >= length);
      }
      query(rank, rank % 2 == me % 2, tm), query(rank, rank % 2 == me % 2, pair);
    }
    for (r = 0; r < gex_TM_QuerySize(half); r++) query(2 * r + me % 2, 1, tm);
    BARRIER();
    transfer(tm, me, 8, me);
    BARRIER();
    memset(gex_Segment_QueryAddr(segment), 0x40 + (int)(me & 15), length);
    BARRIER();
  }
#endif
  MUST(gex_EP_PublishBoundSegment(tm, &ep, me % 3 == 2 ? 0 : 1, 0)); /* every third one comes later */
  for (rank = 0; rank < nodes; rank++) {
    void *owner = NULL;
    const int late = rank % 3 == 2;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &owner, NULL, &size[rank], 0));
#ifndef gex_TM_Split
    CHECK((size[rank] == 0) == (late && rank != me));
#else
    (void)late;
#endif
    base[rank] = (unsigned char *)owner;
    if (size[rank] != 0) query(rank, 1, tm), query(rank, 1, pair);
  }
  BARRIER();
  MUST(gex_EP_PublishBoundSegment(tm, &ep, 1, 0)); /* again, for the most without a change */
  for (rank = 0; rank < nodes; rank++) {
    void *owner = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &owner, NULL, &size[rank], 0));
    base[rank] = (unsigned char *)owner;
    CHECK(size[rank] >= length);
    query(rank, 1, tm), query(rank, 1, pair);
  }
  if (memory) CHECK(base[me] == memory + 17);
  BARRIER();
  exchange(tm, rounds);
  exchange(pair, rounds);
  CHECK(gex_Segment_QueryCData(segment) == &rounds);
  if (memory) {
    for (i = 0; i < 17; i++) CHECK(memory[i] == 0x77);
    for (i = 17; i < 64; i++) CHECK(memory[length + (size_t)i] == 0x77);
  }
#endif
  return end();
}
