/* testcore5 with the largest payloads, up to 2 MiB. Contract: ex-core.md sections 11, 12, 19. Positional: payload bytes (2 MiB). */
#define TESTCORE_NAME "testcore4"
#define MOST ((size_t)2 << 20)
#define PAYLOAD MOST
#include "testcore5.c"
