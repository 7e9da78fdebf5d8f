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
 Bytes; segments are whole pages of this size.
 */
#define GASNETI_SCI_PAGESIZE 4096

/*
 Most nodes of a job: SCI node ids have 16 bits.
 */
#define GASNETI_SCI_MAXNODES 65536

/*
 Thread modes in [`super::g1::init::gasneti_sci_client_t`].
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
 Debug or not, in the same word.
 */
#define GASNETI_SCI_MODE_DEBUG 256

#define GASNETI_SCI_MODE_NDEBUG 512

/*
 Forms of vector, indexed and strided transfers.
 */
#define GASNETI_SCI_VIS_BLOCKING 0

#define GASNETI_SCI_VIS_NB 1

#define GASNETI_SCI_VIS_NBI 2

/*
 Rules that a debug client's call asks to be checked before it runs.
 */
#define GASNETI_SCI_RULE_NO_HANDLER 1

#define GASNETI_SCI_RULE_NO_LOCK 2

#define GASNETI_SCI_RULE_NO_NIS 4

#define GASNETI_SCI_RULE_ATTACHED 8

#define GASNETI_SCI_RULE_IN_HANDLER 16

/*
 `gasneti_magic` of `GASNET_HSL_INITIALIZER`.
 */
#define GASNETI_SCI_HSL_STATIC 1213418579

/*
 `gasneti_magic` after `gasnet_hsl_init`.
 */
#define GASNETI_SCI_HSL_INIT 1213418569

/*
 A look of a wait, which has a gap behind it, weighs as much as so many polls.
 */
#define GASNETI_SCI_WAIT_WEIGHT 4

/*
 Bytes from one slot to the next.
 */
#define GASNETI_SCI_SLOT_BYTES 128

/*
 Words of arguments that a Short of one line has at most, behind its first word.
 */
#define GASNETI_SCI_LINE_WORDS 7

/*
 Slots from the request that is sent to the one whose line is claimed, in a flood.
 */
#define GASNETI_SCI_CLAIM_AHEAD 8

/*
 The first word of a Short: a sequence, which is this bit and the lap below it, and from these bits on the handler's index
 */
#define GASNETI_SCI_META_SEQUENCE 32768

/*
 See `GASNETI_SCI_META_SEQUENCE`.
 */
#define GASNETI_SCI_META_HANDLER 16

/*
 See `GASNETI_SCI_META_SEQUENCE`.
 */
#define GASNETI_SCI_META_NUMARGS 24

/*
 `answered` of a request that has its reply.
 */
#define GASNETI_SCI_ANSWERED 1

/*
 In `gasneti_sci_reach_t.offset`: the node's segment is not mapped here, so that each transfer is a call.
 */
#define GASNETI_SCI_FAR 1

/*
 How a client object was compiled, as its headers tell.
 */
typedef struct {
  /*
   `GASNETI_SCI_MODE_*`: one thread mode, one segment mode, one of DEBUG and NDEBUG.
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
   Strings that tools look for in the executable; here so that the linker keeps them.
   */
  const char *ident;
} gasneti_sci_client_t;

/*
 `gasnet_handlerentry_t`, with the function as a plain pointer.
 */
typedef struct {
  /*
   0 = assign one, written back; else 128–255.
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
   Address of the segment at its owner; NULL = none.
   */
  void *addr;
  /*
   Bytes.
   */
  size_t size;
} gasnet_seginfo_t;

/*
 `gasnet_nodeinfo_t`.
 */
typedef struct {
  /*
   Physical machine, dense from 0 in rank order.
   */
  uint32_t host;
  /*
   Group of nodes that share memory through us, dense from 0 in rank order.
   */
  uint32_t supernode;
  /*
   What to add to an address in that node's segment to reach the byte from this process.
   */
  size_t offset;
} gasnet_nodeinfo_t;

/*
 `gasnet_hsl_t`. Release clients use `state` only; debug clients the rest as well.
 */
