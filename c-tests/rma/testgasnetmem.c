/* The memory that transfers may touch, and when nodes see the bytes: list E, items 67, 68, 74, 75, 88, 89, 91.
 *
 *   testgasnetmem [iterations]
 *
 * Under EVERYTHING the remote side is also static, heap, mapped and stack memory of the peers, which they announce
 * by AM. */
#include "../testrma.h"

#if defined(GASNET_SEGMENT_EVERYTHING)
#include <sys/mman.h>
#endif

enum { BLOCK = 20000, HIDX_PLACE = 200, HIDX_SEEN, HIDX_SEEN_DONE, HIDX_TOLD };
enum { PLACE_STATIC, PLACE_HEAP, PLACE_STACK, PLACE_MAPPED, PLACES };
static const char *const place_name[] TEST_UNUSED = {"static", "heap", "stack", "mapped"};

static unsigned turn;

/* ---- item 68: the local side
 * ------------------------------------------------------------------------------------------------ */

static unsigned char static_memory[BLOCK];
static const unsigned char read_only[257] = "Put sources may be read-only memory, strings for one. The quick brown fox...";

/* Puts and gets with every third form, beginning elsewhere at each call: round trips are dear without shared memory. */
static void local_side(const char *what, unsigned char *local, gasnet_node_t p, unsigned char *remote, size_t n) {
  int form;
  for (form = (int)(turn % 3); form < RMA_FORMS; form += 3) {
    size_t wrong;
    turn++;
    core_fill(local, n, turn);
    rma_put_done(form, turn, p, remote, local, n);
    memset(local, 0, n);
    rma_get_done(RMA_FORMS - 1 - form, turn / 2, local, p, remote, n);
    wrong = core_differs(local, n, turn);
    CHECK(wrong == n, "%s, local side in %s memory, %lu bytes, node %u: byte %lu", rma_formname[form], what,
          (unsigned long)n, (unsigned)p, (unsigned long)wrong);
  }
}

static void item68_local_side(gasnet_node_t p) {
  static const size_t sizes[] = {1, 8, 100, 4096, BLOCK - 64};
  unsigned char stack[BLOCK];
  unsigned char *heap = (unsigned char *)rma_malloc(BLOCK);
  unsigned char *own = rma_slice(me) + rma_slicesize / 2; /* the own segment, not what we put to */
  size_t i;
  int form;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    local_side("stack", stack + i, p, rma_slice(p), sizes[i]);
    local_side("heap", heap + i, p, rma_slice(p), sizes[i]);
    local_side("static", static_memory + i, p, rma_slice(p), sizes[i]);
    local_side("segment", own + i, p, rma_slice(p), sizes[i]);
  }
  for (form = 0; form < RMA_FORMS; form++) {
    rma_put_done(form, (unsigned)form, p, rma_slice(p) + 5, (void *)(uintptr_t)read_only, sizeof read_only);
    memset(stack, 0, sizeof read_only);
    gasnet_get(stack, p, rma_slice(p) + 5, sizeof read_only);
    CHECK(memcmp(stack, read_only, sizeof read_only) == 0, "%s put from read-only memory", rma_formname[form]);
  }
  free(heap);
}

/* ---- item 68: the remote side
 * ----------------------------------------------------------------------------------------------- */

/* First and last bytes of p's whole area. Only one node at a time owns them. */
static void item68_ends(gasnet_node_t p) {
  static const size_t sizes[] = {1, 2, 7, 8, 64, 1000, 4096, 5000};
  unsigned char *start = core_area[p], *end = core_area[p] + core_areasize;
  size_t i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    local_side("static (target at the segment's start)", static_memory, p, start, sizes[i]);
    local_side("static (target at the segment's end)", static_memory, p, end - sizes[i], sizes[i]);
  }
}

