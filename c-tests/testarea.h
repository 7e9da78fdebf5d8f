/* The addresses of peers' memory, in either segment mode. core_attach (testcore.h) gives every node one area: its
 * segment, or heap memory in EVERYTHING mode. This header adds memory that nodes announce later, and loads and
 * stores between threads. */
#ifndef GASNET_SCI_TESTAREA_H
#define GASNET_SCI_TESTAREA_H

#include "testcore.h"

/* Between a thread and handlers that other threads run. */
#if defined(__GNUC__)
#define AREA_LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define AREA_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#else
#define AREA_LOAD(p) (*(p))
#define AREA_STORE(p, v) (*(p) = (v))
#endif

#define AREA_HIDX_ANNOUNCE 254
#define AREA_SLOTS 4
static unsigned char **area_announced[AREA_SLOTS]; /* per slot one address of each node */
static int area_heard[AREA_SLOTS];

static void area_announce_h(gasnet_token_t token, gasnet_handlerarg_t slot, gasnet_handlerarg_t hi,
                            gasnet_handlerarg_t lo) {
  area_announced[slot][core_source(token)] = (unsigned char *)CORE_PTR(hi, lo);
  TEST_COUNT(&area_heard[slot]);
}

/* core_attach, and ready to announce. */
static void TEST_UNUSED area_attach(const gasnet_handlerentry_t *table, int n, size_t size) {
  const gasnet_handlerentry_t announce = {AREA_HIDX_ANNOUNCE, (void (*)())area_announce_h};
  gasnet_handlerentry_t *all = (gasnet_handlerentry_t *)malloc((size_t)(n + 1) * sizeof *all);
  int slot;
  if (n) memcpy(all, table, (size_t)n * sizeof *all);
  all[n] = announce;
  for (slot = 0; slot < AREA_SLOTS; slot++)
    area_announced[slot] = (unsigned char **)calloc(nodes, sizeof **area_announced);
  core_attach(all, n + 1, size);
  free(all);
}

/* Collective, once per slot: every node announces the address of its memory for that slot. Returns the table, one
 * address per node. If `mine` is outside the segment, other nodes may use it in EVERYTHING mode only. */
static unsigned char TEST_UNUSED **area_announce(int slot, void *mine) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    GASNET_SAFE(gasnet_AMRequestShort3(i, AREA_HIDX_ANNOUNCE, slot, CORE_HI(mine), CORE_LO(mine)));
  GASNET_BLOCKUNTIL(AREA_LOAD(&area_heard[slot]) == (int)nodes);
  return area_announced[slot];
}

#endif