typedef struct {
  /*
   0 free, 1 locked, 2 locked with sleepers.
   */
  uint32_t gasneti_state;
  /*
   Says whether and how it was initialised.
   */
  uint32_t gasneti_magic;
  /*
   Own address, when initialised by call: tells a copy, or a leftover on the stack, from the lock.
   */
  void *gasneti_self;
  /*
   Thread that holds it.
   */
  size_t gasneti_holder;
  /*
   The lock that this thread took before.
   */
  void *gasneti_below;
  /*
   Milliseconds, monotonic: since when it is held.
   */
  uint64_t gasneti_since;
  /*
   Where it was taken.
   */
  const char *gasneti_file;
  /*
   See `gasneti_file`.
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
 One collective, as its caller wrote it. Of the addresses, those that the operation does not have are not looked at.
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
   Bytes of a block, or of an element.
   */
  size_t nbytes;
  /*
   Elements of a vector.
   */
  size_t count;
  /*
   Block size and offset of the destination, block size and offset of the source: all must be 0.
   */
  size_t layout[4];
  /*
   Which: 0 broadcast, 1 scatter, 2 gather, 3 gather_all, 4 exchange, 5 reduce, 6 scan.
   */
  uint32_t kind;
  /*
   1: lists (the M forms).
   */
  uint32_t lists;
  /*
   `GASNET_COLL_*`.
   */
  uint32_t flags;
  /*
   Root image.
   */
  uint32_t root;
  /*
   Index of the function.
   */
  int32_t func;
  /*
   Its argument.
   */
  int32_t func_arg;
} gasneti_sci_coll_call_t;

/*
 The way to one peer, for Shorts of one line.
 */
typedef struct {
  /*
   The first request slot at the peer, `GASNETI_SCI_SLOT_BYTES` each.
   */
  uint8_t *slots;
  /*
   Our ready counts at the peer: requests, then replies.
   */
  uint32_t *ready;
  /*
   Not 0 while the peer sleeps, or is about to.
   */
  const uint32_t *bell;
  /*
   Ring position behind the payload of the request in each slot.
   */
  uint64_t *ends;
  /*
   Ring position of the next payload.
   */
  const uint64_t *head;
  /*
   Requests sent.
   */
  uint32_t sent;
  /*
   Requests retired.
   */
  uint32_t retired;
  /*
   One less than the number of slots.
   */
  uint32_t mask;
  /*
   Its number of bits.
   */
  uint32_t shift;
  /*
   Requests that may be outstanding; 0 where each is a call.
   */
  uint32_t room;
  /*
   Not 0: a message of the peer was run since the last request to it.
   */
  uint32_t heard;
} gasneti_sci_way_t;

/*
 The head of a request's token.
 */
typedef struct {
  /*
   Where the reply goes; null when it is a call, and once there was one.
   */
  uint64_t *slot;
  /*
   The way to the requester.
   */
  const gasneti_sci_way_t *way;
  /*
   What the reply's meta word begins with.
   */
  uint32_t sequence;
  /*
   Replies to the requester, this one included.
   */
  uint32_t count;
  /*
   0 before there is an answer; `GASNETI_SCI_ANSWERED`.
   */
  uint8_t answered;
} gasneti_sci_answer_t;

/*
 What a poll in vain looks at.
 */
typedef struct {
  /*
   Polls that may look here and nowhere else, before one is a call.
   */
  uint32_t left;
  /*
   Those of them that pause first.
   */
  uint32_t pauses;
  /*
   A wait that has failed so often, or more, is a call.
   */
  uint32_t spins;
  /*
   Low half of the next request's meta word.
   */
  uint16_t request_sequence;
  /*
   Low half of the next reply's meta word.
   */
  uint16_t reply_sequence;
  /*
   Slot of the next request.
   */
  const uint64_t *request;
  /*
   Slot of the next reply.
   */
  const uint64_t *reply;
  /*
   Pauses between two looks.
   */
  uint32_t gap;
} gasneti_sci_watch_t;

