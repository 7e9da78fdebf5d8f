/* Threads, semaphores, boxes of many threads, descriptors for poll(2).
 *
 * usage: deck-testthreads */
#include "testdeck.h"

#include <dirent.h>
#include <poll.h>

#define THREADS 16
#define PREVIOUS ((me + nodes - 1) % nodes)
#define NEXT ((me + 1) % nodes)

static void barrier(void) { EXPECT(0, deck_barrier()); }

static void start(deck_thread_t *thread, void *(*fn)(void *), void *arg) { MUST(deck_thread_create(fn, arg, thread)); }

/* ---- threads ---- */

static void *self_of(void *arg) {
  EXPECT(0, deck_thread_yield());
  *(deck_thread_t *)arg = deck_thread_self();
  return arg;
}

static void check_threads(void) {
  deck_thread_t thread[THREADS], self[THREADS] = {NULL};
  void *result;
  int t, round;
  CHECK(deck_thread_self() == NULL, "the main thread is one of DECK");
  EXPECT(0, deck_thread_yield());
  EXPECT(DECK_EARG, deck_thread_create(NULL, NULL, &thread[0]));
  EXPECT(DECK_EARG, deck_thread_create(self_of, &self[0], NULL));
  EXPECT(DECK_EARG, deck_thread_join(NULL, &result));
  for (round = 0; round < 10; round++) { /* joined in both orders, with and without a result */
    for (t = 0; t < THREADS; t++) start(&thread[t], self_of, &self[t]);
    for (t = 0; t < THREADS; t++) {
      const int which = round % 2 ? t : THREADS - 1 - t;
      result = NULL;
      EXPECT(0, deck_thread_join(thread[which], t % 2 ? &result : NULL));
      if (t % 2) CHECK(result == &self[which], "the result of thread %d", which);
      CHECK(self[which] == thread[which], "thread %d is another one than was created", which);
    }
  }
}

/* ---- semaphores ---- */

static deck_sem_t gate, done;
static int inside, most_inside, passed, got;

static void *through_the_gate(void *arg) {
  int n, now, most;
  for (n = 0; n < 200; n++) {
    EXPECT(0, n % 3 ? deck_sem_p(gate) : deck_sem_p_timed(gate, LONG_TIME));
    now = TEST_COUNT(&inside);
    for (most = LOAD(&most_inside); now > most; most = LOAD(&most_inside)) STORE(&most_inside, now);
    TEST_COUNT(&passed);
    if (n % 10 == 0) deck_thread_yield();
    __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
    EXPECT(0, deck_sem_v(gate));
  }
  EXPECT(0, deck_sem_v(done));
  return arg;
}

static void *take_once(void *arg) {
  EXPECT(0, deck_sem_p(gate));
  TEST_COUNT(&got);
  EXPECT(0, deck_sem_v(gate));
  return arg;
}

