"use strict";
// The files that the page saves and loads, in the formats that gasnet-sci place reads. It touches nothing of the page.
const Files = (function () {
  const { answer, known, hasSegments } = Model;
  const MOST = 512; // machines, processes and segments of a page
  const MOST_MADE = 128; // machines that are made on it: the ways between all of them are looked for at each step

  // --- saving --------------------------------------------------------------------------------------

  // The map file, as gasnetrun_sci --map and place --from read it.
  function mapText(mapping) {
    const { machine, ranks, names } = Model;
    const lines = mapping.ranks.map((position, rank) => rank + " " + machine.places[position] + "\n");
    // Segments are comments, for whoever makes them in the program. A line end in a name would end one.
    const oneLine = (name) => name.replace(/[\s\p{Cc}]/gu, " ");
    const remarks = mapping.segments.map((at, segment) => "# segment " + oneLine(names[segment]) + " at " + machine.places[at] + "\n");
    const heading = "# gasnet-sci place: " + ranks.length + " ranks on " + machine.topology + ", arranged by hand\n";
    return [heading, ...lines, ...remarks].join("");
  }

  // The traffic in the format in which it came. A matrix says where ranks ran, so it has the present mapping as long as the ranks are
  // those that ran; the map has the one that is drawn. Segments have no other file, so theirs has the positions that are drawn.
  function trafficText(mapping, traffic) {
    return JSON.stringify(hasSegments ? segmentsFile(mapping, traffic) : matrixFile(mapping, traffic)) + "\n";
  }

  function matrixFile(mapping, traffic) {
    const rows = new Map();
    for (const { from, to, kind, count, bytes } of traffic) {
      const row = rows.get(from + " " + to) ?? { from, to };
      const [more, larger] = row[kind] ?? [0, 0];
      rows.set(from + " " + to, { ...row, [kind]: [count + more, bytes + larger] });
    }
    const { program, seconds } = answer.matrix;
    const { machine, ranks } = Model;
    const place = (position, rank) => {
      const cpus = /^cpu:(.*)$/.exec(machine.places[position]);
      return cpus ? { rank, cpus: cpus[1] } : { rank, position };
    };
    const places = (Model.world === Model.given ? known.present : mapping).ranks.map(place);
    const head = { format: "gasnet-sci matrix", version: 1, nodes: ranks.length, program, seconds };
    return { ...head, topology: machine.topology, places, rows: [...rows.values()] };
  }

  function segmentsFile(mapping, traffic) {
    const { ranks, names, world } = Model;
    const named = (list, at) => list.map((name, number) => ({ name, at: at[number] }));
    const entry = ({ from, to, count, bytes }) => ({ process: from, segment: to, count, bytes });
    const message = ({ from, to, count, bytes }) => ({ from, to, count, bytes });
    const accesses = (wanted, form) => traffic.filter(({ kind }) => kind === wanted).map(form);
    const messages = accesses("message", message);
    return {
      format: "gasnet-sci segments",
      version: 1,
      processes: named(ranks, mapping.ranks),
      segments: named(names, mapping.segments),
      room: world.room ?? undefined,
      reads: accesses("read", entry),
      writes: accesses("write", entry),
      messages: messages.length ? messages : undefined,
      topology: world.net ? topologyFile(world.net) : undefined,
    };
  }

  const topologyFile = ({ machines, links }) => ({ kind: "links", machines, links });
  const topologyText = (net) => JSON.stringify(topologyFile(net)) + "\n";

  // --- loading -------------------------------------------------------------------------------------

  function demand(good, sentence) {
    if (!good) throw new Error(sentence);
  }

  const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
  const below = (value, most) => isCount(value) && value < most;
  const isCost = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
  const listOf = (value, what) => {
    demand(value === undefined || Array.isArray(value), what + " is no list");
    demand((value ?? []).every((entry) => typeof entry === "object" && entry !== null), what + " has an entry that is none");
    return value ?? [];
  };

  function netOf({ machines, links }) {
    demand(Array.isArray(machines) && machines.every((name) => typeof name === "string"), "machines are a list of names");
    demand(machines.length <= MOST, "a page has " + MOST + " machines at most");
    const link = ({ name = "", ends, alpha = 2000, beta = 0.1 }) => {
      const joins = Array.isArray(ends) && ends.length === 2 && ends.every((end) => below(end, machines.length)) && ends[0] !== ends[1];
      demand(joins, "link '" + name + "' does not join two of the machines");
      demand(isCost(alpha) && isCost(beta), "link '" + name + "': alpha and beta are numbers from 0 on");
      return { name: String(name), ends, alpha, beta };
    };
    return { machines, links: listOf(links, "links").map(link) };
  }

  // Positions of what is named: its own, or the first free one.
  function placed(list, positions, room) {
    const held = Array.from({ length: positions }, () => 0);
    for (const { name, at } of list) {
      demand(typeof name === "string", "what has no name cannot be placed");
      demand(at === undefined || below(at, positions), name + " is at a position that there is not");
      if (at !== undefined) demand(++held[at] <= room, "more than " + room + " are at position " + at + ", " + name + " among them");
    }
    return list.map(function ({ name, at }) {
      if (at !== undefined) return at;
      const free = held.findIndex((count) => count < room);
      demand(free >= 0, "there is no room for " + name);
      held[free]++;
      return free;
    });
  }

  function segmentsState(file, world) {
    const { processes, segments, topology, room = null } = file;
    const net = topology?.kind === "links" ? netOf(topology) : null;
    demand(!net || world.net, "its machines cannot be taken: those of this page are fixed by --topology");
    const base = net ? { ...world, net, machine: Net.machineOf(net) } : world;
    const { positions } = base.machine;
    const [p, s] = [listOf(processes, "processes"), listOf(segments, "segments")];
    demand(p.length <= positions, p.length + " processes need as many machines; there are " + positions);
    demand(s.length <= MOST, "a page has " + MOST + " segments at most");
    demand(room === null || isCount(room), "room is no count");
    // A process without a position is at that of its number, as in Rust.
    const numbered = p.map((process, at) => ({ at, ...process }));
    const mapping = { ranks: placed(numbered, positions, 1), segments: placed(s, positions, room ?? Infinity) };
    const access = (from, to, kind, [mostFrom, mostTo], { count, bytes }) => {
      demand(below(from, mostFrom) && below(to, mostTo), "an access names what there is not: " + from + " to " + to);
      demand(isCount(count) && isCount(bytes), "count and bytes of an access are whole numbers from 0 on");
      return { from, to, kind, count, bytes };
    };
    const of = (name, kind) =>
      listOf(file[name], name).map((one) => access(one.process, one.segment, kind, [p.length, s.length], one));
    const sent = (one) => access(one.from, one.to, "message", [p.length, p.length], one);
    const traffic = [...of("reads", "read"), ...of("writes", "write"), ...listOf(file.messages, "messages").map(sent)];
    const names = (list) => list.map(({ name }) => name);
    return { world: { ...base, ranks: names(p), names: names(s), room }, mapping, traffic };
  }

  function matrixState(file, { world, mapping }) {
    const { nodes } = file;
    const { positions } = world.machine;
    demand(isCount(nodes) && nodes > 0 && nodes <= positions, nodes + " ranks do not fit " + positions + " positions");
    const traffic = listOf(file.rows, "rows").flatMap(function (row) {
      demand(below(row.from, nodes) && below(row.to, nodes), "a row from " + row.from + " to " + row.to + ": there is no such rank");
      const used = Model.kinds.filter((kind) => row[kind] !== undefined);
      return used.map(function (kind) {
        const [count, bytes] = row[kind];
        demand(isCount(count) && isCount(bytes), kind + " is no count and bytes");
        return { from: row.from, to: row.to, kind, count, bytes };
      });
    });
    const all = Array.from({ length: nodes }, (_, rank) => rank);
    const isSame = nodes === world.ranks.length;
    const next = isSame ? world : { ...world, ranks: all.map(String) };
    const at = recordedAt(file, world.machine) ?? (isSame ? mapping.ranks : all);
    return { world: next, mapping: { ...mapping, ranks: at }, traffic };
  }

  // Where the ranks of a matrix ran. null: it does not say so of all of them, or means other positions.
  function recordedAt({ nodes, topology, places }, machine) {
    if (topology !== machine.topology || !Array.isArray(places)) return null;
    const at = Array.from({ length: nodes }, function (_, rank) {
      const place = places.find((entry) => entry?.rank === rank);
      return place?.cpus === undefined ? place?.position : machine.places.indexOf("cpu:" + place.cpus);
    });
    const fit = at.every((position) => below(position, machine.positions)) && new Set(at).size === nodes;
    return fit ? at : null;
  }

  // What the page has after a file was read. An error says in a sentence why it cannot be.
  function load(text, state) {
    let file;
    try {
      file = JSON.parse(text);
    } catch {
      throw new Error("it is no JSON");
    }
    if (file?.kind === "links") {
      demand(state.world.net, "the machines of this page are fixed by --topology");
      const net = netOf(file);
      const most = Math.max(-1, ...state.mapping.ranks, ...state.mapping.segments);
      demand(most < net.machines.length, "it has " + net.machines.length + " machines, and something is at number " + most);
      return { ...state, world: { ...state.world, net, machine: Net.machineOf(net) } };
    }
    const format = hasSegments ? "gasnet-sci segments" : "gasnet-sci matrix";
    const wanted = hasSegments ? "processes and segments" : "a traffic matrix";
    demand(file?.format === format && file.version === 1, "this page reads " + wanted + ", and machines with links");
    return hasSegments ? segmentsState(file, state.world) : matrixState(file, state);
  }

  return { mapText, trafficText, topologyText, load, MOST, MOST_MADE };
})();
