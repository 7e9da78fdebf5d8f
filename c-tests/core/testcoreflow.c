/* Contract items 36, 37 and 40–44: long streams, floods, windows; every message handled exactly once.
 *
 * usage: testcoreflow [factor [requests]]      all counts times `factor`, default 1; `requests` of item 36, default
 * 20000 times it
 *
 * The programs do not poll while they send, because a request that waits must serve other messages meanwhile. */
#include "testcoream.h"

enum { HIDX_COUNT = 201, HIDX_COUNT_BULK, HIDX_PING, HIDX_PONG, HIDX_DIFFERENT, HIDX_FLOOD, HIDX_FLOOD_BACK, HIDX_STOP,
       HIDX_ASK, HIDX_ANSWER };
enum { HIDX_WINDOW = 211, HIDX_WINDOW_MEDIUM, HIDX_WINDOW_LONG, HIDX_DONE, HIDX_DONE_BULK, HIDX_DONE_LONG, HIDX_TOTAL };

#define WINDOW 16   /* requests in flight per peer */
#define MAXBYTES 2048
#define FLOODBYTES 65536 /* of a Long in a flood, or less if the limits say so */

static long factor, oneway;
static int *handled;          /* per node: requests of the current item that came from it */
static long answered;         /* replies */
static unsigned char *buffer; /* a source of any size used here */

static void forget(void) {
  test_barrier();
  memset(handled, 0, nodes * sizeof *handled);
  answered = 0;
  test_barrier();
}

static int all_handled(int each) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    if (handled[i] < each) return 0;
  return 1;
}

/* Nothing may come twice: after everybody is done, nothing more comes. */
static void check_no_more(const char *what, int each) {
  gasnet_node_t i;
  int n;
  test_barrier();
  for (n = 0; n < 100; n++) GASNET_SAFE(gasnet_AMPoll());
  test_barrier();
  for (i = 0; i < nodes; i++)
    CHECK(handled[i] == each, "%s: %d of %d from node %u", what, handled[i], each, (unsigned)i);
}

/* ---- 36, 41: requests without a reply; 100 000 to oneself without a poll ---- */

static void count_h(gasnet_token_t token, gasnet_handlerarg_t number) {
  gasnet_node_t from = core_source(token);
  (void)number;
  TEST_COUNT(&handled[from]);
}
static void count_bulk_h(gasnet_token_t token, void *buf, size_t nbytes) {
  gasnet_node_t from = core_source(token);
  CHECK(nbytes == 100 && ((unsigned char *)buf)[99] == 7, "Medium of %lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&handled[from]);
}

static void stream(gasnet_node_t to, int count) {
  int n;
  memset(buffer, 7, 100);
  for (n = 0; n < count; n++) {
    if (n % 4 == 3)
      GASNET_SAFE(gasnet_AMRequestMedium0(to, HIDX_COUNT_BULK, buffer, 100));
    else
      GASNET_SAFE(gasnet_AMRequestShort1(to, HIDX_COUNT, n));
  }
}

static void item36_requests_leak_nothing(void) {
  const int count = (int)oneway, next = (int)((me + 1) % nodes), previous = (int)((me + nodes - 1) % nodes);
  long before, after;
  forget();
  stream((gasnet_node_t)next, 20000); /* buffers of ours that grow once have grown now */
  GASNET_BLOCKUNTIL(handled[previous] >= 20000);
  forget();
  before = test_resident_kib();
  stream((gasnet_node_t)next, count);
  GASNET_BLOCKUNTIL(handled[previous] >= count);
  after = test_resident_kib();
  CHECK(after - before < 1024, "%ld KiB more after %d requests", after - before, count);
  test_barrier();
  CHECK(handled[previous] == count, "%d of %d", handled[previous], count);
}

static void item41_loopback(void) {
  const int count = 100000;
  int n;
  forget();
  for (n = 0; n < count; n++) GASNET_SAFE(gasnet_AMRequestShort1(me, HIDX_COUNT, n));
  GASNET_BLOCKUNTIL(handled[me] >= count);
  test_barrier();
  CHECK(handled[me] == count, "%d of %d", handled[me], count);
}

/* ---- 40: one index, another function on every second node ---- */

static int even_calls, odd_calls;
static void even_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&even_calls);
}
static void odd_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&odd_calls);
}

static void item40_functions_differ(void) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort0(i, HIDX_DIFFERENT));
  GASNET_BLOCKUNTIL(even_calls + odd_calls >= (int)nodes);
  CHECK((me % 2 ? even_calls : odd_calls) == 0, "%d calls of the even, %d of the odd function", even_calls, odd_calls);
}

