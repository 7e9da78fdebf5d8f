/* Programs of two users on one host do not meet. Whoever connects to a socket of another user's gets no memory, and one who has taken the name that
 * another user's node would have is found out. To be started by root: it becomes another user. */
#include "test.h"
#include <stddef.h>
#include <sys/un.h>

#define OTHER 65534
#define ID 17

static int ready[2], over[2];

/* Another user from now on. */
static void other_user(void) { CHECK(setgid(OTHER) == 0 && setuid(OTHER) == 0); }

static void tell(int pipe[2]) { CHECK(write(pipe[1], "", 1) == 1); }

static void wait_for(int pipe[2]) {
  char byte;
  CHECK(read(pipe[0], &byte, 1) == 1);
}

/* Offers memory until the others have tried. */
static void owner(void *arg) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, ID, 4096, 0);
  unsigned node, adapter;
  (void)arg;
  tell(ready);
  wait_for(over);
  /* Nobody was let in. */
  EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(s, &node, &adapter, 0, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  SCITerminate();
}

/* The socket address of root's segment ID of node 4, with `node` in place of 4. */
static socklen_t address(struct sockaddr_un *at, unsigned node) {
  FILE *names = fopen("/proc/net/unix", "r");
  char line[512], *name;
  unsigned id;
  CHECK(names != NULL);
  memset(at, 0, sizeof *at);
  at->sun_family = AF_UNIX;
  while (fgets(line, sizeof line, names)) {
    char what[64];
    name = strstr(line, "@sisci/0/4/");
    if (name == NULL || sscanf(name, "@sisci/0/4/%63[^/]/%u", what, &id) != 2 || id != ID) continue;
    fclose(names);
    snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "sisci/0/%u/%s/%u", node, what, ID);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at->sun_path + 1));
  }
  FAIL("root's segment has no name");
}

/* Another user asks for the segment by the library: to it there is none. */
static void asks(void *arg) {
  sci_desc_t sd;
  sci_remote_segment_t there;
  (void)arg;
  other_user();
  sd = opened();
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &there, 4, ID, 0, NULL, NULL, 1000, 0, &e));
  SCITerminate();
}

/* A node 4 of another user's may have the same id. */
static void offers_same_id(void *arg) {
  (void)arg;
  other_user();
  EXPECT(OK, SCIRemoveSegment(offered(opened(), ID, 4096, 0), 0, &e));
  SCITerminate();
}

/* Another user connects to the socket itself: an answer without descriptors, and the end. */
static void knocks(void *arg) {
  struct sockaddr_un at;
  socklen_t size = address(&at, 4);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ssize_t got;
  (void)arg;
  other_user();
  CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, size) == 0);
  do {
    char bytes[256];
    union { struct cmsghdr head; char space[CMSG_SPACE(8 * sizeof(int))]; } beside;
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {NULL, 0, &part, 1, &beside, sizeof beside, 0};
    got = recvmsg(fd, &message, 0);
    CHECK(got >= 0 || errno == ECONNRESET);
    CHECK(got < 0 || CMSG_FIRSTHDR(&message) == NULL);
  } while (got > 0);
}

/* Another user has taken the name that root's node 12 would have. */
static void squats(void *arg) {
  struct sockaddr_un at;
  socklen_t size = address(&at, 12);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  (void)arg;
  other_user();
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, 8) == 0);
  tell(ready);
  wait_for(over);
}

static void is_not_deceived(void *arg) {
  sci_desc_t sd = opened();
  sci_remote_segment_t there;
  (void)arg;
  EXPECT(CONNECTION_REFUSED, SCIConnectSegment(sd, &there, 12, ID, 0, NULL, NULL, 1000, 0, &e));
  EXPECT(OK, SCIClose(sd, 0, &e));
  SCITerminate();
}

int main(void) {
  pid_t first, second;
  if (geteuid() != 0) FAIL("it takes root to be two users");
  CHECK(pipe(ready) == 0 && pipe(over) == 0);
  first = node(4, owner, NULL);
  wait_for(ready);
  joined(node(8, asks, NULL));
  joined(node(4, offers_same_id, NULL));
  joined(node(8, knocks, NULL));
  second = node(8, squats, NULL);
  wait_for(ready);
  joined(node(16, is_not_deceived, NULL));
  tell(over), tell(over);
  joined(first), joined(second);
  return 0;
}
