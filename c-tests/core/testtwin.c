/* The header's inline Shorts and polls beside the library's own, on the same queues: usage: testtwin [requests [seed]]
 *
 * Both nodes of a pair send to each other. A random number decides for each request, reply, poll and wait whether it
 * is inline or a call of the library. Each message carries its number, so that the test finds one that is lost, run
 * twice, out of order or damaged. With GASNET_SCI_SLOTS=4 the default of 300,000 requests takes the slots' sequence
 * round twice (131,072 requests each), so that both ways meet every lap. Unlike the other C tests this one uses the
 * library's functions behind the macros, because it tests them. In GASNET_PAR and debug builds the header calls the
 * library for Shorts; the test must pass there, too. */
#include "../test.h"

enum { ECHO2 = 128, ECHO8, ECHO14, ECHO16, NOTE2, REPLY2, REPLY14, REPLY16 };

static uint32_t state = 1;
static uint32_t next_random(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
/* Half of all operations go by a call. */
static int called(void) { return (int)(next_random() & 1); }

/* Argument `k` of message `number`. */
static gasnet_handlerarg_t argument(uint32_t number, uint32_t k) {
  return (gasnet_handlerarg_t)(number * 2654435761u + k * 40503u);
}
static void pack(uint64_t *words, uint32_t number, uint32_t count) {
  uint32_t k;
  memset(words, 0, 8 * sizeof *words);
  for (k = 0; k < count; k++) {
    const uint32_t value = (uint32_t)(k == 0 ? (gasnet_handlerarg_t)number : argument(number, k));
    words[k / 2] |= (uint64_t)value << (32 * (k % 2));
  }
}

static volatile uint32_t requests_run, replies_run;
static uint32_t requests_sent, replies_due;
static uint32_t reply_numbers[4096]; /* of requests that wait for an answer, in order */

static void check_request(gasnet_handlerarg_t number, const gasnet_handlerarg_t *rest, uint32_t count) {
  uint32_t k;
  CHECK((uint32_t)number == requests_run, "request %u instead of %u", (unsigned)number, (unsigned)requests_run);
  for (k = 1; k < count; k++)
    CHECK(rest[k - 1] == argument((uint32_t)number, k), "argument %u of request %u", (unsigned)k, (unsigned)number);
}
static void check_reply(gasnet_handlerarg_t number, const gasnet_handlerarg_t *rest, uint32_t count) {
  const uint32_t expected = reply_numbers[replies_run % 4096];
  uint32_t k;
  CHECK((uint32_t)number == expected, "reply to %u instead of %u", (unsigned)number, (unsigned)expected);
  for (k = 1; k < count; k++)
    CHECK(rest[k - 1] == argument((uint32_t)number, k), "argument %u of reply %u", (unsigned)k, (unsigned)number);
  replies_run++;
}

#define ARGS14(a, n)                                                                                                 \
  a(n, 1), a(n, 2), a(n, 3), a(n, 4), a(n, 5), a(n, 6), a(n, 7), a(n, 8), a(n, 9), a(n, 10), a(n, 11), a(n, 12),      \
      a(n, 13)

/* Replies as a random number says: of two, fourteen or sixteen arguments, inline or by a call. */
static void answer(gasnet_token_t token, uint32_t number) {
  const uint32_t which = next_random() % 3;
  const uint32_t counts[3] = {2, 14, 16};
  uint64_t words[8];
  if (called()) {
    pack(words, number, counts[which]);
    GASNET_SAFE(gasneti_sci_reply_short(token, GASNETI_SCI_WHAT(0, REPLY2 + which, counts[which]), words));
  } else if (which == 0) {
    GASNET_SAFE(gasnet_AMReplyShort2(token, REPLY2, (gasnet_handlerarg_t)number, argument(number, 1)));
  } else if (which == 1) {
    GASNET_SAFE(gasnet_AMReplyShort14(token, REPLY14, (gasnet_handlerarg_t)number, ARGS14(argument, number)));
  } else {
    GASNET_SAFE(gasnet_AMReplyShort16(token, REPLY16, (gasnet_handlerarg_t)number, ARGS14(argument, number),
                                      argument(number, 14), argument(number, 15)));
  }
}

typedef gasnet_handlerarg_t arg;
static void echo2(gasnet_token_t token, arg n, arg a) {
  const arg rest[] = {a};
  check_request(n, rest, 2);
  requests_run++;
  answer(token, (uint32_t)n);
}
static void note2(gasnet_token_t token, arg n, arg a) {
  const arg rest[] = {a};
  (void)token;
  check_request(n, rest, 2);
  requests_run++;
}
static void echo8(gasnet_token_t token, arg n, arg a, arg b, arg c, arg d, arg e, arg f, arg g) {
  const arg rest[] = {a, b, c, d, e, f, g};
  check_request(n, rest, 8);
  requests_run++;
  answer(token, (uint32_t)n);
}
static void echo14(gasnet_token_t token, arg n, arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h, arg i, arg j,
                   arg k, arg l, arg m) {
  const arg rest[] = {a, b, c, d, e, f, g, h, i, j, k, l, m};
  check_request(n, rest, 14);
  requests_run++;
  answer(token, (uint32_t)n);
}
static void echo16(gasnet_token_t token, arg n, arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h, arg i, arg j,
                   arg k, arg l, arg m, arg o, arg p) {
  const arg rest[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, o, p};
  check_request(n, rest, 16);
  requests_run++;
  answer(token, (uint32_t)n);
}
static void reply2(gasnet_token_t token, arg n, arg a) {
  const arg rest[] = {a};
  (void)token;
  check_reply(n, rest, 2);
}
static void reply14(gasnet_token_t token, arg n, arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h, arg i, arg j,
                    arg k, arg l, arg m) {
  const arg rest[] = {a, b, c, d, e, f, g, h, i, j, k, l, m};
  (void)token;
  check_reply(n, rest, 14);
}
static void reply16(gasnet_token_t token, arg n, arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h, arg i, arg j,
                    arg k, arg l, arg m, arg o, arg p) {
  const arg rest[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, o, p};
  (void)token;
  check_reply(n, rest, 16);
}

/* One request, of a random number of arguments; one in four wants no answer. */
static void send_one(gasnet_node_t peer) {
  static const uint32_t counts[5] = {2, 8, 14, 16, 2};
  const uint32_t number = requests_sent++, r = next_random() % 16;
  const uint32_t which = r < 4 ? 4 : r % 4;
  const arg n = (arg)number;
  uint64_t words[8];
  if (which != 4) reply_numbers[replies_due++ % 4096] = number;
  if (called()) {
    pack(words, number, counts[which]);
    GASNET_SAFE(gasneti_sci_request_short(peer, GASNETI_SCI_WHAT(0, ECHO2 + which, counts[which]), words));
  } else if (which == 0) {
    GASNET_SAFE(gasnet_AMRequestShort2(peer, ECHO2, n, argument(number, 1)));
  } else if (which == 1) {
    GASNET_SAFE(gasnet_AMRequestShort8(peer, ECHO8, n, argument(number, 1), argument(number, 2), argument(number, 3),
                                       argument(number, 4), argument(number, 5), argument(number, 6),
                                       argument(number, 7)));
  } else if (which == 2) {
    GASNET_SAFE(gasnet_AMRequestShort14(peer, ECHO14, n, ARGS14(argument, number)));
  } else if (which == 3) {
    GASNET_SAFE(gasnet_AMRequestShort16(peer, ECHO16, n, ARGS14(argument, number), argument(number, 14),
                                        argument(number, 15)));
  } else {
    GASNET_SAFE(gasnet_AMRequestShort2(peer, NOTE2, n, argument(number, 1)));
  }
}

static void poll_some(void) {
  uint32_t polls = next_random() % 4;
  while (polls-- > 0) {
    if (called()) GASNET_SAFE(gasneti_sci_poll());
    else GASNET_SAFE(gasnet_AMPoll());
  }
}

/* Until so few requests wait for their answers; inline, or by steps of the library's. */
static void wait_for_answers(uint32_t most) {
  uint32_t failed = 0;
  if (called()) GASNET_BLOCKUNTIL(replies_due - replies_run <= most);
  else
    while (replies_due - replies_run > most) failed = gasneti_sci_wait_step(failed);
}

int main(int argc, char **argv) {
  static gasnet_handlerentry_t table[] = {
      {ECHO2, (void (*)())echo2},   {ECHO8, (void (*)())echo8},   {ECHO14, (void (*)())echo14},
      {ECHO16, (void (*)())echo16}, {NOTE2, (void (*)())note2},   {REPLY2, (void (*)())reply2},
      {REPLY14, (void (*)())reply14}, {REPLY16, (void (*)())reply16}};
  uint32_t requests, seed, sent;
  gasnet_node_t me, peer;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  GASNET_SAFE(gasnet_attach(table, sizeof table / sizeof *table, GASNET_PAGESIZE, 0));
  test_begin("testtwin");
  requests = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300000;
  seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
  test_seed(seed);
  me = gasnet_mynode();
  peer = me ^ 1;
  state = seed * 7919u + me;
  if (peer >= gasnet_nodes()) peer = me; /* the last of an odd number sends to itself */
  for (sent = 0; sent < requests; sent++) {
    send_one(peer);
    poll_some();
    wait_for_answers(next_random() % 64);
  }
  wait_for_answers(0);
  /* The peer sends as many. */
  GASNET_BLOCKUNTIL(requests_run == requests);
  CHECK(replies_run == replies_due, "%u replies instead of %u", (unsigned)replies_run, (unsigned)replies_due);
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
  CHECK(requests_run == requests, "%u requests instead of %u", (unsigned)requests_run, (unsigned)requests);
  test_end();
  return 0;
}
