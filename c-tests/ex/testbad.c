/* Misuse that debug builds must report: each case ends the job with one line that has FATAL in it. Contract: ex-core.md
 * sections 11, 12, 17.
 *
 *   testbad CASE [gasnet1]        testbad -l lists the cases; gasnet1: the program uses calls of GASNet-1, too
 *
 * Process 0 misbehaves, or the handler of the last one. A case that comes to its end prints ERROR and exits with 0. */
#include <gasnet.h>
#include <gasnet_ratomic.h>

#include "testexam.h"

enum { SHORT_REQ = 150, MED_REQ, LONG_REQ, SHORT_REP, MED_REP, LONG_REP, TWO_ARGS, UNREGISTERED = 199 };
static int now;
static volatile int come;
static char bytes[4096];

static void in_reply(gex_Token_t token);
static void in_short_req(gex_Token_t token);
static void in_med_req(gex_Token_t token, void *buf, size_t n);

static void short_req(gex_Token_t token) { in_short_req(token); }
static void med_req(gex_Token_t token, void *buf, size_t n) { in_med_req(token, buf, n); }
static void long_req(gex_Token_t token, void *buf, size_t n) { (void)token, (void)buf, (void)n, come++; }
static void short_rep(gex_Token_t token) { in_reply(token); }
static void med_rep(gex_Token_t token, void *buf, size_t n) { (void)token, (void)buf, (void)n, come++; }
static void long_rep(gex_Token_t token, void *buf, size_t n) { (void)token, (void)buf, (void)n, come++; }
static void two_args(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b) { (void)token, (void)a, (void)b, come++; }
static gex_AM_Entry_t table[] = {
    ROW(SHORT_REQ, short_req, SHORT, REQUEST, 0, NULL), ROW(MED_REQ, med_req, MEDIUM, REQUEST, 0, NULL),
    ROW(LONG_REQ, long_req, LONG, REQUEST, 0, NULL),    ROW(SHORT_REP, short_rep, SHORT, REPLY, 0, NULL),
    ROW(MED_REP, med_rep, MEDIUM, REPLY, 0, NULL),      ROW(LONG_REP, long_rep, LONG, REPLY, 0, NULL),
    ROW(TWO_ARGS, two_args, SHORT, REQUEST, 2, NULL)};

static gex_AM_SrcDesc_t open_medium(void) { return gex_AM_PrepareRequestMedium(tm, nodes - 1, NULL, 8, 64, NULL, 0, 0); }
static gex_AM_SrcDesc_t open_long(void) { return gex_AM_PrepareRequestLong(tm, nodes - 1, NULL, 8, 64, area[nodes - 1], NULL, 0, 0); }
static void make_domain(gex_Flags_t flags) {
  gex_AD_t ad;
  gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD, flags);
}
static volatile size_t used;
static void use(size_t value) { used = value; }
#define AS_(type, object) ((type)(void *)(object))
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
#define LAST (nodes - 1)
#define ASK() gex_AM_RequestShort0(tm, LAST, SHORT_REQ, 0) /* the misuse is in the handler */

