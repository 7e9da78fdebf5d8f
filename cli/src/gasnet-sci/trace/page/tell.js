"use strict";
// Answers in words: why a node was late at a barrier. It compares what the node did since the barrier before with what the others did.
const Tell = (function () {
  const { nodes, team, enter, exit, latest, lastNode, cost, rounds, timed, classes } = Data;
  const MOST_OTHERS = 64; // nodes that one is compared with; of more, evenly chosen ones
  const name = (node) => "node " + nodes[node].rank;

  // Three digits and a unit.
  function time(ns) {
    const size = Math.abs(ns);
    const [unit, text] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const value = ns / unit;
    return (unit === 1 ? value.toFixed(0) : value.toPrecision(3)) + " " + text;
  }
  function size(bytes) {
    const [unit, text] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "kB"] : [1, "bytes"];
    return (unit === 1 ? bytes : (bytes / unit).toPrecision(3)) + " " + text;
  }
  const percent = (part, whole) => (whole > 0 ? Math.round((100 * part) / whole) : 0) + " %";
  const many = (count, what) => count + " " + what + (count === 1 ? "" : "s");

  // What a barrier is called, and a kind of call.
  const barrierName = (round) => "barrier " + (round + 1) + (team[round] === null ? "" : " of team " + team[round]);
  const kindName = (kind) => kind.name + (kind.team === undefined ? "" : " of team " + kind.team);

  // The visit of a node to a round, and the time before it, since the barrier before or since the node began.
  function stretch(round, node) {
    const came = enter[round * nodes.length + node];
    if (came < 0) return null;
    let before = round - 1;
    while (before >= 0 && enter[before * nodes.length + node] < 0) before--;
    const began = Data.first[node] < Data.first[node + 1] ? Data.begin[Data.first[node]] : 0;
    const from = before >= 0 ? exit[before * nodes.length + node] : began;
    return { node, came, went: exit[round * nodes.length + node], from: Math.min(from, came), before };
  }

  function median(values) {
    const sorted = Float64Array.from(values).sort();
    const half = sorted.length >> 1;
    return sorted.length === 0 ? 0 : sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  // What a node did before a barrier, beside the median of the others. Null if it was not there.
  function compare(round, node) {
    const own = stretch(round, node);
    if (!own) return null;
    const all = nodes.map((_, other) => other).filter((other) => other !== node).map((other) => stretch(round, other)).filter((other) => other);
    const step = Math.max(1, Math.ceil(all.length / MOST_OTHERS));
    const others = all.filter((_, at) => at % step === 0);
    const sums = Sums.of(node, own.from, own.came);
    const theirs = others.map((other) => Sums.of(other.node, other.from, other.came));
    const rows = [["computing", "computing between its calls", sums.computing, median(theirs.map((sums) => sums.computing))]];
    for (let of = 0; of < timed; of++) rows.push([classes[of][0], classes[of][1], sums.time[of], median(theirs.map((sums) => sums.time[of]))]);
    const begun = own.from - median(others.map((other) => other.from));
    const second = all.reduce((last, other) => (!last || other.came > last.came ? other : last), null);
    const first = all.reduce((early, other) => (!early || other.came < early.came ? other : early), null);
    return { round, node, own, sums, rows, begun, second, first, isLast: lastNode[round] === node };
  }

  // The reason: where the node spent most beyond what the others did, or that it began late.
  function reason(found) {
    const excess = found.rows.map(([key, text, own, theirs]) => [own - theirs, key, text]);
    if (found.own.before >= 0) excess.push([found.begun, "begun", ""]);
    excess.sort((a, b) => b[0] - a[0]);
    const [most, key, text] = excess[0];
    if (!(most > 0)) return null;
    return { key, most, text };
  }

  function because({ sums, own }, why) {
    const ended = [...sums.ended].sort(([, a], [, b]) => b.unsent + b.way - (a.unsent + a.way))[0];
    const from = ended ? endedBy(...ended) : "";
    switch (why.key) {
      case "begun":
        return "it left " + barrierName(own.before) + " " + time(why.most) + " later than the others.";
      case "computing":
        return "it computed " + time(why.most) + " longer between its calls than the others did.";
      case "messages":
        return "it waited " + time(why.most) + " longer for messages than the others did." + from;
      case "room":
        return "it waited " + time(why.most) + " longer than the others did for room at the receivers of its messages: they do not poll often enough, or it sends them too many.";
      default:
        return "it spent " + time(why.most) + " more than the others in " + why.text + ".";
    }
  }

  // Whose messages ended the waits, and whether they came late or were looked at late.
  function endedBy(rank, { unsent, way }) {
    const said = " Most of these waits, " + time(unsent + way) + ", ended with messages of node " + rank + ": " + time(unsent) + " until they were sent, " + time(way) + " from then until they ran.";
    return said + (unsent >= way ? " So look at what node " + rank + " did before it sent them." : " So they were under way for long, or this node did not get to look: its core may have had other work.");
  }

  // Sentences about a node at a barrier.
  function sentences(found) {
    const { own, sums, second, first, round, node, isLast } = found;
    const said = [];
    const barrier = barrierName(round);
    const Name = name(node).replace("n", "N");
    if (isLast && second) {
      said.push(Name + " came last to " + barrier + ": " + time(own.came - second.came) + " after " + name(second.node) + ", the last but one, and " + time(own.came - first.came) + " after " + name(first.node) + ", the first. The others waited " + time(cost[round]) + " for it, all together.");
    } else if (second) {
      said.push(Name + " was not last at " + barrier + ": " + name(lastNode[round]) + " came " + time(latest[round] - own.came) + " later. " + Name + " was in the barrier for " + time(own.went - own.came) + ".");
    }
    const span = own.came - own.from;
    said.push((own.before >= 0 ? "Since it left " + barrierName(own.before) : "Since its first event") + ", " + time(span) + " had passed; of these it spent " + spent(sums, span) + ".");
    const why = isLast && second ? reason(found) : null;
    if (why) said.push("It was late because " + because(found, why));
    return said;
  }

  function spent(sums, span) {
    const parts = [[sums.computing, "computing between its calls"], ...classes.map(([, text], of) => [sums.time[of], text])];
    const said = parts.filter(([part]) => part > span * 0.005).sort((a, b) => b[0] - a[0]).map(([part, text]) => time(part) + " (" + percent(part, span) + ") in " + text);
    const messages = "it sent " + many(sums.sends, "message") + (sums.sent > 0 ? " with " + size(sums.sent) : "") + " and ran " + many(sums.runs, "handler");
    return (said.join(", ") || "next to nothing") + "; " + messages;
  }

  // How often a node was last, and where that cost most.
  function record(node) {
    let [times, sum] = [0, 0];
    for (let round = 0; round < rounds; round++) if (lastNode[round] === node) (times++, (sum += cost[round]));
    if (rounds === 0) return "No barrier was found in these traces.";
    return "In the whole run " + name(node) + " came last to " + times + " of " + many(rounds, "barrier") + ", which cost the others " + time(sum) + ".";
  }

  // The barriers that cost most.
  function worst(most) {
    return Array.from(cost, (_, round) => round).sort((a, b) => cost[b] - cost[a]).slice(0, most);
  }

  return { barrierName, kindName, compare, sentences, reason, record, worst, time, size, percent, name };
})();
