/* Active Message benchmark: latency and bandwidth of every category, in the ways programs use them.
 *
 * usage: testam [-in|-out] [-a] [-c] [-l] [-m] [-x] [-p threads] [iters [maxsize [sections]]]      (see usage())
 *
 * Nodes work in pairs; a node without a partner works with itself. Handlers only count and reply. They do not read
 * payloads while the clock runs; section V compares every byte instead. A node that has nothing to do waits in a
 * barrier. */
#include "../testcore.h"

#if defined(GASNET_PAR)
#include <pthread.h>
#endif

enum { HIDX_SHORT = 201, HIDX_BULK, HIDX_SHORT_RR, HIDX_MEDIUM_RR, HIDX_LONG_RR, HIDX_SHORT_BACK, HIDX_BULK_BACK };
enum { HIDX_VERIFY = 211, HIDX_VERIFY_LONG, HIDX_VERIFY_BACK };

enum pattern { PING_RR, PING_QQ, FLOOD, FLOOD_ACK, FLOOD_RR, FLOOD_TWOWAY };
static const char *const pattern_name[] = {"ping-pong roundtrip ReqRep", "ping-pong roundtrip ReqReq",
                                           "flood     one-way   Req   ", "flood     one-way   ReqAck",
                                           "flood     roundtrip ReqRep", "flood     two-way   Req   "};

/* LongAsync demands a reply to every request, so the patterns without one are not for it. */
static const struct section {
  char letter;
  int category;
  enum pattern pattern;
} sections[] = {
    {'A', SHORT, PING_RR},        {'B', SHORT, PING_QQ},      {'C', SHORT, FLOOD},
    {'D', SHORT, FLOOD_ACK},      {'E', SHORT, FLOOD_RR},     {'F', SHORT, FLOOD_TWOWAY},
    {'G', MEDIUM, PING_RR},       {'H', MEDIUM, PING_QQ},     {'I', MEDIUM, FLOOD},
    {'J', MEDIUM, FLOOD_ACK},     {'K', MEDIUM, FLOOD_RR},    {'L', MEDIUM, FLOOD_TWOWAY},
    {'M', LONG, PING_RR},         {'N', LONG, PING_QQ},       {'O', LONG, FLOOD},
    {'P', LONG, FLOOD_ACK},       {'Q', LONG, FLOOD_RR},      {'R', LONG, FLOOD_TWOWAY},
    {'S', LONGASYNC, PING_RR},    {'T', LONGASYNC, FLOOD_RR},
};
#define SECTIONS (sizeof sections / sizeof *sections)
#define VERIFY 'V'

static struct {
  int in_segment, all_active, cross, list, machine, exact;
  long pollers, iters;
  size_t maxsize;
  const char *letters;
} option = {0, 0, 0, 0, 0, 0, 0, 200, 65536, NULL};

static gasnet_node_t peer;
static int active; /* this node measures; otherwise it only serves its peer */
static unsigned char *source;
static unsigned char *landing_requests, *landing_replies; /* at the peer, and here */
static volatile int requests, replies; /* that came here in this row */
static volatile int acknowledge_at;    /* the request that completes a row of FLOOD_ACK, or 0 */

/* ---- handlers ---- */

/* Adds 1, returns the sum. In PAR handlers of one node run on several threads. */
#if defined(GASNET_PAR)
static gasnet_hsl_t counting = GASNET_HSL_INITIALIZER;
static int count(volatile int *c) {
  int sum;
  gasnet_hsl_lock(&counting);
  sum = ++*c;
  gasnet_hsl_unlock(&counting);
  return sum;
}
#else
static int count(volatile int *c) { return ++*c; }
#endif

/* Messages may overtake each other, so the acknowledgement of a flood is the answer to whichever comes last. */
static void request_came(gasnet_token_t token) {
  if (count(&requests) == acknowledge_at) GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_SHORT_BACK));
}
static void short_h(gasnet_token_t token) { request_came(token); }
static void bulk_h(gasnet_token_t token, void *buf, size_t nbytes) {
  (void)buf, (void)nbytes;
  request_came(token);
}
static void short_rr_h(gasnet_token_t token) {
  count(&requests);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_SHORT_BACK));
}
static void medium_rr_h(gasnet_token_t token, void *buf, size_t nbytes) {
  count(&requests);
  GASNET_SAFE(gasnet_AMReplyMedium0(token, HIDX_BULK_BACK, buf, nbytes));
}
/* The requester says where its replies land. */
static void long_rr_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  count(&requests);
  GASNET_SAFE(gasnet_AMReplyLong0(token, HIDX_BULK_BACK, buf, nbytes, CORE_PTR(hi, lo)));
}
static void short_back_h(gasnet_token_t token) {
  (void)token;
  count(&replies);
}
static void bulk_back_h(gasnet_token_t token, void *buf, size_t nbytes) {
  (void)token, (void)buf, (void)nbytes;
  count(&replies);
}

