/* GASNet-EX: Transfers and events. Part of gasnetex.h. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_rma.h"
#endif
#ifndef GASNETI_SCI_EX_RMA_H
#define GASNETI_SCI_EX_RMA_H

#endif
