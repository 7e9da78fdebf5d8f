/* Many operations in flight before any sync: 1 to `maxdepth` puts, gets or Active Messages. A row has the time to start one and the time
 * of one in all. Contract: ex-rma.md section 14.
 *
 *   testqueue [OPTIONS] [iters=10 [maxdepth=1024 [maxsz=2M]]]
 *     -in, -out     local memory in the segment, elsewhere (default)
 *     -f            the first and the last process only       -a   both processes of a pair send
 *     -p -g -s -m -l   puts, gets, Shorts, Mediums, Longs      -n -b -v   NOW, DEFER, of values
 *     -i -e -k      implicit (messages: GROUP), explicit (an array of events), blocking (messages: NOW)
 *   Each group of letters selects; nothing selected is everything. */
#include "testperf.h"

typedef enum { PUT, GET, SHORT, MEDIUM, LONG } operation;
typedef enum { NOW, DEFER, VALUE, NO_CHOICE } payload;
typedef enum { IMPLICIT, EXPLICIT, BLOCKING } ending;
static struct {
  long operation[5], payload[3], sync[3];
} selected;
typedef struct {
  const char *name;
  operation op;
  payload pay;
  ending how;
} kind;
static const kind kinds[] = {{"put NOW, implicit", PUT, NOW, IMPLICIT},
                             {"put NOW, explicit", PUT, NOW, EXPLICIT},
                             {"put, blocking", PUT, NOW, BLOCKING},
                             {"put DEFER, implicit", PUT, DEFER, IMPLICIT},
                             {"put DEFER, explicit", PUT, DEFER, EXPLICIT},
                             {"put of values, implicit", PUT, VALUE, IMPLICIT},
                             {"put of values, explicit", PUT, VALUE, EXPLICIT},
                             {"put of values, blocking", PUT, VALUE, BLOCKING},
                             {"get, implicit", GET, NO_CHOICE, IMPLICIT},
                             {"get, explicit", GET, NO_CHOICE, EXPLICIT},
                             {"get, blocking", GET, NO_CHOICE, BLOCKING},
                             {"get of values, blocking", GET, VALUE, BLOCKING},
                             {"Short", SHORT, NO_CHOICE, BLOCKING},
                             {"Medium, GROUP", MEDIUM, NO_CHOICE, IMPLICIT},
                             {"Medium, events", MEDIUM, NO_CHOICE, EXPLICIT},
                             {"Medium, NOW", MEDIUM, NO_CHOICE, BLOCKING},
                             {"Long, GROUP", LONG, NO_CHOICE, IMPLICIT},
                             {"Long, events", LONG, NO_CHOICE, EXPLICIT},
                             {"Long, NOW", LONG, NO_CHOICE, BLOCKING}};

static gasnett_atomic_t came = gasnett_atomic_init(0), wrong = gasnett_atomic_init(0);
static unsigned char *local, *mirror; /* mirror: what the partner has in `local` */
static size_t room, most;
static gex_Event_t *events;
enum { H_SHORT = GEX_AM_INDEX_BASE, H_BULK };

static void short_h(gex_Token_t token) { (void)token, gasnett_atomic_increment(&came, 0); }
/* All messages of a row have the same bytes, so that a Long may be overwritten by the next one. */
static void bulk_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t size) {
  (void)token;
  if (n != (size_t)size || memcmp(buf, mirror, n) != 0) gasnett_atomic_increment(&wrong, 0);
  gasnett_atomic_increment(&came, 0);
}
static gex_AM_Entry_t handlers[] = {ROW(H_SHORT, short_h, SHORT, REQUEST, 0, NULL), ROW(H_BULK, bulk_h, MEDLONG, REQUEST, 1, NULL)};

#define EACH(CALL)                                                                                                   \
  for (i = 0; i < depth; i++) CALL;                                                                                  \
  break
