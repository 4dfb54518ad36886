"""performance.py FILE — writes what was measured into the tables of docs/performance.md; the words around them are by hand.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`; it is made from $BUILD/bench.jsonl (`make bench`), ablation.jsonl
(`make bench-ablation`) and count.jsonl (`make count`).  What was not measured leaves its table as it is."""
import json, os, re, sys

BUILD = os.environ.get("BUILD", "build")
PEERS = ("eager", "compile", "stock", "tuned", "jax")


def records(name):
    path = os.path.join(BUILD, name)
    if not os.path.exists(path):
        return []
    with open(path) as f:
        all = [json.loads(line) for line in f]
    return [r for r in all if isinstance(r, dict)]


def of_kind(all, kind):
    return [r for r in all if r.get("kind") == kind]


def us(x):
    return "-" if x is None else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def times(x):
    return "-" if x is None else f"{x:.2f}"


def table(head, rows):
    """columns as wide as their widest cell; the first to the left, numbers to the right"""
    cells = [head] + rows
    wide = [max(len(r[i]) for r in cells) for i in range(len(head))]
    line = lambda r: "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, wide))) + " |"
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(wide)) + "|"
    return "\n".join([line(head), rule] + [line(r) for r in rows])


def machine(bench, _, __):
    m = of_kind(bench, "machine")[-1]
    peers = {"eager": "current PyTorch", "stock": "Debian's PyTorch", "jax": "JAX"}
    known = ", ".join(f"{peers[p]} {v}" for p, v in m["peers"].items() if p in peers)
    pair = lambda key: " and ".join(f"{x:.0f}" for x in m[key])
    busy = f" The machine was busy meanwhile: its load was {m['load']:.1f} at the start." if m["load"] > 0.5 else ""
    return (f"Measured on {m['date']} at commit {m['commit']}: {m['cores']} cores of {m['cpu']} ({', '.join(m['flags'])}), caches {m['l1d']} L1, "
            f"{m['l2']} L2, {m['l3']} L3, Linux {m['kernel']}, {m['cc']}. Peers: {known}.{busy}\n\n"
            f"What one and two threads of it can do (`tests/bench/machine.c`): {pair('gflops')} GFLOP/s; reading {pair('l2_read')} GB/s from L2, "
            f"{pair('l3_read')} from L3, {pair('dram_read')} from memory; copying in memory {pair('dram_copy')}, both ways counted.")


def by_size(bench):
    return sorted(of_kind(bench, "row"), key=lambda r: (FAMILIES.index(r["row"]), r["size"], r["threads"]))


FAMILIES = ["train", "test", "lenet", "gpt", "chain", "soft", "norm"]


def rows(bench, _, __):
    out = []
    for r in by_size(bench):
        met = "-" if "met" not in r else "yes" if r["met"] >= 1 else f"{100 * r['met']:.0f} %"
        out.append([f"{r['row']} {r['size']}", str(r["threads"]), us(r["us"]), us(r["floor_us"])] + [us(r["peers"].get(p)) for p in PEERS] +
                   [times(r.get("ratio")), times(r.get("quiet_ratio")), times(r.get("tuned_ratio")), f"{r['goal']:g}", met])
    return table(["row", "threads", "pxl", "floor", "eager", "compile", "stock", "tuned", "JAX", "fastest / pxl", "quiet", "tuned / pxl", "goal", "met"], out)


def memory(bench, _, __):
    one, two = ({(r["row"], r["size"]): r for r in of_kind(bench, "row") if r["threads"] == n} for n in (1, 2))
    out = []
    for r in by_size(bench):
        if r["threads"] == 2:
            continue
        both = two.get((r["row"], r["size"]))
        fastest = r["peers_mb"].get(r.get("fastest"))
        out.append([f"{r['row']} {r['size']}", times(r["us"] / both["us"] if both else None), f"{r['compile_ms']:.1f}"] + [f"{r[k] / 2**20:.2f}" for k in ("lower_bound", "frame_bytes", "peak_bytes")] +
                   [f"{r['peak_mb']:.0f}", us(fastest)])
    return table(["row", "2 threads", "compile ms", "must live MB", "frame MB", "with variables MB", "process MB", "fastest peer's MB"], out)


def start(bench, _, __):
    r = of_kind(bench, "start")[-1]
    return table(["", "ms"], [["pxlc run", us(r["ms"])]] + [[p, us(ms)] for p, ms in r["peers"].items()])


def ablation(_, ablation, __):
    names = list(ablation[0]["rows"])
    return table(["without"] + names, [[r["without"]] + [times(r["rows"][n]["times"]) for n in names] for r in ablation])


def counts(_, __, count):
    return table(["row", "with", "instructions of a step"], [[r["row"], r["set"], f"{r['instructions']:,}"] for r in count])


def write(path):
    sources = [records(n) for n in ("bench.jsonl", "ablation.jsonl", "count.jsonl")]
    with open(path) as f:
        text = f.read()
    for name, make, source in (("machine", machine, 0), ("rows", rows, 0), ("memory", memory, 0), ("start", start, 0),
                               ("ablation", ablation, 1), ("counts", counts, 2)):
        kind = "row" if name in ("rows", "memory") else name
        measured = sources[source] and (source or of_kind(sources[0], kind))
        if not measured:
            print(f"performance.py: {name} was not measured: its table stays", file=sys.stderr)
            continue
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if begin not in text or end not in text:
            sys.exit(f"performance.py: {path} has no place for {name}")
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + make(*sources) + "\n" + end, text, flags=re.S)
    with open(path, "w") as f:
        f.write(text)


def main(path):
    try:
        write(path)
    except (ValueError, KeyError, TypeError, IndexError) as e:
        sys.exit(f"performance.py: what was measured in {BUILD} is damaged, or by an older version: measure it anew ({type(e).__name__}: {e})")


if __name__ == "__main__":
    main(sys.argv[1])
