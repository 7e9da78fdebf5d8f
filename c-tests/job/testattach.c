/* Start-up and gasnet_attach: list A, items 1, 4, 8 to 10 and 12 to 17 (contract: core.md §6.1, §6.2, §7, §8, §13).
 *
 *   testattach [SCENARIO [ARGUMENT]]     testattach -l   lists the scenarios
 *
 * A process can call gasnet_attach once, so each way of calling it is a scenario. `all`, the default, covers as much as
 * one start allows. testattach_bad has the calls that the library must refuse, testconst the constants. */
#include "../test.h"

#include <stdint.h>

#define PAGE ((uintptr_t)GASNET_PAGESIZE)
#define EVERYTHING_SIZE (~(uintptr_t)0)

enum { H_SAME = 200, H_TOUCH = 255, H_BYTE = 128, H_HELLO = 190, DONT_CARE = 5 };

static gasnet_node_t me, nodes;

/* ---- node 0 compares a value of every node with its own ---------------------------------------------------------- */

static uint64_t *same_value;
static volatile int same_count;

static void same_arrives(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
  gasnet_node_t from = GASNET_MAXNODES;
  CHECK(gasnet_AMGetMsgSource(token, &from) == GASNET_OK, "source of a message");
  if (CHECK(from < nodes, "sender %u", (unsigned)from))
    same_value[from] = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
  same_count++;
}

static void check_same(uint64_t value, const char *what) {
  gasnet_node_t i;
  test_barrier();
  GASNET_SAFE(gasnet_AMRequestShort2(0, H_SAME, (gasnet_handlerarg_t)(value >> 32), (gasnet_handlerarg_t)value));
  if (me == 0) {
    GASNET_BLOCKUNTIL(same_count == (int)nodes);
    for (i = 0; i < nodes; i++)
      CHECK(same_value[i] == value, "%s differs between node 0 and node %u", what, (unsigned)i);
    same_count = 0;
  }
  test_barrier();
}

static uint64_t hash(const void *at, size_t n, uint64_t start) {
  const unsigned char *p = at;
  uint64_t h = start ? start : 0xCBF29CE484222325ULL;
  while (n--) h = (h ^ *p++) * 0x100000001B3ULL;
  return h;
}

/* ---- handlers that report themselves ----------------------------------------------------------------------------- */

static unsigned char *rank_seen;
static volatile int hellos;

static void hello(gasnet_token_t token, gasnet_handlerarg_t rank, gasnet_handlerarg_t of) {
  gasnet_node_t from = GASNET_MAXNODES;
  CHECK(gasnet_AMGetMsgSource(token, &from) == GASNET_OK && from == (gasnet_node_t)rank, "node %d", (int)rank);
  CHECK((gasnet_node_t)of == nodes, "node %d sees %d nodes, node %d sees %d", (int)rank, (int)of, (int)me, (int)nodes);
  if (CHECK((gasnet_node_t)rank < nodes, "rank %d", (int)rank)) rank_seen[rank]++;
  hellos++;
}

/* Item 1: every rank 0 to N-1 exactly once, as seen by every node. */
static void check_ranks(void) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++)
    GASNET_SAFE(gasnet_AMRequestShort2(i, H_HELLO, (gasnet_handlerarg_t)me, (gasnet_handlerarg_t)nodes));
  GASNET_BLOCKUNTIL(hellos == (int)nodes);
  for (i = 0; i < nodes; i++) CHECK(rank_seen[i] == 1, "rank %u seen %d times", (unsigned)i, rank_seen[i]);
  test_barrier();
}

static volatile int touched;
static void touch(gasnet_token_t token TEST_UNUSED, void *buf, size_t n, gasnet_handlerarg_t value) {
  CHECK(n == 1 && *(unsigned char *)buf == (unsigned char)value, "%d bytes", (int)n);
  touched++;
}

