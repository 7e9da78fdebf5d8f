/* Puts, gets, memsets, their handles, value forms. Part of gasnet.h. Contract: extended.md sections 1-7.
 *
 * A transfer to or from a segment that is mapped here is an inline copy, and complete when the function returns. So
 * its non-blocking forms return GASNET_INVALID_HANDLE, and syncs have nothing to wait for. With a constant size of
 * 1, 2, 4 or 8 bytes the copy is one load and one store. Other transfers call the library:
 * - to and from nodes whose segments are not mapped here,
 * - long non-blocking ones that the DMA thread makes (GASNET_SCI_DMA).
 * Attach decides once for the job what is inline (src/peers/shortcuts.rs). */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_rma.h"
#endif
#ifndef GASNETI_SCI_RMA_H
#define GASNETI_SCI_RMA_H

typedef gex_Event_t gasnet_handle_t; /* the library's handle; all zero = complete */
typedef uint64_t gasnet_valget_handle_t;
#define GASNET_INVALID_HANDLE GASNETI_SCI_AS(gasnet_handle_t, 0)

/* ---- where the bytes are ---- */

/* Counts inline transfers, and serves messages in every 256th. Every 8 KiB of a long transfer count as one transfer
 * more. So a node that makes only blocking gets still answers requests (behaviours 45), and a single transfer does
 * not pay for a poll. The count is the only value that one transfer takes from the previous one, so its latency is
 * the price of an 8-byte put: 1.5-2 ns on processors where the load waits for the previous store, 0.2 ns on those
 * that keep such words in registers (Intel from Golden Cove, AMD from Zen 2). These do so only if the address is a
 * base register that stays the same. Hence the pointer `p`, whose origin the asm hides from the compiler (testcost:
 * 2.4 -> 0.7 ns for put, 2026-11, Xeon, gcc 12). Each thread has a count of its own, because the line of a shared
 * one would travel between the cores. */
#if defined(__GNUC__)
#if defined(GASNET_PAR)
static __thread uint32_t gasneti_sci_ops GASNETI_SCI_UNUSED; /* addressed by the thread register */
#define GASNETI_SCI_OPS() (&gasneti_sci_ops)
#else
static uint32_t gasneti_sci_ops GASNETI_SCI_UNUSED;
GASNETI_SCI_ALWAYS uint32_t *gasneti_sci_ops_at(void) {
  uint32_t *p = &gasneti_sci_ops;
  __asm__("" : "+r"(p));
  return p;
}
#define GASNETI_SCI_OPS() gasneti_sci_ops_at()
#endif
GASNETI_SCI_ALWAYS void gasneti_sci_tick(size_t nbytes) {
  uint32_t *p = GASNETI_SCI_OPS();
  uint32_t weight = 1 + ((uint32_t)(nbytes >> 13) & 0x7fffffff); /* below 2^31, so that `left` goes below 0 */
  uint32_t left = __atomic_load_n(p, __ATOMIC_RELAXED) - weight; /* relaxed: the thread's own, or one thread at a time */
  __atomic_store_n(p, left, __ATOMIC_RELAXED);
  if_pf ((int32_t)left < 0) {
    __atomic_store_n(p, 255, __ATOMIC_RELAXED);
    gasneti_sci_tick_poll();
  }
}
#else
#define gasneti_sci_tick(nbytes) gasneti_sci_tick_poll()
#endif

/* Each node's segment is mapped here at its owner's address, or at another one, or not at all. The ranks below
 * `window` have theirs at the owners' addresses; finding them costs one load and one compare. Higher ranks are
 * looked up in a table with `mapped` entries. If no transfer may be inline, the table is empty. */
#if defined(GASNET_SEGMENT_EVERYTHING)
#define GASNETI_SCI_ANY_MAPPED() 0
#define GASNETI_SCI_ALL_MAPPED() 0
#else
#define GASNETI_SCI_ANY_MAPPED() GASNETI_SCI_EXPECT(gasneti_sci_reach.mapped != 0, 1)
#define GASNETI_SCI_ALL_MAPPED() GASNETI_SCI_EXPECT(gasneti_sci_reach.whole != 0, 1)
#endif
/* Changes `*at`, an address in the segment of `node`, to the address of the same byte in this process. 0 if that
 * segment is not mapped here. */
