# Chapel: its own reading of pkg-config's file, what it compiles and links with that, and its launchers.
# Sourced by ci/clients/probe. Bash.
# shellcheck disable=SC2086,SC2046,SC2016

# The value of a line of a .pc file. Variables count if they are defined above; paths of another Chapel's third-party directory become ours.
chapel_value() { # FILE KEY
  awk -v wanted="$2" -v tail="third-party/gasnet/install/$ucp/substrate-smp/seg-fast" -v ours="$inst" '
    /^#/ || !match($0, /^[^ =:]+[=:]/) { next }
    { key = substr($0, 1, RLENGTH - 1); text = substr($0, RLENGTH + 1); sub(/^ +/, "", text)
      while (match(text, /\$\{[^}]+\}/)) {
        name = substr(text, RSTART + 2, RLENGTH - 3)
        if (!(name in value)) { print "not defined above: " name > "/dev/stderr"; exit 1 }
        text = substr(text, 1, RSTART - 1) value[name] substr(text, RSTART + RLENGTH) }
      gsub("/[^ ]*/" tail, ours, text); value[key] = text }
    END { print value[wanted] }' "$1"
}
# Flags that begin with -O and -W are left out, and -g. The linker is the one for C++ if GASNet names that for C.
chapel_build() { # FILE OUT SUFFIX
  local cflags libs ld
  cflags=$(chapel_value "$1" Cflags | tr ' ' '\n' | grep -vE '^(-O.*|-Winline|-g)$' | tr '\n' ' ')
  libs=$(chapel_value "$1" Libs | tr ' ' '\n' | grep -vE '^(-O.*|-W.*|-g)$' | tr '\n' ' ')
  ld=$(chapel_value "$1" GASNET_LD)
  [ "$ld" = "$(chapel_value "$1" GASNET_CC)" ] && ld=$(chapel_value "$1" GASNET_CXX) || { say "linker $ld"; return 1; }
  clang -std=c11 $cflags -Wall -Werror -c "$here/probe.c" -o "$2.o" && $ld -o "$2" "$2.o" $libs && carries "$3" "$2"
}
chapel_moved() { # as written for the same directory of another Chapel
  sed "s|$home/|/opt/another/chapel/|g" "$inst/lib/pkgconfig/gasnet-smp-par.pc" >"$work/moved.pc" && chapel_build "$work/moved.pc" "$work/chapel-moved" SMP
}
for conduit in smp udp ibv; do verdict "gasnet-$conduit-par.pc" chapel_build "$inst/lib/pkgconfig/gasnet-$conduit-par.pc" "$work/chapel-$conduit" ${conduit^^}; done
verdict "gasnet-smp-par.pc of a Chapel that was elsewhere" chapel_moved
verdict "launcher smp" job 2 env GASNET_PSHM_NODES=2 CHPL_RT_LOCALES_PER_NODE=2 "$work/chapel-smp" -nl 2
verdict "launcher amudprun" job 2 env GASNET_SPAWNFN=L "$inst/bin/amudprun" -np 2 "$work/chapel-udp" -nl 2 -E "CHPL_HOME=$home"
verdict "launcher gasnetrun_ibv, two locales" job 2 "$inst/bin/gasnetrun_ibv" -n 2 -N 2 -c 0 -E HOME,PATH,CHPL_HOME "$work/chapel-ibv" -nl 2
