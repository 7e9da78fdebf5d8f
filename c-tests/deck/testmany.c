/* All nodes post and give to all nodes, in a random order, messages of random lengths.
 *
 * usage: deck-testmany [messages for each pair, default 120 on up to 4 nodes [seed]]
 *
 * Sender, receiver and number say what a message is: its length, its way, its bytes. So the receiver knows what comes next from each
 * sender. A message that is lost, doubled, overtaken or changed is seen. */
#include "testdeck.h"

#define LONGEST ((size_t)100000)

static unsigned seed;
static int each;
static deck_mbox_t mine, *box; /* to each node */
static int *sent, *came;       /* to and from each node */
static long total;             /* that came */
static uint64_t sum_sent, sum_came;

static unsigned hash_of(int from, int to, int n) {
  unsigned x = seed * 2654435761u + (unsigned)from * 974711u + (unsigned)to * 15485863u + (unsigned)n * 32452843u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  return x ^ x >> 16;
}

/* Half of them in one line, a quarter up to the limit, the others up to LONGEST. */
static size_t length_of(unsigned hash) {
  const unsigned r = hash >> 4;
  return hash % 4 < 2 ? r % 120 : hash % 4 == 2 ? r % 9000 : r % (LONGEST + 1);
}

static uint64_t sum_of(const void *data, size_t n) {
  const unsigned char *p = (const unsigned char *)data;
  uint64_t sum = 1469598103934665603u + n;
  size_t i;
  for (i = 0; i < n; i++) sum = (sum ^ p[i]) * 1099511628211u;
  return sum;
}

/* Retrieves or takes one, if there is one. */
static int get_one(deck_msg_t in, deck_time_t time) {
  deck_msg_t msg = in;
  const int take = total % 3 == 2;
  int from, rc = take ? deck_mbox_take(mine, &msg, time) : deck_mbox_retrv_timed(mine, msg, time);
  if (rc == DECK_EAGAIN || rc == DECK_ETIMEDOUT) return 0;
  if (!CHECK(rc == 0, "receiving gives %d (%s)", rc, deck_strerror(rc))) return 0;
  from = deck_msg_source(msg);
  if (CHECK(from >= 0 && from < nodes, "source %d", from)) {
    const unsigned hash = hash_of(from, me, came[from]);
    read_msg(msg, length_of(hash), hash, from);
    sum_came += sum_of(deck_msg_data(msg), deck_msg_size(msg));
    came[from]++;
  }
  total++;
  if (take) EXPECT(0, deck_msg_destroy(msg));
  return 1;
}

/* Sends the next message of this pair. Nobody waits for long: while its target is full, a node empties its own box. */
static void send_one(int to, deck_msg_t out, deck_msg_t in) {
  const unsigned hash = hash_of(me, to, sent[to]);
  const size_t length = length_of(hash);
  const int way = (int)(hash >> 2 & 3), give = way >= 2;
  const double end = test_now() + 60;
  int rc;
  if (give) out = new_msg(length, way == 2 ? DECK_SHARED : DECK_AUTO);
  write_msg(out, length, hash);
  sum_sent += sum_of(deck_msg_data(out), length);
  for (;;) {
    rc = give ? deck_mbox_give(box[to], &out, 10 * MILLISECOND) : deck_mbox_post_timed(box[to], out, 10 * MILLISECOND);
    if (rc != DECK_ETIMEDOUT || test_now() > end) break;
    while (get_one(in, 0)) {}
  }
  CHECK(rc == 0, "sending message %d to node %d gives %d (%s)", sent[to], to, rc, deck_strerror(rc));
  if (give && out) EXPECT(0, deck_msg_destroy(out)); /* refused */
  sent[to]++;
}

int main(int argc, char **argv) {
  deck_msg_t in, out;
  uint64_t sums[2], all[2] = {0, 0};
  unsigned random;
  long left, n;
  int i;
  test_begin(&argc, &argv, TEST_NAME("deck-testmany"));
  each = argc > 1 ? atoi(argv[1]) : nodes <= 4 ? 120 : 480 / nodes + 1;
  seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : (unsigned)time(NULL);
  EXPECT(0, deck_bcast(&seed, sizeof seed, 0)); /* one for all */
  EXPECT(0, deck_bcast(&each, sizeof each, 0));
  test_seed(seed);
  box = (deck_mbox_t *)calloc((size_t)nodes, sizeof *box);
  sent = (int *)calloc((size_t)nodes, sizeof *sent);
  came = (int *)calloc((size_t)nodes, sizeof *came);
  in = new_msg(0, DECK_AUTO);
  out = new_msg(LONGEST, DECK_AUTO);
  mine = new_box("many", me, MIB, 200); /* small, so that it is full now and then */
  for (i = 0; i < nodes; i++) box[i] = find_box("many", i);
  random = seed + (unsigned)me * 7919u + 1u;
  for (left = (long)each * nodes; left > 0; left--) {
    int to = (int)(test_random(&random) % (unsigned)nodes);
    while (sent[to] == each) to = (to + 1) % nodes;
    send_one(to, out, in);
    if (left % 2)
      while (get_one(in, 0)) {}
  }
  for (n = total; n < (long)each * nodes; n++)
    if (!CHECK(get_one(in, LONG_TIME), "%ld messages of %ld came", n, (long)each * nodes)) break;
  for (i = 0; i < nodes; i++) CHECK(came[i] == each, "%d messages of node %d instead of %d", came[i], i, each);
  expect_all_empty(mine);
  sums[0] = sum_sent;
  sums[1] = sum_came;
  EXPECT(0, deck_reduce(sums, all, DECK_UINT64, 2, DECK_SUM, 0));
  if (me == 0)
    CHECK(all[0] == all[1], "sum %llx sent, %llx came", (unsigned long long)all[0], (unsigned long long)all[1]);
  for (i = 0; i < nodes; i++) EXPECT(0, deck_mbox_destroy(box[i]));
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_mbox_destroy(mine));
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_msg_destroy(out));
  free(box);
  free(sent);
  free(came);
  return test_end();
}
