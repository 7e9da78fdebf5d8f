# Build trees: the steps of UPC++'s configure and makefiles, with the installed tree and with one that gasnet-sci writes.
# Sourced by ci/install-test, which has the functions that report. Bash.

# --- a build tree, by the steps of UPC++'s configure and makefiles ------------------------------------------------------------
cat >"$work/upcxx.mak.in" <<'END'
PERL = @PERL@
CONDUITS = @CONDUITS@
EXESUFFIX = @EXESUFFIX@
GASNET_CC_FAMILY = @CC_FAMILY@
GASNET_CXX_FAMILY = @CXX_FAMILY@
TEST_THREADED_FLAGS = @GASNET_THREAD_DEFINES@ @GASNET_THREAD_LIBS@
END
# It compiles its library with what the fragment says, in each mode, and its programs with what it has written down of that.
cat >"$work/upcxx.mk" <<'END'
include $(FRAGMENT)
build:
	$(GASNET_CXX) -Wall -Werror $(GASNET_CXXCPPFLAGS) $(GASNET_CXXFLAGS) -std=c++17 -c $(SRC) -o $(OUT).o
	$(GASNET_CXX) $(GASNET_LDFLAGS) -o $(OUT) $(OUT).o $(GASNET_LIBS)
END
upcxx_builds() { # FRAGMENT DIRECTORY MODE LAUNCHER
  local debug=nodebug
  [ "$3" = opt ] || debug=debug
  mkdir -p "$2" && make -s -f "$work/upcxx.mk" FRAGMENT="$1" SRC="$work/src/testcxx_am.cc" OUT="$2/testcxx_am" && run "$4" 2 "$2/testcxx_am" &&
    grep -aoE '\$GASNetConfig: [^$]*' "$2/testcxx_am" | grep -E "CONDUIT=SMP\(.*,$debug,"
}
upcxx_steps() ( # TREE MODE
  local at=$work/upcxx-$2 have CONDUITS threads part
  rm -rf "$at" && mkdir "$at" && ln -s "$1" "$at/gasnet.$2" || return
  # configure: the specification, and the family of the compiler.
  for part in MAJOR:0 MINOR:19; do
    [[ $(grep "EX_SPEC_VERSION_${part%:*}" "$1/gasnet_config.h" | head -1 | tr '\t' ' ') =~ ( ([0-9]+)) ]] && have=${BASH_REMATCH[2]} &&
      [ "$have" = "${part#*:}" ] || { say "specification ${part%:*} is ${have:-missing}"; return 1; }
  done
  [ -d "$1/include" ] && printf '#include "gasnet_portable_platform.h"\na+PLATFORM_COMPILER_FAMILYNAME+b\n' | g++ "-I$1/include" -E -x c++ - | grep -x 'a+GNU+b' || return
  # The makefiles: which conduits, the fragment as a target, settings by config.status in the tree.
  cd "$at" || return
  eval "$(make --no-print-directory -C "gasnet.$2" echovar VARNAME=CONDUITS)" && [ "$CONDUITS" = smp ] && make -C "gasnet.$2/smp-conduit" smp-seq.mak || return
  (cd "gasnet.$2" && env CONFIG_COMMANDS='' CONFIG_LINKS='' CONFIG_HEADERS='' CONFIG_FILES="conftest.txt:$work/upcxx.mak.in" ./config.status >/dev/null &&
    cat conftest.txt && rm conftest.txt) >gasnet.mak || return
  diff - <(sed 's|^PERL = .*perl$|PERL = perl|' gasnet.mak) <<'END' || return
PERL = perl
CONDUITS = smp
EXESUFFIX = 
GASNET_CC_FAMILY = GNU
GASNET_CXX_FAMILY = GNU
TEST_THREADED_FLAGS = -D_REENTRANT -lpthread
END
  for threads in seq par; do
    make -C "gasnet.$2/smp-conduit" $threads MANUAL_CFLAGS='' && upcxx_builds "$at/gasnet.$2/smp-conduit/smp-$threads.mak" "$at/$threads" "$2" "$at/gasnet.$2/bin/gasnetrun_smp" || return
  done
  # Installed, it uses nothing of the tree.
  make -C "gasnet.$2" all && make -C "gasnet.$2" install prefix="$at/inst/gasnet.$2" DESTDIR="$at/stage" && mv "$at/stage$at/inst" "$at/inst" || return
  ! grep -rF -e "$1" -e "$at/stage" "$at/inst" || return
  for threads in seq par; do
    upcxx_builds "$at/inst/gasnet.$2/include/smp-conduit/smp-$threads.mak" "$at/inst-$threads" "$2" "$at/inst/gasnet.$2/bin/gasnetrun_smp" || return
  done
  ! make -C "gasnet.$2" install && make -C "gasnet.$2" clean && [ -x "$1/smp-conduit/contrib/gasnetrun_smp" ]
)
for mode in opt debug; do verdict "UPC++'s steps with the installed build tree, $mode" upcxx_steps "$inst/share/gasnet-sci/smp-tree/$mode" $mode; done
verdict "a build tree by gasnet-sci" "$inst/bin/gasnet-sci" tree "$work/own-tree"
for mode in opt debug; do verdict "UPC++'s steps with it, $mode" upcxx_steps "$work/own-tree/$mode" $mode; done
# Whoever writes it, it is the same tree.
same_trees() { # TREE AND ANOTHER
  local directory
  for directory in "$@"; do rm -rf "$work/tree" && cp -r "$directory" "$work/tree" && grep -rlF "$directory" "$work/tree" | xargs sed -i "s|$directory|TREE|g" && mv "$work/tree" "$work/tree-$((++n))"; done
  diff -r "$work/tree-1" "$work/tree-2"
}
n=0
verdict "both trees are the same" same_trees "$inst/share/gasnet-sci/smp-tree" "$work/own-tree"
for fragment in "$work"/own-tree/*/smp-conduit/*.mak; do
  none "form of ${fragment#"$work/"}" "$(hygiene "$fragment" GASNET_ 2>&1)"
done
