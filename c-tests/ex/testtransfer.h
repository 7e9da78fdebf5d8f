/* What testsmall, testlarge, testval and testalign share: every way to make a put or a get, and rows that are timed and then
 * compared byte by byte. Contract: ex-rma.md sections 3, 4, 14. */
#ifndef TESTTRANSFER_H
#define TESTTRANSFER_H
#include "testperf.h"

enum way { BLOCKING, NBI_EACH, NBI_FLOOD, NB_EACH, NB_FLOOD, NBI_DEFER, NB_DEFER, NBI_GROUP, NB_LEAF };
static const char *const way_name[] = {"blocking",  "NBI",      "NBI flood", "NB",     "NB flood", "NBI DEFER",
                                       "NB DEFER", "NBI GROUP", "NB leaf"};
#define GUARD 64

static int values;           /* transfers are of values, up to 8 bytes */
static size_t room;          /* of an area: target of puts, source of gets, local memory of -in */
static unsigned char *local; /* `local_count` buffers of `room` bytes, used in turn */
static long local_count = 1;
static gex_Event_t *events;
static gex_RMA_Value_t got; /* the last value of a get */

/* The lowest `n` bytes of a number are those at `at`, the others those of `rest`. */
static gex_RMA_Value_t as_value(const unsigned char *at, size_t n, gex_RMA_Value_t rest) {
  static const union { unsigned one; unsigned char first; } order = {1};
  memcpy((unsigned char *)&rest + (order.first ? 0 : sizeof rest - n), at, n);
  return rest;
}

#define EACH(SYNC, CALL)                                                                                             \
  for (i = 0; i < n; i++) {                                                                                          \
    unsigned char *const at = from + (size_t)(i % local_count) * room;                                               \
    (void)at;                                                                                                        \
    CALL;                                                                                                            \
    SYNC;                                                                                                            \
  }
/* `n` puts or gets of `size` bytes between `from`, in each local buffer, and `remote`; complete at return. */
static void transfer(int put, enum way way, unsigned char *from, unsigned char *remote, size_t size, long n) {
  gex_Event_t *const lc = way == NBI_DEFER || way == NB_DEFER ? GEX_EVENT_DEFER : way == NBI_GROUP ? GEX_EVENT_GROUP : GEX_EVENT_NOW;
  const gex_RMA_Value_t value = values && put ? as_value(from, size, ~(gex_RMA_Value_t)0) : 0;
  long i;
  if (values) {
    if (!put) EACH((void)0, got = gex_RMA_GetBlockingVal(tm, peer, remote, size, 0))
    else if (way == BLOCKING) EACH((void)0, (void)gex_RMA_PutBlockingVal(tm, peer, remote, value, size, 0))
    else if (way == NBI_EACH) EACH(gex_NBI_Wait(GEX_EC_PUT, 0), (void)gex_RMA_PutNBIVal(tm, peer, remote, value, size, 0))
    else if (way == NBI_FLOOD) EACH((void)0, (void)gex_RMA_PutNBIVal(tm, peer, remote, value, size, 0))
    else if (way == NB_EACH) EACH((void)0, gex_Event_Wait(gex_RMA_PutNBVal(tm, peer, remote, value, size, 0)))
    else EACH((void)0, events[i] = gex_RMA_PutNBVal(tm, peer, remote, value, size, 0))
  } else if (put) {
    if (way == BLOCKING) EACH((void)0, (void)gex_RMA_PutBlocking(tm, peer, remote, at, size, 0))
    else if (way == NBI_EACH) EACH(gex_NBI_Wait(GEX_EC_PUT, 0), (void)gex_RMA_PutNBI(tm, peer, remote, at, size, lc, 0))
    else if (way == NBI_FLOOD || way == NBI_DEFER || way == NBI_GROUP) EACH((void)0, (void)gex_RMA_PutNBI(tm, peer, remote, at, size, lc, 0))
    else if (way == NB_EACH) EACH((void)0, gex_Event_Wait(gex_RMA_PutNB(tm, peer, remote, at, size, lc, 0)))
    else if (way == NB_LEAF) EACH((void)0, events[i] = gex_RMA_PutNB(tm, peer, remote, at, size, &events[n + i], 0))
    else EACH((void)0, events[i] = gex_RMA_PutNB(tm, peer, remote, at, size, lc, 0))
  } else {
    if (way == BLOCKING) EACH((void)0, (void)gex_RMA_GetBlocking(tm, at, peer, remote, size, 0))
    else if (way == NBI_EACH) EACH(gex_NBI_Wait(GEX_EC_GET, 0), (void)gex_RMA_GetNBI(tm, at, peer, remote, size, 0))
    else if (way == NBI_FLOOD || way == NBI_DEFER) EACH((void)0, (void)gex_RMA_GetNBI(tm, at, peer, remote, size, 0))
    else if (way == NB_EACH) EACH((void)0, gex_Event_Wait(gex_RMA_GetNB(tm, at, peer, remote, size, 0)))
    else EACH((void)0, events[i] = gex_RMA_GetNB(tm, at, peer, remote, size, 0))
  }
  if (way == NB_FLOOD || way == NB_DEFER) gex_Event_WaitAll(events, (size_t)n, 0);
  else if (way == NB_LEAF) gex_Event_WaitAll(events, 2 * (size_t)n, 0); /* leaves and roots in one array */
  else if (way == NBI_FLOOD) gex_NBI_Wait(put ? GEX_EC_PUT : GEX_EC_GET, 0);
  else if (way == NBI_DEFER || way == NBI_GROUP) gex_NBI_Wait(GEX_EC_ALL, 0);
}
#undef EACH

