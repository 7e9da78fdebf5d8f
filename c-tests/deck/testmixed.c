/* DECK beside GASNet: active messages, puts, gets, barriers of both, and mail boxes, in turns and at once.
 *
 * usage: deck-testmixed [rounds, default 30]
 *
 * Node i works with node i + 1, the last one with the first. In SEQ, what needs threads gives DECK_EMODE. In PAR, threads do all of it. */
#include "../test.h"

#include "testdeck.h"

#define HIDX_ASK 201
#define HIDX_ANSWER 202
#define HIDX_GO 203
#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)
#define AREA ((size_t)65536)
#define MAXTHREADS 4

static unsigned char *own_area, *next_area; /* AREA bytes for the main thread, and as much for each other thread */
static deck_mbox_t mine, next;
static deck_msg_t out, in;
static int answers, go; /* counted by handlers */

#if defined(GASNET_SEGMENT_EVERYTHING)
static unsigned char everything[(MAXTHREADS + 1) * 65536];
#endif

/* ---- handlers ---- */

static void ask_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed) {
  size_t at = differs(buf, nbytes, (unsigned)seed);
  CHECK(at == nbytes, "byte %lu of a Medium of %lu is wrong", (unsigned long)at, (unsigned long)nbytes);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ANSWER, seed));
}
static void answer_h(gasnet_token_t token, gasnet_handlerarg_t seed) {
  (void)token, (void)seed;
  TEST_COUNT(&answers);
}
static void go_h(gasnet_token_t token) {
  (void)token;
  TEST_COUNT(&go);
}

/* ---- parts ---- */

/* Asks a node. The answer is counted. */
static void ask(int node, size_t nbytes, unsigned seed) {
  unsigned char data[512];
  fill(data, nbytes, seed);
  GASNET_SAFE(gasnet_AMRequestMedium1((gasnet_node_t)node, HIDX_ASK, data, nbytes, (gasnet_handlerarg_t)seed));
}

/* Puts go on while messages are posted, and both are awaited. */
static void puts_and_posts(int round) {
  const size_t size = round % 3 == 0 ? 48 : round % 3 == 1 ? 5000 : 60000;
  unsigned char *data = (unsigned char *)malloc(AREA), *back = (unsigned char *)malloc(AREA);
  const int before = LOAD(&answers);
  gasnet_handle_t put;
  int i;
  if (!data || !back) gasnet_exit(98);
  fill(data, AREA, seed_of(1, me, round));
  put = gasnet_put_nb_bulk((gasnet_node_t)NEXT, next_area, data, AREA);
  for (i = 0; i < 4; i++) send_to(next, out, size, seed_of(2 + i, me, round));
  ask(NEXT, 300, seed_of(7, me, round));
  gasnet_wait_syncnb(put);
  GASNET_BLOCKUNTIL(LOAD(&answers) > before);
  for (i = 0; i < 4; i++) receive_from(mine, in, size, seed_of(2 + i, PREVIOUS, round), PREVIOUS);
  test_barrier();
  CHECK(differs(own_area, AREA, seed_of(1, PREVIOUS, round)) == AREA, "what node %d put in round %d", PREVIOUS, round);
  memset(back, 0, AREA);
  gasnet_get_bulk(back, (gasnet_node_t)NEXT, next_area, AREA);
  CHECK(memcmp(back, data, AREA) == 0, "what came back from node %d in round %d", NEXT, round);
  EXPECT(0, deck_barrier());
  free(data);
  free(back);
}

/* All nodes wait for a message. One node makes the handlers of all run first: a wait of DECK carries active messages. */
static void handlers_run_in_waits(int round) {
  const int asker = round % nodes;
  deck_mbox_t to;
  int n, before;
  if (me == asker) {
    before = LOAD(&answers);
    for (n = 0; n < nodes; n++) ask(n, (size_t)round % 500, seed_of(8, n, round));
    GASNET_BLOCKUNTIL(LOAD(&answers) >= before + nodes);
    for (n = 0; n < nodes; n++) {
      to = find_box("mixed", n);
      send_to(to, out, 100, seed_of(9, n, round));
      EXPECT(0, deck_mbox_destroy(to));
    }
  }
  receive_from(mine, in, 100, seed_of(9, me, round), asker);
  EXPECT(0, deck_barrier());
}

