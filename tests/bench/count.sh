#!/bin/sh
# count.sh — instructions of one step, counted by callgrind: the same on every run of one machine, however busy it is, so a regression
# shows at once (libtcc to the end: when a better tier takes over is a matter of time).  What it cannot see is time: caches, frequency, how wide the vectors are.  Its processor has AVX2 at most.
# Prints a table and writes $BUILD/count.jsonl.
#   make count
set -u
B=${BUILD:-build}
command -v valgrind > /dev/null || { echo 'count.sh: valgrind is missing: apt-get install valgrind'; exit 1; }

# model | program | parameters
rows='examples/mnist.pxl|train|batch=8
examples/mnist.pxl|train|batch=64
examples/mnist.pxl|test|batch=1
tests/bench/chains.pxl|chain|n=65536
tests/bench/chains.pxl|soft|rows=256
tests/bench/chains.pxl|norm|rows=256
tests/bench/chains.pxl|lenet|batch=1'

# instructions of a whole run of $1 steps
refs() {
	steps=$1; shift
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$B/pxlc" bench "$@" --threads 1 --portable --jit tcc --steps "$steps" 2>&1 |
		sed -n 's/.*refs: *//p' | tr -d ,
}
: > "$B/count.jsonl"
printf '%-8s %-14s %14s\n' program with 'instructions'
echo "$rows" | while IFS='|' read -r file program set; do
	one=$(refs 1 "$file" --program "$program" --set "$set")
	three=$(refs 3 "$file" --program "$program" --set "$set")
	each=$(((three - one) / 2))
	printf '%-8s %-14s %14d\n' "$program" "$set" $each
	printf '{"kind": "count", "program": "%s", "set": "%s", "instructions": %d}\n' "$program" "$set" $each >> "$B/count.jsonl"
done
