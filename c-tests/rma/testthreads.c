/* Client threads that make all kinds of calls at the same time (contract items 107–111).
 *
 * usage: testthreads [iterations per thread, default 40 [threads, default 2, 8 and 64]]
 *
 * PAR: 2 to 64 threads per node. SEQ and PARSYNC: the same steps on one thread. */
#include "../testpar.h"

#include <dirent.h>
#include <unistd.h>

enum { HIDX_PING = 201, HIDX_COPY, HIDX_LAND, HIDX_ANSWER, HIDX_TALLY };

/* Each thread of each node has a slot of CELLS cells in every area. */
#define CELLS 8
#define CELL 128
#define SLOT (CELLS * CELL)
#define HANDLES (2 * CELLS + 2)

static int threads; /* in this round */
static struct worker {
  unsigned random;
  int asked, answered; /* requests of this thread, and answers */
  int handles, values;
  int in_region;
  unsigned char source[CELLS][CELL], buffer[CELLS][CELL];
  unsigned char *shadow; /* what the thread's slots hold, of all nodes */
  gasnet_handle_t handle[HANDLES];
  long *requests;        /* sent to each node */
} worker[PAR_MOST];
static long came, due, tallies;

static unsigned char *slot_at(gasnet_node_t at, gasnet_node_t of, int thread) {
  return core_area[at] + (of * (size_t)PAR_MOST + (size_t)thread) * SLOT;
}
static unsigned below(struct worker *w, unsigned n) { return test_random(&w->random) % n; }

/* ---- handlers ---- */

static void answer(gasnet_token_t token, gasnet_handlerarg_t thread) {
  TEST_COUNT(&came);
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_ANSWER, thread));
}
static void ping_h(gasnet_token_t token, gasnet_handlerarg_t thread) { answer(token, thread); }
static void copy_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t thread, gasnet_handlerarg_t hi,
                   gasnet_handlerarg_t lo) {
  memcpy(CORE_PTR(hi, lo), buf, nbytes);
  answer(token, thread);
}
static void land_h(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t thread,
                   gasnet_handlerarg_t seed) {
  CHECK(core_differs(buf, nbytes, (unsigned)seed) == nbytes, "a Long of %lu bytes of thread %d of node %u",
        (unsigned long)nbytes, (int)thread, (unsigned)core_source(token));
  answer(token, thread);
}
static void answer_h(gasnet_token_t token, gasnet_handlerarg_t thread) {
  (void)token;
  TEST_COUNT(&worker[thread].answered);
}
static void tally_h(gasnet_token_t token, gasnet_handlerarg_t n) {
  (void)token;
#if defined(__GNUC__)
  __atomic_add_fetch(&due, n, __ATOMIC_RELAXED);
  __atomic_add_fetch(&tallies, 1, __ATOMIC_RELEASE);
#else
  due += n, tallies++;
#endif
}

static void await_answers(struct worker *w) { GASNET_BLOCKUNTIL(AREA_LOAD(&w->answered) == w->asked); }

/* ---- 107: writes of every kind into the cells of one slot, then reads of every kind ---- */

enum { P_PUT, P_BULK, P_NB, P_NB_BULK, P_NBI, P_NBI_BULK, P_SET, P_SET_NB, P_SET_NBI, P_VAL, P_VAL_NB, P_VAL_NBI };
enum { P_MEDIUM = P_VAL_NBI + 1, P_LONG, P_REGION, P_NOTHING, P_KINDS };
enum { G_GET, G_BULK, G_NB, G_NB_BULK, G_NBI, G_NBI_BULK, G_VAL, G_VAL_NB, G_REGION, G_KINDS };

static gasnet_register_value_t value_of(const unsigned char *at, size_t n) {
  gasnet_register_value_t v = ~(gasnet_register_value_t)0; /* garbage above */
#if defined(PLATFORM_ARCH_BIG_ENDIAN)
  memcpy((char *)&v + sizeof v - n, at, n);
#else
  memcpy(&v, at, n);
#endif
  return v;
}

