"""Confidence-weighted metrics by obvious loops in exact fractions; only the square roots of MCC and the standard error are floats."""

from fractions import Fraction
from math import isnan, nan, sqrt


def rows(p):
    "(true class, predicted class, confidence, weight) of every row, as Fractions."
    weights = [1] * p.n if p.sample_weight is None else p.sample_weight.tolist()
    return [(int(y), int(z), Fraction(c), Fraction(w)) for y, z, c, w in zip(p.y_true, p.y_pred, p.conf.tolist(), weights)]


def accuracy(p, by_confidence):
    right = total = Fraction(0)
    for y, z, c, w in rows(p):
        r = w * c if by_confidence else w
        total += r
        right += r if y == z else 0
    return right / total if total else nan


def standard_error(p):
    value, total, square = accuracy(p, True), Fraction(0), Fraction(0)
    for y, z, c, w in rows(p):
        total += w * c
        square += w * (c * ((y == z) - value)) ** 2
    return sqrt(square) / float(total)


def counts(p, k, by_confidence):
    tp = fp = fn = tn = Fraction(0)
    for y, z, c, w in rows(p):
        r = w * c if by_confidence else w
        if z == k and y == k:
            tp += r
        elif z == k:
            fp += r
        elif y == k:
            fn += r
        else:
            tn += r
    return tp, fp, fn, tn


def over(a, b):
    return a / b if b else nan


def formula(name, tp, fp, fn, tn):
    if name == "precision":
        return over(tp, tp + fp)
    if name == "recall":
        return over(tp, tp + fn)
    if name == "specificity":
        return over(tn, tn + fp)
    if name == "npv":
        return over(tn, tn + fn)
    if name == "f1":
        return over(2 * tp, 2 * tp + fp + fn)
    if name == "jaccard":
        return over(tp, tp + fp + fn)
    if name == "balanced_accuracy":
        return (over(tp, tp + fn) + over(tn, tn + fp)) / 2
    square = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return float(tp * tn - fp * fn) / sqrt(square) if square else nan


def metric(p, name, average, by_confidence):
    of_class = [counts(p, k, by_confidence) for k in range(p.n_classes)]
    if average == "micro":
        return float(formula(name, *(sum(column) for column in zip(*of_class))))
    values = [formula(name, *c) for c in of_class]
    if average is None:
        return [float(v) for v in values]
    top = bottom = 0
    for (tp, fp, fn, tn), v in zip(of_class, values):
        weight = tp + fn if average == "weighted" else 1
        if not isnan(v):
            top += weight * v
            bottom += weight
    return float(over(top, bottom))
