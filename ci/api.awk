# Reads the API pages in docs/api (their form: docs/api/README.md) and writes what is asked for:
#
#   -v mode=man  -v out=DIR    a man page of section 3 per entry, and one line with .so for each further name; -v see=none:
#                              they refer to no launcher
#   -v mode=site -v out=DIR    a page of Markdown per entry, one per file with a list of its entries, and names.md
#   -v mode=names              lines: "own NAME PAGE", "says NAME PAGE" (names that stand in code)
#   -v mode=prototypes         for xtask, lines of five fields with tabs between: file without .md, type of the result, name (with @ for <M>),
#                              parameters, their names
#   -v mode=check -v want=HEADER
#                              a C file for the pages of this header (gasnet, gasnetex, tools, deck): each prototype is called as it is
#                              printed, and its type compared; each example is compiled
#   -v mode=calls -v want=...  the prototypes' part of it
#
# Any awk. Faults of form go to stderr, and the status is 1.

function fault(text) { print FILENAME ":" FNR ": " text > "/dev/stderr"; bad = 1 }

# All texts that NAME stands for, separated by blanks: {a,b} is each of them, <M> is 0 to 16, <TY> the types of atomics.
function expand(name, before, after, inside, parts, n, i, all) {
  if (match(name, /\{[^{}]*\}/)) {
    before = substr(name, 1, RSTART - 1); inside = substr(name, RSTART + 1, RLENGTH - 2); after = substr(name, RSTART + RLENGTH)
    n = split(inside, parts, ",")
    for (i = 1; i <= n; i++) all = all " " expand(before parts[i] after)
    return substr(all, 2)
  }
  if ((i = index(name, "<M>"))) {
    for (n = 0; n <= 16; n++) all = all " " expand(substr(name, 1, i - 1) n substr(name, i + 3))
    return substr(all, 2)
  }
  if ((i = index(name, "<TY>"))) return expand(substr(name, 1, i - 1) "{I32,U32,I64,U64,FLT,DBL}" substr(name, i + 4))
  return name
}

function own(name, list, n, i) {
  n = split(expand(name), list, " ")
  for (i = 1; i <= n; i++) {
    if (list[i] in page_of && page_of[list[i]] != page) fault(list[i] " is on the pages " page_of[list[i]] " and " page)
    if (list[i] in page_of) continue
    page_of[list[i]] = page
    names[page] = names[page] " " list[i]
    order[++owned] = list[i]
  }
}

# Names with our prefixes in a piece of code.
function says(code, word, words, n, i, list, k, m) {
  n = split(code, words, /[^A-Za-z0-9_{},<>]+/)
  for (i = 1; i <= n; i++) {
    word = words[i]
    sub(/[,<]+$/, "", word)
    if (word !~ /^(_?gasnett?|gex|deck|GASNETT?|GEX|DECK)_[A-Za-z0-9_{},<>]*$/) continue
    if (word ~ /^[^{]*[,}]/ || word ~ /_$/) continue
    m = split(expand(word), list, " ")
    for (k = 1; k <= m; k++) said[list[k] " " page] = 1
  }
}

