/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_abi.h"
#endif

#ifndef GASNETI_SCI_ABI_H
#define GASNETI_SCI_ABI_H

#define GASNETI_SCI_OK 0

#define GASNETI_SCI_ERR_NOT_INIT 10001

#define GASNETI_SCI_ERR_RESOURCE 10002

#define GASNETI_SCI_ERR_BAD_ARG 10003

#define GASNETI_SCI_ERR_NOT_READY 10004

#define GASNETI_SCI_ERR_BARRIER_MISMATCH 10005

#define GASNETI_SCI_BARRIERFLAG_ANONYMOUS 1

#define GASNETI_SCI_BARRIERFLAG_MISMATCH 2

#define GASNETI_SCI_BARRIERFLAG_IMAGES 4

#define GASNETI_SCI_BARRIERFLAG_UNNAMED 9

#define GASNETI_SCI_WAIT_SPIN 0

#define GASNETI_SCI_WAIT_BLOCK 1

#define GASNETI_SCI_WAIT_SPINBLOCK 2

/*
 `gasnet_AMMaxArgs`.
 */
#define GASNETI_SCI_MAX_ARGS 16

/*
 `gasnet_AMMaxMedium`, bytes.
 */
#define GASNETI_SCI_MAX_MEDIUM 65536

/*
 `gasnet_AMMaxLongRequest` and `gasnet_AMMaxLongReply`, bytes.
 */
#define GASNETI_SCI_MAX_LONG 2147483647

/*
 Bytes of a page. Segments are whole pages.
 */
#define GASNETI_SCI_PAGESIZE 4096

/*
 `GASNET_MAXNODES`. SCI node ids have 16 bits, so a job has 65,535 nodes at most.
 */
#define GASNETI_SCI_MAXNODES 65536

/*
 Thread modes in `gasneti_sci_client_t.modes`.
 */
#define GASNETI_SCI_MODE_SEQ 1

#define GASNETI_SCI_MODE_PARSYNC 2

#define GASNETI_SCI_MODE_PAR 4

/*
 Segment modes, in the same word.
 */
#define GASNETI_SCI_MODE_FAST 16

#define GASNETI_SCI_MODE_LARGE 32

#define GASNETI_SCI_MODE_EVERYTHING 64

/*
 Debug mode or not, in the same word.
 */
#define GASNETI_SCI_MODE_DEBUG 256

#define GASNETI_SCI_MODE_NDEBUG 512

/*
 In the same word: the process belongs to another runtime (`api/ex/guest`).
 */
#define GASNETI_SCI_MODE_GUEST 1024

/*
 Forms of vector, indexed and strided transfers.
 */
#define GASNETI_SCI_VIS_BLOCKING 0

#define GASNETI_SCI_VIS_NB 1

#define GASNETI_SCI_VIS_NBI 2

/*
 Flags of transfers, of the header's own: a bulk form of GASNet-1.
 */
#define GASNETI_SCI_FLAG_BULK (1 << 28)

/*
 They move a value.
 */
#define GASNETI_SCI_FLAG_VALUE (1 << 29)

/*
 A call of GASNet-EX.
 */
#define GASNETI_SCI_FLAG_EX (1 << 30)

/*
 Rules that `gasneti_sci_check` checks for a debug client: not in an AM handler, nor between prepare and commit of a message.
 */
#define GASNETI_SCI_RULE_NO_HANDLER 1

/*
 Not while the thread holds a handler-safe lock.
 */
#define GASNETI_SCI_RULE_NO_LOCK 2

/*
 Not in a no-interrupt section.
 */
#define GASNETI_SCI_RULE_NO_NIS 4

/*
 Only after `gasnet_attach`.
 */
#define GASNETI_SCI_RULE_ATTACHED 8

/*
 Only in an AM handler.
 */
#define GASNETI_SCI_RULE_IN_HANDLER 16

/*
 Not in an AM handler.
 */
#define GASNETI_SCI_RULE_OUTSIDE 32

/*
 `gasneti_magic` of `GASNET_HSL_INITIALIZER`.
 */
#define GASNETI_SCI_HSL_STATIC 1213418579

/*
 `gasneti_magic` after `gasnet_hsl_init`.
 */
#define GASNETI_SCI_HSL_INIT 1213418569

/*
 Bytes from one slot to the next.
 */
#define GASNETI_SCI_SLOT_BYTES 128

/*
 Most words of arguments in a Short of one line, after its meta word.
 */
#define GASNETI_SCI_LINE_WORDS 7

/*
 Slots that the header claims at once in a flood (`CLAIM_BATCH` in `am::outbox`, which says why it is not that number).
 */
#define GASNETI_SCI_CLAIM_BATCH 8

/*
 Bit of a Short's meta word that is set in each message; the lap stands in the bits below it.
 */
#define GASNETI_SCI_META_SEQUENCE 32768

/*
 Lowest bit of the handler's index in a Short's meta word.
 */
#define GASNETI_SCI_META_HANDLER 16

/*
 Least handler index of clients. The header leaves messages to lower ones to the library, which ends the job.
 */
#define GASNETI_SCI_FIRST_CLIENT 128

/*
 Lowest bit of the number of arguments in a Short's meta word.
 */
#define GASNETI_SCI_META_NUMARGS 24

/*
 Value of `gasneti_sci_answer_t.answered` after the reply was sent, by the header or by the library.
 */
#define GASNETI_SCI_ANSWERED 1

/*
 Bit of a message's `what`: if there is no room, do nothing and return 1 (`GEX_FLAG_IMMEDIATE`).
 */
#define GASNETI_SCI_AM_NOW 1

/*
 Bit of a message's `what`: a call of GASNet-EX. An error ends the job; it returns 0 but for `GASNETI_SCI_AM_NOW`.
 */
#define GASNETI_SCI_AM_EX 2

/*
 In `gasneti_sci_reach_t.offset`: the node's segment is not mapped here, so each transfer is a call.
 */
#define GASNETI_SCI_FAR 1

/*
 First word of a client.
 */
#define GASNETI_SCI_CLIENT_MAGIC 1195726915

/*
 First word of an endpoint.
 */
#define GASNETI_SCI_EP_MAGIC 1195726917

/*
 First word of a segment.
 */
#define GASNETI_SCI_SEGMENT_MAGIC 1195726931

/*
 First word of a team member.
 */
#define GASNETI_SCI_TM_MAGIC 1195726932

/*
 `GEX_FLAG_USES_GASNET1`.
 */
#define GASNETI_SCI_USES_GASNET1 1

/*
 `GEX_FLAG_DEFER_THREADS`.
 */
#define GASNETI_SCI_DEFER_THREADS 2

/*
 `what` of the calls here: a request.
 */
#define GASNETI_SCI_NPAM_REQUEST 1

/*
 A reply.
 */
#define GASNETI_SCI_NPAM_REPLY 2

/*
 A Medium.
 */
#define GASNETI_SCI_NPAM_MEDIUM 4

