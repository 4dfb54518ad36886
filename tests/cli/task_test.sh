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
expect 0 run train $M --limit 15 --save "$T/b.st" --seed 7 --resume
check 'a resumed run ends with the same bits' cmp "$T/a.st" "$T/b.st"
expect 0 run train $M --limit 25 --save "$T/c.st" --seed 7 --threads 1
expect 0 run train $M --limit 25 --save "$T/d.st" --seed 8
cmp -s "$T/c.st" "$T/d.st" && { echo "FAILED: seeds do not matter"; bad=1; }
expect 2 run train $M --limit 5 --save "$T/a.st" --resume --set batch=16
has 'resume with the same parameters' err

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
done_here A323 A324 A325 A326 A282 A283
