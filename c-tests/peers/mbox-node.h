/* What the mbox programs of DECK share: checked calls, what peers.h wants, and memory of all nodes that the library does not know. */
#ifndef GASNET_SCI_MBOX_NODE_H
#define GASNET_SCI_MBOX_NODE_H

#include <deck.h>
#include <fcntl.h>
#include <gasnet.h>
#include <sys/mman.h>

#include "mbox.h"

#define OURS "deck"
#define MUST(call) must((call), #call, __LINE__)

static void give_up(void) { gasnet_exit(1); }

static void must(int rc, const char *call, int line) {
  if (rc >= 0) return;
  fprintf(stderr, "%s: node %d: line %d: %s: %s\n", peers_program, me, line, call, deck_strerror(rc));
  give_up();
}

static void everybody(void) { MUST(deck_barrier()); }

static double PEERS_UNUSED slowest(double microseconds) {
  double most = microseconds;
  MUST(deck_reduce(&microseconds, &most, DECK_DOUBLE, 1, DECK_MAX, 0));
  MUST(deck_bcast(&most, sizeof most, 0));
  return most;
}

/* So many bytes of 0 that all nodes have mapped: node 0 makes them, the others find them by its descriptor. Nothing of it has a
 * name that could stay behind. */
static void *common_memory(size_t bytes) {
  int32_t where[2] = {0, 0};
  char path[64];
  int fd = -1;
  void *at;
  if (me == 0) {
    fd = memfd_create("mbox", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes)) perror("memfd_create"), give_up();
    where[0] = (int32_t)getpid();
    where[1] = (int32_t)fd;
  }
  MUST(deck_bcast(where, sizeof where, 0));
  if (me != 0) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)where[0], (int)where[1]);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) perror(path), give_up();
  }
  at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) perror("mmap"), give_up();
  everybody();
  close(fd);
  return at;
}

#endif
