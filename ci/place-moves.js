// Moving what Rust has placed, by mouse, keys and buttons, and editing its accesses: costs and loads are those of Rust. For ci/place.js.
"use strict";

function play(id) {
  const its = open(id);
  const { one, all, answer, figures, click, tile, key, drag } = its;
  const at = (figures) => String([figures.ranks, figures.segments]);
  const whole = (figures) => JSON.stringify(figures);
  const beginning = figures();
  compare("present", beginning, answer, 1);
  check("at first nothing can be undone", one("#undo").disabled, "it can");
  click("#to-proposal");
  compare("proposal", figures(), answer, 2);
  click("#to-identity");
  compare("identity", figures(), answer, 0);
  while (!one("#undo").disabled) click("#undo");
  check("undo brings the present mapping back", whole(figures()) === whole(beginning), "it does not");

  // The rank 0 goes to where the last one is.
  const last = beginning.ranks.length - 1;
  const [own, target] = [beginning.ranks[0], beginning.ranks[last]];
  drag("rank", 0, target);
  const dragged = figures();
  check("a dragged rank swaps", dragged.ranks[0] === target && dragged.ranks[last] === own, dragged.ranks);
  check("all others stay", dragged.ranks.slice(1, last).join() === beginning.ranks.slice(1, last).join(), dragged.ranks);
  click("#undo");
  check("undo takes the swap back", whole(figures()) === whole(beginning), "it does not");
  byKeys(its, "rank", 0, target);
  check("keys do what the mouse does", whole(figures()) === whole(dragged), at(figures()));
  key(tile("rank", 0), "z", { ctrlKey: true });
  check("Ctrl+Z takes it back", whole(figures()) === whole(beginning), "it does not");
  tile("rank", 0).focus();
  for (const arrow of ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"]) if (!one(".slot.target")) key(tile("rank", 0), arrow);
  check("arrows aim and tell", one(".slot.target") !== null && /total/.test(one("#said").textContent), one("#said").textContent);
  key(tile("rank", 0), "Escape");
  key(tile("rank", 0), "Enter");
  check("Escape lets go", one(".slot.target") === null && whole(figures()) === whole(beginning), "it does not");

  best(its, beginning);
  const lines = all(".line").length;
  lined(its, lines);

  // What Rust is to say the costs of.
  drag("rank", 0, target);
  if (answer.segments) moveSegment(its);
  const moved = figures();
  check("a drop far from any position moves nothing", missed(its, moved), "it does");
  click("#save-map");
  click("#save-matrix");
  edited(its, moved);
  const changed = figures();
  click("#save-matrix");
  const [map, traffic, later] = its.view.saved;
  const remarks = map.split("\n").filter((line) => line.startsWith("# segment "));
  const expected = moved.segments.map((at, number) => "# segment " + answer.segments.names[number] + " at " + answer.machine.places[at]);
  check("the map says where segments are", String(remarks) === String(expected), remarks);
  out("kept-map", coded(map));
  out("kept-dragged", coded(traffic));
  out("kept-edited", coded(later));
  // A matrix is read with the present mapping.
  if (!answer.segments) click("#to-present");
  out("kept-figures", coded(JSON.stringify({ dragged: moved, edited: answer.segments ? changed : figures() })));
  while (!one("#undo").disabled) click("#undo");
  check("undo takes edits back", whole(figures()) === whole(beginning), "it does not");
}

// Moves an item by arrows: each goes into the direction in which most of the way is left.
function byKeys({ one, tile, slot, middle, key }, kind, number, position) {
  const item = tile(kind, number);
  item.focus();
  const aimed = () => one(".slot.target") ?? one(".slot.from");
  for (let step = 0; step < 40 && aimed().dataset.position !== String(position); step++) {
    const from = middle(aimed().querySelector("rect"));
    const to = middle(slot(position));
    const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY];
    const sideways = Math.abs(x) > Math.abs(y);
    key(item, sideways ? (x > 0 ? "ArrowRight" : "ArrowLeft") : y > 0 ? "ArrowDown" : "ArrowUp");
  }
  key(item, "Enter");
}

// The best swap is the best of all single moves, and the objective counts.
function best({ answer, figures, drag, click, one }, beginning) {
  const { cost, link } = answer.objective;
  const value = (figures) => cost * figures.cost + link * figures.busiest;
  let smallest = value(beginning);
  const tried = (kind, number) => {
    for (let position = 0; position < answer.machine.positions; position++) {
      drag(kind, number, position);
      smallest = Math.min(smallest, value(figures()));
      if (!one("#undo").disabled) click("#undo");
    }
  };
  beginning.ranks.forEach((_, rank) => tried("rank", rank));
  beginning.segments.forEach((_, segment) => tried("segment", segment));
  click("#best-swap");
  check("best swap is the best of all", near(value(figures()), smallest), value(figures()) + " instead of " + smallest);
  for (let more = 0; more < 50 && !/no single/.test(one("#said").textContent); more++) {
    const before = value(figures());
    click("#best-swap");
    if (value(figures()) > before) check("best swap never makes it worse", false, before);
  }
  check("best swap ends", /no single/.test(one("#said").textContent), one("#said").textContent);
  while (!one("#undo").disabled) click("#undo");
}

