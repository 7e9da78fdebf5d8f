/* A small runtime for coarrays over GASNet-EX, as a compiler of Fortran could use one: images, teams, symmetric memory, sections of
 * arrays, events, locks, collectives. An image is a process; images of a team count from 0. In GASNET_PAR a thread of the runtime
 * serves messages while the image computes.
 *
 * A coarray is named by its offset, which is the same in all images of the team that made it. */
#ifndef COARRAY_H
#define COARRAY_H
#include "../ex/testexam.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <unistd.h>
#if defined(GASNET_PAR)
#include <pthread.h>
#endif

typedef size_t ca_t;
typedef struct {
  gex_TM_t tm;
  gex_AD_t words; /* for events, locks and signals */
  gex_Rank_t image, images;
  gex_Rank_t *process; /* of each image */
  ca_t signal;         /* of sync_images: a word for each image */
} ca_team_t;
/* first, first + step, ... */
typedef struct {
  ptrdiff_t first, step;
  size_t n;
} ca_range_t;
/* An array of two dimensions, the last one contiguous. */
typedef struct {
  ca_t at;
  size_t element, rows, columns;
} ca_array_t;

static size_t ca_top; /* of the memory in use */

static unsigned char *ca_there(const ca_team_t *team, gex_Rank_t image, ca_t at) { return area[team->process[image]] + at; }
static void *ca_here(ca_t at) { return area[me] + at; }

/* ---- collectives: in place; `root` is an image, or -1 for all ---- */
static void ca_sync_all(const ca_team_t *team) { gex_Event_Wait(gex_Coll_BarrierNB(team->tm, 0)); }
static void ca_broadcast(const ca_team_t *team, void *data, size_t n, gex_Rank_t source) {
  gex_Event_Wait(gex_Coll_BroadcastNB(team->tm, source, data, data, n, 0));
}
static void ca_reduce(const ca_team_t *team, void *data, gex_DT_t type, size_t size, size_t n, gex_OP_t op, int root) {
  if (root < 0) gex_Event_Wait(gex_Coll_ReduceToAllNB(team->tm, data, data, type, size, n, op, NULL, NULL, 0));
  else gex_Event_Wait(gex_Coll_ReduceToOneNB(team->tm, (gex_Rank_t)root, data, data, type, size, n, op, NULL, NULL, 0));
}
#define ca_sum_i64(team, data, n, root) ca_reduce(team, data, GEX_DT_I64, 8, n, GEX_OP_ADD, root)
#define ca_max_i64(team, data, n, root) ca_reduce(team, data, GEX_DT_I64, 8, n, GEX_OP_MAX, root)
#define ca_sum_dbl(team, data, n, root) ca_reduce(team, data, GEX_DT_DBL, 8, n, GEX_OP_ADD, root)
#define ca_max_dbl(team, data, n, root) ca_reduce(team, data, GEX_DT_DBL, 8, n, GEX_OP_MAX, root)

/* ---- memory ---- */
/* Zeroed memory of `bytes` bytes in each image of the team. To give it back: remember ca_top before, and call ca_release. */
static ca_t ca_allocate(const ca_team_t *team, size_t bytes) {
  uint64_t top = (ca_top + 63) / 64 * 64; /* images in other teams too may have more in use */
  ca_reduce(team, &top, GEX_DT_U64, 8, 1, GEX_OP_MAX, -1);
  ca_top = (size_t)top + bytes;
  if (ca_top > area_bytes) say("ERROR: no memory for a coarray of %lu bytes", (unsigned long)bytes), gasnet_exit(1);
  memset(ca_here((ca_t)top), 0, bytes);
  ca_sync_all(team);
  return (ca_t)top;
}
/* Gives back what was allocated since ca_top was `mark`, when no image of the team uses it any more. */
static void ca_release(const ca_team_t *team, size_t mark) {
  ca_sync_all(team);
  ca_top = mark;
}

