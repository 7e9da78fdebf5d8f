/* Strangers at a running job of several hosts, for ci/security.
 *   strangers job FILE                     the nodes send each other numbers and check them until FILE is there; once FILE.far is there,
 *                                          to nodes that they have not talked to before. Each prints its process id, at the end its rounds
 *   strangers attack FROM PORT NODES LAYOUT HELD
 *                                          comes from the address FROM to a node's port, in every wrong way; then holds HELD connections
 *                                          that say nothing, or half of what they should, until standard input ends
 *   strangers syn NET PORT COUNT           begins COUNT connections to a node's port and leaves them there: TCP's first packet, from addresses
 *                                          NET.0.0 on, which never answer. Needs root */
#include <gasnet.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NUMBER UINT64_C(0x5ec2e75ec2000000)
#define HELLO 64
#define PROOF 32
#define PATIENCE 20000 /* ms: the nodes share their cores with whatever else runs */

/* ---- the job ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void meet(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) gasnet_exit(2);
}
static int is_there(const char *file, const char *more) {
  char path[4096];
  struct stat there;
  snprintf(path, sizeof path, "%s%s", file, more);
  return stat(path, &there) == 0;
}

/* What node 0 says to the others at the beginning of a round. */
enum { GO_ON, GO_FAR, END };

static int job(int argc, char **argv) {
  gasnet_node_t me, nodes, peer;
  gasnet_seginfo_t segments[64];
  uint64_t rounds = 0;
  double worst = 0;
  int order = GO_ON;
  if (gasnet_init(&argc, &argv) != GASNET_OK || argc < 3) return 1;
  me = gasnet_mynode();
  nodes = gasnet_nodes();
  if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) gasnet_exit(1);
  if (gasnet_getSegmentInfo(segments, 64) != GASNET_OK) gasnet_exit(1);
  printf("node %d of %d: %ld\n", (int)me, (int)nodes, (long)getpid());
  fflush(stdout);
  while (order != END) {
    const double start = now();
    const gasnet_node_t step = order == GO_FAR ? nodes / 2 : 1;
    volatile uint64_t *mine = (volatile uint64_t *)segments[me].addr;
    gasnet_put_val((me + step) % nodes, segments[(me + step) % nodes].addr, NUMBER + rounds * 64 + me, 8);
    if (me == 0) {
      const int next = is_there(argv[2], "") ? END : is_there(argv[2], ".far") ? GO_FAR : order;
      for (peer = 0; peer < nodes; peer++) gasnet_put_val(peer, (uint64_t *)segments[peer].addr + 1, (uint64_t)next, 8);
    }
    meet();
    if (mine[0] != NUMBER + rounds * 64 + (me + nodes - step) % nodes) gasnet_exit(3);
    order = (int)mine[1];
    meet();
    rounds++;
    if (now() - start > worst) worst = now() - start;
  }
  printf("node %d: %lu rounds, the longest %.0f ms\n", (int)me, (unsigned long)rounds, worst * 1e3);
  fflush(stdout);
  meet();
  gasnet_exit(0);
  return 0;
}

/* ---- the strangers ---- */

static struct sockaddr_in from, to;
static int wrong;

static int reach(void) {
  int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct timeval patience = {PATIENCE / 1000, 0};
  if (fd < 0) exit(90);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
    perror("strangers: a connection");
    exit(91);
  }
  return fd;
}
static void say(int fd, const void *bytes, size_t count) {
  if (send(fd, bytes, count, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) exit(92);
}
/* The node answers `count` bytes, then closes. */
static void hear_end(int fd, size_t count, const char *what) {
  char bytes[4096];
  size_t came = 0;
  ssize_t got;
  while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0) came += (size_t)got;
  if (came != count || (got < 0 && errno != ECONNRESET)) {
    printf("%s: %lu bytes came where %lu were expected, then %s\n", what, (unsigned long)came, (unsigned long)count,
           got == 0 ? "the end" : strerror(errno));
    wrong++;
  }
  close(fd);
}
/* The version of the wire: VERSIONS in src/boot/contact/greet.rs. */
#define WIRE 2

static void hello(unsigned char *at, unsigned version, uint32_t rank, uint32_t peer, uint64_t layout) {
  int i;
  memcpy(at, "GASNSCIW", 8);
  for (i = 8; i < HELLO; i++) at[i] = (unsigned char)rand();
  at[8] = at[10] = (unsigned char)version;
  at[9] = at[11] = 0;
  memcpy(at + 12, &rank, 4);
  memcpy(at + 16, &peer, 4);
  memset(at + 20, 0, 4);
  memcpy(at + 24, &layout, 8);
}

