/* Collectives by hand, over a binomial tree of threads: thread t's parent is t without its lowest bit set.
 *
 * Reductions go up the tree and their result comes down it. A thread sends its next value up only after it has the result,
 * for which its parent has used its last value: so one buffer per child is enough, and no message can overtake another. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { STAGES = 32, VALUES = 64 }; /* 64 doubles: 512 bytes, the least that a Medium message must hold */

static double from_child[STAGES][VALUES], from_parent[VALUES];
static volatile unsigned up_arrived[STAGES], down_arrived;
static unsigned reductions;

void upcish_reduce_up(gasnet_token_t token, void *data, size_t bytes, gasnet_handlerarg_t stage) {
  (void)token;
  memcpy(from_child[stage], data, bytes);
  up_arrived[stage]++;
}

void upcish_reduce_down(gasnet_token_t token, void *data, size_t bytes) {
  (void)token;
  memcpy(from_parent, data, bytes);
  down_arrived++;
}

static double combine(double a, double b, upcish_op op) {
  switch (op) {
    case UPCISH_MAX: return a > b ? a : b;
    case UPCISH_MIN: return a < b ? a : b;
    default: return a + b;
  }
}

static void reduce(double *values, size_t count, upcish_op op) {
  unsigned me = (unsigned)upcish_mythread(), threads = (unsigned)upcish_threads();
  size_t bytes = count * sizeof *values;
  int stage;
  reductions++;
  for (stage = 0; !(me >> stage & 1) && 1u << stage < threads; stage++) {
    if (me + (1u << stage) >= threads) continue;
    GASNET_BLOCKUNTIL(up_arrived[stage] == reductions);
    for (size_t i = 0; i < count; i++) values[i] = combine(values[i], from_child[stage][i], op);
  }
  if (me) {
    UPCISH_OK(gasnet_AMRequestMedium1(me - (1u << stage), H_REDUCE_UP, values, bytes, stage));
    GASNET_BLOCKUNTIL(down_arrived == reductions);
    memcpy(values, from_parent, bytes);
  }
  while (stage-- > 0)
    if (me + (1u << stage) < threads)
      UPCISH_OK(gasnet_AMRequestMedium0(me + (1u << stage), H_REDUCE_DOWN, values, bytes));
}

void upcish_all_reduce(double *values, size_t count, upcish_op op) {
  for (size_t done = 0; done < count; done += VALUES)
    reduce(values + done, count - done < VALUES ? count - done : VALUES, op);
}

double upcish_all_sum(double value) {
  upcish_all_reduce(&value, 1, UPCISH_SUM);
  return value;
}

double upcish_all_max(double value) {
  upcish_all_reduce(&value, 1, UPCISH_MAX);
  return value;
}

/* ---- broadcast: down the tree, in parts; threads are counted from the root ---- */

static char part[VALUES * sizeof(double)];
static volatile unsigned parts_arrived;
static unsigned parts_used;

void upcish_broadcast_part(gasnet_token_t token, void *data, size_t bytes) {
  (void)token;
  memcpy(part, data, bytes);
  parts_arrived++;
}

static void broadcast(void *memory, size_t bytes, unsigned root) {
  unsigned threads = (unsigned)upcish_threads(), me = ((unsigned)upcish_mythread() + threads - root) % threads;
  int stage = 0;
  while (!(me >> stage & 1) && 1u << stage < threads) stage++;
  if (me) {
    parts_used++;
    GASNET_BLOCKUNTIL(parts_arrived == parts_used);
    memcpy(memory, part, bytes);
  }
  while (stage-- > 0)
    if (me + (1u << stage) < threads)
      UPCISH_OK(gasnet_AMRequestMedium0((me + (1u << stage) + root) % threads, H_BROADCAST, memory, bytes));
  upcish_barrier(); /* another root's parts could come before this one's */
}

void upcish_all_broadcast(void *memory, size_t bytes, int root) {
  if (root < 0 || root >= upcish_threads()) upcish_fatal("broadcast from thread %d of %d", root, upcish_threads());
  for (size_t done = 0; done < bytes; done += sizeof part)
    broadcast((char *)memory + done, bytes - done < sizeof part ? bytes - done : sizeof part, (unsigned)root);
}

/* ---- gather: everybody puts into everybody's copy ---- */

void upcish_all_gather(void *all, const void *mine, size_t bytes) {
  size_t threads = (size_t)upcish_threads();
  upcish_array copies = upcish_all_alloc(threads * threads, bytes, threads); /* a block per thread, a place in it for each */
  for (size_t to = 0; to < threads; to++) upcish_put_nb(&copies, to * threads + (size_t)upcish_mythread(), 1, mine);
  upcish_barrier();
  memcpy(all, upcish_local(upcish_at(&copies, (size_t)upcish_mythread() * threads)), threads * bytes);
  upcish_all_free(&copies);
}
