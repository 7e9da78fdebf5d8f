/* Kernels of `gasnet-sci bench`: the code that nodes of a measuring job run, as a client compiled against gasnet.h.
 *
 * A kernel is double bench_NAME(long n, size_t bytes). All nodes call it with the same arguments between two barriers. It
 * returns the nanoseconds that n operations took at the node that calls. If only node 0 works, the others return at once and
 * wait in the barrier, which serves messages. kernels.rs has the same list.
 *
 * build.rs compiles the kernels that call the library twice, as GASNET_SEQ and as GASNET_PAR. Each of the two is a client
 * of its own, and a job is started by one of them. What both would define is named by BENCH: bench_NAME in SEQ,
 * bench_par_NAME in PAR. */
#ifndef GASNET_SCI_BENCH_H
#define GASNET_SCI_BENCH_H

/* The library refuses programs of mixed modes, and this program has objects of both. So none of them tells its mode before
 * main, as objects of clients do: the constructor becomes a plain function, and the client that starts a job calls it. */
#define __constructor__ __unused__
#include <gasnet.h>
#undef __constructor__
#include <semaphore.h>
#include <time.h>

#if defined(GASNET_PAR)
#define BENCH(name) bench_par_##name
#else
#define BENCH(name) bench_##name
#endif

#define LINES 64              /* of a bare ring: a queue had as many slots until 2026-11, so that figures can be compared */
#define RING (256 << 10)      /* bytes of a bare byte ring: as many as a queue's */
#define MAXBYTES (4 << 20)    /* of a transfer */
#define MAXNODES 1024
#define SEGMENT ((uintptr_t)4 * MAXBYTES) /* requests land in its first quarter, replies in the second; collectives use it all */

typedef struct {
  uint64_t word[8];
} line_t;

/* Plain shared memory of the nodes, mapped before gasnet_init forks them. The library does not use it. */
typedef struct {
  line_t line[2][LINES];  /* [node]: looked at by that node, written by its peer */
  line_t flag[2][LINES];
  line_t credit[2];
  unsigned char bytes[2][RING];
  double result[MAXNODES]; /* figures of the nodes, for node 0 */
  sem_t gate;              /* silent nodes sleep here */
  uint32_t asleep;         /* number of nodes that are about to sleep there */
} shared_t;

extern shared_t *bench_shared;
extern gasnet_node_t bench_me, bench_nodes, bench_peer;
/* In a job on two hosts: the first node of the second one. Nodes of a host have neighbouring numbers. */
#define SECOND_HOST (bench_nodes / 2)
extern gex_TM_t bench_tm;           /* all nodes, as GASNet-EX names them */
extern unsigned char *bench_local;  /* MAXBYTES, private */
extern unsigned char *bench_mine;   /* this node's segment */
extern unsigned char *bench_remote; /* the peer's, as GASNet names it */
extern unsigned char *bench_mapped; /* the peer's, as it is mapped here; null if it is not */

#define FENCE() __asm__ __volatile__("" ::: "memory")
/* For loops that look at a line. With it the line comes 5 to 10 % sooner (Xeon, 2026-11, 285 -> 267 ns there and back). */
#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ __volatile__("yield")
#else
#define PAUSE() FENCE()
#endif
#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

static inline double bench_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static inline double bench_now(void) { return bench_clock(CLOCK_MONOTONIC); }

/* Looks at each line of what has come: a receiver that does not would have no bytes, where they lie in memory that both have mapped.
 * layer_read in layer.h is the same. */
static inline void bench_read(const void *bytes, size_t count) {
  const volatile unsigned char *at = (const volatile unsigned char *)bytes;
  size_t i;
  for (i = 0; i < count; i += 64) (void)at[i];
}

int BENCH(start)(uint64_t segment);
void BENCH(barrier)(void);
void BENCH(am_table)(gasnet_handlerentry_t *table);
#define AM_HANDLERS 10
void bench_par_threads_table(gasnet_handlerentry_t *table);
#define THREADS_HANDLERS 3
void BENCH(rest)(void);                 /* sleeps until `rouse` is called; such nodes leave the cores to others */
void BENCH(rouse)(gasnet_node_t node);
void BENCH(coll_start)(void);
void BENCH(ex_start)(void);
void BENCH(ex_count)(void *at);          /* adds 1 to a word of the peer's segment, and fetches it */

/* n times `call` at node 0, then `sync`. */
#define BENCH_LOOP_AT_0(call, sync)                                                                                  \
  do {                                                                                                               \
    if (bench_me != 0) return 0;                                                                                     \
    BENCH_LOOP(call, sync);                                                                                          \
  } while (0)
/* The same at all nodes. */
#define BENCH_LOOP(call, sync)                                                                                       \
  do {                                                                                                               \
    const double start = bench_now();                                                                                \
    long i;                                                                                                          \
    for (i = 0; i < n; i++) {                                                                                        \
      call;                                                                                                          \
      FENCE();                                                                                                       \
    }                                                                                                                \
    sync;                                                                                                            \
    return bench_now() - start;                                                                                      \
  } while (0)
/* In a job on two hosts: one side at node 0, the other at the first node of the second host. The other nodes rest. */
#define BETWEEN_HOSTS(first, second)                                                                                 \
  do {                                                                                                               \
    const double start = bench_now();                                                                                \
    double took;                                                                                                     \
    gasnet_node_t node;                                                                                              \
    if (bench_me == 0) {                                                                                             \
      first;                                                                                                         \
    } else if (bench_me == SECOND_HOST) {                                                                            \
      second;                                                                                                        \
    } else {                                                                                                         \
      BENCH(rest)();                                                                                                 \
    }                                                                                                                \
    took = bench_now() - start;                                                                                      \
    for (node = 1; bench_me == 0 && node < bench_nodes; node++)                                                      \
      if (node != SECOND_HOST) BENCH(rouse)(node);                                                                    \
    return took;                                                                                                     \
  } while (0)
/* In such a side: n times. */
#define EACH_OF_HOSTS for (; n > 0; n--)

#endif
