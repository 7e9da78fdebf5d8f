// Checks that the browser makes of pages of gasnet-sci place, for ci/place, which puts the pages into frames of one document. The
// results are elements that --dump-dom shows: "ok WHAT" or "WHAT" for each check, separated by ";", and what Rust is to read next.
//
// Frames: wide, narrow (scripts run), plain (no scripts); look-* are looked at only; made-* begin empty, and everything on them is made
// by hand; fixed begins with what Rust placed, and is edited; later-* are pages that Rust made of what was saved, and EARLIER has the figures
// that the page had then, by name.
"use strict";
addEventListener("load", async function () {
  const results = [];
  const check = (what, good, found) => results.push(good ? "ok " + what : what + ": " + found);
  const frame = (id) => document.getElementById(id);
  const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
  const coded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  function out(id, text) {
    document.body.append(Object.assign(document.createElement("pre"), { id, textContent: text }));
  }

  // A page as a user has it: elements, figures with all digits, mouse and keys.
  function open(id) {
    const view = frame(id).contentWindow;
    const page = frame(id).contentDocument;
    const one = (selector) => page.querySelector(selector);
    const all = (selector) => [...page.querySelectorAll(selector)];
    const answer = JSON.parse(one("#placement").textContent);
    const value = (key) => Number(one('[data-now="' + key + '"]').dataset.value);
    const tile = (kind, number) => one('[data-kind="' + kind + '"][data-number="' + number + '"]');
    const middle = (element) => {
      const box = element.getBoundingClientRect();
      return { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    };
    const slot = (position) => one('.slot[data-position="' + position + '"] > rect');
    const figures = () => ({
      ranks: answer.mappings[0].at.map((_, rank) => value("place:" + rank)),
      segments: answer.segments ? answer.segments.names.map((_, number) => value("segment:" + number)) : [],
      cost: Number(one("#total").dataset.value), row: value("cost"), writes: value("writes"), reads: value("reads"),
      busiest: Number(one("#busiest").dataset.value),
      nodes: answer.mappings[0].at.map((_, rank) => [value("writes:" + rank), value("reads:" + rank)]),
      links: all('[data-now^="bytes:"]').map((cell) => [Number(cell.dataset.now.slice(6)), Number(cell.dataset.value)]),
    });
    function drag(kind, number, position, pointerType = "mouse") {
      const from = middle(tile(kind, number));
      const to = middle(slot(position));
      const send = (target, type, at) =>
        target.dispatchEvent(new view.PointerEvent(type, { ...at, bubbles: true, cancelable: true, button: 0, pointerType, pointerId: 1 }));
      send(tile(kind, number), "pointerdown", from);
      for (const part of [0.3, 0.7, 1]) {
        const at = { clientX: from.clientX + part * (to.clientX - from.clientX), clientY: from.clientY + part * (to.clientY - from.clientY) };
        send(view, "pointermove", at);
      }
      send(view, "pointerup", to);
    }
    const key = (element, name, more = {}) =>
      element.dispatchEvent(new view.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
    const click = (selector) => one(selector).click();
    const set = (input, text) => {
      input.value = text;
      input.dispatchEvent(new view.Event("change", { bubbles: true }));
    };
    return { view, page, one, all, answer, value, tile, middle, slot, figures, drag, key, click, set };
  }

  // The figures of a page against those of Rust for the mapping of number `number` in its answer.
  function compare(what, figures, answer, number) {
    const mapping = answer.mappings[number];
    const segments = answer.segments ? answer.segments.mappings[number].at : [];
    check(what + ": positions", String([figures.ranks, figures.segments]) === String([mapping.at, segments]), figures.ranks + " instead of " + mapping.at);
    for (const part of ["cost", "writes", "reads"]) {
      check(what + ": " + part, near(figures[part], mapping[part]), figures[part] + " instead of " + mapping[part]);
    }
    check(what + ": the table has the total", figures.row === figures.cost, figures.row + " beside " + figures.cost);
    const wrongNodes = figures.nodes.filter((node, rank) => !node.every((ns, part) => near(ns, mapping.nodes[rank][part])));
    check(what + ": costs of nodes", wrongNodes.length === 0, wrongNodes.length + " are wrong");
    const wrongLinks = figures.links.filter(([link, bytes]) => !near(bytes, mapping.links[link]));
    check(what + ": loads of links", wrongLinks.length === 0, wrongLinks.length + " are wrong");
    // Links without a line carry nothing.
    const listed = new Set(figures.links.map(([link]) => link));
    check(what + ": all loads are listed", mapping.links.every((bytes, link) => bytes === 0 || listed.has(link)), "not all");
    const busiest = mapping.busiest ? mapping.busiest.ns : 0;
    check(what + ": busiest link", near(figures.busiest, busiest), figures.busiest + " instead of " + busiest);
  }

  // --- what every page must have -------------------------------------------------------------------

  function sound(id, positions = open(id).answer.machine.positions) {
    const { view, page, all, one, answer } = open(id);
    const broken = all("svg *").filter((part) => [...part.attributes].some((a) => /NaN|Infinity|undefined|null/.test(a.value)));
    check(id + ": every place is a number", broken.length === 0, broken.length + " are not");
    check(id + ": every position is drawn", all(".slot").length === positions, all(".slot").length);
    const box = one("#drawing").viewBox.baseVal;
    const slots = all(".slot").map((slot) => slot.getAttribute("transform").match(/-?[\d.]+/g).map(Number));
    const outside = slots.filter(([x, y]) => !(x > 20 && x < box.width - 20 && y > 20 && y < box.height - 20));
    check(id + ": positions are inside", outside.length === 0, outside.length + " are not");
    const close = slots.filter(([x, y], at) => slots.some(([u, v], other) => other < at && Math.abs(u - x) < 40 && Math.abs(v - y) < 40));
    check(id + ": positions do not overlap", close.length === 0, close.length + " do");
    const root = page.documentElement;
    check(id + ": nothing overflows", root.scrollWidth <= root.clientWidth, root.scrollWidth + " > " + root.clientWidth);
    check(id + ": tiles have names", all("[data-kind]").every((tile) => / at /.test(tile.getAttribute("aria-label")) && tile.tabIndex === 0), "not all");
    if (answer.machine.routes && answer.machine.links.length) {
      const loaded = all(".link").filter((link) => link.dataset.links.split(" ").some((number) => answer.mappings[1].links[number] > 0));
      const loads = all("#drawing .load").filter((label) => /\d/.test(label.textContent));
      check(id + ": loaded links have labels", loads.length === loaded.length && loaded.length > 0, loads.length + " of " + loaded.length);
      const colours = loaded.map((link) => view.getComputedStyle(link).color);
      const heat = loaded.map((link) => Number(link.style.getPropertyValue("--load")));
      check(id + ": the busiest link is hottest", Math.max(...heat) === 1 && heat.every((part) => part >= 0), heat);
      const idle = all(".link").find((link) => link.classList.contains("idle"));
      const cold = idle ? view.getComputedStyle(idle).color : colours[heat.indexOf(Math.min(...heat))];
      const alike = Math.min(...heat) === 1 && !idle;
      check(id + ": loads have colours", alike || cold !== colours[heat.indexOf(1)], cold);
    }
    return { view, page };
  }

  function quiet(id) {
    const { view } = open(id);
    check(id + ": no script failed", view.wrong.length === 0, view.wrong.join(" "));
    const asked = view.performance.getEntriesByType("resource").length;
    check(id + ": nothing is loaded", asked === 0, asked + " things are");
  }

  // --- everything that can be done -----------------------------------------------------------------

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
    let least = value(beginning);
    const tried = (kind, number) => {
      for (let position = 0; position < answer.machine.positions; position++) {
        drag(kind, number, position);
        least = Math.min(least, value(figures()));
        if (!one("#undo").disabled) click("#undo");
      }
    };
    beginning.ranks.forEach((_, rank) => tried("rank", rank));
    beginning.segments.forEach((_, segment) => tried("segment", segment));
    click("#best-swap");
    check("best swap is the best of all", near(value(figures()), least), value(figures()) + " instead of " + least);
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

  // Nothing in the panel of accesses is cut: no cell and no field is narrower than its text, and none ends outside of the panel.
  function uncut({ view, all, one }, when) {
    const pen = document.createElement("canvas").getContext("2d");
    const textOf = { INPUT: (input) => [input.value], SELECT: (select) => [...select.options].map((option) => option.text) };
    const edge = one("#side").getBoundingClientRect().right - parseFloat(view.getComputedStyle(one("#side")).paddingRight);
    const isCut = function (element) {
      const style = view.getComputedStyle(element);
      pen.font = [style.fontStyle, style.fontWeight, style.fontSize, style.fontFamily].join(" ");
      // The arrow of a list is beside its text.
      const beside = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + (element.tagName === "SELECT" ? 16 : 0);
      const widths = (textOf[element.tagName]?.(element) ?? []).map((text) => pen.measureText(text).width + beside);
      const { right } = element.getBoundingClientRect();
      return Math.max(element.scrollWidth, ...widths) > element.clientWidth + 0.5 || right > edge + 0.5;
    };
    for (const kind of ["h2", "th", "td", "input", "select", "button", ".scroll"]) {
      const cut = all("#side " + kind).filter(isCut);
      check(when + ": no " + kind + " is cut", cut.length === 0, cut.slice(0, 3).map((element) => (element.value || element.textContent).slice(0, 30)));
    }
  }

  // Also with the largest numbers that the fields take.
  function uncutWithLargest(its, when) {
    uncut(its, when);
    for (const field of ["count", "bytes"]) its.set(its.one('#side [data-field="' + field + '"]'), Number.MAX_SAFE_INTEGER);
    uncut(its, when + ", largest");
    its.click("#undo");
    its.click("#undo");
  }

  // --- making and deleting -------------------------------------------------------------------------

  // The panel as a user has it. Its fields and buttons are known by what assistive technology is told.
  function hands(id) {
    const its = open(id);
    const { view, page, one, all, set } = its;
    function control(label) {
      const found = all("#side [aria-label]").find((element) => element.ariaLabel === label);
      if (!found) throw new Error(id + ": there is no " + label + ", but " + all("#side [aria-label]").map((element) => element.ariaLabel));
      return found;
    }
    const said = () => one("#said").textContent;
    // A click as the pointer of a mouse or finger makes it: only what can be seen gets it.
    function press(element) {
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const box = element.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const there = page.elementFromPoint(x, y);
      if (!there || !(element === there || element.contains(there))) return check(id + ": " + (element.ariaLabel ?? element.id) + " can be reached", false, there?.outerHTML.slice(0, 90));
      element.click();
    }
    const make = (what, times = 1) => { for (let n = 0; n < times; n++) press(control("make a " + what)); };
    const rename = (what, from, to) => set(control("name of " + what + " " + from), to);
    // As the value of the option with this text.
    const choose = (label, text) => {
      const select = typeof label === "string" ? control(label) : label;
      const option = [...select.options].find((option) => option.text === text);
      if (!option) return check(id + ": " + text + " can be chosen", false, [...select.options].map((o) => o.text));
      set(select, option.value);
    };
    const listed = (what) => all("#side [aria-label]").map((element) => element.ariaLabel).filter((label) => label.startsWith("name of " + what)).length;
    // What the page shows now, whatever tables there are.
    const values = (key) => all('[data-now^="' + key + ':"]').filter((cell) => cell.offsetParent !== null).map((cell) => Number(cell.dataset.value));
    const figures = () => {
      const [places, writes, reads] = ["place", "writes", "reads"].map(values);
      const all = { cost: Number(one("#total").dataset.value), writes: Number(one("#writes").dataset.value), reads: Number(one("#reads").dataset.value) };
      return { ranks: places, segments: values("segment"), ...all, row: all.cost, busiest: Number(one("#busiest").dataset.value),
        nodes: writes.map((ns, rank) => [ns, reads[rank]]), links: values("bytes").map((bytes, link) => [link, bytes]) };
    };
    function addAccess(to, kind, count, bytes) {
      choose(one("#side select[name=to]"), to);
      if (kind) choose(one("#side select[name=kind]"), kind);
      press(one("#side .add button"));
      const rows = all("#side tbody tr");
      for (const [field, value] of [["count", count], ["bytes", bytes]]) set(all("#side tbody tr")[rows.length - 1].querySelector("[data-field=" + field + "]"), value);
    }
    async function load(text) {
      const data = new view.DataTransfer();
      data.items.add(new view.File([text], "loaded.json", { type: "application/json" }));
      const input = one("#load-file");
      input.files = data.files;
      input.dispatchEvent(new view.Event("change", { bubbles: true }));
      // The page forgets the file when it has it.
      while (input.files.length) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { ...its, control, said, press, make, rename, choose, listed, figures, addAccess, load };
  }

  const fitting = (id, { page }, when) => {
    const root = page.documentElement;
    check(id + ": nothing overflows, " + when, root.scrollWidth <= root.clientWidth, root.scrollWidth + " > " + root.clientWidth);
  };

  // Three machines in a row, three processes, two segments, a message; costs are known by hand.
  async function made(id) {
    const its = hands(id);
    const { one, all, control, said, press, make, rename, choose, listed, set, key, tile, drag, click, addAccess, load } = its;
    const now = its.figures;
    check(id + ": it begins empty, with the panel open", all("[data-kind]").length === 0 && !one("#side").hidden, all("[data-kind]").length);
    make("process");
    check(id + ": a process needs a machine", /machine/.test(said()) && one("#undo").disabled, said());
    make("link");
    check(id + ": a link needs two", /two machines/.test(said()), said());
    make("machine", 4);
    rename("machine", "machine0", "left");
    rename("machine", "machine1", "middle");
    rename("machine", "machine2", "right <b>");
    press(control("delete machine machine3"));
    check(id + ": machines are made, named and deleted", listed("machine") === 3 && all(".slot").length === 3, all(".slot").length);
    make("process", 3);
    make("segment", 3);
    rename("process", "process0", "master");
    rename("segment", "segment0", "queue");
    choose("where segment queue is", "right <b>");
    choose("where segment segment1 is", "middle");
    fitting(id, its, "panel");
    // One access before there is a way: it has no cost, and the page says so.
    press(control("accesses of process master"));
    addAccess("segment queue", "write", 3, 100);
    check(id + ": without links there is no way", /no way/.test(one("#total").textContent) && /no way/.test(said()), said());
    addAccess("segment queue", "read", 2, 10);
    addAccess("segment segment2", "write", 5, 8);
    addAccess("process process1", null, 7, 1000);
    fitting(id, its, "accesses");
    press(one("#edit"));
    make("link", 2);
    for (const [name, ends, alpha, beta] of [["link0", "left middle", 50, 0.5], ["link1", "middle right", 70, 0.25]]) {
      const [from, to] = ends.split(" ");
      choose(all('#side [aria-label="end of link ' + name + '"]')[0], from === "right" ? "right <b>" : from);
      choose(all('#side [aria-label="end of link ' + name + '"]')[1], to === "right" ? "right <b>" : to);
      set(control("ns per operation of link " + name), alpha);
      set(control("ns per byte of link " + name), beta);
    }
    rename("link", "link0", "first");
    // master writes and reads over both links: (50 + 70) ns an operation, 0.5 ns a byte; segment2 is at the own machine; the message goes
    // over the first link.
    const [writes, reads] = [3 * (120 + 100 * 0.5) + 7 * (50 + 1000 * 0.5), 2 * (120 + 10 * 0.5)];
    check(id + ": costs are those of the ways", near(now().writes, writes) && near(now().reads, reads) && near(now().cost, writes + reads), JSON.stringify(now()));
    const loads = String([300 + 7000, 20, 300, 20]);
    check(id + ": and loads of the links", String(now().links.map(([, bytes]) => bytes)) === loads, now().links + " instead of " + loads);
    check(id + ": messages are lines beside those to segments", all(".line").some((line) => / sends to /.test(line.textContent)) && all(".line").length === 3, all(".line").length);
    check(id + ": names are text", all("#drawing b, #side b, #edited b").length === 0, "they are elements");
    check(id + ": present and proposal are not known", one("#to-present").disabled && one("#vs-present").textContent === "–", one("#vs-present").textContent);

    // All steps can be undone one by one, and done again.
    const full = JSON.stringify(now());
    let steps = 0;
    for (; !one("#undo").disabled; steps++) click("#undo");
    check(id + ": undo leads back to nothing", all("[data-kind], .slot, .link").length === 0 && steps > 20, steps);
    for (let again = 0; again < steps; again++) key(one("#drawing"), again % 2 ? "y" : "Z", { ctrlKey: true, shiftKey: again % 2 === 0 });
    check(id + ": redo leads forth again", JSON.stringify(now()) === full && one("#redo").disabled, JSON.stringify(now()));

    // By finger, mouse and keys.
    const [first, last] = [now().ranks[0], now().ranks[2]];
    drag("rank", 0, last, id === "made-narrow" ? "touch" : "mouse");
    check(id + ": what was made can be dragged", now().ranks[0] === last && now().ranks[2] === first, now().ranks);
    click("#best-swap");
    check(id + ": and best swap knows it", now().cost < JSON.parse(full).cost * 2 && one("#vs-present").textContent === "–", now().cost);
    while (JSON.stringify(now()) !== full && !one("#undo").disabled) click("#undo");
    tile("segment", 0).focus();
    key(tile("segment", 0), "F2");
    check(id + ": F2 leads to the name", one("#side").contains(its.page.activeElement) && its.page.activeElement.value === "queue", its.page.activeElement.outerHTML);
    tile("segment", 1).focus();
    key(tile("segment", 1), "Delete");
    check(id + ": Delete deletes", now().segments.length === 2 && /deleted segment segment1/.test(said()), said());
    check(id + ": accesses keep their segments", near(now().cost, JSON.parse(full).cost), now().cost);
    key(one("#drawing"), "z", { ctrlKey: true });
    tile("rank", 1).focus();
    key(tile("rank", 1), "Delete");
    check(id + ": with a process its messages go", near(now().cost, writes + reads - 7 * 550), now().cost);
    click("#undo");
    press(control("delete machine middle"));
    check(id + ": with a machine goes all on it, and its links", now().ranks.length === 2 && now().segments.length === 2 && listed("link") === 0, JSON.stringify(now()));
    click("#undo");
    check(id + ": undo brings all of it back", JSON.stringify(now()) === full, JSON.stringify(now()));
    press(control("accesses of process master"));
    press(all("#side .bin")[3]);
    check(id + ": a message can be deleted", near(now().cost, writes + reads - 7 * 550), now().cost);
    click("#undo");

    // Save, and load into the page after it was emptied.
    click("#save-matrix");
    click("#save-machines");
    click("#save-map");
    const [segments, machines, map] = its.view.saved;
    while (!one("#undo").disabled) click("#undo");
    await load(segments);
    check(id + ": what was saved is loaded", JSON.stringify(now()) === full, said() + JSON.stringify(now()));
    click("#undo");
    check(id + ": loading can be undone", all(".slot").length === 0, all(".slot").length);
    await load(machines);
    check(id + ": machines can be loaded alone", all(".slot").length === 3 && all(".link").length === 4, said());
    for (const [text, what] of [
      ["{", "no JSON"], ['{"format":"gasnet-sci matrix","version":1}', "reads processes"],
      [segments.replace('"to":1', '"to":9'), "names what there is not"], [segments.replace('"ends":[0,1]', '"ends":[0,7]'), "does not join"],
      [segments.replace('"at":1', '"at":0'), "more than 1 are at position 0"], [machines.replace('"alpha":50', '"alpha":-1'), "from 0 on"],
    ]) {
      await load(text);
      check(id + ": " + what + " is told", said().includes(what) && all(".slot").length === 3, said());
    }
    await load(segments);
    // Light and dark, and no step leaves something unreadable.
    for (let theme = 0; theme < 2; theme++) {
      click("#theme");
      const style = (selector) => its.view.getComputedStyle(one(selector));
      check(id + ": fields have the theme's colours", style("#side").backgroundColor !== style("body").color && style("#edited td").color === style("body").color, style("#side").backgroundColor);
    }
    if (one("#edit").getAttribute("aria-pressed") !== "true") click("#edit");
    const tiny = all("#side button, #side input, #side select, .tools button").filter((control) => control.offsetParent !== null && control.getBoundingClientRect().height < 24);
    check(id + ": controls are high enough for a finger", tiny.length === 0, tiny.map((control) => control.outerHTML.slice(0, 60)));
    fitting(id, its, "at the end");
    sound(id, 3);
    quiet(id);
    if (id === "made-wide") {
      out("kept-made", coded(segments));
      out("kept-machines", coded(machines));
      out("kept-map", coded(map));
    }
    return now();
  }

  // A page with machines that Rust knows: processes and segments are made and deleted, machines are not.
  async function fixed(id) {
    const its = hands(id);
    const { one, all, control, press, make, rename, click, addAccess, answer, load, said } = its;
    const now = its.figures;
    const beginning = JSON.stringify(now());
    click("#edit");
    const isMade = answer.machine.drawing.kind === "links";
    const mayMake = [!!one("#side [data-key^=machine]"), !one("#save-machines").hidden];
    check(id + ": machines are edited where they were made", mayMake.every((may) => may === isMade), mayMake);
    const { segments } = answer;
    if (segments) {
      make("segment");
      rename("process", segments.processes[0], "renamed");
      press(control("delete process " + segments.processes[1]));
      press(control("accesses of process renamed"));
      addAccess("process " + segments.processes[2], null, 11, 100);
      addAccess("segment segment" + segments.names.length, "read", 3, 40);
      press(all("#side .bin")[0]);
    } else {
      press(control("delete rank 1"));
      make("rank");
      press(control("accesses of rank 0"));
      press(all("#side .bin")[0]);
      addAccess("rank " + (answer.mappings[0].at.length - 1), "put", 11, 704);
    }
    check(id + ": Rust's tables are hidden while others are meant", one("#ranks").offsetParent === null && one("#edited").offsetParent !== null, "they are not");
    const [edited, figures] = [JSON.stringify(now()), now()];
    click("#save-matrix");
    const [saved] = its.view.saved;
    while (!one("#undo").disabled) click("#undo");
    check(id + ": undo brings Rust's tables back", JSON.stringify(now()) === beginning && one("#ranks").offsetParent !== null && one("#edited").offsetParent === null, JSON.stringify(now()));
    await load(saved);
    const { cost, links } = now();
    check(id + ": what was saved is loaded", near(cost, figures.cost) && (!segments || JSON.stringify(now()) === edited), said() + cost + " instead of " + figures.cost + links);
    fitting(id, its, "edited");
    quiet(id);
    out("kept-made", coded(saved));
    return figures;
  }

  // --- the frames ----------------------------------------------------------------------------------

  if (frame("wide")) {
    sound("wide");
    sound("narrow");
    play("wide");
    const narrow = open("narrow");
    const [own, target] = [narrow.figures().ranks[0], narrow.figures().ranks[1]];
    narrow.drag("rank", 0, target, "touch");
    check("a finger drags", narrow.figures().ranks[0] === target && narrow.figures().ranks[1] === own, narrow.figures().ranks);
    narrow.tile("rank", 0).dispatchEvent(new narrow.view.MouseEvent("dblclick", { bubbles: true }));
    const root = narrow.page.documentElement;
    for (const width of [390, 360]) {
      frame("narrow").width = width;
      check("accesses fit a phone of " + width, root.scrollWidth <= root.clientWidth, root.scrollWidth);
      uncutWithLargest(narrow, "accesses at " + width);
    }
    const paper = () => narrow.view.getComputedStyle(narrow.page.body).backgroundColor;
    const first = paper();
    narrow.click("#theme");
    check("light and dark differ", paper() !== first, first);
    ["wide", "narrow"].forEach(quiet);
    plain();
  }

  // Without scripts the tables are there, with Rust's figures, and nothing that only scripts can move.
  function plain() {
    const page = frame("plain").contentDocument;
    const answer = open("wide").answer;
    const seen = (element) => element !== null && element.getBoundingClientRect().height > 0;
    const rows = (id) => [...page.querySelectorAll("#" + id + " tbody tr")].filter(seen);
    check("plain: no script ran", !page.documentElement.classList.contains("scripted"), "one did");
    check("plain: mappings", rows("mappings").length === 3 && /identity/.test(rows("mappings")[0].textContent), rows("mappings").length);
    const costs = rows("mappings").map((row) => Number(row.cells[1].textContent) * 1e3);
    const good = costs.every((cost, at) => Math.abs(cost - answer.mappings[at].cost) <= 0.5);
    check("plain: costs", good, costs);
    check("plain: ranks", rows("ranks").length === answer.mappings[0].at.length, rows("ranks").length);
    const proposed = rows("ranks").map((row) => row.cells[3].textContent);
    check("plain: places", String(proposed) === String(answer.mappings[2].at.map((at) => answer.machine.places[at])), proposed);
    check("plain: links", rows("links").length > 0 === answer.machine.links.length > 0, rows("links").length);
    check("plain: nothing to move", !seen(page.getElementById("stage")), "there is");
    check("plain: it says so", /Without scripts/.test(page.querySelector("header").innerText), "it does not");
    check("plain: nothing overflows", page.documentElement.scrollWidth <= page.documentElement.clientWidth, page.documentElement.scrollWidth);
  }

  for (const { id } of document.querySelectorAll('[id^="look-"]')) {
    sound(id);
    quiet(id);
  }
  const kept = {};
  for (const { id } of document.querySelectorAll('[id^="made-"]')) kept[id] = await made(id);
  if (frame("made-wide")) {
    const same = Object.values(kept).every((figures) => JSON.stringify(figures) === JSON.stringify(kept["made-wide"]));
    check("all widths give the same", same, JSON.stringify(kept));
    out("kept-figures", coded(JSON.stringify(kept)));
  }
  if (frame("fixed")) out("kept-figures", coded(JSON.stringify({ fixed: await fixed("fixed") })));
  for (const { id } of document.querySelectorAll('[id^="later-"]')) {
    const name = id.slice(6);
    compare(name, JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(EARLIER), (letter) => letter.charCodeAt(0))))[name], open(id).answer, 1);
    quiet(id);
  }
  out("place-check", results.join(";").replace(/[<&\n]/g, "?"));
});
