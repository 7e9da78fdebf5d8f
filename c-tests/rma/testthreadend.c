/* Transfers that a thread started and syncs in the destructor of a value of its own (pthread_key_create). The thread is the
 * same one still, so its handles, its implicit operations and its open access region are its own there.
 *
 *   testthreadend [rounds [KiB]]      default 5 rounds; KiB of a get, default 256 */
#include "../testcore.h"

#include <pthread.h>

enum { HANDLE, IMPLICIT, REGION, FORMS, MORE = 200 };
static const char *const form_name[FORMS] = {"a handle", "implicit operations", "an access region"};

static pthread_key_t key;
static size_t size;
static unsigned char *into; /* `size` bytes outside the segment */
static gasnet_node_t peer;

typedef struct {
  int form, synced;
  gasnet_handle_t handle;
} work_t;

/* Handles that are live at once must differ, whatever became of the thread's first one. */
static void more_handles(void) {
  gasnet_handle_t live[MORE];
  int i, k;
  for (i = 0; i < MORE; i++) live[i] = gasnet_get_nb_bulk(into, peer, core_area[peer], 64);
  for (i = 0; i < MORE; i++)
    for (k = 0; k < i; k++)
      CHECK(live[i] == GASNET_INVALID_HANDLE || live[i] != live[k], "live handles %d and %d are equal", k, i);
  for (i = 0; i < MORE; i++) gasnet_wait_syncnb(live[i]);
}

static void at_end(void *value) {
  work_t *work = (work_t *)value;
  size_t wrong;
  if (work->form == HANDLE) gasnet_wait_syncnb(work->handle);
  else if (work->form == IMPLICIT) gasnet_wait_syncnbi_all();
  else gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
  wrong = test_differs(into, size, 50u + peer);
  CHECK(wrong == size, "%s, synced at the thread's end: byte %lu of %lu", form_name[work->form], (unsigned long)wrong,
        (unsigned long)size);
  more_handles();
  work->synced = 1;
}

static void *thread(void *value) {
  work_t *work = (work_t *)value;
  pthread_setspecific(key, work);
  if (work->form == REGION) gasnet_begin_nbi_accessregion();
  if (work->form == HANDLE) work->handle = gasnet_get_nb_bulk(into, peer, core_area[peer], size);
  else gasnet_get_nbi_bulk(into, peer, core_area[peer], size);
  return NULL;
}

int main(int argc, char **argv) {
  int rounds, round, form;
  core_init(&argc, &argv, "testthreadend");
  rounds = (int)core_number(argc, argv, 1, 5);
  size = (size_t)core_number(argc, argv, 2, 256) << 10;
  core_attach(NULL, 0, size);
  peer = (me + 1) % nodes;
  into = (unsigned char *)malloc(size);
  if (!into || pthread_key_create(&key, at_end) != 0) gasnet_exit(98);
  test_fill(core_area[me], size, 50u + me);
  test_barrier();
  test_begin("testthreadend");
#if !defined(GASNET_SEQ) /* where one thread alone may call */
  for (round = 0; round < rounds; round++)
    for (form = 0; form < FORMS; form++) {
      work_t work = {0, 0, GASNET_INVALID_HANDLE};
      pthread_t other;
      work.form = form;
      memset(into, 0, size);
      CHECK(pthread_create(&other, NULL, thread, &work) == 0, "no thread");
      pthread_join(other, NULL);
      CHECK(work.synced, "the destructor has not run to its end");
    }
#else
  (void)rounds, (void)round, (void)form, (void)thread;
#endif
  test_barrier();
  test_end();
  return 0;
}
