/* Contract items 45–48 with one client thread: a node that waits inside GASNet keeps answering; GASNET_BLOCKUNTIL.
 *
 * usage: testcoreblock [iterations] */
#include "../testcore.h"

#include <pthread.h>

enum { HIDX_ASK = 201, HIDX_ANSWER, HIDX_GO, HIDX_MARK, HIDX_SET, HIDX_FILL };

static int asked, answered, go, marks; /* not volatile, on purpose: item 47 */
static unsigned char *payload;

static void ask_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t n) {
  TEST_COUNT(&asked);
  CHECK(core_differs(buf, nbytes, (unsigned)n) == nbytes, "question %d", (int)n);
  GASNET_SAFE(gasnet_AMReplyMedium1(token, HIDX_ANSWER, buf, nbytes, n));
}
static void answer_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t n) {
  core_source(token);
  CHECK(core_differs(buf, nbytes, (unsigned)n) == nbytes, "answer %d", (int)n);
  TEST_COUNT(&answered);
}
static void go_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&go);
}
static void mark_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&marks);
}

/* ---- 45: one node asks all the others, which only wait, in each way there is ---- */

#define QUESTIONS 20
enum { BARRIER, BLOCKING_BARRIER, BARRIER_TRY, UNTIL, WAYS };

static void ask_everybody(void) {
  gasnet_node_t i;
  int n, before = answered;
  for (n = 1; n <= QUESTIONS; n++) {
    core_fill(payload, 256, (unsigned)n);
    for (i = 0; i < nodes; i++)
      if (i != me) GASNET_SAFE(gasnet_AMRequestMedium1(i, HIDX_ASK, payload, 256, n));
    if (n % (QUESTIONS / 2) == 0) GASNET_BLOCKUNTIL(answered >= before + n * (int)(nodes - 1));
  }
}

static void wait_in(int way, int turn) {
  int rc;
  if (way == UNTIL) GASNET_BLOCKUNTIL(go == turn);
  if (way == BLOCKING_BARRIER) {
    GASNET_SAFE(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
    return;
  }
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (way == BARRIER_TRY)
    while ((rc = gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS)) != GASNET_OK)
      CHECK(rc == GASNET_ERR_NOT_READY, "barrier_try: %s", gasnet_ErrorName(rc));
  else
    GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

static void item45_waiters_answer(void) {
  static const int mode[] = {GASNET_WAIT_SPIN, GASNET_WAIT_BLOCK, GASNET_WAIT_SPINBLOCK};
  gasnet_node_t asker, i;
  int way, m, turn = go;
  for (m = 0; m < 3; m++) {
    GASNET_SAFE(gasnet_set_waitmode(mode[(m + (int)me) % 3]));
    for (way = 0; way < WAYS; way++)
      for (asker = 0; asker < nodes; asker += nodes > 1 ? nodes - 1 : 1) {
        const int before = asked; /* the asker may begin while others are still inside the barrier */
        test_barrier();
        turn++;
        if (me == asker) {
          ask_everybody();
          for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort0(i, HIDX_GO));
          GASNET_BLOCKUNTIL(go == turn);
        }
        wait_in(way, turn);
        GASNET_BLOCKUNTIL(go == turn);
        CHECK(asked == before + (me == asker ? 0 : QUESTIONS), "%d questions answered", asked - before);
      }
  }
  GASNET_SAFE(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK));
}

/* ---- 46: a condition that is true already: no poll ---- */

static void pause_ms(int ms) {
  struct timespec t;
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000L;
  nanosleep(&t, NULL);
}

/* Makes sure that a message is pending. Nodes that share memory do so by plain stores, without a GASNet call: cell 0
 * says "I have left the barrier", cell 1 "I have sent". Other nodes can only wait a moment. */
