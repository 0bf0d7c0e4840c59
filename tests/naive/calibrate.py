"""Obvious calibration maps: pool-adjacent-violators by repeated scanning, Platt by a general optimiser."""
import math


def isotonic(scores, outcomes):
    "{score: fitted value}; neighbours are merged until nothing decreases."
    blocks = []
    for s in sorted(set(scores)):
        here = [float(y) for t, y in zip(scores, outcomes) if t == s]
        blocks.append([[s], sum(here), len(here)])
    changed = True
    while changed:
        changed = False
        for i in range(len(blocks) - 1):
            if blocks[i][1] / blocks[i][2] > blocks[i + 1][1] / blocks[i + 1][2] + 1e-15:
                blocks[i : i + 2] = [[blocks[i][0] + blocks[i + 1][0], blocks[i][1] + blocks[i + 1][1], blocks[i][2] + blocks[i + 1][2]]]
                changed = True
                break
    return {s: total / n for members, total, n in blocks for s in members}


def interpolate(fitted, s):
    "Linear between the scores, constant outside of them."
    xs = sorted(fitted)
    if s <= xs[0]:
        return fitted[xs[0]]
    for a, b in zip(xs, xs[1:]):
        if s <= b:
            return fitted[a] + (s - a) / (b - a) * (fitted[b] - fitted[a])
    return fitted[xs[-1]]


def platt_loss(a, b, scores, outcomes):
    "Log loss against Platt's targets."
    plus = sum(outcomes)
    minus = len(outcomes) - plus
    out = 0.0
    for s, y in zip(scores, outcomes):
        target = (plus + 1) / (plus + 2) if y else 1 / (minus + 2)
        p = 1 / (1 + math.exp(-(a * s + b)))
        out -= target * math.log(p) + (1 - target) * math.log(1 - p)
    return out


def one_vs_rest(raw, maps):
    "Rows of mapped probabilities divided by their sums; 1 / K where the sum is 0."
    out = []
    for row in raw:
        mapped = [f(s) for f, s in zip(maps, row)]
        total = sum(mapped)
        out.append([m / total for m in mapped] if total > 0 else [1 / len(row)] * len(row))
    return out
