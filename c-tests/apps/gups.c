/* Random updates of a table that is spread over all nodes: table[r] ^= r for random r, the pattern of RandomAccess.
 *
 * usage: gups [-u updates per node] [-t log2 of words per node] [-b updates per batch] [-v variants] [-q]
 *        (-q: no verification)
 *
 * Variants:
 *   s  one AM Short per update, no reply; the batches are only for flow of control
 *   m  AM Medium with a batch of updates per destination, each replied to, a few in flight per destination
 *   g  value get, xor, value put; the nodes take turns at each other's tables, so that no update is lost
 *   n  the same with batches of non-blocking gets, then of non-blocking puts
 * Each variant starts from table[i] = i. Verification: every node replays the streams of all nodes on a fresh copy of
 * its part and compares. In EVERYTHING mode a table of the default size is static memory. */
#include "../testarea.h"

#include <unistd.h>

enum { HIDX_UPDATE = 201, HIDX_UPDATES, HIDX_DONE, HIDX_SENT };

#define BATCH_MOST 512 /* words of a Medium of 4096 bytes */
#define FLYING 4       /* batches per destination on their way */
#define STATIC_LOG 12

typedef uint64_t word;

static long updates = 8000;
static int log_words = STATIC_LOG, batch = 64, verify = 1;
static const char *variants = "smgn";

static size_t words; /* per node, a power of two */
static word *table;
static unsigned char **table_of;

/* Variants s and m. */
static long applied;                   /* updates that handlers made here */
static long due, announced;            /* that others sent here; nodes that said how many */
static int *flying;                    /* batches without answer, per destination */
static word (*bucket)[BATCH_MOST];     /* per destination */
static int *filled;
static long *sent_to;
static gasnet_hsl_t updating = GASNET_HSL_INITIALIZER; /* PAR: handlers may run on any thread inside the library */

/* ---- the streams ---- */

static word next_random(word *state) {
  word x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}
static word first_random(gasnet_node_t node) { return 0x9E3779B97F4A7C15ULL * (node + 1); }
static gasnet_node_t node_of(word r) { return (gasnet_node_t)((r >> 32) % nodes); }
static size_t index_of(word r) { return (size_t)(r & (words - 1)); }

/* ---- handlers ---- */

static void apply(const word *r, size_t n) {
  size_t i;
  gasnet_hsl_lock(&updating);
  for (i = 0; i < n; i++) table[index_of(r[i])] ^= r[i];
  applied += (long)n;
  gasnet_hsl_unlock(&updating);
}
static void update_h(gasnet_token_t token, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  const word r = (word)(uint32_t)hi << 32 | (uint32_t)lo;
  (void)token;
  apply(&r, 1);
}
static void updates_h(gasnet_token_t token, void *buf, size_t nbytes) {
  CHECK(nbytes % sizeof(word) == 0, "%lu bytes", (unsigned long)nbytes);
  apply((const word *)buf, nbytes / sizeof(word));
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_DONE));
}
static void done_h(gasnet_token_t token) {
  const gasnet_node_t from = core_source(token);
  gasnet_hsl_lock(&updating);
  flying[from]--;
  gasnet_hsl_unlock(&updating);
}
static void sent_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  (void)token;
  gasnet_hsl_lock(&updating);
  due += n, announced++;
  gasnet_hsl_unlock(&updating);
}

/* Tells every node how many updates went there, and waits for those that come here: exactly as many must have. */
static void settle_messages(void) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort1(i, HIDX_SENT, (gasnet_handlerarg_t)sent_to[i]));
  GASNET_BLOCKUNTIL(AREA_LOAD(&announced) == (long)nodes && AREA_LOAD(&applied) >= AREA_LOAD(&due));
  test_barrier();
  CHECK(applied == due, "%ld updates came, %ld were sent", applied, due);
}

/* ---- variants ---- */

static void by_short(void) {
  word r = first_random(me);
  long k;
  for (k = 0; k < updates; k++) {
    const gasnet_node_t to = (next_random(&r), node_of(r));
    GASNET_SAFE(gasnet_AMRequestShort2(to, HIDX_UPDATE, CORE_HI(r), CORE_LO(r)));
    sent_to[to]++;
    if (k % batch == batch - 1) GASNET_SAFE(gasnet_AMPoll());
  }
  settle_messages();
}

static void send_bucket(gasnet_node_t to) {
  if (!filled[to]) return;
  GASNET_BLOCKUNTIL(AREA_LOAD(&flying[to]) < FLYING);
  gasnet_hsl_lock(&updating);
  flying[to]++;
  gasnet_hsl_unlock(&updating);
  GASNET_SAFE(gasnet_AMRequestMedium0(to, HIDX_UPDATES, bucket[to], (size_t)filled[to] * sizeof(word)));
  sent_to[to] += filled[to];
  filled[to] = 0; /* a Medium's source is free at return */
}
static void by_medium(void) {
  word r = first_random(me);
  gasnet_node_t to;
  long k;
  for (k = 0; k < updates; k++) {
    to = (next_random(&r), node_of(r));
    bucket[to][filled[to]++] = r;
    if (filled[to] == batch) send_bucket(to);
  }
  for (to = 0; to < nodes; to++) send_bucket(to);
  for (to = 0; to < nodes; to++) GASNET_BLOCKUNTIL(AREA_LOAD(&flying[to]) == 0);
  settle_messages();
}

