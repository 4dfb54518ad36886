# A model from somewhere else at the command line: what is refused, with which exit code and what words, and what the
# user may allow. tests/api/trust_test.c goes through the ways out one by one.
. tests/cli/lib.sh
skip() { echo "skipped: $*"; }
W=$T/world
mkdir -p "$W/model/sub" "$W/here" "$W/other"
echo 'echo yours' > "$W/other/run.sh"
# model FIELD… : a task with these fields
model() {
	{
		printf 'program p() {\n    w = variable([1.0, 2.0], name = "w")\n    w += 1.0\n    host_store(d2h_stream("y", f32[2]), w * 1.0)\n}\n'
		printf 'task train {\n    program = p\n    limit = 1\n'
		printf '    %s\n' "$@"
		printf '}\n'
	} > "$W/model/m.pxl"
}
# in the folder `here`: the model is beside it
run() {
	case $1 in train|run) set -- "$@" --threads 1 --jit tcc ;; esac
	(cd "$W/here" && exec "$PXLC" "$@" -q)
}
unharmed() { [ "$(cat "$W/other/run.sh")" = 'echo yours' ] && [ "$(ls -A "$W/other")" = run.sh ] || { echo "FAILED: something outside has changed: $1"; ls -lA "$W/other"; bad=1; }; }

# the whole text, as it stands in save_outside.err
cp tests/cli/save_outside.pxl "$W/model"
expect 1 run train ../model/save_outside.pxl
check 'the whole text of a refused save' diff tests/cli/save_outside.err "$T/err"

# what lies outside: exit 1, with the place in the model and what can be done
model "save = \"$W/other/x.safetensors\""
expect 1 run train ../model/m.pxl
has 'error[E0708]' err
has 'm.pxl:9:12' err
has 'is out of the model' err
has '--allow-path DIR' err
expect 1 run train ../model/m.pxl --json
has '"code":"E0708"'
for path in "$W/other/run.sh" ../other/x.st ../../etc/x.st .bashrc x.sh "$W/model/m.pxl"; do
	model "save = \"$path\""
	expect 1 run train ../model/m.pxl
	has 'error[E0708]' err
done
unharmed 'a save'
expect 0 "$PXLC" explain E0708
has '--allow-path DIR'
has 'docs/trust.md'

# before the first step, not after the last
model 'save = "no/such/x.st"'
sed -i 's/limit = 1/limit = 1000000000000/' "$W/model/m.pxl"
expect 4 timeout 60 "$PXLC" train "$W/model/m.pxl" --threads 1 --jit tcc -q
has 'cannot write `no/such/x.st`: No such file or directory' err

# both folders are there to be used; one that is allowed as well; what the user names may be any
model "save = \"$W/model/sub/a.st\""
expect 0 run train ../model/m.pxl
check 'in the folder of the model' test -s "$W/model/sub/a.st"
model 'save = "b.st"'
expect 0 run train ../model/m.pxl
check 'in the current folder' test -s "$W/here/b.st"
model "save = \"$W/other/x.st\""
expect 0 run train ../model/m.pxl --allow-path "$W/other"
check 'in the folder that is allowed' rm "$W/other/x.st"
expect 0 run train ../model/m.pxl --allow-path "$W/here" --allow-path ../other
check 'by another name' rm "$W/other/x.st"
expect 1 run train ../model/m.pxl --allow-path "$W/model"
expect 0 run train ../model/m.pxl --save "$W/other/.any"
check 'what the user names' rm "$W/other/.any"
expect 0 run train ../model/m.pxl --save ''
unharmed 'what is allowed'
expect 4 run train ../model/m.pxl --allow-path "$W/nowhere"
has "cannot use the folder \`$W/nowhere\` of --allow-path: No such file or directory" err
expect 4 run train ../model/m.pxl --allow-path "$W/model/m.pxl"
has 'Not a directory' err
expect 2 run train ../model/m.pxl --allow-path

# pipes do not make it wait
mkfifo "$W/here/w.st" "$W/model/x.npy"
model 'weights = "w.st"'
(cd "$W/here" && expect 1 timeout 60 "$PXLC" train ../model/m.pxl && has 'is a pipe' err; exit $bad) || bad=1
expect 4 timeout 60 "$PXLC" train "$W/model/m.pxl" --weights "$W/here/w.st"
has 'not a regular file' err
rm "$W/here/w.st" "$W/model/x.npy"

# native code, modules
printf 'native "../other/run.sh"\n' > "$W/model/n.pxl"
expect 1 run check ../model/n.pxl
has 'E0902' err
expect 1 run check ../model/n.pxl --allow-native
has 'is out of the model' err
printf 'use lib\ny = lib_value\n' > "$W/model/u.pxl"
printf 'lib_value = 1\n' > "$W/other/lib.pxl"
ln -s ../other/lib.pxl "$W/model/lib.pxl"
expect 1 run check ../model/u.pxl
has 'a link leads to' err
expect 0 run check ../model/u.pxl --allow-path ../other
rm "$W/other/lib.pxl" "$W/model/lib.pxl"

