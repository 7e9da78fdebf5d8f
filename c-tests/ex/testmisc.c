/* What the small things cost: polls, locks, messages and transfers to oneself, syncs of nothing, barriers. Contract: ex-rma.md section 14.
 *
 *   testmisc [iters=100000 [digits=3 [sections]]]
 *     digits: of the times, behind the point
 *     sections: A thread info, polls, locks; B messages to oneself; C transfers to oneself; D syncs of nothing; E barriers */
#include "testperf.h"

static long iters, digits;
static gasnett_atomic_t came = gasnett_atomic_init(0), answered = gasnett_atomic_init(0);
static size_t bytes_came;
enum { H_SHORT = GEX_AM_INDEX_BASE, H_ANSWERED, H_BULK, H_BACK };

static void short_h(gex_Token_t token) { (void)token, gasnett_atomic_increment(&came, 0); }
static void answered_h(gex_Token_t token) {
  gasnett_atomic_increment(&came, 0);
  gex_AM_ReplyShort0(token, H_BACK, 0);
}
static void bulk_h(gex_Token_t token, void *buf, size_t n) {
  (void)token;
  bytes_came += filled(buf, 3, n) ? n : 0;
  gasnett_atomic_increment(&came, 0);
}
static void back_h(gex_Token_t token) { (void)token, gasnett_atomic_increment(&answered, 0); }
static gex_AM_Entry_t handlers[] = {ROW(H_SHORT, short_h, SHORT, REQUEST, 0, NULL), ROW(H_ANSWERED, answered_h, SHORT, REQUEST, 0, NULL),
                                    ROW(H_BULK, bulk_h, MEDLONG, REQUEST, 0, NULL), ROW(H_BACK, back_h, SHORT, REPLY, 0, NULL)};

/* One line: `STATEMENT` iters times, after some that do not count. */
#define COST(what, STATEMENT)                                                                                        \
  do {                                                                                                               \
    double cost_us;                                                                                                  \
    BARRIER();                                                                                                       \
    TIMED(cost_us, iters / 10, iters, { STATEMENT; });                                                               \
    if (me == 0) printf("%-44s %10.3f s  %10.*f us\n", what, cost_us / 1e6, (int)digits, cost_us / (double)iters), fflush(stdout); \
    BARRIER();                                                                                                       \
  } while (0)
#define TIMES (iters / 10 + iters) /* that a statement ran */

