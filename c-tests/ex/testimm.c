/* Process 0 floods the others, which poll only now and then, with and without GEX_FLAG_IMMEDIATE. What is refused is tried again, for
 * ever. Contract: ex-core.md sections 14, 19, ex-rma.md section 14.
 *
 *   testimm [OPTIONS] [count=10000 [size=1M]]      count: operations for each process; size: of Longs, puts and gets, at most
 *     -in, -out        local memory in the segment, elsewhere (default)
 *     -m -l -p -g      Mediums, Longs, puts, gets; -mixed: all in turn. Nothing: each by itself, and all in turn
 *     -z N             the others poll every N microseconds (500)      -b N   a sync after N operations; else at the end
 *     After a refusal: -poll-next polls and goes to the next process (default), -poll-retry polls and tries the same one again,
 *     -poll-lazy polls only if all have refused, -poll-always polls after each operation, refused or not. */
#include "testperf.h"

typedef enum { MEDIUM, LONG, PUT, GET, KINDS, MIXED = KINDS } kind;
static const char *const names[] = {"Mediums", "Longs", "puts", "gets", "all in turn"};
enum { H_BULK = GEX_AM_INDEX_BASE, H_STOP };
static struct {
  long selected[KINDS + 1], nap_us, batch, next, retry, lazy, always;
} how;
static volatile long messages, stopped, expected; /* of this process in this row */
static unsigned char *source, *landing;           /* landing: of the gets, one place per process */
static size_t limit, max_medium, max_long;
static unsigned seed;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static void bulk(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t s, gex_AM_Arg_t size) {
  const unsigned char *at = (const unsigned char *)buf;
  (void)token;
  CHECK(n == (size_t)size && at[0] == testexam_byte((unsigned)s, 0) && at[n - 1] == testexam_byte((unsigned)s, n - 1));
  if (messages % 64 == 0) CHECK(filled(buf, (unsigned)s, n));
  messages++;
}
static void stop(gex_Token_t token, gex_AM_Arg_t sent) { (void)token, expected = sent, stopped++; }
static gex_AM_Entry_t table[] = {ROW(H_BULK, bulk, MEDLONG, REQUEST, 2, NULL), ROW(H_STOP, stop, SHORT, REQUEST, 1, NULL)};

