/* Contract items 19, 26, 32: the limits, payloads of every boundary size up to them, at every alignment of source and
 * target, between every two nodes, with guard bytes around every Long.
 *
 * usage: testcorelimits [iterations] [MiB of the largest Long, default 4]
 *
 * The receiver checks a message and sends the payload back by the same category, and the sender checks that, too. A
 * landing place holds GUARD bytes except where a message has just landed, so a byte outside its range is found. */
#include "testcoream.h"

enum { HIDX_REQUEST = 201, HIDX_REQUEST_LONG, HIDX_REPLY, HIDX_REPLY_LONG, HIDX_LIMITS, HIDX_WHOLE, HIDX_WHOLE_REPLY };
#define GUARD 0xA5
#define MARGIN 64                              /* guard bytes looked at on either side */
#define SLOTS 16                               /* messages in flight from one node to another */
#define SMALL 4097                             /* sizes up to it use the slots … */
#define SLOTBYTES (SMALL + 16 + 2 * MARGIN + 15)
#define MIDDLE 65537                           /* … up to this the same room as one slot; above, the huge places */
#define ROOM (SLOTS * SLOTBYTES)

/* Numbers of the huge places, by the sender that fills them. */
enum { FROM_SELF, FROM_NEIGHBOUR, HUGE_PLACES };

static size_t huge;             /* bytes of the largest Long */
static unsigned char *out; /* sources, the huge one included */
static unsigned expected, arrived, answered;

static size_t hugeroom(void) { return (huge + 2 * MARGIN + 16 + 63) / 64 * 64; }

/* The landing place at node `at` of messages from `with`; `back` for replies. Without alignment offset and margin. */
static unsigned char *place(gasnet_node_t at, gasnet_node_t with, int back, size_t nbytes, int slot) {
  unsigned char *area = core_area[at];
  if (nbytes <= SMALL) return area + (nodes * (unsigned)back + with) * ROOM + (unsigned)slot * SLOTBYTES;
  if (nbytes <= MIDDLE) return area + (nodes * (unsigned)back + with) * ROOM;
  return area + 2 * nodes * ROOM + (unsigned)(2 * back + (with == at ? FROM_SELF : FROM_NEIGHBOUR)) * hugeroom();
}

static void check_payload(const char *what, const unsigned char *buf, size_t nbytes, unsigned seed) {
  const size_t same = core_differs(buf, nbytes, seed);
  CHECK(same == nbytes, "%s of %lu bytes at offset %u differs from byte %lu on: %02x instead of %02x", what,
        (unsigned long)nbytes, (unsigned)((uintptr_t)buf % 64), (unsigned long)same, buf[same < nbytes ? same : 0],
        test_byte(seed, same));
}

/* A Long that has just landed: where it should, and nothing beside it. */
static void check_landing(const char *what, const unsigned char *buf, size_t nbytes, const unsigned char *dst) {
  size_t before, after;
  if (nbytes == 0) return;
  CHECK(buf == dst, "%s: buffer %p, sent to %p", what, (const void *)buf, (const void *)dst);
  before = core_notall(dst - MARGIN, MARGIN, GUARD);
  after = core_notall(dst + nbytes, MARGIN, GUARD);
  CHECK(before == MARGIN, "%s of %lu bytes wrote %lu bytes before its place", what, (unsigned long)nbytes,
        (unsigned long)(MARGIN - before));
  CHECK(after == MARGIN, "%s of %lu bytes wrote %lu bytes behind its end", what, (unsigned long)nbytes,
        (unsigned long)after + 1);
}