/* ---- one message of a section ---- */

static void send_one(int category, size_t nbytes, int answered) {
  void *to = landing_requests, *back = landing_replies;
  if (category == SHORT)
    GASNET_SAFE(gasnet_AMRequestShort0(peer, answered ? HIDX_SHORT_RR : HIDX_SHORT));
  else if (category == MEDIUM)
    GASNET_SAFE(gasnet_AMRequestMedium0(peer, answered ? HIDX_MEDIUM_RR : HIDX_BULK, source, nbytes));
  else if (category == LONGASYNC)
    GASNET_SAFE(
        gasnet_AMRequestLongAsync2(peer, HIDX_LONG_RR, source, nbytes, to, CORE_HI(back), CORE_LO(back)));
  else if (answered)
    GASNET_SAFE(gasnet_AMRequestLong2(peer, HIDX_LONG_RR, source, nbytes, to, CORE_HI(back), CORE_LO(back)));
  else
    GASNET_SAFE(gasnet_AMRequestLong0(peer, HIDX_BULK, source, nbytes, to));
}

/* ---- patterns: the measured part, on the active node and on the one that serves it ---- */

static void measure(const struct section *s, size_t nbytes, int n) {
  int i;
  switch (s->pattern) {
    case PING_RR:
      for (i = 1; i <= n; i++) {
        send_one(s->category, nbytes, 1);
        GASNET_BLOCKUNTIL(replies >= i);
      }
      break;
    case PING_QQ: /* with oneself the request is its own answer; if both are active each answers the other's */
      for (i = 1; i <= n; i++) {
        send_one(s->category, nbytes, 0);
        GASNET_BLOCKUNTIL(requests >= i);
      }
      break;
    case FLOOD:
      for (i = 0; i < n; i++) send_one(s->category, nbytes, 0);
      break;
    case FLOOD_ACK:
      for (i = 0; i < n; i++) send_one(s->category, nbytes, 0);
      GASNET_BLOCKUNTIL(replies >= 1);
      break;
    case FLOOD_RR:
      for (i = 0; i < n; i++) send_one(s->category, nbytes, 1);
      GASNET_BLOCKUNTIL(replies >= n);
      break;
    case FLOOD_TWOWAY:
      for (i = 0; i < n; i++) send_one(s->category, nbytes, 0);
      GASNET_BLOCKUNTIL(requests >= n);
      break;
  }
}

static void serve(const struct section *s, size_t nbytes, int n) {
  int i;
  if (s->pattern == PING_QQ)
    for (i = 1; i <= n; i++) {
      GASNET_BLOCKUNTIL(requests >= i);
      send_one(s->category, nbytes, 0);
    }
  else if (s->pattern == FLOOD_TWOWAY)
    measure(s, nbytes, n);
}

/* Requests that reach this node in a row of n. */
static int due(const struct section *s, int n) {
  if (peer == me || option.all_active || !active || s->pattern == PING_QQ || s->pattern == FLOOD_TWOWAY) return n;
  return 0;
}

static void print_row(const struct section *s, size_t nbytes, int n, double seconds) {
  const double messages = (double)n, us = seconds / messages * 1e6;
  const int both = s->pattern == PING_RR || s->pattern == PING_QQ || s->pattern == FLOOD_RR;
  const double rate = (double)nbytes * messages * (both ? 2 : 1) / seconds;
  if (option.machine) {
    printf("testam,%u,%c,%s,%d,%lu,%d,%.4f,%.1f\n", (unsigned)me, s->letter, core_catname[s->category], (int)s->pattern,
           (unsigned long)nbytes, n, us, rate);
    fflush(stdout);
    return;
  }
  printf("%2u: %c  AM %-9s %s: ", (unsigned)me, s->letter, core_catname[s->category], pattern_name[s->pattern]);
  if (s->category == SHORT)
    printf("            %7d iters  latency = %9.3f us", n, us);
  else
    printf("%8lu B  %7d iters  latency = %9.3f us  bandwidth = %11.3f %s/s", (unsigned long)nbytes, n, us,
           rate / (rate < 1e6 ? 1e3 : 1e6), rate < 1e6 ? "KB" : "MB");
  printf("\n");
  fflush(stdout);
}

/* Long rows with large payloads are cut, so that a row costs no more than ~8 MB of traffic, unless -x. */
static int iterations(size_t nbytes) {
  const long enough = (8L << 20) / (long)(nbytes ? nbytes : 1);
  if (option.exact || option.iters <= enough) return (int)option.iters;
  return (int)(enough < 8 ? (option.iters < 8 ? option.iters : 8) : enough);
}

