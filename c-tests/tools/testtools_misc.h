/* Identification, annotations, helper macros, small copies (lists A and F). Part of testtools. */
#ifndef GASNET_SCI_TESTTOOLS_MISC_H
#define GASNET_SCI_TESTTOOLS_MISC_H

#include "testtools.h"

/* A7, A8 */
#if GASNETT_SPEC_VERSION_MAJOR != 1 || GASNETT_SPEC_VERSION_MINOR != 20
#error "specification version"
#endif
#if GASNETT_RELEASE_VERSION_MAJOR < 1 || GASNETT_RELEASE_VERSION_MINOR < 0 || GASNETT_RELEASE_VERSION_PATCH < 0
#error "release version"
#endif
#if (1 << GASNETT_PAGESHIFT) != GASNETT_PAGESIZE || (GASNETT_CACHE_LINE_BYTES & (GASNETT_CACHE_LINE_BYTES - 1))
#error "sizes"
#endif
static char line_of_cache[GASNETT_CACHE_LINE_BYTES];
#if defined(_GASNET_H)
#if GASNETT_PAGESIZE != GASNET_PAGESIZE || GASNETT_MAX_THREADS < 1
#error "sizes"
#endif
#if defined(GASNET_SEQ) && GASNETT_MAX_THREADS != 1
#error "threads"
#endif
#endif
/* A4 */
#if defined(GASNETT_THREAD_SAFE)
#if GASNETT_THREAD_SAFE != 1 || defined(GASNET_SEQ)
#error "thread model"
#endif
#define EXPECTED_MODEL "PAR"
#else
#define EXPECTED_MODEL "SEQ"
#endif
/* A10 */
#if defined(PLATFORM_ARCH_32) + defined(PLATFORM_ARCH_64) != 1 || \
    defined(PLATFORM_ARCH_BIG_ENDIAN) + defined(PLATFORM_ARCH_LITTLE_ENDIAN) != 1
#error "architecture"
#endif
#if defined(__clang__) && (!PLATFORM_COMPILER_CLANG || defined(PLATFORM_COMPILER_GNU))
#error "clang is not GNU"
#endif
#if !PLATFORM_COMPILER_VERSION_EQ(0, 0, 0) && !PLATFORM_COMPILER_VERSION_GE(0, 0, 1)
#error "compiler version"
#endif

/* A9, A11: each annotation where clients write it. */
GASNETT_IDENT(testtools_ident, "$TestTools" "Ident: kept " GASNETT_CONFIG_STRING " $");
GASNETT_BEGIN_EXTERNC
extern int annotated_prototype(int x) GASNETT_CONST;
GASNETT_CONSTP(annotated_prototype)
extern void *annotated_malloc(size_t n) GASNETT_MALLOC;
GASNETT_MALLOCP(annotated_malloc)
GASNETT_NORETURN extern void annotated_end(void);
GASNETT_NORETURNP(annotated_end)
extern void annotated_end_after(void) GASNETT_NORETURN;
GASNETT_PURE extern int annotated_pure(const char *s);
GASNETT_PUREP(annotated_pure)
extern int annotated_hot(void) GASNETT_HOT GASNETT_WARN_UNUSED_RESULT;
GASNETT_COLD extern int annotated_cold(void) GASNETT_DEPRECATED;
GASNETT_END_EXTERNC
GASNETT_EXTERNC int annotated_c_linkage(void);
GASNETT_INLINE(annotated_inline) GASNETT_CONST
int annotated_inline(int x) { return x + 1; }
GASNETT_PLEASE_INLINE(annotated_polite) int annotated_polite(int x) { return x + 2; }
GASNETT_ALWAYS_INLINE(annotated_always) int annotated_always(int x) { return x + 3; }
GASNETT_NEVER_INLINE(annotated_never, static int annotated_never(int x, int y)) { return x + y; }
GASNETT_USED static int annotated_used = 5;
GASNETT_UNUSED static int annotated_unused;
static char printed[100];
GASNETT_FORMAT_PRINTF(annotated_printf, 2, 3, static void annotated_printf(int x, const char *format, ...)) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(printed, sizeof printed, format, arguments);
  va_end(arguments);
  (void)x;
}
GASNETT_FORMAT_PRINTF_FUNCPTR(annotated_pointer, 2, 3, static void (*annotated_pointer)(int x, const char *format, ...)) =
    annotated_printf;
GASNETT_NORETURN static void TEST_UNUSED annotated_first(void) { abort(); }
GASNETT_NORETURN GASNETT_FORMAT_PRINTF(annotated_both, 1, 2, static void TEST_UNUSED annotated_both(const char *format, ...)) {
  fputs(format, stderr);
  abort();
}

static int falls(int x) {
  switch (x) {
    case 1:
      x = 10;
      GASNETT_FALLTHROUGH
    case 2:
      return x;
    default:
      return 0;
  }
}
static int bounded(int x) {
  gasnett_assume(x > 0);
  if (x > 0) return x;
  gasnett_unreachable();
}

