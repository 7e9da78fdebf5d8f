/* Accumulates over a ring with value puts and gets: a token of four bytes goes round, and each process adds its number to the
 * sum that travels with it. Contract: ex-rma.md section 3 (testacc). Options: none. Positional: iterations (20000). */
#include "testarea.h"

int main(int argc, char **argv) {
  int iters, i;
  gex_Rank_t next;
  unsigned char *own, *theirs;
  uint64_t sum = 0, wanted = 0;
  begin("testacc", &argc, &argv);
  iters = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 20000;
  share(4096);
  next = (me + 1) % nodes;
  own = (unsigned char *)shared(me), theirs = (unsigned char *)shared(next);
  memset(own, 0, 64);
  BARRIER();
  for (i = 1; i <= iters; i++) {
    /* the token of round i is i; process 0 begins */
    if (me != 0 || i > 1) {
      const gex_RMA_Value_t round = (gex_RMA_Value_t)(me == 0 ? i - 1 : i);
      gex_RMA_Value_t token;
      while ((token = gex_RMA_GetBlockingVal(tm, me, own, 4, 0)) != round) {
        CHECK(token < round);
        gasnet_AMPoll();
      }
      sum = gex_RMA_GetBlockingVal(tm, me, own + 8, 8, 0);
    }
    sum += me + 1;
    CHECK(gex_RMA_PutBlockingVal(tm, next, theirs + 8, sum, 8, 0) == 0); /* before the token: blocking puts are in order */
    CHECK(gex_RMA_PutBlockingVal(tm, next, theirs, (gex_RMA_Value_t)i, 4, 0) == 0);
  }
  if (me == 0) {
    while (gex_RMA_GetBlockingVal(tm, me, own, 4, 0) != (gex_RMA_Value_t)iters) gasnet_AMPoll();
    sum = gex_RMA_GetBlockingVal(tm, me, own + 8, 8, 0);
    wanted = (uint64_t)iters * nodes * (nodes + 1) / 2;
    if (sum != wanted) {
      errors++;
      say("ERROR: the sum is %llu, not %llu", (unsigned long long)sum, (unsigned long long)wanted);
    }
  }
  BARRIER();
  return end();
}
