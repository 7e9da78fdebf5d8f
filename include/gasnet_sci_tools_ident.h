/* Identification, how this object was compiled, and the check that the library fits the object. Part of gasnet_tools.h.
 * Contract: tools.md sections 1.2, 1.3. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_ident.h"
#endif
#ifndef GASNETI_SCI_TOOLS_IDENT_H
#define GASNETI_SCI_TOOLS_IDENT_H

#define GASNETT_SPEC_VERSION_MAJOR 1
#define GASNETT_SPEC_VERSION_MINOR 20
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH

#define GASNETT_PAGESIZE GASNET_PAGESIZE
#define GASNETT_PAGESHIFT GASNETI_SCI_PAGESHIFT
#define GASNETT_CACHE_LINE_BYTES GASNETI_SCI_CACHE_LINE_BYTES

/* ---- configuration, a token each ---- */
#if defined(GASNET_NDEBUG)
#define GASNETT_DEBUG_CONFIG nodebug
#else
#define GASNETT_DEBUG_CONFIG debug
#endif
#if defined(GASNETI_SCI_PTR_64)
#define GASNETT_PTR_CONFIG 64bit
#else
#define GASNETT_PTR_CONFIG 32bit
#endif
#define GASNETT_TIMER_CONFIG GASNETI_SCI_TIMERS
#define GASNETT_MEMBAR_CONFIG membars_native
#if !defined(GASNETT_LITE_MODE)
#define GASNETT_ATOMIC_CONFIG atomics_compiler
#define GASNETT_ATOMIC32_CONFIG atomic32_compiler
#define GASNETT_ATOMIC64_CONFIG atomic64_compiler
#define GASNETI_SCI_TOOLS_ATOMICS_STR                                                                                \
  "," GASNETI_SCI_STRING(GASNETT_ATOMIC_CONFIG) "," GASNETI_SCI_STRING(GASNETT_ATOMIC32_CONFIG) "," GASNETI_SCI_STRING( \
      GASNETT_ATOMIC64_CONFIG)
#else
#define GASNETI_SCI_TOOLS_ATOMICS_STR ""
#endif
#define GASNETT_CONFIG_STRING                                                                                        \
  "RELEASE=" GASNETI_SCI_RELEASE_STR ",SPEC=" GASNETI_SCI_STRING(GASNETT_SPEC_VERSION_MAJOR) "."                     \
  GASNETI_SCI_STRING(GASNETT_SPEC_VERSION_MINOR) ",PTR=" GASNETI_SCI_STRING(GASNETT_PTR_CONFIG) ","                  \
  GASNETI_SCI_STRING(GASNETT_DEBUG_CONFIG) "," GASNETT_THREAD_MODEL_STR "," GASNETI_SCI_STRING(GASNETT_TIMER_CONFIG) "," \
  GASNETI_SCI_STRING(GASNETT_MEMBAR_CONFIG) GASNETI_SCI_TOOLS_ATOMICS_STR

#if defined(__x86_64__)
#define GASNETT_SYSTEM_TUPLE "x86_64-unknown-linux-gnu"
#elif defined(__aarch64__)
#define GASNETT_SYSTEM_TUPLE "aarch64-unknown-linux-gnu"
#else
#define GASNETT_SYSTEM_TUPLE PLATFORM_STRINGIFY(PLATFORM_ARCH_FAMILYNAME) "-unknown-linux-gnu"
#endif
#define GASNETT_CONFIGURE_ARGS GASNETI_CONFIGURE_ARGS

/* The library has a C ABI, and inline code is part of the client's object. So the compiler of the tools is the
 * client's. */
#define GASNETT_PLATFORM_COMPILER_IDSTR PLATFORM_COMPILER_IDSTR
#define GASNETT_PLATFORM_COMPILER_FAMILYID PLATFORM_COMPILER_FAMILYID
#define GASNETT_PLATFORM_COMPILER_ID PLATFORM_COMPILER_ID
#define GASNETT_PLATFORM_COMPILER_VERSION PLATFORM_COMPILER_VERSION

/* ---- check that the library fits: it defines a variable for each configuration that it serves; others do not link
 * ---- */
#define GASNETI_SCI_JOIN_(a, b) a##b
#define GASNETI_SCI_JOIN(a, b) GASNETI_SCI_JOIN_(a, b)
#define GASNETT_LINKCONFIG_IDIOTCHECK(name) GASNETI_SCI_JOIN(gasnett_linkconfig_idiotcheck_, name)

