/* gasnet-sci: collectives of GASNet-EX (contract: ex-coll.md sections 5, 6), and the collectives, teams and team barriers of
 * GASNet-1 (coll.md). gasnet.h includes it; clients may include it, too, before or after gasnet.h or gasnetex.h.
 *
 * The names gex_Coll_* are macros, the others functions. In debug builds a macro of the same name first passes the place of the call
 * to the library, which checks that the call is legal there and names the place in its messages. */
#ifndef _GASNET_COLL_H
#define _GASNET_COLL_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C

/* ---- GASNet-EX: results replace the right operands ---- */
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count, const void *cdata);
GASNETI_SCI_INLINE GASNETI_SCI_USE_RESULT gex_Event_t gasneti_sci_do_broadcast(gex_TM_t tm, gex_Rank_t root, void *dst,
                                                                               const void *src, size_t nbytes,
                                                                               gex_Flags_t flags) {
  return (gex_Event_t)(uintptr_t)gasneti_sci_ex_broadcast(tm, root, dst, src, nbytes, flags);
}
GASNETI_SCI_INLINE GASNETI_SCI_USE_RESULT gex_Event_t
gasneti_sci_do_reduce(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt,
                      gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags) {
  return (gex_Event_t)(uintptr_t)gasneti_sci_ex_reduce(tm, root, dst, src, dt, dt_sz, dt_cnt, op,
                                                       (gasneti_sci_reduce_fn_t)(uintptr_t)user_op, user_cdata, flags);
}
GASNETI_SCI_INLINE GASNETI_SCI_USE_RESULT gex_Event_t
gasneti_sci_do_reduce_all(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                          gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags) {
  return (gex_Event_t)(uintptr_t)gasneti_sci_ex_reduce_all(
      tm, dst, src, dt, dt_sz, dt_cnt, op, (gasneti_sci_reduce_fn_t)(uintptr_t)user_op, user_cdata, flags);
}
#if defined(GASNET_DEBUG)
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_do_broadcast, gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                 size_t nbytes, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_broadcast(tm, root, dst, src, nbytes, flags);
}
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_do_reduce, gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt,
                 size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata,
                 gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_reduce(tm, root, dst, src, dt, dt_sz, dt_cnt, op, user_op, user_cdata, flags);
}
GASNETI_SCI_WRAP(gex_Event_t, gasneti_sci_do_reduce_all, gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
                 size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags) {
  gasneti_sci_coll_at(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_reduce_all(tm, dst, src, dt, dt_sz, dt_cnt, op, user_op, user_cdata, flags);
}
#endif
#define GASNETI_SCI_EX_Coll_BroadcastNB(tm, root, dst, src, nbytes, flags)                                           \
  GASNETI_SCI_PLACED("gex_Coll_BroadcastNB", gasneti_sci_do_broadcast, (tm), (root), (dst), (src), (nbytes), (flags))
#define gex_Coll_BroadcastNB(...) GASNETI_SCI_EX_Coll_BroadcastNB(__VA_ARGS__)
#define GASNETI_SCI_EX_Coll_ReduceToOneNB(tm, root, dst, src, dt, dt_sz, dt_cnt, op, user_op, user_cdata, flags)     \
  GASNETI_SCI_PLACED("gex_Coll_ReduceToOneNB", gasneti_sci_do_reduce, (tm), (root), (dst), (src), (dt), (dt_sz),     \
                     (dt_cnt), (op), (user_op), (user_cdata), (flags))
#define gex_Coll_ReduceToOneNB(...) GASNETI_SCI_EX_Coll_ReduceToOneNB(__VA_ARGS__)
#define GASNETI_SCI_EX_Coll_ReduceToAllNB(tm, dst, src, dt, dt_sz, dt_cnt, op, user_op, user_cdata, flags)           \
  GASNETI_SCI_PLACED("gex_Coll_ReduceToAllNB", gasneti_sci_do_reduce_all, (tm), (dst), (src), (dt), (dt_sz), (dt_cnt),  \
                     (op), (user_op), (user_cdata), (flags))
#define gex_Coll_ReduceToAllNB(...) GASNETI_SCI_EX_Coll_ReduceToAllNB(__VA_ARGS__)

/* ---- types of GASNet-1 (section 2) ---- */
typedef gex_Event_t gasnet_coll_handle_t; /* all zero: nothing to wait for */
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID
typedef void *gasnet_team_handle_t;
typedef gasnet_team_handle_t gasnete_coll_team_t;
#define GASNET_TEAM_ALL GASNETI_SCI_AS(gasnet_team_handle_t, GASNETI_SCI_AS(uintptr_t, 1))
#define gasnete_coll_team_all GASNET_TEAM_ALL /* a name that clients use */
typedef gasnet_handlerarg_t gasnet_coll_fn_handle_t; /* index in the table given to gasnet_coll_init */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count, const void *left_operands, size_t left_count,
                                        const void *right_operands, size_t elem_size, int flags, int arg);
