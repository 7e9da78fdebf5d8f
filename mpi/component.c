/* The component: its parameters, joining the job, its peers, its end. */
#include "btl_sci.h"

#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

sci_state_t sci;

/* What a process tells the others. */
typedef struct {
  uint32_t version; /* of this structure and of what travels */
  uint32_t node;    /* its number in the engine's job */
  uint8_t handler, few, many; /* the indices of its handlers */
} card_t;
#define VERSION 2

/* Seconds that what is queued at the end has to leave. A guess: it waits for peers that have nothing else to do. */
#define LAST_SECONDS 2

static int register_parameters(void);
static int open_component(void);
static int close_component(void);
static mca_btl_base_module_t **begin(int *count, bool progress_threads, bool mpi_threads);

mca_btl_base_component_3_0_0_t mca_btl_sci_component = {
    .btl_version = {MCA_BTL_DEFAULT_VERSION("sci"),
                    .mca_open_component = open_component,
                    .mca_close_component = close_component,
                    .mca_register_component_params = register_parameters},
    .btl_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .btl_init = begin,
    .btl_progress = sci_progress,
};

/* The limits are those of vader, which copies as this does. */
static int register_parameters(void) {
  sci_module.btl_component = &mca_btl_sci_component;
  sci_module.btl_exclusivity = MCA_BTL_EXCLUSIVITY_HIGH + 1; /* who loads this component wants it before vader */
  sci_module.btl_eager_limit = 4 << 10;
  sci_module.btl_rndv_eager_limit = 32 << 10;
  sci_module.btl_max_send_size = 32 << 10;
  sci_module.btl_min_rdma_pipeline_size = INT_MAX;
  sci_module.btl_rdma_pipeline_send_length = sci_module.btl_eager_limit;
  sci_module.btl_rdma_pipeline_frag_size = 1 << 20; /* each costs a message; nothing has to be registered meanwhile */
  sci_module.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_RDMA;
  sci_module.btl_get_limit = sci_module.btl_put_limit = SIZE_MAX;
  sci_module.btl_bandwidth = 40000;
  sci_module.btl_latency = 1;
  return mca_btl_base_param_register(&mca_btl_sci_component.btl_version, &sci_module);
}

static int open_component(void) {
  OBJ_CONSTRUCT(&sci.small, opal_free_list_t);
  OBJ_CONSTRUCT(&sci.large, opal_free_list_t);
  OBJ_CONSTRUCT(&sci.transfers, opal_free_list_t);
  OBJ_CONSTRUCT(&sci.lock, opal_mutex_t);
  OBJ_CONSTRUCT(&sci.waiting, opal_list_t);
  OBJ_CONSTRUCT(&sci.flying, opal_list_t);
  return OPAL_SUCCESS;
}

static int close_component(void) {
  OBJ_DESTRUCT(&sci.flying);
  OBJ_DESTRUCT(&sci.waiting);
  OBJ_DESTRUCT(&sci.lock);
  OBJ_DESTRUCT(&sci.transfers);
  OBJ_DESTRUCT(&sci.large);
  OBJ_DESTRUCT(&sci.small);
  return OPAL_SUCCESS;
}

/* Why this process goes on without the component. */
static void withdraw(const char *reason) { opal_output(0, "btl sci: not used: %s", reason); }

/* A component is made for one series of Open MPI, whose structures it shares. */
static bool fits(void) {
  char made_for[16], said[128];
  snprintf(made_for, sizeof made_for, "%d.%d.", OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION);
  if (strstr(opal_version_string, made_for) != NULL) return true;
  snprintf(said, sizeof said, "it was built for Open MPI %sx, and this is %s: build it again", made_for, opal_version_string);
  withdraw(said);
  return false;
}

static int make_list(opal_free_list_t *list, size_t bytes) {
  return opal_free_list_init(list, sizeof(sci_op_t), opal_cache_line_size, OBJ_CLASS(sci_op_t), bytes, opal_cache_line_size, 0, -1,
                             32, NULL, 0, NULL, NULL, NULL);
}

static bool make_peers(void) {
  sci.peers = calloc(sci.job.nodes, sizeof *sci.peers);
  for (uint32_t node = 0; sci.peers != NULL && node < sci.job.nodes; node++) {
    OBJ_CONSTRUCT(&sci.peers[node], mca_btl_base_endpoint_t);
    OBJ_CONSTRUCT(&sci.peers[node].queue, opal_list_t);
    sci.peers[node].node = node;
  }
  return sci.peers != NULL;
}

static void forget_peers(void) {
  for (uint32_t node = 0; sci.peers != NULL && node < sci.job.nodes; node++) {
    OBJ_DESTRUCT(&sci.peers[node].queue);
    OBJ_DESTRUCT(&sci.peers[node]);
  }
  free(sci.peers);
  sci.peers = NULL;
}

