/* Compiler annotations for clients: inlining, attributes, hints, linkage. Part of gasnet_tools.h; contract: tools.md
 * sections 1.5, 5.
 *
 * The client may define GASNETT_USE_* as 1 or 0 before it includes this. The macros of a feature that is 0 expand to
 * code without effect. Attributes are written with underscores, because clients may define words like used or hot. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_attr.h"
#endif
#ifndef GASNETI_SCI_TOOLS_ATTR_H
#define GASNETI_SCI_TOOLS_ATTR_H

/* ---- features: these defaults hold unless the client defines them ---- */
#if defined(__GNUC__)
#define GASNETI_SCI_GNU 1
#else
#define GASNETI_SCI_GNU 0
#endif
#if defined(GASNETT_USE_RESTRICT_ON_TYPEDEFS) && !defined(GASNETT_USE_RESTRICT)
#error "GASNETT_USE_RESTRICT_ON_TYPEDEFS is defined, but GASNETT_USE_RESTRICT is not"
#endif
#include "gasnet_sci_tools_rows.h" /* features that are on with compilers like gcc, and attributes that are one word */
#define GASNETI_UNUSED GASNETT_UNUSED /* no public name: test programs of GASNet use it (core.md appendix B) */
#ifndef GASNETT_USE_GCC_ATTRIBUTE_FALLTHROUGH
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 7)
#define GASNETT_USE_GCC_ATTRIBUTE_FALLTHROUGH 1
#else
#define GASNETT_USE_GCC_ATTRIBUTE_FALLTHROUGH 0
#endif
#endif
#ifndef GASNETT_USE_CTYPE_WRAPPERS
#define GASNETT_USE_CTYPE_WRAPPERS 0
#endif

/* ---- attributes ---- */
#if GASNETT_USE_GCC_ATTRIBUTE_MAYALIAS
#define GASNETI_SCI_MAY_ALIAS __attribute__((__may_alias__))
#else
#define GASNETI_SCI_MAY_ALIAS
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_MALLOC
#define GASNETI_SCI_MALLOC_ __attribute__((__malloc__))
#else
#define GASNETI_SCI_MALLOC_
#endif
#define GASNETT_MALLOC GASNETI_SCI_MALLOC_ GASNETT_WARN_UNUSED_RESULT

/* Clients write these on a line of their own after a prototype, without semicolon: old compilers need pragmas there. */
#define GASNETT_NORETURNP(fn)
#define GASNETT_MALLOCP(fn)
#define GASNETT_PUREP(fn)
#define GASNETT_CONSTP(fn)

/* ---- inlining: clients write these instead of the storage class ---- */
#if GASNETT_USE_GCC_ATTRIBUTE_ALWAYSINLINE && !defined(GASNET_DEBUG)
#define GASNETI_SCI_ALWAYS_INLINE_ __attribute__((__always_inline__))
#else
#define GASNETI_SCI_ALWAYS_INLINE_
#endif
#if defined(GASNET_DEBUG)
#define GASNETT_INLINE(fn) static GASNETI_SCI_UNUSED
#else
#define GASNETT_INLINE(fn) GASNETI_SCI_INLINE GASNETI_SCI_ALWAYS_INLINE_
#endif
#define GASNETT_ALWAYS_INLINE(fn) GASNETT_INLINE(fn)
#if defined(GASNETT_USE_PLEASE_INLINE)
#define GASNETT_PLEASE_INLINE(fn) GASNETT_USE_PLEASE_INLINE(fn)
#elif defined(GASNET_DEBUG)
#define GASNETT_PLEASE_INLINE(fn) static GASNETI_SCI_UNUSED
#else
#define GASNETT_PLEASE_INLINE(fn) GASNETI_SCI_INLINE
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_NOINLINE
#define GASNETT_NEVER_INLINE(fn, declarator) __attribute__((__noinline__)) declarator
#else
#define GASNETT_NEVER_INLINE(fn, declarator) declarator
#endif

/* ---- printf checking around a prototype, the head of a definition, or a pointer's declaration ---- */
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT
#define GASNETT_FORMAT_PRINTF(fn, fmtarg, firstvar, declarator)                                                      \
  __attribute__((__format__(__printf__, fmtarg, firstvar))) declarator
#else
#define GASNETT_FORMAT_PRINTF(fn, fmtarg, firstvar, declarator) declarator
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvar, declarator)                                              \
  __attribute__((__format__(__printf__, fmtarg, firstvar))) declarator
#else
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvar, declarator) declarator
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_FORMAT_FUNCPTR_ARG
#define GASNETT_FORMAT_PRINTF_FUNCPTR_ARG(fn, fmtarg, firstvar, declarator)                                          \
  GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmtarg, firstvar, declarator)
#else
#define GASNETT_FORMAT_PRINTF_FUNCPTR_ARG(fn, fmtarg, firstvar, declarator) declarator
#endif

/* ---- pointers ---- */
#if GASNETT_USE_RESTRICT && defined(__GNUC__)
#define GASNETT_RESTRICT __restrict__
#elif GASNETT_USE_RESTRICT && !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define GASNETT_RESTRICT restrict
#else
#define GASNETT_RESTRICT
#endif

