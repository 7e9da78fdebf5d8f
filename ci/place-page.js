// A page of gasnet-sci place as a user has it, and what every page must have. For ci/place.js.
//
// The results are elements that --dump-dom shows: "ok WHAT" or "WHAT" for each check, separated by ";", and what Rust is to read next.
"use strict";
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

const fitting = (id, { page }, when) => {
  const root = page.documentElement;
  check(id + ": nothing overflows, " + when, root.scrollWidth <= root.clientWidth, root.scrollWidth + " > " + root.clientWidth);
};
