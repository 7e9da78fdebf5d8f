/* The GASNet side of ci/bench-peers: the same patterns as mpi.c, shmem.c and ucx_perftest, in GASNet's words. Public names
 * only. */
#include <gasnet.h>

#include "peers.h"

#define LOCALLY (GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)
#define OURS "gasnet-sci native"
enum { SHORT_REQ = 200, SHORT_REP, MEDIUM_REQ, MEDIUM_REP, LONG_REQ, LONG_REP, COUNT_ONE, COUNT_MEDIUM, COUNT_LONG };

static unsigned char *src, *dst;         /* in my segment */
static unsigned char *mine, *landing;    /* ordinary memory, as the other programs have it on their own side of a transfer */
static unsigned char *their_dst;         /* of the next node */
static unsigned char **src_of, **dst_of; /* of every node */
static volatile long seen, answered;      /* changed by handlers */
static gex_TM_t everyone;                /* as GASNet-EX names all nodes */
static int checking;

/* ---- what peers.h wants ---- */

static void everybody(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(1);
}

static double slowest(double microseconds) {
  double all[256];
  int i;
  gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &microseconds, sizeof microseconds, LOCALLY);
  for (i = 0; i < nodes; i++)
    if (all[i] > microseconds) microseconds = all[i];
  return microseconds;
}

static void give_up(void) { gasnet_exit(1); }

/* ---- handlers ---- */

static void short_req(gasnet_token_t token, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
  seen++;
  gasnet_AMReplyShort2(token, SHORT_REP, a, b);
}
static void short_rep(gasnet_token_t token, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
  (void)token, (void)a, (void)b;
  answered++;
}
/* Each side sends a buffer of its own; none forwards the one it got. Handlers do not read a Medium, as in ucx_perftest. */
static void medium_req(gasnet_token_t token, void *at, size_t bytes) {
  seen++;
  if (checking) expect("request", at, bytes, 1);
  gasnet_AMReplyMedium0(token, MEDIUM_REP, mine, bytes);
}
static void long_req(gasnet_token_t token, void *at, size_t bytes) {
  seen++;
  if (checking) expect("request", at, bytes, 1);
  gasnet_AMReplyLong0(token, LONG_REP, mine, bytes, dst_of[0]);
}
static void payload_rep(gasnet_token_t token, void *at, size_t bytes) {
  (void)token;
  if (checking) expect("reply", at, bytes, 2);
  answered++;
}
static void count_one(gasnet_token_t token, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
  (void)token, (void)a, (void)b;
  seen++;
}
static void count_payload(gasnet_token_t token, void *at, size_t bytes) {
  (void)token;
  if (checking) expect("request", at, bytes, 1);
  seen++;
}

/* ---- active messages ---- */

/* How many messages this node will have seen when the pattern under way is over. It is not counted from `seen` at the pattern's
 * start: node 0 may come out of the last collective first, and its next messages may be seen in that collective here. */
static long due;

/* Node 0 asks, node 1 answers; `count` times. */
#define ROUND_TRIP(name, request)                                \
  static void name(size_t bytes, long count) {                   \
    long i;                                                      \
    (void)bytes;                                                 \
    if (me == 0) {                                               \
      for (i = 0; i < count; i++) {                              \
        long before = answered;                                  \
        request;                                                 \
        GASNET_BLOCKUNTIL(answered != before);                   \
      }                                                          \
    } else {                                                     \
      due += count;                                              \
      GASNET_BLOCKUNTIL(seen >= due);                            \
    }                                                            \
  }
ROUND_TRIP(short_trip, gasnet_AMRequestShort2(1, SHORT_REQ, 1, 2))
ROUND_TRIP(medium_trip, gasnet_AMRequestMedium0(1, MEDIUM_REQ, mine, bytes))
ROUND_TRIP(long_trip, gasnet_AMRequestLong0(1, LONG_REQ, mine, bytes, their_dst))

