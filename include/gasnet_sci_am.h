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
#include "gasnet_sci_rows.h"

/* Shorts of one line are sent here, if that is possible: gasneti_sci_requested_wN and gasneti_sci_replied_wN return 1 then, else 0. */
#if GASNETI_SCI_DIRECT
#if GASNETI_SCI_LINE_WORDS != 7
#error "a line has another number of words: LINE_WORDS in xtask/src/headers/rows.rs"
#endif
/* Compilers decide it where the index is a constant. */
#define GASNETI_SCI_IS_CLIENTS(handler) GASNETI_SCI_EXPECT((handler) >= GASNETI_SCI_FIRST_CLIENT, 1)
#define GASNETI_SCI_LINE(n)                                                                                          \
  GASNETI_SCI_ALWAYS int gasneti_sci_requested_w##n(gasnet_node_t to, gasnet_handler_t handler,                      \
                                                    uint32_t numargs GASNETI_SCI_LIST##n) {                          \
    uint32_t index = 0, outstanding = 0;                                                                             \
    gasneti_sci_way_t *way = GASNETI_SCI_IS_CLIENTS(handler) ? gasneti_sci_way_to(to, &index, &outstanding) : NULL;  \
    uint64_t *slot;                                                                                                  \
    if_pf (way == NULL) return 0;                                                                                    \
    slot = GASNETI_SCI_SLOT(way, index);                                                                             \
    GASNETI_SCI_STORE##n;                                                                                            \
    gasneti_sci_send(way, slot, index, outstanding, handler, numargs);                                               \
    return 1;                                                                                                        \
  }                                                                                                                  \
  GASNETI_SCI_ALWAYS int gasneti_sci_replied_w##n(gasnet_token_t to, gasnet_handler_t handler,                       \
                                                  uint32_t numargs GASNETI_SCI_LIST##n) {                            \
    uint64_t *slot = GASNETI_SCI_IS_CLIENTS(handler) ? gasneti_sci_reply_at(to) : NULL;                              \
    if_pf (slot == NULL) return 0;                                                                                   \
    GASNETI_SCI_STORE##n;                                                                                            \
    gasneti_sci_answer(slot, handler, numargs);                                                                      \
    return 1;                                                                                                        \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
GASNETI_SCI_LINE(0);
GASNETI_SCI_EACH_LINE(GASNETI_SCI_LINE);
#define GASNETI_SCI_IF_SENT(verb, n) if_pt (gasneti_sci_##verb##_w##n(to, handler, numargs GASNETI_SCI_PASS##n))
#else
#define GASNETI_SCI_IF_SENT(verb, n) if (0)
#endif
#define gasneti_sci_requested_w8(...) 0
#define gasneti_sci_replied_w8(...) 0

/* A message's `what`, by which the library knows who calls: `how` has bits GASNETI_SCI_AM_*. */
#define GASNETI_SCI_WHAT(how, handler, numargs)                                                                      \
  ((uint32_t)(how) | (uint32_t)(handler) << GASNETI_SCI_META_HANDLER | (uint32_t)(numargs) << GASNETI_SCI_META_NUMARGS)
#define GASNETI_SCI_SHORT(verb, sent, to_t, n)                                                                       \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler,                                \
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    GASNETI_SCI_IF_SENT(sent, n) return GASNET_OK;                                                                   \
    {                                                                                                                \
      GASNETI_SCI_TABLE##n;                                                                                          \
      return gasneti_sci_##verb(to, GASNETI_SCI_WHAT(0, handler, numargs), words);                                   \
    }                                                                                                                \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_MEDIUM(verb, to_t, n)                                                                            \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler, const void *src, size_t nbytes,\
                                                   uint32_t numargs GASNETI_SCI_LIST##n) {                           \
    GASNETI_SCI_TABLE##n;                                                                                            \
    return gasneti_sci_##verb(to, GASNETI_SCI_WHAT(0, handler, numargs), src, nbytes, words);                        \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_LONG(verb, to_t, n)                                                                              \
  GASNETI_SCI_INLINE int gasneti_sci_##verb##_w##n(to_t to, gasnet_handler_t handler, const void *src, size_t nbytes,\
                                                   void *dest_addr, uint32_t numargs GASNETI_SCI_LIST##n) {          \
    GASNETI_SCI_TABLE##n;                                                                                            \
    return gasneti_sci_##verb(to, GASNETI_SCI_WHAT(0, handler, numargs), src, nbytes, dest_addr, words);             \
  }                                                                                                                  \
  struct gasneti_sci_semicolon
#define GASNETI_SCI_WORDS(n)                                                                                         \
  GASNETI_SCI_SHORT(request_short, requested, gasnet_node_t, n);                                                     \
  GASNETI_SCI_MEDIUM(request_medium, gasnet_node_t, n);                                                              \
  GASNETI_SCI_LONG(request_long, gasnet_node_t, n);                                                                  \
  GASNETI_SCI_SHORT(reply_short, replied, gasnet_token_t, n);                                                        \
  GASNETI_SCI_MEDIUM(reply_medium, gasnet_token_t, n);                                                               \
  GASNETI_SCI_LONG(reply_long, gasnet_token_t, n)
GASNETI_SCI_WORDS(0);
GASNETI_SCI_EACH(GASNETI_SCI_WORDS);

/* ---- polling, waiting ---- */
#define gasnet_AMPoll() GASNETI_SCI_REQUEST("gasnet_AMPoll", gasneti_sci_do_poll())

/* Serves messages until `cond`, any scalar expression, is true. Evaluates `cond` before the first poll and after
 * each one, and reads values anew each time that handlers, other threads or peers' puts may change. Sleeps at most a
 * millisecond at a time, if few nodes share a core. */
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

/* Arguments of a call with a variable number of them, each passed as an int, two in a word; and the call's `what`. A number that is too large
 * stays so, and the library refuses it. */
GASNETI_SCI_INLINE uint32_t gasneti_sci_pack(uint64_t *words, uint32_t how, gasnet_handler_t handler, int numargs, va_list ap) {
  int i;
  for (i = 0; i < numargs && i < GASNETI_SCI_MAX_ARGS; i++) {
    uint64_t a = GASNETI_SCI_ARG(va_arg(ap, gasnet_handlerarg_t));
    if (i % 2 == 0)
      words[i / 2] = a;
    else
      words[i / 2] |= a << 32;
  }
  return GASNETI_SCI_WHAT(how, handler, numargs < 0 || numargs > 255 ? 255 : numargs);
}
#define GASNETI_SCI_PACK_VA(how)                                                                                     \
  uint64_t words[GASNETI_SCI_MAX_ARGS / 2];                                                                          \
  uint32_t what;                                                                                                     \
  va_list ap;                                                                                                        \
  va_start(ap, numargs);                                                                                             \
  what = gasneti_sci_pack(words, (how), handler, numargs, ap);                                                       \
  va_end(ap)
#endif
