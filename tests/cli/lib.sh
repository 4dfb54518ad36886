# lib.sh — what the command-line tests share; sourced, not run.
B=${BUILD:-build}
PXLC=$PWD/$B/pxlc
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0 passed=0 failed=0 last=failed

# every check goes through these two; `last` is what the latest one found
ok() { passed=$((passed + 1)) last=passed; }
not_ok() { failed=$((failed + 1)) last=failed bad=1; echo "FAILED: $*"; }
# shows RULE… : the check just before it shows these rules of the specification
shows() { [ $last = failed ] || for rule in "$@"; do echo "shown $rule @$0"; done; }

# check TEXT COMMAND… : the command succeeds
check() {
	what=$1; shift
	if "$@"; then ok; else not_ok "$what"; fi
}
# expect CODE COMMAND… : the command exits with CODE; its output is in $T/out and $T/err
expect() {
	want=$1; shift
	"$@" > "$T/out" 2> "$T/err" < /dev/null
	got=$?
	if [ "$got" = "$want" ]; then ok; else not_ok "exit $got, expected $want: $*"; head -n 20 "$T/out" "$T/err"; fi
}
# the text is, or is not, in $T/out or another file there
has() { if grep -qF -- "$1" "$T/${2:-out}"; then ok; else not_ok "no \`$1\` in ${2:-out}:"; head -n 20 "$T/${2:-out}"; fi; }
hasnt() { if grep -qF -- "$1" "$T/${2:-out}"; then not_ok "\`$1\` in ${2:-out}:"; head -n 20 "$T/${2:-out}"; else ok; fi; }
# skip WHY : ends a test that this machine cannot run
skip() { echo "$*"; exit 77; }
# the end of a test
done_here() {
	[ $bad = 0 ] || [ $failed != 0 ] || failed=1
	echo "checks $passed passed, $failed failed"
	exit $bad
}
