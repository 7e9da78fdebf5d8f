# Caffeine: its install.sh, which takes pkg-config's variables apart for fpm, and LFortran's way to link with it. Its CMake build looks for
# GASNet as Legion does: the probe of realm.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046

caffeine() {
  local libs first directories names cc
  packaged gasnet-smp-seq || { say "no package gasnet-smp-seq"; return 1; }
  libs=$(packaged gasnet-smp-seq --variable=GASNET_LIBS)
  # It takes the compiler from the first word of GASNET_CC, and refuses to build with another.
  cc=$(realpath "$(packaged gasnet-smp-seq --variable=GASNET_CC | awk '{ print $1 }')") || return
  [ "$cc" = "$(realpath "$(type -P gcc)")" ] || { say "compiler $cc"; return 1; }
  directories=$(awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^-L/) printf " %s", $i }' <<<"$libs")
  names=$(awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^-l/) printf " %s", substr($i, 3) }' <<<"$libs")
  first=${libs%% *}
  [ -r "$(dirname "${first#-L}")/include/gasnetex.h" ] || { say "no headers beside $first"; return 1; }
  $cc $(packaged gasnet-smp-seq --variable=GASNET_CFLAGS) $(packaged gasnet-smp-seq --variable=GASNET_CPPFLAGS) -c "$here/probe.c" -o "$work/caffeine.o" &&
    $cc "$work/caffeine.o" -o "$work/caffeine" $(packaged gasnet-smp-seq --variable=GASNET_LDFLAGS) $directories ${names// / -l}
}
# A compiler's driver that knows -L and two -l.
caffeine_lfortran() { gcc "$work/caffeine.o" -o "$work/caffeine-lfortran" -L"$inst/lib" -lgasnet-smp-seq -lm; }
verdict "variables of gasnet-smp-seq" caffeine
verdict "run" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/caffeine"
verdict "linked with one library" caffeine_lfortran
verdict "linked with one library: run" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/caffeine-lfortran"