/* Arguments: seed, bytes, slot, alignment of the target. */
static void request_came(gasnet_token_t token, int category, void *buf, size_t nbytes, gasnet_handlerarg_t seed,
                         gasnet_handlerarg_t sent, gasnet_handlerarg_t slot, gasnet_handlerarg_t align) {
  gasnet_node_t from = core_source(token);
  TEST_COUNT(&arrived);
  if (!CHECK(nbytes == (size_t)sent, "%lu bytes came, %d sent", (unsigned long)nbytes, (int)sent)) return;
  check_payload(core_catname[category], (unsigned char *)buf, nbytes, (unsigned)seed);
  if (category == LONG) {
    unsigned char *dst = place(from, me, 1, nbytes, slot) + MARGIN + (align * 5 + 3) % 16;
    unsigned char *copy = (unsigned char *)malloc(nbytes + 1);
    check_landing("Long request", (unsigned char *)buf, nbytes, place(me, from, 0, nbytes, slot) + MARGIN + align);
    if (nbytes) memcpy(copy, buf, nbytes);
    if (nbytes) memset(buf, GUARD, nbytes); /* before the reply, which lets the next message come here */
    GASNET_SAFE(gasnet_AMReplyLong4(token, HIDX_REPLY_LONG, copy, nbytes, dst, seed, sent, slot, align));
    memset(copy, 0xEE, nbytes);
    free(copy);
  } else {
    GASNET_SAFE(gasnet_AMReplyMedium4(token, HIDX_REPLY, buf, nbytes, seed, sent, slot, align));
  }
}

static void reply_came(gasnet_token_t token, int category, void *buf, size_t nbytes, gasnet_handlerarg_t seed,
                       gasnet_handlerarg_t sent, gasnet_handlerarg_t slot, gasnet_handlerarg_t align) {
  gasnet_node_t from = core_source(token);
  if (CHECK(nbytes == (size_t)sent, "%lu bytes came back of %d", (unsigned long)nbytes, (int)sent)) {
    check_payload(category == LONG ? "Long reply" : "Medium reply", (unsigned char *)buf, nbytes, (unsigned)seed);
    if (category == LONG && nbytes) {
      unsigned char *dst = place(me, from, 1, nbytes, slot) + MARGIN + (align * 5 + 3) % 16;
      check_landing("Long reply", (unsigned char *)buf, nbytes, dst);
      memset(buf, GUARD, nbytes);
    }
  }
  TEST_COUNT(&answered);
}

#define HANDLER(name, then, category)                                                                                \
  static void name(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1,   \
                   gasnet_handlerarg_t a2, gasnet_handlerarg_t a3) {                                                 \
    then(token, category, buf, nbytes, a0, a1, a2, a3);                                                              \
  }
HANDLER(request_h, request_came, MEDIUM)
HANDLER(request_long_h, request_came, LONG)
HANDLER(reply_h, reply_came, MEDIUM)
HANDLER(reply_long_h, reply_came, LONG)

static void send_one(gasnet_node_t to, int category, size_t nbytes, unsigned char *src, int slot, int align) {
  gasnet_handlerarg_t a[CORE_MAXARGS] = {0};
  struct core_am am;
  unsigned seed = core_seed(me, to, (unsigned)nbytes * 64u + (unsigned)align);
  am.category = category;
  am.spelling = align % 2;
  am.handler = category == MEDIUM ? HIDX_REQUEST : HIDX_REQUEST_LONG;
  am.src = src;
  am.nbytes = nbytes;
  am.dst = place(to, me, 0, nbytes, slot) + MARGIN + align;
  am.numargs = 4;
  a[0] = (gasnet_handlerarg_t)seed, a[1] = (gasnet_handlerarg_t)nbytes, a[2] = slot, a[3] = align;
  core_fill(src, nbytes, seed);
  core_request(to, &am, a);
  if (category != LONGASYNC) memset(src, 0xEE, nbytes);
  expected++;
}

/* One size at source alignment `from`, the targets' alignments in `SLOTS` messages under way together. */
static void send_aligned(gasnet_node_t to, int category, size_t nbytes, int from) {
  int slot;
  for (slot = 0; slot < SLOTS; slot++)
    send_one(to, category, nbytes, out + (size_t)slot * SLOTBYTES + from, slot, category == MEDIUM ? 0 : slot);
  GASNET_BLOCKUNTIL(answered >= expected);
}