typedef struct {
  gasnet_coll_reduce_fn_t fnptr;
  unsigned int flags;
} gasnet_coll_fn_entry_t;
typedef enum {
  GASNET_COLL_BROADCAST_OP,
  GASNET_COLL_BROADCASTM_OP,
  GASNET_COLL_SCATTER_OP,
  GASNET_COLL_SCATTERM_OP,
  GASNET_COLL_GATHER_OP,
  GASNET_COLL_GATHERM_OP,
  GASNET_COLL_GATHER_ALL_OP,
  GASNET_COLL_GATHER_ALLM_OP,
  GASNET_COLL_EXCHANGE_OP,
  GASNET_COLL_EXCHANGEM_OP,
  GASNET_COLL_REDUCE_OP,
  GASNET_COLL_REDUCEM_OP,
  GASNET_COLL_NUM_COLL_OPTYPES
} gasnet_coll_optype_t;
typedef enum {
  GASNET_COLL_PIPE_SEG_SIZE,
  GASNET_COLL_DISSEM_RADIX,
  GASNET_COLL_TREE_TYPE,
  GASNET_COLL_NUM_PARAM_TYPES
} gasnet_coll_tuning_param_type_t;
typedef void (*gasnet_coll_overlap_sample_work_t)(void *arg);
typedef struct {
  uint8_t **dst, **src;
  gasnet_image_t rootimg;
  size_t src_blksz, src_offset, elem_size, nbytes, dist;
  gasnet_coll_fn_handle_t func;
  int func_arg;
} gasnet_coll_args_t;
#define GASNET_COLL_ARGS_INITIALIZER                                                                                 \
  { NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* ---- flags (section 2.1) ---- */
#define GASNET_COLL_IN_NOSYNC (1 << 0)
#define GASNET_COLL_IN_MYSYNC (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
#define GASNET_COLL_OUT_NOSYNC (1 << 3)
#define GASNET_COLL_OUT_MYSYNC (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC (1 << 5)
#define GASNET_COLL_SYNC_FLAG_MASK 0x3F
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL (1 << 7)
#define GASNET_COLL_AGGREGATE (1 << 8)
#define GASNET_COLL_FIXED_THREADS_PER_NODE (1 << 9)
#define GASNET_COLL_DST_IN_SEGMENT (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 11)
#define GASNET_COLL_REDUCE_OP_SUM (1 << 12)
#define GASNET_COLL_REDUCE_OP_MAX (1 << 13)
#define GASNET_COLL_REDUCE_OP_MIN (1 << 14)
#define GASNET_COLL_REDUCE_OP_CUSTOM (1 << 15)
#define GASNET_COLL_INCLUSIVE_SCAN (1 << 16)
#define GASNET_COLL_EXCLUSIVE_SCAN (1 << 17)
#define GASNET_COLL_DISABLE_AUTOTUNE (1 << 18)
#define GASNET_COLL_NO_IMAGES (1 << 19)
/* of functions */
#define GASNET_COLL_AMSAFE (1 << 0)
#define GASNET_COLL_NONCOMM (1 << 1)

/* ---- the calls of sections 4 and 8: each fills in the structure that the library reads ---- */
enum { GASNETI_SCI_BROADCAST, GASNETI_SCI_SCATTER, GASNETI_SCI_GATHER, GASNETI_SCI_GATHER_ALL, GASNETI_SCI_EXCHANGE,
       GASNETI_SCI_REDUCE, GASNETI_SCI_SCAN };

GASNETI_SCI_INLINE size_t gasneti_sci_move(uint32_t kind, uint32_t lists, gasnet_team_handle_t team, const void *dst,
                                           const void *src, gasnet_image_t root, size_t nbytes, int flags, int blocking) {
  gasneti_sci_coll_call_t call;
  call.team = (uintptr_t)team;
  call.dst = dst;
  call.src = src;
  call.nbytes = nbytes;
  call.kind = kind;
  call.lists = lists;
  call.flags = (uint32_t)flags;
  call.root = root;
  return gasneti_sci_coll_run(&call, blocking);
}
GASNETI_SCI_INLINE size_t gasneti_sci_combine(uint32_t kind, uint32_t lists, gasnet_team_handle_t team, const void *dst,
                                              size_t dst_blksz, size_t dst_offset, const void *src, size_t src_blksz,
                                              size_t src_offset, gasnet_image_t root, size_t elem_size, size_t elem_count,
                                              gasnet_coll_fn_handle_t func, int func_arg, int flags, int blocking) {
  gasneti_sci_coll_call_t call;
  call.team = (uintptr_t)team;
  call.dst = dst;
  call.src = src;
  call.nbytes = elem_size;
  call.count = elem_count;
  call.layout[0] = dst_blksz;
  call.layout[1] = dst_offset;
  call.layout[2] = src_blksz;
  call.layout[3] = src_offset;
  call.kind = kind;
  call.lists = lists;
  call.flags = (uint32_t)flags;
  call.root = root;
  call.func = func;
  call.func_arg = func_arg;
  return gasneti_sci_coll_run(&call, blocking);
}

/* Defines the blocking and the non-blocking form of a call: `done` makes the first, `started` the second. */
#define GASNETI_SCI_COLL(name, params, done, started)                                                                \
  GASNETI_SCI_INLINE void name params { (void)done; }                                                                \
  GASNETI_SCI_INLINE GASNETI_SCI_USE_RESULT gasnet_coll_handle_t name##_nb params {                                  \
    return (gasnet_coll_handle_t)(uintptr_t)started;                                                                 \
  }
