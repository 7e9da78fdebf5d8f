# Realm and Legion: two generations of makefiles, two of CMake modules, and the wrapper library that Realm loads by dlopen.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046

# Makefiles of now: the first known conduit that has a library, its fragment, and of that the -I and -l flags only. Warnings are errors.
realm_make() {
  make -s -f - GASNET="$inst" PROBE="$here/probe.c" OUT="$work/realm-make" <<'END'
KNOWN := ibv aries gemini pami mpi udp ofi psm mxm portals4 smp ucx
FILES := $(wildcard $(KNOWN:%=$(GASNET)/lib/libgasnet-%-par.*))
CONDUIT := $(patsubst libgasnet-%-par,%,$(basename $(notdir $(firstword $(FILES)))))
include $(GASNET)/include/$(CONDUIT)-conduit/$(CONDUIT)-par.mak
all:
	test '$(CONDUIT):$(GASNET_LD_REQUIRES_MPI)' = ibv:
	g++ -std=c++17 -Wall -Werror -DGASNETI_BUG1389_WORKAROUND=1 -DGASNET_CONDUIT_IBV $(GASNET_INCLUDES) -x c++ $(PROBE) -x none -o $(OUT) $(GASNET_LIBS)
END
}
verdict "makefile that looks for known conduits" realm_make
verdict "makefile that looks for known conduits: run" job 2 "$inst/bin/gasnetrun_ibv" -n 2 "$work/realm-make"

# Makefiles of 2018 read nothing: names of directories and libraries are in them, udp if nobody says another.
realm_fixed() {
  g++ -std=c++11 -Wall -Werror -I"$inst/include" -DUSE_GASNET -DGASNETI_BUG1389_WORKAROUND=1 -I"$inst/include/udp-conduit" -DGASNET_CONDUIT_UDP -x c++ \
    "$here/probe.c" -x none -o "$work/realm-fixed" -lrt -lpthread -ldl -rdynamic -L"$inst/lib" -lrt -lm -lgasnet-udp-par -lamudp
}
verdict "makefile with fixed names" realm_fixed
verdict "makefile with fixed names: run" job 2 "$inst/bin/amudprun" -np 2 "$work/realm-fixed"

verdict "Legion's way of CMake" client_project legion "-DGASNet_ROOT_DIR=$inst" -DGASNet_CONDUIT=smp
for mode in par seq; do verdict "Legion's way of CMake, $mode: run" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/legion/probe-$mode"; done
verdict "Realm's way of CMake" env GASNET_ROOT="$inst" cmake -S "$here/realm" -B "$work/realm" -DPROBE="$here/probe.c" -DGASNET_CONDUIT=smp
verdict "Realm's way of CMake: build" cmake --build "$work/realm" -j"$cores"
for program in probe probe-word; do verdict "Realm's way of CMake: run $program" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/realm/$program"; done

# The wrapper is a library with the archive in it. Realm opens it when it runs.
realm_wrapper() {
  local file
  file=$(fragment smp par)
  printf '%s\n' '#include <dlfcn.h>' 'int main(int argc, char **argv) {' '  void *wrapper = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);' \
    '  return !wrapper || ((int (*)(int, char **))dlsym(wrapper, "client_main"))(argc, argv);' '}' >"$work/loader.c" &&
    gcc "$work/loader.c" -o "$work/realm-loader" -ldl &&
    gcc -fPIC -Dmain=client_main -DGASNET_PAR $(value "$file" GASNET_INCLUDES) -c "$here/probe.c" -o "$work/wrapper.o" &&
    g++ -shared -Wl,-z,defs -o "$work/librealm_wrapper.so" "$work/wrapper.o" $(value "$file" GASNET_LIBS)
}
verdict "wrapper library" realm_wrapper
verdict "wrapper library: run" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/realm-loader" "$work/librealm_wrapper.so"
