# Berkeley UPC: the makefiles that its compiler runs, what it checks in objects, and the commands of upcrun.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046

# GASNET_PREFIX is set after the fragment is included: the run-time's own prefix, which is where GASNet is installed, too. Objects are
# compiled with -g3, as its debug builds do; a start file has the text for the whole program.
cat >"$work/upcr.mak" <<'END'
include $(UPCR_HOME)/include/$(CONDUIT)-conduit/$(CONDUIT)-seq.mak
GASNET_PREFIX = $(UPCR_HOME)
all:
	$(GASNET_CC) -g3 $(DEBUG) $(GASNET_DEFINES) $(GASNET_INCLUDES) $(GASNET_MISC_CPPFLAGS) $(GASNET_CFLAGS) -c $(WORK)/upc.c -o $(OUT).o
	$(GASNET_CC) -g3 $(DEBUG) $(GASNET_DEFINES) $(GASNET_INCLUDES) $(GASNET_MISC_CPPFLAGS) $(GASNET_CFLAGS) -c $(WORK)/upc-start.c -o $(OUT)-start.o
	$(GASNET_CC) $(DEBUG) $(GASNET_DEFINES) $(GASNET_INCLUDES) $(GASNET_CFLAGS) -c $(PROBE) -o $(OUT)-probe.o
	$(GASNET_LD) -o $(OUT) $(OUT).o $(OUT)-start.o $(OUT)-probe.o $(GASNET_LDFLAGS) $(GASNET_LIBS)
END
printf '#include <portable_inttypes.h>\n#include <portable_platform.h>\n#include <gasnet.h>\n#include <gasnet_tools.h>\n%s\nint upc_me(void) { return (int)gasnet_mynode(); }\n' \
  'GASNETT_IDENT(upc_gen, "$GASNetConfig: (x.trans.c) " GASNET_CONFIG_STRING " $");
GASNETT_IDENT(upc_obj, "$GASNetConfig: (x.o) " GASNET_CONFIG_STRING " $");' >"$work/upc.c"
printf '#include <gasnet.h>\n#include <gasnet_tools.h>\n%s\n' 'GASNETT_IDENT(upc_link, "$GASNetConfig: (<link>) " GASNET_CONFIG_STRING " $");' >"$work/upc-start.c"
ln -s "$inst" "$work/upcr"
upc_make() { # OUT CONDUIT [FLAG...]
  make -s -f "$work/upcr.mak" UPCR_HOME="$work/upcr" CONDUIT="$2" DEBUG="${*:3}" WORK="$work" PROBE="$here/probe.c" OUT="$work/$1"
}
# The configurations in a file, as "NAME CONFIGURATION".
upc_configurations() {
  perl -e 'open my $in, "<:raw", $ARGV[0] or die $!; local $/ = "\$"; my %found;
    while (<$in>) { $found{$1} = $2 if /^GASNetConfig:\s+\(([^)]+)\)\s+([^\$]+?) \$/ } print "$_ $found{$_}\n" for sort keys %found' "$1"
}
# The compiler refuses an object that has more configurations than the two that it wrote there, and configurations that differ.
upc_object() { # OUT
  upc_configurations "$work/$1.o" | awk '{ print $1 }' | diff - <(printf 'x.o\nx.trans.c\n') && upc_configurations "$work/$1.o" | awk '{ print $2 }' | sort -u |
    diff - <(upc_configurations "$work/$1-start.o" | awk '$1 == "<link>" { print $2 }')
}
# upcrun takes the conduit from the text of the whole program, and looks there whether there are traces, statistics and checks.
upc_link() { # OUT CONDUIT DEBUG
  local text
  text=$(upc_configurations "$work/$1" | awk '$1 == "<link>" { print $2 }')
  [[ $text =~ CONDUIT=([A-Za-z0-9]+) ]] && [ "${BASH_REMATCH[1]}" = "$2" ] && [[ $text == *,trace* && $text == *,stats* ]] && [[ $text =~ ,(no)?debug, ]] &&
    [ "${BASH_REMATCH[0]}" = ",$3," ] || { say "$text"; return 1; }
}
for conduit in smp udp ibv; do verdict "its makefiles, $conduit" upc_make upc-$conduit $conduit; done
verdict "its makefiles, debug" upc_make upc-debug smp -DGASNET_DEBUG -O0
for out in upc-smp upc-debug; do verdict "configurations in an object, $out" upc_object $out; done
for conduit in smp udp; do verdict "configuration of the program, $conduit" upc_link upc-$conduit ${conduit^^} nodebug; done
verdict "configuration of the program, debug" upc_link upc-debug SMP debug
verdict "upcrun, smp" job 2 env GASNET_PSHM_NODES=2 GASNET_MAX_SEGSIZE=80MB UPC_SHARED_HEAP_SIZE=64MB "$work/upc-smp"
verdict "upcrun with amudprun, udp" job 2 env GASNET_SPAWNFN=L "$work/upcr/bin/amudprun" -n 2 "$work/upc-udp"
verdict "upcrun, ibv" job 2 "$work/upcr/bin/gasnetrun_ibv" -n 2 -E UPCRI_NON_EMPTY_KLUDGE "$work/upc-ibv"
verdict "upcrun -N 1, ibv, with the options of other conduits" job 2 "$work/upcr/bin/gasnetrun_ibv" -v -np 2 -N 1 -c 1 -E UPC_QUIET "$work/upc-ibv"
