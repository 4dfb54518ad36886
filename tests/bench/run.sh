#!/bin/sh
# run.sh — one step of the tutorial's training program against the same step in PyTorch, interleaved, medians of five rounds.
# PyTorch is Debian's python3-torch (`make deps-bench`). Nothing here passes or fails.
set -eu
B=${BUILD:-build}
PY=${PYTHON:-/usr/bin/python3}
STEPS=${STEPS:-300}
get() { sed 's/.*"us_median": \([0-9.]*\).*/\1/'; }
median() { tr ' ' '\n' | grep . | sort -n | sed -n 3p; }
for threads in 1 2; do
	ours='' theirs=''
	for round in 1 2 3 4 5; do
		ours="$ours $("$B/pxlc" bench examples/mnist.pxl --program train --threads $threads --steps "$STEPS" --json | get)"
		theirs="$theirs $("$PY" tests/bench/peer.py "$STEPS" $threads | get)"
	done
	a=$(echo "$ours" | median) b=$(echo "$theirs" | median)
	echo "$a $b $threads" | awk '{ printf "MNIST step, batch 8, %d thread(s): pxl %.0f us, PyTorch %.0f us, ratio %.2f; floor 333 us at one core'"'"'s peak\n", $3, $1, $2, $2 / $1 }'
done
