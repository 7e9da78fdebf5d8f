/* Active Messages by value: category, spelling and argument count are parameters, so that a test can walk all of them.
 * Also the 17 parameter lists, for tests that define a handler per argument count. Used by testcore*.c. */
#ifndef GASNET_SCI_TESTCOREAM_H
#define GASNET_SCI_TESTCOREAM_H

#include "../testcore.h"

/* X(0) … X(16). */
#define CORE_EACH(X)                                                                                                 \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* Parameters of a handler with m arguments, each preceded by its comma. */
#define CORE_P0
#define CORE_P1 , gasnet_handlerarg_t a0
#define CORE_P2 CORE_P1, gasnet_handlerarg_t a1
#define CORE_P3 CORE_P2, gasnet_handlerarg_t a2
#define CORE_P4 CORE_P3, gasnet_handlerarg_t a3
#define CORE_P5 CORE_P4, gasnet_handlerarg_t a4
#define CORE_P6 CORE_P5, gasnet_handlerarg_t a5
#define CORE_P7 CORE_P6, gasnet_handlerarg_t a6
#define CORE_P8 CORE_P7, gasnet_handlerarg_t a7
#define CORE_P9 CORE_P8, gasnet_handlerarg_t a8
#define CORE_P10 CORE_P9, gasnet_handlerarg_t a9
#define CORE_P11 CORE_P10, gasnet_handlerarg_t a10
#define CORE_P12 CORE_P11, gasnet_handlerarg_t a11
#define CORE_P13 CORE_P12, gasnet_handlerarg_t a12
#define CORE_P14 CORE_P13, gasnet_handlerarg_t a13
#define CORE_P15 CORE_P14, gasnet_handlerarg_t a14
#define CORE_P16 CORE_P15, gasnet_handlerarg_t a15

/* Their names, each followed by a comma: {CORE_N2 0} is an array of a0, a1 and a 0. */
#define CORE_N0
#define CORE_N1 a0,
#define CORE_N2 CORE_N1 a1,
#define CORE_N3 CORE_N2 a2,
#define CORE_N4 CORE_N3 a3,
#define CORE_N5 CORE_N4 a4,
#define CORE_N6 CORE_N5 a5,
#define CORE_N7 CORE_N6 a6,
#define CORE_N8 CORE_N7 a7,
#define CORE_N9 CORE_N8 a8,
#define CORE_N10 CORE_N9 a9,
#define CORE_N11 CORE_N10 a10,
#define CORE_N12 CORE_N11 a11,
#define CORE_N13 CORE_N12 a12,
#define CORE_N14 CORE_N13 a13,
#define CORE_N15 CORE_N14 a14,
#define CORE_N16 CORE_N15 a15,

/* m elements of the array a, each preceded by a comma. */
#define CORE_A0
#define CORE_A1 , a[0]
#define CORE_A2 CORE_A1, a[1]
#define CORE_A3 CORE_A2, a[2]
#define CORE_A4 CORE_A3, a[3]
#define CORE_A5 CORE_A4, a[4]
#define CORE_A6 CORE_A5, a[5]
#define CORE_A7 CORE_A6, a[6]
#define CORE_A8 CORE_A7, a[7]
#define CORE_A9 CORE_A8, a[8]
#define CORE_A10 CORE_A9, a[9]
#define CORE_A11 CORE_A10, a[10]
#define CORE_A12 CORE_A11, a[11]
#define CORE_A13 CORE_A12, a[12]
#define CORE_A14 CORE_A13, a[13]
#define CORE_A15 CORE_A14, a[14]
#define CORE_A16 CORE_A15, a[15]

/* Sends one message, given by its target (for replies: `token`), its content, and its spelling in the source.
 * Callers pass arrays of CORE_MAXARGS arguments, because the compiler sees reads of all of them. */
struct core_am {
  int category;    /* SHORT … LONGASYNC */
  int spelling;    /* 0: gasnet_AM…<M>, 1: gasnet_AM… with a count */
  gasnet_handler_t handler;
  void *src;       /* Medium and Long */
  size_t nbytes;
  void *dst;       /* Long */
  int numargs;     /* 0 … 16 */
};

