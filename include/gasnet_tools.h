/* gasnet-sci: the GASNet tools (specification 1.20; contract: tools.md), with or without gasnetex.h.
 *
 * It has timers, memory barriers, atomics, locks, thread keys, compiler annotations, environment and debugging aids,
 * and needs no macro. If the client includes gasnetex.h or gasnet.h first (never after it), section 15 is there, too.
 * Optional macros:
 * (at most one of the first three)
 *   GASNETT_THREAD_SAFE     the client has threads; -pthread and an earlier #include <pthread.h> say the same
 *   GASNETT_THREAD_SINGLE   the client has one thread, even if -pthread or <pthread.h> says otherwise
 *   GASNETT_LITE_MODE       timers, memory barriers, annotations, platform and identification only
 *   GASNETT_USE_*           features, 0 or 1: gasnet_sci_tools_attr.h
 *   GASNET_DEBUG            misuse of locks ends the program
 * Link with libgasnet_sci, or with libgasnet_tools-seq or -par, never with both. C99 and C++; may be included inside
 * extern "C". */
#ifndef _GASNET_TOOLS_H
#define _GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H

#if defined(GASNET_SEQ) || defined(GASNET_PARSYNC) || defined(GASNET_PAR)
#if !defined(_GASNETEX_H)
#error "include gasnetex.h or gasnet.h before gasnet_tools.h; a program without them defines none of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR"
#endif
#endif
#if defined(GASNETT_LITE_MODE) && defined(_GASNETEX_H)
#error "GASNETT_LITE_MODE is for programs without gasnetex.h and gasnet.h"
#endif
/* The installed flags of the tools' libraries define a thread model, which GASNETT_LITE_MODE overrides. */
#if !defined(GASNETT_LITE_MODE) && defined(GASNETT_THREAD_SAFE) && defined(GASNETT_THREAD_SINGLE)
#error "define at most one of GASNETT_LITE_MODE, GASNETT_THREAD_SAFE and GASNETT_THREAD_SINGLE"
#endif
#if defined(GASNETT_THREAD_SAFE) && (defined(GASNET_SEQ) || defined(GASNET_PARSYNC))
#error "GASNETT_THREAD_SAFE contradicts GASNET_SEQ and GASNET_PARSYNC"
#endif
#if defined(GASNETT_THREAD_SINGLE) && defined(GASNET_PAR)
#error "GASNETT_THREAD_SINGLE contradicts GASNET_PAR"
#endif

/* ---- thread model; decided before any system header is included ---- */
#if defined(GASNETT_LITE_MODE)
#undef GASNETT_LITE_MODE
#define GASNETT_LITE_MODE 1
#undef GASNETT_THREAD_SAFE
#undef GASNETT_THREAD_SINGLE
#define GASNETT_THREAD_MODEL LITE
#define GASNETT_THREAD_MODEL_STR "LITE"
#elif defined(GASNETT_THREAD_SAFE) || defined(GASNET_PAR) ||                                                         \
    (!defined(GASNET_SEQ) && !defined(GASNET_PARSYNC) && !defined(GASNETT_THREAD_SINGLE) &&                                                      \
     (defined(_REENTRANT) || defined(_THREAD_SAFE) || defined(PTHREAD_MUTEX_INITIALIZER)))
#undef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_SAFE 1
#undef GASNETT_THREAD_SINGLE
#define GASNETT_THREAD_MODEL PAR
#define GASNETT_THREAD_MODEL_STR "PAR"
#else
#undef GASNETT_THREAD_SAFE
#undef GASNETT_THREAD_SINGLE
#define GASNETT_THREAD_SINGLE 1
#define GASNETT_THREAD_MODEL SEQ
#define GASNETT_THREAD_MODEL_STR "SEQ"
#endif
/* Can the client have several threads? A client in mode GASNET_PARSYNC can: its model is called SEQ, but locks, keys,
 * atomics and barriers are those of PAR. Objects that include this header without gasnetex.h and gasnet.h do not know
 * of PARSYNC, so they share no lock and no key with such a client. */
#if defined(GASNETT_THREAD_SAFE) || defined(GASNET_PARSYNC)
#define GASNETI_SCI_THREADS 1
#else
#define GASNETI_SCI_THREADS 0
#endif

#define GASNETI_SCI_IN_GASNET_H 1
#include "gasnet_config.h"
#include "gasnet_portable_platform.h"
#include "gasnet_sci_base.h"

#include <ctype.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#ifndef GASNETT_USE_TRUE_MUTEXES
#define GASNETT_USE_TRUE_MUTEXES 0
#endif
#if GASNETI_SCI_THREADS || GASNETT_USE_TRUE_MUTEXES
#include <pthread.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C
#include "gasnet_sci_tools_attr.h"
#include "gasnet_sci_tools_abi.h"
#include "gasnet_sci_tools_ident.h"
#include "gasnet_sci_tools_timer.h"
#include "gasnet_sci_tools_fence.h"
#if !defined(GASNETT_LITE_MODE)
#include "gasnet_sci_tools_atomic.h"
#include "gasnet_sci_tools_lock.h"
#include "gasnet_sci_tools_rwlock.h"
#include "gasnet_sci_tools_key.h"
#include "gasnet_sci_tools_lib.h"
#include "gasnet_sci_tools_trace.h"
#include "gasnet_sci_tools_ctype.h"
#include "gasnet_sci_tools_job.h"
#include "gasnet_sci_tools_format.h"
#endif
GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif

#undef GASNETI_SCI_IN_GASNET_H
#endif
