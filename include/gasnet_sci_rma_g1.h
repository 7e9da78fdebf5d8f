/* The public names of puts, gets, memsets and their handles. Part of gasnet.h. Contract: extended.md sections 1-7. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_rma_g1.h"
#endif
#ifndef GASNETI_SCI_RMA_G1_H
#define GASNETI_SCI_RMA_G1_H

/* ---- the public names. Debug builds first check that the call is legal there, and then the remote range ---- */

#if defined(GASNET_DEBUG)
GASNETI_SCI_INLINE void gasneti_sci_check_transfer(const char *name, const char *file, int line, gasnet_node_t node,
                                                   const void *addr, size_t nbytes) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_check_range(name, node, addr, nbytes);
}
/* One inline function per shape, so that arguments are evaluated once. */
#define GASNETI_SCI_TWIN_TRANSFER(ret, again, verb, remote, args, ...)                                               \
  GASNETI_SCI_WRAP(ret, gasneti_sci_do_##verb, __VA_ARGS__) {                                                        \
    gasneti_sci_check_transfer(name, file, line, node, remote, nbytes);                                              \
    again gasneti_sci_do_##verb args;                                                                                \
  }
#define GASNETI_SCI_TWIN_PUT(ret, again, verb, type, value)                                                          \
  GASNETI_SCI_TWIN_TRANSFER(ret, again, verb, dest, (node, dest, value, nbytes), gasnet_node_t node, void *dest, type value, size_t nbytes)
