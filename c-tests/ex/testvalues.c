/* Values, types and forms that no other program needs: flags of one call are bits of their own, the fields of
 * gex_ProgressThreadInfo_t, handler-safe locks, replies of negotiated payload with 0 and 2 arguments; arguments from macros;
 * requests and waits that serve others. Contract: ex-core.md
 * sections 3, 12, 15; ex-coll.md section 7. */
#include "testexam.h"

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <time.h>

enum { ASK = GEX_AM_INDEX_BASE, ANSWER0, ANSWER2, SERVE, SINK };
#define BYTES 24
static volatile int answers;

/* The last process answers with two Longs, one without and one with arguments, into the first bytes of the asker. */
static void ask(gex_Token_t token, gex_AM_Arg_t hi, gex_AM_Arg_t lo, gex_AM_Arg_t form) {
  void *dest = (void *)(((uintptr_t)(uint32_t)hi << 16 << 16) | (uint32_t)lo);
  gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyLong(token, NULL, BYTES, BYTES, dest, NULL, 0, form == 0 ? 0 : 2);
  memset(gex_AM_SrcDescAddr(sd), 0x40 + form, BYTES);
  if (form == 0) gex_AM_CommitReplyLong0(sd, ANSWER0, BYTES, dest);
  else if (form == 1) gex_AM_CommitReplyLong2(sd, ANSWER2, BYTES, dest, 1, -7);
  else CHECK(gex_AM_CommitReplyLong2_v2(sd, ANSWER2, BYTES, dest, 0, 2, -7) == 0);
}
static void holds(void *buf, size_t n, int byte) {
  size_t i;
  CHECK(n == BYTES);
  for (i = 0; i < n; i++) CHECK(((unsigned char *)buf)[i] == byte);
  answers++;
}
static void answer0(gex_Token_t token, void *buf, size_t n) { (void)token, holds(buf, n, 0x40); }
static void answer2(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t form, gex_AM_Arg_t seven) {
  (void)token;
  CHECK(seven == -7);
  holds(buf, n, 0x40 + form);
}
static void sink(gex_Token_t token, void *buf, size_t n) { (void)token, (void)buf, (void)n; }
static gex_AM_Entry_t table[] = {ROW(SINK, sink, MEDIUM, REQUEST, 0, NULL),
                                 ROW(ASK, ask, SHORT, REQUEST, 3, NULL), ROW(ANSWER0, answer0, LONG, REPLY, 0, NULL),
                                 ROW(ANSWER2, answer2, LONG, REPLY, 2, NULL)};

/* Flags of one call are bits of their own. */
static void check_bits(const gex_Flags_t *bits, int n) {
  gex_Flags_t all = 0;
  int i;
  for (i = 0; i < n; i++) {
    CHECK(bits[i] != 0 && (bits[i] & (bits[i] - 1)) == 0 && !(all & bits[i]));
    all |= bits[i];
  }
}
static void flags(void) {
  static const gex_Flags_t init[] = {GEX_FLAG_USES_GASNET1, GEX_FLAG_DEFER_THREADS};
  static const gex_Flags_t accel[] = {GEX_FLAG_HINT_ACCEL_AD, GEX_FLAG_HINT_ACCEL_COLL};
  static const gex_Flags_t domain[] = {GEX_FLAG_AD_FAVOR_MY_RANK, GEX_FLAG_AD_FAVOR_MY_NBRHD, GEX_FLAG_AD_FAVOR_REMOTE};
  static const gex_Flags_t team[] = {GEX_FLAG_TM_SCRATCH_SIZE_MIN, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED, GEX_FLAG_TM_GLOBAL_SCRATCH,
                                     GEX_FLAG_TM_LOCAL_SCRATCH,    GEX_FLAG_TM_SYMMETRIC_SCRATCH,        GEX_FLAG_TM_NO_SCRATCH,
                                     GEX_FLAG_SCRATCH_SEG_OFFSET};
  check_bits(init, (int)COUNT_OF(init));
  check_bits(accel, (int)COUNT_OF(accel));
  check_bits(domain, (int)COUNT_OF(domain));
  check_bits(team, (int)COUNT_OF(team));
  CHECK(GEX_FLAG_HINT_ACCEL_ALL == (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL));
}

/* Calls whose arguments come from macros: they are counted after the expansion. */
#define PEER tm, me
#define TABLE_OF table, COUNT_OF(table)
#define MEDIUM_TO_PEER PEER, GEX_EVENT_NOW, 0, 0
#define NOTHING_TO_SPLIT NULL, tm, 0, (int)me, NULL, 0
static void macros(void) {
  gex_Event_t done[] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID};
