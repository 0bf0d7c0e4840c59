"Areas, curves and standard errors pair by pair and threshold by threshold."
import math


def area(s, is_k, w):
    won = total = 0.0
    for i in range(len(s)):
        for j in range(len(s)):
            if is_k[i] and not is_k[j]:
                total += w[i] * w[j]
                won += w[i] * w[j] * (1.0 if s[i] > s[j] else 0.5 if s[i] == s[j] else 0.0)
    return won / total if total > 0 else math.nan


def curve(s, is_k, w):
    "[(threshold, fpr, tpr)] from the threshold inf down."
    points = []
    for threshold in [math.inf] + sorted(set(s), reverse=True):
        rates = []
        for mine in (False, True):
            rows = [i for i in range(len(s)) if bool(is_k[i]) == mine]
            rates.append(sum(w[i] for i in rows if s[i] >= threshold) / sum(w[i] for i in rows))
        points.append((threshold, *rates))
    return points


def standard_error(s, is_k, w):
    "Weighted DeLong: one row taken through all its pairs at a time; nan where no row moves the area."
    positives, negatives = [i for i in range(len(s)) if is_k[i]], [j for j in range(len(s)) if not is_k[j]]
    w_pos, w_neg = sum(w[i] for i in positives), sum(w[j] for j in negatives)
    theta, variance = area(s, is_k, w), 0.0
    for mine, others, w_mine, w_others, sign in ((positives, negatives, w_pos, w_neg, 1), (negatives, positives, w_neg, w_pos, -1)):
        m = len(mine)
        for i in mine:
            share = sum(w[j] * (1.0 if sign * s[i] > sign * s[j] else 0.5 if s[i] == s[j] else 0.0) for j in others) / w_others
            variance += m / (m - 1) * (w[i] * (share - theta) / w_mine) ** 2
    return math.sqrt(variance) if variance > 1e-28 else math.nan
