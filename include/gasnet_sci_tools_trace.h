/* Trace and statistics hooks of the tools. Part of gasnet_tools.h, not in LITE mode; contract: tools.md section 13.
 *
 * After gasnet.h they are in every build. They only test one word unless GASNET_TRACEFILE or GASNET_STATSFILE is
 * set. Without gasnet.h they are empty. All are expressions. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_trace.h"
#endif
#ifndef GASNETI_SCI_TOOLS_TRACE_H
#define GASNETI_SCI_TOOLS_TRACE_H

GASNETI_SCI_UNUSED GASNETI_SCI_PRINTF_CHECK(1, 2) static void _gasnett_trace_printf_noop(const char *fmt, ...) { (void)fmt; }

/* The library calls it when it writes statistics, with a function that prints into them. */
typedef void (*gasnett_stats_callback_t)(void (*printf_fn)(const char *fmt, ...));

#if defined(_GASNETEX_H)

/* Kinds that are on, one bit per letter, A lowest; 0: none. The library writes these words. */
extern volatile uint32_t gasneti_sci_trace_letters;
extern volatile uint32_t gasneti_sci_stats_letters;
extern gasnett_stats_callback_t gasnett_stats_callback;

#define GASNETI_SCI_CLIENT_LETTER (GASNETI_SCI_AS(uint32_t, 1) << ('H' - 'A'))
#define GASNETI_SCI_IS_TRACED (gasneti_sci_trace_letters != 0)

/* The four functions that print, into the trace or the statistics: if category H is on, or always. */
#define GASNETI_SCI_PRINTER(name, condition, print, force)                                                           \
  GASNETI_SCI_UNUSED GASNETI_SCI_PRINTF_CHECK(1, 2) static void name(const char *fmt, ...) {                         \
    if (condition) {                                                                                                 \
      char text[GASNETI_SCI_TEXT_ROOM];                                                                              \
      va_list ap;                                                                                                    \
      va_start(ap, fmt);                                                                                             \
      vsnprintf(text, sizeof text, fmt, ap);                                                                         \
      va_end(ap);                                                                                                    \
      print(text, force);                                                                                            \
    }                                                                                                                \
  }
GASNETI_SCI_PRINTER(_gasnett_trace_printf, gasneti_sci_trace_letters &GASNETI_SCI_CLIENT_LETTER, gasneti_sci_trace_text, 0)
GASNETI_SCI_PRINTER(_gasnett_trace_printf_force, GASNETI_SCI_IS_TRACED, gasneti_sci_trace_text, 1)
GASNETI_SCI_PRINTER(_gasnett_stats_printf, gasneti_sci_stats_letters &GASNETI_SCI_CLIENT_LETTER, gasneti_sci_stats_text, 0)
GASNETI_SCI_PRINTER(_gasnett_stats_printf_force, gasneti_sci_stats_letters != 0, gasneti_sci_stats_text, 1)

/* Not 0 if category H of the trace is on in this node now. */
#define GASNETT_TRACE_ENABLED GASNETI_SCI_AS(int, ((gasneti_sci_trace_letters & GASNETI_SCI_CLIENT_LETTER) != 0))
#define GASNETT_TRACE_PRINTF _gasnett_trace_printf
#define GASNETT_TRACE_PRINTF_FORCE _gasnett_trace_printf_force
#define GASNETT_STATS_PRINTF _gasnett_stats_printf
#define GASNETT_STATS_PRINTF_FORCE _gasnett_stats_printf_force

/* Sets the calling thread's place in the client's source: file name, which must stay valid (NULL: the same file),
 * and line. */
#define GASNETT_TRACE_SETSOURCELINE(file, line)                                                                      \
  (GASNETI_SCI_IS_TRACED ? gasneti_sci_trace_setsourceline((file), GASNETI_SCI_AS(uint32_t, line)) : (void)0)
/* (const char **, unsigned *). Without a trace it does not change the variables. */
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline)                                                                    \
  (GASNETI_SCI_IS_TRACED ? gasneti_sci_trace_getsourceline((pfile), (pline)) : (void)0)
#define GASNETT_TRACE_FREEZESOURCELINE() (GASNETI_SCI_IS_TRACED ? gasneti_sci_trace_freezesourceline(1) : (void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() (GASNETI_SCI_IS_TRACED ? gasneti_sci_trace_freezesourceline(0) : (void)0)

#define GASNETT_TRACE_GETMASK() gasneti_sci_trace_getmask(0)
#define GASNETT_TRACE_SETMASK(str) gasneti_sci_trace_setmask(0, (str))
#define GASNETT_TRACE_GET_TRACELOCAL() gasneti_sci_trace_getlocal()
#define GASNETT_TRACE_SET_TRACELOCAL(v) gasneti_sci_trace_setlocal(v)
#define GASNETT_STATS_GETMASK() gasneti_sci_trace_getmask(1)
#define GASNETT_STATS_SETMASK(str) gasneti_sci_trace_setmask(1, (str))
typedef void (*gasneti_sci_stats_print_t)(void);
/* Registers a gasnett_stats_callback_t. Not 0 if category H of the statistics is on. */
#define GASNETT_STATS_INIT(callback)                                                                                 \
  (gasnett_stats_callback = (callback),                                                                              \
   gasneti_sci_stats_init(GASNETI_SCI_AS(gasneti_sci_stats_print_t, _gasnett_stats_printf)))
#define GASNETT_STATS_DUMP(reset) gasneti_sci_stats_dump(reset)

#else

#define GASNETT_TRACE_ENABLED 0
#define GASNETT_TRACE_PRINTF _gasnett_trace_printf_noop
#define GASNETT_TRACE_PRINTF_FORCE _gasnett_trace_printf_noop
#define GASNETT_STATS_PRINTF _gasnett_trace_printf_noop
#define GASNETT_STATS_PRINTF_FORCE _gasnett_trace_printf_noop
#define GASNETT_TRACE_SETSOURCELINE(file, line) ((void)0)
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) ((void)0)
#define GASNETT_TRACE_FREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_GETMASK() ""
#define GASNETT_TRACE_SETMASK(str) ((void)0)
#define GASNETT_TRACE_GET_TRACELOCAL() 0
#define GASNETT_TRACE_SET_TRACELOCAL(v) ((void)0)
#define GASNETT_STATS_GETMASK() ""
#define GASNETT_STATS_SETMASK(str) ((void)0)
#define GASNETT_STATS_INIT(callback) 0
#define GASNETT_STATS_DUMP(reset) ((void)0)

#endif

#endif
