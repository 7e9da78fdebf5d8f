/* Variables that the expressions of c-tests/names-*.txt use. cargo xtask headers puts this between the headers and the generated
 * part. */
#define NAME_STRING_(x) #x
#define NAME_STRING(x) NAME_STRING_(x)
/* A cast that no compiler warns of, so that every warning is about the headers. */
#if defined(__cplusplus)
#define NAME_AS(type, value) static_cast<type>(value)
#else
#define NAME_AS(type, value) ((type)(value))
#endif
extern int i, argc;
extern unsigned u;
extern size_t n;
extern char **argv, *text;
extern const char *ctext;
extern void *ptr;
extern volatile int flag;
extern void hook(void *segment, uintptr_t size);
extern void callback(void (*print)(const char *format, ...));
#if defined(_GASNETEX_H)
extern gex_TM_t members;
#endif
#if defined(_GASNET_H)
extern gasnet_node_t node;
extern gasnet_handler_t handler;
extern gasnet_token_t token;
extern gasnet_seginfo_t *segments;
extern gasnet_nodeinfo_t *nodes;
extern gasnet_memvec_t *vectors;
extern void **addresses;
extern size_t *sizes;
extern gasnet_handlerentry_t *entries;
extern gasnet_handle_t handle, *handles;
extern gasnet_valget_handle_t value_handle;
extern gasnet_register_value_t number;
#endif
#if defined(_GASNET_TOOLS_H)
extern gasnett_tick_t tick;
#endif
