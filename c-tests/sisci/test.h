/* What the test programs of SISCI share: checks, and processes that are nodes. */
#ifndef SISCI_TEST_H
#define SISCI_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* A store of 1, 2, 4 or 8 bytes somewhere in `bytes` of `out`, and the same in `expected`. */
static inline void random_store(unsigned *seed, volatile void *out, void *expected, unsigned bytes) {
  unsigned size, at;
  unsigned long long value;
  volatile char *place = (volatile char *)out;
  *seed = *seed * 1103515245 + 12345;
  size = 1u << (*seed >> 16 & 3);
  *seed = *seed * 1103515245 + 12345;
  at = (*seed >> 8) % (bytes / size) * size;
  value = *seed * 0x9e3779b97f4a7c15ull;
  switch (size) {
    case 1: *(volatile uint8_t *)(place + at) = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)(place + at) = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)(place + at) = (uint32_t)value; break;
    default: *(volatile uint64_t *)(place + at) = value;
  }
  memcpy((char *)expected + at, &value, size);
}

static inline void pause_ms(int ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000L};
  nanosleep(&t, NULL);
}

/* The namespace of the second host, if there is one. */
static int second_host = -1;
static char hosts_dir[64];

/* What `format` and the path say has to succeed. */
static inline void shell(const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (system(text) != 0) FAIL("%s", text);
}

static inline void no_hosts(void) {
  if (hosts_dir[0] == '/') shell("rm -r %s", hosts_dir);
}

/* From now on nodes 8, 16, 24, ... are on another host than 4, 12, 20, ...: a network namespace of their own, joined by a pair of interfaces. */
static inline void two_hosts(void) {
  int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), id;
  char path[96];
  FILE *f;
  CHECK(own >= 0 && unshare(CLONE_NEWNET) == 0);
  shell("ip link set lo up");
  second_host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  CHECK(second_host >= 0 && setns(own, CLONE_NEWNET) == 0);
  shell("ip link set lo up && ip link add sisci0 type veth peer name sisci1 netns /proc/%d/fd/%d", (int)getpid(), second_host);
  shell("ip addr add 10.77.0.1/24 dev sisci0 && ip link set sisci0 up");
  CHECK(setns(second_host, CLONE_NEWNET) == 0);
  shell("ip addr add 10.77.0.2/24 dev sisci1 && ip link set sisci1 up");
  CHECK(setns(own, CLONE_NEWNET) == 0);
  close(own);
  strcpy(hosts_dir, "/tmp/sisci-hosts-XXXXXX");
  CHECK(mkdtemp(hosts_dir) != NULL);
  atexit(no_hosts);
  umask(077);
  snprintf(path, sizeof path, "%s/nodes", hosts_dir);
  CHECK((f = fopen(path, "w")) != NULL);
  for (id = 4; id <= 64; id += 4) fprintf(f, "%d 10.77.0.%d\n", id, id / 4 % 2 == 1 ? 1 : 2);
  fclose(f);
  setenv("SISCI_NODES", path, 1);
  snprintf(path, sizeof path, "%s/secret", hosts_dir);
  CHECK((f = fopen(path, "w")) != NULL);
  fputs("nobody else knows this\n", f);
  fclose(f);
  setenv("SISCI_COOKIE_FILE", path, 1);
}

/* This process is node `id`. */
static inline void be(unsigned id) {
  char text[16];
  snprintf(text, sizeof text, "%u", id);
  setenv("SISCI_NODE_ID", text, 1);
  if (second_host >= 0 && id / 4 % 2 == 0) CHECK(setns(second_host, CLONE_NEWNET) == 0);
}

/* Starts a process that is node `id`; returns its number. It has to end by itself. */
static inline pid_t node(unsigned id, void (*work)(void *), void *arg) {
  pid_t pid;
  fflush(NULL);
  pid = fork();
  if (pid < 0) FAIL("fork: %s", strerror(errno));
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no node behind, also none that is stopped */
  alarm(300);
  be(id);
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
