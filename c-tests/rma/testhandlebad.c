/* Misuse of handles and regions: extended.md sections 3, 4, 6, 7. Debug builds name the call and its place, release
 * builds the call.
 *
 *   testhandlebad NAME      testhandlebad -l      lists the misuses      testhandlebad legal
 *
 * The last node misbehaves while the others are in barriers. Expected: "*** FATAL ERROR:" with node, call and cause,
 * and SIGABRT (134). If the library does not notice the misuse, the job ends with 3 and prints MISSED. Most cases
 * need an operation that is in flight when its call returns; if there is none (mapped memory, one node), the program
 * ends with 4. "legal" makes calls that are just allowed, and passes. */
#include "../testrma.h"

#ifndef GASNET_SEQ
#include <pthread.h>
#endif

static unsigned char local[8192];
static gasnet_handle_t h[4];
static gasnet_valget_handle_t value;

static void no_live_handle(void) {
  printf("testhandlebad: no operation stays in flight here\n");
  fflush(stdout);
  _exit(4);
}

/* A get that is in flight. */
static gasnet_handle_t start(void) {
  int i;
  for (i = 0; i < 1000; i++) {
    gasnet_handle_t live = gasnet_get_nb_bulk(local, 0, core_area[0], sizeof local);
    if (live != GASNET_INVALID_HANDLE) return live;
  }
  no_live_handle();
  return GASNET_INVALID_HANDLE;
}
static gasnet_handle_t start_region(void) {
  int i;
  for (i = 0; i < 1000; i++) {
    gasnet_handle_t live;
    gasnet_begin_nbi_accessregion();
    gasnet_get_nbi_bulk(local, 0, core_area[0], sizeof local);
    live = gasnet_end_nbi_accessregion();
    if (live != GASNET_INVALID_HANDLE) return live;
  }
  no_live_handle();
  return GASNET_INVALID_HANDLE;
}
static gasnet_handle_t garbage(void) {
  gasnet_handle_t g;
  memset(&g, 0x5A, sizeof g);
  return g;
}

/* ---- the ways to sync: each is given a dead handle in h[0] ---- */

static void by_wait(void) { gasnet_wait_syncnb(h[0]); }
static void by_try(void) { (void)gasnet_try_syncnb(h[0]); }
static void by_try_nopoll(void) { (void)gasnet_try_syncnb_nopoll(h[0]); }
static void by_wait_all(void) { gasnet_wait_syncnb_all(h, 2); }
static void by_wait_some(void) { gasnet_wait_syncnb_some(h, 2); }
static void by_try_all(void) { (void)gasnet_try_syncnb_all(h, 2); }
static void by_try_some(void) { (void)gasnet_try_syncnb_some(h, 2); }
static void by_try_all_nopoll(void) { (void)gasnet_try_syncnb_all_nopoll(h, 2); }
static void by_try_some_nopoll(void) { (void)gasnet_try_syncnb_some_nopoll(h, 2); }
static void by_valget(void) { (void)gasnet_wait_syncnb_valget(value); }
static void by_nested_call(void) { gasnet_wait_syncnb((gasnet_wait_syncnb_all(NULL, 0), h[0])); }

/* ---- the misuses ---- */

static void (*sync_it)(void);

static void twice(void) {
  h[0] = start();
  gasnet_wait_syncnb(h[0]);
  sync_it();
}
/* Another operation has been started since: what was the handle's may be in use again. */
static void reused(void) {
  gasnet_handle_t first = start();
  gasnet_wait_syncnb(first);
  h[1] = start();
  h[0] = first;
  sync_it();
}
static void duplicate(void) {
  h[0] = h[1] = start();
  sync_it();
}
static void region_twice(void) {
  h[0] = start_region();
  gasnet_wait_syncnb(h[0]);
  sync_it();
}
static void rubbish(void) {
  h[0] = garbage();
  sync_it();
}
static void value_twice(void) {
  h[0] = start(); /* else there is nothing to find */
  value = gasnet_get_nb_val(0, core_area[0], 8);
  (void)gasnet_wait_syncnb_valget(value);
  sync_it();
}
static void value_rubbish(void) {
  h[0] = start();
  memset(&value, 0x5A, sizeof value);
  sync_it();
}
#ifndef GASNET_SEQ
static void *call(void *arg) {
  (void)arg;
  sync_it();
  return NULL;
}
static void elsewhere(void) {
  pthread_t t;
  if (pthread_create(&t, NULL, call, NULL) == 0) pthread_join(t, NULL);
}
static void foreign(void) {
  h[0] = start();
  elsewhere();
}
static void value_foreign(void) {
  h[0] = start();
  value = gasnet_get_nb_val(0, core_area[0], 8);
  elsewhere();
}
#endif

static void null_array(void) {
  gasnet_handle_t *volatile none = NULL;
  gasnet_wait_syncnb_all(none, 3);
}

/* ---- regions: found wherever the operations are ---- */

