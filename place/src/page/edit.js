"use strict";
// The panel in which machines, links, processes and segments are made, renamed, placed and deleted, by fields and buttons of the browser,
// so that mouse, finger and keys do the same. It changes nothing; `ask` tells who does.
const Edit = (function () {
  const side = document.getElementById("side");
  const WORDS = { machine: "machine", link: "link", segment: "segment", rank: Model.hasSegments ? "process" : "rank" };

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // A control that keeps the focus when the panel is built anew.
  function keyed(key, control) {
    control.dataset.key = key;
    return control;
  }

  const keyOf = ({ kind, number }, field) => kind + ":" + number + ":" + field;
  const called = ({ kind, number }, name) => WORDS[kind] + " " + (name || number);

  function nameField(thing, name, ask) {
    const input = element("input", { type: "text", value: name, ariaLabel: "name of " + called(thing, name), maxLength: 200 });
    input.addEventListener("change", () => ask.set(thing, "name", input.value));
    return keyed(keyOf(thing, "name"), input);
  }

  function choice(thing, field, label, value, list, then) {
    const options = list.map((text, at) => element("option", { value: at, selected: at === value }, text));
    const select = element("select", { ariaLabel: label, title: label }, ...options);
    select.addEventListener("change", () => then(Number(select.value)));
    return keyed(keyOf(thing, field), select);
  }

  function cost(thing, field, label, value, ask) {
    const input = element("input", { type: "number", min: 0, step: "any", value, ariaLabel: label, title: label });
    input.addEventListener("change", function () {
      const next = Number(input.value);
      const good = input.value !== "" && Number.isFinite(next) && next >= 0;
      input.toggleAttribute("aria-invalid", !good);
      if (good) ask.set(thing, field, next);
    });
    return keyed(keyOf(thing, field), input);
  }

  function button(key, text, label, then) {
    const made = element("button", { type: "button", ariaLabel: label, title: label }, text);
    made.addEventListener("click", then);
    return keyed(key, made);
  }

  const bin = (thing, name, ask) => button(keyOf(thing, "delete"), "delete", "delete " + called(thing, name), () => ask.remove(thing));
  const row = (...controls) => element("li", {}, ...controls);

  function section(kind, title, rows, ask) {
    const more = button(kind + ":new", "new " + WORDS[kind], "make a " + WORDS[kind], () => ask.make(kind));
    return [element("h3", {}, title), element("ul", { className: "things" }, ...rows), more];
  }

  function machines({ net }, ask) {
    const row1 = (name, number) => row(nameField({ kind: "machine", number }, name, ask), bin({ kind: "machine", number }, name, ask));
    return section("machine", "Machines", net.machines.map(row1), ask);
  }

  function links({ net }, ask) {
    const names = net.machines.map((name, at) => name || String(at));
    const one = function ({ name, ends, alpha, beta }, number) {
      const thing = { kind: "link", number };
      const of = called(thing, name);
      const end = (field, at) => choice(thing, field, "end of " + of, ends[at], names, (value) => ask.set(thing, field, value));
      const costs = element("span", { className: "pair" }, cost(thing, "alpha", "ns per operation of " + of, alpha, ask), " ns + ",
        cost(thing, "beta", "ns per byte of " + of, beta, ask), " ns a byte");
      return row(nameField(thing, name, ask), bin(thing, name, ask), element("span", { className: "pair" }, end("from", 0), " – ", end("to", 1)), costs);
    };
    return section("link", "Links", net.links.map(one), ask);
  }

  function items(kind, title, names, { mapping, world }, ask) {
    const places = Array.from({ length: world.machine.positions }, (_, at) => Model.nameOf(at));
    const one = function (name, number) {
      const thing = { kind, number };
      const title = kind === "rank" && !Model.hasSegments ? element("span", { className: "fixed" }, "rank " + name) : nameField(thing, name, ask);
      const at = choice(thing, "at", "where " + called(thing, name) + " is", Model.listOf(mapping, kind)[number], places, (position) => ask.move(thing, position));
      const open = kind === "rank" ? [button(keyOf(thing, "accesses"), "accesses", "accesses of " + called(thing, name), () => ask.open(number))] : [];
      return row(title, bin(thing, name, ask), element("span", { className: "pair" }, "at ", at), ...open);
    };
    return section(kind, title, names.map(one), ask);
  }

  function show(shown, ask) {
    const { world } = shown;
    const key = side.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const close = element("button", { type: "button", id: "close" }, "close");
    close.addEventListener("click", ask.close);
    const parts = [element("div", { className: "top" }, element("h2", {}, "Edit"), close)];
    if (world.net) parts.push(...machines(world, ask), ...links(world, ask));
    else parts.push(element("p", {}, "The machines are those of " + world.machine.topology + "."));
    parts.push(...items("rank", Model.hasSegments ? "Processes" : "Ranks", world.ranks, shown, ask));
    if (Model.hasSegments) parts.push(...items("segment", "Segments", world.names, shown, ask));
    const scrolled = side.scrollTop;
    side.replaceChildren(element("div", { className: "editor" }, ...parts));
    side.scrollTop = scrolled;
    if (key) focusOn(key);
  }

  // The control of a key, or if it went with what was deleted, one that does the same for the list.
  function focusOn(key) {
    const of = (wanted) => side.querySelector('[data-key="' + wanted + '"]');
    (of(key) ?? of(key.split(":")[0] + ":new") ?? document.getElementById("close")).focus({ preventScroll: true });
  }

  const focusName = (thing) => focusOn(keyOf(thing, "name"));
  return { show, focusOn, focusName, called };
})();
