/* Random mixes of all operations that move bytes, with every byte verified: messages of all categories with replies,
 * puts, gets and memsets in all forms, vector, indexed and strided transfers, collectives, barriers, locks, mail boxes; by
 * several threads in PAR.
 *
 *   testsoak [SEED [ROUNDS [close|full]]]       default 1 12
 *
 * The seed fixes the operations of each round. `close`: after attach the client closes all descriptors that it does
 * not know. `full`: before attach it takes all descriptors that it may have, and keeps them. Besides the usual line
 * the program prints how much it verified. A slot has one writer at a time: actor (thread) a of node s writes slot
 * (s, a) of any node. Replies go to a second set of slots. */
#include "../testpar.h"
#include <fcntl.h>
#include <gasnet_coll.h>
#include <gasnet_vis.h>

#define ACTORS 3
#define SLOT ((size_t)32768)
#define BATCH 8
#define REPLY_MOST ((size_t)4096)
#define PIECES 6

enum { H_SHORT = 200, H_MEDIUM, H_LONG, H_DONE, H_DONE_BULK, H_CHECK, H_LOCK, H_TOTAL, H_OVER };
enum { MESSAGES, TRANSFERS, SHAPES, COLLECTIVES, BARRIERS, LOCKS, MAILS, DAWDLE, KINDS };

static unsigned seed0;
static int actors, kind_now;
static unsigned long long verified_messages, verified_bytes;
static int done[ACTORS];
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static long locked, locked_twin, locked_sent, locked_all, total_heard;

static void *memory(size_t n) {
  void *at = malloc(n);
  if (at) return at;
  fprintf(stderr, "testsoak: node %d: no memory for %lu bytes\n", (int)me, (unsigned long)n);
  gasnet_exit(98);
  return NULL;
}

static unsigned mix(unsigned a, unsigned b) {
  unsigned long long x = core_word(a ^ seed0, (size_t)b + 1);
  return (unsigned)(x >> 32);
}
static unsigned below(unsigned *random, unsigned n) { return test_random(random) % n; }

static void verified(unsigned messages, size_t bytes) {
  __atomic_add_fetch(&verified_messages, (unsigned long long)messages, __ATOMIC_RELAXED);
  __atomic_add_fetch(&verified_bytes, (unsigned long long)bytes, __ATOMIC_RELAXED);
}

static unsigned char *slot_of(gasnet_node_t owner, gasnet_node_t writer, int actor) {
  return core_area[owner] + ((size_t)writer * ACTORS + (size_t)actor) * SLOT;
}
static unsigned char *reply_slot_of(gasnet_node_t owner, gasnet_node_t writer, int actor) {
  return slot_of(owner, nodes + writer, actor);
}

static void same(const char *what, const void *at, size_t n, unsigned seed, gasnet_node_t from) {
  size_t i = core_differs(at, n, seed);
  CHECK(i == n, "%s of %lu bytes from node %u: byte %lu", what, (unsigned long)n, (unsigned)from, (unsigned long)i);
  verified(1, n);
}

#include "testsoak-mail.h"

/* ---- messages ---- */

