/* The program that ci/containers runs in namespaces and in groups with little memory.
 *   containers most           attaches all that gasnet_getMaxLocalSegmentSize offers, and writes all of it
 *   containers eat MIB        the same, after each node has taken MIB MiB; refused with GASNET_ERR_RESOURCE: says so, status 0
 *   containers own MIB        attaches one page, then takes MIB MiB
 *   containers exit CODE      node 0 leaves with CODE while the others compute and never call
 *   containers wait           says "ready" and computes until it is ended
 *   containers segv           node 1 dies, the others compute */
#include <gasnet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void barrier(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(9);
}

static void compute(void) {
  for (;;) pause();
}

static void take(size_t bytes) {
  char *memory = malloc(bytes);
  if (!memory) gasnet_exit(8);
  for (size_t at = 0; at < bytes; at += 4096) *(volatile char *)(memory + at) = 1;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "most";
  size_t number = argc > 2 ? (size_t)atol(argv[2]) : 0, size = GASNET_PAGESIZE;
  int status;
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 7;
#ifndef GASNET_SEGMENT_EVERYTHING
  if (!strcmp(what, "most") || !strcmp(what, "eat")) size = gasnet_getMaxLocalSegmentSize();
#endif
  if (!strcmp(what, "eat")) take(number << 20);
  status = gasnet_attach(NULL, 0, size, 0);
  if (status == GASNET_ERR_RESOURCE && !strcmp(what, "eat")) {
    printf("node %d: refused\n", (int)gasnet_mynode());
    fflush(stdout);
    sleep(1); /* the other nodes say so too */
    gasnet_exit(0);
  }
  if (status != GASNET_OK) gasnet_exit(6);
  barrier();
  if (!strcmp(what, "exit") && gasnet_mynode() == 0) gasnet_exit((int)number);
  if (!strcmp(what, "segv") && gasnet_mynode() == 1) raise(SIGSEGV);
  if (!strcmp(what, "own")) take(number << 20);
  if (!strcmp(what, "wait")) {
    printf("ready\n");
    fflush(stdout);
  }
  if (!strcmp(what, "exit") || !strcmp(what, "segv") || !strcmp(what, "wait")) compute();
#ifndef GASNET_SEGMENT_EVERYTHING
  {
    gasnet_seginfo_t infos[64];
    size_t wrong = 0;
    if (gasnet_getSegmentInfo(infos, 64) != GASNET_OK) gasnet_exit(5);
    char *mine = infos[gasnet_mynode()].addr;
    for (size_t at = 0; at < size; at += 4096) mine[at] = (char)(at >> 12);
    for (size_t at = 0; at < size; at += 4096) wrong += mine[at] != (char)(at >> 12);
    printf("node %d: %zu bytes written, %zu wrong\n", (int)gasnet_mynode(), size, wrong);
    if (wrong) gasnet_exit(4);
  }
#endif
  barrier();
  gasnet_exit(0);
}
