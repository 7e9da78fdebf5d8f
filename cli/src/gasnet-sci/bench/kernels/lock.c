/* Handler-safe locks as clients with threads have them. They need no job. */
#include "bench.h"

double bench_lock(long n, size_t bytes) {
  static gasnet_hsl_t hsl = GASNET_HSL_INITIALIZER;
  const double start = bench_now();
  (void)bytes;
  for (; n > 0; n--) {
    gasnet_hsl_lock(&hsl);
    gasnet_hsl_unlock(&hsl);
  }
  return bench_now() - start;
}

/* The cheapest code that excludes other threads: one exchange, one store. */
double bench_bare_lock(long n, size_t bytes) {
  static uint32_t word;
  const double start = bench_now();
  (void)bytes;
  for (; n > 0; n--) {
    while (__atomic_exchange_n(&word, 1u, __ATOMIC_ACQUIRE) != 0) {
    }
    __atomic_store_n(&word, 0u, __ATOMIC_RELEASE);
  }
  return bench_now() - start;
}
