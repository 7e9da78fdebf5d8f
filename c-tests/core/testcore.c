/* Contract items 20–24: every request category with 0–16 arguments, answered by every reply category, in both
 * spellings, between every two nodes and with oneself; all arguments and payloads are compared.
 *
 * usage: testcore [iterations]
 *
 * A message does not say which one it is. Each node sends the same sequence to every node, one message at a time, so
 * the receiver knows by its own count which one must come next from that node. So all arguments are free for test
 * patterns. */
#include "testcoream.h"

enum { HIDX_SHORT = 128, HIDX_MEDIUM = HIDX_SHORT + 17, HIDX_LONG = HIDX_MEDIUM + 17 };
enum { HIDX_RSHORT = HIDX_LONG + 17, HIDX_RMEDIUM = HIDX_RSHORT + 17, HIDX_RLONG = HIDX_RMEDIUM + 17 };
#define MAXBYTES 512 /* what every implementation accepts as Medium and Long */

/* Message number k of a sequence. */
struct step {
  int request, reply, numargs, spelling;
  size_t nbytes;
  unsigned seed;
};
#define STEPS (4 * 3 * 17 * 2)

static int *came, *answered; /* per node: requests that came from it, replies that came from it */
static unsigned char *out;   /* per node MAXBYTES: payload under way to it */

static struct step step_of(int k, gasnet_node_t from, gasnet_node_t to) {
  static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 55,
                                 56, 57, 63, 64, 65, 127, 128, 129, 255, 256, 511, 512, 0};
  struct step s;
  s.spelling = k % 2;
  s.numargs = k / 2 % 17;
  s.reply = k / 34 % 3;
  s.request = k / 102 % 4;
  s.nbytes = sizes[(unsigned)k * 7u % (sizeof sizes / sizeof *sizes)];
  s.seed = core_seed(from + 1, to + 1, (unsigned)k);
  return s;
}

/* Where Longs land at `at` when the other end is `with`. */
static unsigned char *request_place(gasnet_node_t at, gasnet_node_t with) { return core_area[at] + with * MAXBYTES; }
static unsigned char *reply_place(gasnet_node_t at, gasnet_node_t with) {
  return core_area[at] + (nodes + with) * MAXBYTES;
}

static void check_message(const struct step *s, int category, const void *buf, size_t nbytes, const void *place, int m,
                          const gasnet_handlerarg_t *a, unsigned seed) {
  int i;
  CHECK(m == s->numargs, "%d arguments, sent %d", m, s->numargs);
  for (i = 0; i < m; i++)
    CHECK(a[i] == core_arg(seed, i), "argument %d of %d is %d, sent %d", i, m, (int)a[i], (int)core_arg(seed, i));
  if (category == SHORT) return;
  if (!CHECK(nbytes == s->nbytes, "%lu bytes, sent %lu", (unsigned long)nbytes, (unsigned long)s->nbytes)) return;
  CHECK(core_differs(buf, nbytes, seed) == nbytes, "%s of %lu bytes differs at %lu", core_catname[category],
        (unsigned long)nbytes, (unsigned long)core_differs(buf, nbytes, seed));
  CHECK(category == MEDIUM || nbytes == 0 || buf == place, "Long arrived at %p, sent to %p", buf, place);
}

static void request_came(gasnet_token_t token, int category, void *buf, size_t nbytes, int m,
                         const gasnet_handlerarg_t *a) {
  gasnet_node_t from = core_source(token);
  struct step s = step_of(came[from], from, me);
  unsigned char payload[MAXBYTES];
  gasnet_handlerarg_t args[CORE_MAXARGS];
  struct core_am reply;
  int i;
  CHECK(category == (s.request == LONGASYNC ? LONG : s.request), "%s came, %s was sent", core_catname[category],
        core_catname[s.request]);
  check_message(&s, category, buf, nbytes, request_place(me, from), m, a, s.seed);
  came[from]++;

  reply.category = s.reply;
  reply.spelling = s.spelling;
  reply.handler =
      (gasnet_handler_t)((s.reply == SHORT ? HIDX_RSHORT : s.reply == MEDIUM ? HIDX_RMEDIUM : HIDX_RLONG) + m);
  reply.src = payload;
  reply.nbytes = s.nbytes;
  reply.dst = reply_place(from, me);
  reply.numargs = m;
  for (i = 0; i < m; i++) args[i] = core_arg(s.seed + 1, i);
  core_fill(payload, s.nbytes, s.seed + 1);
  core_reply(token, &reply, args);
  memset(payload, 0xEE, sizeof payload); /* a reply's source is free on return, too */
}

