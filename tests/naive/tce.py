"""TCE, one row and one block at a time."""
from fractions import Fraction

from scipy.stats import binomtest


def groups(conf, y):
    "[score, rows, successes] in ascending order."
    out = []
    for c in sorted(set(conf)):
        rows = [b for a, b in zip(conf, y) if a == c]
        out.append([c, len(rows), sum(rows)])
    return out


def pavabc(found, n_min, n_max):
    "Lists of groups, one for each bin."
    last, size = len(found), 0
    while size < n_min:
        last -= 1
        size += found[last][1]
    blocks = []
    for g in found[:last]:
        blocks.append([g])
        while len(blocks) > 1:
            a, b = blocks[-2], blocks[-1]
            na, nb = sum(x[1] for x in a), sum(x[1] for x in b)
            falls = Fraction(sum(x[2] for x in a), na) >= Fraction(sum(x[2] for x in b), nb)
            if na + nb <= n_min or (na + nb <= n_max and falls):
                blocks[-2:] = [a + b]
            else:
                break
    if last < len(found):
        if blocks and 2 * size <= n_max:
            blocks[-1] = blocks[-1] + found[last:]
        else:
            blocks.append(found[last:])
    return blocks


def bins(conf, y, strategy, n_min, n_max, n_bins):
    found, n = groups(conf, y), len(conf)
    if strategy == "pavabc":
        return pavabc(found, n_min, n_max)
    if strategy == "pava":
        return pavabc(found, 0, n)
    out, before = {}, 0
    for g in found:
        if strategy == "quantile":
            key = sum(int(j * n / n_bins) <= before for j in range(1, n_bins))
        else:
            key = sum(j / n_bins <= g[0] for j in range(1, n_bins))
        out.setdefault(key, []).append(g)
        before += g[1]
    return list(out.values())


def tce(conf, y, alpha=0.05, strategy="pavabc", n_min=10, n_max=1000, n_bins=10):
    rejected = 0
    for block in bins(conf, y, strategy, n_min, n_max, n_bins):
        n, k = sum(g[1] for g in block), sum(g[2] for g in block)
        for c, rows, _ in block:
            if binomtest(k, n, c).pvalue <= alpha:
                rejected += rows
    return 100 * rejected / len(conf)
