/* What it takes to start a program: start-cost RUNS COPIES BARE JOB [ARGUMENT]... runs COPIES processes of the command BARE at once, then
 * JOB with its arguments, in turns, RUNS times. Prints medians: milliseconds from fork to the last end, milliseconds of processors, KiB
 * of the largest process. What they print is thrown away. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000, MEASURES = 3 };
typedef double samples_t[MEASURES][MOST];

static void start(char **command) {
  pid_t pid = fork();
  if (pid > 0) return;
  int nowhere = open("/dev/null", O_WRONLY);
  if (pid < 0 || nowhere < 0) exit(1);
  dup2(nowhere, 1);
  execv(command[0], command);
  _exit(127);
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static void measure(samples_t samples, int run, int copies, char **command) {
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (int i = 0; i < copies; i++) start(command);
  double processors = 0, largest = 0;
  for (int i = 0; i < copies; i++) {
    int status;
    struct rusage used;
    if (wait4(-1, &status, 0, &used) < 0 || status != 0) {
      fprintf(stderr, "start-cost: %s ended with status %d\n", command[0], status);
      exit(1);
    }
    processors += seconds(used.ru_utime) + seconds(used.ru_stime);
    if ((double)used.ru_maxrss > largest) largest = (double)used.ru_maxrss;
  }
  clock_gettime(CLOCK_MONOTONIC, &after);
  samples[0][run] = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
  samples[1][run] = processors * 1e3;
  samples[2][run] = largest;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *what, samples_t samples, int runs) {
  for (int i = 0; i < MEASURES; i++) qsort(samples[i], (size_t)runs, sizeof(double), compare);
  printf("%s: %.2f ms (%.2f to %.2f), %.2f ms of processors, largest process %.0f KiB\n", what, samples[0][runs / 2], samples[0][0],
         samples[0][runs - 1], samples[1][runs / 2], samples[2][runs / 2]);
}

int main(int argc, char **argv) {
  static samples_t bare, job;
  if (argc < 5) return 1;
  int runs = atoi(argv[1]), copies = atoi(argv[2]);
  char *alone[] = {argv[3], NULL};
  if (runs < 1 || runs > MOST || copies < 1) return 1;
  for (int run = -1; run < runs; run++) { /* the first round fills caches and does not count */
    measure(bare, run < 0 ? 0 : run, copies, alone);
    measure(job, run < 0 ? 0 : run, 1, argv + 4);
  }
  print("bare", bare, runs);
  print("job", job, runs);
  return 0;
}
