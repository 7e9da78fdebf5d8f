"use strict";
// Mouse, keys and buttons. This file alone changes the mapping and the traffic; the others show them.
(function () {
  const byId = (id) => document.getElementById(id);
  const svg = Draw.svg;
  const past = [];
  let ahead = []; // what was undone
  let now = { world: Model.given, mapping: Model.known.present, traffic: Model.recorded() };
  let chosen = null; // the item that was touched last
  let target = null; // the position that it would go to
  let open = null; // the rank whose accesses are open, or "all": the panel in which things are made
  let held = null; // while an item is dragged: { item, clientX, clientY, far }
  let width = 0; // of the drawing when it was drawn, in pixels
  const hidden = new Set();
  let shown = null;

  // --- showing -------------------------------------------------------------------------------------

  const ask = { toggle, edit, add, make, remove, set, move, open: openAccesses, close };

  // Bills of the known mappings change with the traffic only.
  let bills = { traffic: null };
  function known(name) {
    if (bills.traffic !== now.traffic) bills = { traffic: now.traffic };
    bills[name] ??= Model.bill(Model.known[name], now.traffic);
    return bills[name];
  }

  function collect() {
    Model.enter(now.world);
    const bill = Model.bill(now.mapping, now.traffic);
    // Of another world than Rust's nobody has asked what would be best.
    const of = (name) => (isGiven() ? known(name) : null);
    return { ...now, bill, ofPresent: of("present"), ofProposal: of("proposal"), chosen, target, hidden };
  }

  function refresh() {
    shown = collect();
    // First, because it changes the width that is left for the drawing.
    Panel.accesses(shown, open, ask);
    width = svg.parentNode.clientWidth;
    Draw.all(shown);
    Panel.totals(shown);
    Panel.tables(shown);
    Panel.legend(shown, ask);
    byId("undo").disabled = past.length === 0;
    byId("redo").disabled = ahead.length === 0;
    byId("edit").setAttribute("aria-pressed", open === "all");
    byId("save-machines").hidden = now.world.net === null;
    for (const name of ["present", "proposal", "identity"]) {
      byId("to-" + name).disabled = !isGiven();
      byId("to-" + name).setAttribute("aria-pressed", isGiven() && same(now.mapping, Model.known[name]));
    }
  }

  function aim() {
    shown = { ...shown, chosen, target };
    Draw.aim(shown);
  }

  function show(rank) {
    open = rank;
    refresh();
  }

  function close() {
    const wasEditor = open === "all";
    show(null);
    if (wasEditor) byId("edit").focus();
    else focus(chosen);
  }

  const isGiven = () => now.world === Model.given;
  const focus = (item) => item && Draw.tileOf(item)?.focus();
  const listOf = (item) => (item.kind === "rank" ? now.mapping.ranks : now.mapping.segments);
  const place = (position) => Model.nameOf(position);
  const same = (a, b) => String(a.ranks) === String(b.ranks) && String(a.segments) === String(b.segments);

  // --- changes -------------------------------------------------------------------------------------

  // A step that can be undone. `next` has what is another one now, of world, mapping and traffic.
  function step(next) {
    past.push(now);
    ahead = [];
    become({ ...now, ...next });
  }

  // What was chosen or open may have another number now, or be gone.
  function become(next) {
    if (next.world !== now.world) {
      held = null; // what is dragged may be gone
      const { ranks, names } = next.world;
      const same = ranks.length === now.world.ranks.length && names.length === now.world.names.length;
      if (!same) chosen = null;
      if (typeof open === "number" && ranks.length !== now.world.ranks.length) open = null;
    }
    now = next;
    target = null;
    refresh();
  }

  function total() {
    const { bill, ofPresent } = shown;
    if (!Number.isFinite(bill.cost)) return "some accesses have no way: links are missing";
    const compared = ofPresent ? ", " + Panel.percent(Panel.difference(bill.cost, ofPresent.cost)) + " against present" : "";
    return "total " + Draw.time(bill.cost) + compared;
  }

  function arrange(mapping, what) {
    if (same(mapping, now.mapping)) {
      target = null;
      aim();
      return Panel.say(what + ": nothing moves");
    }
    step({ mapping });
    Panel.say(what + ": " + total());
  }

  function move(item, position) {
    const from = listOf(item)[item.number];
    const mapping = Model.moved(now.mapping, item, position);
    arrange(mapping, Draw.nameOf(item) + " from " + place(from) + " to " + place(position));
  }

  function undo() {
    if (!past.length) return;
    ahead.push(now);
    become(past.pop());
    Panel.say("undone: " + total());
  }

  function redo() {
    if (!ahead.length) return;
    past.push(now);
    become(ahead.pop());
    Panel.say("done again: " + total());
  }

  // Where it cannot be, the sentence of the error says why.
  function attempt(what, make) {
    try {
      step(make());
    } catch (error) {
      refresh();
      return Panel.say(error.message);
    }
    Panel.say(what + ": " + total());
  }

  function make(kind) {
    attempt("made a " + Edit.called({ kind, number: "" }, " ").trim(), () => Change.make[kind](now));
  }

  function nameOf({ kind, number }) {
    if (kind === "access") return Model.targetKind(now.traffic[number]) === "rank" ? "a message" : "an access";
    const { net, ranks, names } = now.world;
    const name = { machine: () => net.machines[number], link: () => net.links[number].name, rank: () => ranks[number], segment: () => names[number] }[kind]();
    return Edit.called({ kind, number }, name);
  }

  function remove(thing) {
    attempt("deleted " + nameOf(thing), () => Change.remove(now, thing));
  }

  function set(thing, field, value) {
    attempt("changed " + nameOf(thing), () => Change.set(now, thing, field, value));
  }

  function edit(index, field, value) {
    step({ traffic: now.traffic.map((access, at) => (at === index ? { ...access, [field]: value } : access)) });
    Panel.say("edited: " + total());
  }

  function add(access) {
    step({ traffic: [...now.traffic, access] });
    Panel.say("added: " + total());
  }

  function toggle(kind) {
    if (!hidden.delete(kind)) hidden.add(kind);
    Draw.aim(shown);
  }

  // --- mouse and touch -----------------------------------------------------------------------------

  function itemAt(event) {
    const tile = event.target.closest("[data-kind]");
    return tile && { kind: tile.dataset.kind, number: Number(tile.dataset.number) };
  }

  // What a move would bring, in a sentence.
  function preview(item, position) {
    const others = now.mapping.ranks.indexOf(position);
    const swap = item.kind === "rank" && others >= 0 && others !== item.number;
    const next = Model.bill(Model.moved(now.mapping, item, position), now.traffic);
    const more = Panel.percent(Panel.difference(next.cost, shown.bill.cost));
    const difference = more === "same" ? "as now" : more;
    const where = place(position) + (swap ? ", swapping with " + Draw.nameOf({ kind: "rank", number: others }) : "");
    return Draw.nameOf(item) + " at " + where + ": total " + Draw.time(next.cost) + ", " + difference;
  }

  function aimAt(position) {
    if (position === target) return;
    target = position;
    aim();
    if (target !== null) Panel.say(preview(chosen, target));
  }

  svg.addEventListener("pointerdown", function (event) {
    const item = itemAt(event);
    if (event.button !== 0) return;
    if (!item) {
      chosen = target = null;
      return aim();
    }
    event.preventDefault();
    chosen = item;
    target = null;
    focus(item);
    aim();
    held = { item, clientX: event.clientX, clientY: event.clientY, far: false };
  });

  addEventListener("pointermove", function (event) {
    if (!held) return;
    held.far ||= Math.hypot(event.clientX - held.clientX, event.clientY - held.clientY) > 5;
    if (!held.far) return;
    const { point, position } = Draw.locate(event.clientX, event.clientY);
    const tile = Draw.tileOf(held.item);
    tile.classList.add("held");
    tile.setAttribute("transform", "translate(" + point.x + " " + point.y + ")");
    aimAt(position === listOf(held.item)[held.item.number] ? null : position);
  });

  function release(drop) {
    if (!held) return;
    const { item, far } = held;
    held = null;
    Draw.tileOf(item).classList.remove("held");
    if (!far) return;
    if (drop && target !== null) return move(item, target);
    target = null;
    refresh();
  }
  addEventListener("pointerup", () => release(true));
  addEventListener("pointercancel", () => release(false));

  svg.addEventListener("dblclick", function (event) {
    const item = itemAt(event);
    if (item && item.kind === "rank") openAccesses(item.number);
    else if (item) openName(item);
  });

  function openName(item) {
    show("all");
    Edit.focusName(item);
  }

  function openAccesses(rank) {
    show(rank);
    Panel.focusAccesses();
  }

  // --- keys ----------------------------------------------------------------------------------------

  const ARROWS = { ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 }, ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 } };

  svg.addEventListener("focusin", function (event) {
    const item = itemAt(event);
    if (!item || (chosen && item.kind === chosen.kind && item.number === chosen.number)) return;
    chosen = item;
    target = null;
    aim();
    Panel.say(Draw.tileOf(item).getAttribute("aria-label"));
  });

  svg.addEventListener("keydown", function (event) {
    const item = itemAt(event);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const own = listOf(item)[item.number];
    if (ARROWS[event.key]) {
      const next = Draw.beside(target ?? own, ARROWS[event.key]);
      if (next !== null) aimAt(next === own ? null : next);
      if (next === own) Panel.say(Draw.nameOf(item) + " stays at " + place(own));
    } else if (event.key === "Enter" || event.key === " ") {
      if (target !== null) move(item, target);
    } else if (event.key === "Escape") {
      aimAt(null);
      Panel.say(Draw.nameOf(item) + " stays at " + place(own));
    } else if (event.key === "e" && item.kind === "rank") openAccesses(item.number);
    else if (event.key === "e" || event.key === "F2") openName(item);
    else if (event.key === "Delete") remove(item);
    else return;
    event.preventDefault();
  });

  addEventListener("keydown", function (event) {
    const isTyped = event.target.tagName === "INPUT";
    if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyped) return;
    const letter = event.key.toLowerCase();
    if (letter === "z" && !event.shiftKey) undo();
    else if (letter === "y" || letter === "z") redo();
    else return;
    event.preventDefault();
  });

  byId("side").addEventListener("keydown", (event) => event.key === "Escape" && ask.close());

  // --- buttons -------------------------------------------------------------------------------------

  for (const name of ["present", "proposal", "identity"]) {
    byId("to-" + name).addEventListener("click", () => arrange(Model.known[name], name));
  }

  // What it is to make small is not known without loads of links.
  byId("best-swap").disabled = Model.answer.objective.link > 0 && !Model.given.machine.routes;
  byId("best-swap").addEventListener("click", function () {
    const best = Model.bestMove(now.mapping, now.traffic);
    if (!best) return Panel.say("no single move or swap makes it better");
    chosen = best.item;
    const list = best.item.kind === "rank" ? "ranks" : "segments";
    arrange(best.mapping, Draw.nameOf(best.item) + " to " + place(best.mapping[list][best.item.number]));
  });

  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("edit").addEventListener("click", function () {
    if (open === "all") return close();
    show("all");
    Edit.focusOn((now.world.net ? "machine" : "rank") + ":new");
  });

  byId("load").addEventListener("click", () => byId("load-file").click());
  byId("load-file").addEventListener("change", async function () {
    const [file] = byId("load-file").files;
    if (!file) return;
    const text = await file.text();
    // The same file can be chosen once more.
    byId("load-file").value = "";
    attempt("loaded " + file.name, () => Files.load(text, now));
  });

  function save(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  byId("save-map").addEventListener("click", () => save("ranks.map", "text/plain", Files.mapText(now.mapping)));
  byId("save-matrix").addEventListener("click", function () {
    save(Model.hasSegments ? "segments.json" : "matrix.json", "application/json", Files.trafficText(now.mapping, now.traffic));
  });
  byId("save-machines").addEventListener("click", () => save("machines.json", "application/json", Files.topologyText(now.world.net)));
  byId("save-matrix").textContent = Model.hasSegments ? "save segments" : "save matrix";
  byId("save-map").title = "where ranks are now, for gasnetrun_sci --map and gasnet-sci place --from";
  byId("save-matrix").title = Model.hasSegments
    ? "processes, segments and accesses as they are now"
    : "the traffic as it is now, with the present mapping";

  // --- beginning -----------------------------------------------------------------------------------

  document.documentElement.classList.add("scripted");
  refresh();
  // Of a page with nothing on it the panel is the beginning.
  if (!now.world.ranks.length) show("all");
  // Drawing anew in the observer itself would change what it observes.
  const redraw = () => held || svg.parentNode.clientWidth === width || refresh();
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(svg.parentNode);
})();
