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
cmp -s "$T/c.st" "$T/d.st" && { echo "FAILED: seeds do not matter"; bad=1; }
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

# testing
expect 0 run test $M --weights "$T/a.st" --limit 10
grep -q '^accuracy: [01]' "$T/out" || { echo "FAILED: no accuracy"; bad=1; }
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
done_here A323 A324 A325 A326 A282 A283
