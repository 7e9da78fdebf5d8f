/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_lib_abi.h"
#endif

#ifndef GASNETI_SCI_TOOLS_LIB_ABI_H
#define GASNETI_SCI_TOOLS_LIB_ABI_H

/*
 Flags of [`gasneti_sci_performance_warnings`].
 */
#define GASNETI_SCI_WARN_DEBUG 1

/*
 See [`GASNETI_SCI_WARN_DEBUG`].
 */
#define GASNETI_SCI_WARN_MALLOC 2

/*
 See [`GASNETI_SCI_WARN_DEBUG`].
 */
#define GASNETI_SCI_WARN_TIMER 4

/*
 A signal handler.
 */
typedef void (*gasnett_sighandlerfn_t)(int signal);

/*
 `gasnett_heapstats_t`.
 */
typedef struct {
  /*
   Bytes given out so far.
   */
  uint64_t allocated_bytes;
  /*
   Bytes freed so far.
   */
  uint64_t freed_bytes;
  /*
   Their difference.
   */
  uint64_t live_bytes;
  /*
   The most that it was.
   */
  uint64_t live_bytes_max;
  /*
   Blocks given out so far.
   */
  uint64_t allocated_objects;
  /*
   Blocks freed so far.
   */
  uint64_t freed_objects;
  /*
   Their difference.
   */
  uint64_t live_objects;
  /*
   The most that it was.
   */
  uint64_t live_objects_max;
  /*
   Bytes that the heap itself needs.
   */
  uint64_t overhead_bytes;
} gasneti_sci_heapstats_t;

/*
 A client's own mechanism for stack traces.
 */
typedef struct {
  /*
   Its name in GASNET_BACKTRACE_TYPE.
   */
  const char *name;
  /*
   Prints the calling thread's trace to `fd`; 0 on success. Called from signal handlers too.
   */
  int (*fnp)(int fd);
  /*
   Non-zero: it shows all threads.
   */
  int threadsupport;
} gasnett_backtrace_type_t;

/*
 Decodes what a launcher encoded: called by the getenv functions for each value, if set. `gasnet_init` sets it to the decoder
 */
extern const char *(*gasnett_decode_envval_fn)(const char *value);

/*
 A client that has a mechanism of its own defines this variable; it is all zero otherwise.
 */
extern gasnett_backtrace_type_t gasnett_backtrace_user;

/*
 As [`gasnett_print_backtrace`] if GASNET_BACKTRACE is set; else non-zero, and a hint once. May be assigned to.
 */
extern int (*gasnett_print_backtrace_ifenabled)(int fd);

/*
 Value of a variable: what [`gasnett_setenv`] set in this process, else what node 0 had when it called init, else what this
 */
char *gasnett_getenv(const char *key);

/*
 Sets a variable of this process. Failure is fatal.
 */
void gasnett_setenv(const char *key, const char *val);

/*
 Removes a variable of this process. NULL, the empty string and a key with `=` are fatal.
 */
void gasnett_unsetenv(const char *key);

/*
 Value of a variable, or `dflt`, which may be NULL.
 */
char *gasnett_getenv_withdefault(const char *key, const char *dflt);

/*
 1 for `1`, `Y`, `YES`, 0 for `0`, `N`, `NO`, any case; `dflt` if unset or empty; else fatal.
 */
int gasnett_getenv_yesno_withdefault(const char *key, int dflt);

/*
 An integer, or with `mem_size_multiplier` not 0 a memory size in units of it; `dflt` exactly if unset or empty. What is
 */
int64_t gasnett_getenv_int_withdefault(const char *key,
                                       int64_t dflt,
                                       uint64_t mem_size_multiplier);

/*
 A floating number or a fraction; `dflt` if unset or empty. What is neither is fatal.
 */
double gasnett_getenv_dbl_withdefault(const char *key, double dflt);

/*
 1: this process reports settings; 0: it does not; -1: not known before `gasnet_init`.
 */
int gasnett_verboseenv(void);

/*
 Reports an integer setting.
 */
void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size);

/*
 Reports a text; NULL is shown as `*not set*`.
 */
void gasnett_envstr_display(const char *key, const char *val, int is_dflt);

/*
 Reports a floating number.
 */
void gasnett_envdbl_display(const char *key, double val, int is_dflt);

/*
 The number that `str` begins with; 0 for NULL and for what is none. With `mem_size_multiplier` not 0 a memory size. A
 */
int64_t gasnett_parse_int(const char *str, uint64_t mem_size_multiplier);

/*
 Writes `val` into `buf` of `bufsz` bytes, cut if need be, and returns it.
 */
char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);

/*
 Name of this host, never NULL.
 */
const char *gasnett_gethostname(void);

/*
 CPUs online; 0 if unknown.
 */
int gasnett_cpu_count(void);

/*
 Bytes of physical memory; 0 if unknown, or the end if `failure_is_fatal`.
 */
uint64_t gasnett_getPhysMemSz(int failure_is_fatal);

/*
 Binds the calling thread to CPU `rank`, modulo their number, of those that this process may use.
 */
void gasnett_set_affinity(int rank);

/*
 Raises the soft limits on CPU time, data, resident set, stack and address space to the hard ones; non-zero on success.
 */
int gasnett_maximize_rlimits(void);

/*
 Raises one soft limit, `res`, whose name is `lim_desc`, such as "RLIMIT_STACK"; non-zero on success.
 */
int gasnett_maximize_rlimit(int res, const char *lim_desc);

/*
 Writes out all streams, and asks the kernel to do so with stdout and stderr; GASNET_FS_SYNC: with all files.
 */
