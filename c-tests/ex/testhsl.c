/* Handler-safe locks. Contract: ex-core.md sections 15, 19.
 *
 *   testhsl [CASE]     0 (or nothing): exclusion, Trylock. Debug builds must end the job in the cases
 *     1 initialised twice      2 destroyed twice            3 unlocked though free      4 unlocked in the wrong order
 *     5 locked twice           6 locked, then Trylock       7 poll with a lock held     8 a handler returns with a lock
 *     9 a handler replies with a lock                      10 a request with a lock held
 *   and may warn in the cases   11 held for 2 s            12 held for 2 s in a handler */
#include "testexam.h"
#include <gasnet_tools.h>
#if !GASNET_SEQ
#include <pthread.h>
#endif
#if GASNET_PAR
enum { THREADS = 4 };
#else
enum { THREADS = 1 };
#endif

enum { H_COUNT = GEX_AM_INDEX_BASE, H_DONE, H_RETURN, H_REPLY, H_SLOW };
static gex_HSL_t lock = GEX_HSL_INITIALIZER, second = GEX_HSL_INITIALIZER;
static volatile long shared_count, inside, done; /* under the lock; so is `inside`, which is never above 1 */
static int misuse_case, rounds = 500;

static void one_more(gex_HSL_t *l) {
  long seen;
  gex_HSL_Lock(l);
  seen = shared_count;
  CHECK(++inside == 1);
  shared_count = seen + 1;
  inside--;
  gex_HSL_Unlock(l);
}
static void count_h(gex_Token_t token) {
  one_more(&lock);
  gex_AM_ReplyShort0(token, H_DONE, 0);
}
static void done_h(gex_Token_t token) {
  (void)token;
  gex_HSL_Lock(&second);
  done++;
  gex_HSL_Unlock(&second);
}
static void return_h(gex_Token_t token) { (void)token, gex_HSL_Lock(&lock); }
static void reply_h(gex_Token_t token) {
  gex_HSL_Lock(&lock);
  gex_AM_ReplyShort0(token, H_DONE, 0);
  gex_HSL_Unlock(&lock);
}
static void slow_h(gex_Token_t token) {
  gex_HSL_Lock(&lock);
  gasnett_nsleep(2000000000);
  gex_HSL_Unlock(&lock);
  gex_AM_ReplyShort0(token, H_DONE, 0);
}
static gex_AM_Entry_t table[] = {ROW(H_COUNT, count_h, SHORT, REQUEST, 0, NULL), ROW(H_DONE, done_h, SHORT, REPLY, 0, NULL),
                                 ROW(H_RETURN, return_h, SHORT, REQUEST, 0, NULL), ROW(H_REPLY, reply_h, SHORT, REQUEST, 0, NULL),
                                 ROW(H_SLOW, slow_h, SHORT, REQUEST, 0, NULL)};

/* Counts here and, by messages, in the next process. */
static void *count_everywhere(void *arg) {
  int i;
  for (i = 0; i < rounds; i++) {
    one_more(&lock);
    (void)gex_AM_RequestShort0(tm, (me + 1) % nodes, H_COUNT, 0);
  }
  return arg;
}
#if !GASNET_SEQ
/* While the first thread has the lock. */
static void *try_busy(void *arg) {
  *(int *)arg = gex_HSL_Trylock(&lock);
  return NULL;
}
#endif
static void exclusion(void) {
  gex_HSL_t fresh;
  int i;
#if GASNET_PAR
  pthread_t threads[THREADS];
  for (i = 1; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, count_everywhere, NULL) == 0);
#endif
  (void)count_everywhere(NULL);
#if GASNET_PAR
  for (i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
#endif
  GASNET_BLOCKUNTIL(done == (long)THREADS * rounds);
  BARRIER();
  CHECK(shared_count == 2L * THREADS * rounds); /* own and those of the process before */
  CHECK(gex_HSL_Trylock(&lock) == GASNET_OK);
#if !GASNET_SEQ
  {
    pthread_t other;
    int code = -1;
    CHECK(pthread_create(&other, NULL, try_busy, &code) == 0);
    pthread_join(other, NULL);
    CHECK(code == GASNET_ERR_NOT_READY);
  }
#endif
  gex_HSL_Unlock(&lock);
  for (i = 0; i < 100; i++) { /* made anew at the same place */
    gex_HSL_Init(&fresh);
    gex_HSL_Lock(&fresh);
    gex_HSL_Lock(&second);
    gex_HSL_Unlock(&second);
    gex_HSL_Unlock(&fresh);
    CHECK(gex_HSL_Trylock(&fresh) == GASNET_OK);
    gex_HSL_Unlock(&fresh);
    gex_HSL_Destroy(&fresh);
  }
}
static void handle(gex_AM_Index_t handler) {
  const long before = done;
  int i;
  (void)gex_AM_RequestShort0(tm, me, handler, 0);
  for (i = 0; i < 100000 && done == before; i++) gasnet_AMPoll();
}
static void misuse(int which) {
  switch (which) {
    case 1: gex_HSL_Init(&lock); break;
    case 2: gex_HSL_Destroy(&lock), gex_HSL_Destroy(&lock); break;
    case 3: gex_HSL_Unlock(&lock); break;
    case 4: gex_HSL_Lock(&lock), gex_HSL_Lock(&second), gex_HSL_Unlock(&lock); break;
    case 5: gex_HSL_Lock(&lock), gex_HSL_Lock(&lock); break;
    case 6: gex_HSL_Lock(&lock), (void)!gex_HSL_Trylock(&lock); break;
    case 7: gex_HSL_Lock(&lock), gasnet_AMPoll(); break;
    case 8: handle(H_RETURN); break;
    case 9: handle(H_REPLY); break;
    case 10: gex_HSL_Lock(&lock), (void)gex_AM_RequestShort0(tm, me, H_COUNT, 0); break;
    case 11: gex_HSL_Lock(&lock), gasnett_nsleep(2000000000), gex_HSL_Unlock(&lock); break;
    default: handle(H_SLOW); break;
  }
}

int main(int argc, char **argv) {
  begin("testhsl", &argc, &argv);
  misuse_case = argc > 1 ? atoi(argv[1]) : 0;
  if (misuse_case < 0 || misuse_case > 12) {
    fprintf(stderr, "usage: testhsl [0-12]\n");
    gasnet_exit(1);
  }
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  attach(GASNET_PAGESIZE);
  BARRIER();
  if (misuse_case == 0) exclusion();
  else if (me == nodes - 1) misuse(misuse_case);
  if (misuse_case > 0 && misuse_case < 11 && me == nodes - 1) say("ERROR: case %d was not noticed", misuse_case), gasnet_exit(3);
  return end();
}
