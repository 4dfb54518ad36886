# The command line: exit codes, streams of output, common options.
. tests/cli/lib.sh
cat > "$T/two.pxl" <<'M'
print("building")
program double(n: int = 3, k: float = 2.0) {
    x = host_load(h2d_stream("x", f32[n]))
    y = x * k
    host_store(d2h_stream("y", y.spec), y)
}
program ones() {
    z = variable(ones([2, 2]), name = "w") + 1.0
    host_store(d2h_stream("z", z.spec), z)
}
M
cat > "$T/bad.pxl" <<'M'
program p() {
    x = variable(1.0)
    y = x + nosuch
}
M
expect 2 "$PXLC"
expect 0 "$PXLC" --help
has 'usage: pxlc'
expect 0 "$PXLC" --version
has 'pxlc '
expect 2 "$PXLC" rnu "$T/two.pxl"
has 'did you mean `run`' err
expect 2 "$PXLC" run
expect 2 "$PXLC" run --sede 3 "$T/two.pxl"
has 'did you mean `--seed`' err
expect 2 "$PXLC" run --seed x "$T/two.pxl"
expect 4 "$PXLC" run "$T/none.pxl"
has 'none.pxl' err
expect 4 "$PXLC" run "$T"
expect 2 "$PXLC" run "$T/two.pxl"
has '`double`' err
expect 2 "$PXLC" run "$T/two.pxl" --program nosuch
expect 0 "$PXLC" run "$T/two.pxl" --program ones
has 'building'
has 'z: f32[2, 2]'
has '[[2, 2],'
expect 0 "$PXLC" run "$T/two.pxl" --program ones --json
has '"z": {"dtype": "f32", "shape": [2, 2], "values": [[2, 2], [2, 2]]}'
hasnt building
has building err
expect 1 "$PXLC" run "$T/bad.pxl"
has 'error[E0101]' err
has 'bad.pxl:3:13' err
hasnt nosuch
expect 1 "$PXLC" check "$T/bad.pxl" "$T/two.pxl"
expect 0 "$PXLC" check "$T/two.pxl"
expect 1 "$PXLC" check --json "$T/bad.pxl"
has '"code":"E0101"'
expect 0 sh -c "\"$PXLC\" run - --program ones < \"$T/two.pxl\""
has 'z: f32[2, 2]'
expect 2 "$PXLC" run "$T/two.pxl" --program double
has '--in x=' err

# npy out, npy in, and the same numbers again
expect 0 "$PXLC" run "$T/two.pxl" --program ones --out "$T/dir"
check 'a file for each stream' test -s "$T/dir/z.npy"
cat > "$T/in.pxl" <<'M'
program p() {
    x = host_load(h2d_stream("x", f32[2, 2]))
    y = x + 1.0
    host_store(d2h_stream("y", y.spec), y)
}
M
expect 0 "$PXLC" run "$T/in.pxl" --in x="$T/dir/z.npy"
has '[[3, 3],'
expect 0 "$PXLC" run "$T/in.pxl" --in x="$T/dir/z.npy" --out y="$T/y.npy"
cmp -s "$T/y.npy" "$T/dir/z.npy" && { echo "FAILED: y is not z"; bad=1; }
expect 2 "$PXLC" run "$T/in.pxl" --in q="$T/dir/z.npy"
expect 4 "$PXLC" run "$T/in.pxl" --in x="$T/bad.pxl"
expect 4 "$PXLC" run "$T/two.pxl" --program double --in x="$T/dir/z.npy"
has 'f32[2, 2]' err
has 'f32[3]' err
expect 4 "$PXLC" run "$T/two.pxl" --program double --set n=4 --set k=3 --in x="$T/dir/z.npy"
has 'f32[4]' err
# settings are part of the command line, whatever the model says about them
expect 2 "$PXLC" run "$T/two.pxl" --program double --set nope=4
has 'has no parameter `nope`' err
expect 2 "$PXLC" run "$T/two.pxl" --program double --set n=2.5
has 'must be an int' err
expect 2 "$PXLC" run "$T/two.pxl" --program double --set n=
expect 2 "$PXLC" run "$T/two.pxl" --program double --set 'n=[1'
expect 1 "$PXLC" run "$T/two.pxl" --program double --set n=-1
expect 2 "$PXLC" train examples/mnist.pxl --set bach=4
expect 2 "$PXLC" run "$T/two.pxl" --program double --set n

# variables out and in
expect 0 "$PXLC" run "$T/two.pxl" --program ones --save "$T/w.safetensors"
expect 0 "$PXLC" run "$T/two.pxl" --program ones --weights "$T/w.safetensors"
has '[[2, 2],'
expect 4 "$PXLC" run "$T/two.pxl" --program ones --weights "$T/bad.pxl"
expect 4 "$PXLC" run "$T/two.pxl" --program ones --save /nonexistent/w.safetensors
if [ -e /dev/full ]; then expect 4 sh -c "\"$PXLC\" run \"$T/two.pxl\" --program ones > /dev/full"; fi

for stage in ast ir schedule dot plan c; do
	expect 0 "$PXLC" emit $stage "$T/two.pxl" --program ones
	check "$stage prints" test -s "$T/out"
