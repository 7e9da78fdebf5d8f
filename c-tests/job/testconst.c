/* Constants, types, names, the configuration string: list A, items 5 and 6 (contract: core.md §2, §3, §4). */
#include "../test.h"

#include <stdint.h>

/* As far as the preprocessor can tell. */
#if GASNET_SPEC_VERSION_MAJOR != 1 || GASNET_SPEC_VERSION_MINOR != 8 || GASNET_VERSION != GASNET_SPEC_VERSION_MAJOR
#error wrong specification version
#endif
#if GASNET_RELEASE_VERSION_MAJOR <= 0 || GASNET_RELEASE_VERSION_MINOR < 0 || GASNET_RELEASE_VERSION_PATCH < 0
#error wrong release version
#endif
#if GASNET_RELEASE_VERSION_MAJOR < 2000
#error not a release of GASNet-EX
#endif
#if defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR) != 1
#error not exactly one thread model
#endif
#if defined(GASNET_SEQ) && GASNET_SEQ != 1 || defined(GASNET_PARSYNC) && GASNET_PARSYNC != 1 ||                        \
    defined(GASNET_PAR) && GASNET_PAR != 1
#error the thread model is not normalised to 1
#endif
#if defined(GASNET_SEGMENT_FAST) + defined(GASNET_SEGMENT_LARGE) + defined(GASNET_SEGMENT_EVERYTHING) != 1
#error not exactly one segment mode
#endif
#if defined(GASNET_SEGMENT_FAST) && GASNET_SEGMENT_FAST != 1 ||                                                        \
    defined(GASNET_SEGMENT_LARGE) && GASNET_SEGMENT_LARGE != 1 ||                                                      \
    defined(GASNET_SEGMENT_EVERYTHING) && GASNET_SEGMENT_EVERYTHING != 1
#error the segment mode is not 1
#endif
#if defined(GASNET_DEBUG) + defined(GASNET_NDEBUG) != 1
#error not exactly one of GASNET_DEBUG and GASNET_NDEBUG
#endif
#if defined(GASNET_DEBUG) && GASNET_DEBUG != 1 || defined(GASNET_NDEBUG) && GASNET_NDEBUG != 1
#error the debug macro is not 1
#endif
#if GASNET_MAXNODES <= 0 || GASNET_PAGESIZE <= 0 || (GASNET_PAGESIZE & (GASNET_PAGESIZE - 1))
#error wrong GASNET_MAXNODES or GASNET_PAGESIZE
#endif
#if GASNET_ALIGNED_SEGMENTS != 0 && GASNET_ALIGNED_SEGMENTS != 1
#error wrong GASNET_ALIGNED_SEGMENTS
#endif
#if GASNET_PSHM != 0 && GASNET_PSHM != 1
#error wrong GASNET_PSHM
#endif
#if GASNET_NULL_ARGV_OK != 0 && GASNET_NULL_ARGV_OK != 1
#error wrong GASNET_NULL_ARGV_OK
#endif
#if SIZEOF_GASNET_REGISTER_VALUE_T != 4 && SIZEOF_GASNET_REGISTER_VALUE_T != 8
#error wrong SIZEOF_GASNET_REGISTER_VALUE_T
#endif
#if GASNET_CONDUIT_SCI != 1
#error GASNET_CONDUIT_SCI is not 1
#endif
#if defined(GASNET_CONDUIT_SMP) || defined(GASNET_CONDUIT_UDP) || defined(GASNET_CONDUIT_MPI) ||                       \
    defined(GASNET_CONDUIT_IBV) || defined(GASNET_CONDUIT_OFI) || defined(GASNET_CONDUIT_PSM) ||                       \
    defined(GASNET_CONDUIT_SHMEM) || defined(GASNET_CONDUIT_GEMINI) || defined(GASNET_CONDUIT_ARIES)
#error a second conduit is defined
#endif

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

static int starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static void check_config_string(void) {
  const char *config = GASNET_CONFIG_STRING;
  char head[512];
#if defined(GASNET_SEQ)
  const char *model = "SEQ";
#elif defined(GASNET_PARSYNC)
  const char *model = "PARSYNC";
#else
  const char *model = "PAR";
#endif
#if defined(GASNET_SEGMENT_FAST)
  const char *segment = "FAST";
#elif defined(GASNET_SEGMENT_LARGE)
  const char *segment = "LARGE";
#else
  const char *segment = "EVERYTHING";
#endif
  snprintf(head, sizeof head,
           "RELEASE=%d.%d.%d,SPEC=%d.%d,CONDUIT=%s(%s-%s/%s-%s),THREADMODEL=%s,SEGMENT=%s,PTR=%dbit,CACHE_LINE_BYTES=%d,%s,%s,",
           GASNET_RELEASE_VERSION_MAJOR, GASNET_RELEASE_VERSION_MINOR, GASNET_RELEASE_VERSION_PATCH,
           GEX_SPEC_VERSION_MAJOR, GEX_SPEC_VERSION_MINOR, GASNET_CONDUIT_NAME_STR, GASNET_CORE_NAME_STR,
           GASNET_CORE_VERSION_STR, GASNET_EXTENDED_NAME_STR, GASNET_EXTENDED_VERSION_STR, model, segment,
           (int)sizeof(void *) * 8, GASNETT_CACHE_LINE_BYTES, GASNET_ALIGNED_SEGMENTS ? "align" : "noalign", GASNET_PSHM ? "pshm" : "nopshm");
  CHECK(starts(config, head), "the configuration string is\n  %s\nexpected to start with\n  %s", config, head);
#ifdef GASNET_DEBUG
  CHECK(strstr(config, ",debug,") && !strstr(config, ",nodebug,"), "%s", config);
#else
  CHECK(strstr(config, ",nodebug,") && !strstr(config, ",debug,"), "%s", config);
#endif
  CHECK(strstr(config, "trace,") && strstr(config, "stats,") && strstr(config, "debugmalloc,") &&
            strstr(config, "srclines,") && strstr(config, "timers_") && strstr(config, "membars_") &&
            strstr(config, "atomics_") && strstr(config, "atomic32_") && strstr(config, "atomic64_"),
        "%s", config);
  CHECK(strcmp(TEXT(GASNET_CONDUIT_NAME), GASNET_CONDUIT_NAME_STR) == 0, TEXT(GASNET_CONDUIT_NAME) " is not the name");
  CHECK(strcmp(TEXT(GASNET_CORE_VERSION), GASNET_CORE_VERSION_STR) == 0,
        TEXT(GASNET_CORE_VERSION) " is not the version");
  CHECK(strcmp(TEXT(GASNET_CORE_NAME), GASNET_CORE_NAME_STR) == 0, TEXT(GASNET_CORE_NAME) " is not the name");
  CHECK(strcmp(TEXT(GASNET_EXTENDED_NAME), GASNET_EXTENDED_NAME_STR) == 0, TEXT(GASNET_EXTENDED_NAME));
  CHECK(strcmp(TEXT(GASNET_EXTENDED_VERSION), GASNET_EXTENDED_VERSION_STR) == 0, TEXT(GASNET_EXTENDED_VERSION));
}

