/* Streams of Longs between chosen nodes, at the same time: what they take when they share links, and when they do not.
 *
 *   streams [-n COUNT] [-b BYTES] [FROM-TO]...
 *
 * A node sends at most one stream, which is COUNT (default 4) Longs of BYTES (default 64 KiB). Without FROM-TO each node sends
 * to the next one. The receiver checks each payload. Node 0 prints the longest time of a stream, from a barrier to the
 * last reply, and the rate of all together. Times are those of gasnett_ticks, in timing mode those of the hardware. */
#include "../testcore.h"

#include <gasnet_tools.h>

enum { H_DATA = 200, H_TAKEN, H_TIME };
static long count = 4, bytes = 65536;
static long streams; /* of this node: 0 or 1 */
static volatile long taken;
static double longest;
static volatile int reports;

static unsigned seed_of(gasnet_node_t from, long k) { return (unsigned)(from * 100003u + (unsigned)k); }

static void data_h(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t k) {
  gasnet_node_t from = core_source(token);
  CHECK(core_differs(buf, n, seed_of(from, k)) == n, "Long %d of node %d", (int)k, (int)from);
  GASNET_SAFE(gasnet_AMReplyShort0(token, H_TAKEN));
}
static void taken_h(gasnet_token_t token) {
  (void)token;
  taken++;
}
static void time_h(gasnet_token_t token, void *buf, size_t n) {
  double theirs;
  (void)token;
  CHECK(n == sizeof theirs, "%d", (int)n);
  memcpy(&theirs, buf, sizeof theirs);
  if (theirs > longest) longest = theirs;
  reports++;
}

/* The memory of node `to` into which this node streams: two halves, in turns. */
static unsigned char *slice(gasnet_node_t to, long k) { return core_area[to] + ((size_t)me * 2 + (size_t)(k % 2)) * (size_t)bytes; }

static void send(gasnet_node_t to, const unsigned char *source, long k) {
  /* Long k uses the half of Long k-2, so it waits until k-1 Longs have been taken. */
  GASNET_BLOCKUNTIL(taken >= k - 1);
  GASNET_SAFE(gasnet_AMRequestLong1(to, H_DATA, (void *)(uintptr_t)source, (size_t)bytes, slice(to, k), (gasnet_handlerarg_t)k));
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{H_DATA, (void (*)())data_h}, {H_TAKEN, (void (*)())taken_h}, {H_TIME, (void (*)())time_h}};
  gasnet_node_t to = 0;
  unsigned char *sources;
  gasnett_tick_t start;
  double took = 0;
  long all = 0, k, *senders = NULL;
  int i, refused = 0;
  core_init(&argc, &argv, "streams");
  for (i = 1; i < argc; i++) {
    long from, target;
    if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) count = atol(argv[++i]);
    else if (strcmp(argv[i], "-b") == 0 && i + 1 < argc) bytes = atol(argv[++i]);
    else if (sscanf(argv[i], "%ld-%ld", &from, &target) == 2 && from >= 0 && target >= 0 && from < (long)nodes && target < (long)nodes) {
      for (k = 0; k < all; k++)
        if (senders[k] == from) refused = 1; /* two streams of one node */
      if (from == (long)me) to = (gasnet_node_t)target, streams = 1;
      senders = (long *)realloc(senders, (size_t)(all + 1) * sizeof *senders);
      senders[all++] = from;
    } else
      refused = 1;
  }
  if (!all) to = (gasnet_node_t)((me + 1) % nodes), streams = 1, all = (long)nodes;
  if (refused || count < 1 || bytes < 1 || bytes > (long)gasnet_AMMaxLongRequest()) {
    if (me == 0) fprintf(stderr, "usage: streams [-n COUNT] [-b BYTES, %lu at most] [FROM-TO]... (one of each node)\n", (unsigned long)gasnet_AMMaxLongRequest());
    gasnet_exit(2);
  }
  core_attach(table, 3, (size_t)nodes * 2 * (size_t)bytes);
  sources = (unsigned char *)malloc((size_t)count * (size_t)bytes);
  for (k = 0; k < count; k++) core_fill(sources + k * bytes, (size_t)bytes, seed_of(me, k));
  test_begin("streams");
  start = gasnett_ticks_now();
  for (k = 0; k < streams * count; k++) send(to, sources + k * bytes, k);
  GASNET_BLOCKUNTIL(taken == streams * count);
  if (streams) took = (double)gasnett_ticks_to_ns(gasnett_ticks_now() - start) * 1e-9;
  GASNET_SAFE(gasnet_AMRequestMedium0(0, H_TIME, &took, sizeof took));
  if (me == 0) {
    GASNET_BLOCKUNTIL(reports == (int)nodes);
    printf("%ld streams of %ld x %ld bytes: %.6f ms, %.1f MB/s together\n", all, count, bytes, longest * 1e3,
           longest > 0 ? (double)all * (double)count * (double)bytes / longest * 1e-6 : 0.0);
    fflush(stdout);
  }
  free(sources);
  free(senders);
  test_end();
  return 0;
}
