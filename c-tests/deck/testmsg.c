/* Messages, packing, reply boxes; and calls that are refused, before deck_init, with wrong arguments, and after deck_done.
 *
 * usage: deck-testmsg */
#include "testdeck.h"

#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)

static const int places[] = {DECK_AUTO,
                             DECK_LOCAL,
                             DECK_SHARED,
                             DECK_AUTO + DECK_FIXED,
                             DECK_LOCAL + DECK_FIXED,
                             DECK_SHARED + DECK_FIXED};
static const size_t width[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}; /* of the types */

static void *no_thread(void *arg) { return arg; }

/* ---- outside of the job ---- */

static void check_outside(const char *when) {
  deck_msg_t msg = NULL;
  deck_mbox_t box = NULL;
  deck_sem_t sem = NULL;
  deck_thread_t thread = NULL;
  int32_t a[4] = {0}, b[4];
  const long before = test_errors;
  EXPECT(DECK_EINIT, deck_node());
  EXPECT(DECK_EINIT, deck_nodes());
  EXPECT(DECK_EINIT, deck_msg_create(100, DECK_AUTO, &msg));
  EXPECT(DECK_EINIT, deck_mbox_create("outside", NULL, &box));
  EXPECT(DECK_EINIT, deck_mbox_clone("outside", 0, &box));
  EXPECT(DECK_EINIT, deck_thread_create(no_thread, NULL, &thread));
  EXPECT(DECK_EINIT, deck_thread_yield());
  EXPECT(DECK_EINIT, deck_sem_create(1, &sem));
  EXPECT(DECK_EINIT, deck_barrier());
  EXPECT(DECK_EINIT, deck_bcast(a, sizeof a, 0));
  EXPECT(DECK_EINIT, deck_gather(a, 0, b, 0));
  EXPECT(DECK_EINIT, deck_scatter(a, b, 0, 0));
  EXPECT(DECK_EINIT, deck_reduce(a, b, DECK_INT32, 4, DECK_SUM, 0));
  EXPECT(DECK_EINIT, deck_done());
  CHECK(!msg && !box && !sem && !thread, "a refused call stored something");
  CHECK(test_errors == before, "wrong %s", when);
}

static void check_texts(void) {
  const char *version = deck_version();
  char head[16];
  int e, other;
  for (e = 3; e >= -200; e--) {
    const char *text = deck_strerror(e);
    CHECK(text && *text, "no text for %d", e);
  }
  CHECK(deck_strerror(-2147483647 - 1) && *deck_strerror(-2147483647 - 1), "no text for the least int");
  CHECK(deck_strerror(2147483647) && *deck_strerror(2147483647), "no text for the greatest int");
  for (e = 0; e >= DECK_ETWICE; e--)
    for (other = e - 1; other >= DECK_ETWICE; other--)
      CHECK(strcmp(deck_strerror(e), deck_strerror(other)), "%d and %d: %s", e, other, deck_strerror(e));
  snprintf(head, sizeof head, "%d.%d", DECK_VERSION_MAJOR, DECK_VERSION_MINOR);
  CHECK(version && strncmp(version, head, strlen(head)) == 0, "version \"%s\"", version ? version : "(null)");
}

/* ---- sizes ---- */

static void check_sizes(int place) {
  static const size_t sizes[] = {0, 1, 7, 16, 52, 113, 1000, 8191, 8192, 8193, 70000, 3 * 1048576};
  deck_msg_t all[12];
  int i;
  for (i = 0; i < 12; i++) {
    deck_msg_t m = all[i] = new_msg(sizes[i], place);
    const size_t has = deck_msg_capacity(m);
    CHECK(deck_msg_size(m) == 0, "a new message has %lu bytes", (unsigned long)deck_msg_size(m));
    CHECK((uintptr_t)deck_msg_data(m) % 16 == 0, "data at %p", deck_msg_data(m));
    EXPECT(DECK_EARG, deck_msg_source(m));
    EXPECT(0, deck_msg_set_size(m, has));
    EXPECT(DECK_ETRUNC, deck_msg_set_size(m, has + 1));
    EXPECT(DECK_ETRUNC, deck_msg_set_size(m, (size_t)-1));
    CHECK(deck_msg_size(m) == has, "a refused size was set: %lu", (unsigned long)deck_msg_size(m));
    write_msg(m, has, seed_of(1, place, i));
    EXPECT(0, deck_msg_set_size(m, has / 2));
    EXPECT(0, deck_msg_rewind(m));
    EXPECT(0, deck_msg_set_size(m, has)); /* a size alone changes no byte */
  }
  for (i = 0; i < 12; i++) { /* no message lies in another */
    read_msg(all[i], deck_msg_capacity(all[i]), seed_of(1, place, i), -1);
    EXPECT(0, deck_msg_clear(all[i]));
    CHECK(deck_msg_size(all[i]) == 0, "%lu bytes after clear", (unsigned long)deck_msg_size(all[i]));
    EXPECT(0, deck_msg_destroy(all[i]));
  }
}