/* Writes a random piece of one cell; complete after sync_writes. */
static void write_cell(struct worker *w, int index, gasnet_node_t node, int cell) {
  const unsigned kind = below(w, P_KINDS), seed = test_random(&w->random);
  const size_t start = below(w, CELL - 8);
  const size_t n = kind >= P_VAL && kind <= P_VAL_NBI ? 1 + below(w, 8) : 1 + below(w, (unsigned)(CELL - start));
  unsigned char *to = slot_at(node, me, index) + cell * CELL + start, *from = w->source[cell];
  unsigned char *shadow = w->shadow + node * (size_t)SLOT + cell * CELL + start;
  if (kind == P_NOTHING) return;
  core_fill(from, n, seed);
  memcpy(shadow, from, n);
  if (kind >= P_SET && kind <= P_SET_NBI) memset(shadow, (int)(seed & 255), n);
  switch (kind) {
    case P_PUT: gasnet_put(node, to, from, n); break;
    case P_BULK: gasnet_put_bulk(node, to, from, n); break;
    case P_NB:
      w->handle[w->handles++] = gasnet_put_nb(node, to, from, n);
      memset(from, 0, n);
      break;
    case P_NB_BULK: w->handle[w->handles++] = gasnet_put_nb_bulk(node, to, from, n); break;
    case P_NBI:
      gasnet_put_nbi(node, to, from, n);
      memset(from, 0, n);
      break;
    case P_NBI_BULK: gasnet_put_nbi_bulk(node, to, from, n); break;
    case P_SET: gasnet_memset(node, to, (int)(seed | 0xff00), n); shadow[0] = (unsigned char)seed; break;
    case P_SET_NB: w->handle[w->handles++] = gasnet_memset_nb(node, to, (int)(seed & 255), n); break;
    case P_SET_NBI: gasnet_memset_nbi(node, to, (int)(seed & 255), n); break;
    case P_VAL: gasnet_put_val(node, to, value_of(from, n), n); break;
    case P_VAL_NB: w->handle[w->handles++] = gasnet_put_nb_val(node, to, value_of(from, n), n); break;
    case P_VAL_NBI: gasnet_put_nbi_val(node, to, value_of(from, n), n); break;
    case P_MEDIUM:
      GASNET_SAFE(gasnet_AMRequestMedium3(node, HIDX_COPY, from, n, index, CORE_HI(to), CORE_LO(to)));
      w->asked++, w->requests[node]++;
      break;
    case P_LONG:
      GASNET_SAFE(gasnet_AMRequestLong2(node, HIDX_LAND, from, n, to, index, (gasnet_handlerarg_t)seed));
      w->asked++, w->requests[node]++;
      break;
    default: /* a region of two halves */
      gasnet_begin_nbi_accessregion();
      gasnet_put_nbi_bulk(node, to, from, n / 2);
      gasnet_put_nbi(node, to + n / 2, from + n / 2, n - n / 2);
      w->handle[w->handles++] = gasnet_end_nbi_accessregion();
      break;
  }
}

/* Explicit handles in one of six ways. */
static void sync_handles(struct worker *w) {
  const size_t n = (size_t)w->handles;
  size_t i;
  switch (below(w, 6)) {
    case 0: gasnet_wait_syncnb_all(w->handle, n); break;
    case 1:
      while (gasnet_try_syncnb_all(w->handle, n) != GASNET_OK) {}
      break;
    case 2:
      for (i = n; i-- > 0;) gasnet_wait_syncnb(w->handle[i]);
      break;
    case 3:
      for (i = 0; i < n; i++)
        while (gasnet_try_syncnb(w->handle[i]) != GASNET_OK) {}
      break;
    default: /* some, until none is left */
      for (i = 0; i < n;) {
        gasnet_wait_syncnb_some(w->handle, n);
        for (i = 0; i < n && w->handle[i] == GASNET_INVALID_HANDLE;) i++;
      }
      break;
  }
  w->handles = 0;
}

