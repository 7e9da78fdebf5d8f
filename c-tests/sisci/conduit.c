/* A small message layer in the manner of those of 2004: each node has a command segment for each peer, with slots for requests and replies, a
 * control segment with a byte for each slot that says that a message is ready and one that says that there is any, and a payload segment
 * that DMA writes to. Barriers are by interrupts, and by segments of a moment that are never tidied up.
 *
 *   conduit          four nodes on one host: flags are bytes that the sender sets and the receiver clears
 *   conduit hosts    two on each of two hosts: flags are numbers that only the sender writes, as portable programs between hosts have them */
#include "test.h"

#define NODES 4
#define SLOTS 8
#define BYTES 1024                       /* of a slot */
#define COMMAND (2 * SLOTS * BYTES)      /* requests, then replies */
#define PAYLOAD (256 << 10)
#define ROUNDS 300
#define STAGE 16384

enum { SHORT = 1, MEDIUM, LONG };

struct message { unsigned kind, handler, length, argument; };

/* The flags of a sender in the control segment, apart from those of others. */
struct flags { volatile unsigned char ready[2 * SLOTS]; volatile unsigned number[2 * SLOTS]; };
struct control { struct flags of[NODES]; volatile unsigned char exists; };

static unsigned me, is_far;
static sci_local_segment_t command_segment[NODES], control_segment, payload_segment, stage_segment;
static sci_remote_segment_t command_remote[NODES], control_remote[NODES], payload_remote[NODES];
static sci_map_t command_map[NODES];
static sci_sequence_t sequence[NODES];
static volatile char *command_in[NODES];  /* from that node */
static struct control *control_in;
static volatile char *command_out[NODES];
static volatile struct control *control_out[NODES];
static unsigned char *payload, *stage;
static sci_dma_queue_t queue;
static sci_local_interrupt_t bell;
static sci_remote_interrupt_t bells[NODES];
static unsigned seen[NODES][2 * SLOTS], sent[NODES][2 * SLOTS];
static unsigned char busy[NODES][SLOTS];
static unsigned requests_in, replies_in, sum_in;
static _Atomic int ends, is_leaving;

static unsigned sci(unsigned node) { return 4 * (node + 1); }

static sci_callback_action_t peer_ends(void *arg, sci_remote_segment_t segment, sci_segment_cb_reason_t reason, sci_error_t status) {
  (void)arg, (void)segment, (void)status;
  if (reason != SCI_CB_CONNECT) {
    atomic_fetch_add(&ends, 1);
    if (!atomic_load(&is_leaving)) FAIL("reason %d while nobody leaves", (int)reason);
  }
  return SCI_CALLBACK_CONTINUE;
}

/* One descriptor per segment, as was the habit. */
static sci_desc_t descriptor(void) {
  sci_desc_t sd;
  EXPECT(OK, SCIOpen(&sd, 0, &e));
  return sd;
}

static volatile void *reach(unsigned node, unsigned id, size_t size, sci_remote_segment_t *segment, sci_map_t *map) {
  sci_desc_t sd = descriptor();
  volatile void *at;
  do {
    SCIConnectSegment(sd, segment, sci(node), id, 0, peer_ends, NULL, SCI_INFINITE_TIMEOUT, SCI_FLAG_USE_CALLBACK, &e);
  } while (e != SCI_ERR_OK);
  at = SCIMapRemoteSegment(*segment, map, 0, size, NULL, 0, &e);
  if (e != SCI_ERR_OK) FAIL("map: 0x%x", (unsigned)e);
  return at;
}

static void *offer(unsigned id, size_t size, sci_local_segment_t *segment) {
  sci_map_t map;
  void *at;
  *segment = offered(descriptor(), id, size, 0);
  at = SCIMapLocalSegment(*segment, &map, 0, size, NULL, 0, &e);
  if (e != SCI_ERR_OK) FAIL("map: 0x%x", (unsigned)e);
  return at;
}

static void handle(unsigned from, unsigned slot, const struct message *m, const volatile unsigned char *body);

static void post(unsigned to, unsigned slot, const struct message *head, const void *body) {
  char bytes[BYTES];
  unsigned size = sizeof *head + (head->kind == MEDIUM ? head->length : 0);
  sci_sequence_status_t status;
  volatile struct control *there = control_out[to];
  memcpy(bytes, head, sizeof *head);
  if (head->kind == MEDIUM) memcpy(bytes + sizeof *head, body, head->length);
  size = (size + 3) & ~3u;
  do {
    EXPECT(OK, SCIMemCpy(sequence[to], bytes, command_map[to], slot * BYTES, size, 0, &e));
    status = SCICheckSequence(sequence[to], 0, &e);
  } while (status != SCI_SEQ_OK);
  sent[to][slot]++;
  if (is_far) there->of[me].number[slot] = sent[to][slot];
  else there->of[me].ready[slot] = 1;
  SCIStoreBarrier(sequence[to], 0);
  there->exists = 1;
  SCIFlush(NULL, SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY);
}