static void reply_came(gasnet_token_t token, int category, void *buf, size_t nbytes, int m,
                       const gasnet_handlerarg_t *a) {
  gasnet_node_t from = core_source(token);
  struct step s = step_of(answered[from], me, from);
  CHECK(category == s.reply, "%s came, %s was the reply", core_catname[category], core_catname[s.reply]);
  CHECK(s.request != LONGASYNC || core_differs(out + from * MAXBYTES, s.nbytes, s.seed) == s.nbytes,
        "the source of a LongAsync of %lu bytes has changed", (unsigned long)s.nbytes);
  check_message(&s, category, buf, nbytes, reply_place(me, from), m, a, s.seed + 1);
  answered[from]++;
}

#define HANDLERS(m)                                                                                                  \
  static void short_h##m(gasnet_token_t token CORE_P##m) {                                                           \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    request_came(token, SHORT, NULL, 0, m, a);                                                                       \
  }                                                                                                                  \
  static void medium_h##m(gasnet_token_t token, void *buf, size_t nbytes CORE_P##m) {                                \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    request_came(token, MEDIUM, buf, nbytes, m, a);                                                                  \
  }                                                                                                                  \
  static void long_h##m(gasnet_token_t token, void *buf, size_t nbytes CORE_P##m) {                                  \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    request_came(token, LONG, buf, nbytes, m, a);                                                                    \
  }                                                                                                                  \
  static void rshort_h##m(gasnet_token_t token CORE_P##m) {                                                          \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    reply_came(token, SHORT, NULL, 0, m, a);                                                                         \
  }                                                                                                                  \
  static void rmedium_h##m(gasnet_token_t token, void *buf, size_t nbytes CORE_P##m) {                               \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    reply_came(token, MEDIUM, buf, nbytes, m, a);                                                                    \
  }                                                                                                                  \
  static void rlong_h##m(gasnet_token_t token, void *buf, size_t nbytes CORE_P##m) {                                 \
    const gasnet_handlerarg_t a[] = {CORE_N##m 0};                                                                   \
    reply_came(token, LONG, buf, nbytes, m, a);                                                                      \
  }
CORE_EACH(HANDLERS)

#define ENTRIES(m)                                                                                                   \
  {HIDX_SHORT + m, (void (*)())short_h##m}, {HIDX_MEDIUM + m, (void (*)())medium_h##m},                              \
      {HIDX_LONG + m, (void (*)())long_h##m}, {HIDX_RSHORT + m, (void (*)())rshort_h##m},                            \
      {HIDX_RMEDIUM + m, (void (*)())rmedium_h##m}, {HIDX_RLONG + m, (void (*)())rlong_h##m},
static const gasnet_handlerentry_t table[] = {CORE_EACH(ENTRIES)};

static void send_step(int k, gasnet_node_t to) {
  struct step s = step_of(k, me, to);
  gasnet_handlerarg_t args[CORE_MAXARGS];
  struct core_am am;
  int i;
  am.category = s.request;
  am.spelling = s.spelling;
  am.handler =
      (gasnet_handler_t)((s.request == SHORT ? HIDX_SHORT : s.request == MEDIUM ? HIDX_MEDIUM : HIDX_LONG) + s.numargs);
  am.src = out + to * MAXBYTES;
  am.nbytes = s.nbytes;
  am.dst = request_place(to, me);
  am.numargs = s.numargs;
  for (i = 0; i < s.numargs; i++) args[i] = core_arg(s.seed, i);
  core_fill(am.src, s.nbytes, s.seed);
  core_request(to, &am, args);
  memset(args, 0xEE, sizeof args);
  if (s.request != LONGASYNC) memset(am.src, 0xEE, s.nbytes);
}

static int all_answered(int k) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    if (answered[i] < k) return 0;
  return 1;
}

int main(int argc, char **argv) {
  long iterations;
  int k, total;
  gasnet_node_t i;
  core_init(&argc, &argv, "testcore");
  iterations = core_number(argc, argv, 1, 1);
  core_attach(table, (int)(sizeof table / sizeof *table), 2 * nodes * MAXBYTES);
  came = (int *)calloc(nodes, sizeof *came);
  answered = (int *)calloc(nodes, sizeof *answered);
  out = (unsigned char *)malloc(nodes * MAXBYTES);
  test_begin("testcore");

  total = (int)iterations * STEPS;
  for (k = 0; k < total; k++) {
    for (i = 0; i < nodes; i++) send_step(k, (me + i) % nodes);
    GASNET_BLOCKUNTIL(all_answered(k + 1));
  }
  test_barrier();
  for (i = 0; i < nodes; i++)
    CHECK(came[i] == total && answered[i] == total, "node %u: %d requests and %d replies of %d", (unsigned)i, came[i],
          answered[i], total);
  test_end();
  return 0;
}
