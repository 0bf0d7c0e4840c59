"Risk and coverage, one threshold and one row at a time; weights are whole numbers."
import math
from fractions import Fraction


def curve(conf, correct, w):
    "[(coverage, risk, threshold)] for each distinct confidence, falling."
    points = []
    for t in sorted({c for c, f in zip(conf, w) if f}, reverse=True):
        kept = sum(f for c, f in zip(conf, w) if c >= t)
        wrong = sum(f for c, r, f in zip(conf, correct, w) if c >= t and not r)
        points.append((Fraction(kept, sum(w)), Fraction(wrong, kept), t))
    return points


def aurc(conf, correct, w):
    "Mean over the rows of the risk among the rows that are at least as confident."
    total = Fraction(0)
    for c, f in zip(conf, w):
        kept = [(r, g) for d, r, g in zip(conf, correct, w) if d >= c]
        if f:
            total += f * Fraction(sum(g for r, g in kept if not r), sum(g for _, g in kept))
    return total / sum(w)


def best_aurc(correct, w):
    "Right rows first, then errors, one at a time."
    rows = sorted((r for r, f in zip(correct, w) for _ in range(f)), reverse=True)
    return sum(Fraction(sum(not r for r in rows[: k + 1]), k + 1) for k in range(len(rows))) / len(rows)


def binomial_tail(k, n, p):
    "P(X <= k)."
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
