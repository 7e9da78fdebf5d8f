"use strict";
// What mappings cost, from the tables that the page holds. It reads the answer, and touches nothing else of the page.
//
// A world is { machine, net, ranks: [name of each], names: [name of each segment], room }: what there is to place, and where. `net`
// says which machines and links there are, if they may be edited, and else is null. `enter` says which world is meant from then on.
// A mapping is { ranks: [position of each], segments: [position of each] }. Where shared segments are placed, ranks are processes.
// Traffic is a list of accesses { from, to, kind, count, bytes }. Of ranks `to` is a rank and `bytes` are those of all operations
// together; of segments `to` is a segment, `kind` is write or read, and `bytes` are those of one access; or `kind` is message, and `to`
// is another process. Times are in ns; that of a way that there is not is infinite.
// Worlds, mappings and accesses are never changed, but replaced.
const Model = (function () {
  const data = JSON.parse(document.getElementById("placement").textContent);
  const { segments } = data;
  const plain = data.machine.drawing.kind === "links" ? data.machine.drawing : null;
  const PACKET = 64;
  const SMALL = 16; // bytes of a small one
  const classes = Object.fromEntries(data.machine.classes.map((name, number) => [name, number]));
  const rules = Object.fromEntries(data.kinds.map((kind) => [kind.name, kind.rules]));
  const kinds = segments ? ["write", "read", "message"] : data.kinds.map((kind) => kind.name);

  const given = {
    machine: data.machine,
    net: plain && { machines: plain.machines, links: plain.links },
    ranks: segments ? segments.processes : data.mappings[0].at.map((_, rank) => String(rank)),
    names: segments ? segments.names : [],
    room: segments?.room ?? null,
  };
  let world = given;
  const enter = (next) => (world = next);

  const known = Object.fromEntries(
    data.mappings.map(({ name, at }, number) => [name, { ranks: at, segments: segments ? segments.mappings[number].at : [] }]),
  );

  function recorded() {
    if (segments) {
      const accesses = segments.accesses.map(({ process, segment, read, count, bytes }) => {
        return { from: process, to: segment, kind: read ? "read" : "write", count, bytes };
      });
      return [...accesses, ...segments.messages.map((message) => ({ kind: "message", ...message }))];
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

  const isRead = (access) => (segments ? access.kind === "read" : data.machine.reads[classOf(access)]);
  // What an access is to: a rank or a segment.
  const targetKind = (access) => (segments && access.kind !== "message" ? "segment" : "rank");
  const listOf = (mapping, kind) => (kind === "rank" ? mapping.ranks : mapping.segments);
  const places = (access, mapping) => [mapping.ranks[access.from], listOf(mapping, targetKind(access))[access.to]];

  // Ns of one access of `bytes` bytes to a segment on a level.
  function accessTime(read, bytes, level) {
    const { machine } = world;
    const isGiven = machine === data.machine;
    const listed = isGiven && segments.access.find((entry) => entry.read === read && entry.bytes === bytes);
    if (listed) return listed.ns[level];
    const [alpha, beta] = machine.costs[classes[read ? "read" : "write"]][level];
    if (!isGiven || !segments.whole_packets) return alpha + bytes * beta;
    const packets = Math.ceil(bytes / PACKET);
    return alpha + (read ? packets : Math.max(0, packets - 1)) * PACKET * beta;
  }

  function costOf(access, mapping) {
    const [p, q] = places(access, mapping);
    const level = world.machine.level[p][q];
    if (access.count === 0 && (segments || access.bytes === 0)) return 0;
    if (segments) return access.count * accessTime(access.kind === "read", access.bytes, level);
    const [alpha, beta] = world.machine.costs[classOf(access)][level];
    return access.count * alpha + access.bytes * beta;
  }

  // Adds an access to the loads of links, `times` times.
  function load(access, mapping, links, times) {
    const { machine } = world;
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
  const linkTime = (link, bytes) => (world.machine.links[link].rate === null ? 0 : bytes / world.machine.links[link].rate);

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
    const { machine } = world;
    const nodes = world.ranks.map(() => [0, 0]);
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
    const room = item.kind === "rank" ? 1 : (world.room ?? Infinity);
    if (there.length >= room) list[there[0]] = list[item.number];
    list[item.number] = position;
    return item.kind === "rank" ? { ...mapping, ranks: list } : { ...mapping, segments: list };
  }

  const items = () => [
    ...world.ranks.map((_, number) => ({ kind: "rank", number })),
    ...world.names.map((_, number) => ({ kind: "segment", number })),
  ];

  // The single move or swap that makes the objective smallest; null: none makes it smaller.
  function bestMove(mapping, traffic) {
    const concerned = { rank: world.ranks.map(() => []), segment: world.names.map(() => []) };
    for (const access of traffic) {
      concerned.rank[access.from].push(access);
      concerned[targetKind(access)][access.to].push(access);
    }
    const { cost, link } = data.objective;
    const now = bill(mapping, traffic);
    const ofLinks = (links) => (link > 0 && links ? link * (busiest(links)?.ns ?? 0) : 0);
    const before = cost * now.cost + ofLinks(now.links);
    // Where a way is missing, differences say nothing.
    if (!Number.isFinite(before)) return null;
    let best = { value: before * (1 - 1e-12), mapping: null, item: null };
    for (const item of items()) {
      const list = item.kind === "rank" ? "ranks" : "segments";
      for (let position = 0; position < world.machine.positions; position++) {
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

  // What people call a position.
  const nameOf = (position) => world.net?.machines[position] || world.machine.places[position];

  return {
    answer: data, kinds, given, known, hasSegments: segments !== null, enter, nameOf, listOf, targetKind,
    get world() { return world; },
    get machine() { return world.machine; },
    get ranks() { return world.ranks; },
    get names() { return world.names; },
    recorded, isRead, costOf, bill, busiest, linkTime, moved, bestMove, items,
  };
})();