/* Whether `n` bytes at `at` are `seed`'s, and nothing beside them was written. */
static int landed(const unsigned char *at, size_t shift, unsigned seed, size_t n) {
  size_t i;
  for (i = 0; i < GUARD; i++)
    if (at[shift + n + i] != 0xee || (i < shift && at[shift - 1 - i] != 0xee)) return 0;
  return filled(at + shift, seed, n);
}
/* One row: the local side is `shift` bytes, the remote one `remote_shift` bytes behind the beginning of its memory. Returns the time
 * of process that sends. Collective. */
static double measure(int put, enum way way, size_t size, long n, size_t shift, size_t remote_shift) {
  static unsigned turn;
  const unsigned seed = 3 * ++turn;
  unsigned char *const target = area[me], *const source = area[me] + room;
  unsigned char *const remote = area[peer] + (put ? 0 : room) + remote_shift;
  double us;
  long i;
  memset(target, 0xee, size + remote_shift + GUARD);
  fill(source + remote_shift, seed + me, size);
  for (i = 0; i < local_count; i++) {
    if (put) fill(local + (size_t)i * room + shift, seed + me, size);
    else memset(local + (size_t)i * room, 0xee, size + shift + GUARD);
  }
  BARRIER();
  if (sends && !opt.cold) transfer(put, way, local + shift, remote, size, n / 10 + 1);
  BARRIER();
  us = now_us();
  if (sends) transfer(put, way, local + shift, remote, size, n);
  us = now_us() - us;
  BARRIER();
  if (put && receives) CHECK(landed(target, remote_shift, seed + peer, size));
  if (put && !receives) CHECK(landed(target, 0, 0, 0)); /* nobody wrote here */
  for (i = 0; !put && sends && i < local_count && i < n; i++) {
    if (values) {
      unsigned char expected[8];
      fill(expected, seed + peer, size);
      CHECK(got == as_value(expected, size, 0)); /* extended by zeros */
    } else CHECK(landed(local + (size_t)i * room, shift, seed + peer, size));
  }
  return us;
}
/* Memory for transfers of up to `most` bytes, `n` at a time, at places up to `shift` bytes off. Collective. */
static void prepare(size_t most, long n, size_t shift, size_t segment_bytes) {
  room = (most + shift + GUARD + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  if (opt.in) local_count = 1;
  make_areas(segment_bytes > 3 * room ? segment_bytes : 3 * room);
  make_pairs();
  local = opt.in ? area[me] + 2 * room : (unsigned char *)malloc((size_t)local_count * room);
  events = (gex_Event_t *)malloc(2 * (size_t)(n + 1) * sizeof *events);
  if (local == NULL || events == NULL) gasnet_exit(98);
}
/* All that was asked for of one section: puts, gets. */
__attribute__((__unused__)) static void rows(char letter, enum way way, size_t least, size_t most, size_t step, long n) {
  int put;
  size_t size;
  char what[64];
  for (put = 1; put >= 0; put--) {
    if (!wanted(letter) || (put ? opt.gets && !opt.puts : opt.puts && !opt.gets)) continue;
    if (!put && (way == NBI_GROUP || way == NB_LEAF || (values && way != BLOCKING))) continue; /* gets have no such form */
    snprintf(what, sizeof what, "%s %s%s", put ? "put" : "get", way_name[way], values ? " value" : "");
    for (size = least; size <= most; size = size + (step && size > step ? step : size)) {
      const double us = measure(put, way, size, n, 0, 0);
      if (sends) row(letter, what, size, n, us);
    }
  }
}
#endif
