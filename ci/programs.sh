# The C programs that pass by themselves, and how a run of one is judged; sourced after lib.sh. Bash.

# Name, arguments of a short run, and "noise" if refused calls are part of the test, so that it prints lines on stderr.
programs='
testhello        |               |
testlayout       |               |
testam           | 20 4096       |
testcore         |               |
testcorelimits   |               |
testcoremem      |               |
testcoreflow     |               |
testtwin         |               |
testcoreblock    |               |
testcorethreads  |               |
testcorepaste    |               |
testcxx_am       |               |
testhandler      |               |
testcxx_handler  |               |
testcorebad      |               | noise
testattach       |               | noise
testattach_max   |               |
testconst        |               |
testenv          |               |
testbad          |               | noise
testhsl          |               |
testtools        |               |
testmisc         | 1000          |
testcxx          |               |
testtoolslib     |               | noise
testheap         |               |
stencil          |               |
streams          |               |
'

# The same for programs of the Extended API.
transfer_programs='
testgasnet       |               |
testgasnetmem    |               |
testgasnetstress |               |
testval          |               |
testalign        |               |
testslice        |               |
testmemset       |               |
testneighbour    |               |
testnb           |               |
testqueue        |               |
testtry          |               |
testmixed        |               |
testflight       |               |
testbusy         | 4 8           |
testbarrier      |               |
testbarrierconf  |               |
testsmall        | 20 4096       |
testlarge        | 4 65536       |
testcost         | 3 65536       |
testoverlap      | 3 1024        |
testthreads      |               |
testthreadend    |               |
testlanding      |               |
testcontend      |               | noise
gups             |               |
scheduler        |               |
transpose        |               |
fft              |               |
testvis          | 40            |
testvisperf      | 1 16          |
testvisbad       |               |
testcoll         | 20            |
testreduce       | 60            |
testteam         | 4             |
testteambarrier  | 60            |
testcount        |               |
testcollperf     | 20 65536      |
testsoak         | 1 24          |
'

# The same for programs of GASNet-EX, which lie in c-tests/ex without the ex-, or in c-tests/apps. Each process ends with "RANK> done.".
ex_programs='
ex-testfwd       |               |
ex-testmk        |               |
ex-testhello     |               |
ex-testgasnet    |               |
ex-testlegacy    |               |
ex-testcore1     | 100           |
ex-testcore2     | 1             |
ex-testcore3     |               |
ex-testcore5     |               |
ex-testthreadend |               |
ex-testvalues    |               | noise
ex-testtoken     |               |
ex-testtmpair    |               |
ex-testsegment   |               |
ex-testimm       | 100 64K       |
ex-testrma       | 5             |
ex-testvis       | 20            |
ex-testthreads   | -i 500        |
ex-testhandover  |               |
ex-testacc       | 1000          |
ex-testnbr       |               |
ex-testqueue     | 1 64 16K      |
ex-testslice     | 100000 3 50   |
ex-testreadonly  |               |
ex-testratomic   | 60            |
ex-testrows      |               |
ex-testfaddperf  | -a 300        |
ex-testsplit     |               |
ex-testteam      | 2000          |
ex-testreduce    | 50            |
ex-testcoll      | 200           |
ex-testcollnb    |               |
ex-testcxx       |               |
ex-testenv       |               |
ex-testhsl       |               |
ex-testprogthr   |               |
ex-testinternal  | 20            | noise
ex-testcore4     |               |
ex-testam        | 100 16K       |
ex-testalltoall  | 50            |
ex-testmisc      | 5000          |
ex-testcontend   | 4 50          |
ex-testsmall     | 1000          |
ex-testlarge     | 20 1M         |
ex-testval       | 3000          |
ex-testalign     | 50            |
ex-testrand      | 1000 4M       |
ex-testlogGP     | 1000 2 8 64K  |
ex-testvisperf   | -maxdata 64K 20 |
ex-testbarrier   | 5000          |
ex-testteambarrier | 1000          |
ex-testbarrierconf | 200           |
ex-testbarrierlate | 500           |
ex-testteambcast | 0 0 100       |
ex-testcollperf  | 4K            |
ex-testcudauva   |               |
ex-testhip       |               |
ex-testze        |               |
ex-testmixed     | 1 60          |
hashtable        |               |
coarray          |               |
'

# The same for programs of mail boxes, which lie in c-tests/deck without the deck-. Most of them make calls that are refused. The last ones lie in
# c-tests/apps/deck; they compare with the answer of one node.
deck_programs='
deck-testpost          | 2000    |
deck-testmsg           |         | noise
deck-testmsg-beside    |         | noise
deck-testbox           |         | noise
deck-testbox-beside    |         | noise
deck-testgive          |         | noise
deck-testgive-beside   |         | noise
deck-testmany          |         |
deck-testmany-beside   |         |
deck-testfair          |         |
deck-testall           | 5       |
deck-testroom          |         |
deck-testroom-beside   |         |
deck-testduties        |         |
deck-testduties-beside |         |
deck-testlimits        |         | noise
deck-testchurn         |         |
deck-testcoll          |         | noise
deck-testcoll-beside   |         | noise
deck-testthreads       |         | noise
deck-testgone          |         |
deck-testending        |         | noise
deck-testmixed         |         | noise
mandelbrot-deck        | --size 200 --iterations 1000 |
laplace-deck           |         |
ray-deck               | --width 120 --height 90 |
'

