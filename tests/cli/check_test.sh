# `pxlc check` accepts what `run`, `train` and `test` accept, refuses what they would refuse before their first step, and runs nothing.
# tests/wrong/check_tasks.pxl has the messages.
. tests/cli/lib.sh
export PXL_DATA_DIR= HOME="$T"
cat > "$T/m.pxl" <<'P'
use data
program step(n: int) {
    x = host_load(h2d_stream("x", f32[n]))
    w = variable(ones([n]), name = "w")
    print_tensor(w)
    host_store(d2h_stream("loss", f32[]), mean(x * w))
}
program digit(batch: int = 4) {
    image = host_load(h2d_stream("image", f32[batch, 28, 28]))
    label = host_load(h2d_stream("label", i32[batch]))
    host_store(d2h_stream("sum", f32[]), mean(image) + mean(label.cast(f32)))
}
task train {
    program = step(n = 2)
    data    = { "x": npy("x.npy") }
    save    = "w.safetensors"
}
task again {
    program = step(n = 2)
    data    = { "x": npy("x.npy") }
    weights = task.train
}
task literally {
    program = step(n = 2)
    data    = { "x": npy("x.npy") }
    weights = "w.safetensors"
}
task images {
    program = digit
    data    = mnist("train", shuffle = true)
    show    = { "sum": last(sum) }
}
P
cat > "$T/make.pxl" <<'P'
program floats() { host_store(d2h_stream("x", f32[6]), constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) }
program ints() { host_store(d2h_stream("x", i32[6]), constant([1, 2, 3, 4, 5, 6])) }
program pairs() { host_store(d2h_stream("x", f32[2, 3]), constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) }
program other() { host_store(d2h_stream("y", f32[]), mean(variable(ones([3]), name = "w"))) }
program named() { host_store(d2h_stream("y", f32[]), mean(variable(ones([2]), name = "v"))) }
P
array() { expect 0 "$PXLC" run "$T/make.pxl" --program "$1" --out x="$T/x.npy"; }
expect 1 "$PXLC" check "$T/m.pxl"
has 'cannot open `x.npy`' err
array floats
expect 0 "$PXLC" check "$T/m.pxl"                       # nothing has been trained: its weights are not there yet
check "no step was made" test ! -s "$T/out"
check "nothing is said" test ! -s "$T/err"
array ints
expect 1 "$PXLC" check "$T/m.pxl"
has 'input stream `x` is f32, but its data is i32' err
array pairs
expect 1 "$PXLC" check "$T/m.pxl"
has 'input stream `x` takes 2 elements at a time, which is not a batch of samples of column `x` (3 elements each)' err
expect 2 "$PXLC" check "$T/m.pxl" --set m=6
has 'no program of this model has a parameter `m`' err
array floats
expect 0 "$PXLC" check "$T/m.pxl" --set n=6             # what train --set n=6 would take
expect 1 "$PXLC" check "$T/m.pxl" --set n=7
has 'a step takes 7 samples, but the data has only 6' err

# weights: those that a task saves are not looked at, those from elsewhere are
sed '/^task again/,/^}/d; /save /d' "$T/m.pxl" > "$T/given.pxl"
expect 1 "$PXLC" check "$T/given.pxl"
has 'w.safetensors`: No such file' err
(cd "$T" && expect 0 "$PXLC" run make.pxl --program named --save w.safetensors && expect 1 "$PXLC" check given.pxl && has '`w`' err &&
	expect 0 "$PXLC" run make.pxl --program other --save w.safetensors && expect 1 "$PXLC" check given.pxl && has 'f32[3]' err &&
	expect 0 "$PXLC" check m.pxl && expect 4 "$PXLC" train given.pxl --task literally && has 'f32[3]' err; exit $bad) || bad=1
(cd "$T" && expect 0 "$PXLC" train m.pxl && expect 0 "$PXLC" check given.pxl; exit $bad) || bad=1

# a program that nothing gives its parameters is named, and that is all
cat > "$T/lonely.pxl" <<'P'
program lonely(n: int, m: int = 2) { y = nosuch }
P
expect 0 "$PXLC" check "$T/lonely.pxl"
has 'program `lonely` was not checked: its parameter `n` has no default, and no task sets it' err
expect 1 "$PXLC" check "$T/lonely.pxl" --set n=1
has 'unknown name `nosuch`' err

# one mistake that three tasks share is one message; all of a file's come together
cat > "$T/shared.pxl" <<'P'
program p(n: int = 1) { y = nosuch + n }
task a { program = p }
task b { program = p(n = 2) }
task c { program = p(n = 3) }
P
expect 1 "$PXLC" check "$T/shared.pxl" --json
check "one message" test "$(grep -o '"level":' "$T/out" | wc -l)" = 1
has '"error": "the model has an error"'
done_here
