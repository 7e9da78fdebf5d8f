/* Runs a command as containers do that forbid system calls: without CALL[,CALL]... COMMAND [ARGUMENT]...
 * Each CALL fails with EPERM in the command and in all that it starts (seccomp). Status 125 if there is no such filter here. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
  {"membarrier", SYS_membarrier}, {"process_vm_readv", SYS_process_vm_readv}, {"process_vm_writev", SYS_process_vm_writev},
  {"personality", SYS_personality}, {"memfd_create", SYS_memfd_create}, {"pidfd_open", SYS_pidfd_open}, {"mbind", SYS_mbind},
  {"set_mempolicy", SYS_set_mempolicy}, {"sched_setaffinity", SYS_sched_setaffinity}, {"ptrace", SYS_ptrace}};
enum { CALLS = sizeof calls / sizeof *calls };

static int complain(const char *what, const char *which) {
  fprintf(stderr, "without: %s %s\n", what, which);
  return 125;
}

int main(int argc, char **argv) {
  /* Load the number of the call; each name adds a comparison and a return. */
  struct sock_filter code[2 * CALLS + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short len = 1;
  char *name;
  if (argc < 3) return complain("usage:", "without CALL[,CALL]... COMMAND [ARGUMENT]...");
  for (name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
    int i = 0;
    while (i < CALLS && strcmp(calls[i].name, name) != 0) i++;
    if (i == CALLS || len + 3 > 2 * CALLS + 2) return complain("cannot forbid", name);
    code[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {len, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return complain("no_new_privs:", strerror(errno));
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return complain("seccomp:", strerror(errno));
  execvp(argv[2], argv + 2);
  return complain(argv[2], strerror(errno));
}
