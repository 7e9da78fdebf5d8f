/* Half a round trip between ranks 0 and 1, for ci/mpi bench: lines "BYTES MICROSECONDS", each the best of many short batches, because other
 * work of the machine can only add time. The last message of each size is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void trips(int me, char *out, char *in, int bytes, int count) {
  for (int i = 0; i < count; i++)
    if (me == 0) {
      MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
  static const int sizes[] = {0, 1024, 65536, 1 << 20};
  char *out = malloc(1 << 20), *in = malloc(1 << 20);
  int me;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const int bytes = sizes[k], count = bytes <= 1024 ? 1000 : bytes <= 65536 ? 100 : 10;
    double best = 1e30;
    memset(out, 17 + me, 1 << 20);
    memset(in, 0, 1 << 20);
    trips(me, out, in, bytes, count); /* pages, connections */
    for (int batch = 0; batch < 100; batch++) {
      double time = MPI_Wtime();
      trips(me, out, in, bytes, count);
      time = (MPI_Wtime() - time) / count / 2 * 1e6;
      if (time < best) best = time;
    }
    for (int i = 0; i < bytes; i++)
      if (in[i] != 18 - me) MPI_Abort(MPI_COMM_WORLD, 2);
    if (me == 0) printf("%d %.4f\n", bytes, best);
  }
  MPI_Finalize();
  return 0;
}
