/* gasnet-sci: the header that GASNet-1 clients include (Core and Extended API; contract: core.md, extended.md). It is
 * gasnetex.h with the names of GASNet-1 on top.
 *
 * The client defines exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before it includes this file. Optional:
 *   GASNET_DEBUG                 the library detects misuse, and ends the job with the client's file and line
 *   GASNET_SEGMENT_LARGE, GASNET_SEGMENT_EVERYTHING    the segment mode; default: FAST
 * Link with libgasnet_sci. For C99 and C++11; may be included inside extern "C". */
#ifndef _GASNET_H
#define _GASNET_H
#define _INCLUDED_GASNET_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#include "gasnetex.h"

#define GASNETI_SCI_IN_GASNET_H 1
#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C
#include "gasnet_sci_g1.h"
#include "gasnet_sci_am_g1.h"
#include "gasnet_sci_rma_g1.h"
GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif

#undef GASNETI_SCI_IN_GASNET_H
#include "gasnet_coll.h"
#include "gasnet_tools.h"
#endif
