/* Collectives that move data: every one, blocking and not, single addresses and lists, all pairs of sync modes, all roots,
 * sizes around the thresholds, memory in the segment and out of it, in place, aggregates, many in flight synced in random
 * order; every byte verified, guards around (behaviours K1-K11, L3-L14).
 *
 *   testcoll [BATCHES [SEED [HANDLES]]]      HANDLES: how many are outstanding at once in `many`
 *
 * In PAR several threads per node are images; else the first collectives are made without gasnet_coll_init. */
#include "testcoll.h"

static const size_t sizes[] = {0,    1,    2,    3,    4,    7,     8,     9,     31,    55,    56,    57,    64,     100,   1000,
                               1024, 4095, 4096, 4097, 8191, 8192,  8193,  16384, 16385, 30000, 65535, 65536, 65537,  131072};
enum { SIZES = sizeof sizes / sizeof *sizes };

static long batches, handles;
static unsigned seed0;

/* A job that only the seed gives. */
static coll_job random_job(unsigned seed, int slot) {
  coll_job j;
  unsigned s = seed;
  size_t most = (COLL_CAP - 4 * COLL_GUARD) / coll_images;
  memset(&j, 0, sizeof j);
  j.seed = seed;
  j.slot = slot;
  j.op = (int)(test_random(&s) % COLL_OPS);
  j.in = (int)(test_random(&s) % 3);
  j.out = (int)(test_random(&s) % 3);
  j.lists = (int)(test_random(&s) % 2);
  j.single = (int)(test_random(&s) % 2) && (j.lists || coll_same);
  j.nb = (int)(test_random(&s) % 2);
  j.inplace = test_random(&s) % 3 == 0 && j.op != COLL_EXCHANGE && !j.single;
  j.hint = test_random(&s) % 4 == 0 && !j.single;
  j.root = test_random(&s) % coll_images;
  do j.n = sizes[test_random(&s) % SIZES];
  while (j.n > most);
  return j;
}

/* Up to COLL_SLOTS collectives at once: prepared, started, synced in any order, verified. */
static void batch(gasnet_image_t image, const coll_job *jobs, int count, unsigned *mine) {
  gasnet_coll_handle_t h[COLL_SLOTS];
  int k, early = 0, late = 0, pending = 0;
  for (k = 0; k < count; k++) {
    coll_prepare(&jobs[k], image);
    early |= jobs[k].in == 0;
    late |= jobs[k].out == 0;
  }
  if (early) coll_meet(); /* IN_NOSYNC: inputs are ready before anybody enters */
  for (k = 0; k < count; k++) {
    gasnet_coll_handle_t started = coll_start(&jobs[k], image);
    if (jobs[k].nb) h[pending++] = started;
    if (test_random(mine) % 8 == 0) gasnet_AMPoll();
  }
  if (pending) coll_sync(h, pending, mine);
  if (late) coll_meet(); /* OUT_NOSYNC: all is over when all are back */
  for (k = 0; k < count; k++) coll_verify(&jobs[k], image);
}

static void random_batches(gasnet_image_t image) {
  unsigned common = seed0, mine = seed0 * 77 + image + 1;
  long b;
  for (b = 0; b < batches; b++) {
    coll_job jobs[COLL_SLOTS];
    int k, count = 1 + (int)(test_random(&common) % COLL_SLOTS);
    for (k = 0; k < count; k++) jobs[k] = random_job(test_random(&common), k);
    batch(image, jobs, count, &mine);
  }
}

/* Every collective, form and pair of sync modes, small and large, roots in turn. */
static void all_forms(gasnet_image_t image) {
  int op, form, in, out, size;
  unsigned n = 0, mine = image + 5;
  static const size_t two[] = {8, 20000};
  for (op = 0; op < COLL_OPS; op++)
    for (form = 0; form < 8; form++)
      for (in = 0; in < 3; in++)
        for (out = 0; out < 3; out++)
          for (size = 0; size < 2; size++) {
            coll_job j;
            memset(&j, 0, sizeof j);
            j.op = op, j.in = in, j.out = out;
            j.lists = form & 1, j.nb = form >> 1 & 1, j.single = form >> 2 & (j.lists | coll_same);
            j.root = n++ % coll_images;
            j.n = two[size] * coll_images < COLL_CAP / 2 ? two[size] : 64;
            j.seed = n * 31 + 7;
            batch(image, &j, 1, &mine);
          }
}

