/* A target that computes serves nothing, and yet nothing is lost: while the last node makes no call for some seconds, the others
 * send it more than any buffer between them holds, by puts and by Longs. Over a network its receive window is zero meanwhile.
 *
 *   testbusy [seconds [MiB]]      default 4 seconds, 24 MiB from each node */
#include "../testrma.h"

enum { HANDLER = 201, MIB = 1 << 20 };

static volatile long longs;

static void on_long(gasnet_token_t token, void *payload, size_t len) {
  (void)token;
  (void)payload;
  if (len == MIB) longs++;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[1];
  long seconds, count, i, sent = 0;
  gasnet_node_t last;
  unsigned char *source;
  table[0].index = HANDLER;
  table[0].fnptr = (void (*)(void))on_long;
  core_init(&argc, &argv, "testbusy");
  seconds = core_number(argc, argv, 1, 4);
  count = core_number(argc, argv, 2, 24);
  rma_attach(table, 1, 2 * (size_t)MIB);
  last = nodes - 1;
  source = (unsigned char *)rma_malloc(MIB);
  core_fill(source, MIB, me + 1);
  test_barrier();
  if (me != last) {
    for (i = 0; i < count; i++) {
      gasnet_put_nbi_bulk(last, rma_slice(last), source, MIB);
      if (i % 4 == 0) CHECK(gasnet_AMRequestLong0(last, HANDLER, source, MIB, rma_slice(last) + MIB) == GASNET_OK,
                            "Long %ld", i);
    }
    gasnet_wait_syncnbi_puts();
  } else {
    sleep((unsigned)seconds);
  }
  test_barrier();
  for (i = 0; i < count; i += 4) sent += (long)nodes - 1;
  if (me == last) {
    gasnet_node_t from;
    GASNET_BLOCKUNTIL(longs >= sent);
    for (from = 0; from < last; from++) {
      CHECK(core_differs(rma_sliceof(me, from), MIB, from + 1) == MIB, "bytes of node %u", (unsigned)from);
      CHECK(core_differs(rma_sliceof(me, from) + MIB, MIB, from + 1) == MIB, "bytes of node %u", (unsigned)from);
    }
  }
  CHECK(longs == (me == last ? sent : 0), "%ld Longs, %ld were sent", longs, sent);
  test_end();
  return 0;
}