/* Starts `depth` operations. */
static void start(const kind *k, long depth, size_t n) {
  unsigned char *const to = area[peer], *const from = area[peer] + room;
  gex_Event_t *const lc = k->pay == DEFER ? GEX_EVENT_DEFER : GEX_EVENT_NOW, *const group = k->how == IMPLICIT ? GEX_EVENT_GROUP : GEX_EVENT_NOW;
  gex_RMA_Value_t value = 0;
  long i;
  if (k->pay == VALUE) memcpy(&value, local, n);
  switch ((int)k->op * 16 + (k->pay == VALUE ? 8 : 0) + (int)k->how) {
    case PUT * 16 + IMPLICIT: EACH((void)gex_RMA_PutNBI(tm, peer, to, local, n, lc, 0));
    case PUT * 16 + EXPLICIT: EACH(events[i] = gex_RMA_PutNB(tm, peer, to, local, n, lc, 0));
    case PUT * 16 + BLOCKING: EACH((void)gex_RMA_PutBlocking(tm, peer, to, local, n, 0));
    case PUT * 16 + 8 + IMPLICIT: EACH((void)gex_RMA_PutNBIVal(tm, peer, to, value, n, 0));
    case PUT * 16 + 8 + EXPLICIT: EACH(events[i] = gex_RMA_PutNBVal(tm, peer, to, value, n, 0));
    case PUT * 16 + 8 + BLOCKING: EACH((void)gex_RMA_PutBlockingVal(tm, peer, to, value, n, 0));
    case GET * 16 + IMPLICIT: EACH((void)gex_RMA_GetNBI(tm, local, peer, from, n, 0));
    case GET * 16 + EXPLICIT: EACH(events[i] = gex_RMA_GetNB(tm, local, peer, from, n, 0));
    case GET * 16 + BLOCKING: EACH((void)gex_RMA_GetBlocking(tm, local, peer, from, n, 0));
    case GET * 16 + 8 + BLOCKING:
      for (i = 0; i < depth; i++) value = gex_RMA_GetBlockingVal(tm, peer, from, n, 0);
      memcpy(local, &value, n);
      break;
    case SHORT * 16 + BLOCKING: EACH((void)gex_AM_RequestShort0(tm, peer, H_SHORT, 0));
    case MEDIUM * 16 + EXPLICIT: EACH((void)gex_AM_RequestMedium1(tm, peer, H_BULK, local, n, &events[i], 0, (gex_AM_Arg_t)n));
    case LONG * 16 + EXPLICIT: EACH((void)gex_AM_RequestLong1(tm, peer, H_BULK, local, n, to, &events[i], 0, (gex_AM_Arg_t)n));
    case MEDIUM * 16 + IMPLICIT:
    case MEDIUM * 16 + BLOCKING: EACH((void)gex_AM_RequestMedium1(tm, peer, H_BULK, local, n, group, 0, (gex_AM_Arg_t)n));
    case LONG * 16 + IMPLICIT:
    case LONG * 16 + BLOCKING: EACH((void)gex_AM_RequestLong1(tm, peer, H_BULK, local, n, to, group, 0, (gex_AM_Arg_t)n));
    default: CHECK(!"a kind that does not exist");
  }
}
static void finish(const kind *k, long depth) {
  if (k->how == EXPLICIT) gex_Event_WaitAll(events, (size_t)depth, 0);
  if (k->how == IMPLICIT) gex_NBI_Wait(k->op == PUT ? GEX_EC_PUT : k->op == GET ? GEX_EC_GET : GEX_EC_AM, 0);
}
/* One row. Collective. */
static void queue(const kind *k, long iters, long depth, size_t n) {
  static unsigned turn;
  const unsigned seed = 7 * ++turn;
  const int message = k->op >= SHORT;
  const long due = message && receives ? iters * depth : 0;
  double us, inject = 0;
  long i;
  gasnett_atomic_set(&came, 0, 0);
  memset(area[me], 0xee, n + 1);
  fill(area[me] + room, seed + me, n), fill(mirror, seed + peer, n);
  if (k->op == GET) memset(local, 0xee, n + 1);
  else fill(local, seed + me, n);
  BARRIER();
  us = now_us();
  for (i = 0; sends && i < iters; i++) {
    const double begun = now_us();
    start(k, depth, n);
    inject += now_us() - begun;
    finish(k, depth);
  }
  us = now_us() - us;
  GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&came, 0) >= due);
  BARRIER();
  CHECK((long)gasnett_atomic_read(&came, 0) == due && gasnett_atomic_read(&wrong, 0) == 0);
  if ((k->op == PUT || k->op == LONG) && receives) CHECK(memcmp(area[me], mirror, n) == 0 && area[me][n] == 0xee);
  else CHECK(area[me][0] == 0xee);
  if (k->op == GET && sends) CHECK(memcmp(local, mirror, n) == 0 && local[n] == 0xee);
  if (!sends) return;
  printf("%2u: %-24s %8lu B %6ld in flight  start = %10.3f us  each = %10.3f us\n", (unsigned)me, k->name, (unsigned long)n, depth,
         inject / (double)(iters * depth), us / (double)(iters * depth));
  fflush(stdout);
}
static int chosen(const long *choices, int n, int which) {
  int i, any = 0;
  for (i = 0; i < n; i++) any |= choices[i] != 0;
  return which >= n || !any || choices[which];
}
static size_t largest(const kind *k) {
  size_t limit = most;
  if (k->op == SHORT) return 0;
  if (k->pay == VALUE) limit = SIZEOF_GEX_RMA_VALUE_T;
  if (k->op == MEDIUM) limit = gex_AM_MaxRequestMedium(tm, peer, k->how == EXPLICIT ? events : GEX_EVENT_NOW, 0, 1);
  if (k->op == LONG) limit = gex_AM_MaxRequestLong(tm, peer, k->how == EXPLICIT ? events : GEX_EVENT_NOW, 0, 1);
  return limit < most ? limit : most;
}