#define GASNETI_SCI_MOVE(name, params, kind, lists, dst, src, root)                                                  \
  GASNETI_SCI_COLL(name, params, gasneti_sci_move(kind, lists, team, dst, src, root, nbytes, flags, 1),              \
                   gasneti_sci_move(kind, lists, team, dst, src, root, nbytes, flags, 0))
#define GASNETI_SCI_COMBINE(name, params, kind, lists, dst, dst_blksz, dst_offset, src, root)                        \
  GASNETI_SCI_COLL(name, params,                                                                                     \
                   gasneti_sci_combine(kind, lists, team, dst, dst_blksz, dst_offset, src, src_blksz, src_offset,    \
                                       root, elem_size, elem_count, func, func_arg, flags, 1),                       \
                   gasneti_sci_combine(kind, lists, team, dst, dst_blksz, dst_offset, src, src_blksz, src_offset,    \
                                       root, elem_size, elem_count, func, func_arg, flags, 0))

#include "gasnet_sci_coll_rows.h"

/* ---- start, handles (sections 3, 7) ---- */
GASNETI_SCI_INLINE void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                                         gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags) {
  (void)init_flags;
  gasneti_sci_coll_init(images, my_image, (const gasneti_sci_coll_fn_t *)(const void *)fn_tbl, fn_count);
}
GASNETI_SCI_INLINE int gasnet_coll_try_sync(gasnet_coll_handle_t handle) { return gasneti_sci_coll_try((uintptr_t)handle); }
GASNETI_SCI_INLINE void gasnet_coll_wait_sync(gasnet_coll_handle_t handle) { gasneti_sci_coll_wait((uintptr_t)handle); }
GASNETI_SCI_INLINE int gasnet_coll_try_sync_some(gasnet_coll_handle_t *phandle, size_t n) {
  return gasneti_sci_coll_try_array((size_t *)(void *)phandle, n, 0);
}
GASNETI_SCI_INLINE void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *phandle, size_t n) {
  gasneti_sci_coll_wait_array((size_t *)(void *)phandle, n, 0);
}
GASNETI_SCI_INLINE int gasnet_coll_try_sync_all(gasnet_coll_handle_t *phandle, size_t n) {
  return gasneti_sci_coll_try_array((size_t *)(void *)phandle, n, 1);
}
GASNETI_SCI_INLINE void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *phandle, size_t n) {
  gasneti_sci_coll_wait_array((size_t *)(void *)phandle, n, 1);
}

