# run.sh [ROW…] — each row of the table below against the same work in PyTorch: runs interleaved, medians of five rounds (ROUNDS).
# PyTorch is Debian's python3-torch (`make deps-bench`), or what $PYTHON has.  Nothing here passes or fails.
# Also written as JSON, one object a line, to $BUILD/bench.jsonl.
set -eu
B=${BUILD:-build}
PY=${PYTHON:-/usr/bin/python3}
ROUNDS=${ROUNDS:-5}
get() { sed 's/.*"us_median": \([0-9.]*\).*/\1/'; }
median() { tr ' ' '\n' | grep . | sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
"$PY" -c 'import torch' 2> /dev/null || { echo "no PyTorch in $PY: make deps-bench installs it; ours alone is measured"; PY=; }
: > "$B/bench.jsonl"

# row size | model | program | parameters | steps | floor in us on one core (0: not stated)
rows='train 8|examples/mnist.pxl|train|batch=8|300|333
train 32|examples/mnist.pxl|train|batch=32|100|1330
train 128|examples/mnist.pxl|train|batch=128|40|5330
train 512|examples/mnist.pxl|train|batch=512|12|21300
test 1|examples/mnist.pxl|test|batch=1|2000|37
test 80|examples/mnist.pxl|test|batch=80|200|1300
lenet 8|tests/bench/chains.pxl|lenet|batch=8|40|0
lenet 64|tests/bench/chains.pxl|lenet|batch=64|10|0
gpt 4|examples/gpt.pxl|train|batch=4|10|92600
chain 4096|tests/bench/chains.pxl|chain|n=4096|2000|0
chain 65536|tests/bench/chains.pxl|chain|n=65536|500|0
chain 16777216|tests/bench/chains.pxl|chain|n=16777216|10|0
soft 4096|tests/bench/chains.pxl|soft|rows=4096|50|0
norm 4096|tests/bench/chains.pxl|norm|rows=4096|50|0'

printf '%-16s %7s %12s %12s %7s %10s\n' row threads 'pxl us' 'PyTorch us' ratio 'floor us'
echo "$rows" | while IFS='|' read -r name model program set steps floor; do
	case " ${*:-$name} " in *" $name "*|*" ${name%% *} "*) ;; *) continue ;; esac
	for threads in 1 2; do
		ours='' theirs=''
		for round in $(seq "$ROUNDS"); do
			ours="$ours $("$B/pxlc" bench "$model" --program "$program" --set "$set" --threads $threads --steps "$steps" --json | get)"
			[ -z "$PY" ] || theirs="$theirs $("$PY" tests/bench/peer.py ${name% *} ${name#* } "$steps" $threads | get)"
		done
		a=$(echo "$ours" | median) b=$([ -z "$PY" ] && echo 0 || echo "$theirs" | median)
		echo "$a $b $threads $floor" | awk -v n="$name" '{ printf "%-16s %7d %12.1f %12.1f %7.2f %10s\n", n, $3, $1, $2, $2 / $1, $4 ? $4 : "-" }'
		printf '{"row": "%s", "threads": %d, "us": %s, "peer_us": %s, "floor_us": %s}\n' "$name" $threads "$a" "$b" "$floor" >> "$B/bench.jsonl"
	done
done
