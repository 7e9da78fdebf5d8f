/* What examples of docs/api may use without declaring it; ci/docs compiles them with it. */
#include <stdio.h>
#include <stdlib.h>
#if defined(WITH_gasnet)
#include <gasnet.h>
#include <gasnet_vis.h>
extern gasnet_node_t me, nodes, right;
extern gasnet_seginfo_t segments[];
#endif
extern volatile int done;
#ifdef WITH_gasnetex
#include <gasnet.h>
#include <gasnet_vis.h>
#include <gasnet_ratomic.h>
#include <gasnet_mk.h>
extern gex_TM_t team; extern gex_Segment_t segment; extern void *address;
#endif
#ifdef WITH_deck
#include <string.h>
#include <deck.h>
#endif
#ifdef WITH_tools
#include <gasnet.h>
#include <gasnet_tools.h>
#endif
