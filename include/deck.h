/* gasnet-sci: DECK, mail boxes between the nodes of a job (contract: deck.md; how to begin: docs/deck.md).
 *
 * A mail box has one owner, who retrieves messages, and any number of senders, who post them. Boxes may have names, by which senders
 * find them. Messages of one sending thread to one box arrive in their order, whatever their lengths.
 *
 * A program may use DECK alone: deck_init then joins the job that gasnetrun_sci started, or starts one. It may use it beside
 * GASNet: then deck_init comes after gasnet_attach (or gex_Client_Init), in any thread mode. Any poll of either side carries on both.
 *
 * Calls return 0, or a negative DECK_E... Results come last. Times are in nanoseconds: DECK_FOREVER waits without limit, 0 tries. A call
 * that waits serves messages meanwhile. No call is allowed in AM handlers (DECK_EARG). Unless something else is said, every call needs
 * deck_init before it, and is refused after deck_done (DECK_EINIT); NULL for an object or a result is DECK_EARG. */
#ifndef DECK_H
#define DECK_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define DECK_VERSION_MAJOR 1
#define DECK_VERSION_MINOR 0

typedef struct deck_msg *deck_msg_t;
typedef struct deck_mbox *deck_mbox_t;
typedef struct deck_sem *deck_sem_t;
typedef struct deck_thread *deck_thread_t;
typedef int64_t deck_time_t;
#define DECK_FOREVER INT64_C(-1)

/* ---- errors ---- */
#define DECK_EAGAIN (-1)    /* it would have to wait, and the time was 0 */
#define DECK_ETIMEDOUT (-2) /* the time is over; nothing was done, nor will be later */
#define DECK_EEXIST (-3)    /* a box has that name */
#define DECK_EGONE (-4)     /* the box was destroyed */
#define DECK_EPEER (-5)     /* a node that is needed is lost; only in jobs of gasnetrun_sci --survive, as others end then */
#define DECK_EPLACE (-6)    /* a message of another place is needed */
#define DECK_ETRUNC (-7)    /* too small for what should go in; nothing was lost */
#define DECK_ETYPE (-8)     /* what comes next in the message is of another type or count */
#define DECK_ENOMEM (-9)    /* memory, the DECK heap or the boxes of a node are used up; a line on stderr says which */
#define DECK_EMODE (-10)    /* only in GASNET_PAR, and in programs of DECK alone */
#define DECK_EINIT (-11)    /* deck_init has not been called, or deck_done has */
#define DECK_EARG (-12)     /* an argument is none that the call takes */
#define DECK_ETWICE (-13)   /* deck_init was called before */
/* What an error means, in English. For 0 and numbers that are no errors, too. Allowed at any time. */
const char *deck_strerror(int error);

/* ---- job ---- */
/* Begins; all nodes call. argc and argv are those of main, or NULL. Beside GASNet before its attach: DECK_EINIT. DECK_ETWICE; DECK_ENOMEM. */
int deck_init(int *argc, char ***argv);
/* Ends; all nodes call. Waits until all nodes that live do, and destroys this node's boxes. Messages that the program still has stay readable.
 * Calls of other threads that wait end: DECK_EGONE if their box goes, else DECK_EINIT. */
int deck_done(void);
/* This node, from 0; how many there are. */
int deck_node(void);
int deck_nodes(void);
/* "major.minor" of this interface, and the library. Allowed at any time. */
const char *deck_version(void);

/* ---- threads and semaphores of this process. Threads: DECK_EMODE in GASNET_SEQ and GASNET_PARSYNC ---- */
/* Runs fn(arg) in a thread of its own. Every thread must be joined once. */
int deck_thread_create(void *(*fn)(void *), void *arg, deck_thread_t *thread);
/* Waits for its end, and serves messages meanwhile; result (or NULL) gets what fn returned. */
int deck_thread_join(deck_thread_t thread, void **result);
/* Gives other threads a turn, and serves messages. Allowed in GASNET_SEQ. */
int deck_thread_yield(void);
/* The calling thread, if deck_thread_create made it; else NULL. Allowed in GASNET_SEQ, and at any time. */
deck_thread_t deck_thread_self(void);
/* A counting semaphore. Threads get it in the order in which they came. Allowed in GASNET_SEQ. */
int deck_sem_create(unsigned value, deck_sem_t *sem);
int deck_sem_destroy(deck_sem_t sem);
/* Takes one from the value, or waits until it can. Timed: DECK_ETIMEDOUT, or DECK_EAGAIN for a time of 0. */
int deck_sem_p(deck_sem_t sem);
int deck_sem_p_timed(deck_sem_t sem, deck_time_t time);
/* Lets one waiting thread go on, or adds one to the value. Does not wait. */
int deck_sem_v(deck_sem_t sem);