/* CASE(name, what process 0 does) */
#define CASES                                                                                                        \
  CASE(two_prepares, open_medium(); open_medium())                                                                   \
  CASE(two_prepares_long, open_medium(); open_long())                                                                \
  CASE(commit_twice, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestMedium0(sd, MED_REQ, 8);               \
       gex_AM_CommitRequestMedium0(sd, MED_REQ, 8))                                                                  \
  CASE(commit_after_cancel, gex_AM_SrcDesc_t sd = open_medium(); (void)gex_AM_CancelRequestMedium(sd, 0);            \
       gex_AM_CommitRequestMedium0(sd, MED_REQ, 8))                                                                  \
  CASE(cancel_twice, gex_AM_SrcDesc_t sd = open_medium(); (void)gex_AM_CancelRequestMedium(sd, 0);                   \
       (void)gex_AM_CancelRequestMedium(sd, 0))                                                                      \
  CASE(cancel_after_commit, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestMedium0(sd, MED_REQ, 8);        \
       (void)gex_AM_CancelRequestMedium(sd, 0))                                                                      \
  CASE(commit_no_op, gex_AM_CommitRequestMedium0(GEX_AM_SRCDESC_NO_OP, MED_REQ, 8))                                  \
  CASE(cancel_no_op, (void)gex_AM_CancelRequestLong(GEX_AM_SRCDESC_NO_OP, 0))                                        \
  CASE(commit_wrong_category, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestLong0(sd, LONG_REQ, 8, area[LAST])) \
  CASE(cancel_wrong_category, gex_AM_SrcDesc_t sd = open_long(); (void)gex_AM_CancelRequestMedium(sd, 0))            \
  CASE(commit_wrong_direction, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitReplyMedium0(sd, MED_REP, 8))       \
  CASE(commit_wrong_count, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestMedium2(sd, MED_REQ, 8, 1, 2))   \
  CASE(commit_too_long, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestMedium0(sd, MED_REQ, gex_AM_SrcDescSize(sd) + 1)) \
  CASE(commit_bad_flags, gex_AM_SrcDesc_t sd = open_medium(); (void)gex_AM_CommitRequestMedium0_v2(sd, MED_REQ, 8, 2)) \
  CASE(commit_other_dest, gex_AM_SrcDesc_t sd = open_long(); gex_AM_CommitRequestLong0(sd, LONG_REQ, 8, area[LAST] + 8)) \
  CASE(cancel_flags, gex_AM_SrcDesc_t sd = open_medium(); (void)gex_AM_CancelRequestMedium(sd, 1))                   \
  CASE(least_above_most, (void)gex_AM_PrepareRequestMedium(tm, LAST, NULL, 9, 8, NULL, 0, 0))                        \
  CASE(least_above_limit, size_t n = gex_AM_MaxRequestMedium(tm, LAST, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0) + 1; \
       (void)gex_AM_PrepareRequestMedium(tm, LAST, NULL, n, n, NULL, 0, 0))                                          \
  CASE(least_above_limit_long, size_t n = gex_AM_MaxRequestLong(tm, LAST, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0) + 1; \
       (void)gex_AM_PrepareRequestLong(tm, LAST, NULL, n, n, NULL, NULL, 0, 0))                                      \
  CASE(prepare_many_args, (void)gex_AM_PrepareRequestMedium(tm, LAST, NULL, 8, 8, NULL, 0, 17))                      \
  CASE(prepare_lc_null, (void)gex_AM_PrepareRequestMedium(tm, LAST, bytes, 8, 8, NULL, 0, 0))                        \
  CASE(prepare_lc_defer, (void)gex_AM_PrepareRequestMedium(tm, LAST, bytes, 8, 8, GEX_EVENT_DEFER, 0, 0))            \
  CASE(prepare_lc_alloc, (void)gex_AM_PrepareRequestMedium(tm, LAST, NULL, 8, 8, GEX_EVENT_NOW, 0, 0))               \
  CASE(prepare_rank, (void)gex_AM_PrepareRequestMedium(tm, nodes, NULL, 8, 8, NULL, 0, 0))                           \
  CASE(prepare_in_handler, ASK())                                                                                    \
  CASE(request_in_interval, open_medium(); gex_AM_RequestShort0(tm, LAST, SHORT_REQ, 0))                             \
  CASE(medium_in_interval, open_medium(); gex_AM_RequestMedium0(tm, LAST, MED_REQ, bytes, 8, GEX_EVENT_NOW, 0))      \
  CASE(poll_in_interval, open_medium(); (void)gasnet_AMPoll())                                                       \
  CASE(put_in_interval, open_medium(); (void)gex_RMA_PutBlocking(tm, LAST, area[LAST], bytes, 8, 0))                 \
  CASE(get_val_in_interval, open_medium(); (void)gex_RMA_GetBlockingVal(tm, LAST, area[LAST], 8, 0))                 \
  CASE(wait_in_interval, open_medium(); gex_Event_Wait(GEX_EVENT_INVALID))                                           \
  CASE(nbi_in_interval, open_medium(); gex_NBI_Wait(GEX_EC_ALL, 0))                                                  \
  CASE(barrier_in_interval, open_medium(); gasnet_barrier_notify(0, 0))                                              \
  CASE(block_in_interval, open_medium(); GASNET_BLOCKUNTIL(come == 77))                                              \
  CASE(request_lc_null, gex_AM_RequestMedium0(tm, LAST, MED_REQ, bytes, 8, NULL, 0))                                 \
  CASE(request_lc_defer, gex_AM_RequestMedium0(tm, LAST, MED_REQ, bytes, 8, GEX_EVENT_DEFER, 0))                     \
  CASE(long_lc_null, gex_AM_RequestLong0(tm, LAST, LONG_REQ, bytes, 8, area[LAST], NULL, 0))                         \
  CASE(long_lc_defer, gex_AM_RequestLong0(tm, LAST, LONG_REQ, bytes, 8, area[LAST], GEX_EVENT_DEFER, GEX_FLAG_IMMEDIATE)) \
  CASE(request_least_flag, gex_AM_RequestMedium0(tm, LAST, MED_REQ, bytes, 8, GEX_EVENT_NOW, GEX_FLAG_AM_PREPARE_LEAST_ALLOC)) \
  CASE(short_rank, gex_AM_RequestShort0(tm, nodes, SHORT_REQ, 0))                                                    \
  CASE(short_rank_now, gex_AM_RequestShort0(tm, nodes, SHORT_REQ, GEX_FLAG_IMMEDIATE))                               \
  CASE(short_rank_invalid, gex_AM_RequestShort0(tm, GEX_RANK_INVALID, SHORT_REQ, 0))                                 \
  CASE(medium_rank, gex_AM_RequestMedium0(tm, nodes, MED_REQ, bytes, 8, GEX_EVENT_NOW, 0))                           \
  CASE(pair_rank, gex_AM_RequestShort0(gex_TM_Pair(ep, 0), nodes, SHORT_REQ, 0))                                     \
  CASE(team_null, gex_AM_RequestShort0(GEX_TM_INVALID, 0, SHORT_REQ, 0))                                             \
  CASE(team_is_endpoint, gex_AM_RequestShort0((gex_TM_t)(void *)ep, 0, SHORT_REQ, 0))                                \
  CASE(medium_too_long, gex_AM_RequestMedium0(tm, LAST, MED_REQ, bytes, gex_AM_MaxRequestMedium(tm, LAST, NULL, 0, 0) + 1, GEX_EVENT_NOW, 0)) \
  CASE(long_out_of_segment, gex_AM_RequestLong0(tm, LAST, LONG_REQ, bytes, 8, area[LAST] + area_bytes - 7, GEX_EVENT_NOW, 0)) \
  CASE(pair_out_of_segment, gex_AM_RequestLong0(gex_TM_Pair(ep, 0), LAST, LONG_REQ, bytes, 8, area[LAST] - 1, GEX_EVENT_NOW, 0)) \
  CASE(npam_out_of_segment, gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestLong(tm, LAST, NULL, 8, 8, NULL, NULL, 0, 0); \
       gex_AM_CommitRequestLong0(sd, LONG_REQ, 8, area[LAST] + area_bytes))                                          \
  CASE(put_out_of_segment, (void)gex_RMA_PutBlocking(tm, LAST, area[LAST] + area_bytes - 7, bytes, 8, 0))            \
  CASE(handler_below_base, gex_AM_RequestShort0(tm, LAST, 127, 0))                                                   \
  CASE(handler_unregistered, gex_AM_RequestShort0(tm, LAST, UNREGISTERED, 0))                                        \
  CASE(handler_category, gex_AM_RequestMedium0(tm, LAST, SHORT_REQ, bytes, 8, GEX_EVENT_NOW, 0))                     \
  CASE(handler_category_long, gex_AM_RequestLong0(tm, LAST, MED_REQ, bytes, 8, area[LAST], GEX_EVENT_NOW, 0))        \
  CASE(handler_direction, gex_AM_RequestShort0(tm, LAST, SHORT_REP, 0))                                              \
  CASE(handler_count, gex_AM_RequestShort1(tm, LAST, TWO_ARGS, 0, 1))                                                \
  CASE(handler_count_more, gex_AM_RequestShort3(tm, LAST, TWO_ARGS, 0, 1, 2, 3))                                     \
  CASE(handler_count_npam, gex_AM_CommitRequestMedium1(gex_AM_PrepareRequestMedium(tm, LAST, NULL, 8, 8, NULL, 0, 1), MED_REQ, 8, 1)) \
  CASE(reply_twice, ASK())                                                                                           \
  CASE(reply_in_reply, ASK())                                                                                        \
  CASE(request_in_handler, ASK())                                                                                    \
  CASE(poll_in_handler, ASK())                                                                                       \
  CASE(put_in_handler, ASK())                                                                                        \
  CASE(wait_in_handler, ASK())                                                                                       \
  CASE(test_in_handler, ASK())                                                                                       \
  CASE(reply_lc_group, ASK())                                                                                        \
  CASE(reply_lc_null, ASK())                                                                                         \
  CASE(reply_prepared_twice, ASK())                                                                                  \
  CASE(reply_after_prepare, ASK())                                                                                   \
  CASE(reply_prepared_after_reply, ASK())                                                                            \
  CASE(reply_committed_twice, ASK())                                                                                 \
  CASE(reply_wrong_count, ASK())                                                                                     \
  CASE(reply_prepare_lc_group, ASK())                                                                                \
  CASE(reply_left_open, ASK())                                                                                       \
  CASE(token_mask, ASK())                                                                                            \
  CASE(entry_flags, gex_AM_Entry_t e[] = {ROW(180, short_req, SHORT, REQREP, 0, NULL)}; e[0].gex_flags = 0;          \
       (void)gex_EP_RegisterHandlers(ep, e, 1))                                                                      \
  CASE(entry_direction, gex_AM_Entry_t e[] = {ROW(180, short_req, SHORT, REQREP, 0, NULL)};                          \
       e[0].gex_flags = GEX_FLAG_AM_LONG; (void)gex_EP_RegisterHandlers(ep, e, 1))                                   \
  CASE(entry_categories, gex_AM_Entry_t e[] = {ROW(180, short_req, SHORT, REQREP, 0, NULL)};                         \
       e[0].gex_flags |= GEX_FLAG_AM_MEDIUM; (void)gex_EP_RegisterHandlers(ep, e, 1))                                \
  CASE(entry_nargs, gex_AM_Entry_t e[] = {ROW(180, short_req, SHORT, REQREP, 17, NULL)}; (void)gex_EP_RegisterHandlers(ep, e, 1)) \
  CASE(pair_endpoint, (void)gex_RMA_PutBlocking(gex_TM_Pair(ep, 3), LAST, area[LAST], bytes, 8, 0))                  \
  CASE(domain_differs, make_domain(0))                                                                               \
  CASE(gasnet1_request, (void)gasnet_AMRequestShort0(LAST, SHORT_REQ))                                               \
  CASE(gasnet1_put, gasnet_put(LAST, area[LAST], bytes, 8))                                                          \
  CASE(gasnet1_get_val, (void)gasnet_get_val(LAST, area[LAST], 8))                                                   \
  CASE(gasnet1_memset, gasnet_memset_nbi(LAST, area[LAST], 0, 8))                                                    \
  CASE(short_least_flag, gex_AM_RequestShort0(tm, LAST, SHORT_REQ, GEX_FLAG_AM_PREPARE_LEAST_CLIENT))                \
  CASE(reply_short_least_flag, ASK())                                                                                \
  CASE(limit_rank, use(gex_AM_MaxRequestMedium(tm, nodes, NULL, 0, 0)))                                              \
  CASE(limit_pair_rank, use(gex_AM_MaxReplyLong(gex_TM_Pair(ep, 0), nodes, NULL, 0, 0)))                             \
  CASE(limit_both_least, use(gex_AM_MaxRequestLong(tm, 0, NULL, GEX_FLAG_AM_PREPARE_LEAST_CLIENT | GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0))) \
  CASE(pair_index, use(gex_TM_Pair(ep, GASNET_MAXEPS) != GEX_TM_INVALID))                                            \
  CASE(pair_of_team, use(gex_TM_Pair(AS_(gex_EP_t, tm), 0) != GEX_TM_INVALID))                                       \
  CASE(query_of_null, use(gex_TM_QuerySize(GEX_TM_INVALID)))                                                         \
  CASE(query_of_pair, use(gex_TM_QueryRank(gex_TM_Pair(ep, 0))))                                                     \
  CASE(query_of_other, use(gex_Segment_QuerySize(AS_(gex_Segment_t, gex_EP_QueryClient(ep)))))                       \
  CASE(query_of_ended, gex_TM_t team; gex_TM_Split(&team, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);          \
       (void)gex_TM_Destroy(team, NULL, 0); use(gex_TM_QueryRank(team)))                                             \
  CASE(cdata_of_other, gex_EP_SetCData(AS_(gex_EP_t, tm), bytes))                                                    \
  CASE(cdata_of_null, use(gex_Client_QueryCData(GEX_CLIENT_INVALID) != NULL))                                        \
  CASE(domain_ended, gex_AD_t ad; gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD, 0); gex_AD_Destroy(ad); use(gex_AD_QueryOps(ad))) \
  CASE(domain_of_other, use(gex_AD_QueryTM(AS_(gex_AD_t, tm)) == tm))                                                \
  CASE(descriptor_no_op, use(gex_AM_SrcDescSize(GEX_AM_SRCDESC_NO_OP)))                                              \
  CASE(descriptor_committed, gex_AM_SrcDesc_t sd = open_medium(); gex_AM_CommitRequestMedium0(sd, MED_REQ, 8);       \
       use(gex_AM_SrcDescAddr(sd) != NULL))                                                                          \
  CASE(register_in_handler, ASK())                                                                                   \
  CASE(bound_in_handler, ASK())                                                                                      \
  CASE(create_in_handler, ASK())                                                                                     \
  CASE(register_locked, gex_HSL_Lock(&lock); (void)gex_EP_RegisterHandlers(ep, table, 0))                            \
  CASE(bound_locked, gex_HSL_Lock(&lock); use(gex_Segment_QueryBound(tm, 0, NULL, NULL, NULL)))                      \
  CASE(bound_nb_locked, gex_HSL_Lock(&lock); gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, 0, NULL, NULL, NULL, 0))) \
  CASE(bind_locked, gex_HSL_Lock(&lock); (void)gex_EP_BindSegment(ep, GEX_SEGMENT_INVALID, 0))                       \
  CASE(leaf_locked, gex_HSL_Lock(&lock); use(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC) == GEX_EVENT_INVALID)) \
  CASE(lock_held, static gex_HSL_t l = GEX_HSL_INITIALIZER; gex_HSL_Lock(&l); gex_AM_RequestShort0(tm, LAST, SHORT_REQ, 0))

