/* Tests the runtime against upcish.h: layouts, pointer arithmetic, transfers, locks and collectives, compared with
 * plain loops. */
#include "upcish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long checks, errors;

#define CHECK(condition)                                                                                             \
  do {                                                                                                               \
    checks++;                                                                                                        \
    if (!(condition) && errors++ < 10)                                                                               \
      fprintf(stderr, "selftest: thread %d: line %d: %s\n", upcish_mythread(), __LINE__, #condition);                   \
  } while (0)

static int value(size_t i) { return (int)(i * 2654435761u % 1000003u); }

/* Every element is where the definition of the layout says, is held by one thread, and can be reached by all. */
static void layout(size_t length, size_t block) {
  upcish_array a = upcish_all_alloc(length, sizeof(int), block);
  size_t threads = (size_t)upcish_threads(), held = 0, seen = 0;
  int *all = malloc((length + 1) * sizeof *all);
  if (!all) upcish_fatal("no memory");
  if (block) CHECK(a.block == block);
  UPCISH_FORALL(i, &a) {
    CHECK(i / a.block % threads == (size_t)upcish_mythread());
    CHECK(*(int *)upcish_local(upcish_at(&a, i)) == 0);
    *(int *)upcish_local(upcish_at(&a, i)) = value(i);
    held++;
  }
  UPCISH_FORALL_BLOCKS(first, &a) {
    CHECK(first % a.block == 0);
    seen += upcish_block_length(&a, first);
  }
  CHECK(seen == held);
  CHECK(upcish_all_sum((double)held) == (double)length);
  upcish_barrier();

  upcish_get(&a, 0, length, all);
  for (size_t i = 0; i < length; i++) CHECK(all[i] == value(i));

  /* p + n and p - q, from places all over the array, beyond its end by one element */
  for (size_t i = 0; i <= length; i += 1 + length / 9)
    for (size_t j = 0; j <= length; j += 1 + length / 13) {
      upcish_ptr p = upcish_at(&a, i), q = upcish_at(&a, j), sum = upcish_add(&a, p, (ptrdiff_t)j - (ptrdiff_t)i);
      CHECK(upcish_difference(&a, q, p) == (ptrdiff_t)j - (ptrdiff_t)i);
      CHECK(sum.thread == q.thread && sum.phase == q.phase && sum.offset == q.offset);
    }

  /* one thread after the other writes a range that crosses blocks */
  for (int writer = 0; writer < upcish_threads(); writer++) {
    size_t first = length / 5, count = length / 2;
    upcish_barrier();
    if (writer == upcish_mythread()) {
      for (size_t i = 0; i < count; i++) all[i] = -value(i) - writer;
      upcish_put(&a, first, count, all);
    }
    upcish_barrier();
    upcish_get(&a, 0, length, all);
    for (size_t i = 0; i < length; i++)
      CHECK(all[i] == (i >= first && i < first + count ? -value(i - first) - writer : value(i)));
  }
  free(all);
  upcish_all_free(&a);
}

/* A counter that everybody reads, changes and writes back; and one whose lock is only tried. */
static void locks(void) {
  enum { ROUNDS = 50 };
  upcish_array counters = upcish_all_alloc(2, sizeof(long), 1);
  upcish_lock *lock = upcish_all_lock_alloc(), *other = upcish_all_lock_alloc();
  long n, tried = 0;
  for (int i = 0; i < ROUNDS; i++) {
    upcish_lock_take(lock);
    upcish_memget(&n, upcish_at(&counters, 0), sizeof n);
    n++;
    upcish_memput(upcish_at(&counters, 0), &n, sizeof n);
    upcish_lock_give(lock);
    if (!upcish_lock_attempt(other)) continue;
    tried++;
    upcish_memget(&n, upcish_at(&counters, 1), sizeof n);
    n++;
    upcish_memput(upcish_at(&counters, 1), &n, sizeof n);
    upcish_lock_give(other);
  }
  tried = (long)upcish_all_sum((double)tried);
  upcish_barrier();
  upcish_memget(&n, upcish_at(&counters, 0), sizeof n);
  CHECK(n == (long)ROUNDS * upcish_threads());
  upcish_memget(&n, upcish_at(&counters, 1), sizeof n);
  CHECK(n == tried);
  CHECK(tried > 0);
  upcish_all_lock_free(other);
  upcish_all_lock_free(lock);
  CHECK(upcish_all_lock_alloc() == lock); /* the first that is free */
  upcish_all_free(&counters);
}

static void collectives(void) {
  enum { COUNT = 150 };
  int me = upcish_mythread(), threads = upcish_threads();
  double values[COUNT];
  char bytes[1500];
  long mine[3], *all = malloc((size_t)threads * sizeof mine);
  if (!all) upcish_fatal("no memory");
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < COUNT; i++) values[i] = me + i + round;
    upcish_all_reduce(values, COUNT, UPCISH_SUM);
    for (int i = 0; i < COUNT; i++) CHECK(values[i] == threads * (i + round) + threads * (threads - 1) / 2);
    CHECK(upcish_all_max(me == round % threads ? 7 : -me) == 7);
    values[0] = -me;
    upcish_all_reduce(values, 1, UPCISH_MIN);
    CHECK(values[0] == 1 - threads);
  }
  for (int root = 0; root < threads; root++) {
    memset(bytes, me == root ? 'a' + root : 0, sizeof bytes);
    upcish_all_broadcast(bytes, sizeof bytes, root);
    for (size_t i = 0; i < sizeof bytes; i++) CHECK(bytes[i] == 'a' + root);
  }
  for (int i = 0; i < 3; i++) mine[i] = 10 * me + i;
  upcish_all_gather(all, mine, sizeof mine);
  for (int t = 0; t < threads; t++)
    for (int i = 0; i < 3; i++) CHECK(all[3 * t + i] == 10 * t + i);
  free(all);
}

/* Freed memory is used again, all of it. */
static void heap(void) {
  upcish_array a = upcish_all_alloc(1000, 8, 10), b = upcish_all_alloc(500, 8, 0), c = upcish_all_alloc(77, 3, 5), d;
  uint64_t lowest = a.base.offset;
  CHECK(lowest < b.base.offset && b.base.offset < c.base.offset);
  upcish_memset(upcish_at(&b, 0), 0x55, 8);
  upcish_all_free(&a);
  upcish_all_free(&c);
  upcish_all_free(&b);
  d = upcish_all_alloc(1500, 8, 10);
  CHECK(d.base.offset == lowest);
  upcish_all_free(&d);
}

int main(int argc, char **argv) {
  static const size_t lengths[] = {0, 1, 7, 64, 500}, blocks[] = {0, 1, 3, 16, 1000};
  upcish_init(&argc, &argv, (size_t)1 << 20);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (size_t j = 0; j < sizeof blocks / sizeof *blocks; j++) layout(lengths[i], blocks[j]);
  locks();
  collectives();
  heap();
  printf("selftest: thread %d of %d: %s (%ld checks)\n", upcish_mythread(), upcish_threads(), errors ? "FAIL" : "PASS", checks);
  upcish_exit(upcish_all_sum((double)errors) > 0);
}
