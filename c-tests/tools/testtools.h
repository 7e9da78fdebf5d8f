/* Shared by the parts of testtools: checks with and without a job, threads. TESTTOOLS_ALONE: without gasnet.h. */
#ifndef GASNET_SCI_TESTTOOLS_H
#define GASNET_SCI_TESTTOOLS_H

#if defined(TESTTOOLS_ALONE)
#include <gasnet_tools.h>
#if defined(_GASNET_H)
#error "gasnet_tools.h brought gasnet.h"
#endif

static long test_checks, test_errors;
#define CHECK(cond, ...) test_check(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)
static int __attribute__((__format__(__printf__, 5, 6), __unused__)) test_check(int ok, const char *file, int line,
                                                                                const char *cond, const char *fmt, ...) {
  __atomic_add_fetch(&test_checks, 1, __ATOMIC_RELAXED);
  if (!ok && __atomic_add_fetch(&test_errors, 1, __ATOMIC_RELAXED) <= 20) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "testtoolsalone: %s:%d: CHECK(%s) failed: ", file, line, cond);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
  }
  return ok;
}
#define TEST_UNUSED __attribute__((__unused__))
#else
#include "../test.h"
#include <gasnet_tools.h>
#endif

/* Can the client have threads? Then a section runs on several, each with its number, else once. PARSYNC's model is
 * called SEQ, but it has threads. */
#if defined(GASNETT_THREAD_SAFE) || defined(GASNET_PARSYNC)
#define THREADS 4
static void (*thread_fn)(int);
static void *thread_start(void *number) {
  thread_fn((int)(intptr_t)number);
  return NULL;
}
static void TEST_UNUSED on_threads(int n, void (*fn)(int)) {
  pthread_t thread[16];
  int i;
  thread_fn = fn;
  for (i = 0; i < n; i++)
    if (pthread_create(&thread[i], NULL, thread_start, (void *)(intptr_t)i)) abort();
  for (i = 0; i < n; i++) pthread_join(thread[i], NULL);
}
#else
#define THREADS 1
static void TEST_UNUSED on_threads(int n, void (*fn)(int)) {
  (void)n;
  fn(0);
}
#endif

/* A barrier for the threads of a section, of the tools' own means. */
static gasnett_strongatomic32_t meeting_count = gasnett_strongatomic32_init(0);
static void TEST_UNUSED meet(int n) {
  uint32_t mine = gasnett_strongatomic32_add(&meeting_count, 1, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST);
  uint32_t until = (mine + (uint32_t)n - 1) / (uint32_t)n * (uint32_t)n;
  int looks = 0;
  while ((int32_t)(gasnett_strongatomic32_read(&meeting_count, GASNETT_ATOMIC_ACQ) - until) < 0) {
    gasnett_spinloop_hint();
    if (++looks % 1000 == 0) gasnett_sched_yield();
  }
}

#endif