/* Some block and some do not, at sizes at which the way of the bytes changes: they must not wait for each other. */
static void mixed(gasnet_image_t image) {
  static const size_t bounds[] = {8, 80, 81, 512, 1024, 1025, 4096, 4097, 8191, 8192, 8193};
  const int count = (int)(sizeof bounds / sizeof *bounds);
  unsigned n = 0, mine = image + 9;
  int op, size, turn;
  for (op = 0; op < COLL_OPS; op++)
    for (size = 0; size < count; size++)
      for (turn = 0; turn < 2; turn++) {
        coll_job j;
        memset(&j, 0, sizeof j);
        j.op = op, j.in = 1 + size % 2, j.out = 1 + size / 2 % 2;
        j.root = (n++ / 2) % coll_images;
        j.nb = (int)(image + (unsigned)turn) % 2;
        j.n = bounds[size] * coll_images < COLL_CAP / 2 ? bounds[size] : 64;
        j.seed = n * 37 + 11;
        batch(image, &j, 1, &mine);
      }
}

/* Many small ones in flight, synced in the order they began, in reverse, or at random: each image has its own way. */
static void many(gasnet_image_t image) {
  gasnet_coll_handle_t *h = (gasnet_coll_handle_t *)malloc((size_t)handles * sizeof *h);
  long *dst = (long *)malloc((size_t)handles * sizeof *dst), *src = (long *)malloc((size_t)handles * sizeof *src);
  long *order = (long *)malloc((size_t)handles * sizeof *order), k;
  unsigned random = seed0 + image;
  if (!h || !dst || !src || !order) gasnet_exit(98);
  for (k = 0; k < handles; k++) {
    src[k] = (long)image * 1000000 + k, dst[k] = -1;
    order[k] = image % 3 ? k : handles - 1 - k;
  }
  for (k = handles - 1; k > 0 && image % 3 == 2; k--) {
    const long other = (long)(test_random(&random) % (unsigned long)(k + 1)), was = order[k];
    order[k] = order[other], order[other] = was;
  }
  for (k = 0; k < handles; k++)
    h[k] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &dst[k], (gasnet_image_t)k % coll_images, &src[k], sizeof *dst,
                                    GASNET_COLL_LOCAL | (k % 2 ? GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC
                                                               : GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC));
  for (k = 0; k < handles; k++) {
    const long at = order[k];
    gasnet_coll_wait_sync(h[at]);
    CHECK(dst[at] == (long)((gasnet_image_t)at % coll_images) * 1000000 + at, "broadcast %ld of many: %ld", at, dst[at]);
  }
  free(h), free(dst), free(src), free(order);
}

/* A root far ahead of a member that sleeps, and then is slow. */
static void ahead(gasnet_image_t image) {
  int k, rounds = 5000;
  coll_meet();
  if (image == coll_images - 1) usleep(20000);
  for (k = 0; k < rounds; k++) {
    int value = image == 0 ? k : -1;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &value, 0, &value, sizeof value,
                          GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
    CHECK(value == k, "broadcast %d of a root far ahead: %d", k, value);
    if (image == coll_images - 1 && k % 500 == 0) usleep(1000);
  }
}

