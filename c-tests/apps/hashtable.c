/* A hash table that is spread over all processes, over GASNet-EX.
 *
 * usage: hashtable [-k inserts per process] [-r different keys] [-b records per batch] [-l lookups per process] [-v variants]
 *
 * A key has an owner, and there a bucket; the next free bucket is taken if that is in use (linear probing). An entry counts how often its
 * key was inserted, adds up the weights that the inserts brought, and names the place of the key's value, which has 1 to 160 bytes.
 *
 * Variants, how keys are inserted and found; each starts from an empty table:
 *   a  by messages: batches of records in negotiated payloads, as many records as there is room for; the owner's handler inserts. A
 *      lookup is a Short that is answered by a Medium with the value.
 *   o  one-sided: a bucket is claimed by a compare-and-swap, room for the value by a fetch-and-add, the value is put, its place is set
 *      last; counts and weights are atomic additions. A lookup gets the entry and then the value.
 *
 * Verification: every process replays the inserts of all processes. It compares its part of the table, entry by entry, and what lookups
 * find of keys that are there and of keys that are not. In GASNET_PAR several threads of each process insert and look up. */
#include "../ex/testexam.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <unistd.h>
#if defined(GASNET_PAR)
#include <pthread.h>
#define THREADS 3
#else
#define THREADS 1
#endif

#define LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ADD(p, v) (void)__atomic_add_fetch((p), (v), __ATOMIC_ACQ_REL)
#define LONGEST 160
#define WAYS 16 /* lookups of a thread at once */
enum { H_INSERT = 160, H_INSERTED, H_FIND, H_FOUND };

typedef struct {
  uint64_t key, count, sum, place; /* place: offset in the area << 32, and the length; 0: no value yet */
} entry_t;
typedef struct {
  uint64_t keys, top; /* entries in use; the next free offset for values */
  entry_t entry[1];
} table_t;
typedef struct {
  uint64_t key;
  uint32_t weight, length; /* the value follows, up to a multiple of 8 bytes */
} record_t;

static long inserts = 4000, keys = 1500, batch = 24, lookups = 400;
static const char *variants = "ao";
static uint64_t buckets; /* of each process, a power of two */
static gex_AD_t words;
static uint64_t *model_count, *model_sum; /* of each key, by its number */
static gex_HSL_t lock = GEX_HSL_INITIALIZER; /* the own part of the table, which handlers change */

static table_t *table_of(gex_Rank_t rank) { return (table_t *)(void *)area[rank]; }

/* ---- keys, and what belongs to them ---- */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
static uint64_t key_of(uint64_t number) { return mix(number + 1) | 1; }
static gex_Rank_t owner_of(uint64_t key) { return (gex_Rank_t)((mix(key) >> 40) % nodes); }
static uint64_t bucket_of(uint64_t key) { return mix(key) & (buckets - 1); }
static size_t length_of(uint64_t key) { return 1 + (size_t)(key >> 8) % LONGEST; }
static size_t padded(size_t n) { return (n + 7) / 8 * 8; }
static void value_of(uint64_t key, void *at) { fill(at, (unsigned)(key >> 20), length_of(key)); }
static int is_value(uint64_t key, const void *at, size_t n) { return n == length_of(key) && filled(at, (unsigned)(key >> 20), n); }

/* Insert `i` of a process: which key, and its weight. Thread t of THREADS makes those with i % THREADS == t. */
static uint64_t number_of(gex_Rank_t rank, long i, uint32_t *weight) {
  const uint64_t r = mix(((uint64_t)rank << 32) + (uint64_t)i * 3 + 7);
  const uint64_t a = (r & 0xFFFFF) % (uint64_t)keys, b = (r >> 20 & 0xFFFFF) % (uint64_t)keys;
  *weight = (uint32_t)(r >> 44);
  return a < b ? a : b; /* some keys come more often */
}

