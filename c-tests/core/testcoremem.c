/* Contract items 27–31 and 33–35: sources of payloads, the buffer of a Medium, when a source is free, zero lengths, and
 * the sender of a message. (Places, sizes, guard bytes: testcorelimits.)
 *
 * usage: testcoremem [iterations] */
#include "testcoream.h"

enum { HIDX_FROM = 201, HIDX_FROM_LONG, HIDX_BACK, HIDX_BACK_LONG, HIDX_ZERO, HIDX_ZERO_BACK };
enum { HIDX_OWN = 211, HIDX_OWN_BACK, HIDX_OVER, HIDX_OVER_LONG, HIDX_ASYNC, HIDX_ASYNC_BACK, HIDX_WHO, HIDX_WHO_BACK };
enum { HIDX_SAME = 221 };

#define BYTES 512
#define ROOM 4096     /* of each node in the area of each other: requests land at its start … */
#define BACKROOM 2048 /* … replies from here on */

static int came, back;
static gasnet_seginfo_t *segments;

static unsigned char *place(gasnet_node_t at, gasnet_node_t with) { return core_area[at] + with * (size_t)ROOM; }
/* Room of its own that no peer writes into. */
static unsigned char *own(void) { return core_area[me] + nodes * (size_t)ROOM; }

/* ---- 27: sources of every kind, at every address ---- */

enum { STACK, HEAP, STATIC, SEGMENT, CONST, LITERAL, KINDS };
static unsigned char static_source[2][BYTES + 16]; /* of requests, of replies: both may be under way */
static const unsigned char const_source[BYTES + 16] = {
    0x50, 0x61, 0x79, 0x6c, 0x6f, 0x61, 0x64, 0x20, 0x69, 0x6e, 0x20, 0x72, 0x65, 0x61, 0x64, 0x2d, 0x6f, 0x6e, 0x6c,
    0x79, 0x20, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 0x2c, 0x20, 0x74, 0x68, 0x65, 0x20, 0x72, 0x65, 0x73, 0x74, 0x20,
    0x69, 0x73, 0x20, 0x7a, 0x65, 0x72, 0x6f, 0x65, 0x73, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8, 0xf7, 0xf6};
static const char literal_source[] = "A string literal is read-only memory as well; half of its addresses are odd.";

/* Bytes of `kind` at `offset`, filled with the pattern if they lie in one of the four `writable` places. */
static void *source_of(int kind, int offset, size_t *nbytes, unsigned seed, unsigned char *const *writable) {
  *nbytes = kind == LITERAL ? sizeof literal_source - 16 : BYTES - (size_t)offset * 3;
  if (kind == LITERAL) return (void *)(uintptr_t)(literal_source + offset);
  if (kind == CONST) return (void *)(uintptr_t)(const_source + offset);
  core_fill(writable[kind] + offset, *nbytes, seed);
  return writable[kind] + offset;
}

static void check_source(const char *what, int kind, int offset, const void *buf, size_t nbytes, unsigned seed) {
  if (kind == LITERAL)
    CHECK(nbytes == sizeof literal_source - 16 && memcmp(buf, literal_source + offset, nbytes) == 0,
          "%s from a literal + %d", what, offset);
  else if (kind == CONST)
    CHECK(nbytes == BYTES - (size_t)offset * 3 && memcmp(buf, const_source + offset, nbytes) == 0,
          "%s from constant memory + %d", what, offset);
  else
    CHECK(nbytes == BYTES - (size_t)offset * 3 && core_differs(buf, nbytes, seed) == nbytes, "%s, source kind %d + %d",
          what, kind, offset);
}

static void from_answer(gasnet_token_t token, int category, int kind, int offset, unsigned seed) {
  unsigned char stack[BYTES + 16];
  unsigned char *heap = (unsigned char *)malloc(BYTES + 16);
  unsigned char *const writable[] = {stack, heap, static_source[1], own() + BYTES + 16};
  struct core_am am;
  gasnet_handlerarg_t a[CORE_MAXARGS] = {0};
  am.category = category;
  am.spelling = 0;
  am.handler = category == MEDIUM ? HIDX_BACK : HIDX_BACK_LONG;
  am.src = source_of(kind, offset, &am.nbytes, seed, writable);
  am.dst = place(core_source(token), me) + BACKROOM + offset;
  am.numargs = 3;
  a[0] = kind, a[1] = offset, a[2] = (gasnet_handlerarg_t)seed;
  core_reply(token, &am, a);
  memset(stack, 0xEE, sizeof stack);
  memset(heap, 0xEE, BYTES + 16);
  free(heap);
}

