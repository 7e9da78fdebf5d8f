/* How MPI programs end, with and without MPI_Finalize, and what the component leaves as it was.
 *
 *   testend WAY    abort: rank 1 calls MPI_Abort(7) · exit: it calls exit(5) · kill, segv: it dies of that signal · return: it returns 6 ·
 *                  late: rank 0 works on after the others have ended · signals: no signal has a handler that MPI does not install itself
 *
 * In the first four ways the others wait for a message for ever. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static const int mine[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGALRM};
  const char *way = argc > 1 ? argv[1] : "";
  int me, sum, changed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (strstr("abort exit kill segv", way)) {
    if (me == 1 && strcmp(way, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (me == 1 && strcmp(way, "exit") == 0) exit(5);
    if (me == 1) raise(strcmp(way, "kill") == 0 ? SIGKILL : SIGSEGV);
    MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(way, "signals") == 0)
    for (unsigned i = 0; i < sizeof mine / sizeof *mine; i++) {
      struct sigaction now;
      sigaction(mine[i], NULL, &now);
      changed += now.sa_handler != SIG_DFL;
    }
  MPI_Finalize();
  if (strcmp(way, "return") == 0) return me == 1 ? 6 : 0;
  if (strcmp(way, "late") == 0 && me == 0) sleep(2); /* longer than any watch of the library takes to notice an end */
  if (me == 0) printf("testend: %s\n", changed ? "FAIL: handlers of signals" : "PASS");
  return changed != 0;
}