#define DONE done, 2, 0
  void *owner;
#define OWNER &owner, NULL, NULL, 0
  char bytes[2][8];
#define DONE_BYTES bytes[0], bytes[1], sizeof bytes[0], 0
  memset(bytes, 0, sizeof bytes);
  MUST(gex_EP_RegisterHandlers(ep, TABLE_OF));
  CHECK(gex_TM_TranslateRankToJobrank(PEER) == me);
  CHECK(gex_AM_MaxRequestMedium(MEDIUM_TO_PEER) >= 512);
  CHECK(gex_TM_Split(NOTHING_TO_SPLIT, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) ==
        gex_TM_Split(NULL, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED));
  gex_Event_WaitAll(DONE);
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(PEER, OWNER));
  gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, DONE_BYTES));
}

/* Requests, and waits for implicit operations, serve messages of others: a process that only sends answers them. */
static volatile int served;
static void serve(gex_Token_t token) { (void)token, served++; }
static void attentive(void) {
  gex_AM_Entry_t entry = ROW(SERVE, serve, SHORT, REQUEST, 0, NULL);
  int i;
  MUST(gex_EP_RegisterHandlers(ep, &entry, 1));
  for (i = 0; i < 3; i++) {
    time_t end;
    const int before = served; /* the message may come while this process is still in the barrier */
    BARRIER();
    end = time(NULL) + 30;
    if (me == nodes - 1) gex_AM_RequestShort0(tm, 0, SERVE, 0);
    if (me == 0)
      while (served == before && time(NULL) < end) {
        if (i == 0) gex_AM_RequestShort0(tm, nodes / 2, SERVE, 0);
        else if (i == 1) gex_NBI_Wait(GEX_EC_ALL, 0);
        else gex_AM_CommitRequestMedium0(gex_AM_PrepareRequestMedium(tm, nodes / 2, NULL, 0, 8, NULL, 0, 0), SINK, 0);
      }
    CHECK(me != 0 || served != before);
  }
}

static void *progress(void *arg) { return arg; }
static void values(void) {
  static const gex_Client_t none = GEX_CLIENT_INVALID;
  gex_ProgressThreadInfo_t info;
  static char zeros[sizeof(gex_Client_t)];
  gex_Coll_ReduceFn_t operator_ = NULL;
  gex_AD_t ad;
  gex_HSL_t lock;
  CHECK(memcmp(&none, zeros, sizeof none) == 0 && client != GEX_CLIENT_INVALID);
  CHECK(GEX_THREAD_ROLE_RCV == 1u && GEX_THREAD_ROLE_SND == 2u && operator_ == NULL);
  info.gex_device_list = "host";
  info.gex_thread_roles = GEX_THREAD_ROLE_RCV | GEX_THREAD_ROLE_SND;
  info.gex_progress_fn = progress;
  info.gex_progress_arg = &info;
  CHECK(info.gex_progress_fn(info.gex_progress_arg) == &info && strlen(info.gex_device_list) == 4 && info.gex_thread_roles == 3);
  gex_HSL_Init(&lock);
  gex_HSL_Lock(&lock);
  gex_HSL_Unlock(&lock);
  CHECK(gex_HSL_Trylock(&lock) == GASNET_OK);
  gex_HSL_Unlock(&lock);
  gex_HSL_Destroy(&lock);
  gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD, GEX_FLAG_AD_FAVOR_MY_NBRHD);
  CHECK(gex_AD_QueryFlags(ad) == GEX_FLAG_AD_FAVOR_MY_NBRHD);
  gex_AD_Destroy(ad);
  CHECK(gex_TM_Split(NULL, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN) <=
        gex_TM_Split(NULL, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED));
}

int main(int argc, char **argv) {
  uintptr_t dest;
  int form;
  begin("testvalues", &argc, &argv);
  flags();
  values();
  macros();
  make_areas(GASNET_PAGESIZE);
  dest = (uintptr_t)area[me];
  BARRIER();
  for (form = 0; form < 3; form++) {
    gex_AM_RequestShort3(tm, nodes - 1, ASK, 0, (gex_AM_Arg_t)(dest >> 16 >> 16), (gex_AM_Arg_t)dest, form);
    GASNET_BLOCKUNTIL(answers == form + 1);
  }
  attentive();
  return end();
}
