# Tasks from day to day: metrics that are right at every moment, a loss that is not a number, signals.
. tests/cli/lib.sh
export PXL_DATA_DIR= HOME="$T"
quick() { "$PXLC" "$@" --threads 1 --jit tcc; }
# metric NAME: its value in the JSON that was printed
metric() { sed -n "s/.*\"$1\": \\([^,}]*\\).*/\\1/p" "$T/out"; }

# --- metrics: all that a metric is made of ranges over the same steps, also where a run goes on in the middle of an epoch
cat > "$T/m.pxl" <<'P'
program p() {
    x = host_load(h2d_stream("x", f32[2]))
    w = variable(zeros(), f32[2], name = "w")
    scaled_add_(w, x, b = 0.5)
    host_store(d2h_stream("loss", f32[2]), x * 1.0)
    host_store(d2h_stream("hits", i32[]), (x == x).cast(i32).sum())
}
task train {
    program = p
    data    = { "x": arange(10.0) }
    epochs  = 3
    show    = { "accuracy": sum(hits) / samples, "all": sum(loss), "seen": samples, "made": steps, "last": last(loss), "low": min(loss), "high": max(loss) }
    report  = { "accuracy_all": sum(hits) / samples, "total": sum(loss), "seen_all": samples, "made_all": steps, "mean": mean(loss) }
    save    = "none.st"
}
P
whole='"accuracy_all": 1, "total": 135, "seen_all": 30, "made_all": 15, "mean": 4.5, "accuracy": 1, "all": 45, "seen": 10, "made": 5, "last": 8.5, "low": 0, "high": 9}'
train() { expect 0 quick train "$T/m.pxl" --json "$@"; }
train --save "$T/whole.st"
has "$whole"
check "1 in every epoch" test "$(grep -c '^Accuracy:1.0000 All:45.0000 Seen:10.0000 Made:5.0000' "$T/err")" = 3
train --save "$T/parts.st" --limit 7
has '"total": 51, "seen_all": 14, "made_all": 7, "mean": 3.642857142857143, "accuracy": 1, "all": 6, "seen": 4, "made": 2, "last": 2.5, "low": 0, "high": 3}'
train --save "$T/parts.st" --resume --limit 2                # still in the second epoch
has '"steps": 2, "samples": 4,'
has '"total": 73, "seen_all": 18, "made_all": 9, "mean": 4.055555555555555, "accuracy": 1, "all": 28, "seen": 8, "made": 4, "last": 6.5, "low": 0, "high": 7}'
train --save "$T/parts.st" --resume --limit 1                # to its end
has '"all": 45, "seen": 10, "made": 5,'
train --save "$T/parts.st" --resume
has '"steps": 5,'
has "$whole"
check "and the same file" cmp "$T/whole.st" "$T/parts.st"
train --save "$T/parts.st" --resume                          # there is nothing left to do
has '"steps": 0, "samples": 0, "seconds": 0.000000, "it_per_s": 0.000, "samples_per_s": 0.000,'
has '"last_loss": 8.5'
has "$whole"
check "the file stays as it is" cmp "$T/whole.st" "$T/parts.st"
expect 0 quick train "$T/m.pxl" --save "$T/parts.st" --resume
has 'train: nothing is left to do, data arrays, accuracy 1.0000'
for word in inf nan; do hasnt $word; done
train --save "$T/parts.st" --resume --epochs 4
has '"steps": 5,'
has '"total": 180, "seen_all": 40,'

# time is kept where a metric asks for it, and then of all runs
sed 's|report  = .*|report = { "rate": steps / seconds, "took": seconds, "made_all": steps }|' "$T/m.pxl" > "$T/timed.pxl"
expect 0 quick train "$T/timed.pxl" --save "$T/timed.st" --limit 8 --json
took=$(metric took)
expect 0 quick train "$T/timed.pxl" --save "$T/timed.st" --resume --limit 1 --json
has '"made_all": 9,'
check "$(metric took) s holds the $took s of the first run" awk "BEGIN { exit !($(metric took) > $took && $(metric took) > $(metric seconds)) }"
check "steps and seconds of the same steps" awk "BEGIN { q = $(metric rate) * $(metric took); exit !(q > 8.99 && q < 9.01) }"

