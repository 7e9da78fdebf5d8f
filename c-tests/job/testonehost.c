/* What several hosts need, a job on one host has not: after gasnet_init, and again after every kind of traffic, a node has
 * no socket and no thread that it did not have when main began, and neither libfabric nor libpmix is loaded. The same holds of
 * the launcher. Linux only: it reads /proc. */
#include "../testcore.h"
#include <dirent.h>

enum { HIDX_ASK_SHORT = 201, HIDX_ASK_MEDIUM, HIDX_ASK_LONG, HIDX_ANSWER };
#define BYTES 16384

static int answers;
static void ask_short_h(gasnet_token_t token) { GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_ANSWER)); }
static void ask_h(gasnet_token_t token, void *data, size_t bytes) {
  (void)data;
  CHECK(bytes > 0, "no bytes");
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_ANSWER));
}
static void answer_h(gasnet_token_t token) {
  (void)token;
  answers++;
}

/* What a process has. Standard streams may be sockets of whoever started the job. */
typedef struct {
  int sockets, threads, libraries;
} has_t;

static int entries(const char *of, const char *what, const char *begins) {
  char path[64], target[512];
  struct dirent *entry;
  DIR *dir;
  int n = 0;
  snprintf(path, sizeof path, "/proc/%s/%s", of, what);
  dir = opendir(path);
  CHECK(dir != NULL, "%s cannot be read", path);
  while (dir && (entry = readdir(dir))) {
    char name[400];
    ssize_t length;
    if (entry->d_name[0] == '.') continue;
    if (!begins) {
      n++;
      continue;
    }
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    length = readlink(name, target, sizeof target - 1);
    if (length > 0 && atoi(entry->d_name) > 2) n += strncmp(target, begins, strlen(begins)) == 0;
  }
  if (dir) closedir(dir);
  return n;
}

static has_t look(const char *of) {
  char path[64], line[1024];
  has_t has;
  FILE *maps;
  has.sockets = entries(of, "fd", "socket:");
  has.threads = entries(of, "task", NULL);
  has.libraries = 0;
  snprintf(path, sizeof path, "/proc/%s/maps", of);
  maps = fopen(path, "r");
  CHECK(maps != NULL, "%s cannot be read", path);
  while (maps && fgets(line, sizeof line, maps)) has.libraries += strstr(line, "libfabric") || strstr(line, "libpmix");
  if (maps) fclose(maps);
  return has;
}

static has_t before;
static void compare(const char *when) {
  const has_t now = look("self");
  CHECK(now.sockets == before.sockets, "%s: %d sockets, before %d", when, now.sockets, before.sockets);
  CHECK(now.threads == before.threads, "%s: %d threads, before %d", when, now.threads, before.threads);
  CHECK(now.libraries == 0, "%s: libfabric or libpmix is loaded", when);
}

static void look_at_launcher(void) {
  char path[64], line[64] = "", of[32];
  FILE *comm;
  snprintf(of, sizeof of, "%ld", (long)getppid());
  snprintf(path, sizeof path, "/proc/%s/comm", of);
  comm = fopen(path, "r");
  if (comm && fgets(line, sizeof line, comm) && strncmp(line, "gasnetrun_sci", 13) == 0) {
    const has_t has = look(of);
    CHECK(has.sockets == 0, "the launcher has %d sockets", has.sockets);
    CHECK(has.threads == 1, "the launcher has %d threads", has.threads);
    CHECK(has.libraries == 0, "the launcher has libfabric or libpmix loaded");
  }
  if (comm) fclose(comm);
}

static void traffic(void) {
  static unsigned char bytes[BYTES], back[BYTES];
  gasnet_node_t peer;
  test_fill(bytes, BYTES, me);
  for (peer = 0; peer < nodes; peer++) {
    unsigned char *place = core_area[peer] + (size_t)me * BYTES;
    answers = 0;
    GASNET_SAFE(gasnet_AMRequestShort0(peer, HIDX_ASK_SHORT));
    GASNET_SAFE(gasnet_AMRequestMedium0(peer, HIDX_ASK_MEDIUM, bytes, 500));
    GASNET_SAFE(gasnet_AMRequestLong0(peer, HIDX_ASK_LONG, bytes, BYTES, place));
    GASNET_BLOCKUNTIL(answers == 3);
    gasnet_put(peer, place, bytes, BYTES);
    gasnet_get(back, peer, place, BYTES);
    CHECK(test_differs(back, BYTES, me) == BYTES, "what node %d was put came back wrong", (int)peer);
  }
  test_barrier();
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {
      {HIDX_ASK_SHORT, ask_short_h}, {HIDX_ASK_MEDIUM, ask_h}, {HIDX_ASK_LONG, ask_h}, {HIDX_ANSWER, answer_h}};
  before = look("self");
  core_init(&argc, &argv, "testonehost");
  compare("after gasnet_init");
  core_attach(table, 4, (size_t)nodes * BYTES);
  test_begin("testonehost");
  compare("after gasnet_attach");
  traffic();
  compare("after traffic");
  look_at_launcher();
  test_end();
  return 0;
}
