/* The promises of core.md section 2 for the macros that gasnet.h defines, in the preprocessor and as types. Compiled by
 * cargo xtask headers after #include <gasnet.h>, never linked. EXPECT_* say how. */

#if GASNET_SPEC_VERSION_MAJOR != 1 || GASNET_SPEC_VERSION_MINOR != 8 || GASNET_VERSION != GASNET_SPEC_VERSION_MAJOR
#error "specification version"
#endif
#if GASNET_RELEASE_VERSION_MAJOR != 2025 || GASNET_RELEASE_VERSION_MINOR != 8 || GASNET_RELEASE_VERSION_PATCH != 0
#error "release version"
#endif
#if GASNET_MAXNODES <= 0 || GASNET_PAGESIZE <= 0 || (GASNET_PAGESIZE & (GASNET_PAGESIZE - 1))
#error "sizes"
#endif
#if !(GASNET_ALIGNED_SEGMENTS == 0 || GASNET_ALIGNED_SEGMENTS == 1)
#error "GASNET_ALIGNED_SEGMENTS"
#endif
#if !defined(GASNET_PSHM) || !(GASNET_PSHM == 0 || GASNET_PSHM == 1) || GASNET_NULL_ARGV_OK != 1
#error "capabilities"
#endif
#if SIZEOF_GASNET_REGISTER_VALUE_T != 8
#error "register"
#endif
#if GASNET_CONDUIT_SCI != 1 || defined(GASNET_CONDUIT_SMP) || defined(GASNET_CONDUIT_UDP) || defined(GASNET_CONDUIT_MPI)
#error "conduit"
#endif

#if defined(EXPECT_SEQ)
#if GASNET_SEQ != 1 || defined(GASNET_PARSYNC) || defined(GASNET_PAR)
#error "GASNET_SEQ is not normalised"
#endif
#elif defined(EXPECT_PARSYNC)
#if GASNET_PARSYNC != 1 || defined(GASNET_SEQ) || defined(GASNET_PAR)
#error "GASNET_PARSYNC is not normalised"
#endif
#elif GASNET_PAR != 1 || defined(GASNET_SEQ) || defined(GASNET_PARSYNC)
#error "GASNET_PAR is not normalised"
#endif

#if defined(EXPECT_FAST)
#if GASNET_SEGMENT_FAST != 1 || defined(GASNET_SEGMENT_LARGE) || defined(GASNET_SEGMENT_EVERYTHING)
#error "segment mode is not FAST"
#endif
#elif defined(EXPECT_LARGE)
#if GASNET_SEGMENT_LARGE != 1 || defined(GASNET_SEGMENT_FAST) || defined(GASNET_SEGMENT_EVERYTHING)
#error "segment mode is not LARGE"
#endif
#elif GASNET_SEGMENT_EVERYTHING != 1 || defined(GASNET_SEGMENT_FAST) || defined(GASNET_SEGMENT_LARGE)
#error "segment mode is not EVERYTHING"
#endif

#if defined(EXPECT_DEBUG)
#if GASNET_DEBUG != 1 || defined(GASNET_NDEBUG)
#error "not a debug object"
#endif
#elif GASNET_NDEBUG != 1 || defined(GASNET_DEBUG)
#error "not a release object"
#endif

#if GASNET_OK != 0 || GASNET_ERR_NOT_INIT != 10001 || GASNET_ERR_RESOURCE != 10002 || GASNET_ERR_BAD_ARG != 10003 || \
    GASNET_ERR_NOT_READY != 10004 || GASNET_ERR_BARRIER_MISMATCH != 10005
#error "error codes"
#endif
#if GASNET_BARRIERFLAG_ANONYMOUS != 1 || GASNET_BARRIERFLAG_MISMATCH != 2 || GASNET_BARRIERFLAG_IMAGES != 4 || \
    GASNET_BARRIERFLAG_UNNAMED != (8 | GASNET_BARRIERFLAG_ANONYMOUS)
#error "barrier flags"
#endif
#if GASNET_WAIT_SPIN != 0 || GASNET_WAIT_BLOCK != 1 || GASNET_WAIT_SPINBLOCK != 2
#error "wait modes"
#endif

