# Options of a run: reachable from the model where it asks, and an unknown name is an error that knows the nearest.
. tests/cli/lib.sh
cat > "$T/m.pxl" <<'E'
program main() replicas 2, host_transfers 3 {
    ir = current_ir()
    print(ir.replication_factor, ir.num_host_transfers)
    dot_checkpoint("Here")
    host_store(d2h_stream("out", f32[2]), constant([1.0, 2.0]))
}
E
expect 0 "$PXLC" check "$T/m.pxl"
expect 0 "$PXLC" emit ir "$T/m.pxl"
has '2 3' err                                           # R460: what the program sets …
expect 0 "$PXLC" run "$T/m.pxl" --replicas 4 --dot "$T/drawn" --dot-checks Here
has '4 3'                                               # … and the command line goes before it
check 'R460: the checkpoint that was asked for is drawn' test -e "$T/drawn/Here_r.dot"
expect 0 "$PXLC" run "$T/m.pxl" --dot "$T/none" --dot-checks Other
check 'R460: one that was not is not' test ! -e "$T/none/Here_r.dot"
expect 2 "$PXLC" run "$T/m.pxl" --dot-check Here
has 'has no option `--dot-check`; did you mean `--dot-checks`?' err
expect 2 "$PXLC" run "$T/m.pxl" --partials half
has 'has no option `--partials`' err
sed 's/host_transfers 3/host_transfer 3/' "$T/m.pxl" > "$T/wrong.pxl"
expect 1 "$PXLC" check "$T/wrong.pxl"
has 'unknown setting `host_transfer`' err
has 'did you mean `host_transfers`?' err
# R453: what inputs are there and what they take, in columns
cat > "$T/in.pxl" <<'E'
program main() replicas 2, host_transfers 3 {
    x = host_load(h2d_stream("input", f32[2]))
    host_store(d2h_stream("out", f32[2]), x)
}
E
expect 2 "$PXLC" run "$T/in.pxl"
has 'input | takes        | data' err
has 'input | f32[3, 2, 2] | missing' err
done_here R453 R460