/* ---- messages ---- */
enum {
  DECK_AUTO,      /* the library chooses by the capacity */
  DECK_LOCAL,     /* memory of this process */
  DECK_SHARED,    /* memory of the node's DECK heap, which the nodes of a host share: deck_mbox_give does not copy it */
  DECK_FIXED = 16 /* added to one of them: the address stays, so that what is retrieved is copied there */
};
/* A message of up to capacity bytes, of size 0. DECK_ENOMEM. */
int deck_msg_create(size_t capacity, int place, deck_msg_t *msg);
/* Of a message that was taken: its memory goes back to the sender. */
int deck_msg_destroy(deck_msg_t msg);
/* Its bytes, aligned to 16; size is how many count; capacity is how many there are. Allowed at any time; of NULL: NULL and 0.
 * The address holds until the message is retrieved into, given or destroyed, or one of the calls below needs more than the capacity of a
 * message that was retrieved. A program that writes the bytes itself sets the size first, and then asks for the address. */
void *deck_msg_data(deck_msg_t msg);
size_t deck_msg_size(deck_msg_t msg);
size_t deck_msg_capacity(deck_msg_t msg);
/* The node that posted it; DECK_EARG if it was not retrieved. */
int deck_msg_source(deck_msg_t msg);
/* How many bytes count. DECK_ETRUNC above the capacity. This call and those that pack always have the capacity that deck_msg_create was asked
 * for: where the memory that a retrieved message came in is smaller, they get more (DECK_ENOMEM), and keep the content. */
int deck_msg_set_size(deck_msg_t msg, size_t size);
/* Size 0; the next pack and unpack begin at the front. */
int deck_msg_clear(deck_msg_t msg);
/* The next unpack begins at the front. */
int deck_msg_rewind(deck_msg_t msg);

/* Types of what is packed and reduced. */
enum {
  DECK_BYTE = 1,
  DECK_INT8,
  DECK_UINT8,
  DECK_INT16,
  DECK_UINT16,
  DECK_INT32,
  DECK_UINT32,
  DECK_INT64,
  DECK_UINT64,
  DECK_FLOAT,
  DECK_DOUBLE
};
/* Adds count elements behind what is packed: 8 bytes, and the elements, filled up to 8. DECK_ETRUNC if the message is too small. */
int deck_msg_pack(deck_msg_t msg, const void *from, int type, size_t count);
/* Takes what was packed next. DECK_ETYPE if type or count differ; then nothing is taken. */
int deck_msg_unpack(deck_msg_t msg, void *to, int type, size_t count);
/* Adds a text. DECK_ETRUNC as above. */
int deck_msg_pack_str(deck_msg_t msg, const char *text);
/* Takes the text that was packed next, and adds a 0 byte. DECK_ETYPE if it is no text; DECK_ETRUNC if room is less than that. */
int deck_msg_unpack_str(deck_msg_t msg, char *to, size_t room);
/* Adds a box, to which the receiver may post. Unpacking makes a sender's handle, which is to be destroyed. DECK_ETRUNC, DECK_ETYPE. */
int deck_msg_pack_mbox(deck_msg_t msg, deck_mbox_t mbox);
int deck_msg_unpack_mbox(deck_msg_t msg, deck_mbox_t *mbox);

/* ---- mail boxes ---- */
/* size is sizeof(deck_mbox_attr_t). A box holds at most so many messages (1 to 2^31), and so many bytes (1 to 2^48): one message may be
 * longer, alone. */
typedef struct {
  size_t size, capacity_bytes, capacity_msgs;
} deck_mbox_attr_t;
/* A box of this node, with a name of 1 to 63 bytes that the job has once, or without (NULL). attr NULL: 16 MiB, 1024 messages.
 * DECK_EEXIST; DECK_ENOMEM for more than GASNET_SCI_DECK_BOXES at a node. */
int deck_mbox_create(const char *name_or_null, const deck_mbox_attr_t *attr, deck_mbox_t *mbox);
/* A sender's handle of the box of this name. Waits until it is created: DECK_EAGAIN, DECK_ETIMEDOUT. With time 0, too, it waits for the answer
 * of the node that keeps the name; with another time 50 microseconds at least. The owner may post to it, too. */
int deck_mbox_clone(const char *name, deck_time_t time, deck_mbox_t *mbox);
/* The owner's handle: the box is gone, what it holds is discarded, senders get DECK_EGONE. Another handle: only that. The owner of a box with a
 * name waits for the node that keeps the name. */
