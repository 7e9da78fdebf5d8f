/* Active Messages: latency and throughput of each category, with fixed and negotiated payload; every byte of every size is compared.
 * Contract: ex-core.md sections 9, 11, 12, 19.
 *
 *   testam [-in|-out] [-s] [-m] [-a] [-c] [-f] [-p N] [iters=1000 [maxsz=64K [sections]]]
 *     -in, -out   payloads come from the segment, from elsewhere (default)     -s   no warm-up
 *     -a          both processes of a pair send                                -c   partners half the job apart
 *     -f          the first and the last process only                         -m   MB/s
 *     -p N        N threads that only poll (GASNET_PAR)
 *   sections: Short A-E, Medium F-J, Long K-O: ping-pong by reply, ping-pong by request, flood, flood of requests that are all
 *   replied to, flood in both directions. Negotiated payload: P-R Medium, S-U Long: ping-pong and flood from the library's buffer,
 *   flood from the client's. V: every byte. */
#include "testpollers.h"

typedef enum { SHORT, MEDIUM, LONG } category;
typedef enum { PING_REPLY, PING_REQUEST, FLOOD, FLOOD_REPLY, BOTH_WAYS } pattern;
typedef enum { FIXED, LIBRARY, CLIENT } payload;
static const char *const category_name[] = {"Short", "Medium", "Long"};
static const char *const pattern_name[] = {"ping-pong, reply", "ping-pong, request", "flood", "flood, replied", "flood, both ways"};
static const char *const payload_name[] = {"", ", library's buffer", ", client's buffer"};
typedef struct {
  char letter;
  category cat;
  pattern pat;
  payload pay;
} section;
static const section sections[] = {
    {'A', SHORT, PING_REPLY, FIXED},   {'B', SHORT, PING_REQUEST, FIXED},  {'C', SHORT, FLOOD, FIXED},   {'D', SHORT, FLOOD_REPLY, FIXED},
    {'E', SHORT, BOTH_WAYS, FIXED},    {'F', MEDIUM, PING_REPLY, FIXED},   {'G', MEDIUM, PING_REQUEST, FIXED}, {'H', MEDIUM, FLOOD, FIXED},
    {'I', MEDIUM, FLOOD_REPLY, FIXED}, {'J', MEDIUM, BOTH_WAYS, FIXED},    {'K', LONG, PING_REPLY, FIXED},     {'L', LONG, PING_REQUEST, FIXED},
    {'M', LONG, FLOOD, FIXED},         {'N', LONG, FLOOD_REPLY, FIXED},    {'O', LONG, BOTH_WAYS, FIXED},      {'P', MEDIUM, PING_REPLY, LIBRARY},
    {'Q', MEDIUM, FLOOD, LIBRARY},     {'R', MEDIUM, FLOOD, CLIENT},       {'S', LONG, PING_REPLY, LIBRARY},   {'T', LONG, FLOOD, LIBRARY},
    {'U', LONG, FLOOD, CLIENT}};

/* What came, and what is wrong with it; handlers may run on several threads. */
static gasnett_atomic_t requests = gasnett_atomic_init(0), replies = gasnett_atomic_init(0), wrong = gasnett_atomic_init(0);
#define CAME(counter) ((long)gasnett_atomic_read(&counter, 0))
#define COUNT(counter) gasnett_atomic_increment(&counter, GASNETT_ATOMIC_REL)
static volatile int thorough;         /* handlers look at every byte, else at the ends */
static unsigned char *source, *mirror; /* payloads of this process; as they should be, of its peer */
static size_t room;

static void look(const void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  const unsigned char *at = (const unsigned char *)buf;
  if (n != (size_t)size) COUNT(wrong);
  else if (thorough ? !filled(at, (unsigned)seed, n)
                    : n > 0 && (at[0] != testexam_byte((unsigned)seed, 0) || at[n - 1] != testexam_byte((unsigned)seed, n - 1)))
    COUNT(wrong);
}
/* Indices are not chosen here, but read from the table. */
enum { H_SHORT, H_SHORT_ANSWER, H_BULK, H_MEDIUM_ANSWER, H_LONG_ANSWER, H_BACK, H_BULK_BACK, HANDLERS };
static gex_AM_Entry_t table[HANDLERS];
#define INDEX(h) (table[h].gex_index)