/* All nodes wait in GASNet, for an active message that comes behind posts: a wait of GASNet carries boxes. */
static void boxes_fill_in_waits(int round) {
  const int poster = round % nodes, want = round + 1;
  deck_mbox_t to;
  int n, i;
  if (me == poster)
    for (n = 0; n < nodes; n++) {
      to = find_box("mixed", n);
      for (i = 0; i < 3; i++) send_to(to, out, i == 1 ? 200000 : 33, seed_of(10 + i, n, round));
      EXPECT(0, deck_mbox_destroy(to));
      GASNET_SAFE(gasnet_AMRequestShort0((gasnet_node_t)n, HIDX_GO));
    }
  GASNET_BLOCKUNTIL(LOAD(&go) >= want);
  for (i = 0; i < 3; i++) receive_from(mine, in, i == 1 ? 200000 : 33, seed_of(10 + i, me, round), poster);
  test_barrier();
}

/* Half of the nodes are late at a barrier of either kind. */
static void barriers_carry_on(int round) {
  deck_msg_t given = new_msg(20000, DECK_SHARED), taken = NULL;
  write_msg(given, 20000, seed_of(14, me, round));
  if (me % 2) {
    EXPECT(0, deck_mbox_give(next, &given, LONG_TIME));
    EXPECT(0, deck_mbox_take(mine, &taken, LONG_TIME));
    test_barrier();
  } else {
    gasnet_barrier_notify(round, 0);
    EXPECT(0, deck_mbox_give(next, &given, LONG_TIME));
    EXPECT(0, deck_mbox_take(mine, &taken, LONG_TIME)); /* between notify and wait */
    GASNET_SAFE(gasnet_barrier_wait(round, 0));
  }
  if (taken) {
    read_msg(taken, 20000, seed_of(14, PREVIOUS, round), PREVIOUS);
    EXPECT(0, deck_msg_destroy(taken));
  }
  {
    int32_t one = me + 1, sum = -1;
    EXPECT(0, deck_reduce(&one, &sum, DECK_INT32, 1, DECK_SUM, round % nodes));
    if (me == round % nodes) CHECK(sum == nodes * (nodes + 1) / 2, "the sum is %d", (int)sum);
  }
  EXPECT(0, deck_barrier());
}

/* ---- thread modes ---- */

#if defined(GASNET_PAR)
static deck_mbox_t own_box[MAXTHREADS], other_box[MAXTHREADS];

/* Posts, puts, asks, and retrieves with its own place for each. */
static void *work(void *arg) {
  const int t = (int)((deck_mbox_t *)arg - own_box);
  unsigned char *const to = next_area + (size_t)(t + 1) * AREA, data[4096], back[4096];
  deck_msg_t from = new_msg(20000, DECK_AUTO), into = new_msg(20000, DECK_AUTO);
  int n;
  for (n = 0; n < 100; n++) {
    const size_t size = (size_t)n * 150;
    fill(data, sizeof data, seed_of(40 + t, me, n));
    send_to(other_box[t], from, size, seed_of(20 + t, me, n));
    gasnet_put((gasnet_node_t)NEXT, to, data, sizeof data);
    if (n % 4 == 0) ask(NEXT, 100, seed_of(30 + t, me, n));
    gasnet_get(back, (gasnet_node_t)NEXT, to, sizeof back);
    CHECK(memcmp(back, data, sizeof back) == 0, "thread %d read back other bytes than it put", t);
    receive_from(own_box[t], into, size, seed_of(20 + t, PREVIOUS, n), PREVIOUS);
  }
  EXPECT(0, deck_msg_destroy(from));
  EXPECT(0, deck_msg_destroy(into));
  return arg;
}

static void check_modes(void) {
  deck_thread_t thread[MAXTHREADS];
  char base[24];
  const int before = LOAD(&answers);
  int t;
  for (t = 0; t < MAXTHREADS; t++) {
    snprintf(base, sizeof base, "thread%d", t);
    own_box[t] = new_box(base, me, 0, 0);
    other_box[t] = find_box(base, NEXT);
  }
  for (t = 0; t < MAXTHREADS; t++) MUST(deck_thread_create(work, &own_box[t], &thread[t]));
  GASNET_BLOCKUNTIL(LOAD(&answers) >= before + MAXTHREADS * 25); /* of the threads' requests */
  for (t = 0; t < MAXTHREADS; t++) {
    void *result = NULL;
    EXPECT(0, deck_thread_join(thread[t], &result));
    CHECK(result == &own_box[t], "the result of thread %d", t);
  }
  CHECK(deck_mbox_fd(own_box[0]) >= 0, "descriptor %d", deck_mbox_fd(own_box[0]));
  for (t = 0; t < MAXTHREADS; t++) EXPECT(0, deck_mbox_destroy(other_box[t]));
  EXPECT(0, deck_barrier());
  for (t = 0; t < MAXTHREADS; t++) EXPECT(0, deck_mbox_destroy(own_box[t]));
}
#else
#if defined(GASNET_SEQ)
static void *nothing(void *arg) { return arg; }
#endif

