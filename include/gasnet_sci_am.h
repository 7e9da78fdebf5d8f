/* Active Messages and polling. Part of gasnet.h. Contract: core.md sections 9, 10.
 *
 * gasnet_AMRequestShort2(node, handler, a0, a1) and the other numbered forms are variadic macros over a macro with
 * the exact parameters, so that a client's macro may expand to the argument list. The macro casts each argument to
 * gasnet_handlerarg_t and packs two of them into a 64-bit word. Messages have the same form, and words are stored as
 * wide as they are read, which avoids a store-forwarding stall (about 5 ns). Each row forwards to the inline
 * function for its number of words, which sends the message inline or makes one call of the library. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_am.h"
#endif
#ifndef GASNETI_SCI_AM_H
#define GASNETI_SCI_AM_H

#include <stdarg.h>

#define GASNETI_SCI_ARG(a) GASNETI_SCI_AS(uint64_t, GASNETI_SCI_AS(uint32_t, GASNETI_SCI_AS(gasnet_handlerarg_t, a)))
#define GASNETI_SCI_FROM(s) GASNETI_SCI_AS(gasneti_sci_source_t, s)
#define GASNETI_SCI_TO(d) GASNETI_SCI_AS(gasneti_sci_memory_t, d)
#define GASNETI_SCI_PAIR(a, b) (GASNETI_SCI_ARG(a) | GASNETI_SCI_ARG(b) << 32)

#if defined(GASNET_DEBUG)
#define GASNETI_SCI_REQUEST(name, call) GASNETI_SCI_CHECKED(name, GASNETI_SCI_RULES_STATUS, call)
GASNETI_SCI_INLINE gasnet_token_t gasneti_sci_checked(const char *name, const char *file, int line, gasnet_token_t t) {
  gasneti_sci_check_reply(name, file, line, t);
  return t;
}
#define GASNETI_SCI_TOKEN(name, token) gasneti_sci_checked(name, __FILE__, __LINE__, (token))
#else
#define GASNETI_SCI_REQUEST(name, call) (call)
#define GASNETI_SCI_TOKEN(name, token) (token)
#endif

/* ---- one inline function per category and number of argument words ---- */
#define GASNETI_SCI_LIST0
#define GASNETI_SCI_LIST1 , uint64_t w0
#define GASNETI_SCI_LIST2 GASNETI_SCI_LIST1, uint64_t w1
#define GASNETI_SCI_LIST3 GASNETI_SCI_LIST2, uint64_t w2
#define GASNETI_SCI_LIST4 GASNETI_SCI_LIST3, uint64_t w3
#define GASNETI_SCI_LIST5 GASNETI_SCI_LIST4, uint64_t w4
#define GASNETI_SCI_LIST6 GASNETI_SCI_LIST5, uint64_t w5
#define GASNETI_SCI_LIST7 GASNETI_SCI_LIST6, uint64_t w6
#define GASNETI_SCI_LIST8 GASNETI_SCI_LIST7, uint64_t w7
#define GASNETI_SCI_FILL1 w0
#define GASNETI_SCI_FILL2 GASNETI_SCI_FILL1, w1
#define GASNETI_SCI_FILL3 GASNETI_SCI_FILL2, w2
#define GASNETI_SCI_FILL4 GASNETI_SCI_FILL3, w3
#define GASNETI_SCI_FILL5 GASNETI_SCI_FILL4, w4
#define GASNETI_SCI_FILL6 GASNETI_SCI_FILL5, w5
#define GASNETI_SCI_FILL7 GASNETI_SCI_FILL6, w6
#define GASNETI_SCI_FILL8 GASNETI_SCI_FILL7, w7
/* The call of the library for a Short. */
#define GASNETI_SCI_CALL0(verb) gasneti_sci_##verb(to, handler, NULL, numargs)
#define GASNETI_SCI_CALL(verb, n)                                                                                    \
  const uint64_t words[n] = {GASNETI_SCI_FILL##n};                                                                   \
  return gasneti_sci_##verb(to, handler, words, numargs)
#define GASNETI_SCI_SHORT(verb, to_t, n)                                                                             \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler,                                \
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    GASNETI_SCI_CALL(verb, n);                                                                                       \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_MEDIUM(verb, to_t, n)                                                                            \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler, const void *src, size_t nbytes,\
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    const uint64_t words[n] = {GASNETI_SCI_FILL##n};                                                                 \
    return gasneti_sci_##verb(to, handler, src, nbytes, words, numargs);                                             \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_LONG(verb, to_t, n)                                                                              \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler, const void *src, size_t nbytes,\
                                                   void *dest_addr,                                                  \
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    const uint64_t words[n] = {GASNETI_SCI_FILL##n};                                                                 \
    return gasneti_sci_##verb(to, handler, src, nbytes, dest_addr, words, numargs);                                  \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_WORDS(n)                                                                                         \
  GASNETI_SCI_MEDIUM(request_medium, gasnet_node_t, n);                                                              \
  GASNETI_SCI_LONG(request_long, gasnet_node_t, n);                                                                  \
  GASNETI_SCI_MEDIUM(reply_medium, gasnet_token_t, n);                                                               \
  GASNETI_SCI_LONG(reply_long, gasnet_token_t, n)
GASNETI_SCI_WORDS(1);
GASNETI_SCI_WORDS(2);
GASNETI_SCI_WORDS(3);
GASNETI_SCI_WORDS(4);
GASNETI_SCI_WORDS(5);
GASNETI_SCI_WORDS(6);
GASNETI_SCI_WORDS(7);
GASNETI_SCI_WORDS(8);

/* Shorts of one line are sent inline, if that is possible. */
#if GASNETI_SCI_ANSWERS
#if GASNETI_SCI_LINE_WORDS != 7
#error "a line has another number of words: the rows below"
#endif
#define GASNETI_SCI_STORE0
#define GASNETI_SCI_STORE1 slot[1] = w0
#define GASNETI_SCI_STORE2 GASNETI_SCI_STORE1, slot[2] = w1
#define GASNETI_SCI_STORE3 GASNETI_SCI_STORE2, slot[3] = w2
#define GASNETI_SCI_STORE4 GASNETI_SCI_STORE3, slot[4] = w3
#define GASNETI_SCI_STORE5 GASNETI_SCI_STORE4, slot[5] = w4
#define GASNETI_SCI_STORE6 GASNETI_SCI_STORE5, slot[6] = w5
#define GASNETI_SCI_STORE7 GASNETI_SCI_STORE6, slot[7] = w6
#endif
/* GASNETI_SCI_EACH_LINE(row, verb, to_t): the rows for Shorts of no word and of as many as a line takes. */
#define GASNETI_SCI_EACH_LINE(row, verb, to_t)                                                                       \
  row(verb, to_t, 1);                                                                                                \
  row(verb, to_t, 2);                                                                                                \
  row(verb, to_t, 3);                                                                                                \
  row(verb, to_t, 4);                                                                                                \
  row(verb, to_t, 5);                                                                                                \
  row(verb, to_t, 6);                                                                                                \
  row(verb, to_t, 7)
#if GASNETI_SCI_DIRECT
#define GASNETI_SCI_REQUEST_BODY(n)                                                                                  \
  uint32_t outstanding = 0;                                                                                          \
  gasneti_sci_way_t *way = gasneti_sci_way_to(to, &outstanding);                                                     \
  if_pt (way != NULL) {                                                                                              \
    uint64_t *slot = GASNETI_SCI_SLOT(way, way->sent);                                                               \
    GASNETI_SCI_STORE##n;                                                                                            \
    gasneti_sci_send(way, slot, outstanding, handler, numargs);                                                      \
    return GASNET_OK;                                                                                                \
  }
#define GASNETI_SCI_DIRECT_REQUEST(verb, to_t, n)                                                                    \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler,                                \
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    GASNETI_SCI_REQUEST_BODY(n)                                                                                      \
    {                                                                                                                \
      GASNETI_SCI_CALL(verb, n);                                                                                     \
    }                                                                                                                \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_INLINE int gasneti_sci_request_short_w0(gasnet_node_t to, gasnet_handler_t handler, uint32_t numargs) {
  GASNETI_SCI_REQUEST_BODY(0)
  return GASNETI_SCI_CALL0(request_short);
}
GASNETI_SCI_EACH_LINE(GASNETI_SCI_DIRECT_REQUEST, request_short, gasnet_node_t);
#else
#define gasneti_sci_request_short_w0(to, handler, numargs) gasneti_sci_request_short((to), (handler), NULL, (numargs))
GASNETI_SCI_EACH_LINE(GASNETI_SCI_SHORT, request_short, gasnet_node_t);
#endif
#if GASNETI_SCI_ANSWERS
#define GASNETI_SCI_REPLY_BODY(n)                                                                                    \
  uint64_t *slot = gasneti_sci_reply_at(to);                                                                         \
  if_pt (slot != NULL) {                                                                                             \
    GASNETI_SCI_STORE##n;                                                                                            \
    gasneti_sci_answer(slot, handler, numargs);                                                                      \
    return GASNET_OK;                                                                                                \
  }
#define GASNETI_SCI_DIRECT_REPLY(verb, to_t, n)                                                                      \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler,                                \
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    GASNETI_SCI_REPLY_BODY(n)                                                                                        \
    {                                                                                                                \
      GASNETI_SCI_CALL(verb, n);                                                                                     \
    }                                                                                                                \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_INLINE int gasneti_sci_reply_short_w0(gasnet_token_t to, gasnet_handler_t handler, uint32_t numargs) {
  GASNETI_SCI_REPLY_BODY(0)
  return GASNETI_SCI_CALL0(reply_short);
}
GASNETI_SCI_EACH_LINE(GASNETI_SCI_DIRECT_REPLY, reply_short, gasnet_token_t);
#else
#define gasneti_sci_reply_short_w0(to, handler, numargs) gasneti_sci_reply_short((to), (handler), NULL, (numargs))
GASNETI_SCI_EACH_LINE(GASNETI_SCI_SHORT, reply_short, gasnet_token_t);
#endif
GASNETI_SCI_SHORT(request_short, gasnet_node_t, 8);
GASNETI_SCI_SHORT(reply_short, gasnet_token_t, 8);

/* ---- 1 to 16 arguments become their number and their words ---- */
#define GASNETI_SCI_ARGS1(a0) 1, GASNETI_SCI_ARG(a0)
#define GASNETI_SCI_ARGS2(a0, a1) 2, GASNETI_SCI_PAIR(a0, a1)
#define GASNETI_SCI_ARGS3(a0, a1, a2) 3, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_ARG(a2)
#define GASNETI_SCI_ARGS4(a0, a1, a2, a3) 4, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3)
#define GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4) 5, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), \
  GASNETI_SCI_ARG(a4)
#define GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5) 6, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), \
  GASNETI_SCI_PAIR(a4, a5)
#define GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6) 7, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), \
  GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_ARG(a6)
#define GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7) 8, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), \
  GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7)
#define GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8) 9, GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, \
  a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_ARG(a8)
#define GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) 10, GASNETI_SCI_PAIR(a0, a1), \
  GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_PAIR(a8, a9)
#define GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) 11, GASNETI_SCI_PAIR(a0, a1), \
  GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_PAIR(a8, a9), \
  GASNETI_SCI_ARG(a10)
#define GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) 12, GASNETI_SCI_PAIR(a0, a1), \
  GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_PAIR(a8, a9), \
  GASNETI_SCI_PAIR(a10, a11)
#define GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) 13, GASNETI_SCI_PAIR(a0, a1), \
  GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_PAIR(a8, a9), \
  GASNETI_SCI_PAIR(a10, a11), GASNETI_SCI_ARG(a12)
#define GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) 14, GASNETI_SCI_PAIR(a0, \
  a1), GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), GASNETI_SCI_PAIR(a8, a9), \
  GASNETI_SCI_PAIR(a10, a11), GASNETI_SCI_PAIR(a12, a13)