/* The launchers of other runtimes grep executables for these; the tails below stand in this one only by themselves. */
static void check_identity_strings(void) {
  static const char *const tails[] = {"Config: (", "APIVersion: 1 $", "ThreadModel: GASNET_",
                                      "Segment: GASNET_SEGMENT_",
                                      "ConduitName: SCI $", "CoreLibraryName: ", "CoreLibraryVersion: ",
                                      "ExtendedLibraryName: ", "ExtendedLibraryVersion: ", "DefaultMaxSegsize: "};
  FILE *f = fopen("/proc/self/exe", "rb");
  size_t size = 0, room = 1 << 24, i, k, head = strlen("$GASNet");
  char *image = malloc(room);
  if (f && image) size = fread(image, 1, room, f);
  if (f) fclose(f);
  if (CHECK(size > 0, "the executable can't be read"))
    for (k = 0; k < sizeof tails / sizeof *tails; k++) {
      int found = 0;
      for (i = 0; !found && i + 80 < size; i++)
        found = image[i] == '$' && memcmp(image + i, "$GASNet", head) == 0 && starts(image + i + head, tails[k]);
      CHECK(found, "the executable does not contain $GASNet%s", tails[k]);
    }
  free(image);
}

static const char *error_name(int error) {
  switch (error) { /* they must be constants, and distinct */
    case GASNET_OK: return "GASNET_OK";
    case GASNET_ERR_NOT_INIT: return "GASNET_ERR_NOT_INIT";
    case GASNET_ERR_RESOURCE: return "GASNET_ERR_RESOURCE";
    case GASNET_ERR_BAD_ARG: return "GASNET_ERR_BAD_ARG";
    case GASNET_ERR_NOT_READY: return "GASNET_ERR_NOT_READY";
    case GASNET_ERR_BARRIER_MISMATCH: return "GASNET_ERR_BARRIER_MISMATCH";
    default: return "*unknown*";
  }
}

static void check_errors(void) {
  static const int errors[] = {GASNET_OK,          GASNET_ERR_NOT_INIT,  GASNET_ERR_RESOURCE,
                               GASNET_ERR_BAD_ARG, GASNET_ERR_NOT_READY, GASNET_ERR_BARRIER_MISMATCH, -17, 424242};
  size_t i;
  for (i = 0; i < sizeof errors / sizeof *errors; i++) {
    const char *name = gasnet_ErrorName(errors[i]), *text = gasnet_ErrorDesc(errors[i]);
    CHECK(name && strcmp(name, error_name(errors[i])) == 0, "gasnet_ErrorName(%d) is %s", errors[i],
          name ? name : "NULL");
    CHECK(text && *text, "gasnet_ErrorDesc(%d)", errors[i]);
  }
}

static void handler(gasnet_token_t token) { (void)token; }

static void check_types(void) {
  gasnet_handlerentry_t entry = {201, handler};
  gasnet_seginfo_t info = {&entry, 4096};
  CHECK((gasnet_node_t)-1 > 0 && (gasnet_handler_t)255 == 255 && (gasnet_handlerarg_t)-1 < 0, "signedness");
  CHECK(sizeof(gasnet_handlerarg_t) == 4, "%d bytes", (int)sizeof(gasnet_handlerarg_t));
  CHECK((gasnet_node_t)(GASNET_MAXNODES - 1) == GASNET_MAXNODES - 1, "GASNET_MAXNODES does not fit a rank");
  CHECK(sizeof(gasnet_register_value_t) == SIZEOF_GASNET_REGISTER_VALUE_T && (gasnet_register_value_t)-1 > 0,
        "register");
  CHECK(entry.index == 201 && info.addr == &entry && info.size == 4096, "order of members");
  CHECK(GASNET_PAGESIZE >= sysconf(_SC_PAGESIZE), "GASNET_PAGESIZE is %d", (int)GASNET_PAGESIZE);
}

int main(int argc, char **argv) {
  gasnet_handlerentry_t table[] = {{201, handler}};
  check_errors(); /* legal at any time */
  GASNET_SAFE(gasnet_init(&argc, &argv));
  alarm(120);
  GASNET_SAFE(gasnet_attach(table, 1, 0, 0));
  test_begin("testconst");
  check_config_string();
  check_identity_strings();
  check_types();
  check_errors();
  test_end();
  return 0;
}
