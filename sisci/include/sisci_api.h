/* SISCI: memory, interrupts and DMA of other nodes. Software SCI: the nodes are processes of this host.
 *
 * Call SCIInitialize first, SCITerminate last. Sizes and offsets are bytes, timeouts milliseconds. A function writes its result to *error
 * (sisci_error.h), SCI_ERR_OK included. Any function may be called from any thread, callbacks included. docs/sisci.md is the guide.
 *
 * SISCI_API_V1, defined before this file, gives old programs the types of version 1 of the API. SISCI_CONSTANTS_FROM_LIBRARY makes constants
 * data of the library, for programs that also run with another SISCI library. */
#ifndef SISCI_API_H
#define SISCI_API_H

#include "sisci_types.h"

#include "sisci_constants.h"

/* A name of SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY. */
#define FLUSH_CPU_BUFFERS_ONLY SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY

/* Older names. */
#define DISStartDmaTransfer SCIStartDmaTransfer
#define DISStartDmaTransferVec SCIStartDmaTransferVec

#ifdef __cplusplus
extern "C" {
#endif

/* The names in the library: those of SISCI libraries for programs with threads. */
#define SCIInitialize _SISCI_PUBLIC_FUNC_MT_SCIInitialize
#define SCITerminate _SISCI_PUBLIC_FUNC_MT_SCITerminate
#define SCIOpen _SISCI_PUBLIC_FUNC_MT_SCIOpen
#define SCIClose _SISCI_PUBLIC_FUNC_MT_SCIClose
#define SCIGetLocalNodeId _SISCI_PUBLIC_FUNC_MT_SCIGetLocalNodeId
#define SCIProbeNode _SISCI_PUBLIC_FUNC_MT_SCIProbeNode
#define SCIGetNodeIdByAdapterName _SISCI_PUBLIC_FUNC_MT_SCIGetNodeIdByAdapterName
#define SCIGetNodeInfoByAdapterName _SISCI_PUBLIC_FUNC_MT_SCIGetNodeInfoByAdapterName
#define SCIGetErrorString _SISCI_PUBLIC_FUNC_MT_SCIGetErrorString
#define SCIGetAdapterTypeString _SISCI_PUBLIC_FUNC_MT_SCIGetAdapterTypeString
#define SCIGetAdapterFamilyString _SISCI_PUBLIC_FUNC_MT_SCIGetAdapterFamilyString
#define SCIQuery _SISCI_PUBLIC_FUNC_MT_SCIQuery
#define SCICreateSegment _SISCI_PUBLIC_FUNC_MT_SCICreateSegment
#define SCIPrepareSegment _SISCI_PUBLIC_FUNC_MT_SCIPrepareSegment
#define SCISetSegmentAvailable _SISCI_PUBLIC_FUNC_MT_SCISetSegmentAvailable
#define SCISetSegmentUnavailable _SISCI_PUBLIC_FUNC_MT_SCISetSegmentUnavailable
#define SCIRemoveSegment _SISCI_PUBLIC_FUNC_MT_SCIRemoveSegment
#define SCIGetLocalSegmentSize _SISCI_PUBLIC_FUNC_MT_SCIGetLocalSegmentSize
#define SCIGetLocalSegmentId _SISCI_PUBLIC_FUNC_MT_SCIGetLocalSegmentId
#define SCIShareSegment _SISCI_PUBLIC_FUNC_MT_SCIShareSegment
#define SCIAttachLocalSegment _SISCI_PUBLIC_FUNC_MT_SCIAttachLocalSegment
#define SCIRegisterSegmentMemory _SISCI_PUBLIC_FUNC_MT_SCIRegisterSegmentMemory
#define SCIAttachPhysicalMemory _SISCI_PUBLIC_FUNC_MT_SCIAttachPhysicalMemory
#define SCIWaitForLocalSegmentEvent _SISCI_PUBLIC_FUNC_MT_SCIWaitForLocalSegmentEvent
#define SCIConnectSegment _SISCI_PUBLIC_FUNC_MT_SCIConnectSegment
#define SCIDisconnectSegment _SISCI_PUBLIC_FUNC_MT_SCIDisconnectSegment
#define SCIGetRemoteSegmentSize _SISCI_PUBLIC_FUNC_MT_SCIGetRemoteSegmentSize
#define SCIGetRemoteSegmentId _SISCI_PUBLIC_FUNC_MT_SCIGetRemoteSegmentId
#define SCIGetRemoteSegmentNodeId _SISCI_PUBLIC_FUNC_MT_SCIGetRemoteSegmentNodeId
#define SCIWaitForRemoteSegmentEvent _SISCI_PUBLIC_FUNC_MT_SCIWaitForRemoteSegmentEvent
#define SCIMapRemoteSegment _SISCI_PUBLIC_FUNC_MT_SCIMapRemoteSegment
#define SCIMapLocalSegment _SISCI_PUBLIC_FUNC_MT_SCIMapLocalSegment
#define SCIUnmapSegment _SISCI_PUBLIC_FUNC_MT_SCIUnmapSegment
#define SCIGetMapPointer _SISCI_PUBLIC_FUNC_MT_SCIGetMapPointer
#define SCIGetMapPhysAddr _SISCI_PUBLIC_FUNC_MT_SCIGetMapPhysAddr
#define SCIMemCpy _SISCI_PUBLIC_FUNC_MT_SCIMemCpy
#define SCIMemCopy _SISCI_PUBLIC_FUNC_MT_SCIMemCopy
#define SCIMemWrite _SISCI_PUBLIC_FUNC_MT_SCIMemWrite
#define SCITransferBlock _SISCI_PUBLIC_FUNC_MT_SCITransferBlock
#define SCITransferBlockAsync _SISCI_PUBLIC_FUNC_MT_SCITransferBlockAsync
#define SCIWaitForBlockTransfer _SISCI_PUBLIC_FUNC_MT_SCIWaitForBlockTransfer
#define SCIAbortBlockTransfer _SISCI_PUBLIC_FUNC_MT_SCIAbortBlockTransfer
#define SCICreateMapSequence _SISCI_PUBLIC_FUNC_MT_SCICreateMapSequence
#define SCIRemoveSequence _SISCI_PUBLIC_FUNC_MT_SCIRemoveSequence
#define SCIStartSequence _SISCI_PUBLIC_FUNC_MT_SCIStartSequence
#define SCICheckSequence _SISCI_PUBLIC_FUNC_MT_SCICheckSequence
#define SCIStoreBarrier _SISCI_PUBLIC_FUNC_MT_SCIStoreBarrier
#define SCIFlush _SISCI_PUBLIC_FUNC_MT_SCIFlush
#define SCIFlushReadBuffers _SISCI_PUBLIC_FUNC_MT_SCIFlushReadBuffers
#define SCICacheSync _SISCI_PUBLIC_FUNC_MT_SCICacheSync
#define SCICreateDMAQueue _SISCI_PUBLIC_FUNC_MT_SCICreateDMAQueue
#define SCIRemoveDMAQueue _SISCI_PUBLIC_FUNC_MT_SCIRemoveDMAQueue
#define SCIEnqueueDMATransfer _SISCI_PUBLIC_FUNC_MT_SCIEnqueueDMATransfer
#define SCIPostDMAQueue _SISCI_PUBLIC_FUNC_MT_SCIPostDMAQueue
#define SCIResetDMAQueue _SISCI_PUBLIC_FUNC_MT_SCIResetDMAQueue
#define SCIAbortDMAQueue _SISCI_PUBLIC_FUNC_MT_SCIAbortDMAQueue
#define SCIDMAQueueState _SISCI_PUBLIC_FUNC_MT_SCIDMAQueueState
#define SCIWaitForDMAQueue _SISCI_PUBLIC_FUNC_MT_SCIWaitForDMAQueue
#define SCIStartDmaTransfer _SISCI_PUBLIC_FUNC_MT_SCIStartDmaTransfer
#define SCIStartDmaTransferVec _SISCI_PUBLIC_FUNC_MT_SCIStartDmaTransferVec
#define SCIStartDmaTransferMem _SISCI_PUBLIC_FUNC_MT_SCIStartDmaTransferMem
#define SCIRequestDMAChannel _SISCI_PUBLIC_FUNC_MT_SCIRequestDMAChannel
#define SCIReturnDMAChannel _SISCI_PUBLIC_FUNC_MT_SCIReturnDMAChannel
#define SCIAssignDMAChannel _SISCI_PUBLIC_FUNC_MT_SCIAssignDMAChannel
#define SCIPrepareLocalSegmentForDMA _SISCI_PUBLIC_FUNC_MT_SCIPrepareLocalSegmentForDMA
#define SCIUnprepareLocalSegmentForDMA _SISCI_PUBLIC_FUNC_MT_SCIUnprepareLocalSegmentForDMA
#define SCICreateInterrupt _SISCI_PUBLIC_FUNC_MT_SCICreateInterrupt
#define SCIRemoveInterrupt _SISCI_PUBLIC_FUNC_MT_SCIRemoveInterrupt
#define SCIWaitForInterrupt _SISCI_PUBLIC_FUNC_MT_SCIWaitForInterrupt
#define SCIConnectInterrupt _SISCI_PUBLIC_FUNC_MT_SCIConnectInterrupt
#define SCIDisconnectInterrupt _SISCI_PUBLIC_FUNC_MT_SCIDisconnectInterrupt
#define SCITriggerInterrupt _SISCI_PUBLIC_FUNC_MT_SCITriggerInterrupt
#define SCICreateDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCICreateDataInterrupt
#define SCIRemoveDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCIRemoveDataInterrupt
#define SCIWaitForDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCIWaitForDataInterrupt
#define SCIConnectDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCIConnectDataInterrupt
#define SCIDisconnectDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCIDisconnectDataInterrupt
#define SCITriggerDataInterrupt _SISCI_PUBLIC_FUNC_MT_SCITriggerDataInterrupt
#define SCICreateNamedInterrupt _SISCI_PUBLIC_FUNC_MT_SCICreateNamedInterrupt
#define SCIRegisterInterruptFlag _SISCI_PUBLIC_FUNC_MT_SCIRegisterInterruptFlag
#define SCIEnableConditionalInterrupt _SISCI_PUBLIC_FUNC_MT_SCIEnableConditionalInterrupt
#define SCIDisableConditionalInterrupt _SISCI_PUBLIC_FUNC_MT_SCIDisableConditionalInterrupt
#define SCIGetConditionalInterruptTrigCounter _SISCI_PUBLIC_FUNC_MT_SCIGetConditionalInterruptTrigCounter
#define SCIGetCSRRegister _SISCI_PUBLIC_FUNC_MT_SCIGetCSRRegister
#define SCISetCSRRegister _SISCI_PUBLIC_FUNC_MT_SCISetCSRRegister
#define SCIGetLocalCSR _SISCI_PUBLIC_FUNC_MT_SCIGetLocalCSR
#define SCISetLocalCSR _SISCI_PUBLIC_FUNC_MT_SCISetLocalCSR
#define SCIConnectSCISpace _SISCI_PUBLIC_FUNC_MT_SCIConnectSCISpace
#define SCIphDmaEnqueue _SISCI_PUBLIC_FUNC_MT_SCIphDmaEnqueue
#define SCIphDmaStart _SISCI_PUBLIC_FUNC_MT_SCIphDmaStart
#define SCIRegisterPCIeRequester _SISCI_PUBLIC_FUNC_MT_SCIRegisterPCIeRequester
#define SCIUnregisterPCIeRequester _SISCI_PUBLIC_FUNC_MT_SCIUnregisterPCIeRequester

/* The library, descriptors, nodes */
void SCIInitialize(unsigned int flags, sci_error_t *error);
void SCITerminate(void);
void SCIOpen(sci_desc_t *sd, unsigned int flags, sci_error_t *error);
void SCIClose(sci_desc_t sd, unsigned int flags, sci_error_t *error);
void SCIGetLocalNodeId(unsigned int adapterNo, unsigned int *nodeId, unsigned int flags, sci_error_t *error);
int SCIProbeNode(sci_desc_t sd, unsigned int localAdapterNo, unsigned int nodeId, unsigned int flags, sci_error_t *error);
void SCIGetNodeIdByAdapterName(char *adapterName, dis_nodeId_list_t *nodeIdList, dis_virt_adapter_t *type, unsigned int flags,
    sci_error_t *error);
void SCIGetNodeInfoByAdapterName(char *adapterName, unsigned int *adapterNos, dis_nodeId_list_t *nodeIdList, dis_adapter_type_t *type,
    unsigned int flags, sci_error_t *error);
const char *SCIGetErrorString(sci_error_t error);
const char *SCIGetAdapterTypeString(dis_adapter_type_t type);
const char *SCIGetAdapterFamilyString(dis_adapter_type_t type);
void SCIQuery(unsigned int command, void *data, unsigned int flags, sci_error_t *error);

/* Local segments */
void SCICreateSegment(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId, size_t size, sci_cb_local_segment_t callback,
    void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIPrepareSegment(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error);
void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error);
void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error);
void SCIRemoveSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t *error);
size_t SCIGetLocalSegmentSize(sci_local_segment_t segment);
unsigned int SCIGetLocalSegmentId(sci_local_segment_t segment);
void SCIShareSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t *error);
void SCIAttachLocalSegment(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId, size_t *size,
    sci_cb_local_segment_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIRegisterSegmentMemory(void *address, size_t size, sci_local_segment_t segment, unsigned int flags, sci_error_t *error);
void SCIAttachPhysicalMemory(sisci_u64_t ioaddress, void *address, unsigned int busNo, size_t size, sci_local_segment_t segment,
    unsigned int flags, sci_error_t *error);
sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment, unsigned int *sourceNodeId, unsigned int *localAdapterNo,
    unsigned int timeout, unsigned int flags, sci_error_t *error);

