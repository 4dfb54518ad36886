#!/bin/sh
# `make count` sets what is counted beside what the page has, and fails where nothing was counted. Valgrind is played by a script.
. tests/cli/lib.sh
mkdir "$T/bin" "$T/b"
cat > "$T/bin/valgrind" <<'END'
#!/bin/sh
[ "$REFUSE" ] && { echo 'valgrind: no such model'; exit 1; }
echo '==1== I   refs:      1,100,000'
END
chmod +x "$T/bin/valgrind"
cat > "$T/page.md" <<'END'
| row   |     with | instructions of a step |
|-------|---------:|-----------------------:|
| train |  batch=8 |              1,000,000 |
| chain |   n=4096 |              4,400,000 |
END
expect 0 env BUILD="$T" PATH="$T/bin:$PATH" sh tests/bench/count.sh "$T/page.md"
check 'before, now and their ratio' grep -Eq '^train +batch=8 +1000000 +1100000 +1\.100$' "$T/out"
check 'of its own row' grep -Eq '^chain +n=4096 +4400000 +1100000 +0\.250$' "$T/out"
check 'what the page does not have' grep -Eq '^train +batch=32 +- +1100000 +-$' "$T/out"
check 'a record for each' test "$(grep -c '"instructions": 1100000}' "$T/count.jsonl")" = "$(($(wc -l < "$T/out") - 1))"
expect 1 env BUILD="$T" PATH="$T/bin:$PATH" REFUSE=1 sh tests/bench/count.sh "$T/page.md"
has 'train batch=8: not counted'
has 'valgrind: no such model'
done_here
