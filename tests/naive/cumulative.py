"Naive twin of cwcal.metrics.cumulative: the walk from its definition, one threshold at a time; tails by 50 digits."
import math


def walk(c, y, w):
    return [0.0] + [sum(k * (b - a) for a, b, k in zip(c, y, w) if a <= v) / sum(w) for v in sorted({a for a, k in zip(c, w) if k > 0})]


def scale(c, w):
    return math.sqrt(sum(k * a * (1 - a) for a, k in zip(c, w))) / sum(w)


def range_by_intervals(c, y, w):
    "Proposition 1: the largest miscalibration of an interval of confidences."
    values = sorted(set(c))
    return max(abs(sum(k * (b - a) for a, b, k in zip(c, y, w) if lo <= a <= hi)) / sum(w) for lo in values for hi in values)