static void region_nested(void) {
  gasnet_begin_nbi_accessregion();
  gasnet_begin_nbi_accessregion();
}
static void region_lone_end(void) { gasnet_wait_syncnb(gasnet_end_nbi_accessregion()); }
static void region_end_twice(void) {
  gasnet_begin_nbi_accessregion();
  gasnet_put_nbi(0, core_area[0], local, 4);
  gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
  region_lone_end();
}
/* The implicit sync of operations that are the library's. */
static void region_sync(void) {
  h[0] = start();
  gasnet_begin_nbi_accessregion();
  gasnet_wait_syncnbi_all();
}

/* ---- barriers ---- */

static void double_notify(void) {
  gasnet_barrier_notify(1, 0);
  gasnet_barrier_notify(2, 0);
}
static void lone_wait(void) { (void)gasnet_barrier_wait(1, 0); }
static void lone_try(void) { (void)gasnet_barrier_try(1, 0); }

/* Explicit handles alive when a region ends, started before and inside; synced inside and after, in both orders. */
static void legal(void) {
  gasnet_handle_t before, inside, region;
  int i;
  for (i = 0; i < 100; i++) {
    before = gasnet_get_nb_bulk(local, 0, core_area[0], 1000);
    gasnet_begin_nbi_accessregion();
    gasnet_get_nbi_bulk(local + 1000, 0, core_area[0], 1000);
    inside = gasnet_get_nb_bulk(local + 2000, 0, core_area[0], 1000);
    if (i & 1) gasnet_wait_syncnb(before), before = GASNET_INVALID_HANDLE;
    region = gasnet_end_nbi_accessregion();
    h[0] = i & 2 ? region : inside;
    h[1] = i & 2 ? inside : region;
    h[2] = before;
    h[3] = GASNET_INVALID_HANDLE;
    if (i & 4) gasnet_wait_syncnb_all(h, 4);
    else while (gasnet_try_syncnb_all_nopoll(h, 4) != GASNET_OK) GASNET_SAFE(gasnet_AMPoll());
    CHECK(h[0] == GASNET_INVALID_HANDLE && h[1] == GASNET_INVALID_HANDLE && h[2] == GASNET_INVALID_HANDLE, "round %d", i);
    by_wait_all();
    by_wait(); /* what the array calls left is INVALID, and that may be synced for ever */
    CHECK(gasnet_try_syncnb_nopoll(h[0]) == GASNET_OK, "round %d", i);
  }
}

static const struct {
  const char *name;
  void (*wrong)(void), (*sync)(void);
} misuses[] = {{"twice-wait", twice, by_wait}, {"twice-try", twice, by_try}, {"twice-try-nopoll", twice, by_try_nopoll},
               {"twice-wait-all", twice, by_wait_all}, {"twice-wait-some", twice, by_wait_some},
               {"twice-try-all", twice, by_try_all}, {"twice-try-some", twice, by_try_some},
               {"twice-try-all-nopoll", twice, by_try_all_nopoll}, {"twice-try-some-nopoll", twice, by_try_some_nopoll},
               {"twice-nested", twice, by_nested_call},
               {"reused-wait", reused, by_wait}, {"reused-try-some", reused, by_try_some},
               {"duplicate-wait-all", duplicate, by_wait_all}, {"region-twice-wait", region_twice, by_wait},
               {"rubbish-wait", rubbish, by_wait}, {"rubbish-try", rubbish, by_try},
               {"rubbish-wait-all", rubbish, by_wait_all}, {"rubbish-try-some-nopoll", rubbish, by_try_some_nopoll},
               {"value-twice", value_twice, by_valget}, {"value-rubbish", value_rubbish, by_valget},
#ifndef GASNET_SEQ
               {"foreign-wait", foreign, by_wait}, {"foreign-try", foreign, by_try},
               {"foreign-wait-all", foreign, by_wait_all}, {"foreign-try-some", foreign, by_try_some},
               {"value-foreign", value_foreign, by_valget},
#endif
               {"null-array", null_array, NULL},
               {"region-nested", region_nested, NULL}, {"region-lone-end", region_lone_end, NULL},
               {"region-end-twice", region_end_twice, NULL}, {"region-sync", region_sync, NULL},
               {"double-notify", double_notify, NULL}, {"lone-wait", lone_wait, NULL}, {"lone-try", lone_try, NULL}};

int main(int argc, char **argv) {
  size_t i, count = sizeof misuses / sizeof *misuses;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) puts(misuses[i].name);
    return 0;
  }
  core_init(&argc, &argv, "testhandlebad");
  rma_attach(NULL, 0, sizeof local);
  test_begin("testhandlebad");
  if (argc == 2 && strcmp(argv[1], "legal") == 0) {
    legal();
    CHECK(rma_slice(me) != NULL, "the area");
    test_end();
  }
  for (i = 0; argc == 2 && i < count && strcmp(argv[1], misuses[i].name); i++) continue;
  if (argc != 2 || i == count) {
    if (me == 0) fprintf(stderr, "testhandlebad: which misuse? -l lists them\n");
    gasnet_exit(2);
  }
  if (me != nodes - 1)
    for (;;) test_barrier();
  printf("testhandlebad: %s next\n", misuses[i].name);
  fflush(stdout);
  sync_it = misuses[i].sync;
  misuses[i].wrong();
  printf("testhandlebad: MISSED %s\n", misuses[i].name);
  fflush(stdout);
  _exit(3);
}
