/* Flags that one side sets and the other clears, on two hosts: each time the same plain store. Nodes 4, 12 are on the first host, 8, 16 on the second. */
#include "test.h"

enum { NODES = 4, BYTES = 16384, PART = 512 }; /* the data begin PART ints behind the flag, and are as many */

static int laps = 1000;

static _Atomic int *words;

/* Waits until the flag has this value: a program would wait for ever if a store were lost. */
static void until(volatile int *flag, int value, int lap) {
  double begin = now();
  while (*flag != value) {
    sched_yield();
    if (now() - begin > 60e6) FAIL("lap %d: %d instead of %d for a minute", lap, *flag, value);
  }
}

struct side {
  sci_desc_t sd;
  sci_local_segment_t segment;
  sci_remote_segment_t peer;
  volatile int *in, *out;
};

/* A segment here, and a map of that of node `to`. */
static struct side joined_with(unsigned to, int first) {
  struct side s;
  sci_map_t map;
  s.sd = opened();
  s.segment = offered(s.sd, 1, BYTES, 0);
  s.in = (volatile int *)SCIMapLocalSegment(s.segment, &map, 0, 0, NULL, 0, &e);
  s.peer = connected(s.sd, to, 1, 0);
  s.out = (volatile int *)SCIMapRemoteSegment(s.peer, &map, 0, 0, NULL, 0, &e);
  CHECK(s.in != NULL && s.out != NULL);
  meet(words, first);
  return s;
}

/* A token goes round. The node that has it clears its own flag and sets that of the next node. In a ring of four the news that a flag is clear go straight to
 * the node that set the flag, the token the long way round. */
struct ring {
  int me, count, flushes;
};

static void in_ring(void *arg) {
  struct ring *r = arg;
  struct side s = joined_with((unsigned)(r->me + 1) % (unsigned)r->count * 4 + 4, r->count);
  int lap, count = r->flushes ? laps : laps / 10;
  for (lap = 0; lap < count; lap++) {
    if (r->me > 0 || lap > 0) {
      until(s.in, 1, lap);
      s.in[0] = 0;
    }
    s.out[0] = 1;
    if (r->flushes) SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
  }
  if (r->me == 0) until(s.in, 1, lap);
  meet(words, r->count);
  SCITerminate();
}

static void ring(int count, int flushes) {
  pid_t all[NODES];
  struct ring r[NODES];
  int i;
  for (i = 0; i < count; i++) {
    r[i] = (struct ring){i, count, flushes};
    all[i] = node((unsigned)i * 4 + 4, in_ring, &r[i]);
  }
  for (i = 0; i < count; i++) joined(all[i]);
  printf("ring of %d%s: passed\n", count, flushes ? "" : " without a flush");
}

/* The answer that a message is taken comes in other ways: by an interrupt, with or without data, by a copy, by what a load or a read of the peer's
 * segment shows. */
enum { INTERRUPT, DATA, COPY, LOAD, READ, WAYS };

