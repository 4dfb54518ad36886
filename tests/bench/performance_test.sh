#!/bin/sh
# The page on speed is made from what was measured: tables change, words stay, and what was not measured keeps its table.
. tests/cli/lib.sh
command -v python3 > /dev/null || skip 'there is no python3'

cat > "$T/bench.jsonl" <<'END'
{"kind": "machine", "cpu": "CPU", "cores": 2, "kernel": "6", "flags": ["avx2"], "l1d": "32K", "l2": "1M", "l3": "32M", "cc": "cc 1", "commit": "abc", "date": "2000-01-01", "load": 0.1, "gflops": [100, 200], "l2_read": [90, 180], "l3_read": [50, 90], "dram_read": [20, 30], "dram_copy": [10, 20], "peers": {"eager": "9.9"}}
{"kind": "row", "row": "train", "size": 8, "threads": 1, "us": 400.0, "compile_ms": 1.5, "peak_bytes": 2097152, "frame_bytes": 1048576, "lower_bound": 1048576, "peak_mb": 30, "peers": {"eager": 800.0, "tuned": 1000.0}, "peers_mb": {"eager": 600}, "floor_us": 333, "goal": 2.1, "fastest": "eager", "ratio": 2.0, "quiet_ratio": 1.9, "tuned_ratio": 2.5, "met": 1.19}
{"kind": "row", "row": "train", "size": 8, "threads": 2, "us": 250.0, "compile_ms": 1.5, "peak_bytes": 2097152, "frame_bytes": 1048576, "lower_bound": 1048576, "peak_mb": 30, "peers": {}, "peers_mb": {}, "floor_us": 160, "goal": 2.5}
END
{
	echo 'Words before.'
	for name in machine rows memory start ablation counts; do printf '<!-- %s -->\nold %s\n<!-- /%s -->\n' $name $name $name; done
	echo 'Words after.'
} > "$T/page.md"
expect 0 env BUILD="$T" python3 -B tests/bench/performance.py "$T/page.md"
has 'ablation was not measured' err
cp "$T/page.md" "$T/out"
has 'Words before.'
has 'Words after.'
has '2 cores of CPU (avx2)'
has '| train 8 |       1 | 400 |   333 |   800 |       - |     - |  1000 |   - |          2.00 |  1.90 |        2.50 |  2.1 | yes |'
has '| train 8 |       2 | 250 |'
has '|      1.60 |'
has 'old ablation'
has 'old start'
hasnt 'old rows'
cp "$T/page.md" "$T/once.md"
expect 0 env BUILD="$T" python3 -B tests/bench/performance.py "$T/page.md"
check 'made twice it is the same' cmp "$T/once.md" "$T/page.md"

# what is damaged, or of an older version, leaves the page alone and says what to do
for line in 'x{' '{"kind": "machine"}' '{"kind": "row", "row": "gone", "size": 1, "threads": 1}' '{"kind": "row", "row": "train"}'; do
	echo "$line" > "$T/bench.jsonl"
	expect 1 env BUILD="$T" python3 -B tests/bench/performance.py "$T/page.md"
	has 'measure it anew' err
done
echo '{}' > "$T/bench.jsonl"
expect 0 env BUILD="$T" python3 -B tests/bench/performance.py "$T/page.md"
has 'rows was not measured' err
check 'the page is as it was' cmp "$T/once.md" "$T/page.md"

# floors: work over the machine's peak, bytes over the speed of the memory that holds them
cat > "$T/floor.py" <<'END'
import sys
sys.path.insert(0, "tests/bench")
from rows import ROWS, chosen, floor_us
m = dict(gflops=[100, 200], l2_read=[90, 180], l2_copy=[90, 180], l3_read=[50, 100], l3_copy=[50, 100], dram_read=[20, 40], dram_copy=[20, 40])
assert round(floor_us(chosen(["train 8"])[0], m, 1)) == 383 and round(floor_us(chosen(["train 8"])[0], m, 2)) == 191
assert round(floor_us(chosen(["soft"])[0], m, 1)) == 1678 and round(floor_us(chosen(["chain 4096"])[0], m, 1), 2) == 0.55
assert len(chosen(["train"])) == 4 and len(chosen([])) == len(ROWS) and not chosen(["nothing"])
END
expect 0 python3 -B "$T/floor.py"
done_here
