/* The Mandelbrot set over mail boxes. mandelbrot-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * Node 0 has one box, "mandelbrot". A request has a reply box, and the slice that is done, or -1; its counts follow. The answer is
 * a slice, or -1. With --threads K each node has K workers; the first of node 0 is the master. */
#include "app-deck-farm.h"
#include "mandelbrot-kernel.h"

/* A request: the result comes with it, and goes into its place in the picture. */
static void answer(void *job, deck_msg_t msg) {
  mandel_job_t *j = job;
  int32_t slice = -1;
  deck_mbox_t reply = NULL;
  deck_msg_t out = NULL;
  DECK_SAFE(deck_msg_unpack_mbox(msg, &reply));
  DECK_SAFE(deck_msg_unpack(msg, &slice, DECK_INT32, 1));
  if (slice != -1) {
    if (slice < 0 || slice >= mandel_slices(&j->m)) app_die("there is no slice %d", (int)slice);
    DECK_SAFE(deck_msg_unpack(msg, mandel_place(&j->master, slice), DECK_UINT16,
                              (size_t)mandel_rows_of(&j->m, slice) * (size_t)j->m.size));
    mandel_came(&j->master, slice);
  }
  slice = mandel_deal(&j->master);
  DECK_SAFE(deck_msg_create(16, DECK_AUTO, &out));
  DECK_SAFE(deck_msg_pack(out, &slice, DECK_INT32, 1));
  DECK_SAFE(deck_mbox_give(reply, &out, DECK_FOREVER));
  CHECK(out == NULL, "a message was given, and is still there");
  DECK_SAFE(deck_mbox_destroy(reply));
}

static void request(deck_mbox_t to, deck_mbox_t reply, int32_t slice, const uint16_t *counts, size_t n) {
  deck_msg_t msg = NULL;
  DECK_SAFE(deck_msg_create(128 + n * sizeof *counts, DECK_AUTO, &msg));
  DECK_SAFE(deck_msg_pack_mbox(msg, reply));
  DECK_SAFE(deck_msg_pack(msg, &slice, DECK_INT32, 1));
  if (slice >= 0) DECK_SAFE(deck_msg_pack(msg, counts, DECK_UINT16, n));
  DECK_SAFE(deck_mbox_give(to, &msg, DECK_FOREVER));
}

static void work(void *job, double *communication) {
  const mandel_t *m = &((mandel_job_t *)job)->m;
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
      *communication += app_now() - begin;
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
  *communication += app_now() - begin;
  free(counts);
}

int main(int argc, char **argv) {
  mandel_job_t j;
  farm_t farm;
  app_deck_begin("mandelbrot", &argc, &argv);
  mandel_options(&j.m, argc, argv);
  farm.part = mandel_farm(&j);
  farm.answer = answer;
  farm.work = work;
  if (!j.m.app.serial) farm_run(&farm, j.m.app.threads);
  else if (app_node == 0) mandel_serial(&j.m, 1);
  return app_deck_end();
}
