/* Client threads for testthreads and testcontend: one function on many threads in PAR, once on the only thread
 * otherwise. */
#ifndef GASNET_SCI_TESTPAR_H
#define GASNET_SCI_TESTPAR_H

#include "testarea.h"

#if defined(GASNET_PAR)
#include <pthread.h>
#define PAR_THREADS(n) (n)
#else
#define PAR_THREADS(n) ((void)(n), 1)
#endif
#define PAR_MOST 64

/* Runs fn(number) for 0 … n-1, each on a thread of its own, and waits for all. The caller does not poll while it
 * waits; the threads that still run do. */
static void TEST_UNUSED par_run(void (*fn)(int), int n);

#if defined(GASNET_PAR)
static void (*par_fn)(int);
static void *par_start(void *number) {
  par_fn((int)(intptr_t)number);
  return NULL;
}
static pthread_t par_thread[PAR_MOST];
static void par_begin(int number) {
  if (pthread_create(&par_thread[number], NULL, par_start, (void *)(intptr_t)number)) {
    fprintf(stderr, "%s: no thread %d\n", test_name, number);
    gasnet_exit(95);
  }
}
static void par_run(void (*fn)(int), int n) {
  int i;
  par_fn = fn;
  for (i = 0; i < n; i++) par_begin(i);
  for (i = 0; i < n; i++) pthread_join(par_thread[i], NULL);
}
#else
static void par_run(void (*fn)(int), int n) {
  int i;
  for (i = 0; i < n; i++) fn(i);
}
#endif

#endif
