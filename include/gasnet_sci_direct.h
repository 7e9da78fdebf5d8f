/* Shorts and polls without a call of the library. Part of gasnet.h; before gasnet_sci_am.h, whose macros use it.
 *
 * - A Short of up to 14 arguments to another node is one cache line and one word (the ready count), stored here.
 * - A poll that finds nothing reads two words here.
 * Everything else calls the library: the peer's queue is full, the first contact with a peer, messages of the node
 * to itself, debug builds, traces and statistics, and in GASNET_PAR a request while another thread sends to the same
 * peer, or under ThreadSanitizer. The protocol fixes the order of the accesses: first the argument words, then the
 * meta word, then the ready count, and then the load of the sleep word (rules: src/am/slot.rs, src/am/outbox.rs,
 * src/am/direct.rs). */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h, not gasnet_sci_direct.h"
#endif
#ifndef GASNETI_SCI_DIRECT_H
#define GASNETI_SCI_DIRECT_H

#if defined(__GNUC__)
#define GASNETI_SCI_FENCE_COMPILER() __asm__ __volatile__("" : : : "memory")
#define GASNETI_SCI_FENCE_ACQUIRE() GASNETI_SCI_FENCE(__ATOMIC_ACQUIRE)
#define GASNETI_SCI_FENCE_RELEASE() GASNETI_SCI_FENCE(__ATOMIC_RELEASE)
#else
#define GASNETI_SCI_FENCE_COMPILER() ((void)0) /* here every access is a call of the library, which is such a fence */
#define GASNETI_SCI_FENCE_ACQUIRE() ((void)0)
#define GASNETI_SCI_FENCE_RELEASE() ((void)0)
#endif

#if defined(__GNUC__) && !defined(GASNET_DEBUG)
#define GASNETI_SCI_GLANCES 1 /* polls and waits look for messages here */
#else
#define GASNETI_SCI_GLANCES 0
#endif
/* Shorts are sent here. ThreadSanitizer cannot see the library's locks; for it, GASNET_PAR sends by calls. */
#if GASNETI_SCI_GLANCES && !(defined(GASNET_PAR) && defined(GASNETI_SCI_TSAN))
#define GASNETI_SCI_DIRECT 1
#else
#define GASNETI_SCI_DIRECT 0
#endif

#if GASNETI_SCI_GLANCES
/* A hint to the caches: HAND_OVER pushes a line out of this core's cache, toward the core that waits for it (CLDEMOTE, which processors
 * without it ignore: round trip of a bare ring 260 -> 247 ns). The instruction is given as bytes, because not every assembler knows it. */
#if defined(__x86_64__)
#define GASNETI_SCI_HAND_OVER(p) __asm__ __volatile__(".byte 0x0f, 0x1c, 0x00" : : "a"(p) : "memory")
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("pause" : : : "memory")
#elif defined(__aarch64__)
#define GASNETI_SCI_HAND_OVER(p) ((void)(p))
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("isb" : : : "memory")
#else
#define GASNETI_SCI_HAND_OVER(p) ((void)(p))
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("" : : : "memory")
#endif

/* The library's part after a look that has seen a message. */
#if defined(GASNET_PAR)
#define GASNETI_SCI_POLL_WATCHED(is_reply) gasneti_sci_poll_watched_in_par(is_reply)
#define GASNETI_SCI_WAIT_WATCHED(failed, is_reply) gasneti_sci_wait_watched_in_par((failed), (is_reply))
#else
#define GASNETI_SCI_POLL_WATCHED(is_reply) gasneti_sci_poll_watched(is_reply)
#define GASNETI_SCI_WAIT_WATCHED(failed, is_reply) gasneti_sci_wait_watched((failed), (is_reply))
#endif

/* A field of the library's that a thread of this node may write at any time: GASNET_PAR. Where there is one thread, a
 * plain access saves an instruction for each field, three in a poll. */