static volatile int bytes_seen;
static void byte_arrives(gasnet_token_t token TEST_UNUSED, void *buf, size_t n) {
  CHECK(n == 1 && *(char *)buf == 'x', "Medium of %d bytes", (int)n);
  bytes_seen++;
}

static volatile int dont_care_ran[DONT_CARE], dont_care_calls;
static void ran(int which) {
  dont_care_ran[which]++;
  dont_care_calls++;
}
static void dont_care_0(gasnet_token_t t) { (void)t, ran(0); }
static void dont_care_1(gasnet_token_t t) { (void)t, ran(1); }
static void dont_care_2(gasnet_token_t t) { (void)t, ran(2); }
static void dont_care_3(gasnet_token_t t) { (void)t, ran(3); }
static void dont_care_4(gasnet_token_t t) { (void)t, ran(4); }

static void allocate(void) {
  same_value = calloc(nodes, sizeof *same_value);
  rank_seen = calloc(nodes, 1);
  if (!same_value || !rank_seen) exit(99);
}

static void attach_plain(uintptr_t segsize) {
  gasnet_handlerentry_t table[] = {{H_SAME, same_arrives}, {H_TOUCH, touch}, {H_BYTE, byte_arrives}, {H_HELLO, hello}};
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), segsize, 0));
  test_begin("testattach");
}

/* ---- item 8 and 9: between init and attach ----------------------------------------------------------------------- */

static void check_before_attach(void) {
  uintptr_t local = gasnet_getMaxLocalSegmentSize(), global = gasnet_getMaxGlobalSegmentSize();
  gasnet_nodeinfo_t *info = malloc(nodes * sizeof *info);
  CHECK(gasnet_nodes() >= 1 && gasnet_mynode() < gasnet_nodes(), "node %d of %d", (int)gasnet_mynode(),
        (int)gasnet_nodes());
#ifdef GASNET_SEGMENT_EVERYTHING
  CHECK(local == EVERYTHING_SIZE && global == EVERYTHING_SIZE, "%lx %lx", (long)local, (long)global);
#else
  CHECK(local > 0 && local % PAGE == 0, "local maximum %lu", (unsigned long)local);
  CHECK(global > 0 && global % PAGE == 0 && global <= local, "global maximum %lu", (unsigned long)global);
#endif
  CHECK(gasnet_getenv("GASNET_TESTATTACH_UNSET") == NULL, "an unset variable has a value");
  CHECK(gasnet_getNodeInfo(info, (int)nodes) == GASNET_OK && info[0].host == 0 && info[0].supernode == 0, "node info");
  CHECK(gasnet_set_waitmode(GASNET_WAIT_BLOCK) == GASNET_OK, "wait mode BLOCK");
  CHECK(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK) == GASNET_OK, "wait mode SPINBLOCK");
  CHECK(gasnet_set_waitmode(99) == GASNET_ERR_BAD_ARG, "wait mode 99");
  CHECK(gasnet_AMMaxArgs() == 16 && gasnet_AMMaxMedium() >= 512, "AM limits");
  CHECK((int)gasnet_AMMaxLongRequest() >= 512 && (int)gasnet_AMMaxLongReply() >= 512, "AM limits");
  gasnet_hold_interrupts();
  gasnet_resume_interrupts();
  CHECK(strcmp(gasnet_ErrorName(GASNET_OK), "GASNET_OK") == 0 && gasnet_ErrorDesc(GASNET_OK), "error texts");
  free(info);
}

/* ---- items 14 to 16: the tables ---------------------------------------------------------------------------------- */

/* A call filled `table`, of `room` entries of `entry` bytes, with n = `n`. The rest of the table must still be 0x5A. */
static void check_untouched(const void *table, size_t entry, int n, size_t room, const char *what) {
  const unsigned char *p = table;
  size_t from = (n < (int)nodes ? (size_t)n : nodes) * entry, i;
  for (i = from; i < room * entry; i++)
    if (!CHECK(p[i] == 0x5A, "%s wrote byte %d of entry %d, n = %d", what, (int)(i % entry), (int)(i / entry), n))
      return;
}