#define GASNETI_SCI_CHECK_MAJOR GASNETT_LINKCONFIG_IDIOTCHECK(GASNETI_SCI_JOIN(RELEASE_MAJOR_, GASNET_RELEASE_VERSION_MAJOR))
#define GASNETI_SCI_CHECK_MINOR GASNETT_LINKCONFIG_IDIOTCHECK(GASNETI_SCI_JOIN(RELEASE_MINOR_, GASNET_RELEASE_VERSION_MINOR))
#define GASNETI_SCI_CHECK_PATCH GASNETT_LINKCONFIG_IDIOTCHECK(GASNETI_SCI_JOIN(RELEASE_PATCH_, GASNET_RELEASE_VERSION_PATCH))
extern int GASNETI_SCI_CHECK_MAJOR;
extern int GASNETI_SCI_CHECK_MINOR;
extern int GASNETI_SCI_CHECK_PATCH;
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_THREAD_MODEL);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_DEBUG_CONFIG);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_PTR_CONFIG);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_TIMER_CONFIG);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_MEMBAR_CONFIG);
#if !defined(GASNETT_LITE_MODE)
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC_CONFIG);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC32_CONFIG);
extern int GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC64_CONFIG);
#endif

static int GASNETI_SCI_UNUSED gasnett_linkconfig_idiotcheck(void) {
  return GASNETI_SCI_CHECK_MAJOR + GASNETI_SCI_CHECK_MINOR + GASNETI_SCI_CHECK_PATCH +
         GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_THREAD_MODEL) + GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_DEBUG_CONFIG) +
         GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_PTR_CONFIG) + GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_TIMER_CONFIG)
#if !defined(GASNETT_LITE_MODE)
         + GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC_CONFIG) +
         GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC32_CONFIG) + GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_ATOMIC64_CONFIG)
#endif
         + GASNETT_LINKCONFIG_IDIOTCHECK(GASNETT_MEMBAR_CONFIG);
}

/* The type of locks depends on the mode, so all objects of a program must have the same mode. Each object tells the
 * library its mode before main, and the library compares. This call also makes the linker keep the function above
 * and its symbols. */
#if defined(GASNETT_THREAD_SAFE)
#define GASNETI_SCI_TOOLS_MODE_THREADS GASNETI_SCI_TOOLS_MODE_PAR
#elif defined(GASNETT_LITE_MODE)
#define GASNETI_SCI_TOOLS_MODE_THREADS 0
#else
#define GASNETI_SCI_TOOLS_MODE_THREADS GASNETI_SCI_TOOLS_MODE_SEQ
#endif
#if defined(GASNETT_LITE_MODE)
#define GASNETI_SCI_TOOLS_MODE_CHECKS 0
#elif defined(GASNET_NDEBUG)
#define GASNETI_SCI_TOOLS_MODE_CHECKS GASNETI_SCI_TOOLS_MODE_NDEBUG
#else
#define GASNETI_SCI_TOOLS_MODE_CHECKS GASNETI_SCI_TOOLS_MODE_DEBUG
#endif
#if defined(__GNUC__)
__attribute__((__constructor__, __unused__)) static void gasneti_sci_tools_tell_modes(void) {
#if !defined(GASNETT_LITE_MODE)
  /* Strings that tools look for in the executable. Each is a literal of its own: the linker merges those of several objects. */
  static const char *const idents[] = {"$GASNetToolsConfig: " GASNETT_CONFIG_STRING " $",
                                       "$GASNetToolsThreadModel: " GASNETT_THREAD_MODEL_STR " $",
                                       "$GASNetSystemTuple: " GASNETT_SYSTEM_TUPLE " $",
                                       "$GASNetCompilerID: " PLATFORM_COMPILER_IDSTR " $",
                                       "$GASNetConfigureArgs: " GASNETT_CONFIGURE_ARGS " $"};
  __asm__ __volatile__("" : : "r"(idents)); /* the compiler must keep them */
#endif
  gasneti_sci_tools_object_0_3(GASNETI_SCI_TOOLS_MODE_THREADS | GASNETI_SCI_TOOLS_MODE_CHECKS, gasnett_linkconfig_idiotcheck());
}
#endif

#endif
