/* The collectives of gasnet.c and mpi.c: one table and one verification, so that both do the same. The file that
 * includes this defines the patterns first. */
#ifndef GASNET_SCI_PEERS_COLL_H
#define GASNET_SCI_PEERS_COLL_H

/* Block b of node p, 64-bit word i; sums of it are the reductions' results. */
static uint64_t coll_word(int p, int b, size_t i) { return (uint64_t)p * 1000003 + (uint64_t)b * 10007 + i; }

static void coll_expect(const char *what, size_t bytes, int block, int from, int from_block) {
  size_t i;
  for (i = 0; i < bytes / 8; i++) {
    uint64_t want = 0, word;
    int p;
    if (from >= 0) want = coll_word(from, from_block, i);
    else
      for (p = 0; p < nodes; p++) want += coll_word(p, 0, i);
    memcpy(&word, dst + (size_t)block * bytes + 8 * i, 8);
    if (word == want) continue;
    fprintf(stderr, "%s: node %d: %s of %lu bytes: word %lu of block %d is wrong\n", peers_program, me, what,
            (unsigned long)bytes, (unsigned long)i, block);
    give_up();
  }
}

/* Roots take turns, so that no node runs ahead; a single call has root 0. */
static void coll(const char *who) {
  static const struct {
    const char *name;
    pattern *run;
  } all[] = {{"broadcast", broadcast},
             {"reduce", reduce},
             {"reduce to all", allreduce},
             {"gather_all", gather_all},
             {"exchange", exchange}};
  const size_t *n;
  size_t k, i;
  int b;
  for (k = 0; k < sizeof all / sizeof *all; k++)
    for (n = coll_sizes; *n; n++) {
      for (b = 0; b < nodes; b++)
        for (i = 0; i < *n / 8; i++) ((uint64_t *)(void *)(src + (size_t)b * *n))[i] = coll_word(me, b, i);
      memset(dst, 0, (size_t)nodes * *n);
      everybody();
      all[k].run(*n, 1);
      if (all[k].run == broadcast) coll_expect(all[k].name, *n, 0, 0, 0);
      else if (all[k].run == allreduce || (all[k].run == reduce && me == 0)) coll_expect(all[k].name, *n, 0, -1, 0);
      else if (all[k].run != reduce)
        for (b = 0; b < nodes; b++) coll_expect(all[k].name, *n, b, b, all[k].run == exchange ? me : 0);
      everybody();
      row(who, "coll", all[k].name, *n, "us", time_of(all[k].run, *n));
    }
}

#endif