static void short_h(gex_Token_t token) { (void)token, COUNT(requests); }
static void short_answer_h(gex_Token_t token) {
  COUNT(requests);
  gex_AM_ReplyShort0(token, INDEX(H_BACK), 0);
}
static void bulk_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  (void)token;
  look(buf, n, seed, size);
  COUNT(requests);
}
static void medium_answer_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  look(buf, n, seed, size);
  COUNT(requests);
  gex_AM_ReplyMedium2(token, INDEX(H_BULK_BACK), buf, n, GEX_EVENT_NOW, 0, seed, size);
}
/* Answers come from memory that looks like the request. They land behind the requests. */
static void long_answer_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  gex_Token_Info_t info;
  look(buf, n, seed, size);
  COUNT(requests);
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  gex_AM_ReplyLong2(token, INDEX(H_BULK_BACK), mirror, n, area[info.gex_srcrank] + room, GEX_EVENT_NOW, 0, seed, size);
}
static void back_h(gex_Token_t token) { (void)token, COUNT(replies); }
static void bulk_back_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  (void)token;
  look(buf, n, seed, size);
  COUNT(replies);
}
static gex_AM_Entry_t table[HANDLERS] = {ROW(0, short_h, SHORT, REQUEST, 0, NULL),         ROW(0, short_answer_h, SHORT, REQUEST, 0, NULL),
                                 ROW(0, bulk_h, MEDLONG, REQUEST, 2, NULL),        ROW(0, medium_answer_h, MEDIUM, REQUEST, 2, NULL),
                                 ROW(0, long_answer_h, LONG, REQUEST, 2, NULL),    ROW(0, back_h, SHORT, REPLY, 0, NULL),
                                 ROW(0, bulk_back_h, MEDLONG, REPLY, 2, NULL)};

/* ---- one message ---- */

/* Writes the payload by words of 8 bytes, and the rest by bytes. */
static void copy_words(void *to, size_t n) {
  uint64_t *words = (uint64_t *)to;
  size_t i;
  for (i = 0; i < n / 8; i++) words[i] = ((const uint64_t *)(const void *)source)[i];
  memcpy(words + n / 8, source + n / 8 * 8, n % 8);
}
static void negotiated(const section *s, gex_AM_Index_t h, size_t n, gex_AM_Arg_t seed) {
  void *const buffer = s->pay == CLIENT ? source : NULL;
  gex_Event_t *const lc = s->pay == CLIENT ? GEX_EVENT_GROUP : NULL;
  const gex_AM_SrcDesc_t sd = s->cat == MEDIUM ? gex_AM_PrepareRequestMedium(tm, peer, buffer, n, n, lc, 0, 2)
                                               : gex_AM_PrepareRequestLong(tm, peer, buffer, n, n, area[peer], lc, 0, 2);
  if (gex_AM_SrcDescSize(sd) != n || (s->pay == CLIENT && gex_AM_SrcDescAddr(sd) != buffer)) COUNT(wrong);
  if (s->pay == LIBRARY) copy_words(gex_AM_SrcDescAddr(sd), n);
  if (s->cat == MEDIUM) gex_AM_CommitRequestMedium2(sd, h, n, seed, (gex_AM_Arg_t)n);
  else gex_AM_CommitRequestLong2(sd, h, n, area[peer], seed, (gex_AM_Arg_t)n);
}
static void send_one(const section *s, size_t n, int answered, gex_AM_Arg_t seed) {
  gex_Event_t *const lc = s->pat == PING_REPLY || s->pat == PING_REQUEST ? GEX_EVENT_NOW : GEX_EVENT_GROUP;
  const gex_AM_Index_t h = INDEX(!answered ? H_BULK : s->cat == MEDIUM ? H_MEDIUM_ANSWER : H_LONG_ANSWER);
  if (s->cat == SHORT) gex_AM_RequestShort0(tm, peer, INDEX(answered ? H_SHORT_ANSWER : H_SHORT), 0);
  else if (s->pay != FIXED) negotiated(s, h, n, seed);
  else if (s->cat == MEDIUM) gex_AM_RequestMedium2(tm, peer, h, source, n, lc, 0, seed, (gex_AM_Arg_t)n);
  else gex_AM_RequestLong2(tm, peer, h, source, n, area[peer], lc, 0, seed, (gex_AM_Arg_t)n);
}

/* ---- patterns ---- */

