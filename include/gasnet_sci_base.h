/* The common part of gasnet.h and gasnet_tools.h: debug mode, system headers, sizes, helper macros.
 * Contract: core.md sections 1, 2; tools.md sections 1.3, 1.4. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h or gasnet_tools.h, not gasnet_sci_base.h"
#endif
#ifndef GASNETI_SCI_BASE_H
#define GASNETI_SCI_BASE_H

/* ---- debug mode: the client's choice; one library serves both ---- */
#if defined(GASNET_DEBUG) && defined(GASNET_NDEBUG)
#error "define at most one of GASNET_DEBUG and GASNET_NDEBUG"
#endif
#if defined(GASNET_DEBUG)
#undef GASNET_DEBUG
#define GASNET_DEBUG 1
#define GASNETI_SCI_MODE_CHECKS GASNETI_SCI_MODE_DEBUG
#define GASNETI_SCI_DEBUG_STR "debug"
#else
#undef GASNET_NDEBUG
#define GASNET_NDEBUG 1
#define GASNETI_SCI_MODE_CHECKS GASNETI_SCI_MODE_NDEBUG
#define GASNETI_SCI_DEBUG_STR "nodebug"
#endif

/* ---- system headers that clients may rely on ---- */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
/* sys/param.h defines MIN and MAX, too. A client that has its own ones keeps them. */
#if defined(MIN) || defined(MAX)
#pragma push_macro("MIN")
#pragma push_macro("MAX")
#include <sys/param.h>
#pragma pop_macro("MIN")
#pragma pop_macro("MAX")
#else
#include <sys/param.h>
#endif

/* ---- macros that a configuration header would define; the client's own one may define some of them, too ---- */
#ifndef HAVE_PTHREAD_H
#define HAVE_PTHREAD_H 1
#endif
#ifndef HAVE_MMAP
#define HAVE_MMAP 1
#endif
#ifndef SIZEOF_INT
#define SIZEOF_INT 4
#endif
#if defined(__LP64__) || defined(_LP64)
#define GASNETI_SCI_PTR_64 1
#ifndef SIZEOF_LONG
#define SIZEOF_LONG 8
#endif
#ifndef SIZEOF_VOID_P
#define SIZEOF_VOID_P 8
#endif
#else
#ifndef SIZEOF_LONG
#define SIZEOF_LONG 4
#endif
#ifndef SIZEOF_VOID_P
#define SIZEOF_VOID_P 4
#endif
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && !defined(WORDS_BIGENDIAN)
#define WORDS_BIGENDIAN 1
#endif

/* ---- printf conversions of size_t and ptrdiff_t, without the % ---- */
#if defined(GASNETI_SCI_PTR_64)
#define GASNETI_SCI_PRI "l"
#else
#define GASNETI_SCI_PRI ""
#endif
#ifndef PRIuSZ
#define PRIuSZ GASNETI_SCI_PRI "u"
#define PRIdSZ GASNETI_SCI_PRI "d"
#define PRIiSZ GASNETI_SCI_PRI "i"
#define PRIoSZ GASNETI_SCI_PRI "o"
#define PRIxSZ GASNETI_SCI_PRI "x"
#define PRIXSZ GASNETI_SCI_PRI "X"
#endif
#ifndef PRIdPD
#define PRIuPD GASNETI_SCI_PRI "u"
#define PRIdPD GASNETI_SCI_PRI "d"
#define PRIiPD GASNETI_SCI_PRI "i"
#define PRIoPD GASNETI_SCI_PRI "o"
#define PRIxPD GASNETI_SCI_PRI "x"
#define PRIXPD GASNETI_SCI_PRI "X"
#endif

/* ---- sizes, for #if and array bounds ---- */
#define GASNET_PAGESIZE 4096
#define GASNETI_SCI_PAGESHIFT 12
#if defined(__aarch64__) || defined(__powerpc__)
#define GASNETI_SCI_CACHE_LINE_BYTES 128 /* some AArch64 processors have 256: docs/architectures.md */
#else
#define GASNETI_SCI_CACHE_LINE_BYTES 64
#endif

/* ---- helper macros that clients use and do not define ---- */
#ifndef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#endif
#ifndef MAX
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#endif
#ifndef _STRINGIFY
#define _STRINGIFY_HELPER(x) #x
#define _STRINGIFY(x) _STRINGIFY_HELPER(x)
#endif
#ifndef _CONCAT
#define _CONCAT_HELPER(a, b) a##b
#define _CONCAT(a, b) _CONCAT_HELPER(a, b)
#endif
#ifndef PATH_MAX
#define PATH_MAX 4096
#endif
#ifndef STDIN_FILENO
#define STDIN_FILENO 0
#endif
#ifndef STDOUT_FILENO
#define STDOUT_FILENO 1
#endif
#ifndef STDERR_FILENO
#define STDERR_FILENO 2
#endif
#define GASNETI_SCI_STRING_(x) #x
#define GASNETI_SCI_STRING(x) GASNETI_SCI_STRING_(x)

#define GASNETI_SCI_RELEASE_STR                                                                                      \
  GASNETI_SCI_STRING(GASNET_RELEASE_VERSION_MAJOR)                                                                   \
  "." GASNETI_SCI_STRING(GASNET_RELEASE_VERSION_MINOR) "." GASNETI_SCI_STRING(GASNET_RELEASE_VERSION_PATCH)

