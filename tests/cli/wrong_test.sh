# Every model in tests/wrong is refused with exit 1 and exactly the text in its .err (BLESS=1 rewrites it).
. tests/cli/lib.sh
n=0
# one MODEL COMMAND…
one() {
	model=$1 err=${1%.pxl}.err
	shift
	"$PXLC" "$@" "$model" > "$T/out" 2> "$T/err" < /dev/null
	got=$?
	[ $got = 1 ] || { echo "FAILED: $model exits $got"; head -n 5 "$T/err"; bad=1; }
	if [ "${BLESS:-}" = 1 ]; then cp "$T/err" "$err"; fi
	if diff -u "$err" "$T/err"; then ok; sed -n "s|^# shows: \(.*\)|shown \1 @$model|p" "$model"; else not_ok "$model"; fi
}
for f in tests/wrong/*.pxl; do one "$f" check; n=$((n + 1)); done
for f in tests/wrong/tasks/*.pxl; do one "$f" train --save ''; one "$f" check; n=$((n + 1)); done

# shapes of text that no file need hold: made here
mkdir "$T/made"
printf 'program p() {\n    x = %s1%s\n}\n' "$(printf '%5000s' | tr ' ' '(')" "$(printf '%5000s' | tr ' ' ')')" > "$T/made/deep.pxl"
printf 'program p() {\n    x = %s1\n}\n' "$(printf '%20000s' | tr ' ' '-')" > "$T/made/minus.pxl"
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "%c", (i * 37 + 11) % 256 }' > "$T/made/junk.pxl"
{ printf 'program p() { x = '; awk 'BEGIN { for (i = 0; i < 250000; i++) printf "1 + " }'; echo 'nosuch }'; } > "$T/made/long.pxl"
head -c 100000 /dev/zero > "$T/made/zeros.pxl"
printf '\377\376program p() {}\n' > "$T/made/bom.pxl"
for f in "$T"/made/*.pxl; do
	"$PXLC" check "$f" > "$T/out" 2> "$T/err" < /dev/null
	got=$?
	n=$((n + 1))
	[ $got = 1 ] && [ -s "$T/err" ] && [ "$(wc -c < "$T/err")" -lt 20000 ] || { echo "FAILED: $(basename "$f") exits $got, says $(wc -c < "$T/err") bytes"; head -c 500 "$T/err"; bad=1; }
done
check 'every message names a file, a line and a column' test -z "$(grep -LE '\.pxl:[0-9]+:[0-9]+' tests/wrong/*.err tests/wrong/tasks/*.err)"
shows A7
[ $n -ge 40 ] || { echo "FAILED: only $n wrong models"; bad=1; }
done_here