static void active(const section *s, size_t n, long times, gex_AM_Arg_t seed) {
  const int answered = s->pat == PING_REPLY || s->pat == FLOOD_REPLY, each = s->pat == PING_REPLY || s->pat == PING_REQUEST;
  long i;
  for (i = 1; i <= times; i++) {
    send_one(s, n, answered, seed);
    if (each) GASNET_BLOCKUNTIL((answered ? CAME(replies) : CAME(requests)) >= i);
  }
  if (!each) gex_NBI_Wait(GEX_EC_AM, 0); /* the source is free */
  if (s->pat == FLOOD_REPLY) GASNET_BLOCKUNTIL(CAME(replies) >= times);
  if (s->pat == BOTH_WAYS) GASNET_BLOCKUNTIL(CAME(requests) >= times);
}
static void passive(const section *s, size_t n, long times, gex_AM_Arg_t seed) {
  long i;
  if (s->pat == BOTH_WAYS) active(s, n, times, seed);
  for (i = 1; s->pat == PING_REQUEST && i <= times; i++) {
    GASNET_BLOCKUNTIL(CAME(requests) >= i);
    send_one(s, n, 0, seed);
  }
}
/* One row: `times` messages of `n` bytes. Returns the time. Collective. */
static double run(const section *s, size_t n, long times) {
  const int mutual = s->pat == PING_REQUEST || s->pat == BOTH_WAYS, answered = s->pat == PING_REPLY || s->pat == FLOOD_REPLY;
  static unsigned turn;
  const unsigned seed = 5 * ++turn;
  const long due = receives || (mutual && !idle) ? times : 0;
  double us;
  gasnett_atomic_set(&requests, 0, 0);
  gasnett_atomic_set(&replies, 0, 0);
  fill(source, seed + me, n), fill(mirror, seed + peer, n);
  memset(area[me], 0xee, n + 1), memset(area[me] + room, 0xee, n + 1);
  BARRIER();
  us = now_us();
  if (sends) active(s, n, times, (gex_AM_Arg_t)(seed + me));
  else if (!idle) passive(s, n, times, (gex_AM_Arg_t)(seed + me));
  us = now_us() - us;
  GASNET_BLOCKUNTIL(CAME(requests) >= due);
  BARRIER();
  CHECK(CAME(requests) == due && CAME(replies) == (sends && answered ? times : 0));
  CHECK(CAME(wrong) == 0);
  if (s->cat == LONG) {
    CHECK(due == 0 || filled(area[me], seed + peer, n));
    CHECK(area[me][due ? n : 0] == 0xee);
    if (sends && answered) CHECK(filled(area[me] + room, seed + me, n) && area[me][room + n] == 0xee);
  }
  return us;
}
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
/* The largest payload of a section. */
static size_t largest(const section *s) {
  gex_Event_t *const lc = s->pay == LIBRARY ? NULL : GEX_EVENT_GROUP;
  const gex_Flags_t flags = s->pay == LIBRARY ? GEX_FLAG_AM_PREPARE_LEAST_ALLOC : s->pay == CLIENT ? GEX_FLAG_AM_PREPARE_LEAST_CLIENT : 0;
  if (s->cat == SHORT) return 0;
  if (s->cat == MEDIUM) return smaller(gex_AM_MaxRequestMedium(tm, peer, lc, flags, 2), gex_AM_MaxReplyMedium(tm, peer, GEX_EVENT_NOW, 0, 2));
  return smaller(gex_AM_MaxRequestLong(tm, peer, lc, flags, 2), gex_AM_MaxReplyLong(tm, peer, GEX_EVENT_NOW, 0, 2));
}
static void rows(const section *s, long iters, size_t most) {
  char what[64];
  size_t n;
  most = smaller(most, largest(s));
  snprintf(what, sizeof what, "%s %s%s", category_name[s->cat], pattern_name[s->pat], payload_name[s->pay]);
  for (n = s->cat == SHORT ? 0 : 1;; n = smaller(2 * n, most)) {
    double us;
    if (!opt.cold) (void)run(s, n, iters / 10 + 1);
    us = run(s, n, iters);
    if (sends) row(s->letter, what, n, iters, us);
    if (n >= most) return;
  }
}
/* Every byte of all sizes around powers of two. */
static void verify(size_t limit) {
  size_t k, n;
  thorough = 1;
  for (k = 0; k < COUNT_OF(sections); k++) {
    const section *const s = &sections[k];
    const size_t most = smaller(limit, largest(s));
    for (n = 1; n <= most && s->cat != SHORT; n *= 2) {
      (void)run(s, n, 3);
      (void)run(s, n - 1, 2);
      if (n < most) (void)run(s, n + 1, 2);
    }
    if (s->cat != SHORT) (void)run(s, most, 2);
  }
  thorough = 0;
  if (me == 0) say("V  every byte of every category and size compared");
}

int main(int argc, char **argv) {
  static const char usage[] = "testam [-in|-out] [-s] [-m] [-a] [-c] [-f] [-p N up to 64 (PAR)] [iters [maxsz [sections A-V]]]";
  static const testperf_option accepted[] = {OPT_SIDE, OPT_COLD, OPT_MEGA, OPT_PAIR, OPT_POLLERS};
  long iters;
  size_t most, k;
  int arg;
  begin("testam", &argc, &argv);
  arg = options(argc, argv, accepted, COUNT_OF(accepted), 3, usage);
  iters = positional(argc, argv, arg, 1000);
  most = (size_t)positional(argc, argv, arg + 1, 64 << 10);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  for (k = 0; k < COUNT_OF(table); k++) CHECK(table[k].gex_index >= GEX_AM_INDEX_BASE);
  room = (most + 64) / 64 * 64;
  make_areas(3 * room);
  make_pairs();
  source = opt.in ? area[me] + 2 * room : (unsigned char *)malloc(room);
  mirror = (unsigned char *)malloc(room);
  if (source == NULL || mirror == NULL) gasnet_exit(98);
  start_pollers(usage);
  for (k = 0; k < COUNT_OF(sections); k++)
    if (wanted(sections[k].letter)) rows(&sections[k], iters, most);
  if (wanted('V')) verify(most);
  stop_pollers();
  return end();
}
