/* A farm over MPI: what mandelbrot-mpi.c and ray-mpi.c share, the twin of app-deck-farm.h. The master is process 0, and has a receive posted
 * at all times. */
#ifndef DECK_APP_MPI_FARM_H
#define DECK_APP_MPI_FARM_H

#include "app-mpi.h"

enum { TO_MASTER = 1, ANSWER };
/* What a result is of comes first. The room for it is 16 bytes, so that the result is aligned. */
enum { HEAD = 16 };

/* A farm and its messages. */
typedef struct {
  app_farm_t part;
  size_t room; /* the bytes of a message to the master, at most */
  void (*answer)(void *job, const char *message, size_t bytes, int source); /* process 0: a message of a worker */
  double (*work)(void *job); /* all other processes; returns the seconds in MPI */
} farm_t;

typedef struct {
  const farm_t *farm;
  MPI_Request request;
  char *buffer;
  double communication; /* seconds in MPI */
} server_t;

static void farm_listen(server_t *s) {
  MPI_Irecv(s->buffer, (int)s->farm->room, MPI_BYTE, MPI_ANY_SOURCE, TO_MASTER, MPI_COMM_WORLD, &s->request);
}

/* Answers all messages that are there; the first one may be waited for. */
static void farm_serve(server_t *s, int wait) {
  double begin = app_now();
  for (;;) {
    MPI_Status status;
    int there = 1, bytes;
    if (wait) MPI_Wait(&s->request, &status);
    else MPI_Test(&s->request, &there, &status);
    if (!there) break;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    s->farm->answer(s->farm->part.job, s->buffer, (size_t)bytes, status.MPI_SOURCE);
    farm_listen(s);
    wait = 0;
  }
  s->communication += app_now() - begin;
}

static void farm_poll(void *server) { farm_serve(server, 0); }

static void farm_master(server_t *s, int others) {
  const app_farm_t *part = &s->farm->part;
  if (others) farm_listen(s);
  part->compute(part->job, others ? farm_poll : NULL, s);
  while (part->is_awaited(part->job, others)) farm_serve(s, 1);
  if (others) {
    MPI_Cancel(&s->request);
    MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  }
}

/* All of a run, on each process: prints the result on process 0. */
static void farm_run(const farm_t *farm) {
  server_t s;
  double begin, seconds, communication = 0;
  memset(&s, 0, sizeof s);
  s.farm = farm;
  if (app_node == 0) {
    farm->part.begin(farm->part.job, app_nodes);
    s.buffer = app_alloc(farm->room);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  begin = app_now();
  if (app_node == 0) farm_master(&s, app_nodes - 1);
  else communication = farm->work(farm->part.job);
  MPI_Barrier(MPI_COMM_WORLD);
  seconds = app_now() - begin;
  communication = app_mpi_sum(communication + s.communication);
  if (app_node == 0) {
    app_result(app_name, seconds, communication, app_nodes, farm->part.end(farm->part.job));
    free(s.buffer);
  }
}

#endif