/*
 A Long.
 */
#define GASNETI_SCI_NPAM_LONG 8

/*
 Bit of `how`: a debug client, whose arguments are checked.
 */
#define GASNETI_SCI_VIS_CHECKED 256

/*
 Bit of `how`: a call of GASNet-1. Its `rank` is a node, and it has neither a team nor flags.
 */
#define GASNETI_SCI_VIS_G1 512

/*
 First word of an atomic domain.
 */
#define GASNETI_SCI_AD_MAGIC 1195726913

/*
 How a client object was compiled. Its headers fill it in.
 */
typedef struct {
  /*
   `GASNETI_SCI_MODE_*`, or-ed: one thread mode, one segment mode, one of DEBUG and NDEBUG.
   */
  uint32_t modes;
  /*
   `GASNET_CONFIG_STRING`.
   */
  const char *config;
  /*
   The client's `gasnet_max_segsize`.
   */
  const uint64_t *max_segsize;
  /*
   Strings that tools look for in the executable. This reference makes the linker keep them.
   */
  const char *const *idents;
  /*
   The client's `gasnet_max_segsize_str`.
   */
  const char *const *max_segsize_str;
} gasneti_sci_client_t;

/*
 `gasnet_handlerentry_t`, with the function as a plain pointer.
 */
typedef struct {
  /*
   128–255; 0: attach assigns an index and stores it here.
   */
  uint8_t index;
  /*
   The handler.
   */
  void *fnptr;
} gasneti_sci_handlerentry_t;

/*
 `gasnet_seginfo_t`.
 */
typedef struct {
  /*
   Address of the segment in its owner's process; NULL: the node has no segment.
   */
  void *addr;
  /*
   Its length in bytes.
   */
  size_t size;
} gasnet_seginfo_t;

/*
 `gasnet_nodeinfo_t`.
 */
typedef struct {
  /*
   Number of the physical machine; numbers count up from 0 in rank order.
   */
  uint32_t host;
  /*
   Number of the supernode (nodes that map each other's segments); they count up from 0 in rank order.
   */
  uint32_t supernode;
  /*
   Number to add to an address in that node's segment, to get the address of the same byte in this process.
   */
  size_t offset;
} gasnet_nodeinfo_t;

/*
 `gasnet_hsl_t`. Release clients use `gasneti_state` only; debug clients use all fields.
 */
typedef struct {
  /*
   0 free, 1 locked, 2 locked with sleepers.
   */
  uint32_t gasneti_state;
  /*
   How the lock was initialised: `GASNETI_SCI_HSL_STATIC`, `GASNETI_SCI_HSL_INIT`; another value: not at all.
   */
  uint32_t gasneti_magic;
  /*
   The lock's own address, if `gasnet_hsl_init` initialised it. It differs in a copy of the lock.
   */
  void *gasneti_self;
  /*
   The thread that holds the lock.
   */
  size_t gasneti_holder;
  /*
   The lock that the holder took before this one and still holds.
   */
  void *gasneti_below;
  /*
   The time at which it was taken, in milliseconds of the monotonic clock.
   */
  uint64_t gasneti_since;
  /*
   The client's file whose code took it.
   */
  const char *gasneti_file;
  /*
   The line in `gasneti_file`.
   */
  int gasneti_line;
} gasnet_hsl_t;

/*
 `gasnet_coll_fn_entry_t`.
 */
typedef struct {
  /*
   The function.
   */
  void *fnptr;
  /*
   `GASNET_COLL_AMSAFE`, `GASNET_COLL_NONCOMM`.
   */
  uint32_t flags;
} gasneti_sci_coll_fn_t;

/*
 One collective as its caller wrote it. The library ignores the fields that the operation does not use.
 */
typedef struct {
  /*
   `gasnet_team_handle_t`.
   */
  size_t team;
  /*
   Destination, or list of destinations.
   */
  const void *dst;
  /*
   Source, or list of sources.
   */
  const void *src;
  /*
   Bytes of a block; in reduce and scan, of an element.
   */
  size_t nbytes;
  /*
   Elements of a vector, in reduce and scan.
   */
  size_t count;
  /*
   Block size and offset of the destination, then of the source. All must be 0.
   */
  size_t layout[4];
  /*
   The operation: 0 broadcast, 1 scatter, 2 gather, 3 gather_all, 4 exchange, 5 reduce, 6 scan.
   */
  uint32_t kind;
  /*
   1 if `dst` or `src` is a list of addresses (the M forms), else 0.
   */
  uint32_t lists;
  /*
   `GASNET_COLL_*`.
   */
  uint32_t flags;
  /*
   The root's image.
   */
  uint32_t root;
  /*
   Index of the reduction function in the table of `gasnet_coll_init`.
   */
  int32_t func;
  /*
   The argument that the client gives to that function.
   */
  int32_t func_arg;
} gasneti_sci_coll_call_t;

/*
 `gex_Client_t` points here.
 */
typedef struct {
  /*
   `GASNETI_SCI_CLIENT_MAGIC`.
   */
  uint32_t magic;
  /*
   Flags given to init.
   */
  uint32_t flags;
  /*
   Name given to init.
   */
  const char *name;
  /*
   The client's own pointer.
   */
  void *cdata;
} gasneti_sci_client_object_t;

/*
 `gex_Segment_t` points here.
 */
typedef struct {
  /*
   `GASNETI_SCI_SEGMENT_MAGIC`.
   */
  uint32_t magic;
  /*
   Flags given at creation.
   */
  uint32_t flags;
  /*
   Its client.
   */
  gasneti_sci_client_object_t *client;
  /*
   First byte, in the owner.
   */
  void *addr;
  /*
   Number of bytes.
   */
  size_t size;
  /*
   The client's own pointer.
   */
  void *cdata;
  /*
   The library's: memory that it has allocated; 0: none; all bits: the segment was attached.
   */
  size_t owned;
} gasneti_sci_segment_t;

/*
 `gex_EP_t` points here.
 */
typedef struct {
  /*
   `GASNETI_SCI_EP_MAGIC`.
   */
  uint32_t magic;
  /*
   Flags given at creation.
   */
  uint32_t flags;
  /*
   Index in the process.
   */
  uint32_t index;
  /*
   Its client.
   */
  gasneti_sci_client_object_t *client;
  /*
   The bound segment; NULL: none.
   */
  gasneti_sci_segment_t *segment;
  /*
   The client's own pointer.
   */
  void *cdata;
} gasneti_sci_ep_t;

/*
 `gex_TM_t` points here, unless it is a pair.
 */
