"""T-Cal's adaptive test and TCE beside what one would write without cwcal, in one run on one core.

T-Cal: 1000 draws by cwcal against the naive twin (one sort a level and draw), timed on 20 draws and scaled.
TCE: all rows by cwcal against one scipy.stats.binomtest a row with cwcal's bins, timed on 100 rows and scaled.
"""
import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import numpy as np  # noqa: E402
from scipy.stats import binomtest  # noqa: E402

from cwcal.metrics.tcal import t_cal_test  # noqa: E402
from cwcal.metrics.tce import tce, tce_bins  # noqa: E402
from cwcal.profile import Profile  # noqa: E402
from tests.naive import tcal as naive  # noqa: E402


def seconds(call, repeats=1):
    "Best of `repeats` runs, in processor time: the machine may be shared."
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def calibrated(n, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return Profile.from_event(rng.random(n) < score, score)


def main():
    small = calibrated(100)
    t_cal_test(small, random_state=0), tce(small)  # compile
    print("| | rows | cwcal, s | naive, s (scaled) | ratio | to reach |\n|---|---|---|---|---|---|")
    for n, limit in ((10_000, 0.25), (100_000, 2.5)):
        p = calibrated(n)
        ours = seconds(lambda: t_cal_test(p, n_sims=1000, random_state=0), 3)
        slow = 50 * seconds(lambda: naive.null_statistics_numpy(p.conf, 20, np.random.default_rng(0)))
        print(f"| T-Cal, 1000 draws | {n} | {ours:.3f} | {slow:.1f} | {slow / ours:.0f} | {limit} s: {'yes' if ours <= limit else 'NO'} |")
    n = 100_000
    p = calibrated(n)
    rows = np.random.default_rng(1).integers(0, n, 100)
    for options in (dict(), dict(n_min=n // 20, n_max=n // 5), dict(strategy="quantile")):
        found = tce_bins(p, **options)
        of = np.searchsorted(found.low, p.conf[rows], side="right") - 1
        tests = [(int(found.right[j]), int(found.rows[j]), float(c)) for j, c in zip(of, p.conf[rows])]
        ours = seconds(lambda: tce(p, **options), 3)
        slow = n / len(tests) * seconds(lambda: [binomtest(*t).pvalue for t in tests])
        label = ", ".join(f"{k}={v}" for k, v in options.items()) or "(10, 1000)"
        print(f"| TCE {label} | {n} | {ours:.3f} | {slow:.1f} | {slow / ours:.0f} | 100 times: {'yes' if slow >= 100 * ours else 'NO'} |")


if __name__ == "__main__":
    main()
