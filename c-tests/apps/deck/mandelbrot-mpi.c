/* The Mandelbrot set over MPI, the twin of mandelbrot-deck.c. mandelbrot-kernel.h says what is computed, how slices are dealt out,
 * and the options.
 *
 * A request is the slice that is done, or -1, and its counts. The master has a receive posted at all times. */
#include "app-mpi-farm.h"
#include "mandelbrot-kernel.h"

/* The most bytes of a message to the master. */
static size_t room_of(const mandel_t *m) { return HEAD + (size_t)M_ROWS * (size_t)m->size * sizeof(uint16_t); }

static void answer(void *job, const char *message, size_t bytes, int source) {
  mandel_job_t *j = job;
  int32_t slice;
  memcpy(&slice, message, sizeof slice);
  if (slice != -1) {
    size_t length = 0;
    if (slice >= 0 && slice < mandel_slices(&j->m))
      length = (size_t)mandel_rows_of(&j->m, slice) * (size_t)j->m.size * sizeof(uint16_t);
    if (!length || bytes != HEAD + length) app_die("slice %d of %lu bytes", (int)slice, (unsigned long)bytes);
    memcpy(mandel_place(&j->master, slice), message + HEAD, length);
    mandel_came(&j->master, slice);
  }
  slice = mandel_deal(&j->master);
  MPI_Send(&slice, 1, MPI_INT32_T, source, ANSWER, MPI_COMM_WORLD);
}

static double work(void *job) {
  const mandel_t *m = &((mandel_job_t *)job)->m;
  size_t room = room_of(m);
  char *buffer[M_AHEAD];
  MPI_Request sent[M_AHEAD];
  double communication = 0, begin = app_now();
  int i, turn = 0, waiting = M_AHEAD;
  int32_t slice = -1;
  for (i = 0; i < M_AHEAD; i++) {
    buffer[i] = app_alloc(room);
    memcpy(buffer[i], &slice, sizeof slice);
    MPI_Isend(buffer[i], HEAD, MPI_BYTE, 0, TO_MASTER, MPI_COMM_WORLD, &sent[i]);
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
                TO_MASTER, MPI_COMM_WORLD, &sent[turn]);
      turn = (turn + 1) % M_AHEAD;
      waiting++;
    }
  }
  MPI_Waitall(M_AHEAD, sent, MPI_STATUSES_IGNORE);
  for (i = 0; i < M_AHEAD; i++) free(buffer[i]);
  return communication + (app_now() - begin);
}

int main(int argc, char **argv) {
  mandel_job_t j;
  farm_t farm;
  app_mpi_begin("mandelbrot", &argc, &argv);
  mandel_options(&j.m, argc, argv);
  app_mpi_one_thread(&j.m.app);
  farm.room = room_of(&j.m);
  farm.part = mandel_farm(&j);
  farm.answer = answer;
  farm.work = work;
  if (!j.m.app.serial) farm_run(&farm);
  else if (app_node == 0) mandel_serial(&j.m, 1);
  return app_mpi_end();
}