static void check_semaphores(void) {
  deck_thread_t thread[THREADS];
  double since;
  int t;
  EXPECT(DECK_EARG, deck_sem_create(1, NULL));
  EXPECT(DECK_EARG, deck_sem_p(NULL));
  EXPECT(DECK_EARG, deck_sem_p_timed(NULL, 0));
  EXPECT(DECK_EARG, deck_sem_v(NULL));
  EXPECT(DECK_EARG, deck_sem_destroy(NULL));
  /* It counts. */
  MUST(deck_sem_create(3, &gate));
  for (t = 0; t < 3; t++) EXPECT(0, deck_sem_p_timed(gate, 0));
  EXPECT(DECK_EAGAIN, deck_sem_p_timed(gate, 0));
  since = test_now();
  EXPECT(DECK_ETIMEDOUT, deck_sem_p_timed(gate, SHORT_TIME));
  CHECK(test_now() - since >= 0.019, "back after %g s", test_now() - since);
  for (t = 0; t < 5; t++) EXPECT(0, deck_sem_v(gate));
  for (t = 0; t < 5; t++) EXPECT(0, t % 2 ? deck_sem_p(gate) : deck_sem_p_timed(gate, DECK_FOREVER));
  EXPECT(DECK_EAGAIN, deck_sem_p_timed(gate, 0)); /* who gave up has taken none */
  /* Two of all threads at a time. */
  MUST(deck_sem_create(0, &done));
  for (t = 0; t < THREADS; t++) start(&thread[t], through_the_gate, NULL);
  EXPECT(0, deck_sem_v(gate));
  EXPECT(0, deck_sem_v(gate));
  for (t = 0; t < THREADS; t++) EXPECT(0, deck_sem_p(done));
  for (t = 0; t < THREADS; t++) EXPECT(0, deck_thread_join(thread[t], NULL));
  CHECK(most_inside >= 1 && most_inside <= 2, "%d threads at a time", most_inside);
  CHECK(passed == THREADS * 200, "%d of %d", passed, THREADS * 200);
  for (t = 0; t < 2; t++) EXPECT(0, deck_sem_p_timed(gate, 0));
  EXPECT(DECK_EAGAIN, deck_sem_p_timed(gate, 0));
  /* A thread that gives one and takes it again at once does not keep the others off for ever. This does not test the order: who came
   * first cannot be seen from outside without a race, and a semaphore without order passes, too. */
  for (t = 0; t < THREADS; t++) start(&thread[t], take_once, NULL);
  while (LOAD(&got) < THREADS) {
    EXPECT(0, deck_sem_v(gate));
    EXPECT(0, deck_sem_p(gate));
  }
  for (t = 0; t < THREADS; t++) EXPECT(0, deck_thread_join(thread[t], NULL));
  EXPECT(DECK_EAGAIN, deck_sem_p_timed(gate, 0));
  EXPECT(0, deck_sem_destroy(gate));
  EXPECT(0, deck_sem_destroy(done));
}

/* ---- a box for each thread ---- */

enum { EACH = 60 };
static deck_mbox_t own[THREADS], other[THREADS];

/* ThreadSanitizer looks at every eight bytes that go to another thread of the process, and searches what it has seen before: messages of
 * 100,000 bytes took this program 45 or more than 120 seconds on a loaded machine. Other builds have them. */
#if defined(__SANITIZE_THREAD__)
#define LONG_LENGTH 10000u
#else
#define LONG_LENGTH 100000u
#endif
static size_t length_of(int n) { return n % 12 == 11 ? LONG_LENGTH + (size_t)n : n % 3 == 2 ? (size_t)n * 40 : (size_t)n; }

/* Blocked on its own box from the beginning. Every message is answered by the next one to the same thread elsewhere. */
static void *retrieve_own(void *arg) {
  const int t = (int)((deck_mbox_t *)arg - own);
  deck_msg_t in = new_msg(0, DECK_AUTO);
  int n;
  for (n = 0; n < EACH; n++) {
    EXPECT(0, deck_mbox_retrv(own[t], in));
    read_msg(in, length_of(n), seed_of(t, PREVIOUS, n), PREVIOUS);
  }
  EXPECT(0, deck_msg_destroy(in));
  return arg;
}

static void *post_other(void *arg) {
  const int t = (int)((deck_mbox_t *)arg - other);
  deck_msg_t out = new_msg(101000, t % 2 ? DECK_LOCAL : DECK_SHARED);
  int n;
  for (n = 0; n < EACH; n++) send_to(other[t], out, length_of(n), seed_of(t, me, n));
  EXPECT(0, deck_msg_destroy(out));
  return arg;
}

/* A thread waits for a name that another one makes later. */
static void *find_late(void *arg) {
  other[0] = find_box("late", NEXT);
  return arg;
}

