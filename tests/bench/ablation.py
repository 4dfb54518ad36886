"""ablation.py [ROW…] — what each of the compiler's passes is worth: step times of some rows with one pass left out, relative to all passes.

Runs with and without alternate, and the quickest fifth of the steps counts.  Passes that do the same at every level cannot be judged
so: of level 0 only `fuse` does more at -O2.  Prints a table and writes $BUILD/ablation.jsonl."""
import json, os, re, sys
import bench, rows as table

ROUNDS, SECONDS = 3, 0.1


def passes():
    with open("compiler/passes/passes.def") as f:
        every = re.findall(r"^PASS\((\w+), *(\d)", f.read(), re.M)
    return [name for name, level in every if level != "0" or name == "fuse"]


def steps_for(row):
    return max(3, min(2000, int(SECONDS * 1e6 / bench.time_pxl(row, 1, 5)["us_p20"])))


def main(args):
    names = [r for r in table.chosen(bench.row_words(args) or table.ABLATED) if os.path.exists(r.model)]
    print(f"{'without':12} " + " ".join(f"{table.name(r):>12}" for r in names))
    with open(os.path.join(bench.BUILD, "ablation.jsonl"), "w") as f:
        steps = {table.name(r): steps_for(r) for r in names}
        for p in passes():
            record = dict(kind="ablation", without=p, rows={})
            for r in names:
                both = [[bench.time_pxl(r, 1, steps[table.name(r)], *off)["us_p20"] for off in ([], ["--no-pass", p])] for _ in range(ROUNDS)]
                with_all, without = (min(column) for column in zip(*both))
                record["rows"][table.name(r)] = dict(us=with_all, without=without, times=without / with_all)
            f.write(json.dumps(record) + "\n")
            f.flush()
            print(f"{p:12} " + " ".join(f"{v['times']:12.2f}" for v in record["rows"].values()), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
