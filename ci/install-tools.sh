# The libraries beside GASNet: the tools without a job, and mail boxes.
# Sourced by ci/install-test, which has the functions that report. Bash.
# shellcheck disable=SC2086,SC2046 # words and lists of flags have no quotes on purpose

# --- the tools without a job: their own libraries, one per flavour ------------------------------------------------------------
cat >"$work/src/testtools.c" <<'END'
#include <gasnet_tools.h>
int main(void) {
  gasnett_tick_t start = gasnett_ticks_now();
  gasnett_atomic_t a = gasnett_atomic_init(40);
  gasnett_atomic_increment(&a, 0);
  gasnett_setenv("TOOLS_NUMBER", "1K");
  if (gasnett_atomic_add(&a, 1, GASNETT_ATOMIC_MB_POST) != 42 || gasnett_cpu_count() < 1 || !*gasnett_gethostname() ||
      gasnett_getenv_int_withdefault("TOOLS_NUMBER", 0, 1) != 1024 || gasnett_ticks_now() < start)
    return 1;
  printf("tools work, %s\n", _STRINGIFY(GASNETT_THREAD_MODEL));
  return 0;
}
END
cat >"$work/src/lite.c" <<'END'
#define GASNETT_LITE_MODE 1
#include <gasnet_tools.h>
int main(void) { return gasnett_ticks_to_us(gasnett_ticks_now()) == 0; }
END
tools_by_make() { # FLAVOUR [FLAVOUR OF THE LIBRARY]
  make -s -f - <<END && "$work/testtools" | grep -q "tools work, ${1^^}"
include $inst/include/gasnet_tools-$1.mak
all:
	\$(GASNETTOOLS_CC) \$(GASNETTOOLS_CPPFLAGS) \$(GASNETTOOLS_CFLAGS) -c $work/src/testtools.c -o $work/testtools.o
	\$(GASNETTOOLS_LD) \$(GASNETTOOLS_LDFLAGS) -o $work/testtools $work/testtools.o \$(GASNETTOOLS_LIBS:-lgasnet_tools-$1=-lgasnet_tools-${2:-$1})
END
}
tools_by_pkg_config() { # FLAVOUR SOURCE
  gcc $(pkg-config --cflags "gasnet_tools-$1") "$work/src/$2.c" -o "$work/$2" $(pkg-config --libs "gasnet_tools-$1") && "$work/$2"
}
tools_by_cmake() { # FLAVOUR
  local programs=(testtools)
  by_cmake "tools-$1" sci "tools-$1" "" && "$work/tools-$1/testtools" | grep -q "tools work, ${1^^}"
}
if [ -e include/gasnet_tools.h ]; then
  export PKG_CONFIG_PATH=$inst/lib/pkgconfig
  for flavour in seq par; do
    verdict "tools by the make fragment, $flavour" tools_by_make $flavour
    verdict "tools by pkg-config, $flavour" tools_by_pkg_config $flavour testtools
    verdict "tools by CMake, $flavour" tools_by_cmake $flavour
    verdict "reduced tools with the library of flavour $flavour" tools_by_pkg_config $flavour lite
    none "a job in the tools' library, $flavour" "$(readelf -sW "$inst/lib/libgasnet_tools-$flavour.a" | awk '$7 != "UND" && $8 ~ /^gasneti_sci_(init|attach|put|poll)$/')"
  done
  verdict "tools with the library of the other flavour do not link" eval '! tools_by_make seq par && grep -q "undefined reference.*_SEQ" "$work/log"'
  unset PKG_CONFIG_PATH
fi

# --- mail boxes alone, and beside GASNet; with and without DECK_DEBUG ----------------------------------------------------------
cp c-tests/deck/test{deck.h,many.c} "$work/src" # testmany-beside includes both
for name in testmany testmany-beside; do cp "c-tests/deck/$name.c" "$work/src/deck-$name.c"; done
deck_by_pkg_config() { # PACKAGE PROGRAM [FLAGS]
  gcc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror "${@:3}" $(PKG_CONFIG_PATH=$inst/lib/pkgconfig pkg-config --cflags "$1") "$work/src/deck-$2.c" \
    -o "$work/deck-$2" $(PKG_CONFIG_PATH=$inst/lib/pkgconfig pkg-config --libs "$1") && run "$inst/bin/gasnetrun_sci" 2 "$work/deck-$2"
}
deck_by_cmake() { # [LINK]
  local programs=(deck-testmany)
  by_cmake "cmake-deck$1" sci deck "$1" && run "$inst/bin/gasnetrun_sci" 2 "$work/cmake-deck$1/deck-testmany"
}
verdict "mail boxes by pkg-config" deck_by_pkg_config gasnet-sci-deck testmany
verdict "mail boxes by pkg-config, debug" deck_by_pkg_config gasnet-sci-deck testmany -DDECK_DEBUG
verdict "mail boxes by pkg-config, shared" deck_by_pkg_config gasnet-sci-deck-shared testmany
verdict "mail boxes beside GASNet by pkg-config" deck_by_pkg_config gasnet-sci-seq testmany-beside
verdict "mail boxes by CMake" deck_by_cmake ""
verdict "mail boxes by CMake, shared" deck_by_cmake -shared
