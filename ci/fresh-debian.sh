# Shared by ci/package-test and ci/package-upgrade, which source it behind lib.sh: a fresh Debian 12 in directory $fresh, without Rust, in which commands
# run in namespaces of their own. It is kept in target/package-root.tar for a week. Takes root, mmdebstrap and unshare. Bash.
#
# $work is a temporary directory, which goes at the end; $said is for verdict.
[ "$(id -u)" -eq 0 ] || die "this takes root, for a Debian in a directory"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fresh=$work/root
said=$work/log

make_fresh() {
  local kept=$target/package-root.tar
  if [ -z "$(find "$kept" -mtime -7 2>/dev/null)" ]; then
    say "making a fresh Debian 12 ..."
    mkdir -p "$target"
    mmdebstrap --quiet --variant=apt --aptopt='Acquire::Retries "5"' --include=gcc,g++,make,cmake,pkg-config bookworm - >"$kept.new" 2>"$said" && mv "$kept.new" "$kept" || {
      cat "$said"
      die "mmdebstrap failed"
    }
  fi
  mkdir "$fresh" && tar -C "$fresh" -xf "$kept" || die "cannot unpack $kept"
  verdict "commands run in the fresh Debian" inside '. /etc/os-release && [ "$VERSION_ID" = 12 ] && test -e /proc/self && test -c /dev/null'
  [ $failed -eq 0 ] || { sum; exit 1; }
}

# Runs a shell command there, in namespaces of its own: nothing of it outlives it, and there is no network.
inside() {
  unshare --mount --pid --ipc --net --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm" && mount -t devpts devpts "$0/dev/pts" || exit
    cd "$0" && exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive /bin/bash -c "$1"
  ' "$fresh" "$1"
}

# All files there, without those in /t and what dpkg, apt and ldconfig write for themselves.
files() {
  (cd "$fresh" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./t \
    -o -path ./etc/ld.so.cache \) -prune -o -printf '%p %m %l\n' | LC_ALL=C sort)
}

# Of the packages in directory $1: the version in the soname; their own.
so_of() { dpkg-deb -c "$1"/libgasnet-sci0*.deb | sed -n 's|.*/libgasnet_sci\.so\.||p'; }
version_of() { dpkg-deb -f "$1"/gasnet-sci_*.deb Version; }