/* Groups of 1, 2 and 20, ended by a blocking or a non-blocking call. */
static void aggregates(gasnet_image_t image) {
  static const int groups[] = {1, 2, 20};
  int g, k, blocking;
  for (blocking = 0; blocking < 2; blocking++)
    for (g = 0; g < 3; g++) {
      int got[21], flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC, src[21];
      gasnet_coll_handle_t ignored, h = GASNET_COLL_INVALID_HANDLE;
      for (k = 0; k <= groups[g]; k++) got[k] = -1, src[k] = (int)image * 100 + k;
      for (k = 0; k < groups[g]; k++) {
        ignored = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &got[k], (gasnet_image_t)k % coll_images, &src[k],
                                           sizeof *got, flags | GASNET_COLL_AGGREGATE);
        (void)ignored;
      }
      if (blocking) gasnet_coll_broadcast(GASNET_TEAM_ALL, &got[k], 0, &src[k], sizeof *got, flags);
      else h = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &got[k], 0, &src[k], sizeof *got, flags);
      gasnet_coll_wait_sync(h);
      for (k = 0; k < groups[g]; k++)
        CHECK(got[k] == (int)((gasnet_image_t)k % coll_images) * 100 + k, "member %d of a group of %d: %d", k, groups[g], got[k]);
      CHECK(got[k] == k, "last of a group of %d: %d", groups[g], got[k]);
    }
}

/* A group of images' calls that a call of the node ends: both are of one team. */
static void ended_by_node(gasnet_image_t image) {
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  int first = image == 0 ? 4711 : 0, last = image == 0 ? 5 : 0, of_node = 3;
  gasnet_coll_handle_t ignored, h = GASNET_COLL_INVALID_HANDLE;
  coll_meet();
  if (image == 0) usleep(20000);
  ignored = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &first, 0, &first, sizeof first, flags | GASNET_COLL_AGGREGATE);
  (void)ignored;
  if (coll_localof(image) == 0) {
    h = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &of_node, nodes - 1, &of_node, sizeof of_node, flags | GASNET_COLL_NO_IMAGES);
    gasnet_coll_wait_sync(h);
    CHECK(first == 4711 && of_node == 3, "a group that a node's call ends: %d, %d", first, of_node);
  }
  gasnet_coll_broadcast(GASNET_TEAM_ALL, &last, 0, &last, sizeof last, flags);
  CHECK(first == 4711 && last == 5, "after a group: %d, %d", first, last);
}

/* Larger than the stage, on the heap and in the segment. */
static void large(gasnet_image_t image) {
  size_t n = 3000001;
  unsigned char *at = (unsigned char *)malloc(n + 2);
  if (image == coll_images - 1) core_fill(at, n, 99);
  at[n] = 0x77;
  gasnet_coll_broadcast(GASNET_TEAM_ALL, at, coll_images - 1, at, n,
                        GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_ALLSYNC);
  CHECK(core_differs(at, n, 99) == n && at[n] == 0x77, "a broadcast of %lu bytes", (unsigned long)n);
  free(at);
}

/* Data put into my source by a peer before it enters is included (L1); late members' memory is not touched early (L2). */
static void allsync(gasnet_image_t image) {
  gasnet_image_t peer = (image + 1) % coll_images;
  int round;
  for (round = 0; round < 20; round++) {
    coll_job j;
    unsigned char value = (unsigned char)(round * 3 + 1);
    memset(&j, 0, sizeof j);
    j.op = COLL_GATHER_ALL, j.in = 2, j.out = 1, j.hint = 1, j.n = round % 2 ? 1 : 5000, j.seed = 500u + (unsigned)round;
    coll_prepare(&j, image);
    coll_meet();
    if (round % 4 == (int)(image % 4)) usleep(500);
    gasnet_put(coll_nodeof[peer], coll_at(&j, peer, COLL_SRC), &value, 1);
    coll_start(&j, image);
    {
      gasnet_image_t k;
      for (k = 0; k < coll_images; k++)
        CHECK(coll_at(&j, image, COLL_DST)[k * j.n] == value, "round %d: image %u's source is old", round, (unsigned)k);
    }
    coll_meet();
  }
}

