/* The ray tracer over mail boxes. ray-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * Node 0 has one box, "ray". A message in it is a line, or a request (line -1) with a reply box. An answer is the first line
 * and the number of lines. Lines are given. With --threads K each node has K workers; the first of node 0 is the master. */
#include "app-deck.h"
#include "ray-kernel.h"

typedef struct {
  const ray_t *r;
  double communication; /* seconds in DECK */
} worker_t;

typedef struct {
  ray_master_t master;
  deck_mbox_t box;
  double communication;
} server_t;

static void answer(server_t *s, deck_msg_t msg) {
  const ray_t *r = s->master.r;
  int32_t line = 0, slice[2];
  DECK_SAFE(deck_msg_unpack(msg, &line, DECK_INT32, 1));
  if (line != -1) {
    if (line < 0 || line >= r->height) app_die("there is no line %d", (int)line);
    DECK_SAFE(deck_msg_unpack(msg, ray_place(&s->master, line), DECK_UINT8, ray_line_bytes(r)));
    ray_came(&s->master, line);
  } else {
    deck_mbox_t reply = NULL;
    deck_msg_t out = NULL;
    int first, lines = ray_deal(&s->master, &first);
    DECK_SAFE(deck_msg_unpack_mbox(msg, &reply));
    slice[0] = (int32_t)first;
    slice[1] = (int32_t)lines;
    if (!lines) s->master.stopped++;
    DECK_SAFE(deck_msg_create(32, DECK_AUTO, &out));
    DECK_SAFE(deck_msg_pack(out, slice, DECK_INT32, 2));
    DECK_SAFE(deck_mbox_post(reply, out));
    DECK_SAFE(deck_msg_destroy(out));
    DECK_SAFE(deck_mbox_destroy(reply));
  }
}

/* Serves all messages that are there; the first one may be waited for. */
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

static void master(server_t *s) {
  int others = s->master.workers - 1, line, lines;
  while ((lines = ray_deal(&s->master, &line)) > 0)
    for (; lines > 0; lines--, line++) {
      ray_line(s->master.r, line, ray_place(&s->master, line), others ? poll : NULL, s);
      ray_came(&s->master, line);
    }
  while (s->master.stopped < others) serve(s, DECK_FOREVER);
}

static void work(worker_t *w) {
  const ray_t *r = w->r;
  unsigned char *bytes = app_alloc(ray_line_bytes(r));
  deck_mbox_t to = NULL, reply = NULL;
  deck_msg_t msg = NULL, ask = NULL;
  double begin = app_now();
  int32_t slice[2], none = -1;
  DECK_SAFE(deck_mbox_clone("ray", DECK_FOREVER, &to));
  DECK_SAFE(deck_mbox_create(NULL, NULL, &reply));
  DECK_SAFE(deck_msg_create(32, DECK_AUTO, &msg));
  /* All requests are the same. */
  DECK_SAFE(deck_msg_create(128, DECK_AUTO, &ask));
  DECK_SAFE(deck_msg_pack(ask, &none, DECK_INT32, 1));
  DECK_SAFE(deck_msg_pack_mbox(ask, reply));
  for (;;) {
    DECK_SAFE(deck_mbox_post(to, ask));
    DECK_SAFE(deck_mbox_retrv(reply, msg));
    DECK_SAFE(deck_msg_rewind(msg));
    DECK_SAFE(deck_msg_unpack(msg, slice, DECK_INT32, 2));
    CHECK(slice[0] >= 0 && slice[1] >= 0 && slice[0] + slice[1] <= r->height, "%d lines from %d", (int)slice[1], (int)slice[0]);
    if (!slice[1]) break;
    for (; slice[1] > 0; slice[0]++, slice[1]--) {
      deck_msg_t line = NULL;
      w->communication += app_now() - begin;
      ray_line(r, slice[0], bytes, NULL, NULL);
      begin = app_now();
      DECK_SAFE(deck_msg_create(64 + ray_line_bytes(r), DECK_AUTO, &line));
      DECK_SAFE(deck_msg_pack(line, &slice[0], DECK_INT32, 1));
      DECK_SAFE(deck_msg_pack(line, bytes, DECK_UINT8, ray_line_bytes(r)));
      DECK_SAFE(deck_mbox_give(to, &line, DECK_FOREVER));
      CHECK(line == NULL, "a line was given, and is still there");
    }
  }
  DECK_SAFE(deck_msg_destroy(msg));
  DECK_SAFE(deck_msg_destroy(ask));
  DECK_SAFE(deck_mbox_destroy(reply));
  DECK_SAFE(deck_mbox_destroy(to));
  w->communication += app_now() - begin;
  free(bytes);
}

static void *worker_thread(void *worker) {
  app_deck_meet();
  work(worker);
  return NULL;
}

int main(int argc, char **argv) {
  ray_t r;
  app_deck_begin("ray", &argc, &argv);
  ray_options(&r, argc, argv);
  if (r.app.serial) {
    if (app_node == 0) ray_serial(&r, 1);
  } else {
    int i, threads = r.app.threads, workers = threads * app_nodes;
    worker_t *mine = app_alloc((size_t)threads * sizeof *mine);
    server_t s;
    app_team_t team;
    double begin, seconds, communication = 0;
    memset(&s, 0, sizeof s);
    if (app_node == 0) {
      ray_master_begin(&s.master, &r, workers);
      DECK_SAFE(deck_mbox_create("ray", NULL, &s.box));
    }
    for (i = 0; i < threads; i++) mine[i].r = &r;
    app_deck_start(&team, worker_thread, mine, sizeof *mine, threads);
    begin = app_deck_go(&team);
    if (app_node == 0) master(&s);
    else work(&mine[0]);
    app_deck_join(&team);
    DECK_SAFE(deck_barrier());
    seconds = app_now() - begin;
    for (i = 0; i < threads; i++) communication += mine[i].communication;
    communication = app_deck_sum(communication + s.communication);
    if (app_node == 0) {
      app_result(app_name, seconds, communication, workers, ray_verify(&s.master));
      ray_master_free(&s.master);
      DECK_SAFE(deck_mbox_destroy(s.box));
    }
    free(mine);
  }
  return app_deck_end();
}
