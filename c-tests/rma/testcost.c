/* The cost that the library adds to the hardware, measured in turns in one run: transfers beside a bare copy between
 * the same two buffers, the barrier beside a bare cache-line round trip. The program checks the bytes moved, not the
 * speed.
 *
 * usage: testcost [-m] [rounds [maxsize]]
 *   rounds   of each measure, default 15; a round times ours and the bare one right after each other
 *   maxsize  bytes of the largest transfer, default 4 MiB
 *   -m       machine: testcost,measure,bytes,bare ns,ours ns,difference ns,ratio
 *
 * Node 0 works with node 1 (with itself if it is alone), the others wait in a barrier. Each column is the median of the
 * rounds, so the ratio is not quite the quotient of the two columns. Bind the nodes: gasnetrun_sci -c 1 -n 2 testcost */
#include "../testarea.h"

#define MAXROUNDS 1001
enum { PUT, GET, PUT_NB, GET_NB, PUT_NBI, GET_NBI, PUT_VAL, GET_VAL, FORMS };
static const char *const form_name[] = {"put", "get", "put_nb", "get_nb", "put_nbi", "get_nbi", "put_val", "get_val"};
static int rounds = 15, machine;
static size_t maxsize = 4 << 20;
static double bare_ns[MAXROUNDS], ours_ns[MAXROUNDS], ratio[MAXROUNDS], extra[MAXROUNDS];
static volatile gasnet_register_value_t sink;

#if defined(__GNUC__)
#define FENCE() __asm__ __volatile__("" ::: "memory")
#else
#define FENCE() ((void)0)
#endif

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
static double median(double *v) {
  qsort(v, (size_t)rounds, sizeof *v, by_value);
  return v[rounds / 2];
}
static void row(const char *name, size_t nbytes) {
  int r;
  double b, o, d, q;
  for (r = 0; r < rounds; r++) ratio[r] = ours_ns[r] / bare_ns[r], extra[r] = ours_ns[r] - bare_ns[r];
  b = median(bare_ns), o = median(ours_ns), d = median(extra), q = median(ratio);
  if (machine)
    printf("testcost,%s,%lu,%.3f,%.3f,%.3f,%.4f\n", name, (unsigned long)nbytes, b, o, d, q);
  else
    printf("%-16s %8lu B  bare %12.2f ns  ours %12.2f ns  difference %+10.2f ns  ratio %6.3f\n", name,
           (unsigned long)nbytes, b, o, d, q);
  fflush(stdout);
}

/* ---- transfers: remote is the peer's memory as GASNet names it, mapped the same memory as this process sees it ---- */

static gasnet_node_t peer;
static unsigned char *remote, *mapped, *local;

static int times_of(size_t nbytes) {
  const size_t n = (64u << 20) / (nbytes + 512);
  return n > 20000 ? 20000 : n < 8 ? 8 : (int)n;
}

/* One loop per form and constant size, as a client would write it. */
#define LOOP(call)                                                                                                   \
  do {                                                                                                               \
    for (i = 0; i < n; i++) {                                                                                        \
      call;                                                                                                          \
      FENCE();                                                                                                       \
    }                                                                                                                \
  } while (0)
#define OURS(nbytes)                                                                                                 \
  switch (form) {                                                                                                    \
    case PUT: LOOP(gasnet_put(peer, remote, local, nbytes)); break;                                                  \
    case GET: LOOP(gasnet_get(local, peer, remote, nbytes)); break;                                                  \
    case PUT_NB: LOOP(gasnet_wait_syncnb(gasnet_put_nb(peer, remote, local, nbytes))); break;                        \
    case GET_NB: LOOP(gasnet_wait_syncnb(gasnet_get_nb(local, peer, remote, nbytes))); break;                        \
    case PUT_NBI: LOOP(gasnet_put_nbi(peer, remote, local, nbytes)); gasnet_wait_syncnbi_puts(); break;              \
    default: LOOP(gasnet_get_nbi(local, peer, remote, nbytes)); gasnet_wait_syncnbi_gets(); break;                   \
  }
#define BARE(nbytes)                                                                                                 \
  switch (form) {                                                                                                    \
    case PUT: case PUT_NB: case PUT_NBI: LOOP(memcpy(mapped, local, nbytes)); break;                                 \
    default: LOOP(memcpy(local, mapped, nbytes)); break;                                                             \
  }