/* ---- a: by messages ---- */
static void insert_here(const record_t *r, const void *value) {
  table_t *t = table_of(me);
  uint64_t b = bucket_of(r->key);
  entry_t *e;
  while (t->entry[b].key != 0 && t->entry[b].key != r->key) b = (b + 1) & (buckets - 1);
  e = &t->entry[b];
  if (e->key == 0) {
    e->key = r->key;
    e->place = t->top << 32 | r->length;
    memcpy(area[me] + t->top, value, r->length);
    t->top += padded(r->length), t->keys++;
  }
  e->count++, e->sum += r->weight;
}
static void insert_h(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t count, gex_AM_Arg_t thread) {
  unsigned char *at = (unsigned char *)buf, *end = at + nbytes;
  gex_AM_Arg_t i;
  gex_HSL_Lock(&lock);
  for (i = 0; i < count; i++) {
    record_t r;
    memcpy(&r, at, sizeof r);
    insert_here(&r, at + sizeof r);
    at += sizeof r + padded(r.length);
  }
  gex_HSL_Unlock(&lock);
  CHECK(at == end);
  gex_AM_ReplyShort2(token, H_INSERTED, 0, count, thread);
}
static long on_their_way[THREADS];
static void inserted_h(gex_Token_t token, gex_AM_Arg_t count, gex_AM_Arg_t thread) {
  (void)token;
  ADD(&on_their_way[thread], -(long)count);
}

/* What a thread still has to send to each process. */
typedef struct {
  record_t *record;
  long n;
} queue_t;
static size_t bytes_of(const record_t *r) { return sizeof *r + padded(r->length); }
static void send_queue(gex_Rank_t to, queue_t *q, int thread) {
  long sent = 0;
  while (sent < q->n) {
    size_t wanted = 0, used = 0, room;
    gex_AM_SrcDesc_t sd;
    unsigned char *at;
    long i, first = sent;
    for (i = sent; i < q->n; i++) wanted += bytes_of(&q->record[i]);
    while ((sd = gex_AM_PrepareRequestMedium(tm, to, NULL, bytes_of(&q->record[sent]), wanted, NULL, GEX_FLAG_IMMEDIATE, 2)) ==
           GEX_AM_SRCDESC_NO_OP)
      gasnet_AMPoll();
    at = (unsigned char *)gex_AM_SrcDescAddr(sd), room = gex_AM_SrcDescSize(sd);
    while (sent < q->n && used + bytes_of(&q->record[sent]) <= room) {
      record_t *r = &q->record[sent++];
      memcpy(at + used, r, sizeof *r);
      value_of(r->key, at + used + sizeof *r);
      memset(at + used + sizeof *r + r->length, 0, padded(r->length) - r->length);
      used += bytes_of(r);
    }
    ADD(&on_their_way[thread], sent - first);
    gex_AM_CommitRequestMedium2(sd, H_INSERT, used, (gex_AM_Arg_t)(sent - first), thread);
  }
  q->n = 0;
}
static void insert_by_messages(int thread) {
  queue_t *queue = (queue_t *)calloc(nodes, sizeof *queue);
  gex_Rank_t to;
  long i;
  for (to = 0; to < nodes; to++) queue[to].record = (record_t *)malloc((size_t)batch * sizeof(record_t));
  for (i = thread; i < inserts; i += THREADS) {
    record_t r;
    r.key = key_of(number_of(me, i, &r.weight)), r.length = (uint32_t)length_of(r.key);
    to = owner_of(r.key);
    queue[to].record[queue[to].n++] = r;
    if (queue[to].n == batch) send_queue(to, &queue[to], thread);
  }
  for (to = 0; to < nodes; to++) send_queue(to, &queue[to], thread), free(queue[to].record);
  free(queue);
  GASNET_BLOCKUNTIL(LOAD(&on_their_way[thread]) == 0);
}