#define GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) 15, \
  GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), \
  GASNETI_SCI_PAIR(a8, a9), GASNETI_SCI_PAIR(a10, a11), GASNETI_SCI_PAIR(a12, a13), GASNETI_SCI_ARG(a14)
#define GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) 16, \
  GASNETI_SCI_PAIR(a0, a1), GASNETI_SCI_PAIR(a2, a3), GASNETI_SCI_PAIR(a4, a5), GASNETI_SCI_PAIR(a6, a7), \
  GASNETI_SCI_PAIR(a8, a9), GASNETI_SCI_PAIR(a10, a11), GASNETI_SCI_PAIR(a12, a13), GASNETI_SCI_PAIR(a14, a15)

/* ---- the numbered forms: _X has the exact parameters, the public name forwards once its arguments are expanded ---- */

/* gasnet_AMRequestShort */
#define GASNETI_SCI_RequestShort_X0(n, h) GASNETI_SCI_REQUEST("gasnet_AMRequestShort0", \
  gasneti_sci_request_short_w0((n), (h), 0))
#define gasnet_AMRequestShort0(...) GASNETI_SCI_RequestShort_X0(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X1(n, h, a0) GASNETI_SCI_REQUEST("gasnet_AMRequestShort1", \
  gasneti_sci_request_short_w1((n), (h), GASNETI_SCI_ARGS1(a0)))
