/* A helper that some clients include (contract: core.md appendix B): they write a handler whose arguments hold
 * pointers once, for 32 and 64 bits. The client writes the work of handler h as a plain function h_inner(token,
 * pointer). Then
 *
 *   SHORT_HANDLER(h, 1, 2, (token, UNPACK(a0)), (token, UNPACK2(a0, a1)));    defines the handler, which calls h_inner:
 *                                      h_32 with 1 argument where pointers have 32 bits, h_64 with 2 where they have 64
 *   gasneti_handler_tableentry_with_bits(h)                                   is its entry, at index gasneti_handleridx(h)
 *   SHORT_REQ(1, 2, (node, gasneti_handleridx(h), PACK(pointer)))             sends to it
 *
 * The lists may name token, a0, a1, ..., and in Mediums and Longs addr and nbytes. A handler without pointers is the
 * plain function h. Its entry is gasneti_handler_tableentry_no_bits(h), and SHORT_HANDLER_NOBITS_DECL(h, 2);
 * declares it. */
#ifndef _GASNET_HANDLER_H
#define _GASNET_HANDLER_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#include <gasnet.h>

/* The client defines _hidx_NAME. */
#define gasneti_handleridx(name) _hidx_##name

#if defined(__cplusplus)
typedef void (*gasneti_sci_fnptr_t)();
#define GASNETI_SCI_FNPTR(name) GASNETI_SCI_AS(gasneti_sci_fnptr_t, name)
#elif defined(GASNET_USE_STRICT_PROTOTYPES) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define GASNETI_SCI_FNPTR(name) ((void *)name)
#else
#define GASNETI_SCI_FNPTR(name) name
#endif
#define gasneti_handler_tableentry_no_bits(name) { gasneti_handleridx(name), GASNETI_SCI_FNPTR(name) }
#if defined(GASNETI_SCI_PTR_64)
#define GASNETI_SCI_BITS(name) name##_64
#define GASNETI_SCI_WIDTH(bits32, bits64) bits64
#else
#define GASNETI_SCI_BITS(name) name##_32
#define GASNETI_SCI_WIDTH(bits32, bits64) bits32
#endif
#define gasneti_handler_tableentry_with_bits(name) { gasneti_handleridx(name), GASNETI_SCI_FNPTR(GASNETI_SCI_BITS(name)) }

/* A pointer as arguments, high word first; evaluated once per word. */
#define GASNETI_SCI_WORD(bits) GASNETI_SCI_AS(gasnet_handlerarg_t, GASNETI_SCI_AS(uint32_t, bits))
#if defined(GASNETI_SCI_PTR_64)
#define PACK(ptr) GASNETI_SCI_WORD(GASNETI_SCI_AS(uintptr_t, ptr) >> 32), GASNETI_SCI_WORD(GASNETI_SCI_AS(uintptr_t, ptr))
#else
#define PACK(ptr) GASNETI_SCI_WORD(GASNETI_SCI_AS(uintptr_t, ptr))
#endif
#define GASNETI_SCI_POINTER(bits) GASNETI_SCI_AS(gasneti_sci_memory_t, GASNETI_SCI_AS(uintptr_t, bits))
#define UNPACK(a0) GASNETI_SCI_POINTER(GASNETI_SCI_AS(uint32_t, a0))
#define UNPACK2(a0, a1)                                                                                              \
  GASNETI_SCI_POINTER(GASNETI_SCI_AS(uint64_t, GASNETI_SCI_AS(uint32_t, a0)) << 32 | GASNETI_SCI_AS(uint32_t, a1))

/* Lists of parameters and of arguments, with a comma in front. */
#include "gasnet_sci_handler_rows.h"

/* A client whose handlers are all in one file may define this as static. */
#ifndef GASNETI_HANDLER_SCOPE
#define GASNETI_HANDLER_SCOPE extern
#endif
#define GASNETI_SCI_SHORT_HEAD(function, count)                                                                      \
  GASNETI_HANDLER_SCOPE void function(gasnet_token_t token ARGS##count)
#define GASNETI_SCI_LONG_HEAD(function, count)                                                                       \
  GASNETI_HANDLER_SCOPE void function(gasnet_token_t token, void *addr, size_t nbytes ARGS##count)

#define SHORT_HANDLER_NOBITS_DECL(name, count) GASNETI_SCI_SHORT_HEAD(name, count)
#define MEDIUM_HANDLER_NOBITS_DECL(name, count) GASNETI_SCI_LONG_HEAD(name, count)
#define LONG_HANDLER_NOBITS_DECL(name, count) GASNETI_SCI_LONG_HEAD(name, count)
#define SHORT_HANDLER_DECL(name, count32, count64)                                                                   \
  GASNETI_SCI_WIDTH(GASNETI_SCI_SHORT_HEAD(name##_32, count32), GASNETI_SCI_SHORT_HEAD(name##_64, count64))
#define MEDIUM_HANDLER_DECL(name, count32, count64)                                                                  \
  GASNETI_SCI_WIDTH(GASNETI_SCI_LONG_HEAD(name##_32, count32), GASNETI_SCI_LONG_HEAD(name##_64, count64))
#define LONG_HANDLER_DECL(name, count32, count64) MEDIUM_HANDLER_DECL(name, count32, count64)

/* The definition of a handler. The declaration after it takes the client's semicolon. */
#define SHORT_HANDLER(name, count32, count64, args32, args64)                                                        \
  SHORT_HANDLER_DECL(name, count32, count64);                                                                        \
  SHORT_HANDLER_DECL(name, count32, count64) { name##_inner GASNETI_SCI_WIDTH(args32, args64); }                     \
  struct gasneti_sci_semicolon
#define MEDIUM_HANDLER(name, count32, count64, args32, args64)                                                       \
  MEDIUM_HANDLER_DECL(name, count32, count64);                                                                       \
  MEDIUM_HANDLER_DECL(name, count32, count64) { name##_inner GASNETI_SCI_WIDTH(args32, args64); }                    \
  struct gasneti_sci_semicolon
#define LONG_HANDLER(name, count32, count64, args32, args64) MEDIUM_HANDLER(name, count32, count64, args32, args64)

/* int: the value that the request or reply returns. */
#if defined(GASNETI_SCI_PTR_64)
#define SHORT_REQ(count32, count64, args) gasnet_AMRequestShort##count64 args
#define MEDIUM_REQ(count32, count64, args) gasnet_AMRequestMedium##count64 args
#define LONG_REQ(count32, count64, args) gasnet_AMRequestLong##count64 args
#define LONGASYNC_REQ(count32, count64, args) gasnet_AMRequestLongAsync##count64 args
#define SHORT_REP(count32, count64, args) gasnet_AMReplyShort##count64 args
#define MEDIUM_REP(count32, count64, args) gasnet_AMReplyMedium##count64 args
#define LONG_REP(count32, count64, args) gasnet_AMReplyLong##count64 args
#else
#define SHORT_REQ(count32, count64, args) gasnet_AMRequestShort##count32 args
#define MEDIUM_REQ(count32, count64, args) gasnet_AMRequestMedium##count32 args
#define LONG_REQ(count32, count64, args) gasnet_AMRequestLong##count32 args
#define LONGASYNC_REQ(count32, count64, args) gasnet_AMRequestLongAsync##count32 args
#define SHORT_REP(count32, count64, args) gasnet_AMReplyShort##count32 args
#define MEDIUM_REP(count32, count64, args) gasnet_AMReplyMedium##count32 args
#define LONG_REP(count32, count64, args) gasnet_AMReplyLong##count32 args
#endif

#endif
