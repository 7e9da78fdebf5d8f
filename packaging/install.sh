#!/bin/sh
# Installs this directory, or removes what it installed. gasnet-sci's ci/package puts it into the binary tarball.
#
#   ./install.sh --prefix DIR              copies bin, include, lib and share to DIR; DIR may hold other things
#   ./install.sh --prefix DIR --uninstall
#
# The directory also works where it was unpacked. Three kinds of files name the prefix: make fragments,
# systemd's unit of gasnet-sci agent, and the modulefile. For the first say make GASNET_PREFIX=DIRECTORY.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 1; }
fail() { echo "install.sh: $*" >&2; exit 1; }

prefix='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -gt 1 ] || usage; prefix=$2; shift ;;
    --prefix=*) prefix=${1#*=} ;;
    --uninstall) uninstall=1 ;;
    *) usage ;;
  esac
  shift
done
[ -n "$prefix" ] || usage
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
# Make and sed get this word.
case $prefix in *[!A-Za-z0-9/._+=@~-]*) fail "--prefix is '$prefix': allowed are letters, digits and / . _ + = @ ~ -" ;; esac
manifest=share/gasnet-sci/manifest.txt

if [ -n "$uninstall" ]; then
  [ -r "$prefix/$manifest" ] || fail "nothing is installed in $prefix: no $manifest"
  list=$(cat "$prefix/$manifest")
  echo "$list" | grep -v '/$' | while read -r file; do rm -f "$prefix/$file"; done
  # Directories that hold other things stay.
  echo "$list" | grep '/$' | LC_ALL=C sort -r | while read -r directory; do rmdir "$prefix/$directory" 2>/dev/null || :; done
  exit 0
fi

# The machine, and its C library.
machine=$(uname -m)
[ "$machine" = @machine@ ] || fail "this is for @machine@, the machine is $machine"
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2) || glibc=
[ -n "$glibc" ] || fail "this needs glibc @glibc@ or newer, and the C library here is another"
[ "$(printf '%s\n' @glibc@ "$glibc" | sort -V | head -n 1)" = @glibc@ ] || fail "this needs glibc @glibc@ or newer, here it is $glibc"

# Directories that are there belong to others, unless an earlier installation made them.
owned=$(grep '/$' "$here/$manifest" | while read -r directory; do
  if [ ! -d "$prefix/$directory" ] || grep -qxF "$directory" "$prefix/$manifest" 2>/dev/null; then echo "$directory"; fi
done)
mkdir -p "$prefix"
if [ "$(cd "$prefix" && pwd -P)" != "$(cd "$here" && pwd -P)" ]; then
  # What an earlier version put there and this one does not have goes, but for its library: programs that were built with it go on.
  earlier=$(grep -v '/$' "$prefix/$manifest" 2>/dev/null | grep -vxFf "$here/$manifest") || :
  libraries=$(echo "$earlier" | grep '^lib/libgasnet_sci\.so\.') || :
  echo "$earlier" | while read -r file; do
    case $file in '' | lib/libgasnet_sci.so.*) ;; *) rm -f "$prefix/$file" ;; esac
  done
  grep '/$' "$prefix/$manifest" 2>/dev/null | grep -vxFf "$here/$manifest" | LC_ALL=C sort -r | while read -r directory; do rmdir "$prefix/$directory" 2>/dev/null || :; done
  # A new inode for every file: programs that run keep the library they have.
  (cd "$here" && grep -v '/$' "$manifest" | tar -cf - -T -) | tar -C "$prefix" -xf - --no-same-owner --unlink-first
  { grep -v '/$' "$here/$manifest"; echo "$libraries"; echo "$owned"; } | grep . >"$prefix/$manifest.new"
  mv "$prefix/$manifest.new" "$prefix/$manifest"
fi
grep '\.mak$\|\.service$\|^share/modulefiles/.*[^/]$' "$here/$manifest" | while read -r file; do
  sed "s|^\(GASNET[A-Z]*_PREFIX\) = .*|\1 = $prefix|; s|^set prefix .*|set prefix $prefix|; s|^\(ExecStart=\).*\(/bin/gasnet-sci agent\)$|\1$prefix\2|" "$prefix/$file" >"$prefix/$file.new"
  mv "$prefix/$file.new" "$prefix/$file"
done
echo "installed in $prefix"
