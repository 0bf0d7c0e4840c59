"Naive twin of cwcal.metrics.cwsa."


def cwsa(conf, correct, tau, w=None, plus=False):
    "None when nothing is accepted."
    w = [1.0] * len(conf) if w is None else w
    total = count = 0.0
    for c, y, k in zip(conf, correct, w):
        if c >= tau:
            phi = 1.0 if tau == 1 else (c - tau) / (1 - tau)
            total += k * phi * (1 if y else 0 if plus else -1)
            count += k
    return total / count if count else None
