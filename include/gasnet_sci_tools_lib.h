/* Placeholder of branch tools: the header of branch toolslib takes its place. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_lib.h"
#endif
