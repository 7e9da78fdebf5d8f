"use strict";
// Draws the mapping: positions, links by load, lines of traffic, and a tile for each rank and segment. The tiles stay the same
// elements all the time, because one of them may have the focus. It changes no mapping.
//
// Called with `shown`: { world, mapping, traffic, bill, ofPresent: the bill of the present mapping, or null if the world was edited, chosen:
// item or null, target: position or null, hidden: Set of kinds without lines }.
const Draw = (function () {
  const svg = document.getElementById("drawing");
  const { hasSegments } = Model;
  const MOST_LINES = 300;
  const tiles = new Map();
  let layout = null;
  let slot = null;
  let drawn = null; // the world whose tiles there are

  function element(tag, attributes, ...children) {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const titled = (text) => element("title", {}, text);
  const layer = (name) => svg.appendChild(element("g", { class: name }));
  const layers = Object.fromEntries(["boxes", "links", "lines", "slots", "loads", "tiles"].map((name) => [name, layer(name)]));

  // --- numbers for people --------------------------------------------------------------------------

  function short(value) {
    for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (value >= 0.9995 * size) return (value / size).toFixed(value < 9.95 * size ? 1 : 0) + unit;
    }
    return String(Math.round(value));
  }

  function time(ns) {
    if (!Number.isFinite(ns)) return "no way";
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (Math.abs(ns) >= size) return (ns / size).toPrecision(Math.abs(ns) >= 1000 * size ? 5 : 4) + " " + unit;
    }
    return ns === 0 ? "0" : ns.toPrecision(4) + " ns";
  }

  function nameOf({ kind, number }) {
    if (kind === "segment") return "segment " + Model.names[number];
    return (hasSegments ? "process " : "rank ") + Model.ranks[number];
  }

  // --- tiles ---------------------------------------------------------------------------------------

  const key = (item) => item.kind + item.number;

  // Of a name that is too long the beginning, and the number at its end, by which many are told apart.
  function abbreviated(text, fits) {
    if (text.length <= fits) return text;
    const number = /\d{0,3}$/.exec(text)[0];
    return text.slice(0, fits - 1 - number.length) + number;
  }

  // Anew for each world; the tile of the same item gets the focus back.
  function makeTiles() {
    const focused = [...tiles.values()].find(({ tile }) => tile === document.activeElement);
    tiles.clear();
    layers.tiles.replaceChildren();
    fillTiles();
    if (focused) tiles.get(key(focused.item))?.tile.focus();
  }

  function fillTiles() {
    for (const item of Model.items()) {
      const text = item.kind === "rank" ? Model.ranks[item.number] : Model.names[item.number];
      const chip = { x: -19, y: -8, width: 38, height: 16, rx: 4 };
      const shape = item.kind === "rank" ? element("circle", { r: 15 }) : element("rect", chip);
      const label = element("text", { class: "name" }, abbreviated(text, item.kind === "rank" ? 4 : 6));
      const tile = element("g", { class: "tile-" + item.kind, tabindex: 0, role: "button" }, titled(nameOf(item)), shape, label);
      tile.setAttribute("aria-describedby", "keys");
      tile.dataset.kind = item.kind;
      tile.dataset.number = item.number;
      tiles.set(key(item), { item, tile });
      layers.tiles.append(tile);
    }
  }

  // Where each tile is: the rank in the upper part of its slot, segments in rows below it.
  function placeTiles({ mapping, bill }) {
    const taken = layout.slots.map(() => 0);
    for (const { item, tile } of tiles.values()) {
      const position = (item.kind === "rank" ? mapping.ranks : mapping.segments)[item.number];
      let { x, y } = layout.slots[position];
      if (item.kind === "rank") y += -slot.h / 2 + 22;
      else {
        const count = taken[position]++;
        x += (count % 2) * 40 - 20;
        y += -slot.h / 2 + 50 + 19 * Math.floor(count / 2);
      }
      tile.setAttribute("transform", "translate(" + x + " " + y + ")");
      tile.setAttribute("aria-label", describe(item, position, bill));
    }
  }

  function describe(item, position, bill) {
    const place = nameOf(item) + " at " + Model.nameOf(position);
    if (item.kind === "segment") return place;
    const [writes, reads] = bill.nodes[item.number];
    return place + ", writes " + time(writes) + ", reads " + time(reads);
  }

  // --- the rest, made anew each time ---------------------------------------------------------------

  const clip = (text, wide) => (text.length * 5.6 > wide ? text.slice(0, Math.max(1, Math.floor(wide / 5.6) - 1)) + "…" : text);

  function boxes() {
    return layout.boxes.map(({ x, y, w, h, name, kind, room }) => {
      const frame = element("rect", { x, y, width: w, height: h, rx: kind === "bar" ? 4 : 8, class: kind });
      const low = kind === "bar" ? 9.5 : 16;
      const label = element("text", { x: x + 9, y: y + low, class: "place start" }, clip(name, room ?? w));
      return element("g", {}, titled(name), frame, label);
    });
  }

  function links({ bill, ofPresent }) {
    if (!bill.links) return [];
    const full = ofPresent?.busiest?.ns || bill.busiest?.ns || 0;
    return layout.links.map(({ numbers, d, arrow, label, name }) => {
      const ns = Math.max(...numbers.map((link) => Model.linkTime(link, bill.links[link])));
      const bytes = Math.max(...numbers.map((link) => bill.links[link]));
      const part = full > 0 ? Math.min(1, ns / full) : bytes > 0 ? 1 : 0;
      const tell = (link) => {
        const { from, to } = Model.machine.links[link];
        const load = bill.links[link];
        return from + " → " + to + ": " + Math.round(load) + " bytes, " + time(Model.linkTime(link, load));
      };
      const group = element("g", { class: bytes > 0 ? "link" : "link idle", style: "--load: " + part.toFixed(4) });
      group.dataset.links = numbers.join(" ");
      const wire = element("path", { d, class: "wire", "stroke-width": 1.6 + 3 * part });
      group.append(titled([...(name ? [name] : []), ...numbers.map(tell)].join("\n")), wire, head(arrow, 4 + 2 * part));
      const load = element("text", { x: label.x, y: label.y, class: "load " + label.anchor }, bytes > 0 ? short(bytes) : "");
      return { group, load };
    });
  }

  function head({ x, y, angle }, size) {
    const turned = "translate(" + x + " " + y + ") rotate(" + (angle * 180) / Math.PI + ")";
    const d = "M" + size + " 0L" + [-size, -size * 0.8] + "L" + [-size, size * 0.8] + "Z";
    return element("path", { class: "head", d, transform: turned });
  }

  // One line for each pair and for writes and reads apart, as thick as its part of the cost. Bytes flow along the arrow.
  function lines({ mapping, traffic, chosen, hidden }) {
    const sums = new Map();
    for (const access of traffic) {
      const read = Model.isRead(access);
      const from = mapping.ranks[access.from];
      const targetKind = Model.targetKind(access);
      const to = Model.listOf(mapping, targetKind)[access.to];
      if (from === to || hidden.has(access.kind) || (access.count === 0 && access.bytes === 0)) continue;
      const name = [access.from, targetKind, access.to, read].join();
      const sum = sums.get(name) ?? { access, targetKind, read, from, to, ns: 0, kinds: new Set() };
      sum.ns += Model.costOf(access, mapping);
      sum.kinds.add(access.kind);
      sums.set(name, sum);
    }
    const heaviest = [...sums.values()].sort((a, b) => b.ns - a.ns);
    const most = heaviest[0]?.ns || 1;
    const share = (ns) => (Number.isFinite(most) ? ns / most : Number.isFinite(ns) ? 0 : 1);
    const isEnd = (kind, number) => kind === chosen.kind && number === chosen.number;
    const concerns = ({ access, targetKind }) => isEnd("rank", access.from) || isEnd(targetKind, access.to);
    const drawn = heaviest.slice(0, MOST_LINES).map((sum) => {
      const [a, b] = sum.read ? [sum.to, sum.from] : [sum.from, sum.to];
      const [from, to] = [layout.slots[a], layout.slots[b]];
      const away = Math.hypot(to.x - from.x, to.y - from.y);
      const bend = sum.read ? Math.min(0.17 * away, 40) + 6 : Math.min(0.1 * away, 28) + 6;
      const { d, arrow } = Layout.curve(from, to, bend, slot);
      const faded = chosen && !concerns(sum) ? " faded" : "";
      const group = element("g", { class: (sum.read ? "line reads" : "line writes") + faded });
      const doer = nameOf({ kind: "rank", number: sum.access.from });
      const verb = sum.read ? " reads from " : sum.access.kind === "message" ? " sends to " : " writes to ";
      const text = doer + verb + nameOf({ kind: sum.targetKind, number: sum.access.to });
      group.append(titled(text + ": " + time(sum.ns) + " (" + [...sum.kinds].join(", ") + ")"));
      group.append(element("path", { d, class: "wire", "stroke-width": 1 + 4 * share(sum.ns) }), head(arrow, 4.5));
      return group;
    });
    svg.dataset.left = Math.max(0, heaviest.length - MOST_LINES);
    return drawn;
  }

  function slots({ mapping, bill, chosen, target }) {
    const most = Math.max(...bill.nodes.map(([writes, reads]) => writes + reads), 1e-9);
    const from = chosen && (chosen.kind === "rank" ? mapping.ranks : mapping.segments)[chosen.number];
    return layout.slots.map(({ x, y, name }, position) => {
      const state = position === target ? " target" : position === from ? " from" : "";
      const group = element("g", { class: "slot" + state, transform: "translate(" + x + " " + y + ")" });
      const [left, low] = [-slot.w / 2, slot.h / 2];
      const rank = mapping.ranks.indexOf(position);
      const place = Model.nameOf(position);
      group.dataset.position = position;
      group.append(titled(name ? place + ": " + name : place));
      group.append(element("rect", { x: left, y: -low, width: slot.w, height: slot.h, rx: 7 }));
      group.append(element("text", { y: low - 11, class: "place" }, clip(place, slot.w)));
      if (rank < 0) return group;
      let at = left + 4;
      bill.nodes[rank].forEach((ns, part) => {
        const width = Number.isFinite(most) ? ((slot.w - 8) * ns) / most : 0;
        group.append(element("rect", { x: at, y: low - 6, width, height: 3.5, class: part ? "bar-reads" : "bar-writes" }));
        at += width;
      });
      return group;
    });
  }

  // --- what others call ----------------------------------------------------------------------------

  function sizeOf(mapping) {
    const longest = Math.max(0, ...Model.machine.places.map((_, position) => Model.nameOf(position).length));
    const counts = mapping.segments.reduce((sum, at) => sum.set(at, (sum.get(at) ?? 0) + 1), new Map());
    const rows = hasSegments ? Math.ceil(Math.max(1, ...counts.values()) / 2) : 0;
    return { w: Math.max(hasSegments ? 86 : 46, Math.min(110, longest * 5.6 + 8)), h: 60 + 20 * rows };
  }

  function all(shown) {
    slot = sizeOf(shown.mapping);
    layout = Layout.of(Model.machine, Math.max(300, svg.parentNode.clientWidth), slot);
    svg.setAttribute("viewBox", "0 0 " + layout.width + " " + layout.height);
    svg.setAttribute("width", layout.width);
    svg.setAttribute("height", layout.height);
    if (drawn !== shown.world) makeTiles();
    drawn = shown.world;
    layers.boxes.replaceChildren(...boxes());
    const wires = links(shown);
    layers.links.replaceChildren(...wires.map(({ group }) => group));
    layers.loads.replaceChildren(...wires.map(({ load }) => load));
    layers.lines.replaceChildren(...lines(shown));
    layers.slots.replaceChildren(...slots(shown));
    placeTiles(shown);
    mark(shown);
  }

  function mark({ chosen }) {
    for (const { item, tile } of tiles.values()) tile.classList.toggle("chosen", chosen !== null && key(item) === key(chosen));
  }

  // Only what is chosen and aimed at has changed.
  function aim(shown) {
    layers.slots.replaceChildren(...slots(shown));
    layers.lines.replaceChildren(...lines(shown));
    mark(shown);
  }

  // The place of a point of the window in the drawing, and the position there or null.
  function locate(clientX, clientY) {
    const box = svg.getBoundingClientRect();
    const point = { x: clientX - box.left, y: clientY - box.top };
    const within = ({ x, y }) => Math.abs(x - point.x) <= slot.w / 2 + 6 && Math.abs(y - point.y) <= slot.h / 2 + 6;
    const position = layout.slots.findIndex(within);
    return { point, position: position < 0 ? null : position };
  }

  // The nearest position from `position` in a direction { x, y }; null: there is none.
  function beside(position, direction) {
    const own = layout.slots[position];
    let best = null;
    layout.slots.forEach(({ x, y }, other) => {
      const ahead = (x - own.x) * direction.x + (y - own.y) * direction.y;
      const off = Math.abs((x - own.x) * direction.y - (y - own.y) * direction.x);
      if (ahead < 1 || off > 2 * ahead) return;
      const away = ahead + 2 * off;
      if (!best || away < best.away) best = { away, other };
    });
    return best && best.other;
  }

  const tileOf = (item) => tiles.get(key(item))?.tile ?? null;
  return { all, aim, locate, beside, tileOf, nameOf, time, svg };
})();
