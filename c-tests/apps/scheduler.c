/* The distributed scheduler by which OptiSCI was validated: producers (slaves) put tasks into three queues of different priority,
 * consumers (masters) get them. Where the queues lie decides what that costs.
 *
 *   scheduler [-q A,B,C] [-t TASKS] [-b BYTES]
 *
 * -q: the nodes that have the queues of priority 0, 1, 2 (default: the first slave has all). -t: tasks of each slave, of which a half,
 * a third and a sixth are of the priorities (default 60; OptiSCI's run had 600). -b: bytes of a task (default 2048).
 *
 * The first half of the nodes are masters, the others slaves; each slave works for one master. A single node is both. Slaves and masters
 * work in rounds of 3, 2, 1 tasks of the queues. A slave puts a task into the queue's memory and tells its master by a Short; the
 * master gets the task and checks its bytes. Node 0 prints the sum of the times of accesses to other nodes' memory, puts and gets
 * apart, and the time until the last task was processed. Times are those of gasnett_ticks, in timing mode those of the hardware. */
#include "../testcore.h"

#include <gasnet_tools.h>

enum { QUEUES = 3, H_TASK = 200, H_TIMES };
static const long weight[QUEUES] = {3, 2, 1}; /* of 6: tasks of a queue in a round */

static long tasks = 60, bytes = 2048;
static long queue_node[QUEUES] = {-1, -1, -1};
static gasnet_node_t masters;
static volatile long *told; /* [slave * QUEUES + queue]: tasks that this master knows of */
static double sums[2], total[2], longest; /* seconds of puts and of gets */
static volatile int reports;

static int is_master(gasnet_node_t node) { return node < masters; }
static int is_slave(gasnet_node_t node) { return nodes == 1 || node >= masters; }
static gasnet_node_t slave_count(void) { return nodes == 1 ? 1 : nodes - masters; }
static gasnet_node_t slave_number(gasnet_node_t node) { return nodes == 1 ? 0 : node - masters; }
static long tasks_of(int queue) { return tasks * weight[queue] / 6; }

/* Where task `k` of a slave lies. Each has a place of its own, so nobody waits for room. */
static unsigned char *place(gasnet_node_t slave, int queue, long k) {
  long before = 0;
  int q;
  for (q = 0; q < queue; q++) before += tasks_of(q);
  return core_area[queue_node[queue]] + (((long)slave * tasks + before) + k) * bytes;
}
static unsigned seed_of(gasnet_node_t slave, int queue, long k) { return (unsigned)(slave * 100003u + (unsigned)queue * 1009u + (unsigned)k); }

static void task_h(gasnet_token_t token, gasnet_handlerarg_t slave, gasnet_handlerarg_t queue) {
  (void)token;
  told[slave * QUEUES + queue]++;
}
static void times_h(gasnet_token_t token, void *buf, size_t n) {
  double theirs[3];
  (void)token;
  CHECK(n == sizeof theirs, "%d", (int)n);
  memcpy(theirs, buf, sizeof theirs);
  total[0] += theirs[0], total[1] += theirs[1];
  if (theirs[2] > longest) longest = theirs[2];
  reports++;
}

static double since(gasnett_tick_t start) { return (double)gasnett_ticks_to_ns(gasnett_ticks_now() - start) * 1e-9; }

static void produce(gasnet_node_t slave, int queue, long k) {
  static unsigned char *task;
  gasnet_node_t there = (gasnet_node_t)queue_node[queue];
  gasnett_tick_t start;
  if (!task) task = (unsigned char *)malloc((size_t)bytes);
  core_fill(task, (size_t)bytes, seed_of(slave, queue, k));
  start = gasnett_ticks_now();
  gasnet_put(there, place(slave, queue, k), task, (size_t)bytes);
  if (there != me) sums[0] += since(start);
  GASNET_SAFE(gasnet_AMRequestShort2(slave % masters, H_TASK, (gasnet_handlerarg_t)slave, queue));
}

