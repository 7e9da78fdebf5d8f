/* A farm over mail boxes: what mandelbrot-deck.c and ray-deck.c share. Node 0 has one box, which has the program's name. The master is the
 * first worker of node 0. It works too, and answers messages meanwhile. With --threads K each node has K workers. */
#ifndef DECK_APP_DECK_FARM_H
#define DECK_APP_DECK_FARM_H

#include "app-deck.h"

/* A farm and its messages. */
typedef struct {
  app_farm_t part;
  void (*answer)(void *job, deck_msg_t msg);      /* node 0: a message of a worker */
  void (*work)(void *job, double *communication); /* all workers but the master; adds the seconds in DECK */
} farm_t;

typedef struct {
  const farm_t *farm;
  deck_mbox_t box;
  double communication; /* seconds in DECK */
} server_t;

/* Answers all messages that are there; the first one may be waited for. */
static void farm_serve(server_t *s, deck_time_t time) {
  double begin = app_now();
  for (;;) {
    deck_msg_t msg = NULL;
    int rc = deck_mbox_take(s->box, &msg, time);
    if (rc == DECK_EAGAIN && time == 0) break;
    DECK_SAFE(rc);
    s->farm->answer(s->farm->part.job, msg);
    DECK_SAFE(deck_msg_destroy(msg));
    time = 0;
  }
  s->communication += app_now() - begin;
}

static void farm_poll(void *server) { farm_serve(server, 0); }

static void farm_master(server_t *s, int others) {
  const app_farm_t *part = &s->farm->part;
  part->compute(part->job, others ? farm_poll : NULL, s);
  while (part->is_awaited(part->job, others)) farm_serve(s, DECK_FOREVER);
}

typedef struct {
  const farm_t *farm;
  double communication;
} worker_t;

static void farm_work(worker_t *w) { w->farm->work(w->farm->part.job, &w->communication); }

static void *worker_thread(void *worker) {
  app_deck_meet();
  farm_work(worker);
  return NULL;
}

/* All of a run, on each node: prints the result on node 0. */
static void farm_run(const farm_t *farm, int threads) {
  int i, workers = threads * app_nodes;
  worker_t *mine = app_alloc((size_t)threads * sizeof *mine);
  server_t s;
  app_team_t team;
  double begin, seconds, communication;
  memset(&s, 0, sizeof s);
  s.farm = farm;
  if (app_node == 0) {
    farm->part.begin(farm->part.job, workers);
    DECK_SAFE(deck_mbox_create(app_name, NULL, &s.box));
  }
  for (i = 0; i < threads; i++) mine[i].farm = farm;
  app_deck_start(&team, worker_thread, mine, sizeof *mine, threads);
  begin = app_deck_go(&team);
  if (app_node == 0) farm_master(&s, workers - 1);
  else farm_work(&mine[0]);
  app_deck_join(&team);
  DECK_SAFE(deck_barrier());
  seconds = app_now() - begin;
  communication = s.communication;
  for (i = 0; i < threads; i++) communication += mine[i].communication;
  communication = app_deck_sum(communication);
  if (app_node == 0) {
    app_result(app_name, seconds, communication, workers, farm->part.end(farm->part.job));
    DECK_SAFE(deck_mbox_destroy(s.box));
  }
  free(mine);
}

#endif
