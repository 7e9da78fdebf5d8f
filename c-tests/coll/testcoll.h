/* Shared by the programs of collectives: images (threads in PAR, one per node otherwise), memory whose addresses all
 * images know, one data-movement collective as a value, with its preparation, start and verification. Public names
 * only. */
#ifndef GASNET_SCI_TESTCOLL_H
#define GASNET_SCI_TESTCOLL_H

#include "../testarea.h"
#if defined(GASNET_PAR)
#include <pthread.h>
#endif

#define COLL_CAP (640 << 10) /* bytes of a side of a slot */
#define COLL_SLOTS 8
#define COLL_GUARD 64
#define COLL_PERIMAGE ((size_t)COLL_CAP * 2 * COLL_SLOTS)
#define COLL_MOST 8 /* images per node */

enum { COLL_BROADCAST, COLL_SCATTER, COLL_GATHER, COLL_GATHER_ALL, COLL_EXCHANGE, COLL_OPS };
static const char *const coll_opname[] TEST_UNUSED = {"broadcast", "scatter", "gather", "gather_all", "exchange"};
enum { COLL_SRC, COLL_DST };
enum { COLL_IN_SEGMENT, COLL_ON_HEAP };

static const int coll_in[3] = {GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC};
static const int coll_out[3] = {GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC, GASNET_COLL_OUT_ALLSYNC};

/* ---- images ---- */

static gasnet_image_t *coll_counts; /* per node */
static gasnet_image_t coll_images, coll_first;
static gasnet_node_t *coll_nodeof; /* per image */
static unsigned char **coll_base[2];
static int coll_same; /* heap addresses are the same on all nodes, which have one image each */

/* Counts images: in PAR 1 to `most` per node, unequal. Allocates and announces memory. After area_attach with
 * COLL_PERIMAGE * most bytes. */
static void TEST_UNUSED coll_setup(unsigned most) {
  gasnet_node_t n;
  gasnet_image_t i = 0, k;
  coll_counts = (gasnet_image_t *)calloc(nodes, sizeof *coll_counts);
  coll_nodeof = (gasnet_node_t *)calloc((size_t)nodes * COLL_MOST, sizeof *coll_nodeof);
  for (n = 0; n < nodes; n++) {
    coll_counts[n] = 1;
#if defined(GASNET_PAR)
    coll_counts[n] += (n + 1) % most;
#endif
    if (n == me) coll_first = i;
    for (k = 0; k < coll_counts[n]; k++) coll_nodeof[i++] = n;
  }
  coll_images = i;
  (void)most;
  {
    unsigned char *heap = (unsigned char *)malloc(COLL_PERIMAGE * coll_counts[me]);
    if (!heap) gasnet_exit(98);
    coll_base[COLL_IN_SEGMENT] = core_area;
    coll_base[COLL_ON_HEAP] = area_announce(0, heap);
  }
  coll_same = coll_images == nodes;
  for (n = 0; n < nodes; n++)
    if (coll_base[COLL_ON_HEAP][n] != coll_base[COLL_ON_HEAP][0]) coll_same = 0;
}

static gasnet_image_t TEST_UNUSED coll_localof(gasnet_image_t image) {
  gasnet_image_t first = image;
  while (first > 0 && coll_nodeof[first - 1] == coll_nodeof[image]) first--;
  return image - first;
}

static unsigned char *coll_memory(gasnet_image_t image, int where, int slot, int side) {
  return coll_base[where][coll_nodeof[image]] + coll_localof(image) * COLL_PERIMAGE +
         (size_t)(2 * slot + side) * COLL_CAP;
}

/* All images of all nodes. */
static void TEST_UNUSED coll_meet(void) {
  int rc = gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_UNNAMED | GASNET_BARRIERFLAG_IMAGES);
  CHECK(rc == GASNET_OK, "barrier of images: %s", gasnet_ErrorName(rc));
}

static gasnet_coll_fn_entry_t *coll_table;
static size_t coll_functions;
static void (*coll_body)(gasnet_image_t);

static void *coll_thread(void *number) {
  gasnet_image_t image = coll_first + (gasnet_image_t)(uintptr_t)number;
  gasnet_coll_init(coll_images == nodes ? NULL : coll_counts, image, coll_table, coll_functions, 0);
  coll_meet();
  coll_body(image);
  coll_meet();
  return NULL;
}

