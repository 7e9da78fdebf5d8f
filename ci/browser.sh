# Headless Chromium for ci/page and ci/place, which source this after lib.sh and mark_runs; it is never run. Bash.

# A profile of its own; no sandbox, because root in a container may not make one; no other part of Chromium may use the network.
browser() { # FILE OPTION...
  HOME=$TMPDIR timeout -k 5 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
    --user-data-dir="$TMPDIR/chromium" --window-size=1400,1000 "${@:2}" "file://$1" </dev/null 2>"$TMPDIR/chromium.log"
}

# A page is one file: it has no address, and no element that loads another file.
stands_alone() { # FILE
  grep -nE 'https?:|//[a-z]+\.|@import|url\(|<link|src=' "$1" && fail "the page names something outside" || pass
}

# The text of the element $2 of the document that the browser has printed to file $1.
text_of() { sed -nE "s/.*<pre id=\"$2\">([^<]*).*/\1/p" "$1"; }

# Counts what the script in the page has found: "ok WHAT" or "WHAT", separated by ";".
count_checks() { # DOM ID NAME
  local result line lines
  result=$(text_of "$1" "$2")
  [ -n "$result" ] || { fail "${3:+$3: }the check did not end"; tail -n 5 "$TMPDIR/chromium.log" | sed 's/^/    /'; }
  IFS=';' read -ra lines <<<"$result"
  for line in "${lines[@]}"; do
    case $line in ok\ *) pass ;; ?*) fail "${3:+$3: }$line" ;; esac
  done
}
