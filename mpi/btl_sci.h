/* The component "sci" of Open MPI 4.1: messages between MPI processes over the engine of gasnet-sci.
 *
 * Open MPI's ob1 matches messages; a component below it ("BTL") carries fragments, each with a tag that names the function which
 * takes it at the other end. Here a fragment is a Medium to one handler, with the tag as its argument; or, if it is short, the arguments of a
 * Short, which is one cache line (module.c, "fragments of one line").
 *
 * Rules:
 * 1. Nothing is sent from a handler, and nothing waits in a call of ob1: what cannot go at once is queued at its endpoint, and the
 *    component's progress function sends it. ob1 puts the order of messages right.
 * 2. Transfers (put, get) always go by that queue, because they may serve messages.
 * 3. Whoever takes an operation off a queue owns it. No lock is held while ob1 or the engine is called.
 * 4. ob1 is called from the component's progress function alone. A program that uses GASNet too polls the engine outside of MPI, in
 *    threads of its own perhaps, while ob1 has no locks, or before MPI_Init and after MPI_Finalize. What such a poll takes is kept. */
#ifndef MPI_BTL_SCI_H
#define MPI_BTL_SCI_H

#include "opal_config.h"

#include "opal/class/opal_free_list.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/threads/mutex.h"

#include <gasnetex.h>

/* A peer. */
typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;
struct mca_btl_base_endpoint_t {
  opal_list_item_t super; /* in sci.waiting */
  uint32_t node;          /* its number in the job */
  uint32_t what;          /* what a request to its handler of Mediums is */
  uint8_t few, many;      /* its handlers of Shorts */
  opal_list_t queue;      /* of sci_op_t, the first first */
  bool waits;             /* it is in sci.waiting, or somebody is at its queue */
};

typedef enum { SCI_SEND, SCI_PUT, SCI_GET } sci_kind_t;

/* A fragment to be sent or a transfer: what is done, and who wants to know. */
typedef struct {
  mca_btl_base_descriptor_t base; /* what ob1 sees; first, because it gives that back */
  mca_btl_base_segment_t parts[2]; /* a fragment's header, and its data if they stay where they are */
  opal_free_list_t *home;
  mca_btl_base_endpoint_t *to;
  sci_kind_t kind;
  mca_btl_base_tag_t tag; /* of a fragment */
  /* of a transfer */
  void *here, *there;
  size_t bytes;
  mca_btl_base_registration_handle_t *handle;
  mca_btl_base_rdma_completion_fn_t done;
  void *context, *data;
  size_t event; /* of the engine, while it is under way */
} sci_op_t;
OBJ_CLASS_DECLARATION(sci_op_t);
OBJ_CLASS_DECLARATION(mca_btl_base_endpoint_t);

/* Everything that the component has. */
typedef struct {
  opal_free_list_t small, large, transfers; /* operations: with room for eager fragments, for all, for none */
  opal_mutex_t lock;                        /* of the two lists and the queues */
  opal_list_t waiting;                      /* endpoints with something in their queues */
  opal_list_t flying;                       /* transfers under way */
  volatile int32_t busy;                    /* endpoints and transfers in the two */
  gasneti_sci_guest_t job;
  bool is_alone; /* one thread of MPI's is all that calls the engine */
  mca_btl_base_endpoint_t *peers; /* by number */
} sci_state_t;

extern sci_state_t sci;
extern mca_btl_base_module_t sci_module;

/* The handlers of fragments. */
void sci_arrived(gex_Token_t token, void *bytes, size_t count, gex_AM_Arg_t tag);
#define SCI_FEW 6   /* arguments of a Short with a header alone */
#define SCI_MANY 14 /* of one that fills its line */
void sci_arrived_few(gex_Token_t token, gex_AM_Arg_t sizes, gex_AM_Arg_t none, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d);
void sci_arrived_many(gex_Token_t token, gex_AM_Arg_t sizes, gex_AM_Arg_t none, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d,
                      gex_AM_Arg_t e, gex_AM_Arg_t f, gex_AM_Arg_t g, gex_AM_Arg_t h, gex_AM_Arg_t i, gex_AM_Arg_t j, gex_AM_Arg_t k,
                      gex_AM_Arg_t l);
/* Send a Short, if it can go now without a call of the library (alone.c). */
bool sci_few_alone(const mca_btl_base_endpoint_t *to, uint64_t sizes, uint64_t first, uint64_t last);
bool sci_many_alone(const mca_btl_base_endpoint_t *to, const uint64_t *words);
/* The component's progress function: how much was done. */
int sci_progress(void);
/* The module's calls that are about processes and the job (component.c). */
int sci_add_procs(mca_btl_base_module_t *btl, size_t count, struct opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints,
                  opal_bitmap_t *reachable);
int sci_del_procs(mca_btl_base_module_t *btl, size_t count, struct opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints);
int sci_finalize(mca_btl_base_module_t *btl);
/* The operation that ob1 knows by its descriptor. */
static inline sci_op_t *sci_op(mca_btl_base_descriptor_t *descriptor) { return (sci_op_t *)descriptor; }

#endif