/* Request: actor and place in the batch, seed, length, category of the reply and its length. */
static void answer(gasnet_token_t token, gasnet_handlerarg_t who, gasnet_handlerarg_t seed, gasnet_handlerarg_t reply) {
  unsigned char data[REPLY_MOST];
  const int category = reply & 3, n = reply >> 2;
  const gasnet_node_t from = core_source(token);
  if (category == SHORT) {
    GASNET_SAFE(gasnet_AMReplyShort3(token, H_DONE, who, seed, reply));
    return;
  }
  core_fill(data, (size_t)n, (unsigned)seed + 1);
  if (category == MEDIUM) GASNET_SAFE(gasnet_AMReplyMedium3(token, H_DONE_BULK, data, (size_t)n, who, seed, reply));
  else
    GASNET_SAFE(gasnet_AMReplyLong3(token, H_DONE_BULK, data, (size_t)n,
                                    reply_slot_of(from, me, who & 0xFF) + (size_t)(who >> 8) * REPLY_MOST, who, seed, reply));
}
static void short_h(gasnet_token_t token, gasnet_handlerarg_t who, gasnet_handlerarg_t seed, gasnet_handlerarg_t reply,
                    gasnet_handlerarg_t check) {
  CHECK(check == (who ^ seed ^ reply), "a Short with other arguments: %x", (unsigned)check);
  verified(1, 16);
  answer(token, who, seed, reply);
}
static void bulk_h(gasnet_token_t token, void *at, size_t n, gasnet_handlerarg_t who, gasnet_handlerarg_t seed,
                   gasnet_handlerarg_t reply, gasnet_handlerarg_t length) {
  CHECK((size_t)length == n, "%lu bytes, not %d", (unsigned long)n, (int)length);
  same("request", at, n, (unsigned)seed, core_source(token));
  answer(token, who, seed, reply);
}
static void done_h(gasnet_token_t token, gasnet_handlerarg_t who, gasnet_handlerarg_t seed, gasnet_handlerarg_t reply) {
  (void)token, (void)seed, (void)reply;
  verified(1, 12);
  TEST_COUNT(&done[who & 0xFF]);
}
static void done_bulk_h(gasnet_token_t token, void *at, size_t n, gasnet_handlerarg_t who, gasnet_handlerarg_t seed,
                        gasnet_handlerarg_t reply) {
  CHECK((size_t)(reply >> 2) == n, "%lu bytes, not %d", (unsigned long)n, (int)(reply >> 2));
  same("reply", at, n, (unsigned)seed + 1, core_source(token));
  TEST_COUNT(&done[who & 0xFF]);
}

/* `batch` requests, and their replies; each has its part of the slot. */
static void messages(int actor, unsigned *random) {
  const int batch = below(random, 4) ? BATCH : 1;
  const size_t part = SLOT / (size_t)batch;
  unsigned char *source = (unsigned char *)memory(SLOT);
  int i, wanted;
  wanted = AREA_LOAD(&done[actor]) + batch;
  for (i = 0; i < batch; i++) {
    const gasnet_node_t to = below(random, nodes);
    const int category = (int)below(random, 4), answer_by = (int)below(random, 3), who = actor | i << 8;
    size_t most = category == MEDIUM ? gasnet_AMMaxMedium() : gasnet_AMMaxLongRequest(), n;
    const gasnet_handlerarg_t seed = (gasnet_handlerarg_t)(test_random(random) & 0x7FFFFFFF);
    gasnet_handlerarg_t reply;
    unsigned char *from = source + (size_t)i * part;
    if (most > part) most = part;
    n = below(random, 3) ? below(random, 300) : below(random, (unsigned)most + 1);
    reply = answer_by | (gasnet_handlerarg_t)(n > REPLY_MOST ? REPLY_MOST : n) << 2;
    if (category == SHORT) {
      GASNET_SAFE(gasnet_AMRequestShort4(to, H_SHORT, who, seed, reply, who ^ seed ^ reply));
      continue;
    }
    core_fill(from, n, (unsigned)seed);
    if (category == MEDIUM)
      GASNET_SAFE(gasnet_AMRequestMedium4(to, H_MEDIUM, from, n, who, seed, reply, (gasnet_handlerarg_t)n));
    else {
      unsigned char *there = slot_of(to, me, actor) + (size_t)i * part;
      if (category == LONG)
        GASNET_SAFE(gasnet_AMRequestLong4(to, H_LONG, from, n, there, who, seed, reply, (gasnet_handlerarg_t)n));
      else
        GASNET_SAFE(gasnet_AMRequestLongAsync4(to, H_LONG, from, n, there, who, seed, reply, (gasnet_handlerarg_t)n));
    }
  }
  GASNET_BLOCKUNTIL(AREA_LOAD(&done[actor]) == wanted);
  free(source);
}

/* ---- what the owner of a slot finds in it ---- */

static unsigned digest(const unsigned char *at, size_t n) {
  unsigned sum = 2166136261u;
  size_t i;
  for (i = 0; i < n; i++) sum = (sum ^ at[i]) * 16777619u;
  return sum;
}
static void check_h(gasnet_token_t token, gasnet_handlerarg_t actor, gasnet_handlerarg_t sum) {
  const gasnet_node_t from = core_source(token);
  const unsigned found = digest(slot_of(me, from, actor), SLOT);
  CHECK(found == (unsigned)sum, "the slot of node %u, actor %d has digest %x, not %x", (unsigned)from, (int)actor, found,
        (unsigned)sum);
  verified(1, SLOT);
  GASNET_SAFE(gasnet_AMReplyShort3(token, H_DONE, actor, 0, 0));
}

