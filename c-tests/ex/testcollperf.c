/* Times of the collectives of GASNet-1 in all nine sync modes, and of gex_Coll_*. Every size is checked once in each mode. Contract:
 * ex-coll.md sections 5, 6, 9, 14.
 *
 *   testcollperf [OPTIONS] [maxsize=64K [outer=1 [inner=10 [perfiters=100 [threads=1 [sections]]]]]]
 *     -szfactor F (4)      sizes grow by this factor, from 8 bytes
 *     -src-in, -src-out, -dst-in, -dst-out   sources, destinations in the segment, elsewhere (default)
 *     outer: repetitions of all; inner: checked calls of each form; perfiters: timed calls
 *   sections: A scatter, B gather, C gather_all, D exchange, E broadcast, F reduction to one, G reduction to all */
#include "testoldcoll.h"

static unsigned char *src, *dst;
static size_t most;
static long inner, perf_iters;

static int in_segment; /* flags of the old collectives */

static void old_section(char section, old_kind k, double factor) {
  double size;
  int in, out;
  char what[64];
  if (!wanted(section)) return;
  for (in = 0; in < 3; in++)
    for (out = 0; out < 3; out++) {
      const int flags = sync_in[in] | sync_out[out] | GASNET_COLL_LOCAL | in_segment;
      snprintf(what, sizeof what, "%s %s/%s", old_name[k], sync_name[in], sync_name[out]);
      for (size = 8; size <= (double)most; size *= factor) {
        const size_t n = (size_t)size;
        double us;
        long i;
        for (i = 0; i < inner; i++) {
          const gasnet_node_t root = (gasnet_node_t)i % nodes;
          old_prepare(k, dst, src, n, root, (unsigned)i);
          BARRIER(); /* what the modes without syncs demand */
          old_blocking(k, dst, src, n, root, flags);
          BARRIER();
          CHECK(old_right(k, dst, n, root, (unsigned)i));
        }
        BARRIER();
        TIMED(us, perf_iters / 10, perf_iters, old_blocking(k, dst, src, n, 0, flags));
        BARRIER();
        if (me == 0) row(section, what, n, perf_iters, us);
      }
    }
}
static void new_collective(char section, size_t n, gex_Rank_t root) {
  gex_Event_Wait(section == 'E'   ? gex_Coll_BroadcastNB(tm, root, dst, src, n, 0)
                 : section == 'F' ? gex_Coll_ReduceToOneNB(tm, root, dst, src, GEX_DT_I32, 4, n / 4, GEX_OP_ADD, NULL, NULL, 0)
                                  : gex_Coll_ReduceToAllNB(tm, dst, src, GEX_DT_I32, 4, n / 4, GEX_OP_ADD, NULL, NULL, 0));
}
static void new_section(char section, const char *name, double factor) {
  const int32_t ranks = (int32_t)(nodes * (nodes + 1) / 2), many = (int32_t)nodes;
  int32_t *const from = (int32_t *)(void *)src, *const into = (int32_t *)(void *)dst;
  double size;
  if (!wanted(section)) return;
  for (size = 8; size <= (double)most; size *= factor) {
    const size_t n = (size_t)size / 4 * 4, count = n / 4;
    size_t k, wrong = 0;
    double us;
    long i;
    for (i = 0; i < inner; i++) {
      const gex_Rank_t root = (gex_Rank_t)i % nodes;
      for (k = 0; k < count; k++) from[k] = (int32_t)(me + 1) + (int32_t)(k % 1000) + (int32_t)i;
      memset(dst, 0xee, n + 1);
      new_collective(section, n, root);
      for (k = 0; (section != 'F' || me == root) && k < count; k++) {
        const int32_t common = (int32_t)(k % 1000) + (int32_t)i;
        wrong += into[k] != (section == 'E' ? (int32_t)(root + 1) + common : ranks + many * common);
      }
      CHECK(wrong == 0 && dst[section != 'F' || me == root ? n : 0] == 0xee);
    }
    TIMED(us, perf_iters / 10, perf_iters, new_collective(section, n, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    if (me == 0) row(section, name, n, perf_iters, us);
  }
}

int main(int argc, char **argv) {
  static long src_in, src_out, dst_in, dst_out;
  static double factor = 4;
  static const testperf_option table[] = {REAL("-szfactor", &factor), FLAG("-src-in", &src_in), FLAG("-src-out", &src_out),
                                          FLAG("-dst-in", &dst_in), FLAG("-dst-out", &dst_out)};
  static const char usage[] = "testcollperf [-szfactor F] [-src-in|-src-out] [-dst-in|-dst-out] [maxsize [outer [inner [perfiters "
                              "[threads [sections]]]]]]";
  size_t room;
  long outer, round;
  int arg;
  begin("testcollperf", &argc, &argv);
  arg = options(argc, argv, table, COUNT_OF(table), 6, usage);
  if (factor <= 1) misuse(usage);
  most = (size_t)positional(argc, argv, arg, 64 << 10);
  outer = positional(argc, argv, arg + 1, 1);
  inner = positional(argc, argv, arg + 2, 10);
  perf_iters = positional(argc, argv, arg + 3, 100);
  if (positional(argc, argv, arg + 4, 1) > 1 && me == 0) printf("WARNING: one thread of each process takes part\n");
  if (arg + 5 < argc) section_letters = argv[arg + 5];
  room = (nodes * most + 64) / 64 * 64;
  make_areas(2 * room);
  src = src_in ? area[me] : (unsigned char *)malloc(room);
  dst = dst_in ? area[me] + room : (unsigned char *)malloc(room);
  if (src == NULL || dst == NULL) gasnet_exit(98);
#if !GASNET_SEGMENT_EVERYTHING
  in_segment = (src_in ? GASNET_COLL_SRC_IN_SEGMENT : 0) | (dst_in ? GASNET_COLL_DST_IN_SEGMENT : 0);
#endif
  memset(src, 1, room);
  start_pollers(""); /* none */
  (void)now_us();
  for (round = 0; round < outer; round++) {
    old_section('A', SCATTER, factor);
    old_section('B', GATHER, factor);
    old_section('C', GATHER_ALL, factor);
    old_section('D', EXCHANGE, factor);
    new_section('E', "gex broadcast", factor);
    new_section('F', "gex reduction to one", factor);
    new_section('G', "gex reduction to all", factor);
  }
  gasnet_coll_dumpTuningState(NULL, GASNET_TEAM_ALL);
  gasnet_coll_dumpProfile(NULL, GASNET_TEAM_ALL);
  stop_pollers();
  return end();
}
