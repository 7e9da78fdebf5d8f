/* Addresses that mean the same in every node. Each node sends its right neighbour the addresses of a function and of
 * static data, as runtimes do that send functions to the data. The neighbour calls the function with the data's
 * address, and both must be its own. This must hold in a position-independent program (the default of most systems)
 * that a launcher starts once per node. */
#include "../test.h"

enum { HIDX_CALL = 210, HIDX_DONE, ROUNDS = 20 };

static gasnet_handlerarg_t calls[ROUNDS]; /* what `remember` left, by round */
static int answers;

static void remember(gasnet_handlerarg_t *place, gasnet_handlerarg_t value) { *place += value; }

static gasnet_handlerarg_t high(const void *p) { return (gasnet_handlerarg_t)((unsigned long long)(size_t)p >> 32); }
static gasnet_handlerarg_t low(const void *p) { return (gasnet_handlerarg_t)(size_t)p; }
static size_t both(gasnet_handlerarg_t h, gasnet_handlerarg_t l) {
  return (size_t)((unsigned long long)(unsigned)h << 32 | (unsigned)l);
}

typedef void function_t(gasnet_handlerarg_t *, gasnet_handlerarg_t);

/* A function's address as a pointer to data, without a cast that ISO C lacks. */
static const void *address_of(function_t *function) {
  const void *address;
  memcpy(&address, &function, sizeof address);
  return address;
}

static void call_h(gasnet_token_t token, gasnet_handlerarg_t function_high, gasnet_handlerarg_t function_low,
                   gasnet_handlerarg_t place_high, gasnet_handlerarg_t place_low, gasnet_handlerarg_t value) {
  size_t code = both(function_high, function_low), place = both(place_high, place_low);
  /* Called only if it is the function: a failure shall be a line, not a crash. */
  int same = CHECK(code == (size_t)address_of(remember), "the neighbour's function is at %p, ours at %p", (void *)code,
                   address_of(remember)) &&
             CHECK(place >= (size_t)calls && place < (size_t)(calls + ROUNDS), "the neighbour's data is at %p, ours at %p",
                   (void *)place, (void *)calls);
  if (same) {
    function_t *function;
    memcpy(&function, &code, sizeof function);
    function((gasnet_handlerarg_t *)place, value);
  }
  GASNET_SAFE(gasnet_AMReplyShort0(token, HIDX_DONE));
}

static void done_h(gasnet_token_t token) {
  (void)token;
  answers++;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{HIDX_CALL, (void (*)())call_h}, {HIDX_DONE, (void (*)())done_h}};
  gasnet_handlerarg_t me, left;
  int i;
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  GASNET_SAFE(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
  test_begin("testlayout");
  me = (gasnet_handlerarg_t)gasnet_mynode();
  left = (gasnet_handlerarg_t)((gasnet_mynode() + gasnet_nodes() - 1) % gasnet_nodes());

  for (i = 0; i < ROUNDS; i++) {
    const void *function = address_of(remember);
    GASNET_SAFE(gasnet_AMRequestShort5((gasnet_mynode() + 1) % gasnet_nodes(), HIDX_CALL, high(function), low(function),
                                       high(&calls[i]), low(&calls[i]), 1000 * me + i + 1));
  }
  GASNET_BLOCKUNTIL(answers == ROUNDS);
  test_barrier();
  for (i = 0; i < ROUNDS; i++)
    CHECK(calls[i] == 1000 * left + i + 1, "round %d left %d", i, (int)calls[i]);
  test_end();
  return 0;
}
