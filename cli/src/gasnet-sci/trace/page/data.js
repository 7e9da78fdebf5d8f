"use strict";
// The run: its events in columns, as they are packed by pack.rs. Times are nanoseconds since the run began; nodes are places in Data.nodes.
const Data = (function () {
  const index = JSON.parse(document.getElementById("index").textContent);
  const text = atob(document.getElementById("events").textContent);
  document.getElementById("events").textContent = "";
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);

  let at = 0;
  function number() {
    let value = packed[at++];
    if (value < 128) return value;
    value &= 127;
    for (let unit = 128; ; unit *= 128) {
      const byte = packed[at++];
      if (byte < 128) return value + byte * unit;
      value += (byte & 127) * unit;
    }
  }

  const count = index.nodes.reduce((sum, node) => sum + node.events, 0);
  const begin = new Float64Array(count);
  const ns = new Float64Array(count);
  const bytes = new Float64Array(count);
  const kind = new Uint16Array(count);
  const peer = new Int32Array(count).fill(-1); // a rank, which may have no trace
  const handler = new Uint8Array(count);
  const origin = new Int32Array(count).fill(-1); // of a handler's run: the event that sent the message
  const arrival = new Int32Array(count).fill(-1); // of a message: the run of its handler
  const first = [0];
  for (const node of index.nodes) first.push(first[first.length - 1] + node.events);
  const place = new Map(index.nodes.map((node, at) => [node.rank, at]));

  const classes = index.classes.map(([name]) => name);
  // For each kind the place of its class: those that take time, then these.
  const all = [...classes, "send", "handler", "other"];
  const classOf = Uint8Array.from(index.kinds, (kind) => all.indexOf(kind.class));

  index.nodes.forEach((_, node) => {
    let time = 0;
    const last = new Map();
    for (let event = first[node]; event < first[node + 1]; event++) {
      const shape = index.shapes[number()];
      time += number();
      begin[event] = time;
      kind[event] = shape.kind;
      if (shape.time) ns[event] = number();
      if (shape.peer) peer[event] = number();
      if (shape.bytes) bytes[event] = number();
      if (shape.handler) handler[event] = number();
      const coded = shape.message ? number() : 0;
      if (coded > 0) {
        const step = coded - 1;
        const sent = (last.get(peer[event]) ?? -1) + 1 + (step % 2 ? -(step + 1) / 2 : step / 2);
        last.set(peer[event], sent);
        origin[event] = first[place.get(peer[event])] + sent;
        arrival[origin[event]] = event;
      }
    }
  });

  // Rounds of barriers, a column of visits for each: when each node came and went, -1 if it was not there.
  const nodes = index.nodes.length;
  const enter = new Float64Array(index.rounds * nodes).fill(-1);
  const exit = new Float64Array(index.rounds * nodes).fill(-1);
  const lastNode = new Int32Array(index.rounds);
  const team = new Array(index.rounds).fill(null); // its name; null: all nodes
  const came = new Float64Array(nodes);
  for (let round = 0; round < index.rounds; round++) {
    const of = number();
    if (of > 0) team[round] = index.teams[of - 1];
    for (let visits = number(), latest = -1; visits > 0; visits--) {
      const node = number();
      const step = number();
      came[node] += step % 2 ? -(step + 1) / 2 : step / 2;
      enter[round * nodes + node] = came[node];
      exit[round * nodes + node] = came[node] + number();
      if (came[node] > latest) {
        latest = came[node];
        lastNode[round] = node;
      }
    }
  }
  const latest = Float64Array.from(lastNode, (node, round) => enter[round * nodes + node]);
  // How long the others waited for the last, together.
  const cost = Float64Array.from(latest, (last, round) => {
    let sum = 0;
    for (let node = 0; node < nodes; node++) if (enter[round * nodes + node] >= 0) sum += last - enter[round * nodes + node];
    return sum;
  });

  // The first of `from`..`to` for which `is` holds; it holds for all behind that one.
  function search(from, to, is) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (is(middle)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  // Blocks of events of a node, for painting and summing: when the last of their events, and of those before, ends; and sums of each class.
  const BLOCK = 16; // 8, 16, 32: rows of a frame of a million events take 9, 8, 14 ms
  const blocks = index.nodes.map((_, node) => {
    const length = Math.ceil((first[node + 1] - first[node]) / BLOCK);
    const block = { end: new Float64Array(length), until: new Float64Array(length), time: new Float64Array(length * classes.length), sends: new Uint16Array(length), runs: new Uint16Array(length) };
    let until = 0;
    for (let event = first[node]; event < first[node + 1]; event++) {
      const at = Math.floor((event - first[node]) / BLOCK);
      const of = classOf[kind[event]];
      block.end[at] = Math.max(block.end[at], begin[event] + ns[event]);
      until = Math.max(until, block.end[at]);
      block.until[at] = until;
      if (of < classes.length) block.time[at * classes.length + of] += ns[event];
      else if (of === classes.length) block.sends[at]++;
      else if (of === classes.length + 1) block.runs[at]++;
    }
    return block;
  });

  // The runs of handlers of each node whose message is known, in the order of their time: the arrows that end there.
  const arrows = index.nodes.map((_, node) => {
    const found = [];
    for (let event = first[node]; event < first[node + 1]; event++) if (origin[event] >= 0) found.push(event);
    return Int32Array.from(found);
  });

  // The node of an event.
  const nodeOf = (event) => search(0, nodes, (node) => first[node + 1] > event);

  // Where to begin in order to see all that happens from `time` on.
  function since(node, time) {
    const { until } = blocks[node];
    return Math.min(first[node] + BLOCK * search(0, until.length, (at) => until[at] >= time), first[node + 1]);
  }
  const after = (node, time) => search(first[node], first[node + 1], (event) => begin[event] > time);

  return {
    ...index, count, begin, ns, bytes, kind, peer, handler, origin, arrival, first, place, all, classOf, enter, exit, team, lastNode, latest, cost, blocks, arrows,
    BLOCK, timed: classes.length, search, nodeOf, since, after,
  };
})();
document.documentElement.classList.add("scripted");
