/* The types of SISCI: handles, enumerations, callbacks. */
#ifndef SISCI_TYPES_H
#define SISCI_TYPES_H

#include <stddef.h>

#include "dis_types.h"
#include "sisci_error.h"

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef IN_OUT
#define IN_OUT
#endif

/* Handles. A handle that was freed, or never was one, gives SCI_ERR_ILLEGAL_PARAMETER. */
typedef struct sci_desc *sci_desc_t;
typedef struct sci_local_segment *sci_local_segment_t;
typedef struct sci_remote_segment *sci_remote_segment_t;
typedef struct sci_map *sci_map_t;
typedef struct sci_sequence *sci_sequence_t;
typedef struct sci_dma_queue *sci_dma_queue_t;
typedef struct sci_dma_channel *sci_dma_channel_t;
typedef struct sci_local_interrupt *sci_local_interrupt_t;
typedef struct sci_remote_interrupt *sci_remote_interrupt_t;
typedef struct sci_local_data_interrupt *sci_local_data_interrupt_t;
typedef struct sci_remote_data_interrupt *sci_remote_data_interrupt_t;
typedef struct sci_block_transfer *sci_block_transfer_t;
typedef struct sci_device *sci_device_t;
typedef struct sci_smartio_device *sci_smartio_device_t;

/* What happened to a segment. */
typedef enum {
  SCI_CB_CONNECT = 1,     /* a peer has connected; at the peer: SCI_FLAG_ASYNCHRONOUS_CONNECT is through */
  SCI_CB_DISCONNECT,      /* the other side has gone, or asks this one to go */
  SCI_CB_NOT_OPERATIONAL, /* the link to another host is down */
  SCI_CB_OPERATIONAL,     /* it works again */
  SCI_CB_LOST             /* the other host is gone */
} sci_segment_cb_reason_t;
#define MAX_CB_REASON SCI_CB_LOST

typedef enum {
  SCI_DMAQUEUE_IDLE,
  SCI_DMAQUEUE_GATHER,
  SCI_DMAQUEUE_POSTED,
  SCI_DMAQUEUE_DONE,
  SCI_DMAQUEUE_ABORTED,
  SCI_DMAQUEUE_ERROR
} sci_dma_queue_state_t;

typedef enum {
  SCI_SEQ_OK,            /* all has arrived */
  SCI_SEQ_RETRIABLE,     /* repeat the transfers since the last SCI_SEQ_OK */
  SCI_SEQ_NOT_RETRIABLE, /* the owner is gone, or has withdrawn the segment */
  SCI_SEQ_PENDING        /* not known yet: SCIStartSequence until another answer comes */
} sci_sequence_status_t;

/* What a callback answers. */
typedef enum {
  SCI_CALLBACK_CANCEL = 1, /* it is not called again */
  SCI_CALLBACK_CONTINUE
} sci_callback_action_t;

typedef struct {
  unsigned short nodeId;
  unsigned short offsHi;
  unsigned int offsLo;
} sci_address_t;

/* What the library has, whatever the program was written for. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
typedef unsigned long long sisci_u64_t;
#pragma GCC diagnostic pop
#elif defined(__GNUC__)
__extension__ typedef unsigned long long sisci_u64_t;
#else
typedef unsigned long long sisci_u64_t;
#endif

#ifdef SISCI_API_V1
typedef unsigned int sci_ioaddr_t;
#else
typedef sisci_u64_t sci_ioaddr_t;
#endif

typedef unsigned int sci_dma_type_t;

/* Callbacks. Each runs in a thread of the library, one for each resource, and may call anything of SISCI. */
typedef sci_callback_action_t (*sci_cb_local_segment_t)(void *arg, sci_local_segment_t segment, sci_segment_cb_reason_t reason,
                                                        unsigned int nodeId, unsigned int localAdapterNo, sci_error_t error);
typedef sci_callback_action_t (*sci_cb_remote_segment_t)(void *arg, sci_remote_segment_t segment, sci_segment_cb_reason_t reason,
                                                         sci_error_t status);
typedef sci_callback_action_t (*sci_cb_dma_t)(void *arg, sci_dma_queue_t queue, sci_error_t status);
typedef sci_callback_action_t (*sci_cb_interrupt_t)(void *arg, sci_local_interrupt_t interrupt, sci_error_t status);
/* The data live until the callback returns. */
typedef sci_callback_action_t (*sci_cb_data_interrupt_t)(void *arg, sci_local_data_interrupt_t interrupt, void *data,
                                                         unsigned int length, sci_error_t status);
typedef int (*sci_cb_block_transfer_t)(void *arg, sci_block_transfer_t block, sci_error_t status);

/* What SCIQuery takes, one structure for each command. Programs before version 1.10 use the names with struct. */
typedef struct sci_query_string {
  char *str;
  unsigned int length;
} sci_query_string_t;

typedef struct sci_query_adapter {
  unsigned int localAdapterNo;
  unsigned int portNo;
  unsigned int subcommand;
  void *data;
} sci_query_adapter_t;

typedef struct sci_query_system {
  unsigned int subcommand;
  void *data;
} sci_query_system_t;

typedef struct sci_query_local_segment {
  sci_local_segment_t segment;
  unsigned int subcommand;
  union {
    sci_ioaddr_t ioaddr;
  } data;
} sci_query_local_segment_t;

typedef struct sci_query_remote_segment {
  sci_remote_segment_t segment;
  unsigned int subcommand;
  union {
    sci_ioaddr_t ioaddr;
  } data;
} sci_query_remote_segment_t;

typedef struct sci_query_map {
  sci_map_t map;
  unsigned int subcommand;
#ifdef SISCI_API_V1
  unsigned int data;
#else
  sci_ioaddr_t data;
#endif
} sci_query_map_t;

typedef struct sci_query_dma {
  unsigned int localAdapterNo;
  unsigned int subcommand;
  void *data;
} sci_query_dma_t;

typedef struct {
  unsigned int num_channels;
  unsigned int max_transfer_size; /* bytes */
  unsigned int max_vector_length; /* entries */
  unsigned int support_mem2io;
  unsigned int support_io2mem;
  unsigned int support_io2io;
  unsigned int min_align_bytes;
  unsigned int suggested_align_bytes;
} sci_dma_capabilities_t;

/* Of devices that are lent, which needs hardware: never filled. */
typedef struct {
  unsigned int fdid;
  unsigned int pci_vendor_id;
  unsigned int pci_device_id;
} sci_smartio_device_info_t;

typedef struct {
  sci_smartio_device_t device;
  unsigned int subcommand;
  void *data;
} sci_smartio_query_device_t;

#endif
