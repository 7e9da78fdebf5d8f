/* Puts from memory that the process cannot write. Contract: ex-rma.md section 14 (testreadonly). Positional: iterations (10). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "testarea.h"
#include <sys/mman.h>

#define MOST 16384
static const unsigned char constant[] = "bytes that the program cannot write, and that puts must not touch";

int main(int argc, char **argv) {
  int iters, i;
  size_t n, b;
  gex_Rank_t peer;
  unsigned char *to, *pages, *back;
  begin("testreadonly", &argc, &argv);
  iters = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 10;
  share(MOST * (uintptr_t)nodes);
  peer = (me + 1) % nodes;
  to = (unsigned char *)shared(peer) + (size_t)me * MOST;
  pages = (unsigned char *)mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  back = (unsigned char *)malloc(MOST);
  for (b = 0; b < MOST; b++) pages[b] = (unsigned char)(b * 11 + me);
  CHECK(mprotect(pages, MOST, PROT_READ) == 0);
  BARRIER();
  for (i = 0; i < iters; i++) {
    for (n = 1; n <= MOST; n *= 2) {
      const void *src = n <= sizeof constant ? (const void *)constant : (const void *)pages;
      gex_Event_t leaf, root;
      CHECK(gex_RMA_PutBlocking(tm, peer, to, src, n, 0) == 0);
      CHECK(gex_RMA_GetBlocking(tm, back, peer, to, n, 0) == 0 && memcmp(back, src, n) == 0);
      CHECK(gex_RMA_PutBlocking(tm, peer, to, back + MOST - n, n, 0) == 0);
      root = gex_RMA_PutNB(tm, peer, to, src, n, &leaf, 0);
      gex_Event_Wait(leaf);
      gex_Event_Wait(root);
      CHECK(gex_RMA_GetBlocking(tm, back, peer, to, n, 0) == 0 && memcmp(back, src, n) == 0);
      CHECK(gex_RMA_PutNBI(tm, peer, to, src, n, GEX_EVENT_GROUP, 0) == 0);
      gex_NBI_Wait(GEX_EC_ALL, 0);
    }
  }
  BARRIER();
  free(back);
  return end();
}