/* Tries one operation. Not 0: refused. In an area: target of Longs, target of puts, source of gets, local memory. */
static int one(kind k, gex_Rank_t to, gex_Flags_t flags) {
  switch (k) {
    case MEDIUM: return gex_AM_RequestMedium2(tm, to, H_BULK, source, max_medium, GEX_EVENT_GROUP, flags, (gex_AM_Arg_t)seed,
                                   (gex_AM_Arg_t)max_medium);
    case LONG: return gex_AM_RequestLong2(tm, to, H_BULK, source, max_long, area[to], GEX_EVENT_GROUP, flags, (gex_AM_Arg_t)seed,
                                 (gex_AM_Arg_t)max_long);
    case PUT: return gex_RMA_PutNBI(tm, to, area[to] + limit, source, limit, GEX_EVENT_DEFER, flags);
    default: return gex_RMA_GetNBI(tm, landing + to * limit, to, area[to] + 2 * limit, limit, flags);
  }
}
/* `count` operations for each of the others. Returns how many were refused. */
static long flood(kind k, gex_Flags_t flags, long count) {
  static const gex_EC_t categories[] = {GEX_EC_AM, GEX_EC_AM, GEX_EC_PUT, GEX_EC_GET, GEX_EC_ALL};
  long *left = (long *)malloc(nodes * sizeof *left), all = count * (long)(nodes - 1), refused = 0, in_row = 0, done = 0;
  gex_Rank_t to = 1, r;
  for (r = 0; r < nodes; r++) left[r] = r ? count : 0;
  while (all > 0) {
    const kind now = k == MIXED ? (kind)(left[to] % KINDS) : k;
    if (left[to] > 0) {
      if (one(now, to, flags) == 0) {
        left[to]--, all--, in_row = 0, done++;
        if (how.always) gasnet_AMPoll();
        if (how.batch > 0 && done % how.batch == 0) gex_NBI_Wait(categories[k], 0);
      } else {
        CHECK(flags & GEX_FLAG_IMMEDIATE);
        refused++, in_row++;
        if (!how.lazy || in_row >= (long)nodes) gasnet_AMPoll(), in_row = 0;
        if (how.retry) continue;
      }
    }
    to = to + 1 < nodes ? to + 1 : 1;
  }
  gex_NBI_Wait(categories[k], 0);
  free(left);
  return refused;
}
/* One row: process 0 floods, the others look now and then. Collective. */
static void phase(kind k, gex_Flags_t flags, long count) {
  const long mixed_each = count / KINDS, mixed_more = count % KINDS; /* of each kind; the first numbers have one more */
  long due = k == MIXED ? 0 : k <= LONG ? count : 0, i;
  gex_Rank_t to;
  for (i = 0; k == MIXED && i < 2; i++) due += mixed_each + (i > 0 && i <= mixed_more);
  seed += 16;
  fill(source, seed, limit);
  memset(area[me], 0xee, 2 * limit);
  fill(area[me] + 2 * limit, seed + me, limit);
  BARRIER();
  if (me == 0) {
    double us = now_us();
    const long refused = flood(k, flags, count);
    us = now_us() - us;
    for (to = 1; to < nodes; to++) (void)gex_AM_RequestShort1(tm, to, H_STOP, 0, (gex_AM_Arg_t)due);
    if (nodes > 1)
      say("%s%s: %ld to each, %ld refused, %.3f us each", names[k], flags ? " with IMMEDIATE" : "", count, refused,
          us / (double)(count * (long)(nodes - 1)));
  } else {
    while (!stopped || messages < expected) gasnett_nsleep((uint64_t)how.nap_us * 1000), gasnet_AMPoll();
  }
  BARRIER();
  CHECK(messages == (me ? due : 0));
  messages = stopped = 0;
  if (me && (k == LONG || k == MIXED)) CHECK(filled(area[me], seed, max_long));
  else CHECK(area[me][0] == 0xee);
  if (me && (k == PUT || (k == MIXED && count > 1))) CHECK(filled(area[me] + limit, seed, limit));
  else CHECK(area[me][limit] == 0xee);
  for (to = 1; me == 0 && (k == GET || (k == MIXED && count > 2)) && to < nodes; to++) CHECK(filled(landing + to * limit, seed + to, limit));
  memset(landing, 0xee, nodes * limit);
  BARRIER();
}

int main(int argc, char **argv) {
  static const testperf_option accepted[] = {OPT_SIDE, FLAG("-m", &how.selected[MEDIUM]), FLAG("-l", &how.selected[LONG]),
                                             FLAG("-p", &how.selected[PUT]), FLAG("-g", &how.selected[GET]), FLAG("-mixed", &how.selected[MIXED]),
                                             AMOUNT("-z", &how.nap_us), AMOUNT("-b", &how.batch), FLAG("-poll-next", &how.next),
                                             FLAG("-poll-retry", &how.retry), FLAG("-poll-lazy", &how.lazy), FLAG("-poll-always", &how.always)};
  long count;
  int arg, k, any = 0;
  begin("testimm", &argc, &argv);
  how.nap_us = 500;
  arg = options(argc, argv, accepted, COUNT_OF(accepted), 2,
                "testimm [-in|-out] [-m] [-l] [-p] [-g] [-mixed] [-z US] [-b N] [-poll-next|-poll-retry|-poll-lazy|-poll-always] [count [size]]");
  count = positional(argc, argv, arg, 10000);
  limit = (size_t)positional(argc, argv, arg + 1, 1 << 20);
  max_medium = smaller(limit, gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE, 2));
  max_long = smaller(limit, gex_AM_MaxRequestLong(tm, GEX_RANK_INVALID, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE, 2));
  (void)now_us(); /* the first call measures the clock */
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas((4 + (size_t)nodes) * limit);
  source = opt.in ? area[me] + 3 * limit : (unsigned char *)malloc(limit);
  landing = opt.in ? area[me] + 4 * limit : (unsigned char *)malloc(nodes * limit);
  if (source == NULL || landing == NULL) gasnet_exit(98);
  for (k = 0; k <= MIXED; k++) any |= how.selected[k] != 0;
  for (k = 0; k <= MIXED; k++) {
    if (any && !how.selected[k]) continue;
    phase((kind)k, 0, count);
    phase((kind)k, GEX_FLAG_IMMEDIATE, count);
  }
  return end();
}