/* Node 0 sends, node 1 takes, and says once that it has all. */
#define FLOOD(name, request)                       \
  static void name(size_t bytes, long count) {     \
    long i;                                        \
    (void)bytes;                                   \
    due += me == 0 ? 1 : count;                    \
    if (me == 0) {                                 \
      for (i = 0; i < count; i++) request;         \
      GASNET_BLOCKUNTIL(seen >= due);              \
    } else {                                       \
      GASNET_BLOCKUNTIL(seen >= due);              \
      gasnet_AMRequestShort2(0, COUNT_ONE, 0, 0);  \
    }                                              \
  }
FLOOD(short_flood, gasnet_AMRequestShort2(1, COUNT_ONE, 1, 2))
FLOOD(medium_flood, gasnet_AMRequestMedium0(1, COUNT_MEDIUM, mine, bytes))
FLOOD(long_flood, gasnet_AMRequestLong0(1, COUNT_LONG, mine, bytes, their_dst))

/* The limit of a round trip: one line there, one line back, no library in between. A put of a word is a store here. */
static void line_trip(size_t bytes, long count) {
  static uint64_t last;
  volatile uint64_t *mine = (volatile uint64_t *)(void *)(dst + LARGEST);
  void *theirs = their_dst + LARGEST;
  (void)bytes;
  for (; count > 0; count--) {
    last++;
    if (me == 0) gasnet_put_val(1, theirs, last, 8);
    while (*mine < last) continue;
    if (me == 1) gasnet_put_val(0, theirs, last, 8);
  }
}

/* The limit of messages with payload: a copy to the other's memory, then a word that says so; the same back. */
static void copy_trip(size_t bytes, long count) {
  static uint64_t last;
  volatile uint64_t *flag = (volatile uint64_t *)(void *)(dst + LARGEST + 256);
  void *theirs = their_dst + LARGEST + 256;
  for (; count > 0; count--) {
    last++;
    if (me == 0) {
      gasnet_put(1, their_dst, mine, bytes);
      gasnet_put_val(1, theirs, last, 8);
    }
    while (*flag < last) continue;
    if (me == 1) {
      gasnet_put(0, their_dst, mine, bytes);
      gasnet_put_val(0, theirs, last, 8);
    }
  }
}

/* A round trip of puts, with the waiting of a client that lets the library run. */
static void put_trip(size_t bytes, long count) {
  static uint64_t last;
  volatile uint64_t *mine = (volatile uint64_t *)(void *)(dst + LARGEST + 128);
  (void)bytes;
  for (; count > 0; count--) {
    last++;
    if (me == 0) gasnet_put(1, their_dst + LARGEST + 128, &last, 8);
    GASNET_BLOCKUNTIL(*mine >= last);
    if (me == 1) gasnet_put(0, their_dst + LARGEST + 128, &last, 8);
  }
}

/* The limit of a put: a copy from one's own memory to a segment. */
static void plain_copy(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) {
      memcpy(dst, mine, bytes);
      __asm__ volatile("" ::: "memory");
    }
}

static void checked(pattern *run, size_t bytes) {
  checking = 1;
  run(bytes, 3);
  everybody();
  checking = 0;
}

static void am(void) {
  const size_t *n;
  row("limit", "am", "short message round trip", 8, "us", time_of(line_trip, 8));
  row(OURS, "am", "short message round trip", 8, "us", time_of(short_trip, 8));
  row(OURS, "am", "short message flood", 8, "ns", time_of(short_flood, 8));
  for (n = medium_sizes; *n; n++) {
    row("limit", "am", "medium message round trip", *n, "us", time_of(copy_trip, *n));
    row("limit", "am", "medium message flood", *n, "MB/s", time_of(plain_copy, *n));
    checked(medium_trip, *n);
    row(OURS, "am", "medium message round trip", *n, "us", time_of(medium_trip, *n));
    checked(medium_flood, *n);
    row(OURS, "am", "medium message flood", *n, "MB/s", time_of(medium_flood, *n));
  }
  for (n = transfer_sizes; *n; n++) {
    row("limit", "am", "long message round trip", *n, "us", time_of(copy_trip, *n));
    row("limit", "am", "long message flood", *n, "MB/s", time_of(plain_copy, *n));
    checked(long_trip, *n);
    row(OURS, "am", "long message round trip", *n, "us", time_of(long_trip, *n));
    checked(long_flood, *n);
    row(OURS, "am", "long message flood", *n, "MB/s", time_of(long_flood, *n));
  }
}

