/* upcish: a small runtime in the manner of UPC. Threads are processes; each has a part of a global heap, in which
 * arrays lie in blocks, dealt out to the threads in turn.
 *
 * Every thread calls the functions named `all` or marked "collective", with equal arguments. An error ends the
 * program, with a line on stderr. This header does not show which network layer is underneath. */
#ifndef UPCISH_H
#define UPCISH_H

#include <stddef.h>
#include <stdint.h>

/* ---- the job ---- */

/* First statement of main. `heap`: bytes of the global heap that this thread holds. Collective. */
void upcish_init(int *argc, char ***argv, size_t heap);
/* Ends all threads with this status. */
void upcish_exit(int status);
/* The same after a line on stderr. */
void upcish_fatal(const char *format, ...);
int upcish_mythread(void);
int upcish_threads(void);
/* All threads wait for each other; in two halves, so that work of one's own fits in between. Collective. */
void upcish_notify(void);
void upcish_wait(void);
void upcish_barrier(void);

/* ---- pointers to shared memory and arrays ---- */

/* A byte of the global heap: whose part, and where there; `phase` counts the elements since the begin of the block. */
typedef struct {
  uint32_t thread;
  uint32_t phase;
  uint64_t offset;
} upcish_ptr;

/* `length` elements of `size` bytes in blocks of `block` elements: block b is thread b % threads'. */
typedef struct {
  upcish_ptr base;
  size_t length, size, block;
} upcish_array;

/* A zeroed array. Block 0 stands for one block per thread, as large as needed. Collective. */
upcish_array upcish_all_alloc(size_t length, size_t size, size_t block);
/* The array's memory may be used again. Collective. */
void upcish_all_free(upcish_array *array);

/* Pointer to an element. `index` may be the length: one past the last. */
upcish_ptr upcish_at(const upcish_array *array, size_t index);
/* Pointer arithmetic in the layout of `array`: p + n, and p - q. */
upcish_ptr upcish_add(const upcish_array *array, upcish_ptr p, ptrdiff_t n);
ptrdiff_t upcish_difference(const upcish_array *array, upcish_ptr p, upcish_ptr q);
/* The ordinary pointer to memory of this thread's own part. The rest of its block follows. */
void *upcish_local(upcish_ptr p);

/* for (i over the elements that this thread holds) */
#define UPCISH_FORALL(i, array)                                                                                      \
  for (size_t i = upcish_first(array); i < (array)->length; i = upcish_next((array), i))
/* The same over blocks: i is the index of the block's first element. */
#define UPCISH_FORALL_BLOCKS(i, array)                                                                               \
  for (size_t i = upcish_first(array); i < (array)->length; i += (array)->block * (size_t)upcish_threads())
size_t upcish_first(const upcish_array *array);
size_t upcish_next(const upcish_array *array, size_t i);
/* Elements in the block that begins at `first`: fewer than `block` at the array's end. */
size_t upcish_block_length(const upcish_array *array, size_t first);

/* ---- moving data: returns when it has arrived ---- */
void upcish_memput(upcish_ptr to, const void *from, size_t bytes);
void upcish_memget(void *to, upcish_ptr from, size_t bytes);
void upcish_memset(upcish_ptr to, int byte, size_t bytes);
/* `count` elements from `first` on, in whichever blocks they lie. */
void upcish_put(const upcish_array *array, size_t first, size_t count, const void *from);
void upcish_get(const upcish_array *array, size_t first, size_t count, void *to);
/* Starts such a transfer. It may be under way, and its memory in use, until upcish_fence. */
void upcish_put_nb(const upcish_array *array, size_t first, size_t count, const void *from);
void upcish_get_nb(const upcish_array *array, size_t first, size_t count, void *to);
void upcish_fence(void);

/* ---- locks: first come, first served ---- */
typedef struct upcish_lock upcish_lock;
/* Collective. */
upcish_lock *upcish_all_lock_alloc(void);
/* No thread may hold the lock. Collective. */
void upcish_all_lock_free(upcish_lock *lock);
/* Waits for the lock. Transfers that were made under it are complete for the next thread that has it. */
void upcish_lock_take(upcish_lock *lock);
/* Takes it if it is free: 1, else 0. */
int upcish_lock_attempt(upcish_lock *lock);
void upcish_lock_give(upcish_lock *lock);

/* ---- collectives: every thread gets the result ---- */
typedef enum { UPCISH_SUM, UPCISH_MAX, UPCISH_MIN } upcish_op;
/* Combines the threads' values element by element, always in the same order. Collective. */
void upcish_all_reduce(double *values, size_t count, upcish_op op);
double upcish_all_sum(double value);
double upcish_all_max(double value);
/* Gives thread `root`'s memory to all. Collective. */
void upcish_all_broadcast(void *memory, size_t bytes, int root);
/* Thread t's `bytes` at `mine` go to all + t * bytes of every thread. Collective. */
void upcish_all_gather(void *all, const void *mine, size_t bytes);

#endif
