# A picture of bars (SVG) from a table of a Markdown file: one group of bars for each row, one bar for each of some columns.
# Variables: head, a text in the table's first line; columns, such as "2,5"; unit; scale, linear or log; the first column is ours.
# Fails if the table is not there, or has no numbers.
function cell(text) { gsub(/^[ *`]+|[ *`]+$/, "", text); return text }
function number(text) { gsub(/,/, "", text); return match(text, /[0-9]+(\.[0-9]+)?/) ? substr(text, RSTART, RLENGTH) + 0 : 0 }
function safe(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function length_of(value) { return scale == "log" ? log(value / least * 2) / log(most / least * 2) : value / most }
BEGIN { FS = "|"; series = split(columns, column, ",") }
!inside && /^\|/ && index($0, head) { inside = 1; for (i = 1; i <= series; i++) name[i] = cell($(column[i] + 1)); next }
inside && /^\|[-| :]+$/ { next }
inside && !/^\|/ { exit }
inside {
  rows++
  label[rows] = cell($2)
  if (length(label[rows]) > longest) longest = length(label[rows])
  for (i = 1; i <= series; i++) {
    v = value[rows, i] = number($(column[i] + 1))
    if (v > most) most = v
    if (v > 0 && (!least || v < least)) least = v
  }
}
END {
  if (!rows || !most) { print "site-bars: no table with " head > "/dev/stderr"; exit 1 }
  left = longest > 17 ? 12 + 8 * longest : 148 # where bars begin; letters are at most 8 wide on average
  step = series > 1 ? 16 : 24; gap = series > 1 ? 12 : 4; top = series > 1 ? 30 : 8
  apart = 85 # between the names of two series
  for (i = 1; i < series; i++) if (30 + 6.5 * length(name[i]) > apart) apart = 30 + 6.5 * length(name[i])
  for (i = 1; i <= series; i++) said = said (i > 1 ? ", " : "") name[i]
  printf "<svg class=\"bars\" viewBox=\"0 0 400 %d\" role=\"img\" aria-label=\"%s, in %s\">\n", top + rows * (series * step + gap) + 20, safe(said), safe(unit)
  for (i = 1; series > 1 && i <= series; i++)
    printf "<rect class=\"bar bar%d\" x=\"%d\" y=\"8\" width=\"12\" height=\"12\"/><text class=\"small\" x=\"%d\" y=\"18\">%s</text>\n", i, left + (i - 1) * apart, left + 17 + (i - 1) * apart, safe(name[i])
  y = top
  for (row = 1; row <= rows; row++) {
    printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y + series * step / 2 + 4, safe(label[row])
    for (i = 1; i <= series; i++) {
      v = value[row, i]
      if (v > 0) {
        w = (333 - left) * length_of(v)
        printf "<rect class=\"bar bar%d\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/><text class=\"small\" x=\"%.1f\" y=\"%d\">%s %s</text>\n",
          (series > 1 ? i : row == 1 ? 1 : 2), left, y + 2, w, step - 4, left + 5 + w, y + step / 2 + 4, v, safe(unit)
      }
      y += step
    }
    y += gap
  }
  printf "<text class=\"small\" x=\"%d\" y=\"%d\">%s</text></svg>\n", left, y + 14, scale == "log" ? "The lengths are on a logarithmic scale." : "Shorter is faster."
}
