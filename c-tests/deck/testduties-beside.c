/* testduties.c in a program that has attached to GASNet, in each of its thread modes. */
#define BESIDE_GASNET
#include "testduties.c"
