/* Puts to random pages of the partner's segment, which are timed and then compared. Only pairs of processes work. Contract:
 * ex-rma.md section 14.
 *
 *   testrand nbytes [segsz=1M [seed]]      nbytes: of each put, up to segsz */
#include "testperf.h"

static unsigned state;
static size_t segment_bytes, nbytes, pages;
/* All puts of a page have the same bytes, whichever is the last. */
static unsigned seed_of(gex_Rank_t rank, size_t page) { return 7 * rank + (unsigned)page; }

static double put_pages(unsigned char *from, unsigned char *put_to, long n, int blocking) {
  double us = now_us();
  long i;
  for (i = 0; i < n; i++) {
    const size_t page = rnd(&state, (unsigned)pages);
    put_to[page] = 1;
    if (blocking) (void)gex_RMA_PutBlocking(tm, peer, area[peer] + page * nbytes, from + page * nbytes, nbytes, 0);
    else (void)gex_RMA_PutNBI(tm, peer, area[peer] + page * nbytes, from + page * nbytes, nbytes, GEX_EVENT_DEFER, 0);
  }
  gex_NBI_Wait(GEX_EC_PUT, 0);
  us = now_us() - us;
  return us;
}

int main(int argc, char **argv) {
  static const char usage[] = "testrand nbytes [segsz [seed]]";
  unsigned char *from, *put_to, *back;
  size_t page;
  long n;
  int arg, way;
  begin("testrand", &argc, &argv);
  arg = options(argc, argv, NULL, 0, 3, usage);
  nbytes = (size_t)positional(argc, argv, arg, 0);
  segment_bytes = (size_t)positional(argc, argv, arg + 1, 1 << 20);
  state = (unsigned)positional(argc, argv, arg + 2, 1) * 997 + me;
  if (nbytes == 0 || nbytes > segment_bytes) misuse(usage);
  pages = segment_bytes / nbytes;
  n = (long)(pages < 10000 ? pages : 10000) + 100;
  make_areas(segment_bytes);
  make_pairs();
  from = (unsigned char *)malloc(segment_bytes), back = (unsigned char *)malloc(nbytes), put_to = (unsigned char *)calloc(pages, 1);
  if (from == NULL || back == NULL || put_to == NULL) gasnet_exit(98);
  for (page = 0; page < pages; page++) fill(from + page * nbytes, seed_of(me, page), nbytes);
  memset(area[me], 0xee, segment_bytes);
  BARRIER();
  for (way = 0; way < 2; way++) {
    double us = 0;
    if (sends) us = put_pages(from, put_to, n, way == 0);
    BARRIER();
    if (sends) row(way == 0 ? 'A' : 'B', way == 0 ? "put blocking, random pages" : "put NBI, random pages", nbytes, n, us);
  }
  for (page = 0; page < pages; page++) {
    if (sends) { /* what was put is there, and nothing else */
      (void)gex_RMA_GetBlocking(tm, back, peer, area[peer] + page * nbytes, nbytes, 0);
      CHECK(put_to[page] ? filled(back, seed_of(me, page), nbytes) : back[0] == 0xee && back[nbytes - 1] == 0xee);
    }
    if (receives) CHECK(area[me][page * nbytes] == 0xee || filled(area[me] + page * nbytes, seed_of(peer, page), nbytes));
  }
  return end();
}
