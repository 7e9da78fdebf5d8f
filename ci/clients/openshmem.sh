# OpenSHMEM, the reference library on GASNet: configure, the library, the compiler wrapper oshcc, and oshrun.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046

# With several conduits configure wants --with-gasnet-conduit.
shmem_configure() { # CONDUIT
  local part release='' list
  [ -r "$inst/include/gasnet_config.h" ] || return
  for part in MAJOR MINOR PATCH; do release+=.$(awk "/GASNET_RELEASE_VERSION_$part/ { print \$3 }" "$inst/include/gasnet_config.h"); done
  [[ $release =~ ^\.[0-9]+\.[0-9]+\.[0-9]+$ ]] || { say "release '$release'"; return 1; }
  list=$(cd "$inst/include" && echo *-conduit | sed -e 's/-conduit//g')
  [[ " $list " = *" $1 "* ]] && [ -r "$inst/include/$1-conduit/gasnet_core.h" ] || { say "conduits: $list"; return 1; }
}
# The library is compiled as C99 with the -D and -I flags alone. It does not contain GASNet: programs are linked with both, and the archive in
# the program must answer what the library asks for. oshcc is filled by sed, with % between the parts of its commands.
shmem_build() { # CONDUIT
  local at=$work/shmem-$1
  mkdir -p "$at" && printf 'int client_main(int argc, char **argv);\nint main(int argc, char **argv) { return client_main(argc, argv); }\n' >"$at/program.c" &&
    printf '#!/bin/sh\nexec @DRIVER@ "$@" @SHMEM_LDFLAGS@ @GASNET_LDFLAGS@ -lopenshmem @GASNET_LIBS@\n' >"$at/oshcc.in" &&
    make -s -f - ROOT="$inst" CONDUIT="$1" AT="$at" PROBE="$here/probe.c" <<'END' && chmod +x "$at/oshcc" && "$at/oshcc" "$at/program.c" -o "$at/program"
include $(ROOT)/include/$(CONDUIT)-conduit/$(CONDUIT)-par.mak
all:
	gcc $(GASNET_CPPFLAGS) -g -std=c99 -Wall -Werror -pthread -fPIC -Dmain=client_main -c $(PROBE) -o $(AT)/comms.o
	gcc -fPIC -shared -Wl,-soname,libopenshmem.so -o $(AT)/libopenshmem.so $(AT)/comms.o
	sed -e "s%@SHMEM_LDFLAGS@%-L$(AT) -Wl,-rpath,$(AT)%" -e "s%@GASNET_LDFLAGS@%$(GASNET_LDFLAGS)%" -e "s%@GASNET_LIBS@%$(GASNET_LIBS)%" -e "s%@DRIVER@%$(GASNET_LD)%" <$(AT)/oshcc.in >$(AT)/oshcc
END
}
for conduit in smp sci; do
  verdict "configure, $conduit" shmem_configure $conduit
  verdict "library and oshcc, $conduit" shmem_build $conduit
done
verdict "oshrun, smp" job 2 env GASNET_PSHM_NODES=2 "$work/shmem-smp/program"
verdict "oshrun, a conduit that it does not know" job 2 "$inst/bin/gasnetrun_sci" -n 2 "$work/shmem-sci/program"