# sums of other streams are none of this task's: its metrics begin with the resumed run, not with somebody else's numbers
expect 0 quick train "$T/m.pxl" --save "$T/other.st" --limit 7
sed 's|report  = .*|report = { "total": sum(loss) }|; s|show    = .*|show = { "all": sum(loss) }|' "$T/m.pxl" > "$T/fewer.pxl"
expect 0 quick train "$T/fewer.pxl" --save "$T/other.st" --resume --limit 1 --json
has '"total": 9, "all": 9}'
sed 's/"loss"/"a"/; s/(loss)/(a)/g' "$T/fewer.pxl" > "$T/a.pxl"
sed 's/(a)/(hits)/g' "$T/a.pxl" > "$T/hits.pxl"
expect 0 quick train "$T/a.pxl" --save "$T/other.st" --limit 7
expect 0 quick train "$T/hits.pxl" --save "$T/other.st" --resume --limit 1 --json
has '"total": 2, "all": 2}'

# a step takes a batch for every transfer and replica
cat > "$T/wide.pxl" <<'P'
program p() replicas 2, host_transfers 3 {
    x = h2d_stream("x", f32[2])
    y = d2h_stream("y", f32[2])
    for i in range(3) { host_store(y, host_load(x) * 1.0) }
}
task train {
    program = p
    data    = { "x": arange(30.0) }
    report  = { "sum": sum(y), "seen": samples, "made": steps, "last": last(y) }
}
P
expect 0 quick train "$T/wide.pxl" --json
has '"sum": 276, "seen": 24, "made": 2, "last": 17.5}'

# a task's own limit counts the steps of all runs that make up the training
sed 's/epochs  = 3/limit = 4/' "$T/m.pxl" > "$T/limited.pxl"
expect 0 quick train "$T/limited.pxl" --save "$T/limited.st" --limit 3 --json
has '"steps": 3,'
expect 0 quick train "$T/limited.pxl" --save "$T/limited.st" --resume --json
has '"steps": 1,'
has '"seen": 8, "made": 4,'
expect 0 quick train "$T/limited.pxl" --save "$T/limited.st" --resume --json
has '"steps": 0,'
has '"seen": 8, "made": 4,'
expect 0 quick train "$T/limited.pxl" --save "$T/limited.st" --resume --limit 1 --json
has '"steps": 1,'

# without data: the task's own limit counts the steps of all runs, --limit those of one
cat > "$T/free.pxl" <<'P'
program p() {
    n = variable(0.0, name = "n")
    n += 1.0
    host_store(d2h_stream("n", f32[]), n)
}
task train {
    program = p
    limit   = 8
    show    = { "made": steps, "n": last(n) }
    save    = "none.st"
}
P
free() { expect 0 quick train "$T/free.pxl" --save "$T/free.st" --json "$@"; }
free --limit 5
has '"made": 5, "n": 5}'
free --resume
has '"steps": 3,'
has '"made": 8, "n": 8}'
free --resume
has '"steps": 0,'
has '"made": 8, "n": 8}'
free --limit 20
has '"made": 20, "n": 20}'

# --- a float of `show` that is not a number ends the task, and what was saved stays
cat > "$T/nan.pxl" <<'P'
program p() {
    x = host_load(h2d_stream("x", f32[1]))
    w = variable([1.0], name = "w")
    w += 1.0
    host_store(d2h_stream("loss", f32[1]), log(x))
    host_store(d2h_stream("zero", f32[1]), x * 0.0)
}
task train {
    program = p
    data    = { "x": array([1.0, 2.0, 0.0, -1.0, 3.0]) }
    show    = { "loss": mean(loss) }
    save    = "none.st"
}
P
expect 0 quick train "$T/nan.pxl" --save "$T/nan.st" --limit 3         # -inf is a number, as far as this goes
has 'loss -inf'
cp "$T/nan.st" "$T/kept.st"
expect 5 quick train "$T/nan.pxl" --save "$T/nan.st"
has 'task `train`: output `loss` is not a number after step 4 (epoch 1); nothing is saved. A task with `allow_nan = true` goes on' err
check "what was saved stays" cmp "$T/nan.st" "$T/kept.st"
expect 5 quick train "$T/nan.pxl" --save "$T/nan.st" --resume --json
has '"error": "task `train`: output `loss` is not a number after step 4'
check "what was saved stays" cmp "$T/nan.st" "$T/kept.st"
sed 's/save  .*/&\n    allow_nan = true/' "$T/nan.pxl" > "$T/allowed.pxl"
expect 0 quick train "$T/allowed.pxl" --save "$T/nan.st" --json
has '"steps": 5,'
has '"loss": null'
cmp -s "$T/nan.st" "$T/kept.st" && { echo "FAILED: allow_nan saves nothing"; bad=1; }
sed 's/save  .*/&\n    allow_nan = 1/' "$T/nan.pxl" > "$T/bad.pxl"
expect 1 "$PXLC" check "$T/bad.pxl"
has '`allow_nan` must be a bool' err
sed 's/show    = .*/report = { "loss": mean(loss) }/' "$T/nan.pxl" > "$T/report.pxl"
expect 0 quick train "$T/report.pxl" --save "$T/nan.st"                # `show` alone is watched
has 'loss: nan'
# what a metric itself makes of good numbers counts once it is complete
sed 's|show    = .*|show = { "ratio": sum(zero) / sum(zero) }|' "$T/nan.pxl" > "$T/ratio.pxl"
expect 5 quick train "$T/ratio.pxl" --save ''
has 'metric `ratio` is not a number after step 5' err
sed 's|show    = .*|show = { "ratio": sum(loss) / (samples - 1) }|; s/log(x)/x * 0.0/' "$T/nan.pxl" > "$T/first.pxl"
expect 0 quick train "$T/first.pxl" --save ''                          # 0 / 0 in its first step alone
has 'ratio 0.0000'

