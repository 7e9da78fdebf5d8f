/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_abi.h"
#endif

#ifndef GASNETI_SCI_TOOLS_ABI_H
#define GASNETI_SCI_TOOLS_ABI_H

/*
 Mode of an object that includes `gasnet_tools.h`: one client thread. LITE objects have no mode and fit all others.
 */
#define GASNETI_SCI_TOOLS_MODE_SEQ 1

/*
 Mode: several client threads.
 */
#define GASNETI_SCI_TOOLS_MODE_PAR 2

/*
 Mode: compiled with GASNET_DEBUG.
 */
#define GASNETI_SCI_TOOLS_MODE_DEBUG 4

/*
 Mode: compiled without GASNET_DEBUG.
 */
#define GASNETI_SCI_TOOLS_MODE_NDEBUG 8

/*
 Ticks times the factor of `gasneti_sci_tools_tick_factor`, shifted right by this many bits, are nanoseconds.
 */
#define GASNETI_SCI_TICK_SHIFT 48

/*
 Announces the modes of an object. A constructor in every object calls it before `main`.
 */
void gasneti_sci_tools_object_0_3(uint32_t modes, int links);

/*
 Ends the program with a line: `what` was done wrong at the client's `file` and `line`.
 */
void gasneti_sci_tools_misuse(const char *what, const char *file, int line) GASNETI_SCI_NORETURN;

/*
 The release of the API, as major * 1,000,000 + minor * 10,000 + patch.
 */
uint64_t gasnett_release_version(void);

/*
 The release of the API, as text.
 */
const char *gasnett_release_version_str(void);

/*
 The current tick. Sets `*native` to 1 if the header may read the cpu's counter itself from now on.
 */
uint64_t gasneti_sci_tools_ticks(uint32_t *native);

/*
 The factor that converts ticks to nanoseconds, also stored to `*factor`. The first call takes up to 5 ms.
 */
uint64_t gasneti_sci_tools_tick_factor(uint64_t *factor);

/*
 `gasnett_tick_granularityus`: the smallest step between ticks that is seen, in µs. Always the same value.
 */
double gasneti_sci_tools_tick_granularity(void);

/*
 `gasnett_tick_overheadus`: the time that one reading takes, in µs. Always the same value.
 */
double gasneti_sci_tools_tick_overhead(void);

/*
 `gasnett_gettimeofday_us`: wall clock, µs since 1970.
 */
uint64_t gasneti_sci_tools_wall_us(void);

/*
 `gasnett_nsleep`: sleeps at least `ns` nanoseconds, also if signals arrive. Returns 0.
 */
int gasneti_sci_tools_nsleep(uint64_t ns);

/*
 Takes the lock for reading; waits while a thread writes. A thread that reads may call it again.
 */
void gasneti_sci_tools_read_lock(size_t *word);

/*
 Takes the lock for reading and returns 1; returns 0 if a thread writes.
 */
int32_t gasneti_sci_tools_try_read_lock(size_t *word);

/*
 Takes the lock for writing; waits until no other thread reads or writes.
 */
void gasneti_sci_tools_write_lock(size_t *word);

/*
 Takes the lock for writing and returns 1; returns 0 if a thread reads or writes.
 */
int32_t gasneti_sci_tools_try_write_lock(size_t *word);

/*
 # Safety
 */
void gasneti_sci_tools_read_unlock(size_t *word);

/*
 # Safety
 */
void gasneti_sci_tools_write_unlock(size_t *word);

#endif  /* GASNETI_SCI_TOOLS_ABI_H */
