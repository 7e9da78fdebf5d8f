/* Threads that wait at mail boxes, and an idle node, for ci/bench-deck.
 *
 *   mbox-sleep threads [quick]     2 nodes: 16 threads of node 1 wait at 16 boxes. How busy is it? How soon is the right one awake?
 *   mbox-sleep idle DIRECTORY      64 nodes: a poll that finds nothing, before deck_init and with 1,000 boxes
 *
 * A wake-up is the time from just before the post to the thread's return. Beside it, in turns: the same threads wait at 16 futexes,
 * and node 0 wakes one of them. Each node has a core of its own (gasnetrun_sci --bind core): where threads may run on both, the figure
 * tells which core the system chose, not how a message wakes. */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "mbox-node.h"

enum { THREADS = 16, BOXES = 1000, PHASES = 2 };

/* Mapped by all nodes. */
typedef struct {
  uint32_t word[THREADS][16];          /* futexes, each in a line of its own */
  uint32_t awake;                      /* how many wake-ups there were */
  uint32_t who;                        /* the last thread that woke */
  double when;                         /* and its time */
  uint32_t over;                       /* the time of rest is */
  uint32_t resting;                    /* threads that are about to wait */
} shared_t;

static shared_t *shared;

static long futex(uint32_t *word, int what, uint32_t value) { return syscall(SYS_futex, word, what, value, NULL, NULL, 0); }

static void woke(int thread, double when) {
  shared->when = when;
  shared->who = (uint32_t)thread;
  __atomic_add_fetch(&shared->awake, 1, __ATOMIC_RELEASE);
}

/* ---- threads ---- */

static deck_mbox_t boxes[THREADS];

static void *at_box(void *number) {
  int thread = (int)(intptr_t)number;
  deck_msg_t msg = NULL;
  MUST(deck_msg_create(16, DECK_AUTO, &msg));
  for (;;) {
    int32_t word = 0;
    __atomic_add_fetch(&shared->resting, 1, __ATOMIC_RELEASE);
    MUST(deck_mbox_retrv(boxes[thread], msg));
    woke(thread, now_us());
    memcpy(&word, deck_msg_data(msg), sizeof word);
    if (word < 0) break;
    if (word != thread) fprintf(stderr, "thread %d got the message of thread %d\n", thread, (int)word), give_up();
  }
  MUST(deck_msg_destroy(msg));
  return NULL;
}

static void *at_futex(void *number) {
  int thread = (int)(intptr_t)number;
  uint32_t *word = shared->word[thread];
  for (;;) {
    __atomic_add_fetch(&shared->resting, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) futex(word, FUTEX_WAIT, 0);
    woke(thread, now_us());
    if (__atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL) == 2) return NULL;
  }
}

static double cpu_us(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Node 1's side of a phase: its main thread sleeps, and threads wait. Returns the share of a core that they used meanwhile. */
static double rest(void *(*fn)(void *)) {
  pthread_t threads[THREADS];
  double began = 0, cpu = 0;
  int i;
  for (i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, fn, (void *)(intptr_t)i)) give_up();
  while (__atomic_load_n(&shared->resting, __ATOMIC_ACQUIRE) < THREADS) usleep(1000);
  usleep(200000);
  began = now_us();
  cpu = cpu_us();
  usleep(quick ? 500000 : 2000000);
  cpu = (cpu_us() - cpu) / (now_us() - began);
  __atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return cpu;
}

static deck_msg_t order; /* node 0's */

static void wake(int phase, int thread, int32_t word) {
  if (phase == 0) {
    memcpy(deck_msg_data(order), &word, sizeof word);
    MUST(deck_mbox_post(boxes[thread], order));
  } else {
    __atomic_store_n(shared->word[thread], word < 0 ? 2 : 1, __ATOMIC_RELEASE);
    futex(shared->word[thread], FUTEX_WAKE, 1);
  }
}

