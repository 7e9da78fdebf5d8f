/* Random blocking puts, gets and messages between the threads of all processes, of up to 64 KiB. Contract: ex-rma.md sections 11, 14.
 *
 *   testthreads [OPTIONS] [threads=4]      of each process, up to 255; one without GASNET_PAR
 *     -p -g -S -M -L   puts, gets, Shorts, Mediums, Longs; -a, or nothing: all      -i N   operations of each thread (50)
 *     -l   targets are threads of the own process only      -d   threads end and others begin, all the time
 *     -v   each thread says when it is done                  -t   the time of all */
#include "testperf.h"
#if GASNET_PAR
#include <pthread.h>
#endif

#define SLICE ((size_t)64 << 10)
#define MOST 255
typedef enum { PUT, GET, SHORT, MEDIUM, LONG, KINDS } kind;
enum { H_SHORT = GEX_AM_INDEX_BASE, H_MEDIUM, H_LONG, H_BACK, H_BULK_BACK };
static struct {
  long selected[KINDS], all, local, dynamic, verbose, time, iters;
} how;
static kind kinds[KINDS];
static unsigned n_kinds;
static int threads;
static gasnett_atomic_t answers[MOST], wrong = gasnett_atomic_init(0);
static size_t most_medium, most_long;

/* What thread `thread` of process `from` has in the area of `owner`; and where answers to a thread of the owner land. */
static unsigned char *slice(gex_Rank_t owner, gex_Rank_t from, int thread) {
  return area[owner] + ((size_t)from * (size_t)threads + (size_t)thread) * SLICE;
}
static unsigned char *answer_place(gex_Rank_t owner, int thread) { return slice(owner, nodes, thread); }

static void look(const void *buf, size_t n, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  if (n != (size_t)size || !filled(buf, (unsigned)seed, n)) gasnett_atomic_increment(&wrong, 0);
}
static void short_h(gex_Token_t token, gex_AM_Arg_t thread) { gex_AM_ReplyShort1(token, H_BACK, 0, thread); }
static void medium_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  look(buf, n, seed, size);
  gex_AM_ReplyMedium3(token, H_BULK_BACK, buf, n, GEX_EVENT_NOW, 0, thread, seed, size);
}
/* The payload lies in the sender's slice, which it does not touch before the answer. */
static void long_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  gex_Token_Info_t info;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  look(buf, n, seed, size);
  if (buf != (void *)slice(me, info.gex_srcrank, thread)) gasnett_atomic_increment(&wrong, 0);
  gex_AM_ReplyLong3(token, H_BULK_BACK, buf, n, answer_place(info.gex_srcrank, thread), GEX_EVENT_NOW, 0, thread, seed, size);
}
static void back_h(gex_Token_t token, gex_AM_Arg_t thread) { (void)token, gasnett_atomic_increment(&answers[thread], GASNETT_ATOMIC_REL); }
static void bulk_back_h(gex_Token_t token, void *buf, size_t n, gex_AM_Arg_t thread, gex_AM_Arg_t seed, gex_AM_Arg_t size) {
  look(buf, n, seed, size);
  back_h(token, thread);
}
static gex_AM_Entry_t table[] = {ROW(H_SHORT, short_h, SHORT, REQUEST, 1, NULL), ROW(H_MEDIUM, medium_h, MEDIUM, REQUEST, 3, NULL),
                                 ROW(H_LONG, long_h, LONG, REQUEST, 3, NULL), ROW(H_BACK, back_h, SHORT, REPLY, 1, NULL),
                                 ROW(H_BULK_BACK, bulk_back_h, MEDLONG, REPLY, 3, NULL)};

