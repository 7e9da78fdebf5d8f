/* Odd lives of programs: threads that are cancelled while they wait, handlers of signals that tidy up while the program waits, callbacks that end
 * the program. */
#include "test.h"

#include <sys/syscall.h>

enum { INTERRUPT, DATA_INTERRUPT, LOCAL_EVENT, REMOTE_EVENT, WAITS };

static sci_desc_t sd;
static sci_local_segment_t segment;
static sci_remote_segment_t remote;
static sci_map_t map;
static sci_local_interrupt_t interrupt;
static sci_local_data_interrupt_t data_interrupt;
static unsigned number = 7;

static void made(void) {
  unsigned from, adapter;
  sd = opened();
  segment = offered(sd, 1, 8192, 0);
  EXPECT(OK, SCIMapLocalSegment(segment, &map, 0, 8192, NULL, 0, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &interrupt, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCICreateDataInterrupt(sd, &data_interrupt, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  remote = connected(sd, 4, 1, 0);
  SCIWaitForLocalSegmentEvent(segment, &from, &adapter, SCI_INFINITE_TIMEOUT, 0, &e);
  CHECK(e == SCI_ERR_OK && from == 4);
}

static void removed(void) {
  EXPECT(OK, SCIRemoveInterrupt(interrupt, 0, &e));
  EXPECT(OK, SCIRemoveDataInterrupt(data_interrupt, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(remote, 0, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  EXPECT(OK, SCIRemoveSegment(segment, 0, &e));
  EXPECT(OK, SCIClose(sd, 0, &e));
  SCITerminate();
}

/* Waits for ever. */
static void wait_for(int what) {
  sci_error_t error, status;
  char bytes[8];
  unsigned length = sizeof bytes, from, adapter;
  switch (what) {
    case INTERRUPT: SCIWaitForInterrupt(interrupt, SCI_INFINITE_TIMEOUT, 0, &error); break;
    case DATA_INTERRUPT: SCIWaitForDataInterrupt(data_interrupt, bytes, &length, SCI_INFINITE_TIMEOUT, 0, &error); break;
    case LOCAL_EVENT: SCIWaitForLocalSegmentEvent(segment, &from, &adapter, SCI_INFINITE_TIMEOUT, 0, &error); break;
    default: SCIWaitForRemoteSegmentEvent(remote, &status, SCI_INFINITE_TIMEOUT, 0, &error);
  }
  FAIL("wait %d ended: 0x%x", what, (unsigned)error);
}

/* The thread `tid` of process `pid` sleeps. */
static void asleep(int pid, int tid) {
  char path[64], text[256], *state;
  do {
    FILE *f;
    sched_yield();
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    CHECK((f = fopen(path, "r")) != NULL && fgets(text, sizeof text, f) != NULL);
    fclose(f);
    state = strrchr(text, ')');
  } while (state == NULL || state[2] != 'S');
}

static _Atomic int waiting[WAITS];

static void *waiter(void *arg) {
  int what = (int)(intptr_t)arg, before;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  atomic_store(&waiting[what], (int)syscall(SYS_gettid));
  wait_for(what);
  return NULL;
}

/* Watchdogs of message libraries wait in threads that they cancel. What such a thread waited for works on, and can be removed. */
static void cancelled(void) {
  pthread_t threads[WAITS];
  sci_remote_interrupt_t trigger;
  sci_remote_data_interrupt_t data_trigger;
  char bytes[8];
  unsigned length = sizeof bytes, from, adapter;
  int what;
  made();
  for (what = 0; what < WAITS; what++) CHECK(pthread_create(&threads[what], NULL, waiter, (void *)(intptr_t)what) == 0);
  for (what = 0; what < WAITS; what++) {
    while (atomic_load(&waiting[what]) == 0) sched_yield();
    asleep((int)getpid(), atomic_load(&waiting[what]));
  }
  for (what = 0; what < WAITS; what++) {
    void *result;
    CHECK(pthread_cancel(threads[what]) == 0 && pthread_join(threads[what], &result) == 0 && result == PTHREAD_CANCELED);
  }
  EXPECT(OK, SCIConnectInterrupt(sd, &trigger, 4, 0, number, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(trigger, 0, &e));
  EXPECT(OK, SCIWaitForInterrupt(interrupt, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCIDisconnectInterrupt(trigger, 0, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &data_trigger, 4, 0, number, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerDataInterrupt(data_trigger, "seven", 5, 0, &e));
  EXPECT(OK, SCIWaitForDataInterrupt(data_interrupt, bytes, &length, SCI_INFINITE_TIMEOUT, 0, &e));
  CHECK(length == 5);
  EXPECT(OK, SCIDisconnectDataInterrupt(data_trigger, 0, &e));
  EXPECT(OK, SCIDisconnectSegment(remote, 0, &e));
  CHECK(SCIWaitForLocalSegmentEvent(segment, &from, &adapter, SCI_INFINITE_TIMEOUT, 0, &e) == SCI_CB_DISCONNECT && from == 4);
  remote = connected(sd, 4, 1, 0);
  removed();
}

/* As demonstration programs end. */
static void tidy_up(int signal) {
  (void)signal;
  removed();
  _exit(0);
}

static void interrupted(void *what) {
  made();
  signal(SIGINT, tidy_up);
  atomic_store((_Atomic int *)what, 1);
  wait_for(atomic_load((_Atomic int *)what + 1));
}

static sci_callback_action_t ends(void *arg, sci_local_interrupt_t local, sci_error_t status) {
  (void)local, (void)status;
  SCITerminate();
  if (arg != NULL) exit(0);
  _exit(0);
}

/* A callback of an interrupt, called after a trigger of the program's own, ends it. */
static void ended_by_callback(void *arg) {
  sci_local_interrupt_t local;
  sci_remote_interrupt_t trigger;
  unsigned other = 8;
  made();
  EXPECT(OK, SCICreateInterrupt(sd, &local, 0, &other, ends, arg, SCI_FLAG_USE_CALLBACK | SCI_FLAG_FIXED_INTNO, &e));
  EXPECT(OK, SCIConnectInterrupt(sd, &trigger, 4, 0, other, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(trigger, 0, &e));
  for (;;) pause();
}

int main(void) {
  _Atomic int *words = shared_words();
  pid_t pid;
  int what;
  alarm(120);
  for (what = 0; what < WAITS; what++) {
    atomic_store(&words[0], 0);
    atomic_store(&words[1], what);
    pid = node(4, interrupted, words);
    while (atomic_load(&words[0]) == 0) sched_yield();
    asleep((int)pid, (int)pid);
    CHECK(kill(pid, SIGINT) == 0);
    joined(pid);
  }
  joined(node(4, ended_by_callback, NULL));
  joined(node(4, ended_by_callback, words));
  be(4);
  cancelled();
  puts("lives: passed");
  return 0;
}