/* ---- packing ---- */

static const size_t counts[] = {0, 1, 2, 3, 5, 8, 13, 100};

/* Packs counts[k] elements of each type, then a text of k * 3 bytes. The type that comes first is another one each time. */
static void pack_all(deck_msg_t m, unsigned seed) {
  unsigned char data[800];
  char text[32];
  int k, t;
  for (k = 0; k < 8; k++) {
    for (t = 0; t < 11; t++) {
      const int type = 1 + (t + k) % 11;
      const size_t before = deck_msg_size(m), n = counts[k] * width[type];
      fill(data, n, seed + (unsigned)(k * 11 + t));
      EXPECT(0, deck_msg_pack(m, data, type, counts[k]));
      CHECK(deck_msg_size(m) == before + 8 + (n + 7) / 8 * 8, "%lu bytes for %lu of type %d",
            (unsigned long)(deck_msg_size(m) - before), (unsigned long)counts[k], type);
    }
    memset(text, 'a' + k, (size_t)k * 3);
    text[k * 3] = 0;
    EXPECT(0, deck_msg_pack_str(m, text));
  }
}

/* What is asked wrongly takes nothing. */
static void unpack_all(deck_msg_t m, unsigned seed, int wrongly) {
  unsigned char data[816];
  char text[32], expected[32];
  deck_mbox_t box = NULL;
  int k, t;
  for (k = 0; k < 8; k++) {
    for (t = 0; t < 11; t++) {
      const int type = 1 + (t + k) % 11;
      const size_t n = counts[k] * width[type];
      memset(data, 0xA5, sizeof data);
      if (wrongly) {
        EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, type, counts[k] + 1));
        if (counts[k]) EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, type, counts[k] - 1));
        EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, type % 11 + 1, counts[k]));
        EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, type, (size_t)-1));
        EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, type, ((size_t)1 << 61) + counts[k]));
        EXPECT(DECK_ETYPE, deck_msg_unpack_str(m, text, sizeof text));
        EXPECT(DECK_ETYPE, deck_msg_unpack_mbox(m, &box));
        CHECK(data[0] == 0xA5, "a refused unpack wrote");
      }
      EXPECT(0, deck_msg_unpack(m, data, type, counts[k]));
      CHECK(differs(data, n, seed + (unsigned)(k * 11 + t)) == n, "%lu elements of type %d", (unsigned long)counts[k],
            type);
      CHECK(data[n] == 0xA5 && data[n + 8] == 0xA5, "bytes behind %lu of type %d", (unsigned long)counts[k], type);
    }
    memset(expected, 'a' + k, (size_t)k * 3);
    expected[k * 3] = 0;
    memset(text, '?', sizeof text);
    if (wrongly) {
      EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, DECK_BYTE, (size_t)k * 3 + 1));
      EXPECT(DECK_ETRUNC, deck_msg_unpack_str(m, text, (size_t)k * 3));
      EXPECT(DECK_ETRUNC, deck_msg_unpack_str(m, text, 0));
      EXPECT(DECK_ETYPE, deck_msg_unpack_mbox(m, &box));
    }
    EXPECT(0, deck_msg_unpack_str(m, text, (size_t)k * 3 + 1));
    CHECK(memcmp(text, expected, (size_t)k * 3 + 1) == 0, "text %d", k);
    CHECK(text[k * 3 + 1] == '?', "a byte behind text %d", k);
  }
  EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, DECK_BYTE, 0)); /* nothing comes next */
  EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, DECK_BYTE, 1));
  EXPECT(DECK_ETYPE, deck_msg_unpack_str(m, text, sizeof text));
  EXPECT(DECK_ETYPE, deck_msg_unpack_mbox(m, &box));
  CHECK(box == NULL, "a refused call stored a box");
}

