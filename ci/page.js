// Checks that the browser makes in the page, for ci/page, which appends this to a copy of it. The result is an element that
// --dump-dom shows: "ok WHAT" or "WHAT" for each check, separated by ";".
"use strict";
(function () {
  const results = [];
  const check = (what, good, found) => results.push(good ? "ok " + what : what + ": " + found);
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];

  const curves = all(".curve");
  check("there are curves", curves.length >= 20, curves.length);
  const flat = curves.filter((curve) => curve.parentNode.querySelectorAll(".mark").length > 1 && !(curve.getTotalLength() > 20));
  check("curves have a length", flat.length === 0, flat.length + " have none");
  const broken = all("svg *").filter((part) => [...part.attributes].some((a) => /NaN|Infinity|undefined/.test(a.value)));
  check("every place is a number", broken.length === 0, broken.length + " are not");
  const outside = all(".mark").filter((mark) => {
    const svg = mark.ownerSVGElement.viewBox.baseVal;
    const x = Number(mark.dataset.cx);
    const y = Number(mark.dataset.cy);
    return !(x >= 0 && x <= svg.width && y >= 0 && y <= svg.height);
  });
  check("marks are inside", outside.length === 0, outside.length + " are not");
  const colours = new Set(["native", "limit", "openmpi", "ucx", "oshmem"].map((name) => getComputedStyle(document.querySelector(".s-" + name)).color));
  check("peers and limits differ in colour", colours.size === 5, colours.size + " colours");

  // Hovering over the middle of each chart shows a line for each curve at that size.
  let silent = 0;
  for (const svg of all(".chart svg")) {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true }));
    const tip = document.getElementById("tip");
    if (tip.hidden || tip.querySelectorAll("div").length < 1 || !/\d/.test(tip.textContent)) silent++;
    svg.dispatchEvent(new PointerEvent("pointerleave", {}));
    if (!tip.hidden) silent++;
  }
  check("hovering shows numbers", silent === 0, silent + " charts do not");

  const button = document.querySelector(".legend button");
  const series = button.closest(".chart").querySelector('.series[data-series="' + button.dataset.series + '"]');
  button.click();
  const hidden = getComputedStyle(series).display === "none";
  button.click();
  check("the legend hides and shows", hidden && getComputedStyle(series).display !== "none", "it does not");

  const visible = (selector) => all(selector).filter((row) => row.offsetParent !== null || getComputedStyle(row).display !== "none").length;
  const before = visible("#peers .row");
  document.getElementById("behind").click();
  const after = visible("#peers .row");
  check("the filter leaves what is not ahead", after > 0 && after < before && visible("#peers .is-ahead") === 0, before + " to " + after);
  document.getElementById("behind").click();

  const search = document.getElementById("search");
  search.value = "openmpi broadcast";
  search.dispatchEvent(new Event("input"));
  const found = all("#rows .row:not(.gone)");
  check("the search finds", found.length > 0 && found.every((row) => row.textContent.includes("broadcast")), found.length + " rows");
  search.value = "";
  search.dispatchEvent(new Event("input"));

  const paper = () => getComputedStyle(document.body).backgroundColor;
  const first = paper();
  document.getElementById("theme").click();
  const second = paper();
  document.getElementById("theme").click();
  check("light and dark differ", first !== second && paper() === first, first + " " + second);

  check("targets are judged", all("#targets .verdict.ahead").length > 0 && all("#targets .verdict.behind").length > 0, "not both kinds");
  check("nothing overflows", document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollWidth + " > " + innerWidth);
  const asked = performance.getEntriesByType("resource").length;
  check("nothing is loaded", asked === 0, asked + " things are");
  check("no script failed", !window.pageErrors, window.pageErrors);

  const out = document.createElement("pre");
  out.id = "page-check";
  out.textContent = results.join(";").replace(/[<&]/g, "?");
  document.body.append(out);
})();
