# Variables in files: --map keeps them there from run to run, --map-read leaves the files as they are.
. tests/cli/lib.sh
cat > "$T/count.pxl" <<'E'
program main() {
    n = variable([0, 0], name = "n")
    n += 1
    host_store(d2h_stream("y", i32[2]), n)
}
E
cd "$T" || exit 1
expect 0 "$PXLC" run count.pxl --map weights
has '[1, 1]'
expect 0 "$PXLC" run count.pxl --map n=weights/n.npy
has '[2, 2]'
shows A41 R135
cp weights/n.npy before
expect 0 "$PXLC" run count.pxl --map weights --map-read
has '[3, 3]'
check 'a file that is only read stays as it was' cmp before weights/n.npy
shows A41 R137
expect 0 "$PXLC" run count.pxl --map weights
has '[3, 3]'
expect 2 "$PXLC" run count.pxl --map n=
expect 2 "$PXLC" run count.pxl --map m=weights/n.npy
has 'there is no variable `m`' err
printf 'abc' > weights/n.npy
expect 4 "$PXLC" run count.pxl --map weights
has 'weights/n.npy` has 3 bytes' err
check 'the file is as it was' test "$(cat weights/n.npy)" = abc
done_here