/* ---- puts and gets ---- */

static void put(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) gasnet_put(1, their_dst, mine, bytes);
}
static void get(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) gasnet_get(landing, 1, src_of[1], bytes);
}
static void put_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      gasnet_put_nbi(1, their_dst, mine, bytes);
      if (i % WINDOW == 0 || i == count) gasnet_wait_syncnbi_puts();
    }
}
static void get_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      gasnet_get_nbi(landing, 1, src_of[1], bytes);
      if (i % WINDOW == 0 || i == count) gasnet_wait_syncnbi_gets();
    }
}

static void one_sided(const char *operation, const char *unit, pattern *run, size_t bytes, int receiver, unsigned char *at,
                      unsigned seed) {
  memset(at, 0, bytes);
  everybody();
  run(bytes, 1);
  everybody();
  if (me == receiver) expect(operation, at, bytes, seed);
  row(OURS, "rma", operation, bytes, unit, time_of(run, bytes));
}

static void rma(void) {
  const size_t *n;
  row("limit", "rma", "put round trip", 8, "us", time_of(line_trip, 8));
  row(OURS, "rma", "put round trip", 8, "us", time_of(put_trip, 8));
  for (n = transfer_sizes; *n; n++) {
    double copy = time_of(plain_copy, *n);
    row("limit", "rma", "put", *n, "us", copy);
    row("limit", "rma", "get", *n, "us", copy);
    row("limit", "rma", "put flood", *n, "MB/s", copy);
    row("limit", "rma", "get flood", *n, "MB/s", copy);
    one_sided("put", "us", put, *n, 1, dst, 1);
    one_sided("get", "us", get, *n, 0, landing, 2);
    one_sided("put flood", "MB/s", put_flood, *n, 1, dst, 1);
    one_sided("get flood", "MB/s", get_flood, *n, 0, landing, 2);
  }
}

/* ---- all together ---- */

static void barriers(size_t bytes, long count) {
  (void)bytes;
  for (; count > 0; count--) everybody();
}

static void sum(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags, int arg) {
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) ((uint64_t *)results)[i] = ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
}

static void broadcast(size_t bytes, long count) {
  long i;
  for (i = 0; i < count; i++) gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, (gasnet_image_t)(i % nodes), src, bytes, LOCALLY);
}
static void reduce(size_t bytes, long count) {
  long i;
  for (i = 0; i < count; i++)
    gasnet_coll_reduce(GASNET_TEAM_ALL, (gasnet_image_t)(i % nodes), dst, src, 0, 0, 8, bytes / 8, 0, 0, LOCALLY);
}
/* GASNet-1 has no such call. */
static void allreduce(size_t bytes, long count) {
  for (; count > 0; count--)
    gex_Event_Wait(gex_Coll_ReduceToAllNB(everyone, dst, src, GEX_DT_U64, 8, bytes / 8, GEX_OP_ADD, NULL, NULL, 0));
}
static void gather_all(size_t bytes, long count) {
  for (; count > 0; count--) gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, bytes, LOCALLY);
}
static void exchange(size_t bytes, long count) {
  for (; count > 0; count--) gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, bytes, LOCALLY);
}

/* ---- two hosts: limits are what `gasnet-sci bench` measures ---- */