/* A lookup: the answer's handler compares. */
typedef struct {
  uint64_t number;
  int pending;
} find_t;
static find_t finds[THREADS][WAYS];
static void find_h(gex_Token_t token, gex_AM_Arg_t hi, gex_AM_Arg_t lo, gex_AM_Arg_t which) {
  const uint64_t key = (uint64_t)(uint32_t)hi << 32 | (uint32_t)lo;
  table_t *t = table_of(me);
  uint64_t b = bucket_of(key);
  gex_AM_SrcDesc_t sd;
  size_t n = 0;
  gex_HSL_Lock(&lock);
  while (t->entry[b].key != 0 && t->entry[b].key != key) b = (b + 1) & (buckets - 1);
  gex_HSL_Unlock(&lock);
  sd = gex_AM_PrepareReplyMedium(token, NULL, 16 + LONGEST, 16 + LONGEST, NULL, 0, 1);
  if (t->entry[b].key == key) { /* nobody inserts while others look up */
    n = 16 + (size_t)(t->entry[b].place & 0xFFFFFFFF);
    memcpy(gex_AM_SrcDescAddr(sd), &t->entry[b].count, 16);
    memcpy((unsigned char *)gex_AM_SrcDescAddr(sd) + 16, area[me] + (t->entry[b].place >> 32), n - 16);
  }
  gex_AM_CommitReplyMedium1(sd, H_FOUND, n, which);
}
static void compare(uint64_t number, int found, uint64_t count, uint64_t sum, const void *value, size_t n) {
  const int there = number < (uint64_t)keys && model_count[number] != 0;
  CHECK(found == there);
  if (!found || !there) return;
  CHECK(count == model_count[number] && sum == model_sum[number]);
  CHECK(is_value(key_of(number), value, n));
}
static void found_h(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t which) {
  find_t *f = &finds[which / WAYS][which % WAYS];
  uint64_t both[2] = {0, 0};
  (void)token;
  if (nbytes) memcpy(both, buf, 16);
  compare(f->number, nbytes != 0, both[0], both[1], (unsigned char *)buf + 16, nbytes ? nbytes - 16 : 0);
  ADD(&f->pending, -1);
}
/* A key to look for: one in ten was never inserted. */
static uint64_t wanted_number(long i) {
  const uint64_t r = mix(((uint64_t)me << 40) + (uint64_t)i * 5 + 1);
  return r % 10 == 0 ? (uint64_t)keys + (r >> 32) : (r >> 20) % (uint64_t)keys;
}
static void find_by_messages(int thread) {
  long i;
  int w;
  for (i = thread; i < lookups; i += THREADS) {
    const uint64_t number = wanted_number(i), key = key_of(number);
    w = (int)(i / THREADS % WAYS);
    GASNET_BLOCKUNTIL(LOAD(&finds[thread][w].pending) == 0);
    finds[thread][w].number = number;
    ADD(&finds[thread][w].pending, 1);
    gex_AM_RequestShort3(tm, owner_of(key), H_FIND, 0, (gex_AM_Arg_t)(uint32_t)(key >> 32), (gex_AM_Arg_t)(uint32_t)key, thread * WAYS + w);
  }
  for (w = 0; w < WAYS; w++) GASNET_BLOCKUNTIL(LOAD(&finds[thread][w].pending) == 0);
}

