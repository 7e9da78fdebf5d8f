/* LD_PRELOAD library of ci/soak: makes system calls of the conduit fail, or take long, at the n-th time.
 *
 *   SOAK_FAULT="PROCESS CALL NTH ERRNO TIMES"
 *
 * PROCESS 0 is the launcher or the original process, k + 1 is the process that it forked for node k, -1 is any
 * process. Of the launcher's two processes the one that starts the nodes is 0; the one that guards it has no number.
 * From the NTH call on, TIMES calls fail with ERRNO. With ERRNO 0 the NTH call first sleeps TIMES milliseconds,
 * once. SOAK_LOG names a file that gets one line when the fault begins: process, pid, call, seconds since 1970. Each
 * process counts its own calls, those of all its threads together, from 0 after a fork. CALL is a name from the
 * tables below; futex and membarrier, which the library calls by syscall(2), have their own names. Calls that glibc
 * makes inside itself are not seen. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct {
  int ready, process, forks, split; /* split: the launcher has become two processes */
  int wanted_process;
  char wanted[32];
  long nth, error, times;
  long count, told;
  long (*system)(long, ...);
  pid_t (*fork)(void);
  int (*thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
} state;

static void prepare(void) {
  const char *plan = getenv("SOAK_FAULT"), *process = getenv("SOAK_PROCESS");
  if (state.ready) return;
  *(void **)&state.system = dlsym(RTLD_NEXT, "syscall");
  *(void **)&state.fork = dlsym(RTLD_NEXT, "fork");
  *(void **)&state.thread = dlsym(RTLD_NEXT, "pthread_create");
  if (process) state.process = atoi(process);
  if (!plan || sscanf(plan, "%d %31s %ld %ld %ld", &state.wanted_process, state.wanted, &state.nth, &state.error, &state.times) != 5)
    state.wanted[0] = 0;
  state.ready = 1;
}

__attribute__((constructor)) static void at_start(void) { prepare(); }

