/* The side of DECK in ci/bench-deck: mail boxes between nodes, beside a bare ring of lines, memcpy and our own active messages.
 *
 *   mbox-deck SECTION [quick]
 *
 * | section | nodes | what |
 * |---|---|---|
 * | tune | 2 | round trips and floods of a few bytes beside the bare ring, in turns, many times: for whoever tunes the engine |
 * | trip | 2 | round trips by size, the bare ring's and a Short's |
 * | flood | 2 | one sender |
 * | many | 5 | four senders, one box; node 0 has a core of its own |
 * | give | 2 | give and take, by size |
 * | post | 2 | bytes per second, beside memcpy, also into blocks in turn, as a box needs them |
 * | clone | 2 | how long a name takes |
 *
 * The bare ring is that of `gasnet-sci bench`: this program is linked with its limits.c, for which it plays the bench. */
#include "mbox-node.h"

#include "../../cli/src/gasnet-sci/bench/kernels/bench.h"

enum { SHORT_REQ = 200, SHORT_REP, NAMES = 64, BLOCKS = 3 };

static deck_mbox_t mine, theirs;  /* this node's box; that of node 0, or at node 0 that of node 1 */
static deck_msg_t out, in;
static mbox_flow_t to_other, from_other;
static volatile long seen, answered; /* changed by handlers */

/* ---- what limits.c wants ---- */

shared_t *bench_shared;
gasnet_node_t bench_me, bench_nodes, bench_peer;
gex_TM_t bench_tm;
unsigned char *bench_local, *bench_mine, *bench_remote, *bench_mapped;

double bench_line_trip(long n, size_t bytes);
double bench_line_stream(long n, size_t bytes);
double bench_copy_to(long n, size_t bytes);

static void share(void) {
  void *at = common_memory(sizeof *bench_shared + BLOCKS * MAXBYTES);
  bench_me = (gasnet_node_t)me;
  bench_nodes = (gasnet_node_t)nodes;
  bench_peer = (gasnet_node_t)(1 - (me & 1));
  bench_shared = (shared_t *)at;
  bench_mapped = (unsigned char *)at + sizeof *bench_shared;
  bench_local = (unsigned char *)aligned_alloc(4096, MAXBYTES);
  if (!bench_local) give_up();
  memset(bench_local, 1, MAXBYTES);
  if (me == 0) memset(bench_mapped, 1, BLOCKS * MAXBYTES);
  everybody();
}

static void ring_trip(size_t bytes, long count) { bench_line_trip(count, bytes); }
static void ring_stream(size_t bytes, long count) { bench_line_stream(count, bytes); }
static void copy(size_t bytes, long count) { bench_copy_to(count, bytes); }

/* A message is read in one block while the next one is copied into another; the one before is on its way back. */
static void copy_in_turn(size_t bytes, long count) {
  long i;
  for (i = 0; me == 0 && i < count; i++) {
    memcpy(bench_mapped + (size_t)(i % BLOCKS) * bytes, bench_local, bytes);
    __asm__ volatile("" ::: "memory");
  }
}

/* ---- a bare queue: the least that moves few bytes from a caller's memory into another process's. It has no name, no bound, no
        checks, no threads, and serves nobody else. ---- */

typedef struct {
  line_t *lines;
  uint64_t count;
} bare_t;
static bare_t bare_out, bare_in;
static mbox_flow_t bare_sent, bare_came;

__attribute__((noinline)) static void bare_post(bare_t *queue, const uint64_t *from, size_t bytes) {
  line_t *line = &queue->lines[++queue->count % LINES];
  memcpy(&line->word[1], from, 7 * sizeof *from);
  STORE(&line->word[0], queue->count << 8 | bytes);
}

__attribute__((noinline)) static size_t bare_retrieve(bare_t *queue, uint64_t *to) {
  const uint64_t number = ++queue->count;
  const line_t *line = &queue->lines[number % LINES];
  uint64_t head;
  while ((head = LOAD(&line->word[0])) >> 8 != number) PAUSE();
  memcpy(to, &line->word[1], 7 * sizeof *to);
  return head & 255;
}

static void bare_trip(size_t bytes, long count) {
  uint64_t sent[8] = {0}, came[8];
  bare_out.lines = (line_t *)bench_shared->bytes[1 - me], bare_in.lines = (line_t *)bench_shared->bytes[me];
  for (; count > 0; count--) {
    int turn;
    for (turn = 0; turn < 2; turn++) {
      if (me == turn) {
        mbox_number(&bare_sent, sent, bytes);
        bare_post(&bare_out, sent, bytes);
      } else {
        size_t size = bare_retrieve(&bare_in, came);
        mbox_follows("bare queue", &bare_came, came, size, bytes);
      }
    }
  }
}

