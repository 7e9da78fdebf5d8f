/* Process 0 floods the others, which poll only every 500 microseconds, with and without GEX_FLAG_IMMEDIATE: Mediums and Longs, then
 * implicit puts and gets. Contract: ex-core.md section 14. Options: none. Positional: iters (1000), Long bytes (65536). */
#define _POSIX_C_SOURCE 200112L
#include "testexam.h"

#include <time.h>

enum { MED = GEX_AM_INDEX_BASE, LNG, STOP, DONE };
static volatile int messages, stopped, done;
static size_t max_med, long_bytes = 65536;
static long refused;

static void check(void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  CHECK(n == (size_t)size && ((unsigned char *)buf)[0] == testexam_byte((unsigned)seed, 0));
  CHECK(((unsigned char *)buf)[n - 1] == testexam_byte((unsigned)seed, n - 1));
  if (seed % 64 == 0) CHECK(filled(buf, (unsigned)seed, n));
  messages++;
}
static void med(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) { (void)token, check(buf, n, seed, size); }
static void stop(gex_Token_t token, gex_AM_Arg_t sent) {
  CHECK(messages == sent); /* before this one, none was lost or doubled */
  messages = 0;
  gex_AM_ReplyShort0(token, DONE, 0);
  stopped++;
}
static void finish(gex_Token_t token) { (void)token, done++; }
static gex_AM_Entry_t table[] = {ROW(MED, med, MEDIUM, REQUEST, 2, NULL), ROW(LNG, med, LONG, REQUEST, 2, NULL),
                                 ROW(STOP, stop, SHORT, REQUEST, 1, NULL), ROW(DONE, finish, SHORT, REPLY, 0, NULL)};

static void flood(int is_long, gex_Flags_t flags, int iters) {
  unsigned char *src = (unsigned char *)malloc(is_long ? long_bytes : max_med);
  const size_t n = is_long ? long_bytes : max_med;
  gex_Rank_t peer;
  int i, again;
  for (i = 0; i < iters; i++) {
    fill(src, (unsigned)i & 3 ? (unsigned)i & 63 : 0, n);
    for (peer = 1; peer < nodes; peer++) {
      const int seed = i & 3 ? i & 63 : 0;
      for (;;) {
        /* Longs go to places in turn. One that is overtaken would be overwritten: the handler may look at it only later, so
         * every message for a place has the same bytes. */
        again = is_long ? gex_AM_RequestLong2(tm, peer, LNG, src, n, area[peer] + long_bytes * (size_t)(seed & 63), GEX_EVENT_GROUP, flags, seed, (int)n)
                        : gex_AM_RequestMedium2(tm, peer, MED, src, n, GEX_EVENT_GROUP, flags, seed, (int)n);
        if (!again) break;
        CHECK(flags & GEX_FLAG_IMMEDIATE);
        refused++;
        (void)gasnet_AMPoll();
      }
    }
    gex_NBI_Wait(GEX_EC_AM, 0); /* before the source is filled anew */
  }
  free(src);
}
static void transfer(gex_Flags_t flags, int iters) {
  unsigned char *src = (unsigned char *)malloc(4096), *back = (unsigned char *)malloc(4096);
  gex_Rank_t peer;
  int i;
  for (i = 0; i < iters; i++) {
    fill(src, (unsigned)i, 4096);
    for (peer = 1; peer < nodes; peer++)
      while (gex_RMA_PutNBI(tm, peer, area[peer] + i % 8 * 4096, src, 4096, GEX_EVENT_DEFER, flags)) {
        CHECK(flags & GEX_FLAG_IMMEDIATE);
        refused++;
        (void)gasnet_AMPoll();
      }
    gex_NBI_Wait(GEX_EC_PUT, 0);
    for (peer = 1; peer < nodes; peer++) {
      while (gex_RMA_GetNBI(tm, back, peer, area[peer] + i % 8 * 4096, 4096, flags)) {
        CHECK(flags & GEX_FLAG_IMMEDIATE);
        refused++;
        (void)gasnet_AMPoll();
      }
      gex_NBI_Wait(GEX_EC_GET, 0);
      CHECK(filled(back, (unsigned)i, 4096));
    }
  }
  free(src), free(back);
}
static void phase(const char *name, int kind, gex_Flags_t flags, int iters) {
  const struct timespec nap = {0, 500000};
  static int phases;
  phases++;
  if (me == 0) {
    gex_Rank_t peer;
    refused = 0;
    if (kind < 2) flood(kind, flags, iters);
    else transfer(flags, iters);
    done = 0;
    for (peer = 1; peer < nodes; peer++) gex_AM_RequestShort1(tm, peer, STOP, 0, kind < 2 ? iters : 0);
    GASNET_BLOCKUNTIL(done == (int)nodes - 1);
    say("%s%s: %d to each, %ld refused", name, flags ? " with IMMEDIATE" : "", iters, refused);
  } else {
    while (stopped < phases) nanosleep(&nap, NULL), (void)gasnet_AMPoll();
  }
  BARRIER();
}

int main(int argc, char **argv) {
  int iters;
  begin("testimm", &argc, &argv);
  iters = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1000;
  if (argc > 2 && atoi(argv[2]) >= 4096) long_bytes = (size_t)atoi(argv[2]);
  max_med = gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE, 2);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas(64 * long_bytes);
  phase("Mediums", 0, 0, iters);
  phase("Mediums", 0, GEX_FLAG_IMMEDIATE, iters);
  phase("Longs", 1, 0, iters);
  phase("Longs", 1, GEX_FLAG_IMMEDIATE, iters);
  phase("puts and gets", 2, 0, iters);
  phase("puts and gets", 2, GEX_FLAG_IMMEDIATE, iters);
  return end();
}
