/* Memory that other processes may reach, in each segment mode: the segment or, where all memory is one, static memory, which
 * lies at the same address in all processes of a job. */
#ifndef TESTEX_AREA_H
#define TESTEX_AREA_H
#include "testex.h"

#define PAGES(length) (((uintptr_t)(length) + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE)
/* The pair of the first endpoints, where there are pairs. */
#if defined(gex_TM_Pair)
#define BY_PAIR() gex_TM_Pair(ep, 0)
#else
#define BY_PAIR() tm
#endif
#if defined(GASNET_SEGMENT_EVERYTHING)
static unsigned char everywhere[64 << 20];
#define share(length) (attach(GASNET_PAGESIZE), (void)((length) <= sizeof everywhere || (gasnet_exit(77), 0)))
#define shared(rank) ((void)(rank), (void *)everywhere)
#else
#define share(length) attach(PAGES(length))
#define shared(rank) base_of(rank)
#endif
#endif
