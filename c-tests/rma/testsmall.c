/* Latency of small puts and gets, every form. Section V also checks contract items 45, 88 and 89.
 *
 * usage: testsmall [-in|-out] [-a] [-c] [-f] [-s] [-m] [-x] [iters [maxsize [sections]]]      (see perf_usage())
 *
 * The latency of a round trip is the time of one call (or of call and sync); that of a flood, the time of all
 * divided by their number. */
#include "testperf.h"

enum { HIDX_ASK = 201, HIDX_ANSWER, HIDX_LOOK, HIDX_GO };

static const struct perf_section sections[] = {
    {'A', PUT, BLOCKING, 0},  {'B', GET, BLOCKING, 0},  {'C', PUT, NB_EACH, 0},   {'D', GET, NB_EACH, 0},
    {'E', PUT, NBI_EACH, 0},  {'F', GET, NBI_EACH, 0},  {'G', PUT, NB_FLOOD, 0},  {'H', GET, NB_FLOOD, 0},
    {'I', PUT, NBI_FLOOD, 0}, {'J', GET, NBI_FLOOD, 0}, {'K', PUT, BLOCKING, 1},  {'L', GET, BLOCKING, 1},
    {'M', PUT, NB_FLOOD, 1},  {'N', GET, NB_FLOOD, 1},  {'O', PUT, NBI_FLOOD, 1}, {'P', GET, NBI_FLOOD, 1}};

static void print_row(const struct perf_section *s, const char *name, size_t nbytes, int n, double seconds) {
  if (perf_option.machine) {
    perf_machine_row(s, name, nbytes, n, seconds);
    return;
  }
  printf("%2u: %c  %-13s %-10s: %6lu B  %7d iters  latency = %10.3f us\n", (unsigned)me, s->letter, name,
         perf_how_kind[s->how], (unsigned long)nbytes, n, seconds / (double)n * 1e6);
  fflush(stdout);
}

/* ---- messages: requests to another node ---- */

static int asked, answered; /* requests that came here, answers to those of this node */
static volatile int go_size, go_seed, go_came;

#define PAD 4096 /* bytes that each node may use in the rest of each area */
static unsigned char *pad(gasnet_node_t at, gasnet_node_t of) { return core_area[at] + PERF_REST + of * (size_t)PAD; }

static void ask_h(gasnet_token_t token) {
  TEST_COUNT(&asked);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_ANSWER));
}
static void answer_h(gasnet_token_t token) {
  (void)token;
  TEST_COUNT(&answered);
}
/* 89: the sender's synced put is here. `value` ≥ 0: every byte is that. */
static void look_h(gasnet_token_t token, gasnet_handlerarg_t nbytes, gasnet_handlerarg_t seed,
                   gasnet_handlerarg_t value) {
  const unsigned char *at = pad(me, core_source(token));
  const size_t n = (size_t)nbytes;
  const size_t same = value < 0 ? core_differs(at, n, (unsigned)seed) : core_notall(at, n, (unsigned char)value);
  CHECK(same == n, "a handler sees %lu of %lu bytes put before", (unsigned long)same, (unsigned long)n);
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_ANSWER));
}
static void go_h(gasnet_token_t token, gasnet_handlerarg_t nbytes, gasnet_handlerarg_t seed) {
  (void)token;
  go_size = nbytes, go_seed = seed;
  AREA_STORE(&go_came, 1);
}

/* ---- 88: a completed put is seen by a third node, and by the owner ---- */