/*
 What is sent and looked for inline. Filled by attach, constant afterwards.
 */
typedef struct {
  /*
   Where the ways to the nodes are told; null for a node to which each message is a call.
   */
  gasneti_sci_way_t *const *ways;
  /*
   The token of a request's handler, if it may be answered inline.
   */
  gasneti_sci_answer_t *answer;
  /*
   What polls look at.
   */
  gasneti_sci_watch_t *watch;
  /*
   Number of nodes; 0 where each message is a call.
   */
  uint32_t nodes;
} gasneti_sci_direct_t;

/*
 What the header's inline transfers need to know. Filled by attach, constant afterwards.
 */
typedef struct {
  /*
   Nodes below this one have their segments mapped here at their own addresses.
   */
  uint32_t window;
  /*
   Number of nodes that `offset` knows; 0 where every transfer is a call.
   */
  uint32_t mapped;
  /*
   What to add to an address in each node's segment, or `GASNETI_SCI_FAR`.
   */
  const size_t *offset;
  /*
   Not 0: the segments of all nodes are mapped, so that the handle of a value get is the value.
   */
  uint32_t whole;
} gasneti_sci_reach_t;

/*
 `gasnet_max_segsize`: a client may define its own, which then is the one its header passes to init.
 */
extern uint64_t gasnet_max_segsize;

/*
 `gasnet_client_attach_hook`: called by attach with the local segment, if set.
 */
extern void (*gasnet_client_attach_hook)(void*, size_t);

/*
 See [`gasneti_sci_direct_t`].
 */
extern gasneti_sci_direct_t gasneti_sci_direct;

/*
 See [`gasneti_sci_reach_t`].
 */
extern gasneti_sci_reach_t gasneti_sci_reach;

/*
 Bytes from which a non-blocking put whose source stays, or get, is a call: it may be the DMA thread's. The largest number
 */
extern size_t gasneti_sci_queued;

/*
 Vector, indexed and strided transfers of so many pieces or fewer, of a few common sizes, are inline; 0 where every one
 */
extern size_t gasneti_sci_few;

/*
 Called by a constructor in every client object: its modes. The name carries the version of the ABI, so that headers of
 */
void gasneti_sci_object_0_1(uint32_t modes);

/*
 Joins the job. `argc` and `argv` are left as they are. Contract: core.md §6.1.
 */
int gasneti_sci_init(int *argc, char ***argv, const gasneti_sci_client_t *client);

/*
 Registers the handlers and creates the segment. Contract: core.md §6.2.
 */
int gasneti_sci_attach(gasneti_sci_handlerentry_t *table, int numentries, size_t segsize, size_t minheapoffset);

/*
 Ends the job with `code`. Any thread, any time after init. Contract: core.md §6.3.
 */
void gasneti_sci_exit(int code) GASNETI_SCI_NORETURN;

/*
 Ends the job with a line `*** FATAL ERROR: …`. `text` is a C string.
 */
void gasneti_sci_fatal(const char *text) GASNETI_SCI_NORETURN;

/*
 Own rank, 0 … nodes − 1. From init on.
 */
uint32_t gasneti_sci_mynode(void);

/*
 Number of nodes. From init on.
 */
uint32_t gasneti_sci_nodes(void);

/*
 Bytes; the largest segment that this node may ask for.
 */
size_t gasneti_sci_max_local_segment(void);

/*
 Bytes; the least of all nodes' largest segments.
 */
size_t gasneti_sci_max_global_segment(void);

/*
 Fills the first `n` entries of `table`, as many as there are nodes at the most. After attach.
 */
int gasneti_sci_segment_info(gasnet_seginfo_t *table, int n);

/*
 As [`gasneti_sci_segment_info`], about hosts and supernodes. From init on; offsets are 0 before attach.
 */
int gasneti_sci_node_info(gasnet_nodeinfo_t *table, int n);