GASNETI_SCI_ALWAYS int gasneti_sci_find(gasnet_node_t node, uintptr_t *at) {
#if defined(GASNET_SEGMENT_EVERYTHING)
  (void)node, (void)at;
  return 0;
#else
  if_pf (node >= gasneti_sci_reach.window) {
    uintptr_t offset;
    if_pf (node >= gasneti_sci_reach.mapped) return 0;
    offset = gasneti_sci_reach.offset[node];
    if_pf (offset == GASNETI_SCI_FAR) return 0;
    *at += offset;
  }
  return 1;
#endif
}

/* True if a non-blocking transfer of `n` bytes must call the library, because the DMA thread may take it. Only for
 * bulk puts and for gets, whose memory the client leaves alone until the sync. It costs one compare with a value
 * that at most changes once (to SIZE_MAX - 1, from SIZE_MAX), and nothing if `n` is a constant below 64, the least GASNET_SCI_DMA_THREAD_MIN. The
 * library decides again, so a wrong answer is harmless. */
#if defined(__GNUC__)
#define GASNETI_SCI_IS_QUEUED(n)                                                                                     \
  (!(__builtin_constant_p(n) && (n) < 64) && GASNETI_SCI_EXPECT((n) >= gasneti_sci_queued, 0))
#else
#define GASNETI_SCI_IS_QUEUED(n) ((n) >= gasneti_sci_queued)
#endif
/* True if no transfer is ever a call, whatever its length and node. Then syncs have nothing to wait for. */
#if defined(GASNET_SEGMENT_EVERYTHING)
#define GASNETI_SCI_ALL_INLINE() 0
#else
#define GASNETI_SCI_ALL_INLINE() GASNETI_SCI_EXPECT(gasneti_sci_queued == ~(size_t)0, 1)
#endif

/* Copies bytes. If the length is 0, the pointers may be null. Unless the length is a short constant, the library's
 * copy (src/sci/copy.rs) decides by the length, as memcpy does, but in fewer steps. It also handles length 0: a test
 * here would add 1 ns to the 10 ns that 1 KiB takes. Builds with sanitizers use memcpy, because they check the
 * client's memory in it. */
#if defined(__SANITIZE_ADDRESS__) || defined(GASNETI_SCI_TSAN)
#define GASNETI_SCI_MEMCPY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define GASNETI_SCI_MEMCPY 1
#endif
#endif
GASNETI_SCI_ALWAYS void gasneti_sci_do_memcpy(void *to, const void *from, size_t nbytes) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(GASNETI_SCI_MEMCPY)
  if (!__builtin_constant_p(nbytes) || nbytes >= 256) {
    /* A word, the commonest length, without a call: 4.1 -> 1.1 ns for a put, where memcpy takes 3.0 (2026-11, EPYC VM). */
    if (nbytes == 8) memcpy(to, from, 8);
    else gasneti_sci_memcpy(to, from, nbytes);
    return;
  }
#endif
  if (nbytes) memcpy(to, from, nbytes);
}

/* ---- transfers of mapped memory. Each returns 0 and does nothing if the memory is not mapped here. Fences:
 * - release, after a put: no peer sees a later put, of a flag for instance, before this one. No instruction on x86-64.
 * - compiler, before each transfer: the client's own stores come before a put, and each get reads memory again.
 * - acquire, in the blocking get or in the sync of a get: later loads are not older than what the get read. ---- */

GASNETI_SCI_ALWAYS int gasneti_sci_near_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  uintptr_t at = (uintptr_t)dest;
  if (!gasneti_sci_find(node, &at)) return 0;
  GASNETI_SCI_FENCE_COMPILER();
  gasneti_sci_do_memcpy((void *)at, src, nbytes);
  GASNETI_SCI_FENCE_RELEASE();
  return 1;
}
GASNETI_SCI_ALWAYS int gasneti_sci_near_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  uintptr_t at = (uintptr_t)src;
  if (!gasneti_sci_find(node, &at)) return 0;
  GASNETI_SCI_FENCE_COMPILER();
  gasneti_sci_do_memcpy(dest, (const void *)at, nbytes);
  return 1;
}
GASNETI_SCI_ALWAYS int gasneti_sci_near_memset(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  uintptr_t at = (uintptr_t)dest;
  if (!gasneti_sci_find(node, &at)) return 0;
  GASNETI_SCI_FENCE_COMPILER();
  if (nbytes) memset((void *)at, val, nbytes);
  GASNETI_SCI_FENCE_RELEASE();
  return 1;
}

/* ---- the forms ---- */

/* When the source of a put is free, as the library is told. */
#define GASNETI_SCI_LC_NOW ((size_t *)(void *)GEX_EVENT_NOW)
#define GASNETI_SCI_LC_DEFER ((size_t *)(void *)GEX_EVENT_DEFER)

