"""ECD's test, and the cumulative calibration error beside probcal: one process, one core, the two taking turns.

Peers live in an environment of their own:
    python -m venv peers && peers/bin/pip install probcal==0.4.0 numba scipy narwhals
    PYTHONPATH=. peers/bin/python benchmarks/comparison_scores.py
Without probcal its column stays empty. Times are processor seconds of the process, so that a busy machine does not count; the first call of each is a warm-up.
"""
import argparse

from pairing import paired  # sets one thread before numpy starts

import numpy as np

from cwcal.metrics.cumulative import ecce_test
from cwcal.metrics.ecd import ecd_test
from cwcal.profile import Profile


def main(n_ecd=1_000_000, n_ecce=10_000_000, repeats=5, limits=True):
    try:
        from probcal import metrics as probcal
    except ImportError:
        probcal = None
    rng = np.random.default_rng(0)

    c = rng.uniform(0.5, 1, n_ecd)
    p = Profile.from_confidence(rng.random(n_ecd) < c, c)
    _, (closed, _) = paired(lambda: ecd_test(p), None, 4 * repeats)
    print(f"ECD test, closed form       n = {n_ecd:.0e}  {1e3 * closed:8.1f} ms   (limit 30 ms)")
    if limits:
        assert closed < 0.030

    small = p.subset(slice(10_000))
    _, (simulated, _) = paired(lambda: ecd_test(small, method="bootstrap", random_state=0), None, 1)
    print(f"ECD test, 5000 simulations  n = {small.n:.0e}  {1e3 * simulated:8.1f} ms")

    for name, c in (("distinct", rng.random(n_ecce)), ("1001 values", rng.integers(0, 1001, n_ecce) / 1000)):
        y = rng.random(n_ecce) < c
        p, as_float = Profile.from_event(y, c), y.astype(float)
        values, times = paired(lambda: ecce_test(p), probcal and (lambda: probcal.ecce(as_float, c)), repeats)
        print(f"ECCE-MAD, {name:17s} n = {n_ecce:.0e}  {times[0]:8.2f} s", end="")
        if probcal:
            print(f"    probcal 0.4.0 (no p-value) {times[1]:8.2f} s    {times[1] / times[0]:.1f} times as long   (limit 5)")
            assert abs(values[0].statistic - values[1].stat_max) < 1e-9
            if limits and name == "distinct":
                assert times[1] >= 5 * times[0]
        else:
            print("    probcal is not installed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows, no limits: does it run?")
    main(**(dict(n_ecd=10_000, n_ecce=100_000, repeats=1, limits=False) if parser.parse_args().quick else dict(repeats=3)))
