/* State that a process has before gasnet_init, and changes to itself before attach (contract: core.md §6.1, §7).
 *
 *   testinherit            all of the following but streams and late, as far as one environment can show them
 *   testinherit alarm      a timer that was started before init rings in every node, and in no other process
 *   testinherit close      the client closes descriptors from 3 on between init and attach, and reuses their numbers
 *   testinherit dump       no memory of other nodes goes into a core dump (Linux)
 *   testinherit getenv     gasnet_getenv is the same on all nodes though their environments differ, and stays so
 *   testinherit late       the same after attach, before any node has sent another anything; not one of all
 *   testinherit slice      nodes have the time slices that GASNET_SCI_SLICE asks for (Linux 6.12)
 *   testinherit streams    descriptors 0 to 2 are closed before init; the status alone tells the result */
#include "../test.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { H_BYTES = 200, SEGMENT = 4 * GASNET_PAGESIZE, FILES = 300 };

static volatile sig_atomic_t rang;
static volatile int arrived;
static char others[256];

static void ring(int sig) { (void)sig, rang = 1; }

static void bytes(gasnet_token_t token, void *buf, size_t n) {
  (void)token;
  memcpy(others, buf, n < sizeof others ? n : sizeof others);
  arrived++;
}

static int wants(const char *argument, const char *name) { return !argument || strcmp(argument, name) == 0; }

/* ---- alarm ------------------------------------------------------------------------------------------------------- */

static void check_alarm(void) {
  double limit = test_now() + 20;
  while (!rang && test_now() < limit) gasnet_AMPoll();
  CHECK(rang, "the timer of before init has not rung");
}

/* ---- close: between init and attach ------------------------------------------------------------------------------ */

static int own[FILES], files;

static void close_everything(void) {
  char name[] = "testinherit.XXXXXX", directory[PATH_MAX];
  const char *tmp = getenv("TMPDIR");
  int fd, first;
  snprintf(directory, sizeof directory, "%s/%s", tmp ? tmp : "/tmp", name);
  for (fd = 3; fd < 4096; fd++) close(fd);
  first = mkstemp(directory);
  CHECK(first >= 3, "no temporary file %s", directory);
  unlink(directory);
  CHECK(write(first, "mine", 4) == 4, "writing the client's own file");
  for (files = 0; files < FILES && (fd = dup(first)) >= 0; files++) own[files] = fd;
}

static void check_own_file(void) {
  struct stat status;
  char text[5] = "";
  int i;
  if (!CHECK(fstat(own[0], &status) == 0, "the client's file is gone")) return;
  CHECK(status.st_size == 4, "the client's file is %ld bytes long", (long)status.st_size);
  CHECK(pread(own[0], text, 4, 0) == 4 && strcmp(text, "mine") == 0, "the client's file holds '%s'", text);
  for (i = 0; i < files; i++) CHECK(fcntl(own[i], F_GETFD) >= 0, "descriptor %d of the client is closed", own[i]);
  for (i = 0; i < files; i++) close(own[i]);
}

/* First contact of all with all. */
static void check_everyone(void) {
  gasnet_node_t i;
  for (i = 0; i < gasnet_nodes(); i++) GASNET_SAFE(gasnet_AMRequestMedium0(i, H_BYTES, (void *)"to all", 7));
  GASNET_BLOCKUNTIL(arrived == (int)gasnet_nodes());
  CHECK(strcmp(others, "to all") == 0, "what arrived is '%s'", others);
}

/* ---- dump: of the mappings of the job's memory none but the small header may be dumped --------------------------- */

static void check_dump(void) {
#ifdef __linux__
  FILE *maps = fopen("/proc/self/smaps", "r");
  char line[4096];
  unsigned long from = 0, to = 0, a, b, checked = 0;
  int ours = 0;
  if (!maps) return;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' '))
      from = a, to = b, ours = strstr(line, "memfd:gasnet-sci-job") != NULL;
    else if (ours && strncmp(line, "VmFlags:", 8) == 0 && to - from >= SEGMENT && strstr(line, " sh ")) {
      checked++;
      /* Header and fabric are small, and worth having in a dump. */
      if (to - from > (1u << 20)) CHECK(strstr(line, " dd") != NULL, "%lu bytes at %lx would be dumped", to - from, from);
    }
  }
  fclose(maps);
  CHECK(checked > 0, "no mapping of the job's memory was found");
