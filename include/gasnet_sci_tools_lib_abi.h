/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_lib_abi.h"
#endif

#ifndef GASNETI_SCI_TOOLS_LIB_ABI_H
#define GASNETI_SCI_TOOLS_LIB_ABI_H

/*
 Flag of `gasneti_sci_performance_warnings`: compiled with GASNET_DEBUG.
 */
#define GASNETI_SCI_WARN_DEBUG 1

/*
 Flag: compiled with GASNET_DEBUGMALLOC.
 */
#define GASNETI_SCI_WARN_MALLOC 2

/*
 Flag: reading the timer is a system call.
 */
#define GASNETI_SCI_WARN_TIMER 4

/*
 A signal handler.
 */
typedef void (*gasnett_sighandlerfn_t)(int signal);

/*
 A check of the self test that the client's own inline code makes.
 */
typedef struct {
  /*
   By which a client selects it.
   */
  char letter;
  /*
   What is printed of it.
   */
  const char *name;
  /*
   Called with `thread` -1 before the threads begin, by each with its number, with `threads` after their end.
   */
  const char *(*check)(int thread, int threads, int rounds);
} gasneti_sci_diagnostic_t;

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
   Bytes in use now.
   */
  uint64_t live_bytes;
  /*
   Largest value of `live_bytes` so far.
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
   Blocks in use now.
   */
  uint64_t live_objects;
  /*
   Largest value of `live_objects` so far.
   */
  uint64_t live_objects_max;
  /*
   Bytes that the heap uses for itself.
   */
  uint64_t overhead_bytes;
} gasneti_sci_heapstats_t;

/*
 A client's own way to print stack traces.
 */
typedef struct {
  /*
   Its name in GASNET_BACKTRACE_TYPE.
   */
  const char *name;
  /*
   Prints the calling thread's trace to `fd` and returns 0 on success. Signal handlers call it, too.
   */
  int (*fnp)(int fd);
  /*
   Not 0 if it shows all threads.
   */
  int threadsupport;
} gasnett_backtrace_type_t;

/*
 If set, the getenv functions call it for each value, to decode what a launcher encoded.
 */
extern const char *(*gasnett_decode_envval_fn)(const char *value);

/*
 A client that has a way of its own to print stack traces defines this variable; otherwise it is all zero.
 */
extern gasnett_backtrace_type_t gasnett_backtrace_user;

/*
 Like `gasnett_print_backtrace` if GASNET_BACKTRACE is set; else prints a hint once and returns a value that is not
 */
extern int (*gasnett_print_backtrace_ifenabled)(int fd);

/*
 Value of a variable, NULL if it is unset. The string stays valid and must not be modified.
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
 1 for `1`, `Y`, `YES`; 0 for `0`, `N`, `NO`, in any case; `dflt` if unset or empty. Other values are fatal.
 */
int gasnett_getenv_yesno_withdefault(const char *key, int dflt);

/*
 Value of a variable as an integer; `dflt`, unchanged, if it is unset or empty. Other texts are fatal.
 */
int64_t gasnett_getenv_int_withdefault(const char *key, int64_t dflt, uint64_t mem_size_multiplier);

/*
 Value of a variable as a floating-point number or fraction; `dflt` if unset or empty. Other texts are fatal.
 */
double gasnett_getenv_dbl_withdefault(const char *key, double dflt);

/*
 1 if this process reports settings, 0 if it does not, -1 if that is not known before `gasnet_init`.
 */
int gasnett_verboseenv(void);

/*
 Reports the integer setting `key`, if this process reports settings.
 */
void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size);

/*
 Reports the text setting `key`, if this process reports settings; NULL is shown as `*not set*`.
 */
void gasnett_envstr_display(const char *key, const char *val, int is_dflt);

/*
 Reports the floating-point setting `key`, if this process reports settings.
 */
void gasnett_envdbl_display(const char *key, double val, int is_dflt);

/*
 The number that `str` begins with; 0 if `str` is NULL or begins with no number.
 */
int64_t gasnett_parse_int(const char *str, uint64_t mem_size_multiplier);

/*
 Writes `val` as text into `buf` of `bufsz` bytes, cut to fit, and returns `buf`.
 */
char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);

/*
 Name of this host, never NULL.
 */
const char *gasnett_gethostname(void);

/*
 Number of CPUs online; 0 if unknown.
 */
int gasnett_cpu_count(void);

/*
 Bytes of physical memory; 0 if unknown. If `failure_is_fatal` is not 0, an unknown size ends the program.
 */
uint64_t gasnett_getPhysMemSz(int failure_is_fatal);

/*
 Binds the calling thread to one of the CPUs that this process may use: number `rank` modulo their count. 0: done.
 */
int gasnett_set_affinity(int rank);

/*
 Raises the soft limits on CPU time, data, resident set, stack and address space to the hard ones; not 0 on success.
 */
int gasnett_maximize_rlimits(void);

/*
 Raises the soft limit `res`, whose name is `lim_desc`, such as "RLIMIT_STACK"; returns not 0 on success.
 */
int gasnett_maximize_rlimit(int res, const char *lim_desc);

/*
 Flushes all streams, and asks the kernel to write out stdout and stderr; with GASNET_FS_SYNC all files.
 */
void gasnett_flush_streams(void);

/*
 Closes stdin, stdout and stderr.
 */
void gasnett_close_streams(void);

/*
 `_exit(code)`: runs no exit handlers and flushes nothing. Async-signal-safe.
 */
void gasnett_killmyprocess(int code) GASNETI_SCI_NORETURN;

/*
 Ends the process: prints a line `*** FATAL ERROR: ` and `text`, flushes streams, and aborts.
 */
void gasneti_sci_tools_fatal(const char *text) GASNETI_SCI_NORETURN;

