/* What a token tells: every field, in all six kinds of handlers, before and after the reply. Contract: ex-core.md section 13.
 * Options: none. Positional: rounds (10). */
#include "testexam.h"

enum { SHORT_REQ = GEX_AM_INDEX_BASE + 7, SHORT_REP, MED_REQ, MED_REP, LONG_REQ, LONG_REP, UNNAMED = 250 };
static volatile int replies;
static int expected;
static gex_Rank_t replier; /* who must have sent the next reply */
static gex_AM_Entry_t given[9];
static gex_AM_Index_t answer; /* a don't-care index */
static const gex_AM_Entry_t *seen[256];
static int data[9];

static gex_AM_Entry_t *row(int index);
static void check(gex_Token_t token, int index, int is_req, int is_long, gex_Rank_t source) {
  const gex_AM_Entry_t *want = row(index), *entry;
  gex_Token_Info_t info;
  gex_TI_t bit;
  gex_TI_t got;
  memset(&info, 0xa5, sizeof info);
  got = gex_Token_Info(token, &info, GEX_TI_ALL);
  CHECK((got & GEX_TI_ALL) == GEX_TI_ALL);
  CHECK(info.gex_srcrank == source);
  CHECK(info.gex_ep == ep);
  CHECK(info.gex_is_req == is_req);
  CHECK(info.gex_is_long == is_long);
  entry = info.gex_entry;
  CHECK(entry != NULL && entry != want);
  CHECK(entry->gex_index == index);
  CHECK(entry->gex_fnptr == want->gex_fnptr);
  CHECK(entry->gex_flags == want->gex_flags);
  CHECK(entry->gex_nargs == want->gex_nargs);
  CHECK(entry->gex_cdata == want->gex_cdata);
  CHECK(entry->gex_name == want->gex_name);
  if (seen[index] == NULL) seen[index] = entry;
  CHECK(seen[index] == entry); /* stable to the end */
  for (bit = 1; bit <= GEX_TI_ALL; bit <<= 1) {
    gex_Token_Info_t one;
    got = gex_Token_Info(token, &one, bit);
    CHECK(got & bit);
    if (bit == GEX_TI_SRCRANK) CHECK(one.gex_srcrank == source);
    if (bit == GEX_TI_ENTRY) CHECK(one.gex_entry == entry);
    if (bit == GEX_TI_IS_REQ) CHECK(one.gex_is_req == is_req);
    if (bit == GEX_TI_IS_LONG) CHECK(one.gex_is_long == is_long);
    if (bit == GEX_TI_EP) CHECK(one.gex_ep == ep);
  }
  (void)gex_Token_Info(token, &info, 0);
  CHECK(gex_EP_QueryCData(info.gex_ep) == (void *)&errors);
  if (is_req) {
    CHECK(gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0, 16) == gex_AM_MaxReplyMedium(tm, source, GEX_EVENT_NOW, 0, 16));
    CHECK(gex_Token_MaxReplyLong(token, NULL, 0, 0) == gex_AM_MaxReplyLong(tm, source, NULL, 0, 0));
  }
}
static void short_req(gex_Token_t token, gex_AM_Arg_t source, gex_AM_Arg_t index) {
  check(token, index, 1, 0, (gex_Rank_t)source);
  if (index == SHORT_REQ) gex_AM_ReplyShort1(token, SHORT_REP, 0, SHORT_REP);
  else gex_AM_ReplyShort1(token, answer, 0, answer); /* the same function under an index of ours */
  check(token, index, 1, 0, (gex_Rank_t)source);
}
static void short_rep(gex_Token_t token, gex_AM_Arg_t index) { check(token, index, 0, 0, replier), replies++; }
static void med_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t source) {
  check(token, MED_REQ, 1, 0, (gex_Rank_t)source);
  gex_AM_ReplyMedium0(token, MED_REP, buf, n, GEX_EVENT_NOW, 0);
  check(token, MED_REQ, 1, 0, (gex_Rank_t)source);
}
static void med_rep(gex_Token_t token, void *buf, size_t n) {
  CHECK(filled(buf, 3, n));
  check(token, MED_REP, 0, 0, replier), replies++;
}
static void long_req(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t source, gex_AM_Arg_t high, gex_AM_Arg_t low) {
  unsigned char *back = (unsigned char *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
  check(token, LONG_REQ, 1, 1, (gex_Rank_t)source);
  gex_AM_ReplyLong(token, LONG_REP, buf, n, back, GEX_EVENT_NOW, 0, (int)n);
  check(token, LONG_REQ, 1, 1, (gex_Rank_t)source);
}
static void long_rep(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t size) {
  CHECK(n == (size_t)size && filled(buf, 3, n));
  check(token, LONG_REP, 0, 1, replier), replies++;
}
static void unnamed(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t is_long) { /* MEDLONG, REQREP, no name */
  gex_Token_Info_t info;
  (void)buf, (void)n;
  (void)gex_Token_Info(token, &info, GEX_TI_ALL);
  check(token, UNNAMED, info.gex_is_req, is_long, info.gex_is_req ? info.gex_srcrank : replier);
  if (!info.gex_is_req) replies++;
  else if (is_long) gex_AM_ReplyMedium1(token, UNNAMED, buf, 0, GEX_EVENT_NOW, 0, 0);
  else gex_AM_ReplyLong1(token, UNNAMED, NULL, 0, buf, GEX_EVENT_NOW, 0, 1);
}
static gex_AM_Entry_t table[9] = {
    ROW(SHORT_REQ, short_req, SHORT, REQUEST, 2, &data[0]), ROW(SHORT_REP, short_rep, SHORT, REPLY, 1, &data[1]),
    ROW(MED_REQ, med_req, MEDIUM, REQUEST, 1, &data[2]),    ROW(MED_REP, med_rep, MEDIUM, REPLY, 0, NULL),
    ROW(LONG_REQ, long_req, LONG, REQUEST, 3, &data[4]),    ROW(LONG_REP, long_rep, LONG, REPLY, 1, &data[5]),
    ROW(0, short_req, SHORT, REQREP, 2, &data[6]),          ROW(0, short_rep, SHORT, REQREP, 1, &data[7]),
    {UNNAMED, (gex_AM_Fn_t)unnamed, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP, 1, &data[8], NULL}};

static gex_AM_Entry_t *row(int index) {
  size_t i;
  for (i = 0; i < COUNT_OF(table); i++)
    if (table[i].gex_index == index) return &table[i];
  return NULL;
}

int main(int argc, char **argv) {
  static unsigned char source[8192];
  static const size_t sizes[] = {0, 1, 8, 100, 5000};
  int rounds, round;
  gex_Rank_t peer;
  size_t i;
  begin("testtoken", &argc, &argv);
  rounds = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 10;
  gex_EP_SetCData(ep, &errors);
  memcpy(given, table, sizeof table);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  answer = table[7].gex_index;
  CHECK(table[6].gex_index == 255 && table[7].gex_index == 254);
  for (i = 0; i < COUNT_OF(table); i++) { /* only indices are written back */
    CHECK(given[i].gex_index == 0 || table[i].gex_index == given[i].gex_index);
    CHECK(table[i].gex_fnptr == given[i].gex_fnptr && table[i].gex_flags == given[i].gex_flags);
    CHECK(table[i].gex_nargs == given[i].gex_nargs && table[i].gex_cdata == given[i].gex_cdata);
    CHECK(table[i].gex_name == given[i].gex_name);
  }
  fill(source, 3, sizeof source);
  BARRIER();
  make_areas(sizeof source * 2 * nodes);
  for (round = 0; round < rounds; round++)
    for (peer = 0; peer < nodes; peer++)
      for (i = 0; i < COUNT_OF(sizes); i++) {
        const uint64_t back = (uint64_t)(uintptr_t)(area[me] + sizeof source * (2 * peer + 1));
        replier = peer;
        gex_AM_RequestShort2(tm, peer, SHORT_REQ, 0, me, SHORT_REQ);
        gex_AM_RequestShort2(tm, peer, table[6].gex_index, 0, me, table[6].gex_index);
        gex_AM_RequestMedium1(tm, peer, MED_REQ, source, sizes[i], GEX_EVENT_NOW, 0, me);
        gex_AM_RequestMedium1(tm, peer, UNNAMED, source, sizes[i], GEX_EVENT_NOW, 0, 0);
        gex_AM_RequestLong1(tm, peer, UNNAMED, source, 0, NULL, GEX_EVENT_NOW, 0, 1);
        gex_AM_RequestLong(tm, peer, LONG_REQ, source, sizes[i], area[peer] + sizeof source * 2 * me, GEX_EVENT_NOW, 0, me,
                           (gex_AM_Arg_t)(back >> 32), (gex_AM_Arg_t)back);
        expected += 6;
        GASNET_BLOCKUNTIL(replies == expected);
      }
  return end();
}
