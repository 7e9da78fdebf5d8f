/* Modes of this object, platform macros, helper macros. Part of gasnet.h.
 * Contract: core.md sections 1, 2. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_platform.h"
#endif
#ifndef GASNETI_SCI_PLATFORM_H
#define GASNETI_SCI_PLATFORM_H

/* ---- thread mode: exactly one, normalised to 1 ---- */
#if defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR) != 1
#error "define exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before including gasnet.h"
#endif
#if defined(GASNET_SEQ)
#undef GASNET_SEQ
#define GASNET_SEQ 1
#define GASNETI_SCI_MODE_THREADS GASNETI_SCI_MODE_SEQ
#define GASNETI_SCI_THREADS_STR "SEQ"
#elif defined(GASNET_PARSYNC)
#undef GASNET_PARSYNC
#define GASNET_PARSYNC 1
#define GASNETI_SCI_MODE_THREADS GASNETI_SCI_MODE_PARSYNC
#define GASNETI_SCI_THREADS_STR "PARSYNC"
#else
#undef GASNET_PAR
#define GASNET_PAR 1
#define GASNETI_SCI_MODE_THREADS GASNETI_SCI_MODE_PAR
#define GASNETI_SCI_THREADS_STR "PAR"
#endif

/* ---- segment mode: FAST unless the client chooses another ---- */
#if defined(GASNET_SEGMENT_FAST) + defined(GASNET_SEGMENT_LARGE) + defined(GASNET_SEGMENT_EVERYTHING) > 1
#error "define at most one of GASNET_SEGMENT_FAST, GASNET_SEGMENT_LARGE and GASNET_SEGMENT_EVERYTHING"
#endif
#if defined(GASNET_SEGMENT_EVERYTHING)
#undef GASNET_SEGMENT_EVERYTHING
#define GASNET_SEGMENT_EVERYTHING 1
#define GASNETI_SCI_MODE_SEGMENT GASNETI_SCI_MODE_EVERYTHING
#define GASNETI_SCI_SEGMENT_STR "EVERYTHING"
#elif defined(GASNET_SEGMENT_LARGE)
#undef GASNET_SEGMENT_LARGE
#define GASNET_SEGMENT_LARGE 1
#define GASNETI_SCI_MODE_SEGMENT GASNETI_SCI_MODE_LARGE
#define GASNETI_SCI_SEGMENT_STR "LARGE"
#else
#undef GASNET_SEGMENT_FAST
#define GASNET_SEGMENT_FAST 1
#define GASNETI_SCI_MODE_SEGMENT GASNETI_SCI_MODE_FAST
#define GASNETI_SCI_SEGMENT_STR "FAST"
#endif

/* ---- debug: one library serves both, so the client alone chooses ---- */
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

/* ---- system headers that clients get with ours ---- */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>
#include <unistd.h>
#if !defined(GASNET_SEQ)
#include <pthread.h>
#include <sched.h>
#endif

/* ---- platform ---- */
#if defined(__LP64__) || defined(_LP64)
#define PLATFORM_ARCH_64 1
#else
#define PLATFORM_ARCH_32 1
#endif
#if defined(__x86_64__)
#define PLATFORM_ARCH_X86_64 1
#elif defined(__aarch64__)
#define PLATFORM_ARCH_AARCH64 1
#endif
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#else
#define PLATFORM_ARCH_BIG_ENDIAN 1
#define WORDS_BIGENDIAN 1
#endif
#if defined(__linux__)
#define PLATFORM_OS_LINUX 1
#endif

#define GASNETI_SCI_STRING_(x) #x
#define GASNETI_SCI_STRING(x) GASNETI_SCI_STRING_(x)

#if defined(__clang__)
#define PLATFORM_COMPILER_CLANG 1
#if defined(__cplusplus)
#define PLATFORM_COMPILER_CLANG_CXX 1
#else
#define PLATFORM_COMPILER_CLANG_C 1
#endif
#define PLATFORM_COMPILER_FAMILYNAME CLANG
#define PLATFORM_COMPILER_VERSION_STR __clang_version__
#elif defined(__GNUC__)
#define PLATFORM_COMPILER_GNU 1
#if defined(__cplusplus)
#define PLATFORM_COMPILER_GNU_CXX 1
#else
#define PLATFORM_COMPILER_GNU_C 1
#endif
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_COMPILER_VERSION_STR __VERSION__
#else
#define PLATFORM_COMPILER_FAMILYNAME UNKNOWN
#define PLATFORM_COMPILER_VERSION_STR "unknown"
#endif
#define PLATFORM_COMPILER_IDSTR "|COMPILER_FAMILY:" GASNETI_SCI_STRING(PLATFORM_COMPILER_FAMILYNAME) "|" PLATFORM_COMPILER_VERSION_STR "|"

/* ---- helper macros that clients use without defining them ---- */
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

#if defined(__GNUC__)
#define GASNETI_SCI_EXPECT(e, v) __builtin_expect((e), (v))
#define GASNETI_SCI_UNUSED __attribute__((__unused__))
#define GASNETI_SCI_NORETURN __attribute__((__noreturn__))
#else
#define GASNETI_SCI_EXPECT(e, v) (e)
#define GASNETI_SCI_UNUSED
#define GASNETI_SCI_NORETURN
#endif
/* static, usable in C99, C++ and old compilers; no warning when it is not used */
#define GASNETI_SCI_INLINE static inline GASNETI_SCI_UNUSED
#if defined(__GNUC__) && !defined(__cplusplus)
#undef GASNETI_SCI_INLINE
#define GASNETI_SCI_INLINE static __inline__ GASNETI_SCI_UNUSED
#endif

#ifndef if_pf
#define if_pf(cond) if (GASNETI_SCI_EXPECT(!!(cond), 0))
#endif
#ifndef if_pt
#define if_pt(cond) if (GASNETI_SCI_EXPECT(!!(cond), 1))
#endif

#endif