/* Remote segments and maps */
void SCIConnectSegment(sci_desc_t sd, sci_remote_segment_t *segment, unsigned int nodeId, unsigned int segmentId,
    unsigned int localAdapterNo, sci_cb_remote_segment_t callback, void *callbackArg, unsigned int timeout, unsigned int flags,
    sci_error_t *error);
void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned int flags, sci_error_t *error);
size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment);
unsigned int SCIGetRemoteSegmentId(sci_remote_segment_t segment);
unsigned int SCIGetRemoteSegmentNodeId(sci_remote_segment_t segment);
sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment, sci_error_t *status, unsigned int timeout,
    unsigned int flags, sci_error_t *error);
volatile void *SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t *map, size_t offset, size_t size, void *addr, unsigned int flags,
    sci_error_t *error);
void *SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t *map, size_t offset, size_t size, void *addr, unsigned int flags,
    sci_error_t *error);
void SCIUnmapSegment(sci_map_t map, unsigned int flags, sci_error_t *error);
volatile void *SCIGetMapPointer(sci_map_t map);
sisci_u64_t SCIGetMapPhysAddr(sci_map_t map);

/* Copies, barriers, sequences */
void SCIMemCpy(sci_sequence_t sequence, void *memAddr, sci_map_t remoteMap, size_t remoteOffset, size_t size, unsigned int flags,
    sci_error_t *error);