typedef struct {
  /*
   `GASNETI_SCI_TM_MAGIC`.
   */
  uint32_t magic;
  /*
   Flags given at creation.
   */
  uint32_t flags;
  /*
   Rank of the caller's process in the team.
   */
  uint32_t rank;
  /*
   Number of members.
   */
  uint32_t size;
  /*
   For each rank its place in the job; NULL in the primordial team, whose ranks are the job's.
   */
  const uint32_t *jobranks;
  /*
   The endpoint that is the member.
   */
  gasneti_sci_ep_t *ep;
  /*
   The client's own pointer.
   */
  void *cdata;
  /*
   The library's number of the team.
   */
  size_t team;
  /*
   Scratch memory that the client granted; NULL: none.
   */
  void *scratch;
  /*
   Its number of bytes.
   */
  size_t scratch_size;
} gasneti_sci_tm_t;

/*
 `gex_RankInfo_t`.
 */
typedef struct {
  /*
   Rank in the job.
   */
  uint32_t gex_jobrank;
} gasneti_sci_rank_info_t;

/*
 `gex_AM_Entry_t`, with the function as a plain pointer.
 */
typedef struct {
  /*
   `GEX_AM_INDEX_BASE`–255; 0: registration assigns the highest free index and stores it here.
   */
  uint8_t gex_index;
  /*
   The handler.
   */
  void *gex_fnptr;
  /*
   `GEX_FLAG_AM_*`: category and direction.
   */
  uint32_t gex_flags;
  /*
   Number of arguments.
   */
  unsigned int gex_nargs;
  /*
   The client's own pointer.
   */
  const void *gex_cdata;
  /*
   Name for messages; NULL: none.
   */
  const char *gex_name;
} gasneti_sci_am_entry_t;

/*
 `gex_Token_Info_t`.
 */
typedef struct {
  /*
   Job rank of the sender.
   */
  uint32_t gex_srcrank;
  /*
   1 for a request, 0 for a reply.
   */
  int gex_is_req;
  /*
   1 for a Long, else 0.
   */
  int gex_is_long;
  /*
   The endpoint that received the message.
   */
  gasneti_sci_ep_t *gex_ep;
  /*
   The handler's entry, as registered.
   */
  const gasneti_sci_am_entry_t *gex_entry;
} gasneti_sci_token_info_t;

/*
 `gex_AM_SrcDesc_t` points here.
 */
typedef struct {
  /*
   First byte of the payload to be.
   */
  void *addr;
  /*
   Most bytes that may be sent.
   */
  size_t size;
} gasneti_sci_srcdesc_t;

/*
 `gex_AD_t` points here.
 */
typedef struct {
  /*
   `GASNETI_SCI_AD_MAGIC`.
   */
  uint32_t magic;
  /*
   Flags given at creation.
   */
  uint32_t flags;
  /*
   The type of its words, `GEX_DT_*`.
   */
  uint32_t dt;
  /*
   Its operations, `GEX_OP_*`.
   */
  uint32_t ops;
  /*
   Its team.
   */
  gasneti_sci_tm_t *tm;
  /*
   The team's table of places in the job; NULL: ranks are the job's.
   */
  const uint32_t *jobranks;
  /*
   The client's own pointer.
   */
  void *cdata;
} gasneti_sci_ad_t;

/*
 `gex_EP_Location_t`.
 */
typedef struct {
  /*
   Rank of the endpoint's process.
   */
  uint32_t gex_rank;
  /*
   Its number there.
   */
  uint16_t gex_ep_index;
} gasneti_sci_ep_location_t;

/*
 `gex_Coll_ReduceFn_t`, as the header passes it.
 */
typedef const void *gasneti_sci_reduce_fn_t;

/*
 What a guest gets to know.
 */
typedef struct {
  /*
   For handlers.
   */
  gasneti_sci_ep_t *ep;
  /*
   This process's number in the job.
   */
  uint32_t rank;
  /*
   Number of processes.
   */
  uint32_t nodes;
  /*
   Not 0: transfers reach all memory of all processes; else only segments of the program.
   */
  int everything;
  /*
   Not 0: the program had joined before.
   */
  int is_shared;
} gasneti_sci_guest_t;

/*
 The way to one peer, for Shorts of one line.
 */
typedef struct {
  /*
   The first request slot at the peer, `GASNETI_SCI_SLOT_BYTES` each.
   */
  uint8_t *slots;
  /*
   This node's ready counts at the peer: of requests, then of replies.
   */
  uint32_t *ready;
  /*
   The peer's sleep word: not 0 while the peer sleeps or is about to.
   */
  const uint32_t *bell;
  /*
   For each slot, the ring position after the payload of its request.
   */
  uint64_t *ends;
  /*
   Ring position of the next payload.
   */
  const uint64_t *head;
  /*
   Number of requests sent to the peer.
   */
  uint32_t sent;
  /*
   Number of requests retired: the peer has run them, and this node their replies.
   */
  uint32_t retired;
  /*
   One less than the number of slots.
   */
  uint32_t mask;
  /*
   Number of bits in `mask`.
   */
  uint32_t shift;
  /*
   Most requests that may be outstanding; 0 if each message to the peer is a call.
   */
  uint32_t room;
  /*
   Not 0 if this node has run a message of the peer since its last request to it.
   */
  uint32_t heard;
  /*
   In `GASNET_PAR`: 1 while a thread sends a request to the peer, else 0.
   */
  uint32_t lock;
} gasneti_sci_way_t;

/*
 The first fields of a request's token.
 */
typedef struct {
  /*
   The slot that the reply goes to; null if the reply is a call, or was sent.
   */
  uint64_t *slot;
  /*
   The way to the requester.
   */
  const gasneti_sci_way_t *way;
  /*
   Sequence for the meta word of the reply.
   */
  uint32_t sequence;
  /*
   Number of replies to the requester, including this one.
   */
  uint32_t count;
  /*
   0 before the reply; `GASNETI_SCI_ANSWERED` after it was sent.
   */
  uint8_t answered;
} gasneti_sci_answer_t;

/*
 The words that an inline poll looks at, and how many polls may do so.
 */
typedef struct {
  /*
   Number of polls that may still be inline before one must call the library.
   */
  uint32_t left;
  /*
   Number of next empty polls that pause before they return.
   */
  uint32_t pauses;
  /*
   Steps of one wait that may be inline; later steps call the library.
   */
  uint32_t spins;
  /*
   Sequence of the next request, as in the low half of its meta word.
   */
  uint16_t request_sequence;
  /*
   Sequence of the next reply, as in the low half of its meta word.
   */
  uint16_t reply_sequence;
  /*
   Slot in which the next request of the watched peer will be.
   */
  const uint64_t *request;
  /*
   Slot in which the next reply of the watched peer will be.
   */
  const uint64_t *reply;
  /*
   Number of pause instructions between two looks.
   */
  uint32_t gap;
} gasneti_sci_watch_t;

/*
 Where the header finds what it needs for inline messages and polls. Filled by attach, constant afterwards.
 */
typedef struct {
  /*
   For each node, the way to it; null before the first contact.
   */
  gasneti_sci_way_t *const *ways;
  /*
   The token of the request handler that runs; the header may reply to it inline.
   */
  gasneti_sci_answer_t *answer;
  /*
   The words that polls look at.
   */
  gasneti_sci_watch_t *watch;
  /*
   Number of entries of `ways`; 0 if each message of the job is a call.
   */
  uint32_t nodes;
} gasneti_sci_direct_t;

