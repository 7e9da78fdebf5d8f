/* What the programs that measure share: options, pairs of processes, sections, times. Contract: ex-rma.md section 14. */
#ifndef TESTPERF_H
#define TESTPERF_H
#include "testexam.h"
#include <ctype.h>
#include <gasnet_tools.h>

/* ---- the command line: options first, then positional arguments; 0 or nothing is the default ---- */

typedef struct {
  const char *name;
  enum { A_FLAG, A_NUMBER, A_REAL } kind;
  void *to; /* long, long, double */
} testperf_option;
#define FLAG(name, to) { name, A_FLAG, to }
#define AMOUNT(name, to) { name, A_NUMBER, to }
#define REAL(name, to) { name, A_REAL, to }

/* Options that several programs have. */
static struct {
  long in, out, puts, gets, cold, mega, all, cross, ends;
} opt;
#define OPT_SIDE FLAG("-in", &opt.in), FLAG("-out", &opt.out)
#define OPT_WHAT FLAG("-p", &opt.puts), FLAG("-g", &opt.gets)
#define OPT_PAIR FLAG("-a", &opt.all), FLAG("-c", &opt.cross), FLAG("-f", &opt.ends)
#define OPT_COLD FLAG("-s", &opt.cold)
#define OPT_MEGA FLAG("-m", &opt.mega)

/* A number, perhaps followed by K, M or G. */
static long number(const char *text) {
  char *end;
  double value = strtod(text, &end);
  switch (toupper((unsigned char)*end)) {
    case 'K': value *= 1024; break;
    case 'M': value *= 1048576; break;
    case 'G': value *= 1073741824; break;
    default: break;
  }
  return (long)value;
}
__attribute__((__unused__, __noreturn__)) static void misuse(const char *usage) {
  if (me == 0) fprintf(stderr, "usage: %s\n", usage);
  BARRIER();
  gasnet_exit(1);
}
/* Reads the options. Returns the place of the first positional argument. Anything unknown, or more than `most` positional
 * arguments, ends the job with the usage. */
__attribute__((__unused__)) static int options(int argc, char **argv, const testperf_option *table, size_t n, int most,
                                               const char *usage) {
  int arg = 1;
  size_t i;
  for (; arg < argc && argv[arg][0] == '-' && argv[arg][1] != 0; arg++) {
    for (i = 0; i < n && strcmp(argv[arg], table[i].name) != 0; i++) {}
    if (i == n || (table[i].kind != A_FLAG && ++arg == argc)) misuse(usage);
    if (table[i].kind == A_FLAG) *(long *)table[i].to = 1;
    else if (table[i].kind == A_NUMBER) *(long *)table[i].to = number(argv[arg]);
    else *(double *)table[i].to = strtod(argv[arg], NULL);
  }
  if (argc - arg > most) misuse(usage);
  return arg;
}
__attribute__((__unused__)) static long positional(int argc, char **argv, int at, long otherwise) {
  const long value = at < argc ? number(argv[at]) : 0;
  return value > 0 ? value : otherwise;
}
static const char *section_letters = ""; /* all */
__attribute__((__unused__)) static int wanted(int letter) {
  return !*section_letters || strchr(section_letters, toupper(letter)) || strchr(section_letters, tolower(letter));
}

/* ---- times ---- */

static double now_us(void) { return (double)gasnett_ticks_to_ns(gasnett_ticks_now()) / 1e3; }

/* ---- pairs: neighbours; or -c across the job; or -f the first and the last ---- */

static gex_Rank_t peer; /* of this process; itself if it is alone */
static int idle;        /* without partner: it only takes part in barriers */
static int sends, receives;

static gex_Rank_t peer_of(gex_Rank_t rank) {
  const gex_Rank_t half = nodes / 2, none = nodes == 1 ? rank : GEX_RANK_INVALID;
  if (opt.ends) return rank == 0 ? nodes - 1 : rank == nodes - 1 ? 0 : none;
  if (opt.cross) return rank < half ? rank + half : rank < 2 * half ? rank - half : none;
  return rank % 2 ? rank - 1 : rank + 1 < nodes ? rank + 1 : none;
}
__attribute__((__unused__)) static void make_pairs(void) {
  (void)now_us(); /* the first call measures the clock */
  peer = peer_of(me);
  idle = peer == GEX_RANK_INVALID;
  if (idle) peer = me;
  sends = !idle && (opt.all || me <= peer);
  receives = !idle && (opt.all || peer <= me);
  if (me == 0 && nodes % 2 && nodes > 1 && !opt.ends) printf("WARNING: an odd number of processes: the last one idles\n"), fflush(stdout);
}

/* One line: what `n` times `bytes` bytes took. */
__attribute__((__unused__)) static void row(char letter, const char *what, size_t bytes, long n, double us) {
  const double rate = us > 0 ? (double)bytes * (double)n / us * 1e6 : 0;
  printf("%2u: %c  %-34s %8lu B %7ld iters  latency = %10.3f us  throughput = %11.3f %s/s\n", (unsigned)me, letter, what,
         (unsigned long)bytes, n, us / (double)n, opt.mega ? rate / 1048576 : rate / 1024, opt.mega ? "MB" : "KB");
  fflush(stdout);
}
/* A thing that costs little: `STATEMENT` n times, `warm` times before. */
#define TIMED(us, warm, n, STATEMENT)                                                                                \
  do {                                                                                                               \
    long timed_i;                                                                                                    \
    for (timed_i = 0; timed_i < (warm); timed_i++) STATEMENT;                                                        \
    us = now_us();                                                                                                   \
    for (timed_i = 0; timed_i < (n); timed_i++) STATEMENT;                                                           \
    us = now_us() - us;                                                                                              \
  } while (0)
#endif