#define gasnet_AMRequestShort1(...) GASNETI_SCI_RequestShort_X1(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X2(n, h, a0, a1) GASNETI_SCI_REQUEST("gasnet_AMRequestShort2", \
  gasneti_sci_request_short_w1((n), (h), GASNETI_SCI_ARGS2(a0, a1)))
#define gasnet_AMRequestShort2(...) GASNETI_SCI_RequestShort_X2(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X3(n, h, a0, a1, a2) GASNETI_SCI_REQUEST("gasnet_AMRequestShort3", \
  gasneti_sci_request_short_w2((n), (h), GASNETI_SCI_ARGS3(a0, a1, a2)))
#define gasnet_AMRequestShort3(...) GASNETI_SCI_RequestShort_X3(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X4(n, h, a0, a1, a2, a3) GASNETI_SCI_REQUEST("gasnet_AMRequestShort4", \
  gasneti_sci_request_short_w2((n), (h), GASNETI_SCI_ARGS4(a0, a1, a2, a3)))
#define gasnet_AMRequestShort4(...) GASNETI_SCI_RequestShort_X4(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X5(n, h, a0, a1, a2, a3, a4) GASNETI_SCI_REQUEST("gasnet_AMRequestShort5", \
  gasneti_sci_request_short_w3((n), (h), GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4)))
#define gasnet_AMRequestShort5(...) GASNETI_SCI_RequestShort_X5(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X6(n, h, a0, a1, a2, a3, a4, a5) GASNETI_SCI_REQUEST("gasnet_AMRequestShort6", \
  gasneti_sci_request_short_w3((n), (h), GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5)))
#define gasnet_AMRequestShort6(...) GASNETI_SCI_RequestShort_X6(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X7(n, h, a0, a1, a2, a3, a4, a5, a6) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort7", gasneti_sci_request_short_w4((n), (h), GASNETI_SCI_ARGS7(a0, a1, \
  a2, a3, a4, a5, a6)))
#define gasnet_AMRequestShort7(...) GASNETI_SCI_RequestShort_X7(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X8(n, h, a0, a1, a2, a3, a4, a5, a6, a7) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort8", gasneti_sci_request_short_w4((n), (h), GASNETI_SCI_ARGS8(a0, a1, \
  a2, a3, a4, a5, a6, a7)))
#define gasnet_AMRequestShort8(...) GASNETI_SCI_RequestShort_X8(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X9(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort9", gasneti_sci_request_short_w5((n), (h), GASNETI_SCI_ARGS9(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8)))
#define gasnet_AMRequestShort9(...) GASNETI_SCI_RequestShort_X9(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X10(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort10", gasneti_sci_request_short_w5((n), (h), GASNETI_SCI_ARGS10(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9)))
#define gasnet_AMRequestShort10(...) GASNETI_SCI_RequestShort_X10(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X11(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort11", gasneti_sci_request_short_w6((n), (h), GASNETI_SCI_ARGS11(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10)))
#define gasnet_AMRequestShort11(...) GASNETI_SCI_RequestShort_X11(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X12(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort12", gasneti_sci_request_short_w6((n), (h), GASNETI_SCI_ARGS12(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)))
#define gasnet_AMRequestShort12(...) GASNETI_SCI_RequestShort_X12(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X13(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort13", gasneti_sci_request_short_w7((n), (h), GASNETI_SCI_ARGS13(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)))
#define gasnet_AMRequestShort13(...) GASNETI_SCI_RequestShort_X13(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X14(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort14", gasneti_sci_request_short_w7((n), (h), GASNETI_SCI_ARGS14(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)))
#define gasnet_AMRequestShort14(...) GASNETI_SCI_RequestShort_X14(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X15(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort15", gasneti_sci_request_short_w8((n), (h), GASNETI_SCI_ARGS15(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)))
#define gasnet_AMRequestShort15(...) GASNETI_SCI_RequestShort_X15(__VA_ARGS__)
#define GASNETI_SCI_RequestShort_X16(n, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestShort16", gasneti_sci_request_short_w8((n), (h), GASNETI_SCI_ARGS16(a0, a1, \
  a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)))
#define gasnet_AMRequestShort16(...) GASNETI_SCI_RequestShort_X16(__VA_ARGS__)

