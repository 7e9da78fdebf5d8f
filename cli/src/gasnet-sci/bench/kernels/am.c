/* Active Messages between a node and its peer. */
#include "bench.h"

enum { SHORT_ASK = 200, MEDIUM_ASK, LONG_ASK, SHORT_COUNT, MEDIUM_COUNT, LONG_COUNT, EX_ASK, FULL_ASK, FULL_COUNT, READ_COUNT };
#define EX_COUNT SHORT_COUNT /* a handler that only counts is the same in both APIs */

static volatile long bench_seen, bench_served; /* messages that count; requests replied to */

#define OK(call) ((call) == GASNET_OK ? (void)0 : gasnet_exit(99))

static void short_ask(gasnet_token_t token, gasnet_handlerarg_t a) {
  bench_served++;
  OK(gasnet_AMReplyShort1(token, SHORT_COUNT, a));
}
static void medium_ask(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a) {
  bench_served++;
  OK(gasnet_AMReplyMedium1(token, MEDIUM_COUNT, buf, nbytes, a));
}
static void long_ask(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a) {
  bench_served++;
  OK(gasnet_AMReplyLong1(token, LONG_COUNT, buf, nbytes, bench_remote + MAXBYTES, a));
}
static void short_count(gasnet_token_t token, gasnet_handlerarg_t a) {
  (void)token, (void)a;
  bench_seen++;
}
static void count(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a) {
  (void)token, (void)buf, (void)nbytes, (void)a;
  bench_seen++;
}

static void read_count(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a) {
  (void)token, (void)a;
  bench_read(buf, nbytes);
  bench_seen++;
}

/* Fourteen arguments: as many as fit into a message's line. */
#define FULL(each) each a, each b, each c, each d, each e, each f, each g, each h, each i, each j, each k, each l, each m, each o
#define FULL_SUM (a + b + c + d + e + f + g + h + i + j + k + l + m + o)
static void full_ask(gasnet_token_t token, FULL(gasnet_handlerarg_t)) {
  bench_served++;
  OK(gasnet_AMReplyShort14(token, FULL_COUNT, FULL()));
}
static void full_count(gasnet_token_t token, FULL(gasnet_handlerarg_t)) {
  (void)token;
  if (FULL_SUM == 14 * 7) bench_seen++;
}

static void ex_ask(gex_Token_t token, gex_AM_Arg_t a) {
  bench_served++;
  OK(gex_AM_ReplyShort1(token, EX_COUNT, 0, a));
}

void BENCH(am_table)(gasnet_handlerentry_t *table) {
  const gasnet_handlerentry_t all[AM_HANDLERS] = {
      {SHORT_ASK, (void (*)())short_ask},     {MEDIUM_ASK, (void (*)())medium_ask}, {LONG_ASK, (void (*)())long_ask},
      {SHORT_COUNT, (void (*)())short_count}, {MEDIUM_COUNT, (void (*)())count},    {LONG_COUNT, (void (*)())count},
      {EX_ASK, (void (*)())ex_ask},           {FULL_ASK, (void (*)())full_ask},     {FULL_COUNT, (void (*)())full_count},
      {READ_COUNT, (void (*)())read_count}};
  memcpy(table, all, sizeof all);
}

/* Values of the counters after the kernels so far. The counters are never set back, because a peer that is ahead may already
 * have sent messages of the next kernel. */
static long seen, served;

/* One set of kernels per category, and one of GASNet-EX; SEND(handler) makes a request. */
#define SEND_SHORT(handler) OK(gasnet_AMRequestShort1(bench_peer, SHORT_##handler, 7))
#define SEND_MEDIUM(handler) OK(gasnet_AMRequestMedium1(bench_peer, MEDIUM_##handler, bench_local, bytes, 7))
#define SEND_LONG(handler) OK(gasnet_AMRequestLong1(bench_peer, LONG_##handler, bench_local, bytes, bench_remote, 7))

#define SEND_EX(handler) OK(gex_AM_RequestShort1(bench_tm, bench_peer, EX_##handler, 0, 7))

#define SEND_FULL(handler) OK(gasnet_AMRequestShort14(bench_peer, FULL_##handler, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7))

