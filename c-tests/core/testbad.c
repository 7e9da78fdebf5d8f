/* Bad input: list B, items 38 and 39, and core.md §4, §5, §9 as far as a client can break the rules.
 *
 *   testbad            every call that must be refused with an error code, by every node at once, on memory full of a
 *                      pattern; then every node checks that no byte changed and that the job still works
 *   testbad NAME       one misuse that must end the job, by the last node      testbad -l   lists them
 *
 * Our library refuses in every build: a rank out of range, a payload over the limit, more than 16 arguments, a Long
 * target outside the segment: GASNET_ERR_BAD_ARG and one line on stderr. A misuse by NAME ends the job: "*** FATAL
 * ERROR:" with node and cause, SIGABRT. If a release build only returns an error code, the program prints REFUSED and
 * ends with 4. If the library does not notice the misuse, it prints MISSED and ends with 3. */
#include "../test.h"

#include <stdint.h>
#include <time.h>

enum { H_QUIET = 200, H_COUNT, H_REPLY_TWICE, H_ASK, H_REPLY_FROM_REPLY, H_KEEP, H_REQUEST, H_POLL, H_BARRIER,
       H_BLOCKUNTIL, H_NULL_SOURCE, H_ASK_UNREGISTERED, H_ASK_LIBRARYS, H_BAD_REPLIES, H_REPLY_NULL, H_REQUEST_FROM_REPLY,
       H_ASK_REQUEST, UNREGISTERED = 222 };
enum { PAGES = 4, GUARD = 64 };

static gasnet_node_t me, nodes;
static gasnet_seginfo_t *seg;
static int early[10]; /* what calls before gasnet_init and before gasnet_attach said */
static const char *const early_names[10] = {"gasnet_attach", "gasnet_AMRequestShort0", "gasnet_AMPoll",
                                            "gasnet_getSegmentInfo", "gasnet_AMRequestMedium0",
                                            "between: gasnet_AMRequestShort0", "between: gasnet_AMPoll",
                                            "between: gasnet_getSegmentInfo", "between: gasnet_AMRequestMedium0",
                                            "between: gasnet_AMRequestLong0"};

static void must_not_run(gasnet_token_t token) {
  (void)token;
  CHECK(0, "a refused request was delivered");
}
static volatile int counted, bad_replies_done;
static void count(gasnet_token_t token) { (void)token, counted++; }

/* ---- calls that are refused with an error code ------------------------------------------------------------------- */

#define REFUSED(call) refused((call), __LINE__, #call)
static void refused(int rc, int line, const char *call) {
  CHECK(rc == GASNET_ERR_BAD_ARG, "line %d: %s says %s", line, call, gasnet_ErrorName(rc));
}

