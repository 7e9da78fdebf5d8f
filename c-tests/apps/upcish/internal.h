/* Declarations that the files of the runtime share, and the part of GASNet that they use. */
#ifndef UPCISH_INTERNAL_H
#define UPCISH_INTERNAL_H

#include "upcish.h"

#include <gasnet.h>

/* Indices of our handlers; each file registers its own. */
enum {
  H_LOCK_ASK = 200,
  H_LOCK_TOLD,
  H_LOCK_FOLLOW,
  H_LOCK_GRANT,
  H_UNLOCK_ASK,
  H_REDUCE_UP,
  H_REDUCE_DOWN,
  H_BROADCAST
};

/* Ends the program if a GASNet call has failed. */
#define UPCISH_OK(call) upcish_check((call), #call)
void upcish_check(int status, const char *call);

/* Where a thread's part of the global heap is; with GASNet's shared segments, an address at that thread. */
void *upcish_address(upcish_ptr p);
/* Start-up of the files, in between gasnet_attach and the first barrier. */
void upcish_heap_init(size_t bytes);
void upcish_locks_init(void);

/* lock.c */
void upcish_lock_ask(gasnet_token_t token, gasnet_handlerarg_t id, gasnet_handlerarg_t attempt);
void upcish_lock_told(gasnet_token_t token, gasnet_handlerarg_t id, gasnet_handlerarg_t answer);
void upcish_lock_follow(gasnet_token_t token, gasnet_handlerarg_t id);
void upcish_lock_grant(gasnet_token_t token, gasnet_handlerarg_t id);
void upcish_unlock_ask(gasnet_token_t token, gasnet_handlerarg_t id);
/* coll.c */
void upcish_reduce_up(gasnet_token_t token, void *data, size_t bytes, gasnet_handlerarg_t stage);
void upcish_reduce_down(gasnet_token_t token, void *data, size_t bytes);
void upcish_broadcast_part(gasnet_token_t token, void *data, size_t bytes);

#endif
