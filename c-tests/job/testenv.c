/* Arguments and environment on every node: list A, items 2 and 3 (contract: core.md §6.1, §7; environment.md §1).
 *
 *   testenv [-q] [-f] [-e NAME=VALUE]... [-u NAME]... [ARGUMENT]...
 *
 *   -e   gasnet_getenv(NAME) must be VALUE, on every node, before and after attach
 *   -u   NAME must be unset
 *   -f   the arguments that follow must be the ones of `fixed` below, to the byte
 *   -q   print nothing: a job that succeeds is silent (list H, item 132)
 *
 * Always checked: every node has node 0's arguments and node 0's values of the variables. A variable that the
 * process set before gasnet_init is there. gasnet_init does not change the caller's vector and strings, which it may
 * free afterwards. */
#include "../test.h"

#include <stdint.h>

enum { H_BLOCK = 200 };

static gasnet_node_t me, nodes;

/* Arguments that shells and launchers easily get wrong. scenarios.txt spells them for the shell, in this order. */
static const char *const fixed[] = {
    "",       "a b",   " ",         "two  blanks ",   "'single'", "\"double\"", "$HOME", "$(id)", "`id`", "*",
    "?.c",    "%s%n",  "%041",      "back\\slash",    "\\",       "semi;",      "a&b",   "<in",   "|",    "#no",
    "~",      "!x",    "{a,b}",     "-n",             "--",       "=",          "tab\there",
    "new\nline",       "\xC3\xA4\xE2\x82\xAC",    ""};

/* ---- every node sends its bytes to node 0, which compares them with its own -------------------------------------- */

static const char *own; /* node 0's block */
static size_t own_length;
static volatile size_t arrived;

static void block(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t at, gasnet_handlerarg_t total) {
  gasnet_node_t from = 0;
  gasnet_AMGetMsgSource(token, &from);
  CHECK((size_t)total == own_length, "node %d has %d bytes, node 0 has %d", (int)from, (int)total, (int)own_length);
  CHECK((size_t)at + n <= own_length && memcmp(own + at, buf, n) == 0, "node %d differs in bytes %d to %d: %.*s",
        (int)from, (int)at, (int)(at + (int)n), (int)n, (char *)buf);
  arrived++;
}

static void compare_with_node_0(const char *bytes, size_t n) {
  size_t piece = gasnet_AMMaxMedium(), at = 0, pieces = 0;
  own = bytes, own_length = n;
  test_barrier();
  do {
    size_t length = n - at < piece ? n - at : piece;
    GASNET_SAFE(gasnet_AMRequestMedium2(0, H_BLOCK, (void *)(uintptr_t)(bytes + at), length, (gasnet_handlerarg_t)at,
                                        (gasnet_handlerarg_t)n));
    at += length;
    pieces++;
  } while (at < n);
  if (me == 0) {
    GASNET_BLOCKUNTIL(arrived >= pieces * nodes);
    arrived = 0;
  }
  test_barrier();
}

/* ---- one growing block of bytes ---------------------------------------------------------------------------------- */

static char *text;
static size_t text_length, text_room;

static void add(const char *s) {
  size_t n = strlen(s) + 1;
  if (text_length + n > text_room) {
    text_room = 2 * (text_length + n);
    text = realloc(text, text_room);
    if (!text) exit(99);
  }
  memcpy(text + text_length, s, n);
  text_length += n;
}

/* Variables that every job has; the value of each, or that it is unset, is compared. */
static const char *const names[] = {"PATH", "HOME", "LANG", "PWD", "GASNET_TESTENV_PRE", "TESTENV_PRE",
                                    "GASNET_MAX_SEGSIZE", "GASNET_QUIET", "GASNET_TESTENV_A", "GASNET_TESTENV_B",
                                    "TESTENV_A", "GASNET_TESTENV_UNSET"};

static void compare_environment(void) {
  size_t i;
  text_length = 0;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = gasnet_getenv(names[i]);
    add(names[i]), add(value ? "is" : "unset"), add(value ? value : "");
  }
  compare_with_node_0(text, text_length);
}

static void expect_value(const char *name, const char *value, const char *when) {
  const char *found = gasnet_getenv(name);
  CHECK(found && strcmp(found, value) == 0, "%s: %s is %s, not %s", when, name, found ? found : "unset", value);
}

