/* The slab over MPI, the twin of laplace-deck.c. laplace-kernel.h says what is computed, the modes and the options.
 *
 * Edges go from where they lie to where they are read, by persistent requests. Receives start before the sends. */
#include "app-mpi.h"
#include "laplace-kernel.h"

typedef struct {
  MPI_Request requests[2][4]; /* of each colour: receives, then sends */
  int count;
  double communication;
} worker_t;

static void send_edges(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  (void)s;
  if (w->count) MPI_Startall(w->count, w->requests[colour]);
  w->communication += app_now() - begin;
}

static void receive_halos(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  (void)s;
  if (w->count) MPI_Waitall(w->count, w->requests[colour], MPI_STATUSES_IGNORE);
  w->communication += app_now() - begin;
}

static double agree(void *with, double change) {
  worker_t *w = with;
  double begin = app_now(), most;
  MPI_Allreduce(&change, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  w->communication += app_now() - begin;
  return most;
}

static const laplace_swap_t swap = {NULL, send_edges, receive_halos, agree};

static void meet_neighbours(worker_t *w, laplace_strip_t *s) {
  int bytes = (int)laplace_part_bytes(s->l), colour;
  int above = s->worker > 0 ? s->worker - 1 : -1, below = s->worker < s->l->workers - 1 ? s->worker + 1 : -1;
  for (colour = 0; colour < 2; colour++) {
    MPI_Request *r = w->requests[colour];
    double **row = s->row[colour];
    if (above >= 0) MPI_Recv_init(row[0], bytes, MPI_BYTE, above, colour, MPI_COMM_WORLD, r++);
    if (below >= 0) MPI_Recv_init(row[s->rows + 1], bytes, MPI_BYTE, below, colour, MPI_COMM_WORLD, r++);
    if (above >= 0) MPI_Send_init(row[1], bytes, MPI_BYTE, above, colour, MPI_COMM_WORLD, r++);
    if (below >= 0) MPI_Send_init(row[s->rows], bytes, MPI_BYTE, below, colour, MPI_COMM_WORLD, r++);
    w->count = (int)(r - w->requests[colour]);
  }
}

/* The CRC goes from process to process, and from the last one back to the first. */
static uint32_t sum_up(const laplace_strip_t *s) {
  int last = s->l->workers - 1;
  uint32_t crc = 0;
  if (s->worker > 0) MPI_Recv(&crc, 1, MPI_UINT32_T, s->worker - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  crc = laplace_crc(s, crc);
  if (s->worker < last) MPI_Send(&crc, 1, MPI_UINT32_T, s->worker + 1, 2, MPI_COMM_WORLD);
  MPI_Bcast(&crc, 1, MPI_UINT32_T, last, MPI_COMM_WORLD);
  return crc;
}

static void run(const laplace_options_t *o, int mode) {
  laplace_t l;
  laplace_strip_t s;
  worker_t w;
  double begin, seconds, communication;
  uint32_t crc;
  int iterations, colour, k;
  memset(&w, 0, sizeof w);
  laplace_make(&l, o, mode, app_nodes);
  laplace_strip_make(&s, &l, app_node, app_nodes);
  meet_neighbours(&w, &s);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = app_now();
  iterations = laplace_solve(&s, &swap, &w);
  MPI_Barrier(MPI_COMM_WORLD);
  seconds = app_now() - begin;
  crc = sum_up(&s);
  laplace_check(&s, iterations);
  communication = app_mpi_sum(w.communication);
  if (app_node == 0) {
    app_result(l.name, seconds, communication, app_nodes, crc);
    laplace_verify(&l, &o->app, crc, iterations);
  }
  for (colour = 0; colour < 2; colour++)
    for (k = 0; k < w.count; k++) MPI_Request_free(&w.requests[colour][k]);
  laplace_strip_free(&s);
}

int main(int argc, char **argv) {
  laplace_options_t o;
  int i, n;
  app_mpi_begin("laplace", &argc, &argv);
  laplace_options(&o, argc, argv);
  app_mpi_one_thread(&o.app);
  for (i = 0; i < o.count; i++) {
    laplace_t l;
    if (o.app.serial) {
      laplace_make(&l, &o, o.modes[i], app_nodes);
      if (app_node == 0) laplace_serial(&l, 1, &n);
    } else
      run(&o, o.modes[i]);
  }
  return app_mpi_end();
}
