"Naive twins of cwcal.metrics.scores: one row after the other."
import math


def brier(c, y, w):
    return sum(k * (a - b) ** 2 for a, b, k in zip(c, y, w)) / sum(w)


def brier_sum(P, y, w):
    return sum(k * sum((a - (j == t)) ** 2 for j, a in enumerate(row)) for row, t, k in zip(P, y, w)) / sum(w)


def log_loss(c, y, w, eps=0.0):
    total = 0.0
    for a, b, k in zip(c, y, w):
        r = max(a if b else 1 - a, eps)
        total += 0.0 if k == 0 else k * (-math.log(r) if r > 0 else math.inf)
    return total / sum(w)


def spiegelhalter(c, y, w):
    top = sum(k * (b - a) * (1 - 2 * a) for a, b, k in zip(c, y, w))
    bottom = math.sqrt(sum(k * (1 - 2 * a) ** 2 * a * (1 - a) for a, k in zip(c, w)))
    return top / bottom if bottom else math.nan


def entropy(c, w):
    h = lambda a: -sum(x * math.log(x) for x in (a, 1 - a) if x > 0)
    return sum(k * h(a) for a, k in zip(c, w)) / sum(w)


def murphy(c, y, w, m):
    "reliability, resolution, uncertainty, within-bin variance, within-bin covariance"
    W, overall = sum(w), sum(k * b for b, k in zip(y, w)) / sum(w)
    out = [0.0, 0.0, overall * (1 - overall), 0.0, 0.0]
    bins = {}
    for a, b, k in zip(c, y, w):
        bins.setdefault(max(j for j in range(m) if a >= j / m), []).append((a, b, k))
    for rows in bins.values():
        mass = sum(k for _, _, k in rows)
        if mass == 0:
            continue
        claim, freq = sum(k * a for a, _, k in rows) / mass, sum(k * b for _, b, k in rows) / mass
        out[0] += mass / W * (claim - freq) ** 2
        out[1] += mass / W * (freq - overall) ** 2
        out[3] += sum(k * (a - claim) ** 2 for a, _, k in rows) / W
        out[4] += 2 * sum(k * (a - claim) * (b - freq) for a, b, k in rows) / W
    return out
