/* What MPI programs do, with all data checked: for the component "sci" under Open MPI, and for any other.
 *
 *   testbtl [PART]...     parts: sizes types order storm bursts modes collectives windows threads serialized; without any, all but the last two
 *
 * Compiled with SHARED it is a program of GASNet too, which begins that first, and has a thread that polls it all the time.
 *
 * Every byte that is received comes from a pattern of sender, receiver and message, and guards lie on both sides of it. "threads" asks for
 * MPI_THREAD_MULTIPLE, "serialized" for MPI_THREAD_SERIALIZED, the others for what MPI_Init gives. Ends with "testbtl: PASS" from rank 0, or
 * with MPI_Abort. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SHARED
#include <gasnet.h>

static volatile int ends;
static void *poll_gasnet(void *none) {
  while (!ends) gasnet_AMPoll();
  return none;
}
#endif

static int me, all;

#define CHECK(condition, ...)                                  \
  do {                                                         \
    if (!(condition)) {                                        \
      fprintf(stderr, "testbtl: rank %d, line %d: ", me, __LINE__); \
      fprintf(stderr, __VA_ARGS__);                            \
      fputc('\n', stderr);                                     \
      MPI_Abort(MPI_COMM_WORLD, 1);                            \
    }                                                          \
  } while (0)

enum { GUARD = 64 };

static unsigned char pattern(size_t at, unsigned seed) {
  unsigned x = (unsigned)at * 2654435761u + seed * 40503u;
  return (unsigned char)(x >> 24 ^ x >> 11);
}
/* The seed of message `number` from `from` to `to`. */
static unsigned seed_of(int from, int to, int number) { return (unsigned)((from * 131 + to) * 65537 + number); }

static unsigned char *with_guards(size_t bytes) {
  unsigned char *block = malloc(bytes + 2 * GUARD);
  CHECK(block != NULL, "no memory");
  memset(block, 0xee, bytes + 2 * GUARD);
  return block + GUARD;
}
static void fill(unsigned char *data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) data[i] = pattern(i, seed);
}
static void check(const unsigned char *data, size_t bytes, unsigned seed, const char *what) {
  for (size_t i = 0; i < bytes; i++)
    CHECK(data[i] == pattern(i, seed), "%s: byte %zu of %zu is %#x", what, i, bytes, data[i]);
  for (int i = 0; i < GUARD; i++)
    CHECK(data[-1 - i] == 0xee && data[bytes + (size_t)i] == 0xee, "%s: a guard of %zu bytes was written", what, bytes);
}
static void give_back(unsigned char *data) { free(data - GUARD); }

/* All that lie about a limit of the component, with ob1's headers before it, or of the engine: 32 and 98 bytes, 4 and 32 KiB, and others. */
static const size_t sizes[] = {
    0, 1, 2, 7, 8, 9, 24, 25, 31, 32, 33, 34, 63, 64, 65, 97, 98, 99, 112, 113, 1000, 4081, 4082, 4083, 4096, 4097, 8191, 32735,
    32736, 32737, 32768, 32769, 65503, 65536, 65537, 131072, 262143, 1 << 20, (1 << 20) + 3, 5000011};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Everybody with everybody, itself included, in every size, at the same time. */
