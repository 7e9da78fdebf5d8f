/* The library half of the tools: environment, numbers, errors and signals, debugging aids, machine, memory. Part of
 * gasnet_tools.h, not in LITE mode; contract: tools.md sections 9-12 and 15.
 *
 * Most functions are the library's, and clients may take their addresses; their prototypes, with a line of
 * documentation each, are in gasnet_sci_tools_lib_abi.h, which is generated. This file has the parts that only C can
 * express (variadic functions, volatile objects) and those that are faster inline. All may be called at any time, in
 * any thread, with or without a job. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_lib.h"
#endif
#ifndef GASNETI_SCI_TOOLS_LIB_H
#define GASNETI_SCI_TOOLS_LIB_H

#include "gasnet_sci_tools_lib_abi.h"

#if defined(__GNUC__)
#define GASNETI_SCI_PRINTF_CHECK(fmtarg, firstvar) __attribute__((__format__(__printf__, fmtarg, firstvar)))
#else
#define GASNETI_SCI_PRINTF_CHECK(fmtarg, firstvar)
#endif
/* Most bytes of a formatted text that is passed to the library, which prints it in one piece. Longer texts are cut. */
#define GASNETI_SCI_TEXT_ROOM 4096

/* ---- errors (section 10) ---- */

/* Ends the process: prints a line "*** FATAL ERROR: " with the text, flushes streams, prints a stack trace and
 * freezes if these are switched on, and aborts. The text need not end in a newline. */
GASNETI_SCI_NORETURN GASNETI_SCI_UNUSED GASNETI_SCI_PRINTF_CHECK(1, 2) static void gasnett_fatalerror(const char *fmt, ...) {
  char text[GASNETI_SCI_TEXT_ROOM];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  gasneti_sci_tools_fatal(text);
}
#define gasnett_fatalerror_nopos gasnett_fatalerror
#ifndef gasneti_fatalerror
#define gasneti_fatalerror gasnett_fatalerror /* clients also use this name (contract: core.md appendix B) */
#endif

#ifndef gasneti_gethostname
#define gasneti_gethostname gasnett_gethostname /* the same */
#endif

/* ---- debugging aids (section 11) ---- */

/* Not 0 while a thread waits for a debugger. The debugger sets it to 0 to let the thread continue. */
#ifndef GASNETI_SCI_FROZEN /* gasnet.h and gasnet_tools.h both declare it, and only one does for -Wredundant-decls */
#define GASNETI_SCI_FROZEN
extern volatile int gasnet_frozen;
#endif
/* Prints host, pid and how to resume, sets *flag to 1, and waits until it is 0 or SIGCONT arrives. */
extern void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagname);

/* ---- scheduling (section 8) ---- */
#ifndef gasnett_sched_yield
#define gasnett_sched_yield() ((void)sched_yield())
#endif

/* ---- machine (section 12.1) ---- */
#define GASNETT_SET_AFFINITY_SUPPORT 1
GASNETI_SCI_INLINE int gasnett_isLittleEndian(void) {
  const int one = 1;
  return *(const char *)&one;
}

/* ---- count of zero bytes in a word (section 12.3): a zero byte becomes a top bit, and a product adds these bits ---- */
GASNETI_SCI_INLINE int gasnett_count0s_uint64_t(uint64_t x) {
  const uint64_t ones = ~(uint64_t)0 / 255, low = ones * 127;
  return (int)(((~(((x & low) + low) | x | low) >> 7) * ones) >> 56);
}
GASNETI_SCI_INLINE int gasnett_count0s_uint32_t(uint32_t x) {
  const uint32_t ones = ~(uint32_t)0 / 255, low = ones * 127;
  return (int)((uint32_t)((~(((x & low) + low) | x | low) >> 7) * ones) >> 24);
}
GASNETI_SCI_INLINE int gasnett_count0s_uintptr_t(uintptr_t x) {
  return sizeof x == 8 ? gasnett_count0s_uint64_t((uint64_t)x) : gasnett_count0s_uint32_t((uint32_t)x);
}

/* ---- performance warnings (section 12.4): lines with 8 blanks in front, "" if there are none. Never freed ---- */
#if defined(GASNET_DEBUG)
#define GASNETI_SCI_WARN_CLIENT_DEBUG GASNETI_SCI_WARN_DEBUG
#else
#define GASNETI_SCI_WARN_CLIENT_DEBUG 0
#endif
#if defined(GASNET_DEBUGMALLOC) && GASNET_DEBUGMALLOC + 0
#define GASNETI_SCI_WARN_CLIENT_MALLOC GASNETI_SCI_WARN_MALLOC
#else
#define GASNETI_SCI_WARN_CLIENT_MALLOC 0
#endif
#if defined(GASNETT_USING_GETTIMEOFDAY)
#define GASNETI_SCI_WARN_CLIENT_TIMER GASNETI_SCI_WARN_TIMER
#else
#define GASNETI_SCI_WARN_CLIENT_TIMER 0
#endif
GASNETI_SCI_INLINE const char *gasnett_performance_warning_str(void) {
  return gasneti_sci_performance_warnings(GASNETI_SCI_WARN_CLIENT_DEBUG | GASNETI_SCI_WARN_CLIENT_MALLOC |
                                          GASNETI_SCI_WARN_CLIENT_TIMER);
}

#include "gasnet_sci_tools_heap.h"

#if defined(_GASNETEX_H)
#include "gasnet_sci_tools_diag.h"
#endif

#endif
