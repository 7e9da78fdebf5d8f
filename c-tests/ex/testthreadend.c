/* Threads send in destructors of their keys, after they have ended: by negotiated payload, with library and client buffers,
 * and leave descriptors that they have not committed. Contract: ex-core.md sections 11, 12, 15. Without threads: nothing. */
#include "testex.h"
#if GASNET_PAR
#include <pthread.h>

#define THREADS 8
#define BYTES 3000
enum { TAKE = GEX_AM_INDEX_BASE };
static pthread_key_t key;
static gex_Rank_t peer;
static int taken; /* atomic: a thread that sends to its own process runs the handler itself, beside other threads */

static void take(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t byte) {
  size_t i;
  (void)token;
  CHECK(nbytes == BYTES);
  for (i = 0; i < nbytes && ((unsigned char *)buf)[i] == (unsigned char)byte; i++) continue;
  CHECK(i == nbytes);
  (void)__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
}
static gex_AM_Entry_t table[] = {
    {TAKE, (gex_AM_Fn_t)take, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "take"}};

static void send(int byte) {
  static const char other[BYTES] = {0};
  gex_Event_t lc;
  gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, BYTES, BYTES, NULL, 0, 1);
  memset(gex_AM_SrcDescAddr(sd), byte, BYTES);
  gex_AM_CommitRequestMedium1(sd, TAKE, BYTES, byte);
  sd = gex_AM_PrepareRequestMedium(tm, peer, other, 1, BYTES, &lc, 0, 1);
  gex_AM_CommitRequestMedium1(sd, TAKE, BYTES, 0);
  gex_Event_Wait(lc);
}
static void at_end(void *value) {
  send((int)(uintptr_t)value);
  (void)gex_AM_PrepareRequestMedium(tm, peer, NULL, BYTES, BYTES, NULL, 0, 1);
}
static void *run(void *value) {
  if ((uintptr_t)value % 2) send((int)(uintptr_t)value);
  pthread_setspecific(key, value);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  int i, round;
  begin("testthreadend", &argc, &argv);
  MUST(gex_EP_RegisterHandlers(ep, table, 1));
  peer = (me + 1) % nodes;
  CHECK(pthread_key_create(&key, at_end) == 0);
  BARRIER();
  for (round = 0; round < 4; round++) {
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1)) == 0);
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
  GASNET_BLOCKUNTIL(__atomic_load_n(&taken, __ATOMIC_ACQUIRE) == 4 * (2 * THREADS + THREADS));
  return end();
}
#else
int main(int argc, char **argv) {
  begin("testthreadend", &argc, &argv);
  return end();
}
#endif
