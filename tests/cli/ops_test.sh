# Every operator that PopXL has, and those that models of PyTorch and ONNX look for, are in the list that `pxlc ops` prints, with what each is.
. tests/cli/lib.sh
expect 0 "$PXLC" ops --json
for name in $(cat tests/ops/names.txt); do
	grep -q "\"name\": \"$name\", \"family\": \"[a-z_0-9]*\", \"inplace\": [a-z]*, \"grad\": [a-z]*, " "$T/out" || { echo "FAILED: no op $name"; bad=1; }
done
check 'names are listed once' test "$(grep -o '"name": "[^"]*"' "$T/out" | sort | uniq -d)" = ''
cp "$T/out" "$T/ops.json"
line() { grep "\"name\": \"$1\"" "$T/ops.json" > "$T/out"; }
line replicated_all_reduce_; has '"inplace": true'
line topk; has '"grad": true'
line argmax; has '"grad": false'
line repeat_with_info; has 'repeat_with_info(graph'
expect 0 "$PXLC" ops call_with_info
has 'call_with_info(graph'
done_here