#if !defined(_GASNET_H) || !defined(_INCLUDED_GASNET_H)
#error "guards"
#endif
#if !defined(MIN) || !defined(MAX) || !defined(if_pf) || !defined(if_pt) || !defined(_STRINGIFY) || !defined(_CONCAT)
#error "helper macros"
#endif
#if PLATFORM_ARCH_64 != 1 || defined(PLATFORM_ARCH_32) || PLATFORM_OS_LINUX != 1 || HAVE_PTHREAD_H != 1 || HAVE_MMAP != 1
#error "platform macros"
#endif
#if defined(__clang__)
#if PLATFORM_COMPILER_CLANG != 1 || defined(PLATFORM_COMPILER_GNU)
#error "compiler macros"
#endif
#elif PLATFORM_COMPILER_GNU != 1 || defined(PLATFORM_COMPILER_CLANG)
#error "compiler macros"
#endif

/* One character array per statement; of a negative size when it does not hold. */
#define HOLDS(name, condition) extern char holds_##name[(condition) ? 1 : -1]

HOLDS(handler, sizeof(gasnet_handler_t) == 1 && (gasnet_handler_t)-1 == 255);
HOLDS(node, sizeof(gasnet_node_t) == 4 && (gasnet_node_t)-1 > 0);
HOLDS(handlerarg, sizeof(gasnet_handlerarg_t) == 4 && (gasnet_handlerarg_t)-1 < 0);
HOLDS(register_value, sizeof(gasnet_register_value_t) == SIZEOF_GASNET_REGISTER_VALUE_T);
HOLDS(token, sizeof(gasnet_token_t) == sizeof(void *));
HOLDS(threadinfo, sizeof(gasnet_threadinfo_t) == sizeof(void *));
HOLDS(seginfo, offsetof(gasnet_seginfo_t, addr) == 0 && offsetof(gasnet_seginfo_t, size) == sizeof(void *));
HOLDS(nodeinfo, offsetof(gasnet_nodeinfo_t, host) == 0 && offsetof(gasnet_nodeinfo_t, supernode) == 4);
HOLDS(memvec, offsetof(gasnet_memvec_t, addr) == 0 && offsetof(gasnet_memvec_t, len) == sizeof(void *));
HOLDS(entry, offsetof(gasnet_handlerentry_t, index) == 0 && offsetof(gasnet_handlerentry_t, fnptr) == sizeof(void *));
HOLDS(handle, sizeof(gasnet_handle_t) <= sizeof(gasnet_register_value_t));
HOLDS(valget_handle, sizeof(gasnet_valget_handle_t) <= sizeof(gasnet_register_value_t));
HOLDS(words, GASNETI_HIWORD(0x12345678fedcba98) == 0x12345678 && GASNETI_LOWORD(0x12345678fedcba98) == 0xfedcba98);
HOLDS(words_joined, GASNETI_MAKEWORD(0x12345678, (int32_t)-2) == 0x12345678fffffffe && GASNETI_MAKEWORD(-1, 5) == 0xffffffff00000005);
HOLDS(token_pasting, sizeof(_STRINGIFY(GASNET_CONDUIT_NAME)) == sizeof(GASNET_CONDUIT_NAME_STR));

/* Each name of the Extended API returns and takes the types that are documented (contract: extended.md sections 2-8). */
typedef struct {
  gasnet_handle_t handle;
  gasnet_valget_handle_t valget;
  gasnet_register_value_t value;
  int code;
} results;
#if defined(__cplusplus)
template <class Wanted, class Given> struct same_type;
template <class Type> struct same_type<Type, Type> {};
template <class Wanted, class Given> static void is_type(Given) { (void)sizeof(same_type<Wanted, Given>); }
#define IS_TYPE(type, call) is_type<type>(call)
#elif __STDC_VERSION__ >= 201112L
#define IS_TYPE(type, call) ((void)_Generic((call), type: 0), (void)(call))
#else
#define IS_TYPE(type, call) ((void)sizeof(*(1 ? (type *)0 : (__typeof__(call) *)0)), (void)(call))
#endif
/* Usable as an expression of type void: after a comma, in both arms of a conditional. */
#define IS_VOID(call) ((void)0, (call)), (argc ? (call) : (void)0)