static void small_sizes(gasnet_node_t to, int category, int everything) {
  static const size_t size[] = {0,  1,  2,  3,  4,  5,   7,   8,   9,   15,  16,  17,  31,   32,   33,
                                48, 63, 64, 65, 96, 127, 128, 129, 511, 512, 513, 520, 4095, 4096, 4097};
  size_t s;
  int from;
  for (s = 0; s < sizeof size / sizeof *size; s++) {
    int all = everything && size[s] <= 136;
    if (category == MEDIUM && size[s] > gasnet_AMMaxMedium()) continue;
    for (from = 0; from < 16; from++)
      if (all || from == (int)(s * 3 + to) % 16) send_aligned(to, category, size[s], from);
  }
}

static void send_alone(gasnet_node_t to, int category, size_t nbytes, int from, int align) {
  if (category == MEDIUM && nbytes > gasnet_AMMaxMedium()) return;
  if (nbytes > gasnet_AMMaxLongRequest() || nbytes > gasnet_AMMaxLongReply() || nbytes > huge) return;
  send_one(to, category, nbytes, out + from, 0, align);
  GASNET_BLOCKUNTIL(answered >= expected);
}

static void middle_sizes(gasnet_node_t to, int category) {
  const size_t medium = gasnet_AMMaxMedium(), page = GASNET_PAGESIZE;
  const size_t size[] = {page - 1, page + 8, 8191,  8192,  8193,       16384,  32767,
                         65535,    65536,    65537, 65528, medium - 1, medium, medium + 1};
  size_t s;
  for (s = 0; s < sizeof size / sizeof *size; s++) {
    if (size[s] <= SMALL || (size[s] > MIDDLE && category != MEDIUM)) continue;
    send_alone(to, category, size[s], 0, 0);
    send_alone(to, category, size[s], (int)(s + to) % 16, (int)(s * 7) % 16);
    send_alone(to, category, size[s], 8, 8);
  }
}

static void huge_sizes(gasnet_node_t to, int category) {
  const size_t size[] = {100001, 262143, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, huge - 8, huge - 1, huge};
  size_t s;
  for (s = 0; s < sizeof size / sizeof *size; s++)
    if (size[s] > MIDDLE) send_alone(to, category, size[s], (int)s % 16, (int)(s * 9) % 16);
  send_alone(to, category, huge, 0, 0);
}

/* ---- the limits themselves ---- */

static void limits_h(gasnet_token_t token, gasnet_handlerarg_t args, gasnet_handlerarg_t medium,
                     gasnet_handlerarg_t request, gasnet_handlerarg_t reply) {
  CHECK(args == (int)gasnet_AMMaxArgs() && medium == (int)gasnet_AMMaxMedium() &&
            request == (int)gasnet_AMMaxLongRequest() && reply == (int)gasnet_AMMaxLongReply(),
        "node %u has limits %d %d %d %d", (unsigned)core_source(token), (int)args, (int)medium, (int)request,
        (int)reply);
  TEST_COUNT(&arrived);
}

static void check_limits(void) {
  gasnet_node_t i;
  CHECK(gasnet_AMMaxArgs() >= 16 && gasnet_AMMaxArgs() >= 2 * sizeof(void *), "%d", (int)gasnet_AMMaxArgs());
  CHECK((int)gasnet_AMMaxMedium() >= 512, "%d", (int)gasnet_AMMaxMedium());
  CHECK((int)gasnet_AMMaxLongRequest() >= 512, "%d", (int)gasnet_AMMaxLongRequest());
  CHECK((int)gasnet_AMMaxLongReply() >= 512, "%d", (int)gasnet_AMMaxLongReply());
  CHECK(gasnet_AMMaxLongRequest() <= 0x7fffffff && gasnet_AMMaxLongReply() <= 0x7fffffff, "more than an int");
  for (i = 0; i < nodes; i++)
    GASNET_SAFE(gasnet_AMRequestShort4(i, HIDX_LIMITS, (int)gasnet_AMMaxArgs(), (int)gasnet_AMMaxMedium(),
                                       (int)gasnet_AMMaxLongRequest(), (int)gasnet_AMMaxLongReply()));
  GASNET_BLOCKUNTIL(arrived == nodes);
}

