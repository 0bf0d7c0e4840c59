"Naive twin of cwcal.metrics.ecd."
import math


def ecd(c, y, w, eps=1e-8):
    "value, standard deviation under calibration"
    value = spread = 0.0
    for a, b, k in zip(c, y, w):
        q = min(max(1 - a, eps), 1 - eps)  # clipped by itself: 1 - (1 - 1e-8) is not 1e-8 in floating point
        a = min(max(a, eps), 1 - eps)
        odds = math.log(a) - math.log(q)
        value += k * (-q if b else a) * odds
        spread += k * a * q * odds**2
    return value / sum(w), math.sqrt(spread) / sum(w)


def ecd_full(P, y, w, eps=1e-8):
    value = spread = 0.0
    for row, t, k in zip(P, y, w):
        row = [min(max(a, eps), 1 - eps) for a in row]
        m = sum(a * math.log(a) for a in row)
        value += k * (m - math.log(row[t]))
        spread += k * (sum(a * math.log(a) ** 2 for a in row) - m**2)
    return value / sum(w), math.sqrt(spread) / sum(w)
