/* gasnet-sci: what deck.h adds for clients compiled with DECK_DEBUG or GASNET_DEBUG. Include deck.h, not this file.
 *
 * Each call first tells the library where the program makes it. So a line about misuse has the file and the line of the call, and a call
 * in an AM handler ends the job. The results are those without DECK_DEBUG. Each function has a macro of its name, for calls only: a
 * call through &deck_msg_pack has no place. */
#ifndef DECK_DEBUG_H
#define DECK_DEBUG_H
#ifndef DECK_H
#error "include deck.h, not deck_debug.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* As gasnet_sci_abi.h declares it: notes where the calling thread makes the call of this name. Rule 1: not in AM handlers. */
void gasneti_sci_check(const char *name, const char *file, int line, uint32_t rules);

/* One inline function for each call, by the number of its arguments. The program's arguments may contain calls, too: they are evaluated
 * before the place is noted. */
#define DECK_AT0(type, name) \
  static inline type name##_at(const char *file, int line) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(); \
  }
#define DECK_AT1(type, name, t1) \
  static inline type name##_at(const char *file, int line, t1 a) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(a); \
  }
#define DECK_AT2(type, name, t1, t2) \
  static inline type name##_at(const char *file, int line, t1 a, t2 b) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(a, b); \
  }
#define DECK_AT3(type, name, t1, t2, t3) \
  static inline type name##_at(const char *file, int line, t1 a, t2 b, t3 c) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(a, b, c); \
  }
#define DECK_AT4(type, name, t1, t2, t3, t4) \
  static inline type name##_at(const char *file, int line, t1 a, t2 b, t3 c, t4 d) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(a, b, c, d); \
  }
#define DECK_AT6(type, name, t1, t2, t3, t4, t5, t6) \
  static inline type name##_at(const char *file, int line, t1 a, t2 b, t3 c, t4 d, t5 e, t6 f) { \
    gasneti_sci_check(#name, file, line, 1); \
    return name(a, b, c, d, e, f); \
  }
typedef void *(*deck_debug_fn_t)(void *);

DECK_AT2(int, deck_init, int *, char ***)
DECK_AT0(int, deck_done)
DECK_AT0(int, deck_node)
DECK_AT0(int, deck_nodes)
DECK_AT3(int, deck_thread_create, deck_debug_fn_t, void *, deck_thread_t *)
DECK_AT2(int, deck_thread_join, deck_thread_t, void **)
DECK_AT0(int, deck_thread_yield)
DECK_AT2(int, deck_sem_create, unsigned, deck_sem_t *)
DECK_AT1(int, deck_sem_destroy, deck_sem_t)
DECK_AT1(int, deck_sem_p, deck_sem_t)
DECK_AT2(int, deck_sem_p_timed, deck_sem_t, deck_time_t)
DECK_AT1(int, deck_sem_v, deck_sem_t)
DECK_AT3(int, deck_msg_create, size_t, int, deck_msg_t *)
DECK_AT1(int, deck_msg_destroy, deck_msg_t)
DECK_AT1(void *, deck_msg_data, deck_msg_t)
DECK_AT1(size_t, deck_msg_size, deck_msg_t)
DECK_AT1(size_t, deck_msg_capacity, deck_msg_t)
DECK_AT1(int, deck_msg_source, deck_msg_t)
DECK_AT2(int, deck_msg_set_size, deck_msg_t, size_t)
DECK_AT1(int, deck_msg_clear, deck_msg_t)
DECK_AT1(int, deck_msg_rewind, deck_msg_t)
DECK_AT4(int, deck_msg_pack, deck_msg_t, const void *, int, size_t)
DECK_AT4(int, deck_msg_unpack, deck_msg_t, void *, int, size_t)
DECK_AT2(int, deck_msg_pack_str, deck_msg_t, const char *)
DECK_AT3(int, deck_msg_unpack_str, deck_msg_t, char *, size_t)
DECK_AT2(int, deck_msg_pack_mbox, deck_msg_t, deck_mbox_t)
DECK_AT2(int, deck_msg_unpack_mbox, deck_msg_t, deck_mbox_t *)
DECK_AT3(int, deck_mbox_create, const char *, const deck_mbox_attr_t *, deck_mbox_t *)
DECK_AT3(int, deck_mbox_clone, const char *, deck_time_t, deck_mbox_t *)
DECK_AT1(int, deck_mbox_destroy, deck_mbox_t)
DECK_AT2(int, deck_mbox_post, deck_mbox_t, deck_msg_t)
DECK_AT3(int, deck_mbox_post_timed, deck_mbox_t, deck_msg_t, deck_time_t)
DECK_AT2(int, deck_mbox_retrv, deck_mbox_t, deck_msg_t)
DECK_AT3(int, deck_mbox_retrv_timed, deck_mbox_t, deck_msg_t, deck_time_t)
DECK_AT3(int, deck_mbox_give, deck_mbox_t, deck_msg_t *, deck_time_t)
DECK_AT3(int, deck_mbox_take, deck_mbox_t, deck_msg_t *, deck_time_t)
DECK_AT4(int, deck_mbox_select, deck_mbox_t const *, int, deck_time_t, int *)
DECK_AT1(int, deck_mbox_pending, deck_mbox_t)
DECK_AT1(int, deck_mbox_fd, deck_mbox_t)
DECK_AT0(int, deck_barrier)
DECK_AT3(int, deck_bcast, void *, size_t, int)
DECK_AT4(int, deck_gather, const void *, size_t, void *, int)
DECK_AT4(int, deck_scatter, const void *, void *, size_t, int)
DECK_AT6(int, deck_reduce, const void *, void *, int, size_t, int, int)

