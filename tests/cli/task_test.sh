# Tasks: training, saving, resuming bit for bit, testing with the weights handed over by name.
. tests/cli/lib.sh
M=examples/mnist.pxl
cd_into="$T"
export PXL_DATA_DIR= HOME="$T"
run() { "$PXLC" "$@" --threads 2; }

# 40 steps at once, or 25 and then 15 more: the same bits
expect 0 run train $M --limit 40 --save "$T/a.st" --seed 7 --json
has '"data": "digits"'
for key in steps it_per_s last_loss seconds; do has "\"$key\":"; done
has '"steps": 40'
has 'digits' err
expect 0 run train $M --limit 25 --save "$T/b.st" --seed 7
has '25 steps'
has 'data digits'
cp "$T/b.st" "$T/b25.st"
expect 0 run train $M --limit 15 --save "$T/b.st" --seed 7 --resume
check 'a resumed run ends with the same bits' cmp "$T/a.st" "$T/b.st"
expect 0 run train $M --limit 15 --save "$T/b25.st" --seed 8 --resume
check 'the order of samples goes on with the seed that it began with' cmp "$T/a.st" "$T/b25.st"
expect 0 run train $M --limit 25 --save "$T/c.st" --seed 7 --threads 1
expect 0 run train $M --limit 25 --save "$T/d.st" --seed 8
check 'another seed, another order of samples' test "$(cmp -s "$T/c.st" "$T/d.st"; echo $?)" = 1
shows A323
expect 2 run train $M --limit 5 --save "$T/a.st" --resume --set batch=16
has 'resume with the same parameters' err

# stopped between two epochs: the second one's figures are its own
cat > "$T/short.pxl" <<'P'
program p() {
    x = host_load(h2d_stream("x", f32[1]))
    w = variable(zeros(), f32[1], name = "w")
    scaled_add_(w, x, b = 0.5)
    host_store(d2h_stream("loss", f32[1]), x * 1.0)
}
task train {
    program = p
    data    = { "x": array([[1.0], [2.0], [3.0], [4.0]]) }
    epochs  = 2
    show    = { "all": sum(loss) }
    save    = "none.st"
}
P
expect 0 run train "$T/short.pxl" --save "$T/whole.st" --json
has '"all": 10'
expect 0 run train "$T/short.pxl" --save "$T/parts.st" --limit 4 --json
has '"all": 10'
expect 0 run train "$T/short.pxl" --save "$T/parts.st" --resume --json
has '"all": 10'
check 'resumed between epochs, the same bits' cmp "$T/whole.st" "$T/parts.st"

# the banner, and the line at the end of an epoch: the loss of the last batch, percent, steps, the time and the rate
cat > "$T/line.pxl" <<'P'
program p() {
    x = host_load(h2d_stream("x", f32[2]))
    host_store(d2h_stream("loss", f32[2]), x * 1.0)
}
task train {
    program = p
    data    = { "x": array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.12344]) }
    show    = { "loss": last(loss) }
}
P
expect 0 run train "$T/line.pxl"
check 'the banner' test "$(sed -n 1p "$T/err")" = 'Epoch 1/1'
shows A325
check 'the line' grep -qxE 'Loss:7\.5617: 100% 4/4 \[[0-9]{2}:[0-9]{2}<00:00, [0-9]+\.[0-9]{2}it/s\]' "$T/err"
shows A325
expect 0 run train "$T/line.pxl" --limit 3
check 'stopped sooner, the loss of the batch before' grep -q '^Loss:5\.5000: ' "$T/err"
shows A325

# the training program: both inputs, the network, loss and its gradient, the store, the network's gradients, a step for each variable
expect 0 "$PXLC" emit ir $M --program train
for line in 'transfers 1 ' 'stream 0 in "image" f32[8, 28, 28]' 'stream 1 in "label" i32[8]' 'stream 2 out "loss" f32[]'; do
	has "$line"
	shows A324