/* gasnet_AMRequestMedium */
#define GASNETI_SCI_RequestMedium_X0(n, h, s, l) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium0", \
  gasneti_sci_request_medium((n), (h), GASNETI_SCI_FROM(s), (l), NULL, 0))
#define gasnet_AMRequestMedium0(...) GASNETI_SCI_RequestMedium_X0(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X1(n, h, s, l, a0) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium1", \
  gasneti_sci_request_medium_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_ARGS1(a0)))
#define gasnet_AMRequestMedium1(...) GASNETI_SCI_RequestMedium_X1(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X2(n, h, s, l, a0, a1) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium2", \
  gasneti_sci_request_medium_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_ARGS2(a0, a1)))
#define gasnet_AMRequestMedium2(...) GASNETI_SCI_RequestMedium_X2(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X3(n, h, s, l, a0, a1, a2) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium3", \
  gasneti_sci_request_medium_w2((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_ARGS3(a0, a1, a2)))
#define gasnet_AMRequestMedium3(...) GASNETI_SCI_RequestMedium_X3(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X4(n, h, s, l, a0, a1, a2, a3) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium4", \
  gasneti_sci_request_medium_w2((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_ARGS4(a0, a1, a2, a3)))
#define gasnet_AMRequestMedium4(...) GASNETI_SCI_RequestMedium_X4(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X5(n, h, s, l, a0, a1, a2, a3, a4) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium5", gasneti_sci_request_medium_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4)))
#define gasnet_AMRequestMedium5(...) GASNETI_SCI_RequestMedium_X5(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X6(n, h, s, l, a0, a1, a2, a3, a4, a5) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium6", gasneti_sci_request_medium_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5)))
#define gasnet_AMRequestMedium6(...) GASNETI_SCI_RequestMedium_X6(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X7(n, h, s, l, a0, a1, a2, a3, a4, a5, a6) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium7", gasneti_sci_request_medium_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6)))
#define gasnet_AMRequestMedium7(...) GASNETI_SCI_RequestMedium_X7(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X8(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium8", gasneti_sci_request_medium_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7)))
#define gasnet_AMRequestMedium8(...) GASNETI_SCI_RequestMedium_X8(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X9(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium9", gasneti_sci_request_medium_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8)))
#define gasnet_AMRequestMedium9(...) GASNETI_SCI_RequestMedium_X9(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X10(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium10", gasneti_sci_request_medium_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)))
#define gasnet_AMRequestMedium10(...) GASNETI_SCI_RequestMedium_X10(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X11(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium11", gasneti_sci_request_medium_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)))
#define gasnet_AMRequestMedium11(...) GASNETI_SCI_RequestMedium_X11(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X12(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium12", gasneti_sci_request_medium_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)))
#define gasnet_AMRequestMedium12(...) GASNETI_SCI_RequestMedium_X12(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X13(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium13", gasneti_sci_request_medium_w7((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)))
#define gasnet_AMRequestMedium13(...) GASNETI_SCI_RequestMedium_X13(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X14(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestMedium14", gasneti_sci_request_medium_w7((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)))
#define gasnet_AMRequestMedium14(...) GASNETI_SCI_RequestMedium_X14(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X15(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium15", gasneti_sci_request_medium_w8((n), (h), GASNETI_SCI_FROM(s), \
  (l), GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)))
#define gasnet_AMRequestMedium15(...) GASNETI_SCI_RequestMedium_X15(__VA_ARGS__)
#define GASNETI_SCI_RequestMedium_X16(n, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14, a15) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium16", gasneti_sci_request_medium_w8((n), (h), \
  GASNETI_SCI_FROM(s), (l), GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)))
#define gasnet_AMRequestMedium16(...) GASNETI_SCI_RequestMedium_X16(__VA_ARGS__)

/* gasnet_AMRequestLong */
#define GASNETI_SCI_RequestLong_X0(n, h, s, l, d) GASNETI_SCI_REQUEST("gasnet_AMRequestLong0", \
  gasneti_sci_request_long((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0))
#define gasnet_AMRequestLong0(...) GASNETI_SCI_RequestLong_X0(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X1(n, h, s, l, d, a0) GASNETI_SCI_REQUEST("gasnet_AMRequestLong1", \
  gasneti_sci_request_long_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS1(a0)))
#define gasnet_AMRequestLong1(...) GASNETI_SCI_RequestLong_X1(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X2(n, h, s, l, d, a0, a1) GASNETI_SCI_REQUEST("gasnet_AMRequestLong2", \
  gasneti_sci_request_long_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS2(a0, a1)))
#define gasnet_AMRequestLong2(...) GASNETI_SCI_RequestLong_X2(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X3(n, h, s, l, d, a0, a1, a2) GASNETI_SCI_REQUEST("gasnet_AMRequestLong3", \
  gasneti_sci_request_long_w2((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS3(a0, a1, a2)))
#define gasnet_AMRequestLong3(...) GASNETI_SCI_RequestLong_X3(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X4(n, h, s, l, d, a0, a1, a2, a3) GASNETI_SCI_REQUEST("gasnet_AMRequestLong4", \
  gasneti_sci_request_long_w2((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS4(a0, a1, a2, a3)))
