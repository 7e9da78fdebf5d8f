/* MPI's side of ci/bench-deck: the patterns of mbox-deck.c, in MPI's words.
 *
 *   mbox-mpi SECTION [quick]        SECTION: trip, flood, many (5 processes), give, post */
#include <mpi.h>

#include "mbox.h"

#define WHO "openmpi"

static void everybody(void) { MPI_Barrier(MPI_COMM_WORLD); }

static double slowest(double microseconds) {
  double most;
  MPI_Allreduce(&microseconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void give_up(void) { MPI_Abort(MPI_COMM_WORLD, 1); }

static void send_bytes(const void *from, size_t bytes) { MPI_Send(from, (int)bytes, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD); }

static size_t receive_bytes(void *to, size_t room) {
  MPI_Status status;
  int bytes;
  MPI_Recv(to, (int)room, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return (size_t)bytes;
}

#include "mbox-flow.h"

/* What is taken out of a box is as long as it came, so this side asks for the length, too. */
static void trips(void) {
  static const size_t more[] = {112, 1024, 4096, 8192, 65536, 1048576, 0};
  const size_t *n;
  row(WHO, "trip", "message, one way", 0, "ns", one_way(0));
  for (n = mbox_short; *n; n++) row(WHO, "trip", "message, one way", *n, "ns", one_way(*n));
  for (n = more; *n; n++) row(WHO, "trip", "message, one way", *n, "ns", one_way(*n));
}

static void floods(void) {
  verify(16);
  row(WHO, "flood", "one sender", 16, "ns", time_of(flood, 16));
  verify(1024);
  row(WHO, "flood", "one sender", 1024, "ns", time_of(flood, 1024));
}

/* ---- many to one ---- */

static mbox_senders_t senders;

static void many(size_t bytes, long count) {
  long i;
  mbox_begin(&senders);
  for (i = 0; me == 0 && i < count * MBOX_SENDERS; i++) {
    MPI_Status status;
    int got;
    MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    mbox_came(&senders, status.MPI_SOURCE, in, (size_t)got, bytes, count);
  }
  for (i = 0; me != 0 && i < count; i++) {
    mbox_number(&to_other, out, bytes);
    MPI_Send(out, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void many_to_one(void) {
  static const size_t sizes[] = {8, 16, 0};
  const size_t *n;
  for (n = sizes; *n; n++) {
    double us = time_of(many, *n) / MBOX_SENDERS;
    row(WHO, "many", "four senders", *n, "ns", us);
    everybody();
    many(*n, quick ? 100000 : 500000);
    row(WHO, "many", "four senders, least share", *n, "x", senders.least);
    everybody();
  }
}

/* ---- a buffer that goes to and fro: what stands beside give and take ---- */

static int fills;

static void throw_out(size_t bytes) {
  if (fills) memset(out, (int)(to_other.sent & 255), bytes);
  send_one(bytes);
}
static void catch_in(size_t bytes) {
  take_one("read message", bytes);
  mbox_sum = mbox_read(in, bytes);
}
static void bounce(size_t bytes, long count) {
  for (; count > 0; count--) {
    if (me == 0) throw_out(bytes);
    catch_in(bytes);
    if (me == 1) throw_out(bytes);
  }
}

static void gives(void) {
  verify(1048576);
  row(WHO, "give", "give and take, all bytes read, round trip", 1048576, "us", time_of(bounce, 1048576));
  fills = 1;
  row(WHO, "give", "give and take, all bytes written and read, round trip", 1048576, "us", time_of(bounce, 1048576));
}

static void posts(void) {
  const size_t *n;
  for (n = mbox_long; *n; n++) {
    verify(*n);
    row(WHO, "post", "post and retrieve", *n, "MB/s", time_of(flood, *n));
  }
}

int main(int argc, char **argv) {
  int all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &nodes);
  peers_program = argv[0];
  quick = argc > 2;
  if (nodes != (is_section(argc, argv, "many") ? MBOX_SENDERS + 1 : 2)) {
    fprintf(stderr, "%s: 2 processes, or 5 for many, not %d\n", argv[0], nodes);
    give_up();
  }
  /* Of five the receiver has the first core, the senders share the other. */
  all = me;
  if (nodes > 2 && me > 0) me = 1;
  pin();
  me = all;
  buffers();
  everybody();
  if (is_section(argc, argv, "trip")) trips();
  if (is_section(argc, argv, "flood")) floods();
  if (is_section(argc, argv, "many")) many_to_one();
  if (is_section(argc, argv, "give")) gives();
  if (is_section(argc, argv, "post")) posts();
  MPI_Finalize();
  return 0;
}