static void sync_writes(struct worker *w) {
  sync_handles(w);
  if (below(w, 2))
    gasnet_wait_syncnbi_puts();
  else
    while (gasnet_try_syncnbi_all() != GASNET_OK) {}
  await_answers(w);
}

static void read_cells(struct worker *w, int index, gasnet_node_t node) {
  gasnet_valget_handle_t value[CELLS];
  unsigned kind[CELLS];
  int cell;
  memset(w->buffer, 0, sizeof w->buffer);
  for (cell = 0; cell < CELLS; cell++) {
    unsigned char *from = slot_at(node, me, index) + cell * CELL, *to = w->buffer[cell];
    kind[cell] = below(w, G_KINDS);
    switch (kind[cell]) {
      case G_GET: gasnet_get(to, node, from, CELL); break;
      case G_BULK: gasnet_get_bulk(to, node, from, CELL); break;
      case G_NB: w->handle[w->handles++] = gasnet_get_nb(to, node, from, CELL); break;
      case G_NB_BULK: w->handle[w->handles++] = gasnet_get_nb_bulk(to, node, from, CELL); break;
      case G_NBI: gasnet_get_nbi(to, node, from, CELL); break;
      case G_NBI_BULK: gasnet_get_nbi_bulk(to, node, from, CELL); break;
      case G_REGION:
        gasnet_begin_nbi_accessregion();
        gasnet_get_nbi_bulk(to, node, from, CELL);
        w->handle[w->handles++] = gasnet_end_nbi_accessregion();
        break;
      case G_VAL_NB: value[cell] = gasnet_get_nb_val(node, from, 1 + (size_t)(cell & 7)); break;
      default: break;
    }
  }
  for (cell = CELLS; cell-- > 0;) {
    const unsigned char *from = slot_at(node, me, index) + cell * CELL;
    const unsigned char *shadow = w->shadow + node * (size_t)SLOT + cell * CELL;
    const size_t n = 1 + (size_t)(cell & 7);
    gasnet_register_value_t want = value_of(shadow, n), got;
    if (n < sizeof want) want &= ((gasnet_register_value_t)1 << (8 * n)) - 1;
    if (kind[cell] != G_VAL && kind[cell] != G_VAL_NB) continue;
    got = kind[cell] == G_VAL ? gasnet_get_val(node, (void *)(uintptr_t)from, n)
                              : gasnet_wait_syncnb_valget(value[cell]);
    CHECK(got == want, "value of %lu bytes from node %u: %llx, not %llx", (unsigned long)n, (unsigned)node,
          (unsigned long long)got, (unsigned long long)want);
  }
  sync_handles(w);
  if (below(w, 2))
    gasnet_wait_syncnbi_gets();
  else
    while (gasnet_try_syncnbi_gets() != GASNET_OK) {}
  for (cell = 0; cell < CELLS; cell++)
    if (kind[cell] != G_VAL && kind[cell] != G_VAL_NB)
      CHECK(memcmp(w->buffer[cell], w->shadow + node * (size_t)SLOT + cell * CELL, CELL) == 0,
            "cell %d of thread %d at node %u, get of kind %u", cell, index, (unsigned)node, kind[cell]);
}

static long steps;
static void item107_everything(int index) {
  struct worker *w = &worker[index];
  long i;
  for (i = 0; i < steps; i++) {
    const gasnet_node_t node = below(w, nodes), other = below(w, nodes);
    int cell;
    for (cell = 0; cell < CELLS; cell++) write_cell(w, index, node, cell);
    if (below(w, 2)) GASNET_SAFE(gasnet_AMPoll());
    GASNET_SAFE(gasnet_AMRequestShort1(other, HIDX_PING, index));
    w->asked++, w->requests[other]++;
    sync_writes(w);
    read_cells(w, index, node);
  }
  await_answers(w);
}

