/* Atomics of 32 and 64 bits over the compiler's builtins. Part of gasnet_tools.h; contract: tools.md section 4.
 *
 * The types may alias all others, because clients cast counters, floats and doubles to them. A strong operation is
 * always one atomic operation of the cpu. A regular one is atomic among the client's own threads; if the client has
 * one thread, it is a plain access. The fences that the flags ask for are made in both cases. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_atomic.h"
#endif
#ifndef GASNETI_SCI_TOOLS_ATOMIC_H
#define GASNETI_SCI_TOOLS_ATOMIC_H

/* ---- flags, the last argument of every operation, in any combination. An operation may order more than they ask
 * for ---- */
#define GASNETT_ATOMIC_NONE 0x00
#define GASNETT_ATOMIC_RMB_PRE 0x01
#define GASNETT_ATOMIC_WMB_PRE 0x02
#define GASNETT_ATOMIC_RMB_POST 0x04
#define GASNETT_ATOMIC_WMB_POST 0x08
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE 0x10
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 0x20
#define GASNETT_ATOMIC_MB_PRE (GASNETT_ATOMIC_RMB_PRE | GASNETT_ATOMIC_WMB_PRE)
#define GASNETT_ATOMIC_MB_POST (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_WMB_POST)
#define GASNETT_ATOMIC_REL GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE GASNETT_ATOMIC_RMB_POST_IF_FALSE

/* ---- types ---- */
typedef uint32_t gasneti_sci_alias32_t GASNETI_SCI_MAY_ALIAS;
typedef uint64_t gasneti_sci_alias64_t GASNETI_SCI_MAY_ALIAS;
typedef struct {
  volatile gasneti_sci_alias32_t gasneti_value;
} GASNETI_SCI_MAY_ALIAS gasnett_atomic32_t;
typedef struct {
  volatile gasneti_sci_alias64_t gasneti_value;
} GASNETI_SCI_MAY_ALIAS gasnett_atomic64_t;
typedef gasnett_atomic32_t gasnett_atomic_t;
typedef gasnett_atomic32_t gasnett_strongatomic_t;
typedef gasnett_atomic32_t gasnett_strongatomic32_t;
typedef gasnett_atomic64_t gasnett_strongatomic64_t;

typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
#define gasnett_atomic_signed(v) GASNETI_SCI_AS(gasnett_atomic_sval_t, v)
#define GASNETT_ATOMIC_MAX GASNETI_SCI_AS(gasnett_atomic_val_t, 0xFFFFFFFFu)
#define GASNETT_ATOMIC_SIGNED_MIN GASNETI_SCI_AS(gasnett_atomic_sval_t, (-2147483647 - 1))
#define GASNETT_ATOMIC_SIGNED_MAX GASNETI_SCI_AS(gasnett_atomic_sval_t, 2147483647)

#define GASNETT_HAVE_ATOMIC_CAS 1
#define GASNETT_HAVE_ATOMIC_ADD_SUB 1
#define GASNETT_HAVE_STRONGATOMIC_CAS 1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1

#define gasnett_atomic_init(v) { (v) }
#define gasnett_atomic32_init(v) { (v) }
#define gasnett_atomic64_init(v) { (v) }
#define gasnett_strongatomic_init(v) { (v) }
#define gasnett_strongatomic32_init(v) { (v) }
#define gasnett_strongatomic64_init(v) { (v) }

/* ---- fences around an operation ---- */
#define GASNETI_SCI_ANY_POST                                                                                         \
  (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_RMB_POST_IF_TRUE | GASNETT_ATOMIC_RMB_POST_IF_FALSE)
#define GASNETI_SCI_WANTS_FULL(f)                                                                                    \
  (((f) & GASNETT_ATOMIC_MB_PRE) == GASNETT_ATOMIC_MB_PRE ||                                                         \
   (((f) & GASNETT_ATOMIC_WMB_POST) && ((f) & GASNETI_SCI_ANY_POST)))
#define GASNETI_SCI_ATOMIC_INLINE GASNETI_SCI_INLINE __attribute__((__always_inline__))

GASNETI_SCI_ATOMIC_INLINE void gasneti_sci_fence_pre(int f) {
  if ((f & GASNETT_ATOMIC_MB_PRE) == GASNETT_ATOMIC_MB_PRE) gasneti_sci_mb();
  else if (f & GASNETT_ATOMIC_WMB_PRE) gasneti_sci_wmb();
  else if (f & GASNETT_ATOMIC_RMB_PRE) gasneti_sci_rmb();
}
/* The fences after an operation. An acquire with a condition is made in any case: it costs less than the branch. */
GASNETI_SCI_ATOMIC_INLINE void gasneti_sci_fence_post(int f) {
  if ((f & GASNETT_ATOMIC_WMB_POST) && (f & GASNETI_SCI_ANY_POST)) gasneti_sci_mb();
  else if (f & GASNETT_ATOMIC_WMB_POST) gasneti_sci_wmb();
  else if (f & GASNETI_SCI_ANY_POST) gasneti_sci_rmb();
}