#define gasnet_AMRequestLong4(...) GASNETI_SCI_RequestLong_X4(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X5(n, h, s, l, d, a0, a1, a2, a3, a4) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong5", gasneti_sci_request_long_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4)))
#define gasnet_AMRequestLong5(...) GASNETI_SCI_RequestLong_X5(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X6(n, h, s, l, d, a0, a1, a2, a3, a4, a5) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong6", gasneti_sci_request_long_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5)))
#define gasnet_AMRequestLong6(...) GASNETI_SCI_RequestLong_X6(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X7(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong7", gasneti_sci_request_long_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6)))
#define gasnet_AMRequestLong7(...) GASNETI_SCI_RequestLong_X7(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X8(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong8", gasneti_sci_request_long_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7)))
#define gasnet_AMRequestLong8(...) GASNETI_SCI_RequestLong_X8(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X9(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong9", gasneti_sci_request_long_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8)))
#define gasnet_AMRequestLong9(...) GASNETI_SCI_RequestLong_X9(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X10(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong10", gasneti_sci_request_long_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)))
#define gasnet_AMRequestLong10(...) GASNETI_SCI_RequestLong_X10(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X11(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong11", gasneti_sci_request_long_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)))
#define gasnet_AMRequestLong11(...) GASNETI_SCI_RequestLong_X11(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X12(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong12", gasneti_sci_request_long_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)))
#define gasnet_AMRequestLong12(...) GASNETI_SCI_RequestLong_X12(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X13(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong13", gasneti_sci_request_long_w7((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)))
#define gasnet_AMRequestLong13(...) GASNETI_SCI_RequestLong_X13(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X14(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLong14", gasneti_sci_request_long_w7((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)))
#define gasnet_AMRequestLong14(...) GASNETI_SCI_RequestLong_X14(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X15(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14) GASNETI_SCI_REQUEST("gasnet_AMRequestLong15", gasneti_sci_request_long_w8((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)))
#define gasnet_AMRequestLong15(...) GASNETI_SCI_RequestLong_X15(__VA_ARGS__)
#define GASNETI_SCI_RequestLong_X16(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14, a15) GASNETI_SCI_REQUEST("gasnet_AMRequestLong16", gasneti_sci_request_long_w8((n), (h), GASNETI_SCI_FROM(s), \
  (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)))
#define gasnet_AMRequestLong16(...) GASNETI_SCI_RequestLong_X16(__VA_ARGS__)

/* gasnet_AMRequestLongAsync */
#define GASNETI_SCI_RequestLongAsync_X0(n, h, s, l, d) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync0", \
  gasneti_sci_request_long((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0))
#define gasnet_AMRequestLongAsync0(...) GASNETI_SCI_RequestLongAsync_X0(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X1(n, h, s, l, d, a0) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync1", \
  gasneti_sci_request_long_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS1(a0)))
#define gasnet_AMRequestLongAsync1(...) GASNETI_SCI_RequestLongAsync_X1(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X2(n, h, s, l, d, a0, a1) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync2", \
  gasneti_sci_request_long_w1((n), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS2(a0, a1)))
#define gasnet_AMRequestLongAsync2(...) GASNETI_SCI_RequestLongAsync_X2(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X3(n, h, s, l, d, a0, a1, a2) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync3", gasneti_sci_request_long_w2((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS3(a0, a1, a2)))
#define gasnet_AMRequestLongAsync3(...) GASNETI_SCI_RequestLongAsync_X3(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X4(n, h, s, l, d, a0, a1, a2, a3) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync4", gasneti_sci_request_long_w2((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS4(a0, a1, a2, a3)))
#define gasnet_AMRequestLongAsync4(...) GASNETI_SCI_RequestLongAsync_X4(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X5(n, h, s, l, d, a0, a1, a2, a3, a4) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync5", gasneti_sci_request_long_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4)))
#define gasnet_AMRequestLongAsync5(...) GASNETI_SCI_RequestLongAsync_X5(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X6(n, h, s, l, d, a0, a1, a2, a3, a4, a5) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync6", gasneti_sci_request_long_w3((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5)))
#define gasnet_AMRequestLongAsync6(...) GASNETI_SCI_RequestLongAsync_X6(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X7(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync7", gasneti_sci_request_long_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6)))
#define gasnet_AMRequestLongAsync7(...) GASNETI_SCI_RequestLongAsync_X7(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X8(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync8", gasneti_sci_request_long_w4((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7)))
#define gasnet_AMRequestLongAsync8(...) GASNETI_SCI_RequestLongAsync_X8(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X9(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync9", gasneti_sci_request_long_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8)))
#define gasnet_AMRequestLongAsync9(...) GASNETI_SCI_RequestLongAsync_X9(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X10(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync10", gasneti_sci_request_long_w5((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)))
#define gasnet_AMRequestLongAsync10(...) GASNETI_SCI_RequestLongAsync_X10(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X11(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync11", gasneti_sci_request_long_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)))
#define gasnet_AMRequestLongAsync11(...) GASNETI_SCI_RequestLongAsync_X11(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X12(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync12", gasneti_sci_request_long_w6((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)))
#define gasnet_AMRequestLongAsync12(...) GASNETI_SCI_RequestLongAsync_X12(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X13(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync13", gasneti_sci_request_long_w7((n), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)))
#define gasnet_AMRequestLongAsync13(...) GASNETI_SCI_RequestLongAsync_X13(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X14(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
  a13) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync14", gasneti_sci_request_long_w7((n), (h), GASNETI_SCI_FROM(s), \
  (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)))
#define gasnet_AMRequestLongAsync14(...) GASNETI_SCI_RequestLongAsync_X14(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X15(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
  a13, a14) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync15", gasneti_sci_request_long_w8((n), (h), \
  GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)))
#define gasnet_AMRequestLongAsync15(...) GASNETI_SCI_RequestLongAsync_X15(__VA_ARGS__)
#define GASNETI_SCI_RequestLongAsync_X16(n, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
  a13, a14, a15) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync16", gasneti_sci_request_long_w8((n), (h), \
  GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14, a15)))
#define gasnet_AMRequestLongAsync16(...) GASNETI_SCI_RequestLongAsync_X16(__VA_ARGS__)

/* gasnet_AMReplyShort */
#define GASNETI_SCI_ReplyShort_X0(t, h) gasneti_sci_reply_short_w0(GASNETI_SCI_TOKEN("gasnet_AMReplyShort0", t), \
  (h), 0)
