"""Smooth ECE beside relplot, LS-ECE beside plain draws, ICI beside probcal, and the memory of each: one process, one core, the two taking turns.

Peers live in an environment of their own:
    python -m venv peers && peers/bin/pip install relplot==1.0.3 probcal==0.4.0 numba scipy narwhals
    PYTHONPATH=. peers/bin/python benchmarks/comparison_smooth.py
A peer that is not installed leaves its column empty. Times are processor seconds of the process, so that a busy machine does not count; the first call of each is a warm-up.
"""
import argparse
import tracemalloc

from pairing import paired  # sets one thread before numpy starts

import numpy as np

from cwcal.metrics.cox import cox_calibration, ici
from cwcal.metrics.cwsa import cwsa
from cwcal.metrics.isotonic_distance import isotonic_distance
from cwcal.metrics.smooth import smooth_ece
from cwcal.metrics.smooth_logit import logit_smoothed_ece
from cwcal.profile import Profile


def show(title, n, ours, theirs, peer):
    against = f"   {peer} {theirs:8.3f} s, {theirs / ours:6.1f} times" if theirs else ""
    print(f"{title:14s} n = {n:.0e}  {ours:8.3f} s{against}")


def draws(c, y, sigma=0.1, n_draws=1000):
    "LS-ECE from its definition: every draw against every row, in single precision and blocks of 100 draws; faster than the authors' code, which holds all pairs."
    rng = np.random.default_rng(0)
    z = np.log(c / (1 - c)).astype(np.float32)
    t = rng.choice(z, n_draws) + np.float32(sigma) * rng.standard_normal(n_draws, dtype=np.float32)
    total = 0.0
    for block in np.array_split(t, n_draws // 100):
        k = np.exp(-(((block[:, None] - z) / np.float32(sigma)) ** 2) / 2)
        total += np.abs(k @ y / k.sum(axis=1) - 1 / (1 + np.exp(-block))).sum()
    return total / n_draws


def peak(metric, p):
    "Peak memory of one call in float64 arrays of length n."
    metric(p)
    tracemalloc.start()
    metric(p)
    _, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return top / (8 * p.n)


def main(n_smooth=10_000_000, n_logit=100_000, n_ici=1_000_000, n_memory=1_000_000, repeats=3, limits=True):
    try:
        import relplot
    except ImportError:
        relplot = None
    try:
        from probcal import metrics as probcal
    except ImportError:
        probcal = None
    rng = np.random.default_rng(0)

    c = rng.beta(3, 0.5, n_smooth)
    for title, rate in (("smooth ECE", c**1.2), (" calibrated", c)):  # calibrated: a narrow kernel, so several grids
        y = (rng.random(n_smooth) < rate).astype(float)
        p = Profile.from_event(y, c)
        values, (ours, theirs) = paired(lambda: smooth_ece(p), relplot and (lambda: relplot.smECE(c, y)), repeats)
        show(title, n_smooth, ours, theirs, "relplot")
        if theirs:
            assert abs(values[0] - values[1]) < 1e-6
            assert not limits or theirs > 3 * ours

    c = rng.uniform(0.001, 0.999, n_logit)
    y = (rng.random(n_logit) < c).astype(np.float32)
    p = Profile.from_event(y, c)
    values, (ours, theirs) = paired(lambda: logit_smoothed_ece(p), lambda: draws(c, y), repeats)
    show("LS-ECE", n_logit, ours, theirs, "1000 draws")
    print(f"               the integral {values[0]:.6f}, the draws {values[1]:.6f}")
    assert not limits or ours < 2.3 / 20  # the authors' code takes 2.3 s for its 1000 draws and 400 MB a temporary

    c = rng.random(n_ici)
    y = (rng.random(n_ici) < c).astype(float)
    p = Profile.from_event(y, c)
    values, (ours, theirs) = paired(lambda: ici(p), probcal and (lambda: probcal.ici(y, c)), 1)
    show("ICI", n_ici, ours, theirs, "probcal")
    assert not theirs or abs(values[0] - values[1]) < 1e-9
    _, (ours, theirs) = paired(lambda: cox_calibration(p), probcal and (lambda: probcal.calibration_test(y, c)), 1)
    show("Cox", n_ici, ours, theirs, "probcal")

    c = rng.uniform(0.5, 1, n_memory)
    p = Profile.from_confidence(rng.random(n_memory) < c, c, sample_weight=rng.integers(1, 3, n_memory))
    p.error_prob
    for metric in (smooth_ece, logit_smoothed_ece, isotonic_distance, cwsa, cox_calibration, ici):
        arrays = peak(metric, p)
        print(f"memory of {metric.__name__:20s} {arrays:5.2f} arrays of length n")
        assert not limits or arrays < 8


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, no limits")
    main(**(dict(n_smooth=10_000, n_logit=2_000, n_ici=2_000, n_memory=20_000, repeats=1, limits=False) if parser.parse_args().smoke else {}))
