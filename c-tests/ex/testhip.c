/* Memory of the class GEX_MK_CLASS_HIP, where the library does not support it. Contract: ex-coll.md sections 10, 14.
 *
 *   testhip [-client-seg|-gasnet-seg] [size=4M [seed]] */
#define KIND HIP
#define KIND_NAME "testhip"
#include "testkind.h"
