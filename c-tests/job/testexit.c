/* Ways out of a job: list H, items 115 to 132 (contract: core.md §6.3 to §6.6).
 *
 *   testexit [OPTION]... WAY [CODE]     testexit -l   lists ways and occupations
 *
 *   -a WHO    the node that leaves: all, a node number, or last (the default)
 *   -o WHAT   the occupation of the other nodes, and of the other threads, meanwhile; default barrier
 *   -h        install a SIGQUIT handler after attach, which prints a line and calls gasnet_exit(0)
 *   -i        install one that prints a line and returns
 *   -w        install one that prints a line and never returns
 *   -b        install the one of -h, but before attach
 *   -t        leave from, or crash in, another thread than the one that called gasnet_init
 *   -n        ignore SIGINT and SIGHUP from the start, as nohup and background jobs do
 *   -s        say nothing: no lines, no unflushed text
 *
 * Without -s each node first writes a long text without newline to stdout and does not flush it. Its end, "tail of
 * node I of N;", must appear once, however the node ends, unless it crashes or calls _exit itself. scenarios.txt
 * says which status and output each case must have. No case may leave anything of the job behind. */
#include "../test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { H_LEAVE = 200, H_LEAVE_LOCKED, H_ASK, H_ANSWER, H_NOISE, H_COUNT };
enum { THREADS = 3 };

static gasnet_node_t me, nodes, actor;
static int everybody, in_thread, silent, exit_code, handler_wanted, early_handler;
static const char *occupation = "barrier", *way = "exit";
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;

static void say(const char *what) { /* whole and at once, from signal handlers as well */
  char line[160];
  int n = snprintf(line, sizeof line, "node %d: %s\n", (int)me, what);
  if (write(1, line, (size_t)n) != n) _exit(98);
}

static void on_quit_leave(int sig) {
  (void)sig;
  say("SIGQUIT handler ran");
  gasnet_exit(strcmp(way, "sigquit-exit") == 0 ? exit_code : 0);
}

static void on_quit_return(int sig) {
  (void)sig;
  say("SIGQUIT handler ran");
}

static volatile sig_atomic_t hangs; /* in the handler of SIGQUIT */
static void on_quit_hang(int sig) {
  (void)sig;
  say("SIGQUIT handler ran");
  hangs = 1;
  for (;;) pause();
}

static void sleep_ms(int ms) {
  struct timespec t;
  t.tv_sec = ms / 1000, t.tv_nsec = ms % 1000 * 1000000L;
  nanosleep(&t, NULL);
}

static volatile int spin = 1;
static volatile double sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- occupations: none of them ends ------------------------------------------------------------------------------ */

static void o_barrier(void) {
  for (;;) {
    gasnet_barrier_notify(7, 0);
    gasnet_barrier_wait(7, 0);
  }
}
static void o_spin(void) {
  while (spin) sink = sink + 1;
}
static void o_poll(void) {
  for (;;) gasnet_AMPoll();
}
static void o_send(void) {
  static char bytes[512];
  gasnet_node_t to;
  for (to = 0;; to = (to + 1) % nodes) {
    gasnet_AMRequestShort0(to, H_NOISE);
    gasnet_AMRequestMedium0(to, H_NOISE, bytes, sizeof bytes);
  }
}
static void o_block(void) { GASNET_BLOCKUNTIL(!spin); }
static void o_sleep(void) {
  for (;;) sleep_ms(100000);
}
static void o_read(void) {
  int ends[2];
  char c;
  if (pipe(ends)) exit(97);
  for (;;)
    if (read(ends[0], &c, 1) == 1) exit(97);
}
static void o_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex); /* forever */
}
static void *compute(void *argument) {
  double x = 1;
  (void)argument;
  while (spin) x = x * 1.0000001 + 1e-9;
  sink = x;
  return NULL;
}
static void o_threads(void) {
  pthread_t thread[THREADS];
  int i;
  for (i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, compute, NULL)) exit(97);
  for (i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}
static void o_locked(void) { /* in a barrier of threads that never comes, an HSL held */
  gasnet_hsl_lock(&lock);
  o_mutex();
}

static const struct {
  const char *name;
  void (*run)(void);
} occupations[] = {{"barrier", o_barrier}, {"spin", o_spin}, {"poll", o_poll}, {"send", o_send}, {"block", o_block},
                   {"sleep", o_sleep}, {"read", o_read}, {"mutex", o_mutex}, {"threads", o_threads},
                   {"locked", o_locked}};

static void occupy(void) {
  size_t i;
  for (i = 0; i < sizeof occupations / sizeof *occupations; i++)
    if (strcmp(occupation, occupations[i].name) == 0) occupations[i].run();
  exit(96);
}