GASNETI_SCI_ALWAYS void gasneti_sci_do_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  if (gasneti_sci_near_put(node, dest, src, nbytes)) gasneti_sci_tick(nbytes);
  else (void)gasneti_sci_put(node, dest, src, nbytes, 0);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  if (gasneti_sci_near_get(dest, node, src, nbytes)) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(nbytes);
  } else {
    (void)gasneti_sci_get(dest, node, src, nbytes, 0);
  }
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_memset(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  if (gasneti_sci_near_memset(node, dest, val, nbytes)) gasneti_sci_tick(nbytes);
  else gasneti_sci_memset(node, dest, val, nbytes);
}

GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  if (gasneti_sci_near_put(node, dest, src, nbytes)) return GASNET_INVALID_HANDLE;
  return (gasnet_handle_t)gasneti_sci_put_nb(node, dest, src, nbytes, GASNETI_SCI_LC_NOW, 0);
}
GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_put_nb_bulk(gasnet_node_t node, void *dest, const void *src,
                                                              size_t nbytes) {
  if (!GASNETI_SCI_IS_QUEUED(nbytes) && gasneti_sci_near_put(node, dest, src, nbytes)) return GASNET_INVALID_HANDLE;
  return (gasnet_handle_t)gasneti_sci_put_nb(node, dest, src, nbytes, GASNETI_SCI_LC_DEFER, GASNETI_SCI_FLAG_BULK);
}
GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  if (!GASNETI_SCI_IS_QUEUED(nbytes) && gasneti_sci_near_get(dest, node, src, nbytes)) return GASNET_INVALID_HANDLE;
  return (gasnet_handle_t)gasneti_sci_get_nb(dest, node, src, nbytes, 0);
}
GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  if (gasneti_sci_near_memset(node, dest, val, nbytes)) return GASNET_INVALID_HANDLE;
  return (gasnet_handle_t)gasneti_sci_memset_nb(node, dest, val, nbytes);
}

GASNETI_SCI_ALWAYS void gasneti_sci_do_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  if (!gasneti_sci_near_put(node, dest, src, nbytes)) (void)gasneti_sci_put_nbi(node, dest, src, nbytes, GASNETI_SCI_LC_NOW, 0);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
  if (GASNETI_SCI_IS_QUEUED(nbytes) || !gasneti_sci_near_put(node, dest, src, nbytes))
    (void)gasneti_sci_put_nbi(node, dest, src, nbytes, GASNETI_SCI_LC_DEFER, GASNETI_SCI_FLAG_BULK);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
  if (GASNETI_SCI_IS_QUEUED(nbytes) || !gasneti_sci_near_get(dest, node, src, nbytes))
    (void)gasneti_sci_get_nbi(dest, node, src, nbytes, 0);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes) {
  if (!gasneti_sci_near_memset(node, dest, val, nbytes)) gasneti_sci_memset_nbi(node, dest, val, nbytes);
}

/* ---- values: the low-order bytes of a register, in native order. The library gets the address of `far`, a copy: so `value`
 * has none, and stays in a register. ---- */

#if defined(PLATFORM_ARCH_BIG_ENDIAN)
#define GASNETI_SCI_LOW(word, nbytes) ((char *)(word) + (sizeof(gasnet_register_value_t) - (nbytes)))
#else
#define GASNETI_SCI_LOW(word, nbytes) ((char *)(word))
#endif