/* ---- 42: floods without a poll ---- */

/* Arguments: seed, category of the reply or -1. Requests land at the sender's place, replies behind all of those. */
static size_t floodbytes, longbytes;
static unsigned char *flood_place(gasnet_node_t at, gasnet_node_t with, int back) {
  return core_area[at] + (nodes * (unsigned)back + with) * longbytes;
}
/* The first and last bytes, and some between: others may land on the same Long place meanwhile, with the same bytes. */
static void check_flood(const void *buf, size_t nbytes, gasnet_node_t from) {
  CHECK(core_differs(buf, nbytes, from + 1000) == nbytes, "flood: %lu bytes differ at %lu", (unsigned long)nbytes,
        (unsigned long)core_differs(buf, nbytes, from + 1000));
}
static void flood_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t reply) {
  gasnet_node_t from = core_source(token);
  int n = TEST_COUNT(&handled[from]);
  if (n % 8 == 1) check_flood(buf, nbytes, from); /* all bytes of some, the size of all */
  CHECK(nbytes == floodbytes || nbytes == longbytes, "%lu bytes", (unsigned long)nbytes);
  if (reply == MEDIUM) GASNET_SAFE(gasnet_AMReplyMedium0(token, HIDX_FLOOD_BACK, buf, floodbytes));
  if (reply == LONG)
    GASNET_SAFE(gasnet_AMReplyLong0(token, HIDX_FLOOD_BACK, buf, nbytes, flood_place(from, me, 1)));
}
static void flood_back_h(gasnet_token_t token, void *buf, size_t nbytes) {
  core_source(token);
  if (TEST_COUNT(&answered) % 8 == 1) check_flood(buf, nbytes, me);
}

static void flood(gasnet_node_t to, int n) {
  int reply = n % 4 == 0 ? MEDIUM : n % 4 == 1 ? LONG : -1;
  if (n % 2)
    GASNET_SAFE(gasnet_AMRequestLong1(to, HIDX_FLOOD, buffer, longbytes, flood_place(to, me, 0), reply));
  else
    GASNET_SAFE(gasnet_AMRequestMedium1(to, HIDX_FLOOD, buffer, floodbytes, reply));
}

static void item42_floods(void) {
  const int count = (int)(96 * factor);
  gasnet_node_t i, target;
  int n;
  core_fill(buffer, floodbytes > longbytes ? floodbytes : longbytes, me + 1000);
  for (target = 0; target < nodes; target += nodes > 1 ? nodes - 1 : 1) { /* all to one: node 0, then the last */
    forget();
    for (n = 0; n < count; n++) flood(target, n);
    GASNET_BLOCKUNTIL(answered >= count / 2);
    if (me == target) GASNET_BLOCKUNTIL(all_handled(count));
    check_no_more("all to one", me == target ? count : 0);
  }
  forget();
  for (n = 0; n < count; n++)
    for (i = 0; i < nodes; i++) flood((me + i) % nodes, n);
  GASNET_BLOCKUNTIL(all_handled(count) && answered >= (long)nodes * count / 2);
  check_no_more("all to all", count);
}

/* All ask all others at once for the longest Medium, many times: replies wait for room in handlers, while the peer does too. */
static void ask_h(gasnet_token_t token) {
  core_source(token);
  GASNET_SAFE(gasnet_AMReplyMedium0(token, HIDX_ANSWER, buffer, floodbytes));
}
static void answer_h(gasnet_token_t token, void *buf, size_t nbytes) {
  gasnet_node_t from = core_source(token);
  CHECK(nbytes == floodbytes, "%lu bytes", (unsigned long)nbytes);
  if (TEST_COUNT(&answered) % 8 == 1) check_flood(buf, nbytes, from);
}

static void item42_answers_both_ways(void) {
  const long count = 24;
  gasnet_node_t i;
  int n;
  long round;
  core_fill(buffer, floodbytes, me + 1000);
  for (round = 0; round < 5 * factor; round++) {
    forget();
    for (n = 0; n < count; n++)
      for (i = 1; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort0((me + i) % nodes, HIDX_ASK));
    GASNET_BLOCKUNTIL(answered >= count * ((long)nodes - 1));
  }
  test_barrier();
  CHECK(answered == count * ((long)nodes - 1), "%ld answers", answered);
}

/* ---- a node that only sends, to a peer that keeps up or to itself, also serves the others ---- */

