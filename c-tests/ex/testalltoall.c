/* Every process floods all others with Mediums, GROUP; each payload is compared. Contract: ex-core.md section 11, ex-rma.md section 14.
 *
 *   testalltoall [OPTIONS] [iters=1000 [maxsz [seed]]]
 *     -random          targets and their order at random; otherwise in turn, beginning with the next
 *     -polite          a poll after each message
 *     -hotspot         all to process 0
 *     -reply, -no-reply   each message is answered by a Short (default), or not
 *     -min-size N (1)  -step-size N (sizes double, or grow by N)   -payload-byte N   all bytes are N
 *     -progress        process 0 says how far it is
 *   maxsz is at most the largest Medium, which is the default. */
#include "testperf.h"

static gasnett_atomic_t came = gasnett_atomic_init(0), answered = gasnett_atomic_init(0), wrong = gasnett_atomic_init(0);
static gasnett_atomic_t *from; /* messages, of each process */
static long payload_byte;
enum { MESSAGE = GEX_AM_INDEX_BASE, QUIET, ANSWER };

static unsigned seed_of(gex_Rank_t sender, size_t n) { return sender + (unsigned)n; }
static void look(gex_Token_t token, const void *buf, size_t n, gex_AM_Arg_t size) {
  gex_Token_Info_t info;
  size_t i, other = 0;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  if (payload_byte < 0) other = !filled(buf, seed_of(info.gex_srcrank, n), n);
  for (i = 0; payload_byte >= 0 && i < n; i++) other += ((const unsigned char *)buf)[i] != payload_byte;
  if (other || n != (size_t)size) gasnett_atomic_increment(&wrong, 0);
  gasnett_atomic_increment(&from[info.gex_srcrank], 0);
  gasnett_atomic_increment(&came, GASNETT_ATOMIC_REL);
}
static void message(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t size) {
  look(token, buf, n, size);
  gex_AM_ReplyShort0(token, ANSWER, 0);
}
static void quiet(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t size) { look(token, buf, n, size); }
static void answer(gex_Token_t token) {
  (void)token;
  gasnett_atomic_increment(&answered, 0);
}
static gex_AM_Entry_t handlers[] = {ROW(MESSAGE, message, MEDIUM, REQUEST, 1, NULL), ROW(QUIET, quiet, MEDIUM, REQUEST, 1, NULL),
                                    ROW(ANSWER, answer, SHORT, REPLY, 0, NULL)};

static struct {
  long random, polite, hotspot, reply, quiet, progress;
} flags;
static unsigned state;

/* Each sends `iters` messages of n bytes to each target. */
static void flood(unsigned char *source, size_t n, long iters) {
  const gex_Rank_t targets = flags.hotspot ? 1 : nodes;
  const long sent = iters * (long)targets, due = flags.hotspot ? (me == 0 ? iters * (long)nodes : 0) : sent;
  gex_Rank_t *order = (gex_Rank_t *)malloc(targets * sizeof *order), k;
  double us;
  long i;
  for (k = 0; k < targets; k++) order[k] = flags.hotspot ? 0 : (me + 1 + k) % nodes;
  for (k = 0; k < nodes; k++) gasnett_atomic_set(&from[k], 0, 0);
  gasnett_atomic_set(&came, 0, 0), gasnett_atomic_set(&answered, 0, 0);
  if (payload_byte < 0) fill(source, seed_of(me, n), n);
  else memset(source, (int)payload_byte, n);
  BARRIER();
  us = now_us();
  for (i = 0; i < iters; i++) {
    for (k = targets; flags.random && k > 1; k--) {
      const gex_Rank_t at = rnd(&state, k), last = order[k - 1];
      order[k - 1] = order[at], order[at] = last;
    }
    for (k = 0; k < targets; k++) {
      (void)gex_AM_RequestMedium1(tm, order[k], flags.quiet ? QUIET : MESSAGE, source, n, GEX_EVENT_GROUP, 0, (gex_AM_Arg_t)n);
      if (flags.polite) gasnet_AMPoll();
    }
    if (me == 0 && flags.progress && i % (iters / 4 + 1) == 0) say("%lu B: %ld of %ld", (unsigned long)n, i, iters);
  }
  gex_NBI_Wait(GEX_EC_AM, 0);
  memset(source, 0xdd, n); /* it is free */
  GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&came, 0) >= due);
  if (!flags.quiet) GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&answered, 0) >= sent);
  us = now_us() - us;
  BARRIER();
  if (me == 0) row('A', flags.hotspot ? "all to process 0" : "all to all", n, sent, us);
  CHECK((long)gasnett_atomic_read(&came, 0) == due && (long)gasnett_atomic_read(&answered, 0) == (flags.quiet ? 0 : sent));
  for (k = 0; k < nodes; k++) CHECK((long)gasnett_atomic_read(&from[k], 0) == (due ? iters : 0));
  free(order);
}

int main(int argc, char **argv) {
  static long least = 1, step;
  static const testperf_option table[] = {FLAG("-random", &flags.random), FLAG("-polite", &flags.polite), FLAG("-hotspot", &flags.hotspot),
                                          FLAG("-reply", &flags.reply), FLAG("-no-reply", &flags.quiet), AMOUNT("-min-size", &least),
                                          AMOUNT("-step-size", &step), AMOUNT("-payload-byte", &payload_byte),
                                          FLAG("-progress", &flags.progress)};
  static const char usage[] = "testalltoall [-random] [-polite] [-hotspot] [-reply|-no-reply] [-min-size N] [-step-size N] "
                              "[-payload-byte 0-255] [-progress] [iters [maxsz [seed]]]";
  unsigned char *source;
  long iters, most, limit;
  size_t n;
  gex_Rank_t k;
  int arg;
  begin("testalltoall", &argc, &argv);
  payload_byte = -1;
  arg = options(argc, argv, table, COUNT_OF(table), 3, usage);
  limit = (long)gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, GEX_EVENT_GROUP, 0, 1);
  iters = positional(argc, argv, arg, 1000);
  most = positional(argc, argv, arg + 1, limit);
  state = (unsigned)positional(argc, argv, arg + 2, 1) + 31 * me;
  if (payload_byte > 255 || (flags.reply && flags.quiet)) misuse(usage);
  if (most > limit) most = limit;
  if (least < 1 || least > most) least = 1;
  from = (gasnett_atomic_t *)malloc(nodes * sizeof *from);
  source = (unsigned char *)malloc((size_t)most);
  if (from == NULL || source == NULL) gasnet_exit(98);
  for (k = 0; k < nodes; k++) gasnett_atomic_set(&from[k], 0, 0);
  MUST(gex_EP_RegisterHandlers(ep, handlers, COUNT_OF(handlers)));
  (void)now_us();
  BARRIER();
  for (n = (size_t)least; n <= (size_t)most; n += step > 0 ? (size_t)step : n) flood(source, n, iters);
  CHECK((long)gasnett_atomic_read(&wrong, 0) == 0);
  free(source);
  return end();
}
