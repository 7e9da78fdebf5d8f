/* gasnet-sci: memory kinds of GASNet-EX (contract: ex-coll.md section 10). Clients include it before, after or instead of
 * gasnetex.h. This library has no devices: GEX_MK_HOST is the only kind, and gex_MK_Create returns GASNET_ERR_BAD_ARG. */
#ifndef _GASNET_MK_H
#define _GASNET_MK_H
/* C++98 has no variadic macros, but its compilers have them. The pragma stops -pedantic from warning of these. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif
#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

GASNETI_SCI_BEGIN_C

typedef enum {
  GEX_MK_CLASS_HOST,
  GEX_MK_CLASS_CUDA_UVA,
  GEX_MK_CLASS_HIP,
  GEX_MK_CLASS_ZE
} gex_MK_Class_t;

/* What gex_MK_Create is told: the class and the device. */
typedef struct {
  uint64_t gex_flags; /* 0 */
  gex_MK_Class_t gex_class;
  union {
    struct {
      int gex_CUdevice;
    } gex_class_cuda_uva;
    struct {
      int gex_hipDevice;
    } gex_class_hip;
    struct {
      void *gex_zeDevice;
      void *gex_zeContext;
      uint32_t gex_zeMemoryOrdinal;
    } gex_class_ze;
  } gex_args;
} gex_MK_Create_args_t;

GASNETI_SCI_INLINE int gasneti_sci_do_mk_create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
                                                gex_Flags_t flags) {
  return gasneti_sci_mk_create((void **)(void *)kind_p, client, args != NULL, args ? args->gex_flags : 0,
                               args ? (int)args->gex_class : 0, flags);
}
/* int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args, gex_Flags_t flags) */
#define GASNETI_SCI_EX_MK_Create(kind_p, client, args, flags)                                                        \
  GASNETI_SCI_CHECKED("gex_MK_Create", GASNETI_SCI_RULES_LOCAL, gasneti_sci_do_mk_create((kind_p), (client), (args), (flags)))
#define gex_MK_Create(...) GASNETI_SCI_EX_MK_Create(__VA_ARGS__)
/* No kind but GEX_MK_HOST exists, for which these calls are not. They end the job. */
#define GASNETI_SCI_EX_MK_Destroy(kind, flags) gasneti_sci_mk_destroy((kind), (flags))
#define gex_MK_Destroy(...) GASNETI_SCI_EX_MK_Destroy(__VA_ARGS__)
#define GASNETI_SCI_EX_MK_SetCData(kind, val) ((void)gasneti_sci_mk_cdata((kind), (val)))
#define gex_MK_SetCData(...) GASNETI_SCI_EX_MK_SetCData(__VA_ARGS__)
#define gex_MK_QueryCData(kind) gasneti_sci_mk_cdata((kind), NULL)
#define gex_MK_QueryFlags(kind) GASNETI_SCI_AS(gex_Flags_t, gasneti_sci_mk_query(kind))
#define gex_MK_QueryClient(kind) GASNETI_SCI_AS(gex_Client_t, gasneti_sci_mk_query(kind))
#define gex_MK_QueryClass(kind) GASNETI_SCI_AS(gex_MK_Class_t, gasneti_sci_mk_query(kind))

GASNETI_SCI_END_C

#ifdef __cplusplus
}
#endif
#endif