GASNETI_SCI_ALWAYS void gasneti_sci_do_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
  gasnet_register_value_t far = value;
  if_pf (nbytes - 1 >= sizeof value) gasneti_sci_bad_value("gasnet_put_val", nbytes);
  if (gasneti_sci_near_put(node, dest, GASNETI_SCI_LOW(&value, nbytes), nbytes)) gasneti_sci_tick(nbytes);
  else (void)gasneti_sci_put(node, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, GASNETI_SCI_FLAG_VALUE);
}
GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                                             size_t nbytes) {
  gasnet_register_value_t far = value;
  if_pf (nbytes - 1 >= sizeof value) gasneti_sci_bad_value("gasnet_put_nb_val", nbytes);
  if (gasneti_sci_near_put(node, dest, GASNETI_SCI_LOW(&value, nbytes), nbytes)) return GASNET_INVALID_HANDLE;
  return (gasnet_handle_t)gasneti_sci_put_nb(node, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, GASNETI_SCI_LC_NOW, GASNETI_SCI_FLAG_VALUE);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                                   size_t nbytes) {
  gasnet_register_value_t far = value;
  if_pf (nbytes - 1 >= sizeof value) gasneti_sci_bad_value("gasnet_put_nbi_val", nbytes);
  if (!gasneti_sci_near_put(node, dest, GASNETI_SCI_LOW(&value, nbytes), nbytes))
    (void)gasneti_sci_put_nbi(node, dest, GASNETI_SCI_LOW(&far, nbytes), nbytes, GASNETI_SCI_LC_NOW, GASNETI_SCI_FLAG_VALUE);
}
GASNETI_SCI_ALWAYS gasnet_register_value_t gasneti_sci_do_get_val(gasnet_node_t node, const void *src, size_t nbytes) {
  gasnet_register_value_t value = 0, far = 0;
  if_pf (nbytes - 1 >= sizeof value) gasneti_sci_bad_value("gasnet_get_val", nbytes);
  if (gasneti_sci_near_get(GASNETI_SCI_LOW(&value, nbytes), node, src, nbytes)) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(nbytes);
    return value;
  }
  (void)gasneti_sci_get(GASNETI_SCI_LOW(&far, nbytes), node, src, nbytes, GASNETI_SCI_FLAG_VALUE);
  return far;
}
/* If all nodes are mapped, the handle is the value itself. Otherwise it is the library's, also for nodes that are
 * mapped, because the wait does not know the node. */
GASNETI_SCI_ALWAYS gasnet_valget_handle_t gasneti_sci_do_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes) {
  if_pf (nbytes - 1 >= sizeof(gasnet_register_value_t)) gasneti_sci_bad_value("gasnet_get_nb_val", nbytes);
  if (GASNETI_SCI_ALL_MAPPED()) return gasneti_sci_do_get_val(node, src, nbytes);
  return gasneti_sci_get_nb_val(node, src, nbytes);
}
GASNETI_SCI_ALWAYS gasnet_register_value_t gasneti_sci_do_wait_valget(gasnet_valget_handle_t handle) {
  if (GASNETI_SCI_ALL_MAPPED()) {
    gasneti_sci_tick(0);
    return handle;
  }
  return gasneti_sci_wait_valget(handle);
}

/* ---- syncs ---- */

/* GASNET_INVALID_HANDLE means a complete transfer, inline or not. If every transfer is a call, then so is this sync:
 * the library records it, and polls. */
GASNETI_SCI_ALWAYS void gasneti_sci_do_wait_nb(gasnet_handle_t handle) {
  if (handle == GASNET_INVALID_HANDLE && GASNETI_SCI_ANY_MAPPED()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(0);
  } else {
    gasneti_sci_wait_nb((uintptr_t)handle);
  }
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_try_nb(gasnet_handle_t handle, int poll) {
  if (handle == GASNET_INVALID_HANDLE && GASNETI_SCI_ANY_MAPPED()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    if (poll) gasneti_sci_tick(0);
    return GASNET_OK;
  }
  return gasneti_sci_try_nb((uintptr_t)handle, poll);
}
GASNETI_SCI_ALWAYS void gasneti_sci_do_wait_array(gasnet_handle_t *handles, size_t n, int all) {
  gasneti_sci_wait_array((size_t *)(void *)handles, n, all);
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_try_array(gasnet_handle_t *handles, size_t n, int all, int poll) {
  return gasneti_sci_try_array((size_t *)(void *)handles, n, all, poll);
}
/* Inline transfers are complete and not counted. If other transfers are possible in this job, because of their
 * length or their node, the library knows whether any of them is in flight. */
GASNETI_SCI_ALWAYS void gasneti_sci_do_wait_nbi(int sets) {
  if (GASNETI_SCI_ALL_INLINE()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(0);
  } else {
    gasneti_sci_wait_nbi(sets);
  }
}
GASNETI_SCI_ALWAYS int gasneti_sci_do_try_nbi(int sets) {
  if (GASNETI_SCI_ALL_INLINE()) {
    GASNETI_SCI_FENCE_ACQUIRE();
    gasneti_sci_tick(0);
    return GASNET_OK;
  }
  return gasneti_sci_try_nbi(sets);
}

/* A function and not a cast, so that the compiler does not warn a client that ignores the handle. */
GASNETI_SCI_ALWAYS gasnet_handle_t gasneti_sci_do_end_region(void) { return (gasnet_handle_t)gasneti_sci_end_region(); }

#endif