static volatile int stopped;
static void stop_h(gasnet_token_t token) {
  core_source(token);
  stopped = 1;
}

static void sending_serves_others(void) {
  const gasnet_node_t to[] = {nodes > 1 ? 1 : 0, 0};
  long n, sent = 0;
  int k;
  for (k = 0; k < 2; k++) {
    const double end = test_now() + 60;
    forget();
    stopped = 0;
    test_barrier();
    if (me == 0) GASNET_SAFE(gasnet_AMRequestShort1(nodes - 1, HIDX_COUNT, 0)); /* out of the barrier, whose polls would do */
    if (me == nodes - 1) {
      GASNET_BLOCKUNTIL(handled[0] > 0);
      GASNET_SAFE(gasnet_AMRequestShort0(0, HIDX_STOP));
    }
    if (me == 0)
      for (; !stopped && test_now() < end; sent++) GASNET_SAFE(gasnet_AMRequestShort1(to[k], HIDX_COUNT, 0));
    CHECK(me != 0 || stopped, "a request waited for %ld others of its target", sent);
    test_barrier();
  }
  for (n = 0; n < 100; n++) GASNET_SAFE(gasnet_AMPoll());
  test_barrier();
}

/* ---- 43: each reply lets main code send the next request ---- */

static void ping_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  TEST_COUNT(&handled[core_source(token)]);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_PONG, n));
}
static void pong_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  core_source(token);
  CHECK(n == answered + 1, "reply %d after %ld", (int)n, answered);
  TEST_COUNT(&answered);
}

static void item43_ping_pong(void) {
  const int count = (int)(5000 * factor);
  long before = 0;
  int n;
  forget();
  for (n = 1; n <= count; n++) {
    if (n == 1000) before = test_resident_kib();
    GASNET_SAFE(gasnet_AMRequestShort1((me + 1) % nodes, HIDX_PING, n));
    GASNET_BLOCKUNTIL(answered >= n);
  }
  CHECK(test_resident_kib() - before < 1024, "%ld KiB more after %d round trips", test_resident_kib() - before, count);
  test_barrier();
  CHECK(handled[(me + nodes - 1) % nodes] == count, "%d of %d", handled[(me + nodes - 1) % nodes], count);
}

/* ---- 44, 37: sixteen in flight to every peer, everything random, every message told apart ---- */

struct flight {
  int busy;
  size_t nbytes;        /* of the reply, by its category */
  unsigned seed, reply; /* of the reply */
  unsigned char *source; /* LongAsync: MAXBYTES that stay until the reply */
};
static struct flight *flights; /* nodes * WINDOW */
static unsigned char *seen;    /* one byte per (node, number): requests that came */
static long per_peer, awaited;  /* replies that must come */
static int *told; /* per node: how many requests it says it has sent here, + 1 */

static unsigned char *window_place(gasnet_node_t at, gasnet_node_t with, int back, int slot) {
  return core_area[at] + ((nodes * (unsigned)back + with) * WINDOW + (unsigned)slot) * (MAXBYTES + 16);
}

/* Both sides derive a message from (sender, receiver, number): its category, size, reply. */
static void derive(gasnet_node_t from, gasnet_node_t to, int number, unsigned *category, size_t *nbytes,
                   unsigned *reply, size_t *replybytes, unsigned *seed) {
  unsigned r = core_seed(from + 3, to + 7, (unsigned)number);
  size_t limit;
  *seed = test_random(&r);
  *category = test_random(&r) % 4;
  *reply = *category <= MEDIUM ? test_random(&r) % 4 : test_random(&r) % 3; /* 3: none; who uses a place is answered */
  limit = test_random(&r) % 4 ? 128 : MAXBYTES;
  if (limit > gasnet_AMMaxMedium()) limit = gasnet_AMMaxMedium();
  *nbytes = *category == SHORT ? 0 : test_random(&r) % (limit + 1);
  *replybytes = *reply == SHORT ? 0 : test_random(&r) % (limit + 1);
}

