/* Contract items 24 and 25, for C and C++ alike: names of AM calls made by token pasting, argument lists made by
 * macros, arguments of many types, every argument evaluated once. Included by testcorepaste.c and testcxx_am.cc. */
#ifndef GASNET_SCI_TESTCOREPASTE_H
#define GASNET_SCI_TESTCOREPASTE_H

#include "../test.h"

enum { HIDX_P0 = 200, HIDX_P3 = 203, HIDX_P6 = 206, HIDX_M1 = 210, HIDX_M4 = 213, HIDX_L2 = 215, HIDX_P16 = 216 };
enum { HIDX_BACK0 = 220, HIDX_BACK1, HIDX_BACK_BULK };

/* How client libraries spell their calls. */
#define PASTE_REQUEST(category, n, list) gasnet_AMRequest##category##n list
#define PASTE_REPLY_(category, n, list) gasnet_AMReply##category##n list
#define PASTE_REPLY(category, n, list) PASTE_REPLY_(category, n, list)
#define PASTE_SHORT_REQ(c32, c64, list) PASTE_REQUEST(Short, c64, list)
#define PASTE_SHORT_REP(c32, c64, list) PASTE_REPLY(Short, c64, list)
#define PASTE_MEDIUM_REQ(c32, c64, list) PASTE_REQUEST(Medium, c64, list)
#define PASTE_PACK(p) PASTE_HI(p), PASTE_LO(p)
#define PASTE_HI(p) (gasnet_handlerarg_t)(uint32_t)((uint64_t)(uintptr_t)(p) >> 32)
#define PASTE_LO(p) (gasnet_handlerarg_t)(uint32_t)(uintptr_t)(p)
#define PASTE_UNPACK(hi, lo) (uintptr_t)((uint64_t)(uint32_t)(hi) << 32 | (uint32_t)(lo))
#define PASTE_IDX(n) HIDX_P##n
#define PASTE_TO(node, n) node, PASTE_IDX(n)
#define PASTE_BYTES(p, n) (p), (n)
#define PASTE_NONE
#define PASTE_TWO 2

static int paste_came, paste_back;
static long paste_marker; /* its address travels */
static char paste_text[] = "payload by macro";

static void paste_p0(gasnet_token_t token) {
  TEST_COUNT(&paste_came);
  PASTE_REPLY(Short, 0, (token, HIDX_BACK0));
}
static void paste_p3(gasnet_token_t token, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1, gasnet_handlerarg_t a2) {
  gasnet_node_t from = (gasnet_node_t)-1;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &from));
  CHECK(a0 == -7, "%d", (int)a0);
  CHECK(from != gasnet_mynode() || PASTE_UNPACK(a1, a2) == (uintptr_t)&paste_marker, "pointer arrived as %p",
        (void *)PASTE_UNPACK(a1, a2));
  TEST_COUNT(&paste_came);
  PASTE_SHORT_REP(1, 1, (token, HIDX_BACK1, a0));
}
/* A handler may declare its parameters int. */
static void paste_p6(gasnet_token_t token, int a0, int a1, int a2, int a3, int a4, int a5) {
  (void)token;
  CHECK(a0 == -2 && a1 == 70000 && a2 == 'x', "%d %d %d", a0, a1, a2);
  CHECK(a3 == 3 && (unsigned)a4 == 0x89abcdefu && a5 == 0x01234567, "%d %x %x", a3, (unsigned)a4, (unsigned)a5);
  TEST_COUNT(&paste_came);
}
static void paste_m1(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a0) {
  CHECK(nbytes == sizeof paste_text && strcmp((char *)buf, paste_text) == 0 && a0 == 11, "%.16s, %d", (char *)buf,
        (int)a0);
  TEST_COUNT(&paste_came);
  PASTE_REPLY(Medium, 0, (token, HIDX_BACK_BULK, PASTE_BYTES(buf, nbytes)));
}
static void paste_m4(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1,
                     gasnet_handlerarg_t a2, gasnet_handlerarg_t a3) {
  (void)token, (void)buf;
  CHECK(nbytes == 2 && a0 == 10 && a1 == 11 && a2 == 12 && a3 == 13, "%lu bytes, %d %d %d %d", (unsigned long)nbytes,
        (int)a0, (int)a1, (int)a2, (int)a3);
  TEST_COUNT(&paste_came);
}
static void paste_l2(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1) {
  (void)token;
  CHECK(nbytes == sizeof paste_text && memcmp(buf, paste_text, nbytes) == 0, "%lu bytes", (unsigned long)nbytes);
  CHECK(a0 == 1 && a1 == 2, "%d %d", (int)a0, (int)a1);
  TEST_COUNT(&paste_came);
}
static void paste_p16(gasnet_token_t token, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1, gasnet_handlerarg_t a2,
                      gasnet_handlerarg_t a3, gasnet_handlerarg_t a4, gasnet_handlerarg_t a5, gasnet_handlerarg_t a6,
                      gasnet_handlerarg_t a7, gasnet_handlerarg_t a8, gasnet_handlerarg_t a9, gasnet_handlerarg_t a10,
                      gasnet_handlerarg_t a11, gasnet_handlerarg_t a12, gasnet_handlerarg_t a13,
                      gasnet_handlerarg_t a14, gasnet_handlerarg_t a15) {
  (void)token;
  CHECK(a0 == 0 && a1 == 1 && a2 == 2 && a3 == 3 && a4 == 4 && a5 == 5 && a6 == 6 && a7 == 7, "first half");
  CHECK(a8 == 8 && a9 == 9 && a10 == 10 && a11 == 11 && a12 == 12 && a13 == 13 && a14 == 14 && a15 == 15,
        "second half");
  TEST_COUNT(&paste_came);
}
static void paste_back0(gasnet_token_t token) {
  (void)token;
  TEST_COUNT(&paste_back);
}
static void paste_back1(gasnet_token_t token, gasnet_handlerarg_t a0) {
  (void)token;
  CHECK(a0 == -7, "%d", (int)a0);
  TEST_COUNT(&paste_back);
}
static void paste_back_bulk(gasnet_token_t token, void *buf, size_t nbytes) {
  (void)token;
  CHECK(nbytes == sizeof paste_text && strcmp((char *)buf, paste_text) == 0, "%lu bytes", (unsigned long)nbytes);
  TEST_COUNT(&paste_back);
}

