# check_test.sh — `pxlc check` on every tests/lang/x.pxl that has an x.err: exit 1, and the whole text as it stands
# there.  Mistakes of every phase live here; parse_test.c looks at those of the text alone.
root=$PWD bad=0
case ${BUILD:=build} in /*) ;; *) BUILD=$root/$BUILD ;; esac
got=$BUILD/log/check_err
mkdir -p "$BUILD/log"
cd tests/lang || exit 1
for err in *.err; do
	model=${err%.err}.pxl
	"$BUILD/pxlc" check --max-errors 1000 "$model" 2>&1 < /dev/null | sed '/^[0-9]* errors$/d' > "$got"
	"$BUILD/pxlc" check -q "$model" > /dev/null 2>&1 < /dev/null
	code=$?
	[ $code -eq 1 ] || { echo "$model: exit $code, not 1"; bad=1; }
	[ -n "${BLESS:-}" ] && cp "$got" "$err"
	if diff -u "$err" "$got"; then sed -n "s|^# shows: \(.*\)|shown \1 @$model|p" "$model"; else bad=1; fi
done
exit $bad