static void *occupy_thread(void *argument) {
  (void)argument;
  occupy();
  return NULL;
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

static void leave(gasnet_token_t token) { (void)token, gasnet_exit(exit_code); }
static void leave_locked(gasnet_token_t token) {
  (void)token;
  gasnet_hsl_lock(&lock);
  gasnet_exit(exit_code);
}
static void ask(gasnet_token_t token) { gasnet_AMReplyShort0(token, H_ANSWER); }
static void answer(gasnet_token_t token) { (void)token, gasnet_exit(exit_code); }
static void noise(gasnet_token_t token) { (void)token; }
static volatile int counted;
static void count(gasnet_token_t token) { (void)token, counted++; }

/* ---- ways out that return: what follows is main's or the thread's end -------------------------------------------- */

static void w_exit(void) { gasnet_exit(exit_code); }
static void w_libc_exit(void) { exit(exit_code); }
static void w_quick_exit(void) { _exit(exit_code); }
static void w_locked(void) {
  gasnet_hsl_lock(&lock);
  gasnet_exit(exit_code);
}
static void w_section(void) {
  gasnet_hold_interrupts();
  gasnet_exit(exit_code);
}
static void w_barrier(void) { /* between notify and wait */
  gasnet_barrier_notify(7, 0);
  gasnet_exit(exit_code);
}

/* From handlers: every node's, the actor's triggered by all, the actor's triggered by itself, a reply handler. */
static void to_all(gasnet_handler_t handler) {
  gasnet_node_t i;
  for (i = 0; i < nodes; i++) gasnet_AMRequestShort0(i, handler);
  o_poll();
}
static void w_handler_all(void) { to_all(H_LEAVE); }
static void w_handler_one(void) {
  gasnet_AMRequestShort0(actor, H_LEAVE);
  o_poll();
}
static void w_handler_self(void) {
  gasnet_AMRequestShort0(me, H_LEAVE);
  o_poll();
}
static void w_handler_locked(void) {
  gasnet_AMRequestShort0(me, H_LEAVE_LOCKED);
  o_poll();
}
static void w_reply_handler(void) {
  gasnet_AMRequestShort0((me + 1) % nodes, H_ASK);
  o_poll();
}

/* From several threads at the same moment. */
static pthread_barrier_t start;
static void *leave_together(void *argument) {
  (void)argument;
  pthread_barrier_wait(&start);
  gasnet_exit(exit_code);
}
static void w_threads(void) {
  pthread_t thread[THREADS];
  int i;
  pthread_barrier_init(&start, NULL, THREADS + 1);
  for (i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, leave_together, NULL)) exit(97);
  leave_together(NULL);
}

/* From one thread, while the others of this process are occupied. */
static void w_one_thread(void) {
  pthread_t thread[THREADS];
  int i;
  for (i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, occupy_thread, NULL)) exit(97);
  sleep_ms(50);
  gasnet_exit(exit_code);
}

/* Signals. A crash is a real one where C lets us. */
static void signal_self(int sig) {
  kill(getpid(), sig);
  sleep_ms(3000);
}
static void w_int(void) { signal_self(SIGINT); }
static void w_term(void) { signal_self(SIGTERM); }
static void w_hup(void) { signal_self(SIGHUP); }
static void w_quit(void) { signal_self(SIGQUIT); }

/* The second signal arrives while the client's handler of the first one hangs (-w); no other thread can take it. */
static void *second_signal(void *sig) {
  while (!hangs) sleep_ms(1);
  say("second signal");
  kill(getpid(), *(int *)sig);
  sleep_ms(100000);
  return NULL;
}
static void twice(int sig) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread keeps this mask */
  if (pthread_create(&thread, NULL, second_signal, &sig)) exit(97);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  kill(getpid(), sig);
  sleep_ms(100000);
}
static void w_int_twice(void) { twice(SIGINT); }
static void w_term_twice(void) { twice(SIGTERM); }
static void w_kill(void) { kill(getpid(), SIGKILL); }
static void w_segv(void) {
  volatile char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *p = 1;
}
static void w_bus(void) { /* a mapping behind the end of its file */
  char name[] = "/tmp/testexitXXXXXX";
  int fd = mkstemp(name);
  volatile char *p;
  unlink(name);
  p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *p = 1;
}
static void w_fpe(void) {
  volatile int zero = 0;
  zero = 1 / zero;
  raise(SIGFPE); /* where division by zero is quiet */
}
static void w_ill(void) { raise(SIGILL); }
static void w_abort(void) { abort(); }
static void w_fatal(void) { /* an error that the library finds: nobody has such a handler */
  gasnet_AMRequestShort0(me, H_COUNT + 1);
  o_poll();
}
/* A thread whose stack overflows, after a call that is no inline one. */
static int deeper(volatile char *above) {
  volatile char frame[1000];
  frame[0] = *above;
  return spin ? deeper(frame) + frame[0] : 0;
}
static void w_overflow(void) {
  char first = 0;
  gasnet_begin_nbi_accessregion();
  gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
  exit(deeper(&first));
}