static void tell(const char *call) {
  const char *log = getenv("SOAK_LOG");
  struct timespec now;
  char line[128];
  int fd, n;
  if (!log || __atomic_exchange_n(&state.told, 1, __ATOMIC_RELAXED)) return;
  clock_gettime(CLOCK_REALTIME, &now);
  n = snprintf(line, sizeof line, "%d %ld %s %ld.%06ld\n", state.process, (long)getpid(), call, (long)now.tv_sec,
               now.tv_nsec / 1000);
  fd = (int)state.system(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  state.system(SYS_write, fd, line, n);
  state.system(SYS_close, fd);
}

/* Must this call fail? Then errno is set. */
static int fails(const char *call) {
  int kept = errno;
  long n;
  prepare();
  if (strcmp(call, state.wanted) || (state.wanted_process >= 0 && state.wanted_process != state.process)) return 0;
  n = __atomic_add_fetch(&state.count, 1, __ATOMIC_RELAXED);
  if (n < state.nth || (state.error ? n >= state.nth + state.times : n > state.nth)) return 0;
  tell(call);
  if (state.error == 0) {
    struct timespec nap = {state.times / 1000, state.times % 1000 * 1000000};
    state.system(SYS_nanosleep, &nap, NULL);
    errno = kept;
    return 0;
  }
  errno = (int)state.error;
  return 1;
}

long syscall(long number, ...) {
  long a[6];
  const char *name = "syscall";
  va_list list;
  int i;
  va_start(list, number);
  for (i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  /* A lock between threads of one process (flag 128) relies on its wake, as pthreads do; between processes ours does
   * not. */
  if (number == SYS_futex) name = (a[1] & 128) != 0 ? "futex_private" : (a[1] & 127) == 1 ? "futex_wake" : "futex_wait";
  else if (number == SYS_membarrier) name = "membarrier";
  else if (number == SYS_pidfd_open) name = "pidfd_open";
  if (fails(name)) return -1;
  return state.system(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

pid_t fork(void) {
  pid_t pid;
  char number[16];
  if (fails("fork")) return -1;
  state.forks++;
  pid = state.fork();
  if (!state.split && state.process == 0 && !strcmp(program_invocation_short_name, "gasnetrun_sci")) {
    /* The launcher's first fork: its child starts the nodes. That one's own first fork is node 0. */
    state.split = 1;
    if (pid == 0) state.forks = 0, state.count = 0, state.told = 0;
    else if (pid > 0) state.process = -2;
  } else if (pid == 0) {
    state.process = state.forks;
    state.forks = 0, state.count = 0, state.told = 0;
    snprintf(number, sizeof number, "%d", state.process);
    setenv("SOAK_PROCESS", number, 1);
  }
  return pid;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument) {
  if (fails("pthread_create")) return errno;
  return state.thread(thread, attr, start, argument);
}

#define MMAP(name, offset_t)                                                                   \
  void *name(void *at, size_t n, int protection, int flags, int fd, offset_t offset) {         \
    if (fails("mmap")) return MAP_FAILED;                                                      \
    return (void *)state.system(SYS_mmap, at, n, protection, flags, fd, offset);               \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

int memfd_create(const char *name, unsigned flags) {
  return fails("memfd_create") ? -1 : (int)state.system(SYS_memfd_create, name, flags);
}

#define SIZED(name, number, offset_t)                                                          \
  int name(int fd, offset_t n) { return fails("ftruncate") ? -1 : (int)state.system(number, fd, n); }
SIZED(ftruncate, SYS_ftruncate, off_t)
SIZED(ftruncate64, SYS_ftruncate, off64_t)

#define PWRITE(name, offset_t)                                                                 \
  ssize_t name(int fd, const void *at, size_t n, offset_t offset) {                            \
    return fails("pwrite") ? -1 : (ssize_t)state.system(SYS_pwrite64, fd, at, n, offset);      \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FALLOCATE(name, offset_t)                                                              \
  int name(int fd, int mode, offset_t offset, offset_t n) {                                    \
    return fails("fallocate") ? -1 : (int)state.system(SYS_fallocate, fd, mode, offset, n);    \
  }
FALLOCATE(fallocate, off_t)
FALLOCATE(fallocate64, off64_t)

int pipe2(int fds[2], int flags) { return fails("pipe2") ? -1 : (int)state.system(SYS_pipe2, fds, flags); }
int dup2(int from, int to) { return fails("dup2") ? -1 : (int)state.system(SYS_dup3, from, to, 0); }

#define FCNTL(name)                                                                            \
  int name(int fd, int command, ...) {                                                         \
    va_list list;                                                                              \
    long argument;                                                                             \
    va_start(list, command);                                                                   \
    argument = va_arg(list, long);                                                             \
    va_end(list);                                                                              \
    return fails("fcntl") ? -1 : (int)state.system(SYS_fcntl, fd, command, argument);          \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

int signalfd(int fd, const sigset_t *mask, int flags) {
  return fails("signalfd") ? -1 : (int)state.system(SYS_signalfd4, fd, mask, 8, flags);
}

int poll(struct pollfd *fds, nfds_t n, int timeout) {
  struct timespec limit = {timeout / 1000, (long)(timeout % 1000) * 1000000};
  return fails("poll") ? -1 : (int)state.system(SYS_ppoll, fds, n, timeout < 0 ? NULL : &limit, NULL, 8);
}

int prctl(int option, ...) {
  long a[4];
  va_list list;
  int i;
  va_start(list, option);
  for (i = 0; i < 4; i++) a[i] = va_arg(list, long);
  va_end(list);
  return fails("prctl") ? -1 : (int)state.system(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

#define OPEN(name)                                                                                  \
  int name(const char *path, int flags, ...) {                                                      \
    va_list list;                                                                                   \
    long mode;                                                                                      \
    va_start(list, flags);                                                                          \
    mode = va_arg(list, long);                                                                      \
    va_end(list);                                                                                   \
    return fails("open64") ? -1 : (int)state.system(SYS_openat, AT_FDCWD, path, flags, mode);       \
  }
OPEN(open)
OPEN(open64)

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  return fails("sendmsg") ? -1 : (ssize_t)state.system(SYS_sendmsg, fd, message, flags);
}
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  return fails("recvmsg") ? -1 : (ssize_t)state.system(SYS_recvmsg, fd, message, flags);
}

#define VM(name, number)                                                                                            \
  ssize_t name(pid_t pid, const struct iovec *here, unsigned long n, const struct iovec *there, unsigned long m,    \
               unsigned long flags) {                                                                               \
    return fails(#name) ? -1 : (ssize_t)state.system(number, pid, here, n, there, m, flags);                        \
  }
VM(process_vm_readv, SYS_process_vm_readv)
VM(process_vm_writev, SYS_process_vm_writev)
