"use strict";
// Mouse, fingers, keys and buttons. This file alone changes what is seen and what is asked.
(function () {
  const byId = (id) => document.getElementById(id);
  const canvas = byId("timeline");
  const tip = byId("tip");
  const { begin, ns, kind, nodes, kinds } = Data;
  let dirty = false;

  function refresh() {
    if (dirty) return;
    dirty = true;
    requestAnimationFrame(() => {
      dirty = false;
      const { count, step } = Draw.paint();
      byId("seen").textContent = Tell.time(View.to - View.from) + " of " + Tell.time(Data.end) + (View.show.messages && count > 0 ? ", " + count + " messages" + (step > 1 ? ", one of " + step + " drawn." : ".") : ".");
    });
  }

  // --- moving ---------------------------------------------------------------------------------------

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const held = new Map(); // pointers that are down: where they are
  let marking = false; // the button is pressed
  let anchor = null; // where a span that is being marked began
  let moved = 0; // since the pointer went down; a click moves little

  function wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) View.move(0, -(event.deltaY || event.deltaX) * unit);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) View.move(-event.deltaX * unit, 0);
    else View.zoom(Math.exp(Math.min(Math.max(event.deltaY * unit, -300), 300) * 0.002), at(event)[0]);
    tip.hidden = true;
    refresh();
  }

  function down(event) {
    if (event.button > 0) return;
    // Pointers that scripts make cannot be captured.
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, at(event));
    moved = held.size > 1 ? Infinity : 0;
    anchor = held.size === 1 && (marking || event.shiftKey) ? View.time(at(event)[0]) : null;
    tip.hidden = true;
  }

  function move(event) {
    const before = held.get(event.pointerId);
    const now = at(event);
    if (!before) return hover(now);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const width = (point) => Math.max(20, Math.hypot(point[0] - other[0], point[1] - other[1]));
      View.zoom(width(before) / width(now), (now[0] + other[0]) / 2);
      View.move(dx / 2, dy / 2);
    } else if (anchor !== null) {
      const time = Math.min(Math.max(View.time(now[0]), 0), Data.end);
      View.marked = [Math.min(anchor, time), Math.max(anchor, time)];
    } else if (moved > 3) {
      View.move(dx, dy);
    }
    held.set(event.pointerId, now);
    refresh();
  }

  function up(event) {
    if (!held.delete(event.pointerId)) return;
    if (anchor !== null && moved > 3) statistics();
    else if (moved <= 3 && event.type === "pointerup") click(at(event));
    anchor = null;
  }

  function click([x, y]) {
    const node = View.nodeAt(y);
    if (node < 0 || x < 0) return;
    // The barrier that the node was on its way to.
    const time = x < View.LEFT ? View.from : View.time(x);
    const round = Data.search(0, Data.rounds, (round) => Data.latest[round] >= time);
    ask(Math.min(round, Math.max(0, Data.rounds - 1)), node);
  }

  function key(event) {
    const far = event.shiftKey ? 0.5 : 0.1;
    const width = View.width - View.LEFT;
    const todo = {
      ArrowLeft: () => View.move(width * far, 0), ArrowRight: () => View.move(-width * far, 0), ArrowUp: () => View.move(0, View.row), ArrowDown: () => View.move(0, -View.row),
      "+": () => View.zoom(0.7), "=": () => View.zoom(0.7), "-": () => View.zoom(1 / 0.7), 0: () => View.fit(),
    }[event.key];
    if (!todo || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    todo();
    refresh();
  }

  // --- what is under the pointer --------------------------------------------------------------------

  // The call around a moment, the innermost; else what is nearest, within some pixels.
  function under(node, time) {
    const near = ((View.to - View.from) / (View.width - View.LEFT)) * 5;
    let [found, distance] = [-1, Infinity];
    const last = Data.after(node, time + near);
    for (let event = Math.max(Data.since(node, time - near), last - 20000); event < last; event++) {
      const end = begin[event] + ns[event];
      const away = ns[event] > 0 && begin[event] <= time && time <= end ? ns[event] * 1e-6 : Math.max(begin[event] - time, time - end, 0) + near * 1e-3;
      if (away <= near && away <= distance) [found, distance] = [event, away];
    }
    return found;
  }

  function line(parent, tag, text) {
    const part = document.createElement(tag);
    part.textContent = text;
    parent.append(part);
    return part;
  }

  function hover([x, y]) {
    const node = x >= View.LEFT ? View.nodeAt(y) : -1;
    const event = node < 0 ? -1 : under(node, View.time(x));
    tip.hidden = event < 0;
    if (event < 0) return;
    tip.replaceChildren();
    line(tip, "b", Tell.kindName(kinds[kind[event]]));
    line(tip, "div", Tell.name(node) + " at " + Draw.shown(begin[event], Math.max(View.to - View.from, 100)) + (ns[event] > 0 ? ", for " + Tell.time(ns[event]) : ""));
    const parts = [];
    if (Data.peer[event] >= 0) parts.push("with node " + Data.peer[event]);
    if (Data.bytes[event] > 0) parts.push(Tell.size(Data.bytes[event]));
    if (Data.handler[event] > 0) parts.push("handler " + Data.handler[event]);
    if (parts.length > 0) line(tip, "div", parts.join(", "));
    if (Data.origin[event] >= 0) line(tip, "div", "sent " + Tell.time(begin[event] - begin[Data.origin[event]]) + " before");
    if (Data.arrival[event] >= 0) line(tip, "div", "ran " + Tell.time(begin[Data.arrival[event]] - begin[event]) + " later");
    tip.style.left = Math.max(0, Math.min(x + 14, View.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(0, Math.min(y + 14, View.height - tip.offsetHeight - 4)) + "px";
  }

  // --- answers --------------------------------------------------------------------------------------

  function cells(row, values) {
    values.forEach((value, at) => (line(row, "td", value).className = at > 0 ? "n" : ""));
  }

  function ask(round, node) {
    const answer = byId("answer");
    answer.replaceChildren();
    byId("node").value = node;
    const found = Data.rounds > 0 ? Tell.compare(round, node) : null;
    if (Data.rounds > 0) byId("barrier").value = round + 1;
    if (found) {
      for (const sentence of Tell.sentences(found)) line(answer, "p", sentence);
      const show = line(answer, "button", "show it");
      show.type = "button";
      show.id = "show-it";
      show.onclick = () => {
        View.fit(found.own.from, Data.latest[round]);
        refresh();
        byId("stage").scrollIntoView({ block: "nearest" });
      };
      const table = line(line(answer, "div", ""), "table", "");
      table.parentNode.className = "scroll";
      const head = line(line(table, "thead", ""), "tr", "");
      ["before " + Tell.barrierName(round), Tell.name(node), "others (median)", "more"].forEach((text, at) => (line(head, "th", text).className = at > 0 ? "n" : ""));
      const rows = line(table, "tbody", "");
      for (const [, text, own, theirs] of found.rows) {
        if (own > 0 || theirs > 0) cells(line(rows, "tr", ""), [text, Tell.time(own), Tell.time(theirs), Tell.time(own - theirs)]);
      }
    } else if (Data.rounds > 0) {
      line(answer, "p", "This node was not at " + Tell.barrierName(round) + ".");
    }
    line(answer, "p", Tell.record(node));
  }

  const asked = () => [Math.min(Math.max(Number(byId("barrier").value) - 1 || 0, 0), Math.max(0, Data.rounds - 1)), Number(byId("node").value)];

  function statistics() {
    const [from, to] = View.marked || [0, Data.end];
    byId("unmark").hidden = !View.marked;
    byId("span-name").textContent = View.marked ? "the marked span, " + Tell.time(to - from) + " from " + Draw.shown(from, Math.max(to - from, 1000)) : "the whole run; mark a span to see those of a part";
    const sums = nodes.map((_, node) => Sums.of(node, from, to));
    const used = Data.classes.map((_, of) => of).filter((of) => sums.some((sums) => sums.time[of] > 0));
    const head = document.createElement("tr");
    ["node", "computing", ...used.map((of) => Data.classes[of][1]), "sent", "handlers"].forEach((text, at) => (line(head, "th", text).className = at > 0 ? "n" : ""));
    byId("span-head").replaceChildren(head);
    byId("span-rows").replaceChildren();
    const part = (time) => Tell.time(time) + " (" + Tell.percent(time, to - from) + ")";
    const counts = new Map();
    sums.forEach((sums, node) => {
      const row = line(byId("span-rows"), "tr", "");
      cells(row, [Tell.name(node), part(sums.computing), ...used.map((of) => part(sums.time[of])), sums.sends + (sums.sent > 0 ? ", " + Tell.size(sums.sent) : ""), String(sums.runs)]);
      for (const [kind, { count, bytes }] of sums.counts) {
        const before = counts.get(kind) || [0, 0];
        counts.set(kind, [before[0] + count, before[1] + bytes]);
      }
    });
    const all = [...counts].sort((a, b) => b[1][0] - a[1][0]).map(([kind, [count, bytes]]) => Tell.kindName(kinds[kind]) + " " + count + (bytes > 0 ? " (" + Tell.size(bytes) + ")" : ""));
    const notes = Data.notes.filter((note) => note.at >= from && note.at <= to).slice(0, 200);
    byId("span-more").replaceChildren();
    line(byId("span-more"), "p", "Operations that began in it: " + (all.join(", ") || "none") + ".");
    if (notes.length === 0) return;
    const list = line(byId("span-more"), "details", "");
    line(list, "summary", "texts in the traces (" + notes.length + ")");
    for (const note of notes) line(list, "div", Tell.time(note.at) + " " + Tell.name(note.node) + ": " + note.text);
  }

  // --- the parts are joined ---------------------------------------------------------------------------

  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("keydown", key);
  const button = (id, todo) => (byId(id).onclick = () => (todo(), refresh()));
  button("fit", () => View.fit());
  button("closer", () => View.zoom(0.5));
  button("wider", () => View.zoom(2));
  button("mark", () => {
    marking = !marking;
    byId("mark").setAttribute("aria-pressed", String(marking));
    canvas.classList.toggle("marking", marking);
  });
  button("unmark", () => {
    View.marked = null;
    statistics();
  });
  for (const what of ["messages", "barriers", "path"]) {
    byId("show-" + what).onchange = (event) => {
      View.show[what] = event.target.checked;
      refresh();
    };
  }
  const recolour = () => (Draw.recolour(), refresh());
  byId("theme").addEventListener("click", recolour);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  new ResizeObserver(() => (View.resize(), refresh())).observe(canvas.parentNode);

  nodes.forEach((node, place) => (line(byId("node"), "option", String(node.rank)).value = place));
  byId("node").onchange = byId("barrier").onchange = () => ask(...asked());
  const next = (step) => {
    const round = asked()[0] + step;
    if (round >= 0 && round < Data.rounds) ask(round, Data.lastNode[round]);
  };
  byId("barrier-before").onclick = () => next(-1);
  byId("barrier-after").onclick = () => next(1);
  byId("barrier").max = Data.rounds;
  for (const id of ["barrier", "barrier-before", "barrier-after"]) byId(id).disabled = Data.rounds === 0;
  const worst = Tell.worst(5);
  if (worst.length > 0) byId("worst").append("those that cost most: ");
  for (const round of worst) line(byId("worst"), "button", round + 1 + (Data.team[round] === null ? "" : " (team " + Data.team[round] + ")") + ": " + Tell.name(Data.lastNode[round])).onclick = () => ask(round, Data.lastNode[round]);

  const occurs = ([name]) => kinds.some((kind) => kind.class === name);
  const legend = [["computing", "computing"], ...Data.classes.filter(occurs), ["send", "messages sent"], ["handler", "handlers"], ["path", "critical path"]];
  for (const [name, text] of legend) line(byId("legend"), "span", text).style.setProperty("--c", "var(--t-" + name + ")");

  View.resize();
  refresh();
  statistics();
  if (worst.length > 0) ask(worst[0], Data.lastNode[worst[0]]);
  else ask(0, 0);
})();