static void check_info_calls(void) {
  size_t room = nodes + 3;
  gasnet_seginfo_t *seg = malloc(room * sizeof *seg), *all = malloc(room * sizeof *all);
  gasnet_nodeinfo_t *node = malloc(room * sizeof *node), *all_nodes = malloc(room * sizeof *all_nodes);
  int counts[5], i;
  counts[0] = 0, counts[1] = 1, counts[2] = (int)nodes - 1, counts[3] = (int)nodes, counts[4] = (int)nodes + 3;
  GASNET_SAFE(gasnet_getSegmentInfo(all, (int)nodes));
  GASNET_SAFE(gasnet_getNodeInfo(all_nodes, (int)nodes));
  for (i = 0; i < 5; i++) {
    size_t filled = counts[i] < (int)nodes ? (size_t)counts[i] : nodes;
    memset(seg, 0x5A, room * sizeof *seg);
    memset(node, 0x5A, room * sizeof *node);
    CHECK(gasnet_getSegmentInfo(seg, counts[i]) == GASNET_OK, "n = %d", counts[i]);
    CHECK(gasnet_getNodeInfo(node, counts[i]) == GASNET_OK, "n = %d", counts[i]);
    CHECK(memcmp(seg, all, filled * sizeof *seg) == 0, "segment info, n = %d", counts[i]);
    CHECK(memcmp(node, all_nodes, filled * sizeof *node) == 0, "node info, n = %d", counts[i]);
    check_untouched(seg, sizeof *seg, counts[i], room, "gasnet_getSegmentInfo");
    check_untouched(node, sizeof *node, counts[i], room, "gasnet_getNodeInfo");
  }
  CHECK(gasnet_getSegmentInfo(seg, -1) == GASNET_ERR_BAD_ARG, "n = -1");
  CHECK(gasnet_getNodeInfo(node, -1) != GASNET_OK, "n = -1");
  free(seg), free(all), free(node), free(all_nodes);
}

/* Hosts and supernodes: numbered by first appearance, supernodes nested in hosts and bounded. */
static void check_node_info(void) {
  gasnet_nodeinfo_t *info = malloc(nodes * sizeof *info);
  const char *bound = gasnet_getenv("GASNET_SUPERNODE_MAXSIZE");
  gasnet_node_t i, k, hosts = 0, supernodes = 0, limit = bound ? (gasnet_node_t)atol(bound) : 0;
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
  for (i = 0; i < nodes; i++) {
    gasnet_node_t members = 0;
    CHECK(info[i].host <= hosts && info[i].supernode <= supernodes, "node %u: %u %u", (unsigned)i,
          (unsigned)info[i].host, (unsigned)info[i].supernode);
    hosts += info[i].host == hosts;
    supernodes += info[i].supernode == supernodes;
    for (k = 0; k < nodes; k++)
      if (info[k].supernode == info[i].supernode) {
        members++;
        CHECK(info[k].host == info[i].host, "nodes %u and %u: one supernode, two hosts", (unsigned)i, (unsigned)k);
      }
    CHECK(!limit || members <= limit, "supernode %u has %u nodes", (unsigned)info[i].supernode, (unsigned)members);
  }
#if GASNET_PSHM
  CHECK(info[me].offset == 0, "my own offset is %lx", (long)info[me].offset);
  for (i = 0; i < nodes; i++) info[i].offset = 0; /* the rest is the same everywhere */
  if (!limit) CHECK(supernodes == hosts, "%u hosts, %u supernodes", (unsigned)hosts, (unsigned)supernodes);
#else
  CHECK(supernodes == nodes, "%u supernodes", (unsigned)supernodes);
#endif
  check_same(hash(info, nodes * sizeof *info, 0), "node info");
  free(info);
}

