# Shared by the scripts in ci/, which source it; it is never run. Bash.
#
# started_in: the caller's directory. root, target, stage: the repository, cargo's target directory, and the files that a user
# links against (lib, include, bin). CI_PROFILE: the profile of the library. It is release unless it says quick, which takes a
# third of the time to build. A quick library has a stage and C programs of its own. CI_ARCH: the architecture to build for, if it is not
# this machine's (aarch64); it has a stage and C programs of its own, too, and ci/arm runs them. built, built_timed: where cargo puts what it builds for users.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started_in=$PWD
cd "$root" || exit 1
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
export CARGO_TARGET_DIR=$target
# What the forge builds is built once: notes for the next build would take longer than they save.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0
profile=${CI_PROFILE:-release}
arch=${CI_ARCH:-}
of_profile=
[ "$profile" = release ] || of_profile=-$profile
[ -z "$arch" ] || of_profile+=-$arch
built=$target/${arch:+$arch-unknown-linux-gnu/}${profile/#dev/debug}
built_timed=$target/timed/${arch:+$arch-unknown-linux-gnu/}${profile/#dev/debug}
[ -z "$arch" ] || export "CARGO_TARGET_${arch^^}_UNKNOWN_LINUX_GNU_LINKER=$arch-linux-gnu-gcc"
stage=$target/stage$of_profile
# Of that architecture: the prefix of the binutils' names, and what runs its programs.
binutils=${arch:+$arch-linux-gnu-} emulate=() for_target=()
[ -z "$arch" ] || { emulate=("qemu-$arch") for_target=(--target "$arch-unknown-linux-gnu"); export QEMU_LD_PREFIX=/usr/$arch-linux-gnu; }
cores=$(nproc)

# A Rust that rustup has just installed is not in PATH yet.
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

say() { printf '%s\n' "$*"; }
die() { say "$(basename "$0"): $*" >&2; exit 1; }

# Checks are counted. What has failed is told at once; the sum at the end is what people and ci/test read.
passed=0 failed=0 checks=$(basename "$0")
pass() { passed=$((passed + ${1:-1})); }
fail() { failed=$((failed + 1)); say "FAILED: $checks: $*"; }
expect() { if "${@:2}"; then pass; else fail "$1"; fi; } # WHAT COMMAND...
# The same. File $said gets what the command prints, and is shown if it fails.
verdict() { if "${@:2}" >"$said" 2>&1 </dev/null; then pass; else fail "$1"; show; fi; } # WHAT COMMAND...
none() { if [ -z "$2" ]; then pass; else fail "$1"; head -n 30 <<<"$2" | sed 's/^/    /'; fi; } # WHAT FINDINGS
show() { tail -n "${1:-25}" "$said" | cut -c 1-300 | sed 's/^/    /'; }
sum() { say "$checks: $passed passed, $failed failed"; [ "$failed" -eq 0 ]; }
# A script that gives one of these names to a function of its own would lose its result.
readonly -f pass fail sum

# Compiles a client of the stage's shared library, with these flags beside the usual ones.
client() { # SOURCE OUT [FLAG...]
  gcc -std=gnu99 -I"$stage/include" "${@:3}" "$1" -o "$2" -L"$stage/lib" -lgasnet_sci -lm -ldl -Wl,-rpath,"$stage/lib" || die "$1 does not build"
}

# The Debian packages that provide the tools named by the words, without those that are there already.
missing_packages() {
  local word
  for word in "$@"; do
    case $word in
      libclang) has_libclang || say libclang-dev ;;
      libfabric) [ -e /usr/include/rdma/fabric.h ] || say libfabric-dev ;;
      g++) command -v g++ >/dev/null || say g++ ;;
      mpicc | oshcc) command -v "$word" >/dev/null || say openmpi-bin libopenmpi-dev ;;
      libpmix) { pkg-config --exists pmix; } 2>/dev/null || say pkg-config libpmix-dev ;;
      NPopenmpi) command -v NPopenmpi >/dev/null || say netpipe-openmpi ;;
      pdgemm) [ -e /usr/lib/x86_64-linux-gnu/libscalapack-openmpi.so ] || say libscalapack-openmpi-dev libopenblas0-serial ;;
      srun) command -v srun >/dev/null || say slurm-client ;;
      *-linux-gnu-gcc) command -v "$word" >/dev/null || say "gcc-${word%-gcc} libc6-dev-arm64-cross" ;;
      *-linux-gnu-g++) command -v "$word" >/dev/null || say "g++-${word%-g++}" ;;
      qemu-*) command -v "$word" >/dev/null || say qemu-user ;;
      munged) command -v munged >/dev/null || say munge ;;
      ucx_perftest) command -v "$word" >/dev/null || say ucx-utils ;;
      ip) { command -v ip && command -v unshare; } >/dev/null || say iproute2 util-linux ;;
      sphinx-build) [ -x /usr/bin/sphinx-build ] || say python3-sphinx ;;
      furo) [ -d /usr/lib/python3/dist-packages/furo ] || say furo ;;
      myst) [ -d /usr/lib/python3/dist-packages/myst_parser ] || say python3-myst-parser ;;
      dh) command -v dh >/dev/null || say debhelper ;;
      xz) command -v xz >/dev/null || say xz-utils ;;
      ping) command -v ping >/dev/null || say iputils-ping ;;
      # rustc links by cc; a gcc without headers of C is of no use.
      gcc) { command -v gcc && command -v cc && command -v objcopy && gcc -E -x c - <<<'#include <stdio.h>'; } >/dev/null 2>&1 || say gcc libc6-dev binutils ;;
      *) command -v "$word" >/dev/null || say "$word" ;;
    esac
  done
}