static void annotations(void) {
  const char *function = GASNETT_CURRENT_FUNCTION;
  char *place = gasnett_current_loc;
  int *GASNETT_RESTRICT pointer = &annotated_used, unused_1 = 1, unused_2 = 2;
  uint64_t wide = (uint64_t)1 << 40;
  int path = 0;
  annotated_pointer(1, "%d %s", annotated_inline(1) + annotated_polite(1) + annotated_always(1) + annotated_never(1, 2), "x");
  CHECK(!strcmp(printed, "12 x"), "%s", printed);
  CHECK(strstr(function, "annotations") != NULL, "%s", function);
  CHECK(place && strstr(place, "annotations") && strstr(place, "testtools_misc.h"), "%s", place);
  free(place);
  CHECK(*pointer == 5 && falls(1) == 10 && falls(2) == 2 && bounded(3) == 3, "values");
  GASNETT_UNUSED_ARGS2(unused_1, unused_2);
  CHECK(testtools_ident[0] == '$' && line_of_cache[0] == 0, "ident");
  /* A12 */
  CHECK((uint64_t)GASNETT_PREDICT_TRUE(wide) == wide && (uint64_t)GASNETT_PREDICT_FALSE(wide) == wide, "hints cut values");
  CHECK((void *)GASNETT_PREDICT_TRUE(pointer) == (void *)pointer && GASNETT_PREDICT_FALSE(-1) == -1, "hints cut pointers");
  if_pf (wide)
    if_pt (pointer) path = 1;
    else path = 2;
  else path = 3;
  CHECK(path == 1, "path %d", path);
  CHECK(gasnett_constant_p(3) && !gasnett_constant_p(annotated_used), "constants");
}

static void identification(void) {
  const char *const text = "[" GASNETT_CONFIG_STRING "|" GASNETT_SYSTEM_TUPLE "|" GASNETT_CONFIGURE_ARGS "|" PLATFORM_COMPILER_IDSTR
                           "|" GASNETT_PLATFORM_COMPILER_IDSTR "]";
  char part[64];
  snprintf(part, sizeof part, "RELEASE=%d.%d.%d,SPEC=%d.%d,PTR=%s", GASNETT_RELEASE_VERSION_MAJOR, GASNETT_RELEASE_VERSION_MINOR,
           GASNETT_RELEASE_VERSION_PATCH, GASNETT_SPEC_VERSION_MAJOR, GASNETT_SPEC_VERSION_MINOR, _STRINGIFY(GASNETT_PTR_CONFIG));
  CHECK(strstr(text, part) != NULL, "%s lacks %s", text, part);
  CHECK(strstr(text, "," _STRINGIFY(GASNETT_DEBUG_CONFIG) "," _STRINGIFY(GASNETT_THREAD_MODEL) ","), "%s", text);
#if defined(GASNET_DEBUG)
  CHECK(!strcmp(_STRINGIFY(GASNETT_DEBUG_CONFIG), "debug"), "debug");
#else
  CHECK(!strcmp(_STRINGIFY(GASNETT_DEBUG_CONFIG), "nodebug"), "nodebug");
#endif
  CHECK(!strcmp(GASNETT_THREAD_MODEL_STR, EXPECTED_MODEL), "%s", GASNETT_THREAD_MODEL_STR);
  CHECK(gasnett_release_version() == GASNETT_RELEASE_VERSION_MAJOR * UINT64_C(1000000) + GASNETT_RELEASE_VERSION_MINOR * 10000 +
                                         GASNETT_RELEASE_VERSION_PATCH,
        "%lu", (unsigned long)gasnett_release_version());
  snprintf(part, sizeof part, "%d.%d.%d", GASNETT_RELEASE_VERSION_MAJOR, GASNETT_RELEASE_VERSION_MINOR, GASNETT_RELEASE_VERSION_PATCH);
  CHECK(!strcmp(gasnett_release_version_str(), part), "%s", gasnett_release_version_str());
  /* A10, A13 */
  CHECK(sizeof(void *) == SIZEOF_VOID_P && sizeof(long) == SIZEOF_LONG && sizeof(int) == SIZEOF_INT, "sizes");
  CHECK(PLATFORM_COMPILER_VERSION_LE(30000, 0, 0) && PLATFORM_COMPILER_VERSION_GE(1, 0, 0) && !PLATFORM_COMPILER_VERSION_LT(1, 0, 0),
        "compiler version %d", PLATFORM_COMPILER_VERSION);
  CHECK(MIN(3, 2) == 2 && MAX(3, 2) == 3 && _CONCAT(SIZEOF_, INT) == 4, "helpers");
#if defined(PLATFORM_ARCH_LITTLE_ENDIAN)
  {
    const uint16_t one = 1;
    CHECK(*(const char *)&one == 1, "endianness");
  }
#endif
  CHECK(sysconf(_SC_PAGESIZE) <= GASNETT_PAGESIZE, "page size %ld", sysconf(_SC_PAGESIZE));
}

