/* The limits of the machine without the library: lines and bytes through plain shared memory, copies between the same buffers. */
#include "bench.h"

/* ---- lines: each node writes into the other's ring and looks at its own; a line is not written again before the other
        side has answered a later one ---- */

static uint64_t trips;

/* One line there, one line back. `gap` stands between two looks, `hint` follows the store of `line`. */
#define LINE_TRIP(name, gap, hint)                                                                                   \
  double bench_##name(long n, size_t bytes) {                                                                        \
    const unsigned me = bench_me;                                                                                    \
    line_t *mine, *theirs;                                                                                           \
    const double start = bench_now();                                                                                \
    (void)bytes;                                                                                                     \
    if (me > 1) return 0;                                                                                            \
    mine = bench_shared->line[me], theirs = bench_shared->line[1 - me];                                              \
    for (; n > 0; n--) {                                                                                             \
      const uint64_t trip = ++trips;                                                                                 \
      line_t *const line = &theirs[trip % LINES];                                                                    \
      if (me == 0) {                                                                                                 \
        STORE(&line->word[0], trip);                                                                                 \
        hint;                                                                                                        \
      }                                                                                                              \
      while (LOAD(&mine[trip % LINES].word[0]) != trip) gap;                                                         \
      if (me == 1) {                                                                                                 \
        STORE(&line->word[0], trip);                                                                                 \
        hint;                                                                                                        \
      }                                                                                                              \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  }                                                                                                                  \
  struct bench_semicolon

LINE_TRIP(line_trip, PAUSE(), (void)0);
/* With what the protocol does besides (gasnet_sci_direct.h): it hands lines over, and it pauses longer between looks. */
LINE_TRIP(line_trip_handed, PAUSE(), GASNETI_SCI_HAND_OVER(line));
#define PAUSES(count)                                                                                                \
  do {                                                                                                               \
    int pause;                                                                                                       \
    for (pause = 0; pause < (count); pause++) GASNETI_SCI_PAUSE();                                                   \
  } while (0)
LINE_TRIP(line_trip_0, FENCE(), (void)0);
LINE_TRIP(line_trip_2, PAUSES(2), (void)0);
LINE_TRIP(line_trip_3, PAUSES(3), (void)0);
LINE_TRIP(line_trip_4, PAUSES(4), (void)0);

/* ---- a stream: node 0 sends, node 1 takes, and tells every sixteenth how far it is ---- */

static uint64_t streamed, stream_known;

/* Waits until node 1 has taken number `upto`. */
static void taken(uint64_t *known, line_t *credit, uint64_t upto) {
  while ((int64_t)(*known - upto) < 0) {
    *known = LOAD(&credit->word[0]);
    PAUSE();
  }
}

/* `hint` follows the store of line `number`. */
#define LINE_STREAM(name, hint)                                                                                      \
  double bench_##name(long n, size_t bytes) {                                                                        \
    line_t *ring = bench_shared->flag[1], *credit = &bench_shared->credit[0];                                        \
    const double start = bench_now();                                                                                \
    (void)bytes;                                                                                                     \
    if (bench_me > 1) return 0;                                                                                      \
    for (; n > 0; n--) {                                                                                             \
      const uint64_t number = ++streamed;                                                                            \
      line_t *line = &ring[number % LINES];                                                                          \
      if (bench_me == 0) {                                                                                           \
        taken(&stream_known, credit, number - LINES);                                                                \
        line->word[1] = line->word[2] = line->word[3] = line->word[4] = number;                                      \
        STORE(&line->word[0], number);                                                                               \
        hint;                                                                                                        \
      } else {                                                                                                       \
        while (LOAD(&line->word[0]) != number) PAUSE();                                                              \
        if (number % 16 == 0 || n == 1) STORE(&credit->word[0], number);                                             \
      }                                                                                                              \
    }                                                                                                                \
    if (bench_me == 0) taken(&stream_known, credit, streamed);                                                       \
    return bench_now() - start;                                                                                      \
  }                                                                                                                  \
  struct bench_semicolon

