/* Integers of known width, for client sources that take them from here: Berkeley UPC's run-time, AMUDP, AMMPI. The C library has all of
 * them: int8_t to uint64_t, intptr_t and uintptr_t, their limits, and the formats PRI* and SCN*, in C++98 as well. */
#ifndef _PORTABLE_INTTYPES_H
#define _PORTABLE_INTTYPES_H

/* Before C++11 the C library gives C++ limits, constants and formats only on demand, and only to the first who includes its header. */
#if defined(__cplusplus)
#ifndef __STDC_LIMIT_MACROS
#define __STDC_LIMIT_MACROS 1
#endif
#ifndef __STDC_CONSTANT_MACROS
#define __STDC_CONSTANT_MACROS 1
#endif
#ifndef __STDC_FORMAT_MACROS
#define __STDC_FORMAT_MACROS 1
#endif
#endif

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#endif
