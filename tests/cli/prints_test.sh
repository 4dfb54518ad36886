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
# What a loop or a branch computes is computed again for its gradient; it is not printed again, and nothing else happens again.
fn slope(f, x) {
    g = graph(f, x)
    info = autodiff(g)
    fwd = call_with_info(g, x)
    return call(info.graph, ones([2]), inputs_dict = info.inputs_dict(fwd))
}
fn say(t, title) = print_tensor(t, title = title)
program in_loop() {
    fn body(a) {
        y = say(a * 3.0, "turn")
        return y * y
    }
    fn f(a) = repeat(graph(body, a), 2, a)
    d = slope(f, variable([1.0, 2.0], name = "x"))
    host_store(d2h_stream("d", d.spec), d)
}
fn branches(limit, loud) {
    fn body(a) {
        then = graph(fn(a) = say(a * 2.0, "then") if "then" in loud else a * 2.0, a)
        other = graph(fn(a) = say(a * 3.0, "else") if "else" in loud else a * 3.0, a)
        y = conditional(a.sum() > limit, then, other, [a], [a])
        return y * y
    }
    fn f(a) = repeat(graph(body, a), 2, a)
    d = slope(f, variable([1.0, 2.0], name = "x"))
    host_store(d2h_stream("d", d.spec), d)
}
program in_else() { branches(1000.0, ["else"]) }
program in_then() { branches(0.0, ["then"]) }
program in_both() { branches(4.0, ["then", "else"]) }
program in_call_of_loop() {
    fn inner(a) = say(a.exp(), "inner")
    fn body(a) = call(graph(inner, a), a) * a * 0.1
    fn f(a) = repeat(graph(body, a), 2, a)
    d = slope(f, variable([1.0, 2.0], name = "x"))
    host_store(d2h_stream("d", d.spec), d)
}
P
for how in '-O0' '-O1' '-O2' '-O2 --jit cc' '-O2 --threads 1'; do
	expect 0 "$PXLC" run "$T/p.pxl" --program gradient $how
	printf 'twice: [2.0000000 4.0000000]\ntwice_gradient: [3.0000000 3.0000000]\n' > "$T/want"
	check "gradient $how" diff "$T/want" "$T/err"
	shows R248
	expect 0 "$PXLC" run "$T/p.pxl" --program order $how
	cut -d. -f1 "$T/err" > "$T/lines"
	for case in in_loop=turn,turn in_else=else,else in_then=then,then in_both=else,then in_call_of_loop=inner,inner; do
		expect 0 "$PXLC" run "$T/p.pxl" --program "${case%%=*}" $how
		got=$(cut -d: -f1 "$T/err" | paste -sd, -)
		check "$case $how" test "$got" = "${case#*=}"
		shows R241
	done
	printf 'a: 8\ncalled: 10\nb: 1\ncalled: 1\nturn: 1\nturn: 2\ncalled: 2\nc: 0\n' > "$T/want"
	check "order $how" diff "$T/want" "$T/lines"
	shows R188
done
done_here
