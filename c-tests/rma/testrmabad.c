/* Misuse of the Extended API that a debug build reports: list E, item 90; list F, item 105; extended.md sections 1,
 * 6, 7, 8.4.
 *
 *   testrmabad NAME [FUNCTION]      testrmabad -l      lists the misuses and the functions
 *
 * Compile with -DGASNET_DEBUG. The last node misbehaves while the others are in barriers. Expected: "*** FATAL
 * ERROR:" with node and cause, and SIGABRT (134). If the library does not notice the misuse, the job ends with 3 and
 * prints MISSED. FUNCTION is
 *   "below", "above", "wrap", "rank"   the transfer that goes outside the segment of node 0
 *   "value0", "value9"                 the value form that gets an impossible size
 *   "...-transfer"                     the transfer that is called in a forbidden place
 * "legal" makes calls that are just allowed, and passes. */
#include "../testrma.h"

#ifndef GASNET_SEQ
#include <pthread.h>
#endif

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, HIDX_HANDLER = 200 };

static const char *const functions[] = {"put", "get", "put_bulk", "get_bulk", "memset", "put_nb", "get_nb", "put_nb_bulk",
                                        "get_nb_bulk", "memset_nb", "put_nbi", "get_nbi", "put_nbi_bulk", "get_nbi_bulk",
                                        "memset_nbi", "put_val", "put_nb_val", "put_nbi_val", "get_val", "get_nb_val"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int function; /* which transfer */
static unsigned char local[64];

static void transfer(gasnet_node_t p, void *at, size_t n) {
  gasnet_handle_t h = GASNET_INVALID_HANDLE;
  switch (function) {
    case 0: gasnet_put(p, at, local, n); break;
    case 1: gasnet_get(local, p, at, n); break;
    case 2: gasnet_put_bulk(p, at, local, n); break;
    case 3: gasnet_get_bulk(local, p, at, n); break;
    case 4: gasnet_memset(p, at, 0, n); break;
    case 5: h = gasnet_put_nb(p, at, local, n); break;
    case 6: h = gasnet_get_nb(local, p, at, n); break;
    case 7: h = gasnet_put_nb_bulk(p, at, local, n); break;
    case 8: h = gasnet_get_nb_bulk(local, p, at, n); break;
    case 9: h = gasnet_memset_nb(p, at, 0, n); break;
    case 10: gasnet_put_nbi(p, at, local, n); break;
    case 11: gasnet_get_nbi(local, p, at, n); break;
    case 12: gasnet_put_nbi_bulk(p, at, local, n); break;
    case 13: gasnet_get_nbi_bulk(local, p, at, n); break;
    case 14: gasnet_memset_nbi(p, at, 0, n); break;
    case 15: gasnet_put_val(p, at, 0, n); break;
    case 16: h = gasnet_put_nb_val(p, at, 0, n); break;
    case 17: gasnet_put_nbi_val(p, at, 0, n); break;
    case 18: (void)gasnet_get_val(p, at, n); break;
    default: (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(p, at, n));
  }
  gasnet_wait_syncnb(h);
  gasnet_wait_syncnbi_all();
}

/* ---- item 90
 * ------------------------------------------------------------------------------------------------------------------- */

static void below(void) { transfer(0, core_area[0] - 1, 4); }
static void above(void) { transfer(0, core_area[0] + core_areasize - 3, 4); }
static void wrap(void) { transfer(0, core_area[0] + 8, ~(size_t)0 - 3); }
static void rank(void) { transfer(nodes, core_area[0], 4); }
static volatile size_t none = 0, nine = sizeof(gasnet_register_value_t) + 1; /* no constants: compilers would object */
static void value0(void) { transfer(0, core_area[0], none); }
static void value9(void) { transfer(0, core_area[0], nine); }

/* ---- calls in places where they are forbidden
 * ------------------------------------------------------------------------------------ */

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static void inside(void) { transfer(me, core_area[me], 4); }
static void inside_remote(void) { transfer(0, core_area[0], 4); }
static void inside_wait(void) { gasnet_wait_syncnb(GASNET_INVALID_HANDLE); }
static void inside_try(void) { (void)gasnet_try_syncnb(GASNET_INVALID_HANDLE); }
static void inside_implicit(void) { gasnet_wait_syncnbi_all(); }
static void inside_array(void) { gasnet_wait_syncnb_all(NULL, 0); }
static void inside_region(void) { gasnet_begin_nbi_accessregion(); }
static void (*place)(void);
static int handler_ran;
static void handler_h(gasnet_token_t token) {
  (void)token;
  place();
  handler_ran = 1;
}
static void in_handler(void) {
  GASNET_SAFE(gasnet_AMRequestShort0(me, HIDX_HANDLER));
  GASNET_BLOCKUNTIL(handler_ran);
}
static void in_section(void) { gasnet_hold_interrupts(), place(); }
static void in_lock(void) { gasnet_hsl_lock(&lock), place(); }

/* ---- regions
 * --------------------------------------------------------------------------------------------------------------------- */

static void region_nested(void) { gasnet_begin_nbi_accessregion(), gasnet_begin_nbi_accessregion(); }
static void region_end(void) { gasnet_wait_syncnb(gasnet_end_nbi_accessregion()); }
static void region_puts(void) { gasnet_begin_nbi_accessregion(), gasnet_wait_syncnbi_puts(); }
static void region_gets(void) { gasnet_begin_nbi_accessregion(), gasnet_wait_syncnbi_gets(); }
static void region_all(void) { gasnet_begin_nbi_accessregion(), gasnet_wait_syncnbi_all(); }
static void region_tryputs(void) { gasnet_begin_nbi_accessregion(), (void)gasnet_try_syncnbi_puts(); }
static void region_trygets(void) { gasnet_begin_nbi_accessregion(), (void)gasnet_try_syncnbi_gets(); }
static void region_tryall(void) { gasnet_begin_nbi_accessregion(), (void)gasnet_try_syncnbi_all(); }
#ifndef GASNET_SEQ
static void *ends(void *arg) {
  (void)arg;
  region_end();
  return NULL;
}
static void region_thread(void) {
  pthread_t t;
  gasnet_begin_nbi_accessregion();
  if (pthread_create(&t, NULL, ends, NULL) == 0) pthread_join(t, NULL);
}
#endif

/* ---- item 105
 * -------------------------------------------------------------------------------------------------------------------- */

static void notify(void) { gasnet_barrier_notify(0, ANON); }
static void double_notify(void) { notify(), notify(); }
static void lone_wait(void) { (void)gasnet_barrier_wait(0, ANON); }
static void lone_try(void) { (void)gasnet_barrier_try(0, ANON); }
static void second_wait(void) { notify(), lone_wait(), lone_wait(); }
static void second_try(void) { notify(), lone_wait(), lone_try(); }
static void blocking_inside(void) { notify(), (void)gasnet_barrier(0, ANON); }
static void result_inside(void) {
  int id;
  notify(), (void)gasnet_barrier_result(&id);
}

/* Calls that are just allowed, of every function. */
static void legal(void) {
  for (function = 0; function < FUNCTIONS; function++) {
    transfer(0, core_area[0], 4);
    transfer(0, core_area[0] + core_areasize - 4, 4);
    if (function < 15) transfer(0, core_area[0] + core_areasize, 0), transfer(0, NULL, 0);
  }
}

struct misuse {
  const char *name;
  void (*where)(void), (*what)(void);
};
static const struct misuse misuses[] = {
    {"below", below, NULL}, {"above", above, NULL}, {"wrap", wrap, NULL}, {"rank", rank, NULL},
    {"value0", value0, NULL}, {"value9", value9, NULL},
    {"handler-remote", in_handler, inside_remote},
    {"handler-transfer", in_handler, inside}, {"handler-wait", in_handler, inside_wait}, {"handler-try", in_handler, inside_try},
    {"handler-implicit", in_handler, inside_implicit}, {"handler-array", in_handler, inside_array},
    {"handler-region", in_handler, inside_region}, {"section-transfer", in_section, inside},
    {"section-wait", in_section, inside_wait}, {"section-try", in_section, inside_try},
    {"section-implicit", in_section, inside_implicit}, {"section-array", in_section, inside_array},
    {"section-region", in_section, inside_region}, {"lock-transfer", in_lock, inside}, {"lock-wait", in_lock, inside_wait},
    {"lock-try", in_lock, inside_try}, {"lock-implicit", in_lock, inside_implicit}, {"lock-array", in_lock, inside_array},
    {"lock-region", in_lock, inside_region}, {"region-nested", region_nested, NULL}, {"region-end", region_end, NULL},
    {"region-puts", region_puts, NULL}, {"region-gets", region_gets, NULL}, {"region-all", region_all, NULL},
    {"region-tryputs", region_tryputs, NULL}, {"region-trygets", region_trygets, NULL}, {"region-tryall", region_tryall, NULL},
#ifndef GASNET_SEQ
    {"region-thread", region_thread, NULL},
#endif
    {"double-notify", double_notify, NULL}, {"lone-wait", lone_wait, NULL}, {"lone-try", lone_try, NULL},
    {"second-wait", second_wait, NULL}, {"second-try", second_try, NULL}, {"blocking-inside", blocking_inside, NULL},
    {"result-inside", result_inside, NULL}};

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_HANDLER, (void (*)())handler_h}};
  size_t i, count = sizeof misuses / sizeof *misuses;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) printf("%s\n", misuses[i].name);
    for (i = 0; i < FUNCTIONS; i++) printf("    %s\n", functions[i]);
    return 0;
  }
  core_init(&argc, &argv, "testrmabad");
  rma_attach(table, 1, 4096);
  test_begin("testrmabad");
  if (argc == 2 && strcmp(argv[1], "legal") == 0) {
    if (me == nodes - 1) legal();
    CHECK(rma_slice(me) != NULL, "the area");
    test_end();
  }
  for (i = 0; argc > 1 && i < count && strcmp(argv[1], misuses[i].name); i++) continue;
  if (argc > 2)
    for (; function < FUNCTIONS && strcmp(argv[2], functions[function]); function++) continue;
  if (argc < 2 || i == count || function == FUNCTIONS) {
    if (me == 0) fprintf(stderr, "testrmabad: which misuse, by which function? -l lists them\n");
    gasnet_exit(2);
  }
  if (me != nodes - 1)
    for (;;) test_barrier();
  printf("testrmabad: %s next\n", argv[1]);
  fflush(stdout);
  place = misuses[i].what;
  misuses[i].where();
  printf("testrmabad: MISSED %s %s\n", argv[1], argc > 2 ? argv[2] : "");
  fflush(stdout);
  _exit(3);
}
