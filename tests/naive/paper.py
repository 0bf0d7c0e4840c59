"""Slow, obvious twins of cwcal.lab.paper."""
import math


def beside(ours, printed, decimals, limit):
    "ours: {cell: (value, se, low, high)}, printed: {cell: value}; -> {cell: (z, outside)}."
    out = {}
    for cell, v in printed.items():
        if cell not in ours:
            continue
        x, se, low, high = ours[cell]
        half = 0.5 * 10.0**-decimals
        distance = abs(x - v)
        if math.isnan(se):
            z = math.nan
        elif distance <= half:
            z = 0.0
        else:
            z = math.copysign((distance - half) / se if se else math.inf, x - v)
        outside = (v + half < low or v - half > high) if not math.isnan(low) else (not math.isnan(z) and abs(z) > limit)
        out[cell] = (z, outside)
    return out


def size_fits(n, acc, pct, decimals=4):
    "Tries every whole number of rows."
    def reprints(value, scale):
        return any(abs(scale * k / n - value) <= 0.5 * 10.0**-decimals + 1e-12 for k in range(n + 1))

    return reprints(acc, 1.0) and all(reprints(v, 100.0) for v in pct)