#define CELL 512
static volatile int *cell_of(gasnet_node_t node, int which) {
#if GASNET_PSHM && !defined(GASNET_SEGMENT_EVERYTHING)
  gasnet_nodeinfo_t *info = (gasnet_nodeinfo_t *)malloc(nodes * sizeof *info);
  volatile int *cell = NULL;
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
  if (info[node].supernode == info[me].supernode)
    cell = (volatile int *)((uintptr_t)core_area[node] + CELL + info[node].offset) + which;
  free(info);
  return cell;
#else
  (void)node, (void)which;
  return NULL;
#endif
}
static void await_cell(volatile int *cell, int value) {
  while (*cell != value) pause_ms(1);
}

static int evaluations;
static int seen_true(void) {
  evaluations++;
  return 1;
}

static void send_mark(int round) {
  const gasnet_node_t next = (me + 1) % nodes;
  if (cell_of(next, 0)) {
    await_cell(cell_of(me, 0), round);
    GASNET_SAFE(gasnet_AMRequestShort0(next, HIDX_MARK));
    *cell_of(next, 1) = round;
  } else {
    pause_ms(3);
    GASNET_SAFE(gasnet_AMRequestShort0(next, HIDX_MARK));
  }
}

static void await_mark(int round) {
  const gasnet_node_t previous = (me + nodes - 1) % nodes;
  static int awaited;
  const int start = awaited++; /* not `marks`: without cells a mark may have come already, in the barrier */
  int before, done = 0;
  if (cell_of(previous, 0)) {
    *cell_of(previous, 0) = round;
    await_cell(cell_of(me, 1), round);
    CHECK(marks == start, "a handler ran outside every GASNet call");
  } else {
    pause_ms(6);
  }
  before = marks;
  GASNET_BLOCKUNTIL(seen_true());
  GASNET_BLOCKUNTIL(++done);
  GASNET_BLOCKUNTIL(1);
  CHECK(marks == before, "a handler ran in a BLOCKUNTIL whose condition was true");
  CHECK(done == 1 && evaluations == 1, "a true condition was evaluated %d and %d times", done, evaluations);
  evaluations = 0;
  GASNET_BLOCKUNTIL(marks >= start + 1);
}

/* Even nodes send to odd ones, then the other way round. Of an odd number of nodes the last has no partner. */
static void item46_true_already(void) {
  int round;
  for (round = 1; round <= 6; round++) {
    const int sender = (me + (unsigned)round) % 2 == 0;
    const int alone = nodes == 1 || (nodes % 2 && (sender ? me == nodes - 1 : me == 0));
    if (cell_of(me, 0)) *cell_of(me, 0) = *cell_of(me, 1) = 0;
    test_barrier();
    if (alone) continue;
    if (sender)
      send_mark(round);
    else
      await_mark(round);
  }
  test_barrier();
}

/* ---- 47: any expression, any place for a statement, variables that are not volatile ---- */

static int value;
static double number;
static struct {
  struct {
    const char *text;
    int at[4];
  } deep;
} place, *place_ptr = &place;

static void set_h(gasnet_token_t token, gasnet_handlerarg_t what, gasnet_handlerarg_t v) {
  core_source(token);
  switch (what) {
    case 0:
      value = v;
      break;
    case 1:
      number = v * 0.5;
      break;
    case 2:
      place.deep.at[3] = v;
      break;
    default:
      place.deep.text = "arrived";
  }
}
/* Lets the neighbour set a variable here, after everybody has seen what was set before. */
static void set(int what, int v) {
  test_barrier();
  GASNET_SAFE(gasnet_AMRequestShort2((me + 1) % nodes, HIDX_SET, what, v));
}
static int sum(int a, int b) { return a + b; }

