/* Makes a known number of vector, indexed and strided transfers and of collectives. vis/scenarios.txt and
 * coll/scenarios.txt say what statistics and traces must show of them. Every blocking form is called once, every
 * form with a handle twice, every implicit one three times. Transfers have 24 bytes, collectives 8 bytes a block.
 *
 *   testcount vis | coll       default: both */
#include "../testarea.h"

#include <gasnet_coll.h>
#include <gasnet_vis.h>

enum { SPAN = 64, BYTES = 24, VERBS = 3, FORMS = 3 };
static const char *const verb_name[VERBS] = {"vector", "indexed", "strided"};

/* Three pieces of 8 bytes, 20 apart; on the other side the bytes are contiguous. */
static gasnet_memvec_t pieces[3], whole[1];
static void *places[3], *place[1];
static const size_t count[2] = {8, 3}, apart[1] = {20}, tight[1] = {8};

static void describe(unsigned char *in_pieces, unsigned char *together) {
  size_t i;
  for (i = 0; i < 3; i++) {
    places[i] = in_pieces + 20 * i;
    pieces[i].addr = places[i], pieces[i].len = 8;
  }
  place[0] = together;
  whole[0].addr = together, whole[0].len = BYTES;
}

static void put(int verb, int form, gasnet_node_t to) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (verb * FORMS + form) {
    case 0: gasnet_putv_bulk(to, 3, pieces, 1, whole); break;
    case 1: h = gasnet_putv_nb_bulk(to, 3, pieces, 1, whole); break;
    case 2: gasnet_putv_nbi_bulk(to, 3, pieces, 1, whole); break;
    case 3: gasnet_puti_bulk(to, 3, places, 8, 1, place, BYTES); break;
    case 4: h = gasnet_puti_nb_bulk(to, 3, places, 8, 1, place, BYTES); break;
    case 5: gasnet_puti_nbi_bulk(to, 3, places, 8, 1, place, BYTES); break;
    case 6: gasnet_puts_bulk(to, places[0], apart, place[0], tight, count, 1); break;
    case 7: h = gasnet_puts_nb_bulk(to, places[0], apart, place[0], tight, count, 1); break;
    default: gasnet_puts_nbi_bulk(to, places[0], apart, place[0], tight, count, 1);
  }
  gasnet_wait_syncnb(h);
  gasnet_wait_syncnbi_puts();
}

static void get(int verb, int form, gasnet_node_t from) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (verb * FORMS + form) {
    case 0: gasnet_getv_bulk(1, whole, from, 3, pieces); break;
    case 1: h = gasnet_getv_nb_bulk(1, whole, from, 3, pieces); break;
    case 2: gasnet_getv_nbi_bulk(1, whole, from, 3, pieces); break;
    case 3: gasnet_geti_bulk(1, place, BYTES, from, 3, places, 8); break;
    case 4: h = gasnet_geti_nb_bulk(1, place, BYTES, from, 3, places, 8); break;
    case 5: gasnet_geti_nbi_bulk(1, place, BYTES, from, 3, places, 8); break;
    case 6: gasnet_gets_bulk(place[0], tight, from, places[0], apart, count, 1); break;
    case 7: h = gasnet_gets_nb_bulk(place[0], tight, from, places[0], apart, count, 1); break;
    default: gasnet_gets_nbi_bulk(place[0], tight, from, places[0], apart, count, 1);
  }
  gasnet_wait_syncnb(h);
  gasnet_wait_syncnbi_gets();
}

/* Puts to the right neighbour's pieces, and gets them back. */
static void transfers(void) {
  const gasnet_node_t right = (me + 1) % nodes;
  unsigned char out[BYTES], in[BYTES];
  int verb, form, i;
  for (verb = 0; verb < VERBS; verb++)
    for (form = 0; form < FORMS; form++)
      for (i = 0; i <= form; i++) {
        const unsigned seed = (unsigned)(me * 100 + (unsigned)verb * 20 + (unsigned)form * 4 + (unsigned)i);
        test_fill(out, BYTES, seed);
        memset(in, 0, BYTES);
        describe(core_area[right], out);
        put(verb, form, right);
        describe(core_area[right], in);
        get(verb, form, right);
        CHECK(test_differs(in, BYTES, seed) == BYTES, "%s, form %d: byte %lu", verb_name[verb], form,
              (unsigned long)test_differs(in, BYTES, seed));
      }
}