/*
 What the header's inline transfers need to know. Filled by attach, constant afterwards.
 */
typedef struct {
  /*
   The segments of all nodes below this rank are mapped here at their owners' addresses.
   */
  uint32_t window;
  /*
   Number of entries of `offset`; 0 if every transfer is a call.
   */
  uint32_t mapped;
  /*
   For each node, the number to add to an address in its segment, or `GASNETI_SCI_FAR`.
   */
  const size_t *offset;
  /*
   Not 0 if the segments of all nodes are mapped. Then the handle of a value get is the value.
   */
  uint32_t whole;
} gasneti_sci_reach_t;

/*
 `gasnet_max_segsize`, bytes. A client may define its own variable; its header then passes that one to init.
 */
extern uint64_t gasnet_max_segsize;

/*
 `gasnet_max_segsize_str`, a memory size or a fraction of the host's memory; NULL: not set. As `gasnet_max_segsize`.
 */
extern const char *gasnet_max_segsize_str;

/*
 `gasnet_client_attach_hook`: if set, attach calls it with address and bytes of the local segment.
 */
extern void (*gasnet_client_attach_hook)(void*, size_t);

/*
 The values for this process; see `gasneti_sci_direct_t`.
 */
extern gasneti_sci_direct_t gasneti_sci_direct;

/*
 The values for this process; see `gasneti_sci_reach_t`.
 */
extern gasneti_sci_reach_t gasneti_sci_reach;

/*
 Bytes from which non-blocking bulk puts, and gets, call the library, because the DMA thread may take them.
 */
extern size_t gasneti_sci_queued;

/*
 Largest number of pieces of an inline vector, indexed or strided transfer; 0 if each of them is a call.
 */
extern size_t gasneti_sci_few;

/*
 Announces the modes of a client object. A constructor in every such object calls it before `main`.
 */
void gasneti_sci_object_0_3(uint32_t modes);

/*
 Ends the job with status `code`. Any thread, any time after init. Contract: core.md §6.3.
 */
void gasneti_sci_exit(int code) GASNETI_SCI_NORETURN;

/*
 Ends the job with a line `*** FATAL ERROR: `, followed by `text`.
 */
void gasneti_sci_fatal(const char *text) GASNETI_SCI_NORETURN;

/*
 Joins the job. Leaves `argc` and `argv` as they are. Contract: core.md §6.1.
 */
int gasneti_sci_init(int *argc, char ***argv, const gasneti_sci_client_t *client);

/*
 Registers the handlers and creates the segment. Contract: core.md §6.2.
 */
int gasneti_sci_attach(gasneti_sci_handlerentry_t *table, int numentries, size_t segsize, size_t minheapoffset);

/*
 This node's rank, from 0 to nodes − 1. Allowed from init on.
 */
uint32_t gasneti_sci_mynode(void);

/*
 Number of nodes of the job. Allowed from init on.
 */
uint32_t gasneti_sci_nodes(void);

/*
 The largest segment that this node may ask for, in bytes. Allowed from init on.
 */
size_t gasneti_sci_max_local_segment(void);

/*
 The smallest of all nodes' largest segments, in bytes. Allowed from init on.
 */
size_t gasneti_sci_max_global_segment(void);

/*
 Fills the first `n` entries of `table`, or as many as there are nodes. Allowed after attach.
 */
int gasneti_sci_segment_info(gasnet_seginfo_t *table, int n);

/*
 Fills the first `n` entries of `table` with hosts and supernodes. Allowed from init on; offsets are 0 before attach.
 */
int gasneti_sci_node_info(gasnet_nodeinfo_t *table, int n);

/*
 `getenv` on the job's environment, then on the process's own; NULL if the variable is unset in both.
 */
char *gasneti_sci_getenv(const char *name);

/*
 Name of this host, never NULL. Allowed at any time, in any thread.
 */
const char *gasneti_sci_gethostname(void);

/*
 `gasnet_set_waitmode`. Allowed from init on.
 */
int gasneti_sci_set_waitmode(int mode);

/*
 A value that differs between live threads and is never NULL: `GASNET_GET_THREADINFO` in PAR and PARSYNC.
 */
void *gasneti_sci_thread_info(void);

/*
 Name of an error code; `"*unknown*"` for other numbers. Allowed at any time, in any thread.
 */
const char *gasnet_ErrorName(int code);

/*
 Description of an error code. Allowed at any time, in any thread.
 */
const char *gasnet_ErrorDesc(int code);

/*
 Waits until the lock is free, and takes it. It runs no handlers, because its caller may be a handler.
 */
void gasneti_sci_hsl_lock(gasnet_hsl_t *hsl);

/*
 Takes the lock if it is free and returns 1; otherwise returns 0. Never waits.
 */
int32_t gasneti_sci_hsl_trylock(gasnet_hsl_t *hsl);

/*
 Releases the lock, and wakes the threads that sleep for it.
 */
void gasneti_sci_hsl_unlock(gasnet_hsl_t *hsl);

/*
 Checks `rules` (`GASNETI_SCI_RULE_*`) for the call `name`. A broken rule ends the job.
 */
void gasneti_sci_check(const char *name, const char *file, int line, uint32_t rules);

/*
 Checks that the calling handler may reply to `token` now. If not, it ends the job.
 */
void gasneti_sci_check_reply(const char *name, const char *file, int line, void *token);

/*
 `gasnet_hold_interrupts`. Ignored in handlers and while the thread holds a lock; fatal inside a section.
 */
void gasneti_sci_hold_debug(const char *file, int line);

/*
 `gasnet_resume_interrupts`. Ignored in handlers and while the thread holds a lock; fatal outside a section.
 */
void gasneti_sci_resume_debug(const char *file, int line);

/*
 `gasnet_hsl_init`. Fatal on a lock that is certainly in use.
 */
void gasneti_sci_hsl_init_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_destroy`. Fatal on a locked or uninitialised lock.
 */
void gasneti_sci_hsl_destroy_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_lock`. Fatal if the thread holds the lock already, or if the lock is not initialised.
 */
void gasneti_sci_hsl_lock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_trylock`: returns 1 if it took the lock, else 0. Fatal in the same cases as `gasnet_hsl_lock`.
 */
int gasneti_sci_hsl_trylock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_unlock`. Fatal on a free lock, on another thread's lock, and out of order.
 */
void gasneti_sci_hsl_unlock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 Serves incoming messages: runs zero or more handlers, a bounded number. Not allowed in handlers.
 */
int gasneti_sci_poll(void);

/*
 As `gasneti_sci_poll`, by the name that configure scripts look for in a library of GASNet (OmpSs).
 */
int gasnetc_AMPoll(void);