done
expect 2 "$PXLC" emit shcedule "$T/two.pxl"
has 'did you mean `schedule`' err
has 'the stages are ast|ir|schedule|dot|code|debug|plan|c' err
printf 'program train() { }\nprogram test() { }\ntask train { }\n' > "$T/named.pxl"
expect 2 "$PXLC" run --program trian "$T/named.pxl"
has 'there is no program `trian`; did you mean `train`? this model has `train`, `test`' err
expect 2 "$PXLC" emit ir --program nothing_near "$T/named.pxl"
has 'there is no program `nothing_near`; this model has `train`, `test`' err
expect 2 "$PXLC" train --task tarin "$T/named.pxl"
has 'there is no task `tarin`; did you mean `train`? this model has `train`' err
expect 0 "$PXLC" bench "$T/two.pxl" --program double --steps 5 --json
for key in us_median us_p20 us_p80 steps compile_ms peak_bytes threads; do has "\"$key\":"; done
expect 0 "$PXLC" ops
has 'matmul('
expect 0 "$PXLC" ops --json
has '"name": "gelu_"'
check "no gradient passes a modifying op" grep -q '"name": "exp_".*"inplace": true, "grad": false' "$T/out"
check "one passes its plain form" grep -q '"name": "exp".*"inplace": false, "grad": true' "$T/out"
check "and a view" grep -q '"name": "reshape_".*"inplace": true, "grad": true' "$T/out"
expect 0 "$PXLC" ops matmul
expect 2 "$PXLC" ops matmull
has 'did you mean `matmul`' err
expect 0 "$PXLC" explain E0101
expect 2 "$PXLC" explain E9999
expect 0 "$PXLC" fmt --check examples/*.pxl lang/std/*.pxl
# --json is one object on standard output, whatever happens
one_object() { [ "$(wc -l < "$T/out")" = 1 ] && grep -q '^{.*}$' "$T/out" || { echo "FAILED: not one object: $*"; head -n 5 "$T/out"; bad=1; }; }
json() { want=$1; shift; expect "$want" "$PXLC" "$@" --json; one_object "$@"; }
for stage in ast ir schedule dot plan c; do json 0 emit $stage "$T/two.pxl" --program ones; done
json 0 explain E0101
json 0 ops matmul
json 0 ops --passes
json 0 build "$T/two.pxl" --program ones -o "$T/shipped"
json 0 run "$T/two.pxl" --program ones --out "$T/dir"
json 4 run "$T/two.pxl" --program ones --out z="$T/no/such/z.npy"
json 4 run "$T/two.pxl" --program ones --save "$T/no/such/z.st"
json 4 run "$T/two.pxl" --program double --in x="$T/dir/z.npy"
json 2 run "$T/two.pxl" --program double
json 2 run "$T/two.pxl" --program double --in q="$T/dir/z.npy"
json 2 explain E9999
json 1 run "$T/bad.pxl"
json 2 run --no-such "$T/two.pxl"
json 2 run "$T/two.pxl" --jit gcc
has '`--jit` cannot be `gcc`: it is tcc, cc or auto'
json 2 run "$T/two.pxl" --threads
json 2 frob
json 0 check "$T/two.pxl" "$T/two.pxl"
has '{"diagnostics": []}'
json 4 check "$T/bad.pxl" "$T/bad.pxl" "$T/missing.pxl"
check "every file's mistakes" test "$(grep -o '"level":' "$T/out" | wc -l)" = 3
has '"error": "the model has an error"'
cp examples/mnist.pxl "$T/tidy.pxl"
printf 'x = [1,2]\n' > "$T/wild.pxl"
printf 'x = (\n' > "$T/torn.pxl"
json 1 fmt --check "$T/tidy.pxl" "$T/wild.pxl"
has '"changed": false}'
has '"changed": true}'
json 4 fmt "$T/wild.pxl" "$T/torn.pxl" "$T/missing.pxl"
check "what can be laid out is" grep -qxF 'x = [1, 2]' "$T/wild.pxl"
has '"code":"E00'
has 'No such file'
json 0 fmt -
has '"text": ""'

# codes are found however they are typed
expect 0 "$PXLC" explain e0301
has 'E0301 ('
expect 2 "$PXLC" explain e030

# a NaN is printed the same whatever its sign
cat > "$T/nan.pxl" <<'M'
program p() {
    y = variable([1.0, 0.0, -1.0]) / 0.0
    host_store(d2h_stream("y", y.spec), y)
}
M
expect 0 "$PXLC" run "$T/nan.pxl"
has '[inf, nan, -inf]'
# devices by name
expect 2 "$PXLC" run "$T/two.pxl" --program ones --device nosuch
has 'cannot be `nosuch`' err
shows R266
has 'cpu' err
expect 0 "$PXLC" run "$T/two.pxl" --program ones --device cpu
shows R266

# the log goes where the environment says
cat > "$T/logged.pxl" <<'P'
program p() { host_store(d2h_stream("y", f32[]), variable(1.0) + 1.0) }
P
PXL_LOG_LEVEL=DEBUG expect 0 "$PXLC" run "$T/logged.pxl" --jit tcc
has 'pxl: program `p`: compiled by tcc' err
shows R318
PXL_LOG_LEVEL=DEBUG PXL_LOG_DEST=stdout expect 0 "$PXLC" run "$T/logged.pxl" --jit tcc
has 'compiled by tcc'
hasnt 'compiled by tcc' err
shows R318
POPART_LOG_LEVEL=DEBUG POPART_LOG_DEST="$T/own.log" expect 0 "$PXLC" run "$T/logged.pxl" --jit tcc
hasnt 'compiled by tcc' err
shows R318
check 'the log is in its file' grep -q 'compiled by tcc' "$T/own.log"
shows R318 R320
PXL_LOG_LEVEL=LOUD expect 0 "$PXLC" run "$T/logged.pxl" --jit tcc
has 'there is no log level `LOUD`' err
shows R320
hasnt 'compiled by tcc' err
shows R320
# where compiling took how long: each pass by name, on standard error
expect 0 "$PXLC" bench examples/mnist.pxl --program train --steps 1 --time-passes
has 'median'
for what in 'pass      fuse' 'elaborate' 'jit       tcc' 'all'; do has "$what" err; done
done_here
