/* The collectives of GASNet-1 that GASNet-EX keeps, as testcoll and testcollperf call and check them. Contract: ex-coll.md section 9. */
#ifndef TESTOLDCOLL_H
#define TESTOLDCOLL_H
#include "testpollers.h"
#include <gasnet_coll.h>

typedef enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, OLD_KINDS } old_kind;
static const char *const old_name[] = {"broadcast", "scatter", "gather", "gather_all", "exchange"};
static const int sync_in[] = {GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC};
static const int sync_out[] = {GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC, GASNET_COLL_OUT_ALLSYNC};
static const char *const sync_name[] = {"NO", "MY", "ALL"};

#define OLD(SUFFIX, ASSIGN)                                                                                          \
  switch (k) {                                                                                                       \
    case BROADCAST: ASSIGN gasnet_coll_broadcast##SUFFIX(GASNET_TEAM_ALL, dst, root, src, n, flags); break;           \
    case SCATTER: ASSIGN gasnet_coll_scatter##SUFFIX(GASNET_TEAM_ALL, dst, root, src, n, flags); break;               \
    case GATHER: ASSIGN gasnet_coll_gather##SUFFIX(GASNET_TEAM_ALL, root, dst, src, n, flags); break;                 \
    case GATHER_ALL: ASSIGN gasnet_coll_gather_all##SUFFIX(GASNET_TEAM_ALL, dst, src, n, flags); break;               \
    default: ASSIGN gasnet_coll_exchange##SUFFIX(GASNET_TEAM_ALL, dst, src, n, flags); break;                         \
  }
static void old_blocking(old_kind k, void *dst, void *src, size_t n, gasnet_node_t root, int flags) {
  OLD(, )
}
__attribute__((__unused__)) static gex_Event_t old_nb(old_kind k, void *dst, void *src, size_t n, gasnet_node_t root, int flags) {
  gex_Event_t event = GEX_EVENT_INVALID;
  OLD(_nb, event =)
  return event;
}
#undef OLD

static unsigned old_seed(gex_Rank_t from, gex_Rank_t to, unsigned turn) { return from * 3 + to * 5 + turn; }
/* The source of this process, and a destination, one byte longer than all blocks, that has none of it. */
static void old_prepare(old_kind k, unsigned char *dst, unsigned char *src, size_t n, gex_Rank_t root, unsigned turn) {
  gex_Rank_t r;
  if (k == GATHER || k == GATHER_ALL) fill(src, old_seed(me, 0, turn), n);
  else if (k == BROADCAST && me == root) fill(src, old_seed(me, 0, turn), n);
  else if (k == EXCHANGE || (k == SCATTER && me == root))
    for (r = 0; r < nodes; r++) fill(src + r * n, old_seed(me, r, turn), n);
  memset(dst, 0xee, nodes * n + 1);
}
static int old_right(old_kind k, const unsigned char *dst, size_t n, gex_Rank_t root, unsigned turn) {
  gex_Rank_t r;
  if (k == BROADCAST || k == SCATTER) return filled(dst, old_seed(root, k == SCATTER ? me : 0, turn), n) && dst[n] == 0xee;
  if (k == GATHER && me != root) return dst[0] == 0xee;
  for (r = 0; r < nodes; r++)
    if (!filled(dst + r * n, old_seed(r, k == EXCHANGE ? me : 0, turn), n)) return 0;
  return dst[nodes * n] == 0xee;
}
#endif
