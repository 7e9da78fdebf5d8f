/* PLATFORM_* for client sources that know the set by this name: Berkeley UPC's run-time, AMUDP, AMMPI. Contract: tools.md section 14.
 *
 * It has no guard of its own: gasnet_portable_platform.h decides whether a set of another library stays. */
#include "gasnet_portable_platform.h"
