/* The slab over mail boxes. laplace-kernel.h says what is computed, the modes and the options.
 *
 * Each worker has a box for what comes from above and one for what comes from below, so there are two for each pair of neighbours.
 * From 8 KiB on, an edge is computed in its row and in a message in shared memory, which is given; the message that arrives is itself the
 * halo. The halo that it replaces is the next message to go. Shorter edges are posted. With --threads K each node has K workers. */
#include "app-deck.h"
#include "laplace-kernel.h"

enum { ABOVE, BELOW };
enum { GIVE_FROM = 8192 };

typedef struct {
  deck_mbox_t in, out;
  deck_msg_t halo[2]; /* of each colour: where the halo lies */
  deck_msg_t spare;   /* the next one to go */
} side_t;

typedef struct {
  laplace_strip_t strip;
  int threads; /* workers of each node */
  side_t side[2];
  deck_mbox_t changes, answer; /* the largest change, where nodes have several workers */
  int iterations;
  uint32_t crc;
  double communication;
} worker_t;

static int has_side(const worker_t *w, int side) {
  return side == ABOVE ? w->strip.worker > 0 : w->strip.worker < w->strip.l->workers - 1;
}

/* The edges are written to where they will lie in messages while they are computed. A strip of one row has one edge for both. */
static void take_places(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  size_t bytes = laplace_part_bytes(s->l);
  int k;
  (void)colour;
  for (k = 0; k < 2; k++) {
    side_t *side = &w->side[k];
    if (!has_side(w, k)) continue;
    if (!side->spare) DECK_SAFE(deck_msg_create(bytes, bytes >= GIVE_FROM ? DECK_SHARED : DECK_AUTO, &side->spare));
    s->copy[k] = deck_msg_data(side->spare);
  }
  w->communication += app_now() - begin;
}

static void send_edges(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  size_t bytes = laplace_part_bytes(s->l);
  int k;
  for (k = 0; k < 2; k++) {
    side_t *side = &w->side[k];
    if (!has_side(w, k)) continue;
    if (s->rows == 1) memcpy(deck_msg_data(side->spare), s->row[colour][1], bytes);
    DECK_SAFE(deck_msg_set_size(side->spare, bytes));
    if (bytes >= GIVE_FROM) DECK_SAFE(deck_mbox_give(side->out, &side->spare, DECK_FOREVER));
    else DECK_SAFE(deck_mbox_post(side->out, side->spare));
  }
  w->communication += app_now() - begin;
}

static void receive_halos(void *with, laplace_strip_t *s, int colour) {
  worker_t *w = with;
  double begin = app_now();
  size_t bytes = laplace_part_bytes(s->l);
  int k;
  for (k = 0; k < 2; k++) {
    side_t *side = &w->side[k];
    if (!has_side(w, k)) continue;
    if (bytes >= GIVE_FROM) {
      deck_msg_t old = side->halo[colour];
      DECK_SAFE(deck_mbox_take(side->in, &side->halo[colour], DECK_FOREVER));
      if (side->spare && old) DECK_SAFE(deck_msg_destroy(old));
      else if (old) side->spare = old;
    } else {
      if (!side->halo[colour]) DECK_SAFE(deck_msg_create(bytes, DECK_AUTO, &side->halo[colour]));
      DECK_SAFE(deck_mbox_retrv(side->in, side->halo[colour]));
    }
    if (deck_msg_size(side->halo[colour]) != bytes)
      app_die("an edge of %lu bytes", (unsigned long)deck_msg_size(side->halo[colour]));
    s->row[colour][k == ABOVE ? 0 : s->rows + 1] = deck_msg_data(side->halo[colour]);
  }
  w->communication += app_now() - begin;
}

