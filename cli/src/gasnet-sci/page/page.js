"use strict";
(function () {
  const tip = document.getElementById("tip");

  // Shows the values of all lines at the size that is nearest to the pointer.
  function show(chart, event) {
    const svg = chart.querySelector("svg");
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const marks = [...svg.querySelectorAll(".series:not(.off) .mark")];
    if (!marks.length) return hide(chart);
    const away = (mark) => Math.abs(Number(mark.dataset.cx) - at);
    const nearest = marks.reduce((best, mark) => (away(mark) < away(best) ? mark : best));
    const same = marks.filter((mark) => mark.dataset.x === nearest.dataset.x);
    same.sort((a, b) => Number(a.dataset.cy) - Number(b.dataset.cy));
    const cross = svg.querySelector(".cross");
    cross.setAttribute("x1", nearest.dataset.cx);
    cross.setAttribute("x2", nearest.dataset.cx);
    cross.classList.add("on");
    const title = document.createElement("b");
    title.textContent = svg.dataset.bytes === "yes" ? bytes(Number(nearest.dataset.x)) : nearest.dataset.x + " nodes";
    tip.replaceChildren(title, ...same.map(line));
    tip.hidden = false;
    const wide = tip.offsetWidth + 24;
    tip.style.left = Math.max(4, event.clientX + wide > innerWidth ? event.clientX - wide : event.clientX + 16) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8)) + "px";
  }

  function line(mark) {
    const row = document.createElement("div");
    const kind = mark.parentNode.getAttribute("class").replace("series s-", "k-");
    for (const [text, names] of [[mark.parentNode.dataset.name, "who " + kind], [mark.dataset.text, "n"], [mark.dataset.range, "dim"]]) {
      const part = document.createElement("span");
      part.className = names;
      part.textContent = text;
      row.append(part);
    }
    return row;
  }

  function bytes(n) {
    if (n >= 1048576 && n % 1048576 === 0) return n / 1048576 + " MiB";
    if (n >= 1024 && n % 1024 === 0) return n / 1024 + " KiB";
    return n + " B";
  }

  function hide(chart) {
    tip.hidden = true;
    chart.querySelector(".cross").classList.remove("on");
  }

  for (const chart of document.querySelectorAll(".chart")) {
    const svg = chart.querySelector("svg");
    svg.addEventListener("pointermove", (event) => show(chart, event));
    svg.addEventListener("pointerleave", () => hide(chart));
    for (const button of chart.querySelectorAll(".legend button")) {
      button.addEventListener("click", function () {
        button.classList.toggle("off");
        svg.querySelector('.series[data-series="' + button.dataset.series + '"]').classList.toggle("off");
      });
    }
  }

  const behind = document.getElementById("behind");
  if (behind) {
    const table = document.querySelector("#peers table");
    behind.addEventListener("change", () => table.classList.toggle("only-behind", behind.checked));
  }

  // Shows the rows that contain all words, in any column.
  const search = document.getElementById("search");
  const rows = [...document.querySelectorAll("#rows .row")];
  function look() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const has = words.every((word) => text.includes(word));
      row.classList.toggle("gone", !has);
      if (has) found++;
    }
    document.getElementById("found").textContent = found + " rows";
  }
  search.addEventListener("input", look);
  look();
})();