LINE_STREAM(line_stream, (void)0);
/* Claims lines ahead as gasneti_sci_claim_ahead does, if they are free as far as node 0 knows. */
static inline void claim_lines(line_t *ring, uint64_t number) {
  uint64_t i;
  if (number % GASNETI_SCI_CLAIM_BATCH != 0 || number + 2 * GASNETI_SCI_CLAIM_BATCH - 1 - stream_known > LINES) return;
  for (i = number + GASNETI_SCI_CLAIM_BATCH; i < number + 2 * GASNETI_SCI_CLAIM_BATCH; i++) STORE(&ring[i % LINES].word[7], ~(uint64_t)0);
}
LINE_STREAM(line_stream_claimed, claim_lines(ring, number));

/* ---- payloads through a ring of bytes, in one piece each, announced by a line ---- */

typedef struct {
  uint64_t number, position, end[LINES]; /* end: position after number % LINES */
} stream_t;

/* The next payload's number; *at: where it lies. */
static uint64_t next(stream_t *stream, size_t bytes, size_t *at) {
  const uint64_t number = ++stream->number;
  if (stream->position % RING + bytes > RING) stream->position += RING - stream->position % RING;
  *at = stream->position % RING;
  stream->position += (bytes + 63) / 64 * 64;
  stream->end[number % LINES] = stream->position;
  return number;
}

static stream_t echoes[2]; /* to node 0, to node 1 */

/* Hints after a payload at `offset` of `ring`: lines of the payload are handed over, or those of the next one claimed. */
static inline void hand_over(unsigned char *ring, size_t offset, size_t bytes) {
  size_t i;
  for (i = 0; i < bytes; i += 64) GASNETI_SCI_HAND_OVER(ring + offset + i);
}
static inline void claim_next(unsigned char *ring, const stream_t *stream, size_t bytes) {
  const size_t at = stream->position % RING, first = at + bytes > RING ? 0 : at;
  size_t i;
  for (i = 0; i + 64 <= bytes; i += 64) STORE((uint64_t *)(void *)(ring + first + i) + 7, ~(uint64_t)0); /* as Mediums that wait for an answer do */
}

/* A payload there, and the arrived bytes back. As with a Medium and its reply, they stay where they arrive. `before` precedes
 * the store that announces a payload at `at` of `to`, `after` follows it. */
#define COPY_TRIP(name, before, after)                                                                               \
  double bench_##name(long n, size_t bytes) {                                                                        \
    const unsigned me = bench_me;                                                                                    \
    unsigned char *const to = bench_shared->bytes[1 - (me & 1)];                                                     \
    const stream_t *const stream = &echoes[1 - (me & 1)];                                                            \
    const double start = bench_now();                                                                                \
    size_t there, back;                                                                                              \
    (void)to, (void)stream;                                                                                          \
    if (me > 1) return 0;                                                                                            \
    for (; n > 0; n--) {                                                                                             \
      const uint64_t out = next(&echoes[1], bytes, &there), in = next(&echoes[0], bytes, &back);                     \
      const size_t at = me == 0 ? there : back;                                                                      \
      line_t *out_line = &bench_shared->line[1][out % LINES], *in_line = &bench_shared->line[0][in % LINES];         \
      (void)at;                                                                                                      \
      if (me == 0) {                                                                                                 \
        memcpy(bench_shared->bytes[1] + there, bench_local, bytes);                                                  \
        before;                                                                                                      \
        STORE(&out_line->word[1], out);                                                                              \
        after;                                                                                                       \
        while (LOAD(&in_line->word[1]) != in) PAUSE();                                                               \
      } else {                                                                                                       \
        while (LOAD(&out_line->word[1]) != out) PAUSE();                                                             \
        memcpy(bench_shared->bytes[0] + back, bench_shared->bytes[1] + there, bytes);                                \
        before;                                                                                                      \
        STORE(&in_line->word[1], in);                                                                                \
        after;                                                                                                       \
      }                                                                                                              \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  }                                                                                                                  \
  struct bench_semicolon