#ifdef GASNET_SEGMENT_EVERYTHING
static void check_segments(const uintptr_t *asked TEST_UNUSED) {
  gasnet_seginfo_t *seg = malloc(nodes * sizeof *seg);
  gasnet_node_t i;
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)nodes));
  for (i = 0; i < nodes; i++)
    CHECK(seg[i].addr == NULL && seg[i].size == EVERYTHING_SIZE, "node %u: %p %lx", (unsigned)i, seg[i].addr,
          (long)seg[i].size);
  free(seg);
}
#else

static int TEST_UNUSED sharing(const gasnet_nodeinfo_t *info, gasnet_node_t i) {
  return info[i].supernode == info[me].supernode;
}

/* Items 13 and 16: every node writes its bytes at both ends of every segment, through the offset and by Long. The owner
 * finds all of them. Node i stores byte i from either end through the offset, and sends byte `nodes + i` by Long. */
static void check_access(const gasnet_seginfo_t *seg) {
  gasnet_nodeinfo_t *info = malloc(nodes * sizeof *info);
  gasnet_node_t i;
  int expected = seg[me].size ? 2 * (int)nodes : 0; /* Longs to this node */
  unsigned char value = (unsigned char)(me + 1);
  GASNET_SAFE(gasnet_getNodeInfo(info, (int)nodes));
  for (i = 0; i < nodes; i++) {
    unsigned char *low = seg[i].addr, *high = low + seg[i].size - 1;
    if (seg[i].size == 0) continue;
    GASNET_SAFE(gasnet_AMRequestLong1(i, H_TOUCH, &value, 1, low + nodes + me, value));
    GASNET_SAFE(gasnet_AMRequestLongAsync1(i, H_TOUCH, &value, 1, high - nodes - me, value));
#if GASNET_PSHM
    if (sharing(info, i)) low[info[i].offset + me] = value, *(high + info[i].offset - me) = value;
#endif
  }
  GASNET_BLOCKUNTIL(touched == expected);
  test_barrier();
  if (seg[me].size)
    for (i = 0; i < nodes; i++) {
      unsigned char *low = seg[me].addr, *high = low + seg[me].size - 1;
      CHECK(low[nodes + i] == (unsigned char)(i + 1), "first bytes, Long of node %u", (unsigned)i);
      CHECK(*(high - nodes - i) == (unsigned char)(i + 1), "last bytes, Long of node %u", (unsigned)i);
#if GASNET_PSHM
      if (!sharing(info, i)) continue;
      CHECK(low[i] == (unsigned char)(i + 1), "first bytes, store of node %u", (unsigned)i);
      CHECK(*(high - i) == (unsigned char)(i + 1), "last bytes, store of node %u", (unsigned)i);
#endif
    }
  if (seg[me].size) *(unsigned char *)seg[me].addr = (unsigned char)(77 + me);
  test_barrier();
#if GASNET_PSHM
  for (i = 0; i < nodes; i++) /* this node sees the owner's store through the offset */
    if (seg[i].size && sharing(info, i)) {
      unsigned char seen = ((unsigned char *)seg[i].addr)[info[i].offset];
      CHECK(seen == (unsigned char)(77 + i), "store of owner %u is not seen: %d", (unsigned)i, seen);
    }
#endif
  test_barrier();
  free(info);
}

static void check_segments(const uintptr_t *asked) {
  gasnet_seginfo_t *seg = malloc(nodes * sizeof *seg);
  void *base = NULL;
  gasnet_node_t i;
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)nodes));
  for (i = 0; i < nodes; i++) {
    CHECK(seg[i].size == asked[i], "node %u has %lu bytes, asked for %lu", (unsigned)i, (long)seg[i].size,
          (long)asked[i]);
    CHECK((uintptr_t)seg[i].addr % PAGE == 0 && seg[i].size % PAGE == 0, "node %u: %p", (unsigned)i, seg[i].addr);
    CHECK((seg[i].addr == NULL) == (seg[i].size == 0), "node %u: %p, %lu", (unsigned)i, seg[i].addr, (long)seg[i].size);
    if (base == NULL) base = seg[i].addr;
    if (GASNET_ALIGNED_SEGMENTS && seg[i].addr) CHECK(seg[i].addr == base, "node %u: %p", (unsigned)i, seg[i].addr);
  }
  check_same(hash(seg, nodes * sizeof *seg, 0), "segment info");
  check_access(seg);
  free(seg);
}
#endif

