// Checks that the browser makes in a page of results of timing mode, for ci/page. The result is as in page.js.
"use strict";
(function () {
  const results = [];
  const check = (what, good, found) => results.push(good ? "ok " + what : what + ": " + found);
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];

  const documents = all(".s-document");
  check("documents are in charts", documents.length >= 3, documents.length);
  const marks = documents.map((series) => all(".mark", series).length);
  check("documents are marks", marks.every((count) => count > 0), marks);
  check("documents have no line", documents.every((series) => all(".curve", series).length === 0), "one has");
  const levels = all(".s-document .level");
  check("plateaus are levels", levels.length >= 1, levels.length);
  const dashed = levels.filter((level) => getComputedStyle(level).strokeDasharray !== "none" && level.getBoundingClientRect().width > 100);
  check("levels are dashed and wide", dashed.length === levels.length, dashed.length + " of " + levels.length);
  const curves = all(".s-model .curve, .s-native .curve").filter((curve) => curve.getTotalLength() > 20);
  check("model and measurement are lines", curves.length >= 4, curves.length);
  const colours = new Set([".s-document", ".s-model", ".s-native"].map((name) => getComputedStyle(document.querySelector(name)).color));
  check("they differ in colour", colours.size === 3, colours.size + " colours");
  const quotients = (name) => all("#timed .of-" + name).map((cell) => cell.textContent).filter((text) => /^[0-9.]+$/.test(text));
  check("there are quotients to documents", quotients("document").length >= 3, quotients("document").length);
  check("there are quotients to the model", quotients("model").length >= 20, quotients("model").length);
  check("documents name their source", all("#timed td").some((cell) => cell.textContent.startsWith("stated: ")), "none does");
  check("nothing is loaded", performance.getEntriesByType("resource").length === 0, "something is");
  check("nothing overflows", document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollWidth + " > " + innerWidth);

  const out = document.createElement("pre");
  out.id = "page-check";
  out.textContent = results.join(";").replace(/[<&]/g, "?");
  document.body.append(out);
})();