static void check_variables(int argc, char **argv, const char *when) {
  int i;
  expect_value("GASNET_TESTENV_PRE", "set before init", when);
  expect_value("TESTENV_PRE", "any name", when);
  CHECK(gasnet_getenv("GASNET_TESTENV_UNSET") == NULL, "%s: an unset variable has a value", when);
  CHECK(gasnet_getenv("GASNET_TESTENV_PR") == NULL && gasnet_getenv("") == NULL, "%s: half a name has a value", when);
  for (i = 1; i + 1 < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "-f") == 0) break;
    if (strcmp(argv[i], "-u") == 0) {
      i++;
      CHECK(gasnet_getenv(argv[i]) == NULL, "%s: %s has a value", when, argv[i]);
    } else if (strcmp(argv[i], "-e") == 0) {
      char name[256];
      const char *equals = strchr(argv[++i], '=');
      if (!CHECK(equals && equals - argv[i] < 256, "-e needs NAME=VALUE")) return;
      snprintf(name, sizeof name, "%.*s", (int)(equals - argv[i]), argv[i]);
      expect_value(name, equals + 1, when);
    }
  }
}

/* `-f`: what follows is `fixed`. */
static void check_fixed(int argc, char **argv) {
  int i, k, count = (int)(sizeof fixed / sizeof *fixed);
  for (i = 1; i < argc && strcmp(argv[i], "-f"); i++) continue;
  if (i == argc) return;
  CHECK(argc - i - 1 == count, "%d arguments after -f, not %d", argc - i - 1, count);
  for (k = 0; k < count && i + 1 + k < argc; k++)
    CHECK(strcmp(argv[i + 1 + k], fixed[k]) == 0, "argument %d is <%s>, not <%s>", k, argv[i + 1 + k], fixed[k]);
}

/* A private vector, as a runtime builds it; freed element by element in the end. */
static char **private_vector(int argc, char **argv) {
  char **copy = malloc(((size_t)argc + 1) * sizeof *copy);
  int i;
  for (i = 0; i < argc; i++) copy[i] = strcpy(malloc(strlen(argv[i]) + 1), argv[i]);
  copy[argc] = NULL;
  return copy;
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{H_BLOCK, block}};
  char **vector = private_vector(argc, argv), **given = vector, **first;
  int count = argc, i, quiet = 0;
  char *kept, kept_text[64];
  setenv("GASNET_TESTENV_PRE", "set before init", 1);
  setenv("TESTENV_PRE", "any name", 1);
  unsetenv("GASNET_TESTENV_UNSET");
  first = private_vector(argc, argv);
  GASNET_SAFE(gasnet_init(&count, &given));
  alarm(120);
  me = gasnet_mynode(), nodes = gasnet_nodes();
  test_name = "testenv";
  CHECK(given == vector && count == argc, "there was nothing to remove, yet the vector changed: %d, %d", argc, count);
  for (i = 0; i < count && i < argc; i++)
    CHECK(strcmp(given[i], first[i]) == 0, "argument %d is <%s>, was <%s>", i, given[i], first[i]);
  CHECK(given[count] == NULL, "no NULL after the last argument");
  for (i = 1; i < count && strcmp(given[i], "-f"); i++) quiet |= strcmp(given[i], "-q") == 0;
  check_variables(count, given, "before attach");
  kept = gasnet_getenv("GASNET_TESTENV_PRE");
  snprintf(kept_text, sizeof kept_text, "%s", kept ? kept : "(unset)");
  GASNET_SAFE(gasnet_attach(table, 1, GASNET_PAGESIZE, 0));
  test_begin("testenv");
  check_variables(count, given, "after attach");
  check_fixed(count, given);
  for (i = 0; i < count; i++) add(given[i]);
  compare_with_node_0(text, text_length);
  compare_environment();
  for (i = 0; i < 50; i++) { /* results stay valid, whatever is asked or set later */
    char name[32];
    snprintf(name, sizeof name, "TESTENV_LATER_%d", i);
    setenv(name, "a value that makes the environment grow", 1);
    (void)gasnet_getenv(name);
  }
  CHECK(kept && strcmp(kept, kept_text) == 0, "the result of gasnet_getenv became %s", kept ? kept : "NULL");
  for (i = 0; i < argc; i++) free(vector[i]), free(first[i]);
  free(vector), free(first), free(text);
  if (quiet) {
    test_barrier();
    gasnet_exit(test_errors ? 1 : 0);
  }
  test_end();
  return 0;
}
