/* The global heap, arrays in it, pointers into it, and transfers.
 *
 * An array takes the same offsets of every thread's part. All threads allocate and free in the same order, so each finds the
 * same offset by itself; a barrier that carries the offset makes sure of it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, EXTENTS = 1024 };

static gasnet_seginfo_t *parts; /* of every thread: its part of the heap */

/* Free memory, by rising offset, no two adjacent. */
typedef struct {
  uint64_t offset, bytes;
} extent;
static extent free_list[EXTENTS];
static int extents;

static size_t threads(void) { return (size_t)upcish_threads(); }

void upcish_heap_init(size_t bytes) {
  parts = malloc(threads() * sizeof *parts);
  if (!parts) upcish_fatal("no memory for the table of segments");
  UPCISH_OK(gasnet_getSegmentInfo(parts, upcish_threads()));
  free_list[0].offset = 0;
  free_list[0].bytes = bytes;
  extents = 1;
}

void *upcish_address(upcish_ptr p) { return (char *)parts[p.thread].addr + p.offset; }

/* ---- arrays ---- */

static void drop(int i) { memmove(&free_list[i], &free_list[i + 1], (size_t)(--extents - i) * sizeof *free_list); }

static uint64_t take(uint64_t bytes) {
  for (int i = 0; i < extents; i++) {
    extent *e = &free_list[i];
    uint64_t offset = e->offset;
    if (e->bytes < bytes) continue;
    e->offset += bytes;
    e->bytes -= bytes;
    if (e->bytes == 0) drop(i);
    return offset;
  }
  upcish_fatal("the heap has no %llu bytes left in one piece", (unsigned long long)bytes);
  return 0;
}

static void give(uint64_t offset, uint64_t bytes) {
  int i = 0;
  while (i < extents && free_list[i].offset < offset) i++;
  if (extents == EXTENTS) upcish_fatal("the heap is in more than %d pieces", EXTENTS);
  memmove(&free_list[i + 1], &free_list[i], (size_t)(extents++ - i) * sizeof *free_list);
  free_list[i].offset = offset;
  free_list[i].bytes = bytes;
  if (i + 1 < extents && offset + bytes == free_list[i + 1].offset) {
    free_list[i].bytes += free_list[i + 1].bytes;
    drop(i + 1);
  }
  if (i > 0 && free_list[i - 1].offset + free_list[i - 1].bytes == offset) {
    free_list[i - 1].bytes += free_list[i].bytes;
    drop(i);
  }
}

/* Bytes of each thread's part that the array takes: full blocks for all, so that the layout is the same everywhere. */
static uint64_t part_of(const upcish_array *array) {
  size_t row = array->block * threads();
  uint64_t bytes = (uint64_t)((array->length + row - 1) / row) * array->block * array->size;
  return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* room for the pointer past the end, hence more than 0 */
}

/* All threads are at the same array, or the program ends. */
static void agree(uint64_t offset) {
  int name = (int)(offset / ALIGNMENT);
  upcish_fence();
  gasnet_barrier_notify(name, 0);
  if (gasnet_barrier_wait(name, 0) != GASNET_OK) upcish_fatal("the threads do not allocate and free in the same order");
}

upcish_array upcish_all_alloc(size_t length, size_t size, size_t block) {
  upcish_array array;
  if (size == 0) upcish_fatal("an array of elements without size");
  array.length = length;
  array.size = size;
  array.block = block ? block : (length + threads() - 1) / threads();
  if (array.block == 0) array.block = 1;
  array.base.thread = array.base.phase = 0;
  array.base.offset = take(part_of(&array));
  memset((char *)parts[upcish_mythread()].addr + array.base.offset, 0, part_of(&array));
  agree(array.base.offset);
  return array;
}

void upcish_all_free(upcish_array *array) {
  agree(array->base.offset); /* before: the others may still be reading */
  give(array->base.offset, part_of(array));
  array->length = 0;
}

/* ---- pointers ---- */

upcish_ptr upcish_at(const upcish_array *array, size_t index) {
  size_t number = index / array->block;
  upcish_ptr p;
  p.thread = (uint32_t)(number % threads());
  p.phase = (uint32_t)(index % array->block);
  p.offset = array->base.offset + (uint64_t)(number / threads() * array->block + p.phase) * array->size;
  return p;
}