static bool set_up(void) {
  const char *name = "Open MPI's btl sci";
  gex_AM_Entry_t entries[] = {
      {0, (gex_AM_Fn_t)sci_arrived, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, name},
      {0, (gex_AM_Fn_t)sci_arrived_few, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, SCI_FEW, NULL, name},
      {0, (gex_AM_Fn_t)sci_arrived_many, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, SCI_MANY, NULL, name},
  };
  card_t card = {.version = VERSION, .node = sci.job.rank};
  int rc;
  if (!sci.job.everything) sci_module.btl_flags &= ~MCA_BTL_FLAGS_RDMA;
  if (sci_module.btl_max_send_size > GASNETI_SCI_MAX_MEDIUM) sci_module.btl_max_send_size = GASNETI_SCI_MAX_MEDIUM;
  if (sci_module.btl_eager_limit > sci_module.btl_max_send_size) sci_module.btl_eager_limit = sci_module.btl_max_send_size;
  if (make_list(&sci.small, sci_module.btl_eager_limit) != OPAL_SUCCESS ||
      make_list(&sci.large, sci_module.btl_max_send_size) != OPAL_SUCCESS || make_list(&sci.transfers, 0) != OPAL_SUCCESS ||
      !make_peers()) {
    withdraw("there is no memory for its lists");
    return false;
  }
  if (gasneti_sci_ep_register(sci.job.ep, (gasneti_sci_am_entry_t *)(void *)entries, 3) != GASNET_OK) {
    withdraw("the program has left less than 3 of 128 indices of handlers");
    return false;
  }
  card.handler = entries[0].gex_index;
  card.few = entries[1].gex_index;
  card.many = entries[2].gex_index;
  OPAL_MODEX_SEND(rc, OPAL_PMIX_GLOBAL, &mca_btl_sci_component.btl_version, &card, sizeof card);
  if (rc != OPAL_SUCCESS) withdraw("Open MPI could not publish where this process is");
  return rc == OPAL_SUCCESS;
}

static mca_btl_base_module_t **begin(int *count, bool progress_threads, bool mpi_threads) {
  mca_btl_base_module_t **modules;
  const char *reason;
  *count = 0;
  (void)progress_threads;
  if (!fits()) return NULL;
  reason = gasneti_sci_guest_join("Open MPI", mpi_threads, &sci.job);
  if (reason != NULL) {
    if (*reason != 0) withdraw(reason);
    return NULL;
  }
  sci.is_alone = !mpi_threads && !sci.job.is_shared;
  /* Open MPI decides when a process that polls in vain gives its core away. */
  if (!sci.job.is_shared) gasneti_sci_set_waitmode(GASNETI_SCI_WAIT_SPIN);
  modules = malloc(sizeof *modules);
  if (modules == NULL || !set_up()) {
    free(modules);
    forget_peers();
    gasneti_sci_guest_leave();
    return NULL;
  }
  modules[0] = &sci_module;
  *count = 1;
  return modules;
}

/* The endpoint of a process; NULL: it cannot be reached so. */
static mca_btl_base_endpoint_t *meet(opal_proc_t *proc) {
  card_t *card = NULL;
  size_t bytes = 0;
  mca_btl_base_endpoint_t *peer = NULL;
  int rc;
  if (proc == opal_proc_local_get() || proc->proc_name.jobid != OPAL_PROC_MY_NAME.jobid) return NULL; /* itself; spawned ones */
  OPAL_MODEX_RECV(rc, &mca_btl_sci_component.btl_version, &proc->proc_name, (void **)&card, &bytes);
  if (rc != OPAL_SUCCESS || card == NULL) return NULL; /* it has withdrawn, and said why */
  if (bytes != sizeof *card || card->version != VERSION || card->node >= sci.job.nodes) {
    withdraw("a process has another version of it");
  } else {
    peer = &sci.peers[card->node];
    peer->what = GASNETI_SCI_WHAT(GASNETI_SCI_AM_EX | GASNETI_SCI_AM_NOW, card->handler, 1);
    peer->few = card->few;
    peer->many = card->many;
  }
  free(card);
  return peer;
}

int sci_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints,
                  opal_bitmap_t *reachable) {
  (void)btl;
  for (size_t i = 0; i < count; i++) {
    endpoints[i] = meet(procs[i]);
    if (endpoints[i] != NULL && reachable != NULL) opal_bitmap_set_bit(reachable, (int)i);
  }
  return OPAL_SUCCESS;
}

/* Open MPI calls it once for sends and once for transfers, so that an endpoint lives as long as the module. */
int sci_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints) {
  (void)btl, (void)count, (void)procs, (void)endpoints;
  return OPAL_SUCCESS;
}

int sci_finalize(mca_btl_base_module_t *btl) {
  const time_t until = time(NULL) + LAST_SECONDS;
  (void)btl;
  while (sci.busy > 0 && time(NULL) <= until) sci_progress();
  if (sci.busy > 0)
    opal_output(0, "btl sci: %d peers and transfers had something under way %d s after MPI_Finalize; it is lost", (int)sci.busy, LAST_SECONDS);
  gasneti_sci_guest_leave();
  if (sci.busy == 0) forget_peers(); /* else operations name them; the process ends */
  return OPAL_SUCCESS;
}
