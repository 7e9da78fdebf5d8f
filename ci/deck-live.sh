#!/bin/bash
# The picture of Mandelbrot grows in a page while two processes compute it and send its slices by mail boxes: `ci/bench-deck --only live`
# builds the program and calls this. Headless Chromium must see some rows, later more, and all at the end. The page and its pictures
# stay in target/peers.
#
#   ci/deck-live.sh [quick]
. "$(dirname "$0")/lib.sh"
set_up chromium
mark_runs
. ci/browser.sh
programs=$target/peers words=(--full)
[ "${1:-}" != quick ] || words+=(--iterations 4000)
: >"$programs/live.js"
cat >"$programs/live.html" <<'HTML'
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Mail boxes, live</title>
<p>The Mandelbrot set, as two processes compute it and send its slices by mail boxes.</p>
<canvas id="picture" width="512" height="512"></canvas><pre id="drawn">0</pre>
<script>
const pen = document.getElementById('picture').getContext('2d'), seen = new Set();
function row(y, hex) {
  if (seen.has(y)) return;
  seen.add(y);
  const width = hex.length / 2, line = pen.createImageData(width, 1);
  for (let x = 0; x < width; x++) {
    const grey = parseInt(hex.substr(2 * x, 2), 16);
    line.data.set([grey, grey * 0.8, 60 + grey * 0.7, 255], 4 * x);
  }
  pen.putImageData(line, 0, y);
  document.getElementById('drawn').textContent = seen.size;
}
// What is there now; a row that is still being written fails alone, and is there at the next look.
function look() {
  const script = document.createElement('script');
  script.src = 'live.js?' + Date.now();
  script.onload = script.onerror = () => { script.remove(); setTimeout(look, 200); };
  document.body.append(script);
}
window.onload = look;
</script></html>
HTML

# The rows that the page has drawn after a while, and a picture of it.
drawn() { # NAME
  browser "$programs/live.html" --virtual-time-budget=1500 --screenshot="$programs/$1.png" >/dev/null
  browser "$programs/live.html" --virtual-time-budget=1500 --dump-dom >"$TMPDIR/dom"
  text_of "$TMPDIR/dom" drawn
}
timeout -k 5 900 "$stage/bin/gasnetrun_sci" -n 2 "$programs/mandelbrot-deck" "${words[@]}" --no-verify --script "$programs/live.js" \
  </dev/null >"$TMPDIR/out" 2>&1 &
job=$!
until [ "$(wc -l <"$programs/live.js")" -ge 64 ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
first=$(drawn live-middle) later=$(drawn live-later)
wait $job && [ "$(grep -c ': PASS (' "$TMPDIR/out")" -eq 2 ] || fail "mandelbrot did not end well: $(tail -n 3 "$TMPDIR/out")"
all=$(drawn live-end)
say "the page while Mandelbrot is computed: ${first:-no} rows, later ${later:-none}, at the end ${all:-none} of 512"
[ "${first:-0}" -gt 0 ] && [ "$first" -lt 512 ] && [ "${later:-0}" -ge "$first" ] && [ "${all:-0}" -eq 512 ] || fail "the picture does not grow in the page"
[ $failed -eq 0 ]
