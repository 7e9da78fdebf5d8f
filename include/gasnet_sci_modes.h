/* Thread mode and segment mode of this object. Part of gasnet.h.
 * Contract: core.md sections 1, 2. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_modes.h"
#endif
#ifndef GASNETI_SCI_MODES_H
#define GASNETI_SCI_MODES_H

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

#if !defined(GASNET_SEQ)
#include <pthread.h>
#include <sched.h>
#endif

#endif