int main(int argc, char **argv) {
#define LETTER(letter, group, at) FLAG("-" letter, &selected.group[at])
  static const testperf_option table[] = {OPT_SIDE, FLAG("-f", &opt.ends), FLAG("-a", &opt.all), LETTER("p", operation, PUT),
                                          LETTER("g", operation, GET), LETTER("s", operation, SHORT), LETTER("m", operation, MEDIUM),
                                          LETTER("l", operation, LONG), LETTER("n", payload, NOW), LETTER("b", payload, DEFER),
                                          LETTER("v", payload, VALUE), LETTER("i", sync, IMPLICIT), LETTER("e", sync, EXPLICIT),
                                          LETTER("k", sync, BLOCKING)};
  long iters, deepest, depth;
  size_t i, n;
  int arg;
  begin("testqueue", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3,
                "testqueue [-in|-out] [-f] [-a] [-p] [-g] [-s] [-m] [-l] [-n] [-b] [-v] [-i] [-e] [-k] [iters [maxdepth [maxsz]]]");
  iters = positional(argc, argv, arg, 10);
  deepest = positional(argc, argv, arg + 1, 1024);
  most = (size_t)positional(argc, argv, arg + 2, 2 << 20);
  room = (most + 64) / 64 * 64;
  MUST(gex_EP_RegisterHandlers(ep, handlers, COUNT_OF(handlers)));
  make_areas(3 * room);
  make_pairs();
  local = opt.in ? area[me] + 2 * room : (unsigned char *)malloc(room);
  mirror = (unsigned char *)malloc(room);
  events = (gex_Event_t *)malloc((size_t)deepest * sizeof *events);
  if (local == NULL || mirror == NULL || events == NULL) gasnet_exit(98);
  for (i = 0; i < COUNT_OF(kinds); i++) {
    const kind *const k = &kinds[i];
    const size_t limit = largest(k);
    if (!chosen(selected.operation, 5, k->op) || !chosen(selected.payload, 3, k->pay) || !chosen(selected.sync, 3, k->how)) continue;
    for (n = limit > 0;; n = n * 8 < limit ? n * 8 : limit) {
      for (depth = 1; depth <= deepest; depth *= 4) queue(k, iters, depth, n);
      if (n == limit) break;
    }
  }
  return end();
}