/* F16: as the C library's in the C locale. */
static void f16_ctype(void) {
  int c;
#define SAME(name) CHECK(!gasnett_##name(c) == !name(c), #name " of %d", c)
  for (c = 0; c < 256; c++) {
    SAME(isalnum), SAME(isalpha), SAME(iscntrl), SAME(isdigit), SAME(isgraph), SAME(islower), SAME(isprint), SAME(ispunct);
    SAME(isspace), SAME(isupper), SAME(isxdigit), SAME(isblank);
    CHECK(gasnett_toupper(c) == toupper(c) && gasnett_tolower(c) == tolower(c), "%d", c);
    CHECK(gasnett_isascii(c) == (c < 128) && gasnett_toascii(c) == (c & 127), "%d", c);
  }
}

#if defined(_GASNET_H)
/* F14 */
static gasnet_register_value_t value_of(const void *src, size_t n) { GASNETT_VALUE_RETURN(src, n); }
static void f14_copies(void) {
  unsigned char from[32], to[32];
  uint64_t value = 0xF1E2D3C4B5A69788u;
  size_t n, offset, i;
  for (i = 0; i < 32; i++) from[i] = (unsigned char)(200 + i);
  for (n = 0; n <= 16; n++)
    for (offset = 0; offset < 9; offset++) {
      memset(to, 1, sizeof to);
      if (offset == 0) GASNETT_FAST_ALIGNED_MEMCPY(to + 8, from, n);
      else GASNETT_FAST_UNALIGNED_MEMCPY(to + 8, from + offset, n);
      CHECK(!memcmp(to + 8, from + offset, n) && to[7] == 1 && to[8 + n] == 1, "copy of %d at %d", (int)n, (int)offset);
      if (n > 8) continue;
      memset(to, 1, sizeof to);
      GASNETT_VALUE_ASSIGN(to + offset, value, n);
      CHECK(value_of(to + offset, n) == (n == 8 ? value : value & (((uint64_t)1 << (8 * n)) - 1)), "value of %d", (int)n);
      CHECK(to[offset + n] == 1, "value of %d bytes is longer", (int)n);
    }
}

/* F15: 0, 1 and 10000 entries of the longest texts; a guard byte behind the room that was asked for. */
static void f15_formatters(void) {
  static const size_t counts[] = {0, 1, 10000};
  static gasnet_memvec_t vectors[10000];
  static void *addresses[10000];
  static size_t sizes[10001];
  size_t c, d, room;
  char *text;
  for (c = 0; c < 10000; c++) vectors[c].addr = addresses[c] = (void *)(UINTPTR_MAX - c), vectors[c].len = SIZE_MAX - c;
  for (c = 0; c < 10001; c++) sizes[c] = SIZE_MAX - c;
#define FITS(name, bufsz, call, total)                                                                               \
  do {                                                                                                               \
    room = (bufsz);                                                                                                  \
    text = (char *)malloc(room + 1);                                                                                 \
    if (!text) abort();                                                                                              \
    text[room] = 'G';                                                                                                \
    CHECK((call) == (total) && strlen(text) < room && text[room] == 'G', name " of %d: %.60s", (int)counts[c], text); \
    free(text);                                                                                                      \
  } while (0)
  for (c = 0; c < 3; c++) {
    size_t sum = 0, n = counts[c], i, product = sizes[0];
    for (i = 0; i < n; i++) sum += vectors[i].len, product *= sizes[i + 1];
    FITS("memveclist", gasnett_format_memveclist_bufsz(n), gasnett_format_memveclist(text, n, vectors), sum);
    FITS("addrlist", gasnett_format_addrlist_bufsz(n), gasnett_format_addrlist(text, n, addresses, 100), n * 100);
    FITS("strides", gasnett_format_strides_bufsz(n), (gasnett_format_strides(text, n, sizes), (size_t)0), (size_t)0);
    FITS("putsgets", gasnett_format_putsgets_bufsz(n),
         gasnett_format_putsgets(text, NULL, (gasnet_node_t)-1, addresses[0], sizes, addresses[0], sizes, sizes, n), product);
    for (d = 0; d < 3; d++) {
      FITS("putvgetv", gasnett_format_putvgetv_bufsz(n, counts[d]),
           gasnett_format_putvgetv(text, (gasnet_node_t)-1, counts[d], vectors, n, vectors), sum);
      FITS("putigeti", gasnett_format_putigeti_bufsz(n, counts[d]),
           gasnett_format_putigeti(text, (gasnet_node_t)-1, counts[d], addresses, 7, n, addresses, SIZE_MAX), n * SIZE_MAX);
    }
  }
  {
    const size_t three[3] = {4, 5, 6};
    char small[400];
    gasnett_format_strides(small, 3, three);
    CHECK(!strcmp(small, "[4, 5, 6]"), "%s", small);
    CHECK(gasnett_format_putsgets(small, NULL, 1, small, three, small, three, three, 2) == 120, "%s", small);
  }
}
#endif

static void test_misc(void) {
  annotations();
  identification();
  f16_ctype();
#if defined(_GASNET_H)
  f14_copies();
  f15_formatters();
  CHECK(GASNETI_MAX_THREADS == GASNETT_MAX_THREADS, "threads");
#endif
}

#endif