has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm*/lib/libclang[-.]*so*' >/dev/null ||
    compgen -G '/usr/lib*/libclang[-.]*so*' >/dev/null || compgen -G '/usr/lib/*/libclang[-.]*so*' >/dev/null
}

# Makes sure that Rust and the tools named by the words are there.
set_up() {
  need_rust
  need_tools "$@"
}

# Whether Rust can build for $arch: rustup is asked for the standard library if it is not there.
has_rust_of_arch() {
  local triple=$arch-unknown-linux-gnu
  [ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] || rustup target add "$triple" 2>/dev/null
}
no_rust_of_arch="no standard library of Rust for $arch: rustup target add $arch-unknown-linux-gnu failed"

# Rust is the user's to install: distributions often have an older one.
need_rust() {
  local wanted have
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  { command -v cargo && command -v rustc; } >/dev/null || die "cargo is not found: install Rust $wanted or newer by rustup, https://rustup.rs"
  have=$(rustc --version | awk '{ sub(/-.*/, "", $2); print $2 }')
  [ -n "$have" ] || die "$(command -v rustc) does not say its version: a rustup without toolchain needs: rustup default stable"
  [ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" = "$wanted" ] ||
    die "Rust $wanted or newer is needed, $(command -v rustc) is $have: rustup update stable, or install rustup, https://rustup.rs"
}

# Installs the tools as root on Debian, else prints what is missing.
need_tools() {
  local packages install log
  packages=$(missing_packages "$@" | tr ' \n' '  ')
  [ -z "${packages// /}" ] && return
  install="apt-get install -y --no-install-recommends $packages"
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    die "not installed: $packages; on Debian, as root: $install"
  fi
  say "installing: $packages"
  log=$(mktemp)
  { apt-get update -o Acquire::Retries=5 && DEBIAN_FRONTEND=noninteractive $install -o Acquire::Retries=5; } </dev/null >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    die "cannot install $packages"
  }
  rm -f "$log"
}

# Puts file $1 at $2 unless it is there. A new inode: programs that run keep the library they have.
put() {
  cmp -s "$1" "$2" && return
  cp "$1" "$2.$BASHPID" && mv "$2.$BASHPID" "$2" || die "cannot write $2"
}