/* Every request was handled exactly once. */
static void check_requests(void) {
  gasnet_node_t node;
  int i;
  for (node = 0; node < nodes; node++) {
    long n = 0;
    for (i = 0; i < PAR_MOST; i++) n += worker[i].requests[node], worker[i].requests[node] = 0;
    GASNET_SAFE(gasnet_AMRequestShort1(node, HIDX_TALLY, (gasnet_handlerarg_t)n));
  }
  GASNET_BLOCKUNTIL(AREA_LOAD(&tallies) == (long)nodes);
  test_barrier();
  CHECK(came == due, "%ld requests came, %ld were sent", came, due);
  came = due = tallies = 0;
  test_barrier();
}

static void run_everything(int n, long iterations) {
  threads = n, steps = iterations;
  test_barrier();
  par_run(item107_everything, n);
  test_barrier();
  check_requests();
}

/* ---- 108: implicit syncs are the thread's own, and others' operations do not delay them for ever ---- */

static int quiet; /* how many of the syncing threads are done */
#define SYNCERS 2

static void item108_own_syncs(int index) {
  struct worker *w = &worker[index];
  const gasnet_node_t node = (me + 1) % nodes;
  unsigned char *slot = slot_at(node, me, index);
  unsigned i, word, back;
  if (index >= SYNCERS) { /* never syncs while the others do, but within reason: 64 operations in a row, then a poll */
    while (AREA_LOAD(&quiet) < SYNCERS) {
      for (i = 0; i < 64; i++) gasnet_put_nbi(node, slot + 4 * (i % 16), &i, sizeof i);
      GASNET_SAFE(gasnet_AMPoll());
    }
    gasnet_wait_syncnbi_all();
    return;
  }
  for (i = 0; i < (unsigned)steps; i++) {
    word = test_random(&w->random);
    gasnet_put_nbi(node, slot, &word, sizeof word);
    if (i % 2)
      gasnet_wait_syncnbi_puts();
    else
      while (gasnet_try_syncnbi_puts() != GASNET_OK) {}
    back = ~word;
    gasnet_get_nbi(&back, node, slot, sizeof back);
    gasnet_wait_syncnbi_all();
    CHECK(back == word, "%x put and synced, %x got", word, back);
  }
  TEST_COUNT(&quiet);
}

/* ---- 109: regions of threads at the same time ---- */

#if defined(GASNET_PAR)
static pthread_barrier_t together;
static void meet(void) { pthread_barrier_wait(&together); }
#else
static void meet(void) {}
#endif

/* All regions are open at once; the odd threads' stay open while the even ones' are closed, synced and looked at. */
static void item109_regions(int index) {
  struct worker *w = &worker[index];
  const gasnet_node_t node = (me + (gasnet_node_t)index + 1) % nodes;
  unsigned char *slot = slot_at(node, me, index), back[SLOT];
  long round;
  for (round = 0; round < steps; round++) {
    const unsigned seed = test_random(&w->random);
    gasnet_handle_t region = GASNET_INVALID_HANDLE;
    int cell, turn;
    for (cell = 0; cell < CELLS; cell++) core_fill(w->source[cell], CELL, seed + (unsigned)cell);
    memset(back, 0, sizeof back);
    gasnet_put_nbi_bulk(node, slot, w->source[0], CELL); /* before: not of the region */
    gasnet_begin_nbi_accessregion();
    meet();
    for (cell = 1; cell < CELLS; cell++) gasnet_put_nbi_bulk(node, slot + cell * CELL, w->source[cell], CELL);
    for (turn = 0; turn < 2; turn++) {
      meet();
      if (index % 2 != turn) continue;
      region = gasnet_end_nbi_accessregion();
      gasnet_wait_syncnb(region);
      gasnet_get_bulk(back + CELL, node, slot + CELL, SLOT - CELL);
      for (cell = 1; cell < CELLS; cell++)
        CHECK(core_differs(back + cell * CELL, CELL, seed + (unsigned)cell) == CELL, "cell %d of a region, thread %d",
              cell, index);
    }
    gasnet_wait_syncnbi_puts();
    gasnet_get_bulk(back, node, slot, CELL);
    CHECK(core_differs(back, CELL, seed) == CELL, "put before a region, thread %d", index);
    meet();
  }
}