# One line of a synopsis: which names it declares.
function declare(line, name) {
  says(line)
  if (in_type) {
    if (in_type == "enum" && match(line, /^ *[A-Z][A-Za-z0-9_]*/)) { name = substr(line, RSTART, RLENGTH); gsub(/ /, "", name); own(name) }
    if (line ~ /^\}.*;/) { name = line; gsub(/^\} *|;.*$/, "", name); if (name != "") own(name); in_type = "" }
    return
  }
  if (line ~ /^ / || line == "" || line ~ /^\/[*\/]/ || line ~ /^#include/) return
  if (line ~ /^#define /) { name = line; sub(/^#define /, "", name); sub(/[ (].*/, "", name); own(name); return }
  if (line ~ /^enum /) {
    gsub(/^enum *\{ *| *\};.*$/, "", line)
    if (line == "") { in_type = "enum"; return }
    gsub(/ *= *[^,]*/, "", line); gsub(/, */, " ", line)
    n_enum = split(line, enums, " ")
    for (i_enum = 1; i_enum <= n_enum; i_enum++) own(enums[i_enum])
    return
  }
  if (line ~ /^typedef struct.*\{$/) { in_type = "struct"; return }
  if (line ~ /^typedef /) {
    if (match(line, /\(\*[a-z_A-Z0-9]+\)/)) name = substr(line, RSTART + 2, RLENGTH - 3)
    else { name = line; sub(/;.*/, "", name); sub(/.*[ *}]/, "", name) }
    own(name); return
  }
  if (match(line, /\(\*[a-z_A-Z0-9]+\)\(/) && line ~ /^extern /) { own(substr(line, RSTART + 2, RLENGTH - 4)); return }
  name = line
  if (line ~ /^extern / && line !~ /\(/) sub(/;.*/, "", name); else sub(/ *\(.*/, "", name)
  is_macro = (name !~ /[ *]/)
  sub(/.*[ *]/, "", name)
  own(name)
  if (line ~ /^extern / || is_macro) return
  prototype[++prototypes] = line; prototype_page[prototypes] = page; prototype_header[prototypes] = header
}

# Parameters that a page speaks of; the others are in a list of their group.
function explains(code, words, n, i) { n = split(code, words, /[^A-Za-z0-9_]+/); for (i = 1; i <= n; i++) explained[page, words[i]] = 1 }

# Appends to the description of page p what its group says about parameters that p does not speak of.
function complete(p, i, k, n, list, line, head, rest, g, found, name) {
  g = group_of[p]
  for (i = 1; i <= commons[g]; i++) {
    line = common[g, i]; k = index(line, ": "); rest = substr(line, k); head = ""
    n = split(substr(line, 1, k - 1), list, ", ")
    for (k = 1; k <= n; k++) {
      name = list[k]; gsub(/`/, "", name)
      if ((p, name) in wanted && !((p, name) in explained)) { head = head (head == "" ? "" : ", ") list[k]; explained[p, name] = 1 }
    }
    if (head != "") found = found "- " head rest "\n"
  }
  if (found == "") return
  n = split(trimmed(text[p, "description"]), list, "\n")
  text[p, "description"] = trimmed(text[p, "description"]) (list[n] ~ /^(- |  )/ ? "\n" : "\n\n") found
}

function set(field, line) { text[page, field] = text[page, field] line "\n"; has[page, field] = 1 }

FNR == 1 { group = FILENAME; sub(/.*\//, "", group); sub(/\.md$/, "", group); groups[++n_groups] = group; source[group] = FILENAME; page = ""; field = "about"; fence = 0; header = "gasnet" }
/^# / && !fence { title[group] = substr($0, 3); next }
/^## / && !fence {
  heading = substr($0, 4)
  if (!match(heading, /: /)) { fault("no summary: " heading); next }
  page = substr(heading, 1, RSTART - 1); display = page; sub(/,.*/, "", page); gsub(/[^A-Za-z0-9_]/, "", page)
  shown[page] = display; summary[page] = substr(heading, RSTART + 2)
  group_of[page] = group; pages[++n_pages] = page; header_of[page] = header; field = "description"; seen_fence = 0
  next
}
/^### / && !fence {
  field = substr($0, 5)
  if (field !~ /^(Result|Errors|Where|Example|Also)$/ && !(page == "" && field == "Parameters")) fault("no such part: " field)
  if (page == "") group_has[group, field] = 1
  next
}
/^```/ {
  fence = !fence
  if (fence && page != "" && !seen_fence) { field = "synopsis"; next }
  if (!fence && field == "synopsis") { seen_fence = 1; field = "description"; if (in_type) fault("the type does not end"); next }
}
{
  if (page == "") {
    if (field == "about" && fence && /^#include/) {
      include[group] = include[group] $0 "\n"
      if (/gasnet_tools/) header = "tools"; else if (/deck/) header = "deck"; else if (/gasnetex/ || header == "gasnetex") header = "gasnetex"; else header = "gasnet"
      group_header[group] = header
    }
    text["group " group, field] = text["group " group, field] $0 "\n"; has["group " group, field] = 1
    if (field == "Parameters" && /^- /) common[group, ++commons[group]] = substr($0, 3)
    next
  }
  if (field == "synopsis") declare($0)
  else if (field == "Also") {
    rest = $0
    while (match(rest, /`[^`]+`/)) { word = substr(rest, RSTART + 1, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH); if (word ~ /^[A-Za-z0-9_{},<>]+$/) { own(word); says(word) } }
  } else {
    rest = $0
    if (fence) says($0)
    else while (match(rest, /`[^`]+`/)) { word = substr(rest, RSTART + 1, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH); says(word); explains(word) }
  }
  set(field, $0)
}

function part(p, f) {
  if ((p, f) in has) return text[p, f]
  return text["group " group_of[p], f]
}
function trimmed(t) { gsub(/^\n+|\n+$/, "", t); return t }

# A synopsis whose prototypes that are longer than 78 have their parameters on further lines.
function wrapped(t, lines, n, i, all, line, words, m, k) {
  n = split(trimmed(t), lines, "\n")
  for (i = 1; i <= n; i++) {
    if (length(lines[i]) <= 78 || lines[i] !~ /\);$/) { all = all lines[i] "\n"; continue }
    m = split(lines[i], words, ", "); line = words[1]
    for (k = 2; k <= m; k++) {
      if (length(line) + length(words[k]) > 76) { all = all line ",\n"; line = "    " words[k] } else line = line ", " words[k]
    }
    all = all line "\n"
  }
  return trimmed(all)
}

# ---- man pages ----
# A line may break after a comma in a long name with braces: troff warns of lines that it cannot break.
function code_words(s) { gsub(/,/, ",\\:", s); gsub(/,\\: /, ", ", s); return s }
function roff(s) {
  gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); gsub(/\047/, "\\(aq", s)
  while (match(s, /\[[^]]+\]\([^)]+\)/)) {
    link = substr(s, RSTART, RLENGTH); where = RSTART; len = RLENGTH
    sub(/^\[/, "", link); sub(/\]\(.*/, "", link)
    s = substr(s, 1, where - 1) link substr(s, where + len)
  }
  while (match(s, /`[^`]+`/)) s = substr(s, 1, RSTART - 1) "\\fB" code_words(substr(s, RSTART + 1, RLENGTH - 2)) "\\fR" substr(s, RSTART + RLENGTH)
  while (match(s, /\*\*[^*]+\*\*/)) s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 2, RLENGTH - 4) "\\fR" substr(s, RSTART + RLENGTH)
  if (s ~ /^[.]/) s = "\\&" s
  return s
}
function code_roff(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); gsub(/\047/, "\\(aq", s); if (s ~ /^[.]/) s = "\\&" s; return s }
function man_text(t, file, lines, n, i, in_code, open, s, cells) {
  n = split(trimmed(t), lines, "\n"); open = 0
  for (i = 1; i <= n; i++) {
    s = lines[i]
    if (s ~ /^```/) { in_code = !in_code; print (in_code ? (open ? ".PP\n" : "") ".in +4n\n.nf" : ".fi\n.in") > file; open = 0; continue }
    if (in_code) { print code_roff(s) > file; continue }
    if (s == "") { continue }
    if (s ~ /^\|[- |]+\|$/) continue
    if (s ~ /^\| /) {
      sub(/^\| */, "", s); sub(/ *\|$/, "", s); k = index(s, " | ")
      if (s ~ /^\|/) continue
      print ".TP" > file; print roff(substr(s, 1, k - 1)) > file; s = substr(s, k + 3); gsub(/ \| /, "; ", s); print roff(s) > file; open = 1; continue
    }
    if (s ~ /^- `[^`]+`(, `[^`]+`)*: /) {
      k = index(s, ": "); print ".TP" > file; print roff(substr(s, 3, k - 3)) > file; print roff(substr(s, k + 2)) > file; open = 1; continue
    }
    if (s ~ /^- /) { print ".IP \\(bu 2" > file; print roff(substr(s, 3)) > file; open = 1; continue }
    if (s ~ /^  [^ ]/ && open) { sub(/^ +/, "", s); print roff(s) > file; continue }
    if (i > 1 && lines[i - 1] == "" && open) print ".PP" > file
    print roff(s) > file; open = 1
  }
}
function man_part(p, f, head, file) { if (trimmed(part(p, f)) != "") { print ".SH " head > file; man_text(part(p, f), file) } }
# The includes of a page. Behind one may stand for which names it is: /* gex_VIS_ gex_Coll_ */.
function includes(p, list, n, i, words, m, k, all) {
  n = split(include[group_of[p]], list, "\n")
  for (i = 1; i <= n; i++) {
    m = split(list[i], words, " ")
    if (words[3] == "/*") { for (k = 4; k < m && index(p, words[k]) != 1; k++); if (k >= m) continue }
    if (m) all = all words[1] " " words[2] "\n"
  }
  return all
}
function write_man(p, file, list, n, i, s) {
  file = out "/" p ".3"
  print ".\\\" Made from " source[group_of[p]] " by ci/api.awk." > file
  print ".TH " toupper(p) " 3 \"" date "\" \"gasnet\\-sci " version "\" \"gasnet\\-sci\"" > file
  print ".ad l\n.nh" > file # names are long, and are to be found whole: no line is filled with spaces, no word is divided
  print ".SH NAME" > file
  s = shown[p]; print roff(s) " \\- " roff(summary[p]) > file
  print ".SH SYNOPSIS\n.nf" > file
  s = wrapped(includes(p) "\n" text[p, "synopsis"]); n = split(s, list, "\n")
  for (i = 1; i <= n; i++) print code_roff(list[i]) > file
  print ".fi\n.SH DESCRIPTION" > file
  man_text(text[p, "description"], file)
  man_part(p, "Also", "FURTHER NAMES", file)
  man_part(p, "Result", "RETURN VALUE", file)
  man_part(p, "Errors", "ERRORS", file)
  man_part(p, "Where", "WHERE ALLOWED", file)
  man_part(p, "Example", "EXAMPLES", file)
  print ".SH SEE ALSO" > file
  if (see == "") print ".BR gasnetrun_sci (1)," > file
  print ".BR gasnet\\-sci (1)" > file
  close(file)
  n = split(names[p], list, " ")
  for (i = 1; i <= n; i++) if (list[i] != p && list[i] ~ /[a-z]/) { file = out "/" list[i] ".3"; print ".so man3/" p ".3" > file; close(file) }
}

# ---- site ----
function site_part(p, f, head, file) { if (trimmed(part(p, f)) != "") print "\n## " head "\n\n" trimmed(part(p, f)) > file }
function write_page(p, file, n, list, i, line) {
  file = out "/" p ".md"
  print "# " (length(shown[p]) > 90 ? p ", …" : shown[p]) "\n\n" toupper(substr(summary[p], 1, 1)) substr(summary[p], 2) ".\n" > file
  print "```c\n" wrapped(includes(p) "\n" text[p, "synopsis"]) "\n```\n\n" trimmed(text[p, "description"]) > file
  site_part(p, "Also", "Further names", file)
  site_part(p, "Result", "Result", file)
  site_part(p, "Errors", "Errors", file)
  site_part(p, "Where", "Where allowed", file)
  site_part(p, "Example", "Example", file)
  n = split(names[p], list, " ")
  if (n > 1) { print "\n## Names on this page\n" > file; for (i = 1; i <= n; i++) line = line (i > 1 ? ", " : "") "`" list[i] "`"; print line > file }
  close(file)
}
function write_group(g, file, i, line) {
  file = out "/" g ".md"
  print "# " title[g] "\n\n" trimmed(text["group " g, "about"]) "\n" > file
  if ((("group " g), "Where") in has) print "**Where allowed**, unless the page of a call says otherwise: " trimmed(text["group " g, "Where"]) "\n" > file
  if ((("group " g), "Errors") in has) print "**Errors**, unless the page of a call says otherwise: " trimmed(text["group " g, "Errors"]) "\n" > file
  print "| page | what for |\n|---|---|" > file
  for (i = 1; i <= n_pages; i++) if (group_of[pages[i]] == g) { line = shown[pages[i]]; if (length(line) > 60) line = pages[i] ", …"; print "| [" line "](" pages[i] ".md) | " summary[pages[i]] " |" > file }
  print "\n```{toctree}\n:hidden:\n" > file
  for (i = 1; i <= n_pages; i++) if (group_of[pages[i]] == g) print pages[i] > file
  print "```" > file
  close(file)
}
function write_names(file, i, j, t, m, list) {
  file = out "/names.md"
  print "# All names\n\nEvery name of the headers that has a page, with that page.\n\n| name | page |\n|---|---|" > file
  for (i = 1; i <= owned; i++) print "| `" order[i] "` | [" page_of[order[i]] "](" page_of[order[i]] ".md) |" | "LC_ALL=C sort >" out "/names.tmp"
  close("LC_ALL=C sort >" out "/names.tmp")
  while ((getline t < (out "/names.tmp")) > 0) print t > file
  close(file); system("rm " out "/names.tmp")
}

# ---- the C file ----
function parameters(list, n, depth, i, c, cur, k, p, name) {
  n = 0; depth = 0; cur = ""
  for (i = 1; i <= length(list); i++) {
    c = substr(list, i, 1)
    if (c == "(") depth++
    if (c == ")") depth--
    if (c == "," && !depth) { params[++n] = cur; cur = "" } else cur = cur c
  }
  params[++n] = cur
  args = ""
  for (k = 1; k <= n; k++) {
    p = params[k]; gsub(/^ +| +$/, "", p)
    if (p == "void" || p == "") continue
    if (match(p, /\(\*[A-Za-z0-9_]+\)/)) name = substr(p, RSTART + 2, RLENGTH - 3)
    else { name = p; gsub(/\[[^]]*\]/, "", name); sub(/.*[ *]/, "", name) }
    args = args (args == "" ? "" : ", ") name
  }
  return args
}
# Sets ret, name and inner to the type of the result, the name and the parameters.
function take_apart(line, k) {
  sub(/;.*/, "", line)
  k = index(line, "("); inner = substr(line, k + 1, length(line) - k - 1); name = substr(line, 1, k - 1)
  match(name, /[A-Za-z0-9_{},<>]+$/); ret = substr(name, 1, RSTART - 1); name = substr(name, RSTART)
  gsub(/ $/, "", ret)
}
function write_prototypes(i, k, n, list) {
  for (i = 1; i <= prototypes; i++) {
    take_apart(prototype[i]); gsub(/<M>/, "@", name); n = split(expand(name), list, " ")
    for (k = 1; k <= n; k++) print group_of[prototype_page[i]] "\t" ret "\t" list[k] "\t" inner "\t" parameters(inner)
  }
}
function check_prototype(line, n, list, i, more, m, k, ty, with, call, drop) {
  take_apart(line)
  n = split(expand(name), list, " ")
  for (i = 1; i <= n; i++) {
    more = inner
    if (sub(/, \.\.\.$/, "", more) && name ~ /<M>/) {
      m = list[i]; sub(/_v2$/, "", m); match(m, /[0-9]+$/); m = substr(m, RSTART) + 0
      for (k = 0; k < m; k++) more = more ", gasnet_handlerarg_t a" k
    }
    ty = ""
    if (name ~ /<TY>/) { ty = list[i]; sub(/.*_/, "", ty); ty = c_type[ty]; gsub(/TYPE/, ty, more) }
    with = ret; gsub(/TYPE/, ty, with)
    args = parameters(more)
    sub(/numargs$/, inner ~ /, \.\.\.$/ ? "0" : "numargs", args) # the count before the arguments is a number in the source
    if (name ~ /^gasnett/) sub(/(fmt|format)$/, "\"x\"", args)
    checks++; call = list[i] "(" args ")"; drop = ret ~ /(handle|Event)_t$/ ? "" : "(void)(" call "); " # one may warn if these are not used
    # A result has its type, and may be dropped; a call without one is an expression beside others.
    if (with ~ /^(GASNETT_NORETURN )?void$/) { with = "int"; call = "check_any ? " call " : (void)0; return (" call ", 1);" }
    else call = "__typeof__(" call ") *check_type; " with " check_result = " call "; check_type = &check_result; (void)check_type; " drop "return check_result;"
    call = with " check_" want "_" checks "(" more ") { " call " }"
    print "extern " substr(call, 1, index(call, " {") - 1) "; " call
  }
}
function write_calls(i) {
  c_type["I32"] = "int32_t"; c_type["U32"] = "uint32_t"; c_type["I64"] = "int64_t"; c_type["U64"] = "uint64_t"; c_type["FLT"] = "float"; c_type["DBL"] = "double"
  print "extern int check_any;"
  for (i = 1; i <= prototypes; i++) if (prototype_header[i] == want) { print "#line 1 \"page_" prototype_page[i] "\""; check_prototype(prototype[i]) }
}
function write_examples(i, p, t, s) {
  for (i = 1; i <= n_pages; i++) {
    p = pages[i]
    if (header_of[p] != want) continue
    t = text[p, "Example"]; sub(/^[^`]*```c\n/, "", t); sub(/```.*/, "", t)
    print "#line 1 \"example_" p "\""
    if (t ~ /(^|\n)static [^=;\n]*\([^\n]*\{/) print t
    else { s = t; print "static void example_" p "(void) {\n" s "}" }
  }
}

END {
  for (i = 1; i <= prototypes; i++) {
    take_apart(prototype[i]); parameters(inner)
    n = split(args, names_of, ", ")
    for (k = 1; k <= n; k++) if (names_of[k] != "...") wanted[prototype_page[i], names_of[k]] = 1
  }
  for (i = 1; i <= n_pages; i++) complete(pages[i])
  # Signs in names stand for several names.
  for (i = 1; i <= n_pages; i++) {
    p = pages[i]; line = ""
    if (text[p, "synopsis"] ~ /<M>/) line = "`<M>` in a name is the number of arguments of 32 bits that follow, 0 to 16."
    if (text[p, "synopsis"] ~ /[A-Za-z_]\{[A-Za-z0-9_]+,/) line = line (line == "" ? "" : " ") "Braces in a name: there is a name with each of the words."
    if (line != "") text[p, "description"] = line "\n\n" trimmed(text[p, "description"])
  }
  for (w in wanted) { split(w, pair, SUBSEP); if (!(w in explained)) fault(pair[1] ": nothing is said about " pair[2]) }
  for (i = 1; i <= n_pages; i++) {
    p = pages[i]
    if (!((p, "synopsis") in has)) fault(p ": no synopsis")
    if (!(p in page_of)) fault(p ": its synopsis does not declare it")
    if (trimmed(text[p, "description"]) == "") fault(p ": no description")
    if (trimmed(part(p, "Where")) == "") fault(p ": where is it allowed?")
    if (trimmed(part(p, "Errors")) == "") fault(p ": which errors?")
    if (trimmed(part(p, "Example")) == "") fault(p ": no example")
  }
  if (bad) exit 1
  if (mode == "man") for (i = 1; i <= n_pages; i++) write_man(pages[i])
  if (mode == "site") {
    for (i = 1; i <= n_pages; i++) write_page(pages[i])
    for (i = 1; i <= n_groups; i++) write_group(groups[i])
    write_names()
  }
  if (mode == "names") {
    for (i = 1; i <= owned; i++) print "own", order[i], page_of[order[i]]
    for (s in said) print "says", s
  }
  if (mode == "prototypes") write_prototypes()
  if (mode == "calls" || mode == "check") write_calls()
  if (mode == "check") write_examples()
}
