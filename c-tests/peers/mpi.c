/* MPI's side of ci/bench-peers: the patterns of gasnet.c, in MPI's words. One process per node, one window for all. */
#include <mpi.h>

#include "peers.h"

#define WHO "openmpi"
static unsigned char *src, *dst;  /* ordinary memory, for messages and collectives */
static unsigned char *window;     /* my part of the window: what is put lands in its front half, what is got is in the other */
static MPI_Win win;

/* ---- what peers.h wants ---- */

static void everybody(void) { MPI_Barrier(MPI_COMM_WORLD); }

static double slowest(double microseconds) {
  double most;
  MPI_Allreduce(&microseconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void give_up(void) { MPI_Abort(MPI_COMM_WORLD, 1); }

/* ---- messages; what comes back is the other's own ---- */

static void trip(size_t bytes, long count) {
  long i;
  for (i = 0; i < count; i++)
    if (me == 0) {
      MPI_Send(src, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(dst, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(dst, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(src, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

/* Windows of non-blocking sends into receives that are posted; at the end the receiver says that it has all. */
static void flood(size_t bytes, long count) {
  MPI_Request request[WINDOW];
  char last = 0;
  while (count > 0) {
    int many = count < WINDOW ? (int)count : WINDOW, i;
    for (i = 0; i < many; i++)
      if (me == 0) MPI_Isend(src, (int)bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request[i]);
      else MPI_Irecv(dst, (int)bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request[i]);
    MPI_Waitall(many, request, MPI_STATUSES_IGNORE);
    count -= many;
  }
  if (me == 0) MPI_Recv(&last, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Send(&last, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
}

static void messages(void) {
  const size_t *n;
  double us;
  row(WHO, "am", "short message round trip", 8, "us", time_of(trip, 8));
  row(WHO, "am", "short message flood", 8, "ns", time_of(flood, 8));
  for (n = transfer_sizes; *n; n++) {
    memset(dst, 0, *n);
    trip(*n, 1);
    expect("message", dst, *n, me == 0 ? 2 : 1);
    us = time_of(trip, *n);
    row(WHO, "am", "long message round trip", *n, "us", us);
    us = time_of(flood, *n);
    row(WHO, "am", "long message flood", *n, "MB/s", us);
  }
  /* MPI has one kind of message: it stands beside Medium and beside Long. */
  for (n = medium_sizes; *n; n++) {
    row(WHO, "am", "medium message round trip", *n, "us", time_of(trip, *n));
    row(WHO, "am", "medium message flood", *n, "MB/s", time_of(flood, *n));
  }
}

/* ---- one-sided: complete at the target, as gasnet_put is ---- */

static void put(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) {
      MPI_Put(src, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
      MPI_Win_flush(1, win);
    }
}
static void get(size_t bytes, long count) {
  if (me == 0)
    for (; count > 0; count--) {
      MPI_Get(dst, (int)bytes, MPI_BYTE, 1, LARGEST, (int)bytes, MPI_BYTE, win);
      MPI_Win_flush(1, win);
    }
}
static void put_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      MPI_Put(src, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
      if (i % WINDOW == 0 || i == count) MPI_Win_flush(1, win);
    }
}
static void get_flood(size_t bytes, long count) {
  long i;
  if (me == 0)
    for (i = 1; i <= count; i++) {
      MPI_Get(dst, (int)bytes, MPI_BYTE, 1, LARGEST, (int)bytes, MPI_BYTE, win);
      if (i % WINDOW == 0 || i == count) MPI_Win_flush(1, win);
    }
}

static void one_sided(const char *operation, const char *unit, pattern *run, size_t bytes, int receiver,
                      unsigned char *landing, unsigned seed) {
  memset(landing, 0, bytes);
  MPI_Win_sync(win);
  everybody();
  run(bytes, 1);
  everybody();
  MPI_Win_sync(win);
  if (me == receiver) expect(operation, landing, bytes, seed);
  everybody();
  row(WHO, "rma", operation, bytes, unit, time_of(run, bytes));
}

static void rma(void) {
  const size_t *n;
  MPI_Win_allocate(2 * LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  memset(window, 0, LARGEST);
  fill(window + LARGEST, LARGEST, (unsigned)me + 1);
  MPI_Win_sync(win);
  everybody();
  for (n = transfer_sizes; *n; n++) {
    one_sided("put", "us", put, *n, 1, window, 1);
    one_sided("get", "us", get, *n, 0, dst, 2);
    one_sided("put flood", "MB/s", put_flood, *n, 1, window, 1);
    one_sided("get flood", "MB/s", get_flood, *n, 0, dst, 2);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* ---- two hosts: no shared memory, whatever way the launcher was told to use ---- */

static void barriers(size_t bytes, long count);

static void hosts(void) {
  const size_t *n;
  MPI_Win_allocate(2 * LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  memset(window, 0, 2 * LARGEST);
  everybody();
  row(WHO, "hosts", "short message round trip, two hosts", 8, "us", time_of(trip, 8));
  row(WHO, "hosts", "short message flood, two hosts", 8, "ns", time_of(flood, 8));
  row(WHO, "hosts", "put, two hosts", 8, "us", time_of(put, 8));
  row(WHO, "hosts", "get, two hosts", 8, "us", time_of(get, 8));
  for (n = host_sizes; *n; n++) {
    row(WHO, "hosts", "long message flood, two hosts", *n, "MB/s", time_of(flood, *n));
    row(WHO, "hosts", "put flood, two hosts", *n, "MB/s", time_of(put_flood, *n));
    row(WHO, "hosts", "get flood, two hosts", *n, "MB/s", time_of(get_flood, *n));
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  row(WHO, "hosts", "barrier, two hosts", 0, "us", time_of(barriers, 0));
}

/* ---- all together: a blocking call may begin with its own data and ends when its own are there, which is LOCAL, IN_MYSYNC,
 * OUT_MYSYNC ---- */

static void barriers(size_t bytes, long count) {
  (void)bytes;
  for (; count > 0; count--) everybody();
}
/* MPI has one buffer, the root's source and the others' destination; so has the root a copy less to make than with GASNet. */
static void broadcast(size_t bytes, long count) {
  long i;
  for (i = 0; i < count; i++) MPI_Bcast(me == (int)(i % nodes) ? src : dst, (int)bytes, MPI_BYTE, (int)(i % nodes), MPI_COMM_WORLD);
  if (count == 1 && me == 0) memcpy(dst, src, bytes); /* what is verified */
}
static void reduce(size_t bytes, long count) {
  long i;
  for (i = 0; i < count; i++) MPI_Reduce(src, dst, (int)(bytes / 8), MPI_UINT64_T, MPI_SUM, (int)(i % nodes), MPI_COMM_WORLD);
}
static void allreduce(size_t bytes, long count) {
  for (; count > 0; count--) MPI_Allreduce(src, dst, (int)(bytes / 8), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void gather_all(size_t bytes, long count) {
  for (; count > 0; count--) MPI_Allgather(src, (int)bytes, MPI_BYTE, dst, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void exchange(size_t bytes, long count) {
  for (; count > 0; count--) MPI_Alltoall(src, (int)bytes, MPI_BYTE, dst, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

#include "coll.h"

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &nodes);
  pin();
  peers_program = argv[0];
  quick = argc > 2;
  src = (unsigned char *)aligned_alloc(4096, (size_t)nodes * LARGEST);
  dst = (unsigned char *)aligned_alloc(4096, (size_t)nodes * LARGEST);
  if (!src || !dst) give_up();
  memset(src, 0, (size_t)nodes * LARGEST);
  memset(dst, 0, (size_t)nodes * LARGEST);
  fill(src, LARGEST, (unsigned)me + 1);
  everybody();
  if (is_section(argc, argv, "am")) messages();
  if (is_section(argc, argv, "rma")) rma();
  if (is_section(argc, argv, "barrier")) row(WHO, "barrier", "barrier", 0, "us", time_of(barriers, 0));
  if (is_section(argc, argv, "coll")) coll(WHO);
  if (is_section(argc, argv, "hosts")) hosts();
  MPI_Finalize();
  return 0;
}
