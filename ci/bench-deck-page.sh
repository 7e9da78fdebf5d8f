# The JSON and the page of ci/bench-deck, which sources this; it is never run. Bash.
failed_before=$failed
. ci/browser.sh
failed=$failed_before

write_json() {
  printf '{"bench":"deck","quick":%s,"rounds":%d,"cores":%d,"failed":%d,\n"cells":[' "$([ -n "$quick" ] && say true || say false)" "$rounds" "$cores" "$failed"
  awk -F '|' '$1 == "cell" {
    printf "%s\n{\"who\":\"%s\",\"way\":\"%s\",\"operation\":\"%s\",\"bytes\":%s,\"unit\":\"%s\",\"median\":%s,\"least\":%s,\"most\":%s,\"runs\":%s}", comma, $2, $3, $4, $5, $6, $7, $8, $9, $10
    comma = "," }' "$TMPDIR/result"
  printf '],\n"applications":['
  awk -F '|' 'function number(x) { return x == "-" ? "null" : x }
    { printf "%s\n{\"case\":\"%s\",\"way\":\"%s\",\"runs\":%d,\"seconds\":%s,\"least\":%s,\"most\":%s,\"communication\":%s,\"speedup\":%s,\"to_mpi\":%s,\"communication_to_mpi\":%s}",
        comma, $1, $2, $3, $4, $5, $6, $7, number($8), number($9), number($10); comma = "," }' "$TMPDIR/apps"
  printf '],\n"bounds":['
  awk -F '|' '$1 == "bound" {
    printf "%s\n{\"row\":\"%s\",\"what\":\"%s\",\"value\":%s,\"sign\":\"%s\",\"bound\":%s,\"verdict\":\"%s\"}", comma, $2, $3, $4 == "-" ? "null" : $4, $5 "=", $6, $7
    comma = "," }' "$TMPDIR/result"
  printf ']}\n'
}

# The page. With a file of rows, it has them in itself; without, it looks into live.js beside it again and again.
page() { # [ROWS]
  cat <<'HTML'
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Mail boxes, measured</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .15em .8em; border-bottom: 1px solid #ddd; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums } .met { color: #060 } .not { color: #b00 } canvas { background: #eee; width: 512px }
</style>
<h1>Mail boxes, measured</h1>
<p>The Mandelbrot set, as two processes compute it and send its slices by mail boxes. <span id="state"></span></p>
<canvas id="picture" width="512" height="512"></canvas><pre id="drawn" hidden>0</pre>
<script>
const canvas = document.getElementById('picture'), pen = canvas.getContext('2d'), seen = new Set();
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
  document.getElementById('state').textContent = seen.size + ' rows are there.';
}
HTML
  if [ -n "${1:-}" ]; then
    cat "$1"
    say '</script>'
  else
    cat <<'HTML'
// What is there now; a row that is still being written fails alone, and is there at the next look.
function look() {
  const script = document.createElement('script');
  script.src = 'live.js?' + Date.now();
  script.onload = script.onerror = () => { script.remove(); setTimeout(look, 200); };
  document.body.append(script);
}
window.onload = look;
</script>
HTML
  fi
  say '<h2>Bounds</h2><table><tr><th>row<th>what<th>value<th>bound<th>'
  awk -F '|' '$1 == "bound" { class = $7 == "met" ? "met" : $7 == "NOT met" ? "not" : "none"
    printf "<tr><td>%s<td>%s<td class=n>%s<td class=n>%s %s<td class=%s>%s\n", $2, $3, $4, $5 == "<" ? "\342\211\244" : "\342\211\245", $6, class, $7 }' "$TMPDIR/result"
  say '</table>'
  awk -F '|' '$1 == "note" { print "<p>" $2 }' "$TMPDIR/result"
  say '<h2>Messages</h2><table><tr><th>library<th>way<th>operation<th>bytes<th>median<th>least<th>most<th>'
  awk -F '|' '$1 == "cell" { printf "<tr><td>%s<td>%s<td>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s<td>%s\n", $2, $3, $4, $5, $7, $8, $9, $6 }' "$TMPDIR/result"
  say '</table><h2>Applications</h2><table><tr><th>case<th>way<th>seconds<th>least<th>most<th>communication, %<th>speed-up<th>time to MPI<th>communication to MPI'
  awk -F '|' '{ printf "<tr><td>%s<td>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s\n", $1, $2, $4, $5, $6, $7, $8, $9, $10 }' "$TMPDIR/apps"
  say "</table><p>$rounds rounds, $cores cores, $(date -u +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)</html>"
}

# The rows that the page has drawn after a while, and a picture of it.
drawn() { # PAGE NAME
  browser "$1" --virtual-time-budget=1500 --screenshot="$programs/$2.png" >/dev/null
  browser "$1" --virtual-time-budget=1500 --dump-dom >"$TMPDIR/dom"
  sed -nE 's/.*<pre id="drawn"[^>]*>([0-9]+).*/\1/p' "$TMPDIR/dom"
}

# Computes the picture and looks at the page meanwhile: it must have some rows, later more, and all at the end.
watch_growing() {
  local job first later all words=(--full)
  [ -z "$quick" ] || words+=(--iterations 4000)
  mkdir -p "$TMPDIR/live"
  : >"$TMPDIR/live/live.js"
  page >"$TMPDIR/live/index.html"
  timeout -k 5 900 "$stage/bin/gasnetrun_sci" -n 2 "$programs/mandelbrot-deck" "${words[@]}" --no-verify \
    --script "$TMPDIR/live/live.js" </dev/null >"$TMPDIR/out" 2>&1 &
  job=$!
  until [ "$(wc -l <"$TMPDIR/live/live.js")" -ge 64 ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
  first=$(drawn "$TMPDIR/live/index.html" live-middle)
  kill -0 $job 2>/dev/null || say "the picture was complete before the browser had looked at it"
  later=$(drawn "$TMPDIR/live/index.html" live-later)
  wait $job && [ "$(grep -c ': PASS (' "$TMPDIR/out")" -eq 2 ] || fail "mandelbrot did not end well: $(tail -n 3 "$TMPDIR/out")"
  all=$(drawn "$TMPDIR/live/index.html" live-end)
  cp "$TMPDIR/live/live.js" "$programs/live.js"
  say "the page while Mandelbrot is computed: ${first:-no} rows, later ${later:-none}, at the end ${all:-none} of 512"
  [ "${first:-0}" -gt 0 ] && [ "${first:-0}" -lt 512 ] && [ "${later:-0}" -ge "${first:-0}" ] && [ "${all:-0}" -eq 512 ] ||
    fail "the picture does not grow in the page"
  say "pictures of the page: $programs/live-middle.png, live-later.png, live-end.png"
}

write_page() { # FILE
  local rows=$programs/live.js
  [ -e "$rows" ] || : >"$rows"
  page "$rows" >"$1" || die "cannot write $1"
  ! grep -nE 'https?:|@import|<link|src=' "$1" || { say "the page names something outside"; failed=$((failed + 1)); }
}
