/* The layer of MPI: mpirun -n 2 layer-mpi ROUNDS NANOSECONDS CPU0 CPU1 (layer.h). */
#include "layer.h"
#include <mpi.h>

static int other;

static void send_all(const char *from, size_t bytes) { MPI_Send(from, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD); }
static void receive_all(char *to, size_t bytes) { MPI_Recv(to, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void exchange(const char *from, char *to, size_t bytes) {
  MPI_Sendrecv(from, (int)bytes, MPI_BYTE, other, 1, to, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  layer_t layer = {0, send_all, receive_all, exchange};
  layer_task_t task;
  MPI_Init(&argc, &argv);
  task = layer_task(argv + 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &layer.me);
  other = 1 - layer.me;
  layer_pin(task.cpus[layer.me]);
  layer_measure(&layer, task.rounds, task.budget);
  MPI_Finalize();
  return 0;
}
