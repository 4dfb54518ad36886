# Kernels in listings, in the order of execution, and in what tells one compiled program from another.
. tests/cli/lib.sh
model() {
	cat > "$T/k.pxl" <<-END
	kernel mine(x, alpha: float = $1) = $2
	program main() {
	    a = variable([-1.0, 4.0], name = "a")
	    with in_sequence() {
	        y = mine(a)
	        a += 1.0
	        z = mine(a)
	    }
	    host_store(d2h_stream("y", y.spec), y)
	    host_store(d2h_stream("z", z.spec), z)
	}
	END
}
model 0.5 'x if x >= 0 else alpha * x'
expect 0 "$PXLC" emit schedule "$T/k.pxl"
has 'mine.'
shows R447
hasnt 'Kernel.'
check 'the kernel keeps its place in the sequence' test "$(grep -o 'mine\.\|AddLhsInplace\.' "$T/out" | tr -d '\n')" = mine.AddLhsInplace.mine.
shows R447
expect 0 "$PXLC" emit dot "$T/k.pxl"
has ': mine.'
shows R447
# without the sequence a read beside a write is ambiguous, as for every op
sed 's/with in_sequence() {/if true {/' "$T/k.pxl" > "$T/ambiguous.pxl"
expect 1 "$PXLC" check "$T/ambiguous.pxl"
has '`mine`' err
shows R447

# another number, another expression: another program, also with a cache between them
for jit in tcc cc; do
	for k in '0.5|x if x >= 0 else alpha * x|[-0.5, 4]' '0.25|x if x >= 0 else alpha * x|[-0.25, 4]' '0.25|x if x >= 0 else alpha - x|[1.25, 4]'; do
		model "${k%%|*}" "$(echo "$k" | cut -d'|' -f2)"
		PXL_CACHE_DIR=$T/cache expect 0 "$PXLC" run "$T/k.pxl" --jit $jit
		has "${k##*|}"
		shows R450
	done
done
done_here
