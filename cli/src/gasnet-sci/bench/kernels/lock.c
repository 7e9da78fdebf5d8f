/* Handler-safe locks as clients with threads have them. They need no job. This object is the only one of its mode
 * here, so it must not tell the library its mode: a job of mixed modes would not start. */
#define GASNET_PAR 1
#define __constructor__ __unused__
#include <gasnet.h>
#undef __constructor__
#include <time.h>

double bench_lock(long n, size_t bytes);
double bench_bare_lock(long n, size_t bytes);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_lock(long n, size_t bytes) {
  static gasnet_hsl_t hsl = GASNET_HSL_INITIALIZER;
  const double start = now();
  (void)bytes;
  for (; n > 0; n--) {
    gasnet_hsl_lock(&hsl);
    gasnet_hsl_unlock(&hsl);
  }
  return now() - start;
}

/* The cheapest code that excludes other threads: one exchange, one store. */
double bench_bare_lock(long n, size_t bytes) {
  static uint32_t word;
  const double start = now();
  (void)bytes;
  for (; n > 0; n--) {
    while (__atomic_exchange_n(&word, 1u, __ATOMIC_ACQUIRE) != 0) {
    }
    __atomic_store_n(&word, 0u, __ATOMIC_RELEASE);
  }
  return now() - start;
}