/* gasnet_coll_init, then `body` for every image, on a thread of its own where there are several. */
static void TEST_UNUSED coll_run(void (*body)(gasnet_image_t)) {
  coll_body = body;
#if defined(GASNET_PAR)
  {
    pthread_t thread[COLL_MOST];
    gasnet_image_t k;
    for (k = 1; k < coll_counts[me]; k++)
      if (pthread_create(&thread[k], NULL, coll_thread, (void *)(uintptr_t)k)) gasnet_exit(95);
    coll_thread((void *)0);
    for (k = 1; k < coll_counts[me]; k++) pthread_join(thread[k], NULL);
  }
#else
  coll_thread((void *)0);
#endif
}

/* ---- one collective ---- */

typedef struct {
  int op, in, out, slot;
  int lists;   /* M form */
  int single;  /* SINGLE, else LOCAL */
  int nb;      /* non-blocking */
  int inplace; /* where that is legal */
  int hint;    /* IN_SEGMENT, where all are */
  gasnet_image_t root;
  size_t n; /* bytes of a block */
  unsigned seed;
} coll_job;

/* Where image `i` has its side of the job: a place and an offset that only seed and image give. */
static int coll_where(const coll_job *j, gasnet_image_t i, int side) {
  if (j->hint) return COLL_IN_SEGMENT;
  if (j->single && !j->lists) return COLL_ON_HEAP;
  return (int)(core_seed(j->seed, i, 100u + (unsigned)side) % 2);
}
static unsigned char *coll_at(const coll_job *j, gasnet_image_t i, int side) {
  unsigned same = j->single && !j->lists ? 0 : i;
  size_t odd = core_seed(j->seed, same, 200u + (unsigned)side) % 3 ? 0 : core_seed(j->seed, same, 300) % 16;
  return coll_memory(i, coll_where(j, i, side), j->slot, side) + COLL_GUARD + odd;
}

/* Blocks that image `i` has at that side, 0 where the operation has none. */
static size_t coll_blocks(const coll_job *j, gasnet_image_t i, int side) {
  size_t all = coll_images, root = i == j->root;
  switch (j->op) {
    case COLL_BROADCAST: return side == COLL_DST ? 1 : root;
    case COLL_SCATTER: return side == COLL_DST ? 1 : root * all;
    case COLL_GATHER: return side == COLL_DST ? root * all : 1;
    case COLL_GATHER_ALL: return side == COLL_DST ? all : 1;
    default: return all;
  }
}

/* The address that image `i` gives for that side: in place it is part of the other. */
static unsigned char *coll_address(const coll_job *j, gasnet_image_t i, int side) {
  if (j->inplace) {
    if (j->op == COLL_BROADCAST && side == COLL_SRC) return coll_at(j, i, COLL_DST);
    if (j->op == COLL_SCATTER && side == COLL_DST && i == j->root) return coll_at(j, i, COLL_SRC) + i * j->n;
    if (j->op == COLL_GATHER && side == COLL_SRC && i == j->root) return coll_at(j, i, COLL_DST) + i * j->n;
    if (j->op == COLL_GATHER_ALL && side == COLL_SRC) return coll_at(j, i, COLL_DST) + i * j->n;
  }
  return coll_at(j, i, side);
}

/* The content of block `b` of image `i`'s source. */
static unsigned coll_block(const coll_job *j, gasnet_image_t i, size_t b) {
  return core_seed(j->seed, i * 1000 + (unsigned)b, 7);
}

static void TEST_UNUSED coll_prepare(const coll_job *j, gasnet_image_t i) {
  size_t b, blocks = coll_blocks(j, i, COLL_DST);
  unsigned char *dst = coll_at(j, i, COLL_DST), *src;
  memset(dst - COLL_GUARD, 0xA5, blocks * j->n + 2 * COLL_GUARD);
  if (j->inplace && j->op == COLL_SCATTER && i == j->root)
    memset(coll_at(j, i, COLL_SRC) - COLL_GUARD, 0xA5, coll_images * j->n + 2 * COLL_GUARD);
  src = coll_address(j, i, COLL_SRC);
  blocks = coll_blocks(j, i, COLL_SRC);
  for (b = 0; b < blocks; b++) core_fill(src + b * j->n, j->n, coll_block(j, i, b));
}