static void item88_third_node(size_t nbytes) {
  const gasnet_node_t next = (me + 1) % nodes, third = (me + 2) % nodes;
  unsigned char here[PAD];
  unsigned seed = core_seed(me, 88, (unsigned)nbytes);
  gasnet_node_t p;
  core_fill(here, nbytes, seed);
  gasnet_put_bulk(next, pad(next, me), here, nbytes);
  test_barrier();
  for (p = 0; p < nodes; p++) {
    const gasnet_node_t owner = (p + 1) % nodes;
    seed = core_seed(p, 88, (unsigned)nbytes);
    memset(here, 0, nbytes);
    gasnet_get_bulk(here, owner, pad(owner, p), nbytes);
    CHECK(core_differs(here, nbytes, seed) == nbytes, "%lu bytes of node %u at node %u, after a barrier",
          (unsigned long)nbytes, (unsigned)p, (unsigned)owner);
    if (owner == me)
      CHECK(core_differs(pad(me, p), nbytes, seed) == nbytes, "%lu bytes of node %u loaded here", (unsigned long)nbytes,
            (unsigned)p);
  }
  go_came = 0;
  test_barrier();

  /* the same, learnt from a message instead of a barrier */
  seed = core_seed(me, 89, (unsigned)nbytes);
  core_fill(here, nbytes, seed);
  gasnet_put(next, pad(next, me), here, nbytes);
  GASNET_SAFE(gasnet_AMRequestShort2(third, HIDX_GO, (gasnet_handlerarg_t)nbytes, (gasnet_handlerarg_t)seed));
  GASNET_BLOCKUNTIL(AREA_LOAD(&go_came));
  {
    const gasnet_node_t from = (me + 2 * nodes - 2) % nodes, owner = (from + 1) % nodes;
    memset(here, 0, sizeof here);
    gasnet_get(here, owner, pad(owner, from), (size_t)go_size);
    CHECK(core_differs(here, (size_t)go_size, (unsigned)go_seed) == (size_t)go_size,
          "%d bytes of node %u at node %u, after its message", go_size, (unsigned)from, (unsigned)owner);
  }
  test_barrier();
}

/* ---- 89: put, sync, then a message: its handler sees the data ---- */

#define ITEM89_FORMS 9
static void item89_then_message(int form, size_t nbytes) {
  const gasnet_node_t next = (me + 1) % nodes;
  const unsigned seed = core_seed(me, (unsigned)form + 890, (unsigned)nbytes);
  unsigned char here[PAD], *at = pad(next, me);
  gasnet_register_value_t word;
  gasnet_handle_t h;
  int value = -1, before = AREA_LOAD(&answered);
  core_fill(here, nbytes, seed);
  switch (form) {
    case 0: gasnet_put(next, at, here, nbytes); break;
    case 1: gasnet_put_bulk(next, at, here, nbytes); break;
    case 2: gasnet_wait_syncnb(gasnet_put_nb(next, at, here, nbytes)); break;
    case 3:
      h = gasnet_put_nb_bulk(next, at, here, nbytes);
      while (gasnet_try_syncnb(h) != GASNET_OK) {}
      break;
    case 4:
      gasnet_put_nbi(next, at, here, nbytes);
      gasnet_wait_syncnbi_puts();
      break;
    case 5:
      gasnet_put_nbi_bulk(next, at, here, nbytes);
      while (gasnet_try_syncnbi_all() != GASNET_OK) {}
      break;
    case 6:
      gasnet_begin_nbi_accessregion();
      gasnet_put_nbi_bulk(next, at, here, nbytes);
      gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
      break;
    case 7: gasnet_memset(next, at, value = (int)(seed & 255), nbytes); break;
    default:
      nbytes = nbytes < sizeof word ? nbytes : sizeof word;
      word = 0;
      memcpy(&word, here, nbytes); /* little-endian: the low bytes come first */
      gasnet_put_val(next, at, word, nbytes);
      if (core_differs(&word, nbytes, seed) != nbytes) return;
      break;
  }
  GASNET_SAFE(gasnet_AMRequestShort3(next, HIDX_LOOK, (gasnet_handlerarg_t)nbytes, (gasnet_handlerarg_t)seed, value));
  GASNET_BLOCKUNTIL(AREA_LOAD(&answered) > before);
}

/* ---- 45: a node that does nothing but gets answers requests ---- */