GASNETI_SCI_TWIN_PUT(void, (void), put, const void *, src)
GASNETI_SCI_TWIN_PUT(gasnet_handle_t, return, put_nb, const void *, src)
GASNETI_SCI_TWIN_PUT(void, (void), put_nbi, const void *, src)
GASNETI_SCI_TWIN_PUT(gasnet_handle_t, return, put_nb_bulk, const void *, src)
GASNETI_SCI_TWIN_PUT(void, (void), put_nbi_bulk, const void *, src)
GASNETI_SCI_TWIN_PUT(void, (void), memset, int, val)
GASNETI_SCI_TWIN_PUT(gasnet_handle_t, return, memset_nb, int, val)
GASNETI_SCI_TWIN_PUT(void, (void), memset_nbi, int, val)
GASNETI_SCI_TWIN_PUT(void, (void), put_val, gasnet_register_value_t, val)
GASNETI_SCI_TWIN_PUT(gasnet_handle_t, return, put_nb_val, gasnet_register_value_t, val)
GASNETI_SCI_TWIN_PUT(void, (void), put_nbi_val, gasnet_register_value_t, val)
GASNETI_SCI_TWIN_TRANSFER(void, (void), get, src, (dest, node, src, nbytes), void *dest, gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_TWIN_TRANSFER(gasnet_handle_t, return, get_nb, src, (dest, node, src, nbytes), void *dest, gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_TWIN_TRANSFER(void, (void), get_nbi, src, (dest, node, src, nbytes), void *dest, gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_TWIN_TRANSFER(gasnet_register_value_t, return, get_val, src, (node, src, nbytes), gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_TWIN_TRANSFER(gasnet_valget_handle_t, return, get_nb_val, src, (node, src, nbytes), gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_TWIN(gasnet_register_value_t, return, gasneti_sci_do_wait_valget, (handle), gasnet_valget_handle_t handle)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_wait_nb, (handle), gasnet_handle_t handle)
GASNETI_SCI_TWIN(int, return, gasneti_sci_do_try_nb, (handle, poll), gasnet_handle_t handle, int poll)
GASNETI_SCI_TWIN(void, (void), gasneti_sci_do_wait_array, (handles, n, all), gasnet_handle_t *handles, size_t n, int all)
GASNETI_SCI_TWIN(int, return, gasneti_sci_do_try_array, (handles, n, all, poll), gasnet_handle_t *handles, size_t n, int all, int poll)
/* Debug builds always call the library, which knows whether an access region is open. */
GASNETI_SCI_TWIN_OF(void, (void), gasneti_sci_do_wait_nbi, gasneti_sci_wait_nbi(sets), int sets)
GASNETI_SCI_TWIN_OF(int, return, gasneti_sci_do_try_nbi, gasneti_sci_try_nbi(sets), int sets)
#endif

/* Variadic, so that one macro of the client may expand to several arguments. */
#define gasnet_put(...) GASNETI_SCI_PLACED("gasnet_put", gasneti_sci_do_put, __VA_ARGS__)
#define gasnet_get(...) GASNETI_SCI_PLACED("gasnet_get", gasneti_sci_do_get, __VA_ARGS__)
#define gasnet_put_bulk(...) GASNETI_SCI_PLACED("gasnet_put_bulk", gasneti_sci_do_put, __VA_ARGS__)
#define gasnet_get_bulk(...) GASNETI_SCI_PLACED("gasnet_get_bulk", gasneti_sci_do_get, __VA_ARGS__)
#define gasnet_memset(...) GASNETI_SCI_PLACED("gasnet_memset", gasneti_sci_do_memset, __VA_ARGS__)

#define gasnet_put_nb(...) GASNETI_SCI_PLACED("gasnet_put_nb", gasneti_sci_do_put_nb, __VA_ARGS__)
#define gasnet_get_nb(...) GASNETI_SCI_PLACED("gasnet_get_nb", gasneti_sci_do_get_nb, __VA_ARGS__)
#define gasnet_put_nb_bulk(...) GASNETI_SCI_PLACED("gasnet_put_nb_bulk", gasneti_sci_do_put_nb_bulk, __VA_ARGS__)
#define gasnet_get_nb_bulk(...) GASNETI_SCI_PLACED("gasnet_get_nb_bulk", gasneti_sci_do_get_nb, __VA_ARGS__)
#define gasnet_memset_nb(...) GASNETI_SCI_PLACED("gasnet_memset_nb", gasneti_sci_do_memset_nb, __VA_ARGS__)

#define gasnet_put_nbi(...) GASNETI_SCI_PLACED("gasnet_put_nbi", gasneti_sci_do_put_nbi, __VA_ARGS__)
#define gasnet_get_nbi(...) GASNETI_SCI_PLACED("gasnet_get_nbi", gasneti_sci_do_get_nbi, __VA_ARGS__)
#define gasnet_put_nbi_bulk(...) GASNETI_SCI_PLACED("gasnet_put_nbi_bulk", gasneti_sci_do_put_nbi_bulk, __VA_ARGS__)
#define gasnet_get_nbi_bulk(...) GASNETI_SCI_PLACED("gasnet_get_nbi_bulk", gasneti_sci_do_get_nbi, __VA_ARGS__)
#define gasnet_memset_nbi(...) GASNETI_SCI_PLACED("gasnet_memset_nbi", gasneti_sci_do_memset_nbi, __VA_ARGS__)

#define gasnet_put_val(...) GASNETI_SCI_PLACED("gasnet_put_val", gasneti_sci_do_put_val, __VA_ARGS__)
#define gasnet_put_nb_val(...) GASNETI_SCI_PLACED("gasnet_put_nb_val", gasneti_sci_do_put_nb_val, __VA_ARGS__)
#define gasnet_put_nbi_val(...) GASNETI_SCI_PLACED("gasnet_put_nbi_val", gasneti_sci_do_put_nbi_val, __VA_ARGS__)
#define gasnet_get_val(...) GASNETI_SCI_PLACED("gasnet_get_val", gasneti_sci_do_get_val, __VA_ARGS__)
#define gasnet_get_nb_val(...) GASNETI_SCI_PLACED("gasnet_get_nb_val", gasneti_sci_do_get_nb_val, __VA_ARGS__)

#define gasnet_wait_syncnb_valget(h) GASNETI_SCI_PLACED("gasnet_wait_syncnb_valget", gasneti_sci_do_wait_valget, (h))
#define gasnet_wait_syncnb(h) GASNETI_SCI_PLACED("gasnet_wait_syncnb", gasneti_sci_do_wait_nb, (h))
#define gasnet_try_syncnb(h) GASNETI_SCI_PLACED("gasnet_try_syncnb", gasneti_sci_do_try_nb, (h), 1)
#define gasnet_try_syncnb_nopoll(h) GASNETI_SCI_PLACED("gasnet_try_syncnb_nopoll", gasneti_sci_do_try_nb, (h), 0)
#define gasnet_wait_syncnb_all(h, n) GASNETI_SCI_PLACED("gasnet_wait_syncnb_all", gasneti_sci_do_wait_array, (h), (n), 1)
#define gasnet_wait_syncnb_some(h, n)                                                                                \
  GASNETI_SCI_PLACED("gasnet_wait_syncnb_some", gasneti_sci_do_wait_array, (h), (n), 0)
#define gasnet_try_syncnb_all(h, n)                                                                                  \
  GASNETI_SCI_PLACED("gasnet_try_syncnb_all", gasneti_sci_do_try_array, (h), (n), 1, 1)
#define gasnet_try_syncnb_some(h, n)                                                                                 \
  GASNETI_SCI_PLACED("gasnet_try_syncnb_some", gasneti_sci_do_try_array, (h), (n), 0, 1)
#define gasnet_try_syncnb_all_nopoll(h, n)                                                                           \
  GASNETI_SCI_PLACED("gasnet_try_syncnb_all_nopoll", gasneti_sci_do_try_array, (h), (n), 1, 0)
#define gasnet_try_syncnb_some_nopoll(h, n)                                                                          \
  GASNETI_SCI_PLACED("gasnet_try_syncnb_some_nopoll", gasneti_sci_do_try_array, (h), (n), 0, 0)

#define gasnet_wait_syncnbi_puts() GASNETI_SCI_PLACED("gasnet_wait_syncnbi_puts", gasneti_sci_do_wait_nbi, 1)
#define gasnet_wait_syncnbi_gets() GASNETI_SCI_PLACED("gasnet_wait_syncnbi_gets", gasneti_sci_do_wait_nbi, 2)
#define gasnet_wait_syncnbi_all() GASNETI_SCI_PLACED("gasnet_wait_syncnbi_all", gasneti_sci_do_wait_nbi, 3)
#define gasnet_try_syncnbi_puts() GASNETI_SCI_PLACED("gasnet_try_syncnbi_puts", gasneti_sci_do_try_nbi, 1)
#define gasnet_try_syncnbi_gets() GASNETI_SCI_PLACED("gasnet_try_syncnbi_gets", gasneti_sci_do_try_nbi, 2)
#define gasnet_try_syncnbi_all() GASNETI_SCI_PLACED("gasnet_try_syncnbi_all", gasneti_sci_do_try_nbi, 3)

/* Regions call the library, even if transfers are inline. So release builds, too, find nested regions and ends
 * without a begin. */
#define gasnet_begin_nbi_accessregion()                                                                              \
  GASNETI_SCI_CHECKED("gasnet_begin_nbi_accessregion", GASNETI_SCI_RULES_CLIENT, gasneti_sci_begin_region())
#define gasnet_end_nbi_accessregion()                                                                                \
  GASNETI_SCI_CHECKED("gasnet_end_nbi_accessregion", GASNETI_SCI_RULES_CLIENT,                                       \
                      gasneti_sci_do_end_region())

#endif
