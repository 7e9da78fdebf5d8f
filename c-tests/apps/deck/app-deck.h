/* What the DECK versions of the applications share: checked calls, start and end, workers as threads. */
#ifndef DECK_APP_DECK_H
#define DECK_APP_DECK_H

#include <deck.h>

#include "app.h"

#define DECK_SAFE(call)                                                                                         \
  do {                                                                                                          \
    int app_rc_ = (call);                                                                                       \
    if (app_rc_ < 0) app_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, deck_strerror(app_rc_));               \
  } while (0)

static void APP_UNUSED app_deck_begin(const char *name, int *argc, char ***argv) {
  int rc;
  app_name = name;
  rc = deck_init(argc, argv);
  if (rc < 0) app_die("deck_init: %s", deck_strerror(rc));
  app_node = deck_node();
  app_nodes = deck_nodes();
  CHECK(app_nodes >= 1 && app_node >= 0 && app_node < app_nodes, "node %d of %d", app_node, app_nodes);
  app_crc_check();
}

/* The verdict of this node, and the end of the job. */
static int APP_UNUSED app_deck_end(void) {
  int rc;
  DECK_SAFE(deck_barrier());
  rc = app_verdict();
  DECK_SAFE(deck_done());
  return rc;
}

/* The sum of a number of each node, at node 0. */
static double APP_UNUSED app_deck_sum(double mine) {
  double sum = mine;
  DECK_SAFE(deck_reduce(&mine, &sum, DECK_DOUBLE, 1, DECK_SUM, 0));
  return sum;
}

/* The workers of this node begin together. The first is the main thread, the others wait at `go` after they are ready. */
static deck_sem_t app_ready, app_go;

static void APP_UNUSED app_deck_meet(void) {
  DECK_SAFE(deck_sem_v(app_ready));
  DECK_SAFE(deck_sem_p(app_go));
}

typedef struct {
  void *(*fn)(void *);
  deck_thread_t *threads;
  int count;
} app_team_t;

/* Runs fn on the 2nd and all further elements of an array. It calls app_deck_meet when it is ready. */
static void APP_UNUSED app_deck_start(app_team_t *t, void *(*fn)(void *), void *array, size_t element, int count) {
  int i;
  t->fn = fn;
  t->count = count;
  t->threads = app_alloc((size_t)count * sizeof *t->threads);
  if (count == 1) return;
  DECK_SAFE(deck_sem_create(0, &app_ready));
  DECK_SAFE(deck_sem_create(0, &app_go));
  for (i = 1; i < count; i++) DECK_SAFE(deck_thread_create(fn, (char *)array + (size_t)i * element, &t->threads[i]));
}

/* Waits until all workers of all nodes are ready. The time counts from here. */
static double APP_UNUSED app_deck_go(app_team_t *t) {
  double begin;
  int i;
  for (i = 1; i < t->count; i++) DECK_SAFE(deck_sem_p(app_ready));
  DECK_SAFE(deck_barrier());
  begin = app_now();
  for (i = 1; i < t->count; i++) DECK_SAFE(deck_sem_v(app_go));
  return begin;
}

static void APP_UNUSED app_deck_join(app_team_t *t) {
  int i;
  for (i = 1; i < t->count; i++) DECK_SAFE(deck_thread_join(t->threads[i], NULL));
  if (t->count > 1) {
    DECK_SAFE(deck_sem_destroy(app_ready));
    DECK_SAFE(deck_sem_destroy(app_go));
  }
  free(t->threads);
}

#endif
