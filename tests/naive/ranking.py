"Average precision and enrichment, one row and one cut at a time."
import math


def average_precision(s, is_k, w):
    "Mean over the rows of the class of the precision among the rows that score at least as high."
    rows = [i for i in range(len(s)) if w[i] > 0]
    total = sum(w[i] for i in rows if is_k[i])
    if total == 0:
        return math.nan
    value = 0.0
    for i in rows:
        if is_k[i]:
            above = [j for j in rows if s[j] >= s[i]]
            value += w[i] * sum(w[j] for j in above if is_k[j]) / sum(w[j] for j in above)
    return value / total


def enrichment_factor(s, is_k, f, fraction):
    "The highest cut with at least the fraction of the rows at or above it; f holds whole numbers."
    total, mine = sum(f), sum(f[i] for i in range(len(s)) if is_k[i])
    if mine == 0:
        return math.nan
    for cut in sorted({s[i] for i in range(len(s)) if f[i] > 0}, reverse=True):
        above = [j for j in range(len(s)) if s[j] >= cut]
        held = sum(f[j] for j in above)
        if held >= fraction * total - 1e-9:
            return sum(f[j] for j in above if is_k[j]) / held / (mine / total)
