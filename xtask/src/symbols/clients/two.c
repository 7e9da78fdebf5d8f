#include <gasnet.h>
uint64_t other_sum(uint64_t n);
int main(int argc, char **argv) {
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  gasnet_exit(other_sum(10) == 55 ? 0 : 2);
}