#define KERNEL(name, even, odd)                                                                                      \
  double BENCH(name)(long n, size_t bytes) {                                                                         \
    const double start = bench_now();                                                                                \
    long i;                                                                                                          \
    (void)bytes;                                                                                                     \
    if (bench_me % 2 == 0) {                                                                                         \
      even;                                                                                                          \
    } else {                                                                                                         \
      odd;                                                                                                           \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  }                                                                                                                  \
  struct bench_semicolon
#define EACH for (i = 0; i < n; i++)
/* Polls until `more` further messages have come. */
#define AWAIT(counter, more)                                                                                         \
  do {                                                                                                               \
    counter += (more);                                                                                               \
    GASNET_BLOCKUNTIL(bench_##counter - counter >= 0);                                                               \
  } while (0)

#define KERNELS(category, SEND)                                                                                      \
  /* A request and its reply, one pair at a time; even nodes ask. */                                                 \
  KERNEL(category##_reply_trip, EACH { SEND(ASK); AWAIT(seen, 1); }, (void)i; AWAIT(served, n));                     \
  /* A request each way. */                                                                                          \
  KERNEL(category##_request_trip, EACH { SEND(COUNT); AWAIT(seen, 1); }, EACH { AWAIT(seen, 1); SEND(COUNT); });     \
  /* Requests as fast as they go; one Short says that all have been handled. */                                      \
  KERNEL(category##_flood, EACH SEND(COUNT); AWAIT(seen, 1), (void)i; AWAIT(seen, n); SEND_SHORT(COUNT));            \
  /* The same, and each is replied to. */                                                                            \
  KERNEL(category##_reply_flood, EACH SEND(ASK); AWAIT(seen, n), (void)i; AWAIT(served, n))

KERNELS(short, SEND_SHORT);
KERNELS(medium, SEND_MEDIUM);
KERNELS(long, SEND_LONG);
KERNELS(ex_short, SEND_EX);
/* A Medium to oneself, until its handler has run. */
KERNEL(ex_medium_self, EACH { OK(gex_AM_RequestMedium1(bench_tm, bench_me, MEDIUM_COUNT, bench_local, bytes, GEX_EVENT_NOW, 0, 7)); AWAIT(seen, 1); },
       (void)i);
KERNEL(full_short_reply_trip, EACH { SEND_FULL(ASK); AWAIT(seen, 1); }, (void)i; AWAIT(served, n));

/* The lowest layer of `bench --layers`: a message of so many bytes, by the category that a client would take. */
#define MEDIUM_MOST (64 << 10)
static void hal_send(size_t bytes) {
  if (bytes <= sizeof(gasnet_handlerarg_t))
    SEND_SHORT(COUNT);
  else if (bytes <= MEDIUM_MOST)
    OK(gasnet_AMRequestMedium1(bench_peer, READ_COUNT, bench_local, bytes, 7));
  else
    OK(gasnet_AMRequestLong1(bench_peer, READ_COUNT, bench_local, bytes, bench_remote, 7));
}
KERNEL(hal_trip, EACH { hal_send(bytes); AWAIT(seen, 1); }, EACH { AWAIT(seen, 1); hal_send(bytes); });
/* One each way at once. */
KERNEL(hal_exchange, EACH { hal_send(bytes); AWAIT(seen, 1); }, EACH { hal_send(bytes); AWAIT(seen, 1); });

/* Requests whose payloads the client packs: into its own memory, for the call that copies, or where the library says. */
static void pack(void *at, size_t bytes) { memcpy(at, bench_local + MAXBYTES / 2, bytes); }
static void pack_and_send(size_t bytes) {
  pack(bench_local, bytes);
  OK(gasnet_AMRequestMedium1(bench_peer, MEDIUM_COUNT, bench_local, bytes, 7));
}
static void pack_in_place(size_t bytes) {
  gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(bench_tm, bench_peer, NULL, bytes, bytes, NULL, 0, 1);
  pack(gex_AM_SrcDescAddr(sd), bytes);
  gex_AM_CommitRequestMedium1(sd, MEDIUM_COUNT, bytes, 7);
}
KERNEL(packed_flood, EACH pack_and_send(bytes); AWAIT(seen, 1), (void)i; AWAIT(seen, n); SEND_SHORT(COUNT));
KERNEL(packed_in_place_flood, EACH pack_in_place(bytes); AWAIT(seen, 1), (void)i; AWAIT(seen, n); SEND_SHORT(COUNT));

/* ---- jobs on two hosts ---- */

void BENCH(rouse)(gasnet_node_t node) { OK(gasnet_AMRequestShort1(node, SHORT_COUNT, 7)); }
void BENCH(rest)(void) {
  seen++;
  while (bench_seen - seen < 0) {
    usleep(2000);
    gasnet_AMPoll();
  }
}

/* A Short and its reply between nodes 0 and 1, which share a host, while all others rest. Before it come some milliseconds of polls
 * in vain. After them the others sleep, which may share cores with these two; and the library takes the network for quiet: after
 * something has come, the next 1024 polls look at it each time (WARM in src/sci/far). */
double BENCH(near_trip)(long n, size_t bytes) {
  double took;
  gasnet_node_t node;
  double quiet;
  if (bench_me > 1) {
    BENCH(rest)();
    return 0;
  }
  for (quiet = bench_now() + 5e6; bench_now() < quiet;) gasnet_AMPoll();
  took = BENCH(short_reply_trip)(n, bytes);
  if (bench_me == 0)
    for (node = 2; node < bench_nodes; node++) BENCH(rouse)(node);
  return took;
}
