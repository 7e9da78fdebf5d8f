/* Debug builds: each call first passes its name and place to the library, which checks that the call is legal there.
 * Part of gasnet_coll.h. */
#if !defined(_GASNET_COLL_H)
#error "include gasnet.h, not gasnet_sci_coll_debug.h"
#endif
#ifndef GASNETI_SCI_COLL_DEBUG_H
#define GASNETI_SCI_COLL_DEBUG_H

#define GASNETI_SCI_COLL_AT(name) gasneti_sci_coll_at(name, __FILE__, __LINE__, GASNETI_SCI_RULES_CLIENT)

#define gasnet_coll_broadcast(...) (GASNETI_SCI_COLL_AT("gasnet_coll_broadcast"), (gasnet_coll_broadcast)(__VA_ARGS__))
#define gasnet_coll_broadcastM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_broadcastM"), (gasnet_coll_broadcastM)(__VA_ARGS__))
#define gasnet_coll_scatter(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scatter"), (gasnet_coll_scatter)(__VA_ARGS__))
#define gasnet_coll_scatterM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scatterM"), (gasnet_coll_scatterM)(__VA_ARGS__))
#define gasnet_coll_gather(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather"), (gasnet_coll_gather)(__VA_ARGS__))
#define gasnet_coll_gatherM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gatherM"), (gasnet_coll_gatherM)(__VA_ARGS__))
#define gasnet_coll_gather_all(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather_all"), (gasnet_coll_gather_all)(__VA_ARGS__))
#define gasnet_coll_gather_allM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather_allM"), (gasnet_coll_gather_allM)(__VA_ARGS__))
#define gasnet_coll_exchange(...) (GASNETI_SCI_COLL_AT("gasnet_coll_exchange"), (gasnet_coll_exchange)(__VA_ARGS__))
#define gasnet_coll_exchangeM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_exchangeM"), (gasnet_coll_exchangeM)(__VA_ARGS__))
#define gasnet_coll_reduce(...) (GASNETI_SCI_COLL_AT("gasnet_coll_reduce"), (gasnet_coll_reduce)(__VA_ARGS__))
#define gasnet_coll_reduceM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_reduceM"), (gasnet_coll_reduceM)(__VA_ARGS__))
#define gasnet_coll_scan(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scan"), (gasnet_coll_scan)(__VA_ARGS__))
#define gasnet_coll_scanM(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scanM"), (gasnet_coll_scanM)(__VA_ARGS__))
#define gasnet_coll_broadcast_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_broadcast_nb"), (gasnet_coll_broadcast_nb)(__VA_ARGS__))
#define gasnet_coll_broadcastM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_broadcastM_nb"), (gasnet_coll_broadcastM_nb)(__VA_ARGS__))
#define gasnet_coll_scatter_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scatter_nb"), (gasnet_coll_scatter_nb)(__VA_ARGS__))
#define gasnet_coll_scatterM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scatterM_nb"), (gasnet_coll_scatterM_nb)(__VA_ARGS__))
#define gasnet_coll_gather_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather_nb"), (gasnet_coll_gather_nb)(__VA_ARGS__))
#define gasnet_coll_gatherM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gatherM_nb"), (gasnet_coll_gatherM_nb)(__VA_ARGS__))
#define gasnet_coll_gather_all_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather_all_nb"), (gasnet_coll_gather_all_nb)(__VA_ARGS__))
#define gasnet_coll_gather_allM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_gather_allM_nb"), (gasnet_coll_gather_allM_nb)(__VA_ARGS__))
#define gasnet_coll_exchange_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_exchange_nb"), (gasnet_coll_exchange_nb)(__VA_ARGS__))
#define gasnet_coll_exchangeM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_exchangeM_nb"), (gasnet_coll_exchangeM_nb)(__VA_ARGS__))
#define gasnet_coll_reduce_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_reduce_nb"), (gasnet_coll_reduce_nb)(__VA_ARGS__))
#define gasnet_coll_reduceM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_reduceM_nb"), (gasnet_coll_reduceM_nb)(__VA_ARGS__))
#define gasnet_coll_scan_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scan_nb"), (gasnet_coll_scan_nb)(__VA_ARGS__))
#define gasnet_coll_scanM_nb(...) (GASNETI_SCI_COLL_AT("gasnet_coll_scanM_nb"), (gasnet_coll_scanM_nb)(__VA_ARGS__))
#define gasnet_coll_init(...) (GASNETI_SCI_COLL_AT("gasnet_coll_init"), (gasnet_coll_init)(__VA_ARGS__))
#define gasnet_coll_try_sync(...) (GASNETI_SCI_COLL_AT("gasnet_coll_try_sync"), (gasnet_coll_try_sync)(__VA_ARGS__))
#define gasnet_coll_wait_sync(...) (GASNETI_SCI_COLL_AT("gasnet_coll_wait_sync"), (gasnet_coll_wait_sync)(__VA_ARGS__))
#define gasnet_coll_try_sync_some(...) (GASNETI_SCI_COLL_AT("gasnet_coll_try_sync_some"), (gasnet_coll_try_sync_some)(__VA_ARGS__))
#define gasnet_coll_wait_sync_some(...) (GASNETI_SCI_COLL_AT("gasnet_coll_wait_sync_some"), (gasnet_coll_wait_sync_some)(__VA_ARGS__))
#define gasnet_coll_try_sync_all(...) (GASNETI_SCI_COLL_AT("gasnet_coll_try_sync_all"), (gasnet_coll_try_sync_all)(__VA_ARGS__))
#define gasnet_coll_wait_sync_all(...) (GASNETI_SCI_COLL_AT("gasnet_coll_wait_sync_all"), (gasnet_coll_wait_sync_all)(__VA_ARGS__))
#define gasnet_coll_team_split(...) (GASNETI_SCI_COLL_AT("gasnet_coll_team_split"), (gasnet_coll_team_split)(__VA_ARGS__))
#define gasnet_coll_barrier_notify(...) (GASNETI_SCI_COLL_AT("gasnet_coll_barrier_notify"), (gasnet_coll_barrier_notify)(__VA_ARGS__))
#define gasnet_coll_barrier_wait(...) (GASNETI_SCI_COLL_AT("gasnet_coll_barrier_wait"), (gasnet_coll_barrier_wait)(__VA_ARGS__))
#define gasnet_coll_barrier_try(...) (GASNETI_SCI_COLL_AT("gasnet_coll_barrier_try"), (gasnet_coll_barrier_try)(__VA_ARGS__))
#define gasnet_coll_barrier(...) (GASNETI_SCI_COLL_AT("gasnet_coll_barrier"), (gasnet_coll_barrier)(__VA_ARGS__))