void SCIMemCopy(void *memAddr, sci_map_t remoteMap, unsigned int remoteOffset, unsigned int size, unsigned int flags, sci_error_t *error);
void SCIMemWrite(void *memAddr, volatile void *remoteAddr, size_t size, unsigned int flags, sci_error_t *error);
void SCITransferBlock(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap, unsigned int destinationOffset,
    unsigned int size, unsigned int flags, sci_error_t *error);
void SCITransferBlockAsync(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap, unsigned int destinationOffset,
    unsigned int size, sci_block_transfer_t *block, sci_cb_block_transfer_t callback, void *callbackArg, unsigned int flags,
    sci_error_t *error);
void SCIWaitForBlockTransfer(sci_block_transfer_t block, unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIAbortBlockTransfer(sci_block_transfer_t block, unsigned int flags, sci_error_t *error);
void SCICreateMapSequence(sci_map_t map, sci_sequence_t *sequence, unsigned int flags, sci_error_t *error);
void SCIRemoveSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t *error);
sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t *error);
sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t *error);
void SCIStoreBarrier(sci_sequence_t sequence, unsigned int flags);
void SCIFlush(sci_sequence_t sequence, unsigned int flags);
void SCIFlushReadBuffers(sci_sequence_t sequence);
void SCICacheSync(sci_map_t map, void *addr, size_t length, unsigned int flags, sci_error_t *error);

