/* The ray tracer over MPI, the twin of ray-deck.c. ray-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * A message to the master is a line's number and its bytes, or -1 for a request. The master has a receive posted at all times. */
#include "app-mpi-farm.h"
#include "ray-kernel.h"

enum { BUFFERS = 4 };

static size_t room_of(const ray_t *r) { return HEAD + ray_line_bytes(r); }

static void answer(void *job, const char *message, size_t bytes, int source) {
  ray_job_t *j = job;
  int32_t line, slice[2];
  memcpy(&line, message, sizeof line);
  if (line != -1) {
    if (line < 0 || line >= j->r.height || bytes != room_of(&j->r)) app_die("line %d of %lu bytes", (int)line, (unsigned long)bytes);
    memcpy(ray_place(&j->master, line), message + HEAD, ray_line_bytes(&j->r));
    ray_came(&j->master, line);
  } else {
    int first, lines = ray_deal(&j->master, &first);
    slice[0] = (int32_t)first;
    slice[1] = (int32_t)lines;
    if (!lines) j->master.stopped++;
    MPI_Send(slice, 2, MPI_INT32_T, source, ANSWER, MPI_COMM_WORLD);
  }
}

static double work(void *job) {
  const ray_t *r = &((ray_job_t *)job)->r;
  char *buffer[BUFFERS];
  MPI_Request sent[BUFFERS];
  double communication = 0, begin = app_now();
  int i, turn = 0;
  for (i = 0; i < BUFFERS; i++) {
    buffer[i] = app_alloc(room_of(r));
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
      MPI_Isend(buffer[turn], (int)room_of(r), MPI_BYTE, 0, TO_MASTER, MPI_COMM_WORLD, &sent[turn]);
      turn = (turn + 1) % BUFFERS;
    }
  }
  MPI_Waitall(BUFFERS, sent, MPI_STATUSES_IGNORE);
  for (i = 0; i < BUFFERS; i++) free(buffer[i]);
  return communication + (app_now() - begin);
}

int main(int argc, char **argv) {
  ray_job_t j;
  farm_t farm;
  app_mpi_begin("ray", &argc, &argv);
  ray_options(&j.r, argc, argv);
  app_mpi_one_thread(&j.r.app);
  farm.room = room_of(&j.r);
  farm.part = ray_farm(&j);
  farm.answer = answer;
  farm.work = work;
  if (!j.r.app.serial) farm_run(&farm);
  else if (app_node == 0) ray_serial(&j.r, 1);
  return app_mpi_end();
}
