# No model reaches native code unless it may: pxlc has no ops of a host, and nothing of a name or a string becomes C.
. tests/cli/lib.sh
cat > "$T/op.pxl" <<'E'
program main() {
    x = variable([1.0])
    y = host_op("x(); system(\"touch made\"); /*", x)
}
E
expect 1 "$B/pxlc" check "$T/op.pxl"
expect 1 "$B/pxlc" build "$T/op.pxl" -o "$T/out"
expect 1 "$B/pxlc" check --allow-native "$T/op.pxl"
check 'nothing ran' test ! -e made
check 'nothing was built' test ! -e "$T/out/main.c"
# with leave it runs, and goes along when the program is built
M=examples/native/leaky.pxl
cat > "$T/bad.pxl" <<'E'
native "bad.c"
program main() { }
E
echo '__attribute__((constructor)) static void f(void) { __builtin_abort(); }' > "$T/bad.c"
for c in check run 'emit ir' "build -o $T/out"; do
	expect 1 "$B/pxlc" $c "$T/bad.pxl"
	has 'E0902' err
done
for jit in tcc cc; do
	expect 0 "$B/pxlc" run --allow-native $M --jit $jit
	has '[-0.02, 0, 2]'
	shows R451
	has '[0.02, 1, 1]'
	shows R451
done
expect 0 "$B/pxlc" run --allow-native $M --set alpha=0.5
has '[-0.5, 0, 2]'
expect 1 "$B/pxlc" run $M
expect 1 "$B/pxlc" build $M -o "$T/out"
expect 0 "$B/pxlc" fmt --check $M
# files that the command line names, for host_op
cat > "$T/host.pxl" <<'E'
program main() {
    y = host_op("leaky", constant([-1.0, 3.0]), alpha = 0.25)
    host_store(d2h_stream("y", f32[2]), y)
}
E
expect 1 "$B/pxlc" run "$T/host.pxl"
has '`--native` names' err
expect 0 "$B/pxlc" run "$T/host.pxl" --native examples/native/leaky.c
has '[-0.25, 3]'
shows R449
expect 4 "$B/pxlc" run "$T/host.pxl" --native "$T/nowhere.c"
expect 2 "$B/pxlc" run "$T/host.pxl" --native "$T/host.pxl"
has 'host.pxl' err
PXL_CC=no-such-compiler expect 4 "$B/pxlc" run "$T/host.pxl" --native examples/native/leaky.c
PXL_CC=no-such-compiler expect 1 "$B/pxlc" run --allow-native $M
has 'E0903' err
expect 0 "$B/pxlc" build "$T/host.pxl" --native examples/native/leaky.c -o "$T/shipped"
case $B in */san) ;; *)
	check 'it builds by itself' make -s -C "$T/shipped"
	check 'it runs by itself' sh -c "cd '$T/shipped' && ./example | grep -qx 'y: -0.25 3'"
esac
done_here
