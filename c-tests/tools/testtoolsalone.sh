#!/bin/sh
# The tools without a job: programs of gasnet_tools.h alone in each mode, programs that must not link or start, mistakes that a
# debug build finds, and strings that the executable must keep (lists A, D4 of behaviours-tools-vis-coll.md; core.md section 2.4).
#
#   testtoolsalone.sh COMPILER INCLUDE_DIRECTORY LIBRARY_DIRECTORY      e.g. testtoolsalone.sh gcc ../include ../target/release
#
# The library directory has libgasnet_sci.so, its name with version, and libgasnet_sci.a.
set -u
cc=$1 include=$2 lib=$3
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
ulimit -c 0
errors=0
strict="-std=c99 -D_GNU_SOURCE -O2 -Wall -Wextra -pedantic -Werror"
shared="-L$lib -lgasnet_sci -Wl,-rpath,$lib" static="$lib/libgasnet_sci.a -ldl -lm -pthread"

failed() {
  echo "FAILED: testtoolsalone: $1"
  sed 's/^/    /' "$tmp/out" | head -20
  errors=$((errors + 1))
}
# NAME, then a command that must succeed.
works() {
  name=$1
  shift
  timeout 100 "$@" >"$tmp/out" 2>&1 || failed "$name"
}
# NAME, regular expression, then a command that must fail and say so.
refused() {
  name=$1 expected=$2
  shift 2
  if timeout 100 "$@" >"$tmp/out" 2>&1 || ! grep -qE "$expected" "$tmp/out"; then failed "$name: expected a failure that says \"$expected\""; fi
}
compile="$cc $strict -I$include"

# --- alone, in each mode ---------------------------------------------------------------------------------------------------
modes='
SEQ             |
PAR             | -pthread
PAR             | -DGASNETT_THREAD_SAFE -pthread
SEQ             | -pthread -DGASNETT_THREAD_SINGLE
SEQ true locks  | -DGASNETT_USE_TRUE_MUTEXES=1 -pthread -DGASNETT_THREAD_SINGLE
SEQ debug       | -DGASNET_DEBUG
PAR debug       | -DGASNET_DEBUG -pthread
'
echo "$modes" | grep '|' >"$tmp/modes"
while IFS='|' read -r name flags; do
  works "compile: $name $flags" $compile $flags "$here/testtoolsalone.c" -o "$tmp/alone" $shared
  works "run: $name $flags" sh -c "'$tmp/alone' | grep -x 'testtoolsalone: node 0/1: PASS.*'"
  case $name in *debug*) works "run, ticks by the clock" env GASNET_SCI_TICKS=clock "$tmp/alone" ;; esac
done <"$tmp/modes"

# --- mistakes ---------------------------------------------------------------------------------------------------------------
for flags in "-DGASNET_DEBUG" "-DGASNET_DEBUG -pthread"; do
  $compile $flags "$here/testtoolsalone.c" -o "$tmp/alone" $shared
  for mistake in relock unlock destroy wait assertlocked assertunlocked rwunlock rwrelock rwassert rwdestroy; do
    refused "mistake $mistake, $flags" '\*\*\* FATAL ERROR.*gasnett_[a-z]*_.*testtools_lock.h:[0-9]+' "$tmp/alone" $mistake
  done
done
$compile "$here/testtoolsalone.c" -o "$tmp/alone" $shared
refused "waiting with one thread" 'FATAL ERROR.*gasnett_cond_wait' "$tmp/alone" wait
refused "a value that makes no sense" "GASNET_SCI_TICKS='fast'" env GASNET_SCI_TICKS=fast "$tmp/alone"

# --- LITE, with objects of any mode -----------------------------------------------------------------------------------------
$compile -DLITE_MAIN "$here/testtoolslite.c" -o "$tmp/lite" $shared
works "lite" "$tmp/lite"
$compile -c "$here/testtoolslite.c" -o "$tmp/lite.o"
for flags in "" "-pthread -DGASNET_DEBUG"; do
  works "lite with $flags" $compile $flags "$here/testtoolsalone.c" "$tmp/lite.o" -o "$tmp/alone" $shared
  works "lite with $flags: run" "$tmp/alone"
done

# --- objects that must not meet ---------------------------------------------------------------------------------------------
printf '#include <gasnet_tools.h>\nextern int other(void);\nint other(void) { return 1; }\n' >"$tmp/other.c"
printf '#include <gasnet_tools.h>\nint main(void) { return 0; }\n' >"$tmp/main.c"
# FLAGS, OTHER FLAGS: must not start.
apart() {
  $compile $1 -c "$tmp/main.c" -o "$tmp/main.o" && $compile $2 -c "$tmp/other.c" -o "$tmp/other.o" || exit 1
  works "link of [$1] with [$2]" $cc "$tmp/main.o" "$tmp/other.o" -o "$tmp/both" $shared -pthread
  refused "[$1] with [$2]" "compiled in different $3" "$tmp/both"
}
apart "" "-pthread" "thread models SEQ and PAR"
apart "-pthread" "" "thread models SEQ and PAR"
apart "-DGASNET_DEBUG" "" "modes GASNET_DEBUG and GASNET_NDEBUG"