static ptrdiff_t floor_div(ptrdiff_t a, ptrdiff_t b) { return a / b - (a % b < 0); }

upcish_ptr upcish_add(const upcish_array *array, upcish_ptr p, ptrdiff_t n) {
  ptrdiff_t block = (ptrdiff_t)array->block, all = (ptrdiff_t)threads();
  ptrdiff_t position = (ptrdiff_t)p.phase + n;
  ptrdiff_t blocks = floor_div(position, block);
  ptrdiff_t thread = (ptrdiff_t)p.thread + blocks;
  ptrdiff_t rows = floor_div(thread, all);
  ptrdiff_t phase = position - blocks * block;
  p.offset += (uint64_t)((rows * block + phase - (ptrdiff_t)p.phase) * (ptrdiff_t)array->size);
  p.phase = (uint32_t)phase;
  p.thread = (uint32_t)(thread - rows * all);
  return p;
}

ptrdiff_t upcish_difference(const upcish_array *array, upcish_ptr p, upcish_ptr q) {
  ptrdiff_t block = (ptrdiff_t)array->block, phases = (ptrdiff_t)p.phase - (ptrdiff_t)q.phase;
  ptrdiff_t elements = (ptrdiff_t)(p.offset - q.offset) / (ptrdiff_t)array->size;
  ptrdiff_t rows = (elements - phases) / block;
  return (rows * (ptrdiff_t)threads() + (ptrdiff_t)p.thread - (ptrdiff_t)q.thread) * block + phases;
}

void *upcish_local(upcish_ptr p) {
  if ((int)p.thread != upcish_mythread()) upcish_fatal("memory of thread %d is not local", (int)p.thread);
  return upcish_address(p);
}

size_t upcish_first(const upcish_array *array) { return (size_t)upcish_mythread() * array->block; }

size_t upcish_next(const upcish_array *array, size_t i) {
  i++;
  return i % array->block ? i : i + (threads() - 1) * array->block;
}

size_t upcish_block_length(const upcish_array *array, size_t first) {
  size_t left = array->length - first;
  return left < array->block ? left : array->block;
}

/* ---- transfers ---- */

void upcish_memput(upcish_ptr to, const void *from, size_t bytes) {
  gasnet_put(to.thread, upcish_address(to), (void *)(uintptr_t)from, bytes);
}

void upcish_memget(void *to, upcish_ptr from, size_t bytes) { gasnet_get(to, from.thread, upcish_address(from), bytes); }

void upcish_memset(upcish_ptr to, int byte, size_t bytes) { gasnet_memset(to.thread, upcish_address(to), byte, bytes); }

/* Elements from `first` on that lie in one piece, at most `count`. */
static size_t piece(const upcish_array *array, size_t first, size_t count) {
  size_t rest = array->block - first % array->block;
  return rest < count ? rest : count;
}

static void inside(const upcish_array *array, size_t first, size_t count) {
  if (first > array->length || count > array->length - first)
    upcish_fatal("elements %zu to %zu of an array of %zu", first, first + count, array->length);
}

void upcish_put_nb(const upcish_array *array, size_t first, size_t count, const void *from) {
  const char *at = from;
  inside(array, first, count);
  while (count) {
    size_t n = piece(array, first, count);
    upcish_ptr to = upcish_at(array, first);
    gasnet_put_nbi(to.thread, upcish_address(to), (void *)(uintptr_t)at, n * array->size);
    at += n * array->size;
    first += n;
    count -= n;
  }
}

void upcish_get_nb(const upcish_array *array, size_t first, size_t count, void *to) {
  char *at = to;
  inside(array, first, count);
  while (count) {
    size_t n = piece(array, first, count);
    upcish_ptr from = upcish_at(array, first);
    gasnet_get_nbi(at, from.thread, upcish_address(from), n * array->size);
    at += n * array->size;
    first += n;
    count -= n;
  }
}

void upcish_put(const upcish_array *array, size_t first, size_t count, const void *from) {
  upcish_put_nb(array, first, count, from);
  upcish_fence();
}

void upcish_get(const upcish_array *array, size_t first, size_t count, void *to) {
  upcish_get_nb(array, first, count, to);
  upcish_fence();
}

void upcish_fence(void) { gasnet_wait_syncnbi_all(); }