static void check_own_boxes(void) {
  deck_thread_t thread[2 * THREADS];
  char base[16];
  int t, round;
  start(&thread[0], find_late, NULL);
  be_late(10);
  own[0] = new_box("late", me, 0, 0);
  EXPECT(0, deck_thread_join(thread[0], NULL));
  EXPECT(0, deck_mbox_destroy(other[0]));
  barrier();
  EXPECT(0, deck_mbox_destroy(own[0]));
  for (t = 0; t < THREADS; t++) {
    snprintf(base, sizeof base, "own%d", t);
    own[t] = new_box(base, me, 0, 0);
    other[t] = find_box(base, NEXT);
  }
  for (round = 0; round < 3; round++) {
    for (t = 0; t < THREADS; t++) start(&thread[t], retrieve_own, &own[t]);
    if (round == 0) be_late(10);
    if (round == 1) barrier(); /* while the threads wait */
    for (t = 0; t < THREADS; t++) start(&thread[THREADS + t], post_other, &other[round == 2 ? THREADS - 1 - t : t]);
    for (t = 0; t < 2 * THREADS; t++) EXPECT(0, deck_thread_join(thread[t], NULL));
    barrier(); /* the order is that of a thread, and the next round has other ones */
  }
  for (t = 0; t < THREADS; t++) EXPECT(0, deck_mbox_destroy(other[t]));
  barrier();
  for (t = 0; t < THREADS; t++) {
    expect_empty(own[t]);
    EXPECT(0, deck_mbox_destroy(own[t]));
  }
}

/* ---- one box, many threads ---- */

enum { PER_POSTER = 150, POSTERS = 4, TAKERS = 4 };
static deck_mbox_t one;
static unsigned char *seen; /* per (poster, number) */
static int *last;           /* per poster, the number that comes next */
static int taken_by[TAKERS], taken;

/* Bytes of a message: node, poster, number; and then its pattern. */
static void *post_one(void *arg) {
  const int p = (int)((int *)arg - taken_by);
  deck_mbox_t box = find_box("one", NEXT);
  int n;
  for (n = 0; n < PER_POSTER; n++) {
    const size_t size = 12 + length_of(n);
    const int32_t head[3] = {me, p, n};
    deck_msg_t out = new_msg(size, size < 5000 ? DECK_LOCAL : DECK_SHARED);
    EXPECT(0, deck_msg_set_size(out, size));
    memcpy(deck_msg_data(out), head, 12);
    fill((char *)deck_msg_data(out) + 12, size - 12, seed_of(p, me, n));
    if (n % 4 == 3) {
      EXPECT(0, deck_mbox_give(box, &out, LONG_TIME));
    } else {
      EXPECT(0, deck_mbox_post_timed(box, out, LONG_TIME));
      EXPECT(0, deck_msg_destroy(out));
    }
  }
  EXPECT(0, deck_mbox_destroy(box));
  return arg;
}

/* Which message it is, checked; -1 for one that ends the thread. */
static int number_of(deck_msg_t in) {
  const size_t size = deck_msg_size(in);
  int32_t head[3];
  if (size == 1) return -1;
  if (!CHECK(size >= 12, "%lu bytes", (unsigned long)size)) return -1;
  memcpy(head, deck_msg_data(in), 12);
  if (!CHECK(head[0] == PREVIOUS && head[1] >= 0 && head[1] < POSTERS && head[2] >= 0 && head[2] < PER_POSTER,
             "node %d, poster %d, number %d", (int)head[0], (int)head[1], (int)head[2]))
    return -1;
  CHECK(deck_msg_source(in) == head[0], "source %d instead of %d", deck_msg_source(in), (int)head[0]);
  CHECK(size == 12 + length_of(head[2]), "%lu bytes instead of %lu", (unsigned long)size,
        (unsigned long)(12 + length_of(head[2])));
  CHECK(differs((char *)deck_msg_data(in) + 12, size - 12, seed_of(head[1], head[0], head[2])) == size - 12,
        "the bytes of message %d of poster %d", (int)head[2], (int)head[1]);
  return head[1] * PER_POSTER + head[2];
}

