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
/* One inline wrapper per shape, so that arguments are evaluated once. */
#define GASNETI_SCI_WRAP_PUT(ret, fn, ...)                                                                           \
  GASNETI_SCI_WRAP(ret, fn, gasnet_node_t node, void *dest, __VA_ARGS__, size_t nbytes)
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_put, const void *src) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_put(node, dest, src, nbytes);
}
GASNETI_SCI_WRAP_PUT(gasnet_handle_t, gasneti_sci_do_put_nb, const void *src) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  return gasneti_sci_do_put_nb(node, dest, src, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_put_nbi, const void *src) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_put_nbi(node, dest, src, nbytes);
}
GASNETI_SCI_WRAP_PUT(gasnet_handle_t, gasneti_sci_do_put_nb_bulk, const void *src) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  return gasneti_sci_do_put_nb_bulk(node, dest, src, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_put_nbi_bulk, const void *src) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_put_nbi_bulk(node, dest, src, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_memset, int val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_memset(node, dest, val, nbytes);
}
GASNETI_SCI_WRAP_PUT(gasnet_handle_t, gasneti_sci_do_memset_nb, int val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  return gasneti_sci_do_memset_nb(node, dest, val, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_memset_nbi, int val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_memset_nbi(node, dest, val, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_put_val, gasnet_register_value_t val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_put_val(node, dest, val, nbytes);
}
GASNETI_SCI_WRAP_PUT(gasnet_handle_t, gasneti_sci_do_put_nb_val, gasnet_register_value_t val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  return gasneti_sci_do_put_nb_val(node, dest, val, nbytes);
}
GASNETI_SCI_WRAP_PUT(void, gasneti_sci_do_put_nbi_val, gasnet_register_value_t val) {
  gasneti_sci_check_transfer(name, file, line, node, dest, nbytes);
  gasneti_sci_do_put_nbi_val(node, dest, val, nbytes);
}
#define GASNETI_SCI_WRAP_GET(ret, fn)                                                                                \
  GASNETI_SCI_WRAP(ret, fn, void *dest, gasnet_node_t node, const void *src, size_t nbytes)
GASNETI_SCI_WRAP_GET(void, gasneti_sci_do_get) {
  gasneti_sci_check_transfer(name, file, line, node, src, nbytes);
  gasneti_sci_do_get(dest, node, src, nbytes);
}
GASNETI_SCI_WRAP_GET(gasnet_handle_t, gasneti_sci_do_get_nb) {
  gasneti_sci_check_transfer(name, file, line, node, src, nbytes);
  return gasneti_sci_do_get_nb(dest, node, src, nbytes);
}
GASNETI_SCI_WRAP_GET(void, gasneti_sci_do_get_nbi) {
  gasneti_sci_check_transfer(name, file, line, node, src, nbytes);
  gasneti_sci_do_get_nbi(dest, node, src, nbytes);
}
GASNETI_SCI_WRAP(gasnet_register_value_t, gasneti_sci_do_get_val, gasnet_node_t node, const void *src, size_t nbytes) {
  gasneti_sci_check_transfer(name, file, line, node, src, nbytes);
  return gasneti_sci_do_get_val(node, src, nbytes);
}
GASNETI_SCI_WRAP(gasnet_valget_handle_t, gasneti_sci_do_get_nb_val, gasnet_node_t node, const void *src, size_t nbytes) {
  gasneti_sci_check_transfer(name, file, line, node, src, nbytes);
  return gasneti_sci_do_get_nb_val(node, src, nbytes);
}
GASNETI_SCI_WRAP(gasnet_register_value_t, gasneti_sci_do_wait_valget, gasnet_valget_handle_t handle) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_wait_valget(handle);
}
GASNETI_SCI_WRAP(void, gasneti_sci_do_wait_nb, gasnet_handle_t handle) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_do_wait_nb(handle);
}
GASNETI_SCI_WRAP(int, gasneti_sci_do_try_nb, gasnet_handle_t handle, int poll) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_try_nb(handle, poll);
}
GASNETI_SCI_WRAP(void, gasneti_sci_do_wait_array, gasnet_handle_t *handles, size_t n, int all) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_do_wait_array(handles, n, all);
}
GASNETI_SCI_WRAP(int, gasneti_sci_do_try_array, gasnet_handle_t *handles, size_t n, int all, int poll) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_do_try_array(handles, n, all, poll);
}
/* Debug builds always call the library, which knows whether an access region is open. */
GASNETI_SCI_WRAP(void, gasneti_sci_do_wait_nbi, int sets) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  gasneti_sci_wait_nbi(sets);
}
GASNETI_SCI_WRAP(int, gasneti_sci_do_try_nbi, int sets) {
  gasneti_sci_check(name, file, line, GASNETI_SCI_RULES_CLIENT);
  return gasneti_sci_try_nbi(sets);
}
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
