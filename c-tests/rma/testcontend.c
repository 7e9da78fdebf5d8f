/* Threads of a node against each other: how much polling, sending, waiting and computing threads slow each other down.
 *
 * usage: testcontend [requests per sender, default 60 [threads, default 4]]
 *
 * Each mix gives every thread of every node a part. Senders send a fixed number of requests; the other threads
 * continue until the senders of all nodes are done. A row gives the time of a round trip as a sender sees it, and
 * the numbers of requests and answers are compared. All mixes run in the default wait mode, then some in each mode
 * of gasnet_set_waitmode (item 113). There may be more threads than cores, so a thread that does not wait gives its
 * core away at times, and sends less. SEQ and PARSYNC: the mixes of one thread. */
#include "../testpar.h"

#include <sched.h>

enum { HIDX_REQUEST = 201, HIDX_MEDIUM, HIDX_ANSWER, HIDX_RELEASE };

enum part {
  SENDER,   /* request, BLOCKUNTIL it is answered */
  SPINNER,  /* request, poll until it is answered */
  FLOODER,  /* all requests, then BLOCKUNTIL all are answered */
  POLLER,   /* gasnet_AMPoll */
  WAITER,   /* BLOCKUNTIL the end, which is plain code of another thread */
  MOVER,    /* blocking puts and gets, compared */
  COMPUTER, /* no call at all, until the end */
  GUARD     /* BLOCKUNTIL a message that is sent only after this node's senders have been answered */
};

/* The first thread plays the first part and so on; if there are more threads the last part has several players. */
#define PARTS 4
static const struct mix {
  const char *name;
  int parts;
  enum part part[PARTS];
  int in_all_modes;
} mixes[] = {{"one waits for its answers", 1, {SENDER}, 1},
             {"one spins for its answers", 1, {SPINNER}, 0},
             {"one floods", 1, {FLOODER}, 0},
             {"one moves data", 1, {MOVER}, 0},
             {"all wait for their answers", 2, {SENDER, SENDER}, 1},
             {"all spin for their answers", 2, {SPINNER, SPINNER}, 0},
             {"all flood", 2, {FLOODER, FLOODER}, 0},
             {"sender, pollers", 2, {SENDER, POLLER}, 1},
             {"spinner, pollers", 2, {SPINNER, POLLER}, 0},
             {"flooder, pollers", 2, {FLOODER, POLLER}, 0},
             {"sender, waiters", 2, {SENDER, WAITER}, 1},
             {"sender, movers", 2, {SENDER, MOVER}, 0},
             {"sender, computers", 2, {SENDER, COMPUTER}, 0},
             {"sender, guards", 2, {SENDER, GUARD}, 0},
             {"guard, senders", 2, {GUARD, SENDER}, 1},
             {"sender, flooder, poller, movers", 4, {SENDER, FLOODER, POLLER, MOVER}, 1}};
#define MIXES (sizeof mixes / sizeof *mixes)

static long messages, per_sender; /* as asked for; in this mix */
static int threads;
static const struct mix *mix;
static int players; /* threads of this mix */

static struct player {
  int answered;
  double seconds;
  long moved;
} player[PAR_MOST];
static int requests;                  /* came here in this mix */
static int senders_left, is_over, released;

#define PAYLOAD 64
#define PIECE 256

static int is_sender(enum part part) { return part <= FLOODER; }
static enum part part_of(int index) { return mix->part[index < mix->parts ? index : mix->parts - 1]; }

/* ---- handlers ---- */

static void request_h(gasnet_token_t token, gasnet_handlerarg_t index) {
  TEST_COUNT(&requests);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ANSWER, index));
}
static void medium_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t index,
                     gasnet_handlerarg_t seed) {
  TEST_COUNT(&requests);
  CHECK(nbytes == PAYLOAD && core_differs(buf, nbytes, (unsigned)seed) == nbytes, "a Medium of thread %d", (int)index);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ANSWER, index));
}
static void answer_h(gasnet_token_t token, gasnet_handlerarg_t index) {
  (void)token;
  TEST_COUNT(&player[index].answered);
}
static void release_h(gasnet_token_t token) {
  (void)token;
  AREA_STORE(&released, 1);
}

/* ---- parts ---- */

/* Called in loops that do not wait: after some rounds it yields to another thread. Otherwise, with fewer cores than
 * threads, a round trip would take the time slices of all spinning threads. The count is not atomic, because it need
 * not be exact. */
static void share_core(void) {
  static int rounds;
  const int n = AREA_LOAD(&rounds) + 1;
  AREA_STORE(&rounds, n & 0xffff);
  if (n % 8 == 0) sched_yield();
}

