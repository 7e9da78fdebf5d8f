/* Open MPI over TCP: a ring of messages of growing length, each verified; then all of it to all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 20 };

int main(int argc, char **argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char *out = malloc(MOST), *in = malloc(MOST);
  for (int len = 1, round = 0; len <= MOST; len *= 2) {
    for (int again = 0; again < 20; again++, round++) {
      for (int n = 0; n < len; n++) out[n] = (unsigned char)(n * 7 + rank + round);
      int to = (rank + 1) % size, from = (rank + size - 1) % size;
      MPI_Sendrecv(out, len, MPI_BYTE, to, 1, in, len, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int n = 0; n < len; n++) wrong += in[n] != (unsigned char)(n * 7 + from + round);
    }
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all ? "ring WRONG\n" : "ring right\n");
  MPI_Finalize();
  return all != 0;
}
