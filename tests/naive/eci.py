"""The Estimated Calibration Index bin by bin."""
from . import binned


def eci(bins, m, xs, ys, ws):
    "(global, under, over, direction); None for a side without a bin."
    rows = [r for r in binned.bin_means(bins, m, xs, ys, ws) if r[0]]
    total = sum(r[0] for r in rows)
    loss, sides = 0.0, {"under": [0.0, 0.0], "over": [0.0, 0.0]}
    for n, c, a in rows:
        d = (a - c) / (1 - c if a > c and 1 - c > c else c if a < c and c > 1 - c else max(c, 1 - c))
        loss += n / total * abs(d)
        if abs(a - c) > 1e-12:
            side = sides["under" if a > c else "over"]
            side[0] += n
            side[1] += n * abs(d)
    under, over = (1 - s[1] / s[0] if s[0] else None for s in (sides["under"], sides["over"]))
    return 1 - loss, under, over, (1 if under is None else under) - (1 if over is None else over)