extern void transfers(int argc, gasnet_node_t node, void *p, void *q, size_t n, results *r);
void transfers(int argc, gasnet_node_t node, void *p, void *q, size_t n, results *r) {
  IS_VOID(gasnet_get(p, node, q, n));
  IS_VOID(gasnet_put(node, p, q, n));
  IS_VOID(gasnet_get_bulk(p, node, q, n));
  IS_VOID(gasnet_put_bulk(node, p, q, n));
  IS_VOID(gasnet_memset(node, p, 1, n));
  IS_TYPE(gasnet_handle_t, gasnet_get_nb(p, node, q, n));
  IS_TYPE(gasnet_handle_t, gasnet_put_nb(node, p, q, n));
  IS_TYPE(gasnet_handle_t, gasnet_get_nb_bulk(p, node, q, n));
  IS_TYPE(gasnet_handle_t, gasnet_put_nb_bulk(node, p, q, n));
  IS_TYPE(gasnet_handle_t, gasnet_memset_nb(node, p, 1, n));
  IS_VOID(gasnet_get_nbi(p, node, q, n));
  IS_VOID(gasnet_put_nbi(node, p, q, n));
  IS_VOID(gasnet_get_nbi_bulk(p, node, q, n));
  IS_VOID(gasnet_put_nbi_bulk(node, p, q, n));
  IS_VOID(gasnet_memset_nbi(node, p, 1, n));
  IS_VOID(gasnet_put_val(node, p, r->value, n));
  IS_TYPE(gasnet_handle_t, gasnet_put_nb_val(node, p, r->value, n));
  IS_VOID(gasnet_put_nbi_val(node, p, r->value, n));
  IS_TYPE(gasnet_register_value_t, gasnet_get_val(node, p, n));
  IS_TYPE(gasnet_valget_handle_t, gasnet_get_nb_val(node, p, n));
  IS_TYPE(gasnet_register_value_t, gasnet_wait_syncnb_valget(r->valget));
}

extern void syncs(int argc, gasnet_handle_t *h, size_t n, results *r);
void syncs(int argc, gasnet_handle_t *h, size_t n, results *r) {
  IS_VOID(gasnet_wait_syncnb(*h));
  IS_TYPE(int, gasnet_try_syncnb(*h));
  IS_TYPE(int, gasnet_try_syncnb_nopoll(*h));
  IS_VOID(gasnet_wait_syncnb_all(h, n));
  IS_TYPE(int, gasnet_try_syncnb_all(h, n));
  IS_TYPE(int, gasnet_try_syncnb_all_nopoll(h, n));
  IS_VOID(gasnet_wait_syncnb_some(h, n));
  IS_TYPE(int, gasnet_try_syncnb_some(h, n));
  IS_TYPE(int, gasnet_try_syncnb_some_nopoll(h, n));
  IS_VOID(gasnet_wait_syncnbi_gets());
  IS_VOID(gasnet_wait_syncnbi_puts());
  IS_VOID(gasnet_wait_syncnbi_all());
  IS_TYPE(int, gasnet_try_syncnbi_gets());
  IS_TYPE(int, gasnet_try_syncnbi_puts());
  IS_TYPE(int, gasnet_try_syncnbi_all());
  IS_VOID(gasnet_begin_nbi_accessregion());
  IS_TYPE(gasnet_handle_t, gasnet_end_nbi_accessregion());
  IS_VOID(gasnet_barrier_notify(1, 0));
  IS_TYPE(int, gasnet_barrier_wait(1, 0));
  IS_TYPE(int, gasnet_barrier_try(1, 0));
  IS_TYPE(int, gasnet_barrier(1, 0));
  IS_TYPE(int, gasnet_barrier_result(&r->code));
  r->handle = GASNET_INVALID_HANDLE;
}

/* These are string literals: they can be joined with their neighbours. */
extern const char *const config_text;
const char *const config_text = "[" GASNET_CONFIG_STRING "|" GASNET_CORE_NAME_STR GASNET_CORE_VERSION_STR
    GASNET_EXTENDED_NAME_STR GASNET_EXTENDED_VERSION_STR GASNET_CONDUIT_NAME_STR PLATFORM_COMPILER_VERSION_STR
        PLATFORM_COMPILER_IDSTR "]";

