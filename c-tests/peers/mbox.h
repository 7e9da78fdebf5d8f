/* Shared by the mbox programs of ci/bench-deck, which move messages between two processes by different libraries. Like peers.h, on
 * which it is built, it uses no library.
 *
 * A message carries its number in its first 8 bytes, if it has so many, and whoever takes it looks at that. */
#ifndef GASNET_SCI_MBOX_H
#define GASNET_SCI_MBOX_H

#include "peers.h"

/* What goes one way in half a round trip. */
static const size_t mbox_short[] PEERS_UNUSED = {8, 16, 24, 32, 40, 48, 52, 0};
static const size_t mbox_long[] PEERS_UNUSED = {65536, 262144, 1048576, LARGEST, 0};

/* The numbers of a flow of messages, at its sender and at its receiver. */
typedef struct {
  uint64_t sent, taken;
} mbox_flow_t;

static void PEERS_UNUSED mbox_number(mbox_flow_t *flow, void *at, size_t bytes) {
  uint64_t number = flow->sent++;
  if (bytes >= sizeof number) memcpy(at, &number, sizeof number);
}

static void PEERS_UNUSED mbox_follows(const char *what, mbox_flow_t *flow, const void *at, size_t bytes, size_t wanted) {
  uint64_t number = flow->taken;
  if (bytes >= sizeof number) memcpy(&number, at, sizeof number);
  if (bytes == wanted && number == flow->taken++) return;
  fprintf(stderr, "%s: node %d: %s: %lu bytes, wanted %lu; number %lu, wanted %lu\n", peers_program, me, what,
          (unsigned long)bytes, (unsigned long)wanted, (unsigned long)number, (unsigned long)(flow->taken - 1));
  give_up();
}

/* Reads every byte. What it returns keeps the compiler from leaving that out. */
static uint64_t PEERS_UNUSED mbox_read(const void *at, size_t bytes) {
  const uint64_t *words = (const uint64_t *)at;
  uint64_t sum[8] = {0};
  size_t i, k;
  for (i = 0; i + 8 <= bytes / 8; i += 8)
    for (k = 0; k < 8; k++) sum[k] += words[i + k];
  for (k = 1; k < 8; k++) sum[0] += sum[k];
  return sum[0];
}
static volatile uint64_t mbox_sum PEERS_UNUSED; /* what was read last */

/* Many to one: how many messages of each sender the receiver had when it had all of one. That one was busy until then, and so were
 * the others. */
enum { MBOX_SENDERS = 4 };

typedef struct {
  mbox_flow_t flow[MBOX_SENDERS + 1]; /* by node; the receiver is node 0 */
  long had[MBOX_SENDERS + 1], all;
  double least; /* share of the sender that had least, to its fair share */
} mbox_senders_t;

static void PEERS_UNUSED mbox_begin(mbox_senders_t *s) {
  memset(s->had, 0, sizeof s->had);
  s->all = 0;
  s->least = 0;
}

/* A message of `from`, who sends `count`. */
static void PEERS_UNUSED mbox_came(mbox_senders_t *s, int from, const void *at, size_t bytes, size_t wanted, long count) {
  long least;
  int k;
  if (from < 1 || from > MBOX_SENDERS) fprintf(stderr, "%s: a message of node %d\n", peers_program, from), give_up();
  mbox_follows("many to one", &s->flow[from], at, bytes, wanted);
  s->all++;
  if (++s->had[from] < count || s->least > 0) return;
  for (k = 1, least = s->had[1]; k <= MBOX_SENDERS; k++) least = s->had[k] < least ? s->had[k] : least;
  s->least = (double)least * MBOX_SENDERS / (double)s->all;
}

static int mbox_by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts them. */
static double PEERS_UNUSED mbox_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, mbox_by_size);
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

#endif