static void check_modes(void) {
  deck_sem_t sem = NULL;
#if defined(GASNET_SEQ)
  deck_thread_t thread = NULL;
  EXPECT(DECK_EMODE, deck_thread_create(nothing, NULL, &thread));
  CHECK(thread == NULL, "a refused call stored a thread");
  EXPECT(DECK_EMODE, deck_mbox_fd(mine));
#endif
  CHECK(deck_thread_self() == NULL, "the main thread is one of DECK");
  EXPECT(0, deck_thread_yield());
  MUST(deck_sem_create(1, &sem));
  EXPECT(0, deck_sem_p(sem));
  EXPECT(DECK_EAGAIN, deck_sem_p_timed(sem, 0));
  EXPECT(DECK_ETIMEDOUT, deck_sem_p_timed(sem, SHORT_TIME));
  EXPECT(0, deck_sem_v(sem));
  EXPECT(0, deck_sem_p(sem));
  EXPECT(0, deck_sem_destroy(sem));
}
#endif

/* ---- start ---- */

static void attach(void) {
  gasnet_handlerentry_t table[] = {{HIDX_ASK, (void (*)())ask_h},
                                   {HIDX_ANSWER, (void (*)())answer_h},
                                   {HIDX_GO, (void (*)())go_h}};
#if defined(GASNET_SEGMENT_EVERYTHING)
  GASNET_SAFE(gasnet_attach(table, 3, 0, 0));
#else
  const uintptr_t size = (MAXTHREADS + 1) * AREA; /* a multiple of any page */
  gasnet_seginfo_t *info = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof *info);
  GASNET_SAFE(gasnet_attach(table, 3, (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE, 0));
  GASNET_SAFE(gasnet_getSegmentInfo(info, (int)gasnet_nodes()));
  own_area = (unsigned char *)info[me].addr;
  next_area = (unsigned char *)info[NEXT].addr;
  free(info);
#endif
}

/* Where the neighbour's memory is, if it has no segment: nodes tell each other through a box. */
static void exchange_areas(void) {
#if defined(GASNET_SEGMENT_EVERYTHING)
  deck_mbox_t previous = find_box("mixed", PREVIOUS);
  uint64_t at = (uint64_t)(uintptr_t)everything;
  own_area = everything;
  EXPECT(0, deck_msg_clear(out));
  EXPECT(0, deck_msg_pack(out, &at, DECK_UINT64, 1));
  EXPECT(0, deck_mbox_post_timed(previous, out, LONG_TIME));
  EXPECT(0, deck_mbox_retrv_timed(mine, in, LONG_TIME));
  EXPECT(0, deck_msg_unpack(in, &at, DECK_UINT64, 1));
  next_area = (unsigned char *)(uintptr_t)at;
  EXPECT(0, deck_mbox_destroy(previous));
  EXPECT(0, deck_barrier());
#endif
}

int main(int argc, char **argv) {
  int rounds, round;
  test_name = "deck-testmixed";
  if (gasnet_init(&argc, &argv) != GASNET_OK) {
    fprintf(stderr, "%s: gasnet_init failed\n", test_name);
    exit(99);
  }
  alarm(120);
  rounds = argc > 1 ? atoi(argv[1]) : 30;
  me = (int)gasnet_mynode();
  nodes = (int)gasnet_nodes();
  attach();
  test_begin("deck-testmixed");
  MUST(deck_init(NULL, NULL));
  EXPECT(DECK_ETWICE, deck_init(&argc, &argv));
  CHECK(deck_node() == me && deck_nodes() == nodes, "node %d of %d, for GASNet %d of %d", deck_node(), deck_nodes(), me,
        nodes);
  out = new_msg(MIB, DECK_AUTO);
  in = new_msg(MIB, DECK_AUTO);
  mine = new_box("mixed", me, 0, 0);
  next = find_box("mixed", NEXT);
  exchange_areas();
  for (round = 0; round < rounds; round++) {
    puts_and_posts(round);
    handlers_run_in_waits(round);
    boxes_fill_in_waits(round);
    barriers_carry_on(round);
  }
  check_modes();
  expect_all_empty(mine);
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_mbox_destroy(next));
  EXPECT(0, deck_done());
  EXPECT(DECK_EINIT, deck_barrier());
  ask(NEXT, 64, 1); /* GASNet goes on without DECK */
  test_barrier();
  test_end();
  return 0;
}