static void poll_once(void) {
  unsigned from, slot;
  if (!is_far) {
    if (!control_in->exists) return;
    control_in->exists = 0;
    atomic_thread_fence(memory_order_seq_cst);
  }
  for (from = 0; from < NODES; from++)
    for (slot = 0; slot < 2 * SLOTS; slot++) {
      struct flags *flags = &control_in->of[from];
      struct message head;
      if (is_far ? flags->number[slot] == seen[from][slot] : !flags->ready[slot]) continue;
      atomic_thread_fence(memory_order_acquire);
      flags->ready[slot] = 0;
      seen[from][slot]++;
      memcpy(&head, (char *)command_in[from] + slot * BYTES, sizeof head);
      handle(from, slot, &head, (volatile unsigned char *)command_in[from] + slot * BYTES + sizeof head);
    }
}

/* More nodes than processors spin here. */
static void idle(void) {
  poll_once();
  sched_yield();
}

static void request(unsigned to, const struct message *head, const void *body) {
  unsigned slot = 0;
  while (busy[to][slot]) {
    slot = (slot + 1) % SLOTS;
    if (slot == 0) idle();
  }
  busy[to][slot] = 1;
  post(to, slot, head, body);
}

/* A request is answered in the reply slot that belongs to its own; the reply makes both free. */
static void handle(unsigned from, unsigned slot, const struct message *m, const volatile unsigned char *body) {
  unsigned k;
  if (slot >= SLOTS) {
    CHECK(busy[from][slot - SLOTS]);
    busy[from][slot - SLOTS] = 0;
    CHECK(m->handler == 77);
    replies_in++;
    return;
  }
  CHECK(m->handler == 42);
  requests_in++;
  sum_in += m->argument;
  if (m->kind == MEDIUM)
    for (k = 0; k < m->length; k++) CHECK(body[k] == (unsigned char)(m->argument + k));
  if (m->kind == LONG)
    for (k = 0; k < m->length; k++) CHECK(payload[from * (PAYLOAD / NODES) + k] == (unsigned char)(m->argument * 3 + k));
  {
    struct message reply = {SHORT, 77, 0, 0};
    reply.argument = m->argument;
    post(from, slot + SLOTS, &reply, NULL);
  }
}

/* A put by DMA: enqueue, post, wait and reset in one call. */
static void put(unsigned to, unsigned argument, unsigned length) {
  struct message head = {LONG, 42, 0, 0};
  sci_dma_queue_state_t state;
  unsigned k;
  for (k = 0; k < length; k++) stage[k] = (unsigned char)(argument * 3 + k);
  state = SCIEnqueueDMATransfer(queue, stage_segment, payload_remote[to], 0, me * (PAYLOAD / NODES), length,
                                SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET, &e);
  if (e != SCI_ERR_OK || state != SCI_DMAQUEUE_IDLE) FAIL("DMA: 0x%x, state %d", (unsigned)e, (int)state);
  head.length = length, head.argument = argument;
  request(to, &head, NULL);
  while (busy[to][0] | busy[to][1] | busy[to][2] | busy[to][3] | busy[to][4] | busy[to][5] | busy[to][6] | busy[to][7]) idle();
}

/* Waits until the bell has rung once. Messages are answered meanwhile, which sets `e`. */
static void wait_for_bell(void) {
  sci_error_t rung;
  do {
    SCIWaitForInterrupt(bell, 1, 0, &rung);
    poll_once();
  } while (rung == SCI_ERR_TIMEOUT);
  CHECK(rung == SCI_ERR_OK);
}

/* Node 0 gathers, and lets go. Interrupts count, since nodes come at any time. */
static void bell_barrier(void) {
  unsigned k;
  if (me != 0) {
    EXPECT(OK, SCITriggerInterrupt(bells[0], 0, &e));
    wait_for_bell();
  } else {
    for (k = 1; k < NODES; k++) wait_for_bell();
    for (k = 1; k < NODES; k++) EXPECT(OK, SCITriggerInterrupt(bells[k], 0, &e));
  }
}

