/* What the programs under c-tests/ex share: start, checks, barriers. Contract: ex-core.md section 19. */
#ifndef TESTEX_H
#define TESTEX_H
#include <gasnetex.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t tm;
static gex_Segment_t segment;
static gex_Rank_t me, nodes;
static int errors;

/* Prints one line with the rank of this process. */
__attribute__((__format__(__printf__, 1, 2), __unused__)) static void say(const char *format, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, format);
  (void)vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  printf("%u> %s\n", (unsigned)me, text);
  fflush(stdout);
}
/* Counts and reports a failure. */
#define CHECK(cond)                                                                                                  \
  do {                                                                                                               \
    if (!(cond)) {                                                                                                   \
      errors++;                                                                                                      \
      say("ERROR: %s:%d: %s", __FILE__, __LINE__, #cond);                                                            \
    }                                                                                                                \
  } while (0)
/* Ends the job if a call that returns a code fails. */
#define MUST(call)                                                                                                   \
  do {                                                                                                               \
    int must_code = (call);                                                                                          \
    if (must_code != GASNET_OK) {                                                                                    \
      say("ERROR: %s:%d: %s: %s", __FILE__, __LINE__, #call, gasnet_ErrorName(must_code));                          \
      gasnet_exit(1);                                                                                                \
    }                                                                                                                \
  } while (0)
#define BARRIER()                                                                                                    \
  do {                                                                                                               \
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);                                                          \
    MUST(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));                                                      \
  } while (0)

/* Joins the job under `name`. */
__attribute__((__unused__)) static void begin_with(gex_Flags_t flags, const char *name, int *argc, char ***argv) {
  MUST(gex_Client_Init(&client, &ep, &tm, name, argc, argv, flags));
  me = gex_TM_QueryRank(tm);
  nodes = gex_TM_QuerySize(tm);
  if (me == 0) printf("Running %s on %u processes\n", name, (unsigned)nodes), fflush(stdout);
}
__attribute__((__unused__)) static void begin(const char *name, int *argc, char ***argv) { begin_with(0, name, argc, argv); }
/* Attaches a segment of `length` bytes. */
__attribute__((__unused__)) static void attach(uintptr_t length) { MUST(gex_Segment_Attach(&segment, tm, length)); }
/* The address of `rank`'s bound segment, in its owner. */
__attribute__((__unused__)) static void *base_of(gex_Rank_t rank) {
  void *owner = NULL;
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &owner, NULL, NULL, 0));
  return owner;
}
/* Ends the program: "done." if nothing failed. */
__attribute__((__unused__)) static int end(void) {
  BARRIER();
  say(errors ? "ERROR: %d checks failed" : "done.", errors);
  BARRIER();
  gasnet_exit(errors != 0);
  return 0;
}
#endif
