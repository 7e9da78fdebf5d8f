# Prints what the files of the site need that is not in the site, one a line: "FILE: TARGET: WHAT IS WRONG". ci/site runs it in the site, with
# all HTML and CSS files as arguments. What a file loads must be a path, relative to it, of a file that is there, or data in the
# address itself. A link to another site may have a scheme; a link to a path of the same machine is none of a page's either.
BEGIN { RS = "\001" } # a file is one record

FILENAME ~ /\.css$/ { styles($0); next }

{
  count = split($0, parts, "<")
  for (part = 2; part <= count; part++) {
    tag(parts[part])
    # What stands in a script is no tag.
    if (parts[part] ~ /^script[ >]/) while (part < count && parts[part + 1] !~ /^\/script/) part++
  }
}

function tag(text,    name, attributes, rest, value) {
  if (!match(text, /^[A-Za-z]+/)) return
  name = tolower(substr(text, 1, RLENGTH))
  attributes = rest = substr(text, RLENGTH + 1)
  sub(/>.*/, "", attributes)
  if (name == "style") styles(rest)
  while (match(attributes, /[ \t\n](src|href|xlink:href|poster|data|action|srcset|style)=("[^"]*"|\047[^\047]*\047)/)) {
    value = substr(attributes, RSTART + 1, RLENGTH - 2)
    attributes = substr(attributes, RSTART + RLENGTH)
    rest = substr(value, 1, index(value, "=") - 1)
    value = substr(value, index(value, "=") + 2)
    gsub(/&amp;/, "\\&", value)
    if (rest == "style") styles(value)
    else if (rest == "srcset") sources(value)
    else target(value, name == "a" || name == "area")
  }
}

function sources(list,    all, count, i) {
  count = split(list, all, ",")
  for (i = 1; i <= count; i++) {
    sub(/^[ \t\n]+/, "", all[i])
    sub(/[ \t\n].*/, "", all[i])
    target(all[i], 0)
  }
}

# Addresses are behind url( or, without it, behind @import.
function styles(text,    value) {
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
  gsub(/@import[ \t\n]+url\(/, "url(", text)
  while (match(text, /(url\([ \t\n]*|@import[ \t\n]+)("[^"]*"|\047[^\047]*\047|[^\047" \t\n);]+)/)) {
    value = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    sub(/^(url\([ \t\n]*|@import[ \t\n]+)/, "", value)
    gsub(/^["\047]|["\047]$/, "", value)
    target(value, 0)
  }
}

function target(address, is_link,    path) {
  if (address ~ /^data:/ && !is_link) return
  if (address ~ /^[A-Za-z][A-Za-z0-9+.-]*:/) {
    if (!is_link) wrong(address, "is loaded from elsewhere")
    return
  }
  if (address ~ /^\//) return wrong(address, "is a path of the machine")
  path = address
  sub(/[?#].*/, "", path)
  if (path == "") return
  path = inside(FILENAME, path)
  if (path == "") wrong(address, "is outside")
  else if (!is_there(path)) wrong(address, "is not there")
}

# The path from the top of the site; empty: it leads out of it.
function inside(file, path,    steps, count, kept, depth, i, whole) {
  sub(/[^\/]*$/, "", file)
  count = split(file path, steps, "/")
  for (i = 1; i <= count; i++) {
    if (steps[i] == "" || steps[i] == ".") continue
    if (steps[i] != "..") kept[++depth] = steps[i]
    else if (--depth < 0) return ""
  }
  for (i = 1; i <= depth; i++) whole = whole (i > 1 ? "/" : "") kept[i]
  return whole
}

function is_there(path,    line) {
  if (!(path in known)) {
    known[path] = (getline line <path) >= 0
    close(path)
  }
  return known[path]
}

function wrong(address, what) {
  print FILENAME ": " substr(address, 1, 80) ": " what
}
