"""Slices, Holm's p-values and the upper limits of the gate, row by row."""
import math
from statistics import NormalDist


def repeated(rows, weights):
    "Rows as often as their whole weights say."
    return [r for r, w in zip(rows, weights) for _ in range(int(w))]


def holm(p):
    "Each p-value by the definition: the largest step among the p-values that are not larger."
    k = len(p)
    ordered = sorted(range(k), key=lambda i: (p[i], i))
    out = [0.0] * k
    for place, i in enumerate(ordered):
        out[i] = min(1.0, max((k - j) * p[ordered[j]] for j in range(place + 1)))
    return out


def csr_upper(rows, alpha, eps=1e-8):
    "rows: (correct, error_prob)."
    x = [0.0 if right else 1.0 / max(q, eps) for right, q in rows]
    n, z = len(x), NormalDist().inv_cdf(1 - alpha)
    mean = sum(x) / n
    variance = sum((v - mean) ** 2 for v in x) / n
    return mean + z * math.sqrt(variance / n + 2 * max(x) ** 2 / n**2) + (z * z + 2) / 3 * max(x) / n


def ece_upper(rows, alpha, n_bins):
    "rows: (outcome, claim)."
    n, z = len(rows), NormalDist().inv_cdf(1 - alpha)
    sums = [0.0] * n_bins
    for y, c in rows:
        b = max(k for k in range(n_bins) if c >= k / n_bins)
        sums[b] += y - c
    brier = sum((y - c) ** 2 for y, c in rows) / n
    return sum(map(abs, sums)) / n + z * math.sqrt(brier / n + 2 / n**2) + (z * z + 2) / 3 / n