#undef DECK_AT0
#undef DECK_AT1
#undef DECK_AT2
#undef DECK_AT3
#undef DECK_AT4
#undef DECK_AT6

#ifdef __cplusplus
}
#endif

#define deck_init(...) deck_init_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_done() deck_done_at(__FILE__, __LINE__)
#define deck_node() deck_node_at(__FILE__, __LINE__)
#define deck_nodes() deck_nodes_at(__FILE__, __LINE__)
#define deck_thread_create(...) deck_thread_create_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_thread_join(...) deck_thread_join_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_thread_yield() deck_thread_yield_at(__FILE__, __LINE__)
#define deck_sem_create(...) deck_sem_create_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_sem_destroy(...) deck_sem_destroy_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_sem_p(...) deck_sem_p_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_sem_p_timed(...) deck_sem_p_timed_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_sem_v(...) deck_sem_v_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_create(...) deck_msg_create_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_destroy(...) deck_msg_destroy_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_data(...) deck_msg_data_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_size(...) deck_msg_size_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_capacity(...) deck_msg_capacity_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_source(...) deck_msg_source_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_set_size(...) deck_msg_set_size_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_clear(...) deck_msg_clear_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_rewind(...) deck_msg_rewind_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_pack(...) deck_msg_pack_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_unpack(...) deck_msg_unpack_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_pack_str(...) deck_msg_pack_str_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_unpack_str(...) deck_msg_unpack_str_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_pack_mbox(...) deck_msg_pack_mbox_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_msg_unpack_mbox(...) deck_msg_unpack_mbox_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_create(...) deck_mbox_create_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_clone(...) deck_mbox_clone_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_destroy(...) deck_mbox_destroy_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_post(...) deck_mbox_post_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_post_timed(...) deck_mbox_post_timed_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_retrv(...) deck_mbox_retrv_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_retrv_timed(...) deck_mbox_retrv_timed_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_give(...) deck_mbox_give_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_take(...) deck_mbox_take_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_select(...) deck_mbox_select_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_pending(...) deck_mbox_pending_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_mbox_fd(...) deck_mbox_fd_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_barrier() deck_barrier_at(__FILE__, __LINE__)
#define deck_bcast(...) deck_bcast_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_gather(...) deck_gather_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_scatter(...) deck_scatter_at(__FILE__, __LINE__, __VA_ARGS__)
#define deck_reduce(...) deck_reduce_at(__FILE__, __LINE__, __VA_ARGS__)
#endif
