/* Stays in one phase of a job until something ends it: the program of `cargo xtask netlab kill`, which kills nodes, the
 * processes that started them, and links, in each phase.
 *
 *   testvictim PHASE [SECONDS]
 *
 *   before   not yet in gasnet_init            inited    between gasnet_init and gasnet_attach
 *   attach   all but the last node are in gasnet_attach and wait for it
 *   flood    all nodes send requests with replies to all, and put and get, without a pause
 *   put      every other node puts a mebibyte to the next one, again and again, and that one polls
 *   barrier  all but the last node wait for it in a barrier; it computes
 *   exit     all but the last node have called gasnet_exit; it computes for a part of a second, then leaves as well
 *
 * Each process says "testvictim: pid P: PHASE" when it is there. If nothing has ended the job after SECONDS (60), it ends
 * with status 3. */
#include "../test.h"

#include <signal.h>

enum { H_ASK = 200, H_ANSWER, H_FILL };
enum { BYTES = 8192, LARGE = 1 << 20 };

static double until;

static void arrived(const char *phase) { /* whole and at once */
  char line[80];
  int n = snprintf(line, sizeof line, "testvictim: pid %ld: %s\n", (long)getpid(), phase);
  if (write(1, line, (size_t)n) != n) _exit(98);
}

static void compute(double end) {
  volatile double x = 1;
  while (test_now() < end) x = x * 1.0000001 + 1e-9;
}

static void wait_asleep(void) {
  struct timespec t;
  t.tv_sec = 0, t.tv_nsec = 10000000;
  while (test_now() < until) nanosleep(&t, NULL);
}

static void on_quit(int sig) { (void)sig; }

static volatile long answers;

static void ask(gasnet_token_t token, void *bytes, size_t length, gasnet_handlerarg_t n) {
  GASNET_SAFE(gasnet_AMReplyMedium1(token, H_ANSWER, bytes, length, n));
}
static void answer(gasnet_token_t token, void *bytes, size_t length, gasnet_handlerarg_t n) {
  (void)token, (void)bytes, (void)length, (void)n;
  answers++;
}
static void fill(gasnet_token_t token, void *bytes, size_t length, gasnet_handlerarg_t n) {
  (void)bytes, (void)length;
  GASNET_SAFE(gasnet_AMReplyMedium1(token, H_ANSWER, NULL, 0, n));
}

static void flood(const gasnet_seginfo_t *segments) {
  static char bytes[BYTES];
  gasnet_node_t me = gasnet_mynode(), nodes = gasnet_nodes(), to;
  size_t size = gasnet_AMMaxMedium() < 512 ? gasnet_AMMaxMedium() : 512;
  for (to = (gasnet_node_t)((me + 1) % nodes); test_now() < until; to = (gasnet_node_t)((to + 1) % nodes)) {
    char *there = (char *)segments[to].addr + me * BYTES;
    gasnet_handle_t handle;
    GASNET_SAFE(gasnet_AMRequestMedium1(to, H_ASK, bytes, size, 1));
    GASNET_SAFE(gasnet_AMRequestLong1(to, H_FILL, bytes, BYTES, there, 2));
    gasnet_put(to, there, bytes, 64);
    handle = gasnet_put_nb_bulk(to, there, bytes, BYTES);
    gasnet_get(bytes, to, there, 64);
    gasnet_wait_syncnb(handle);
  }
}

static void put(const gasnet_seginfo_t *segments) {
  static char bytes[LARGE];
  gasnet_node_t me = gasnet_mynode(), to = (gasnet_node_t)((me + 1) % gasnet_nodes());
  while (test_now() < until) {
    if (me % 2 == 0)
      gasnet_put_bulk(to, segments[to].addr, bytes, LARGE);
    else
      GASNET_SAFE(gasnet_AMPoll());
  }
}

int main(int argc, char **argv) {
  const char *phase = argc > 1 ? argv[1] : "";
  gasnet_handlerentry_t table[] = {{H_ASK, (void (*)())ask}, {H_ANSWER, (void (*)())answer}, {H_FILL, (void (*)())fill}};
  static const char *const phases[] = {"before", "inited", "attach", "flood", "put", "barrier", "exit"};
  static gasnet_seginfo_t segments[256];
  uintptr_t size;
  int last, known = 0;
  size_t i;
  for (i = 0; i < sizeof phases / sizeof *phases; i++) known |= strcmp(phase, phases[i]) == 0;
  if (!known) {
    fprintf(stderr, "testvictim: PHASE [SECONDS]; before, inited, attach, flood, put, barrier or exit\n");
    return 2;
  }
  until = test_now() + (argc > 2 ? atof(argv[2]) : 60);
  if (strcmp(phase, "before") == 0) {
    arrived(phase);
    wait_asleep();
  }
  GASNET_SAFE(gasnet_init(&argc, &argv));
  last = gasnet_mynode() == gasnet_nodes() - 1;
  if (strcmp(phase, "inited") == 0 || strcmp(phase, "attach") == 0) arrived(phase);
  if (strcmp(phase, "inited") == 0 || (strcmp(phase, "attach") == 0 && last)) wait_asleep();
  size = ((strcmp(phase, "put") == 0 ? LARGE : gasnet_nodes() * BYTES) + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  GASNET_SAFE(gasnet_attach(table, 3, size, 0));
  if (gasnet_nodes() > sizeof segments / sizeof *segments) gasnet_exit(2);
  GASNET_SAFE(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
  test_barrier();
  if (strcmp(phase, "exit") == 0) {
    /* The library asks a node to leave by this signal. This one wants to leave by itself, a little later. */
    if (last) signal(SIGQUIT, on_quit);
    arrived(phase);
    if (last) compute(test_now() + 0.4);
    gasnet_exit(0);
  }
  if (strcmp(phase, "flood") == 0 || strcmp(phase, "put") == 0 || strcmp(phase, "barrier") == 0) arrived(phase);
  if (strcmp(phase, "flood") == 0) flood(segments);
  if (strcmp(phase, "put") == 0) put(segments);
  if (strcmp(phase, "barrier") == 0 && last) compute(until);
  test_barrier();
  gasnet_exit(3);
  return 3;
}
