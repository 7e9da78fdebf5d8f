/* Shorts and polls without a call. Part of gasnet.h; before gasnet_sci_am.h, whose macros use it.
 *
 * A Short of up to 14 arguments to a node of this host is one line and two words, stored here. A poll that finds nothing reads
 * two words here. Everything else is a call: no room, first contact, a message to the node itself, debug builds, traces and
 * statistics. In GASNET_PAR each Short is a call; a poll that finds nothing is not.
 * The protocol fixes the order of the stores: first the words, then the meta word, then the ready count, and then the look at
 * the sleep word (rules: src/am/slot.rs, src/am/outbox.rs). */
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
#define GASNETI_SCI_FENCE_COMPILER() ((void)0) /* the call of an unknown function is one */
#define GASNETI_SCI_FENCE_ACQUIRE() ((void)0)
#define GASNETI_SCI_FENCE_RELEASE() ((void)0)
#endif

#if defined(__GNUC__) && !defined(GASNET_DEBUG)
#define GASNETI_SCI_GLANCES 1 /* polls and waits look for messages here */
#else
#define GASNETI_SCI_GLANCES 0
#endif
#if GASNETI_SCI_GLANCES && !defined(GASNET_PAR)
#define GASNETI_SCI_DIRECT 1 /* Shorts are sent here, for there is one thread at a time */
#else
#define GASNETI_SCI_DIRECT 0
#endif

#if GASNETI_SCI_GLANCES
/* The line goes to the core that waits for it (CLDEMOTE; processors without it do nothing: bare ring 260 -> 247 ns there and
 * back), or comes to this one to be written. Bytes, because assemblers differ in what they know. */
#if defined(__x86_64__)
#define GASNETI_SCI_HAND_OVER(p) __asm__ __volatile__(".byte 0x0f, 0x1c, 0x00" : : "a"(p) : "memory")
#define GASNETI_SCI_CLAIM(p) __asm__ __volatile__(".byte 0x0f, 0x0d, 0x08" : : "a"(p))
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("pause" : : : "memory")
#elif defined(__aarch64__)
#define GASNETI_SCI_HAND_OVER(p) ((void)(p))
#define GASNETI_SCI_CLAIM(p) __builtin_prefetch((p), 1)
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("isb" : : : "memory")
#else
#define GASNETI_SCI_HAND_OVER(p) ((void)(p))
#define GASNETI_SCI_CLAIM(p) __builtin_prefetch((p), 1)
#define GASNETI_SCI_PAUSE() __asm__ __volatile__("" : : : "memory")
#endif

#endif /* GASNETI_SCI_GLANCES */

#if GASNETI_SCI_DIRECT
/* What a message's first word is: see Meta in src/am/slot.rs, which gives these constants. */
#define GASNETI_SCI_META(sequence, handler, numargs)                                                                 \
  ((uint64_t)((uint32_t)(sequence) | (uint32_t)(handler) << GASNETI_SCI_META_HANDLER |                               \
              (uint32_t)(numargs) << GASNETI_SCI_META_NUMARGS))
#define GASNETI_SCI_SLOT(way, index)                                                                                 \
  ((uint64_t *)(void *)((way)->slots + ((index) & (way)->mask) * GASNETI_SCI_SLOT_BYTES))

/* The way to `node` if a Short may go there now, else null. *outstanding: requests sent there and not retired. */
GASNETI_SCI_ALWAYS gasneti_sci_way_t *gasneti_sci_way_to(gasnet_node_t node, uint32_t *outstanding) {
  gasneti_sci_way_t *way;
  if_pf (node >= gasneti_sci_direct.nodes) return NULL;
  way = __atomic_load_n(&gasneti_sci_direct.ways[node], __ATOMIC_ACQUIRE);
  if_pf (way == NULL) return NULL;
  /* acquire: the reply handler has finished with the paired reply slot before the peer may write there again */
  *outstanding = __atomic_load_n(&way->sent, __ATOMIC_RELAXED) - __atomic_load_n(&way->retired, __ATOMIC_ACQUIRE);
  if_pf (*outstanding >= way->room) return NULL;
  return way;
}
/* Publishes the request whose words lie in `slot`, the next one of `way`. */
GASNETI_SCI_ALWAYS void gasneti_sci_send(gasneti_sci_way_t *way, uint64_t *slot, uint32_t outstanding,
                                         gasnet_handler_t handler, uint32_t numargs) {
  const uint32_t index = __atomic_load_n(&way->sent, __ATOMIC_RELAXED);
  const uint32_t lap = index >> way->shift & (GASNETI_SCI_META_SEQUENCE - 1), sequence = lap | GASNETI_SCI_META_SEQUENCE;
  /* before it is published: an answer to a request that is not counted is taken for damage */
  __atomic_store_n(&way->sent, index + 1, __ATOMIC_RELAXED);
  __atomic_store_n(slot, GASNETI_SCI_META(sequence, handler, numargs), __ATOMIC_RELEASE);
  if (outstanding == 0 || way->heard != 0) GASNETI_SCI_HAND_OVER(slot);
  else if (outstanding >= way->room >> 1) GASNETI_SCI_CLAIM(GASNETI_SCI_SLOT(way, index + GASNETI_SCI_CLAIM_AHEAD));
  way->heard = 0;
  way->ends[index & way->mask] = *way->head;
  __atomic_store_n(way->ready, index + 1, __ATOMIC_RELEASE);
  GASNETI_SCI_FENCE_COMPILER(); /* with the sleeper's membarrier: it sees the count, or this the sleep word */
  if_pf (__atomic_load_n(way->bell, __ATOMIC_RELAXED) != 0) gasneti_sci_wake(way);
}
/* Where the reply to the request of `token` goes; null if it is a call. */
GASNETI_SCI_ALWAYS uint64_t *gasneti_sci_reply_at(gasnet_token_t token) {
  gasneti_sci_answer_t *answer = gasneti_sci_direct.answer; /* not to const: the comparison would cast that away */
  return GASNETI_SCI_EXPECT(token == (gasnet_token_t)answer && answer != NULL, 1) ? answer->slot : NULL;
}
/* Publishes the reply whose words lie in `slot`. */
GASNETI_SCI_ALWAYS void gasneti_sci_answer(uint64_t *slot, gasnet_handler_t handler, uint32_t numargs) {
  gasneti_sci_answer_t *answer = gasneti_sci_direct.answer;
  __atomic_store_n(slot, GASNETI_SCI_META(answer->sequence, handler, numargs), __ATOMIC_RELEASE);
  GASNETI_SCI_HAND_OVER(slot);
  answer->slot = NULL;
  answer->answered = GASNETI_SCI_ANSWERED;
  __atomic_store_n(answer->way->ready + 1, answer->count, __ATOMIC_RELEASE);
  GASNETI_SCI_FENCE_COMPILER(); /* as above */
  if_pf (__atomic_load_n(answer->way->bell, __ATOMIC_RELAXED) != 0) gasneti_sci_wake(answer->way);
}

