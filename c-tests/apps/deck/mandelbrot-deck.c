/* The Mandelbrot set over mail boxes. mandelbrot-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * Node 0 has one box, "mandelbrot". A request has a reply box, and the slice that is done, or -1; its counts follow. The answer is
 * a slice, or -1. With --threads K each node has K workers; the first of node 0 is the master. */
#include "app-deck.h"
#include "mandelbrot-kernel.h"

typedef struct {
  const mandel_t *m;
  double communication; /* seconds in DECK */
} worker_t;

typedef struct {
  mandel_master_t master;
  deck_mbox_t box;
  double communication;
} server_t;

/* A request: the result comes with it, and goes into its place in the picture. */
static void answer(server_t *s, deck_msg_t msg) {
  const mandel_t *m = s->master.m;
  int32_t slice = -1;
  deck_mbox_t reply = NULL;
  deck_msg_t out = NULL;
  DECK_SAFE(deck_msg_unpack_mbox(msg, &reply));
  DECK_SAFE(deck_msg_unpack(msg, &slice, DECK_INT32, 1));
  if (slice != -1) {
    if (slice < 0 || slice >= mandel_slices(m)) app_die("there is no slice %d", (int)slice);
    DECK_SAFE(deck_msg_unpack(msg, mandel_place(&s->master, slice), DECK_UINT16,
                              (size_t)mandel_rows_of(m, slice) * (size_t)m->size));
    mandel_came(&s->master, slice);
  }
  slice = mandel_deal(&s->master);
  DECK_SAFE(deck_msg_create(16, DECK_AUTO, &out));
  DECK_SAFE(deck_msg_pack(out, &slice, DECK_INT32, 1));
  DECK_SAFE(deck_mbox_give(reply, &out, DECK_FOREVER));
  CHECK(out == NULL, "a message was given, and is still there");
  DECK_SAFE(deck_mbox_destroy(reply));
}

/* Answers all requests that are there; the first one may be waited for. */
static void serve(server_t *s, deck_time_t time) {
  double begin = app_now();
  for (;;) {
    deck_msg_t msg = NULL;
    int rc = deck_mbox_take(s->box, &msg, time);
    if (rc == DECK_EAGAIN && time == 0) break;
    DECK_SAFE(rc);
    answer(s, msg);
    DECK_SAFE(deck_msg_destroy(msg));
    time = 0;
  }
  s->communication += app_now() - begin;
}

static void poll(void *server) { serve(server, 0); }

static void master(server_t *s, int others) {
  int slice;
  while (s->master.next < mandel_slices(s->master.m)) {
    slice = s->master.next++;
    mandel_slice(s->master.m, slice, mandel_place(&s->master, slice), others ? poll : NULL, s);
    mandel_came(&s->master, slice);
  }
  while (s->master.stopped < M_AHEAD * others) serve(s, DECK_FOREVER);
}

static void request(deck_mbox_t to, deck_mbox_t reply, int32_t slice, const uint16_t *counts, size_t n) {
  deck_msg_t msg = NULL;
  DECK_SAFE(deck_msg_create(128 + n * sizeof *counts, DECK_AUTO, &msg));
  DECK_SAFE(deck_msg_pack_mbox(msg, reply));
  DECK_SAFE(deck_msg_pack(msg, &slice, DECK_INT32, 1));
  if (slice >= 0) DECK_SAFE(deck_msg_pack(msg, counts, DECK_UINT16, n));
  DECK_SAFE(deck_mbox_give(to, &msg, DECK_FOREVER));
}

static void work(worker_t *w) {
  const mandel_t *m = w->m;
  uint16_t *counts = app_alloc((size_t)M_ROWS * (size_t)m->size * sizeof *counts);
  deck_mbox_t to = NULL, reply = NULL;
  deck_msg_t msg = NULL;
  double begin = app_now();
  int i, waiting = M_AHEAD;
  DECK_SAFE(deck_mbox_clone("mandelbrot", DECK_FOREVER, &to));
  DECK_SAFE(deck_mbox_create(NULL, NULL, &reply));
  DECK_SAFE(deck_msg_create(16, DECK_AUTO, &msg));
  for (i = 0; i < M_AHEAD; i++) request(to, reply, -1, NULL, 0);
  while (waiting) {
    int32_t slice = -1;
    DECK_SAFE(deck_mbox_retrv(reply, msg));
    DECK_SAFE(deck_msg_rewind(msg));
    DECK_SAFE(deck_msg_unpack(msg, &slice, DECK_INT32, 1));
    CHECK(deck_msg_source(msg) == 0, "an answer of node %d", deck_msg_source(msg));
    CHECK(slice >= -1 && slice < mandel_slices(m), "slice %d", (int)slice);
    waiting--;
    if (slice >= 0) {
      w->communication += app_now() - begin;
      mandel_slice(m, slice, counts, NULL, NULL);
      begin = app_now();
      request(to, reply, slice, counts, (size_t)mandel_rows_of(m, slice) * (size_t)m->size);
      waiting++;
    }
  }
  CHECK(deck_mbox_pending(reply) == 0, "%d answers too many", deck_mbox_pending(reply));
  DECK_SAFE(deck_msg_destroy(msg));
  DECK_SAFE(deck_mbox_destroy(reply));
  DECK_SAFE(deck_mbox_destroy(to));
  w->communication += app_now() - begin;
  free(counts);
}

static void *worker_thread(void *worker) {
  app_deck_meet();
  work(worker);
  return NULL;
}

int main(int argc, char **argv) {
  mandel_t m;
  app_deck_begin("mandelbrot", &argc, &argv);
  mandel_options(&m, argc, argv);
  if (m.app.serial) {
    if (app_node == 0) mandel_serial(&m, 1);
  } else {
    int i, threads = m.app.threads, workers = threads * app_nodes;
    worker_t *mine = app_alloc((size_t)threads * sizeof *mine);
    server_t s;
    app_team_t team;
    double begin, seconds, communication = 0;
    memset(&s, 0, sizeof s);
    if (app_node == 0) {
      mandel_master_begin(&s.master, &m);
      DECK_SAFE(deck_mbox_create("mandelbrot", NULL, &s.box));
    }
    for (i = 0; i < threads; i++) mine[i].m = &m;
    app_deck_start(&team, worker_thread, mine, sizeof *mine, threads);
    begin = app_deck_go(&team);
    if (app_node == 0) master(&s, workers - 1);
    else work(&mine[0]);
    app_deck_join(&team);
    DECK_SAFE(deck_barrier());
    seconds = app_now() - begin;
    for (i = 0; i < threads; i++) communication += mine[i].communication;
    communication = app_deck_sum(communication + s.communication);
    if (app_node == 0) {
      app_result(app_name, seconds, communication, workers, mandel_verify(&s.master));
      free(s.master.counts);
      DECK_SAFE(deck_mbox_destroy(s.box));
    }
    free(mine);
  }
  return app_deck_end();
}
