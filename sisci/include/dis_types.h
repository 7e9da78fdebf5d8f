/* Types that Dolphin's other libraries share with SISCI. */
#ifndef DIS_TYPES_H
#define DIS_TYPES_H

/* The longest list of node ids. */
#define DIS_MAX_NSCIS 8
/* The longest vector of SCIStartDmaTransferVec. */
#define DIS_DMA_MAX_VECLEN 256
/* The node id that stands for all members of a group. */
#define DIS_BROADCAST_NODEID_GROUP_ALL 252

/* One stretch of a vector of DMA: four words of 32 bits. Offsets and size in bytes; flags are 0. */
typedef struct {
  unsigned int size;
  unsigned int local_offset;
  unsigned int remote_offset;
  unsigned int flags;
} dis_dma_vec_t;

/* Node ids; a list that is not full ends with 0. */
typedef unsigned int dis_nodeId_list_t[DIS_MAX_NSCIS];

typedef unsigned int dis_virt_adapter_t;
typedef unsigned int dis_adapter_type_t;

#endif
