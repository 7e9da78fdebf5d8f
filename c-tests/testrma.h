/* Shared by the programs of the Extended API, besides test.h and testcore.h: every form of put, get and memset and
 * every way to synchronise it, as values, and the addresses of peers' memory. Public names only.
 *
 * core_attach gives each node an area (its segment, or announced heap under EVERYTHING). rma_attach divides it into
 * one slice per initiator: rma_slice(p) is the part of p's area that only this node writes. */
#ifndef GASNET_SCI_TESTRMA_H
#define GASNET_SCI_TESTRMA_H

#include "testcore.h"

#include <unistd.h>

/* ---- memory ---- */

static size_t rma_slicesize;

static void TEST_UNUSED rma_attach(const gasnet_handlerentry_t *table, int n, size_t slicesize) {
  rma_slicesize = (slicesize + 63) / 64 * 64;
  core_attach(table, n, rma_slicesize * nodes);
}

/* The slice of node `p`'s area that belongs to initiator `from`. */
static TEST_UNUSED unsigned char *rma_sliceof(gasnet_node_t p, gasnet_node_t from) {
  return core_area[p] + (size_t)from * rma_slicesize;
}
static TEST_UNUSED unsigned char *rma_slice(gasnet_node_t p) { return rma_sliceof(p, me); }

static TEST_UNUSED void *rma_malloc(size_t n) {
  void *at = malloc(n ? n : 1);
  if (!at) {
    fprintf(stderr, "%s: node %u: no memory for %lu bytes\n", test_name, (unsigned)me, (unsigned long)n);
    gasnet_exit(98);
  }
  return at;
}

/* ---- forms ---- */

enum {
  RMA_BLOCKING, RMA_BULK, RMA_NB, RMA_NB_BULK, RMA_NBI, RMA_NBI_BULK, RMA_REGION, RMA_REGION_BULK, RMA_FORMS,
  RMA_VAL = RMA_FORMS, RMA_NB_VAL, RMA_NBI_VAL, RMA_REGION_VAL, RMA_ALLFORMS /* value forms: 1 ... 8 bytes */
};
static const char *const rma_formname[] TEST_UNUSED = {"blocking", "bulk", "nb", "nb_bulk", "nbi", "nbi_bulk", "region nbi",
                                                       "region nbi_bulk", "val", "nb_val", "nbi_val", "region nbi_val"};

/* An integer of `n` bytes as it lies at `at`, and ones in the bytes above. */
static gasnet_register_value_t TEST_UNUSED rma_value(const void *at, size_t n) {
  const unsigned one = 1;
  int little = *(const unsigned char *)&one;
  gasnet_register_value_t v = ~(gasnet_register_value_t)0;
  memcpy((char *)&v + (little ? 0 : sizeof v - n), at, n);
  return v;
}

/* Starts a put; the blocking forms are complete then. A region is opened, used once and closed. */
static gasnet_handle_t TEST_UNUSED rma_put(int form, gasnet_node_t node, void *dest, void *src, size_t n) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (form) {
    case RMA_BLOCKING: gasnet_put(node, dest, src, n); break;
    case RMA_BULK: gasnet_put_bulk(node, dest, src, n); break;
    case RMA_NB: h = gasnet_put_nb(node, dest, src, n); break;
    case RMA_NB_BULK: h = gasnet_put_nb_bulk(node, dest, src, n); break;
    case RMA_NBI: gasnet_put_nbi(node, dest, src, n); break;
    case RMA_NBI_BULK: gasnet_put_nbi_bulk(node, dest, src, n); break;
    case RMA_VAL: gasnet_put_val(node, dest, rma_value(src, n), n); break;
    case RMA_NB_VAL: h = gasnet_put_nb_val(node, dest, rma_value(src, n), n); break;
    case RMA_NBI_VAL: gasnet_put_nbi_val(node, dest, rma_value(src, n), n); break;
    default:
      gasnet_begin_nbi_accessregion();
      if (form == RMA_REGION) gasnet_put_nbi(node, dest, src, n);
      else if (form == RMA_REGION_BULK) gasnet_put_nbi_bulk(node, dest, src, n);
      else gasnet_put_nbi_val(node, dest, rma_value(src, n), n);
      h = gasnet_end_nbi_accessregion();
  }
  return h;
}

/* Starts a get; not for the value forms. */
static gasnet_handle_t TEST_UNUSED rma_get(int form, void *dest, gasnet_node_t node, void *src, size_t n) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (form) {
    case RMA_BLOCKING: gasnet_get(dest, node, src, n); break;
    case RMA_BULK: gasnet_get_bulk(dest, node, src, n); break;
    case RMA_NB: h = gasnet_get_nb(dest, node, src, n); break;
    case RMA_NB_BULK: h = gasnet_get_nb_bulk(dest, node, src, n); break;
    case RMA_NBI: gasnet_get_nbi(dest, node, src, n); break;
    case RMA_NBI_BULK: gasnet_get_nbi_bulk(dest, node, src, n); break;
    default:
      gasnet_begin_nbi_accessregion();
      if (form == RMA_REGION) gasnet_get_nbi(dest, node, src, n);
      else gasnet_get_nbi_bulk(dest, node, src, n);
      h = gasnet_end_nbi_accessregion();
  }
  return h;
}

/* Starts a memset: blocking, nb, nbi or region. */
static gasnet_handle_t TEST_UNUSED rma_memset(int form, gasnet_node_t node, void *dest, int value, size_t n) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (form) {
    case RMA_BLOCKING: case RMA_BULK: gasnet_memset(node, dest, value, n); break;
    case RMA_NB: case RMA_NB_BULK: h = gasnet_memset_nb(node, dest, value, n); break;
    case RMA_NBI: case RMA_NBI_BULK: gasnet_memset_nbi(node, dest, value, n); break;
    default:
      gasnet_begin_nbi_accessregion();
      gasnet_memset_nbi(node, dest, value, n);
      h = gasnet_end_nbi_accessregion();
  }
  return h;
}