static void run_row(const struct section *s, size_t nbytes) {
  const int n = iterations(nbytes), warm = n / 10 + 1;
  int pass;
  for (pass = 0; pass < 2; pass++) { /* a short one to warm up, then the one that counts */
    const int messages = pass ? n : warm;
    double seconds;
    requests = replies = 0;
    acknowledge_at = s->pattern == FLOOD_ACK ? messages : 0;
    test_barrier();
    seconds = test_now();
    if (active)
      measure(s, nbytes, messages);
    else
      serve(s, nbytes, messages);
    seconds = test_now() - seconds;
    GASNET_BLOCKUNTIL(requests >= due(s, messages));
    test_barrier();
    CHECK(requests == due(s, messages), "section %c: %d requests of %d", s->letter, requests, due(s, messages));
    if (pass && active) print_row(s, nbytes, n, seconds);
  }
}

/* Largest payload of a section: what was asked for, and what the limits allow. */
static size_t largest(int category) {
  size_t most = option.maxsize;
  if (category == MEDIUM && most > gasnet_AMMaxMedium()) most = gasnet_AMMaxMedium();
  if (category >= LONG && most > gasnet_AMMaxLongRequest()) most = gasnet_AMMaxLongRequest();
  if (category >= LONG && most > gasnet_AMMaxLongReply()) most = gasnet_AMMaxLongReply();
  return category == SHORT ? 0 : most;
}

static void run_section(const struct section *s) {
  size_t nbytes, most = largest(s->category);
  if (s->category == SHORT) {
    run_row(s, 0);
    return;
  }
  for (nbytes = 1; nbytes <= most; nbytes *= 2) run_row(s, nbytes);
  if (nbytes / 2 < most) run_row(s, most);
}

/* ---- V: every byte of every category and size, from everybody to its peer ---- */

static volatile int verified;

/* Arguments: seed, and where the reply lands: a Long is answered by a Long, everything else by a Medium. */
static void verify_came(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed, void *back) {
  CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "request of %lu bytes", (unsigned long)nbytes);
  if (back)
    GASNET_SAFE(gasnet_AMReplyLong1(token, HIDX_VERIFY_BACK, buf, nbytes, back, seed));
  else
    GASNET_SAFE(gasnet_AMReplyMedium1(token, HIDX_VERIFY_BACK, buf, nbytes, seed));
}
static void verify_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed) {
  verify_came(token, buf, nbytes, seed, NULL);
}
static void verify_long_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed,
                          gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  verify_came(token, buf, nbytes, seed, CORE_PTR(hi, lo));
}
static void verify_back_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t seed) {
  (void)token;
  CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "reply of %lu bytes", (unsigned long)nbytes);
  count(&verified);
}

static void verify_one(int category, size_t nbytes) {
  const gasnet_handlerarg_t seed = (gasnet_handlerarg_t)core_seed(me, (unsigned)category, (unsigned)nbytes);
  void *to = landing_requests, *back = landing_replies;
  const int before = verified;
  core_fill(source, nbytes, (unsigned)seed);
  if (category == MEDIUM)
    GASNET_SAFE(gasnet_AMRequestMedium1(peer, HIDX_VERIFY, source, nbytes, seed));
  else if (category == LONG)
    GASNET_SAFE(gasnet_AMRequestLong3(peer, HIDX_VERIFY_LONG, source, nbytes, to, seed, CORE_HI(back), CORE_LO(back)));
  else
    GASNET_SAFE(
        gasnet_AMRequestLongAsync3(peer, HIDX_VERIFY_LONG, source, nbytes, to, seed, CORE_HI(back), CORE_LO(back)));
  GASNET_BLOCKUNTIL(verified >= before + 1);
}

static void run_verification(void) {
  size_t nbytes;
  int category;
  for (category = MEDIUM; category <= LONGASYNC; category++)
    for (nbytes = 1; nbytes <= largest(category); nbytes *= 2) {
      verify_one(category, nbytes);
      verify_one(category, nbytes - 1);
      if (nbytes + 1 <= largest(category)) verify_one(category, nbytes + 1);
    }
  test_barrier();
  if (me == 0 && !option.machine)
    printf("%2u: %c  all bytes of all categories and sizes compared\n", (unsigned)me, VERIFY);
}

/* ---- polling threads (PAR): what other threads in gasnet_AMPoll cost ---- */

#if defined(GASNET_PAR)
static volatile int polling = 1;
static pthread_t poller[64];
static void *poll_on(void *arg) {
  while (polling) GASNET_SAFE(gasnet_AMPoll());
  return arg;
}
static void start_pollers(void) {
  long i;
  for (i = 0; i < option.pollers; i++)
    if (pthread_create(&poller[i], NULL, poll_on, NULL)) gasnet_exit(95);
}
static void stop_pollers(void) {
  long i;
  polling = 0;
  for (i = 0; i < option.pollers; i++) pthread_join(poller[i], NULL);
}
#else
static void start_pollers(void) {}
static void stop_pollers(void) {}
#endif