static void item68_pages(gasnet_node_t p) {
  uintptr_t page = ((uintptr_t)rma_slice(p) + 2 * GASNET_PAGESIZE) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  size_t before;
  for (before = 1; before <= 64; before = before * 2 + 1)
    local_side("static (target over a page's end)", static_memory + before, p, (unsigned char *)page - before, before + 9);
  local_side("static (target over three pages)", static_memory, p, (unsigned char *)page - 5, 2 * GASNET_PAGESIZE + 10);
}

/* ---- item 74: nothing to do
 * ---------------------------------------------------------------------------------------------------- */

static void item74_size_zero(gasnet_node_t p) {
  void *bogus[4];
  volatile size_t zero = 0; /* not a constant to the compiler */
  int i, k, form;
  unsigned char before[64], after[64];
  bogus[0] = NULL, bogus[1] = (void *)(uintptr_t)1, bogus[2] = (void *)~(uintptr_t)0, bogus[3] = rma_slice(p);
  gasnet_get(before, p, rma_slice(p), sizeof before);
  for (i = 0; i < 4; i++)
    for (k = 0; k < 4; k++)
      for (form = 0; form < RMA_FORMS; form++) {
        gasnet_handle_t h = rma_put(form, p, bogus[i], bogus[k], zero);
        CHECK(form == RMA_REGION || form == RMA_REGION_BULK || h == GASNET_INVALID_HANDLE, "%s put of 0 bytes: live handle",
              rma_formname[form]);
        rma_finish(form, h, RMA_PUTS, (unsigned)(i + k));
        h = rma_get(form, bogus[i], p, bogus[k], zero);
        CHECK(form == RMA_REGION || form == RMA_REGION_BULK || h == GASNET_INVALID_HANDLE, "%s get of 0 bytes: live handle",
              rma_formname[form]);
        rma_finish(form, h, RMA_GETS, (unsigned)(i + k));
        h = rma_memset(form, p, bogus[i], 0x42, zero);
        CHECK(form == RMA_REGION || form == RMA_REGION_BULK || h == GASNET_INVALID_HANDLE, "%s memset of 0: live handle",
              rma_formname[form]);
        rma_finish(form, h, RMA_PUTS, (unsigned)(i + k));
      }
  CHECK(gasnet_put_nb(p, NULL, NULL, 0) == GASNET_INVALID_HANDLE, "constant 0");
  CHECK(gasnet_put_nb_bulk(p, NULL, NULL, 0) == GASNET_INVALID_HANDLE, "constant 0");
  CHECK(gasnet_get_nb(NULL, p, NULL, 0) == GASNET_INVALID_HANDLE, "constant 0");
  CHECK(gasnet_get_nb_bulk(NULL, p, NULL, 0) == GASNET_INVALID_HANDLE, "constant 0");
  CHECK(gasnet_memset_nb(p, NULL, 1, 0) == GASNET_INVALID_HANDLE, "constant 0");
  gasnet_get(after, p, rma_slice(p), sizeof after);
  CHECK(memcmp(before, after, sizeof before) == 0, "operations of 0 bytes changed memory of node %u", (unsigned)p);
}

/* ---- item 75: source and destination the same
 * ---------------------------------------------------------------------------------- */

static void item75_coinciding(void) {
  static const size_t sizes[] = {1, 2, 4, 8, 13, 64, 4096, 19999};
  unsigned char *at = rma_slice(me) + 3;
  size_t i;
  int form;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    core_fill(at, sizes[i], turn);
    for (form = 0; form < RMA_FORMS; form++) {
      rma_put_done(form, (unsigned)form, me, at, at, sizes[i]);
      rma_get_done(form, (unsigned)form + 1, at, me, at, sizes[i]);
    }
    CHECK(core_differs(at, sizes[i], turn) == sizes[i], "%lu bytes put and got onto themselves changed",
          (unsigned long)sizes[i]);
    turn++;
  }
}

/* ---- items 88, 89: the nodes that see a completed put
 * ------------------------------------------------------------------------------------ */