static int function_head(int value) {
  GASNET_BEGIN_FUNCTION();
  return value + 1;
}
static void threads_polls_locks(void) {
  static gex_HSL_t lock = GEX_HSL_INITIALIZER;
  volatile int sum = 0;
  COST("a function with GASNET_BEGIN_FUNCTION", sum = function_head(sum));
  CHECK(sum == TIMES);
  COST("GASNET_POST_THREADINFO", GASNET_POST_THREADINFO(GASNET_GET_THREADINFO()));
  COST("gasnet_AMPoll", gasnet_AMPoll());
  COST("gex_HSL_Lock, gex_HSL_Unlock", gex_HSL_Lock(&lock); sum++; gex_HSL_Unlock(&lock));
  COST("gex_HSL_Trylock, gex_HSL_Unlock", if (gex_HSL_Trylock(&lock) == GASNET_OK) gex_HSL_Unlock(&lock));
  COST("gex_System_QueryJobRank", sum = (int)gex_System_QueryJobRank());
  COST("gex_TM_QueryRank", sum = (int)gex_TM_QueryRank(tm));
  CHECK(sum == (int)me);
}
static void messages(unsigned char *source) {
  static const size_t sizes[] = {0, 8, 512};
  char what[64];
  size_t i;
  COST("Short to itself", gex_AM_RequestShort0(tm, me, H_SHORT, 0));
  GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&came, 0) == TIMES);
  gasnett_atomic_set(&came, 0, 0);
  COST("Short to itself, answered", gex_AM_RequestShort0(tm, me, H_ANSWERED, 0));
  GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&answered, 0) == TIMES);
  CHECK((long)gasnett_atomic_read(&came, 0) == TIMES);
  for (i = 0; i < COUNT_OF(sizes); i++) {
    int is_long;
    for (is_long = 0; is_long < 2; is_long++) {
      gasnett_atomic_set(&came, 0, 0), bytes_came = 0;
      snprintf(what, sizeof what, "%s of %lu bytes to itself", is_long ? "Long" : "Medium", (unsigned long)sizes[i]);
      if (is_long) COST(what, gex_AM_RequestLong0(tm, me, H_BULK, source, sizes[i], area[me], GEX_EVENT_NOW, 0));
      else COST(what, gex_AM_RequestMedium0(tm, me, H_BULK, source, sizes[i], GEX_EVENT_NOW, 0));
      GASNET_BLOCKUNTIL((long)gasnett_atomic_read(&came, 0) == TIMES);
      CHECK(bytes_came == (size_t)TIMES * sizes[i]);
    }
  }
}
static void transfers(unsigned char *source, unsigned char *back) {
  static const size_t sizes[] = {8, 1024};
  unsigned char *const to = area[me];
  gex_RMA_Value_t value = 0;
  size_t i;
  for (i = 0; i < COUNT_OF(sizes); i++) {
    const size_t n = sizes[i];
    if (me == 0) printf("%lu bytes:\n", (unsigned long)n);
    memset(to, 0xee, n + 1);
    COST("gex_RMA_PutBlocking to itself", (void)gex_RMA_PutBlocking(tm, me, to, source, n, 0));
    CHECK(filled(to, 3, n) && to[n] == 0xee);
    memset(to, 0xee, n + 1);
    COST("gex_RMA_PutNB NOW, gex_Event_Wait", gex_Event_Wait(gex_RMA_PutNB(tm, me, to, source, n, GEX_EVENT_NOW, 0)));
    CHECK(filled(to, 3, n) && to[n] == 0xee);
    memset(to, 0xee, n + 1);
    COST("gex_RMA_PutNBI DEFER, gex_NBI_Wait", (void)gex_RMA_PutNBI(tm, me, to, source, n, GEX_EVENT_DEFER, 0); gex_NBI_Wait(GEX_EC_PUT, 0));
    CHECK(filled(to, 3, n) && to[n] == 0xee);
    memset(back, 0xee, n + 1);
    COST("gex_RMA_GetBlocking from itself", (void)gex_RMA_GetBlocking(tm, back, me, to, n, 0));
    CHECK(filled(back, 3, n) && back[n] == 0xee);
    memset(back, 0xee, n + 1);
    COST("gex_RMA_GetNB, gex_Event_Wait", gex_Event_Wait(gex_RMA_GetNB(tm, back, me, to, n, 0)));
    CHECK(filled(back, 3, n) && back[n] == 0xee);
    memset(back, 0xee, n + 1);
    COST("gex_RMA_GetNBI, gex_NBI_Wait", (void)gex_RMA_GetNBI(tm, back, me, to, n, 0); gex_NBI_Wait(GEX_EC_GET, 0));
    CHECK(filled(back, 3, n) && back[n] == 0xee);
  }
  COST("gex_RMA_PutBlockingVal of 8 bytes", (void)gex_RMA_PutBlockingVal(tm, me, to, 0x0123456789abcdefu, 8, 0));
  COST("gex_RMA_GetBlockingVal of 8 bytes", value = gex_RMA_GetBlockingVal(tm, me, to, 8, 0));
  CHECK(value == 0x0123456789abcdefu);
}
static void nothing(void) {
  gex_Event_t events[8];
  long ready = 0;
  size_t i;
  for (i = 0; i < 8; i++) events[i] = GEX_EVENT_INVALID;
  COST("gex_Event_Test, invalid", ready += gex_Event_Test(events[0]) == GASNET_OK);
  COST("gex_Event_Wait, invalid", gex_Event_Wait(events[0]));
  COST("gex_Event_TestSome, 8 invalid", ready += gex_Event_TestSome(events, 8, 0) == GASNET_OK);
  COST("gex_Event_WaitSome, 8 invalid", gex_Event_WaitSome(events, 8, 0));
  COST("gex_Event_TestAll, 8 invalid", ready += gex_Event_TestAll(events, 8, 0) == GASNET_OK);
  COST("gex_Event_WaitAll, 8 invalid", gex_Event_WaitAll(events, 8, 0));
  COST("gex_NBI_Test(GEX_EC_PUT), empty", ready += gex_NBI_Test(GEX_EC_PUT, 0) == GASNET_OK);
  COST("gex_NBI_Test(GEX_EC_GET), empty", ready += gex_NBI_Test(GEX_EC_GET, 0) == GASNET_OK);
  COST("gex_NBI_Test(GEX_EC_ALL), empty", ready += gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK);
  COST("gex_NBI_Wait(GEX_EC_PUT), empty", gex_NBI_Wait(GEX_EC_PUT, 0));
  COST("gex_NBI_Wait(GEX_EC_ALL), empty", gex_NBI_Wait(GEX_EC_ALL, 0));
  CHECK(ready == 6 * TIMES);
  COST("an empty access region", gex_NBI_BeginAccessRegion(0); gex_Event_Wait(gex_NBI_EndAccessRegion(0)));
  for (i = 0; i < 8; i++) CHECK(events[i] == GEX_EVENT_INVALID);
}
static void barriers(void) {
  iters = iters / 100 + 1;
  COST("an anonymous barrier", BARRIER());
  COST("gex_Coll_BarrierNB, gex_Event_Wait", gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)));
}

int main(int argc, char **argv) {
  unsigned char *source = (unsigned char *)malloc(2048), *back = (unsigned char *)malloc(2048);
  int arg;
  begin("testmisc", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 3, "testmisc [iters [digits [sections]]]");
  iters = positional(argc, argv, arg, 100000);
  digits = positional(argc, argv, arg + 1, 3);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  MUST(gex_EP_RegisterHandlers(ep, handlers, COUNT_OF(handlers)));
  make_areas(2048);
  (void)now_us();
  fill(source, 3, 2048);
  if (wanted('A')) threads_polls_locks();
  if (wanted('B')) messages(source);
  if (wanted('C')) transfers(source, back);
  if (wanted('D')) nothing();
  if (wanted('E')) barriers();
  free(source), free(back);
  return end();
}
