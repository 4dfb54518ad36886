#!/bin/sh
# coverage.sh SHOWN — docs/coverage.md on standard output, from the `shown IDS @FILE` lines that passing assertions printed.
# A rule is covered when an assertion naming it ran and passed; docs/not-applicable.txt holds `ID reason` for the others.
set -eu
LC_ALL=C awk -v na=docs/not-applicable.txt '
function order(id) { return substr(id, 1, 1) sprintf("%05d", substr(id, 2)) }
BEGIN { while ((getline line < na) > 0) if (line ~ /^[RA][0-9]/) { id = line; sub(/ .*/, "", id); sub(/^[^ ]* /, "", line); reason[id] = line } }
{ at = $0; sub(/.*@/, "", at); sub(/@.*/, "");
  for (i = 1; i <= NF; i++) if ($i ~ /^[RA][0-9]+$/ && !((order($i), at) in seen)) { seen[order($i), at] = 1; where[order($i)] = where[order($i)] (where[order($i)] == "" ? "" : ", ") "`" at "`" } }
function section(letter, last, page,   i, id, n, miss) {
  print "\n## " page "\n\n| rule | shown by |\n|---|---|"
  for (i = 1; i <= last; i++) { id = letter i
    if (order(id) in where) { print "| " id " | " where[order(id)] " |"; n++ }
    else if (id in reason) { print "| " id " | n/a: " reason[id] " |"; n++ }
    else miss = miss " " id }
  print "\n" n " of " last ". Not shown yet:" miss "."
}
END {
  print "# Which rules are shown, and by what\n\nMade by `make coverage` from assertions that ran and passed; do not edit."
  section("R", 460, "semantics.md"); section("A", 364, "addons.md")
}' "$1"
