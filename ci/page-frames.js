// Measures in the browser how long a page of gasnet-sci trace takes to open, and to paint, for ci/page; the canvas is read after each
// frame, so that it has been painted. Zooms from the whole run to a thousandth of it and back, then moves half of the run to and fro.
"use strict";
(function () {
  const context = document.getElementById("timeline").getContext("2d");
  const frames = [];
  const paint = () => {
    const begin = performance.now();
    Draw.paint();
    context.getImageData(0, 0, 1, 1);
    frames.push(performance.now() - begin);
  };
  paint();
  const open = performance.now();
  frames.length = 0;
  for (let frame = 0; frame < 120; frame++) {
    View.zoom(frame < 60 ? 0.89 : 1 / 0.89);
    paint();
  }
  View.zoom(0.5);
  for (let frame = 0; frame < 40; frame++) {
    View.move(frame % 20 < 10 ? 9 : -9, 0);
    paint();
  }
  const sum = frames.reduce((sum, one) => sum + one, 0);
  frames.sort((a, b) => a - b);
  const out = document.createElement("pre");
  out.id = "page-frames";
  out.textContent = Data.count + " events open in " + (open / 1000).toFixed(2) + " s; " + ((1000 * frames.length) / sum).toFixed(0) + " frames/s, the slowest of " + frames.length + " takes " + frames[frames.length - 1].toFixed(0) + " ms";
  document.body.append(out);
})();