/* ---- a Short there and back ---- */

static void short_req(gasnet_token_t token) {
  seen++;
  gasnet_AMReplyShort0(token, SHORT_REP);
}
static void short_rep(gasnet_token_t token) {
  (void)token;
  answered++;
}

static void short_trip(size_t bytes, long count) {
  static long due;
  long i;
  (void)bytes;
  if (me == 0)
    for (i = 0; i < count; i++) {
      long before = answered;
      gasnet_AMRequestShort0(1, SHORT_REQ);
      GASNET_BLOCKUNTIL(answered != before);
    }
  else if (me == 1) {
    due += count;
    GASNET_BLOCKUNTIL(seen >= due);
  }
}

/* ---- boxes ---- */

static deck_mbox_t box_of(const char *what, int node, int clone) {
  char name[64];
  deck_mbox_t box = NULL;
  snprintf(name, sizeof name, "%s.%d", what, node);
  if (clone) MUST(deck_mbox_clone(name, DECK_FOREVER, &box));
  else MUST(deck_mbox_create(name, NULL, &box));
  return box;
}

static deck_msg_t message(size_t bytes, int place) {
  deck_msg_t msg = NULL;
  MUST(deck_msg_create(bytes, place, &msg));
  MUST(deck_msg_set_size(msg, bytes));
  memset(deck_msg_data(msg), 0, bytes);
  return msg;
}

static void send_one(size_t bytes) {
  mbox_number(&to_other, deck_msg_data(out), bytes);
  MUST(deck_mbox_post(theirs, out));
}
static void take_one(const char *what, size_t bytes) {
  MUST(deck_mbox_retrv(mine, in));
  mbox_follows(what, &from_other, deck_msg_data(in), deck_msg_size(in), bytes);
}

static void trip(size_t bytes, long count) {
  for (; count > 0; count--) {
    if (me == 0) send_one(bytes);
    take_one("round trip", bytes);
    if (me == 1) send_one(bytes);
  }
}

/* Node 0 posts, node 1 retrieves, and says once that it has all. */
static void flood(size_t bytes, long count) {
  if (me == 0) {
    for (; count > 0; count--) send_one(bytes);
    take_one("end of a flood", bytes);
  } else {
    for (; count > 0; count--) take_one("flood", bytes);
    send_one(bytes);
  }
}

static void new_messages(size_t bytes) {
  if (out) MUST(deck_msg_destroy(out));
  if (in) MUST(deck_msg_destroy(in));
  out = message(bytes, DECK_AUTO);
  in = message(bytes, DECK_AUTO);
}

/* Every byte of one message each way. */
static void verify(size_t bytes) {
  new_messages(bytes);
  fill(deck_msg_data(out), bytes / 8 * 8, (unsigned)me + 1);
  if (me == 0) MUST(deck_mbox_post(theirs, out));
  MUST(deck_mbox_retrv(mine, in));
  if (deck_msg_size(in) != bytes) give_up();
  expect("message", deck_msg_data(in), bytes / 8 * 8, (unsigned)(1 - me) + 1);
  if (me == 1) MUST(deck_mbox_post(theirs, out));
  everybody();
}

static double one_way(size_t bytes) {
  verify(bytes);
  return time_of(trip, bytes) / 2;
}

static void meet(const char *what) {
  mine = box_of(what, me, 0);
  theirs = box_of(what, 1 - me, 1);
  MUST(deck_barrier()); /* a node that measures what does not poll answers no question about names */
}

static void trips(void) {
  static const size_t more[] = {112, 1024, 4096, 8192, 65536, 1048576, 0};
  const size_t *n;
  size_t limit;
  meet("trip");
  row("limit", "trip", "line ring round trip", 64, "ns", time_of(ring_trip, 64));
  row("limit", "trip", "bare queue, one way", 8, "ns", time_of(bare_trip, 8) / 2);
  row("gasnet-sci", "trip", "Short round trip", 0, "ns", time_of(short_trip, 0));
  row(OURS, "trip", "message, one way", 0, "ns", one_way(0));
  for (n = mbox_short; *n; n++) row(OURS, "trip", "message, one way", *n, "ns", one_way(*n));
  row("limit", "trip", "line ring round trip", 64, "ns", time_of(ring_trip, 64));
  for (n = more; *n; n++) row(OURS, "trip", "message, one way", *n, "ns", one_way(*n));
  /* The last bytes that are copied into the ring, and the first that are lent. */
  limit = getenv("GASNET_SCI_DECK_MSG_BUF_LIMIT") ? (size_t)atol(getenv("GASNET_SCI_DECK_MSG_BUF_LIMIT")) : 8192;
  row(OURS, "trip", "message below the limit, one way", limit - 8, "ns", one_way(limit - 8));
  row(OURS, "trip", "message at the limit, one way", limit, "ns", one_way(limit));
}

