/* pingpong: active messages. A request runs a function of another node, which replies. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_tools.h>
#include <stdio.h>

enum { PING = GEX_AM_INDEX_BASE, PONG, ROUNDS = 1000 };
static volatile int pongs, last;

static void ping(gex_Token_t token, gex_AM_Arg_t number) {
  gex_AM_ReplyShort1(token, PONG, 0, number + 1);
}

static void pong(gex_Token_t token, gex_AM_Arg_t number) {
  (void)token;
  last = number;
  pongs++;
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  if (gex_Client_Init(&client, &endpoint, &all, "PINGPONG", &argc, &argv, 0) != GASNET_OK)
    return 1;
  gex_AM_Entry_t handlers[] = {
      {PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "ping"},
      {PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "pong"},
  };
  if (gex_EP_RegisterHandlers(endpoint, handlers, 2) != GASNET_OK) gasnet_exit(1);
  /* Nobody sends before all have registered. */
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));

  gex_Rank_t me = gex_TM_QueryRank(all), other = (me + 1) % gex_TM_QuerySize(all);
  int wrong = 0;
  gasnett_tick_t start = gasnett_ticks_now();
  for (int i = 0; i < ROUNDS; i++) {
    gex_AM_RequestShort1(all, other, PING, 0, i);
    /* Polls, and so answers the neighbour's pings, too. */
    GASNET_BLOCKUNTIL(pongs == i + 1);
    wrong += last != i + 1;
  }
  double each = (double)gasnett_ticks_to_ns(gasnett_ticks_now() - start) / 1000 / ROUNDS;
  printf("pingpong: node %u: %d round trips with node %u, %.2f us each: %s\n", me, ROUNDS,
         other, each, wrong ? "WRONG" : "right");
  /* gasnet_exit ends all nodes: nobody calls it before all are done. */
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(wrong != 0);
}