/* DMA */
void SCICreateDMAQueue(sci_desc_t sd, sci_dma_queue_t *queue, unsigned int localAdapterNo, unsigned int maxEntries, unsigned int flags,
    sci_error_t *error);
void SCIRemoveDMAQueue(sci_dma_queue_t queue, unsigned int flags, sci_error_t *error);
sci_dma_queue_state_t SCIEnqueueDMATransfer(sci_dma_queue_t queue, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
    unsigned int localOffset, unsigned int remoteOffset, unsigned int size, unsigned int flags, sci_error_t *error);
void SCIPostDMAQueue(sci_dma_queue_t queue, sci_cb_dma_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIResetDMAQueue(sci_dma_queue_t queue, unsigned int flags, sci_error_t *error);
void SCIAbortDMAQueue(sci_dma_queue_t queue, unsigned int flags, sci_error_t *error);
sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t queue);
sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t queue, unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIStartDmaTransfer(sci_dma_queue_t queue, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment, size_t localOffset,
    size_t size, size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIStartDmaTransferVec(sci_dma_queue_t queue, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment, size_t vecLength,
    dis_dma_vec_t *vector, sci_cb_dma_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIStartDmaTransferMem(sci_dma_queue_t queue, void *localAddress, sci_remote_segment_t remoteSegment, size_t size, size_t remoteOffset,
    sci_cb_dma_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIRequestDMAChannel(sci_desc_t sd, sci_dma_channel_t *channel, unsigned int localAdapterNo, sci_dma_type_t type,
    unsigned int channelId, unsigned int flags, sci_error_t *error);
void SCIReturnDMAChannel(sci_dma_channel_t channel, sci_error_t *error);
void SCIAssignDMAChannel(sci_dma_channel_t channel, sci_dma_queue_t queue, unsigned int flags, sci_error_t *error);
void SCIPrepareLocalSegmentForDMA(sci_dma_channel_t channel, sci_local_segment_t segment, unsigned int flags, sci_error_t *error);
void SCIUnprepareLocalSegmentForDMA(sci_dma_channel_t channel, sci_local_segment_t segment, unsigned int flags, sci_error_t *error);

/* Interrupts */
void SCICreateInterrupt(sci_desc_t sd, sci_local_interrupt_t *interrupt, unsigned int localAdapterNo, unsigned int *interruptNo,
    sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIConnectInterrupt(sci_desc_t sd, sci_remote_interrupt_t *interrupt, unsigned int nodeId, unsigned int localAdapterNo,
    unsigned int interruptNo, unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCICreateDataInterrupt(sci_desc_t sd, sci_local_data_interrupt_t *interrupt, unsigned int localAdapterNo, unsigned int *interruptNo,
    sci_cb_data_interrupt_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void *data, unsigned int *length, unsigned int timeout,
    unsigned int flags, sci_error_t *error);
void SCIConnectDataInterrupt(sci_desc_t sd, sci_remote_data_interrupt_t *interrupt, unsigned int nodeId, unsigned int localAdapterNo,
    unsigned int interruptNo, unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, void *data, unsigned int length, unsigned int flags,
    sci_error_t *error);

/* What needs hardware: SCI_ERR_NOT_SUPPORTED */
void SCICreateNamedInterrupt(sci_desc_t sd, sci_local_interrupt_t *interrupt, unsigned int localAdapterNo, const char *name,
    sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIRegisterInterruptFlag(unsigned int localAdapterNo, sci_local_interrupt_t *interrupt, sci_local_segment_t segment,
    unsigned int offset, sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags, sci_error_t *error);
void SCIEnableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCIDisableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error);
void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t interrupt, unsigned int *interruptTrigCounter, unsigned int flags,
    sci_error_t *error);
unsigned int SCIGetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId, unsigned int CSROffset,
    unsigned int flags, sci_error_t *error);
void SCISetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId, unsigned int CSROffset, unsigned int CSRValue,
    unsigned int flags, sci_error_t *error);
unsigned int SCIGetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset, unsigned int flags, sci_error_t *error);
void SCISetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset, unsigned int CSRValue, unsigned int flags,
    sci_error_t *error);