exports() { "${binutils}nm" -D --defined-only "$built/libgasnet_sci.so" | awk '{ print $3 }' | LC_ALL=C sort; }

# Makes archive $1 from cargo's, in directory $2, with the names on standard input, unless it is newer than what it is made from.
make_archive() { # OUT [DIRECTORY]
  local from=${2:-$built}/libgasnet_sci.a names
  [ "$1" -nt "$from" ] && [ "$1" -nt ci/archive ] && return
  names=$(mktemp) || die "no temporary file"
  cat >"$names"
  BINUTILS=$binutils ci/archive "$from" "$names" "$1" || die "cannot make $1"
  rm "$names"
}

# The exports that programs of gasnet_tools.h without gasnet.h can name, in flavour $1, seq or par: all names in the output of
# the preprocessor and in the macros that it has seen, in debug and other builds. The link checks name the flavour.
tools_exports() {
  local flavour=-DGASNETT_THREAD_SINGLE debug
  [ "$1" = seq ] || flavour=-DGASNETT_THREAD_SAFE
  for debug in "$flavour" "$flavour -DGASNET_DEBUG" -DGASNETT_LITE_MODE; do
    # shellcheck disable=SC2086 # a list of flags
    gcc -E -dD -D_GNU_SOURCE $debug include/gasnet_tools.h
  done | grep -oE 'gasnet[A-Za-z0-9_]+' | LC_ALL=C sort -u | comm -12 - <(exports)
}

# Ends the script after a build that failed. cargo has said why.
not_built() { # WHAT
  cargo tree --quiet --offline --locked >/dev/null 2>&1 ||
    die "$1 failed: crates that it needs are not on this machine, and cargo could not fetch them. Without network, build from gasnet-sci-VERSION-source.tar.xz, which has them (docs/packages.md)"
  die "$1 failed: see cargo's lines above"
}

# Builds by cargo, and shows that it goes on: on a terminal cargo's own lines, otherwise one every 30 s.
cargo_build() { # WHAT CARGO-BUILD-OPTIONS...
  local log ticker status
  if [ -t 2 ]; then cargo build "${@:2}" </dev/null; return; fi
  log=$(mktemp) || die "no temporary file"
  cargo_progress "$1" "$log" $$ &
  ticker=$!
  cargo build --color never "${@:2}" </dev/null >"$log" 2>&1
  status=$?
  kill $ticker 2>/dev/null
  wait $ticker 2>/dev/null
  grep -vE '^ *(Compiling|Finished|Fresh|Blocking|Locking|Updating|Downloading|Downloaded|Adding) ' "$log" >&2
  rm -f "$log"
  return $status
}

# Every 30 s, or $CI_BUILD_LINE, a line about the build that writes to LOG, as long as process PARENT lives.
cargo_progress() { # WHAT LOG PARENT
  local seconds=0
  while sleep 1 >/dev/null 2>&1 && kill -0 "$3" 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % ${CI_BUILD_LINE:-30})) -ne 0 ] ||
      say "  $1: $(grep -c '^ *Compiling ' "$2") crates begun, $((seconds / 60)) min $((seconds % 60)) s" >&2
  done
}

