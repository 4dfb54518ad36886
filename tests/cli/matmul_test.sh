# matmul_test.sh — `--matmul bf16`: f32 products of operands rounded to bf16, and nothing else; wherever programs are run or written out.
. tests/cli/lib.sh
export HOME="$T"
# 1.00390625 is 1 + 2^-8, halfway between two bf16; 1.01171875 is 1 + 3 2^-8, halfway too: to the even ones, 1 and 1.015625
cat > "$T/m.pxl" <<'E'
program main() {
    x = variable([[1.00390625, 1.01171875]], f32, name = "x")
    w = constant([[1.0], [4.0]])
    image = constant([1.00390625, 0.0, 0.0]).reshape([1, 1, 1, 3])
    host_store(d2h_stream("f32", f32[1, 1]), x @ w)
    host_store(d2h_stream("f64", f64[1, 1]), x.cast(f64) @ w.cast(f64))
    host_store(d2h_stream("f16", f16[1, 1]), x.cast(f16) @ w.cast(f16))
    host_store(d2h_stream("conv", f32[1, 1, 1, 2]), conv(image, ones([1, 1, 1, 2])))
}
E
expect 0 "$PXLC" run "$T/m.pxl"
cp "$T/out" "$T/plain"
has '5.05'
hasnt '5.06'
expect 0 "$PXLC" run "$T/m.pxl" --matmul f32
check 'f32 is what is done without being asked' cmp "$T/plain" "$T/out"
for more in '--jit tcc' '--jit cc' '-O0' '--threads 3'; do
	expect 0 "$PXLC" run "$T/m.pxl" --matmul bf16 $more
	has '5.0625'
	check "only the f32 product is rounded, $more" test "$(diff "$T/plain" "$T/out" | grep '^[<>]' | cut -c 1-5 | tr '\n' ' ')" = '< [[5 > [[5 '
done
expect 2 "$PXLC" run "$T/m.pxl" --matmul half
has '`--matmul` cannot be `half`: it is f32 or bf16' err
expect 2 "$PXLC" train "$T/m.pxl" --matmul
has '`--matmul` needs a value' err
for command in run train test bench emit build; do
	expect 0 "$PXLC" $command --help
	has '--matmul f32|bf16'
done
keys() { grep -o '"[a-z0-9_]*":' "$T/out" | tr -d '\n'; }
expect 0 "$PXLC" bench "$T/m.pxl" --steps 5 --json
bench=$(keys)
expect 0 "$PXLC" bench "$T/m.pxl" --steps 5 --json --matmul bf16
check '--json has the same members' test "$(keys)" = "$bench"

# it is in what is written out, and the cache knows the one from the other
expect 0 "$PXLC" emit c "$T/m.pxl"
cp "$T/out" "$T/plain.c"
expect 0 "$PXLC" emit c "$T/m.pxl" --matmul bf16
check 'the emitted C says so' test "$(diff "$T/plain.c" "$T/out" | grep -c '^> static const struct pxlrt_gemm')" = 1
mkdir "$T/cache"
chmod 700 "$T/cache"
for matmul in f32 bf16 f32; do
	PXL_CACHE_DIR="$T/cache" expect 0 "$PXLC" run "$T/m.pxl" --jit cc --matmul $matmul
	has "$(case $matmul in f32) echo 5.05;; *) echo 5.0625;; esac)"
done
check 'and keeps both' test "$(ls "$T/cache" | wc -l)" -ge 2

# training: it converges, and does not depend on threads
for threads in 1 3; do
	expect 0 "$PXLC" train examples/mnist.pxl --seed 1 --limit 1500 --matmul bf16 --threads $threads --save "$T/w$threads.st" --json
done
check 'the same weights from one thread and three' cmp "$T/w1.st" "$T/w3.st"
expect 0 "$PXLC" train examples/mnist.pxl --seed 1 --limit 1500 --threads 2 --save "$T/plain.st" --json
check 'not those of f32' sh -c "! cmp -s '$T/w1.st' '$T/plain.st'"
expect 0 "$PXLC" test examples/mnist.pxl --weights "$T/w1.st" --matmul bf16
check 'the accuracy' awk -v x="$(sed -n 's/^accuracy: //p' "$T/out")" 'BEGIN { exit !(x >= 0.9) }'
done_here
