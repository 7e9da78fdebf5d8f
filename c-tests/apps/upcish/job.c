/* Begin and end of a job, barriers. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

int upcish_mythread(void) { return (int)gasnet_mynode(); }
int upcish_threads(void) { return (int)gasnet_nodes(); }

void upcish_init(int *argc, char ***argv, size_t heap) {
  gasnet_handlerentry_t handlers[] = {
      {H_LOCK_ASK, (void (*)())upcish_lock_ask},       {H_LOCK_TOLD, (void (*)())upcish_lock_told},
      {H_LOCK_FOLLOW, (void (*)())upcish_lock_follow}, {H_LOCK_GRANT, (void (*)())upcish_lock_grant},
      {H_UNLOCK_ASK, (void (*)())upcish_unlock_ask},   {H_REDUCE_UP, (void (*)())upcish_reduce_up},
      {H_REDUCE_DOWN, (void (*)())upcish_reduce_down}, {H_BROADCAST, (void (*)())upcish_broadcast_part},
  };
  uintptr_t size = (heap + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  UPCISH_OK(gasnet_init(argc, argv));
  if (size > gasnet_getMaxLocalSegmentSize())
    upcish_fatal("a heap of %zu bytes per thread is too large, at most %zu; see GASNET_MAX_SEGSIZE", heap,
                 (size_t)gasnet_getMaxLocalSegmentSize());
  UPCISH_OK(gasnet_attach(handlers, sizeof handlers / sizeof *handlers, size, 0));
  upcish_heap_init(size);
  upcish_locks_init();
  upcish_barrier();
}

void upcish_exit(int status) {
  fflush(NULL);
  upcish_barrier(); /* nobody ends while others still talk to it */
  gasnet_exit(status);
}

void upcish_fatal(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "upcish: thread %d: ", upcish_mythread());
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  gasnet_exit(1); /* ends the other threads as well */
}

void upcish_check(int status, const char *call) {
  if (status != GASNET_OK) upcish_fatal("%s: %s (%s)", call, gasnet_ErrorName(status), gasnet_ErrorDesc(status));
}

void upcish_notify(void) {
  upcish_fence();
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

void upcish_wait(void) { UPCISH_OK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS)); }

void upcish_barrier(void) {
  upcish_notify();
  upcish_wait();
}