/* ---- the scenarios ----------------------------------------------------------------------------------------------- */

static int early_attach; /* what gasnet_attach said before gasnet_init */
static int given_argc, argc_before, *argc_at;
static char **argv_before, ***argv_at;

static void *hook_base;
static uintptr_t hook_size;
static int hook_calls;
static void attach_hook(void *base, uintptr_t size) {
  hook_base = base, hook_size = size, hook_calls++;
#ifndef GASNET_SEGMENT_EVERYTHING
  ((char *)base)[size - 1] = 1; /* the segment may be touched */
#endif
}

static uintptr_t odd_size(gasnet_node_t i) { return PAGE * (4 + i % 3 * 13); }

/* Item 17: attach gave the entries with index 0 the lowest free indices in order, and changed nothing else. */
static void check_table(const gasnet_handlerentry_t *table, const gasnet_handlerentry_t *given, int n) {
  int i, k, taken, next = 128;
  uint64_t sum = 0;
  for (i = 0; i < n; i++) {
    CHECK(table[i].fnptr == given[i].fnptr, "function of entry %d changed", i);
    if (given[i].index) {
      CHECK(table[i].index == given[i].index, "fixed index %d became %d", given[i].index, table[i].index);
      continue;
    }
    do {
      for (taken = k = 0; k < n; k++) taken |= given[k].index == next;
      next += taken;
    } while (taken);
    CHECK(table[i].index == next, "entry %d got index %d, not %d", i, table[i].index, next);
    next++;
    sum = sum * 257 + table[i].index;
  }
  check_same(sum, "assigned handler indices");
}

static void scenario_all(const char *argument TEST_UNUSED) {
  gasnet_handlerentry_t given[] = {{0, dont_care_0}, {H_SAME, same_arrives}, {0, dont_care_1}, {H_BYTE, byte_arrives},
                                   {130, byte_arrives}, {0, dont_care_2}, {H_TOUCH, touch}, {0, dont_care_3},
                                   {H_HELLO, hello}, {0, dont_care_4}};
  static const int where[DONT_CARE] = {0, 2, 5, 7, 9};
  int n = (int)(sizeof given / sizeof *given), hooks = 1, i;
  gasnet_handler_t index[DONT_CARE];
  gasnet_handlerentry_t *table = malloc(sizeof given);
  uintptr_t *asked = malloc(nodes * sizeof *asked), global = gasnet_getMaxGlobalSegmentSize();
  gasnet_seginfo_t *seg;
  gasnet_node_t k;
  CHECK(early_attach == GASNET_ERR_NOT_INIT, "gasnet_attach before gasnet_init: %s", gasnet_ErrorName(early_attach));
  CHECK(gasnet_init(argc_at, argv_at) == GASNET_ERR_NOT_INIT, "second gasnet_init");
  CHECK(*argc_at == argc_before && *argv_at == argv_before, "the second gasnet_init changed the arguments");
  check_before_attach();
  for (k = 0; k < nodes; k++) asked[k] = odd_size(k);
  memcpy(table, given, sizeof given);
  gasnet_client_attach_hook = attach_hook;
  GASNET_SAFE(gasnet_attach(table, n, asked[me], 8 << 20));
#ifdef GASNET_SEGMENT_EVERYTHING
  hooks = hook_calls; /* without a segment the library may leave the hook out */
#endif
  CHECK(hook_calls == hooks && hooks <= 1, "the attach hook was called %d times", hook_calls);
  CHECK(gasnet_attach(given, n, asked[me], 0) == GASNET_ERR_NOT_INIT, "second gasnet_attach");
  CHECK(hook_calls == hooks, "the attach hook was called by the second gasnet_attach");
  test_begin("testattach");
  check_table(table, given, n);
  for (i = 0; i < DONT_CARE; i++) index[i] = table[where[i]].index;
  memset(table, 0xFF, sizeof given);
  free(table);
  CHECK(gasnet_init(argc_at, argv_at) == GASNET_ERR_NOT_INIT, "third gasnet_init");
  check_ranks();
  for (k = 0; k < nodes; k++)
    for (i = 0; i < DONT_CARE; i++) GASNET_SAFE(gasnet_AMRequestShort0(k, index[i]));
  GASNET_BLOCKUNTIL(dont_care_calls == DONT_CARE * (int)nodes);
  for (i = 0; i < DONT_CARE; i++) CHECK(dont_care_ran[i] == (int)nodes, "handler %d ran %d times", i, dont_care_ran[i]);
  check_same(global, "maximal global segment size");
  check_same(hash(GASNET_CONFIG_STRING, strlen(GASNET_CONFIG_STRING), 0), "configuration string");
  check_segments(asked);
  check_info_calls();
  check_node_info();
  seg = malloc(nodes * sizeof *seg);
  GASNET_SAFE(gasnet_getSegmentInfo(seg, (int)nodes));
#ifndef GASNET_SEGMENT_EVERYTHING
  CHECK(hook_base == seg[me].addr && hook_size == seg[me].size, "the hook saw %p, %lu", hook_base, (long)hook_size);
#endif
  free(seg);
  free(asked);
  test_end();
}

