/* Handles, arrays of them, implicit sets and access regions: list E, items 79 to 82 and 84 to 87.
 *
 *   testnb [iterations] */
#include "../testrma.h"

enum { LIVE = 64, CELL = 4500, SLICE = LIVE * CELL };

static unsigned char *out, *in; /* a cell per operation, like the slice */
static unsigned turn;

static gasnet_node_t node_of(size_t i) { return (gasnet_node_t)((me + i) % nodes); }
static size_t size_of(size_t i) { return (i * 37 + turn) % 5 == 0 ? CELL : (i * 131 + turn) % 200 + 1; }
static unsigned seed_of(size_t i) { return turn * 100 + (unsigned)i; }

/* Fills the slices of all nodes with this turn's data, so that gets have something to fetch. */
static void lay_out(void) {
  size_t i;
  turn++;
  for (i = 0; i < LIVE; i++) {
    core_fill(out + i * CELL, size_of(i), seed_of(i));
    gasnet_put_bulk(node_of(i), rma_slice(node_of(i)) + i * CELL, out + i * CELL, size_of(i));
  }
  memset(in, 0, SLICE);
}

static gasnet_handle_t start_get(size_t i, int form) {
  return rma_get(form, in + i * CELL, node_of(i), rma_slice(node_of(i)) + i * CELL, size_of(i));
}
static void check_got(size_t i, const char *what) {
  size_t wrong = core_differs(in + i * CELL, size_of(i), seed_of(i));
  CHECK(wrong == size_of(i), "%s: get %lu of %lu bytes: byte %lu", what, (unsigned long)i, (unsigned long)size_of(i),
        (unsigned long)wrong);
}
static gasnet_handle_t start_put(size_t i, int form) {
  core_fill(out + i * CELL, size_of(i), seed_of(i) + 50);
  return rma_put(form, node_of(i), rma_slice(node_of(i)) + i * CELL, out + i * CELL, size_of(i));
}
static void check_put(size_t i, const char *what) {
  size_t wrong;
  gasnet_get_bulk(in + i * CELL, node_of(i), rma_slice(node_of(i)) + i * CELL, size_of(i));
  wrong = core_differs(in + i * CELL, size_of(i), seed_of(i) + 50);
  CHECK(wrong == size_of(i), "%s: put %lu of %lu bytes: byte %lu", what, (unsigned long)i, (unsigned long)size_of(i),
        (unsigned long)wrong);
}

/* ---- item 79
 * ------------------------------------------------------------------------------------------------------------------- */

static void check_invalid(gasnet_handle_t *h, size_t n) {
  gasnet_wait_syncnb_all(h, n);
  gasnet_wait_syncnb_some(h, n);
  CHECK(gasnet_try_syncnb_all(h, n) == GASNET_OK, "%lu entries", (unsigned long)n);
  CHECK(gasnet_try_syncnb_some(h, n) == GASNET_OK, "%lu entries", (unsigned long)n);
  CHECK(gasnet_try_syncnb_all_nopoll(h, n) == GASNET_OK, "%lu entries", (unsigned long)n);
  CHECK(gasnet_try_syncnb_some_nopoll(h, n) == GASNET_OK, "%lu entries", (unsigned long)n);
}

static void item79_invalid(void) {
  gasnet_handle_t h[LIVE], zero;
  size_t i, n;
  memset(&zero, 0, sizeof zero);
  CHECK(zero == GASNET_INVALID_HANDLE, "the invalid handle is all zero");
  gasnet_wait_syncnb(GASNET_INVALID_HANDLE);
  CHECK(gasnet_try_syncnb(GASNET_INVALID_HANDLE) == GASNET_OK, "try");
  CHECK(gasnet_try_syncnb_nopoll(GASNET_INVALID_HANDLE) == GASNET_OK, "try without poll");
  check_invalid(NULL, 0);
  check_invalid(h, 0);
  for (n = 1; n <= LIVE; n *= 2) {
    for (i = 0; i < n; i++) h[i] = GASNET_INVALID_HANDLE;
    check_invalid(h, n);
    for (i = 0; i < n; i++) CHECK(h[i] == GASNET_INVALID_HANDLE, "entry %lu", (unsigned long)i);
  }
}

/* ---- item 80
 * ------------------------------------------------------------------------------------------------------------------- */

static void item80_try(void) {
  size_t i;
  int form;
  for (form = RMA_NB; form <= RMA_NB_BULK; form++) {
    lay_out();
    for (i = 0; i < LIVE / 4; i++) {
      gasnet_handle_t h = start_get(i, form);
      int way = (int)(i % 3);
      if (way == 0) while (!rma_isdone(gasnet_try_syncnb(h))) continue;
      else if (way == 1) { /* a handle that a try says is not ready stays good */
        if (!rma_isdone(gasnet_try_syncnb_nopoll(h)) && !rma_isdone(gasnet_try_syncnb(h))) gasnet_wait_syncnb(h);
      } else {
        while (!rma_isdone(gasnet_try_syncnb_nopoll(h))) GASNET_SAFE(gasnet_AMPoll());
      }
      check_got(i, "try");
      rma_sync_handle(start_put(i, form), RMA_TRY);
      check_put(i, "try");
    }
  }
}

