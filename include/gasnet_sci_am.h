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
#if GASNETI_SCI_DIRECT
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
/* Compilers decide it where the index is a constant. */
#define GASNETI_SCI_IS_CLIENTS(handler) GASNETI_SCI_EXPECT((handler) >= GASNETI_SCI_FIRST_CLIENT, 1)
#define GASNETI_SCI_REQUEST_BODY(n)                                                                                  \
  uint32_t outstanding = 0;                                                                                          \
  gasneti_sci_way_t *way = GASNETI_SCI_IS_CLIENTS(handler) ? gasneti_sci_way_to(to, &outstanding) : NULL;            \
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
#define GASNETI_SCI_REPLY_BODY(n)                                                                                    \
  uint64_t *slot = GASNETI_SCI_IS_CLIENTS(handler) ? gasneti_sci_reply_at(to) : NULL;                                \
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
#define gasneti_sci_request_short_w0(to, handler, numargs) gasneti_sci_request_short((to), (handler), NULL, (numargs))
GASNETI_SCI_EACH_LINE(GASNETI_SCI_SHORT, request_short, gasnet_node_t);
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

/* ---- the numbered forms. The public name forwards once its arguments are expanded; a GASNETI_SCI_ARGSn has the exact
 * number of arguments. Made by the pattern that the first ones show. ---- */
#define GASNETI_SCI_NODE(name, node) (node)
#define GASNETI_SCI_ROW_SHORT(send, args, to_of, name, to, h, ...)                                                   \
  send(to_of(name, to), (h), args(__VA_ARGS__))
#define GASNETI_SCI_ROW_MEDIUM(send, args, to_of, name, to, h, s, l, ...)                                            \
  send(to_of(name, to), (h), GASNETI_SCI_FROM(s), (l), args(__VA_ARGS__))
#define GASNETI_SCI_ROW_LONG(send, args, to_of, name, to, h, s, l, d, ...)                                           \
  send(to_of(name, to), (h), GASNETI_SCI_FROM(s), (l), GASNETI_SCI_TO(d), args(__VA_ARGS__))

/* ---- polling, waiting ---- */
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
    GASNETI_SCI_CHECKED("GASNET_BLOCKUNTIL", GASNETI_SCI_RULES_CLIENT, (void)0);                                     \
    while ((func), !(cond)) {                                                                                        \
      gasneti_sci_failed =                                                                                           \
          GASNETI_SCI_CHECKED("GASNET_BLOCKUNTIL", GASNETI_SCI_RULES_CLIENT, gasneti_sci_wait(gasneti_sci_failed)); \
      GASNETI_SCI_FENCE_COMPILER();                                                                                  \
    }                                                                                                                \
    GASNETI_SCI_FENCE_ACQUIRE();                                                                                     \
  } while (0)

/* Arguments of a call with a variable number of them, each passed as an int, two in a word. */
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
#endif