static void check_packing(int place, deck_mbox_t mine, deck_mbox_t next) {
  const unsigned seed = seed_of(2, me, place), theirs = seed_of(2, PREVIOUS, place);
  deck_msg_t m = new_msg(20000, place), in = new_msg(place & DECK_FIXED ? 20000 : 0, place);
  size_t full;
  int i;
  pack_all(m, seed);
  full = deck_msg_size(m);
  unpack_all(m, seed, 1);
  EXPECT(0, deck_msg_rewind(m));
  unpack_all(m, seed, 0);
  CHECK(deck_msg_size(m) == full, "unpacking changed the size");
  for (i = 0; i < 2; i++) { /* the second time into a message that was unpacked before */
    EXPECT(0, deck_mbox_post_timed(next, m, LONG_TIME));
    EXPECT(0, deck_mbox_retrv_timed(mine, in, LONG_TIME));
    CHECK(deck_msg_size(in) == full, "%lu bytes instead of %lu", (unsigned long)deck_msg_size(in), (unsigned long)full);
    unpack_all(in, theirs, 1);
    EXPECT(0, deck_msg_rewind(in));
    unpack_all(in, theirs, 0);
  }
  EXPECT(0, deck_msg_clear(m)); /* and anew from the front */
  pack_all(m, seed + 1);
  CHECK(deck_msg_size(m) == full, "%lu bytes instead of %lu", (unsigned long)deck_msg_size(m), (unsigned long)full);
  unpack_all(m, seed + 1, 1);
  EXPECT(0, deck_msg_destroy(m));
  EXPECT(0, deck_msg_destroy(in));
}

/* Messages that are too small, and bytes that nobody has packed. */
/* Room: a message that was created for 20000 bytes has them for the program also after a short message was retrieved into it, whatever memory
 * that one came in. What it holds stays. */
static void check_room(int place, deck_mbox_t mine, deck_mbox_t next) {
  static const size_t sizes[] = {40, 53, 400, 600, 5000, 9000};
  static unsigned char much[10000];
  int i;
  for (i = 0; i < 6; i++) {
    const unsigned seed = seed_of(6, place, i);
    deck_msg_t from = new_msg(sizes[i], DECK_AUTO), m = new_msg(20000, place);
    send_to(next, from, sizes[i], seed);
    EXPECT(0, deck_mbox_retrv_timed(mine, m, LONG_TIME));
    EXPECT(0, deck_msg_set_size(m, 12000));
    EXPECT(0, deck_msg_set_size(m, sizes[i]));
    read_msg(m, sizes[i], seed, PREVIOUS);
    send_to(next, from, sizes[i], seed);
    EXPECT(0, deck_mbox_retrv_timed(mine, m, LONG_TIME));
    EXPECT(0, deck_msg_clear(m));
    EXPECT(0, deck_msg_pack(m, much, DECK_BYTE, sizeof much));
    EXPECT(0, deck_msg_pack(m, much, DECK_BYTE, 9000));
    CHECK(deck_msg_capacity(m) >= 20000, "capacity %lu", (unsigned long)deck_msg_capacity(m));
    EXPECT(DECK_ETRUNC, deck_msg_set_size(m, deck_msg_capacity(m) + 1));
    EXPECT(0, deck_msg_destroy(from));
    EXPECT(0, deck_msg_destroy(m));
  }
}

static void check_bad_packing(void) {
  static unsigned char data[131072]; /* the second half takes what is unpacked */
  unsigned char *const half = data + sizeof data / 2;
  char text[256];
  deck_mbox_t box = NULL;
  deck_msg_t m = new_msg(64, DECK_LOCAL);
  const size_t has = deck_msg_capacity(m);
  int i, t;
  fill(data, sizeof data, 3);
  memset(text, 'x', 255);
  text[255] = 0;
  EXPECT(0, deck_msg_pack(m, data, DECK_UINT32, 5)); /* 32 bytes */
  EXPECT(DECK_ETRUNC, deck_msg_pack(m, data, DECK_BYTE, has - 39));
  EXPECT(DECK_ETRUNC, deck_msg_pack(m, data, DECK_DOUBLE, (size_t)-1));
  EXPECT(DECK_ETRUNC, deck_msg_pack(m, data, DECK_DOUBLE, (size_t)1 << 61));
  if (has < 256) EXPECT(DECK_ETRUNC, deck_msg_pack_str(m, text));
  CHECK(deck_msg_size(m) == 32, "%lu bytes instead of 32", (unsigned long)deck_msg_size(m));
  EXPECT(0, deck_msg_pack(m, data, DECK_BYTE, (has - 40) / 8 * 8)); /* just fits */
  EXPECT(0, deck_msg_unpack(m, half, DECK_UINT32, 5));
  CHECK(memcmp(data, half, 20) == 0, "the first elements");
  EXPECT(0, deck_msg_unpack(m, half, DECK_BYTE, (has - 40) / 8 * 8));
  CHECK(memcmp(data, half, (has - 40) / 8 * 8) == 0, "the second elements");
  EXPECT(DECK_EARG, deck_msg_pack(m, data, 0, 1));
  EXPECT(DECK_EARG, deck_msg_pack(m, data, -1, 1));
  EXPECT(DECK_EARG, deck_msg_pack(m, data, 99, 1));
  EXPECT(DECK_EARG, deck_msg_pack(m, NULL, DECK_BYTE, 1));
  EXPECT(DECK_EARG, deck_msg_pack_str(m, NULL));
  EXPECT(DECK_EARG, deck_msg_pack_mbox(m, NULL));
  EXPECT(DECK_EARG, deck_msg_unpack(m, NULL, DECK_BYTE, 1));
  EXPECT(DECK_EARG, deck_msg_unpack_str(m, NULL, 10));
  EXPECT(DECK_EARG, deck_msg_unpack_mbox(m, NULL));
  EXPECT(0, deck_msg_destroy(m));
  for (i = 0; i < 300; i++) { /* of all lengths, also within a head */
    const size_t size = (size_t)i % 41;
    m = new_msg(size, DECK_LOCAL);
    EXPECT(0, deck_msg_set_size(m, size));
    memset(deck_msg_data(m), i < 41 ? 0 : 0xFF, size);
    if (i >= 82) fill(deck_msg_data(m), size, (unsigned)i);
    for (t = 1; t <= 11; t++) EXPECT(DECK_ETYPE, deck_msg_unpack(m, data, t, 777));
    EXPECT(DECK_ETYPE, deck_msg_unpack_mbox(m, &box));
    CHECK(box == NULL, "a box of nothing");
    EXPECT(0, deck_msg_destroy(m));
  }
}