#endif
}

/* ---- getenv ------------------------------------------------------------------------------------------------------ */

static void check_getenv(void) {
  const char *name = "GASNET_TESTINHERIT", *value = gasnet_getenv(name);
  gasnet_node_t i, me = gasnet_mynode();
  char mine[256], kept[256];
  if (!CHECK(value != NULL, "%s was set before init and is unset", name)) return;
  snprintf(mine, sizeof mine, "%s", value);
  for (i = 0; i < gasnet_nodes(); i++)
    if (me == 0) GASNET_SAFE(gasnet_AMRequestMedium0(i, H_BYTES, mine, strlen(mine) + 1));
  GASNET_BLOCKUNTIL(arrived);
  CHECK(strcmp(others, mine) == 0, "%s is %s here and %s on node 0", name, mine, others);
  snprintf(kept, sizeof kept, "%s", value);
  setenv(name, "changed later, by this node alone", 1);
  CHECK(gasnet_getenv(name) == value && strcmp(value, kept) == 0, "a value has changed to %s", gasnet_getenv(name));
  setenv("GASNET_TESTINHERIT_NEW", "new", 1);
  CHECK(gasnet_getenv("GASNET_TESTINHERIT_UNSET") == NULL, "an unset variable has a value");
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void TEST_UNUSED check_transfers(const gasnet_seginfo_t *segments) {
  gasnet_node_t right = (gasnet_mynode() + 1) % gasnet_nodes();
  long here = 0, value = 1000 + (long)gasnet_mynode();
  char *target = segments[right].addr;
  gasnet_put(right, target, &value, sizeof value);
  gasnet_get(&here, right, target, sizeof here);
  CHECK(here == value, "%ld came back for %ld", here, value);
  test_barrier();
}

/* ---- slice ------------------------------------------------------------------------------------------------------- */

/* The calling thread's time slice in nanoseconds, 0 if the kernel does not say, and whether it is one of the normal policy. */
static unsigned long long slice(int *is_normal) {
  unsigned long long attributes[6] = {0};
  unsigned head[2];
  if (syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0) != 0) return 0;
  memcpy(head, attributes, sizeof head);
  *is_normal = head[1] == 0;
  return attributes[3];
}

static void check_slice(unsigned long long before) {
  const char *wish = gasnet_getenv("GASNET_SCI_SLICE");
  unsigned long long wanted = wish ? strtoull(wish, NULL, 10) * 1000 : 100000, now;
  int is_normal = 0;
  now = slice(&is_normal);
  if (before == 0 || !is_normal || wanted == 0) wanted = before;
  CHECK(now == wanted, "a time slice of %llu ns, not %llu; before init %llu", now, wanted, before);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_BYTES, bytes}};
  gasnet_seginfo_t *segments;
  const char *what = argc > 1 ? argv[1] : NULL;
  int streams = what && strcmp(what, "streams") == 0, late = what && strcmp(what, "late") == 0, fd;
  char value[64];
  int is_normal = 0;
  unsigned long long slice_before = slice(&is_normal);

  snprintf(value, sizeof value, "set by process %ld", (long)getpid());
  setenv("GASNET_TESTINHERIT", value, 1);
  if (wants(what, "alarm")) {
    signal(SIGALRM, ring);
    alarm(1);
  }
  for (fd = 0; streams && fd < 3; fd++) close(fd);
  GASNET_SAFE(gasnet_init(&argc, &argv));
  if (wants(what, "close")) close_everything();
  GASNET_SAFE(gasnet_attach(table, 1, SEGMENT, 0));
  segments = malloc(gasnet_nodes() * sizeof *segments);
  if (!segments) gasnet_exit(99);
  GASNET_SAFE(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
  if (late) close_everything();
  test_begin("testinherit");
  if (late) check_everyone();
#ifndef GASNET_SEGMENT_EVERYTHING
  check_transfers(segments);
#endif
  if (wants(what, "close") || late) check_own_file();
  if (wants(what, "dump")) check_dump();
  if (wants(what, "getenv")) check_getenv();
  if (wants(what, "slice")) check_slice(slice_before);
  if (wants(what, "alarm")) check_alarm();
  signal(SIGALRM, SIG_DFL);
  alarm(120);
  free(segments);
  test_end();
  return 0;
}
