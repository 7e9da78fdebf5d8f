/* The reduced header (list A3): timers, fences, annotations, identification and nothing else; driven by testtoolsalone.sh. */
#define GASNETT_LITE_MODE yes
#include <gasnet_tools.h>
#include <gasnet_tools.h>

#if GASNETT_LITE_MODE != 1 || defined(GASNETT_THREAD_SAFE) || !defined(_INCLUDED_GASNET_TOOLS_H) || defined(_GASNET_H)
#error "lite mode"
#endif
#if defined(GASNETT_ATOMIC_NONE) || defined(gasnett_mutex_lock) || defined(gasnett_getenv) || defined(GASNETT_ATOMIC_CONFIG)
#error "more than promised"
#endif
GASNETT_INLINE(twice) int twice(int x) { return 2 * x; }

#if defined(LITE_MAIN)
int main(void) {
  gasnett_tick_t begin = gasnett_ticks_now();
  gasnett_local_mb(), gasnett_weak_mb(), gasnett_compiler_fence(), gasnett_spinloop_hint();
  if (strcmp(_STRINGIFY(GASNETT_THREAD_MODEL), "LITE") || !strstr(GASNETT_CONFIG_STRING, ",LITE,")) return 1;
  if (strstr(GASNETT_CONFIG_STRING, "atomic") || twice(2) != 4) return 2;
  if (gasnett_ticks_to_us(gasnett_ticks_now() - begin) > 60000000 || gasnett_tick_overheadus() <= 0) return 3;
  printf("testtoolslite: node 0/1: PASS (4 checks)\n");
  return 0;
}
#else
extern int twice_more(int x);
int twice_more(int x) { return twice(x); }
#endif