static void floods(void) {
  meet("flood");
  row("limit", "flood", "line stream", 64, "ns", time_of(ring_stream, 64));
  verify(16);
  row(OURS, "flood", "one sender", 16, "ns", time_of(flood, 16));
  verify(1024);
  row(OURS, "flood", "one sender", 1024, "ns", time_of(flood, 1024));
}

/* For whoever tunes the engine: figures of one process pair, in turns, with their medians. */
static void tune(void) {
  enum { TURNS = 15 };
  static const char *const names[] = {"ring", "am", "0 B", "8 B", "52 B", "112 B", "1 KiB", "flood 16 B", "stream", "bare queue"};
  enum { KINDS = sizeof names / sizeof *names };
  double value[KINDS][TURNS], line;
  int i, k;
  meet("tune");
  for (i = 0; i < TURNS; i++) {
    value[0][i] = time_of(ring_trip, 64);
    value[1][i] = time_of(short_trip, 0);
    value[2][i] = one_way(0);
    value[3][i] = one_way(8);
    value[4][i] = one_way(52);
    value[5][i] = one_way(112);
    value[6][i] = one_way(1024);
    verify(16);
    value[7][i] = time_of(flood, 16);
    value[8][i] = time_of(ring_stream, 64);
    value[9][i] = time_of(bare_trip, 8) / 2;
  }
  line = mbox_median(value[0], TURNS);
  for (k = 0; me == 0 && k < KINDS; k++) {
    double median = mbox_median(value[k], TURNS);
    printf("%-12s %8.1f ns  (%.1f to %.1f)   %.2f x the ring's round trip\n", names[k], 1000 * median, 1000 * value[k][0],
           1000 * value[k][TURNS - 1], median / line);
  }
  fflush(stdout);
}

/* ---- many to one ---- */

static mbox_senders_t senders;

/* Senders post `count` each. */
static void many(size_t bytes, long count) {
  long i;
  mbox_begin(&senders);
  for (i = 0; me == 0 && i < count * MBOX_SENDERS; i++) {
    MUST(deck_mbox_retrv(mine, in));
    mbox_came(&senders, deck_msg_source(in), deck_msg_data(in), deck_msg_size(in), bytes, count);
  }
  for (i = 0; me != 0 && i < count; i++) send_one(bytes);
}

static void many_to_one(void) {
  static const size_t sizes[] = {8, 16, 0};
  const size_t *n;
  double us;
  if (me == 0) mine = box_of("many", 0, 0);
  else theirs = box_of("many", 0, 1);
  for (n = sizes; *n; n++) {
    new_messages(*n);
    us = time_of(many, *n) / MBOX_SENDERS;
    row(OURS, "many", "four senders", *n, "ns", us);
    everybody();
    many(*n, quick ? 100000 : 500000);
    row(OURS, "many", "four senders, least share", *n, "x", senders.least);
    everybody(); /* nobody begins with the next size before all have arrived */
  }
}

/* ---- give and take ---- */

static deck_msg_t ball;   /* node 0's, between patterns */
static int fills, reads;  /* whether each node writes and reads all bytes */

static void give_one(size_t bytes) {
  if (fills) memset(deck_msg_data(ball), (int)(to_other.sent & 255), bytes);
  mbox_number(&to_other, deck_msg_data(ball), bytes);
  MUST(deck_mbox_give(theirs, &ball, DECK_FOREVER));
}
static void take_ball(size_t bytes) {
  MUST(deck_mbox_take(mine, &ball, DECK_FOREVER));
  mbox_follows("give", &from_other, deck_msg_data(ball), deck_msg_size(ball), bytes);
  if (reads) mbox_sum = mbox_read(deck_msg_data(ball), bytes);
}

static void bounce(size_t bytes, long count) {
  for (; count > 0; count--) {
    if (me == 0) give_one(bytes);
    take_ball(bytes);
    if (me == 1) give_one(bytes);
  }
}

