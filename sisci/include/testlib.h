/* Time for test programs. A program that has a function of one of these names defines, before it includes this file, SISCI_NO_StartTimer,
 * SISCI_NO_StopTimer or SISCI_NO_SleepMilliseconds. */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <time.h>

/* Without POSIX's names (-std=c99) there are no clocks here either. */
#if defined(CLOCK_MONOTONIC)

typedef struct timespec timer_start_t;

#ifdef __GNUC__
#define SISCI_MAYBE_UNUSED __attribute__((__unused__))
#else
#define SISCI_MAYBE_UNUSED
#endif

#ifndef SISCI_NO_StartTimer
SISCI_MAYBE_UNUSED static inline void StartTimer(timer_start_t *timer_start) { clock_gettime(CLOCK_MONOTONIC, timer_start); }
#endif

#ifndef SISCI_NO_StopTimer
/* Microseconds since StartTimer. */
SISCI_MAYBE_UNUSED static inline double StopTimer(timer_start_t timer_start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - timer_start.tv_sec) * 1e6 + (double)(now.tv_nsec - timer_start.tv_nsec) / 1e3;
}
#endif

#ifndef SISCI_NO_SleepMilliseconds
SISCI_MAYBE_UNUSED static inline void SleepMilliseconds(int milliseconds) {
  struct timespec rest;
  rest.tv_sec = milliseconds / 1000;
  rest.tv_nsec = (long)(milliseconds % 1000) * 1000000L;
  nanosleep(&rest, NULL);
}
#endif

#endif
#endif
