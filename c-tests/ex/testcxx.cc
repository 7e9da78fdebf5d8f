// testgasnet as C++. Contract: ex-core.md sections 1, 19.
#include "testgasnet.c"
