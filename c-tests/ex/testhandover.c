/* Threads of GASNet-EX clients: transfers of all threads at once, events that other threads sync, threads that end while their
 * operations are in flight. Contract: ex-rma.md sections 6.1, 11. Options: none. Positional: iterations (200), threads (4).
 * One thread without GASNET_PAR. */
#include "testarea.h"
#include <pthread.h>

#define SLICE 16384
#define MOST 64
static int iters = 200, threads = 4;
static unsigned char *base[64];
static unsigned char *slice(gex_Rank_t rank, int thread) {
  return base[rank] + ((size_t)me * (size_t)threads + (size_t)thread) * SLICE;
}
static unsigned next(unsigned *seed) { return (*seed = *seed * 1103515245u + 12345u) >> 8; }
static void fill(unsigned char *p, size_t n, unsigned s) {
  size_t i;
  for (i = 0; i < n; i++) p[i] = (unsigned char)(i * 5 + s);
}
static int same(const unsigned char *p, size_t n, unsigned s) {
  size_t i;
  for (i = 0; i < n; i++)
    if (p[i] != (unsigned char)(i * 5 + s)) return 0;
  return 1;
}

/* Events on their way from the threads that start them to those that sync them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gex_Event_t waiting[4096];
static int n_waiting, starting;
static void hand_over(gex_Event_t event) {
  for (;;) {
    int room;
    pthread_mutex_lock(&lock);
    room = n_waiting < 4096;
    if (room) waiting[n_waiting++] = event;
    pthread_mutex_unlock(&lock);
    if (room) return;
    gasnet_AMPoll();
  }
}
static size_t take(gex_Event_t *events, size_t most, int *left) {
  size_t n = 0;
  pthread_mutex_lock(&lock);
  while (n < most && n_waiting > 0) events[n++] = waiting[--n_waiting];
  *left = starting;
  pthread_mutex_unlock(&lock);
  return n;
}

static void *transfers(void *arg) {
  const int thread = (int)(intptr_t)arg;
  unsigned char *buffer = (unsigned char *)malloc(SLICE), *back = (unsigned char *)malloc(SLICE);
  unsigned seed = (unsigned)thread * 77 + me * 1001 + 5;
  int i;
  for (i = 0; i < iters; i++) {
    const gex_Rank_t rank = next(&seed) % nodes;
    const size_t n = 1 + next(&seed) % (i % 3 ? 64 : SLICE - 1);
    unsigned char *to = slice(rank, thread);
    const unsigned s = next(&seed);
    gex_Event_t root, leaf = GEX_EVENT_NO_OP;
    fill(buffer, n, s);
    switch (next(&seed) % 5) {
      case 0: CHECK(gex_RMA_PutBlocking(tm, rank, to, buffer, n, 0) == 0); break;
      case 1:
        root = gex_RMA_PutNB(tm, rank, to, buffer, n, &leaf, 0);
        gex_Event_Wait(leaf);
        gex_Event_Wait(root);
        break;
      case 2:
        CHECK(gex_RMA_PutNBI(tm, rank, to, buffer, n, GEX_EVENT_GROUP, 0) == 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        break;
      case 3:
        gex_NBI_BeginAccessRegion(0);
        CHECK(gex_RMA_PutNBI(tm, rank, to, buffer, n, GEX_EVENT_DEFER, 0) == 0);
        root = gex_NBI_EndAccessRegion(0);
        while (gex_Event_Test(root) != GASNET_OK) gasnet_AMPoll();
        break;
      case 4: {
        gex_Event_t both[2];
        both[1] = gex_RMA_PutNB(tm, rank, to, buffer, n, &both[0], 0);
        gex_Event_WaitAll(both, 2, 0);
        break;
      }
    }
    memset(back, 0, n);
    if (i & 1) {
      gex_Event_Wait(gex_RMA_GetNB(tm, back, rank, to, n, 0));
    } else {
      CHECK(gex_RMA_GetNBI(tm, back, rank, to, n, 0) == 0);
      gex_NBI_Wait(GEX_EC_GET, 0);
    }
    CHECK(same(back, n, s));
  }
  free(buffer);
  free(back);
  return NULL;
}

#if defined(GASNET_PAR)
/* Starts gets whose bytes and events are another thread's concern. */
static unsigned char landing[MOST][SLICE];
static void *starts(void *arg) {
  const int thread = (int)(intptr_t)arg;
  int i;
  for (i = 0; i < iters; i++) {
    const gex_Rank_t rank = (me + (unsigned)i) % nodes;
    hand_over(gex_RMA_GetNB(tm, landing[thread], rank, slice(rank, thread), SLICE / 2, 0));
    hand_over(gex_RMA_PutNBVal(tm, rank, slice(rank, thread) + SLICE - 8, (gex_RMA_Value_t)i, 8, 0));
  }
  pthread_mutex_lock(&lock);
  starting--;
  pthread_mutex_unlock(&lock);
  return NULL;
}
static void *syncs(void *arg) {
  const int how = (int)(intptr_t)arg;
  gex_Event_t events[32];
  int left = 1;
  for (;;) {
    size_t n = take(events, how % 3 == 0 ? 1 : 32, &left);
    if (n == 0 && left == 0) return NULL;
    if (how % 3 == 0) {
      if (n) gex_Event_Wait(events[0]);
    } else if (how % 3 == 1) {
      gex_Event_WaitAll(events, n, 0);
    } else {
      while (gex_Event_TestAll(events, n, 0) != GASNET_OK) gasnet_AMPoll();
    }
    gasnet_AMPoll();
  }
}