/* ---- teams and their barriers (section 9) ---- */
GASNETI_SCI_INLINE gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
                                                               gasnet_node_t relrank, void *clientdata) {
  return (gasnet_team_handle_t)(uintptr_t)gasneti_sci_team_split((uintptr_t)parent, color, relrank, clientdata);
}
GASNETI_SCI_INLINE gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank) {
  return gasneti_sci_team_node((uintptr_t)team, rank);
}
GASNETI_SCI_INLINE gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node) {
  return gasneti_sci_team_rank((uintptr_t)team, node);
}
GASNETI_SCI_INLINE gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team) {
  return gasneti_sci_team_size((uintptr_t)team);
}
GASNETI_SCI_INLINE void gasneti_sci_coll_team_free(gasnet_team_handle_t team) { gasneti_sci_team_free((uintptr_t)team); }
GASNETI_SCI_INLINE void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags) {
  gasneti_sci_team_notify((uintptr_t)team, id, flags);
}
GASNETI_SCI_INLINE int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags) {
  return gasneti_sci_team_wait((uintptr_t)team, id, flags);
}
GASNETI_SCI_INLINE int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags) {
  return gasneti_sci_team_try((uintptr_t)team, id, flags);
}
GASNETI_SCI_INLINE int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) {
  return gasneti_sci_team_barrier((uintptr_t)team, id, flags);
}
GASNETI_SCI_INLINE int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id) {
  return gasneti_sci_team_result((uintptr_t)team, id);
}
/* names outside the public prefix that clients use (core.md appendix B) */
#define gasnete_coll_team_split(parent, color, relrank, clientdata)                                                  \
  gasnet_coll_team_split((parent), (color), (relrank), (clientdata))
#define gasnete_coll_team_rank2node(team, rank) gasnet_coll_team_rank2node((team), (rank))
#define gasnete_coll_team_node2rank(team, node) gasnet_coll_team_node2rank((team), (node))
#define gasnete_coll_team_size(team) gasnet_coll_team_size(team)
#define gasnete_coll_team_free(team) gasneti_sci_coll_team_free(team)
#define gasnete_coll_teambarrier_notify(team) gasnet_coll_barrier_notify((team), 0, GASNET_BARRIERFLAG_ANONYMOUS)
#define gasnete_coll_teambarrier_wait(team) gasnet_coll_barrier_wait((team), 0, GASNET_BARRIERFLAG_ANONYMOUS)
#define GASNETE_THREAD_GET

/* ---- tuning (section 10): the library has one table of algorithms and no search, so these calls store nothing ---- */
GASNETI_SCI_INLINE void gasnet_coll_loadTuningState(char *filename, gasnet_team_handle_t team) {
  gasneti_sci_coll_load(filename, (uintptr_t)team);
}
GASNETI_SCI_INLINE void gasnet_coll_dumpTuningState(char *filename, gasnet_team_handle_t team) {
  (void)filename, (void)team;
}
GASNETI_SCI_INLINE void gasnet_coll_dumpProfile(char *filename, gasnet_team_handle_t team) { (void)filename, (void)team; }
GASNETI_SCI_INLINE void gasnet_coll_tune_generic_op(gasnet_team_handle_t team, gasnet_coll_optype_t op, gasnet_coll_args_t args,
                                                    int flags, gasnet_coll_overlap_sample_work_t fnptr, void *work_arg,
                                                    uint32_t *best_algidx, uint32_t *num_params, uint32_t **best_param,
                                                    char **best_tree) {
  (void)team, (void)op, (void)args, (void)flags, (void)fnptr, (void)work_arg;
  if (best_algidx) *best_algidx = 0;
  if (num_params) *num_params = 0;
  if (best_param) *best_param = NULL;
  if (best_tree) *best_tree = NULL;
}
GASNETI_SCI_INLINE int gasnet_coll_get_num_tree_classes(gasnet_team_handle_t team, gasnet_coll_optype_t op) {
  (void)team, (void)op;
  return 1;
}
GASNETI_SCI_INLINE void gasnet_coll_set_tree_kind(gasnet_team_handle_t team, int tree_type, int fanout, gasnet_coll_optype_t op) {
  (void)team, (void)tree_type, (void)fanout, (void)op;
}
GASNETI_SCI_INLINE void gasnet_coll_set_dissem_limit(gasnet_team_handle_t team, size_t limit, gasnet_coll_optype_t op) {
  (void)team, (void)limit, (void)op;
}

GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif

/* Debug builds: each call first passes its name and place to the library, which checks that the call is legal there. */
#if defined(GASNET_DEBUG)
#define GASNETI_SCI_COLL_AT(name) gasneti_sci_coll_at(name, __FILE__, __LINE__, GASNETI_SCI_RULES_CLIENT)
#define GASNETI_SCI_COLL_ASK(name) gasneti_sci_coll_at(name, __FILE__, __LINE__, GASNETI_SCI_RULE_ATTACHED) /* also in handlers */
#include "gasnet_sci_coll_debug.h"
#undef gasnete_coll_team_free
#define gasnete_coll_team_free(team) (GASNETI_SCI_COLL_AT("gasnet_coll_team_free"), gasneti_sci_coll_team_free(team))
#endif
#endif
