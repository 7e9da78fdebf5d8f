/* Holds resources, as node 4, or connections to them, as another node, until standard input ends: for cli/tests/sisci.rs. */
#include "test.h"

static void wait_for_end(void) {
  char byte;
  puts("ready");
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
}

static void owner(void) {
  sci_desc_t sd = opened();
  sci_local_segment_t s = offered(sd, 17, 5000, 0), other, member;
  sci_local_interrupt_t i;
  sci_local_data_interrupt_t d;
  unsigned no = 6, node, adapter;
  EXPECT(OK, SCICreateSegment(sd, &other, 18, 64, NULL, NULL, 0, &e));
  EXPECT(OK, SCICreateSegment(sd, &member, 3, 4096, NULL, NULL, SCI_FLAG_BROADCAST, &e));
  EXPECT(OK, SCICreateInterrupt(sd, &i, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT, &e));
  no = 9;
  EXPECT(OK, SCICreateDataInterrupt(sd, &d, 0, &no, NULL, NULL, SCI_FLAG_FIXED_INTNO, &e));
  wait_for_end();
  /* One peer has come and gone. Those who only asked gave no event. */
  CHECK(SCIWaitForLocalSegmentEvent(s, &node, &adapter, 10000, 0, &e) == SCI_CB_CONNECT && node == 8);
  CHECK(SCIWaitForLocalSegmentEvent(s, &node, &adapter, 10000, 0, &e) == SCI_CB_DISCONNECT && node == 8);
  EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(s, &node, &adapter, 100, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(other, &node, &adapter, 0, 0, &e));
  EXPECT(TIMEOUT, SCIWaitForLocalSegmentEvent(member, &node, &adapter, 0, 0, &e));
  EXPECT(OK, SCIRemoveSegment(s, 0, &e));
  SCITerminate();
}

static void peer(void) {
  sci_desc_t sd = opened();
  sci_remote_interrupt_t i;
  sci_remote_data_interrupt_t d;
  connected(sd, 4, 17, 0);
  EXPECT(OK, SCIConnectInterrupt(sd, &i, 4, 0, 6, SCI_INFINITE_TIMEOUT, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(i, 0, &e));
  EXPECT(OK, SCITriggerInterrupt(i, 0, &e));
  EXPECT(OK, SCIConnectDataInterrupt(sd, &d, 4, 0, 9, SCI_INFINITE_TIMEOUT, 0, &e));
  wait_for_end();
  SCITerminate();
}

int main(void) {
  alarm(120);
  if (strcmp(getenv("SISCI_NODE_ID"), "4") == 0) {
    owner();
  } else {
    peer();
  }
  return 0;
}