static double ours(int form, size_t nbytes, int n) {
  const double start = test_now();
  int i;
  if (form == PUT_VAL)
    LOOP(gasnet_put_val(peer, remote, (gasnet_register_value_t)i, 8));
  else if (form == GET_VAL)
    LOOP(sink = gasnet_get_val(peer, remote, 8));
  else if (nbytes == 8)
    OURS(8)
  else
    OURS(nbytes)
  return (test_now() - start) / n * 1e9;
}
static double bare(int form, size_t nbytes, int n) {
  const double start = test_now();
  int i;
  if (form == PUT_VAL)
    LOOP(*(volatile gasnet_register_value_t *)(void *)mapped = (gasnet_register_value_t)i);
  else if (form == GET_VAL)
    LOOP(sink = *(volatile gasnet_register_value_t *)(void *)mapped);
  else if (nbytes == 8)
    BARE(8)
  else
    BARE(nbytes)
  return (test_now() - start) / n * 1e9;
}

static void transfers(int form, size_t nbytes) {
  const int n = times_of(nbytes);
  int r;
  ours(form, nbytes, n), bare(form, nbytes, n);
  for (r = 0; r < rounds; r++) {
    if (r % 2) ours_ns[r] = ours(form, nbytes, n);
    bare_ns[r] = bare(form, nbytes, n);
    if (r % 2 == 0) ours_ns[r] = ours(form, nbytes, n);
  }
  row(form_name[form], nbytes);
}

static void compare(void) {
  size_t same;
  core_fill(local, maxsize, 7);
  gasnet_put(peer, remote, local, maxsize);
  memset(local, 0, maxsize);
  gasnet_get(local, peer, remote, maxsize);
  same = core_differs(local, maxsize, 7);
  CHECK(same == maxsize, "byte %lu of %lu", (unsigned long)same, (unsigned long)maxsize);
}

/* ---- the barrier of two nodes, and two flags, each written by one node and polled by the other ---- */

static volatile unsigned *flag_mine, *flag_theirs;
static unsigned turn;

static void ping_pong(int n) {
  int i;
  for (i = 0; i < n; i++) {
    turn++;
    if (me == 0) *flag_theirs = turn;
    while (*flag_mine != turn) {
    }
    if (me == 1) *flag_theirs = turn;
  }
}
static void barriers(int n) {
  int i;
  for (i = 0; i < n; i++) {
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
  }
}
static double timed(void (*what)(int), int n) {
  double start;
  test_barrier();
  start = test_now();
  what(n);
  return (test_now() - start) / n * 1e9;
}

int main(int argc, char **argv) {
  gasnet_nodeinfo_t *info;
  size_t nbytes;
  uintptr_t off = 0;
  int form, i, r, can_map = 0, position = 0;
  core_init(&argc, &argv, "testcost");
  for (i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-m")) machine = 1;
    else if (position++ == 0) rounds = atoi(argv[i]);
    else maxsize = (size_t)atol(argv[i]);
  }
  if (rounds < 1 || rounds > MAXROUNDS || maxsize < 8) {
    if (me == 0) fprintf(stderr, "usage: testcost [-m] [rounds (1 to 1001) [maxsize]]\n");
    gasnet_exit(1);
  }
  area_attach(NULL, 0, maxsize + 4096);
  test_begin("testcost");
  peer = nodes > 1 ? 1 - me % 2 : me;
  local = (unsigned char *)malloc(maxsize + 4096);
  local += 64 - (uintptr_t)local % 64;
  remote = core_area[peer];
  info = (gasnet_nodeinfo_t *)calloc(nodes, sizeof *info);
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
#if GASNET_PSHM
  can_map = info[me].supernode == info[peer].supernode;
  off = info[peer].offset;
#else
  can_map = peer == me;
#endif
  mapped = (unsigned char *)((uintptr_t)remote + off);
  memset(local, 1, maxsize);
  memset(core_area[me], 1, maxsize + 4096);
  test_barrier();

  if (me == 0 && !can_map) printf("testcost: the peer's memory is not mapped here: bare copies are not to be had\n");
  if (me == 0 && can_map) {
    for (form = 0; form < FORMS; form++) transfers(form, 8);
    for (nbytes = 64; nbytes <= maxsize; nbytes *= 4)
      for (form = PUT; form <= GET; form++) transfers(form, nbytes);
  }
  if (me == 0) compare();
  test_barrier();
  if (nodes == 2 && can_map) {
    flag_mine = (volatile unsigned *)(void *)(core_area[me] + maxsize + 1024);
    flag_theirs = (volatile unsigned *)(void *)(mapped + maxsize + 1024);
    *flag_mine = 0;
    test_barrier();
    timed(ping_pong, 1000), timed(barriers, 1000);
    for (r = 0; r < rounds; r++) bare_ns[r] = timed(ping_pong, 2000), ours_ns[r] = timed(barriers, 2000);
    if (me == 0) row("barrier", 0);
  } else {
    for (r = 0; r < rounds; r++) bare_ns[r] = ours_ns[r] = timed(barriers, 200);
    if (me == 0) printf("barrier of %u nodes: %.3f us\n", (unsigned)nodes, median(ours_ns) / 1e3);
  }
  test_end();
  return 0;
}