static int TEST_UNUSED rma_isimplicit(int form) {
  return form == RMA_NBI || form == RMA_NBI_BULK || form == RMA_NBI_VAL;
}

/* ---- syncs ---- */

enum {
  RMA_WAIT, RMA_TRY, RMA_TRY_NOPOLL, RMA_WAIT_ALL, RMA_TRY_ALL, RMA_TRY_ALL_NOPOLL, RMA_WAIT_SOME, RMA_TRY_SOME,
  RMA_TRY_SOME_NOPOLL, RMA_WAYS
};

/* The value of a try form: nothing but OK and NOT_READY is allowed. */
static int TEST_UNUSED rma_isdone(int rc) {
  if (rc != GASNET_OK && rc != GASNET_ERR_NOT_READY) CHECK(0, "a try form returned %d", rc);
  return rc != GASNET_ERR_NOT_READY;
}

/* Applies one of the array syncs to `n` handles once (wait) or until it says OK (try). */
static void TEST_UNUSED rma_sync_array(gasnet_handle_t *h, size_t n, int way) {
  switch (way) {
    case RMA_WAIT_ALL: gasnet_wait_syncnb_all(h, n); break;
    case RMA_TRY_ALL: while (!rma_isdone(gasnet_try_syncnb_all(h, n))) continue; break;
    case RMA_TRY_ALL_NOPOLL: while (!rma_isdone(gasnet_try_syncnb_all_nopoll(h, n))) GASNET_SAFE(gasnet_AMPoll()); break;
    case RMA_WAIT_SOME: gasnet_wait_syncnb_some(h, n); break;
    case RMA_TRY_SOME: while (!rma_isdone(gasnet_try_syncnb_some(h, n))) continue; break;
    default: while (!rma_isdone(gasnet_try_syncnb_some_nopoll(h, n))) GASNET_SAFE(gasnet_AMPoll());
  }
}

static void TEST_UNUSED rma_sync_handle(gasnet_handle_t h, int way) {
  gasnet_handle_t three[3];
  switch (way) {
    case RMA_WAIT: gasnet_wait_syncnb(h); return;
    case RMA_TRY: while (!rma_isdone(gasnet_try_syncnb(h))) continue; return;
    case RMA_TRY_NOPOLL: while (!rma_isdone(gasnet_try_syncnb_nopoll(h))) GASNET_SAFE(gasnet_AMPoll()); return;
    default: break;
  }
  three[0] = three[2] = GASNET_INVALID_HANDLE, three[1] = h;
  rma_sync_array(three, 3, way);
  CHECK(three[0] == GASNET_INVALID_HANDLE && three[1] == GASNET_INVALID_HANDLE && three[2] == GASNET_INVALID_HANDLE,
        "way %d leaves a live handle in the array", way);
}

enum { RMA_PUTS, RMA_GETS, RMA_ALL };
static void TEST_UNUSED rma_sync_implicit(int kind, int tries) {
  if (kind == RMA_PUTS) {
    if (!tries) gasnet_wait_syncnbi_puts();
    else while (!rma_isdone(gasnet_try_syncnbi_puts())) continue;
  } else if (kind == RMA_GETS) {
    if (!tries) gasnet_wait_syncnbi_gets();
    else while (!rma_isdone(gasnet_try_syncnbi_gets())) continue;
  } else {
    if (!tries) gasnet_wait_syncnbi_all();
    else while (!rma_isdone(gasnet_try_syncnbi_all())) continue;
  }
}

/* Completes what rma_put, rma_get or rma_memset with `form` returned; `pick` chooses among all ways. */
static void TEST_UNUSED rma_finish(int form, gasnet_handle_t h, int kind, unsigned pick) {
  if (rma_isimplicit(form)) rma_sync_implicit(pick & 2 ? kind : RMA_ALL, (int)(pick & 1));
  else rma_sync_handle(h, (int)(pick % RMA_WAYS));
}

static void TEST_UNUSED rma_put_done(int form, unsigned pick, gasnet_node_t node, void *dest, void *src, size_t n) {
  rma_finish(form, rma_put(form, node, dest, src, n), RMA_PUTS, pick);
}
static void TEST_UNUSED rma_get_done(int form, unsigned pick, void *dest, gasnet_node_t node, void *src, size_t n) {
  rma_finish(form, rma_get(form, dest, node, src, n), RMA_GETS, pick);
}
static void TEST_UNUSED rma_memset_done(int form, unsigned pick, gasnet_node_t node, void *dest, int value, size_t n) {
  rma_finish(form, rma_memset(form, node, dest, value, n), RMA_PUTS, pick);
}

/* ---- sizes around every threshold a library may have ---- */

static const size_t rma_sizes[] TEST_UNUSED = {
    0,    1,    2,    3,     4,     5,     6,      7,      8,      9,      15,  16,  17,  31,  32,  33,
    47,   48,   49,   63,    64,    65,    95,     96,     97,     111,    112, 113, 127, 128, 129, 255,
    256,  257,  511,  512,   513,   1023,  1024,   1025,   2047,   2048,   2049, 4095, 4096, 4097, 8191, 8192,
    8193, 16383, 16384, 16385, 65535, 65536, 65537, 262143, 262144, 262145, 1048575, 1048576, 1048577};
enum { RMA_SIZES = sizeof rma_sizes / sizeof *rma_sizes };

#endif