#define gasnet_AMReplyShort0(...) GASNETI_SCI_ReplyShort_X0(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X1(t, h, a0) gasneti_sci_reply_short_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyShort1", \
  t), (h), GASNETI_SCI_ARGS1(a0))
#define gasnet_AMReplyShort1(...) GASNETI_SCI_ReplyShort_X1(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X2(t, h, a0, a1) \
  gasneti_sci_reply_short_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyShort2", t), (h), GASNETI_SCI_ARGS2(a0, a1))
#define gasnet_AMReplyShort2(...) GASNETI_SCI_ReplyShort_X2(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X3(t, h, a0, a1, a2) \
  gasneti_sci_reply_short_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyShort3", t), (h), GASNETI_SCI_ARGS3(a0, a1, a2))
#define gasnet_AMReplyShort3(...) GASNETI_SCI_ReplyShort_X3(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X4(t, h, a0, a1, a2, a3) \
  gasneti_sci_reply_short_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyShort4", t), (h), GASNETI_SCI_ARGS4(a0, a1, a2, \
  a3))
#define gasnet_AMReplyShort4(...) GASNETI_SCI_ReplyShort_X4(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X5(t, h, a0, a1, a2, a3, a4) \
  gasneti_sci_reply_short_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyShort5", t), (h), GASNETI_SCI_ARGS5(a0, a1, a2, a3, \
  a4))
#define gasnet_AMReplyShort5(...) GASNETI_SCI_ReplyShort_X5(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X6(t, h, a0, a1, a2, a3, a4, a5) \
  gasneti_sci_reply_short_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyShort6", t), (h), GASNETI_SCI_ARGS6(a0, a1, a2, a3, \
  a4, a5))
#define gasnet_AMReplyShort6(...) GASNETI_SCI_ReplyShort_X6(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X7(t, h, a0, a1, a2, a3, a4, a5, a6) \
  gasneti_sci_reply_short_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyShort7", t), (h), GASNETI_SCI_ARGS7(a0, a1, a2, a3, \
  a4, a5, a6))
#define gasnet_AMReplyShort7(...) GASNETI_SCI_ReplyShort_X7(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X8(t, h, a0, a1, a2, a3, a4, a5, a6, a7) \
  gasneti_sci_reply_short_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyShort8", t), (h), GASNETI_SCI_ARGS8(a0, a1, a2, a3, \
  a4, a5, a6, a7))
#define gasnet_AMReplyShort8(...) GASNETI_SCI_ReplyShort_X8(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X9(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  gasneti_sci_reply_short_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyShort9", t), (h), GASNETI_SCI_ARGS9(a0, a1, a2, a3, \
  a4, a5, a6, a7, a8))
#define gasnet_AMReplyShort9(...) GASNETI_SCI_ReplyShort_X9(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X10(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  gasneti_sci_reply_short_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyShort10", t), (h), GASNETI_SCI_ARGS10(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9))
#define gasnet_AMReplyShort10(...) GASNETI_SCI_ReplyShort_X10(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X11(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  gasneti_sci_reply_short_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyShort11", t), (h), GASNETI_SCI_ARGS11(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10))
#define gasnet_AMReplyShort11(...) GASNETI_SCI_ReplyShort_X11(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X12(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  gasneti_sci_reply_short_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyShort12", t), (h), GASNETI_SCI_ARGS12(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define gasnet_AMReplyShort12(...) GASNETI_SCI_ReplyShort_X12(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X13(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  gasneti_sci_reply_short_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyShort13", t), (h), GASNETI_SCI_ARGS13(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define gasnet_AMReplyShort13(...) GASNETI_SCI_ReplyShort_X13(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X14(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  gasneti_sci_reply_short_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyShort14", t), (h), GASNETI_SCI_ARGS14(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define gasnet_AMReplyShort14(...) GASNETI_SCI_ReplyShort_X14(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X15(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  gasneti_sci_reply_short_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyShort15", t), (h), GASNETI_SCI_ARGS15(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define gasnet_AMReplyShort15(...) GASNETI_SCI_ReplyShort_X15(__VA_ARGS__)
#define GASNETI_SCI_ReplyShort_X16(t, h, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) \
  gasneti_sci_reply_short_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyShort16", t), (h), GASNETI_SCI_ARGS16(a0, a1, a2, \
  a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15))
#define gasnet_AMReplyShort16(...) GASNETI_SCI_ReplyShort_X16(__VA_ARGS__)

