/* Environment and arguments: the same in all processes, before and after attach, with blanks intact. Contract: ex-core.md section 19.
 *
 *   testenv [NAME=VALUE]...     each NAME must have VALUE in each process; NAME= means: unset or empty */
#include "testex.h"
#include <gasnet_coll.h>

/* Whether process 0 has the same text, or also none. */
static int as_process_0(const char *text) {
  uint64_t length = text ? strlen(text) + 1 : 0;
  char *copy;
  int same;
  gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, &length, &length, sizeof length, 0));
  if (length == 0) return text == NULL;
  copy = (char *)malloc(length);
  gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, copy, text, length, 0));
  same = text != NULL && strcmp(copy, text) == 0;
  if (!same) say("ERROR: here \"%s\", in process 0 \"%s\"", text ? text : "(null)", copy);
  free(copy);
  return same;
}
static void check_environment(int argc, char **argv) {
  static const char *const common[] = {"PATH", "HOME", "GASNET_MAX_SEGSIZE", "TESTENV_NOT_SET"};
  const char *text;
  size_t k;
  int i;
  for (k = 0; k < sizeof common / sizeof common[0]; k++) CHECK(as_process_0(gasnet_getenv(common[k])));
  CHECK(gasnet_getenv("TESTENV_NOT_SET") == NULL);
  text = getenv("PATH");
  CHECK((text == NULL) == (gasnet_getenv("PATH") == NULL) && (text == NULL || strcmp(text, gasnet_getenv("PATH")) == 0));
  for (i = 1; i < argc; i++) {
    const char *equals = strchr(argv[i], '=');
    char name[256];
    if (equals == NULL || (size_t)(equals - argv[i]) >= sizeof name) continue;
    memcpy(name, argv[i], (size_t)(equals - argv[i]));
    name[equals - argv[i]] = 0;
    text = gasnet_getenv(name);
    if (strcmp(text ? text : "", equals + 1) != 0) errors++, say("ERROR: %s is \"%s\", not \"%s\"", name, text ? text : "(null)", equals + 1);
    CHECK(as_process_0(text));
  }
}

int main(int argc, char **argv) {
  uint32_t count;
  int i;
  begin("testenv", &argc, &argv);
  check_environment(argc, argv);
  count = (uint32_t)argc;
  gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, &count, &count, sizeof count, 0));
  CHECK(count == (uint32_t)argc && argv[argc] == NULL);
  for (i = 0; i < argc; i++) CHECK(as_process_0(argv[i]));
  attach(GASNET_PAGESIZE);
  check_environment(argc, argv);
  for (i = 1; me == 0 && i < argc; i++) say("argument %d: \"%s\"", i, argv[i]);
  return end();
}