/* Each writes a byte to all. The segment is withdrawn by force; what is disconnected while mapped, and closed while in use, stays. */
static void segment_barrier(unsigned turn) {
  sci_desc_t own = descriptor(), to[NODES];
  sci_local_segment_t local;
  sci_remote_segment_t remote[NODES];
  sci_map_t map, maps[NODES];
  volatile unsigned char *mine, *there;
  unsigned k, id = 0x10000 * (me + 1) + 1000 + turn;
  local = offered(own, id, NODES, 0);
  mine = (volatile unsigned char *)SCIMapLocalSegment(local, &map, 0, NODES, NULL, 0, &e);
  for (k = 0; k < NODES; k++) {
    to[k] = descriptor();
    remote[k] = connected(to[k], sci(k), 0x10000 * (k + 1) + 1000 + turn, 0);
    there = (volatile unsigned char *)SCIMapRemoteSegment(remote[k], &maps[k], 0, NODES, NULL, 0, &e);
    CHECK(e == SCI_ERR_OK);
    there[me] = 1;
  }
  for (k = 0; k < NODES; k++)
    while (!mine[k]) sched_yield();
  EXPECT(OK, SCISetSegmentUnavailable(local, 0, SCI_FLAG_FORCE_DISCONNECT, &e));
  for (k = 0; k < NODES; k++) EXPECT(BUSY, SCIDisconnectSegment(remote[k], 0, &e));
  EXPECT(OK, SCIUnmapSegment(map, 0, &e));
  for (k = 0; k < NODES; k++) EXPECT(OK, SCIUnmapSegment(maps[k], 0, &e));
  EXPECT(BUSY, SCIClose(own, 0, &e));
  for (k = 0; k < NODES; k++) EXPECT(BUSY, SCIClose(to[k], 0, &e));
}

static void attach(void) {
  unsigned k, base = 0x10000 * (me + 1), number = 5;
  sci_query_adapter_t query;
  unsigned id = 0;
  EXPECT(OK, SCIInitialize(0, &e));
  query.subcommand = SCI_Q_ADAPTER_NODEID, query.localAdapterNo = 0, query.data = &id;
  EXPECT(OK, SCIQuery(SCI_Q_ADAPTER, &query, 0, &e));
  CHECK(id == sci(me));
  for (k = 0; k < NODES; k++) command_in[k] = (volatile char *)offer(base + k, COMMAND, &command_segment[k]);
  control_in = (struct control *)offer(base + NODES, sizeof *control_in, &control_segment);
  payload = (unsigned char *)offer(base + NODES + 1, PAYLOAD, &payload_segment);
  stage = (unsigned char *)offer(base + NODES + 2, STAGE, &stage_segment);
  EXPECT(OK, SCICreateDMAQueue(descriptor(), &queue, 0, 1, 0, &e));
  EXPECT(OK, SCICreateInterrupt(descriptor(), &bell, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT, &e));
  for (k = 0; k < NODES; k++) {
    sci_map_t map;
    command_out[k] = (volatile char *)reach(k, 0x10000 * (k + 1) + me, COMMAND, &command_remote[k], &command_map[k]);
    control_out[k] = (volatile struct control *)reach(k, 0x10000 * (k + 1) + NODES, sizeof *control_in, &control_remote[k], &map);
    EXPECT(OK, SCICreateMapSequence(command_map[k], &sequence[k], 0, &e));
    while (SCIStartSequence(sequence[k], 0, &e) != SCI_SEQ_OK) continue;
    payload_remote[k] = connected(descriptor(), sci(k), 0x10000 * (k + 1) + NODES + 1, 0);
    do SCIConnectInterrupt(descriptor(), &bells[k], sci(k), 0, 5, SCI_INFINITE_TIMEOUT, 0, &e); while (e != SCI_ERR_OK);
  }
}

static void run(void *arg) {
  unsigned k, to, expected = 0;
  (void)arg;
  attach();
  segment_barrier(0);
  bell_barrier();
  for (k = 0; k < ROUNDS; k++)
    for (to = 0; to < NODES; to++) {
      struct message head = {SHORT, 42, 0, 0};
      unsigned char body[BYTES];
      unsigned n;
      head.argument = k * 7 + me;
      if (k % 3 == 1) {
        head.kind = MEDIUM, head.length = (k * 5 + to) % (BYTES - (unsigned)sizeof head);
        for (n = 0; n < head.length; n++) body[n] = (unsigned char)(head.argument + n);
      }
      if (k % 20 == 19) put(to, head.argument, 1 + k * 37 % STAGE);
      else request(to, &head, body);
    }
  while (replies_in < ROUNDS * NODES || requests_in < ROUNDS * NODES) idle();
  CHECK(replies_in == ROUNDS * NODES && requests_in == ROUNDS * NODES);
  for (k = 0; k < ROUNDS; k++)
    for (to = 0; to < NODES; to++) expected += k * 7 + to;
  CHECK(sum_in == expected);
  bell_barrier();
  segment_barrier(1);
  atomic_store(&is_leaving, 1);
  bell_barrier();
  /* As many programs, it ends without a word to the library; the last ones hear of the others. */
  if (me == NODES - 1)
    while (atomic_load(&ends) < 2 * (NODES - 1)) pause_ms(1);
}

int main(int argc, char **argv) {
  pid_t nodes[NODES];
  is_far = argc > 1 && strcmp(argv[1], "hosts") == 0;
  if (is_far) two_hosts();
  for (me = 0; me < NODES; me++) nodes[me] = node(sci(me), run, NULL);
  for (me = 0; me < NODES; me++) joined(nodes[me]);
  return 0;
}
