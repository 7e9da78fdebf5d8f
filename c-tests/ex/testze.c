/* Memory of the class GEX_MK_CLASS_ZE, where the library does not support it. Contract: ex-coll.md sections 10, 14.
 *
 *   testze [-client-seg|-gasnet-seg] [size=4M [seed]] */
#define KIND ZE
#define KIND_NAME "testze"
#include "testkind.h"