static void consume(gasnet_node_t slave, int queue, long k) {
  static unsigned char *task;
  gasnet_node_t there = (gasnet_node_t)queue_node[queue];
  gasnett_tick_t start;
  size_t good;
  if (!task) task = (unsigned char *)malloc((size_t)bytes);
  start = gasnett_ticks_now();
  gasnet_get(task, there, place(slave, queue, k), (size_t)bytes);
  if (there != me) sums[1] += since(start);
  good = core_differs(task, (size_t)bytes, seed_of(slave, queue, k));
  CHECK(good == (size_t)bytes, "task %ld of slave %d in queue %d differs at byte %lu", k, (int)slave, queue, (unsigned long)good);
}

/* Up to `weight` tasks of each queue of each slave that has told this master of them. How many that were. */
static long master_round(long *done) {
  gasnet_node_t slave;
  long count = 0, i;
  int queue;
  for (queue = 0; queue < QUEUES; queue++)
    for (i = 0; i < weight[queue]; i++)
      for (slave = me; slave < slave_count(); slave += masters) {
        long *next = &done[slave * QUEUES + queue];
        if (*next < told[slave * QUEUES + queue]) consume(slave, queue, (*next)++), count++;
      }
  return count;
}

static void slave_round(long *made) {
  long i;
  int queue;
  for (queue = 0; queue < QUEUES; queue++)
    for (i = 0; i < weight[queue] && made[queue] < tasks_of(queue); i++) produce(slave_number(me), queue, made[queue]++);
}

static void work(void) {
  long *done = (long *)calloc((size_t)slave_count() * QUEUES, sizeof *done), made[QUEUES] = {0, 0, 0};
  long each = tasks_of(0) + tasks_of(1) + tasks_of(2), wanted = 0, count = 0, left = is_slave(me) ? each : 0;
  gasnet_node_t slave;
  for (slave = me; is_master(me) && slave < slave_count(); slave += masters) wanted += each;
  while (left > 0 || count < wanted) {
    if (left > 0) {
      slave_round(made);
      left = each - made[0] - made[1] - made[2];
    }
    if (count < wanted) {
      long more = master_round(done);
      if (more == 0 && left == 0) GASNET_SAFE(gasnet_AMPoll());
      count += more;
    }
  }
  free(done);
}

static void options(int argc, char **argv) {
  int i, q;
  for (i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "-t") == 0) tasks = atol(argv[i + 1]);
    if (strcmp(argv[i], "-b") == 0) bytes = atol(argv[i + 1]);
    if (strcmp(argv[i], "-q") == 0 && sscanf(argv[i + 1], "%ld,%ld,%ld", &queue_node[0], &queue_node[1], &queue_node[2]) != QUEUES)
      queue_node[0] = (long)nodes; /* refused below */
  }
  for (q = 0; q < QUEUES; q++)
    if (queue_node[q] < 0) queue_node[q] = nodes == 1 ? 0 : (long)masters;
  for (q = 0; q < QUEUES; q++)
    if (tasks < 1 || bytes < 1 || queue_node[q] >= (long)nodes) {
      if (me == 0) fprintf(stderr, "usage: scheduler [-q A,B,C (three nodes of this job)] [-t TASKS] [-b BYTES]\n");
      gasnet_exit(2);
    }
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{H_TASK, (void (*)())task_h}, {H_TIMES, (void (*)())times_h}};
  gasnett_tick_t start;
  double report[3];
  core_init(&argc, &argv, "scheduler");
  masters = nodes == 1 ? 1 : nodes / 2;
  options(argc, argv);
  told = (volatile long *)calloc((size_t)slave_count() * QUEUES, sizeof *told);
  core_attach(table, 2, (size_t)(slave_count() * tasks * bytes));
  test_begin("scheduler");
  start = gasnett_ticks_now();
  work();
  report[0] = sums[0], report[1] = sums[1], report[2] = since(start);
  GASNET_SAFE(gasnet_AMRequestMedium0(0, H_TIMES, report, sizeof report));
  if (me == 0) {
    GASNET_BLOCKUNTIL(reports == (int)nodes);
    printf("queues at %ld,%ld,%ld: puts %.6f ms, gets %.6f ms, remote %.6f ms, all %.6f ms\n", queue_node[0], queue_node[1],
           queue_node[2], total[0] * 1e3, total[1] * 1e3, (total[0] + total[1]) * 1e3, longest * 1e3);
    fflush(stdout);
  }
  test_end();
  return 0;
}