static double given(size_t bytes) {
  double us;
  if (me == 0) {
    ball = message(bytes, DECK_SHARED);
    fill(deck_msg_data(ball), bytes, 7);
    MUST(deck_mbox_give(theirs, &ball, DECK_FOREVER));
  }
  MUST(deck_mbox_take(mine, &ball, DECK_FOREVER));
  expect("given message", deck_msg_data(ball), bytes, 7);
  if (me == 1) MUST(deck_mbox_give(theirs, &ball, DECK_FOREVER));
  everybody();
  us = time_of(bounce, bytes);
  everybody();
  if (me == 0) MUST(deck_msg_destroy(ball));
  return us;
}

static void gives(void) {
  static const size_t sizes[] = {1024, 65536, 1048576, LARGEST, 0};
  const size_t *n;
  meet("give");
  gasnet_set_waitmode(GASNET_WAIT_SPIN); /* as Open MPI waits */
  for (n = sizes; *n; n++) row(OURS, "give", "give and take, round trip", *n, "ns", given(*n));
  reads = 1;
  row(OURS, "give", "give and take, all bytes read, round trip", 1048576, "us", given(1048576));
  fills = 1;
  row(OURS, "give", "give and take, all bytes written and read, round trip", 1048576, "us", given(1048576));
}

/* ---- bytes per second ---- */

static void posts(void) {
  const size_t *n;
  meet("post");
  gasnet_set_waitmode(GASNET_WAIT_SPIN); /* as Open MPI waits */
  for (n = mbox_long; *n; n++) {
    double us;
    verify(*n);
    us = time_of(copy, *n);
    row("limit", "post", "memcpy", *n, "MB/s", us);
    us = time_of(copy_in_turn, *n);
    row("limit", "post", "memcpy, 3 blocks in turn", *n, "MB/s", us);
    us = time_of(flood, *n);
    row(OURS, "post", "post and retrieve", *n, "MB/s", us);
  }
}

/* ---- names ---- */

static void clones(void) {
  double took[NAMES], late[NAMES];
  char what[32];
  int i;
  for (i = 0; i < NAMES; i++) {
    double begin;
    snprintf(what, sizeof what, "known%d", i);
    if (me == 1) mine = box_of(what, 1, 0);
    everybody();
    if (me == 0) {
      begin = now_us();
      theirs = box_of(what, 1, 1);
      took[i] = now_us() - begin;
      MUST(deck_mbox_destroy(theirs));
    }
    everybody();
    if (me == 1) MUST(deck_mbox_destroy(mine));
    /* One that is created while it is waited for. The clock is the host's. */
    snprintf(what, sizeof what, "late%d", i);
    if (me == 1) {
      usleep(2000);
      mine = box_of(what, 1, 0);
      begin = now_us();
      memcpy(bench_shared->bytes[0], &begin, sizeof begin);
    } else {
      theirs = box_of(what, 1, 1);
      late[i] = now_us();
    }
    everybody();
    if (me == 0) {
      memcpy(&begin, bench_shared->bytes[0], sizeof begin);
      late[i] -= begin;
      MUST(deck_mbox_destroy(theirs));
    } else
      MUST(deck_mbox_destroy(mine));
  }
  row(OURS, "clone", "clone of a known name", 0, "us", mbox_median(took, NAMES));
  row(OURS, "clone", "clone of a new name, after its creation", 0, "us", mbox_median(late, NAMES));
}

/* ---- */

/* Of five nodes the receiver has the first core, the senders share the other. */
static void place(void) {
  int all = me;
  if (nodes > 2 && me > 0) me = 1;
  pin();
  me = all;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{SHORT_REQ, (void (*)())short_req}, {SHORT_REP, (void (*)())short_rep}};
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(table, 2, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
  peers_program = argv[0];
  MUST(deck_init(&argc, &argv));
  me = deck_node();
  nodes = deck_nodes();
  quick = argc > 2;
  if (nodes != (is_section(argc, argv, "many") ? MBOX_SENDERS + 1 : 2)) {
    fprintf(stderr, "%s: 2 nodes, or 5 for many, not %d\n", argv[0], nodes);
    give_up();
  }
  place();
  share();
  if (is_section(argc, argv, "tune")) tune();
  if (is_section(argc, argv, "trip")) trips();
  if (is_section(argc, argv, "flood")) floods();
  if (is_section(argc, argv, "many")) many_to_one();
  if (is_section(argc, argv, "give")) gives();
  if (is_section(argc, argv, "post")) posts();
  if (is_section(argc, argv, "clone")) clones();
  everybody();
  MUST(deck_done());
  gasnet_exit(0);
}
