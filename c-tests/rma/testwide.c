/* All talk to all in a job of many nodes of one host, whose barriers have a board, whose credits go by a tree, and whose segments lie side by
 * side: a Short and its reply, puts, gets, collectives, more of them than their window has room for. Then nodes compute between notify and
 * wait: nobody's wait may need their polls. For one host whose segments are mapped. */
#include "../test.h"
#include <gasnet_coll.h>

enum { REQUEST = 201, REPLY = 202, WORD = sizeof(long) };
static volatile int requests, replies;
static unsigned char *seen;

static void on_reply(gasnet_token_t token, gasnet_handlerarg_t value) {
  (void)token;
  replies++;
  CHECK(value == (gasnet_handlerarg_t)gasnet_mynode() * 3 + 1, "reply %d", (int)value);
}

static void on_request(gasnet_token_t token, gasnet_handlerarg_t value) {
  gasnet_node_t source;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &source));
  CHECK(seen[source]++ == 0 && value == (gasnet_handlerarg_t)source * 3 + 1, "request %d of node %d", (int)value, (int)source);
  requests++;
  GASNET_SAFE(gasnet_AMReplyShort1(token, REPLY, value));
}

/* Maps of the job's memory, of which Linux alone tells; a node has some, but none for each of the others. */
static int maps(void) {
  FILE *list = fopen("/proc/self/maps", "r");
  char line[512];
  int count = 0;
  while (list && fgets(line, sizeof line, list)) count += strstr(line, "/memfd:") != NULL;
  if (list) fclose(list);
  return count;
}

static void all_talk(int me, int nodes, const gasnet_seginfo_t *segments) {
  long *mine = (long *)segments[me].addr;
  int d, i;
  for (d = 1; d < nodes; d++) GASNET_SAFE(gasnet_AMRequestShort1((gasnet_node_t)((me + d) % nodes), REQUEST, me * 3 + 1));
  GASNET_BLOCKUNTIL(requests == nodes - 1 && replies == nodes - 1);
  for (d = 0; d < nodes; d++) {
    int peer = (me + d) % nodes;
    long word = me * 100000L + peer;
    gasnet_put((gasnet_node_t)peer, (long *)segments[peer].addr + me, &word, WORD);
  }
  test_barrier();
  for (i = 0; i < nodes; i++) CHECK(mine[i] == i * 100000L + me, "word of node %d: %ld", i, mine[i]);
  for (d = 0; d < nodes; d++) {
    int peer = (me + d) % nodes, other = (me + 1) % nodes;
    long word = -1;
    gasnet_get(&word, (gasnet_node_t)peer, (long *)segments[peer].addr + other, WORD);
    CHECK(word == other * 100000L + peer, "got %ld from node %d", word, peer);
  }
  test_barrier();
}

static void collect(int me, int nodes, int rounds) {
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  long *to = (long *)malloc((size_t)nodes * WORD), *from = (long *)malloc((size_t)nodes * WORD);
  int round, i;
  for (round = 0; to && from && round < rounds; round++) {
    long word = round * 11L + 5, got = 0, own = me + round;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &got, (gasnet_image_t)(round % nodes), &word, WORD, flags);
    CHECK(got == word, "round %d: %ld", round, got);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, to, &own, WORD, flags);
    for (i = 0; i < nodes; i++) CHECK(to[i] == i + round, "gathered from node %d: %ld", i, to[i]);
    for (i = 0; i < nodes; i++) from[i] = me * 7000L + i + round;
    gasnet_coll_exchange(GASNET_TEAM_ALL, to, from, WORD, flags);
    for (i = 0; i < nodes; i++) CHECK(to[i] == i * 7000L + me + round, "exchanged with node %d: %ld", i, to[i]);
  }
  free(to);
  free(from);
}

/* Nodes of which the number is odd wait for node 0, and do not poll meanwhile. It waits for a barrier that needs theirs. */
static void compute_after_notify(int me, int nodes, const gasnet_seginfo_t *segments) {
  volatile long *flag = (volatile long *)segments[me].addr;
  int round, i;
  for (round = 1; round <= 5; round++) {
    gasnet_barrier_notify(round, 0);
    if (me % 2 == 1)
      while (*flag != -round) usleep(1000);
    GASNET_SAFE(gasnet_barrier_wait(round, 0));
    for (i = 1; me == 0 && i < nodes; i += 2) {
      long word = -round;
      gasnet_put((gasnet_node_t)i, segments[i].addr, &word, WORD);
    }
  }
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {{REQUEST, (void (*)(void))on_request}, {REPLY, (void (*)(void))on_reply}};
  gasnet_seginfo_t *segments;
  int me, nodes;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  me = (int)gasnet_mynode();
  nodes = (int)gasnet_nodes();
  seen = (unsigned char *)calloc((size_t)nodes, 1);
  segments = (gasnet_seginfo_t *)calloc((size_t)nodes, sizeof *segments);
  if (!seen || !segments) gasnet_exit(98);
  GASNET_SAFE(gasnet_attach(handlers, 2, 1 << 16, 0));
  test_begin("testwide");
  GASNET_SAFE(gasnet_getSegmentInfo(segments, nodes));
  gasnet_coll_init(NULL, 0, NULL, 0, 0);
  CHECK(maps() < 20, "%d maps after a barrier", maps());
  test_barrier(); /* until all have counted, nobody talks */
  all_talk(me, nodes, segments);
  collect(me, nodes, argc > 1 ? atoi(argv[1]) : 20);
  compute_after_notify(me, nodes, segments);
  test_end();
  return 0;
}
