"""worker.py — a peer of `make bench` is one process that stays, so that its library is loaded once.

Every line of input is a JSON object, answered by one line:
  {"row": R, "size": N}    makes the row's step and takes the first: {"first_ms", "version"}
  {"seconds": S}           times steps for so long: {"us_median", "us_p20", "us_p80", "steps", "peak_mb"}
  {"inputs": {name: F.npy}, "weights": F, "want": [F.npy]}
                           what the step gives from there, and how far that is from what pxl gave: {"error"}
What fails is answered with {"failed": why}.
"""
import json, sys, time
from files import read_npy, read_safetensors


def peak_mb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def timed(step, seconds):
    us, end = [], time.perf_counter() + seconds
    while len(us) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        us.append((time.perf_counter() - start) * 1e6)
    us.sort()
    return dict(us_median=us[len(us) // 2], us_p20=us[len(us) // 5], us_p80=us[len(us) * 4 // 5], steps=len(us), peak_mb=peak_mb())


def answer(work, order, difference):
    if "seconds" in order:
        timed(work.step, order["seconds"] / 10)
        return timed(work.step, order["seconds"])
    work.load(read_safetensors(order["weights"]), {n: read_npy(p) for n, p in order["inputs"].items()})
    return dict(error=max(difference(g, read_npy(w)[1]) for g, w in zip(work.outputs(), order["want"])))


def serve(make, difference, version):
    """make(row, size) gives an object with step(), outputs() and load(weights, inputs); difference(got, numbers) is relative"""
    work = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if "row" in order:
                reset_peak()
                start = time.perf_counter()
                work = make(order["row"], order["size"])
                work.step()
                said = dict(first_ms=(time.perf_counter() - start) * 1e3, version=version)
            else:
                said = answer(work, order, difference)
        except Exception as e:                  # one row that a peer can't do must not cost the others
            said = dict(failed=f"{type(e).__name__}: {e}".splitlines()[0])
        print(json.dumps(said), flush=True)