# --- a library of another release: refused by the linker, whatever it throws away --------------------------------------------
mkdir "$tmp/stale" && cp "$include"/*.h "$tmp/stale" || exit 1
for part in MAJOR MINOR PATCH; do
  sed "s/\(define GASNET_RELEASE_VERSION_$part\) [0-9]*/\1 99/" "$include/gasnet_config.h" >"$tmp/stale/gasnet_config.h"
  for flags in "" "-ffunction-sections -fdata-sections -Wl,--gc-sections"; do
    for library in "$shared" "$static"; do
      refused "stale $part $flags" "gasnett_linkconfig_idiotcheck_RELEASE_${part}_99" \
        $cc $strict "-I$tmp/stale" $flags "$tmp/main.c" -o "$tmp/both" $library
    done
  done
done

# --- what must be in the executable, stripped and with garbage collected -----------------------------------------------------
cat >"$tmp/ident.c" <<'END'
#include <gasnet.h>
#include <gasnet_tools.h>
GASNETT_IDENT(client_ident, "$ClientIdent" ": here, " GASNETT_CONFIG_STRING " $");
int main(int argc, char **argv) {
  if (gasnet_init(&argc, &argv)) return 1;
  gasnet_exit(0);
}
END
printf '#include <gasnet_tools.h>\nGASNETT_IDENT(second_ident, "$Second" "Ident: too $");\n' >"$tmp/second.c"
# FILE has a text that matches $1, once.
once() {
  works "ident $1 in $2" sh -c "[ \"\$(strings -a '$2' | grep -cE '$1')\" = 1 ]"
}
printf '#include <gasnet_tools.h>\nint main(void) { return gasnett_cpu_count() < 0; }\n' >"$tmp/main.c"
cat >"$tmp/tool-idents" <<'END'
\$GASNetToolsConfig: RELEASE=[^$]* \$
\$GASNetToolsThreadModel: SEQ \$
\$GASNetSystemTuple: [^$ ]+ \$
\$GASNetCompilerID: [^$]+ \$
\$GASNetConfigureArgs: [^$]* \$
END
cat >"$tmp/build-idents" <<'END'
\$GASNetBuildTimestamp: [0-9-]+T[0-9:]+Z \$
\$GASNetBuildId: [^$]+ \$
\$GASNetGitHash: [^$]+ \$
END
for library in "$shared" "$static"; do
  works "idents: build" $compile -DGASNET_SEQ -DGASNETT_THREAD_SINGLE -ffunction-sections -fdata-sections "$tmp/ident.c" -c -o "$tmp/ident.o"
  works "idents: build" $compile -DGASNETT_THREAD_SINGLE -ffunction-sections -fdata-sections "$tmp/second.c" -c -o "$tmp/second.o"
  works "idents: link" $cc -s -Wl,--gc-sections "$tmp/ident.o" "$tmp/second.o" -o "$tmp/ident" $library
  for text in '\$ClientIdent: here, RELEASE=[^$]* \$' '\$SecondIdent: too \$' '\$GASNetConfig: \(libgasnet\.a\) RELEASE=[^$]* \$' \
    '\$GASNetAPIVersion: 1 \$' '\$GASNetThreadModel: GASNET_SEQ \$' '\$GASNetSegment: GASNET_SEGMENT_FAST \$' '\$GASNetConduitName: SCI \$' \
    '\$GASNetCoreLibraryName: SCI \$' '\$GASNetCoreLibraryVersion: [0-9.]+ \$' '\$GASNetExtendedLibraryName: SCI \$' \
    '\$GASNetExtendedLibraryVersion: [0-9.]+ \$' '\$GASNetDefaultMaxSegsize: [^$]+ \$' '\$GASNetDefaultMaxSegsizeStr: [^$]+ \$' \
    '\$GASNetEXAPIVersion: [0-9]+\.[0-9]+ \$' '\$GASNetPSHM: 1 \$' '\$GASNetSSHSpawner: 1 \$' '\$GASNetMPISpawner: 1 \$' \
    '\$GASNetPMISpawner: 1 \$'; do
    once "$text" "$tmp/ident"
  done
  built=$tmp/ident
  [ "$library" = "$static" ] || built=$lib/libgasnet_sci.so
  while read -r text; do once "$text" "$built"; done <"$tmp/build-idents"
  # Without a job: the tools' strings, of objects in two files, and no conduit.
  works "idents: build alone" $compile -DGASNETT_THREAD_SINGLE "$tmp/main.c" "$tmp/second.c" -o "$tmp/alone" $library
  while read -r text; do once "$text" "$tmp/ident"; once "$text" "$tmp/alone"; done <"$tmp/tool-idents"
  works "a tools program names no conduit" sh -c "! grep -aqE 'GASNet(ConduitName|Config): ' '$tmp/alone'"
  works "idents: run" env GASNET_SCI_NODES=2 "$tmp/ident"
done

[ $errors -eq 0 ] && echo "testtoolsalone: PASS"
exit $((errors > 0))
