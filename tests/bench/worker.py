"""worker.py — a peer of `make bench` is one process that stays, so that its library is loaded once.

Every line of input is a JSON object, answered by one line:
  {"row": R, "size": N}    makes the row's step and takes the first: {"first_ms", "version"}
  {"seconds": S}           times steps for so long: {"us_median", "us_p20", "us_p80", "steps", "peak_mb"}
  {"inputs": {name: F.npy}, "weights": F, "want": [F.npy]}
                           what the step gives from there, and how far that is from what pxl gave: {"error"}
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


def serve(make, difference, version):
    """make(row, size) gives an object with step(), outputs() and load(weights, inputs); difference(got, numbers) is relative"""
    work = None
    for line in sys.stdin:
        order = json.loads(line)
        if "row" in order:
            reset_peak()
            start = time.perf_counter()
            work = make(order["row"], order["size"])
            work.step()
            answer = dict(first_ms=(time.perf_counter() - start) * 1e3, version=version)
        elif "seconds" in order:
            timed(work.step, order["seconds"] / 10)
            answer = timed(work.step, order["seconds"])
        else:
            weights = read_safetensors(order["weights"])
            work.load(weights, {n: read_npy(p) for n, p in order["inputs"].items()})
            answer = dict(error=max(difference(g, read_npy(w)[1]) for g, w in zip(work.outputs(), order["want"])))
        print(json.dumps(answer), flush=True)