void SCIConnectSCISpace(sci_desc_t sd, unsigned int localAdapterNo, sci_remote_segment_t *segment, sci_address_t address, unsigned int size,
    unsigned int flags, sci_error_t *error);
void SCIphDmaEnqueue(sci_dma_queue_t queue, unsigned int size, sisci_u64_t localBusAddr, unsigned int remote_nodeid,
    unsigned int remote_highaddr, unsigned int remote_lowaddr, unsigned int flags, sci_error_t *error);
sci_dma_queue_state_t SCIphDmaStart(sci_dma_queue_t queue, sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
    sci_error_t *error);
void SCIRegisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus, unsigned int devfn, unsigned int flags,
    sci_error_t *error);
void SCIUnregisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus, unsigned int devfn, unsigned int flags,
    sci_error_t *error);

#ifdef __cplusplus
}
#endif

#ifdef SISCI_API_V1
/* Version 1 has sizes and bus addresses of 32 bits where the library writes 64. */
static __inline__ void sisci_v1_attach_local_segment(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId, unsigned int *size,
                                                 sci_cb_local_segment_t callback, void *callbackArg, unsigned int flags,
                                                 sci_error_t *error) {
  size_t wide = 0;
  SCIAttachLocalSegment(sd, segment, segmentId, &wide, callback, callbackArg, flags, error);
  if (size != NULL) *size = (unsigned int)wide;
}

static __inline__ void sisci_v1_query(unsigned int command, void *data, unsigned int flags, sci_error_t *error) {
  struct {
    void *handle;
    unsigned int subcommand;
    sisci_u64_t data;
  } wide;
  sci_query_map_t *narrow = (sci_query_map_t *)data;
  if (data == NULL || (command != SCI_Q_MAP && command != SCI_Q_LOCAL_SEGMENT && command != SCI_Q_REMOTE_SEGMENT)) {
    SCIQuery(command, data, flags, error);
    return;
  }
  /* The structures of the three commands have one form. */
  wide.handle = (void *)narrow->map;
  wide.subcommand = narrow->subcommand;
  wide.data = 0;
  SCIQuery(command, &wide, flags, error);
  /* The number of a segment is in the upper half. */
  narrow->data = (unsigned int)(wide.data | wide.data >> 32);
}

#undef SCIAttachLocalSegment
#define SCIAttachLocalSegment sisci_v1_attach_local_segment
#undef SCIQuery
#define SCIQuery sisci_v1_query
#endif

#endif