/* ---- 110: threads that come and go ---- */

static int generation;

static void item110_one_of_many(int index) {
  const gasnet_node_t node = (me + (gasnet_node_t)generation) % nodes;
  const unsigned seed = core_seed(me, 110, (unsigned)generation);
  unsigned char *slot = slot_at(node, me, index), here[CELL], back[CELL];
  struct worker *w = &worker[index];
  gasnet_handle_t h, most[1000]; /* what a thread needs for these must be of use to the next thread */
  size_t i;
  core_fill(here, sizeof here, seed);
  gasnet_put_nbi(node, slot, here, sizeof here);
  gasnet_wait_syncnbi_puts();
  for (i = 0; i < 1000; i++) most[i] = gasnet_get_nb(back, node, slot, 1);
  gasnet_wait_syncnb_all(most, 1000);
  h = gasnet_get_nb(back, node, slot, sizeof back);
  GASNET_SAFE(gasnet_AMRequestShort1(node, HIDX_PING, index));
  w->asked++, w->requests[node]++;
  gasnet_wait_syncnb(h);
  await_answers(w);
  CHECK(core_differs(back, sizeof back, seed) == sizeof back, "thread number %d", generation);
  CHECK(gasnet_try_syncnbi_all() == GASNET_OK, "thread number %d begins with implicit operations", generation);
  if (generation % 8 == 0) { /* forgotten: an error of the client, but none that may do harm */
    gasnet_put_nbi(node, slot + CELL, here, sizeof here);
    h = gasnet_put_nb(node, slot + 2 * CELL, here, sizeof here);
    (void)h;
  }
}

/* Where /proc is: open descriptors; otherwise 0. */
static long descriptors(void) {
  DIR *d = opendir("/proc/self/fd");
  long n = 0;
  if (!d) return 0;
  while (readdir(d)) n++;
  closedir(d);
  return n;
}
static void item110_come_and_go(int many) {
  const char *network = gasnet_getenv("GASNET_SCI_NETWORK");
  /* tcp;ofi_rxm touches the pages of its pool of buffers one after the other, 12 MiB until it has had all of them. */
  long room = network && strncmp(network, "ofi", 3) == 0 ? 16384 : 2048;
  long files = 0, memory = 0;
  test_barrier();
  for (generation = 0; generation < many; generation++) {
    if (generation == many / 4) files = descriptors(), memory = test_resident_kib();
    par_run(item110_one_of_many, 1);
  }
  test_barrier();
  CHECK(descriptors() == files, "%ld descriptors after a quarter of the threads, %ld after all", files, descriptors());
  CHECK(test_resident_kib() < memory + room, "%ld KiB after a quarter of %d threads, %ld after all", memory, many,
        test_resident_kib());
  check_requests();
}

/* ---- 111: thread information ---- */

static gasnet_threadinfo_t info_of[PAR_MOST];

static gasnet_threadinfo_t posted(gasnet_threadinfo_t info) {
  GASNET_POST_THREADINFO(info);
  gasnet_threadinfo_t here = GASNET_GET_THREADINFO();
  {
    GASNET_BEGIN_FUNCTION();
    gasnet_threadinfo_t inner = GASNET_GET_THREADINFO();
    int declared = 1;
    {
      GASNET_POST_THREADINFO(GASNET_GET_THREADINFO());
      gasnet_threadinfo_t innermost = GASNET_GET_THREADINFO();
      CHECK(innermost == inner && inner == here && declared, "nested blocks see %p, %p, %p", innermost, inner, here);
    }
  }
  return here;
}

