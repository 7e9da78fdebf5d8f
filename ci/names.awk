# Makes a C file of tables such as c-tests/names-core.txt: awk -v sections=" all job seq " -f names.awk TABLES
# Everything is used in functions of its own, never called; the file is for a compiler that is told to warn.

BEGIN { active = 0 }
/^#/ || /^[ \t]*$/ { next }
/^\[.*\]$/ { active = index(sections, " " substr($0, 2, length($0) - 2) " ") > 0; next }
!active { next }
{ kind = $1; rest = $0; sub(/^[^ ]+ +/, "", rest); place = "#line " FNR " \"" FILENAME "\"\n" }

kind == "if" {
  condition = rest
  if (rest ~ /^[A-Za-z_0-9]+$/) condition = rest " && defined(" rest ")"
  print place "#if !(" condition ")\n#error " rest "\n#endif"
  next
}
kind == "defined" { print place "#ifndef " rest "\n#error " rest " is not defined\n#endif"; next }
kind == "undef" { print place "#ifdef " rest "\n#error " rest " is defined\n#endif"; next }
kind == "string" { print place "extern const char name_string" NR "[]; const char name_string" NR "[] = \"<\" " rest " \">\";"; next }
# As a token it does not begin or end with a quote, and is something else than its own name.
kind == "token" {
  print place "extern char name_token" NR "[sizeof(NAME_STRING(" rest ")) > 1 && sizeof(NAME_STRING(" rest ")) != sizeof(\"" rest "\") ? 1 : -1];"
  next
}
kind == "type" {
  type = $2; condition = rest; sub(/^[^ ]+ +/, "", condition)
  gsub(/\(T\)-1/, "NAME_AS(" type ", -1)", condition)
  gsub(/\(T\)/, "(" type ")", condition); gsub(/\(T,/, "(" type ",", condition)
  print place "extern " type " name_object" NR "; extern char name_type" NR "[(" condition ") ? 1 : -1];"
  next
}
kind == "is" || kind == "result" {
  at = index(rest, " :: "); type = substr(rest, 1, at - 1); expression = substr(rest, at + 4)
  # Two declarations of one object: they must agree.
  print place "extern " type " name_like" NR "; extern __typeof__(" expression ") name_like" NR "; extern int name_is" NR "(void);"
  print place "int name_is" NR "(void) {"
  print place "  " type " value = (" expression "); (void)value; return " (kind == "is" ? "((void)(" expression "), 1)" : "1") "; }"
  next
}
kind == "void" { print place "extern int name_void" NR "(void);\nint name_void" NR "(void) { i ? " rest " : (void)0; return (" rest ", 1); }"; next }
kind == "statement" {
  last = rest ~ /%M/ ? 16 : 0
  print "extern void name_statement" NR "(void);\nvoid name_statement" NR "(void) {"
  for (m = 0; m <= last; m++) {
    code = rest; arguments = ""
    for (a = 0; a < m; a++) arguments = arguments ", " (a % 3 == 0 ? "i" : a % 3 == 1 ? "NAME_AS(int, n)" : "(i ? i : " a ")")
    gsub(/%M/, m, code); gsub(/%A/, arguments, code)
    print place "  " code
  }
  print "}"
  next
}
kind == "file" { print place rest; next }
{ print "#error " FILENAME ": line " FNR ": " kind }