/* ---- reply boxes ---- */

/* Each node asks all others, with a nameless box to answer to. Who is asked passes the box on to its next node, which answers, too. */
static void check_reply(void) {
  deck_mbox_t asked = new_box("asked", me, 0, 0), replies = NULL, reply;
  deck_msg_t m = new_msg(1000, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  int *count = (int *)calloc((size_t)nodes, sizeof *count);
  int n, round;
  int32_t who, hop;
  MUST(deck_mbox_create(NULL, NULL, &replies));
  for (n = 0; n < nodes; n++) {
    deck_mbox_t to = find_box("asked", n);
    who = me, hop = 0;
    EXPECT(0, deck_msg_clear(m));
    EXPECT(0, deck_msg_pack(m, &who, DECK_INT32, 1));
    EXPECT(0, deck_msg_pack_mbox(m, replies));
    EXPECT(0, deck_msg_pack(m, &hop, DECK_INT32, 1));
    EXPECT(0, deck_msg_pack_mbox(m, replies)); /* twice is allowed */
    EXPECT(0, deck_mbox_post_timed(to, m, LONG_TIME));
    EXPECT(0, deck_mbox_destroy(to));
  }
  for (round = 0; round < 2 * nodes; round++) {
    deck_mbox_t again = NULL;
    reply = NULL;
    who = hop = -1;
    EXPECT(0, deck_mbox_retrv_timed(asked, in, LONG_TIME));
    EXPECT(0, deck_msg_unpack(in, &who, DECK_INT32, 1));
    EXPECT(DECK_ETYPE, deck_msg_unpack(in, &hop, DECK_INT32, 1));
    MUST(deck_msg_unpack_mbox(in, &reply));
    EXPECT(0, deck_msg_unpack(in, &hop, DECK_INT32, 1));
    MUST(deck_msg_unpack_mbox(in, &again));
    CHECK(hop ? deck_msg_source(in) == PREVIOUS : deck_msg_source(in) == who, "node %d asks for node %d, hop %d",
          deck_msg_source(in), (int)who, (int)hop);
    if (hop == 0) { /* the handle that was unpacked may be packed, too */
      deck_mbox_t to = find_box("asked", NEXT);
      hop = 1;
      EXPECT(0, deck_msg_clear(m));
      EXPECT(0, deck_msg_pack(m, &who, DECK_INT32, 1));
      EXPECT(0, deck_msg_pack_mbox(m, reply));
      EXPECT(0, deck_msg_pack(m, &hop, DECK_INT32, 1));
      EXPECT(0, deck_msg_pack_mbox(m, again));
      EXPECT(0, deck_mbox_post_timed(to, m, LONG_TIME));
      EXPECT(0, deck_mbox_destroy(to));
    }
    EXPECT(0, deck_mbox_destroy(again)); /* one handle goes, the other stays */
    send_to(reply, m, 70, seed_of(4, who, 0));
    EXPECT(0, deck_mbox_destroy(reply));
  }
  for (n = 0; n < 2 * nodes; n++)
    if (receive_from(replies, in, 70, seed_of(4, me, 0), -1)) count[deck_msg_source(in)]++;
  for (n = 0; n < nodes; n++) CHECK(count[n] == 2, "%d answers of node %d", count[n], n);
  expect_empty(replies);
  expect_empty(asked);
  EXPECT(0, deck_barrier());
  EXPECT(0, deck_mbox_destroy(replies));
  EXPECT(0, deck_mbox_destroy(asked));
  EXPECT(0, deck_msg_destroy(m));
  EXPECT(0, deck_msg_destroy(in));
  free(count);
}

/* ---- wrong arguments ---- */

static void check_arguments(void) {
  deck_msg_t m = NULL;
  EXPECT(DECK_EARG, deck_msg_create(10, DECK_AUTO, NULL));
  EXPECT(DECK_EARG, deck_msg_create(10, 3, &m));
  EXPECT(DECK_EARG, deck_msg_create(10, -1, &m));
  EXPECT(DECK_EARG, deck_msg_create(10, DECK_FIXED + 3, &m));
  EXPECT(DECK_EARG, deck_msg_create(10, 32, &m));
  EXPECT(DECK_ENOMEM, deck_msg_create((size_t)-1, DECK_LOCAL, &m));
  EXPECT(DECK_ENOMEM, deck_msg_create((size_t)-1, DECK_SHARED, &m));
  EXPECT(DECK_ENOMEM, deck_msg_create((size_t)1 << 50, DECK_AUTO, &m));
  CHECK(m == NULL, "a refused call stored a message");
  EXPECT(DECK_EARG, deck_msg_destroy(NULL));
  EXPECT(DECK_EARG, deck_msg_source(NULL));
  EXPECT(DECK_EARG, deck_msg_set_size(NULL, 0));
  EXPECT(DECK_EARG, deck_msg_clear(NULL));
  EXPECT(DECK_EARG, deck_msg_rewind(NULL));
  EXPECT(DECK_EARG, deck_mbox_create("null", NULL, NULL));
  EXPECT(DECK_EARG, deck_mbox_destroy(NULL));
  m = new_msg(10, DECK_AUTO);
  EXPECT(DECK_EARG, deck_msg_pack(NULL, &m, DECK_BYTE, 1));
  EXPECT(DECK_EARG, deck_mbox_post(NULL, m));
  EXPECT(DECK_EARG, deck_mbox_post_timed(NULL, m, 0));
  EXPECT(DECK_EARG, deck_mbox_retrv(NULL, m));
  EXPECT(DECK_EARG, deck_mbox_retrv_timed(NULL, m, 0));
  EXPECT(DECK_EARG, deck_mbox_pending(NULL));
  EXPECT(0, deck_msg_destroy(m));
}

int main(int argc, char **argv) {
  deck_mbox_t mine, next;
  deck_msg_t kept[2];
  int i;
  test_name = TEST_NAME("deck-testmsg");
  check_texts();
  check_outside("before deck_init");
  CHECK(deck_thread_self() == NULL, "the main thread is a thread of DECK");
  test_begin(&argc, &argv, TEST_NAME("deck-testmsg"));
  EXPECT(DECK_ETWICE, deck_init(&argc, &argv));
  EXPECT(DECK_ETWICE, deck_init(NULL, NULL));
  check_texts();
  check_arguments();
  mine = new_box("msg", me, 0, 0);
  next = find_box("msg", NEXT);
  for (i = 0; i < 6; i++) {
    check_sizes(places[i]);
    check_packing(places[i], mine, next);
    check_room(places[i], mine, next);
  }
  check_bad_packing();
  check_reply();
  for (i = 0; i < 2; i++) {
    deck_msg_t m = new_msg(100000, i ? DECK_SHARED : DECK_AUTO);
    kept[i] = new_msg(0, DECK_AUTO);
    send_to(next, m, i ? 100000 : 100, seed_of(5, me, i));
    EXPECT(0, deck_mbox_retrv_timed(mine, kept[i], LONG_TIME));
    EXPECT(0, deck_msg_destroy(m));
  }
  /* The program ends with boxes and handles that it did not destroy. */
  EXPECT(0, deck_barrier());
  test_say();
  EXPECT(0, deck_done());
  for (i = 0; i < 2; i++) read_msg(kept[i], i ? 100000 : 100, seed_of(5, PREVIOUS, i), PREVIOUS);
  check_outside("after deck_done");
  check_texts();
  EXPECT(DECK_ETWICE, deck_init(&argc, &argv));
  return test_report();
}