/*
 `getenv` on the job's environment: node 0's when it called init, the same on all nodes; what that lacks is looked for in
 */
char *gasneti_sci_getenv(const char *name);

/*
 Name of this host, never NULL. Any time, any thread.
 */
const char *gasneti_sci_gethostname(void);

/*
 `gasnet_set_waitmode`. From init on.
 */
int gasneti_sci_set_waitmode(int mode);

/*
 Name of an error code, `"*unknown*"` for other numbers. Any time, anywhere.
 */
const char *gasneti_sci_error_name(int code);

/*
 Description of an error code. Any time, anywhere.
 */
const char *gasneti_sci_error_desc(int code);

/*
 A value that differs between live threads and is never NULL (`GASNET_GET_THREADINFO` in PAR and PARSYNC).
 */
void *gasneti_sci_thread_info(void);

/*
 Waits until the lock is free, and takes it. Runs no handlers: the caller may be one.
 */
void gasneti_sci_hsl_lock(gasnet_hsl_t *hsl);

/*
 Takes the lock if it is free: 1, else 0. Never waits.
 */
int32_t gasneti_sci_hsl_trylock(gasnet_hsl_t *hsl);

/*
 Releases the lock and wakes sleepers.
 */
void gasneti_sci_hsl_unlock(gasnet_hsl_t *hsl);

/*
 Checks `rules` (`GASNETI_SCI_RULE_*`) for the call `name`; a broken one is fatal. What the library finds later in the
 */
void gasneti_sci_check(const char *name, const char *file, int line, uint32_t rules);

/*
 Checks that `token` may be answered now; else fatal.
 */
void gasneti_sci_check_reply(const char *name, const char *file, int line, void *token);

/*
 Starts a no-interrupt section. Ignored in handlers and while holding a lock.
 */
void gasneti_sci_hold_debug(const char *file, int line);

/*
 Ends it.
 */
void gasneti_sci_resume_debug(const char *file, int line);

/*
 `gasnet_hsl_init`; on a live lock fatal.
 */
void gasneti_sci_hsl_init_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_destroy`; on a locked or uninitialised lock fatal.
 */
void gasneti_sci_hsl_destroy_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_lock`; recursion is fatal.
 */
