#!/bin/sh
# Whatever pass is left out, a program gives the same; of those that every program needs, only what they do beyond that is left out.
. tests/cli/lib.sh

cat > "$T/step.pxl" <<'END'
use nn

program main() {
    x          = constant([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]])
    facts, net = MLP([5, 4]).create_graph(x)
    grad       = autodiff(net)
    weights    = facts.init()
    fwd        = net.bind(weights).call_with_info(x)
    loss, dx   = cross_entropy_with_grad(fwd.outputs[0], constant([1, 3], i32))
    bwd        = grad.call_with_info(dx, args = grad.info.inputs_dict(fwd))
    grads      = grad.info.fwd_parent_ins_to_grad_parent_outs(fwd, bwd)
    host_store(d2h_stream("loss", f32[]), loss * 1.0 + 0.0)
    with in_sequence() {
        for w in weights.tensors { scaled_add_(w, grads[w], b = -0.5) }
        host_store(d2h_stream("after", f32[2, 4]), softmax(transpose(net.bind(weights).call(x)).transpose(), -1))
    }
}
END
expect 0 "$PXLC" run "$T/step.pxl" && cp "$T/out" "$T/all"
has 'after: f32[2, 4]'
expect 0 "$PXLC" ops --passes && cut -d' ' -f1 "$T/out" > "$T/passes"
has 'elementwise ops become loops'
while read -r pass; do
	expect 0 "$PXLC" run "$T/step.pxl" --no-pass "$pass"
	check "the same without $pass" cmp "$T/all" "$T/out"
done < "$T/passes"
expect 0 "$PXLC" run "$T/step.pxl" --no-pass "$(paste -sd, "$T/passes")"
check 'the same without any' cmp "$T/all" "$T/out"

groups() { "$PXLC" emit c "$T/step.pxl" "$@" | grep -c 'fuse_[0-9]' ; }
check 'without fuse each op is a group of its own' test "$(groups --no-pass fuse)" -gt "$(groups)"

expect 2 "$PXLC" run "$T/step.pxl" --no-pass nothing
has 'there is no pass `nothing`' err
done_here
