# The applications of c-tests/apps/deck in turns over mail boxes and over MPI, for ci/bench-deck, which sources this; it is never run.
# Bash. DECK with 2 processes of 1 thread and with 1 process of 2 threads, Open MPI with 2 processes in the quickest of its ways. Beside laplace
# a program without a library, laplace-bare, whose processes look at each other's memory: no library can take less.
#
# The caller has cases, programs, launch, vader, ucx, mpi, rounds, quick, failed, skipped.

arguments() { # CASE
  case $1${quick:+ quick} in
    'mandelbrot quick') say --size 768 --iterations 4000 ;;
    'ray quick') say --width 400 --height 300 ;;
    'laplace-light quick') say --mode light --iterations 60 ;;
    'laplace-balanced quick') say --mode balanced --iterations 300 ;;
    'laplace-heavy quick') say --mode heavy --iterations 2000 ;;
    laplace-*) say --full --mode "${1#laplace-}" ;;
    *) say --full ;;
  esac
}

# Runs one way of a case. A row goes to the samples: CASE|WAY|SECONDS|SHARE|CHECKSUM. may-fail: the caller says it.
app_samples=$TMPDIR/app-samples
: >"$app_samples"
: >"$TMPDIR/tried"
run_app() { # CASE WAY [FILE OF SAMPLES [may-fail]]
  local app=${1%%-*} words command nodes=1 line status
  read -r -a words <<<"$(arguments "$1")"
  words+=(--no-verify)
  case $2 in
    serial) command=("$stage/bin/gasnetrun_sci" -n 1 "$programs/$app-deck" --serial --threads 2) ;;
    'DECK 2 x 1') command=("$stage/bin/gasnetrun_sci" -n 2 "$programs/$app-deck") nodes=2 ;;
    'DECK 1 x 2') command=("$stage/bin/gasnetrun_sci" -n 1 "$programs/$app-deck" --threads 2) ;;
    bare) command=("$programs/$app-bare") nodes=2 ;;
    'MPI cma') command=("${launch[@]}" "${vader[@]}" cma "$programs/$app-mpi") nodes=2 ;;
    'MPI copies') command=("${launch[@]}" "${vader[@]}" none "$programs/$app-mpi") nodes=2 ;;
    'MPI ucx') command=("${launch[@]}" "${ucx[@]}" "$programs/$app-mpi") nodes=2 ;;
  esac
  alone 600 "${command[@]}" "${words[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err"
  status=$?
  line=$(sed -n "s/^$1: \([0-9.]*\) s, communication \([0-9.]*\) %, checksum \([0-9a-f]*\)\$/\1 \2 \3/p" "$TMPDIR/out")
  if [ $status -ne 0 ] || [ "$(grep -c ': PASS (' "$TMPDIR/out")" -ne $nodes ] || [ -z "$line" ]; then
    [ "${4:-}" = may-fail ] && return 1
    failed=$((failed + 1))
    say "FAILED: $1, $2, status $status: ${command[*]} ${words[*]}"
    tail -n 5 "$TMPDIR/out" "$TMPDIR/err"
    return 1
  fi
  say "$1|$2|${line// /|}" >>"${3:-$app_samples}"
}

# The quickest way of Open MPI for a case; a way that this machine lacks is named.
declare -A best
choose() { # CASE
  local way tried=$TMPDIR/tried
  for way in 'MPI cma' 'MPI copies' 'MPI ucx'; do
    run_app "$1" "$way" "$tried" may-fail || skipped+=("$1, $way: $(grep -m 1 . "$TMPDIR/err" | cut -c1-100)")
  done
  best[$1]=$(grep -F "$1|" "$tried" | sort -t '|' -k 3,3n | head -n 1 | cut -d '|' -f 2)
  [ -n "${best[$1]}" ] || { failed=$((failed + 1)); say "FAILED: $1: no way of Open MPI runs"; }
}

# Each way of MPI once, then the rounds.
run_apps() {
  local name round ways i
  for name in "${cases[@]}"; do
    run_app "$name" serial
    [ -z "$mpi" ] || choose "$name"
  done
  for ((round = 0; round < rounds; round++)); do
    for name in "${cases[@]}"; do
      ways=('DECK 2 x 1' 'DECK 1 x 2')
      [ -z "${best[$name]:-}" ] || ways+=("${best[$name]}")
      [[ $name != laplace-* ]] || ways+=(bare)
      # Another one begins in each round.
      for ((i = 0; i < ${#ways[@]}; i++)); do run_app "$name" "${ways[(i + round) % ${#ways[@]}]}"; done
    done
  done
}

# Rows of the medians: CASE|WAY|RUNS|SECONDS|LEAST|MOST|SHARE|SPEED-UP|RATIO|COMMUNICATION. RATIO and COMMUNICATION are to MPI, or -.
# COMMUNICATION compares seconds, not shares.
app_rows() {
  awk -F '|' '
    function median(text,    n, v, i, j, x) {
      n = split(text, v, " ")
      for (i = 1; i <= n; i++) { x = v[i] + 0; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
      least = v[1]; most = v[n]; runs = n
      return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    { key = $1 "|" $2
      if (!(key in times)) order[++rows] = key
      times[key] = times[key] " " $3; shares[key] = shares[key] " " $4; waits[key] = waits[key] " " $3 * $4 / 100
      if ($2 == "serial") serial[$1] = $3
      if ($2 ~ /^MPI/) mpi[$1] = key }
    END {
      for (r = 1; r <= rows; r++) {
        key = order[r]; split(key, part, "|"); name = part[1]
        ratio = communication = speed = "-"
        if (name in mpi) {
          base = median(times[mpi[name]]); wait = median(waits[mpi[name]])
          ratio = sprintf("%.3f", median(times[key]) / base)
          if (wait > 0) communication = sprintf("%.2f", median(waits[key]) / wait)
        }
        share = median(shares[key])
        seconds = median(times[key])
        if (name in serial) speed = sprintf("%.2f", serial[name] / seconds)
        if (part[2] == "serial") ratio = communication = "-"
        printf "%s|%d|%.4f|%.4f|%.4f|%.1f|%s|%s|%s\n", key, runs, seconds, least, most, share, speed, ratio, communication
      }
    }' "$app_samples" >"$TMPDIR/apps"
}

app_table() {
  printf '%-17s %-11s %4s %9s %9s %9s %7s %9s %8s %9s\n' case way runs 'median s' least most 'comm %' 'speed-up' 'to MPI' 'comm/MPI'
  for name in "${cases[@]}"; do
    grep -F "$name|" "$TMPDIR/apps" | while IFS='|' read -r -a row; do
      printf '%-17s %-11s %4s %9s %9s %9s %7s %9s %8s %9s\n' "${row[@]}"
    done
  done
}

# All runs of a case gave one checksum.
same_sums() {
  local name sums
  for name in "${cases[@]}"; do
    sums=$(awk -F '|' -v name="$name" '$1 == name { print $5 }' "$app_samples" "$TMPDIR/tried" | sort -u | tr '\n' ' ')
    if [ "$(wc -w <<<"$sums")" -ne 1 ]; then
      failed=$((failed + 1))
      say "FAILED: $name: checksums $sums"
      awk -F '|' -v name="$name" '$1 == name { print "    " $2 ": " $5 }' "$app_samples" | sort -u
    fi
  done
}