/* Ends with its gets in flight. */
typedef struct {
  gex_Rank_t rank;
  int thread;
  unsigned char bytes[8][512];
  gex_Event_t events[8], region;
} left_t;
static void *leaves(void *arg) {
  left_t *left = (left_t *)arg;
  int i;
  for (i = 0; i < 8; i++)
    left->events[i] = gex_RMA_GetNB(tm, left->bytes[i], left->rank, slice(left->rank, left->thread) + i * 512, 512, 0);
  gex_NBI_BeginAccessRegion(0);
  CHECK(gex_RMA_PutNBIVal(tm, left->rank, slice(left->rank, left->thread) + SLICE - 8, 77, 8, 0) == 0);
  left->region = gex_NBI_EndAccessRegion(0);
  CHECK(gex_RMA_PutNBIVal(tm, left->rank, slice(left->rank, left->thread) + SLICE - 16, 78, 8, 0) == 0); /* never synced */
  return NULL;
}

static void run(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t all[2 * MOST];
  int i, n = 0;
  for (i = 0; i < threads; i++) {
    pthread_create(&all[n++], NULL, first, (void *)(intptr_t)i);
    if (second) pthread_create(&all[n++], NULL, second, (void *)(intptr_t)i);
  }
  for (i = 0; i < n; i++) pthread_join(all[i], NULL);
}
#endif

int main(int argc, char **argv) {
  gex_Rank_t rank;
  begin("testhandover", &argc, &argv);
  if (argc > 1 && atoi(argv[1]) > 0) iters = atoi(argv[1]);
  if (argc > 2 && atoi(argv[2]) > 0) threads = atoi(argv[2]) < MOST ? atoi(argv[2]) : MOST;
#if !defined(GASNET_PAR)
  threads = 1;
#endif
  if (nodes > 64) {
    say("WARNING: at most 64 processes");
    return end();
  }
  share((uintptr_t)nodes * (uintptr_t)threads * SLICE);
  for (rank = 0; rank < nodes; rank++) base[rank] = (unsigned char *)shared(rank);
  BARRIER();
#if defined(GASNET_PAR)
  run(transfers, NULL);
  BARRIER();
  {
    static left_t left[MOST];
    int i, j, round;
    for (rank = 0; rank < nodes; rank++)
      for (i = 0; i < threads; i++) {
        unsigned char *bytes = landing[0];
        fill(bytes, SLICE, rank + (unsigned)i * 3);
        CHECK(gex_RMA_PutBlocking(tm, rank, slice(rank, i), bytes, SLICE, 0) == 0);
      }
    starting = threads;
    run(starts, syncs);
    CHECK(n_waiting == 0);
    for (i = 0; i < threads; i++) {
      rank = (me + (unsigned)iters - 1) % nodes;
      if (nodes == 1) CHECK(same(landing[i], SLICE / 2, rank + (unsigned)i * 3));
      for (rank = 0; rank < nodes && rank < (unsigned)iters; rank++)
        CHECK(gex_RMA_GetBlockingVal(tm, rank, slice(rank, i) + SLICE - 8, 8, 0) < (gex_RMA_Value_t)iters);
    }
    for (round = 0; round < 20; round++) {
      pthread_t t[MOST];
      for (i = 0; i < threads; i++) {
        left[i].rank = ((unsigned)round + (unsigned)i) % nodes, left[i].thread = i;
        memset(left[i].bytes, 0, sizeof left[i].bytes);
        pthread_create(&t[i], NULL, leaves, &left[i]);
      }
      for (i = 0; i < threads; i++) pthread_join(t[i], NULL);
      for (i = 0; i < threads; i++) {
        gex_Event_WaitAll(left[i].events, 8, 0);
        gex_Event_Wait(left[i].region);
        for (j = 0; j < 8; j++) CHECK(same(left[i].bytes[j], 512, left[i].rank + (unsigned)i * 3 + (unsigned)j * 512 * 5));
        CHECK(gex_RMA_GetBlockingVal(tm, left[i].rank, slice(left[i].rank, i) + SLICE - 8, 8, 0) == 77);
      }
      CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK); /* this thread has none */
    }
  }
#else
  (void)transfers((void *)0);
  (void)hand_over, (void)take;
#endif
  BARRIER();
  return end();
}
