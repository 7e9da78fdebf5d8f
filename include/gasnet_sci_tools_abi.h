/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_abi.h"
#endif

#ifndef GASNETI_SCI_TOOLS_ABI_H
#define GASNETI_SCI_TOOLS_ABI_H

/*
 Thread model and debug mode of an object that includes `gasnet_tools.h`. LITE objects have neither: they fit all others.
 */
#define GASNETI_SCI_TOOLS_MODE_SEQ 1

/*
 See `GASNETI_SCI_TOOLS_MODE_SEQ`.
 */
#define GASNETI_SCI_TOOLS_MODE_PAR 2

/*
 See `GASNETI_SCI_TOOLS_MODE_SEQ`.
 */
#define GASNETI_SCI_TOOLS_MODE_DEBUG 4

/*
 See `GASNETI_SCI_TOOLS_MODE_SEQ`.
 */
#define GASNETI_SCI_TOOLS_MODE_NDEBUG 8

/*
 Converts ticks to nanoseconds: times the factor, shifted right by this.
 */
#define GASNETI_SCI_TICK_SHIFT 48

/*
 Called before `main` by a constructor in every object: its modes, and the sum of the objects below, which is only there
 */
void gasneti_sci_tools_object_0_1(uint32_t modes,
                                  int links);

/*
 Fatal: `what` was done wrong at the client's `file` and `line`.
 */
void gasneti_sci_tools_misuse(const char *what, const char *file, int line) GASNETI_SCI_NORETURN;

/*
 `gasnett_release_version`: major * 10000 + minor * 100 + patch of the API's release.
 */
uint32_t gasneti_sci_tools_release(void);

/*
 `gasnett_release_version_str`.
 */
const char *gasneti_sci_tools_release_str(void);

/*
 The tick now; `*native` becomes 1 when the header may read the cpu's counter itself from now on.
 */
uint64_t gasneti_sci_tools_ticks(uint32_t *native);

/*
 The factor of a tick, also stored to `*factor`. The first call in a process takes up to 5 ms.
 */
uint64_t gasneti_sci_tools_tick_factor(uint64_t *factor);

/*
 `gasnett_tick_granularityus`: µs, always the same.
 */
double gasneti_sci_tools_tick_granularity(void);

/*
 `gasnett_tick_overheadus`: µs, always the same.
 */
double gasneti_sci_tools_tick_overhead(void);

/*
 `gasnett_gettimeofday_us`: wall clock, µs since 1970.
 */
uint64_t gasneti_sci_tools_wall_us(void);

/*
 `gasnett_nsleep`: sleeps at least `ns` nanoseconds, and goes on after signals. 0.
 */
int gasneti_sci_tools_nsleep(uint64_t ns);

/*
 Waits while somebody writes. A thread may read while it reads, whoever waits to write.
 */
void gasneti_sci_tools_read_lock(size_t *word);

/*
 1 when the calling thread now reads, 0 when somebody writes.
 */
int32_t gasneti_sci_tools_try_read_lock(size_t *word);

/*
 Waits until nobody else is inside.
 */
void gasneti_sci_tools_write_lock(size_t *word);

/*
 1 when the calling thread now writes, 0 when somebody is inside.
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
