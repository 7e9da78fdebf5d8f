/* testtools without gasnet.h; built and run by testtoolsalone.sh. With an argument: a mistake with a lock
 * (testtools_lock.h, make_mistake), for which a debug build must end the program. */
#define TESTTOOLS_ALONE 1
#include "testtools.c"
