/* Time for test programs. A program that has a function of one of these names defines, before it includes this file, SISCI_NO_StartTimer,
 * SISCI_NO_StopTimer or SISCI_NO_SleepMilliseconds. */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <stddef.h>

#ifdef __GNUC__
#define SISCI_HELPER __attribute__((__unused__)) static __inline__
#else
#define SISCI_HELPER static inline
#endif

typedef struct {
  long seconds;
  long nanoseconds;
} timer_start_t;

/* The system's clock and sleep. The names of <time.h> are not there under -std=c99; a timespec of 64-bit systems is two longs. */
#ifdef __cplusplus
extern "C" {
#endif
extern int sisci_clock_gettime(int clock, timer_start_t *now) __asm__("clock_gettime");
extern int sisci_nanosleep(const timer_start_t *time, timer_start_t *rest) __asm__("nanosleep");
#ifdef __cplusplus
}
#endif

#ifndef SISCI_NO_StartTimer
SISCI_HELPER void StartTimer(timer_start_t *timer_start) { sisci_clock_gettime(1, timer_start); }
#endif

#ifndef SISCI_NO_StopTimer
/* Microseconds since StartTimer. */
SISCI_HELPER double StopTimer(timer_start_t timer_start) {
  timer_start_t now;
  sisci_clock_gettime(1, &now);
  return (double)(now.seconds - timer_start.seconds) * 1e6 + (double)(now.nanoseconds - timer_start.nanoseconds) / 1e3;
}
#endif

#ifndef SISCI_NO_SleepMilliseconds
SISCI_HELPER void SleepMilliseconds(int milliseconds) {
  timer_start_t time;
  time.seconds = milliseconds / 1000;
  time.nanoseconds = (long)(milliseconds % 1000) * 1000000L;
  sisci_nanosleep(&time, NULL);
}
#endif

#endif
