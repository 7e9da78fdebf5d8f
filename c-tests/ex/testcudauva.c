/* Memory of the class GEX_MK_CLASS_CUDA_UVA, where the library does not support it. Contract: ex-coll.md sections 10, 14.
 *
 *   testcudauva [-client-seg|-gasnet-seg] [size=4M [seed]] */
#define KIND CUDA_UVA
#define KIND_NAME "testcudauva"
#include "testkind.h"
