/* Ways out of a job of GASNet-EX. The status of the job is the number of the case, and nothing of the job is left behind.
 * Contract: ex-core.md sections 5.3, 19.
 *
 *   testexit CASE
 *
 *    1 all call gasnet_exit           2 all return from main        3 one exits, the others are in a barrier
 *    4 SIGINT to one, whose SIGQUIT handler exits                   5 one exits, the others spin
 *    6 all exit before the segment    7 one exits before it         8 one returns, the others are in a barrier
 *    9 one returns, the others spin  10 all exit in a request handler           11 one exits in a request handler
 *   12 all exit in a reply handler   13 one exits in a reply handler
 *   14 all exit after PrepareRequestMedium                          15 one exits in a handler after PrepareReplyMedium
 *   16 one exits after PrepareRequestMedium from the library's buffer, the others are in a barrier
 *   51 another thread exits, the others are in a barrier (PAR)      52 all threads exit at once (PAR)
 */
#define _POSIX_C_SOURCE 200809L
#include "testexam.h"

#include <signal.h>
#if GASNET_PAR
#include <pthread.h>
#endif

enum { LEAVE = GEX_AM_INDEX_BASE, ASK, ANSWER, OPEN };
static int number;
static volatile int spinning = 1;

static void leave(gex_Token_t token) { (void)token, gasnet_exit(number); }
static void ask(gex_Token_t token) { gex_AM_ReplyShort0(token, ANSWER, 0); }
static void answer(gex_Token_t token) { (void)token, gasnet_exit(number); }
static void open_reply(gex_Token_t token) {
  (void)gex_AM_PrepareReplyMedium(token, NULL, 0, 0, NULL, 0, 0);
  gasnet_exit(number);
}
static gex_AM_Entry_t table[] = {ROW(LEAVE, leave, SHORT, REQUEST, 0, NULL), ROW(ASK, ask, SHORT, REQUEST, 0, NULL),
                                 ROW(ANSWER, answer, SHORT, REPLY, 0, NULL), ROW(OPEN, open_reply, SHORT, REQUEST, 0, NULL)};
static void on_quit(int sig) { (void)sig, gasnet_exit(4); }
#if GASNET_PAR
static void *thread_exits(void *argument) { return (void)argument, gasnet_exit(number), argument; }
#endif
static void meet(void) {
  for (;;) {
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    if (nodes == 1) (void)gasnet_AMPoll();
  }
}
static void spin(void) {
  while (spinning) continue;
}
static void poll(void) {
  for (;;) (void)gasnet_AMPoll();
}

int main(int argc, char **argv) {
  gex_Rank_t last;
  begin("testexit", &argc, &argv);
  if (argc < 2) gasnet_exit(99);
  number = atoi(argv[1]);
  last = nodes - 1;
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  if (number == 6) gasnet_exit(6);
  BARRIER();
  if (number == 7 && me == last) gasnet_exit(7);
  make_areas(GASNET_PAGESIZE); /* 7: the others wait here */
  if (number == 4 && me == last) signal(SIGQUIT, on_quit);
  BARRIER();
  switch (number) {
    case 1: gasnet_exit(1); break;
    case 2: return 2;
    case 3: me == last ? gasnet_exit(3) : meet(); break;
    case 4:
      if (me == last) raise(SIGINT);
      meet();
      break;
    case 5: me == last ? gasnet_exit(5) : spin(); break;
    case 8:
      if (me == last) return 8;
      meet();
      break;
    case 9:
      if (me == last) return 9;
      spin();
      break;
    case 10: gex_AM_RequestShort0(tm, (me + 1) % nodes, LEAVE, 0), poll(); break;
    case 11:
      if (me == 0) gex_AM_RequestShort0(tm, last, LEAVE, 0);
      meet();
      break;
    case 12: gex_AM_RequestShort0(tm, (me + 1) % nodes, ASK, 0), poll(); break;
    case 13:
      if (me == 0) gex_AM_RequestShort0(tm, last, ASK, 0);
      meet();
      break;
    case 14: (void)gex_AM_PrepareRequestMedium(tm, (me + 1) % nodes, NULL, 0, 0, NULL, 0, 0), gasnet_exit(14); break;
    case 15:
      if (me == 0) gex_AM_RequestShort0(tm, last, OPEN, 0);
      meet();
      break;
    case 16:
      if (me == 0) {
        memset(gex_AM_SrcDescAddr(gex_AM_PrepareRequestMedium(tm, last, NULL, 40000, 50000, NULL, 0, 3)), 7, 40000);
        gasnet_exit(16);
      }
      meet();
      break;
#if GASNET_PAR
    case 51:
    case 52: {
      pthread_t thread[3];
      int i;
      if (number == 52 || me == last)
        for (i = 0; i < (number == 52 ? 3 : 1); i++) pthread_create(&thread[i], NULL, thread_exits, NULL);
      if (number == 52) gasnet_exit(52);
      meet();
      break;
    }
#endif
    default: break;
  }
  gasnet_exit(98);
  return 97;
}
