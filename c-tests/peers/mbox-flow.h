/* The patterns of an mbox program whose library has one call to send and one to receive. It defines those first:
 *
 *   static void send_bytes(const void *from, size_t bytes);       from this node to the other
 *   static size_t receive_bytes(void *to, size_t room);           the next message's length */
#ifndef GASNET_SCI_MBOX_FLOW_H
#define GASNET_SCI_MBOX_FLOW_H

static unsigned char *out, *in; /* LARGEST bytes each */
static mbox_flow_t to_other, from_other;

static void send_one(size_t bytes) {
  mbox_number(&to_other, out, bytes);
  send_bytes(out, bytes);
}
static void take_one(const char *what, size_t bytes) {
  size_t got = receive_bytes(in, LARGEST);
  mbox_follows(what, &from_other, in, got, bytes);
}

static void trip(size_t bytes, long count) {
  for (; count > 0; count--) {
    if (me == 0) send_one(bytes);
    take_one("round trip", bytes);
    if (me == 1) send_one(bytes);
  }
}

/* Node 0 sends, node 1 takes, and says once that it has all. */
static void flood(size_t bytes, long count) {
  if (me == 0) {
    for (; count > 0; count--) send_one(bytes);
    take_one("end of a flood", bytes);
  } else {
    for (; count > 0; count--) take_one("flood", bytes);
    send_one(bytes);
  }
}

/* Every byte of one message each way. */
static void verify(size_t bytes) {
  fill(out, bytes / 8 * 8, (unsigned)me + 1);
  if (me == 0) send_bytes(out, bytes);
  if (receive_bytes(in, LARGEST) != bytes) give_up();
  expect("message", in, bytes / 8 * 8, (unsigned)(1 - me) + 1);
  if (me == 1) send_bytes(out, bytes);
  everybody();
}

static double one_way(size_t bytes) {
  verify(bytes);
  return time_of(trip, bytes) / 2;
}

static void buffers(void) {
  out = (unsigned char *)aligned_alloc(4096, LARGEST);
  in = (unsigned char *)aligned_alloc(4096, LARGEST);
  if (!out || !in) give_up();
  memset(out, 0, LARGEST);
  memset(in, 0, LARGEST);
}

/* The rows A0 that all of them have. least: the shortest message that the library has. */
static void PEERS_UNUSED rows(const char *who, size_t least) {
  const size_t *n;
  if (!least) row(who, "trip", "message, one way", 0, "ns", one_way(0));
  for (n = mbox_short; *n; n++) row(who, "trip", "message, one way", *n, "ns", one_way(*n));
  verify(16);
  row(who, "flood", "one sender", 16, "ns", time_of(flood, 16));
}

#endif