/* The initialiser in each place that a lock may be in. */
extern gasnet_hsl_t lock_global, lock_array[2];
gasnet_hsl_t lock_global = GASNET_HSL_INITIALIZER;
gasnet_hsl_t lock_array[2] = {GASNET_HSL_INITIALIZER, GASNET_HSL_INITIALIZER};

/* Calls without pointers compile in this dialect, with only the system headers that gasnet.h includes. */
extern int uses(int argc, char **argv, void *memory);
int uses(int argc, char **argv, void *memory) {
  static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
  gasnet_seginfo_t segment;
  gasnet_nodeinfo_t node;
  GASNET_BEGIN_FUNCTION();
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) gasnet_exit(1);
  if (gasnet_getSegmentInfo(&segment, 1) || gasnet_getNodeInfo(&node, 1)) return strcmp(argv[0], "x") + (int)atol("1");
  gasnet_hsl_lock(&lock);
  gasnet_hsl_unlock(&lock);
  gasnet_hold_interrupts();
  gasnet_resume_interrupts();
  GASNET_BLOCKUNTIL(memory != NULL);
  gasnet_put(0, memory, argv, sizeof(int));
  gasnet_put_val(0, memory, (argc = 1, gasnet_get_val(0, memory, 8)), 1);
  gasnet_wait_syncnb(gasnet_get_nb_bulk(argv, 0, memory, 1));
  gasnet_memset_nbi(0, memory, 0, 1);
  gasnet_wait_syncnbi_all();
  switch (gasnet_AMRequestShort2(gasnet_mynode(), 200, (argc = 1, 2), 3)) {
    case GASNET_OK:
      return gasnet_AMRequestMedium0(gasnet_nodes() - 1, 201, memory, MIN(8, gasnet_AMMaxMedium()));
    case GASNET_ERR_BAD_ARG:
      return gasnet_AMRequestLong1(0, 202, memory, 8, segment.addr, argc);
    default:
      gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
      return gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
  }
}

/* gasnet_vis.h after gasnet.h: the eighteen names, pasted too, as statements and as expressions; lists written in
 * place. */
#include <gasnet_vis.h>
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
extern gasnet_handle_t uses_vis(gasnet_node_t node, gasnet_memvec_t const vec[], void *const list[], size_t const counts[],
                                void *memory);
gasnet_handle_t uses_vis(gasnet_node_t node, gasnet_memvec_t const vec[], void *const list[], size_t const counts[],
                         void *memory) {
  gasnet_handle_t handles[6];
  GASNET_BEGIN_FUNCTION();
  PASTE(gasnet_put, v_bulk)(node, 1, vec, 1, vec);
  PASTE(gasnet_get, v_nbi_bulk)(1, vec, node, 1, vec);
  gasnet_puti_bulk(node, 1, list, 8, 2, list, 4), gasnet_puti_nbi_bulk(node, 1, list, 8, 2, list, 4);
  gasnet_geti_bulk(1, list, 8, node, 2, list, 4), gasnet_geti_nbi_bulk(1, list, 8, node, 2, list, 4);
  gasnet_puts_bulk(node, memory, counts, memory, counts, counts, 1), gasnet_puts_nbi_bulk(node, memory, NULL, memory, NULL, counts, 0);
  gasnet_gets_bulk(memory, counts, node, memory, counts, counts, 1), gasnet_gets_nbi_bulk(memory, NULL, node, memory, NULL, counts, 0);
  gasnet_putv_nbi_bulk(node, 0, NULL, 0, NULL), gasnet_getv_bulk(0, NULL, node, 0, NULL);
  handles[0] = gasnet_putv_nb_bulk(node, 1, vec, 1, vec);
  handles[1] = gasnet_getv_nb_bulk(1, vec, node, 1, vec);
  handles[2] = PASTE(gasnet_puti_, nb_bulk)(node, 1, list, 8, 2, list, 4);
  handles[3] = gasnet_geti_nb_bulk(1, list, 8, node, 2, list, 4);
  handles[4] = gasnet_puts_nb_bulk(node, memory, counts, memory, counts, counts, (handles[5] = NULL, 1));
  handles[5] = node ? gasnet_gets_nb_bulk(memory, counts, node, memory, counts, counts, 1) : GASNET_INVALID_HANDLE;
  gasnet_wait_syncnb_all(handles, 6);
  return handles[5];
}
