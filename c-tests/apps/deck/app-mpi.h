/* What the MPI versions of the applications share. */
#ifndef DECK_APP_MPI_H
#define DECK_APP_MPI_H

#include <mpi.h>

#include "app.h"

static void APP_UNUSED app_mpi_begin(const char *name, int *argc, char ***argv) {
  app_name = name;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &app_node);
  MPI_Comm_size(MPI_COMM_WORLD, &app_nodes);
  app_crc_check();
}

static void APP_UNUSED app_mpi_one_thread(const app_options_t *o) {
  if (o->threads != 1 && !o->serial) app_die("--threads is for DECK: start more processes");
}

static int APP_UNUSED app_mpi_end(void) {
  int rc;
  MPI_Barrier(MPI_COMM_WORLD);
  rc = app_verdict();
  MPI_Finalize();
  return rc;
}

/* The sum of a number of each process, at process 0. */
static double APP_UNUSED app_mpi_sum(double mine) {
  double sum = mine;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

#endif