#define ITEM45_FORMS 8
#define STUCK 1.0 /* seconds: no measure of speed, but an answer that never comes is reported instead of a hang */
static int one_get(int form, gasnet_node_t node, void *from) {
  int value = 0;
  gasnet_handle_t h;
  switch (form) {
    case 0: gasnet_get(&value, node, from, sizeof value); break;
    case 1: gasnet_get_bulk(&value, node, from, sizeof value); break;
    case 2: value = (int)gasnet_get_val(node, from, sizeof value); break;
    case 3: gasnet_wait_syncnb(gasnet_get_nb(&value, node, from, sizeof value)); break;
    case 4: value = (int)gasnet_wait_syncnb_valget(gasnet_get_nb_val(node, from, sizeof value)); break;
    case 5:
      h = gasnet_get_nb_bulk(&value, node, from, sizeof value);
      gasnet_wait_syncnb_all(&h, 1);
      break;
    case 6:
      h = gasnet_get_nb(&value, node, from, sizeof value);
      gasnet_wait_syncnb_some(&h, 1);
      break;
    default:
      gasnet_get_nbi(&value, node, from, sizeof value);
      gasnet_wait_syncnbi_gets();
      break;
  }
  return value;
}

/* `getter` gets a flag from its successor until it is set; the successor sets it only when the getter has answered. */
static void item45_getter_answers(gasnet_node_t getter, int form, int questions) {
  const gasnet_node_t asker = (getter + 1) % nodes;
  int *flag = (int *)(void *)pad(asker, getter), i;
  const int before = AREA_LOAD(&answered);
  test_barrier(); /* the flag is where others have just put */
  if (me == asker) AREA_STORE(flag, 0);
  AREA_STORE(&asked, 0);
  test_barrier();
  if (me == asker)
    for (i = 1; i <= questions; i++) {
      GASNET_SAFE(gasnet_AMRequestShort0(getter, HIDX_ASK));
      if (asker != getter) GASNET_BLOCKUNTIL(AREA_LOAD(&answered) == before + i);
    }
  if (me == asker && asker != getter) AREA_STORE(flag, 1);
  if (me == getter) {
    const double late = test_now() + STUCK;
    long gets = 0;
    int stuck = 0;
    while (asker == getter ? AREA_LOAD(&answered) < before + questions : one_get(form, asker, flag) != 1) {
      if (asker == getter) one_get(form, asker, flag);
      if (++gets % 1024 == 0 && test_now() > late) stuck = 1;
      if (stuck) gasnet_AMPoll(); /* so that the job goes on */
    }
    CHECK(!stuck, "form %d: %ld gets and their syncs left questions unanswered", form, gets);
    CHECK(AREA_LOAD(&asked) == questions, "form %d: %d of %d questions came during %ld gets", form, asked, questions,
          gets);
  }
  test_barrier();
}

static void run_checks(void) {
  size_t nbytes;
  gasnet_node_t p;
  int i;
  for (nbytes = 1; nbytes <= PAD; nbytes *= 4) item88_third_node(nbytes);
  for (nbytes = 1; nbytes <= PAD; nbytes *= 8)
    for (i = 0; i < ITEM89_FORMS; i++) item89_then_message(i, nbytes);
  for (p = 0; p < nodes; p++)
    for (i = 0; i < ITEM45_FORMS; i++) item45_getter_answers(p, i, 3);
}

int main(int argc, char **argv) {
  const gasnet_handlerentry_t table[] = {{HIDX_ASK, (void (*)())ask_h},
                                         {HIDX_ANSWER, (void (*)())answer_h},
                                         {HIDX_LOOK, (void (*)())look_h},
                                         {HIDX_GO, (void (*)())go_h}};
  int understood;
  perf_program = "testsmall", perf_print = print_row;
  perf_sections = sections, perf_count = sizeof sections / sizeof *sections;
  perf_option.iters = 100, perf_option.maxsize = 2048;
  core_init(&argc, &argv, perf_program);
  understood = perf_parse(argc, argv) && !perf_option.huge;
  if (perf_option.iters > 1000) alarm(0); /* who asks for more may wait for it */
  perf_room = (perf_option.maxsize + 2 * PERF_GUARD + 63) / 64 * 64;
  area_attach(table, (int)(sizeof table / sizeof *table), PERF_REST + nodes * (size_t)PAD);
  test_begin(perf_program);
  if (!understood) {
    perf_usage("");
    test_barrier();
    gasnet_exit(2);
  }
  perf_prepare();
  perf_all(1);
  if (perf_wants(PERF_VERIFY)) perf_verify(), run_checks();
  test_end();
  return 0;
}