#if defined(GASNET_PAR)
#define GASNETI_SCI_OWN(object, field) __atomic_load_n(&(object)->field, __ATOMIC_RELAXED)
#define GASNETI_SCI_SET_OWN(object, field, value) __atomic_store_n(&(object)->field, (value), __ATOMIC_RELAXED)
#else
#define GASNETI_SCI_OWN(object, field) ((object)->field)
#define GASNETI_SCI_SET_OWN(object, field, value) ((object)->field = (value))
#endif
#endif /* GASNETI_SCI_GLANCES */

#if GASNETI_SCI_DIRECT
/* The first word of a message. The constants come from Meta in src/am/slot.rs. */
#define GASNETI_SCI_META(sequence, handler, numargs)                                                                 \
  ((uint64_t)((uint32_t)(sequence) | (uint32_t)(handler) << GASNETI_SCI_META_HANDLER |                               \
              (uint32_t)(numargs) << GASNETI_SCI_META_NUMARGS))
#define GASNETI_SCI_SLOT(way, index)                                                                                 \
  ((uint64_t *)(void *)((way)->slots + ((index) & (way)->mask) * GASNETI_SCI_SLOT_BYTES))

/* Takes the lock of `way` as the library does; 0 if another thread has it. The other modes have one thread at a time. */
GASNETI_SCI_ALWAYS int gasneti_sci_lock(gasneti_sci_way_t *way) {
#if defined(GASNET_PAR)
  uint32_t unlocked = 0;
  /* acquire: what the thread that had it before did to the way */
  return __atomic_compare_exchange_n(&way->lock, &unlocked, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
#else
  (void)way;
  return 1;
#endif
}
GASNETI_SCI_ALWAYS void gasneti_sci_unlock(gasneti_sci_way_t *way) {
#if defined(GASNET_PAR)
  __atomic_store_n(&way->lock, 0, __ATOMIC_RELEASE);
#else
  (void)way;
#endif
}
/* The way to `node`, locked, if a Short may be sent there now, else null. Stores the number of the next request to *index, and how many
 * before it are not retired to *outstanding. */
GASNETI_SCI_ALWAYS gasneti_sci_way_t *gasneti_sci_way_to(gasnet_node_t node, uint32_t *index, uint32_t *outstanding) {
  gasneti_sci_way_t *way;
  if_pf (node >= gasneti_sci_direct.nodes) return NULL;
  way = __atomic_load_n(&gasneti_sci_direct.ways[node], __ATOMIC_ACQUIRE);
  if_pf (way == NULL || !gasneti_sci_lock(way)) return NULL;
  /* acquire: this node's reply handlers have finished with the paired reply slots, before the peer writes there again */
  *index = __atomic_load_n(&way->sent, __ATOMIC_RELAXED);
  *outstanding = *index - __atomic_load_n(&way->retired, __ATOMIC_ACQUIRE);
  if_pf (*outstanding >= way->room) {
    gasneti_sci_unlock(way);
    return NULL;
  }
  return way;
}
/* Claims the slots from `index` + GASNETI_SCI_CLAIM_BATCH on, as many, if they are free. Why, and why by stores: CLAIM_BATCH in
 * src/am/outbox.rs. `outstanding`: requests before `index` that are not retired. */
GASNETI_SCI_ALWAYS void gasneti_sci_claim_ahead(gasneti_sci_way_t *way, uint32_t index, uint32_t outstanding) {
  uint32_t i;
  if_pf (outstanding + 2 * GASNETI_SCI_CLAIM_BATCH > way->room) return;
  for (i = GASNETI_SCI_CLAIM_BATCH; i < 2 * GASNETI_SCI_CLAIM_BATCH; i++)
    __atomic_store_n(&GASNETI_SCI_SLOT(way, index + i)[GASNETI_SCI_LINE_WORDS], ~(uint64_t)0, __ATOMIC_RELAXED);
}
/* Publishes request `index`, the next one of `way`, whose words lie in `slot`, and unlocks `way`. */
GASNETI_SCI_ALWAYS void gasneti_sci_send(gasneti_sci_way_t *way, uint64_t *slot, uint32_t index, uint32_t outstanding,
                                         gasnet_handler_t handler, uint32_t numargs) {
  const uint32_t at = index & way->mask;
  const uint32_t lap = index >> way->shift & (GASNETI_SCI_META_SEQUENCE - 1), sequence = lap | GASNETI_SCI_META_SEQUENCE;
  uint32_t asleep;
  /* counted before it is published: the library takes a reply to a request that is not counted for damaged memory */
  __atomic_store_n(&way->sent, index + 1, __ATOMIC_RELAXED);
  __atomic_store_n(slot, GASNETI_SCI_META(sequence, handler, numargs), __ATOMIC_RELEASE);
  if (outstanding == 0 || GASNETI_SCI_OWN(way, heard) != 0) GASNETI_SCI_HAND_OVER(slot);
  GASNETI_SCI_SET_OWN(way, heard, 0);
  way->ends[at] = *way->head;
  __atomic_store_n(way->ready, index + 1, __ATOMIC_RELEASE);
  /* pairs with the sleeper's membarrier: the sleeper sees the count, or this node sees the sleep word */
  GASNETI_SCI_FENCE_COMPILER();
  asleep = __atomic_load_n(way->bell, __ATOMIC_RELAXED);
  if (index % GASNETI_SCI_CLAIM_BATCH == 0 && outstanding != 0) gasneti_sci_claim_ahead(way, index, outstanding);
  gasneti_sci_unlock(way); /* before the system call that wakes the peer */
  if_pf (asleep != 0) gasneti_sci_wake(way);
}

/* The slot for the reply to the request of `token`; null if the reply is a call. */
GASNETI_SCI_ALWAYS uint64_t *gasneti_sci_reply_at(gasnet_token_t token) {
  gasneti_sci_answer_t *answer = gasneti_sci_direct.answer; /* not const, which the cast in the comparison would drop */
  return GASNETI_SCI_EXPECT(token == (gasnet_token_t)answer && answer != NULL, 1) ? answer->slot : NULL;
}
/* Publishes the reply whose words lie in `slot`. */
GASNETI_SCI_ALWAYS void gasneti_sci_answer(uint64_t *slot, gasnet_handler_t handler, uint32_t numargs) {
  gasneti_sci_answer_t *answer = gasneti_sci_direct.answer;
  const gasneti_sci_way_t *way = answer->way;
  __atomic_store_n(slot, GASNETI_SCI_META(answer->sequence, handler, numargs), __ATOMIC_RELEASE);
  GASNETI_SCI_HAND_OVER(slot);
  answer->slot = NULL;
  answer->answered = GASNETI_SCI_ANSWERED;
  __atomic_store_n(way->ready + 1, answer->count, __ATOMIC_RELEASE);
  GASNETI_SCI_FENCE_COMPILER(); /* pairs with the sleeper's membarrier, as in gasneti_sci_send */
  if_pf (__atomic_load_n(way->bell, __ATOMIC_RELAXED) != 0) gasneti_sci_wake(way);
}
#endif /* GASNETI_SCI_DIRECT */

#if GASNETI_SCI_GLANCES
/* Looks for a message of the watched peer, which is the one that was active last. 0: none; 1: a request; 2: a reply. In
 * GASNET_PAR another thread may run that message at the same time, so that this look is at an old slot. Then it finds
 * nothing, or the library finds nothing to run; a later call of the library finds what it missed. */
GASNETI_SCI_ALWAYS int gasneti_sci_look(const gasneti_sci_watch_t *watch) {
  /* relaxed: the library looks again, with acquire, before it runs anything */
  const uint64_t *request = GASNETI_SCI_OWN(watch, request);
  const uint64_t *reply = GASNETI_SCI_OWN(watch, reply);
  if_pf ((uint16_t)__atomic_load_n(request, __ATOMIC_RELAXED) == GASNETI_SCI_OWN(watch, request_sequence)) return 1;
  if_pf ((uint16_t)__atomic_load_n(reply, __ATOMIC_RELAXED) == GASNETI_SCI_OWN(watch, reply_sequence)) return 2;
  return 0;
}
/* Pauses between two looks. Looks in quick succession take the line away from its writer. */
GASNETI_SCI_ALWAYS void gasneti_sci_gap(const gasneti_sci_watch_t *watch) {
  uint32_t gap = GASNETI_SCI_OWN(watch, gap);
  do GASNETI_SCI_PAUSE();
  while (--gap != 0);
}
/* The inline part of a poll, without pauses. 0: it found nothing; 1 and 2: like gasneti_sci_look; 3: the poll must call the
 * library, which looks at other peers, too. The library sets watch->left, and so decides how often that happens. */
GASNETI_SCI_ALWAYS int gasneti_sci_glance_once(gasneti_sci_watch_t *watch) {
  const uint32_t left = GASNETI_SCI_OWN(watch, left);
  int seen;
  if_pf (left == 0) return 3;
  seen = gasneti_sci_look(watch);
  if_pf (seen != 0) return seen;
  GASNETI_SCI_SET_OWN(watch, left, left - 1);
  return 0;
}
/* The library's part, for what a glance returned. */
GASNETI_SCI_ALWAYS int gasneti_sci_poll_seen(int seen) {
  return seen == 3 ? gasneti_sci_poll() : GASNETI_SCI_POLL_WATCHED(seen == 2);
}
/* The inline part of a poll in a client's loop: a glance, and the pauses that the library asks for. */
GASNETI_SCI_ALWAYS int gasneti_sci_glance(gasneti_sci_watch_t *watch) {
  uint32_t pauses;
  const int seen = gasneti_sci_glance_once(watch);
  if_pf (seen != 0) return seen;
  pauses = GASNETI_SCI_OWN(watch, pauses);
  if_pf (pauses != 0) {
    GASNETI_SCI_SET_OWN(watch, pauses, pauses - 1);
    gasneti_sci_gap(watch);
  }
  GASNETI_SCI_FENCE_COMPILER(); /* the client's loop must read the value that it waits for again */
  return 0;
}
/* gasnet_AMPoll. This function and the next are not GASNETI_SCI_ALWAYS, because a client's function may have target
 * attributes that forbid inlining. There they are called. */
GASNETI_SCI_INLINE int gasneti_sci_do_poll(void) {
  const int seen = gasneti_sci_glance(gasneti_sci_direct.watch);
  if_pt (seen == 0) return GASNET_OK;
  return gasneti_sci_poll_seen(seen);
}
/* Polls once beside a call that sends or waits: as gasnet_AMPoll, but it never pauses, because the caller does not look again. */
GASNETI_SCI_INLINE void gasneti_sci_serve(void) {
  const int seen = gasneti_sci_glance_once(gasneti_sci_direct.watch);
  if_pf (seen != 0) (void)gasneti_sci_poll_seen(seen);
}
/* One step of GASNET_BLOCKUNTIL: a look and then a gap. It uses up one inline poll. */
GASNETI_SCI_INLINE uint32_t gasneti_sci_wait(uint32_t failed) {
  gasneti_sci_watch_t *watch = gasneti_sci_direct.watch;
  const uint32_t left = GASNETI_SCI_OWN(watch, left);
  int seen;
  if_pf (left == 0 || failed >= GASNETI_SCI_OWN(watch, spins)) return gasneti_sci_wait_step(failed);
  seen = gasneti_sci_look(watch);
  if (seen != 0) return GASNETI_SCI_WAIT_WATCHED(failed, seen == 2);
  GASNETI_SCI_SET_OWN(watch, left, left - 1);
  gasneti_sci_gap(watch);
  return failed + 1;
}
#else
#define gasneti_sci_do_poll() gasneti_sci_poll()
#define gasneti_sci_serve() ((void)gasneti_sci_poll())
#define gasneti_sci_wait(failed) gasneti_sci_wait_step(failed)
#endif

#endif
