/* nng's side of ci/bench-deck: a pair of sockets over its ipc transport, with blocking calls, which are its quickest: its own
 * threads do the work. */
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

#include "mbox-fork.h"

static nng_socket nng_sock;

static void must(int rc, const char *what) {
  if (!rc) return;
  fprintf(stderr, "%s: %s\n", what, nng_strerror(rc));
  give_up();
}

static void send_bytes(const void *from, size_t bytes) { must(nng_send(nng_sock, (void *)(uintptr_t)from, bytes, 0), "nng_send"); }

static size_t receive_bytes(void *to, size_t room) {
  must(nng_recv(nng_sock, to, &room, 0), "nng_recv");
  return room;
}

#include "mbox-flow.h"

int main(int argc, char **argv) {
  char address[200];
  quick = argc > 2;
  if (argc < 2) fprintf(stderr, "usage: %s DIRECTORY [quick]\n", argv[0]), exit(1);
  fork_peer(argv, 1);
  buffers();
  snprintf(address, sizeof address, "ipc://%s/nng", argv[1]);
  must(nng_pair0_open(&nng_sock), "nng_pair0_open");
  must(nng_socket_set_int(nng_sock, NNG_OPT_SENDBUF, 1024), "send buffer");
  must(nng_socket_set_int(nng_sock, NNG_OPT_RECVBUF, 1024), "receive buffer");
  if (me == 0) must(nng_listen(nng_sock, address, NULL, 0), "nng_listen");
  everybody();
  if (me == 1) must(nng_dial(nng_sock, address, NULL, 0), "nng_dial");
  everybody();
  rows("nng (ipc)", 0);
  everybody();
  nng_close(nng_sock);
  return join_peer();
}
