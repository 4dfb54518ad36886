# plan_test.sh — every program of the examples, and of the benchmarks, is planned within 1.1 times of what must live at once: each graph's
# frame, its callees' included.  And so is one whose blocks fit badly when each is placed as it comes.
. tests/cli/lib.sh

plans() {                                               # FILE: a line for each graph: file, program, level, frame, bound
	programs=$(sed -n 's/^program \([A-Za-z_][A-Za-z_0-9]*\).*/\1/p' "$1")
	native=
	grep -q '^native "' "$1" && native=--allow-native
	for p in $programs; do
		for level in 0 2; do
			"$B/pxlc" emit plan "$1" --program "$p" -O$level $native > "$T/plan" 2> /dev/null || continue        # refused, as a guide's program may be
			sed -n 's/^graph .*: frame \([0-9]*\) bytes, lower bound \([0-9]*\), .*/\1 \2/p' "$T/plan" | sed "s|^|$1 $p $level |"
		done
	done
}

awk 'function below(k) { n = (n * 7141 + 54773) % 259200; return int(n / 259200 * k) }
BEGIN {
	print "fn fit(t, k) = t[0:k] if t.shape[0] >= k else concat([t, constant(zeros(), f32[k - t.shape[0]])], 0)"
	print "program main() {\n    x = host_load(h2d_stream(\"x\", f32[1000]))\n    t0 = x * 2.0"
	split("10 50 100 300 700 1000", size)
	for (i = 1; i < 4000; i++) {
		a = i - 1 - below(i % 3 == 0 ? 3 : i % 3 == 1 ? 10 : 60); b = i - 1 - below(20)
		printf "    t%d = cumsum(fit(t%d, %d), 0) + t%d.sum()\n", i, a < 0 ? 0 : a, size[below(6) + 1], b < 0 ? 0 : b
	}
	print "    host_store(d2h_stream(\"y\", t3999.spec), t3999)\n}"
}' > "$T/scattered.pxl"

for f in $(find examples -name '*.pxl' | LC_ALL=C sort) tests/bench/chains.pxl "$T/scattered.pxl"; do plans "$f"; done > "$T/all"
awk '$4 > 1.1 * $5 { print "frame too large: " $0; bad = 1 } { n++ } END { if (n < 60) { print "only " n " graphs"; bad = 1 } exit bad }' "$T/all" && ok || not_ok 'frames are within 1.1 of their bound'
done_here
