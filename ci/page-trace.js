// Checks that the browser makes in a page of gasnet-sci trace, for ci/page, which appends this to a copy of it. The run is the one of
// ci/trace-made.awk: 4 nodes, 400 rounds, node 2 late. The result is as in page.js.
"use strict";
(function () {
  const results = [];
  const check = (what, good, found) => results.push(good ? "ok " + what : what + ": " + found);
  const byId = (id) => document.getElementById(id);
  const canvas = byId("timeline");
  const picture = () => {
    Draw.paint();
    return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const colours = (data) => new Set(new Uint32Array(data.buffer)).size;
  const differ = (one, two) => one.some((byte, at) => byte !== two[at]);

  // --- what was unpacked is what was made
  check("events are unpacked", Data.count === 4 * 400 * 6 + 4 * 50 * 2 + waits() && waits() > 1000, Data.count);
  function waits() {
    const kind = Data.kinds.findIndex((kind) => kind.name === "AM_WAIT");
    return Data.kind.reduce((sum, one) => sum + (one === kind ? 1 : 0), 0);
  }
  const sorted = Data.nodes.every((_, node) => {
    for (let event = Data.first[node] + 1; event < Data.first[node + 1]; event++) if (Data.begin[event] < Data.begin[event - 1]) return false;
    return true;
  });
  check("events are in order", sorted, "they are not");
  const arrived = [...Data.origin.keys()].filter((event) => Data.origin[event] >= 0);
  check("all messages arrive", arrived.length === 2 * 4 * 400, arrived.length);
  const wrong = arrived.filter((event) => {
    const sent = Data.origin[event];
    return Data.arrival[sent] !== event || Data.begin[sent] > Data.begin[event] || Data.bytes[sent] !== Data.bytes[event] || Data.nodes[Data.nodeOf(sent)].rank !== Data.peer[event] || Data.nodes[Data.nodeOf(event)].rank !== Data.peer[sent];
  });
  check("messages belong to their arrivals", wrong.length === 0, wrong.length + " do not");
  check("barriers are unpacked", Data.rounds === 50, Data.rounds);
  const table = document.querySelector("pre.table").textContent;
  const counts = Data.kinds.map((_, kind) => Data.nodes.map((_, node) => (Sums.of(node, 0, Data.end).counts.get(kind) || { count: 0 }).count));
  const missing = Data.kinds.filter((kind, at) => counts[at].some((count, node) => count > 0 && !new RegExp("^ +" + node + " \\(" + kind.letter + "\\) " + kind.name + " +" + count + "\\b", "m").test(table)));
  check("counts are those of the table", missing.length === 0, missing.map((kind) => kind.name));

  // --- what is painted
  const whole = picture();
  check("the run is painted", colours(whole) > 8, colours(whole) + " colours");
  const wheel = (deltaY, x) => {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX: x, clientY: box.top + 60, bubbles: true, cancelable: true }));
  };
  // Where a wheel turns is a whole number of pixels.
  const place = Math.ceil(canvas.getBoundingClientRect().left) + 500;
  const anchor = place - canvas.getBoundingClientRect().left;
  const pointed = View.time(anchor);
  for (let turn = 0; turn < 30; turn++) wheel(-100, place);
  check("the wheel zooms around the pointer", View.to - View.from < Data.end / 100 && Math.abs(View.x(pointed) - anchor) < 2, View.from + " to " + View.to);
  check("zooming changes the picture", differ(whole, picture()), "it does not");
  const pointer = (type, id, x, y, more) => {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, clientX: box.left + x, clientY: box.top + y, bubbles: true, ...more }));
  };
  const before = View.from;
  pointer("pointerdown", 1, 300, 80);
  pointer("pointermove", 1, 260, 80);
  pointer("pointermove", 1, 200, 80);
  pointer("pointerup", 1, 200, 80);
  check("dragging moves", Math.abs(View.from - before - (100 * (View.to - View.from)) / (View.width - View.LEFT)) < 2 + (5 * (View.to - View.from)) / View.width, View.from - before);
  const span = View.to - View.from;
  pointer("pointerdown", 1, 300, 80);
  pointer("pointerdown", 2, 320, 80);
  pointer("pointermove", 1, 280, 80);
  pointer("pointermove", 2, 340, 80);
  pointer("pointerup", 1, 280, 80);
  pointer("pointerup", 2, 340, 80);
  check("two fingers zoom", View.to - View.from < span * 0.5, (View.to - View.from) / span);
  byId("fit").click();
  check("all is shown again", View.from === 0 && View.to === Data.end, View.from + " to " + View.to);
  for (const what of ["messages", "barriers", "path"]) {
    const with_ = picture();
    byId("show-" + what).click();
    check(what + " can be hidden", differ(with_, picture()), "nothing changes");
    byId("show-" + what).click();
  }
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
  check("keys zoom", View.to - View.from < Data.end, View.to - View.from);
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  const [x, y] = [View.x(Data.begin[Data.first[1] + 5]), View.y(1) + View.row / 2];
  pointer("pointermove", 9, x, y);
  check("hovering tells what is there", !byId("tip").hidden && /node 1 at /.test(byId("tip").textContent), byId("tip").textContent);

  // --- sums of a span
  pointer("pointerdown", 1, View.x(Data.end / 4), 80, { shiftKey: true });
  pointer("pointermove", 1, View.x(Data.end / 2), 80);
  pointer("pointerup", 1, View.x(Data.end / 2), 80);
  const marked = View.marked || [0, 0];
  check("a span is marked", Math.abs(marked[0] - Data.end / 4) < Data.end / 500 && Math.abs(marked[1] - Data.end / 2) < Data.end / 500, marked);
  check("its statistics are shown", byId("span-rows").rows.length === 4 && /marked span/.test(byId("span-name").textContent), byId("span-rows").rows.length);
  const parts = [0, 0.3, 0.31, 1].map((share) => share * Data.end);
  const sum = (of) => [0, 1, 2].reduce((all, at) => all + of(Sums.of(2, parts[at], parts[at + 1])), 0);
  const all = Sums.of(2, 0, Data.end);
  check("sums of parts are those of the whole", Math.abs(sum((sums) => sums.computing) - all.computing) < 10 && Math.abs(sum((sums) => sums.time[0]) - all.time[0]) < 10, sum((sums) => sums.computing) + " of " + all.computing);
  byId("unmark").click();

  // --- words
  const late = Tell.worst(1)[0];
  const found = Tell.compare(late, 2);
  const why = Tell.reason(found);
  check("node 2 was late because it computed", why && why.key === "computing" && why.most > 20000, why && why.key);
  const last = [...Data.lastNode].filter((node) => node === 1 || node === 2).length;
  check("node 2 comes last, or node 1, which waits for it", last === 50, last);
  byId("barrier").value = late + 1;
  byId("barrier").dispatchEvent(new Event("change"));
  check("a barrier is told", /barrier \d+/.test(byId("answer").textContent) && byId("answer").querySelectorAll("tbody tr").length >= 3, byId("answer").textContent);
  byId("node").value = 1;
  byId("node").dispatchEvent(new Event("change"));
  const said = byId("answer").textContent;
  check("a node is told", /^Node 1 /.test(said) && /In the whole run node 1 came last to \d+ of 50 barriers/.test(said), said);
  const waited = Tell.compare(late, 1);
  check("who waits for the late node says so", waited.sums.ended.has(2) && waited.sums.ended.get(2).unsent > 20000, [...waited.sums.ended.keys()]);
  byId("show-it").click();
  check("what is told is shown", View.to - View.from < Data.end / 5 && Data.latest[late] < View.to, View.from + " to " + View.to);
  const path = new Map();
  for (const piece of Data.path) path.set(piece.node, (path.get(piece.node) || 0) + piece.end - piece.begin);
  check("the critical path is mostly on node 2", [...path].sort((a, b) => b[1] - a[1])[0][0] === 2, [...path].join(" "));

  const light = picture();
  byId("theme").click();
  check("light and dark differ", differ(light, picture()), "they do not");
  byId("theme").click();
  check("nothing overflows", document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollWidth + " > " + innerWidth);
  check("nothing is loaded", performance.getEntriesByType("resource").length === 0, "something is");
  check("no script failed", !window.pageErrors, window.pageErrors);

  const out = document.createElement("pre");
  out.id = "page-check";
  out.textContent = results.join(";").replace(/[<&]/g, "?");
  document.body.append(out);
})();
