# new_op_test.sh — docs/new_op.md, followed to the letter in a copy of the tree: its blocks are put where it says, what
# changes is built, and the model prints what the page prints.
root=$PWD
case ${BUILD:=build} in /*) ;; *) BUILD=$root/$BUILD ;; esac
case $BUILD in */san) exit 0 ;; esac          # its objects want flags that this does not pass on
T=$(mktemp -d "${TMPDIR:-/tmp}/new_op.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
mkdir "$T/build"
cp -a Makefile compiler lang runtime tools docs "$T" && mkdir "$T/tests" && cp -a tests/tests.mk "$T/tests" || exit 1
cp -a "$BUILD/o" "$BUILD/gen" "$T/build" || exit 1
awk -v dir="$T" '
	/^Append to `|^Save as `/ { split($0, part, "`"); file = dir "/" part[2]; add = /^Append/ }
	/^```$/ { inside = 0; next }
	/^```text$/ { inside = 1; file = dir "/want"; next }
	/^```/ { if (file == "") { print "a block that goes nowhere: line " NR; bad = 1; exit 1 } inside = 1; next }
	inside { if (file in seen || add) print >> file; else print > file; seen[file] = 1 }
	END { exit bad }' docs/new_op.md || exit 1
cd "$T" || exit 1
grep -q softsign compiler/ops/ops.def && ! grep -q softsign "$root/compiler/ops/ops.def" || { echo "the page was not applied"; exit 1; }
# unoptimised: what is built is thrown away
env -u BUILD -u MAKEFLAGS -u MAKELEVEL make -s -j2 CC="${CC:-gcc}" CFLAGS=-O0 build/pxlc > log 2>&1 || { tail -20 log; exit 1; }
! grep -i warning log || exit 1
build/pxlc run softsign.pxl > got || exit 1
diff -u want got || exit 1
build/pxlc ops softsign | grep -q 'between -1 and 1' || { echo "no page"; exit 1; }