function lined({ view, all, one }, lines) {
  const colour = (kind) => one(".line." + kind) && view.getComputedStyle(one(".line." + kind)).color;
  check("writes and reads differ in colour", colour("writes") && colour("reads") && colour("writes") !== colour("reads"), colour("reads"));
  let fewest = lines;
  for (const box of all("#legend input")) {
    box.click();
    fewest = Math.min(fewest, all(".line").length);
  }
  check("kinds of lines can be hidden", all(".line").length === 0 && fewest === 0, all(".line").length);
  all("#legend input").forEach((box) => box.click());
  check("and shown", all(".line").length === lines, all(".line").length);
}

function moveSegment({ answer, figures, drag, click }) {
  const before = figures();
  const position = (before.segments[0] + 1) % answer.machine.positions;
  drag("segment", 0, position);
  const after = figures();
  // Where there is no room, the first one there takes its place.
  const there = before.segments.map((at, number) => number).filter((number) => number > 0 && before.segments[number] === position);
  const expected = [position, ...before.segments.slice(1)];
  if (there.length >= (answer.segments.room ?? Infinity)) expected[there[0]] = before.segments[0];
  check("a dragged segment moves, or swaps if there is no room", String(after.segments) === String(expected), after.segments);
  check("processes stay", after.ranks.join() === before.ranks.join(), after.ranks);
  click("#undo");
  byKeys(open("wide"), "segment", 0, position);
  check("keys move a segment as the mouse does", JSON.stringify(figures()) === JSON.stringify(after), figures().segments);
}

function missed({ view, tile, middle, figures }, before) {
  const from = middle(tile("rank", 0));
  const send = (target, type, at) => target.dispatchEvent(new view.PointerEvent(type, { ...at, bubbles: true, button: 0, pointerId: 1 }));
  send(tile("rank", 0), "pointerdown", from);
  send(view, "pointermove", { clientX: -200, clientY: -200 });
  send(view, "pointerup", { clientX: -200, clientY: -200 });
  return JSON.stringify(figures()) === JSON.stringify(before);
}

// One operation more changes the total by alpha, one byte more by beta; both stay.
function edited(its, before) {
  const { view, one, all, answer, figures, tile, set, click } = its;
  tile("rank", 0).dispatchEvent(new view.MouseEvent("dblclick", { bubbles: true }));
  check("a double click opens the accesses", !one("#side").hidden && all("#side tbody tr").length > 0, one("#side").textContent);
  const rows = all("#side tbody tr").map((row) => [...row.cells].map((cell) => cell.textContent));
  const wanted = rows.findIndex(([, kind]) => kind === (answer.segments ? "read" : "put"));
  const [to, kind] = rows[Math.max(0, wanted)];
  const [count, bytes] = ["count", "bytes"].map((field) => all("#side tbody tr")[Math.max(0, wanted)].querySelector("[data-field=" + field + "]"));
  const other = to.split(" ")[1];
  const { machine, segments } = answer;
  const number = segments ? segments.names.indexOf(other) : Number(other);
  const level = machine.level[before.ranks[0]][(segments ? before.segments : before.ranks)[number]];
  let alpha, beta;
  if (segments) {
    alpha = segments.access.find((entry) => entry.read === (kind === "read") && entry.bytes === Number(bytes.value)).ns[level];
    const [, perByte] = machine.costs[machine.classes.indexOf(kind)][level];
    beta = (Number(count.value) + 1) * (segments.whole_packets ? 64 : 1) * perByte;
  } else [alpha, beta] = machine.costs[machine.classes.indexOf("write")][level];
  const exactly = (difference, expected) => Math.abs(difference - expected) <= 1e-12 * before.cost;
  set(count, Number(count.value) + 1);
  const more = figures();
  check("an operation more costs alpha", exactly(more.cost - before.cost, alpha), more.cost - before.cost + " instead of " + alpha);
  set(bytes, Number(bytes.value) + 1);
  const larger = figures();
  check("a byte more costs beta", exactly(larger.cost - more.cost, beta), larger.cost - more.cost + " instead of " + beta);
  check("links follow", segments || !larger.links.length || larger.links.some(([, load], at) => load !== before.links[at][1]) || level === 0, "they do not");
  set(count, "-1");
  check("what is no count is refused", figures().cost === larger.cost && count.hasAttribute("aria-invalid"), figures().cost);
  set(count, Number(rows.length));
  const listed = all("#side tbody tr").length;
  click("#side .add button");
  check("an access can be added", all("#side tbody tr").length === listed + 1, all("#side tbody tr").length);
  const last = before.ranks.length - 1;
  tile("rank", last).dispatchEvent(new view.MouseEvent("dblclick", { bubbles: true }));
  const size = one('#side [data-field="bytes"]');
  const earlier = figures();
  set(size, Number(size.value) + 1000);
  check("another rank's accesses can be edited too", figures().cost > earlier.cost, figures().cost);
  const root = its.page.documentElement;
  check("accesses fit the page", root.scrollWidth <= root.clientWidth, root.scrollWidth);
  uncutWithLargest(its, "accesses at 1280");
  click("#close");
  check("and are closed", one("#side").hidden, "they are not");
}