/* These are legal anywhere after attach, also in handlers. */
#define GASNETI_SCI_COLL_ASK(name) gasneti_sci_coll_at(name, __FILE__, __LINE__, GASNETI_SCI_RULE_ATTACHED)
#define gasnet_coll_team_rank2node(...) (GASNETI_SCI_COLL_ASK("gasnet_coll_team_rank2node"), (gasnet_coll_team_rank2node)(__VA_ARGS__))
#define gasnet_coll_team_node2rank(...) (GASNETI_SCI_COLL_ASK("gasnet_coll_team_node2rank"), (gasnet_coll_team_node2rank)(__VA_ARGS__))
#define gasnet_coll_team_size(...) (GASNETI_SCI_COLL_ASK("gasnet_coll_team_size"), (gasnet_coll_team_size)(__VA_ARGS__))
#define gasnet_coll_barrier_result(...) (GASNETI_SCI_COLL_ASK("gasnet_coll_barrier_result"), (gasnet_coll_barrier_result)(__VA_ARGS__))
#define gasnet_coll_loadTuningState(...) (GASNETI_SCI_COLL_ASK("gasnet_coll_loadTuningState"), (gasnet_coll_loadTuningState)(__VA_ARGS__))
#undef gasnete_coll_team_free
#define gasnete_coll_team_free(team) (GASNETI_SCI_COLL_AT("gasnet_coll_team_free"), gasneti_sci_coll_team_free(team))

#endif
