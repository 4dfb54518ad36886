# What a program prints comes in the order of its text, whatever the schedule would rather do: a value before its gradient, a call
# before the next, and every turn of a loop by itself.
. tests/cli/lib.sh
cat > "$T/p.pxl" <<'P'
program gradient() {
    x = variable([1.0, 2.0], name = "x")
    g = graph(fn(x) = print_tensor(x * 2.0, title = "twice", print_gradient = true) * 3.0, x)
    info = autodiff(g)
    f = call_with_info(g, x)
    d = call(info.graph, ones([2]), inputs_dict = info.inputs_dict(f))
    host_store(d2h_stream("d", d.spec), d)
}
program order() {
    x = variable(1.0, name = "x")
    big = variable(ones([2, 2]), name = "big")
    say = graph(fn(t) { print_tensor(t, title = "called") }, f32[])
    outer = graph(fn(t) { call(say, t * 10.0) }, f32[])
    print_tensor((big + 1.0).sum(), title = "a")
    call(outer, x)
    print_tensor(x, title = "b")
    call(say, x)
    repeat(graph(fn(t) = print_tensor(t, title = "turn") + 1.0, f32[]), 2, x)
    conditional(x > 0.0, say, graph(fn(t) { print_tensor(t, title = "else") }, f32[]), [x * 2.0], [x])
    print_tensor(x - 1.0, title = "c")
}
P
for how in '-O0' '-O1' '-O2' '-O2 --jit cc' '-O2 --threads 1'; do
	expect 0 "$PXLC" run "$T/p.pxl" --program gradient $how
	printf 'twice: [2.0000000 4.0000000]\ntwice_gradient: [3.0000000 3.0000000]\n' | cmp -s - "$T/err" || { echo "FAILED: gradient $how"; cat "$T/err"; bad=1; }
	expect 0 "$PXLC" run "$T/p.pxl" --program order $how
	cut -d. -f1 "$T/err" > "$T/lines"
	printf 'a: 8\ncalled: 10\nb: 1\ncalled: 1\nturn: 1\nturn: 2\ncalled: 2\nc: 0\n' | cmp -s - "$T/lines" || { echo "FAILED: order $how"; cat "$T/err"; bad=1; }
done
done_here R188 R248