/* Request number i: everybody gets the same number of them, ±1, beginning with the next node. */
static gasnet_node_t target(gasnet_node_t from, int index, long i) {
  return (gasnet_node_t)((from + 1 + (unsigned)index + (unsigned)i) % nodes);
}
static void send_one(int index, long i) {
  const gasnet_node_t to = target(me, index, i);
  if (i % 2) {
    const unsigned seed = core_seed(me, (unsigned)index, (unsigned)i);
    unsigned char payload[PAYLOAD];
    core_fill(payload, sizeof payload, seed);
    GASNET_SAFE(gasnet_AMRequestMedium2(to, HIDX_MEDIUM, payload, sizeof payload, index, (gasnet_handlerarg_t)seed));
  } else {
    GASNET_SAFE(gasnet_AMRequestShort1(to, HIDX_REQUEST, index));
  }
}

static void play_sender(int index, enum part part) {
  struct player *p = &player[index];
  long i;
  p->seconds = test_now();
  for (i = 0; i < per_sender; i++) {
    send_one(index, i);
    if (part == SENDER) GASNET_BLOCKUNTIL(AREA_LOAD(&p->answered) == i + 1);
    if (part == SPINNER)
      while (AREA_LOAD(&p->answered) != i + 1) {
        GASNET_SAFE(gasnet_AMPoll());
        share_core();
      }
  }
  GASNET_BLOCKUNTIL(AREA_LOAD(&p->answered) == per_sender);
  p->seconds = test_now() - p->seconds;
}

static void play_mover(int index) {
  const gasnet_node_t to = target(me, index, 0);
  unsigned char *there = core_area[to] + (me * (size_t)PAR_MOST + (size_t)index) * PIECE, out[PIECE], in[PIECE];
  const int is_alone = mix->parts == 1; /* nobody tells it to stop */
  struct player *p = &player[index];
  p->seconds = test_now();
  while (is_alone ? p->moved < per_sender : !AREA_LOAD(&is_over)) {
    if (!is_alone) share_core();
    const unsigned seed = core_seed(me, (unsigned)index, (unsigned)p->moved++);
    core_fill(out, sizeof out, seed);
    gasnet_put_bulk(to, there, out, sizeof out);
    gasnet_get_bulk(in, to, there, sizeof in);
    CHECK(memcmp(in, out, sizeof in) == 0, "round %ld of thread %d", p->moved, index);
  }
  p->seconds = test_now() - p->seconds;
}

/* The node before this one sends the message when its senders are done, and ours when ours are. */
static void last_sender_done(void) { GASNET_SAFE(gasnet_AMRequestShort0((me + 1) % nodes, HIDX_RELEASE)); }

static int one_less(int *n) {
#if defined(__GNUC__)
  return __atomic_sub_fetch(n, 1, __ATOMIC_ACQ_REL);
#else
  return --*n;
#endif
}

static void play(int index) {
  const enum part part = part_of(index);
  volatile unsigned long sum = 0;
  int i;
  switch (part) {
    case SENDER:
    case SPINNER:
    case FLOODER:
      play_sender(index, part);
      if (one_less(&senders_left) == 0) last_sender_done();
      break;
    case POLLER:
      while (!AREA_LOAD(&is_over)) {
        GASNET_SAFE(gasnet_AMPoll());
        share_core();
      }
      break;
    case WAITER: GASNET_BLOCKUNTIL(AREA_LOAD(&is_over)); break;
    case MOVER: play_mover(index); break;
    case COMPUTER:
      while (!AREA_LOAD(&is_over)) {
        for (i = 0; i < 10000; i++) sum += 1 + sum / 3;
        sched_yield();
      }
      break;
    case GUARD:
      GASNET_BLOCKUNTIL(AREA_LOAD(&released));
      CHECK(nodes > 1 || AREA_LOAD(&senders_left) == 0, "released while %d senders are at it", AREA_LOAD(&senders_left));
      break;
  }
}

/* The thread that runs the mix has no part in it. It waits until all senders of all nodes are done, then ends the
 * others. */
static void run_players(void) {
#if defined(GASNET_PAR)
  int i;
  par_fn = play;
  for (i = 0; i < players; i++) par_begin(i);
  GASNET_BLOCKUNTIL(AREA_LOAD(&senders_left) == 0);
  test_barrier();
  AREA_STORE(&is_over, 1);
  for (i = 0; i < players; i++) pthread_join(par_thread[i], NULL);
#else
  par_run(play, players);
#endif
}

/* ---- a mix ---- */

/* Requests that the senders of all nodes send here. */
static long requests_due(void) {
  gasnet_node_t node;
  long due = 0, i;
  int t;
  for (node = 0; node < nodes; node++)
    for (t = 0; t < players; t++)
      if (is_sender(part_of(t)))
        for (i = 0; i < per_sender; i++) due += target(node, t, i) == me;
  return due;
}