static void item111_thread_info(int index) {
  GASNET_BEGIN_FUNCTION();
  int i;
  info_of[index] = GASNET_GET_THREADINFO();
  meet();
  for (i = 0; i < 100; i++) {
    CHECK(GASNET_GET_THREADINFO() == info_of[index], "thread %d: %p became %p", index, info_of[index],
          GASNET_GET_THREADINFO());
    CHECK(posted(info_of[index]) == info_of[index], "thread %d", index);
    GASNET_SAFE(gasnet_AMPoll());
  }
  for (i = 0; i < threads; i++) {
    CHECK(i == index || info_of[i] != info_of[index], "threads %d and %d have %p", i, index, info_of[i]);
#if defined(GASNET_PAR)
    CHECK(info_of[i] != NULL, "thread %d", i);
#endif
  }
  meet();
}

/* ---- main ---- */

/* Runs `fn` on n threads that can meet. */
static void run_together(void (*fn)(int), int n, long iterations) {
  threads = PAR_THREADS(n), steps = iterations;
#if defined(GASNET_PAR)
  pthread_barrier_init(&together, NULL, (unsigned)threads);
#endif
  test_barrier();
  par_run(fn, threads);
  test_barrier();
#if defined(GASNET_PAR)
  pthread_barrier_destroy(&together);
#endif
}

static void prepare_workers(void) {
  int i;
  for (i = 0; i < PAR_MOST; i++) {
    worker[i].random = core_seed(me, (unsigned)i, 7) | 1;
    worker[i].shadow = (unsigned char *)calloc(nodes, SLOT);
    worker[i].requests = (long *)calloc(nodes, sizeof(long));
    if (!worker[i].shadow || !worker[i].requests) gasnet_exit(98);
  }
}
static void clear_slots(void) {
  int i;
  test_barrier();
  memset(core_area[me], 0, nodes * (size_t)PAR_MOST * SLOT);
  for (i = 0; i < PAR_MOST; i++) memset(worker[i].shadow, 0, nodes * (size_t)SLOT);
  test_barrier();
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_PING, (void (*)())ping_h},
                                         {HIDX_COPY, (void (*)())copy_h},
                                         {HIDX_LAND, (void (*)())land_h},
                                         {HIDX_ANSWER, (void (*)())answer_h},
                                         {HIDX_TALLY, (void (*)())tally_h}};
  long iterations;
  int asked;
  core_init(&argc, &argv, "testthreads");
  iterations = core_number(argc, argv, 1, 40);
  asked = (int)core_number(argc, argv, 2, 0);
  if (iterations > 400) alarm(0);
  if (asked > PAR_MOST) asked = PAR_MOST;
  area_attach(table, (int)(sizeof table / sizeof *table), nodes * (size_t)PAR_MOST * SLOT);
  test_begin("testthreads");
  prepare_workers();
  clear_slots();
  if (asked) {
    run_everything(PAR_THREADS(asked), iterations);
  } else {
    run_everything(PAR_THREADS(2), iterations);
    run_everything(PAR_THREADS(8), iterations / 4 + 1);
    run_everything(PAR_THREADS(PAR_MOST), iterations / 20 + 1);
  }
  clear_slots();
#if defined(GASNET_PAR)
  quiet = 0;
  run_together(item108_own_syncs, SYNCERS + 2, iterations * 2);
#else
  run_together(item108_own_syncs, 1, iterations * 2);
#endif
  run_together(item109_regions, asked ? asked : 4, iterations / 4 + 1);
  run_together(item111_thread_info, asked ? asked : 16, 0);
  item110_come_and_go((int)iterations * 8);
  test_end();
  return 0;
}
