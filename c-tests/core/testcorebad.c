/* Contract items 38 and 39: messages that must not be sent.
 *
 * usage: testcorebad [unregistered | reply | medium | long | longend | args]
 *
 * Without an argument: in every build the library refuses a rank that does not exist, or ends the job with a
 * message. If it refuses, the job still works, and ends with PASS. With an argument, one node makes that mistake.
 * The driver counts it as passed if the job ends with a status other than 0 and other than the watchdog's, and says
 * why on stderr:
 *   unregistered, reply   a request, a reply, to an index that has no handler: fatal in every build
 *   medium, long, longend, args   too many bytes; a target before, after the segment; 17 arguments. Debug builds
 *                         refuse with GASNET_ERR_BAD_ARG (the program then exits with 3) or die; other builds may do
 *                         either, or not notice. */
#include "../testcore.h"

enum { HIDX_COUNT = 201, HIDX_REPLY_TO_NOBODY, HIDX_BULK, HIDX_NOBODY = 250 };

static int count;

static void count_h(gasnet_token_t token) {
  core_source(token);
  TEST_COUNT(&count);
}
static void reply_to_nobody_h(gasnet_token_t token) { gasnet_AMReplyShort0(token, HIDX_NOBODY); }
static void bulk_h(gasnet_token_t token, void *buf, size_t nbytes) {
  (void)token, (void)buf, (void)nbytes;
  TEST_COUNT(&count);
}

/* A call that the library may refuse: done is the result. */
static void refused(const char *what, int rc) {
  CHECK(rc == GASNET_ERR_BAD_ARG, "%s: %s", what, gasnet_ErrorName(rc));
}

static void bad_ranks(void) {
  static const gasnet_node_t far[] = {1u << 16, 0x7fffffffu, 0x80000000u, ~(gasnet_node_t)0};
  unsigned char text[64] = {0};
  gasnet_node_t i;
  unsigned n;
  for (n = 0; n < 5; n++) {
    const gasnet_node_t bad = n < 4 ? far[n] : nodes;
    refused("Short", gasnet_AMRequestShort0(bad, HIDX_COUNT));
    refused("Medium", gasnet_AMRequestMedium0(bad, HIDX_BULK, text, sizeof text));
    refused("Long", gasnet_AMRequestLong0(bad, HIDX_BULK, text, sizeof text, core_area[me]));
    refused("LongAsync", gasnet_AMRequestLongAsync0(bad, HIDX_BULK, text, sizeof text, core_area[me]));
    refused("Short with a count", gasnet_AMRequestShort(bad, HIDX_COUNT, 0));
  }
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort0(i, HIDX_COUNT));
  GASNET_BLOCKUNTIL(count >= (int)nodes);
  test_barrier();
  CHECK(count == (int)nodes, "%d messages of %d", count, (int)nodes);
}

static int mistake(const char *what) {
  const gasnet_node_t next = (me + 1) % nodes;
  const size_t medium = gasnet_AMMaxMedium();
  unsigned char *bytes = (unsigned char *)calloc(1, medium + 1);
  if (!strcmp(what, "unregistered")) return gasnet_AMRequestShort0(next, HIDX_NOBODY);
  if (!strcmp(what, "reply")) return gasnet_AMRequestShort0(next, HIDX_REPLY_TO_NOBODY);
  if (!strcmp(what, "medium")) return gasnet_AMRequestMedium0(next, HIDX_BULK, bytes, medium + 1);
  if (!strcmp(what, "long")) return gasnet_AMRequestLong0(next, HIDX_BULK, bytes, 1, core_area[next] - 1);
  if (!strcmp(what, "longend"))
    return gasnet_AMRequestLong0(next, HIDX_BULK, bytes, 2, core_area[next] + core_areasize - 1);
  if (!strcmp(what, "args"))
    return gasnet_AMRequestShort(next, HIDX_COUNT, 17, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
  fprintf(stderr, "testcorebad: what is \"%s\"?\n", what);
  return GASNET_OK;
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_COUNT, (void (*)())count_h},
                                         {HIDX_REPLY_TO_NOBODY, (void (*)())reply_to_nobody_h},
                                         {HIDX_BULK, (void (*)())bulk_h}};
  double start;
  core_init(&argc, &argv, "testcorebad");
  core_attach(table, (int)(sizeof table / sizeof *table), GASNET_PAGESIZE);
  test_begin("testcorebad");
  if (argc > 1) {
    if (me == 0 && mistake(argv[1]) == GASNET_ERR_BAD_ARG) {
      fprintf(stderr, "testcorebad: refused with GASNET_ERR_BAD_ARG\n");
      gasnet_exit(3);
    }
    for (start = test_now(); test_now() - start < 10;) GASNET_SAFE(gasnet_AMPoll());
    fprintf(stderr, "testcorebad: node %u: nobody minded\n", (unsigned)me);
    gasnet_exit(0);
  }
  bad_ranks();
  test_end();
  return 0;
}
