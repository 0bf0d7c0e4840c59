"Naive twins of cwcal.recalibration: plain loops, golden sections, refits."
import math

from tests.naive.isotonic import isotonic_fit


def log_loss_at(t, logits, codes, weights):
    total = 0.0
    for row, k, w in zip(logits, codes, weights):
        top = max(row)
        total += w * (math.log(sum(math.exp((z - top) / t) for z in row)) - (row[k] - top) / t)
    return total


def temperature(logits, codes, weights=None, low=1e-3, high=1e3):
    "Golden section in log T."
    weights = [1.0] * len(codes) if weights is None else weights
    a, b, r = math.log(low), math.log(high), (math.sqrt(5) - 1) / 2
    f = lambda x: log_loss_at(math.exp(x), logits, codes, weights)
    for _ in range(80):
        c, d = b - r * (b - a), a + r * (b - a)
        a, b = (a, d) if f(c) < f(d) else (c, b)
    return math.exp((a + b) / 2)


def platt(scores, y, weights=None, steps=60):
    "Newton's method written out for two parameters."
    weights = [1.0] * len(y) if weights is None else list(weights)
    positive = sum(w for w, v in zip(weights, y) if v)
    negative = sum(w for w, v in zip(weights, y) if not v)
    target = [(positive + 1) / (positive + 2) if v else 1 / (negative + 2) for v in y]
    a, b = 0.0, math.log((positive + 1) / (negative + 1))
    for _ in range(steps):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for s, t, w in zip(scores, target, weights):
            p = 1 / (1 + math.exp(-(a * s + b)))
            g0, g1 = g0 + w * (p - t) * s, g1 + w * (p - t)
            v = w * p * (1 - p)
            h00, h01, h11 = h00 + v * s * s, h01 + v * s, h11 + v
        det = h00 * h11 - h01 * h01
        a, b = a - (h11 * g0 - h01 * g1) / det, b - (h00 * g1 - h01 * g0) / det
    return a, b


def histogram(scores, y, weights, m, at):
    "Equal-width bins, the last one closed; None for an empty bin."
    bin_of = lambda s: next(k for k in range(m) if k / m <= s < (k + 1) / m or k == m - 1)
    out = []
    for s in at:
        inside = [(v, w) for x, v, w in zip(scores, y, weights) if bin_of(x) == bin_of(s)]
        mass = sum(w for _, w in inside)
        out.append(sum(v * w for v, w in inside) / mass if mass else None)
    return out


def venn_abers(scores, y, weights, at):
    "Refit with the new row, once for each label."
    pairs = []
    for s in at:
        pairs.append(tuple(isotonic_fit([*scores, s], [*y, u], [*weights, 1.0])[-1] for u in (0, 1)))
    return pairs


def one_against_the_rest(columns, raw):
    "Rows divided by their sum; a row of zeros keeps the raw one."
    out = []
    for row, back in zip(zip(*columns), raw):
        row = row if sum(row) > 0 else back
        out.append([v / sum(row) for v in row])
    return out
