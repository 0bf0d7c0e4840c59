"""One repetition by obvious loops, and the pairs of a ROC area counted one by one."""
import math


def repetition(q, u, p_true):
    "acc, cwa, gain_pct, csr, sigma, p_risk_pct of rows with error probabilities q, uniforms u (right iff u >= 1 - p_true(c)) and chance p_true of a right answer."
    n = len(q)
    right = [not ui < 1 - p_true(1 - qi) for qi, ui in zip(q, u)]
    acc = sum(right) / n
    cwa = math.fsum(1 - qi for qi, r in zip(q, right) if r) / math.fsum(1 - qi for qi in q)
    csr = math.fsum(1 / qi for qi, r in zip(q, right) if not r) / n
    sigma = math.sqrt(math.fsum((1 - qi) / qi for qi in q)) / n
    room = 1 - min(acc, cwa)
    gain = 100 * (cwa - acc) / room if room else math.nan
    z = (csr - 1) / sigma
    return acc, cwa, gain, csr, sigma, 100 * (math.erfc(-z / math.sqrt(2)) / 2 if csr > 1 else 0)


def macro_areas(conf, y_true, y_pred):
    "Macro AUC and cwAUC; the class that was not predicted has the score min(conf, 1 - conf)."
    out = []
    for weighted in (False, True):
        total = 0.0
        for k in (0, 1):
            won = pairs = 0.0
            for i, ci in enumerate(conf):
                for j, cj in enumerate(conf):
                    if y_true[i] == k and y_true[j] != k:
                        si, sj = (c if p == k else min(c, 1 - c) for c, p in ((ci, y_pred[i]), (cj, y_pred[j])))
                        w = ci * cj if weighted else 1.0
                        pairs += w
                        won += w * (si > sj) + 0.5 * w * (si == sj)
            total += won / pairs
        out.append(total / 2)
    return out
