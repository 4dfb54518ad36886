# gpt_test.sh — the small GPT, smaller still: its loss falls, what it learned is tested and continued by other programs, whatever the number of threads.
. tests/cli/lib.sh
M=examples/gpt.pxl
set -- --set width=32 --set heads=2 --set layers=2
steps=100
[ "$B" = build/san ] && steps=30
json() { sed 's/.*"'$1'": \([-0-9.e+]*\).*/\1/' "$T/out"; }
above() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x >= y) }'; }
expect 0 "$PXLC" train $M "$@" --seed 3 --set lr=0.01 --limit $steps --threads 1 --save "$T/one.st" --json
check "the loss falls from 5.5 to $(json last_loss)" above "$([ $steps = 100 ] && echo 2 || echo 4)" "$(json last_loss)"
expect 0 "$PXLC" train $M "$@" --seed 3 --set lr=0.01 --limit $steps --threads 3 --save "$T/three.st" --json
check "the same weights with three threads" cmp -s "$T/one.st" "$T/three.st"
expect 0 "$PXLC" test $M "$@" --weights "$T/one.st" --json
check "on other rows too: $(json loss)" above "$([ $steps = 100 ] && echo 2 || echo 4)" "$(json loss)"
# a prompt that counts in ones up to 128, and what is likely to follow
{ printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 128), }"; for i in $(seq 128); do printf "\\$(printf %o "$i")\\0\\0\\0"; done; } > "$T/prompt.npy"
expect 0 "$PXLC" run $M --program generate "$@" --weights "$T/one.st" --set steps=3 --in tokens="$T/prompt.npy" --out text="$T/text.npy"
check "what was read first made room" test "$(od -An -j 128 -N 8 -t d4 "$T/text.npy" | tr -s ' ')" = " 4 5"
check "three more tokens" test "$(wc -c < "$T/text.npy")" = 640
done_here
