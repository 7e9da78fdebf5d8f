/* Time for test programs. A program that has a function of one of these names defines, before it includes this file, SISCI_NO_StartTimer,
 * SISCI_NO_StopTimer or SISCI_NO_SleepMilliseconds. */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <stddef.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

#ifdef __GNUC__
#define SISCI_HELPER __attribute__((__unused__)) static __inline__
#else
#define SISCI_HELPER static inline
#endif

typedef struct {
  long seconds;
  long nanoseconds;
} timer_start_t;

/* A clock that nobody sets, where <time.h> has it: under -std=c99 it has none. */
SISCI_HELPER void sisci_timer_now(timer_start_t *now) {
#ifdef CLOCK_MONOTONIC
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  now->seconds = (long)time.tv_sec;
  now->nanoseconds = (long)time.tv_nsec;
#else
  struct timeval time;
  gettimeofday(&time, NULL);
  now->seconds = (long)time.tv_sec;
  now->nanoseconds = (long)time.tv_usec * 1000L;
#endif
}

#ifndef SISCI_NO_StartTimer
SISCI_HELPER void StartTimer(timer_start_t *timer_start) { sisci_timer_now(timer_start); }
#endif

#ifndef SISCI_NO_StopTimer
/* Microseconds since StartTimer. */
SISCI_HELPER double StopTimer(timer_start_t timer_start) {
  timer_start_t now;
  sisci_timer_now(&now);
  return (double)(now.seconds - timer_start.seconds) * 1e6 + (double)(now.nanoseconds - timer_start.nanoseconds) / 1e3;
}
#endif

#ifndef SISCI_NO_SleepMilliseconds
SISCI_HELPER void SleepMilliseconds(int milliseconds) {
  struct timeval time;
  time.tv_sec = milliseconds / 1000;
  time.tv_usec = (milliseconds % 1000) * 1000L;
  select(0, NULL, NULL, NULL, &time);
}
#endif

#endif
