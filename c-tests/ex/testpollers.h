/* Threads that only poll, in GASNET_PAR: option -p N of some programs. */
#ifndef TESTPOLLERS_H
#define TESTPOLLERS_H
#include "testperf.h"
#define MOST_POLLERS 64
#define OPT_POLLERS AMOUNT("-p", &pollers)

static long pollers;
#if GASNET_PAR
#include <pthread.h>
static volatile int polling = 1;
static pthread_t poller[MOST_POLLERS];
static void *poll_on(void *arg) {
  while (polling) gasnet_AMPoll();
  return arg;
}
static void start_pollers(const char *usage) {
  long i;
  if (pollers < 0 || pollers > MOST_POLLERS) misuse(usage);
  for (i = 0; i < pollers; i++)
    if (pthread_create(&poller[i], NULL, poll_on, NULL)) gasnet_exit(95);
}
static void stop_pollers(void) {
  polling = 0;
  while (pollers > 0) pthread_join(poller[--pollers], NULL);
}
#else
static void start_pollers(const char *usage) {
  if (pollers != 0) misuse(usage);
}
static void stop_pollers(void) {}
#endif
#endif