#define CASE(name, ...) C_##name,
enum { CASES C_COUNT };
#undef CASE
#define CASE(name, ...) #name,
static const char *const names[] = {CASES};
#undef CASE

static void in_short_req(gex_Token_t token) {
  gex_AM_SrcDesc_t sd;
  switch (now) {
    case C_prepare_in_handler: open_medium(); break;
    case C_reply_twice: gex_AM_ReplyShort0(token, SHORT_REP, 0), gex_AM_ReplyShort0(token, SHORT_REP, 0); break;
    case C_reply_in_reply: gex_AM_ReplyShort0(token, SHORT_REP, 0); break;
    case C_request_in_handler: gex_AM_RequestShort0(tm, 0, SHORT_REQ, 0); break;
    case C_poll_in_handler: (void)gasnet_AMPoll(); break;
    case C_put_in_handler: (void)gex_RMA_PutBlocking(tm, 0, area[0], bytes, 8, 0); break;
    case C_wait_in_handler: gex_Event_Wait(GEX_EVENT_INVALID); break;
    case C_test_in_handler: (void)gex_Event_Test(GEX_EVENT_INVALID); break;
    case C_reply_short_least_flag: gex_AM_ReplyShort0(token, SHORT_REP, GEX_FLAG_AM_PREPARE_LEAST_ALLOC); break;
    case C_register_in_handler: (void)gex_EP_RegisterHandlers(ep, table, 0); break;
    case C_bound_in_handler: use(gex_Segment_QueryBound(tm, 0, NULL, NULL, NULL)); break;
    case C_create_in_handler: {
      gex_Segment_t made;
      (void)gex_Segment_Create(&made, gex_EP_QueryClient(ep), bytes, sizeof bytes, GEX_MK_HOST, 0);
      break;
    }
    case C_reply_lc_group: gex_AM_ReplyMedium0(token, MED_REP, bytes, 8, GEX_EVENT_GROUP, 0); break;
    case C_reply_lc_null: gex_AM_ReplyLong0(token, LONG_REP, bytes, 8, area[0], NULL, 0); break;
    case C_reply_prepared_twice:
      (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
      (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
      break;
    case C_reply_after_prepare:
      (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
      gex_AM_ReplyShort0(token, SHORT_REP, 0);
      break;
    case C_reply_prepared_after_reply:
      gex_AM_ReplyShort0(token, SHORT_REP, 0);
      (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
      break;
    case C_reply_committed_twice:
      sd = gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
      gex_AM_CommitReplyMedium0(sd, MED_REP, 8);
      gex_AM_CommitReplyMedium0(sd, MED_REP, 8);
      break;
    case C_reply_wrong_count:
      sd = gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 1);
      gex_AM_CommitReplyMedium0(sd, MED_REP, 8);
      break;
    case C_reply_prepare_lc_group: (void)gex_AM_PrepareReplyMedium(token, bytes, 8, 8, GEX_EVENT_GROUP, 0, 0); break;
    case C_reply_left_open: (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0); break;
    case C_token_mask: {
      gex_Token_Info_t info;
      (void)gex_Token_Info(token, &info, 1u << 20);
      break;
    }
    default: come++;
  }
}
static void in_med_req(gex_Token_t token, void *buf, size_t n) { (void)token, (void)buf, (void)n, come++; }
static void in_reply(gex_Token_t token) {
  if (now == C_reply_in_reply) gex_AM_ReplyShort0(token, SHORT_REP, 0);
  come++;
}
static void misbehave(void) {
#define CASE(name, ...) case C_##name: { __VA_ARGS__; break; }
  switch (now) { CASES default: break; }
}

/* What the others do in cases that begin with collective calls. */
static void join_in(void) {
  gex_TM_t team;
  gex_AD_t ad;
  if (now == C_domain_differs) make_domain(GEX_FLAG_AD_FAVOR_REMOTE);
  if (now == C_query_of_ended) {
    gex_TM_Split(&team, tm, 0, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    (void)gex_TM_Destroy(team, NULL, 0);
  }
  if (now == C_domain_ended) {
    gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD, 0);
    gex_AD_Destroy(ad);
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "-l") == 0) {
    for (now = 0; now < C_COUNT; now++) printf("%s\n", names[now]);
    return 0;
  }
  begin_with(argc > 2 && strcmp(argv[2], "gasnet1") == 0 ? GEX_FLAG_USES_GASNET1 : 0, "testbad", &argc, &argv);
  for (now = 0; now < C_COUNT; now++)
    if (argc > 1 && (strcmp(argv[1], names[now]) == 0 || (argv[1][0] >= '0' && argv[1][0] <= '9' && atoi(argv[1]) == now))) break;
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas(GASNET_PAGESIZE);
  if (me == 0) {
    int i;
    misbehave();
    for (i = 0; i < 2000000 && come == 0; i++) (void)gasnet_AMPoll(); /* others notice it */
    if (now < C_COUNT) say("ERROR: case %s was not noticed", names[now]);
  }
  if (me != 0) join_in();
  BARRIER();
  gasnet_exit(0);
  return 0;
}