static void report(const char *mode, int senders) {
  double seconds = 0;
  long moved = 0;
  int i;
  for (i = 0; i < players; i++) {
    if (is_sender(part_of(i)) || mix->parts == 1) seconds += player[i].seconds;
    moved += player[i].moved;
  }
  if (me) return;
  printf("testcontend: %-10s %-32s %2d threads: %10.3f us per %s", mode, mix->name, players,
         seconds / (double)(senders ? senders : 1) / (double)per_sender * 1e6, senders ? "request" : "put and get");
  if (senders && moved) printf(", %ld puts and gets meanwhile", moved);
  printf("\n");
  fflush(stdout);
}

static void run_mix(const struct mix *which, const char *mode) {
  int i, senders = 0;
  mix = which;
  players = mix->parts == 1 ? 1 : threads;
  memset(player, 0, sizeof player);
  per_sender = messages;
  for (i = 0; i < players; i++) {
    senders += is_sender(part_of(i));
    if (part_of(i) == COMPUTER) per_sender = messages / 10 + 1;
  }
  requests = 0, is_over = 0, released = 0, senders_left = senders;
  test_barrier();
  run_players();
  for (i = 0; i < players; i++)
    if (is_sender(part_of(i)))
      CHECK(player[i].answered == per_sender, "%s: %d answers to %ld requests of thread %d", mix->name,
            player[i].answered, per_sender, i);
  test_barrier();
  CHECK(requests == requests_due(), "%s: %d requests came, %ld were sent", mix->name, requests, requests_due());
  report(mode, senders);
  if (senders) GASNET_BLOCKUNTIL(AREA_LOAD(&released)); /* of this mix, not left over for the next */
}

/* Needs several threads: the mixes of more parts than there are threads are left out. */
static void run_mixes(const char *mode, int is_default) {
  size_t i;
  for (i = 0; i < MIXES; i++)
    if (mixes[i].parts <= threads && (is_default || mixes[i].in_all_modes)) run_mix(&mixes[i], mode);
}

/* ---- 112: threads blocked in every way a thread can be, and one that sends all the same ---- */

#if defined(GASNET_PAR)
static int blocked_flags[PAR_MOST];

static void block(int index) {
  if (index > 0) {
    GASNET_BLOCKUNTIL(AREA_LOAD(&blocked_flags[index]));
  } else { /* sends while all others are blocked, then frees them in reverse order */
    int i;
    play_sender(0, SENDER);
    for (i = players; --i > 0;) AREA_STORE(&blocked_flags[i], 1);
  }
}

static void item112_blocked(void) {
  static const struct mix all = {"one sends, all others blocked", 1, {SENDER}, 0};
  mix = &all;
  players = threads;
  memset(player, 0, sizeof player);
  memset(blocked_flags, 0, sizeof blocked_flags);
  requests = 0, per_sender = messages;
  test_barrier();
  par_run(block, players);
  CHECK(player[0].answered == per_sender, "%d answers to %ld requests", player[0].answered, per_sender);
  test_barrier();
  players = 1;
  CHECK(requests == requests_due(), "%d requests came, %ld were sent", requests, requests_due());
  report("item 112", 1);
}
#endif

/* ---- 113: wait modes ---- */

static void run_modes(void) {
  static const struct {
    int mode;
    const char *name;
  } modes[] = {{GASNET_WAIT_SPIN, "spin"}, {GASNET_WAIT_BLOCK, "block"}, {GASNET_WAIT_SPINBLOCK, "spinblock"}};
  static const int bad[] = {-1, 3, 99, INT_MAX, INT_MIN};
  const long all = messages;
  size_t i;
  for (i = 0; i < sizeof modes / sizeof *modes; i++) {
    CHECK(gasnet_set_waitmode(modes[i].mode) == GASNET_OK, "wait mode %s", modes[i].name);
    /* spinning threads that share a core pass it on late */
    messages = modes[i].mode == GASNET_WAIT_SPIN ? all / 50 + 1 : all;
    run_mixes(modes[i].name, 0);
  }
  messages = all;
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(gasnet_set_waitmode(bad[i]) != GASNET_OK, "wait mode %d is accepted", bad[i]);
  CHECK(gasnet_set_waitmode(GASNET_WAIT_BLOCK) == GASNET_OK, "a mode after refused ones");
  run_mix(&mixes[0], "block");
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_REQUEST, (void (*)())request_h},
                                         {HIDX_MEDIUM, (void (*)())medium_h},
                                         {HIDX_ANSWER, (void (*)())answer_h},
                                         {HIDX_RELEASE, (void (*)())release_h}};
  core_init(&argc, &argv, "testcontend");
  messages = core_number(argc, argv, 1, 60);
  threads = (int)core_number(argc, argv, 2, 4);
  if (threads > PAR_MOST) threads = PAR_MOST;
  threads = PAR_THREADS(threads);
  if (messages > 1000 || threads > 16) alarm(0);
  area_attach(table, (int)(sizeof table / sizeof *table), nodes * (size_t)PAR_MOST * PIECE);
  test_begin("testcontend");
  run_mixes("default", 1);
#if defined(GASNET_PAR)
  item112_blocked();
#endif
  run_modes();
  test_end();
  return 0;
}