/* The largest change of all workers: by collective calls if each node has one worker, else through the first worker's box. */
static double agree(void *with, double change) {
  worker_t *w = with;
  double begin = app_now(), most = change;
  int workers = w->strip.l->workers, i;
  if (w->threads == 1) {
    DECK_SAFE(deck_reduce(&change, &most, DECK_DOUBLE, 1, DECK_MAX, 0));
    DECK_SAFE(deck_bcast(&most, sizeof most, 0));
  } else {
    deck_msg_t msg = NULL;
    DECK_SAFE(deck_msg_create(128, DECK_AUTO, &msg));
    if (w->strip.worker == 0) {
      deck_mbox_t *answers = app_alloc((size_t)workers * sizeof *answers);
      for (i = 1; i < workers; i++) {
        double theirs = 0;
        DECK_SAFE(deck_mbox_retrv(w->changes, msg));
        DECK_SAFE(deck_msg_rewind(msg));
        DECK_SAFE(deck_msg_unpack(msg, &theirs, DECK_DOUBLE, 1));
        DECK_SAFE(deck_msg_unpack_mbox(msg, &answers[i]));
        most = theirs > most ? theirs : most;
      }
      DECK_SAFE(deck_msg_clear(msg));
      DECK_SAFE(deck_msg_pack(msg, &most, DECK_DOUBLE, 1));
      for (i = 1; i < workers; i++) {
        DECK_SAFE(deck_mbox_post(answers[i], msg));
        DECK_SAFE(deck_mbox_destroy(answers[i]));
      }
      free(answers);
    } else {
      DECK_SAFE(deck_msg_pack(msg, &change, DECK_DOUBLE, 1));
      DECK_SAFE(deck_msg_pack_mbox(msg, w->answer));
      DECK_SAFE(deck_mbox_post(w->changes, msg));
      DECK_SAFE(deck_mbox_retrv(w->answer, msg));
      DECK_SAFE(deck_msg_rewind(msg));
      DECK_SAFE(deck_msg_unpack(msg, &most, DECK_DOUBLE, 1));
    }
    DECK_SAFE(deck_msg_destroy(msg));
  }
  w->communication += app_now() - begin;
  return most;
}

static const laplace_swap_t swap = {take_places, send_edges, receive_halos, agree};

static const char *box_name(const laplace_t *l, int worker, int side) {
  static __thread char name[64];
  snprintf(name, sizeof name, "%s.%d.%s", l->name, worker, side == ABOVE ? "above" : "below");
  return name;
}

/* Makes the boxes of a worker, and finds those of its neighbours, which may be about to make them. */
static void meet_neighbours(worker_t *w) {
  const laplace_t *l = w->strip.l;
  char name[64];
  int k;
  for (k = 0; k < 2; k++)
    if (has_side(w, k)) DECK_SAFE(deck_mbox_create(box_name(l, w->strip.worker, k), NULL, &w->side[k].in));
  snprintf(name, sizeof name, "%s.changes", l->name);
  if (w->strip.worker == 0) DECK_SAFE(deck_mbox_create(name, NULL, &w->changes));
  else {
    DECK_SAFE(deck_mbox_clone(name, DECK_FOREVER, &w->changes));
    DECK_SAFE(deck_mbox_create(NULL, NULL, &w->answer));
  }
  for (k = 0; k < 2; k++)
    if (has_side(w, k))
      DECK_SAFE(deck_mbox_clone(box_name(l, w->strip.worker + (k == ABOVE ? -1 : 1), 1 - k), DECK_FOREVER, &w->side[k].out));
}

/* The CRC goes from worker to worker, and from the last one back to the first. */
static void sum_up(worker_t *w) {
  int32_t end[2]; /* the CRC, the iterations */
  deck_msg_t msg = NULL;
  uint32_t crc = 0;
  DECK_SAFE(deck_msg_create(64, DECK_AUTO, &msg));
  if (has_side(w, ABOVE)) {
    DECK_SAFE(deck_mbox_retrv(w->side[ABOVE].in, msg));
    DECK_SAFE(deck_msg_rewind(msg));
    DECK_SAFE(deck_msg_unpack(msg, &crc, DECK_UINT32, 1));
  }
  crc = laplace_crc(&w->strip, crc);
  DECK_SAFE(deck_msg_clear(msg));
  if (has_side(w, BELOW)) {
    DECK_SAFE(deck_msg_pack(msg, &crc, DECK_UINT32, 1));
    DECK_SAFE(deck_mbox_post(w->side[BELOW].out, msg));
  } else if (w->strip.worker > 0) {
    end[0] = (int32_t)crc;
    end[1] = (int32_t)w->iterations;
    DECK_SAFE(deck_msg_pack(msg, end, DECK_INT32, 2));
    DECK_SAFE(deck_mbox_post(w->changes, msg));
  }
  w->crc = crc;
  if (w->strip.worker == 0 && w->strip.l->workers > 1) {
    DECK_SAFE(deck_mbox_retrv(w->changes, msg));
    DECK_SAFE(deck_msg_rewind(msg));
    DECK_SAFE(deck_msg_unpack(msg, end, DECK_INT32, 2));
    w->crc = (uint32_t)end[0];
    CHECK(end[1] == w->iterations, "%d iterations, and %d of the last worker", w->iterations, (int)end[1]);
  }
  DECK_SAFE(deck_msg_destroy(msg));
}