/* The order of a read-modify-write. On x86 it is a full barrier for the cpu by itself, and this order makes it one
 * for the compiler. Elsewhere a release before it or an acquire after it is part of the operation; other order is a
 * separate fence. */
#if defined(__x86_64__) || defined(__i386__)
#define GASNETI_SCI_STRONG_PRE(f) ((f) ? gasneti_sci_compiler_fence() : (void)0)
#define GASNETI_SCI_STRONG_POST(f) ((f) ? gasneti_sci_compiler_fence() : (void)0)
#define GASNETI_SCI_STRONG(op, p, v, f) op((p), (v), __ATOMIC_SEQ_CST)
#define GASNETI_SCI_STORE_IS_FENCE(f) GASNETI_SCI_WANTS_FULL(f)
#else
#define GASNETI_SCI_STRONG_PRE(f) (((f) & GASNETT_ATOMIC_RMB_PRE) ? gasneti_sci_fence_pre(f) : (void)0)
#define GASNETI_SCI_STRONG_POST(f) (((f) & GASNETT_ATOMIC_WMB_POST) ? gasneti_sci_fence_post(f) : (void)0)
#define GASNETI_SCI_STRONG(op, p, v, f)                                                                              \
  (((f) & GASNETT_ATOMIC_WMB_PRE)                                                                                    \
       ? (((f) & GASNETI_SCI_ANY_POST) ? op((p), (v), __ATOMIC_ACQ_REL) : op((p), (v), __ATOMIC_RELEASE))            \
       : (((f) & GASNETI_SCI_ANY_POST) ? op((p), (v), __ATOMIC_ACQUIRE) : op((p), (v), __ATOMIC_RELAXED)))
#define GASNETI_SCI_STORE_IS_FENCE(f) 0
#endif

/* The order of a compare-and-swap whose fences are separate. It may be more than the flags ask for; on x86 that is
 * free. */
#if defined(__x86_64__) || defined(__i386__)
#define GASNETI_SCI_CAS(p, expected, v, f)                                                                           \
  __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#else
#define GASNETI_SCI_CAS(p, expected, v, f)                                                                           \
  (((f) & GASNETI_SCI_ANY_POST)                                                                                      \
       ? __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)                    \
       : __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
#endif

/* The operations of one family X, whose type is T and whose values are V, A for what aliases:
     V X_read(const T *, f)    void X_set(T *, V, f)    void X_increment(T *, f)    void X_decrement(T *, f)
     int X_decrement_and_test(T *, f): new value is 0?    int X_compare_and_swap(T *, V old, V new, f): swapped?
     V X_swap(T *, V, f): old value    V X_add(T *, V, f), V X_subtract(T *, V, f): new value */
#define GASNETI_SCI_ATOMIC_ACCESS(X, T, V)                                                                        \
  GASNETI_SCI_ATOMIC_INLINE V X##_read(const T *p, int f) {                                                          \
    V value;                                                                                                         \
    gasneti_sci_fence_pre(f);                                                                                        \
    value = __atomic_load_n(&p->gasneti_value, __ATOMIC_RELAXED);                                                    \
    gasneti_sci_fence_post(f);                                                                                       \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE void X##_set(T *p, V v, int f) {                                                         \
    if (GASNETI_SCI_STORE_IS_FENCE(f)) {                                                                             \
      gasneti_sci_compiler_fence();                                                                                  \
      __atomic_store_n(&p->gasneti_value, v, __ATOMIC_SEQ_CST);                                                      \
      gasneti_sci_compiler_fence();                                                                                  \
    } else {                                                                                                         \
      gasneti_sci_fence_pre(f);                                                                                      \
      __atomic_store_n(&p->gasneti_value, v, __ATOMIC_RELAXED);                                                      \
      gasneti_sci_fence_post(f);                                                                                     \
    }                                                                                                                \
  }

#define GASNETI_SCI_ATOMIC_STRONG(X, T, V, A)                                                                        \
  GASNETI_SCI_ATOMIC_ACCESS(X, T, V)                                                                                 \
  GASNETI_SCI_ATOMIC_INLINE V X##_add(T *p, V v, int f) {                                                            \
    V value;                                                                                                         \
    GASNETI_SCI_STRONG_PRE(f);                                                                                       \
    value = GASNETI_SCI_STRONG(__atomic_add_fetch, &p->gasneti_value, v, f);                                         \
    GASNETI_SCI_STRONG_POST(f);                                                                                      \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE V X##_subtract(T *p, V v, int f) {                                                       \
    V value;                                                                                                         \
    GASNETI_SCI_STRONG_PRE(f);                                                                                       \
    value = GASNETI_SCI_STRONG(__atomic_sub_fetch, &p->gasneti_value, v, f);                                         \
    GASNETI_SCI_STRONG_POST(f);                                                                                      \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE V X##_swap(T *p, V v, int f) {                                                           \
    V value;                                                                                                         \
    GASNETI_SCI_STRONG_PRE(f);                                                                                       \
    value = GASNETI_SCI_STRONG(__atomic_exchange_n, &p->gasneti_value, v, f);                                        \
    GASNETI_SCI_STRONG_POST(f);                                                                                      \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE int X##_compare_and_swap(T *p, V oldval, V newval, int f) {                              \
    A expected = oldval;                                                                                             \
    int swapped;                                                                                                     \
    GASNETI_SCI_STRONG_PRE(f);                                                                                       \
    swapped = GASNETI_SCI_CAS(&p->gasneti_value, &expected, newval, f);                                              \
    GASNETI_SCI_STRONG_POST(f);                                                                                      \
    return swapped;                                                                                                  \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_DERIVED(X, T)

