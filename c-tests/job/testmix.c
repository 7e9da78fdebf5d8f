/* Objects of different configurations in one program: list A, item 7 (contract: core.md §1).
 *
 * Two translation units from this file: one with -DMIX_MAIN, one without. Compiled alike they run and PASS; with
 * different thread models (or debug, or segment modes) the link must fail, or gasnet_init must refuse to start:
 *
 *   cc -DGASNET_SEQ -DMIX_MAIN -c testmix.c -o main.o; cc -DGASNET_PAR -c testmix.c -o other.o; cc main.o other.o ...
 *
 * With -DMIX_PLUG="\"FILE\"" the first unit loads FILE after attach. FILE is the second unit as a shared object. The
 * same must hold.
 *
 * testmix.sh tries the pairs. */
#include "../test.h"

#ifdef MIX_PLUG
#include <dlfcn.h>
#endif

int mix_other_node(void);

#ifdef MIX_MAIN
int main(int argc, char **argv) {
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  GASNET_SAFE(gasnet_attach(NULL, 0, 0, 0));
  test_begin("testmix");
#ifdef MIX_PLUG
  CHECK(dlopen(MIX_PLUG, RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
#endif
  CHECK(mix_other_node() == (int)gasnet_mynode(), "the other unit thinks it is node %d", mix_other_node());
  test_end();
  return 0;
}
#else
/* Never called: a reference to what names the configuration, as any library that starts GASNet itself has. */
int mix_start(int *argc, char ***argv);
int mix_start(int *argc, char ***argv) {
  int rc = gasnet_init(argc, argv);
  return rc == GASNET_OK ? gasnet_attach(NULL, 0, 0, 0) : rc;
}

int mix_other_node(void) { return (int)gasnet_mynode(); }
#endif