static void takes(void *arg) {
  struct side s = joined_with(4, 2);
  sci_remote_interrupt_t i;
  sci_remote_data_interrupt_t d;
  sci_map_t map;
  int way, lap, k, answer;
  (void)arg;
  CHECK(SCIMapRemoteSegment(s.peer, &map, 0, 0, NULL, 0, &e) != NULL);
  EXPECT(OK, SCIConnectInterrupt(s.sd, &i, 4, 0, 1, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCIConnectDataInterrupt(s.sd, &d, 4, 0, 1, SCI_INFINITE_TIMEOUT, 0, &e));
  for (way = 0; way < WAYS; way++) {
    for (lap = 1; lap <= laps / 2; lap++) {
      until(s.in, 1, lap);
      for (k = 0; k < PART && way != LOAD; k++) { /* what it works on it changes in place */
        if (s.in[PART + k] != k + 1) FAIL("way %d, lap %d: %d at %d", way, lap, s.in[PART + k], k);
        s.in[PART + k] = -k;
      }
      s.in[0] = 0;
      answer = lap;
      switch (way) {
        case INTERRUPT: EXPECT(OK, SCITriggerInterrupt(i, 0, &e)); break;
        case DATA: EXPECT(OK, SCITriggerDataInterrupt(d, &answer, sizeof answer, 0, &e)); break;
        case COPY: EXPECT(OK, SCIMemCpy(NULL, &answer, map, 0, sizeof answer, 0, &e)); break;
        case READ: s.in[PART * 3] = lap; break;
        default: break; /* LOAD: the giver loads the cleared flag */
      }
    }
  }
  meet(words, 2);
  SCITerminate();
}

static void gives(void *arg) {
  struct side s;
  sci_local_interrupt_t i;
  sci_local_data_interrupt_t d;
  sci_map_t map;
  unsigned no = 1, length;
  int way, lap, k, answer;
  {
    sci_desc_t sd = opened();
    EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
    EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  }
  (void)arg;
  s = joined_with(8, 2);
  CHECK(SCIMapRemoteSegment(s.peer, &map, 0, 0, NULL, 0, &e) != NULL);
  for (way = 0; way < WAYS; way++) {
    s.in[0] = 0;
    for (lap = 1; lap <= laps / 2; lap++) {
      for (k = 0; k < PART && way != LOAD; k++) s.out[PART + k] = k + 1; /* loads show changes in any order */
      SCIFlush(NULL, 0);
      s.out[0] = 1;
      SCIFlush(NULL, FLUSH_CPU_BUFFERS_ONLY);
      answer = 0, length = sizeof answer;
      switch (way) {
        case INTERRUPT: EXPECT(OK, SCIWaitForInterrupt(i, SCI_INFINITE_TIMEOUT, 0, &e)); break;
        case DATA: EXPECT(OK, SCIWaitForDataInterrupt(d, &answer, &length, SCI_INFINITE_TIMEOUT, 0, &e)); CHECK(answer == lap); break;
        case COPY: until(s.in, lap, lap); break;
        case READ:
          while (answer != lap) EXPECT(OK, SCIMemCpy(NULL, &answer, map, PART * 3 * sizeof(int), sizeof answer, SCI_FLAG_BLOCK_READ, &e));
          break;
        default: until(s.out, 0, lap);
      }
    }
  }
  meet(words, 2);
  SCITerminate();
}

/* Both store, change what the other one stores to, flush, and read, at the same time and in several threads: neither waits for the other. */
enum { READERS = 2 };

struct crossed {
  struct side s;
  sci_map_t map;
  _Atomic int is_over, number;
};

static void *reads(void *arg) {
  struct crossed *c = arg;
  int word = c->number++ * 16, lap, answer = 0; /* a line of its own */
  for (lap = 1; lap <= laps; lap++) {
    double begin = now();
    sci_error_t error = SCI_ERR_OK;
    c->s.out[word] = lap;
    SCIMemCpy(NULL, &answer, c->map, (size_t)word * sizeof(int), sizeof answer, SCI_FLAG_BLOCK_READ, &error);
    if (error != SCI_ERR_OK) FAIL("lap %d: 0x%x", lap, (unsigned)error);
    if (now() - begin > 15e6) FAIL("lap %d: both stood", lap); /* until SISCI_LINK_TIMEOUT */
    if (answer != lap) FAIL("lap %d: %d", lap, answer);        /* it has come before the read */
  }
  return NULL;
}

static void *changes(void *arg) {
  struct crossed *c = arg;
  int k, lap;
  for (lap = 1; !c->is_over; lap++) {
    for (k = 1; k < 16 * READERS; k++)
      if (k % 16 != 0) c->s.in[k] = lap;
    sched_yield();
  }
  return NULL;
}

static void *flushes(void *arg) {
  struct crossed *c = arg;
  int lap;
  for (lap = 1; !c->is_over; lap++) {
    c->s.out[PART + lap % PART] = lap;
    SCIFlush(NULL, lap % 2 == 0 ? FLUSH_CPU_BUFFERS_ONLY : 0);
  }
  return NULL;
}

static void crosswise(void *arg) {
  struct crossed c = {joined_with(*(unsigned *)arg, 2), NULL, 0, 0};
  pthread_t readers[READERS], others[2];
  int i;
  CHECK(SCIMapRemoteSegment(c.s.peer, &c.map, 0, 0, NULL, 0, &e) != NULL);
  CHECK(pthread_create(&others[0], NULL, changes, &c) == 0 && pthread_create(&others[1], NULL, flushes, &c) == 0);
  for (i = 0; i < READERS; i++) {
    CHECK(pthread_create(&readers[i], NULL, reads, &c) == 0);
    while (c.number <= i) sched_yield();
  }
  for (i = 0; i < READERS; i++) CHECK(pthread_join(readers[i], NULL) == 0);
  c.is_over = 1;
  for (i = 0; i < 2; i++) CHECK(pthread_join(others[i], NULL) == 0);
  meet(words, 2);
  SCITerminate();
}

static void crossing(void) {
  unsigned to[] = {8, 4};
  pid_t a = node(4, crosswise, &to[0]), b = node(8, crosswise, &to[1]);
  joined(a), joined(b);
  puts("crosswise: passed");
}

static void answers(void) {
  pid_t a = node(4, gives, NULL), b = node(8, takes, NULL);
  joined(a), joined(b);
  puts("answers: passed");
}

/* With a number: a long run, of so many laps, of the first ring alone. With "timed": all of it with the times of cards. */
int main(int argc, char **argv) {
  words = shared_words();
  two_hosts();
  if (argc > 1 && strcmp(argv[1], "timed") == 0) {
    setenv("SISCI_TIMING", "d339", 1);
  } else if (argc > 1) {
    laps = atoi(argv[1]);
    ring(2, 1);
    return 0;
  }
  ring(2, 1);
  ring(2, 0);
  ring(4, 1);
  crossing();
  answers();
  return 0;
}
