/* A job whose processes may have few descriptors: testdescriptors SOFT [HARD]. Sets these limits, joins, and talks to all nodes, so that
 * there is a connection to each one of another host. Says "raised" where the limit is another one afterwards. */
#include "../test.h"

#include <sys/resource.h>

enum { HIDX_ASK = 201, HIDX_ANSWER };

static gasnet_node_t answers;

static void ask_h(gasnet_token_t token) { GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_ANSWER)); }

static void answer_h(gasnet_token_t token) {
  (void)token;
  answers++;
}

int main(int argc, char **argv) {
  struct rlimit wanted, limit;
  gasnet_node_t node;
  if (argc < 2 || getrlimit(RLIMIT_NOFILE, &wanted) != 0) return 2;
  wanted.rlim_cur = (rlim_t)atol(argv[1]);
  if (argc > 2) wanted.rlim_max = (rlim_t)atol(argv[2]);
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) return 77;
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  alarm(120);
  GASNET_SAFE(gasnet_attach((gasnet_handlerentry_t[]){{HIDX_ASK, ask_h}, {HIDX_ANSWER, answer_h}}, 2, GASNET_PAGESIZE, 0));
  test_begin("testdescriptors");
  for (node = 0; node < gasnet_nodes(); node++) GASNET_SAFE(gasnet_AMRequestShort0(node, HIDX_ASK));
  GASNET_BLOCKUNTIL(answers == gasnet_nodes());
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
  CHECK(limit.rlim_max == wanted.rlim_max, "the hard limit is another one");
  CHECK(limit.rlim_cur >= wanted.rlim_cur, "the limit fell to %lu", (unsigned long)limit.rlim_cur);
  if (limit.rlim_cur != wanted.rlim_cur) printf("node %u: raised to %lu\n", (unsigned)gasnet_mynode(), (unsigned long)limit.rlim_cur);
  fflush(stdout);
  test_barrier();
  test_end();
  return 0;
}