COPY_TRIP(copy_trip, (void)0, (void)0);
COPY_TRIP(copy_trip_handed, hand_over(to, at, bytes), GASNETI_SCI_HAND_OVER(me == 0 ? out_line : in_line));
COPY_TRIP(copy_trip_claimed, (void)0, claim_next(to, stream, bytes));

static stream_t copies;
static uint64_t copies_known, copies_told;

/* One way. The receiver leaves the bytes where they are, like a handler that does not use them. */
double bench_copy_stream(long n, size_t bytes) {
  line_t *ring = bench_shared->flag[0], *credit = &bench_shared->credit[1];
  const double start = bench_now();
  size_t at;
  if (bench_me > 1) return 0;
  for (; n > 0; n--) {
    const uint64_t number = next(&copies, bytes, &at);
    line_t *line = &ring[number % LINES];
    if (bench_me == 0) {
      taken(&copies_known, credit, number - LINES + 1); /* its place in `end` is this one's then */
      while (copies.position - copies.end[copies_known % LINES] > RING) taken(&copies_known, credit, copies_known + 1);
      memcpy(bench_shared->bytes[1] + at, bench_local, bytes);
      STORE(&line->word[0], number);
    } else {
      while (LOAD(&line->word[0]) != number) PAUSE();
      if (number % 16 == 0 || copies.position - copies_told > RING / 8 || n == 1) {
        STORE(&credit->word[0], number);
        copies_told = copies.position;
      }
    }
  }
  if (bench_me == 0) taken(&copies_known, credit, copies.number);
  return bench_now() - start;
}

/* ---- copies between the buffers that transfers use; node 0 alone. Eight bytes are one load and one store, as the compiler
        makes them of a constant size ---- */

#define LOOP(call)                                                                                                   \
  do {                                                                                                               \
    const double start = bench_now();                                                                                \
    long i;                                                                                                          \
    if (bench_me != 0 || !bench_mapped) return 0;                                                                    \
    for (i = 0; i < n; i++) {                                                                                        \
      call;                                                                                                          \
      FENCE();                                                                                                       \
    }                                                                                                                \
    return bench_now() - start;                                                                                      \
  } while (0)

double bench_copy_to(long n, size_t bytes) {
  if (bytes == 8) LOOP(memcpy(bench_mapped, bench_local, 8));
  LOOP(memcpy(bench_mapped, bench_local, bytes));
}
double bench_copy_from(long n, size_t bytes) {
  if (bytes == 8) LOOP(memcpy(bench_local, bench_mapped, 8));
  LOOP(memcpy(bench_local, bench_mapped, bytes));
}
double bench_fill(long n, size_t bytes) {
  if (bytes == 8) LOOP(memset(bench_mapped, 5, 8));
  LOOP(memset(bench_mapped, 5, bytes));
}
double bench_store(long n, size_t bytes) {
  (void)bytes;
  LOOP(__atomic_store_n((uint64_t *)(void *)bench_mapped, (uint64_t)i, __ATOMIC_RELAXED));
}
double bench_load(long n, size_t bytes) {
  (void)bytes;
  LOOP(__asm__ __volatile__("" ::"r"(__atomic_load_n((uint64_t *)(void *)bench_mapped, __ATOMIC_RELAXED))));
}

/* Blocks from the peer's segment on both nodes at once, one and one of each node: what collectives have to move. */
double bench_copy_block(long n, size_t bytes) {
  const double start = bench_now();
  long i;
  for (i = 0; i < n; i++) {
    memcpy(bench_mine + SEGMENT / 2, bench_mapped, bytes);
    FENCE();
  }
  return bench_now() - start;
}
double bench_copy_blocks(long n, size_t bytes) {
  const double start = bench_now();
  long i;
  for (i = 0; i < n; i++) {
    memcpy(bench_mine + SEGMENT / 2 + bytes * bench_peer, bench_mapped + bytes * bench_me, bytes);
    memcpy(bench_mine + SEGMENT / 2 + bytes * bench_me, bench_mine + bytes * bench_me, bytes);
    FENCE();
  }
  return bench_now() - start;
}