static void window_came(gasnet_token_t token, unsigned category, void *buf, size_t nbytes, gasnet_handlerarg_t number,
                        gasnet_handlerarg_t slot) {
  gasnet_node_t from = core_source(token);
  unsigned char payload[MAXBYTES];
  unsigned sent, reply, seed;
  size_t sentbytes, replybytes;
  derive(from, me, number, &sent, &sentbytes, &reply, &replybytes, &seed);
  CHECK(category == (sent == LONGASYNC ? LONG : sent), "%s, sent as %s", core_catname[category], core_catname[sent]);
  CHECK(seen[from * per_peer + number]++ == 0, "request %d of node %u came again", (int)number, (unsigned)from);
  if (category != SHORT && CHECK(nbytes == sentbytes, "%lu bytes", (unsigned long)nbytes)) {
    CHECK(core_differs(buf, nbytes, seed) == nbytes, "%s of %lu bytes differs at %lu", core_catname[sent],
          (unsigned long)nbytes, (unsigned long)core_differs(buf, nbytes, seed));
    CHECK(category == MEDIUM || nbytes == 0 || buf == window_place(me, from, 0, slot) + seed % 16, "landed at %p", buf);
  }
  TEST_COUNT(&handled[from]);
  core_fill(payload, replybytes, seed + 1);
  if (reply == MEDIUM) {
    GASNET_SAFE(gasnet_AMReplyMedium2(token, HIDX_DONE_BULK, payload, replybytes, slot, number));
  } else if (reply == LONG) {
    GASNET_SAFE(gasnet_AMReplyLong2(token, HIDX_DONE_LONG, payload, replybytes,
                                    window_place(from, me, 1, slot) + (seed + 5) % 16, slot, number));
  } else if (reply == SHORT) {
    GASNET_SAFE(gasnet_AMReplyShort2(token, HIDX_DONE, slot, number));
  }
}
static void window_short_h(gasnet_token_t token, gasnet_handlerarg_t number, gasnet_handlerarg_t slot) {
  window_came(token, SHORT, NULL, 0, number, slot);
}
static void window_medium_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t number,
                            gasnet_handlerarg_t slot) {
  window_came(token, MEDIUM, buf, nbytes, number, slot);
}
static void window_long_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t number,
                          gasnet_handlerarg_t slot) {
  window_came(token, LONG, buf, nbytes, number, slot);
}

static void window_done(gasnet_token_t token, unsigned category, const void *buf, size_t nbytes,
                        gasnet_handlerarg_t slot, gasnet_handlerarg_t number) {
  gasnet_node_t from = core_source(token);
  struct flight *f = &flights[from * WINDOW + (unsigned)slot];
  unsigned sent, reply, seed;
  size_t sentbytes, replybytes;
  derive(me, from, number, &sent, &sentbytes, &reply, &replybytes, &seed);
  CHECK(f->busy == number + 1, "slot %d holds request %d, the reply is of %d", (int)slot, f->busy - 1, (int)number);
  CHECK(category == reply, "%s reply", core_catname[category]);
  if (category != SHORT)
    CHECK(nbytes == replybytes && core_differs(buf, nbytes, seed + 1) == nbytes, "reply of %lu bytes, %lu sent",
          (unsigned long)nbytes, (unsigned long)replybytes);
  CHECK(category != LONG || nbytes == 0 || buf == window_place(me, from, 1, slot) + (seed + 5) % 16, "at %p", buf);
  if (sent == LONGASYNC) CHECK(core_differs(f->source, sentbytes, seed) == sentbytes, "LongAsync source changed");
  TEST_COUNT(&answered);
  f->busy = 0;
}
static void done_h(gasnet_token_t token, gasnet_handlerarg_t slot, gasnet_handlerarg_t number) {
  window_done(token, SHORT, NULL, 0, slot, number);
}
static void done_bulk_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t slot,
                        gasnet_handlerarg_t number) {
  window_done(token, MEDIUM, buf, nbytes, slot, number);
}
static void done_long_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t slot,
                        gasnet_handlerarg_t number) {
  window_done(token, LONG, buf, nbytes, slot, number);
}

static int free_slot(gasnet_node_t to) {
  int slot;
  for (slot = 0; slot < WINDOW; slot++)
    if (!flights[to * WINDOW + (unsigned)slot].busy) return slot;
  return -1;
}

static void window_send(gasnet_node_t to, int number) {
  gasnet_handlerarg_t a[CORE_MAXARGS] = {0};
  unsigned category, reply, seed;
  size_t replybytes;
  struct core_am am;
  struct flight *f;
  int slot;
  GASNET_BLOCKUNTIL((slot = free_slot(to)) >= 0);
  f = &flights[to * WINDOW + (unsigned)slot];
  derive(me, to, number, &category, &am.nbytes, &reply, &replybytes, &seed);
  am.category = (int)category;
  am.spelling = number % 2;
  am.handler = category == SHORT ? HIDX_WINDOW : category == MEDIUM ? HIDX_WINDOW_MEDIUM : HIDX_WINDOW_LONG;
  am.src = f->source;
  am.dst = window_place(to, me, 0, slot) + seed % 16;
  am.numargs = 2;
  a[0] = number, a[1] = slot;
  core_fill(f->source, am.nbytes, seed);
  f->busy = number + 1;
  core_request(to, &am, a);
  if (reply == 3) f->busy = 0;
  awaited += reply != 3;
}