# Builds the library once and puts the files that a user needs into $stage. A script that has done so sets CI_STAGED for the
# scripts that it starts.
make_stage() {
  local soname file
  [ "${CI_STAGED:-}" != "$stage" ] || return 0
  [ -e "$built/libgasnet_sci.so" ] || say "building the $profile library${build_part:-}: about five minutes of processor time, and the network the first time ..."
  cargo_build "the $profile library" --profile "$profile" "${for_target[@]}" || not_built "the $profile build"
  mkdir -p "$stage/lib" "$stage/include" "$stage/bin"
  soname=$(readelf -d "$built/libgasnet_sci.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  [ -n "$soname" ] || die "libgasnet_sci.so has no soname"
  put "$built/libgasnet_sci.so" "$stage/lib/$soname"
  [ "$(readlink "$stage/lib/libgasnet_sci.so")" = "$soname" ] || ln -sf "$soname" "$stage/lib/libgasnet_sci.so"
  [ -n "$arch" ] || make_archive "$stage/lib/libgasnet_sci.a" < <(exports) # ci/arm needs none, and it takes long
  mkdir -p "$stage/lib/gasnet-sci"
  for file in libgasnet_sci_sock.so libsisci.so; do put "$built/$file" "$stage/lib/gasnet-sci/$file"; done
  for file in include/*.h; do put "$file" "$stage/$file"; done
  for file in "$stage"/include/*.h; do [ -e "include/${file##*/}" ] || rm "$file"; done
  for file in gasnetrun_sci gasnet-sci; do put "$built/$file" "$stage/bin/$file"; done
  chmod +x "$stage"/bin/*
}

# Puts libsisci, from file $1, with headers, man pages and what build systems look for below directory $2, which may be moved afterwards.
install_sisci() { # LIBRARY PREFIX
  local prefix version
  mkdir -p "$2"/{include/dis,lib/pkgconfig,lib/cmake/sisci,share/{man/man3,doc/sisci/examples}} || die "cannot make $2"
  prefix=$(realpath -- "$2")
  version=$(sed -nE '/^\[workspace.package\]/,/^$/s/^version = "(.*)"/\1/p' Cargo.toml)
  install -m 755 "$1" "$prefix/lib/libsisci.so" && "${binutils}strip" --strip-debug "$prefix/lib/libsisci.so" || die "cannot copy libsisci"
  # Programs look in lib64, as Dolphin's prefix has it.
  [ -e "$prefix/lib64" ] || ln -s lib "$prefix/lib64"
  install -m 644 sisci/include/*.h "$prefix/include" && install -m 644 sisci/include/*.h "$prefix/include/dis" || die "cannot copy the headers of libsisci"
  sed "s/@VERSION@/$version/" sisci/packaging/sisci.pc.in >"$prefix/lib/pkgconfig/sisci.pc"
  install -m 644 sisci/packaging/sisci-config.cmake "$prefix/lib/cmake/sisci"
  install -m 644 examples/sisci/*.c "$prefix/share/doc/sisci/examples"
  awk -v mode=man -v see=none -v out="$prefix/share/man/man3" -v version="$version" -v date="$(date_of_files)" -f ci/api.awk docs/api/sisci/calls.md ||
    die "cannot make the man pages of libsisci"
}

# The date that written files carry: SOURCE_DATE_EPOCH, or the commit's, or today.
date_of_files() { date -u -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" +%F; }

# Builds the library for timing mode (docs/timing.md) and the command whose nodes are in it, in a target directory of their own, and
# puts them beside the stage's library, under the same names. The directory begins with a copy of what cargo has built for the other library:
# crates of others are the same in both. Without it, and with all commands, this took 271 instead of about 160 seconds of processor time (2 cores of
# an EPYC VM, 2026-11, other work beside).
make_timed_stage() {
  local from=$built_timed to=$stage/lib/gasnet-sci/timed soname dir
  soname=$(readlink "$stage/lib/libgasnet_sci.so")
  [ -e "$from/libgasnet_sci.so" ] || say "building the $profile library for timing mode${build_part:-}: half as long again ..."
  for dir in "${profile/#dev/debug}" ${arch:+"$arch-unknown-linux-gnu/${profile/#dev/debug}"}; do
    [ ! -e "$target/timed/$dir/deps" ] && [ -e "$target/$dir/deps" ] || continue
    mkdir -p "$target/timed/$dir" && rm -rf "$target/timed/$dir"{.new,/build,/.fingerprint} && mkdir "$target/timed/$dir.new" &&
      cp -a --reflink=auto "$target/$dir"/{build,.fingerprint,deps} "$target/timed/$dir.new" &&
      mv "$target/timed/$dir.new"/{build,.fingerprint,deps} "$target/timed/$dir" && rmdir "$target/timed/$dir.new" || die "cannot copy $target/$dir"
  done
  CARGO_TARGET_DIR=$target/timed cargo_build "the $profile library for timing mode" --profile "$profile" --features timed --lib --bin gasnet-sci "${for_target[@]}" ||
    not_built "the $profile build for timing mode"
  mkdir -p "$to"
  cmp -s "$from/libgasnet_sci.so" "$to/$soname" || rm -f "$stage/lib/libgasnet_sci_timed.a" # perhaps of another profile
  put "$from/libgasnet_sci.so" "$to/$soname"
  [ "$(readlink "$to/libgasnet_sci.so")" = "$soname" ] || ln -sf "$soname" "$to/libgasnet_sci.so"
  put "$from/gasnet-sci" "$to/gasnet-sci"
  chmod +x "$to/gasnet-sci"
  make_archive "$stage/lib/libgasnet_sci_timed.a" "$from" < <(exports)
}

# Builds the developers' commands: $xtask is cargo xtask. It is built with the workspace: then its crates have the features that the Rust tests need, and
# are built once.
xtask=$target/debug/xtask
make_xtask() { cargo_build "xtask" --quiet --workspace --bin xtask || not_built "the build of xtask"; }

# Runs C programs: lines PROGRAM|NODES|HOW|ENVIRONMENT|AGAIN on standard input, as cargo xtask programs --help says. Prints what failed, and adds to
# passed and failed. Status 0 if nothing failed.
run_in=()
run_programs() { # [OPTION...]; run_in: a command that runs it
  local log
  log=$("${run_in[@]}" "$xtask" programs --run "$@")
  grep -v '^programs: ' <<<"$log"
  [[ $log =~ 'programs: '([0-9]+)' passed, '([0-9]+)' failed'$ ]] || { fail "the C programs did not come to their end"; return 1; }
  passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  [ "${BASH_REMATCH[2]}" = 0 ]
}

# The rest finds anything that a run leaves behind. An environment variable, which its processes inherit, marks a run.
mark_runs() {
  export GASNET_CI_MARK=${GASNET_CI_MARK:+$GASNET_CI_MARK.}$$.$RANDOM
  TMPDIR=$(mktemp -d) || die "no temporary directory"
  export TMPDIR
  trap 'stop_runs; rm -rf "$TMPDIR"' EXIT
  trap 'exit 130' INT TERM HUP
  names_before=$(our_names)
}

# Process ids of the runs, one per line: of this mark, and of marks that begin with it.
marked() { grep -lzE "^GASNET_CI_MARK=${GASNET_CI_MARK//./\\.}(\.|\$)" /proc/[0-9]*/environ 2>/dev/null | grep -v "/$BASHPID/" | cut -d/ -f3; }

