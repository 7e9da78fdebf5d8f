/* The layer of PVM: layer-pvm ROUNDS NANOSECONDS CPU0 CPU1 (layer.h), which starts its other process by the daemon. */
#include "layer.h"
#include <pvm3.h>

enum { TAG = 7 };

static int other;

static void check(int result, const char *call) {
  if (result >= 0) return;
  pvm_perror((char *)call);
  pvm_exit();
  exit(1);
}
static void send_all(const char *from, size_t bytes) {
  check(pvm_psend(other, TAG, (char *)from, (int)bytes, PVM_BYTE), "pvm_psend");
}
static void receive_all(char *to, size_t bytes) {
  check(pvm_precv(other, TAG, to, (int)bytes, PVM_BYTE, NULL, NULL, NULL), "pvm_precv");
}
static void exchange(const char *from, char *to, size_t bytes) {
  send_all(from, bytes);
  receive_all(to, bytes);
}

int main(int argc, char **argv) {
  const layer_task_t task = layer_task(argc == 5 ? argv + 1 : (char *[4]){NULL});
  layer_t layer = {0, send_all, receive_all, exchange};
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  check(pvm_mytid(), "pvm_mytid");
  check(pvm_setopt(PvmRoute, PvmRouteDirect), "pvm_setopt");
  other = pvm_parent();
  layer.me = other > 0;
  layer_pin(task.cpus[layer.me]);
  if (!layer.me) {
    if (length < 0) layer_fail("this program does not find itself");
    path[length] = 0;
    if (pvm_spawn(path, argv + 1, PvmTaskDefault, (char *)"", 1, &other) != 1) layer_fail("pvm_spawn: no process");
  }
  layer_measure(&layer, task.rounds, task.budget);
  pvm_exit();
  return 0;
}
