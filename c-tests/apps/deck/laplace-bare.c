/* The slab without a library: two processes look at each other's edges in shared memory, and count how far they are. laplace-kernel.h
 * says what is computed, the modes and the options. No library can take less, so ci/bench-deck measures this beside DECK and MPI. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "app.h"
#include "laplace-kernel.h"

#if defined(__x86_64__)
#define PAUSE() __asm__ volatile("pause" ::: "memory")
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("isb" ::: "memory")
#else
#define PAUSE() __asm__ volatile("" ::: "memory")
#endif
enum { WORKERS = 2, LINE = 64 };

typedef struct {
  uint64_t count; /* edges that are ready */
  char rest[LINE - sizeof(uint64_t)];
} line_t;

/* What both processes have. Behind it lie the edges that they look at, two of each worker: one of each colour. */
typedef struct {
  line_t ready[WORKERS], met[WORKERS];
  double change[WORKERS], communication[WORKERS];
  uint32_t crc[WORKERS];
} shared_t;

typedef struct {
  shared_t *shared;
  int me;
  uint64_t sent, meetings;
  double communication;
} worker_t;

static void reach(line_t *of, int me, uint64_t count) {
  __atomic_store_n(&of[me].count, count, __ATOMIC_RELEASE);
  while (__atomic_load_n(&of[1 - me].count, __ATOMIC_ACQUIRE) < count) PAUSE();
}
static void meet(worker_t *w) { reach(w->shared->met, w->me, ++w->meetings); }

static void send_edges(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  (void)s, (void)colour;
  __atomic_store_n(&w->shared->ready[w->me].count, ++w->sent, __ATOMIC_RELEASE);
  w->communication += app_now() - begin;
}

/* The neighbour has updated the edge of this colour. This worker reads it before it sends its own edge of the other colour, and the neighbour
 * changes it after that. */
static void receive_halos(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  (void)s, (void)colour;
  reach(w->shared->ready, w->me, w->sent);
  w->communication += app_now() - begin;
}

static double agree(void *with, double change) {
  worker_t *w = with;
  double begin = app_now(), *all = w->shared->change, most;
  all[w->me] = change;
  meet(w);
  most = all[0] > all[1] ? all[0] : all[1];
  meet(w);
  w->communication += app_now() - begin;
  return most;
}

static const laplace_swap_t swap = {NULL, send_edges, receive_halos, agree};

static size_t stride(const laplace_t *l) { return (laplace_part_bytes(l) + 2 * LINE - 1) / LINE * LINE; }

/* Its edge moves to the memory that both have, and the neighbour's is its halo. */
static void share_edges(laplace_strip_t *s, worker_t *w) {
  char *edges = (char *)(w->shared + 1);
  int colour;
  for (colour = 0; colour < 2; colour++) {
    double **row = s->row[colour];
    double *mine = (double *)(void *)(edges + (size_t)(2 * w->me + colour) * stride(s->l));
    memcpy(mine, row[w->me ? 1 : s->rows], laplace_part_bytes(s->l));
    row[w->me ? 1 : s->rows] = mine;
    row[w->me ? 0 : s->rows + 1] = (double *)(void *)(edges + (size_t)(2 * (1 - w->me) + colour) * stride(s->l));
  }
}

static void solve(const laplace_options_t *o, const laplace_t *l, shared_t *shared, int me) {
  laplace_strip_t s;
  worker_t w;
  double seconds;
  int iterations;
  memset(&w, 0, sizeof w);
  w.shared = shared, w.me = me, app_node = me;
  laplace_strip_make(&s, l, me, WORKERS);
  share_edges(&s, &w);
  meet(&w);
  seconds = app_now();
  iterations = laplace_solve(&s, &swap, &w);
  meet(&w);
  seconds = app_now() - seconds;
  laplace_check(&s, iterations);
  shared->communication[me] = w.communication;
  if (me == 0) shared->crc[0] = laplace_crc(&s, 0);
  meet(&w);
  if (me == 1) shared->crc[1] = laplace_crc(&s, shared->crc[0]);
  meet(&w);
  if (me == 0) {
    app_result(l->name, seconds, shared->communication[0] + shared->communication[1], WORKERS, shared->crc[1]);
    laplace_verify(l, &o->app, shared->crc[1], iterations);
  }
  laplace_strip_free(&s);
}

int main(int argc, char **argv) {
  laplace_options_t o;
  int i, status, rc = 0;
  app_name = "laplace", app_nodes = WORKERS;
  app_crc_check();
  laplace_options(&o, argc, argv);
  if (o.app.serial || o.app.threads != 1) app_die("--serial and --threads are for laplace-deck");
  for (i = 0; i < o.count; i++) {
    laplace_t l;
    shared_t *shared;
    size_t bytes;
    pid_t child;
    laplace_make(&l, &o, o.modes[i], WORKERS);
    bytes = sizeof *shared + 2 * WORKERS * stride(&l);
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) app_die("no shared memory");
    fflush(stdout);
    child = fork();
    if (child < 0) app_die("no second process");
    solve(&o, &l, shared, child == 0);
    if (child == 0) _exit(app_verdict());
    if (waitpid(child, &status, 0) != child || status != 0) rc = 1;
    munmap(shared, bytes);
  }
  return app_verdict() || rc;
}