static volatile int told;                 /* by the node two before us */
static volatile int seen_right, seen_wrong; /* answers to our HIDX_SEEN */

static void told_h(gasnet_token_t token, gasnet_handlerarg_t round) { (void)token, told = (int)round; }

/* Runs at the target of a put that was synced before this request was sent. */
static void seen_h(gasnet_token_t token, gasnet_handlerarg_t n, gasnet_handlerarg_t seed) {
  unsigned char *at = rma_sliceof(me, core_source(token));
  GASNET_SAFE(gasnet_AMReplyShort1(token, HIDX_SEEN_DONE, core_differs(at, (size_t)n, (unsigned)seed) == (size_t)n));
}
static void seen_done_h(gasnet_token_t token, gasnet_handlerarg_t right) {
  (void)token;
  if (right) seen_right++;
  else seen_wrong++;
}

static void item89_put_then_am(gasnet_node_t p) {
  static const size_t sizes[] = {1, 8, 100, 4097, 16000};
  size_t i;
  int form, expected = 0;
  unsigned char *source = static_memory;
  seen_right = seen_wrong = 0;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (form = (int)(i % 2); form < RMA_FORMS; form += 2) {
      turn++;
      core_fill(source, sizes[i], turn);
      rma_put_done(form, turn, p, rma_slice(p), source, sizes[i]);
      expected++;
      GASNET_SAFE(gasnet_AMRequestShort2(p, HIDX_SEEN, (gasnet_handlerarg_t)sizes[i], (gasnet_handlerarg_t)turn));
      GASNET_BLOCKUNTIL(seen_right + seen_wrong == expected);
      CHECK(seen_wrong == 0, "%s put of %lu bytes, then AM: the handler of node %u saw old data", rma_formname[form],
            (unsigned long)sizes[i], (unsigned)p);
      seen_right += seen_wrong, seen_wrong = 0;
    }
}

/* We put to the next node and tell the one after that, which gets; after the barrier the owner loads. */
static void item88_third_node(int round) {
  gasnet_node_t next = (me + 1) % nodes, third = (me + 2) % nodes;
  gasnet_node_t owner = (me + nodes - 1) % nodes, writer = (owner + nodes - 1) % nodes;
  unsigned char data[600];
  int form = round % RMA_FORMS;
  unsigned seed = 5000 + (unsigned)round;
  core_fill(data, sizeof data, seed + me);
  rma_put_done(form, (unsigned)round, next, rma_slice(next), data, sizeof data);
  GASNET_SAFE(gasnet_AMRequestShort1(third, HIDX_TOLD, round));
  GASNET_BLOCKUNTIL(told == round);
  memset(data, 0, sizeof data);
  rma_get_done((round / 8) % RMA_FORMS, (unsigned)round, data, owner, rma_sliceof(owner, writer), sizeof data);
  CHECK(core_differs(data, sizeof data, seed + writer) == sizeof data, "%s put of node %u to node %u, round %d",
        rma_formname[form], (unsigned)writer, (unsigned)owner, round);
  test_barrier();
  CHECK(core_differs(rma_sliceof(me, owner), sizeof data, seed + owner) == sizeof data,
        "%s put of node %u: the owner loads old data, round %d", rma_formname[form], (unsigned)owner, round);
  test_barrier();
}

/* A store by the owner before the barrier is visible to gets after it. */
static void owner_stores(int round) {
  gasnet_node_t p = (me + 1 + (gasnet_node_t)round) % nodes;
  unsigned char data[333];
  core_fill(rma_sliceof(me, 0), sizeof data, 9000 + me + (unsigned)round);
  test_barrier();
  rma_get_done(round % RMA_FORMS, (unsigned)round, data, p, rma_sliceof(p, 0), sizeof data);
  CHECK(core_differs(data, sizeof data, 9000 + p + (unsigned)round) == sizeof data, "stores of node %u, round %d",
        (unsigned)p, round);
  test_barrier();
}