/* gasnet_AMReplyMedium */
#define GASNETI_SCI_ReplyMedium_X0(t, h, s, l) \
  gasneti_sci_reply_medium(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium0", t), (h), GASNETI_SCI_FROM(s), (l), NULL, 0)
#define gasnet_AMReplyMedium0(...) GASNETI_SCI_ReplyMedium_X0(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X1(t, h, s, l, a0) \
  gasneti_sci_reply_medium_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium1", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS1(a0))
#define gasnet_AMReplyMedium1(...) GASNETI_SCI_ReplyMedium_X1(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X2(t, h, s, l, a0, a1) \
  gasneti_sci_reply_medium_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium2", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS2(a0, a1))
#define gasnet_AMReplyMedium2(...) GASNETI_SCI_ReplyMedium_X2(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X3(t, h, s, l, a0, a1, a2) \
  gasneti_sci_reply_medium_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium3", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS3(a0, a1, a2))
#define gasnet_AMReplyMedium3(...) GASNETI_SCI_ReplyMedium_X3(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X4(t, h, s, l, a0, a1, a2, a3) \
  gasneti_sci_reply_medium_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium4", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS4(a0, a1, a2, a3))
#define gasnet_AMReplyMedium4(...) GASNETI_SCI_ReplyMedium_X4(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X5(t, h, s, l, a0, a1, a2, a3, a4) \
  gasneti_sci_reply_medium_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium5", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4))
#define gasnet_AMReplyMedium5(...) GASNETI_SCI_ReplyMedium_X5(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X6(t, h, s, l, a0, a1, a2, a3, a4, a5) \
  gasneti_sci_reply_medium_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium6", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5))
#define gasnet_AMReplyMedium6(...) GASNETI_SCI_ReplyMedium_X6(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X7(t, h, s, l, a0, a1, a2, a3, a4, a5, a6) \
  gasneti_sci_reply_medium_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium7", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6))
#define gasnet_AMReplyMedium7(...) GASNETI_SCI_ReplyMedium_X7(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X8(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7) \
  gasneti_sci_reply_medium_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium8", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define gasnet_AMReplyMedium8(...) GASNETI_SCI_ReplyMedium_X8(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X9(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  gasneti_sci_reply_medium_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium9", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define gasnet_AMReplyMedium9(...) GASNETI_SCI_ReplyMedium_X9(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X10(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  gasneti_sci_reply_medium_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium10", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define gasnet_AMReplyMedium10(...) GASNETI_SCI_ReplyMedium_X10(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X11(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  gasneti_sci_reply_medium_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium11", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define gasnet_AMReplyMedium11(...) GASNETI_SCI_ReplyMedium_X11(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X12(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  gasneti_sci_reply_medium_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium12", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define gasnet_AMReplyMedium12(...) GASNETI_SCI_ReplyMedium_X12(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X13(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  gasneti_sci_reply_medium_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium13", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define gasnet_AMReplyMedium13(...) GASNETI_SCI_ReplyMedium_X13(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X14(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  gasneti_sci_reply_medium_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium14", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define gasnet_AMReplyMedium14(...) GASNETI_SCI_ReplyMedium_X14(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X15(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  gasneti_sci_reply_medium_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium15", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define gasnet_AMReplyMedium15(...) GASNETI_SCI_ReplyMedium_X15(__VA_ARGS__)
#define GASNETI_SCI_ReplyMedium_X16(t, h, s, l, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
  a15) gasneti_sci_reply_medium_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium16", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15))
#define gasnet_AMReplyMedium16(...) GASNETI_SCI_ReplyMedium_X16(__VA_ARGS__)

/* gasnet_AMReplyLong */
#define GASNETI_SCI_ReplyLong_X0(t, h, s, l, d) gasneti_sci_reply_long(GASNETI_SCI_TOKEN("gasnet_AMReplyLong0", \
  t), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), NULL, 0)
#define gasnet_AMReplyLong0(...) GASNETI_SCI_ReplyLong_X0(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X1(t, h, s, l, d, a0) \
  gasneti_sci_reply_long_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyLong1", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS1(a0))
#define gasnet_AMReplyLong1(...) GASNETI_SCI_ReplyLong_X1(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X2(t, h, s, l, d, a0, a1) \
  gasneti_sci_reply_long_w1(GASNETI_SCI_TOKEN("gasnet_AMReplyLong2", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS2(a0, a1))
#define gasnet_AMReplyLong2(...) GASNETI_SCI_ReplyLong_X2(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X3(t, h, s, l, d, a0, a1, a2) \
  gasneti_sci_reply_long_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyLong3", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS3(a0, a1, a2))
#define gasnet_AMReplyLong3(...) GASNETI_SCI_ReplyLong_X3(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X4(t, h, s, l, d, a0, a1, a2, a3) \
  gasneti_sci_reply_long_w2(GASNETI_SCI_TOKEN("gasnet_AMReplyLong4", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS4(a0, a1, a2, a3))
#define gasnet_AMReplyLong4(...) GASNETI_SCI_ReplyLong_X4(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X5(t, h, s, l, d, a0, a1, a2, a3, a4) \
  gasneti_sci_reply_long_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyLong5", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS5(a0, a1, a2, a3, a4))
#define gasnet_AMReplyLong5(...) GASNETI_SCI_ReplyLong_X5(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X6(t, h, s, l, d, a0, a1, a2, a3, a4, a5) \
  gasneti_sci_reply_long_w3(GASNETI_SCI_TOKEN("gasnet_AMReplyLong6", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS6(a0, a1, a2, a3, a4, a5))
#define gasnet_AMReplyLong6(...) GASNETI_SCI_ReplyLong_X6(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X7(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6) \
  gasneti_sci_reply_long_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyLong7", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS7(a0, a1, a2, a3, a4, a5, a6))
#define gasnet_AMReplyLong7(...) GASNETI_SCI_ReplyLong_X7(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X8(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7) \
  gasneti_sci_reply_long_w4(GASNETI_SCI_TOKEN("gasnet_AMReplyLong8", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define gasnet_AMReplyLong8(...) GASNETI_SCI_ReplyLong_X8(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X9(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  gasneti_sci_reply_long_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyLong9", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define gasnet_AMReplyLong9(...) GASNETI_SCI_ReplyLong_X9(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X10(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  gasneti_sci_reply_long_w5(GASNETI_SCI_TOKEN("gasnet_AMReplyLong10", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define gasnet_AMReplyLong10(...) GASNETI_SCI_ReplyLong_X10(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X11(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  gasneti_sci_reply_long_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyLong11", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define gasnet_AMReplyLong11(...) GASNETI_SCI_ReplyLong_X11(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X12(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  gasneti_sci_reply_long_w6(GASNETI_SCI_TOKEN("gasnet_AMReplyLong12", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define gasnet_AMReplyLong12(...) GASNETI_SCI_ReplyLong_X12(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X13(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  gasneti_sci_reply_long_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyLong13", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define gasnet_AMReplyLong13(...) GASNETI_SCI_ReplyLong_X13(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X14(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  gasneti_sci_reply_long_w7(GASNETI_SCI_TOKEN("gasnet_AMReplyLong14", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define gasnet_AMReplyLong14(...) GASNETI_SCI_ReplyLong_X14(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X15(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14) gasneti_sci_reply_long_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyLong15", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define gasnet_AMReplyLong15(...) GASNETI_SCI_ReplyLong_X15(__VA_ARGS__)
#define GASNETI_SCI_ReplyLong_X16(t, h, s, l, d, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14, a15) gasneti_sci_reply_long_w8(GASNETI_SCI_TOKEN("gasnet_AMReplyLong16", t), (h), GASNETI_SCI_FROM(s), (l), \
  GASNETI_SCI_TO(d), GASNETI_SCI_ARGS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15))
#define gasnet_AMReplyLong16(...) GASNETI_SCI_ReplyLong_X16(__VA_ARGS__)

/* ---- the variable-argument forms: numargs (0-16), then that many arguments, each passed as an int ---- */
GASNETI_SCI_INLINE void gasneti_sci_pack(uint64_t *words, int numargs, va_list ap) {
  int i;
  for (i = 0; i < numargs && i < GASNETI_SCI_MAX_ARGS; i++) {
    uint64_t a = GASNETI_SCI_ARG(va_arg(ap, gasnet_handlerarg_t));
    if (i % 2 == 0)
      words[i / 2] = a;
    else
      words[i / 2] |= a << 32;
  }
}
GASNETI_SCI_INLINE int gasneti_sci_request_short_va(gasnet_node_t to, gasnet_handler_t handler, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_short(to, handler, words, (uint32_t)numargs);
}
#define gasnet_AMRequestShort(...) GASNETI_SCI_REQUEST("gasnet_AMRequestShort", gasneti_sci_request_short_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_medium_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_medium(to, handler, src, nbytes, words, (uint32_t)numargs);
}
#define gasnet_AMRequestMedium(...) GASNETI_SCI_REQUEST("gasnet_AMRequestMedium", gasneti_sci_request_medium_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_request_long_va(gasnet_node_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_request_long(to, handler, src, nbytes, dest_addr, words, (uint32_t)numargs);
}
#define gasnet_AMRequestLong(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLong", gasneti_sci_request_long_va(__VA_ARGS__))
#define gasnet_AMRequestLongAsync(...) GASNETI_SCI_REQUEST("gasnet_AMRequestLongAsync", gasneti_sci_request_long_va(__VA_ARGS__))
GASNETI_SCI_INLINE int gasneti_sci_reply_short_va(gasnet_token_t to, gasnet_handler_t handler, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_short(to, handler, words, (uint32_t)numargs);
}
#define GASNETI_SCI_ReplyShort_X(t, ...) gasneti_sci_reply_short_va(GASNETI_SCI_TOKEN("gasnet_AMReplyShort", t), __VA_ARGS__)
#define gasnet_AMReplyShort(...) GASNETI_SCI_ReplyShort_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_medium_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_medium(to, handler, src, nbytes, words, (uint32_t)numargs);
}
#define GASNETI_SCI_ReplyMedium_X(t, ...) gasneti_sci_reply_medium_va(GASNETI_SCI_TOKEN("gasnet_AMReplyMedium", t), __VA_ARGS__)
#define gasnet_AMReplyMedium(...) GASNETI_SCI_ReplyMedium_X(__VA_ARGS__)
GASNETI_SCI_INLINE int gasneti_sci_reply_long_va(gasnet_token_t to, gasnet_handler_t handler,
    const void *src, size_t nbytes, void *dest_addr, int numargs, ...) {
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];
  va_list ap;
  va_start(ap, numargs);
  gasneti_sci_pack(words, numargs, ap);
  va_end(ap);
  return gasneti_sci_reply_long(to, handler, src, nbytes, dest_addr, words, (uint32_t)numargs);
}
#define GASNETI_SCI_ReplyLong_X(t, ...) gasneti_sci_reply_long_va(GASNETI_SCI_TOKEN("gasnet_AMReplyLong", t), __VA_ARGS__)
#define gasnet_AMReplyLong(...) GASNETI_SCI_ReplyLong_X(__VA_ARGS__)

/* The same functions by other names, which small programs call (contract: core.md appendix B). */
#define gasnetc_AMRequestShortM gasnet_AMRequestShort
#define gasnetc_AMRequestMediumM gasnet_AMRequestMedium
#define gasnetc_AMRequestLongM gasnet_AMRequestLong
#define gasnetc_AMRequestLongAsyncM gasnet_AMRequestLongAsync
#define gasnetc_AMReplyShortM gasnet_AMReplyShort
#define gasnetc_AMReplyMediumM gasnet_AMReplyMedium
#define gasnetc_AMReplyLongM gasnet_AMReplyLong

/* ---- token queries, polling, waiting ---- */
#define gasnet_AMGetMsgSource(token, node) gasneti_sci_msg_source((token), (node))
#define gasnet_AMPoll() GASNETI_SCI_REQUEST("gasnet_AMPoll", gasneti_sci_do_poll())

/* Serves messages until `cond`, any scalar expression, is true. Evaluates `cond` before the first poll and after
 * each one, and reads values anew each time that handlers, other threads or peers' puts may change. Sleeps at most a
 * millisecond at a time. */
#define GASNET_BLOCKUNTIL(cond) GASNETI_SCI_BLOCKUNTIL((void)0, (cond))
/* The same; evaluates `func` each time before it evaluates `cond`. */
#define GASNET_BLOCKUNTIL2(func, cond) GASNETI_SCI_BLOCKUNTIL((func), (cond))
#define GASNETI_SCI_BLOCKUNTIL(func, cond)                                                                           \
  do {                                                                                                               \
    uint32_t gasneti_sci_failed = 0;                                                                                 \
    while ((func), !(cond)) {                                                                                        \
      gasneti_sci_failed =                                                                                           \
          GASNETI_SCI_CHECKED("GASNET_BLOCKUNTIL", GASNETI_SCI_RULES_CLIENT, gasneti_sci_wait(gasneti_sci_failed)); \
      GASNETI_SCI_FENCE_COMPILER();                                                                                  \
    }                                                                                                                \
    GASNETI_SCI_FENCE_ACQUIRE();                                                                                     \
  } while (0)

#endif