# Programs of transfer_programs with long non-blocking transfers.
overlap_programs='
testgasnet
testgasnetstress
testalign
testslice
testnb
testqueue
testtry
testmixed
testflight
testlarge
testoverlap
testthreads
testlanding
testvis
fft
'

# Programs with threads of their own; not testcorethreads, whose handlers set plain flags on purpose, as those of clients do.
threaded_programs='
testhsl
testthreads
testthreadend
testlanding
testcontend
ex-testmixed
ex-testcoll
ex-testcollnb
ex-testthreads
ex-testhandover
ex-testthreadend
hashtable
coarray
'

# Programs of GASNet-EX that together make every kind of call; for the other sanitizers.
sanitize_ex_programs='
ex-testmixed
ex-testcore2
ex-testcore5
ex-testvis
ex-testratomic
ex-testcoll
ex-testcollnb
ex-testreduce
ex-testthreads
ex-testthreadend
hashtable
coarray
'

# Programs of mail boxes for the sanitizers; the others have the same calls beside GASNet, or look at memory, which sanitizers take. Under ThreadSanitizer those with threads.
sanitize_deck_programs='
deck-testmsg
deck-testbox
deck-testgive
deck-testmany
deck-testlimits
deck-testcoll
deck-testthreads
deck-testmixed
'
threaded_deck_programs='
deck-testthreads
deck-testmixed
'

# A sample for a run that takes fifty times as long: all categories of messages, memory and transfers.
sample_programs='
testhello
testcore
testam
testgasnet
ex-testmixed
deck-testgive
'

# Some for ci/test quick: a few from each area.
quick_programs='
deck-testbox
deck-testmany
testhello
testam
testcore
testcoreflow
testattach
testhsl
testtools
testgasnet
testnb
testbarrier
testthreads
testvis
testcoll
'

trim() { local text=$1; text=${text#"${text%%[! ]*}"}; printf '%s' "${text%"${text##*[! ]}"}"; }

# Arguments, and "noise" or nothing, of the program named.
arguments_of() { trim "$(grep -E "^$1 " <<<"$programs$transfer_programs$ex_programs$deck_programs" | cut -d'|' -f2)"; }
noise_of() { trim "$(grep -E "^$1 " <<<"$programs$transfer_programs$ex_programs$deck_programs" | cut -d'|' -f3)"; }

# Runs PROGRAM (a path) with NODES, started by HOW (launcher, perhaps with options of its own, or fork), with further environment
# assignments. Succeeds if
# the status is 0, every node said PASS (done.) once, and stderr is empty, except in a "noise" run. Else leaves $program, $command, the reason in
# $why, and the output in $TMPDIR/stdout and $TMPDIR/stderr.
run_program() { # PROGRAM NODES HOW [NAME=VALUE ...]
  local nodes=$2 how=$3 name lines expected status arguments
  program=$1
  name=$(basename "$program")
  arguments=$(arguments_of "$name")
  case $how in
    launcher*) command="env ${*:4} $stage/bin/gasnetrun_sci -n $nodes${how#launcher} $program $arguments" ;;
    *) command="env GASNET_SCI_NODES=$nodes ${*:4} $program $arguments" ;;
  esac
  # shellcheck disable=SC2086 # words of a command
  timeout -k 5 "${run_limit:-120}" $command </dev/null >"$TMPDIR/stdout" 2>"$TMPDIR/stderr"
  status=$?
  why=
  case $status in
    0) ;;
    124 | 137) why="no end within ${run_limit:-120} s" ;;
    *) why="status $status" ;;
  esac
  case $name in
    ex-* | hashtable | coarray)
      lines='s,^([0-9]+)> done\.$,\1,p'
      ! grep -q ERROR "$TMPDIR/stdout" || why="${why:+$why; }a line with ERROR"
      ;;
    *) lines="s,^${name%-deck}: node ([0-9]+)/$nodes: PASS.*,\1,p" ;;
  esac
  lines=$(sed -nE "$lines" "$TMPDIR/stdout" | sort -n | tr '\n' ' ')
  expected=$(seq 0 $((nodes - 1)) | tr '\n' ' ')
  [ "$lines" = "$expected" ] || why="${why:+$why; }the end seen of nodes: ${lines:-none}"
  [ "$(noise_of "$name")" = noise ] || [ ! -s "$TMPDIR/stderr" ] || why="${why:+$why; }lines on stderr"
  [ -z "$why" ] || return 1
  rm -f "$TMPDIR/stdout" "$TMPDIR/stderr"
}

# The failed run that was just made: command line, reason, output.
tell_failure() {
  say "FAILED: $command: $why"
  tail -n 15 "$TMPDIR/stdout" | cut -c 1-200 | sed 's/^/    out: /'
  # Noisy programs print lines about refused calls, as they should. Lines about failed checks are shown.
  { [ "$(noise_of "$(basename "$program")")" = noise ] && grep -v 'returning GASNET_ERR' "$TMPDIR/stderr" || cat "$TMPDIR/stderr"; } |
    head -n 15 | cut -c 1-300 | sed 's/^/    err: /'
  rm -f "$TMPDIR/stdout" "$TMPDIR/stderr"
}
