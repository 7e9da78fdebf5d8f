/* Job control, queries, locks, barriers: what gasnetex.h and gasnet.h share. Part of both.
 *
 * Each name may be a macro (contract: core.md section 1), which evaluates its arguments once. In debug builds each
 * call first checks that it is legal at its place. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_core.h"
#endif
#ifndef GASNETI_SCI_CORE_H
#define GASNETI_SCI_CORE_H

#if defined(GASNET_DEBUG)
/* Ends the job, with the name and place of the call, if `rules` forbid it there. The library reports errors that it
 * finds later in this call with the same name and place. */
#define GASNETI_SCI_CHECKED(name, rules, call) (gasneti_sci_check(name, __FILE__, __LINE__, (rules)), call)
/* The same for calls whose arguments may be checked calls themselves. As arguments of a function they are checked
 * first. */
#define GASNETI_SCI_PLACED(name, fn, ...) fn##_checked(name, __FILE__, __LINE__, __VA_ARGS__)
#define GASNETI_SCI_WRAP(ret, fn, ...)                                                                               \
  GASNETI_SCI_INLINE ret fn##_checked(const char *name, const char *file, int line, __VA_ARGS__)
/* One that has the place checked and makes the call. `again` is return, or (void). In the second form the call has another name. */
#define GASNETI_SCI_TWIN(ret, again, fn, args, ...) GASNETI_SCI_TWIN_OF(ret, again, fn, fn args, __VA_ARGS__)
#define GASNETI_SCI_TWIN_OF(ret, again, fn, call, ...)                                                               \
  GASNETI_SCI_WRAP(ret, fn, __VA_ARGS__) {                                                                           \
    gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);                                                   \
    again call;                                                                                                      \
  }
#else
#define GASNETI_SCI_CHECKED(name, rules, call) (call)
#define GASNETI_SCI_PLACED(name, fn, ...) fn(__VA_ARGS__)
#endif
/* Rules for calls that may run handlers: only after attach, and not in handlers, with a lock, or in a no-interrupt
 * section. */
#define GASNETI_SCI_RULES_CLIENT                                                                                     \
  (GASNETI_SCI_RULE_ATTACHED | GASNETI_SCI_RULE_NO_HANDLER | GASNETI_SCI_RULE_NO_LOCK | GASNETI_SCI_RULE_NO_NIS)
/* The same rules for calls that return errors. For them a call before attach is such an error, so it is not checked
 * here. */
#define GASNETI_SCI_RULES_STATUS (GASNETI_SCI_RULE_NO_HANDLER | GASNETI_SCI_RULE_NO_LOCK | GASNETI_SCI_RULE_NO_NIS)
/* Rules for calls that nobody may make in handlers or with a lock, although they neither send nor poll. */
#define GASNETI_SCI_RULES_LOCAL (GASNETI_SCI_RULE_OUTSIDE | GASNETI_SCI_RULE_NO_LOCK)

/* ---- before main, every object tells the library how it was compiled. Init refuses mixed modes, and headers of
 * another ABI do not link. GASNETI_SCI_GUEST: an object of a guest (src/api/ex/guest.rs), which belongs to no program ---- */
#define GASNETI_SCI_MODES (GASNETI_SCI_MODE_THREADS | GASNETI_SCI_MODE_SEGMENT | GASNETI_SCI_MODE_CHECKS)
#if defined(__GNUC__) && !defined(GASNETI_SCI_GUEST)
__attribute__((__constructor__, __unused__)) static void gasneti_sci_tell_modes(void) {
  gasneti_sci_object_0_3(GASNETI_SCI_MODES);
}
#endif

/* Not 0 while this process waits for a debugger. The debugger sets it to 0 to let the process continue. */
#ifndef GASNETI_SCI_FROZEN /* gasnet.h and gasnet_tools.h both declare it, and only one does for -Wredundant-decls */
#define GASNETI_SCI_FROZEN
extern volatile int gasnet_frozen;
#endif

/* ---- init, attach, exit ---- */

/* Strings that launchers and drivers look for in the executable. Some know a fixed list of conduits. Where the library is
 * installed under another conduit's name too, that conduit's directory of headers has a file that says its name. */