/* ---- o: one-sided ---- */
static uint64_t atomic(gex_Rank_t rank, uint64_t *word, gex_OP_t op, uint64_t x, uint64_t y, gex_Flags_t flags) {
  uint64_t old = 0;
  gex_Event_Wait(gex_AD_OpNB_U64(words, &old, rank, word, op, x, y, flags));
  return old;
}
static void insert_one_sided(int thread) {
  unsigned char value[LONGEST];
  long i;
  for (i = thread; i < inserts; i += THREADS) {
    uint32_t weight;
    const uint64_t key = key_of(number_of(me, i, &weight));
    const gex_Rank_t to = owner_of(key);
    table_t *t = table_of(to);
    uint64_t b = bucket_of(key), old;
    while ((old = atomic(to, &t->entry[b].key, GEX_OP_FCAS, 0, key, 0)) != 0 && old != key) b = (b + 1) & (buckets - 1);
    if (old == 0) { /* the first one brings the value */
      const size_t n = length_of(key);
      const uint64_t place = atomic(to, &t->top, GEX_OP_FADD, padded(n), 0, 0);
      value_of(key, value);
      gex_Event_Wait(gex_RMA_PutNB(tm, to, area[to] + place, value, n, GEX_EVENT_DEFER, 0));
      (void)atomic(to, &t->entry[b].place, GEX_OP_SET, place << 32 | n, 0, GEX_FLAG_AD_REL);
      (void)gex_AD_OpNBI_U64(words, NULL, to, &t->keys, GEX_OP_INC, 0, 0, 0);
    }
    (void)gex_AD_OpNBI_U64(words, NULL, to, &t->entry[b].count, GEX_OP_ADD, 1, 0, 0);
    (void)gex_AD_OpNBI_U64(words, NULL, to, &t->entry[b].sum, GEX_OP_ADD, weight, 0, 0);
  }
  gex_NBI_Wait(GEX_EC_RMW, 0);
}
/* WAYS keys at a time: all their entries by gets in flight, then all their values. */
static void find_one_sided(int thread) {
  entry_t entry[WAYS];
  uint64_t number[WAYS], bucket[WAYS];
  unsigned char value[WAYS][LONGEST];
  gex_Event_t event[WAYS];
  long i = thread;
  while (i < lookups) {
    int n, w, left;
    for (n = 0; n < WAYS && i < lookups; n++, i += THREADS)
      number[n] = wanted_number(i), bucket[n] = bucket_of(key_of(number[n])), entry[n].key = 1; /* no key */
    do { /* one step of probing for all that are not found yet */
      for (left = 0, w = 0; w < n; w++) {
        const uint64_t key = key_of(number[w]);
        const gex_Rank_t to = owner_of(key);
        event[w] = GEX_EVENT_INVALID;
        if (entry[w].key == 0 || entry[w].key == key) continue;
        event[w] = gex_RMA_GetNB(tm, &entry[w], to, &table_of(to)->entry[bucket[w]], sizeof entry[w], 0);
        bucket[w] = (bucket[w] + 1) & (buckets - 1), left++;
      }
      gex_Event_WaitAll(event, (size_t)n, 0);
    } while (left > 0);
    for (w = 0; w < n; w++) {
      const gex_Rank_t to = owner_of(key_of(number[w]));
      const size_t size = (size_t)(entry[w].place & 0xFFFFFFFF);
      if (entry[w].key == 0) continue;
      CHECK(size >= 1 && size <= LONGEST);
      if (size >= 1 && size <= LONGEST) gex_RMA_GetNBI(tm, value[w], to, area[to] + (entry[w].place >> 32), size, 0);
    }
    gex_NBI_Wait(GEX_EC_GET, 0);
    for (w = 0; w < n; w++)
      compare(number[w], entry[w].key != 0, entry[w].count, entry[w].sum, value[w], (size_t)(entry[w].place & 0xFFFFFFFF));
  }
}

