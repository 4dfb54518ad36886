"""bench.py [--quick] [ROW…] — pxl against its peers: the same steps, run by run in turn, so that a busy minute befalls all of them.

A ROW is a family ("train") or one row ("train 8").  Peers are those that `make deps-bench` could bring; what each computes is compared
with pxl's own results before it is timed.  Prints a table and writes $BUILD/bench.jsonl, where rows not run this time stay.
Nothing here passes or fails.

`best` is the fastest peer's median over ours, `tuned` the tuned PyTorch's; `quiet` compares the fifth of the steps that were quickest,
which on a busy machine says more."""
import json, os, random, subprocess, sys, time
from collections import namedtuple
import rows as table
from files import write_npy

BUILD, PEERS = os.environ.get("BUILD", "build"), os.environ.get("PXL_PEERS", "build/peers")
HERE, PXLC = os.path.dirname(os.path.abspath(__file__)), os.path.join(BUILD, "pxlc")
RECORDS, SCRATCH = os.path.join(BUILD, "bench.jsonl"), os.path.join(BUILD, "bench")
TOLERANCE = 1e-4
# Memory that glibc once took is kept: without this each large result is faulted in anew, which says nothing about the peer's own code.
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "2147483647", "MALLOC_TOP_PAD_": "67108864"}

Peer = namedtuple("Peer", "name python module script mode env without", defaults=[()])
VENV = os.path.join(PEERS, "bin", "python")
SHIM = os.path.abspath(os.path.join(BUILD, "b", "tuned.so"))
KNOWN = [Peer("eager", VENV, "torch", "peer.py", "eager", KEPT),
         Peer("compile", VENV, "torch", "peer.py", "compile", dict(KEPT, TORCHINDUCTOR_CACHE_DIR=os.path.abspath(os.path.join(BUILD, "inductor")))),
         Peer("stock", "/usr/bin/python3", "torch", "peer.py", "eager", {}),
         Peer("tuned", "/usr/bin/python3", "torch", "peer.py", "eager", dict(KEPT, LD_PRELOAD=SHIM)),
         Peer("jax", VENV, "jax", "peer_jax.py", "jit", KEPT, ("gpt",))]


