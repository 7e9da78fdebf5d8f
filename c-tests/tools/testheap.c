/* The debug heap of a client that defines GASNET_DEBUGMALLOC (contract: tools.md section 15). With an argument: a
 * mistake that must end the job, see `mistake`; scenarios.txt has the variables with which the heap finds it. */
#undef GASNET_DEBUGMALLOC
#define GASNET_DEBUGMALLOC 1
#include "../test.h"

#include <gasnet_tools.h>

#ifndef gasnett_debug_malloc
#error "GASNET_DEBUGMALLOC has no effect"
#endif
#define COUNT 200

/* Pointers, so that the compiler does not see through the mistakes. */
static void *(*volatile get)(size_t) = gasnett_debug_malloc;
static void (*volatile give)(void *) = gasnett_debug_free;

static void mistake(const char *what) {
  char *block, *other = (char *)malloc(64);
  GASNETT_TRACE_SETSOURCELINE("mistake.c", 33);
  block = (char *)get(24);
  memset(block, 7, 24);
  if (!strcmp(what, "behind")) block[24] = 1, give(block);
  if (!strcmp(what, "before")) block[-1] = 1, gasnett_debug_memcheck(block);
  if (!strcmp(what, "one")) block[24] = 1, gasnett_debug_memcheck_one();
  if (!strcmp(what, "twice")) give(block), give(block);
  if (!strcmp(what, "inside")) give(block + 8);
  if (!strcmp(what, "foreign")) give(other);
  if (!strcmp(what, "realloc")) gasnett_debug_realloc(other, 10);
  if (!strcmp(what, "calloc")) gasnett_debug_calloc(~(size_t)0 / 2, 3);
  if (!strcmp(what, "huge")) get(~(size_t)0 - 100);
  if (!strcmp(what, "all")) block[24] = 1, gasnett_debug_memcheck_all();
  if (!strcmp(what, "extra")) block[24] = 1, give(get(1)); /* GASNET_MALLOC_EXTRACHECK */
  if (!strcmp(what, "leak")) return;                       /* GASNET_MALLOCFILE */
  free(other);
}

static void check_blocks(void) {
  char *block[COUNT], *text;
  gasnett_heapstats_t before, now;
  uint64_t bytes = 0;
  int i;
  gasnett_getheapstats(&before);
  for (i = 0; i < COUNT; i++) {
    size_t size = (size_t)(i * 37 % 5000);
    block[i] = (char *)(i % 3 ? gasnett_debug_malloc(size) : gasnett_debug_calloc(size, 1));
    CHECK((uintptr_t)block[i] % 16 == 0, "%p", (void *)block[i]);
    if (i % 3 == 0) {
      size_t j;
      for (j = 0; j < size; j++)
        if (block[i][j]) break;
      CHECK(j == size, "byte %d of %d is not zero", (int)j, (int)size);
    }
    test_fill(block[i], size, (unsigned)i);
    bytes += size;
    CHECK(gasnett_debug_memcheck(block[i]) == size, "size of block %d", i);
    gasnett_debug_memcheck_one();
  }
  gasnett_debug_memcheck_all();
  gasnett_getheapstats(&now);
  CHECK(now.live_objects - before.live_objects == COUNT && now.live_bytes - before.live_bytes == bytes, "%d objects, %d bytes",
        (int)now.live_objects, (int)now.live_bytes);
  CHECK(now.live_bytes_max >= now.live_bytes && now.live_objects_max >= now.live_objects && now.overhead_bytes > 0, "extremes");
  for (i = 0; i < COUNT; i++) {
    size_t size = (size_t)(i * 37 % 5000), other = (size_t)(i * 91 % 6000) + 1;
    CHECK(test_differs(block[i], size, (unsigned)i) == size, "block %d", i);
    block[i] = (char *)gasnett_debug_realloc(block[i], other);
    CHECK(test_differs(block[i], MIN(size, other), (unsigned)i) == MIN(size, other), "block %d, moved", i);
  }
  for (i = 0; i < COUNT; i++) gasnett_debug_free(block[i * 7 % COUNT]);
  text = gasnett_debug_strdup("some text");
  CHECK(!strcmp(text, "some text") && gasnett_debug_memcheck(text) == 10, "%s", text);
  gasnett_debug_free(text);
  text = gasnett_debug_strndup("some text", 4);
  CHECK(!strcmp(text, "some") && gasnett_debug_memcheck(text) == 5, "%s", text);
  CHECK(gasnett_debug_realloc(text, 0) == NULL, "realloc to 0");
  text = (char *)gasnett_debug_realloc(NULL, 5);
  gasnett_debug_free(text);
  gasnett_debug_free(NULL);
  CHECK(gasnett_debug_memcheck(NULL) == 0, "NULL");
  gasnett_getheapstats(&now);
  CHECK(now.live_objects == before.live_objects && now.live_bytes == before.live_bytes, "%d objects are left",
        (int)(now.live_objects - before.live_objects));
  CHECK(now.allocated_bytes - now.freed_bytes == now.live_bytes && now.allocated_objects - now.freed_objects == now.live_objects,
        "sums");
}

int main(int argc, char **argv) {
  GASNET_SAFE(gasnet_init(&argc, &argv));
  GASNET_SAFE(gasnet_attach(NULL, 0, 0, 0));
  test_begin("testheap");
  CHECK(strstr(GASNET_CONFIG_STRING, ",debugmalloc,") && strstr(gasnett_performance_warning_str(), "debug malloc"), "%s",
        GASNET_CONFIG_STRING);
  check_blocks();
  if (argc > 1 && gasnet_mynode() == 0)
    mistake(argv[1]);
  test_end();
  return 0;
}
