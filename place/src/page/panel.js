"use strict";
// What the page says in figures: totals, the tables' columns of the mapping that is drawn, the legend, and the accesses of the rank
// that is chosen. It changes no mapping and no traffic; `ask` tells who does.
const Panel = (function () {
  const { kinds, hasSegments } = Model;
  const byId = (id) => document.getElementById(id);
  const side = byId("side");
  const microseconds = (ns) => (Number.isFinite(ns) ? (ns / 1e3).toFixed(3) : "no way");

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // --- totals and tables ---------------------------------------------------------------------------

  // A figure, with its exact value for who reads the page by a program.
  function put(target, text, value) {
    target.textContent = text;
    if (value !== undefined) target.dataset.value = value;
  }

  // How much more a cost is than another one, in per cent.
  function difference(cost, other) {
    if (cost === other) return 0;
    if (other > 0) return 100 * (cost / other - 1);
    return cost > 0 ? Infinity : 0;
  }

  function percent(value) {
    if (Math.abs(value) < 0.005) return "same";
    if (!Number.isFinite(value)) return value > 0 ? "more" : "less";
    return (value > 0 ? "+" : "−") + Math.abs(value).toFixed(2) + " %";
  }

  // Beside a mapping that an edited world does not have there is nothing to say.
  function compared(id, cost, other) {
    if (other === null) {
      put(byId(id), "–", "");
      byId(id).className = "";
      return;
    }
    const value = difference(cost, other);
    put(byId(id), percent(value), value);
    byId(id).className = Math.abs(value) < 0.005 ? "" : value < 0 ? "better" : "worse";
  }

  // Instead of a busiest link: there is none, or it is not known.
  const nothing = () => (Model.machine.routes ? "none" : "–");
  const linkName = ({ from, to }) => from + " → " + to;

  function totals({ bill, ofPresent, ofProposal }) {
    put(byId("total"), Draw.time(bill.cost), bill.cost);
    put(byId("writes"), Draw.time(bill.writes), bill.writes);
    put(byId("reads"), Draw.time(bill.reads), bill.reads);
    compared("vs-present", bill.cost, ofPresent && ofPresent.cost);
    compared("vs-proposal", bill.cost, ofProposal && ofProposal.cost);
    const { busiest } = bill;
    put(byId("busiest"), busiest ? Draw.time(busiest.ns) : nothing(), busiest ? busiest.ns : 0);
    byId("busiest-name").textContent = "busiest link" + (busiest ? " " + linkName(Model.machine.links[busiest.link]) : "");
  }

  // Rust's tables are those of the world that it knew. While that is edited they are hidden, and `edited` has others.
  const edited = byId("edited");
  const ours = [...document.querySelectorAll("main > section")].filter((section) => section.id !== "stage" && section !== edited);
  let built = Model.given; // the world whose tables are shown
  let cells = cellsOf(document);

  // The cells that the tables have for the mapping that is drawn.
  function cellsOf(part) {
    return Object.fromEntries([...part.querySelectorAll("[data-now]")].map((cell) => [cell.dataset.now, cell]));
  }

  function table(title, heads, rows) {
    const head = (text, at) => element("th", { className: at ? "n" : "" }, text);
    const body = rows.map(([name, ...keys]) => {
      const cell = (key) => {
        const made = element("td", { className: "n" });
        made.dataset.now = key;
        return made;
      };
      return element("tr", {}, element("td", {}, name), ...keys.map(cell));
    });
    const whole = element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(head))), element("tbody", {}, ...body));
    return [element("h2", {}, title), element("div", { className: "scroll" }, whole)];
  }

  function buildTables(world) {
    if (world === built) return;
    built = world;
    const isGiven = world === Model.given;
    for (const section of ours) section.hidden = !isGiven;
    edited.hidden = isGiven;
    if (isGiven) edited.replaceChildren();
    else {
      const rank = (name, at) => [name, "place:" + at, "writes:" + at, "reads:" + at];
      const segment = (name, at) => [name, "segment:" + at];
      const link = (ends, at) => [linkName(ends), "bytes:" + at, "ns:" + at];
      const parts = [["Now", ["", "cost µs", "writes µs", "reads µs"], [["as it is drawn", "cost", "writes", "reads"]]]];
      const what = hasSegments ? "process" : "rank";
      parts.push([hasSegments ? "Processes" : "Ranks", [what, "at", "writes µs", "reads µs"], world.ranks.map(rank)]);
      if (hasSegments) parts.push(["Segments", ["segment", "at"], world.names.map(segment)]);
      if (world.machine.routes) parts.push(["Links", ["link", "bytes", "µs"], world.machine.links.map(link)]);
      edited.replaceChildren(...parts.filter(([, , rows]) => rows.length).flatMap((part) => table(...part)));
    }
    cells = cellsOf(isGiven ? document : edited);
  }

  function tables({ world, mapping, bill, ofPresent }) {
    buildTables(world);
    const set = (name, text, value) => cells[name] && put(cells[name], text, value);
    const time = (name, ns) => set(name, microseconds(ns), ns);
    time("cost", bill.cost);
    time("writes", bill.writes);
    time("reads", bill.reads);
    if (ofPresent) set("change", percent(difference(bill.cost, ofPresent.cost)));
    const { busiest } = bill;
    const load = ({ bytes, ns }) => Math.round(bytes) + " bytes, " + microseconds(ns) + " µs";
    set("busiest", busiest ? linkName(world.machine.links[busiest.link]) + ": " + load(busiest) : nothing());
    bill.nodes.forEach(([writes, reads], rank) => {
      set("place:" + rank, Model.nameOf(mapping.ranks[rank]), mapping.ranks[rank]);
      time("writes:" + rank, writes);
      time("reads:" + rank, reads);
    });
    mapping.segments.forEach((at, segment) => set("segment:" + segment, Model.nameOf(at), at));
    (bill.links ?? []).forEach((bytes, link) => {
      set("bytes:" + link, bytes.toFixed(0), bytes);
      time("ns:" + link, Model.linkTime(link, bytes));
    });
  }

  // --- legend and choice of kinds ------------------------------------------------------------------

  function legend({ traffic, hidden, ofPresent, bill }, ask) {
    const { machine } = Model;
    const full = (ofPresent ?? bill).busiest;
    const whose = ofPresent ? ", the busiest of present; labels are bytes" : ", the busiest; labels are bytes";
    const used = kinds.filter((kind) => traffic.some((access) => access.kind === kind));
    const boxes = used.map((kind) => {
      const box = element("input", { type: "checkbox", checked: !hidden.has(kind), name: kind });
      box.addEventListener("change", () => ask.toggle(kind));
      const some = traffic.find((access) => access.kind === kind);
      return element("label", { className: Model.isRead(some) ? "reads" : "writes" }, box, " " + kind);
    });
    const parts = [element("span", {}, "lines:"), ...boxes];
    const left = Number(Draw.svg.dataset.left);
    if (left > 0) parts.push(element("span", {}, "the heaviest; " + left + " are not drawn"));
    if (!machine.routes) parts.push(element("span", {}, "more than 128 positions: loads of links are in the tables only"));
    else if (machine.links.length && full) {
      const scale = element("i", { className: "scale" });
      const end = " " + Draw.time(full.ns) + whose;
      parts.push(element("span", {}, "load of links: 0 ", scale, end));
    }
    byId("legend").replaceChildren(...parts);
  }

  // --- accesses ------------------------------------------------------------------------------------

  const rankWord = hasSegments ? "process " : "rank ";
  const named = (kind, number) => (kind === "segment" ? "segment " + Model.names[number] : rankWord + Model.ranks[number]);
  const targetOf = (access) => named(Model.targetKind(access), access.to);
  let listed = null; // the rank whose accesses are shown, how many there were, and in which world
  let costs = [];

  function concerning(traffic, rank) {
    return traffic.map((access, index) => ({ access, index })).filter(({ access }) => access.from === rank);
  }

  function number(access, index, field, ask) {
    const name = field + " of " + access.kind + " to " + targetOf(access);
    const input = element("input", { type: "number", min: 0, step: 1, value: access[field], ariaLabel: name, title: name });
    input.dataset.field = field;
    input.dataset.index = index;
    input.addEventListener("change", function () {
      const value = Number(input.value);
      const good = input.value !== "" && Number.isSafeInteger(value) && value >= 0;
      input.toggleAttribute("aria-invalid", !good);
      if (good) ask.edit(index, field, value);
    });
    return input;
  }

  // What an access can be added to. What goes to another process is a message.
  function more(rank, ask) {
    const choice = (name, list) =>
      element("select", { ariaLabel: name, name }, ...list.map((text, value) => element("option", { value }, text)));
    const all = Model.items().filter(({ kind }) => kind === "segment").concat(Model.items().filter(({ kind }) => kind === "rank"));
    const targets = all.map(({ kind, number }) => ({ kind, number, text: named(kind, number) }));
    const to = choice("to", targets.map(({ text }) => text));
    const wanted = kinds.filter((kind) => kind !== "message");
    const kind = choice("kind", wanted);
    const isMessage = () => hasSegments && targets[Number(to.value)]?.kind === "rank";
    const follow = () => (kind.hidden = isMessage());
    to.addEventListener("change", follow);
    follow();
    const add = element("button", { type: "button" }, "add");
    add.addEventListener("click", function () {
      const chosen = isMessage() ? "message" : wanted[Number(kind.value)];
      ask.add({ from: rank, to: targets[Number(to.value)].number, kind: chosen, count: 1, bytes: 64 });
    });
    return element("p", { className: "add" }, to, kind, add);
  }

  function build({ traffic }, rank, ask) {
    const title = element("h2", {}, "Accesses of " + Draw.nameOf({ kind: "rank", number: rank }));
    const close = element("button", { type: "button", id: "close" }, "close");
    close.addEventListener("click", ask.close);
    const heads = ["to", "kind", "count", hasSegments ? "bytes each" : "bytes", "cost", ""].map((text) => element("th", {}, text));
    costs = [];
    const rows = concerning(traffic, rank).map(({ access, index }) => {
      const cost = element("td", { className: "n" });
      costs.push({ cost, index });
      const inputs = ["count", "bytes"].map((field) => element("td", {}, number(access, index, field, ask)));
      const kind = element("td", { className: Model.isRead(access) ? "reads" : "writes" }, access.kind);
      const what = "delete " + access.kind + " to " + targetOf(access);
      const bin = element("button", { type: "button", className: "bin", ariaLabel: what, title: what }, "×");
      bin.addEventListener("click", () => ask.remove({ kind: "access", number: index }));
      return element("tr", {}, element("td", {}, targetOf(access)), kind, ...inputs, cost, element("td", {}, bin));
    });
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const top = element("div", { className: "top" }, title, close);
    side.replaceChildren(top, element("div", { className: "scroll" }, table), more(rank, ask));
  }

  // `open`: the rank whose accesses are to be seen, "all" for the panel in which things are made, or null. Inputs stay while somebody
  // types.
  function accesses(shown, open, ask) {
    side.hidden = open === null;
    side.parentNode.classList.toggle("open", open !== null);
    if (typeof open !== "number") listed = null;
    if (open === "all") return Edit.show(shown, ask);
    if (open === null) return;
    const rows = concerning(shown.traffic, open);
    const typed = side.contains(document.activeElement) && document.activeElement.dataset.index;
    const { world } = shown;
    if (!listed || listed.rank !== open || listed.count !== rows.length || listed.world !== world || !typed) {
      build(shown, open, ask);
      listed = { rank: open, count: rows.length, world };
    }
    for (const { cost, index } of costs) cost.textContent = Draw.time(Model.costOf(shown.traffic[index], shown.mapping));
  }

  const focusAccesses = () => (side.querySelector("input") ?? side.querySelector("select")).focus();
  const say = (text) => (byId("said").textContent = text);
  return { totals, tables, legend, accesses, focusAccesses, say, percent, difference };
})();
