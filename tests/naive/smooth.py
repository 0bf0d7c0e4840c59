"Naive twins of cwcal.metrics.smooth, smooth_logit and isotonic_distance: obvious loops and sums."
import math

from tests.naive.isotonic import isotonic_fit


def smooth_ece(conf, correct, sigma, w=None, edges="half"):
    "The sum over rows at every grid point, mirrored at both ends; no transform."
    w = [1.0] * len(conf) if w is None else w
    size = max(2000, round(20 / sigma)) // 2 + 1
    residual, count = [0.0] * size, [0.0] * size
    for f, y, k in zip(conf, correct, w):
        left = min(int(f * (size - 1)), size - 2)
        share = f * (size - 1) - left
        for i, s in ((left, 1 - share), (left + 1, share)):
            residual[i] += k * s * (f - y)
            count[i] += k * s
    centre = (size - 1) / 2

    def at(mass, i):
        total = 0.0
        for j in range(size):
            if mass[j] == 0:
                continue
            for image in {j, -j, 2 * (size - 1) - j}:
                k = image - i + (size - 1) - size // 2  # position in the kernel, which has `size` values
                if 0 <= k < size:
                    twice = 2.0 if edges == "whole" and j in (0, size - 1) else 1.0
                    total += twice * mass[j] * math.exp(-(((k - centre) / (size - 1)) ** 2) / (2 * sigma**2))
        return total / (sigma * math.sqrt(2 * math.pi))

    points = max(200, round(10 / sigma))
    top = bottom = 0.0
    for k in range(points):
        x = k / (points - 1) * (size - 1)
        i = min(int(x), size - 2)
        r, c = ((1 - (x - i)) * at(m, i) + (x - i) * at(m, i + 1) for m in (residual, count))
        top += abs(r)
        bottom += c + 1e-4
    return top / bottom


def bandwidth(conf, correct, w=None, edges="half"):
    low, high = 0.0, 1.0
    if high < smooth_ece(conf, correct, high, w, edges):
        return high
    for _ in range(10):
        middle = (low + high) / 2
        if middle < 0.001 or middle < smooth_ece(conf, correct, middle, w, edges):
            low = middle
        else:
            high = middle
    return high


def logit_smoothed_ece(conf, correct, sigma, w=None, eps=1e-6):
    "Adaptive integration between the sign changes of the integrand."
    import numpy as np
    from scipy.integrate import quad
    from scipy.optimize import brentq

    c = np.clip(np.asarray(conf, dtype=float), eps, 1 - eps)
    z, y = np.log(c / (1 - c)), np.asarray(correct, dtype=float)
    w = np.ones(len(z)) if w is None else np.asarray(w, dtype=float)

    def integrand(t):
        k = w * np.exp(-(((t - z) / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))
        return float(np.sum(k * (y - 1 / (1 + np.exp(-t)))) / w.sum())

    grid = np.unique(np.concatenate([v + sigma * np.linspace(-8.5, 8.5, 171) for v in np.unique(z)]))
    values = [integrand(t) for t in grid]
    cuts = list(grid[::10]) + [grid[-1]]
    cuts += [brentq(integrand, a, b, xtol=1e-15) for a, b, u, v in zip(grid, grid[1:], values, values[1:]) if u * v < 0]
    cuts = sorted(cuts)
    return sum(abs(quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12)[0]) for a, b in zip(cuts, cuts[1:]))


def isotonic_distance(conf, correct, w=None):
    w = [1.0] * len(conf) if w is None else w
    fit = isotonic_fit(conf, [float(y) for y in correct], w)
    return sum(k * abs(c - f) for c, f, k in zip(conf, fit, w) if k > 0) / sum(w)