/* ---- items 81, 82
 * -------------------------------------------------------------------------------------------------------------- */

/* An array of puts and gets, INVALID at some places; returns how many are not INVALID. */
static size_t start_array(gasnet_handle_t *h, size_t every) {
  size_t i, live = 0;
  lay_out();
  for (i = 0; i < LIVE; i++) {
    int form = i % 4 < 2 ? RMA_NB : RMA_NB_BULK;
    h[i] = GASNET_INVALID_HANDLE;
    if (i % every == every - 1) continue;
    h[i] = i % 2 ? start_put(i, form) : start_get(i, form);
    live += h[i] != GASNET_INVALID_HANDLE;
  }
  return live;
}
static void check_array(size_t every, const char *what) {
  size_t i;
  for (i = 0; i < LIVE; i++) {
    if (i % every == every - 1) continue;
    if (i % 2) check_put(i, what);
    else check_got(i, what);
  }
}
static size_t count_live(const gasnet_handle_t *h, size_t n) {
  size_t i, live = 0;
  for (i = 0; i < n; i++) live += h[i] != GASNET_INVALID_HANDLE;
  return live;
}

static void item81_all(size_t every) {
  gasnet_handle_t h[LIVE], before[LIVE];
  int way, rc, k;
  size_t i;
  for (way = 0; way < 3; way++) {
    start_array(h, every);
    if (way == 0) {
      gasnet_wait_syncnb_all(h, LIVE);
    } else {
      do { /* NOT_READY: entries are the old ones or INVALID; OK: all INVALID */
        memcpy(before, h, sizeof h);
        rc = way == 1 ? gasnet_try_syncnb_all(h, LIVE) : gasnet_try_syncnb_all_nopoll(h, LIVE);
        for (i = 0; i < LIVE; i++)
          if (h[i] != before[i] && h[i] != GASNET_INVALID_HANDLE) CHECK(0, "try_all changed entry %lu", (unsigned long)i);
        if (rc != GASNET_OK) CHECK(count_live(h, LIVE) > 0, "try_all: NOT_READY, but all are INVALID");
        if (way == 2) GASNET_SAFE(gasnet_AMPoll());
      } while (!rma_isdone(rc));
    }
    CHECK(count_live(h, LIVE) == 0, "%lu live after all, way %d", (unsigned long)count_live(h, LIVE), way);
    check_array(every, "all");
  }
  start_array(h, every); /* a try that was not ready, then single waits for what is left */
  for (k = 0; k < 3 && gasnet_try_syncnb_all(h, LIVE) != GASNET_OK; k++) continue;
  for (i = LIVE; i-- > 0;) gasnet_wait_syncnb(h[i]);
  check_array(every, "try_all, then single");
}

static void item82_some(size_t every) {
  gasnet_handle_t h[LIVE], before[LIVE];
  int way, rc;
  size_t live, now;
  for (way = 0; way < 3; way++) {
    live = start_array(h, every);
    while (live > 0) {
      memcpy(before, h, sizeof h);
      rc = GASNET_OK;
      if (way == 0) gasnet_wait_syncnb_some(h, LIVE);
      else if (way == 1) rc = gasnet_try_syncnb_some(h, LIVE);
      else rc = gasnet_try_syncnb_some_nopoll(h, LIVE);
      if (way == 2) GASNET_SAFE(gasnet_AMPoll());
      now = count_live(h, LIVE);
      if (rma_isdone(rc)) {
        if (!CHECK(now < live, "some, way %d, completed nothing: %lu live", way, (unsigned long)live)) return;
      } else {
        CHECK(memcmp(before, h, sizeof h) == 0, "try_some: NOT_READY, but the array changed");
      }
      live = now;
    }
    check_array(every, "some");
  }
}

/* Parts of an array, from the end; syncs must not change handles outside the part. */
static void arrays_in_parts(void) {
  gasnet_handle_t h[LIVE], before[LIVE];
  size_t at;
  start_array(h, 7);
  for (at = LIVE; at > 0; at -= 8) {
    memcpy(before, h, sizeof h);
    gasnet_wait_syncnb_all(h + at - 8, 8);
    CHECK(count_live(h + at - 8, 8) == 0, "part at %lu", (unsigned long)at);
    CHECK(memcmp(before, h, (at - 8) * sizeof *h) == 0, "entries before the part at %lu changed", (unsigned long)at);
  }
  check_array(7, "parts");
}