# Processes of the runs that are still alive after $1 tenths of a second. A process that is about to end has that long.
left_processes() {
  local pids
  for _ in $(seq "$1"); do
    pids=$(live_programs)
    [ -z "$pids" ] && return
    sleep 0.1
  done
  for pid in $pids; do say "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"; done
}

live_programs() {
  local pid exe
  for pid in $(marked); do
    exe=$(readlink "/proc/$pid/exe") || continue
    case $exe in "$target"/*) say "$pid" ;; esac
  done
}

stop_runs() {
  local pids
  pids=$(live_programs)
  # shellcheck disable=SC2086 # a list
  [ -z "$pids" ] || kill -9 $pids 2>/dev/null
}

# Names of this library in common places. Other programs of the machine also have names there, which come and go. The directory in
# which launchers note the jobs of a user stays.
our_names() {
  find /dev/shm /dev/mqueue /tmp /var/tmp -maxdepth 1 \( -iname '*gasnet*' -o -iname '*gasnt*' \) 2>/dev/null |
    grep -vxE '/tmp/gasnet-sci-[0-9]+' | sort
}

# New names of this library in common places, and anything in the runs' own TMPDIR.
left_files() {
  comm -13 <(printf '%s\n' "$names_before") <(our_names)
  ls -A "$TMPDIR" | sed "s,^,$TMPDIR/,"
}