static void hosts(void) {
  const size_t *n;
  checked(short_trip, 8);
  checked(long_flood, 65536);
  row(OURS, "hosts", "short message round trip, two hosts", 8, "us", time_of(short_trip, 8));
  row(OURS, "hosts", "short message flood, two hosts", 8, "ns", time_of(short_flood, 8));
  row(OURS, "hosts", "put, two hosts", 8, "us", time_of(put, 8));
  row(OURS, "hosts", "get, two hosts", 8, "us", time_of(get, 8));
  for (n = host_sizes; *n; n++) {
    row(OURS, "hosts", "long message flood, two hosts", *n, "MB/s", time_of(long_flood, *n));
    row(OURS, "hosts", "put flood, two hosts", *n, "MB/s", time_of(put_flood, *n));
    row(OURS, "hosts", "get flood, two hosts", *n, "MB/s", time_of(get_flood, *n));
  }
  row(OURS, "hosts", "barrier, two hosts", 0, "us", time_of(barriers, 0));
}

#include "coll.h"

int main(int argc, char **argv) {
  static gasnet_coll_fn_entry_t functions[1] = {{sum, GASNET_COLL_AMSAFE}};
  gasnet_handlerentry_t handlers[] = {
      {SHORT_REQ, (void (*)())short_req},      {SHORT_REP, (void (*)())short_rep},
      {MEDIUM_REQ, (void (*)())medium_req},    {MEDIUM_REP, (void (*)())payload_rep},
      {LONG_REQ, (void (*)())long_req},        {LONG_REP, (void (*)())payload_rep},
      {COUNT_ONE, (void (*)())count_one},      {COUNT_MEDIUM, (void (*)())count_payload},
      {COUNT_LONG, (void (*)())count_payload},
  };
  size_t half, segment;
  gasnet_seginfo_t *info;
  int i;
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  me = (int)gasnet_mynode();
  nodes = (int)gasnet_nodes();
  pin();
  peers_program = argv[0];
  /* The other libraries never give away a core that they have for themselves. On a shared machine a library that
   * sleeps would be slower. */
  if (nodes <= sysconf(_SC_NPROCESSORS_ONLN)) gasnet_set_waitmode(GASNET_WAIT_SPIN);
  quick = argc > 2;
  half = (size_t)nodes * LARGEST + GASNET_PAGESIZE;
  segment = 2 * half;
  if (gasnet_attach(handlers, sizeof handlers / sizeof *handlers, segment, 0) != GASNET_OK) gasnet_exit(1);
  gasnet_QueryGexObjects(NULL, NULL, &everyone, NULL);
  info = (gasnet_seginfo_t *)malloc((size_t)nodes * sizeof *info);
  src_of = (unsigned char **)malloc((size_t)nodes * sizeof *src_of);
  dst_of = (unsigned char **)malloc((size_t)nodes * sizeof *dst_of);
  if (gasnet_getSegmentInfo(info, nodes) != GASNET_OK) gasnet_exit(1);
  for (i = 0; i < nodes; i++) {
    src_of[i] = (unsigned char *)info[i].addr;
    dst_of[i] = src_of[i] + half;
  }
  src = src_of[me];
  dst = dst_of[me];
  their_dst = dst_of[(me + 1) % nodes];
  mine = (unsigned char *)aligned_alloc(4096, LARGEST);
  landing = (unsigned char *)aligned_alloc(4096, LARGEST);
  if (!mine || !landing) gasnet_exit(1);
  memset(src, 0, segment);
  memset(landing, 0, LARGEST);
  fill(mine, LARGEST, (unsigned)me + 1);
  fill(src, LARGEST, (unsigned)me + 1);
  gasnet_coll_init(0, 0, functions, 1, 0);
  everybody();
  if (is_section(argc, argv, "am")) am();
  if (is_section(argc, argv, "rma")) rma();
  if (is_section(argc, argv, "barrier")) {
    if (nodes == 2) row("limit", "barrier", "barrier", 0, "us", time_of(line_trip, 8));
    row(OURS, "barrier", "barrier", 0, "us", time_of(barriers, 0));
  }
  if (is_section(argc, argv, "coll")) coll(OURS);
  if (is_section(argc, argv, "hosts")) hosts();
  everybody();
  gasnet_exit(0);
  return 0;
}