/* Ranks: the next one, some far ones, all ones; every category, numbered and not. */
static void bad_ranks(void) {
  gasnet_node_t ranks[5];
  char x[8] = "payload";
  void *at = seg[me].addr;
  int i;
  ranks[0] = nodes, ranks[1] = nodes + 1, ranks[2] = nodes + 65536, ranks[3] = 0x80000000u,
      ranks[4] = (gasnet_node_t)-1;
  for (i = 0; i < 5; i++) {
    REFUSED(gasnet_AMRequestShort0(ranks[i], H_QUIET));
    REFUSED(gasnet_AMRequestShort16(ranks[i], H_QUIET, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    REFUSED(gasnet_AMRequestMedium0(ranks[i], H_QUIET, x, 8));
    REFUSED(gasnet_AMRequestMedium0(ranks[i], H_QUIET, x, 0));
    REFUSED(gasnet_AMRequestLong0(ranks[i], H_QUIET, x, 8, at));
    REFUSED(gasnet_AMRequestLong0(ranks[i], H_QUIET, x, 0, at));
    REFUSED(gasnet_AMRequestLongAsync0(ranks[i], H_QUIET, x, 8, at));
    REFUSED(gasnet_AMRequestShort(ranks[i], H_QUIET, 0));
    REFUSED(gasnet_AMRequestMedium(ranks[i], H_QUIET, x, 8, 1, 5));
    REFUSED(gasnet_AMRequestLong(ranks[i], H_QUIET, x, 8, at, 2, 5, 6));
  }
}

/* Payloads one byte over the limit, and as long as the address space. The source is not readable, because a correct
 * library refuses the call before it reads. */
static void bad_sizes(gasnet_node_t to) {
  size_t sizes[3];
  char x[8] = "payload";
  int i;
  sizes[1] = (size_t)1 << 40, sizes[2] = ~(size_t)0;
  for (i = 0; i < 3; i++) {
    sizes[0] = gasnet_AMMaxMedium() + 1;
    REFUSED(gasnet_AMRequestMedium0(to, H_QUIET, x, sizes[i]));
    REFUSED(gasnet_AMRequestMedium(to, H_QUIET, x, sizes[i], 1, 5));
    sizes[0] = gasnet_AMMaxLongRequest() + 1;
    REFUSED(gasnet_AMRequestLong0(to, H_QUIET, x, sizes[i], seg[to].addr));
    REFUSED(gasnet_AMRequestLongAsync0(to, H_QUIET, x, sizes[i], seg[to].addr));
  }
}

/* More arguments than there are, and fewer than none. */
static void bad_counts(gasnet_node_t to) {
  char x[8] = "payload";
  REFUSED(gasnet_AMRequestShort(to, H_QUIET, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
  REFUSED(gasnet_AMRequestMedium(to, H_QUIET, x, 8, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
  REFUSED(gasnet_AMRequestLong(to, H_QUIET, x, 8, seg[to].addr, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                               16, 17));
  REFUSED(gasnet_AMRequestShort(to, H_QUIET, -1));
}

#ifndef GASNET_SEGMENT_EVERYTHING
/* Where a Long must not go: around node `to`'s segment, and far away from it. */
static void bad_targets(gasnet_node_t to) {
  char *base = seg[to].addr, *end = base + seg[to].size;
  char x[GUARD];
  struct {
    char *at;
    size_t n;
  } bad[12];
  size_t i, count = 0;
  memset(x, 0xEE, sizeof x);
#define ADD(a, b) (bad[count].at = (a), bad[count].n = (b), count++)
  ADD(base - 1, 1);                                     /* right before */
  ADD(base - 1, GUARD);                                 /* into it from before */
  ADD(base - GUARD, GUARD);                             /* up to its first byte */
  ADD(end, 1);                                          /* right behind */
  ADD(end - 1, 2);                                      /* out of it */
  ADD(end - GUARD + 1, GUARD);                          /* the same, large */
  ADD(end + ((size_t)1 << 40), 8);                      /* far behind */
  ADD((char *)(uintptr_t)8, 8);                         /* near 0 */
  ADD(NULL, 8);
  ADD((char *)~(uintptr_t)7, 8);                        /* wraps to 0 */
  ADD((char *)(~(uintptr_t)0 - 3), GUARD);              /* wraps beyond 0 */
  ADD(x, 8);                                            /* my own stack */
  for (i = 0; i < count; i++) {
    REFUSED(gasnet_AMRequestLong0(to, H_QUIET, x, bad[i].n, bad[i].at));
    REFUSED(gasnet_AMRequestLongAsync0(to, H_QUIET, x, bad[i].n, bad[i].at));
    REFUSED(gasnet_AMRequestLong(to, H_QUIET, x, bad[i].n, bad[i].at, 1, 5));
  }
  REFUSED(gasnet_AMRequestLong0(to, H_QUIET, base, (size_t)seg[to].size + 1, base));
  /* my segment, unless where it is here the peer has its own (without the window) */
  if ((uintptr_t)seg[me].addr - (uintptr_t)seg[to].addr >= seg[to].size) REFUSED(gasnet_AMRequestLong0(to, H_QUIET, x, 8, seg[me].addr));
  for (i = 0; i < sizeof x; i++) CHECK(x[i] == (char)0xEE, "byte %d of the source, also a refused target", (int)i);
}
#endif

/* The same limits hold for replies: sent back where the request came from. */
static void bad_replies(gasnet_token_t token) {
  char x[8] = "payload";
  gasnet_node_t from = 0;
  gasnet_AMGetMsgSource(token, &from);
  REFUSED(gasnet_AMReplyMedium0(token, H_QUIET, x, gasnet_AMMaxMedium() + 1));
  REFUSED(gasnet_AMReplyLong0(token, H_QUIET, x, gasnet_AMMaxLongReply() + 1, seg[from].addr));
  REFUSED(gasnet_AMReplyShort(token, H_QUIET, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
#ifndef GASNET_SEGMENT_EVERYTHING
  REFUSED(gasnet_AMReplyLong0(token, H_QUIET, x, 8, (char *)seg[from].addr + seg[from].size - 7));
  REFUSED(gasnet_AMReplyLong0(token, H_QUIET, x, 8, (char *)seg[from].addr - 1));
#endif
  CHECK(gasnet_AMReplyShort0(token, H_COUNT) == GASNET_OK, "a refused reply is no reply: the right one must work");
  bad_replies_done++;
}

static void other_calls(void) {
  gasnet_seginfo_t one;
  CHECK(gasnet_getSegmentInfo(&one, -1) == GASNET_ERR_BAD_ARG, "negative count");
  CHECK(gasnet_set_waitmode(3) == GASNET_ERR_BAD_ARG && gasnet_set_waitmode(-1) == GASNET_ERR_BAD_ARG, "wait mode");
  CHECK(gasnet_init(NULL, NULL) == GASNET_ERR_NOT_INIT, "second gasnet_init");
  CHECK(gasnet_attach(NULL, 0, 0, 0) == GASNET_ERR_NOT_INIT, "second gasnet_attach");
#ifdef GASNET_DEBUG
  {
    gasnet_node_t from;
    CHECK(gasnet_AMGetMsgSource(NULL, &from) == GASNET_ERR_BAD_ARG, "NULL token");
  }
#endif
}

#ifndef GASNET_SEGMENT_EVERYTHING
static void check_guards(void) {
  size_t at = test_differs(seg[me].addr, seg[me].size, (unsigned)me);
  CHECK(at == seg[me].size, "byte %d of my segment changed", (int)at);
}
#endif

static void run_refused(void) {
  gasnet_node_t to;
  unsigned char *around = malloc(3 * GUARD);
  int i;
  for (i = 0; i < 10; i++)
    CHECK(early[i] == GASNET_ERR_NOT_INIT, "too early: %s says %s", early_names[i], gasnet_ErrorName(early[i]));
  test_fill(around, 3 * GUARD, 4711);
#ifndef GASNET_SEGMENT_EVERYTHING
  test_fill(seg[me].addr, seg[me].size, (unsigned)me);
#endif
  test_barrier();
  bad_ranks();
  other_calls();
  for (to = 0; to < nodes; to++) {
    bad_sizes(to);
    bad_counts(to);
#ifndef GASNET_SEGMENT_EVERYTHING
    bad_targets(to);
#endif
  }
  for (to = 0; to < nodes; to++) GASNET_SAFE(gasnet_AMRequestShort0(to, H_BAD_REPLIES));
  GASNET_BLOCKUNTIL(counted == (int)nodes && bad_replies_done == (int)nodes);
  test_barrier();
#ifndef GASNET_SEGMENT_EVERYTHING
  check_guards();
#endif
  CHECK(test_differs(around, 3 * GUARD, 4711) == 3 * GUARD, "my heap changed");
  for (to = 0; to < nodes; to++) GASNET_SAFE(gasnet_AMRequestShort0(to, H_COUNT)); /* it all still works */
  GASNET_BLOCKUNTIL(counted == 2 * (int)nodes);
  free(around);
  test_end();
}

/* ---- misuse that ends the job ------------------------------------------------------------------------------------ */

static int result = GASNET_OK; /* of the call that must not succeed */
static volatile int handled;
static void keep(int rc) {
  result = rc;
  handled = 1;
}

/* Sends the request to this node itself, so that the fault is the last node's, and waits for its handler. */
static void to_myself(gasnet_handler_t handler) {
  int i;
  GASNET_SAFE(gasnet_AMRequestShort0(me, handler));
  for (i = 0; i < 100000 && !handled; i++) GASNET_SAFE(gasnet_AMPoll());
}

static gasnet_token_t kept_token;
static void keep_token(gasnet_token_t token) { kept_token = token, handled = 1; }
static void reply_twice(gasnet_token_t token) {
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_COUNT));
  keep(gasnet_AMReplyShort0(token, H_COUNT));
}
static void ask(gasnet_token_t token) { GASNET_SAFE(gasnet_AMReplyShort0(token, H_REPLY_FROM_REPLY)); }
static void reply_from_reply(gasnet_token_t token) { keep(gasnet_AMReplyShort0(token, H_COUNT)); }
static void ask_request(gasnet_token_t token) { GASNET_SAFE(gasnet_AMReplyShort0(token, H_REQUEST_FROM_REPLY)); }
static void request(gasnet_token_t token) { (void)token, keep(gasnet_AMRequestShort0(me, H_COUNT)); }
static void polls(gasnet_token_t token) { (void)token, keep(gasnet_AMPoll()); }
static void barrier(gasnet_token_t token) {
  (void)token, gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  handled = 1;
}
static int evaluations;
static time_t waits_until; /* 0: the handler asks three times */
static void blockuntil(gasnet_token_t token) {
  (void)token;
  GASNET_BLOCKUNTIL(evaluations++ > 2 && time(NULL) >= waits_until);
  handled = 1;
}
static void null_source(gasnet_token_t token) { keep(gasnet_AMGetMsgSource(token, NULL)); }
static void ask_unregistered(gasnet_token_t token) { (void)gasnet_AMReplyShort0(token, UNREGISTERED); }
static void reply_null(gasnet_token_t token) { (void)token, keep(gasnet_AMReplyShort0(NULL, H_COUNT)); }

static void m_unregistered(void) { /* to the first node: the message names both */
  int i;
  GASNET_SAFE(gasnet_AMRequestShort0(0, UNREGISTERED));
  for (i = 0; i < 2000000000; i++) (void)gasnet_AMPoll();
}
static void m_unregistered_reply(void) {
  int i;
  GASNET_SAFE(gasnet_AMRequestShort0(0, H_ASK_UNREGISTERED));
  for (i = 0; i < 2000000000; i++) (void)gasnet_AMPoll();
}
/* Indices of the library: each call that sends, with the index as a constant and not. */
enum { LIBRARYS = 112 };
static volatile gasnet_handler_t librarys = 67;
static void ask_librarys(gasnet_token_t token) { (void)gasnet_AMReplyShort0(token, librarys); }
static void m_librarys_short(void) { (void)gasnet_AMRequestShort2((gasnet_node_t)(gasnet_nodes() - 1), LIBRARYS, 0, 0); }
static void m_librarys_variable(void) { (void)gasnet_AMRequestShort1((gasnet_node_t)(gasnet_nodes() - 1), librarys, 0); }
static void m_librarys_medium(void) {
  char text[8] = "library";
  (void)gasnet_AMRequestMedium2((gasnet_node_t)(gasnet_nodes() - 1), LIBRARYS, text, sizeof text, 0, 0);
}
static void m_librarys_long(void) {
  gasnet_node_t last = (gasnet_node_t)(gasnet_nodes() - 1);
  gasnet_seginfo_t *segments = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof *segments);
  if (segments == NULL || gasnet_getSegmentInfo(segments, (int)gasnet_nodes()) != GASNET_OK) abort();
  (void)gasnet_AMRequestLong0(last, 0, segments, 8, segments[last].addr);
}
static void m_librarys_reply(void) { to_myself(H_ASK_LIBRARYS); }
static void m_reply_outside(void) { keep(gasnet_AMReplyShort0(NULL, H_COUNT)); }
static void m_reply_null(void) { to_myself(H_REPLY_NULL); }
static void m_reply_twice(void) { to_myself(H_REPLY_TWICE); }
static void m_reply_from_reply(void) { to_myself(H_ASK); }
static void m_stale_token(void) {
  to_myself(H_KEEP);
  keep(gasnet_AMReplyShort0(kept_token, H_COUNT));
}
static void m_stale_source(void) {
  gasnet_node_t from;
  to_myself(H_KEEP);
  keep(gasnet_AMGetMsgSource(kept_token, &from));
}
static void m_request(void) { to_myself(H_REQUEST); }
static void m_request_from_reply(void) { to_myself(H_ASK_REQUEST); }
static void m_poll(void) { to_myself(H_POLL); }
static void m_barrier(void) { to_myself(H_BARRIER); }
static void m_blockuntil(void) { to_myself(H_BLOCKUNTIL); }
static void m_blockuntil_long(void) {
  waits_until = time(NULL) + 7;
  to_myself(H_BLOCKUNTIL);
}
static void m_null_source(void) { to_myself(H_NULL_SOURCE); }

/* Calls without an int to say it with, too early: run by main at their place. */
static void m_nowhere(void) {}

static const struct {
  const char *name;
  void (*run)(void);
} misuses[] = {{"unregistered", m_unregistered}, {"unregistered-reply", m_unregistered_reply},
               {"librarys-short", m_librarys_short}, {"librarys-variable", m_librarys_variable},
               {"librarys-medium", m_librarys_medium}, {"librarys-long", m_librarys_long},
               {"librarys-reply", m_librarys_reply},
               {"reply-outside", m_reply_outside}, {"reply-null", m_reply_null}, {"reply-twice", m_reply_twice},
               {"reply-from-reply", m_reply_from_reply}, {"stale-token", m_stale_token},
               {"stale-source", m_stale_source},
               {"request", m_request}, {"request-from-reply", m_request_from_reply}, {"poll", m_poll},
               {"barrier", m_barrier}, {"blockuntil", m_blockuntil}, {"blockuntil-long", m_blockuntil_long},
               {"null-source", m_null_source},
               {"before-init-mynode", m_nowhere}, {"before-init-notify", m_nowhere}, {"before-init-wait", m_nowhere},
               {"before-attach-notify", m_nowhere}, {"before-attach-wait", m_nowhere},
               {"before-attach-blockuntil", m_nowhere}};

static void missed(const char *name) {
  if (result == GASNET_OK)
    printf("testbad: MISSED %s\n", name);
  else
    printf("testbad: REFUSED %s: %s\n", name, gasnet_ErrorName(result));
  fflush(stdout);
  _exit(result == GASNET_OK ? 3 : 4);
}

static void early_calls(int *said) {
  gasnet_seginfo_t one;
  char x = 'x';
  said[0] = gasnet_AMRequestShort0(0, H_QUIET);
  said[1] = gasnet_AMPoll();
  said[2] = gasnet_getSegmentInfo(&one, 1);
  said[3] = gasnet_AMRequestMedium0(0, H_QUIET, &x, 1);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_QUIET, must_not_run}, {H_COUNT, count}, {H_REPLY_TWICE, reply_twice},
                                   {H_ASK, ask},
                                   {H_REPLY_FROM_REPLY, reply_from_reply}, {H_KEEP, keep_token}, {H_REQUEST, request},
                                   {H_POLL, polls}, {H_BARRIER, barrier}, {H_BLOCKUNTIL, blockuntil},
                                   {H_NULL_SOURCE, null_source}, {H_ASK_UNREGISTERED, ask_unregistered},
                                   {H_ASK_LIBRARYS, ask_librarys},
                                   {H_BAD_REPLIES, bad_replies}, {H_REPLY_NULL, reply_null},
                                   {H_REQUEST_FROM_REPLY, request}, {H_ASK_REQUEST, ask_request}};
  const char *name = argc > 1 ? argv[1] : NULL;
  size_t i, count_of = sizeof misuses / sizeof *misuses;
  char x = 'x';
  if (name && strcmp(name, "-l") == 0) {
    for (i = 0; i < count_of; i++) puts(misuses[i].name);
    return 0;
  }
  alarm(60);
  if (!name) {
    early[0] = gasnet_attach(NULL, 0, 0, 0);
    early_calls(early + 1);
  } else if (strcmp(name, "before-init-mynode") == 0) {
    (void)gasnet_mynode();
    missed(name);
  } else if (strcmp(name, "before-init-notify") == 0) {
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    missed(name);
  } else if (strcmp(name, "before-init-wait") == 0) {
    result = gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    missed(name);
  }
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(60);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  test_name = "testbad";
  if (!name) {
    early_calls(early + 5);
    early[9] = gasnet_AMRequestLong0(0, H_QUIET, &x, 1, &x);
  } else if (me == nodes - 1 && strncmp(name, "before-attach-", 14) == 0) {
    if (strcmp(name, "before-attach-notify") == 0)
      gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    else if (strcmp(name, "before-attach-wait") == 0)
      result = gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    else
      GASNET_BLOCKUNTIL(evaluations++ > 2);
    missed(name);
  }
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), (uintptr_t)PAGES * GASNET_PAGESIZE, 0));
  seg = malloc(nodes * sizeof *seg);
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)nodes));
  test_begin("testbad");
  if (!name) run_refused();
  for (i = 0; i < count_of && strcmp(name, misuses[i].name); i++) continue;
  if (i == count_of) {
    if (me == 0) fprintf(stderr, "testbad: no misuse %s; -l lists them\n", name);
    gasnet_exit(2);
  }
  if (me != nodes - 1)
    for (;;) test_barrier();
  misuses[i].run();
  missed(name);
  return 0;
}
