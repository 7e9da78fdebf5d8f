# Checks that citations of the contract and of docs/design.md cite things that exist. ci/docs calls it with these pages first, then
# any other files. Prints a line per citation that leads nowhere. The forms are in docs/contract/README.md, "How to cite".

function index_page(line,    n, word) {
  if (match(line, /^##+ [0-9]+(\.[0-9]+)?/)) {
    word = substr(line, RSTART, RLENGTH); sub(/^#+ /, "", word); known[page " " word]
  } else if (match(line, /^##+ Appendix [A-Z]/)) {
    known[page " appendix " substr(line, RSTART + RLENGTH - 1, 1)]
  } else if (match(line, /^##+ [A-Z]\. /)) {
    list = substr(line, RSTART + RLENGTH - 3, 1); known[page " list " list]
  } else if (page == "behaviours.md" && match(line, /^[0-9]+\. /)) {
    n = substr(line, 1, RLENGTH - 2); known[page " " n]; known[page " list " list " " n]
  } else if (page ~ /^behaviours-/ && match(line, /^- \*\*[A-Z][0-9]+\*\*/)) {
    known[page " " substr(line, 5, RLENGTH - 6)]
  }
}

function miss(key) { if (!(key in known)) { printf "%s: %s\n", file, key; misses++ } else hits++ }

# The numbers after a citation's name: "6.1, 6.2", "1-7", "3 to 6 and 9"; each is looked up as PREFIX NUMBER. A letter in front of the
# first of a range ("M6-M9") may be left out in the second. Returns how many there were.
function numbers(text, prefix, form,    count, word, from, i, letter) {
  from = ""
  for (;;) {
    sub(/^[ §]*((section|sections|items|item) )?[ §]*/, "", text)
    if (!match(text, "^" form)) break
    word = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1)
    if (from != "" && word ~ /^[A-Z]?[0-9]+$/ && from ~ /^[A-Z]?[0-9]+$/) {
      letter = from; sub(/[0-9]+$/, "", letter); sub(/^[A-Z]/, "", from); sub(/^[A-Z]/, "", word)
      for (i = from + 1; i < word + 0; i++) miss(prefix letter i)
      word = letter word
    }
    miss(prefix word); count++
    if (match(text, /^ ?(-|–|to) ?[§A-Z]?[§0-9]/)) { from = word; sub(/^ ?(-|–|to) ?/, "", text) }
    else { from = ""; if (!match(text, /^(, | and )[§A-Z]?[§0-9]/)) break; sub(/^(, | and )/, "", text) }
  }
  return count
}

# One file's text, its comment marks gone and its lines joined.
function cites(text,    rest, name, list) {
  rest = text
  while (match(rest, /(^|[^-\/A-Za-z])(ex-(core|rma|coll)|core|extended|environment|tools|vis|coll|design|behaviours[-a-z]*)\.md/)) {
    name = substr(rest, RSTART, RLENGTH); sub(/^[^a-z]/, "", name); rest = substr(rest, RSTART + RLENGTH)
    miss(name " page")
    sub(/^,? /, " ", rest)
    if (match(rest, /^ appendix [A-Z]/)) miss(name " appendix " substr(rest, RLENGTH, 1))
    else if (name !~ /^behaviours/ && match(rest, /^ (§|section|[0-9])/)) numbers(rest, name " ", "[0-9]+(\\.[0-9]+)?")
  }
  if (match(text, /[Cc]ontract: (§|section)/)) printf "%s: a section without its page\n", file
  if (match(text, /\.\.\/shared\/[a-z]/) && text !~ /shared\/man\.rs/) printf "%s: a page outside the repository\n", file
  rest = text
  while (match(rest, /behaviours [A-Z]?[0-9]/)) {
    rest = substr(rest, RSTART + 11)
    if (rest ~ /^[0-9]/) numbers(rest, "behaviours.md ", "[0-9]+")
    else numbers(rest, "behaviours-tools-vis-coll.md ", "[A-Z][0-9]+")
  }
  rest = text
  while (match(rest, /[Cc]ontract items? [0-9]/)) {
    rest = substr(rest, RSTART); sub(/^[Cc]ontract items? /, "", rest); numbers(rest, "behaviours.md ", "[0-9]+")
  }
  rest = text
  while (match(rest, /[Ll]ist [A-Z], items? [0-9]/)) {
    list = substr(rest, RSTART + 5, 1); rest = substr(rest, RSTART); sub(/^[Ll]ist [A-Z], items? /, "", rest)
    if (list ~ /[KLMV]/) numbers(rest, "behaviours-tools-vis-coll.md " list, "[0-9]+")
    else numbers(rest, "behaviours.md list " list " ", "[0-9]+")
  }
}

FNR == 1 {
  if (text != "") cites(text)
  file = FILENAME; text = ""
  if (file ~ /^docs\/(contract\/|design\.md$)/) { page = file; sub(/.*\//, "", page); known[page " page"] } else page = ""
}
page != "" { index_page($0); next }
{ line = $0; sub(/^[ \t]*(\/\/[\/!]?|\*|\/\*|#|\|)[ \t]*/, "", line); text = text " " line }
END {
  if (text != "") cites(text)
  if (hits < 200) printf "only %d citations were found; the check is broken\n", hits
}