/* The launcher is the parent of every node; there is none when the program forked its nodes itself. */
static void signal_launcher(int sig) {
  char path[64], name[32] = "";
  FILE *f;
  snprintf(path, sizeof path, "/proc/%d/comm", (int)getppid());
  f = fopen(path, "r");
  if (!f || !fgets(name, sizeof name, f) || strcmp(name, "gasnetrun_sci\n")) {
    say("no launcher");
    gasnet_exit(77);
  }
  kill(getppid(), sig);
  sleep_ms(100000);
}
static void w_launcher_int(void) { signal_launcher(SIGINT); }
static void w_launcher_term(void) { signal_launcher(SIGTERM); }
static void w_launcher_hup(void) { signal_launcher(SIGHUP); }
static void w_launcher_kill(void) { signal_launcher(SIGKILL); }

/* atexit: on return from main GASNet still works there; on gasnet_exit it does not run at all. */
static void slow_barrier(int id) { /* the others wait long enough to go to sleep in there */
  gasnet_set_waitmode(GASNET_WAIT_BLOCK);
  if (me == nodes - 1) sleep_ms(100);
  gasnet_barrier_notify(id, 0);
  gasnet_barrier_wait(id, 0);
}
static void at_end(void) {
  gasnet_node_t i;
  slow_barrier(3);
  for (i = 0; i < nodes; i++) gasnet_AMRequestShort0(i, H_COUNT);
  GASNET_BLOCKUNTIL(counted == (int)nodes);
  gasnet_barrier_notify(4, 0);
  gasnet_barrier_wait(4, 0);
  if (!silent) say("atexit function done");
}
static void at_end_leave(void) { gasnet_exit(exit_code); }
static void at_end_never(void) { say("atexit function RAN"); }
static void w_atexit(void) {
  atexit(at_end);
  slow_barrier(2); /* what the library keeps per thread exists, and is destroyed before at_end runs */
}
static void w_atexit_exit(void) {
  atexit(at_end_leave);
  exit(exit_code ? 0 : 1); /* the later code counts no more than any other: see scenarios.txt */
}
static void w_return(void) {}
/* Another thread goes on for a while; its end, the last one, counts as exit(0). */
static void *goes_on(void *unused) {
  sleep_ms(200);
  say("the last thread ends");
  return unused;
}
static void w_end_of_main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, goes_on, NULL)) exit(97);
  pthread_exit(NULL);
}

/* All nodes exit at once, after a barrier. mixed: node i with CODE + i; one-nonzero: all with 0, except the actor. */
static void w_mixed(void) { gasnet_exit(exit_code + (int)me); }
static void w_one_nonzero(void) { gasnet_exit(me == actor ? exit_code : 0); }