/* The remote slot must be `model`: by a get in some form, and as the owner sees it. */
static void compare(const char *what, gasnet_node_t to, int actor, const unsigned char *model, unsigned *random) {
  unsigned char *there = slot_of(to, me, actor), *raw = (unsigned char *)memory(SLOT + 16), *here;
  const int wanted = AREA_LOAD(&done[actor]) + 1;
  size_t i;
  here = raw + below(random, 16);
  memset(here, 0x55, SLOT);
  switch (below(random, 5)) {
    case 0: gasnet_get(here, to, there, SLOT); break;
    case 1: gasnet_get_bulk(here, to, there, SLOT); break;
    case 2: gasnet_wait_syncnb(gasnet_get_nb(here, to, there, SLOT)); break;
    case 3: gasnet_wait_syncnb(gasnet_get_nb_bulk(here, to, there, SLOT)); break;
    default:
      for (i = 0; i < SLOT; i += SLOT / 4) gasnet_get_nbi_bulk(here + i, to, there + i, SLOT / 4);
      gasnet_wait_syncnbi_gets();
  }
  for (i = 0; i < SLOT && here[i] == model[i]; i++) {}
  CHECK(i == SLOT, "%s: byte %lu of node %u's slot is %x, not %x", what, (unsigned long)i, (unsigned)to, here[i % SLOT],
        model[i % SLOT]);
  verified(0, SLOT);
  GASNET_SAFE(gasnet_AMRequestShort2(to, H_CHECK, actor, (gasnet_handlerarg_t)digest(model, SLOT)));
  GASNET_BLOCKUNTIL(AREA_LOAD(&done[actor]) == wanted);
  free(raw);
}

static void fill_slot(gasnet_node_t to, int actor, unsigned char *model, unsigned *random) {
  const int byte = (int)below(random, 256);
  unsigned char *there = slot_of(to, me, actor);
  switch (below(random, 3)) {
    case 0: gasnet_memset(to, there, byte, SLOT); break;
    case 1: gasnet_wait_syncnb(gasnet_memset_nb(to, there, byte, SLOT)); break;
    default: gasnet_memset_nbi(to, there, byte, SLOT), gasnet_wait_syncnbi_puts();
  }
  memset(model, byte, SLOT);
}

/* ---- puts and gets ---- */

static void transfers(int actor, unsigned *random) {
  unsigned char *model = (unsigned char *)memory(SLOT), *source = (unsigned char *)memory(SLOT + 64);
  const gasnet_node_t to = below(random, nodes);
  unsigned char *there = slot_of(to, me, actor);
  gasnet_handle_t handles[PIECES];
  size_t open = 0;
  int i;
  fill_slot(to, actor, model, random);
  for (i = 0; i < PIECES; i++) {
    const size_t room = SLOT / PIECES, start = (size_t)i * room + below(random, 64);
    const size_t n = 1 + (below(random, 2) ? below(random, 64) : below(random, (unsigned)room - 64));
    unsigned char *from = source + (size_t)i * room + below(random, 16);
    const unsigned seed = test_random(random);
    const gasnet_register_value_t word = (gasnet_register_value_t)core_word(seed, 0);
    const int form = (int)below(random, 8);
    core_fill(from, n, seed);
    if (form > 5) {
      const size_t few = 1 + below(random, sizeof word);
      const gasnet_register_value_t cut = few == sizeof word ? word : word & (((gasnet_register_value_t)1 << 8 * few) - 1);
      if (form == 6) gasnet_put_val(to, there + start, word, few);
      else gasnet_wait_syncnb(gasnet_put_nb_val(to, there + start, word, few));
      memcpy(model + start, &word, few); /* little-endian, as all that the conduit runs on */
      CHECK(gasnet_get_val(to, there + start, few) == cut, "a value of %lu bytes", (unsigned long)few);
      CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(to, there + start, few)) == cut, "a value of %lu bytes", (unsigned long)few);
      verified(0, 2 * few);
      continue;
    }
    memcpy(model + start, from, n);
    switch (form) {
      case 0: gasnet_put(to, there + start, from, n); break;
      case 1: gasnet_put_bulk(to, there + start, from, n); break;
      case 2: handles[open++] = gasnet_put_nb(to, there + start, from, n), memset(from, 0, n); break;
      case 3: handles[open++] = gasnet_put_nb_bulk(to, there + start, from, n); break;
      case 4: gasnet_put_nbi(to, there + start, from, n), memset(from, 0, n); break;
      default: gasnet_put_nbi_bulk(to, there + start, from, n);
    }
  }
  if (below(random, 2)) gasnet_wait_syncnb_all(handles, open);
  else
    while (open > 0) gasnet_wait_syncnb(handles[--open]);
  if (below(random, 2)) gasnet_wait_syncnbi_puts();
  else
    while (gasnet_try_syncnbi_all() != GASNET_OK) {}
  compare("puts", to, actor, model, random);
  free(model), free(source);
}

