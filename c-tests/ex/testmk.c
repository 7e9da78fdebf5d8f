/* Memory kinds where there are no devices: gex_MK_Create refuses, and says so only if verbose errors are on. Contract: ex-coll.md
 * section 10. */
#include <gasnet_mk.h>
#include "testex.h"
#include <gasnet_mk.h>

#if !GASNET_HAVE_MK_CLASS_HOST || defined(GASNET_HAVE_MK_CLASS_CUDA_UVA) || defined(GASNET_HAVE_MK_CLASS_HIP) || \
    defined(GASNET_HAVE_MK_CLASS_ZE) || defined(GASNET_HAVE_MK_CLASS_MULTIPLE)
#error "classes of memory kinds"
#endif
static gex_MK_t host = GEX_MK_HOST, none = GEX_MK_INVALID;

static void refused(gex_MK_Class_t class_, const char *name) {
  gex_MK_Create_args_t args;
  gex_MK_t kind = host;
  memset(&args, 0, sizeof args);
  args.gex_class = class_;
  args.gex_args.gex_class_cuda_uva.gex_CUdevice = 0;
  CHECK(gex_MK_Create(&kind, client, &args, 0) == GASNET_ERR_BAD_ARG);
  CHECK(kind == host);
  if (me == 0) say("%s: correct failure due to missing support", name);
}

int main(int argc, char **argv) {
  begin("testmk", &argc, &argv);
  CHECK(none == 0 && (uintptr_t)host == 1 && sizeof host == sizeof(void *) && GEX_MK_CLASS_HOST == 0);
  CHECK(gex_System_GetVerboseErrors() == 1);
  gex_System_SetVerboseErrors(0);
  refused(GEX_MK_CLASS_CUDA_UVA, "GEX_MK_CLASS_CUDA_UVA");
  refused(GEX_MK_CLASS_HIP, "GEX_MK_CLASS_HIP");
  refused(GEX_MK_CLASS_ZE, "GEX_MK_CLASS_ZE");
  refused((gex_MK_Class_t)7, "an unknown class");
  return end();
}