/* ---- the command line ---- */

static void usage(void) {
  size_t i;
  if (me == 0) {
    printf("usage: testam [options] [iters [maxsize [sections]]]\n"
           "  iters      messages per row, default %ld; fewer for large payloads\n"
           "  maxsize    bytes of the largest payload, default %lu\n"
           "  sections   letters, default all\n"
           "  -in, -out  payloads come from the segment, from elsewhere (default)\n"
           "  -a         both nodes of a pair measure at once (default: the lower one)\n"
           "  -c         pairs are i and i + N/2 (default: neighbours)\n"
           "  -l         list the sections and stop\n"
           "  -m         machine: testam,node,section,category,pattern,bytes,iters,us,bytes/s\n"
           "  -x         exactly iters messages in every row\n"
           "  -p n       n threads that only poll (GASNET_PAR)\n",
           option.iters, (unsigned long)option.maxsize);
    for (i = 0; i < SECTIONS; i++)
      printf("  %c  AM %-9s %s\n", sections[i].letter, core_catname[sections[i].category],
             pattern_name[sections[i].pattern]);
    printf("  %c  verification of payloads\n", VERIFY);
    fflush(stdout);
  }
}

/* Returns 0 if something is not understood. */
static int parse(int argc, char **argv) {
  int i, position = 0;
  for (i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (!strcmp(a, "-in")) option.in_segment = 1;
    else if (!strcmp(a, "-out")) option.in_segment = 0;
    else if (!strcmp(a, "-a")) option.all_active = 1;
    else if (!strcmp(a, "-c")) option.cross = 1;
    else if (!strcmp(a, "-l")) option.list = 1;
    else if (!strcmp(a, "-m")) option.machine = 1;
    else if (!strcmp(a, "-x")) option.exact = 1;
    else if (!strcmp(a, "-p") && i + 1 < argc) option.pollers = atol(argv[++i]);
    else if (*a == '-' || position == 3) return 0;
    else if (position == 0) option.iters = atol(a), position++;
    else if (position == 1) option.maxsize = (size_t)atol(a), position++;
    else option.letters = a, position++;
  }
#if !defined(GASNET_PAR)
  if (option.pollers) return 0;
#endif
  return option.iters > 0 && option.maxsize > 0 && option.pollers >= 0 && option.pollers <= 64;
}

static void choose_peer(void) {
  const gasnet_node_t half = nodes / 2;
  if (option.cross) {
    peer = me < half ? me + half : me < 2 * half ? me - half : me;
    active = option.all_active || me < half || peer == me;
  } else {
    peer = me % 2 ? me - 1 : me + 1 < nodes ? me + 1 : me;
    active = option.all_active || me % 2 == 0;
  }
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {
      {HIDX_SHORT, (void (*)())short_h},         {HIDX_BULK, (void (*)())bulk_h},
      {HIDX_SHORT_RR, (void (*)())short_rr_h},   {HIDX_MEDIUM_RR, (void (*)())medium_rr_h},
      {HIDX_LONG_RR, (void (*)())long_rr_h},     {HIDX_SHORT_BACK, (void (*)())short_back_h},
      {HIDX_BULK_BACK, (void (*)())bulk_back_h}, {HIDX_VERIFY, (void (*)())verify_h},
      {HIDX_VERIFY_LONG, (void (*)())verify_long_h}, {HIDX_VERIFY_BACK, (void (*)())verify_back_h}};
  size_t room, i;
  int understood;
  core_init(&argc, &argv, "testam");
  understood = parse(argc, argv);
  if (option.iters > 1000 || option.maxsize > 65536) alarm(0); /* who asks for more may wait for it */
  room = (option.maxsize + 127) / 64 * 64;
  core_attach(table, (int)(sizeof table / sizeof *table), 3 * room);
  test_begin("testam");
  if (!understood || option.list) {
    usage();
    test_barrier();
    gasnet_exit(understood ? 0 : 2);
  }

  /* An area holds: landing place of requests, of replies, the source of -in. */
  choose_peer();
  landing_requests = core_area[peer];
  landing_replies = core_area[me] + room;
  source = option.in_segment ? core_area[me] + 2 * room : (unsigned char *)malloc(room);
  core_fill(source, option.maxsize, me);
  start_pollers();
  for (i = 0; i < SECTIONS; i++)
    if (!option.letters || strchr(option.letters, sections[i].letter)) run_section(&sections[i]);
  if (!option.letters || strchr(option.letters, VERIFY)) run_verification();
  stop_pollers();
  test_end();
  return 0;
}
