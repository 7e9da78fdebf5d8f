/* What the test programs of SISCI share: checks, and processes that are nodes. */
#ifndef SISCI_TEST_H
#define SISCI_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sisci_api.h"

/* The result of the last call in EXPECT. */
static sci_error_t e;

#define FAIL(...)                                                                      \
  do {                                                                                 \
    fprintf(stderr, "%s:%d: [%d] ", __FILE__, __LINE__, (int)getpid());                \
    fprintf(stderr, __VA_ARGS__);                                                      \
    fputc('\n', stderr);                                                               \
    fflush(NULL);                                                                      \
    _exit(1);                                                                          \
  } while (0)
#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) FAIL("not so: %s", #condition); \
  } while (0)
/* The call, whose last argument is &e, reports SCI_ERR_<code>. */
#define EXPECT(code, call)                                                                                            \
  do {                                                                                                                \
    e = (sci_error_t)0x7fffffff;                                                                                      \
    call;                                                                                                             \
    if (e != SCI_ERR_##code) FAIL("%s: 0x%x (%s) instead of " #code, #call, (unsigned)e, SCIGetErrorString(e)); \
  } while (0)

/* Microseconds. */
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void pause_ms(int ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000L};
  nanosleep(&t, NULL);
}

/* Starts a process that is node `id`; returns its number. It has to end by itself. */
static inline pid_t node(unsigned id, void (*work)(void *), void *arg) {
  char text[16];
  pid_t pid;
  fflush(NULL);
  pid = fork();
  if (pid < 0) FAIL("fork: %s", strerror(errno));
  if (pid > 0) return pid;
  alarm(300);
  snprintf(text, sizeof text, "%u", id);
  setenv("SISCI_NODE_ID", text, 1);
  work(arg);
  fflush(NULL);
  _exit(0);
}

/* Waits for a process, which ends with status 0. */
static inline void joined(pid_t pid) {
  int status;
  if (waitpid(pid, &status, 0) != pid) FAIL("waitpid: %s", strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) FAIL("process %d ended with status 0x%x", (int)pid, (unsigned)status);
}

/* Waits for a process that is killed. */
static inline void killed(pid_t pid) {
  int status;
  kill(pid, SIGKILL);
  if (waitpid(pid, &status, 0) != pid) FAIL("waitpid: %s", strerror(errno));
}

/* Words that the processes of a test share: made before they are started. */
static inline _Atomic int *shared_words(void) {
  void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return (_Atomic int *)p;
}

/* All of `n` processes are here. */
static inline void meet(_Atomic int *word, int n) {
  int turn = atomic_fetch_add(word, 1) / n;
  while (atomic_load(word) < (turn + 1) * n) sched_yield();
}

/* Connects as programs do: again and again until the segment is there. */
static inline sci_remote_segment_t connected(sci_desc_t sd, unsigned nodeId, unsigned id, unsigned flags) {
  sci_remote_segment_t segment;
  do {
    SCIConnectSegment(sd, &segment, nodeId, id, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, flags, &e);
    if (e != SCI_ERR_OK && e != SCI_ERR_NO_SUCH_SEGMENT) FAIL("segment %u of node %u: 0x%x", id, nodeId, (unsigned)e);
  } while (e != SCI_ERR_OK);
  return segment;
}

/* A segment that peers can connect to. */
static inline sci_local_segment_t offered(sci_desc_t sd, unsigned id, size_t size, unsigned flags) {
  sci_local_segment_t segment;
  EXPECT(OK, SCICreateSegment(sd, &segment, id, size, NULL, NULL, flags, &e));
  EXPECT(OK, SCIPrepareSegment(segment, 0, 0, &e));
  EXPECT(OK, SCISetSegmentAvailable(segment, 0, 0, &e));
  return segment;
}

static inline sci_desc_t opened(void) {
  sci_desc_t sd;
  EXPECT(OK, SCIInitialize(0, &e));
  EXPECT(OK, SCIOpen(&sd, 0, &e));
  return sd;
}

#endif
