/* Memory barriers, and hints for loops that wait. Part of gasnet_tools.h; contract: tools.md sections 3, 8.
 *
 * All are void expressions. Each barrier also holds for the compiler: a client may publish data with a barrier and
 * then a plain store, and read it with a plain load and then a barrier. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_fence.h"
#endif
#ifndef GASNETI_SCI_TOOLS_FENCE_H
#define GASNETI_SCI_TOOLS_FENCE_H

#if !defined(__GNUC__)
#error "gasnet_tools.h needs a compiler with the GNU extensions: atomic builtins and asm"
#endif

GASNETI_SCI_INLINE void gasneti_sci_compiler_fence(void) { __asm__ __volatile__("" : : : "memory"); }
/* Earlier stores and loads come before later stores. */
GASNETI_SCI_INLINE void gasneti_sci_wmb(void) {
  gasneti_sci_compiler_fence();
  GASNETI_SCI_FENCE(__ATOMIC_RELEASE);
}
/* Earlier loads come before later loads and stores. */
GASNETI_SCI_INLINE void gasneti_sci_rmb(void) {
  GASNETI_SCI_FENCE(__ATOMIC_ACQUIRE);
  gasneti_sci_compiler_fence();
}
/* All earlier accesses come before all later ones, also a store before a later load. */
GASNETI_SCI_INLINE void gasneti_sci_mb(void) {
  gasneti_sci_compiler_fence();
  GASNETI_SCI_FENCE(__ATOMIC_SEQ_CST);
  gasneti_sci_compiler_fence();
}

#define gasnett_compiler_fence() gasneti_sci_compiler_fence()
#define gasnett_local_wmb() gasneti_sci_wmb()
#define gasnett_local_rmb() gasneti_sci_rmb()
#define gasnett_local_mb() gasneti_sci_mb()
/* Barriers among the client's own threads. If it has one thread, they are barriers for the compiler only. */
#if !GASNETI_SCI_THREADS && !defined(GASNETT_LITE_MODE)
#define gasnett_weak_wmb() gasneti_sci_compiler_fence()
#define gasnett_weak_rmb() gasneti_sci_compiler_fence()
#define gasnett_weak_mb() gasneti_sci_compiler_fence()
#else
#define gasnett_weak_wmb() gasneti_sci_wmb()
#define gasnett_weak_rmb() gasneti_sci_rmb()
#define gasnett_weak_mb() gasneti_sci_mb()
#endif

/* A pause for a loop that polls memory. Clients copy the text of the expansion, so it names nothing of ours, and __extension__
 * keeps -pedantic silent about it. */
#if defined(__x86_64__) || defined(__i386__)
#define gasnett_spinloop_hint() (__extension__({ __asm__ __volatile__("pause" : : : "memory"); }))
#elif defined(__aarch64__)
#define gasnett_spinloop_hint() (__extension__({ __asm__ __volatile__("isb" : : : "memory"); })) /* yield does nothing on most cpus */
#else
#define gasnett_spinloop_hint() (__extension__({ __asm__ __volatile__("" : : : "memory"); }))
#endif
/* Lets another thread have the cpu. */
#define gasnett_sched_yield() ((void)sched_yield())
/* int gasnett_nsleep(uint64_t ns): sleeps at least `ns` nanoseconds, also if signals arrive, and returns 0. */
#define gasnett_nsleep(ns) gasneti_sci_tools_nsleep(ns)

#endif
