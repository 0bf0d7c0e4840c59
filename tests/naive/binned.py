"""Bins and calibration errors, one row and one bin at a time."""
from fractions import Fraction
from math import sqrt


def uniform_bin(x, m):
    "Bin of one value: the last k with k/m <= x."
    k = 0
    while k + 1 < m and (k + 1) / m <= x:
        k += 1
    return k


def quantile_bins(xs, ws, m):
    "Bin of every value: the number of cuts k/m, k = 1..m-1, that lie strictly below the share of mass up to and including it."
    total = sum(Fraction(w) for w in ws)
    bins = []
    for x in xs:
        below = sum(Fraction(w) for z, w in zip(xs, ws) if z <= x)
        bins.append(sum(1 for k in range(1, m) if below * m > k * total))
    return bins


def bin_means(bins, m, xs, ys, ws):
    "(mass, mean x, mean y) of every bin; None where it is empty."
    rows = []
    for k in range(m):
        mass = sx = sy = 0.0
        for b, x, y, w in zip(bins, xs, ys, ws):
            if b == k and w > 0:
                mass, sx, sy = mass + w, sx + w * x, sy + w * y
        rows.append((mass, sx / mass, sy / mass) if mass else (0.0, None, None))
    return rows


def ece(bins, m, xs, ys, ws, norm):
    rows = [r for r in bin_means(bins, m, xs, ys, ws) if r[0]]
    total = sum(r[0] for r in rows)
    gaps = [(r[0] / total, abs(r[2] - r[1])) for r in rows]
    if norm == "l1":
        return sum(s * g for s, g in gaps)
    if norm == "l2":
        return sqrt(sum(s * g * g for s, g in gaps))
    return max(g for _, g in gaps)