#endif /* GASNETI_SCI_DIRECT */

#if GASNETI_SCI_GLANCES
/* A field of this node's own watch. Where there is one thread, a plain access saves an instruction for each field, three in a
 * poll. */
#if GASNETI_SCI_DIRECT
#define GASNETI_SCI_OWN(watch, field) ((watch)->field)
#define GASNETI_SCI_SET_OWN(watch, field, value) ((watch)->field = (value))
#else
#define GASNETI_SCI_OWN(watch, field) __atomic_load_n(&(watch)->field, __ATOMIC_RELAXED)
#define GASNETI_SCI_SET_OWN(watch, field, value) __atomic_store_n(&(watch)->field, (value), __ATOMIC_RELAXED)
#endif

/* 1: a request of the peer that was active last waits; 2: a reply. Another thread may move on to the next slot meanwhile
 * (GASNET_PAR): then this look is at an old one, and the next call makes it good. */
GASNETI_SCI_ALWAYS int gasneti_sci_look(const gasneti_sci_watch_t *watch) {
  /* relaxed: the library looks again, with acquire, before it runs anything */
  const uint64_t *request = GASNETI_SCI_OWN(watch, request);
  const uint64_t *reply = GASNETI_SCI_OWN(watch, reply);
  if_pf ((uint16_t)__atomic_load_n(request, __ATOMIC_RELAXED) == GASNETI_SCI_OWN(watch, request_sequence)) return 1;
  if_pf ((uint16_t)__atomic_load_n(reply, __ATOMIC_RELAXED) == GASNETI_SCI_OWN(watch, reply_sequence)) return 2;
  return 0;
}
/* A pause between two looks. Looks that follow too closely take the line away from its writer. */
GASNETI_SCI_ALWAYS void gasneti_sci_gap(const gasneti_sci_watch_t *watch) {
  uint32_t gap = GASNETI_SCI_OWN(watch, gap);
  do GASNETI_SCI_PAUSE();
  while (--gap != 0);
}
/* The inline part of a poll. 0: it found nothing; 1 and 2: as gasneti_sci_look; 3: the library must now look at all peers.
 * The library decides how often that is. */
GASNETI_SCI_ALWAYS int gasneti_sci_glance(gasneti_sci_watch_t *watch) {
  const uint32_t left = GASNETI_SCI_OWN(watch, left);
  uint32_t pauses;
  int seen;
  if_pf (left == 0) return 3;
  seen = gasneti_sci_look(watch);
  if_pf (seen != 0) return seen;
  GASNETI_SCI_SET_OWN(watch, left, left - 1);
  pauses = GASNETI_SCI_OWN(watch, pauses);
  if_pf (pauses != 0) {
    GASNETI_SCI_SET_OWN(watch, pauses, pauses - 1);
    gasneti_sci_gap(watch);
  }
  GASNETI_SCI_FENCE_COMPILER(); /* what is waited for is read anew */
  return 0;
}
/* gasnet_AMPoll. It and the next go into functions of the client's own, whose target attributes may forbid it: there they are
 * called. */
GASNETI_SCI_INLINE int gasneti_sci_do_poll(void) {
  const int seen = gasneti_sci_glance(gasneti_sci_direct.watch);
  if_pt (seen == 0) return GASNET_OK;
  return seen == 3 ? gasneti_sci_poll() : gasneti_sci_poll_watched(seen == 2);
}
/* One step of GASNET_BLOCKUNTIL: a look with a gap behind it, which weighs as much as a few polls. */
GASNETI_SCI_INLINE uint32_t gasneti_sci_wait(uint32_t failed) {
  gasneti_sci_watch_t *watch = gasneti_sci_direct.watch;
  const uint32_t left = GASNETI_SCI_OWN(watch, left);
  int seen;
  if_pf (left < GASNETI_SCI_WAIT_WEIGHT || failed >= GASNETI_SCI_OWN(watch, spins)) return gasneti_sci_wait_step(failed);
  seen = gasneti_sci_look(watch);
  if (seen != 0) return gasneti_sci_wait_watched(failed, seen == 2);
  GASNETI_SCI_SET_OWN(watch, left, left - GASNETI_SCI_WAIT_WEIGHT);
  gasneti_sci_gap(watch);
  return failed + 1;
}
#else
#define gasneti_sci_do_poll() gasneti_sci_poll()
#define gasneti_sci_wait(failed) gasneti_sci_wait_step(failed)
#endif

#endif