static void total_h(gasnet_token_t token, gasnet_handlerarg_t total) { told[core_source(token)] = total + 1; }
static int totals_match(void) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    if (told[i] == 0 || handled[i] < told[i] - 1) return 0;
  return 1;
}

static void item44_window(void) {
  gasnet_node_t i;
  int n;
  forget();
  for (n = 0; n < per_peer; n++)
    for (i = 0; i < nodes; i++) window_send((me + i) % nodes, n);
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort1(i, HIDX_TOTAL, (gasnet_handlerarg_t)per_peer));
  GASNET_BLOCKUNTIL(answered >= awaited && totals_match());
  check_no_more("window", (int)per_peer);
  CHECK(answered == awaited, "%ld replies, %ld awaited", answered, awaited);
  CHECK(core_notall(seen, nodes * (size_t)per_peer, 1) == nodes * (size_t)per_peer, "one came not exactly once");
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_COUNT, (void (*)())count_h},
                                         {HIDX_COUNT_BULK, (void (*)())count_bulk_h},
                                         {HIDX_PING, (void (*)())ping_h},
                                         {HIDX_PONG, (void (*)())pong_h},
                                         {HIDX_FLOOD, (void (*)())flood_h},
                                         {HIDX_FLOOD_BACK, (void (*)())flood_back_h},
                                         {HIDX_STOP, (void (*)())stop_h},
                                         {HIDX_ASK, (void (*)())ask_h},
                                         {HIDX_ANSWER, (void (*)())answer_h},
                                         {HIDX_WINDOW, (void (*)())window_short_h},
                                         {HIDX_WINDOW_LONG, (void (*)())window_long_h},
                                         {HIDX_WINDOW_MEDIUM, (void (*)())window_medium_h},
                                         {HIDX_DONE, (void (*)())done_h},
                                         {HIDX_DONE_BULK, (void (*)())done_bulk_h},
                                         {HIDX_DONE_LONG, (void (*)())done_long_h},
                                         {HIDX_TOTAL, (void (*)())total_h},
                                         {HIDX_DIFFERENT, (void (*)())even_h}};
  gasnet_handlerentry_t mine[sizeof table / sizeof *table];
  unsigned i;
  size_t area;
  core_init(&argc, &argv, "testcoreflow");
  factor = core_number(argc, argv, 1, 1);
  per_peer = 300 * factor;
  oneway = core_number(argc, argv, 2, 20000 * factor);
  floodbytes = gasnet_AMMaxMedium();
  longbytes = FLOODBYTES;
  if (longbytes > gasnet_AMMaxLongRequest()) longbytes = gasnet_AMMaxLongRequest();
  if (longbytes > gasnet_AMMaxLongReply()) longbytes = gasnet_AMMaxLongReply();
  memcpy(mine, table, sizeof table);
  if (me % 2) mine[sizeof table / sizeof *table - 1].fnptr = (void (*)())odd_h;
  area = 2 * nodes * longbytes;
  if (area < 2 * nodes * (size_t)WINDOW * (MAXBYTES + 16)) area = 2 * nodes * (size_t)WINDOW * (MAXBYTES + 16);
  core_attach(mine, (int)(sizeof table / sizeof *table), area);
  handled = (int *)calloc(nodes, sizeof *handled);
  told = (int *)calloc(nodes, sizeof *told);
  buffer = (unsigned char *)malloc(floodbytes > longbytes ? floodbytes : longbytes);
  flights = (struct flight *)calloc(nodes * WINDOW, sizeof *flights);
  for (i = 0; i < nodes * WINDOW; i++) flights[i].source = (unsigned char *)malloc(MAXBYTES);
  seen = (unsigned char *)calloc(nodes, (size_t)per_peer);
  test_begin("testcoreflow");

  item36_requests_leak_nothing();
  item40_functions_differ();
  item41_loopback();
  item42_floods();
  item42_answers_both_ways();
  sending_serves_others();
  item43_ping_pong();
  item44_window();
  test_end();
  return 0;
}
