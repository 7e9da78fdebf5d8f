/* pingpong1: as pingpong, in GASNet-1. A request runs a function there, which replies. */
#include <gasnet.h>
#include <gasnet_tools.h>
#include <stdio.h>

#define OK(call) do { if ((call) != GASNET_OK) gasnet_exit(1); } while (0)
enum { PING = 201, PONG, ROUNDS = 1000 }; /* 128 to 255 are the program's */
static volatile int pongs, last;

static void ping(gasnet_token_t token, gasnet_handlerarg_t number) {
  OK(gasnet_AMReplyShort1(token, PONG, number + 1));
}

static void pong(gasnet_token_t token, gasnet_handlerarg_t number) {
  (void)token;
  last = number;
  pongs++;
}

static void barrier(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  OK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t handlers[] = {{PING, ping}, {PONG, pong}};
  OK(gasnet_init(&argc, &argv)); /* from here on all nodes exist */
  OK(gasnet_attach(handlers, 2, GASNET_PAGESIZE, 0)); /* now all have their handlers */

  gasnet_node_t me = gasnet_mynode(), other = (me + 1) % gasnet_nodes();
  int wrong = 0;
  gasnett_tick_t start = gasnett_ticks_now();
  for (int i = 0; i < ROUNDS; i++) {
    OK(gasnet_AMRequestShort1(other, PING, i));
    GASNET_BLOCKUNTIL(pongs == i + 1); /* polls: answers pings, too */
    wrong += last != i + 1;
  }
  double each = (double)gasnett_ticks_to_ns(gasnett_ticks_now() - start) / 1000 / ROUNDS;
  printf("pingpong1: node %u: %d round trips with node %u, %.2f us each: %s\n",
         (unsigned)me, ROUNDS, (unsigned)other, each, wrong ? "WRONG" : "right");
  barrier(); /* gasnet_exit ends all nodes: nobody calls it before all are done */
  gasnet_exit(wrong != 0);
}
