# lib.sh — what the command-line tests share; sourced, not run.
B=${BUILD:-build}
PXLC=$PWD/$B/pxlc
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0

# check TEXT COMMAND… : the command succeeds
check() {
	what=$1; shift
	if "$@"; then :; else echo "FAILED: $what"; bad=1; fi
}
# expect CODE COMMAND… : the command exits with CODE; its output is in $T/out and $T/err
expect() {
	want=$1; shift
	"$@" > "$T/out" 2> "$T/err" < /dev/null
	got=$?
	if [ "$got" != "$want" ]; then
		echo "FAILED: exit $got, expected $want: $*"
		head -n 20 "$T/out" "$T/err"
		bad=1
	fi
}
has() { grep -qF -- "$1" "$T/${2:-out}" || { echo "FAILED: no \`$1\` in ${2:-out}:"; head -n 20 "$T/${2:-out}"; bad=1; }; }
hasnt() { if grep -qF -- "$1" "$T/${2:-out}"; then echo "FAILED: \`$1\` in ${2:-out}"; head -n 20 "$T/${2:-out}"; bad=1; fi; }
done_here() { [ $bad = 0 ] && for r in "$@"; do echo "shown $r @$0"; done; exit $bad; }
