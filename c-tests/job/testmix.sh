#!/bin/sh
# Objects compiled for different configurations must not run together: list A, item 7 (see testmix.c).
#
#   testmix.sh COMPILER INCLUDES LIBRARIES      e.g. testmix.sh gcc -I../include "-L../target/release -lgasnet_sci -Wl,-rpath,..."
#
# For each pair the link, or the start with 2 nodes, must fail; equal pairs must run and pass.
set -u
cc=$1 includes=$2 libraries=$3
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
errors=0

# Does the program of a main unit with flags $1 and another with flags $2 build and pass?
runs() {
  flags="-std=c99 -D_GNU_SOURCE -pthread $includes"
  $cc $flags $1 -DMIX_MAIN -c "$here/testmix.c" -o "$tmp/main.o" || exit 1
  $cc $flags $2 -c "$here/testmix.c" -o "$tmp/other.o" || exit 1
  $cc -pthread "$tmp/main.o" "$tmp/other.o" -o "$tmp/mix" $libraries 2>"$tmp/out" || return 1
  GASNET_SCI_NODES=2 timeout 20 "$tmp/mix" >"$tmp/out" 2>&1 && grep -q PASS "$tmp/out"
}

# The same with the other unit loaded while the job runs.
loads() {
  flags="-std=c99 -D_GNU_SOURCE -pthread $includes"
  $cc $flags $2 -fPIC -shared "$here/testmix.c" -o "$tmp/plug.so" $libraries || exit 1
  $cc $flags $1 -DMIX_MAIN -DMIX_PLUG="\"$tmp/plug.so\"" -c "$here/testmix.c" -o "$tmp/main.o" || exit 1
  $cc $flags $1 -c "$here/testmix.c" -o "$tmp/other.o" || exit 1
  $cc -pthread "$tmp/main.o" "$tmp/other.o" -o "$tmp/mix" $libraries -ldl || exit 1
  GASNET_SCI_NODES=2 timeout 20 "$tmp/mix" >"$tmp/out" 2>&1 && grep -q PASS "$tmp/out"
}

# A refusal is worth something only if it says why.
expect() { # yes|no, flags, flags [loads]
  if ${4:-runs} "$2" "$3"; then got=yes; else got=no; fi
  if [ $got != "$1" ] || { [ $got = no ] && ! grep -qiE 'mode|thread|segment|debug|config|undefined' "$tmp/out"; }; then
    echo "FAILED: [$2] with [$3]: runs: $got, expected $1"
    sed 's/^/    /' "$tmp/out"
    errors=$((errors + 1))
  fi
}

expect yes -DGASNET_SEQ -DGASNET_SEQ
expect yes -DGASNET_PAR -DGASNET_PAR
expect yes "-DGASNET_PARSYNC -DGASNET_DEBUG" "-DGASNET_PARSYNC -DGASNET_DEBUG"
expect no -DGASNET_SEQ -DGASNET_PAR
expect no -DGASNET_PAR -DGASNET_SEQ
expect no -DGASNET_SEQ -DGASNET_PARSYNC
expect no -DGASNET_PARSYNC -DGASNET_PAR
expect no "-DGASNET_SEQ -DGASNET_DEBUG" -DGASNET_SEQ
expect no -DGASNET_SEQ "-DGASNET_SEQ -DGASNET_DEBUG"
expect no -DGASNET_SEQ "-DGASNET_SEQ -DGASNET_SEGMENT_EVERYTHING"
expect no "-DGASNET_SEQ -DGASNET_SEGMENT_LARGE" -DGASNET_SEQ
expect yes -DGASNET_PAR -DGASNET_PAR loads
expect no -DGASNET_PAR -DGASNET_SEQ loads
expect no -DGASNET_SEQ "-DGASNET_SEQ -DGASNET_DEBUG" loads
[ $errors -eq 0 ] && echo "testmix: PASS"
exit $((errors > 0))
