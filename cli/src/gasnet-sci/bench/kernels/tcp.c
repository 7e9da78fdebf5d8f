/* What TCP itself can do between two hosts: a bare connection between node 0 and the first node of the second host. Nobody
 * waits in the kernel, as nodes of a job do not. The other nodes rest. */
#include "bench.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

static int wire; /* set by tcp.rs: no delay, not blocking */
void bench_tcp_take(int fd) { wire = fd; }

static void check(ssize_t moved, const char *call) {
  if (moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR))) return;
  fprintf(stderr, "gasnet-sci: the bare connection between two nodes: %s: %s\n", call,
          moved == 0 ? "the other node has closed it" : strerror(errno));
  gasnet_exit(96);
}
static void give(size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t moved = send(wire, bench_local + done, bytes - done, MSG_NOSIGNAL);
    check(moved, "send");
    if (moved > 0) done += (size_t)moved;
  }
}
static void take(size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t moved = recv(wire, bench_local + done, bytes - done, 0);
    check(moved, "recv");
    if (moved > 0) done += (size_t)moved;
  }
}

/* `bytes` there and back. */
double bench_tcp_trip(long n, size_t bytes) {
  BETWEEN_HOSTS(EACH_OF_HOSTS { give(bytes); take(bytes); }, EACH_OF_HOSTS { take(bytes); give(bytes); });
}
/* Blocks one way; a word says that all are there. */
double bench_tcp_stream(long n, size_t bytes) {
  BETWEEN_HOSTS(EACH_OF_HOSTS give(bytes); take(8), EACH_OF_HOSTS take(bytes); give(8));
}
