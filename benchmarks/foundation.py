"""The one-pass numbers and the confidence-weighted AUC beside their peers: same rows, same run, one core.

python benchmarks/foundation.py [ROWS] (default 10,000,000). Peers that are not installed are named and skipped."""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import importlib
import sys
import time
import tracemalloc

import numpy as np

from cwcal.metrics.onepass import one_pass
from cwcal.metrics.roc import auc, cw_auc
from cwcal.profile import Profile


def peer(module):
    "The module, or None with a line that says so."
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"{module}: not installed, skipped")
        return None


def timed(calls, rounds):
    "Best processor time of each call over `rounds` rounds, taken in turns; and their values."
    best, values = [float("inf")] * len(calls), [None] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            start = time.process_time()  # one thread: what else runs on the machine does not count
            values[i] = call()
            best[i] = min(best[i], time.process_time() - start)
    return best, values


def extra_memory(call):
    "Peak memory in MB above the level before the call: of the process on Linux, elsewhere as Python traces it."
    status = "/proc/self/status"

    def read(key):
        with open(status) as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith(key))

    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # the high-water mark starts again
        before = read("VmRSS")
        call()
        return max(0.0, read("VmHWM") - before)
    except OSError:
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        return peak


def show(title, ours, theirs, target):
    "ours and theirs: (name, seconds, value, memory in MB); theirs may be None."
    print(f"\n{title}")
    for name, seconds, value, memory in filter(None, (ours, theirs)):
        print(f"  {name:<42} {seconds * 1e3:9.1f} ms   {value:.15f}   {memory:7.1f} MB extra")
    if theirs:
        print(f"  {theirs[1] / ours[1]:.1f} times as fast (target: {target}), values differ by {abs(ours[2] - theirs[2]):.1e}")


def main(rows):
    rng = np.random.default_rng(0)
    relplot, sklearn = peer("relplot"), peer("sklearn.metrics")
    print(f"{rows:,} rows, one core, NumPy {np.__version__}, Python {sys.version.split()[0]}")

    conf = rng.random(rows) / 2 + 0.5
    correct = rng.random(rows) < conf
    p = Profile.from_confidence(correct, conf)
    start = time.perf_counter()
    one_pass(p.subset(slice(0, 10)))
    print(f"first call of one_pass (compiles, or reads its cache): {time.perf_counter() - start:.2f} s")
    calls = [lambda: one_pass(p)] + ([lambda: relplot.metrics.binnedECE(conf, correct, 15)] if relplot else [])
    best, values = timed(calls, 7)
    memory = [extra_memory(call) for call in calls]
    show("CSR, sigma, accuracy, cwA, ECE-15 and Brier in one pass, beside an ECE-15 alone", ("cwcal one_pass (value shown: ECE)", best[0], values[0].ece, memory[0]),
         ("relplot binnedECE", best[1], float(values[1]), memory[1]) if relplot else None, "1, at most 64 MB")

    s = rng.random(rows)
    y = rng.random(rows) < s
    weights = rng.integers(1, 4, rows).astype(float)
    binary, counted = Profile.from_positive(y, s), Profile.from_positive(y, s, sample_weight=weights)
    auc(binary.subset(slice(0, 70_000))), cw_auc(binary.subset(slice(0, 70_000))), cw_auc(counted.subset(slice(0, 70_000)))  # compile
    for title, ours, theirs, target in [
        ("cw_auc, binary", lambda: cw_auc(binary), lambda: sklearn.roc_auc_score(y, s, sample_weight=binary.conf), "5"),
        ("cw_auc, binary, with sample_weight", lambda: cw_auc(counted), lambda: sklearn.roc_auc_score(y, s, sample_weight=binary.conf * weights), "none"),
        ("auc, binary", lambda: auc(binary), lambda: sklearn.roc_auc_score(y, s), "none"),
    ]:
        (mine,), (value,) = timed([ours], 3)
        result, memory = [], extra_memory(ours)
        if sklearn:
            their_memory = extra_memory(lambda: result.append(timed([theirs], 1)))
        show(title, ("cwcal", mine, value, memory), ("scikit-learn roc_auc_score", result[0][0][0], float(result[0][1][0]), their_memory) if result else None, target)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
