/* Thread-specific data: a thread-local pointer per key, or a global one if the client has one thread. Part of
 * gasnet_tools.h. The compiler chooses the thread-local model, because client code may be in libraries that are
 * loaded late. Contract: tools.md section 7. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_key.h"
#endif
#ifndef GASNETI_SCI_TOOLS_KEY_H
#define GASNETI_SCI_TOOLS_KEY_H

#if GASNETI_SCI_THREADS
#define GASNETI_SCI_THREAD __thread
#else
#define GASNETI_SCI_THREAD
#endif

/* Clients write these at file scope, with a semicolon. The variable has a longer name, so the bare key is no
 * identifier. */
#define GASNETT_THREADKEY_DECLARE(key) GASNETT_EXTERNC GASNETI_SCI_THREAD void *gasneti_threadkey_##key
#define GASNETT_THREADKEY_DEFINE(key)                                                                                \
  GASNETT_THREADKEY_DECLARE(key);                                                                                    \
  GASNETI_SCI_THREAD void *gasneti_threadkey_##key = NULL

#define gasnett_threadkey_get(key) GASNETI_SCI_AS(gasneti_sci_memory_t, gasneti_threadkey_##key)
#define gasnett_threadkey_set(key, val) ((void)(gasneti_threadkey_##key = GASNETI_SCI_AS(gasneti_sci_memory_t, val)))
/* Keys need no preparation. */
#define gasnett_threadkey_init(key) ((void)gasneti_threadkey_##key)
#define gasnett_threadkey_get_noinit(key) gasnett_threadkey_get(key)
#define gasnett_threadkey_set_noinit(key, val) gasnett_threadkey_set(key, val)

#endif
