/* What the kernel has, for ci/bench-deck: a pair of pipes, a pair of POSIX message queues, both used as they are quickest: without
 * sleeping (the descriptors do not block, and the reader tries again). */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>

#include "mbox-fork.h"

/* One of each direction: [node] is read by that node. */
static int pipes[2][2];
static mqd_t queues[2];
static int is_queue;

enum { QUEUE_ROOM = 64 };

static void check(ssize_t n, const char *what) {
  if (n >= 0 || errno == EAGAIN) return;
  perror(what);
  give_up();
}

/* A pipe has no messages: 2 bytes of length go before one, in the same write, as a program would do it. */
static void send_bytes(const void *from, size_t bytes) {
  unsigned char frame[2 + QUEUE_ROOM];
  ssize_t n;
  if (is_queue) {
    while ((n = mq_send(queues[1 - me], (const char *)from, bytes, 0)) < 0) check(n, "mq_send");
    return;
  }
  frame[0] = (unsigned char)bytes;
  frame[1] = (unsigned char)(bytes >> 8);
  memcpy(frame + 2, from, bytes);
  while ((n = write(pipes[1 - me][1], frame, bytes + 2)) < 0) check(n, "write");
  if ((size_t)n != bytes + 2) give_up(); /* so few bytes go whole */
}

/* A reader of a pipe takes what is there, which may be many messages. */
static size_t receive_bytes(void *to, size_t room) {
  static unsigned char buffer[65536];
  static size_t at, end;
  size_t bytes;
  ssize_t n;
  (void)room;
  if (is_queue) {
    while ((n = mq_receive(queues[me], (char *)to, QUEUE_ROOM, NULL)) < 0) check(n, "mq_receive");
    return (size_t)n;
  }
  for (;;) {
    if (end - at >= 2) {
      bytes = (size_t)buffer[at] | (size_t)buffer[at + 1] << 8;
      if (end - at >= 2 + bytes) {
        memcpy(to, buffer + at + 2, bytes);
        at += 2 + bytes;
        return bytes;
      }
    }
    memmove(buffer, buffer + at, end - at);
    end -= at;
    at = 0;
    n = read(pipes[me][0], buffer + end, sizeof buffer - end);
    check(n, "read");
    if (n == 0) give_up();
    if (n > 0) end += (size_t)n;
  }
}

#include "mbox-flow.h"

int main(int argc, char **argv) {
  struct mq_attr attr = {0};
  char name[64];
  int i;
  quick = argc > 1;
  attr.mq_maxmsg = 10;
  attr.mq_msgsize = QUEUE_ROOM;
  for (i = 0; i < 2; i++) {
    if (pipe2(pipes[i], O_NONBLOCK)) perror("pipe2"), exit(1);
    snprintf(name, sizeof name, "/mbox-%ld-%d", (long)getpid(), i);
    queues[i] = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr);
    if (queues[i] == (mqd_t)-1) perror("mq_open"), exit(1);
    mq_unlink(name);
  }
  fork_peer(argv, 1);
  buffers();
  everybody();
  rows("pipe", 0);
  everybody();
  is_queue = 1;
  rows("POSIX message queue", 0);
  return join_peer();
}
