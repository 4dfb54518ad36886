# Every name of PopXL's index has its row in docs/popxl.md, under the heading of its owner, and the row says something.
# The index is the one of docs/spec/ops.md, sections 19.1 and 19.2 (b) to (d).
. tests/cli/lib.sh
# owner TAB name, from the index
awk -F'|' '
	function names(owner, text) { while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) { print owner "\t" substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH) } }
	/^### / { in_ops = /19\.1/; in_rest = /19\.2/ }
	/^\(e\)/ { in_rest = 0 }
	in_ops && /^\* `popxl/ { split($0, p, "`"); list = $0; sub(/^[^:]*: /, "", list); names(p[2], list) }
	in_rest && /^\(b\)/ { n = split($0, p, "`"); for (i = 2; i <= n; i += 2) print p[i] "\t" }
	in_rest && /^\| `popxl/ { split($2, p, "`"); n = split($3, q, "`"); for (i = 2; i <= n; i += 2) { sub(/\(\)$/, "", q[i]); print p[2] "\t" q[i] } }
' docs/spec/ops.md | sort -u > "$T/index"
# the same of the map: a heading alone, then its rows; a row without a right-hand side does not count
awk -F'|' '
	/^## / { split($0, p, "`"); owner = p[2]; print owner "\t" }
	/^\| `/ { split($2, p, "`"); if ($3 ~ /[^ ]/) print owner "\t" p[2] }
' docs/popxl.md | sort -u > "$T/map"
check 'the index has all its entries: 133 ops, 23 classes, 166 members, 34 other names' test "$(wc -l < "$T/index")" = 356
comm -23 "$T/index" "$T/map" > "$T/missing"
check "every entry of the index is in docs/popxl.md" test ! -s "$T/missing"
cat "$T/missing"
# what is promised for later is about replicas
awk -F'|' '
	/^## / { about = /popxl.ReplicaGrouping|ReplicatedTensorSharding|TensorLocation|CommGroup/ }
	$3 ~ /later/ && !about && $2 !~ /replica/ { print }
' docs/popxl.md > "$T/later"
check "nothing is for later but what has to do with replicas" test ! -s "$T/later"
cat "$T/later"
done_here
