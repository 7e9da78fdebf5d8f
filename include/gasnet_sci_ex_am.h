/* GASNet-EX: Active Messages. Part of gasnetex.h. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_am.h"
#endif
#ifndef GASNETI_SCI_EX_AM_H
#define GASNETI_SCI_EX_AM_H

#endif