/*
 Installs `fp`, or SIG_DFL or SIG_IGN, for signal `sig`, and returns the previous handler.
 */
gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t fp);

/*
 Name of a signal, such as "SIGSEGV" for 11; NULL for a number that has no name.
 */
const char *gasnett_signame_fromval(int sig);

/*
 Checksum of `nbytes` bytes: starts at 0, and for each byte rotates left by 8 bits and xors the byte.
 */
uint64_t gasnett_checksum(const void *p, int nbytes);

/*
 Number of zero bytes among `len` bytes.
 */
size_t gasnett_count0s(const void *src, size_t len);

/*
 Copies `len` bytes, and returns how many of them are zero.
 */
size_t gasnett_count0s_copy(void *dst, const void *src, size_t len);

/*
 `sz` bytes of zeroed private memory, rounded up to pages, outside the segment; MAP_FAILED if there is none.
 */
void *gasnett_mmap(size_t sz);

/*
 Allocates `sz` bytes at a multiple of `align`, a power of two. Lack of memory is fatal.
 */
void *gasnett_malloc_aligned(size_t align, size_t sz);

/*
 Frees memory of `gasnett_malloc_aligned`. NULL is allowed, and nothing happens.
 */
void gasnett_free_aligned(void *p);

/*
 Runs `iters` rounds of the self test on each of `threads` threads, and returns the number of errors found.
 */
int gasneti_sci_run_diagnostics(int iters,
                                int threads,
                                const char *sections,
                                const gasneti_sci_diagnostic_t *checks,
                                int count);

/*
 Lines that name what makes this program slow; "" if nothing does. `client`: `GASNETI_SCI_WARN_*` of its object.
 */
const char *gasneti_sci_performance_warnings(uint32_t client);

/*
 Path of this executable; "" if the system does not know it. Never freed.
 */
const char *gasnett_exe_name(void);

/*
 Reads the settings of stack traces and freezing (GASNET_BACKTRACE*, GASNET_FREEZE*).
 */
void gasnett_backtrace_init(const char *exename);

/*
 Prints the calling thread's stack to `fd` and returns 0 on success. Allowed in signal handlers.
 */
int gasnett_print_backtrace(int fd);

/*
 If GASNET_FREEZE_ON_ERROR is set, waits like `gasnett_freezeForDebuggerNow`, with `gasnet_frozen` as the flag.
 */
void gasnett_freezeForDebuggerErr(void);

/*
 Writes a message to the trace, in category H; in category U, which is always on, if `force` is not 0.
 */
void gasneti_sci_trace_text(const char *text, int force);

/*
 Writes a line to the statistics if category H is on, or in any case if `force` is not 0.
 */
void gasneti_sci_stats_text(const char *text, int force);

/*
 Letters of the mask of the trace, or of the statistics if `of_stats` is not 0; "" if it is empty. Stays valid.
 */
const char *gasneti_sci_trace_getmask(int of_stats);

/*
 Sets the mask of the trace, or of the statistics, to the letters in `mask`. Unknown letters are ignored.
 */
void gasneti_sci_trace_setmask(int of_stats, const char *mask);

/*
 0 if a node's transfers with itself are not recorded.
 */
int gasneti_sci_trace_getlocal(void);

/*
 Switches on (not 0) or off (0) the recording of a node's transfers with itself.
 */
void gasneti_sci_trace_setlocal(int record);

/*
 Sets the calling thread's place in the client's source. If `file` is NULL, the file stays the same.
 */
void gasneti_sci_trace_setsourceline(const char *file, unsigned int line);

/*
 Stores the place that the calling thread set last; NULL and 0 if it set none.
 */
void gasneti_sci_trace_getsourceline(const char **file, unsigned int *line);

/*
 Not 0: the thread's place stays as it is until a call with 0. Calls nest.
 */
void gasneti_sci_trace_freezesourceline(int freeze);

/*
 Registers the function that the client's callback prints with. Not 0 if statistics of category H are on.
 */
int gasneti_sci_stats_init(void (*print)(void));

/*
 Writes the statistics so far. If `reset` is not 0, counting starts again at 0.
 */
void gasneti_sci_stats_dump(int reset);

/*
 Like malloc. Lack of memory is fatal.
 */
void *gasneti_sci_heap_malloc(size_t size);

/*
 Like calloc. Lack of memory is fatal.
 */
void *gasneti_sci_heap_calloc(size_t n, size_t size);

/*
 Like realloc, but it always moves the block. Size 0 frees it.
 */
void *gasneti_sci_heap_realloc(void *old, size_t size);

/*
 Like free. A block that is not in use, or whose guards were overwritten, is fatal.
 */
void gasneti_sci_heap_free(void *block);

/*
 Like strdup.
 */
char *gasneti_sci_heap_strdup(const char *text);

/*
 Like strndup: copies at most `n` characters.
 */
char *gasneti_sci_heap_strndup(const char *text, size_t n);

/*
 Checks the guards of one block and returns its size in bytes; 0 for NULL.
 */
size_t gasneti_sci_heap_memcheck(void *block);

/*
 Checks the guards of one block, a different one in each call.
 */
void gasneti_sci_heap_memcheck_one(void);

/*
 Checks the guards of all blocks.
 */
void gasneti_sci_heap_memcheck_all(void);

/*
 Stores the heap's numbers to `*stats`.
 */
void gasneti_sci_heap_stats(gasneti_sci_heapstats_t *stats);

/*
 Writes the heap's numbers to `file`, in which % stands for the node; if `show_live` is not 0, also the live blocks.
 */
void gasneti_sci_heap_dump(const char *file, int show_live);

#endif  /* GASNETI_SCI_TOOLS_LIB_ABI_H */
