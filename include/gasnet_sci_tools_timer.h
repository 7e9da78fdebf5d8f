/* Ticks: the cpu's own counter where it is invariant, else the system's monotonic clock in nanoseconds. Part of
 * gasnet_tools.h.
 *
 * The library chooses at the first reading, and measures the length of a tick at the first conversion, which takes
 * some ms. Each object keeps a copy of both. A difference of ticks is converted by a multiplication to 128 bits and
 * a shift, which is exact to 1 ns over years. Contract: tools.md section 2. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_timer.h"
#endif
#ifndef GASNETI_SCI_TOOLS_TIMER_H
#define GASNETI_SCI_TOOLS_TIMER_H

typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN GASNETI_SCI_AS(gasnett_tick_t, 0)
#define GASNETT_TICK_MAX GASNETI_SCI_AS(gasnett_tick_t, -1)

/* 0 until the library has said that the counter may be read here. */
static uint32_t GASNETI_SCI_UNUSED gasneti_sci_tick_native;
/* Nanoseconds per tick times 2 to the power of GASNETI_SCI_TICK_SHIFT; 0 before the first conversion. */
static uint64_t GASNETI_SCI_UNUSED gasneti_sci_tick_factor;

/* gasnett_tick_t gasnett_ticks_now(void): never decreases within a thread. Readings of different threads are not
 * ordered. */
GASNETI_SCI_INLINE gasnett_tick_t gasneti_sci_ticks(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  /* relaxed: the word orders no other memory, and once it is set the counter may be read on every cpu */
  if_pt (__atomic_load_n(&gasneti_sci_tick_native, __ATOMIC_RELAXED)) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t count;
    /* the barrier keeps the cpu from reading the counter before earlier instructions */
    __asm__ __volatile__("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
#endif
  }
#endif
  return gasneti_sci_tools_ticks(&gasneti_sci_tick_native);
}
#define gasnett_ticks_now() gasneti_sci_ticks()

/* uint64_t gasnett_ticks_to_ns(gasnett_tick_t difference) */
GASNETI_SCI_INLINE uint64_t gasneti_sci_ticks_ns(gasnett_tick_t ticks) {
#if defined(__GNUC__)
  uint64_t factor = __atomic_load_n(&gasneti_sci_tick_factor, __ATOMIC_RELAXED); /* relaxed: stands alone */
  if_pf (factor == 0) factor = gasneti_sci_tools_tick_factor(&gasneti_sci_tick_factor);
#else
  uint64_t factor = gasneti_sci_tools_tick_factor(&gasneti_sci_tick_factor);
#endif
#if defined(__SIZEOF_INT128__)
  {
    __extension__ typedef unsigned __int128 wide_t;
    return (uint64_t)((wide_t)ticks * factor >> GASNETI_SCI_TICK_SHIFT);
  }
#else
  {
    /* the same with 32-bit halves: the result is bits 48 to 111 of the product of 128 bits */
    uint64_t high = ticks >> 32, low = ticks & 0xFFFFFFFFu, fhigh = factor >> 32, flow = factor & 0xFFFFFFFFu;
    uint64_t mid = high * flow, bottom = low * flow, cross = low * fhigh;
    uint64_t sum = (bottom >> 32) + (mid & 0xFFFFFFFFu) + (cross & 0xFFFFFFFFu);
    uint64_t top = high * fhigh + (mid >> 32) + (cross >> 32) + (sum >> 32);
    return (top << 16) | ((sum & 0xFFFFFFFFu) >> 16);
  }
#endif
}
#define gasnett_ticks_to_ns(ticks) gasneti_sci_ticks_ns(ticks)
/* uint64_t gasnett_ticks_to_us(gasnett_tick_t difference) */
#define gasnett_ticks_to_us(ticks) (gasneti_sci_ticks_ns(ticks) / 1000u)

/* double, µs: the smallest step that is seen, and the time that a reading takes. Measured once, then always the same. */
#define gasnett_tick_granularityus() gasneti_sci_tools_tick_granularity()
#define gasnett_tick_overheadus() gasneti_sci_tools_tick_overhead()
/* uint64_t: wall clock, µs since 1970 */
#define gasnett_gettimeofday_us() gasneti_sci_tools_wall_us()

#endif