/* ---- the phases ---- */
static void (*phase)(int thread);
#if defined(GASNET_PAR)
static void *on_thread(void *thread) {
  phase((int)(intptr_t)thread);
  return NULL;
}
#endif
static void by_all(void (*fn)(int)) {
  phase = fn;
#if defined(GASNET_PAR)
  {
    pthread_t thread[THREADS];
    int i;
    for (i = 1; i < THREADS; i++)
      if (pthread_create(&thread[i], NULL, on_thread, (void *)(intptr_t)i)) say("ERROR: no thread %d", i), gasnet_exit(1);
    fn(0);
    for (i = 1; i < THREADS; i++) pthread_join(thread[i], NULL);
  }
#else
  fn(0);
#endif
  gex_Coll_BarrierBlocking(tm, 0);
}
static size_t start_of_values(void) { return sizeof(table_t) + (size_t)buckets * sizeof(entry_t); }
static void clear(void) {
  memset(area[me], 0, area_bytes);
  table_of(me)->top = start_of_values();
  gex_Coll_BarrierBlocking(tm, 0);
}
/* The own part of the table, entry by entry. */
static void verify(void) {
  const table_t *t = table_of(me);
  uint64_t i, b, mine = 0, used = 0, bytes = 0;
  for (i = 0; i < (uint64_t)keys; i++) {
    const uint64_t key = key_of(i);
    const entry_t *e;
    if (owner_of(key) != me || model_count[i] == 0) continue;
    mine++, bytes += padded(length_of(key));
    for (b = bucket_of(key); t->entry[b].key != 0 && t->entry[b].key != key;) b = (b + 1) & (buckets - 1);
    e = &t->entry[b];
    CHECK(e->key == key && e->count == model_count[i] && e->sum == model_sum[i]);
    CHECK((e->place >> 32) + length_of(key) <= t->top && is_value(key, area[me] + (e->place >> 32), (size_t)(e->place & 0xFFFFFFFF)));
  }
  for (b = 0; b < buckets; b++) used += t->entry[b].key != 0;
  CHECK(used == mine && t->keys == mine && t->top == start_of_values() + bytes);
  gex_Coll_BarrierBlocking(tm, 0);
}

int main(int argc, char **argv) {
  gex_AM_Entry_t table[] = {ROW(H_INSERT, insert_h, MEDIUM, REQUEST, 2, NULL), ROW(H_INSERTED, inserted_h, SHORT, REPLY, 2, NULL),
                            ROW(H_FIND, find_h, SHORT, REQUEST, 3, NULL), ROW(H_FOUND, found_h, MEDIUM, REPLY, 1, NULL)};
  gex_Rank_t rank;
  const char *v;
  int option;
  long i;
  begin("hashtable", &argc, &argv);
  while ((option = getopt(argc, argv, "k:r:b:l:v:")) != -1) switch (option) {
      case 'k': inserts = atol(optarg); break;
      case 'r': keys = atol(optarg); break;
      case 'b': batch = atol(optarg); break;
      case 'l': lookups = atol(optarg); break;
      case 'v': variants = optarg; break;
      default: gasnet_exit(2);
    }
  if (inserts < 0 || keys < 1 || batch < 1 || lookups < 0) say("ERROR: a number is too small"), gasnet_exit(2);
  for (buckets = 64; buckets < 2 * (uint64_t)keys; buckets *= 2) {} /* even if one process owns all */
  MUST(gex_EP_RegisterHandlers(ep, table, COUNT_OF(table)));
  make_areas(start_of_values() + (size_t)keys * LONGEST);
  gex_AD_Create(&words, tm, GEX_DT_U64, GEX_OP_FCAS | GEX_OP_FADD | GEX_OP_ADD | GEX_OP_INC | GEX_OP_SET, GEX_FLAG_AD_FAVOR_REMOTE);
  model_count = (uint64_t *)calloc((size_t)keys, 8), model_sum = (uint64_t *)calloc((size_t)keys, 8);
  for (rank = 0; rank < nodes; rank++)
    for (i = 0; i < inserts; i++) {
      uint32_t weight;
      const uint64_t number = number_of(rank, i, &weight);
      model_count[number]++, model_sum[number] += weight;
    }
  for (v = variants; *v; v++) {
    const int messages = *v == 'a';
    uint64_t count;
    if (*v != 'a' && *v != 'o') say("ERROR: no variant %c", *v), gasnet_exit(2);
    clear();
    by_all(messages ? insert_by_messages : insert_one_sided);
    verify();
    by_all(messages ? find_by_messages : find_one_sided);
    count = table_of(me)->keys;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &count, &count, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    if (me == 0) say("variant %c: %lu keys after %lu inserts", *v, (unsigned long)count, (unsigned long)inserts * nodes);
  }
  gex_AD_Destroy(words);
  free(model_count), free(model_sum);
  return end();
}