/* ---- item 91
 * ------------------------------------------------------------------------------------------------------------------- */

static void *(*places)[PLACES]; /* of every node */
static int places_known;
static void place_h(gasnet_token_t token, gasnet_handlerarg_t place, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  places[core_source(token)][place] = CORE_PTR(hi, lo);
  TEST_COUNT(&places_known);
}

#if defined(GASNET_SEGMENT_EVERYTHING)
static unsigned char everything_static[64 * 1024];
static void item91_everything(void) {
  unsigned char on_stack[64 * 1024];
  enum { EACH = 64 * 1024 };
  void *mine[PLACES];
  gasnet_node_t p;
  int i;
  mine[PLACE_STATIC] = everything_static;
  mine[PLACE_HEAP] = rma_malloc(EACH);
  mine[PLACE_STACK] = on_stack;
  mine[PLACE_MAPPED] = mmap(NULL, EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  places_known = 0;
  test_barrier();
  for (p = 0; p < nodes; p++)
    for (i = 0; i < PLACES; i++)
      GASNET_SAFE(gasnet_AMRequestShort3(p, HIDX_PLACE, i, CORE_HI(mine[i]), CORE_LO(mine[i])));
  GASNET_BLOCKUNTIL(places_known == (int)nodes * PLACES);
  test_barrier();
  for (p = 0; p < nodes; p++)
    for (i = 0; i < PLACES; i++) {
      size_t part = EACH / nodes;
      unsigned char *at = (unsigned char *)places[p][i] + me * part, *local = (unsigned char *)rma_malloc(EACH);
      size_t n = part < BLOCK ? part : BLOCK;
      local_side(place_name[i], local, p, at, n);
      local_side(place_name[i], local, p, at + 1, 8);
      rma_memset_done((int)(p % RMA_FORMS), p, p, at, (int)(0x30 + me), n);
      free(local);
    }
  test_barrier();
  for (p = 0; p < nodes; p++) /* the owner looks */
    for (i = 0; i < PLACES; i++) {
      size_t part = EACH / nodes, n = part < BLOCK ? part : BLOCK;
      CHECK(core_notall((unsigned char *)mine[i] + p * part, n, (unsigned char)(0x30 + p)) == n,
            "%s memory: memset of node %u", place_name[i], (unsigned)p);
    }
  test_barrier();
  munmap(mine[PLACE_MAPPED], EACH);
  free(mine[PLACE_HEAP]);
}
#else
static void item91_everything(void) {}
#endif

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_PLACE, (void (*)())place_h},
                                   {HIDX_SEEN, (void (*)())seen_h},
                                   {HIDX_SEEN_DONE, (void (*)())seen_done_h},
                                   {HIDX_TOLD, (void (*)())told_h}};
  long iterations, i;
  gasnet_node_t p, k;
  int round = 0;
  core_init(&argc, &argv, "testgasnetmem");
  iterations = core_number(argc, argv, 1, 1);
  places = (void *(*)[PLACES])rma_malloc(nodes * sizeof *places);
  rma_attach(table, (int)(sizeof table / sizeof *table), 4 * BLOCK);
  test_begin("testgasnetmem");
  for (i = 0; i < iterations; i++) {
    for (p = 0; p < nodes; p++) {
      gasnet_node_t to = (me + p) % nodes;
      item68_local_side(to);
      item68_pages(to);
      item74_size_zero(to);
      item89_put_then_am(to);
    }
    item75_coinciding();
    test_barrier();
    for (p = 0; p < nodes; p++) { /* the ends of an area belong to one node after the other */
      for (k = 0; k < nodes; k++)
        if ((me + p) % nodes == k) item68_ends(k);
      test_barrier();
    }
    for (k = 0; k < 16; k++) item88_third_node(++round);
    for (k = 0; k < 8; k++) owner_stores((int)k);
    item91_everything();
  }
  test_end();
  return 0;
}
