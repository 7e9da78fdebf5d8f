#!/bin/sh
# A plug-in that runs a job and is unloaded (testplugin.c), with each library and way to load.
#
#   testplugin.sh COMPILER INCLUDE_DIRECTORY LIBRARY_DIRECTORY      e.g. testplugin.sh gcc ../include ../target/release
#
# The library directory has libgasnet_sci.so, its name with version, and libgasnet_sci.a.
set -u
cc=$1 include=$2 lib=$3
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
ulimit -c 0
errors=0
flags="-std=c99 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread"

$cc $flags "$here/testplugin.c" -o "$tmp/testplugin" -ldl || exit 1
$cc $flags -fPIC -DPLUGIN -I"$include" -c "$here/testplugin.c" -o "$tmp/plugin.o" || exit 1
$cc -shared "$tmp/plugin.o" -o "$tmp/static.so" "$lib/libgasnet_sci.a" -ldl -lm -pthread || exit 1
$cc -shared "$tmp/plugin.o" -o "$tmp/shared.so" -L"$lib" -lgasnet_sci -Wl,-rpath,"$lib" || exit 1

for library in static shared; do
  for way in '' deep; do
    for nodes in 1 2; do
      # A relative path: the loader knows the plug-in by it.
      (cd "$tmp" && GASNET_SCI_NODES=$nodes timeout 60 ./testplugin ./$library.so $way) >"$tmp/out" 2>&1
      status=$?
      if [ $status -ne 0 ] || [ "$(grep -c unloaded "$tmp/out")" -ne $nodes ]; then
        echo "FAILED: testplugin: $library $way, $nodes nodes: status $status"
        sed 's/^/    /' "$tmp/out" | head -20
        errors=$((errors + 1))
      fi
    done
  done
done
[ $errors -eq 0 ] && echo "testplugin: PASS"
exit $((errors > 0))
