/* Mail boxes between node 0 and the first node of the second half, which is on the second host if there are two. The other nodes rest. */
#include "bench.h"
#include <deck.h>
#include <stdio.h>

static deck_mbox_t mine, theirs;

static int check(int result, const char *call) {
  if (result >= 0) return result;
  fprintf(stderr, "gasnet-sci: node %u: %s: %s\n", (unsigned)bench_me, call, deck_strerror(result));
  gasnet_exit(95);
}
#define CHECK(call) check(call, #call)

/* At the first kernel: jobs without these rows have no mail boxes. */
static void open_boxes(void) {
  if (mine) return;
  CHECK(deck_init(NULL, NULL));
  CHECK(deck_mbox_create(bench_me == 0 ? "first" : bench_me == SECOND_HOST ? "second" : NULL, NULL, &mine));
  if (bench_me == 0) CHECK(deck_mbox_clone("second", DECK_FOREVER, &theirs));
  if (bench_me == SECOND_HOST) CHECK(deck_mbox_clone("first", DECK_FOREVER, &theirs));
  CHECK(deck_barrier());
}

static double processor_time(void) { return bench_clock(CLOCK_PROCESS_CPUTIME_ID); }

/* ---- between two hosts: blocks one way ----
 * The other node says when it has them all. Each block is in a message of its own, in the DECK heap, so that it may be given. */
static void send_blocks(long n, size_t bytes, int gives) {
  for (; n > 0; n--) {
    deck_msg_t block;
    CHECK(deck_msg_create(bytes, DECK_SHARED, &block));
    CHECK(deck_msg_set_size(block, bytes));
    CHECK(gives ? deck_mbox_give(theirs, &block, DECK_FOREVER) : deck_mbox_post(theirs, block));
    if (!gives) CHECK(deck_msg_destroy(block));
  }
}

static void take_blocks(long n) {
  for (; n > 0; n--) {
    deck_msg_t block;
    CHECK(deck_mbox_take(mine, &block, DECK_FOREVER));
    CHECK(deck_msg_destroy(block));
  }
}

/* The time of `n` blocks, or the processor time that both nodes spent. */
static double flow(long n, size_t bytes, int gives, int in_processor_time) {
  double start, theirs_took;
  deck_msg_t word;
  open_boxes();
  if (bench_me != 0 && bench_me != SECOND_HOST) return 0;
  start = in_processor_time ? processor_time() : bench_now();
  CHECK(deck_msg_create(64, DECK_LOCAL, &word));
  if (bench_me == 0) {
    send_blocks(n, bytes, gives);
    CHECK(deck_mbox_retrv(mine, word));
    CHECK(deck_msg_unpack(word, &theirs_took, DECK_DOUBLE, 1));
    start -= in_processor_time ? theirs_took : 0;
  } else {
    take_blocks(n);
    theirs_took = processor_time() - start;
    CHECK(deck_msg_pack(word, &theirs_took, DECK_DOUBLE, 1));
    CHECK(deck_mbox_post(theirs, word));
  }
  CHECK(deck_msg_destroy(word));
  return (in_processor_time ? processor_time() : bench_now()) - start;
}

double bench_deck_post(long n, size_t bytes) { return flow(n, bytes, 0, 0); }
double bench_deck_give(long n, size_t bytes) { return flow(n, bytes, 1, 0); }
double bench_deck_post_work(long n, size_t bytes) { return flow(n, bytes, 0, 1); }
double bench_deck_give_work(long n, size_t bytes) { return flow(n, bytes, 1, 1); }

/* ---- the layer of mail boxes of `bench --layers`: messages posted and retrieved, there and back, or one each way at once ---- */
static double talk(long n, size_t bytes, int at_once) {
  const int first = bench_me == 0;
  const unsigned char sent = first ? 17 : 18, expected = first ? 18 : 17;
  unsigned char *data;
  double took;
  deck_msg_t out, in;
  open_boxes();
  CHECK(deck_msg_create(bytes, DECK_AUTO, &out));
  CHECK(deck_msg_create(bytes, DECK_AUTO, &in));
  CHECK(deck_msg_set_size(out, bytes));
  memset(deck_msg_data(out), sent, bytes);
  took = bench_now();
  for (; n > 0; n--) {
    if (first || at_once) CHECK(deck_mbox_post(theirs, out));
    CHECK(deck_mbox_retrv(mine, in));
    bench_read(deck_msg_data(in), bytes);
    if (!first && !at_once) CHECK(deck_mbox_post(theirs, out));
  }
  took = bench_now() - took;
  data = (unsigned char *)deck_msg_data(in);
  if (deck_msg_size(in) != bytes || data[0] != expected || data[bytes - 1] != expected) {
    fprintf(stderr, "gasnet-sci: node %u: a message of %zu bytes is not what was posted\n", (unsigned)bench_me, bytes);
    gasnet_exit(95);
  }
  CHECK(deck_msg_destroy(out));
  CHECK(deck_msg_destroy(in));
  return took;
}

double bench_box_trip(long n, size_t bytes) { return talk(n, bytes, 0); }
double bench_box_exchange(long n, size_t bytes) { return talk(n, bytes, 1); }
