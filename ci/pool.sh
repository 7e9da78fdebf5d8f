# Checks, sections of checks, and their results; sourced by ci/test after lib.sh. Bash.
#
# A section is a function test_NAME. It runs in a process of its own, with a directory TMPDIR and a mark of its own, so that
# sections may run beside each other; its counts come back in a file. Runs of a section may go beside each other, too: `pool`.
#
# scratch: a directory for the notes of this run of ci/test. $target/ci-times.txt gets a line per run: section, seconds, seconds of
# processor time, and the run.

# Seconds that a check or a script may take. The lane that gets what the other one leaves of the processors has more.
limit=${CI_LIMIT:-1800}

passed=0 failed=0
pass() { passed=$((passed + ${1:-1})); }
fail() { failed=$((failed + ${1:-1})); }

mark_runs
scratch=$TMPDIR
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM HUP
times=${CI_TIMES:-$target/ci-times.txt}
mkdir -p "$target" && : >"$times"

# --- one check -------------------------------------------------------------------------------------------------------------
# NAME, COMMAND: one check. If it fails, the command to repeat it is shown, and then its output.
check() {
  local name=$1
  shift
  if timeout -k 5 "$limit" "$@" </dev/null >"$TMPDIR/log" 2>&1; then pass; else
    fail
    say "FAILED: $name; again: $*"
    tail -n 60 "$TMPDIR/log" | sed 's/^/    /'
  fi
  rm -f "$TMPDIR/log"
}

# Runs a script that shows its failures itself and ends with "NAME: N passed, M failed".
count_script() {
  local counts
  timeout -k 5 "$limit" "$@" </dev/null >"$TMPDIR/log" 2>&1
  grep -avE '^[a-z-]+: [0-9]+ passed, [0-9]+ failed$' "$TMPDIR/log"
  counts=$(sed -nE 's/^[a-z-]+: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$TMPDIR/log")
  rm -f "$TMPDIR/log"
  if [ -z "$counts" ]; then
    fail
    say "FAILED: it did not finish; again: $*"
    return
  fi
  pass "${counts% *}"
  fail "${counts#* }"
  [ "${counts#* }" = 0 ] || say "again: $*"
}

# After each group of runs nothing of them may be left. Removes anything that is, so that the next group is judged by itself.
nothing_left() {
  local left
  left=$(left_processes 30)$(left_files)
  if [ -z "$left" ]; then pass; else
    fail
    say "FAILED: left behind by $1:"
    sed 's/^/    /' <<<"$left"
    stop_runs
    rm -rf "${TMPDIR:?}"/*
  fi
}

# --- runs beside each other ------------------------------------------------------------------------------------------------
# Runs WORK LINE for each line of standard input. A line begins with its weight, which WORK does not get. Runs go at the same time
# as long as the sum of their weights is at most SLOTS; a heavier one runs alone. A run passes if WORK ends with status 0 and
# leaves its TMPDIR empty. The output of those that fail is shown at the end, in the order of the lines.
pool() { # SLOTS WORK
  local slots=$1 work=$2 used=0 n=0 i weight line ended directory
  local -A weights=()
  directory=$(mktemp -d "$scratch/pool.XXXXXX") || die "no temporary directory"
  while read -r weight line; do
    while ((used > 0 && used + weight > slots)); do
      wait -n -p ended
      used=$((used - ${weights[$ended]}))
    done
    pool_run "$directory/$n" "$work" "$line" </dev/null &
    weights[$!]=$weight
    used=$((used + weight)) n=$((n + 1))
  done
  wait
  for ((i = 0; i < n; i++)); do
    if [ "$(cat "$directory/$i/status")" = 0 ]; then pass; else
      fail
      cat "$directory/$i/log"
    fi
    sed "s/^/$section /" "$directory/$i/time" >>"$times"
  done
  rm -rf "$directory"
}

pool_run() { # DIRECTORY WORK LINE
  local TIMEFORMAT='%R %U %S' status
  mkdir -p "$1/tmp"
  export TMPDIR=$1/tmp
  { time "$2" "$3" >"$1/log" 2>&1; } 2>"$1/clock"
  status=$?
  if [ -n "$(ls -A "$TMPDIR")" ]; then
    say "FAILED: $3: left in TMPDIR: $(ls -A "$TMPDIR")" >>"$1/log"
    status=1
  fi
  awk -v what="$3" 'NF == 3 { printf "%.2f %.2f %s\n", $1, $2 + $3, what }' "$1/clock" >"$1/time"
  say $status >"$1/status"
}

# --- sections --------------------------------------------------------------------------------------------------------------
section_body() { # NAME [ARGUMENT...]
  section=$1 passed=0 failed=0
  export TMPDIR=$scratch/tmp.$1 GASNET_CI_MARK=$GASNET_CI_MARK.$1
  mkdir -p "$TMPDIR"
  [ ! -e "$scratch/done.stage" ] || export CI_STAGED=$stage
  "test_$1" "${@:2}"
  say "$passed $failed" >"$scratch/counts.$1"
}

# A function of its own, because `time` before parentheses counts inside them, and prints there.
section_process() { (section_body "$@") >&3 2>&3 3>&-; }

# Runs section NAME, and prints its result.
run_section() { # NAME [ARGUMENT...]
  local TIMEFORMAT='%R %U %S' counts
  { time section_process "$@"; } 2>"$scratch/clock.$1" 3>&1
  counts=$(cat "$scratch/counts.$1" 2>/dev/null) || {
    counts="0 1"
    say "FAILED: section $1 did not finish; again: ci/test $1"
  }
  say "$counts" >"$scratch/counts.$1"
  awk -v name="$1" -v counts="$counts" 'NF == 3 {
    split(counts, n, " "); printf "-- %s: %d passed, %d failed; %.0f s, processors %.0f s\n", name, n[1], n[2], $1, $2 + $3 }' \
    "$scratch/clock.$1"
}

# Runs sections one after the other, at the same time as other lanes. The lines of a section stay together. "+NAME" waits for the
# end of section NAME, which another lane runs.
lane() { # WHAT...
  local what
  for what in "$@"; do
    if [[ $what = +* ]]; then
      [ "${CI_LANES:-2}" = 1 ] || until [ -e "$scratch/done.${what#+}" ]; do sleep 0.2; done
      continue
    fi
    run_section "$what" >"$scratch/log.$what"
    { flock 9; cat "$scratch/log.$what"; } 9>"$scratch/lock"
    touch "$scratch/done.$what"
  done
}

# The sum of all sections, and the end.
finish() {
  local counts good bad
  for counts in "$scratch"/counts.*; do
    [ -e "$counts" ] || continue
    read -r good bad <"$counts"
    pass "$good"
    fail "$bad"
  done
  say "$((SECONDS / 60)) min $((SECONDS % 60)) s; seconds of each run: $times"
  say "$passed passed, $failed failed"
  [ $failed -eq 0 ]
  exit
}
