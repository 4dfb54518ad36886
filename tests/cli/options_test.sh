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
# what the program sets, and the command line goes before it
expect 0 "$PXLC" emit ir "$T/m.pxl"
has '2 3' err
shows R460
expect 0 "$PXLC" run "$T/m.pxl" --replicas 4 --dot "$T/drawn" --dot-checks Here
has '4 3'
shows R460
check 'the checkpoint that was asked for is drawn' test -e "$T/drawn/Here_r.dot"
shows R460
expect 0 "$PXLC" run "$T/m.pxl" --dot "$T/none" --dot-checks Other
check 'one that was not is not' test ! -e "$T/none/Here_r.dot"
shows R460
expect 2 "$PXLC" run "$T/m.pxl" --dot-check Here
has 'has no option `--dot-check`; did you mean `--dot-checks`?' err
shows R460
expect 2 "$PXLC" run "$T/m.pxl" --partials half
has 'has no option `--partials`' err
shows R460
sed 's/host_transfers 3/host_transfer 3/' "$T/m.pxl" > "$T/wrong.pxl"
expect 1 "$PXLC" check "$T/wrong.pxl"
has 'unknown setting `host_transfer`' err
shows R460
has 'did you mean `host_transfers`?' err
# what inputs are there and what they take, in columns
cat > "$T/in.pxl" <<'E'
program main() replicas 2, host_transfers 3 {
    x = host_load(h2d_stream("input", f32[2]))
    host_store(d2h_stream("out", f32[2]), x)
}
E
expect 2 "$PXLC" run "$T/in.pxl"
has 'input | takes        | data' err
has 'input | f32[3, 2, 2] | missing' err
shows R453

# a command takes the options that its help lists, and refuses those of others with a message that names its own
commands=$("$PXLC" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for command in $commands; do "$PXLC" "$command" --help | sed -n 's/^  \(-[-a-zA-Z0-9]*\) .*/\1/p' > "$T/options.$command"; done
sort -u "$T"/options.* > "$T/options"
check "there are commands and options" test "$(echo $commands | wc -w)" -ge 10 -a "$(wc -l < "$T/options")" -ge 40
for command in $commands; do
	for option in $(cat "$T/options"); do
		"$PXLC" "$command" "$option" > "$T/out" 2> "$T/err" < /dev/null
		got=$?
		if grep -qxF -- "$option" "$T/options.$command"; then
			hasnt 'has no use for' err
		else
			check "$command $option: exit $got" test $got = 2
			has "\`pxlc $command\` has no use for \`$option\`" err
			for own in $(grep -vE '^(--json|-q|-v|--color|--diag|--help)$' "$T/options.$command"); do has "$own" err; done
		fi
	done
done
expect 2 "$PXLC" build "$T/m.pxl" -o "$T/built" --weights "$T/no/such/file"
has 'an option of `run`, `train`, `test`, `bench`; its own are --program, --no-pass, -o,' err
check "nothing was built" test ! -e "$T/built"
expect 2 "$PXLC" train "$T/m.pxl" --in x=x.npy
expect 2 "$PXLC" test "$T/m.pxl" --out "$T/out"
expect 2 "$PXLC" check "$T/m.pxl" --weights "$T/w"
expect 2 "$PXLC" fmt "$T/m.pxl" --weights "$T/w"
expect 2 "$PXLC" emit c "$T/m.pxl" --after fuse
has 'only `ir` is printed after a pass, not `c`' err

# numbers: none is negative, none larger than what takes it
expect 2 "$PXLC" run "$T/m.pxl" --seed -1
has '`--seed` needs a number that is not negative, not `-1`' err
expect 2 "$PXLC" run "$T/m.pxl" --threads 2147483648
has '`--threads 2147483648` is too large' err
expect 2 "$PXLC" run "$T/m.pxl" --seed 18446744073709551616
has 'needs a number' err
expect 0 "$PXLC" run "$T/m.pxl" --seed 18446744073709551615
expect 2 "$PXLC" run "$T/m.pxl" --replicas 0
has 'at least 1' err

# what this machine has no memory for
cat > "$T/huge.pxl" <<'E'
program main() {
    for i in range(8) { host_store(d2h_stream("y{i}", f32[1]), variable(zeros(), f32[65536, 2097152], name = "w{i}")[0, 0:1] + 1.0) }
}
E
expect 3 "$PXLC" run "$T/huge.pxl" --jit tcc
has 'program `main` needs 4398' err

# the summaries stand in one column, also behind a character of several bytes
"$PXLC" --help | sed 's/…/./' | grep '^  [a-z]' > "$T/lines"
check "commands in a column" test "$(grep -cE '^.{19} [^ ]' "$T/lines")" = "$(wc -l < "$T/lines")"

# as many inputs as a program has
n=300
{
	echo 'program many() {'
	for i in $(seq $n); do echo "    x$i = host_load(h2d_stream(\"x$i\", f32[2]))"; done
	echo "    host_store(d2h_stream(\"y\", f32[2]), x1 + x$n)"
	echo '}'
} > "$T/many.pxl"
echo 'program pair() { host_store(d2h_stream("x", f32[2]), constant([1.0, 2.0])) }' > "$T/pair.pxl"
expect 0 "$PXLC" run "$T/pair.pxl" --out x="$T/pair.npy"
set --
for i in $(seq $n); do set -- "$@" --in x$i="$T/pair.npy"; done
expect 0 "$PXLC" run "$T/many.pxl" "$@"
has '[2, 4]'
shift 2
expect 2 "$PXLC" run "$T/many.pxl" "$@"
has 'input `x1` has no data' err
check "all inputs are listed" test "$(grep -c '| given' "$T/err")" = $((n - 1))
done_here
