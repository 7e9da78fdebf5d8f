/* Exchanges halos with both neighbours of a ring: long puts, then a flag that the owner watches by loads. Contract: ex-rma.md
 * section 14 (testnbr). Options: -f full overlap: both directions before any wait; -m halos by Longs, whose handler sets the flag.
 * Positional: iterations (150), level: largest halo, 0 (1 KiB) to 3 (64 KiB), default 2. */
#include "testarea.h"

#define MOST 65536
/* in each segment, by side and parity of the iteration: a halo and its flag */
#define HALO(base, side, i) ((unsigned char *)(base) + ((size_t)(side) * 2 + (size_t)((i) & 1)) * MOST)
#define FLAG(base, side, i) ((unsigned char *)(base) + 4 * MOST + 64 * ((size_t)(side) * 2 + (size_t)((i) & 1)))
static unsigned char out[2][MOST];

static unsigned char pattern(gex_Rank_t rank, int side, int i, size_t at) {
  return (unsigned char)(rank * 31 + (unsigned)side * 7 + (unsigned)i * 13 + at);
}

static void *mine;
enum { HALO_COMES = GEX_AM_INDEX_BASE };
static void halo_comes(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t side, gex_AM_Arg_t i) {
  (void)token, (void)n;
  CHECK(buf == (void *)HALO(mine, side, i));
  *(volatile uint32_t *)(void *)FLAG(mine, side, i) = (uint32_t)i;
}

int main(int argc, char **argv) {
  gex_AM_Entry_t entry = {HALO_COMES, (gex_AM_Fn_t)halo_comes, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, NULL};
  int iters, level, i, side, full = 0, messages = 0, arg = 1;
  size_t at, size;
  gex_Rank_t peer[2];
  void *theirs[2];
  begin("testnbr", &argc, &argv);
  for (; arg < argc && argv[arg][0] == '-'; arg++) {
    full |= strcmp(argv[arg], "-f") == 0, messages |= strcmp(argv[arg], "-m") == 0;
    if (strcmp(argv[arg], "-f") != 0 && strcmp(argv[arg], "-m") != 0) argc = 0; /* usage */
  }
  iters = arg < argc && atoi(argv[arg]) > 0 ? atoi(argv[arg]) : 150;
  level = arg + 1 < argc ? atoi(argv[arg + 1]) : 2;
  if (level < 0 || level > 3 || argc == 0) {
    fprintf(stderr, "usage: testnbr [-f] [-m] [iters [level 0-3]]\n");
    gasnet_exit(1);
  }
  MUST(gex_EP_RegisterHandlers(ep, &entry, 1));
  share(4 * MOST + 4096);
  mine = shared(me);
  memset(FLAG(mine, 0, 0), 0, 4 * 64);
  peer[0] = (me + nodes - 1) % nodes, peer[1] = (me + 1) % nodes;
  for (side = 0; side < 2; side++) theirs[side] = shared(peer[side]);
  BARRIER();
  for (i = 1; i <= iters; i++) {
    gex_Event_t put[2] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID}, flag[2] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID};
    int left = 2;
    size = (size_t)1024 << (2 * (i % (level + 1)));
    for (side = 0; side < 2; side++) {
      for (at = 0; at < size; at++) out[side][at] = pattern(me, side, i, at);
      /* my left halo is my left neighbour's right one */
      if (messages) {
        (void)gex_AM_RequestLong2(tm, peer[side], HALO_COMES, out[side], size, HALO(theirs[side], !side, i), &put[side], 0, !side, i);
        if (!full) gex_Event_Wait(put[side]), put[side] = GEX_EVENT_INVALID;
        continue;
      }
      put[side] = gex_RMA_PutNB(tm, peer[side], HALO(theirs[side], !side, i), out[side], size, GEX_EVENT_DEFER, 0);
      if (!full) {
        gex_Event_Wait(put[side]);
        put[side] = GEX_EVENT_INVALID;
        flag[side] = gex_RMA_PutNBVal(tm, peer[side], FLAG(theirs[side], !side, i), (gex_RMA_Value_t)i, 4, 0);
      }
    }
    while (full && left > 0) { /* whichever is there first */
      while (gex_Event_TestSome(put, 2, 0) != GASNET_OK) gasnet_AMPoll();
      for (left = 0, side = 0; side < 2; side++) left += put[side] != GEX_EVENT_INVALID;
    }
    for (side = 0; full && !messages && side < 2; side++)
      flag[side] = gex_RMA_PutNBVal(tm, peer[side], FLAG(theirs[side], !side, i), (gex_RMA_Value_t)i, 4, 0);
    while (gex_Event_TestAll(flag, 2, 0) != GASNET_OK) gasnet_AMPoll();
    CHECK(flag[0] == GEX_EVENT_INVALID && flag[1] == GEX_EVENT_INVALID);
    for (side = 0; side < 2; side++) {
      volatile uint32_t *seen = (volatile uint32_t *)(void *)FLAG(mine, side, i);
      GASNET_BLOCKUNTIL(*seen == (uint32_t)i);
      for (at = 0; at < size; at++)
        if (HALO(mine, side, i)[at] != pattern(peer[side], !side, i, at)) break;
      if (at != size) {
        errors++;
        say("ERROR: iteration %d side %d: byte %u of the halo of %u", i, side, (unsigned)at, (unsigned)peer[side]);
      }
    }
  }
  BARRIER();
  return end();
}
