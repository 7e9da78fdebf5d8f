/* Random operations, many in flight over all nodes, against a shadow copy: list E, items 66, 67, 71, 72, 82, 86, 87.
 *
 *   testgasnetstress [rounds [seed]]
 *
 * Each round splits this node's slice of every area into cells and starts one operation in each of 96 of them, in random order:
 * put, value put, memset or get in every non-blocking form, regions over several cells. Then everything is synchronised in a
 * random way, gets are compared with the shadow, and now and then the whole slice. Slices of different nodes do not overlap. */
#include "../testrma.h"

enum { CELLS = 24, SMALLCELL = 1500, BIGCELL = 90000, OPERATIONS = 96 };

struct pending { /* a get to be compared */
  gasnet_node_t node;
  size_t at, n;
  unsigned char *into;
};

static unsigned char **shadow;   /* of our slice of each node */
static unsigned char *bounce;    /* where gets land, and where puts come from: one cell per operation */
static unsigned char *cell_busy; /* this round */
static struct pending pending[OPERATIONS];
static gasnet_handle_t handles[OPERATIONS];
static size_t n_pending, n_handles;
static unsigned state;

static unsigned below(unsigned n) { return test_random(&state) % n; }

static size_t cell_size(size_t cell) { return cell == 0 ? BIGCELL : SMALLCELL; }
static size_t cell_at(size_t cell) { return cell == 0 ? 0 : BIGCELL + (cell - 1) * SMALLCELL; }
enum { SLICE = BIGCELL + (CELLS - 1) * SMALLCELL };

static size_t random_length(size_t room) {
  size_t n;
  switch (below(4)) {
    case 0: n = below(17); break;
    case 1: n = below(200); break;
    default: n = below((unsigned)room + 1);
  }
  return n < room ? n : room;
}

static void random_put(gasnet_node_t p, size_t at, size_t n, unsigned char *local, int in_region) {
  static const int forms[] = {RMA_NB, RMA_NB_BULK, RMA_NBI, RMA_NBI_BULK};
  int form = in_region ? forms[2 + below(2)] : forms[below(4)];
  gasnet_handle_t h;
  test_random(&state);
  core_fill(local, n, state);
  memcpy(shadow[p] + at, local, n);
  if (n >= 1 && n <= 8 && below(2)) form = in_region || below(2) ? RMA_NBI_VAL : RMA_NB_VAL;
  h = rma_put(form, p, rma_slice(p) + at, local, n);
  if (form != RMA_NB_BULK && form != RMA_NBI_BULK) memset(local, 0xDD, n); /* the source is ours again */
  if (h != GASNET_INVALID_HANDLE) handles[n_handles++] = h;
}

static void random_memset(gasnet_node_t p, size_t at, size_t n, int in_region) {
  int value = (int)below(1000) - 300;
  gasnet_handle_t h = rma_memset(in_region || below(2) ? RMA_NBI : RMA_NB, p, rma_slice(p) + at, value, n);
  memset(shadow[p] + at, value, n);
  if (h != GASNET_INVALID_HANDLE) handles[n_handles++] = h;
}

static void random_get(gasnet_node_t p, size_t at, size_t n, unsigned char *local, int in_region) {
  static const int forms[] = {RMA_NB, RMA_NB_BULK, RMA_NBI, RMA_NBI_BULK};
  gasnet_handle_t h;
  memset(local, 0, n);
  h = rma_get(in_region ? forms[2 + below(2)] : forms[below(4)], local, p, rma_slice(p) + at, n);
  if (h != GASNET_INVALID_HANDLE) handles[n_handles++] = h;
  pending[n_pending].node = p, pending[n_pending].at = at, pending[n_pending].n = n, pending[n_pending].into = local;
  n_pending++;
}

/* One operation in a cell that nothing else uses in this round. */
static void random_operation(size_t index, int in_region) {
  gasnet_node_t p = (gasnet_node_t)below(nodes);
  size_t cell = below(CELLS), tries, room, n, at;
  unsigned char *local;
  for (tries = 0; cell_busy[p * CELLS + cell]; tries++) {
    if (tries == 50) return; /* one node has few cells */
    p = (gasnet_node_t)below(nodes), cell = below(CELLS);
  }
  if (cell == 0 && below(4)) return; /* the large ones are rarer */
  cell_busy[p * CELLS + cell] = 1;
  room = cell_size(cell);
  n = random_length(room);
  at = cell_at(cell) + below((unsigned)(room - n) + 1);
  local = bounce + (cell == 0 ? OPERATIONS * (size_t)(SMALLCELL + 32) + p * (size_t)(BIGCELL + 32)
                              : index * (SMALLCELL + 32)) + below(16);
  switch (below(5)) {
    case 0: case 1: random_put(p, at, n, local, in_region); break;
    case 2: random_memset(p, at, n, in_region); break;
    default: random_get(p, at, n, local, in_region);
  }
}

