/* gasnet-sci: the header that GASNet-EX clients include (contract: ex-core.md, ex-rma.md, ex-coll.md). gasnet.h adds the
 * names of GASNet-1; a program may use both.
 *
 * The client defines exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before it includes this file. Optional:
 *   GASNET_DEBUG                 the library detects misuse, and ends the job with the client's file and line
 *   GASNET_SEGMENT_LARGE, GASNET_SEGMENT_EVERYTHING    the segment mode; default: FAST
 * Link with libgasnet_sci. For C99 and C++11; may be included inside extern "C". */
#ifndef _GASNETEX_H
#define _GASNETEX_H
#define _INCLUDED_GASNETEX_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#if defined(_GASNET_TOOLS_H)
#error "include gasnetex.h or gasnet.h before gasnet_tools.h"
#endif

#define GASNETI_SCI_IN_GASNET_H 1
#include "gasnet_config.h"
#include "gasnet_sci_modes.h"
#include "gasnet_portable_platform.h"
#include "gasnet_sci_base.h"
#include "gasnet_fwd.h"

#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C
#include "gasnet_sci_types.h"
#include "gasnet_sci_abi.h"
#include "gasnet_sci_core.h"
#include "gasnet_sci_direct.h"
#include "gasnet_sci_am.h"
#include "gasnet_sci_rma.h"
#include "gasnet_sci_ex_types.h"
#include "gasnet_sci_ex_job.h"
#include "gasnet_sci_ex_am.h"
#include "gasnet_sci_ex_am_rows.h"
#include "gasnet_sci_ex_am_va.h"
#include "gasnet_sci_ex_npam.h"
#include "gasnet_sci_ex_rma.h"
#include "gasnet_sci_ex_team.h"
GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif

#undef GASNETI_SCI_IN_GASNET_H
#endif