/* ---- items 84, 85: implicit sets
 * ------------------------------------------------------------------------------------------------ */

static void implicit_round(int first, int tries) {
  size_t i;
  lay_out();
  for (i = 0; i < LIVE; i++)
    if (i % 2) start_put(i, i % 4 == 1 ? RMA_NBI : RMA_NBI_BULK);
    else start_get(i, i % 4 == 0 ? RMA_NBI : RMA_NBI_BULK);
  rma_sync_implicit(first, tries);
  if (first != RMA_PUTS) /* puts may still be on their way */
    for (i = 0; i < LIVE; i += 2) check_got(i, "sync of the gets");
  if (first == RMA_PUTS) /* gets may */
    for (i = 1; i < LIVE; i += 2) check_put(i, "sync of the puts");
  if (first != RMA_ALL) rma_sync_implicit(first == RMA_PUTS ? RMA_GETS : RMA_PUTS, !tries);
  for (i = 0; i < LIVE; i++)
    if (i % 2) check_put(i, "implicit");
    else check_got(i, "implicit");
}

static void item85_empty(void) {
  int i;
  for (i = 0; i < 3; i++) {
    gasnet_wait_syncnbi_puts();
    gasnet_wait_syncnbi_gets(), gasnet_wait_syncnbi_all();
    CHECK(gasnet_try_syncnbi_puts() == GASNET_OK, "no puts");
    CHECK(gasnet_try_syncnbi_gets() == GASNET_OK, "no gets");
    CHECK(gasnet_try_syncnbi_all() == GASNET_OK, "nothing");
  }
}

/* ---- items 86, 87: access regions
 * ------------------------------------------------------------------------------------------------ */

static void item86_region(int way) {
  gasnet_handle_t region, inside;
  size_t i;
  gasnet_begin_nbi_accessregion();
  region = gasnet_end_nbi_accessregion();
  rma_sync_handle(region, way); /* empty */
  lay_out();
  for (i = 0; i < 16; i++) start_get(i, RMA_NBI); /* before: not in the region */
  for (i = 16; i < 24; i++) start_put(i, RMA_NBI_BULK);
  gasnet_begin_nbi_accessregion();
  for (i = 24; i < 40; i++) start_get(i, i % 2 ? RMA_NBI : RMA_NBI_BULK);
  for (i = 40; i < 50; i++) start_put(i, i % 2 ? RMA_NBI : RMA_NBI_BULK);
  inside = start_get(50, RMA_NB);
  rma_put_done(RMA_BLOCKING, 0, node_of(51), rma_slice(node_of(51)) + 51 * CELL, out + 51 * CELL, size_of(51));
  start_get(52, RMA_BLOCKING);
  check_got(52, "blocking, in a region");
  gasnet_wait_syncnb(start_get(53, RMA_NB_BULK));
  check_got(53, "explicit and synced, in a region");
  region = gasnet_end_nbi_accessregion();
  for (i = 54; i < 60; i++) start_get(i, RMA_NBI); /* after: not in the region */
  if (way % 2) { /* the implicit sets first */
    gasnet_wait_syncnbi_all();
    CHECK(gasnet_try_syncnbi_all() == GASNET_OK, "the region's operations are in the implicit sets");
    rma_sync_handle(region, way);
  } else {
    rma_sync_handle(region, way);
    for (i = 24; i < 40; i++) check_got(i, "region");
    for (i = 40; i < 50; i++) check_put(i, "region");
    gasnet_wait_syncnbi_all();
  }
  gasnet_wait_syncnb(inside);
  for (i = 0; i < 16; i++) check_got(i, "before a region");
  for (i = 16; i < 24; i++) check_put(i, "before a region");
  if (way % 2)
    for (i = 24; i < 40; i++) check_got(i, "region");
  if (way % 2)
    for (i = 40; i < 50; i++) check_put(i, "region");
  check_got(50, "explicit, in a region");
  for (i = 54; i < 60; i++) check_got(i, "after a region");
}

/* The data of a region is complete after the sync of its handle alone, and so is the data of earlier gets after
 * theirs. The transfers are large, so that they are in flight for a while. */
static void item86_nothing_else(int way) {
  const gasnet_node_t p = node_of(1);
  gasnet_handle_t region;
  size_t wrong;
  int before;
  for (before = 0; before < 2; before++) {
    turn++;
    core_fill(out, SLICE, turn);
    gasnet_put_bulk(p, rma_slice(p), out, SLICE);
    memset(in, 0, SLICE);
    if (before) gasnet_get_nbi_bulk(in, p, rma_slice(p), SLICE);
    gasnet_begin_nbi_accessregion();
    if (!before) gasnet_get_nbi_bulk(in, p, rma_slice(p), SLICE);
    region = gasnet_end_nbi_accessregion();
    if (before) {
      gasnet_wait_syncnbi_gets();
      wrong = core_differs(in, SLICE, turn);
      CHECK(wrong == SLICE, "before an empty region: byte %lu", (unsigned long)wrong);
    }
    rma_sync_handle(region, way);
    wrong = core_differs(in, SLICE, turn);
    CHECK(wrong == SLICE, "%s a region: byte %lu", before ? "before" : "in", (unsigned long)wrong);
  }
}