int deck_mbox_destroy(deck_mbox_t mbox);
/* Puts a copy of the message into the box; the message may be used again at return. Waits while the box is full. DECK_EGONE;
 * DECK_EPEER: the owner is lost, the message is not delivered. A node that posts to another one's box for the first time, or has used its
 * share of the room, asks the owner, also if there is room. With time 0 it waits 50 microseconds at most for the answer. Without one it is
 * DECK_EAGAIN, too. A shorter time counts as 50 microseconds then. A long message to another host that has begun is sent whole, also if the time
 * is over meanwhile. */
int deck_mbox_post(deck_mbox_t mbox, deck_msg_t msg);
int deck_mbox_post_timed(deck_mbox_t mbox, deck_msg_t msg, deck_time_t time);
/* Retrieves the oldest message of one of the senders, who have their turns, into msg. Owner only (DECK_EARG). Unless msg is
 * DECK_FIXED, its memory may be another one afterwards, and what lies behind its size is not defined. DECK_ETRUNC: it is
 * DECK_FIXED and too small; the message stays in the box. DECK_EGONE: another thread has destroyed the box meanwhile. */
int deck_mbox_retrv(deck_mbox_t mbox, deck_msg_t msg);
int deck_mbox_retrv_timed(deck_mbox_t mbox, deck_msg_t msg, deck_time_t time);
/* As post, but the message itself goes, and *msg is NULL at success. A message in shared memory is not copied to a node of the same
 * host. DECK_EPLACE: a local one as long as GASNET_SCI_DECK_MSG_BUF_LIMIT or longer, which was not retrieved. */
int deck_mbox_give(deck_mbox_t mbox, deck_msg_t *msg, deck_time_t time);
/* As retrieve, into a message that the call makes. It may be written, and given on. */
int deck_mbox_take(deck_mbox_t mbox, deck_msg_t *msg, deck_time_t time);
/* Waits until one of n boxes of this node has a message; which gets its index, from 0. Boxes that always have one are named in turn.
 * DECK_EAGAIN, DECK_ETIMEDOUT; DECK_EGONE: another thread has destroyed one of them meanwhile. */
int deck_mbox_select(deck_mbox_t const *set, int n, deck_time_t time, int *which);
/* How many messages the box has. Owner only. Serves messages, and does not wait. */
int deck_mbox_pending(deck_mbox_t mbox);
/* A descriptor for poll(2): readable while messages wait. It belongs to the box. The first call starts a thread that serves the
 * network while the program sleeps in poll; hence DECK_EMODE in GASNET_SEQ and GASNET_PARSYNC. */
int deck_mbox_fd(deck_mbox_t mbox);

/* ---- all nodes: collective. DECK_EPEER once a node is lost ---- */
enum { DECK_SUM = 1, DECK_PROD, DECK_MIN, DECK_MAX, DECK_AND, DECK_OR, DECK_XOR };
int deck_barrier(void);
/* Bytes of root's buffer to all others'. */
int deck_bcast(void *buffer, size_t bytes, int root);
/* bytes of each node, by rank, to root's to; and back. */
int deck_gather(const void *from, size_t bytes, void *to, int root);
int deck_scatter(const void *from, void *to, size_t bytes, int root);
/* Element by element. DECK_AND, OR and XOR take integers; DECK_BYTE counts as DECK_UINT8. */
int deck_reduce(const void *from, void *to, int type, size_t count, int op, int root);

/* ---- tasks: programs that a node starts while the job runs. They are supervised, but no nodes ---- */
/* Places besides that of a node: the host after that of the last call; the host with the fewest nodes and tasks for its processors. */
#define DECK_NEXT (-1)
#define DECK_LEAST (-2)
/* Starts n (1 to 4,096) processes of a program on the host of node place, or at DECK_NEXT or DECK_LEAST. tasks gets n numbers, by which any
 * node may wait. All start, or none: DECK_EARG (no such program or place, or no supervisor: there is one under gasnetrun_sci, and in a job
 * that forked its nodes), DECK_ENOMEM (no more processes); a line on stderr says why. A prog without a slash is searched for in PATH. argv
 * ends with NULL; NULL stands for prog alone. The processes get this one's environment and directory and no input. What they print goes
 * where the nodes' output goes. They are killed if they still run when the nodes of their host have ended. Serves messages while it waits. */
int deck_spawn(const char *prog, char *const argv[], int n, int place, int *tasks);
/* Waits for the end of a task, of which any node is told once. status (or NULL) is as from waitpid(2): WIFEXITED, WTERMSIG. DECK_EARG: no
 * such task, its end was told before, or another call waits for it. Serves messages meanwhile. */
int deck_wait(int task, int *status);

#ifdef __cplusplus
}
#endif

/* Clients compiled with DECK_DEBUG, or with GASNET_DEBUG, are told where they misuse a call. */
#if defined(DECK_DEBUG) || defined(GASNET_DEBUG)
#include <deck_debug.h>
#endif
#endif
