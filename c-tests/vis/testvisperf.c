/* gasnet_vis.h beside loops written by hand for the same pieces.
 *
 *   testvisperf [rounds [KiB [calls]]]      calls: letters of v i s, default all
 *
 * Node 0 puts to and gets from node 1 (itself when alone), the others wait. A row gives call, bytes per piece,
 * pieces, MB/s (2^20) of the loop and of the call, and the median over the rounds (default 9) of the loop's time by
 * the call's. In a round both run in turns on the same memory, eight times each, and the shortest time counts. A
 * pass has about `KiB` of payload (default 256). If the peer's memory is not mapped, the loop works on memory of
 * this node. Every row is compared byte by byte with the result of the loop. */
#include "testvis.h"

enum { MOST = 1 << 16, SLICES = 8 };

static long rounds;
static size_t payload;
static unsigned char *there, *reached, *here; /* the peer's area, the same as the loop sees it, and ours */
static gasnet_node_t peer;
static gasnet_memvec_t dst_vec[MOST], src_vec[MOST];
static void *dst_list[MOST], *src_list[MOST];

/* A transfer of `n` pieces of `len` bytes, `step` bytes apart there and `pitch` here. */
struct row {
  char call; /* v i s, and 2: strided with two levels of `few` and n / few */
  int put;
  size_t len, n, step, pitch, few;
};

/* ---- by hand ---- */

#define HAND(bytes)                                                                                                  \
  switch (r->call) {                                                                                                 \
    case 'i':                                                                                                        \
      for (i = 0; i < n; i++) memcpy((char *)dst_list[i] + to, (const char *)src_list[i] + from, bytes);          \
      break;                                                                                                         \
    case 's':                                                                                                        \
      for (i = 0; i < n; i++) memcpy(d + i * d_step, s + i * s_step, bytes);                                         \
      break;                                                                                                         \
    default:                                                                                                         \
      for (j = 0; j < rows; j++)                                                                                     \
        for (i = 0; i < few; i++) memcpy(d + (j * 2 * few + i) * d_step, s + (j * 2 * few + i) * s_step, bytes);     \
  }

static void by_hand(const struct row *r) {
  unsigned char *d = r->put ? reached : here;
  const unsigned char *s = r->put ? here : reached;
  const size_t d_step = r->put ? r->step : r->pitch, s_step = r->put ? r->pitch : r->step;
  const ptrdiff_t to = r->put ? reached - there : 0, from = r->put ? 0 : reached - there;
  const size_t n = r->n, few = r->few, rows = n / few;
  size_t i, j;
  if (r->call == 'v')
    for (i = 0; i < n; i++) memcpy((char *)dst_vec[i].addr + to, (char *)src_vec[i].addr + from, src_vec[i].len);
  else switch (r->len) {
      case 1: HAND(1) break;
      case 4: HAND(4) break;
      case 8: HAND(8) break;
      case 16: HAND(16) break;
      case 64: HAND(64) break;
      case 256: HAND(256) break;
      case 1024: HAND(1024) break;
      default: HAND(r->len) break;
    }
}

/* ---- by the library ---- */

static void by_call(const struct row *r) {
  size_t strides[2][2], count[3];
  const int remote = r->put ? VIS_DST : VIS_SRC;
  const size_t levels = r->call == 's' ? 1 : 2;
  strides[remote][0] = r->step, strides[!remote][0] = r->pitch;
  strides[remote][1] = 2 * r->few * r->step, strides[!remote][1] = 2 * r->few * r->pitch;
  count[0] = r->len, count[1] = r->call == 's' ? r->n : r->few, count[2] = r->n / r->few;
  if (r->call == 'v' && r->put) gasnet_putv_bulk(peer, r->n, dst_vec, r->n, src_vec);
  else if (r->call == 'v') gasnet_getv_bulk(r->n, dst_vec, peer, r->n, src_vec);
  else if (r->call == 'i' && r->put) gasnet_puti_bulk(peer, r->n, dst_list, r->len, r->n, src_list, r->len);
  else if (r->call == 'i') gasnet_geti_bulk(r->n, dst_list, r->len, peer, r->n, src_list, r->len);
  else if (r->put) gasnet_puts_bulk(peer, there, strides[0], here, strides[1], count, levels);
  else gasnet_gets_bulk(here, strides[0], peer, there, strides[1], count, levels);
}

/* ---- a row ---- */

static int compare_doubles(const void *a, const void *b) {
  return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}
static double median(double *list, size_t n) {
  qsort(list, n, sizeof *list, compare_doubles);
  return list[n / 2];
}

/* Seconds of one pass, of as many as take a tenth of a millisecond: short, so that few are interrupted. */
static double timed(void (*run)(const struct row *), const struct row *r, long passes) {
  const double start = test_now();
  long k;
  for (k = 0; k < passes; k++) run(r);
  return (test_now() - start) / (double)passes;
}
static long enough(const struct row *r) {
  const double once = timed(by_hand, r, 4);
  return once > 1e-4 ? 1 : (long)(1e-4 / once) + 1;
}

