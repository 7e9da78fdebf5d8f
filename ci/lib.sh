# Shared by the scripts in ci/, which source it; it is never run. Bash.
#
# started_in: the caller's directory. root, target, stage: the repository, cargo's target directory, and the files that a user
# links against (lib, include, bin). CI_PROFILE: the profile of the library. It is release unless it says quick, which takes a
# third of the time to build. A quick library has a stage and C programs of its own.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started_in=$PWD
cd "$root" || exit 1
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
export CARGO_TARGET_DIR=$target
profile=${CI_PROFILE:-release}
stage=$target/stage
[ "$profile" = release ] || stage+=-$profile
cores=$(nproc)

# A Rust that rustup has just installed is not in PATH yet.
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

say() { printf '%s\n' "$*"; }
die() { say "$(basename "$0"): $*" >&2; exit 1; }

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
      srun) command -v srun >/dev/null || say slurm-client ;;
      munged) command -v munged >/dev/null || say munge ;;
      ucx_perftest) command -v "$word" >/dev/null || say ucx-utils ;;
      ip) { command -v ip && command -v unshare; } >/dev/null || say iproute2 util-linux ;;
      ping) command -v ping >/dev/null || say iputils-ping ;;
      gcc) { command -v gcc && command -v objcopy; } >/dev/null || say gcc libc6-dev binutils ;;
      *) command -v "$word" >/dev/null || say "$word" ;;
    esac
  done
}

has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm*/lib/libclang[-.]*so*' >/dev/null ||
    compgen -G '/usr/lib*/libclang[-.]*so*' >/dev/null || compgen -G '/usr/lib/*/libclang[-.]*so*' >/dev/null
}

# Makes sure that cargo and the tools named by the words are there: installs them as root on Debian, else prints what is missing.
set_up() {
  local packages install log
  command -v cargo >/dev/null || die "cargo is not found: install Rust, https://rustup.rs"
  packages=$(missing_packages "$@" | tr ' \n' '  ')
  [ -z "${packages// /}" ] && return
  install="apt-get install -y --no-install-recommends $packages"
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    die "not installed: $packages; on Debian, as root: $install"
  fi
  say "installing: $packages"
  log=$(mktemp)
  { apt-get update && DEBIAN_FRONTEND=noninteractive $install; } </dev/null >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    die "cannot install $packages"
  }
  rm -f "$log"
}

# Puts file $1 at $2 unless it is there. A new inode: programs that run keep the library they have.
put() {
  cmp -s "$1" "$2" && return
  cp "$1" "$2.new" && mv "$2.new" "$2" || die "cannot write $2"
}

exports() { nm -D --defined-only "$target/$profile/libgasnet_sci.so" | awk '{ print $3 }' | LC_ALL=C sort; }

# Makes archive $1 from cargo's, in directory $2, with the names on standard input, unless it is newer than what it is made from.
make_archive() { # OUT [DIRECTORY]
  local from=${2:-$target/$profile}/libgasnet_sci.a names
  [ "$1" -nt "$from" ] && [ "$1" -nt ci/archive ] && return
  names=$(mktemp) || die "no temporary file"
  cat >"$names"
  ci/archive "$from" "$names" "$1" || die "cannot make $1"
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

# Builds the library once and puts the files that a user needs into $stage. A script that has done so sets CI_STAGED for the
# scripts that it starts.
make_stage() {
  local soname file
  [ "${CI_STAGED:-}" != "$stage" ] || return 0
  [ -e "$target/$profile/libgasnet_sci.so" ] || say "building the $profile library (two or three minutes) ..."
  cargo build --profile "$profile" --quiet </dev/null || die "the $profile build failed"
  mkdir -p "$stage/lib" "$stage/include" "$stage/bin"
  soname=$(readelf -d "$target/$profile/libgasnet_sci.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  [ -n "$soname" ] || die "libgasnet_sci.so has no soname"
  put "$target/$profile/libgasnet_sci.so" "$stage/lib/$soname"
  [ "$(readlink "$stage/lib/libgasnet_sci.so")" = "$soname" ] || ln -sf "$soname" "$stage/lib/libgasnet_sci.so"
  make_archive "$stage/lib/libgasnet_sci.a" < <(exports)
  for file in include/*.h; do put "$file" "$stage/$file"; done
  for file in "$stage"/include/*.h; do [ -e "include/${file##*/}" ] || rm "$file"; done
  for file in gasnetrun_sci gasnet-sci; do put "$target/$profile/$file" "$stage/bin/$file"; done
  chmod +x "$stage"/bin/*
}

# Builds the library for timing mode (docs/timing.md) and the command whose nodes are in it, in a target directory of their own, and
# puts them beside the stage's library, under the same names.
make_timed_stage() {
  local from=$target/timed/$profile to=$stage/lib/gasnet-sci/timed soname
  soname=$(readlink "$stage/lib/libgasnet_sci.so")
  [ -e "$from/libgasnet_sci.so" ] || say "building the $profile library for timing mode (two or three minutes) ..."
  CARGO_TARGET_DIR=$target/timed cargo build --profile "$profile" --features timed --quiet </dev/null ||
    die "the $profile build for timing mode failed"
  mkdir -p "$to"
  put "$from/libgasnet_sci.so" "$to/$soname"
  [ "$(readlink "$to/libgasnet_sci.so")" = "$soname" ] || ln -sf "$soname" "$to/libgasnet_sci.so"
  put "$from/gasnet-sci" "$to/gasnet-sci"
  chmod +x "$to/gasnet-sci"
  make_archive "$stage/lib/libgasnet_sci_timed.a" "$from" < <(exports)
}

# The rest finds anything that a run leaves behind. An environment variable, which its processes inherit, marks a run.
mark_runs() {
  export GASNET_CI_MARK=$$.$RANDOM
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