static void from_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t kind, gasnet_handlerarg_t offset,
                   gasnet_handlerarg_t seed) {
  check_source("Medium", kind, offset, buf, nbytes, (unsigned)seed);
  from_answer(token, MEDIUM, (kind + 1) % KINDS, offset, (unsigned)seed + 1);
}
static void from_long_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t kind,
                        gasnet_handlerarg_t offset, gasnet_handlerarg_t seed) {
  check_source("Long", kind, offset, buf, nbytes, (unsigned)seed);
  from_answer(token, LONG, (kind + 1) % KINDS, offset, (unsigned)seed + 1);
}
static void back_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t kind, gasnet_handlerarg_t offset,
                   gasnet_handlerarg_t seed) {
  core_source(token);
  check_source("reply", kind, offset, buf, nbytes, (unsigned)seed);
  TEST_COUNT(&back);
}

static void item27_sources(gasnet_node_t to) {
  unsigned char stack[BYTES + 16];
  unsigned char *heap = (unsigned char *)malloc(BYTES + 16);
  unsigned char *const writable[] = {stack, heap, static_source[0], own()};
  int category, kind, offset;
  struct core_am am;
  gasnet_handlerarg_t a[CORE_MAXARGS] = {0};
  for (category = MEDIUM; category <= LONGASYNC; category++)
    for (kind = 0; kind < KINDS; kind++)
      for (offset = 0; offset < 16; offset += 1 + (int)(to % 3)) {
        int before = back;
        unsigned seed = core_seed(me, to, (unsigned)(kind * 16 + offset));
        am.category = category;
        am.spelling = 0;
        am.handler = category == MEDIUM ? HIDX_FROM : HIDX_FROM_LONG;
        am.src = source_of(kind, offset, &am.nbytes, seed, writable);
        am.dst = place(to, me) + offset;
        am.numargs = 3;
        a[0] = kind, a[1] = offset, a[2] = (gasnet_handlerarg_t)seed;
        core_request(to, &am, a);
        GASNET_BLOCKUNTIL(back >= before + 1);
      }
  free(heap);
}

/* ---- 28: no bytes, from nowhere ---- */

static void *const nowhere[] = {NULL, (void *)1, (void *)~(uintptr_t)0};

static void zero_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t n, gasnet_handlerarg_t check) {
  (void)buf;
  CHECK(nbytes == 0, "%lu bytes of 0", (unsigned long)nbytes);
  CHECK(check == ~n, "arguments %d and %d", (int)n, (int)check);
  if (n % 2)
    GASNET_SAFE(gasnet_AMReplyMedium2(token, HIDX_ZERO_BACK, nowhere[n % 3], 0, n, check));
  else
    GASNET_SAFE(gasnet_AMReplyLong2(token, HIDX_ZERO_BACK, nowhere[n % 3], 0, place(core_source(token), me), n, check));
}
static void zero_back_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t n,
                        gasnet_handlerarg_t check) {
  (void)buf;
  core_source(token);
  CHECK(nbytes == 0, "%lu bytes of 0 in the reply", (unsigned long)nbytes);
  CHECK(check == ~n, "arguments %d and %d", (int)n, (int)check);
  TEST_COUNT(&back);
}

static void item28_zero_length(gasnet_node_t to) {
  int n, before = back;
  for (n = 0; n < 12; n++) {
    void *src = nowhere[n % 3];
    GASNET_SAFE(gasnet_AMRequestMedium2(to, HIDX_ZERO, src, 0, n, ~n));
    GASNET_SAFE(gasnet_AMRequestLong2(to, HIDX_ZERO, src, 0, place(to, me), n, ~n));
    GASNET_SAFE(gasnet_AMRequestLongAsync2(to, HIDX_ZERO, src, 0, place(to, me), n, ~n));
    GASNET_SAFE(gasnet_AMRequestLong2(to, HIDX_ZERO, src, 0, nowhere[(n + 1) % 3], n, ~n));
    GASNET_SAFE(gasnet_AMRequestLong(to, HIDX_ZERO, src, 0, nowhere[(n + 2) % 3], 2, n, ~n));
  }
  GASNET_BLOCKUNTIL(back >= before + 5 * 12);
}

/* ---- 29, 30, 31: the buffer of a Medium ---- */

static unsigned char *sending; /* what this node sends just now */
static size_t sending_bytes;

