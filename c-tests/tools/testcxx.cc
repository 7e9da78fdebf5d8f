/* The headers as C++ clients use them, C++11 to 20 (cargo xtask headers compiles it in each): inside namespaces, classes, templates and lambdas,
 * in static initialisers, with RAII, containers of the tools' types, thread keys, and everything gasnet.h has for a task runtime.
 * Active messages in C++: testcxx_am.cc. */
#undef __PLATFORM_COMPILER_GNU_VERSION_STR
extern "C" {
#include "../test.h"
}
#include <gasnet_tools.h>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>
#if defined(GASNETT_THREAD_SAFE)
#include <thread>
#endif

#if !defined(__cplusplus) || !defined(_INCLUDED_GASNET_TOOLS_H) || !defined(_INCLUDED_GASNET_H)
#error "guards"
#endif
static_assert(sizeof(gasnett_atomic32_t) == 4 && sizeof(gasnett_strongatomic64_t) == 8, "exact sizes");
static_assert(sizeof(gasnet_handle_t) <= sizeof(gasnet_register_value_t), "handles fit a register");
static_assert(PLATFORM_COMPILER_ID == 10000 + PLATFORM_COMPILER_FAMILYID, "a C++ compiler");
#if !defined(PLATFORM_COMPILER_CXX_LANGLVL) || defined(PLATFORM_COMPILER_C_LANGLVL)
#error "language level"
#endif

GASNETT_IDENT(testcxx_ident, "$TestCxx" "Ident: " GASNETT_CONFIG_STRING " $");
GASNETT_THREADKEY_DEFINE(cxx_key);
GASNETT_BEGIN_EXTERNC
static int c_linkage(int x) GASNETT_UNUSED;
static int c_linkage(int x) { return x + 1; }
GASNETT_END_EXTERNC
GASNETT_INLINE(overloaded_int) int overloaded(int x) { return x; }
GASNETT_INLINE(overloaded_double) double overloaded(double x) { return x; }

namespace client {
GASNETT_NORETURN GASNETT_FORMAT_PRINTF(fail, 1, 2, static void TEST_UNUSED fail(const char *format, ...)) {
  std::fputs(format, stderr);
  std::abort();
}

/* A lock and a counter with initialisers in the class, which C++ clients put into containers of pointers. */
class Counter {
public:
  void add(uint32_t n) {
    Guard guard(mutex_);
    gasnett_mutex_assertlocked(&mutex_);
    plain_ += n;
    (void)gasnett_atomic32_add(&atomic_, n, GASNETT_ATOMIC_REL);
  }
  bool agrees(uint64_t with) const { return plain_ == with && gasnett_atomic32_read(&atomic_, GASNETT_ATOMIC_ACQ) == with; }

private:
  struct Guard {
    explicit Guard(gasnett_mutex_t &mutex) : mutex_(mutex) { gasnett_mutex_lock(&mutex_); }
    ~Guard() { gasnett_mutex_unlock(&mutex_); }
    gasnett_mutex_t &mutex_;
  };
  gasnett_mutex_t mutex_ = GASNETT_MUTEX_INITIALIZER;
  gasnett_atomic32_t atomic_ = gasnett_atomic32_init(0);
  uint64_t plain_ = 0;
};
gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
}  // namespace client

