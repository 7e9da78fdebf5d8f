# UPC++: what it asks of the headers, and its driver upcxx-run. Its configure and makefiles take a build tree: ci/install-trees.sh.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046

# Its makefiles put what these macros expand to into a header of their own, and stop if one is not defined.
upcxx_macros() {
  local file macro
  file=$(fragment smp "$1")
  {
    printf '#include <gasnetex.h>\n#include <gasnet_tools.h>\n#include <gasnet_portable_platform.h>\n'
    for macro in GASNETT_NEVER_INLINE GASNETT_NORETURN GASNETT_PURE GASNETT_CONST GASNETT_HOT GASNETT_COLD GASNET_MAXEPS gasnett_spinloop_hint \
      gasneti_builtin_unreachable GASNETT_PREDICT_TRUE GASNETT_PREDICT_FALSE; do
      printf '#ifndef %s\n#error "%s is not defined"\n#endif\n' "$macro" "$macro"
    done
    printf 'int maxeps = GASNET_MAXEPS;\nvoid spin(void) { gasnett_spinloop_hint(); }\nint likely(int x) { return GASNETT_PREDICT_TRUE(x) || GASNETT_PREDICT_FALSE(x); }\n'
    printf 'int never(int x) { if (x) return 1; gasneti_builtin_unreachable(); }\nGASNETT_PURE GASNETT_HOT int pure(int x); GASNETT_NORETURN GASNETT_COLD void gone(void);\n'
  } | $(value "$file" GASNET_CXX) $(value "$file" GASNET_CXXCPPFLAGS) $(value "$file" GASNET_CXXFLAGS) -std=c++17 -Wall -Werror -fsyntax-only -x c++ -
}
for mode in seq par; do verdict "macros of the headers, $mode" upcxx_macros $mode; done

upcxx_program() { # CONDUIT
  local file
  file=$(fragment "$1" seq)
  $(value "$file" GASNET_CXX) -std=c++17 $(value "$file" GASNET_CXXCPPFLAGS) $(value "$file" GASNET_CXXFLAGS) -x c++ "$here/probe.c" -x none \
    $(value "$file" GASNET_LDFLAGS) -o "$work/upcxx-$1" $(value "$file" GASNET_LIBS) && carries "${1^^}" "$work/upcxx-$1"
}
# The driver takes the conduit from the program, which chooses command and environment. It sets a heap in this form, and looks for the launcher
# in these directories of GASNET_PREFIX.
upcxx_run() { # CONDUIT OPTION...
  local program=$work/upcxx-$1 conduit launcher command directory
  conduit=$(ident GASNetConduitName "$program" | tr '[:upper:]' '[:lower:]')
  case $conduit in udp) launcher=amudprun ;; *) launcher=gasnetrun_$conduit ;; esac
  for directory in "$inst/bin" "$inst/$conduit-conduit/contrib" "$inst/other/amudp"; do
    [ ! -e "$directory/$launcher" ] || { command=$directory/$launcher; break; }
  done
  job 2 env GASNET_MAX_SEGSIZE=128.0MB/P UPCXX_SHARED_HEAP_SIZE='128.0 MB' GASNET_SPAWNFN=L "$command" "${@:2}" "$program"
}
upcxx_forks() { job 2 env GASNET_MAX_SEGSIZE=0.5/H GASNET_SMP_SPAWNER=fork GASNET_PSHM_NODES=2 "$work/upcxx-smp"; }
for conduit in smp udp ibv; do verdict "program of $conduit" upcxx_program $conduit; done
verdict "upcxx-run -n 2, smp" upcxx_run smp -n 2
verdict "upcxx-run -n 2 -N 1 -v, smp" upcxx_run smp -v -N 1 -n 2
verdict "upcxx-run -localhost, smp" upcxx_forks
verdict "upcxx-run -n 2, udp" upcxx_run udp -np 2
verdict "upcxx-run -n 2, ibv" upcxx_run ibv -E UPCXX_INSTALL,UPCXX_SHARED_HEAP_SIZE -n 2
