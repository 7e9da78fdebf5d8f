// Checks that the browser makes of pages of gasnet-sci place, for ci/place, which puts the pages into frames of one document, and place-page.js,
// place-moves.js and place-made.js before this.
//
// Frames: wide, narrow (scripts run), plain (no scripts); look-* are looked at only; made-* begin empty, and everything on them is made
// by hand; fixed begins with what Rust placed, and is edited; later-* are pages that Rust made of what was saved, and EARLIER has the figures
// that the page had then, by name.
"use strict";

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

// A net of many machines that gets another name keeps the ways that were found.
function renaming() {
  const machines = Array.from({ length: 40 }, (_, number) => "machine" + number);
  const links = machines.slice(1).map((_, number) => ({ name: "link" + number, ends: [number, number + 1], alpha: 10, beta: 0.5 }));
  const net = { machines, links };
  const state = { world: { net, machine: Net.machineOf(net) }, mapping: {}, traffic: [] };
  for (const kind of ["machine", "link"]) {
    const { machine, net: next } = Change.set(state, { kind, number: 3 }, "name", "renamed").world;
    check("a " + kind + " is renamed without a look for ways", machine.routes === state.world.machine.routes && machine.costs === state.world.machine.costs, "it is not");
    check("and is as if it had been made with that name: " + kind, JSON.stringify(machine) === JSON.stringify(Net.machineOf(next)), JSON.stringify(machine.links));
  }
  const { machine } = Change.set(state, { kind: "link", number: 3 }, "alpha", 20).world;
  check("a link that costs more changes ways", machine.costs[0][39][0] === 400, machine.costs[0][39]);
}

async function checkAll() {
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

  for (const { id } of document.querySelectorAll('[id^="look-"]')) {
    sound(id);
    quiet(id);
  }
  const kept = {};
  for (const { id } of document.querySelectorAll('[id^="made-"]')) kept[id] = await made(id);
  if (frame("made-wide")) {
    renaming();
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
}
addEventListener("load", checkAll);
