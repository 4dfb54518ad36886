#!/bin/sh
# Files of element types that .npy has no name for, and of those that pxl has none for.
. tests/cli/lib.sh

cat > "$T/bits.pxl" <<'END'
program write() {
    x = constant([0.75, 250.0, -1.5], f8_143)
    y = constant([1.0, 2.5, 3.0], bf16)
    host_store(d2h_stream("a", x.spec), x)
    host_store(d2h_stream("b", y.spec), y)
}
program read() {
    a = host_load(h2d_stream("a", f8_143[3]))
    b = host_load(h2d_stream("b", bf16[3]))
    v = variable([0.0, 0.0, 0.0], name = "v")
    host_store(d2h_stream("a8", a.spec), a)
    host_store(d2h_stream("b2", b.spec), b + b)
    host_store(d2h_stream("v2", v.spec), v)
}
END
mkdir "$T/out1" "$T/out2"
expect 0 "$PXLC" run "$T/bits.pxl" --program write --out "$T/out1"
expect 0 "$PXLC" run "$T/bits.pxl" --program read --in "a=$T/out1/a.npy" --in "b=$T/out1/b.npy" --out "$T/out2"
check "float8 comes back as it went" cmp "$T/out1/a.npy" "$T/out2/a8.npy"
expect 0 "$PXLC" run "$T/bits.pxl" --program read --in "a=$T/out1/a.npy" --in "b=$T/out1/b.npy"
has '[2, 5, 6]'
expect 4 "$PXLC" run "$T/bits.pxl" --program read --in "a=$T/out1/b.npy" --in "b=$T/out1/b.npy"
has 'takes f8_143[3]' err

# complex numbers: .npy and safetensors
head=$(printf "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }%60s" '')
{ printf '\223NUMPY\001\000\166\000'; printf '%.117s\n' "$head"; head -c 24 /dev/zero; } > "$T/c.npy"
expect 4 "$PXLC" run "$T/bits.pxl" --program read --in "a=$T/out1/a.npy" --in "b=$T/c.npy"
has "elements of type '<c8'" err
has 'complex numbers have no type here' err
shows R84
json='{"v":{"dtype":"C64","shape":[3],"data_offsets":[0,24]}} '
{ printf '\070\000\000\000\000\000\000\000%s' "$json"; head -c 24 /dev/zero; } > "$T/c.safetensors"
expect 4 "$PXLC" run "$T/bits.pxl" --program read --in "a=$T/out1/a.npy" --in "b=$T/out1/b.npy" --weights "$T/c.safetensors"
has 'there are no complex numbers here' err
shows R84
done_here
