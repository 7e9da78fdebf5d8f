/* The layer of sockets: a connection of TCP between two processes of a host, as programs use it. It is linked into gasnet-sci, which runs it
 * plain and with the library for drop-in sockets. */
#include "layer.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int wire;

static void broken(const char *call) {
  perror(call);
  exit(1);
}
/* The bytes that a call moved: none if it would have had to wait. */
static size_t moved(ssize_t bytes, const char *call) {
  if (bytes > 0) return (size_t)bytes;
  if (bytes == 0) layer_fail("the other process has closed the connection");
  if (errno != EAGAIN && errno != EINTR) broken(call);
  return 0;
}

static void send_all(const char *from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) done += moved(send(wire, from + done, bytes - done, MSG_NOSIGNAL), "send");
}
static void receive_all(char *to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) done += moved(recv(wire, to + done, bytes - done, 0), "recv");
}
/* Sends what there is room for, and receives what is there. */
static void exchange(const char *from, char *to, size_t bytes) {
  size_t sent = 0, received = 0;
  while (sent < bytes || received < bytes) {
    size_t more = 0;
    if (sent < bytes) sent += more = moved(send(wire, from + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT), "send");
    if (received < bytes) {
      /* With everything sent it can only wait for the rest. */
      const size_t came = moved(recv(wire, to + received, bytes - received, sent < bytes ? MSG_DONTWAIT : 0), "recv");
      received += came, more += came;
    }
    if (more == 0) {
      struct pollfd both = {wire, (short)((sent < bytes ? POLLOUT : 0) | (received < bytes ? POLLIN : 0)), 0};
      if (poll(&both, 1, -1) < 0 && errno != EINTR) broken("poll");
    }
  }
}

/* Prints the figures, or ends with the reason. */
void bench_layer_tcp(int rounds, double budget, int cpu0, int cpu1) {
  const int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof here;
  layer_t layer = {0, send_all, receive_all, exchange};
  int status = 0;
  pid_t child;
  if (listener < 0 || bind(listener, (struct sockaddr *)&here, length) != 0 || listen(listener, 1) != 0) broken("listen");
  if (getsockname(listener, (struct sockaddr *)&here, &length) != 0) broken("getsockname");
  child = fork();
  if (child < 0) broken("fork");
  layer.me = child == 0;
  layer_pin(layer.me ? cpu1 : cpu0);
  if (layer.me) {
    wire = socket(AF_INET, SOCK_STREAM, 0);
    if (wire < 0 || connect(wire, (struct sockaddr *)&here, length) != 0) broken("connect");
  } else {
    wire = accept(listener, NULL, NULL);
    if (wire < 0) broken("accept");
  }
  close(listener);
  if (setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) broken("setsockopt");
  layer_measure(&layer, rounds, budget);
  fflush(stdout);
  if (layer.me) _exit(0);
  close(wire);
  if (waitpid(child, &status, 0) != child || status != 0) layer_fail("the other process has failed");
}