static void check_private(const unsigned char *buf, size_t nbytes) {
  gasnet_node_t i;
  CHECK((uintptr_t)buf % 8 == 0, "Medium buffer at %p", (const void *)buf);
  for (i = 0; i < nodes; i++)
    CHECK(!segments[i].addr || buf + nbytes <= (unsigned char *)segments[i].addr ||
              buf >= (unsigned char *)segments[i].addr + segments[i].size,
          "Medium buffer %p is in the segment of node %u", (const void *)buf, (unsigned)i);
  CHECK(buf + nbytes <= sending || buf >= sending + sending_bytes, "Medium buffer is the sender's memory");
}

static void own_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed, gasnet_handlerarg_t how) {
  check_private((unsigned char *)buf, nbytes);
  CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "%lu bytes", (unsigned long)nbytes);
  if (how == SHORT) {
    memset(buf, 0x11, nbytes); /* writable; the sender's source must not change with it */
    GASNET_SAFE(gasnet_AMReplyMedium2(token, HIDX_OWN_BACK, buf, nbytes, seed, how));
  } else if (how == MEDIUM) {
    GASNET_SAFE(gasnet_AMReplyMedium2(token, HIDX_OWN_BACK, buf, nbytes, seed, how));
  } else {
    unsigned char *dst = place(core_source(token), me) + BACKROOM;
    GASNET_SAFE(gasnet_AMReplyLong2(token, HIDX_OWN_BACK, buf, nbytes, dst, seed, how));
  }
  if (how == SHORT)
    CHECK(core_notall(buf, nbytes, 0x11) == nbytes, "changed by its reply");
  else
    CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "%lu bytes changed by the reply", (unsigned long)nbytes);
  memset(buf, 0x22, nbytes); /* after the reply: must not reach the requester */
}
static void own_back_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed,
                       gasnet_handlerarg_t how) {
  core_source(token);
  if (how == MEDIUM || how == SHORT) check_private((unsigned char *)buf, nbytes);
  CHECK(nbytes == sending_bytes, "%lu bytes of %lu", (unsigned long)nbytes, (unsigned long)sending_bytes);
  if (how == SHORT)
    CHECK(core_notall(buf, nbytes, 0x11) == nbytes, "byte %lu", (unsigned long)core_notall(buf, nbytes, 0x11));
  else
    CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "byte %lu",
          (unsigned long)core_differs(buf, nbytes, (unsigned)seed));
  if (how != LONG) memset(buf, 0x33, nbytes);
  TEST_COUNT(&back);
}

static void item30_medium_buffer(gasnet_node_t to) {
  const size_t size[] = {1, 7, 8, 9, 56, 64, 65, 128, 500, 512, 2000, gasnet_AMMaxMedium()};
  size_t s;
  int how;
  sending = (unsigned char *)malloc(gasnet_AMMaxMedium());
  for (s = 0; s < sizeof size / sizeof *size; s++)
    for (how = SHORT; how <= LONG; how++) {
      int before = back;
      unsigned seed = core_seed(me, to, (unsigned)(s * 4) + (unsigned)how);
      if (how == LONG && size[s] > ROOM - BACKROOM) continue;
      sending_bytes = size[s];
      core_fill(sending, sending_bytes, seed);
      GASNET_SAFE(gasnet_AMRequestMedium2(to, HIDX_OWN, sending, sending_bytes, (gasnet_handlerarg_t)seed, how));
      GASNET_BLOCKUNTIL(back >= before + 1);
      CHECK(core_differs(sending, sending_bytes, seed) == sending_bytes, "the sender's source has changed");
    }
  free(sending);
  sending = NULL, sending_bytes = 0;
}

/* ---- 33: a source is free at once ---- */

#define OVERS 64
static void over_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed) {
  core_source(token);
  CHECK(nbytes == BYTES / 8 && core_differs(buf, nbytes, (unsigned)seed) == nbytes,
        "a source overwritten after the call shows at the target");
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_SAME));
}
static void done_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&back);
}

static void item33_overwrite(gasnet_node_t to) {
  unsigned char src[BYTES / 8];
  int n, before = back;
  for (n = 0; n < OVERS; n++) {
    unsigned seed = core_seed(me, to, (unsigned)n);
    core_fill(src, sizeof src, seed);
    if (n % 2)
      GASNET_SAFE(gasnet_AMRequestMedium1(to, HIDX_OVER, src, sizeof src, (gasnet_handlerarg_t)seed));
    else
      GASNET_SAFE(gasnet_AMRequestLong1(to, HIDX_OVER, src, sizeof src, place(to, me) + (size_t)n / 2 * sizeof src,
                                        (gasnet_handlerarg_t)seed));
    memset(src, 0xEE, sizeof src);
  }
  GASNET_BLOCKUNTIL(back >= before + OVERS);
}

/* ---- 34: the source of a LongAsync ---- */

