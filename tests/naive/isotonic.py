"Naive twin of cwcal.metrics.isotonic: the max-min formula over distinct scores."


def isotonic_fit(x, y, w=None):
    w = [1.0] * len(x) if w is None else list(w)
    levels = sorted({a for a, c in zip(x, w) if c > 0})
    total = [sum(c * b for a, b, c in zip(x, y, w) if a == v) for v in levels]
    mass = [sum(c for a, c in zip(x, w) if a == v) for v in levels]
    mean = lambda a, b: sum(total[a : b + 1]) / sum(mass[a : b + 1])
    k = len(levels)
    fit = {levels[i]: max(min(mean(a, b) for b in range(i, k)) for a in range(i + 1)) for i in range(k)}
    return [fit[a] if a in fit else None for a in x]