static void item47_any_expression(int n) {
  int local = 0, i, *pointer = &value;
  int cells[2] = {0, 0};
  set(0, n);
  GASNET_BLOCKUNTIL(value == n);
  set(0, n + 1);
  GASNET_BLOCKUNTIL(sum(*pointer, 1) == n + 2);
  set(0, n + 2);
  GASNET_BLOCKUNTIL((local++, cells[0] = value, cells[0] == n + 2));
  CHECK(local >= 1 && cells[0] == n + 2, "%d evaluations, %d", local, cells[0]);
  set(1, n);
  GASNET_BLOCKUNTIL(number == n * 0.5);
  set(2, n);
  GASNET_BLOCKUNTIL(place_ptr->deep.at[sum(1, 2)] == n);
  place.deep.text = NULL;
  set(3, 0);
  GASNET_BLOCKUNTIL(place_ptr->deep.text);
  CHECK(strcmp(place.deep.text, "arrived") == 0, "%s", place.deep.text);
  set(0, n + 3);
  if (n % 2)
    GASNET_BLOCKUNTIL(value == n + 3 || (value == -1 && n == -1));
  else
    GASNET_BLOCKUNTIL(!(value != n + 3));
  CHECK(value == n + 3, "%d", value);
  set(0, n + 4);
  for (i = 0; i < 1; i++) GASNET_BLOCKUNTIL(value == (n % 2 ? n + 4 : n + 3 + 1));
  CHECK(value == n + 4, "%d", value);
  test_barrier();
}

/* ---- 48: a condition that no handler makes true: payload bytes that land, and plain stores of another thread ---- */

static void fill_h(gasnet_token_t token, void *buf, size_t nbytes) {
  (void)buf;
  core_source(token);
  CHECK(nbytes == 256, "%lu bytes", (unsigned long)nbytes);
}

static void item48_bytes_land(int n) {
  gasnet_node_t next = (me + 1) % nodes, previous = (me + nodes - 1) % nodes;
  unsigned char last = test_byte((unsigned)n + previous, 255);
  core_area[me][255] = (unsigned char)~last;
  test_barrier();
  core_fill(payload, 256, (unsigned)n + me);
  GASNET_SAFE(gasnet_AMRequestLong0(next, HIDX_FILL, payload, 256, core_area[next]));
  GASNET_BLOCKUNTIL(core_area[me][255] == last);
  test_barrier();
  CHECK(core_differs(core_area[me], 256, (unsigned)n + previous) == 256, "Long %d", n);
  test_barrier();
}

static int stored; /* plain, as clients have it: the other thread of this program never calls GASNet */
static void *store_later(void *arg) {
  pause_ms(*(int *)arg);
  *(volatile int *)&stored = *(int *)arg;
  return NULL;
}

static void item48_another_thread(void) {
  static const int mode[] = {GASNET_WAIT_SPIN, GASNET_WAIT_BLOCK, GASNET_WAIT_SPINBLOCK};
  static int ms[3];
  int m;
  for (m = 0; m < 3; m++) {
    pthread_t thread;
    GASNET_SAFE(gasnet_set_waitmode(mode[m]));
    ms[m] = 1 + 9 * m;
    if (pthread_create(&thread, NULL, store_later, &ms[m])) gasnet_exit(95);
    GASNET_BLOCKUNTIL(stored == ms[m]);
    pthread_join(thread, NULL);
    CHECK(stored == ms[m], "%d", stored);
  }
  GASNET_SAFE(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK));
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {
      {HIDX_ASK, (void (*)())ask_h},   {HIDX_ANSWER, (void (*)())answer_h}, {HIDX_GO, (void (*)())go_h},
      {HIDX_MARK, (void (*)())mark_h}, {HIDX_SET, (void (*)())set_h},       {HIDX_FILL, (void (*)())fill_h}};
  long iterations;
  int n;
  core_init(&argc, &argv, "testcoreblock");
  iterations = core_number(argc, argv, 1, 1);
  core_attach(table, (int)(sizeof table / sizeof *table), CELL + 16);
  payload = (unsigned char *)malloc(256);
  test_begin("testcoreblock");
  while (iterations-- > 0) {
    item45_waiters_answer();
    item46_true_already();
    for (n = 1; n <= 20; n++) item47_any_expression(n * 10);
    for (n = 1; n <= 20; n++) item48_bytes_land(n);
    item48_another_thread();
  }
  test_end();
  return 0;
}
