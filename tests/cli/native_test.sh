# No model reaches native code: pxlc has no ops of a host, and nothing of a name or a string becomes C.
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
done_here