/* A template over the families: names come by overloading on what the macros paste. */
#define FAMILY(X, V)                                                                                                 \
  struct Family_##X {                                                                                                \
    typedef X##_t type;                                                                                              \
    typedef V value;                                                                                                 \
    static type make(value v) {                                                                                      \
      type made = X##_init(v);                                                                                       \
      return made;                                                                                                   \
    }                                                                                                                \
    static value add(type *p, value v, int f) { return X##_add(p, v, f); }                                           \
    static value read(const type *p, int f) { return X##_read(p, f); }                                               \
    static bool cas(type *p, value from, value to, int f) { return X##_compare_and_swap(p, from, to, f) != 0; }      \
  };
FAMILY(gasnett_atomic, gasnett_atomic_val_t)
FAMILY(gasnett_atomic32, uint32_t)
FAMILY(gasnett_atomic64, uint64_t)
FAMILY(gasnett_strongatomic, gasnett_atomic_val_t)
FAMILY(gasnett_strongatomic32, uint32_t)
FAMILY(gasnett_strongatomic64, uint64_t)

template <typename F> static void check_family(const char *name) {
  std::vector<typename F::type> words(3, F::make(5));
  const typename F::type &second = words[1];
  CHECK(F::add(&words[1], static_cast<typename F::value>(-6), GASNETT_ATOMIC_NONE) == static_cast<typename F::value>(-1), "%s", name);
  CHECK(F::cas(&words[1], static_cast<typename F::value>(-1), 9, GASNETT_ATOMIC_ACQ_IF_TRUE | GASNETT_ATOMIC_REL), "%s", name);
  CHECK(F::read(&second, 0) == 9 && F::read(&words[0], 0) == 5 && F::read(&words[2], GASNETT_ATOMIC_MB_PRE) == 5, "%s", name);
}

template <typename T> static T through_segment(T value) {
  std::vector<gasnet_seginfo_t> segments(gasnet_nodes());
  GASNET_SAFE(gasnet_getSegmentInfo(segments.data(), static_cast<int>(segments.size())));
  gasnet_node_t me = gasnet_mynode();
#if defined(GASNET_SEGMENT_EVERYTHING)
  static T place;
  void *at = &place;
#else
  void *at = segments[me].addr;
#endif
  T back = T();
  gasnet_put(me, at, &value, sizeof value);
  gasnet_handle_t handle = gasnet_get_nb(&back, me, at, sizeof back);
  gasnet_wait_syncnb(handle);
  return back;
}

static void use_key() {
  CHECK(gasnett_threadkey_get(cxx_key) == nullptr, "a new thread has a value");
  std::string mine = "mine";
  gasnett_threadkey_set(cxx_key, &mine);
  CHECK(static_cast<std::string *>(gasnett_threadkey_get(cxx_key)) == &mine, "key");
  gasnett_threadkey_set(cxx_key, nullptr);
}

int main(int argc, char **argv) {
  GASNET_SAFE(gasnet_init(&argc, &argv));
  GASNET_SAFE(gasnet_attach(nullptr, 0, GASNET_PAGESIZE, 0));
  test_begin("testcxx");
  GASNET_BEGIN_FUNCTION();

  check_family<Family_gasnett_atomic>("atomic");
  check_family<Family_gasnett_atomic32>("atomic32");
  check_family<Family_gasnett_atomic64>("atomic64");
  check_family<Family_gasnett_strongatomic>("strongatomic");
  check_family<Family_gasnett_strongatomic32>("strongatomic32");
  check_family<Family_gasnett_strongatomic64>("strongatomic64");

  std::map<int, std::unique_ptr<client::Counter>> counters;
  counters[0].reset(new client::Counter);
  auto work = [&] {
    for (int i = 0; i < 1000; i++) counters[0]->add(2);
    use_key();
  };
#if defined(GASNETT_THREAD_SAFE)
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) threads.emplace_back(work);
  for (auto &thread : threads) thread.join();
  CHECK(counters[0]->agrees(8000), "lost counts");
#else
  work();
  CHECK(counters[0]->agrees(2000), "lost counts");
#endif

  CHECK(through_segment(3.25) == 3.25 && through_segment(uint64_t(1) << 60) == uint64_t(1) << 60, "transfers");
  CHECK(overloaded(1) + overloaded(0.5) == 1.5 && c_linkage(1) == 2 && testcxx_ident[0] == '$', "declarations");
  CHECK(std::strstr(GASNETT_CURRENT_FUNCTION, "main") != nullptr, "%s", GASNETT_CURRENT_FUNCTION);
  gasnett_tick_t begin = gasnett_ticks_now();
  if_pf (gasnett_ticks_to_us(gasnett_ticks_now() - begin) > 60000000) CHECK(false, "ticks");
  else CHECK(true, "ticks");
  CHECK(std::string("[" GASNETT_CONFIG_STRING "]").find("," _STRINGIFY(GASNETT_THREAD_MODEL) ",") != std::string::npos, "config");
  gasnet_hsl_lock(&client::lock);
  gasnet_hsl_unlock(&client::lock);
  bool ready = false;
  GASNET_BLOCKUNTIL((ready = true, ready));
  /* A task runtime takes these to silence warnings. */
  (void)reinterpret_cast<void *>(&_gasneti_threadkey_init);
  switch (argc > 100 ? GASNET_ERR_BAD_ARG : GASNET_OK) {
    case GASNET_ERR_BAD_ARG:
      client::fail("%d arguments\n", argc);
    case GASNET_OK:
      break;
  }
  test_end();
  return 0;
}
