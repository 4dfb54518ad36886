# mnist_test.sh — the tutorial's network, one epoch, on MNIST where it is at hand (PXL_TEST_MNIST, or ../shared/data/mnist), else on
# the drawn digits: what it reaches, and what it says.  The bounds of A329 are for MNIST; without it that rule is not shown.
. tests/cli/lib.sh
M=examples/mnist.pxl
D=${PXL_TEST_MNIST:-../shared/data/mnist}
real=0
if ls "$D"/train-images* > /dev/null 2>&1; then real=1; set -- --data "$D"; else set --; fi
export HOME="$T"
steps=7500
[ "$B" = build/san ] && steps=1500      # sanitizers are slow, and what is reached then is less
[ $real = 1 ] && [ $steps = 7500 ] && accepted=A329 || accepted=
expect 0 "$PXLC" train $M "$@" --seed 1 --limit $steps --save "$T/m.st" --log "$T/log.jsonl" --json
json() { sed 's/.*"'$1'": \([-0-9.e+]*\).*/\1/' "$T/out"; }
above() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x >= y) }'; }
check "the network was trained on the data that was asked for" grep -q "\"data\": \"$([ $real = 1 ] && echo mnist || echo digits)\"" "$T/out"
check "the rate is the steps by the seconds" awk -v r="$(json it_per_s)" -v t="$(json seconds)" -v n=$steps 'BEGIN { exit !(r * t > 0.99 * n && r * t < 1.01 * n) }'
shows A330
check "every step was made" test "$(json steps)" = $steps
# the mean over the last tenth of the epoch, from the running mean that the log holds
tail_loss=$(awk -v n=$steps 'function f(k) { match($0, "\"" k "\": [-0-9.e+]*"); return substr($0, RSTART + length(k) + 4, RLENGTH - length(k) - 4) + 0 }
	{ s = f("step"); m = f("loss"); if (s < 0.9 * n) { s0 = s; m0 = m } s1 = s; m1 = m } END { print (m1 * s1 - m0 * s0) / (s1 - s0) }' "$T/log.jsonl")
if [ $steps = 7500 ]; then
	check "the loss at the end, $tail_loss, is below 0.2" above 0.2 "$tail_loss"
	shows $accepted
fi
expect 0 "$PXLC" test $M "$@" --weights "$T/m.st"
has 'accuracy: 0.9'
has '125/125' err
shows A327
check "the accuracy" above "$(sed -n 's/^accuracy: //p' "$T/out")" "$([ $steps = 7500 ] && echo 0.955 || echo 0.9)"
shows A327 $accepted
# the guide's smaller network: weights travel by name from one program to the other
G=examples/guide/mnist.pxl
expect 0 "$PXLC" train $G "$@" --limit 200 --save "$T/g.st" --json
check "its loss falls" above 2.3 "$(json loss)"
expect 0 "$PXLC" test $G "$@" --weights "$T/g.st" --limit 2
has 'accuracy: '
done_here