/*
 One step of `GASNET_BLOCKUNTIL`: polls, then pauses, yields or sleeps (at most a millisecond, if few nodes share a core).
 */
uint32_t gasneti_sci_wait_step(uint32_t failed);

/*
 Runs the message of the watched peer that an inline poll has seen. Always `GASNET_OK`.
 */
int gasneti_sci_poll_watched(int is_reply);

/*
 As `gasneti_sci_poll_watched`, for `GASNET_PAR`.
 */
int gasneti_sci_poll_watched_in_par(int is_reply);

/*
 As `gasneti_sci_wait_watched`, for `GASNET_PAR`.
 */
uint32_t gasneti_sci_wait_watched_in_par(uint32_t failed, int is_reply);

/*
 Like `gasneti_sci_wait_step`, after an inline look has seen a message of the watched peer.
 */
uint32_t gasneti_sci_wait_watched(uint32_t failed, int is_reply);

/*
 Wakes the peer to which `way` leads, if it sleeps.
 */
void gasneti_sci_wake(const void *way);

/*
 A Short request to `node`, without payload. 0, 1 if it was refused, or the code of an error. Contract: core.md §9.4.
 */
int gasneti_sci_request_short(uint32_t node, uint32_t what, const uint64_t *args);

/*
 Medium request: `nbytes` (up to `GASNETI_SCI_MAX_MEDIUM`) bytes from `src`, free for reuse at return.
 */
int gasneti_sci_request_medium(uint32_t node, uint32_t what, const void *src, size_t nbytes, const uint64_t *args);

/*
 Long request: `nbytes` (up to `GASNETI_SCI_MAX_LONG`) bytes from `src` to `dest_addr` in the segment of `node`.
 */
int gasneti_sci_request_long(uint32_t node,
                             uint32_t what,
                             const void *src,
                             size_t nbytes,
                             void *dest_addr,
                             const uint64_t *args);

/*
 Short reply to the request of `token`. Allowed once, in that request's handler. Contract: core.md §9.5.
 */
int gasneti_sci_reply_short(void *token, uint32_t what, const uint64_t *args);

/*
 Medium reply. `src` is free for reuse at return, and may be the buffer of the request.
 */
int gasneti_sci_reply_medium(void *token, uint32_t what, const void *src, size_t nbytes, const uint64_t *args);

/*
 Long reply to `dest_addr` in the requester's segment.
 */
int gasneti_sci_reply_long(void *token,
                           uint32_t what,
                           const void *src,
                           size_t nbytes,
                           void *dest_addr,
                           const uint64_t *args);

/*
 Stores the sender's rank of the message of `token` to `*node`. Allowed in its handler, any number of times.
 */
int gasneti_sci_msg_source(void *token, uint32_t *node);

/*
 Announces this node's arrival at the barrier. Never blocks. Misuse is fatal.
 */
void gasneti_sci_barrier_notify(int id, int flags);

/*
 Waits until all nodes have arrived: `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH`. Serves messages meanwhile.
 */
int gasneti_sci_barrier_wait(int id, int flags);

/*
 Like wait, but returns `GASNET_ERR_NOT_READY` at once while a node is missing. Polls once.
 */
int gasneti_sci_barrier_try(int id, int flags);

/*
 Notify and wait in one call.
 */
int gasneti_sci_barrier(int id, int flags);

/*
 If the last phase had a name, stores it to `*id` and returns 0; else returns a value that is not 0.
 */
int gasneti_sci_barrier_result(int *id);

/*
 Blocking put of `nbytes` bytes, complete at the target when it returns. 1 if IMMEDIATE was refused, else 0.
 */
int gasneti_sci_put(uint32_t node, void *dest, const void *src, size_t nbytes, uint32_t flags);

/*
 Put with an event: the root, 0 if it is complete, or `NO_OP` (1). `lc_opt` is as in `gex_RMA_PutNB`.
 */
size_t gasneti_sci_put_nb(uint32_t node, void *dest, const void *src, size_t nbytes, size_t *lc_opt, uint32_t flags);

/*
 Put without an event. 1 if IMMEDIATE was refused, else 0. `lc_opt` is as in `gex_RMA_PutNBI`.
 */
int gasneti_sci_put_nbi(uint32_t node, void *dest, const void *src, size_t nbytes, size_t *lc_opt, uint32_t flags);

/*
 Blocking get of `nbytes` bytes; otherwise like `gasneti_sci_put`.
 */
int gasneti_sci_get(void *dest, uint32_t node, const void *src, size_t nbytes, uint32_t flags);

/*
 Get with an event: the root, 0 if it is complete, or `NO_OP` (1).
 */
size_t gasneti_sci_get_nb(void *dest, uint32_t node, const void *src, size_t nbytes, uint32_t flags);

/*
 Get without an event. 1 if IMMEDIATE was refused, else 0.
 */
int gasneti_sci_get_nbi(void *dest, uint32_t node, const void *src, size_t nbytes, uint32_t flags);

/*
 Ends the job, because the value form `name` was called with an impossible size.
 */
void gasneti_sci_bad_value(const char *name, size_t nbytes) GASNETI_SCI_NORETURN;

/*
 Serves messages; does nothing in a handler. The header calls it after every 256th inline transfer, or sooner.
 */
void gasneti_sci_tick_poll(void);

/*
 Copies bytes. Source and target may be the same memory; if they overlap in part, the bytes that arrive are undefined.
 */
void gasneti_sci_memcpy(void *to, const void *from, size_t nbytes);

/*
 Blocking memset: stores the low byte of `val` `nbytes` times.
 */