/* Nodes as members, whatever images there are: in each round another thread of the node calls (K11). */
static void of_nodes(gasnet_image_t image) {
  int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_NO_IMAGES, round;
  const size_t words = 5000;
  unsigned *from = (unsigned *)malloc(nodes * words * sizeof *from), *to = (unsigned *)malloc(nodes * words * sizeof *to);
  for (round = 0; round < 12; round++) {
    const gasnet_node_t root = (gasnet_node_t)round % nodes;
    const size_t n = round % 2 ? words : 3;
    unsigned value = image * 100 + (unsigned)round, sum = 0, *each = (unsigned *)calloc(coll_images, sizeof *each);
    void *sources[1], *targets[1];
    gasnet_image_t k;
    size_t i;
    if (coll_localof(image) == (gasnet_image_t)round % coll_counts[me]) {
      sources[0] = from, targets[0] = to;
      for (i = 0; i < n * nodes; i++) from[i] = core_seed(me, (unsigned)(i / n), (unsigned)(i % n + (size_t)round)), to[i] = 0;
      gasnet_coll_exchange(GASNET_TEAM_ALL, to, from, n * sizeof *to, flags);
      for (i = 0; i < n * nodes && to[i] == core_seed((unsigned)(i / n), me, (unsigned)(i % n + (size_t)round)); i++) continue;
      CHECK(i == n * nodes, "exchange of nodes: word %lu of %lu", (unsigned long)i, (unsigned long)(n * nodes));
      gasnet_coll_wait_sync(gasnet_coll_gather_allM_nb(GASNET_TEAM_ALL, targets, sources, n * sizeof *to, flags));
      for (i = 0; i < n * nodes && to[i] == core_seed((unsigned)(i / n), 0, (unsigned)(i % n + (size_t)round)); i++) continue;
      CHECK(i == n * nodes, "gather_allM of nodes: word %lu of %lu", (unsigned long)i, (unsigned long)(n * nodes));
      gasnet_coll_broadcastM(GASNET_TEAM_ALL, targets, root, from, n * sizeof *to, flags);
      for (i = 0; i < n && to[i] == core_seed(root, 0, (unsigned)(i + (size_t)round)); i++) continue;
      CHECK(i == n, "broadcastM of nodes: word %lu of %lu", (unsigned long)i, (unsigned long)n);
    }
    /* and of images at once */
    gasnet_coll_gather_all(GASNET_TEAM_ALL, each, &value, sizeof value, flags & ~GASNET_COLL_NO_IMAGES);
    for (k = 0; k < coll_images; k++) sum += each[k] == k * 100 + (unsigned)round;
    CHECK(sum == coll_images, "gather_all of images: %u of %u blocks", sum, (unsigned)coll_images);
    free(each);
  }
  free(from), free(to);
}

static void every_part(gasnet_image_t image) {
  of_nodes(image);
  all_forms(image);
  mixed(image);
  allsync(image);
  aggregates(image);
  ended_by_node(image);
  many(image);
  ahead(image);
  large(image);
  random_batches(image);
}

#if !defined(GASNET_PAR)
/* As a runtime does it that never calls gasnet_coll_init. */
static void without_init(void) {
  int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  unsigned value = me == 0 ? 4711 : 0, mine = me * 3 + 1, *all = (unsigned *)calloc(nodes, sizeof *all);
  gasnet_node_t n;
  gasnet_coll_broadcast(GASNET_TEAM_ALL, &value, 0, &value, sizeof value, flags);
  CHECK(value == 4711, "broadcast without init: %u", value);
  gasnet_coll_gather(GASNET_TEAM_ALL, nodes - 1, all, &mine, sizeof mine, flags);
  for (n = 0; n < nodes && me == nodes - 1; n++) CHECK(all[n] == n * 3 + 1, "gather without init: %u", all[n]);
  memset(all, 0, nodes * sizeof *all);
  gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine, sizeof mine, flags);
  for (n = 0; n < nodes; n++) CHECK(all[n] == n * 3 + 1, "gather_all without init: %u", all[n]);
  free(all);
}
#endif

int main(int argc, char **argv) {
  core_init(&argc, &argv, "testcoll");
  batches = core_number(argc, argv, 1, 120);
  seed0 = (unsigned)core_number(argc, argv, 2, 20260101);
  test_seed(seed0);
  handles = core_number(argc, argv, 3, 3000);
  area_attach(NULL, 0, COLL_PERIMAGE * 3);
  test_begin("testcoll");
#if !defined(GASNET_PAR)
  without_init();
#endif
  coll_setup(3);
  coll_run(every_part);
  test_end();
  return 0;
}