/* One batch of updates of `owner`'s table, no word twice. */
static void get_and_put(gasnet_node_t owner, const word *r, int n) {
  word value[BATCH_MOST];
  gasnet_handle_t handle[BATCH_MOST];
  word *there = (word *)(void *)table_of[owner];
  int i;
  for (i = 0; i < n; i++) handle[i] = gasnet_get_nb(&value[i], owner, &there[index_of(r[i])], sizeof(word));
  gasnet_wait_syncnb_all(handle, (size_t)n);
  for (i = 0; i < n; i++) {
    value[i] ^= r[i];
    gasnet_put_nbi(owner, &there[index_of(r[i])], &value[i], sizeof(word));
  }
  gasnet_wait_syncnbi_puts();
}
static int is_among(const word *r, int n, word x) {
  while (n-- > 0)
    if (index_of(r[n]) == index_of(x)) return 1;
  return 0;
}

/* In turn t a node has the table of node me + t for itself. */
static void by_put_get(int is_batched) {
  const int most = batch < 16 ? batch : 16;
  gasnet_node_t turn;
  for (turn = 0; turn < nodes; turn++) {
    const gasnet_node_t owner = (me + turn) % nodes;
    word *there = (word *)(void *)table_of[owner], r = first_random(me), some[16];
    int n = 0;
    long k;
    for (k = 0; k < updates; k++) {
      if ((next_random(&r), node_of(r)) != owner) continue;
      if (!is_batched) {
        word *at = &there[index_of(r)];
        gasnet_put_val(owner, at, gasnet_get_val(owner, at, sizeof(word)) ^ r, sizeof(word));
        continue;
      }
      if (n == most || is_among(some, n, r)) get_and_put(owner, some, n), n = 0;
      some[n++] = r;
    }
    get_and_put(owner, some, n);
    test_barrier();
  }
}

/* ---- verification ---- */

static void check_table(char variant) {
  word *again = (word *)malloc(words * sizeof *again);
  size_t i, wrong = 0;
  gasnet_node_t node;
  for (i = 0; i < words; i++) again[i] = (word)i;
  for (node = 0; node < nodes; node++) {
    word r = first_random(node);
    long k;
    for (k = 0; k < updates; k++)
      if ((next_random(&r), node_of(r)) == me) again[index_of(r)] ^= r;
  }
  for (i = 0; i < words; i++) wrong += table[i] != again[i];
  CHECK(wrong == 0, "variant %c: %lu of %lu words differ from the replay", variant, (unsigned long)wrong,
        (unsigned long)words);
  free(again);
}

static void run_variant(char variant) {
  double seconds;
  size_t i;
  gasnet_node_t node;
  for (i = 0; i < words; i++) table[i] = (word)i;
  for (node = 0; node < nodes; node++) filled[node] = flying[node] = 0, sent_to[node] = 0;
  applied = due = announced = 0;
  test_barrier();
  seconds = test_now();
  if (variant == 's') by_short();
  if (variant == 'm') by_medium();
  if (variant == 'g') by_put_get(0);
  if (variant == 'n') by_put_get(1);
  test_barrier();
  seconds = test_now() - seconds;
  if (me == 0)
    printf("gups: variant %c: %ld updates, %lu words on each of %u nodes: %.3f s, %.6f GUPS\n", variant, updates,
           (unsigned long)words, (unsigned)nodes, seconds, (double)updates * (double)nodes / seconds / 1e9);
  if (verify) check_table(variant);
  test_barrier();
}

/* ---- main ---- */

static void find_tables(void) {
#if defined(GASNET_SEGMENT_EVERYTHING)
  static word static_table[1 << STATIC_LOG];
  table = log_words <= STATIC_LOG ? static_table : (word *)(void *)core_area[me];
  table_of = area_announce(0, table);
#else
  table = (word *)(void *)core_area[me];
  table_of = core_area;
#endif
}

static void options(int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "u:t:b:v:q")) != -1) {
    if (option == 'u') updates = atol(optarg);
    if (option == 't') log_words = atoi(optarg);
    if (option == 'b') batch = atoi(optarg);
    if (option == 'v') variants = optarg;
    if (option == 'q') verify = 0;
    if (option == '?') batch = 0;
  }
  if (updates < 1 || updates > 0x7fffffffL || log_words < 1 || log_words > 27 || batch < 1 || batch > BATCH_MOST ||
      strspn(variants, "smgn") != strlen(variants)) {
    if (me == 0)
      fprintf(stderr, "usage: gups [-u updates] [-t log2 of words, at most 27] [-b batch, at most %d] [-v smgn] [-q]\n",
              BATCH_MOST);
    gasnet_exit(2);
  }
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t handlers[] = {{HIDX_UPDATE, (void (*)())update_h},
                                            {HIDX_UPDATES, (void (*)())updates_h},
                                            {HIDX_DONE, (void (*)())done_h},
                                            {HIDX_SENT, (void (*)())sent_h}};
  const char *v;
  core_init(&argc, &argv, "gups");
  options(argc, argv);
  if (updates > 100000) alarm(0);
  if (gasnet_AMMaxMedium() / sizeof(word) < (size_t)batch) batch = (int)(gasnet_AMMaxMedium() / sizeof(word));
  words = (size_t)1 << log_words;
  flying = (int *)calloc(nodes, sizeof *flying);
  filled = (int *)calloc(nodes, sizeof *filled);
  sent_to = (long *)calloc(nodes, sizeof *sent_to);
  bucket = (word(*)[BATCH_MOST])malloc(nodes * sizeof *bucket);
  area_attach(handlers, (int)(sizeof handlers / sizeof *handlers), words * sizeof(word));
  find_tables();
  test_begin("gups");
  for (v = variants; *v; v++) run_variant(*v);
  test_end();
  return 0;
}
