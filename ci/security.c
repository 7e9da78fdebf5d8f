/* The program that ci/security runs as two users. The job: security job FILE — nodes exchange a secret and check it
 * until FILE is there. The stranger: security attack PID — tries every door to process PID; prints each that opens,
 * and exits with their number. security secure — exit status 0 if the kernel takes this process for one with more
 * rights than its caller. */
#include <gasnet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECRET UINT64_C(0x5ec2e75ec2e75ec2)
static int doors;

static void opened(const char *door) {
  printf("open: %s\n", door);
  doors++;
}

static void try_file(const char *pid, const char *name, int flags) {
  char path[256];
  int fd;
  snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
  fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return;
  opened(path);
  close(fd);
}

static int attack(const char *text) {
  static char bytes[64];
  char name[32];
  int n, fd;
  pid_t pid = (pid_t)atol(text);
  struct iovec here = {bytes, sizeof bytes}, there = {(void *)environ, sizeof bytes};
  try_file(text, "mem", O_RDWR);
  try_file(text, "maps", O_RDONLY);
  try_file(text, "environ", O_RDONLY);
  try_file(text, "fd", O_RDONLY | O_DIRECTORY);
  try_file(text, "map_files", O_RDONLY | O_DIRECTORY);
  for (n = 3; n < 400; n++) {
    snprintf(name, sizeof name, "fd/%d", n);
    try_file(text, name, O_RDWR);
  }
  if (process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno != EPERM) opened("process_vm_readv");
  if (process_vm_writev(pid, &here, 1, &there, 1, 0) >= 0 || errno != EPERM) opened("process_vm_writev");
  if (kill(pid, 0) == 0) opened("kill");
  fd = (int)syscall(SYS_pidfd_open, pid, 0);
  for (n = 3; fd >= 0 && n < 400; n++)
    if (syscall(SYS_pidfd_getfd, fd, n, 0) >= 0 || errno != EPERM) {
      opened("pidfd_getfd");
      break;
    }
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
    opened("ptrace");
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  }
  return doors > 100 ? 100 : doors;
}

static int job(int argc, char **argv) {
  gasnet_node_t me, nodes;
  struct stat there;
  gasnet_seginfo_t segments[64];
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  me = gasnet_mynode();
  nodes = gasnet_nodes();
  if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) gasnet_exit(1);
  if (gasnet_getSegmentInfo(segments, 64) != GASNET_OK) gasnet_exit(1);
  printf("node %d of %d: %ld\n", (int)me, (int)nodes, (long)getpid());
  fflush(stdout);
  do {
    gasnet_put_val((me + 1) % nodes, segments[(me + 1) % nodes].addr, SECRET + me, 8);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(2);
    if (*(volatile uint64_t *)segments[me].addr != SECRET + (me + nodes - 1) % nodes) gasnet_exit(3);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(2);
  } while (argc > 2 && stat(argv[2], &there) != 0);
  gasnet_exit(0);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "attack") == 0) return attack(argv[2]);
  if (argc > 1 && strcmp(argv[1], "secure") == 0) return getauxval(AT_SECURE) ? 0 : 1;
  return job(argc, argv);
}