# names of streams in a folder that the user gives
printf 'program p() { host_store(d2h_stream("../../other/x", f32[]), variable(1.0) + 1.0) }\n' > "$W/model/s.pxl"
mkdir "$W/here/d"
expect 1 run run ../model/s.pxl --out d
has 'begins with a dot' err
sed -i 's|"\.\./|"a/../|' "$W/model/s.pxl"
expect 0 run run ../model/s.pxl --out d
check 'a name, not a path' test -s "$W/here/d/a%..%..%other%x.npy"
expect 0 run run ../model/s.pxl --out a/../../other/x=d/named.npy
check 'as the user says' test -s "$W/here/d/named.npy"
unharmed 'a stream'

# what lies beside a model that is laid out anew
printf 'x = [1,2]\n' > "$W/model/f.pxl"
chmod 640 "$W/model/f.pxl"
ln -s "$W/other/run.sh" "$W/model/f.pxl.tmp"
expect 0 run fmt ../model/f.pxl
check 'it is laid out' grep -qx 'x = \[1, 2\]' "$W/model/f.pxl"
check 'and keeps its mode' test "$(stat -c %a "$W/model/f.pxl")" = 640
unharmed 'fmt'

# a model from standard input has the current folder
model 'save = "c.st"'
expect 0 sh -c "cd '$W/here' && '$PXLC' train - -q < ../model/m.pxl"
check 'from standard input' test -s "$W/here/c.st"
model "save = \"$W/model/d.st\""
expect 1 sh -c "cd '$W/here' && '$PXLC' train - -q < ../model/m.pxl"
has '<stdin>:9:12' err

# names that are not UTF-8, and long ones; a folder that cannot be written; a medium that cannot
printf 'program p() { host_store(d2h_stream("y", f32[]), variable(1.0) + nosuch) }\n' > "$W/model/$(printf 'a\377b').pxl"
one_object() { python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))' "$T/out" || { echo "FAILED: no JSON of UTF-8: $*"; cat -v "$T/out"; bad=1; }; }
expect 1 "$PXLC" check "$W/model/$(printf 'a\377b').pxl" --json
one_object 'a mistake'
model 'save = "x.st"'
expect 0 "$PXLC" train "$W/model/m.pxl" --save "$W/here/$(printf 'n\377\355\240\200\303\274')" --json
one_object 'what was saved'
has '"saved": "'
expect 4 "$PXLC" train "$W/model/m.pxl" --save "$W/nowhere/$(printf 'n\377')" --json
one_object 'what cannot be saved'
has 'n\\xff' 
long=$(printf '%0250d' 1)
deep=$W/model; while [ ${#deep} -lt 3500 ]; do deep=$deep/$long; done
mkdir -p "$deep"
model 'save = "e.st"'
cp "$W/model/m.pxl" "$deep/m.pxl"
expect 0 run train "$deep/m.pxl"
expect 0 sh -c "cd '$deep' && '$PXLC' train m.pxl -q"
check 'in a deep folder' test -s "$deep/e.st"
expect 4 "$PXLC" train "$deep/$long/$long/$long/m.pxl"
has 'File name too long' err
expect 4 "$PXLC" train "$W/model/$long$long.pxl"
has 'File name too long' err
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2> /dev/null; then
	chmod 755 "$T"
	model 'save = "x.st"'
	expect 4 sh -c "cd '$W/here' && exec setpriv --reuid 65534 --regid 65534 --clear-groups '$PXLC' train ../model/m.pxl -q"
	has 'cannot write `x.st`: Permission denied' err
	mkdir "$W/free" && chmod 777 "$W/free"
	expect 0 sh -c "cd '$W/free' && exec setpriv --reuid 65534 --regid 65534 --clear-groups '$PXLC' train ../model/m.pxl -q"
else
	skip 'a folder that cannot be written: this user cannot become another one'
fi
mkdir "$W/disk"
if mount -t tmpfs -o size=256k none "$W/disk" 2> /dev/null; then
	trap 'umount "$W/disk"; rm -rf "$T"' EXIT
	model 'save = "x.st"'
	cp "$W/model/m.pxl" "$W/disk/m.pxl"
	mount -o remount,ro "$W/disk"
	expect 0 run train "$W/disk/m.pxl"
	check 'beside a model on a medium that cannot be written' test -s "$W/here/x.st"
	expect 4 sh -c "cd '$W/disk' && '$PXLC' train m.pxl -q"
	has 'cannot write `x.st`: Read-only file system' err
else
	skip 'a medium that cannot be written: no file system can be mounted here'
fi
done_here
