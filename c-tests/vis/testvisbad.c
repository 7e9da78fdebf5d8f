/* Misuse of gasnet_vis.h that a debug build reports: vis.md sections 3 and 4, list V, items 11 and 12.
 *
 *   testvisbad NAME [FORM]      FORM: bulk (default), nb, nbi      testvisbad -l      lists the misuses
 *
 * Compile with -DGASNET_DEBUG. The last node misbehaves while the others are in barriers. Expected: "*** FATAL
 * ERROR:" with the call, the cause, this file and the line, and SIGABRT (134). If the library does not notice the
 * misuse, the job ends with 3 and prints MISSED. "legal" makes calls that are just allowed, and passes. */
#include <gasnet_vis.h>

#include "../testrma.h"

enum { HIDX_HANDLER = 200 };

static const char *form = "bulk";
static unsigned char local[256];
static unsigned char *at, *end; /* node 0's area */

/* One call in the form that was asked for. */
#define DO(verb, ...)                                                                                                \
  do {                                                                                                               \
    if (!strcmp(form, "nb")) gasnet_wait_syncnb(gasnet_##verb##_nb_bulk(__VA_ARGS__));                               \
    else if (!strcmp(form, "nbi")) gasnet_##verb##_nbi_bulk(__VA_ARGS__), gasnet_wait_syncnbi_all();                 \
    else gasnet_##verb##_bulk(__VA_ARGS__);                                                                          \
  } while (0)
#define VEC(name, a, n) gasnet_memvec_t name[2] = {{(a), (n)}, {NULL, 0}}
#define LIST(name, a, b) void *name[2] = {(a), (b)}

/* ---- outside the segment, by a byte ---- */

static void putv_above(void) {
  VEC(dst, end - 7, 8);
  VEC(src, local, 8);
  DO(putv, 0, 2, dst, 2, src);
}
static void putv_below(void) {
  VEC(dst, at - 1, 8);
  VEC(src, local, 8);
  DO(putv, 0, 1, dst, 1, src);
}
static void getv_above(void) {
  VEC(dst, local, 8);
  VEC(src, end - 7, 8);
  DO(getv, 2, dst, 0, 2, src);
}
static void puti_above(void) {
  LIST(dst, at, end - 3);
  LIST(src, local, local + 8);
  DO(puti, 0, 2, dst, 4, 2, src, 4);
}
static void geti_above(void) {
  LIST(dst, local, local + 8);
  LIST(src, at, end - 3);
  DO(geti, 2, dst, 4, 0, 2, src, 4);
}
static const size_t step_8[1] = {8}, step_16[1] = {16}, rows_4x3[2] = {4, 3};
static void puts_above(void) { DO(puts, 0, end - 35, step_16, local, step_8, rows_4x3, 1); }
static void gets_above(void) { DO(gets, local, step_8, 0, end - 35, step_16, rows_4x3, 1); }
static void puts_below(void) { DO(puts, 0, at - 1, step_16, local, step_8, rows_4x3, 1); }

/* ---- totals and counts ---- */

static void putv_totals(void) {
  VEC(dst, at, 8);
  VEC(src, local, 9);
  DO(putv, 0, 1, dst, 1, src);
}
static void getv_totals(void) {
  VEC(dst, local, 8);
  VEC(src, at, 7);
  DO(getv, 1, dst, 0, 1, src);
}
static void putv_nothing(void) {
  VEC(src, local, 1);
  DO(putv, 0, 0, NULL, 1, src);
}
static void puti_totals(void) {
  LIST(dst, at, at + 8);
  LIST(src, local, local + 8);
  DO(puti, 0, 2, dst, 4, 2, src, 5);
}
static void geti_totals(void) {
  LIST(dst, local, local + 8);
  LIST(src, at, at + 8);
  DO(geti, 2, dst, 4, 0, 1, src, 4);
}
static void puti_empty(void) {
  LIST(dst, at, at + 8);
  LIST(src, local, local + 8);
  DO(puti, 0, 2, dst, 0, 2, src, 0);
}
static void putv_null(void) {
  VEC(src, local, 1);
  DO(putv, 0, 1, NULL, 1, src);
}
static void putv_negative(void) { /* sums that wrap around to the other side's */
  gasnet_memvec_t dst[2], src[1];
  dst[0].addr = at, dst[0].len = ~(size_t)0 - 3, dst[1].addr = at, dst[1].len = 12;
  src[0].addr = local, src[0].len = 8;
  DO(putv, 0, 2, dst, 1, src);
}
static void puti_negative(void) {
  LIST(dst, at, at + 8);
  LIST(src, local, local + 8);
  DO(puti, 0, ~(size_t)0, dst, 8, ~(size_t)0, src, 8);
}

/* ---- strides ---- */

static const size_t step_3[1] = {3}, steps_bad[2] = {8, 23}, steps_good[2] = {8, 24};
static const size_t rows_4x3x2[3] = {4, 3, 2}, rows_4x1[2] = {4, 1}, rows_4x3x1[3] = {4, 3, 1};
static void puts_short(void) { DO(puts, 0, at, step_3, local, step_8, rows_4x3, 1); }
static void gets_short(void) { DO(gets, local, step_3, 0, at, step_8, rows_4x3, 1); }
static void puts_source(void) { DO(puts, 0, at, step_8, local, step_3, rows_4x3, 1); }
static void puts_level(void) { DO(puts, 0, at, steps_bad, local, steps_good, rows_4x3x2, 2); }
static void gets_level(void) { DO(gets, local, steps_good, 0, at, steps_bad, rows_4x3x2, 2); }
static void puts_once(void) { DO(puts, 0, at, step_3, local, step_8, rows_4x1, 1); }
static void puts_once2(void) { DO(puts, 0, at, steps_bad, local, steps_good, rows_4x3x1, 2); }
static void puts_negative(void) {
  const size_t back[1] = {(size_t)-8};
  DO(puts, 0, at + 64, back, local, step_8, rows_4x3, 1);
}
static void puts_huge(void) {
  const size_t huge[2] = {8, (size_t)1 << 61}, step[1] = {8};
  DO(puts, 0, at, step, local, step, huge, 1);
}
static void puts_null(void) { DO(puts, 0, at, NULL, local, step_8, rows_4x3, 1); }

/* ---- node and place ---- */

static void rank(void) { DO(puts, nodes, at, NULL, local, NULL, rows_4x3, 0); }
static void getv_rank(void) {
  VEC(dst, local, 4);
  VEC(src, at, 4);
  DO(getv, 1, dst, nodes + 5, 1, src);
}
static void inside(void) { DO(puts, me, core_area[me], NULL, local, NULL, rows_4x3, 0); }
static int handler_ran;
static void handler_h(gasnet_token_t token) {
  (void)token;
  inside();
  handler_ran = 1;
}
static void in_handler(void) {
  GASNET_SAFE(gasnet_AMRequestShort0(me, HIDX_HANDLER));
  GASNET_BLOCKUNTIL(handler_ran);
}
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static void in_lock(void) { gasnet_hsl_lock(&lock), inside(); }
static void in_section(void) { gasnet_hold_interrupts(), inside(); }

/* ---- calls that are just allowed ---- */

static void legal(void) {
  const size_t zero[3] = {4, 0, 3}, any[2] = {1, 1}, rows[2] = {4, 3};
  static const char fixed[8] = "fixed";
  VEC(dst, end - 8, 8);
  VEC(src, local, 8);
  VEC(ro, (void *)(uintptr_t)fixed, 8);
  LIST(to, at, end - 4);
  LIST(from, local, local + 4);
  DO(putv, 0, 2, dst, 2, src);
  DO(putv, 0, 1, dst, 1, ro);
  DO(getv, 2, src, 0, 2, dst);
  DO(puti, 0, 2, to, 4, 2, from, 4);
  DO(geti, 1, from, 8, 0, 2, to, 4);
  DO(puts, 0, end - 36, step_16, local, step_8, rows, 1);
  DO(gets, local, step_8, 0, end - 36, step_16, rows, 1);
  DO(puts, 0, end, any, NULL, any, zero, 2);
  DO(gets, NULL, any, 0, NULL, any, zero, 2);
  DO(putv, 0, 0, NULL, 0, NULL);
  DO(geti, 0, NULL, 4, 0, 0, NULL, 7);
}

struct misuse {
  const char *name;
  void (*what)(void);
};
static const struct misuse misuses[] = {
    {"putv-above", putv_above}, {"putv-below", putv_below}, {"getv-above", getv_above}, {"puti-above", puti_above},
    {"geti-above", geti_above}, {"puts-above", puts_above}, {"gets-above", gets_above}, {"puts-below", puts_below},
    {"putv-totals", putv_totals}, {"getv-totals", getv_totals}, {"putv-nothing", putv_nothing},
    {"puti-totals", puti_totals}, {"geti-totals", geti_totals}, {"puti-empty", puti_empty}, {"putv-null", putv_null},
    {"putv-negative", putv_negative}, {"puti-negative", puti_negative}, {"puts-short", puts_short},
    {"gets-short", gets_short}, {"puts-source", puts_source}, {"puts-level", puts_level}, {"gets-level", gets_level},
    {"puts-once", puts_once}, {"puts-once2", puts_once2}, {"puts-negative", puts_negative}, {"puts-huge", puts_huge},
    {"puts-null", puts_null}, {"rank", rank}, {"getv-rank", getv_rank}, {"handler", in_handler}, {"lock", in_lock},
    {"section", in_section}};

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_HANDLER, (void (*)())handler_h}};
  size_t i, count = sizeof misuses / sizeof *misuses;
  if (argc == 2 && strcmp(argv[1], "-l") == 0) {
    for (i = 0; i < count; i++) printf("%s\n", misuses[i].name);
    return 0;
  }
  core_init(&argc, &argv, "testvisbad");
  core_attach(table, 1, 4096);
  at = core_area[0], end = core_area[0] + core_areasize;
  test_begin("testvisbad");
  if (argc < 2 || strcmp(argv[1], "legal") == 0) {
    static const char *const forms[] = {"bulk", "nb", "nbi"};
    for (i = 0; i < 3; i++) {
      form = forms[i];
      if (me == nodes - 1) legal();
    }
    CHECK(at != NULL, "the area");
    test_end();
  }
  for (i = 0; i < count && strcmp(argv[1], misuses[i].name); i++) continue;
  if (argc > 2) form = argv[2];
  if (i == count) {
    if (me == 0) fprintf(stderr, "testvisbad: which misuse? -l lists them\n");
    gasnet_exit(2);
  }
  if (me != nodes - 1)
    for (;;) test_barrier();
  printf("testvisbad: %s next\n", argv[1]);
  fflush(stdout);
  misuses[i].what();
  printf("testvisbad: MISSED %s %s\n", argv[1], form);
  fflush(stdout);
  _exit(3);
}