static const unsigned char *async_source;
static void async_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed) {
  CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "LongAsync of %lu bytes", (unsigned long)nbytes);
  memset(buf, 0x44, nbytes); /* the target's memory, not the source */
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ASYNC_BACK, seed));
}
static void async_back_h(gasnet_token_t token, gasnet_handlerarg_t seed) {
  core_source(token);
  CHECK(core_differs(async_source, BYTES, (unsigned)seed) == BYTES, "the source of a LongAsync has changed");
  TEST_COUNT(&back);
}

static void item34_longasync(gasnet_node_t to) {
  unsigned char *src = (unsigned char *)malloc(BYTES);
  unsigned seed = core_seed(me, to, 34);
  int before = back;
  async_source = src;
  core_fill(src, BYTES, seed);
  GASNET_SAFE(gasnet_AMRequestLongAsync1(to, HIDX_ASYNC, src, BYTES, place(to, me), (gasnet_handlerarg_t)seed));
  GASNET_BLOCKUNTIL(back >= before + 1);
  CHECK(core_differs(src, BYTES, seed) == BYTES, "the source of a LongAsync has changed");
  memset(src, 0xEE, BYTES);
  free(src);
}

/* ---- 35: the sender ---- */

static void check_who(gasnet_token_t token, gasnet_handlerarg_t from) {
  int n;
  for (n = 0; n < 3; n++) CHECK(core_source(token) == (gasnet_node_t)from, "not node %d", (int)from);
}
static void who_h(gasnet_token_t token, gasnet_handlerarg_t from) {
  check_who(token, from);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_WHO_BACK, (gasnet_handlerarg_t)me));
  check_who(token, from);
}
static void who_back_h(gasnet_token_t token, gasnet_handlerarg_t from) {
  check_who(token, from);
  TEST_COUNT(&back);
}

static void item35_source(void) {
  gasnet_node_t i;
  int before = back;
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort1(i, HIDX_WHO, (gasnet_handlerarg_t)me));
  GASNET_BLOCKUNTIL(back >= before + (int)nodes);
}

/* ---- 9.4, loopback: a Long onto its own source changes nothing ---- */

static void same_h(gasnet_token_t token, void *buf, size_t nbytes) {
  core_source(token);
  CHECK(buf == own() && core_differs(buf, nbytes, 5) == nbytes, "a Long onto itself");
  TEST_COUNT(&came);
}
static void loopback_identical(void) {
  int before = came;
  core_fill(own(), BYTES, 5);
  GASNET_SAFE(gasnet_AMRequestLong0(me, HIDX_SAME + 1, own(), BYTES, own()));
  GASNET_BLOCKUNTIL(came >= before + 1);
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_FROM, (void (*)())from_h},
                                         {HIDX_FROM_LONG, (void (*)())from_long_h},
                                         {HIDX_BACK, (void (*)())back_h},
                                         {HIDX_BACK_LONG, (void (*)())back_h},
                                         {HIDX_ZERO, (void (*)())zero_h},
                                         {HIDX_ZERO_BACK, (void (*)())zero_back_h},
                                         {HIDX_OWN, (void (*)())own_h},
                                         {HIDX_OWN_BACK, (void (*)())own_back_h},
                                         {HIDX_OVER, (void (*)())over_h},
                                         {HIDX_ASYNC, (void (*)())async_h},
                                         {HIDX_ASYNC_BACK, (void (*)())async_back_h},
                                         {HIDX_WHO, (void (*)())who_h},
                                         {HIDX_WHO_BACK, (void (*)())who_back_h},
                                         {HIDX_SAME, (void (*)())done_h},
                                         {HIDX_SAME + 1, (void (*)())same_h}};
  long iterations;
  gasnet_node_t i;
  core_init(&argc, &argv, "testcoremem");
  iterations = core_number(argc, argv, 1, 2);
  core_attach(table, (int)(sizeof table / sizeof *table), nodes * (size_t)ROOM + 2 * (BYTES + 16));
  segments = (gasnet_seginfo_t *)calloc(nodes, sizeof *segments); /* EVERYTHING: no addresses */
  GASNET_SAFE(gasnet_getSegmentInfo(segments, (int)nodes));
  test_begin("testcoremem");
  while (iterations-- > 0) {
    for (i = 0; i < nodes; i++) {
      gasnet_node_t to = (me + i) % nodes;
      item27_sources(to);
      item28_zero_length(to);
      item30_medium_buffer(to);
      item33_overwrite(to);
      item34_longasync(to);
    }
    item35_source();
    loopback_identical();
  }
  test_barrier();
  test_end();
  return 0;
}