/* ---- teams ---- */
static void ca_fill_team(ca_team_t *team) {
  gex_Rank_t i;
  team->image = gex_TM_QueryRank(team->tm), team->images = gex_TM_QuerySize(team->tm);
  team->process = (gex_Rank_t *)malloc(team->images * sizeof *team->process);
  for (i = 0; i < team->images; i++) team->process[i] = gex_TM_TranslateRankToJobrank(team->tm, i);
  gex_AD_Create(&team->words, team->tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_SUB | GEX_OP_FADD | GEX_OP_GET | GEX_OP_SET | GEX_OP_FCAS, 0);
  team->signal = ca_allocate(team, 8 * team->images);
}
static ca_team_t ca_form_team(const ca_team_t *parent, int color, int key) {
  ca_team_t team;
  (void)gex_TM_Split(&team.tm, parent->tm, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
  ca_fill_team(&team);
  return team;
}
static void ca_forget_team(ca_team_t *team) {
  ca_sync_all(team);
  gex_AD_Destroy(team->words);
  (void)gex_TM_Destroy(team->tm, NULL, 0);
  free(team->process);
}

/* ---- transfers ---- */
static void ca_put(const ca_team_t *team, gex_Rank_t image, ca_t at, const void *from, size_t n) {
  gex_Event_Wait(gex_RMA_PutNB(team->tm, image, ca_there(team, image, at), from, n, GEX_EVENT_DEFER, 0));
}
static void ca_get(const ca_team_t *team, gex_Rank_t image, void *to, ca_t at, size_t n) {
  gex_Event_Wait(gex_RMA_GetNB(team->tm, to, image, ca_there(team, image, at), n, 0));
}
static ptrdiff_t ca_offset(const ca_array_t *a, const ca_range_t *r) {
  return (r[0].first * (ptrdiff_t)a->columns + r[1].first) * (ptrdiff_t)a->element;
}
static void ca_strides(const ca_array_t *a, const ca_range_t *r, ptrdiff_t *stride) {
  stride[0] = r[0].step * (ptrdiff_t)(a->columns * a->element), stride[1] = r[1].step * (ptrdiff_t)a->element;
}
/* a(range)[image] = here(range), and the other way; both sections have the same shape. Returns an event. */
static gex_Event_t ca_put_section(const ca_team_t *team, gex_Rank_t image, const ca_array_t *a, const ca_range_t *range, void *local,
                                  const ca_array_t *here, const ca_range_t *local_range) {
  ptrdiff_t far[2], near[2];
  size_t count[2];
  count[0] = range[0].n, count[1] = range[1].n;
  ca_strides(a, range, far), ca_strides(here, local_range, near);
  return gex_VIS_StridedPutNB(team->tm, image, ca_there(team, image, a->at) + ca_offset(a, range), far,
                              (unsigned char *)local + ca_offset(here, local_range), near, a->element, count, 2, 0);
}
static gex_Event_t ca_get_section(const ca_team_t *team, gex_Rank_t image, const ca_array_t *a, const ca_range_t *range, void *local,
                                  const ca_array_t *here, const ca_range_t *local_range) {
  ptrdiff_t far[2], near[2];
  size_t count[2];
  count[0] = range[0].n, count[1] = range[1].n;
  ca_strides(a, range, far), ca_strides(here, local_range, near);
  return gex_VIS_StridedGetNB(team->tm, (unsigned char *)local + ca_offset(here, local_range), near, image,
                              ca_there(team, image, a->at) + ca_offset(a, range), far, a->element, count, 2, 0);
}

/* ---- events, signals, locks: words in coarrays ---- */
static uint64_t ca_word(const ca_team_t *team, gex_Rank_t image, ca_t at, gex_OP_t op, uint64_t x, uint64_t y, gex_Flags_t flags) {
  uint64_t old = 0;
  gex_Event_Wait(gex_AD_OpNB_U64(team->words, &old, image, ca_there(team, image, at), op, x, y, flags));
  return old;
}
static void ca_event_post(const ca_team_t *team, gex_Rank_t image, ca_t event) {
  (void)ca_word(team, image, event, GEX_OP_ADD, 1, 0, GEX_FLAG_AD_REL);
}
static uint64_t ca_event_query(const ca_team_t *team, ca_t event) {
  return ca_word(team, team->image, event, GEX_OP_GET, 0, 0, GEX_FLAG_AD_ACQ | GEX_FLAG_AD_MY_RANK);
}
/* Waits until the own event was posted `count` times, and takes that many away. */
static void ca_event_wait(const ca_team_t *team, ca_t event, uint64_t count) {
  while (ca_event_query(team, event) < count) gasnet_AMPoll();
  (void)ca_word(team, team->image, event, GEX_OP_SUB, count, 0, GEX_FLAG_AD_MY_RANK);
}
/* Meets some images, each of which names this one. */
static void ca_sync_images(const ca_team_t *team, const gex_Rank_t *image, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) ca_event_post(team, image[i], team->signal + 8 * team->image);
  for (i = 0; i < n; i++) ca_event_wait(team, team->signal + 8 * image[i], 1);
}
static void ca_lock(const ca_team_t *team, gex_Rank_t image, ca_t lock) {
  while (ca_word(team, image, lock, GEX_OP_FCAS, 0, team->image + 1, GEX_FLAG_AD_ACQ) != 0) gasnet_AMPoll();
}
static void ca_unlock(const ca_team_t *team, gex_Rank_t image, ca_t lock) {
  (void)ca_word(team, image, lock, GEX_OP_SET, 0, 0, GEX_FLAG_AD_REL);
}

/* ---- start and end ---- */
static ca_team_t ca_all;
#if defined(GASNET_PAR)
static int ca_ending;
static pthread_t ca_server;
static void *ca_serve(void *none) {
  while (!__atomic_load_n(&ca_ending, __ATOMIC_ACQUIRE)) gasnet_AMPoll(), usleep(20);
  return none;
}
#endif
static void ca_begin(const char *name, int *argc, char ***argv, size_t bytes) {
  begin(name, argc, argv);
  make_areas(bytes);
  ca_all.tm = tm;
  ca_fill_team(&ca_all);
#if defined(GASNET_PAR)
  if (pthread_create(&ca_server, NULL, ca_serve, NULL)) say("ERROR: no thread"), gasnet_exit(1);
#endif
}
static int ca_end(void) {
  ca_sync_all(&ca_all);
#if defined(GASNET_PAR)
  __atomic_store_n(&ca_ending, 1, __ATOMIC_RELEASE);
  pthread_join(ca_server, NULL);
#endif
  return end();
}
#endif
