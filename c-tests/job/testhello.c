/* The first program to run: every node prints its rank, sends a request to its right neighbour and waits for the reply. */
#include "../test.h"

enum { HIDX_PING = 201, HIDX_PONG };

static int pings, pongs;

static void ping_h(gasnet_token_t token, gasnet_handlerarg_t number) {
  gasnet_node_t from = (gasnet_node_t)-1;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &from));
  CHECK((from + 1) % gasnet_nodes() == gasnet_mynode(), "ping from node %u", (unsigned)from);
  CHECK(number == (gasnet_handlerarg_t)from + 1000, "ping carries %d", (int)number);
  pings++;
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_PONG, number + 1));
}

static void pong_h(gasnet_token_t token, gasnet_handlerarg_t number) {
  gasnet_node_t from = (gasnet_node_t)-1;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &from));
  CHECK(from == (gasnet_mynode() + 1) % gasnet_nodes(), "pong from node %u", (unsigned)from);
  CHECK(number == (gasnet_handlerarg_t)gasnet_mynode() + 1001, "pong carries %d", (int)number);
  pongs++;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_PING, ping_h}, {HIDX_PONG, pong_h}}; /* no casts: as C clients write */;
  char host[256] = "?";
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  GASNET_SAFE(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
  test_begin("testhello");

  gethostname(host, sizeof host - 1);
  printf("Hello from node %u of %u (host %s, pid %ld)\n", (unsigned)gasnet_mynode(), (unsigned)gasnet_nodes(), host,
         (long)getpid());
  fflush(stdout);

  GASNET_SAFE(gasnet_AMRequestShort1((gasnet_mynode() + 1) % gasnet_nodes(), HIDX_PING,
                                     (gasnet_handlerarg_t)gasnet_mynode() + 1000));
  GASNET_BLOCKUNTIL(pongs >= 1);
  test_barrier();
  CHECK(pings == 1 && pongs == 1, "%d pings, %d pongs after the barrier", pings, pongs);
  test_end();
  return 0;
}
