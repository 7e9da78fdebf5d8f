/* Small copies and values. Part of gasnet_tools.h, only after gasnetex.h.
 * Contract: tools.md section 15. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_job.h"
#endif
#ifndef GASNETI_SCI_TOOLS_JOB_H
#define GASNETI_SCI_TOOLS_JOB_H

#if defined(_GASNETEX_H)

/* For array bounds in clients; the library has no such limit. */
#ifndef GASNETT_MAX_THREADS
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS
#endif

/* Types for values at any address, which may alias all others. If the address is aligned, an access is one load or
 * store. */
typedef uint16_t __attribute__((__may_alias__, __aligned__(1))) gasneti_sci_any16_t;
typedef uint32_t __attribute__((__may_alias__, __aligned__(1))) gasneti_sci_any32_t;
typedef uint64_t __attribute__((__may_alias__, __aligned__(1))) gasneti_sci_any64_t;

GASNETI_SCI_INLINE void gasneti_sci_copy(void *dst, const void *src, size_t n) {
  switch (n) {
    case 0:
      break;
    case 1:
      *(unsigned char *)dst = *(const unsigned char *)src;
      break;
    case 2:
      *(gasneti_sci_any16_t *)dst = *(const gasneti_sci_any16_t *)src;
      break;
    case 4:
      *(gasneti_sci_any32_t *)dst = *(const gasneti_sci_any32_t *)src;
      break;
    case 8:
      *(gasneti_sci_any64_t *)dst = *(const gasneti_sci_any64_t *)src;
      break;
    default:
      memcpy(dst, src, n);
  }
}
#define GASNETT_FAST_ALIGNED_MEMCPY(dst, src, n)                                                                     \
  do {                                                                                                               \
    gasneti_sci_copy((dst), (src), (n));                                                                             \
  } while (0)
#define GASNETT_FAST_UNALIGNED_MEMCPY(dst, src, n) GASNETT_FAST_ALIGNED_MEMCPY(dst, src, n)

GASNETI_SCI_INLINE void gasneti_sci_value_assign(void *dst, gasnet_register_value_t value, size_t n) {
  gasneti_sci_copy(dst, GASNETI_SCI_LOW(&value, n), n);
}
GASNETI_SCI_INLINE gasnet_register_value_t gasneti_sci_value_of(const void *src, size_t n) {
  gasnet_register_value_t value = 0;
  gasneti_sci_copy(GASNETI_SCI_LOW(&value, n), src, n);
  return value;
}
/* Statement: stores the low n (0 … 8) bytes of an integer to dst. */
#define GASNETT_VALUE_ASSIGN(dst, val, n)                                                                            \
  do {                                                                                                               \
    gasneti_sci_value_assign((dst), GASNETI_SCI_AS(gasnet_register_value_t, val), (n));                              \
  } while (0)
/* Statement: returns the value of n bytes at src from the enclosing function. */
#define GASNETT_VALUE_RETURN(src, n)                                                                                 \
  do {                                                                                                               \
    return gasneti_sci_value_of((src), (n));                                                                         \
  } while (0)

#endif
#endif
