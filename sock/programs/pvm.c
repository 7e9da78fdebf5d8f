/* PVM with direct routing: a parent and a child send each other messages of growing length, each verified. Started by the daemon: pvm PATH. */
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 18, TAG = 5 };

static char data[MOST], back[MOST];

int main(int argc, char **argv) {
  pvm_mytid();
  pvm_setopt(PvmRoute, PvmRouteDirect);
  int parent = pvm_parent(), child, wrong = 0, len;
  if (parent > 0) {
    for (;;) {
      pvm_recv(parent, TAG);
      pvm_upkint(&len, 1, 1);
      if (len < 0) break;
      pvm_upkbyte(data, len, 1);
      for (int n = 0; n < len; n++) data[n] ^= 0x55;
      pvm_initsend(PvmDataRaw);
      pvm_pkbyte(data, len, 1);
      pvm_send(parent, TAG);
    }
    pvm_exit();
    return 0;
  }
  char *none[] = {NULL};
  if (argc < 2 || pvm_spawn(argv[1], none, PvmTaskDefault, "", 1, &child) != 1) {
    printf("no child\n");
    return 1;
  }
  for (len = 1; len <= MOST; len *= 2) {
    for (int again = 0; again < 10; again++) {
      for (int n = 0; n < len; n++) data[n] = (char)(n * 5 + again + len);
      pvm_initsend(PvmDataRaw);
      pvm_pkint(&len, 1, 1);
      pvm_pkbyte(data, len, 1);
      pvm_send(child, TAG);
      pvm_recv(child, TAG);
      pvm_upkbyte(back, len, 1);
      for (int n = 0; n < len; n++) wrong += back[n] != (char)(data[n] ^ 0x55);
    }
  }
  len = -1;
  pvm_initsend(PvmDataRaw);
  pvm_pkint(&len, 1, 1);
  pvm_send(child, TAG);
  printf(wrong ? "pvm WRONG\n" : "pvm right\n");
  pvm_exit();
  return wrong != 0;
}