/* A random size, mostly a small one. */
static size_t size_of(unsigned *state, size_t limit) {
  const size_t most = (size_t)1 << rnd(state, 17);
  const size_t n = 1 + rnd(state, (unsigned)most);
  return n < limit ? n : limit;
}
static void one(int thread, unsigned char *buffer, unsigned *state) {
  const gex_Rank_t to = how.local ? me : rnd(state, nodes);
  const kind k = kinds[rnd(state, n_kinds)];
  const size_t n = size_of(state, k == MEDIUM ? most_medium : k == LONG ? most_long : SLICE);
  const unsigned seed = rnd(state, 10000);
  unsigned char *const there = slice(to, me, thread);
  const gasnett_atomic_val_t before = gasnett_atomic_read(&answers[thread], 0);
  fill(buffer, seed, n);
  switch (k) {
    case PUT:
      (void)gex_RMA_PutBlocking(tm, to, there, buffer, n, 0);
      CHECK(gex_RMA_GetBlockingVal(tm, to, there + n - 1, 1, 0) == buffer[n - 1]);
      break;
    case GET:
      (void)gex_RMA_PutBlocking(tm, to, there, buffer, n, 0);
      memset(buffer, 0xee, n);
      (void)gex_RMA_GetBlocking(tm, buffer, to, there, n, 0);
      CHECK(filled(buffer, seed, n));
      break;
    case SHORT: (void)gex_AM_RequestShort1(tm, to, H_SHORT, 0, thread); break;
    case MEDIUM: (void)gex_AM_RequestMedium3(tm, to, H_MEDIUM, buffer, n, GEX_EVENT_NOW, 0, thread, (gex_AM_Arg_t)seed, (gex_AM_Arg_t)n); break;
    default:
      (void)gex_AM_RequestLong3(tm, to, H_LONG, buffer, n, there, GEX_EVENT_NOW, 0, thread, (gex_AM_Arg_t)seed, (gex_AM_Arg_t)n);
      break;
  }
  if (k >= SHORT) GASNET_BLOCKUNTIL(gasnett_atomic_read(&answers[thread], 0) == before + 1);
  if (k == LONG) CHECK(filled(answer_place(me, thread), seed, n));
}
typedef struct {
  int thread;
  long iters;
  unsigned state;
} job;
static void *work(void *argument) {
  job *const j = (job *)argument;
  unsigned char *const buffer = (unsigned char *)malloc(SLICE);
  long i;
  if (buffer == NULL) gasnet_exit(98);
  for (i = 0; i < j->iters; i++) one(j->thread, buffer, &j->state);
  if (how.verbose) say("thread %d: done", j->thread);
  free(buffer);
  return NULL;
}
static void run(void) {
  static job jobs[MOST];
  const long part = how.dynamic ? how.iters / 10 + 1 : how.iters; /* of one life */
  long i;
  int t;
  for (t = 0; t < threads; t++) jobs[t].thread = t, jobs[t].state = 17 * me + (unsigned)t, jobs[t].iters = part;
  for (i = 0; i < how.iters; i += part) {
#if GASNET_PAR
    static pthread_t ids[MOST];
    for (t = 0; t < threads; t++) {
      if (i > 0) CHECK(pthread_join(ids[t], NULL) == 0); /* the others still run */
      if (pthread_create(&ids[t], NULL, work, &jobs[t])) say("ERROR: no thread %d", t), gasnet_exit(95);
    }
    for (t = 0; i + part >= how.iters && t < threads; t++) CHECK(pthread_join(ids[t], NULL) == 0);
#else
    for (t = 0; t < threads; t++) (void)work(&jobs[t]);
#endif
  }
}
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

int main(int argc, char **argv) {
  static const testperf_option accepted[] = {FLAG("-p", &how.selected[PUT]), FLAG("-g", &how.selected[GET]), FLAG("-S", &how.selected[SHORT]),
                                             FLAG("-M", &how.selected[MEDIUM]), FLAG("-L", &how.selected[LONG]), FLAG("-a", &how.all),
                                             FLAG("-l", &how.local), FLAG("-v", &how.verbose), FLAG("-t", &how.time),
                                             FLAG("-d", &how.dynamic), AMOUNT("-i", &how.iters)};
  double us;
  int arg, k, any = 0;
  begin("testthreads", &argc, &argv);
  how.iters = 50;
  arg = options(argc, argv, accepted, COUNT_OF(accepted), 1, "testthreads [-p] [-g] [-S] [-M] [-L] [-a] [-l] [-v] [-t] [-d] [-i N] [threads]");
  threads = (int)positional(argc, argv, arg, 4);
  if (threads > MOST) threads = MOST;
#if !GASNET_PAR
  threads = 1;
#endif
  for (k = 0; k < KINDS; k++)
    if (how.selected[k] && !how.all) any++, kinds[n_kinds++] = (kind)k;
  for (k = 0; any == 0 && k < KINDS; k++) kinds[n_kinds++] = (kind)k;
  for (k = 0; k < MOST; k++) gasnett_atomic_set(&answers[k], 0, 0);
  most_medium = smaller(gex_AM_MaxRequestMedium(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 3),
                        gex_AM_MaxReplyMedium(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 3));
  most_long = smaller(gex_AM_MaxRequestLong(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 3),
                      gex_AM_MaxReplyLong(tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 3));
  most_long = smaller(most_long, SLICE);
  most_medium = smaller(most_medium, SLICE);
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas(((size_t)nodes + 1) * (size_t)threads * SLICE);
  (void)now_us();
  us = now_us();
  run();
  us = now_us() - us;
  BARRIER();
  CHECK(gasnett_atomic_read(&wrong, 0) == 0);
  if (how.time) say("%d threads, %ld operations each: %.3f ms", threads, how.iters, us / 1000);
  return end();
}