/* ---- hints; they return the value of their argument, as wide as a pointer ---- */
#if GASNETT_USE_BUILTIN_EXPECT
#define GASNETT_PREDICT_TRUE(e) __builtin_expect(GASNETI_SCI_AS(long, GASNETI_SCI_AS(uintptr_t, e)), 1)
#define GASNETT_PREDICT_FALSE(e) __builtin_expect(GASNETI_SCI_AS(long, GASNETI_SCI_AS(uintptr_t, e)), 0)
#else
#define GASNETT_PREDICT_TRUE(e) GASNETI_SCI_AS(long, GASNETI_SCI_AS(uintptr_t, e))
#define GASNETT_PREDICT_FALSE(e) GASNETI_SCI_AS(long, GASNETI_SCI_AS(uintptr_t, e))
#endif
#if GASNETT_USE_BUILTIN_CONSTANT_P
#define gasnett_constant_p(e) __builtin_constant_p(e)
#else
#define gasnett_constant_p(e) 0
#endif
/* void gasnett_unreachable(): control never comes here. gasnett_assume(c): c holds; evaluated at most once.
 * Configure scripts look for gasneti_builtin_unreachable. They copy the text of some expansions into headers that must compile
 * without ours: of these three, of GASNETT_PREDICT_*, the attributes and gasnett_spinloop_hint. So those name nothing of ours. */
#if GASNETT_USE_BUILTIN_UNREACHABLE
#define gasnett_unreachable() __builtin_unreachable()
#define gasneti_builtin_unreachable() __builtin_unreachable()
#else
#define gasnett_unreachable() ((void)0)
#define gasneti_builtin_unreachable() ((void)0)
#endif
#if GASNETT_USE_BUILTIN_ASSUME && GASNETT_USE_BUILTIN_UNREACHABLE
#define gasnett_assume(c) ((c) ? (void)0 : __builtin_unreachable())
#else
#define gasnett_assume(c) ((void)0)
#endif
#if GASNETT_USE_GCC_ATTRIBUTE_FALLTHROUGH
#define GASNETT_FALLTHROUGH __attribute__((__fallthrough__));
#else
#define GASNETT_FALLTHROUGH
#endif

/* ---- unused arguments ---- */
#define GASNETT_UNUSED_ARGS1(a) ((void)(a))
#define GASNETT_UNUSED_ARGS2(a, b) ((void)(a), (void)(b))
#define GASNETT_UNUSED_ARGS3(a, b, c) ((void)(a), (void)(b), (void)(c))
#define GASNETT_UNUSED_ARGS4(a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define GASNETT_UNUSED_ARGS5(a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))
#define GASNETT_UNUSED_ARGS6(a, b, c, d, e, f) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f))
#define GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f), (void)(g))
#define GASNETT_UNUSED_ARGS8(a, b, c, d, e, f, g, h) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e), (void)(f), (void)(g), (void)(h))

/* ---- place in the source ---- */
#if defined(__GNUC__) && defined(__cplusplus)
#define GASNETT_CURRENT_FUNCTION __PRETTY_FUNCTION__
#else
#define GASNETT_CURRENT_FUNCTION __func__
#endif
/* char *: function, file and line of this place, in new heap memory that is never freed; NULL if there is no memory. */
#define gasnett_current_loc gasneti_sci_place(GASNETT_CURRENT_FUNCTION, __FILE__, __LINE__)
GASNETI_SCI_INLINE char *gasneti_sci_place(const char *function, const char *file, int line) {
  size_t room = strlen(function) + strlen(file) + 16;
  char *text = (char *)malloc(room);
  if (text) snprintf(text, room, "%s(%s:%d)", function, file, line);
  return text;
}

/* ---- linkage ---- */
#if defined(__cplusplus)
#define GASNETT_BEGIN_EXTERNC extern "C" {
#define GASNETT_END_EXTERNC }
#define GASNETT_EXTERNC extern "C"
#else
#define GASNETT_BEGIN_EXTERNC
#define GASNETT_END_EXTERNC
#define GASNETT_EXTERNC extern
#endif
#define GASNETT_TENTATIVE_EXTERN extern

/* At file scope: defines a global array with the text, which the optimiser and the linker must keep in the
 * executable. Old compilers have no attribute for that; there a constructor reads the array. */
#if defined(__has_attribute)
#if __has_attribute(__retain__)
#define GASNETI_SCI_RETAIN __attribute__((__used__, __retain__))
#endif
#endif
#if defined(GASNETI_SCI_RETAIN)
#define GASNETT_IDENT(id, text)                                                                                      \
  GASNETT_EXTERNC char id[sizeof(text)];                                                                             \
  GASNETI_SCI_RETAIN char id[sizeof(text)] = text
#elif defined(__GNUC__)
#define GASNETT_IDENT(id, text)                                                                                      \
  GASNETT_EXTERNC char id[sizeof(text)];                                                                             \
  __attribute__((__constructor__, __unused__)) static void gasneti_sci_keep_##id(void) {                             \
    __asm__ __volatile__("" : : "r"(id));                                                                            \
  }                                                                                                                  \
  char id[sizeof(text)] = text
#else
#define GASNETT_IDENT(id, text)                                                                                      \
  GASNETT_EXTERNC char id[sizeof(text)];                                                                             \
  char id[sizeof(text)] = text
#endif

#endif