# --- weights without the optimiser's state: the training begins with them, and says what starts anew
cat > "$T/tune.pxl" <<'P'
use optim
program given() {
    w = variable([1.0, 2.0], name = "w")
    b = variable(0.5, name = "b")
    host_store(d2h_stream("y", f32[2]), w + b)
}
program half() { host_store(d2h_stream("y", f32[2]), variable([1.0, 2.0], name = "w") + 0.0) }
program wide() {
    host_store(d2h_stream("y", f32[3]), variable([1.0, 2.0, 3.0], name = "w") + variable(0.5, name = "b"))
}
program tune() {
    x = host_load(h2d_stream("x", f32[2]))
    w = variable([0.0, 0.0], name = "w")
    b = variable(0.0, name = "b")
    weights = NamedTensors.from_dict({ "w": w, "b": b })
    start = variable([7.0, 7.0], name = "start", state = true)
    with in_sequence() {
        host_store(d2h_stream("y", f32[2]), w + b)
        host_store(d2h_stream("start", f32[2]), start + 0.0)
        adam(weights, { w: x, b: mean(x) }, lr = 0.1)
        start += 1.0
    }
}
task train {
    program = tune
    data    = { "x": array([1.0, 2.0, 3.0, 4.0]) }
    show    = { "y": last(y), "start": last(start) }
}
task more {
    program = tune
    data    = { "x": array([1.0, 2.0, 3.0, 4.0]) }
    show    = { "y": last(y), "start": last(start) }
    weights = "given.st"
}
task test {
    program = given
    report  = { "y": last(y) }
}
P
echo 'program x() { host_store(d2h_stream("x", f32[2]), constant([1.0, 2.0])) }' > "$T/x.pxl"
expect 0 quick run "$T/x.pxl" --out x="$T/x.npy"
expect 0 quick run "$T/tune.pxl" --program given --save "$T/given.st"
expect 0 quick train "$T/tune.pxl" --weights "$T/given.st" --save "$T/tuned.st" --json
has '"start": 8}'
has "pxl: \`$T/given.st\` lacks 6 variables of the training's state, which start anew: \`start\`, \`adam_steps\`, \`adam_first.w\`, \`adam_second.w\`, \`adam_first.b\`, \`adam_second.b\`" err
check "that is one line" test "$(grep -c given.st "$T/err")" = 1
first=$(metric y)
(cd "$T" && expect 0 quick train tune.pxl --task more --json && has "\"y\": $first," && has 'start anew' err; exit $bad) || bad=1
# with the state all of it goes on, and there is nothing to say
expect 0 quick train "$T/tune.pxl" --weights "$T/tuned.st" --json
has '"start": 10}'
check "nothing about the state" test "$(grep -c anew "$T/err")" = 0
# what tests needs no state, and a file may hold more than is needed
expect 0 quick test "$T/tune.pxl" --weights "$T/tuned.st" --json
check "the tuned weights" test "$(metric y)" != 2
expect 0 quick run "$T/tune.pxl" --program tune --weights "$T/given.st" --in x="$T/x.npy"
has 'start anew' err
# the model's own variables are needed, and all that lack are named
expect 0 quick run "$T/tune.pxl" --program half --save "$T/half.st"
expect 4 quick train "$T/tune.pxl" --weights "$T/half.st"
has "\`$T/half.st\` lacks 1 of the 8 variables of program \`tune\`: \`b\`" err
sed 's/name = "w"/name = "v"/; s/name = "b"/name = "c"/' "$T/tune.pxl" > "$T/renamed.pxl"
expect 4 quick train "$T/renamed.pxl" --weights "$T/given.st"
has 'lacks 2 of the 8 variables of program `tune`: `v`, `c`' err
expect 0 quick run "$T/tune.pxl" --program wide --save "$T/wide.st"
expect 4 quick train "$T/tune.pxl" --weights "$T/wide.st"
has 'holds `w` as f32[3], but the program'"'"'s is f32[2]' err
# a training that is resumed needs all of it
expect 4 quick train "$T/tune.pxl" --resume --weights "$T/given.st"
has 'lacks 6 of the 8 variables of program `tune`' err
# without `state`, which is the default, a variable is the model's
sed 's/, state = true//' "$T/tune.pxl" > "$T/plain.pxl"
expect 4 quick train "$T/plain.pxl" --weights "$T/given.st"
has 'lacks 1 of the 8 variables of program `tune`: `start`' err