void gasnett_flush_streams(void);

/*
 Gives stdin, stdout and stderr up.
 */
void gasnett_close_streams(void);

/*
 `_exit(code)`: no exit handlers, no flush. Async-signal-safe.
 */
void gasnett_killmyprocess(int code) GASNETI_SCI_NORETURN;

/*
 Ends the process with a line `*** FATAL ERROR: ` and `text`, flush, trace and freeze as switched on, and abort.
 */
void gasneti_sci_tools_fatal(const char *text) GASNETI_SCI_NORETURN;

/*
 Installs `fp` (SIG_DFL and SIG_IGN as well) for signal `sig`; interrupted calls go on. Returns the handler before, which may
 */
gasnett_sighandlerfn_t gasnett_reghandler(int sig,
                                          gasnett_sighandlerfn_t fp);

/*
 "SIGSEGV" for 11; NULL for a number that has no name.
 */
const char *gasnett_signame_fromval(int sig);

/*
 Rotate left by 8, xor the byte, over `nbytes` bytes from 0 on.
 */
uint64_t gasnett_checksum(const void *p, int nbytes);

/*
 Zero bytes among `len`.
 */
size_t gasnett_count0s(const void *src, size_t len);

/*
 Copies `len` bytes, and says how many are zero.
 */
size_t gasnett_count0s_copy(void *dst, const void *src, size_t len);

/*
 `sz` bytes of zeroed private memory, rounded up to pages, beside the segment; MAP_FAILED if there is none. Fatal in a
 */
void *gasnett_mmap(size_t sz);

/*
 `sz` bytes at a multiple of `align`, a power of two; lack of memory is fatal.
 */
void *gasnett_malloc_aligned(size_t align, size_t sz);

/*
 Frees what [`gasnett_malloc_aligned`] gave; NULL is nothing.
 */
void gasnett_free_aligned(void *p);

/*
 The self test: errors found in `iters` rounds on each of `threads` threads; `sections`: letters of N Z S T, NULL or empty: all.
 */
int gasneti_sci_run_diagnostics(int iters,
                                int threads,
                                const char *sections);

/*
 What makes this program slow, a line each; "" if nothing does. `client`: how its object was compiled.
 */
const char *gasneti_sci_performance_warnings(uint32_t client);

/*
 Name of this executable, as far as the system knows it; "" if it does not.
 */
const char *gasnett_exe_name(void);

/*
 Reads the settings of this section, at every call: a client may set variables, bring a mechanism of its own and call again
 */
void gasnett_backtrace_init(const char *exename);

/*
 Prints the calling thread's stack to `fd`; 0 on success. From signal handlers too.
 */
int gasnett_print_backtrace(int fd);

/*
 The same with `gasnet_frozen`, if GASNET_FREEZE_ON_ERROR is set.
 */
void gasnett_freezeForDebuggerErr(void);

/*
 A message for the trace; `force`: whatever the mask.
 */
void gasneti_sci_trace_text(const char *text, int force);

/*
 A line for the statistics; `force`: whatever the mask.
 */
void gasneti_sci_stats_text(const char *text, int force);

/*
 Letters of the trace's mask, or of the statistics'; "" if there is none. Stays valid.
 */
const char *gasneti_sci_trace_getmask(int of_stats);

/*
 Sets the mask to the letters of `mask` that there are.
 */
void gasneti_sci_trace_setmask(int of_stats, const char *mask);

/*
 0 if a node's transfers with itself are not recorded.
 */
int gasneti_sci_trace_getlocal(void);

/*
 See [`gasneti_sci_trace_getlocal`].
 */
void gasneti_sci_trace_setlocal(int record);

/*
 The calling thread stands at `file` (NULL: as before), `line`.
 */
void gasneti_sci_trace_setsourceline(const char *file, unsigned int line);

/*
 What it set last: NULL and 0 if nothing.
 */
void gasneti_sci_trace_getsourceline(const char **file, unsigned int *line);

/*
 The thread's place stays as it is, until as many calls with 0.
 */
void gasneti_sci_trace_freezesourceline(int freeze);

/*
 The client's object brings the function that its callback prints with. Non-zero if statistics of category H are on.
 */
int gasneti_sci_stats_init(void (*print)(void));

/*
 Writes the statistics so far; `reset`: the next ones count from here.
 */
void gasneti_sci_stats_dump(int reset);

/*
 As malloc; lack of memory is fatal.
 */
void *gasneti_sci_heap_malloc(size_t size);

/*
 As calloc.
 */
void *gasneti_sci_heap_calloc(size_t n, size_t size);

/*
 As realloc; always moves. Size 0 frees.
 */
void *gasneti_sci_heap_realloc(void *old, size_t size);

/*
 As free.
 */
void gasneti_sci_heap_free(void *block);

/*
 As strdup.
 */
char *gasneti_sci_heap_strdup(const char *text);

/*
 As strndup: at most `n` characters.
 */
char *gasneti_sci_heap_strndup(const char *text, size_t n);

/*
 Looks at one block: its size. NULL has 0.
 */
size_t gasneti_sci_heap_memcheck(void *block);

/*
 Looks at some block, another one each time.
 */
void gasneti_sci_heap_memcheck_one(void);

/*
 Looks at all blocks.
 */
void gasneti_sci_heap_memcheck_all(void);

/*
 Numbers so far.
 */
void gasneti_sci_heap_stats(gasneti_sci_heapstats_t *stats);

#endif  /* GASNETI_SCI_TOOLS_LIB_ABI_H */
