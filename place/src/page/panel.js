"use strict";
// What the page says in figures: totals, the tables' columns of the mapping that is drawn, the legend, and the accesses of the rank
// that is chosen. It changes no mapping and no traffic; `ask` tells who does.
const Panel = (function () {
  const { machine, ranks, names, kinds, hasSegments } = Model;
  const byId = (id) => document.getElementById(id);
  const side = byId("side");
  const microseconds = (ns) => (ns / 1e3).toFixed(3);

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

  function change(cost, other) {
    if (other > 0) return 100 * (cost / other - 1);
    return cost > 0 ? Infinity : 0;
  }

  function percent(value) {
    if (Math.abs(value) < 0.005) return "same";
    return (value > 0 ? "+" : "−") + Math.abs(value).toFixed(2) + " %";
  }

  function compared(id, cost, other) {
    const value = change(cost, other);
    put(byId(id), percent(value), value);
    byId(id).className = Math.abs(value) < 0.005 ? "" : value < 0 ? "better" : "worse";
  }

  // Instead of a busiest link: there is none, or it is not known.
  const nothing = machine.routes ? "none" : "–";
  const linkName = ({ from, to }) => from + " → " + to;

  function totals({ bill, least, proposed }) {
    put(byId("total"), Draw.time(bill.cost), bill.cost);
    put(byId("writes"), Draw.time(bill.writes), bill.writes);
    put(byId("reads"), Draw.time(bill.reads), bill.reads);
    compared("vs-present", bill.cost, least.cost);
    compared("vs-proposal", bill.cost, proposed.cost);
    const { busiest } = bill;
    put(byId("busiest"), busiest ? Draw.time(busiest.ns) : nothing, busiest ? busiest.ns : 0);
    byId("busiest-name").textContent = "busiest link" + (busiest ? " " + linkName(machine.links[busiest.link]) : "");
  }

  // The cells that the tables have for the mapping that is drawn; built once.
  const cells = Object.fromEntries([...document.querySelectorAll("[data-now]")].map((cell) => [cell.dataset.now, cell]));

  function tables({ mapping, bill, least }) {
    const set = (name, text, value) => cells[name] && put(cells[name], text, value);
    const time = (name, ns) => set(name, microseconds(ns), ns);
    time("cost", bill.cost);
    time("writes", bill.writes);
    time("reads", bill.reads);
    set("change", percent(change(bill.cost, least.cost)));
    const { busiest } = bill;
    const load = ({ bytes, ns }) => Math.round(bytes) + " bytes, " + microseconds(ns) + " µs";
    set("busiest", busiest ? linkName(machine.links[busiest.link]) + ": " + load(busiest) : nothing);
    bill.nodes.forEach(([writes, reads], rank) => {
      set("place:" + rank, machine.places[mapping.ranks[rank]], mapping.ranks[rank]);
      time("writes:" + rank, writes);
      time("reads:" + rank, reads);
    });
    mapping.segments.forEach((at, segment) => set("segment:" + segment, machine.places[at], at));
    (bill.links ?? []).forEach((bytes, link) => {
      set("bytes:" + link, bytes.toFixed(0), bytes);
      time("ns:" + link, Model.linkTime(link, bytes));
    });
  }

  // --- legend and choice of kinds ------------------------------------------------------------------

  function legend({ traffic, hidden, least }, ask) {
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
    else if (machine.links.length && least.busiest) {
      const scale = element("i", { className: "scale" });
      const end = " " + Draw.time(least.busiest.ns) + ", the busiest of present; labels are bytes";
      parts.push(element("span", {}, "load of links: 0 ", scale, end));
    }
    byId("legend").replaceChildren(...parts);
  }

  // --- accesses ------------------------------------------------------------------------------------

  const targets = hasSegments ? names.map((name) => "segment " + name) : ranks.map((_, rank) => "rank " + rank);
  let listed = null; // the rank whose accesses are shown, and how many there were
  let costs = [];

  function concerning(traffic, rank) {
    return traffic.map((access, index) => ({ access, index })).filter(({ access }) => access.from === rank);
  }

  function number(access, index, field, ask) {
    const name = field + " of " + access.kind + " to " + targets[access.to];
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

  function more(rank, ask) {
    const choice = (name, list) =>
      element("select", { ariaLabel: name, name }, ...list.map((text, value) => element("option", { value }, text)));
    const to = choice("to", targets);
    const kind = choice("kind", kinds);
    const add = element("button", { type: "button" }, "add");
    add.addEventListener("click", function () {
      ask.add({ from: rank, to: Number(to.value), kind: kinds[Number(kind.value)], count: 1, bytes: 64 });
    });
    return element("p", { className: "add" }, to, kind, add);
  }

  function build({ traffic }, rank, ask) {
    const title = element("h2", {}, "Accesses of " + Draw.nameOf({ kind: "rank", number: rank }));
    const close = element("button", { type: "button", id: "close" }, "close");
    close.addEventListener("click", ask.close);
    const heads = ["to", "kind", "count", hasSegments ? "bytes each" : "bytes", "cost"].map((text) => element("th", {}, text));
    costs = [];
    const rows = concerning(traffic, rank).map(({ access, index }) => {
      const cost = element("td", { className: "n" });
      costs.push({ cost, index });
      const inputs = ["count", "bytes"].map((field) => element("td", {}, number(access, index, field, ask)));
      const kind = element("td", { className: Model.isRead(access) ? "reads" : "writes" }, access.kind);
      return element("tr", {}, element("td", {}, targets[access.to]), kind, ...inputs, cost);
    });
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const top = element("div", { className: "top" }, title, close);
    side.replaceChildren(top, element("div", { className: "scroll" }, table), more(rank, ask));
  }

  // `open`: the rank whose accesses are to be seen, or null. Inputs stay while somebody types.
  function accesses(shown, open, ask) {
    side.hidden = open === null;
    side.parentNode.classList.toggle("open", open !== null);
    if (open === null) return (listed = null);
    const rows = concerning(shown.traffic, open);
    const typed = side.contains(document.activeElement) && document.activeElement.dataset.index;
    if (!listed || listed.rank !== open || listed.count !== rows.length || !typed) {
      build(shown, open, ask);
      listed = { rank: open, count: rows.length };
    }
    for (const { cost, index } of costs) cost.textContent = Draw.time(Model.costOf(shown.traffic[index], shown.mapping));
  }

  const focusAccesses = () => (side.querySelector("input") ?? side.querySelector("select")).focus();
  const say = (text) => (byId("said").textContent = text);
  return { totals, tables, legend, accesses, focusAccesses, say, percent, change };
})();