static void add(void *results, size_t result_count, const void *left, size_t left_count, const void *right,
                size_t elem_size, int flags, int arg) {
  size_t i;
  (void)left_count, (void)elem_size, (void)flags, (void)arg;
  for (i = 0; i < result_count; i++) ((int *)results)[i] = ((const int *)left)[i] + ((const int *)right)[i];
}

enum { OPERATIONS = 7 };

/* One collective, whose root is the last node; with the handle of a non-blocking one. */
static gasnet_coll_handle_t collective(int operation, int blocking, int *dst, int *src) {
  const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
  const int scan = flags | GASNET_COLL_INCLUSIVE_SCAN;
  const gasnet_image_t root = nodes - 1;
  switch (operation * 2 + blocking) {
    case 0: return gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, dst, root, src, 8, flags);
    case 1: gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, root, src, 8, flags); break;
    case 2: return gasnet_coll_scatter_nb(GASNET_TEAM_ALL, dst, root, src, 8, flags);
    case 3: gasnet_coll_scatter(GASNET_TEAM_ALL, dst, root, src, 8, flags); break;
    case 4: return gasnet_coll_gather_nb(GASNET_TEAM_ALL, root, dst, src, 8, flags);
    case 5: gasnet_coll_gather(GASNET_TEAM_ALL, root, dst, src, 8, flags); break;
    case 6: return gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, dst, src, 8, flags);
    case 7: gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, 8, flags); break;
    case 8: return gasnet_coll_exchange_nb(GASNET_TEAM_ALL, dst, src, 8, flags);
    case 9: gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, 8, flags); break;
    case 10: return gasnet_coll_reduce_nb(GASNET_TEAM_ALL, root, dst, src, 0, 0, sizeof *src, 2, 0, 0, flags);
    case 11: gasnet_coll_reduce(GASNET_TEAM_ALL, root, dst, src, 0, 0, sizeof *src, 2, 0, 0, flags); break;
    case 12: return gasnet_coll_scan_nb(GASNET_TEAM_ALL, dst, 0, 0, src, 0, 0, sizeof *src, 2, 0, 0, scan);
    default: gasnet_coll_scan(GASNET_TEAM_ALL, dst, 0, 0, src, 0, 0, sizeof *src, 2, 0, 0, scan);
  }
  return GASNET_COLL_INVALID_HANDLE;
}

static void collectives(void) {
  int *dst = (int *)calloc(nodes, 8), *src = (int *)calloc(nodes, 8), operation, i;
  const int n = (int)nodes, before = (int)me + 1;
  /* The first value: the root's number, that of node 0, or a sum. */
  const int want[OPERATIONS] = {n, n, 1, 1, 1, n * (n + 1) / 2, before * (before + 1) / 2};
  gasnet_coll_fn_entry_t table[1];
  if (!dst || !src) gasnet_exit(98);
  table[0].fnptr = add, table[0].flags = 0;
  gasnet_coll_init(NULL, 0, table, 1, 0);
  for (i = 0; i < 2 * n; i++) src[i] = (int)me + 1;
  for (operation = 0; operation < OPERATIONS; operation++) {
    const int everywhere = operation != 2 && operation != 5;
    for (i = 0; i < 3; i++) {
      gasnet_coll_handle_t h;
      dst[0] = -1;
      h = collective(operation, i == 0, dst, src);
      if (i == 1) gasnet_coll_wait_sync(h);
      if (i == 2) gasnet_coll_wait_sync_all(&h, 1);
      if (everywhere || me == nodes - 1)
        CHECK(dst[0] == want[operation], "collective %d: %d instead of %d", operation, dst[0], want[operation]);
    }
  }
  free(dst), free(src);
}

int main(int argc, char **argv) {
  const char *what;
  core_init(&argc, &argv, "testcount");
  what = argc > 1 ? argv[1] : "both";
  area_attach(NULL, 0, SPAN);
  test_begin("testcount");
  if (strcmp(what, "coll")) transfers();
  if (strcmp(what, "vis")) collectives();
  test_end();
  return 0;
}
