"""T-Cal, one bin and one level at a time."""
from math import floor, log, log2, sqrt

import numpy as np


def statistic(conf, y, level, weight=None):
    weight = [1.0] * len(conf) if weight is None else weight
    found = {}
    for c, t, w in zip(conf, y, weight):
        n, s, q = found.get(floor(2**level * c), (0.0, 0.0, 0.0))
        r = c - t
        found[floor(2**level * c)] = n + w, s + w * r, q + w * r * r
    return sum((s * s - q) / n for n, s, q in found.values() if n) / sum(weight)


def n_levels(n):
    return floor(2 * log2(n / sqrt(log(n))))


def null_statistics(conf, n_sims, rng):
    "Draw scores with replacement and labels from them; every level from scratch."
    out = []
    for _ in range(n_sims):
        scores = rng.choice(conf, len(conf))
        labels = rng.random(len(conf)) < scores
        out.append([statistic(scores.tolist(), labels.tolist(), b) for b in range(1, n_levels(len(conf)) + 1)])
    return np.array(out)


def null_statistics_numpy(conf, n_sims, rng):
    "The same with one sort a level, for larger samples."
    n, out = len(conf), []
    for _ in range(n_sims):
        scores = rng.choice(conf, n)
        r = scores - (rng.random(n) < scores)
        row = []
        for b in range(1, n_levels(n) + 1):
            _, j = np.unique(np.floor(scores * 2.0**b), return_inverse=True)
            rows, s, q = np.bincount(j), np.bincount(j, r), np.bincount(j, r * r)
            row.append(np.sum((s * s - q) / rows) / n)
        out.append(row)
    return np.array(out)
