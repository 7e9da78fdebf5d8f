/* Every macro of gasnet_handler.h, for C and C++ alike (contract: core.md appendix B): handlers of each category in
 * both forms, whose arguments hold pointers or none, requests and replies of each category. Included by
 * testhandler.c and testcxx_handler.cc. Each node sends requests to its right neighbour. */
#ifndef GASNET_SCI_TESTHANDLER_H
#define GASNET_SCI_TESTHANDLER_H

#include "../testarea.h"

#include <gasnet_handler.h>

enum { HANDLER_BYTES = 200, HANDLER_VALUE = 0x5ead };

#define _hidx_ask_h 200
#define _hidx_told_h 201
#define _hidx_ask_medium_h 202
#define _hidx_told_medium_h 203
#define _hidx_ask_long_h 204
#define _hidx_told_long_h 205
#define _hidx_plain_h 206
#define _hidx_plain_medium_h 207
#define _hidx_plain_long_h 208
#define _hidx_words_h 209
#define _hidx_narrow_h 210

static int handler_answers, handler_plain;

/* A pointer of the requester goes there and back; only its owner uses it. */
static void ask_h_inner(gasnet_token_t token, void *place, gasnet_handlerarg_t value) {
  GASNET_SAFE(SHORT_REP(2, 3, (token, gasneti_handleridx(told_h), PACK(place), value)));
}
SHORT_HANDLER(ask_h, 2, 3, (token, UNPACK(a0), a1), (token, UNPACK2(a0, a1), a2));

static void told_h_inner(gasnet_token_t token, void *place, gasnet_handlerarg_t value) {
  (void)core_source(token);
  *(int *)place = value;
  TEST_COUNT(&handler_answers);
}
SHORT_HANDLER(told_h, 2, 3, (token, UNPACK(a0), a1), (token, UNPACK2(a0, a1), a2));

static void ask_medium_h_inner(gasnet_token_t token, void *bytes, size_t nbytes, void *place) {
  GASNET_SAFE(MEDIUM_REP(1, 2, (token, gasneti_handleridx(told_medium_h), bytes, nbytes, PACK(place))));
}
MEDIUM_HANDLER(ask_medium_h, 1, 2, (token, addr, nbytes, UNPACK(a0)), (token, addr, nbytes, UNPACK2(a0, a1)));

static void told_medium_h_inner(gasnet_token_t token, void *bytes, size_t nbytes, void *place) {
  (void)core_source(token);
  memcpy(place, bytes, nbytes);
  TEST_COUNT(&handler_answers);
}
MEDIUM_HANDLER(told_medium_h, 1, 2, (token, addr, nbytes, UNPACK(a0)), (token, addr, nbytes, UNPACK2(a0, a1)));

/* The answer goes to where the requester's area has room for it. */
static void ask_long_h_inner(gasnet_token_t token, void *bytes, size_t nbytes, void *area, gasnet_handlerarg_t at) {
  GASNET_SAFE(LONG_REP(2, 3, (token, gasneti_handleridx(told_long_h), bytes, nbytes, (char *)area + at, at, PACK(area))));
}
LONG_HANDLER(ask_long_h, 2, 3, (token, addr, nbytes, UNPACK(a1), a0), (token, addr, nbytes, UNPACK2(a1, a2), a0));

