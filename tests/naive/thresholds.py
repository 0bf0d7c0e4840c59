"Cuts, costs and net benefit, one threshold and one row at a time; weights are whole numbers."
import math
from fractions import Fraction


def rates(s, y, w, t):
    "(TP, FP, FN, TN) of calling the rows with s >= t."
    cells = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for score, event, weight in zip(s, y, w):
        cells[score >= t, bool(event)] += weight
    return cells[True, True], cells[True, False], cells[False, True], cells[False, False]


def youden(s, y, w):
    "(best J as a fraction, thresholds above the lowest score that reach it, is predicting all or none as good?)."
    scores = sorted({a for a, b in zip(s, w) if b > 0})
    found = {}
    for t in scores[1:]:
        tp, fp, fn, tn = rates(s, y, w, t)
        found[t] = Fraction(tp, tp + fn) + Fraction(tn, tn + fp) - 1
    best = max([Fraction(0), *found.values()])
    return best, [t for t in scores[1:] if found[t] == best], best == 0


def cost(s, y, w, t, c_fp, c_fn):
    tp, fp, fn, tn = rates(s, y, w, t)
    return (c_fp * fp + c_fn * fn) / (tp + fp + fn + tn)


def lowest_cost(s, y, w, c_fp, c_fn):
    return min(cost(s, y, w, t, c_fp, c_fn) for t in [*s, math.inf])


def net_benefit(s, y, w, t):
    tp, fp, fn, tn = rates(s, y, w, t)
    return (tp - fp * t / (1 - t)) / (tp + fp + fn + tn)
