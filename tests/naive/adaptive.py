"""Debiased, sweep and AD-ECE by plain loops."""
from math import sqrt

from . import binned


def debiased_square(bins, m, xs, ys, ws):
    rows = [r for r in binned.bin_means(bins, m, xs, ys, ws) if r[0]]
    total = sum(r[0] for r in rows)
    if all(r[0] <= 1 for r in rows):
        return None
    return sum(n / total * ((y - x) ** 2 - y * (1 - y) / (n - 1)) for n, x, y in rows if n > 1)


def debiased(*args):
    square = debiased_square(*args)
    return None if square is None else sqrt(max(square, 0))


def sweep_n_bins(xs, ys, ws):
    best = 1
    for m in range(2, len({x for x, w in zip(xs, ws) if w > 0}) + 1):
        rates = [r[2] for r in binned.bin_means(binned.quantile_bins(xs, ws, m), m, xs, ys, ws) if r[0]]
        if any(b < a - 1e-12 for a, b in zip(rates, rates[1:])):
            return best
        best = m
    return best


def middle(values, threshold):
    values = sorted(values)
    n = len(values)
    return sum(values) / n if threshold == "mean" else (values[(n - 1) // 2] + values[n // 2]) / 2


def ad_ece(vectors, outcomes, min_size, threshold):
    "Rows as copies, no weights: (sum over leaves of the l1 gap, times rows) / n."
    n = len(vectors)

    def grow(rows):
        if len(rows) >= min_size:
            columns = list(zip(*(vectors[i] for i in rows)))
            spread = [sum((v - sum(c) / len(c)) ** 2 for v in c) for c in columns]
            axis = next(k for k, s in enumerate(spread) if s >= max(spread) * (1 - 1e-9))
            t = middle(columns[axis], threshold)
            low = [i for i in rows if vectors[i][axis] < t - 1e-12]
            if low:
                return grow(low) + grow([i for i in rows if i not in set(low)])
        return sum(abs(sum(outcomes[i][k] - vectors[i][k] for i in rows)) for k in range(len(vectors[0])))

    return grow(list(range(n))) / n