static void *take_one(void *arg) {
  int *count = (int *)arg, n, which;
  deck_mbox_t const box = one;
  int before[POSTERS] = {-1, -1, -1, -1};
  for (;;) {
    deck_msg_t in = NULL;
    if (*count % 2) {
      if (!CHECK(deck_mbox_take(box, &in, LONG_TIME) == 0, "nothing came")) return arg;
    } else {
      EXPECT(0, deck_mbox_select(&box, 1, LONG_TIME, &which)); /* another thread may be the first, then */
      in = new_msg(0, DECK_AUTO);
      if (!CHECK(deck_mbox_retrv_timed(box, in, LONG_TIME) == 0, "nothing came")) return arg;
    }
    n = number_of(in);
    EXPECT(0, deck_msg_destroy(in));
    if (n < 0) return arg;
    CHECK(!__atomic_fetch_add(&seen[n], 1, __ATOMIC_RELAXED), "message %d twice", n);
    /* What one thread retrieves is in each poster's order, too. */
    CHECK(n % PER_POSTER > before[n / PER_POSTER], "message %d after %d", n % PER_POSTER, before[n / PER_POSTER]);
    before[n / PER_POSTER] = n % PER_POSTER;
    ++*count;
    TEST_COUNT(&taken);
  }
}

static void check_one_box(int takers) {
  deck_thread_t post[POSTERS], take[TAKERS];
  deck_msg_t in = new_msg(0, DECK_AUTO), end = new_msg(1, DECK_LOCAL);
  double until;
  int t, n, which;
  one = new_box("one", me, MIB, 64);
  seen = (unsigned char *)calloc(POSTERS * PER_POSTER, 1);
  last = (int *)calloc(POSTERS, sizeof *last);
  memset(taken_by, 0, sizeof taken_by);
  taken = 0;
  for (t = 0; t < takers; t++) start(&take[t], take_one, &taken_by[t]);
  for (t = 0; t < POSTERS; t++) start(&post[t], post_one, &taken_by[t]);
  if (!takers) /* the main thread alone sees the order of all */
    for (n = 0; n < POSTERS * PER_POSTER; n++) {
      EXPECT(0, deck_mbox_retrv_timed(one, in, LONG_TIME));
      if ((which = number_of(in)) < 0) continue;
      CHECK(which % PER_POSTER == last[which / PER_POSTER]++, "message %d of poster %d", which % PER_POSTER,
            which / PER_POSTER);
      seen[which]++;
    }
  for (t = 0; t < POSTERS; t++) EXPECT(0, deck_thread_join(post[t], NULL));
  for (until = test_now() + 60; takers && LOAD(&taken) < POSTERS * PER_POSTER && test_now() < until;) deck_thread_yield();
  for (t = 0; t < takers; t++) send_to(one, end, 1, 1);
  for (t = 0; t < takers; t++) EXPECT(0, deck_thread_join(take[t], NULL));
  for (n = 0; n < POSTERS * PER_POSTER; n++) CHECK(seen[n] == 1, "message %d came %d times", n, seen[n]);
  expect_all_empty(one);
  EXPECT(0, deck_mbox_destroy(one));
  barrier(); /* the name comes again */
  EXPECT(0, deck_msg_destroy(in));
  EXPECT(0, deck_msg_destroy(end));
  free(seen);
  free(last);
}

/* ---- descriptors ---- */

static int ready(int fd, int ms) {
  struct pollfd p;
  int rc;
  p.fd = fd;
  p.events = POLLIN;
  p.revents = 0;
  rc = poll(&p, 1, ms);
  CHECK(rc <= 0 || p.revents == POLLIN, "events %#x", (unsigned)p.revents);
  return rc;
}