#if defined(__has_include)
#if __has_include(<gasnet_sci_conduit.h>)
#include <gasnet_sci_conduit.h>
#endif
#endif
#ifndef GASNETI_SCI_CONDUIT_STR
#define GASNETI_SCI_CONDUIT_STR "SCI"
#endif
/* Passed to the library, so that the linker keeps them in every executable that starts GASNet. GASNet's archives have the first text with the
 * archive's name, for which UPC compilers look. Each is a literal of its own: the linker merges the same literals of several objects, so that
 * an optimised program has each text once. None is in a macro: with -g3 the text of macros is in every object, and UPC compilers refuse an
 * object that has a configuration too many. */
GASNETI_SCI_INLINE const char *const *gasneti_sci_idents(void) {
  static const char *const idents[] = {
      "$GASNetConfig: (libgasnet.a) " GASNET_CONFIG_STRING " $",
      "$GASNetAPIVersion: 1 $",
      "$GASNetEXAPIVersion: " GASNETI_SCI_STRING(GEX_SPEC_VERSION_MAJOR) "." GASNETI_SCI_STRING(GEX_SPEC_VERSION_MINOR) " $",
      "$GASNetThreadModel: GASNET_" GASNETI_SCI_THREADS_STR " $",
      "$GASNetSegment: GASNET_SEGMENT_" GASNETI_SCI_SEGMENT_STR " $",
#if !defined(GASNET_SEGMENT_EVERYTHING)
      "$GASNetPSHM: 1 $",
#endif
      "$GASNetConduitName: " GASNETI_SCI_CONDUIT_STR " $",
      "$GASNetCoreLibraryName: SCI $",
      "$GASNetCoreLibraryVersion: " GASNET_CORE_VERSION_STR " $",
      "$GASNetExtendedLibraryName: SCI $",
      "$GASNetExtendedLibraryVersion: " GASNET_EXTENDED_VERSION_STR " $",
      "$GASNetDefaultMaxSegsize: 2147479552 $",
      "$GASNetDefaultMaxSegsizeStr: 2147479552 $",
      "$GASNetSSHSpawner: 1 $",
      "$GASNetMPISpawner: 1 $",
      "$GASNetPMISpawner: 1 $",
  };
  return idents;
}

GASNETI_SCI_INLINE int gasneti_sci_do_init(int *argc, char ***argv) {
  gasneti_sci_client_t client;
  client.modes = GASNETI_SCI_MODES;
  client.config = GASNET_CONFIG_STRING;
  client.max_segsize = &gasnet_max_segsize; /* the client's own, if it defines one */
  client.idents = gasneti_sci_idents();
  client.max_segsize_str = &gasnet_max_segsize_str;
  return gasneti_sci_init(argc, argv, &client);
}

#define gasnet_exit(code) gasneti_sci_exit(code)

/* ---- queries ---- */
#define gasnet_getMaxLocalSegmentSize() GASNETI_SCI_AS(uintptr_t, gasneti_sci_max_local_segment())
#define gasnet_getMaxGlobalSegmentSize() GASNETI_SCI_AS(uintptr_t, gasneti_sci_max_global_segment())
#define gasnet_getSegmentInfo(table, n) gasneti_sci_segment_info((table), (n))
#define gasnet_getNodeInfo(table, n) gasneti_sci_node_info((table), (n))
#define gasnet_getenv(name) gasneti_sci_getenv(name)
#define gasnet_set_waitmode(mode)                                                                                    \
  GASNETI_SCI_CHECKED("gasnet_set_waitmode", GASNETI_SCI_RULES_STATUS, gasneti_sci_set_waitmode(mode))
/* gasnet_ErrorName and gasnet_ErrorDesc are functions of the library. */

/* ---- names outside the public prefixes that clients use (contract: core.md appendix B) ---- */
#define gasneti_mynode GASNETI_SCI_AS(gasnet_node_t, gasneti_sci_mynode())
#define gasneti_nodes GASNETI_SCI_AS(gasnet_node_t, gasneti_sci_nodes())
/* const char *gasneti_gethostname(void): name of this host. Allowed at any time, in any thread. The library owns the
 * text. */