/* Node 0's side: wakes one after the other when all are at rest, and ends them. Returns the median of the wake-ups. */
static double rouse(int phase) {
  const int count = quick ? 200 : 1000;
  double *took = (double *)malloc((size_t)count * sizeof *took), median;
  uint32_t awake = 0;
  unsigned random = 1;
  int i;
  if (!took) give_up();
  while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) usleep(1000);
  for (i = 0; i < count + THREADS; i++) {
    int thread = i < count ? (int)((random = random * 1103515245u + 12345u) >> 16) % THREADS : i - count;
    double begin;
    usleep(i < count ? 300 : 0);
    begin = now_us();
    wake(phase, thread, i < count ? thread : -1);
    while (__atomic_load_n(&shared->awake, __ATOMIC_ACQUIRE) == awake) sched_yield();
    awake++;
    if ((int)shared->who != thread) fprintf(stderr, "thread %d woke, not %d\n", (int)shared->who, thread), give_up();
    if (i < count) took[i] = shared->when - begin;
  }
  median = mbox_median(took, count);
  free(took);
  return median;
}

static void threads(void) {
  char name[32];
  int i, phase;
  for (i = 0; i < THREADS; i++) {
    snprintf(name, sizeof name, "sleep.%d", i);
    if (me == 1) MUST(deck_mbox_create(name, NULL, &boxes[i]));
    else MUST(deck_mbox_clone(name, DECK_FOREVER, &boxes[i]));
  }
  MUST(deck_msg_create(16, DECK_AUTO, &order));
  MUST(deck_msg_set_size(order, 16));
  for (phase = 0; phase < PHASES; phase++) {
    const char *who = phase == 0 ? OURS : "futex";
    double figure[2] = {0, 0}, cpu = 0;
    if (me == 0) memset(shared, 0, sizeof *shared);
    everybody();
    if (me == 1) cpu = rest(phase == 0 ? at_box : at_futex);
    else figure[0] = rouse(phase);
    everybody();
    MUST(deck_reduce(&cpu, &figure[1], DECK_DOUBLE, 1, DECK_MAX, 0));
    row(who, "sleep", "wake-up of one of 16 threads", 16, "us", figure[0]);
    row(who, "sleep", "16 threads wait, percent of a core", 16, "x", 100 * figure[1]);
  }
}

/* ---- an idle node ---- */

static double polls(void) {
  const int count = 200000;
  double best = 0, took;
  int batch, i;
  for (batch = 0; batch < 9; batch++) {
    took = now_us();
    for (i = 0; i < count; i++) gasnet_AMPoll();
    took = (now_us() - took) / count;
    if (!batch || took < best) best = took;
  }
  return best;
}

/* The other nodes sleep while node 0 polls, until there is a file. */
static void at_peace(const char *operation, const char *who, const char *file) {
  double us = 0;
  if (me == 0) {
    usleep(200000);
    us = polls();
    close(open(file, O_CREAT | O_WRONLY, 0600));
  } else
    while (access(file, F_OK)) usleep(50000);
  row(who, "idle", operation, 0, "ns", us);
}

static void idle(int *argc, char ***argv, const char *directory) {
  static deck_mbox_t many[BOXES];
  char file[300];
  int i;
  snprintf(file, sizeof file, "%s/before", directory);
  at_peace("idle poll, before deck_init", "gasnet-sci", file);
  MUST(deck_init(argc, argv));
  for (i = 0; me == 0 && i < BOXES; i++) MUST(deck_mbox_create(NULL, NULL, &many[i]));
  everybody();
  snprintf(file, sizeof file, "%s/after", directory);
  at_peace("idle poll, 1000 boxes", OURS, file);
  everybody();
  if (me == 0) remove(file);
  snprintf(file, sizeof file, "%s/before", directory);
  if (me == 0) remove(file);
}

int main(int argc, char **argv) {
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
  peers_program = argv[0];
  me = (int)gasnet_mynode();
  nodes = (int)gasnet_nodes();
  quick = argc > 1 && !strcmp(argv[argc - 1], "quick");
  if (is_section(argc, argv, "idle") && argc > 2) {
    idle(&argc, &argv, argv[2]);
  } else if (is_section(argc, argv, "threads") && nodes == 2) {
    MUST(deck_init(&argc, &argv));
    shared = (shared_t *)common_memory(sizeof *shared);
    threads();
  } else
    give_up();
  everybody();
  MUST(deck_done());
  gasnet_exit(0);
}