/* With one thread: plain accesses that are not torn. If a full fence is asked for, the cpu's atomic operation is
 * one, and it is cheaper than a plain access with a fence. */
#define GASNETI_SCI_ATOMIC_PLAIN(X, STRONG, T, V)                                                                    \
  GASNETI_SCI_ATOMIC_ACCESS(X, T, V)                                                                                 \
  GASNETI_SCI_ATOMIC_INLINE V X##_swap(T *p, V v, int f) {                                                           \
    V value;                                                                                                         \
    if (GASNETI_SCI_WANTS_FULL(f)) return STRONG##_swap(p, v, f);                                                    \
    gasneti_sci_fence_pre(f);                                                                                        \
    value = p->gasneti_value;                                                                                        \
    p->gasneti_value = v;                                                                                            \
    gasneti_sci_fence_post(f);                                                                                       \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE V X##_add(T *p, V v, int f) {                                                            \
    V value;                                                                                                         \
    if (GASNETI_SCI_WANTS_FULL(f)) return STRONG##_add(p, v, f);                                                     \
    gasneti_sci_fence_pre(f);                                                                                        \
    value = p->gasneti_value + v;                                                                                    \
    p->gasneti_value = value;                                                                                        \
    gasneti_sci_fence_post(f);                                                                                       \
    return value;                                                                                                    \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_INLINE V X##_subtract(T *p, V v, int f) { return X##_add(p, (V)0 - v, f); }                     \
  GASNETI_SCI_ATOMIC_INLINE int X##_compare_and_swap(T *p, V oldval, V newval, int f) {                              \
    int swapped;                                                                                                     \
    if (GASNETI_SCI_WANTS_FULL(f)) return STRONG##_compare_and_swap(p, oldval, newval, f);                           \
    gasneti_sci_fence_pre(f);                                                                                        \
    swapped = p->gasneti_value == oldval;                                                                            \
    if (swapped) p->gasneti_value = newval;                                                                          \
    gasneti_sci_fence_post(f);                                                                                       \
    return swapped;                                                                                                  \
  }                                                                                                                  \
  GASNETI_SCI_ATOMIC_DERIVED(X, T)

#define GASNETI_SCI_ATOMIC_DERIVED(X, T)                                                                             \
  GASNETI_SCI_ATOMIC_INLINE void X##_increment(T *p, int f) { (void)X##_add(p, 1, f); }                              \
  GASNETI_SCI_ATOMIC_INLINE void X##_decrement(T *p, int f) { (void)X##_subtract(p, 1, f); }                         \
  GASNETI_SCI_ATOMIC_INLINE int X##_decrement_and_test(T *p, int f) { return X##_subtract(p, 1, f) == 0; }

GASNETI_SCI_ATOMIC_STRONG(gasnett_strongatomic, gasnett_strongatomic_t, gasnett_atomic_val_t, gasneti_sci_alias32_t)
GASNETI_SCI_ATOMIC_STRONG(gasnett_strongatomic32, gasnett_strongatomic32_t, uint32_t, gasneti_sci_alias32_t)
GASNETI_SCI_ATOMIC_STRONG(gasnett_strongatomic64, gasnett_strongatomic64_t, uint64_t, gasneti_sci_alias64_t)
#if !GASNETI_SCI_THREADS && !defined(GASNETT_LITE_MODE)
GASNETI_SCI_ATOMIC_PLAIN(gasnett_atomic, gasnett_strongatomic, gasnett_atomic_t, gasnett_atomic_val_t)
GASNETI_SCI_ATOMIC_PLAIN(gasnett_atomic32, gasnett_strongatomic32, gasnett_atomic32_t, uint32_t)
GASNETI_SCI_ATOMIC_PLAIN(gasnett_atomic64, gasnett_strongatomic64, gasnett_atomic64_t, uint64_t)
#else
GASNETI_SCI_ATOMIC_STRONG(gasnett_atomic, gasnett_atomic_t, gasnett_atomic_val_t, gasneti_sci_alias32_t)
GASNETI_SCI_ATOMIC_STRONG(gasnett_atomic32, gasnett_atomic32_t, uint32_t, gasneti_sci_alias32_t)
GASNETI_SCI_ATOMIC_STRONG(gasnett_atomic64, gasnett_atomic64_t, uint64_t, gasneti_sci_alias64_t)
#endif

#endif