#define gasneti_gethostname() gasneti_sci_gethostname()
#if defined(__GNUC__)
__attribute__((__format__(__printf__, 1, 2))) GASNETI_SCI_NORETURN static GASNETI_SCI_UNUSED void gasneti_fatalerror(
    const char *format, ...) {
  char text[1024];
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  (void)__builtin_vsnprintf(text, sizeof text, format, arguments); /* the builtin: stdio.h is the client's choice */
  __builtin_va_end(arguments);
  gasneti_sci_fatal(text);
}
#if defined(GASNET_DEBUG)
#define gasneti_assert(expr)                                                                                         \
  ((expr) ? (void)0 : gasneti_fatalerror("assertion failed at %s:%d: %s", __FILE__, __LINE__, #expr))
#else
#define gasneti_assert(expr) ((void)0)
#endif
#endif
/* No call of this library takes a hidden thread argument. */
#define GASNETE_THREAD_GET
#define GASNETI_THREAD_GET

/* ---- thread info: an optimisation that this library does not need ---- */
#if defined(GASNET_SEQ)
#define GASNET_GET_THREADINFO() GASNETI_SCI_AS(gasnet_threadinfo_t, 0)
#else
#define GASNET_GET_THREADINFO() GASNETI_SCI_AS(gasnet_threadinfo_t, gasneti_sci_thread_info())
#endif
#define GASNET_POST_THREADINFO(info) gasnet_threadinfo_t gasneti_sci_threadinfo GASNETI_SCI_UNUSED = (info)
#define GASNET_BEGIN_FUNCTION() GASNET_POST_THREADINFO(GASNET_GET_THREADINFO())

/* ---- handler-safe locks ---- */
GASNETI_SCI_INLINE void gasneti_sci_hsl_prepare(gasnet_hsl_t *hsl) {
  hsl->gasneti_state = 0;
  hsl->gasneti_magic = GASNETI_SCI_HSL_INIT;
}

#if defined(GASNET_DEBUG)
#define GASNETI_SCI_LOCK_INIT(hsl) gasneti_sci_hsl_init_debug((hsl), __FILE__, __LINE__)
#define GASNETI_SCI_LOCK_DESTROY(hsl) gasneti_sci_hsl_destroy_debug((hsl), __FILE__, __LINE__)
GASNETI_SCI_INLINE void gasneti_sci_hsl_get(gasnet_hsl_t *hsl, const char *file, int line) {
  gasneti_sci_hsl_lock_debug(hsl, file, line);
  GASNETI_SCI_TAKEN(hsl);
}
GASNETI_SCI_INLINE void gasneti_sci_hsl_give(gasnet_hsl_t *hsl, const char *file, int line) {
  GASNETI_SCI_GIVEN(hsl);
  gasneti_sci_hsl_unlock_debug(hsl, file, line);
}
GASNETI_SCI_INLINE int gasneti_sci_hsl_take(gasnet_hsl_t *hsl, const char *file, int line) {
  if (!gasneti_sci_hsl_trylock_debug(hsl, file, line)) return GASNET_ERR_NOT_READY;
  GASNETI_SCI_TAKEN(hsl);
  return GASNET_OK;
}
#define GASNETI_SCI_LOCK_LOCK(hsl) gasneti_sci_hsl_get((hsl), __FILE__, __LINE__)
#define GASNETI_SCI_LOCK_UNLOCK(hsl) gasneti_sci_hsl_give((hsl), __FILE__, __LINE__)
#define GASNETI_SCI_LOCK_TRYLOCK(hsl) gasneti_sci_hsl_take((hsl), __FILE__, __LINE__)
#else
#define GASNETI_SCI_LOCK_INIT(hsl) gasneti_sci_hsl_prepare(hsl)
#define GASNETI_SCI_LOCK_DESTROY(hsl) ((void)(hsl))
#if defined(GASNET_SEQ)
/* With one thread a lock excludes nothing, because no handler runs while the thread holds a lock. */
GASNETI_SCI_INLINE int gasneti_sci_hsl_free(gasnet_hsl_t *hsl) {
  (void)hsl;
  return GASNET_OK;
}
#define GASNETI_SCI_LOCK_LOCK(hsl) ((void)(hsl))
#define GASNETI_SCI_LOCK_UNLOCK(hsl) ((void)(hsl))
#define GASNETI_SCI_LOCK_TRYLOCK(hsl) gasneti_sci_hsl_free(hsl)
#elif defined(__GNUC__)
GASNETI_SCI_INLINE int gasneti_sci_hsl_take(gasnet_hsl_t *hsl) {
  uint32_t expected = 0;
  /* acquire: pairs with the release in gasneti_sci_hsl_give */
  return __atomic_compare_exchange_n(&hsl->gasneti_state, &expected, 1u, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
GASNETI_SCI_INLINE void gasneti_sci_hsl_get(gasnet_hsl_t *hsl) {
  if_pf (!gasneti_sci_hsl_take(hsl)) {
    gasneti_sci_hsl_lock(hsl);
    GASNETI_SCI_TAKEN(hsl);
  }
}
GASNETI_SCI_INLINE void gasneti_sci_hsl_give(gasnet_hsl_t *hsl) {
  uint32_t expected = 1;
  if_pf (!__atomic_compare_exchange_n(&hsl->gasneti_state, &expected, 0u, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    GASNETI_SCI_GIVEN(hsl);
    gasneti_sci_hsl_unlock(hsl); /* a thread may sleep, which the library wakes */
  }
}
#define GASNETI_SCI_LOCK_LOCK(hsl) gasneti_sci_hsl_get(hsl)
#define GASNETI_SCI_LOCK_UNLOCK(hsl) gasneti_sci_hsl_give(hsl)
#define GASNETI_SCI_LOCK_TRYLOCK(hsl) (gasneti_sci_hsl_take(hsl) ? GASNET_OK : GASNET_ERR_NOT_READY)
#else
#define GASNETI_SCI_LOCK_LOCK(hsl) gasneti_sci_hsl_lock(hsl)
#define GASNETI_SCI_LOCK_UNLOCK(hsl) gasneti_sci_hsl_unlock(hsl)
#define GASNETI_SCI_LOCK_TRYLOCK(hsl) (gasneti_sci_hsl_trylock(hsl) ? GASNET_OK : GASNET_ERR_NOT_READY)
#endif
#endif

/* ---- barriers (contract: extended.md section 8) ---- */
#if defined(GASNET_DEBUG)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_barrier_notify, (id, flags), int id, int flags)
GASNETI_SCI_TWIN(int, return, gasneti_sci_barrier_wait, (id, flags), int id, int flags)
GASNETI_SCI_TWIN(int, return, gasneti_sci_barrier_try, (id, flags), int id, int flags)
GASNETI_SCI_TWIN(int, return, gasneti_sci_barrier, (id, flags), int id, int flags)
GASNETI_SCI_TWIN(int, return, gasneti_sci_barrier_result, (id), int *id)
#define gasnet_barrier_notify(id, flags)                                                                             \
  GASNETI_SCI_PLACED("gasnet_barrier_notify", gasneti_sci_barrier_notify, (id), (flags))
#define gasnet_barrier_wait(id, flags)                                                                               \
  GASNETI_SCI_PLACED("gasnet_barrier_wait", gasneti_sci_barrier_wait, (id), (flags))
#define gasnet_barrier_try(id, flags) GASNETI_SCI_PLACED("gasnet_barrier_try", gasneti_sci_barrier_try, (id), (flags))
#define gasnet_barrier(id, flags) GASNETI_SCI_PLACED("gasnet_barrier", gasneti_sci_barrier, (id), (flags))
#define gasnet_barrier_result(id) GASNETI_SCI_PLACED("gasnet_barrier_result", gasneti_sci_barrier_result, (id))
#else
/* Names alone: C++ clients have functions of these names in namespaces of their own, with other parameters. */
#define gasnet_barrier_notify gasneti_sci_barrier_notify
#define gasnet_barrier_wait gasneti_sci_barrier_wait
#define gasnet_barrier_try gasneti_sci_barrier_try
#define gasnet_barrier gasneti_sci_barrier
#define gasnet_barrier_result gasneti_sci_barrier_result
#endif

#endif