#define PASTE_TABLE                                                                                                  \
  {HIDX_P0, (void (*)())paste_p0}, {HIDX_P3, (void (*)())paste_p3}, {HIDX_P6, (void (*)())paste_p6},                 \
      {HIDX_M1, (void (*)())paste_m1}, {HIDX_M4, (void (*)())paste_m4}, {HIDX_L2, (void (*)())paste_l2},             \
      {HIDX_P16, (void (*)())paste_p16}, {HIDX_BACK0, (void (*)())paste_back0},                                      \
      {HIDX_BACK1, (void (*)())paste_back1}, {HIDX_BACK_BULK, (void (*)())paste_back_bulk}

enum paste_colour { PASTE_RED = -2 };

/* Sends one of everything to `to`; `at` is room for a Long there. Returns the number of requests, 4 with a reply. */
static int paste_send(gasnet_node_t to, void *at) {
  const size_t big = 70000;
  const int64_t wide = (int64_t)0x0123456789abcdefLL;
  const char letter = 'x';
  int once = 3, i = 10, rc;
  char bytes[8] = "abcdefg", *p = bytes;
  size_t n = 2;

  PASTE_SHORT_REQ(0, 0, (PASTE_TO(to, 0)));
  GASNET_SAFE(PASTE_SHORT_REQ(2, 3, (PASTE_TO(to, 3), -7, PASTE_PACK(&paste_marker))));
  gasnet_AMRequestShort6(to, HIDX_P6, PASTE_RED, big, letter, once++, (uint32_t)wide, (uint32_t)(wide >> 32));
  CHECK(once == 4, "an argument was evaluated %d times", once - 3);
  PASTE_MEDIUM_REQ(1, 1, (to, HIDX_M1, PASTE_BYTES(paste_text, sizeof paste_text), 11));
  rc = PASTE_REQUEST(Medium, 4, (to, HIDX_M4, p++, n++, i, i + 1, ((void)0, i + 2), i > 0 ? i + 3 : 0));
  CHECK(rc == GASNET_OK && p == bytes + 1 && n == 3, "payload arguments evaluated %d and %d times", (int)(p - bytes),
        (int)n - 2);
  PASTE_REQUEST(Long, 2, (to, HIDX_L2, PASTE_BYTES(paste_text, sizeof paste_text), at, 1, 2));
  GASNET_SAFE(PASTE_REQUEST(Short, 16, (to, HIDX_P16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));

  /* The spellings with a count: nothing behind it, a macro, an expression of any integer type. */
  gasnet_AMRequestShort(to, HIDX_P0, 0 PASTE_NONE);
  if (to + 1 > 0)
    gasnet_AMRequestShort(to, HIDX_P6, 6, PASTE_RED, big, letter, once - 1, (uint32_t)wide, (uint32_t)(wide >> 32));
  else
    gasnet_AMRequestShort(to, HIDX_P0, 0);
  rc = gasnet_AMRequestLong(to, HIDX_L2, paste_text, sizeof paste_text, at, PASTE_TWO, 1, 2);
  CHECK(rc == GASNET_OK, "%s", gasnet_ErrorName(rc));
  rc = gasnet_AMRequestMedium(to, HIDX_M4, bytes, 2, 4, i++, 11, ((void)0, 12), 13);
  CHECK(rc == GASNET_OK && i == 11, "an argument was evaluated %d times", i - 10);
  GASNET_SAFE(
      gasnet_AMRequestShort(to, HIDX_P16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  return 12;
}

/* Everything to everybody, then all of it must have come; `area` says where a node has room for Longs. */
static void paste_test(void *(*area)(gasnet_node_t at)) {
  gasnet_node_t i;
  int sent = 0;
  for (i = 0; i < gasnet_nodes(); i++) sent += paste_send(i, area(i));
  GASNET_BLOCKUNTIL(paste_back >= 4 * (int)gasnet_nodes() && paste_came >= sent);
  test_barrier();
  CHECK(paste_came == sent, "%d of %d", paste_came, sent);
}

#endif