/* The bytes at the destination after the loop, and after the call. */
static void compare(const struct row *r, size_t room) {
  unsigned char *wanted = (unsigned char *)rma_malloc(room), *got = (unsigned char *)rma_malloc(room);
  unsigned char *source = r->put ? here : reached, *target = r->put ? reached : here;
  core_fill(source, room, 11);
  memset(target, 0xEE, room);
  by_hand(r);
  memcpy(wanted, target, room);
  if (r->put) gasnet_memset(peer, there, 0xEE, room);
  else memset(here, 0xEE, room), gasnet_put_bulk(peer, there, source, room);
  by_call(r);
  if (r->put) gasnet_get_bulk(got, peer, there, room);
  else memcpy(got, here, room);
  CHECK(memcmp(got, wanted, room) == 0, "%s%c of %lu pieces of %lu bytes", r->put ? "put" : "get", r->call,
        (unsigned long)r->n, (unsigned long)r->len);
  free(wanted), free(got);
}

static void measure(struct row *r, size_t room) {
  double *ratios = (double *)rma_malloc((size_t)rounds * sizeof *ratios), *hand = (double *)rma_malloc((size_t)rounds * sizeof *hand);
  double *call = (double *)rma_malloc((size_t)rounds * sizeof *call), bytes = (double)(r->n * r->len) / 1048576.0;
  size_t i;
  long k, passes;
  for (i = 0; i < r->n; i++) { /* a fixed disorder for the lists */
    size_t at = r->call == 's' ? i : i * 40503 % r->n;
    unsigned char *remote = there + at * r->step, *local = here + i * r->pitch;
    dst_list[i] = dst_vec[i].addr = r->put ? remote : local;
    src_list[i] = src_vec[i].addr = r->put ? local : remote;
    dst_vec[i].len = src_vec[i].len = r->len;
  }
  compare(r, room);
  passes = enough(r);
  for (k = 0; k < rounds; k++) {
    hand[k] = call[k] = 1e9;
    for (i = 0; i < SLICES; i++) {
      double t = timed(by_hand, r, passes);
      hand[k] = t < hand[k] ? t : hand[k];
      t = timed(by_call, r, passes);
      call[k] = t < call[k] ? t : call[k];
    }
    ratios[k] = hand[k] / call[k];
  }
  printf("%s%c%s %6lu B x %6lu   loop %9.1f MB/s   call %9.1f MB/s   ratio %5.2f\n", r->put ? "put" : "get",
         r->call == '2' ? 's' : r->call, r->call == '2' ? "2" : " ", (unsigned long)r->len, (unsigned long)r->n,
         bytes / median(hand, (size_t)rounds), bytes / median(call, (size_t)rounds), median(ratios, (size_t)rounds));
  fflush(stdout);
  free(ratios), free(hand), free(call);
}

static void both_ways(struct row *r, size_t room) {
  r->step = r->len + (r->len < 64 ? r->len : 64), r->pitch = r->len + 8;
  if (2 * r->n * r->step > room || 2 * r->n * r->pitch > room) return;
  for (r->put = 1; r->put >= 0; r->put--) measure(r, room);
}

int main(int argc, char **argv) {
  static const size_t lens[] = {1, 4, 8, 16, 64, 100, 256, 1024, 2048, 8192};
  static const char calls[] = "vis2";
  gasnet_nodeinfo_t *info;
  size_t room, k, c;
  unsigned char *own;
  core_init(&argc, &argv, "testvisperf");
  rounds = core_number(argc, argv, 1, 9);
  payload = (size_t)core_number(argc, argv, 2, 256) << 10;
  room = 10 * payload + (64 << 10);
  core_attach(NULL, 0, room);
  peer = nodes > 1 ? 1 : 0;
  own = (unsigned char *)rma_malloc(room);
  test_begin("testvisperf");
  info = (gasnet_nodeinfo_t *)rma_malloc(nodes * sizeof *info);
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
  there = core_area[peer], here = (unsigned char *)rma_malloc(room);
#if GASNET_PSHM
  reached = info[peer].supernode == info[me].supernode ? there + info[peer].offset : own;
#else
  reached = peer == me ? there : own;
#endif
  if (me == 0)
    for (c = 0; calls[c]; c++)
      for (k = 0; k < sizeof lens / sizeof *lens; k++) {
        struct row r;
        if (argc > 3 && !strchr(argv[3], calls[c])) continue;
        r.call = calls[c], r.len = lens[k], r.few = 4;
        r.n = payload / r.len > MOST ? MOST : payload / r.len / r.few * r.few;
        r.n = r.n < 2 * r.few ? 2 * r.few : r.n;
        if (r.len == 8 || r.len == 64) { /* what a call costs: few pieces */
          const size_t n = r.n;
          for (r.n = 4; r.n <= 64 && r.n < n; r.n *= 4) both_ways(&r, room);
          r.n = n;
        }
        both_ways(&r, room);
      }
  CHECK(here != NULL && info != NULL, "memory");
  test_end();
}
