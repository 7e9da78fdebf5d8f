/* Starts itself by the functions of exec that take a list, with 0 to 12 arguments, more than registers hold: each must come, and the environment
 * of execle behind them. The library for drop-in sockets has functions of its own by these names. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 12 };
static const char *const text[ARGUMENTS + 1] = {"program", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};

/* The child looks at what has come: argument n ends the list where the parent says. */
static int child(int argc, char **argv) {
  const char *n = getenv("EXECS_N");
  int i;
  if (n == NULL || atoi(n) != argc - 1) return 2;
  for (i = 1; i < argc; i++) /* an emulator may give a name of its own */
    if (strcmp(argv[i], text[i]) != 0) return 3;
  return 0;
}

#define LIST(n) text[0], n < 1 ? NULL : text[1], n < 2 ? NULL : text[2], n < 3 ? NULL : text[3], n < 4 ? NULL : text[4], \
  n < 5 ? NULL : text[5], n < 6 ? NULL : text[6], n < 7 ? NULL : text[7], n < 8 ? NULL : text[8], n < 9 ? NULL : text[9], \
  n < 10 ? NULL : text[10], n < 11 ? NULL : text[11], n < 12 ? NULL : text[12], (char *)NULL

int main(int argc, char **argv) {
  static char number[32];
  static char prefix[256];
  char *environment[] = {number, prefix, NULL};
  int kind, n, status, failed = 0;
  if (getenv("EXECS_N") != NULL) return child(argc, argv);
  if (argc < 2) return 1;
  snprintf(prefix, sizeof prefix, "QEMU_LD_PREFIX=%s", getenv("QEMU_LD_PREFIX") ? getenv("QEMU_LD_PREFIX") : "");
  for (kind = 0; kind < 3; kind++) {
    for (n = 0; n <= ARGUMENTS; n++) {
      pid_t pid;
      if (kind == 2 && n != ARGUMENTS) continue; /* its list must not end before the environment */
      snprintf(number, sizeof number, "EXECS_N=%d", n);
      pid = fork();
      if (pid == 0) {
        putenv(number);
        if (kind == 0) execl(argv[1], LIST(n));
        if (kind == 1) execlp(argv[1], LIST(n));
        if (kind == 2) execle(argv[1], LIST(n), environment);
        _exit(4);
      }
      if (waitpid(pid, &status, 0) != pid || status != 0) failed++, printf("kind %d, %d arguments: status 0x%x\n", kind, n, status);
    }
  }
  printf("execs: %s\n", failed ? "FAILED" : "passed");
  return failed != 0;
}
