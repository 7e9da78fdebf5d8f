/* The bytes of a get are in place before the library reports it complete, also if another thread serves the answer
 * (extended.md section 9; list G, item 107). One thread tests its get without polling, and reads the bytes at once;
 * another polls (PAR).
 *
 *   testlanding [gets] */
#include "../testrma.h"

#if defined(GASNET_PAR)
#include <pthread.h>
#include <sched.h>
#endif

enum { WORDS = 6000 }; /* less than a Medium: one message, copied in one go */

static uint64_t out[WORDS], in[WORDS];

#if defined(GASNET_PAR)
static int stop;
static void *poller(void *arg) {
  (void)arg;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    GASNET_SAFE(gasnet_AMPoll());
    sched_yield(); /* more threads than cores is a usual place for a test */
  }
  return NULL;
}
#define OTHERS_POLL 1
#else
#define OTHERS_POLL 0
#endif

static void gets(long count) {
  const gasnet_node_t p = (me + 1) % nodes;
  long n, early = 0;
  size_t i;
  for (n = 1; n <= count; n++) {
    gasnet_handle_t h;
    long looks = 0;
    for (i = 0; i < WORDS; i++) out[i] = (uint64_t)n;
    gasnet_put_bulk(p, rma_slice(p), out, sizeof out);
    memset(in, 0, sizeof in);
    h = gasnet_get_nb_bulk(in, p, rma_slice(p), sizeof in);
    while (gasnet_try_syncnb_nopoll(h) != GASNET_OK)
      if (!OTHERS_POLL || ++looks % 100000 == 0) GASNET_SAFE(gasnet_AMPoll());
    for (i = WORDS; i-- > 0;) early += in[i] != (uint64_t)n; /* the last first: the copy may still be on its way */
  }
  CHECK(early == 0, "%ld words were read before they had arrived", early);
}

int main(int argc, char **argv) {
  long count;
  core_init(&argc, &argv, "testlanding");
  count = core_number(argc, argv, 1, 300);
  rma_attach(NULL, 0, sizeof in);
  test_begin("testlanding");
#if defined(GASNET_PAR)
  {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, poller, NULL) == 0, "a thread");
    gets(count);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
  }
#else
  gets(count);
#endif
  test_end();
  return 0;
}
