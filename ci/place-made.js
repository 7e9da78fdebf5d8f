// Machines, links, processes, segments and messages that are made, renamed and deleted on a page. For ci/place.js.
"use strict";

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