/* Syncs all handles: singly in random order, or by array calls with INVALID entries between. */
static void sync_handles(void) {
  size_t i, left, rest;
  int way = (int)below(RMA_WAYS);
  for (i = n_handles; i > 1; i--) { /* shuffle */
    size_t k = below((unsigned)i);
    gasnet_handle_t h = handles[i - 1];
    handles[i - 1] = handles[k], handles[k] = h;
  }
  if (way < RMA_WAIT_ALL) {
    for (i = 0; i < n_handles; i++) rma_sync_handle(handles[i], way);
  } else {
    for (rest = left = n_handles; left > 0;) {
      rma_sync_array(handles, n_handles, way);
      for (left = i = 0; i < n_handles; i++) left += handles[i] != GASNET_INVALID_HANDLE;
      if (!CHECK(left < rest || rest == 0, "array sync way %d completed nothing of %lu", way, (unsigned long)rest)) break;
      rest = left;
      if (way < RMA_WAIT_SOME) break;
    }
    for (i = 0; i < n_handles; i++) CHECK(handles[i] == GASNET_INVALID_HANDLE, "way %d leaves handle %lu", way, (unsigned long)i);
  }
  n_handles = 0;
}

static void sync_implicit(void) {
  if (below(2)) {
    rma_sync_implicit(RMA_ALL, (int)below(2));
  } else {
    int first = (int)below(2);
    rma_sync_implicit(first, (int)below(2));
    rma_sync_implicit(1 - first, (int)below(2));
  }
}

static void random_round(void) {
  size_t i = 0, k;
  memset(cell_busy, 0, nodes * CELLS);
  n_pending = n_handles = 0;
  while (i < OPERATIONS) {
    if (below(12) == 0) { /* a region over a few operations */
      size_t end = i + below(9);
      gasnet_handle_t h;
      gasnet_begin_nbi_accessregion();
      for (; i < end && i < OPERATIONS; i++) random_operation(i, 1);
      h = gasnet_end_nbi_accessregion();
      if (h != GASNET_INVALID_HANDLE && n_handles < OPERATIONS) handles[n_handles++] = h;
      else gasnet_wait_syncnb(h);
    } else {
      random_operation(i++, 0);
    }
    if (below(16) == 0) GASNET_SAFE(gasnet_AMPoll());
  }
  if (below(2)) sync_handles(), sync_implicit();
  else sync_implicit(), sync_handles();
  for (k = 0; k < n_pending; k++)
    CHECK(memcmp(pending[k].into, shadow[pending[k].node] + pending[k].at, pending[k].n) == 0,
          "get of %lu bytes at %lu of node %u differs", (unsigned long)pending[k].n, (unsigned long)pending[k].at,
          (unsigned)pending[k].node);
}

static void compare_all(unsigned char *whole) {
  gasnet_node_t p;
  for (p = 0; p < nodes; p++) {
    gasnet_get_bulk(whole, p, rma_slice(p), SLICE);
    CHECK(memcmp(whole, shadow[p], SLICE) == 0, "the slice of node %u differs from its shadow", (unsigned)p);
  }
}

int main(int argc, char **argv) {
  long rounds, i;
  gasnet_node_t p;
  unsigned char *whole;
  core_init(&argc, &argv, "testgasnetstress");
  rounds = core_number(argc, argv, 1, 150);
  test_seed((unsigned)core_number(argc, argv, 2, 20011));
  state = (unsigned)core_number(argc, argv, 2, 20011) * 31 + me * 7919 + 1;
  rma_attach(NULL, 0, SLICE);
  test_begin("testgasnetstress");
  shadow = (unsigned char **)rma_malloc(nodes * sizeof *shadow);
  cell_busy = (unsigned char *)rma_malloc(nodes * CELLS);
  bounce = (unsigned char *)rma_malloc(OPERATIONS * (size_t)(SMALLCELL + 32) + nodes * (size_t)(BIGCELL + 32));
  whole = (unsigned char *)rma_malloc(SLICE);
  for (p = 0; p < nodes; p++) {
    shadow[p] = (unsigned char *)rma_malloc(SLICE);
    core_fill(shadow[p], SLICE, me * 100 + p);
    gasnet_put_bulk(p, rma_slice(p), shadow[p], SLICE);
  }
  for (i = 0; i < rounds; i++) {
    random_round();
    if (i % 32 == 31) compare_all(whole);
  }
  compare_all(whole);
  test_end();
  return 0;
}
