/* What UDP itself can do between two hosts: bare datagrams between node 0 and the first node of the second host, in batches as the
 * library sends them, over sockets that are connected, which is the fastest way there is. (The library has such ones for the two peers
 * with which a node talks most.) Nobody waits in the kernel. The other nodes rest. Nothing here
 * is reliable, so a side that hears nothing for a while sends again, and gives up when it is clear that nobody is there: then the figure
 * is wrong, and the bench goes on. */
#include "bench.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#define SOL_UDP_ 17
#define BATCH 65472 /* bytes of a call: as in src/sci/far/udp/burst.rs (TOGETHER) */
#define AGAIN 50e6  /* ns */
#define NEVER 2e9

static int wire;
static size_t each, window; /* bytes of a datagram; of what may be under way */
static int can_cut = 1;     /* the system cuts a batch into datagrams (GSO) */
static uint64_t number;     /* of the last round trip or stream; both sides count alike */
static void check(ssize_t moved, const char *call) {
  if (moved >= 0 || errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ECONNREFUSED) return;
  fprintf(stderr, "gasnet-sci: bare datagrams between two nodes: %s: %s\n", call, strerror(errno));
  gasnet_exit(96);
}
void bench_udp_take(int fd, const void *address, unsigned bytes, size_t datagram, size_t room) {
  wire = fd, each = datagram, window = room;
  check(connect(fd, (const struct sockaddr *)address, bytes), "connect");
}

static void give(const void *from, size_t bytes) {
  check(send(wire, from, bytes, MSG_NOSIGNAL), "send");
}
static size_t take(void *to, size_t bytes) {
  const ssize_t moved = recv(wire, to, bytes, MSG_DONTWAIT);
  check(moved, "recv");
  return moved > 0 ? (size_t)moved : 0;
}
/* The number that a datagram begins with. */
static uint64_t number_of(const void *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* As many bytes as one call takes, each datagram but the last one full. Returns how many went. */
static size_t give_batch(size_t bytes) {
  struct mmsghdr list[64] = {{{0}, 0}};
  struct iovec parts[64];
  char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
  size_t count = 0, most = BATCH / each > 0 ? BATCH / each : 1, at;
  if (most > 64) most = 64;
  if (bytes > most * each) bytes = most * each;
  if (can_cut && bytes > each) {
    struct msghdr whole = {0, 0, parts, 1, control, sizeof control, 0};
    struct cmsghdr *head;
    ssize_t moved;
    parts[0].iov_base = bench_local, parts[0].iov_len = bytes;
    head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_UDP_, head->cmsg_type = UDP_SEGMENT, head->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    *(uint16_t *)(void *)CMSG_DATA(head) = (uint16_t)each;
    moved = sendmsg(wire, &whole, MSG_NOSIGNAL);
    if (moved >= 0 || errno == EAGAIN || errno == ENOBUFS) return moved > 0 ? bytes : 0;
    can_cut = 0;
  }
  for (at = 0; at < bytes; at += each, count++) {
    parts[count].iov_base = bench_local + at, parts[count].iov_len = bytes - at < each ? bytes - at : each;
    list[count].msg_hdr.msg_iov = &parts[count], list[count].msg_hdr.msg_iovlen = 1;
  }
  {
    const int sent = sendmmsg(wire, list, (unsigned)count, MSG_NOSIGNAL);
    check(sent, "sendmmsg");
    return sent <= 0 ? 0 : (size_t)sent == count ? bytes : (size_t)sent * each;
  }
}

static void ask(size_t bytes) {
  double start = bench_now(), last = start, now = start;
  number++;
  memcpy(bench_local, &number, sizeof number);
  give(bench_local, bytes);
  while (now - start < NEVER) {
    if (take(bench_local + BATCH, BATCH) > 0) {
      if (number_of(bench_local + BATCH) == number) return;
    } else if ((now = bench_now()) - last > AGAIN) {
      last = now;
      give(bench_local, bytes);
    }
  }
}
static void answer(size_t bytes) {
  const double start = bench_now();
  number++;
  for (;;) {
    if (take(bench_local, BATCH) > 0) {
      const uint64_t came = number_of(bench_local);
      if (came <= number) give(bench_local, bytes); /* an older one: its answer was lost */
      if (came == number) return;
    } else if (bench_now() - start > NEVER) {
      return;
    }
  }
}

/* An acknowledgement. */
typedef struct {
  uint64_t number, bytes;
} came_t;

static void pour(size_t bytes) {
  size_t sent = 0, came = 0, at;
  double last = bench_now();
  int turns = 0;
  number++;
  for (at = 0; at < BATCH; at += each) memcpy(bench_local + at, &number, sizeof number);
  while (came < bytes && turns < 40) {
    came_t news;
    const size_t room = came + window - sent, left = bytes - sent;
    size_t moved = 0;
    if (left > 0 && (room >= BATCH || room >= left)) sent += moved = give_batch(left < room ? left : room);
    while (take(&news, sizeof news) == sizeof news)
      if (news.number == number && news.bytes > came) came = news.bytes, moved = 1, turns = 0;
    if (moved > 0) {
      last = bench_now();
    } else if (bench_now() - last > AGAIN) { /* what is not there by now is lost */
      last = bench_now(), sent = came, turns++;
    }
  }
}
static void collect(size_t bytes) {
  double last = bench_now();
  came_t news = {++number, 0};
  size_t told = 0;
  while (news.bytes < bytes && bench_now() - last < NEVER) {
    const size_t moved = take(bench_local + BATCH, MAXBYTES - BATCH);
    if (moved == 0 || number_of(bench_local + BATCH) != number) continue;
    news.bytes += moved;
    last = bench_now();
    if (news.bytes - told >= window / 4 || news.bytes >= bytes) give(&news, sizeof news), told = news.bytes;
  }
}

/* `bytes` there and back. */
double bench_udp_trip(long n, size_t bytes) {
  BETWEEN_HOSTS(EACH_OF_HOSTS ask(bytes), EACH_OF_HOSTS answer(bytes));
}
/* Blocks one way, of which a quarter of what may be under way is acknowledged at a time. */
double bench_udp_stream(long n, size_t bytes) {
  BETWEEN_HOSTS(pour((size_t)n * bytes), collect((size_t)n * bytes));
}
/* The same, each datagram a message of sendmmsg(2): what programs do that know nothing of UDP_SEGMENT. */
double bench_udp_stream_plain(long n, size_t bytes) {
  const int could_cut = can_cut;
  double took;
  can_cut = 0;
  took = bench_udp_stream(n, bytes);
  can_cut = could_cut;
  return took;
}