/* Item 13: every node asks for the largest segment, with an absurd heap offset. */
static void scenario_full(const char *argument TEST_UNUSED) {
  uintptr_t *asked = malloc(nodes * sizeof *asked), most = gasnet_getMaxGlobalSegmentSize();
  gasnet_handlerentry_t table[] = {{H_SAME, same_arrives}, {H_TOUCH, touch}};
  gasnet_node_t k;
  for (k = 0; k < nodes; k++) asked[k] = most;
  GASNET_SAFE(gasnet_attach(table, 2, most, (uintptr_t)1 << 45 | 1));
  test_begin("testattach");
  check_segments(asked);
  check_same(most, "maximal global segment size");
  free(asked);
  test_end();
}

/* Item 10: the maximum is what the environment, or gasnet_max_segsize, says; ARGUMENT = bytes expected. */
static void scenario_max(const char *argument) {
  unsigned long TEST_UNUSED expected = argument ? strtoul(argument, NULL, 0) : 0;
#ifndef GASNET_SEGMENT_EVERYTHING
  CHECK(gasnet_getMaxLocalSegmentSize() == expected, "maximum %lu, expected %lu",
        (unsigned long)gasnet_getMaxLocalSegmentSize(), expected);
#endif
  scenario_full(NULL);
}

/* Item 12: nodes 1, 3, ... have no segment or, with `every`, no node has one. */
static void zero_segments(int every) {
  uintptr_t *asked = malloc(nodes * sizeof *asked);
  char x = 'x';
  gasnet_node_t k;
  for (k = 0; k < nodes; k++) asked[k] = every || k % 2 ? 0 : odd_size(k);
  attach_plain(asked[me]);
  check_segments(asked);
  check_ranks();
  for (k = 0; k < nodes; k++) GASNET_SAFE(gasnet_AMRequestMedium0(k, H_BYTE, &x, 1));
  GASNET_BLOCKUNTIL(bytes_seen == (int)nodes);
#ifndef GASNET_SEGMENT_EVERYTHING
  for (k = 0; k < nodes; k++)
    if (asked[k] == 0) {
      CHECK(gasnet_AMRequestLong1(k, H_TOUCH, &x, 1, &x, 'x') == GASNET_ERR_BAD_ARG, "Long to node %u", (unsigned)k);
      CHECK(gasnet_AMRequestLong1(k, H_TOUCH, &x, 1, NULL, 'x') == GASNET_ERR_BAD_ARG, "Long to node %u", (unsigned)k);
    }
#endif
  test_barrier();
  free(asked);
  test_end();
}