/* Regions, one of each kind of operation, ordinary handles and INVALID in one array. */
static void item87_regions_in_array(int way) {
  gasnet_handle_t h[LIVE];
  unsigned char bytes[LIVE];
  size_t i, live, now;
  lay_out();
  for (i = 0; i < LIVE; i++) {
    gasnet_node_t p = node_of(i);
    unsigned char *last = rma_slice(p) + i * CELL + CELL - 1;
    if (i % 4 == 0) {
      h[i] = start_get(i, RMA_NB);
    } else if (i % 4 == 3) {
      h[i] = i % 8 == 3 ? GASNET_INVALID_HANDLE : gasnet_memset_nb(p, rma_slice(p) + i * CELL, 0x4D, size_of(i));
    } else {
      gasnet_begin_nbi_accessregion();
      if (i % 4 == 1) start_get(i, RMA_NBI_BULK);
      else start_put(i, RMA_NBI);
      if (size_of(i) < CELL) gasnet_put_nbi_val(p, last, 0x99, 1);
      h[i] = gasnet_end_nbi_accessregion();
    }
  }
  test_barrier(); /* barriers complete nothing, and may be between */
  for (live = count_live(h, LIVE); live > 0; live = now) {
    rma_sync_array(h, LIVE, way);
    now = count_live(h, LIVE);
    if (!CHECK(now < live, "way %d completes nothing of %lu", way, (unsigned long)live)) return;
  }
  for (i = 0; i < LIVE; i++) {
    gasnet_node_t p = node_of(i);
    if (i % 4 < 2) check_got(i, "array with regions");
    else if (i % 4 == 2) check_put(i, "array with regions");
    else if (i % 8 == 7) {
      gasnet_get(in + i * CELL, p, rma_slice(p) + i * CELL, size_of(i));
      CHECK(core_notall(in + i * CELL, size_of(i), 0x4D) == size_of(i), "memset %lu in an array", (unsigned long)i);
    }
    if ((i % 4 == 1 || i % 4 == 2) && size_of(i) < CELL) {
      gasnet_get(&bytes[i], p, rma_slice(p) + i * CELL + CELL - 1, 1);
      CHECK(bytes[i] == 0x99, "value put %lu of a region", (unsigned long)i);
    }
  }
}

/* Arguments of the sync calls are evaluated once. */
static void evaluated_once(void) {
  gasnet_handle_t h[3];
  int a = 0, b = 0;
  lay_out();
  h[0] = start_get(0, RMA_NB), h[1] = start_get(1, RMA_NB), h[2] = start_get(2, RMA_NB);
  gasnet_wait_syncnb((a++, h[0]));
  gasnet_wait_syncnb_some((a++, h + 1), (b++, (size_t)1));
  while (gasnet_try_syncnb(h[2]) == GASNET_ERR_NOT_READY) continue;
  h[0] = h[2] = GASNET_INVALID_HANDLE;
  CHECK(gasnet_try_syncnb_all((a++, h), (b++, (size_t)3)) == GASNET_OK, "all done");
  gasnet_wait_syncnb_all((a++, h), (b++, (size_t)3));
  CHECK(a == 4 && b == 3, "evaluated %d and %d times", a, b);
}

int main(int argc, char **argv) {
  long iterations, i;
  int k;
  core_init(&argc, &argv, "testnb");
  iterations = core_number(argc, argv, 1, 1);
  rma_attach(NULL, 0, SLICE);
  test_begin("testnb");
  out = (unsigned char *)rma_malloc(SLICE);
  in = (unsigned char *)rma_malloc(SLICE);
  for (i = 0; i < iterations; i++) {
    item79_invalid();
    item80_try();
    for (k = 2; k <= 6; k += 2) item81_all((size_t)k + 1), item82_some((size_t)k);
    item82_some(LIVE * 2); /* no INVALID among them */
    arrays_in_parts();
    for (k = 0; k < 6; k++) implicit_round(k % 3, k / 3);
    item85_empty();
    for (k = 0; k < RMA_WAYS; k++) item86_region(k), item86_nothing_else(k);
    for (k = RMA_WAIT_ALL; k < RMA_WAYS; k++) item87_regions_in_array(k);
    evaluated_once();
    test_barrier();
  }
  test_end();
  return 0;
}