/* Nobody may destroy a box to which a neighbour still posts; so this comes after the barrier. */
static void part(worker_t *w) {
  int k, colour;
  for (k = 0; k < 2; k++) {
    side_t *side = &w->side[k];
    if (!has_side(w, k)) continue;
    CHECK(deck_mbox_pending(side->in) == 0, "%d edges too many", deck_mbox_pending(side->in));
    for (colour = 0; colour < 2; colour++)
      if (side->halo[colour]) DECK_SAFE(deck_msg_destroy(side->halo[colour]));
    if (side->spare) DECK_SAFE(deck_msg_destroy(side->spare));
    DECK_SAFE(deck_mbox_destroy(side->out));
    DECK_SAFE(deck_mbox_destroy(side->in));
  }
  if (w->answer) DECK_SAFE(deck_mbox_destroy(w->answer));
  DECK_SAFE(deck_mbox_destroy(w->changes));
  laplace_strip_free(&w->strip);
}

static void *worker_thread(void *worker) {
  worker_t *w = worker;
  laplace_strip_make(&w->strip, w->strip.l, w->strip.worker, w->strip.l->workers);
  meet_neighbours(w);
  app_deck_meet();
  w->iterations = laplace_solve(&w->strip, &swap, w);
  return NULL;
}

static void *end_thread(void *worker) {
  app_deck_meet();
  sum_up(worker);
  return NULL;
}

static void run(const laplace_options_t *o, int mode) {
  int i, threads = o->app.threads, workers = threads * app_nodes;
  worker_t *mine = app_alloc((size_t)threads * sizeof *mine);
  laplace_t l;
  app_team_t team;
  double begin, seconds, communication = 0;
  laplace_make(&l, o, mode, workers);
  for (i = 0; i < threads; i++) {
    mine[i].strip.l = &l;
    mine[i].strip.worker = app_node * threads + i;
    mine[i].threads = threads;
  }
  app_deck_start(&team, worker_thread, mine, sizeof *mine, threads);
  laplace_strip_make(&mine[0].strip, &l, mine[0].strip.worker, workers);
  meet_neighbours(&mine[0]);
  begin = app_deck_go(&team);
  mine[0].iterations = laplace_solve(&mine[0].strip, &swap, &mine[0]);
  app_deck_join(&team);
  DECK_SAFE(deck_barrier());
  seconds = app_now() - begin;

  app_deck_start(&team, end_thread, mine, sizeof *mine, threads);
  app_deck_go(&team);
  sum_up(&mine[0]);
  app_deck_join(&team);
  DECK_SAFE(deck_barrier());
  for (i = 0; i < threads; i++) {
    laplace_check(&mine[i].strip, mine[i].iterations);
    communication += mine[i].communication;
  }
  communication = app_deck_sum(communication);
  if (app_node == 0) {
    app_result(l.name, seconds, communication, workers, mine[0].crc);
    laplace_verify(&l, &o->app, mine[0].crc, mine[0].iterations);
  }
  for (i = 0; i < threads; i++) part(&mine[i]);
  free(mine);
  DECK_SAFE(deck_barrier());
}

int main(int argc, char **argv) {
  laplace_options_t o;
  int i, n;
  app_deck_begin("laplace", &argc, &argv);
  laplace_options(&o, argc, argv);
  for (i = 0; i < o.count; i++) {
    laplace_t l;
    if (o.app.serial) {
      laplace_make(&l, &o, o.modes[i], app_nodes * o.app.threads);
      if (app_node == 0) laplace_serial(&l, 1, &n);
    } else
      run(&o, o.modes[i]);
  }
  return app_deck_end();
}
