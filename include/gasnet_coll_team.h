/* Teams of GASNet-1 had a header of their own, which programs of that time include beside gasnet.h. All that it gave is in gasnet_coll.h. */
#ifndef _GASNET_COLL_TEAM_H
#define _GASNET_COLL_TEAM_H
#include <gasnet_coll.h>
#endif
