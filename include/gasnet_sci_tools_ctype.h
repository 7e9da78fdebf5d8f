/* Characters without a locale. Part of gasnet_tools.h; contract: tools.md section 12.7. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet_tools.h, not gasnet_sci_tools_ctype.h"
#endif
#ifndef GASNETI_SCI_TOOLS_CTYPE_H
#define GASNETI_SCI_TOOLS_CTYPE_H

/* The results are those of the C locale. The C library's tables are not used, because the code of translators must
 * not depend on their symbols. */
GASNETI_SCI_INLINE int gasnett_isascii(int c) { return c >= 0 && c <= 127; }
GASNETI_SCI_INLINE int gasnett_toascii(int c) { return c & 127; }
GASNETI_SCI_INLINE int gasnett_isdigit(int c) { return c >= '0' && c <= '9'; }
GASNETI_SCI_INLINE int gasnett_isupper(int c) { return c >= 'A' && c <= 'Z'; }
GASNETI_SCI_INLINE int gasnett_islower(int c) { return c >= 'a' && c <= 'z'; }
GASNETI_SCI_INLINE int gasnett_isalpha(int c) { return gasnett_isupper(c) || gasnett_islower(c); }
GASNETI_SCI_INLINE int gasnett_isalnum(int c) { return gasnett_isalpha(c) || gasnett_isdigit(c); }
GASNETI_SCI_INLINE int gasnett_isblank(int c) { return c == ' ' || c == '\t'; }
GASNETI_SCI_INLINE int gasnett_isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
GASNETI_SCI_INLINE int gasnett_iscntrl(int c) { return (c >= 0 && c < 32) || c == 127; }
GASNETI_SCI_INLINE int gasnett_isprint(int c) { return c >= 32 && c < 127; }
GASNETI_SCI_INLINE int gasnett_isgraph(int c) { return c > 32 && c < 127; }
GASNETI_SCI_INLINE int gasnett_ispunct(int c) { return gasnett_isgraph(c) && !gasnett_isalnum(c); }
GASNETI_SCI_INLINE int gasnett_isxdigit(int c) {
  return gasnett_isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
GASNETI_SCI_INLINE int gasnett_toupper(int c) { return gasnett_islower(c) ? c - 'a' + 'A' : c; }
GASNETI_SCI_INLINE int gasnett_tolower(int c) { return gasnett_isupper(c) ? c - 'A' + 'a' : c; }

#if GASNETT_USE_CTYPE_WRAPPERS
#undef toupper
#undef tolower
#undef isalnum
#undef isalpha
#undef iscntrl
#undef isdigit
#undef isgraph
#undef islower
#undef isprint
#undef ispunct
#undef isspace
#undef isupper
#undef isxdigit
#undef isblank
#undef isascii
#undef toascii
#define toupper(c) gasnett_toupper(c)
#define tolower(c) gasnett_tolower(c)
#define isalnum(c) gasnett_isalnum(c)
#define isalpha(c) gasnett_isalpha(c)
#define iscntrl(c) gasnett_iscntrl(c)
#define isdigit(c) gasnett_isdigit(c)
#define isgraph(c) gasnett_isgraph(c)
#define islower(c) gasnett_islower(c)
#define isprint(c) gasnett_isprint(c)
#define ispunct(c) gasnett_ispunct(c)
#define isspace(c) gasnett_isspace(c)
#define isupper(c) gasnett_isupper(c)
#define isxdigit(c) gasnett_isxdigit(c)
#define isblank(c) gasnett_isblank(c)
#define isascii(c) gasnett_isascii(c)
#define toascii(c) gasnett_toascii(c)
#endif

#endif
