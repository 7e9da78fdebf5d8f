"use strict";
// Where positions and links lie in the drawing, in pixels. It knows neither traffic nor elements.
//
// What the caller gives: a machine's `drawing`, the width that there is, and `slot` { w, h }, the size of a position. What it gets is a layout:
//
//   width, height   of the drawing; wider than what was given if it does not fit
//   slots           for each position the middle { x, y } of its place, in trees also `name`, that of its vertex
//   links           { numbers, d, arrow, label, name }: `numbers` are the links of the machine that are drawn as this one, because the same traffic
//                   crosses them; `d` is its path, `arrow` { x, y, angle } the head on it, `label` { x, y, anchor } where its load is written and
//                   which end of the text stands there; `name` is what the user calls it, of links that were made on the page
//   boxes           { x, y, w, h, name, kind, room }: `kind` is "bar", a part of a switch, or "box", a vertex of a tree that holds others; `room` is
//                   how wide its name may be, if that is less than the box
const Layout = (function () {
  const EDGE = 10; // from the border of the drawing, in pixels
  const round = (value) => Math.round(value * 10) / 10;

  // The border of the slot around `from` on the way to `to`.
  function border(from, to, slot) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const part = Math.min(slot.w / 2 / Math.abs(dx || 1e-9), slot.h / 2 / Math.abs(dy || 1e-9), 0.5);
    return { x: from.x + dx * part, y: from.y + dy * part };
  }

  // A curve between two slots; `bend` moves its middle to the left of the way, in pixels.
  function curve(from, to, bend, slot) {
    const away = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const normal = { x: (to.y - from.y) / away, y: (from.x - to.x) / away };
    const middle = { x: (from.x + to.x) / 2 + 2 * bend * normal.x, y: (from.y + to.y) / 2 + 2 * bend * normal.y };
    const a = border(from, middle, slot);
    const b = border(to, middle, slot);
    const at = (t) => ({
      x: (1 - t) * (1 - t) * a.x + 2 * t * (1 - t) * middle.x + t * t * b.x,
      y: (1 - t) * (1 - t) * a.y + 2 * t * (1 - t) * middle.y + t * t * b.y,
    });
    const tip = at(0.58);
    const behind = at(0.54);
    const half = at(0.5);
    const anchor = Math.abs(normal.x) <= 0.6 ? "middle" : normal.x > 0 ? "start" : "end";
    return {
      d: "M" + [a.x, a.y].map(round) + "Q" + [middle.x, middle.y, b.x, b.y].map(round),
      arrow: { x: tip.x, y: tip.y, angle: Math.atan2(tip.y - behind.y, tip.x - behind.x) },
      label: { x: half.x + 10 * normal.x, y: half.y + 10 * normal.y, anchor },
    };
  }

  // A path along points with an arrow and its label on the longest piece. `anchor` is for one that goes up or down: a label that
  // ends left of it, or starts right of it.
  function along(points, anchor) {
    const d = points.map((point, number) => (number ? "L" : "M") + [point.x, point.y].map(round)).join("");
    const length = (number) => Math.hypot(points[number + 1].x - points[number].x, points[number + 1].y - points[number].y);
    const pieces = points.slice(1).map((_, number) => number);
    const longest = pieces.reduce((best, number) => (length(number) > length(best) ? number : best), 0);
    const [a, b] = [points[longest], points[longest + 1]];
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    const arrow = { ...middle, angle: Math.atan2(b.y - a.y, b.x - a.x) };
    if (a.y === b.y) return { d, arrow, label: { x: middle.x, y: middle.y - 8, anchor: "middle" } };
    return { d, arrow, label: { x: middle.x + (anchor === "start" ? 5 : -5), y: middle.y, anchor } };
  }

  // Slots in rows of as many as fit.
  function grid(count, width, cell) {
    const columns = Math.max(1, Math.min(count, Math.floor((width - 2 * EDGE) / cell.w)));
    const wide = Math.min((width - 2 * EDGE) / columns, cell.w * 1.6);
    const left = (width - columns * wide) / 2;
    const slots = Array.from({ length: count }, (_, at) => ({
      x: left + wide * ((at % columns) + 0.5),
      y: EDGE + cell.h * (Math.floor(at / columns) + 0.5),
    }));
    return { columns, left, wide, slots, height: 2 * EDGE + cell.h * Math.ceil(count / columns) };
  }

  function ring({ nodes }, width, slot) {
    const radius = Math.min(width - 2 * EDGE - slot.w - 40, 470) / 2;
    if ((2 * Math.PI * radius) / nodes < Math.max(slot.w, slot.h) + 24) return winding(nodes, width, slot);
    const tall = Math.max(radius, 90);
    const centre = { x: width / 2, y: EDGE + 14 + slot.h / 2 + tall * 0.8 };
    const slots = Array.from({ length: nodes }, (_, at) => {
      const turn = (2 * Math.PI * at) / nodes - Math.PI / 2;
      return { x: centre.x + radius * 1.0 * Math.cos(turn), y: centre.y + tall * 0.8 * Math.sin(turn) };
    });
    const bend = nodes === 2 ? 16 : Math.min(14, (radius * Math.PI) / nodes / 4);
    const links = slots.map((slot0, at) => ({ numbers: [at], ...curve(slot0, slots[(at + 1) % nodes], bend, slot) }));
    return { width, height: centre.y + tall * 0.8 + slot.h / 2 + EDGE + 14, slots, links: nodes > 1 ? links : [], boxes: [] };
  }

  // A ring too long for a circle: rows to and fro, and the last link along the border.
  function winding(nodes, width, slot) {
    const { columns, slots, height } = grid(nodes, width - 24, { w: slot.w + 34, h: slot.h + 34 });
    const there = slots.map((_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      const place = slots[column];
      const mirrored = slots[columns - 1 - column];
      return { x: 24 + (row % 2 ? mirrored.x : place.x), y: slots[at].y };
    });
    const links = there.slice(1).map((to, at) => ({ numbers: [at], ...curve(there[at], to, 0, slot) }));
    const last = there[nodes - 1];
    const below = last.y + slot.h / 2 + 12;
    const closing = [
      { x: last.x, y: last.y + slot.h / 2 }, { x: last.x, y: below }, { x: 10, y: below },
      { x: 10, y: there[0].y }, { x: there[0].x - slot.w / 2, y: there[0].y },
    ];
    links.push({ numbers: [nodes - 1], ...along(closing, "start") });
    return { width, height: height + 8, slots: there, links, boxes: [] };
  }

  function torus({ x: columns, y: rows }, width, slot) {
    const wide = Math.max(slot.w + 24, Math.min((width - 2 * EDGE - 18) / columns, 250));
    const tall = slot.h + Math.max(58, Math.min(0.4 * wide, 90));
    const all = Math.max(width, columns * wide + 2 * EDGE + 18);
    const left = (all - columns * wide) / 2 - 4;
    // Down a column and back up there is a label each: one stands lower, the other one higher.
    const lifted = (link, lift) => ({ ...link, label: { ...link.label, y: link.label.y + lift } });
    const slots = Array.from({ length: columns * rows }, (_, at) => ({
      x: left + wide * ((at % columns) + 0.5),
      y: EDGE + 34 + slot.h / 2 + tall * Math.floor(at / columns),
    }));
    const links = [];
    const aside = slot.w / 2 + 11;
    const above = slot.h / 2 + 15;
    slots.forEach((from, at) => {
      const column = at % columns;
      const right = slots[at - column + ((column + 1) % columns)];
      const first = slots[at - column];
      if (columns > 1 && column + 1 < columns) links.push({ numbers: [at], ...curve(from, right, 0, slot) });
      else if (columns > 1) {
        const y = from.y - above;
        links.push({ numbers: [at], ...along([
          { x: from.x + slot.w / 2, y: from.y }, { x: from.x + aside, y: from.y }, { x: from.x + aside, y },
          { x: first.x - aside, y }, { x: first.x - aside, y: from.y }, { x: first.x - slot.w / 2, y: from.y },
        ], "start") });
      }
    });
    slots.forEach((from, at) => {
      const number = columns * rows + at;
      const below = slots[at + columns];
      const first = slots[at % columns];
      if (rows > 1 && below) {
        const down = [{ x: from.x, y: from.y + slot.h / 2 }, { x: from.x, y: below.y - slot.h / 2 }];
        links.push({ numbers: [number], ...lifted(along(down, "end"), 13) });
      } else if (rows > 1) {
        const x = from.x + aside;
        const anchor = at % columns === columns - 1 && wide < 110 ? "end" : "start";
        links.push({ numbers: [number], ...lifted(along([
          { x: from.x, y: from.y + slot.h / 2 }, { x: from.x, y: from.y + above }, { x, y: from.y + above },
          { x, y: first.y - above - 9 }, { x: first.x, y: first.y - above - 9 }, { x: first.x, y: first.y - slot.h / 2 },
        ], anchor), -13) });
      }
    });
    return { width: all, height: slots[slots.length - 1].y + slot.h / 2 + 26 + EDGE, slots, links, boxes: [] };
  }

  // Up to the next thing above, and down from it, side by side at the top of a slot or box.
  function stubs(x, top, length, up, down) {
    const upward = along([{ x: x - 9, y: top }, { x: x - 9, y: top - length }], "end");
    const downward = along([{ x: x + 9, y: top - length }, { x: x + 9, y: top }], "start");
    return [{ numbers: up, ...upward }, { numbers: down, ...downward }];
  }

  // Rows below a bar that is the switch.
  function behindSwitch({ nodes }, width, slot) {
    const cell = { w: Math.max(slot.w + 16, 88), h: slot.h + 58 };
    const { slots: cells, columns, left, wide, height } = grid(nodes, width - 16, cell);
    const slots = cells.map(({ x, y }) => ({ x: x + 16, y: y + 20 }));
    const links = slots.flatMap(({ x, y }, at) => stubs(x, y - slot.h / 2, 26, [at], [nodes + at]));
    const rows = Math.ceil(nodes / columns);
    const bars = Array.from({ length: rows }, (_, row) => ({
      x: 16 + left, y: slots[row * columns].y - slot.h / 2 - 38, w: wide * columns, h: 12, name: row ? "" : "switch", kind: "bar",
    }));
    const spine = { x: 16 + left - 8, y: bars[0].y, w: 8, h: bars[rows - 1].y - bars[0].y + 12, name: "", kind: "bar" };
    return { width, height: height + 10, slots, links, boxes: rows > 1 ? [...bars, spine] : bars };
  }

  function points(count, width, slot) {
    const { slots, height } = grid(count, width, { w: slot.w + 28, h: slot.h + 28 });
    return { width, height, slots, links: [], boxes: [] };
  }

  // On a circle if they fit, else in rows; a link is drawn there and back.
  function joined({ machines, links }, width, slot) {
    const nodes = machines.length;
    const radius = Math.min(width - 2 * EDGE - slot.w - 40, 470) / 2;
    const fits = nodes < 3 || (2 * Math.PI * radius) / nodes >= Math.max(slot.w, slot.h) + 24;
    const { slots, height } = fits ? ring({ nodes }, width, slot) : grid(nodes, width, { w: slot.w + 44, h: slot.h + 44 });
    const twins = (at) => links.slice(0, at).filter(({ ends }) => ends.every((end) => links[at].ends.includes(end))).length;
    const drawn = links.flatMap(function ({ name, ends: [a, b] }, at) {
      const bend = 9 + 16 * twins(at);
      return [[a, b], [b, a]].map(([from, to], back) => ({ numbers: [2 * at + back], name, ...curve(slots[from], slots[to], bend, slot) }));
    });
    return { width, height: nodes ? height : 120, slots, links: drawn, boxes: [] };
  }

  // --- trees: boxes in boxes -----------------------------------------------------------------------

  const PAD = 9;
  const HEAD = 34;

  // Vertices of one child are drawn as one with it: the same traffic crosses them.
  function nested({ vertices, leaves }) {
    const nodes = vertices.map(({ name }, number) => ({ name, ids: [number], children: [], position: -1 }));
    leaves.forEach((vertex, position) => (nodes[vertex].position = position));
    vertices.forEach(({ parent }, number) => number && nodes[parent].children.push(nodes[number]));
    const joined = (node) => {
      while (node.children.length === 1 && node.position < 0) {
        const [child] = node.children;
        node = { ...child, name: node.name + " · " + child.name, ids: [...node.ids, ...child.ids] };
      }
      return { ...node, children: node.children.map(joined) };
    };
    return joined(nodes[0]);
  }

  // The size of a vertex, and the places of its children in rows, if it may be `most` wide.
  function measure(node, most, slot) {
    if (node.position >= 0) return { node, w: Math.max(slot.w + 10, 92), h: slot.h + 32, inner: [] };
    const parts = node.children.map((child) => measure(child, most - 2 * PAD, slot));
    let [x, y, tall, wide] = [PAD, HEAD, 0, 0];
    for (const part of parts) {
      if (x > PAD && x + part.w + PAD > most) [x, y, tall] = [PAD, y + tall + 6, 0];
      Object.assign(part, { x, y });
      x += part.w + 6;
      tall = Math.max(tall, part.h);
      wide = Math.max(wide, x - 6 + PAD);
    }
    return { node, w: Math.max(wide, 150), h: y + tall + PAD, inner: parts };
  }

  function tree(drawing, width, slot) {
    const root = measure(nested(drawing), width - 2 * EDGE, slot);
    const all = Math.max(width, root.w + 2 * EDGE);
    const layout = { width: all, height: root.h + 2 * EDGE, slots: [], links: [], boxes: [] };
    const put = (part, left, top, isRoot) => {
      const { node, w, h } = part;
      const [up, down] = [0, 1].map((way) => node.ids.map((vertex) => 2 * vertex + way));
      if (node.position >= 0) {
        layout.slots[node.position] = { x: left + w / 2, y: top + 28 + slot.h / 2, name: node.name };
        if (!isRoot) layout.links.push(...stubs(left + w / 2, top + 26, 20, up, down));
        return;
      }
      layout.boxes.push({ x: left, y: top, w, h, name: node.name, kind: "box", room: isRoot ? w - 16 : w - 100 });
      if (!isRoot) layout.links.push(...stubs(left + w - 46, top + 20, 24, up, down));
      for (const inner of part.inner) put(inner, left + inner.x, top + inner.y, false);
    };
    put(root, (all - root.w) / 2, EDGE, true);
    return layout;
  }

  function of(machine, width, slot) {
    const drawing = machine.drawing;
    switch (drawing.kind) {
      case "ring": return ring(drawing, width, slot);
      case "torus": return torus(drawing, width, slot);
      case "switch": return behindSwitch(drawing, width, slot);
      case "links": return joined(drawing, width, slot);
      case "tree": return tree(drawing, width, slot);
      default: return points(machine.positions, width, slot);
    }
  }

  return { of, curve };
})();
