/* One thread transfers 8 bytes at a time while the other threads of its process and of the partner poll, wait in GASNET_BLOCKUNTIL or in
 * a barrier; then all threads transfer at once. Contract: ex-rma.md sections 11, 14.
 *
 *   testcontend [-rev] [maxthreads=4 [iters=50 [sections]]]
 *     -rev   from the most threads down to one       one thread without GASNET_PAR
 *     sections: puts there and back, the others A poll, B in GASNET_BLOCKUNTIL; C, D the same with gets; E puts, F gets, while the partner
 *     is in a barrier; G all put; H all get */
#include "testperf.h"
#if GASNET_PAR
#include <pthread.h>
#endif
#define MOST 255

static long iters;
static int threads;
static volatile int stop; /* the helpers of a row */
static int blocked;       /* they wait in GASNET_BLOCKUNTIL */
static int fight;         /* 1 all put, 2 all get */

/* A word of each thread in each area: number 0 of the thread that is timed. */
static uint64_t *word(gex_Rank_t rank, int thread) { return (uint64_t *)(void *)area[rank] + 8 * thread; }
static uint64_t value_of(gex_Rank_t rank, int thread, long i) { return ((uint64_t)0xa5 << 56) + ((uint64_t)rank << 40) + ((uint64_t)thread << 32) + (uint64_t)i + 1; }

static void one_fight(int thread) {
  const int slot = MOST + 1 + thread;
  uint64_t value = 0;
  long i;
  for (i = 0; i < iters; i++) {
    value = fight == 1 ? value_of(me, thread, i) : 0;
    if (fight == 1) (void)gex_RMA_PutBlocking(tm, peer, word(peer, slot), &value, 8, 0);
    else (void)gex_RMA_GetBlocking(tm, &value, peer, word(peer, slot), 8, 0);
    if (fight == 2 && value != value_of(peer, thread, iters - 1)) break;
  }
  if (i != iters) stop = -1; /* reported by the first thread */
}
#if GASNET_PAR
static pthread_t helpers[MOST];
static void *help(void *arg) {
  if (fight) one_fight((int)(uintptr_t)arg);
  else if (blocked) GASNET_BLOCKUNTIL(stop);
  else
    while (!stop) gasnet_AMPoll();
  return arg;
}
static void start_helpers(void) {
  int i;
  for (i = 1; i < threads; i++)
    if (pthread_create(&helpers[i], NULL, help, (void *)(uintptr_t)i)) say("ERROR: no thread %d", i), gasnet_exit(95);
}
static void join_helpers(void) {
  int i;
  for (i = 1; i < threads; i++) pthread_join(helpers[i], NULL);
}
#else
static void start_helpers(void) {}
static void join_helpers(void) {}
#endif

/* Waits until the own word is `expected`, which the partner puts there. */
static void await(volatile uint64_t *own, uint64_t expected) {
  if (blocked) GASNET_BLOCKUNTIL(*own == expected);
  else
    while (*own != expected) gasnet_AMPoll();
}
static void there_and_back(int put) {
  volatile uint64_t *const own = word(me, 0);
  long i;
  if (idle) return;
  for (i = 0; i < iters; i++) {
    const uint64_t mine = value_of(me, 0, i), theirs = value_of(peer, 0, i);
    uint64_t seen = 0;
    if (put) {
      if (receives && !sends) await(own, theirs);
      (void)gex_RMA_PutBlocking(tm, peer, word(peer, 0), &mine, 8, 0);
      if (sends) await(own, theirs);
    } else { /* each shows a number, and looks for the partner's */
      if (sends) *own = mine;
      do (void)gex_RMA_GetBlocking(tm, &seen, peer, word(peer, 0), 8, 0);
      while (seen != theirs);
      if (!sends) *own = mine;
    }
  }
}
/* The partner is in a barrier. */
static void alone(int put) {
  uint64_t value = 0;
  long i;
  if (!sends) return;
  for (i = 0; i < iters; i++) {
    value = put ? value_of(me, 0, i) : 0;
    if (put) (void)gex_RMA_PutBlocking(tm, peer, word(peer, 1), &value, 8, 0);
    else (void)gex_RMA_GetBlocking(tm, &value, peer, word(peer, 2), 8, 0);
  }
  CHECK(value == value_of(put ? me : peer, 0, put ? iters - 1 : 7));
}

static void section(char letter) {
  static const char *const names[] = {"put there and back, others poll", "put there and back, others block", "get there and back, others poll",
                                      "get there and back, others block", "put, partner in a barrier", "get, partner in a barrier",
                                      "all put", "all get"};
  const int which = letter - 'A';
  char what[64];
  double us;
  int i;
  if (!wanted(letter)) return;
  stop = 0, blocked = which == 1 || which == 3, fight = which >= 6 ? which - 5 : 0;
  for (i = 0; i <= MOST; i++) *word(me, i) = 0, *word(me, MOST + 1 + i) = fight == 2 ? value_of(me, i, iters - 1) : 0;
  *word(me, 2) = value_of(me, 0, 7);
  BARRIER();
  start_helpers();
  us = now_us();
  if (which < 4) there_and_back(which < 2);
  else if (which < 6) alone(which == 4);
  else one_fight(0), join_helpers();
  us = now_us() - us;
  BARRIER();
  CHECK(stop == 0);
  stop = 1;
  if (which < 6) join_helpers();
  if (which < 2 && !idle) CHECK(*word(me, 0) == value_of(peer, 0, iters - 1));
  if (which == 4) CHECK(*word(me, 1) == (receives ? value_of(peer, 0, iters - 1) : 0));
  for (i = 0; fight == 1 && i < threads; i++) CHECK(*word(me, MOST + 1 + i) == value_of(peer, i, iters - 1));
  snprintf(what, sizeof what, "%s, %d threads", names[which], threads);
  if (sends) row(letter, what, 8, iters, us);
  BARRIER();
}

int main(int argc, char **argv) {
  static long down, most;
  static const testperf_option table[] = {FLAG("-rev", &down)};
  int arg, i;
  char letter;
  begin("testcontend", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 3, "testcontend [-rev] [maxthreads up to 255 [iters [sections]]]");
  most = positional(argc, argv, arg, 4);
  iters = positional(argc, argv, arg + 1, 50);
  if (arg + 2 < argc) section_letters = argv[arg + 2];
  if (most > MOST) most = MOST;
#if !GASNET_PAR
  most = 1;
#endif
  make_areas(64 * 2 * (MOST + 1));
  make_pairs();
  for (i = 1; i <= most; i++) {
    threads = down ? (int)most + 1 - i : i;
    for (letter = 'A'; letter <= 'H'; letter++) section(letter);
  }
  return end();
}