/* ---- vector, indexed, strided ---- */

/* Blocks of `size` bytes at `gap` bytes from each other, written and read by one of the three kinds, by one of three
 * completions. */
static void shapes(int actor, unsigned *random) {
  unsigned char *model = (unsigned char *)memory(SLOT), *packed = (unsigned char *)memory(2 * SLOT), *back = packed + SLOT;
  const gasnet_node_t to = below(random, nodes);
  unsigned char *there = slot_of(to, me, actor);
  const size_t count = 1 + below(random, 40), size = 1 + below(random, 400), gap = size + below(random, 400);
  const size_t first = below(random, 100);
  gasnet_memvec_t far[64], near;
  void *lists[64], *one[1];
  size_t i, counts[2], far_stride[1], near_stride[1];
  const unsigned seed = test_random(random);
  int way, completion;
  fill_slot(to, actor, model, random);
  core_fill(packed, count * size, seed);
  memset(back, 0, count * size);
  for (i = 0; i < count; i++) {
    far[i].addr = lists[i] = there + first + i * gap;
    far[i].len = size;
    memcpy(model + first + i * gap, packed + i * size, size);
  }
  near.addr = packed, near.len = count * size, one[0] = packed;
  counts[0] = size, counts[1] = count, far_stride[0] = gap, near_stride[0] = size;
  way = (int)below(random, 3), completion = (int)below(random, 3);
#define COMPLETE(form, list)                                                  \
  switch (completion) {                                                       \
    case 0: gasnet_##form##_bulk list; break;                                 \
    case 1: gasnet_wait_syncnb(gasnet_##form##_nb_bulk list); break;          \
    default: gasnet_##form##_nbi_bulk list, gasnet_wait_syncnbi_all();        \
  }
  if (way == 0) COMPLETE(putv, (to, count, far, 1, &near))
  else if (way == 1) COMPLETE(puti, (to, count, lists, size, 1, one, count * size))
  else COMPLETE(puts, (to, there + first, far_stride, packed, near_stride, counts, 1))
  near.addr = back, one[0] = back;
  way = (int)below(random, 3), completion = (int)below(random, 3);
  if (way == 0) COMPLETE(getv, (1, &near, to, count, far))
  else if (way == 1) COMPLETE(geti, (1, one, count * size, to, count, lists, size))
  else COMPLETE(gets, (back, near_stride, to, there + first, far_stride, counts, 1))
  same("shape", back, count * size, seed, to);
  compare("shape", to, actor, model, random);
  free(model), free(packed);
}

/* ---- locks ---- */

static void locked_step(void) {
  locked++, locked_twin++;
  CHECK(locked == locked_twin, "%ld and %ld under a lock", locked, locked_twin);
}
static void lock_h(gasnet_token_t token) {
  (void)token;
  gasnet_hsl_lock(&lock);
  locked_step();
  gasnet_hsl_unlock(&lock);
  verified(1, 0);
}
static void locks(int actor, unsigned *random) {
  int i;
  (void)actor;
  for (i = 0; i < 20; i++) {
    GASNET_SAFE(gasnet_AMRequestShort0(below(random, nodes), H_LOCK));
    TEST_COUNT(&locked_sent);
    if (below(random, 2)) gasnet_hsl_lock(&lock);
    else
      while (gasnet_hsl_trylock(&lock) != GASNET_OK) GASNET_SAFE(gasnet_AMPoll());
    locked_step();
    gasnet_hsl_unlock(&lock);
    TEST_COUNT(&locked_sent); /* both kinds of step are counted, on the sender's side */
  }
}
static void total_h(gasnet_token_t token, gasnet_handlerarg_t steps, gasnet_handlerarg_t sent) {
  (void)token;
  gasnet_hsl_lock(&lock);
  locked_all += steps - sent;
  total_heard++;
  gasnet_hsl_unlock(&lock);
}

/* ---- collectives ---- */

static void sum_fn(void *results, size_t n, const void *left, size_t left_count, const void *right, size_t size, int flags,
                   int arg) {
  uint32_t *r = (uint32_t *)results;
  const uint32_t *a = (const uint32_t *)left, *b = (const uint32_t *)right;
  size_t i;
  (void)left_count, (void)size, (void)flags, (void)arg;
  for (i = 0; i < n; i++) r[i] = a[i] + b[i];
}

static void finish(gasnet_coll_handle_t handle) {
  if (handle != GASNET_COLL_INVALID_HANDLE) gasnet_coll_wait_sync(handle);
}

/* Block (from, to) of this round has its own pattern; whole words, so that reductions can use them too. */
static void collectives(unsigned *plan) {
  const unsigned seed = test_random(plan);
  const size_t n = 4 * (1 + (below(plan, 2) ? below(plan, 16) : below(plan, 2000)));
  const gasnet_image_t root = below(plan, nodes);
  const int op = (int)below(plan, 6), nb = (int)below(plan, 2), sync = (int)below(plan, 2);
  const int flags = GASNET_COLL_LOCAL | (sync ? GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC
                                              : GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
  unsigned char *src = (unsigned char *)memory(nodes * n), *dst = (unsigned char *)memory(nodes * n);
  gasnet_node_t i;
  size_t k;
  memset(dst, 0, nodes * n);
#define BLOCK(from, to) (seed ^ ((unsigned)(from) << 16) ^ (unsigned)(to))
#define COLL(name, list)                                               \
  if (nb) finish(gasnet_coll_##name##_nb list);                        \
  else gasnet_coll_##name list
  switch (op) {
    case 0:
      core_fill(src, n, BLOCK(root, 0));
      COLL(broadcast, (GASNET_TEAM_ALL, dst, root, src, n, flags));
      same("broadcast", dst, n, BLOCK(root, 0), root);
      break;
    case 1:
      for (i = 0; i < nodes; i++) core_fill(src + i * n, n, BLOCK(root, i));
      COLL(scatter, (GASNET_TEAM_ALL, dst, root, src, n, flags));
      same("scatter", dst, n, BLOCK(root, me), root);
      break;
    case 2:
      core_fill(src, n, BLOCK(me, 1));
      COLL(gather, (GASNET_TEAM_ALL, root, dst, src, n, flags));
      for (i = 0; me == root && i < nodes; i++) same("gather", dst + i * n, n, BLOCK(i, 1), i);
      break;
    case 3:
      core_fill(src, n, BLOCK(me, 2));
      COLL(gather_all, (GASNET_TEAM_ALL, dst, src, n, flags));
      for (i = 0; i < nodes; i++) same("gather_all", dst + i * n, n, BLOCK(i, 2), i);
      break;
    case 4:
      for (i = 0; i < nodes; i++) core_fill(src + i * n, n, BLOCK(me, i));
      COLL(exchange, (GASNET_TEAM_ALL, dst, src, n, flags));
      for (i = 0; i < nodes; i++) same("exchange", dst + i * n, n, BLOCK(i, me), i);
      break;
    default:
      for (k = 0; k < n / 4; k++) ((uint32_t *)(void *)src)[k] = mix(BLOCK(me, 3), (unsigned)k);
      COLL(reduce, (GASNET_TEAM_ALL, root, dst, src, 0, 0, 4, n / 4, 0, 0, flags));
      for (k = 0; me == root && k < n / 4; k++) {
        uint32_t sum = 0;
        for (i = 0; i < nodes; i++) sum += mix(BLOCK(i, 3), (unsigned)k);
        CHECK(sum == ((uint32_t *)(void *)dst)[k], "reduction: element %lu", (unsigned long)k);
      }
      if (me == root) verified(1, n);
  }
  free(src), free(dst);
}

/* ---- barriers ---- */

static void barriers(unsigned *plan) {
  int k;
  for (k = 0; k < 20; k++) {
    const int id = (int)below(plan, 1000), odd = (int)below(plan, nodes + 8), form = (int)below(plan, 3);
    const int mine = nodes > 1 && (int)me == odd ? id + 1 : id;
    const int expected = nodes > 1 && odd < (int)nodes ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
    int rc;
    if (form == 2) {
      test_barrier();
      continue;
    }
    gasnet_barrier_notify(mine, 0);
    if (form == 0) rc = gasnet_barrier_wait(mine, 0);
    else
      while ((rc = gasnet_barrier_try(mine, 0)) == GASNET_ERR_NOT_READY) {}
    CHECK(rc == expected, "barrier %d, of node %d %d: %s", id, odd, id + 1, gasnet_ErrorName(rc));
  }
}

/* ---- rounds ---- */

static unsigned round_seed;
static void act(int actor) {
  unsigned random = mix(round_seed, me * 16 + (unsigned)actor) | 1;
  int k;
  for (k = 0; k < 4; k++) switch (kind_now) {
      case MESSAGES: messages(actor, &random); break;
      case TRANSFERS: transfers(actor, &random); break;
      case SHAPES: shapes(actor, &random); break;
      case MAILS: k = 3, mail(actor, &random); break; /* once: it ends for all at once */
      default: locks(actor, &random);
    }
}

static void play(unsigned round) {
  unsigned plan = mix(round, 77) | 1, mine;
  round_seed = mix(round, 78);
  mine = mix(round_seed, me) | 1;
  kind_now = (int)below(&plan, KINDS);
  switch (kind_now) {
    case COLLECTIVES: collectives(&plan), collectives(&plan); break;
    case BARRIERS: barriers(&plan); break;
    case DAWDLE: usleep(below(&mine, 3000)); break; /* peers fall asleep meanwhile */
    default: par_run(act, actors);
  }
  if (below(&plan, 2)) test_barrier();
}

static void take_descriptors(void) {
  struct rlimit limit;
  int last = 3;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 300) {
    limit.rlim_cur = 300;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  while (last >= 0) last = open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {
      {H_SHORT, (void (*)())short_h}, {H_MEDIUM, (void (*)())bulk_h},         {H_LONG, (void (*)())bulk_h},
      {H_DONE, (void (*)())done_h},   {H_DONE_BULK, (void (*)())done_bulk_h}, {H_CHECK, (void (*)())check_h},
      {H_LOCK, (void (*)())lock_h},   {H_TOTAL, (void (*)())total_h},         {H_OVER, (void (*)())mail_over_h}};
  gasnet_coll_fn_entry_t functions[] = {{sum_fn, GASNET_COLL_AMSAFE}};
  unsigned round, rounds;
  core_init(&argc, &argv, "testsoak");
  seed0 = (unsigned)core_number(argc, argv, 1, 1);
  test_seed(seed0);
  rounds = (unsigned)core_number(argc, argv, 2, 12);
  if (argc > 3 && !strcmp(argv[3], "full")) take_descriptors();
  area_attach(table, sizeof table / sizeof *table, 2 * nodes * ACTORS * SLOT);
  if (argc > 3 && !strcmp(argv[3], "close")) {
    int fd;
    for (fd = 3; fd < 1024; fd++) close(fd);
  }
  actors = PAR_THREADS(ACTORS);
  test_begin("testsoak");
  gasnet_coll_init(NULL, 0, functions, 1, 0);
  mail_begin(actors);
  for (round = 0; round < rounds; round++) play(round);
  test_barrier();
  { /* Requests of `locks` have no answer: when all have arrived, as many steps were made as were meant. */
    double until = test_now() + 30;
    do {
      long steps, sent;
      test_barrier();
      gasnet_hsl_lock(&lock);
      steps = locked, sent = locked_sent;
      gasnet_hsl_unlock(&lock);
      locked_all = 0, total_heard = 0;
      test_barrier();
      GASNET_SAFE(gasnet_AMRequestShort2(0, H_TOTAL, (gasnet_handlerarg_t)steps, (gasnet_handlerarg_t)sent));
      if (me == 0) GASNET_BLOCKUNTIL(AREA_LOAD(&total_heard) == (long)nodes);
      gasnet_coll_broadcast(GASNET_TEAM_ALL, &locked_all, 0, &locked_all, sizeof locked_all,
                            GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
    } while (locked_all != 0 && test_now() < until);
    CHECK(locked_all == 0, "%ld messages were lost or doubled", locked_all);
  }
  mail_end();
  printf("testsoak: node %d/%d: verified %llu messages, %llu bytes\n", (int)me, (int)nodes, verified_messages, verified_bytes);
  test_end();
  return 1;
}
