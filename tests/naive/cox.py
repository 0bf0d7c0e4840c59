"Naive twins of cwcal.metrics.cox: a general-purpose minimiser and a loop over repeated rows."
import math


def cox(conf, correct, eps=1e-8):
    "((intercept, slope), intercept in the large, LR) by a simplex search on repeated rows."
    from scipy.optimize import minimize

    bound = math.log((1 - eps) / eps)
    z = [max(-bound, min(bound, math.log(c / (1 - c)) if 0 < c < 1 else math.inf * (c - 0.5))) for c in conf]

    def loss(a, b):
        total = 0.0
        for x, y in zip(z, correct):
            eta = (a + b * x) * (1 if y else -1)
            total += math.log1p(math.exp(-eta)) if eta > 0 else -eta + math.log1p(math.exp(eta))
        return total

    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000, "maxfev": 5000}
    both = minimize(lambda v: loss(*v), [0.0, 1.0], method="Nelder-Mead", options=options)
    one = minimize(lambda v: loss(v[0], 1.0), [0.0], method="Nelder-Mead", options=options)
    return tuple(both.x), float(one.x[0]), 2 * (loss(0, 1) - both.fun)


def ici(conf, correct, frac=0.75):
    "(mean, sorted distances): loess at every row, rows repeated as often as they count."
    n = len(conf)
    need = min(max(math.ceil(frac * n - 1e-9), 2), n)
    distances = []
    for x in conf:
        h = sorted(abs(c - x) for c in conf)[need - 1]
        k = [(1 - (abs(c - x) / h) ** 3) ** 3 if h > 0 and abs(c - x) < h else float(c == x) for c in conf]
        s0, s1, s2 = (sum(v * (c - x) ** e for v, c in zip(k, conf)) for e in (0, 1, 2))
        t0, t1 = (sum(v * (c - x) ** e * y for v, c, y in zip(k, conf, correct)) for e in (0, 1))
        det = s0 * s2 - s1 * s1
        fit = (s2 * t0 - s1 * t1) / det if det > 1e-14 * (s0 * h) ** 2 else t0 / s0
        distances.append(abs(fit - x))
    return sum(distances) / n, sorted(distances)
