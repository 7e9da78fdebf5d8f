"use strict";
// The part of the run that is seen: a span of time, and rows. Widths are CSS pixels.
const View = (function () {
  const canvas = document.getElementById("timeline");
  const LEFT = 52; // for the names of nodes
  const TOP = 22; // for times
  const LEAST_ROW = 17;
  const LEAST_SPAN = 50; // nanoseconds
  const all = Math.max(Data.end, 1);
  const view = { from: 0, to: all, top: 0, width: 0, height: 0, row: LEAST_ROW, LEFT, TOP, marked: null, show: { messages: true, barriers: true, path: true }, resize, zoom, move, fit, x, time, y, nodeAt, visible };

  function resize() {
    view.width = canvas.parentNode.clientWidth;
    const nodes = Data.nodes.length;
    const wanted = Math.min(Math.max(nodes * 46, 180), Math.max(240, Math.min(innerHeight * 0.62, 620)));
    view.row = Math.max(LEAST_ROW, Math.floor(wanted / nodes));
    view.height = TOP + Math.min(wanted, view.row * nodes);
    canvas.style.height = view.height + "px";
    clamp();
  }

  function clamp() {
    const span = Math.min(view.to - view.from, all);
    view.from = Math.min(Math.max(view.from, 0), all - span);
    view.to = view.from + span;
    view.top = Math.min(Math.max(view.top, 0), Math.max(0, view.row * Data.nodes.length - (view.height - TOP)));
  }

  // Makes the span `factor` times as long, around the time at `at`.
  function zoom(factor, at = (LEFT + view.width) / 2) {
    const middle = time(at);
    const span = Math.min(Math.max((view.to - view.from) * factor, Math.min(LEAST_SPAN, all)), all);
    const share = (middle - view.from) / (view.to - view.from);
    view.from = middle - share * span;
    view.to = view.from + span;
    clamp();
  }

  function move(dx, dy) {
    const step = (dx * (view.to - view.from)) / (view.width - LEFT);
    view.from -= step;
    view.to -= step;
    view.top -= dy;
    clamp();
  }

  function fit(from = 0, to = all) {
    const room = from > 0 || to < all ? Math.max((to - from) * 0.1, LEAST_SPAN / 2) : 0;
    view.from = from - room;
    view.to = to + room;
    clamp();
  }

  function x(time) {
    return LEFT + ((time - view.from) / (view.to - view.from)) * (view.width - LEFT);
  }
  function time(x) {
    return view.from + ((x - LEFT) / (view.width - LEFT)) * (view.to - view.from);
  }
  // The top of a node's row.
  function y(node) {
    return TOP + node * view.row - view.top;
  }
  function nodeAt(y) {
    const node = Math.floor((y - TOP + view.top) / view.row);
    return y >= TOP && node < Data.nodes.length ? node : -1;
  }
  // The first row that is seen, and the one behind the last.
  function visible() {
    return [Math.max(0, Math.floor(view.top / view.row)), Math.min(Data.nodes.length, Math.ceil((view.top + view.height - TOP) / view.row))];
  }
  return view;
})();