static int attack(char **argv) {
  const uint32_t nodes = (uint32_t)atoi(argv[4]);
  const uint64_t layout = strtoull(argv[5], NULL, 0);
  const int held = atoi(argv[6]);
  unsigned char bytes[4096];
  struct rlimit limit;
  uint32_t rank;
  int i, fd, silent;
  from.sin_family = to.sin_family = AF_INET;
  from.sin_addr.s_addr = inet_addr(argv[2]);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons((unsigned short)atoi(argv[3]));
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  srand(15);
  for (i = 0; i < 100; i++) close(reach()); /* a port scan */
  for (i = 0; i < 100; i++) {               /* garbage of any length that can be no greeting */
    size_t k, count = HELLO + (size_t)rand() % (sizeof bytes - HELLO);
    for (k = 0; k < count; k++) bytes[k] = (unsigned char)rand();
    bytes[0] = 'H';
    say(fd = reach(), bytes, count);
    hear_end(fd, 0, "garbage");
  }
  hello(bytes, 0, 1, 0, layout);
  say(fd = reach(), bytes, HELLO);
  hear_end(fd, 0, "an old version");
  hello(bytes, WIRE, 1, 0, layout ^ 1);
  say(fd = reach(), bytes, HELLO);
  hear_end(fd, 0, "another layout");
  hello(bytes, WIRE, nodes, nodes, layout);
  say(fd = reach(), bytes, HELLO);
  hear_end(fd, 0, "a node that does not exist");
  silent = reach();
  for (rank = 0; rank < nodes; rank++) { /* one of these is the node that listens: it wants proof */
    size_t got = 0;
    ssize_t more;
    hello(bytes, WIRE, (rank + 1) % nodes, rank, layout);
    say(fd = reach(), bytes, HELLO);
    while (got < HELLO && (more = recv(fd, bytes + got, HELLO - got, 0)) > 0) got += (size_t)more;
    if (got == HELLO) say(fd, bytes, PROOF);
    hear_end(fd, 0, "a wrong proof");
  }
  hear_end(silent, 0, "silence");
  for (i = 0; i < held; i++) {
    hello(bytes, WIRE, 1, 0, layout);
    fd = reach();
    if (i % 2) say(fd, bytes, HELLO / 2);
  }
  printf("held\n");
  fflush(stdout);
  while (read(0, bytes, sizeof bytes) > 0) {}
  return wrong > 100 ? 100 : wrong;
}

/* The Internet checksum of `count` bytes, an even number. */
static uint16_t checksum(const void *bytes, size_t count, uint32_t sum) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t i;
  for (i = 0; i < count; i += 2) sum += (uint32_t)at[i] << 8 | at[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return htons((uint16_t)~sum);
}

static int syn(char **argv) {
  const int count = atoi(argv[4]), fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW); /* this kind gets no packet, and sends whole ones */
  struct {
    struct iphdr ip;
    struct tcphdr tcp;
  } packet;
  int i;
  if (fd < 0) return perror("strangers: a raw socket"), 90;
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (i = 0; i < count; i++) {
    const uint32_t source = ntohl(inet_addr(argv[2])) + 2 + (uint32_t)i, target = INADDR_LOOPBACK;
    memset(&packet, 0, sizeof packet);
    packet.ip.version = 4;
    packet.ip.ihl = sizeof packet.ip / 4;
    packet.ip.tot_len = htons(sizeof packet);
    packet.ip.ttl = 64;
    packet.ip.protocol = IPPROTO_TCP;
    packet.ip.saddr = htonl(source);
    packet.ip.daddr = htonl(target);
    packet.ip.check = checksum(&packet.ip, sizeof packet.ip, 0);
    packet.tcp.source = htons((uint16_t)(1024 + i));
    packet.tcp.dest = htons((uint16_t)atoi(argv[3]));
    packet.tcp.seq = htonl((uint32_t)i);
    packet.tcp.doff = sizeof packet.tcp / 4;
    packet.tcp.syn = 1;
    packet.tcp.window = htons(65535);
    packet.tcp.check = checksum(&packet.tcp, sizeof packet.tcp,
                                (source >> 16) + (source & 0xffff) + (target >> 16) + (target & 0xffff) + IPPROTO_TCP +
                                    (uint32_t)sizeof packet.tcp);
    if (sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) != (ssize_t)sizeof packet)
      return perror("strangers: a packet"), 91;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[1], "syn") == 0) return syn(argv);
  if (argc > 6 && strcmp(argv[1], "attack") == 0) return attack(argv);
  return job(argc, argv);
}