void gasneti_sci_hsl_lock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_trylock`: 1 when taken; recursion is fatal.
 */
int gasneti_sci_hsl_trylock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 `gasnet_hsl_unlock`; of a free lock, by another thread or out of order fatal.
 */
void gasneti_sci_hsl_unlock_debug(gasnet_hsl_t *hsl, const char *file, int line);

/*
 A poll that has seen a message of the peer that is watched: a reply, or a request. Always `GASNET_OK`.
 */
int gasneti_sci_poll_watched(int is_reply);

/*
 As `gasneti_sci_wait_step`, after a look that has seen a message of the peer that is watched.
 */
uint32_t gasneti_sci_wait_watched(uint32_t failed, int is_reply);

/*
 Wakes the peer at the end of `way`.
 */
void gasneti_sci_wake(const void *way);

/*
 Short request to `node`: `numargs` (0–16) arguments, two per word, no payload. Contract: core.md §9.4.
 */
int gasneti_sci_request_short(uint32_t node, uint8_t handler, const uint64_t *args, uint32_t numargs);

/*
 Medium request: `nbytes` (up to `GASNETI_SCI_MAX_MEDIUM`) bytes from `src`, free for reuse at return.
 */
int gasneti_sci_request_medium(uint32_t node,
                               uint8_t handler,
                               const void *src,
                               size_t nbytes,
                               const uint64_t *args,
                               uint32_t numargs);

/*
 Long request: `nbytes` (up to `GASNETI_SCI_MAX_LONG`) bytes from `src` to `dest_addr` in the segment of `node`. Serves
 */
int gasneti_sci_request_long(uint32_t node,
                             uint8_t handler,
                             const void *src,
                             size_t nbytes,
                             void *dest_addr,
                             const uint64_t *args,
                             uint32_t numargs);

/*
 Short reply to the request that `token` stands for. In its handler only, once. Contract: core.md §9.5.
 */
int gasneti_sci_reply_short(void *token, uint8_t handler, const uint64_t *args, uint32_t numargs);

/*
 Medium reply; `src` is free for reuse at return, and may be the request's own buffer.
 */
int gasneti_sci_reply_medium(void *token,
                             uint8_t handler,
                             const void *src,
                             size_t nbytes,
                             const uint64_t *args,
                             uint32_t numargs);

/*
 Long reply to `dest_addr` in the requester's segment.
 */
int gasneti_sci_reply_long(void *token,
                           uint8_t handler,
                           const void *src,
                           size_t nbytes,
                           void *dest_addr,
                           const uint64_t *args,
                           uint32_t numargs);

/*
 Stores the rank of the sender of the message that `token` stands for. In its handler, any number of times.
 */
int gasneti_sci_msg_source(void *token, uint32_t *node);

/*
 Serves incoming messages: runs zero or more handlers, bounded work. Not in handlers.
 */
int gasneti_sci_poll(void);

/*
 One step of `GASNET_BLOCKUNTIL`: polls, then pauses, yields or sleeps (at most a millisecond), according to `failed`,
 */
uint32_t gasneti_sci_wait_step(uint32_t failed);

/*
 Announces arrival. Never blocks. Misuse is fatal.
 */
void gasneti_sci_barrier_notify(int id, int flags);

/*
 `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH` once everybody has arrived, serving messages meanwhile.
 */
int gasneti_sci_barrier_wait(int id, int flags);

/*
 As wait, but `GASNET_ERR_NOT_READY` at once while somebody is missing. Polls.
 */
int gasneti_sci_barrier_try(int id, int flags);

/*
 Notify and wait in one.
 */
int gasneti_sci_barrier(int id, int flags);

/*
 0, and the name in `id`, when the last phase was named; else non-zero.
 */
int gasneti_sci_barrier_result(int *id);

extern void *memmove(void *to, const void *from, size_t nbytes);

/*
 Copies bytes. Source and target may be the same memory; if they overlap in part, the bytes that arrive are undefined.
 */
void gasneti_sci_memcpy(void *to, const void *from, size_t nbytes);

/*
 Blocking put.
 */
void gasneti_sci_put(uint32_t node, void *dest, const void *src, size_t nbytes);

/*
 Blocking get.
 */
void gasneti_sci_get(void *dest, uint32_t node, const void *src, size_t nbytes);

/*
 Blocking memset; the low byte of `val`.
 */
void gasneti_sci_memset(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Put with an explicit handle; 0 when complete. The source is free for reuse at return.
 */
size_t gasneti_sci_put_nb(uint32_t node, void *dest, const void *src, size_t nbytes);

/*
 As [`gasneti_sci_put_nb`], but the source must not change until the handle is synced.
 */
size_t gasneti_sci_put_nb_bulk(uint32_t node, void *dest, const void *src, size_t nbytes);

/*
 Get with an explicit handle.
 */
size_t gasneti_sci_get_nb(void *dest, uint32_t node, const void *src, size_t nbytes);

/*
 Memset with an explicit handle.
 */
size_t gasneti_sci_memset_nb(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Put counted by this thread's implicit set, or its open region.
 */
void gasneti_sci_put_nbi(uint32_t node, void *dest, const void *src, size_t nbytes);

/*
 As [`gasneti_sci_put_nbi`], but the source must not change until it is synced.
 */
void gasneti_sci_put_nbi_bulk(uint32_t node, void *dest, const void *src, size_t nbytes);

/*
 Get counted by this thread's implicit set, or its open region.
 */
void gasneti_sci_get_nbi(void *dest, uint32_t node, const void *src, size_t nbytes);

/*
 Memset counted by this thread's implicit puts, or its open region.
 */
void gasneti_sci_memset_nbi(uint32_t node, void *dest, int val, size_t nbytes);

/*
 Starts a value get of 1 to 8 bytes, as the header has checked; to be waited for once.
 */
uint64_t gasneti_sci_get_nb_val(uint32_t node, const void *src, size_t nbytes);

/*
 The value form `name` was called with an impossible size: ends the job.
 */
void gasneti_sci_bad_value(const char *name, size_t nbytes) GASNETI_SCI_NORETURN;

/*
 Serves messages, in normal client code; does nothing in a handler. The header's inline transfers call it now and then.
 */
void gasneti_sci_tick_poll(void);

/*
 Waits for a value get.
 */
uint64_t gasneti_sci_wait_valget(uint64_t handle);

/*
 `GASNET_OK` and the handle is dead, or `GASNET_ERR_NOT_READY`. `poll`: serve messages first.
 */
int gasneti_sci_try_nb(size_t handle, int poll);

/*
 Waits for one handle.
 */
void gasneti_sci_wait_nb(size_t handle);

/*
 `all` or some of `n` handles: `GASNET_OK` or `GASNET_ERR_NOT_READY`; complete ones are overwritten.
 */
int gasneti_sci_try_array(size_t *handles, size_t n, int all, int poll);

/*
 Waits for all, or for one at least, of `n` handles.
 */
void gasneti_sci_wait_array(size_t *handles, size_t n, int all);

/*
 `sets`: 1 puts, 2 gets, 3 both. `GASNET_OK` when none of this thread's implicit operations is in flight.
 */
int gasneti_sci_try_nbi(int sets);

/*
 Waits for this thread's implicit operations.
 */
void gasneti_sci_wait_nbi(int sets);

/*
 Opens an access region.
 */
void gasneti_sci_begin_region(void);

/*
 Closes it: the handle of what was started inside, 0 when that is complete.
 */
size_t gasneti_sci_end_region(void);

/*
 Ends the job unless `[address, address + nbytes)` is in `node`'s segment; debug clients' inline transfers ask.
 */
void gasneti_sci_check_range(const char *name, uint32_t node, const void *address, size_t nbytes);

/*
 Put from a list of pieces to a list of pieces; `how` is `GASNETI_SCI_VIS_*`. The lists are free for reuse at return.
 */
size_t gasneti_sci_putv(uint32_t how,
                        uint32_t node,
                        size_t dstcount,
                        const gasnet_memvec_t *dstlist,
                        size_t srccount,
                        const gasnet_memvec_t *srclist);

/*
 Get; otherwise as [`gasneti_sci_putv`].
 */
size_t gasneti_sci_getv(uint32_t how,
                        size_t dstcount,
                        const gasnet_memvec_t *dstlist,
                        uint32_t node,
                        size_t srccount,
                        const gasnet_memvec_t *srclist);

/*
 Put from a list of addresses to a list of addresses; otherwise as [`gasneti_sci_putv`].
 */
size_t gasneti_sci_puti(uint32_t how,
                        uint32_t node,
                        size_t dstcount,
                        void *const *dstlist,
                        size_t dstlen,
                        size_t srccount,
                        void *const *srclist,
                        size_t srclen);

/*
 Get; otherwise as [`gasneti_sci_puti`].
 */
size_t gasneti_sci_geti(uint32_t how,
                        size_t dstcount,
                        void *const *dstlist,
                        size_t dstlen,
                        uint32_t node,
                        size_t srccount,
                        void *const *srclist,
                        size_t srclen);

/*
 Put of a regular section; otherwise as [`gasneti_sci_putv`].
 */
size_t gasneti_sci_puts(uint32_t how,
                        uint32_t node,
                        void *dstaddr,
                        const size_t *dststrides,
                        const void *srcaddr,
                        const size_t *srcstrides,
                        const size_t *count,
                        size_t levels);

/*
 Get; otherwise as [`gasneti_sci_puts`].
 */
size_t gasneti_sci_gets(uint32_t how,
                        void *dstaddr,
                        const size_t *dststrides,
                        uint32_t node,
                        const void *srcaddr,
                        const size_t *srcstrides,
                        const size_t *count,
                        size_t levels);

/*
 `put` is not 0 when the destination is the remote side.
 */
void gasneti_sci_check_vector(const char *name,
                              int put,
                              uint32_t node,
                              size_t dstcount,
                              const gasnet_memvec_t *dstlist,
                              size_t srccount,
                              const gasnet_memvec_t *srclist);

/*
 As [`gasneti_sci_check_vector`].
 */
void gasneti_sci_check_indexed(const char *name,
                               int put,
                               uint32_t node,
                               size_t dstcount,
                               void *const *dstlist,
                               size_t dstlen,
                               size_t srccount,
                               void *const *srclist,
                               size_t srclen);

/*
 As [`gasneti_sci_check_vector`].
 */
void gasneti_sci_check_strided(const char *name,
                               int put,
                               uint32_t node,
                               const void *dstaddr,
                               const size_t *dststrides,
                               const void *srcaddr,
                               const size_t *srcstrides,
                               const size_t *count,
                               size_t levels);

/*
 A debug client is about to make the call `name`: as `gasneti_sci_check`, and remembers the place.
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
 Does a collective. Non-blocking: the handle, 0 when it is done.
 */
size_t gasneti_sci_coll_run(const gasneti_sci_coll_call_t *call, int blocking);

/*
 `GASNET_OK` and the handle is dead, or `GASNET_ERR_NOT_READY`. Polls.
 */
int gasneti_sci_coll_try(size_t handle);

/*
 Waits for one handle.
 */
void gasneti_sci_coll_wait(size_t handle);

/*
 `all` or some of `n` handles: `GASNET_OK` or `GASNET_ERR_NOT_READY`; those done are overwritten. Polls.
 */
int gasneti_sci_coll_try_array(size_t *handles, size_t n, int all);

/*
 Waits for all, or for one at least, of `n` handles.
 */
void gasneti_sci_coll_wait_array(size_t *handles, size_t n, int all);

/*
 `gasnet_coll_loadTuningState`: there is one table of algorithms, and it is not tuned; but a file that is not there is an
 */
void gasneti_sci_coll_load(const char *name,
                           size_t team);

/*
 Splits `parent` by `color`; the handle of the caller's new team. Blocks until all members have called.
 */
size_t gasneti_sci_team_split(size_t parent, uint32_t color, uint32_t relrank, const void *clientdata);

/*
 Ends a team. All its members call; blocks until they have.
 */
void gasneti_sci_team_free(size_t team);

/*
 Number of members.
 */
uint32_t gasneti_sci_team_size(size_t handle);

/*
 Node of the member with that rank.
 */
uint32_t gasneti_sci_team_node(size_t handle, int rank);

/*
 Rank of a node; one that is no member is fatal.
 */
uint32_t gasneti_sci_team_rank(size_t handle, uint32_t node);

/*
 Announces arrival at the team's barrier. Never blocks; with IMAGES, when all images of the node have called.
 */
void gasneti_sci_team_notify(size_t team, int id, int flags);

/*
 `GASNET_OK` or `GASNET_ERR_BARRIER_MISMATCH` once all members have arrived.
 */
int gasneti_sci_team_wait(size_t team, int id, int flags);

/*
 As wait, but `GASNET_ERR_NOT_READY` at once while somebody is missing. Polls.
 */
int gasneti_sci_team_try(size_t team, int id, int flags);

/*
 Notify and wait in one.
 */
int gasneti_sci_team_barrier(size_t team, int id, int flags);

/*
 0, and the name in `id`, when the last phase was named; else non-zero.
 */
int gasneti_sci_team_result(size_t team, int *id);

#endif  /* GASNETI_SCI_ABI_H */
