/* ZeroMQ's side of ci/bench-deck: a pair of sockets over its ipc transport. The receiver tries again without sleeping, and the
 * processes are not pinned, as the library's own threads would then share the core of the receiver: so it is quickest. */
#include <errno.h>
#include <zmq.h>

#include "mbox-fork.h"

static void *zmq_sock;

static void send_bytes(const void *from, size_t bytes) {
  if (zmq_send(zmq_sock, from, bytes, 0) < 0) fprintf(stderr, "zmq_send: %s\n", zmq_strerror(zmq_errno())), give_up();
}

static size_t receive_bytes(void *to, size_t room) {
  int n;
  while ((n = zmq_recv(zmq_sock, to, room, ZMQ_DONTWAIT)) < 0)
    if (zmq_errno() != EAGAIN) fprintf(stderr, "zmq_recv: %s\n", zmq_strerror(zmq_errno())), give_up();
  return (size_t)n;
}

#include "mbox-flow.h"

int main(int argc, char **argv) {
  char address[200];
  void *context;
  int rc, no_linger = 0;
  quick = argc > 2;
  if (argc < 2) fprintf(stderr, "usage: %s DIRECTORY [quick]\n", argv[0]), exit(1);
  fork_peer(argv, 0);
  buffers();
  snprintf(address, sizeof address, "ipc://%s/zmq", argv[1]);
  context = zmq_ctx_new();
  zmq_sock = zmq_socket(context, ZMQ_PAIR);
  zmq_setsockopt(zmq_sock, ZMQ_LINGER, &no_linger, sizeof no_linger);
  if (me == 0) rc = zmq_bind(zmq_sock, address);
  else rc = 0;
  everybody();
  if (me == 1) rc = zmq_connect(zmq_sock, address);
  if (rc) fprintf(stderr, "%s: %s\n", address, zmq_strerror(zmq_errno())), give_up();
  everybody();
  rows("ZeroMQ (ipc)", 0);
  everybody();
  zmq_close(zmq_sock);
  zmq_ctx_term(context);
  return join_peer();
}
