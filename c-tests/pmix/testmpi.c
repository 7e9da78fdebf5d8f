/* GASNet and MPI in one program, under one launcher: which of the two begins first, and which ends first.
 *
 *   testmpi ORDER     two words joined by "-": who begins first (gasnet, mpi), who ends first (gasnet, mpi, none)
 *
 * "gasnet-none" and "mpi-none" return from main after MPI_Finalize. With "-gasnet" a function of atexit finalizes MPI,
 * which runs when GASNet has left: main returns, and GASNet's exit handler runs before. With "-mpi" the program calls
 * MPI_Finalize, then gasnet_exit. Both must have the same ranks, or a permutation of them; both must carry messages. */
#include <mpi.h>

#include "../test.h"

static void finalize_mpi(void) {
  int done;
  MPI_Finalized(&done);
  if (!done) MPI_Finalize();
}

static void begin_gasnet(int *argc, char ***argv) {
  GASNET_SAFE(gasnet_init(argc, argv));
  GASNET_SAFE(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
}

int main(int argc, char **argv) {
  const char *order = argc > 1 ? argv[1] : "mpi-mpi";
  int rank, size, node, sum = 0;
  if (strncmp(order, "mpi", 3) == 0) {
    MPI_Init(&argc, &argv);
    if (strstr(order, "-gasnet")) atexit(finalize_mpi); /* before GASNet's, so it runs after it */
    begin_gasnet(&argc, &argv);
  } else {
    begin_gasnet(&argc, &argv);
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != (int)gasnet_nodes()) {
    fprintf(stderr, "testmpi: MPI has %d processes, GASNet %d\n", size, (int)gasnet_nodes());
    gasnet_exit(2);
  }
  node = (int)gasnet_mynode();
  MPI_Allreduce(&node, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) {
    fprintf(stderr, "testmpi: the sum of all nodes is %d\n", sum);
    gasnet_exit(3);
  }
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
  printf("testmpi %s: node %d/%d: PASS\n", order, node, size);
  if (strstr(order, "-gasnet")) return 0;
  MPI_Finalize();
  if (strstr(order, "-mpi")) gasnet_exit(0);
  return 0;
}
