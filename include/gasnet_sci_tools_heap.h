/* The debug heap: malloc with guards around blocks and a list of the blocks in use. Part of gasnet_sci_tools_lib.h;
 * contract: tools.md section 15.
 *
 * The names exist only if the client defines GASNET_DEBUGMALLOC as 1 and includes gasnet.h. A block of this heap
 * must not be freed by the C library, nor the other way. Misuse ends the program with a line.
 * GASNET_MALLOC_EXTRACHECK looks at all guards in each call. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_heap.h"
#endif
#ifndef GASNETI_SCI_TOOLS_HEAP_H
#define GASNETI_SCI_TOOLS_HEAP_H

#if defined(_GASNETEX_H) && defined(GASNET_DEBUGMALLOC) && GASNET_DEBUGMALLOC + 0

#define gasnett_debug_malloc gasneti_sci_heap_malloc
#define gasnett_debug_calloc gasneti_sci_heap_calloc
#define gasnett_debug_realloc gasneti_sci_heap_realloc
#define gasnett_debug_free gasneti_sci_heap_free
#define gasnett_debug_strdup gasneti_sci_heap_strdup
#define gasnett_debug_strndup gasneti_sci_heap_strndup
#define gasnett_debug_memcheck gasneti_sci_heap_memcheck
#define gasnett_debug_memcheck_one gasneti_sci_heap_memcheck_one
#define gasnett_debug_memcheck_all gasneti_sci_heap_memcheck_all
typedef gasneti_sci_heapstats_t gasnett_heapstats_t;
#define gasnett_getheapstats gasneti_sci_heap_stats
#define gasnett_heapinfo_dump gasneti_sci_heap_dump
/* Lists of blocks and error lines name the place that GASNETT_TRACE_SETSOURCELINE set last, if any. */
#ifndef GASNETT_MALLOC_USE_SRCPOS
#define GASNETT_MALLOC_USE_SRCPOS 1
#endif

#endif
#endif
