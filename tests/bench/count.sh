#!/bin/sh
# count.sh [PAGE] — instructions of one step, counted by callgrind: the same on every run of one machine, however busy it is, so a regression
# shows at once.  What it cannot see is time: caches, frequency, how wide the vectors are.  Its processor has AVX2 at most.
# Beside each number stands the one of PAGE's table, and what is left of it, where both are of the same program.
# Prints a table and writes $BUILD/count.jsonl.
#   make count               then make bench-docs takes the numbers over
set -u
B=${BUILD:-build}
PAGE=${1:-docs/performance.md}
command -v valgrind > /dev/null || { echo 'count.sh: valgrind is missing: apt-get install valgrind'; exit 1; }

# row | model | program | parameters: steps of some ten million instructions, seconds each under callgrind
rows='train|examples/mnist.pxl|train|batch=8
train|examples/mnist.pxl|train|batch=32
test|examples/mnist.pxl|test|batch=1
lenet|tests/bench/chains.pxl|lenet|batch=8
gpt|examples/gpt.pxl|train|batch=2 seq=32 layers=1 width=64
chain|tests/bench/chains.pxl|chain|n=4096
soft|tests/bench/chains.pxl|soft|rows=64
norm|tests/bench/chains.pxl|norm|rows=64'

# instructions of a step of $2 in $1, with the parameters that follow
step() {
	valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=/dev/null "$B/b/count" "$@" 2>&1 | tee "$B/count.log" | sed -n 's/.*refs: *//p' | tr -d ,
}
# what PAGE has of it
before() {
	sed -n "s/^| *$1 *| *$2 *| *\([0-9,]*\) *|.*/\1/p" "$PAGE" 2> /dev/null | head -n 1 | tr -d ,
}
: > "$B/count.jsonl"
printf '%-8s %-34s %14s %14s %7s\n' row with before now ratio
echo "$rows" | while IFS='|' read -r row file program set; do
	# shellcheck disable=SC2086
	now=$(step "$file" "$program" $set)
	[ "${now:-0}" -gt 0 ] || { echo "count.sh: $row $set: not counted"; cat "$B/count.log"; exit 1; }
	was=$(before "$row" "$set")
	printf '%-8s %-34s %14s %14d %7s\n' "$row" "$set" "${was:--}" "$now" "$([ -n "$was" ] && awk "BEGIN { printf \"%.3f\", $now / $was }" || echo -)"
	printf '{"kind": "count", "row": "%s", "set": "%s", "instructions": %d}\n' "$row" "$set" "$now" >> "$B/count.jsonl"
done
