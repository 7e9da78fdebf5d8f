/* The ray tracer over mail boxes. ray-kernel.h says what is computed, how slices are dealt out, and the options.
 *
 * Node 0 has one box, "ray". A message in it is a line, or a request (line -1) with a reply box. An answer is the first line
 * and the number of lines. Lines are given. With --threads K each node has K workers; the first of node 0 is the master. */
#include "app-deck-farm.h"
#include "ray-kernel.h"

static void answer(void *job, deck_msg_t msg) {
  ray_job_t *j = job;
  int32_t line = 0, slice[2];
  DECK_SAFE(deck_msg_unpack(msg, &line, DECK_INT32, 1));
  if (line != -1) {
    if (line < 0 || line >= j->r.height) app_die("there is no line %d", (int)line);
    DECK_SAFE(deck_msg_unpack(msg, ray_place(&j->master, line), DECK_UINT8, ray_line_bytes(&j->r)));
    ray_came(&j->master, line);
  } else {
    deck_mbox_t reply = NULL;
    deck_msg_t out = NULL;
    int first, lines = ray_deal(&j->master, &first);
    DECK_SAFE(deck_msg_unpack_mbox(msg, &reply));
    slice[0] = (int32_t)first;
    slice[1] = (int32_t)lines;
    if (!lines) j->master.stopped++;
    DECK_SAFE(deck_msg_create(32, DECK_AUTO, &out));
    DECK_SAFE(deck_msg_pack(out, slice, DECK_INT32, 2));
    DECK_SAFE(deck_mbox_post(reply, out));
    DECK_SAFE(deck_msg_destroy(out));
    DECK_SAFE(deck_mbox_destroy(reply));
  }
}

static void work(void *job, double *communication) {
  const ray_t *r = &((ray_job_t *)job)->r;
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
      *communication += app_now() - begin;
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
  *communication += app_now() - begin;
  free(bytes);
}

int main(int argc, char **argv) {
  ray_job_t j;
  farm_t farm;
  app_deck_begin("ray", &argc, &argv);
  ray_options(&j.r, argc, argv);
  farm.part = ray_farm(&j);
  farm.answer = answer;
  farm.work = work;
  if (!j.r.app.serial) farm_run(&farm, j.r.app.threads);
  else if (app_node == 0) ray_serial(&j.r, 1);
  return app_deck_end();
}
