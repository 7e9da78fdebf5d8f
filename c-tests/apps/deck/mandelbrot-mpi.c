/* The Mandelbrot set over MPI, the twin of mandelbrot-deck.c. mandelbrot-kernel.h says what is computed, how slices are dealt out,
 * and the options.
 *
 * A request is the slice that is done, or -1, and its counts. The master has a receive posted at all times. */
#include "app-mpi.h"
#include "mandelbrot-kernel.h"

enum { REQUEST = 1, ANSWER };

/* Counts begin behind the slice. The room for the slice is 16 bytes, so that counts are aligned. */
enum { HEAD = 16 };

typedef struct {
  mandel_master_t master;
  MPI_Request request;
  char *buffer;
  int room;
  double communication;
} server_t;

static void listen_again(server_t *s) {
  MPI_Irecv(s->buffer, s->room, MPI_BYTE, MPI_ANY_SOURCE, REQUEST, MPI_COMM_WORLD, &s->request);
}

static void answer(server_t *s, const MPI_Status *status) {
  const mandel_t *m = s->master.m;
  int from = status->MPI_SOURCE, bytes;
  int32_t slice;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  memcpy(&slice, s->buffer, sizeof slice);
  if (slice != -1) {
    size_t length = 0;
    if (slice >= 0 && slice < mandel_slices(m)) length = (size_t)mandel_rows_of(m, slice) * (size_t)m->size * sizeof(uint16_t);
    if (!length || (size_t)bytes != HEAD + length) app_die("slice %d of %d bytes", (int)slice, bytes);
    memcpy(mandel_place(&s->master, slice), s->buffer + HEAD, length);
    mandel_came(&s->master, slice);
  }
  slice = mandel_deal(&s->master);
  MPI_Send(&slice, 1, MPI_INT32_T, from, ANSWER, MPI_COMM_WORLD);
  listen_again(s);
}

/* Answers all requests that are there; the first one may be waited for. */
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

static void master(server_t *s, int others) {
  int slice;
  if (others) listen_again(s);
  while (s->master.next < mandel_slices(s->master.m)) {
    slice = s->master.next++;
    mandel_slice(s->master.m, slice, mandel_place(&s->master, slice), others ? poll : NULL, s);
    mandel_came(&s->master, slice);
  }
  while (s->master.stopped < M_AHEAD * others) serve(s, 1);
  if (others) {
    MPI_Cancel(&s->request);
    MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  }
}

static double work(const mandel_t *m) {
  size_t room = HEAD + (size_t)M_ROWS * (size_t)m->size * sizeof(uint16_t);
  char *buffer[M_AHEAD];
  MPI_Request sent[M_AHEAD];
  double communication = 0, begin = app_now();
  int i, turn = 0, waiting = M_AHEAD;
  int32_t slice = -1;
  for (i = 0; i < M_AHEAD; i++) {
    buffer[i] = app_alloc(room);
    memcpy(buffer[i], &slice, sizeof slice);
    MPI_Isend(buffer[i], HEAD, MPI_BYTE, 0, REQUEST, MPI_COMM_WORLD, &sent[i]);
  }
  while (waiting) {
    MPI_Recv(&slice, 1, MPI_INT32_T, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(slice >= -1 && slice < mandel_slices(m), "slice %d", (int)slice);
    waiting--;
    if (slice >= 0) {
      /* The buffer's last request was answered, so this does not wait. */
      MPI_Wait(&sent[turn], MPI_STATUS_IGNORE);
      communication += app_now() - begin;
      memcpy(buffer[turn], &slice, sizeof slice);
      mandel_slice(m, slice, (uint16_t *)(void *)(buffer[turn] + HEAD), NULL, NULL);
      begin = app_now();
      MPI_Isend(buffer[turn], (int)(HEAD + (size_t)mandel_rows_of(m, slice) * (size_t)m->size * sizeof(uint16_t)), MPI_BYTE, 0,
                REQUEST, MPI_COMM_WORLD, &sent[turn]);
      turn = (turn + 1) % M_AHEAD;
      waiting++;
    }
  }
  MPI_Waitall(M_AHEAD, sent, MPI_STATUSES_IGNORE);
  for (i = 0; i < M_AHEAD; i++) free(buffer[i]);
  return communication + (app_now() - begin);
}

int main(int argc, char **argv) {
  mandel_t m;
  app_mpi_begin("mandelbrot", &argc, &argv);
  mandel_options(&m, argc, argv);
  app_mpi_one_thread(&m.app);
  if (m.app.serial) {
    if (app_node == 0) mandel_serial(&m, 1);
  } else {
    server_t s;
    double begin, seconds, communication = 0;
    memset(&s, 0, sizeof s);
    if (app_node == 0) {
      mandel_master_begin(&s.master, &m);
      s.room = (int)(HEAD + (size_t)M_ROWS * (size_t)m.size * sizeof(uint16_t));
      s.buffer = app_alloc((size_t)s.room);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    begin = app_now();
    if (app_node == 0) master(&s, app_nodes - 1);
    else communication = work(&m);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = app_now() - begin;
    communication = app_mpi_sum(communication + s.communication);
    if (app_node == 0) {
      app_result(app_name, seconds, communication, app_nodes, mandel_verify(&s.master));
      free(s.master.counts);
      free(s.buffer);
    }
  }
  return app_mpi_end();
}