void gasneti_sci_memset(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Memset with an explicit handle, which is 0 if the memset is complete.
 */
size_t gasneti_sci_memset_nb(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Memset with an implicit handle, which counts as one of this thread's puts.
 */
void gasneti_sci_memset_nbi(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Starts a get of a value of 1 to 8 bytes. The caller must wait for the handle exactly once.
 */
uint64_t gasneti_sci_get_nb_val(uint32_t node, const void *src, size_t nbytes);

/*
 Waits for a get of a value, and returns the value.
 */
uint64_t gasneti_sci_wait_valget(uint64_t handle);

/*
 `GASNET_OK`, after which the handle is invalid, or `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_try_nb(size_t handle, int poll);

/*
 Waits until the operation of one handle is complete. Serves messages meanwhile.
 */
void gasneti_sci_wait_nb(size_t handle);

/*
 `GASNET_OK` if all of `n` handles are complete, else `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_try_array(size_t *handles, size_t n, int all, int poll);

/*
 Waits until all of `n` handles are complete, or at least one if `all` is 0. Overwrites complete ones with 0.
 */
void gasneti_sci_wait_array(size_t *handles, size_t n, int all);

/*
 `GASNET_OK` if all implicit operations of this thread in `sets` are complete, else `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_try_nbi(int sets);

/*
 Waits until all implicit operations of this thread in `sets` (1 puts, 2 gets, 3 both) are complete.
 */
void gasneti_sci_wait_nbi(int sets);

/*
 Opens an access region of this thread. Fatal if one is open.
 */
void gasneti_sci_begin_region(void);

/*
 Closes the access region and returns the handle of its operations, 0 if they are complete.
 */
size_t gasneti_sci_end_region(void);

/*
 Ends the job unless `[address, address + nbytes)` is in the segment of `node`. Only debug clients call it.
 */
void gasneti_sci_check_range(const char *name, uint32_t node, const void *address, size_t nbytes);

/*
 Debug clients call it before the call `name`: like `gasneti_sci_check`, and it remembers the place.
 */
void gasneti_sci_coll_at(const char *name, const char *file, int line, uint32_t rules);

/*
 `gasnet_coll_init`. Blocks until all nodes, and all images of this one, have called.
 */
void gasneti_sci_coll_init(const uint32_t *images,
                           uint32_t my_image,
                           const gasneti_sci_coll_fn_t *functions,
                           size_t count);

/*
 Starts a collective, and completes it if `blocking`. Returns the handle, 0 when it is complete. Errors are fatal.
 */
size_t gasneti_sci_coll_run(const gasneti_sci_coll_call_t *call, int blocking);

/*
 Polls once; returns `GASNET_OK`, after which the handle is invalid, or `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_coll_try(size_t handle);

/*
 Waits until the collective of one handle is complete. Serves messages meanwhile.
 */
void gasneti_sci_coll_wait(size_t handle);

/*
 Polls once; returns `GASNET_OK` if all of `n` handles are complete, else `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_coll_try_array(size_t *handles, size_t n, int all);

/*
 Waits until all of `n` handles are complete, or at least one if `all` is 0. Overwrites complete ones with 0.
 */
void gasneti_sci_coll_wait_array(size_t *handles, size_t n, int all);

/*
 `gasnet_coll_loadTuningState`: changes nothing, but a file that does not exist is an error.
 */
void gasneti_sci_coll_load(const char *name, size_t team);

/*
 Splits `parent` by `color` and returns the handle of the caller's new team. Blocks until all members have called.
 */
size_t gasneti_sci_team_split(size_t parent, uint32_t color, uint32_t relrank, const void *clientdata);

/*
 Ends a team. All its members must call. Blocks until they have.
 */
void gasneti_sci_team_free(size_t team);

/*
 Number of the team's members.
 */
uint32_t gasneti_sci_team_size(size_t handle);

/*
 Node of the member with rank `rank` in the team.
 */
uint32_t gasneti_sci_team_node(size_t handle, int rank);

/*
 Rank of a node in the team. Fatal if the node is not a member.
 */
uint32_t gasneti_sci_team_rank(size_t handle, uint32_t node);

/*
 Announces arrival at the team's barrier. Never blocks.
 */
void gasneti_sci_team_notify(size_t team, int id, int flags);

/*
 Waits until all members have arrived: `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH`. Serves messages meanwhile.
 */
int gasneti_sci_team_wait(size_t team, int id, int flags);

/*
 Like wait, but returns `GASNET_ERR_NOT_READY` at once while a member is missing. Polls once.
 */
int gasneti_sci_team_try(size_t team, int id, int flags);

/*
 Notify and wait in one call.
 */
int gasneti_sci_team_barrier(size_t team, int id, int flags);

/*
 If the last phase had a name, stores it to `*id` and returns 0; else returns a value that is not 0.
 */
int gasneti_sci_team_result(size_t team, int *id);

/*
 The place in the job of `rank` of `tm`; ends the job, in the name of the call `name`, if there is none.
 */
uint32_t gasneti_sci_tm_jobrank(const char *name, const gasneti_sci_tm_t *tm, uint32_t rank);

/*
 Joins the job, and opens it for messages. Contract: ex-core.md §5.1.
 */
int gasneti_sci_ex_init(const gasneti_sci_client_t *client,
                        const char *name,
                        uint32_t flags,
                        gasneti_sci_client_object_t **client_p,
                        gasneti_sci_ep_t **ep_p,
                        gasneti_sci_tm_t **tm_p);

/*
 Not 0 if errors that calls return are reported on stderr as well.
 */
int gasneti_sci_ex_verbose_errors(void);

/*
 Chooses whether errors that calls return are reported on stderr as well.
 */
void gasneti_sci_ex_set_verbose_errors(int enable);

/*
 Writes the set of processes near this one: its neighbourhood or, with `host` not 0, its host. NULL pointers are skipped.
 */
void gasneti_sci_ex_near(int host,
                         const gasneti_sci_rank_info_t **info_p,
                         uint32_t *count_p,
                         uint32_t *index_p);

/*
 Writes number of neighbourhoods, this one's, number of hosts, this one's. NULL pointers are skipped.
 */
void gasneti_sci_ex_position(uint32_t *nbrhds, uint32_t *nbrhd, uint32_t *hosts, uint32_t *host);

/*
 Most client threads at a time: `GASNET_MAX_THREADS`, or what no program reaches.
 */
uint64_t gasneti_sci_ex_max_threads(void);

/*
 `gex_System_QueryProgressThreads`: there are none.
 */
int gasneti_sci_ex_progress_threads(const gasneti_sci_client_object_t *client,
                                    uint32_t *count_p,
                                    const void **info_p,
                                    uint32_t flags);

/*
 Writes the objects of the GASNet-1 client. NULL pointers are skipped.
 */
void gasneti_sci_ex_objects(gasneti_sci_client_object_t **client_p,
                            gasneti_sci_ep_t **ep_p,
                            gasneti_sci_tm_t **tm_p,
                            gasneti_sci_segment_t **segment_p);

/*
 Creates and binds the segments of all processes. Contract: ex-core.md §8.2.
 */
int gasneti_sci_segment_attach(gasneti_sci_segment_t **segment_p, const gasneti_sci_tm_t *tm, size_t length);

/*
 Makes a segment of `length` bytes, at `address` or, if that is NULL, of new memory. `kind` is 1 for host memory.
 */
int gasneti_sci_segment_create(gasneti_sci_segment_t **segment_p,
                               gasneti_sci_client_object_t *client,
                               void *address,
                               size_t length,
                               size_t kind,
                               uint32_t flags);

/*
 Ends a created segment. The library frees memory that it has allocated for it.
 */
void gasneti_sci_segment_destroy(gasneti_sci_segment_t *segment, uint32_t flags);

/*
 `gex_EP_Create`: the process has its one endpoint, so that this one would be too many.
 */
int gasneti_sci_ep_create(gasneti_sci_ep_t **ep_p,
                          gasneti_sci_client_object_t *client,
                          uint32_t capabilities,
                          uint32_t flags);

/*
 Binds a created segment to an endpoint that has none. Always checked, whatever the build.
 */
int gasneti_sci_ep_bind(gasneti_sci_ep_t *ep, gasneti_sci_segment_t *segment, uint32_t flags);

/*
 Tells the members of `tm` of the segments bound to `eps`. Contract: ex-core.md §8.3.
 */
int gasneti_sci_ep_publish(const gasneti_sci_tm_t *tm, gasneti_sci_ep_t *const *eps, size_t count, uint32_t flags);

/*
 Looks up the segment bound to the endpoint of `rank` of `tm`; 0: this process knows of none, and nothing was written.
 */
int gasneti_sci_bound_segment(const gasneti_sci_tm_t *tm,
                              uint32_t rank,
                              void **owner_p,
                              void **local_p,
                              size_t *size_p);

/*
 Adds handlers to an endpoint. Contract: ex-core.md §9.
 */
int gasneti_sci_ep_register(const gasneti_sci_ep_t *ep, gasneti_sci_am_entry_t *table, size_t count);

/*
 Fills `info` for the message whose handler runs. Returns the bits of what is valid: everything.
 */
uint32_t gasneti_sci_token_info(void *token, gasneti_sci_token_info_t *info, uint32_t mask);

/*
 Checks that `object` is one whose head begins with `magic`, and that it has not ended.
 */
void gasneti_sci_check_object(const char *name, const char *file, int line, const void *object, uint32_t magic);

/*
 Checks the arguments of `gex_TM_Pair`: `eps` is `GASNET_MAXEPS`.
 */
void gasneti_sci_check_pair(const char *name,
                            const char *file,
                            int line,
                            const gasneti_sci_ep_t *local,
                            uint32_t remote,
                            uint32_t eps);

/*
 Checks the arguments of a query of the largest payload.
 */
void gasneti_sci_check_limit(const char *name,
                             const char *file,
                             int line,
                             const gasneti_sci_tm_t *tm,
                             uint32_t rank,
                             uint32_t flags,
                             uint32_t numargs);

/*
 Checks that `sd` is a descriptor that this thread has open.
 */
void gasneti_sci_check_srcdesc(const char *name, const char *file, int line, const gasneti_sci_srcdesc_t *sd);

/*
 Checks that a message's call takes its `lc_opt`. `is_reply` is not 0 for a reply.
 */
void gasneti_sci_check_lc(const char *name, const char *file, int line, const void *lc_opt, int is_reply);

/*
 Checks that there are no `wrong` flags, those that the call does not take.
 */
void gasneti_sci_check_flags(const char *name, const char *file, int line, uint32_t wrong);

/*
 Opens this thread's descriptor for a request to `node`; NULL if there is no room and `flags` say not to wait.
 */
const gasneti_sci_srcdesc_t *gasneti_sci_npam_request(uint32_t what,
                                                      uint32_t node,
                                                      const void *client,
                                                      size_t least,
                                                      size_t most,
                                                      void *dest,
                                                      size_t *event,
                                                      uint32_t flags,
                                                      uint32_t numargs);

/*
 Opens this thread's descriptor for the reply to the request of `token`.
 */
const gasneti_sci_srcdesc_t *gasneti_sci_npam_reply(uint32_t what,
                                                    void *token,
                                                    const void *client,
                                                    size_t least,
                                                    size_t most,
                                                    void *dest,
                                                    size_t *event,
                                                    uint32_t numargs);

/*
 Sends the first `nbytes` bytes of a descriptor; 1 if there is no room and `flags` say not to wait, else 0.
 */
int gasneti_sci_npam_commit(uint32_t what,
                            const gasneti_sci_srcdesc_t *sd,
                            uint8_t handler,
                            size_t nbytes,
                            void *dest,
                            uint32_t flags,
                            const uint64_t *args,
                            uint32_t numargs);

/*
 Gives up a descriptor: nothing is sent. Always 0.
 */
int gasneti_sci_npam_cancel(uint32_t what, const gasneti_sci_srcdesc_t *sd);

/*
 Syncs an event if it is complete. `GASNET_OK`, or `GASNET_ERR_NOT_READY`. Serves no messages.
 */
int gasneti_sci_ex_test(size_t event);

/*
 Waits until an event is complete. Serves messages, at least once.
 */
void gasneti_sci_ex_wait(size_t event);

/*
 As `gasneti_sci_ex_test`, for `n` events: all of them, or one at least if `all` is 0. Complete ones become 0.
 */
int gasneti_sci_ex_test_array(size_t *events, size_t n, int all);

/*
 As `gasneti_sci_ex_wait`, for `n` events: all of them, or one at least if `all` is 0. Complete ones become 0.
 */
void gasneti_sci_ex_wait_array(size_t *events, size_t n, int all);

/*
 The leaf of `root` for one `GEX_EC_*`; 0 if that part is complete.
 */
size_t gasneti_sci_ex_leaf(size_t root, uint32_t category);

/*
 `GASNET_OK` if this thread's implicit operations of the categories are complete, else `GASNET_ERR_NOT_READY`.
 */
int gasneti_sci_ex_nbi_test(uint32_t mask);

/*
 Waits until this thread's implicit operations of the categories are complete. Serves messages, at least once.
 */
void gasneti_sci_ex_nbi_wait(uint32_t mask);

/*
 Opens an access region of this thread. Fatal if one is open.
 */
void gasneti_sci_ex_begin_region(void);

/*
 Closes the access region. The root of its operations, 0 if they are complete.
 */
size_t gasneti_sci_ex_end_region(void);

/*
 The debug checks of a transfer; an error ends the job. `form` is 1 for `PutNB`, 2 for `PutNBI`, whose `lc_opt` is checked; else 0.
 */
void gasneti_sci_ex_check_transfer(const char *name,
                                   const gasneti_sci_tm_t *tm,
                                   uint32_t rank,
                                   const void *address,
                                   size_t nbytes,
                                   int form,
                                   size_t *lc_opt,
                                   uint32_t flags);

/*
 Arms a handler: it is run at the target of this thread's next put, with a copy of `nbytes` bytes. 0 disarms.
 */
void gasneti_sci_ex_arm(uint8_t handler, const void *source, size_t nbytes);

/*
 Put from a list of pieces to a list of pieces. The root event, 0 if it is complete or has none, or `NO_OP`.
 */
size_t gasneti_sci_putv(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        uint32_t rank,
                        size_t dstcount,
                        const gasnet_memvec_t *dstlist,
                        size_t srccount,
                        const gasnet_memvec_t *srclist,
                        uint32_t flags);

/*
 Get from a list of pieces to a list of pieces; otherwise like `gasneti_sci_putv`.
 */
size_t gasneti_sci_getv(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        size_t dstcount,
                        const gasnet_memvec_t *dstlist,
                        uint32_t rank,
                        size_t srccount,
                        const gasnet_memvec_t *srclist,
                        uint32_t flags);

/*
 Put from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
 */
size_t gasneti_sci_puti(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        uint32_t rank,
                        size_t dstcount,
                        void *const *dstlist,
                        size_t dstlen,
                        size_t srccount,
                        void *const *srclist,
                        size_t srclen,
                        uint32_t flags);

/*
 Get from a list of addresses to a list of addresses; otherwise like `gasneti_sci_putv`.
 */
size_t gasneti_sci_geti(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        size_t dstcount,
                        void *const *dstlist,
                        size_t dstlen,
                        uint32_t rank,
                        size_t srccount,
                        void *const *srclist,
                        size_t srclen,
                        uint32_t flags);

/*
 Put of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
 */
size_t gasneti_sci_puts(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        uint32_t rank,
                        void *dstaddr,
                        const ptrdiff_t *dststrides,
                        const void *srcaddr,
                        const ptrdiff_t *srcstrides,
                        size_t elemsz,
                        const size_t *count,
                        size_t levels,
                        uint32_t flags);

/*
 Get of a regular section (strides and counts); otherwise like `gasneti_sci_putv`.
 */
size_t gasneti_sci_gets(uint32_t how,
                        const gasneti_sci_tm_t *tm,
                        void *dstaddr,
                        const ptrdiff_t *dststrides,
                        uint32_t rank,
                        const void *srcaddr,
                        const ptrdiff_t *srcstrides,
                        size_t elemsz,
                        const size_t *count,
                        size_t levels,
                        uint32_t flags);

/*
 Makes an atomic domain. It waits for nobody, because a message of a domain does not name it. With debug clients all members meet
 */
void gasneti_sci_ad_create(gasneti_sci_ad_t **ad_p,
                           gasneti_sci_tm_t *tm,
                           uint32_t dt,
                           uint32_t ops,
                           uint32_t flags);

/*
 Ends a domain. The client has synced its operations on all members.
 */
void gasneti_sci_ad_destroy(gasneti_sci_ad_t *ad);

/*
 An atomic operation on the word at `addr` of `rank`. The operands are bits. Returns an event, or 0 or 1 if `implicit`.
 */
size_t gasneti_sci_ad_op(const gasneti_sci_ad_t *ad,
                         void *result,
                         uint32_t rank,
                         void *addr,
                         uint32_t opcode,
                         uint64_t x,
                         uint64_t y,
                         uint32_t dt,
                         uint32_t flags,
                         int implicit);

/*
 Does an operation on a word that is mapped here, and returns the old bits. The header has found the word, and made sure that the
 */
uint64_t gasneti_sci_ad_word(void *word,
                             uint32_t opcode,
                             uint64_t x,
                             uint64_t y,
                             uint32_t dt);

/*
 `gex_TM_Split`: makes a team of the members with one color. In queries returns the size of scratch memory to grant.
 */
size_t gasneti_sci_ex_split(gasneti_sci_tm_t **new_tm_p,
                            gasneti_sci_tm_t *parent,
                            int color,
                            int key,
                            void *scratch,
                            size_t scratch_size,
                            uint32_t flags);

/*
 `gex_TM_Create`: makes teams of the members that are listed. In queries returns the size of scratch memory to grant.
 */
size_t gasneti_sci_ex_create(gasneti_sci_tm_t **new_tms,
                             size_t num_new_tms,
                             gasneti_sci_tm_t *parent,
                             const gasneti_sci_ep_location_t *args,
                             size_t numargs,
                             void **scratch_addrs,
                             size_t scratch_size,
                             uint32_t flags);

/*
 `gex_TM_Destroy`: ends a team. Returns 1 if the client had granted scratch memory and wants to know where.
 */
int gasneti_sci_ex_destroy(gasneti_sci_tm_t *tm, void **scratch_p, size_t *size_p, uint32_t flags);

/*
 `gex_TM_TranslateJobrankToRank`: `GEX_RANK_INVALID` if the process is not a member.
 */
uint32_t gasneti_sci_ex_rank(const gasneti_sci_tm_t *tm, uint32_t jobrank);

/*
 For debug clients: the place in the job of `rank` of `tm`, a team or a pair. Ends the job if there is no such rank.
 */
uint32_t gasneti_sci_ex_jobrank(const gasneti_sci_tm_t *tm, uint32_t rank);

/*
 `gex_Coll_BarrierNB`: returns the event, 0 if all members have arrived.
 */
size_t gasneti_sci_ex_barrier(const gasneti_sci_tm_t *tm, uint32_t flags);

/*
 `gex_Coll_BarrierBlocking`.
 */
void gasneti_sci_ex_barrier_blocking(const gasneti_sci_tm_t *tm, uint32_t flags);

/*
 `gex_Coll_BroadcastNB`: returns the event, 0 if it is complete.
 */
size_t gasneti_sci_ex_broadcast(const gasneti_sci_tm_t *tm,
                                uint32_t root,
                                void *dst,
                                const void *src,
                                size_t nbytes,
                                uint32_t flags);

/*
 `gex_Coll_ReduceToOneNB`: returns the event, 0 if it is complete.
 */
size_t gasneti_sci_ex_reduce(const gasneti_sci_tm_t *tm,
                             uint32_t root,
                             void *dst,
                             const void *src,
                             uint32_t dt,
                             size_t dt_sz,
                             size_t dt_cnt,
                             uint32_t op,
                             gasneti_sci_reduce_fn_t function,
                             void *cdata,
                             uint32_t flags);

/*
 `gex_Coll_ReduceToAllNB`: returns the event, 0 if it is complete.
 */
size_t gasneti_sci_ex_reduce_all(const gasneti_sci_tm_t *tm,
                                 void *dst,
                                 const void *src,
                                 uint32_t dt,
                                 size_t dt_sz,
                                 size_t dt_cnt,
                                 uint32_t op,
                                 gasneti_sci_reduce_fn_t function,
                                 void *cdata,
                                 uint32_t flags);

/*
 `gex_MK_Create`: refuses every class of devices. `filled` is 0 if the client gave no arguments.
 */
int gasneti_sci_mk_create(void **kind_p,
                          const gasneti_sci_client_object_t *client,
                          int filled,
                          uint64_t args_flags,
                          int class_,
                          uint32_t flags);

/*
 `gex_MK_Destroy`: ends the job, because no kind can be destroyed.
 */
void gasneti_sci_mk_destroy(void *kind, uint32_t _flags);

/*
 `gex_MK_SetCData` and `gex_MK_QueryCData`: ends the job, because no kind has such a pointer.
 */
void *gasneti_sci_mk_cdata(void *kind, const void *_val);

/*
 `gex_MK_QueryFlags`, `_QueryClient` and `_QueryClass`: ends the job, because no kind was made.
 */
size_t gasneti_sci_mk_query(void *kind);

/*
 Joins the job for a guest named `name`, or shares the program's. NULL, or the reason why neither is done; nothing was changed then.
 */
const char *gasneti_sci_guest_join(const char *name,
                                   int threaded,
                                   gasneti_sci_guest_t *to);

/*
 A guest that has joined leaves: what it sent arrives, and the launcher knows.
 */
void gasneti_sci_guest_leave(void);

#endif  /* GASNETI_SCI_ABI_H */
