/* The ray tracer over MPI, the twin of ray-deck.c. ray-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * A message to the master is a line's number and its bytes, or -1 for a request. The master has a receive posted at all times. */
#include "app-mpi.h"
#include "ray-kernel.h"

enum { TO_MASTER = 1, ANSWER };
enum { HEAD = 16, BUFFERS = 4 };

typedef struct {
  ray_master_t master;
  MPI_Request request;
  char *buffer;
  double communication;
} server_t;

static void listen_again(server_t *s) {
  MPI_Irecv(s->buffer, (int)(HEAD + ray_line_bytes(s->master.r)), MPI_BYTE, MPI_ANY_SOURCE, TO_MASTER, MPI_COMM_WORLD, &s->request);
}

static void answer(server_t *s, const MPI_Status *status) {
  const ray_t *r = s->master.r;
  int32_t line, slice[2];
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  memcpy(&line, s->buffer, sizeof line);
  if (line != -1) {
    if (line < 0 || line >= r->height || (size_t)bytes != HEAD + ray_line_bytes(r)) app_die("line %d of %d bytes", (int)line, bytes);
    memcpy(ray_place(&s->master, line), s->buffer + HEAD, ray_line_bytes(r));
    ray_came(&s->master, line);
  } else {
    int first, lines = ray_deal(&s->master, &first);
    slice[0] = (int32_t)first;
    slice[1] = (int32_t)lines;
    if (!lines) s->master.stopped++;
    MPI_Send(slice, 2, MPI_INT32_T, status->MPI_SOURCE, ANSWER, MPI_COMM_WORLD);
  }
  listen_again(s);
}

/* Serves all messages that are there; the first one may be waited for. */
static void serve(server_t *s, int wait) {
  double begin = app_now();
  for (;;) {
    MPI_Status status;
    int there = 1;
    if (wait) MPI_Wait(&s->request, &status);
    else MPI_Test(&s->request, &there, &status);
    if (!there) break;
    answer(s, &status);
    wait = 0;
  }
  s->communication += app_now() - begin;
}

static void poll(void *server) { serve(server, 0); }

static void master(server_t *s) {
  int others = s->master.workers - 1, line, lines;
  if (others) listen_again(s);
  while ((lines = ray_deal(&s->master, &line)) > 0)
    for (; lines > 0; lines--, line++) {
      ray_line(s->master.r, line, ray_place(&s->master, line), others ? poll : NULL, s);
      ray_came(&s->master, line);
    }
  while (s->master.stopped < others) serve(s, 1);
  if (others) {
    MPI_Cancel(&s->request);
    MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  }
}

static double work(const ray_t *r) {
  char *buffer[BUFFERS];
  MPI_Request sent[BUFFERS];
  double communication = 0, begin = app_now();
  int i, turn = 0;
  for (i = 0; i < BUFFERS; i++) {
    buffer[i] = app_alloc(HEAD + ray_line_bytes(r));
    sent[i] = MPI_REQUEST_NULL;
  }
  for (;;) {
    int32_t slice[2], none[HEAD / 4] = {-1, 0, 0, 0};
    MPI_Send(none, HEAD, MPI_BYTE, 0, TO_MASTER, MPI_COMM_WORLD);
    MPI_Recv(slice, 2, MPI_INT32_T, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(slice[0] >= 0 && slice[1] >= 0 && slice[0] + slice[1] <= r->height, "%d lines from %d", (int)slice[1], (int)slice[0]);
    if (!slice[1]) break;
    for (; slice[1] > 0; slice[0]++, slice[1]--) {
      MPI_Wait(&sent[turn], MPI_STATUS_IGNORE);
      communication += app_now() - begin;
      memcpy(buffer[turn], &slice[0], sizeof slice[0]);
      ray_line(r, slice[0], (unsigned char *)buffer[turn] + HEAD, NULL, NULL);
      begin = app_now();
      MPI_Isend(buffer[turn], (int)(HEAD + ray_line_bytes(r)), MPI_BYTE, 0, TO_MASTER, MPI_COMM_WORLD, &sent[turn]);
      turn = (turn + 1) % BUFFERS;
    }
  }
  MPI_Waitall(BUFFERS, sent, MPI_STATUSES_IGNORE);
  for (i = 0; i < BUFFERS; i++) free(buffer[i]);
  return communication + (app_now() - begin);
}

int main(int argc, char **argv) {
  ray_t r;
  app_mpi_begin("ray", &argc, &argv);
  ray_options(&r, argc, argv);
  app_mpi_one_thread(&r.app);
  if (r.app.serial) {
    if (app_node == 0) ray_serial(&r, 1);
  } else {
    server_t s;
    double begin, seconds, communication = 0;
    memset(&s, 0, sizeof s);
    if (app_node == 0) {
      ray_master_begin(&s.master, &r, app_nodes);
      s.buffer = app_alloc(HEAD + ray_line_bytes(&r));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    begin = app_now();
    if (app_node == 0) master(&s);
    else communication = work(&r);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = app_now() - begin;
    communication = app_mpi_sum(communication + s.communication);
    if (app_node == 0) {
      app_result(app_name, seconds, communication, app_nodes, ray_verify(&s.master));
      ray_master_free(&s.master);
      free(s.buffer);
    }
  }
  return app_mpi_end();
}