/* The list is expanded before the call's name meets it, as the contract promises for lists that macros make. */
#define CORE_CALL(name, list) name list
#define CORE_CASES(prefix, list)                                                                                     \
  CORE_CASE(prefix, 0, list) CORE_CASE(prefix, 1, list) CORE_CASE(prefix, 2, list) CORE_CASE(prefix, 3, list)        \
  CORE_CASE(prefix, 4, list) CORE_CASE(prefix, 5, list) CORE_CASE(prefix, 6, list) CORE_CASE(prefix, 7, list)        \
  CORE_CASE(prefix, 8, list) CORE_CASE(prefix, 9, list) CORE_CASE(prefix, 10, list) CORE_CASE(prefix, 11, list)      \
  CORE_CASE(prefix, 12, list) CORE_CASE(prefix, 13, list) CORE_CASE(prefix, 14, list) CORE_CASE(prefix, 15, list)    \
  CORE_CASE(prefix, 16, list)
#define CORE_CASE(prefix, m, list)                                                                                   \
  case m:                                                                                                            \
    return CORE_CALL(gasnet_AM##prefix##m, (list(m) CORE_A##m));                                                     \
  case 100 + m:                                                                                                      \
    return CORE_CALL(gasnet_AM##prefix, (list(m), m CORE_A##m));

#define CORE_SHORT_LIST(m) to, am->handler
#define CORE_MEDIUM_LIST(m) to, am->handler, am->src, am->nbytes
#define CORE_LONG_LIST(m) to, am->handler, am->src, am->nbytes, am->dst

/* `to` is a node in requests and a token in replies. */
#define CORE_SENDER(name, to_type, prefix, list)                                                                     \
  static int TEST_UNUSED name(to_type to, const struct core_am *am, const gasnet_handlerarg_t *a) {                  \
    switch (am->numargs + 100 * am->spelling) {                                                                      \
      CORE_CASES(prefix, list)                                                                                       \
      default:                                                                                                       \
        return GASNET_ERR_BAD_ARG;                                                                                   \
    }                                                                                                                \
  }

CORE_SENDER(core_request_short, gasnet_node_t, RequestShort, CORE_SHORT_LIST)
CORE_SENDER(core_request_medium, gasnet_node_t, RequestMedium, CORE_MEDIUM_LIST)
CORE_SENDER(core_request_long, gasnet_node_t, RequestLong, CORE_LONG_LIST)
CORE_SENDER(core_request_longasync, gasnet_node_t, RequestLongAsync, CORE_LONG_LIST)
CORE_SENDER(core_reply_short, gasnet_token_t, ReplyShort, CORE_SHORT_LIST)
CORE_SENDER(core_reply_medium, gasnet_token_t, ReplyMedium, CORE_MEDIUM_LIST)
CORE_SENDER(core_reply_long, gasnet_token_t, ReplyLong, CORE_LONG_LIST)

static void TEST_UNUSED core_request(gasnet_node_t to, const struct core_am *am, const gasnet_handlerarg_t *a) {
  switch (am->category) {
    case SHORT:
      GASNET_SAFE(core_request_short(to, am, a));
      break;
    case MEDIUM:
      GASNET_SAFE(core_request_medium(to, am, a));
      break;
    case LONG:
      GASNET_SAFE(core_request_long(to, am, a));
      break;
    default:
      GASNET_SAFE(core_request_longasync(to, am, a));
  }
}

static void TEST_UNUSED core_reply(gasnet_token_t to, const struct core_am *am, const gasnet_handlerarg_t *a) {
  switch (am->category) {
    case SHORT:
      GASNET_SAFE(core_reply_short(to, am, a));
      break;
    case MEDIUM:
      GASNET_SAFE(core_reply_medium(to, am, a));
      break;
    default:
      GASNET_SAFE(core_reply_long(to, am, a));
  }
}

#endif
