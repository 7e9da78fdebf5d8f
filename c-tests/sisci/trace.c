/* What SISCI_TRACE writes: a whole line for each call, also of several processes and threads. */
#include "test.h"

static char path[256];

/* The calls whose lines are known. */
static void calls(void *arg) {
  sci_desc_t sd;
  sci_remote_segment_t r;
  sci_local_interrupt_t i;
  sci_map_t map;
  sci_sequence_t q;
  unsigned no = 7, node;
  (void)arg;
  EXPECT(NOT_INITIALIZED, SCIOpen(&sd, 0, &e));
  EXPECT(OK, SCIInitialize(0, &e));
  EXPECT(OK, SCIOpen(&sd, 0, &e));
  EXPECT(OK, SCIGetLocalNodeId(0, &node, 0, &e));
  offered(sd, 1234, 4096, 0);
  EXPECT(NO_SUCH_SEGMENT, SCIConnectSegment(sd, &r, 4, 1235, 0, NULL, NULL, 0, 0, &e));
  r = connected(sd, 4, 1234, 0);
  CHECK(SCIMapRemoteSegment(r, &map, 0, 64, NULL, 0, &e) != NULL);
  EXPECT(OK, SCICreateMapSequence(map, &q, 0, &e));
  CHECK(SCICheckSequence(q, 0, &e) == SCI_SEQ_OK);
  SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
  CHECK(SCIGetRemoteSegmentSize(r) == 4096);
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(SEGMENTID_USED, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(TIMEOUT, SCIWaitForInterrupt(i, 20, 0, &e));
  SCITerminate();
}

/* In this order; @ stands for digits. */
static const char *const expected[] = {
    "SCIOpen(0x@, 0) = SCI_ERR_NOT_INITIALIZED",
    "SCIInitialize(0) = SCI_ERR_OK",
    "SCIOpen([0x@], 0) = SCI_ERR_OK",
    "SCIGetLocalNodeId(0, [4], 0) = SCI_ERR_OK",
    "SCICreateSegment(0x@, [0x@], 1234, 4096, NULL, NULL, 0) = SCI_ERR_OK",
    "SCIPrepareSegment(0x@, 0, 0) = SCI_ERR_OK",
    "SCISetSegmentAvailable(0x@, 0, 0) = SCI_ERR_OK",
    "SCIConnectSegment(0x@, 0x@, 4, 1235, 0, NULL, NULL, 0, 0) = SCI_ERR_NO_SUCH_SEGMENT",
    "SCIConnectSegment(0x@, [0x@], 4, 1234, 0, NULL, NULL, 4294967295, 0) = SCI_ERR_OK",
    "SCIMapRemoteSegment(0x@, [0x@], 0, 64, NULL, 0) = 0x@ SCI_ERR_OK",
    "SCICreateMapSequence(0x@, [0x@], 0) = SCI_ERR_OK",
    "SCICheckSequence(0x@, 0) = SCI_SEQ_OK SCI_ERR_OK",
    "SCIFlush(0, 0x1) =",
    "SCIGetRemoteSegmentSize(0x@) = 4096",
    "SCICreateInterrupt(0x@, [0x@], 0, [7], NULL, NULL, 0x2) = SCI_ERR_OK",
    "SCICreateInterrupt(0x@, 0x@, 0, [7], NULL, NULL, 0x2) = SCI_ERR_SEGMENTID_USED",
    "SCIWaitForInterrupt(0x@, 20, 0) = SCI_ERR_TIMEOUT",
    "SCITerminate() =",
};

/* Whether a text is so; @ stands for hexadecimal digits. */
static int is_so(const char *text, const char *pattern) {
  for (; *pattern != 0; pattern++) {
    if (*pattern == '@') {
      size_t n = strspn(text, "0123456789abcdef");
      if (n == 0) return 0;
      text += n;
    } else if (*text++ != *pattern) {
      return 0;
    }
  }
  return *text == 0;
}

/* Takes a line apart: its call, without what stands before and behind. */
static char *call_of(char *line, int *pid, int *tid, double *took) {
  long seconds;
  int part = 0;
  char *end;
  if (sscanf(line, "%ld.%*9d %d/%d %n", &seconds, pid, tid, &part) != 3 || part == 0 || seconds < 1600000000) FAIL("no beginning: %s", line);
  end = strrchr(line, '<');
  if (end == NULL || sscanf(end, "<%lf>", took) != 1 || strcmp(strchr(end, '>'), ">\n") != 0) FAIL("no end: %s", line);
  end[-1] = 0;
  return line + part;
}

static void known_lines(pid_t pid) {
  FILE *f = fopen(path, "r");
  char line[512];
  size_t n = 0;
  CHECK(f != NULL);
  while (fgets(line, sizeof line, f) != NULL) {
    int process, thread;
    double took;
    char *call = call_of(line, &process, &thread, &took);
    if (n == sizeof expected / sizeof *expected || !is_so(call, expected[n])) FAIL("line %zu: %s", n, call);
    CHECK(process == pid && thread == pid);
    if (strstr(call, "TIMEOUT") != NULL) CHECK(took >= 0.020);
    n++;
  }
  CHECK(n == sizeof expected / sizeof *expected);
  fclose(f);
}

enum { PROCESSES = 4, THREADS = 4, CALLS = 500 };

static void *many_calls(void *arg) {
  unsigned node;
  int k;
  sci_error_t error;
  (void)arg;
  for (k = 0; k < CALLS; k++) SCIGetLocalNodeId(0, &node, 0, &error);
  return NULL;
}

static void busy(void *arg) {
  pthread_t threads[THREADS];
  int k;
  (void)arg;
  EXPECT(OK, SCIInitialize(0, &e));
  for (k = 0; k < THREADS; k++) CHECK(pthread_create(threads + k, NULL, many_calls, NULL) == 0);
  for (k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  SCITerminate();
}

/* The process's number stands in the file's name. */
static void own_file(void *arg) {
  char name[300];
  (void)arg;
  SCIInitialize(0, &e);
  SCITerminate();
  snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
  CHECK(access(name, R_OK) == 0 && unlink(name) == 0);
}

static void none(void *arg) {
  (void)arg;
  CHECK(freopen("/dev/null", "w", stderr) != NULL);
  SCIInitialize(0, &e);
  _exit(e == SCI_ERR_SYSTEM ? 0 : 1);
}

int main(void) {
  char line[512], name[300];
  pid_t pid, all[PROCESSES];
  size_t n = 0, k;
  FILE *f;
  snprintf(path, sizeof path, "%s/sisci-trace-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
  CHECK(mkstemp(path) >= 0);
  setenv("SISCI_TRACE", path, 1);
  joined(pid = node(4, calls, NULL));
  known_lines(pid);
  CHECK(truncate(path, 0) == 0);
  for (k = 0; k < PROCESSES; k++) all[k] = node(4, busy, NULL);
  for (k = 0; k < PROCESSES; k++) joined(all[k]);
  f = fopen(path, "r");
  CHECK(f != NULL);
  while (fgets(line, sizeof line, f) != NULL) {
    int process, thread;
    double took;
    char *call = call_of(line, &process, &thread, &took);
    n += is_so(call, "SCIGetLocalNodeId(0, [4], 0) = SCI_ERR_OK");
  }
  CHECK(n == PROCESSES * THREADS * CALLS);
  fclose(f);
  unlink(path);
  snprintf(name, sizeof name, "%s.%%p", path);
  setenv("SISCI_TRACE", name, 1);
  joined(node(4, own_file, NULL));
  setenv("SISCI_TRACE", "/nowhere/trace", 1);
  joined(node(4, none, NULL));
  return 0;
}