static void told_long_h_inner(gasnet_token_t token, void *bytes, size_t nbytes, void *area, gasnet_handlerarg_t at) {
  (void)core_source(token);
  CHECK(bytes == (char *)area + at && nbytes == HANDLER_BYTES, "%lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&handler_answers);
}
LONG_HANDLER(told_long_h, 2, 3, (token, addr, nbytes, UNPACK(a1), a0), (token, addr, nbytes, UNPACK2(a1, a2), a0));

/* Where a pointer has one word: the same function whatever the width. */
static void narrow_h_inner(gasnet_token_t token, void *number) {
  (void)core_source(token);
  CHECK((uintptr_t)number == 0x89abcdefu, "%p", number);
  TEST_COUNT(&handler_plain);
}
SHORT_HANDLER(narrow_h, 1, 1, (token, UNPACK(a0)), (token, UNPACK(a0)));

/* Handlers without pointers, declared before they are defined. */
SHORT_HANDLER_NOBITS_DECL(plain_h, 16);
MEDIUM_HANDLER_NOBITS_DECL(plain_medium_h, 1);
LONG_HANDLER_NOBITS_DECL(plain_long_h, 0);
SHORT_HANDLER_NOBITS_DECL(words_h, 2);

static void handler_sum(int first ARGS16) {
  const gasnet_handlerarg_t all[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15};
  int i;
  for (i = 0; i < 16; i++) CHECK(all[i] == first + i, "argument %d is %d", i, (int)all[i]);
}
GASNETI_HANDLER_SCOPE void plain_h(gasnet_token_t token ARGS16) {
  (void)core_source(token);
  handler_sum(100 ARGNAMES16);
  TEST_COUNT(&handler_plain);
}
GASNETI_HANDLER_SCOPE void plain_medium_h(gasnet_token_t token, void *addr, size_t nbytes ARGS1) {
  (void)core_source(token);
  CHECK(nbytes == HANDLER_BYTES && test_differs(addr, nbytes, (unsigned)a0) == nbytes, "%lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&handler_plain);
}
GASNETI_HANDLER_SCOPE void plain_long_h(gasnet_token_t token, void *addr, size_t nbytes ARGS0) {
  (void)core_source(token);
  CHECK(nbytes == HANDLER_BYTES && addr == core_area[me] + HANDLER_BYTES, "%lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&handler_plain);
}
/* How PACK writes a pointer: the high word comes first. */
GASNETI_HANDLER_SCOPE void words_h(gasnet_token_t token ARGS2) {
  (void)core_source(token);
  CHECK(a0 == 0x01234567 && (uint32_t)a1 == 0x89abcdefu, "%x %x", (unsigned)a0, (unsigned)a1);
  TEST_COUNT(&handler_plain);
}

/* Parameters and names agree for every number. */
#define HANDLER_PASS(n)                                                                                              \
  SHORT_HANDLER_NOBITS_DECL(handler_pass##n, n);                                                                     \
  GASNETI_HANDLER_SCOPE void handler_pass##n(gasnet_token_t token ARGS##n) {                                         \
    const gasnet_handlerarg_t all[] = {0 ARGNAMES##n};                                                               \
    (void)token;                                                                                                     \
    CHECK(sizeof all / sizeof *all == n + 1 && all[n] == n, "%d", (int)all[n]);                                      \
  }                                                                                                                  \
  struct handler_semicolon
HANDLER_PASS(0);
HANDLER_PASS(1);
HANDLER_PASS(2);
HANDLER_PASS(3);
HANDLER_PASS(4);
HANDLER_PASS(5);
HANDLER_PASS(6);
HANDLER_PASS(7);
HANDLER_PASS(8);
HANDLER_PASS(9);
HANDLER_PASS(10);
HANDLER_PASS(11);
HANDLER_PASS(12);
HANDLER_PASS(13);
HANDLER_PASS(14);
HANDLER_PASS(15);
HANDLER_PASS(16);

static void handler_passes(void) {
  handler_pass0(NULL), handler_pass1(NULL, 1), handler_pass2(NULL, 1, 2), handler_pass3(NULL, 1, 2, 3);
  handler_pass4(NULL, 1, 2, 3, 4), handler_pass5(NULL, 1, 2, 3, 4, 5), handler_pass6(NULL, 1, 2, 3, 4, 5, 6);
  handler_pass7(NULL, 1, 2, 3, 4, 5, 6, 7), handler_pass8(NULL, 1, 2, 3, 4, 5, 6, 7, 8);
  handler_pass9(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9), handler_pass10(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  handler_pass11(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), handler_pass12(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  handler_pass13(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
  handler_pass14(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
  handler_pass15(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  handler_pass16(NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}

static void handler_test(void) {
  const gasnet_node_t right = (me + 1) % nodes;
  unsigned char out[HANDLER_BYTES], back[HANDLER_BYTES];
  char *mine = (char *)core_area[me], *theirs = (char *)core_area[right];
  void *const number = (void *)(uintptr_t)0x0123456789abcdefu;
  int value = 0, round;
  for (round = 0; round < 50; round++) {
    const unsigned seed = (unsigned)(me * 1000) + (unsigned)round;
    const int answers = handler_answers;
    test_fill(out, sizeof out, seed);
    memset(back, 0, sizeof back);
    GASNET_SAFE(SHORT_REQ(2, 3, (right, gasneti_handleridx(ask_h), PACK(&value), HANDLER_VALUE + round)));
    GASNET_SAFE(MEDIUM_REQ(1, 2, (right, gasneti_handleridx(ask_medium_h), out, sizeof out, PACK(back))));
    GASNET_BLOCKUNTIL(AREA_LOAD(&handler_answers) == answers + 2);
    CHECK(value == HANDLER_VALUE + round, "%d", value);
    CHECK(test_differs(back, sizeof back, seed) == sizeof back, "round %d", round);
    /* There it lies at 0 or 1, here the answer at 2 or 3. */
    GASNET_SAFE(LONG_REQ(2, 3, (right, gasneti_handleridx(ask_long_h), out, sizeof out, theirs, 2 * HANDLER_BYTES, PACK(mine))));
    GASNET_SAFE(LONGASYNC_REQ(2, 3, (right, gasneti_handleridx(ask_long_h), out, sizeof out, theirs + HANDLER_BYTES,
                                     3 * HANDLER_BYTES, PACK(mine))));
    GASNET_BLOCKUNTIL(AREA_LOAD(&handler_answers) == answers + 4);
    CHECK(test_differs((unsigned char *)mine + 2 * HANDLER_BYTES, sizeof out, seed) == sizeof out, "round %d", round);
    CHECK(test_differs((unsigned char *)mine + 3 * HANDLER_BYTES, sizeof out, seed) == sizeof out, "round %d", round);
  }
  GASNET_SAFE(SHORT_REQ(16, 16, (right, gasneti_handleridx(plain_h), 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
                                 111, 112, 113, 114, 115)));
  test_fill(out, sizeof out, 77);
  GASNET_SAFE(MEDIUM_REQ(1, 1, (right, gasneti_handleridx(plain_medium_h), out, sizeof out, 77)));
  GASNET_SAFE(LONG_REQ(0, 0, (right, gasneti_handleridx(plain_long_h), out, sizeof out, theirs + HANDLER_BYTES)));
  GASNET_SAFE(SHORT_REQ(1, 2, (right, gasneti_handleridx(words_h), PACK(number))));
  GASNET_SAFE(SHORT_REQ(1, 1, (right, gasneti_handleridx(narrow_h), (gasnet_handlerarg_t)0x89abcdefu)));
  GASNET_BLOCKUNTIL(AREA_LOAD(&handler_plain) == 5);
}

/* Calls by the names of the engine, and the host's name. */
static int handler_engine_calls;
static void engine_short_h(gasnet_token_t token, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1) {
  CHECK(a0 == -5 && a1 == 70000, "%d %d", (int)a0, (int)a1);
  GASNET_SAFE(gasnetc_AMReplyShortM(token, 231, 0));
}
static void engine_medium_h(gasnet_token_t token, void *addr, size_t nbytes, gasnet_handlerarg_t a0) {
  CHECK(a0 == 9 && nbytes == 3 && memcmp(addr, "abc", 3) == 0, "%d, %lu bytes", (int)a0, (unsigned long)nbytes);
  GASNET_SAFE(gasnetc_AMReplyMediumM(token, 232, addr, nbytes, 0));
}
static void engine_long_h(gasnet_token_t token, void *addr, size_t nbytes, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  CHECK(nbytes == 3 && memcmp(addr, "abc", 3) == 0, "%lu bytes", (unsigned long)nbytes);
  GASNET_SAFE(gasnetc_AMReplyLongM(token, 232, addr, nbytes, CORE_PTR(hi, lo), 0));
}
static void engine_done_h(gasnet_token_t token) {
  (void)core_source(token);
  TEST_COUNT(&handler_engine_calls);
}
static void engine_back_h(gasnet_token_t token, void *addr, size_t nbytes) {
  (void)core_source(token);
  CHECK(nbytes == 3 && memcmp(addr, "abc", 3) == 0, "%lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&handler_engine_calls);
}

static void handler_engine_test(void) {
  const gasnet_node_t right = (me + 1) % nodes;
  char abc[] = "abc", *mine = (char *)core_area[me] + 4 * HANDLER_BYTES, *theirs = (char *)core_area[right] + 5 * HANDLER_BYTES;
  GASNET_SAFE(gasnetc_AMRequestShortM(right, 228, 2, -5, 70000));
  GASNET_SAFE(gasnetc_AMRequestMediumM(right, 229, abc, (size_t)3, 1, 9));
  GASNET_SAFE(gasnetc_AMRequestLongM(right, 230, abc, (size_t)3, theirs, 2, CORE_HI(mine), CORE_LO(mine)));
  GASNET_SAFE(gasnetc_AMRequestLongAsyncM(right, 230, abc, (size_t)3, theirs + 8, 2, CORE_HI(mine + 8), CORE_LO(mine + 8)));
  GASNET_BLOCKUNTIL(AREA_LOAD(&handler_engine_calls) == 4);
  CHECK(memcmp(mine, "abc", 3) == 0 && memcmp(mine + 8, "abc", 3) == 0, "%.3s %.3s", mine, mine + 8);
  CHECK(gasneti_gethostname() && *gasneti_gethostname(), "no name of this host");
}

#define HANDLER_ENTRY(index, function) {index, (void (*)())function}
#define HANDLER_TABLE                                                                                                \
  gasneti_handler_tableentry_with_bits(ask_h), gasneti_handler_tableentry_with_bits(told_h),                         \
      gasneti_handler_tableentry_with_bits(ask_medium_h), gasneti_handler_tableentry_with_bits(told_medium_h),       \
      gasneti_handler_tableentry_with_bits(ask_long_h), gasneti_handler_tableentry_with_bits(told_long_h),           \
      gasneti_handler_tableentry_no_bits(plain_h), gasneti_handler_tableentry_no_bits(plain_medium_h),               \
      gasneti_handler_tableentry_no_bits(plain_long_h), gasneti_handler_tableentry_no_bits(words_h),                 \
      gasneti_handler_tableentry_with_bits(narrow_h), HANDLER_ENTRY(228, engine_short_h),                            \
      HANDLER_ENTRY(229, engine_medium_h), HANDLER_ENTRY(230, engine_long_h), HANDLER_ENTRY(231, engine_done_h),     \
      HANDLER_ENTRY(232, engine_back_h)

static void handler_run(int argc, char **argv, const char *name) {
  const gasnet_handlerentry_t table[] = {HANDLER_TABLE};
  core_init(&argc, &argv, name);
  area_attach(table, (int)(sizeof table / sizeof *table), 6 * HANDLER_BYTES);
  test_begin(name);
  handler_passes();
  handler_test();
  handler_engine_test();
  test_end();
}

#endif
