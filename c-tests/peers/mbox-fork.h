/* Two processes of a program without a launcher: fork, a barrier, the slower one's time. For the mbox programs of the kernel's own
 * pipes and queues, and of ZeroMQ and nng. */
#ifndef GASNET_SCI_MBOX_FORK_H
#define GASNET_SCI_MBOX_FORK_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mbox.h"

typedef struct {
  uint64_t at[2];  /* how many barriers each process has come to */
  double us[2][2]; /* [turn][process] */
  char pad[64];
} meeting_t;

static meeting_t *meeting;

static void everybody(void) {
  uint64_t mine = meeting->at[me] + 1;
  __atomic_store_n(&meeting->at[me], mine, __ATOMIC_RELEASE);
  while (__atomic_load_n(&meeting->at[1 - me], __ATOMIC_ACQUIRE) < mine) continue;
}

static double slowest(double microseconds) {
  static int turn;
  double *us = meeting->us[turn ^= 1];
  us[me] = microseconds;
  everybody();
  return us[0] > us[1] ? us[0] : us[1];
}

static pid_t child;

/* The child ends when its parent does. If the child gives up alone, the parent is told by a signal. */
static void give_up(void) {
  if (me == 1) kill(getppid(), SIGTERM);
  _exit(1);
}

/* Node 1 is the child. pinned: each process has a core. */
static void fork_peer(char **argv, int pinned) {
  meeting = (meeting_t *)mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (meeting == MAP_FAILED) perror("mmap"), exit(1);
  nodes = 2;
  peers_program = argv[0];
  fflush(stdout);
  child = fork();
  if (child < 0) perror("fork"), exit(1);
  me = child == 0;
  if (me == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (pinned) pin();
}

/* The status of the program: 0 only if both processes ended well. */
static int join_peer(void) {
  int status = 0;
  if (me == 1) exit(0);
  if (waitpid(child, &status, 0) != child) return 1;
  return status == 0 ? 0 : 1;
}

#endif