class Worker:
    """a peer's process; its answer is None where it failed, and always once it has ended"""
    def __init__(self, peer, threads):
        n = str(threads)
        env = dict(os.environ, OMP_NUM_THREADS=n, OPENBLAS_NUM_THREADS=n, PYTHONDONTWRITEBYTECODE="1", **peer.env)
        self.name, self.without, self.log = peer.name, peer.without, open(os.path.join(SCRATCH, f"{peer.name}{n}.log"), "w+")
        self.process = subprocess.Popen([peer.python, os.path.join(HERE, peer.script), peer.mode, n], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def ask(self, **order):
        if not self.process:
            return None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            said = json.loads(answer)
            if "failed" in said:
                print(f"bench: {self.name} failed at {order}: {said['failed']}", file=sys.stderr)
            return said if "failed" not in said else None
        self.log.seek(0)
        print(f"bench: {self.name} ended at {order}: {(self.log.read().strip().splitlines() or ['no word'])[-1]}", file=sys.stderr)
        self.process.wait()
        self.process = None
        return None

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def has(peer):
    if "LD_PRELOAD" in peer.env and not os.path.exists(SHIM):
        return False
    try:
        return not subprocess.run([peer.python, "-c", f"import {peer.module}"], capture_output=True).returncode
    except OSError:
        return False


def pxlc(*args):
    done = subprocess.run([PXLC, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: pxlc {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def model(row):
    return [row.model, "--program", row.program] + [a for s in row.sets for a in ("--set", s)]


def time_pxl(row, threads, steps, *more):
    """what `pxlc bench` says, and how much memory its process took at most"""
    args = [PXLC, "bench", *model(row), "--threads", str(threads), "--steps", str(steps), "--json", *more]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f"bench: {' '.join(args)} failed")
    return dict(json.loads(said), peak_mb=usage.ru_maxrss / 1024)


def draw_inputs(row):
    """files of what the row's streams take, the same every time"""
    r, n = random.Random(1), row.size
    def floats(name, *shape):
        count = 1
        for s in shape:
            count *= s
        path = os.path.join(SCRATCH, name + ".npy")
        write_npy(path, "<f4", shape, (r.uniform(-1, 1) for _ in range(count)))
        return {name: path}
    def ints(name, limit, *shape):
        path = os.path.join(SCRATCH, name + ".npy")
        write_npy(path, "<i4", shape, [r.randrange(limit) for _ in range(shape[0] * (shape[1] if shape[1:] else 1))])
        return {name: path}
    if row.family in ("train", "test"):
        return {**floats("image", n, 28, 28), **ints("label", 10, n)}
    if row.family == "lenet":
        return {**floats("image", n, 1, 28, 28), **ints("label", 10, n)}
    if row.family == "gpt":
        return ints("tokens", 256, n, 129)
    return floats("x", n) if row.family == "chain" else floats("x", n, 1024)


def own_results(row):
    """inputs, weights to begin with, and what pxl makes of them: of training, the losses of two steps"""
    inputs = draw_inputs(row)
    feed = [a for n, p in inputs.items() for a in ("--in", f"{n}={p}")]
    file = lambda name: os.path.join(SCRATCH, f"{row.family}.{name}")
    def run(out, *more):
        stream = {"test": "hits", "train": "loss", "lenet": "loss", "gpt": "loss"}.get(row.family, "y")
        pxlc("run", *model(row), *feed, "--out", f"{stream}={file(out)}", *more)
        return file(out)
    w0, w1 = file("w0.safetensors"), file("w1.safetensors")
    if row.family in ("train", "lenet", "gpt"):
        want = [run("loss0.npy", "--set", "lr=0.0", "--save", w0)]
        run("loss0.npy", "--weights", w0, "--save", w1)
        want.append(run("loss1.npy", "--weights", w1))
    else:
        want = [run("y.npy", "--save", w0)]
    return dict(inputs=inputs, weights=w0, want=want)


def measure(row, threads, peers, options, checks):
    steps = max(3, min(4000, int(options.seconds * 1e6 / time_pxl(row, threads, 5)["us_median"])))
    ready = {w.name: w for w in peers if row.family not in w.without and w.ask(row=row.family, size=row.size)}
    for name, w in ready.items() if checks else ():
        error = w.ask(**checks)
        if error and not error["error"] < TOLERANCE:
            print(f"bench: {name} computes something else in {table.name(row)}: off by {error['error']:.2g}", file=sys.stderr)
    ours, theirs = [], {name: [] for name in ready}
    for _ in range(options.rounds):
        ours.append(time_pxl(row, threads, steps))
        for name, w in ready.items():
            theirs[name].append(w.ask(seconds=options.seconds))
    middle = lambda runs, key: sorted(r[key] for r in runs)[len(runs) // 2]
    return dict(kind="row", row=row.family, size=row.size, threads=threads, us=middle(ours, "us_median"),
                us_p20=min(r["us_p20"] for r in ours), compile_ms=middle(ours, "compile_ms"), peak_bytes=ours[0]["peak_bytes"],
                frame_bytes=ours[0]["frame_bytes"], lower_bound=ours[0]["lower_bound"], peak_mb=middle(ours, "peak_mb"),
                peers={n: middle(r, "us_median") for n, r in theirs.items() if all(r)},
                peers_p20={n: min(x["us_p20"] for x in r) for n, r in theirs.items() if all(r)},
                peers_mb={n: middle(r, "peak_mb") for n, r in theirs.items() if all(r)})


def judged(r, machine):
    """ratios, floor and goal beside what was measured"""
    row = next(x for x in table.ROWS if (x.family, x.size) == (r["row"], r["size"]))
    r["floor_us"] = table.floor_us(row, machine, r["threads"])
    r["goal"] = row.goal[r["threads"] - 1]
    if r["peers"]:
        r["fastest"] = min(r["peers"], key=r["peers"].get)
        r["ratio"] = r["peers"][r["fastest"]] / r["us"]
        r["quiet_ratio"] = min(r["peers_p20"].values()) / r["us_p20"]
    if "tuned" in r["peers"]:
        r["tuned_ratio"] = r["peers"]["tuned"] / r["us"]
        r["met"] = r["tuned_ratio"] / r["goal"]
    return r


def print_row(r):
    times = " ".join(f"{r['peers'].get(p.name, 0):10.1f}" for p in KNOWN)
    met = "-" if "met" not in r else "yes" if r["met"] >= 1 else f"{100 * r['met']:.0f} %"
    print(f"{r['row'] + ' ' + str(r['size']):15} {r['threads']:2} {r['us']:10.1f} {r['floor_us']:9.1f} {times} {r.get('ratio', 0):6.2f} {r.get('quiet_ratio', 0):6.2f} "
          f"{r.get('tuned_ratio', 0):6.2f} {r['goal']:5} {met:>5}", flush=True)


def starts(peers, options):
    """from nothing to the end of the first step of `train 8`, as a user waits for it"""
    row, record = table.chosen(["train 8"])[0], dict(kind="start", peers={}, rounds=options.rounds)
    feed = [a for n, p in draw_inputs(row).items() for a in ("--in", f"{n}={p}")]
    times = []
    for _ in range(options.rounds):
        begin = time.perf_counter()
        pxlc("run", *model(row), *feed)
        times.append(time.perf_counter() - begin)
    record["ms"] = sorted(times)[len(times) // 2] * 1e3
    for peer in peers:
        begin = time.perf_counter()
        w = Worker(peer, 1)
        if w.ask(row=row.family, size=row.size):
            record["peers"][peer.name] = (time.perf_counter() - begin) * 1e3
        w.close()
    print("start to the end of the first step of train 8, ms: pxl %.0f, %s" %
          (record["ms"], ", ".join(f"{n} {ms:.0f}" for n, ms in record["peers"].items())))
    return record


def describe_machine():
    def first(path, key):
        with open(path) as f:
            return next((line.split(":")[1].strip() for line in f if line.startswith(key)), "?")
    def cache(level):
        try:
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size") as f:
                return f.read().strip()
        except OSError:
            return "?"
    flags = first("/proc/cpuinfo", "flags").split()
    return dict(kind="machine", cpu=first("/proc/cpuinfo", "model name"), cores=os.cpu_count(), kernel=os.uname().release,
                flags=[f for f in ("avx2", "fma", "avx512f", "avx512_bf16") if f in flags], l1d=cache(0), l2=cache(2), l3=cache(3),
                cc=subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout.splitlines()[0],
                commit=subprocess.run(["git", "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True).stdout.strip(),
                date=time.strftime("%Y-%m-%d"), load=os.getloadavg()[0], **json.loads(subprocess.run([os.path.join(BUILD, "b", "machine")],
                                                                          capture_output=True, text=True).stdout))


def key(r):
    return r["kind"], r.get("row"), r.get("size"), r.get("threads")


def keep(new):
    """records of this run in the place of their predecessors"""
    old = []
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            old = [json.loads(line) for line in f]
    fresh = {key(r) for r in new}
    kept = [r for r in old if "kind" in r and key(r) not in fresh]
    with open(RECORDS + ".new", "w") as f:
        for r in kept + new:
            f.write(json.dumps(r) + "\n")
    os.replace(RECORDS + ".new", RECORDS)


def row_words(args):
    """`train test` asks for two families, `train 8` for one row: a number belongs to the word before it"""
    words = []
    for a in args:
        if a.isdigit() and words:
            words[-1] += " " + a
        else:
            words.append(a)
    return words


def main(args):
    quick = "--quick" in args
    options = namedtuple("Options", "rounds seconds")(1, 0.05) if quick else namedtuple("Options", "rounds seconds")(5, 0.25)
    words = row_words([a for a in args if a != "--quick"])
    wanted = [r for r in table.chosen(words) if os.path.exists(r.model)]
    if not wanted:
        sys.exit(f"bench: no row {' '.join(words)}; there are: {', '.join(map(table.name, table.ROWS))}")
    os.makedirs(SCRATCH, exist_ok=True)
    present = [p for p in KNOWN if has(p)]
    for p in KNOWN:
        if p not in present:
            print(f"bench: no peer {p.name}: {p.python} has no {p.module} (make deps-bench)", file=sys.stderr)
    if quick:
        wanted = [r for r in wanted if words or r.bytes < 1 << 24 and r.size != 512]
        present = [p for p in present if p.name in ("eager", "tuned")]
    machine, records, checks = describe_machine(), [], {}
    machine["peers"] = versions(present)
    if machine["load"] > 0.5:
        print(f"bench: the machine is busy (load {machine['load']:.1f}): medians mislead", file=sys.stderr)
    print(f"{machine['cpu']}, {machine['cores']} cores; peak {machine['gflops']} GFLOP/s, DRAM {machine['dram_read']} GB/s read, by 1 and 2 threads")
    print(f"{'row':15} th     pxl us  floor us " + " ".join(f"{p.name:>10}" for p in KNOWN) + "   best  quiet  tuned  goal   met")
    for threads in (1, 2):
        workers = [Worker(p, threads) for p in present]
        for row in wanted:
            check = None
            if row.family not in checks and row.size <= 65536:
                check = checks[row.family] = own_results(row)
            records.append(judged(measure(row, threads, workers, options, check), machine))
            print_row(records[-1])
            keep([machine] + records)           # one that is stopped has what it measured
        for w in workers:
            w.close()
    if not quick:
        keep([machine] + records + [starts(present, options)])


def versions(peers):
    said = {}
    for p in peers:
        code = f"import {p.module}; print({p.module}.__version__)"
        said[p.name] = subprocess.run([p.python, "-c", code], capture_output=True, text=True).stdout.strip()
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
