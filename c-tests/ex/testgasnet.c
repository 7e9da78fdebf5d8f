/* Constants, sizes, objects, job queries, errors, limits, registration. Contract: ex-core.md sections 2-10, 19; ex-rma.md section 13. Options: none. */
#include "testexam.h"
#include <gasnet_tools.h>

#include <stddef.h>

#define STR_(x) #x
#define STR(x) STR_(x)
#if GEX_FLAG_PEER_NEVER_SELF == GEX_FLAG_PEER_NEVER_NBRHD || GEX_AM_INDEX_BASE > 128 || SIZEOF_GEX_RMA_VALUE_T != 8
int not_as_constant;
#endif
static gex_Event_t static_event = GEX_EVENT_NO_OP, *static_lc = GEX_EVENT_GROUP;
static gex_TM_t static_tm = GEX_TM_INVALID;
static gex_MK_t static_mk = GEX_MK_HOST;
static volatile int come;
static void handler(gex_Token_t token, gex_AM_Arg_t a) { (void)token, come += a; }

static void disjoint(const char *what, const gex_Flags_t *flags, size_t n) {
  gex_Flags_t all = 0;
  size_t i;
  for (i = 0; i < n; i++) {
    if (flags[i] == 0 || (all & flags[i])) errors++, say("ERROR: flag %u of %s is zero or overlaps", (unsigned)i, what);
    all |= flags[i];
  }
}
static void constants(void) {
  static const gex_Flags_t comm[] = {GEX_FLAG_IMMEDIATE, GEX_FLAG_SELF_SEG_UNKNOWN, GEX_FLAG_SELF_SEG_SOME, GEX_FLAG_SELF_SEG_BOUND,
    GEX_FLAG_SELF_SEG_OFFSET, GEX_FLAG_PEER_SEG_UNKNOWN, GEX_FLAG_PEER_SEG_SOME, GEX_FLAG_PEER_SEG_BOUND, GEX_FLAG_PEER_SEG_OFFSET,
    GEX_FLAG_AM_PREPARE_LEAST_CLIENT, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, GEX_FLAG_PEER_NEVER_NBRHD, GEX_FLAG_PEER_NEVER_SELF};
  static const gex_Flags_t am[] = {GEX_FLAG_AM_SHORT, GEX_FLAG_AM_MEDIUM, GEX_FLAG_AM_LONG, GEX_FLAG_AM_REQUEST, GEX_FLAG_AM_REPLY};
  static const gex_Flags_t ti[] = {GEX_TI_SRCRANK, GEX_TI_ENTRY, GEX_TI_IS_REQ, GEX_TI_IS_LONG, GEX_TI_EP};
  static const gex_Flags_t caps[] = {GEX_EP_CAPABILITY_RMA, GEX_EP_CAPABILITY_AM, GEX_EP_CAPABILITY_VIS, GEX_EP_CAPABILITY_COLL, GEX_EP_CAPABILITY_AD};
  disjoint("communication", comm, COUNT_OF(comm)), disjoint("handlers", am, COUNT_OF(am));
  disjoint("token info", ti, COUNT_OF(ti)), disjoint("capabilities", caps, COUNT_OF(caps));
  CHECK(GEX_FLAG_AM_MEDLONG == (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG) && GEX_FLAG_AM_REQREP == (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY));
  CHECK(sizeof(gex_Rank_t) == 4 && sizeof(gex_EP_Index_t) == 2 && sizeof(gex_AM_Index_t) == 1 && sizeof(gex_AM_Arg_t) == 4);
  CHECK((gex_AM_Arg_t)-1 < 0 && GEX_RANK_INVALID == ~(gex_Rank_t)0 && sizeof(gex_Flags_t) == 4 && sizeof(gex_RMA_Value_t) == 8);
  CHECK(sizeof(gex_TM_t) == sizeof(void *) && sizeof GEX_TM_INVALID == sizeof(void *) && sizeof(gex_AM_SrcDesc_t) == sizeof(void *));
  CHECK(offsetof(gex_EP_Location_t, gex_ep_index) == 4 && offsetof(gex_Memvec_t, gex_len) == sizeof(void *));
  CHECK(static_event == (gex_Event_t)(uintptr_t)1 && static_lc == (gex_Event_t *)(uintptr_t)3 && static_tm == NULL && static_mk != GEX_MK_INVALID);
  CHECK(strspn(STR(GASNET_MAXEPS), "0123456789") == strlen(STR(GASNET_MAXEPS)) && GASNET_MAXEPS >= 1);
  CHECK(GASNET_SUPPORTS_AM_CANCEL == 20240418L && GASNET_SUPPORTS_AM_COMMIT_V2 == 20240906L);
}
#define CDATA(kind, object)                                                                                          \
  do {                                                                                                               \
    static int mark;                                                                                                 \
    CHECK(gex_##kind##_QueryCData(object) == NULL);                                                                  \
    gex_##kind##_SetCData(object, &mark);                                                                            \
    CHECK(gex_##kind##_QueryCData(object) == (void *)&mark);                                                         \
  } while (0)
static void objects(void) {
  CHECK(strcmp(gex_Client_QueryName(client), "testgasnet") == 0 && gex_Client_QueryFlags(client) == 0);
  CDATA(Client, client);
  CDATA(EP, ep);
  CDATA(TM, tm);
  CHECK(gex_EP_QueryClient(ep) == client && gex_EP_QueryFlags(ep) == 0 && gex_EP_QueryIndex(ep) == 0);
  CHECK(gex_TM_QueryClient(tm) == client && gex_TM_QueryEP(tm) == ep && gex_TM_QueryFlags(tm) == 0);
  CHECK(gex_TM_QueryRank(tm) == gex_System_QueryJobRank() && gex_TM_QuerySize(tm) == gex_System_QueryJobSize());
  CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID);
}
static void job(void) {
  gex_RankInfo_t *near = NULL, *host = NULL;
  gex_Rank_t n = 0, h = 0, i, j, mine = 0, place[4] = {9, 9, 9, 9};
  gex_System_QueryNbrhdInfo(&near, &n, &mine);
  CHECK(n >= 1 && mine < n && near[mine].gex_jobrank == me);
  gex_System_QueryHostInfo(&host, &h, &mine);
  CHECK(h >= n && mine < h && host[mine].gex_jobrank == me);
  for (i = 1; i < n; i++) CHECK(near[i - 1].gex_jobrank < near[i].gex_jobrank);
  for (i = 0, j = 0; i < n; i++, j++) {
    while (j < h && host[j].gex_jobrank != near[i].gex_jobrank) j++;
    CHECK(j < h);
  }
  gex_System_QueryNbrhdInfo(NULL, NULL, NULL), gex_System_QueryHostInfo(NULL, NULL, NULL), gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
  gex_System_QueryMyPosition(&place[0], &place[1], &place[2], &place[3]);
  CHECK(place[1] < place[0] && place[3] < place[2] && place[0] >= place[2]);
  CHECK(gex_System_QueryHiddenAMConcurrencyLevel() == 0);
#if GASNET_SEQ
  CHECK(gex_System_QueryMaxThreads() == 1);
#else
  CHECK(gex_System_QueryMaxThreads() > 1);
#endif
}
static void codes(void) {
  const gex_ProgressThreadInfo_t *info = NULL;
  unsigned count = 5;
  gex_EP_t other = ep;
  gex_Client_t c;
  gex_EP_t e;
  gex_TM_t t;
  CHECK(gex_System_GetVerboseErrors() == 1);
  gex_System_SetVerboseErrors(0);
  CHECK(gex_System_GetVerboseErrors() == 0);
  CHECK(gex_System_QueryProgressThreads(client, &count, &info, 0) == GASNET_ERR_RESOURCE);
  CHECK(gex_System_QueryProgressThreads(client, NULL, &info, 0) == GASNET_ERR_BAD_ARG);
  CHECK(gex_System_QueryProgressThreads(client, &count, &info, 1) == GASNET_ERR_BAD_ARG);
  CHECK(gex_EP_Create(&other, client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE && other == ep);
  CHECK(gex_Client_Init(&c, &e, &t, "again", NULL, NULL, 0) == GASNET_ERR_NOT_INIT);
  gex_System_SetVerboseErrors(1);
}
static void limits(void) {
  const gex_Event_t *const lcs[] = {GEX_EVENT_NOW, GEX_EVENT_GROUP, NULL};
  size_t least[4] = {~(size_t)0, ~(size_t)0, ~(size_t)0, ~(size_t)0};
  gex_Rank_t i;
  int l, f, a, m = 0;
  for (i = 0; i <= nodes; i++)
    for (l = 0; l < 3; l++)
      for (f = 0; f < 2; f++)
        for (a = 0; a <= 16; a += 16) {
          const gex_Rank_t r = i < nodes ? i : GEX_RANK_INVALID;
          size_t v[4];
          v[0] = gex_AM_MaxRequestMedium((m++, tm), r, lcs[l], (gex_Flags_t)f, (unsigned)a), v[1] = gex_AM_MaxReplyMedium(tm, (m++, r), lcs[l], (gex_Flags_t)f, (unsigned)a);
          v[2] = gex_AM_MaxRequestLong(tm, r, (m++, lcs[l]), (gex_Flags_t)f, (unsigned)a), v[3] = gex_AM_MaxReplyLong(tm, r, lcs[l], (gex_Flags_t)f, (m++, (unsigned)a));
          CHECK(m == 4);
          for (m = 3; m >= 0; m--) least[m] = v[m] < least[m] ? v[m] : least[m];
          m = 0;
        }
  CHECK(least[0] == gex_AM_LUBRequestMedium() && least[1] == gex_AM_LUBReplyMedium());
  CHECK(least[2] == gex_AM_LUBRequestLong() && least[3] == gex_AM_LUBReplyLong() && least[0] >= 512 && gex_AM_MaxArgs() == 16);
}
static void registration(void) {
  gex_AM_Entry_t rows[] = {ROW(0, handler, SHORT, REQUEST, 1, NULL), ROW(254, handler, SHORT, REQUEST, 1, NULL), ROW(0, handler, SHORT, REQUEST, 1, NULL)};
  gex_AM_Entry_t twice[] = {ROW(254, handler, SHORT, REQUEST, 1, NULL)}, low[] = {ROW(GEX_AM_INDEX_BASE - 1, handler, SHORT, REQUEST, 1, NULL)};
  int n[5] = {0, 0, 0, 0, 0}, i;
  MUST(gex_EP_RegisterHandlers(ep, NULL, 0));
  MUST(gex_EP_RegisterHandlers((n[0]++, ep), (n[1]++, rows), (n[2]++, (size_t)3)));
  CHECK(n[0] == 1 && n[1] == 1 && n[2] == 1 && rows[0].gex_index == 255 && rows[1].gex_index == 254 && rows[2].gex_index == 253);
  gex_System_SetVerboseErrors(0);
  CHECK(gex_EP_RegisterHandlers(ep, twice, 1) != GASNET_OK);
  CHECK(gex_EP_RegisterHandlers(ep, low, 1) != GASNET_OK);
  CHECK(gex_EP_RegisterHandlers(ep, NULL, 1) != GASNET_OK);
  gex_System_SetVerboseErrors(1);
  BARRIER();
  memset(n, 0, sizeof n);
  gex_AM_RequestShort1((n[0]++, tm), (n[1]++, me), (n[2]++, rows[2].gex_index), (n[3]++, 0u), (n[4]++, 7));
  for (i = 0; i < 5; i++) CHECK(n[i] == 1);
  GASNET_BLOCKUNTIL(come == 7);
}
#if !GASNET_SEGMENT_EVERYTHING
/* Segments that the client creates of memory of the attached one come and go; the attached one stays. */
static void beside(void) {
  unsigned char *base = (unsigned char *)gex_Segment_QueryAddr(segment);
  const uintptr_t all = gex_Segment_QuerySize(segment);
  int i;
  for (i = 0; i < 3; i++) {
    gex_Segment_t made = GEX_SEGMENT_INVALID;
    MUST(gex_Segment_Create(&made, client, base + 8 * (i % 2), all - 8, GEX_MK_HOST, 0));
    CHECK(made != segment && gex_Segment_QueryAddr(made) == base + 8 * (i % 2) && gex_Segment_QuerySize(made) == all - 8);
    gex_Segment_Destroy(made, 0);
  }
  CHECK(gex_EP_QuerySegment(ep) == segment && gex_Segment_QueryAddr(segment) == base && gex_Segment_QuerySize(segment) == all);
  CHECK(gex_RMA_PutBlockingVal(tm, me, base, base[0], 1, 0) == 0);
}
#endif
static void bound(void) {
#if !GASNET_SEGMENT_EVERYTHING
  gex_RankInfo_t *near;
  gex_Rank_t i, n;
  void *owner, *local;
  uintptr_t size;
  segment = gex_EP_QuerySegment(ep);
  CHECK(gex_EP_QueryBoundSegmentNB(tm, me, &owner, &local, &size, GEX_FLAG_IMMEDIATE) == GEX_EVENT_INVALID);
  CHECK(owner == gex_Segment_QueryAddr(segment) && size == gex_Segment_QuerySize(segment) && local == owner);
  CDATA(Segment, segment);
  gex_System_QueryNbrhdInfo(&near, &n, NULL);
  for (i = 0; i < n; i++) {
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, near[i].gex_jobrank, NULL, &local, NULL, 0));
    CHECK(local != NULL);
    if (local != NULL) ((volatile unsigned char *)local)[me] = (unsigned char)(me + 1);
  }
  BARRIER();
  for (i = 0; i < n; i++) CHECK(area[me][near[i].gex_jobrank] == (unsigned char)(near[i].gex_jobrank + 1));
  beside();
#endif
}
/* Texts of transfers, in the forms of GASNet-EX (contract: ex-rma.md section 13). */
static void texts(void) {
  unsigned char bytes[256];
  gex_Memvec_t pieces[2];
  void *places[2];
  ptrdiff_t there[2] = {8, -64}, here[2] = {4, 16};
  size_t count[2] = {3, 2}, room;
  char text[1000];
  pieces[0].gex_addr = places[0] = bytes, pieces[1].gex_addr = places[1] = bytes + 100, pieces[0].gex_len = 5, pieces[1].gex_len = 11;
  gasnett_format_memveclist(text, 2, pieces);
  CHECK(strstr(text, ", 5]") && strstr(text, ", 11]") && strstr(text, "16 bytes"));
  gasnett_format_strides(text, 2, there);
  CHECK(strcmp(text, "[8, -64]") == 0);
  CHECK(gasnett_format_addrlist(text, 2, places, 6) == 12);
  room = gasnett_format_putvgetv_bufsz(2, 2);
  CHECK(gasnett_format_putvgetv(text, tm, me, 2, pieces, 2, pieces) == 16 && strlen(text) < room);
  room = gasnett_format_putigeti_bufsz(2, 1);
  CHECK(gasnett_format_putigeti(text, tm, me, 2, places, 8, 1, places, 16) == 16 && strlen(text) < room);
  room = gasnett_format_putsgets_bufsz(2);
  CHECK(gasnett_format_putsgets(text, NULL, tm, me, bytes, there, bytes, here, 4, count, 2) == 24 && strlen(text) < room);
  CHECK(strstr(text, "[8, -64]") && strstr(text, "[4, 16]"));
  CHECK(gasnett_format_putsgets(text, NULL, tm, me, bytes, NULL, bytes, NULL, 4, NULL, 0) == 4);
}
int main(int argc, char **argv) {
  uintptr_t size = 77;
  begin("testgasnet", &argc, &argv);
  texts();
  constants(), objects(), job(), codes(), limits(), registration();
  CHECK(gex_EP_QueryBoundSegmentNB(tm, me, NULL, NULL, &size, GEX_FLAG_IMMEDIATE) == GEX_EVENT_INVALID && size == 0);
  CHECK(gex_Segment_QueryBound(tm, me, NULL, NULL, &size) != 0);
#if !GASNET_SEGMENT_EVERYTHING
  CHECK(gasnet_getMaxLocalSegmentSize() >= gasnet_getMaxGlobalSegmentSize() && gasnet_getMaxGlobalSegmentSize() % GASNET_PAGESIZE == 0);
#endif
  make_areas(GASNET_PAGESIZE);
  limits(), bound();
  return end();
}