/* Starts it as image `i`; a blocking one is over then. */
static gasnet_coll_handle_t TEST_UNUSED coll_start(const coll_job *j, gasnet_image_t i) {
  void *list[2][COLL_MOST * 64];
  unsigned char *dst = coll_address(j, i, COLL_DST), *src = coll_address(j, i, COLL_SRC);
  int flags = coll_in[j->in] | coll_out[j->out] | (j->single ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL);
  gasnet_coll_handle_t h = GASNET_COLL_INVALID_HANDLE;
  gasnet_image_t k, from = 0, to = coll_images, root = j->root;
  size_t n = j->n;
  gasnet_team_handle_t team = GASNET_TEAM_ALL;
  if (j->hint) flags |= GASNET_COLL_DST_IN_SEGMENT | GASNET_COLL_SRC_IN_SEGMENT;
  if (!j->single) from = coll_first, to = coll_first + coll_counts[me];
  for (k = from; k < to; k++) {
    list[COLL_DST][k - from] = coll_address(j, k, COLL_DST);
    list[COLL_SRC][k - from] = coll_address(j, k, COLL_SRC);
  }
  if (j->single) { /* scalars are the root's, everywhere */
    if (j->op == COLL_BROADCAST || j->op == COLL_SCATTER) src = coll_address(j, root, COLL_SRC);
    if (j->op == COLL_GATHER) dst = coll_address(j, root, COLL_DST);
  } else if (i != root) { /* junk: not to be looked at */
    if (j->op == COLL_BROADCAST || j->op == COLL_SCATTER) src = (unsigned char *)(uintptr_t)(i % 2 ? 0 : 0xdead);
    if (j->op == COLL_GATHER) dst = (unsigned char *)(uintptr_t)(i % 2 ? 0 : 0xdead);
  }
  /* The pieces of the name are pasted, and root and address come out of one macro, as clients do it. */
#define COLL_PAIR(a) root, a
#define COLL_CALL(op, m, args)                                                                                       \
  if (j->nb) h = gasnet_coll_##op##m##_nb args;                                                                      \
  else gasnet_coll_##op##m args
  switch (j->op * 2 + j->lists) {
    case COLL_BROADCAST * 2: COLL_CALL(broadcast, , (team, dst, COLL_PAIR(src), n, flags)); break;
    case COLL_BROADCAST * 2 + 1: COLL_CALL(broadcast, M, (team, list[COLL_DST], COLL_PAIR(src), n, flags)); break;
    case COLL_SCATTER * 2: COLL_CALL(scatter, , (team, dst, COLL_PAIR(src), n, flags)); break;
    case COLL_SCATTER * 2 + 1: COLL_CALL(scatter, M, (team, list[COLL_DST], COLL_PAIR(src), n, flags)); break;
    case COLL_GATHER * 2: COLL_CALL(gather, , (team, COLL_PAIR(dst), src, n, flags)); break;
    case COLL_GATHER * 2 + 1: COLL_CALL(gather, M, (team, COLL_PAIR(dst), list[COLL_SRC], n, flags)); break;
    case COLL_GATHER_ALL * 2: COLL_CALL(gather_all, , (team, dst, src, n, flags)); break;
    case COLL_GATHER_ALL * 2 + 1: COLL_CALL(gather_all, M, (team, list[COLL_DST], list[COLL_SRC], n, flags)); break;
    case COLL_EXCHANGE * 2: COLL_CALL(exchange, , (team, dst, src, n, flags)); break;
    case COLL_EXCHANGE * 2 + 1: COLL_CALL(exchange, M, (team, list[COLL_DST], list[COLL_SRC], n, flags)); break;
  }
#undef COLL_CALL
#undef COLL_PAIR
  memset(list, 0x5A, sizeof list); /* the lists may be ours again */
  return h;
}

