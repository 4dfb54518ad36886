# new_op_test.sh — docs/new_op.md, followed to the letter in a copy of the tree: its blocks are put where it says, what
# changes is built, and the model prints what the page prints.
root=$PWD
case ${BUILD:=build} in /*) ;; *) BUILD=$root/$BUILD ;; esac
case $BUILD in */san|*/tsan) echo 'objects built with sanitizers need flags that this test does not pass on'; exit 77 ;; esac
T=$(mktemp -d "${TMPDIR:-/tmp}/new_op.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
mkdir "$T/build"
cp -a Makefile compiler lang runtime tools docs "$T" && mkdir "$T/tests" && cp -a tests/tests.mk "$T/tests" || exit 1
cp -a "$BUILD/o" "$BUILD/gen" "$T/build" || exit 1
awk -v dir="$T" '
	# a row goes behind its line of the file, which is written anew
	function insert(file, line, row,   text, here, found) {
		while ((getline here < file) > 0) {
			text = text here "\n"
			if (here == line && !found++) text = text row
		}
		close(file)
		if (found != 1) { print "no line `" line "` in " file; exit 1 }
		printf "%s", text > file
		close(file)
	}
	/^Append to `|^Save as `|^Insert into `/ { split($0, part, "`"); file = dir "/" part[2]; add = /^Append/; line = /^Insert/ ? part[4] : "" }
	/^```$/ { if (line != "") insert(file, line, row); if (want) close(file); inside = want = 0; line = row = ""; next }
	/^```text$/ { inside = want = 1; file = dir "/want" ++page; next }
	/^```/ { if (file == "") { print "a block that goes nowhere: line " NR; bad = 1; exit 1 } inside = 1; next }
	inside && line != "" { row = row $0 "\n"; next }
	inside { if (file in seen || add) print >> file; else print > file; seen[file] = 1 }
	END { exit bad }' docs/new_op.md || exit 1
cd "$T" || exit 1
grep -q cbrt runtime/pxlrt.h && ! grep -q cbrt "$root/runtime/pxlrt.h" && [ $(diff "$root/runtime/pxlrt.h" runtime/pxlrt.h | grep -c '^[<>]') = 1 ] || { echo "the row was not put in"; exit 1; }
grep -q softsign compiler/ops/ops.def && ! grep -q softsign "$root/compiler/ops/ops.def" || { echo "the page was not applied"; exit 1; }
# unoptimised, the kernels too: what is built is thrown away
env -u BUILD -u MAKEFLAGS -u MAKELEVEL make -s -j2 CC="${CC:-gcc}" CFLAGS=-O0 KFLAGS= build/pxlc > log 2>&1 || { tail -20 log; exit 1; }
! grep -i warning log || exit 1
n=0
for model in softsign side; do
	n=$((n + 1))
	for jit in tcc cc; do
		build/pxlc run $model.pxl --jit $jit > got || exit 1
		diff -u want$n got || exit 1
	done
done
build/pxlc ops softsign | grep -q 'between -1 and 1' || { echo "no page"; exit 1; }
echo 'checks 1 passed, 0 failed'