/* How the headers implement timers, fences and atomics: inline, with the cpu's counter and the compiler's builtins. */
#if defined(__x86_64__) || defined(__aarch64__)
#define GASNETI_SCI_TIMERS timers_native
#else
#define GASNETI_SCI_TIMERS timers_posixrt
#endif
#define GASNETI_SCI_PRIMITIVES_STR                                                                                   \
  GASNETI_SCI_STRING(GASNETI_SCI_TIMERS) ",membars_native,atomics_compiler,atomic32_compiler,atomic64_compiler"

/* ---- the compiler ---- */
/* A cast in a macro that clients use. In C++ it has the form type(value), because -Wold-style-cast would warn of the
 * C form in the client's line. `type` must be one word. */
#if defined(__cplusplus)
#define GASNETI_SCI_AS(type, value) (type(value))
#else
#define GASNETI_SCI_AS(type, value) ((type)(value))
#endif
/* A pointer or an integer as two message arguments, and back: uint32_t GASNETI_HIWORD(x), GASNETI_LOWORD(x), and
 * uint64_t GASNETI_MAKEWORD(hi, lo), which takes the low 32 bits of each, whatever their signs. */
#define GASNETI_HIWORD(x) GASNETI_SCI_AS(uint32_t, GASNETI_SCI_AS(uint64_t, x) >> 32)
#define GASNETI_LOWORD(x) GASNETI_SCI_AS(uint32_t, GASNETI_SCI_AS(uint64_t, x) & 0xffffffff)
#define GASNETI_MAKEWORD(hi, lo)                                                                                     \
  (GASNETI_SCI_AS(uint64_t, hi) << 32 | (GASNETI_SCI_AS(uint64_t, lo) & 0xffffffff))
typedef void *gasneti_sci_memory_t;
typedef const void *gasneti_sci_source_t;
/* The inline functions stand between these two. They are C, so their casts have the C form. */
#if defined(__GNUC__) && defined(__cplusplus)
#define GASNETI_SCI_BEGIN_C _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")
#define GASNETI_SCI_END_C _Pragma("GCC diagnostic pop")
#else
#define GASNETI_SCI_BEGIN_C
#define GASNETI_SCI_END_C
#endif
#if defined(__GNUC__)
#define GASNETI_SCI_EXPECT(e, v) __builtin_expect((e), (v))
#define GASNETI_SCI_UNUSED __attribute__((__unused__))
#define GASNETI_SCI_NORETURN __attribute__((__noreturn__))
#define GASNETI_PREFETCH_READ_HINT(p) __builtin_prefetch(GASNETI_SCI_AS(gasneti_sci_source_t, p), 0)
#define GASNETI_PREFETCH_WRITE_HINT(p) __builtin_prefetch(GASNETI_SCI_AS(gasneti_sci_source_t, p), 1)
#else
#define GASNETI_SCI_EXPECT(e, v) (e)
#define GASNETI_SCI_UNUSED
#define GASNETI_SCI_NORETURN
#define GASNETI_PREFETCH_READ_HINT(p) ((void)(p))
#define GASNETI_PREFETCH_WRITE_HINT(p) ((void)(p))
#endif
/* static inline, for C99, C++ and old compilers, without a warning if the client does not use the function */
#define GASNETI_SCI_INLINE static inline GASNETI_SCI_UNUSED
#if defined(__GNUC__) && !defined(__cplusplus)
#undef GASNETI_SCI_INLINE
#define GASNETI_SCI_INLINE static __inline__ GASNETI_SCI_UNUSED
#endif

/* ThreadSanitizer does not understand fences, and gcc warns of each. Nor does it see what the library does with a
 * lock, so the headers tell it. */
#if defined(__SANITIZE_THREAD__)
#define GASNETI_SCI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GASNETI_SCI_TSAN 1
#endif
#endif
#if defined(GASNETI_SCI_TSAN)
#if defined(__cplusplus)
extern "C" {
#endif
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#if defined(__cplusplus)
}
#endif
#define GASNETI_SCI_TAKEN(lock) __tsan_acquire(lock)
#define GASNETI_SCI_GIVEN(lock) __tsan_release(lock)
#define GASNETI_SCI_FENCE(order) __sync_synchronize()
#else
#define GASNETI_SCI_TAKEN(lock) ((void)0)
#define GASNETI_SCI_GIVEN(lock) ((void)0)
#define GASNETI_SCI_FENCE(order) __atomic_thread_fence(order)
#endif

#if defined(__GNUC__)
#define GASNETI_SCI_ALWAYS static __inline__ __attribute__((__always_inline__, __unused__))
#else
#define GASNETI_SCI_ALWAYS static inline
#endif

#ifndef if_pf
#define if_pf(cond) if (GASNETI_SCI_EXPECT(!!(cond), 0))
#endif
#ifndef if_pt
#define if_pt(cond) if (GASNETI_SCI_EXPECT(!!(cond), 1))
#endif

/* A C++ runtime takes the address of this function, to silence a warning. */
GASNETI_SCI_INLINE void _gasneti_threadkey_init(void) {}
/* Another calls this, for the same reason. */
#define gasneti_threadkey_init(key) ((void)(key))

#endif
