/* Small helpers of demonstration programs. A program that has a function of one of these names defines SISCI_NO_GetLocalNodeId,
 * SISCI_NO_SendInterrupt or SISCI_NO_ReceiveInterrupt before it includes this file. */
#ifndef SISCI_DEMOLIB_H
#define SISCI_DEMOLIB_H

#include "sisci_api.h"
#include "testlib.h" /* SISCI_HELPER */

#ifndef SISCI_NO_GetLocalNodeId
/* The node id of an adapter. */
SISCI_HELPER sci_error_t GetLocalNodeId(unsigned int localAdapterNo, unsigned int *localNodeId) {
  sci_error_t error;
  SCIGetLocalNodeId(localAdapterNo, localNodeId, 0, &error);
  return error;
}
#endif

#ifndef SISCI_NO_SendInterrupt
/* Triggers an interrupt of another node; waits until that node has it. */
SISCI_HELPER sci_error_t SendInterrupt(sci_desc_t sd, unsigned int localAdapterNo, unsigned int localNodeId, unsigned int remoteNodeId,
                                       unsigned int interruptNo) {
  sci_remote_interrupt_t interrupt;
  sci_error_t error, ignored;
  (void)localNodeId;
  do {
    SCIConnectInterrupt(sd, &interrupt, remoteNodeId, localAdapterNo, interruptNo, SCI_INFINITE_TIMEOUT, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_INTNO || error == SCI_ERR_TIMEOUT);
  if (error != SCI_ERR_OK) return error;
  SCITriggerInterrupt(interrupt, 0, &error);
  SCIDisconnectInterrupt(interrupt, 0, &ignored);
  return error;
}
#endif

#ifndef SISCI_NO_ReceiveInterrupt
/* Waits for one trigger of an interrupt of this node, which exists only meanwhile. The timeout is in milliseconds. */
SISCI_HELPER sci_error_t ReceiveInterrupt(sci_desc_t sd, unsigned int localAdapterNo, unsigned int localNodeId, unsigned int interruptNo,
                                          unsigned int timeout) {
  sci_local_interrupt_t interrupt;
  sci_error_t error, ignored;
  unsigned int number = interruptNo;
  (void)localNodeId;
  SCICreateInterrupt(sd, &interrupt, localAdapterNo, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error);
  if (error != SCI_ERR_OK) return error;
  SCIWaitForInterrupt(interrupt, timeout, 0, &error);
  SCIRemoveInterrupt(interrupt, 0, &ignored);
  return error;
}
#endif

#endif
