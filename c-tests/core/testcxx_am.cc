// Contract items 24 and 25 in C++, and how C++ clients use Active Messages: the header inside an extern "C" block,
// handlers in namespaces, classes and templates, tokens cast to and fro.
extern "C" {
#include <gasnet.h>
}
#include "testcorepaste.h"
#include <gasnet.h>

#include <vector>

namespace {

const gasnet_handler_t kTell = 230, kMember = 231, kTyped = 232, kTypedReply = 233;

std::vector<void *> told;
int known, member_calls, typed_calls, typed_replies;
char landing[64];

extern "C" void tell_h(gasnet_token_t token, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
  gasnet_node_t from = 0;
  GASNET_SAFE(gasnet_AMGetMsgSource(token, &from));
  told[from] = reinterpret_cast<void *>(PASTE_UNPACK(hi, lo));
  void *joined = reinterpret_cast<void *>(GASNETI_MAKEWORD(hi, lo));
  CHECK(joined == told[from], "%p", joined);
  CHECK(static_cast<gasnet_handlerarg_t>(GASNETI_HIWORD(joined)) == hi && static_cast<gasnet_handlerarg_t>(GASNETI_LOWORD(joined)) == lo, "%p", joined);
  TEST_COUNT(&known);
}

// A token passes through C++ code as the client's own type.
struct Token;
Token *wrap(gasnet_token_t token) { return reinterpret_cast<Token *>(token); }
gasnet_token_t unwrap(Token *token) { return reinterpret_cast<gasnet_token_t>(token); }

class Service {
 public:
  static void handle(gasnet_token_t raw, void *buf, size_t nbytes, gasnet_handlerarg_t n) {
    Token *token = wrap(raw);
    gasnet_node_t from = 0;
    GASNET_SAFE(gasnet_AMGetMsgSource(unwrap(token), &from));
    CHECK(nbytes == sizeof(double) && *static_cast<double *>(buf) == n * 0.25, "%g", *static_cast<double *>(buf));
    TEST_COUNT(&member_calls);
  }
};

template <typename T>
struct Typed {
  static void handle(gasnet_token_t token, gasnet_handlerarg_t hi, gasnet_handlerarg_t lo) {
    union { int64_t bits; T value; } u;
    u.bits = static_cast<int64_t>(PASTE_UNPACK(hi, lo));
    CHECK(u.value == T(-2.5), "%g", static_cast<double>(u.value));
    TEST_COUNT(&typed_calls);
    GASNET_SAFE(gasnet_AMReplyShort2(token, kTypedReply, hi, lo));
  }
  static void reply(gasnet_token_t, gasnet_handlerarg_t, gasnet_handlerarg_t) { TEST_COUNT(&typed_replies); }
  static void send(gasnet_node_t to, T value) {
    union { int64_t bits; T value; } u;
    u.bits = 0;
    u.value = value;
    GASNET_SAFE(gasnet_AMRequestShort2(to, kTyped, u.bits >> 32, u.bits & 0xffffffff));
  }
};

void *area(gasnet_node_t at) { return told[at]; }

#ifndef GASNET_DEBUG
// Runtimes have barriers of their own with the name of ours.
namespace own {
int met;
void gasnet_barrier() {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  GASNET_SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
  met++;
}
}  // namespace own
#endif

}  // namespace

int main(int argc, char **argv) {
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  gasnet_handlerentry_t table[] = {PASTE_TABLE,
                                   {kTell, (void (*)())tell_h},
                                   {kMember, (void (*)())Service::handle},
                                   {kTyped, (void (*)())Typed<double>::handle},
                                   {kTypedReply, reinterpret_cast<void (*)()>(Typed<double>::reply)}};
  const int nodes = static_cast<int>(gasnet_nodes());
  told.resize(gasnet_nodes());
  GASNET_SAFE(gasnet_attach(table, sizeof table / sizeof *table, GASNET_PAGESIZE, 0));
  test_begin("testcxx_am");

  std::vector<gasnet_seginfo_t> segments(gasnet_nodes());
  GASNET_SAFE(gasnet_getSegmentInfo(&segments[0], nodes));
  void *mine = segments[gasnet_mynode()].addr ? segments[gasnet_mynode()].addr : landing;
  for (int i = 0; i < nodes; i++) GASNET_SAFE(gasnet_AMRequestShort2(i, kTell, PASTE_PACK(mine)));
  GASNET_BLOCKUNTIL(known == nodes);
  paste_test(area);
#ifndef GASNET_DEBUG
  own::gasnet_barrier();
  GASNET_SAFE(gasnet_barrier(7, 0));
  CHECK(own::met == 1, "%d", own::met);
#endif

  for (int i = 0; i < nodes; i++) {
    double d = i * 0.25;
    GASNET_SAFE(gasnet_AMRequestMedium1(i, kMember, &d, sizeof d, i));
    Typed<double>::send(i, -2.5);
  }
  GASNET_BLOCKUNTIL(typed_calls >= nodes && typed_replies >= nodes && member_calls >= nodes);
  test_end();
}