static void scenario_zero_odd(const char *argument) { (void)argument, zero_segments(0); }
static void scenario_zero_every(const char *argument) { (void)argument, zero_segments(1); }

/* A table of 128 entries, the most that a client can have: all of them work. */
static void scenario_most(const char *argument TEST_UNUSED) {
  static gasnet_handlerentry_t table[128];
  int i;
  for (i = 0; i < 128; i++) table[i].index = 0, table[i].fnptr = (void (*)())dont_care_0;
  GASNET_SAFE(gasnet_attach(table, 128, PAGE, 0));
  test_begin("testattach");
  for (i = 0; i < 128; i++) CHECK(table[i].index == 128 + i, "entry %d got index %d", i, table[i].index);
  for (i = 128; i < 256; i++) GASNET_SAFE(gasnet_AMRequestShort0((me + 1) % nodes, (gasnet_handler_t)i));
  GASNET_BLOCKUNTIL(dont_care_calls == 128);
  test_end();
}

static void scenario_empty(const char *argument) { /* ARGUMENT `null`: no table at all */
  gasnet_handlerentry_t table[] = {{H_SAME, same_arrives}};
  GASNET_SAFE(gasnet_attach(argument ? NULL : table, 0, 0, 0));
  test_begin("testattach");
  test_end();
}

/* The tables need not be the same on all nodes: node i registers its handler at index 150 + i % 100 only. */
static void scenario_own_tables(const char *argument TEST_UNUSED) {
  gasnet_handlerentry_t table[] = {{0, hello}};
  gasnet_node_t i;
  table[0].index = (gasnet_handler_t)(150 + me % 100);
  GASNET_SAFE(gasnet_attach(table, 1, 0, 0));
  test_begin("testattach");
  for (i = 0; i < nodes; i++)
    GASNET_SAFE(gasnet_AMRequestShort2(i, (gasnet_handler_t)(150 + i % 100), (gasnet_handlerarg_t)me,
                                       (gasnet_handlerarg_t)nodes));
  GASNET_BLOCKUNTIL(hellos == (int)nodes);
  test_end();
}

/* gasnet_init(NULL, NULL). The variable TESTATTACH_NULL asks for it. */
static void scenario_null_arguments(const char *argument TEST_UNUSED) {
  CHECK(given_argc < 0, "run me with TESTATTACH_NULL=1 in the environment");
  attach_plain(PAGE);
  check_ranks();
  test_end();
}

static const struct {
  const char *name;
  void (*run)(const char *argument);
} scenarios[] = {{"all", scenario_all},
                 {"full", scenario_full},
                 {"max", scenario_max},
                 {"zero-odd", scenario_zero_odd},
                 {"zero-every", scenario_zero_every},
                 {"most", scenario_most},
                 {"empty", scenario_empty},
                 {"own-tables", scenario_own_tables},
                 {"null-arguments", scenario_null_arguments}};

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_SAME, same_arrives}};
  const char *name;
  size_t i, count = sizeof scenarios / sizeof *scenarios;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) puts(scenarios[i].name);
    return 0;
  }
  early_attach = gasnet_attach(table, 1, 0, 0);
  argc_at = &argc, argv_at = &argv, argc_before = argc, argv_before = argv;
  if (getenv("TESTATTACH_NULL")) {
    given_argc = -1;
    GASNET_SAFE(gasnet_init(NULL, NULL));
  } else {
    GASNET_SAFE(gasnet_init(&argc, &argv));
  }
  alarm(120);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  test_name = "testattach";
  allocate();
  name = argc > 1 ? argv[1] : given_argc < 0 ? "null-arguments" : "all";
  for (i = 0; i < count; i++)
    if (strcmp(name, scenarios[i].name) == 0) scenarios[i].run(argc > 2 ? argv[2] : NULL);
  fprintf(stderr, "testattach: no scenario %s; -l lists them\n", name);
  gasnet_exit(2);
}