done
sed -n '/^graph ""/,/^}/p' "$T/out" > "$T/main"
check 'the gradient of the image is asked for too' grep -qE '"Gradient___[a-z_]*" f32\[8, 28, 28\], .* = call.* calls "Net_subgraph\(0\)_bwd"' "$T/main"
shows A324
# VARIABLE GRADIENT FACTOR of each step
awk '{ for (i = 1; i < NF; i++) if ($i ~ /^%/) name[$i] = $(i + 1) }
	/scaled_add_[.]/ { match($0, /\(.*\)/); split(substr($0, RSTART + 1, RLENGTH - 2), arg, ", "); match($0, /b = [-0-9.]*/)
		print name[arg[1]], name[arg[2]], substr($0, RSTART + 4, RLENGTH - 4) }' "$T/main" | tr -d '"' > "$T/steps"
for i in 1 2 3 4; do for part in bias weight; do echo "fc$i.$part Gradient___fc$i/$part -0.05"; done; done > "$T/want"
check 'each variable takes its own gradient, in order' diff "$T/want" "$T/steps"
shows A324
expect 0 "$PXLC" emit schedule $M --program train
ops=$(sed -n '/^Graph : $/,/^  }/s/^    \([A-Za-z]*\)\.[0-9]*\(([^ ]*)\)* .*/\1\2/p' "$T/out" | uniq | paste -sd' ' -)
check "the order of the training program: $ops" test "$ops" = \
	'Init HostLoad Init HostLoad Call(Net_subgraph(0)) CrossEntropyWithGrad HostStore Call(Net_subgraph(0)_bwd) ScaledAddLhsInplace'
shows A324

# testing
expect 0 run test $M --weights "$T/a.st" --limit 10
check 'an accuracy' grep -q '^accuracy: [01]' "$T/out"
expect 0 run test $M --weights "$T/a.st" --limit 10 --json
has '"accuracy":'
has '"samples_per_s":'
(cd "$T" && expect 4 "$PXLC" test "$OLDPWD/$M" && has 'run that task first' err; exit $bad) || bad=1
expect 4 run train $M --data "$T/nowhere" --limit 1
has "$T/nowhere" err
expect 4 run train $M --limit 1 --save "$T/no/such/dir.st"
expect 2 run train $M --task tset
has '`test`' err

# the log is one object a line
expect 0 run train $M --limit 10 --save '' --log "$T/log.jsonl"
[ "$(grep -c '^{.*"step": .*"loss": .*}$' "$T/log.jsonl")" -ge 1 ] || { echo "FAILED: log"; cat "$T/log.jsonl"; bad=1; }

cat > "$T/odd.pxl" <<'P'
program p() { host_store(d2h_stream("y", f32[]), variable(1.0) + 1.0) }
task train {
    program = p
    limit   = 2
    show    = { "a \"b\"": mean(y) }
}
P
expect 0 run train "$T/odd.pxl" --log "$T/odd.jsonl"
[ "$(tail -n 1 "$T/odd.jsonl")" = '{"task": "train", "epoch": 1, "step": 2, "total_step": 2, "a \"b\"": 2}' ] || { echo "FAILED: odd log"; cat "$T/odd.jsonl"; bad=1; }
expect 2 run train $M --limit 0
has 'at least 1' err

# Ctrl-C: saves, exits 130, and what was saved can be resumed
"$PXLC" train $M --save "$T/i.st" --seed 7 --epochs 1000 > "$T/out" 2> "$T/err" < /dev/null &
pid=$!
sleep 1.5
kill -INT $pid
wait $pid
[ $? = 130 ] || { echo "FAILED: interrupted exit"; cat "$T/err"; bad=1; }
expect 0 run train $M --save "$T/i.st" --limit 5 --resume --epochs 1000
has '5 steps'

# while the C compiler is waited for: it is stopped, and nothing of it is left
printf '#!/bin/sh\n[ "$1" = --version ] || kill -INT $PPID $$\n' > "$T/cc"
chmod +x "$T/cc"
mkdir "$T/tmp"
for command in "run $M --program test" "bench $M --program test" "train $M"; do
	expect 130 env PXL_CC="$T/cc" TMPDIR="$T/tmp" "$PXLC" $command --jit cc
	check "nothing is left by $command" rmdir "$T/tmp"
	mkdir -p "$T/tmp"
done
done_here