# --- -v: what is built, of what size, with which data, and where it is saved; without it nothing of that
expect 0 quick train "$T/tune.pxl" --weights "$T/given.st" --save "$T/v.st" -v
for line in 'program `tune`: 3 parameters in 2 variables (12 bytes), training state of 9 in 6 (36 bytes)' 'program `tune`: memory ' \
	'program `tune`: runs the code of tcc, threads 1, replicas 1' 'task `train`: data arrays of 4 samples, 2 in a step, 0 left over in each epoch' \
	"task \`train\`: 1 epoch of 2 steps, 0 steps done before, weights of \`$T/given.st\`; saves to $T/v.st"; do
	has "pxl: $line" err
done
expect 0 quick train "$T/tune.pxl" --weights "$T/given.st" --save "$T/v.st"
hasnt 'parameters' err
expect 0 quick train "$T/free.pxl" --resume --save "$T/free.st" -v
has 'task `train`: no data' err
has '1 epoch of 8 steps, 20 steps done before, weights of ' err

# --- bench: a slow step is not repeated twenty times to warm up
cat > "$T/slow.pxl" <<'P'
program slow(n: int) {
    x = host_load(h2d_stream("x", f32[2]))
    print_tensor(x, title = "step")
    y = repeat(graph(fn(a) = a * 0.5 + 1.0, f32[2]), n, x)
    host_store(d2h_stream("y", f32[2]), y)
}
P
expect 0 quick bench "$T/slow.pxl" --steps 2 --json --set n=5000000
check "warm-up of $(metric warm_up) steps" test "$(metric warm_up)" -ge 1 -a "$(metric warm_up)" -lt 20
check "no other steps" test "$(grep -c step "$T/err")" = $(($(metric warm_up) + 2))
expect 0 quick bench "$T/slow.pxl" --steps 3 --json --set n=1
check "twenty quick ones" test "$(metric warm_up) $(grep -c step "$T/err")" = "20 23"

# --- signals: each of these saves, exits 130, and --resume goes on
sed 's/epochs  = 3/epochs = 100000000/' "$T/m.pxl" > "$T/long.pxl"
for sig in HUP TERM INT; do
	rm -f "$T/s.st"
	"$PXLC" train "$T/long.pxl" --save "$T/s.st" --threads 1 --jit tcc > "$T/out" 2> "$T/err" < /dev/null &
	pid=$!
	until grep -q 'Epoch 2/' "$T/err" || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
	kill -$sig $pid
	wait $pid
	got=$?
	check "SIG$sig: exit $got" test $got = 130
	has 'train (interrupted)'
	expect 0 quick train "$T/long.pxl" --save "$T/s.st" --resume --limit 5 --json
	has '"steps": 5,'
	has '"accuracy": 1,'
done
# nohup is respected
(
	trap '' HUP
	"$PXLC" train "$T/long.pxl" --save "$T/h.st" --threads 1 --jit tcc > "$T/out" 2> "$T/err" < /dev/null &
	pid=$!
	until grep -q 'Epoch 2/' "$T/err" || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
	kill -HUP $pid
	n=$(grep -c Epoch "$T/err")
	until [ "$(grep -c Epoch "$T/err")" -gt $((n + 2)) ] || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
	kill -0 $pid 2> /dev/null || { echo "FAILED: SIGHUP ended what ignores it"; exit 1; }
	kill -TERM $pid
	wait $pid
	[ $? = 130 ]
) || bad=1
done_here
