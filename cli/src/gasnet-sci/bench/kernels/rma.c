/* Puts, gets, memsets and values between node 0 and its peer, which waits in a barrier. */
#include "bench.h"

#define WINDOW 32 /* handles under way at a time */

#define LOOP BENCH_LOOP_AT_0
/* As a client does it: starts WINDOW operations, then waits for all of them. */
#define WINDOWS(call)                                                                                                \
  do {                                                                                                               \
    const double start = bench_now();                                                                                \
    gasnet_handle_t handle[WINDOW];                                                                                  \
    long i;                                                                                                          \
    if (bench_me != 0) return 0;                                                                                     \
    for (i = 0; i < n;) {                                                                                            \
      const long some = MIN(n - i, WINDOW);                                                                          \
      long k;                                                                                                        \
      for (k = 0; k < some; k++) {                                                                                   \
        handle[k] = call;                                                                                            \
        FENCE();                                                                                                     \
      }                                                                                                              \
      gasnet_wait_syncnb_all(handle, (size_t)some);                                                                  \
      i += some;                                                                                                     \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  } while (0)

double BENCH(put)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gasnet_put(bench_peer, bench_remote, bench_local, 8), (void)0);
  LOOP(gasnet_put(bench_peer, bench_remote, bench_local, bytes), (void)0);
}
double BENCH(get)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gasnet_get(bench_local, bench_peer, bench_remote, 8), (void)0);
  LOOP(gasnet_get(bench_local, bench_peer, bench_remote, bytes), (void)0);
}
double BENCH(put_nb)(long n, size_t bytes) {
  if (bytes == 8) WINDOWS(gasnet_put_nb(bench_peer, bench_remote, bench_local, 8));
  WINDOWS(gasnet_put_nb(bench_peer, bench_remote, bench_local, bytes));
}
double BENCH(get_nb)(long n, size_t bytes) {
  if (bytes == 8) WINDOWS(gasnet_get_nb(bench_local, bench_peer, bench_remote, 8));
  WINDOWS(gasnet_get_nb(bench_local, bench_peer, bench_remote, bytes));
}
double BENCH(put_nbi)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gasnet_put_nbi(bench_peer, bench_remote, bench_local, 8), gasnet_wait_syncnbi_puts());
  LOOP(gasnet_put_nbi(bench_peer, bench_remote, bench_local, bytes), gasnet_wait_syncnbi_puts());
}
double BENCH(get_nbi)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gasnet_get_nbi(bench_local, bench_peer, bench_remote, 8), gasnet_wait_syncnbi_gets());
  LOOP(gasnet_get_nbi(bench_local, bench_peer, bench_remote, bytes), gasnet_wait_syncnbi_gets());
}
double BENCH(memset)(long n, size_t bytes) {
  if (bytes == 8) LOOP(gasnet_memset(bench_peer, bench_remote, 5, 8), (void)0);
  LOOP(gasnet_memset(bench_peer, bench_remote, 5, bytes), (void)0);
}
double BENCH(put_val)(long n, size_t bytes) {
  (void)bytes;
  LOOP(gasnet_put_val(bench_peer, bench_remote, (gasnet_register_value_t)i, 8), (void)0);
}
double BENCH(get_val)(long n, size_t bytes) {
  (void)bytes;
  LOOP(__asm__ __volatile__("" ::"r"(gasnet_get_val(bench_peer, bench_remote, 8))), (void)0);
}
double BENCH(put_nb_val)(long n, size_t bytes) {
  (void)bytes;
  WINDOWS(gasnet_put_nb_val(bench_peer, bench_remote, (gasnet_register_value_t)k, 8));
}
double BENCH(get_nb_val)(long n, size_t bytes) {
  (void)bytes;
  LOOP(__asm__ __volatile__("" ::"r"(gasnet_wait_syncnb_valget(gasnet_get_nb_val(bench_peer, bench_remote, 8)))), (void)0);
}