/* Block `b` of image `i`'s destination comes from this image's block. */
static gasnet_image_t coll_origin(const coll_job *j, gasnet_image_t i, size_t b, size_t *block) {
  *block = 0;
  switch (j->op) {
    case COLL_BROADCAST: return j->root;
    case COLL_SCATTER: *block = i; return j->root;
    case COLL_GATHER: case COLL_GATHER_ALL: return (gasnet_image_t)b;
    default: *block = i; return (gasnet_image_t)b;
  }
}

#define COLL_SAY "%s%s root %u, %lu bytes, in %d, out %d, %s, %s, slot %d, seed %u"
#define COLL_SAID(j)                                                                                                 \
  coll_opname[(j)->op], (j)->lists ? "M" : "", (unsigned)(j)->root, (unsigned long)(j)->n, (j)->in, (j)->out,        \
      (j)->single ? "SINGLE" : "LOCAL", (j)->inplace ? "in place" : "apart", (j)->slot, (j)->seed

static void TEST_UNUSED coll_verify(const coll_job *j, gasnet_image_t i) {
  size_t b, at, blocks = coll_blocks(j, i, COLL_DST), guard = COLL_GUARD;
  unsigned char *dst = coll_address(j, i, COLL_DST), *src = coll_at(j, i, COLL_SRC);
  int inside = j->inplace && j->op == COLL_SCATTER && i == j->root;
  for (b = 0; b < blocks; b++) {
    size_t block;
    gasnet_image_t from = coll_origin(j, i, b, &block);
    at = core_differs(dst + b * j->n, j->n, coll_block(j, from, block));
    CHECK(at == j->n, "image %u: byte %lu of block %lu: " COLL_SAY, (unsigned)i, (unsigned long)at, (unsigned long)b,
          COLL_SAID(j));
  }
  if (inside) dst = src, blocks = coll_images;
  CHECK(core_notall(dst - guard, guard, 0xA5) == guard, "image %u: before the destination: " COLL_SAY, (unsigned)i,
        COLL_SAID(j));
  CHECK(core_notall(dst + blocks * j->n, guard, 0xA5) == guard, "image %u: behind the destination: " COLL_SAY,
        (unsigned)i, COLL_SAID(j));
  if (j->inplace) return;
  for (b = 0; b < coll_blocks(j, i, COLL_SRC); b++) {
    at = core_differs(src + b * j->n, j->n, coll_block(j, i, b));
    CHECK(at == j->n, "image %u: byte %lu of source block %lu: " COLL_SAY, (unsigned)i, (unsigned long)at,
          (unsigned long)b, COLL_SAID(j));
  }
}

/* ---- handles: every way to sync ---- */

static void TEST_UNUSED coll_sync(gasnet_coll_handle_t *h, int n, unsigned *state) {
  int left = n, k;
  switch (test_random(state) % 6) {
    case 0: gasnet_coll_wait_sync_all(h, (size_t)n); break;
    case 1:
      while (gasnet_coll_try_sync_all(h, (size_t)n) != GASNET_OK) gasnet_AMPoll();
      break;
    case 2:
    case 3:
      while (left > 0) {
        int some = 0;
        if (test_random(state) % 2) gasnet_coll_wait_sync_some(h, (size_t)n);
        else
          while (gasnet_coll_try_sync_some(h, (size_t)n) != GASNET_OK) continue;
        for (left = 0, k = 0; k < n; k++) h[k] == GASNET_COLL_INVALID_HANDLE ? some++ : left++;
        CHECK(some > 0, "sync_some without one that is done, of %d", n);
      }
      break;
    default: { /* one by one, from a random one on, up or down */
      int first = (int)(test_random(state) % (unsigned)n), step = test_random(state) % 2 ? 1 : n - 1;
      for (k = 0; k < n; k++, first = (first + step) % n) {
        if (test_random(state) % 2) gasnet_coll_wait_sync(h[first]);
        else
          while (gasnet_coll_try_sync(h[first]) != GASNET_OK) continue;
        h[first] = GASNET_COLL_INVALID_HANDLE;
      }
    }
  }
  for (k = 0; k < n; k++) CHECK(h[k] == GASNET_COLL_INVALID_HANDLE, "handle %d of %d is left", k, n);
  gasnet_coll_wait_sync_all(h, (size_t)n);
  CHECK(gasnet_coll_try_sync_some(h, (size_t)n) == GASNET_OK, "nothing to sync%s", "");
}

#endif