/* ---- the whole area of the neighbour as one Long, then its first and its last byte ---- */

static void check_whole_area(void) {
  gasnet_node_t next = (me + 1) % nodes, previous = (me + nodes - 1) % nodes;
  size_t n = core_areasize;
  unsigned char *src;
  if (n > gasnet_AMMaxLongRequest()) n = gasnet_AMMaxLongRequest();
  src = (unsigned char *)malloc(n);
  core_fill(src, n, 77 + me);
  test_barrier();
  GASNET_SAFE(gasnet_AMRequestLong0(next, HIDX_WHOLE, src, n, core_area[next]));
  GASNET_BLOCKUNTIL(answered >= expected + 1);
  test_barrier();
  check_payload("Long over the whole segment", core_area[me], n, 77 + previous);
  test_barrier();
  GASNET_SAFE(gasnet_AMRequestLong0(next, HIDX_WHOLE, src + 1, 1, core_area[next] + core_areasize - 1));
  GASNET_SAFE(gasnet_AMRequestLong0(next, HIDX_WHOLE, src + 2, 1, core_area[next]));
  GASNET_BLOCKUNTIL(answered >= expected + 3);
  test_barrier();
  CHECK(core_area[me][core_areasize - 1] == test_byte(77 + previous, 1), "last byte of the area");
  CHECK(core_area[me][0] == test_byte(77 + previous, 2), "first byte of the area");
  CHECK(n < core_areasize || core_area[me][core_areasize - 2] == test_byte(77 + previous, core_areasize - 2),
        "the byte before the last has changed");
  expected += 3;
  free(src);
}

static void whole_reply_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&answered);
}
static void whole_h(gasnet_token_t token, void *buf, size_t nbytes) {
  CHECK((unsigned char *)buf >= core_area[me] && nbytes <= core_areasize, "%p, %lu bytes", buf, (unsigned long)nbytes);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_WHOLE_REPLY));
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_REQUEST, (void (*)())request_h},
                                         {HIDX_REQUEST_LONG, (void (*)())request_long_h},
                                         {HIDX_REPLY, (void (*)())reply_h},
                                         {HIDX_REPLY_LONG, (void (*)())reply_long_h},
                                         {HIDX_LIMITS, (void (*)())limits_h},
                                         {HIDX_WHOLE, (void (*)())whole_h},
                                         {HIDX_WHOLE_REPLY, (void (*)())whole_reply_h}};
  long iterations;
  int category;
  gasnet_node_t i, to;
  core_init(&argc, &argv, "testcorelimits");
  iterations = core_number(argc, argv, 1, 1);
  huge = (size_t)core_number(argc, argv, 2, 4) << 20;
  if (huge > gasnet_AMMaxLongRequest()) huge = gasnet_AMMaxLongRequest();
  if (huge > gasnet_AMMaxLongReply()) huge = gasnet_AMMaxLongReply();
  core_attach(table, (int)(sizeof table / sizeof *table), 2 * nodes * (size_t)ROOM + 2 * HUGE_PLACES * hugeroom());
  memset(core_area[me], GUARD, core_areasize);
  out = (unsigned char *)malloc(ROOM + huge + gasnet_AMMaxMedium());
  test_begin("testcorelimits");

  check_limits();
  while (iterations-- > 0) {
    for (i = 0; i < nodes; i++) {
      to = (me + i) % nodes;
      for (category = MEDIUM; category <= LONGASYNC; category++) {
        small_sizes(to, category, i <= 1 && category != LONGASYNC);
        middle_sizes(to, category);
        if (i <= 1 && category != MEDIUM) huge_sizes(to, category);
      }
    }
  }
  check_whole_area();
  CHECK(answered == expected, "%u answers for %u requests", answered, expected);
  test_end();
  return 0;
}
