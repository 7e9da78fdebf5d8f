# The medians and the bounds of ci/bench-deck. Input: samples of the message programs, WAY|WHO|SECTION|OPERATION|NODES|BYTES|UNIT|VALUE,
# then (FILE named "apps") rows of the applications, CASE|WAY|RUNS|SECONDS|LEAST|MOST|SHARE|SPEED-UP|RATIO|COMMUNICATION.
# Output: lines "cell|WHO|WAY|OPERATION|BYTES|UNIT|MEDIAN|LEAST|MOST|RUNS" and "bound|ROW|WHAT|VALUE|< or >|BOUND|VERDICT".
BEGIN { FS = OFS = "|" }

FILENAME ~ /apps$/ {
  if ($2 == "DECK 2 x 1") { ratio[$1] = $9; talk[$1] = $10 }
  if ($2 == "bare") { bare[$1] = $9; bare_talk[$1] = $10 }
  if ($2 ~ /^MPI/) share[$1] = $7
  next
}
{
  key = $2 SUBSEP $1 SUBSEP $4 SUBSEP $6
  if (!(key in count)) { order[++cells] = key; unit[key] = $7 }
  held[key, ++count[key]] = $8 + 0
}

function median_of(key,    n, i, j, v, list) {
  n = count[key]
  for (i = 1; i <= n; i++) {
    v = held[key, i]
    for (j = i - 1; j > 0 && list[j] > v; j--) list[j + 1] = list[j]
    list[j + 1] = v
  }
  low[key] = list[1]; high[key] = list[n]
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
# The best way of a library in a cell; "" if nobody measured it.
function cell(who, operation, bytes) { return (who SUBSEP operation SUBSEP bytes) in best ? best[who, operation, bytes] : "" }
function times(a, b) { return a == "" || b == "" || b == 0 ? "" : a / b }
function bound(row, what, value, sign, limit,    verdict) {
  if (value == "" || value == "-") verdict = "not measured"
  else if (sign == "<") verdict = value <= limit ? "met" : "NOT met"
  else verdict = value >= limit ? "met" : "NOT met"
  print "bound", row, what, value == "" || value == "-" ? "-" : sprintf("%.3f", value), sign, limit, verdict
}
# The worst of deck to a peer over the lengths of one line. direction: 1 the largest, -1 the least quotient.
function worst(lengths, operation, peer, direction,    n, i, list, q, found) {
  n = split(lengths, list, " "); found = ""
  for (i = 1; i <= n; i++) {
    q = times(cell("deck", operation, list[i]), peer == "memcpy" ? cell("limit", "memcpy", list[i]) : cell(peer, operation, list[i]))
    if (q != "" && (found == "" || q * direction > found * direction)) found = q
  }
  return found
}

END {
  for (i = 1; i <= cells; i++) {
    key = order[i]; split(key, part, SUBSEP)
    value = median_of(key)
    print "cell", part[1], part[2], part[3], part[4], unit[key], sprintf("%.6g", value), sprintf("%.6g", low[key]), sprintf("%.6g", high[key]), count[key]
    at = part[1] SUBSEP part[3] SUBSEP part[4]
    if (!(at in best) || (unit[key] == "MB/s" ? value > best[at] : value < best[at])) best[at] = value
  }
  short = "0 8 16 24 32 40 48 52"; trip = "message, one way"; ring = cell("limit", "line ring round trip", 64)
  n = split(short, list, " ")
  most = least = cell("deck", trip, 8); sum = 0
  for (i = 1; i <= n; i++) { v = cell("deck", trip, list[i]); sum += v; if (v > most) most = v; if (v < least) least = v }
  mean = most == "" ? "" : sum / n
  bound("A0", "0 to 52 bytes one way / bare ring's round trip, the worst length", times(most, ring), "<", 0.6)
  split("openmpi,pipe,POSIX message queue,ZeroMQ (ipc),nng (ipc),iceoryx2", peers, ",")
  for (i = 1; i <= 6; i++) bound("A0", "0 to 52 bytes one way / " peers[i] ", the worst length", worst(short, trip, peers[i], 1), "<", 1)
  bound("A0", "flood of 16 bytes, one sender, ns", cell("deck", "one sender", 16), "<", 60)
  bound("A0", "flood of 16 bytes, four senders, ns", cell("deck", "four senders", 16), "<", 60)
  bound("A0", "least share of four senders, of its fair share", cell("deck", "four senders, least share", 16), ">", 0.5)
  give = "give and take, round trip"
  bound("A0", "give 1 MiB / 1 KiB", times(cell("deck", give, 1048576), cell("deck", give, 1024)), "<", 1.1)
  split("65536 262144 1048576 4194304", list, " ")
  for (i = 1; i <= 4; i++) bound("A0", "post and retrieve " list[i] " bytes, bandwidth / memcpy", worst(list[i], "post and retrieve", "memcpy", -1), ">", 0.9)
  bound("A0", "16 threads wait, percent of a core", cell("deck", "16 threads wait, percent of a core", 16), "<", 1)
  wake = "wake-up of one of 16 threads"
  bound("A0", "wake-up of the right one / futex", times(cell("deck", wake, 16), cell("futex", wake, 16)), "<", 1.5)
  eight = cell("deck", trip, 8)
  bound("A1", "ping-pong 8 B / our Short round trip", times(2 * eight, cell("gasnet-sci", "Short round trip", 0)), "<", 1.5)
  bound("A1", "ping-pong 8 B / MPI", times(eight, cell("openmpi", trip, 8)), "<", 0.75)
  bound("A2", "0 to 52 B: farthest from the mean", mean == "" ? "" : (most - mean > mean - least ? most - mean : mean - least) / mean, "<", 0.05)
  bound("A2", "112 B / 8 B", times(cell("deck", trip, 112), eight), "<", 1.25)
  bound("A3", "ping-pong 1 KiB / MPI", worst("1024", trip, "openmpi", 1), "<", 0.9)
  bound("A3", "ping-pong 8 KiB / MPI", worst("8192", trip, "openmpi", 1), "<", 0.9)
  bound("A4", "post and retrieve 1 MiB, bandwidth / memcpy", worst("1048576", "post and retrieve", "memcpy", 1), ">", 0.95)
  bound("A4", "post and retrieve 1 MiB, bandwidth / MPI", worst("1048576", "post and retrieve", "openmpi", 1), ">", 1)
  read = "give and take, all bytes read, round trip"; written = "give and take, all bytes written and read, round trip"
  bound("A4", "give and take 1 MiB, all read, bandwidth / MPI", times(cell("openmpi", read, 1048576), cell("deck", read, 1048576)), ">", 1.07)
  bound("A4", "the same, all written before, bandwidth / MPI", times(cell("openmpi", written, 1048576), cell("deck", written, 1048576)), ">", 1.07)
  bound("A5", "give and take 4 MiB / 64 KiB", times(cell("deck", give, 4194304), cell("deck", give, 65536)), "<", 1.2)
  bound("A6", "four senders of 8 B, rate / MPI_ANY_SOURCE", times(cell("openmpi", "four senders", 8), cell("deck", "four senders", 8)), ">", 1.5)
  bound("A6", "least share of four senders, of its fair share", cell("deck", "four senders, least share", 8), ">", 0.5)
  below = cell("deck", "message below the limit, one way", limit - 8); above = cell("deck", "message at the limit, one way", limit)
  step = times(below, above)
  bound("A7", "step at the limit of " limit " bytes", step != "" && step < 1 ? 1 / step : step, "<", 1.3)
  for (name in ratio)
    if (name !~ /laplace/) bound("A8", name ", time / MPI", ratio[name], "<", name == "ray" ? 1.00 : 1.03)
  split("laplace-heavy laplace-balanced laplace-light", laplace, " "); split("0.80 1.00 1.02", most_of, " ")
  for (i = 1; i <= 3; i++)
    if (laplace[i] in ratio) {
      bound("A9", laplace[i] ", time / MPI", ratio[laplace[i]], "<", most_of[i])
      bound("A9", laplace[i] ", communication / MPI's", talk[laplace[i]], "<", 0.5)
      if (laplace[i] in share && share[laplace[i]] < 27)
        print "note", "A9 " laplace[i] ": MPI communicates for " share[laplace[i]] " % of the time, less than the seed's 27 %: the seed's gain cannot exist here"
      if (laplace[i] in bare)
        print "note", "A9 " laplace[i] ": without any library (bare) " bare[laplace[i]] " of MPI's time, communication " bare_talk[laplace[i]] " of MPI's"
    }
  bound("A10", "clone of a known name, us", cell("deck", "clone of a known name", 0), "<", 20)
  bound("A10", "clone of a new name, us after its creation", cell("deck", "clone of a new name, after its creation", 0), "<", 1000)
  bound("A11", "idle poll, 64 nodes: with 1,000 boxes / without DECK", times(cell("deck", "idle poll, 1000 boxes", 0), cell("gasnet-sci", "idle poll, before deck_init", 0)), "<", 1.1)
}
