"use strict";
// What mappings cost, from the tables that the page holds. It reads the answer, and touches nothing else of the page.
//
// A mapping is { ranks: [position of each], segments: [position of each] }. Where shared segments are placed, ranks are processes.
// Traffic is a list of accesses { from, to, kind, count, bytes }. Of ranks `to` is a rank and `bytes` are those of all operations
// together; of segments `to` is a segment, `kind` is write or read, and `bytes` are those of one access. Times are in ns.
// Mappings and accesses are never changed, but replaced.
const Model = (function () {
  const data = JSON.parse(document.getElementById("placement").textContent);
  const { machine, segments } = data;
  const PACKET = 64;
  const SMALL = 16; // bytes of a small one
  const classes = Object.fromEntries(machine.classes.map((name, number) => [name, number]));
  const rules = Object.fromEntries(data.kinds.map((kind) => [kind.name, kind.rules]));
  const kinds = segments ? ["write", "read"] : data.kinds.map((kind) => kind.name);
  const ranks = segments ? segments.processes : data.mappings[0].at.map((_, rank) => String(rank));
  const names = segments ? segments.names : [];
  const positions = machine.positions;

  const known = Object.fromEntries(
    data.mappings.map(({ name, at }, number) => [name, { ranks: at, segments: segments ? segments.mappings[number].at : [] }]),
  );

  function recorded() {
    if (segments) {
      return segments.accesses.map(({ process, segment, read, count, bytes }) => {
        return { from: process, to: segment, kind: read ? "read" : "write", count, bytes };
      });
    }
    const row = ({ from, to, amounts }) => amounts.map(({ kind, count, bytes }) => ({ from, to, kind, count, bytes }));
    return data.matrix.rows.flatMap(row);
  }

  // --- one access ----------------------------------------------------------------------------------

  // The number of the class that says how an access goes out.
  function classOf({ kind, count, bytes }) {
    if (segments && kind === "read") return classes[bytes <= PACKET ? "word" : "read"];
    if (segments) return classes[bytes <= SMALL ? "piece" : bytes < PACKET ? "pieces" : "write"];
    const length = bytes / Math.max(count, 1);
    return classes[rules[kind].find(({ below }) => below === null || length < below).class];
  }

  const isRead = (access) => (segments ? access.kind === "read" : machine.reads[classOf(access)]);
  const places = (access, mapping) => [mapping.ranks[access.from], (segments ? mapping.segments : mapping.ranks)[access.to]];

  // Ns of one access of `bytes` bytes to a segment on a level.
  function accessTime(read, bytes, level) {
    const listed = segments.access.find((entry) => entry.read === read && entry.bytes === bytes);
    if (listed) return listed.ns[level];
    const [alpha, beta] = machine.costs[classes[read ? "read" : "write"]][level];
    if (!segments.whole_packets) return alpha + bytes * beta;
    const packets = Math.ceil(bytes / PACKET);
    return alpha + (read ? packets : Math.max(0, packets - 1)) * PACKET * beta;
  }

  function costOf(access, mapping) {
    const [p, q] = places(access, mapping);
    const level = machine.level[p][q];
    if (segments) return access.count * accessTime(access.kind === "read", access.bytes, level);
    const [alpha, beta] = machine.costs[classOf(access)][level];
    return access.count * alpha + access.bytes * beta;
  }

  // Adds an access to the loads of links, `times` times.
  function load(access, mapping, links, times) {
    if (!machine.routes) return;
    const [p, q] = places(access, mapping);
    const bytes = segments ? access.count * access.bytes : access.bytes;
    const each = ([x, y]) => times * (access.count * x + bytes * y);
    const { way, back } = machine.loads[classOf(access)];
    const route = machine.routes[p][q];
    for (const link of route.way) links[link] += each(way);
    for (const link of route.back) links[link] += each(back);
  }

  // --- sums ----------------------------------------------------------------------------------------

  // The time that a link takes for its bytes; without a limit none.
  const linkTime = (link, bytes) => (machine.links[link].rate === null ? 0 : bytes / machine.links[link].rate);

  function busiest(links) {
    let most = null;
    links.forEach((bytes, link) => {
      const ns = linkTime(link, bytes);
      if (bytes > 0 && (!most || ns > most.ns)) most = { link, bytes, ns };
    });
    return most;
  }

  // Writes and reads of each rank, bytes of each link, and their sums. `links` is null where routes are not known.
  function bill(mapping, traffic) {
    const nodes = ranks.map(() => [0, 0]);
    const links = machine.routes ? machine.links.map(() => 0) : null;
    for (const access of traffic) {
      nodes[access.from][isRead(access) ? 1 : 0] += costOf(access, mapping);
      load(access, mapping, links, 1);
    }
    const sum = (part) => nodes.reduce((all, node) => all + node[part], 0);
    const [writes, reads] = [sum(0), sum(1)];
    return { nodes, links, writes, reads, cost: writes + reads, busiest: links && busiest(links) };
  }

  // --- moves ---------------------------------------------------------------------------------------

  // The mapping after `item` { kind: "rank" or "segment", number } went to a position. A rank there takes the place that it came
  // from. So does a segment if there is no room for one more.
  function moved(mapping, item, position) {
    const list = [...(item.kind === "rank" ? mapping.ranks : mapping.segments)];
    const there = list.map((at, number) => number).filter((number) => list[number] === position && number !== item.number);
    const room = item.kind === "rank" ? 1 : (segments.room ?? Infinity);
    if (there.length >= room) list[there[0]] = list[item.number];
    list[item.number] = position;
    return item.kind === "rank" ? { ...mapping, ranks: list } : { ...mapping, segments: list };
  }

  const items = () => [
    ...ranks.map((_, number) => ({ kind: "rank", number })),
    ...names.map((_, number) => ({ kind: "segment", number })),
  ];

  // The single move or swap under which the objective becomes least; null: none makes it less.
  function bestMove(mapping, traffic) {
    const concerned = { rank: ranks.map(() => []), segment: names.map(() => []) };
    for (const access of traffic) {
      concerned.rank[access.from].push(access);
      concerned[segments ? "segment" : "rank"][access.to].push(access);
    }
    const { cost, link } = data.objective;
    const now = bill(mapping, traffic);
    const ofLinks = (links) => (link > 0 && links ? link * (busiest(links)?.ns ?? 0) : 0);
    const before = cost * now.cost + ofLinks(now.links);
    let best = { value: before * (1 - 1e-12), mapping: null, item: null };
    for (const item of items()) {
      const list = item.kind === "rank" ? "ranks" : "segments";
      for (let position = 0; position < positions; position++) {
        const next = moved(mapping, item, position);
        const changed = next[list].map((_, number) => number).filter((number) => next[list][number] !== mapping[list][number]);
        const touched = new Set(changed.flatMap((number) => concerned[item.kind][number]));
        // A swap comes up twice, once for each of the two.
        if (changed[0] < item.number || touched.size === 0) continue;
        let value = cost * now.cost;
        const links = link > 0 && now.links ? [...now.links] : null;
        for (const access of touched) {
          value += cost * (costOf(access, next) - costOf(access, mapping));
          if (!links) continue;
          load(access, mapping, links, -1);
          load(access, next, links, 1);
        }
        value += ofLinks(links);
        if (value < best.value) best = { value, mapping: next, item };
      }
    }
    return best.mapping && best;
  }

  // --- files ---------------------------------------------------------------------------------------

  // The map file, as gasnetrun_sci --map and place --from read it.
  function mapText(mapping) {
    const lines = mapping.ranks.map((position, rank) => rank + " " + machine.places[position] + "\n");
    // Segments are comments, for whoever makes them in the program. A line end in a name would end one.
    const oneLine = (name) => name.replace(/[\s\p{Cc}]/gu, " ");
    const remarks = mapping.segments.map((at, segment) => "# segment " + oneLine(names[segment]) + " at " + machine.places[at] + "\n");
    const heading = "# gasnet-sci place: " + ranks.length + " ranks on " + machine.topology + ", arranged by hand\n";
    return [heading, ...lines, ...remarks].join("");
  }

  // The traffic in the format in which it came. A matrix says where ranks ran, so it has the present mapping; the map has the one
  // that is drawn. Segments have no other file, so theirs has the positions that are drawn.
  function trafficText(mapping, traffic) {
    return JSON.stringify(segments ? segmentsFile(mapping, traffic) : matrixFile(traffic)) + "\n";
  }

  function matrixFile(traffic) {
    const rows = new Map();
    for (const { from, to, kind, count, bytes } of traffic) {
      const row = rows.get(from + " " + to) ?? { from, to };
      const [more, larger] = row[kind] ?? [0, 0];
      rows.set(from + " " + to, { ...row, [kind]: [count + more, bytes + larger] });
    }
    const { program, nodes, seconds } = data.matrix;
    const place = (position, rank) => {
      const cpus = /^cpu:(.*)$/.exec(machine.places[position]);
      return cpus ? { rank, cpus: cpus[1] } : { rank, position };
    };
    const places = known.present.ranks.map(place);
    const head = { format: "gasnet-sci matrix", version: 1, nodes, program, seconds, topology: machine.topology };
    return { ...head, places, rows: [...rows.values()] };
  }

  function segmentsFile(mapping, traffic) {
    const named = (list, at) => list.map((name, number) => ({ name, at: at[number] }));
    const entry = ({ from, to, count, bytes }) => ({ process: from, segment: to, count, bytes });
    const accesses = (wanted) => traffic.filter(({ kind }) => kind === wanted).map(entry);
    return {
      format: "gasnet-sci segments",
      version: 1,
      processes: named(ranks, mapping.ranks),
      segments: named(names, mapping.segments),
      room: segments.room ?? undefined,
      reads: accesses("read"),
      writes: accesses("write"),
    };
  }

  return {
    answer: data, machine, kinds, ranks, names, known, hasSegments: segments !== null,
    recorded, isRead, costOf, bill, busiest, linkTime, moved, bestMove, items, mapText, trafficText,
  };
})();
