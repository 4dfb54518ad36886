# check_test.sh — `pxlc check` on every tests/lang/x.pxl that has an x.err: exit 1, and the whole text as it stands
# there.  Mistakes of every phase live here; parse_test.c looks at those of the text alone.
. tests/cli/lib.sh
got=$T/got
cd tests/lang || exit 1
for err in *.err; do
	model=${err%.err}.pxl
	"$PXLC" check --max-errors 1000 "$model" 2>&1 < /dev/null | sed '/^[0-9]* errors$/d' > "$got"
	"$PXLC" check -q "$model" > /dev/null 2>&1 < /dev/null
	code=$?
	if [ $code = 1 ]; then ok; else not_ok "$model: exit $code, not 1"; fi
	[ -n "${BLESS:-}" ] && cp "$got" "$err"
	if diff -u "$err" "$got"; then ok; sed -n "s|^# shows: \(.*\)|shown \1 @$model|p" "$model"; else not_ok "$model"; fi
done
done_here