/* How many threads of this process have the name. */
static int threads_named(const char *name) {
  char line[64];
  int n = 0;
  struct dirent *entry;
  DIR *tasks = opendir("/proc/self/task");
  if (!CHECK(tasks != NULL, "there is no /proc")) return -1;
  while ((entry = readdir(tasks))) {
    FILE *comm;
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    if (!(comm = fopen(path, "r"))) continue;
    if (fgets(line, sizeof line, comm)) n += !strncmp(line, name, strlen(name));
    fclose(comm);
  }
  closedir(tasks);
  return n;
}

/* A call that is refused starts no thread. */
static void check_refused_descriptors(void) {
  deck_mbox_t box = new_box("refused", me, 0, 0), next = find_box("refused", NEXT);
  EXPECT(DECK_EARG, deck_mbox_fd(NULL));
  EXPECT(DECK_EARG, deck_mbox_fd(next));
  CHECK(threads_named("deck-poll") == 0, "%d threads that serve", threads_named("deck-poll"));
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  CHECK(deck_mbox_fd(box) >= 0, "descriptor %d", deck_mbox_fd(box));
  EXPECT(0, deck_mbox_destroy(box));
}

static void check_descriptors(void) {
  deck_mbox_t box = new_box("fd", me, 0, 0), quiet = new_box("quiet", me, 0, 0), next = find_box("fd", NEXT);
  deck_msg_t out = new_msg(100000, DECK_AUTO), in = new_msg(0, DECK_AUTO);
  const int fd = deck_mbox_fd(box), quiet_fd = deck_mbox_fd(quiet);
  int round, i;
  CHECK(fd >= 0 && quiet_fd >= 0 && fd != quiet_fd, "descriptors %d, %d", fd, quiet_fd);
  CHECK(deck_mbox_fd(box) == fd, "another descriptor the second time");
  CHECK(ready(fd, 0) == 0, "readable, and the box is empty");
  barrier();
  for (round = 0; round < 30; round++) {
    const size_t size = round % 3 == 2 ? 100000 : (size_t)round * 6;
    if (round % 2) be_late(1); /* the receiver may sleep in poll by now */
    for (i = 0; i < 3; i++) send_to(next, out, size, seed_of(30 + i, me, round));
    for (i = 0; i < 3; i++) { /* sleeps until the service thread has a message; it stays readable while one is there */
      CHECK(ready(fd, 60000) == 1, "not readable, %d messages are to come", 3 - i);
      if (i == 0) await_pending(box, 3);
      CHECK(ready(fd, 0) == 1, "not readable, there are %d messages", 3 - i);
      EXPECT(0, deck_mbox_retrv_timed(box, in, 0));
      read_msg(in, size, seed_of(30 + i, PREVIOUS, round), PREVIOUS);
    }
    barrier();
    CHECK(ready(fd, 0) == 0, "readable, and the box is empty");
    CHECK(ready(quiet_fd, 0) == 0, "readable, and nobody posted");
    barrier();
  }
  /* What came before the first call counts, too. */
  EXPECT(0, deck_mbox_destroy(next));
  barrier();
  EXPECT(0, deck_mbox_destroy(box));
  box = new_box("fd", me, 0, 0);
  send_to(box, out, 77, 5);
  await_pending(box, 1);
  CHECK(ready(deck_mbox_fd(box), 60000) == 1, "not readable, there was a message before");
  receive_from(box, in, 77, 5, me);
  CHECK(ready(deck_mbox_fd(box), 0) == 0, "readable, and the box is empty");
  EXPECT(DECK_EARG, deck_mbox_fd(NULL));
  EXPECT(0, deck_mbox_destroy(quiet));
  EXPECT(0, deck_mbox_destroy(box));
  EXPECT(0, deck_msg_destroy(out));
  EXPECT(0, deck_msg_destroy(in));
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv, "deck-testthreads");
  check_threads();
  check_semaphores();
  check_own_boxes();
  check_one_box(0);
  check_one_box(TAKERS);
  check_refused_descriptors();
  check_descriptors();
  return test_end();
}