/* Item 131: which dispositions attach has left alone. */
static void w_dispositions(void) {
  static const int caught[] = {SIGABRT, SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  static const int alone[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPROF, SIGCONT, SIGTSTP, SIGWINCH, SIGVTALRM};
  struct sigaction now;
  size_t i;
  int kept = 0, ignored = 0;
  for (i = 0; i < sizeof alone / sizeof *alone; i++) {
    sigaction(alone[i], NULL, &now);
    CHECK(now.sa_handler == SIG_DFL, "signal %d, which is the client's, is caught", alone[i]);
  }
  for (i = 0; i < sizeof caught / sizeof *caught; i++) {
    sigaction(caught[i], NULL, &now);
    kept += now.sa_handler == SIG_DFL;
    ignored += now.sa_handler == SIG_IGN;
  }
  printf("\nnode %d: %d signals at their default, %d ignored\n", (int)me, kept, ignored);
  gasnet_exit(test_errors ? 1 : exit_code);
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {{"exit", w_exit}, {"return", w_return}, {"libc-exit", w_libc_exit}, {"end-of-main", w_end_of_main}, {"_exit", w_quick_exit},
            {"locked", w_locked}, {"section", w_section}, {"notified", w_barrier}, {"handler-all", w_handler_all},
            {"handler-one", w_handler_one}, {"handler-self", w_handler_self}, {"handler-locked", w_handler_locked},
            {"reply-handler", w_reply_handler}, {"threads", w_threads}, {"one-thread", w_one_thread},
            {"sigint", w_int}, {"sigterm", w_term}, {"sighup", w_hup}, {"sigquit", w_quit}, {"sigquit-exit", w_quit},
            {"sigint-twice", w_int_twice}, {"sigterm-twice", w_term_twice}, {"kill", w_kill}, {"segv", w_segv},
            {"bus", w_bus}, {"fpe", w_fpe}, {"ill", w_ill}, {"abort", w_abort}, {"fatal", w_fatal}, {"overflow", w_overflow}, {"launcher-int", w_launcher_int},
            {"launcher-term", w_launcher_term}, {"launcher-hup", w_launcher_hup}, {"launcher-kill", w_launcher_kill},
            {"atexit", w_atexit}, {"atexit-exit", w_atexit_exit}, {"mixed", w_mixed}, {"one-nonzero", w_one_nonzero},
            {"dispositions", w_dispositions}, {"early-exit", w_exit}, {"early-return", w_return}};

static void *run_way(void *found) {
  ways[*(size_t *)found].run();
  return NULL;
}

static void usage(void) {
  size_t i;
  printf("ways:");
  for (i = 0; i < sizeof ways / sizeof *ways; i++) printf(" %s", ways[i].name);
  printf("\noccupations:");
  for (i = 0; i < sizeof occupations / sizeof *occupations; i++) printf(" %s", occupations[i].name);
  printf("\n");
  exit(0);
}

static void write_tail(void) {
  int i;
  for (i = 0; i < 20; i++) printf("%s", "text that nobody flushes, without any newline ");
  printf("tail of node %d of %d;", (int)me, (int)nodes);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_LEAVE, leave},   {H_LEAVE_LOCKED, leave_locked}, {H_ASK, ask},
                                   {H_ANSWER, answer}, {H_NOISE, noise},               {H_COUNT, count}};
  int option, early;
  size_t found = 0;
  const char *who = "last";
  if (argc == 2 && strcmp(argv[1], "-l") == 0) usage();
  if (argc > 1 && strcmp(argv[1], "-n") == 0) signal(SIGINT, SIG_IGN), signal(SIGHUP, SIG_IGN);
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(60);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  test_name = "testexit";
  while ((option = getopt(argc, argv, "+a:o:hiwbtsn")) != -1) {
    if (option == 'a') who = optarg;
    if (option == 'o') occupation = optarg;
    if (option == 'h') handler_wanted = 1;
    if (option == 'i') handler_wanted = 2;
    if (option == 'w') handler_wanted = 3;
    if (option == 'b') early_handler = 1;
    if (option == 't') in_thread = 1;
    if (option == 's') silent = 1;
  }
  if (optind < argc) way = argv[optind++];
  if (optind < argc) exit_code = atoi(argv[optind]);
  everybody = strcmp(who, "all") == 0;
  actor = strcmp(who, "last") == 0 || everybody ? nodes - 1 : (gasnet_node_t)atoi(who);
  while (found < sizeof ways / sizeof *ways && strcmp(way, ways[found].name)) found++;
  if (found == sizeof ways / sizeof *ways) {
    fprintf(stderr, "testexit: no way %s; -l lists them\n", way);
    gasnet_exit(2);
  }
  /* Handlers that the actor's peers trigger are everybody's business; so is what all must offer at once. */
  everybody |= strncmp(way, "handler-one", 11) == 0 || strcmp(way, "one-nonzero") == 0 || strcmp(way, "mixed") == 0;
  early = strncmp(way, "early-", 6) == 0;
  if (!silent) write_tail();
  if (early && (everybody || me == actor)) {
    if (!everybody) sleep_ms(100); /* the others are in attach by then */
    if (strcmp(way, "early-return") == 0) return exit_code;
    gasnet_exit(exit_code);
  }
  if (early_handler) signal(SIGQUIT, on_quit_leave);
  GASNET_SAFE(gasnet_attach(table, (int)(sizeof table / sizeof *table), GASNET_PAGESIZE, 0));
  if (handler_wanted == 1) signal(SIGQUIT, on_quit_leave);
  if (handler_wanted == 2) signal(SIGQUIT, on_quit_return);
  if (handler_wanted == 3) signal(SIGQUIT, on_quit_hang);
  test_barrier();
  if (strcmp(way, "exit") == 0 || strcmp(way, "handler-self") == 0) atexit(at_end_never);
  if (!everybody && me != actor) occupy();
  if (!everybody) sleep_ms(100); /* the others are at it by then */
  if (in_thread) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_way, &found)) exit(97);
    pthread_join(thread, NULL);
  } else {
    run_way(&found);
  }
  return exit_code;
}
