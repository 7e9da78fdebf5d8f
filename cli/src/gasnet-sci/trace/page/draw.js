"use strict";
// Paints the timeline. Each pixel of a row shows which share of its time the node spent in what: bars are stacked, and what is left is
// computing. A frame costs what is seen: blocks of events that lie within a pixel are added as a whole.
const Draw = (function () {
  const canvas = document.getElementById("timeline");
  const context = canvas.getContext("2d", { alpha: false });
  const { begin, ns, kind, classOf, timed, all } = Data;
  const MOST_ARROWS = 1500; // in one frame; of more a sample is drawn
  const MOST_NAMES = 3000; // events in a frame whose names are written where there is room
  let colours = null;
  let image = null;
  let pixels = null; // of the image, as words

  function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  // A colour #rrggbb as a word of the image, whose bytes are red, green, blue, opacity.
  const word = (colour) => {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  };

  function readColours() {
    const named = (name) => style("--t-" + name);
    colours = {
      words: Uint32Array.from(all.slice(0, timed), (name) => word(named(name))),
      send: word(named("send")), handler: word(named("handler")), computing: word(named("computing")), card: word(style("--card")),
      path: word(named("path")), arrow: named("arrow"), barrier: named("barrier"), ink: style("--ink"), dim: style("--dim"), rule: style("--rule"), back: style("--card"), accent: style("--accent"),
    };
  }

  // Time of each class in each pixel of a row, and how many messages it sends and runs there.
  function bin(node, bins, width, scale) {
    const { from, to } = View;
    const { time, sends, runs } = bins;
    time.fill(0);
    sends.fill(0);
    runs.fill(0);
    const block = Data.blocks[node];
    const base = Data.first[node];
    const last = Data.after(node, to);
    for (let event = Data.since(node, from); event < last; event++) {
      if ((event - base) % Data.BLOCK === 0) {
        const at = (event - base) / Data.BLOCK;
        const pixel = Math.floor((begin[event] - from) * scale);
        if (pixel >= 0 && Math.floor((block.end[at] - from) * scale) === pixel && pixel < width) {
          for (let of = 0; of < timed; of++) time[pixel * timed + of] += block.time[at * timed + of] * scale;
          sends[pixel] += block.sends[at];
          runs[pixel] += block.runs[at];
          event += Data.BLOCK - 1;
          continue;
        }
        if (block.end[at] < from) {
          event += Data.BLOCK - 1;
          continue;
        }
      }
      const of = classOf[kind[event]];
      const start = (begin[event] - from) * scale;
      if (of >= timed) {
        if (start < 0 || start >= width) continue;
        if (of === timed) sends[start | 0]++;
        else if (of === timed + 1) runs[start | 0]++;
        continue;
      }
      const left = Math.max(start, 0);
      const right = Math.min(start + ns[event] * scale, width);
      const one = left | 0;
      if (right <= one + 1) {
        if (right > left) time[one * timed + of] += right - left;
        continue;
      }
      time[one * timed + of] += one + 1 - left;
      const end = right | 0;
      for (let pixel = one + 1; pixel < end; pixel++) time[pixel * timed + of] += 1;
      if (end < width) time[end * timed + of] += right - end;
    }
  }

  // Paints a row from its bins: messages on top, below them a column of shares for each pixel.
  function row(bins, width, left, top, height, ratio) {
    const lane = Math.max(2, Math.round(4 * ratio));
    const stride = image.width;
    const bottom = image.height;
    const bar = Math.max(1, height - lane - Math.round(2 * ratio));
    for (let x = 0; x < width; x++) {
      const column = left + x;
      const { sends, runs, time } = bins;
      const message = sends[x] && runs[x] ? 3 : sends[x] ? 1 : runs[x] ? 2 : 0;
      if (message) {
        for (let line = 0; line < lane; line++) {
          const y = top + line;
          if (y < 0 || y >= bottom) continue;
          pixels[y * stride + column] = message === 1 || (message === 3 && line < lane / 2) ? colours.send : colours.handler;
        }
      }
      // Threads may be in calls at once: then shares are of all of them.
      let sum = 0;
      for (let of = 0; of < timed; of++) sum += time[x * timed + of];
      const unit = bar / Math.max(sum, 1);
      let from = top + lane + bar;
      let share = 0;
      for (let of = 0; of < timed; of++) {
        const part = time[x * timed + of];
        if (part <= 0) continue;
        share += part * unit;
        const to = Math.max(top + lane, top + lane + bar - Math.ceil(share));
        for (let y = from - 1; y >= to; y--) if (y >= 0 && y < bottom) pixels[y * stride + column] = colours.words[of];
        from = Math.min(from, to);
      }
      for (let y = from - 1; y >= top + lane; y--) if (y >= 0 && y < bottom) pixels[y * stride + column] = colours.computing;
    }
  }

  // The critical path: thick in the rows where it stays, thin where it goes to another node. In each column of pixels it goes up and down
  // once, and where it goes in every few columns, these lines are dotted, so that what is below them is seen. Strokes took 17 of 25 ms of a
  // frame with 5700 pieces; as pixels it takes 1.
  function path(ratio, left, scale) {
    const pieces = Data.path;
    const { width, height } = image;
    let at = Data.search(0, pieces.length, (piece) => pieces[piece].end >= View.from);
    if (at > 0) at--;
    const end = Data.search(at, pieces.length, (piece) => pieces[piece].begin > View.to);
    const dots = (end - at) * 4 > width ? 3 : 1;
    const column = (time) => left + Math.floor(Math.min(Math.max((time - View.from) * scale, -1), width));
    const middle = (node) => Math.round((View.y(node) + View.row / 2) * ratio);
    const top = Math.round(View.TOP * ratio);
    const thick = Math.round(3 * ratio);
    const down = (x, one, two) => {
      if (x < left || x >= width) return;
      const last = Math.min(Math.max(one, two), height - 1);
      for (let y = Math.max(Math.min(one, two), top); y <= last; y++) if (y % dots === 0) pixels[y * width + x] = colours.path;
    };
    const along = (node, one, two) => {
      const middleLine = middle(node);
      for (let y = Math.max(middleLine - (thick >> 1), top); y < Math.min(middleLine - (thick >> 1) + thick, height); y++) {
        const from = Math.max(one, left);
        if (from <= two) pixels.fill(colours.path, y * width + from, y * width + Math.min(two + 1, width));
      }
    };
    let [low, high, x] = [0, 0, null];
    for (; at < end; at++) {
      const { node, begin, end } = pieces[at];
      along(node, column(begin), column(end));
      if (at + 1 === pieces.length) break;
      // The jump to the next piece: down at once, then along to where that begins.
      const next = pieces[at + 1];
      const [one, two] = [middle(node), middle(next.node)].sort((a, b) => a - b);
      if (x === column(end)) [low, high] = [Math.min(low, one), Math.max(high, two)];
      else {
        if (x !== null) down(x, low, high);
        [low, high, x] = [one, two, column(end)];
      }
      along(next.node, column(end), column(next.begin));
    }
    if (x !== null) down(x, low, high);
  }

  function rows(ratio) {
    const left = Math.round(View.LEFT * ratio);
    const width = Math.max(1, canvas.width - left);
    const scale = width / (View.to - View.from);
    const bins = { time: new Float32Array(width * timed), sends: new Uint32Array(width), runs: new Uint32Array(width) };
    pixels.fill(colours.card);
    const [first, end] = View.visible();
    for (let node = first; node < end; node++) {
      bin(node, bins, width, scale);
      row(bins, width, left, Math.round(View.y(node) * ratio), Math.round(View.row * ratio), ratio);
    }
    if (View.show.path) path(ratio, left, scale);
    context.putImageData(image, 0, 0);
  }

  // --- on top of the rows --------------------------------------------------------------------------

  // The runs of handlers that a frame shows, evenly chosen where there are too many.
  function arrowsShown() {
    const [first, end] = View.visible();
    const ranges = [];
    let count = 0;
    for (let node = first; node < end; node++) {
      const list = Data.arrows[node];
      const from = Data.search(0, list.length, (at) => begin[list[at]] >= View.from);
      // A message that arrives later may be on its way within the view; half a view more has nearly all of them.
      const to = Data.search(from, list.length, (at) => begin[list[at]] > View.to + (View.to - View.from) / 2);
      ranges.push([node, list, from, to]);
      count += to - from;
    }
    return { ranges, count, step: Math.max(1, Math.ceil(count / MOST_ARROWS)) };
  }

  const middle = (node) => View.y(node) + View.row / 2;

  function messages() {
    const { ranges, count, step } = arrowsShown();
    context.strokeStyle = context.fillStyle = colours.arrow;
    context.globalAlpha = step > 1 ? 0.25 : 0.65;
    context.lineWidth = 1;
    context.beginPath();
    const heads = new Path2D();
    for (const [node, list, from, to] of ranges) {
      for (let at = from; at < to; at += step) {
        const sent = Data.origin[list[at]];
        const sender = Data.place.get(Data.peer[list[at]]);
        if (sender === node || begin[sent] > View.to) continue;
        const [x0, y0, x1, y1] = [View.x(begin[sent]), middle(sender), View.x(begin[list[at]]), middle(node)];
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
        if (step > 1) continue;
        const length = Math.hypot(x1 - x0, y1 - y0) || 1;
        const [dx, dy] = [((x1 - x0) / length) * 6, ((y1 - y0) / length) * 6];
        heads.moveTo(x1, y1);
        heads.lineTo(x1 - dx - dy / 2, y1 - dy + dx / 2);
        heads.lineTo(x1 - dx + dy / 2, y1 - dy - dx / 2);
        heads.closePath();
      }
    }
    context.stroke();
    context.fill(heads);
    context.globalAlpha = 1;
    return { count, step };
  }

  // A line where the last node came to a barrier, as far as there is room between two of them. That of a team goes through its members'
  // rows, with the team's name above the first.
  function barriers() {
    const [top, bottom] = View.visible();
    let named = -Infinity;
    context.fillStyle = colours.barrier;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "alphabetic";
    const end = Data.latest.length;
    let from = Data.search(0, end, (round) => Data.latest[round] >= View.from);
    let drawn = -Infinity;
    context.strokeStyle = colours.barrier;
    context.lineWidth = 1;
    context.beginPath();
    for (; from < end && Data.latest[from] <= View.to; from++) {
      const x = Math.round(View.x(Data.latest[from])) + 0.5;
      if (x - drawn < 5) {
        // The next one that is far enough away.
        const time = View.time(drawn + 5);
        from = Data.search(from, end, (round) => Data.latest[round] >= time) - 1;
        continue;
      }
      drawn = x;
      if (Data.team[from] === null) {
        context.moveTo(x, View.TOP);
        context.lineTo(x, View.height);
        continue;
      }
      const text = "team " + Data.team[from];
      for (let node = top; node < bottom; node++) {
        if (Data.enter[from * Data.nodes.length + node] < 0) continue;
        context.moveTo(x, Math.max(View.TOP, View.y(node)));
        context.lineTo(x, View.y(node) + View.row);
        if (x < named) continue;
        context.fillText(text, x + 3, Math.max(View.TOP, View.y(node)) + 10);
        named = x + context.measureText(text).width + 8;
      }
    }
    context.stroke();
  }

  // Names of calls that are wide enough, if few enough are seen.
  function names() {
    const [first, end] = View.visible();
    let seen = 0;
    for (let node = first; node < end; node++) seen += Data.after(node, View.to) - Data.since(node, View.from);
    if (seen > MOST_NAMES) return;
    context.textBaseline = "middle";
    context.font = "11px system-ui, sans-serif";
    for (let node = first; node < end; node++) {
      const last = Data.after(node, View.to);
      for (let event = Data.since(node, View.from); event < last; event++) {
        const x = Math.max(View.x(begin[event]), View.LEFT);
        const width = Math.min(View.x(begin[event] + ns[event]), View.width) - x;
        if (width < 50) continue;
        context.fillStyle = colours.back;
        context.save();
        context.beginPath();
        context.rect(x, View.y(node), width - 3, View.row);
        context.clip();
        context.fillText(Tell.kindName(Data.kinds[kind[event]]), x + 4, middle(node) + 2);
        context.restore();
      }
    }
  }

  // --- the frame ------------------------------------------------------------------------------------

  // A time with the unit that suits `span`.
  function shown(time, span) {
    const [unit, name] = span >= 2e9 ? [1e9, "s"] : span >= 2e6 ? [1e6, "ms"] : span >= 2e3 ? [1e3, "µs"] : [1, "ns"];
    const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(span / unit)) + 2));
    return (time / unit).toFixed(digits) + " " + name;
  }

  function axis() {
    const { LEFT, TOP, width, height } = View;
    const span = View.to - View.from;
    context.fillStyle = colours.back;
    context.fillRect(0, 0, width, TOP);
    context.fillRect(0, 0, LEFT, height);
    context.fillStyle = colours.dim;
    context.strokeStyle = colours.rule;
    context.lineWidth = 1;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const rough = (span / (width - LEFT)) * 120;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
    for (let time = Math.ceil(View.from / step) * step; time <= View.to; time += step) {
      const x = Math.round(View.x(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, TOP - 5);
      context.lineTo(x, TOP);
      context.stroke();
      if (x < width - 60) context.fillText(shown(time, step), x + 3, TOP / 2);
    }
    const [first, end] = View.visible();
    context.fillStyle = colours.ink;
    context.save();
    context.beginPath();
    context.rect(0, TOP, LEFT, height - TOP);
    context.clip();
    for (let node = first; node < end; node++) context.fillText("node " + Data.nodes[node].rank, 4, middle(node));
    context.restore();
  }

  function mark() {
    if (!View.marked) return;
    const [from, to] = View.marked.map((time) => Math.min(Math.max(View.x(time), View.LEFT), View.width));
    context.fillStyle = context.strokeStyle = colours.accent;
    context.globalAlpha = 0.16;
    context.fillRect(from, View.TOP, to - from, View.height);
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.strokeRect(from + 0.5, View.TOP + 0.5, Math.max(0, to - from - 1), View.height - View.TOP - 1);
  }

  // Paints all; returns how many messages are seen, and of how many of them one is drawn.
  function paint() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(View.width * ratio), Math.round(View.height * ratio)];
    if (!image || canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      image = context.createImageData(width, height);
      pixels = new Uint32Array(image.data.buffer);
    }
    if (!colours) readColours();
    context.setTransform(1, 0, 0, 1, 0, 0);
    rows(ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.save();
    context.beginPath();
    context.rect(View.LEFT, View.TOP, View.width - View.LEFT, View.height - View.TOP);
    context.clip();
    if (View.show.barriers) barriers();
    const arrows = View.show.messages ? messages() : { count: 0, step: 1 };
    names();
    context.restore();
    axis();
    mark();
    return arrows;
  }

  return { paint, shown, recolour: () => (colours = null) };
})();