static void part_sizes(void) {
  for (int distance = 0; distance < all; distance++)
    for (int i = 0; i < SIZES; i++) {
      int to = (me + distance) % all, from = (me + all - distance) % all;
      unsigned char *out = with_guards(sizes[i]), *in = with_guards(sizes[i]);
      MPI_Status status;
      int count;
      fill(out, sizes[i], seed_of(me, to, i));
      MPI_Sendrecv(out, (int)sizes[i], MPI_BYTE, to, i, in, (int)sizes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK((size_t)count == sizes[i], "%d bytes came, not %zu", count, sizes[i]);
      check(in, sizes[i], seed_of(from, me, i), "sendrecv");
      check(out, sizes[i], seed_of(me, to, i), "what was sent");
      give_back(out);
      give_back(in);
    }
}

/* Columns of a matrix, which do not lie in one piece, to rows and back to columns. */
static void part_types(void) {
  static const int lengths[] = {1, 3, 100, 1025, 40000, 300000};
  const int to = (me + 1) % all, from = (me + all - 1) % all;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int n = lengths[i];
    const size_t bytes = (size_t)n * 3 * sizeof(int);
    int *out = malloc(bytes), *in = malloc(bytes), *flat = malloc((size_t)n * sizeof(int));
    MPI_Datatype column;
    MPI_Request request[2];
    CHECK(out && in && flat, "no memory");
    MPI_Type_vector(n, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int k = 0; k < 3 * n; k++) out[k] = me * 1000003 + k, in[k] = -1;
    MPI_Irecv(flat, n, MPI_INT, from, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(in + 1, 1, column, from, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Send(out + 2, 1, column, to, 1, MPI_COMM_WORLD);
    MPI_Send(out, 1, column, to, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int k = 0; k < n; k++) {
      CHECK(flat[k] == from * 1000003 + 3 * k + 2, "column to row, %d of %d: %d", k, n, flat[k]);
      CHECK(in[3 * k] == -1 && in[3 * k + 1] == from * 1000003 + 3 * k && in[3 * k + 2] == -1, "column to column, %d of %d", k, n);
    }
    MPI_Type_free(&column);
    free(out);
    free(in);
    free(flat);
  }
}

/* Tags are received in the reverse of their order; then all by ANY_SOURCE and ANY_TAG, which must keep it for each sender. */
static void part_order(void) {
  enum { TAGS = 300 };
  for (int peer = 0; peer < all; peer++) {
    MPI_Request request[TAGS];
    int out[TAGS], in;
    if (peer == me) continue;
    for (int tag = 0; tag < TAGS; tag++) {
      out[tag] = me * 7919 + tag;
      MPI_Isend(&out[tag], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &request[tag]);
    }
    for (int tag = TAGS - 1; tag >= 0; tag--) {
      MPI_Recv(&in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in == peer * 7919 + tag, "tag %d of %d: %d", tag, peer, in);
    }
    MPI_Waitall(TAGS, request, MPI_STATUSES_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int *seen = calloc((size_t)all, sizeof *seen);
  MPI_Request *request = malloc((size_t)all * TAGS * sizeof *request);
  unsigned char **out = malloc((size_t)all * TAGS * sizeof *out);
  int many = 0;
  CHECK(seen && request && out, "no memory");
  for (int tag = 0; tag < TAGS; tag++)
    for (int peer = 0; peer < all; peer++) {
      size_t bytes = tag % 50 == 49 ? 70000 : (size_t)tag * 17 % 6000;
      if (peer == me) continue;
      out[many] = with_guards(bytes);
      fill(out[many], bytes, seed_of(me, peer, tag));
      MPI_Isend(out[many], (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request[many]);
      many++;
    }
  for (int i = 0; i < many; i++) {
    MPI_Status status;
    int count;
    unsigned char *in;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    in = with_guards((size_t)count);
    MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(seen[status.MPI_SOURCE] == status.MPI_TAG, "from %d came %d before %d", status.MPI_SOURCE, status.MPI_TAG,
          seen[status.MPI_SOURCE]);
    seen[status.MPI_SOURCE]++;
    check(in, (size_t)count, seed_of(status.MPI_SOURCE, me, status.MPI_TAG), "any source");
    give_back(in);
  }
  MPI_Waitall(many, request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; i++) give_back(out[i]);
  free(out);
  free(request);
  free(seen);
}

/* All send all that they have before anybody receives; long messages and short ones mixed. */
static void part_storm(void) {
  enum { STORM = 1500 };
  MPI_Request *request = malloc((size_t)all * STORM * sizeof *request);
  unsigned char **out = malloc((size_t)all * STORM * sizeof *out);
  int many = 0;
  CHECK(request && out, "no memory");
  for (int i = 0; i < STORM; i++)
    for (int peer = 0; peer < all; peer++) {
      size_t bytes = i % 100 == 0 ? sizes[i / 100 % SIZES] : (size_t)(i * 37 % 5000);
      out[many] = with_guards(bytes);
      fill(out[many], bytes, seed_of(me, peer, i));
      MPI_Isend(out[many], (int)bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request[many]);
      many++;
    }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < STORM; i++)
    for (int peer = all - 1; peer >= 0; peer--) {
      size_t bytes = i % 100 == 0 ? sizes[i / 100 % SIZES] : (size_t)(i * 37 % 5000);
      unsigned char *in = with_guards(bytes);
      MPI_Recv(in, (int)bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(in, bytes, seed_of(peer, me, i), "storm");
      give_back(in);
    }
  MPI_Waitall(many, request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; i++) give_back(out[i]);
  free(out);
  free(request);
}

/* Synchronous, buffered and ready sends; persistent requests. */
static void part_modes(void) {
  const int to = (me + 1) % all, from = (me + all - 1) % all;
  for (int i = 0; i < SIZES; i++) {
    const size_t bytes = sizes[i];
    int space = (int)bytes + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)space);
    unsigned char *out = with_guards(bytes), *in = with_guards(bytes);
    MPI_Request request[2];
    CHECK(buffer != NULL, "no memory");
    MPI_Recv_init(in, (int)bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD, &request[0]);
    MPI_Send_init(out, (int)bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, &request[1]);
    for (int round = 0; round < 6; round++) {
      fill(out, bytes, seed_of(me, to, round));
      if (bytes > 0) memset(in, 0, bytes);
      if (round < 3) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
      } else {
        MPI_Start(&request[0]);
        MPI_Barrier(MPI_COMM_WORLD); /* a ready send wants its receive */
        if (round == 3) MPI_Rsend(out, (int)bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD);
        if (round == 4) MPI_Ssend(out, (int)bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD);
        if (round == 5) {
          MPI_Buffer_attach(buffer, space);
          MPI_Bsend(out, (int)bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD);
          if (bytes > 0) memset(out, 0, bytes);
          MPI_Buffer_detach(&buffer, &space);
        }
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
      }
      check(in, bytes, seed_of(from, me, round), "modes");
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    free(buffer);
    give_back(out);
    give_back(in);
  }
}

static void part_collectives(void) {
  static const int counts[] = {1, 13, 1000, 20000};
  MPI_Comm half;
  int rank;
  for (int c = 0; c < 4; c++) {
    const int n = counts[c];
    int *out = malloc((size_t)(n * all) * sizeof(int)), *in = malloc((size_t)(n * all) * sizeof(int));
    CHECK(out && in, "no memory");
    for (int root = 0; root < all; root++) {
      for (int i = 0; i < n; i++) out[i] = me == root ? i * 3 + root : -1;
      MPI_Bcast(out, n, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < n; i++) CHECK(out[i] == i * 3 + root, "bcast of %d", root);
    }
    for (int i = 0; i < n * all; i++) out[i] = me * 100000 + i;
    MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK(in[i] == all * (all - 1) / 2 * 100000 + all * i, "allreduce: %d is %d", i, in[i]);
    MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * all; i++) CHECK(in[i] == i / n * 100000 + me * n + i % n, "alltoall: %d is %d", i, in[i]);
    MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * all; i++) CHECK(in[i] == i / n * 100000 + i % n, "allgather: %d is %d", i, in[i]);
    MPI_Scan(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK(in[i] == me * (me + 1) / 2 * 100000 + (me + 1) * i, "scan: %d is %d", i, in[i]);
    free(out);
    free(in);
  }
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  MPI_Allreduce(&me, &rank, 1, MPI_INT, MPI_MAX, half);
  CHECK(rank % 2 == me % 2 && rank + 2 >= all, "allreduce of a half: %d", rank);
  MPI_Comm_free(&half);
}

static void part_windows(void) {
  enum { WORDS = 30000 };
  int *memory, *in = malloc(WORDS * sizeof(int)), *out = malloc(WORDS * sizeof(int));
  const int to = (me + 1) % all, from = (me + all - 1) % all, one = 1;
  MPI_Win window;
  CHECK(in && out, "no memory");
  MPI_Win_allocate((WORDS + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int round = 0; round < 5; round++) {
    const int n = round < 2 ? 5 : WORDS;
    for (int i = 0; i < n; i++) out[i] = me * 1000 + round + i;
    memory[WORDS] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(out, n, MPI_INT, to, 0, n, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < n; i++) CHECK(memory[i] == from * 1000 + round + i, "put: %d is %d", i, memory[i]);
    MPI_Win_fence(0, window);
    MPI_Get(in, n, MPI_INT, to, 0, n, MPI_INT, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, WORDS, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < n; i++) CHECK(in[i] == me * 1000 + round + i, "get: %d is %d", i, in[i]);
    CHECK(memory[WORDS] == (me == 0 ? all : 0), "accumulate: %d", memory[WORDS]);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, WORDS, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(in, 1, MPI_INT, 0, WORDS, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    CHECK(in[0] == 2 * all, "accumulate under a lock: %d", in[0]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&window);
  free(in);
  free(out);
}

/* Each thread with its twin of each other process, by a communicator of their own, in all sizes. */
static void *talk(void *argument) {
  MPI_Comm world = *(MPI_Comm *)argument;
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < SIZES; i++)
      for (int distance = 1; distance < all; distance++) {
        int to = (me + distance) % all, from = (me + all - distance) % all;
        unsigned char *out = with_guards(sizes[i]), *in = with_guards(sizes[i]);
        fill(out, sizes[i], seed_of(me, to, i));
        MPI_Sendrecv(out, (int)sizes[i], MPI_BYTE, to, i, in, (int)sizes[i], MPI_BYTE, from, i, world, MPI_STATUS_IGNORE);
        check(in, sizes[i], seed_of(from, me, i), "threads");
        give_back(out);
        give_back(in);
      }
  return NULL;
}
enum { THREADS = 3 };
static void part_threads(void) {
  pthread_t thread[THREADS];
  MPI_Comm world[THREADS];
  int given;
  MPI_Query_thread(&given);
  CHECK(given == MPI_THREAD_MULTIPLE, "MPI gives thread level %d", given);
  for (int t = 0; t < THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &world[t]);
  for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&thread[t], NULL, talk, &world[t]) == 0, "no thread");
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  for (int t = 0; t < THREADS; t++) MPI_Comm_free(&world[t]);
}

/* Bursts of small messages, which arrive while their receives are posted: who matches both at a time loses one. */
static void part_bursts(void) {
  enum { BURSTS = 2000, BURST = 100 };
  const int to = (me + 1) % all, from = (me + all - 1) % all;
  static MPI_Request request[BURST];
  static int out[BURST];
  for (int burst = 0; burst < BURSTS; burst++) {
    for (int i = 0; i < BURST; i++) {
      out[i] = burst * BURST + i;
      MPI_Isend(&out[i], 1, MPI_INT, to, 6, MPI_COMM_WORLD, &request[i]);
    }
    for (int i = 0; i < BURST; i++) {
      int in = -1;
      MPI_Recv(&in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in == burst * BURST + i, "burst %d, message %d: %d", burst, i, in);
    }
    MPI_Waitall(BURST, request, MPI_STATUSES_IGNORE);
  }
}

#ifdef SHARED
static void gasnet_meet(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}
/* MPI has no locks here, so that it may work in its own calls alone: what polls of GASNet take waits for one. */
static void part_outside(void) {
  int in = -1, out = 4711;
  MPI_Request request;
  if (me == 0) MPI_Irecv(&in, 1, MPI_INT, all - 1, 7, MPI_COMM_WORLD, &request);
  gasnet_meet();
  if (me == all - 1) MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  gasnet_meet();
  if (me != 0) return;
  for (int i = 0; i < 10000; i++) gasnet_AMPoll();
  CHECK(*(volatile int *)&in == -1, "a poll of GASNet's has called MPI");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == out, "outside: %d", in);
}
#endif

/* One thread after the other, each of them new to MPI. */
static void part_serialized(void) {
  pthread_t thread;
  MPI_Comm world = MPI_COMM_WORLD;
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_create(&thread, NULL, talk, &world) == 0, "no thread");
    pthread_join(thread, NULL);
    talk(&world);
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} parts[] = {{"sizes", part_sizes}, {"types", part_types},             {"order", part_order},     {"storm", part_storm}, {"bursts", part_bursts},
             {"modes", part_modes}, {"collectives", part_collectives}, {"windows", part_windows}, {"threads", part_threads},
             {"serialized", part_serialized},
#ifdef SHARED
             {"outside", part_outside},
#endif
};

int main(int argc, char **argv) {
  int level = MPI_THREAD_SINGLE, given;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "threads") == 0) level = MPI_THREAD_MULTIPLE;
    else if (strcmp(argv[i], "serialized") == 0) level = MPI_THREAD_SERIALIZED;
#ifdef SHARED
  pthread_t poller;
  gasnet_init(&argc, &argv);
  gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0);
  CHECK(pthread_create(&poller, NULL, poll_gasnet, NULL) == 0, "no thread");
#endif
  MPI_Init_thread(&argc, &argv, level, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
    int is_wanted = argc == 1 && parts[p].run != part_threads && parts[p].run != part_serialized;
    for (int i = 1; i < argc; i++) is_wanted |= strcmp(argv[i], parts[p].name) == 0;
    if (!is_wanted) continue;
    parts[p].run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0 && getenv("TESTBTL_VERBOSE")) fprintf(stderr, "testbtl: %s is done\n", parts[p].name);
  }
  if (me == 0) printf("testbtl: PASS\n");
  MPI_Finalize();
#ifdef SHARED
  ends = 1;
  pthread_join(poller, NULL);
  gasnet_exit(0);
#endif
  return 0;
}
